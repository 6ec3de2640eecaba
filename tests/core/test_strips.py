"""Compiled kernel values: those of NumPy to rounding, at every level; sizes are checked before memory is touched."""

from fractions import Fraction
from functools import cache
from math import cos, exp, factorial, pi
from pathlib import Path

import numpy as np
import pytest
from each import for_each

from qpsvm import core
from qpsvm.bounds.accuracy import CLIPPING_ERROR, FUNCTION_ROUNDINGS
from qpsvm.space.kernels.functions import RBF, Polynomial
from qpsvm.space.kernels.kernel_blocks import KernelBlocks, bound_exponent_error

compiled = core.compiled
pytestmark = pytest.mark.skipif(compiled is None, reason="no compiled core")
#: Smallest exponent, and the unit roundoff of double precision.
LOWEST, UNIT = -40.0, 2.0**-53


def pack(X, gamma=0.3):
    a = np.ascontiguousarray((X - X.mean(axis=0)) * np.sqrt(2.0 * gamma))
    return a, -0.5 * np.einsum("ij,ij->i", a, a), X.shape[1], 0, 1.0, 0.0


def of_exponents(x, single=False):
    """e^x from values of rows a = 0 with −½‖a‖² = x, and a row of zeros."""
    n = len(x)
    a = np.zeros((n + 1, 1))
    half = np.append(x, 0.0)
    out = np.empty((1, n), dtype=np.float32 if single else np.float64)
    compiled.strip_values((a, half, 1, 0, 1.0, 0.0), np.array([n]), np.arange(n), single, out, n, 0, 0, False)
    return out[0]


SIZES = [(1, 1, 1), (2, 3, 1), (13, 17, 2), (40, 33, 7), (97, 300, 24), (500, 65, 3), (30, 600, 300), (7, 20, 1100)]


@for_each("single", [False, True])
@for_each("size", SIZES)
@pytest.mark.usefixtures("level")
def test_sums_and_values_are_those_of_numpy(size, single):
    left, right, d = size
    rng = np.random.default_rng(left * right + d)
    X = rng.normal(size=(left + right, d)) / np.sqrt(d)
    known = pack(X)
    w = rng.normal(size=left)
    rows, columns = rng.permutation(len(X))[:left], rng.permutation(len(X))[:right]
    K = RBF(0.3)(X[rows], X[columns])
    out = np.full((left + 2, right + 3), 7.0, dtype=np.float32 if single else np.float64)
    compiled.strip_values(known, rows, columns, single, out, right + 3, 1, 2, False)
    tolerance = 5e-6 if single else 1e-13
    np.testing.assert_allclose(out[1:-1, 2:-1], K, rtol=tolerance)
    untouched = np.ones(out.shape, dtype=bool)
    untouched[1:-1, 2:-1] = False
    assert (out[untouched] == 7.0).all()
    sums = np.ones(right)
    compiled.strip_sums(known, rows, columns, single, w, sums)
    assert np.abs(sums - 1.0 - w @ K).max() <= tolerance * np.abs(w).sum()


@for_each("single", [False, True])
@for_each("n", [1, 2, 12, 31, 200, 1000])
@pytest.mark.usefixtures("level")
def test_a_symmetric_matrix_is_symmetric_to_the_last_bit(n, single):
    X = np.random.default_rng(n).normal(size=(n, 5))
    known = pack(X)
    rows = np.arange(n)
    K = np.full((n, n + 3), np.nan, dtype=np.float32 if single else np.float64)
    for start in range(0, n, 130):
        end = min(start + 130, n)
        compiled.strip_values(known, rows[start:end], rows[:end], single, K, n + 3, start, 0, True)
    assert (K[:, :n] == K[:, :n].T).all()
    assert np.isnan(K[:, n:]).all()
    np.testing.assert_allclose(K[:, :n], RBF(0.3)(X, X), rtol=5e-6 if single else 1e-13)


