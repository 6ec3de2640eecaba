"""The mechanical dual against the hand-derived ones, and against duality itself on random QPs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matrix import KERNELS, VARIANTS, Cell, solve_reference

import qpsvm
from qpsvm import dualise
from qpsvm.program.qp import QP, Rows
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.space.operators import Dense, Diagonal, LowRank

ALL_CELLS = [Cell(variant, kernel, 1.0) for variant in VARIANTS for kernel in KERNELS]
#: Those that general solvers finish to 1e-6 in α on the textbook QP as it stands, without scaling and polishing.
CELLS = [cell for cell in ALL_CELLS if cell.kernel in ("linear", "rbf")]
#: Those whose primal and dual are each other's number for number; λ puts the primal hinge problem in other units.
SAME_UNITS = [cell for cell in CELLS if not cell.variant.startswith("hinge")]


def solve_program(qp: QP, solver: str = "cvxpy", tol: float = 1e-9) -> QPSolution:
    """Return a general solver's answer to a QP."""
    return qpsvm.compile(qp, solver).solve(tol=tol)


def dense(matrix) -> np.ndarray:
    """A dense copy of an array, a sparse array or None, (0, …) for that."""
    if matrix is None:
        return np.zeros((0, 0))
    if sp.issparse(matrix):
        return matrix.toarray()
    return np.asarray(matrix)


def same_numbers(one: QP, other: QP, tolerance: float = 1e-13) -> bool:
    """Whether two QPs have the same matrices, vectors and bounds, whatever their names."""
    pairs = [
        (one.P.dense(), other.P.dense()),
        (one.q, other.q),
        (dense(one.G), dense(other.G)),
        (dense(one.A), dense(other.A)),
        (one.h, other.h),
        (one.b, other.b),
        *zip(one.bounds, other.bounds, strict=True),
    ]
    return all(
        (a is None and b is None) or (a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance))
        for a, b in pairs
    )


# --- the four variants ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@for_each("cell", CELLS)
def test_the_mechanical_dual_has_the_optimum_and_the_multipliers_of_the_hand_derived_one(cell):
    problem = cell.build_problem()
    known = solve_reference(cell.variant, cell.kernel)
    primal = problem.qp("primal")
    answer = solve_program(dualise(primal))
    assert answer.reported is Status.OPTIMAL
    assert answer.objective == pytest.approx(-known.primal, rel=1e-6, abs=1e-9)
    margin = answer.qp.split(answer.x)["margin"] / known.unit  # λα for the primal hinge problem (PHINGE.16)
    assert margin == pytest.approx(known.alpha[problem.active_rows], abs=1e-6 * max(1.0, known.alpha.max()))
    if cell in SAME_UNITS:  # the multipliers of stationarity are x
        x = primal.split(answer.qp.multiplier("stationarity", answer.z, answer.y))
        assert x["b"][0] == pytest.approx(known.b, abs=1e-5 * max(1.0, abs(known.b)))
        assert x["w"] == pytest.approx(answer.qp.split(answer.x)["v"], abs=1e-6)  # v = Fᵀx, and F = (I, 0)ᵀ


@for_each("cell", ALL_CELLS)
def test_reduced_it_is_the_hand_derived_dual_number_for_number(cell):
    problem = cell.build_problem()
    mechanical = dualise(problem.qp("primal"), reduced=True)
    assert list(mechanical.variables) == ["margin"]
    lam = getattr(problem, "lam", 1.0)
    in_alpha = mechanical.scaled({"margin": lam}, {"stationarity": 1 / lam}, 1.0)
    assert same_numbers(in_alpha, problem.qp("dual"), 1e-10)


@for_each("cell", [cell for cell in SAME_UNITS if cell.kernel == "linear"])
def test_the_dual_of_the_dual_is_the_primal_number_for_number(cell):
    problem = cell.build_problem()
    assert same_numbers(dualise(problem.qp("dual"), reduced=True), problem.qp("primal"))


def test_v_is_as_short_as_P_has_rank():
    problem = Cell("csvm", "linear", 1.0).build_problem()
    n, d = problem.X.shape
    assert {name: part.stop - part.start for name, part in dualise(problem.qp("primal")).variables.items()} == {
        "v": d,
        "margin": n,
        "lower": n,
    }
    explicit = QP(P=Dense(problem.qp("dual").P.dense()), q=-np.ones(n), lb=np.zeros(n), ub=np.ones(n))
    assert dualise(explicit).variables["v"] == slice(0, d)


