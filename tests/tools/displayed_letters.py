"""Bind the symbols of displayed equations to arrays of a problem, independently of the library's derivations.

`bind_symbols(problem, space, at)` returns the `Symbols` of `displayed_parser`: K, w, ξ, … at a `Point`, computed by
`displayed_formulas`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from displayed_arrays import Tensor, as_scalar
from displayed_formulas import (
    BINARY,
    JOINT,
    REGRESSION,
    Point,
    Space,
    compute_constraint_slack,
    compute_dual,
    compute_lagrangian,
    compute_penalties,
    compute_primal,
    compute_row_features,
    compute_slacks,
    get_alpha_bounds,
    get_signs,
    get_targets,
    get_unit,
    get_weights,
    read_constraints,
    read_rhs,
)
from displayed_parser import Symbols

import qpsvm
from qpsvm.base.arrays.frozen import copy_without_cache


def bind_symbols(problem: Any, space: Space, at: Point) -> Symbols:
    """Bind all symbols at a point."""
    if isinstance(problem, JOINT):
        return _bind_all_in_one(problem, space, at)
    names = Symbols({}, {"x_": space.samples, "x": space.new, "z_": space.rows})
    values, functions = names.values, names.functions
    Phi = space.samples
    alpha = at.alpha
    s = get_signs(problem)
    C = compute_penalties(problem)
    xi, zeta = compute_slacks(problem, space, at)
    rows = compute_row_features(problem, space)
    ball = isinstance(problem, qpsvm.SVDD)
    w_of_alpha = rows.T @ (s * alpha)
    K = Phi @ Phi.T
    P = compute_primal(problem, space, at)
    D = compute_dual(problem, at)

    def f(features: np.ndarray) -> np.ndarray:
        if ball:  # R² − ‖φ − c‖²
            return float(at.w @ at.w) + 2 * at.b - np.square(features - at.w).sum(axis=1)
        return features @ at.w + at.b

    def evaluate_f(text: str) -> Tensor:
        found = names.point(text)
        return Tensor(f(found.a), found.axes[:1])

    functions |= {
        "f": evaluate_f, "K": lambda text: evaluate_kernel(names, text), r"\varphi": names.point,
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
        _bind_two_class(problem, at, names)
    if isinstance(problem, REGRESSION):
        _bind_regression(problem, at, xi, names)
    if isinstance(problem, qpsvm.OneClass):
        values |= {r"\rho": -at.b, "S": C.sum(), "Q": K, r"\eta": C - alpha, "C": C}
    if ball:
        R2 = float(at.w @ at.w + 2 * at.b)
        values |= {"c": at.w, "R": np.sqrt(max(R2, 0.0)), r"\mu": at.b, "C": C, "Q": K, r"\kappa": K[0, 0]}
    if isinstance(problem, qpsvm.Ranking):
        _bind_ranking(problem, rows, at, names)
    complement = get_alpha_bounds(problem, alpha) - alpha
    values |= {r"\bar\alpha": complement, "P": as_scalar(P)}
    functions["P^*"] = lambda text: solve_perturbed(problem, text)
    if "C" in values:
        values[r"\Delta"] = Tensor(np.asarray(values["C"]) / 100, ("i",))
    if isinstance(problem, REGRESSION):
        values |= {r"\bar\alpha^+": complement[:n], r"\bar\alpha^-": complement[n:]}
    if problem.constraints:
        _bind_constraints(problem, space, at, names)
    return names


def _bind_two_class(problem: Any, at: Point, names: Symbols) -> None:
    """Bind the symbols of a two-class machine."""
    values, functions = names.values, names.functions
    alpha = at.alpha
    s = get_signs(problem)
    C = compute_penalties(problem)
    K = values["K"]
    u = values["u"]
    Q = K * np.outer(s, s)
    values |= {"y": s, "Q": Q, "C": C, "p": C, "a": C, r"\eta": C - alpha}
    if np.isfinite(C).all():
        values[r"\nu_\max"] = 2 * min(C[s > 0].sum(), C[s < 0].sum()) / C.sum()
    else:
        values[r"\nu_\max"] = 1.0
    values |= {"S_+": C[s > 0].sum(), "S_-": C[s < 0].sum(), "S": C.sum()}
    if isinstance(problem, qpsvm.PrimalHinge):
        values |= {r"\lambda": problem.lam, r"\eta": C / problem.lam - alpha, "C": C / problem.lam}
    if isinstance(problem, qpsvm.SquaredHinge):
        values |= {"D": np.diag(1 / (2 * C)), "D_ii": Tensor(1 / (2 * C), ("i",))}
    if isinstance(problem, qpsvm.HuberHinge):
        h = problem.width
        t = np.linspace(0, 3, 31)
        psi = C[:, None] * np.where(t <= h, t**2 / (2 * h), t - h / 2)
        values |= {r"\kappa": h, "D": np.diag(h / C), "D_ii": Tensor(h / C, ("i",)), "t": Tensor(t, ("t",))}
        functions[r"\psi_i"] = lambda _: Tensor(psi, ("i", "t"))
    if isinstance(problem, qpsvm.NuSVM):
        values |= {"s": at.level - at.b, "t": at.level + at.b}
    ends = {r"\min_+": u[s > 0].min(), r"\max_-": u[s < 0].max(), r"\min_-": u[s < 0].min()}
    functions |= {key: (lambda _, end=end: as_scalar(end)) for key, end in ends.items()}
    values[r"\delta"] = (u[s > 0].min() - u[s < 0].max()) / 2


def _bind_regression(problem: Any, at: Point, xi: np.ndarray, names: Symbols) -> None:
    """Bind the symbols of a regression, with ξ and ξ* in `xi` (2n,)."""
    values = names.values
    n = problem.n
    alpha = at.alpha
    C = compute_penalties(problem)
    t = get_targets(problem)
    above, below = np.split(alpha, 2)
    half = np.split(C, 2)
    base = half[0] + half[1] if isinstance(problem, qpsvm.QuantileSVR) else half[0]
    values |= {
        "t": t, r"\alpha^+": above, r"\alpha^-": below, r"\alpha^\pm": np.array([above, below]),
        r"\beta": above - below,
        r"\xi": xi[:n], r"\xi^*": xi[n:], r"\eta": half[0] - above, r"\eta^*": half[1] - below, "C": base,
        r"\tau": getattr(problem, "quantile", 0.0), r"\Sigma_C": base.sum(),
        r"\varepsilon": at.level if isinstance(problem, qpsvm.NuSVR) else getattr(problem, "epsilon", 0.0),
    }  # fmt: skip


def _bind_ranking(problem: Any, differences: np.ndarray, at: Point, names: Symbols) -> None:
    """Bind the symbols of a ranking, with the features of the pairs' differences (m, D)."""
    values = names.values
    n = problem.n
    alpha = at.alpha
    C = compute_penalties(problem)
    names.points["z_k"] = differences
    names.rewrites |= {
        "f(x_{i_k})-f(x_{j_k})": r"\langle w,z_k\rangle", r"\varphi(x_{i_k})-\varphi(x_{j_k})": "z_k"
    }  # fmt: skip
    A = np.zeros((len(differences), n))
    A[np.arange(len(differences)), problem.pairs[:, 0]] = 1.0
    A[np.arange(len(differences)), problem.pairs[:, 1]] = -1.0
    values |= {"A": A, r"\beta": A.T @ alpha, "C": C, "y": np.ones(len(differences))}


