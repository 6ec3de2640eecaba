"""LIBSVM's compiled loop over samples of several classes: every machine of one class against one, in a single call."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.backends.packages import installed_version
from qpsvm.qp.solution import Solver
from qpsvm.solvers.kernel.libsvm import GRAM_CACHE_MEGABYTES, compiled_loop


def available() -> bool:
    """Whether the compiled loop is there, and answers rightly."""
    return compiled_loop() is not None


def solver() -> Solver:
    """Who solved, for the record."""
    return Solver("libsvm", installed_version("scikit-learn") or "?", "converged, then the exact split")


def fit_classes(
    data: FloatArray, codes: IntArray, upper: FloatArray, tol: float, linear: bool, most: int
) -> tuple[IntArray, FloatArray, IntArray]:
    """Run the loop of all machines, each until no pair of rows violates its condition by more than tol, or a limit.

    Parameters
    ----------
    data : ndarray, shape (n, d) or (n, n)
        Samples of a linear kernel, or a Gram matrix; C-ordered float64.
    codes : ndarray of int, shape (n,)
        The class of each sample, from 0 to k − 1.
    upper : ndarray, shape (n,)
        U.
    tol : float
        In units of the margin.
    linear : bool
        Which of the two `data` is.
    most : int
        Iterations of a machine.

    Returns
    -------
    support : ndarray of int, shape (s,)
        The samples with α > 0 in any machine.
    alpha : ndarray, shape (k − 1, s)
        Of a sample of class i, its α against class j: in row j where j < i, else in row j − 1.
    iterations : ndarray of int, shape (k (k − 1)/2,)
        Of (0, 1), (0, 2), …
    """
    n = len(data)
    common = bool((upper == upper[0]).all())
    out = compiled_loop()(
        data, codes.astype(np.float64), svm_type=0, kernel="linear" if linear else "precomputed", gamma=0.0,
        C=float(upper[0]) if common else 1.0, sample_weight=np.empty(0) if common else upper, tol=tol,
        cache_size=min(GRAM_CACHE_MEGABYTES, 50.0 + n * n * 4e-6), max_iter=most,
        class_weight=np.empty(0), shrinking=1, probability=0, random_seed=0,
    )  # fmt: skip
    return out[0], np.abs(out[3]), np.asarray(out[8], dtype=np.intp).ravel()
