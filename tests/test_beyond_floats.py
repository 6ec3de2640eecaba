"""Penalties, weights and samples at the ends of the floats: an honest status, or an error that says what to do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm import QPSVMError, Status

X, Y = np.array([[-3.0, 1.0], [-2.0, 0.0], [1.0, -1.0], [2.0, 2.0], [0.5, 4.0]]), np.array([-1, -1, 1, 1, -1])
#: Class, what it learns from, and its own parameters: None is C, or λ.
MACHINES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "c": (qpsvm.CSVM, "y", {"C": None}),
    "nu": (qpsvm.NuSVM, "y", {"nu": 0.3}),
    "squared": (qpsvm.SquaredHinge, "y", {"C": None}),
    "huber": (qpsvm.HuberHinge, "y", {"C": None}),
    "primal": (qpsvm.PrimalHinge, "y", {"lam": None}),
    "svr": (qpsvm.EpsilonSVR, "t", {"C": None, "epsilon": 0.1}),
    "svr squared": (qpsvm.EpsilonSVR, "t", {"C": None, "epsilon": 0.1, "loss": "squared"}),
    "nu svr": (qpsvm.NuSVR, "t", {"C": None, "nu": 0.4}),
    "quantile": (qpsvm.QuantileSVR, "t", {"C": None, "quantile": 0.3}),
    "one-class": (qpsvm.OneClass, "", {"nu": 0.4}),
    "ball": (qpsvm.SVDD, "", {"nu": 0.4}),
    "ranking": (qpsvm.Ranking, "t", {"C": None}),
}


def make_machine(name: str, C: float, X: Any = X, t: Any = X[:, 0], **given: Any) -> Any:
    """Make a machine of the table."""
    kind, learnt, own = MACHINES[name]
    target = {"y": [Y], "t": [t], "": []}[learnt]
    return kind(X, *target, **{key: C if value is None else value for key, value in own.items()}, **given)


def outcome(problem: Any, backend: str = "auto") -> str:
    """The status, or the library's own error; of `optimal`, once all its numbers are numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            result = qpsvm.solve(problem(), backend, check=False)
        except QPSVMError as error:
            return type(error).__name__
    if result.status is Status.OPTIMAL:
        for values in (result.alpha, result.coef, result.b, result.primal, result.dual):
            assert np.isfinite(values).all()
    return str(result.status)


@pytest.mark.parametrize("name", ["squared", "svr squared", "huber"])
def test_a_loss_that_is_bent_beyond_all_floats_is_refused(name):
    with pytest.raises(qpsvm.ParameterError, match="C times sample_weight is too small"):
        qpsvm.solve(make_machine(name, 1e-200, sample_weight=[1e-300, 1.0, 1.0, 1.0, 1.0]))
    assert outcome(lambda: make_machine(name, 1e-200)) in ("optimal", "inaccurate", "numerical_error")


@pytest.mark.parametrize("backend", ["auto", "cvxpy", "osqp", "cvxopt", "interior_point"])
@pytest.mark.parametrize("name", ["c", "squared", "svr", "svr squared"])
def test_weights_that_are_far_apart_are_no_foreign_error(name, backend):
    weight = [1e-300, 1e10, 1e-300, 1e10, 1e10]
    outcome(lambda: make_machine(name, 1.0, sample_weight=weight), backend)


@pytest.mark.parametrize("seed", range(30))
def test_no_foreign_error_and_no_optimum_that_is_no_number(seed):
    rng = np.random.default_rng(seed)
    name = list(MACHINES)[seed % len(MACHINES)]
    scale = 10.0 ** rng.choice([0, 0, -300, -150, 80, 150, 300])
    C = 10.0 ** rng.choice([0, 50, 150, 300, -50, -150, -300])
    t = rng.integers(-4, 5, 5) * 10.0 ** rng.choice([0, 0, 100, -100])
    if rng.random() < 0.5:
        weight = None
    else:
        weight = 10.0 ** rng.choice([0.0, 1.0, -300.0, 10.0, -100.0, 100.0], 5)
    kernel = [qpsvm.Linear(), qpsvm.RBF(1.0), qpsvm.Polynomial(2, 1.0, 1.0)][int(rng.integers(3))]
    outcome(lambda: make_machine(name, C, X * scale, t, kernel=kernel, sample_weight=weight))


@pytest.mark.parametrize("tol", [1.0, 2, 1e300, 0.0, -1e-6, np.nan])
def test_a_tolerance_that_says_nothing_is_refused(tol):
    """α = 0 has a gap of 1, and any point beside it."""
    problem = qpsvm.CSVM(X, Y)
    for refused in (
        lambda: qpsvm.solve(problem, tol=tol), lambda: problem.at(np.zeros(5), tol=tol),
        lambda: qpsvm.estimators.SVC(tol=tol).fit(X, Y), lambda: qpsvm.compare(problem, ["cvxopt"], tol=tol),
    ):  # fmt: skip
        with pytest.raises(qpsvm.ParameterError, match="tol"):
            refused()
    assert problem.at(np.zeros(5), tol=0.999999).status == "candidate"