def _bind_constraints(problem: Any, space: Space, at: Point, names: Symbols) -> None:
    """Bind the symbols of a user's constraints."""
    g, c, h, A = read_constraints(problem, space)
    lam = at.multipliers
    ball = isinstance(problem, qpsvm.SVDD)
    values = names.values
    w_of_both = compute_row_features(problem, space).T @ (get_signs(problem) * at.alpha) - g.T @ lam / get_unit(problem)
    values |= {"g": g, "d" if ball else "c": c, "h_j": Tensor(h, ("j",)), "A": A, r"\pi": lam}
    values |= {"h_l": Tensor(read_rhs(problem), ("l",)), "D": as_scalar(compute_dual(problem, at))}
    values[r"\Delta"] = Tensor(np.abs(read_rhs(problem)).max() / 100)
    names.functions["c" if ball else "w"] = lambda _: Tensor(w_of_both, (".",))
    names.vectors |= {"g"}
    for said, row in (("Af(Z)", r"\sum_lA_{jl}f(z_l)"), ("Gw+cb", r"\langle g_j,w\rangle+c_jb"),
                      ("Gw", r"\langle g_j,w\rangle"), (r"2Gc+2\mu d", r"2\langle g_j,c\rangle+2d_j\mu")):  # fmt: skip
        names.rewrites[rf"{said}\le h"] = rf"{row}\le h_j"

    def evaluate_lagrangian(text: str) -> Tensor:
        half = 0.5 if r"\tfrac12" in text else 1.0
        rows = lam @ compute_constraint_slack(problem, space, half * at.w, half * at.b)
        return as_scalar(compute_lagrangian(problem, space, at, text) - rows)

    names.functions["L"] = evaluate_lagrangian


