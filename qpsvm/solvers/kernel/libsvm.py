"""Run LIBSVM's loops (SMO with second-order selection and shrinking) on a Gram matrix or on X.

    (KLOOP.1)  C-SVM takes y and 0 ≤ y∘β ≤ C;  ε-SVR takes t, ε and −C_i ≤ β_i ≤ C_i, both with Σβ = 0;  ν-SVR the same
               with Σ|β| for ε;  one-class 0 ≤ β ≤ U
    (KLOOP.2)  any other box is one of those around its middle m, where there is no kink:  β = m + β′, t′ = t − Km,  and
               Σβ′ = e − Σm by one more row that K knows nothing of, with a target beyond all others: at its bound

A loop cannot be stopped, but it ends where no pair of rows violates its condition, and none does by a gradient that
is not a number. So the child process that runs it on X is hurried by writing NaN into its copy of X: the next rows of
K spoil the gradient, two entries of α are lost, and all others come back.

scikit-learn's public classes check and copy their input for about a millisecond, more than the loop itself takes for
n ≤ 500. So its compiled function is called directly where it passes a test on a few points, and the class otherwise.
Source: Fan, Chen & Lin, *Working set selection using second order information* (2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.child_process import is_child, on_stop_request
from qpsvm.base.resources.clock import Clock
from qpsvm.solvers.kernel.dual import ON_KINK, Edges, KernelDual
from qpsvm.solvers.shared.budget import MAX_ITERATIONS
from qpsvm.solvers.shared.time_slices import AT_ONCE, run_sliced

#: scikit-learn's names of LIBSVM's machines, and LIBSVM's numbers.
TYPES = {"SVC": 0, "NuSVC": 1, "OneClassSVM": 2, "SVR": 3, "NuSVR": 4}
#: Problems whose answers the compiled function has to know: diagonal of K, targets, weights, more settings, and β.
TEST_CASES: dict[str, tuple[list[float], list[float], list[float], dict[str, float], list[float]]] = {
    "SVC": ([1, 2, 1, 2], [0, 0, 1, 1], [9, 9, 9, 0.25], {}, [0.9, 0.45, -1.1, -0.25]),
    "SVR": ([1, 1, 1], [-1, 0, 1], [1, 1, 1], {"epsilon": 0.1}, [-0.9, 0.0, 0.9]),
    "NuSVR": ([1, 1, 1], [-1, 0, 1], [1, 1, 1], {"nu": 1.0 / 3.0}, [-0.5, 0.0, 0.5]),
    "OneClassSVM": ([1, 1, 1], [-1, 0, 1], [1, 1, 1], {"nu": 0.5}, [0.5, 0.5, 0.5]),
}
#: Megabytes of kernel rows (float32) that the loop may keep when it evaluates the kernel itself: SVC's own default.
CACHE_MEGABYTES = 200.0
#: Cache for a Gram matrix that exists already: room for all its rows in float32, up to this many megabytes.
GRAM_CACHE_MEGABYTES = 1000.0
#: Seconds of an iteration, besides for each row, and of a kernel value that the loop evaluates itself, besides for each
#: feature: for turning time into iterations, so pessimistic.
ITERATION_SECONDS, ENTRY_SECONDS = 1e-7, 1e-8
EVALUATION_SECONDS, FEATURE_SECONDS = 35e-9, 1e-9
#: The target of the row that takes what Σβ has too much, in units of the largest of all numbers that pull at a row.
BEYOND = 100.0
#: Where the loop begins with few rows inside, at most so many times as many support: few iterations are worth a slice.
SUPPORTING = 2

#: Σ|β| is less than was allowed where it is by more than this share.
LESS = 1e-6


@dataclass(frozen=True, eq=False)
class LoopResult:
    """β (n,), the iterations made, whether the loop's own test was met, and u (n,) of (KDUAL.2), where it is known."""

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
        return problem.total == 0.0 and _is_symmetric(problem)
    novelty = not problem.low.any() and bool((problem.level == problem.level[0]).all())
    return novelty or (problem.total == 0.0 and bool((problem.low == -problem.high).all()))


def _is_symmetric(problem: KernelDual) -> bool:
    """Return whether boxes are symmetric and ε is one number."""
    return bool((problem.low == -problem.high).all()) and float(np.ptp(problem.tube)) == 0.0


