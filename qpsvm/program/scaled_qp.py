"""Store a QP in a solver's units, and map its solution back (`ScaledQP`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution


@dataclass(frozen=True, eq=False)
class ScaledQP:
    """The QP that a solver receives, and the map back from its solution.

    qp: The QP in the solver's units: the mean diagonal of the Gram matrix is 1, multipliers are of the order of 1.
    original: The QP in the problem's units.
    variables, rows, objective: The factors of `QP.scaled`: of blocks of variables by name, such as {"alpha": 2.0}, of
        groups of rows by name, such as {"balance": 0.5}, and of the objective.
    """

    qp: QP
    original: QP
    variables: Mapping[str, float]
    rows: Mapping[str, float]
    objective: float

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **vars(self))

    def scale(self, x: FloatArray) -> FloatArray:
        """Return a point x (n,) of `original` in the units of `qp`."""
        return x / self.original.scales(self.variables, self.rows)[0]

    def unscale(self, solution: QPSolution, **others: Any) -> QPSolution:
        """Return the solution in the units of `original`, and with `others`, further attributes to replace.

        With x = s∘x̃, rows of G multiplied by g, rows of A by a, and the objective by t, (QP.1) gives

            z = g∘z̃/t,  y = a∘ỹ/t,  z_box = z̃_box/(t s)  (the field `box`)

        and v = ṽ/√t, because v = Zᵀx with P = ZZᵀ + diag(d), and scaling multiplies Z by √t s. If the solution has no
        point, only the QP and `others` change.
        """
        if solution.x is None:
            return solution.replace(qp=self.original, **others)
        s, g, a = self.original.scales(self.variables, self.rows)
        t = self.objective
        return solution.replace(
            qp=self.original,
            x=multiply(s, solution.x),  # no copy if all factors are 1
            y=a * solution.y / t,
            z=g * solution.z / t if len(g) else solution.z,
            box=None if solution.box is None else solution.box / (t * s),
            v=None if solution.v is None else solution.v / np.sqrt(t),
            **others,
        )
