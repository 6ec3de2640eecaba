"""Cross-validate several classes, and compare backends on all their machines.

Entry points: `cross_validate_classes` and `iter_class_comparison`, which do for a `MulticlassProblem` what
`many.cross_validate` and `many.comparison.iter_comparison` do for a problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.base.errors import InfeasibleNuError, NotSeparableError
from qpsvm.faces.cli.data import take_rows
from qpsvm.faces.cli.multiclass import MulticlassProblem
from qpsvm.faces.cli.problem_options import KERNEL_DEFAULTS
from qpsvm.machines import CrammerSinger
from qpsvm.many.comparison import CompareOptions, iter_comparison
from qpsvm.many.comparison_table import ComparisonRow
from qpsvm.many.grid.cross_validation import CrossValidation, Outcome
from qpsvm.many.grid.folds import Fold, build_folds
from qpsvm.many.grid.scorers import find_scorer, name_scorer
from qpsvm.many.grid.walk import run_tasks
from qpsvm.program.status import Status


def cross_validate_classes(
    problem: MulticlassProblem, axes: Mapping[str, Sequence[Any]], folds: int, shuffle: bool, seed: int | None,
    scoring: str | None, n_jobs: int | None, bar: bool,
) -> CrossValidation:  # fmt: skip
    """Score every combination of values on the held-out folds, with every machine certified. Raises QPSVMError.

    axes: The values of each parameter of machine and kernel, by name.
    bar: Whether a progress bar is shown.
    """
    weight = None if problem.weight is None else (problem.weight > 0.0).astype(float)
    # never solved; the functions that draw folds and find scorers need a problem with all classes
    all_classes: Any = CrammerSinger(problem.X, problem.y, sample_weight=weight)
    splits = [
        Fold(problem.active_rows[fold.train], problem.active_rows[fold.test])
        for fold in build_folds(all_classes, folds, shuffle, seed)
    ]
    grid = {name: [_to_number(problem, name, value) for value in values] for name, values in axes.items()}
    points = [dict(zip(grid, point, strict=True)) for point in product(*grid.values())]
    scorer = find_scorer(scoring, all_classes)
    tasks = [(problem.replace_parameters(point), fold, scorer) for fold in splits for point in points]
    outcomes = [outcome for (outcome,) in run_tasks(_score_fold, tasks, [1] * len(tasks), n_jobs, bar)]
    shape = (len(splits), *(len(values) for values in grid.values()))
    columns = {
        name: np.array([getattr(outcome, name) for outcome in outcomes]).reshape(shape)
        for name in ("score", "gap", "status", "support")
    }
    return CrossValidation(
        problem=problem.build_machine(0), axes={name: np.array(values) for name, values in grid.items()},
        scores=columns["score"], gaps=columns["gap"], status=columns["status"], support=columns["support"],
        scoring=name_scorer(scoring, all_classes),
    )  # fmt: skip


def iter_class_comparison(
    problem: MulticlassProblem, names: Sequence[str] | None, form: Any, options: CompareOptions
) -> Iterator[ComparisonRow]:
    """Yield one row per backend (by default all) and form: sums over all machines, and the largest gaps."""
    split = problem.build_split()
    for name in names or backends.names():
        rows_by_form: dict[tuple[str, str | None], list[ComparisonRow]] = {}
        for p in range(len(split.pairs)):
            for row in iter_comparison(split.build_problem(p), name, form, options):
                rows_by_form.setdefault((row.backend, row.form), []).append(row)
        yield from (_sum_rows(rows) for rows in rows_by_form.values())


def _to_number(problem: MulticlassProblem, name: str, value: Any) -> float:
    """Return a value of an axis as a number; a rule for γ is evaluated."""
    if name in KERNEL_DEFAULTS:
        return float(getattr(replace(problem.unfitted.kernel, **{name: value}).resolve(problem.X), name))
    problem.replace_parameters({name: value}).build_machine(0)  # raises an error if the value is invalid
    return float(value)


def _score_fold(problem: MulticlassProblem, fold: Fold, scorer: Any) -> list[Outcome]:
    """Score one point on one fold, by the accuracy without a scorer; the list has one outcome."""
    test = take_rows(problem.X, fold.test)
    try:
        result = problem.restrict_rows(fold.train).solve()
    except (InfeasibleNuError, NotSeparableError):
        return [Outcome(np.nan, np.inf, str(Status.INFEASIBLE), 0)]
    labels = problem.y[fold.test]
    if scorer is None:
        score = float(np.mean(result.machines.predict(test) == labels))
    else:
        score = float(scorer(result.machines, test, labels))
    return [Outcome(score, result.gap, str(result.status), len(result.machines.support_))]


def _sum_rows(rows: Sequence[ComparisonRow]) -> ComparisonRow:
    """Combine the rows of several machines into one, with sums of sizes and times, and the largest gaps.

    All else is that of the first machine that is not optimal. If any machine has no solution, and so no gap, the row of
    that first machine is returned unchanged.
    """
    base = next((row for row in rows if row.status != Status.OPTIMAL), rows[0])
    if any(row.gap is None for row in rows):
        return base
    sums: dict[str, Any] = {
        name: sum(getattr(row, name) or 0 for row in rows)
        for name in ("primal", "dual", "support", "margin", "build_time", "solve_time", "total_time")
    }
    counts = [row.iterations for row in rows]
    iterations = None if None in counts else sum(count or 0 for count in counts)
    maxima: dict[str, Any] = {name: max(getattr(row, name) for row in rows) for name in ("gap", "solver_gap")}
    notes = "; ".join(dict.fromkeys(row.note for row in rows if row.note))
    return replace(base, **sums, **maxima, iterations=iterations, note=notes)
