"""Everything pickles, copies, and goes through other processes; and everything prints as one readable line."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import multiprocessing
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.backends import REGISTRY, get
from qpsvm.base import errors
from qpsvm.base.renamed_modules import RENAMED_MODULES, SILENT_NAMES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 3))
Y = np.where(np.arange(16) < 7, "b", "a")  # uneven, so that not every ν is feasible
X[Y == "b"] += 0.8
APART = X + 3.0 * np.where(Y == "b", 1.0, -1.0)[:, None]
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "old pickle": lambda thing: pickle.loads(pickle.dumps(thing, 2)),
    "deep copy": copy.deepcopy,
    "copy": copy.copy,
}


def laplacian(A: np.ndarray, B: np.ndarray, width: float = 1.0) -> np.ndarray:
    """A kernel of the user's own."""
    return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2) / width)


class Laplacian:
    """The same as an object that can be called."""

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return laplacian(A, B)


def problems() -> dict[str, qpsvm.Problem]:
    return {
        "c": qpsvm.CSVM(X, Y),
        "sparse": qpsvm.CSVM(sp.csr_array(X), Y, sample_weight=np.arange(16.0)),
        "rbf": qpsvm.CSVM(X, Y, kernel="rbf"),
        "function": qpsvm.CSVM(X, Y, kernel=laplacian),
        "partial": qpsvm.CSVM(X, Y, kernel=functools.partial(laplacian, width=2.0)),
        "object": qpsvm.CSVM(X, Y, kernel=Laplacian()),
        "precomputed": qpsvm.CSVM(X @ X.T, Y, kernel="precomputed"),
        "nu": qpsvm.NuSVM(X, Y, 0.3, qpsvm.Polynomial(2, coef0=1)),
        "hinge": qpsvm.PrimalHinge(X, Y, 0.1, intercept="penalised"),
        "hard": qpsvm.HardMargin(APART, Y),
    }


def test_the_modules_that_old_pickles_name_are_found():
    for old, now in RENAMED_MODULES.items():
        with pytest.warns(DeprecationWarning, match=now) if not old.startswith(SILENT_NAMES) else nullcontext():
            sys.modules.pop(old, None)
            assert importlib.import_module(old) is importlib.import_module(now)
    assert qpsvm.AllInOneModel.__name__ in vars(importlib.import_module("qpsvm.result.decision_functions"))


# --- pickles ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", problems())
def test_problems_results_models_and_certificates(name):
    problem = problems()[name]
    result = qpsvm.solve(problem, tol=1e-9)
    certificate = problem.certify(result.alpha)
    found = result.decision_function(problem.X)
    for how, copied in COPIES.items():
        again = qpsvm.solve(copied(problem), tol=1e-9)
        assert again.dual == pytest.approx(result.dual, rel=1e-8), how
        kept = copied(result)
        assert kept.summary() == result.summary(), how
        np.testing.assert_array_equal(kept.alpha, result.alpha)
        for model in (kept.model, copied(result.model)):
            np.testing.assert_array_equal(model.decision_function(problem.X), found)
        np.testing.assert_array_equal(copied(certificate).alpha, certificate.alpha)
        derivation = qpsvm.derive(problem, result)
        assert repr(copied(derivation)) == repr(derivation), how
        assert [*copied(derivation).residuals()] == [*derivation.residuals()]
        assert qpsvm.solve(problem, start=kept).dual == pytest.approx(result.dual, rel=1e-6), how


@pytest.mark.slow
@pytest.mark.parametrize("solved", [False, True], ids=["fresh", "solved"])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("backend", REGISTRY)
def test_what_a_backend_compiled_is_solved_after_pickling(backend, form, solved):
    limits = {"max_iter": 20} if get(backend).abilities.is_educational else {}  # as far as that they have to agree
    for name in ("c", "nu"):
        qp = problems()[name].qp(form)
        try:
            compiled = qpsvm.compile(qp, backend)
        except qpsvm.UnsupportedError:
            continue
        if solved:
            compiled.solve(**limits)
        wanted = qpsvm.compile(qp, backend).solve(**limits)
        for how, copied in COPIES.items():
            answer = copied(compiled).solve(**limits)
            assert answer.reported == wanted.reported, how
            np.testing.assert_allclose(answer.x, wanted.x, rtol=1e-6, atol=1e-6 * np.abs(wanted.x).max())
            assert str(copied(qp)) == str(qp)


