"""What psd="clip" and "shift" certify is true of the matrix that the user named, with fifty digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from clipped import compute_exact_gap, compute_positive_part, find_faults

import qpsvm
from qpsvm.space.kernels.positive_part import PositivePart


def test_the_rounding_of_the_clipped_matrix_is_in_the_gap():
    """It once said 2.5e-7 of a point that was 1.2e-6 off."""
    K = np.array([[4.0, -5.0, 1.0], [-5.0, -4.0, 3.0], [1.0, 3.0, -6.0]])
    problem = qpsvm.EpsilonSVR(
        K, [-3.0, -1.0, 0.0], C=1e10, epsilon=0.125, kernel=qpsvm.Precomputed(), psd="clip", intercept="free"
    )
    result = qpsvm.solve(problem, check=False)
    assert compute_exact_gap(problem, K, result) <= result.gap
    assert result.gap <= 3e-6  # of numbers of 1e10: 3e-7 to 1.5e-6, as the processor rounds
    assert (result.status == "optimal") == (result.gap <= 1e-6)


@pytest.mark.parametrize("rule", ["clip", "shift"])
@pytest.mark.parametrize("first", [80, 235, 1140])
def test_optimal_is_true_of_the_named_matrix(rule, first):
    assert not [line for seed in range(first, first + 15) for line in find_faults(seed, rule)[1]]


@pytest.mark.parametrize("rank", [2, 3, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_distance_between_both_points_is_bounded(seed, rank):
    """Also where most eigenvalues are 0: there c and β are far apart, and what they make is not."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-4, 5, (8, rank)).astype(float)
    K = (Z * np.where(np.arange(rank) % 2, -1.0, 1.0)) @ Z.T
    n = len(K)
    part = PositivePart(K, 1e-12)
    beta = 10.0 ** rng.integers(0, 12) * rng.standard_normal(n)
    coef = part.coefficients(beta)
    with mp.workdps(60):
        d = mp.matrix(beta.tolist()) - mp.matrix(coef.tolist())
        true = float(mp.sqrt(abs((d.T * compute_positive_part(mp.matrix(K.tolist())) * d)[0])))
    bound = part.bound_distance(coef, beta)
    assert true <= bound <= 6e-7 * float(np.linalg.norm(beta))


def test_what_a_proof_names_is_the_matrix_that_it_is_of():
    rng = np.random.default_rng(0)
    K = rng.integers(-4, 5, (6, 6)).astype(float)
    K = np.triu(K) + np.triu(K, 1).T
    y = [0, 0, 0, 1, 1, 1]
    odd = K + np.triu(np.full((6, 6), 2.0**-40))
    shifted = qpsvm.CSVM(K, y, kernel="precomputed", psd="shift")
    (said,) = qpsvm.solve(shifted).verify().assumptions
    assert repr(shifted.space.shift) in said
    assert repr(shifted.space.shift) in qpsvm.solve(shifted).message
    assert "as computed" in said
    for rule in ("clip", "shift"):
        (said,) = qpsvm.solve(qpsvm.CSVM(odd, y, kernel="precomputed", psd=rule)).verify().assumptions
        assert "mean of K and its transpose, as computed" in said
        assert rule in said


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("machine", [qpsvm.CrammerSinger, qpsvm.WestonWatkins])
def test_several_classes_at_once_count_it_too(machine, seed):
    """P at the coefficients and D at α over K₊, as (JOINT.2) and (JOINT.4) have them."""
    rng = np.random.default_rng(seed)
    n = 6
    C = 10.0 ** rng.uniform(0.0, 11.0)
    K = rng.integers(-6, 7, (n, n)).astype(float)
    K = np.triu(K) + np.triu(K, 1).T
    y = [0, 0, 1, 1, 2, 2]
    problem = machine(K, y, C=C, kernel=qpsvm.Precomputed(), psd="clip", intercept=None)
    result = qpsvm.solve(problem, check=False)
    level = problem._all_in_one_dual.level
    with mp.workdps(50):
        if problem.space.is_clipped:
            M = compute_positive_part(mp.matrix(K.tolist()))
        else:
            M = mp.matrix(K.tolist())
        coef = mp.matrix(result.coef.tolist())
        beta = -mp.matrix(result.alpha.tolist())
        for i, own in enumerate(y):
            beta[i, own] = mp.fsum(float(a) for a in result.alpha[i])
        u = M * coef
        P = mp.mpf(0)
        D = mp.mpf(level) * mp.fsum(float(a) for a in result.alpha.ravel())
        for c in range(3):
            P += (coef[:, c].T * u[:, c])[0] / 2
            D -= (beta[:, c].T * M * beta[:, c])[0] / 2
        for i, own in enumerate(y):
            short = [max(level - u[i, own] + u[i, c], mp.mpf(0)) for c in range(3) if c != own]
            P += mp.mpf(C) * (max(short) if machine is qpsvm.CrammerSinger else mp.fsum(short))
        truth = float((P - D) / max(abs(P), abs(D)))
    assert truth <= result.gap + 1e-15
    assert abs(float(P) / result.primal - 1.0) < 1e-5
