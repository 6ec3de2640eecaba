"""What the README shows runs and prints what it says, but for times, versions and rounding."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.backends import REGISTRY, everyone, get
from qpsvm.backends.abilities import Abilities
from qpsvm.choice import choices, machine_traits

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first code block of a language."""
    found = re.search(rf"```{language}\n(.*?)\n```", README, flags=re.DOTALL)
    assert found is not None
    return found.group(1)


def stable(text: str) -> list[str]:
    """The lines that do not depend on the machine, numbers to six digits."""
    lines = [line for line in text.splitlines() if not line.strip().startswith(("gap", "time", "solver"))]
    return [re.sub(r"\d+\.\d{6,}", lambda m: f"{float(m.group()):.6g}", line) for line in lines]


@pytest.mark.slow
def test_the_example_prints_what_the_readme_says():
    done = subprocess.run([sys.executable, "-c", block("python")], capture_output=True, text=True, check=True)
    assert stable(done.stdout.rstrip("\n")) == stable(block("text"))
    assert "it said 'solved'" in done.stdout
    assert "own point: 0.15)" in done.stdout


@pytest.mark.slow
def test_every_python_block_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """From top to bottom, in one session; `result.w` is the one error, and the README says so."""
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    refused = []
    for text in re.findall(r"```python\n(.*?)\n```", README, flags=re.DOTALL):
        for statement in ast.parse(text).body:
            try:
                exec(compile(ast.Module([statement], []), "README.md", "exec"), names)
            except qpsvm.NoWeightVectorError:
                refused.append(ast.unparse(statement))
    assert refused == ["result.w"]
    assert "(CSVM.10)" in capsys.readouterr().out
    assert "<math" in (tmp_path / "derivation.html").read_text(encoding="utf-8")
    pyplot.close("all")


def test_the_pictures_that_the_readme_names_beside_are_drawn_by_the_arguments_it_gives():
    """Every picture is in the README: as a call, or as one in the comment beside a call."""
    matplotlib.use("Agg")
    X, y = make_moons(40, noise=0.2, random_state=0)
    problem = qpsvm.CSVM(X, y)
    names = {"problem": problem, "result": qpsvm.solve(problem)}
    beside = re.findall(r"^qpsvm\.plotting\..*# .*also (\w+\(.*?\))$", README, flags=re.MULTILINE)
    for call in beside:
        eval(f"plotting.{call}", {"plotting": qpsvm.plotting, **names})
    written = re.findall(r"^qpsvm\.plotting\.(\w+)\(", README, flags=re.MULTILINE)
    shown = {*written, *(call.partition("(")[0] for call in beside)}
    assert shown == set(qpsvm.plotting.__all__)
    pyplot.close("all")


#: The columns of the table of backends.
COLUMNS = {
    "HardMargin": [qpsvm.HardMargin],
    "CSVM": [qpsvm.CSVM],
    "NuSVM": [qpsvm.NuSVM],
    "PrimalHinge": [partial(qpsvm.PrimalHinge, intercept=intercept) for intercept in ("free", "penalised", None)],
}


def table_of_backends() -> list[str]:
    """The rows of the table, from what each backend says of itself: copy them to the README where they differ."""
    rows = []
    for backend in everyone():
        can = backend.abilities
        origin = "ours" if can.package is None else can.package if can.package != backend.name else ""
        notes = "; ".join(filter(None, [origin + ", textbook" * can.study, size_in_words(can)]))
        cells = [forms_in_words(can, kinds) for kinds in COLUMNS.values()]
        rows.append(" | ".join([f"| `{backend.name}`" + (f" ({notes})" if notes else ""), *cells]) + " |")
    return rows


def size_in_words(can: Abilities) -> str:
    linear, kernel = (
        max((able.rows for able in (*can.dual, *can.primal) if kind in able.traits), default=0)
        for kind in ("linear", "kernel")
    )
    if not kernel:
        return "linear"
    return "" if linear == np.inf else f"{'linear ' if kernel > linear else ''}up to {linear:g} rows"


