"""Store and measure the solution of a QP by a solver (`QPSolution`, `Status`).

Residuals: how far (x, y, z, z_box) is from satisfying the optimality conditions (QP.1), by the QP's own data alone.

What a solver is handed instead of the textbook's QP, and the way back. A machine's dual is made as a QP when somebody
looks at its numbers: a solver that knows support vector machines reads `QP.statement` and nothing else, and to write
the QP of a hundred rows down, name its parts, check and scale them takes as long as to solve it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached, copy_without_cache, freeze_parts, multiply, repeat_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import SolverError
from qpsvm.program.qp import QP
from qpsvm.program.svm_dual import Statement, SVMDual


def compute_primal_residual(qp: QP, x: FloatArray) -> float:
    """Return the largest violation of Gx ≤ h, Ax = b and lb ≤ x ≤ ub at x (n,), in the units of the rows."""
    lb, ub = qp.bounds
    parts = [np.maximum(lb - x, 0.0), np.maximum(x - ub, 0.0)]
    if qp.G is not None:
        parts.append(np.maximum(qp.G @ x - qp.h, 0.0))
    if qp.A is not None:
        parts.append(np.abs(qp.A @ x - qp.b))
    return _find_largest(parts)


def compute_lagrangian_gradient(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return Px + q + Gᵀz + Aᵀy, the multipliers of the bounds by (QP.1), up to the sign: (n,)."""
    total: FloatArray = qp.P @ x + qp.q
    if qp.G is not None:
        total = total + qp.G.T @ z
    if qp.A is not None:
        total = total + qp.A.T @ y
    return total


