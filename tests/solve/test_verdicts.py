"""The verdict on QPs as people write them: ten tables of each kind, and what proves it, in fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from exact_arithmetic import as_fraction_rows, as_fractions, dot
from exact_program import compute_optimum, proves_infeasible, proves_unbounded

import qpsvm
from qpsvm import QP
from qpsvm.bounds.program.feasibility import prove_infeasible
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.reduction import ROUNDING

TABLES = 10
Drawn = tuple[QP, float | None]
#: Rows of A are given as sums and multiples of each other.
DEPENDENT = np.array([[1.0, 1.0], [0.3, -2.0]])


def textbook_dual(rng: np.random.Generator) -> Drawn:
    """As it is handed to CVXOPT: the box in rows of G, P singular."""
    n = int(rng.integers(10, 60))
    X = rng.normal(size=(n, int(rng.integers(1, 6))))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    y[:2] = [1.0, -1.0]
    C = float(rng.choice([0.1, 0.3, 1.0, 10.0]))
    G = np.vstack([-np.eye(n), np.eye(n)])
    h = np.append(np.zeros(n), np.full(n, C))
    qp = QP(P=np.outer(y, y) * (X @ X.T), q=-np.ones(n), G=G, h=h, A=y[None, :], b=[0.0])
    return qp, -qpsvm.solve(qpsvm.CSVM(X, y, C)).dual


def portfolio(rng: np.random.Generator) -> Drawn:
    """More assets than observations: only Σw = 1 and w ≥ 0 bound them."""
    n = int(rng.integers(5, 50))
    returns = None
    returns = 0.01 * rng.normal(size=(int(rng.integers(2, 20)), n))
    if rng.random() < 0.5:
        rows = {"lb": 0.0}
    else:
        rows = {"G": -np.eye(n), "h": np.zeros(n)}
    return QP(P=np.cov(returns.T), q=-returns.mean(axis=0), A=np.ones((1, n)), b=[1.0], **rows), None


def definite(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    F = rng.normal(size=(n, n))
    return {"P": F @ F.T + np.eye(n), "q": rng.normal(size=n)}


def of_rows(parts: dict[str, np.ndarray], A: np.ndarray, b: np.ndarray) -> float:
    """The least value where Ax = b, by least squares."""
    n = A.shape[1]
    p = len(A)
    K = np.block([[parts["P"], A.T], [A, np.zeros((p, p))]])
    x = np.linalg.lstsq(K, np.append(-parts["q"], b), rcond=1e-12)[0][:n]
    return float(0.5 * x @ parts["P"] @ x + parts["q"] @ x)


def dependent_equalities(rng: np.random.Generator) -> Drawn:
    """Whole numbers, or decimals, with rows that are sums of multiples of others."""
    n = int(rng.integers(3, 8))
    b = np.zeros(4)
    while np.abs(b).min() < 0.01:  # what is 0 but for rounding is another number
        A = rng.normal(size=(2, n)).round(2)
        x = rng.normal(size=n).round(1)
        if rng.random() < 0.5:
            A = rng.integers(-3, 4, size=(2, n)).astype(float)
            x = rng.integers(-2, 3, size=n).astype(float)
        A = np.vstack([A, DEPENDENT @ A])
        b = A @ x
    parts = definite(rng, n)
    A = np.vstack([A, np.zeros(n)])
    b = np.append(b, 0.0)
    return QP(**parts, A=A, b=b), of_rows(parts, A, b)


def opposite_rows(rng: np.random.Generator) -> Drawn:
    """An equality as two rows of G, one of them a multiple."""
    n = int(rng.integers(2, 8))
    side = float(np.round(rng.normal(), 2))
    c = float(rng.choice([0.1, 1.0, 2.0, 3.0]))
    a = rng.normal(size=(1, n)).round(2)
    parts = definite(rng, n)
    return QP(**parts, G=np.vstack([a, -c * a]), h=[side, -c * side]), of_rows(parts, a, np.array([side]))


def implied_row(rng: np.random.Generator) -> Drawn:
    """An inequality that an equality implies, and one of zeros."""
    n = int(rng.integers(2, 6))
    side = float(rng.integers(-4, 5))
    c = float(rng.choice([0.1, 0.5, 1.0, -2.0]))
    a = rng.integers(1, 4, size=(1, n)).astype(float)
    parts = definite(rng, n)
    return QP(**parts, A=a, b=[side], G=np.vstack([c * a, 0.0 * a]), h=[c * side, 0.0]), of_rows(
        parts, a, np.array([side])
    )


def least_squares(rng: np.random.Generator) -> Drawn:
    """Fewer equations than unknowns: optimum 0, along flat directions."""
    m = int(rng.integers(1, 15))
    n = m + int(rng.integers(1, 30))
    kind = rng.integers(3)
    A = 10.0 ** rng.integers(-2, 3) * rng.normal(size=(m, n))
    b = rng.normal(size=m)
    if kind == 1:
        A = rng.integers(-3, 4, size=(m, n)).astype(float)
        b = rng.integers(-3, 4, size=m).astype(float)
    if kind == 2:
        P = qpsvm.LowRank(np.sqrt(2.0) * A.T)
    else:
        P = 2.0 * A.T @ A
    return QP(P=P, q=-2.0 * A.T @ b, r=float(b @ b)), None


def tied_linear_program(rng: np.random.Generator) -> Drawn:
    """Fewer rows than variables: every point of a face is optimal."""
    n = int(rng.integers(2, 10))
    G = rng.normal(size=(2, n))
    z = np.abs(rng.normal(size=2))
    h = rng.normal(size=2)
    return QP(P=sp.csr_array((n, n)), q=-G.T @ z, G=G, h=h), float(-h @ z)


OPTIMAL: list[Callable[[np.random.Generator], Drawn]] = [
    textbook_dual, portfolio, dependent_equalities, opposite_rows, implied_row, least_squares, tied_linear_program,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["auto", "osqp", "clarabel"])
@pytest.mark.parametrize("kind", OPTIMAL)
@pytest.mark.filterwarnings("ignore")  # of solvers, which may say what they like
def test_what_has_an_optimum_is_optimal(kind, backend):
    for seed in range(TABLES):
        qp, value = kind(np.random.default_rng(seed))
        result = qpsvm.solve(qp, backend, check=False)
        assert result.status == "optimal", (seed, result.message)
        assert 0.0 <= result.data_change <= 1e-14
        assert ("within" in result.message or "differ" in result.message) == (result.data_change > 0.0)
        scale = 1e-6 * max(1.0, abs(result.primal))
        assert result.dual <= result.primal
        if value is not None:
            assert result.dual - scale <= value <= result.primal + scale, seed
        stationary = qp.P @ result.x + qp.q + result.z_box
        stationary = stationary + (0.0 if qp.A is None else qp.A.T @ result.y)
        stationary = stationary + (0.0 if qp.G is None else qp.G.T @ result.z)
        terms = 1.0 + np.abs(qp.q).max() + float(np.abs(qp.P @ result.x).max())
        assert np.abs(stationary).max() <= 1e-4 * terms, seed


def unbounded(rng: np.random.Generator) -> QP:
    """P is singular, in whole numbers or not, and q falls along what it leaves; or a linear program."""
    n = int(rng.integers(1, 7))
    kind = rng.integers(3)
    if kind == 0:
        return QP(P=sp.csr_array((n, n)), q=-np.abs(rng.normal(size=n)), G=-np.abs(rng.normal(size=(2, n))), h=[1, 1])
    if kind == 1:
        F = rng.normal(size=(n, n - 1))
    else:
        F = rng.integers(-2, 3, size=(n, n - 1)).astype(float)
    return QP(P=F @ F.T if n > 1 else [[0.0]], q=rng.normal(size=n) + 0.1)


def infeasible(rng: np.random.Generator) -> QP:
    """Rows that contradict each other."""
    n = int(rng.integers(2, 6))
    kind = rng.integers(4)
    a = rng.normal(size=(1, n)).round(1) + 0.05
    parts = definite(rng, n)
    if kind == 0:
        return QP(**parts, A=np.vstack([a, 2.0 * a]), b=[1.0, 3.0])
    if kind == 1:
        return QP(**parts, G=np.vstack([a, -3.0 * a]), h=[1.0, -3.5])
    if kind == 2:
        return QP(**parts, G=np.vstack([np.eye(n), -np.eye(n)]), h=np.append(np.zeros(n), -np.ones(n)))
    return QP(**parts, A=np.abs(a), b=[-1.0], lb=0.0)


@pytest.mark.parametrize("backend", ["auto", "osqp", "clarabel"])
@pytest.mark.filterwarnings("ignore")
def test_what_has_none_is_proven(backend):
    for seed in range(TABLES):
        qp = infeasible(np.random.default_rng(seed))
        result = qpsvm.solve(qp, backend, check=False)
        assert result.status == "infeasible", seed
        assert proves_infeasible(qp, result), seed
        assert np.isnan(result.x).all()
        assert result.primal == result.dual == np.inf
        with pytest.raises(qpsvm.SolverError, match="no point satisfies"):
            qpsvm.solve(qp, backend)
        qp = unbounded(np.random.default_rng(seed))
        result = qpsvm.solve(qp, backend, check=False)
        assert result.status == "unbounded", (seed, result.message)
        assert proves_unbounded(qp, result), seed
        assert result.primal == result.dual == -np.inf
        with pytest.raises(qpsvm.SolverError, match="unbounded"):
            qpsvm.solve(qp, backend)


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
def test_a_row_of_fixed_variables_that_is_wrong_is_infeasible(scale):
    qp = QP(P=np.eye(2), q=[0.0, 0.0], A=scale * np.array([[4.0, 2.0]]), b=[-5.0 * scale], lb=[0.0, 1.0], ub=[0.0, 1.0])
    result = qpsvm.solve(qp, check=False)
    assert result.status == "infeasible"
    assert proves_infeasible(qp, result)
    assert qpsvm.solve(qp.replace(b=[2.0 * scale])).status == "optimal"


def test_a_direction_shows_what_is_not_convex():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 8))
        F = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
        P = F + F.T
        P[0, 0] = -abs(P[0, 0]) if n == 1 else 0.0
        with pytest.raises(qpsvm.NonConvexError, match=r"not convex: dᵀPd = -") as caught:
            qpsvm.solve(QP(P=P, q=rng.normal(size=n), lb=-1.0, ub=4.0))
        d = as_fractions(caught.value.direction)
        assert dot(d, [dot(row, d) for row in as_fraction_rows(P)]) < 0
    with pytest.raises(ValueError, match="is negative"):
        qpsvm.solve(QP(P=[[-2.0]], q=[0.0], lb=1.0, ub=4.0))
    with pytest.raises(qpsvm.NonConvexError):  # in every comparison
        qpsvm.compare(QP(P=[[-2.0]], q=[0.0], lb=1.0, ub=4.0), ["cvxopt", "osqp"])


def test_rows_that_depend_by_rounding_only_are_said():
    """In floats 0.1 + 0.2 is not 0.3, so that no x satisfies both rows."""
    qp = QP(P=np.eye(2), q=[-3.0, 0.0], A=[[0.1, 0.2], [0.3, 0.6000000000000001]], b=[0.1, 0.3])
    result = qpsvm.solve(qp)
    assert (result.status, 0.0 < result.data_change <= 1e-14) == ("optimal", True)
    assert "differ from these by at most" in result.summary()
    value = compute_optimum(QP(P=np.eye(2), q=[-3.0, 0.0], A=[[1.0, 2.0]], b=[1.0]))
    assert abs(Fraction(result.primal) - value) <= Fraction(1, 10**12)
    apart = qpsvm.solve(qp.replace(b=[0.1, 0.3 + 1e-12]), check=False)
    assert apart.status == "infeasible"
    assert proves_infeasible(qp.replace(b=[0.1, 0.3 + 1e-12]), apart)


@pytest.mark.parametrize("seed", [2, 3, 16, 24])
def test_decimals_that_agree_are_not_infeasible_whatever_the_scale_of_a_row(seed):
    """Equalities and inequalities through one point, more than variables: in floats no x satisfies all of them."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-9, 10, size=(6, 4)) / 10.0
    x = rng.integers(-9, 10, size=4) / 10.0
    G = (rng.integers(-9, 10, size=(2, 6)) / 10.0) @ A
    for row in (0, 3, 5):
        scale = np.where(np.arange(6) == row, 2.0**40, 1.0)
        qp = QP(P=np.eye(4), q=np.zeros(4), A=A * scale[:, None], b=(A @ x) * scale, G=G, h=G @ x, lb=x - 2, ub=x + 2)
        result = qpsvm.solve(qp)
        assert (result.status, 0.0 < result.data_change <= 1e-14) == ("optimal", True)
        assert result.x == pytest.approx(x, abs=1e-9)


