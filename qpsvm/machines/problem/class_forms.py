"""Build the two QPs of a machine that learns several classes in one program, from its `AllInOneDual`.

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

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import IntArray, Matrix
from qpsvm.base.errors import TooLargeError
from qpsvm.machines.problem.forms import MAX_SCALED_BOUND, SMALLEST_UNIT
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.qp import QP, Rows
from qpsvm.space.operators import Diagonal, Operator, couple_class_rows, couple_classes

#: Largest number of entries in the rows of a primal, of 16 bytes each besides what a solver needs for them.
MAX_ENTRIES = 100_000_000


def list_rows(dual: AllInOneDual) -> tuple[IntArray, IntArray]:
    """Return the sample and the rival of every row (i, c), in the order of (JFORM.3): (m,) each."""
    return np.divmod(dual.row_positions, dual.k)


def build_dual_qp(dual: AllInOneDual, gram: Operator, title: str, penalised: bool) -> QP:
    """Build the dual QP, (JFORM.1), over a Gram matrix (n, n).

    penalised: Whether the Gram matrix is K + 1, for a penalised intercept.
    """
    sample, rival = list_rows(dual)
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
    sample, rival = list_rows(dual)
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
    unit = max(min(dual.level / (2.0 * kappa), mean_bound), mean_bound / MAX_SCALED_BOUND, SMALLEST_UNIT)
    objective = 1.0 / (unit * dual.level)
    if form == "dual":
        return {"alpha": unit}, {"share": 1.0 / unit, "balance": 1.0 / unit}, objective
    values = dict.fromkeys(("b", "xi"), dual.level)
    return {"w": float(np.sqrt(unit * dual.level)), **values}, {"margin": 1.0 / dual.level}, objective
