"""Solve a QP in primal form, with few columns and many soft or hard rows, by the interior-point method.

    (IPM.11)  minimise ½wᵀdiag(e)w + cᵀw + Σ cost(t)  subject to  Fw − t ≤ h,  t ≥ 0,  where the slack of row i costs
              λ_i t_i, δ_i = 0, or t_i²/(2δ_i), λ_i = ∞, or is the sum of one of each kind, of which the cheaper one
              grows: the second up to δ_i λ_i, the first beyond it; a hard row has none: λ_i = ∞, δ_i = 0

The primal of a linear SVM has this form, with or without an intercept (an entry of e that is 0), and so has the SVM
class of the OSQP paper. Its dual is a box QP with a factor:

    (IPM.12)  minimise ½αᵀ(ZZᵀ + diag δ)α + (h + F(c/e))ᵀα  subject to  F₀ᵀα = −c₀,  0 ≤ α ≤ λ,  Z = F diag(e)^(−½)

over the columns with e > 0, and F₀, c₀ those of the columns with e = 0. From its v = Zᵀα and y, and exactly,

    (IPM.13)  w = −c/e − v/√e,  w₀ = −y,  t = max(0, Fw − h), min(t, δλ) of it curved

so that w and t are feasible for any α. `recognise_soft_rows` builds a `SoftRows`, whose `solve` does this. The Newton
matrix, (k, k), is that of the primal after its slacks are
eliminated: solving the dual loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.solvers.interior_point.mehrotra import solve_mehrotra
from qpsvm.solvers.interior_point.systems import choose_storage
from qpsvm.solvers.shared.budget import StopReason
from qpsvm.space.operators import LowRank

#: Limit of the columns with e = 0, which become dense equality rows of the dual.
MAX_FLAT_COLUMNS = 10


@dataclass(frozen=True, eq=False)
class SoftRowsSolution:
    """Solution of minimise ½xᵀdiag(d)x + qᵀx subject to Gx ≤ h, lb ≤ x ≤ ub: d∘x + q + Gᵀz + z_box = 0.

    x, z_box (n,)
    z (m,): Multipliers of the rows, ≥ 0: α of (IPM.12).
    """

    x: FloatArray
    z: FloatArray
    z_box: FloatArray
    objective: float
    iterations: int
    reason: StopReason


@dataclass(frozen=True, eq=False)
class SoftRows:
    """A QP that has been recognised as (IPM.11).

    F (m, k)
    h, penalty, curvature (m,): Right-hand sides, λ and δ in units of the row.
    e, c (k,)
    columns (k,): Indices of w in x.
    softened_rows (s,): The row of each slack; a row may have one of each kind.
    slack (s,): Indices of the slacks in x.
    entry (s,): Entries of the slacks in G, negative: t = −entry·x_slack.
    is_linear (s,): Whether the cost of a slack is linear; otherwise it is quadratic.
    """

    F: Matrix
    h: FloatArray
    penalty: FloatArray
    curvature: FloatArray
    e: FloatArray
    c: FloatArray
    columns: IntArray
    softened_rows: IntArray
    slack: IntArray
    entry: FloatArray
    is_linear: NDArray[np.bool_]

    def __repr__(self) -> str:
        return build_repr("SoftRows", **vars(self))

    def solve(
        self, *, tol: float = 1e-8, max_iter: int = 100, time_limit: float | None = None, verbose: bool = False
    ) -> SoftRowsSolution:
        """Solve (IPM.12) by `solve_mehrotra`, whose options these are, and map back."""
        e = self.e
        curved = e > 0
        root = np.sqrt(e[curved])
        minimiser = np.zeros(len(e))
        minimiser[curved] = self.c[curved] / e[curved]
        q = self.h + self.F @ minimiser if minimiser.any() else self.h
        if curved.all():
            A, b = None, None
        else:
            A = as_dense(self.F[:, ~curved]).T
            b = -self.c[~curved]
        P = LowRank(_scale_columns(self.F, curved, root), self.curvature if self.curvature.any() else None)
        solution = solve_mehrotra(
            P, q, A, b, np.zeros(len(q)), self.penalty,
            tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose,
        )  # fmt: skip
        assert solution.v is not None
        w = np.empty(len(e))
        w[curved] = -minimiser[curved] - solution.v / root  # (IPM.13)
        w[~curved] = -solution.y
        violation = np.maximum(self.F @ w - self.h, 0.0)[self.softened_rows]
        curvature, penalty = self.curvature[self.softened_rows], self.penalty[self.softened_rows]
        curved_part = np.minimum(violation, curvature * penalty)  # all of t if λ = ∞, nothing if δ = 0
        t = np.where(self.is_linear, violation - curved_part, curved_part)
        x, z_box = np.zeros(len(e) + len(t)), np.zeros(len(e) + len(t))
        x[self.columns] = w
        x[self.slack] = -t / self.entry
        z = solution.x
        marginal_cost = np.divide(t, curvature, out=penalty.copy(), where=~self.is_linear)  # marginal cost of slack
        z_box[self.slack] = self.entry * (marginal_cost - z[self.softened_rows])
        primal = float(0.5 * (e * w) @ w + self.c @ w + np.where(self.is_linear, 1.0, 0.5) * marginal_cost @ t)
        return SoftRowsSolution(x, z, z_box, primal, solution.iterations, solution.reason)


def recognise_soft_rows(
    d: FloatArray, q: FloatArray, G: Matrix, h: FloatArray, lb: FloatArray, ub: FloatArray
) -> SoftRows | None:
    """Recognise (IPM.11) in minimise ½xᵀdiag(d)x + qᵀx subject to Gx ≤ h, lb ≤ x ≤ ub.

    A slack is a column with d = 0, q ≥ 0 or d > 0, q = 0, with 0 ≤ x < ∞ and a single, negative entry in G, the only
    one of its kind in that row; all other columns must be free. Returns None if the QP does not have this form.

    Shapes: d, q, lb, ub (n,), G (m, n), h (m,).
    """
    G = G if sp.issparse(G) and G.format == "csc" else sp.csc_array(G)
    free = (lb == -np.inf) & (ub == np.inf)
    columns = np.flatnonzero(free)
    slack = np.flatnonzero(~free)
    starts = G.indptr[slack]
    has_cost = ((d[slack] == 0) & (q[slack] >= 0)) | ((d[slack] > 0) & (q[slack] == 0))
    is_slack = has_cost & (lb[slack] == 0) & (ub[slack] == np.inf)
    is_slack &= G.indptr[slack + 1] - starts == 1
    if not is_slack.all() or (d[columns] < 0).any() or (d[columns] == 0).sum() > MAX_FLAT_COLUMNS:
        return None
    softened = G.indices[starts].astype(np.intp)
    entry = G.data[starts]
    is_linear = d[slack] == 0
    if (entry >= 0).any() or any(_has_repeats(softened[kind], len(h)) for kind in (is_linear, ~is_linear)):
        return None
    penalty = np.full(len(h), np.inf)
    curvature = np.zeros(len(h))
    penalty[softened[is_linear]] = (q[slack] / -entry)[is_linear]
    curvature[softened[~is_linear]] = np.square(entry[~is_linear]) / d[slack[~is_linear]]
    F = _take_columns(G, columns)
    e = d[columns]
    c = q[columns]
    return SoftRows(F, h, penalty, curvature, e, c, columns, softened, slack, entry, is_linear)


def _has_repeats(rows: IntArray, m: int) -> bool:
    """Return whether one of m rows occurs more than once."""
    return bool(np.bincount(rows, minlength=m).max(initial=0) > 1)


def _take_columns(G: Matrix, columns: IntArray) -> Matrix:
    """Return G[:, columns] of a CSC matrix (m, n), as CSR, or dense if that is cheaper."""
    k = len(columns)
    if k and columns[-1] == k - 1:  # a leading block: no copy
        ends = G.indptr[: k + 1]
        F = sp.csc_array((G.data[: ends[-1]], G.indices[: ends[-1]], ends), shape=(G.shape[0], k))
    else:
        F = sp.csc_array(G[:, columns])
    F = choose_storage(F)
    return sp.csr_array(F) if sp.issparse(F) else F


def _scale_columns(F: Matrix, curved: NDArray[np.bool_], root: FloatArray) -> Matrix:
    """Return F[:, curved] diag(1/root), without a copy if nothing changes."""
    if curved.all():
        if (root == 1.0).all():
            return F
    else:
        F = F[:, curved]
    if sp.issparse(F):
        return sp.csr_array(F @ sp.diags_array(1.0 / root))
    return F / root
