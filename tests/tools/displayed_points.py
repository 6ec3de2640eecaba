"""Find the point of a result (`find_optimal_point`), or draw a random feasible one (`draw_point`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from displayed_formulas import (
    JOINT,
    Point,
    Space,
    compute_constraint_slack,
    compute_penalties,
    compute_row_features,
    find_misses,
    get_signs,
    get_unit,
    has_no_labels,
    is_squared,
    read_constraints,
)

import qpsvm


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
    if isinstance(problem, qpsvm.NuSVR):
        level = result.extras.get("epsilon", result.rho)
    else:
        level = result.rho
    return Point(result.alpha, space.weights(f - result.b), float(result.b), float(level), found)


def draw_point(problem: Any, space: Space, rng: np.random.Generator, recovered: bool) -> Point:
    """Draw a feasible α, with w(α) if `recovered`, otherwise with a random feasible point of the primal."""
    if isinstance(problem, JOINT):
        upper = np.ones((problem.n, len(problem.classes)))
    else:
        upper = np.minimum(problem.upper, 2.0)
    rows = getattr(problem, "constraints", None)
    given = rng.uniform(0.0, 1.0, np.shape(upper)) * upper
    given[len(compute_penalties(problem)) if rows else given.size :] *= 0.2  # so that α can balance the multipliers
    some = problem.at(given)
    alpha = some.alpha
    lam = np.asarray(some.constraints["multiplier"]) if rows else np.zeros(0)
    D = space.samples.shape[1]
    if isinstance(problem, JOINT):
        k = len(problem.classes)
        W = rng.normal(size=(k, D))
        b = rng.normal(size=k)
        return Point(alpha, W, b if problem.intercept else np.zeros(k), xi=np.zeros(0) if recovered else None)
    w = rng.normal(size=D)
    b = float(rng.normal())
    level = float(rng.uniform(0.5, 1.0))
    b = abs(b) if isinstance(problem, qpsvm.SVDD) else b  # R² is positive
    if recovered:
        w = compute_row_features(problem, space).T @ (get_signs(problem) * alpha)
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
    at = Point(alpha, w, b, level, lam)
    extra = rng.uniform(0.0, 1.0, len(get_signs(problem)))
    C = compute_penalties(problem)
    if isinstance(problem, qpsvm.HuberHinge):
        if recovered:
            at.zeta = extra
        else:
            at.zeta = np.maximum(find_misses(problem, space, at), 0.0)
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
                w = w + step * moves[j, :-1]
                b = b + step * moves[j, -1]
    assert compute_constraint_slack(problem, space, w, b).min() > 0.0
    return w, b
