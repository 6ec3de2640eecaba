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
    find_times,
    get_fact,
    get_number,
    get_pair,
    group_lines,
    list_solvers,
    list_suites,
    select_runs,
)
from benchmarks.tables import (
    ABSENT,
    Cell,
    Unit,
    build_cells,
    choose_unit,
    format_digits,
    format_fact,
    format_gap,
    format_ratio,
    format_share,
    format_table,
)
from benchmarks.threads import ALL

#: What anybody may expect of a run that was asked for this or for less: a gap of at most as much.
MAX_CLAIMED_GAP = 1e-3
#: Those whose default threads are shown beside one; SVC has one whatever is set.
THREADED = (OURS, "sklearnex SVC")


# --- default threads --------------------------------------------------------------------------------------------------


def build_threads_table(lines: Iterable[Line]) -> str:
    """Seconds on the wall to 1e-3 and to 1e-6, with default threads and with one."""
    runs = select_runs(lines, "threads")
    parts = [(goal, build_cells(runs, ("data", "n", "kernel", "C"), goal)) for goal in (GOALS[0], GOAL)]
    return "\n\n".join(f"To {format_gap(goal)}:\n\n{_format_threads(cells)}" for goal, cells in parts if cells)


def _format_threads(cells: Mapping[tuple[object, ...], Mapping[str, Cell]]) -> str:
    unit = choose_unit(cell.seconds for of in cells.values() for cell in of.values())
    header = ["task"]
    for name in THREADED:
        header += [f"{name}, {unit.name}", "one thread", "default / one"]
    rows = [
        [
            _format_title(row),
            *(text for name in THREADED for text in _format_pair(of, name, unit)),
            _format_cell(of, "SVC", unit),
            *_compare_with_sklearnex(of),
        ]
        for row, of in cells.items()
    ]
    return format_table([*header, f"SVC, {unit.name}", f"sklearnex / {OURS}, default", "one thread"], rows)


def _format_title(row: Sequence[object]) -> str:
    data, n, kernel, C = row
    return f"{format_fact(data)}, {format_fact(n)} rows, {format_fact(kernel)}, C = {format_fact(C)}"


def _format_pair(of: Mapping[str, Cell], name: str, unit: Unit) -> tuple[str, str, str]:
    """Default, one thread, and their ratio."""
    every = of.get(f"{name}{ALL}")
    one = of.get(name)
    return (
        _format_cell(of, name, unit),
        ABSENT if one is None else one.format_text(unit),
        _format_cell_ratio(every, one),
    )


def _format_cell(of: Mapping[str, Cell], name: str, unit: Unit) -> str:
    """With default threads."""
    every = of.get(f"{name}{ALL}")
    return ABSENT if every is None else every.format_text(unit)


def _compare_with_sklearnex(of: Mapping[str, Cell]) -> tuple[str, str]:
    return (
        _format_cell_ratio(of.get(f"sklearnex SVC{ALL}"), of.get(f"{OURS}{ALL}")),
        _format_cell_ratio(of.get("sklearnex SVC"), of.get(OURS)),
    )


def _format_cell_ratio(one: Cell | None, other: Cell | None) -> str:
    if one is None or other is None or not other.seconds > 0 or not math.isfinite(one.seconds / other.seconds):
        return ABSENT
    return f"{format_ratio(one.seconds / other.seconds)} ×"


# --- grids ------------------------------------------------------------------------------------------------------------


def build_grids_table(lines: Iterable[Line]) -> str:
    """Cross-validation over many C: time, and how right the machines and the errors are."""
    runs = select_runs(lines, "grids")
    rows = [_build_grid_row(run) for of in group_lines(runs, get_pair).values() for run in of]
    header = [
        "grid", "solver", "tol", "seconds", "worst gap", "median gap", "machines to 1e-3", "largest error off", "said",
    ]  # fmt: skip
    return format_table(header, rows, texts=2) if rows else ""


def _build_grid_row(run: Line) -> list[str]:
    seconds, worst, middle, off = (get_number(run, name) for name in ("seconds", "gap", "median_gap", "error_off"))
    right = f"{run['right']}/{run['machines']}" if "machines" in run else ABSENT
    return [
        f"{run['task']}, n = {format_fact(get_fact(run, 'n'))}",
        run["solver"],
        ABSENT if run.get("tol") is None else format_gap(run["tol"]),
        ABSENT if seconds is None else format_digits(seconds),
        f"[{run.get('outcome')}]" if worst is None else format_gap(worst),
        ABSENT if middle is None else format_gap(middle),
        right,
        ABSENT if off is None else f"{format_digits(100 * off, 2)} %",
        format_fact(run.get("said")),
    ]


# --- engines ----------------------------------------------------------------------------------------------------------


def build_engines_table(lines: Iterable[Line]) -> str:
    """Tabulate which algorithm found the point with which `qpsvm` reached the goal first, and the time of each."""
    lines = list(lines)
    rows = [row for suite in list_suites(lines) for row in _build_engine_rows(suite, select_runs(lines, suite))]
    header = ["suite", "engine", "tasks", "of", "median, ms", "share of the time"]
    return format_table(header, rows, texts=2) if rows else ""


