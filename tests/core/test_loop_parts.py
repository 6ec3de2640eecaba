"""The compiled loop over parts of a matrix: the optimum of each problem, u as one sum, and no memory but its own."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each

from qpsvm import core

pytestmark = [
    pytest.mark.skipif(core.compiled is None, reason="there is no compiled core"),
    pytest.mark.usefixtures("level"),
]


def problems(rng, sizes, dtype=np.float64):
    """C-SVMs of two classes each, whose rows are two slices of those of K."""
    n = sum(sizes)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    pairs = [(i, j) for i in range(len(sizes)) for j in range(i + 1, len(sizes))]
    begins = np.array([[ends[i], ends[j]] for i, j in pairs], dtype=np.int64)
    counts = np.array([[sizes[i], sizes[j]] for i, j in pairs], dtype=np.int64)
    sign = np.concatenate([np.repeat([-1.0, 1.0], count) for count in counts])
    return K, begins, counts, sign


def run(K, begins, counts, sign, C=2.0, tol=1e-9, most=100_000, sums=1, start=None):
    signed = C * sign
    beta = np.zeros(len(sign)) if start is None else start.copy()
    u = sign.copy() if sums == 1 else np.zeros(len(sign))
    iterations = np.zeros(len(begins), dtype=np.int64)
    arguments = np.minimum(signed, 0.0), np.maximum(signed, 0.0), np.full(len(begins), tol), iterations
    core.compiled.loop_over_parts(K, begins, counts, beta, u, *arguments, sums, most, None)
    return beta, u, iterations


@for_each("dtype", [np.float64, np.float32])
def test_every_problem_is_solved(dtype):
    rng = np.random.default_rng(3)
    for sizes in ([1, 1], [1, 2, 4], [7, 9, 16, 17], [40, 3, 33]):
        K, begins, counts, sign = problems(rng, sizes, dtype)
        beta, u, iterations = run(K, begins, counts, sign)
        assert (iterations >= 0).all()
        start = 0
        for begin, count in zip(begins, counts, strict=True):
            rows = np.concatenate([np.arange(b, b + c) for b, c in zip(begin, count, strict=True)])
            own = slice(start, start + len(rows))
            start += len(rows)
            mine, y = beta[own], sign[own]
            whole = K[np.ix_(rows, rows)].astype(float)
            np.testing.assert_allclose(u[own], whole @ mine, rtol=0, atol=1e-12)  # (CLOOP.6)
            g = y - u[own]
            rises, falls = mine < np.maximum(2.0 * y, 0.0), mine > np.minimum(2.0 * y, 0.0)
            assert abs(mine.sum()) < 1e-12
            assert g[rises].max(initial=-np.inf) - g[falls].min(initial=np.inf) < 1e-8


@for_each("scale", [1.0, 1e-3, 1e3])
def test_the_last_digits_are_those_of_the_split(scale):
    """(CLOOP.7): six digits more cost hardly any iterations; doubled samples have no split."""
    rng = np.random.default_rng(8)
    K, begins, counts, sign = problems(rng, [12, 9, 15, 11])
    rough = np.abs(run(K, begins, counts, sign, C=scale, tol=1e-3)[2])
    beta, _, fine = run(K, begins, counts, sign, C=scale, tol=1e-9)
    assert (fine >= 0).all()
    assert scale != 1.0 or fine.sum() <= 1.5 * rough.sum() + 20
    assert (np.minimum(scale * sign, 0.0) <= beta).all()
    assert (beta <= np.maximum(scale * sign, 0.0)).all()
    twice = np.repeat(np.arange(len(K)), 2)
    _, _, again = run(K[np.ix_(twice, twice)], 2 * begins, 2 * counts, np.repeat(sign, 2), C=scale)
    assert (again >= 0).all()


def test_two_sums_are_kept():
    rng = np.random.default_rng(4)
    K, begins, counts, sign = problems(rng, [6, 8])
    start = np.where(sign > 0, 0.25 / 8, -0.25 / 6)
    beta, u, _ = run(K, begins, counts, sign, C=0.1, sums=2, start=start)
    np.testing.assert_allclose([beta[sign > 0].sum(), beta[sign < 0].sum()], [0.25, -0.25])
    assert beta @ u <= start @ (K @ start)


def test_one_slice_is_read_where_it_is():
    rng = np.random.default_rng(5)
    K, begins, counts, sign = problems(rng, [9, 12])
    whole = np.array([[0]]), np.array([[21]])
    for rows in (K, np.asfortranarray(np.pad(K, 3))[3:-3, 3:-3].T.copy()):
        np.testing.assert_allclose(run(rows, *whole, sign)[0], run(K, begins, counts, sign)[0], atol=1e-7)


def test_nothing_to_do():
    empty = np.zeros((0, 2), dtype=np.int64)
    beta, u, iterations = run(np.zeros((0, 0)), empty, empty, np.zeros(0))
    assert len(beta) == len(u) == len(iterations) == 0
    none = np.zeros((1, 2), dtype=np.int64)
    assert run(np.eye(3), none, none, np.zeros(0))[2][0] == 0
    not_a_number = run(np.full((2, 2), np.nan), np.array([[0, 1]]), np.array([[1, 1]]), np.array([-1.0, 1.0]))
    assert not_a_number[2][0] <= 0


def test_the_iterations_of_each_are_limited():
    rng = np.random.default_rng(6)
    K, begins, counts, sign = problems(rng, [30, 30, 30])
    assert (run(K, begins, counts, sign, most=3)[2] == -4).all()


@for_each(
    "place, wrong",
    [
        ("K", np.zeros((3, 4))), ("K", np.zeros((4, 4), dtype=int)), ("begins", np.array([[0, 3]])),
        ("begins", np.array([[-1, 2]])), ("counts", np.array([[2, 3]])), ("counts", np.array([[2, -2]])),
        ("counts", np.array([[2, 1]])), ("counts", np.array([[2**62, 2]])), ("counts", np.array([[2, 2, 0]])),
        ("beta", np.zeros(3)), ("beta", np.full(4, np.nan)), ("beta", np.full(4, 9.0)), ("u", np.zeros(5)),
        ("low", np.zeros(3)), ("tol", np.zeros(2)), ("sums", 3),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(place, wrong):
    given = {
        "K": np.eye(4), "begins": np.array([[0, 2]]), "counts": np.array([[2, 2]]), "beta": np.zeros(4),
        "u": np.zeros(4), "low": np.zeros(4), "high": np.ones(4), "tol": np.ones(1),
        "iterations": np.zeros(1, dtype=int), "sums": 1, "most": 10, "look": None,
    }  # fmt: skip
    core.compiled.loop_over_parts(*given.values())
    with pytest.raises(ValueError, match="square matrix"):
        core.compiled.loop_over_parts(*{**given, place: wrong}.values())


def test_the_look_ends_it():
    def press():
        raise KeyboardInterrupt

    rng = np.random.default_rng(7)
    K, begins, counts, sign = problems(rng, [300] * 6)
    signed = 1e6 * sign
    iterations = np.zeros(len(begins), dtype=np.int64)
    arguments = np.minimum(signed, 0.0), np.maximum(signed, 0.0), np.full(len(begins), 1e-15), iterations
    with pytest.raises(KeyboardInterrupt):
        core.compiled.loop_over_parts(K, begins, counts, np.zeros(len(sign)), sign.copy(), *arguments, 1, 10**9, press)
