"""Stack the rows of many machines, so that one NumPy operation serves all.

Inner products between the rows of one machine: read off a Gram matrix that all machines share, or from samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.base.arrays.frozen import multiply
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
    """The rows of P machines, M in all.

    begins, counts (P, c): The rows of each machine are c slices of `Split.order`: of a pair, those of two classes.
    ends (P + 1,): Where the rows of each begin, and where the last ones end.
    sign, upper, curvature (M,): y, U and δ.
    nu (P,) or None: The sum of α, of ν-SVMs.
    level (M,) or None: ℓ, where it is not the margin of the machine.
    """

    begins: IntArray
    counts: IntArray
    ends: IntArray
    sign: FloatArray
    upper: FloatArray
    curvature: FloatArray
    nu: FloatArray | None = None
    level: FloatArray | None = None

    @property
    def n_machines(self) -> int:
        """Number of machines, P."""
        return len(self.begins)

    def row_slice(self, p: int) -> slice:
        """Return the slice of the rows of a machine."""
        return slice(int(self.ends[p]), int(self.ends[p + 1]))

    @cached_property
    def lengths(self) -> IntArray:
        """Number of rows of each machine: (P,)."""
        return np.diff(self.ends)

    def take_machine(self, p: int) -> Stack:
        """Return the stack of machine p alone."""
        part, one = self.row_slice(p), slice(p, p + 1)
        nu = None if self.nu is None else self.nu[one]
        ends = self.ends[p : p + 2] - self.ends[p]
        return Stack(
            self.begins[one], self.counts[one], ends, self.sign[part], self.upper[part], self.curvature[part], nu
        )

    def slices(self, p: int) -> tuple[slice, ...]:
        """Return the slices of the rows of a machine in `Split.order`."""
        both = zip(self.begins[p].tolist(), self.counts[p].tolist(), strict=True)
        return tuple(slice(begin, begin + count) for begin, count in both)

    @cached_property
    def places(self) -> IntArray:
        """The place in `Split.order` of each row: (M,)."""
        counts = self.counts.ravel()
        ends = np.cumsum(counts)
        found: IntArray = np.arange(ends[-1]) + np.repeat(self.begins.ravel() - (ends - counts), counts)
        return found

    def sums(self, values: FloatArray) -> FloatArray:
        """The sum over each machine, (P,), of values (M,)."""
        return np.add.reduceat(values, self.ends[:-1])

    def largest(self, values: FloatArray) -> FloatArray:
        """The largest value of each machine, (P,), of values (M,)."""
        found: FloatArray = np.maximum.reduceat(values, self.ends[:-1])
        return found

    def repeat_over_rows(self, values: FloatArray) -> FloatArray:
        """Repeat a value of each machine, (P,), over all of its rows: (M,)."""
        return np.repeat(values, self.lengths)


def stack_machines(split: Split, penalties: FloatArray) -> Stack:
    """Stack the rows of the machines of a split, for U (r,) over its `order`; all rows for each if unsorted."""
    ends = split.ends
    first = split.pairs[:, 0]
    if not split.sorted:
        begins, counts = np.zeros((len(first), 1), dtype=np.intp), np.full((len(first), 1), ends[-1])
        sign = np.concatenate([split.places(p)[1] for p in range(len(first))])
    elif split.pairs[0, 1] == REST:
        begins, counts = np.zeros((split.k, 1), dtype=np.intp), np.full((split.k, 1), ends[-1])
        parts = np.column_stack([ends[first], ends[first + 1] - ends[first], ends[-1] - ends[first + 1]])
        sign = np.repeat(np.tile([-1.0, 1.0, -1.0], split.k), parts.ravel())
    else:
        begins = ends[split.pairs]
        counts = ends[split.pairs + 1] - begins
        sign = np.repeat(np.tile([-1.0, 1.0], len(first)), counts.ravel())
    stack = Stack(begins, counts, np.concatenate([[0], np.cumsum(counts.sum(axis=1))]), sign, sign, np.zeros(len(sign)))
    return replace(stack, upper=penalties[stack.places])


def compute_penalties(split: Split) -> FloatArray:
    """Return C_i s_i of the rows of `Split.order`, (r,): rounded down if they are upper bounds, like U of a problem.

    Raises QPSVMError.
    """
    C = check_penalties(split.parameters.get("C", 1.0), TrainingSamples(split.X, split.weight, split.weight))
    if split.machine == "SquaredHinge":
        return multiply(C, split.weight)[split.order]
    return round_all_down(multiply_exactly(split.weight, np.broadcast_to(C, split.weight.shape)))[0][split.order]


def to_squared_hinges(stack: Stack) -> Stack:
    """Return the stack for squared hinges, where U are the penalties C: δ = 1/(2C), and no bound."""
    return replace(stack, curvature=0.5 / stack.upper, upper=np.full(len(stack.upper), np.inf))


def to_nu_svms(stack: Stack, nu: float) -> Stack:
    """Return the stack for ν-SVMs: U, the weights, become shares, and ν at most what the classes permit."""
    upper, most = np.empty_like(stack.upper), np.empty(stack.n_machines)
    alike = bool((stack.upper == stack.upper[0]).all())
    known: dict[tuple[int, ...], tuple[FloatArray, float]] = {}
    for p, counts in enumerate(map(tuple, stack.counts.tolist())):
        part = stack.row_slice(p)
        if not alike or len(counts) == 1 or counts not in known:  # equal weights make equal shares
            s = stack.upper[part]
            shares = round_all_down(from_floats(s, 1 / sum_floats(s)))[0]
            known[counts] = shares, float(compute_nu_max(s, stack.sign[part]))
        upper[part], most[p] = known[counts]
    return replace(stack, upper=upper, nu=np.minimum(nu, most))


class StackKernel(ABC):
    """K over the rows of a machine, m of them.

    parts: Where these rows are among all.
    """

    def __init__(self, parts: tuple[slice, ...]) -> None:
        self.parts = parts
        self.places = np.concatenate([np.arange(part.start, part.stop) for part in parts])

    @property
    def rank(self) -> int:
        """The most that the rank of K may be."""
        return len(self.places)

    @abstractmethod
    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """K[rows][:, columns], (r, c)."""

    @abstractmethod
    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Σ_j beta_j K(x_j, x_i) over j in `support` for every row: (m,)."""