def _bind_all_in_one(problem: Any, space: Space, at: Point) -> Symbols:
    """Bind the symbols of an all-in-one machine."""
    Phi = space.samples
    y = problem._all_in_one_dual.label
    s = get_weights(problem)
    n = len(Phi)
    k = len(problem.classes)
    C = problem.C * s
    alpha = np.asarray(at.alpha, dtype=float).copy()
    one = isinstance(problem, qpsvm.CrammerSinger)
    own = np.eye(k, dtype=bool)[y]
    alpha[own] = 0.0
    beta = np.where(own, alpha.sum(axis=1)[:, None], -alpha)
    W = at.w
    b = np.asarray(at.b)
    w_of_alpha = beta.T @ Phi
    if at.xi is not None:  # w(α)
        W = w_of_alpha
        b = beta.sum(axis=0) if problem.intercept == "penalised" else b
    f = Phi @ W.T + b
    missing = np.where(own, 0.0, 1 - (f[np.arange(n), y][:, None] - f))
    xi = np.maximum(missing, 0.0).max(axis=1) if one else np.maximum(missing, 0.0)
    norm = 0.5 * (W**2).sum() + (0.5 * b @ b if problem.intercept == "penalised" else 0.0)
    P = norm + (C @ xi if one else (C[:, None] * xi).sum())
    D = -float(problem.qp("dual").objective(alpha[~own]))
    left = C[:, None] - (alpha.sum(axis=1)[:, None] if one else alpha)
    complement = np.where(own, 0.0, left / (k - 1) if one else left)
    names = Symbols({}, {"x_": Phi, "x": space.new})

    def L(text: str) -> Tensor:
        half = 0.5 if r"\tfrac12" in text else 1.0
        used = complement if r"\bar" in text else alpha
        short = np.where(own, 0.0, 1 - half * (f[np.arange(n), y][:, None] - f))
        slack = xi[:, None] if one else xi
        if one:
            room = (C - used.sum(axis=1)) @ xi
        else:
            room = ((C[:, None] - used) * xi)[~own].sum()
        cost = C @ xi if one else (C[:, None] * xi).sum()
        off = (used * np.where(own, 0.0, slack - short)).sum()
        return as_scalar(half**2 * norm + cost - off - room)

    def evaluate_f(text: str, index: str) -> Tensor:
        found = names.point(text)
        values = found.a @ W.T + b
        if index == "y_i":
            return Tensor(values[np.arange(n), y], ("i",))
        return Tensor(values, (found.axes[0], index))

    names.functions |= {"f": evaluate_f, r"\varphi": names.point, "K": lambda text: evaluate_kernel(names, text),
                        "L": L, "w": lambda _, index: Tensor(w_of_alpha, (index, "."))}  # fmt: skip
    names.vectors |= {"w"}
    names.values |= {
        r"\alpha": alpha, r"\beta": beta, "w": W, "b": b, "C": C, r"\xi": xi, "P": as_scalar(P),
        r"\eta": C - alpha.sum(axis=1) if one else np.where(own, 0.0, C[:, None] - alpha),
        "L": D, "D": as_scalar(D),
        "w_y_i": Tensor(W[y], ("i", ".")), r"\beta_iy_i": Tensor(beta[np.arange(n), y], ("i",)),
        "c": Tensor(np.arange(k), ("c",)), "d": Tensor(np.arange(k), ("d",)), "y": Tensor(y, ("i",)), "k": k,
        r"\bar\alpha": complement,
    }  # fmt: skip
    names.mask = Tensor(~own, ("i", "c"))
    names.rewrites |= {r"\quad (c\ne y_i)": "", r"\ (c\ne y_i)": ""}
    names.rewrites |= {r"\beta_c^{\top}K\beta_c": r"\sum_{i,j}\beta_{ic}\beta_{jc}K(x_i,x_j)"}
    if k == 2:
        names.values |= {"v": Tensor(W[1] - W[0], (".",)), "b_1": as_scalar(b[0]), "b_2": as_scalar(b[1]),
                         "w_1": Tensor(W[0], (".",)), "w_2": Tensor(W[1], (".",))}  # fmt: skip
    return names


def evaluate_kernel(names: Symbols, text: str) -> Tensor:
    """Return K between two points, or K(x, x) if both are the same."""
    one, other = (names.point(part) for part in text.split(","))
    if one.axes == other.axes:
        return Tensor(np.square(one.a).sum(axis=1), one.axes[:1])
    return Tensor(one.a @ other.a.T, (one.axes[0], other.axes[0]))


@cache
def solve_perturbed(problem: Any, text: str) -> Tensor:
    """Solve the problem with one C_i, or one h_j, changed by ±Δ; return P* for each i or j."""
    index = text[2]
    sign = 1.0 if text[3] == "+" else -1.0
    if index == "i":
        C = np.broadcast_to(problem.C, problem.n) * (1.0 + 0.01 * sign * np.eye(problem.n))
        problems = [problem.replace(C=each) for each in C]
    else:
        h = read_rhs(problem)
        perturbed = h + sign * np.abs(h).max() / 100 * np.eye(len(h))
        problems = [copy_without_cache(problem) for _ in perturbed]
        for other, each in zip(problems, perturbed, strict=True):
            (item,) = problem.constraints
            over_w = isinstance(item, qpsvm.Constraints)
            if over_w:
                constraints = qpsvm.Constraints(item.G, each, c=item.c)
            else:
                constraints = qpsvm.ValueConstraints(item.Z, item.A, each)
            vars(other)["constraints"] = (constraints,)
    optima = [qpsvm.solve(each, tol=1e-12, check=False).primal for each in problems]
    return Tensor(np.array(optima, dtype=float), (index,))


def _compute_beta(problem: Any, signed: np.ndarray) -> np.ndarray:
    if isinstance(problem, REGRESSION):
        return signed[: problem.n] + signed[problem.n :]
    if isinstance(problem, qpsvm.Ranking):
        beta = np.zeros(problem.n)
        np.add.at(beta, problem.pairs[:, 0], signed)
        np.add.at(beta, problem.pairs[:, 1], -signed)
        return beta
    return signed
