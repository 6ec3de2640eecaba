"""Split samples of several classes into binary machines: rows, signs and problem of each (`split_classes`, `Split`).

There is a machine for each pair of classes, or for each class against all others. All may share one Gram matrix.

The active rows, those of positive weight, are usually sorted by class, so that the rows of a class are one slice. They
keep the caller's order if the samples need not be copied: every machine uses all of them, or they are not in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qpsvm import machines as problems
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, InfeasibleNuError, ParameterError
from qpsvm.data.labels import check_weights
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select_rows
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import restrict_parameter
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.gram import CACHE_ROWS, KernelGram
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.kernels.space import FeatureSpace

#: Active rows up to which machines that are solved one by one share a Gram matrix, for pairs of classes and for classes
#: against the rest. In larger pairs, a solver evaluates only some of the kernel values, and computing those is faster
#: than copying them from a shared matrix. The second limit is that of stored matrices in general.
MAX_SHARED_ROWS_PAIRS, MAX_SHARED_ROWS_REST = 1500, CACHE_ROWS
#: The second class of a machine that separates one class from all others.
REST = -1
#: Active rows up to which pairs that are solved in bulk share a Gram matrix: 200 MB, the default cache of LIBSVM.
MAX_SHARED_ROWS_BULK = 5000


@dataclass(frozen=True, eq=False)
class MachineTemplate:
    """The arguments that the problems of all machines share.

    machine: The Python class of the problems, by name.
    parameters: The hyperparameters of the problems.
    kernel, intercept, psd, constraints: As in the problems.
    """

    machine: str
    parameters: Mapping[str, Any]
    kernel: Kernel
    intercept: str | None = "free"
    psd: PSDRule = "raise"
    constraints: Any = None


@dataclass(frozen=True, eq=False)
class Split:
    """Binary machines over samples of several classes.

    X (n, d): The samples, or the (n, n) matrix of a precomputed kernel.
    codes (n,): The class of each sample, as an index into `labels`.
    labels (k,): The labels of the classes, in sort order.
    pairs (P, 2): The classes of each machine, as `BinaryMachines.machines`; the second is `REST` in all or in none.
    template: What the problems have in common; the parameters of its kernel are numbers.
    weight (n,): The sample weights; only samples of positive weight are active.
    is_sorted: Whether the active rows are sorted by class; those of a `RowSource` never are.
    space_cache: The feature space of the active rows, once it has been built.
    """

    X: Matrix | RowSource
    codes: IntArray
    labels: NDArray[Any]
    pairs: IntArray
    template: MachineTemplate
    weight: FloatArray
    is_sorted: bool = True
    space_cache: dict[str, FeatureSpace] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Number of samples, including those of weight 0."""
        return len(self.codes)

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def is_out_of_core(self) -> bool:
        """Whether the samples are not in memory; machines then share them instead of copying their rows."""
        return isinstance(self.X, RowSource)

    @property
    def is_one_against_rest(self) -> bool:
        """Whether each machine separates one class from all others."""
        return bool(self.pairs[0, 1] == REST)

    @cached_property
    def order(self) -> IntArray:
        """Indices of the active rows among the caller's, sorted by class if `is_sorted`: (r,)."""
        active = np.flatnonzero(self.weight > 0.0)
        if self.is_sorted:
            return active[np.argsort(self.codes[active], kind="stable")]
        return active

    @cached_property
    def class_offsets(self) -> IntArray:
        """Position in `order` of the first row of each class if sorted, and the number of rows: (k + 1,)."""
        return np.append(0, np.bincount(self.codes[self.order], minlength=self.k).cumsum())

    @property
    def has_separate_grams(self) -> bool:
        """Whether pairs solved in bulk have too many rows to share a Gram matrix; a precomputed one is shared."""
        is_precomputed = isinstance(self.kernel, Precomputed)
        return len(self.order) > MAX_SHARED_ROWS_BULK and not self.is_one_against_rest and not is_precomputed

    @cached_property
    def row_counts(self) -> IntArray:
        """Number of rows of each machine: (P,)."""
        if self.is_one_against_rest:
            return np.full(self.k, len(self.order))
        return np.asarray(np.diff(self.class_offsets)[self.pairs].sum(axis=1))

    @property
    def n_total_rows(self) -> int:
        """Number of rows of all machines in total."""
        return (len(self.pairs) if self.is_one_against_rest else self.k - 1) * len(self.order)

    @property
    def uses_all_rows(self) -> bool:
        """Whether each machine has all active rows."""
        return len(self.pairs) == 1 or self.is_one_against_rest

    @property
    def kernel(self) -> Kernel:
        """The kernel, with numbers as its parameters."""
        return self.template.kernel

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is linear."""
        return isinstance(self.kernel, Linear)

    @property
    def active_space(self) -> FeatureSpace:
        """The feature space of the active rows, in `order`."""
        if "active" not in self.space_cache:
            X: Any = self._select_samples(self.order)
            X = X[:, self.order] if isinstance(self.kernel, Precomputed) else X
            intercept: Any = self.template.intercept
            self.space_cache["active"] = FeatureSpace(self.kernel, X, intercept, self.template.psd)
        return self.space_cache["active"]

    @property
    def shared_space(self) -> FeatureSpace | None:
        """The feature space of the active rows, with a computed Gram matrix; None if machines do not share one.

        Pairs do not share a Gram matrix that may be indefinite: the part of a pair may be semidefinite nevertheless.
        """
        has_pairs = not self.is_one_against_rest
        max_rows = MAX_SHARED_ROWS_PAIRS if has_pairs else MAX_SHARED_ROWS_REST
        if (has_pairs and not self.kernel.is_psd) or len(self.order) > max_rows:
            return None
        space = self.active_space
        if not space.is_linear and isinstance(space.gram, KernelGram) and space.gram.cached_matrix is None:
            space.gram.dense()
        return space

    def locate_rows(self, p: int) -> tuple[IntArray, FloatArray]:
        """Return the positions in `order` of the rows of a machine, and their signs: (m,) each."""
        i, j = self.pairs[p].tolist()
        if not self.is_sorted:
            codes = self.codes[self.order]
            if j == REST:
                positions = np.arange(len(codes))
            else:
                positions = np.flatnonzero((codes == i) | (codes == j))
            return positions, np.where((codes[positions] == i) == (j == REST), 1.0, -1.0)
        if j == REST:
            signs = np.full(len(self.order), -1.0)
            signs[self.class_offsets[i] : self.class_offsets[i + 1]] = 1.0
            return np.arange(len(self.order)), signs
        rows_of_i, rows_of_j = (np.arange(self.class_offsets[c], self.class_offsets[c + 1]) for c in (i, j))
        return np.concatenate([rows_of_i, rows_of_j]), np.repeat([-1.0, 1.0], [len(rows_of_i), len(rows_of_j)])

    def take_labels(self, p: int, rows: IntArray) -> NDArray[Any]:
        """Return the labels that the problem of a machine has for some of the caller's rows: (m,).

        They are the labels of the two classes, or whether the class is the one that is separated from the rest.
        """
        i, j = self.pairs[p]
        labels: NDArray[Any] = self.codes[rows] == i if j == REST else self.labels[self.codes[rows]]
        return labels

    def build_problem(self, p: int) -> Problem:
        """Build the problem of one machine, whose Gram matrix is a part of a shared one if there is one."""
        problem = self.build_separate_problem(p)
        self._share_gram(problem, self.locate_rows(p)[0])
        return problem

    def build_separate_problem(self, p: int) -> Problem:
        """Build the problem of one machine with its own Gram matrix, computed on demand."""
        positions, _ = self.locate_rows(p)
        rows = self.order[positions]
        X: Any = self._select_samples(rows)
        if isinstance(self.kernel, Precomputed):
            X = X[:, rows]
        template = self.template
        arguments: dict[str, Any] = {"kernel": self.kernel, "psd": template.psd, "constraints": template.constraints}
        arguments |= {name: restrict_parameter(value, self.n, rows) for name, value in template.parameters.items()}
        if (self.weight != 1.0).any():
            arguments["sample_weight"] = self.weight[rows]
        if template.intercept != "free":
            arguments["intercept"] = template.intercept
        machine_class: Any = find_machine_class(template.machine)
        try:
            problem: Problem = machine_class(X, self.take_labels(p, rows), **arguments)
        except InfeasibleNuError as error:
            error.add_note(f"This is the machine of {self.describe_machine(p)}.")
            raise
        return problem

    def describe_machine(self, p: int) -> str:
        """Describe a machine in words."""
        i, j = self.pairs[p]
        other = "all others" if j == REST else f"class {self.labels.tolist()[j]!r}"
        return f"class {self.labels.tolist()[i]!r} against {other}"

    def _select_samples(self, rows: IntArray) -> Matrix | RowSource:
        """Return some of the samples; X itself if they are all samples, in order."""
        if len(rows) == self.n and not self.is_sorted:
            return self.X
        if isinstance(self.X, RowSource):
            return select_rows(self.X, rows)
        return self.X[rows]

    def _share_gram(self, problem: Problem, positions: IntArray) -> None:
        """Give the problem its part of the shared Gram matrix, if there is one."""
        shared = None if self.template.constraints or self.is_out_of_core else self.shared_space
        if shared is None:
            return
        space = shared if len(positions) == shared.n else shared.restrict(positions, problem.X)
        if space is not None:
            problem.__dict__["space"] = space

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the Gram matrix, which is computed again when it is needed."""
        return {**self.__dict__, "space_cache": {}}


