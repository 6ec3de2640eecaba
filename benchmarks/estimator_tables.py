"""The tables of estimators: seconds to fit and to predict at everybody's defaults, with the gap that these leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from benchmarks.summary import ESTIMATORS, OURS, Line, fact, grouped, number, select
from benchmarks.tables import ABSENT, digits, gap, markdown, ratio, shown

#: What each package is asked by default, and what it is asked to be as exact as we are.
DEFAULTS = {OURS: 1e-6, "scikit-learn": 1e-3, "sklearnex": 1e-3}
EXACT = 1e-6
#: The package that users have.
THEIRS = ESTIMATORS[1]
Runs = Mapping[tuple[str, float], Line]


def estimators(lines: Iterable[Line]) -> str:
    """Fits, and predictions of the rows that were held out."""
    tasks = grouped(select(lines, "estimators"), lambda run: run["task"])
    if not tasks:
        return ""
    runs = {task: {(run["solver"], run.get("tol") or 0.0): run for run in of} for task, of in tasks.items()}
    header = [
        "task", "rows, classes", f"{OURS}, ms", "gap", f"{THEIRS}, ms", "gap", f"{THEIRS} / {OURS}",
        "at 1e-6, ms", "gap", f"/ {OURS}", "sklearnex, ms", "gap",
    ]  # fmt: skip
    fits = markdown(header, [[task, _size(of), *_fits(of)] for task, of in runs.items()], texts=2)
    header = [
        "task", f"{OURS}, ms", f"{THEIRS}, ms", f"{THEIRS} / {OURS}",
        f"one row, {OURS}, ms", THEIRS, f"{THEIRS} / {OURS}", f"right, {OURS}", THEIRS, f"off, {OURS}", THEIRS,
    ]  # fmt: skip
    return f"{fits}\n\n{markdown(header, [[task, *_predictions(of)] for task, of in runs.items()])}"


def _size(of: Runs) -> str:
    run = next(iter(of.values()))
    return f"{shown(fact(run, 'n'))}, {shown(fact(run, 'classes'))}"


def _default(of: Runs, solver: str) -> Line:
    """The run at the default tolerance; empty where there is none, or one that failed before it had a tolerance."""
    return of.get((solver, DEFAULTS[solver])) or next((run for (name, _), run in of.items() if name == solver), {})


def _fits(of: Runs) -> list[str]:
    ours, theirs, exact = _default(of, OURS), _default(of, THEIRS), of.get((THEIRS, EXACT), {})
    each = [*_fit(ours), *_fit(theirs), _ratio(theirs, ours, "seconds"), *_fit(exact), _ratio(exact, ours, "seconds")]
    return [*each, *_fit(_default(of, "sklearnex"))]


def _fit(run: Line) -> tuple[str, str]:
    found = number(run, "gap")
    missing = ABSENT if run.get("outcome", "ran") == "ran" else f"[{run['outcome']}]"
    return _milliseconds(run, "seconds"), missing if found is None else gap(found)


def _predictions(of: Runs) -> list[str]:
    ours, theirs = _default(of, OURS), _default(of, THEIRS)
    cells = []
    for name in ("predicting", "one_row"):
        cells += [_milliseconds(ours, name), _milliseconds(theirs, name), _ratio(theirs, ours, name)]
    off = _share if any(fact(run, "classes") for run in of.values()) else _difference
    return [*cells, _score(ours), _score(theirs), *(off(run) for run in (ours, theirs))]


def _milliseconds(run: Line, name: str) -> str:
    return _number(run, name, lambda seconds: digits(1e3 * seconds))


def _ratio(one: Line, other: Line, name: str) -> str:
    first, second = number(one, name), number(other, name)
    return ABSENT if first is None or not second else f"{ratio(first / second)} ×"


def _score(run: Line) -> str:
    return _number(run, "right", lambda share: f"{share:.4f}")


def _share(run: Line) -> str:
    return _number(run, "off", lambda share: f"{digits(100 * share, 2)} %")


def _difference(run: Line) -> str:
    return _number(run, "off", lambda most: f"{most:.0e}" if most else "0")


def _number(run: Line, name: str, text: Callable[[float], str]) -> str:
    found = number(run, name)
    return ABSENT if found is None else text(found)


TABLES: dict[str, Callable[[Iterable[Line]], str]] = {"estimators": estimators}
