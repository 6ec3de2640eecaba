"""A solver from outside is a backend like any other, and nothing that it says or does is trusted."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm import backends
from qpsvm.backends import registry
from qpsvm.backends.abilities import ALL_MACHINES, Abilities
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.program.status import Status
from qpsvm.solve.backend_order import RankedBackend, rank_backends

RNG = np.random.default_rng(4)
CANDIDATES = sys.modules["qpsvm.solve.machine_candidates"]
X = RNG.normal(size=(24, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=24) > 0, 1, -1)
MACHINES = {
    "c": lambda: qpsvm.CSVM(X, Y, 2.0, "rbf"),
    "nu": lambda: qpsvm.NuSVM(X, Y, 0.5),
    "tube": lambda: qpsvm.EpsilonSVR(X, X[:, 1]),
    "rows": lambda: qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[1.0, 0.0]], [0.5])),
}


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    for name in tuple(registry.EXTERNAL_BACKENDS):
        qpsvm.unregister_backend(name)


def honest(P, q, G, h, A, b, lb, ub, *, tol=1e-6):
    """Somebody's solver, which happens to be CVXOPT."""
    solution = qpsvm.compile(qpsvm.QP(P, q, G=G, h=h, A=A, b=b, lb=lb, ub=ub), "cvxopt").solve(tol=tol / 100)
    return solution.x, solution.y, solution.z


# --- a function -------------------------------------------------------------------------------------------------------


@for_each("machine, sparse", zip(MACHINES, (False, True, False, True), strict=True))
def test_a_function_solves_every_machine_in_both_forms_and_is_certified(machine, sparse):
    problem = MACHINES[machine]()
    with qpsvm.register_backend("mine", honest, sparse=sparse) as backend:
        assert backend is backends.get("mine")
        assert "mine" in backends.names()
        for form in ("dual", "primal"):
            result = qpsvm.solve(problem, "mine", form, polish=False)
            assert (result.status, result.backend, result.solver.name, result.form) == ("optimal", "mine", "mine", form)
            assert machine == "rows" or problem.certify(result.alpha).gap <= 1e-5  # its α is not all of the dual's
        copied = pickle.loads(pickle.dumps(qpsvm.compile(problem.qp(), "mine")))
        assert copied.solve().x == pytest.approx(qpsvm.compile(problem.qp(), "mine").solve().x)
    with pytest.raises(qpsvm.UnknownOptionError, match="unknown backend 'mine'"):
        qpsvm.solve(problem, "mine")


def test_a_joint_machine_of_several_classes_takes_it_too():
    problem = qpsvm.CrammerSinger(X[:12], np.arange(12) % 3)
    with qpsvm.register_backend("mine", honest):
        result = qpsvm.solve(problem, "mine")
        assert (result.status, result.backend) == ("optimal", "mine")


def test_it_is_given_what_it_names_and_refused_what_it_does_not():
    given: dict[str, Any] = {}

    def mine(P, q, G, h, A, b, lb, ub, tol=None, *, start=None, rho=1.0, **others):
        given.update(tol=tol, start=start, rho=rho, others=others)
        return honest(P, q, G, h, A, b, lb, ub)

    problem = MACHINES["c"]()
    with qpsvm.register_backend("mine", mine) as backend:
        assert backend.options() == {"rho"}
        qpsvm.solve(problem, "mine", tol=1e-4, rho=3.0, start=np.full(24, 0.1))
        assert (given["tol"], given["rho"], given["others"]) == (1e-4, 3.0, {})
        assert given["start"].shape == (24,)
        with pytest.raises(qpsvm.UnknownOptionError, match="mine has no option 'rhoo'; did you mean 'rho'"):
            qpsvm.solve(problem, "mine", rhoo=3.0)
        with pytest.raises(qpsvm.UnsupportedError, match=r"mine cannot enforce time_limit; backends that can: .*osqp"):
            qpsvm.solve(problem, "mine", time_limit=1.0)