def test_multipliers_belong_to_the_rows_and_bounds_they_came_from():
    """Minimise ½x² − 3x with x ≤ 2, said by a bound and by rows: 1 is the multiplier of whichever is tightest."""
    tight, loose = {"G": [[2.0]], "h": [4.0]}, {"G": [[2.0]], "h": [6.0]}
    for rows, z, z_box in (({"ub": 2.0}, [], 1.0), (tight, [0.5], 0.0), ({**loose, "ub": 2.0}, [0.0], 1.0)):
        result = qpsvm.solve(QP(P=[[1.0]], q=[-3.0], **rows))
        assert result.z == pytest.approx(z, abs=1e-9)
        assert result.z_box == pytest.approx([z_box], abs=1e-9)


def test_names_are_looked_at_before_the_rows():
    empty = QP(P=[[1.0]], q=[0.0], G=[[1.0], [-1.0]], h=[1.0, -2.0])
    with pytest.raises(qpsvm.UnknownOptionError, match="osqp"):
        qpsvm.solve(empty, "ospq")
    with pytest.raises(qpsvm.UnknownOptionError, match="eps_abs"):
        qpsvm.solve(empty, "osqp", eps_asb=1e-3)


def test_a_linear_program_without_cost_is_solved():
    """All multipliers are 0, and so is q, of which nothing is a share."""
    result = qpsvm.solve(QP(P=sp.csr_array((2, 2)), q=[0.0, 0.0], G=[[-0.3, 0.3], [0.1, 0.2]], h=[2.1, 0.3]))
    assert result.status == "optimal"
    assert -1e-300 < result.dual <= 0.0 <= result.primal < 1e-300