def run_libsvm_loop(
    problem: KernelDual,
    data: FloatArray,
    most: int | None = None,
    clock: Clock | None = None,
    *,
    gamma: float | None = None,
    tol: float = 1e-3,
    verbose: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> LoopResult:
    """Run the loop until no pair of rows violates its condition by more than tol, or a limit is reached.

    Shapes: data (n, n).
    """
    n, run = problem.n, _LibsvmRun(data, gamma, tol, most, clock or Clock(), verbose, settings or {})
    own = problem.total - problem.fixed_sum
    if problem.is_standard_hinge and not own:
        raw = run("SVC", problem.sign, problem.weight, {})
        if raw.beta @ problem.sign < 0:  # which class LIBSVM calls +1 is its own affair
            raw = LoopResult(-raw.beta, raw.iterations, raw.converged)
    elif problem.is_nu_svm:
        assert problem.mass is not None
        share = min(problem.mass / problem.total_penalty, 1.0)
        raw = run("NuSVC", problem.sign, problem.weight, {"nu": share}, begins=share * n)
        alpha = np.abs(raw.beta)  # what it gives is α/ρ
        total = float(alpha.sum())
        scale = problem.mass / total if 0.0 < total < np.inf else 1.0
        raw = LoopResult(problem.sign * alpha * scale, raw.iterations, raw.converged)
    elif problem.mass is not None:
        size = problem.mass - problem.fixed_mass
        share = min(size / problem.total_penalty, 1.0)
        raw = run("NuSVR", problem.level, problem.high, {"nu": share}, begins=share * n)
    elif problem.has_kink and own == 0.0:
        raw = run("SVR", problem.level, problem.high, {"epsilon": float(np.mean(problem.tube))})
    elif not problem.has_kink and is_libsvm_problem(problem) and not problem.low.any():
        share = own / float(problem.high.sum())
        raw = run("OneClassSVM", np.zeros(n), problem.high, {"nu": share}, begins=share * n)
    else:
        raw = _run_around_middle(problem, run, own)
    tubed = problem.mass is not None and problem.has_kink and own == 0.0
    if tubed and float(np.abs(raw.beta).sum()) < (1.0 - LESS) * (problem.mass or 0.0):
        problem = problem.with_tube(Edges(0.0))  # (KDUAL.8): no tube is needed
    near = ON_KINK * (problem.high - problem.low)  # of an end: the share of a ν-machine is rounded downwards
    beta = np.where(problem.high - raw.beta <= near, problem.high, raw.beta)
    beta = np.where(beta - problem.low <= near, problem.low, beta)
    return LoopResult(problem.make_feasible(beta), raw.iterations, raw.converged)


def _run_around_middle(problem: KernelDual, run: _LibsvmRun, own: float) -> LoopResult:
    """Run (KLOOP.2) over a Gram matrix."""
    n, middle = problem.n, 0.5 * (problem.low + problem.high)
    target = problem.level - run.data @ middle if middle.any() else problem.level
    own, half = own - float(middle.sum()), 0.5 * (problem.high - problem.low)
    if not own and run.gamma is not None:
        return run("SVR", target, half, {"epsilon": 0.0})
    spare = np.zeros((n + 1, n + 1))
    spare[:n, :n] = run.data
    reduced_gradient = float(np.abs(target).max()) + float(np.abs(run.data).max()) * float(half.sum())
    apart = _LibsvmRun(spare, None, run.tol, run.most, run.clock, run.verbose, run.settings)
    goal = np.append(target, -np.sign(own) * BEYOND * reduced_gradient)
    raw = apart("SVR", goal, np.append(half, abs(own)), {"epsilon": float(np.mean(problem.tube))})
    return LoopResult(middle + raw.beta[:n], raw.iterations, raw.converged)


class _LibsvmRun:
    """A loop on its data, within its limits."""

    def __init__(
        self, data: FloatArray, gamma: float | None, tol: float, most: int | None, clock: Clock, verbose: bool,
        settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.data, self.gamma, self.tol, self.clock, self.verbose = data, gamma, tol, clock, verbose
        self.most, self.settings = most or MAX_ITERATIONS, settings

    def __call__(
        self, kind: str, target: FloatArray, upper: FloatArray, settings: dict[str, Any], begins: float = 0.0
    ) -> LoopResult:
        n, largest, own = len(target), float(upper[0]), self.gamma is not None
        begins = begins if begins > 0.0 else 0.0  # no number where a mass and its bounds overflow
        alike = bool((upper == largest).all())
        # a one-class machine and a ν-SVM know no C: their β are in units of the largest bound
        unit = 1.0
        if kind == "NuSVC":
            unit = float(upper.max())
            upper = upper / unit
        elif alike and kind == "OneClassSVM":
            unit = largest
        if "nu" in settings:  # the largest ν that is feasible must not look infeasible by rounding
            settings = {"nu": settings["nu"] * (1.0 - n * float(np.finfo(float).eps))}
        if alike and kind in ("SVC", "SVR", "NuSVR"):
            settings = {**settings, "C": largest}
        cache_size = CACHE_MEGABYTES if own else min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6)
        settings = {
            **settings, "kernel": "rbf" if own else "precomputed", "gamma": self.gamma or 0.0, "tol": self.tol / unit,
            "cache_size": cache_size, "shrinking": True, **self.settings,
        }  # fmt: skip
        width = self.data.shape[1] if own else None
        find_compiled_loop(kind)  # imported here: each child process would do it again
        busy = min(int(SUPPORTING * begins) + 1, n) if begins else n  # an iteration moves one of these
        matrix = np.ascontiguousarray(self.data, dtype=np.float64)
        data = kind, matrix, target, np.empty(0) if alike else upper, settings
        within = partial(bound_iterations, n=n, width=width, begins=begins)
        if within(min(AT_ONCE, self.clock.remaining)) >= self.most:  # as nearly always of few rows
            raw = _fit_class(*data, self.most)
        else:
            raw = run_sliced(
                _fit_class, data, busy, self.most, within, lambda: LoopResult(np.zeros(n), 0, False), self.clock,
                self.verbose, hurries=own,
            )  # fmt: skip
        return LoopResult(unit * raw.beta, raw.iterations, raw.converged)


def bound_iterations(
    seconds: float, n: int, width: int | None, cache: float = CACHE_MEGABYTES, begins: float = 0.0
) -> int:
    """Return a number of iterations that surely ends in time, over a Gram matrix or, if `width` is given, over samples.

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


def _fit_class(
    kind: str, data: FloatArray, target: FloatArray, weights: FloatArray, settings: dict[str, Any], most: int
) -> LoopResult:
    n, beta, hurried = len(target), np.zeros(len(target)), False
    apart = settings["kernel"] != "precomputed" and is_child()
    if find_compiled_loop(kind) is not None:
        if apart:
            data = data.copy()  # the parent's may lie in memory that it shares
            on_stop_request(partial(data.fill, np.nan))
        goal = (target > 0).astype(np.float64) if kind in ("SVC", "NuSVC") else target
        try:
            out = _call_compiled(find_compiled_loop(kind), kind, data, goal, weights, most, **settings)
        except ValueError as error:
            raise FloatingPointError(str(error)) from error
        support, coefficients, finished, iterations = out[0], out[3][0], out[7] == 0, out[8]
        hurried = apart and bool(np.isnan(data[0, 0]))
    else:
        import sklearn

        model, sample_weight = silence_class(kind)(max_iter=most, **settings), weights if len(weights) else None
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            model.fit(*((data,) if kind == "OneClassSVM" else (data, target)), sample_weight=sample_weight)
        support, coefficients = model.support_, model.dual_coef_[0]
        finished, iterations = model.fit_status_ == 0, model.n_iter_
    beta[support] = coefficients
    if not np.isfinite(np.add.reduce(beta)):  # of a loop that was hurried
        beta = np.nan_to_num(beta)
    made = int(np.add.reduce(iterations, axis=None))
    return LoopResult(beta, made, bool(finished) and not hurried and n > 0)


def _call_compiled(
    fit: Any, kind: str, K: FloatArray, target: FloatArray, weights: FloatArray, most: int, **more: Any
) -> Any:
    """Call the compiled function."""
    return fit(
        K, target, svm_type=TYPES[kind], class_weight=np.empty(0), sample_weight=weights, probability=0, random_seed=0,
        max_iter=most, **more,
    )  # fmt: skip


@cache
def silence_class(name: str) -> Any:
    """Build scikit-learn's `SVC` or `NuSVC` without its `ConvergenceWarning`, which the status replaces.

    To filter the warning would not do: `warnings.catch_warnings` in one thread changes what all others see, and may
    leave it changed.
    """
    from sklearn.svm import _classes  # not sklearn.svm, whose names `patch_sklearn` may have taken

    def ignore_status(self: Any) -> None:
        """Do not warn."""

    return type(name, (getattr(_classes, name),), {"_warn_from_fit_status": ignore_status, "__module__": __name__})


@cache
def find_compiled_loop(kind: str = "SVC") -> Any:
    """The compiled function behind a class, or None where it is absent or does not answer a few points rightly."""
    if kind == "NuSVC":
        return find_compiled_loop("SVC")
    diagonal, target, weights, more, beta = TEST_CASES[kind]
    try:
        from sklearn.svm import _libsvm

        _libsvm.set_verbosity_wrap(0)
        out = _call_compiled(
            _libsvm.fit, kind, np.diag(np.array(diagonal, dtype=float)), np.array(target, dtype=float),
            np.array(weights, dtype=float), -1, kernel="precomputed", C=1.0, gamma=0.0, tol=1e-6, cache_size=1.0,
            shrinking=1, **more,
        )  # fmt: skip
        found = np.zeros(len(target))
        found[out[0]], status, iterations = out[3][0], out[7], np.sum(out[8])
    except (ImportError, AttributeError, TypeError, ValueError, IndexError):
        return None
    if kind == "SVC" and found[0] < 0.0:  # which class LIBSVM calls +1 is its own affair
        found = -found
    right = status == 0 and iterations > 0 and np.allclose(found, beta, atol=1e-4)
    return _libsvm.fit if right else None
