"""Store a QP in a solver's units, and map its solution back (`ScaledQP`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import multiply
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution


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
        return build_repr(type(self).__name__, **vars(self))

    def scale(self, x: FloatArray) -> FloatArray:
        """Return a point of `original`, one block of variables, in the units of `qp`: (n,)."""
        return x / self.original.scales(self.variables, self.rows)[0]

    def unscale(self, solution: QPSolution, **others: Any) -> QPSolution:
        """Return the solution in the units of `original`, with other attributes changed as `QPSolution.replace` does.

        With x = s∘x̃, rows times g and the objective times t, (QP.1) maps z = g∘z̃/t and z_box = z̃_box/(t s).
        """
        if solution.x is None:
            return solution.replace(qp=self.original, **others)
        s, g, a = self.original.scales(self.variables, self.rows)
        t = self.objective
        return solution.replace(
            qp=self.original,
            x=multiply(s, solution.x),
            y=a * solution.y / t,
            z=g * solution.z / t if len(g) else solution.z,
            box=None if solution.box is None else solution.box / (t * s),
            v=None if solution.v is None else solution.v / np.sqrt(t),
            **others,
        )
