"""The interior point method and CVXOPT's structured KKT systems: optimality conditions, measured from outside."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from hostile import SPOILERS, draw_samples
from pairwise import cover_pairs

import qpsvm
from qpsvm.backends.external.cvxopt_structured import StructuredKKT, solve_structured
from qpsvm.program.qp import QP
from qpsvm.program.residuals import compute_dual_residual, compute_duality_gap, compute_primal_residual
from qpsvm.solvers.interior_point.mehrotra import InteriorPointSolution, Iterate, solve_mehrotra
from qpsvm.solvers.interior_point.rows import recognise_soft_rows
from qpsvm.solvers.interior_point.systems import DenseColumns, SparseColumns, build_columns, compute_row_pairs
from qpsvm.space.operators import Dense, Diagonal, LowRank

#: Of KKT residuals, relative to the size of the terms.
ACCURACY = 1e-7


def solve_program(qp: QP, **options) -> InteriorPointSolution:
    return solve_mehrotra(qp.P, qp.q, qp.A, qp.b, qp.lb, qp.ub, **{"tol": 1e-9, **options})


def assert_optimal(qp: QP, found: InteriorPointSolution, accuracy: float = ACCURACY) -> None:
    """By the residuals of `kkt`, relative to the sizes of gradient, point and objective."""
    assert found.reason == "converged"
    x = found.x
    y = found.y
    z_box = found.z_box
    gradient = max(1e-300, *(np.abs(part).max(initial=0.0) for part in (qp.q, qp.P @ x, z_box)))
    size = max(1e-300, np.abs(x).max(), *(np.abs(part).max(initial=0.0) for part in (qp.b,) if part is not None))
    nothing = np.zeros(0)
    assert compute_dual_residual(qp, x, y, nothing, z_box) <= accuracy * gradient
    assert compute_primal_residual(qp, x) <= accuracy * size * np.sqrt(len(x))
    value = max(abs(qp.objective(x)), 1e-3 * gradient * size)
    assert compute_duality_gap(qp, x, y, nothing, z_box) <= accuracy * value
    assert found.objective == pytest.approx(qp.objective(x), rel=1e-6, abs=1e-6 * value)
    assert (x >= qp.bounds[0]).all()
    assert (x <= qp.bounds[1]).all()


def by_cvxopt(qp: QP) -> float:
    """The optimal value."""
    return qp.objective(qpsvm.compile(qp, "cvxopt").solve(abstol=1e-30, reltol=1e-9, feastol=1e-9).x)


def random_qp(rng: np.random.Generator, kind: str, structure: str, rows: int) -> QP:
    n, k = 40, 6
    Z = rng.standard_normal((n, k))
    d = rng.random(n) * (rng.random(n) < 0.5)
    if structure == "low rank":
        P = LowRank(Z)
    elif structure == "sparse":
        Z[rng.random((n, k)) < 0.7] = 0.0
        P = LowRank(sp.csr_array(Z), d)
    elif structure == "low rank + diagonal":
        P = LowRank(Z, d)
    elif structure == "dense":
        P = Dense(Z @ Z.T + np.diag(d))
    else:
        P = Diagonal(d + 0.1)
    inner = rng.standard_normal(n)
    lb, ub = inner - rng.random(n), inner + rng.random(n)
    if kind == "one-sided":
        ub[:] = np.inf
    elif kind == "mixed":  # a few free: their curvature must come from P or the rows
        side = rng.integers(0, 4, n)
        lb[side == 0] = -np.inf
        ub[side == 1] = np.inf
        lb[:3] = -np.inf
        ub[:3] = np.inf
    elif kind == "fixed":
        ub[:5] = lb[:5] = inner[:5]
    A = rng.standard_normal((rows, n)) if rows else None
    dual = rng.random(n)  # with q = Σ of a feasible dual point the problem is bounded
    dual = np.where(np.isfinite(lb), dual, 0.0) - np.where(np.isfinite(ub), rng.random(n), 0.0)
    return QP(P, dual - P @ rng.standard_normal(n), A=A, b=None if A is None else A @ inner, lb=lb, ub=ub)


STRUCTURES = ("low rank", "sparse", "low rank + diagonal", "dense", "diagonal")
KINDS = ("box", "one-sided", "mixed", "fixed")
#: Samples of an ordinary scale.
DEGENERATE = tuple(each for each in SPOILERS if each not in ("scale", "columns", "one column", "tiny", "huge"))


@for_each("structure, kind, rows, seed", cover_pairs(STRUCTURES, KINDS, (0, 1, 2), (0, 1, 2)))
def test_random_qps(structure, kind, rows, seed):
    qp = random_qp(np.random.default_rng(seed), kind, structure, rows)
    found = solve_program(qp)
    assert_optimal(qp, found)
    if kind != "fixed":  # CVXOPT needs an interior
        assert qp.objective(found.x) == pytest.approx(by_cvxopt(qp), rel=1e-6, abs=1e-7)
    if found.v is not None:
        Z, _ = qp.P.factor()
        assert found.v == pytest.approx(Z.T @ found.x, abs=1e-6 * (1 + np.abs(found.v).max(initial=0.0)))


def samples(n: int, d: int, seed: int = 0, gap: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    X[:, 0] += gap * y
    return X, y


def test_the_dual_of_every_variant():
    X, y = samples(200, 4)
    c_svms = [qpsvm.CSVM(X, y, C) for C in (0.01, 100.0)]
    hard = qpsvm.HardMargin(*samples(120, 3, gap=2.0))  # without upper bounds
    for problem in (*c_svms, qpsvm.NuSVM(X, y, 0.4), qpsvm.PrimalHinge(X, y, 0.1), hard):
        qp = problem.qp("dual")
        found = solve_program(qp)
        assert_optimal(qp, found)
        assert problem.certify(found.x).gap <= (1e-7 if problem is hard else 1e-6)


def test_inseparable_hard_margin_ends():
    X, y = samples(100, 3)
    found = solve_program(qpsvm.HardMargin(X, y).qp("dual"))
    assert found.reason in {"numerical_error", "iteration_limit"}
    assert np.isfinite(found.x).all()


@for_each("lam", [1e-9, 1e-6, 1e-3])
def test_rounding_ends_a_run_soon(lam):
    """Where rounding makes the gap creep, a run may not go on for as long again as it took to get there."""
    X, y = samples(40, 2)
    for intercept in ("free", "penalised", None):
        qp = qpsvm.PrimalHinge(1e6 * X, y, lam, intercept=intercept).qp("dual")
        found = qpsvm.compile(qp, "interior_point").solve(tol=1e-11)
        assert found.iterations <= 36


@for_each("spoiler, C", cover_pairs(DEGENERATE, (1e-3, 1.0, 1e3)))
def test_degenerate_samples(spoiler, C):
    X, y = draw_samples(np.random.default_rng(1), spoiler, 61)
    if spoiler == "plain":
        X = X * 10.0 ** np.linspace(-4.0, 4.0, X.shape[1])
    problem = qpsvm.CSVM(X, y, C)
    qp = problem.qp("dual")
    kappa = qp.P.diagonal().mean() or 1.0
    found = solve_program(qp.scaled({"alpha": 1.0 / kappa}, {}, kappa))  # as `solve` does
    assert found.reason == "converged"
    assert problem.certify(found.x / kappa).gap <= 1e-5  # not polished


def test_everything_fixed_or_nothing_to_do():
    fixed = QP(Dense(np.eye(2)), np.ones(2), lb=np.ones(2), ub=np.ones(2))
    assert_optimal(fixed, solve_program(fixed))
    free = QP(Diagonal(np.ones(3)), np.array([1.0, 2.0, 3.0]))
    assert solve_program(free).x == pytest.approx([-1.0, -2.0, -3.0], abs=1e-7)


def test_limits_and_refusals(capsys):
    X, y = samples(200, 4)
    qp = qpsvm.CSVM(X, y, 1.0).qp("dual")
    assert solve_program(qp, max_iter=2).reason == "iteration_limit"
    assert solve_program(qp, time_limit=0.0).reason == "time_limit"
    assert capsys.readouterr().out == ""
    lines = solve_program(qp, verbose=True).iterations + 1
    printed = capsys.readouterr().out
    assert printed.count("\n") == lines
    assert all(word in printed for word in ("objective", "gap", "primal", "dual", "step", " s\n"))
    assert "inf" not in printed
    with pytest.raises(qpsvm.ParameterError, match="max_iter"):
        solve_program(qp, max_iter=0)
    with pytest.raises(qpsvm.ParameterError, match="entry 1"):
        solve_mehrotra(qp.P, qp.q, lb=np.eye(200)[1], ub=np.zeros(200))


#: Matrices Z (n, k) and weights D (n,), and how Z is kept.
PRODUCTS = {
    "sparse": ((300, 200), 0.01, SparseColumns),
    "hardly sparse": ((9000, 60), 0.15, DenseColumns),
    "dense, a wide range of weights": ((3000, 60), 1.0, DenseColumns),
}


@for_each("name", PRODUCTS)
def test_products_are_those_of_the_matrix(name):
    shape, density, kept = PRODUCTS[name]
    rng = np.random.default_rng(0)
    Z = sp.random_array(shape, density=density, random_state=rng, format="csr")
    A = rng.standard_normal((2, shape[0]))
    D = 10.0 ** rng.uniform(-9, 2, shape[0])
    B = np.hstack([Z.toarray(), A.T])
    columns = build_columns(Z if density < 1.0 else Z.toarray(), A, np.zeros((2, shape[1])))
    assert isinstance(columns, kept)
    x, rho = rng.standard_normal((2, shape[0]))
    u = rng.standard_normal(B.shape[1])
    M, Bx, BDrho = columns.build_normal_equations(D, x, rho)
    assert np.allclose(M, B.T @ (D[:, None] * B))
    assert np.allclose(Bx, B.T @ x)
    assert np.allclose(BDrho, B.T @ (D * rho))
    assert np.allclose(columns.multiply(u), B @ u)
    assert compute_row_pairs(sp.csr_array((4, 3))).shape == (6, 4)


@for_each("kind", ["box", "fixed"])
def test_more_columns_than_rows(kind):
    rng = np.random.default_rng(0)
    n = 300
    lb = -rng.random(n)
    ub = rng.random(n)
    A = rng.standard_normal((1, n))
    if kind == "fixed":
        lb[:20] = ub[:20] = 0.1
    Z = rng.standard_normal((n, 500)) + 3.0
    qp = QP(LowRank(Z), rng.standard_normal(n) * 50, A=A, b=A @ np.clip(np.full(n, 0.1), lb, ub), lb=lb, ub=ub)
    found = solve_program(qp, tol=1e-7)
    assert_optimal(qp, found, 1e-5)
    assert found.v == pytest.approx(Z.T @ found.x, abs=1e-5 * np.abs(found.v).max())


def test_an_objective_that_is_small_beside_what_C_allows():
    X, y = samples(60, 3, gap=2.0)
    assert qpsvm.solve(qpsvm.CSVM(1e7 * X, y, 1e6), backend="interior_point", polish=False).gap <= 1e-6


def test_an_interrupt_leaves_nothing_behind(monkeypatch):
    X, y = samples(200, 4)
    problem = qpsvm.CSVM(X, y, 1.0)
    for form in ("dual", "primal"):
        compiled = qpsvm.compile(problem.qp(form), "interior_point")
        whole = compiled.solve().x
        with monkeypatch.context() as patch:
            patch.setattr(Iterate, "factorise", interrupt_at_call(4, Iterate.factorise))
            with pytest.raises(KeyboardInterrupt):
                compiled.solve()
        assert (compiled.solve().x == whole).all()


def interrupt_at_call(count: int, method):
    calls = []

    def run_or_interrupt(self):
        calls.append(1)
        if len(calls) == count:
            raise KeyboardInterrupt
        method(self)

    return run_or_interrupt


@for_each("variant", ["soft", "sparse", "hard", "scaled", "squared", "huber", "huber scaled"])
def test_primal_rows(variant):
    X, y = samples(80, 3, gap=2.0 if variant == "hard" else 0.0)
    if variant == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    machines = {"hard": qpsvm.HardMargin, "squared": qpsvm.SquaredHinge, "huber": qpsvm.HuberHinge}
    problem = machines.get(variant.split()[0], qpsvm.CSVM)(X, y)
    qp = problem.qp("primal")
    if variant.endswith("scaled"):
        qp = qp.scaled(
            {name: by for name, by in (("xi", 3.0), ("zeta", 0.2), ("w", 0.5)) if name in qp.variables}, {}, 7.0
        )
    rows = recognise_soft_rows(qp.P.diagonal(), qp.q, qp.G, qp.h, *qp.bounds)
    assert rows is not None
    found = rows.solve(tol=1e-12 if "huber" in variant else 1e-9)  # a row at the kink has α of √tol
    assert found.reason == "converged"
    assert found.objective == pytest.approx(by_cvxopt(qp), rel=1e-6)
    assert found.objective == pytest.approx(qp.objective(found.x), rel=1e-12)
    assert compute_primal_residual(qp, found.x) <= 1e-14
    assert compute_dual_residual(qp, found.x, np.zeros(0), found.z, found.z_box) <= 1e-6
    assert compute_duality_gap(qp, found.x, np.zeros(0), found.z, found.z_box) <= 1e-6 * abs(found.objective)


def test_other_forms_are_not_recognised():
    G = np.array([[1.0, -1.0]])
    h = np.ones(1)
    inf = np.inf
    d = np.array([1.0, 0.0])
    q = np.ones(2)
    assert recognise_soft_rows(d, q, G, h, np.array([-inf, 0.0]), np.full(2, inf)) is not None
    assert recognise_soft_rows(d, q, -G, h, np.array([-inf, 0.0]), np.full(2, inf)) is None
    assert recognise_soft_rows(d, q, G, h, np.zeros(2), np.full(2, inf)) is None
    assert recognise_soft_rows(d, q, G, h, np.array([-inf, 0.0]), np.array([inf, 1.0])) is None


def test_a_row_has_one_slack_of_each_kind():
    """Two slacks, one of which costs its square, are Huber's loss; of two of one kind, one would be enough."""
    G = np.array([[1.0, -1.0, -1.0]])
    h = -np.ones(1)
    lb = np.array([-np.inf, 0.0, 0.0])
    ub = np.full(3, np.inf)
    one = np.array([1.0, 2.0, 0.0])
    two = np.array([1.0, 0.0, 0.0])
    both = np.array([1.0, 2.0, 3.0])
    rows = recognise_soft_rows(one, np.array([0.0, 0.0, 0.5]), G, h, lb, ub)
    assert rows is not None
    found = rows.solve(tol=1e-10)  # ½w² + ξ² + ½ζ over w + 1 ≤ ξ + ζ: the multiplier of the row is ½
    np.testing.assert_allclose(found.x, [-0.5, 0.25, 0.25], atol=1e-8)
    np.testing.assert_allclose(found.z, [0.5], atol=1e-8)
    assert found.objective == pytest.approx(0.3125)
    assert recognise_soft_rows(two, np.array([0.0, 1.0, 0.5]), G, h, lb, ub) is None
    assert recognise_soft_rows(both, np.zeros(3), G, h, lb, ub) is None


