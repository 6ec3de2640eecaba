"""Delay building the dual QP of a machine until its numbers are read (`DeferredQP`).

A solver that knows support vector machines reads `QP.statement` and nothing else: to write down the QP of a hundred
rows, name its parts, check and scale them takes as long as to solve it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np

from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.qp import QP
from qpsvm.program.svm_dual import Statement, SVMDual


class DeferredQP(QP):
    """The dual QP of a machine, over α, built at the first access to its numbers; otherwise it behaves like that QP.

    statement: The dual, and the units of the QP: known from the beginning.
    make: Makes the QP of that statement, (FORM.1).
    """

    def __new__(cls, *given: Any, **numbers: Any) -> Any:
        """Build a plain QP if the numbers of a QP are given, as by `dataclasses.replace`."""
        return QP(*given, **numbers) if numbers else super().__new__(cls)

    def __init__(self, statement: Statement, make: Callable[[], QP]) -> None:
        self.__dict__.update(statement=statement, _make=make)

    @cached
    def materialised_qp(self) -> QP:
        """The QP itself."""
        found: QP = self.__dict__["_make"]()
        return found

    @property
    def n(self) -> int:
        """Number of variables."""
        return self._svm.m

    @property
    def variables(self) -> Mapping[str, slice]:
        """The only block of variables, α."""
        return {"alpha": slice(0, self.n)}

    def scales(
        self, variables: Mapping[str, float], rows: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the factors as `QP.scales`; there are no rows of G, and one row of A per group without a ridge."""
        equalities = [rows.get(group.name, 1.0) for group in self._svm.groups if not group.ridge]
        return repeat_value(variables.get("alpha", 1.0), self.n), np.zeros(0), np.array(equalities, dtype=np.float64)

    @property
    def _svm(self) -> SVMDual:
        svm: SVMDual = self.__dict__["statement"].svm
        return svm

    def _copy_with(self, **changed: Any) -> QP:
        return self.materialised_qp._copy_with(**changed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it as a plain QP."""
        return copy, (self.materialised_qp,)


for _part in fields(QP):
    if _part.name not in ("statement", "variables"):
        setattr(DeferredQP, _part.name, property(attrgetter(f"materialised_qp.{_part.name}")))
