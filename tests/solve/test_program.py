"""`solve(qp)`: both sides of the optimum of any convex QP, judged in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from exact_program import compute_optimum

import qpsvm
from qpsvm.backends.external.qpsolvers_ import LIMIT_NAMES
from qpsvm.bounds.program.faces import find_face, is_implied_row
from qpsvm.bounds.program.implied import compute_implied_bounds
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.upper_bound import bound_above

PLANE = {"P": np.eye(2), "q": [-3.0, 0.0]}


def draw_program(seed: int) -> qpsvm.QP:
    """Draw three variables or fewer: singular P, duplicate rows, bounds on some sides, any unit."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 4))
    F = rng.integers(-2, 3, size=(n, int(rng.integers(0, n + 1)))).astype(float)
    unit = 10.0 ** rng.integers(-6, 7) if rng.random() < 0.3 else 1.0
    G = rng.integers(-2, 3, size=(m, n)).astype(float)
    h = rng.integers(-1, 5, size=m).astype(float)
    if rng.random() < 0.4:
        G = rng.normal(size=G.shape)
        h = rng.normal(size=m) + 1.0
    rows = {"G": G, "h": h} if m else {}
    if n > 1 and rng.random() < 0.4:
        rows |= {"A": rng.integers(-2, 3, size=(1, n)) / 3.0, "b": rng.integers(-1, 3, size=1) * 0.7}
    lb = np.where(rng.random(n) < 0.6, rng.integers(-2, 1, size=n), -np.inf)
    ub = np.where(rng.random(n) < 0.6, rng.integers(1, 4, size=n), np.inf)
    return qpsvm.QP(P=F @ F.T * unit, q=rng.normal(size=n), r=float(rng.integers(-2, 3)), lb=lb, ub=ub, **rows)


@pytest.mark.filterwarnings("ignore")  # of solvers, which may say what they like
def test_the_optimum_is_between_both_sides():
    seen = {"optimal": 0, "other": 0}
    for seed in range(120):
        qp = draw_program(seed)
        result = qpsvm.solve(qp, check=False)
        value = compute_optimum(qp)
        if value is None:  # infeasible, unbounded, or an optimum without independent rows
            continue
        assert result.status != "infeasible", seed
        assert not math.isfinite(result.primal) or Fraction(result.primal) >= value, seed
        assert not math.isfinite(result.dual) or Fraction(result.dual) <= value, seed
        seen["optimal" if result.status == "optimal" else "other"] += 1
    assert seen["optimal"] > 12 * seen["other"]


def test_where_nothing_can_be_shown_that_is_said():
    F = np.random.default_rng(1).normal(size=(400, 60))
    qp = qpsvm.QP(P=F @ F.T, q=-F @ np.ones(60))  # FFᵀ as rounded may have an eigenvalue below 0
    with pytest.warns(qpsvm.InaccurateWarning, match="LowRank"):
        result = qpsvm.solve(qp, "osqp")
    assert result.dual == -math.inf
    assert "LowRank" in result.summary()
    assert qpsvm.solve(qpsvm.QP(P=qpsvm.LowRank(F), q=qp.q), "osqp").status == "optimal"


def test_bounds_that_overflow_are_no_crash():
    result = qpsvm.solve(qpsvm.QP(P=np.eye(2), q=[1.0, 1.0], lb=-1e300, ub=1e300), check=False)
    assert result.dual <= -1.0 <= result.primal


