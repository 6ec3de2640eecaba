"""Define a machine with one decision function (`Problem`): its dual, its primal, and the scaling of both QPs.

A machine is one file that says what it is called, and what it is: a `Specification`. Both QPs, scaling for a solver,
reading α from a solution (`reading`), certificate, proof and polish (`_certifier`), and the result follow from that.

    (FORM.4)  scaling:  α in units of a typical one, primal variables and rows in units of the level
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qpsvm.base.arrays.frozen import build_frozen, cached, find_common_value, repeat_value
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError, ParameterError, ParameterTypeError
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem import reading as way
from qpsvm.machines.problem.certifier import Certifier, decide_outcome, describe_caveats, polish_certificate
from qpsvm.machines.problem.evidence import check_feasible_constraints
from qpsvm.machines.problem.forms import (
    LARGEST_BOX,
    LEVEL_ROWS,
    SCALED_MULTIPLIERS,
    SCALED_ROWS,
    SLACKS,
    SMALLEST_UNIT,
    build_constrained_qp,
    build_dual_qp,
    format_dual_formula,
)  # fmt: skip
from qpsvm.machines.problem.linear_constraints import ConstraintRows
from qpsvm.machines.problem.machine import BaseProblem
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.machines.problem.starts import start
from qpsvm.program.deferred_qp import DeferredQP
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.specification import PrimalNotation, Specification, build_primal_qp
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import KindLabels, SVMResult
from qpsvm.space.kernels.psd_rule import Intercept
from qpsvm.space.operators import Diagonal, Operator

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.machines.problem.sensitivity import Sensitivity


class Problem(BaseProblem[SVMResult]):
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
    _registered_machines: ClassVar[dict[str, type[Problem]]] = {}
    #: The tag of the dual in the derivation, and what stands for a factor of the objective.
    _dual_tag: ClassVar[str] = "DUAL.1"
    _unit_symbol: ClassVar[str] = "unit"
    #: What the objective of the dual has besides, where a loss is curved.
    _curvature_term: ClassVar[str] = "½ Σ δ_i α_i²"
    #: The tag of the primal, its objective and its rows as a person writes them: see `PrimalNotation`.
    _primal_notation: tuple[str, ...] = ("DUAL.3", "½ {norm} + Σ ψ_i(t_i)", "s_i {f} ≥ ℓ_i − ξ_i")
    #: What the kinds of samples in a result mean.
    _kind_labels: ClassVar[KindLabels] = KindLabels()
    #: The rows of the primal whose multipliers are α, in order.
    _margin_constraints: ClassVar[tuple[str, ...]] = ("margin",)
    #: What the variables of the primal are called in place of w, b, …
    _variable_names: ClassVar[Mapping[str, str]] = {}

    #: What reads and judges the points of a machine: functions over what it states.
    certify, read, interpret, start = way.certify, way.read, way.interpret, start
    _read_user_alpha, _polish, _decide_outcome, _describe_caveats = (
        way.read_user_alpha,
        polish_certificate,
        decide_outcome,
        describe_caveats,
    )
    _build_result, _format_dual_formula = way.build_svm_result, format_dual_formula

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Problem._registered_machines.setdefault(
            cls.__name__, cls
        )  # a machine of a user does not stand in for one of ours

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
        if self._regression_target is None:
            raise AbsentError(f"{type(self).__name__} has no numbers as target")
        return self.samples.target

    @property
    def _regression_target(self) -> FloatArray | None:
        """The target of a regression, (n,); None for other machines."""
        return self.samples.target if self._target_kind == "numbers" else None

    @property
    def _sample_pairs(self) -> IntArray | None:
        """The pairs of samples that a row each is about, (m, 2); None for other machines."""
        return None

    def _fill_inactive(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        """Fill in s f and the level that it is to reach, one entry per dual variable, for samples of weight 0."""
        yf[rows] = self.samples.target[rows] * model.decision_function(self.X[rows])
        margin[rows] = certificate.rho

    def _compute_extras(
        self, certificate: Certificate
    ) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        """Return the extra primal variables in the machine's terms, and the intervals of their optimal values."""
        return {}, certificate.intervals

    def _build_full_dual(self, gram: Operator, kept: Intercept, rows: ConstraintRows | None = None) -> SVMDual:
        """Build the dual of the machine over a Gram matrix, with the linear constraints."""
        rows = rows or self._constraint_rows
        if rows is None:
            return self._build_dual(gram, kept)
        n = len(self._active_target)
        return rows.extend_dual(self._build_dual(Diagonal(gram.diagonal()[:n]), kept), gram, n)

    @cached
    def svm(self) -> SVMDual:
        """The dual of this machine, over the samples that take part, with the Gram matrix to compute with."""
        if self.constraints:
            return check_feasible_constraints(self, self._build_full_dual(self.space.centred_gram, self.intercept))
        centred, kept = self.space.centred_gram, self.space.computed_intercept
        if kept == self.intercept and not self._diagonal_weight:
            return self._dual_structure.with_gram(centred)
        return self._build_dual(
            centred, kept
        )  # whose levels are of that Gram matrix, where f has a part of its diagonal

    @cached
    def _dual_structure(self) -> SVMDual:
        """The dual with a placeholder for the Gram matrix, which is not needed to tell machines apart."""
        behind = 0 if self._constraint_rows is None else self._constraint_rows.Z.shape[0]
        stand_in = build_frozen(Diagonal, d=repeat_value(1.0, len(self._active_target) + behind))
        return self._build_full_dual(stand_in, self.intercept)

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of α for the rows that take part; infinite where nothing bounds it."""
        return self.svm.upper

    @cached
    def _certifier(self) -> Certifier:
        """Certifier of the points of this problem."""
        return Certifier(self.space, self.svm)

    def _build_qp(self, form: Form, textbook: bool) -> QP:
        space = self.space
        if self.constraints:
            return build_constrained_qp(self, form, textbook)
        if form == "primal":
            return self._build_primal(space.textbook_coordinates if textbook else space.coordinates)
        if self.intercept == "penalised":  # a feature of ones behind φ
            svm = self._dual_of_qp
        else:
            svm = self._build_dual(space.gram if textbook and space.is_linear else space.centred_gram, self.intercept)
        return build_dual_qp(svm, self._format_dual_formula(svm), f"{self.title}: dual ({self._dual_tag})")

    def _enclose_optima(self, result: SVMResult) -> NearOptimum:
        """Return a set that contains every exact optimum."""
        from qpsvm.machines.problem.optimum_enclosure import enclose_optima  # loaded when somebody asks for it

        way.check_result(self.samples, result)
        return enclose_optima(self, result)

    def _build_sensitivity(self, result: SVMResult) -> Sensitivity:
        """Return the system that gives the derivatives of the optimum."""
        from qpsvm.machines.problem.sensitivity import Sensitivity  # the same

        return Sensitivity(self, result)

    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        return compute_scaling(self.svm, self.space.scale, form, self._variable_names)

    def _deferred_qp(self, form: Form = "dual") -> ScaledQP:
        """Return the scaled QP as `solver_qp` does, but write a dual down only when its arrays are read."""
        if check_form(form) == "primal" or self.constraints:
            return self.solver_qp(form)
        factors = self._compute_scaling(form)
        original = DeferredQP(Statement(self._dual_of_qp), lambda: self._build_qp("dual", textbook=False))
        scaled = DeferredQP(Statement(self._dual_of_qp).scale(*factors), lambda: original.scaled(*factors))
        return ScaledQP(scaled, original, *factors)

    @cached
    def _dual_of_qp(self) -> SVMDual:
        """The dual that the dual QP states: a penalised intercept is a feature of ones behind φ."""
        if self.intercept != "penalised" or self.constraints:
            return self.svm
        return self._build_dual(self.space.with_penalised_intercept(), None)

    def _rescale_alpha(self, alpha: FloatArray) -> FloatArray:
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
        >>> print(problem._rescale_alpha(np.array([3.0, 3.0])))
        [0.25 0.25]
        """
        return alpha

    @abstractmethod
    def _build_specification(self) -> Specification:
        """Build the exact statement of the machine over the samples that take part."""

    def _build_dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        """Build the dual over a Gram matrix of the samples that take part, with the given kind of intercept."""
        return self._build_specification().build_dual(gram, kept)

    def _build_primal(self, Z: Matrix) -> QP:
        """Build the primal over w, b, …, for the samples Z (n, r) in explicit coordinates."""
        tag, objective, *rows = self._primal_notation
        book = PrimalNotation(
            f"{self.title}: primal ({tag})",
            objective,
            tuple(rows),
            self._margin_constraints,
            self._variable_names,
            self._f_scale,
        )
        kept = self.intercept if self.constraints else self.space.computed_intercept  # None: part of the Gram matrix
        return build_primal_qp(self._build_specification(), Z, kept, book)


