"""What a solve will cost before it is begun: the seconds in which nothing can stop it, all its seconds, and its memory.

| n × n matrices           | rows A of samples as coordinates (linear kernels) |
|--------------------------|---------------------------------------------------|
| seconds s₂ n² + s₃ n³    | seconds z (p + q k),  k = min(n, d)               |
| bytes 8 m n²             | bytes 8 (m z + k²)                                |

n rows, d features, z entries that are not zero. The constants are medians of measurements on one core of an AVX-512
machine, for RBF and linear C-SVMs of 500 to 20 000 rows; degenerate data take some solvers ten times as long. They
decide what is worth beginning, so a factor of two does not matter.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

#: Non-zeros a second of a sparse product, beside the entries of a dense one.
SPARSE_FACTOR = 20.0
#: Samples a feature from which classes overlap, and what that costs a method that works on the Gram matrix.
CROWDED, CROWDED_FACTOR = 2.5, 10.0
#: Seconds of a kernel value, and of each feature in it.
VALUE_SECONDS, FEATURE_SECONDS = 7e-9, 1e-10
#: Seconds of a multiplication in a product of matrices.
PRODUCT_SECONDS = 2.5e-11
#: Bytes that the first import of a package maps.
IMPORTS = {"osqp": 3e8, "cvxopt": 5e8, "cvxpy": 1.2e9, "libsvm": 4e8, "kernel_newton": 4e8}
#: Seconds that it takes, where that is much.
IMPORT_SECONDS = {"cvxpy": 1.0}
#: Bytes that LIBSVM caches of a Gram matrix: it does not look whether it gets them.
LIBSVM_CACHE = 2e8
#: Rows from which cvxopt keeps a low rank, and up to which the kernel engines keep the whole Gram matrix.
STRUCTURED_ROWS, GRAM_ROWS = 2000, 2000
#: Products with P that dual_ascent makes before its first step, and rows up to which P is kept for them.
ASCENT_PRODUCTS, KEPT_ROWS = 15, 10_000


@dataclass(frozen=True)
class Size:
    """What a cost follows from: n rows of d features, entries that are not zero, whether sparse, whether linear."""

    rows: int
    features: int
    entries: int
    sparse: bool
    linear: bool

    @property
    def weighed(self) -> float:
        """The entries, a sparse one as so many dense ones as it takes the time of."""
        return self.entries * (SPARSE_FACTOR if self.sparse else 1.0)

    @property
    def kernel_seconds(self) -> float:
        """Seconds of one row of kernel values."""
        return self.rows * (VALUE_SECONDS + FEATURE_SECONDS * self.features)


@dataclass(frozen=True)
class Cost:
    """An estimate.

    Attributes
    ----------
    setup : float
        Seconds until the solver first looks at its clock.
    seconds : float
        Until it ends by itself.
    bytes : float
        Memory at the most, besides what there is already.
    """

    setup: float
    seconds: float
    bytes: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.setup + other.setup, self.seconds + other.seconds, self.bytes + other.bytes)


@dataclass(frozen=True)
class Matrices:
    """Dense methods: s₂ and s₃ of the set-up, s₃ of the whole, and m, matrices of n² numbers."""

    square: float
    cube: float
    total: float
    count: float

    def cost(self, n: int) -> Cost:
        """For n rows."""
        setup = self.square * n**2 + self.cube * n**3
        return Cost(setup, self.square * n**2 + self.total * n**3, 8.0 * self.count * n**2)


@dataclass(frozen=True)
class Rows:
    """Methods on the samples: p and q of the set-up and of the whole, and m, copies of the samples."""

    setup: tuple[float, float]
    total: tuple[float, float]
    count: float

    def cost(self, size: Size) -> Cost:
        """For samples of that size."""
        k = min(size.rows, size.features)
        setup, seconds = (size.entries * (p + q * k) for p, q in (self.setup, self.total))
        return Cost(setup, seconds, 8.0 * (self.count * (size.entries + size.rows) + k**2))


#: The dual over a Gram matrix.
DUAL = {
    "osqp": Matrices(1.5e-7, 2.5e-10, 1.5e-9, 6.0),
    "cvxpy": Matrices(5e-7, 2.5e-10, 9e-10, 18.0),
    "interior_point": Matrices(1.5e-8, 3e-11, 2e-10, 7.5),
    "cvxopt": Matrices(6e-8, 4e-11, 3.5e-10, 4.5),
    "slsqp": Matrices(1e-7, 1.4e-9, 3e-8, 12.5),
}
#: The primal over coordinates L of K = LLᵀ, which are n × n, the factorisation included.
PRIMAL = {
    "osqp": Matrices(1.5e-7, 6e-10, 4e-9, 10.0),
    "cvxpy": Matrices(5e-7, 1.8e-9, 1e-8, 20.0),
    "interior_point": Matrices(1.5e-8, 2e-10, 1.5e-9, 13.0),
    "cvxopt": Matrices(6e-8, 4e-9, 3.5e-8, 19.0),
    "slsqp": Matrices(1e-7, 1.2e-8, 2.4e-7, 100.0),
    "subgradient": Matrices(1.5e-8, 1.3e-10, 1.3e-10, 5.5),
}
#: Either form of a linear machine with more rows than features.
LINEAR = {
    "osqp": Rows((2e-7, 6.5e-9), (1.2e-4, 6.5e-9), 20.0),
    "cvxpy": Rows((1.4e-6, 1e-8), (3e-6, 1e-7), 40.0),
    "interior_point": Rows((2e-7, 3e-10), (4e-8, 6e-10), 4.0),
    "cvxopt": Rows((1e-7, 1e-9), (3e-6, 2e-8), 10.0),
    "subgradient": Rows((2.5e-7, 0.0), (2.5e-5, 0.0), 5.0),
    "dual_ascent": Rows((3e-8, 0.0), (2e-5, 0.0), 1.0),
    "augmented_lagrangian": Rows((1e-9, 0.0), (1e-9, 0.0), 1.0),
}


def cost(backend: str, form: Literal["dual", "primal"], size: Size) -> Cost:
    """What a backend will cost on a form of a problem of that size; nothing where that is not known.

    Seconds of linear machines are those by which `choice` ranks the backends.
    """
    found = _cost(backend, form, size)
    if backend in IMPORT_SECONDS and backend not in sys.modules:
        found += Cost(IMPORT_SECONDS[backend], IMPORT_SECONDS[backend], 0.0)
    ranked = _ranked(backend, form, size)
    seconds = found.seconds if ranked is None else ranked
    return Cost(min(found.setup, seconds), seconds, found.bytes)


def import_bytes(backend: str, module: str) -> float:
    """What the first import of a backend's module maps; nothing where it is there already."""
    return 0.0 if module in sys.modules else IMPORTS.get(backend, 0.0)


