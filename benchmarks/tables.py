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

from benchmarks.proving import classify_claim
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
    compare_solvers,
    count_claims,
    find_best_gaps,
    find_failure_seconds,
    find_peak_memories,
    find_solved_tasks,
    find_times,
    fit_exponent,
    get_fact,
    get_number,
    group_lines,
    list_races,
    list_solvers,
    list_suites,
    measure_growths,
    name_size,
    select_runs,
    trace_progress,
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


def format_digits(value: float, count: int = 3) -> str:
    """To so many significant digits, never with an exponent: 61200, 3.07, 0.00123."""
    if not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    rounded = float(f"{value:.{count - 1}e}")
    return f"{rounded:.{max(0, count - 1 - math.floor(math.log10(abs(rounded))))}f}"


def format_ratio(value: float) -> str:
    """Two digits below 10, three above."""
    return format_digits(value, 2 if value < 10 else 3)


def format_gap(value: float) -> str:
    """The order of a gap, rounded up so that what misses 1e-6 is not shown as 1e-6: 3e-7."""
    if not math.isfinite(value):
        return "no point"
    mantissa, _, power = f"{value:.3e}".partition("e")
    digit = math.ceil(float(mantissa))
    if value:
        return ("1e" if digit == 10 else f"{digit}e") + str(int(power) + (digit == 10))
    return "0"


def format_share(part: int, whole: int) -> str:
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
        return format_digits(self.factor * seconds)


def choose_unit(seconds: Iterable[float]) -> Unit:
    """Milliseconds where the middle time is below a second."""
    finite = [second for second in seconds if math.isfinite(second)]
    if not finite or median(finite) < 1:
        return Unit("ms", 1e3)
    return Unit("s", 1.0)


