"""What the measurements say: numbers from run lines, without files and without pictures.

A run line is one solver on one task at one tolerance. The functions that answer for tasks take the lines of one suite,
as `select` gives them. A solver that does not apply to a task has no line there and has not failed; one that was tried
and did not reach the goal has.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from benchmarks.threads import ALL

Line = Mapping[str, Any]
Pair = tuple[str, str]

SUITES = (
    "threads", "variants", "osqp", "linear", "rbf", "kinds", "scaling", "grids", "estimators", "textbook", "own",
)  # fmt: skip
GOALS = (1e-3, 1e-6, 1e-9)
#: The goal of the tables that show one only.
GOAL = 1e-6
OURS = "qpsvm"
BACKENDS = (
    "cvxopt", "osqp", "cvxpy", "augmented_lagrangian", "interior_point", "kernel_newton", "libsvm", "slsqp",
    "dual_ascent", "subgradient",
)  # fmt: skip
#: Our own methods as they are, without polish.
BARE = ("interior_point", "augmented_lagrangian", "slsqp", "dual_ascent", "subgradient")
SCIKIT_LEARN = ("SVC", "NuSVC", "LinearSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVR")
PACKAGES = ("libsvm", "liblinear")
PEERS = ("sklearnex SVC", "sklearnex NuSVC", "sklearnex SVR", "sklearnex NuSVR", "rehline", "snapml")
QP_SOLVERS = ("piqp", "proxqp", "clarabel", "osqp", "scs", "highs", "qpalm", "daqp", "cvxopt")
#: Packages of estimators with scikit-learn's names.
ESTIMATORS = (OURS, "scikit-learn", "sklearnex")
#: Every solver in the order in which it is listed everywhere.
SOLVERS = (
    OURS,
    *(f"{OURS}:{backend}" for backend in BACKENDS),
    *BARE,
    *SCIKIT_LEARN,
    *PACKAGES,
    *PEERS,
    "torchkm",
    *QP_SOLVERS,
    *(f"{name}{ALL}" for name in (OURS, "SVC", "sklearnex SVC")),
)
#: Seconds: below this a time is overhead, and a ratio of two of them says little.
SHIFT = 0.010
#: Seconds: what a clock tells apart at best; a time of 0 counts as that.
TICK = 1e-9


def select_runs(lines: Iterable[Line], suite: str | None = None) -> list[Line]:
    """The run lines among lines of all kinds, of one suite or of all."""
    return [
        line
        for line in lines
        if line.get("kind", "run") == "run"
        and "task" in line
        and "solver" in line
        and (suite is None or line.get("suite") == suite)
    ]


def list_suites(lines: Iterable[Line]) -> list[str]:
    """The suites that have lines, in their order; unknown ones last."""
    there = {str(line.get("suite")) for line in select_runs(lines)}
    return [suite for suite in SUITES if suite in there] + sorted(there - set(SUITES))


def list_solvers(runs: Iterable[Line]) -> list[str]:
    """The solvers that have lines, in their order; unknown ones last."""
    there = {run["solver"] for run in runs}
    return [solver for solver in SOLVERS if solver in there] + sorted(there - set(SOLVERS))


def get_number(run: Line, name: str) -> float | None:
    """A finite number of a line, or None."""
    value = run.get(name)
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return None


def get_fact(run: Line, name: str) -> Any:
    """A fact about the task, or None."""
    return (run.get("facts") or {}).get(name)


def group_lines(runs: Iterable[Line], key: Callable[[Line], Hashable]) -> dict[Any, list[Line]]:
    """The lines by what `key` says of them, in order of appearance."""
    groups: dict[Any, list[Line]] = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return dict(groups)


def get_pair(run: Line) -> Pair:
    """Task and solver of a line."""
    return run["task"], run["solver"]


# --- one number for a task and a solver -------------------------------------------------------------------------------


def find_times(runs: Iterable[Line], goal: float) -> dict[Pair, float]:
    """Least seconds of a run whose certified gap is at most the goal, by (task, solver).

    Infinite where the solver was tried and no run got there, absent where it was not tried.
    """
    found: dict[Pair, float] = {}
    for run in runs:
        seconds, gap = get_number(run, "seconds"), get_number(run, "gap")
        if seconds is None or gap is None or gap > goal:
            seconds = math.inf
        found[get_pair(run)] = min(found.get(get_pair(run), math.inf), seconds)
    return found


def find_best_gaps(runs: Iterable[Line]) -> dict[Pair, float]:
    """Least certified gap by (task, solver), infinite where the solver never gave a point."""
    found: dict[Pair, float] = {}
    for run in runs:
        gap = get_number(run, "gap")
        found[get_pair(run)] = min(found.get(get_pair(run), math.inf), math.inf if gap is None else gap)
    return found


def find_peak_memories(runs: Iterable[Line]) -> dict[Pair, float]:
    """Largest memory in bytes of the runs that went to their end, by (task, solver), where it could be read."""
    found: dict[Pair, float] = {}
    for run in runs:
        memory = get_number(run, "memory")
        if memory is not None and run.get("outcome", "ran") == "ran":
            found[get_pair(run)] = max(found.get(get_pair(run), 0.0), memory)
    return found


def trace_progress(runs: Iterable[Line]) -> dict[Pair, list[tuple[float, float]]]:
    """Pairs (seconds, best gap up to then) by (task, solver), in order of time: what was known when."""
    found: dict[Pair, list[tuple[float, float]]] = {}
    for pair, lines in group_lines(runs, get_pair).items():
        points = [(get_number(line, "seconds"), get_number(line, "gap")) for line in lines]
        best = math.inf
        steps = []
        for seconds, gap in sorted((s, g) for s, g in points if s is not None and g is not None):
            best = min(best, gap)
            steps.append((seconds, best))
        found[pair] = steps
    return found


# --- all tasks of a suite ---------------------------------------------------------------------------------------------


def compute_shifted_mean(seconds: Iterable[float], shift: float = SHIFT) -> float:
    """The mean of times that differ by orders of magnitude, in which the shortest do not count by their noise.

    For n times t_1 … t_n and the shift s it is

        (∏ (t_i + s))^(1/n) − s

    as in Mittelmann's benchmarks of optimisation software (plato.asu.edu/ftp/shgeom.html) and as FICO's note "MIP
    benchmarking: don't abuse the standards" asks of every comparison of solvers; there the shift is of seconds, here
    the problems are smaller. Computed through logarithms; NaN of no times at all.
    """
    shifted = [math.log(second + shift) for second in seconds]
    if shifted:
        return math.exp(math.fsum(shifted) / len(shifted)) - shift
    return math.nan


def find_failure_seconds(runs: Iterable[Line]) -> float:
    """Find the time that a failure counts: the time limit of the suite's runs, or else the largest time on record."""
    limits = [limit for run in runs if (limit := get_number(run, "limit")) is not None]
    return max(
        limits or (seconds for run in runs if (seconds := get_number(run, "seconds")) is not None), default=math.nan
    )