def forms_in_words(can: Abilities, kinds: list[Any]) -> str:
    """Of one machine, with any kernel that it takes; it may take it with a free intercept only."""
    problems = [kind([[0.0], [1.0]], [0, 1], kernel=kernel) for kind in kinds for kernel in ("linear", "rbf")]
    taken = {(problem.intercept, form) for problem in problems for form in ("dual", "primal")
             if can.takes(machine_traits(problem), 2, form)}  # fmt: skip
    forms = [form for form in ("dual", "primal") if form in {form for _, form in taken}]
    narrow = len(kinds) > 1 and {intercept for intercept, _ in taken} == {"free"}
    return ", ".join([*forms, *(["free intercept"] if narrow else [])]) or "–"


def test_the_table_of_backends_is_what_they_say_of_themselves():
    table = README.split("| problem |", 1)[1].split("\n\n", 1)[0]
    assert [line for line in table.splitlines() if line.startswith("| `")] == table_of_backends()
    study = [backend.name for backend in everyone() if backend.abilities.study]
    assert study == list(REGISTRY)[-3:], "the README calls the last three textbook methods"


def first_choice(problem: qpsvm.Problem) -> str:
    """The first of the library's choices that takes the problem."""
    for choice in choices(problem):
        backend = get(choice.backend)
        form = choice.form or backend.preferred_form(problem.space.is_linear)
        try:
            backend.compile(problem.solver_qp(form).qp)
        except qpsvm.UnsupportedError:
            continue
        return choice.backend
    raise AssertionError(problem)


def samples(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, np.where(X[:, 0] > 0, 1, -1)


def problems_of_the_readme() -> dict[str, tuple[str, qpsvm.Problem]]:
    """What the README says of `auto`: the words, the backend, a problem of that kind."""
    few, many = samples(100, 5), samples(4200, 2)
    return {
        "with a hundred rows": ("cvxopt", qpsvm.CSVM(*few)),
        "with thousands": ("interior_point", qpsvm.CSVM(*samples(2000, 5))),
        "with many more": ("augmented_lagrangian", qpsvm.CSVM(*samples(200_000, 10))),
        "with more features than rows": ("kernel_newton", qpsvm.CSVM(*samples(60, 200))),
        "with a kernel it is": ("kernel_newton", qpsvm.CSVM(*few, kernel="rbf")),
        "for ν-SVMs": ("libsvm", qpsvm.NuSVM(*few, 0.3, "rbf")),
        "for penalised intercepts": ("cvxopt", qpsvm.PrimalHinge(*few, kernel="rbf", intercept="penalised")),
        "from 4000 rows on": ("interior_point", qpsvm.PrimalHinge(*many, kernel="rbf", intercept="penalised")),
    }


def test_what_the_readme_says_of_auto_is_what_the_table_does():
    said = " ".join(README.split('`backend="auto"`', 1)[1].split("It goes on to the others", 1)[0].split())
    named = []
    for words, (backend, problem) in problems_of_the_readme().items():
        assert words in said
        if words == "from 4000 rows on":  # the Gram matrix of so many rows takes longer than the test is worth
            taken = [choice.backend for choice in choices(problem)]
            assert taken[0] == backend
        else:
            assert first_choice(problem) == backend, words
        near = re.search(rf"{re.escape(words)}.{{0,40}}?`{backend}`|`{backend}`.{{0,40}}?{re.escape(words)}", said)
        assert near, f"{backend} does not stand beside {words!r}"
        named.append(backend)
    assert set(re.findall(r"`([a-z_]+)`", said)) == set(named)


def test_a_missing_extra_is_installed_from_a_clone():
    """There is no release: `pip install qpsvm` finds nothing."""
    root = Path(__file__).resolve().parents[1]
    for path in (root / "README.md", *(root / "qpsvm").rglob("*.py"), *(root / "notebooks").glob("*.ipynb")):
        assert not re.search(r"pip install [^\n]{0,3}qpsvm", path.read_text(encoding="utf-8")), path
