"""Store the result of a QP that is not an SVM: a point, multipliers, and proven bounds (`QPResult`)."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import QPSVMError, SolverError
from qpsvm.program.qp import QP
from qpsvm.program.status import Solver, Status

#: Sentences about the status of a QP, where they differ from `Status.sentence`, which is about machines.
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
    """The result of a QP, with proven bounds of its optimal value.

    Attributes
    ----------
    qp : QP
        The program that was solved.
    status : Status
        `optimal` if and only if `gap` is within the tolerance; `infeasible` or `unbounded` if that was proven.
    x : ndarray, shape (n,)
        The point, within its bounds; NaN if there is none.
    radius : float
        Some exactly feasible point differs from x by at most this in each entry; infinite if that could not be proven.
        0 means that x itself is exactly feasible.
    y, z : ndarray, shape (p,) and (m,)
        Multipliers of the rows of A and G, with the signs of (QP.1), with z ≥ 0. For an infeasible QP, multipliers that
        prove it: Aᵀy + Gᵀz + z_box = 0, and bᵀy + hᵀz + ubᵀz_box⁺ − lbᵀz_box⁻ < 0.
    z_box : ndarray, shape (n,)
        Multipliers of the bounds: at most 0 at a lower bound, at least 0 at an upper bound.
    primal, dual : float
        Bounds of the optimum, rounding included: primal ≥ optimum ≥ dual. A bound that was not proven is infinite; both
        are ∞ for an infeasible QP, and −∞ for an unbounded one.
    gap : float
        (primal − dual)/max(1, |primal|, |dual|).
    solver_gap : float
        The gap of the solver's point and multipliers, before they are polished.
    primal_residual, dual_residual, complementarity : float
        Measured in floats at the solver's point: the largest violation of a row or bound, of stationarity in (QP.1),
        and the largest product of a multiplier and its slack.
    solver : Solver
        Name, version and the raw status that the solver reported.
    build_time, solve_time : float
        Seconds to build the solver's data, and in the solver.
    iterations : int or None
        Number of iterations that the solver reports; None if it reports none.
    data_change : float
        The bounds are proven for a program whose entries differ from those of `qp` by at most this, relative to each
        entry: 0 if it is `qp` itself, and never above 1e-14 with `optimal`. In floats, rows that should be multiples of
        each other are not, and a singular P may have an eigenvalue below 0.
    ray : ndarray, shape (n,), or None
        For an unbounded QP, a direction d with Pd = 0, qᵀd < 0, Gd ≤ 0, Ad = 0, along which all bounds hold: integers
        if they are below 2⁵³, else rounded from a rational direction with these properties.
    machine : str
        If the QP is the dual of a machine, a description of the machine, its α and its intercept; or "".
    message : str
        What could not be proven, and why; or "".

    See Also
    --------
    solve : Solve a QP and return its result.
    SVMResult : The result of a machine.

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
        """The outcome, its reason, and advice, in one or two sentences."""
        return " ".join(part for part in (SENTENCES.get(self.status, self.status.sentence), self.message) if part)

    @property
    def error(self) -> QPSVMError | None:
        """The error that `solve(check=True)` raises if it is proven that there is no optimum; else None."""
        if self.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
            return None
        return SolverError(f"{self.status}: {self.explanation} solve(qp, check=False) returns what proves it")

    def summary(self) -> str:
        """Return the result in a few lines.

        Returns
        -------
        str
            The lines, without a line break after the last.

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
        if self.radius:
            point = f"a feasible one within {self.radius:.2g} of each entry"
        else:
            point = "feasible"
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
        if self.primal_residual == self.primal_residual:  # NaN if the solver returned no point
            lines.append(
                f"  residuals   primal {self.primal_residual:.2g}, dual {self.dual_residual:.2g}, complementarity "
                f"{self.complementarity:.2g} (of the solver's own point, in floats)"
            )
        lines.append(f"  solver      {self.solver.name} {self.solver.version}; it reported {self.solver.status!r}")
        return "\n".join(lines)
