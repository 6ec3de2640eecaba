"""`compare`, and what runs without a command: every backend on one problem, each with a line as soon as it is done."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.cli.data import few_rows, read
from qpsvm.cli.options import settle
from qpsvm.errors import QPSVMError, UnsupportedError
from qpsvm.problems import CSVM, Problem
from qpsvm.problems.forms import Form
from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult
from qpsvm.solve import solve

#: Seconds that a textbook method gets in a comparison.
STUDY_SECONDS = 5.0
#: Rows of each class on which a backend is warmed up, so that it has loaded what it needs when its time is taken.
WARM_UP_ROWS = 10
#: Seconds that warming up may take.
WARM_UP_SECONDS = 0.2
#: Headings of the table, and the width of each column in letters.
COLUMNS = (
    "backend", "form", "status", "objective", "solver gap", "gap", "support", "margin", "bound", "build", "solve",
)  # fmt: skip
WIDTHS = (21, 7, 16, 13, 11, 9, 8, 7, 6, 10, 11)


def run(options: argparse.Namespace) -> int:
    """Compare on a data file."""
    settle(options)
    sample = read(options)
    problem = sample.problem(options)
    try:
        small = sample.problem(options, sample.few_rows(WARM_UP_ROWS))
    except QPSVMError:  # a few rows may be too few for this problem
        small = None
    print(f"{problem.title}\n")
    limits = {"max_iter": options.max_iter, "time_limit": options.time_limit}
    settings = {"tol": options.tol, "polish": not options.no_polish, "verbose": options.verbose}
    _compare(problem, small, options.form, settings, {k: v for k, v in limits.items() if v is not None})
    return 0


def demonstrate(options: argparse.Namespace) -> int:
    """Compare on a data set that is always there."""
    del options
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = data.target_names[data.target]
    problem = CSVM(X, y, C=1.0)
    print(f"breast_cancer (scikit-learn), standardised: {X.shape[0]} rows x {X.shape[1]} features")
    print(f"{problem.title}\n")
    few = few_rows(y, WARM_UP_ROWS)
    _compare(problem, CSVM(X[few], y[few], C=1.0), None, {}, {})
    print("\n'solver gap' is the gap of the solver's own point; 'gap' is certified after polishing it.")
    print("Next: python -m qpsvm --help")
    return 0


def _compare(
    problem: Problem, small: Problem | None, form: Form | None, settings: dict[str, Any], limits: dict[str, Any]
) -> None:
    """Solve with every installed backend in every form that it takes. Each is warmed up on `small`, if there is one."""
    _print_row(COLUMNS)
    without: list[str] = []
    for name in backends.REGISTRY:
        backend = backends.get(name)
        if backend.version() is None:
            _print_row((name, "-", "not installed", *[""] * 8))
            continue
        kept = {limit: value for limit, value in limits.items() if limit in backend.abilities.keeps}
        if backend.abilities.study:
            kept.setdefault("time_limit", STUDY_SECONDS)
        solved = False
        for each in [form] if form else _forms(backend, problem):
            if small is not None:
                _warm_up(small, backend, each)
            try:
                result = solve(problem, name, each, check=False, **settings, **kept)
            except UnsupportedError:
                continue
            solved = True
            _print_row(_cells(name, result))
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
        idle = limits.keys() - backend.abilities.keeps
        if solved and idle:
            without.append(f"{name} ({', '.join('--' + limit.replace('_', '-') for limit in sorted(idle))})")
    if without:
        print(f"\nwithout a limit that they cannot keep: {', '.join(without)}")


def _forms(backend: Backend, problem: Problem) -> list[Form]:
    """The forms to compare: both, or for a textbook method the one that suits it."""
    return [backend.preferred_form(problem.space.is_linear)] if backend.abilities.study else ["dual", "primal"]


def _warm_up(small: Problem, backend: Backend, form: Form) -> None:
    """Solve a few rows, so that imports and first calls are not in the time of the problem."""
    limits = {"time_limit": WARM_UP_SECONDS} if backend.abilities.grants("time_limit") else {}
    try:
        result = solve(small, backend.name, form, check=False, **limits)  # type: ignore[arg-type]
    except QPSVMError:  # the problem itself will say what is wrong
        return
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def _cells(name: str, result: SVMResult) -> tuple[str, ...]:
    return (
        name, result.form, str(result.status), f"{result.primal:.8g}", f"{result.solver_gap:.1e}", f"{result.gap:.1e}",
        str(len(result.support)), str(len(result.on_margin)), str(len(result.at_bound)),
        f"{1e3 * result.build_time:.1f} ms", f"{1e3 * result.solve_time:.1f} ms",
    )  # fmt: skip


def _print_row(cells: Sequence[str]) -> None:
    texts = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, WIDTHS, strict=True))]
    print("".join(texts).rstrip(), flush=True)