@pytest.mark.usefixtures("level")
def test_sums_do_not_depend_on_how_columns_are_cut():
    X = np.random.default_rng(0).normal(size=(700, 6))
    known = pack(X)
    w = np.random.default_rng(1).normal(size=700)
    rows = np.arange(700)
    whole, parts = np.zeros(700), np.zeros(700)
    compiled.strip_sums(known, rows, rows, False, w, whole)
    for start in range(0, 700, 37):
        compiled.strip_sums(known, rows, rows[start : start + 37], False, w, parts[start : start + 37])
    assert (whole == parts).all()


@for_each("degree", [1, 2, 3, 4, 7, 10, 31])
@pytest.mark.usefixtures("level")
def test_whole_powers(degree):
    rng = np.random.default_rng(degree)
    X = rng.normal(size=(120, 4))
    kernel = Polynomial(degree, 0.25, 0.5)
    blocks = KernelBlocks(kernel, X)
    rows = np.arange(120)
    assert blocks._core_arguments is not None
    base = 0.25 * np.abs(X) @ np.abs(X).T + 0.5
    off = 40 * degree * UNIT * base**degree
    assert (np.abs(blocks.compute_block(rows, rows[5:90]) - kernel(X, X[5:90])) <= off[:, 5:90]).all()
    assert (np.abs(blocks.compute_symmetric(None) - kernel(X, X)) <= off).all()


@pytest.mark.usefixtures("level")
def test_numbers_at_any_address():
    X = np.random.default_rng(3).normal(size=(50, 3))
    a, half, *rest = pack(X)

    def shift(array):
        room = bytearray(array.nbytes + 3)
        room[3:] = array.tobytes()
        return memoryview(room)[3:]

    rows = np.arange(50)
    out = shift(np.zeros(50))
    w = np.ones(50)
    compiled.strip_sums((shift(a), shift(half), *rest), shift(rows), shift(rows), False, shift(w), out)
    np.testing.assert_allclose(np.frombuffer(bytes(out)), RBF(0.3)(X, X) @ w, rtol=1e-12)


@pytest.mark.usefixtures("level")
def test_what_is_no_number_stays_so():
    found = of_exponents(np.array([np.nan, -1.0, -np.inf, -1e300]))
    assert np.isnan(found[0])
    assert (np.abs(found[2:] / np.exp(LOWEST) - 1.0) <= 4 * UNIT).all()
    assert np.isnan(of_exponents(np.array([np.nan]), single=True)[0])


@pytest.mark.usefixtures("level")
def test_nothing_to_do():
    known = pack(np.ones((3, 2)))
    none = np.empty(0, dtype=np.int64)
    out = np.zeros(3)
    compiled.strip_sums(known, none, np.arange(3), False, np.empty(0), out)
    assert not out.any()
    compiled.strip_sums(known, np.arange(3), none, False, np.ones(3), np.empty(0))
    compiled.strip_values(known, none, none, False, np.empty(0), 1, 0, 0, True)


def wrong_sums():
    a, half, d, *rest = pack(np.ones((5, 2)))
    rows, w, out = np.arange(5), np.ones(5), np.zeros(5)
    yield (a, half, 0, *rest), rows, rows, False, w, out
    yield (a, half, -2, *rest), rows, rows, False, w, out
    yield (a, half, 3, *rest), rows, rows, False, w, out
    yield (a, half, 2**62, *rest), rows, rows, False, w, out
    yield (a, half[:4], d, *rest), rows, rows, False, w, out
    yield (a, b"", d, *rest), rows, rows, False, w, out
    yield (a, half, d, -1, 1.0, 0.0), rows, rows, False, w, out
    yield (a, half, d, *rest), rows + 1, rows, False, w, out
    yield (a, half, d, *rest), rows, rows - 1, False, w, out
    yield (a, half, d, *rest), rows.astype(np.int32)[:3], rows, False, w, out
    yield (a, half, d, *rest), rows, rows, False, w[:4], out
    yield (a, half, d, *rest), rows, rows, False, w, out[:4]


