"""Estimate what a backend needs to start: memory, and the time of a set-up that cannot be interrupted.

| over                  | n × n matrices                      | rows of samples (linear kernels)         |
|-----------------------|-------------------------------------|------------------------------------------|
| bytes                 | 8 m n²                              | 8 (c (z + n) + k²),  k = min(n, d)       |
| seconds of the set-up | of K, and s₂ n² + s₃ n³             | z (r₁ + r₂ k)                            |

n rows, d features, z nonzero entries. Each backend has its own measured m and c (`Memory`); the time constants are the
same for all: those of OSQP and CVXPY, measured on one core. They only decide which backends may start under a time
limit, so a factor of two does not matter. Backends that check their clock have no set-up except the Gram matrix.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Literal, NamedTuple

from qpsvm.space.kernels.gram import estimate_kernel_seconds

Form = Literal["dual", "primal"]
#: s₂ and s₃ in seconds: a dense matrix is converted to a sparse one and factorised as such (QDLDL).
SQUARE, CUBE = 1.5e-7, 2.5e-10
#: r₁ and r₂ in seconds: the same for rows of samples.
ENTRY, COLUMN = 2e-7, 6.5e-9


class Size(NamedTuple):
    """Size of a machine: rows, features and nonzero entries of its data, and whether the kernel is linear.

    `samples`: number of samples that the rows are combinations of, as in ranking by pairs; 0 if each row is a sample.
    """

    rows: int
    features: int
    entries: int
    is_linear: bool
    samples: int = 0

    @property
    def gram_seconds(self) -> float:
        """Estimated seconds for all kernel values; 0 for a linear machine, which needs no Gram matrix."""
        n = self.samples or self.rows
        if self.is_linear:
            return 0.0
        return estimate_kernel_seconds(n * n, self.features)


class Memory(NamedTuple):
    """Peak memory of a backend, in units of the data.

    dual, primal: Number of n × n matrices of float64 that it holds at once for each form.
    copies: Number of copies of a linear machine's rows (8 bytes per nonzero entry); inf if it builds the Gram matrix
        of a linear machine as well.
    """

    dual: float
    primal: float
    copies: float = math.inf

    def bound_bytes(self, size: Size, form: Form) -> float:
        """Bound the bytes that it allocates in addition to those already in use."""
        n = size.rows
        matrices = self.dual if form == "dual" else self.primal
        if self.uses_rows(size, form):
            return 8.0 * (self.copies * (size.entries + n) + min(n, size.features) ** 2)
        if size.samples and form == "primal":  # in the coordinates L of K = LLᵀ, (samples, samples)
            k = size.samples
            return 8.0 * (matrices * k**2 + (0.0 if math.isinf(self.copies) else self.copies) * (k + 1) * n)
        return 8.0 * matrices * n**2

    def uses_rows(self, size: Size, form: Form) -> bool:
        """Return whether it stores rows and no n × n matrix: for linear primals, and duals with few features."""
        has_few_features = form == "primal" or 2 * size.features < size.rows
        return size.is_linear and has_few_features and not math.isinf(self.copies)

    def setup_seconds(self, size: Size, form: Form) -> float:
        """Estimate the seconds of a set-up that cannot be interrupted, excluding the Gram matrix."""
        if self.uses_rows(size, form):
            return size.entries * (ENTRY + COLUMN * min(size.rows, size.features))
        n = size.samples if size.samples and form == "primal" else size.rows
        return SQUARE * n**2 + CUBE * n**3


@dataclass(frozen=True)
class LazyImport:
    """A module that the first use of a backend imports.

    mapped_bytes: Address space that the import maps.
    seconds: Duration of the import, if it matters.
    """

    module: str
    mapped_bytes: float
    seconds: float = 0.0

    @property
    def is_loaded(self) -> bool:
        """Whether the module has been imported already."""
        return self.module in sys.modules


@dataclass(frozen=True)
class Requirements:
    """Time and memory that a backend needs to start.

    seconds: Time until the solver first checks its clock.
    memory_bytes: Peak memory, in addition to what is in use already.
    mapped_bytes: Additional address space for its imports; relevant only if address space is limited.
    """

    seconds: float
    memory_bytes: float
    mapped_bytes: float = 0.0


__all__ = ["Form", "LazyImport", "Memory", "Requirements", "Size"]
