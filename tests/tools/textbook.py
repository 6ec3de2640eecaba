# ruff: noqa: ARG001, ARG005
"""Solve the textbook primals of all machines with CVXPY, with a user's constraints: independent of the library's QPs.

`TEXTBOOK_MACHINES` has an entry per machine; `solve_textbook` solves one, and `solve_all_in_one` a multiclass machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import qpsvm

HUBER_WIDTH = 0.5


@dataclass(frozen=True)
class Textbook:
    """A machine and its primal: `make(X, y, t, **options)` builds the problem of the library, with y = ±1 and t real.

    `primal(F, y, t)` over features F (n, r) returns the objective of CVXPY, its constraints, and the variables w and b.
    """

    make: Callable[..., Any]
    primal: Callable[[Any, Any, Any], tuple[Any, list[Any], Any, Any]]


def _state_classifier(cost):
    def primal(F, y, t):
        w = cp.Variable(F.shape[1])
        b = cp.Variable()
        objective, rows = cost(w, b, y, F)
        return objective, rows, w, b

    return primal


def _state_c_svm(C):
    return _state_classifier(
        lambda w, b, y, F: (0.5 * cp.sum_squares(w) + C * cp.sum(cp.pos(1 - cp.multiply(y, F @ w + b))), [])
    )


def _state_hinge(lam, penalty):
    def cost(w, b, y, F):
        loss = cp.sum(cp.pos(1 - cp.multiply(y, F @ w + b))) / len(y)
        rows = [b == 0] if penalty is None else []
        return 0.5 * lam * (cp.sum_squares(w) + (penalty or 0.0) * cp.square(b)) + loss, rows

    return _state_classifier(cost)


def _state_huber(C, width):
    def cost(w, b, y, F):
        t = cp.pos(1 - cp.multiply(y, F @ w + b))
        return 0.5 * cp.sum_squares(w) + C * cp.sum(cp.huber(t, width)) / (2 * width), []

    return _state_classifier(cost)


def _state_nu_svm(nu):
    def cost(w, b, y, F):
        rho = cp.Variable()
        return 0.5 * cp.sum_squares(w) - nu * rho + cp.sum(cp.pos(rho - cp.multiply(y, F @ w + b))) / len(y), []

    return _state_classifier(cost)


def _state_regression(loss):
    def primal(F, y, t):
        w = cp.Variable(F.shape[1])
        b = cp.Variable()
        return 0.5 * cp.sum_squares(w) + loss(t - F @ w - b), [], w, b

    return primal


def _state_nu_regression(C, nu):
    def primal(F, y, t):
        w = cp.Variable(F.shape[1])
        b = cp.Variable()
        e = cp.Variable()
        return 0.5 * cp.sum_squares(w) + C * nu * len(t) * e + C * cp.sum(cp.pos(cp.abs(t - F @ w - b) - e)), [], w, b

    return primal


def _state_one_class(nu):
    def primal(F, y, t):
        w = cp.Variable(F.shape[1])
        b = cp.Variable()
        return 0.5 * cp.sum_squares(w) + nu * len(y) * b + cp.sum(cp.pos(-(F @ w + b))), [], w, b

    return primal


def _state_ball(nu):
    """State SVDD by f = R² − ‖φ − c‖² = wᵀφ + b − ‖φ‖² with w = 2c, b = R² − ‖c‖²."""

    def primal(F, y, t):
        w = cp.Variable(F.shape[1])
        b = cp.Variable()
        square = np.sum(F**2, axis=1)
        slack = cp.sum(cp.pos(square - F @ w - b))
        return 0.25 * cp.sum_squares(w) + b + slack / (nu * len(y)), [], w, b

    return primal


def _state_ranking(C):
    def primal(F, y, t):
        w = cp.Variable(F.shape[1])
        better, worse = np.nonzero(y[:, None] > y)
        return 0.5 * cp.sum_squares(w) + C * cp.sum(cp.pos(1 - (F[better] - F[worse]) @ w)), [], w, 0.0

    return primal


TEXTBOOK_MACHINES = {
    "CSVM": Textbook(lambda X, y, t, **o: qpsvm.CSVM(X, y, C=2.0, **o), _state_c_svm(2.0)),
    "HardMargin": Textbook(
        lambda X, y, t, **o: qpsvm.HardMargin(X, y, **o),
        _state_classifier(lambda w, b, y, F: (0.5 * cp.sum_squares(w), [cp.multiply(y, F @ w + b) >= 1])),
    ),
    "NuSVM": Textbook(lambda X, y, t, **o: qpsvm.NuSVM(X, y, nu=0.4, **o), _state_nu_svm(0.4)),
    "PrimalHinge": Textbook(lambda X, y, t, **o: qpsvm.PrimalHinge(X, y, lam=0.05, **o), _state_hinge(0.05, 0.0)),
    "PrimalHinge penalised": Textbook(
        lambda X, y, t, **o: qpsvm.PrimalHinge(X, y, lam=0.05, intercept="penalised", **o), _state_hinge(0.05, 1.0)
    ),
    "PrimalHinge without b": Textbook(
        lambda X, y, t, **o: qpsvm.PrimalHinge(X, y, lam=0.05, intercept=None, **o), _state_hinge(0.05, None)
    ),
    "SquaredHinge": Textbook(
        lambda X, y, t, **o: qpsvm.SquaredHinge(X, y, C=2.0, **o),
        _state_classifier(
            lambda w, b, y, F: (
                0.5 * cp.sum_squares(w) + 2.0 * cp.sum(cp.square(cp.pos(1 - cp.multiply(y, F @ w + b)))), []
            )
        ),
    ),
    "HuberHinge": Textbook(
        lambda X, y, t, **o: qpsvm.HuberHinge(X, y, C=2.0, width=HUBER_WIDTH, **o), _state_huber(2.0, HUBER_WIDTH)
    ),
    "EpsilonSVR": Textbook(
        lambda X, y, t, **o: qpsvm.EpsilonSVR(X, t, C=2.0, epsilon=0.2, **o),
        _state_regression(lambda e: 2.0 * cp.sum(cp.pos(cp.abs(e) - 0.2))),
    ),
    "EpsilonSVR squared": Textbook(
        lambda X, y, t, **o: qpsvm.EpsilonSVR(X, t, C=2.0, epsilon=0.2, loss="squared", **o),
        _state_regression(lambda e: 2.0 * cp.sum(cp.square(cp.pos(cp.abs(e) - 0.2)))),
    ),
    "NuSVR": Textbook(lambda X, y, t, **o: qpsvm.NuSVR(X, t, C=2.0, nu=0.4, **o), _state_nu_regression(2.0, 0.4)),
    "QuantileSVR": Textbook(
        lambda X, y, t, **o: qpsvm.QuantileSVR(X, t, C=2.0, quantile=0.3, **o),
        _state_regression(lambda e: 2.0 * cp.sum(0.3 * cp.pos(e) + 0.7 * cp.pos(-e))),
    ),
    "OneClass": Textbook(
        lambda X, y, t, **o: qpsvm.OneClass(X, nu=0.3, **{"kernel": qpsvm.Linear(), **o}), _state_one_class(0.3)
    ),
    "SVDD": Textbook(lambda X, y, t, **o: qpsvm.SVDD(X, nu=0.3, **o), _state_ball(0.3)),
    "Ranking": Textbook(lambda X, y, t, **o: qpsvm.Ranking(X, np.round(y), C=0.5, **o), _state_ranking(0.5)),
}  # fmt: skip


@dataclass(frozen=True)
class TextbookOptimum:
    """The solution of CVXPY: the value, w, b, and the multipliers of the user's constraints."""

    value: float
    w: np.ndarray
    b: float
    multipliers: np.ndarray


