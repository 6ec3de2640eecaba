"""Define a machine with one decision function (`Problem`): its dual, its primal, and the scaling of both QPs.

A machine is one file that says what it is called, and what it is: a `Record`. Both QPs, scaling for a solver, reading α
from a solution (`reading`), certificate, proof and polish (`judge`), and the result follow from that.

    (FORM.4)  scaling:  α in units of a typical one, primal variables and rows in units of the level
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.base.arrays.frozen import common_value, made, remembered, repeated
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError, ParameterError, ParameterTypeError
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem import reading as way
from qpsvm.machines.problem.evidence import with_feasible_rows
from qpsvm.machines.problem.forms import (
    LARGEST_BOX,
    LEVEL_ROWS,
    SCALED_PRICES,
    SCALED_ROWS,
    SLACKS,
    SMALLEST_UNIT,
    dual_formula,
    dual_qp,
    qp_with_rows,
)  # fmt: skip
from qpsvm.machines.problem.judge import Judge, judged, note, polished
from qpsvm.machines.problem.linear_constraints import UserRows
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.parameters import Form, check_form
from qpsvm.machines.problem.starts import start
from qpsvm.program.qp import QP
from qpsvm.program.record import Record, Textbook, primal_qp
from qpsvm.program.solution import LaterQP, ScaledQP
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import Kinds, SVMResult
from qpsvm.space.kernels.gram import Intercept
from qpsvm.space.operators import Diagonal, Operator

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.machines.problem.sensitivity import Sensitivity


class Problem(Machine[SVMResult]):
    """A support vector machine as a pair of quadratic programs.

    Parameters
    ----------
    samples : Samples
        Those of weight 0 take no part; their α is 0.
    kernel : Kernel, str or callable
        For `Precomputed()` the samples are the (n, n) kernel matrix among them.
    intercept : "free", "penalised" or None
        Outside the norm, inside it, or absent.
    psd : "raise", "clip" or "shift"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Linear constraints on w, b and f.

    Attributes
    ----------
    constraints : tuple of Constraints and ValueConstraints
        Empty where there are none.
    X : ndarray, csr_array or RowSource, shape (n, d)
        The samples as they are computed with. What is not an array stays where it is for a linear kernel, which looks
        at a block of rows at a time; any other kernel takes them as one array.
    kernel : Kernel
        Every parameter of it is a number.

    Raises
    ------
    DataError
        Samples, labels or weights of another shape, not finite, or of one class; a kernel matrix that is not square.
    DataTypeError
        Samples, labels or weights that are no numbers, or labels without an order.
    ParameterError, ParameterTypeError, UnknownOptionError
        A parameter out of its range, of another type, or of another name.

    See Also
    --------
    CSVM, HardMargin, NuSVM, PrimalHinge : The machines.
    solve : What solves them all.

    Examples
    --------
    Everything that is not a machine's own parameter is the same for all of them:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> for machine in (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge):
    ...     print(machine(X, y).title, "|", qpsvm.solve(machine(X, y)).status)
    hard margin, kernel Linear() | optimal
    C-SVM, C = 1, kernel Linear() | optimal
    ν-SVM, ν = 0.5, kernel Linear() | optimal
    primal hinge loss, lambda = 0.01, intercept free, kernel Linear() | optimal
    """

    #: The machines by the names of their classes.
    machines: ClassVar[dict[str, type[Problem]]] = {}
    #: The tag of the dual in the derivation, and what stands for a factor of the objective.
    dual_tag: ClassVar[str] = "DUAL.1"
    unit_letter: ClassVar[str] = "unit"
    #: What the objective of the dual has besides, where a loss is curved.
    curved_term: ClassVar[str] = "½ Σ δ_i α_i²"
    #: The tag of the primal, its objective and its rows as a person writes them: see `Textbook`.
    textbook: tuple[str, ...] = ("DUAL.3", "½ {norm} + Σ ψ_i(t_i)", "s_i {f} ≥ ℓ_i − ξ_i")
    #: What the kinds of samples in a result mean.
    kinds: ClassVar[Kinds] = Kinds()
    #: The rows of the primal whose multipliers are α, in order.
    level_rows: ClassVar[tuple[str, ...]] = ("margin",)
    #: What the variables of the primal are called in place of w, b, …
    letters: ClassVar[Mapping[str, str]] = {}

    #: What reads and judges the points of a machine: functions over what it states.
    certify, read, interpret, start = way.certify, way.read, way.interpret, start
    _given, _polished, _judge, _note = way.given, polished, judged, note
    _result, _dual_formula = way.svm_result, dual_formula

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Problem.machines.setdefault(cls.__name__, cls)  # a machine of a user does not stand in for one of ours

    @property
    def y(self) -> FloatArray:
        """−1/+1 of each sample of a two-class machine: (n,)."""
        return self.samples.target

    @property
    def t(self) -> FloatArray:
        """The target of each sample of a regression: (n,).

        Raises
        ------
        AbsentError
            A machine whose target is no number.
        """
        if self.shown_target is None:
            raise AbsentError(f"{type(self).__name__} has no numbers as target")
        return self.samples.target

    @property
    def shown_target(self) -> FloatArray | None:
        """The target of a regression, (n,); None for other machines."""
        return self.samples.target if self.learns == "numbers" else None

    @property
    def shown_pairs(self) -> IntArray | None:
        """The pairs of samples that a row each is about, (m, 2); None for other machines."""
        return None

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        """Fill in s f and the level that it is to reach, one entry per dual variable, for samples of weight 0."""
        yf[rows] = self.samples.target[rows] * model.decision_function(self.X[rows])
        margin[rows] = certificate.rho

    def _extras(self, certificate: Certificate) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        """Return the extra primal variables in the machine's terms, and the intervals of their optimal values."""
        return {}, certificate.intervals

    def _extended(self, gram: Operator, kept: Intercept, rows: UserRows | None = None) -> SVMDual:
        """Build the dual of the machine over a Gram matrix, with the linear constraints."""
        rows = rows or self.user_rows
        if rows is None:
            return self._dual(gram, kept)
        n = len(self.labels)
        return rows.extended(self._dual(Diagonal(gram.diagonal()[:n]), kept), gram, n)

    @remembered
    def svm(self) -> SVMDual:
        """The dual of this machine, over the samples that take part, with the Gram matrix to compute with."""
        if self.constraints:
            return with_feasible_rows(self, self._extended(self.space.centred, self.intercept))
        centred, kept = self.space.centred, self.space.computed_intercept
        if kept == self.intercept and not self.diagonal:
            return self.outlined.over(centred)
        return self._dual(centred, kept)  # whose levels are of that Gram matrix, where f has a part of its diagonal

    @remembered
    def outlined(self) -> SVMDual:
        """The dual with a placeholder for the Gram matrix, which is not needed to tell machines apart."""
        behind = 0 if self.user_rows is None else self.user_rows.Z.shape[0]
        stand_in = made(Diagonal, d=repeated(1.0, len(self.labels) + behind))
        return self._extended(stand_in, self.intercept)

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of α for the rows that take part; infinite where nothing bounds it."""
        return self.svm.upper

    @remembered
    def judge(self) -> Judge:
        """Certifier of the points of this problem."""
        return Judge(self.space, self.svm)

    def _qp(self, form: Form, textbook: bool) -> QP:
        space = self.space
        if self.constraints:
            return qp_with_rows(self, form, textbook)
        if form == "primal":
            return self._primal(space.textbook_coordinates if textbook else space.coordinates)
        if self.intercept == "penalised":  # a feature of ones behind φ
            svm = self._stated
        else:
            svm = self._dual(space.gram if textbook and space.is_linear else space.centred, self.intercept)
        return dual_qp(svm, self._dual_formula(svm), f"{self.title}: dual ({self.dual_tag})")

    def _near(self, result: SVMResult) -> NearOptimum:
        """Return a set that contains every exact optimum."""
        from qpsvm.machines.problem.near import near  # loaded when somebody asks for it

        way.check_result(self.samples, result)
        return near(self, result)

    def _sensitivity(self, result: SVMResult) -> Sensitivity:
        """Return the system that gives the derivatives of the optimum."""
        from qpsvm.machines.problem.sensitivity import Sensitivity  # the same

        return Sensitivity(self, result)

    def _scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        return scaling(self.svm, self.space.scale, form, self.letters)

    def posed(self, form: Form = "dual") -> ScaledQP:
        """Return the scaled QP as `solver_qp` does, but write a dual down only when its arrays are read."""
        if check_form(form) == "primal" or self.constraints:
            return self.solver_qp(form)
        factors = self._scaling(form)
        original = LaterQP(Statement(self._stated), lambda: self._qp("dual", textbook=False))
        scaled = LaterQP(Statement(self._stated).scaled(*factors), lambda: original.scaled(*factors))
        return ScaledQP(scaled, original, *factors)

    @remembered
    def _stated(self) -> SVMDual:
        """The dual that the dual QP states: a penalised intercept is a feature of ones behind φ."""
        if self.intercept != "penalised" or self.constraints:
            return self.svm
        return self._dual(self.space.with_penalised_intercept(), None)

    def in_own_units(self, alpha: FloatArray) -> FloatArray:
        """Rescale α of a problem with margin level 1 to the units of this machine's α.

        Parameters
        ----------
        alpha : ndarray, shape (n,)
            Of the other problem.

        Returns
        -------
        ndarray, shape (n,)
            The same α, except in a ν-SVM, whose α add up to ν.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.NuSVM([[0.0], [2.0]], [0, 1], nu=0.5)
        >>> print(problem.in_own_units(np.array([3.0, 3.0])))
        [0.25 0.25]
        """
        return alpha

    @abstractmethod
    def _record(self) -> Record:
        """Build the exact statement of the machine over the samples that take part."""

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        """Build the dual over a Gram matrix of the samples that take part, with the given kind of intercept."""
        return self._record().dual(gram, kept)

    def _primal(self, Z: Matrix) -> QP:
        """Build the primal over w, b, …, for the samples Z (n, r) in explicit coordinates."""
        tag, objective, *rows = self.textbook
        book = Textbook(f"{self.title}: primal ({tag})", objective, tuple(rows), self.level_rows, self.letters,
                        self.size_of_f)  # fmt: skip
        kept = self.intercept if self.constraints else self.space.computed_intercept  # None: part of the Gram matrix
        return primal_qp(self._record(), Z, kept, book)


def alpha_unit(svm: SVMDual, kappa: float) -> float:
    """A typical size of α: what K and δ make of a level, or U where that limits α, but at least a thousandth of U.

    Where every level is 0, α has the size of its bounds, or of the mass that a group gives it.
    """
    largest = common_value(svm.upper)
    if largest is None:
        largest = _mean(svm.upper[np.isfinite(svm.upper)], np.inf)
    if svm.homogeneous:
        sizes = [size for size in (largest, *(abs(part.total) for part in svm.parts)) if 0.0 < size < np.inf]
        return max(min(sizes, default=1.0), SMALLEST_UNIT)
    bend = _mean(svm.curvature, 0.0) if svm.curved else 0.0
    unit = min(level_size(svm) / (kappa + bend), largest)
    return max(unit, largest / LARGEST_BOX) if np.isfinite(largest) else unit


def level_size(svm: SVMDual) -> float:
    """Return the size of the levels: their common value, else the largest."""
    common = svm.common_level
    return abs(common) if common is not None else float(np.abs(svm.level).max(initial=0.0))


def _mean(values: FloatArray, default: float) -> float:
    """Return the mean, or the default if there are no numbers."""
    return float(values.sum()) / len(values) if len(values) else default


def scaling(
    svm: SVMDual, kappa: float, form: Form, letters: Mapping[str, str] | None = None
) -> tuple[Mapping[str, float], Mapping[str, float], float]:
    """(FORM.4): factors of variables, rows and objective, as `QP.scaled` takes them; `letters` as in `Problem`.

    Raises ParameterError.
    """
    users, svm = svm.users, svm if svm.users is None else svm.users.own
    unit = alpha_unit(svm, kappa)
    level = unit * kappa if svm.homogeneous else level_size(svm)
    price = svm.unit * unit * level
    if not all(size > 0.0 and 1.0 / size < np.inf for size in (price, unit if form == "dual" else level)):
        raise ParameterError(
            f"no scale makes ordinary numbers of α near {unit:.1e} and levels near {level:.1e}: multiply X, the "
            "targets, or C and the weights by a constant, or standardise X"
        )
    objective = 1.0 / price
    if form == "dual":
        prices = {SCALED_PRICES: unit} if users else {}
        rows = {group.name: 1.0 / unit for group in svm.groups if not group.ridge}
        return {"alpha": unit, **prices}, rows, objective
    names = [*SLACKS, *(group.multiplier for group in svm.groups)]
    variables = {"w": float(np.sqrt(unit * level)), **(dict.fromkeys(names, level) if level != 1.0 else {})}
    variables = {(letters or {}).get(name, name): factor for name, factor in variables.items()}
    return variables, dict.fromkeys([*LEVEL_ROWS, SCALED_ROWS], 1.0 / level) if level != 1.0 else {}, objective


def check_pair(problem: Problem, result: SVMResult) -> None:
    """Check that a result has the rows, features, classes, kernel, constraints and variables of a problem.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    way.check_point(problem, result)
