"""Coordinate descent of the compiled core: optimality, every loss and level, what is refused, and how it ends."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from pairwise import cover_pairs

from qpsvm import core
from qpsvm.program.losses import Loss
from qpsvm.solvers.linear.descent import DescentPace
from qpsvm.solvers.linear.solve import solve_linear

pytestmark = pytest.mark.skipif(core.compiled is None, reason="the compiled core is not there")

LOSSES = {
    "hinge": Loss(2.0),
    "weighted": Loss(np.linspace(0.1, 3.0, 60), np.linspace(0.5, 1.5, 60)),
    "squared": Loss(np.inf, curvature=0.3),
    "huber": Loss(1.5, curvature=0.4),
    "tube": Loss(1.0, np.linspace(-1.0, 1.0, 60), -1.0, 0.2),
    "slanted": Loss(0.7, np.linspace(-1.0, 1.0, 60), -0.2, 0.1, 0.05),
}


def table(n=60, d=7, kind="dense", seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * (random.random((n, d)) < 0.6)
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    if kind == "dense":
        return X, y
    X = sp.csr_array(X)
    index = np.int32 if kind == "short" else np.int64
    return sp.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape), y


def arrays(X):
    if sp.issparse(X):
        return X.data, X.indices, X.indptr, X.indices.itemsize
    return np.ascontiguousarray(X), b"", b"", 0


def numbers(*values):
    return [np.ascontiguousarray(value, dtype=float).reshape(-1) for value in values]


def descend(X, y, loss, unit=1.0, free=False, c=0.0, passes=10**6, work=10**12, tol=1e-10, look=None, alpha=None):
    alpha = np.zeros(len(y)) if alpha is None else alpha
    w = np.full(X.shape[1], 7.0)
    told = core.compiled.descend(
        *arrays(X), *numbers(y, loss.level, loss.low, loss.high, loss.tube, loss.curvature), alpha, w, unit, free, c,
        passes, work, tol, look,
    )  # fmt: skip
    return alpha, w, told


def gap_of(X, y, loss, alpha, w, b):
    """P − D of (DESCENT.1) for w = w(α), in other words than the loop's."""
    r = loss.compute_residuals(y * (X @ w + b))
    return loss.sum_losses(r) + loss.sum_conjugates(alpha) - float(alpha @ r)


@pytest.mark.usefixtures("level")
@for_each("name, kind, unit", cover_pairs(LOSSES, ("dense", "short", "long"), (0.0, 1.0)))
def test_it_ends_at_the_optimum(name, kind, unit):
    X, y = table(d=29, kind=kind)
    loss = LOSSES[name]
    alpha, w, (b, passes, work, done, gap, dual) = descend(X, y, loss, unit)
    assert done
    assert passes < 10**6
    assert work > 0
    assert ((alpha >= loss.low) & (alpha <= loss.high)).all()
    np.testing.assert_allclose(w, X.T @ (y * alpha), atol=1e-9)
    assert b == pytest.approx(unit * float(y @ alpha), abs=1e-9)
    assert 0.0 <= gap <= 1e-9 * abs(dual)
    assert dual == pytest.approx(loss.compute_dual_value(alpha) - 0.5 * float(w @ w) - 0.5 * b * b, rel=1e-9)
    assert gap_of(X, y, loss, alpha, w, b) <= 1e-8 * abs(dual)


@pytest.mark.usefixtures("level")
@for_each("free", [False, True])
@for_each("name", LOSSES)
def test_features_that_are_alike_take_no_more_passes(name, free):
    X, y = table(d=12)
    X = X + 6.0 * X[:, :1]  # one α after the other takes thousands
    loss = LOSSES[name]
    signs = y if loss.is_one_sided else np.ones(60)
    alpha, w, (b, passes, work, done, _, dual) = descend(X, signs, loss, free=free, tol=1e-8)
    assert done
    assert passes <= 2000
    assert work <= 2e6
    assert ((alpha >= loss.low) & (alpha <= loss.high)).all()
    assert not free or abs(float(signs @ alpha)) <= 1e-4 * float(np.abs(alpha).sum())
    np.testing.assert_allclose(w, X.T @ (signs * alpha), atol=1e-7)
    assert gap_of(X, signs, loss, alpha, w, b) <= 1e-4 * abs(dual) if free else 1e-7 * abs(dual)