def spoiler(P, q, G, h, A, b, lb, ub):  # noqa: ARG001
    """It writes into whatever it was given: with a Gram matrix of zeros, α = C would be an optimum."""
    for part in (P, q, lb, ub):
        part[:] = 0.0
    return np.ones(len(q)), [0.0], []


def liar(P, q, G, h, A, b, lb, ub):  # noqa: ARG001
    """Feasible, and far from the optimum."""
    return 0.5 * (lb + ub), [1e9], []


@for_each("function", [spoiler, liar, lambda *parts: -1e200 * np.ones(len(parts[1]))])
def test_a_wrong_point_is_worth_what_the_certificate_says(function):
    problem, judge = MACHINES["c"](), MACHINES["c"]()
    with qpsvm.register_backend("mine", function):
        result = qpsvm.solve(problem, "mine", polish=False, check=False)
        assert result.status == "inaccurate"
        assert result.gap > 1e-3
        assert judge.certify(result.alpha).gap == pytest.approx(result.gap, rel=1e-6)
        assert judge.qp().P.dense() == pytest.approx(problem.qp().P.dense())
        with pytest.warns(qpsvm.InaccurateWarning):
            qpsvm.solve(problem, "mine", polish=False)
        polished = qpsvm.solve(problem, "mine", check=False)  # what the library makes of it is its own, and judged too
        assert (polished.status == "optimal") == (judge.certify(polished.alpha).gap <= 1e-6)


@for_each("answer, said", [
    (None, "returned no point"), ((None, None, None), "returned no point"), (np.r_[np.zeros(23), np.inf], "not finite"),
    ((np.zeros(24), [np.nan], None), "not finite"),
])  # fmt: skip
def test_no_number_is_no_point(answer, said):
    with qpsvm.register_backend("mine", lambda *_: answer):
        result = qpsvm.solve(MACHINES["c"](), "mine", polish=False, check=False)
        assert result.status == "numerical_error"
        assert said in result.solver.status
        assert not result.alpha.any()


@for_each("answer, said", [
    (np.zeros(23), r"its x has shape \(23,\) where \(24,\) is needed"), (np.zeros((4, 6)), r"shape \(4, 6\)"),
    ("optimal", "x, or .x, y, z., and returned str"), ({"x": 1}, "returned dict"),
    ((np.zeros(24), None), "returned tuple"), (np.zeros(24) + 0j, "holds no numbers"), ([[1.0], [1.0, 2.0]], "x is no"),
    (np.full(24, None), "holds no numbers"), ((np.zeros(24), np.zeros(3), None), r"its y has shape \(3,\)"),
    ((np.zeros(24), None, [1.0]), r"its z has shape \(1,\) where \(0,\)"), (object(), "holds no numbers"),
])  # fmt: skip
def test_another_shape_is_an_error_that_names_the_protocol(answer, said):
    with qpsvm.register_backend("mine", lambda *_: answer):
        for check in (True, False):
            with pytest.raises(qpsvm.SolverError, match=f"(?s)'mine' does not keep the protocol of qpsvm.reg.*{said}"):
                qpsvm.solve(MACHINES["c"](), "mine", check=check)


def test_a_column_is_a_vector_and_a_primal_wants_multipliers():
    problem = MACHINES["c"]()
    with qpsvm.register_backend("mine", lambda *parts: honest(*parts)[0][:, None]):
        assert qpsvm.solve(problem, "mine").status == "optimal"
        with pytest.raises(qpsvm.SolverError, match=r"returned no z, and this QP has \d+ rows Gx <= h"):
            qpsvm.solve(problem, "mine", "primal")


@for_each("error", [ValueError("not\ntoday"), ZeroDivisionError()])
def test_what_it_raises_is_named_and_kept_as_the_cause(error):
    def mine(*parts):  # noqa: ARG001
        raise error

    with (
        qpsvm.register_backend("mine", mine),
        pytest.raises(qpsvm.SolverError, match=f"'mine' failed while it solved: {type(error).__name__}") as caught,
    ):
        qpsvm.solve(MACHINES["c"](), "mine", check=False)
    assert caught.value.__cause__ is error


