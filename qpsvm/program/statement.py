"""What a QP is the dual of, stated with it: so that a solver that knows support vector machines need not guess.

A QP that a problem makes carries its `SVMDual`, and how the QP's numbers follow from those of the dual:

    (STATE.1)  α = v x,  the objective of the QP = t · unit · (DUAL.1),  the row of group g is multiplied by r_g
    (STATE.2)  hence the multiplier of that row is t · unit · μ_g / r_g,  and Zᵀx = w(α) (t · unit)^½ with P = ZZᵀ

A QP that a reader writes by hand carries none; `backends.recognise` looks for one in its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import times
from qpsvm.base.arrays.words import outline
from qpsvm.program.svm_dual import SVMDual


@dataclass(frozen=True, eq=False)
class Statement:
    """An SVM's dual, and the units of the QP that it comes with.

    variable, objective: v and t of (STATE.1).
    rows: r_g by the name of the row; 1 where absent.
    """

    svm: SVMDual
    variable: float = 1.0
    objective: float = 1.0
    rows: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return outline("Statement", **vars(self))

    def scaled(self, variables: Mapping[str, float], rows: Mapping[str, float], objective: float) -> Statement:
        """The statement of the QP that `QP.scaled` makes with the same factors."""
        factors = {name: self.rows.get(name, 1.0) * rows.get(name, 1.0) for name in {**self.rows, **rows}}
        variable = self.variable * variables.get("alpha", 1.0)
        return replace(self, variable=variable, objective=self.objective * objective, rows=factors)

    def x(self, alpha: FloatArray) -> FloatArray:
        """The QP's variables from α (m,)."""
        return times(1.0 / self.variable, alpha)

    def alpha(self, x: FloatArray) -> FloatArray:
        """α (m,) from the QP's variables."""
        return times(self.variable, x)

    def multipliers(self, mu: Mapping[str, float]) -> FloatArray:
        """The multipliers of the equality rows, (p,), from μ by name."""
        price = self.objective * self.svm.unit
        equalities = (group for group in self.svm.groups if not group.ridge)
        return np.array([price * mu[group.multiplier] / self.rows.get(group.name, 1.0) for group in equalities])

    def lift(self, w: FloatArray) -> FloatArray:
        """Zᵀx for the factor of P, from w(α)."""
        return w * float(np.sqrt(self.objective * self.svm.unit))
