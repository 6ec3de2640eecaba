"""The QP object, operators, kernels and the certificate's tools, each against plain NumPy, SciPy or brute force."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from matrix import CELLS, FORMS, Cell
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

import qpsvm
from qpsvm.arrays.constant import repeated
from qpsvm.dual.certificate import (
    balanced,
    capped_simplex,
    gap_sums,
    gap_terms,
    hinge_intercepts,
    quantile_interval,
    relative_gap,
)
from qpsvm.kernels.functions import as_kernel, gamma_of
from qpsvm.kernels.gram import KernelGram
from qpsvm.kernels.space import pivoted_cholesky
from qpsvm.operators import Dense, Diagonal, LowRank, Operator
from qpsvm.problems.base import ScaledQP
from qpsvm.qp import kkt
from qpsvm.qp.program import QP, Rows
from qpsvm.qp.solution import QPSolution, Solver, Status

AT_SCALE_1 = [cell for cell in CELLS if cell.scale == 1.0]
I2, ZERO2, ONE_ROW = Diagonal(np.ones(2)), np.zeros(2), np.ones((1, 2))


# --- the QP is checked when it is made --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"P": Diagonal(np.ones(3))}, r"P has shape \(3, 3\) where q has 2"),
        ({"q": np.zeros((2, 1))}, "q"),
        ({"q": np.array([0.0, np.nan])}, "q is not finite in entry 1"),
        ({"q": np.array([np.inf, 0.0])}, "q is not finite in entry 0"),
        ({"r": np.nan}, "r"),
        ({"P": Diagonal(np.array([1.0, np.nan]))}, "P"),
        ({"P": Dense(np.array([[np.inf, 0.0], [0.0, 1.0]]))}, "P"),
        ({"G": ONE_ROW}, "G and h go together"),
        ({"h": np.ones(1)}, "G and h go together"),
        ({"A": ONE_ROW}, "A and b go together"),
        ({"G": np.ones((1, 3)), "h": np.ones(1)}, r"G has shape \(1, 3\) where \(1, 2\)"),
        ({"A": np.ones((2, 2)), "b": np.ones(1)}, r"A has shape \(2, 2\) where \(1, 2\)"),
        ({"A": np.ones(2), "b": np.ones(1)}, "A has shape"),
        ({"G": ONE_ROW, "h": np.ones((1, 1))}, "h"),
        ({"G": ONE_ROW * np.nan, "h": np.ones(1)}, "G or h holds a number that is not finite"),
        ({"A": ONE_ROW, "b": np.array([np.inf])}, "A or b holds a number that is not finite"),
        ({"G": sp.csc_array(ONE_ROW * np.inf), "h": np.ones(1)}, "G or h"),
        ({"lb": np.zeros(3)}, r"lb has shape \(3,\) where \(2,\)"),
        ({"ub": np.array([np.nan, 1.0])}, "ub has a NaN in entry 0"),
        ({"lb": np.array([0.0, 2.0]), "ub": np.ones(2)}, "lb > ub in entry 1: 2 > 1"),
        ({"lb": np.array([np.inf, 0.0])}, "lb"),
        ({"ub": np.array([0.0, -np.inf])}, "ub"),
        ({"variables": {"x": slice(0, 1)}}, "variables"),
        ({"variables": {"x": slice(0, 2), "y": slice(1, 3)}}, "variables"),
        ({"constraints": {"g": Rows("G", slice(0, 1), "")}}, "constraint"),
        ({"A": ONE_ROW, "b": np.ones(1), "constraints": {"a": Rows("A", slice(0, 2), "")}}, "constraint"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
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


def test_an_array_as_p_is_taken():
    """P is an operator, and an array is made one."""
    qp = QP(P=np.eye(2), q=ZERO2)
    assert qp.objective(np.ones(2)) == 1.0
    assert "2 × 2" in str(qp)


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
    "matrix classes": (
        sp.csr_matrix([[2, 1], [1, 2]]), [1, -1], sp.csc_matrix([[1, 1]]), [1], np.matrix([[1, -1]]), [0], 0, 1,
    ),
    "twice the same entry": (sp.coo_array(([1.0, 1.0, 1.0, 1.0, 2.0], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1]))), *LISTS[1:]),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
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
        assert answer.status is Status.OPTIMAL, backend
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
    P, q, G = np.eye(2), np.ones(2), sp.csc_array(np.ones((1, 2)))
    kept = QP(P, q, G=G, h=[1])
    assert kept.P.matrix is P
    assert kept.q is q
    assert kept.G is G
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
@pytest.mark.parametrize(("name", "backend"), [(name, each) for name, row in BY_HAND.items() for each in row[2]])
def test_a_qp_by_hand_ends_in_its_optimum_or_in_a_status(name, backend):
    qp, optimum, _ = BY_HAND[name]
    answer = qpsvm.compile(qp, backend).solve()
    if optimum is None:
        assert answer.status is not Status.OPTIMAL
        assert answer.status.sentence
    else:
        assert answer.status is Status.OPTIMAL
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
    )
    x = rng.normal(size=5)
    assert qp.objective(x) == pytest.approx(0.5 * x @ M @ M.T @ x + qp.q @ x + 2.5, rel=1e-13)
    parts = qp.split(x)
    np.testing.assert_array_equal(np.concatenate([parts["w"], parts["b"]]), x)
    z, y = np.arange(3.0), np.array([7.0, 8.0])
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
    ("csvm_weighted", "primal"): ("Σ C_i ξ_i", "≥ 1 − ξ_i", "0 ≤ xi", "(CSVM.2)"),
    ("nusvm", "dual"): ("½ αᵀQα", "−1ᵀα = −ν", "nu", "(NUSVM.11)"),
    ("nusvm", "primal"): ("− νρ", "≥ ρ − ξ_i", "rho 1", "(NUSVM.2)"),
    ("nusvm_weighted", "dual"): ("½ αᵀQα", "−1ᵀα = −ν", "ub_i", "(NUSVM.11)"),
    ("nusvm_weighted", "primal"): ("− νρ", "≥ ρ − ξ_i", "rho 1", "(NUSVM.2)"),
    ("hinge_free", "dual"): ("λ (½ αᵀQα − 1ᵀα)", "balance", "0 ≤ alpha", "(PHINGE.10)"),
    ("hinge_free", "primal"): ("(λ/2) ‖w‖²", "margin", "b 1", "(PHINGE.2)"),
    ("hinge_penalised", "dual"): ("λ (½ αᵀQα − 1ᵀα)", "(K(x_i, x_j) + 1)", "0 ≤ alpha", "(PHINGE.10)"),
    ("hinge_penalised", "primal"): ("(‖w‖² + b²)", "margin", "b 1", "(PHINGE.2)"),
    ("hinge_none", "dual"): ("λ (½ αᵀQα − 1ᵀα)", "K(x_i, x_j)", "0 ≤ alpha", "(PHINGE.10)"),
    ("hinge_none", "primal"): ("(λ/2) ‖w‖²", "y_i wᵀx_i ≥ 1 − ξ_i", "0 ≤ xi", "(PHINGE.2)"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cell", AT_SCALE_1, ids=str)
def test_print_shows_names_sizes_structure_and_memory(cell, form):
    qp = cell.problem().qp(form)
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
        structure = "low rank ZZᵀ" if cell.explicit else "dense" if cell.k.psd != "raise" else ""
        assert structure in text
    else:
        assert "diagonal" in text
    assert ("balance" in qp.constraints) == (form == "dual" and cell.v.intercept == "free")


def test_print_says_whether_the_gram_matrix_exists():
    qp = Cell("csvm", "rbf", 1.0).problem().qp("dual")
    assert "made when needed" in str(qp)
    before = qp.nbytes
    qp.P.dense()
    assert "made when needed" not in str(qp)
    assert qp.nbytes == before + 8 * qp.n**2


# --- lifted -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "kernel"),
    [
        ("hard_margin", "linear"), ("csvm", "linear"), ("csvm_weighted", "linear"), ("nusvm", "linear"),
        ("hinge_penalised", "linear"), ("csvm", "sparse"), ("nusvm_weighted", "sparse"), ("hinge_penalised", "sparse"),
    ],
)
def test_lifted_has_the_same_optimum(variant, kernel):
    qp = Cell(variant, kernel, 1.0).problem().qp("dual")
    lifted = qp.lifted()
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
    Z, d, q = rng.normal(size=(6, 2)), rng.uniform(0.5, 2, 6), rng.normal(size=6)
    qp = QP(P=LowRank(Z, d), q=q, r=3.0, G=rng.normal(size=(2, 6)), h=np.zeros(2))
    x = rng.normal(size=6)
    lifted = qp.lifted()
    assert lifted.objective(np.concatenate([x, Z.T @ x])) == pytest.approx(qp.objective(x), rel=1e-13)
    assert kkt.primal_residual(lifted, np.concatenate([x, Z.T @ x])) == pytest.approx(kkt.primal_residual(qp, x))
    assert "lift" in str(lifted)


def test_lifting_needs_a_factor():
    with pytest.raises(qpsvm.UnsupportedError, match="no factor"):
        Cell("csvm", "rbf", 1.0).problem().qp("dual").lifted()


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_unscaling_keeps_qp_1(cell, form):
    """A stationary point of the scaled QP becomes one of the original: values, rows and multipliers in its units."""
    scaled = cell.problem().solver_qp(form)
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
    )
    variables, rows, objective = {"u": 3.0, "v": 1e-4}, {"g": 7.0, "a": 0.01}, 250.0
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
    scaled = Cell("csvm", "linear", 1.0).problem().solver_qp("dual")
    nothing = QPSolution(scaled.qp, Status.INFEASIBLE, Solver("hand", "0", "no"))
    assert scaled.unscale(nothing).qp is scaled.original
    assert scaled.unscale(nothing).x is None


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_scales_are_positive(bad):
    qp = Cell("csvm", "linear", 1.0).problem().qp("dual")
    for arguments in (({"alpha": bad}, {}, 1.0), ({}, {"balance": bad}, 1.0), ({}, {}, bad)):
        with pytest.raises(qpsvm.ParameterError, match="positive"):
            qp.scaled(*arguments)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
@pytest.mark.parametrize("variant", ["hard_margin", "csvm", "nusvm", "hinge_free"])
def test_what_a_solver_gets_does_not_depend_on_the_units_of_x(variant, kernel):
    """K/κ has mean diagonal 1 where 1/κ is α's unit, and the same numbers reach the solver at every scale."""
    duals = [Cell(variant, kernel, scale).problem().solver_qp("dual").qp for scale in (1e-6, 1.0, 1e8)]
    for dual in duals:
        np.testing.assert_allclose(dual.P.dense(), duals[1].P.dense(), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(dual.q, duals[1].q, rtol=1e-9)
        np.testing.assert_allclose(dual.bounds[1], duals[1].bounds[1], rtol=1e-9)
    if variant in ("hard_margin", "nusvm"):
        assert duals[0].P.diagonal().mean() == pytest.approx(1.0, rel=1e-9)


# --- operators --------------------------------------------------------------------------------------------------------


def operators() -> dict[str, tuple[Operator, np.ndarray]]:
    """Each operator with the matrix it stands for."""
    rng = np.random.default_rng(5)
    n = 9
    X, d, s = rng.normal(size=(n, 3)), rng.uniform(0.1, 1, n), rng.uniform(-2, 2, n)
    thin = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    S = np.diag(s)
    symmetric = X @ X.T + np.diag(d)
    K = np.exp(-0.3 * cdist(X, X, "sqeuclidean"))
    T = thin.toarray()
    kernel = qpsvm.RBF(0.3)
    return {
        "dense": (Dense(symmetric), symmetric),
        "diagonal": (Diagonal(d), np.diag(d)),
        "low rank": (LowRank(X), X @ X.T),
        "low rank, d": (LowRank(X, d), X @ X.T + np.diag(d)),
        "low rank, scale": (LowRank(X, None, s), S @ X @ X.T @ S),
        "low rank, d, scale": (LowRank(X, d, s), S @ X @ X.T @ S + np.diag(d)),
        "low rank, sparse": (LowRank(thin), T @ T.T),
        "low rank, sparse, d, scale": (LowRank(thin, d, s), S @ T @ T.T @ S + np.diag(d)),
        "kernel": (KernelGram(kernel, X), K),
        "kernel, offset": (KernelGram(kernel, X, 1.0), K + 1),
        "kernel, offset, scale": (KernelGram(kernel, X, 1.0, s), S @ (K + 1) @ S),
        "kernel, sparse": (KernelGram(qpsvm.Polynomial(2, 0.5, 1.0), thin, 0.0, s), S @ (0.5 * T @ T.T + 1) ** 2 @ S),
        "kernel, callable": (KernelGram(as_kernel(lambda A, B: A @ B.T + 2.0), X, 0.0, s), S @ (X @ X.T + 2) @ S),
    }


@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "made"])
@pytest.mark.parametrize("name", operators())
def test_operators_are_the_matrices_they_stand_for(name, kept):
    P, M = operators()[name]
    n = len(M)
    if kept:
        P.dense()
    rng = np.random.default_rng(6)
    x, B = rng.normal(size=n), rng.normal(size=(n, 4))
    near = {"rtol": 1e-12, "atol": 1e-12}
    assert P.shape == M.shape
    rows, columns = np.array([4, 0, 4, 7]), np.array([1, 4])
    np.testing.assert_allclose(P.block(rows, columns), M[np.ix_(rows, columns)], **near)
    np.testing.assert_allclose(P.block(rows, rows), M[np.ix_(rows, rows)], **near)
    np.testing.assert_allclose(P.rows(rows), M[rows], **near)
    np.testing.assert_allclose(P.rows(slice(2, 5)), M[2:5], **near)
    np.testing.assert_allclose(P.rows(3), M[3:4], **near)
    np.testing.assert_allclose(P.rows(slice(0, 0)), M[:0], **near)
    np.testing.assert_allclose(P.diagonal(), M.diagonal(), **near)
    np.testing.assert_allclose(P @ x, M @ x, **near)
    np.testing.assert_allclose(P @ B, M @ B, **near)
    np.testing.assert_allclose(P.dense(), M, **near)
    np.testing.assert_allclose(np.asarray(P), M, **near)
    assert np.asarray(P, dtype=np.float32).dtype == np.float32
    assert P.nbytes > 0
    assert f"{n} × {n}" in repr(P)

    s = rng.uniform(0.5, 2, n)
    both = P.congruence(s)
    np.testing.assert_allclose(both.dense(), s[:, None] * M * s, **near)
    np.testing.assert_allclose(both @ x, s * (M @ (s * x)), **near)
    assert type(both) is type(P)
    np.testing.assert_allclose(P.dense(), M, **near)  # the original has not changed

    factor = P.factor()
    assert (factor is None) == isinstance(P, (Dense, KernelGram))
    if factor is not None:
        Z, d = factor
        np.testing.assert_allclose((Z @ Z.T + np.zeros(M.shape)) + np.diag(d), M, **near)


