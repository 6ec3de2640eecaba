"""Store the result of a QP that is not an SVM: a point, multipliers, and proven bounds (`QPResult`)."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.qp import QP
from qpsvm.program.status import Solver, Status

#: What happened to a QP, and what to try: as `Status.sentence`, which is about machines, where that differs.
SENTENCES = {
    Status.INACCURATE: "The solver stopped, but the proven bounds are farther apart than the tolerance.",
    Status.INFEASIBLE: "No point satisfies all constraints.",
    Status.UNBOUNDED: "The objective has no lower bound.",
    Status.ITERATION_LIMIT: "The iteration limit came first: raise max_iter, or scale rows and variables.",
    Status.NUMERICAL_ERROR: "The solver broke down on rounding: scale rows and variables to entries near 1, or choose "
    "another backend.",
}


@dataclass(frozen=True, eq=False)
class QPResult:
    """A solved QP, with a proof of how well it is solved.

    Attributes
    ----------
    qp : QP
        What was solved.
    status : Status
        `optimal` exactly when `gap` is within the tolerance, `infeasible` and `unbounded` when that was proven.
    x : ndarray, shape (n,)
        The point, between its bounds; NaN where there is none.
    radius : float
        Within this distance, in each entry, is a point that is feasible exactly; infinite where that could not be
        shown. 0 says that x itself is feasible, for certain.
    y, z : ndarray, shape (p,) and (m,)
        Multipliers of the rows of A and G, in the signs of (QP.1), with z ≥ 0. Of a QP that is infeasible, those that
        prove it: Aᵀy + Gᵀz + z_box = 0, and bᵀy + hᵀz + ubᵀz_box⁺ − lbᵀz_box⁻ < 0.
    z_box : ndarray, shape (n,)
        Multipliers of the bounds: at most 0 at a lower bound, at least 0 at an upper one.
    primal, dual : float
        The optimum is between them, all rounding counted: primal ≥ optimum ≥ dual. Infinite where nothing was shown;
        both are ∞ of what is infeasible, and −∞ of what is unbounded.
    gap : float
        (primal − dual)/max(1, |primal|, |dual|).
    solver_gap : float
        The same of the solver's own point and multipliers, before they are polished.
    primal_residual, dual_residual, complementarity : float
        As measured at the solver's own point, in floats: largest violation of a row or bound, of (QP.1), and product of
        a multiplier and its slack.
    solver : Solver
        Name, version and the raw status that the solver reported.
    build_time, solve_time : float
        Seconds: for the solver's data, and inside the solver.
    iterations : int or None
        As the solver counts them.
    data_change : float
        The verdict is proven for a program whose entries differ from those of `qp` by at most this, relative to each
        entry: 0 where it is `qp` itself, never above 1e-14 with `optimal`. Rows that should be multiples of each other
        are not in floats, and a P that is singular may have an eigenvalue below 0.
    ray : ndarray, shape (n,), or None
        Of what is unbounded, a direction d with Pd = 0, qᵀd < 0, Gd ≤ 0, Ad = 0, along which all bounds hold: in whole
        numbers where they are below 2⁵³, else rounded from the rational direction that has all this.
    machine : str
        Of which machine this is the dual, where it is one: what its α and its intercept are; or "".
    message : str
        What could not be shown, and why; or "".

    See Also
    --------
    solve : What makes one.
    SVMResult : Of a machine.

    Examples
    --------
    >>> import qpsvm
    >>> qp = qpsvm.QP(P=[[1.0, 0.0], [0.0, 1.0]], q=[-3.0, 0.0], r=4.5, A=[[1.0, 1.0]], b=[2.0], lb=0.5, title="near")
    >>> result = qpsvm.solve(qp)
    >>> print(result.status, result.x.round(6), result.primal >= 2.25 - 1 >= result.dual)
    optimal [1.5 0.5] True
    """

    qp: QP
    status: Status
    x: FloatArray
    radius: float
    y: FloatArray
    z: FloatArray
    z_box: FloatArray
    primal: float
    dual: float
    gap: float
    solver_gap: float
    primal_residual: float
    dual_residual: float
    complementarity: float
    solver: Solver
    build_time: float = 0.0
    solve_time: float = 0.0
    iterations: int | None = None
    data_change: float = 0.0
    ray: FloatArray | None = None
    machine: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __repr__(self) -> str:
        return build_repr("QPResult", status=str(self.status), gap=self.gap, x=self.x, solver=self.solver)

    @property
    def explanation(self) -> str:
        """The outcome, its reason, and what to try, in a sentence or two."""
        return " ".join(part for part in (SENTENCES.get(self.status, self.status.sentence), self.message) if part)

    def summary(self) -> str:
        """Return the result in a few lines.

        Returns
        -------
        str
            To be printed.

        Examples
        --------
        >>> import qpsvm
        >>> print(qpsvm.solve(qpsvm.QP(P=[[1.0]], q=[-3.0], lb=0.0, ub=1.0)).summary())  # doctest: +ELLIPSIS
        QP: 1 variable, 0 equalities, 0 inequalities
          status      optimal: The certified relative gap is within the tolerance.
          optimum     between -2.5 and -2.5
          gap         ..., rounding included (the solver's own point: ...)
          point       feasible
          residuals   primal ..., dual ..., complementarity ... (of the solver's own point, in floats)
          solver      ...; it reported '...'
        """
        qp = self.qp
        p, m = len(self.y), len(self.z)
        point = f"a feasible one within {self.radius:.2g} of each entry" if self.radius else "feasible"
        lines = [
            f"{qp.title}: {qp.n} variable{'s' * (qp.n > 1)}, {p} equalities, {m} inequalities",
            f"  status      {self.status}: {self.explanation}",
        ]
        if self.machine:
            lines.append(f"  machine     {self.machine}")
        if self.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
            lines += [
                f"  optimum     between {self.dual:.10g} and {self.primal:.10g}",
                f"  gap         {self.gap:.2g}, rounding included (the solver's own point: {self.solver_gap:.2g})",
            ]
        if self.status is not Status.INFEASIBLE:
            lines.append(f"  point       {'no feasible one was shown' if self.radius == float('inf') else point}")
        if self.ray is not None:
            lines.append(f"  ray         d in .ray, with Pd = 0 and qᵀd = {float(qp.q @ self.ray):.4g}")
        if self.primal_residual == self.primal_residual:  # it is NaN without a solver's point
            lines.append(
                f"  residuals   primal {self.primal_residual:.2g}, dual {self.dual_residual:.2g}, complementarity "
                f"{self.complementarity:.2g} (of the solver's own point, in floats)"
            )
        lines.append(f"  solver      {self.solver.name} {self.solver.version}; it reported {self.solver.status!r}")
        return "\n".join(lines)
