"""Build the dual and the primal of a machine with one decision function (`DualStatement`).

A subclass only builds its `Specification`, the exact statement of the machine; both programs follow from it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.frozen import build_frozen, cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem.certifier import Certifier
from qpsvm.machines.problem.linear_constraints import ConstraintRows
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.program.qp import QP
from qpsvm.program.specification import PrimalNotation, Specification, build_primal_qp
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import KindLabels
from qpsvm.space.intercept import Intercept
from qpsvm.space.operators import Diagonal, Operator

if TYPE_CHECKING:
    from qpsvm.base.arrays.rationals import RationalVector
    from qpsvm.bounds.proof.exact_dual import ExactDual


class DualStatement(MachineStatement):
    """A machine with one decision function, whose dual is an `SVMDual` over a Gram matrix."""

    #: Tag of the dual in the derivation.
    _dual_tag: ClassVar[str] = "DUAL.1"
    #: Symbol of the factor of the objective.
    _unit_symbol: ClassVar[str] = "unit"
    #: Term of a loss with curvature in the objective of the dual.
    _curvature_term: ClassVar[str] = "½ Σ δ_i α_i²"
    #: Tag of the primal, its objective and its rows as text: see `PrimalNotation`.
    _primal_notation: tuple[str, ...] = ("DUAL.3", "½ {norm} + Σ ψ_i(t_i)", "s_i {f} ≥ ℓ_i − ξ_i")
    #: Descriptions of the kinds of samples in a result.
    _kind_labels: ClassVar[KindLabels] = KindLabels()
    #: Names of the primal rows whose multipliers are α, in order.
    _margin_constraints: ClassVar[tuple[str, ...]] = ("margin",)
    #: Names of primal variables that differ from w, b, …
    _variable_names: ClassVar[Mapping[str, str]] = {}

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
            The machine is not a regression.
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
        """The samples (better, worse) of each row of a ranking, (m, 2); None for other machines."""
        return None

    def _fill_inactive(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        """Fill in s f and the margin levels of samples of weight 0.

        rows (j,): These samples.
        yf, margin (n,): Changed in place; one entry per dual variable.
        """
        yf[rows] = self.samples.target[rows] * model.decision_function(self.X[rows])
        margin[rows] = certificate.rho

    def _compute_extras(
        self, certificate: Certificate
    ) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        """Return further primal variables by name, and intervals that contain their optimal values."""
        return {}, certificate.intervals

    def _build_full_dual(self, gram: Operator, intercept: Intercept, rows: ConstraintRows | None = None) -> SVMDual:
        """Build the dual of the machine over a Gram matrix, with the linear constraints.

        intercept: The kind of intercept that is not part of the Gram matrix.
        rows: The linear constraints; None for those of the problem, if it has any.
        """
        rows = rows or self._constraint_rows
        if rows is None:
            return self._build_dual(gram, intercept)
        n = len(self._active_target)
        return rows.extend_dual(self._build_dual(Diagonal(gram.diagonal()[:n]), intercept), gram, n)

    @cached
    def _dual_structure(self) -> SVMDual:
        """The dual with a placeholder for the Gram matrix, for questions that do not depend on it."""
        if self._constraint_rows is None:
            n_constrained_points = 0
        else:
            n_constrained_points = self._constraint_rows.Z.shape[0]
        placeholder = build_frozen(Diagonal, d=repeat_value(1.0, len(self._active_target) + n_constrained_points))
        return self._build_full_dual(placeholder, self.intercept)

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of α for the rows of active samples, (m,); infinite if there is no bound."""
        return self.svm.upper

    @cached
    def _certifier(self) -> Certifier:
        """Certifier of the points of this problem."""
        return Certifier(self.space, self.svm)

    def _describe_caveats(self, certificate: Certificate) -> str:
        notes = (super()._describe_caveats(certificate), self._describe_equalities(certificate))
        return "; ".join(note for note in notes if note)

    def _describe_equalities(self, certificate: Certificate) -> str:
        """Describe by how much implied equalities are violated, (COUNT.5); "" if they hold exactly.

        An implied equality is a linear constraint that every feasible point satisfies with equality.
        """
        constraints = self.svm.linear_constraints
        rows = self._constraint_rows
        if constraints is None or rows is None or constraints.equality_mask is None:
            return ""
        rows_of_dual = np.flatnonzero(constraints.equality_mask)
        t, radius = self._certifier.gap_refiner.gap_bounder.enclose_violations(certificate, rows_of_dual)
        indices = rows_of_dual - constraints.unconstrained_dual.m
        violation = float(((np.abs(t) + radius) * rows.scale[indices] * self._f_scale).max())
        if not 0.0 < violation < math.inf:
            return ""
        names = ", ".join(rows.names[k] for k in indices[:3].tolist()) + (", …" if len(indices) > 3 else "")
        return (
            f"the constraints {names} only allow an equality, which holds up to {violation:.2g}: "
            "the gap is that of the problem with their bounds relaxed by as much"
        )

    @cached
    def _dual_of_qp(self) -> SVMDual:
        """The dual as the dual QP states it: a penalised intercept is one more feature, which is 1."""
        if self.intercept != "penalised" or self.constraints:
            return self.svm
        return self._build_dual(self.space.with_penalised_intercept(), None)

    def _rescale_alpha(self, alpha: FloatArray) -> FloatArray:
        """Rescale α of a problem with margin level 1 to the units of this machine's α.

        Parameters
        ----------
        alpha : ndarray, shape (n,)
            The α of the other problem.

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
        """Build the exact statement of the machine over the active samples."""

    @abstractmethod
    def _build_exact_program(self, levels: RationalVector | None = None) -> ExactDual:
        """Build the exact program for a proof; `levels` replaces the margin levels, for a ball (BALL.1)."""

    def _build_dual(self, gram: Operator, intercept: Intercept) -> SVMDual:
        """Build the dual over a Gram matrix (n, n) of the active samples, with the given kind of intercept."""
        return self._build_specification().build_dual(self._extend_gram(gram), intercept)

    def _extend_gram(self, gram: Operator) -> Operator:
        """Extend a Gram matrix (n, n) of the samples to all points that `SVMDual.mix` combines; for subclasses."""
        return gram

    def _build_primal(self, Z: Matrix) -> QP:
        """Build the primal over w, b, …, for the samples Z (n, r) in explicit coordinates."""
        tag, objective, *rows = self._primal_notation
        notation = PrimalNotation(
            f"{self.title}: primal ({tag})",
            objective,
            tuple(rows),
            self._margin_constraints,
            self._variable_names,
            self._f_scale,
        )
        # the computed intercept is None if it is part of the Gram matrix
        if self.constraints:
            intercept = self.intercept
        else:
            intercept = self.space.computed_intercept
        return build_primal_qp(self._build_specification(), Z, intercept, notation)

    def _format_dual_formula(self, svm: SVMDual) -> str:
        """Format the objective of the dual for printing."""
        linear = " − ℓᵀα"
        if svm.common_level == 1.0:
            linear = " − 1ᵀα"
        elif svm.common_level == 0.0:
            linear = ""
        objective = f"½ αᵀQα{f' + {self._curvature_term}' if svm.has_curvature else ''}{linear}"
        if svm.unit != 1.0:
            objective = f"{self._unit_symbol} ({objective})"
        centred = not self.space.is_linear and self.space.centred_gram is not self.space.gram
        entry = "(HKH)_ij,  H = I − 11ᵀ/n" if centred else "K(x_i, x_j)"
        if self.intercept == "penalised":
            entry = "(K(x_i, x_j) + 1)"
        sign = ""
        if find_common_value(svm.sign) != 1.0:
            sign = "y_i y_j " if self.samples.classes is not None else "s_i s_j "
        return f"{objective},  Q_ij = {sign}{entry}"
