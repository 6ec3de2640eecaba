"""What a solver is handed instead of the textbook's QP, and the way back to the problem's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.arrays.constant import times
from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import outline
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution


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