def test_a_bound_of_minus_infinity_states_the_residual_of_its_own_multipliers():
    """No y makes both entries of q + Aᵀy zero, and refined multipliers, which do not suffice either, are not stated."""
    qp = qpsvm.QP(P=np.zeros((2, 2)), q=[1.0, 1.0], A=[[1.0, 0.5]], b=[0.0])
    bound = QPBounds(qp, 1e-14).bound_below(np.zeros(2), np.array([-1.0]), np.zeros(0))
    assert bound.value == -math.inf
    np.testing.assert_allclose(bound.c, qp.q + qp.A.T @ bound.y)


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_what_overflows_proves_nothing(form):
    """No x satisfies both rows; their products are ∞ in floats, with a difference of NaN. So are some multipliers'."""
    G = form([[1e200, -1e200], [-1e200, 1e200]])
    program = QPBounds(qpsvm.QP(P=np.zeros((2, 2)), q=[0.0, 0.0], G=G, h=[-1.0, -1.0]))
    with np.errstate(all="ignore"):
        for entry in (1e200, 1e308, math.inf):
            assert bound_above(program, np.full(2, entry), None).value == math.inf
        tiny = QPBounds(qpsvm.QP(P=[[0.0]], q=[0.0], A=form([[-7e-12]]), b=[7e-33], lb=0.0, ub=3e-8))
        assert tiny.bound_below(np.zeros(1), np.array([-2.78e303]), np.zeros(0)).value == -math.inf
        rows = {
            "A": form([[-1.2, -0.6]]),
            "b": [0.0],
            "G": form([[-1e9, 0.0], [-0.4, -1.1], [1e9, 0.0]]),
            "h": np.ones(3),
        }
        free = qpsvm.QP(P=np.zeros((2, 2)), q=np.zeros(2), **rows, lb=[0.0, -math.inf], ub=[1.0, math.inf])
        z = np.array([7e299, 5e299, 1e299])
        assert QPBounds(free).bound_below(np.zeros(2), np.array([1e299]), z).value <= 0.0


def test_a_bound_that_is_missing_is_infinite():
    """No point is shown to be feasible, and q may change."""
    G = np.array([[5.44956752e-08, -2.86102295e-07, 0.0], [-490853405.0, -122713351.0, 5153960760.0]])
    h = np.array([-1.58037458e-07, -1.35720967e10])
    f = np.array([[8.0, 0.0, -5.0]])
    for backend in ("osqp", "auto"):
        result = qpsvm.solve(qpsvm.QP(P=f.T @ f, q=np.zeros(3), G=G, h=h), backend, polish=False, check=False)
        assert not math.isnan(result.primal)
        assert not math.isnan(result.dual)


def test_a_poor_point_is_bounded_honestly():
    rng = np.random.default_rng(2)
    G = rng.normal(size=(8, 5))
    h = np.ones(8)
    qp = qpsvm.QP(P=np.eye(5), q=rng.normal(size=5), G=G, h=h, lb=-1.0, ub=1.0)
    program = QPBounds(qp)
    best = qpsvm.solve(qp)
    for _ in range(50):
        x = rng.normal(size=5)
        z = np.abs(rng.normal(size=8))
        assert program.bound_below(x, np.zeros(0), z).value <= best.primal
        assert bound_above(program, x, np.zeros(5)).value >= best.dual
    coarse = qpsvm.solve(qp, "osqp", polish=False, tol=1e-2, check=False)
    assert coarse.dual <= best.primal
    assert coarse.primal >= best.dual


def test_numbers_that_prove_nothing_prove_nothing():
    slack = QPBounds(qpsvm.QP(P=[[1.0]], q=[0.0], G=[[1.0]], h=[1.0], lb=-9.0, ub=9.0))  # at 0
    assert slack.bound_below(np.array([1.0]), np.zeros(0), np.array([-1.0])).value <= 0.0
    free = QPBounds(qpsvm.QP(P=[[1.0]], q=[-3.0]))  # −4.5 at 3
    assert free.bound_below(np.array([0.0]), np.zeros(0), np.zeros(0)).value <= -4.5
    narrow = QPBounds(qpsvm.QP(P=np.eye(2), q=[0.0, 0.0], A=[[1.0, 1.0]], b=[2.5], lb=0.0, ub=1.0))  # infeasible
    assert bound_above(narrow, np.array([1.0, 0.5]), None).value == math.inf


def test_wrong_input_is_named():
    qp = qpsvm.QP(**PLANE)
    with pytest.raises(qpsvm.UnsupportedError, match="belongs to machines"):
        qpsvm.solve(qp, form="dual")
    with pytest.raises(qpsvm.UnsupportedError):
        qpsvm.solve(qp, "libsvm")
    with pytest.raises(qpsvm.DataError, match="start"):
        qpsvm.solve(qp, start=[1.0])
    with pytest.raises(qpsvm.ParameterTypeError, match="or a QP"):
        qpsvm.solve(np.eye(2))


