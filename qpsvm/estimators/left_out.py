"""Compute intervals and sets of classes from exact leave-one-out machines (`compute_intervals`, `compute_sets`).

The jackknife+ compares a new sample with each training sample i by the decision function f₋ᵢ trained without sample i:

    (JACK.1)  R_i = |y_i − f₋ᵢ(x_i)|:  y lies between the ⌊α(n+1)⌋-th smallest f₋ᵢ(x) − R_i and the
              ⌈(1−α)(n+1)⌉-th smallest f₋ᵢ(x) + R_i with a probability of at least 1 − 2α
    (JACK.2)  R_i = s₋ᵢ(x_i, y_i):  the set of classes c for which fewer than (1−α)(n+1) samples have R_i < s₋ᵢ(x, c)
              contains y with the same probability;  s(x, c) is the largest margin of another class over c

if the samples and the new one are exchangeable, for any distribution and any f. Here α is the share of
targets that may be missed, `missed_share`, not a dual variable. f₋ᵢ is trained by `fit_leave_one_out`.

Sources: Barber, Candès, Ramdas & Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49
(2021), theorem 1; Romano, Sesia & Candès, *Classification with valid and adaptive coverage* (2020).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import SolverError, UnsupportedError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import RowSource
from qpsvm.estimators.base import Estimator
from qpsvm.estimators.fit_warnings import GapWarning, find_caller_level
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameter_checks import make_range_check
from qpsvm.many.exact.leave_one_out import LeaveOneOut, leave_one_out
from qpsvm.many.multiclass.split import REST, Split
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: Largest number of samples of a machine of which each may be left out; this takes up to one or two minutes.
MAX_LEFT_OUT = 3000
#: Check of the share of targets that may be missed.
check_missed_share = make_range_check("between 0 and 1", lambda value: 0.0 < value < 1.0)


def check_left_out(name: str, X: Any, n: int, instead: str, constraints: Any = None) -> None:
    """Check, before solving, that each sample can be left out in reasonable time. Raises UnsupportedError.

    name, instead: The class of the estimator, and what to do otherwise, for messages.
    n: Number of samples of its largest machine.
    """
    if isinstance(X, RowSource):
        raise UnsupportedError(f"each sample of {name} is left out, which needs them in memory: {instead}")
    if constraints is not None:
        raise UnsupportedError(f"each sample of {name} is left out, which takes no constraints: {instead}")
    if n > MAX_LEFT_OUT:
        raise UnsupportedError(
            f"each sample of {name} is left out, which is limited to {MAX_LEFT_OUT} of a machine, and "
            f"here one has {n}: {instead}"
        )


def fit_leave_one_out(estimator: Estimator, problem: Problem, result: SVMResult, deadline: float | None) -> LeaveOneOut:
    """Fit one machine without each of its samples; warn if some fit is not optimal.

    Raises UnsupportedError, SolverError, KeyboardInterrupt.
    """
    if problem.space.shift or problem.space.is_clipped:
        raise UnsupportedError(
            f"the kernel matrix is indefinite, and what psd={problem.psd!r} changes in it depends on all samples: no "
            "machine is without one of them. Take a kernel that is positive semidefinite"
        )
    name = type(estimator).__name__
    verbose = bool(estimator.verbose)
    limit = None if deadline is None else max(deadline - monotonic(), 1e-3)
    left_out = leave_one_out(problem, result, tol=float(estimator.tol), time_limit=limit, verbose=verbose)
    if left_out.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if left_out.status is Status.TIME_LIMIT:
        raise SolverError("time_limit was over before every sample was left out: give it more")
    note = left_out.message
    if left_out.status is not Status.OPTIMAL:
        note = f"the largest certified gap of a machine without a sample is {np.nanmax(left_out.gap):.2g}; {note}"
    if note:
        warnings.warn(f"{name}: {note}", GapWarning, stacklevel=find_caller_level())
    return left_out


def fit_machines_leave_one_out(
    estimator: Estimator, split: Split, together: BinaryMachines, deadline: float | None
) -> list[LeaveOneOut]:
    """Fit every machine of a split without each of its samples; `together` is the solution of all."""
    results = []
    for p in range(len(split.pairs)):
        rows, signs = find_machine_rows(split, p)
        problem: Problem = split.build_problem(p)
        dual_alpha = np.maximum(together.coef[[p]].toarray()[0, rows] * signs, 0.0)
        results.append(fit_leave_one_out(estimator, problem, problem.at(dual_alpha), deadline))
    return results


def find_machine_rows(split: Split, p: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the indices of the samples of machine p among all n, and their labels ±1: (m,) each."""
    positions, signs = split.locate_rows(p)
    return split.order[positions], signs


