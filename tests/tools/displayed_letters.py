"""The letters of displayed equations, bound to arrays of a reader's problem: nothing is read from a derivation.

K, w, ξ, … are made from samples, kernel, penalties and α in plain NumPy. The feature space of a kernel that is not
linear is that of a factor of its matrix over all points that occur, so that w is a vector there too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from displayed import Names, Tensor, scalar

import qpsvm
from qpsvm.base.arrays.frozen import copy_without_cache

BINARY = (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge, qpsvm.SquaredHinge, qpsvm.HuberHinge)
REGRESSION = (qpsvm.EpsilonSVR, qpsvm.NuSVR, qpsvm.QuantileSVR)
JOINT = (qpsvm.CrammerSinger, qpsvm.WestonWatkins)


def dense(rows: Any) -> np.ndarray:
    return np.atleast_2d(rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=float))


@dataclass
class Space:
    """Features of the samples, of new points and of the points of rows: (n, D), (k, D), (q, D)."""

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
        """w with these products with all points."""
        found: np.ndarray = np.linalg.lstsq(self.features, products, rcond=None)[0]
        return found


@dataclass
class Point:
    """α and a point of the primal; of a joint machine w is (k, D) and b (k,), and ξ as its machine has it."""

    alpha: np.ndarray
    w: np.ndarray
    b: Any
    level: float = 1.0  # ρ, or ε of a ν-SVR
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    xi: np.ndarray | None = None  # over the rows of the dual; None: as small as w and b allow
    zeta: np.ndarray | None = None


# --- machines ---------------------------------------------------------------------------------------------------------


def weights_of(problem: Any) -> np.ndarray:
    s = getattr(problem, "sample_weight", None)
    return np.ones(problem.n) if s is None else np.asarray(s, dtype=float)


def compute_penalties(problem: Any) -> np.ndarray:
    """What a unit of slack of a row costs, (m,); infinite of a hard margin."""
    s = weights_of(problem)
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


def unit(problem: Any) -> float:
    return problem.lam if isinstance(problem, qpsvm.PrimalHinge) else 1.0


def signs(problem: Any) -> np.ndarray:
    """s_k: (m,)."""
    if isinstance(problem, BINARY):
        return np.asarray(problem.y, dtype=float)
    if isinstance(problem, REGRESSION):
        return np.repeat([1.0, -1.0], problem.n)
    return np.ones(len(problem.pairs) if isinstance(problem, qpsvm.Ranking) else problem.n)


def row_features(problem: Any, space: Space) -> np.ndarray:
    """φ of each row, of a ranking the difference of its pair: (m, D)."""
    if isinstance(problem, REGRESSION):
        return np.tile(space.samples, (2, 1))
    if isinstance(problem, qpsvm.Ranking):
        return space.samples[problem.pairs[:, 0]] - space.samples[problem.pairs[:, 1]]
    return space.samples


def targets(problem: Any) -> np.ndarray:
    return np.asarray(problem.t, dtype=float)


def find_misses(problem: Any, space: Space, at: Point) -> np.ndarray:
    """Return what a row misses, t − s f: (m,). The slack is its positive part."""
    if isinstance(problem, qpsvm.SVDD):
        c, R2 = at.w, float(at.w @ at.w + 2 * at.b)
        return np.square(space.samples - c).sum(axis=1) - R2
    sf = signs(problem) * (row_features(problem, space) @ at.w + at.b)
    if isinstance(problem, qpsvm.NuSVM):
        return at.level - sf
    if isinstance(problem, qpsvm.OneClass):
        return -sf
    if isinstance(problem, REGRESSION):
        epsilon = at.level if isinstance(problem, qpsvm.NuSVR) else getattr(problem, "epsilon", 0.0)
        return signs(problem) * np.tile(targets(problem), 2) - epsilon - sf
    return 1.0 - sf


def slacks(problem: Any, space: Space, at: Point) -> tuple[np.ndarray, np.ndarray]:
    """ξ and ζ over the rows of the dual."""
    if at.xi is not None:
        return at.xi, np.zeros_like(at.xi) if at.zeta is None else at.zeta
    short = np.maximum(find_misses(problem, space, at), 0.0)
    if isinstance(problem, qpsvm.HuberHinge):
        return np.minimum(short, problem.width), np.maximum(short - problem.width, 0.0)
    return short, np.zeros_like(short)


def primal(problem: Any, space: Space, at: Point) -> float:
    """P as the textbook has it."""
    xi, zeta = slacks(problem, space, at)
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


def bound_of(problem: Any, alpha: np.ndarray) -> np.ndarray:
    """What α is turned round in: its bound, or the largest α where it has none."""
    C = compute_penalties(problem) / unit(problem)
    return np.full(len(alpha), alpha.max()) if is_squared(problem) or np.isinf(C).all() else C


def lagrangian(problem: Any, space: Space, at: Point, said: str) -> float:
    """L at a point, without a user's rows: with half of the weights, or with what α leaves of its bound."""
    xi, zeta = slacks(problem, space, at)
    C, alpha, kept = compute_penalties(problem) / unit(problem), at.alpha, xi
    if isinstance(problem, qpsvm.HuberHinge):
        kept = zeta
    bound = bound_of(problem, alpha)
    half = 0.5 if r"\tfrac12" in said else 1.0
    alpha = bound - alpha if r"\bar" in said else alpha
    moved = Point(alpha, half * at.w, half * at.b, at.level, xi=xi, zeta=zeta)
    off = alpha @ (xi + zeta - find_misses(problem, space, moved))
    room = 0.0 if is_squared(problem) or np.isinf(C).all() else (C - alpha) @ kept
    return float(primal(problem, space, moved) - unit(problem) * (off + room))


