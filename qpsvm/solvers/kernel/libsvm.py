"""LIBSVM's loop (sequential minimal optimisation with second-order selection and shrinking) on a Gram matrix or on X.

The loop cannot be stopped, but it ends where no pair of rows violates its condition, and none does by a gradient that
is not a number. So the child process that runs it on X is hurried by writing NaN into its copy of X: the next rows of
K spoil the gradient, two entries of α are lost, and all others come back.

scikit-learn's public `SVC` checks and copies its input for about a millisecond, more than the loop itself takes for
n ≤ 500. So its compiled function is called directly where it passes a test on four points, and `SVC` otherwise.
Source: Fan, Chen & Lin, *Working set selection using second order information* (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.resources.apart import is_child, when_hurried
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.shared.sliced import run_sliced
from qpsvm.solvers.shared.stopping import Clock

#: Megabytes of kernel rows (float32) that the loop may keep when it evaluates the kernel itself: SVC's own default.
CACHE_MEGABYTES = 200.0
#: Cache for a Gram matrix that exists already: room for all its rows in float32, up to this many megabytes.
GRAM_CACHE_MEGABYTES = 1000.0
#: The most that the loop can count.
MOST_ITERATIONS = 2**31 - 1
#: Seconds of an iteration, besides for each row, and of a kernel value that the loop evaluates itself, besides for each
#: feature: for turning time into iterations, so pessimistic.
ITERATION_SECONDS, ENTRY_SECONDS = 1e-7, 1e-8
EVALUATION_SECONDS, FEATURE_SECONDS = 35e-9, 1e-9


@dataclass(frozen=True, eq=False)
class LoopResult:
    """β (n,), the iterations made, and whether the loop's own test was met."""

    beta: FloatArray
    iterations: int
    finished: bool


