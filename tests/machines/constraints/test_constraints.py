"""Rows of a user's: what they say, what they cost, and what is said where they cannot be kept."""

import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from exact_arithmetic import as_fractions, dot
from judge import judge_proof

import qpsvm

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
Y = np.where(X @ [1.0, -1.0, 0.3] + 0.4 * rng.normal(size=40) > 0, 1, 0)
T = X @ [1.0, -0.5, 0.0] + 0.3 * rng.normal(size=40)
SIGNS = qpsvm.Constraints.signs(X, {1: +1, 2: -1})


# --- feasible and certified, in exact arithmetic ----------------------------------------------------------------------

MACHINES = {
    "C": lambda **o: qpsvm.CSVM(X, Y, C=2.0, **o),
    "nu": lambda **o: qpsvm.NuSVM(X, Y, nu=0.4, **o),
    "squared": lambda **o: qpsvm.SquaredHinge(X, Y, **o),
    "epsilon": lambda **o: qpsvm.EpsilonSVR(X, T, **o),
    "nu regression": lambda **o: qpsvm.NuSVR(X, T, **o),
    "one class": lambda **o: qpsvm.OneClass(X + 4.0, nu=0.3, kernel=qpsvm.Linear(), **o),
}
HOSTILE = {
    "zero bounds": SIGNS,
    "scales": qpsvm.Constraints(np.diag([1e-8, -1e8, 1.0]), [1e-9, -1e7, 0.05]),
    "nearly parallel": qpsvm.Constraints([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-9, 0.0], [1.0, 1.0, 1e-9]], [0.1, 0.1, 0.1]),
    "repeated, zero and idle": qpsvm.Constraints([[1.0, 0, 0], [1.0, 0, 0], [0, 0, 0], [1, 1, 1]], [0.2, 0.2, 0, 1e6]),
    "a narrow band": qpsvm.Constraints([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], [0.1, -0.1 + 1e-9]),
    "away from 0, with b": qpsvm.Constraints([[0.5, 0.0, 0.0], [0.0, 1.0, 0.0]], [-0.3, -0.1], c=[1.0, -0.2]),
    "a thousand": qpsvm.Constraints(rng.normal(size=(1000, 3)), 0.5, c=0.1),
}  # fmt: skip


def violations(rows, w, b):
    """G w + c b − h of each row, exactly."""
    G = rows.G.toarray() if hasattr(rows.G, "toarray") else rows.G
    each = zip(G, as_fractions(rows.c), as_fractions(rows.h), strict=True)
    return [dot(as_fractions(g), as_fractions(w)) + c * Fraction(b) - h for g, c, h in each]


@pytest.mark.parametrize("name", MACHINES)
@for_each("kind", HOSTILE)
def test_optimal_keeps_every_row_exactly_and_its_gap_is_one(name, kind):
    rows, make = HOSTILE[kind], MACHINES[name]
    result = qpsvm.solve(make(constraints=rows))
    assert result.status == "optimal"
    assert max(violations(rows, result.w, result.b)) <= 0
    assert (result.constraints["violation"] == 0.0).all()
    if kind != "a thousand" and result.primal:  # in fractions that takes a while; of 0 there is no share
        gap = judge_proof(result.problem, result).gap  # whose α is repaired: that costs some roundings
        assert 0 <= gap <= result.gap * (1 + 1e-9) + 1e-15


# --- equalities -------------------------------------------------------------------------------------------------------


def test_an_equality_is_kept_up_to_the_rounding_of_its_evaluation():
    rows = qpsvm.Constraints.equal([[1.0, 1.0, 1.0]], 0.3, names=["sum"])
    result = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=rows))
    assert result.status == "optimal"
    assert abs(result.w.sum() - 0.3) < 1e-14
    multipliers = [*result.constraint_multipliers.values()]
    assert min(multipliers) == 0.0 < max(multipliers), "two opposite rows have one multiplier"


def test_an_equality_says_how_exactly_it_holds():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=30) > 0
    G = np.array([[1.0, 1.3, 0.7], [-1.0, -1.3, -0.7]])
    h = [0.1, -0.1]
    result = qpsvm.solve(qpsvm.CSVM(X, y, constraints=qpsvm.Constraints(G, h, names=["low", "high"])))
    assert result.status == "optimal"
    said = re.search(r"the constraints low, high only allow an equality, which holds up to (\S+):", result.message)
    off = abs(dot(as_fractions(G[0]), as_fractions(result.w)) - Fraction(0.1))
    assert 0 < off <= Fraction(said[1]) < 1e-13
    proof = result.verify()
    assert proof.remains <= result.gap < proof.gap == np.inf  # of the relaxed bounds, and of those as they are


