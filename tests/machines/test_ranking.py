"""Ranking: pairs and how they are made, contradictions, what a result holds, and hostile data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from each import for_each
from hostile import SPOILERS, draw_samples
from judge import find_faults

import qpsvm
from qpsvm.base.errors import (
    DataError,
    DataTypeError,
    ParameterError,
    ParameterTypeError,
    TooLargeError,
    UnknownOptionError,
    UnsupportedError,
)
from qpsvm.machines.ranking import MAX_PAIRS, find_pair_order

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = np.round(X @ [1.0, 2.0, -1.0] + RNG.normal(0.0, 0.7, 24))
S = RNG.uniform(0.2, 2.0, 24)
S[[3, 7]] = 0.0
GROUPS = np.repeat(["a", "b", "c", "d"], 6)


# --- pairs ------------------------------------------------------------------------------------------------------------


@for_each("groups", [None, GROUPS, np.arange(24) % 5, [*range(22), 21, 21]])
def test_pairs_are_all_of_a_group_that_differ(groups: Any) -> None:
    names = np.zeros(24) if groups is None else np.asarray(groups)
    expected = {(i, j) for i in range(24) for j in range(24) if Y[i] > Y[j] and names[i] == names[j]}
    problem = qpsvm.Ranking(X, Y, groups=groups)
    assert {tuple(pair) for pair in problem.pairs.tolist()} == expected
    assert len(problem.pairs) == len(expected) == find_pair_order(Y, groups).n_pairs


@for_each("most", [1, 10, 100, 150, 10_000])
@for_each("groups", [None, GROUPS])
def test_sampled_pairs_are_different_pairs_of_the_same_order(most: int, groups: Any) -> None:
    everything = {tuple(pair) for pair in qpsvm.Ranking(X, Y, groups=groups).pairs.tolist()}
    found = qpsvm.Ranking.sampled_pairs(Y, most, groups)
    kept = {tuple(pair) for pair in found.tolist()}
    assert len(found) == len(kept) == min(most, len(everything))
    assert kept <= everything
    np.testing.assert_array_equal(found, qpsvm.Ranking.sampled_pairs(Y, most, groups, seed=0))


def test_sampled_pairs_take_every_pair_equally_often() -> None:
    y = np.array([0, 0, 1, 2, 2])
    counts = np.zeros((5, 5))
    for seed in range(600):
        counts[tuple(qpsvm.Ranking.sampled_pairs(y, 2, seed=seed).T)] += 1
    times = counts[counts > 0]
    assert len(times) == 8
    assert (np.abs(times - 150) < 6 * np.sqrt(150)).all()


def test_many_pairs_are_counted_before_they_are_made() -> None:
    y = np.arange(10**6)  # 5e11 pairs
    with pytest.raises(TooLargeError, match=r"sampled_pairs.*1_000_000"):
        qpsvm.Ranking(np.zeros((len(y), 1)), y)
    found = qpsvm.Ranking.sampled_pairs(y, 1000)
    assert (y[found[:, 0]] > y[found[:, 1]]).all()
    assert find_pair_order(y.astype(float), None).n_pairs > MAX_PAIRS


@pytest.mark.parametrize(
    ("error", "match", "arguments"),
    [
        (DataError, "needs y", {"y": None}),
        (DataError, "all samples are equally good", {"y": np.ones(24)}),
        (DataError, "every group are equally good", {"groups": np.arange(24)}),
        (DataError, "one label for each of the 24", {"groups": [1, 2]}),
        (DataError, "group of row 0 is missing", {"groups": [None, *GROUPS[1:]]}),
        (DataTypeError, "groups mixes types", {"groups": np.array(["a", *range(23)], dtype=object)}),
        (DataError, "not both", {"groups": GROUPS, "pairs": [[0, 1]]}),
        (DataError, "empty", {"pairs": []}),
        (DataError, "empty", {"pairs": np.zeros((0, 2))}),
        (DataError, "two columns", {"pairs": [[0, 1, 2]]}),
        (DataError, "with itself", {"pairs": [[0, 1], [2, 2]]}),
        (DataError, "0 to 23", {"pairs": [[0, 24]]}),
        (DataError, "0 to 23", {"pairs": [[-1, 2]]}),
        (DataError, "0 to 23", {"pairs": [[0.5, 2]]}),
        (DataTypeError, "pairs", {"pairs": [["a", "b"]]}),
        (DataError, "positive weight", {"pairs": [[0, 1]], "sample_weight": [0.0, *np.ones(23)]}),
        (ParameterError, "C", {"C": 0.0}),
        (ParameterError, "overflow", {"C": 1e300, "sample_weight": np.full(24, 1e10)}),
    ],
)
def test_what_is_no_ranking_is_refused(error: type[Exception], match: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(error, match=match):
        qpsvm.Ranking(**({"X": X, "y": Y} | arguments))


@for_each("error, most", [(ParameterError, 0), (ParameterTypeError, 1.5), (ParameterTypeError, True)])
def test_a_number_of_pairs_is_a_number(error: type[Exception], most: Any) -> None:
    with pytest.raises(error, match="most"):
        qpsvm.Ranking.sampled_pairs(Y, most)


# --- the optimum ------------------------------------------------------------------------------------------------------


@for_each("kernel", ["linear", qpsvm.RBF(0.3)])
def test_a_duplicated_pair_is_paid_twice(kernel: Any) -> None:
    pairs = qpsvm.Ranking(X, Y).pairs
    double = qpsvm.solve(qpsvm.Ranking(X, pairs=np.vstack([pairs, pairs]), C=0.2, kernel=kernel), tol=1e-9)
    single = qpsvm.solve(qpsvm.Ranking(X, pairs=pairs, C=0.4, kernel=kernel), tol=1e-9)
    assert double.primal == pytest.approx(single.primal, rel=1e-8)


def test_contradicting_pairs_cancel() -> None:
    """(i, j) and (j, i) are paid for together: 2C at the least, and w = 0 is all that they ask for."""
    result = qpsvm.solve(qpsvm.Ranking(X, pairs=[[0, 1], [1, 0]], C=3.0))
    assert result.primal == pytest.approx(6.0)
    np.testing.assert_allclose(result.w, 0.0, atol=1e-9)
    assert result.status == "optimal"
    mixed = qpsvm.solve(qpsvm.Ranking(X, pairs=[[0, 1], [1, 0], [2, 3]], C=3.0))
    alone = qpsvm.solve(qpsvm.Ranking(X, pairs=[[2, 3]], C=3.0))
    assert mixed.primal >= alone.primal


def test_one_pair_of_two_samples() -> None:
    """w = (x_i − x_j)/‖x_i − x_j‖² where C is large enough, and C (x_i − x_j) where it is not."""
    pair = np.array([[1.0, 2.0], [0.0, 0.0]])
    result = qpsvm.solve(qpsvm.Ranking(pair, [2, 1], C=10.0))
    np.testing.assert_allclose(result.w, [0.2, 0.4], rtol=1e-6)
    np.testing.assert_allclose(result.alpha, [0.2], rtol=1e-6)
    assert result.kinds.names[result.kind[0]] == "edge"
    small = qpsvm.solve(qpsvm.Ranking(pair, pairs=[[0, 1]], C=0.01))
    np.testing.assert_allclose(small.w, [0.01, 0.02], rtol=1e-6)
    assert small.kinds.names[small.kind[0]] == "violator"
    same = qpsvm.solve(qpsvm.Ranking(np.ones((2, 2)), [1, 2], C=10.0))
    assert same.status == "optimal"
    assert same.primal == pytest.approx(10.0)


# --- what comes back --------------------------------------------------------------------------------------------------


def test_a_result_has_an_entry_for_each_pair_and_a_coefficient_for_each_sample(tmp_path: Path) -> None:
    problem = qpsvm.Ranking(X, Y, 0.3, sample_weight=S)
    result = qpsvm.solve(problem, tol=1e-9)
    m = len(problem.pairs)
    assert result.alpha.shape == result.xi.shape == result.kind.shape == result.yf.shape == (m,)
    f = result.predict(X)
    np.testing.assert_allclose(f, X @ result.w, atol=1e-9)
    np.testing.assert_array_equal(f, result.decision_function(X))
    np.testing.assert_allclose(result.yf, f[problem.pairs[:, 0]] - f[problem.pairs[:, 1]], atol=1e-9)
    won = np.bincount(problem.pairs[:, 0], result.alpha, 24) - np.bincount(problem.pairs[:, 1], result.alpha, 24)
    np.testing.assert_allclose(result.coef, won, atol=1e-12)

    idle = (S[problem.pairs] == 0).any(axis=1)
    assert idle.any()
    assert not result.alpha[idle].any()
    assert not result.kind[idle].any()

    table = result.kkt
    assert table.dtype.names[:2] == ("i", "j")
    np.testing.assert_array_equal(np.column_stack([table["i"], table["j"]]), problem.pairs)
    assert set(table["kind"]) <= {"ordered", "edge", "violator"}
    assert f"of {m}" in result.summary()
    assert "pairs" in result.summary()

    result.save(tmp_path / "model.npz")
    np.testing.assert_allclose(qpsvm.load(tmp_path / "model.npz").predict(X), f)


@for_each("kernel", ["linear", qpsvm.RBF(0.3)])
def test_points_starts_and_paths(kernel: Any) -> None:
    problem = qpsvm.Ranking(X, Y, 0.3, kernel=kernel, sample_weight=S)
    result = qpsvm.solve(problem, tol=1e-9)
    again = problem.at(result.alpha)
    assert again.status == "optimal"
    certificate = problem.certify(0.9 * result.alpha)
    assert certificate.dual <= result.primal
    assert certificate.primal >= result.dual
    other = problem.replace(C=3.0)
    np.testing.assert_array_equal(other.pairs, problem.pairs)
    begun = qpsvm.solve(other, "osqp", start=result)
    assert begun.primal == pytest.approx(qpsvm.solve(other).primal, rel=1e-5)
    path = qpsvm.path(problem, C=[0.1, 1.0])
    assert all(each.status == "optimal" for each in path)
    with pytest.raises(UnsupportedError, match="pairs"):
        qpsvm.cross_validate(problem, C=[0.1, 1.0])
    with pytest.raises(UnknownOptionError, match="groups"):
        problem.replace(groups=GROUPS)
    with pytest.raises(UnsupportedError, match="classes"):
        assert result.classes


def test_concordance_is_kendall_s_tau() -> None:
    from scipy.stats import kendalltau

    y = RNG.permutation(30)
    f = RNG.normal(size=30)
    problem = qpsvm.Ranking(np.zeros((30, 1)), y)
    assert problem.concordance(f) == pytest.approx((1 + kendalltau(y, f).statistic) / 2)
    assert problem.concordance(y) == 1.0
    assert problem.concordance(-y) == 0.0
    assert problem.concordance(np.zeros(30)) == 0.5
    with pytest.raises(DataError):
        problem.concordance(f[:5])


# --- a kernel, and many pairs -----------------------------------------------------------------------------------------


def test_many_pairs_with_a_kernel_are_solved_in_the_coordinates_of_their_samples() -> None:
    rng = np.random.default_rng(1)
    many = rng.normal(size=(60, 3))
    problem = qpsvm.Ranking(many, many @ [1.0, 2.0, -1.0] + rng.normal(0.0, 0.3, 60), kernel=qpsvm.RBF(0.1))
    assert len(problem.pairs) == 60 * 59 // 2
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    assert (result.backend, result.form) == ("interior_point", "primal")


@for_each("spoiler", SPOILERS)
def test_what_is_claimed_of_spoilt_samples_is_true(spoiler: str) -> None:
    rng = np.random.default_rng(100 + SPOILERS.index(spoiler))
    for C in (1e-3, 1.0, 1e4):
        spoilt, y = draw_samples(rng, spoiler)
        size = float(np.abs(spoilt).max()) ** 2
        grades = y + rng.integers(0, 2, len(y))
        pairs = qpsvm.Ranking.sampled_pairs(grades, 40)
        problem = qpsvm.Ranking(spoilt, pairs=pairs, C=C / size)
        result = qpsvm.solve(problem, check=False)
        assert result.status == "optimal", (C, result.gap)
        if spoilt.shape[1] <= 5:
            assert not find_faults(problem, result, 1e-6)