def test_multipliers_of_what_is_feasible_prove_nothing():
    slab = QP(P=np.eye(2), q=[0.0, 0.0], G=[[1.0, 2.0], [-1.0, -2.0]], h=[1.0, 0.0])
    point = slab.replace(h=[1.0, -1.0])
    for qp in (slab, point, point.replace(h=[1.0, np.nextafter(-1.0, -2.0)])):  # the last is empty by rounding only
        assert prove_infeasible(QPBounds(qp), np.zeros(0), np.ones(2)) is None
    assert prove_infeasible(QPBounds(slab.replace(h=[1.0, -1.1])), np.zeros(0), np.ones(2)) is not None


def test_rows_that_add_up_to_a_contradiction_up_to_rounding_are_infeasible():
    """The last row is minus a sum of the others, rounded: far away, where nobody looks, some points are feasible."""
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        G, z = rng.normal(size=(10, 15)), rng.exponential(size=10)
        h = rng.normal(size=10)
        A = rng.normal(size=(2, 15)) if seed % 2 else None
        qp = QP(
            P=np.eye(15), q=rng.normal(size=15), G=np.vstack([G, -(z @ G)]), h=[*h, -(z @ h) - 1e-4],
            A=A, b=None if A is None else [1.0, -1.0],
        )  # fmt: skip
        result = qpsvm.solve(qp, check=False)
        assert result.status == "infeasible", seed
        assert 0.0 < result.data_change <= 1e-14
        assert proves_infeasible(qp, result), seed


