"""State each machine by its textbook formulas in plain NumPy, independently of the library's derivations.

`Space` has explicit features: for a nonlinear kernel those of a factor of its matrix over all points that occur, so
that w is a vector there too. At a `Point`, `compute_primal`, `compute_lagrangian` and `compute_dual` are P, L and D.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import qpsvm

BINARY = (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge, qpsvm.SquaredHinge, qpsvm.HuberHinge)
REGRESSION = (qpsvm.EpsilonSVR, qpsvm.NuSVR, qpsvm.QuantileSVR)
JOINT = (qpsvm.CrammerSinger, qpsvm.WestonWatkins)


@dataclass
class Space:
    """Features of the samples (n, D), of new points (k, D), and of the points of constraints on f (q, D)."""

    samples: np.ndarray
    new: np.ndarray
    rows: np.ndarray
    points: np.ndarray
    features: np.ndarray

    @classmethod
    def from_problem(cls, problem: Any) -> Space:
        X = np.asarray(problem.X, dtype=float)
        rows = [
            item for item in getattr(problem, "constraints", None) or () if isinstance(item, qpsvm.ValueConstraints)
        ]
        if rows:
            Z = np.vstack([dense(item.Z) for item in rows])
        else:
            Z = np.zeros((0, X.shape[1]))
        points = np.vstack([X, (X[:-1] + X[1:])[:4] / 2, Z])
        if isinstance(problem.kernel, qpsvm.Linear):
            features = points
        else:
            values, vectors = np.linalg.eigh(np.asarray(problem.kernel(points, points)))
            kept = values > 1e-12 * values.max()
            features = vectors[:, kept] * np.sqrt(values[kept])
        samples, new, combine_constraints = np.split(features, [len(X), len(points) - len(Z)])
        return cls(samples, new, combine_constraints, points, features)

    def weights(self, products: np.ndarray) -> np.ndarray:
        """Return w (D,) from its inner products with all points."""
        found: np.ndarray = np.linalg.lstsq(self.features, products, rcond=None)[0]
        return found


@dataclass
class Point:
    """α and a point of the primal; of an all-in-one machine w is (k, D) and b (k,)."""

    alpha: np.ndarray
    w: np.ndarray
    b: Any
    level: float = 1.0  # ρ, or ε of a ν-SVR
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    xi: np.ndarray | None = None  # over the rows of the dual; None: as small as w and b allow
    zeta: np.ndarray | None = None


def dense(rows: Any) -> np.ndarray:
    """Return rows as a dense matrix of floats."""
    return np.atleast_2d(rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=float))


def get_weights(problem: Any) -> np.ndarray:
    s = getattr(problem, "sample_weight", None)
    return np.ones(problem.n) if s is None else np.asarray(s, dtype=float)


def compute_penalties(problem: Any) -> np.ndarray:
    """Return the penalty of a unit of slack of each row (m,); infinite for a hard margin."""
    s = get_weights(problem)
    if not isinstance(problem, qpsvm.Ranking):
        each = getattr(problem, "C", 1.0) * s
    else:
        each = s
    match problem:
        case qpsvm.HardMargin():
            return np.full(problem.n, np.inf)
        case qpsvm.PrimalHinge() | qpsvm.NuSVM():
            return s / s.sum()
        case qpsvm.OneClass():
            return s
        case qpsvm.SVDD():
            return s / (problem.nu * s.sum())
        case qpsvm.Ranking():
            return problem.C * s[problem.pairs[:, 0]] * s[problem.pairs[:, 1]]
        case qpsvm.QuantileSVR():
            return np.concatenate([problem.quantile * each, (1 - problem.quantile) * each])
        case qpsvm.EpsilonSVR() | qpsvm.NuSVR():
            return np.tile(each, 2)
    return each


def is_squared(problem: Any) -> bool:
    return isinstance(problem, qpsvm.SquaredHinge) or getattr(problem, "loss", "") == "squared"


def get_unit(problem: Any) -> float:
    return problem.lam if isinstance(problem, qpsvm.PrimalHinge) else 1.0


def get_signs(problem: Any) -> np.ndarray:
    """Return the signs s_k of the rows: (m,)."""
    if isinstance(problem, BINARY):
        return np.asarray(problem.y, dtype=float)
    if isinstance(problem, REGRESSION):
        return np.repeat([1.0, -1.0], problem.n)
    return np.ones(len(problem.pairs) if isinstance(problem, qpsvm.Ranking) else problem.n)


def get_targets(problem: Any) -> np.ndarray:
    return np.asarray(problem.t, dtype=float)


def has_no_labels(problem: Any) -> bool:
    """Say whether the machine has no target; its b is −ρ or μ."""
    return isinstance(problem, (qpsvm.OneClass, qpsvm.SVDD))


def compute_row_features(problem: Any, space: Space) -> np.ndarray:
    """Return φ of each row (m, D); of a ranking the difference of a pair."""
    if isinstance(problem, REGRESSION):
        return np.tile(space.samples, (2, 1))
    if isinstance(problem, qpsvm.Ranking):
        return space.samples[problem.pairs[:, 0]] - space.samples[problem.pairs[:, 1]]
    return space.samples


def find_misses(problem: Any, space: Space, at: Point) -> np.ndarray:
    """Return t − s f of each row (m,), whose positive part is the slack."""
    if isinstance(problem, qpsvm.SVDD):
        c = at.w
        R2 = float(at.w @ at.w + 2 * at.b)
        return np.square(space.samples - c).sum(axis=1) - R2
    sf = get_signs(problem) * (compute_row_features(problem, space) @ at.w + at.b)
    if isinstance(problem, qpsvm.NuSVM):
        return at.level - sf
    if isinstance(problem, qpsvm.OneClass):
        return -sf
    if isinstance(problem, REGRESSION):
        if isinstance(problem, qpsvm.NuSVR):
            epsilon = at.level
        else:
            epsilon = getattr(problem, "epsilon", 0.0)
        return get_signs(problem) * np.tile(get_targets(problem), 2) - epsilon - sf
    return 1.0 - sf


def compute_slacks(problem: Any, space: Space, at: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return ξ and ζ (m,) over the rows of the dual."""
    if at.xi is not None:
        return at.xi, np.zeros_like(at.xi) if at.zeta is None else at.zeta
    shortfall = np.maximum(find_misses(problem, space, at), 0.0)
    if isinstance(problem, qpsvm.HuberHinge):
        return np.minimum(shortfall, problem.width), np.maximum(shortfall - problem.width, 0.0)
    return shortfall, np.zeros_like(shortfall)


