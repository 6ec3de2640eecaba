"""LIBSVM's compiled loop over samples of several classes: every machine of one class against one, in a single call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qpsvm.backends.external.packages import installed_version
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.program.solution import Solver
from qpsvm.solvers.kernel.libsvm import GRAM_CACHE_MEGABYTES, compiled_loop


class Loop(NamedTuple):
    """What the loop is told of the kernel: "linear" or "rbf" of samples, or "precomputed"."""

    name: str
    gamma: float = 0.0


def available() -> bool:
    """Whether the compiled loop is there, and answers rightly."""
    return compiled_loop() is not None


def solver() -> Solver:
    """Who solved, for the record."""
    return Solver("libsvm", installed_version("scikit-learn") or "?", "converged, then the exact split")


def fit_classes(
    data: FloatArray, codes: IntArray, upper: FloatArray, tol: float, kernel: Loop, most: int, nu: float | None = None
) -> tuple[IntArray, FloatArray, IntArray] | None:
    """Run the loop of all machines, each until no pair of rows violates its condition by more than tol, or a limit.

    Shapes: data (n, d), codes (n,), upper (n,) → support (s,), alpha (k − 1, s), iterations (k (k − 1)/2,).
    """
    n = len(data)
    common = bool((upper == upper[0]).all())
    settings: dict[str, Any] = {
        "svm_type": 0, "C": float(upper[0]) if common else 1.0, "sample_weight": np.empty(0) if common else upper,
    }  # fmt: skip
    if nu is not None:  # the largest ν that is feasible must not look infeasible by rounding
        settings |= {"svm_type": 1, "C": 1.0, "nu": nu * (1.0 - n * float(np.finfo(float).eps))}
    try:
        out = compiled_loop()(
            data, codes.astype(np.float64), kernel=kernel.name, gamma=kernel.gamma, tol=tol,
            cache_size=min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6), max_iter=most, class_weight=np.empty(0),
            shrinking=1, probability=0, random_seed=0, **settings,
        )  # fmt: skip
    except ValueError:
        return None
    return out[0], np.abs(out[3]), np.asarray(out[8], dtype=np.intp).ravel()
