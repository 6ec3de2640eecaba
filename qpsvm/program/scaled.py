"""What a solver is handed instead of the textbook's QP, and the way back to the problem's units.

A machine's dual as a QP that is made when somebody looks at its numbers.

A solver that knows support vector machines reads `QP.statement` and nothing else. For a hundred rows, to write the QP
down, name its parts, check and scale them takes as long as to solve it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from qpsvm.base.arrays.frozen import remembered
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import repeated, times
from qpsvm.base.arrays.words import outline
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.statement import Statement
from qpsvm.program.svm_dual import SVMDual


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


@dataclass(frozen=True, eq=False)
class ScaledQP:
    """The QP that a solver is handed, and the way back from its solution.

    qp: In the solver's units: mean diagonal of the Gram matrix 1, multipliers of the order of 1.
    original: In the problem's units (and the coordinates that it computes with).
    variables, rows, objective: The factors, as `QP.scaled` takes them.
    """

    qp: QP
    original: QP
    variables: Mapping[str, float]
    rows: Mapping[str, float]
    objective: float

    def __repr__(self) -> str:
        return outline("ScaledQP", **vars(self))

    def scale(self, x: FloatArray) -> FloatArray:
        """A point of `original`, one block of variables, in the units of `qp`: (n,)."""
        return x / self.original.scales(self.variables, self.rows)[0]

    def unscale(self, solution: QPSolution, **others: Any) -> QPSolution:
        """The solution in the units of `original`, with other attributes changed as `QPSolution.changed` does.

        With x = s∘x̃, rows times g and the objective times t, (QP.1) maps z = g∘z̃/t and z_box = z̃_box/(t s).
        """
        if solution.x is None:
            return solution.changed(qp=self.original, **others)
        s, g, a = self.original.scales(self.variables, self.rows)
        t = self.objective
        return solution.changed(
            qp=self.original,
            x=times(s, solution.x),
            y=a * solution.y / t,
            z=g * solution.z / t if len(g) else solution.z,
            box=None if solution.box is None else solution.box / (t * s),
            v=None if solution.v is None else solution.v / np.sqrt(t),
            **others,
        )


__all__ = ["LaterQP"]