def compute_primal(problem: Any, space: Space, at: Point) -> float:
    """Return P by the textbook formula."""
    xi, zeta = compute_slacks(problem, space, at)
    C = compute_penalties(problem)
    own = at.b**2 if problem.intercept == "penalised" else 0.0
    norm = 0.5 * (float(at.w @ at.w) + own)
    match problem:
        case qpsvm.HardMargin():
            return norm
        case qpsvm.PrimalHinge():
            return problem.lam * norm + float(C @ xi)
        case qpsvm.NuSVM():
            return norm - problem.nu * at.level + float(C @ xi)
        case qpsvm.OneClass():
            return norm + problem.nu * C.sum() * at.b + float(C @ xi)
        case qpsvm.SVDD():
            return float(at.w @ at.w + 2 * at.b + C @ xi)
        case qpsvm.HuberHinge():
            return norm + float(C @ (xi**2 / (2 * problem.width) + zeta))
        case qpsvm.NuSVR():
            return norm + problem.nu * 0.5 * C.sum() * at.level + float(C @ xi)
    return norm + float(C @ (xi**2 if is_squared(problem) else xi))


def get_alpha_bounds(problem: Any, alpha: np.ndarray) -> np.ndarray:
    """Return the bound of α (m,), or the largest α for rows without one: ᾱ is bound − α."""
    C = compute_penalties(problem) / get_unit(problem)
    if is_squared(problem) or np.isinf(C).all():
        return np.full(len(alpha), alpha.max())
    return C


def compute_lagrangian(problem: Any, space: Space, at: Point, text: str) -> float:
    """Return L without a user's constraints; for arguments with ½ at half of w and b, for ᾱ at bound − α."""
    xi, zeta = compute_slacks(problem, space, at)
    C = compute_penalties(problem) / get_unit(problem)
    alpha = at.alpha
    kept = xi
    if isinstance(problem, qpsvm.HuberHinge):
        kept = zeta
    bound = get_alpha_bounds(problem, alpha)
    half = 0.5 if r"\tfrac12" in text else 1.0
    alpha = bound - alpha if r"\bar" in text else alpha
    point = Point(alpha, half * at.w, half * at.b, at.level, xi=xi, zeta=zeta)
    alpha_product = alpha @ (xi + zeta - find_misses(problem, space, point))
    if is_squared(problem) or np.isinf(C).all():
        eta_product = 0.0
    else:
        eta_product = (C - alpha) @ kept
    return float(compute_primal(problem, space, point) - get_unit(problem) * (alpha_product + eta_product))


def compute_dual(problem: Any, at: Point) -> float:
    """Return D by the library's QP."""
    alpha = np.concatenate(
        [np.asarray(at.alpha).ravel(), at.multipliers / (1.0 if not len(at.multipliers) else get_unit(problem))]
    )
    return -float(problem.qp("dual").objective(alpha))


def read_constraints(problem: Any, space: Space) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return g (p, D), the coefficients of b (p,), h (p,) and A (p, q) of a user's constraints, in the user's units."""
    (item,) = problem.constraints
    if isinstance(item, qpsvm.Constraints):
        G = dense(item.G)
        return G, item.c * np.ones(len(G)), read_rhs(problem), np.zeros((0, len(space.rows)))
    A = dense(item.A)
    return A @ space.rows, A.sum(axis=1), read_rhs(problem), A


def read_rhs(problem: Any) -> np.ndarray:
    """Return the right-hand sides h (p,) of a user's constraints."""
    (item,) = problem.constraints
    return np.atleast_1d(item.h).astype(float)


def compute_constraint_slack(problem: Any, space: Space, w: np.ndarray, b: float) -> np.ndarray:
    """Return the slack of a user's constraints (p,); for SVDD w is the centre and b is μ."""
    g, c, h, A = read_constraints(problem, space)
    twice = 2.0 if isinstance(problem, qpsvm.SVDD) else 1.0
    if twice == 2.0 and len(A):
        h = h + A @ np.square(space.rows).sum(axis=1)
    return h - twice * (g @ w + (0.0 if isinstance(problem, qpsvm.Ranking) else c * b))