def test_feasible_points_are_excluded_only_if_they_are_far_away():
    """The rows nearly cancel. Some x satisfy them, with entries of 2⁵⁰ in the first case and of 2⁴³ in the second."""
    G = np.array([[1.0, 1.0], [-1.0, -1.0 + 2.0**-50]])
    far = QP(P=np.eye(2), q=[0.0, 0.0], G=G, h=[0.0, -1.0])
    proof = prove_infeasible(QPBounds(far, ROUNDING), np.zeros(0), np.ones(2))
    assert proof is not None
    assert 0.0 < proof.change < 1e-15
    assert prove_infeasible(QPBounds(far), np.zeros(0), np.ones(2)) is None  # the floats as they are
    near = far.replace(h=[2.0**30, -(2.0**30) - 2.0**-7])
    assert prove_infeasible(QPBounds(near, ROUNDING), np.zeros(0), np.ones(2)) is None


def test_a_singular_p_with_rows_is_unbounded_along_its_null_space():
    """No direction has Pd = 0 exactly: P is a product, rounded."""
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        F, A = rng.normal(size=(6, 16)), rng.normal(size=(9, 16))
        qp = QP(P=F.T @ F, q=rng.normal(size=16), A=A, b=A @ rng.normal(size=16))
        result = qpsvm.solve(qp, check=False)
        assert result.status == "unbounded", seed
        assert proves_unbounded(qp, result), seed