def _build_engine_rows(suite: str, runs: Sequence[Line]) -> list[list[object]]:
    """A row for each engine of the suite, the busiest first; nothing where engines were not recorded."""
    ours = [run for run in runs if run["solver"] == OURS and run.get("engine") is not None]
    best = find_times(ours, GOAL)
    found: dict[str, list[float]] = defaultdict(list)
    for pair, of in group_lines(ours, get_pair).items():
        first = [run for run in of if get_number(run, "gap") is not None and run.get("seconds") == best[pair]]
        if first:
            found[str(first[0]["engine"])].append(best[pair])
    whole, tasks = sum(map(sum, found.values())), sum(map(len, found.values()))
    return [
        [
            suite,
            engine,
            len(took),
            tasks,
            format_digits(1e3 * median(took)),
            format_share(round(1e3 * sum(took)), round(1e3 * whole)),
        ]
        for engine, took in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


# --- silence ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SilentFailures:
    """Of `runs` asked for 1e-3 or less: how many used up their iterations, how many of these without a warning, and how
    many claimed to be done, warned of nothing, and miss 1e-3. `build_silent_table` are those of either kind."""

    runs: int
    exhausted: int
    unwarned: int
    missed: int
    silent: int
    worst: float


def count_silent_failures(runs: Iterable[Line]) -> dict[str, SilentFailures]:
    """By solver. Runs that were ended by the time limit, or broke down, are not silent and not counted."""
    asked = [
        run for run in runs
        if 0 < (get_number(run, "tol") or 0.0) <= MAX_CLAIMED_GAP and run.get("outcome", "ran") == "ran"
    ]  # fmt: skip
    by_solver = group_lines(asked, lambda run: run["solver"])
    return {solver: _count_of_solver(by_solver[solver]) for solver in list_solvers(asked)}


def _count_of_solver(runs: Sequence[Line]) -> SilentFailures:
    exhausted = [run for run in runs if run.get("exhausted")]
    unwarned = [run for run in exhausted if not run.get("warned")]
    missed = [
        run for run in runs if run.get("claimed") is True and not run.get("warned") and _get_gap(run) > MAX_CLAIMED_GAP
    ]
    both = {id(run): run for run in (*unwarned, *missed)}
    worst = max(map(_get_gap, both.values()), default=math.nan)
    return SilentFailures(len(runs), len(exhausted), len(unwarned), len(missed), len(both), worst)


def _get_gap(run: Line) -> float:
    """Infinite without a point."""
    found = get_number(run, "gap")
    return math.inf if found is None else found


def build_silent_table(lines: Iterable[Line]) -> str:
    """Tabulate the solvers that ended at a limit without a warning, or claimed a gap far from the true one."""
    found = count_silent_failures(select_runs(lines))
    rows = [
        [
            solver,
            one.runs,
            one.exhausted,
            one.unwarned,
            one.missed,
            f"{one.silent} ({format_share(one.silent, one.runs)})",
            ABSENT if math.isnan(one.worst) else format_gap(one.worst),
        ]
        for solver, one in found.items()
    ]
    header = [
        "solver",
        "runs",
        "at its limit",
        "without a warning",
        "claimed, gap > 1e-3",
        "silent in all",
        "worst gap",
    ]
    return format_table(header, rows) if rows else ""


# --- one's own --------------------------------------------------------------------------------------------------------


def build_own_table(lines: Iterable[Line]) -> str:
    """The suite of tables that were given on the command line."""
    return build_seconds_table(select_runs(lines, "own"))


def build_seconds_table(runs: Iterable[Line]) -> str:
    """A row for each task and solver: seconds to 1e-3 and to 1e-6, the best gap, true claims, and how it ended."""
    rows = [[*pair, *_describe_end(of)] for pair, of in group_lines(runs, get_pair).items()]
    header = [
        "task",
        "solver",
        *(f"to {format_gap(goal)}, s" for goal in (GOALS[0], GOAL)),
        "best gap",
        "claims true",
        "ended",
    ]
    return format_table(header, rows, texts=2) if rows else ""


def _describe_end(runs: Sequence[Line]) -> list[str]:
    (pair,) = {get_pair(run) for run in runs}
    seconds = [find_times(runs, goal)[pair] for goal in (GOALS[0], GOAL)]
    claimed = [run for run in runs if run.get("claimed") is True]
    true = sum(_get_gap(run) <= (get_number(run, "tol") or 0.0) for run in claimed)
    last = runs[-1]
    ended = last.get("outcome", "ran")
    return [
        *(format_digits(each) for each in seconds),
        format_gap(min(map(_get_gap, runs))),
        f"{true}/{len(claimed)}" if claimed else ABSENT,
        format_fact(last.get("said")) if ended == "ran" else f"{ended}: {last.get('error') or 'stopped'}",
    ]


TABLES: dict[str, Callable[[Iterable[Line]], str]] = {
    "own": build_own_table,
    "threads": build_threads_table,
    "grids": build_grids_table,
    "engines": build_engines_table,
    "silent": build_silent_table,
}
