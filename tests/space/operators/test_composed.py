"""Matrices made of others, against dense ones, method by method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from qpsvm.space.operators import (
    CombinedRows,
    Dense,
    Diagonal,
    LowRank,
    Operator,
    RepeatedOperator,
    ShiftedOperator,
    add_diagonal,
    couple_classes,
    take_rows,
)

RNG = np.random.default_rng(8)
Z = RNG.normal(size=(7, 3))
WHOLE = Z @ Z.T + np.eye(7)
BASES = {
    "dense": Dense(WHOLE),
    "diagonal": Diagonal(RNG.random(7)),
    "factor": LowRank(Z),
    "sparse factor": LowRank(sp.csr_array(Z)),
    "scaled factor": LowRank(Z, None, RNG.normal(size=7)),
    "factor and diagonal": LowRank(Z, RNG.random(7), RNG.normal(size=7)),
}
ROWS = {"twice": np.tile(np.arange(7), 2), "some": np.array([5, 0, 5, 5, 2]), "all": np.arange(7)}


def agrees(operator: Operator, matrix: Any) -> None:
    """Every method of an operator against the dense matrix that it is."""
    m = len(matrix)
    close = {"rtol": 1e-12, "atol": 1e-12}
    assert operator.shape == matrix.shape
    x = RNG.normal(size=m)
    many = RNG.normal(size=(m, 4))
    np.testing.assert_allclose(operator @ x, matrix @ x, **close)
    np.testing.assert_allclose(operator @ many, matrix @ many, **close)
    np.testing.assert_allclose(operator.dense(), matrix, **close)
    np.testing.assert_allclose(np.asarray(operator), matrix, **close)
    np.testing.assert_allclose(operator.diagonal(), matrix.diagonal(), **close)
    assert operator.mean_diagonal() == pytest.approx(matrix.diagonal().mean())
    rows, columns = RNG.integers(0, m, 4), RNG.integers(0, m, 3)
    np.testing.assert_allclose(operator.block(rows, columns), matrix[np.ix_(rows, columns)], **close)
    np.testing.assert_allclose(operator.rows(rows), matrix[rows], **close)
    np.testing.assert_allclose(operator.rows(slice(1, 3)), matrix[1:3], **close)
    factor = operator.factor()
    if factor is not None:
        F, d = factor
        F = F.toarray() if sp.issparse(F) else F
        np.testing.assert_allclose(F @ F.T + np.diag(d), matrix, **close)
    assert operator.nbytes > 0
    assert operator.describe()
    assert str(m) in repr(operator)


def with_congruence(operator: Operator, matrix: Any) -> None:
    """The same, and twice with other signs and scales."""
    agrees(operator, matrix)
    for scales in (RNG.choice([-1.0, 1.0], len(matrix)), RNG.normal(size=len(matrix))):
        operator = operator.congruence(scales)
        matrix = scales[:, None] * matrix * scales
        agrees(operator, matrix)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_rows_may_be_shared_by_several_variables(base: Operator, rows: Any) -> None:
    matrix = base.dense()[np.ix_(rows, rows)]
    with_congruence(take_rows(base, rows), matrix)
    with_congruence(CombinedRows(base, sp.csr_array(np.eye(7)[rows])), matrix)
    d = np.arange(len(rows)) / 4.0
    with_congruence(add_diagonal(take_rows(base, rows), d), matrix + np.diag(d))


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_a_variable_may_couple_two_classes_through_one_sample(base: Operator) -> None:
    sample = np.repeat(np.arange(7), 4)
    first = np.tile([0, 1, 2, 0], 7)
    second = np.tile([1, 2, 0, 2], 7)
    E = np.eye(3)[first] - np.eye(3)[second]
    matrix = base.dense()[np.ix_(sample, sample)] * (E @ E.T)
    with_congruence(couple_classes(base, sample, first, second, 3), matrix)
    with_congruence(CombinedRows(base, sp.csr_array(np.eye(7)[sample] - 0.5 * np.eye(7)[first])), np.asarray(
        (np.eye(7)[sample] - 0.5 * np.eye(7)[first]) @ base.dense() @ (np.eye(7)[sample] - 0.5 * np.eye(7)[first]).T
    ))  # fmt: skip
    with_congruence(RepeatedOperator(base, 3), np.kron(np.eye(3), base.dense()))


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_a_diagonal_may_be_added(base: Operator) -> None:
    d = RNG.random(7)
    with_congruence(add_diagonal(base, d), base.dense() + np.diag(d))
    with_congruence(ShiftedOperator(base, d), base.dense() + np.diag(d))
    with_congruence(
        take_rows(add_diagonal(base, d), ROWS["some"]), (base.dense() + np.diag(d))[np.ix_(*2 * [ROWS["some"]])]
    )


def test_nothing_to_do_is_the_operator_itself() -> None:
    base = BASES["dense"]
    assert take_rows(base, None) is base
    assert add_diagonal(base, None) is base


def test_a_row_that_several_variables_share_is_kept_once() -> None:
    base = BASES["dense"]
    assert take_rows(base, ROWS["twice"]).nbytes < 2 * base.nbytes
