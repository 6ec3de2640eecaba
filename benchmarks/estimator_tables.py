"""The tables of estimators: seconds to fit and to predict at everybody's defaults, with the gap that these leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from benchmarks.summary import ESTIMATORS, OURS, Line, get_fact, get_number, group_lines, select_runs
from benchmarks.tables import ABSENT, format_digits, format_fact, format_gap, format_ratio, format_table

#: What each package is asked by default, and what it is asked to be as exact as we are.
DEFAULTS = {OURS: 1e-6, "scikit-learn": 1e-3, "sklearnex": 1e-3}
EXACT = 1e-6
#: The package that users have.
THEIRS = ESTIMATORS[1]
Runs = Mapping[tuple[str, float], Line]


def build_estimators_table(lines: Iterable[Line]) -> str:
    """Fits, and predictions of the rows that were held out."""
    tasks = group_lines(select_runs(lines, "estimators"), lambda run: run["task"])
    if not tasks:
        return ""
    runs = {task: {(run["solver"], run.get("tol") or 0.0): run for run in of} for task, of in tasks.items()}
    header = [
        "task", "rows, classes", f"{OURS}, ms", "gap", f"{THEIRS}, ms", "gap", f"{THEIRS} / {OURS}",
        "at 1e-6, ms", "gap", f"/ {OURS}", "sklearnex, ms", "gap",
    ]  # fmt: skip
    fits = format_table(header, [[task, _format_size(of), *_build_fit_cells(of)] for task, of in runs.items()], texts=2)
    header = [
        "task", f"{OURS}, ms", f"{THEIRS}, ms", f"{THEIRS} / {OURS}",
        f"one row, {OURS}, ms", THEIRS, f"{THEIRS} / {OURS}", f"right, {OURS}", THEIRS, f"off, {OURS}", THEIRS,
    ]  # fmt: skip
    return f"{fits}\n\n{format_table(header, [[task, *_build_prediction_cells(of)] for task, of in runs.items()])}"


def _format_size(of: Runs) -> str:
    run = next(iter(of.values()))
    return f"{format_fact(get_fact(run, 'n'))}, {format_fact(get_fact(run, 'classes'))}"


def _find_default_run(of: Runs, solver: str) -> Line:
    """The run at the default tolerance; empty where there is none, or one that failed before it had a tolerance."""
    return of.get((solver, DEFAULTS[solver])) or next((run for (name, _), run in of.items() if name == solver), {})


def _build_fit_cells(of: Runs) -> list[str]:
    ours = _find_default_run(of, OURS)
    theirs = _find_default_run(of, THEIRS)
    exact = of.get((THEIRS, EXACT), {})
    each = [
        *_format_fit(ours),
        *_format_fit(theirs),
        _format_run_ratio(theirs, ours, "seconds"),
        *_format_fit(exact),
        _format_run_ratio(exact, ours, "seconds"),
    ]
    return [*each, *_format_fit(_find_default_run(of, "sklearnex"))]


def _format_fit(run: Line) -> tuple[str, str]:
    found = get_number(run, "gap")
    missing = ABSENT if run.get("outcome", "ran") == "ran" else f"[{run['outcome']}]"
    return _format_milliseconds(run, "seconds"), missing if found is None else format_gap(found)


def _build_prediction_cells(of: Runs) -> list[str]:
    ours, theirs = _find_default_run(of, OURS), _find_default_run(of, THEIRS)
    cells = []
    for name in ("predicting", "one_row"):
        cells += [
            _format_milliseconds(ours, name),
            _format_milliseconds(theirs, name),
            _format_run_ratio(theirs, ours, name),
        ]
    if any(get_fact(run, "classes") for run in of.values()):
        off = _format_percentage
    else:
        off = _format_difference
    return [*cells, _format_score(ours), _format_score(theirs), *(off(run) for run in (ours, theirs))]


def _format_milliseconds(run: Line, name: str) -> str:
    return _format_number(run, name, lambda seconds: format_digits(1e3 * seconds))


def _format_run_ratio(one: Line, other: Line, name: str) -> str:
    first, second = get_number(one, name), get_number(other, name)
    if first is None or not second:
        return ABSENT
    return f"{format_ratio(first / second)} ×"


def _format_score(run: Line) -> str:
    return _format_number(run, "right", lambda share: f"{share:.4f}")


def _format_percentage(run: Line) -> str:
    return _format_number(run, "off", lambda share: f"{format_digits(100 * share, 2)} %")


def _format_difference(run: Line) -> str:
    return _format_number(run, "off", lambda most: f"{most:.0e}" if most else "0")


def _format_number(run: Line, name: str, text: Callable[[float], str]) -> str:
    found = get_number(run, name)
    return ABSENT if found is None else text(found)


TABLES: dict[str, Callable[[Iterable[Line]], str]] = {"estimators": build_estimators_table}