def test_it_can_be_read():
    text = str(dualise(Cell("nusvm", "linear", 1.0).build_problem().qp("dual")))
    assert "Dorn dual (DORN.6)" in text
    assert "½‖v‖² + bᵀbalance + bᵀnu + ubᵀupper + (−lb)ᵀlower" in text
    assert "stationarity" in text


# --- random QPs -------------------------------------------------------------------------------------------------------


@st.composite
def convex_qps(draw) -> QP:
    """Feasible and bounded: made around a feasible x and feasible multipliers, with every kind of bound and of P."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, p, k = (draw(st.integers(low, high)) for low, high in ((1, 6), (0, 5), (0, 2), (0, 3)))
    Z = rng.normal(size=(n, k))
    d = rng.uniform(0.5, 2.0, n) * (rng.random(n) < 0.5)
    P = draw(st.sampled_from([Diagonal(d), LowRank(Z), LowRank(Z, d), Dense(Z @ Z.T), LowRank(Z, None, d + 1)]))
    sparse = draw(st.booleans())
    x = rng.normal(size=n)
    G = rng.normal(size=(m, n))
    A = rng.normal(size=(min(p, n), n))
    kinds = np.array(draw(st.lists(st.sampled_from(["free", "low", "high", "both", "fixed"]), min_size=n, max_size=n)))
    room = rng.uniform(0.0, 1.0, (2, n)) * (kinds != "fixed")
    lb = np.where(np.isin(kinds, ["low", "both", "fixed"]), x - room[0], -np.inf)
    ub = np.where(np.isin(kinds, ["high", "both", "fixed"]), x + room[1], np.inf)
    z = rng.exponential(size=m)
    y = rng.normal(size=len(A))
    box = rng.normal(size=n)
    assume(m or len(A) or P.dense().any() or (kinds != "free").any())  # CVXPY returns no x for a constant objective
    box = np.where((box > 0) & np.isinf(ub) | (box < 0) & np.isinf(lb), 0.0, box)
    q = -(P @ rng.normal(size=n)) - G.T @ z - A.T @ y - box
    wrap = sp.csc_array if sparse else np.asarray
    return QP(
        P=P,
        q=q,
        r=float(rng.normal()),
        lb=lb,
        ub=ub,
        **({"G": wrap(G), "h": G @ x + rng.exponential(size=m)} if m else {}),
        **({"A": wrap(A), "b": A @ x} if len(A) else {}),
        constraints={
            **({"one": Rows("G", slice(0, m // 2), "one"), "two": Rows("G", slice(m // 2, m), "two")} if m else {}),
        },
    )


def lagrange_bound(qp: QP, t: dict[str, np.ndarray]) -> float:
    """(DORN.4) written out for the multipliers t of the dual's variables, with v for Fᵀu."""
    if "v" in t:
        value = qp.r - 0.5 * float(t["v"] @ t["v"])
    else:
        value = qp.r
    for name, group in qp.constraints.items():
        if name in t:
            value -= float((qp.h if group.matrix == "G" else qp.b)[group.rows] @ t[name])
    lb, ub = qp.bounds
    if "upper" in t:
        value -= float(ub[np.isfinite(ub)] @ t["upper"])
    if "lower" in t:
        return value + float(lb[np.isfinite(lb)] @ t["lower"])
    return value


@pytest.mark.slow
@given(convex_qps())
@settings(max_examples=60)
def test_strong_duality(qp):
    primal = solve_program(qp)
    assert primal.reported is Status.OPTIMAL
    value = primal.objective
    close = {"rel": 1e-6, "abs": 1e-6}
    for reduced in (False, True):
        dual = dualise(qp, reduced=reduced)
        if dual.n:
            answer = solve_program(dual)
            assert answer.reported is Status.OPTIMAL
            assert -answer.objective == pytest.approx(value, **close)
        else:
            assert -dual.r == pytest.approx(value, **close)


