"""What a backend says that it can do is what it does: every machine, kernel and form, limits, starts, and words."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from each import for_each
from matrix import FORMS, SAMPLES

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge
from qpsvm.backends import REGISTRY, get, iter_backends
from qpsvm.backends.abilities import ALL_MACHINES, Abilities, MachineSet
from qpsvm.backends.traits import ALL_TRAITS, TRAIT_DESCRIPTIONS, find_dual_traits, find_problem_traits
from qpsvm.program.svm_dual import DualGroup, SVMDual
from qpsvm.space.operators import Diagonal

X, Y = SAMPLES["overlapping"].X, SAMPLES["overlapping"].y
N = len(Y)
WEIGHTS = SAMPLES["overlapping"].weights
KERNELS = {"linear": qpsvm.Linear(), "rbf": RBF(0.2)}
MACHINES = {
    "hard": lambda kernel: HardMargin(SAMPLES["separable"].X, SAMPLES["separable"].y, kernel),
    "c": lambda kernel: CSVM(X, Y, 1.0, kernel),
    "c, weights": lambda kernel: CSVM(X, Y, 1.0, kernel, sample_weight=WEIGHTS),
    "nu": lambda kernel: NuSVM(X, Y, 0.4, kernel),
    "nu, weights": lambda kernel: NuSVM(X, Y, 0.4, kernel, sample_weight=WEIGHTS),
    "hinge": lambda kernel: PrimalHinge(X, Y, 0.1, kernel),
    "hinge, penalised": lambda kernel: PrimalHinge(X, Y, 0.1, kernel, intercept="penalised"),
    "hinge, none": lambda kernel: PrimalHinge(X, Y, 0.1, kernel, intercept=None),
}
TRAITS = {
    "hard": {"level 1", "unbounded", "balance", "unpenalised"},
    "c": {"level 1", "bounded", "balance", "unpenalised"},
    "c, weights": {"level 1", "bounded", "balance", "unpenalised"},
    "nu": {"level 0", "bounded", "balance and total", "unpenalised"},
    "nu, weights": {"level 0", "bounded", "balance and total", "unpenalised"},
    "hinge": {"level 1", "bounded", "balance", "unpenalised"},
    "hinge, penalised": {"level 1", "bounded", "no rows", "penalised"},
    "hinge, none": {"level 1", "bounded", "no rows", "unpenalised"},
}


# --- what they say is what they do ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
@for_each("machine, kernel", itertools.product(MACHINES, KERNELS))
def test_a_backend_takes_what_it_says_and_nothing_else(machine, kernel, name):
    """By compiling: `compile` looks at the QP's numbers, and knows nothing of what is said."""
    backend = get(name)
    problem = MACHINES[machine](KERNELS[kernel])
    for form in FORMS:
        said = backend.abilities.accepts(find_problem_traits(problem), len(problem._active_target), form)
        try:
            backend.compile(problem.solver_qp(form).qp)
        except qpsvm.UnsupportedError:
            assert not said, (form, "it says that it takes this")
        else:
            assert said, (form, "it takes this and does not say so")


@for_each("name", REGISTRY)
def test_what_is_refused_is_said_before_anything_is_built_with_one_that_can(name):
    backend = get(name)
    for kernel in KERNELS.values():
        for make in MACHINES.values():
            for form in FORMS:
                problem = make(kernel)
                why = backend.explain_refusal(find_problem_traits(problem), len(problem._active_target), form)
                if why is None:
                    continue
                with pytest.raises(qpsvm.UnsupportedError, match=name) as caught:
                    qpsvm.solve(problem, name, form)
                assert str(caught.value) == why
                assert problem.space.is_linear or not problem.space.gram.nbytes, "the Gram matrix was built first"
                able = [word.strip(",.;") for word in why.split("use ")[1].split() if word.strip(",.;") in REGISTRY]
                assert able
                assert all(
                    get(each).abilities.accepts(find_problem_traits(problem), len(problem._active_target), form)
                    for each in able
                )


def test_more_rows_than_a_backend_takes_are_said():
    rng = np.random.default_rng(0)
    problem = CSVM(rng.normal(size=(8001, 2)), np.arange(8001) % 2)
    with pytest.raises(qpsvm.UnsupportedError, match="kernel_newton cannot take more than 8000 rows on the dual form"):
        qpsvm.solve(problem, "kernel_newton")


