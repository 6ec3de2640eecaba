"""The measurements as Markdown tables: lines in, text out.

`TABLES` holds every table by name. Each takes the lines of a record, of all kinds and suites, picks its own, and gives
an empty text where there are none. Times are in one unit a table and to three digits; a gap in brackets stands where
the goal was not reached, a dash where a solver does not apply.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.proving import word
from benchmarks.summary import (
    BACKENDS,
    GOAL,
    GOALS,
    OURS,
    PACKAGES,
    PEERS,
    QP_SOLVERS,
    SCIKIT_LEARN,
    Claims,
    Growth,
    Line,
    Race,
    Standing,
    best_gaps,
    claims,
    exponent,
    fact,
    failure_seconds,
    grouped,
    growths,
    number,
    peak_memories,
    progress,
    races,
    select,
    size_name,
    solved_tasks,
    solvers_of,
    standings,
    suites_of,
    times,
)

ABSENT = "–"
#: Of every task of the suite, and of some: a column only where one has it.
VARIANT_FACTS, SOME_FACTS = ("variant", "kernel", "n"), ("intercept", "data", "C")
VARIANTS = (
    "hard", "c", "nu", "hinge", "squared-hinge", "huber-hinge", "epsilon-svr", "nu-svr", "quantile-svr", "one-class",
    "svdd", "ranking",
)  # fmt: skip
OWN_BACKENDS = tuple(f"{OURS}:{backend}" for backend in BACKENDS)
#: Columns of the tables of data sets: the fastest of each group stands for it.
GROUPS = (
    ("interior_point", ("interior_point",)),
    ("scikit-learn", SCIKIT_LEARN),
    ("LIBSVM, LIBLINEAR", PACKAGES),
    ("newer libraries", PEERS),
    ("public QP solvers", QP_SOLVERS),
)
MEBIBYTE = 2**20
#: A time that is more than this many times another one is said to be behind.
BEHIND = 1.25


# --- numbers as text --------------------------------------------------------------------------------------------------


def digits(value: float, count: int = 3) -> str:
    """To so many significant digits, never with an exponent: 61200, 3.07, 0.00123."""
    if not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    rounded = float(f"{value:.{count - 1}e}")
    return f"{rounded:.{max(0, count - 1 - math.floor(math.log10(abs(rounded))))}f}"


def ratio(value: float) -> str:
    """Two digits below 10, three above."""
    return digits(value, 2 if value < 10 else 3)


def gap(value: float) -> str:
    """The order of a gap, rounded up so that what misses 1e-6 is not shown as 1e-6: 3e-7."""
    if not math.isfinite(value):
        return "no point"
    mantissa, _, power = f"{value:.3e}".partition("e")
    digit = math.ceil(float(mantissa))
    return ("1e" if digit == 10 else f"{digit}e") + str(int(power) + (digit == 10)) if value else "0"


def share(part: int, whole: int) -> str:
    """A percentage that says 100 % and 0 % only where that is exact."""
    if not whole:
        return ABSENT
    if 0 < part < whole:
        return f"{min(99.9, max(0.1, 100 * part / whole)):.1f} %"
    return f"{100 * part // whole} %"


@dataclass(frozen=True)
class Unit:
    """One unit for the times of a whole table."""

    name: str
    factor: float

    def __call__(self, seconds: float) -> str:
        """Seconds in this unit, to three digits."""
        return digits(self.factor * seconds)


def unit_of(seconds: Iterable[float]) -> Unit:
    """Milliseconds where the middle time is below a second."""
    finite = [second for second in seconds if math.isfinite(second)]
    return Unit("ms", 1e3) if not finite or median(finite) < 1 else Unit("s", 1.0)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> str:
    """A table with aligned columns: the first so many are texts and stand left, the others right."""
    cells = [list(header), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(header))]
    aligned = [
        [
            cell.ljust(width) if k < texts else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in cells
    ]
    rule = ["-" * width if k < texts else "-" * (width - 1) + ":" for k, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (aligned[0], rule, *aligned[1:]))


def shown(value: object) -> str:
    """A fact as text."""
    if value is None:
        return ABSENT
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of facts sorted, variants in their order, numbers as numbers, what is missing last."""

    def place(value: Any) -> tuple[int, float, str]:
        if value in VARIANTS:
            return 0, VARIANTS.index(value), ""
        if isinstance(value, (int, float)):
            return 0, float(value), ""
        return (2, 0.0, "") if value is None else (1, 0.0, str(value).lower())

    return sorted(rows, key=lambda row: [place(value) for value in row])