def compute_alpha_unit(svm: SVMDual, kappa: float) -> float:
    """A typical size of α: what K and δ make of a level, or U where that limits α, but at least a thousandth of U.

    Where every level is 0, α has the size of its bounds, or of the mass that a group gives it.
    """
    largest = find_common_value(svm.upper)
    if largest is None:
        largest = _mean_or_default(svm.upper[np.isfinite(svm.upper)], np.inf)
    if svm.is_homogeneous:
        sizes = [size for size in (largest, *(abs(part.total) for part in svm.parts)) if 0.0 < size < np.inf]
        return max(min(sizes, default=1.0), SMALLEST_UNIT)
    bend = _mean_or_default(svm.curvature, 0.0) if svm.has_curvature else 0.0
    unit = min(compute_level_size(svm) / (kappa + bend), largest)
    return max(unit, largest / LARGEST_BOX) if np.isfinite(largest) else unit


def compute_level_size(svm: SVMDual) -> float:
    """Return the size of the levels: their common value, else the largest."""
    common = svm.common_level
    return abs(common) if common is not None else float(np.abs(svm.level).max(initial=0.0))


def _mean_or_default(values: FloatArray, default: float) -> float:
    """Return the mean, or the default if there are no numbers."""
    return float(values.sum()) / len(values) if len(values) else default


