"""Kernels: functions, blocks of their values, the Gram matrix, and the samples in feature space.

The functions are what users need; the rest is imported from its own module.
"""

from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid, UserKernel
from qpsvm.space.kernels.kernel_registry import as_kernel

__all__ = ["RBF", "Kernel", "Linear", "Polynomial", "Precomputed", "Sigmoid", "UserKernel", "as_kernel"]
