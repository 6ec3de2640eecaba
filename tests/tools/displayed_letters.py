"""Bind the symbols of displayed equations to arrays of a problem, independently of the library's derivations.

`bind_symbols(problem, space, at)` returns the `Symbols` of `displayed.py`. K, w, ξ, … are computed in plain NumPy from
samples, kernel, penalties and a `Point`: `find_optimal_point` gives that of a result, `draw_point` a random feasible
one. `Space` has explicit features: for a nonlinear kernel those of a factor of its matrix over all points that occur,
so that w is a vector there too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from displayed_arrays import Tensor, as_scalar
from displayed_parser import Symbols

import qpsvm
from qpsvm.base.arrays.frozen import copy_without_cache

BINARY = (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge, qpsvm.SquaredHinge, qpsvm.HuberHinge)
REGRESSION = (qpsvm.EpsilonSVR, qpsvm.NuSVR, qpsvm.QuantileSVR)
JOINT = (qpsvm.CrammerSinger, qpsvm.WestonWatkins)


def dense(rows: Any) -> np.ndarray:
    """Return rows as a dense matrix of floats."""
    return np.atleast_2d(rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=float))


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
        Z = np.vstack([dense(item.Z) for item in rows]) if rows else np.zeros((0, X.shape[1]))
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


# --- machines ---------------------------------------------------------------------------------------------------------


def get_weights(problem: Any) -> np.ndarray:
    s = getattr(problem, "sample_weight", None)
    return np.ones(problem.n) if s is None else np.asarray(s, dtype=float)


def compute_penalties(problem: Any) -> np.ndarray:
    """Return the penalty of a unit of slack of each row (m,); infinite for a hard margin."""
    s = get_weights(problem)
    each = getattr(problem, "C", 1.0) * s if not isinstance(problem, qpsvm.Ranking) else s
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


def row_features(problem: Any, space: Space) -> np.ndarray:
    """Return φ of each row (m, D); of a ranking the difference of a pair."""
    if isinstance(problem, REGRESSION):
        return np.tile(space.samples, (2, 1))
    if isinstance(problem, qpsvm.Ranking):
        return space.samples[problem.pairs[:, 0]] - space.samples[problem.pairs[:, 1]]
    return space.samples


def get_targets(problem: Any) -> np.ndarray:
    return np.asarray(problem.t, dtype=float)


def find_misses(problem: Any, space: Space, at: Point) -> np.ndarray:
    """Return t − s f of each row (m,), whose positive part is the slack."""
    if isinstance(problem, qpsvm.SVDD):
        c, R2 = at.w, float(at.w @ at.w + 2 * at.b)
        return np.square(space.samples - c).sum(axis=1) - R2
    sf = get_signs(problem) * (row_features(problem, space) @ at.w + at.b)
    if isinstance(problem, qpsvm.NuSVM):
        return at.level - sf
    if isinstance(problem, qpsvm.OneClass):
        return -sf
    if isinstance(problem, REGRESSION):
        epsilon = at.level if isinstance(problem, qpsvm.NuSVR) else getattr(problem, "epsilon", 0.0)
        return get_signs(problem) * np.tile(get_targets(problem), 2) - epsilon - sf
    return 1.0 - sf


def compute_slacks(problem: Any, space: Space, at: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return ξ and ζ (m,) over the rows of the dual."""
    if at.xi is not None:
        return at.xi, np.zeros_like(at.xi) if at.zeta is None else at.zeta
    short = np.maximum(find_misses(problem, space, at), 0.0)
    if isinstance(problem, qpsvm.HuberHinge):
        return np.minimum(short, problem.width), np.maximum(short - problem.width, 0.0)
    return short, np.zeros_like(short)


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
    return np.full(len(alpha), alpha.max()) if is_squared(problem) or np.isinf(C).all() else C


