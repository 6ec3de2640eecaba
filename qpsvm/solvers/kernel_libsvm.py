"""LIBSVM's loop (sequential minimal optimisation with second-order selection and shrinking) on a Gram matrix or on X.

scikit-learn's public `SVC` checks and copies its input for about a millisecond, more than the loop itself takes for
n ≤ 500. So its compiled function is called directly where it passes a test on four points, and `SVC` otherwise.
Source: Fan, Chen & Lin, *Working set selection using second order information* (2005).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from qpsvm.arrays import FloatArray
from qpsvm.solvers.kernel_dual import HingeDual

#: Megabytes of kernel rows (float32) that the loop may keep when it evaluates the kernel itself: SVC's own default.
CACHE_MEGABYTES = 200.0
#: Cache for a Gram matrix that exists already: room for all its rows in float32, up to this many megabytes.
GRAM_CACHE_MEGABYTES = 1000.0


@dataclass(frozen=True, eq=False)
class LoopResult:
    """β (n,) feasible, the iterations made, and whether the loop's own test was met."""

    beta: FloatArray
    iterations: int
    finished: bool


def libsvm_loop(
    problem: HingeDual,
    data: FloatArray,
    *,
    gamma: float | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
) -> LoopResult:
    """Run the loop until no pair of rows violates its condition by more than tol, or `max_iter` is reached.

    Parameters
    ----------
    problem : HingeDual
    data : ndarray, shape (n, n) or (n, d)
        The Gram matrix, or the samples where `gamma` is given; C-ordered float64.
    gamma : float, optional
        Of the RBF kernel that the loop evaluates itself.
    tol : float
        In units of the margin.
    max_iter : int
        −1 for no limit.
    """
    n = problem.n
    cache_megabytes = CACHE_MEGABYTES if gamma is not None else min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6)
    common = problem.common_penalty
    settings: dict[str, Any] = {
        "kernel": "precomputed" if gamma is None else "rbf",
        "gamma": 0.0 if gamma is None else gamma,
        "C": 1.0 if common is None else common,
        "tol": tol,
        "cache_size": cache_megabytes,
        "max_iter": max_iter,
    }
    weights = np.empty(0) if common is not None else problem.upper
    run = _through_compiled if compiled_loop() is not None else _through_svc
    support, coefficients, iterations, finished = run(data, problem.y, weights, settings)
    beta = np.zeros(n)
    beta[support] = coefficients
    if beta @ problem.y < 0:  # which class LIBSVM calls +1 is its own affair
        beta = -beta
    return LoopResult(problem.balanced(beta), iterations, finished)


def _through_compiled(
    data: FloatArray, y: FloatArray, weights: FloatArray, settings: dict[str, Any]
) -> tuple[Any, FloatArray, int, bool]:
    fit = compiled_loop()
    assert fit is not None
    out = fit(
        np.ascontiguousarray(data), (y > 0).astype(np.float64), svm_type=0, class_weight=np.empty(0),
        sample_weight=weights, shrinking=1, probability=0, random_seed=0, **settings,
    )
    return out[0], out[3][0], int(np.sum(out[8])), out[7] == 0


def _through_svc(
    data: FloatArray, y: FloatArray, weights: FloatArray, settings: dict[str, Any]
) -> tuple[Any, FloatArray, int, bool]:
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    model = SVC(**settings)
    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data, y, weights if len(weights) else None)
    return model.support_, model.dual_coef_[0], int(np.sum(model.n_iter_)), model.fit_status_ == 0


@cache
def compiled_loop() -> Any:
    """The compiled function behind `SVC`, or None where it is absent or does not answer four points rightly."""
    try:
        from sklearn.svm import _libsvm

        _libsvm.set_verbosity_wrap(0)
        K = np.diag([1.0, 2.0, 1.0, 2.0])
        out = _libsvm.fit(
            K, np.array([0.0, 0.0, 1.0, 1.0]), svm_type=0, kernel="precomputed", C=1.0, gamma=0.0, tol=1e-6,
            cache_size=1.0, class_weight=np.empty(0), sample_weight=np.array([9.0, 9.0, 9.0, 0.25]), shrinking=1,
            probability=0, random_seed=0, max_iter=-1,
        )
        support, coefficients, status, iterations = out[0], np.abs(out[3][0]), out[7], np.sum(out[8])
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return None
    known = np.array([0.9, 0.45, 1.1, 0.25])
    right = len(support) == 4 and status == 0 and iterations > 0 and np.allclose(coefficients, known, atol=1e-4)
    return _libsvm.fit if right else None