def dual(problem: Any, at: Point) -> float:
    """D by the library's QP."""
    alpha = np.concatenate(
        [np.asarray(at.alpha).ravel(), at.multipliers / (1.0 if not len(at.multipliers) else unit(problem))]
    )
    return -float(problem.qp("dual").objective(alpha))


# --- points -----------------------------------------------------------------------------------------------------------


def optimal(problem: Any, result: Any, space: Space) -> Point:
    """The result: w by the values of its decision function."""
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


def any_point(problem: Any, space: Space, rng: np.random.Generator, recovered: bool) -> Point:
    """A random feasible α with w(α), or with a random feasible point of the primal."""
    upper = np.ones((problem.n, len(problem.classes))) if isinstance(problem, JOINT) else np.minimum(problem.upper, 2.0)
    rows, given = getattr(problem, "constraints", None), rng.uniform(0.0, 1.0, np.shape(upper)) * upper
    given[len(compute_penalties(problem)) if rows else given.size :] *= 0.2  # so that α may balance the multipliers
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
        w = row_features(problem, space).T @ (signs(problem) * alpha)
        w -= rows_of(problem, space)[0].T @ lam / unit(problem) if rows else 0.0
    if problem.intercept == "penalised" and recovered:
        b = float(signs(problem) @ alpha) - (float(rows_of(problem, space)[1] @ lam) / unit(problem) if rows else 0.0)
    if problem.intercept is None and not has_no_labels(problem):
        b = 0.0
    if isinstance(problem, qpsvm.HardMargin) and not recovered:  # beyond every margin
        best = optimal(problem, qpsvm.solve(problem, check=False), space)
        w, b = (best.w, best.b) if rows else (1.3 * best.w, 1.3 * best.b)
    if rows and not recovered and not isinstance(problem, qpsvm.HardMargin):
        w, b = move_inside(problem, space, w, b)
    at, extra = Point(alpha, w, b, level, lam), rng.uniform(0.0, 1.0, len(signs(problem)))
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
    """Return the nearest (w, b), or nearly, that keeps the rows of a user's with room."""
    g, c, _, _ = rows_of(problem, space)
    moves = np.column_stack([g, 0.0 * c if problem.intercept is None and not has_no_labels(problem) else c])
    for _ in range(200):
        for j in range(len(g)):
            room = left_of_bound(problem, space, w, b)[j] - 0.01
            if room < 0.0:
                step = room / float(moves[j] @ moves[j]) / (2.0 if isinstance(problem, qpsvm.SVDD) else 1.0)
                w, b = w + step * moves[j, :-1], b + step * moves[j, -1]
    assert left_of_bound(problem, space, w, b).min() > 0.0
    return w, b


def has_no_labels(problem: Any) -> bool:
    """Say whether there are no labels, and b is −ρ or μ."""
    return isinstance(problem, (qpsvm.OneClass, qpsvm.SVDD))


# --- letters ----------------------------------------------------------------------------------------------------------


def kernel(names: Names, text: str) -> Tensor:
    """K between two points, or of all with themselves."""
    one, other = (names.point(part) for part in text.split(","))
    if one.axes == other.axes:
        return Tensor(np.square(one.a).sum(axis=1), one.axes[:1])
    return Tensor(one.a @ other.a.T, (one.axes[0], other.axes[0]))


