"""Build the kernel that an estimator's parameter `kernel` describes, or evaluate it if it is a Python function.

`build_kernel` converts a name to a `Kernel` with numbers as parameters, by scikit-learn's rules for γ. A function is
evaluated by `evaluate_kernel` and `evaluate_diagonal`; its matrix is then a precomputed kernel.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples

from qpsvm.base.arrays.rounding import SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid, UserKernel
from qpsvm.space.kernels.kernel import check_kernel_values, compute_variance
from qpsvm.space.kernels.psd_rule import check_range

#: Smallest γ, also used for gamma=0 and degree=0: it makes all kernel values equal, but 1/γ does not overflow.
MIN_GAMMA = SMALLEST_NORMAL
#: Number of samples for which `evaluate_diagonal` evaluates a kernel matrix.
DIAGONAL_ROWS = 64


def build_kernel(estimator: Any, X: Matrix) -> Kernel:
    """Build the kernel of an estimator over the samples of its fit, with numbers as parameters."""
    kernel = estimator.kernel
    if isinstance(kernel, Kernel):
        return kernel.resolve(X)
    if callable(kernel) or kernel == "precomputed":
        return Precomputed()
    if kernel == "linear":
        return Linear()
    gamma = max(compute_gamma(estimator.gamma, X), MIN_GAMMA)
    if kernel == "poly":
        return Polynomial(estimator.degree, gamma, estimator.coef0) if estimator.degree else RBF(MIN_GAMMA)  # K = 1
    return RBF(gamma) if kernel == "rbf" else Sigmoid(gamma, estimator.coef0)


def compute_gamma(gamma: Any, X: Matrix) -> float:
    """Compute γ by scikit-learn's rules: "scale" is 1/(d var(X)), or 1 if the variance is 0; "auto" is 1/d."""
    d: int = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    variance = float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else compute_variance(X))
    return 1.0 / (d * variance) if variance > 0.0 else 1.0


def evaluate_kernel(kernel: Any, X: Any, Z: Any) -> FloatArray:
    """Evaluate a user's kernel function on two sets of samples: (m, n). Raises DataError, DataTypeError."""
    name = f"the kernel {UserKernel(kernel)}"
    values = kernel(X, Z)
    if sp.issparse(values):
        values = values.toarray()
    elif isinstance(values, np.ndarray) and values.dtype.kind == "O":
        with suppress(TypeError, ValueError):  # scikit-learn takes numbers that are stored as objects
            values = values.astype(np.float64)
    K = check_kernel_values(values, name, (_num_samples(X), _num_samples(Z)))
    check_range(K, name)
    return K


def evaluate_diagonal(kernel: Any, X: Any) -> FloatArray:
    """Evaluate K(x, x) of a user's function, a few samples at a time: (m,). Raises DataError, DataTypeError."""
    batches = (X[i : i + DIAGONAL_ROWS] for i in range(0, _num_samples(X), DIAGONAL_ROWS))
    return np.concatenate([evaluate_kernel(kernel, batch, batch).diagonal() for batch in batches])
