"""Store the solution of a QP by a solver, and measure it (`QPSolution`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached, copy_without_cache, freeze_parts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import SolverError
from qpsvm.program.qp import QP
from qpsvm.program.residuals import (
    compute_complementarity,
    compute_dual_residual,
    compute_duality_gap,
    compute_lagrangian_gradient,
    compute_primal_residual,
)
from qpsvm.program.status import Solver, Status


@dataclass(frozen=True, eq=False)
class QPSolution:
    """A solver's solution of a QP, in the units of that QP and the signs of (QP.1).

    Attributes
    ----------
    qp : QP
    reported : Status
        The solver's status, translated; a claim, which `duality_gap()` and the residuals check.
    x : ndarray, shape (n,), or None
        None if the solver returned no point.
    y : ndarray, shape (p,)
        Multipliers of Ax = b.
    z : ndarray, shape (m,)
        Multipliers of Gx ≤ h.
    solver : Solver
        Name, version and raw status.
    box : ndarray, shape (n,), or None
        Multipliers of the bounds as the solver returns them; None if it returns none.
    iterations : int or None
    solve_time : float
        Seconds inside the solver.
    v : ndarray or None
        Zᵀx, if the solver works in the lifted form; for the dual of a linear SVM this is w.

    See Also
    --------
    compile : Prepares a QP for a solver.
    SVMResult : The certified solution of a problem.

    Examples
    --------
    The smallest x₁² + x₂² on the line x₁ + x₂ = 2; the multiplier of the line has the sign of (QP.1):

    >>> import qpsvm
    >>> qp = qpsvm.QP(P=[[2.0, 0.0], [0.0, 2.0]], q=[0.0, 0.0], A=[[1.0, 1.0]], b=[2.0])
    >>> solution = qpsvm.compile(qp, "cvxopt").solve()
    >>> print(solution.x.round(6), solution.y.round(6), round(solution.objective, 6))
    [1. 1.] [-2.] 2.0
    """

    qp: QP
    reported: Status
    solver: Solver
    x: FloatArray | None = None
    y: FloatArray = field(default_factory=lambda: np.zeros(0))
    z: FloatArray = field(default_factory=lambda: np.zeros(0))
    box: FloatArray | None = None
    iterations: int | None = None
    solve_time: float = 0.0
    v: FloatArray | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __repr__(self) -> str:
        parts = ("qp", "reported", "solver", "x", "y", "z", "iterations")
        if self.x is None:
            gap = {}
        else:
            gap = {"measured_gap": self.duality_gap() / max(1.0, abs(self.objective))}
        return build_repr("QPSolution", **{name: getattr(self, name) for name in parts}, **gap)

    def replace(self, **parts: Any) -> QPSolution:
        """Return a copy with some attributes replaced, as `dataclasses.replace` does, but faster.

        Parameters
        ----------
        **parts
            Attributes by name.

        Returns
        -------
        QPSolution
            Its residuals and its gap are those of the new attributes.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> solution = qpsvm.compile(qpsvm.QP(P=[[1.0]], q=[-3.0]), "cvxopt").solve()
        >>> solution.replace(x=np.array([2.0])).objective
        -4.0
        """
        solution: QPSolution = copy_without_cache(self)  # without z_box, which depends on the parts
        solution.__dict__.update(parts)
        return solution

    @cached
    def z_box(self) -> FloatArray | None:
        """Multipliers of the bounds, (n,): `box`, or else those that solve (QP.1); None without a point."""
        if self.x is None or self.box is not None:
            return self.box
        return -compute_lagrangian_gradient(self.qp, self.x, self.y, self.z)

    def _require_point(self) -> tuple[FloatArray, FloatArray]:
        if self.x is None or self.z_box is None:
            raise SolverError(f"{self.solver.name} returned no point to measure ({self.solver.status})")
        return self.x, self.z_box

    @property
    def objective(self) -> float:
        """½xᵀPx + qᵀx + r at x."""
        return self.qp.objective(self._require_point()[0])

    def primal_residual(self) -> float:
        """Measure the largest violation of a constraint.

        Returns
        -------
        float
            In the units of its row.

        Raises
        ------
        SolverError
            There is no point to measure.

        Examples
        --------
        Half way to the line x₁ + x₂ = 2, one unit is missing:

        >>> import numpy as np
        >>> import qpsvm
        >>> qp = qpsvm.QP(P=[[2.0, 0.0], [0.0, 2.0]], q=[0.0, 0.0], A=[[1.0, 1.0]], b=[2.0])
        >>> solution = qpsvm.compile(qp, "cvxopt").solve()
        >>> half_way = solution.replace(x=np.array([0.5, 0.5]))
        >>> print(half_way.primal_residual(), solution.primal_residual() < 1e-6)
        1.0 True
        """
        return compute_primal_residual(self.qp, self._require_point()[0])

    def dual_residual(self) -> float:
        """Measure the largest entry of (QP.1)'s left-hand side.

        Returns
        -------
        float
            In the units of q.

        Raises
        ------
        SolverError
            There is no point to measure.

        Examples
        --------
        >>> import qpsvm
        >>> solution = qpsvm.compile(qpsvm.QP(P=[[1.0]], q=[-3.0], lb=0.0, ub=1.0), "cvxopt").solve()
        >>> print(solution.x.round(6), solution.z_box.round(6), solution.dual_residual() < 1e-6)
        [1.] [2.] True
        """
        x, z_box = self._require_point()
        return compute_dual_residual(self.qp, x, self.y, self.z, z_box)

    def complementarity(self) -> float:
        """Measure the largest product of a multiplier and its slack.

        Returns
        -------
        float
            In the units of the objective.

        Raises
        ------
        SolverError
            There is no point to measure.

        Examples
        --------
        >>> import qpsvm
        >>> solution = qpsvm.compile(qpsvm.QP(P=[[1.0]], q=[-3.0], lb=0.0, ub=1.0), "cvxopt").solve()
        >>> solution.complementarity() < 1e-6
        True
        """
        x, z_box = self._require_point()
        return compute_complementarity(self.qp, x, self.z, z_box)

    def duality_gap(self) -> float:
        """Measure |primal − dual objective|.

        Returns
        -------
        float
            In the units of the objective.

        Raises
        ------
        SolverError
            There is no point to measure.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]).qp("dual")
        >>> gaps = [qpsvm.compile(qp, "cvxopt").solve(tol=tol).duality_gap() for tol in (1e-2, 1e-9)]
        >>> gaps[1] < 1e-6 < gaps[0]
        True
        """
        x, z_box = self._require_point()
        return compute_duality_gap(self.qp, x, self.y, self.z, z_box)
