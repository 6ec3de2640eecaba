"""Compute intervals, sets of classes and calibration curves from exact leave-one-out machines.

    (JACK.1)  R_i = |y_i − f₋ᵢ(x_i)|:  from the ⌊α(n+1)⌋-th smallest f₋ᵢ(x) − R_i to the ⌈(1−α)(n+1)⌉-th smallest
              f₋ᵢ(x) + R_i lies y with a probability of 1 − 2α at least
    (JACK.2)  R_i = s₋ᵢ(x_i, y_i):  among the classes c of which fewer than (1−α)(n+1) samples have R_i < s₋ᵢ(x, c) is
              y with the same probability;  s(x, c) is how far f says that another class is likelier, the most of all

for samples and a new one that are exchangeable, whatever their distribution and however good f is.

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
from scipy.special import logit

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import SolverError, UnsupportedError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import RowSource
from qpsvm.estimators.base import Estimator, GapWarning, find_caller_level
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameter_checks import make_range_check
from qpsvm.many.exact.leave_one_out import LeaveOneOut, leave_one_out
from qpsvm.many.multiclass.split import REST, Split
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: Samples of one machine up to which each of them is left out: half a minute or two; beyond, minutes.
MAX_LEFT_OUT = 3000
#: The share of targets that may be missed.
check_missed_share = make_range_check("between 0 and 1", lambda value: 0.0 < value < 1.0)


def check_left_out(name: str, X: Any, n: int, instead: str, constraints: Any = None) -> None:
    """Refuse, before anything is solved, what would take too long or cannot be. Raises UnsupportedError."""
    if isinstance(X, RowSource):
        raise UnsupportedError(f"each sample of {name} is left out, which needs them in memory: {instead}")
    if constraints is not None:
        raise UnsupportedError(f"each sample of {name} is left out, which takes no constraints: {instead}")
    if n > MAX_LEFT_OUT:
        raise UnsupportedError(
            f"each sample of {name} is left out, up to {MAX_LEFT_OUT} of a machine, and here are {n}: {instead}"
        )


def fit_leave_one_out(estimator: Estimator, problem: Problem, result: SVMResult, deadline: float | None) -> LeaveOneOut:
    """Fit the machine without each sample. Raises UnsupportedError, SolverError, KeyboardInterrupt."""
    name, verbose = type(estimator).__name__, bool(estimator.verbose)
    limit = None if deadline is None else max(deadline - monotonic(), 1e-3)
    found, note = run_leave_one_out(problem, result, float(estimator.tol), limit, verbose)
    if note:
        warnings.warn(f"{name}: {note}", GapWarning, stacklevel=find_caller_level())
    return found


def run_leave_one_out(
    problem: Problem, result: SVMResult, tol: float, time_limit: float | None, verbose: bool
) -> tuple[LeaveOneOut, str]:
    """Fit the machine without each sample, with a note. Raises UnsupportedError, SolverError, KeyboardInterrupt."""
    if problem.space.shift or problem.space.is_clipped:
        raise UnsupportedError(
            f"the kernel matrix is indefinite, and psd={problem.psd!r} changes it by all samples: no machine is "
            "without one of them. Take a kernel that is positive semidefinite"
        )
    found = leave_one_out(problem, result, tol=tol, time_limit=time_limit, verbose=verbose)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if found.status is Status.TIME_LIMIT:
        raise SolverError("time_limit was over before every sample was left out: give it more")
    note = found.message
    if found.status is not Status.OPTIMAL:
        note = f"the largest certified gap of a machine without a sample is {np.nanmax(found.gap):.2g}; {note}"
    return found, note


def fit_each_leave_one_out(
    estimator: Estimator, split: Split, together: BinaryMachines, deadline: float | None
) -> list[LeaveOneOut]:
    """Fit every machine without each of its samples."""
    found = []
    for p in range(len(split.pairs)):
        rows, signs = find_machine_rows(split, p)
        problem: Problem = split.problem(p)
        alpha = np.maximum(together.coef[[p]].toarray()[0, rows] * signs, 0.0)
        found.append(fit_leave_one_out(estimator, problem, problem.at(alpha), deadline))
    return found


def find_machine_rows(split: Split, p: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the caller's rows of a machine and their signs: (m,) each."""
    places, signs = split.places(p)
    return split.order[places], signs


def to_memory(X: Any) -> Any:
    """Return samples in memory."""
    return X.matrix() if isinstance(X, RowSource) else X


# --- intervals ------------------------------------------------------------------------------------------------------


