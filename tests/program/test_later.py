"""A dual that is written down when somebody looks at it is the QP of `solver_qp`, and our solvers never look."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
from each import for_each

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge
from qpsvm.program.deferred_qp import DeferredQP
from qpsvm.program.qp import QP

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 3)) + 3.0
Y = np.where(X[:, 0] > 3.0, 1, -1)

PROBLEMS = {
    "c-svm": CSVM(X, Y, C=2.0, kernel=RBF(0.5)),
    "weighted": CSVM(X, Y, C=np.linspace(1.0, 2.0, 30)),
    "nu": NuSVM(X, Y, 0.3),
    "hard": HardMargin(X, Y, kernel=RBF(0.5)),
    "hinge": PrimalHinge(X, Y, 0.01),
    "penalised": PrimalHinge(X, Y, 0.01, kernel=RBF(0.5), intercept="penalised"),
    "none": PrimalHinge(X, Y, 0.01, intercept=None),
}


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, qpsvm.Operator):
        return bool(np.array_equal(one.dense(), other.dense()))
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


@for_each("name", PROBLEMS)
def test_the_later_qp_is_the_same_qp(name):
    posed, made = PROBLEMS[name]._deferred_qp(), PROBLEMS[name].solver_qp()
    assert (posed.variables, posed.rows, posed.objective) == (made.variables, made.rows, made.objective)
    pairs = (posed.qp, made.qp), (posed.original, made.original)
    for later, qp in pairs:
        assert isinstance(later, DeferredQP)
        assert later.n == qp.n
        factors = {"alpha": 3.0}, {"balance": 2.0}
        for one, other in zip(later.scales(*factors), qp.scales(*factors), strict=True):
            np.testing.assert_array_equal(one, other)
        assert "materialised_qp" not in vars(later), "what is known beforehand is answered without making it"
    for later, qp in pairs:
        for field in fields(QP):
            if field.name != "statement":
                assert is_same(getattr(later, field.name), getattr(qp, field.name)), field.name
        statement, stated = later.statement, qp.statement
        assert (statement.variable, statement.objective) == (stated.variable, stated.objective)
        assert dict(statement.rows) == dict(stated.rows)
        assert str(later) == str(qp)
        assert str(pickle.loads(pickle.dumps(later))) == str(qp)
        changed = replace(later, r=7.0)
        assert (changed.r, later.r, str(changed)) == (7.0, qp.r, str(qp))


@for_each(
    "name, backend",
    [("c-svm", "kernel_newton"), ("weighted", "augmented_lagrangian"), ("hinge", "kernel_newton"), ("nu", "libsvm")],
)
def test_our_solvers_do_not_look_at_it(name, backend, monkeypatch):
    def refuse_build(self: QP) -> QP:
        raise AssertionError(f"{self!r} was made")

    monkeypatch.setattr(DeferredQP, "materialised_qp", property(refuse_build))
    assert qpsvm.solve(PROBLEMS[name], backend).status is qpsvm.Status.OPTIMAL


def test_units_that_are_no_numbers_are_refused_as_when_it_is_made():
    tiny = CSVM([[0.0], [1e-200]], [0, 1], C=1.0)
    said = []
    for make in (tiny.solver_qp, tiny._deferred_qp):
        try:
            make()
            said.append("")
        except qpsvm.QPSVMError as error:
            said.append(str(error))
    assert said[0] == said[1]
