"""Proofs about kernels: ⟨w, φ(x)⟩ and its radius, judged by 300 bits of mpmath, and gaps of solved machines."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels import values as kernel_values
from qpsvm.bounds.proof.kernels.points import build_space_of_matrix, build_space_of_samples

#: Samples.
N = 8


def samples(scale, offset=0.0, seed=0):
    X = scale * (np.random.default_rng(seed).standard_normal((N, 3)) + offset)
    X[5] = X[4]
    X[6] = 0.0
    return X


def true_kernel(kernel, X):
    """K in mpmath: (n, n)."""
    rows = [[mpmath.mpf(v) for v in row] for row in X.tolist()]

    def value(x, z):
        if isinstance(kernel, qpsvm.RBF):
            return mpmath.exp(-mpmath.mpf(kernel.gamma) * sum((a - c) ** 2 for a, c in zip(x, z, strict=True)))
        base = mpmath.mpf(kernel.gamma) * sum(a * c for a, c in zip(x, z, strict=True)) + mpmath.mpf(kernel.coef0)
        if isinstance(kernel, qpsvm.Sigmoid):
            return mpmath.tanh(base)
        return base ** mpmath.mpf(kernel.degree)

    return [[value(x, z) for z in rows] for x in rows]


def kernels():
    """Kernels and samples: duplicates, zeros, raw scales, offsets, and values that underflow or nearly overflow."""
    for scale, offset in ((1.0, 0.0), (1e6, 0.0), (1e-6, 1e3), (1e100, 0.0), (1.0, 1e6)):
        X = samples(scale, offset)
        for gamma in (0.3 / scale**2, 1e8 / scale**2, 1e-200):
            yield qpsvm.RBF(gamma), X
            yield qpsvm.Polynomial(3, gamma, 1.0), X
            yield qpsvm.Polynomial(7, gamma, -0.5), X
            yield qpsvm.Polynomial(2.5, gamma, 1e-3), np.abs(X)
            yield qpsvm.Polynomial(0.3, gamma, 1.0), np.abs(X)
            yield qpsvm.Sigmoid(gamma, -0.3), X


def number(value):
    return mpmath.mpf(value.numerator) / value.denominator


def is_within(value, pair):
    slack = abs(value) * mpmath.mpf(10) ** -80  # what 300 bits of mpmath are off by
    return number(pair[0]) - slack <= value <= number(pair[1]) + slack


def test_radii_hold_in_floats_in_two_doubles_and_in_rational_numbers():
    rng = np.random.default_rng(1)
    with mpmath.workprec(300):
        for kernel, X in kernels():
            c = rng.standard_normal(N) * 10.0 ** rng.uniform(-3, 3, N)
            c[rng.random(N) < 0.4] = 0.0
            beta = c.copy()
            beta[1] += rng.choice([0.5, 1e-17])
            K = true_kernel(kernel, X)
            space = build_space_of_samples(kernel, X)
            held = Primal(None, c)
            coef, own = [mpmath.mpf(v) for v in c.tolist()], [mpmath.mpf(v) for v in beta.tolist()]
            off = [a - b for a, b in zip(coef, own, strict=True)]

            def form(left, right, K=K):
                pairs = ((i, j) for i in range(N) for j in range(N) if left[i] and right[j])
                return sum((left[i] * right[j] * K[i][j] for i, j in pairs), mpmath.mpf(0))

            u = [sum((coef[j] * K[i][j] for j in range(N)), mpmath.mpf(0)) for i in range(N)]
            found = space.measure(held, beta, np.zeros(N))
            sharp = space.refine_values(held, np.arange(N))
            for values in (found.values, sharp) if sharp is not None else (found.values,):
                for i in np.flatnonzero(np.isfinite(values.radius)).tolist():
                    near = mpmath.mpf(float(values.high[i])) + mpmath.mpf(float(values.low[i]))
                    assert abs(u[i] - near) <= float(values.radius[i]), (kernel, i)
            exact = space.evaluate_exactly(held, [Fraction(v) for v in beta.tolist()], 1e9)
            assert all(is_within(value, pair) for value, pair in zip(u, exact.values, strict=True))
            apart = form(off, off)
            assert is_within(form(coef, coef), exact.square)
            assert is_within(form(own, own), exact.dual_square)
            assert apart <= mpmath.mpf(found.distance) ** 2
            assert 2 * mpmath.mpf(found.min_half_square_distance) <= apart
            for pair, value in ((found.half_square, coef), (found.dual_half_square, own)):
                assert pair[0] <= form(value, value) / 2 <= pair[1]
            sharp_apart = space.refine_distance(held, beta, np.zeros(N))
            assert sharp_apart is None or apart <= mpmath.mpf(sharp_apart) ** 2


@pytest.mark.parametrize("kernel", [qpsvm.RBF(0.3), qpsvm.Polynomial(2, 0.3, 1.0), qpsvm.Sigmoid(0.3, 0.5)])
def test_radii_are_a_few_roundings(kernel):
    X = samples(1.0)
    c = np.r_[1.0, np.zeros(N - 1)]
    values = build_space_of_samples(kernel, X).measure(Primal(None, c), c, np.zeros(N)).values
    size = max(1.0, np.abs(values.high).max())
    assert (values.radius <= 60.0 * UNIT * size).all()
    assert build_space_of_matrix(np.eye(N)).measure(Primal(None, c), c, np.zeros(N)).values.radius.max() < 20.0 * UNIT
    sharp = build_space_of_samples(kernel, X).refine_values(Primal(None, c), np.arange(N))
    assert sharp is None or (sharp.radius < 1e-26 * size).all()


def test_distances_are_bounded_from_below():
    """(KSUM.6), and not by much; near and equal samples, samples far from the origin, and γ of which K is all but 1."""
    tiny = mpmath.mpf(10) ** -60
    for kernel, X in kernels():
        with mpmath.workprec(300):
            space, K = build_space_of_samples(kernel, X), true_kernel(kernel, X)
            for centre in (None, 4, 0):
                found = space.bound_distances(centre)
                for i, low in enumerate([] if found is None else found):
                    if centre is None:
                        square = K[i][i]
                    else:
                        square = K[i][i] - 2 * K[i][centre] + K[centre][centre]
                    square = max(square, mpmath.mpf(0))  # some are indefinite
                    assert low >= 0.0
                    assert mpmath.mpf(low) ** 2 <= square + tiny * (square + tiny * abs(K[i][i]))
                    if isinstance(kernel, qpsvm.RBF):
                        assert low >= mpmath.sqrt(square) * (1 - mpmath.mpf(2) ** -40) - tiny * tiny
    distances = build_space_of_matrix(np.array([[2.0, 1.0], [1.0, 5.0]])).bound_distances(0)
    assert np.allclose(distances, [0.0, np.sqrt(5.0)], rtol=1e-15, atol=1e-15)
    assert (distances**2 <= [0.0, 5.0]).all()


def test_blocks_and_sparse_samples_give_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 4)) * (rng.random((40, 4)) < 0.5)
    c = rng.standard_normal(40) * (rng.random(40) < 0.7)
    for kernel in (
        qpsvm.RBF(0.5),
        qpsvm.Polynomial(3, 0.5, 1.0),
        qpsvm.Sigmoid(0.1, 0.2),
        qpsvm.Polynomial(0.5, 0.1, 9.0),
    ):
        exact = (
            build_space_of_samples(kernel, X)
            .evaluate_exactly(Primal(None, c), [Fraction(v) for v in c.tolist()], 1e9)
            .values
        )
        for width, dense in ((256, 1e9), (3, 1e9), (7, 0.0)):
            monkeypatch.setattr(kernel_values, "DENSE_BYTES", dense)
            for name in ("ROWS", "COLUMNS"):
                monkeypatch.setattr(kernel_values, name, width)
                monkeypatch.setattr("qpsvm.bounds.proof.kernels.points." + name, width)
            space = build_space_of_samples(kernel, sp.csr_array(X))
            values = space.measure(Primal(None, c), c, np.zeros(40)).values
            for high, radius, (low, up) in zip(values.high.tolist(), values.radius.tolist(), exact, strict=True):
                assert low - Fraction(radius) <= Fraction(high) <= up + Fraction(radius)
            assert values.radius.max() < 1e-11


def test_numbers_beyond_all_floats_prove_nothing():
    X = samples(1e150)
    c = np.ones(N)
    for kernel in (qpsvm.Polynomial(3, 1.0, 1.0), qpsvm.RBF(1e290)):
        values = build_space_of_samples(kernel, X).measure(Primal(None, c), c, np.zeros(N)).values
        assert np.isfinite(values.high[values.radius < np.inf]).all()
    assert np.isinf(build_space_of_samples(qpsvm.Polynomial(3, 1.0), X).measure(Primal(None, c), c, c).distance)


@pytest.mark.usefixtures("arithmetic")
@pytest.mark.parametrize("C", [1.0, 1e5])
def test_gaps_of_solved_machines(C):
    """P − D in mpmath is between the bounds, which are no worse than what is measured."""
    for kernel, scale in ((qpsvm.RBF(0.3), 1.0), (qpsvm.Polynomial(2, 1.0, 1.0), 1.0), (qpsvm.RBF(1e-3), 1e3)):
        rng = np.random.default_rng(4)
        X = scale * rng.standard_normal((24, 2))
        y = np.where(X[:, 0] + 0.5 * scale * rng.standard_normal(24) > 0, 1, -1)
        result = qpsvm.solve(qpsvm.CSVM(X, y, C=C, kernel=kernel), check=False)
        proof = result.verify()
        with mpmath.workprec(300):
            K = true_kernel(kernel, X)
            point = proof.record["point"]
            coef = [mpmath.mpf(v) for v in result.coef.tolist()]
            beta = [number(point[i]) * int(y[i]) for i in range(24)]
            assert sum(point[i] * int(y[i]) for i in range(24)) == 0
            u = [sum(c * k for c, k in zip(coef, row, strict=True)) for row in K]
            short = [max(1 - int(y[i]) * (u[i] + mpmath.mpf(float(result.b))), mpmath.mpf(0)) for i in range(24)]
            primal = sum(c * v for c, v in zip(coef, u, strict=True)) / 2 + mpmath.mpf(C) * sum(short)
            own = sum(beta[i] * beta[j] * K[i][j] for i in range(24) for j in range(24))
            dual = sum(number(point[i]) for i in range(24)) - own / 2
            gap = (primal - dual) / max(abs(primal), abs(dual))
        assert proof.least_gap <= gap <= proof.gap <= 10.0 * result.gap + 1e-9
        assert proof.dual <= dual
        assert primal <= proof.primal
        assert primal - dual <= proof.difference
