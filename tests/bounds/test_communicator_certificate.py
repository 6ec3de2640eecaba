"""The certificate over processes: the numbers of one process, the same for all members, and none that is too good."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import exact_dual
import exact_novelty
import numpy as np
import pytest
from communicators import together
from shared import certificates, joined, member

import qpsvm
from qpsvm.base.arrays.frozen import remembered
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.communicator import SERIAL, Communicator, crossing, quantile_interval, total_over
from qpsvm.bounds.levels import Pieces
from qpsvm.bounds.repair import capped_simplex
from qpsvm.data.rows import ArrayRows
from qpsvm.space.operators import LowRank, gathered

#: Every machine that several processes take: its class, what it learns, and how. With weights, some 0, where the
#: name says so.
MACHINES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "csvm": (qpsvm.CSVM, "y", {"C": 2.0}),
    "csvm, weighted": (qpsvm.CSVM, "y", {"C": 2.0}),
    "csvm, no intercept": (qpsvm.CSVM, "y", {"intercept": None}),
    "hinge, weighted": (qpsvm.PrimalHinge, "y", {"lam": 0.1, "intercept": "penalised"}),
    "squared, weighted": (qpsvm.SquaredHinge, "y", {}),
    "huber": (qpsvm.HuberHinge, "y", {"intercept": "penalised"}),
    "nu": (qpsvm.NuSVM, "y", {"nu": 0.2}),
    "epsilon, weighted": (qpsvm.EpsilonSVR, "t", {"C": 2.0}),
    "epsilon, squared": (qpsvm.EpsilonSVR, "t", {"loss": "squared"}),
    "nu regression, weighted": (qpsvm.NuSVR, "t", {}),
    "quantile": (qpsvm.QuantileSVR, "t", {"quantile": 0.3}),
    "one-class, weighted": (qpsvm.OneClass, "", {"nu": 0.2, "kernel": "linear"}),
    "ball, weighted": (qpsvm.SVDD, "", {"nu": 0.2, "kernel": "linear"}),
}
#: Whose f is no wᵀx + b.
BALL = "ball, weighted"
#: Numbers of a certificate that are everyone's.
COMMON = ("gap", "primal", "dual", "b", "measured", "half_norm", "offset", "level", "size")


def samples(seed: int, n: int, d: int, scale: float = 1.0, offset: float = 0.0) -> tuple[Any, ...]:
    """X, y, t and s: two classes that overlap, some samples without weight, the classes one behind the other."""
    rng = np.random.default_rng(seed)
    y = np.sort(np.where(rng.random(n) < 0.5, -1.0, 1.0))
    y[0], y[-1] = -1.0, 1.0
    X = rng.normal(size=(n, d)) + 1.2 * y[:, None]
    s = np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.5, 2.0, n))
    s[[0, -1]] = 1.0
    return X * scale + offset, y, X[:, 0] + 0.3 * rng.normal(size=n), s


def machine(name: str, data: tuple[Any, ...], **options: Any) -> qpsvm.Problem:
    """A machine of the table over samples."""
    kind, target, own = MACHINES[name]
    X, y, t, s = data
    options = {**own, **options, **({"sample_weight": s} if "weighted" in name else {})}
    learnt = {"y": (y,), "t": (t,), "": ()}[target]
    found: qpsvm.Problem = kind(X + 3.0 if kind is qpsvm.OneClass else X, *learnt, **options)
    return found


def shares(seed: int, n: int, members: int) -> list[Any]:
    """Who has which rows: in order, so that a member has one class; in any order; or nothing for the first."""
    rows = np.arange(n) if seed % 3 == 0 else np.random.default_rng(seed).permutation(n)
    if seed % 3 == 2:
        return [rows[:0], *np.array_split(rows, members - 1)]
    return np.array_split(rows, members)


def among(parts: list[Any], ask: Callable[..., Any], *vectors: Any) -> list[Any]:
    """What a function of a communicator answers on each member, of that member's parts of some vectors."""
    return together(len(parts), lambda comm: ask(comm, *(vector[parts[comm.rank]] for vector in vectors)))


def same_everywhere(found: list[Any]) -> Any:
    """The first certificate, of which all others have the numbers."""
    first = found[0]
    for other in found[1:]:
        np.testing.assert_equal([getattr(other, k) for k in COMMON], [getattr(first, k) for k in COMMON])
        np.testing.assert_equal((other.w, dict(other.multipliers)), (first.w, dict(first.multipliers)))
    return first


def exact_gap(problem: qpsvm.Problem, point: Any) -> Any:
    """The gap of the joined certificate in rational numbers."""
    verdict = exact_dual.judge(point.svm, problem.space.samples.matrix(), point)
    assert verdict.in_box
    return verdict.gap


