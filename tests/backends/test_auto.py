"""`auto` follows what backends say of themselves: engines registered for a test claim costs, and are ranked by them,
left out, handed over from, or refused before they start."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matrix import SAMPLES

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge, backends, solve
from qpsvm.backends.abilities import ALL, ANYTHING, Abilities, Machines
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Compiled, Limits, SolverData
from qpsvm.machines import Problem
from qpsvm.program.costs import Cost, Import
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.solve import choice
from qpsvm.solve.choice import DENSE_ROWS, Choice, check_room, choices

X, Y = SAMPLES["overlapping"].X, SAMPLES["overlapping"].y
pytestmark = pytest.mark.usefixtures("unhurried")
#: More than any machine has.
HUGE = 1e18


class FakeCompiled(Compiled):
    """Sleeps as long as it is told to and may, and finds nothing: α = 0."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:  # noqa: ARG002
        fake = self.backend
        assert isinstance(fake, Fake)
        fake.given.append(limits.time_limit)
        time.sleep(min(fake.sleeps, limits.time_limit or np.inf))
        stopped = limits.time_limit is not None and fake.sleeps >= limits.time_limit
        status = Status.TIME_LIMIT if stopped else Status.OPTIMAL
        return QPSolution(self.qp, status, Solver(fake.name, "1", "found"), x=np.zeros(self.qp.n))


class Fake(Backend):
    """An engine that takes anything and does nothing; what it claims is set by a test."""

    name = "fake"
    abilities = Abilities("any QP", dual=ALL, primal=ALL)
    claims = Cost(0.0, 0.0, 0.0)
    sleeps = 0.0
    compiled = 0

    def __init__(self, *peers: Any) -> None:
        super().__init__(*peers)
        self.given: list[float | None] = []

    def options(self) -> frozenset[str]:
        return frozenset()

    def estimate(self, size: Any, form: Any) -> Cost:  # noqa: ARG002
        return self.claims

    def compile(self, qp: qpsvm.QP) -> Compiled:
        self.compiled += 1
        return FakeCompiled(self, qp, SolverData(q=qp.q))