def wrong_values():
    known = pack(np.ones((5, 2)))
    rows = np.arange(5)
    for width, row, column, mirrors in [
        (6, 1, 0, False), (6, 0, 2, False), (6, -1, 0, False), (6, 0, -1, False), (0, 0, 0, False), (-6, 0, 0, False),
        (7, 0, 0, False), (30, 0, 25, True), (2**62, 0, 0, False), (6, 2**62, 0, False),
    ]:  # fmt: skip
        yield known, rows, rows, False, np.zeros(30), width, row, column, mirrors
    yield known, rows, rows, True, np.zeros(25, dtype=np.float32)[:24], 5, 0, 0, False


def test_sizes_are_checked():
    for arguments in wrong_sums():
        with pytest.raises(ValueError, match=r"row|samples|sum|power"):
            compiled.strip_sums(*arguments)
    for arguments in wrong_values():
        with pytest.raises(ValueError, match="matrix"):
            compiled.strip_values(*arguments)
    out = np.zeros(5)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        compiled.strip_sums(pack(np.ones((5, 2))), np.arange(5), np.arange(5), False, np.ones(5), out)


#: h of (KBLOCK.4).
HALF = Fraction(3466, 10000)


def coefficients():
    """Those of q of (KBLOCK.4) in double precision, from the highest."""
    text = (Path(core.__file__).parent / "c" / "exp.h").read_text()
    return [float(x) for x in text.split("coefficients[10] = {")[1].split("}")[0].split(",") if x.strip()]


def test_the_polynomial_is_the_exponential_to_a_fifth_of_a_rounding():
    # 1 + r + r²q − Σ rᵏ/k! is a polynomial of degree 19 but for a rest. Of M > 19 of Chebyshev's points none
    # is larger anywhere than the largest value there, divided by cos(19π/2M) (Ehlich & Zeller, 1964)
    c = [Fraction(x) - Fraction(1, factorial(k)) for k, x in enumerate([1.0, 1.0, *reversed(coefficients())])]
    c += [-Fraction(1, factorial(k)) for k in range(12, 20)]
    nodes = [HALF * Fraction(cos((2 * k + 1) * pi / 400)) for k in range(200)]
    largest = float(max(abs(sum(x * r**k for k, x in enumerate(c))) for r in nodes)) / cos(19 * pi / 400)
    rest = float(2 * HALF**20 / factorial(20))
    assert (largest + rest) * exp(HALF) * (1.0 + 1e-6) <= 0.2 * UNIT


def test_the_roundings_of_the_exponential():
    # (KBLOCK.4), in u: those of q, by Horner's rule, of r², of the product, of the sum r + r²q, of 1 + (…), and of r
    h = float(HALF)
    q = (exp(h) - 1.0 - h) / h**2
    parts = [sum(h ** (k - j) / factorial(k + 2) for k in range(j, 15)) for j in range(11)]
    of_q = 0.0
    for j in range(9, -1, -1):
        of_q = h * of_q + h * parts[j + 1] + parts[j]
    t = of_q * h**2 + q * h**2 + q * h**2 + exp(h) - 1.0
    assert t * exp(h) + 1.0 + h + 0.2 <= 2.5