@dataclass(frozen=True)
class Standing:
    """How a solver did on a suite at one goal.

    `tried` and `reached` count tasks, `mean` is the shifted geometric mean over the tasks tried, and `ratio` that of
    this solver over that of `qpsvm` on the `common` tasks that both were tried on; NaN where there are none.
    """

    solver: str
    tried: int
    reached: int
    mean: float
    common: int
    ratio: float


def find_solved_tasks(runs: Iterable[Line], goal: float) -> set[str]:
    """The tasks that at least one solver brought to the goal."""
    return {task for (task, _), seconds in find_times(runs, goal).items() if math.isfinite(seconds)}


def compare_solvers(runs: Sequence[Line], goal: float) -> list[Standing]:
    """Compare all solvers on the tasks of one suite that at least one solver brought to the goal.

    A task that was tried and not brought there counts with `find_failure_seconds`.
    """
    found = find_times(runs, goal)
    price = find_failure_seconds(runs)
    solved = find_solved_tasks(runs, goal)
    by_solver: dict[str, dict[str, float]] = defaultdict(dict)
    for (task, solver), seconds in found.items():
        if task in solved:
            by_solver[solver][task] = seconds if math.isfinite(seconds) else price
    return [_build_standing(solver, found, by_solver) for solver in list_solvers(runs) if solver in by_solver]


def _build_standing(solver: str, found: Mapping[Pair, float], by_solver: Mapping[str, Mapping[str, float]]) -> Standing:
    own = by_solver[solver]
    ours = by_solver.get(OURS, {})
    common = sorted(set(own) & set(ours))
    mean = compute_shifted_mean(ours[task] for task in common)
    if common and mean > 0:
        ratio = compute_shifted_mean(own[task] for task in common) / mean
    else:
        ratio = math.nan
    reached = sum(math.isfinite(found[task, solver]) for task in own)
    return Standing(solver, len(own), reached, compute_shifted_mean(own.values()), len(common), ratio)


