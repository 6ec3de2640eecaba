"""Every machine with rows of every kind, against the textbook's primal in CVXPY."""

import numpy as np
import pytest
from each import for_each
from textbook import TEXTBOOK_MACHINES, solve_textbook

import qpsvm

rng = np.random.default_rng(5)
X = rng.normal(size=(24, 3))
DIRECTION = np.array([1.0, -0.7, 0.4])
Y = np.where(X @ DIRECTION + 0.15 * rng.normal(size=24) > 0.1, 1.0, -1.0)
X[Y > 0] += 0.6 * DIRECTION  # so that a hard margin has some room
T = X @ DIRECTION + 0.5 * rng.normal(size=24)
GROUP = (X[:, 0] > 0).astype(float)


def rows_of(kind: str) -> qpsvm.Constraints:
    """Rows that bind for most machines."""
    match kind:
        case "sign":
            return qpsvm.Constraints.signs(X, {1: +1, 2: +1})
        case "fair":
            return qpsvm.Constraints.covariance(X, GROUP, 0.05)
        case "intercept":
            return qpsvm.Constraints([[0.3, 0.0, 0.2], [0.0, 0.0, 0.0]], [0.1, 0.4], c=[1.0, -1.0])
        case "away from 0":
            return qpsvm.Constraints([[-1.0, -1.0, 0.0], [0.0, 1.0, 1.0]], [-0.4, 0.3], names=["a", "b"])
        case "equal":
            return qpsvm.Constraints.equal([[1.0, 1.0, 0.0]], 0.2, names=["sum"])
        case "equal with b":
            return qpsvm.Constraints.equal([[0.5, 0.0, 0.0]], 0.2, c=1.0)
    raise AssertionError(kind)


KINDS = ("sign", "fair", "intercept", "away from 0", "equal", "equal with b")


@pytest.mark.parametrize("name", TEXTBOOK_MACHINES)
@for_each("kind", KINDS)
def test_rows_over_weights(name, kind):
    book = TEXTBOOK_MACHINES[name]
    rows = rows_of(kind)
    data = X + 2.0 if name == "OneClass" else X  # around the origin, its optimum is 0
    known = solve_textbook(book, data, Y, T, rows.G, rows.h, rows.c)
    problem = book.make(data, Y, T, constraints=rows)
    if not np.isfinite(known.value):  # a margin that the rows exclude
        assert name == "HardMargin"
        with pytest.raises(qpsvm.InfeasibleConstraintsError, match="margin"):
            qpsvm.solve(problem)
        return
    result = qpsvm.solve(problem, tol=1e-8)
    assert result.status == "optimal"
    assert result.primal == pytest.approx(known.value, rel=2e-5, abs=1e-6)
    if "equal" not in kind:
        multipliers = np.array([*result.constraint_multipliers.values()])
        assert multipliers == pytest.approx(known.multipliers, rel=2e-2, abs=2e-3 * max(1.0, known.multipliers.max()))
    np.testing.assert_allclose(result.w, known.w, atol=3e-3)


@pytest.mark.parametrize("name", TEXTBOOK_MACHINES)
@for_each("kernel", [qpsvm.Linear(), qpsvm.RBF(0.5)])
def test_rows_over_values(name, kernel):
    book = TEXTBOOK_MACHINES[name]
    Z = np.array([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 1.0, 0.0]])
    A = np.array([[1.0, -1.0, 0.0], [0.0, 0.5, 1.0]])
    h = np.array([-0.1, 0.2])
    points = np.concatenate([X, Z])
    F = points
    if not isinstance(kernel, qpsvm.Linear):
        values, vectors = np.linalg.eigh(kernel(points, points))
        F = vectors * np.sqrt(np.maximum(values, 0.0))
    if name == "SVDD":
        own = np.sum(F[24:] ** 2, axis=1)
    else:
        own = np.zeros(3)
    known = solve_textbook(book, X, Y, T, h=h, features=F[:24], values=(F[24:], own, A))
    problem = book.make(X, Y, T, kernel=kernel, constraints=qpsvm.ValueConstraints(Z, A, h))
    if not np.isfinite(known.value):
        with pytest.raises(qpsvm.InfeasibleConstraintsError, match="margin"):
            qpsvm.solve(problem)
        return
    result = qpsvm.solve(problem, tol=1e-8)
    assert result.status == "optimal"
    assert result.primal == pytest.approx(known.value, rel=2e-5, abs=1e-6)
    multipliers = np.array([*result.constraint_multipliers.values()])
    assert multipliers == pytest.approx(known.multipliers, rel=2e-2, abs=2e-3 * max(1.0, known.multipliers.max()))
    assert (A @ result.decision_function(Z) <= h + 1e-12).all()