# --- cells ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A solver on the tasks of one row: median seconds to the goal, tasks tried and reached, median best gap."""

    seconds: float
    tried: int
    reached: int
    gap: float
    outcome: str

    def text(self, unit: Unit, fastest: float = math.nan) -> str:
        """The time, or in brackets the gap; how many tasks reached the goal where not all did; bold if fastest."""
        if not self.reached or not math.isfinite(self.seconds):
            return f"[{gap(self.gap) if math.isfinite(self.gap) else self.outcome}]"
        time = f"**{unit(self.seconds)}**" if self.seconds == fastest else unit(self.seconds)
        return time if self.reached == self.tried else f"{time} ({self.reached}/{self.tried})"


Row = tuple[Any, ...]
Cells = dict[Row, dict[str, Cell]]


def cells_of(runs: Iterable[Line], facts: Sequence[str], goal: float = GOAL) -> Cells:
    """The cells of every row (these facts of the task) and solver."""
    pairs = grouped(runs, lambda run: (tuple(fact(run, name) for name in facts), run["solver"]))
    cells: Cells = {}
    for (row, solver), lines in pairs.items():
        cells.setdefault(row, {})[solver] = _cell(lines, goal)
    return {row: cells[row] for row in in_order(cells)}


def _cell(runs: Sequence[Line], goal: float) -> Cell:
    seconds = list(times(runs, goal).values())
    ends = [str(run.get("outcome")) for run in runs if run.get("outcome", "ran") != "ran"]
    reached = sum(math.isfinite(second) for second in seconds)
    return Cell(median(seconds), len(seconds), reached, median(best_gaps(runs).values()), (ends or ["no point"])[-1])


def _fastest(cells: Mapping[str, Cell]) -> float:
    """Least seconds of a row in which there is something to compare, among those who reached the goal on all of it."""
    complete = [cell.seconds for cell in cells.values() if cell.reached == cell.tried]
    return min(complete) if complete and len(cells) > 1 else math.nan


def _variant_cells(runs: Iterable[Line]) -> Cells:
    return cells_of(runs, (*VARIANT_FACTS, *SOME_FACTS))


def _variants_table(cells: Cells, columns: Sequence[str]) -> str:
    """A row for each variant, kernel and size, a column for each of the solvers that appears."""
    chosen = {row: {s: cell for s, cell in of.items() if s in columns} for row, of in cells.items()}
    used = [solver for solver in columns if any(solver in of for of in chosen.values())]
    if not used:
        return ""
    unit = unit_of(cell.seconds for of in chosen.values() for cell in of.values())
    facts = (*VARIANT_FACTS, *SOME_FACTS)
    told = [k for k, name in enumerate(facts) if name in VARIANT_FACTS or any(row[k] is not None for row in chosen)]
    rows = [
        [*(shown(row[k]) for k in told), *(of[s].text(unit, _fastest(of)) if s in of else ABSENT for s in used)]
        for row, of in chosen.items()
        if of
    ]
    header = [*(facts[k] for k in told), *(f"{solver.removeprefix(f'{OURS}:')}, {unit.name}" for solver in used)]
    return markdown(header, rows, texts=2)


# --- tables -----------------------------------------------------------------------------------------------------------


def summary(lines: Iterable[Line]) -> str:
    """Every suite: how many tasks a solver brought to each goal, in what mean time, and the ratio to qpsvm."""
    lines = list(lines)
    return "\n\n".join(part for suite in suites_of(lines) if (part := _suite_summary(suite, select(lines, suite))))