def compute_lagrangian(problem: Any, space: Space, at: Point, said: str) -> float:
    """Return L without a user's constraints; for arguments with ½ at half of w and b, for ᾱ at bound − α."""
    xi, zeta = compute_slacks(problem, space, at)
    C, alpha, kept = compute_penalties(problem) / get_unit(problem), at.alpha, xi
    if isinstance(problem, qpsvm.HuberHinge):
        kept = zeta
    bound = get_alpha_bounds(problem, alpha)
    half = 0.5 if r"\tfrac12" in said else 1.0
    alpha = bound - alpha if r"\bar" in said else alpha
    moved = Point(alpha, half * at.w, half * at.b, at.level, xi=xi, zeta=zeta)
    off = alpha @ (xi + zeta - find_misses(problem, space, moved))
    room = 0.0 if is_squared(problem) or np.isinf(C).all() else (C - alpha) @ kept
    return float(compute_primal(problem, space, moved) - get_unit(problem) * (off + room))


def compute_dual(problem: Any, at: Point) -> float:
    """Return D by the library's QP."""
    alpha = np.concatenate(
        [np.asarray(at.alpha).ravel(), at.multipliers / (1.0 if not len(at.multipliers) else get_unit(problem))]
    )
    return -float(problem.qp("dual").objective(alpha))


# --- points -----------------------------------------------------------------------------------------------------------


def find_optimal_point(problem: Any, result: Any, space: Space) -> Point:
    """Return the point of a result, with w from the values of its decision function."""
    f = result.decision_function(space.points)
    if isinstance(problem, JOINT):
        return Point(result.alpha, space.weights(f - result.b).T, result.b)
    table = result.constraints
    found = np.zeros(0) if table is None else np.asarray(table["multiplier"])
    if isinstance(problem, qpsvm.SVDD):
        w = space.weights(f - result.b + np.square(space.features).sum(axis=1))
        return Point(result.alpha, w / 2, result.b / 2, multipliers=found)
    level = result.extras.get("epsilon", result.rho) if isinstance(problem, qpsvm.NuSVR) else result.rho
    return Point(result.alpha, space.weights(f - result.b), float(result.b), float(level), found)


def draw_point(problem: Any, space: Space, rng: np.random.Generator, recovered: bool) -> Point:
    """Draw a feasible α, with w(α) if `recovered`, otherwise with a random feasible point of the primal."""
    upper = np.ones((problem.n, len(problem.classes))) if isinstance(problem, JOINT) else np.minimum(problem.upper, 2.0)
    rows, given = getattr(problem, "constraints", None), rng.uniform(0.0, 1.0, np.shape(upper)) * upper
    given[len(compute_penalties(problem)) if rows else given.size :] *= 0.2  # so that α can balance the multipliers
    some = problem.at(given)
    alpha, lam = some.alpha, np.asarray(some.constraints["multiplier"]) if rows else np.zeros(0)
    D = space.samples.shape[1]
    if isinstance(problem, JOINT):
        k = len(problem.classes)
        W, b = rng.normal(size=(k, D)), rng.normal(size=k)
        return Point(alpha, W, b if problem.intercept else np.zeros(k), xi=np.zeros(0) if recovered else None)
    w, b, level = rng.normal(size=D), float(rng.normal()), float(rng.uniform(0.5, 1.0))
    b = abs(b) if isinstance(problem, qpsvm.SVDD) else b  # R² is positive
    if recovered:
        w = row_features(problem, space).T @ (get_signs(problem) * alpha)
        w -= read_constraints(problem, space)[0].T @ lam / get_unit(problem) if rows else 0.0
    if problem.intercept == "penalised" and recovered:
        b = float(get_signs(problem) @ alpha) - (
            float(read_constraints(problem, space)[1] @ lam) / get_unit(problem) if rows else 0.0
        )
    if problem.intercept is None and not has_no_labels(problem):
        b = 0.0
    if isinstance(problem, qpsvm.HardMargin) and not recovered:  # beyond every margin
        best = find_optimal_point(problem, qpsvm.solve(problem, check=False), space)
        w, b = (best.w, best.b) if rows else (1.3 * best.w, 1.3 * best.b)
    if rows and not recovered and not isinstance(problem, qpsvm.HardMargin):
        w, b = move_inside(problem, space, w, b)
    at, extra = Point(alpha, w, b, level, lam), rng.uniform(0.0, 1.0, len(get_signs(problem)))
    C = compute_penalties(problem)
    if isinstance(problem, qpsvm.HuberHinge):
        at.zeta = extra if recovered else np.maximum(find_misses(problem, space, at), 0.0)
        at.xi = problem.width * alpha / C if recovered else extra
    elif recovered:
        at.xi = alpha / (2 * C) if is_squared(problem) else extra
    else:
        at.xi = np.maximum(find_misses(problem, space, at), 0.0) + extra
    return at


