"""Certify α and w of the machine over a pivoted factor for the machine with the kernel itself.

With K = LLᵀ + E of (PIVOT.1), R of the pivots' K_zz = RRᵀ, v the weights of the linear machine over the rows of L, and
β of its α:

    (PIVOT.5)  w = Σ_j c_j φ(z_j),  Rᵀc = v:  a primal point of the machine with K;  ‖w‖ = ‖v‖ and f(x_i) = L_iᵀv + b
    (PIVOT.6)  P_K(w, b) − D_K(α) = Σ_i terms + ½‖w − w(α)‖²,  w(α) = Σ_i β_i φ(x_i):  what α has to keep
              does not depend on K
    (PIVOT.7)  ½‖w − w(α)‖² ≤ ½(‖v − Lᵀβ‖ + S)²,  S = Σ|β_i|√e_i:  of a solved machine the gap grows by about ½S²

(PIVOT.6) is (GAP.1) for the machine with K. The first term is that of the approximate machine, because f is the same.
All of it holds in exact arithmetic. In floating point R, L and c are off by roundings, so nothing here relies on them:
c and α are handed to the certificate of the machine with K, which takes any coefficients, evaluates f from the kernel
values of the pivots, and bounds ‖w − w(α)‖ with all rounding by (SPAN.2).

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
    places, taken = kernel.learned_fit.rows, as_row_source(problem.samples.active_features)
    if places is None or not len(places) or places.max() >= taken.n:
        return {}
    if not np.array_equal(as_dense(taken.take(places)), as_dense(kernel.learned_fit.points)):
        return {}
    coef = np.zeros(taken.n)
    coef[places] = kernel.coefficients(model.w)
    if not np.isfinite(coef).all():
        return {}
    try:
        exact = replace_parameters(problem, {"kernel": kernel.exact_kernel})
        # of this w, and of no better one
        measured = exact._certifier.certify(certificate.alpha, coef / problem._f_scale, np.inf)
        found, own = (
            exact._bound_rounding(measured, 0.0, polished=False),
            exact._certifier.gap_bounder.bounded(measured),
        )
    except TooLargeError:
        return {}
    if found.explicit is None:
        return {}
    moved = found.b != measured.b or found.rho != measured.rho or not np.array_equal(found.coef, measured.coef)
    values, known = measured, measured.gap
    if not moved and found.gap < own.gap:  # what holds of a better point beside this one does not hold of this
        own = found
        if not exact.svm.is_homogeneous:  # the same point with more digits: values and gap go together
            values, known = found, found.measured
    lost, below = _bound_norm_rounding(exact.space, own), values.dual
    if np.isfinite(own.gap):
        size = own.unit * own.size
        lost += max(own.gap - known, 0.0) * size
        below = max(below, values.primal - own.gap * size)
    return {"exact_primal": values.primal + lost, "exact_dual": below - lost, "exact_gap": own.gap}


def _bound_norm_rounding(space: FeatureSpace, found: Certificate) -> float:
    """Bound the errors of ½‖w‖² and ½‖w(α)‖² as values; the gap is free of them, since it uses their difference."""
    sizes = Accuracy(space)
    size = float((np.abs(found.coef) + np.abs(found.svm.beta(found.alpha))) @ sizes.sizes(np.arange(space.n)))
    return found.unit * (sizes.epsilon + gamma(2 * space.n + 16)) * size * size