def names_of(problem: Any, space: Space, at: Point) -> Names:
    """All letters at a point."""
    if isinstance(problem, JOINT):
        return _joint(problem, space, at)
    names = Names({}, {"x_": space.samples, "x": space.new, "z_": space.rows})
    values, functions = names.values, names.functions
    Phi, alpha, s, C = space.samples, at.alpha, signs(problem), compute_penalties(problem)
    xi, zeta = slacks(problem, space, at)
    rows = row_features(problem, space)
    ball = isinstance(problem, qpsvm.SVDD)
    w_of_alpha = rows.T @ (s * alpha)
    K, P, D = Phi @ Phi.T, primal(problem, space, at), dual(problem, at)

    def f(features: np.ndarray) -> np.ndarray:
        if ball:  # R² − ‖φ − c‖²
            return float(at.w @ at.w) + 2 * at.b - np.square(features - at.w).sum(axis=1)
        return features @ at.w + at.b

    def of_point(text: str) -> Tensor:
        found = names.point(text)
        return Tensor(f(found.a), found.axes[:1])

    functions |= {
        "f": of_point, "K": lambda text: kernel(names, text), r"\varphi": names.point,
        "c" if ball else "w": lambda _: Tensor(w_of_alpha, (".",)),
        "P": lambda text: scalar(0.0 if text == "0,0,0" else P), "D": lambda _: scalar(D),
        "L": lambda text: scalar(lagrangian(problem, space, at, text)),
    }  # fmt: skip
    names.rewrites |= {
        r"\langle (w,b),\,(\varphi(x_i),1)\rangle": r"\langle w,\varphi(x_i)\rangle+b",
        r"w^{\top}x": r"\langle w,\varphi(x)\rangle",
    }
    names.vectors |= {"w", "w^*", "g", "z", "c" if ball else "w"}
    n = len(Phi)
    values |= {
        "w": at.w, "w^*": at.w, "b": at.b, r"\alpha": alpha, r"\xi": xi, r"\zeta": zeta, r"\eta": C - alpha, "K": K,
        "X": Phi, "L": D, "f": f(Phi), r"\nu": getattr(problem, "nu", 0.0), r"\rho": at.level, "s": weights_of(problem),
    }  # fmt: skip
    u = K @ _beta(problem, s * alpha)
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
        functions |= {key: (lambda _, end=end: scalar(end)) for key, end in ends.items()}
        values[r"\delta"] = (u[s > 0].min() - u[s < 0].max()) / 2
    if isinstance(problem, REGRESSION):
        t, (above, below) = targets(problem), np.split(alpha, 2)
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
    turned = bound_of(problem, alpha) - alpha
    values |= {r"\bar\alpha": turned, "P": scalar(P)}
    functions["P^*"] = lambda text: changed_optima(problem, text)
    if "C" in values:
        values[r"\Delta"] = Tensor(np.asarray(values["C"]) / 100, ("i",))
    if isinstance(problem, REGRESSION):
        values |= {r"\bar\alpha^+": turned[:n], r"\bar\alpha^-": turned[n:]}
    if problem.constraints:
        _rows(problem, space, at, names)
    return names


def _beta(problem: Any, signed: np.ndarray) -> np.ndarray:
    if isinstance(problem, REGRESSION):
        return signed[: problem.n] + signed[problem.n :]
    if isinstance(problem, qpsvm.Ranking):
        beta = np.zeros(problem.n)
        np.add.at(beta, problem.pairs[:, 0], signed)
        np.add.at(beta, problem.pairs[:, 1], -signed)
        return beta
    return signed


def rows_of(problem: Any, space: Space) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """g (p, D), what b counts, h (p,) and A (p, q) of a user's rows, in the units of the user."""
    (item,) = problem.constraints
    if isinstance(item, qpsvm.Constraints):
        G = dense(item.G)
        return G, item.c * np.ones(len(G)), h_alone(problem), np.zeros((0, len(space.rows)))
    A = dense(item.A)
    return A @ space.rows, A.sum(axis=1), h_alone(problem), A


def h_alone(problem: Any) -> np.ndarray:
    """The bounds of a user's rows: (p,)."""
    (item,) = problem.constraints
    return np.atleast_1d(item.h).astype(float)


@cache
def changed_optima(problem: Any, text: str) -> Tensor:
    """P* with one C_i, or one h_j, more or less by Δ: an entry for each, of a problem that is made and solved anew."""
    index, sign = text[2], 1.0 if text[3] == "+" else -1.0
    if index == "i":
        C = np.broadcast_to(problem.C, problem.n) * (1.0 + 0.01 * sign * np.eye(problem.n))
        problems = [problem.replace(C=each) for each in C]
    else:
        h = h_alone(problem)
        moved = h + sign * np.abs(h).max() / 100 * np.eye(len(h))
        problems = [copy_without_cache(problem) for _ in moved]
        for other, each in zip(problems, moved, strict=True):
            (item,) = problem.constraints
            over_w = isinstance(item, qpsvm.Constraints)
            other.constraints = (qpsvm.Constraints(item.G, each, c=item.c) if over_w
                                 else qpsvm.ValueConstraints(item.Z, item.A, each),)  # fmt: skip
    optima = [qpsvm.solve(each, tol=1e-12, check=False).primal for each in problems]
    return Tensor(np.array(optima, dtype=float), (index,))