def compute_intervals(found: LeaveOneOut, target: FloatArray, X: Any, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Compute (JACK.1) at the rows of X: (m,) each; infinite if there are too few samples for α."""
    own = found.functions.rows  # a sample of weight 0 says nothing
    residual = np.abs(target[own] - found.decision[own])
    rank = _compute_rank(alpha, len(own))
    low, high = [], []
    for block in split_rows(X, len(own)):
        f = found.decision_function(block)[:, own]
        low.append(-_select_ranked_value(residual - f, rank))
        high.append(_select_ranked_value(f + residual, rank))
    return np.concatenate(low), np.concatenate(high)


def _compute_rank(alpha: float, n: int) -> int:
    """Compute ⌈(1−α)(n+1)⌉, for the α as written and not the double next to it."""
    return math.ceil((1 - Fraction(repr(float(alpha)))) * (n + 1))


def _select_ranked_value(values: FloatArray, rank: int) -> FloatArray:
    """Select the rank-th smallest value of each row, (m,) from (m, n); infinite if there are fewer."""
    if rank > values.shape[1]:
        return np.full(len(values), np.inf)
    values = np.where(np.isnan(values), np.inf, values)
    return np.asarray(np.partition(values, rank - 1, axis=1)[:, rank - 1])


def split_rows(X: Any, width: int) -> Iterator[Any]:
    """Yield some rows of X at a time, so that `width` numbers for each fit into a block."""
    step = max(1, BLOCK_NUMBERS // max(width, 1))
    return (X[i : i + step] for i in range(0, X.shape[0], step))


# --- sets of classes ------------------------------------------------------------------------------------------------


def compute_sets(split: Split, found: list[LeaveOneOut], X: Any, alpha: float, given: bool) -> NDArray[np.bool_]:
    """Compute (JACK.2) at the rows of X, (m, k); `given`: these are kernel values with the caller's samples."""
    n, k = len(split.order), split.k
    place = np.empty(split.n, dtype=np.intp)
    place[split.order] = np.arange(n)
    machines = [place[find_machine_rows(split, p)[0]] for p in range(len(split.pairs))]
    own = np.full((len(split.pairs), 1, n), np.nan)
    for p, rows in enumerate(machines):
        own[p, 0, rows] = found[p].decision
    codes = split.codes[split.order]
    with np.errstate(invalid="ignore"):
        residual = _compute_scores(split.pairs, own, k)[0, np.arange(n), codes]
        limit = _compute_rank(alpha, n)
        taken = []
        for block in split_rows(X, n * (k + len(split.pairs))):
            values = np.empty((len(split.pairs), block.shape[0], n))
            for p, rows in enumerate(machines):
                seen = block[:, split.order[rows]] if given else block
                each = found[p].functions.evaluate_distinct(seen)
                values[p] = each[:, [0]]  # a sample of another class is not in this machine
                values[p][:, rows] = found[p].functions.select_values(each)
            scores = _compute_scores(split.pairs, values, k)
            beyond = (residual[:, None] < scores).sum(axis=1)  # where there is no machine, none is
            taken.append(beyond < limit)
    return np.concatenate(taken)


def _compute_scores(pairs: NDArray[np.intp], values: FloatArray, k: int) -> FloatArray:
    """Compute s of (JACK.2), (m, n, k), from f of each machine, (P, m, n); NaN for a pair without the class."""
    P, m, n = values.shape
    scores = np.full((m, n, k), -np.inf)
    if pairs[0, 1] == REST:
        for c in range(k):
            others = np.delete(values, c, axis=0).max(axis=0)
            scores[..., c] = others - values[c]
        return scores
    for p in range(P):
        i, j = pairs[p]
        scores[..., i] = np.maximum(scores[..., i], values[p])
        scores[..., j] = np.maximum(scores[..., j], -values[p])
    return scores


# --- curves ---------------------------------------------------------------------------------------------------------


def fit_curve(
    method: str, f: FloatArray, positive: NDArray[np.bool_], weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fit (PROB.1) to decision values, their sides and weights, (n,) each, by scikit-learn.

    The targets are Platt's, (S₊ + 1)/(S₊ + 2) and 1/(S₋ + 2): a finite sample does not distinguish less from 0.
    Where the likeliest sigmoid falls, the likeliest that does not is constant, since the likelihood is concave.
    """
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    plus, minus = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    if method == "isotonic":
        steps = IsotonicRegression(out_of_bounds="clip").fit(f, target, sample_weight=weight)
        return np.asarray(steps.X_thresholds_), np.asarray(steps.y_thresholds_)
    size = float(np.abs(f).max())
    if np.ptp(f) > 0.0:
        each = np.concatenate([f, f])[:, None] / size
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(each, np.repeat([1, 0], len(f)), np.concatenate([weight * target, weight * (1.0 - target)]))
        if model.coef_[0, 0] > 0.0:
            return np.array([model.coef_[0, 0] / size]), np.array([model.intercept_[0]])
    return np.zeros(1), np.array([logit(float(weight @ target / weight.sum()))])