def test_rows_that_leave_no_slack_together_are_equalities():
    """The last row is minus a sum of others, so that these hold with equality at every feasible point; x is optimal."""
    for seed in range(4 * TABLES):
        rng = np.random.default_rng(seed)
        n, m = 10, 12
        G, x = rng.integers(-5, 6, size=(m, n)).astype(float), rng.integers(-5, 6, size=n)
        members = rng.choice(m, 4, replace=False)
        G = np.vstack([G, -(rng.integers(1, 5, size=4) @ G[members])])
        h = G @ x
        h[np.setdiff1d(np.arange(m), members)] += 1.0
        F = rng.integers(-5, 6, size=(n, 4))
        P = F @ F.T
        q = -P @ x - G[members].T @ rng.integers(0, 3, size=4)
        result = qpsvm.solve(QP(P=P, q=q, G=G, h=h), check=False)
        assert result.status == "optimal", seed
        assert result.dual <= x @ P @ x / 2 + q @ x <= result.primal, seed  # integers below 2⁵³


@pytest.mark.parametrize("infinity", [1e8, 1e20, 1e30])
def test_bounds_that_stand_for_infinity_change_nothing(infinity):
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        n = 9
        F, G = rng.normal(size=(n, 9 if seed % 2 else 4)), rng.normal(size=(3, n))
        P = F @ F.T
        qp = QP(P=P, q=P @ rng.normal(size=n) - G.T @ rng.random(3), G=G, h=np.ones(3), lb=-infinity, ub=infinity)
        result = qpsvm.solve(qp, check=False)
        assert result.status == "optimal", seed
        free = qpsvm.solve(qp.replace(lb=-np.inf, ub=np.inf))
        assert max(result.dual, free.dual) <= min(result.primal, free.primal), seed
        products = result.z_box * np.where(result.z_box > 0.0, infinity - result.x, -infinity - result.x)
        assert np.abs(products).max() <= 1e-6, seed
        empty = qp.replace(G=np.vstack([G, -G.sum(axis=0)]), h=[1.0, 1.0, 1.0, -4.0])
        result = qpsvm.solve(empty, check=False)
        assert result.status == "infeasible", seed
        assert proves_infeasible(empty.replace(lb=-np.inf, ub=np.inf), result), seed


