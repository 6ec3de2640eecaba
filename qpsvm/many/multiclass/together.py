"""Combine the solutions of many binary machines, each with its certified gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.proof import Proofs
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import Caveat
from qpsvm.result.svm_result import SVMResult


@dataclass(frozen=True, eq=False)
class BinaryMachines:
    """Binary machines that were solved together.

    classes (k,): The labels in sort order.
    machines (P, 2): (i, j) with i < j if class j is separated from class i, or (j, −1) if class j is separated from all
        others; in both cases f > 0 means class j.
    coef (P, n): α_i y_i of the caller's rows, sparse.
    b (P,): Intercepts: f = Σ coef_i K(x_i, ·) + b.
    rho (P,): The margins of ν-SVMs, relative to which f is large or small; 1 for other machines.
    w (P, d) or None: The weight vectors if the kernel is linear, Σ coef_i x_i, rounded; the gap is that of these.
    gap (P,): The certified relative gap of each machine, rounding included.
    status: The certified status of each machine.
    iterations (P,): Iterations of the solver.
    solver: The solver; that of the first machine if there are several.
    message: Warnings for the user of these machines; empty if there are none.
    caveats: Reasons not to take the solutions at face value, of all machines.
    results: The result of each machine as `qpsvm.solve` returns it, built when it is requested.
    """

    classes: NDArray[Any]
    machines: IntArray
    coef: sp.csr_array
    b: FloatArray
    rho: FloatArray
    w: FloatArray | None
    gap: FloatArray
    status: list[Status]
    iterations: IntArray
    solver: Solver
    message: str
    results: Sequence[SVMResult]
    caveats: tuple[Caveat, ...] = ()

    @cached_property
    def support(self) -> IntArray:
        """Indices of the samples that are support vectors of any machine, in order."""
        return np.unique(self.coef.indices).astype(np.intp)

    @property
    def optimal(self) -> bool:
        """Whether every machine was solved to its tolerance."""
        return all(status is Status.OPTIMAL for status in self.status)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("classes", "machines", "gap", "solver")}
        return build_repr(type(self).__name__, **shown)


class LazyResults(Sequence[SVMResult]):
    """Results that are built when they are requested, and cached.

    count: Number of machines.
    build: A function that returns the result of machine p, and can be pickled. None if only `known` are available.
    known: Results that exist already, by the number of the machine.
    """

    def __init__(
        self, count: int, build: Callable[[int], SVMResult] | None, known: dict[int, SVMResult] | None = None
    ) -> None:
        self._count = count
        self._build = build
        self._known = dict(known or {})
        self._requested: set[int] = set()

    def select_requested(self, convert: Callable[[SVMResult], SVMResult]) -> LazyResults:
        """Return the results requested so far, each converted, without the samples needed to build others."""
        requested = LazyResults(self._count, None, {p: convert(self._known[p]) for p in sorted(self._requested)})
        requested._requested = set(self._requested)
        return requested

    def verify(self, *, tol: float | None = None) -> Proofs:
        """Prove the gap of every machine from the floating-point values of its result.

        Raises UnsupportedError.
        """
        return Proofs(tuple(result.verify(tol=tol) for result in self))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> SVMResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[SVMResult]: ...
    def __getitem__(self, index: int | slice) -> SVMResult | list[SVMResult]:
        if isinstance(index, slice):
            return [self[p] for p in range(*index.indices(self._count))]
        p = index + self._count if index < 0 else index
        if not 0 <= p < self._count:
            raise IndexError(f"index {index} is out of range for {self._count} machines")
        if p not in self._known:
            if self._build is None:
                raise UnsupportedError(
                    f"the result of machine {p} needs the samples of the fit, which a pickle or copy of the estimator "
                    "leaves out: request it before the pickle is made, by results_ (or result_), or fit again"
                )
            self._known[p] = self._build(p)
        self._requested.add(p)
        return self._known[p]

    def __iter__(self) -> Iterator[SVMResult]:
        return (self[p] for p in range(self._count))

    def __repr__(self) -> str:
        return f"<{self._count} results, {len(self._known)} of them built>"