def format_table(header: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> str:
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


def format_fact(value: object) -> str:
    """A fact as text."""
    if value is None:
        return ABSENT
    return f"{value:g}" if isinstance(value, float) else str(value)


def sort_rows(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
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

    def format_text(self, unit: Unit, fastest: float = math.nan) -> str:
        """The time, or in brackets the gap; how many tasks reached the goal where not all did; bold if fastest."""
        if not self.reached or not math.isfinite(self.seconds):
            return f"[{format_gap(self.gap) if math.isfinite(self.gap) else self.outcome}]"
        if self.seconds == fastest:
            time = f"**{unit(self.seconds)}**"
        else:
            time = unit(self.seconds)
        if self.reached == self.tried:
            return time
        return f"{time} ({self.reached}/{self.tried})"


Row = tuple[Any, ...]
Cells = dict[Row, dict[str, Cell]]


def build_cells(runs: Iterable[Line], facts: Sequence[str], goal: float = GOAL) -> Cells:
    """The cells of every row (these facts of the task) and solver."""
    pairs = group_lines(runs, lambda run: (tuple(get_fact(run, name) for name in facts), run["solver"]))
    cells: Cells = {}
    for (row, solver), lines in pairs.items():
        cells.setdefault(row, {})[solver] = _build_cell(lines, goal)
    return {row: cells[row] for row in sort_rows(cells)}


def _build_cell(runs: Sequence[Line], goal: float) -> Cell:
    seconds = list(find_times(runs, goal).values())
    ends = [str(run.get("outcome")) for run in runs if run.get("outcome", "ran") != "ran"]
    reached = sum(math.isfinite(second) for second in seconds)
    return Cell(
        median(seconds), len(seconds), reached, median(find_best_gaps(runs).values()), (ends or ["no point"])[-1]
    )


def _find_fastest(cells: Mapping[str, Cell]) -> float:
    """Least seconds of a row in which there is something to compare, among those who reached the goal on all of it."""
    complete = [cell.seconds for cell in cells.values() if cell.reached == cell.tried]
    return min(complete) if complete and len(cells) > 1 else math.nan


def _build_variant_cells(runs: Iterable[Line]) -> Cells:
    return build_cells(runs, (*VARIANT_FACTS, *SOME_FACTS))


def _format_variants(cells: Cells, columns: Sequence[str]) -> str:
    """A row for each variant, kernel and size, a column for each of the solvers that appears."""
    chosen = {row: {s: cell for s, cell in of.items() if s in columns} for row, of in cells.items()}
    used = [solver for solver in columns if any(solver in of for of in chosen.values())]
    if not used:
        return ""
    unit = choose_unit(cell.seconds for of in chosen.values() for cell in of.values())
    facts = (*VARIANT_FACTS, *SOME_FACTS)
    told = [k for k, name in enumerate(facts) if name in VARIANT_FACTS or any(row[k] is not None for row in chosen)]
    rows = [
        [
            *(format_fact(row[k]) for k in told),
            *(of[s].format_text(unit, _find_fastest(of)) if s in of else ABSENT for s in used),
        ]
        for row, of in chosen.items()
        if of
    ]
    header = [*(facts[k] for k in told), *(f"{solver.removeprefix(f'{OURS}:')}, {unit.name}" for solver in used)]
    return format_table(header, rows, texts=2)


# --- tables -----------------------------------------------------------------------------------------------------------


def build_summary_table(lines: Iterable[Line]) -> str:
    """Every suite: how many tasks a solver brought to each goal, in what mean time, and the ratio to qpsvm."""
    lines = list(lines)
    return "\n\n".join(
        part for suite in list_suites(lines) if (part := _summarise_suite(suite, select_runs(lines, suite)))
    )


def _summarise_suite(suite: str, runs: Sequence[Line]) -> str:
    by_goal = {goal: {one.solver: one for one in compare_solvers(runs, goal)} for goal in GOALS}
    by_goal = {goal: of for goal, of in by_goal.items() if of}
    if not by_goal:
        return ""
    unit = choose_unit(one.mean for of in by_goal.values() for one in of.values())
    rows = [
        [solver, *(text for of in by_goal.values() for text in _format_standing(of.get(solver), unit))]
        for solver in list_solvers(runs)
    ]
    header = [part for goal in by_goal for part in (f"to {format_gap(goal)}", f"mean, {unit.name}", "× qpsvm")]
    table = format_table(["solver", *header], rows)
    count = len({run["task"] for run in runs})
    price = find_failure_seconds(runs)
    heading = f"**{suite}**: {count} task{'s' * (count != 1)}; a failure counts as {format_digits(price)} s"
    return f"{heading}{_describe_unsolved(runs)}\n\n{table}"


def _describe_unsolved(runs: Sequence[Line]) -> str:
    """Describe how many tasks no solver brought to a goal; they count for no solver."""
    every = {run["task"] for run in runs}
    counts = {goal: len(every - find_solved_tasks(runs, goal)) for goal in GOALS}
    said = ", ".join(f"{count} to {format_gap(goal)}" for goal, count in counts.items() if count)
    return f"; tasks that nobody brought there: {said}" if said else ""


def _format_standing(one: Standing | None, unit: Unit) -> tuple[str, str, str]:
    if one is None:
        return ABSENT, ABSENT, ABSENT
    count = f"{one.reached}/{one.tried}"
    if not one.reached:
        return count, ABSENT, ABSENT
    if one.common in (0, one.tried):
        compared = format_ratio(one.ratio)
    else:
        compared = f"{format_ratio(one.ratio)} (of {one.common})"
    return count, unit(one.mean), compared


def build_claims_table(lines: Iterable[Line]) -> str:
    """By solver, how often it was right when it said that it was done."""
    found = count_claims(select_runs(lines))
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
        *(f"true at {format_gap(t)}" for t in tolerances),
    ]
    return format_table(header, [_build_claims_row(solver, one, tolerances) for solver, one in found.items()])


def build_proven_table(lines: Iterable[Line]) -> str:
    """By solver, what became of its claims where they were to be proven."""
    found: dict[str, Counter[str]] = {}
    worst: dict[str, float] = {}
    for line in lines:
        said = classify_claim(line)
        if said is not None:
            found.setdefault(line["solver"], Counter())[said] += 1
            worst[line["solver"]] = max(worst.get(line["solver"], 0.0), (line["refuted_gap"] or 0.0) / line["tol"])
    rows: list[list[object]] = [
        [solver, counts.total(), counts["proven"], counts["refuted"], counts["open"],
         _format_excess(worst[solver]) if counts["refuted"] else ABSENT]
        for solver, counts in found.items()
    ]  # fmt: skip
    if rows:
        return format_table(["solver", "claims", "proven", "refuted", "open", "furthest, × tol"], rows)
    return ""


def _build_claims_row(solver: str, one: Claims, tolerances: Sequence[float]) -> list[object]:
    parts = [one.by_tolerance.get(tol) for tol in tolerances]
    at = [
        f"{format_share(part.true, part.claimed)} of {part.claimed}" if part and part.claimed else ABSENT
        for part in parts
    ]
    worst = "no point" if one.worst == math.inf else _format_excess(one.worst)
    return [
        solver,
        one.runs,
        one.claimed,
        format_share(one.true, one.claimed),
        format_share(one.near, one.claimed),
        worst,
        *at,
    ]


def _format_excess(value: float) -> str:
    """A ratio that may span many orders."""
    if 1e4 <= value < math.inf or value < 1e-2:
        return format_gap(value)
    return format_ratio(value)


def build_fastest_table(lines: Iterable[Line]) -> str:
    """Tabulate how often `qpsvm` is the fastest, and by how much it is slower otherwise."""
    lines = list(lines)
    firsts = (f"first to {format_gap(goal)}" for goal in GOALS)
    header = ["suite", *firsts, f"behind by {BEHIND:g} ×", "by 2 ×", "worst"]
    rows = []
    for suite in list_suites(lines):
        runs = select_runs(lines, suite)
        by_goal = [[race for race in list_races(runs, goal) if not math.isnan(race.slower)] for goal in GOALS]
        if not any(by_goal):
            continue
        first = [f"{sum(race.slower <= 1 for race in found)}/{len(found)}" for found in by_goal]
        behind = [race.slower for race in by_goal[GOALS.index(GOAL)]]
        counts = [sum(slower > most for slower in behind) for most in (BEHIND, 2.0)]
        rows.append([suite, *first, *counts, _format_delay(max(behind)) if behind else ABSENT])
    return format_table(header, rows) if rows else ""


def build_losses_table(lines: Iterable[Line]) -> str:
    """Every task on which another library is faster to `GOAL` by more than `BEHIND`, the worst first."""
    lines = list(lines)
    found = [(suite, race) for suite in list_suites(lines) for race in list_races(select_runs(lines, suite), GOAL)]
    found = sorted((pair for pair in found if pair[1].slower > BEHIND), key=lambda pair: -pair[1].slower)
    if not found:
        return ""
    unit = choose_unit(race.ours for _, race in found)
    header = ["suite", "task", "fastest", f"its time, {unit.name}", f"qpsvm, {unit.name}", "behind"]
    return format_table(header, (_build_loss_row(suite, race, unit) for suite, race in found), 3)


def _build_loss_row(suite: str, race: Race, unit: Unit) -> list[str]:
    return [suite, race.task, race.solver, unit(race.other), unit(race.ours), _format_delay(race.slower)]


def _format_delay(slower: float) -> str:
    if math.isfinite(slower):
        return f"{format_ratio(slower)} ×"
    return "not reached"


def build_variants_table(lines: Iterable[Line]) -> str:
    """Every machine with each backend: time to 1e-6."""
    return _format_variants(_build_variant_cells(select_runs(lines, "variants")), (OURS, *OWN_BACKENDS))


def build_variants_solvers_table(lines: Iterable[Line]) -> str:
    """Tabulate the same problems with qpsvm and the public solvers."""
    runs = select_runs(lines, "variants")
    columns = [solver for solver in list_solvers(runs) if solver not in OWN_BACKENDS]
    if set(columns) - {OURS}:
        return _format_variants(_build_variant_cells(runs), columns)
    return ""


def build_osqp_table(lines: Iterable[Line]) -> str:
    """The OSQP paper's SVM problems: median time over seeds, and the ratio to qpsvm."""
    runs = select_runs(lines, "osqp")
    cells = build_cells(runs, ("class", "n_features", "n"))
    if not cells:
        return ""
    unit = choose_unit(cell.seconds for of in cells.values() for cell in of.values())
    columns = list_solvers(runs)
    rows = [
        [*map(format_fact, row), *(_compare_with_ours(of, solver, unit) for solver in columns)]
        for row, of in cells.items()
    ]
    header = ["class", "features", "rows", *(f"{solver}, {unit.name}" for solver in columns)]
    return format_table(header, rows)


def _compare_with_ours(cells: Mapping[str, Cell], solver: str, unit: Unit) -> str:
    """A time and, of the others, its ratio to that of qpsvm."""
    cell = cells.get(solver)
    if cell is None:
        return ABSENT
    ours = cells[OURS].seconds if OURS in cells else math.nan
    text = cell.format_text(unit, _find_fastest(cells))
    compared = cell.seconds / ours if solver != OURS and ours > 0 else math.nan
    if math.isfinite(compared) and compared > 0:
        return f"{text}, {format_ratio(compared)} ×"
    return text


def build_linear_table(lines: Iterable[Line]) -> str:
    """Linear machines on data sets."""
    return _build_data_table(select_runs(lines, "linear"), ("scaling", "C", "intercept"))


def build_rbf_table(lines: Iterable[Line]) -> str:
    """Machines with RBF kernel on data sets."""
    return _build_data_table(select_runs(lines, "rbf"), ("scaling", "C", "gamma"))


def build_kinds_table(lines: Iterable[Line]) -> str:
    """Generated kinds of tables, linear and RBF."""
    return _build_data_table(select_runs(lines, "kinds"), ("kernel", "C", "intercept"))


def _build_data_table(runs: Sequence[Line], settings: Sequence[str]) -> str:
    """qpsvm's time to 1e-6 beside the fastest of each group of others: time to 1e-3 / to 1e-6, ratio."""
    facts = ("data", "n", "d", *settings)
    coarse = build_cells(runs, facts, GOALS[0])
    fine = build_cells(runs, facts, GOAL)
    if not fine:
        return ""
    unit = choose_unit(cell.seconds for of in fine.values() for cell in of.values())
    groups = [(name, members) for name, members in GROUPS if any(s in of for of in fine.values() for s in members)]
    rows = [
        [
            f"{format_fact(row[0])} ({format_fact(row[1])} × {format_fact(row[2])})",
            _describe_setting(settings, row[3:]),
            of[OURS].format_text(unit, _find_fastest(of)) if OURS in of else ABSENT,
            *(_format_best(members, coarse[row], of, unit) for _, members in groups),
        ]
        for row, of in fine.items()
    ]
    header = ["data (n × d)", "setting", f"qpsvm, {unit.name}", *(f"{name}, {unit.name}" for name, _ in groups)]
    return format_table(header, rows, texts=2)


def _describe_setting(names: Sequence[str], values: Sequence[Any]) -> str:
    """The settings of a row in words: standardised, C = 1, intercept free."""
    words = {"scaling": "", "kernel": "", "C": "C = ", "gamma": "γ = ", "intercept": "intercept "}
    there = [(name, value) for name, value in zip(names, values, strict=True) if value is not None]
    return ", ".join(f"{words[name]}{format_fact(value)}" for name, value in there)


def _format_best(members: Sequence[str], coarse: Mapping[str, Cell], fine: Mapping[str, Cell], unit: Unit) -> str:
    """The member that reached 1e-6 first, or else 1e-3, or else the least gap."""
    tried = [solver for solver in members if solver in fine]
    if not tried:
        return ABSENT
    best = min(tried, key=lambda solver: (fine[solver].seconds, coarse[solver].seconds, fine[solver].gap))
    name = f"{best}: " if len(members) > 1 else ""
    if not coarse[best].reached:
        return f"{name}{coarse[best].format_text(unit)}"
    if OURS in fine and fine[OURS].seconds > 0:
        compared = fine[best].seconds / fine[OURS].seconds
    else:
        compared = math.nan
    if math.isfinite(compared) and compared > 0:
        tail = f", {format_ratio(compared)} ×"
    else:
        tail = ""
    return f"{name}{coarse[best].format_text(unit)} / {fine[best].format_text(unit, _find_fastest(fine))}{tail}"


def build_scaling_table(lines: Iterable[Line]) -> str:
    """By sweep and solver: exponents of time and memory, and how far it came."""
    rows = [_build_growth_row(growth) for growth in measure_growths(select_runs(lines, "scaling"))]
    header = ["sweep", "solver", "sizes tried", "largest reached", "time grows as", "memory grows as"]
    return format_table(header, rows, texts=2) if rows else ""


def _build_growth_row(growth: Growth) -> list[str]:
    name = name_size(growth.sweep)
    if growth.sizes:
        tried = f"{name} = {min(growth.sizes):g} to {max(growth.sizes):g}"
    else:
        tried = ABSENT
    powers = []
    for values in (growth.seconds, growth.bytes):
        power, count = fit_exponent(growth.sizes, values)
        powers.append(f"{name}^{power:.2f} ({count})" if math.isfinite(power) else ABSENT)
    return [growth.sweep, growth.solver, tried, ABSENT if growth.largest is None else f"{growth.largest:g}", *powers]


def build_textbook_table(lines: Iterable[Line]) -> str:
    """Textbook methods: the gap known after so many seconds, and the best one."""
    runs = select_runs(lines, "textbook")
    seconds = [second for run in runs if (second := get_number(run, "seconds")) and second > 0]
    if not seconds:
        return ""
    decades = [10.0**k for k in range(math.ceil(math.log10(min(seconds))), math.ceil(math.log10(max(seconds))) + 1)]
    rows = [
        [format_fact(data), solver, *_build_progress_cells([run for run in of if run["solver"] == solver], decades)]
        for data, of in group_lines(runs, lambda run: get_fact(run, "data")).items()
        for solver in list_solvers(of)
    ]
    return format_table(["data", "solver", *(f"at {t:g} s" for t in decades), "best gap", "after, s"], rows, texts=2)


def _build_progress_cells(runs: Sequence[Line], moments: Sequence[float]) -> list[str]:
    """The median over tasks of the best gap at each moment, and of the best of all with its time."""
    paths = list(trace_progress(runs).values())
    at = [median(min((g for t, g in path if t <= moment), default=math.inf) for path in paths) for moment in moments]
    best = [min(((g, t) for t, g in path), default=(math.inf, math.nan)) for path in paths]
    end = median(g for g, _ in best)
    ends = [format_gap(end), format_digits(median(t for _, t in best)) if math.isfinite(end) else ABSENT]
    return [*(format_gap(value) if math.isfinite(value) else ABSENT for value in at), *ends]


def build_best_gap_table(lines: Iterable[Line]) -> str:
    """By suite and solver: the best gap that it reaches at any tolerance, and the memory it takes."""
    lines = list(lines)
    rows = [
        [suite, *_build_best_gap_row(solver, [run for run in runs if run["solver"] == solver])]
        for suite in list_suites(lines)
        for runs in (select_runs(lines, suite),)
        for solver in list_solvers(runs)
    ]
    header = ["suite", "solver", "tasks", "no point", "median gap", "worst gap", "median memory, MiB"]
    return format_table(header, rows, texts=2) if rows else ""


def _build_best_gap_row(solver: str, runs: Sequence[Line]) -> list[object]:
    gaps, memories = list(find_best_gaps(runs).values()), list(find_peak_memories(runs).values())
    points = [value for value in gaps if math.isfinite(value)]
    memory = format_digits(median(memories) / MEBIBYTE) if memories else ABSENT
    worst = format_gap(max(points)) if points else ABSENT
    return [solver, len(gaps), len(gaps) - len(points), format_gap(median(gaps)), worst, memory]


def build_machine_table(lines: Iterable[Line]) -> str:
    """Tabulate where the figures were made: a column for each different machine or set of versions."""
    machines = [line for line in lines if line.get("kind") == "machine"]
    alike = list(group_lines(machines, lambda line: repr(_collect_machine_facts(line))).values())
    if not alike:
        return ""
    columns = [{**_collect_machine_facts(group[0]), "dates": _format_dates(group)} for group in alike]
    names = list(dict.fromkeys(name for column in columns for name in column))
    return format_table(
        ["", *(format_fact(group[0].get("id")) for group in alike)],
        [[name, *(column.get(name, ABSENT) for column in columns)] for name in names],
        texts=1 + len(columns),
    )


def _collect_machine_facts(line: Line) -> dict[str, str]:
    """Collect the facts that distinguish machines, as texts."""
    names = {"cpu": "processor", "cores": "cores", "memory_gib": "memory, GiB", "os": "system", "python": "Python",
             "threads": "threads", "commit": "commit"}  # fmt: skip
    facts = {name: format_fact(line[key]) for key, name in names.items() if line.get(key) is not None}
    return facts | {str(package): format_fact(version) for package, version in (line.get("versions") or {}).items()}


def _format_dates(machines: Sequence[Line]) -> str:
    days = sorted({str(line["date"])[:10] for line in machines if line.get("date")})
    if not days:
        return ABSENT
    if len(days) == 1:
        return days[0]
    return f"{days[0]} to {days[-1]}"


TABLES: dict[str, Callable[[Iterable[Line]], str]] = {
    "machine": build_machine_table,
    "summary": build_summary_table,
    "fastest": build_fastest_table,
    "losses": build_losses_table,
    "claims": build_claims_table,
    "proven": build_proven_table,
    "variants": build_variants_table,
    "variants_solvers": build_variants_solvers_table,
    "osqp": build_osqp_table,
    "linear": build_linear_table,
    "rbf": build_rbf_table,
    "kinds": build_kinds_table,
    "scaling": build_scaling_table,
    "textbook": build_textbook_table,
    "best_gap": build_best_gap_table,
}