@for_each("name", [name for name in REGISTRY if name != "sequential_dual"])  # it takes no QP
def test_a_start_is_used_or_refused_and_never_ignored(name):
    """CVXPY's check looked at its own settings alone, and a start was lost."""
    problem = CSVM(X, Y, 1.0, RBF(0.2) if name == "kernel_newton" else "linear")
    if name == "liblinear":
        problem = PrimalHinge(X, Y, intercept="penalised")
    form = get(name).abilities.forms[0]
    compiled = qpsvm.compile(problem.solver_qp(form).qp, name)
    start = np.zeros(compiled.qp.n)
    if get(name).abilities.supports_warm_start:
        assert compiled.solve(start=start, max_iter=5).x is not None
    else:
        with pytest.raises(qpsvm.UnsupportedError, match=f"{name} cannot start at a given point; .*osqp"):
            compiled.solve(start=start)


@for_each("asked", [{"time_limit": 9.0}, {"max_iter": 99}, {"start": [0.0, 0.0]}])
@for_each("name", REGISTRY)
def test_what_is_refused_of_a_qp_is_said_with_backends_that_take_it(name, asked):
    qp = qpsvm.QP(P=np.eye(2), q=[-3.0, 0.0], G=[[1.0, 1.0]], h=[2.0])  # no machine's dual
    backend = get(name)
    if not backend.abilities.accepts_any_qp or all(backend.abilities.supports(wish) for wish in asked):
        return
    solvers = [lambda each: qpsvm.compile(qp, each).solve(**asked)]
    if "start" not in asked:  # `solve` of a QP has no use for one
        solvers.append(lambda each: qpsvm.solve(qp, each, **asked))
    for solve in solvers:
        with pytest.raises(qpsvm.UnsupportedError) as caught:
            solve(name)
        named = str(caught.value).rpartition(": ")[2].split(", ")
        assert "osqp" in named
        for each in named:
            assert solve(each) is not None


@for_each("name", REGISTRY)
def test_abilities_are_complete(name):
    backend = get(name)
    can = get(name).abilities
    assert backend.name == name
    assert can.forms
    assert (len(can.forms) < 2) == bool(can.missing_form_reason)
    assert can.linear_form in can.forms
    assert can.kernel_form in can.forms or not any("kernel" in able.traits for able in (*can.dual, *can.primal))
    assert can.describe() in repr(backend)
    assert not can.accepts_any_qp or all(can.accepts_every_machine(form) for form in FORMS)


def test_every_trait_has_words():
    assert set(TRAIT_DESCRIPTIONS) == set(ALL_TRAITS)


# --- traits -----------------------------------------------------------------------------------------------------------


@for_each("machine, kernel", itertools.product(MACHINES, KERNELS))
def test_traits_of_the_machines(machine, kernel):
    problem = MACHINES[machine](KERNELS[kernel])
    word = "linear" if kernel == "linear" else "kernel"
    assert find_problem_traits(problem) == TRAITS[machine] | {word, "flat", "one α per sample", "one function"}
    assert problem.space.is_linear or not problem.space.gram.nbytes, "the Gram matrix was built for it"


SIGN = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])


def group(column: Any, total: float = 0.0, ridge: float = 0.0) -> DualGroup:
    return DualGroup("row", "mu", np.asarray(column, dtype=float), total, ridge)


def dual(**changed: Any) -> SVMDual:
    """A C-SVM's dual over six samples, with something changed."""
    plain = SVMDual(
        gram=Diagonal(np.ones(6)), sign=SIGN, level=np.ones(6), upper=np.full(6, 2.0), curvature=np.zeros(6),
        groups=(group(SIGN),),
    )  # fmt: skip
    return replace(plain, **changed)


