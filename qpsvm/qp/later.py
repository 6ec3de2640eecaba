"""A machine's dual as a QP that is made when somebody looks at its numbers.

A solver that knows support vector machines reads `QP.statement` and nothing else. For a hundred rows, to write the QP
down, name its parts, check and scale them takes as long as to solve it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.remembered import remembered
from qpsvm.arrays.types import FloatArray
from qpsvm.dual.statement import Statement
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.qp.program import QP


class LaterQP(QP):
    """The dual QP of a machine, over α, made at the first look at its numbers. In all else it is that QP.

    statement: The dual, and the units of the QP: known from the beginning.
    make: Makes the QP of that statement, (FORM.1).
    """

    def __new__(cls, *given: Any, **numbers: Any) -> Any:
        """With the numbers of a QP, as `dataclasses.replace` has them, a plain QP."""
        return QP(*given, **numbers) if numbers else super().__new__(cls)

    def __init__(self, statement: Statement, make: Callable[[], QP]) -> None:
        self.__dict__.update(statement=statement, _make=make)

    @remembered
    def made(self) -> QP:
        """The QP itself."""
        found: QP = self.__dict__["_make"]()
        return found

    @property
    def n(self) -> int:
        """Number of variables."""
        return self._svm.m

    @property
    def variables(self) -> Mapping[str, slice]:
        """α, and nothing else."""
        return {"alpha": slice(0, self.n)}

    def scales(
        self, variables: Mapping[str, float], rows: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `QP.scales`; there are no rows of G, and a row of A for every group without a ridge."""
        equalities = [rows.get(group.name, 1.0) for group in self._svm.groups if not group.ridge]
        return repeated(variables.get("alpha", 1.0), self.n), np.zeros(0), np.array(equalities, dtype=np.float64)

    @property
    def _svm(self) -> SVMDual:
        svm: SVMDual = self.__dict__["statement"].svm
        return svm

    def _derived(self, **changed: Any) -> QP:
        return self.made._derived(**changed)

    def __reduce__(self) -> tuple[Any, ...]:
        """It is pickled and copied as the QP that it is."""
        return _same, (self.made,)


def _same(qp: QP) -> QP:
    return qp


def _looked_at(name: str) -> property:
    return property(lambda self: getattr(self.made, name))


for _part in fields(QP):
    if _part.name not in ("statement", "variables"):
        setattr(LaterQP, _part.name, _looked_at(_part.name))

__all__ = ["LaterQP"]
