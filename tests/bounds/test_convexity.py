"""κ of (CONVEX.1) against an LDLᵀ in fractions: P − diag(κ) is positive semidefinite, whatever the rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_arithmetic import as_fraction_rows, as_fractions, dot, is_positive_semidefinite

from qpsvm.bounds.program.convexity import (
    Convexity,
    bound_residual_norm,
    is_dominant,
    is_positive_definite,
    is_semidefinite,
)
from qpsvm.bounds.program.rational import as_multiple, find_null_vector, find_rational_combinations


def has_no_negative_pivot(P: np.ndarray, less: np.ndarray) -> bool:
    rows = as_fraction_rows(P)
    for j, value in enumerate(less.tolist()):
        rows[j][j] -= Fraction(value)
    return is_positive_semidefinite(rows)


def draw_matrix(rng: np.random.Generator) -> np.ndarray:
    """Draw FFᵀ of any rank, in many units, with a diagonal that is larger by nothing, by rounding, or by more."""
    n = int(rng.integers(1, 9))
    F = rng.normal(size=(n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.integers(-5, 6, size=(n, 1))
    P = F @ F.T
    P = 0.5 * (P + P.T)
    P[np.diag_indices(n)] *= 1.0 + (2.0 ** -rng.integers(3, 52) if rng.random() < 0.7 else 0.0)
    return P


def test_the_curvature_is_certain():
    above, below = 0, 0
    for seed in range(150):
        P = draw_matrix(np.random.default_rng(seed))
        convexity = Convexity(P)
        strict = convexity.strict_curvature
        above += strict.any()
        assert not strict.any() or has_no_negative_pivot(P, strict), seed
        for curvature in (convexity.curvature, convexity.sharp_curvature):
            assert curvature is not None
            below += curvature.any()
            assert has_no_negative_pivot(P, curvature), seed
        assert (convexity.sharp_curvature >= convexity.curvature).all()
    assert above > 50
    assert below > 20


def test_directions_are_those_of_negative_curvature():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        P = draw_matrix(rng)
        i, j = rng.integers(len(P), size=2)
        P[i, j] = P[j, i] = -P[i, i] if i == j else 2.0 * np.sqrt(P[i, i] * P[j, j])
        convexity = Convexity(P)
        assert convexity.curvature is None
        d, _ = convexity.find_negative_direction()
        exact = as_fractions(d)
        assert dot(exact, [dot(row, exact) for row in as_fraction_rows(P)]) < 0
    assert Convexity(np.eye(3)).find_negative_direction() is None


def test_positive_definiteness_is_not_guessed():
    F = np.array([[1.0], [3.0], [0.1]])
    singular = F @ F.T
    assert not is_positive_definite(singular)
    assert is_positive_definite(singular + 1e-10 * np.eye(3))
    assert is_semidefinite(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert not is_semidefinite(np.array([[1.0, 2.0], [2.0, 4.0 - 2.0**-50]]))
    assert not is_semidefinite(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert is_dominant(np.array([[2.0, -1.0], [-1.0, 1.0]]))
    assert not is_dominant(np.array([[1.0, -1.1], [-1.1, 1.0]]))


def test_a_residual_is_bounded_beyond_floats():
    """Of L = √M in floats, whose residual is 1e-16 of M: the bound is not much more."""
    for seed in range(10):
        F = np.random.default_rng(seed).normal(size=(60, 80))
        M = F @ F.T / 80.0
        L = np.linalg.cholesky(M)
        exact = as_fraction_rows(M)
        rows = as_fraction_rows(L)
        worst = max(
            abs(sum((a * b for a, b in zip(rows[i], rows[j], strict=True)), Fraction(0)) - exact[i][j])
            for i, j in ((0, 0), (59, 58), (59, 59), (30, 40))
        )
        bound = bound_residual_norm(M, L)
        assert worst <= Fraction(bound)
        assert bound < 1e-14


def test_rational_vectors_are_what_they_are_asked_for():
    rng = np.random.default_rng(0)
    for _ in range(20):
        M = rng.normal(size=(3, 5)).round(2)
        near = np.linalg.svd(M)[2][-1]
        v = find_null_vector(M, near)
        assert all(dot(row, v) == 0 for row in as_fraction_rows(M))
        assert np.array([float(value) for value in v]) * np.abs(near).max() == pytest.approx(near, abs=1e-12)
    assert as_multiple([Fraction(1, 3), Fraction(-1, 6)]).tolist() == [2.0, -1.0]
    basis = np.array([[1.0, 0.25, 0.0], [0.0, 3.0, 1.0]])
    found = find_rational_combinations(np.array([0.7, 0.175 - 6.0, -2.0]), basis, np.array([0.7, -2.0]))
    assert [Fraction(7, 10), Fraction(-2)] in found
