"""State the dual and the primal of a machine with one decision function (`DualStatement`).

All of it follows from a `Specification`, which is the exact statement of the machine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from qpsvm.base.arrays.frozen import build_frozen, cached, find_common_value, repeat_value
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


class DualStatement(MachineStatement):
    """A machine with one decision function, as an `SVMDual` over a Gram matrix."""

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

    def _format_dual_formula(self, svm: SVMDual) -> str:
        """Format the objective of the dual for printing."""
        linear = {1.0: " − 1ᵀα", 0.0: ""}.get(svm.common_level if svm.common_level is not None else np.nan, " − ℓᵀα")
        objective = f"½ αᵀQα{f' + {self._curvature_term}' if svm.has_curvature else ''}{linear}"
        if svm.unit != 1.0:
            objective = f"{self._unit_symbol} ({objective})"
        centred = not self.space.is_linear and self.space.centred_gram is not self.space.gram
        entry = "(HKH)_ij,  H = I − 11ᵀ/n" if centred else "K(x_i, x_j)"
        if self.intercept == "penalised":
            entry = "(K(x_i, x_j) + 1)"
        sign = (
            "" if find_common_value(svm.sign) == 1.0 else "y_i y_j " if self.samples.classes is not None else "s_i s_j "
        )
        return f"{objective},  Q_ij = {sign}{entry}"
