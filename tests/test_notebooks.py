"""The notebooks: each runs from top to bottom, is committed as it ran, and has what a lesson has."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot
from test_architecture import MENTION, definitions
from traitlets.config import Config

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"), key=lambda path: int(path.stem.partition("_")[0]))
NAMES = (
    "hard_margin", "soft_margin", "kernels", "nu_svm", "primal_hinge", "seeds", "solvers", "regression",
    "novelty_and_ranking", "constraints", "proofs", "what_a_certificate_knows",
)  # fmt: skip


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_all_of_them_are_there():
    named = [f"{k}_{name}" for k, name in enumerate(NAMES, 1)]
    assert [path.stem for path in NOTEBOOKS] == named
    listed = (FOLDER.parent / "docs" / "lessons.md").read_text(encoding="utf-8")
    assert re.findall(r"^notebooks/(.*)$", listed, flags=re.MULTILINE) == named


def test_each_tag_in_a_notebook_exists():
    known = definitions()
    for path in NOTEBOOKS:
        text = "".join("".join(cell["source"]) for cell in cells(path))
        assert {tag for tag in MENTION.findall(text) if tag not in known} == set(), path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_is_committed_as_it_ran(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(work|home|root|tmp)/", text), "an absolute path"
    assert len(text.encode()) <= 200_000
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert all(output["metadata"]["image/png"]["alt"] for output in pictures), "no words for those who cannot see it"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_ends_with_a_summary_exercises_and_references(path):
    texts = ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown"]
    headings = re.findall(r"^## (.*)$", "\n".join(texts), flags=re.MULTILINE)
    assert headings[-3:] == ["Summary", "Exercises", "References"]
    summary, exercises, references = texts[-3:]
    assert len(re.findall(r"^\* ", summary, flags=re.MULTILINE)) >= 3
    asked = re.findall(r"^\*\*(\d)\.\*\* ", exercises, flags=re.MULTILINE)
    assert asked == [str(k) for k in range(1, len(asked) + 1)]
    assert len(asked) >= 5
    assert exercises.count("...") >= 2, "no program to complete"
    assert (
        exercises.count("<details><summary>Solution</summary>\n\n") == exercises.count("\n\n</details>") == len(asked)
    )
    for line in references.splitlines()[2:]:
        assert re.fullmatch(r"\* [A-Z].*, \*[^*]+\*, .+ \(\d{4}\).*\.", line), line


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_solutions_are_folded_and_hold(path):
    folded = [cell for cell in cells(path) if "hide-cell" in cell["metadata"].get("tags", [])]
    assert [cell["metadata"]["jupyter"] for cell in folded] == [{"source_hidden": True}]
    assert "".join(folded[0]["source"]).count("assert ") >= 3
    assert "".join(folded[0]["outputs"][0]["text"]) == "all solutions hold\n"


def test_without_the_file_of_the_possums_each_table_says_why_it_is_absent(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("QPSVM_DATA", str(tmp_path))
    names: dict[str, Any] = {}
    about = [cell for cell in cells(FOLDER / "6_seeds.ipynb") if cell["cell_type"] == "code"]
    start = next(k for k, cell in enumerate(about) if "TEXT_OWN" in "".join(cell["source"]))
    stop = next(k for k, cell in enumerate(about) if "load_iris(" in "".join(cell["source"]))
    with pyplot.rc_context(), np.printoptions():  # as they were, for other tests
        for cell in [about[0], *about[start:stop]]:
            exec("".join(cell["source"]), names)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 5
    assert all("possum.csv is not in" in line and "QPSVM_DATA" in line for line in said)


@pytest.fixture
def shell(monkeypatch):
    """What a notebook is run by, in this process: a kernel of its own takes three times what is in it."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which a shell takes for itself
    monkeypatch.setattr(sys, "ps1", "", raising=False)
    monkeypatch.chdir(FOLDER)
    with mpl.rc_context(), np.printoptions():  # as they were, for other tests
        yield InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_runs_from_top_to_bottom(shell, path):
    for cell in cells(path):
        if cell["cell_type"] == "code":
            shell.run_cell("".join(cell["source"])).raise_error()
            for number in pyplot.get_fignums():
                pyplot.figure(number).canvas.draw()
            pyplot.close("all")