def compute_dual_residual(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Return the largest entry of |Px + q + Gᵀz + Aᵀy + z_box| (QP.1), or of a multiplier of the wrong sign.

    Shapes: x, z_box (n,), y (p,), z (m,).
    """
    lb, ub = qp.bounds
    unbounded_below = np.where(np.isfinite(lb), 0.0, np.maximum(-z_box, 0.0))
    unbounded_above = np.where(np.isfinite(ub), 0.0, np.maximum(z_box, 0.0))
    return _find_largest(
        [
            np.abs(compute_lagrangian_gradient(qp, x, y, z) + z_box),
            np.maximum(-z, 0.0),
            unbounded_below,
            unbounded_above,
        ]
    )


def compute_complementarity(qp: QP, x: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Return the largest product of a multiplier and the slack of its row or bound, at x, z_box (n,), z (m,)."""
    lb, ub = qp.bounds
    low, high = np.maximum(-z_box, 0.0), np.maximum(z_box, 0.0)
    parts = [
        np.abs(np.where(low > 0, low * (x - np.where(np.isfinite(lb), lb, 0.0)), 0.0)),
        np.abs(np.where(high > 0, high * (np.where(np.isfinite(ub), ub, 0.0) - x), 0.0)),
    ]
    if qp.G is not None and qp.h is not None:
        parts.append(np.abs(z * (qp.h - qp.G @ x)))
    return _find_largest(parts)


def compute_duality_gap(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Return |primal − dual objective|: |xᵀPx + qᵀx + bᵀy + hᵀz + ubᵀz_box⁺ − lbᵀz_box⁻|."""
    lb, ub = qp.bounds
    value = float(x @ (qp.P @ x) + qp.q @ x)
    if qp.b is not None:
        value += float(qp.b @ y)
    if qp.h is not None:
        value += float(qp.h @ z)
    value += float(np.where(np.isfinite(ub), ub, 0.0) @ np.maximum(z_box, 0.0))
    value -= float(np.where(np.isfinite(lb), lb, 0.0) @ np.maximum(-z_box, 0.0))
    return abs(value)


def _find_largest(parts: list[FloatArray]) -> float:
    return max((float(part.max()) for part in parts if part.size), default=0.0)


class Status(StrEnum):
    """How a solve ended. Each member carries a sentence: what happened, and what to try.

    Attributes
    ----------
    sentence : str
        What happened, and what to try.

    Examples
    --------
    A status equals its name, prints as it, and carries what to do about it:

    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))
    >>> result.status == "optimal", result.status is qpsvm.Status.OPTIMAL
    (True, True)
    >>> print(qpsvm.Status.TIME_LIMIT.sentence)
    The time limit came first: raise time_limit, or choose a faster backend.
    """

    sentence: str

    def __new__(cls, value: str, sentence: str) -> Status:
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    OPTIMAL = "optimal", "The certified relative gap is within the tolerance."
    INACCURATE = "inaccurate", "The solver stopped, but the certified gap is above the tolerance."
    CANDIDATE = (
        "candidate",
        "The point was given, not solved for, and its certified gap is above the tolerance: solve(problem) looks for "
        "the optimum.",
    )
    INFEASIBLE = (
        "infeasible",
        "No point satisfies the constraints: for a hard margin the classes cannot be separated, so use a soft one.",
    )
    UNBOUNDED = "unbounded", "The objective has no lower bound: check that P is positive semidefinite."
    ITERATION_LIMIT = (
        "iteration_limit",
        "The iteration limit came first: raise max_iter, or start with better scaled data.",
    )
    TIME_LIMIT = "time_limit", "The time limit came first: raise time_limit, or choose a faster backend."
    INTERRUPTED = "interrupted", "You interrupted it: this is the best point so far; start=result goes on from here."
    NUMERICAL_ERROR = (
        "numerical_error",
        "The solver broke down on rounding: standardise the features, lower C, or choose another backend.",
    )

    def __str__(self) -> str:
        return str(self.value)


class Solver(NamedTuple):
    """The solver behind a result, in its own words."""

    name: str
    version: str
    status: str


@dataclass(frozen=True, eq=False)
class QPSolution:
    """A solver's answer to a QP, in the units of that QP and the signs of (QP.1).

    Attributes
    ----------
    qp : QP
    reported : Status
        What the solver claims, translated; not certified. `compute_duality_gap()` and the residuals measure it.
    x : ndarray, shape (n,), or None
        None where the solver gave no point.
    y : ndarray, shape (p,)
    z : ndarray, shape (m,)
    solver : Solver
        Name, version and raw status.
    box : ndarray, shape (n,), or None
        Multipliers of the bounds as the solver gives them; None where it works without.
    iterations : int or None
    solve_time : float
        Seconds inside the solver.
    v : ndarray or None
        Zᵀx of a solver that works in the lifted form: for the dual of a linear SVM, an explicit w.

    See Also
    --------
    compile : What it is the answer of.
    SVMResult : The certified answer to a problem.

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
        gap = {} if self.x is None else {"measured_gap": self.duality_gap() / max(1.0, abs(self.objective))}
        return build_repr("QPSolution", **{name: getattr(self, name) for name in parts}, **gap)

    def replace(self, **parts: Any) -> QPSolution:
        """Return a copy with some attributes replaced: as `dataclasses.replace`, in a fraction of its time.

        Parameters
        ----------
        **parts
            Attributes by name.

        Returns
        -------
        QPSolution
            What is measured on the parts is measured anew.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> solution = qpsvm.compile(qpsvm.QP(P=[[1.0]], q=[-3.0]), "cvxopt").solve()
        >>> solution.replace(x=np.array([2.0])).objective
        -4.0
        """
        twin: QPSolution = copy_without_cache(self)  # without z_box, which is measured on the parts
        twin.__dict__.update(parts)
        return twin

    @cached
    def z_box(self) -> FloatArray | None:
        """Multipliers of the bounds, (n,): the solver's, or what (QP.1) leaves for them; None without a point."""
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
            In the units of the row that it belongs to.

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


class DeferredQP(QP):
    """The dual QP of a machine, over α, built at the first access to its numbers. In all else it is that QP.

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
        """α, and nothing else."""
        return {"alpha": slice(0, self.n)}

    def scales(
        self, variables: Mapping[str, float], rows: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the factors as `QP.scales`; there are no rows of G, and a row of A for every group without a ridge."""
        equalities = [rows.get(group.name, 1.0) for group in self._svm.groups if not group.ridge]
        return repeat_value(variables.get("alpha", 1.0), self.n), np.zeros(0), np.array(equalities, dtype=np.float64)

    @property
    def _svm(self) -> SVMDual:
        svm: SVMDual = self.__dict__["statement"].svm
        return svm

    def _copy_with(self, **changed: Any) -> QP:
        return self.materialised_qp._copy_with(**changed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it as the QP that it is."""
        return copy, (self.materialised_qp,)


for _part in fields(QP):
    if _part.name not in ("statement", "variables"):
        setattr(DeferredQP, _part.name, property(attrgetter(f"materialised_qp.{_part.name}")))


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


__all__ = ["DeferredQP", "QPSolution", "ScaledQP", "Solver", "Status"]