def test_changing_what_an_operator_returned_changes_nothing():
    """`dense()` may be shared, everything else is the caller's."""
    for name, (P, M) in operators().items():
        P.dense()
        everything = np.arange(len(M))
        for values in (P.diagonal(), P.block(everything, everything), P.rows(slice(0, 3)), P @ np.eye(len(M))):
            values *= 0.0
        np.asarray(P)[...] = 0.0
        np.testing.assert_allclose(P @ np.eye(len(M)), M, atol=1e-12, err_msg=name)


def test_a_gram_matrix_beyond_the_cache_is_multiplied_in_blocks(monkeypatch):
    from qpsvm.kernels import gram

    monkeypatch.setattr(gram, "CACHE_ROWS", 10)
    monkeypatch.setattr(gram, "BLOCK_ROWS", 7)
    rng = np.random.default_rng(9)
    X, x, s = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng.normal(size=30)
    P = KernelGram(qpsvm.RBF(0.5), X, 1.0, s)
    M = s[:, None] * (np.exp(-0.5 * cdist(X, X, "sqeuclidean")) + 1) * s
    np.testing.assert_allclose(P @ x, M @ x, atol=1e-12)
    np.testing.assert_allclose(P @ x[:, 0], M @ x[:, 0], atol=1e-12)
    assert P.nbytes == 0
    np.testing.assert_allclose(P.dense(), M, atol=1e-12)


