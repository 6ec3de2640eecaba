"""Every machine as the textbook has it, in plain NumPy, and the samples that it is given.

An entry says both objectives at a point, the box and the equalities of the dual, and the coefficients of f that α
stands for. `matrix.py` combines machines with kernels, scales, backends and forms.

Letters: X (n, d), y (n,) of ±1, t (n,) the target, C_i = C s_i the penalty of slack, K (n, n), β (n,) coefficients of
f, u = s² where K grows with the scale s, else 1: parameters are divided by u, so that only the units change.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import qpsvm

LAM, EPSILON, NU_SHARE, QUANTILE, WIDTH = 0.02, 0.3, 0.4, 0.8, 0.5
INTERCEPTS = ("free", "penalised", None)

# --- samples ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """X (n, d) and y (n,) of ±1, with weights s_i and penalties C_i for the machines that take them."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray = field(init=False)
    penalties: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(3)
        weights = rng.uniform(0.2, 2.0, len(self.y))
        weights[[3, 11]] = 0.0
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "penalties", rng.uniform(0.5, 3.0, len(self.y)))


def blobs(n: int, d: int, distance: float, positive: float, seed: int) -> Samples:
    """Two normal clouds 2·distance apart along the first axis, a share `positive` of them in the positive class."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < round(positive * n), 1.0, -1.0)
    y = y[rng.permutation(n)]
    X = rng.normal(size=(n, d)) + 0.3
    X[:, 0] += distance * y
    return Samples(X, y)


def drop_entries(samples: Samples) -> Samples:
    """Return the same with a fifth of the entries of X zero."""
    kept = np.random.default_rng(5).random(samples.X.shape) < 0.8
    return Samples(np.where(kept, samples.X, 0.0), samples.y)


SAMPLES = {
    "separable": blobs(40, 2, distance=4.0, positive=0.4, seed=1),
    "overlapping": blobs(50, 3, distance=1.1, positive=0.4, seed=2),
    "balanced": blobs(40, 3, distance=0.8, positive=0.5, seed=4),
    "few": blobs(18, 3, distance=0.8, positive=0.5, seed=6),
}
SAMPLES["sparse"] = drop_entries(SAMPLES["overlapping"])
SAMPLES["away"] = Samples(SAMPLES["overlapping"].X + 2.0, SAMPLES["overlapping"].y)


def target(samples: Samples) -> np.ndarray:
    """A number for each sample: a plane and noise, (n,)."""
    X = samples.X
    return X @ np.arange(1.0, 1.0 + X.shape[1]) + np.random.default_rng(8).normal(0.0, 0.5, len(X))


def grades(samples: Samples) -> np.ndarray:
    """How good each sample is, in a few grades: (n,)."""
    return np.round(target(samples) / 2.0)


def pairs(samples: Samples) -> list[tuple[int, int]]:
    """(better, worse), in the order of the library."""
    y = grades(samples)
    order = sorted(range(len(y)), key=lambda i: (y[i], i))
    return [(i, j) for i in order for j in order if y[i] > y[j]]


# --- a point of a machine ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Point:
    """A result as the formulas need it.

    Attributes
    ----------
    samples : Samples
    K : ndarray, shape (n, n)
        As the dual has it: made definite where it has to be, with the penalised intercept's 1.
    alpha, beta, f : ndarray
        α (m,), the coefficients of f (n,) by the textbook, f at the samples (n,) with b, before K(x, x) is taken away.
    norm : float
        ‖w‖², with b² where that is penalised.
    weights, upper : ndarray
        s_i (n,) and the bounds of α (m,).
    u : float
    rho : float
        The margin: 1 where it is no variable.
    extras : dict
        ρ, ε, R.
    """

    samples: Samples
    K: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    f: np.ndarray
    norm: float
    weights: np.ndarray
    upper: np.ndarray
    u: float
    rho: float
    extras: dict[str, float]

    @property
    def C(self) -> np.ndarray:
        """Penalties of slack with C = 1: (n,)."""
        return self.weights / self.u

    @property
    def quadratic(self) -> float:
        """βᵀKβ."""
        return float(self.beta @ self.K @ self.beta)


def signed(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """α∘y."""
    return alpha * samples.y


def difference(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """α⁺ − α⁻."""
    return alpha[: len(samples.y)] - alpha[len(samples.y) :]


def count_wins(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return what each sample wins in its pairs less what it loses."""
    beta = np.zeros(len(samples.y))
    for a, (i, j) in zip(alpha, pairs(samples), strict=True):
        beta[i] += a
        beta[j] -= a
    return beta


