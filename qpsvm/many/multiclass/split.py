"""Split samples of several classes into binary machines: rows, signs and problem of each (`Split`).

The rows that take part are kept in the order of their classes, so that those of a class are one slice; those that no
machine copies are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import machines as problems
from qpsvm.base.arrays.frozen import repeat_value
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, InfeasibleNuError, ParameterError
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select_rows
from qpsvm.data.samples import check_weights
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import restrict_parameter
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.gram import CACHE_ROWS, KernelGram
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.kernels.space import FeatureSpace

#: Rows up to which machines that are solved one by one share a Gram matrix. Of more, a pair looks at a part of its own
#: values only, and to copy those out of the matrix of all takes longer than to make them.
MAX_SHARED_ROWS_PAIRS, MAX_SHARED_ROWS_REST = 1500, CACHE_ROWS
#: The class that a machine of one against all others is against.
REST = -1
#: Rows up to which pairs of classes share one Gram matrix: 200 MB, as much as LIBSVM keeps by default.
MAX_SHARED_ROWS_BULK = 5000


@dataclass(frozen=True, eq=False)
class Split:
    """Binary machines over samples of several classes.

    X (n, d): Of a precomputed kernel, the (n, n) matrix.
    codes (n,): The class of each sample, from 0 on.
    labels (k,): What the classes are called, in sort order.
    pairs (P, 2): As `BinaryMachines.machines`.
    machine: The name of the class of each problem.
    parameters: Its own.
    kernel: Every parameter of it is a number.
    weight (n,): A sample of weight 0 takes no part.
    is_sorted: Whether rows are in the order of their classes; those of a source never are.
    """

    X: Matrix | RowSource
    codes: IntArray
    labels: NDArray[Any]
    pairs: IntArray
    machine: str
    parameters: Mapping[str, Any]
    kernel: Kernel
    weight: FloatArray
    psd: PSDRule = "raise"
    intercept: str | None = "free"
    constraints: Any = None
    is_sorted: bool = True
    space_cache: dict[str, FeatureSpace] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Number of samples, those of weight 0 included."""
        return len(self.codes)

    @property
    def is_out_of_memory(self) -> bool:
        """Whether the samples are not in memory, so that machines share them and copy none."""
        return isinstance(self.X, RowSource)

    def _select_samples(self, rows: IntArray) -> Matrix | RowSource:
        """Return some of the samples; X itself if they are all, in order."""
        if len(rows) == self.n and not self.is_sorted:
            return self.X
        return select_rows(self.X, rows) if isinstance(self.X, RowSource) else self.X[rows]

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @cached_property
    def order(self) -> IntArray:
        """The rows that take part, class after class where they are sorted: (r,)."""
        taking = np.flatnonzero(self.weight > 0.0)
        return taking[np.argsort(self.codes[taking], kind="stable")] if self.is_sorted else taking

    @cached_property
    def class_offsets(self) -> IntArray:
        """Start of the rows of each class in `order`, and the end of the last: (k + 1,)."""
        return np.append(0, np.bincount(self.codes[self.order], minlength=self.k).cumsum())

    def locate_rows(self, p: int) -> tuple[IntArray, FloatArray]:
        """The rows of a machine as places in `order`, and their signs: (m,) each."""
        i, j = (int(c) for c in self.pairs[p])
        if not self.is_sorted:
            codes = self.codes[self.order]
            places = np.arange(len(codes)) if j == REST else np.flatnonzero((codes == i) | (codes == j))
            return places, np.where((codes[places] == i) == (j == REST), 1.0, -1.0)
        if j == REST:
            signs = np.full(len(self.order), -1.0)
            signs[self.class_offsets[i] : self.class_offsets[i + 1]] = 1.0
            places = np.arange(len(self.order))
        else:
            first, second = (np.arange(self.class_offsets[c], self.class_offsets[c + 1]) for c in (i, j))
            places = np.concatenate([first, second])
            signs = np.repeat([-1.0, 1.0], [len(first), len(second)])
        return places, signs

    def take_labels(self, p: int, rows: IntArray) -> NDArray[Any]:
        """The two labels as a problem is given them, for some of the caller's rows: (m,)."""
        i, j = self.pairs[p]
        found: NDArray[Any] = self.codes[rows] == i if j == REST else self.labels[self.codes[rows]]
        return found

    def build_problem(self, p: int) -> Problem:
        """The problem of one machine, over its rows in the order of their classes; the Gram matrix is a shared one."""
        problem = self.build_separate_problem(p)
        self._share_gram(problem, self.locate_rows(p)[0])
        return problem

    def build_separate_problem(self, p: int) -> Problem:
        """Build the problem with a separate Gram matrix, computed on demand."""
        places, _ = self.locate_rows(p)
        rows = self.order[places]
        X: Any = self._select_samples(rows)
        if isinstance(self.kernel, Precomputed):
            X = X[:, rows]
        given: dict[str, Any] = {"kernel": self.kernel, "psd": self.psd, "constraints": self.constraints}
        given |= {name: restrict_parameter(value, self.n, rows) for name, value in self.parameters.items()}
        if (self.weight != 1.0).any():
            given["sample_weight"] = self.weight[rows]
        if self.intercept != "free":
            given["intercept"] = self.intercept
        kind: Any = find_machine_class(self.machine)
        try:
            problem: Problem = kind(X, self.take_labels(p, rows), **given)
        except InfeasibleNuError as error:
            error.add_note(f"That is of {self.describe_machine(p)}.")
            raise
        return problem

    def _share_gram(self, problem: Problem, places: IntArray) -> None:
        """Let the problem compute with its part of the Gram matrix of all rows."""
        whole = None if self.constraints or self.is_out_of_memory else self.shared_space
        if whole is None:
            return
        same = len(places) == whole.n
        part = whole if same else whole.restrict(places, problem.X)
        if part is not None:
            problem.__dict__["space"] = part

    @property
    def has_separate_grams(self) -> bool:
        """Whether there are too many rows for one shared Gram matrix; a given one always is shared."""
        given = isinstance(self.kernel, Precomputed)
        return len(self.order) > MAX_SHARED_ROWS_BULK and self.pairs[0, 1] != REST and not given

    @cached_property
    def row_counts(self) -> IntArray:
        """Number of rows of each machine: (P,)."""
        counts = np.diff(self.class_offsets)
        if self.pairs[0, 1] == REST:
            return np.full(self.k, len(self.order))
        return np.asarray(counts[self.pairs].sum(axis=1))

    @property
    def n_total_rows(self) -> int:
        """The sum of the rows of all machines."""
        return len(self.pairs) * len(self.order) if self.pairs[0, 1] == REST else (self.k - 1) * len(self.order)

    @property
    def uses_all_rows(self) -> bool:
        """Whether each machine has all active rows."""
        return len(self.pairs) == 1 or bool(self.pairs[0, 1] == REST)

    @property
    def kernel_is_linear(self) -> bool:
        """Whether w is a vector in the space of the samples."""
        return isinstance(self.kernel, Linear)

    @property
    def active_space(self) -> FeatureSpace:
        """The rows that take part, in `order`, in feature space."""
        if "whole" not in self.space_cache:
            X: Any = self._select_samples(self.order)
            X = X[:, self.order] if isinstance(self.kernel, Precomputed) else X
            self.space_cache["whole"] = FeatureSpace(self.kernel, X, self.intercept, self.psd)  # type: ignore[arg-type]
        return self.space_cache["whole"]

    @property
    def shared_space(self) -> FeatureSpace | None:
        """The rows that take part, in `order`, in feature space, their Gram matrix made; None where none is shared.

        Of a kernel that may be indefinite, each machine has its own: a part of an indefinite matrix need not be.
        """
        pairs = bool((self.pairs[:, 1] != REST).any())
        if (pairs and not self.kernel.is_psd) or len(self.order) > (
            MAX_SHARED_ROWS_PAIRS if pairs else MAX_SHARED_ROWS_REST
        ):
            return None
        space = self.active_space
        if not space.is_linear and isinstance(space.gram, KernelGram) and space.gram.cached_matrix is None:
            space.gram.dense()
        return space

    def describe_machine(self, p: int) -> str:
        """Describe a machine in words."""
        i, j = self.pairs[p]
        other = "all others" if j == REST else f"class {self.labels.tolist()[j]!r}"
        return f"class {self.labels.tolist()[i]!r} against {other}"

    def __getstate__(self) -> dict[str, Any]:
        """Without the Gram matrix, which is made again where it is needed."""
        return {**self.__dict__, "space_cache": {}}