def _suite_summary(suite: str, runs: Sequence[Line]) -> str:
    by_goal = {goal: {one.solver: one for one in standings(runs, goal)} for goal in GOALS}
    by_goal = {goal: of for goal, of in by_goal.items() if of}
    if not by_goal:
        return ""
    unit = unit_of(one.mean for of in by_goal.values() for one in of.values())
    rows = [
        [solver, *(text for of in by_goal.values() for text in _standing(of.get(solver), unit))]
        for solver in solvers_of(runs)
    ]
    header = [part for goal in by_goal for part in (f"to {gap(goal)}", f"mean, {unit.name}", "× qpsvm")]
    table = markdown(["solver", *header], rows)
    count, price = len({run["task"] for run in runs}), failure_seconds(runs)
    heading = f"**{suite}**: {count} task{'s' * (count != 1)}; a failure counts as {digits(price)} s"
    return f"{heading}{_unsolved(runs)}\n\n{table}"


def _unsolved(runs: Sequence[Line]) -> str:
    """How many tasks nobody brought to a goal: they count for no solver, so they are said."""
    every = {run["task"] for run in runs}
    counts = {goal: len(every - solved_tasks(runs, goal)) for goal in GOALS}
    said = ", ".join(f"{count} to {gap(goal)}" for goal, count in counts.items() if count)
    return f"; tasks that nobody brought there: {said}" if said else ""


def _standing(one: Standing | None, unit: Unit) -> tuple[str, str, str]:
    if one is None:
        return ABSENT, ABSENT, ABSENT
    count = f"{one.reached}/{one.tried}"
    if not one.reached:
        return count, ABSENT, ABSENT
    compared = ratio(one.ratio) if one.common in (0, one.tried) else f"{ratio(one.ratio)} (of {one.common})"
    return count, unit(one.mean), compared


def claims_table(lines: Iterable[Line]) -> str:
    """By solver, how often it was right when it said that it was done."""
    found = claims(select(lines))
    if not found:
        return ""
    tolerances = [goal for goal in GOALS if any(goal in one.by_tolerance for one in found.values())]
    header = [
        "solver",
        "runs",
        "claims",
        "true",
        "within 10 ×",
        "worst, × tol",
        *(f"true at {gap(t)}" for t in tolerances),
    ]
    return markdown(header, [_claims_row(solver, one, tolerances) for solver, one in found.items()])


def proven_table(lines: Iterable[Line]) -> str:
    """By solver, what became of its claims where they were to be proven."""
    found: dict[str, Counter[str]] = {}
    worst: dict[str, float] = {}
    for line in lines:
        said = word(line)
        if said is not None:
            found.setdefault(line["solver"], Counter())[said] += 1
            worst[line["solver"]] = max(worst.get(line["solver"], 0.0), (line["refuted_gap"] or 0.0) / line["tol"])
    rows: list[list[object]] = [
        [solver, counts.total(), counts["proven"], counts["refuted"], counts["open"],
         _excess(worst[solver]) if counts["refuted"] else ABSENT]
        for solver, counts in found.items()
    ]  # fmt: skip
    return markdown(["solver", "claims", "proven", "refuted", "open", "furthest, × tol"], rows) if rows else ""


def _claims_row(solver: str, one: Claims, tolerances: Sequence[float]) -> list[object]:
    parts = [one.by_tolerance.get(tol) for tol in tolerances]
    at = [f"{share(part.true, part.claimed)} of {part.claimed}" if part and part.claimed else ABSENT for part in parts]
    worst = "no point" if one.worst == math.inf else _excess(one.worst)
    return [solver, one.runs, one.claimed, share(one.true, one.claimed), share(one.near, one.claimed), worst, *at]


def _excess(value: float) -> str:
    """A ratio that may span many orders."""
    return gap(value) if 1e4 <= value < math.inf or value < 1e-2 else ratio(value)