def pair_differences(p: Point) -> np.ndarray:
    """Return f of the better less f of the worse of every pair."""
    return np.array([p.f[i] - p.f[j] for i, j in pairs(p.samples)])


def pair_penalties(samples: Samples, s: np.ndarray, u: float) -> np.ndarray:
    """C s_i s_j."""
    return np.array([s[i] * s[j] for i, j in pairs(samples)]) / u


def margin_slack(p: Point) -> np.ndarray:
    """Return max(0, ρ − y f)."""
    return np.maximum(p.rho - p.samples.y * p.f, 0.0)


def tube_slack(p: Point, epsilon: float) -> np.ndarray:
    """Return max(0, |t − f| − ε)."""
    return np.maximum(np.abs(target(p.samples) - p.f) - epsilon, 0.0)


def pinball(r: np.ndarray) -> np.ndarray:
    """τ r above, (1 − τ)|r| below."""
    return np.where(r > 0.0, QUANTILE * r, (QUANTILE - 1.0) * r)


def huber(r: np.ndarray) -> np.ndarray:
    """r²/(2h) up to h, r − h/2 beyond."""
    return np.where(r <= WIDTH, r**2 / (2 * WIDTH), r - WIDTH / 2)


def ball_slack(p: Point) -> np.ndarray:
    """Return max(0, ‖φ(x_i) − c‖² − R²), with c = Σ α_i φ(x_i)/Σα taken from f: (n,)."""
    square = p.norm / 4.0  # f = 2⟨c, φ⟩ + 2μ, so w = 2c
    c_phi = (p.f - (p.extras["radius"] ** 2 - square)) / 2.0
    return np.maximum(p.K.diagonal() - 2.0 * c_phi + square - p.extras["radius"] ** 2, 0.0)


def curvature(p: Point) -> float:
    """Σ α_i²/C_i, where a sample of a regression has two α_i, one of them 0."""
    squares = (p.alpha**2).reshape(-1, len(p.C)).sum(axis=0)
    return float(squares[p.C > 0] @ (1 / p.C[p.C > 0]))


def linear_dual(p: Point) -> float:
    """1ᵀα − ½βᵀKβ."""
    return float(p.alpha.sum()) - 0.5 * p.quadratic


def tube_dual(p: Point) -> float:
    """tᵀβ − ε1ᵀα − ½βᵀKβ."""
    return float(target(p.samples) @ p.beta - EPSILON * p.alpha.sum() - 0.5 * p.quadratic)


# --- machines ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Units:
    """The powers of s by which a solution changes where K grows with s² and the parameters follow."""

    alpha: int
    w: int
    f: int
    value: int


