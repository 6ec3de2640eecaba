"""`auto` goes by one rule; engines that do as a test tells them are handed over from, left out, or refused."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from each import for_each
from matrix import SAMPLES

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge, backends, solve
from qpsvm.backends import registry
from qpsvm.backends.abilities import ALL_MACHINES, Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.requirements import LazyImport, Memory, Requirements, Size
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.traits import ALL_TRAITS
from qpsvm.machines import Problem
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.solve import attempt, request
from qpsvm.solve.attempt import check_available_memory
from qpsvm.solve.backend_order import (
    CVXOPT_DUAL_ROWS,
    CVXOPT_PRIMAL_ROWS,
    CVXPY_ROWS,
    FEW_LINEAR_ROWS,
    WIDE_ROWS,
    RankedBackend,
    rank_backends,
)

X, Y = SAMPLES["overlapping"].X, SAMPLES["overlapping"].y
pytestmark = pytest.mark.usefixtures("patient_auto")
#: More than any machine has, in n × n matrices and in bytes.
MANY, HUGE = 1e12, 1e18
CANDIDATES = sys.modules["qpsvm.solve.machine_candidates"]


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
    """An engine that takes anything and finds nothing; what it needs is set by a test."""

    name = "fake"
    abilities = Abilities("any QP", dual=ALL_MACHINES, primal=ALL_MACHINES)
    memory = Memory(0.0, 0.0)
    setup = 0.0
    sleeps = 0.0
    compiled = 0

    def __init__(self, *peers: Any) -> None:
        super().__init__(*peers)
        self.given: list[float | None] = []

    def options(self) -> frozenset[str]:
        return frozenset()

    def estimate_requirements(self, size: Any, form: Any) -> Requirements:
        return replace(super().estimate_requirements(size, form), seconds=self.setup)

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
    monkeypatch.setattr(Problem, "_polish", lambda self, certificate, *others: certificate)  # noqa: ARG005
    yield backends.get("quick"), backends.get("fake")
    registry._instantiate.cache_clear()  # what a test has set goes with them


def in_order(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """`auto` takes these, in this order."""
    monkeypatch.setattr(CANDIDATES, "rank_backends", lambda _: [RankedBackend(name) for name in names])


def csvm() -> CSVM:
    return CSVM(X, Y, 1.0, RBF(0.2))


def samples(n: int, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 2


def order(problem: Problem) -> list[str]:
    return [str(choice) for choice in rank_backends(problem)]


# --- the rule ---------------------------------------------------------------------------------------------------------

FEW, MORE, MANY_ROWS = samples(FEW_LINEAR_ROWS), samples(FEW_LINEAR_ROWS + 1), samples(CVXOPT_DUAL_ROWS + 1)
NEWTON, AUGMENTED, INTERIOR = "kernel_newton", "augmented_lagrangian", "interior_point"


@for_each("problem, ours", [
    (CSVM(*FEW), [NEWTON, AUGMENTED, INTERIOR]), (CSVM(*MANY_ROWS), [AUGMENTED, INTERIOR, NEWTON]),
    (CSVM(*MORE), [AUGMENTED, INTERIOR, NEWTON]), (CSVM(*FEW, C=1e4), [AUGMENTED, INTERIOR, NEWTON]),
    (CSVM(FEW[0] * 100, FEW[1]), [AUGMENTED, INTERIOR, NEWTON]),
    (CSVM(*samples(400, 400)), [NEWTON, AUGMENTED, INTERIOR]),
    (CSVM(*samples(WIDE_ROWS + 1, WIDE_ROWS + 1)), [AUGMENTED, INTERIOR, NEWTON]),
    (NuSVM(*FEW, 0.3), [NEWTON, INTERIOR]), (NuSVM(*MANY_ROWS, 0.3), [INTERIOR, NEWTON]),
    (NuSVM(*samples(WIDE_ROWS + 1, WIDE_ROWS + 1), 0.3), [NEWTON, INTERIOR]),
    (HardMargin(*FEW), [NEWTON, INTERIOR]), (HardMargin(*MANY_ROWS), [INTERIOR, NEWTON]),
])  # fmt: skip
def test_linear_machines(problem, ours):
    if len(problem.y) > CVXOPT_DUAL_ROWS:
        last = ["cvxpy"]
    else:
        last = ["cvxopt on the dual form", "cvxpy"]
    assert order(problem) == [*ours, *last]


def test_machines_of_another_kernel():
    for kind in (CSVM, NuSVM):
        for n in (CVXOPT_PRIMAL_ROWS, CVXOPT_DUAL_ROWS, CVXOPT_DUAL_ROWS + 1, CVXPY_ROWS + 1):
            exact = ["cvxopt on the dual form"] * (n <= CVXOPT_DUAL_ROWS) + ["cvxopt on the primal form"] * (
                n <= CVXOPT_PRIMAL_ROWS
            )
            assert order(kind(*samples(n), kernel="rbf")) == [NEWTON, INTERIOR, *exact, *["cvxpy"] * (n <= CVXPY_ROWS)]
    for intercept in ("penalised", None):
        assert order(PrimalHinge(*FEW, kernel="rbf", intercept=intercept))[0] == NEWTON
    few_pairs, many_pairs = (qpsvm.Ranking(FEW[0][:n], np.arange(n) % 5, kernel="rbf") for n in (10, 30))
    assert order(few_pairs)[:2] == [NEWTON, "interior_point on the primal form"]
    assert order(many_pairs)[:2] == ["interior_point on the primal form", NEWTON]


def test_a_registered_backend_comes_after_our_own_and_before_cvxpy():
    for problem in (CSVM(*FEW), csvm()):
        with qpsvm.register_backend("mine", Fake, auto=True):
            names = [choice.backend for choice in rank_backends(problem)]
            assert names[-2:] == ["mine", "cvxpy"]
        with qpsvm.register_backend("mine", Fake):
            assert "mine" not in [choice.backend for choice in rank_backends(problem)]


def test_what_takes_no_such_machine_is_for_study_or_absent_has_no_turn(monkeypatch):
    monkeypatch.setattr(
        Fake, "abilities", Abilities("a ν-SVM", dual=(MachineSet(ALL_TRAITS - {"level 1"}),), missing_form_reason=".")
    )
    with qpsvm.register_backend("mine", Fake, auto=True):
        assert "mine" not in order(csvm())
        assert "mine" in order(NuSVM(X, Y, 0.3, RBF(0.2)))
        monkeypatch.setattr(Fake, "abilities", replace(Fake.abilities, is_educational=True))
        assert "mine" not in order(NuSVM(X, Y, 0.3, RBF(0.2)))
    monkeypatch.setattr(type(backends.get("cvxopt")), "version", lambda _: None)
    assert not [name for name in order(csvm()) if name.startswith("cvxopt")]


# --- handing over -----------------------------------------------------------------------------------------------------


def test_a_follower_whose_set_up_is_too_long_is_left_out_and_said(fakes, monkeypatch):
    quick, fake = fakes
    fake.setup, fake.sleeps = 3600.0, 60.0
    in_order(monkeypatch, "quick", "fake")
    result = solve(csvm(), check=False)
    assert quick.compiled == 1
    assert not fake.compiled
    assert (result.backend, result.status) == ("quick", "inaccurate")
    assert "Not tried: fake (about 60 minutes to set it up); name one" in result.message.replace(
        " on the dual form", ""
    )
    only_one = solve(csvm(), "quick", check=False)
    assert "Not tried" not in only_one.message
    in_order(monkeypatch, "quick", "fake", "cvxpy")
    result = solve(csvm(), check=False)
    assert not fake.compiled
    assert (result.backend, result.status) == ("cvxpy", "optimal")


def test_a_follower_that_takes_too_long_is_stopped_and_nothing_follows(fakes, monkeypatch):
    quick, fake = fakes
    monkeypatch.setattr(request, "MIN_COUNTED_SECONDS", 0.05)
    allowed = request.FOLLOW_UP_FACTOR * 0.05
    fake.sleeps = 60.0
    in_order(monkeypatch, "quick", "fake", "cvxpy")
    began = time.monotonic()
    result = solve(csvm(), check=False)
    took = time.monotonic() - began
    (first,), (limit,) = quick.given, fake.given
    assert first is None
    assert limit is not None
    assert 0 < limit <= max(allowed, request.FOLLOW_UP_FACTOR * took)
    assert took < fake.sleeps, "it was stopped"
    assert result.status == "inaccurate", "nobody asked for a time limit"
    assert "cvxpy" in result.message


# --- time and memory --------------------------------------------------------------------------------------------------


def test_an_engine_whose_set_up_is_too_long_is_not_started(fakes):
    _, fake = fakes
    fake.setup = 100.0
    result = solve(csvm(), "fake", time_limit=50.0, check=False)
    assert not fake.compiled
    assert result.status == "time_limit"
    assert "fake on the dual form was not started" in result.message
    assert solve(csvm(), "fake", time_limit=1e4, check=False).solver.status == "found"


def test_an_engine_of_huge_memory_is_refused_before_it_starts(fakes, monkeypatch):
    quick, fake = fakes
    quick.memory = Memory(MANY, MANY)
    problem = csvm()
    with pytest.raises(qpsvm.TooLargeError, match=r"quick needs about .* GiB of memory, and"):
        solve(problem, "quick")
    assert problem.space.gram.nbytes == 0
    in_order(monkeypatch, "quick", "fake")
    said = solve(csvm(), check=False).message
    assert "Not tried: quick on the dual form (memory)." in said
    assert "to wait for it" not in said
    assert fake.compiled == 1
    in_order(monkeypatch, "quick")
    with pytest.raises(qpsvm.TooLargeError, match="quick needs"):
        solve(problem)
    assert not quick.compiled


def test_memory_is_asked_for_once(monkeypatch):
    asked: list[str] = []

    def record_check(problem: Any, backend: Any, form: Any, needed: Any) -> None:
        asked.append(backend.name)
        check_available_memory(problem, backend, form, needed)

    monkeypatch.setattr(attempt, "check_available_memory", record_check)
    solve(csvm())
    solve(csvm(), "cvxopt")
    assert asked == ["kernel_newton", "cvxopt"]


def test_what_an_import_maps_counts_where_address_space_is_limited(fakes, monkeypatch):
    quick, _ = fakes
    size = measure_size(csvm())
    quick.lazy_import = LazyImport("no_such_package", HUGE, 2.0)
    needed = Backend.estimate_requirements(quick, size, "dual")
    assert needed.seconds >= 2.0
    assert (needed.memory_bytes, needed.mapped_bytes) == (0.0, HUGE)
    check_available_memory(csvm(), quick, "dual", needed)
    monkeypatch.setattr(attempt, "find_free_address_space", lambda: 1e9)
    with pytest.raises(qpsvm.TooLargeError):
        check_available_memory(csvm(), quick, "dual", needed)
    quick.lazy_import = LazyImport("numpy", HUGE)
    check_available_memory(csvm(), quick, "dual", Backend.estimate_requirements(quick, size, "dual"))


@for_each("kernel, n", [("linear", 5000), ("rbf", 100)])
def test_every_backend_says_what_it_needs(kernel, n):
    size = measure_size(CSVM(*samples(n, 10), kernel=kernel))
    for backend in backends.iter_backends():
        for form in backend.abilities.forms:
            needed = backend.estimate_requirements(size, form)
            assert 0 <= needed.seconds < np.inf
            assert 0 <= needed.memory_bytes < np.inf


def test_sparse_rows_of_many_columns_are_not_refused_for_a_matrix_of_the_columns():
    """10⁵ columns squared are 75 GiB, and nobody makes them: Newton steps there are on the free rows."""
    text = Size(10**6, 10**5, 4 * 10**7, is_linear=True)
    rows = 8.0 * (text.entries + text.rows)
    assert backends.get(AUGMENTED).estimate_requirements(text, "dual").memory_bytes < 2.0 * rows
    narrow = text._replace(features=1000)
    assert backends.get(AUGMENTED).estimate_requirements(narrow, "dual").memory_bytes >= 8.0 * narrow.features**2