@dataclass(frozen=True)
class Race:
    """A task on which another library was tried too: our time, the fastest of the others, and whose that is."""

    task: str
    ours: float
    other: float
    solver: str

    @property
    def slower(self) -> float:
        """Our time in units of theirs; not a number where neither reached the goal."""
        if math.isfinite(self.other):
            return self.ours / max(self.other, TICK)
        return 0.0 if math.isfinite(self.ours) else math.nan


def list_races(runs: Sequence[Line], goal: float) -> list[Race]:
    """`qpsvm` against the fastest of all other libraries, chosen task by task afterwards: the hardest comparison.

    In one thread; what several threads are worth is another question, and `details.build_threads_table` answers it.
    """
    found = find_times(runs, goal)
    others: dict[str, dict[str, float]] = defaultdict(dict)
    for (task, solver), seconds in found.items():
        if solver != OURS and not solver.startswith(f"{OURS}:") and solver not in BARE and not solver.endswith(ALL):
            others[task][solver] = seconds
    compared = [task for task, solver in found if solver == OURS and task in others]
    best = {task: min(others[task], key=lambda solver: others[task][solver]) for task in compared}
    return [Race(task, found[task, OURS], others[task][best[task]], best[task]) for task in compared]


def find_common_tasks(runs: Iterable[Line], chosen: Iterable[str]) -> set[str]:
    """The tasks that every one of the chosen solvers was tried on."""
    tried = _group_tasks(runs)
    sets = [tried.get(solver, set()) for solver in chosen]
    return set.intersection(*sets) if sets else set()


def choose_common_solvers(runs: Sequence[Line]) -> list[str]:
    """Solvers that can be compared on many tasks: the largest (number of solvers) × (number of their common tasks).

    Found greedily from `qpsvm` on (or the solver with most tasks), each time adding the solver that costs the fewest
    tasks. A picture that needs common tasks draws these.
    """
    tried = _group_tasks(runs)
    waiting = list_solvers(runs)
    if not waiting:
        return []
    if OURS in tried:
        first = OURS
    else:
        first = max(waiting, key=lambda solver: len(tried[solver]))
    chosen = [first]
    tasks = tried[first]
    best = [first]
    area = len(tasks)
    waiting.remove(first)
    while waiting:
        gentlest = max(waiting, key=lambda solver: len(tasks & tried[solver]))
        waiting.remove(gentlest)
        chosen = [*chosen, gentlest]
        tasks = tasks & tried[gentlest]
        if len(chosen) * len(tasks) >= area:
            best = chosen
            area = len(chosen) * len(tasks)
    return [solver for solver in list_solvers(runs) if solver in best]


def _group_tasks(runs: Iterable[Line]) -> dict[str, set[str]]:
    tried: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        tried[run["solver"]].add(run["task"])
    return dict(tried)


@dataclass(frozen=True)
class Profile:
    """Performance profile: over so many tasks, for each solver the finite ratios time / best time, ascending."""

    tasks: int
    ratios: dict[str, list[float]]

    def share_within(self, solver: str, tau: float) -> float:
        """Share of the tasks that the solver finished within tau times the best time."""
        if self.tasks:
            return bisect_right(self.ratios[solver], tau) / self.tasks
        return math.nan


def compute_profile(runs: Sequence[Line], goal: float, solvers: Sequence[str] | None = None) -> Profile:
    """ρ(τ) = share of tasks with time ≤ τ · best time, after Dolan & Moré, *Mathematical Programming* 91 (2002).

    Over the tasks that all the solvers were tried on (all solvers of the lines if none are named); the best is the
    best of them. A solver that did not reach the goal never does, and a task that none reached is one of the tasks.
    """
    drawn = list_solvers(runs) if solvers is None else list(solvers)
    tasks = sorted(find_common_tasks(runs, drawn))
    found = find_times(runs, goal)
    best = {task: max(TICK, min(found[task, solver] for solver in drawn)) for task in tasks}
    ratios = {
        solver: sorted(max(TICK, found[task, solver]) / best[task] for task in tasks if found[task, solver] < math.inf)
        for solver in drawn
    }
    return Profile(len(tasks), ratios)


