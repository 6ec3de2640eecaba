"""The record of a machine, in fractions, against the checker's own statement: row by row, group by group."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from each import for_each

import qpsvm
from qpsvm.base.arrays.rationals import (
    add_exactly,
    as_floats,
    concatenate_rationals,
    divide_exactly,
    from_constant,
    from_floats,
    multiply_exactly,
    round_all_down,
    round_down,
    round_to_nearest,
    scale_exactly,
    sum_floats,
)
from qpsvm.bounds.proof import checker
from qpsvm.machines import registry
from qpsvm.machines.problem.proof_record import build_proof_record
from qpsvm.machines.problem.verify import build_registered_program

RNG = np.random.default_rng(27)
N = 14
X = RNG.normal(size=(N, 3))
Y, T, C = np.where(np.arange(N) % 3, 1, -1), RNG.normal(size=N), RNG.uniform(0.2, 2.0, N)
APART = X + 9.0 * (Y > 0)[:, None]
WEIGHTS = RNG.uniform(0.5, 1.5, N)
WEIGHTS[[2, 5]] = 0.0
ROWS = [qpsvm.Constraints([[0.3, 1.0, 0.0]], -0.07, c=0.1), qpsvm.ValueConstraints(X[:2], [[0.1, 0.2]], 0.3)]

MACHINES: dict[str, Callable[..., Any]] = {
    "c": lambda **o: qpsvm.CSVM(X, Y, C=C, **o),
    "hard": lambda sample_weight, **o: qpsvm.HardMargin(APART, Y, **o),  # noqa: ARG005
    "nu": lambda **o: qpsvm.NuSVM(X, Y, nu=0.3, **o),
    "hinge": lambda **o: qpsvm.PrimalHinge(X, Y, lam=0.07, **o),
    "squared": lambda **o: qpsvm.SquaredHinge(X, Y, C=0.37, **o),
    "huber": lambda **o: qpsvm.HuberHinge(X, Y, C=C, width=0.3, **o),
    "tube": lambda **o: qpsvm.EpsilonSVR(X, T, C=0.37, epsilon=0.2, **o),
    "squared tube": lambda **o: qpsvm.EpsilonSVR(X, T, C=C, epsilon=0.2, loss="squared", **o),
    "nu tube": lambda **o: qpsvm.NuSVR(X, T, C=C, nu=0.3, **o),
    "quantile": lambda **o: qpsvm.QuantileSVR(X, T, C=0.37, quantile=0.3, **o),
    "one class": lambda **o: qpsvm.OneClass(X, nu=0.3, kernel="linear", **o),
    "ball": lambda **o: qpsvm.SVDD(X, nu=0.3, **o),
    "ranking": lambda **o: qpsvm.Ranking(X, np.round(T), C=0.37, **o),
}
WITH_INTERCEPTS = {"c", "hinge", "squared", "huber", "tube", "squared tube", "quantile"}
CASES = [
    (name, intercept, weights)
    for name in MACHINES
    for intercept in (("free", "penalised", None) if name in WITH_INTERCEPTS else ("free",))
    for weights in ((None,) if name == "hard" else (None, WEIGHTS))
]


def test_every_machine_is_in_the_registry_and_stated_by_the_checker() -> None:
    kinds = {registry.load_machine(word) for word in registry.MACHINES}
    named = [getattr(qpsvm, name) for name in qpsvm.__all__]
    public = {kind for kind in named if isinstance(kind, type) and issubclass(kind, qpsvm.Problem)}
    public -= {qpsvm.CrammerSinger, qpsvm.WestonWatkins}
    assert kinds == public - {qpsvm.Problem} == {type(problem_of(name, "free", None)) for name in MACHINES}
    assert {kind.__name__ for kind in kinds} <= set(checker.MACHINES)
    for kind in kinds:
        assert {*checker.MACHINES[kind.__name__][1]} - {"intercept"} == set(kind._hyperparameters)


def problem_of(name: str, intercept: Any, weights: Any, **more: Any) -> Any:
    """One of the machines."""
    options = more if intercept == "free" else {"intercept": intercept, **more}
    return MACHINES[name](sample_weight=weights, **options)


def build_program(problem: Any) -> Any:
    """Build the program that the checker states of the same machine, from what a proof file says of it."""
    machine = build_proof_record(problem).machine
    place = [int(i) for i in problem.active_rows]
    y = [Fraction(float(v)) for v in problem._active_target]
    s = [Fraction(float(v)) for v in problem._select_active(problem.sample_weight)]
    diagonal = [sum(Fraction(float(v)) ** 2 for v in problem.X[i]) for i in place]
    return checker.build_dual(machine, y, s, place, diagonal)


@for_each("rows", [False, True])
@for_each("name, intercept, weights", CASES)
def test_the_record_is_what_the_checker_states(name: str, intercept: Any, weights: Any, rows: bool) -> None:
    if rows and name == "ball":  # a proof file has no constraints beside it
        return
    problem = problem_of(name, intercept, weights, **({"constraints": ROWS} if rows else {}))
    program, own = build_program(problem), build_registered_program(problem)
    entries = {
        (mu, k): group.get_entry(k) for mu, group in zip(names(own), own.groups, strict=True) for k in range(own.m)
    }
    assert program.unit == own.unit
    assert program.e == {group.multiplier: group.total for group in own.groups}
    assert {group.multiplier: group.ridge for group in own.groups} == program.R
    assert len(program.rows) == own.m
    for k, row in enumerate(program.rows):
        assert sorted(row.z) == points(own, k)
        assert (row.s, row.l, row.U) == (Fraction(float(own.sign[k])), own.level[k], own.upper.get_finite(k))
        assert row.d == own.curvature[k]
        assert {mu: entries[mu, k] for mu in row.E} == row.E


def names(own: Any) -> list[str]:
    """The multipliers of an exact program."""
    return [group.multiplier for group in own.groups]


def points(own: Any, k: int) -> list[tuple[int, Fraction]]:
    """The samples of a row, with their factors."""
    if own.mix is None:
        return [(k if own.rows is None else int(own.rows[k]), Fraction(1))]
    row = own.mix[[k]]
    return sorted((int(i), Fraction(float(a))) for i, a in zip(row.indices, row.data, strict=True) if a)


@for_each("name, intercept, weights", CASES)
def test_the_floats_of_the_dual_are_the_record_rounded_once(name: str, intercept: Any, weights: Any) -> None:
    problem = problem_of(name, intercept, weights)
    record = problem._build_specification()
    svm = problem.svm
    upper = record.to_rationals(record.upper)
    radius = np.zeros(svm.m) if svm.upper_radius is None else svm.upper_radius
    for k in range(svm.m):  # rounded down
        U = upper.get_finite(k)
        assert (
            np.isinf(svm.upper[k])
            if U is None
            else 0 <= U - Fraction(float(svm.upper[k])) <= Fraction(float(radius[k]))
        )
        assert U is None or float(svm.upper[k]) >= float(U) * (1.0 - 2.0**-51)
    pairs = [(record.curvature, svm.curvature)]
    for exact, found in [*pairs, *([] if record.diagonal else [(record.level, svm.level)])]:
        vector = record.to_rationals(exact)
        expected = [np.inf if vector.get_finite(k) is None else float(vector[k]) for k in range(svm.m)]
        np.testing.assert_array_equal(found, expected)
    totals = {group.multiplier: float(group.total) for group in record.groups}
    assert {group.multiplier: group.total for group in svm.groups} == {g.multiplier: 0.0 for g in svm.groups} | totals
    for group, exact_group in zip([g for g in svm.groups if g.multiplier in totals], record.groups, strict=True):
        assert group.exact_total == exact_group.total
        assert abs(group.rest) <= abs(exact_group.total) / 2**104
    assert svm.unit == float(record.unit)
    off = np.zeros(svm.m) if svm.level_radius is None else svm.level_radius
    if not record.diagonal:
        level = record.to_rationals(record.level)
        assert all(abs(level[k] - Fraction(float(svm.level[k]))) <= Fraction(float(off[k])) for k in range(svm.m))


@for_each("seed", range(20))
def test_floats_below_exact_vectors_are_the_largest_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    part = Fraction(int(seed % 8 + 1), int(seed + 3))
    a = rng.uniform(0.1, 3.0, 9) * 10.0 ** rng.integers(-5, 6)
    a = np.where(rng.random(9) < 0.3, 1.0, a)
    b = rng.uniform(0.1, 3.0, 9) if seed % 2 else np.full(9, 0.3)
    for vector in (
        multiply_exactly(a, b), multiply_exactly(a, b, part), from_floats(a, part), from_constant(part, 9),
        divide_exactly(from_floats(b, part), Fraction(2, 7)), from_floats(a, 1 / sum_floats(a)),
        scale_exactly(concatenate_rationals(from_floats(a), from_floats(b)), part), from_floats(np.full(9, np.inf)),
    ):  # fmt: skip
        low, radius = round_all_down(vector)
        for k in range(len(vector)):
            if vector.get_finite(k) is None:
                assert np.isinf(low[k])
                continue
            assert low[k] == round_down(vector[k])
            off = vector[k] - Fraction(float(low[k]))
            assert 0 <= off <= (0 if radius is None else Fraction(float(radius[k])))


@for_each("size", [1e-320, 1e-300, 1e-3, 1.0, 1e300])
def test_floats_of_exact_vectors_are_rounded_to_nearest(size: float) -> None:
    rng = np.random.default_rng(27)
    third = Fraction(1, 3)
    a = rng.normal(size=9) * size
    b = rng.normal(size=9)
    for vector in (
        from_floats(a, third), multiply_exactly(a, b, third), concatenate_rationals(from_floats(a), add_exactly(a, b)),
        scale_exactly(concatenate_rationals(from_floats(a), add_exactly(a, b)), third),
        divide_exactly(from_floats(b, third), Fraction(2, 7)), divide_exactly(concatenate_rationals(from_floats(b),
        from_floats(b, third)), third), from_floats(a, third / Fraction(10) ** 320), from_floats(a, third * Fraction(10)
        ** 330),
    ):  # fmt: skip
        np.testing.assert_array_equal(as_floats(vector), [round_to_nearest(vector[k]) for k in range(len(vector))])


@for_each("size", [1e-310, 1e-294, 1e-150, 1.0, 1e150, 1e294, 1e300])
@for_each("power", [-300, -20, 0, 20, 300])
def test_floats_are_no_farther_off_than_is_said(size: float, power: int) -> None:
    """Wherever the numbers and their factor lie: products beside either end lose their errors."""
    rng = np.random.default_rng(3)
    factor = Fraction(10) ** power * Fraction(7, 3)
    a = np.abs(rng.normal(size=40)) * size
    b = rng.normal(size=40) * size * 2.0**-30
    for vector in (
        from_floats(a, factor),
        scale_exactly(add_exactly(a, np.abs(b)), factor),
        divide_exactly(from_floats(a), factor),
    ):
        low, radius = round_all_down(vector)
        for k in range(len(vector)):
            off = Fraction(0) if radius is None else Fraction(float(radius[k]))
            assert np.isinf(low[k]) or 0 <= vector[k] - Fraction(float(low[k])) <= off