def _cost(backend: str, form: str, size: Size) -> Cost:
    n, values = size.rows, size.kernel_seconds * size.rows
    if backend in ("kernel_newton", "libsvm"):  # they stop themselves
        if size.linear and backend == "kernel_newton":
            gram = n * n * VALUE_SECONDS + n * PRODUCT_SECONDS * size.weighed
            return Cost(gram, gram, 20.0 * n**2)
        whole = 16.0 * min(n, GRAM_ROWS) ** 2
        return Cost(0.0, values, whole + min(8.0 * n**2, LIBSVM_CACHE))
    if backend == "dual_ascent" and not size.linear:
        streamed = values * (1.0 if n <= KEPT_ROWS else ASCENT_PRODUCTS)
        return Cost(streamed, 100.0 * streamed, 8.0 * n**2 if n <= KEPT_ROWS else 0.0)
    if size.linear and _low_rank(backend, form, size):
        return LINEAR[backend].cost(size) if backend in LINEAR else Cost(0.0, 0.0, 0.0)
    if size.linear and form == "primal" and backend in LINEAR and backend != "cvxopt":
        return LINEAR[backend].cost(size)
    table = DUAL if form == "dual" else PRIMAL
    found = table[backend].cost(n) if backend in table else Cost(0.0, 0.0, 0.0)
    return found if size.linear else found + Cost(values, values, 0.0)


def _low_rank(backend: str, form: str, size: Size) -> bool:
    """Whether a backend keeps the samples of a linear machine instead of making an n × n matrix."""
    if backend in ("augmented_lagrangian", "subgradient", "dual_ascent"):
        return True
    if backend == "slsqp" or (backend == "cvxopt" and (form == "primal" or size.rows < STRUCTURED_ROWS)):
        return False
    return 2 * size.features < size.rows


def _ranked(backend: str, form: str, size: Size) -> float | None:
    """Seconds on a linear machine, as the table in `choice` says them; None where it does not."""
    if not size.linear:
        return None
    n, d, z = size.rows, size.features, size.weighed
    if backend == "augmented_lagrangian":
        return 5e-3 + 8e-9 * z + 1e-9 * min(n, 3000) * d * size.entries / n
    if backend == "interior_point":
        return 2e-3 + 8e-7 * n + 20.0 * n * d * (2e-9 + 3e-11 * d)
    if backend == "kernel_newton":
        return (CROWDED_FACTOR if n > CROWDED * d else 1.0) * (1e-3 + n * n * 2e-8 + n * PRODUCT_SECONDS * z)
    if backend == "cvxopt" and form == "dual":
        return 2e-3 + 6e-11 * n**3 + n * PRODUCT_SECONDS * z
    return None


__all__ = ["Cost", "Size", "cost", "import_bytes"]