def split_classes(
    X: Matrix | RowSource,
    codes: IntArray,
    labels: NDArray[Any],
    template: MachineTemplate,
    *,
    rest: bool,
    sample_weight: FloatArray | None = None,
) -> Split:
    """Split samples into binary machines: one for each class against all others if `rest`, else one for each pair.

    X (n, d), codes (n,), labels (k,): The samples, their classes from 0 on, and the labels of the classes.
    sample_weight (n,): The weights of the samples; None for 1.

    Raises DataError, ParameterError.
    """
    codes, labels = np.asarray(codes), np.asarray(labels)
    n = X.shape[0]
    k = len(labels)
    if k < 2:
        raise DataError(f"there must be at least two classes, got {k}")
    if codes.shape != (n,):
        raise DataError(f"there are {n} samples, but the classes have shape {codes.shape}")
    find_machine_class(template.machine)
    if sample_weight is None:
        weight = repeat_value(1.0, n)
    else:
        weight = check_weights(sample_weight, n)
    counts = np.bincount(codes[weight > 0.0], minlength=k)
    if not counts.all():
        empty = labels.tolist()[int(np.argmin(counts))]
        raise DataError(f"the weights of all samples of class {empty!r} are 0: leave it out, or give one a weight")
    if rest:
        pairs = [(j, REST) for j in range(k)]
    else:
        pairs = list(combinations(range(k), 2))
    return Split(
        X=X, codes=codes, labels=labels, pairs=np.array(pairs),
        template=replace(template, kernel=template.kernel.resolve(X)), weight=weight,
        is_sorted=not isinstance(X, RowSource),
    )  # fmt: skip


def find_machine_class(name: str) -> type[Problem]:
    """Return the Python class of a machine by name: one of the library, imported on demand, or a registered one.

    Raises ParameterError.
    """
    machines = Problem._registered_machines
    machine_class: Any = getattr(problems, name) if name in problems.__all__ else machines.get(name)
    if _has_one_function(machine_class):
        return cast("type[Problem]", machine_class)
    for machine in problems.__all__:
        getattr(problems, machine)  # imports it, so that the message can list it
    known = sorted(name for name, machine in machines.items() if _has_one_function(machine))
    raise ParameterError(f"there is no machine {name!r}: use one of {', '.join(known)}")


def _has_one_function(machine_class: Any) -> bool:
    """Return whether this is a class of machines with one decision function."""
    is_machine = isinstance(machine_class, type) and issubclass(machine_class, Problem) and machine_class is not Problem
    return is_machine and not issubclass(machine_class, problems.AllInOneProblem)