@for_each("error, kind", [
    (qpsvm.UnsupportedError("not this one"), qpsvm.UnsupportedError), (MemoryError(), qpsvm.TooLargeError),
    (KeyboardInterrupt(), KeyboardInterrupt),
])  # fmt: skip
def test_what_says_enough_already_passes(error, kind):
    def mine(*parts):  # noqa: ARG001
        raise error

    with qpsvm.register_backend("mine", mine), pytest.raises(kind):
        qpsvm.solve(MACHINES["c"](), "mine")


# --- a subclass of Backend --------------------------------------------------------------------------------------------


class Own(Backend):
    """A backend as CONTRIBUTING has it, that does as it is told."""

    name = "own"
    abilities = Abilities(summary="any QP", dual=ALL_MACHINES, primal=ALL_MACHINES, accepts_any_qp=True)
    changes: dict[str, Any] = {}  # noqa: RUF012

    def options(self):
        return frozenset()

    def compile(self, qp):
        return OwnCompiled(self, qp, None)


class OwnCompiled(Compiled):
    def _run(self, limits, options):  # noqa: ARG002
        found = qpsvm.compile(self.qp, "cvxopt").solve()
        changes = {part: change(found) if callable(change) else change for part, change in self.backend.changes.items()}
        return changes.get("all", found.replace(**changes))


def test_a_subclass_is_one_too():
    for given in (Own, Own()):
        with qpsvm.register_backend("mine", given) as backend:
            assert (backend.name, type(backend), backend.version()) == ("mine", Own, "?")
            result = qpsvm.solve(MACHINES["c"](), "mine")
            assert (result.status, result.backend) == ("optimal", "mine")
            assert "mine" in qpsvm.backends.get("cvxopt").list_alternatives("time_limit")
    assert Own.name == "own"


def test_an_answer_that_is_none_is_refused(monkeypatch):
    monkeypatch.setattr(Own, "changes", {"all": None})
    with qpsvm.register_backend("mine", Own), pytest.raises(qpsvm.SolverError, match="has to return a QPSolution, and"):
        qpsvm.solve(qpsvm.CSVM(X, Y), "mine", check=False)


@for_each("changes, status", [
    ({"x": lambda found: 0.0 * found.x, "reported": Status.OPTIMAL}, "inaccurate"),
    ({"x": None, "reported": Status.OPTIMAL}, "inaccurate"),
    ({"x": lambda found: 0.0 * found.x, "reported": Status.INFEASIBLE}, "numerical_error"),
    ({"y": np.array([np.nan])}, "numerical_error"), ({"v": np.array([1e8, -1e8]), "x": np.zeros(24)}, "inaccurate"),
])  # fmt: skip
def test_its_claims_are_not_believed(changes, status, monkeypatch):
    monkeypatch.setattr(Own, "changes", changes)
    problem = qpsvm.CSVM(X, Y)
    with qpsvm.register_backend("mine", Own):
        result = qpsvm.solve(problem, "mine", polish=False, check=False)
    assert result.status == status
    assert result.gap > 1e-2


# --- names and protocol -----------------------------------------------------------------------------------------------


class Half(Backend):
    """It lacks two methods."""

    def options(self):
        return frozenset()


class Broken(Own):
    def __init__(self, peers):  # noqa: ARG002
        raise OSError("no licence")


def solve_with_few_arguments(P, q):  # noqa: ARG001
    return q


def solve_with_many_arguments(P, q, G, h, A, b, lb, ub, more):  # noqa: ARG001
    return q


@for_each("solver, error, said", [
    (Half, qpsvm.SolverError, "'Half' failed while it was made: TypeError: Can't instantiate abstract class Half"),
    (Broken, qpsvm.SolverError, "'Broken' failed while it was made: OSError: no licence"),
    (backends.get("cvxopt"), qpsvm.ParameterTypeError, "registered already"),
    (dict, qpsvm.ParameterTypeError, "a solver is a function of .P, q, G, h, A, b, lb, ub. or"),
    (solve_with_few_arguments, qpsvm.ParameterTypeError, "cannot be: too many positional arguments"),
    (solve_with_many_arguments, qpsvm.ParameterTypeError, "missing a required argument: 'more'"),
])  # fmt: skip
def test_what_does_not_keep_the_protocol_is_refused_by_what_it_lacks(solver, error, said):
    before = backends.names()
    with pytest.raises(error, match=said):
        qpsvm.register_backend("mine", solver)
    assert backends.names() == before