def test_a_matrix_beyond_the_memory_is_refused():
    n = 2_000_000
    with pytest.raises(qpsvm.TooLargeError, match="GiB") as caught:
        LowRank(np.zeros((n, 1))).dense()
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(qpsvm.TooLargeError):
        Diagonal(np.zeros(n)).dense()


def test_the_dual_of_100_000_rows_is_made_at_once_and_makes_no_square_matrix():
    """n = 100 000, d = 50: in a second of processor time (0.1 s is meant), within 100 MB beyond X."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50))
    y = np.where(rng.random(100_000) < 0.5, "no", "yes")
    start = time.process_time()
    qpsvm.CSVM(X, y).qp("dual")
    assert time.process_time() - start < 1.0

    tracemalloc.start()
    problem = qpsvm.CSVM(X, y)
    qp = problem.qp("dual")
    problem.solver_qp("dual")
    qp.P @ np.ones(qp.n)
    str(qp)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert isinstance(qp.P, LowRank)
    assert np.shares_memory(qp.P.Z, X)


# --- kernels ----------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(11)
KX, KZ = RNG.normal(size=(30, 4)), RNG.normal(size=(17, 4))
AGAINST_SKLEARN = {
    "linear": (qpsvm.Linear(), lambda X, Z: pairwise.linear_kernel(X, Z)),
    "polynomial": (qpsvm.Polynomial(3, 0.7, 0.5), lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.7, 0.5)),
    "quintic": (qpsvm.Polynomial(5, 0.1, 2), lambda X, Z: pairwise.polynomial_kernel(X, Z, 5, 0.1, 2)),
    "affine": (qpsvm.Polynomial(1, 2.0, -1), lambda X, Z: pairwise.polynomial_kernel(X, Z, 1, 2.0, -1)),
    "rbf": (qpsvm.RBF(0.4), lambda X, Z: pairwise.rbf_kernel(X, Z, 0.4)),
    "sigmoid": (qpsvm.Sigmoid(0.3, -0.2), lambda X, Z: pairwise.sigmoid_kernel(X, Z, 0.3, -0.2)),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.asfortranarray], ids=["dense", "sparse", "fortran"])
@pytest.mark.parametrize("name", AGAINST_SKLEARN)
def test_kernels_agree_with_scikit_learn(name, form):
    kernel, theirs = AGAINST_SKLEARN[name]
    X, Z = np.where(np.abs(KX) > 0.3, KX, 0.0), np.where(np.abs(KZ) > 0.3, KZ, 0.0)
    np.testing.assert_allclose(kernel(form(X), form(Z)), theirs(X, Z), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel(form(X), form(X)), theirs(X, X), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(form(X)), theirs(X, X).diagonal(), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(X, np.where(np.abs(KX) > 0.3, KX, 0.0))  # the samples are left alone


def test_mixed_dense_and_sparse():
    for kernel, theirs in AGAINST_SKLEARN.values():
        np.testing.assert_allclose(kernel(KX, sp.csr_array(KZ)), theirs(KX, KZ), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(kernel(sp.csr_array(KX), KZ), theirs(KX, KZ), rtol=1e-11, atol=1e-12)


def test_fractional_degrees():
    positive = np.abs(KX)
    K = qpsvm.Polynomial(1.5, 1.0, 0.1)(positive, positive)
    np.testing.assert_allclose(K, (positive @ positive.T + 0.1) ** 1.5, rtol=1e-12)
    with pytest.raises(qpsvm.DataError, match="fractional power of a negative number"):
        qpsvm.Polynomial(1.5, 1.0, 0.0)(KX, KX)


@pytest.mark.parametrize("X", [KX * 3 + 1, sp.csr_array(np.where(KX > 0, KX, 0.0))], ids=["dense", "sparse"])
def test_gamma_rules(X):
    full = X.toarray() if sp.issparse(X) else X
    assert gamma_of("scale", X) == pytest.approx(1 / (4 * full.var()), rel=1e-12)
    assert gamma_of("auto", X) == 0.25
    assert gamma_of(0.3, X) == 0.3
    for kind in (qpsvm.RBF, qpsvm.Sigmoid, qpsvm.Polynomial):
        assert kind(gamma="scale").resolve(X).gamma == gamma_of("scale", X)
        with pytest.raises(qpsvm.ParameterError, match="before the kernel has seen data"):
            kind(gamma="scale")(X, X)


def test_gamma_scale_of_constant_data():
    with pytest.raises(qpsvm.ParameterError, match="var"):
        gamma_of("scale", np.ones((3, 2)))
    with pytest.raises(qpsvm.UnknownOptionError, match="'scale' or 'auto'"):
        qpsvm.RBF("scael")
    with pytest.raises(qpsvm.ParameterError, match="positive"):
        qpsvm.RBF(-1.0)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e8])
def test_rbf_with_an_offset(offset, as_given):
    """A common offset costs no digits: ‖x‖² + ‖z‖² − 2xᵀz would leave none at 1e8."""
    X, Z = KX + offset, KZ + offset
    for gamma in (0.01, 1.0, 30.0):
        for A, B in ((X, X), (X, Z)):
            exact = np.exp(-gamma * cdist(A, B, "sqeuclidean"))
            assert np.abs(qpsvm.RBF(gamma)(as_given(A), as_given(B)) - exact).max() <= 1e-9
    same = as_given(X)
    np.testing.assert_array_equal(qpsvm.RBF(1.0)(same, same).diagonal(), 1.0)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("distance", [1e2, 1e4, 1e6])
def test_rbf_with_two_far_clusters(distance, as_given):
    """Centring does not help here: pairs within a cluster are long vectors that nearly cancel."""
    rng = np.random.default_rng(12)
    side = np.where(np.arange(60) % 2, 1.0, -1.0)[:, None]
    X = rng.normal(size=(60, 3)) + distance * side
    Z = rng.normal(size=(20, 3)) + distance * side[:20]
    for gamma in (1e-4, 0.5, 5.0):
        for A, B in ((X, X), (X, Z), (Z, X)):
            exact = np.exp(-gamma * cdist(A, B, "sqeuclidean"))
            assert np.abs(qpsvm.RBF(gamma)(as_given(A), as_given(B)) - exact).max() <= 1e-9


def test_rbf_with_one_outlier():
    X = np.vstack([KX, KX[:2] + 1e6, KX[:1] - 1e7])
    exact = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    assert np.abs(qpsvm.RBF(0.5)(X, X) - exact).max() <= 1e-9


def test_rbf_gram_is_symmetric_and_positive_semidefinite():
    X = np.vstack([KX, KX[:5]]) + 1e6
    K = qpsvm.RBF(0.5)(X, X)
    assert np.abs(K - K.T).max() <= 1e-12
    assert np.linalg.eigvalsh(K).min() >= -1e-12


@pytest.mark.parametrize("kernel", [qpsvm.Linear(), qpsvm.RBF(0.3), qpsvm.Polynomial(2, 1.0, 1.0)], ids=str)
def test_pivoted_cholesky(kernel):
    """L (n, r) with LLᵀ = K and r the rank: 4 for a linear kernel, 15 for the quadratic one on 4 features."""
    X = np.vstack([KX, KX[:6]])
    K = kernel(X, X)
    L = pivoted_cholesky(K)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-12 * K.max() * len(K))
    assert L.shape[1] == {"Linear": 4, "RBF": 30, "Polynomial": 15}[type(kernel).__name__]


# --- the certificate's tools ------------------------------------------------------------------------------------------


def projection_by_bisection(a: np.ndarray, caps: np.ndarray, mass: float) -> np.ndarray:
    low, high = (a - caps).min() - 1.0, a.max() + 1.0
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if np.clip(a - tau, 0, caps).sum() > mass else (low, tau)
    return np.clip(a - (low + high) / 2, 0, caps)


@pytest.mark.parametrize("seed", range(40))
def test_capped_simplex_is_the_projection(seed):
    """Random, tied, and at the ends: compared with bisection on τ."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    a = rng.normal(size=m) if seed % 2 else rng.integers(-2, 3, m).astype(float)
    caps = rng.uniform(0, 1, m) if seed % 3 else np.ones(m)
    for share in (1e-9, 0.1, 0.5, 0.9, 1 - 1e-12, 1.0):
        mass = share * caps.sum()
        x = capped_simplex(a, caps, mass)
        assert (x >= 0).all()
        assert (x <= caps).all()
        assert x.sum() == pytest.approx(mass, rel=1e-12, abs=1e-15)
        np.testing.assert_allclose(x, projection_by_bisection(a, caps, mass), atol=1e-9)