def test_rows_that_leave_nothing_but_zero():
    """Three rows of a plane that exclude all directions: equalities that nobody wrote as such."""
    rows = qpsvm.Constraints([[1.0, 0, 0], [-0.5, 1.0, 0], [-0.5, -1.0, 0], [0, 0, 1.0]], 0.0)
    result = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=rows))
    assert result.status == "optimal"
    assert result.w[0] == result.w[1] == 0.0 >= result.w[2]


# --- infeasible rows --------------------------------------------------------------------------------------------------


def test_infeasible_rows_are_an_error_that_carries_the_proof():
    G = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 3.0], [0.0, -2.0, -3.0], [1.0, 1.0, 1.0]])
    h = np.array([1.0, 2.0, -3.5, 9.0])
    names = ["a", "b", "c", "idle"]
    with pytest.raises(qpsvm.InfeasibleConstraintsError, match=r"\(a\).*\(b\)|\(b\).*\(a\)") as caught:
        qpsvm.solve(qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints(G, h, names=names)))
    error = caught.value
    assert set(error.weights) == {"a", "b", "c"}
    weights = [Fraction(error.weights.get(name, 0.0)) for name in names]
    assert all(dot(weights, as_fractions(column)) == 0 for column in G.T)
    assert float(dot(weights, as_fractions(h))) == pytest.approx(error.bound)
    assert error.bound < 0
    assert isinstance(error, ValueError)
    assert pickle.loads(pickle.dumps(error)).weights == error.weights


def test_a_row_of_nothing():
    assert qpsvm.solve(qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[0.0, 0.0, 0.0]], 0.0))).status == "optimal"
    with pytest.raises(qpsvm.InfeasibleConstraintsError, match="row 0"):
        qpsvm.solve(qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[0.0, 0.0, 0.0]], -1.0)))


def test_infeasible_values_of_a_kernel():
    rows = qpsvm.ValueConstraints(X[:1], [[1.0], [-1.0]], [1.0, -2.0], names=["low", "high"])
    with pytest.raises(qpsvm.InfeasibleConstraintsError) as caught:
        qpsvm.solve(qpsvm.CSVM(X, Y, kernel="rbf", constraints=rows))
    assert set(caught.value.weights) == {"low", "high"}


def test_a_hard_margin_that_rows_exclude():
    points = [[0.0], [1.0]]
    labels = [0, 1]
    with pytest.raises(qpsvm.InfeasibleConstraintsError, match="margin"):
        qpsvm.solve(qpsvm.HardMargin(points, labels, constraints=qpsvm.Constraints([[1.0]], 1.0, names=["flat"])))
    with pytest.raises(qpsvm.NotSeparableError):
        qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0], constraints=qpsvm.Constraints([[1.0]], 1.0)))


# --- what a user sees -------------------------------------------------------------------------------------------------


def test_both_qps_name_the_rows():
    problem = qpsvm.CSVM(X, Y, constraints=SIGNS)
    dual, primal = problem.qp("dual"), problem.qp("primal")
    assert list(dual.variables) == ["alpha", "lambda"]
    assert "w[1] ≥ 0" in primal.constraints["constraints"].formula
    group = primal.constraints["constraints"].rows
    np.testing.assert_array_equal(primal.G[group][:, primal.variables["w"]].toarray(), SIGNS.G)
    for form in ("dual", "primal"):
        result = problem.interpret(qpsvm.compile(problem.qp(form), "cvxopt").solve(tol=1e-9))
        assert result.status == "optimal"
        assert result.constraint_multipliers == pytest.approx(
            qpsvm.solve(problem).constraint_multipliers, rel=1e-4, abs=1e-6
        )


def test_the_summary_and_the_table():
    result = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=SIGNS))
    assert "2 rows, all satisfied" in result.summary()
    assert "with a positive multiplier: w[1] ≥ 0 (" in result.summary()
    assert result.constraints["name"].tolist() == ["w[1] ≥ 0", "w[2] ≤ 0"]
    assert result.constraints["gap"].sum() <= result.gap * result.primal + 1e-12
    assert qpsvm.solve(qpsvm.CSVM(X, Y)).constraint_multipliers == {}
    assert len(result.alpha) == len(result.kind) == len(result.yf) == len(result.coef) == 40


def test_decision_values_are_those_of_the_rows():
    result = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=SIGNS))
    signs = np.where(Y > 0, 1.0, -1.0)
    np.testing.assert_allclose(signs * result.decision_function(X), result.yf, atol=1e-10)
    multipliers = np.array([*result.constraint_multipliers.values()])
    np.testing.assert_allclose(X.T @ result.coef - SIGNS.G.T @ multipliers, result.w, atol=1e-6)


