"""Proofs of machines of several classes at once, judged by the textbook's primal and dual in fractions."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge import judge_classes
from sealing import sealed

import qpsvm
from qpsvm.base.errors import DataError, ParameterTypeError, UnsupportedError
from qpsvm.bounds.proof import checker
from qpsvm.bounds.proof import prove as proving
from qpsvm.bounds.proof.classes import make_class_alpha_feasible

MACHINES = (qpsvm.CrammerSinger, qpsvm.WestonWatkins)
ZERO_VALUES = checker.PlaneValues([[Fraction(0)] * 2], *([[Fraction(0)] * 2] * 3))
INTERCEPTS = ("free", "penalised", None)


def hostile(seed: int):
    """A small problem of 2 to 6 classes: raw scales, duplicates, a class of one, weights of 0, huge penalties."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    n = max(int(rng.integers(2, 31)), k)
    if seed % 3 == 0:
        many = np.zeros(n - k, dtype=int)
    else:
        many = rng.integers(0, k, n - k)
    y = np.concatenate([np.arange(k), many])
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 1.0, 4.0]) * rng.normal(size=(k, d))[y]
    X = (
        X,
        X * 10.0 ** rng.integers(-6, 7, d) + 10.0 ** rng.integers(-3, 7, d),
        np.round(X),
        X[rng.integers(0, n, n)],
        X * 10.0 ** rng.uniform(-12.0, 6.0),
    )[seed % 5]
    weight = None
    if seed % 2:
        weight = rng.random(n) + 0.01
        weight[k:][rng.random(n - k) < 0.2] = 0.0
    C = 10.0 ** rng.uniform(-8.0, 6.0, n if seed % 4 == 0 else None)
    problem = MACHINES[seed % 2](X, y, C=C, sample_weight=weight, intercept=INTERCEPTS[seed // 2 % 3])
    return problem, rng


def judge_proof(problem, result, proof) -> tuple[Fraction, Fraction]:
    """Return P of a result's numbers and D of a proof's α, and assert on the way that α is feasible."""
    rows = problem.samples.active_rows
    penalties = [
        Fraction(C) * Fraction(s)
        for C, s in zip(problem.C[rows].tolist(), problem.sample_weight[rows].tolist(), strict=True)
    ]
    return judge_classes(problem, result, proof.alpha, penalties)


def test_bounds_hold_in_fractions(monkeypatch):
    """P, D and the gap of the very numbers are where a proof says, in rational numbers or floats, and not far off."""
    for seed in range(24):
        problem, rng = hostile(seed)
        result = qpsvm.solve(problem, "sequential_dual", max_iter=200, check=False)
        if seed % 4 == 3:  # some other point, and numbers that nobody has rounded
            result = problem.at(result.alpha * rng.uniform(0.0, 1.2, result.alpha.shape))
            result = replace(result, b=result.b * rng.uniform(0.999, 1.001, len(result.b)))
        exact, judged_alpha, loosest = None, None, 0.0
        for enough in (None, math.inf, -1.0):  # in rational numbers, in floats as they are, and evaluated again
            with monkeypatch.context() as patch:
                if enough is not None:
                    patch.setattr(proving, "MAX_PRODUCTS_AT_FIRST", 0.0)
                    patch.setattr(proving, "MAX_PRODUCTS", 0.0)
                    patch.setattr(proving, "_compute_target_gap", lambda request, enough=enough: enough)  # noqa: ARG005
                proof = result.verify(tol=1e-6)
            if exact is None or not np.array_equal(proof.alpha, judged_alpha):
                exact = judge_proof(problem, result, proof)
                judged_alpha = proof.alpha
            P, D = exact
            gap = (P - D) / max(abs(P), abs(D))
            assert proof.exactly == (enough is None)
            assert proof.primal >= P >= D >= proof.dual, seed
            assert proof.difference >= P - D, seed
            assert proof.gap >= gap >= proof.least_gap, seed
            assert proof.remains <= proof.gap, seed
            # terms that are not evaluated again
            if enough == math.inf:
                left = 1e-6
            else:
                left = 1e-12 + proving.NEGLIGIBLE_SHARE * loosest
            assert proof.gap <= 3.0 * gap + left, seed
            loosest = max(loosest, proof.gap)
            near = problem.samples.select_active(result.alpha)
            assert np.abs(proof.alpha - near).max() <= 1e-14 * near.max(initial=0.0), seed
            claimed = next(claim for claim in proof.claims if claim.kind == "optimal")
            assert claimed.verdict != ("proven" if gap > Fraction(1e-6) else "refuted"), seed


@pytest.mark.parametrize("kernel", [qpsvm.Polynomial(3, 0.5, 1.0), qpsvm.RBF(0.3)], ids=str)
def test_kernels_too(kernel):
    for seed in range(0, 12, 2):
        problem, rng = hostile(seed)
        if seed % 5 in (1, 4):  # raw scales are no matter of kernels
            continue
        problem = MACHINES[seed // 2 % 2](
            problem.X[:12],
            problem.class_index[:12],
            C=0.5 if seed < 6 else 1e4,
            intercept=problem.intercept,
            kernel=kernel,
        )
        result = qpsvm.solve(problem, "sequential_dual", max_iter=200, check=False)
        if seed % 4 == 0:
            result = problem.at(result.alpha * rng.uniform(0.0, 1.2, result.alpha.shape))
        proof = result.verify()
        P, D = judge_classes(problem, result, proof.alpha)
        near = Fraction(1, 10**40) * abs(P)
        assert proof.primal >= P - near >= D - 2 * near >= proof.dual - 3 * near, seed
        assert proof.gap >= (P - D - near) / abs(P), seed
        assert proof.least_gap <= (P - D + near) / abs(P), seed
        assert proof.gap <= 10.0 * result.gap + 1e-9, seed


def test_a_matrix_that_need_not_be_positive_semidefinite_is_told_of():
    """A kernel that is repaired is proven about as it is computed with, with what has to be assumed of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.arange(12) % 3
    for kernel in (qpsvm.Sigmoid(1.0, 0.0), qpsvm.Nystroem(qpsvm.RBF(1.0), components=4).resolve(X)):
        result = qpsvm.solve(qpsvm.CrammerSinger(X, y, kernel=kernel, psd="shift"), max_iter=2000, check=False)
        proof = result.verify()
        assert proof.gap <= 10.0 * result.gap + 1e-9
        assert proof.assumptions or any(claim.kind == "kernel" for claim in proof.claims)


def test_what_is_not_feasible_is_made_so_or_nothing_is_proven(monkeypatch):
    """Whoever repairs α is not believed: what is not feasible in integers is no α of a proof."""
    problem = qpsvm.CrammerSinger(np.arange(12.0).reshape(6, 2), [0, 0, 1, 1, 2, 2], C=0.1, sample_weight=[0.3] * 6)
    program = problem._build_exact_program()
    assert program.upper[0] == Fraction(0.1) * Fraction(0.3) != Fraction(0.1 * 0.3)
    for wrong in (np.full((6, 3), -1.0), np.full((6, 3), np.nan), np.full((6, 3), 1e300), np.full((6, 3), 1.0)):
        found = make_class_alpha_feasible(program, wrong.ravel())
        assert found is not None
        exact = [[Fraction(value) for value in row] for row in found.alpha.reshape(6, 3).tolist()]
        assert all(sum(row) <= program.upper[3 * i] for i, row in enumerate(exact))
        net = [sum(exact[i][c] for i in range(6)) - sum(sum(exact[i]) for i in (2 * c, 2 * c + 1)) for c in range(3)]
        assert net == [0, 0, 0]
        monkeypatch.setattr("qpsvm.bounds.proof.classes.repair_classes", lambda _, alpha: alpha)
        assert make_class_alpha_feasible(program, wrong.ravel()) is None
        monkeypatch.undo()
    balanced = np.where(np.repeat(np.eye(3), 2, axis=0) > 0.0, 0.0, 1.0)
    doubled = qpsvm.CrammerSinger(problem.X, problem.class_index, C=1.0)._build_exact_program()
    monkeypatch.setattr("qpsvm.bounds.proof.classes.repair_classes", lambda _, alpha: alpha)
    assert make_class_alpha_feasible(doubled, 0.5 * balanced.ravel()) is not None  # the α of a sample add up to U = 1
    assert make_class_alpha_feasible(doubled, 0.75 * balanced.ravel()) is None
    monkeypatch.undo()
    one_digit = found.alpha.reshape(6, 3).copy()
    one_digit[0, 1] = np.nextafter(one_digit[0, 1], 0.0)  # out of balance by one unit in the last place
    monkeypatch.setattr("qpsvm.bounds.proof.classes.repair_classes", lambda _, alpha: alpha)
    assert make_class_alpha_feasible(program, one_digit.ravel()) is None
    result = problem.at(found.alpha.reshape(6, 3))
    proof = replace(result, alpha=one_digit).verify()
    assert proof.gap == math.inf
    assert not proof


def test_what_only_the_rounding_of_the_intercepts_costs_is_said():
    """Far-off samples at a penalty of 1e6: the gap is that of b as floats, and the proof says what remains."""
    rng = np.random.default_rng(4)
    X = rng.integers(-8, 9, (12, 1)) / 8.0 + 2e9
    result = qpsvm.solve(qpsvm.WestonWatkins(X, np.arange(12) % 3, C=1e6), check=False)
    proof = result.verify()
    assert proof.exactly
    assert proof.remains <= 0.5 * proof.gap
    assert proof.claims[-1].kind == "intercept"
    assert proof.claims[-1].verdict == "proven"


def test_more_rows_are_proven_in_floats():
    """As tight as what was measured, at a cost that rational numbers do not have."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 150)
    X = rng.normal(size=(150, 5)) + 3.0 * rng.normal(size=(4, 5))[y]
    for machine in MACHINES:
        result = qpsvm.solve(machine(X, y, C=0.01), max_iter=20_000)
        proof = result.verify(tol=1e-6)
        assert proof
        assert not proof.exactly
        assert proof.gap <= 10.0 * result.gap + 1e-9


def reseal(path: Path, change: Callable[[Any], object]) -> None:
    """Change what a proof file says, and seal it as who wrote it would."""
    said = json.loads(path.read_text())
    change(said)
    path.write_bytes(sealed(said))


#: What can be said otherwise of a machine with free intercepts, and is not true then.
LIES: dict[str, Callable[[Any], object]] = {
    "an alpha": lambda said: said["alpha"]["integers"].__setitem__(1, said["alpha"]["integers"][1] + 1),
    "an intercept": lambda said: said["plane"]["b"].__setitem__(0, said["plane"]["b"][0] + 1e-3),
    "the plane": lambda said: said["plane"]["w"][0].__setitem__(0, said["plane"]["w"][0][0] + 1e-3),
    "the penalty": lambda said: said["machine"]["parameters"].update(C=0.5),
    "the machine": lambda said: said["machine"].update(name="WestonWatkins"),
    "the classes": lambda said: said["machine"]["classes"].reverse(),
    "the gap": lambda said: said["claims"][3].update(bound=0.5 * said["claims"][3]["bound"]),
    "the optimum": lambda said: said["claims"][1].update(bound=said["claims"][2]["bound"] * (1.0 - 1e-9)),
}


def test_a_file_is_confirmed_and_what_is_changed_is_found(tmp_path):
    rng = np.random.default_rng(5)
    label = np.arange(12) % 3
    X = rng.normal(size=(12, 2)) + label[:, None]
    y = np.array(["one", "three", "two"])[label]
    rows = [",".join([*map(repr, row), name]) for row, name in zip(X.tolist(), y.tolist(), strict=True)]
    data, path = tmp_path / "data.csv", tmp_path / "proof.json"
    data.write_text("\n".join(["0,1,y", *rows]))
    weight = np.array([0.0, *rng.random(11)])
    for k, intercept in enumerate(INTERCEPTS):
        kernel = (qpsvm.Linear(), qpsvm.Polynomial(2, 0.5, 1.0), qpsvm.RBF(0.5))[k]
        for machine in MACHINES:
            problem = machine(X, y, C=rng.random(12) + 0.1, sample_weight=weight, intercept=intercept, kernel=kernel)
            qpsvm.solve(problem, max_iter=500, check=False).verify().save(path, data, "y")
            assert checker.check(str(path), str(data), say=lambda _: None) == 0
    # so small a C that rows fall short of two classes, and the two machines are not one
    result = qpsvm.solve(qpsvm.CrammerSinger(X, y, C=0.05), max_iter=500, check=False)
    for lie in LIES.values():
        result.verify().save(path, data, "y")
        reseal(path, lambda _: None)
        assert checker.check(str(path), str(data), say=lambda _: None) == 0
        reseal(path, lie)
        assert checker.check(str(path), str(data), say=lambda _: None) == 1
    reseal(path, lambda said: said["machine"]["parameters"].update(intercept=None))
    with pytest.raises(checker.UnusableError, match="this machine has no b"):
        checker.check(str(path), str(data), say=lambda _: None)


def test_whose_proof_it_is():
    X = [[0.0], [1.0], [4.0], [5.0]]
    y = ["a", "a", "b", "c"]
    problem = qpsvm.CrammerSinger(X, y)
    result = qpsvm.solve(problem)
    again = pickle.loads(pickle.dumps(result))
    assert again.problem is None
    with pytest.raises(UnsupportedError, match="verify\\(problem\\)"):
        again.verify()
    assert again.verify(problem).gap == result.verify().gap
    with pytest.raises(DataError, match="the result is over"):
        again.verify(qpsvm.CrammerSinger(X[:3], y[:3]))
    with pytest.raises(ParameterTypeError, match="what solve"):
        problem.prove(result.alpha)
    nobody = replace(result, b=np.full(3, np.nan)).verify()
    assert nobody.gap == math.inf


@pytest.mark.parametrize(("name", "most"), [("CrammerSinger", [0, 1, 1]), ("WestonWatkins", [0, 2, 2])])
def test_the_checker_knows_the_box_of_several_classes(name, most):
    """C = 2 bounds the sum of the α of one machine, and each α of the other; and that of the own class is 0."""
    machine = {"name": name, "parameters": {"intercept": None}}

    def dual(alpha):
        alpha = [Fraction(a) for a in alpha]
        zeros = [Fraction(0)] * 3
        return checker.bound_class_objectives(machine, [Fraction(2)], [0], alpha, zeros, lambda _c, _beta: ZERO_VALUES)[
            1
        ]

    assert dual(most) == [sum(most)] * 2
    for wrong in ([0, 1, Fraction(21, 10)], [1, 0, 0], [0, -1, 1]):
        assert dual(wrong) == [-checker.INFINITE] * 2
