"""Estimate what a backend needs before it can start: memory, and the seconds of a set-up that cannot be stopped.

| over                  | n × n matrices                      | rows of samples (linear kernels)         |
|-----------------------|-------------------------------------|------------------------------------------|
| bytes                 | 8 m n²                              | 8 (c (z + n) + k²),  k = min(n, d)       |
| seconds of the set-up | of K, and s₂ n² + s₃ n³             | z (r₁ + r₂ k)                            |

n rows, d features, z nonzero entries. Each backend has its measured m and c (`Memory`); the seconds are the same for
all: those of OSQP and CVXPY, measured on one core. They only decide which backends may start under a time limit, so
that a factor of two does not matter. Backends that check their clock need no set-up but the Gram matrix.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Literal, NamedTuple

from qpsvm.space.kernels.gram import estimate_kernel_seconds

Form = Literal["dual", "primal"]
#: s₂ and s₃: a dense matrix becomes a sparse one, and is factored as such (QDLDL).
SQUARE, CUBE = 1.5e-7, 2.5e-10
#: r₁ and r₂: the same of rows.
ENTRY, COLUMN = 2e-7, 6.5e-9


class Size(NamedTuple):
    """n rows of d features, with entries that are not zero; whether the kernel is linear.

    `samples`: of how many samples the rows are combinations, as pairs are; 0 where each row is a sample.
    """

    rows: int
    features: int
    entries: int
    is_linear: bool
    samples: int = 0

    @property
    def gram_seconds(self) -> float:
        """Seconds of all kernel values; 0 for a linear machine, which needs no Gram matrix."""
        n = self.samples or self.rows
        return 0.0 if self.is_linear else estimate_kernel_seconds(n * n, self.features)


class Memory(NamedTuple):
    """How many n × n matrices a backend holds at a time on either form; and how many copies of a linear machine's rows.

    copies: inf where it makes the Gram matrix of a linear machine, too.
    """

    dual: float
    primal: float
    copies: float = math.inf

    def bound_bytes(self, size: Size, form: Form) -> float:
        """Bound the memory that it holds, besides what is in use already."""
        n, matrices = size.rows, self.dual if form == "dual" else self.primal
        if self.uses_rows(size, form):
            return 8.0 * (self.copies * (size.entries + n) + min(n, size.features) ** 2)
        if size.samples and form == "primal":  # in the coordinates L of K = LLᵀ, (samples, samples)
            k = size.samples
            return 8.0 * (matrices * k**2 + (0.0 if math.isinf(self.copies) else self.copies) * (k + 1) * n)
        return 8.0 * matrices * n**2

    def uses_rows(self, size: Size, form: Form) -> bool:
        """Return whether it holds samples and no n × n matrix: linear primals, and duals of more rows than features."""
        narrow = form == "primal" or 2 * size.features < size.rows
        return size.is_linear and narrow and not math.isinf(self.copies)

    def setup_seconds(self, size: Size, form: Form) -> float:
        """Estimate the seconds of a set-up that cannot be stopped, without the Gram matrix."""
        if self.uses_rows(size, form):
            return size.entries * (ENTRY + COLUMN * min(size.rows, size.features))
        n = size.samples if size.samples and form == "primal" else size.rows
        return SQUARE * n**2 + CUBE * n**3


@dataclass(frozen=True)
class LazyImport:
    """A module that the first use of a backend imports, the bytes that it maps, and its seconds where they matter."""

    module: str
    mapped_bytes: float
    seconds: float = 0.0

    @property
    def is_loaded(self) -> bool:
        """Whether it is imported already."""
        return self.module in sys.modules


@dataclass(frozen=True)
class Requirements:
    """Time and memory that a backend needs to start.

    seconds: Until the solver first looks at its clock.
    memory_bytes: Memory at the most, besides what there is already.
    mapped_bytes: Bytes of address space that its imports take, besides; they count only where that is limited.
    """

    seconds: float
    memory_bytes: float
    mapped_bytes: float = 0.0


__all__ = ["Form", "LazyImport", "Memory", "Requirements", "Size"]
