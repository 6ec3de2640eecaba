"""The table of machines that are not two hinges and a norm: curved losses, regression, novelty, ranking.

An entry says in plain NumPy what the textbook says of a machine: both objectives at a point, the box and the equalities
of the dual, and the coefficients of f that α stands for. `Case` and the samples are those of `matrix`; the product of
machines, backends, forms, kernels and scales is thinned, see `CASES`.

Letters: X (n, d), t (n,) the target, C (n,) prices, K (n, n), β (n,) coefficients of f, u = s² where K grows with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matrix import ALL_KERNELS, BACKENDS, FORMS, HARD, NU, SAMPLES, SCALES, KernelCase, Samples, Units, blobs

import qpsvm

EPSILON, NU_SHARE, QUANTILE, WIDTH = 0.3, 0.4, 0.8, 0.5
#: Kernels under which samples have weights, two of which are 0.
WEIGHTED = ("rbf", "sparse")

BALL = Units(alpha=0, w=1, f=2, value=2)
DATA = SAMPLES | {
    "few": blobs(18, 3, distance=0.8, positive=0.5, seed=6),
    "away": Samples(SAMPLES["overlapping"].X + 2.0, SAMPLES["overlapping"].y),
}


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


@dataclass(frozen=True)
class Point:
    """A result as the formulas need it.

    Attributes
    ----------
    samples : Samples
    K : ndarray, shape (n, n)
        As the dual has it, with the penalised intercept's 1.
    alpha, beta, f : ndarray
        α (m,), the coefficients of f (n,) by the textbook, f at the samples (n,) with b, before K(x, x) is taken away.
    norm : float
        ‖w‖², with b² where that is penalised.
    weights : ndarray, shape (n,)
        s_i.
    u : float
        What prices are divided by.
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
    u: float
    extras: dict[str, float]

    @property
    def C(self) -> np.ndarray:
        """Prices of slack with C = 1: (n,)."""
        return self.weights / self.u

    @property
    def own(self) -> float:
        """βᵀKβ."""
        return float(self.beta @ self.K @ self.beta)


