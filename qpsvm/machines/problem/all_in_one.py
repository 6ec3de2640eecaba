"""Define the machines that learn several classes in one program (`AllInOneProblem`).

Their dual is that of any machine, over pairs of a sample and a rival class, (JOINT.4); `AllInOneDual` says what else is
particular to it: one slack may be shared by all rivals of a sample, and every class has an intercept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_real_vector
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import multiply_exactly, round_all_down
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.class_space import ClassSpace
from qpsvm.bounds.polish import polish
from qpsvm.data.labels import ClassWeight
from qpsvm.data.samples import build_multiclass_samples
from qpsvm.machines.problem.certifier import Certifier
from qpsvm.machines.problem.class_forms import build_dual_qp, build_primal_qp, compute_scaling
from qpsvm.machines.problem.class_results import build_class_result
from qpsvm.machines.problem.parameter_checks import Form, check_intercept
from qpsvm.machines.problem.penalties import check_penalties, compute_active_penalties, format_penalty
from qpsvm.machines.problem.problem import Problem
from qpsvm.machines.problem.result_checks import check_function_count
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.solution import QPSolution
from qpsvm.program.specification import Specification
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.svm_result import KindLabels, SVMResult
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.operators import Operator, RepeatedOperator, build_directions

if TYPE_CHECKING:
    from qpsvm.base.arrays.rationals import RationalVector
    from qpsvm.bounds.proof.exact_dual import ExactDual

#: Above this gap, polishing tries one step length of (POL.2): others found no better split of α into 0, free and bound.
ROUGH_GAP = 1e-3


class AllInOneProblem(Problem):
    """A machine that learns several classes in one program.

    X (n, d): The samples, in the form used for computation.
    classes (k,): The labels in sort order.
    C (n,): The penalty of each sample.
    """

    #: Name of the machine in titles.
    _short_name: ClassVar[str]
    #: Whether the rivals of a sample share one slack.
    _has_shared_slack: ClassVar[bool]
    #: Tag of the primal in the derivation of the machine, such as CSMC.2.
    _primal_tag: ClassVar[str]
    _kind_labels = KindLabels(("idle", "margin", "bound"))
    _hyperparameters, _uses_explicit_features = ("C",), False
    C: FloatArray

    def __init__(
        self, X: Any, y: ArrayLike | None = None, C: float | ArrayLike = 1.0,
        kernel: Any = Linear(), sample_weight: ArrayLike | None = None, psd: PSDRule = "raise",  # noqa: B008  (frozen)
        intercept: Intercept = "free", class_weight: ClassWeight = None,
    ) -> None:  # fmt: skip
        samples = build_multiclass_samples(X, y, sample_weight, class_weight)
        super().__init__(samples, kernel, check_intercept(intercept), psd)
        self._set_hyperparameters(C=C)

    def _set_hyperparameters(self, *, C: float | ArrayLike) -> None:  # type: ignore[override]
        self.C = check_penalties(C, self.samples)

    @cached
    def title(self) -> str:
        """The machine with its parameters."""
        intercept = {"free": "intercept free", "penalised": "intercept penalised", None: "no intercept"}[self.intercept]
        C = format_penalty(self.C)
        return f"{self._short_name}, {len(self.classes)} classes, C = {C}, {intercept}, kernel {self.kernel}"

    @property
    def class_index(self) -> IntArray:
        """Index of each sample's label in `classes`: (n,)."""
        return self.samples.target.astype(np.intp)

    @cached
    def _textbook_dual(self) -> AllInOneDual:
        """The dual (JOINT.4) of the active samples, with the intercept of the machine."""
        upper, _ = round_all_down(compute_active_penalties(self.C, self.samples))
        return AllInOneDual(
            label=self._select_active(self.class_index), k=len(self.classes), upper=upper, level=1.0,
            has_shared_slack=self._has_shared_slack, intercept=self.intercept,
        )  # fmt: skip

    @property
    def _all_in_one_dual(self) -> AllInOneDual:
        """The dual used in computations: `_textbook_dual`, but without an intercept if the Gram matrix is K + 1."""
        dual = self.svm.classes
        assert dual is not None
        return dual

    def _build_specification(self) -> Specification:
        """State the exact dual. Its rows (i, c) are ordered by sample i, then rival c; the points of w by class."""
        dual = self._textbook_dual
        sample = dual.row_positions // dual.k
        own, rival = dual.class_pairs
        weight, C = (self._select_active(values)[sample] for values in (self.sample_weight, self.C))
        return Specification(  # (JOINT.4)
            sign=repeat_value(1.0, len(sample)), level=dual.level, upper=multiply_exactly(weight, C),
            mix=build_directions(dual.n, sample, own, rival, dual.k), classes=dual,
        )  # fmt: skip

    def _build_exact_program(self, levels: RationalVector | None = None) -> ExactDual:
        """Build the exact program for a proof; `levels` is for the ball of an SVDD only, and ignored."""
        from qpsvm.bounds.proof.classes import build_class_program  # imported on demand

        del levels
        dual = self._textbook_dual
        return build_class_program(
            dual.label, dual.k, C=self._select_active(self.C), weight=self._select_active(self.sample_weight),
            has_shared_slack=dual.has_shared_slack, intercept=self.intercept,
        )  # fmt: skip

    def _extend_gram(self, gram: Operator) -> Operator:
        """Extend a Gram matrix K (n, n) to the k copies of the samples, one per class: I ⊗ K."""
        return RepeatedOperator(gram, len(self.classes))

    @cached
    def _certifier(self) -> Certifier:
        """Certifier of the points of this problem."""
        return Certifier(ClassSpace(self.space, len(self.classes)), self.svm)

    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """Compute the factors of variables, rows and objective that `QP.scaled` takes."""
        return compute_scaling(self._all_in_one_dual, self.space.scale, form)

    def _build_qp(self, form: Form, textbook: bool) -> QP:
        """Build a QP in the caller's coordinates (`textbook`), or in those that are used in computations."""
        space = self.space
        if form == "primal":
            Z = space.textbook_coordinates if textbook else space.coordinates
            return build_primal_qp(self._all_in_one_dual, Z, f"{self.title}: primal ({self._primal_tag})")
        is_penalised = self.intercept == "penalised"
        if is_penalised:
            gram = space.with_penalised_intercept()
        else:  # a linear K needs no centring, which only reduces rounding; another K may be indefinite without it
            gram = space.gram if textbook and space.is_linear else space.centred_gram
        title = f"{self.title}: dual ({self._dual_tag})"
        return build_dual_qp(self._all_in_one_dual, gram, title, penalised=is_penalised)

    def _deferred_qp(self, form: Form = "dual") -> ScaledQP:
        """Return `solver_qp(form)`: unlike the base class, build the arrays at once, also those of a dual."""
        return self.solver_qp(form)

    def read(self, solution: QPSolution, form: Form) -> tuple[FloatArray, None]:
        """Read α (m,) of the rows (i, c) off a solution, as `Problem.read`; w is None, because α determines it."""
        alpha, _ = super().read(solution, form)
        return alpha, None

    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        """Check an α (n, k) given by the user, and return it over the rows: (m,). Raises DataError."""
        values = _as_finite_matrix(alpha, name, (self.n, len(self.classes)))
        return self._all_in_one_dual.flatten_alpha(self._restrict_to_dual(values))

    def _read_user_weights(self, w: ArrayLike) -> FloatArray:
        """Check the w (k, d) of a user, and return it flat: (k d,). Raises DataError, UnsupportedError."""
        if not self.space.is_linear:
            raise UnsupportedError("certify takes the w of several classes for a linear kernel only")
        return _as_finite_matrix(w, "w", (len(self.classes), self.space.samples.d)).ravel()

    def _fit_to_time(
        self, alpha: FloatArray, w: FloatArray | None, tol: float, seconds: float
    ) -> tuple[FloatArray, float]:
        """Return α itself and the target gap 0: no faster certificate is available for several classes."""
        del w, tol, seconds
        return alpha, 0.0

    def start(self, start: SVMResult | ArrayLike) -> FloatArray:
        """Build a feasible α (active samples, k) from a result or an array (n, k), as `Problem.start` does."""
        return self._all_in_one_dual.unflatten_alpha(self._build_start(start))

    def _read_neighbouring_alpha(self, result: SVMResult) -> FloatArray:
        """Read α (m,) from the result of a neighbouring problem; an α at its old bound moves with the bound."""
        dual = self._all_in_one_dual
        alpha = dual.unflatten_alpha(self._read_user_alpha(result.alpha, "start"))
        is_at_bound = self._select_active(result.kind) == self._kind_labels.names.index("bound")
        old_upper = self._select_active(result.upper)
        ratio = np.divide(dual.upper, old_upper, out=np.ones(len(old_upper)), where=old_upper > 0.0)[:, None]
        return dual.flatten_alpha(np.where(is_at_bound, alpha * ratio, alpha))

    def _build_sensitivity(self, result: SVMResult) -> NoReturn:
        """Refuse derivatives. Raises UnsupportedError."""
        check_function_count(self, result)
        raise UnsupportedError(f"no derivatives of {result.title}, which is one program over several classes")

    def _polish(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
    ) -> Certificate:
        """Improve a certified point by `polish`, which runs until the gap is rounding, whatever `tol` is."""
        del tol
        return polish(
            self.svm, certificate, self._certifier.certify, clock=clock, certify_seconds=certify_seconds,
            lengths=1 if certificate.gap > ROUGH_GAP else None,
        )  # fmt: skip

    def _build_result(self, certificate: Certificate, has_time: bool = True, **record: Any) -> AllInOneResult:
        """Build the result of a certified point, with the record of the solve. No part of it depends on `has_time`."""
        del has_time
        self.samples.check_unchanged()
        return build_class_result(self, self._all_in_one_dual, certificate, **record)


def _as_finite_matrix(values: ArrayLike, name: str, shape: tuple[int, int]) -> FloatArray:
    """Return numbers given by the user as a matrix of this shape. Raises DataError, DataTypeError."""
    numbers = np.asarray(as_real_vector(np.ravel(np.asarray(values)), name))
    if np.shape(values) != shape or not np.isfinite(numbers).all():
        raise DataError(f"{name} must be finite, of shape {shape}; got shape {np.shape(values)}")
    return numbers.reshape(shape)