def test_a_kernel_machine_keeps_the_points_of_its_rows(tmp_path):
    points = np.array([[9.0, 0.0, 0.0], [8.0, 0.0, 0.0]])
    rows = qpsvm.ValueConstraints(points, None, [-0.9, -0.3])
    result = qpsvm.solve(qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(0.1), constraints=rows))
    assert (result.decision_function(points) <= [-0.9, -0.3]).all()
    has_multiplier = np.array([*result.constraint_multipliers.values()]) > 0.0
    assert (result.model.vectors[:, 0] > 7.0).sum() == has_multiplier.sum() >= 1
    result.save(tmp_path / "model.npz")
    again = qpsvm.load(tmp_path / "model.npz").decision_function(X)
    np.testing.assert_array_equal(again, result.decision_function(X))


# --- with everything else ---------------------------------------------------------------------------------------------


def test_weights_replacement_sparse_samples_and_starts():
    weight = np.ones(40)
    weight[:5], weight[5] = 0.0, 2.0
    problem = qpsvm.CSVM(X, Y, C=0.5, sample_weight=weight, constraints=SIGNS)
    result = qpsvm.solve(problem, tol=1e-9)
    doubled = np.concatenate([X[5:], X[5:6]])
    same = qpsvm.solve(qpsvm.CSVM(doubled, [*Y[5:], Y[5]], C=0.5, constraints=SIGNS), tol=1e-9)
    np.testing.assert_allclose(result.w, same.w, atol=1e-6)
    assert (result.alpha[:5] == 0).all()
    sparse = qpsvm.solve(qpsvm.CSVM(sp.csr_array(X), Y, C=0.5, sample_weight=weight, constraints=SIGNS), tol=1e-9)
    np.testing.assert_allclose(result.w, sparse.w, atol=1e-6)
    other = problem.replace(C=5.0)
    assert other.constraints is problem.constraints
    begun = qpsvm.solve(other, "osqp", start=result)
    assert begun.status == "optimal"
    assert problem.at(np.append(result.alpha, [*result.constraint_multipliers.values()])).gap <= 1e-6
    assert problem.certify(result.alpha).gap > 1e-6, "without multipliers it is no optimum"


@for_each("backend", ["cvxopt", "interior_point", "osqp", "cvxpy", "slsqp"])
@for_each("form", ["dual", "primal"])
def test_general_backends_take_both_forms(backend, form):
    rows = [SIGNS, qpsvm.ValueConstraints(X[:3], [[1.0, -1.0, 0.5]], 0.1, names=["value"])]
    result = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=rows), backend, form=form)
    assert result.status == "optimal"
    known = qpsvm.solve(qpsvm.CSVM(X, Y, constraints=rows))
    assert result.primal == pytest.approx(known.primal, rel=1e-5)


def test_a_fair_classifier():
    group = X[:, 0] > 0
    for kernel, rows in (
        (qpsvm.Linear(), qpsvm.Constraints.covariance(X, group, 0.05)),
        (qpsvm.RBF(0.3), qpsvm.ValueConstraints.covariance(X, group, 0.05)),
    ):
        result = qpsvm.solve(qpsvm.CSVM(X, Y, kernel=kernel, constraints=rows))
        f = result.decision_function(X)
        assert abs(np.cov(group, f, bias=True)[0, 1]) <= 0.05 + 1e-12
        assert (
            abs(np.cov(group, qpsvm.solve(qpsvm.CSVM(X, Y, kernel=kernel)).decision_function(X), bias=True)[0, 1])
            > 0.06
        )