def find_machine_class(name: str) -> type[Problem]:
    """A machine by the name of its class: one of ours, which may not have been imported yet, or one of a user's.

    Raises ParameterError.
    """
    found: Any = getattr(problems, name) if name in problems.__all__ else Problem._registered_machines.get(name)
    if isinstance(found, type) and issubclass(found, Problem) and found is not Problem:
        return found
    for each in problems.__all__:
        getattr(problems, each)  # now all of ours are there to be named
    raise ParameterError(f"there is no machine {name!r}: take one of {', '.join(sorted(Problem._registered_machines))}")


def split_classes(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    rest: bool,
    *,
    machine: str,
    parameters: Mapping[str, Any],
    kernel: Kernel,
    sample_weight: FloatArray | None,
    psd: PSDRule,
    intercept: str | None,
    constraints: Any,
) -> Split:
    """The binary machines of some samples. Raises DataError, ParameterError."""
    codes, labels = np.asarray(codes), np.asarray(labels)
    n, k = X.shape[0], len(labels)
    if k < 2:
        raise DataError(f"there must be at least two classes, got {k}")
    if codes.shape != (n,):
        raise DataError(f"there are {n} samples, and classes of {codes.shape}")
    find_machine_class(machine)
    weight = repeat_value(1.0, n) if sample_weight is None else check_weights(sample_weight, n)
    counts = np.bincount(codes[weight > 0.0], minlength=k)
    if not counts.all():
        empty = labels.tolist()[int(np.argmin(counts))]
        raise DataError(f"the weights of all samples of class {empty!r} are 0: leave it out, or give one a weight")
    pairs = [(j, REST) for j in range(k)] if rest else list(combinations(range(k), 2))
    return Split(
        X=X, codes=codes, labels=labels, pairs=np.array(pairs), machine=machine, parameters=dict(parameters),
        kernel=kernel.resolve(X), weight=weight, psd=psd, intercept=intercept, constraints=constraints,
        is_sorted=not isinstance(X, RowSource),
    )  # fmt: skip
