"""LIBSVM's loops for regression and novelty, on a Gram matrix or on X: ε-SVR, ν-SVR, one-class, and all others by them.

    (KLOOP.1)  ε-SVR takes t, ε and −C_i ≤ β_i ≤ C_i with Σβ = 0;  ν-SVR the same with Σ|β| for ε;  one-class 0 ≤ β ≤ U
    (KLOOP.2)  any other box is one of those around its middle m, where there is no kink:  β = m + β′, t′ = t − Km,  and
               Σβ′ = e − Σm by one more row that K knows nothing of, with a target beyond all others: at its bound

Compiled functions are called as in `libsvm`, after the same test, and scikit-learn's classes where it fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import Edges
from qpsvm.solvers.kernel.interval import IntervalDual
from qpsvm.solvers.kernel.libsvm import (
    CACHE_MEGABYTES,
    GRAM_CACHE_MEGABYTES,
    MOST_ITERATIONS,
    LoopResult,
    compiled_loop,
    iterations_within,
    quiet,
)
from qpsvm.solvers.shared.sliced import run_sliced
from qpsvm.solvers.shared.stopping import Clock

#: scikit-learn's names of LIBSVM's machines, and LIBSVM's numbers.
TYPES = {"OneClassSVM": 2, "SVR": 3, "NuSVR": 4}
#: The target of the row that takes what Σβ has too much, in units of the largest of all numbers that pull at a row.
BEYOND = 100.0
#: Where the loop begins with few rows inside, at most so many times as many support: few iterations are worth a slice.
SUPPORTING = 2
#: Σ|β| is less than was allowed where it is by more than this share.
LESS = 1e-6
#: ε is one number where it differs by no more than this share of the largest target: rounding of t ± ε.
SAME = 1e-9


def plain(problem: IntervalDual) -> bool:
    """Whether LIBSVM knows the problem as it stands, so that it can evaluate the kernel itself."""
    if problem.outside or problem.outside_mass:
        return False
    if problem.kinked:
        return problem.total == 0.0 and _even(problem)
    novelty = not problem.low.any() and bool((problem.target == problem.target[0]).all())
    return novelty or (problem.total == 0.0 and bool((problem.low == -problem.high).all()))


def _even(problem: IntervalDual) -> bool:
    """Whether boxes are symmetric, and ε is one number."""
    tube = problem.tube
    spread = float(tube.max() - tube.min())
    return bool((problem.low == -problem.high).all()) and spread <= SAME * float(np.abs(problem.target).max())


def interval_loop(
    problem: IntervalDual,
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

    Parameters
    ----------
    problem : IntervalDual
        With a kink only where boxes are symmetric and ε is one number.
    data : ndarray, shape (n, n) or (n, d)
        The Gram matrix; the samples where `gamma` is given and the problem is `plain`.
    most, clock, gamma, tol, verbose
        As for `libsvm_loop`.
    settings : mapping, optional
        LIBSVM's own: `shrinking`, `cache_size`.

    Returns
    -------
    LoopResult
    """
    n, run = problem.n, _Run(data, gamma, tol, most, clock or Clock(), verbose, settings or {})
    own = problem.total - problem.outside
    if problem.mass is not None:
        size = problem.mass - problem.outside_mass
        share = min(size / problem.total_penalty, 1.0)
        raw = run("NuSVR", problem.target, problem.high, {"nu": share}, begins=share * n)
    elif problem.kinked and own == 0.0:
        raw = run("SVR", problem.target, problem.high, {"epsilon": float(problem.tube.mean())})
    elif not problem.kinked and plain(problem) and not problem.low.any():
        share = own / float(problem.high.sum())
        raw = run("OneClassSVM", np.zeros(n), problem.high, {"nu": share}, begins=share * n)
    else:
        raw = _around_middle(problem, run, own)
    if problem.mass is not None and own == 0.0 and float(np.abs(raw.beta).sum()) < (1.0 - LESS) * problem.mass:
        problem = problem.at(Edges(0.0))  # (KINT.6): no tube is needed
    return LoopResult(problem.balanced(raw.beta), raw.iterations, raw.finished)


def _around_middle(problem: IntervalDual, run: _Run, own: float) -> LoopResult:
    """(KLOOP.2) over a Gram matrix."""
    n, middle = problem.n, 0.5 * (problem.low + problem.high)
    target = problem.target - run.data @ middle if middle.any() else problem.target
    own, half = own - float(middle.sum()), 0.5 * (problem.high - problem.low)
    if not own and run.gamma is not None:
        return run("SVR", target, half, {"epsilon": 0.0})
    spare = np.zeros((n + 1, n + 1))
    spare[:n, :n] = run.data
    pull = float(np.abs(target).max()) + float(np.abs(run.data).max()) * float(half.sum())
    apart = _Run(spare, None, run.tol, run.most, run.clock, run.verbose, run.settings)
    goal = np.append(target, -np.sign(own) * BEYOND * pull)
    raw = apart("SVR", goal, np.append(half, abs(own)), {"epsilon": float(problem.tube.mean())})
    return LoopResult(middle + raw.beta[:n], raw.iterations, raw.finished)