def test_capped_simplex_takes_a_mass_that_exceeds_the_caps_by_rounding():
    caps = np.full(3, 0.1)
    np.testing.assert_array_equal(capped_simplex(np.zeros(3), caps, caps.sum() * (1 + 1e-15)), caps)


def test_capped_simplex_of_a_feasible_point_is_that_point():
    rng = np.random.default_rng(4)
    caps = rng.uniform(0.5, 1, 30)
    x = caps * rng.choice([0.0, 0.3, 1.0], 30)
    np.testing.assert_allclose(capped_simplex(x, caps, x.sum()), x, atol=1e-15)


def tied(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Points and weights: continuous, or with ties in both."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    if seed % 2:
        return rng.normal(size=m), rng.uniform(0.1, 2, m), rng
    return rng.integers(0, 4, m).astype(float), rng.integers(1, 4, m).astype(float), rng


@pytest.mark.parametrize("seed", range(60))
def test_quantile_interval_is_the_set_of_minimisers(seed):
    """Σ w_i (t − p_i)₊ − level·t is convex and piecewise linear: its minimisers lie between breakpoints."""
    points, weights, rng = tied(seed)
    total = weights.sum()
    levels = [rng.uniform(0, total), float(weights[0]), float(weights[:2].sum()), total]
    for level in levels:
        low, high = quantile_interval(points, weights, level)

        def value(t, level=level):
            return float(weights @ np.maximum(t - points, 0.0) - level * t)

        best = min(value(t) for t in points)
        minimisers = [t for t in points if value(t) <= best + 1e-9]
        assert low == pytest.approx(min(minimisers))
        if level == total:
            assert high == np.inf
        else:
            assert high == pytest.approx(max(minimisers))
            assert value(high + 1e-3) > best
        assert value(low - 1e-3) > best


@pytest.mark.parametrize("seed", range(60))
def test_hinge_intercepts_solve_the_linear_program(seed):
    """All b that minimise Σ C_i (1 − y_i(u_i + b))₊, weighted and tied: the value is the LP's, outside it is larger."""
    u, C, rng = tied(seed)
    y = np.where(rng.random(len(u)) < 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    if seed % 4 == 0:
        C = np.ones(len(u))
    low, high = hinge_intercepts(u, y, C)

    def value(b):
        return float(C @ np.maximum(1 - y * (u + b), 0.0))

    n = len(u)
    program = linprog(
        np.append(C, 0.0), A_ub=np.hstack([-np.eye(n), -y[:, None]]), b_ub=-(1 - y * u),
        bounds=[(0, None)] * n + [(None, None)], method="highs",
    )
    assert low <= high
    step = 1e-4 * (1 + abs(low))
    for b in (low, high, (low + high) / 2):
        assert np.isfinite(b)
        assert value(b) == pytest.approx(program.fun, abs=1e-9)
    assert value(low - step) > program.fun + 1e-9
    assert value(high + step) > program.fun + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_balanced_is_feasible_and_leaves_feasible_points_alone(seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(12) % 3, 1.0, -1.0)
    upper = rng.uniform(0.5, 2, 12)
    a = balanced(rng.normal(size=12) * 2, y, upper)
    assert (a >= 0).all()
    assert (a <= upper).all()
    assert abs(y @ a) <= 1e-14
    np.testing.assert_allclose(balanced(a, y, upper), a, rtol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_the_terms_of_the_gap_sum_to_it(seed):
    """(CERT.2): P(w, b) − D(α) = ½‖w − w(α)‖² + Σ g_i, for any w, b and any feasible α."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 3)), np.where(np.arange(15) % 2, 1.0, -1.0)
    C = rng.uniform(0.5, 2, 15)
    alpha = balanced(rng.uniform(-1, 2, 15), y, C)
    w, b, own = rng.normal(size=3), rng.normal(), X.T @ (alpha * y)
    yf = y * (X @ w + b)
    terms = gap_terms(alpha, C, yf, 1.0)
    loss = C @ np.maximum(1 - yf, 0)
    primal = 0.5 * w @ w + loss
    dual = alpha.sum() - 0.5 * own @ own
    assert (terms >= 0).all()
    assert gap_sums(alpha, C, y, X @ w, b, 1.0) == pytest.approx((terms.sum(), loss), rel=1e-12)
    assert primal - dual == pytest.approx(0.5 * (w - own) @ (w - own) + terms.sum(), rel=1e-12)


def test_gap_terms_of_a_hard_margin():
    terms = gap_terms(np.array([1.0, 0.0]), np.full(2, np.inf), np.array([1.5, 2.0]), 1.0)
    np.testing.assert_array_equal(terms, [0.5, 0.0])
    assert gap_terms(np.zeros(1), np.full(1, np.inf), np.array([0.5]), 1.0)[0] == np.inf


def test_relative_gap_is_relative():
    """(CERT.3): with max(1, |D|) below, C = 1e-8 at α = 0 would score 1e-6 while being 100 % off."""
    assert relative_gap(1e-6, 1e-6, 0.0) == 1.0
    assert relative_gap(0.0, 0.0, 0.0) == 0.0
    assert relative_gap(1.0, 0.0, 0.0) == np.inf
    assert relative_gap(np.inf, np.inf, 1.0) == np.inf
    assert relative_gap(1e-12, 1e-12, 0.0, floor=1e-3) == pytest.approx(1e-9)


# --- residuals --------------------------------------------------------------------------------------------------------


def test_residuals_see_every_kind_of_violation():
    """One condition broken at a time, by 0.5: the residual that it belongs to says so, the others stay."""
    qp = QP(
        P=I2, q=np.array([-1.0, -1.0]), G=np.array([[1.0, 0.0]]), h=np.array([0.25]), A=np.array([[1.0, 1.0]]),
        b=np.array([1.0]), lb=np.array([0.0, -np.inf]),
    )
    x, y, z, z_box = np.array([0.25, 0.75]), np.array([0.25]), np.array([0.5]), np.zeros(2)
    assert kkt.primal_residual(qp, x) == 0
    assert kkt.dual_residual(qp, x, y, z, z_box) <= 1e-15
    assert kkt.complementarity(qp, x, z, z_box) == 0
    assert kkt.duality_gap(qp, x, y, z, z_box) <= 1e-15
    for broken in ([0.75, 0.25], [0.25, 1.25], [-0.5, 1.5]):
        assert kkt.primal_residual(qp, np.array(broken)) == pytest.approx(0.5)
    assert kkt.dual_residual(qp, x, y + 0.5, z, z_box) == pytest.approx(0.5)
    turned = replace(qp, q=qp.q + np.array([1.0, 0.0]))  # where −z is stationary, and of the wrong sign
    assert kkt.dual_residual(turned, x, y, -z, z_box) == pytest.approx(0.5)
    assert kkt.dual_residual(qp, x, y, z, np.array([0.0, -0.5])) == pytest.approx(0.5)  # no lower bound there
    assert kkt.dual_residual(qp, x, y, z, np.array([0.5, 0.0])) == pytest.approx(0.5)  # no upper bound there
    assert kkt.complementarity(qp, np.array([0.0, 1.0]), z, z_box) == pytest.approx(0.125)
    assert kkt.complementarity(qp, x, z, np.array([-1.0, 0.0])) == pytest.approx(0.25)


def test_every_form_of_every_cell_is_a_valid_qp():
    """Names cover variables and rows without overlap, in order."""
    for cell, form in itertools.product(AT_SCALE_1, FORMS):
        qp = cell.problem().qp(form)
        edges = [(part.start, part.stop) for part in qp.variables.values()]
        assert [start for start, _ in edges] == [0, *(stop for _, stop in edges[:-1])]
        assert edges[-1][1] == qp.n
        for letter, matrix in (("G", qp.G), ("A", qp.A)):
            named = [g.rows for g in qp.constraints.values() if g.matrix == letter]
            assert sum(rows.stop - rows.start for rows in named) == (0 if matrix is None else matrix.shape[0])
        assert qp.G is None or sp.issparse(qp.G)


def test_a_quantile_of_equal_weights_needs_no_sorting() -> None:
    rng = np.random.default_rng(3)
    for m in (1, 2, 7, 200):
        points = np.round(rng.normal(size=m), 1)  # with ties
        for level in (0.0, 0.3 * (m // 2), 0.3 * (m // 2) + 0.1, 0.3 * m):
            shared = quantile_interval(points, repeated(0.3, m), level)
            assert shared == quantile_interval(points, np.full(m, 0.3), level)
