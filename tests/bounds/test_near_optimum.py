"""Bounds near the optimum against optima in rational numbers: KKT systems solved and checked as fractions.

The rational optimum is independent of the library: whatever split of the rows it begins with, it is an optimum because
every optimality condition holds without rounding.
"""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm.bounds.near_points import NearFunction


def solve_fractions(A, B):
    """Solve A X = B in fractions, None where there is no X: A (k, k), B (k,)."""
    rows, k = [[*row, b] for row, b in zip(A, B, strict=True)], len(A)
    pivots, r = [], 0
    for j in range(k):
        best = next((i for i in range(r, k) if rows[i][j]), None)
        if best is None:
            continue
        rows[r], rows[best] = rows[best], rows[r]
        p = rows[r][j]
        rows[r] = [v / p for v in rows[r]]
        for i in range(k):
            if i != r and (q := rows[i][j]):
                rows[i] = [v - q * w for v, w in zip(rows[i], rows[r], strict=True)]
        pivots.append(j)
        r += 1
    if any(row[-1] for row in rows[r:]):
        return None
    found = [Fraction(0)] * k
    for i, j in enumerate(pivots):
        found[j] = rows[i][-1]
    return found


def optimum(Q, level, upper, bend, column, alpha):
    """α* of max ℓᵀα − ½αᵀQα − ½Σδα², 0 ≤ α ≤ U, cᵀα = 0, and all b that go with it; None where not found.

    In fractions; `alpha` (m,), floats, says which split to begin with.
    """
    m = len(level)
    kind = [0 if a <= 0 else 2 if a >= u else 1 for a, u in zip(alpha, upper, strict=True)]
    free_b = column is not None
    for _ in range(12):
        F = [k for k in range(m) if kind[k] == 1]
        at = [upper[k] if kind[k] == 2 else Fraction(0) for k in range(m)]
        pull = [level[k] - sum(Q[k][j] * at[j] for j in range(m)) for k in range(m)]
        A = [[Q[i][j] + (bend[i] if i == j else 0) for j in F] + ([column[i]] if free_b else []) for i in F]
        B = [pull[i] for i in F]
        if free_b:
            A.append([*(column[j] for j in F), Fraction(0)])
            B.append(-sum(c * a for c, a in zip(column, at, strict=True)))
        z = solve_fractions(A, B)
        if z is None:
            return None
        for i, k in enumerate(F):
            at[k] = z[i]
        changed = False
        for k in F:
            if not 0 <= at[k] <= upper[k]:
                kind[k], changed = (0 if at[k] < 0 else 2), True
        if changed:
            continue
        t = [level[k] - sum(Q[k][j] * at[j] for j in range(m)) - bend[k] * at[k] for k in range(m)]
        low, high = None, None  # of b
        for k in range(m):
            if not free_b:
                if (t[k] > 0 and at[k] < upper[k]) or (t[k] < 0 and at[k] > 0):
                    kind[k], changed = 1, True
                continue
            theta = t[k] / column[k]
            if (at[k] < upper[k]) == (column[k] > 0) or 0 < at[k] < upper[k]:  # t − cb ≤ 0, or the mirror image
                low = theta if low is None else max(low, theta)
            if (at[k] > 0) == (column[k] > 0) or 0 < at[k] < upper[k]:
                high = theta if high is None else min(high, theta)
        if free_b and low is not None and high is not None and low > high:
            return None
        if not changed:
            return at, (low, high) if free_b else (Fraction(0), Fraction(0))
    return None


def fractions(values):
    return [Fraction(float(v)) for v in values]


def products(A, B):
    """A Bᵀ in fractions."""
    A, B = [fractions(row) for row in A], [fractions(row) for row in B]
    return [[sum(x * z for x, z in zip(a, b, strict=True)) for b in B] for a in A]