def to_memory(X: Any) -> Any:
    """Return samples in memory."""
    return X.matrix() if isinstance(X, RowSource) else X


# --- intervals ------------------------------------------------------------------------------------------------------


def compute_intervals(
    left_out: LeaveOneOut, target: FloatArray, X: Any, missed_share: float
) -> tuple[FloatArray, FloatArray]:
    """Compute (JACK.1) at the rows of X: (m,) each; infinite if there are too few samples for that share."""
    active_rows = left_out.functions.active_samples
    residual = np.abs(target[active_rows] - left_out.decision[active_rows])
    rank = _compute_rank(missed_share, len(active_rows))
    low, high = [], []
    for block in split_rows(X, len(active_rows)):
        f = left_out.decision_function(block)[:, active_rows]
        # the ⌊α(n+1)⌋-th smallest f − R is minus the rank-th smallest R − f, as ⌊α(n+1)⌋ + rank = n + 1
        low.append(-_select_ranked_value(residual - f, rank))
        high.append(_select_ranked_value(f + residual, rank))
    return np.concatenate(low), np.concatenate(high)


def _compute_rank(missed_share: float, n: int) -> int:
    """Compute ⌈(1−α)(n+1)⌉, for the decimal value of α, not the nearest double."""
    return math.ceil((1 - Fraction(repr(float(missed_share)))) * (n + 1))


def _select_ranked_value(values: FloatArray, rank: int) -> FloatArray:
    """Select the rank-th smallest value of each row, (m,) from (m, n); infinite if there are fewer."""
    if rank > values.shape[1]:
        return np.full(len(values), np.inf)
    values = np.where(np.isnan(values), np.inf, values)
    return np.asarray(np.partition(values, rank - 1, axis=1)[:, rank - 1])


def split_rows(X: Any, width: int) -> Iterator[Any]:
    """Yield blocks of rows of X, so that `width` numbers for each row fit into a block."""
    step = max(1, BLOCK_NUMBERS // max(width, 1))
    return (X[i : i + step] for i in range(0, X.shape[0], step))


# --- sets of classes ------------------------------------------------------------------------------------------------


def compute_sets(
    split: Split, left_out: list[LeaveOneOut], X: Any, missed_share: float, precomputed: bool
) -> NDArray[np.bool_]:
    """Compute (JACK.2) at the rows of X, (m, k); if `precomputed`, these are kernel values with all samples.

    Only active samples, those of positive weight, count: n below. `split.order` (n,) has their indices among
    the `split.n` samples of the caller.
    """
    n = len(split.order)
    k = split.k
    P = len(split.pairs)
    position = np.empty(split.n, dtype=np.intp)
    position[split.order] = np.arange(n)
    machine_positions = [position[find_machine_rows(split, p)[0]] for p in range(P)]
    own_decisions = np.full((P, 1, n), np.nan)  # f₋ᵢ(x_i) of each machine, as if of one new sample
    for p, positions in enumerate(machine_positions):
        own_decisions[p, 0, positions] = left_out[p].decision
    codes = split.codes[split.order]
    with np.errstate(invalid="ignore"):
        residual = _compute_scores(split.pairs, own_decisions, k)[0, np.arange(n), codes]
        rank = _compute_rank(missed_share, n)
        blocks = []
        for block in split_rows(X, n * (k + P)):
            values = np.empty((P, block.shape[0], n))
            for p, positions in enumerate(machine_positions):
                points = block[:, split.order[positions]] if precomputed else block
                distinct_values = left_out[p].functions.evaluate_distinct(points)
                # column 0 is f of all samples of machine p: also that without a sample of a class that is not in p
                values[p] = distinct_values[:, [0]]
                values[p][:, positions] = left_out[p].functions.select_values(distinct_values)
            scores = _compute_scores(split.pairs, values, k)
            n_below = (residual[:, None] < scores).sum(axis=1)  # NaN, without a machine, compares as False
            blocks.append(n_below < rank)
    return np.concatenate(blocks)


def _compute_scores(pairs: NDArray[np.intp], values: FloatArray, k: int) -> FloatArray:
    """Compute s of (JACK.2), (m, n, k), from f of each machine, (P, m, n); NaN where f of a machine with the class is.

    By `Split.locate_rows`, f > 0 is for class i against the rest, but for the second class j of a pair (i, j).
    """
    P, m, n = values.shape
    scores = np.full((m, n, k), -np.inf)
    if pairs[0, 1] == REST:
        for c in range(k):
            best_other = np.delete(values, c, axis=0).max(axis=0)
            scores[..., c] = best_other - values[c]
        return scores
    for p in range(P):
        i, j = pairs[p]
        scores[..., i] = np.maximum(scores[..., i], values[p])  # by how much j wins over i
        scores[..., j] = np.maximum(scores[..., j], -values[p])
    return scores