def exactly(x):
    """e^x in forty digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        return [mpmath.exp(mpmath.mpf(float(v))) for v in x]


@for_each("single", [False, True])
@pytest.mark.usefixtures("level")
def test_the_exponential_is_within_its_bound(single):
    rng = np.random.default_rng(0)
    ln2 = np.log(2.0)
    kind = np.float32 if single else np.float64
    halves = [(k + 0.5) * ln2 + rng.normal(size=40) * 1e-9 for k in range(-58, 0)]  # where n changes: |r| is largest
    x = np.concatenate([rng.uniform(-40, 0, 3000), *halves, -(10.0 ** rng.uniform(-20, 0, 500)), [0.0, 1e-12, -40.0]])
    x = np.maximum(x.astype(kind), LOWEST).astype(np.float64)
    found = of_exponents(x, single)
    unit = 2.0**-24 if single else UNIT
    worst = max(abs(float(v / e - 1)) for v, e in zip(found.tolist(), exactly(x), strict=True))
    assert worst <= 2.5 * unit
    if single:  # all floats near the ends of an octave, in steps
        x = np.arange(-40.0, 0.0, 1.1e-5, dtype=np.float32)
        x = x.astype(np.float64)
        assert np.abs(of_exponents(x, True) / np.exp(x) - 1.0).max() <= 2.5 * unit + 1e-15


def hostile(name, rng):
    """Rows whose exponents are hard to come by."""
    if name == "long, near each other":
        X = rng.normal(size=(40, 5)) * 25.0
        return np.vstack([X, X * (1 + 1e-9 * rng.normal(size=X.shape)), X + 1e-7]), 0.5
    if name == "at the lowest exponent":
        direction = rng.normal(size=(60, 3))
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        return np.vstack([np.zeros((1, 3)), direction * np.sqrt(40.0 + 1e-13 * rng.normal(size=(60, 1)))]), 1.0
    if name == "denormal":
        return np.vstack([rng.normal(size=(20, 4)) * 1e-310, rng.normal(size=(20, 4)) * 1e-160, np.eye(4)]), 2.0
    if name == "offset":
        return rng.normal(size=(60, 7)) + 1e8, 0.1
    if name == "wide":
        return rng.choice([0.0, 1.0, -3.0], size=(30, 700)), 0.01
    return np.clip(rng.standard_cauchy(size=(60, 2)), -100, 100), 0.2


@for_each("name", ["long, near each other", "at the lowest exponent", "denormal", "offset", "wide", "heavy tails"])
@pytest.mark.usefixtures("level")
def test_kernel_values_are_within_what_the_certificate_counts(name):
    mpmath = pytest.importorskip("mpmath")
    X, gamma, exact = hostile_values(name)
    blocks = KernelBlocks(RBF(gamma), X)
    rows = np.arange(len(X))
    assert blocks.is_fast
    assert blocks._core_arguments is not None
    K = blocks.compute_block(rows, rows)
    lengths = blocks.squared_lengths
    w = np.cos(rows)
    for i in rows:
        for j in rows:
            off = float(np.expm1(bound_exponent_error(blocks.terms) * (lengths[i] + lengths[j])))
            assert abs(K[i, j] - exact[i, j]) <= max(exact[i, j] * (off + FUNCTION_ROUNDINGS * UNIT), CLIPPING_ERROR)
    sums = blocks.compute_product(rows, w, rows)
    m = len(rows)
    for i in rows:
        radius = (blocks_error(blocks) + (m + 6) * UNIT * 1.01) * np.abs(w).sum()
        assert abs(mpmath.mpf(sums[i]) - sum(mpmath.mpf(w[j]) * exact[i, j] for j in rows)) <= radius


@cache
def hostile_values(name):
    """Hostile rows X (n, d), γ, and their kernel values in forty digits (n, n): the same at every level."""
    mpmath = pytest.importorskip("mpmath")
    X, gamma = hostile(name, np.random.default_rng(5))
    parts = [[Fraction(x) for x in row] for row in X.tolist()]
    unit = max(part.denominator for row in parts for part in row)  # a power of two; rows are whole multiples of 1/unit
    whole = [[part.numerator * (unit // part.denominator) for part in row] for row in parts]
    exact = np.empty((len(X), len(X)), dtype=object)
    for i, a in enumerate(whole):
        for j, b in enumerate(whole[: i + 1]):
            square = sum((x - z) ** 2 for x, z in zip(a, b, strict=True)) * Fraction(gamma) / unit**2
            with mpmath.workdps(40):
                exact[i, j] = exact[j, i] = mpmath.exp(-mpmath.mpf(square.numerator) / square.denominator)
    return X, gamma, exact


def blocks_error(blocks):
    """ε of (ACC.3), (ACC.5)."""
    return max(
        np.expm1(bound_exponent_error(blocks.terms) * blocks.longest) + FUNCTION_ROUNDINGS * UNIT, CLIPPING_ERROR
    )
