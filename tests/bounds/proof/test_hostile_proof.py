"""Hostile problems, and hostile numbers: no bound of a proof is below the truth, on either of its roads.

The truth is in rational numbers, by the textbook (`textbook_gap`). Here are a few of each kind; the hunt had thousands.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from textbook_gap import CLASSIFIERS, REGRESSIONS, TextbookMachine, compute_textbook_objectives

import qpsvm
from qpsvm.base.arrays.rationals import divide_exactly, from_constant, from_floats
from qpsvm.bounds.proof import checker
from qpsvm.bounds.proof import prove as proving
from qpsvm.bounds.proof.gap_bounds import GapBounds

#: Problems of each kind.
EACH = 5
NUMBERS = (1e300, -1e305, 1e155, 1e-310, 0.0, math.nan, math.inf)


def decades(rng, wide, size=None):
    return 10.0 ** rng.uniform(-wide, wide, size)


def draw_machine(kind, seed):
    """Draw a machine at any scale, and return what it was drawn with."""
    rng = np.random.default_rng([18, seed])
    n = int(rng.integers(2, 9))
    d = int(rng.choice([1, 2, 5]))
    X = rng.standard_normal((n, d))
    spoilt = [
        lambda: X * decades(rng, 140), lambda: X + 1e8, lambda: X[rng.integers(0, n, n)],
        lambda: X * decades(rng, 12, d), lambda: sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0)),
        lambda: 0.0 * X, lambda: X * 1e-300,
    ]  # fmt: skip
    Z = spoilt[int(rng.integers(len(spoilt)))]() if rng.random() < 0.6 else X
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    if kind in REGRESSIONS:
        y = rng.choice([0.0, 1.0]) * rng.standard_normal(n) * decades(rng, 3) + rng.choice([0.0, 0.1, 1e6])
    if rng.random() < 0.4 and kind not in ("nu", "hard"):
        weight = rng.choice([0.5, 1.0 / 3.0, 1e-9, 1e6], n)
    else:
        weight = None
    if kind == "hard" and not sp.issparse(Z):
        Z = Z.copy()
        Z[:, 0] += 4.0 * np.abs(Z).max() * y
    fixed = kind in ("nu", "nu tube", "one", "hard")
    machine = TextbookMachine(
        kind, Z, y, C=decades(rng, 6), lam=decades(rng, 3), width=decades(rng, 3), weight=weight,
        nu=float(rng.choice([0.2, 1.0 / 3.0, 1e-12])) * 2.0 * min((y > 0).mean(), (y < 0).mean() or 1.0) or 0.5,
        epsilon=float(rng.choice([0.0, 0.1, 1e3])), quantile=float(rng.choice([0.8, 1e-6])),
        intercept="free" if fixed else rng.choice([None, "free", "penalised"]),
    )  # fmt: skip
    return machine, rng


def results(machine, rng):
    """A solution, a point that is none, and numbers that somebody has put into a result."""
    problem = machine.problem
    try:
        good = qpsvm.solve(problem, check=False)
        rows = len(good.alpha)
        yield good
        yield problem.at(rng.random(rows) * decades(rng, 3) * rng.choice([0.0, 1.0, 1e-18, 1e10], rows))
    except qpsvm.QPSVMError:
        return
    wrong = float(rng.choice(NUMBERS))
    w = good.w * (1.0 + decades(rng, 8) * 1e-9 * rng.standard_normal(len(good.w)))
    if machine.intercept is not None:
        yield replace(good, b=wrong)
        yield replace(good, b=good.b * (1.0 + 1e-9), model=replace(good.model, w=w))
    w = w.copy()
    w[0] = float(rng.choice(NUMBERS))
    yield replace(good, model=replace(good.model, w=w))
    alpha = good.alpha.copy()
    alpha[0] = wrong
    yield replace(good, alpha=alpha)


def zero_size(machine, point):
    """S of (ZERO.2), from above but for the last digits."""
    rows = machine.X.toarray() if sp.issparse(machine.X) else np.asarray(machine.X)
    x = [[Fraction(float(v)) for v in row] for row in rows]
    n = len(x)
    sizes = [abs(point[k] - point[n + k]) if machine.kind in REGRESSIONS else point[k] for k in range(n)]
    if machine.kind in ("nu", "nu tube"):
        origin = x[max(range(n), key=lambda k: sizes[k])]
    else:
        origin = [Fraction(0)] * len(x[0])
    unit = Fraction(10) ** 200
    squares = [sum((a - b) ** 2 for a, b in zip(row, origin, strict=True)) for row in x]
    return sum(sizes) * sum(math.isqrt(int(s * unit**4)) + 1 for s in squares) / len(x) / unit**2


def check_bounds(machine, result, proof):
    """Check every bound against the truth."""
    assert not math.isnan(proof.gap)
    point = proof.record.get("point")
    if point is None:
        assert proof.gap == proof.primal == math.inf
        assert not proof
        return
    primal, dual = compute_textbook_objectives(machine, result, [point[k] for k in range(len(proof.alpha))])
    unit = Fraction(machine.lam) if machine.kind == "hinge" else 1
    assert proof.dual == -math.inf or proof.dual <= dual * unit
    if primal is None:
        assert proof.gap == proof.primal == proof.difference == math.inf
        assert not proof
        return
    size = max(abs(primal), abs(dual))
    if proof.record["bounds"].zero_size:
        assert primal == 0
        size = zero_size(machine, point) ** 2 / 2
    gap = (primal - dual) / size if size else 0
    assert proof.least_gap <= gap <= proof.gap
    assert primal * unit <= proof.primal
    assert (primal - dual) * unit <= proof.difference
    for claim in proof.claims:
        if claim.kind == "optimal":
            assert claim.verdict != ("refuted" if gap <= claim.value else "proven")


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSIONS, "one"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::qpsvm.QPSVMWarning")
def test_no_bound_is_below_the_truth(kind, monkeypatch):
    proofs = 0
    for seed in range(EACH):
        machine, rng = draw_machine(kind, seed)
        for result in results(machine, rng):
            tol = float(rng.choice([1e-6, 1e-12, 0.1]))
            check_bounds(machine, result, result.verify(tol=tol))
            with monkeypatch.context() as changed:
                changed.setattr(proving, "MAX_PRODUCTS_AT_FIRST", 0.0)  # bounds in floats are what is judged
                changed.setattr(proving, "MAX_PRODUCTS", 0.0)
                check_bounds(machine, result, result.verify(tol=tol))
            proofs += 2
    assert proofs > 4 * EACH


@pytest.mark.usefixtures("in_floats")
def test_what_is_nothing_is_proven_to_be_nothing():
    """P = D = 0: a tube as wide as the target is, and a target that f is equal to; no gap is relative to that."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    for y, epsilon in ((np.sin(np.arange(30.0)), 2.0), (np.full(30, 5.0), 0.0)):
        for kind in ("tube", "tube squared"):
            machine = TextbookMachine(kind, X, y, epsilon=epsilon)
            assert qpsvm.solve(machine.problem, check=False).verify().gap == 0.0


