"""Certify the solution of a machine with a low-rank kernel for the exact kernel (`bound_exact_objectives`).

A `PivotedCholesky` kernel replaces K by LLᵀ, so that the machine is linear over the rows of L. Its α is feasible with K
as well, and its w is a combination of the pivots: certifying both with K bounds the optimum of the exact machine. With
K = LLᵀ + E of (PIVOT.1), e the diagonal of E, K_zz = RRᵀ over the pivots z_j, and v, β the weights and the coefficients
of the linear machine:

    (PIVOT.5)  w = Σ_j c_j φ(z_j),  Rᵀc = v:  a primal point of the machine with K;  ‖w‖ = ‖v‖ and f(x_i) = L_iᵀv + b
    (PIVOT.6)  P_K(w, b) − D_K(α) = Σ_i terms + ½‖w − w(α)‖²,  w(α) = Σ_i β_i φ(x_i):  the constraints on α do not
              depend on K
    (PIVOT.7)  ½‖w − w(α)‖² ≤ ½(‖v − Lᵀβ‖ + S)²,  S = Σ|β_i|√e_i:  at the optimum the gap grows by about ½S²

(PIVOT.6) is (GAP.1) for the machine with K. Its terms are those of the approximate machine, because f is the same.
In floats R, L and c are rounded, so nothing here relies on them: the certificate with K accepts any c and α, evaluates
f from the kernel values of the pivots, and bounds ‖w − w(α)‖ with all rounding by (SPAN.2).

Sources: Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001), section 4.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, as_dense
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
    """Bound the objectives for the exact kernel: `exact_primal`, `exact_dual` and their relative gap `exact_gap`.

    Return {} if the kernel is no `PivotedCholesky` of these samples, or nothing can be certified in memory.
    """
    kernel = problem.kernel
    if model.w is None or not isinstance(kernel, PivotedCholesky):
        return {}
    coef = _compute_pivot_coefficients(problem, kernel, model.w)
    if coef is None:
        return {}
    try:
        exact = replace_parameters(problem, {"kernel": kernel.exact_kernel})
        # an infinite target gap: certify this w, do not look for a better one
        measured = exact._certifier.certify(certificate.alpha, coef / problem._f_scale, np.inf)
        refined = exact._bound_rounding(measured, 0.0, polished=False)
        best = exact._certifier.gap_refiner.bound_gap(measured)
    except TooLargeError:
        return {}
    if refined.sparse_coef is None:
        return {}
    is_same_point = (
        refined.b == measured.b and refined.rho == measured.rho and np.array_equal(refined.coef, measured.coef)
    )
    values = measured
    measured_gap = measured.gap
    if is_same_point and refined.gap < best.gap:
        best = refined
        if not exact.svm.is_homogeneous:  # values and gap with more digits
            values = refined
            measured_gap = refined.measured_gap
    rounding = _bound_norm_rounding(exact.space, best)
    dual_bound = values.dual
    if np.isfinite(best.gap):
        size = best.unit * best.size
        rounding += max(best.gap - measured_gap, 0.0) * size
        dual_bound = max(dual_bound, values.primal - best.gap * size)
    return {"exact_primal": values.primal + rounding, "exact_dual": dual_bound - rounding, "exact_gap": best.gap}


def _compute_pivot_coefficients(problem: MachineStatement, kernel: PivotedCholesky, w: FloatArray) -> FloatArray | None:
    """Return c of (PIVOT.5), 0 at the other active samples: (n,). None if the pivots are no samples, or c overflows."""
    pivots = kernel.learned_fit.rows
    samples = as_row_source(problem.samples.active_features)
    if pivots is None or not len(pivots) or pivots.max() >= samples.n:
        return None
    if not np.array_equal(as_dense(samples.take(pivots)), as_dense(kernel.learned_fit.points)):
        return None
    coef = np.zeros(samples.n)
    coef[pivots] = kernel.coefficients(w)
    return coef if np.isfinite(coef).all() else None


def _bound_norm_rounding(space: FeatureSpace, point: Certificate) -> float:
    """Bound the errors of ½‖w‖² and ½‖w(α)‖² as values; the gap is free of them, since it uses their difference."""
    accuracy = Accuracy(space)
    norms = accuracy.bound_norms(np.arange(space.n))
    size = float((np.abs(point.coef) + np.abs(point.svm.beta(point.alpha))) @ norms)
    return point.unit * (accuracy.epsilon + gamma(2 * space.n + 16)) * size * size