def samples(rng):
    """Hostile rows and labels or targets: ties, duplicates with equal and opposite labels, offsets, weights, n = 2."""
    n, d = int(rng.choice([2, 3, 6, 9, 13])), int(rng.integers(1, 4))
    X = np.round(rng.normal(size=(n, d)) * 2) / 2
    if rng.random() < 0.3:
        X = X * 2.0 ** rng.integers(-4, 9, size=d) + 2.0 ** rng.integers(0, 12)
    if rng.random() < 0.4 and n > 3:
        X[1], X[-1] = X[0], X[2]
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[0], y[1] = -1.0, 1.0
    weight = rng.choice([0.25, 1.0, 1.5, 3.0], size=n) if rng.random() < 0.5 else np.ones(n)
    C = float(2.0 ** rng.integers(-8, 6))
    new = np.round(rng.normal(size=(6, d)) * 4) / 4 + X.mean(axis=0).round()
    return X, y, weight, C, np.vstack([X, new])


def problem_of(rng):
    """A problem, its Gram matrix over samples and new points in fractions, and what the library is asked for these."""
    X, y, weight, C, T = samples(rng)
    kind = rng.choice(["csvm", "svr", "squared", "polynomial", "matrix"])
    intercept = rng.choice(["free", "penalised", "none"], p=[0.7, 0.15, 0.15])
    how = {"intercept": None if intercept == "none" else str(intercept), "sample_weight": weight}
    K = products(X, X)
    KT = products(T, X)
    asked = (T, {})
    if kind == "polynomial":
        how["kernel"] = qpsvm.Polynomial(degree=2, gamma=1.0, coef0=1.0)
        K, KT = ([[(v + 1) ** 2 for v in row] for row in part] for part in (K, KT))
    if kind == "matrix":
        whole = np.exp(-0.25 * np.square(T[:, None] - T[None]).sum(axis=2))
        n = len(X)
        K, KT = ([fractions(row) for row in part] for part in (whole[:n, :n], whole[:, :n]))
        how["kernel"] = qpsvm.Precomputed()
        asked = (whole[:, :n], {"diagonal": np.ones(len(T))})
        X = whole[:n, :n]
    upper = [Fraction(C) * w for w in fractions(weight)]
    n, none = len(y), [Fraction(0)] * len(y)
    if kind == "svr":
        target = np.round(rng.normal(size=n) * 2) / 2
        problem = qpsvm.EpsilonSVR(X, target, C=C, epsilon=0.25, **how)
        sign = [Fraction(1)] * n + [Fraction(-1)] * n
        t, eps = fractions(target), Fraction(1, 4)
        level = [v - eps for v in t] + [-v - eps for v in t]
        upper, bend, index = upper * 2, none * 2, [*range(n), *range(n)]
    else:
        sign, level, bend, index = fractions(y), [Fraction(1)] * n, none, list(range(n))
        if kind == "squared":
            problem = qpsvm.SquaredHinge(X, y, C=C, **how)
            bend, upper = [1 / (2 * u) for u in upper], [Fraction(10**12)] * n
        else:
            problem = qpsvm.CSVM(X, y, C=C, **how)
    one = intercept == "penalised"
    Q = [[sign[k] * sign[j] * (K[index[k]][index[j]] + one) for j in range(len(sign))] for k in range(len(sign))]
    column = sign if intercept == "free" else None
    return problem, Q, level, upper, bend, column, sign, index, KT, one, asked


