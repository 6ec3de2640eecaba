"""Stack the rows of many machines, so that one NumPy operation serves all (`Stack`, `stack_machines`).

`MachineGram` is the Gram matrix of the rows of one machine: a part of a matrix that all machines share (`SharedGram`),
rows computed on demand (`CachedRowGram`), or products of samples (`LinearGram`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.rationals import from_floats, multiply_exactly, round_all_down, sum_floats
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.nu_svm import compute_nu_max
from qpsvm.machines.problem.penalties import check_penalties
from qpsvm.many.multiclass.split import REST, Split
from qpsvm.space.operators import Operator

#: Largest number of rows of all machines for which their vectors are concatenated in memory.
MAX_TOTAL_ROWS = 2_000_000


@dataclass(frozen=True, eq=False)
class Stack:
    """The rows of P machines, one machine after the other, M in total.

    slice_starts, slice_lengths (P, c): The rows of each machine are c slices of `Split.order`; c = 2 if each machine
        has the rows of two classes.
    row_offsets (P + 1,): Index of the first row of each machine, and M.
    sign, upper, curvature (M,): The label y of each row, the upper bound U of its α, and its curvature δ.
    nu (P,) or None: The sum that the α of a ν-SVM have; None for other machines.
    level (M,) or None: The margin ℓ of each row; None if all rows of a machine have the same.
    """

    slice_starts: IntArray
    slice_lengths: IntArray
    row_offsets: IntArray
    sign: FloatArray
    upper: FloatArray
    curvature: FloatArray
    nu: FloatArray | None = None
    level: FloatArray | None = None

    @property
    def n_machines(self) -> int:
        """Number of machines, P."""
        return len(self.slice_starts)

    @property
    def max_row_count(self) -> float:
        """Number of rows of the largest machine, as a float; an error bound of a sum of so many terms holds for all."""
        return float(self.row_counts.max())

    def row_slice(self, p: int) -> slice:
        """Return the slice of the rows of a machine."""
        return slice(int(self.row_offsets[p]), int(self.row_offsets[p + 1]))

    @cached_property
    def row_counts(self) -> IntArray:
        """Number of rows of each machine: (P,)."""
        return np.diff(self.row_offsets)

    def take_machine(self, p: int) -> Stack:
        """Return the stack of machine p alone."""
        part = self.row_slice(p)
        one = slice(p, p + 1)
        nu = None if self.nu is None else self.nu[one]
        ends = self.row_offsets[p : p + 2] - self.row_offsets[p]
        return Stack(
            self.slice_starts[one],
            self.slice_lengths[one],
            ends,
            self.sign[part],
            self.upper[part],
            self.curvature[part],
            nu,
        )

    def list_slices(self, p: int) -> tuple[slice, ...]:
        """Return the slices of `Split.order` that are the rows of a machine."""
        starts_and_lengths = zip(self.slice_starts[p].tolist(), self.slice_lengths[p].tolist(), strict=True)
        return tuple(slice(start, start + length) for start, length in starts_and_lengths)

    @cached_property
    def positions(self) -> IntArray:
        """Position in `Split.order` of each row: (M,)."""
        lengths = self.slice_lengths.ravel()
        ends = np.cumsum(lengths)
        positions: IntArray = np.arange(ends[-1]) + np.repeat(self.slice_starts.ravel() - (ends - lengths), lengths)
        return positions

    def sum_by_machine(self, values: FloatArray) -> FloatArray:
        """Return the sum of values (M,) over the rows of each machine: (P,)."""
        return np.add.reduceat(values, self.row_offsets[:-1])

    def maximise_by_machine(self, values: FloatArray) -> FloatArray:
        """Return the largest of values (M,) over the rows of each machine: (P,)."""
        maxima: FloatArray = np.maximum.reduceat(values, self.row_offsets[:-1])
        return maxima

    def repeat_over_rows(self, values: FloatArray) -> FloatArray:
        """Repeat the value of each machine, (P,), over all of its rows: (M,)."""
        return np.repeat(values, self.row_counts)


def stack_machines(split: Split, penalties: FloatArray) -> Stack:
    """Stack the rows of the machines of a split, with U = `penalties` (r,) for the rows of `Split.order`.

    If the rows are not sorted by class, every machine has to use all of them.
    """
    offsets = split.class_offsets
    first = split.pairs[:, 0]
    n_machines = len(first)
    if split.is_sorted and split.pairs[0, 1] != REST:
        starts = offsets[split.pairs]
        lengths = offsets[split.pairs + 1] - starts
        sign = np.repeat(np.tile([-1.0, 1.0], n_machines), lengths.ravel())
    else:
        starts = np.zeros((n_machines, 1), dtype=np.intp)
        lengths = np.full((n_machines, 1), offsets[-1])
        sign = np.concatenate([split.locate_rows(p)[1] for p in range(n_machines)])
    row_offsets = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])
    stack = Stack(starts, lengths, row_offsets, sign, upper=sign, curvature=np.zeros(len(sign)))
    return replace(stack, upper=penalties[stack.positions])


def compute_penalties(split: Split) -> FloatArray:
    """Return C_i times the weight of the rows of `Split.order`, (r,).

    They are rounded down if they are upper bounds, as U of a problem is. Raises QPSVMError.
    """
    C = check_penalties(split.template.parameters.get("C", 1.0), TrainingSamples(split.X, split.weight, split.weight))
    if split.template.machine == "SquaredHinge":
        return multiply(C, split.weight)[split.order]
    return round_all_down(multiply_exactly(split.weight, np.broadcast_to(C, split.weight.shape)))[0][split.order]


def to_squared_hinges(stack: Stack) -> Stack:
    """Return the stack of squared hinges, given one whose U are the penalties C: δ = 1/(2C), and no upper bounds."""
    return replace(stack, curvature=0.5 / stack.upper, upper=np.full(len(stack.upper), np.inf))


def to_nu_svms(stack: Stack, nu: float) -> Stack:
    """Return the stack of ν-SVMs, given one whose U are the sample weights.

    U become the shares of the weights in their sum, and ν at most what the two classes of a machine permit.
    """
    upper, nu_max = np.empty_like(stack.upper), np.empty(stack.n_machines)
    has_equal_weights = bool((stack.upper == stack.upper[0]).all())
    cache: dict[tuple[int, ...], tuple[FloatArray, float]] = {}  # equal weights and equal sizes give equal shares
    for p, lengths in enumerate(map(tuple, stack.slice_lengths.tolist())):
        part = stack.row_slice(p)
        if not has_equal_weights or len(lengths) == 1 or lengths not in cache:
            weights = stack.upper[part]
            shares = round_all_down(from_floats(weights, 1 / sum_floats(weights)))[0]
            cache[lengths] = shares, float(compute_nu_max(weights, stack.sign[part]))
        upper[part], nu_max[p] = cache[lengths]
    return replace(stack, upper=upper, nu=np.minimum(nu, nu_max))


class MachineGram(ABC):
    """The Gram matrix K of the rows of one machine, (m, m).

    slices: The slices of `Split.order` that are the rows of the machine.
    positions (m,): The position in `Split.order` of each row.
    """

    def __init__(self, slices: tuple[slice, ...]) -> None:
        self.slices = slices
        self.positions = np.concatenate([np.arange(part.start, part.stop) for part in slices])

    @property
    def max_rank(self) -> int:
        """Upper bound of the rank of K."""
        return len(self.positions)

    @abstractmethod
    def compute_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return K[rows][:, columns], (r, c)."""

    @abstractmethod
    def multiply_support(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Return Σ_j beta_j K(x_j, x_i) over j in `support`, for every row i: (m,)."""


class SharedGram(MachineGram):
    """A part of a Gram matrix K of all rows, (r, r)."""

    def __init__(self, K: FloatArray, slices: tuple[slice, ...]) -> None:
        super().__init__(slices)
        self.K = K

    def compute_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Copy the entries from the shared matrix."""
        block: FloatArray = self.K[self.positions[rows][:, None], self.positions[columns]]
        return block

    def multiply_support(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Multiply by the rows of the support, one slice at a time."""
        chosen = self.positions[support]
        return np.concatenate([beta @ self.K[chosen, part] for part in self.slices])


class CachedRowGram(MachineGram):
    """Rows of a Gram matrix, computed when they are needed, and cached.

    cached_rows (c, m): The rows that have been computed.
    cache_index (m,): The index of each row in `cached_rows`, or −1.
    """

    def __init__(self, gram: Operator, slices: tuple[slice, ...]) -> None:
        super().__init__(slices)
        self.cached_rows = np.empty((0, len(self.positions)))
        self.gram = gram
        self.cache_index = np.full(len(self.positions), -1)

    def _cache_rows(self, rows: IntArray) -> IntArray:
        """Return the indices of some rows in `cached_rows`, computing those that are missing."""
        missing = rows[self.cache_index[rows] < 0]
        if len(missing):
            self.cache_index[missing] = len(self.cached_rows) + np.arange(len(missing))
            new_rows = self.gram.block(self.positions[missing], self.positions)
            self.cached_rows = np.concatenate([self.cached_rows, new_rows])
        return self.cache_index[rows]

    def compute_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Copy the entries from the cached rows."""
        index = self._cache_rows(rows)
        block: FloatArray = self.cached_rows[index[:, None], columns]
        return block

    def multiply_support(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Multiply by all cached rows, those outside the support with weight 0: to copy some of them takes longer."""
        index = self._cache_rows(support)
        weights = np.zeros(len(self.cached_rows))
        weights[index] = beta
        return np.asarray(weights @ self.cached_rows)


class LinearGram(MachineGram):
    """Products of samples Z (r, d) of a linear kernel; `w` (d,) is that of the last `multiply_support`."""

    def __init__(self, Z: FloatArray, slices: tuple[slice, ...]) -> None:
        super().__init__(slices)
        self.Z = Z
        self.w = np.zeros(Z.shape[1])

    @property
    def max_rank(self) -> int:
        """Upper bound of the rank of K: the number of rows or of features."""
        return min(len(self.positions), int(self.Z.shape[1]))

    def compute_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Multiply the samples of the rows by those of the columns."""
        block: FloatArray = self.Z[self.positions[rows]] @ self.Z[self.positions[columns]].T
        return block

    def multiply_support(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Multiply the samples by w = Σ beta_j z_j."""
        self.w = beta @ self.Z[self.positions[support]]
        return np.concatenate([self.Z[part] @ self.w for part in self.slices])
