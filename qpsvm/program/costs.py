"""What a solve will cost, estimated before it is begun: its set-up, which nothing can stop; all its time; its memory.

| n × n matrices           | rows A of samples as coordinates (linear kernels) |
|--------------------------|---------------------------------------------------|
| seconds s₂ n² + s₃ n³    | seconds z (p + q k),  k = min(n, d)               |
| bytes 8 m n²             | bytes 8 (m z + k²)                                |

n rows, d features, z entries that are not zero. Each backend states its own constants, in these forms or others. They
are medians of measurements on one core of an AVX-512 machine, for RBF and linear C-SVMs of 500 to 20 000 rows;
degenerate data take some solvers ten times as long. They decide what is worth beginning, so a factor of two does not
matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

#: How many times as long an entry takes in a sparse product as in a dense one.
SPARSE_FACTOR = 20.0
#: Seconds of a kernel value, and of each feature in it.
VALUE_SECONDS, FEATURE_SECONDS = 7e-9, 1e-10
#: Rows of a linear machine up to which it matters how large C is.
FEW_ROWS = 150
#: Seconds of a multiplication in a product of matrices.
PRODUCT_SECONDS = 2.5e-11
#: Most columns for which the Newton systems of linear machines are factored. Beyond, a factor costs more than some
#: hundred products with the rows.
FACTORED_COLUMNS = 1500
#: Seconds of a run of the compiled loop, of a number in a pass, and the numbers that a row's own work is worth.
RUN, NUMBER, ROW = 3e-4, 1e-9, 16
#: Passes, whole ones that those of few rows add up to: where columns are not few, so many rows for each; else at least
#: so many, and more with how far a row's α can move its own margin, up to a reach beyond which they lead nowhere.
WIDE_PASSES, ROWS_PER_COLUMN, LEAST_PASSES, REACH_PASSES, MOST_REACH = 60.0, 4, 10.0, 5.0, 15.0
#: Seconds of the Newton steps: of a call; of their passes, for each number in X; of their systems, for each number in
#: at most so many rows and each column; where there are too many columns for a factor, for each number.
CALL, PASS, STEP, STEP_ROWS, WIDE = 4e-3, 1e-8, 1e-9, 3000, 2e-6
#: The share of it that they take where every loss is a square: Newton's own steps, some five.
SMOOTH = 0.3


@dataclass(frozen=True)
class Cost:
    """An estimate.

    setup: Seconds until the solver first looks at its clock.
    seconds: Until it ends by itself.
    bytes: Memory at the most, besides what there is already.
    mapped: Bytes of address space that its imports take, besides; they count only where that is limited.
    """

    setup: float
    seconds: float
    bytes: float
    mapped: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.setup + other.setup, self.seconds + other.seconds, self.bytes + other.bytes, self.mapped + other.mapped
        )

    def lasting(self, seconds: float) -> Cost:
        """The same with another estimate of all its seconds."""
        return Cost(min(self.setup, seconds), seconds, self.bytes, self.mapped)


class Size(NamedTuple):
    """What a cost follows from: n rows of d features, entries that are not zero; whether sparse, linear, no slack.

    `reach` is how far a row's α can move its own margin, Ū (of a squared loss 1/δ) times the mean of ‖x_i‖²: where it
    is small, most α end at a bound, and loops over single α are done soon. Infinite where it is not known. `stakes` is
    ΣC_i in units of 1/κ, κ the mean of K_ii, for a linear machine of few rows, and 0 for others: where it is large,
    LIBSVM's loop takes long however few the rows are. `homogeneous`: the margin level is a variable, as in a ν-SVM.
    `samples`: of how many samples the rows are combinations, as pairs are; 0 where each row is a sample. `smooth`:
    every loss is a square.
    """

    rows: int
    features: int
    entries: int
    sparse: bool
    linear: bool
    hard: bool = False
    reach: float = float("inf")
    stakes: float = 0.0
    homogeneous: bool = False
    samples: int = 0
    smooth: bool = False

    @property
    def weighed(self) -> float:
        """The entries, weighed by their time: a sparse one counts as several dense ones."""
        return self.entries * (SPARSE_FACTOR if self.sparse else 1.0)

    @property
    def low_rank(self) -> bool:
        """Whether the Gram matrix of a linear machine is better kept as the samples themselves."""
        return self.linear and 2 * self.features < self.rows

    @property
    def gram_seconds(self) -> float:
        """Seconds of all kernel values."""
        n = self.samples or self.rows
        return n * n * (VALUE_SECONDS + FEATURE_SECONDS * self.features)

    @property
    def coordinates(self) -> Size:
        """The rows of a machine over combinations of samples in the coordinates L of K = LLᵀ: linear and dense."""
        return Size(self.rows, self.samples, self.rows * self.samples, sparse=False, linear=True)

    @property
    def gram(self) -> Cost:
        """What the Gram matrix of another kernel costs a solver that needs it whole."""
        return Cost(self.gram_seconds, self.gram_seconds, 0.0)


@dataclass(frozen=True)
class Matrices:
    """Dense methods: s₂ and s₃ of the set-up, s₃ of the whole solve, and m, the number of n × n matrices."""

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
    """Methods on the samples: p and q of the set-up, p and q of the whole solve, and m, the number of copies."""

    setup: tuple[float, float]
    total: tuple[float, float]
    count: float

    def cost(self, size: Size) -> Cost:
        """For samples of that size."""
        k = min(size.rows, size.features)
        setup, seconds = (size.entries * (p + q * k) for p, q in (self.setup, self.total))
        return Cost(setup, seconds, 8.0 * (self.count * (size.entries + size.rows) + k**2))


@dataclass(frozen=True)
class General:
    """Methods for any QP.

    dual: Over a Gram matrix.
    primal: Over the coordinates L of K = LLᵀ, an n × n matrix; the factorisation is included.
    rows: Linear machines: the primal, and the dual with more rows than features.
    """

    dual: Matrices
    primal: Matrices
    rows: Rows

    def cost(self, size: Size, form: Literal["dual", "primal"]) -> Cost:
        """For a form of a machine of that size."""
        if size.low_rank or (size.linear and form == "primal"):
            return self.rows.cost(size)
        if size.samples and form == "primal":
            return self.primal.cost(size.samples) + self.rows.cost(size.coordinates) + size.gram
        return self.matrices(size, form)

    def matrices(self, size: Size, form: Literal["dual", "primal"]) -> Cost:
        """The same for dense matrices, whatever their rank."""
        found = (self.dual if form == "dual" else self.primal).cost(size.rows)
        return found if size.linear else found + size.gram


@dataclass(frozen=True)
class Import:
    """A module that the first use of a backend imports, the bytes that it maps, and its seconds where they matter."""

    module: str
    bytes: float
    seconds: float = 0.0

    @property
    def cost(self) -> Cost:
        """What it costs the first time."""
        return Cost(self.seconds, self.seconds, 0.0, self.bytes)


def newton_seconds(n: int, d: int, entries: int, smooth: bool) -> float:
    """Seconds that Newton steps take from the beginning, for n rows of d columns with so many numbers."""
    if d > min(FACTORED_COLUMNS, n):
        return CALL + WIDE * entries
    seconds = CALL + PASS * entries + STEP * min(n, STEP_ROWS) * d * entries / max(n, 1)
    return SMOOTH * seconds if smooth else seconds


def is_wide(n: int, d: int) -> bool:
    """Whether there are columns enough for coordinate descent to end soon whatever C is."""
    return n <= ROWS_PER_COLUMN * d


def descent_seconds(n: int, d: int, entries: int, reach: float) -> float:
    """The same of coordinate descent, where the mean of C‖(x, 1)‖² is `reach`; infinite where it leads nowhere."""
    wide = is_wide(n, d)
    passes = WIDE_PASSES if wide else LEAST_PASSES + REACH_PASSES * reach
    return RUN + NUMBER * (entries + ROW * n) * passes if wide or reach <= MOST_REACH else math.inf


__all__ = ["Cost", "General", "Import", "Matrices", "Rows", "Size"]