@pytest.mark.usefixtures("in_floats")
@for_each("b", [1e305, -1e305])
def test_a_number_that_overflows_in_every_row_is_no_proof(b):
    """All α are at C: a row that falls short adds nothing to the gap of these, and one that is no number was one."""
    X = np.random.default_rng(0).standard_normal((8, 2))
    y = np.tile([1.0, -1.0], 4)
    machine = TextbookMachine("c", X, y, C=1e-3)
    result = replace(qpsvm.solve(machine.problem), b=b)
    assert (result.alpha == 1e-3).all()
    proof = result.verify()
    check_bounds(machine, result, proof)
    assert proof.gap > 0.5


@pytest.mark.usefixtures("in_floats")
def test_hard_rows_are_looked_at_in_twice_the_precision():
    rng = np.random.default_rng(3)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    for _ in range(10):
        X = rng.standard_normal((12, 2)) + 4.0 * y[:, None] + 1e4
        result = qpsvm.solve(qpsvm.HardMargin(X, y), check=False)
        machine = TextbookMachine("hard", X, y)
        proof = result.verify()
        check_bounds(machine, result, proof)
        exact = compute_textbook_objectives(machine, result, [proof.record["point"][k] for k in range(12)])[0]
        assert (exact is None) == math.isinf(proof.gap)


