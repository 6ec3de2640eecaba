"""Run LIBSVM's loop (SMO with second-order selection and shrinking) on a Gram matrix or on samples (`run_libsvm_loop`).

LIBSVM takes only some forms of (KDUAL.1), each as a machine of its own:

    (KLOOP.1)  C-SVM takes y and 0 ≤ y∘β ≤ C;  ε-SVR takes t, ε and −C_i ≤ β_i ≤ C_i, both with Σβ = 0;  ν-SVR the same
               with Σ|β| for ε;  one-class 0 ≤ β ≤ U
    (KLOOP.2)  any other box without a kink is shifted by its middle m:  β = m + β′, t′ = t − Km,  and Σβ′ = e − Σm by
               one more row of zeros in K, with a target larger than all others: it ends at its bound

Source: Fan, Chen & Lin, *Working set selection using second order information* (2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.kernel.dual import KINK_TOL, KernelDual
from qpsvm.solvers.shared.budget import MAX_ITERATIONS
from qpsvm.solvers.shared.timed_loop import run_within_time

#: Megabytes of kernel rows (float32) that the loop may keep when it evaluates the kernel itself: SVC's own default.
CACHE_MEGABYTES = 200.0
#: Cache for a Gram matrix that exists already: all its rows in float32, up to this many megabytes.
GRAM_CACHE_MEGABYTES = 1000.0
#: Pessimistic seconds, to convert time into iterations: of an iteration, plus those for each row; and of a kernel value
#: that the loop evaluates itself, plus those for each feature.
ITERATION_SECONDS, ENTRY_SECONDS = 1e-7, 1e-8
EVALUATION_SECONDS, FEATURE_SECONDS = 35e-9, 1e-9
#: Target of the extra row of (KLOOP.2), in units of the largest possible gradient of the other rows.
EXTRA_TARGET = 100.0
#: Σ|β| is below its limit if it is smaller by more than this share.
MASS_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class LoopResult:
    """β (n,), the iterations made, whether the loop converged by its own test, and u (n,) of (KDUAL.2) or None."""

    beta: FloatArray
    iterations: int
    converged: bool
    u: FloatArray | None = None


def is_libsvm_problem(problem: KernelDual) -> bool:
    """Return whether LIBSVM can state the problem as it is, so that it can evaluate the kernel itself."""
    if problem.fixed_sum or problem.fixed_mass:
        return False
    if problem.is_standard_hinge or problem.is_nu_svm:
        return True
    if problem.has_kink:
        has_one_tube = float(np.ptp(problem.tube)) == 0.0
        return problem.total == 0.0 and has_one_tube and bool((problem.low == -problem.high).all())
    novelty = not problem.low.any() and bool((problem.level == problem.level[0]).all())
    return novelty or (problem.total == 0.0 and bool((problem.low == -problem.high).all()))


def run_libsvm_loop(
    problem: KernelDual,
    data: FloatArray,
    max_iter: int | None = None,
    clock: Clock | None = None,
    *,
    gamma: float | None = None,
    tol: float = 1e-3,
    settings: Mapping[str, Any] | None = None,
) -> LoopResult:
    """Run the loop until no pair of rows violates its condition by more than tol, or a limit is reached.

    gamma: With it, the kernel is RBF and the data are samples X; else they are K.
    settings: Arguments of scikit-learn's class that replace ours.

    Shapes: data (n, n), or (n, d) with gamma.
    """
    n = problem.n
    run = _LibsvmRun(data, gamma, tol, max_iter, clock or Clock(), settings or {})
    total = problem.total - problem.fixed_sum
    if problem.is_standard_hinge and not total:
        if not np.ptp(problem.sign):  # one class: 0 is the only feasible point
            return LoopResult(np.zeros(n), 0, True)
        raw = run("SVC", problem.sign, problem.weight, {})
        if raw.beta @ problem.sign < 0:  # LIBSVM may call either class +1
            raw = LoopResult(-raw.beta, raw.iterations, raw.converged)
    elif problem.is_nu_svm:
        raw = _run_nu_svm(problem, run)
    elif problem.mass is not None:
        size = problem.mass - problem.fixed_mass
        share = min(size / problem.total_penalty, 1.0)
        raw = run("NuSVR", problem.level, problem.high, {"nu": share}, start_rows=share * n)
    elif problem.has_kink and total == 0.0:
        raw = run("SVR", problem.level, problem.high, {"epsilon": float(np.mean(problem.tube))})
    elif not problem.has_kink and is_libsvm_problem(problem) and not problem.low.any():
        share = total / float(problem.high.sum())
        raw = run("OneClassSVM", np.zeros(n), problem.high, {"nu": share}, start_rows=share * n)
    else:
        raw = _run_shifted(problem, run, total)
    has_tube = problem.is_nu_svr and total == 0.0
    if has_tube and float(np.abs(raw.beta).sum()) < (1.0 - MASS_TOL) * (problem.mass or 0.0):
        problem = problem.with_tube(0.0)  # (KDUAL.8): no tube is needed
    at_end = KINK_TOL * (problem.high - problem.low)  # distance that counts as 0: ν was rounded down
    beta = np.where(problem.high - raw.beta <= at_end, problem.high, raw.beta)
    beta = np.where(beta - problem.low <= at_end, problem.low, beta)
    return LoopResult(problem.make_feasible(beta), raw.iterations, raw.converged)


def _run_nu_svm(problem: KernelDual, run: _LibsvmRun) -> LoopResult:
    """Run the loop on a ν-SVM, and scale its α to Σα = m: LIBSVM returns α/ρ."""
    assert problem.mass is not None
    share = min(problem.mass / problem.total_penalty, 1.0)
    raw = run("NuSVC", problem.sign, problem.weight, {"nu": share}, start_rows=share * problem.n)
    alpha = np.abs(raw.beta)
    total = float(alpha.sum())
    scale = problem.mass / total if 0.0 < total < np.inf else 1.0
    return LoopResult(problem.sign * alpha * scale, raw.iterations, raw.converged)


def _run_shifted(problem: KernelDual, run: _LibsvmRun, total: float) -> LoopResult:
    """Run the loop on (KLOOP.2) with a Gram matrix, given Σβ = e as `total`."""
    n = problem.n
    middle = 0.5 * (problem.low + problem.high)
    target = problem.level - run.data @ middle if middle.any() else problem.level
    total = total - float(middle.sum())
    half = 0.5 * (problem.high - problem.low)
    if not total and run.gamma is not None:
        return run("SVR", target, half, {"epsilon": 0.0})
    extended = np.zeros((n + 1, n + 1))
    extended[:n, :n] = run.data
    max_gradient = float(np.abs(target).max()) + float(np.abs(run.data).max()) * float(half.sum())
    extended_run = _LibsvmRun(extended, None, run.tol, run.max_iter, run.clock, run.settings)
    targets = np.append(target, -np.sign(total) * EXTRA_TARGET * max_gradient)
    raw = extended_run("SVR", targets, np.append(half, abs(total)), {"epsilon": float(np.mean(problem.tube))})
    return LoopResult(middle + raw.beta[:n], raw.iterations, raw.converged)


class _LibsvmRun:
    """Runs of the loop on the same data, within the same limits."""

    def __init__(
        self, data: FloatArray, gamma: float | None, tol: float, max_iter: int | None, clock: Clock,
        settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.data = data
        self.gamma = gamma
        self.tol = tol
        self.clock = clock
        self.max_iter = max_iter or MAX_ITERATIONS
        self.settings = settings

    def __call__(
        self, kind: str, target: FloatArray, upper: FloatArray, settings: dict[str, Any], start_rows: float = 0.0
    ) -> LoopResult:
        """Run the loop on one of LIBSVM's machines, by the name of its class in scikit-learn, with bounds `upper` (n,).

        start_rows: The rows that LIBSVM's own start makes nonzero, 0 if it starts at 0.
        """
        n = len(target)
        first_upper = float(upper[0])
        has_equal_bounds = bool((upper == first_upper).all())
        unit = 1.0
        # a one-class machine and a ν-SVM have no C: their β are in units of the largest bound
        if kind == "NuSVC":
            unit = float(upper.max())
            upper = upper / unit
        elif has_equal_bounds and kind == "OneClassSVM":
            unit = first_upper
        if "nu" in settings:  # rounding must not make the largest feasible ν infeasible
            settings = {"nu": settings["nu"] * (1.0 - n * EPS)}
        if has_equal_bounds and kind in ("SVC", "SVR", "NuSVR"):
            settings = {**settings, "C": first_upper}
        raw = self._run_within_limits(
            kind, target, np.empty(0) if has_equal_bounds else upper, self._complete_settings(settings, n, unit),
            start_rows if start_rows > 0.0 else 0.0,  # NaN if a mass and its bounds overflow
        )  # fmt: skip
        return LoopResult(unit * raw.beta, raw.iterations, raw.converged)

    def _complete_settings(self, settings: dict[str, Any], n: int, unit: float) -> dict[str, Any]:
        """Add the kernel, the tolerance in units of β, and the cache to the settings of a machine."""
        if self.gamma is not None:
            kernel = "rbf"
            cache_size = CACHE_MEGABYTES
        else:
            kernel = "precomputed"
            cache_size = min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6)
        return {
            **settings, "kernel": kernel, "gamma": self.gamma or 0.0, "tol": self.tol / unit, "cache_size": cache_size,
            "shrinking": True, **self.settings,
        }  # fmt: skip

    def _run_within_limits(
        self, kind: str, target: FloatArray, weights: FloatArray, settings: dict[str, Any], start_rows: float
    ) -> LoopResult:
        """Run the loop within the time limit and the limit of iterations."""
        n = len(target)
        width = None if self.gamma is None else self.data.shape[1]
        data = np.ascontiguousarray(self.data, dtype=np.float64)
        return run_within_time(
            partial(_fit_libsvm, kind, data, target, weights, settings),
            self.max_iter,
            partial(bound_iterations, n=n, width=width, start_rows=start_rows),
            lambda: LoopResult(np.zeros(n), 0, False),
            self.clock,
        )


def bound_iterations(
    seconds: float, n: int, width: int | None, cache: float = CACHE_MEGABYTES, start_rows: float = 0.0
) -> int:
    """Return a number of iterations that surely fits into a time.

    The loop runs on a Gram matrix, or on samples with `width` features. It first computes `start_rows` rows of K, one
    per nonzero entry of its start. Each iteration reads two rows, and evaluates those not in the cache of `cache`
    megabytes; if all rows fit there, none is evaluated twice. At the end the loop may evaluate as many again, for
    shrunk rows.
    """
    reading = ITERATION_SECONDS + ENTRY_SECONDS * n
    evaluating = 0.0
    if width is not None:
        evaluating = (EVALUATION_SECONDS + FEATURE_SECONDS * width) * n
    seconds -= start_rows * (reading + evaluating)
    n_iterations = seconds / (reading + 4.0 * evaluating)
    if 4e-6 * n * n <= cache:
        n_iterations = max(n_iterations, (seconds - 2.0 * evaluating * n) / reading)
    return max(int(n_iterations), 0)


def _fit_libsvm(
    kind: str, data: FloatArray, target: FloatArray, weights: FloatArray, settings: dict[str, Any], max_iter: int
) -> LoopResult:
    """Run the loop of scikit-learn's class of this name."""
    import sklearn

    model = build_silent_class(kind)(max_iter=max_iter, **settings)
    sample_weight = weights if len(weights) else None
    arguments = (data,) if kind == "OneClassSVM" else (data, target)
    try:
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            model.fit(*arguments, sample_weight=sample_weight)
    except ValueError as error:
        raise FloatingPointError(str(error)) from error
    beta = np.zeros(len(target))
    beta[model.support_] = model.dual_coef_[0]
    is_finished = model.fit_status_ == 0 and len(beta) > 0
    return LoopResult(beta, int(np.add.reduce(model.n_iter_, axis=None)), is_finished)


@cache
def build_silent_class(name: str) -> Any:
    """Build a subclass of one of scikit-learn's SVMs without `ConvergenceWarning`; its status is checked instead.

    Filtering the warning is not thread-safe: `warnings.catch_warnings` in one thread changes the filters of all others,
    and may leave them changed.
    """
    from sklearn.svm import _classes  # not sklearn.svm, whose names `patch_sklearn` may have taken

    def ignore_status(self: Any) -> None:
        """Do not warn."""

    return type(name, (getattr(_classes, name),), {"_warn_from_fit_status": ignore_status, "__module__": __name__})
