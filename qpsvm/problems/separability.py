"""Can two classes be separated? One linear program answers, with a proof either way.

    (SEP.1)  minimise t  over u, v ≥ 0, t  subject to  1ᵀu = 1, 1ᵀv = 1,  |Σ u_i z_i − Σ v_j z_j| ≤ t in each coordinate

t = 0: u and v are convex weights whose combinations meet, so no hyperplane separates the classes (theorem of the
alternative, Bennett & Mangasarian 1992). t > 0: the multipliers of the coordinates are a separating direction. The
coordinates are centred and scaled one by one first: neither changes whether the hulls meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from qpsvm.arrays import FloatArray, Matrix, as_dense, outline
from qpsvm.errors import SolverError

#: Hulls closer than this share of the largest centred norm meet at working precision.
MEETING = 1e-8
#: The smallest tolerance that HiGHS takes.
FINEST = 1e-10


@dataclass(frozen=True, eq=False)
class HullDistance:
    """Points of the two convex hulls and how far apart they are.

    Attributes
    ----------
    u, v : ndarray, shape (n,)
        Convex weights over the positive and the negative rows, zero elsewhere.
    distance : float
        ‖Σ u_i z_i − Σ v_j z_j‖ / max_i ‖z_i − z̄‖.
    direction : ndarray, shape (r,)
        A direction that separates where the hulls do not meet, in the coordinates given.
    """

    u: FloatArray
    v: FloatArray
    distance: float
    direction: FloatArray

    def __repr__(self) -> str:
        return outline("HullDistance", **vars(self))

    @property
    def meet(self) -> bool:
        """Whether the hulls meet at working precision."""
        return self.distance < MEETING


def shared_sample(X: Matrix, y: FloatArray) -> HullDistance | None:
    """The simplest proof of all, for any kernel: the same sample in both classes. None where there is none.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, d)
    y : ndarray, shape (n,)
        −1/+1.
    """
    first: dict[bytes, int] = {}
    for sign in (1.0, -1.0):
        for i in np.flatnonzero(y == sign):
            row = as_dense(X[[i]])
            key = (row + 0.0).tobytes()  # −0 and 0 are the same
            if sign > 0:
                first.setdefault(key, int(i))
            elif key in first:
                u, v = np.zeros(len(y)), np.zeros(len(y))
                u[first[key]] = v[i] = 1.0
                return HullDistance(u, v, 0.0, np.zeros(0))
    return None


def hull_distance(Z: Matrix, y: FloatArray) -> HullDistance:
    """Solve (SEP.1) by HiGHS and sharpen its answer.

    Parameters
    ----------
    Z : ndarray or csr_array, shape (n, r)
        Samples in explicit coordinates.
    y : ndarray, shape (n,)
        −1/+1.

    Raises
    ------
    SolverError
        HiGHS failed on a linear program that always has a solution.
    """
    from scipy.optimize import linprog

    scaled, sizes = _conditioned(Z)
    n, r = scaled.shape
    difference = (sp.csr_array(sp.diags_array(y) @ scaled) if sp.issparse(scaled) else y[:, None] * scaled).T
    column = np.full((r, 1), -1.0)
    if sp.issparse(difference):
        A_ub = sp.vstack([sp.hstack([difference, column]), sp.hstack([-difference, column])], format="csr")
    else:
        A_ub = np.vstack([np.hstack([difference, column]), np.hstack([-difference, column])])
    classes = np.vstack([np.append(y > 0, False), np.append(y < 0, False)]).astype(np.float64)
    answer = linprog(
        np.append(np.zeros(n), 1.0), A_ub=A_ub, b_ub=np.zeros(2 * r), A_eq=classes, b_eq=np.ones(2), method="highs",
        options={"primal_feasibility_tolerance": FINEST, "dual_feasibility_tolerance": FINEST},
    )
    if answer.x is None:
        raise SolverError(f"HiGHS did not solve the separability problem: {answer.message}")
    weights = _sharpened(np.maximum(answer.x[:n], 0.0), difference, y)
    multipliers = answer.ineqlin.marginals
    direction = (multipliers[r:] - multipliers[:r]) / sizes
    u, v = np.where(y > 0, weights, 0.0), np.where(y < 0, weights, 0.0)
    centred = Z if sp.issparse(Z) else Z - Z.mean(axis=0)
    squares = centred.multiply(centred).sum(axis=1) if sp.issparse(Z) else (centred * centred).sum(axis=1)
    reach = float(np.sqrt(np.max(squares)))
    gap = float(np.linalg.norm(centred.T @ (u - v)))
    return HullDistance(u, v, gap / reach if reach > 0 else 0.0, _oriented(direction, Z, y))


def _conditioned(Z: Matrix) -> tuple[Matrix, FloatArray]:
    """Z centred (where dense) with every coordinate divided by its largest entry, and those sizes (r,)."""
    if sp.issparse(Z):
        sizes = np.asarray(abs(Z).max(axis=0).todense()).ravel()
        sizes = np.where(sizes > 0, sizes, 1.0)
        return sp.csr_array(Z @ sp.diags_array(1 / sizes)), sizes
    centred = Z - Z.mean(axis=0)
    sizes = np.abs(centred).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    return centred / sizes, sizes


def _sharpened(weights: FloatArray, difference: Matrix, y: FloatArray) -> FloatArray:
    """Correct convex weights (n,) on their support so that the sums are 1 and the points meet, to rounding."""
    weights = _normalised(weights, y)
    support = np.flatnonzero(weights > 0)
    part = as_dense(difference[:, support])
    system = np.vstack([part, y[support] > 0, y[support] < 0])
    target = np.concatenate([np.zeros(len(part)), [1.0, 1.0]])
    correction = lstsq(system, target - system @ weights[support], cond=1e-13)[0]
    corrected = weights.copy()
    corrected[support] += correction
    if (corrected < 0).any():
        return weights
    corrected = _normalised(corrected, y)
    better = np.linalg.norm(difference @ corrected) <= np.linalg.norm(difference @ weights)
    return corrected if better else weights


def _normalised(weights: FloatArray, y: FloatArray) -> FloatArray:
    out = weights.copy()
    for sign in (1.0, -1.0):
        out[y == sign] /= out[y == sign].sum()
    return out


def _oriented(direction: FloatArray, Z: Matrix, y: FloatArray) -> FloatArray:
    """The direction or its negative, whichever puts the positive class on the larger side."""
    values = Z @ direction
    return direction if values[y > 0].mean() >= values[y < 0].mean() else -direction