def left_of_bound(problem: Any, space: Space, w: np.ndarray, b: float) -> np.ndarray:
    """What is left of the bounds of a user's rows, (p,): of a ball w is the centre and b is μ."""
    g, c, h, A = rows_of(problem, space)
    twice = 2.0 if isinstance(problem, qpsvm.SVDD) else 1.0
    if twice == 2.0 and len(A):
        h = h + A @ np.square(space.rows).sum(axis=1)
    return h - twice * (g @ w + (0.0 if isinstance(problem, qpsvm.Ranking) else c * b))


def _rows(problem: Any, space: Space, at: Point, names: Names) -> None:
    """The letters of a user's rows."""
    g, c, h, A = rows_of(problem, space)
    lam, ball, values = at.multipliers, isinstance(problem, qpsvm.SVDD), names.values
    w_of_both = row_features(problem, space).T @ (signs(problem) * at.alpha) - g.T @ lam / unit(problem)
    values |= {"g": g, "d" if ball else "c": c, "h_j": Tensor(h, ("j",)), "A": A, r"\pi": lam}
    values |= {"h_l": Tensor(h_alone(problem), ("l",)), "D": scalar(dual(problem, at))}
    values[r"\Delta"] = Tensor(np.abs(h_alone(problem)).max() / 100)
    names.functions["c" if ball else "w"] = lambda _: Tensor(w_of_both, (".",))
    names.vectors |= {"g"}
    for said, row in (("Af(Z)", r"\sum_lA_{jl}f(z_l)"), ("Gw+cb", r"\langle g_j,w\rangle+c_jb"),
                      ("Gw", r"\langle g_j,w\rangle"), (r"2Gc+2\mu d", r"2\langle g_j,c\rangle+2d_j\mu")):  # fmt: skip
        names.rewrites[rf"{said}\le h"] = rf"{row}\le h_j"

    def of_L(text: str) -> Tensor:
        half = 0.5 if r"\tfrac12" in text else 1.0
        rows = lam @ left_of_bound(problem, space, half * at.w, half * at.b)
        return scalar(lagrangian(problem, space, at, text) - rows)

    names.functions["L"] = of_L


def _joint(problem: Any, space: Space, at: Point) -> Names:
    Phi, y, s = space.samples, problem._all_in_one_dual.label, weights_of(problem)
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
    names = Names({}, {"x_": Phi, "x": space.new})

    def L(text: str) -> Tensor:
        half, used = 0.5 if r"\tfrac12" in text else 1.0, turned if r"\bar" in text else alpha
        short = np.where(own, 0.0, 1 - half * (f[np.arange(n), y][:, None] - f))
        slack = xi[:, None] if one else xi
        room = (C - used.sum(axis=1)) @ xi if one else ((C[:, None] - used) * xi)[~own].sum()
        cost = C @ xi if one else (C[:, None] * xi).sum()
        off = (used * np.where(own, 0.0, slack - short)).sum()
        return scalar(half**2 * norm + cost - off - room)

    def of_point(text: str, index: str) -> Tensor:
        found = names.point(text)
        values = found.a @ W.T + b
        if index == "y_i":
            return Tensor(values[np.arange(n), y], ("i",))
        return Tensor(values, (found.axes[0], index))

    names.functions |= {"f": of_point, r"\varphi": names.point, "K": lambda text: kernel(names, text), "L": L,
                        "w": lambda _, index: Tensor(w_of_alpha, (index, "."))}  # fmt: skip
    names.vectors |= {"w"}
    names.values |= {
        r"\alpha": alpha, r"\beta": beta, "w": W, "b": b, "C": C, r"\xi": xi, "P": scalar(P),
        r"\eta": C - alpha.sum(axis=1) if one else np.where(own, 0.0, C[:, None] - alpha),
        "L": D, "D": scalar(D),
        "w_y_i": Tensor(W[y], ("i", ".")), r"\beta_iy_i": Tensor(beta[np.arange(n), y], ("i",)),
        "c": Tensor(np.arange(k), ("c",)), "d": Tensor(np.arange(k), ("d",)), "y": Tensor(y, ("i",)), "k": k,
        r"\bar\alpha": turned,
    }  # fmt: skip
    names.mask = Tensor(~own, ("i", "c"))
    names.rewrites |= {r"\quad (c\ne y_i)": "", r"\ (c\ne y_i)": ""}
    names.rewrites |= {r"\beta_c^{\top}K\beta_c": r"\sum_{i,j}\beta_{ic}\beta_{jc}K(x_i,x_j)"}
    if k == 2:
        names.values |= {"v": Tensor(W[1] - W[0], (".",)), "b_1": scalar(b[0]), "b_2": scalar(b[1]),
                         "w_1": Tensor(W[0], (".",)), "w_2": Tensor(W[1], (".",))}  # fmt: skip
    return names