def solve_textbook(book: Textbook, X, y, t, G=None, h=None, c=0.0, features=None, values=None) -> TextbookOptimum:
    """Solve the primal with constraints G w + c b ≤ h, or A f(Z) ≤ h if `values` = (features of Z, K(z, z), A).

    `features` (n, r) are φ(x) for a nonlinear kernel. K(z, z) is subtracted from f(z) (for SVDD; otherwise pass 0).
    The value is infinite if there is no feasible point.
    """
    F = X if features is None else features
    objective, rows, w, b = book.primal(F, y, t)
    if values is not None:
        FZ, own, A = values
        constraint = A @ (FZ @ w + b * np.ones(len(FZ)) - own) <= h
    else:
        constraint = G @ w + np.broadcast_to(c, (len(G),)) * b <= h
    problem = cp.Problem(cp.Minimize(objective), [constraint, *rows])
    try:
        problem.solve(solver="CLARABEL")
    except cp.SolverError:  # if the feasible set is empty, or nearly so
        problem.solve(solver="SCS", eps=1e-9, max_iters=200_000)
    if w.value is None:
        return TextbookOptimum(np.inf, np.zeros(F.shape[1]), 0.0, np.zeros(len(np.atleast_1d(h))))
    intercept = float(b.value) if isinstance(b, cp.Variable) else 0.0
    return TextbookOptimum(float(problem.value), w.value, intercept, np.ravel(constraint.dual_value))


def solve_all_in_one(F, label, C, *, shared, intercept, level=1.0):
    """Solve the primal of an all-in-one machine of k classes over features F (n, r); return P, W (k, r), b, α."""
    n = len(label)
    k = int(label.max()) + 1
    W = cp.Variable((k, F.shape[1]))
    b = cp.Variable(k)
    slack = cp.Variable(n if shared else (n, k), nonneg=True)
    rows = [b == 0] if intercept is None else [cp.sum(b) == 0] if intercept == "free" else []
    places = []
    for i in range(n):
        for c in range(k):
            if c != label[i]:
                own = W[label[i]] @ F[i] + b[label[i]]
                other = W[c] @ F[i] + b[c]
                rows.append(own - other >= level - (slack[i] if shared else slack[i, c]))
                places.append((i, c))
    loss = cp.sum(cp.multiply(C, slack) if shared else cp.multiply(C[:, None], slack))
    norm = cp.sum_squares(W) + (cp.sum_squares(b) if intercept == "penalised" else 0.0)
    problem = cp.Problem(cp.Minimize(0.5 * norm + loss), rows)
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-12, tol_feas=1e-10)
    alpha = np.zeros((n, k))
    for place, row in zip(places, rows[len(rows) - len(places) :], strict=True):
        alpha[place] = row.dual_value
    return float(problem.value), W.value, b.value, alpha