def libsvm_loop(
    problem: HingeDual,
    data: FloatArray,
    most: int | None = None,
    clock: Clock | None = None,
    *,
    gamma: float | None = None,
    tol: float = 1e-3,
    verbose: bool = False,
) -> LoopResult:
    """Run the loop until no pair of rows violates its condition by more than tol, or a limit is reached.

    Parameters
    ----------
    problem : HingeDual
    data : ndarray, shape (n, n) or (n, d)
        The Gram matrix, or the samples where `gamma` is given; C-ordered float64.
    most : int, optional
        Iterations.
    clock : Clock, optional
        Where it stops, the answer is that of a shorter run.
    gamma : float, optional
        Of the RBF kernel that the loop evaluates itself.
    tol : float
        In units of the margin.
    verbose : bool
        Print a sign of life every two seconds.

    Returns
    -------
    LoopResult
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
    }
    weights = np.empty(0) if common is not None else problem.upper
    run = _through_compiled if compiled_loop() is not None else _through_svc
    width = None if gamma is None else data.shape[1]
    arguments = (np.ascontiguousarray(data), problem.y, weights, settings)
    raw = run_sliced(
        run, arguments, n, most or MOST_ITERATIONS, lambda s: iterations_within(s, n, width),
        lambda: LoopResult(np.zeros(n), 0, False), clock or Clock(), verbose, hurries=gamma is not None,
    )  # fmt: skip
    beta = raw.beta
    if beta @ problem.y < 0:  # which class LIBSVM calls +1 is its own affair
        beta = -beta
    return LoopResult(problem.balanced(beta), raw.iterations, raw.finished)


def libsvm_nu_loop(
    y: FloatArray, upper: FloatArray, nu: float, K: FloatArray, most: int, clock: Clock, *, tol: float, verbose: bool
) -> LoopResult | None:
    """Run the loop of a ν-SVM with 0 ≤ α ≤ U and Σα = ν over a Gram matrix; None where the compiled one is absent.

    Parameters
    ----------
    y, upper : ndarray, shape (n,)
        −1/+1, and U.
    nu : float
        The sum of α.
    K : ndarray, shape (n, n)
        C-ordered float64.
    most : int
        Iterations.
    clock : Clock
        Where it stops, the answer is that of a shorter run.
    tol : float
        In units of the margin.
    verbose : bool
        Print a sign of life every two seconds.

    Returns
    -------
    LoopResult or None
        β may leave its box by rounding.
    """
    if compiled_loop() is None:
        return None
    n = len(y)
    share = nu / float(upper.sum())
    # the largest ν that is feasible must not look infeasible by rounding
    settings = {
        "svm_type": 1, "nu": share * (1.0 - n * float(np.finfo(float).eps)), "C": 1.0, "kernel": "precomputed",
        "gamma": 0.0, "tol": tol, "cache_size": min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6),
    }  # fmt: skip
    weights = np.empty(0) if (upper == upper[0]).all() else upper / upper.max()
    raw = run_sliced(
        _through_compiled, (np.ascontiguousarray(K), y, weights, settings), n, most,
        lambda s: iterations_within(s, n, None, begins=share * n), lambda: LoopResult(np.zeros(n), 0, False), clock,
        verbose,
    )  # fmt: skip
    total = float(np.abs(raw.beta).sum())
    alpha = np.abs(raw.beta) * (nu / total) if 0.0 < total < np.inf else np.abs(raw.beta)  # what it gives is α/ρ
    return LoopResult(y * alpha, raw.iterations, raw.finished)


def iterations_within(
    seconds: float, n: int, width: int | None, cache: float = CACHE_MEGABYTES, begins: float = 0.0
) -> int:
    """Iterations that surely end in time, over a Gram matrix or, where d is given, over samples.

    Where the loop begins at a point with so many entries, their rows of K are made first. An iteration reads two rows.
    They are evaluated where they are not in the cache, of so many megabytes; none is evaluated twice where all rows fit
    there. At the end the loop may evaluate as many again, for the rows that it had set aside.
    """
    reading, evaluating = ITERATION_SECONDS + ENTRY_SECONDS * n, 0.0
    if width is not None:
        evaluating = (EVALUATION_SECONDS + FEATURE_SECONDS * width) * n
    seconds -= begins * (reading + evaluating)
    most = seconds / (reading + 4.0 * evaluating)
    if 4e-6 * n * n <= cache:
        most = max(most, (seconds - 2.0 * evaluating * n) / reading)
    return max(int(most), 0)


def _result(n: int, support: IntArray, coefficients: FloatArray, iterations: Any, finished: bool) -> LoopResult:
    beta = np.zeros(n)
    beta[support] = coefficients
    if not np.isfinite(np.add.reduce(beta)):  # of a loop that was hurried
        beta = np.nan_to_num(beta)
    return LoopResult(beta, int(np.add.reduce(iterations, axis=None)), finished)


def _through_compiled(
    data: FloatArray, y: FloatArray, weights: FloatArray, settings: dict[str, Any], most: int
) -> LoopResult:
    fit = compiled_loop()
    assert fit is not None
    if is_child() and settings["kernel"] != "precomputed":
        data = data.copy()  # the parent's may lie in memory that it shares
        when_hurried(partial(data.fill, np.nan))
    out = fit(
        data, (y > 0).astype(np.float64), class_weight=np.empty(0), sample_weight=weights, shrinking=1,
        probability=0, random_seed=0, max_iter=most, **{"svm_type": 0, **settings},
    )  # fmt: skip
    hurried = is_child() and bool(np.isnan(data[0, 0]))
    return _result(len(y), out[0], out[3][0], out[8], out[7] == 0 and not hurried)


def _through_svc(
    data: FloatArray, y: FloatArray, weights: FloatArray, settings: dict[str, Any], most: int
) -> LoopResult:
    import sklearn

    model = quiet("SVC")(max_iter=most, **settings)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        model.fit(data, y, weights if len(weights) else None)
    return _result(len(y), model.support_, model.dual_coef_[0], model.n_iter_, model.fit_status_ == 0)


@cache
def quiet(name: str) -> Any:
    """scikit-learn's `SVC` or `NuSVC` without its `ConvergenceWarning`: the status says it.

    To filter the warning would not do: `warnings.catch_warnings` in one thread changes what all others see, and may
    leave it changed.
    """
    from sklearn.svm import _classes  # not sklearn.svm, whose names `patch_sklearn` may have taken

    def silent(self: Any) -> None:
        """Where it would warn."""

    return type(name, (getattr(_classes, name),), {"_warn_from_fit_status": silent, "__module__": __name__})


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
        )  # fmt: skip
        support, coefficients, status, iterations = out[0], np.abs(out[3][0]), out[7], np.sum(out[8])
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return None
    known = np.array([0.9, 0.45, 1.1, 0.25])
    right = len(support) == 4 and status == 0 and iterations > 0 and np.allclose(coefficients, known, atol=1e-4)
    return _libsvm.fit if right else None
