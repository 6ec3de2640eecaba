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
    machines (P, 2): (i, j) with i < j: f > 0 means class j. Of one against all others, (j, −1): f > 0 means
        class j.
    coef (P, n): α_i y_i over the caller's rows; what is not stored is 0.
    b (P,): Intercepts: f = Σ coef_i K(x_i, ·) + b.
    rho (P,): The margins of ν-SVMs, in units of which f is large or small; 1 for others.
    w (P, d) or None: Of a linear kernel, the weight vectors that the gap is about: Σ coef_i x_i, rounded.
    gap (P,): The certified relative gap of each, all rounding counted.
    status: What was certified of each.
    iterations (P,): Of the solver.
    solver: Who solved; of the first, where several did.
    message: What the user of these machines should know; empty where there is nothing.
    caveats: What makes the answers of the machines others than they look like, of each that has any.
    results: Each machine as `qpsvm.solve` would give it, made when it is asked for.
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
        """The samples with a coefficient in any of the machines, in order."""
        return np.unique(self.coef.indices).astype(np.intp)

    @property
    def optimal(self) -> bool:
        """Whether every machine is solved to its tolerance."""
        return all(status is Status.OPTIMAL for status in self.status)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("classes", "machines", "gap", "solver")}
        return build_repr(type(self).__name__, **shown)


class LazyResults(Sequence[SVMResult]):
    """Results that are made when they are asked for, and kept.

    make: From the number of a machine to its result; must be one that can be pickled. None where nothing but
        `known` is to be had.
    known: Those that are there already.
    """

    def __init__(
        self, count: int, make: Callable[[int], SVMResult] | None, known: dict[int, SVMResult] | None = None
    ) -> None:
        self._count, self._build, self._known = count, make, dict(known or {})
        self._requested: set[int] = set()

    def take_requested(self, shared: Callable[[SVMResult], SVMResult]) -> LazyResults:
        """Return the requested results, each through `shared`, without the samples needed to build others."""
        kept = LazyResults(self._count, None, {k: shared(self._known[k]) for k in sorted(self._requested)})
        kept._requested = set(self._requested)
        return kept

    def verify(self, *, tol: float | None = None) -> Proofs:
        """Prove how far from its optimum every machine is, by the floating-point values of its result.

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
            return [self[k] for k in range(*index.indices(self._count))]
        k = index + self._count if index < 0 else index
        if not 0 <= k < self._count:
            raise IndexError(f"there are {self._count} machines, and {index} is none of them")
        if k not in self._known:
            if self._build is None:
                raise UnsupportedError(
                    f"the result of machine {k} needs the samples of the fit, which a pickle or copy of the estimator "
                    "leaves out: ask for it before the pickle is made, by results_ (or result_), or fit again"
                )
            self._known[k] = self._build(k)
        self._requested.add(k)
        return self._known[k]

    def __iter__(self) -> Iterator[SVMResult]:
        return (self[k] for k in range(self._count))

    def __repr__(self) -> str:
        return f"<{self._count} results, {len(self._known)} of them made>"