class _Run:
    """A loop on its data, within its limits."""

    def __init__(
        self, data: FloatArray, gamma: float | None, tol: float, most: int | None, clock: Clock, verbose: bool,
        settings: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.data, self.gamma, self.tol, self.clock, self.verbose = data, gamma, tol, clock, verbose
        self.most, self.settings = most or MOST_ITERATIONS, settings

    def __call__(
        self, kind: str, target: FloatArray, upper: FloatArray, settings: dict[str, Any], begins: float = 0.0
    ) -> LoopResult:
        n, largest = len(target), float(upper.max())
        begins = begins if begins > 0.0 else 0.0  # no number where a mass and its bounds overflow
        cache_megabytes = CACHE_MEGABYTES if self.gamma is not None else min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6)
        weights = np.empty(0) if (upper == largest).all() else upper / largest
        # a one-class machine knows no C: its β are in units of the largest bound
        unit, C = (largest, {}) if kind == "OneClassSVM" else (1.0, {"C": largest})
        kernel = (
            {"kernel": "precomputed", "gamma": 0.0} if self.gamma is None else {"kernel": "rbf", "gamma": self.gamma}
        )
        if "nu" in settings:  # the largest ν that is feasible must not look infeasible by rounding
            settings = {"nu": settings["nu"] * (1.0 - n * float(np.finfo(float).eps))}
        settings = {**settings, **C, **kernel, "tol": self.tol / unit, "cache_size": cache_megabytes, "shrinking": True}
        settings |= self.settings
        width = None if self.gamma is None else self.data.shape[1]
        busy = min(int(SUPPORTING * begins) + 1, n) if begins else n  # an iteration moves one of these
        raw = run_sliced(
            _fitted, (kind, np.ascontiguousarray(self.data), target, weights, settings), busy, self.most,
            lambda s: iterations_within(s, n, width, begins=begins), lambda: LoopResult(np.zeros(n), 0, False),
            self.clock, self.verbose,
        )  # fmt: skip
        return LoopResult(unit * raw.beta, raw.iterations, raw.finished)


def _fitted(
    kind: str, data: FloatArray, target: FloatArray, weights: FloatArray, settings: dict[str, Any], most: int
) -> LoopResult:
    n, beta = len(target), np.zeros(len(target))
    if compiled_loops():
        out = compiled_loop()(
            data, target, svm_type=TYPES[kind], class_weight=np.empty(0), sample_weight=weights,
            probability=0, random_seed=0, max_iter=most, **settings,
        )  # fmt: skip
        support, coefficients, finished, iterations = out[0], out[3][0], out[7] == 0, out[8]
    else:
        model = quiet(kind)(max_iter=most, **settings)
        fit = (data,) if kind == "OneClassSVM" else (data, target)
        model.fit(*fit, sample_weight=weights if len(weights) else None)
        support, coefficients = model.support_, model.dual_coef_[0]
        finished, iterations = model.fit_status_ == 0, model.n_iter_
    beta[support] = coefficients
    return LoopResult(np.nan_to_num(beta), int(np.sum(iterations)), bool(finished) and n > 0)


@cache
def compiled_loops() -> bool:
    """Whether the compiled function solves three points of each machine rightly."""
    fit = compiled_loop()
    if fit is None:
        return False
    known = {"SVR": [-0.9, 0.0, 0.9], "NuSVR": [-0.5, 0.0, 0.5], "OneClassSVM": [0.5, 0.5, 0.5]}
    more = {"SVR": {"epsilon": 0.1}, "NuSVR": {"nu": 1.0 / 3.0}, "OneClassSVM": {"nu": 0.5}}
    try:
        for kind, beta in known.items():
            out = fit(
                np.eye(3), np.array([-1.0, 0.0, 1.0]), svm_type=TYPES[kind], kernel="precomputed", C=1.0, gamma=0.0,
                tol=1e-6, cache_size=1.0, class_weight=np.empty(0), sample_weight=np.ones(3), shrinking=1,
                probability=0, random_seed=0, max_iter=-1, **more[kind],
            )  # fmt: skip
            found = np.zeros(3)
            found[out[0]] = out[3][0]
            if out[7] != 0 or not np.allclose(found, beta, atol=1e-4):
                return False
    except (TypeError, ValueError, IndexError):
        return False
    return True


__all__ = ["interval_loop", "plain"]