def compute_scaling(
    svm: SVMDual, kappa: float, form: Form, letters: Mapping[str, str] | None = None
) -> tuple[Mapping[str, float], Mapping[str, float], float]:
    """(FORM.4): factors of variables, rows and objective, as `QP.scaled` takes them; `letters` as in `Problem`.

    Raises ParameterError.
    """
    users, svm = (
        svm.linear_constraints,
        svm if svm.linear_constraints is None else svm.linear_constraints.unconstrained_dual,
    )
    unit = compute_alpha_unit(svm, kappa)
    level = unit * kappa if svm.is_homogeneous else compute_level_size(svm)
    price = svm.unit * unit * level
    if not all(size > 0.0 and 1.0 / size < np.inf for size in (price, unit if form == "dual" else level)):
        raise ParameterError(
            f"no scale makes ordinary numbers of α near {unit:.1e} and levels near {level:.1e}: multiply X, the "
            "targets, or C and the weights by a constant, or standardise X"
        )
    objective = 1.0 / price
    if form == "dual":
        prices = {SCALED_MULTIPLIERS: unit} if users else {}
        rows = {group.name: 1.0 / unit for group in svm.groups if not group.ridge}
        return {"alpha": unit, **prices}, rows, objective
    names = [*SLACKS, *(group.multiplier for group in svm.groups)]
    variables = {"w": float(np.sqrt(unit * level)), **(dict.fromkeys(names, level) if level != 1.0 else {})}
    variables = {(letters or {}).get(name, name): factor for name, factor in variables.items()}
    return variables, dict.fromkeys([*LEVEL_ROWS, SCALED_ROWS], 1.0 / level) if level != 1.0 else {}, objective


def check_result_matches(problem: Problem, result: SVMResult) -> None:
    """Check that a result has the rows, features, classes, kernel, constraints and variables of a problem.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    way.check_point(problem, result)
