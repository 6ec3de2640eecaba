"""The library's own exponential, judged by 400 bits of mpmath."""

import mpmath
import numpy as np

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.bounds.proof.kernels.exponential import (
    BITS,
    DOUBLE_DOUBLE_ERROR,
    LOWEST,
    LOWEST_DOUBLE_DOUBLE,
    MAX_ERROR,
    Exponential,
    compute_ln2,
    compute_tables,
    exp_double_double,
    exp_fixed,
)


def exponents(count=1500):
    """All over the range, near the ends of its intervals, at them, and hardly different from 0."""
    rng = np.random.default_rng(0)
    ends = np.log(2.0) / 2048.0 * (rng.integers(-2_000_000, 1, count) + 0.5)
    return np.concatenate([
        rng.uniform(LOWEST, 0.0, count), -(10.0 ** rng.uniform(-300, 2.8, count)), ends, np.nextafter(ends, 0.0),
        rng.uniform(-1e-3, 1e-3, count), np.arange(LOWEST, 1.0), [0.0, -0.0, 5e-324],
    ])  # fmt: skip


def test_values_are_off_by_less_than_is_claimed():
    with mpmath.workprec(400):
        x = exponents()
        values = Exponential(len(x))(x.copy())
        exact = [mpmath.exp(mpmath.mpf(v)) for v in x.tolist()]
        worst = max(abs(v / e - 1) for v, e in zip(values.tolist(), exact, strict=True))
        assert 1.5 * UNIT < worst < MAX_ERROR  # the bound is one, and no wide one

        low = x * np.random.default_rng(1).uniform(-1, 1, len(x)) * UNIT
        first, second = exp_double_double(x, low)
        for k in np.flatnonzero(x >= LOWEST_DOUBLE_DOUBLE)[::3].tolist():
            truth = mpmath.exp(mpmath.mpf(float(x[k])) + mpmath.mpf(float(low[k])))
            assert abs((mpmath.mpf(float(first[k])) + mpmath.mpf(float(second[k]))) / truth - 1) < DOUBLE_DOUBLE_ERROR

        for v in x[(x <= 0.0) & (x > -1e3)][::17].tolist():
            fixed = int(mpmath.floor(mpmath.ldexp(mpmath.mpf(v), BITS)))
            below, above = exp_fixed(fixed)
            truth = mpmath.ldexp(mpmath.exp(mpmath.mpf(v)), BITS)
            assert below <= truth <= above
            assert above - below < 2**20


def test_what_is_lower_is_raised_and_nothing_overflows():
    low = Exponential(4)(np.array([-1e300, -np.inf, -745.0, LOWEST]))
    assert (low == low[-1]).all()
    assert low[0] > 0.0
    first, _ = exp_double_double(np.array([-np.inf, -1e9, LOWEST_DOUBLE_DOUBLE]), np.zeros(3))
    assert (first == first[-1]).all()
    assert exp_fixed(-(1 << 300)) == (0, 1)


def test_tables_are_correctly_rounded():
    table = compute_tables()
    with mpmath.workprec(400):
        assert compute_ln2(300) == int(mpmath.floor(mpmath.ldexp(mpmath.log(2), 300)))
        for j in range(0, 2048, 7):
            power = mpmath.mpf(2) ** (mpmath.mpf(j) / 2048)
            assert float(power) == table.high[j]
            assert (
                abs(power - mpmath.mpf(float(table.high[j])) - mpmath.mpf(float(table.low[j]))) < mpmath.mpf(2) ** -105
            )
        step = mpmath.log(2) / 2048
        for parts, digits in ((table.lambda_in_two, 97), (table.lambda_in_three, 129)):
            assert abs(step - sum(mpmath.mpf(part) for part in parts)) < mpmath.mpf(2) ** -digits
        for part in (table.lambda_in_two[0], *table.lambda_in_three[:2]):  # times 21 bits there is no rounding
            mantissa = int(np.ldexp(np.frexp(abs(part))[0], 53))
            assert mantissa % 2**21 == 0