def test_a_rising_regression():
    x = np.linspace(0.0, 1.0, 30)[:, None]
    t = x.ravel() + 0.4 * np.sin(12 * x.ravel())
    rows = qpsvm.ValueConstraints.monotone(np.linspace(0.0, 0.95, 20)[:, None], 0, 0.05)
    result = qpsvm.solve(qpsvm.EpsilonSVR(x, t, C=10.0, epsilon=0.05, kernel=qpsvm.RBF(30.0), constraints=rows))
    f = result.predict(np.linspace(0.0, 1.0, 21)[:, None])
    assert (np.diff(f) >= -1e-12).all()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: qpsvm.Constraints([[1.0]], [1.0, 2.0]), qpsvm.DataError, "h"),
        (lambda: qpsvm.Constraints([[np.nan]], 1.0), qpsvm.DataError, "NaN"),
        (lambda: qpsvm.Constraints([[1.0]], 1.0, names=["a", "b"]), qpsvm.DataError, "names has 2"),
        (lambda: qpsvm.CSVM(X, Y, constraints=3.0), qpsvm.ParameterError, "Constraints"),
        (lambda: qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[1.0]], 1.0)), qpsvm.DataError, "1 columns, X has 3"),
        (lambda: qpsvm.CSVM(X, Y, kernel="rbf", constraints=SIGNS), qpsvm.UnsupportedError, "ValueConstraints"),
        (lambda: qpsvm.CSVM(X, Y, constraints=[SIGNS, SIGNS]), qpsvm.ParameterError, "several rows"),
        (lambda: qpsvm.Constraints.signs(X, {7: 1}), qpsvm.ParameterError, "column 7"),
        (lambda: qpsvm.Constraints.signs(X, {0: 2}), qpsvm.ParameterError, "sign of column 0"),
        (lambda: qpsvm.Constraints.covariance(X, Y, -1.0), qpsvm.ParameterError, "limit"),
        (lambda: qpsvm.ValueConstraints.between(X), qpsvm.ParameterError, "low, or high"),
    ],
)
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_tube_wider_than_the_targets_beside_rows():
    """Without rows the optimum is w = 0 with value 0; with b held away from the targets it is not."""
    rows = qpsvm.Constraints([[0.0, 0.0, 0.0]], -9.0, c=-1.0, names=["b ≥ 9"])
    result = qpsvm.solve(qpsvm.EpsilonSVR(X, T, epsilon=5.0, constraints=rows))
    assert result.status == "optimal"
    assert result.b >= 9.0


# --- the certificate with multipliers of constraints ------------------------------------------------------------------


@for_each("size", [1e16, 1e20, 1e100, 1e200])
def test_multipliers_that_cancel_each_other_are_no_reason_to_call_a_length_rounding(size):
    """Three rows that add up to 0: compared with their multipliers any w(α) is small, and 0 is still no optimum."""
    apart = np.array([1.0, -1.0, 1.0]) + 0.3 * np.random.default_rng(0).normal(size=(12, 3))
    rows = qpsvm.Constraints([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]], np.zeros(3))
    problem = qpsvm.OneClass(apart, nu=0.5, kernel="linear", constraints=rows)
    optimum = qpsvm.solve(problem)
    assert optimum.status == "optimal"
    assert optimum.primal < 0.0
    candidate = problem.at(np.concatenate([optimum.alpha, np.full(3, size)]))
    assert candidate.status != "optimal"
    assert candidate.gap >= 0.1 or candidate.primal <= optimum.primal * (1.0 - candidate.gap)


def test_the_dual_is_below_a_primal_that_is_negative():
    problem = qpsvm.OneClass(X + 4.0, nu=0.5, kernel="linear", constraints=qpsvm.Constraints([[1.0, 0, 0]], [0.2]))
    optimum = qpsvm.solve(problem)
    assert optimum.primal < 0.0
    for alpha in (np.zeros(40), 1.1 * optimum.alpha + 0.01):
        candidate = problem.at(alpha)
        assert candidate.dual <= optimum.primal <= candidate.primal


@pytest.mark.filterwarnings("ignore:overflow encountered in multiply:RuntimeWarning")
def test_multipliers_whose_squares_are_beyond_all_floats_prove_nothing():
    """Of rows that are as long as a float can be, or of multipliers that are: no error of Python's own powers."""
    rows = qpsvm.Constraints([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.1, 0.1], c=1e-3)
    problem = qpsvm.SquaredHinge(X, Y, constraints=rows, intercept="penalised")
    candidate = problem.at(np.concatenate([np.full(40, 1.0), [1e180, 1e170]]))
    assert candidate.status == "candidate"


@pytest.mark.parametrize("form", ["dual", "primal"])
def test_both_kinds_of_rows_beside_a_penalised_intercept(form):
    """What b counts in a row over w is c, not 1, where rows over values are there too."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(20) > 0).astype(int)
    rows = [qpsvm.Constraints([[1.0, 0.0, 0.1]], -0.3, c=1.7), qpsvm.ValueConstraints(X[:2], [[1.0, -1.0]], [0.4])]
    problem = qpsvm.CSVM(X, y, C=0.3, intercept="penalised", constraints=rows)
    result = qpsvm.solve(problem, "interior_point" if form == "dual" else "cvxopt", form=form)
    assert result.status == "optimal"
    assert result.constraint_multipliers["row 0"] > 0.0
    values = qpsvm.CSVM(X, y, C=0.3, intercept="penalised", constraints=rows[1:])
    assert result.primal > qpsvm.solve(values).primal