def fastest(lines: Iterable[Line]) -> str:
    """How often `qpsvm` is the fastest, and how far behind it is where it is not."""
    lines = list(lines)
    firsts = (f"first to {gap(goal)}" for goal in GOALS)
    header = ["suite", *firsts, f"behind by {BEHIND:g} ×", "by 2 ×", "worst"]
    rows = []
    for suite in suites_of(lines):
        runs = select(lines, suite)
        by_goal = [[race for race in races(runs, goal) if not math.isnan(race.slower)] for goal in GOALS]
        if not any(by_goal):
            continue
        first = [f"{sum(race.slower <= 1 for race in found)}/{len(found)}" for found in by_goal]
        behind = [race.slower for race in by_goal[GOALS.index(GOAL)]]
        counts = [sum(slower > most for slower in behind) for most in (BEHIND, 2.0)]
        rows.append([suite, *first, *counts, _behind(max(behind)) if behind else ABSENT])
    return markdown(header, rows) if rows else ""


def losses(lines: Iterable[Line]) -> str:
    """Every task on which another library is faster to `GOAL` by more than `BEHIND`, the worst first."""
    lines = list(lines)
    found = [(suite, race) for suite in suites_of(lines) for race in races(select(lines, suite), GOAL)]
    found = sorted((pair for pair in found if pair[1].slower > BEHIND), key=lambda pair: -pair[1].slower)
    if not found:
        return ""
    unit = unit_of(race.ours for _, race in found)
    header = ["suite", "task", "fastest", f"its time, {unit.name}", f"qpsvm, {unit.name}", "behind"]
    return markdown(header, (_loss(suite, race, unit) for suite, race in found), 3)


def _loss(suite: str, race: Race, unit: Unit) -> list[str]:
    return [suite, race.task, race.solver, unit(race.other), unit(race.ours), _behind(race.slower)]


def _behind(slower: float) -> str:
    return f"{ratio(slower)} ×" if math.isfinite(slower) else "not reached"


def variants(lines: Iterable[Line]) -> str:
    """Every machine with each backend: time to 1e-6."""
    return _variants_table(_variant_cells(select(lines, "variants")), (OURS, *OWN_BACKENDS))


def variants_solvers(lines: Iterable[Line]) -> str:
    """The same problems with qpsvm and the public solvers."""
    runs = select(lines, "variants")
    columns = [solver for solver in solvers_of(runs) if solver not in OWN_BACKENDS]
    return _variants_table(_variant_cells(runs), columns) if set(columns) - {OURS} else ""


def osqp(lines: Iterable[Line]) -> str:
    """The OSQP paper's SVM problems: median time over seeds, and the ratio to qpsvm."""
    runs = select(lines, "osqp")
    cells = cells_of(runs, ("class", "n_features", "n"))
    if not cells:
        return ""
    unit = unit_of(cell.seconds for of in cells.values() for cell in of.values())
    columns = solvers_of(runs)
    rows = [[*map(shown, row), *(_against_ours(of, solver, unit) for solver in columns)] for row, of in cells.items()]
    header = ["class", "features", "rows", *(f"{solver}, {unit.name}" for solver in columns)]
    return markdown(header, rows)


def _against_ours(cells: Mapping[str, Cell], solver: str, unit: Unit) -> str:
    """A time and, of the others, its ratio to that of qpsvm."""
    cell = cells.get(solver)
    if cell is None:
        return ABSENT
    ours = cells[OURS].seconds if OURS in cells else math.nan
    text = cell.text(unit, _fastest(cells))
    compared = cell.seconds / ours if solver != OURS and ours > 0 else math.nan
    return f"{text}, {ratio(compared)} ×" if math.isfinite(compared) and compared > 0 else text


def linear(lines: Iterable[Line]) -> str:
    """Linear machines on data sets."""
    return _data_sets(select(lines, "linear"), ("scaling", "C", "intercept"))


