"""Certify α and w of a machine over a pivoted factor for the machine with the exact kernel (`bound_exact_objectives`).

With K = LLᵀ + E of (PIVOT.1), R of the pivots' K_zz = RRᵀ, v the weights of the linear machine over the rows of L, and
β of its α:

    (PIVOT.5)  w = Σ_j c_j φ(z_j),  Rᵀc = v:  a primal point of the machine with K;  ‖w‖ = ‖v‖ and f(x_i) = L_iᵀv + b
    (PIVOT.6)  P_K(w, b) − D_K(α) = Σ_i terms + ½‖w − w(α)‖²,  w(α) = Σ_i β_i φ(x_i):  the constraints on α do not
              depend on K
    (PIVOT.7)  ½‖w − w(α)‖² ≤ ½(‖v − Lᵀβ‖ + S)²,  S = Σ|β_i|√e_i:  at the optimum the gap grows by about ½S²

(PIVOT.6) is (GAP.1) for the machine with K. The first term is that of the approximate machine, because f is the same.
This holds in exact arithmetic. R, L and c are rounded, so nothing here relies on them: c and α are passed to the
certificate of the machine with K, which accepts any coefficients, evaluates f from the kernel values of the pivots, and
bounds ‖w − w(α)‖ with all rounding by (SPAN.2).

Sources: Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001), section 4.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import as_dense
from qpsvm.base.errors import TooLargeError
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.rows import as_row_source
from qpsvm.machines.problem.derived_problems import replace_parameters
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.result.model import Model
from qpsvm.space.kernels.pivoted_cholesky import PivotedCholesky
from qpsvm.space.kernels.space import FeatureSpace


def bound_exact_objectives(problem: MachineStatement, certificate: Certificate, model: Model) -> dict[str, float]:
    """Bound the objectives for the exact kernel: `exact_primal`, `exact_dual` and their relative gap."""
    kernel = problem.kernel
    if model.w is None or not isinstance(kernel, PivotedCholesky):
        return {}
    pivots, samples = kernel.learned_fit.rows, as_row_source(problem.samples.active_features)
    if pivots is None or not len(pivots) or pivots.max() >= samples.n:
        return {}
    if not np.array_equal(as_dense(samples.take(pivots)), as_dense(kernel.learned_fit.points)):
        return {}
    coef = np.zeros(samples.n)
    coef[pivots] = kernel.coefficients(model.w)
    if not np.isfinite(coef).all():
        return {}
    try:
        exact = replace_parameters(problem, {"kernel": kernel.exact_kernel})
        # an infinite target gap: certify this w, do not look for a better one
        measured = exact._certifier.certify(certificate.alpha, coef / problem._f_scale, np.inf)
        refined, exact_point = (
            exact._bound_rounding(measured, 0.0, polished=False),
            exact._certifier.gap_refiner.bound_gap(measured),
        )
    except TooLargeError:
        return {}
    if refined.sparse_coef is None:
        return {}
    is_other_point = (
        refined.b != measured.b or refined.rho != measured.rho or not np.array_equal(refined.coef, measured.coef)
    )
    values, measured_gap = measured, measured.gap
    if not is_other_point and refined.gap < exact_point.gap:  # only if it is the same point
        exact_point = refined
        if not exact.svm.is_homogeneous:  # values and gap with more digits
            values, measured_gap = refined, refined.measured_gap
    rounding, dual_bound = _bound_norm_rounding(exact.space, exact_point), values.dual
    if np.isfinite(exact_point.gap):
        size = exact_point.unit * exact_point.size
        rounding += max(exact_point.gap - measured_gap, 0.0) * size
        dual_bound = max(dual_bound, values.primal - exact_point.gap * size)
    return {"exact_primal": values.primal + rounding, "exact_dual": dual_bound - rounding, "exact_gap": exact_point.gap}


def _bound_norm_rounding(space: FeatureSpace, point: Certificate) -> float:
    """Bound the errors of ½‖w‖² and ½‖w(α)‖² as values; the gap is free of them, since it uses their difference."""
    sizes = Accuracy(space)
    size = float((np.abs(point.coef) + np.abs(point.svm.beta(point.alpha))) @ sizes.bound_norms(np.arange(space.n)))
    return point.unit * (sizes.epsilon + gamma(2 * space.n + 16)) * size * size
