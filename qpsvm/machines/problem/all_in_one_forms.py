"""The two QPs of a joint machine, and their scaling for a solver.

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

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import TooLargeError
from qpsvm.machines.problem.forms import LARGEST_BOX, SMALLEST_UNIT
from qpsvm.machines.problem.parameters import Form
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.qp import QP, Rows
from qpsvm.space.operators import Diagonal, Operator, coupled, coupled_rows

#: Entries of the primal's rows beyond which it is not written down: 16 bytes each, and what a solver makes of them.
MOST_ENTRIES = 100_000_000


def variables_of(dual: AllInOneDual) -> tuple[IntArray, IntArray]:
    """The sample and the rival of every row (i, c), in the order of (JFORM.3): (m,) each."""
    return np.divmod(dual.places, dual.k)


def dual_qp(dual: AllInOneDual, gram: Operator, title: str, penalised: bool) -> QP:
    """(JFORM.1). Shapes: gram (n, n)."""
    sample, rival = variables_of(dual)
    label, m = dual.label[sample], len(sample)
    constraints: dict[str, Rows] = {}
    G: Matrix | None = None
    if dual.shared:
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
        P=coupled(gram, sample, label, rival, dual.k), q=np.full(m, -dual.level), G=G,
        h=dual.upper if dual.shared else None, A=A, b=None if A is None else np.zeros(dual.k - 1),
        lb=np.zeros(m), ub=None if dual.shared else dual.upper[sample], variables={"alpha": slice(0, m)},
        constraints=constraints, title=title,
        formula=f"½ αᵀPα − {level},  P_(ic)(jd) = {entry} (e_y_i − e_c)ᵀ(e_y_j − e_d)",
    )  # fmt: skip


def primal_qp(dual: AllInOneDual, Z: Matrix, title: str) -> QP:
    """(JFORM.2) for samples Z (n, r) in explicit coordinates. Raises TooLargeError."""
    sample, rival = variables_of(dual)
    label, m, r, k = dual.label[sample], len(sample), Z.shape[1], dual.k
    entries = 2 * (k - 1) * (Z.nnz if sp.issparse(Z) else Z.size)
    if entries > MOST_ENTRIES:
        raise TooLargeError(
            f"the primal of {dual.n} samples in {r} coordinates with {k} classes has {entries:.1e} numbers in its "
            "rows: use form='dual', backend='auto', or fewer samples"
        )
    each, ones = np.arange(m), np.ones(m)
    slacks = dual.n if dual.shared else m
    width = {"free": k - 1, "penalised": k, None: 0}[dual.intercept]
    blocks = [coupled_rows(sp.csr_array(Z), sample, label, rival, k)]
    if width:
        places = (np.tile(each, 2), np.concatenate([label, rival]))
        differences = sp.csc_array((np.concatenate([ones, -ones]), places), shape=(m, k))
        blocks.append(sp.csr_array(differences[:, :width]))
    blocks.append(sp.csr_array((ones, (each, sample if dual.shared else each)), shape=(m, slacks)))
    variables = {"w": slice(0, k * r)}
    if width:
        variables["b"] = slice(k * r, k * r + width)
    free = k * r + width
    variables["xi"] = slice(free, free + slacks)
    constraints = {"margin": Rows("G", slice(0, m), f"f_y(x_i) − f_c(x_i) ≥ {dual.level:g} − ξ")}
    ridge = np.full(width, 1.0 if dual.intercept == "penalised" else 0.0)
    prices = dual.upper if dual.shared else dual.upper[sample]
    price = "Σ C_i ξ_i" if dual.shared else "Σ C_i ξ_ic"
    return QP(  # (CSMC.2), (WWMC.2)
        P=Diagonal(np.concatenate([np.ones(k * r), ridge, np.zeros(slacks)])),
        q=np.concatenate([np.zeros(free), prices]),
        G=sp.csc_array(-sp.hstack(blocks, format="csc")), h=np.full(m, -dual.level),
        lb=np.concatenate([np.full(free, -np.inf), np.zeros(slacks)]), variables=variables, constraints=constraints,
        formula=f"½ Σ_c ‖w_c‖² + {'½ Σ_c b_c² + ' if ridge.any() else ''}{price}", title=title,
    )  # fmt: skip


def scaling(dual: AllInOneDual, kappa: float, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
    """Factors of variables, rows and objective, as `QP.scaled` takes them: α in units of a typical one, as (FORM.4)."""
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
    return dual.square(np.where(np.isfinite(flat), flat, 0.0))