def test_it_goes_on_from_a_start():
    X, y = table()
    alpha, _, (_, cold, *_) = descend(X, y, Loss(1.0))
    again, w, (_, warm, _, done, *_) = descend(X, y, Loss(1.0), alpha=alpha.copy())
    assert done
    assert warm <= 2 < cold
    np.testing.assert_allclose(w, X.T @ (y * again), atol=1e-9)


@pytest.mark.usefixtures("level")
def test_w_is_that_of_alpha_where_more_rows_are_free_than_features():
    """Their Hessian is singular, so that a turn may move α by many times its box before it is clipped."""
    for seed in (1, 8, 12, 15):
        random = np.random.default_rng(seed)
        n, d = int(random.integers(200, 900)), int(random.integers(1, 4))
        X = random.standard_normal((n, d))
        y = np.where(X[:, 0] + 3.0 * random.standard_normal(n) > 0.0, 1.0, -1.0)
        X -= X.mean(axis=0)
        loss = Loss(10.0 ** random.uniform(-2, 1))
        alpha, _, (c, *_) = descend(X, y, loss, unit=d, free=True, passes=16, tol=1e-6)
        alpha, w, (b, *_, done, _, _) = descend(X, y, loss, unit=d, free=True, c=c, tol=1e-6, alpha=alpha)
        assert done
        np.testing.assert_allclose(w, X.T @ (alpha * y), atol=1e-9)
        assert gap_of(X, y, loss, alpha, w, b) <= 1e-3 * alpha.sum()


@pytest.mark.usefixtures("level")
@for_each("shape", [(0, 3), (1, 1), (2, 0), (3, 1), (5, 17)])
@for_each("kind", ["dense", "short"])
def test_odd_sizes(shape, kind):
    X, _ = table(*shape, kind=kind)
    y = np.where(np.arange(shape[0]) % 2, 1.0, -1.0)
    alpha, w, (b, _, _, done, *_) = descend(X, y, Loss(1.0), tol=1e-8)
    assert done
    assert gap_of(X, y, Loss(1.0), alpha, w, b) <= 1e-7 * max(1.0, float(alpha.sum()))


def test_empty_rows_zeros_and_duplicate_columns():
    empty = sp.csr_array((4, 3))
    y = np.array([1.0, -1.0, 1.0, -1.0])
    alpha, w, (_, _, _, done, *_) = descend(empty, y, Loss(1.5), 0.0)
    assert done
    np.testing.assert_array_equal(alpha, 1.5)
    assert not w.any()
    twice = sp.csr_array((np.array([1.0, 2.0, 0.0, 3.0]), np.array([1, 1, 0, 2]), np.array([0, 2, 3, 4])), shape=(3, 3))
    alpha, w, (*_, done, _, _) = descend(twice, y[:3], Loss(1e3), 0.0)
    assert done
    np.testing.assert_allclose(alpha[0], 1.0 / 9.0, rtol=0.9)  # the row is (0, 3, 0), its square counted part by part
    np.testing.assert_allclose(w, twice.toarray().T @ (y[:3] * alpha), atol=1e-9)


@for_each("bad", [np.nan, np.inf, 1e200])
def test_what_is_not_finite_ends_it(bad):
    X, y = table()
    X[5, 2] = bad
    began = time.process_time()
    *_, (_, _, _, done, *_) = descend(X, y, Loss(1.0), tol=1e-12)
    assert time.process_time() - began < 5.0
    assert not done or np.isfinite(bad)