class Quick(Fake):
    """Another one."""

    name = "quick"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """`quick` and `fake`, registered as any backend is; nothing that they find is made better."""
    for kind in (Quick, Fake):
        monkeypatch.setitem(backends.REGISTRY, kind.name, (__name__, kind.__name__))
    monkeypatch.setattr(Problem, "_polished", lambda self, certificate, *others: certificate)  # noqa: ARG005
    yield backends.get("quick"), backends.get("fake")
    backends._made.cache_clear()  # what a test has set goes with them


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Nothing else is registered."""
    monkeypatch.setattr(backends, "REGISTRY", {name: backends.REGISTRY[name] for name in names})


def csvm() -> CSVM:
    return CSVM(X, Y, 1.0, RBF(0.2))


# --- the rank ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [CSVM(X, Y), csvm(), NuSVM(X, Y, 0.3, "rbf"), HardMargin(X, Y)], ids=repr)
def test_a_new_engine_is_ranked_by_what_it_claims(fakes, problem):
    quick, fake = fakes
    before = [str(each) for each in choices(problem) if each.backend not in ("quick", "fake")]
    quick.claims, fake.claims = Cost(0.0, 0.0, 0.0), Cost(0.0, 1e6, 0.0)
    order = [each.backend for each in choices(problem)]
    assert order[0] == "quick"
    dearer = order[order.index("fake") + 1 :]
    assert set(dearer) <= {"cvxpy", "osqp"}, "after everything but what is placed last"
    assert [str(each) for each in choices(problem) if each.backend not in ("quick", "fake")] == before


def test_what_an_engine_cannot_take_is_not_in_the_order(fakes, monkeypatch):
    quick, fake = fakes
    monkeypatch.setattr(Quick, "abilities", Abilities("a ν-SVM", dual=(Machines(ANYTHING - {"level 1"}),), because="."))
    monkeypatch.setattr(Fake, "abilities", replace(Fake.abilities, study=True))
    names = [each.backend for each in choices(csvm())]
    assert not {"quick", "fake"} & set(names)
    assert next(choices(NuSVM(X, Y, 0.3, RBF(0.2)))).backend == "quick"
    assert solve(csvm()).status == "optimal"
    assert not quick.compiled
    assert not fake.compiled


@pytest.mark.parametrize("n", [100, 5000])
def test_linear_machines_are_ranked_by_estimates_and_cvxpy_is_last(n):
    rng = np.random.default_rng(0)
    order = list(choices(CSVM(rng.normal(size=(n, 5)), np.arange(n) % 2)))
    seconds = [each.seconds for each in order]
    assert order[-1].backend == "cvxpy"
    assert seconds[:-1] == sorted(seconds[:-1])
    assert ("cvxopt" in {each.backend for each in order}) == (n <= DENSE_ROWS)


def test_with_a_kernel_the_list_is_kept_whatever_it_costs():
    few, many = (samples(n) for n in (100, DENSE_ROWS + 1))
    newton = ["kernel_newton"]
    for kind, first, then in ((CSVM, newton, newton), (NuSVM, newton, newton), (PrimalHinge, [], [])):
        extra = {"intercept": "penalised"} if kind is PrimalHinge else {}
        small = [(each.backend, each.form) for each in choices(kind(*few, kernel="rbf", **extra))]
        listed = [("cvxopt", "dual"), ("cvxopt", "primal"), ("interior_point", None), ("cvxpy", None)]
        assert small == [*((name, None) for name in first), *listed]
        large = [each.backend for each in choices(kind(*many, kernel="rbf", **extra))]
        assert large == [*then, "interior_point", "osqp"]


def samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), np.arange(n) % 2


def test_two_orders_are_woven():
    def made(*seconds: float) -> list[Choice]:
        return [Choice(f"{each:g}", None, Cost(0.0, each, 0.0)) for each in seconds]

    woven = choice._woven(made(1.0, 2.0, 9.0), made(5.0, 3.0, 7.0))
    assert [each.backend for each in woven] == ["1", "2", "5", "3", "7", "9"]
    assert [each.backend for each in choice._woven(made(1.0), [])] == ["1"]


# --- handing over -----------------------------------------------------------------------------------------------------


def test_an_engine_that_claims_little_comes_first_and_hands_over(fakes):
    quick, fake = fakes
    quick.sleeps, fake.claims = 0.1, Cost(0.0, 1e6, 0.0)
    result = solve(csvm())
    assert quick.compiled == 1
    assert (result.backend, result.status) == ("kernel_newton", "optimal")
    assert not fake.compiled


def test_an_engine_that_claims_too_much_is_left_out_and_said(fakes, monkeypatch):
    quick, fake = fakes
    fake.claims, fake.sleeps = Cost(0.0, 3600.0, 0.0), 60.0
    only(monkeypatch, "quick", "fake")
    result = solve(csvm(), check=False)
    assert quick.compiled == 1
    assert not fake.compiled
    assert (result.backend, result.status) == ("quick", "inaccurate")
    assert "Not tried: fake on the dual form (about 60 minutes); name one" in result.message
    only_one = solve(csvm(), "quick", check=False)
    assert "Not tried" not in only_one.message


def test_what_is_in_proportion_is_tried_after_what_is_not(fakes, monkeypatch):
    _, fake = fakes
    fake.claims = Cost(0.0, 3600.0, 0.0)
    only(monkeypatch, "quick", "fake", "cvxpy")
    result = solve(csvm(), check=False)
    assert not fake.compiled
    assert result.backend == "cvxpy"
    assert result.status == "optimal"


def test_a_follower_that_takes_longer_than_it_claimed_is_stopped_and_nothing_follows(fakes, monkeypatch):
    quick, fake = fakes
    monkeypatch.setattr(choice, "FLOOR", 0.05)
    allowed = choice.PATIENCE * 0.05
    fake.claims, fake.sleeps = Cost(0.0, 1e-3, 0.0), 60.0
    quick.claims = Cost(0.0, 0.0, 0.0)
    only(monkeypatch, "quick", "fake", "cvxpy")
    began = time.monotonic()
    result = solve(csvm(), check=False)
    took = time.monotonic() - began
    (first,), (limit,) = quick.given, fake.given
    assert first is None
    assert limit is not None
    assert 0 < limit <= max(allowed, choice.PATIENCE * took)
    assert took < fake.sleeps, "it was stopped"
    assert result.status == "inaccurate", "nobody asked for a time limit"
    assert "cvxpy" in result.message


# --- time and memory --------------------------------------------------------------------------------------------------


def test_an_engine_whose_set_up_is_too_long_is_not_started(fakes):
    _, fake = fakes
    fake.claims = Cost(100.0, 100.0, 0.0)
    result = solve(csvm(), "fake", time_limit=50.0, check=False)
    assert not fake.compiled
    assert result.status == "time_limit"
    assert "fake on the dual form was not started" in result.message
    assert solve(csvm(), "fake", time_limit=1e4, check=False).solver.status == "found"


def test_an_engine_of_huge_memory_is_refused_before_it_starts(fakes, monkeypatch):
    quick, fake = fakes
    quick.claims = Cost(0.0, 0.0, HUGE)
    problem = csvm()
    with pytest.raises(qpsvm.TooLargeError, match=r"quick needs about .* GiB of memory, and"):
        solve(problem, "quick")
    assert problem.space.gram.nbytes == 0
    fake.claims = Cost(0.0, 1.0, 0.0)
    assert solve(problem).backend == "kernel_newton"
    fake.claims = Cost(0.0, 1e-3, 0.0)
    only(monkeypatch, "quick", "fake")
    said = solve(csvm(), check=False).message
    assert "Not tried: quick on the dual form (memory)." in said
    assert "to wait for it" not in said
    assert fake.compiled == 1
    only(monkeypatch, "quick")
    with pytest.raises(qpsvm.TooLargeError, match="quick needs"):
        solve(problem)
    assert not quick.compiled


def test_memory_is_asked_for_once(monkeypatch):
    asked: list[str] = []

    def counted(problem: Any, backend: Any, form: Any, estimate: Any) -> None:
        asked.append(backend.name)
        check_room(problem, backend, form, estimate)

    monkeypatch.setattr(choice, "check_room", counted)
    if hasattr(sys.modules["qpsvm.solve.call"], "check_room"):
        monkeypatch.setattr(sys.modules["qpsvm.solve.call"], "check_room", counted)
    solve(csvm())
    solve(csvm(), "cvxopt")
    assert asked == ["kernel_newton", "cvxopt"]


def test_what_an_import_maps_counts_where_address_space_is_limited(fakes, monkeypatch):
    quick, _ = fakes
    quick.loads = Import("no_such_package", HUGE, 2.0)
    cost = quick.cost(choice.size_of(csvm()), "dual")
    assert (cost.setup, cost.seconds, cost.bytes, cost.mapped) == (2.0, 2.0, 0.0, HUGE)
    check_room(csvm(), quick, "dual", cost)
    monkeypatch.setattr(choice, "address_space", lambda: 1e9)
    with pytest.raises(qpsvm.TooLargeError):
        check_room(csvm(), quick, "dual", cost)
    quick.loads = Import("numpy", HUGE)
    check_room(csvm(), quick, "dual", quick.cost(choice.size_of(csvm()), "dual"))