@pytest.mark.parametrize("n", [2, 3, 7, 10, 30])
def test_a_sum_of_all_upper_bounds_fixes_the_variables(n):
    """Weights of at most 1/n that add up to 1: in floats n × 1/n is often less, so that no weights do."""
    ones, costs = np.ones((1, n)), 0.1 * np.arange(n)
    caps = {"G": np.vstack([np.eye(n), -np.eye(n)]), "h": np.repeat([1.0 / n, 0.0], n)}
    some_fixed = np.where(np.arange(n) < n // 2, 1.0 / n, 0.0)
    for rows in (
        {"A": ones, "b": [1.0], "lb": 0.0, "ub": 1.0 / n},
        {"A": -ones, "b": [-1.0], "lb": some_fixed, "ub": 1.0 / n},
        {"G": -ones, "h": [-1.0], "lb": 0.0, "ub": 1.0 / n},
        {"A": ones, "b": [1.0], **caps},
        {"A": np.vstack([ones, ones * (np.arange(n) < n - 1)]), "b": [1.0, 1.0 - 1.0 / n], "lb": 0.0, "ub": 1.0 / n},
    ):
        qp = QP(P=np.eye(n), q=costs - 1.0, **rows)
        result = qpsvm.solve(qp)
        assert result.data_change <= 1e-14
        assert result.x == pytest.approx(np.full(n, 1.0 / n), rel=1e-12)
        gradient = result.x + qp.q + result.z_box
        gradient += (0.0 if qp.A is None else qp.A.T @ result.y) + (0.0 if qp.G is None else qp.G.T @ result.z)
        assert np.abs(gradient).max() <= 1e-9
        lb, ub = qp.bounds
        assert (result.z >= 0.0).all()
        assert ((result.z_box >= -1e-12) | (lb == ub) | ~np.isfinite(ub)).all()  # every x_j is at its upper bound
    two_sided = qpsvm.solve(QP(P=np.eye(2), q=[0.0, 0.0], A=[[1.0, -1.0]], b=[1.5], lb=[0.0, -0.5], ub=[1.0, 2.0]))
    assert two_sided.x == pytest.approx([1.0, -0.5])
    z_box = -np.array([1.0, -0.5]) - two_sided.y[0] * np.array([1.0, -1.0])
    assert two_sided.z_box == pytest.approx(z_box, abs=1e-9)
    assert two_sided.z_box[0] >= 0.0 >= two_sided.z_box[1]


def test_a_slab_is_no_equality():
    result = qpsvm.solve(QP(P=np.eye(2), q=[-3.0, 0.0], G=[[1.0, 2.0], [-1.0, -2.0]], h=[1.0, 1.0]))
    assert result.status == "optimal"
    assert result.dual <= -4.1 <= result.primal + 1e-12
    assert result.z == pytest.approx([0.4, 0.0])


def test_without_a_point_there_is_none():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(600, 5))
    qp = QP(P=F @ F.T, q=rng.normal(size=600))  # too large for a ray in rational numbers
    with pytest.warns(qpsvm.InaccurateWarning, match="the solver gave no point") as caught:
        result = qpsvm.solve(qp, "osqp")
    assert np.isnan(result.x).all()
    assert str(caught[0].message).count("the solver gave no point") == 1
    assert "standardise" not in str(caught[0].message)
    assert "residuals" not in result.summary()


def test_what_a_solver_reports_is_not_called_a_status():
    solution = qpsvm.compile(QP(P=[[1.0]], q=[-3.0], lb=0.0, ub=1.0), "osqp").solve(eps_abs=0.1, eps_rel=0.1)
    assert solution.reported == "optimal"
    assert not hasattr(solution, "status")
    assert "measured_gap=" in repr(solution)
