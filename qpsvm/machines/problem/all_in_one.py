"""Build the two QPs and the certified results of the machines that learn several classes in one program.

Such a machine is an `AllInOneDual` over its samples (`program.all_in_one`): how much a row is to reach, and whether the
rivals of a sample share one slack. All else follows from that.

The two QPs, and their scaling for a solver:

    (JFORM.1)  dual:  minimise ½αᵀPα − ℓ1ᵀα,  P_vv′ = K_ii′ (e_y − e_c)ᵀ(e_y′ − e_c′) for rows v = (i, c), v′ =
               (i′, c′), over α ≥ 0 subject to  share:  Σ_c α_ic ≤ C_i, or the box α_ic ≤ C_i;  balance:  Σ_i β_ic = 0
               for every class but the last, whose balance follows
    (JFORM.2)  primal:  minimise ½Σ_c ‖w_c‖² + Σ C_i ξ  over w, b, ξ ≥ 0  subject to  margin:  ⟨w_y − w_c, z_i⟩ + b_y −
               b_c ≥ ℓ − ξ.  Of a free intercept only differences count:  b is how much each class but
               the last has more than that
    (JFORM.3)  w has the w_c one after the other, b one number a class, ξ one a sample or one a row, and rows (i, c) are
               ordered by sample, then by rival

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
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import polish
from qpsvm.bounds.repair import feasible
from qpsvm.data.samples import ClassWeight, build_multiclass_samples
from qpsvm.machines.problem.all_in_one_statement import AllInOneStatement
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.machines.problem.caveats import find_caveats
from qpsvm.machines.problem.certification_limits import NO_LIMITS, CertificationLimits
from qpsvm.machines.problem.certifier import CLEAR, LEAST_CURVATURE, NOTHING, SMALL
from qpsvm.machines.problem.forms import LARGEST_BOX, SMALLEST_UNIT
from qpsvm.machines.problem.parameter_checks import Form, as_intercept
from qpsvm.machines.problem.penalties import check_penalties, format_penalty
from qpsvm.machines.problem.result_checks import check_all_in_one_result, check_point
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.qp import QP, Rows
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.model import AllInOneModel
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.operators import Diagonal, Operator, couple_class_rows, couple_classes

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.bounds.proof.proof import Proof

#: Entries of the primal's rows beyond which it is not written down: 16 bytes each, and what a solver makes of them.
MAX_ENTRIES = 100_000_000


def list_variables(dual: AllInOneDual) -> tuple[IntArray, IntArray]:
    """Return the sample and the rival of every row (i, c), in the order of (JFORM.3): (m,) each."""
    return np.divmod(dual.row_positions, dual.k)


def build_dual_qp(dual: AllInOneDual, gram: Operator, title: str, penalised: bool) -> QP:
    """(JFORM.1). Shapes: gram (n, n)."""
    sample, rival = list_variables(dual)
    label, m = dual.label[sample], len(sample)
    constraints: dict[str, Rows] = {}
    G: Matrix | None = None
    if dual.has_shared_slack:
        G = sp.csc_array((np.ones(m), (sample, np.arange(m))), shape=(dual.n, m))
        constraints["share"] = Rows("G", slice(0, dual.n), "Σ_c α_ic ≤ C_i")
    A: Matrix | None = None
    if dual.intercept == "free":
        each, ones = np.arange(m), np.ones(m)
        balance = sp.csc_array(
            (np.concatenate([ones, -ones]), (np.concatenate([label, rival]), np.tile(each, 2))), shape=(dual.k, m)
        )
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
    """(JFORM.2) for samples Z (n, r) in explicit coordinates. Raises TooLargeError."""
    sample, rival = list_variables(dual)
    label, m, r, k = dual.label[sample], len(sample), Z.shape[1], dual.k
    entries = 2 * (k - 1) * (Z.nnz if sp.issparse(Z) else Z.size)
    if entries > MAX_ENTRIES:
        raise TooLargeError(
            f"the primal of {dual.n} samples in {r} coordinates with {k} classes has {entries:.1e} numbers in its "
            "rows: use form='dual', backend='auto', or fewer samples"
        )
    each, ones = np.arange(m), np.ones(m)
    slacks = dual.n if dual.has_shared_slack else m
    width = {"free": k - 1, "penalised": k, None: 0}[dual.intercept]
    blocks = [couple_class_rows(sp.csr_array(Z), sample, label, rival, k)]
    if width:
        places = (np.tile(each, 2), np.concatenate([label, rival]))
        differences = sp.csc_array((np.concatenate([ones, -ones]), places), shape=(m, k))
        blocks.append(sp.csr_array(differences[:, :width]))
    blocks.append(sp.csr_array((ones, (each, sample if dual.has_shared_slack else each)), shape=(m, slacks)))
    variables = {"w": slice(0, k * r)}
    if width:
        variables["b"] = slice(k * r, k * r + width)
    free = k * r + width
    variables["xi"] = slice(free, free + slacks)
    constraints = {"margin": Rows("G", slice(0, m), f"f_y(x_i) − f_c(x_i) ≥ {dual.level:g} − ξ")}
    ridge = np.full(width, 1.0 if dual.intercept == "penalised" else 0.0)
    prices = dual.upper if dual.has_shared_slack else dual.upper[sample]
    price = "Σ C_i ξ_i" if dual.has_shared_slack else "Σ C_i ξ_ic"
    return QP(  # (CSMC.2), (WWMC.2)
        P=Diagonal(np.concatenate([np.ones(k * r), ridge, np.zeros(slacks)])),
        q=np.concatenate([np.zeros(free), prices]),
        G=sp.csc_array(-sp.hstack(blocks, format="csc")), h=np.full(m, -dual.level),
        lb=np.concatenate([np.full(free, -np.inf), np.zeros(slacks)]), variables=variables, constraints=constraints,
        formula=f"½ Σ_c ‖w_c‖² + {'½ Σ_c b_c² + ' if ridge.any() else ''}{price}", title=title,
    )  # fmt: skip


def compute_scaling(
    dual: AllInOneDual, kappa: float, form: Form
) -> tuple[Mapping[str, float], Mapping[str, float], float]:
    """Compute factors of variables, rows and objective, as `QP.scaled` takes them, in typical units of α, (FORM.4)."""
    largest = float(dual.upper.mean())
    unit = max(min(dual.level / (2.0 * kappa), largest), largest / LARGEST_BOX, SMALLEST_UNIT)
    objective = 1.0 / (unit * dual.level)
    if form == "dual":
        return {"alpha": unit}, {"share": 1.0 / unit, "balance": 1.0 / unit}, objective
    values = dict.fromkeys(("b", "xi"), dual.level)
    return {"w": float(np.sqrt(unit * dual.level)), **values}, {"margin": 1.0 / dual.level}, objective


def read_alpha(dual: AllInOneDual, parts: Mapping[str, FloatArray], margins: FloatArray | None) -> FloatArray:
    """α (n, k) from the named parts of a dual's point, or from the multipliers of a primal's margin rows."""
    flat = parts["alpha"] if margins is None else margins
    return dual.unflatten_alpha(np.where(np.isfinite(flat), flat, 0.0))


class AllInOneProblem(AllInOneStatement, BaseProblem[AllInOneResult]):
    """A machine that learns several classes in one program.

    X (n, d): The samples as they are computed with.
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
        kept = {"free": "intercept free", "penalised": "intercept penalised", None: "no intercept"}[self.intercept]
        price = format_penalty(self.C)
        return f"{self._short_name}, {len(self.classes)} classes, C = {price}, {kept}, kernel {self.kernel}"

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
        """Read α (samples that take part, k) from a solution of either QP, as `Problem.read` does."""
        if not isinstance(solution, QPSolution):
            raise ParameterTypeError(f"read takes the QPSolution of a QP of this problem, got {format_value(solution)}")
        dual, qp = self._all_in_one_dual, solution.qp
        if solution.x is None:
            return np.zeros((dual.n, dual.k))
        primal = "margin" in qp.constraints
        margins = qp.multiplier("margin", solution.z, solution.y) if primal else None
        parts = qp.split(solution.x)
        rows = len(margins) if margins is not None else len(parts.get("alpha", ()))
        if rows != len(dual.row_positions):
            raise DataError(f"the solution is of {qp!r}, which is none of this problem over {dual.n} samples")
        return read_alpha(dual, parts, margins)

    def interpret(
        self,
        solution: QPSolution,
        *,
        tol: float = 1e-6,
        polished: bool = True,
        form: Form | None = None,
        backend: str = "",
        build_time: float = 0.0,
        limits: CertificationLimits = NO_LIMITS,
    ) -> AllInOneResult:
        """Certify a solution and build the result, as `Problem.interpret`; no time limit for the certificate."""
        point = self._certifier.certify(self._all_in_one_dual.flatten_alpha(self.read(solution)))
        gap, stopped = point.gap, solution.reported in (Status.TIME_LIMIT, Status.INTERRUPTED)
        if polished and not stopped:
            point = polish(self.svm, point, self._certifier.certify, clock=limits.polish_clock)
        found = self._bound_rounding(point, tol, polished=False)
        return self._build_judged_result(
            found, solution.reported, tol, backend=backend or solution.solver.name,
            form=form or ("primal" if "margin" in solution.qp.constraints else "dual"), iterations=solution.iterations,
            build_time=build_time, solve_time=solution.solve_time, solver=solution.solver, solver_gap=gap,
        )  # fmt: skip

    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        shape = (self.n, len(self.classes))
        values = np.asarray(as_real_vector(np.ravel(np.asarray(alpha)), name))
        if np.shape(alpha) != shape or not np.isfinite(values).all():
            raise DataError(f"{name} must be finite, of shape {shape}; got shape {np.shape(alpha)}")
        return self._all_in_one_dual.flatten_alpha(self._restrict_to_dual(values.reshape(shape)))

    def start(self, start: AllInOneResult | ArrayLike) -> FloatArray:
        """Build a feasible α (samples that take part, k) from a result or an array (n, k), as `Problem.start` does."""
        if not isinstance(start, AllInOneResult):
            return self._all_in_one_dual.unflatten_alpha(feasible(self.svm, self._read_user_alpha(start, "start")))
        alpha = self._all_in_one_dual.unflatten_alpha(self._read_user_alpha(start.alpha))
        full = self.samples.select_active(start.kind) == 2
        before = self.samples.select_active(start.upper)
        ratio = np.divide(self._all_in_one_dual.upper, before, out=np.ones(len(before)), where=before > 0.0)[:, None]
        return self._all_in_one_dual.unflatten_alpha(
            feasible(self.svm, self._all_in_one_dual.flatten_alpha(np.where(full, alpha * ratio, alpha)))
        )

    def prove(self, result: AllInOneResult, *, tol: float | None = None) -> Proof:
        """Prove the numbers of a result for all classes at once."""
        from qpsvm.machines.problem.verify import verify_all_in_one_result

        return verify_all_in_one_result(self, result, tol)

    def _enclose_optima(self, result: AllInOneResult) -> NearOptimum:
        """Return a set that contains every exact optimum."""
        from qpsvm.machines.problem.optimum_enclosure import (
            enclose_all_in_one_optima,  # imported on demand
        )

        check_all_in_one_result(result)
        return enclose_all_in_one_optima(self, result)

    def _build_result(self, certificate: Certificate, **record: Any) -> AllInOneResult:
        """Build the result of a certified point, with the record of the solve."""
        self.samples.check()  # before anything is said of the certificate
        samples, dual, label = self.samples, self._all_in_one_dual, self.class_index
        model, t = (
            self._build_model(certificate),
            dual.unflatten_alpha(certificate.violation if certificate.slack is None else certificate.slack),
        )
        alpha, missing = self._expand_from_dual(dual.unflatten_alpha(certificate.alpha)), self._expand_from_dual(t)
        whole = AllInOneDual(
            label, dual.k, samples.expand_active(dual.upper), dual.level, dual.has_shared_slack, dual.intercept
        )
        if not samples.all_weights_positive:
            absent = np.flatnonzero(samples.weight == 0)
            missing[absent] = replace(whole, label=label[absent]).compute_shortfalls(
                model.decision_function(self.X[absent])
            )
        short, coef = np.maximum(missing, 0.0), certificate.coef.reshape(dual.k, -1).T
        return AllInOneResult(
            alpha=alpha,
            coef=self._expand_from_dual(coef),
            b=model.b,
            primal=certificate.primal,
            dual=certificate.dual,
            gap=certificate.gap,
            rounding=certificate.rounding,
            kind=self._expand_from_dual(self._classify_variables(dual.unflatten_alpha(certificate.alpha), t)),
            missing=missing,
            xi=short.max(axis=1) if dual.has_shared_slack else short,
            terms=whole.compute_gap_terms(alpha, missing),
            upper=whole.upper,
            label=label,
            model=model,
            title=self.title,
            problem=copy_without_cache(self),
            caveats=find_caveats(self, certificate),
            **record,
        )

    def _classify_variables(self, alpha: FloatArray, t: FloatArray) -> NDArray[np.int8]:
        """Classify α by comparing it with the slack, and not by a threshold: see `AllInOneResult.kind`. (n, k) each."""
        dual = self._all_in_one_dual
        C = dual.upper[:, None]
        way = 0.5 / np.maximum(self.space.centred_gram.diagonal(), LEAST_CURVATURE * self.space.scale)[:, None]
        worst = np.maximum(t.max(axis=1), 0.0)[:, None] if dual.has_shared_slack else 0.0
        clear = np.where(np.abs(worst - t) > CLEAR * dual.level, NOTHING * C, 0.0)
        little = SMALL * np.minimum(C, float(alpha.max()))
        idle = alpha <= np.maximum((worst - t) * way, np.where(worst > t, clear, 0.0))
        kind = np.where((alpha > 0.0) & ~(idle & (alpha <= little)), 1, 0).astype(np.int8)
        above = worst if dual.has_shared_slack else t
        room = C - alpha.sum(axis=1)[:, None] if dual.has_shared_slack else C - alpha
        clear = np.where(above > CLEAR * dual.level, NOTHING * C, 0.0)
        full = room <= np.maximum(above * way, clear)
        kind[(kind == 1) & full & (room <= little)] = 2
        return kind

    def _build_model(self, point: Certificate) -> AllInOneModel:
        samples, space, k = self.samples, self.space, self._all_in_one_dual.k
        d, coef = samples.X.shape[1], point.coef.reshape(k, -1).T
        common: dict[str, Any] = {
            "kernel": space.kernel, "classes": self.classes, "b": point.intercepts, "n_features": d,
            "feature_names": samples.feature_names,
        }  # fmt: skip
        if point.w is not None:
            return AllInOneModel(coef=np.zeros((0, k)), vectors=np.zeros((0, d)), w=point.w.reshape(k, d), **common)
        kept = np.flatnonzero(coef.any(axis=1))
        vectors = samples.active_rows[kept] if isinstance(space.kernel, Precomputed) else space.X[kept]
        return AllInOneModel(coef=coef[kept], vectors=vectors, w=None, **common)


def check_all_in_one_matches(problem: AllInOneProblem, result: object) -> None:
    """Check that a result of several classes fits a problem. Raises ParameterTypeError, DataError."""
    check_point(problem, check_all_in_one_result(result))
