"""Solve a QP in primal form, with few columns and many soft or hard rows, by the interior-point method.

    (IPM.11)  minimise ½wᵀdiag(e)w + cᵀw + Σ cost(t)  subject to  Fw − t ≤ h,  t ≥ 0,  where the slack of row i costs
              λ_i t_i, δ_i = 0, or t_i²/(2δ_i), λ_i = ∞, or is the sum of one of each kind, of which the cheaper one
              grows: the second up to δ_i λ_i, the first beyond it; a hard row has none: λ_i = ∞, δ_i = 0

The primal of a linear SVM has this form, with or without an intercept (an entry of e that is 0), and so has the SVM
class of the OSQP paper. Its dual is a box QP with a factor:

    (IPM.12)  minimise ½αᵀ(ZZᵀ + diag δ)α + (h + F(c/e))ᵀα  subject to  F₀ᵀα = −c₀,  0 ≤ α ≤ λ,  Z = F diag(e)^(−½)

over the columns with e > 0, and F₀, c₀ those of the columns with e = 0. From its v = Zᵀα and y, and exactly,

    (IPM.13)  w = −c/e − v/√e,  w₀ = −y,  t = max(0, Fw − h), min(t, δλ) of it curved

so that w and t are feasible whatever α is. The Newton matrix, (k, k), is that of the primal after its slacks are
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

#: Columns with e = 0 that become equality rows of the dual: few, for they are kept dense.
MAX_FLAT_COLUMNS = 10


@dataclass(frozen=True, eq=False)
class SoftRowsSolution:
    """A QP minimise ½xᵀdiag(d)x + qᵀx subject to Gx ≤ h, lb ≤ x ≤ ub, solved: d∘x + q + Gᵀz + z_box = 0.

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
    columns (k,): Where w stands in x.
    softened_rows, slack (s,): Of each slack the row, which may have one of each kind, and where it stands in x.
    entry (s,): The slack's entry in G, negative: t = −entry·x_slack.
    is_linear (s,): Whether the slack's cost is linear; otherwise it is a square.
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
        e, curved = self.e, self.e > 0
        root = np.sqrt(e[curved])
        straight = np.zeros(len(e))
        straight[curved] = self.c[curved] / e[curved]
        q = self.h + self.F @ straight if straight.any() else self.h
        A, b = (None, None) if curved.all() else (as_dense(self.F[:, ~curved]).T, -self.c[~curved])
        P = LowRank(_scale_columns(self.F, curved, root), self.curvature if self.curvature.any() else None)
        found = solve_mehrotra(
            P, q, A, b, np.zeros(len(q)), self.penalty,
            tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose,
        )  # fmt: skip
        assert found.v is not None
        w = np.empty(len(e))
        w[curved] = -straight[curved] - found.v / root  # (IPM.13)
        w[~curved] = -found.y
        over = np.maximum(self.F @ w - self.h, 0.0)[self.softened_rows]
        bend, linear = self.curvature[self.softened_rows], self.penalty[self.softened_rows]
        curved_part = np.minimum(over, bend * linear)  # all of it where λ = ∞, nothing where δ = 0
        t = np.where(self.is_linear, over - curved_part, curved_part)
        x, z_box = np.zeros(len(e) + len(t)), np.zeros(len(e) + len(t))
        x[self.columns], x[self.slack] = w, -t / self.entry
        z = found.x
        price = np.divide(t, bend, out=linear.copy(), where=~self.is_linear)  # of the last unit of slack
        z_box[self.slack] = self.entry * (price - z[self.softened_rows])
        primal = float(0.5 * (e * w) @ w + self.c @ w + np.where(self.is_linear, 1.0, 0.5) * price @ t)
        return SoftRowsSolution(x, z, z_box, primal, found.iterations, found.reason)


def recognise_soft_rows(
    d: FloatArray, q: FloatArray, G: Matrix, h: FloatArray, lb: FloatArray, ub: FloatArray
) -> SoftRows | None:
    """Recognise (IPM.11) in minimise ½xᵀdiag(d)x + qᵀx subject to Gx ≤ h, lb ≤ x ≤ ub.

    A slack is a column with d = 0, q ≥ 0 or d > 0, q = 0, with 0 ≤ x < ∞ and a single, negative entry in G, and no
    other of its kind in that row; all other columns must be free.

    Shapes: d, q, lb, ub (n,), G (m, n), h (m,).
    """
    G = G if sp.issparse(G) and G.format == "csc" else sp.csc_array(G)
    free = (lb == -np.inf) & (ub == np.inf)
    columns, slack = np.flatnonzero(free), np.flatnonzero(~free)
    starts = G.indptr[slack]
    priced = ((d[slack] == 0) & (q[slack] >= 0)) | ((d[slack] > 0) & (q[slack] == 0))
    like_slack = priced & (lb[slack] == 0) & (ub[slack] == np.inf)
    like_slack &= G.indptr[slack + 1] - starts == 1
    if not like_slack.all() or (d[columns] < 0).any() or (d[columns] == 0).sum() > MAX_FLAT_COLUMNS:
        return None
    softened, entry = G.indices[starts].astype(np.intp), G.data[starts]
    straight = d[slack] == 0
    if (entry >= 0).any() or any(_has_repeats(softened[kind], len(h)) for kind in (straight, ~straight)):
        return None
    penalty, bend = np.full(len(h), np.inf), np.zeros(len(h))
    penalty[softened[straight]] = (q[slack] / -entry)[straight]
    bend[softened[~straight]] = np.square(entry[~straight]) / d[slack[~straight]]
    F, e, c = _take_columns(G, columns), d[columns], q[columns]
    return SoftRows(F, h, penalty, bend, e, c, columns, softened, slack, entry, straight)


def _has_repeats(rows: IntArray, m: int) -> bool:
    """Return whether one of m rows is named more than once."""
    return bool(np.bincount(rows, minlength=m).max(initial=0) > 1)


def _take_columns(G: Matrix, columns: IntArray) -> Matrix:
    """G[:, columns] of a CSC matrix (m, n), as CSR, or dense where it is small and full enough."""
    k = len(columns)
    if k and columns[-1] == k - 1:  # the first ones: shared
        ends = G.indptr[: k + 1]
        F = sp.csc_array((G.data[: ends[-1]], G.indices[: ends[-1]], ends), shape=(G.shape[0], k))
    else:
        F = sp.csc_array(G[:, columns])
    F = choose_storage(F)
    return sp.csr_array(F) if sp.issparse(F) else F


def _scale_columns(F: Matrix, curved: NDArray[np.bool_], root: FloatArray) -> Matrix:
    """F[:, curved] diag(1/root), without a copy where there is nothing to change."""
    if curved.all():
        if (root == 1.0).all():
            return F
    else:
        F = F[:, curved]
    return sp.csr_array(F @ sp.diags_array(1.0 / root)) if sp.issparse(F) else F / root