@pytest.mark.slow
def test_cvxopt_with_structure_is_fast():
    X, y = samples(20_000, 30)
    began = time.process_time()
    none, ones = np.zeros(len(y)), np.ones(len(y))
    options = {"show_progress": False, "abstol": 1e-30, "reltol": 1e-7, "feastol": 1e-7}
    answer = solve_structured(y[:, None] * X, none, -ones, none, ones, y[None], np.zeros(1), options)
    assert time.process_time() - began < 20  # one second on an idle machine
    assert qpsvm.CSVM(X, y, 1.0).certify(np.array(answer["x"]).ravel()).gap <= 1e-6


@for_each("p", [0, 1, 2])
@for_each("sparse", [False, True])
def test_kkt_systems_over_a_wide_range_of_scalings(p, sparse):
    from cvxopt import matrix

    rng = np.random.default_rng(p)
    n, k = 50, 4
    Z = rng.standard_normal((n, k))
    A = rng.standard_normal((p, n))
    d = rng.random(n)
    lb = np.where(rng.random(n) < 0.2, -np.inf, 0.0)
    ub = np.where(rng.random(n) < 0.2, np.inf, 1.0)
    low, high = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
    G = np.vstack([-np.eye(n)[low], np.eye(n)[high]])
    w = 10.0 ** rng.uniform(-4, 4, len(G))
    kktsolver = StructuredKKT(sp.csr_array(Z) if sparse else Z, d, lb, ub, A).factor
    right = [rng.standard_normal(size) for size in (n, p, len(G))]
    x, y, z = (matrix(part, (len(part), 1)) for part in right)
    kktsolver({"d": matrix(w), "di": matrix(1 / w)})(x, y, z)
    x, y, z = (np.array(part).ravel() for part in (x, y, z))
    z = z / w
    curvature = np.abs(G.T) @ ((np.abs(G @ x) + np.abs(right[2])) / w**2)  # z is a difference of these two
    terms = np.abs(Z) @ np.abs(Z.T @ x) + np.abs(right[0]) + np.abs(A.T) @ np.abs(y) + curvature
    assert (np.abs(Z @ (Z.T @ x) + d * x + A.T @ y + G.T @ z - right[0]) <= 1e-12 * terms).all()
    assert (np.abs(A @ x - right[1]) <= 1e-12 * (np.abs(A) @ np.abs(x))).all()
    assert (np.abs(G @ x - w * w * z - right[2]) <= 1e-12 * (np.abs(G @ x) + np.abs(right[2]))).all()