def test_the_clock_and_the_key_end_it():
    X, y = table(3000, 40)
    loss = Loss(1e6)
    asked = []
    began = time.process_time()
    alpha, w, (_, passes, _, done, *_) = descend(
        X, y, loss, tol=1e-15, passes=10**9, look=lambda: asked.append(1) or len(asked) > 3
    )
    assert not done
    assert len(asked) == 4
    assert passes >= 1
    assert time.process_time() - began < 5.0
    np.testing.assert_allclose(w, X.T @ (y * alpha), rtol=1e-6, atol=1e-3)

    def press_key():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        descend(X, y, loss, tol=1e-15, passes=10**9, look=press_key)


def test_work_and_passes_are_kept():
    X, y = table(500, 10)
    assert descend(X, y, Loss(1e5), passes=7)[2][1:4:2] == (7, False)
    assert descend(X, y, Loss(1e5), work=1)[2][1] == 1
    assert solve_linear(X, y, 1e3, max_iter=3, engine="coordinate").iterations == 3
    assert solve_linear(X, y, 1e3, time_limit=0.0, engine="coordinate").reason == "time_limit"


def bad_calls():
    X, y = table(6, 3)
    Z, _ = table(6, 3, "short")
    one, row, w = np.ones(1), np.ones(6), np.zeros(3)
    good = [X, b"", b"", 0, y, one, one, one, one, one, row, w, 1.0, False, 0.0, 5, 100, 1e-6, None]
    sparse = [Z.data, Z.indices, Z.indptr, 4, *good[4:]]
    outside, backwards, far = Z.indices.copy(), Z.indptr.copy(), Z.indptr.copy()
    outside[0] = 3
    backwards[1] = -1
    far[-1] = 100
    shifted = np.zeros(8 * 19, dtype=np.uint8)[1 : 1 + 8 * 18].view(np.uint8)
    yield from (
        (good, 0, X[:5].copy()), (good, 0, np.ones(19)), (good, 0, shifted), (good, 3, 4), (good, 4, np.ones(5)),
        (good, 9, np.ones(2)), (good, 10, np.ones(7)), (good, 11, np.zeros(4)), (good, 7, b"123"),
        (sparse, 1, outside), (sparse, 1, -outside - 1), (sparse, 2, backwards), (sparse, 2, far), (sparse, 3, 8),
        (sparse, 3, 2), (sparse, 1, Z.indices[1:].copy()), (sparse, 2, Z.indptr[1:].copy()),
        (sparse, 0, Z.data[1:].copy()),
    )  # fmt: skip


@for_each("call, place, value", list(bad_calls()))
def test_buffers_that_do_not_fit_are_refused(call, place, value):
    with pytest.raises(ValueError):  # noqa: PT011
        core.compiled.descend(*call[:place], value, *call[place + 1 :])


def test_what_cannot_be_written_is_refused():
    X, y = table(6, 3)
    alpha = np.zeros(6)
    alpha.flags.writeable = False
    with pytest.raises((BufferError, TypeError), match="write"):
        descend(X, y, Loss(1.0), alpha=alpha)


# --- when it gives way ------------------------------------------------------------------------------------------------


def test_a_wrong_beginning_costs_half_of_what_would_have_been_right():
    for rate in (1.0, 0.999, 0.9):
        pace = DescentPace(1000.0, 1e-6)
        spent = 0.0
        gap = 1.0
        while spent < 1e6:
            spent = spent + 100.0
            gap = gap * rate
            if not pace.should_continue(100.0, gap):
                break
        assert spent <= (500.0 if rate > 0.9 else 15_000.0)


def test_what_gains_fast_enough_goes_on():
    pace = DescentPace(1000.0, 1e-6)
    gap = 1.0
    for _ in range(20):
        gap *= 0.2
        assert pace.should_continue(100.0, gap)
    assert not pace.should_continue(1000.0, gap)  # it stands still
    assert not DescentPace(1.0, 1e-6).should_continue(1.0, np.nan)
