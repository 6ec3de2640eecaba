"""What the README shows runs and prints what it says, but for times, versions and rounding."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


#: Where the README's links lead, which PyPI shows too: there a path of this repository leads nowhere.
SITE, RAW = "https://github.com/qpsvm/qpsvm", "https://raw.githubusercontent.com/qpsvm/qpsvm"
#: Code, with what stands below it as its output.
BLOCKS = re.findall(r"```python\n(.*?)\n```(?:\n\n```text\n(.*?)\n```)?", README, flags=re.DOTALL)
MARK = "-- next block --"


def stable(text: str) -> list[str]:
    """The lines that do not depend on the machine, numbers to six digits; of a proof, its words."""
    unstable = ("gap", "time", "solver", "residuals")
    lines = [line for line in text.splitlines() if not line.strip().startswith(unstable)]
    rounded = [re.sub(r"\d+\.\d{6,}", lambda m: f"{float(m.group()):.6g}", line) for line in lines]
    return [re.sub(r"\d\S*", "#", line) if "proven " in line else line for line in rounded]


@pytest.mark.slow
def test_the_examples_run_one_after_the_other_and_print_what_the_readme_says(tmp_path):
    program = f"\nprint({MARK!r})\n".join(code for code, _ in BLOCKS)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(f"{MARK}\n")
    assert sum(bool(said) for _, said in BLOCKS) == 4
    for (_, said), found in zip(BLOCKS, printed, strict=True):
        assert not said or stable(found.rstrip("\n")) == stable(said)
    assert "it reported 'solved'" in done.stdout
    assert "own point: 0.15)" in done.stdout
    assert (tmp_path / "boundary.png").exists()


def test_the_first_picture_takes_ten_lines_and_the_first_page_has_the_same():
    code, said = BLOCKS[0]
    assert len(code.splitlines()) <= 10
    assert ".savefig(" in code
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert code in page
    assert said in page


def test_a_proof_comes_after_use():
    """The order that a newcomer needs: predict, score and plot; a program and its certificate; proofs last."""
    words = ("result.predict(", "boundary.png", 'problem.qp("dual")', "qpsvm.QP(", "result.verify(")
    assert sorted(words, key=README.index) == list(words)


def test_the_two_commands_are_those_that_are_run_here():
    """`.ci/run` runs both in fresh environments, by these words."""
    commands = re.findall(r"```sh\n(.*?)\n```", README, flags=re.DOTALL)
    first, mine, large, proven, tests = commands  # those between are for files of the reader's own
    assert "--proof proof.json\npython -m qpsvm verify proof.json --data customers.csv" in proven
    assert "solve customers.csv" in mine
    assert "--target" in large
    begin, activate = first.splitlines()
    assert begin.endswith(".venv/bin/python -m qpsvm")
    assert activate == ". .venv/bin/activate"
    later = README.split(first)[1].split("## The tests")[0]
    assert ".venv/bin/" not in later, "in an activated environment it is python, and pip"
    assert 'pip install -e ".[test]" && .venv/bin/python -m pytest' in tests


def test_every_page_and_picture_that_the_readme_names_is_there():
    defined = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", README, flags=re.MULTILINE))
    assert set(defined) == set(re.findall(r"\]\[([^\]]+)\]", README))
    assert "docs/pictures/front.png" in defined
    for path, address in defined.items():
        assert (ROOT / path).exists(), path
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        assert address == (f"{RAW}/main/{path}" if path.endswith(".png") else f"{SITE}/{kind}/main/{path}")


def test_no_link_of_the_readme_is_relative():
    inline = re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```|`[^`]*`", "", README, flags=re.DOTALL))
    assert [address for address in inline if "://" not in address] == []


def test_every_line_of_the_quick_start_can_be_pasted():
    """Those that run while the site is built, and those that are only shown: one after the other."""
    matplotlib.use("Agg")
    page = (ROOT / "docs" / "quick_start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|{run})\n(.*?)\n```", page, flags=re.DOTALL)
    assert len(blocks) == page.count("```python") + page.count("```{run}") > 5
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks:
            exec(block, names)
    pyplot.close("all")


def test_a_missing_extra_is_installed_from_a_clone():
    """There is no release: `pip install qpsvm` finds nothing."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    for path in (ROOT / "README.md", *pages, *(ROOT / "qpsvm").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")):
        assert not re.search(r"pip install [^\n]{0,3}qpsvm", path.read_text(encoding="utf-8")), path


def test_the_worked_examples_for_contributors_run():
    """A machine, a backend and a kernel: one program, in the order of the page."""
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)\n```", guide, flags=re.DOTALL)
    assert len(blocks) == 3
    exec("\n".join(blocks), {})


def test_the_first_pages_are_in_the_words_of_the_field():
    avoided = (
        "rows of your own", "a user's rows", "price", "falls short", "lacks", "takes part", "joint", "counted",
        "twice the precision", "at rest", "first guess", "foretold", "pushed", "what is usual", "a stranger",
        "peripheral", "nobody", "somebody",
    )  # fmt: skip
    for name in ("README.md", "docs/index.md", "docs/quick_start.md", "docs/guide/moving.md"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert [phrase for phrase in avoided if re.search(rf"\b{re.escape(phrase)}\b", text)] == [], name
