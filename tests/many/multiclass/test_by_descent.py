"""Linear machines that share a table of rows: what is claimed of each is the truth, and the rest goes another way."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from binary_machines import solve_pairs, solve_rest
from judge import judge_dual
from test_bounds import draw_samples

import qpsvm
from qpsvm import core
from qpsvm.many.multiclass import MachineTemplate, descent, split_classes

pytestmark = pytest.mark.skipif(core.compiled is None, reason="the compiled core is not there")


def machines_of(X, codes, machine, intercept, **how):
    solved = solve_rest if codes.max() > 1 else solve_pairs
    how = {"machine": machine, "parameters": {"C": 1.0}, "kernel": qpsvm.Linear(), "intercept": intercept, **how}
    return solved(X, codes, np.arange(codes.max() + 1), **how)


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
@pytest.mark.parametrize("machine", ["CSVM", "SquaredHinge"])
def test_no_gap_is_below_the_true_one(machine, intercept):
    rng = np.random.default_rng(3)
    certified = 0
    for k in range(10):
        X, codes, _, C, weight = draw_samples(rng)
        C = float(np.clip(C, 1e-4, 1e2)) / float(np.square(X).sum(axis=1).mean())
        given = sp.csr_array(X) if k % 2 else X
        template = MachineTemplate(machine, {"C": C}, qpsvm.Linear(), intercept)
        split = split_classes(given, codes, np.arange(codes.max() + 1), template, rest=True, sample_weight=weight)
        together = descent.solve_by_descent(replace(split, is_sorted=False), 1e-6)
        for p in sorted(set(range(len(together.b))) - set(together.results._known)):
            problem = split.build_separate_problem(p)
            places, signs = split.locate_rows(p)
            alpha = together.coef[[p]].toarray()[0][split.order[places]] * signs
            point = SimpleNamespace(alpha=alpha, w=together.w[p], b=float(together.b[p]))
            true = judge_dual(problem._dual_structure, X[split.order[places]], point)
            assert true.in_box
            assert true.gap <= Fraction(float(together.gap[p])), (C, p)
            assert together.gap[p] <= 1e-6
            certified += 1
    assert certified > 15


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
@pytest.mark.parametrize("machine", ["CSVM", "SquaredHinge"])
@pytest.mark.parametrize("classes", [2, 4])
def test_they_are_the_machines_alone(machine, intercept, classes):
    random = np.random.default_rng(0)
    X = sp.random_array((300, 900), density=0.02, rng=random, format="csr")
    codes = random.integers(0, classes, 300)
    weight = random.choice([0.0, 0.5, 2.0], 300)
    together = machines_of(X, codes, machine, intercept, sample_weight=weight)
    assert together.optimal
    assert together.solver.name == "coordinate descent"
    for p, (i, _) in enumerate(together.machines):
        target = codes == i if classes > 2 else codes == 1
        alone = qpsvm.solve(
            getattr(qpsvm, machine)(X, target, 1.0, intercept=intercept, sample_weight=weight), "augmented_lagrangian"
        )
        assert abs(together.results[p].primal - alone.primal) <= 3e-6 * alone.primal
        np.testing.assert_allclose(together.w[p], alone.w, atol=3e-3)
    assert together.results.verify(tol=2e-6)


def test_what_descent_gives_up_goes_another_way(monkeypatch):
    random = np.random.default_rng(1)
    X = sp.csr_array(random.normal(size=(120, 5)))
    codes = random.integers(0, 3, 120)
    monkeypatch.setattr(descent.DescentRows, "estimate_newton_seconds", lambda *_, **__: 0.0)
    together = machines_of(X, codes, "CSVM", "penalised", parameters={"C": 1e4})
    assert together.optimal
    assert len(together.results._known) > 0


def test_a_time_limit_and_options_are_left_to_others():
    X = sp.csr_array(np.eye(40, 60))
    codes = np.arange(40) % 2
    for how in ({"time_limit": 5.0}, {"backend": "interior_point"}, {"max_iter": 50}):
        assert machines_of(X, codes, "CSVM", "penalised", **how).solver.name != "coordinate descent"