def round_trips() -> list[qpsvm.QP]:
    rng = np.random.default_rng(3)
    F = rng.normal(size=(5, 5))
    rows = {"G": rng.normal(size=(3, 5)), "h": np.ones(3), "A": sp.csr_array(rng.normal(size=(1, 5))), "b": [0.3]}
    return [
        qpsvm.QP(P=F @ F.T, q=rng.normal(size=5), r=1.5, **rows, lb=-1.0, title="rows of all kinds"),
        qpsvm.QP(P=sp.csr_array((2, 2)), q=[-1.0, -1.0], G=[[1.0, 2.0], [3.0, 1.0]], h=[4.0, 6.0], lb=0.0),
        qpsvm.QP(P=sp.diags_array([1.0, 2.0]), q=[-3.0, 0.0], ub=[1.0, np.inf]),
    ]


@pytest.mark.parametrize("ending", [".npz", ".mps", ".qps", ".lp"])
@for_each("which", range(3))
def test_a_file_holds_the_same_program(tmp_path, which, ending):
    if ending != ".npz":
        pytest.importorskip("highspy")
    qp = round_trips()[which]
    path = tmp_path / f"qp{ending}"
    if ending == ".npz":
        qp.save(path)
    else:
        qpsvm.write_model(qp, path)
    back = qpsvm.QP.load(path) if ending == ".npz" else qpsvm.read_model(path)
    x = np.random.default_rng(0).normal(size=qp.n)
    assert back.objective(x) == pytest.approx(qp.objective(x), rel=1e-13)
    first, second = qpsvm.solve(qp), qpsvm.solve(back)
    assert second.dual - 1e-9 <= first.primal
    assert first.dual - 1e-9 <= second.primal
    if ending == ".npz":
        lines, others = (str(each).splitlines() for each in (qp, back))
        assert [line for line in lines if "memory" not in line] == [line for line in others if "memory" not in line]
        assert (back.P.dense() == qp.P.dense()).all()


def test_files_that_are_none_are_refused(tmp_path):
    qp = round_trips()[1]
    (tmp_path / "bad.npz").write_text("hello")
    with pytest.raises(qpsvm.DataError, match="bad"):
        qpsvm.QP.load(tmp_path / "bad.npz")
    with pytest.raises(qpsvm.FileAccessError, match="absent"):
        qpsvm.QP.load(tmp_path / "absent.npz")
    for way in (lambda path: qpsvm.write_model(qp, path), qpsvm.read_model):
        with pytest.raises(qpsvm.ParameterError, match=r"\.mps, \.qps"):
            way(tmp_path / "qp.txt")
    with pytest.raises(qpsvm.ParameterTypeError, match="takes a QP"):
        qpsvm.write_model(3, tmp_path / "qp.mps")
    pytest.importorskip("highspy")
    (tmp_path / "bad.mps").write_text("hello")
    with pytest.raises(qpsvm.DataError, match="bad"):
        qpsvm.read_model(tmp_path / "bad.mps")
    with pytest.raises(qpsvm.FileAccessError, match="absent"):
        qpsvm.read_model(tmp_path / "absent.mps")
    (tmp_path / "whole.lp").write_text("minimize\n obj: x\nsubject to\n r: x >= 1\ngeneral\n x\nend\n")
    with pytest.raises(qpsvm.DataError, match="integer"):
        qpsvm.read_model(tmp_path / "whole.lp")


def test_parts_are_replaced_and_rows_added():
    qp = round_trips()[0]
    more = qp.with_rows(G=np.ones((1, 5)), h=[0.0]).with_rows(G=-np.ones((1, 5)), h=[1.0], A=np.eye(5)[:1], b=[0.1])
    assert list(more.constraints) == ["G", "A", "more G", "more G+", "more A"]
    result = qpsvm.solve(more)
    assert result.status == "optimal"
    assert result.x[0] == pytest.approx(0.1, abs=1e-12)
    assert -1.0 - 1e-12 <= result.x.sum() <= 1e-12
    assert qpsvm.solve(qp.replace(r=0.0)).primal == pytest.approx(qpsvm.solve(qp).primal - 1.5, rel=1e-9)
    with pytest.raises(qpsvm.UnknownOptionError, match="no part 'lower'"):
        qp.replace(lower=0.0)
    with pytest.raises(qpsvm.DataError):
        qp.with_rows(G=np.ones((1, 4)), h=[0.0])


