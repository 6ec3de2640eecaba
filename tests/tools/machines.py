"""State every machine by its textbook formulas in plain NumPy, with the samples that it is tested on.

An entry of `MACHINES` has both objectives at a `Point`, the box and the equalities of the dual, and the map from α to
the coefficients β of f. `matrix.py` combines the entries with kernels, scales, backends and forms.

Symbols: X (n, d), y (n,) of ±1, t (n,) the target of a regression, s_i or w_i the sample weights, C_i = C s_i the
penalties of slack, K (n, n), β (n,). If K grows with the square of the scale of X, u is that square, else 1: parameters
are divided by u, so that only the units of the solution change.
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
    """X (n, d) and y (n,) of ±1, with weights s_i, two of them 0, and penalties C_i for the machines that use them."""

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


def draw_blobs(n: int, d: int, distance: float, positive: float, seed: int) -> Samples:
    """Draw two normal clouds, 2·distance apart along the first axis, with a share `positive` in the positive class."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < round(positive * n), 1.0, -1.0)
    y = y[rng.permutation(n)]
    X = rng.normal(size=(n, d)) + 0.3
    X[:, 0] += distance * y
    return Samples(X, y)


def drop_entries(samples: Samples) -> Samples:
    """Return the samples with a fifth of the entries of X set to 0."""
    kept = np.random.default_rng(5).random(samples.X.shape) < 0.8
    return Samples(np.where(kept, samples.X, 0.0), samples.y)


SAMPLES = {
    "separable": draw_blobs(40, 2, distance=4.0, positive=0.4, seed=1),
    "overlapping": draw_blobs(50, 3, distance=1.1, positive=0.4, seed=2),
    "balanced": draw_blobs(40, 3, distance=0.8, positive=0.5, seed=4),
    "few": draw_blobs(18, 3, distance=0.8, positive=0.5, seed=6),
}
SAMPLES["sparse"] = drop_entries(SAMPLES["overlapping"])
SAMPLES["away"] = Samples(SAMPLES["overlapping"].X + 2.0, SAMPLES["overlapping"].y)


def make_targets(samples: Samples) -> np.ndarray:
    """Return a regression target: a linear function plus noise, (n,)."""
    X = samples.X
    return X @ np.arange(1.0, 1.0 + X.shape[1]) + np.random.default_rng(8).normal(0.0, 0.5, len(X))


def make_grades(samples: Samples) -> np.ndarray:
    """Return the target of a ranking, a few grades: (n,)."""
    return np.round(make_targets(samples) / 2.0)


def list_pairs(samples: Samples) -> list[tuple[int, int]]:
    """List the pairs (better, worse) in the order of the library."""
    y = make_grades(samples)
    order = sorted(range(len(y)), key=lambda i: (y[i], i))
    return [(i, j) for i in order for j in order if y[i] > y[j]]


# --- a point of a machine ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Point:
    """A result in the form that the formulas use.

    Attributes
    ----------
    samples : Samples
    K : ndarray, shape (n, n)
        The matrix of the dual: repaired if indefinite, plus 1 for a penalised intercept.
    alpha, beta, f : ndarray
        α (m,), the coefficients of f (n,), and f with b at the samples (n,), for SVDD without −K(x, x).
    norm : float
        ‖w‖², plus b² if b is penalised.
    weights, upper : ndarray
        s_i (n,) and the bounds of α (m,).
    u : float
        See the symbols of the module.
    rho : float
        The margin: 1 if it is not a variable.
    extras : dict
        ρ, ε or R.
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
        """Penalties of slack for C = 1: (n,)."""
        return self.weights / self.u

    @property
    def quadratic(self) -> float:
        """βᵀKβ."""
        return float(self.beta @ self.K @ self.beta)


def apply_labels(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return β = α∘y."""
    return alpha * samples.y


