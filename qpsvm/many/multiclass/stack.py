"""Stack the rows of many machines, so that one NumPy operation serves all (`Stack`, `stack_machines`).

`MachineGram` is the Gram matrix of the rows of one machine: a part of a matrix that all machines share (`SharedGram`),
rows that are computed on demand (`CachedRowGram`), or products of samples (`LinearGram`).
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
        has the rows of two classes, and c = 1 if it has all rows.
    row_offsets (P + 1,): Index of the first row of each machine, and M.
    sign, upper, curvature (M,): The label y = ±1 of each row, the upper bound U of its α, and its curvature δ.
    nu (P,) or None: The sum of the α of each ν-SVM; None for other machines.
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
        """Number of rows of the largest machine, as a float: the most terms of a sum, for bounds of its error."""
        return float(self.row_counts.max())

    def get_row_slice(self, p: int) -> slice:
        """Return the slice of machine p in vectors (M,)."""
        return slice(int(self.row_offsets[p]), int(self.row_offsets[p + 1]))

    @cached_property
    def row_counts(self) -> IntArray:
        """Number of rows of each machine: (P,)."""
        return np.diff(self.row_offsets)

    def take_machine(self, p: int) -> Stack:
        """Return the stack of machine p alone."""
        part = self.get_row_slice(p)
        one = slice(p, p + 1)
        return Stack(
            self.slice_starts[one],
            self.slice_lengths[one],
            self.row_offsets[p : p + 2] - self.row_offsets[p],
            self.sign[part],
            self.upper[part],
            self.curvature[part],
            nu=None if self.nu is None else self.nu[one],
            level=None if self.level is None else self.level[part],
        )

    def list_slices(self, p: int) -> tuple[slice, ...]:
        """Return the slices of `Split.order` that are the rows of machine p."""
        starts_and_lengths = zip(self.slice_starts[p].tolist(), self.slice_lengths[p].tolist(), strict=True)
        return tuple(slice(start, start + length) for start, length in starts_and_lengths)

    @cached_property
    def positions(self) -> IntArray:
        """Position in `Split.order` of each row: (M,)."""
        return _concatenate_slices(self.slice_starts, self.slice_lengths)

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


def _concatenate_slices(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the indices in the slices of these starts and lengths, (P, c) each, one slice after the other."""
    lengths = lengths.ravel()
    ends = np.cumsum(lengths)
    indices: IntArray = np.arange(ends[-1]) + np.repeat(starts.ravel() - (ends - lengths), lengths)
    return indices


def stack_machines(split: Split, upper: FloatArray) -> Stack:
    """Stack the rows of the machines of a split, with the bounds U = `upper` (r,) of the rows of `Split.order`.

    If the rows are not sorted by class, every machine has to use all of them.
    """
    offsets = split.class_offsets
    n_machines = len(split.pairs)
    if split.is_sorted and split.pairs[0, 1] != REST:
        starts = offsets[split.pairs]
        lengths = offsets[split.pairs + 1] - starts
        sign = np.repeat(np.tile([-1.0, 1.0], n_machines), lengths.ravel())
    else:
        starts = np.zeros((n_machines, 1), dtype=np.intp)
        lengths = np.full((n_machines, 1), offsets[-1])
        sign = np.concatenate([split.locate_rows(p)[1] for p in range(n_machines)])
    row_offsets = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])
    return Stack(
        starts, lengths, row_offsets, sign, upper[_concatenate_slices(starts, lengths)], curvature=np.zeros(len(sign))
    )


def compute_penalties(split: Split) -> FloatArray:
    """Return C_i times the weight of the rows of `Split.order`, (r,); rounded down if they are the bounds U.

    Raises QPSVMError.
    """
    C = check_penalties(split.template.parameters.get("C", 1.0), TrainingSamples(split.X, split.weight, split.weight))
    if split.template.machine == "SquaredHinge":  # its α have no upper bounds
        return multiply(C, split.weight)[split.order]
    return round_all_down(multiply_exactly(split.weight, np.broadcast_to(C, split.weight.shape)))[0][split.order]


def to_squared_hinges(stack: Stack) -> Stack:
    """Return a stack of squared hinges, without upper bounds and with δ = 1/(2C), from a stack with U = C."""
    return replace(stack, curvature=0.5 / stack.upper, upper=np.full(len(stack.upper), np.inf))


def to_nu_svms(stack: Stack, nu: float) -> Stack:
    """Return a stack of ν-SVMs from a stack whose U are the sample weights.

    U is the share of each weight in the sum over its machine, and ν is at most what the classes of a machine permit.
    """
    upper = np.empty_like(stack.upper)
    nu_max = np.empty(stack.n_machines)
    has_equal_weights = bool((stack.upper == stack.upper[0]).all())
    cache: dict[tuple[int, ...], tuple[FloatArray, float]] = {}  # equal weights and class sizes give equal results
    for p, lengths in enumerate(map(tuple, stack.slice_lengths.tolist())):
        part = stack.get_row_slice(p)
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
        self.positions = np.concatenate([np.arange(rows.start, rows.stop) for rows in slices])

    @property
    def max_rank(self) -> int:
        """Upper bound of the rank of K."""
        return len(self.positions)

    @abstractmethod
    def compute_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return K[rows][:, columns], (r, c)."""

    @abstractmethod
    def multiply_support(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Return K[:, support] beta: (m,)."""


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
        positions = self.positions[support]
        return np.concatenate([beta @ self.K[positions, columns] for columns in self.slices])


class CachedRowGram(MachineGram):
    """Rows of a Gram matrix, computed when they are needed, and cached.

    cached_rows (c, m): The rows that have been computed.
    cache_index (m,): The index of each row in `cached_rows`, or −1.
    """

    def __init__(self, gram: Operator, slices: tuple[slice, ...]) -> None:
        super().__init__(slices)
        self.gram = gram
        self.cached_rows = np.empty((0, len(self.positions)))
        self.cache_index = np.full(len(self.positions), -1)

    def _cache_rows(self, rows: IntArray) -> IntArray:
        """Compute the rows that are missing; return the indices of all of them in `cached_rows`."""
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
        """Multiply by all cached rows, with 0 outside the support: copying those of the support would take longer."""
        index = self._cache_rows(support)
        weights = np.zeros(len(self.cached_rows))
        weights[index] = beta
        return np.asarray(weights @ self.cached_rows)


class LinearGram(MachineGram):
    """Products of samples Z (r, d) of a linear kernel; `w` (d,) is Σ beta_j z_j of the last `multiply_support`."""

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
        """Store w = Σ beta_j z_j, and multiply the samples by it."""
        self.w = beta @ self.Z[self.positions[support]]
        return np.concatenate([self.Z[rows] @ self.w for rows in self.slices])