def both(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """α⁺ − α⁻."""
    return alpha[: len(samples.y)] - alpha[len(samples.y) :]


def signed(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """α∘y."""
    return alpha * samples.y


def won(samples: Samples, alpha: np.ndarray) -> np.ndarray:
    """What each sample wins in its pairs less what it loses."""
    beta = np.zeros(len(samples.y))
    for a, (i, j) in zip(alpha, pairs(samples), strict=True):
        beta[i] += a
        beta[j] -= a
    return beta


def apart(p: Point) -> np.ndarray:
    """f of the better less f of the worse of every pair."""
    return np.array([p.f[i] - p.f[j] for i, j in pairs(p.samples)])


def pair_prices(samples: Samples, s: np.ndarray, u: float) -> np.ndarray:
    """C s_i s_j."""
    return np.array([s[i] * s[j] for i, j in pairs(samples)]) / u


def short(p: Point) -> np.ndarray:
    """max(0, 1 − y f)."""
    return np.maximum(1.0 - p.samples.y * p.f, 0.0)


def beyond(p: Point, epsilon: float) -> np.ndarray:
    """max(0, |t − f| − ε)."""
    return np.maximum(np.abs(target(p.samples) - p.f) - epsilon, 0.0)


def pinball(r: np.ndarray) -> np.ndarray:
    """τ r above, (1 − τ)|r| below."""
    return np.where(r > 0.0, QUANTILE * r, (QUANTILE - 1.0) * r)


def huber(r: np.ndarray) -> np.ndarray:
    """r²/(2h) up to h, r − h/2 beyond."""
    return np.where(r <= WIDTH, r**2 / (2 * WIDTH), r - WIDTH / 2)


def outside(p: Point) -> np.ndarray:
    """max(0, ‖φ(x_i) − c‖² − R²), with c = Σ α_i φ(x_i)/Σα taken from f: (n,)."""
    square = p.norm / 4.0  # f = 2⟨c, φ⟩ + 2μ, so w = 2c
    c_phi = (p.f - (p.extras["radius"] ** 2 - square)) / 2.0
    return np.maximum(p.K.diagonal() - 2.0 * c_phi + square - p.extras["radius"] ** 2, 0.0)


def mean_kernel(p: Point) -> float:
    """Σ α_i K_ii."""
    return float(p.alpha @ p.K.diagonal())


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine as the textbook has it.

    Attributes
    ----------
    make : callable, (samples, X, kernel, u, sample weights or None) to Problem
    beta : callable, (samples, alpha) to the coefficients of f
    primal, dual : callable, Point to float
    upper : callable, (samples, s, u) to the bounds of α
    sums : callable, (samples, s, u) to pairs of a column and its total
    units : Units
    data : str
    intercept : "free", "penalised" or None
    size : float
        f in units of that of α's coefficients.
    """

    make: Callable[[Samples, Any, Any, float, Any], qpsvm.Problem]
    beta: Callable[[Samples, np.ndarray], np.ndarray]
    primal: Callable[[Point], float]
    dual: Callable[[Point], float]
    upper: Callable[[Samples, np.ndarray, float], np.ndarray]
    sums: Callable[[Samples, np.ndarray, float], list[tuple[np.ndarray, float]]] = lambda s, w, u: []  # noqa: ARG005
    units: Units = HARD
    data: str = "overlapping"
    intercept: str | None = "free"
    size: float = 1.0


def _balance(samples: Samples, s: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:  # noqa: ARG001
    return [(samples.y, 0.0)]


def _difference(samples: Samples, s: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:  # noqa: ARG001
    return [(np.repeat([1.0, -1.0], len(samples.y)), 0.0)]


def _tube(samples: Samples, s: np.ndarray, u: float) -> list[tuple[np.ndarray, float]]:
    return [*_difference(samples, s, u), (np.ones(2 * len(samples.y)), NU_SHARE * float(s.sum()) / u)]


def _squared(intercept: Any) -> Machine:
    return Machine(
        lambda s, X, k, u, w: qpsvm.SquaredHinge(X, s.y, 1 / u, k, w, intercept=intercept),
        signed,
        lambda p: 0.5 * p.norm + p.C @ short(p) ** 2,
        lambda p: p.alpha.sum() - 0.5 * p.own - 0.25 * (p.alpha**2)[p.C > 0] @ (1 / p.C[p.C > 0]),
        lambda s, w, u: np.where(w > 0, np.inf, 0.0),  # noqa: ARG005
        _balance if intercept == "free" else lambda s, w, u: [],  # noqa: ARG005
        intercept=intercept,
    )  # fmt: skip


MACHINES = {
    "squared_hinge": _squared("free"),
    "squared_hinge_penalised": _squared("penalised"),
    "huber_hinge": Machine(
        lambda s, X, k, u, w: qpsvm.HuberHinge(X, s.y, 1 / u, WIDTH, k, w),
        signed,
        lambda p: 0.5 * p.norm + p.C @ huber(short(p)),
        lambda p: p.alpha.sum() - 0.5 * p.own - 0.5 * WIDTH * (p.alpha**2)[p.C > 0] @ (1 / p.C[p.C > 0]),
        lambda s, w, u: w / u,  # noqa: ARG005
        _balance,
    ),
    "epsilon_svr": Machine(
        lambda s, X, k, u, w: qpsvm.EpsilonSVR(X, target(s), 1 / u, EPSILON, kernel=k, sample_weight=w),
        both,
        lambda p: 0.5 * p.norm + p.C @ beyond(p, EPSILON),
        lambda p: target(p.samples) @ p.beta - EPSILON * p.alpha.sum() - 0.5 * p.own,
        lambda s, w, u: np.tile(w / u, 2),  # noqa: ARG005
        _difference,
    ),
    "epsilon_svr_squared": Machine(
        lambda s, X, k, u, w: qpsvm.EpsilonSVR(X, target(s), 1 / u, EPSILON, "squared", k, w),
        both,
        lambda p: 0.5 * p.norm + p.C @ beyond(p, EPSILON) ** 2,
        lambda p: (
            target(p.samples) @ p.beta - EPSILON * p.alpha.sum() - 0.5 * p.own
            - 0.25 * ((p.alpha**2).reshape(2, -1).sum(axis=0)[p.C > 0] @ (1 / p.C[p.C > 0]))
        ),
        lambda s, w, u: np.tile(np.where(w > 0, np.inf, 0.0), 2),  # noqa: ARG005
        _difference,
    ),
    "nu_svr": Machine(
        lambda s, X, k, u, w: qpsvm.NuSVR(X, target(s), 1 / u, NU_SHARE, k, w),
        both,
        lambda p: (
            0.5 * p.norm + NU_SHARE * p.C.sum() * p.extras["epsilon"] + p.C @ beyond(p, p.extras["epsilon"])
        ),
        lambda p: target(p.samples) @ p.beta - 0.5 * p.own,
        lambda s, w, u: np.tile(w / u, 2),  # noqa: ARG005
        _tube,
    ),
    "quantile_svr": Machine(
        lambda s, X, k, u, w: qpsvm.QuantileSVR(X, target(s), 1 / u, QUANTILE, k, w),
        both,
        lambda p: 0.5 * p.norm + p.C @ pinball(target(p.samples) - p.f),
        lambda p: target(p.samples) @ p.beta - 0.5 * p.own,
        lambda s, w, u: np.concatenate([QUANTILE * w / u, (1 - QUANTILE) * w / u]),  # noqa: ARG005
        _difference,
    ),
    "one_class": Machine(
        lambda s, X, k, u, w: qpsvm.OneClass(X, NU_SHARE, k, w),  # noqa: ARG005
        lambda s, alpha: alpha,  # noqa: ARG005
        lambda p: (  # f = ⟨w, φ⟩ − ρ
            0.5 * p.norm - NU_SHARE * p.weights.sum() * p.extras["rho"] + p.weights @ np.maximum(-p.f, 0.0)
        ),
        lambda p: -0.5 * p.own,
        lambda s, w, u: w,  # noqa: ARG005
        lambda s, w, u: [(np.ones(len(w)), NU_SHARE * float(w.sum()))],  # noqa: ARG005
        NU, "away",
    ),
    "svdd": Machine(
        lambda s, X, k, u, w: qpsvm.SVDD(X, NU_SHARE, k, w),  # noqa: ARG005
        lambda s, alpha: alpha,  # noqa: ARG005
        lambda p: p.extras["radius"] ** 2 + p.weights @ outside(p) / (NU_SHARE * p.weights.sum()),
        lambda p: mean_kernel(p) - p.own,
        lambda s, w, u: w / (NU_SHARE * w.sum()),  # noqa: ARG005
        lambda s, w, u: [(np.ones(len(w)), 1.0)],  # noqa: ARG005
        BALL, size=2.0,
    ),
    "ranking": Machine(
        lambda s, X, k, u, w: qpsvm.Ranking(X, grades(s), 1 / u, kernel=k, sample_weight=w),
        won,
        lambda p: 0.5 * p.norm + pair_prices(p.samples, p.weights, p.u) @ np.maximum(1.0 - apart(p), 0.0),
        lambda p: p.alpha.sum() - 0.5 * p.own,
        pair_prices,
        data="few", intercept=None,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One problem of the table."""

    machine: str
    kernel: str
    scale: float

    @property
    def v(self) -> Machine:
        """The machine."""
        return MACHINES[self.machine]

    @property
    def k(self) -> KernelCase:
        """The kernel."""
        return ALL_KERNELS[self.kernel]

    @property
    def samples(self) -> Samples:
        """The samples at scale 1."""
        return DATA[self.v.data]

    @property
    def X(self) -> np.ndarray:
        """The samples at this scale, (n, d), dense."""
        return self.samples.X * self.scale

    @property
    def u(self) -> float:
        """s² where K grows with it."""
        return self.scale**2 if self.k.scales else 1.0

    @property
    def weights(self) -> np.ndarray | None:
        """s (n,), or None where the problem is given none."""
        return self.samples.weights if self.kernel in WEIGHTED else None

    @property
    def s(self) -> np.ndarray:
        """s (n,)."""
        return np.ones(len(self.samples.y)) if self.weights is None else self.weights

    @property
    def explicit(self) -> bool:
        """Whether w is a vector that the result shows."""
        return self.kernel in ("linear", "sparse")

    def units(self, quantity: str) -> float:
        """What a quantity is multiplied by from scale 1 to this one."""
        return self.scale ** getattr(self.v.units, quantity) if self.k.scales else 1.0

    def problem(self) -> qpsvm.Problem:
        """A fresh problem."""
        return self.v.make(self.samples, self.k.samples(self.X), self.k.kernel, self.u, self.weights)

    def point(self, result: qpsvm.SVMResult) -> Point:
        """The result in plain NumPy: β of α, K, and f of the numbers that a user gets."""
        K = self.k.formula(self.X) + (1.0 if self.v.intercept == "penalised" else 0.0)
        beta = self.v.beta(self.samples, result.alpha)
        f = self.X @ result.w + result.b if self.explicit else self.k.formula(self.X) @ result.coef + result.b
        own = result.w @ result.w if self.explicit else result.coef @ self.k.formula(self.X) @ result.coef
        norm = float(own) + (result.b**2 if self.v.intercept == "penalised" else 0.0)
        return Point(self.samples, K, result.alpha, beta, f, norm, self.s, self.u, dict(result.extras))

    def __str__(self) -> str:
        return f"{self.machine}-{self.kernel}-{self.scale:g}"


@dataclass(frozen=True)
class Case:
    """One solve of the table."""

    cell: Cell
    form: str
    backend: str

    def __str__(self) -> str:
        return f"{self.cell}-{self.form}-{self.backend}"


#: Every machine on every backend in both forms at scale 1, linear and RBF. Other kernels and scales take turns at the
#: backends and forms, so that every backend meets every kernel and scale, and every machine each of these once.
CASES = [Case(Cell(m, k, 1.0), f, b) for m, k, f, b in itertools.product(MACHINES, ("linear", "rbf"), FORMS, BACKENDS)]
_TURNS = itertools.cycle(itertools.product(BACKENDS, FORMS))
CASES += [
    Case(Cell(m, k, s), form, backend)
    for (m, k, s), (backend, form) in zip(
        [
            (m, k, s)
            for m, (k, s) in itertools.product(
                MACHINES,
                [
                    *((k, s) for k in ("linear", "rbf", "polynomial") for s in SCALES if s != 1.0),
                    *((k, 1.0) for k in ("polynomial", "sparse", "precomputed", "callable")),
                ],
            )
            # A penalised intercept has no unit that could follow X, see `reference_of` in `matrix`.
            if not (MACHINES[m].intercept == "penalised" and k == "linear")
        ],
        _TURNS,
        strict=False,
    )
]


@cache
def solved(case: Case) -> qpsvm.SVMResult:
    """The library's answer, polished; each case once."""
    return qpsvm.solve(case.cell.problem(), case.backend, case.form, check=False)


def reference_of(cell: Cell) -> qpsvm.SVMResult:
    """cvxopt on the dual at scale 1: what every other answer is compared with, after a change of units."""
    return solved(Case(Cell(cell.machine, cell.kernel, 1.0), "dual", "cvxopt"))