@pytest.mark.parametrize("name", MACHINES)
def test_the_certificate_of_a_team_is_that_of_one_process(name):
    problem = machine(name, samples(1, 11, 2))
    rng = np.random.default_rng(7)
    best = qpsvm.solve(problem, backend="interior_point")
    points = [(rng.uniform(-0.3, 2.5, problem.alphas), None), (best.alpha, None), (best.alpha, best.w)]
    for seed, members in ((0, 2), (1, 3), (2, 3)):
        parts = shares(seed, problem.n, members)
        for alpha, w in points[: 2 if name == BALL else 3]:
            found, one = certificates(problem, parts, alpha, w), problem.certify(alpha, w)
            comm = same_everywhere(found)
            assert comm.gap <= one.gap * (1.0 + 1e-6) + 1e-13
            size = max(abs(one.primal), abs(one.dual))
            assert abs(comm.primal - one.primal) <= 1e-12 * size
            assert abs(comm.dual - one.dual) <= 1e-12 * size
        if name != BALL:
            assert comm.gap >= exact_gap(problem, joined(problem, parts, found))


@pytest.mark.parametrize("seed", range(26))
def test_no_team_claims_less_than_the_exact_gap(seed):
    rng = np.random.default_rng(seed)
    n, scale = int(rng.choice([2, 3, 5, 9])), float(rng.choice([1.0, 1e6, 1e-6]))
    X, y, t, s = samples(seed, n, int(rng.choice([1, 3])), scale, float(rng.choice([0.0, 1e6])))
    if seed % 4 == 0:
        X[n // 2 :] = X[: n - n // 2]
    C = float(10.0 ** rng.choice([-6, 0, 4, 10]))
    name = list(MACHINES)[seed % len(MACHINES)]
    takes = "C" in MACHINES[name][0].own
    problem = machine(name, (X, y, t, s), **({"C": C} if takes else {}))
    parts = shares(seed // 2, n, 2 + seed % 2)
    for alpha in (
        qpsvm.solve(problem, "interior_point", check=False).alpha,
        C * rng.random(problem.alphas),
        np.zeros(problem.alphas),
    ):
        found = certificates(problem, parts, alpha)
        point = same_everywhere(found)
        if point.w.any() and math.isfinite(point.gap) and name != BALL:  # else (VANISH.2), or a gap of R²
            assert point.gap >= exact_gap(problem, joined(problem, parts, found)) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("seed", range(6))
def test_the_ball_of_a_team_is_no_worse_than_it_says(seed):
    n = (2, 3, 9)[seed % 3]
    X, *_ = samples(seed, n, 2, (1.0, 1e6)[seed % 2], (0.0, 1e6)[seed // 2 % 2])
    problem, parts = qpsvm.SVDD(X, nu=0.4, kernel="linear"), shares(seed, n, 2 + seed // 3)
    for alpha in (qpsvm.solve(problem, "interior_point", check=False).alpha, np.random.default_rng(seed).random(n)):
        found = together(
            len(parts), lambda comm, a=alpha: member(problem, parts[comm.rank], comm).at(a[parts[comm.rank]])
        )
        assert len({(one.gap, one.primal, one.dual, one.radius, tuple(one.centre)) for one in found}) == 1
        whole = np.empty(n)
        for rows, one in zip(parts, found, strict=True):
            whole[rows] = one.alpha
        verdict = exact_novelty.judge(
            problem, SimpleNamespace(alpha=whole, centre=found[0].centre, radius=found[0].radius)
        )
        assert verdict.in_box
        assert found[0].gap >= verdict.gap * (1 - Fraction(1, 10**9))


def test_hulls_that_meet_are_seen_by_a_team():
    X, y = np.array([[0.0], [3.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    problem = qpsvm.NuSVM(X, y, nu=1.0)
    parts = [np.array([0, 2]), np.array([1, 3])]
    point = same_everywhere(certificates(problem, parts, np.full(4, 0.25)))
    assert point.gap == problem.certify(np.full(4, 0.25)).gap < 1e-12
    assert point.primal == 0.0
    assert not point.w.any()


@pytest.mark.parametrize("name", ["csvm", "hinge, weighted", "squared, weighted", "nu", "one-class, weighted"])
def test_a_team_of_many_rows_finds_the_multipliers_of_one_process(name):
    X, y, t, s = samples(3, 12_000, 3)
    X[: len(X) // 2] = np.round(X[: len(X) // 2])  # many of the same
    problem, alpha = machine(name, (X, y, t, s)), np.random.default_rng(0).uniform(0.0, 2.0, len(X))
    for seed in (0, 2):
        comm = same_everywhere(certificates(problem, shares(seed, len(X), 3), alpha))
        one = problem.certify(alpha)
        np.testing.assert_allclose([comm.primal, comm.dual, comm.gap], [one.primal, one.dual, one.gap], rtol=1e-10)
        np.testing.assert_allclose([comm.b, comm.rho], [one.b, one.rho], rtol=1e-8, atol=1e-10)


def test_what_has_to_be_in_one_process_is_refused_by_all_members():
    X, y, _, _ = samples(2, 8, 2)
    hard = qpsvm.HardMargin(np.arange(8.0)[:, None], np.arange(8) > 3)
    bound = qpsvm.CSVM(X, y, constraints=qpsvm.Constraints([[1.0, 0.0]], [1.0]))
    asked = [
        lambda comm: member(hard, np.arange(4) + 4 * comm.rank, comm).svm.hard,
        lambda comm: replace(bound.svm, comm=comm),
        lambda comm: replace(qpsvm.Ranking(X, np.arange(8)).svm, comm=comm),
    ]
    for ask in asked:
        assert all("one process" in message for message in together(2, lambda comm, ask=ask: refusal(ask, comm)))


def refusal(ask: Callable[[Communicator], Any], comm: Communicator) -> str:
    """What a member is told."""
    with pytest.raises(UnsupportedError) as refused:
        ask(comm)
    return str(refused.value)


@pytest.mark.parametrize("kind", ["distinct", "ties", "steps", "weights of 0"])
def test_a_quantile_over_processes_is_that_of_all_points(kind):
    rng = np.random.default_rng(5)
    n = 25_000
    points, weights = rng.normal(size=n), rng.uniform(0.5, 1.0, n)
    if kind == "ties":
        points = np.where(rng.random(n) < 0.6, 0.25, points)
    elif kind == "steps":
        points, weights = np.round(points, 1), np.ones(n)
    elif kind == "weights of 0":
        weights[rng.random(n) < 0.5] = 0.0
    whole = float(weights.sum())
    parts = shares(2, n, 3)
    ties = float(np.sort(points).searchsorted(0.25))
    for level in (0.0, 1e-9, 0.3 * whole, 0.61 * whole, ties, whole * (1 - 1e-12), whole):
        found = among(parts, lambda comm, p, w, at=level: quantile_interval(p, w, at, comm), points, weights)
        assert found[0] == found[1] == found[2] == quantile_interval(points, weights, level)
    for ridge in (1e-3, 1e2):
        found = among(parts, lambda comm, p, w, R=ridge: crossing(p, w, 0.4 * whole, comm, ridge=R), points, weights)
        np.testing.assert_allclose(found, crossing(points, weights, 0.4 * whole, SERIAL, ridge=ridge), rtol=1e-11)


def test_levels_of_curved_rows_and_a_mass_are_found_without_sorting_all():
    rng = np.random.default_rng(6)
    n = 9000
    points, column = rng.normal(size=n), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    upper, curvature = np.where(rng.random(n) < 0.5, np.inf, 0.7), np.full(n, 0.3)
    parts = shares(1, n, 2)

    def lowest(comm: Communicator, *rows: Any) -> float:
        return Pieces(*rows, 3.0, 0.0, comm).first()

    found = among(parts, lowest, points, column, upper, curvature)
    assert found[0] == found[1]
    assert found[0] == pytest.approx(lowest(SERIAL, points, column, upper, curvature), rel=1e-12)
    a, caps = rng.normal(size=n), rng.uniform(0.0, 2.0, n)
    for mass in (1e-12, 0.4 * n, float(caps.sum()) * 0.999):
        x = np.empty(n)
        found = among(parts, lambda comm, *of, m=mass: capped_simplex(*of, m, comm), a, caps)
        for rows, part in zip(parts, found, strict=True):
            x[rows] = part
        np.testing.assert_allclose(x, capped_simplex(a, caps, mass), rtol=1e-9, atol=1e-12 * mass)
        assert abs(math.fsum(x) - mass) <= 1e-14 * n * mass


def test_a_sum_over_a_team_keeps_every_digit():
    rng = np.random.default_rng(8)
    for scale in (1.0, 1e16, 1e300):
        values = np.concatenate([rng.normal(size=40) * scale, rng.normal(size=40)])
        values = np.concatenate([values, -values[:60]])
        parts = shares(0, len(values), 3)
        exact = sum(map(Fraction, values.tolist()), Fraction(1))
        for found, radius in among(parts, lambda comm, part: total_over(part, comm, 1.0), values):
            assert abs(Fraction(found) - exact) <= Fraction(radius)
            assert radius <= 1e-15 * abs(float(exact)) + 1e-31 * np.abs(values).sum()


def test_rows_that_samples_share_are_those_of_a_team_with_an_empty_member():
    X = np.arange(6.0).reshape(3, 2)

    def doubled(comm: Communicator) -> tuple[float, int]:
        n = 3 * comm.rank
        operator = gathered(LowRank(ArrayRows(X[:n], comm)), np.tile(np.arange(n), 2))
        return operator.mean_diagonal(), operator.source.times  # type: ignore[attr-defined]

    assert together(2, doubled) == [(np.square(X).sum() / 3, 2)] * 2


def test_a_remembered_value_is_computed_once_and_by_threads_that_wait_for_each_other():
    class Asked:
        times = 0

        def __init__(self, comm: Communicator) -> None:
            self.comm = comm

        @remembered
        def total(self) -> float:
            self.times += 1
            return self.comm.sum(self.comm.rank + 1.0)

    asked = together(2, Asked)
    assert together(2, lambda comm: (setattr(asked[comm.rank], "comm", comm), asked[comm.rank].total)[1]) == [3.0, 3.0]
    assert [one.total + one.times for one in asked] == [4.0, 4.0]