def move_inside(problem: Any, space: Space, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
    """Move (w, b) until a user's constraints hold with some slack, roughly to the nearest such point."""
    g, c, _, _ = read_constraints(problem, space)
    moves = np.column_stack([g, 0.0 * c if problem.intercept is None and not has_no_labels(problem) else c])
    for _ in range(200):
        for j in range(len(g)):
            room = compute_constraint_slack(problem, space, w, b)[j] - 0.01
            if room < 0.0:
                step = room / float(moves[j] @ moves[j]) / (2.0 if isinstance(problem, qpsvm.SVDD) else 1.0)
                w, b = w + step * moves[j, :-1], b + step * moves[j, -1]
    assert compute_constraint_slack(problem, space, w, b).min() > 0.0
    return w, b


def has_no_labels(problem: Any) -> bool:
    """Say whether the machine has no target; its b is −ρ or μ."""
    return isinstance(problem, (qpsvm.OneClass, qpsvm.SVDD))


# --- letters ----------------------------------------------------------------------------------------------------------


def evaluate_kernel(names: Symbols, text: str) -> Tensor:
    """Return K between two points, or K(x, x) if both are the same."""
    one, other = (names.point(part) for part in text.split(","))
    if one.axes == other.axes:
        return Tensor(np.square(one.a).sum(axis=1), one.axes[:1])
    return Tensor(one.a @ other.a.T, (one.axes[0], other.axes[0]))


def bind_symbols(problem: Any, space: Space, at: Point) -> Symbols:
    """Bind all symbols at a point."""
    if isinstance(problem, JOINT):
        return _bind_all_in_one(problem, space, at)
    names = Symbols({}, {"x_": space.samples, "x": space.new, "z_": space.rows})
    values, functions = names.values, names.functions
    Phi, alpha, s, C = space.samples, at.alpha, get_signs(problem), compute_penalties(problem)
    xi, zeta = compute_slacks(problem, space, at)
    rows = row_features(problem, space)
    ball = isinstance(problem, qpsvm.SVDD)
    w_of_alpha = rows.T @ (s * alpha)
    K, P, D = Phi @ Phi.T, compute_primal(problem, space, at), compute_dual(problem, at)

    def f(features: np.ndarray) -> np.ndarray:
        if ball:  # R² − ‖φ − c‖²
            return float(at.w @ at.w) + 2 * at.b - np.square(features - at.w).sum(axis=1)
        return features @ at.w + at.b

    def of_point(text: str) -> Tensor:
        found = names.point(text)
        return Tensor(f(found.a), found.axes[:1])

    functions |= {
        "f": of_point, "K": lambda text: evaluate_kernel(names, text), r"\varphi": names.point,
        "c" if ball else "w": lambda _: Tensor(w_of_alpha, (".",)),
        "P": lambda text: as_scalar(0.0 if text == "0,0,0" else P), "D": lambda _: as_scalar(D),
        "L": lambda text: as_scalar(compute_lagrangian(problem, space, at, text)),
    }  # fmt: skip
    names.rewrites |= {
        r"\langle (w,b),\,(\varphi(x_i),1)\rangle": r"\langle w,\varphi(x_i)\rangle+b",
        r"w^{\top}x": r"\langle w,\varphi(x)\rangle",
    }
    names.vectors |= {"w", "w^*", "g", "z", "c" if ball else "w"}
    n = len(Phi)
    values |= {
        "w": at.w, "w^*": at.w, "b": at.b, r"\alpha": alpha, r"\xi": xi, r"\zeta": zeta, r"\eta": C - alpha, "K": K,
        "X": Phi, "L": D, "f": f(Phi), r"\nu": getattr(problem, "nu", 0.0), r"\rho": at.level,
        "s": get_weights(problem),
    }  # fmt: skip
    u = K @ _compute_beta(problem, s * alpha)
    values["u"] = u
    if isinstance(problem, BINARY):
        Q = K * np.outer(s, s)
        values |= {"y": s, "Q": Q, "C": C, "p": C, "a": C, r"\eta": C - alpha}
        values[r"\nu_\max"] = 2 * min(C[s > 0].sum(), C[s < 0].sum()) / C.sum() if np.isfinite(C).all() else 1.0
        values |= {"S_+": C[s > 0].sum(), "S_-": C[s < 0].sum(), "S": C.sum()}
        if isinstance(problem, qpsvm.PrimalHinge):
            values |= {r"\lambda": problem.lam, r"\eta": C / problem.lam - alpha, "C": C / problem.lam}
        if isinstance(problem, qpsvm.SquaredHinge):
            values |= {"D": np.diag(1 / (2 * C)), "D_ii": Tensor(1 / (2 * C), ("i",))}
        if isinstance(problem, qpsvm.HuberHinge):
            h, t = problem.width, np.linspace(0, 3, 31)
            psi = C[:, None] * np.where(t <= h, t**2 / (2 * h), t - h / 2)
            values |= {r"\kappa": h, "D": np.diag(h / C), "D_ii": Tensor(h / C, ("i",)), "t": Tensor(t, ("t",))}
            functions[r"\psi_i"] = lambda _: Tensor(psi, ("i", "t"))
        if isinstance(problem, qpsvm.NuSVM):
            values |= {"s": at.level - at.b, "t": at.level + at.b}
        ends = {r"\min_+": u[s > 0].min(), r"\max_-": u[s < 0].max(), r"\min_-": u[s < 0].min()}
        functions |= {key: (lambda _, end=end: as_scalar(end)) for key, end in ends.items()}
        values[r"\delta"] = (u[s > 0].min() - u[s < 0].max()) / 2
    if isinstance(problem, REGRESSION):
        t, (above, below) = get_targets(problem), np.split(alpha, 2)
        half = np.split(C, 2)
        base = half[0] + half[1] if isinstance(problem, qpsvm.QuantileSVR) else half[0]
        values |= {
            "t": t, r"\alpha^+": above, r"\alpha^-": below, r"\alpha^\pm": np.array([above, below]),
            r"\beta": above - below,
            r"\xi": xi[:n], r"\xi^*": xi[n:], r"\eta": half[0] - above, r"\eta^*": half[1] - below, "C": base,
            r"\tau": getattr(problem, "quantile", 0.0), r"\Sigma_C": base.sum(),
            r"\varepsilon": at.level if isinstance(problem, qpsvm.NuSVR) else getattr(problem, "epsilon", 0.0),
        }  # fmt: skip
    if isinstance(problem, qpsvm.OneClass):
        values |= {r"\rho": -at.b, "S": C.sum(), "Q": K, r"\eta": C - alpha, "C": C}
    if ball:
        R2 = float(at.w @ at.w + 2 * at.b)
        values |= {"c": at.w, "R": np.sqrt(max(R2, 0.0)), r"\mu": at.b, "C": C, "Q": K, r"\kappa": K[0, 0]}
    if isinstance(problem, qpsvm.Ranking):
        names.points["z_k"] = rows
        names.rewrites |= {
            "f(x_{i_k})-f(x_{j_k})": r"\langle w,z_k\rangle", r"\varphi(x_{i_k})-\varphi(x_{j_k})": "z_k"
        }  # fmt: skip
        A = np.zeros((len(rows), n))
        A[np.arange(len(rows)), problem.pairs[:, 0]], A[np.arange(len(rows)), problem.pairs[:, 1]] = 1.0, -1.0
        values |= {"A": A, r"\beta": A.T @ alpha, "C": C, "y": np.ones(len(rows))}
    turned = get_alpha_bounds(problem, alpha) - alpha
    values |= {r"\bar\alpha": turned, "P": as_scalar(P)}
    functions["P^*"] = lambda text: solve_perturbed(problem, text)
    if "C" in values:
        values[r"\Delta"] = Tensor(np.asarray(values["C"]) / 100, ("i",))
    if isinstance(problem, REGRESSION):
        values |= {r"\bar\alpha^+": turned[:n], r"\bar\alpha^-": turned[n:]}
    if problem.constraints:
        _bind_constraints(problem, space, at, names)
    return names


def _compute_beta(problem: Any, signed: np.ndarray) -> np.ndarray:
    if isinstance(problem, REGRESSION):
        return signed[: problem.n] + signed[problem.n :]
    if isinstance(problem, qpsvm.Ranking):
        beta = np.zeros(problem.n)
        np.add.at(beta, problem.pairs[:, 0], signed)
        np.add.at(beta, problem.pairs[:, 1], -signed)
        return beta
    return signed


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


@cache
def solve_perturbed(problem: Any, text: str) -> Tensor:
    """Solve the problem with one C_i, or one h_j, changed by ±Δ; return P* for each i or j."""
    index, sign = text[2], 1.0 if text[3] == "+" else -1.0
    if index == "i":
        C = np.broadcast_to(problem.C, problem.n) * (1.0 + 0.01 * sign * np.eye(problem.n))
        problems = [problem.replace(C=each) for each in C]
    else:
        h = read_rhs(problem)
        moved = h + sign * np.abs(h).max() / 100 * np.eye(len(h))
        problems = [copy_without_cache(problem) for _ in moved]
        for other, each in zip(problems, moved, strict=True):
            (item,) = problem.constraints
            over_w = isinstance(item, qpsvm.Constraints)
            other.constraints = (qpsvm.Constraints(item.G, each, c=item.c) if over_w
                                 else qpsvm.ValueConstraints(item.Z, item.A, each),)  # fmt: skip
    optima = [qpsvm.solve(each, tol=1e-12, check=False).primal for each in problems]
    return Tensor(np.array(optima, dtype=float), (index,))


def compute_constraint_slack(problem: Any, space: Space, w: np.ndarray, b: float) -> np.ndarray:
    """Return the slack of a user's constraints (p,); for SVDD w is the centre and b is μ."""
    g, c, h, A = read_constraints(problem, space)
    twice = 2.0 if isinstance(problem, qpsvm.SVDD) else 1.0
    if twice == 2.0 and len(A):
        h = h + A @ np.square(space.rows).sum(axis=1)
    return h - twice * (g @ w + (0.0 if isinstance(problem, qpsvm.Ranking) else c * b))


def _bind_constraints(problem: Any, space: Space, at: Point, names: Symbols) -> None:
    """Bind the symbols of a user's constraints."""
    g, c, h, A = read_constraints(problem, space)
    lam, ball, values = at.multipliers, isinstance(problem, qpsvm.SVDD), names.values
    w_of_both = row_features(problem, space).T @ (get_signs(problem) * at.alpha) - g.T @ lam / get_unit(problem)
    values |= {"g": g, "d" if ball else "c": c, "h_j": Tensor(h, ("j",)), "A": A, r"\pi": lam}
    values |= {"h_l": Tensor(read_rhs(problem), ("l",)), "D": as_scalar(compute_dual(problem, at))}
    values[r"\Delta"] = Tensor(np.abs(read_rhs(problem)).max() / 100)
    names.functions["c" if ball else "w"] = lambda _: Tensor(w_of_both, (".",))
    names.vectors |= {"g"}
    for said, row in (("Af(Z)", r"\sum_lA_{jl}f(z_l)"), ("Gw+cb", r"\langle g_j,w\rangle+c_jb"),
                      ("Gw", r"\langle g_j,w\rangle"), (r"2Gc+2\mu d", r"2\langle g_j,c\rangle+2d_j\mu")):  # fmt: skip
        names.rewrites[rf"{said}\le h"] = rf"{row}\le h_j"

    def of_L(text: str) -> Tensor:
        half = 0.5 if r"\tfrac12" in text else 1.0
        rows = lam @ compute_constraint_slack(problem, space, half * at.w, half * at.b)
        return as_scalar(compute_lagrangian(problem, space, at, text) - rows)

    names.functions["L"] = of_L


def _bind_all_in_one(problem: Any, space: Space, at: Point) -> Symbols:
    """Bind the symbols of an all-in-one machine."""
    Phi, y, s = space.samples, problem._all_in_one_dual.label, get_weights(problem)
    n, k = len(Phi), len(problem.classes)
    C, alpha, one = problem.C * s, np.asarray(at.alpha, dtype=float).copy(), isinstance(problem, qpsvm.CrammerSinger)
    own = np.eye(k, dtype=bool)[y]
    alpha[own] = 0.0
    beta = np.where(own, alpha.sum(axis=1)[:, None], -alpha)
    W, b = at.w, np.asarray(at.b)
    w_of_alpha = beta.T @ Phi
    if at.xi is not None:  # w(α)
        W, b = w_of_alpha, beta.sum(axis=0) if problem.intercept == "penalised" else b
    f = Phi @ W.T + b
    missing = np.where(own, 0.0, 1 - (f[np.arange(n), y][:, None] - f))
    xi = np.maximum(missing, 0.0).max(axis=1) if one else np.maximum(missing, 0.0)
    norm = 0.5 * (W**2).sum() + (0.5 * b @ b if problem.intercept == "penalised" else 0.0)
    P = norm + (C @ xi if one else (C[:, None] * xi).sum())
    D = -float(problem.qp("dual").objective(alpha[~own]))
    left = C[:, None] - (alpha.sum(axis=1)[:, None] if one else alpha)
    turned = np.where(own, 0.0, left / (k - 1) if one else left)
    names = Symbols({}, {"x_": Phi, "x": space.new})

    def L(text: str) -> Tensor:
        half, used = 0.5 if r"\tfrac12" in text else 1.0, turned if r"\bar" in text else alpha
        short = np.where(own, 0.0, 1 - half * (f[np.arange(n), y][:, None] - f))
        slack = xi[:, None] if one else xi
        room = (C - used.sum(axis=1)) @ xi if one else ((C[:, None] - used) * xi)[~own].sum()
        cost = C @ xi if one else (C[:, None] * xi).sum()
        off = (used * np.where(own, 0.0, slack - short)).sum()
        return as_scalar(half**2 * norm + cost - off - room)

    def of_point(text: str, index: str) -> Tensor:
        found = names.point(text)
        values = found.a @ W.T + b
        if index == "y_i":
            return Tensor(values[np.arange(n), y], ("i",))
        return Tensor(values, (found.axes[0], index))

    names.functions |= {"f": of_point, r"\varphi": names.point, "K": lambda text: evaluate_kernel(names, text), "L": L,
                        "w": lambda _, index: Tensor(w_of_alpha, (index, "."))}  # fmt: skip
    names.vectors |= {"w"}
    names.values |= {
        r"\alpha": alpha, r"\beta": beta, "w": W, "b": b, "C": C, r"\xi": xi, "P": as_scalar(P),
        r"\eta": C - alpha.sum(axis=1) if one else np.where(own, 0.0, C[:, None] - alpha),
        "L": D, "D": as_scalar(D),
        "w_y_i": Tensor(W[y], ("i", ".")), r"\beta_iy_i": Tensor(beta[np.arange(n), y], ("i",)),
        "c": Tensor(np.arange(k), ("c",)), "d": Tensor(np.arange(k), ("d",)), "y": Tensor(y, ("i",)), "k": k,
        r"\bar\alpha": turned,
    }  # fmt: skip
    names.mask = Tensor(~own, ("i", "c"))
    names.rewrites |= {r"\quad (c\ne y_i)": "", r"\ (c\ne y_i)": ""}
    names.rewrites |= {r"\beta_c^{\top}K\beta_c": r"\sum_{i,j}\beta_{ic}\beta_{jc}K(x_i,x_j)"}
    if k == 2:
        names.values |= {"v": Tensor(W[1] - W[0], (".",)), "b_1": as_scalar(b[0]), "b_2": as_scalar(b[1]),
                         "w_1": Tensor(W[0], (".",)), "w_2": Tensor(W[1], (".",))}  # fmt: skip
    return names