class GramValues(StackKernel):
    """Of a Gram matrix over all rows, (r, r)."""

    def __init__(self, K: FloatArray, parts: tuple[slice, ...]) -> None:
        super().__init__(parts)
        self.K = K

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Gathered."""
        found: FloatArray = self.K[self.places[rows][:, None], self.places[columns]]
        return found

    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Return Kβ over a support, class by class."""
        chosen = self.places[support]
        return np.concatenate([beta @ self.K[chosen, part] for part in self.parts])


class RowValues(StackKernel):
    """Of a kernel's matrix, (r, r), of which only the rows that are asked for are made, and kept."""

    def __init__(self, gram: Operator, parts: tuple[slice, ...]) -> None:
        super().__init__(parts)
        self.gram, self.made = gram, np.empty((0, len(self.places)))
        self.index = np.full(len(self.places), -1)

    def _rows(self, rows: IntArray) -> IntArray:
        """Return the indices of some rows in `made`, computing those that are missing."""
        missing = rows[self.index[rows] < 0]
        if len(missing):
            self.index[missing] = len(self.made) + np.arange(len(missing))
            self.made = np.concatenate([self.made, self.gram.block(self.places[missing], self.places)])
        return self.index[rows]

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Read off rows."""
        index = self._rows(rows)
        found: FloatArray = self.made[index[:, None], columns]
        return found

    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Return Kβ over a support, as one sum."""
        index = self._rows(support)
        weights = np.zeros(len(self.made))  # of rows that were made for others, too: to copy some takes longer
        weights[index] = beta
        return np.asarray(weights @ self.made)


class LinearValues(StackKernel):
    """Of samples of a linear kernel, (r, d); `w` is that of the last product."""

    def __init__(self, Z: FloatArray, parts: tuple[slice, ...]) -> None:
        super().__init__(parts)
        self.Z, self.w = Z, np.zeros(Z.shape[1])

    @property
    def rank(self) -> int:
        """Not more than there are features."""
        return min(len(self.places), int(self.Z.shape[1]))

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """By a product of samples."""
        found: FloatArray = self.Z[self.places[rows]] @ self.Z[self.places[columns]].T
        return found

    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Through w = Σ beta_j z_j."""
        self.w = beta @ self.Z[self.places[support]]
        return np.concatenate([self.Z[part] @ self.w for part in self.parts])