# --- what solvers say of themselves -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claims:
    """What a solver claimed: `runs` with a tolerance, `claimed` optimal, of these `true` ones and `near` ones.

    True is a certified gap of at most the tolerance, near one of at most 10 times that; `worst` is the largest ratio
    gap / tolerance of a claim: infinite where a claim came without a point, NaN where nothing was claimed.
    """

    runs: int
    claimed: int
    true: int
    near: int
    worst: float
    by_tolerance: dict[float, Claims] = field(default_factory=dict)


def count_claims(runs: Iterable[Line]) -> dict[str, Claims]:
    """By solver, whether it is right where it says that it is done; in all and by tolerance."""
    asked = [run for run in runs if (get_number(run, "tol") or 0.0) > 0]
    by_solver = group_lines(asked, lambda run: run["solver"])
    return {solver: _count_by_tolerance(by_solver[solver]) for solver in list_solvers(asked)}


def _count_by_tolerance(runs: Sequence[Line]) -> Claims:
    by_tolerance = group_lines(runs, lambda run: float(run["tol"]))
    parts = {tol: _count_run_claims(by_tolerance[tol]) for tol in sorted(by_tolerance, reverse=True)}
    whole = _count_run_claims(runs)
    return Claims(whole.runs, whole.claimed, whole.true, whole.near, whole.worst, parts)


def _count_run_claims(runs: Sequence[Line]) -> Claims:
    claimed = [run for run in runs if run.get("claimed") is True]
    excess = [math.inf if (gap := get_number(run, "gap")) is None else gap / run["tol"] for run in claimed]
    true, near = sum(ratio <= 1 for ratio in excess), sum(ratio <= 10 for ratio in excess)
    return Claims(len(runs), len(claimed), true, near, max(excess, default=math.nan))


# --- growth with the size ---------------------------------------------------------------------------------------------


def fit_exponent(sizes: Sequence[float], values: Sequence[float | None]) -> tuple[float, int]:
    """Slope p of values ≈ c · size^p by least squares in logarithms, and the number of points it rests on.

    Points whose value is missing, infinite or not positive are left out; NaN with fewer than two different sizes.
    """
    points = [
        (math.log(size), math.log(value))
        for size, value in zip(sizes, values, strict=True)
        if value is not None and math.isfinite(value) and value > 0 and size > 0
    ]
    if len({x for x, _ in points}) < 2:
        return math.nan, len(points)
    x, y = np.array(points).T
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x)), len(points)


@dataclass(frozen=True)
class Growth:
    """A solver along a sweep: the sizes tried, seconds to the goal and bytes at each (None where there are none)."""

    sweep: str
    solver: str
    sizes: list[float]
    seconds: list[float | None]
    bytes: list[float | None]

    @property
    def largest(self) -> float | None:
        """The largest size that was brought to the goal."""
        reached = [size for size, seconds in zip(self.sizes, self.seconds, strict=True) if seconds is not None]
        return max(reached, default=None)


def name_size(sweep: str) -> str:
    """The fact that a sweep varies: d if over columns, else n."""
    return "d" if sweep.startswith("columns") else "n"


def name_sweep(run: Line) -> str:
    """The sweep that a line belongs to; that of another machine than the one with a free intercept is another."""
    intercept = get_fact(run, "intercept")
    other = "" if intercept in (None, "free") else f", {intercept} intercept"
    return f"{get_fact(run, 'sweep')}{other}"


def measure_growths(runs: Iterable[Line], goal: float = GOAL) -> list[Growth]:
    """Every solver along every sweep of the scaling suite; tasks of one size count with their median."""
    by_sweep = group_lines((run for run in runs if get_fact(run, "sweep")), name_sweep)
    return [
        _build_growth(sweep, solver, [run for run in lines if run["solver"] == solver], goal)
        for sweep, lines in by_sweep.items()
        for solver in list_solvers(lines)
    ]


def _build_growth(sweep: str, solver: str, runs: Sequence[Line], goal: float) -> Growth:
    by_size = group_lines(runs, lambda run: get_fact(run, name_size(sweep)))
    sizes = sorted(size for size in by_size if isinstance(size, (int, float)))
    seconds = [median(find_times(by_size[size], goal).values()) for size in sizes]
    memories = [list(find_peak_memories(by_size[size]).values()) for size in sizes]
    return Growth(
        sweep,
        solver,
        [float(size) for size in sizes],
        [second if math.isfinite(second) else None for second in seconds],
        [median(memory) if memory else None for memory in memories],
    )