ROOT = np.arange(6.0)
TOTAL = group(np.ones(6), 0.3)
CHANGED = {
    "nothing": (dual(), set()),
    "squared hinge": (dual(upper=np.full(6, np.inf), curvature=np.full(6, 0.5)), {"unbounded", "curved"}),
    "Huber": (dual(curvature=np.full(6, 0.5)), {"curved"}),
    "bent in some rows": (dual(curvature=ROOT), {"partly curved"}),
    "a row of the user's": (dual(upper=np.array([1.0, 1, 1, 1, 1, np.inf])), {"partly bounded"}),
    "regression": (dual(level=ROOT, rows=np.array([0, 1, 2, 0, 1, 2])), {"other levels", "several α per sample"}),
    "nu": (dual(level=np.zeros(6), groups=(group(SIGN), TOTAL)), {"level 0", "balance and total"}),
    "nu, scaled": (dual(groups=(group(-2 * np.ones(6), -1.0), group(3 * SIGN))), {"balance and total"}),
    "unequal sums": (dual(groups=(group(SIGN, 0.1), TOTAL)), {"other rows"}),
    "the same row twice": (dual(groups=(TOTAL, TOTAL)), {"other rows"}),
    "a row of its own": (dual(groups=(group(SIGN), group(ROOT))), {"other rows"}),
    "three rows": (dual(groups=(group(SIGN), TOTAL, group(ROOT))), {"other rows"}),
    "one class": (dual(sign=np.ones(6), groups=(group(np.ones(6), 1.0),)), {"sum"}),
    "one class, shifted": (dual(level=ROOT, groups=(group(2 * SIGN, 0.3),)), {"other levels", "sum"}),
    "a row alone": (dual(groups=(group(1 + ROOT, 1.0),)), {"one row"}),
    "no intercept": (dual(groups=()), {"no rows"}),
    "a ridge": (dual(groups=(group(SIGN, ridge=1.0),)), {"no rows", "penalised"}),
    "a ridge on one of two": (dual(groups=(group(SIGN), group(ROOT, ridge=1.0))), {"penalised"}),
}
PLAIN = {"level 1", "bounded", "flat", "balance", "unpenalised", "one α per sample", "one function"}


@for_each("change", CHANGED)
def test_traits_of_duals_that_no_machine_has_yet(change):
    svm, other = CHANGED[change]
    for linear, word in ((True, "linear"), (False, "kernel")):
        found = find_dual_traits(svm, linear)
        assert found - PLAIN == other | {word}
        assert len(found) == len(PLAIN) + 1, "one of each kind"


@for_each("change", CHANGED)
def test_a_new_machine_is_taken_by_those_that_take_anything_and_no_one_has_to_name_it(change):
    svm, other = CHANGED[change]
    traits = find_dual_traits(svm, False)
    able = {backend.name for backend in iter_backends() if backend.abilities.accepts(traits, 6, "dual")}
    assert able >= {"cvxopt", "osqp", "cvxpy", "clarabel", "interior_point", "slsqp"}
    narrow = {"augmented_lagrangian", "kernel_newton", "libsvm", "liblinear"}
    if other & {"partly curved", "partly bounded", "several α per sample", "one row", "other rows"}:
        assert not able & narrow
    if other & {"curved", "sum", "other levels"}:
        assert not able & (narrow - {"kernel_newton", "libsvm"})
    why = get("kernel_newton").explain_refusal(traits, 6, "dual")
    assert (why is None) == ("kernel_newton" in able)
    assert why is None or "cvxopt" in why


# --- the data itself --------------------------------------------------------------------------------------------------


def test_abilities_by_hand():
    narrow = MachineSet(ALL_TRAITS - {"curved", "linear"}), MachineSet(ALL_TRAITS - {"curved", "kernel"}, 10)
    can = Abilities("a dual", dual=narrow, missing_form_reason="it is narrow")
    csvm, other = find_dual_traits(dual(), False), find_dual_traits(dual(), True)
    curved = find_dual_traits(dual(curvature=np.ones(6)), False)
    assert can.forms == ("dual",)
    assert can.accepts(csvm, 1000, "dual")
    assert can.accepts(other, 10, "dual")
    assert not can.accepts(other, 11, "dual")
    assert not can.accepts(csvm, 10, "primal")
    assert not can.accepts_every_machine("dual")
    assert can.explain_rejection(other, 11, "dual") == "more than 10 rows"
    assert can.explain_rejection(curved, 5, "dual") == TRAIT_DESCRIPTIONS["curved"]
    assert can.describe() == "a dual"
    assert (
        replace(can, enforced_limits=frozenset(), is_educational=True).describe()
        == "a dual; no max_iter; no time_limit; for study"
    )
    assert replace(can, dual=ALL_MACHINES).accepts_every_machine("dual")
    assert can.supports("time_limit")
    assert not can.supports("start")
