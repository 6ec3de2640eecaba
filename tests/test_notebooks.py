"""What can be said of the notebooks without running them; pytest runs them too, from top to bottom."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_architecture import MENTION, definitions

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = ("hard_margin", "soft_margin", "kernels", "nu_svm", "primal_hinge", "seeds", "solvers")


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_all_seven_are_there():
    assert [path.stem for path in NOTEBOOKS] == [f"{k}_{name}" for k, name in enumerate(NAMES, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_tag_in_a_notebook_exists(path):
    known = definitions()
    text = "".join("".join(cell["source"]) for cell in cells(path))
    unknown = {tag for tag in MENTION.findall(text) if tag not in known}
    assert not unknown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_is_committed_as_it_ran(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(work|home|root|tmp)/", text), "an absolute path"
    assert len(text) < 700_000
