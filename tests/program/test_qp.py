"""The QP object: checked when made, printed, lifted, scaled, and measured by its residuals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from matrix import CELLS, FORMS, Cell

import qpsvm
from qpsvm.program import residuals
from qpsvm.program.qp import QP, Rows
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.space.operators import Dense, Diagonal, LowRank

AT_SCALE_1 = [cell for cell in CELLS if cell.scale == 1.0]
I2, ZERO2, ONE_ROW = Diagonal(np.ones(2)), np.zeros(2), np.ones((1, 2))


# --- the QP is checked when it is made --------------------------------------------------------------------------------


@for_each(
    "parts, message",
    [
        ({"P": Diagonal(np.ones(3))}, r"P has shape \(3, 3\) where q has 2"),
        ({"q": np.array([0.0, np.nan])}, "q is not finite in entry 1"),
        ({"r": np.nan}, "r"),
        ({"P": Diagonal(np.array([1.0, np.nan]))}, "P"),
        ({"P": Dense(np.array([[np.inf, 0.0], [0.0, 1.0]]))}, "P"),
        ({"P": [[1.0, 2.0], [2.00000001, 1.0]]}, r"P\[0, 1\] = 2 and P\[1, 0\] = 2.00000001; use \(P"),
        (
            {"P": [[1.0, 2.0], [0.0, 1.0]]},
            r"P\[1, 0\] = 0; if this triangle stands for both, .* use P \+ Pᵀ − diag\(P\)",
        ),
        ({"G": ONE_ROW}, "G and h go together"),
        ({"A": ONE_ROW}, "A and b go together"),
        ({"G": np.ones((1, 3)), "h": np.ones(1)}, r"G has shape \(1, 3\) where \(1, 2\)"),
        ({"G": ONE_ROW, "h": np.ones((1, 1))}, "h"),
        ({"G": ONE_ROW * [1.0, np.nan], "h": np.ones(1)}, "G is nan in row 0, column 1"),
        ({"G": sp.csc_array(ONE_ROW * [1.0, np.nan]), "h": np.ones(1)}, "G is nan in row 0, column 1"),
        ({"A": ONE_ROW, "b": np.array([np.inf])}, "b is inf in entry 0; a constraint without a limit"),
        ({"G": sp.csc_array(ONE_ROW * np.inf), "h": np.ones(1)}, "G is inf in row 0, column 0"),
        ({"lb": np.zeros(3)}, r"lb has shape \(3,\) where \(2,\)"),
        ({"ub": np.array([np.nan, 1.0])}, "ub has a NaN in entry 0"),
        ({"lb": np.array([0.0, 2.0]), "ub": np.ones(2)}, "lb > ub in entry 1: 2 > 1"),
        ({"lb": np.array([np.inf, 0.0])}, "lb is inf in entry 0: no x satisfies that"),
        ({"ub": np.array([0.0, -np.inf])}, "ub is -inf in entry 1: no x satisfies that"),
        ({"variables": {"x": slice(0, 1)}}, "variables"),
        ({"variables": {"x": slice(0, 2), "y": slice(1, 3)}}, "variables"),
        ({"constraints": {"g": Rows("G", slice(0, 1), "")}}, "constraint"),
        ({"A": ONE_ROW, "b": np.ones(1), "constraints": {"a": Rows("A", slice(0, 2), "")}}, "constraint"),
    ],
)
def test_a_qp_is_checked_when_made(parts, message):
    with pytest.raises(qpsvm.DataError, match=message):
        QP(**({"P": I2, "q": ZERO2} | parts))


def test_a_qp_needs_no_names():
    qp = QP(P=I2, q=ZERO2)
    assert dict(qp.variables) == {"x": slice(0, 2)}
    assert qp.n == 2
    np.testing.assert_array_equal(qp.bounds[0], [-np.inf, -np.inf])
    np.testing.assert_array_equal(qp.bounds[1], [np.inf, np.inf])


#: P, q, G, h, A, b, lb, ub.
LISTS = ([[2, 1], [1, 2]], [1, -1], [[1, 1]], [1], [[1, -1]], [0], [0, 0], [1, 1])
PLAIN = {
    "lists": LISTS,
    "integers": tuple(np.array(part) for part in LISTS),
    "float32": tuple(np.array(part, dtype="f4") for part in LISTS),
    "numbers as bounds": (*LISTS[:6], 0, 1),
    **{
        form: (sp.coo_array([[2, 1], [1, 2]]).asformat(form), [1, -1], sp.coo_array([[1, 1]]).asformat(form), [1],
               sp.coo_array([[1, -1]]).asformat(form), [0], [0, 0], [1, 1])
        for form in ("coo", "csr", "csc", "dok", "lil", "dia")
    },
    "matrix classes": (sp.csr_matrix(LISTS[0]), [1, -1], sp.csc_matrix([[1, 1]]), [1],
                       np.array([[1, -1]]).view(np.matrix), [0], 0, 1),
    "twice the same entry": (sp.coo_array(([1.0, 1.0, 1.0, 1.0, 2.0], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1]))), *LISTS[1:]),
}  # fmt: skip


@for_each("name", PLAIN)
def test_a_qp_by_hand_is_made_of_what_one_has(name):
    """And every backend that takes any QP solves it: x = (0, 0), as x₁ = x₂ and the objective is 3x₁² there."""
    P, q, G, h, A, b, lb, ub = PLAIN[name]
    qp = QP(P, q, 1, G, h, A, b, lb, ub)
    np.testing.assert_array_equal(qp.P.dense(), [[2, 1], [1, 2]])
    for vector in (qp.q, qp.h, qp.b, qp.lb, qp.ub):
        assert vector.dtype == np.float64
        assert vector.ndim == 1
    assert qp.objective([1, 1]) == 4.0
    assert "memory" in str(qp)
    assert qpsvm.dualise(qp).n > 2
    for backend in ("cvxopt", "osqp", "cvxpy", "slsqp"):
        answer = qpsvm.compile(qp, backend).solve(**({"tol": 1e-7} if backend != "slsqp" else {}))
        assert answer.reported is Status.OPTIMAL, backend
        assert answer.x == pytest.approx([0, 0], abs=1e-4), backend
        assert answer.duality_gap() < 1e-4, backend


def test_a_sparse_diagonal_stays_one_and_without_entries_is_a_linear_program():
    assert isinstance(QP(sp.eye_array(3), np.ones(3)).P, Diagonal)
    program = QP(sp.csc_array((2, 2)), [1, 2], G=[[-1, -1]], h=[-1], lb=0)
    assert isinstance(program.P, Diagonal)
    for backend in ("cvxopt", "osqp", "cvxpy", "slsqp"):
        answer = qpsvm.compile(program, backend).solve()
        assert answer.objective == pytest.approx(1.0, abs=5e-3), backend


def test_what_is_in_shape_is_kept_and_nothing_given_is_changed():
    P = np.eye(2)
    q = np.ones(2)
    G = sp.csc_array(np.ones((1, 2)))
    kept = QP(P, q, G=G, h=[1])
    for own, given in ((kept.P.matrix, P), (kept.q, q), (kept.G.data, G.data)):
        assert np.shares_memory(own, given)
        assert given.flags.writeable
        assert not own.flags.writeable
    entries = sp.csr_array(([1.0, 1.0], [0, 0], [0, 2]), shape=(1, 2))
    assert QP(P, q, A=entries, b=[0]).A.nnz == 1
    assert entries.nnz == 2


def test_names_that_the_rows_without_one_would_have_are_left_to_their_owner():
    qp = QP(np.eye(2), [1, 1], A=[[1, 1]], b=[1], G=[[1, 0]], h=[0], constraints={"G": Rows("A", slice(None), "sum")})
    assert qp.constraints["G"] == Rows("A", slice(0, 1), "sum")
    assert qp.constraints["G_"].matrix == "G"
    swapped = QP(np.eye(2), [1, 1], G=[[1, 1], [-1, 0]], h=[0, 5],
                 constraints={"last": Rows("G", slice(1, 2), ""), "first": Rows("G", slice(0, 1), "")})  # fmt: skip
    np.testing.assert_array_equal(swapped.multiplier("last", [1, 2], []), [2.0])


#: By hand, with the optimum or how it has to end; the backends that see it.
BY_HAND = {
    "nothing at all": (QP(sp.csc_array((2, 2)), [0, 0]), 0.0, ("osqp", "cvxpy", "slsqp")),
    "one variable": (QP([[2]], [-2]), -1.0, ("cvxopt", "osqp", "cvxpy", "slsqp", "interior_point", "dual_ascent")),
    "no rows": (QP(np.eye(2), [1, 1], G=np.zeros((0, 2)), h=[]), -1.0, ("cvxopt", "osqp", "cvxpy", "slsqp")),
    "a single point": (QP(np.eye(2), [1, 1], lb=1, ub=1), 3.0, ("osqp", "cvxpy", "slsqp", "interior_point")),
    "no point": (QP(np.eye(2), [1, 1], lb=1, ub=1, A=[[1, 1]], b=[3]), None,
                 ("cvxopt", "osqp", "cvxpy", "slsqp", "interior_point", "dual_ascent")),
    "equal rows": (QP(np.eye(2), [0, 0], A=[[1, 1], [2, 2]], b=[2, 4]), 1.0, ("osqp", "cvxpy")),
    "unbounded": (QP(sp.diags_array([1.0, 0.0]), [0, 1]), None,
                  ("cvxopt", "osqp", "cvxpy", "slsqp", "interior_point")),
    "overflow": (QP(1e200 * np.eye(2), [1e200, 1], lb=0, ub=1), None, ("cvxopt", "osqp", "cvxpy", "dual_ascent")),
    "a group named as a bound": (
        QP(np.eye(2), [1, 1], A=[[1, 1]], b=[1], lb=0, constraints={"x >= lb": Rows("A", slice(0, 1), "")}), 1.25,
        ("cvxopt", "osqp", "cvxpy"),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@for_each("name, backend", [(name, each) for name, row in BY_HAND.items() for each in row[2]])
def test_a_qp_by_hand_ends_in_its_optimum_or_in_a_status(name, backend):
    qp, optimum, _ = BY_HAND[name]
    answer = qpsvm.compile(qp, backend).solve()
    if optimum is None:
        assert answer.reported is not Status.OPTIMAL
        assert answer.reported.sentence
    else:
        assert answer.reported is Status.OPTIMAL
        assert answer.objective == pytest.approx(optimum, abs=5e-3)  # OSQP's own tolerances
        assert answer.z_box.shape == (qp.n,)


def test_a_qp_is_frozen_and_compares_by_identity():
    qp = QP(P=I2, q=ZERO2)
    with pytest.raises(AttributeError):
        qp.r = 1.0
    assert qp != QP(P=I2, q=ZERO2)


def test_objective_split_and_multiplier():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(5, 5))
    qp = QP(
        P=Dense(M @ M.T), q=rng.normal(size=5), r=2.5, G=rng.normal(size=(3, 5)), h=np.ones(3),
        A=rng.normal(size=(2, 5)), b=np.ones(2), variables={"w": slice(0, 2), "b": slice(2, 5)},
        constraints={
            "first": Rows("G", slice(0, 1), ""), "rest": Rows("G", slice(1, 3), ""), "all": Rows("A", slice(0, 2), "")
        },
    )  # fmt: skip
    x = rng.normal(size=5)
    assert qp.objective(x) == pytest.approx(0.5 * x @ M @ M.T @ x + qp.q @ x + 2.5, rel=1e-13)
    parts = qp.split(x)
    np.testing.assert_array_equal(np.concatenate([parts["w"], parts["b"]]), x)
    z = np.arange(3.0)
    y = np.array([7.0, 8.0])
    np.testing.assert_array_equal(qp.multiplier("rest", z, y), [1.0, 2.0])
    np.testing.assert_array_equal(qp.multiplier("all", z, y), [7.0, 8.0])
    with pytest.raises(qpsvm.UnknownOptionError, match="did you mean 'first'"):
        qp.multiplier("frist", z, y)


# --- it is something you look at --------------------------------------------------------------------------------------

NAMES = {
    ("hard_margin", "dual"): ("½ αᵀQα − 1ᵀα", "balance", "0 ≤ alpha", "(HARD.9)"),
    ("hard_margin", "primal"): ("½ ‖w‖²", "margin", "y_i (wᵀx_i + b) ≥ 1", "(HARD.2)"),
    ("csvm", "dual"): ("½ αᵀQα − 1ᵀα", "yᵀα = 0", "0 ≤ alpha ≤ 1", "(CSVM.10)"),
    ("csvm", "primal"): ("Σ C_i ξ_i", "≥ 1 − ξ_i", "0 ≤ xi", "(CSVM.2)"),
    ("csvm_weighted", "dual"): ("yᵀα = 0", "≤ alpha ≤ ub_i", "…", "(CSVM.10)"),
    ("nusvm", "dual"): ("½ αᵀQα", "−1ᵀα = −ν", "nu", "(NUSVM.11)"),
    ("nusvm", "primal"): ("− νρ", "≥ ρ − ξ_i", "rho 1", "(NUSVM.2)"),
    ("nusvm_weighted", "dual"): ("½ αᵀQα", "−1ᵀα = −ν", "ub_i", "(NUSVM.11)"),
    ("hinge_free", "dual"): ("λ (½ αᵀQα − 1ᵀα)", "balance", "0 ≤ alpha", "(PHINGE.10)"),
    ("hinge_free", "primal"): ("(λ/2) ‖w‖²", "margin", "b 1", "(PHINGE.2)"),
    ("hinge_penalised", "dual"): ("λ (½ αᵀQα − 1ᵀα)", "(K(x_i, x_j) + 1)", "0 ≤ alpha", "(PHINGE.10)"),
    ("hinge_penalised", "primal"): ("(‖w‖² + b²)", "margin", "b 1", "(PHINGE.2)"),
    ("hinge_none", "dual"): ("λ (½ αᵀQα − 1ᵀα)", "K(x_i, x_j)", "0 ≤ alpha", "(PHINGE.10)"),
    ("hinge_none", "primal"): ("(λ/2) ‖w‖²", "y_i wᵀx_i ≥ 1 − ξ_i", "0 ≤ xi", "(PHINGE.2)"),
}


@for_each("form", FORMS)
@for_each("cell", AT_SCALE_1)
def test_print_shows_names_sizes_structure_and_memory(cell, form):
    qp = cell.build_problem().qp(form)
    text = str(qp)
    for wanted in NAMES.get((cell.variant, form), ()):
        assert wanted in text
    for name, part in qp.variables.items():
        assert f"{name} {part.stop - part.start}" in text
    for name, group in qp.constraints.items():
        assert group.formula in text
        assert name in text
    assert f"P           {qp.n} × {qp.n}" in text
    assert "memory" in text
    assert ("G           " in text) == (qp.G is not None)
    assert ("A           " in text) == (qp.A is not None)
    assert text.splitlines()[1].startswith("  minimise    ")
    assert max(len(line) for line in text.splitlines()[1:]) <= 120
    rows = [line for line in text.splitlines() if line.endswith((" row", " rows"))]
    assert rows
    assert all(line.split()[-2].isdigit() and line.split()[-3] in {*qp.constraints, "box"} for line in rows), rows
    if form == "dual":
        if cell.has_explicit_w:
            structure = "low rank ZZᵀ"
        elif cell.kernel_case.psd != "raise":
            structure = "dense"
        else:
            structure = ""
        assert structure in text
    else:
        assert "diagonal" in text
    assert ("balance" in qp.constraints) == (form == "dual" and cell.machine.intercept == "free")


def test_print_says_whether_the_gram_matrix_exists():
    qp = Cell("csvm", "rbf", 1.0).build_problem().qp("dual")
    assert "made when needed" in str(qp)
    before = qp.nbytes
    qp.P.dense()
    assert "made when needed" not in str(qp)
    assert qp.nbytes == before + 8 * qp.n**2


# --- lifted -----------------------------------------------------------------------------------------------------------


@for_each(
    "variant, kernel",
    [("hard_margin", "linear"), ("csvm", "sparse"), ("nusvm_weighted", "sparse"), ("hinge_penalised", "sparse")],
)
def test_lifted_has_the_same_optimum(variant, kernel):
    qp = Cell(variant, kernel, 1.0).build_problem().qp("dual")
    lifted = qp.to_lifted()
    Z, d = qp.P.factor()
    k = Z.shape[1]
    assert lifted.n == qp.n + k
    assert isinstance(lifted.P, Diagonal)
    assert lifted.variables["v"] == slice(qp.n, qp.n + k)
    plain = qpsvm.compile(qp, "cvxopt").solve(tol=1e-9)
    answer = qpsvm.compile(lifted, "cvxopt").solve(tol=1e-9)
    assert answer.objective == pytest.approx(plain.objective, rel=1e-7)
    x = answer.x[: qp.n]
    assert qp.objective(x) == pytest.approx(plain.objective, rel=1e-7)
    np.testing.assert_allclose(lifted.split(answer.x)["v"], Z.T @ x, atol=1e-7)
    assert not d.any()
    # The multipliers of the rows that both share are the same.
    for name in qp.constraints:
        ours = lifted.multiplier(name, answer.z, answer.y)
        np.testing.assert_allclose(ours, qp.multiplier(name, plain.z, plain.y), atol=1e-4)


def test_lifted_keeps_constants_and_the_diagonal():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(6, 2))
    d = rng.uniform(0.5, 2, 6)
    q = rng.normal(size=6)
    qp = QP(P=LowRank(Z, d), q=q, r=3.0, G=rng.normal(size=(2, 6)), h=np.zeros(2))
    x = rng.normal(size=6)
    lifted = qp.to_lifted()
    assert lifted.objective(np.concatenate([x, Z.T @ x])) == pytest.approx(qp.objective(x), rel=1e-13)
    assert residuals.compute_primal_residual(lifted, np.concatenate([x, Z.T @ x])) == pytest.approx(
        residuals.compute_primal_residual(qp, x)
    )
    assert "lift" in str(lifted)


def test_lifting_needs_a_factor():
    with pytest.raises(qpsvm.UnsupportedError, match="no factor"):
        Cell("csvm", "rbf", 1.0).build_problem().qp("dual").to_lifted()


# --- scaled -----------------------------------------------------------------------------------------------------------


def stationary_point(qp: QP, rng: np.random.Generator) -> QPSolution:
    """Any x, y, z, with the z_box that makes (QP.1) hold: no solver needed."""
    x = rng.normal(size=qp.n)
    z = rng.uniform(0, 1, 0 if qp.h is None else len(qp.h))
    y = rng.normal(size=0 if qp.b is None else len(qp.b))
    z_box = -(qp.P @ x + qp.q)
    z_box -= 0 if qp.G is None else qp.G.T @ z
    z_box -= 0 if qp.A is None else qp.A.T @ y
    return QPSolution(qp, Status.OPTIMAL, Solver("hand", "0", "ok"), x=x, y=y, z=z, box=z_box)


def stationarity(solution: QPSolution) -> float:
    """|Px + q + Gᵀz + Aᵀy + z_box|, relative to its largest term."""
    qp = solution.qp
    terms = [qp.P @ solution.x, qp.q, solution.z_box]
    terms += [] if qp.G is None else [qp.G.T @ solution.z]
    terms += [] if qp.A is None else [qp.A.T @ solution.y]
    return float(np.abs(sum(terms)).max() / max(np.abs(term).max() for term in terms))


@pytest.mark.slow
@for_each("form", FORMS)
@for_each("cell", CELLS)
def test_unscaling_keeps_qp_1(cell, form):
    """A stationary point of the scaled QP becomes one of the original: values, rows and multipliers in its units."""
    scaled = cell.build_problem().solver_qp(form)
    solution = stationary_point(scaled.qp, np.random.default_rng(7))
    assert stationarity(solution) <= 1e-12
    original = scaled.unscale(solution)
    assert original.qp is scaled.original
    assert stationarity(original) <= 1e-10
    assert original.objective == pytest.approx(solution.objective / scaled.objective, rel=1e-9)
    np.testing.assert_array_equal(np.sign(original.z), np.sign(solution.z))
    np.testing.assert_array_equal(np.sign(original.z_box), np.sign(solution.z_box))
    for theirs, ours in zip(scaled.qp.bounds, scaled.original.bounds, strict=True):
        inside = (solution.x > theirs) == (original.x > ours)
        assert inside.all()


def test_unscaling_a_qp_with_everything():
    rng = np.random.default_rng(2)
    M = rng.normal(size=(6, 6))
    qp = QP(
        P=Dense(M @ M.T), q=rng.normal(size=6), r=1.5, G=sp.csc_array(rng.normal(size=(3, 6))), h=rng.normal(size=3),
        A=rng.normal(size=(2, 6)), b=rng.normal(size=2), lb=-np.ones(6), ub=np.full(6, 2.0),
        variables={"u": slice(0, 4), "v": slice(4, 6)},
        constraints={
            "g": Rows("G", slice(0, 2), ""), "h": Rows("G", slice(2, 3), ""), "a": Rows("A", slice(0, 2), "")
        },
    )  # fmt: skip
    variables = {"u": 3.0, "v": 1e-4}
    rows = {"g": 7.0, "a": 0.01}
    objective = 250.0
    scaled = qp.scaled(variables, rows, objective)
    s = np.array([3.0] * 4 + [1e-4] * 2)
    np.testing.assert_allclose(scaled.P.dense(), 250.0 * s[:, None] * (M @ M.T) * s, rtol=1e-12)
    np.testing.assert_allclose(scaled.q, 250.0 * s * qp.q)
    np.testing.assert_allclose(scaled.G.toarray(), np.array([7.0, 7.0, 1.0])[:, None] * qp.G.toarray() * s)
    np.testing.assert_allclose(scaled.h, np.array([7.0, 7.0, 1.0]) * qp.h)
    np.testing.assert_allclose(scaled.ub, 2.0 / s)
    assert scaled.r == 375.0
    back = ScaledQP(scaled, qp, variables, rows, objective).unscale(stationary_point(scaled, rng))
    assert stationarity(back) <= 1e-12


def test_unscaling_without_a_point():
    scaled = Cell("csvm", "linear", 1.0).build_problem().solver_qp("dual")
    nothing = QPSolution(scaled.qp, Status.INFEASIBLE, Solver("hand", "0", "no"))
    assert scaled.unscale(nothing).qp is scaled.original
    assert scaled.unscale(nothing).x is None


@for_each("bad", [0.0, -1.0, np.inf, np.nan])
def test_scales_are_positive(bad):
    qp = Cell("csvm", "linear", 1.0).build_problem().qp("dual")
    for arguments in (({"alpha": bad}, {}, 1.0), ({}, {"balance": bad}, 1.0), ({}, {}, bad)):
        with pytest.raises(qpsvm.ParameterError, match="positive"):
            qp.scaled(*arguments)


@for_each("kernel", ["linear", "polynomial", "rbf"])
@for_each("variant", ["hard_margin", "csvm", "nusvm", "hinge_free"])
def test_what_a_solver_gets_does_not_depend_on_the_units_of_x(variant, kernel):
    """K/κ has mean diagonal 1 where 1/κ is α's unit, and the same numbers reach the solver at every scale."""
    duals = [Cell(variant, kernel, scale).build_problem().solver_qp("dual").qp for scale in (1e-6, 1.0, 1e8)]
    for dual in duals:
        np.testing.assert_allclose(dual.P.dense(), duals[1].P.dense(), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(dual.q, duals[1].q, rtol=1e-9)
        np.testing.assert_allclose(dual.bounds[1], duals[1].bounds[1], rtol=1e-9)
    if variant in ("hard_margin", "nusvm"):
        assert duals[0].P.diagonal().mean() == pytest.approx(1.0, rel=1e-9)


# --- residuals --------------------------------------------------------------------------------------------------------


def test_residuals_see_every_kind_of_violation():
    """One condition broken at a time, by 0.5: the residual that it belongs to says so, the others stay."""
    qp = QP(
        P=I2, q=np.array([-1.0, -1.0]), G=np.array([[1.0, 0.0]]), h=np.array([0.25]), A=np.array([[1.0, 1.0]]),
        b=np.array([1.0]), lb=np.array([0.0, -np.inf]),
    )  # fmt: skip
    x = np.array([0.25, 0.75])
    y = np.array([0.25])
    z = np.array([0.5])
    z_box = np.zeros(2)
    assert residuals.compute_primal_residual(qp, x) == 0
    assert residuals.compute_dual_residual(qp, x, y, z, z_box) <= 1e-15
    assert residuals.compute_complementarity(qp, x, z, z_box) == 0
    assert residuals.compute_duality_gap(qp, x, y, z, z_box) <= 1e-15
    for broken in ([0.75, 0.25], [0.25, 1.25], [-0.5, 1.5]):
        assert residuals.compute_primal_residual(qp, np.array(broken)) == pytest.approx(0.5)
    assert residuals.compute_dual_residual(qp, x, y + 0.5, z, z_box) == pytest.approx(0.5)
    turned = replace(qp, q=qp.q + np.array([1.0, 0.0]))  # where −z is stationary, and of the wrong sign
    assert residuals.compute_dual_residual(turned, x, y, -z, z_box) == pytest.approx(0.5)
    assert residuals.compute_dual_residual(qp, x, y, z, np.array([0.0, -0.5])) == pytest.approx(0.5)  # no lower bound
    assert residuals.compute_dual_residual(qp, x, y, z, np.array([0.5, 0.0])) == pytest.approx(0.5)  # no upper bound
    assert residuals.compute_complementarity(qp, np.array([0.0, 1.0]), z, z_box) == pytest.approx(0.125)
    assert residuals.compute_complementarity(qp, x, z, np.array([-1.0, 0.0])) == pytest.approx(0.25)


def test_every_form_of_every_cell_is_a_valid_qp():
    """Names cover variables and rows without overlap, in order."""
    for cell, form in itertools.product(AT_SCALE_1, FORMS):
        qp = cell.build_problem().qp(form)
        edges = [(part.start, part.stop) for part in qp.variables.values()]
        assert [start for start, _ in edges] == [0, *(stop for _, stop in edges[:-1])]
        assert edges[-1][1] == qp.n
        for letter, matrix in (("G", qp.G), ("A", qp.A)):
            named = [g.rows for g in qp.constraints.values() if g.matrix == letter]
            assert sum(rows.stop - rows.start for rows in named) == (0 if matrix is None else matrix.shape[0])
        assert qp.G is None or sp.issparse(qp.G)
