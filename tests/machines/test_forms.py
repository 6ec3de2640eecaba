"""The QPs that follow from a machine's dual: against those that are written out, and read by guessing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from judge import find_faults
from primal import build_primal
from stated_machines import StatedProblem

import qpsvm
from qpsvm import CSVM, EpsilonSVR, HardMargin, NuSVM, NuSVR, PrimalHinge, QuantileSVR
from qpsvm.backends.recognise import recognise_statement

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 3))
Y = np.where(np.arange(12) % 3 == 0, 1, -1)
WEIGHT = RNG.uniform(0.5, 2.0, 12)
T = X[:, 0] + 0.4 * RNG.normal(size=12) + 3.0
MACHINES = {
    "C": lambda kernel: CSVM(X, Y, 3.0, kernel),
    "C, weights": lambda kernel: CSVM(X, Y, 3.0, kernel, WEIGHT),
    "hard": lambda kernel: HardMargin(X + 9.0 * Y[:, None], Y, kernel),
    "nu": lambda kernel: NuSVM(X, Y, 0.3, kernel),
    "nu, weights": lambda kernel: NuSVM(X, Y, 0.3, kernel, WEIGHT),
    "hinge": lambda kernel: PrimalHinge(X, Y, 0.02, kernel),
    "hinge, weights": lambda kernel: PrimalHinge(X, Y, 0.02, kernel, "free", WEIGHT),
    "hinge, penalised": lambda kernel: PrimalHinge(X, Y, 0.02, kernel, "penalised"),
    "hinge, none": lambda kernel: PrimalHinge(X, Y, 0.02, kernel, None),
}
REGRESSIONS = {
    "tube": lambda kernel: EpsilonSVR(X, T, 2.0, 0.3, kernel=kernel, sample_weight=WEIGHT),
    "tube, penalised": lambda kernel: EpsilonSVR(X, T, 2.0, 0.0, kernel=kernel, intercept="penalised"),
    "squared tube, none": lambda kernel: EpsilonSVR(X, T, 2.0, 0.3, "squared", kernel=kernel, intercept=None),
    "nu tube": lambda kernel: NuSVR(X, T, 2.0, 0.4, kernel=kernel, sample_weight=WEIGHT),
    "quantile": lambda kernel: QuantileSVR(X, T, 2.0, 0.2, kernel=kernel, sample_weight=WEIGHT),
}


def dense(matrix: Any) -> Any:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


@for_each("kernel", ["linear", qpsvm.RBF(0.3)])
@for_each("machine", [*MACHINES.values(), *REGRESSIONS.values()])
def test_the_primal_is_the_one_that_follows_from_the_dual(machine: Any, kernel: Any) -> None:
    problem = machine(kernel)
    explicit = problem.qp("primal")
    space = problem.space
    svm = problem._build_dual(space.centred_gram, space.computed_intercept)
    generic = build_primal(svm, space.textbook_coordinates)
    if problem._variables_per_sample == 2:
        assert list(explicit.constraints) == ["above", "below"]
        assert {"xi", "xi_star"} <= set(explicit.variables)
        assert "t_i − " in str(explicit)
    else:
        assert generic.variables == explicit.variables
        assert {name: group.rows for name, group in generic.constraints.items()} == {
            name: group.rows for name, group in explicit.constraints.items()
        }
    np.testing.assert_allclose(generic.P.dense(), explicit.P.dense(), rtol=1e-14)
    np.testing.assert_allclose(generic.q, explicit.q, rtol=1e-14)
    np.testing.assert_array_equal(dense(generic.G), dense(explicit.G))
    np.testing.assert_array_equal(generic.h, explicit.h)
    assert generic.A is None
    assert explicit.A is None
    for ours, theirs in zip(generic.bounds, explicit.bounds, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@for_each("scaled", [False, True])
@for_each("kernel", ["linear", qpsvm.RBF(0.3)])
@for_each("machine", MACHINES.values())
def test_what_a_qp_states_is_what_its_numbers_say(machine: Any, kernel: Any, scaled: bool) -> None:
    """x, α, multipliers and lift agree with those of the same QP without its statement, up to the unit of α.

    A reader of numbers cannot tell α from a multiple of it: both read the same x, multipliers and v.
    """
    problem = machine(kernel)
    qp = problem.solver_qp("dual").qp if scaled else problem.qp("dual")
    said = qp.statement
    bare = replace(qp, statement=None)
    assert said is not None
    read = recognise_statement(bare, "test")
    x = RNG.random(qp.n)
    own, guessed = said.to_alpha(x), read.to_alpha(x)
    unit = guessed[0] / own[0]
    np.testing.assert_allclose(guessed, unit * own, rtol=1e-12)
    np.testing.assert_allclose(read.to_qp_variables(guessed), x, rtol=1e-12)
    np.testing.assert_allclose(said.to_qp_variables(own), x, rtol=1e-12)
    np.testing.assert_allclose(read.svm.upper, unit * said.svm.upper, rtol=1e-12)
    np.testing.assert_array_equal(read.svm.sign, said.svm.sign)
    ours, theirs = said.svm.hessian @ own, read.svm.hessian @ guessed
    level = said.svm.common_level
    assert read.svm.common_level == level
    w = RNG.normal(size=3)
    if level == 1.0:  # the unit of f is that of the level: w, u and μ are the same
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12 * np.abs(ours).max())
        np.testing.assert_allclose(read.to_lifted_variables(w), said.to_lifted_variables(w), rtol=1e-12)
        mu = {"b": 0.7}
        np.testing.assert_allclose(read.to_row_multipliers(mu), said.to_row_multipliers(mu), rtol=1e-12)
    else:  # f is in units of α, (READ.1)
        np.testing.assert_allclose(theirs, unit * ours, rtol=1e-9, atol=1e-12 * np.abs(theirs).max())
        np.testing.assert_allclose(read.to_lifted_variables(unit * w), said.to_lifted_variables(w), rtol=1e-12)
        mu = {"b": 0.7, "rho": 0.2}
        larger = {name: unit * value for name, value in mu.items()}
        np.testing.assert_allclose(read.to_row_multipliers(larger), said.to_row_multipliers(mu), rtol=1e-12)


@for_each("backend", ["auto", "cvxopt", "osqp"])
def test_levels_of_zero_leave_a_unit_for_alpha(backend: str) -> None:
    """Nothing keeps α away from 0, and nothing bounds it: a positive scale was 0."""
    problem = StatedProblem(X, Y, 0.0, np.inf, 0.5)
    result = qpsvm.solve(problem, backend, check=False)
    assert np.abs(result.alpha).max() <= 1e-6
    assert not find_faults(problem, result, 1e-6)


@for_each("form", ["dual", "primal"])
def test_sizes_that_no_scale_makes_ordinary_are_refused_with_what_to_do(form: Any) -> None:
    """α is the target over K, which is 0 in floats: to divide by it was an error of Python's own."""
    problem = qpsvm.EpsilonSVR([[0.0], [1e100]], [0.0, 1e-200], epsilon=0.0, loss="squared")
    for make in (problem.solver_qp, problem._deferred_qp):
        with pytest.raises(qpsvm.ParameterError, match="no scale makes ordinary numbers"):
            make(form)