def rbf(lines: Iterable[Line]) -> str:
    """Machines with RBF kernel on data sets."""
    return _data_sets(select(lines, "rbf"), ("scaling", "C", "gamma"))


def kinds(lines: Iterable[Line]) -> str:
    """Generated kinds of tables, linear and RBF."""
    return _data_sets(select(lines, "kinds"), ("kernel", "C", "intercept"))


def _data_sets(runs: Sequence[Line], settings: Sequence[str]) -> str:
    """qpsvm's time to 1e-6 beside the fastest of each group of others: time to 1e-3 / to 1e-6, ratio."""
    facts = ("data", "n", "d", *settings)
    coarse, fine = cells_of(runs, facts, GOALS[0]), cells_of(runs, facts, GOAL)
    if not fine:
        return ""
    unit = unit_of(cell.seconds for of in fine.values() for cell in of.values())
    groups = [(name, members) for name, members in GROUPS if any(s in of for of in fine.values() for s in members)]
    rows = [
        [
            f"{shown(row[0])} ({shown(row[1])} × {shown(row[2])})",
            _setting(settings, row[3:]),
            of[OURS].text(unit, _fastest(of)) if OURS in of else ABSENT,
            *(_best_of(members, coarse[row], of, unit) for _, members in groups),
        ]
        for row, of in fine.items()
    ]
    header = ["data (n × d)", "setting", f"qpsvm, {unit.name}", *(f"{name}, {unit.name}" for name, _ in groups)]
    return markdown(header, rows, texts=2)


def _setting(names: Sequence[str], values: Sequence[Any]) -> str:
    """The settings of a row in words: standardised, C = 1, intercept free."""
    words = {"scaling": "", "kernel": "", "C": "C = ", "gamma": "γ = ", "intercept": "intercept "}
    there = [(name, value) for name, value in zip(names, values, strict=True) if value is not None]
    return ", ".join(f"{words[name]}{shown(value)}" for name, value in there)


def _best_of(members: Sequence[str], coarse: Mapping[str, Cell], fine: Mapping[str, Cell], unit: Unit) -> str:
    """The member that reached 1e-6 first, or else 1e-3, or else the least gap."""
    tried = [solver for solver in members if solver in fine]
    if not tried:
        return ABSENT
    best = min(tried, key=lambda solver: (fine[solver].seconds, coarse[solver].seconds, fine[solver].gap))
    name = f"{best}: " if len(members) > 1 else ""
    if not coarse[best].reached:
        return f"{name}{coarse[best].text(unit)}"
    compared = fine[best].seconds / fine[OURS].seconds if OURS in fine and fine[OURS].seconds > 0 else math.nan
    tail = f", {ratio(compared)} ×" if math.isfinite(compared) and compared > 0 else ""
    return f"{name}{coarse[best].text(unit)} / {fine[best].text(unit, _fastest(fine))}{tail}"


def scaling(lines: Iterable[Line]) -> str:
    """By sweep and solver: exponents of time and memory, and how far it came."""
    rows = [_growth_row(growth) for growth in growths(select(lines, "scaling"))]
    header = ["sweep", "solver", "sizes tried", "largest reached", "time grows as", "memory grows as"]
    return markdown(header, rows, texts=2) if rows else ""


def _growth_row(growth: Growth) -> list[str]:
    name = size_name(growth.sweep)
    tried = f"{name} = {min(growth.sizes):g} to {max(growth.sizes):g}" if growth.sizes else ABSENT
    powers = []
    for values in (growth.seconds, growth.bytes):
        power, count = exponent(growth.sizes, values)
        powers.append(f"{name}^{power:.2f} ({count})" if math.isfinite(power) else ABSENT)
    return [growth.sweep, growth.solver, tried, ABSENT if growth.largest is None else f"{growth.largest:g}", *powers]