def test_the_parts_of_what_a_solver_receives_keep_their_names():
    data = qpsvm.compile(problems()["c"].qp(), "slsqp").data
    for copied in COPIES.values():
        other = copied(data)
        assert other.keys() == data.keys()
        np.testing.assert_array_equal(other.P, data.P)
        assert len([*other]) == len(data.keys())


def make_errors() -> list[errors.QPSVMError]:
    """Make one error of every class."""
    special = {
        errors.InfeasibleNuError: (0.9, 0.5),
        errors.InfeasibleConstraintsError: ({"w ≤ 1": 0.5, "w ≥ 2": 0.5}, -0.5, 0.0),
        errors.IndefiniteKernelError: ("sigmoid", -1.0, "on 1ᵀβ = 0"),
        errors.NonConvexError: (np.array([1.0, -0.5]), -1.0),
        errors.MarginNotFoundError: (np.eye(3)[0], np.eye(3)[1], 1e-9, True),
        errors.UndecidedConstraintsError: ({"w ≤ 1": 0.5, "w ≥ 2": 0.5}, -0.5, 1e-9),
        errors.NotSeparableError: (np.eye(3)[0], np.eye(3)[1], 1e-17),
    }
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.QPSVMError)]
    kinds = [kind for kind in kinds if not kind.__name__.startswith("_")]
    assert len(kinds) > 10
    return [kind(*special.get(kind, ("what is wrong",))) for kind in kinds]


@pytest.mark.parametrize("error", make_errors(), ids=lambda error: type(error).__name__)
def test_errors(error):
    for copied in COPIES.values():
        other = copied(error)
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert [*vars(other)] == [*vars(error)]


def test_the_error_of_a_result_goes_with_it():
    result = qpsvm.solve(qpsvm.HardMargin(np.repeat(X, 2, axis=0), np.tile([0, 1], len(X))), check=False)
    again = COPIES["pickle"](result)
    np.testing.assert_array_equal(again.error.u, result.error.u)


def solve_c(C: float) -> qpsvm.SVMResult:
    """For another process."""
    return qpsvm.solve(qpsvm.CSVM(X, Y, C))


def refuse(nu: float) -> qpsvm.SVMResult:
    """For another process: an error comes back."""
    return qpsvm.solve(qpsvm.NuSVM(X, Y, nu))


@pytest.mark.slow
def test_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for C, result in zip((0.1, 1.0), pool.map(solve_c, (0.1, 1.0)), strict=True):
            assert result.dual == pytest.approx(solve_c(C).dual, rel=1e-9)
        with pytest.raises(qpsvm.InfeasibleNuError, match=r"nu = 1 is infeasible"):
            pool.apply(refuse, (1.0,))


# --- print ------------------------------------------------------------------------------------------------------------

#: A memory address.
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
#: Longest `repr`: a few lines of a terminal.
LONGEST = 700


def make_objects() -> list[Any]:
    found: list[Any] = [*make_errors()]
    for problem in problems().values():
        result = qpsvm.solve(problem)
        derivation = qpsvm.derive(problem, result)
        found += [problem, problem.kernel, problem.space, result, result.model, problem.certify(result.alpha)]
        found += [derivation, *derivation, problem.qp(), problem.qp("primal"), problem.solver_qp(), problem.qp().P]
        found += [qpsvm.dualise(problem.qp("primal"))]
    for backend in REGISTRY:
        found.append(get(backend))
        for form in ("dual", "primal"):
            try:
                compiled = qpsvm.compile(problems()["c"].qp(form), backend)
            except qpsvm.UnsupportedError:
                continue
            limits = {"max_iter": 20} if get(backend).abilities.is_educational else {}
            found += [compiled, compiled.solve(**limits)]
            if backend != "cvxpy":  # which prints in its own way
                found.append(compiled.data)
    return found


@pytest.mark.slow
def test_nothing_prints_as_an_address_or_as_pages():
    for thing in make_objects():
        text = repr(thing)
        assert not ADDRESS.search(text), text
        assert len(text) <= LONGEST, text
        assert "\n" not in text, text
        assert not ADDRESS.search(str(thing)), str(thing)


def test_a_problem_says_what_it_is():
    text = str(problems()["sparse"])
    classes = [f"'{label}' ({np.count_nonzero(label == Y)})" for label in "ab"]
    for part in ("CSVM", "C = 1", "Linear()", "16 × 3", "sparse", *classes):
        assert part in text
    for name, kernel in (("function", "laplacian"), ("partial", "laplacian"), ("object", "Laplacian")):
        assert f"kernel {kernel};" in repr(problems()[name])
    assert "ν = 0.3" in repr(problems()["nu"])