FIXED_MARGIN = Units(alpha=-2, w=-1, f=0, value=-2)
HINGE = Units(alpha=-2, w=-1, f=0, value=0)
NU = Units(alpha=0, w=1, f=2, value=2)
ALWAYS = ("linear", "polynomial", "rbf", "sparse", "precomputed", "sigmoid-clip", "sigmoid-shift", "affine", "callable")
#: A column and what its product with α has to be, of (samples, s, u).
Sums = Callable[[Samples, np.ndarray, float], list[tuple[np.ndarray, float]]]


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine with its parameters.

    Attributes
    ----------
    make : callable, (samples, X, kernel, u, sample weights or None, further arguments) to Problem
    upper : callable, (samples, s, u) to the bounds of α
    beta : callable, (samples, alpha) to the coefficients of f
    primal, dual : callable, Point to float
    sums : callable
    units : Units
    data : str
    intercept : "free", "penalised" or None
    size : float
        f in units of that of α's coefficients.
    nu : float
        1ᵀα of a ν-SVM; 0 where that is not a constraint.
    factor : callable, u to the factor of primal and dual values
    weighted : container of str
        The kernels under which samples have weights, two of which are 0.
    """

    make: Callable[..., qpsvm.Problem]
    upper: Callable[[Samples, np.ndarray, float], np.ndarray]
    beta: Callable[[Samples, np.ndarray], np.ndarray]
    primal: Callable[[Point], float]
    dual: Callable[[Point], float]
    sums: Sums = lambda s, w, u: []  # noqa: ARG005
    units: Units = FIXED_MARGIN
    data: str = "overlapping"
    intercept: str | None = "free"
    size: float = 1.0
    nu: float = 0.0
    factor: Callable[[float], float] = lambda u: 1.0  # noqa: ARG005
    weighted: Container[str] = ("rbf", "sparse")


def _classes_balance(s: Samples, w: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:  # noqa: ARG001
    return [(s.y, 0.0)]


def _sides_balance(s: Samples, w: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:  # noqa: ARG001
    return [(np.repeat([1.0, -1.0], len(s.y)), 0.0)]


def _classifier(make: Any, upper: Any, loss: Callable[[Point], float], dual: Any = linear_dual, **more: Any) -> Machine:
    """½‖w‖² and a loss."""
    primal = lambda p: 0.5 * p.norm + loss(p)  # noqa: E731
    return Machine(make, upper, signed, primal, dual, _classes_balance, **more)


def _regression(make: Any, upper: Any, loss: Callable[[Point], float], dual: Any, **more: Any) -> Machine:
    """½‖w‖² and a loss, with α⁺ and α⁻."""
    primal = lambda p: 0.5 * p.norm + loss(p)  # noqa: E731
    return Machine(make, upper, difference, primal, dual, **{"sums": _sides_balance, **more})


def _c_svm(C: float, **more: Any) -> Machine:
    return _classifier(
        lambda s, X, k, u, w, **how: qpsvm.CSVM(X, s.y, C / u, k, w, **how),
        lambda s, w, u: C * w / u,  # noqa: ARG005
        lambda p: p.upper @ margin_slack(p),
        **more,
    )


def _nu_svm(nu: float, **more: Any) -> Machine:
    return Machine(
        lambda s, X, k, u, w, **how: qpsvm.NuSVM(X, s.y, nu, k, w, **how),  # noqa: ARG005
        lambda s, w, u: w / w.sum(),  # noqa: ARG005
        signed,
        lambda p: 0.5 * p.norm - nu * p.rho + p.upper @ margin_slack(p),
        lambda p: -0.5 * p.quadratic,
        lambda s, w, u: [(s.y, 0.0), (np.ones(len(s.y)), nu)],  # noqa: ARG005
        NU, nu=nu, **more,
    )  # fmt: skip


def _unbounded(s: Samples, w: np.ndarray, u: float) -> np.ndarray:  # noqa: ARG001
    return np.where(w > 0, np.inf, 0.0)


#: Those that are tried with an intercept of each kind.
WITH_INTERCEPT = {
    "csvm": _c_svm(1.0, weighted=()),
    "hinge": _classifier(
        lambda s, X, k, u, w, **how: qpsvm.PrimalHinge(X, s.y, LAM * u, k, sample_weight=w, **how),
        lambda s, w, u: w / w.sum() / (LAM * u),  # noqa: ARG005
        lambda p: p.upper @ margin_slack(p),
        units=HINGE, factor=lambda u: LAM * u,
    ),
    "squared_hinge": _classifier(
        lambda s, X, k, u, w, **how: qpsvm.SquaredHinge(X, s.y, 1 / u, k, w, **how),
        _unbounded,
        lambda p: p.C @ margin_slack(p) ** 2,
        lambda p: linear_dual(p) - 0.25 * curvature(p),
    ),
    "huber_hinge": _classifier(
        lambda s, X, k, u, w, **how: qpsvm.HuberHinge(X, s.y, 1 / u, WIDTH, k, w, **how),
        lambda s, w, u: w / u,  # noqa: ARG005
        lambda p: p.C @ huber(margin_slack(p)),
        lambda p: linear_dual(p) - 0.5 * WIDTH * curvature(p),
    ),
    "epsilon_svr": _regression(
        lambda s, X, k, u, w, **how: qpsvm.EpsilonSVR(X, target(s), 1 / u, EPSILON, "absolute", k, w, **how),
        lambda s, w, u: np.tile(w / u, 2),  # noqa: ARG005
        lambda p: p.C @ tube_slack(p, EPSILON),
        tube_dual,
    ),
    "epsilon_svr_squared": _regression(
        lambda s, X, k, u, w, **how: qpsvm.EpsilonSVR(X, target(s), 1 / u, EPSILON, "squared", k, w, **how),
        lambda s, w, u: np.tile(_unbounded(s, w, u), 2),
        lambda p: p.C @ tube_slack(p, EPSILON) ** 2,
        lambda p: tube_dual(p) - 0.25 * curvature(p),
    ),
    "quantile_svr": _regression(
        lambda s, X, k, u, w, **how: qpsvm.QuantileSVR(X, target(s), 1 / u, QUANTILE, k, w, **how),
        lambda s, w, u: np.concatenate([QUANTILE * w / u, (1 - QUANTILE) * w / u]),  # noqa: ARG005
        lambda p: p.C @ pinball(target(p.samples) - p.f),
        lambda p: target(p.samples) @ p.beta - 0.5 * p.quadratic,
    ),
}  # fmt: skip
#: Those with one.
OTHERS = {
    "csvm_weighted": _classifier(
        lambda s, X, k, u, w, **how: qpsvm.CSVM(X, s.y, s.penalties / u, k, w, **how),
        lambda s, w, u: s.penalties * w / u,
        lambda p: p.upper @ margin_slack(p),
        weighted=ALWAYS,
    ),
    "csvm_all_bounded": _c_svm(1e-3, data="balanced", weighted=()),  # every α is C, and b an interval
    "hard_margin": _classifier(
        lambda s, X, k, u, w, **how: qpsvm.HardMargin(X, s.y, k, **how),  # noqa: ARG005
        _unbounded,
        lambda p: 0.0 if margin_slack(p).max() <= 1e-9 else np.inf,
        data="separable", weighted=(),
    ),
    "nusvm": _nu_svm(0.5, weighted=()),
    "nusvm_weighted": _nu_svm(0.4, weighted=ALWAYS),
    "nusvm_largest": _nu_svm(0.8, weighted=()),  # ν = ν_max: b has no upper limit
    "nu_svr": _regression(
        lambda s, X, k, u, w, **how: qpsvm.NuSVR(X, target(s), 1 / u, NU_SHARE, k, w, **how),
        lambda s, w, u: np.tile(w / u, 2),  # noqa: ARG005
        lambda p: NU_SHARE * p.C.sum() * p.extras["epsilon"] + p.C @ tube_slack(p, p.extras["epsilon"]),
        lambda p: target(p.samples) @ p.beta - 0.5 * p.quadratic,
        sums=lambda s, w, u: [*_sides_balance(s, w, u), (np.ones(2 * len(s.y)), NU_SHARE * float(w.sum()) / u)],
    ),
    "one_class": Machine(
        lambda s, X, k, u, w, **how: qpsvm.OneClass(X, NU_SHARE, k, w, **how),  # noqa: ARG005
        lambda s, w, u: w,  # noqa: ARG005
        lambda s, alpha: alpha,  # noqa: ARG005
        lambda p: (  # f = ⟨w, φ⟩ − ρ
            0.5 * p.norm - NU_SHARE * p.weights.sum() * p.extras["rho"] + p.weights @ np.maximum(-p.f, 0.0)
        ),
        lambda p: -0.5 * p.quadratic,
        lambda s, w, u: [(np.ones(len(w)), NU_SHARE * float(w.sum()))],  # noqa: ARG005
        NU, "away",
    ),
    "svdd": Machine(
        lambda s, X, k, u, w, **how: qpsvm.SVDD(X, NU_SHARE, k, w, **how),  # noqa: ARG005
        lambda s, w, u: w / (NU_SHARE * w.sum()),  # noqa: ARG005
        lambda s, alpha: alpha,  # noqa: ARG005
        lambda p: p.extras["radius"] ** 2 + p.weights @ ball_slack(p) / (NU_SHARE * p.weights.sum()),
        lambda p: p.alpha @ p.K.diagonal() - p.quadratic,
        lambda s, w, u: [(np.ones(len(w)), 1.0)],  # noqa: ARG005
        NU, size=2.0,
    ),
    "ranking": Machine(
        lambda s, X, k, u, w, **how: qpsvm.Ranking(X, grades(s), 1 / u, kernel=k, sample_weight=w, **how),
        pair_penalties,
        count_wins,
        lambda p: 0.5 * p.norm + p.upper @ np.maximum(1.0 - pair_differences(p), 0.0),
        linear_dual,
        data="few", intercept=None,
    ),
}  # fmt: skip


def name_of(kind: str, intercept: str | None) -> str:
    """`csvm`, `csvm_penalised`, `csvm_none`."""
    plain = intercept == "free" and kind != "hinge"
    return kind if plain or kind in OTHERS else f"{kind}_{intercept or 'none'}"


def _with_intercept(machine: Machine, intercept: str | None) -> Machine:
    """Return the machine with this intercept."""
    make = lambda *data, **how: machine.make(*data, intercept=intercept, **how)  # noqa: E731
    sums: Sums = machine.sums if intercept == "free" else lambda s, w, u: []  # noqa: ARG005
    return replace(machine, make=make, sums=sums, intercept=intercept)


MACHINES = {
    name_of(kind, i): _with_intercept(machine, i) for kind, machine in WITH_INTERCEPT.items() for i in INTERCEPTS
} | OTHERS
