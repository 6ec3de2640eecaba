"""The tables of what means hide: threads, grids, engines, who fell silent, and tables of one's own pair by pair."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.summary import (
    GOAL,
    GOALS,
    OURS,
    Line,
    fact,
    grouped,
    number,
    pair_of,
    select,
    solvers_of,
    suites_of,
    times,
)
from benchmarks.tables import ABSENT, Cell, Unit, cells_of, digits, gap, markdown, ratio, share, shown, unit_of
from benchmarks.threads import ALL

#: What anybody may expect of a run that was asked for this or for less: a gap of at most as much.
EXPECTED = 1e-3
#: Those whose default threads are shown beside one; SVC has one whatever is set.
THREADED = (OURS, "sklearnex SVC")


# --- default threads --------------------------------------------------------------------------------------------------


def threads(lines: Iterable[Line]) -> str:
    """Seconds on the wall to 1e-3 and to 1e-6, with default threads and with one."""
    runs = select(lines, "threads")
    parts = [(goal, cells_of(runs, ("data", "n", "kernel", "C"), goal)) for goal in (GOALS[0], GOAL)]
    return "\n\n".join(f"To {gap(goal)}:\n\n{_threads(cells)}" for goal, cells in parts if cells)


def _threads(cells: Mapping[tuple[object, ...], Mapping[str, Cell]]) -> str:
    unit = unit_of(cell.seconds for of in cells.values() for cell in of.values())
    header = ["task"]
    for name in THREADED:
        header += [f"{name}, {unit.name}", "one thread", "default / one"]
    rows = [
        [
            _title(row),
            *(text for name in THREADED for text in _pair(of, name, unit)),
            _text(of, "SVC", unit),
            *_against(of),
        ]
        for row, of in cells.items()
    ]
    return markdown([*header, f"SVC, {unit.name}", f"sklearnex / {OURS}, default", "one thread"], rows)


def _title(row: Sequence[object]) -> str:
    data, n, kernel, C = row
    return f"{shown(data)}, {shown(n)} rows, {shown(kernel)}, C = {shown(C)}"


def _pair(of: Mapping[str, Cell], name: str, unit: Unit) -> tuple[str, str, str]:
    """Default, one thread, and their ratio."""
    every, one = of.get(f"{name}{ALL}"), of.get(name)
    return _text(of, name, unit), ABSENT if one is None else one.text(unit), _ratio(every, one)


def _text(of: Mapping[str, Cell], name: str, unit: Unit) -> str:
    """With default threads."""
    every = of.get(f"{name}{ALL}")
    return ABSENT if every is None else every.text(unit)


def _against(of: Mapping[str, Cell]) -> tuple[str, str]:
    return (
        _ratio(of.get(f"sklearnex SVC{ALL}"), of.get(f"{OURS}{ALL}")),
        _ratio(of.get("sklearnex SVC"), of.get(OURS)),
    )


def _ratio(one: Cell | None, other: Cell | None) -> str:
    if one is None or other is None or not other.seconds > 0 or not math.isfinite(one.seconds / other.seconds):
        return ABSENT
    return f"{ratio(one.seconds / other.seconds)} ×"


# --- grids ------------------------------------------------------------------------------------------------------------


def grids(lines: Iterable[Line]) -> str:
    """Cross-validation over many C: time, and how right the machines and the errors are."""
    runs = select(lines, "grids")
    rows = [_grid(run) for of in grouped(runs, pair_of).values() for run in of]
    header = [
        "grid", "solver", "tol", "seconds", "worst gap", "median gap", "machines to 1e-3", "largest error off", "said",
    ]  # fmt: skip
    return markdown(header, rows, texts=2) if rows else ""


def _grid(run: Line) -> list[str]:
    seconds, worst, middle, off = (number(run, name) for name in ("seconds", "gap", "median_gap", "error_off"))
    right = f"{run['right']}/{run['machines']}" if "machines" in run else ABSENT
    return [
        f"{run['task']}, n = {shown(fact(run, 'n'))}",
        run["solver"],
        ABSENT if run.get("tol") is None else gap(run["tol"]),
        ABSENT if seconds is None else digits(seconds),
        f"[{run.get('outcome')}]" if worst is None else gap(worst),
        ABSENT if middle is None else gap(middle),
        right,
        ABSENT if off is None else f"{digits(100 * off, 2)} %",
        shown(run.get("said")),
    ]


# --- engines ----------------------------------------------------------------------------------------------------------


def engines(lines: Iterable[Line]) -> str:
    """Which of its algorithms found the point with which `qpsvm` reached the goal first, and what time they took."""
    lines = list(lines)
    rows = [row for suite in suites_of(lines) for row in _engines(suite, select(lines, suite))]
    header = ["suite", "engine", "tasks", "of", "median, ms", "share of the time"]
    return markdown(header, rows, texts=2) if rows else ""


def _engines(suite: str, runs: Sequence[Line]) -> list[list[object]]:
    """A row for each engine of the suite, the busiest first; nothing where engines were not recorded."""
    ours = [run for run in runs if run["solver"] == OURS and run.get("engine") is not None]
    best = times(ours, GOAL)
    found: dict[str, list[float]] = defaultdict(list)
    for pair, of in grouped(ours, pair_of).items():
        first = [run for run in of if number(run, "gap") is not None and run.get("seconds") == best[pair]]
        if first:
            found[str(first[0]["engine"])].append(best[pair])
    whole, tasks = sum(map(sum, found.values())), sum(map(len, found.values()))
    return [
        [suite, engine, len(took), tasks, digits(1e3 * median(took)), share(round(1e3 * sum(took)), round(1e3 * whole))]
        for engine, took in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


# --- silence ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Silence:
    """Of `runs` asked for 1e-3 or less: how many used up their iterations, how many of these without a warning, and how
    many claimed to be done, warned of nothing, and miss 1e-3. `silent` are those of either kind."""

    runs: int
    exhausted: int
    unwarned: int
    missed: int
    silent: int
    worst: float


def silences(runs: Iterable[Line]) -> dict[str, Silence]:
    """By solver. Runs that were ended by the time limit, or broke down, are not silent and not counted."""
    asked = [
        run for run in runs
        if 0 < (number(run, "tol") or 0.0) <= EXPECTED and run.get("outcome", "ran") == "ran"
    ]  # fmt: skip
    by_solver = grouped(asked, lambda run: run["solver"])
    return {solver: _silence(by_solver[solver]) for solver in solvers_of(asked)}


def _silence(runs: Sequence[Line]) -> Silence:
    exhausted = [run for run in runs if run.get("exhausted")]
    unwarned = [run for run in exhausted if not run.get("warned")]
    missed = [run for run in runs if run.get("claimed") is True and not run.get("warned") and _gap(run) > EXPECTED]
    both = {id(run): run for run in (*unwarned, *missed)}
    worst = max(map(_gap, both.values()), default=math.nan)
    return Silence(len(runs), len(exhausted), len(unwarned), len(missed), len(both), worst)


def _gap(run: Line) -> float:
    """Infinite without a point."""
    found = number(run, "gap")
    return math.inf if found is None else found


def silent(lines: Iterable[Line]) -> str:
    """Who ended at a limit without a warning, or far from where it said that it was."""
    found = silences(select(lines))
    rows = [
        [solver, one.runs, one.exhausted, one.unwarned, one.missed, f"{one.silent} ({share(one.silent, one.runs)})",
         ABSENT if math.isnan(one.worst) else gap(one.worst)]
        for solver, one in found.items()
    ]  # fmt: skip
    header = [
        "solver",
        "runs",
        "at its limit",
        "without a warning",
        "claimed, gap > 1e-3",
        "silent in all",
        "worst gap",
    ]
    return markdown(header, rows) if rows else ""


# --- one's own --------------------------------------------------------------------------------------------------------


def own(lines: Iterable[Line]) -> str:
    """The suite of tables that were given on the command line."""
    return seconds_and_gaps(select(lines, "own"))


def seconds_and_gaps(runs: Iterable[Line]) -> str:
    """A row for each task and solver: seconds to 1e-3 and to 1e-6, the best gap, true claims, and how it ended."""
    rows = [[*pair, *_ended(of)] for pair, of in grouped(runs, pair_of).items()]
    header = [
        "task",
        "solver",
        *(f"to {gap(goal)}, s" for goal in (GOALS[0], GOAL)),
        "best gap",
        "claims true",
        "ended",
    ]
    return markdown(header, rows, texts=2) if rows else ""


def _ended(runs: Sequence[Line]) -> list[str]:
    (pair,) = {pair_of(run) for run in runs}
    seconds = [times(runs, goal)[pair] for goal in (GOALS[0], GOAL)]
    claimed = [run for run in runs if run.get("claimed") is True]
    true = sum(_gap(run) <= (number(run, "tol") or 0.0) for run in claimed)
    last = runs[-1]
    ended = last.get("outcome", "ran")
    return [
        *(digits(each) for each in seconds),
        gap(min(map(_gap, runs))),
        f"{true}/{len(claimed)}" if claimed else ABSENT,
        shown(last.get("said")) if ended == "ran" else f"{ended}: {last.get('error') or 'stopped'}",
    ]


TABLES: dict[str, Callable[[Iterable[Line]], str]] = {
    "own": own,
    "threads": threads,
    "grids": grids,
    "engines": engines,
    "silent": silent,
}
