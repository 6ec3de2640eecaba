"""Scripts written for `sklearn.svm` find the same with one import changed, but for what `docs/guide/moving.md` says."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import moving
import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "moving.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", moving.NAMES)
def test_a_script_finds_the_same_but_for_what_the_page_says(name):
    missing = [needed for needed in moving.NEEDS.get(name, []) if find_spec(needed) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    line, different = moving.build_table_row(name)
    assert different == {key for script, key in moving.DIFFERENT if script == name}
    assert line in PAGE.splitlines(), "copy it to the page: python tests/tools/moving.py"


def test_the_page_has_a_line_for_each_script_and_no_other():
    table = PAGE.split("|---|---|---|\n", 1)[1].split("\n\n", 1)[0].splitlines()
    titles = [(moving.FOLDER / f"{name}.py").read_text(encoding="utf-8").split('"""')[1] for name in moving.NAMES]
    assert sorted(line.split(" | ")[0].removeprefix("| ") for line in table) == sorted(titles)