def subtract_sides(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return β = α⁺ − α⁻."""
    return alpha[: len(samples.y)] - alpha[len(samples.y) :]


def sum_wins(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """Return β: the sum of α over the pairs that a sample wins, minus those that it loses."""
    beta = np.zeros(len(samples.y))
    for a, (i, j) in zip(alpha, list_pairs(samples), strict=True):
        beta[i] += a
        beta[j] -= a
    return beta


def compute_pair_differences(p: Point) -> np.ndarray:
    """Return f(better) − f(worse) of every pair."""
    return np.array([p.f[i] - p.f[j] for i, j in list_pairs(p.samples)])


def compute_pair_penalties(samples: Samples, s: np.ndarray, u: float) -> np.ndarray:
    """Return C s_i s_j of every pair, for C = 1."""
    return np.array([s[i] * s[j] for i, j in list_pairs(samples)]) / u


def compute_margin_slack(p: Point) -> np.ndarray:
    """Return max(0, ρ − y f)."""
    return np.maximum(p.rho - p.samples.y * p.f, 0.0)


def compute_tube_slack(p: Point, epsilon: float) -> np.ndarray:
    """Return max(0, |t − f| − ε)."""
    return np.maximum(np.abs(make_targets(p.samples) - p.f) - epsilon, 0.0)


def compute_pinball(r: np.ndarray) -> np.ndarray:
    """Return the pinball loss: τ r for r > 0, (1 − τ)|r| below."""
    return np.where(r > 0.0, QUANTILE * r, (QUANTILE - 1.0) * r)


def compute_huber(r: np.ndarray) -> np.ndarray:
    """Return the Huber loss of r ≥ 0: r²/(2h) up to h, r − h/2 beyond."""
    return np.where(r <= WIDTH, r**2 / (2 * WIDTH), r - WIDTH / 2)


def compute_ball_slack(p: Point) -> np.ndarray:
    """Return max(0, ‖φ(x_i) − c‖² − R²), with the centre c taken from f: (n,)."""
    square = p.norm / 4.0  # f = 2⟨c, φ⟩ + 2μ, so w = 2c
    c_phi = (p.f - (p.extras["radius"] ** 2 - square)) / 2.0
    return np.maximum(p.K.diagonal() - 2.0 * c_phi + square - p.extras["radius"] ** 2, 0.0)


def sum_curvature(p: Point) -> float:
    """Return Σ α_i²/C_i; in a regression a sample has two α_i, one of them 0."""
    squares = (p.alpha**2).reshape(-1, len(p.C)).sum(axis=0)
    return float(squares[p.C > 0] @ (1 / p.C[p.C > 0]))


def compute_linear_dual(p: Point) -> float:
    """Return 1ᵀα − ½βᵀKβ."""
    return float(p.alpha.sum()) - 0.5 * p.quadratic


def compute_tube_dual(p: Point) -> float:
    """Return tᵀβ − ε1ᵀα − ½βᵀKβ."""
    return float(make_targets(p.samples) @ p.beta - EPSILON * p.alpha.sum() - 0.5 * p.quadratic)


# --- machines ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Units:
    """The powers of the scale s by which a solution changes if K grows with s² and parameters are divided by s²."""

    alpha: int
    w: int
    f: int
    value: int


FIXED_MARGIN = Units(alpha=-2, w=-1, f=0, value=-2)
HINGE = Units(alpha=-2, w=-1, f=0, value=0)
NU = Units(alpha=0, w=1, f=2, value=2)
ALWAYS = ("linear", "polynomial", "rbf", "sparse", "precomputed", "sigmoid-clip", "sigmoid-shift", "affine", "callable")
#: From (samples, s, u) to the equalities of the dual: columns (m,) and what their products with α have to be.
Equalities = Callable[[Samples, np.ndarray, float], list[tuple[np.ndarray, float]]]


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine with its parameters.

    Attributes
    ----------
    make : callable, (samples, X, kernel, u, sample weights or None, further arguments) to Problem
    upper : callable, (samples, s, u) to the bounds of α
    beta : callable, (samples, alpha) to the coefficients of f
    primal, dual : callable, Point to float
    equalities : callable
        See `Equalities`.
    units : Units
    data : str
        A key of `SAMPLES`.
    intercept : "free", "penalised" or None
    size : float
        The factor from Σ β_i K(x_i, x) to f − b.
    nu : float
        1ᵀα of a ν-SVM; 0 if that is not a constraint.
    factor : callable, u to the factor of the primal and dual values
    weighted : container of str
        The kernels with which the samples have weights.
    """

    make: Callable[..., qpsvm.Problem]
    upper: Callable[[Samples, np.ndarray, float], np.ndarray]
    beta: Callable[[Samples, np.ndarray], np.ndarray]
    primal: Callable[[Point], float]
    dual: Callable[[Point], float]
    equalities: Equalities = lambda s, w, u: []  # noqa: ARG005
    units: Units = FIXED_MARGIN
    data: str = "overlapping"
    intercept: str | None = "free"
    size: float = 1.0
    nu: float = 0.0
    factor: Callable[[float], float] = lambda u: 1.0  # noqa: ARG005
    weighted: Container[str] = ("rbf", "sparse")


def _balance_classes(s: Samples, w: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:  # noqa: ARG001
    return [(s.y, 0.0)]


def _balance_sides(s: Samples, w: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:  # noqa: ARG001
    return [(np.repeat([1.0, -1.0], len(s.y)), 0.0)]


def _state_classifier(
    make: Any, upper: Any, loss: Callable[[Point], float], dual: Any = compute_linear_dual, **more: Any
) -> Machine:
    """State a classifier with objective ½‖w‖² + loss."""
    primal = lambda p: 0.5 * p.norm + loss(p)  # noqa: E731
    return Machine(make, upper, apply_labels, primal, dual, _balance_classes, **more)


def _state_regression(make: Any, upper: Any, loss: Callable[[Point], float], dual: Any, **more: Any) -> Machine:
    """State a regression with objective ½‖w‖² + loss, and α = (α⁺, α⁻)."""
    primal = lambda p: 0.5 * p.norm + loss(p)  # noqa: E731
    return Machine(make, upper, subtract_sides, primal, dual, **{"equalities": _balance_sides, **more})


def _state_c_svm(C: float, **more: Any) -> Machine:
    return _state_classifier(
        lambda s, X, k, u, w, **how: qpsvm.CSVM(X, s.y, C / u, k, w, **how),
        lambda s, w, u: C * w / u,  # noqa: ARG005
        lambda p: p.upper @ compute_margin_slack(p),
        **more,
    )


def _state_nu_svm(nu: float, **more: Any) -> Machine:
    return Machine(
        lambda s, X, k, u, w, **how: qpsvm.NuSVM(X, s.y, nu, k, w, **how),  # noqa: ARG005
        lambda s, w, u: w / w.sum(),  # noqa: ARG005
        apply_labels,
        lambda p: 0.5 * p.norm - nu * p.rho + p.upper @ compute_margin_slack(p),
        lambda p: -0.5 * p.quadratic,
        lambda s, w, u: [(s.y, 0.0), (np.ones(len(s.y)), nu)],  # noqa: ARG005
        NU, nu=nu, **more,
    )  # fmt: skip


def _leave_unbounded(s: Samples, w: np.ndarray, u: float) -> np.ndarray:  # noqa: ARG001
    return np.where(w > 0, np.inf, 0.0)


#: The machines that are tested with every kind of intercept.
WITH_INTERCEPT = {
    "csvm": _state_c_svm(1.0, weighted=()),
    "hinge": _state_classifier(
        lambda s, X, k, u, w, **how: qpsvm.PrimalHinge(X, s.y, LAM * u, k, sample_weight=w, **how),
        lambda s, w, u: w / w.sum() / (LAM * u),  # noqa: ARG005
        lambda p: p.upper @ compute_margin_slack(p),
        units=HINGE, factor=lambda u: LAM * u,
    ),
    "squared_hinge": _state_classifier(
        lambda s, X, k, u, w, **how: qpsvm.SquaredHinge(X, s.y, 1 / u, k, w, **how),
        _leave_unbounded,
        lambda p: p.C @ compute_margin_slack(p) ** 2,
        lambda p: compute_linear_dual(p) - 0.25 * sum_curvature(p),
    ),
    "huber_hinge": _state_classifier(
        lambda s, X, k, u, w, **how: qpsvm.HuberHinge(X, s.y, 1 / u, WIDTH, k, w, **how),
        lambda s, w, u: w / u,  # noqa: ARG005
        lambda p: p.C @ compute_huber(compute_margin_slack(p)),
        lambda p: compute_linear_dual(p) - 0.5 * WIDTH * sum_curvature(p),
    ),
    "epsilon_svr": _state_regression(
        lambda s, X, k, u, w, **how: qpsvm.EpsilonSVR(X, make_targets(s), 1 / u, EPSILON, "absolute", k, w, **how),
        lambda s, w, u: np.tile(w / u, 2),  # noqa: ARG005
        lambda p: p.C @ compute_tube_slack(p, EPSILON),
        compute_tube_dual,
    ),
    "epsilon_svr_squared": _state_regression(
        lambda s, X, k, u, w, **how: qpsvm.EpsilonSVR(X, make_targets(s), 1 / u, EPSILON, "squared", k, w, **how),
        lambda s, w, u: np.tile(_leave_unbounded(s, w, u), 2),
        lambda p: p.C @ compute_tube_slack(p, EPSILON) ** 2,
        lambda p: compute_tube_dual(p) - 0.25 * sum_curvature(p),
    ),
    "quantile_svr": _state_regression(
        lambda s, X, k, u, w, **how: qpsvm.QuantileSVR(X, make_targets(s), 1 / u, QUANTILE, k, w, **how),
        lambda s, w, u: np.concatenate([QUANTILE * w / u, (1 - QUANTILE) * w / u]),  # noqa: ARG005
        lambda p: p.C @ compute_pinball(make_targets(p.samples) - p.f),
        lambda p: make_targets(p.samples) @ p.beta - 0.5 * p.quadratic,
    ),
}  # fmt: skip
#: The machines with one kind of intercept.
OTHERS = {
    "csvm_weighted": _state_classifier(
        lambda s, X, k, u, w, **how: qpsvm.CSVM(X, s.y, s.penalties / u, k, w, **how),
        lambda s, w, u: s.penalties * w / u,
        lambda p: p.upper @ compute_margin_slack(p),
        weighted=ALWAYS,
    ),
    "csvm_all_bounded": _state_c_svm(1e-3, data="balanced", weighted=()),  # every α is C, and b an interval
    "hard_margin": _state_classifier(
        lambda s, X, k, u, w, **how: qpsvm.HardMargin(X, s.y, k, **how),  # noqa: ARG005
        _leave_unbounded,
        lambda p: 0.0 if compute_margin_slack(p).max() <= 1e-9 else np.inf,
        data="separable", weighted=(),
    ),
    "nusvm": _state_nu_svm(0.5, weighted=()),
    "nusvm_weighted": _state_nu_svm(0.4, weighted=ALWAYS),
    "nusvm_largest": _state_nu_svm(0.8, weighted=()),  # ν = ν_max: b has no upper limit
    "nu_svr": _state_regression(
        lambda s, X, k, u, w, **how: qpsvm.NuSVR(X, make_targets(s), 1 / u, NU_SHARE, k, w, **how),
        lambda s, w, u: np.tile(w / u, 2),  # noqa: ARG005
        lambda p: NU_SHARE * p.C.sum() * p.extras["epsilon"] + p.C @ compute_tube_slack(p, p.extras["epsilon"]),
        lambda p: make_targets(p.samples) @ p.beta - 0.5 * p.quadratic,
        equalities=lambda s, w, u: [*_balance_sides(s, w, u), (np.ones(2 * len(s.y)), NU_SHARE * float(w.sum()) / u)],
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
        lambda p: p.extras["radius"] ** 2 + p.weights @ compute_ball_slack(p) / (NU_SHARE * p.weights.sum()),
        lambda p: p.alpha @ p.K.diagonal() - p.quadratic,
        lambda s, w, u: [(np.ones(len(w)), 1.0)],  # noqa: ARG005
        NU, size=2.0,
    ),
    "ranking": Machine(
        lambda s, X, k, u, w, **how: qpsvm.Ranking(X, make_grades(s), 1 / u, kernel=k, sample_weight=w, **how),
        compute_pair_penalties,
        sum_wins,
        lambda p: 0.5 * p.norm + p.upper @ np.maximum(1.0 - compute_pair_differences(p), 0.0),
        compute_linear_dual,
        data="few", intercept=None,
    ),
}  # fmt: skip


def name_machine(kind: str, intercept: str | None) -> str:
    """Return the key of a machine, such as "csvm", "csvm_penalised" or "csvm_none"."""
    plain = intercept == "free" and kind != "hinge"
    if plain or kind in OTHERS:
        return kind
    return f"{kind}_{intercept or 'none'}"


def _with_intercept(machine: Machine, intercept: str | None) -> Machine:
    """Return the machine with this intercept."""
    make = lambda *data, **how: machine.make(*data, intercept=intercept, **how)  # noqa: E731
    equalities: Equalities = machine.equalities if intercept == "free" else lambda s, w, u: []  # noqa: ARG005
    return replace(machine, make=make, equalities=equalities, intercept=intercept)


MACHINES = {
    name_machine(kind, i): _with_intercept(machine, i) for kind, machine in WITH_INTERCEPT.items() for i in INTERCEPTS
} | OTHERS