@pytest.mark.slow
@given(convex_qps(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_dual_is_the_lagrangian_at_any_multipliers(qp, seed):
    """Not at a solution only: the objective is (DORN.4) and the rows are the gradient (DORN.3), at random points."""
    rng = np.random.default_rng(seed)
    dual = dualise(qp)
    t = rng.exponential(size=dual.n)
    parts = dual.split(t)
    assert -dual.objective(t) == pytest.approx(lagrange_bound(qp, parts), rel=1e-9, abs=1e-9)
    x = rng.normal(size=qp.n)
    lb, ub = qp.bounds
    row = qp.q.astype(float).copy()
    for name, group in qp.constraints.items():
        if name in parts:
            row += dense(qp.G if group.matrix == "G" else qp.A)[group.rows].T @ parts[name]
    row[np.isfinite(ub)] += parts.get("upper", 0.0)
    row[np.isfinite(lb)] -= parts.get("lower", 0.0)
    k = len(parts["v"]) if "v" in parts else 0
    F = -dense(dual.A)[:, :k]
    assert np.allclose(F @ F.T, qp.P.dense(), atol=1e-12)
    row += F @ t[:k]
    assert x @ (dual.A @ t - dual.b) == pytest.approx(-x @ row, rel=1e-9, abs=1e-9)


# --- infeasible, unbounded, not convex --------------------------------------------------------------------------------

INFEASIBLE = QP(  # x ≥ 1 and x ≤ 0
    P=Diagonal(np.array([1.0, 0.0])),
    q=np.array([1.0, 1.0]),
    G=np.array([[-1.0, 0.0], [1.0, 0.0]]),
    h=np.array([-1.0, 0.0]),
    lb=np.zeros(2),
)
UNBOUNDED = QP(  # x_0 → ∞ along x_1 = x_0
    P=Diagonal(np.zeros(2)), q=np.array([-1.0, 0.0]), G=np.array([[1.0, -1.0]]), h=np.ones(1), lb=np.zeros(2)
)


@for_each("solver", ["cvxpy", "osqp"])
@for_each("reduced", [False, True])
def test_infeasible_and_unbounded_are_each_others_dual(solver, reduced):
    assert solve_program(INFEASIBLE, solver).reported is Status.INFEASIBLE
    assert solve_program(dualise(INFEASIBLE, reduced=reduced), solver).reported is Status.UNBOUNDED
    assert solve_program(UNBOUNDED, solver).reported is Status.UNBOUNDED
    assert solve_program(dualise(UNBOUNDED, reduced=reduced), solver).reported is Status.INFEASIBLE


def test_a_qp_that_is_not_convex_has_no_dual():
    with pytest.raises(qpsvm.UnsupportedError, match=r"eigenvalue -1.*not convex"):
        dualise(QP(P=Dense(np.array([[0.0, 1.0], [1.0, 0.0]])), q=np.zeros(2)))
    with pytest.raises(qpsvm.UnsupportedError, match="not convex"):
        dualise(QP(P=Diagonal(np.array([1.0, -2.0])), q=np.zeros(2)))


def test_a_negative_diagonal_that_the_factor_outweighs_is_convex():
    P = LowRank(np.eye(3) * 2.0, -np.ones(3))
    qp = QP(P=P, q=np.array([1.0, -2.0, 3.0]))
    assert dualise(qp).variables["v"] == slice(0, 3)
    assert -solve_program(dualise(qp)).objective == pytest.approx(-14 / 6)


def test_only_a_qp_can_be_dualised():
    with pytest.raises(qpsvm.ParameterTypeError, match=r"such as problem\.qp"):
        dualise(Cell("csvm", "linear", 1.0).build_problem())


def test_names_that_are_taken_are_not_taken_twice():
    qp = QP(
        P=Diagonal(np.ones(2)),
        q=np.ones(2),
        A=np.ones((1, 2)),
        b=np.ones(1),
        lb=np.zeros(2),
        constraints={"v": Rows("A", slice(0, 1), "1ᵀx = 1")},
    )
    assert list(dualise(qp).variables) == ["v_", "v", "lower"]
    assert list(dualise(qp, reduced=True).variables) == ["v", "lower"]


@for_each("reduced", ["yes", np.array([1, 2])])
def test_reduced_is_a_truth_value(reduced):
    with pytest.raises(qpsvm.ParameterTypeError, match="reduced must be True or False"):
        dualise(INFEASIBLE, reduced=reduced)


def test_one_variable_is_left():
    qp = QP(P=Diagonal(np.array([1.0, 2.0])), q=np.array([1.0, 2.0]), r=3.0)
    reduced = dualise(qp, reduced=True)
    assert reduced.n == 1
    assert -solve_program(reduced).objective == pytest.approx(1.5)
    constant = dualise(QP(P=Diagonal(np.zeros(2)), q=np.zeros(2), r=3.0))
    assert constant.n == 1
    assert -solve_program(constant).objective == pytest.approx(3.0)
    unbounded = QP(P=Diagonal(np.zeros(2)), q=np.ones(2))
    assert solve_program(dualise(unbounded)).reported is Status.INFEASIBLE
