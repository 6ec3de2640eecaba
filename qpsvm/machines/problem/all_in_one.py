"""Build the two QPs and the certified results of the machines that learn several classes in one program.

Such a machine is an `AllInOneDual` over its samples (`program.all_in_one`), which states the margin level of the rows,
and whether the rivals of a sample share one slack. All else follows from that.

The two QPs, and their scaling for a solver:

    (JFORM.1)  dual:  minimise ½αᵀPα − ℓ1ᵀα,  P_vv′ = K_ii′ (e_y − e_c)ᵀ(e_y′ − e_c′) for rows v = (i, c), v′ =
               (i′, c′), over α ≥ 0 subject to  share:  Σ_c α_ic ≤ C_i, or the box α_ic ≤ C_i;  balance:  Σ_i β_ic = 0
               for every class but the last, whose balance follows
    (JFORM.2)  primal:  minimise ½Σ_c ‖w_c‖² + Σ C_i ξ  over w, b, ξ ≥ 0  subject to  margin:  ⟨w_y − w_c, z_i⟩ + b_y −
               b_c ≥ ℓ − ξ.  Of a free intercept only differences count:  b is how much each class but
               the last has more than that
    (JFORM.3)  w has the w_c one after the other, b one number per class, ξ one per sample or per row, and rows (i, c)
               are ordered by sample, then by rival

A penalised intercept is ½Σ_c b_c² in the primal and K + 1 in the dual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_real_vector
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import cached, copy_without_cache
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, ParameterTypeError, TooLargeError
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import polish
from qpsvm.bounds.repair import feasible
from qpsvm.data.samples import ClassWeight, build_multiclass_samples
from qpsvm.machines.problem.all_in_one_statement import AllInOneStatement
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.machines.problem.caveats import find_caveats
from qpsvm.machines.problem.certifier import (
    CLEAR_SLACK_SHARE,
    LEAST_CURVATURE,
    NEGLIGIBLE_ALPHA_SHARE,
    SMALL_ALPHA_SHARE,
)
from qpsvm.machines.problem.forms import LARGEST_BOX, SMALLEST_UNIT
from qpsvm.machines.problem.parameter_checks import Form, as_intercept
from qpsvm.machines.problem.penalties import check_penalties, format_penalty
from qpsvm.machines.problem.result_checks import check_all_in_one_result, check_point
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP, Rows
from qpsvm.program.solution import QPSolution
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.model import AllInOneModel
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.operators import Diagonal, Operator, couple_class_rows, couple_classes

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.bounds.proof.proof import Proof

#: Largest number of entries in the rows of a primal, of 16 bytes each besides what a solver needs for them.
MAX_ENTRIES = 100_000_000
#: Above this gap polishing tries one step length of (POL.2): the others did not find the split of such points either.
ROUGH_GAP = 1e-3


def list_variables(dual: AllInOneDual) -> tuple[IntArray, IntArray]:
    """Return the sample and the rival of every row (i, c), in the order of (JFORM.3): (m,) each."""
    return np.divmod(dual.row_positions, dual.k)


def build_dual_qp(dual: AllInOneDual, gram: Operator, title: str, penalised: bool) -> QP:
    """Build the dual QP, (JFORM.1), over a Gram matrix (n, n).

    penalised: Whether the Gram matrix is K + 1, for a penalised intercept.
    """
    sample, rival = list_variables(dual)
    label = dual.label[sample]
    m = len(sample)
    constraints: dict[str, Rows] = {}
    G: Matrix | None = None
    if dual.has_shared_slack:
        G = sp.csc_array((np.ones(m), (sample, np.arange(m))), shape=(dual.n, m))
        constraints["share"] = Rows("G", slice(0, dual.n), "Σ_c α_ic ≤ C_i")
    A: Matrix | None = None
    if dual.intercept == "free":
        columns = np.tile(np.arange(m), 2)
        signs = np.concatenate([np.ones(m), -np.ones(m)])
        balance = sp.csc_array((signs, (np.concatenate([label, rival]), columns)), shape=(dual.k, m))
        A = sp.csc_array(balance.tocsr()[: dual.k - 1])
        constraints["balance"] = Rows("A", slice(0, dual.k - 1), "Σ_i β_ic = 0 for each class but the last")
    entry = "(K(x_i, x_j) + 1)" if penalised else "K(x_i, x_j)"
    level = "1ᵀα" if dual.level == 1.0 else f"{dual.level:g}·1ᵀα"
    return QP(  # (CSMC.9), (WWMC.9)
        P=couple_classes(gram, sample, label, rival, dual.k), q=np.full(m, -dual.level), G=G,
        h=dual.upper if dual.has_shared_slack else None, A=A, b=None if A is None else np.zeros(dual.k - 1),
        lb=np.zeros(m), ub=None if dual.has_shared_slack else dual.upper[sample], variables={"alpha": slice(0, m)},
        constraints=constraints, title=title,
        formula=f"½ αᵀPα − {level},  P_(ic)(jd) = {entry} (e_y_i − e_c)ᵀ(e_y_j − e_d)",
    )  # fmt: skip


def build_primal_qp(dual: AllInOneDual, Z: Matrix, title: str) -> QP:
    """Build the primal QP, (JFORM.2), for samples Z (n, r) in explicit coordinates. Raises TooLargeError."""
    sample, rival = list_variables(dual)
    label = dual.label[sample]
    m = len(sample)
    r = Z.shape[1]
    k = dual.k
    entries = 2 * (k - 1) * (Z.nnz if sp.issparse(Z) else Z.size)
    if entries > MAX_ENTRIES:
        raise TooLargeError(
            f"the primal of {dual.n} samples in {r} coordinates with {k} classes has {entries:.1e} numbers in its "
            "rows: use form='dual', backend='auto', or fewer samples"
        )
    rows = np.arange(m)
    n_slacks = dual.n if dual.has_shared_slack else m
    n_intercepts = {"free": k - 1, "penalised": k, None: 0}[dual.intercept]
    blocks = [couple_class_rows(sp.csr_array(Z), sample, label, rival, k)]
    if n_intercepts:
        signs = np.concatenate([np.ones(m), -np.ones(m)])
        differences = sp.csc_array((signs, (np.tile(rows, 2), np.concatenate([label, rival]))), shape=(m, k))
        blocks.append(sp.csr_array(differences[:, :n_intercepts]))
    slack_of_row = sample if dual.has_shared_slack else rows
    blocks.append(sp.csr_array((np.ones(m), (rows, slack_of_row)), shape=(m, n_slacks)))
    variables = {"w": slice(0, k * r)}
    if n_intercepts:
        variables["b"] = slice(k * r, k * r + n_intercepts)
    n_free = k * r + n_intercepts
    variables["xi"] = slice(n_free, n_free + n_slacks)
    constraints = {"margin": Rows("G", slice(0, m), f"f_y(x_i) − f_c(x_i) ≥ {dual.level:g} − ξ")}
    ridge = np.full(n_intercepts, 1.0 if dual.intercept == "penalised" else 0.0)
    penalties = dual.upper if dual.has_shared_slack else dual.upper[sample]
    penalty_text = "Σ C_i ξ_i" if dual.has_shared_slack else "Σ C_i ξ_ic"
    return QP(  # (CSMC.2), (WWMC.2)
        P=Diagonal(np.concatenate([np.ones(k * r), ridge, np.zeros(n_slacks)])),
        q=np.concatenate([np.zeros(n_free), penalties]),
        G=sp.csc_array(-sp.hstack(blocks, format="csc")), h=np.full(m, -dual.level),
        lb=np.concatenate([np.full(n_free, -np.inf), np.zeros(n_slacks)]), variables=variables, constraints=constraints,
        formula=f"½ Σ_c ‖w_c‖² + {'½ Σ_c b_c² + ' if ridge.any() else ''}{penalty_text}", title=title,
    )  # fmt: skip


def compute_scaling(
    dual: AllInOneDual, kappa: float, form: Form
) -> tuple[Mapping[str, float], Mapping[str, float], float]:
    """Compute factors of variables, rows and objective, as `QP.scaled` takes them, in typical units of α, (FORM.4).

    kappa: Scale of the kernel values.
    """
    mean_bound = float(dual.upper.mean())
    unit = max(min(dual.level / (2.0 * kappa), mean_bound), mean_bound / LARGEST_BOX, SMALLEST_UNIT)
    objective = 1.0 / (unit * dual.level)
    if form == "dual":
        return {"alpha": unit}, {"share": 1.0 / unit, "balance": 1.0 / unit}, objective
    values = dict.fromkeys(("b", "xi"), dual.level)
    return {"w": float(np.sqrt(unit * dual.level)), **values}, {"margin": 1.0 / dual.level}, objective


def read_alpha(dual: AllInOneDual, parts: Mapping[str, FloatArray], margins: FloatArray | None) -> FloatArray:
    """Read α (n, k), with 0 for entries that are not finite.

    parts: The point of a QP, by the names of its variables.
    margins (m,): Multipliers of the margin rows of a primal; None for a dual, whose point contains α.
    """
    flat = parts["alpha"] if margins is None else margins
    return dual.unflatten_alpha(np.where(np.isfinite(flat), flat, 0.0))


class AllInOneProblem(AllInOneStatement, BaseProblem[AllInOneResult]):
    """A machine that learns several classes in one program.

    X (n, d): The samples, in the form used for computation.
    classes (k,): The labels in sort order.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(
            build_multiclass_samples(X, y, sample_weight, class_weight), kernel, as_intercept(intercept), psd
        )
        self._set_hyperparameters(C=C)

    def _set_hyperparameters(self, *, C: float | ArrayLike) -> None:  # type: ignore[override]
        self.C = check_penalties(C, self.samples)

    @cached
    def title(self) -> str:
        """The machine with its parameters."""
        intercept = {"free": "intercept free", "penalised": "intercept penalised", None: "no intercept"}[self.intercept]
        C = format_penalty(self.C)
        return f"{self._short_name}, {len(self.classes)} classes, C = {C}, {intercept}, kernel {self.kernel}"

    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        return compute_scaling(self._all_in_one_dual, self.space.scale, form)

    def _build_qp(self, form: Form, textbook: bool) -> QP:
        space = self.space
        if form == "dual":
            if self.intercept == "penalised":
                gram = space.with_penalised_intercept()
            else:
                gram = space.gram if textbook and space.is_linear else space.centred_gram
            title = f"{self.title}: dual ({self._dual_tag})"
            return build_dual_qp(self._all_in_one_dual, gram, title, self.intercept == "penalised")
        Z = space.textbook_coordinates if textbook else space.coordinates
        return build_primal_qp(self._all_in_one_dual, Z, f"{self.title}: primal ({self._primal_tag})")

    def read(self, solution: QPSolution) -> FloatArray:
        """Read α (active samples, k) from a solution of either QP, as `Problem.read` does."""
        if not isinstance(solution, QPSolution):
            raise ParameterTypeError(f"read takes the QPSolution of a QP of this problem, got {format_value(solution)}")
        dual, qp = self._all_in_one_dual, solution.qp
        if solution.x is None:
            return np.zeros((dual.n, dual.k))
        is_primal = "margin" in qp.constraints
        margins = qp.multiplier("margin", solution.z, solution.y) if is_primal else None
        parts = qp.split(solution.x)
        n_rows = len(margins) if margins is not None else len(parts.get("alpha", ()))
        if n_rows != len(dual.row_positions):
            raise DataError(f"the solution is of {qp!r}, which is not a QP of this problem over {dual.n} samples")
        return read_alpha(dual, parts, margins)

    def _read_point(self, solution: QPSolution | DualSolution, form: Form | None) -> tuple[FloatArray, None, Form]:
        if isinstance(solution, DualSolution):
            return np.zeros(self.svm.m) if solution.alpha is None else solution.alpha, None, "dual"
        alpha = self._all_in_one_dual.flatten_alpha(self.read(solution))
        return alpha, None, form or ("primal" if "margin" in solution.qp.constraints else "dual")

    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        """Check an α (n, k) given by the user, and return it over the rows: (m,). Raises DataError."""
        shape = (self.n, len(self.classes))
        values = np.asarray(as_real_vector(np.ravel(np.asarray(alpha)), name))
        if np.shape(alpha) != shape or not np.isfinite(values).all():
            raise DataError(f"{name} must be finite, of shape {shape}; got shape {np.shape(alpha)}")
        return self._all_in_one_dual.flatten_alpha(self._restrict_to_dual(values.reshape(shape)))

    def start(self, start: AllInOneResult | ArrayLike) -> FloatArray:
        """Build a feasible α (active samples, k) from a result or an array (n, k), as `Problem.start` does."""
        return self._all_in_one_dual.unflatten_alpha(self._build_start(start))

    def _build_start(self, start: AllInOneResult | ArrayLike) -> FloatArray:
        dual = self._all_in_one_dual
        if not isinstance(start, AllInOneResult):
            return feasible(self.svm, self._read_user_alpha(start, "start"))
        alpha = dual.unflatten_alpha(self._read_user_alpha(start.alpha))
        is_at_bound = self.samples.select_active(start.kind) == 2
        old_upper = self.samples.select_active(start.upper)
        ratio = np.divide(dual.upper, old_upper, out=np.ones(len(old_upper)), where=old_upper > 0.0)[:, None]
        return feasible(self.svm, dual.flatten_alpha(np.where(is_at_bound, alpha * ratio, alpha)))

    def prove(self, result: AllInOneResult, *, tol: float | None = None) -> Proof:
        """Prove the numbers of a result for all classes at once."""
        from qpsvm.machines.problem.verify import verify_all_in_one_result

        return verify_all_in_one_result(self, result, tol)

    def _enclose_optima(self, result: AllInOneResult) -> NearOptimum:
        """Return a set that contains every exact optimum."""
        from qpsvm.machines.problem.optimum_enclosure import enclose_all_in_one_optima  # imported on demand

        check_all_in_one_result(result)
        return enclose_all_in_one_optima(self, result)

    def _polish(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
    ) -> Certificate:
        del tol
        lengths = 1 if certificate.gap > ROUGH_GAP else None
        certify = self._certifier.certify
        return polish(self.svm, certificate, certify, clock=clock, certify_seconds=certify_seconds, lengths=lengths)

    def _build_result(self, certificate: Certificate, has_time: bool = True, **record: Any) -> AllInOneResult:
        """Build the result of a certified point, with the record of the solve."""
        del has_time
        self.samples.check()  # raises an error if the samples have changed
        samples, dual, label = self.samples, self._all_in_one_dual, self.class_index
        model = self._build_model(certificate)
        t = dual.unflatten_alpha(certificate.best_violation)
        alpha = self._expand_from_dual(dual.unflatten_alpha(certificate.alpha))
        missing = self._expand_from_dual(t)
        full_dual = AllInOneDual(  # over all samples
            label, dual.k, samples.expand_active(dual.upper), dual.level, dual.has_shared_slack, dual.intercept
        )
        if not samples.all_weights_positive:
            inactive = np.flatnonzero(samples.weight == 0)
            missing[inactive] = replace(full_dual, label=label[inactive]).compute_shortfalls(
                model.decision_function(self.X[inactive])
            )
        slack = np.maximum(missing, 0.0)
        coef = certificate.coef.reshape(dual.k, -1).T
        return AllInOneResult(
            alpha=alpha,
            coef=self._expand_from_dual(coef),
            b=model.b,
            primal=certificate.primal,
            dual=certificate.dual,
            gap=certificate.gap,
            rounding=certificate.rounding,
            kind=self._expand_from_dual(self._classify_variables(dual.unflatten_alpha(certificate.alpha), t)),
            shortfalls=missing,
            xi=slack.max(axis=1) if dual.has_shared_slack else slack,
            terms=full_dual.compute_gap_terms(alpha, missing),
            upper=full_dual.upper,
            label=label,
            model=model,
            title=self.title,
            problem=copy_without_cache(self),
            caveats=find_caveats(self, certificate),
            **record,
        )

    def _classify_variables(self, alpha: FloatArray, t: FloatArray) -> NDArray[np.int8]:
        """Return the kinds of α as in `AllInOneResult.kind`: (n, k).

        α is compared with the slack, and not with a fixed threshold.

        alpha, t (n, k): α, and the violations, which are negative beyond the margin.
        """
        dual = self._all_in_one_dual
        C = dual.upper[:, None]
        inverse_curvature = (
            0.5 / np.maximum(self.space.centred_gram.diagonal(), LEAST_CURVATURE * self.space.scale)[:, None]
        )
        worst = np.maximum(t.max(axis=1), 0.0)[:, None] if dual.has_shared_slack else 0.0
        negligible = np.where(np.abs(worst - t) > CLEAR_SLACK_SHARE * dual.level, NEGLIGIBLE_ALPHA_SHARE * C, 0.0)
        small = SMALL_ALPHA_SHARE * np.minimum(C, float(alpha.max()))
        is_zero = alpha <= np.maximum((worst - t) * inverse_curvature, np.where(worst > t, negligible, 0.0))
        kind = np.where((alpha > 0.0) & ~(is_zero & (alpha <= small)), 1, 0).astype(np.int8)
        slack = worst if dual.has_shared_slack else t
        bound_slack = C - alpha.sum(axis=1)[:, None] if dual.has_shared_slack else C - alpha
        negligible = np.where(slack > CLEAR_SLACK_SHARE * dual.level, NEGLIGIBLE_ALPHA_SHARE * C, 0.0)
        is_at_bound = bound_slack <= np.maximum(slack * inverse_curvature, negligible)
        kind[(kind == 1) & is_at_bound & (bound_slack <= small)] = 2
        return kind

    def _build_model(self, point: Certificate) -> AllInOneModel:
        """Build the decision functions of a certified point."""
        samples, space, k = self.samples, self.space, self._all_in_one_dual.k
        d = samples.X.shape[1]
        coef = point.coef.reshape(k, -1).T
        common: dict[str, Any] = {
            "kernel": space.kernel, "classes": self.classes, "b": point.intercepts, "n_features": d,
            "feature_names": samples.feature_names,
        }  # fmt: skip
        if point.w is not None:
            return AllInOneModel(coef=np.zeros((0, k)), vectors=np.zeros((0, d)), w=point.w.reshape(k, d), **common)
        support = np.flatnonzero(coef.any(axis=1))
        vectors = samples.active_rows[support] if isinstance(space.kernel, Precomputed) else space.X[support]
        return AllInOneModel(coef=coef[support], vectors=vectors, w=None, **common)


def check_all_in_one_matches(problem: AllInOneProblem, result: object) -> None:
    """Check that a result of several classes fits a problem. Raises ParameterTypeError, DataError."""
    check_point(problem, check_all_in_one_result(result))