def textbook(lines: Iterable[Line]) -> str:
    """Textbook methods: the gap known after so many seconds, and the best one."""
    runs = select(lines, "textbook")
    seconds = [second for run in runs if (second := number(run, "seconds")) and second > 0]
    if not seconds:
        return ""
    decades = [10.0**k for k in range(math.ceil(math.log10(min(seconds))), math.ceil(math.log10(max(seconds))) + 1)]
    rows = [
        [shown(data), solver, *_after([run for run in of if run["solver"] == solver], decades)]
        for data, of in grouped(runs, lambda run: fact(run, "data")).items()
        for solver in solvers_of(of)
    ]
    return markdown(["data", "solver", *(f"at {t:g} s" for t in decades), "best gap", "after, s"], rows, texts=2)


def _after(runs: Sequence[Line], moments: Sequence[float]) -> list[str]:
    """The median over tasks of the best gap at each moment, and of the best of all with its time."""
    paths = list(progress(runs).values())
    at = [median(min((g for t, g in path if t <= moment), default=math.inf) for path in paths) for moment in moments]
    best = [min(((g, t) for t, g in path), default=(math.inf, math.nan)) for path in paths]
    end = median(g for g, _ in best)
    ends = [gap(end), digits(median(t for _, t in best)) if math.isfinite(end) else ABSENT]
    return [*(gap(value) if math.isfinite(value) else ABSENT for value in at), *ends]


def best_gap(lines: Iterable[Line]) -> str:
    """By suite and solver: the best gap that it reaches at any tolerance, and the memory it takes."""
    lines = list(lines)
    rows = [
        [suite, *_best_row(solver, [run for run in runs if run["solver"] == solver])]
        for suite in suites_of(lines)
        for runs in (select(lines, suite),)
        for solver in solvers_of(runs)
    ]
    header = ["suite", "solver", "tasks", "no point", "median gap", "worst gap", "median memory, MiB"]
    return markdown(header, rows, texts=2) if rows else ""


def _best_row(solver: str, runs: Sequence[Line]) -> list[object]:
    gaps, memories = list(best_gaps(runs).values()), list(peak_memories(runs).values())
    points = [value for value in gaps if math.isfinite(value)]
    memory = digits(median(memories) / MEBIBYTE) if memories else ABSENT
    worst = gap(max(points)) if points else ABSENT
    return [solver, len(gaps), len(gaps) - len(points), gap(median(gaps)), worst, memory]


def machine(lines: Iterable[Line]) -> str:
    """Where the figures were made: a column for each different machine or set of versions."""
    machines = [line for line in lines if line.get("kind") == "machine"]
    alike = list(grouped(machines, lambda line: repr(_machine_facts(line))).values())
    if not alike:
        return ""
    columns = [{**_machine_facts(group[0]), "dates": _dates(group)} for group in alike]
    names = list(dict.fromkeys(name for column in columns for name in column))
    return markdown(
        ["", *(shown(group[0].get("id")) for group in alike)],
        [[name, *(column.get(name, ABSENT) for column in columns)] for name in names],
        texts=1 + len(columns),
    )


def _machine_facts(line: Line) -> dict[str, str]:
    """What makes a machine another one, as texts."""
    names = {"cpu": "processor", "cores": "cores", "memory_gib": "memory, GiB", "os": "system", "python": "Python",
             "threads": "threads", "commit": "commit"}  # fmt: skip
    facts = {name: shown(line[key]) for key, name in names.items() if line.get(key) is not None}
    return facts | {str(package): shown(version) for package, version in (line.get("versions") or {}).items()}


def _dates(machines: Sequence[Line]) -> str:
    days = sorted({str(line["date"])[:10] for line in machines if line.get("date")})
    return ABSENT if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


TABLES: dict[str, Callable[[Iterable[Line]], str]] = {
    "machine": machine,
    "summary": summary,
    "fastest": fastest,
    "losses": losses,
    "claims": claims_table,
    "proven": proven_table,
    "variants": variants,
    "variants_solvers": variants_solvers,
    "osqp": osqp,
    "linear": linear,
    "rbf": rbf,
    "kinds": kinds,
    "scaling": scaling,
    "textbook": textbook,
    "best_gap": best_gap,
}
