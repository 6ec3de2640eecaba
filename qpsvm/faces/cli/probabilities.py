"""Calibrate the probabilities of a model file (`solve --probability`: `add_probabilities`).

Each row gets a decision value from a machine trained without the fold of this row. A curve (Platt's sigmoid) is fitted
to these values. Machines of several classes have curves of their own, which their training fits in the same way.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, ParameterError, QPSVMError
from qpsvm.estimators.calibration_curve import fit_curve
from qpsvm.estimators.fold_decisions import N_FOLDS
from qpsvm.faces.cli.data import Dataset, take_rows
from qpsvm.faces.cli.multiclass import MulticlassProblem, MulticlassResult
from qpsvm.faces.cli.problem_options import VARIANTS
from qpsvm.faces.cli.splits import restrict_rows
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.program.status import Status
from qpsvm.result.calibration import KEY, Calibration
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult

#: The end of messages: what the user can do.
INSTEAD = "leave --probability out"


def check_probability(options: argparse.Namespace) -> None:
    """Refuse probabilities without classes, or of samples on workers. Raises ParameterError."""
    if not options.probability:
        return
    if VARIANTS[options.variant]._target_kind != "labels":
        raise ParameterError(
            f"--probability belongs to two-class machines, but the variant is {options.variant}: {INSTEAD}"
        )
    if options.scheduler is not None:
        raise ParameterError(
            "--probability trains on folds, which needs the samples on this machine: leave --probability or "
            "--scheduler out"
        )


def check_samples(problem: Problem, options: argparse.Namespace) -> None:
    """Refuse samples that cannot be split into folds, before they are solved. Raises ParameterError, DataError."""
    if not options.probability or isinstance(problem, MulticlassProblem):
        return  # it checks each of its machines
    if isinstance(problem, AllInOneProblem):
        raise ParameterError(
            f"--probability fits curves to two-class machines, but {options.variant} has all classes "
            f"in one program: {INSTEAD}, or use another variant"
        )
    if np.unique(problem._active_target, return_counts=True)[1].min() < 2:
        raise DataError(f"a class has one sample, and no machine can be trained without it: {INSTEAD}, or add samples")


def add_probabilities(
    dataset: Dataset,
    problem: Problem,
    result: SVMResult,
    model: Model,
    solve_rows: Callable[[Dataset], SVMResult],
) -> tuple[Model, str]:
    """Return the model with its curve, and a line that says how good the probabilities of held-out rows are.

    Parameters
    ----------
    dataset : Dataset
        The n rows that trained the result.
    problem, result, model
        Of one machine of two classes; of several machines, the model has its curves.
    solve_rows : callable
        Solves the same machine for some of the rows.

    Raises
    ------
    QPSVMError
        A fold cannot be solved; a note names the fold.
    """
    if isinstance(result, MulticlassResult):
        n_machines = len(result.machines.results_)
        return model, f"  probability {n_machines} curves, each fitted to {N_FOLDS} folds that did not train"
    weights = dataset.table.weights
    if weights is None:
        weights = np.ones(len(dataset.y))
    else:
        weights = np.asarray(weights, dtype=np.float64)
    rows = np.flatnonzero(weights > 0.0)
    is_positive = problem.samples.target[rows] > 0.0
    decisions, n_folds, n_optimal = _compute_held_out_decisions(dataset, rows, is_positive, result, solve_rows)
    weights = weights[rows]
    calibration = Calibration("sigmoid", "two", (fit_curve("sigmoid", decisions, is_positive, weights),))
    probability = calibration(decisions[:, None])[np.arange(len(rows)), is_positive.astype(int)]  # of the true class
    accuracy = float(weights @ ((decisions > 0.0) == is_positive) / weights.sum())
    loss = -float(weights @ np.log(probability) / weights.sum())
    scores = f"accuracy {accuracy:.4f}, log loss {loss:.4f}"
    line = f"  probability {scores}, each row by a machine without its fold, of {n_folds}"
    if n_optimal < n_folds:
        line += f"; {n_optimal} of them optimal"
    return replace(model, metadata={**model.metadata, KEY: calibration.to_record()}), line


def _compute_held_out_decisions(
    dataset: Dataset,
    rows: IntArray,
    is_positive: NDArray[np.bool_],
    result: SVMResult,
    solve_rows: Callable[[Dataset], SVMResult],
) -> tuple[FloatArray, int, int]:
    """Compute the decision value of each of these rows, (r,), by a machine trained without the fold of the row.

    Return the number of folds and of optimal machines, too. Decision values of ν-SVMs are scaled to the margin ρ of the
    result of all rows. Raises QPSVMError, KeyboardInterrupt.
    """
    n_folds = min(N_FOLDS, int(np.bincount(is_positive.astype(int)).min()))
    decisions = np.zeros(len(rows))
    n_optimal = 0
    for k, (train, test) in enumerate(StratifiedKFold(n_folds).split(is_positive, is_positive), 1):
        try:
            fold = solve_rows(restrict_rows(dataset, rows[train]))
        except QPSVMError as error:
            error.add_note(f"That is of the rows without fold {k} of {n_folds}, which --probability needs.")
            raise
        if fold.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        n_optimal += fold.status is Status.OPTIMAL
        scale = result.rho / fold.rho if fold.rho > 0.0 else 1.0
        decisions[test] = scale * fold.model.decision_function(take_rows(dataset.table.X, rows[test]))
    return decisions, n_folds, n_optimal
