"""The gap of a result is one that `verify` proves, of any machine on hostile data, and of an optimum of 0 as well."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import checking
import numpy as np
import pytest
from hostile import MACHINES, draw_hostile_problem
from sealing import sealed

import qpsvm

#: Hostile problems of each machine.
EACH = 12


@pytest.mark.parametrize("machine", range(len(MACHINES)), ids=MACHINES)
@pytest.mark.filterwarnings("ignore::qpsvm.QPSVMWarning")
def test_the_gap_of_a_result_is_proven(machine: int) -> None:
    proven = 0
    for seed in range(machine, machine + EACH * len(MACHINES), len(MACHINES)):
        try:
            problem, options = draw_hostile_problem(seed)
            result = qpsvm.solve(problem, **options)
        except qpsvm.QPSVMError:
            continue
        if math.isfinite(result.gap):
            proof = result.verify()
            assert proof.least_gap <= result.gap, seed
            assert proof.gap <= result.gap * (1.0 + 1e-9), seed
            proven += 1
    assert proven > EACH // 2


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), qpsvm.RBF(0.5), qpsvm.Polynomial(2, gamma=0.5, coef0=1.0)])
@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("moved", [0.0, 64.0])
def test_hulls_that_meet_have_a_proven_gap(kernel: qpsvm.Kernel, n: int, moved: float) -> None:
    """Every sample is in both classes: w = 0 is optimal, wherever the origin is."""
    X = np.round(np.random.default_rng(3).standard_normal((n, 2)), 3) + moved
    result = qpsvm.solve(qpsvm.NuSVM(np.concatenate([X, X]), np.repeat([0, 1], n), 0.6, kernel=kernel))
    assert result.primal == 0.0
    assert result.gap <= 1e-13
    proof = result.verify(tol=1e-12)
    assert proof
    assert proof.gap <= result.gap * (1.0 + 1e-9)


def test_certificate_and_proof_repair_the_same_row() -> None:
    """The costs of two rows differ by rounding only, and a change of the row with the longer sample costs more."""
    X = [
        [0.0, -1.2281531053802336e-08],
        [1.0, -3.3796343387814944e-09],
        [1.0, 1.6761677583839708e-08],
        [0.0, -2.6684838631729045e-08],
    ]
    result = qpsvm.solve(qpsvm.OneClass(X, nu=0.001, kernel="linear"), tol=1e-12)
    assert result.verify().gap <= result.gap * (1.0 + 1e-9)


def test_a_gap_of_zero_is_relative_to_distances_from_the_largest_alpha() -> None:
    """(ZERO.2), in fractions."""
    X = np.array([[-2.0, 0.1], [2.0, 0.3], [0.0, -0.7], [0.1, 0.9], [0.0, 1.1], [-0.3, 0.2]])
    result = qpsvm.solve(qpsvm.NuSVM(X, [0, 0, 1, 1, 0, 1], nu=0.4))
    assert result.primal == 0.0
    proof = result.verify()
    alpha = [Fraction(a) for a in proof.alpha.tolist()]
    points = [[Fraction(v) for v in row] for row in X.tolist()]
    sign = [-1, -1, 1, 1, -1, 1]
    w = [sum(s * a * p[j] for s, a, p in zip(sign, alpha, points, strict=True)) for j in range(2)]
    centre = points[alpha.index(max(alpha))]
    distances = [math.hypot(*(float(v - c) for v, c in zip(p, centre, strict=True))) for p in points]
    size = float(sum(alpha)) * sum(distances) / len(X)
    share = float(sum(v * v for v in w)) / size**2
    assert share <= proof.gap * (1.0 + 1e-12)
    assert proof.gap <= share * (1.0 + 1e-9)


def test_a_forged_gap_of_zero_is_refuted(tmp_path) -> None:
    """A smaller one; one of an α that is no optimum, however small tol is; one of an objective that is not 0."""
    X = np.array([[-2.0], [2.0], [-1.0], [1.25]])
    np.save(tmp_path / "data.npy", X)
    qpsvm.solve(qpsvm.OneClass(X, nu=0.9, kernel="linear")).verify().save(
        tmp_path / "proof.json", tmp_path / "data.npy"
    )
    true = json.loads((tmp_path / "proof.json").read_text(encoding="utf-8"))
    (claim,) = [claim for claim in true["claims"] if claim["claim"] == "gap of zero at most"]

    def check(tol: float) -> tuple[int, str]:
        (tmp_path / "proof.json").write_bytes(sealed(true))
        code, lines = checking.run_checker(tmp_path / "proof.json", tmp_path / "data.npy", tol)
        return code, "\n".join(lines)

    assert check(1e-6)[0] == 0
    claim["bound"] = 0.0
    has_rounding = "REFUTED" in check(1e-6)[1]
    integers = true["alpha"]["integers"]
    exact = sum(j * Fraction(x) for j, x in zip(integers, X[:, 0].tolist(), strict=True)) == 0
    assert has_rounding != exact
    first = integers[0] >> 16  # α moved between two rows, so that the share is some 1e-10
    integers[0], integers[1] = integers[0] - first, integers[1] + first
    claim["bound"] = 1e-6
    true["claims"] = [one for one in true["claims"] if one["claim"] in ("feasible", "gap of zero at most")]
    code, said = check(1e-6)
    assert code == 1
    assert "confirmed   the objective P is 0" in said
    true["plane"]["w"] = [1e-9]
    assert check(1e-6)[0] == 1