def judge_seed(seed):
    """Count the bounds and predictions that were claimed and checked; None where no rational optimum was found."""
    rng = np.random.default_rng(seed)
    problem, Q, level, upper, bend, column, sign, index, KT, one, (T, more) = problem_of(rng)
    best = qpsvm.solve(problem, tol=1e-12, check=False)
    alpha = np.where(np.tile(best.kind == 0, problem._variables_per_sample), 0.0, best.alpha)
    if problem._variables_per_sample == 1 and problem._hyperparameters == ("C",) and not any(bend):
        alpha = np.where(best.kind == 2, best.upper, alpha)
    least = np.tile(best.upper, len(alpha) // len(best.upper))  # the largest floats that are not above these bounds
    alpha = [u if a >= end else Fraction(float(a)) for a, u, end in zip(alpha, upper, least, strict=True)]
    found = optimum(Q, level, upper, bend, column, alpha)
    if found is None:
        return None
    at, ends = found
    beta = [Fraction(0)] * len(KT[0])
    for k, a in enumerate(at):
        beta[index[k]] += sign[k] * a
    if one:
        ends = (sum(beta),) * 2
    f = [sum(b * v for b, v in zip(beta, row, strict=True)) for row in KT]
    count = np.zeros(2, dtype=int)
    for noise in (0.0, 1e-2, 1e-5):
        size = np.where(np.isfinite(best.upper), best.upper, best.alpha.max())
        moved = np.clip(best.alpha + noise * size * rng.normal(size=best.alpha.shape), 0.0, best.upper)
        result = problem.at(moved) if noise else best
        low, high = result.decision_bounds(T, **more)
        for least, most, value in zip(low.tolist(), high.tolist(), f, strict=True):
            for end, b in zip((least, most), ends, strict=True):
                assert b is not None or np.isinf(end), "a b without an end"
            assert np.isinf(least) or Fraction(least) <= value + ends[0]
            assert np.isinf(most) or Fraction(most) >= value + ends[1]
        count[0] += len(low)
        count[1] += int((result.proven(T, **more) if problem._target_kind == "labels" else np.isfinite(low)).sum())
    return count


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_every_exact_optimum_is_within_the_bounds(start):
    found = [judge_seed(seed) for seed in range(start, start + 10)]
    assert sum(one is not None for one in found) >= 6


RNG = np.random.default_rng(7)
X = np.vstack([RNG.normal(-1.0, 1.0, (20, 2)), RNG.normal(1.0, 1.0, (25, 2))])
Y = np.repeat([0, 1], [20, 25])
TARGET = X @ [1.0, -0.5] + 0.3 * RNG.normal(size=45)
APART = X + np.where(Y == 1, 6.0, 0.0)[:, None]
NEW = RNG.normal(size=(40, 2)) * 2.0
GRADES = np.round(TARGET)
ROWS = [qpsvm.Constraints([[1.0, 0.0]], [0.5])]
#: Every machine, with kernels, intercepts and rows of a user's that treat b and w in their own ways.
MACHINES = {
    "nu": lambda **how: qpsvm.NuSVM(X, Y, nu=0.37, **how),
    "nu weighted": lambda **how: qpsvm.NuSVM(X, Y, nu=0.37, sample_weight=1.0 + Y, **how),
    "primal hinge": lambda **how: qpsvm.PrimalHinge(X, Y, lam=0.05, **how),
    "huber": lambda **how: qpsvm.HuberHinge(X, Y, C=1.0, width=0.5, **how),
    "squared": lambda **how: qpsvm.SquaredHinge(X, Y, C=1.0, **how),
    "hard": lambda **how: qpsvm.HardMargin(APART, Y, **how),
    "one-class": lambda **how: qpsvm.OneClass(X + 4.0, nu=0.33, **how),
    "ball": lambda **how: qpsvm.SVDD(X, nu=0.3, **how),
    "nu-svr": lambda **how: qpsvm.NuSVR(X, TARGET, nu=0.37, C=1.0, **how),
    "quantile": lambda **how: qpsvm.QuantileSVR(X, TARGET, quantile=0.8, C=1.0, **how),
    "svr": lambda **how: qpsvm.EpsilonSVR(X, TARGET, epsilon=0.2, C=1.0, **how),
    "ranking": lambda **how: qpsvm.Ranking(X, GRADES, C=0.1, **how),
    "c": lambda **how: qpsvm.CSVM(X, Y, C=1.0, **how),
    "constrained": lambda **how: qpsvm.CSVM(X, Y, C=1.0, constraints=ROWS, **how),
    "several": lambda **how: qpsvm.CrammerSinger(X, GRADES, C=0.1, intercept="penalised", **how),
    "several without b": lambda **how: qpsvm.WestonWatkins(X, GRADES, C=0.1, intercept=None, **how),
}


@pytest.mark.parametrize("name", MACHINES)
@for_each("kernel", ["linear", "rbf", "polynomial"])
def test_every_machine_has_bounds_that_hold_and_that_say_something(name, kernel):
    if name == "constrained" and kernel != "linear":
        kernel = "linear"
    problem = MACHINES[name](kernel=qpsvm.Polynomial(2, coef0=1.0) if kernel == "polynomial" else kernel)
    best = qpsvm.solve(problem, tol=1e-12, check=False)
    f, rng = best.decision_function(NEW), np.random.default_rng(3)
    low, high = best.decision_bounds(NEW)
    assert (low <= f).all()
    assert (f <= high).all()
    assert np.median(high - low) <= 1e-3 * np.abs(f).max()
    within = {"within": 0.05} if problem._target_kind in ("numbers", "ranks") else {}
    near = np.sort(f, axis=1)[:, -1] - np.sort(f, axis=1)[:, -2] if f.ndim == 2 else np.abs(f)
    assert best.proven(NEW, **within)[near > 1e-9].mean() >= 0.95  # the program of some classes is symmetric in them
    own = np.asarray(best.alpha)
    for noise in (1e-2, 1e-4):
        moved = problem.at(np.abs(best.alpha + noise * own.max() * rng.normal(size=own.shape)))
        low, high = moved.decision_bounds(NEW)
        assert (low <= f + 1e-9).all()
        assert (f - 1e-9 <= high).all()


def test_what_cannot_be_answered_is_said():
    result = qpsvm.solve(qpsvm.CSVM(X, Y))
    result.proven(NEW)
    again = pickle.loads(pickle.dumps(result))
    assert "_near_optimum" not in vars(again)
    with pytest.raises(qpsvm.UnsupportedError, match="problem="):
        again.decision_bounds(NEW)
    np.testing.assert_array_equal(again.proven(NEW, problem=qpsvm.CSVM(X, Y)), result.proven(NEW))
    for wrong in ({"within": 0.1}, {"diagonal": np.ones(len(NEW))}):
        with pytest.raises(qpsvm.ParameterError):
            result.proven(NEW, **wrong)
    with pytest.raises(qpsvm.ParameterError, match="within"):
        qpsvm.solve(MACHINES["svr"]()).proven(NEW)
    with pytest.raises(qpsvm.ParameterError, match="not negative"):
        qpsvm.solve(MACHINES["svr"]()).proven(NEW, within=-0.1)
    with pytest.raises(qpsvm.DataError):
        result.decision_bounds(NEW[:, :1])
    matrix = qpsvm.solve(qpsvm.CSVM(X @ X.T, Y, kernel="precomputed"))
    with pytest.raises(qpsvm.ParameterError, match="diagonal"):
        matrix.decision_bounds(NEW @ X.T)


def test_intercepts_that_share_samples_have_no_bounds():
    low, high = qpsvm.solve(qpsvm.CrammerSinger(X, GRADES, C=0.1)).decision_bounds(NEW)
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_f_at_a_point_where_it_cancels_is_between_its_bounds():
    """Rounding of f itself, of an optimum that is known exactly: a ball of radius 0."""
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=40), 0.3
    X = 1e6 * rng.normal(size=(200, 40))
    X -= np.outer(X @ w / (w @ w), w)
    model = qpsvm.solve(qpsvm.CSVM(np.vstack([w, -w]), [1, 0])).model
    object.__setattr__(model, "w", w)
    object.__setattr__(model, "b", b)
    low, high, _ = NearFunction(0.0, (0.0, 0.0), 0.0, 1.0, None)(model, X, None)
    for i in range(len(X)):
        f = sum((Fraction(p) * Fraction(q) for p, q in zip(X[i], w, strict=True)), Fraction(b))
        assert Fraction(low[i, 0]) <= f <= Fraction(high[i, 0])
