"""Compute decision values of samples by machines of folds that do not contain them (`compute_fold_decisions`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import QPSVMError, SolverError
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select_rows
from qpsvm.estimators.base import Estimator
from qpsvm.estimators.fit_warnings import GapWarning, find_caller_level
from qpsvm.machines.problem.derived_problems import restrict_parameter
from qpsvm.many.multiclass import BinaryMachines, Split, solve_machines, split_classes
from qpsvm.program.status import Status
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.scores import ScoreFunctions

#: Number of folds, as in LIBSVM and in scikit-learn's `CalibratedClassifierCV`; fewer if a class has fewer samples.
N_FOLDS = 5


def compute_fold_decisions(
    estimator: Estimator,
    split: Split,
    compute_scale: Callable[[BinaryMachines], FloatArray],
    n_jobs: int | None,
    deadline: float | None,
) -> FloatArray:
    """Compute f of every machine at every sample, by the machine trained without the sample's fold.

    The folds are stratified by class and not shuffled, so that the same samples have the same folds.

    Parameters
    ----------
    estimator : Estimator
        Its tolerance, backend and limits apply to the machines of the folds.
    split : Split
        The P machines over n samples; those of weight 0 belong to no fold.
    compute_scale : callable
        Returns the divisor of the decision function of each machine: (P,).
    n_jobs : int or None
        Processes for the machines of a fold.
    deadline : float or None
        Time on the monotonic clock at which the folds must be solved; None for no limit.

    Returns
    -------
    ndarray, shape (n, P)
        NaN for samples of weight 0. The machine of a pair of classes has values for samples of all classes.

    Raises
    ------
    QPSVMError
        A fold cannot be solved, for example because ν is too large for it; a note names the fold.
    SolverError
        The deadline passed.
    """
    rows = np.flatnonzero(split.weight > 0.0)
    codes = split.codes[rows]
    n_folds = min(N_FOLDS, int(np.bincount(codes, minlength=split.k).min()))
    decisions = np.full((split.n, len(split.pairs)), np.nan)
    largest_gap = 0.0
    options = estimator._build_options()
    for k, (train, test) in enumerate(StratifiedKFold(n_folds).split(codes, codes), 1):
        if deadline is not None:
            options["time_limit"] = deadline - monotonic()
            if options["time_limit"] <= 0.0:
                raise SolverError(f"time_limit was over before fold {k} of {n_folds} was solved: give it more")
        try:
            machines = _solve_fold(split, rows[train], n_jobs, options)
        except QPSVMError as error:
            error.add_note(f"That is of the samples without fold {k} of {n_folds}, on which probabilities are based.")
            raise
        if Status.INTERRUPTED in machines.status:
            raise KeyboardInterrupt
        if not machines.optimal:
            largest_gap = max(largest_gap, float(np.max(machines.gap)))
        values = _evaluate(split, machines, rows[train], rows[test])
        decisions[rows[test]] = values / compute_scale(machines)
    if largest_gap:
        name = type(estimator).__name__
        said = f"{name}: probabilities: the largest certified gap of a machine of a fold is {largest_gap:.2g}"
        warnings.warn(said, GapWarning, stacklevel=find_caller_level())
    return decisions


def _select(split: Split, rows: IntArray, columns: IntArray) -> Any:
    """Select samples; of a kernel matrix, their values with the samples of `columns`."""
    if isinstance(split.X, RowSource):
        return select_rows(split.X, rows)
    X = split.X[rows]
    return X[:, columns] if isinstance(split.kernel, Precomputed) else X


def _solve_fold(split: Split, rows: IntArray, n_jobs: int | None, options: dict[str, Any]) -> BinaryMachines:
    """Solve all machines on some of the samples."""
    parameters = {name: restrict_parameter(value, split.n, rows) for name, value in split.template.parameters.items()}
    fold = split_classes(
        _select(split, rows, rows), split.codes[rows], split.labels, replace(split.template, parameters=parameters),
        rest=split.is_one_against_rest, sample_weight=split.weight[rows],
    )  # fmt: skip
    return solve_machines(fold, n_jobs=n_jobs, **options)


def _evaluate(split: Split, machines: BinaryMachines, rows: IntArray, others: IntArray) -> FloatArray:
    """Evaluate f of the machines trained on `rows` at other samples: (m, P)."""
    support = machines.support
    vectors = np.empty((0, 0))
    if machines.w is None and not isinstance(split.kernel, Precomputed):
        vectors = _select(split, rows[support], rows)
    coef = machines.coef[:, support].toarray()
    scores = ScoreFunctions(split.kernel, support, vectors, coef, machines.b, machines.w)
    return scores(_select(split, others, rows))
