"""Gaps of many machines at once bound the true ones, which exact arithmetic knows: of any α, not the best only."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from binary_machines import solve_pairs
from judge import judge_dual, judge_plane

import qpsvm
from qpsvm import core
from qpsvm.many.multiclass import MachineTemplate, bulk, gather, split_classes
from qpsvm.many.multiclass.gap_bounds import MachinePoints, bound_gaps, refine_kernel_points
from qpsvm.many.multiclass.squared_hinge import find_newton_points
from qpsvm.many.multiclass.stack import LinearGram, SharedGram, stack_machines, to_nu_svms, to_squared_hinges


def draw_samples(rng: np.random.Generator):
    """Draw samples of any scale and offset, with duplicates; penalties of any size; weights."""
    k = int(rng.integers(2, 5))
    n = int(rng.integers(k + 2, 20))
    d = int(rng.integers(1, 4))
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.normal(size=(n, d)) + rng.choice([0, 3]) * rng.normal(size=(k, d))[codes]
    X[rng.integers(0, n, 2)] = X[rng.integers(0, n, 2)]
    scale = 10.0 ** rng.choice([-6, 0, 6])
    which = int(rng.integers(3))
    X *= scale
    if rng.random() < 0.4 and which < 2:
        X += scale * 10.0 ** rng.choice([1, 6]) * rng.normal(size=d)
    gamma = float(10.0 ** rng.uniform(-4, 2) / scale**2)
    kernel = [qpsvm.Linear(), qpsvm.RBF(gamma), qpsvm.Polynomial(2, float(1.0 / scale**2), 1.0)][which]
    weight = 10.0 ** rng.uniform(-6, 6, n) if rng.random() < 0.3 else None
    return X, codes, kernel, float(10.0 ** rng.uniform(-8, 8)), weight


def feasible(stack, rng):
    """Any α with yᵀα = 0 but for rounding, and rows at both ends."""
    alpha = rng.uniform(size=len(stack.upper)) * rng.choice([0.0, 0.1, 1.0], len(stack.upper)) * stack.upper
    for p in range(stack.n_machines):
        y = stack.sign[stack.get_row_slice(p)]
        own = alpha[stack.get_row_slice(p)]
        sums = [own[y > 0].sum(), own[y < 0].sum()]
        own[y > 0] *= min(sums) / (sums[0] or 1.0)
        own[y < 0] *= min(sums) / (sums[1] or 1.0)
    return np.minimum(alpha, stack.upper)


def test_the_stack_of_one_machine_keeps_its_bounds_and_margins():
    template = MachineTemplate("CSVM", {"C": 1.0}, qpsvm.Linear())
    machines = split_classes(np.eye(6), np.arange(6) // 2, np.arange(3), template, rest=False, sample_weight=None)
    stack = stack_machines(machines, np.arange(1.0, 7.0))
    one = replace(stack, level=np.arange(12.0)).take_machine(1)
    assert np.array_equal(one.upper, [1.0, 2.0, 5.0, 6.0])
    assert np.array_equal(one.level, [4.0, 5.0, 6.0, 7.0])
    assert np.array_equal(one.positions, [0, 1, 4, 5])


@pytest.mark.parametrize("rest", [False, True])
def test_no_gap_is_below_the_true_one(rest):
    rng = np.random.default_rng(7)
    finite = 0
    for _ in range(18):
        X, codes, kernel, C, weight = draw_samples(rng)
        template = MachineTemplate("CSVM", {"C": C}, kernel)
        machines = split_classes(X, codes, np.arange(codes.max() + 1), template, rest=rest, sample_weight=weight)
        space = machines.active_space
        stack = stack_machines(machines, C * machines.weight[machines.order])
        linear = machines.is_linear
        data = space.rows.matrix() if linear else space.centred_gram.dense()
        found = rough(stack, data, LinearGram if linear else SharedGram, feasible(stack, rng))
        b, points = gather.build_bounded_points(space, stack, found)
        claimed = [bound_gaps(stack, points)]
        if not linear:
            claimed.append(bound_gaps(stack, refine_kernel_points(space, stack, points, np.arange(stack.n_machines))))
        for p in range(stack.n_machines):
            true = true_gap(machines, stack, p, found.alpha, b, found.W, C)
            for gap in claimed:
                finite += bool(np.isfinite(gap[p]))
                assert not np.isfinite(gap[p]) or true <= Fraction(float(gap[p])), (kernel, C, p)
    assert finite > 60


def rough(stack, data, kind, alpha):
    """The points of some α, as they are."""
    u = np.empty(len(alpha))
    b = np.empty(stack.n_machines)
    W = np.zeros((stack.n_machines, data.shape[1]))
    for p in range(stack.n_machines):
        part = stack.get_row_slice(p)
        values = kind(data, stack.list_slices(p))
        u[part], b[p] = bulk.evaluate_point(values, stack.sign[part], stack.upper[part], alpha[part])
        W[p] = getattr(values, "w", 0.0)
    return MachinePoints(alpha, u, b, np.ones(len(b)), W if kind is LinearGram else None)


def true_gap(machines, stack, p, alpha, b, W, C, rho=1.0):
    part = stack.get_row_slice(p)
    rows = machines.order[stack.positions[part]]
    y = stack.sign[part]
    a = alpha[part]
    common = {"kernel": machines.kernel, "sample_weight": machines.weight[rows]}
    if stack.nu is None:
        problem = qpsvm.CSVM(machines.X[rows], y, C, **common)
    else:
        problem = qpsvm.NuSVM(machines.X[rows], y, float(stack.nu[p]), **common)
    if stack.nu is None:
        multipliers = {"b": float(b[p])}
    else:
        multipliers = {"b": float(b[p]), "rho": float(rho)}
    plane = {"coef": a * y} if W is None else {"w": W[p]}
    verdict = judge_plane(problem, a, {**plane, "multipliers": multipliers})
    assert verdict.in_box
    return verdict.gap


@pytest.mark.skipif(core.compiled is None, reason="the loop in bulk is compiled")
@pytest.mark.parametrize("machine", ["CSVM", "NuSVM"])
def test_optimal_is_the_truth(machine):
    """What comes back: α, w or its coefficients, b, and the margin of a ν-SVM."""
    rng = np.random.default_rng(11)
    certified = 0
    for _ in range(18):
        X, codes, kernel, C, weight = draw_samples(rng)
        C = min(C, 1e2)  # beyond, some machines are solved alone, which takes its time
        weight = None if machine == "NuSVM" else weight
        counts = np.bincount(codes)
        nu = float(rng.choice([0.1, 0.5, 1.0]) * 2.0 * counts.min() / (counts.min() + counts.max()))
        own = {"C": C} if machine == "CSVM" else {"nu": nu}
        given = {"machine": machine, "parameters": own, "kernel": kernel, "sample_weight": weight}
        together = solve_pairs(X, codes, np.arange(codes.max() + 1), **given)
        machines = together.results._build.split
        weights = machines.weight[machines.order]
        if machine == "CSVM":
            stack = stack_machines(machines, C * weights)
        else:
            stack = to_nu_svms(stack_machines(machines, weights), nu)
        alone = set(together.results._known)
        dense = np.abs(together.coef.toarray())
        alpha = np.concatenate([
            dense[p, machines.order[stack.positions[stack.get_row_slice(p)]]] for p in range(stack.n_machines)
        ])  # fmt: skip
        for p in set(range(stack.n_machines)) - alone:
            assert together.gap[p] <= 1e-6
            found = (alpha, together.b, together.w, C, together.rho[p])
            assert true_gap(machines, stack, p, *found) <= Fraction(float(together.gap[p]))
            certified += 1
    assert certified > 12


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
def test_no_gap_of_a_squared_hinge_is_below_the_true_one(intercept):
    """At the optimum, and with everything off by as much as one likes."""
    rng = np.random.default_rng(5)
    finite = 0
    for _ in range(12):
        X, codes, _, C, weight = draw_samples(rng)
        template = MachineTemplate("SquaredHinge", {"C": C}, qpsvm.Linear(), intercept)
        rest = bool(rng.integers(2))
        machines = split_classes(X, codes, np.arange(codes.max() + 1), template, rest=rest, sample_weight=weight)
        stack = to_squared_hinges(stack_machines(machines, C * machines.weight[machines.order]))
        space = machines.active_space
        found, _ = find_newton_points(machines, stack, space.rows.matrix())
        found.alpha[:] *= 1.0 + rng.choice([0.0, 1e-9, 1e-2]) * rng.normal(size=len(found.alpha))
        found.alpha[:] = np.maximum(found.alpha, 0.0)
        for p in range(stack.n_machines):  # w is that of α in any case
            part = stack.get_row_slice(p)
            rows = space.rows.matrix()[stack.positions[part]]
            found.W[p] = (found.alpha[part] * stack.sign[part]) @ rows
            found.u[part] = rows @ found.W[p]
        b, points = gather.build_bounded_points(space, stack, found)
        gap = bound_gaps(stack, points, intercept)
        for p in np.flatnonzero(np.isfinite(gap)):
            part = stack.get_row_slice(p)
            point = SimpleNamespace(alpha=found.alpha[part], w=found.W[p], b=float(b[p]))
            true = judge_dual(
                machines.build_separate_problem(p)._dual_structure, X[machines.order[stack.positions[part]]], point
            )
            assert true.in_box
            assert true.gap <= Fraction(float(gap[p])), (C, p)
            finite += 1
    assert finite > 20