def test_names_are_new_and_what_is_ours_stays():
    for name in ("auto", "cvxopt"):
        with pytest.raises(qpsvm.ParameterError, match=f"the name '{name}' is taken"):
            qpsvm.register_backend(name, honest)
    for name in ("", "my solver", "1st", 3):
        with pytest.raises(qpsvm.ParameterError, match=r"name (for|of) a backend"):
            qpsvm.register_backend(name, honest)
    with pytest.raises(qpsvm.ParameterTypeError, match="sparse=True is for functions"):
        qpsvm.register_backend("mine", Own, sparse=True)
    with pytest.raises(qpsvm.UnknownOptionError, match="registered as 'cvxopt'; those of this library stay; none is"):
        qpsvm.unregister_backend("cvxopt")
    with pytest.raises(qpsvm.UnknownOptionError, match="no backend is registered as 'mine'; none is"):
        qpsvm.unregister_backend("mine")
    registered = qpsvm.register_backend("mine", honest)
    assert (repr(registered), registered.backend.name) == ("<registered: mine>", "mine")
    with pytest.raises(qpsvm.UnknownOptionError, match="did you mean 'mine'"):
        qpsvm.unregister_backend("mina")
    qpsvm.unregister_backend("mine")
    other = qpsvm.register_backend("mine", honest).backend
    with registered:  # which is gone: it takes no other away
        pass
    assert backends.get("mine") is other


@pytest.mark.usefixtures("patient_auto")
def test_auto_goes_on_where_it_breaks(monkeypatch):
    problem = MACHINES["c"]()
    with qpsvm.register_backend("mine", Own, auto=True):
        monkeypatch.setattr(
            CANDIDATES, "rank_backends", lambda _: [RankedBackend("mine"), RankedBackend("kernel_newton")]
        )
        assert qpsvm.solve(problem).backend == "mine"
        monkeypatch.setattr(Own, "changes", {"all": "nonsense"})
        result = qpsvm.solve(problem)
        assert (result.status, result.backend != "mine") == ("optimal", True)
        monkeypatch.undo()
    assert "mine" not in [choice.backend for choice in rank_backends(problem)]


def test_threads_register_beside_each_other():
    problem = MACHINES["nu"]()
    failed = []

    def work(k: int) -> None:
        for _ in range(3):
            with qpsvm.register_backend(f"solver_{k}", copy.copy(honest)):
                result = qpsvm.solve(problem, f"solver_{k}")
                if result.backend != f"solver_{k}" or result.status != "optimal":
                    failed.append(result)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert backends.names() == tuple(backends.REGISTRY)


def test_a_package_offers_one_that_is_loaded_when_it_is_asked_for(monkeypatch):
    offers = {"theirs": "honest", "absent": "nothing", "half": "Half", "cvxopt": "Own"}
    points = {name: EntryPoint(name, f"{__name__}:{what}", registry.ENTRY_POINT_GROUP) for name, what in offers.items()}
    monkeypatch.setattr(registry, "find_entry_points", lambda: points)
    assert backends.names() == (*backends.REGISTRY, "theirs", "absent", "half")
    assert "theirs" not in registry.EXTERNAL_BACKENDS
    result = qpsvm.solve(MACHINES["c"](), "theirs")
    assert (result.status, result.backend) == ("optimal", "theirs")
    assert backends.get("theirs") is backends.get("theirs")
    for name, why in (("absent", "nothing"), ("half", "abstract")):
        with pytest.raises(qpsvm.UnsupportedError, match=f"offers a backend '{name}' that cannot be used: .*{why}"):
            backends.get(name)
    with pytest.raises(qpsvm.ParameterError, match="taken"):
        qpsvm.register_backend("absent", honest)
    assert qpsvm.solve(MACHINES["c"](), "cvxopt").solver.name == "cvxopt"