@for_each("size", [1e-320, 1e-310, 3e-300, 1.0, 1e290, 1e305])
def test_bounds_of_rationals_whatever_their_size(size):
    """A factor that is denormal, or overflows, loses its digits as a float."""
    s = np.array([1.0, 1e-5, 3e140, 1.0 / 3.0])
    for factor in (Fraction(size) / 3, 1 / (Fraction(size) * 7), Fraction(size) ** 2):
        for numbers in (from_floats(s, factor), divide_exactly(from_floats(s), factor), from_constant(factor, 3)):
            low, high = numbers.bounds
            for k in range(len(numbers)):
                assert low[k] == -math.inf or Fraction(float(low[k])) <= numbers[k]
                assert high[k] == math.inf or Fraction(float(high[k])) >= numbers[k]


def test_alpha_off_the_grid_is_a_carrier():
    """What makes an equality exact may be a float that is no multiple of q: sums of integers may not lose it."""
    rng = np.random.default_rng(5)
    seen = 0
    for nu in (0.3, 1e-3, 1.0 / 3.0, 0.7):
        X = rng.standard_normal((9, 2))
        problem = qpsvm.NuSVR(X, X[:, 0], C=0.1, nu=nu)
        point = problem.at(rng.random(18)).verify().record["point"]
        step = Fraction(2) ** point.exponent
        for k, value in enumerate(point.alpha.tolist()):
            seen += k in point.carriers
            assert k in point.carriers or (Fraction(value) / step).denominator == 1
        assert sum(point[k] for k in range(18)) == Fraction(nu) * 9 * Fraction(0.1)
    assert seen


@pytest.mark.filterwarnings("ignore:overflow encountered in matmul:RuntimeWarning")
@for_each("radius", [1e200, math.nan, math.inf])
def test_a_ball_beyond_all_floats_is_no_proof(radius):
    """Its square is a rational number, but no float."""
    result = qpsvm.solve(qpsvm.SVDD(np.random.default_rng(0).standard_normal((12, 2)), nu=0.3))
    wrong = replace(result, extras={**result.extras, "radius": radius})
    for proof in (wrong.verify(), replace(result, model=replace(result.model, w=1e200 * result.model.w)).verify()):
        assert not proof.gap < 0.5
        assert not math.isnan(proof.difference)


def test_what_a_kernel_may_lack_widens_what_is_proven():
    bounds = GapBounds((2.0, 2.5), (1.0, 1.5), (0.5, 1.5)).add_excess(0.25)
    assert bounds.primal[1] >= 2.75
    assert bounds.difference[1] >= 1.75
    assert (bounds.primal[0], bounds.difference[0], bounds.dual) == (2.0, 0.5, (1.0, 1.5))
    assert bounds.gap >= 1.75 / 2.0


def test_the_checker_counts_a_w_that_is_not_of_its_alpha():
    """P = ½ and D = 0 of w = 1 and α = 0 at the one sample x = 1."""
    one, zero = Fraction(1), Fraction(0)
    program = checker.DualProgram([checker.DualRow([(0, one)], one, one, one, zero, {})], {}, {}, one, one)
    looked = checker.PlaneValues([[one, one]], [one, one], [zero, zero], [one, one])
    assert checker.bound_objectives(program, looked, [zero], {}) == ([one / 2] * 2, [zero] * 2, [one / 2] * 2)