@pytest.mark.parametrize("solver", ["piqp", "proxqp", "daqp", "highs", "clarabel", "scs"])
def test_solvers_of_qpsolvers_are_judged_like_all(solver):
    qpsolvers = pytest.importorskip("qpsolvers")
    if solver not in qpsolvers.available_solvers:
        pytest.skip(f"{solver} is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    problem = qpsvm.CSVM(X, np.sign(X[:, 0] + 0.5 * rng.normal(size=40)))
    assert qpsvm.solve(problem, f"qpsolvers:{solver}").status == "optimal"
    result = qpsvm.solve(problem.qp("primal"), f"qpsolvers:{solver}")
    assert result.status == "optimal"
    assert result.solver.name == f"qpsolvers:{solver}"
    again = qpsvm.QP.from_qpsolvers(problem.qp("primal").to_qpsolvers())
    assert qpsvm.solve(again).dual <= result.primal


@pytest.mark.filterwarnings("ignore:The default value of raise_error:PendingDeprecationWarning")  # OSQP's, of qpsolvers
@pytest.mark.parametrize("solver", sorted(LIMIT_NAMES))
def test_limits_reach_the_solvers_of_qpsolvers_that_have_them(solver):
    qpsolvers = pytest.importorskip("qpsolvers")
    if solver not in qpsolvers.available_solvers:
        pytest.skip(f"{solver} is not installed")
    X = np.random.default_rng(0).normal(size=(40, 3))
    problem = qpsvm.CSVM(X, np.where(X[:, 0] > 0.1, 1, -1))
    for limit, value in {"time_limit": 60.0, "max_iter": 50_000}.items():
        if limit in LIMIT_NAMES[solver]:
            assert qpsvm.solve(problem, f"qpsolvers:{solver}", **{limit: value}).status == "optimal"
        else:
            with pytest.raises(qpsvm.UnsupportedError, match=f"cannot enforce {limit}"):
                qpsvm.solve(problem, f"qpsolvers:{solver}", **{limit: value})


def test_solvers_that_qpsolvers_does_not_reach_are_named():
    pytest.importorskip("qpsolvers")
    with pytest.raises(qpsvm.UnknownOptionError, match="reaches no solver 'nosuch'"):
        qpsvm.solve(round_trips()[1], "qpsolvers:nosuch")
    with pytest.raises(qpsvm.ParameterTypeError, match="has P and q"):
        qpsvm.QP.from_qpsolvers(3)


@for_each("backend", ["cvxopt", "osqp", "clarabel"])
def test_a_set_without_room_has_a_face(backend):
    """x₁ + x₂ ≤ 1 from both sides of one plane, x₃ = 0 by x₃ + x₄ ≤ 0, and an equality that says the same again."""
    qp = qpsvm.QP(
        P=np.diag([1.0, 1.0, 0.0, 0.0]), q=[-1.0, 0.0, -1.0, -1.0],
        G=[[1.0, 1.0, 0.0, 0.0], [-1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], h=[1.0, -1.0, 0.0],
        A=[[0.3, 0.3, 1.0, 0.0], [0.6, 0.6, 2.0, 0.0]], b=[0.3, 0.6], lb=0.0,
    )  # fmt: skip
    found = find_face(QPBounds(qp))
    assert set(found.fixed) == {2, 3}
    assert len(found.equalities) == 1
    result = qpsvm.solve(qp, backend, check=False)
    if result.solver.status.startswith("raised"):  # rows that depend on each other, which CVXOPT does not take
        assert result.status != "optimal"
        return
    assert result.dual <= -0.5 <= result.primal + 1e-15
    assert math.isfinite(result.primal)
    assert (result.x[2], result.x[3]) == (0.0, 0.0)


def test_a_row_that_only_nearly_follows_does_not():
    rows = np.array([[0.3, 0.3], [0.6, 0.6]])
    sides = np.array([0.3, 0.6])
    none = np.zeros(0, dtype=int)
    chosen = np.array([0])
    x = np.zeros(2)
    assert is_implied_row(rows, sides, 1, chosen, x, none, is_equality=True)
    assert not is_implied_row(rows, np.array([0.3, np.nextafter(0.6, 1.0)]), 1, chosen, x, none, is_equality=True)
    assert is_implied_row(rows, np.array([0.3, np.nextafter(0.6, 1.0)]), 1, chosen, x, none, is_equality=False)
    assert not is_implied_row(rows, np.array([0.3, np.nextafter(0.6, 0.0)]), 1, chosen, x, none, is_equality=False)
    assert not is_implied_row(
        np.array([[0.3, 0.3], [0.6, np.nextafter(0.6, 1.0)]]), sides, 1, chosen, x, none, is_equality=False
    )


def test_rows_imply_bounds_and_never_too_much():
    rng = np.random.default_rng(7)
    for _ in range(200):
        n, m = 4, 3
        x = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
        G = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
        h = G @ x + np.abs(G) @ np.abs(x) * 1e-15  # x is feasible, and with next to no room
        A = np.abs(rng.normal(size=(1, n)))
        lb = np.where(rng.random(n) < 0.8, np.minimum(x, 0.0) - 1.0, -np.inf)
        exact = sum((Fraction(a) * Fraction(v) for a, v in zip(A[0].tolist(), x.tolist(), strict=True)), Fraction(0))
        b = np.array([float(exact)])
        low, high = compute_implied_bounds(A, b + abs(b) * 1e-15, G, h, lb, np.full(n, np.inf))
        slack = 1e-13 * (1.0 + np.abs(x).max()) / min(1e-3, np.abs(A).min(), np.abs(G[G != 0]).min(initial=1.0))
        assert (low <= x + slack).all()
        assert (high >= x - slack).all()
        if np.isfinite(lb).all():
            assert np.isfinite(high).all()


def test_multipliers_with_room_bound_what_the_solvers_do_not():
    """Minimise x₁ over x₁ + x₂ = ⅓, x ≥ 0: c₂ = 0 but for rounding, and the rows bound both variables."""
    qp = qpsvm.QP(
        P=sp.csr_array((3, 3)), q=[1.0, 0.1, 0.1], A=[[1.0, 1.0, 0.7], [0.1, 0.3, 0.3]], b=[1 / 3, 0.1], lb=0.0
    )
    program = QPBounds(qp)
    assert np.isfinite(program.implied_bounds[1]).all()
    y = np.array([0.1, -0.7])  # far from optimal, and no multipliers of (QP.1) at all
    bound = program.bound_below(np.zeros(3), y, np.zeros(0)).value
    assert -math.inf < bound <= float(compute_optimum(qp))
    assert qpsvm.solve(qp).status == "optimal"


def by_hand() -> dict[str, tuple[qpsvm.QP, qpsvm.Problem]]:
    """Duals as a reader writes them, with the machine that each is of."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=40))
    t = X[:, 1]
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    kernel = qpsvm.RBF(0.5)
    P = K * y * y[:, None]
    n = 40
    ones = np.ones(40)
    two = np.concatenate([0.1 - t, 0.1 + t])
    return {
        "a C-SVM of 40 samples, C = 2": (
            qpsvm.QP(P=P, q=-ones, A=[y], b=[0.0], lb=0.0, ub=2.0), qpsvm.CSVM(X, y, 2.0, kernel)
        ),
        "a hard margin of 40 samples": (
            qpsvm.QP(P=P, q=-ones, A=[y], b=[0.0], lb=0.0), qpsvm.HardMargin(X, y, kernel=kernel)
        ),
        "a nu-SVM of 40 samples": (
            qpsvm.QP(P=P, q=0 * ones, A=[y, ones], b=[0.0, 0.3], lb=0.0, ub=1 / n), qpsvm.NuSVM(X, y, 0.3, kernel)
        ),
        "a one-class machine of 40 samples": (
            qpsvm.QP(P=K, q=0 * ones, A=[ones], b=[1.0], lb=0.0, ub=1 / (0.3 * n)), qpsvm.OneClass(X, 0.3, kernel)
        ),
        "an epsilon-SVR of 40 samples, C = 3, ε = 0.1": (
            qpsvm.QP(P=np.block([[K, -K], [-K, K]]), q=two, A=[np.repeat([1.0, -1.0], n)], b=[0.0], lb=0.0, ub=3.0),
            qpsvm.EpsilonSVR(X, t, 3.0, 0.1, kernel=kernel),
        ),
    }  # fmt: skip


@for_each("words", by_hand())
def test_a_machines_dual_written_by_hand_is_recognised(words):
    qp, problem = by_hand()[words]
    result = qpsvm.solve(qp)
    other = qpsvm.solve(qp, "cvxopt")
    machine = qpsvm.solve(problem)
    assert result.solver.name == "kernel_newton"
    assert qpsvm.compile(qp, "auto").backend.name == "kernel_newton"
    assert words in result.machine
    assert f"machine     the dual of {words}" in result.summary()
    for each in (result, other):  # two judges of one number, and of the intercept
        assert each.status == "optimal"
        assert words in each.machine
        b = float(each.machine.rpartition("b = ")[2])
        scale = abs(machine.primal)
        if words.startswith("a one-class"):  # in units of ν n, as the machine states it
            continue
        assert -each.primal <= machine.primal + 1e-8 * scale
        assert -each.dual >= machine.dual - 1e-8 * scale
        assert b == pytest.approx(machine.b, abs=1e-4)


def test_what_is_no_machines_dual_is_not_called_one():
    qp, _ = by_hand()["a one-class machine of 40 samples"]
    portfolio = qp.replace(q=np.linspace(-1.0, 1.0, 40))
    assert qpsvm.solve(portfolio).machine == ""
    assert qpsvm.compile(portfolio, "auto").backend.name != "kernel_newton"
    assert "machine" not in qpsvm.solve(portfolio).summary()


def test_backends_are_compared_on_a_qp():
    qp = qpsvm.QP(P=[[2.0, 0.5], [0.5, 1.0]], q=[1.0, 1.0], G=[[-1.0, -1.0]], h=[-1.0], lb=0.0)
    found = qpsvm.compare(qp)
    assert [row.backend for row in found] == list(qpsvm.backends.names())
    judged = [row for row in found if row.status not in ("unsupported", "not installed")]
    assert {"cvxopt", "osqp", "cvxpy"} <= {row.backend for row in judged}
    for row in judged:
        assert row.status == "optimal"
        assert row.dual <= 23 / 16 <= row.primal  # x = (1/4, 3/4)
    assert found.heading.startswith("QP: 2 variables × 1 constraints")
    assert all(row.note for row in found if row.status == "unsupported")
    assert qpsvm.compare(qp, "auto")[0].note == "took clarabel"
    hand, _ = by_hand()["a C-SVM of 40 samples, C = 2"]
    statuses = {row.backend: row.status for row in qpsvm.compare(hand, ["libsvm", "kernel_newton", "liblinear"])}
    assert statuses == {"libsvm": "optimal", "kernel_newton": "optimal", "liblinear": "unsupported"}
    with pytest.raises(qpsvm.UnsupportedError, match="belongs to machines"):
        qpsvm.compare(qp, forms="dual")


def test_numbers_of_a_spelt_out_byte_order_are_numbers():
    """As SciPy reads them from MATLAB files."""
    P = sp.csc_array([[2.0, -2.0], [-2.0, 2.0]])
    P.data = P.data.view(np.dtype("<f8").newbyteorder("<"))
    qp = qpsvm.QP(P=P, q=[0.0, 0.0], A=sp.csr_array([[1.0, 1.0]]), b=[1.0], lb=0.0)
    assert qpsvm.solve(qp).status == "optimal"


def test_multipliers_are_those_of_the_rows_where_the_bound_uses_what_follows_from_them():
    """x₂ has no upper bound but the one that rows imply: the multipliers belong to the rows all the same."""
    G = np.array([[-2.0, 2.0], [3.0, -2.0], [-2.0, 1.0], [1.0, 0.0]])
    A = np.array([[2.0, 0.0]])
    P = np.diag([1.0, 0.0])
    q = np.array([3.0, -1.0])
    program = qpsvm.QP(P, q, r=-5.0, G=G, h=[2.0, -2.5, 1.5, -0.5], A=A, b=[-1.0], lb=[-np.inf, 0.5], ub=[1.5, np.inf])
    result = qpsvm.solve(program)
    assert (result.z >= 0.0).all()
    np.testing.assert_allclose(P @ result.x + q + A.T @ result.y + G.T @ result.z + result.z_box, 0.0, atol=1e-8)


def test_rows_of_very_different_size_are_no_reason_to_crash():
    result = qpsvm.solve(qpsvm.QP(np.eye(2), [0.0, 0.0], G=[[1e200, 1.0], [1.0, 1e-200]], h=[-1.0, 2.0]), check=False)
    assert not result.primal < 0.0


def test_a_lower_bound_whose_square_underflows_is_below_the_optimum():
    """Minimise ½κx² + cx: −c²/(2κ) = −1.1e-18, although c² is 0 in doubles."""
    qpsvm.register_backend("zero", lambda P, q, G, h, A, b, lb, ub: 0.0 * q)  # noqa: ARG005
    try:
        result = qpsvm.solve(qpsvm.QP([[1e-306]], [1.5e-162]), "zero", polish=False, check=False)
    finally:
        qpsvm.unregister_backend("zero")
    assert result.dual <= -1.125e-18
