"""What `error.verify()` says of machines without a solution, judged in rational numbers that are computed here."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from exact_arithmetic import solve_linear_system

import qpsvm
from qpsvm.bounds.proof import exact_weights
from qpsvm.bounds.proof.exact_weights import find_enclosure
from qpsvm.estimators import NuSVC
from qpsvm.machines.problem.evidence import attach_hull_proof

INSEPARABLE = [[0.0], [1.0], [2.0]], [0, 1, 0]


def catch_error(make, kind=qpsvm.NotSeparableError):
    with pytest.raises(kind) as caught:
        make()
    return caught.value


def catch_hard_margin(X, y, **options):
    return catch_error(lambda: qpsvm.solve(qpsvm.HardMargin(X, y, **options)))


def verdicts(proof):
    return {claim.kind: claim.verdict for claim in proof.claims}


def features(X):
    return [[Fraction(v) for v in row] for row in (X.toarray() if sp.issparse(X) else np.asarray(X, float)).tolist()]


def squared_polynomial(X):
    """Of (xᵀz + 1)²: all products of two of (x, 1)."""
    rows = [[*row, Fraction(1)] for row in features(X)]
    return [[a * b for a in row for b in row] for row in rows]


def difference(proof, rows, y):
    """Σ u_i φ(x_i) − Σ v_j φ(x_j) of a record, whose weights have to be convex and of the right classes."""
    total = [Fraction(0)] * len(rows[0])
    for name, sign in (("u", 1), ("v", -1)):
        weights = proof.record[name]
        assert sum(weights.values()) == 1
        assert all(w > 0 and isinstance(w, Fraction) and y[i] == (sign > 0) for i, w in weights.items())
        for i, w in weights.items():
            total = [t + sign * w * v for t, v in zip(total, rows[i], strict=True)]
    return total


def lattice(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, d)).astype(float), np.append([0, 1], rng.integers(0, 2, n - 2))


def cloud(n, d, seed, offset=0.0):
    rng = np.random.default_rng(seed)
    return offset + rng.standard_normal((n, d)), np.append([0, 1], rng.integers(0, 2, n - 2))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        INSEPARABLE,
        ([[1.5, -2.0], [1.5, -2.0]], [0, 1]),
        ([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [5.0, 0.0]], [0, 0, 1, 1]),
        lattice(40, 2, 0),
        lattice(60, 4, 1),
        cloud(40, 3, 2, offset=1e8),
        cloud(120, 10, 3),
        cloud(1600, 8, 4),
        (sp.random_array((80, 4), density=0.4, rng=np.random.default_rng(5), format="csr"), np.arange(80) % 2),
    ],
)
def test_hulls_that_meet_have_a_rational_point_in_common(X, y):
    proof = catch_hard_margin(X, y).verify()
    assert proof
    assert not any(difference(proof, features(X), np.asarray(y) == 1))
    assert math.isnan(proof.gap)
    assert proof.primal == math.inf == proof.dual


def test_kernels():
    X, y = cloud(60, 2, 0)
    proof = catch_hard_margin(X, y, kernel=qpsvm.Polynomial(2, gamma=1.0, coef0=1.0)).verify()
    assert proof
    assert not any(difference(proof, squared_polynomial(X), y == 1))
    few = [[-1.0, 0.0, 3.0, 7.0], [-1.0, 1.0, 2.0, 7.0], [-1.0, 0.5, 2.5, 7.0]]  # fewer points than monomials
    proof = catch_hard_margin([*few, few[0]], [0, 0, 1, 1], kernel=qpsvm.Polynomial(3, gamma=0.5)).verify()
    assert proof
    assert proof.record["u"] == {3: 1}
    points = np.round(X[np.append(np.arange(20), 0)] * 4)  # the last sample is the first
    K = points @ points.T
    proof = catch_hard_margin(K, np.append(np.arange(20) % 2, 1), kernel="precomputed").verify()
    assert not any(difference(proof, features(K), np.append(np.arange(20) % 2, 1) == 1))
    assert "f(x_i)" in proof.claims[1].text


def test_a_gaussian_separates_whatever_is_not_the_same():
    X, y = cloud(40, 2, 1)
    error = catch_error(lambda: qpsvm.solve(qpsvm.HardMargin(X, y, kernel=qpsvm.RBF(1e-4))), qpsvm.MarginNotFoundError)
    assert error.separable
    assert verdicts(error.verify())["separable"] == "refuted"
    proof = catch_hard_margin(np.vstack([X, X[:1]]), np.append(y, 1), kernel=qpsvm.RBF(1.0)).verify()
    assert proof
    assert proof.record["v"].keys() | proof.record["u"].keys() == {0, 40}


@for_each("seed", range(6))
def test_hulls_that_nearly_meet_are_not_said_to_meet(seed):
    """A slab that is far too narrow for doubles: whatever is proven is true."""
    rng = np.random.default_rng(seed)
    width = 10.0 ** float(rng.integers(-300, -9))
    X = rng.standard_normal((12, 2))
    y = (np.arange(12) % 2).astype(int)
    X[:, 0] = np.where(y == 1, width, 0.0) * rng.choice([1.0, 2.0], 12)
    problem = qpsvm.HardMargin(X, y)
    hulls = problem.hulls()
    proof = attach_hull_proof(qpsvm.NotSeparableError(hulls.u, hulls.v, hulls.distance), problem).verify()
    assert verdicts(proof) == {"convex": "proven", "hulls": "open", "separable": "open"}
    assert any(difference(proof, features(X), y == 1))


def test_what_rounding_decides_is_not_guessed():
    """Points of one plane after a rotation, in floats: they are no longer in it, and the classes meet or do not."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(12):
        flat = np.column_stack([np.zeros(8), rng.standard_normal((8, 2))])
        X = flat @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
        y = np.arange(8) % 2
        problem = qpsvm.HardMargin(X, y)
        hulls = problem.hulls()
        if not hulls.meet:
            continue
        proof = attach_hull_proof(qpsvm.NotSeparableError(hulls.u, hulls.v, hulls.distance), problem).verify()
        seen.add(verdicts(proof)["separable"])
        if proof:
            assert not any(difference(proof, features(X), y == 1))
    assert "proven" in seen <= {"proven", "open"}


def test_a_solution_that_is_only_enclosed(monkeypatch, tmp_path):
    X, y = cloud(150, 12, 7)
    error = catch_hard_margin(X, y)
    monkeypatch.setattr(exact_weights, "MAX_PIVOT_WORK", 0)
    proof = error.verify()
    assert proof
    assert "there are u" in proof.claims[0].text
    exact = solve_cancelling(error, X, y)
    share = Fraction(proof.claims[0].value)
    near = {**proof.record["u"], **proof.record["v"]}
    with pytest.raises(qpsvm.UnsupportedError, match="enclosed"):  # a checker would refute these very weights
        proof.save(tmp_path / "proof.json")
    assert all(abs(value - near[k]) <= share * near[k] for k, value in exact.items())


def solve_cancelling(error, X, y):
    """Return the one exact solution on a support of as many samples as there are equations."""
    chosen = np.flatnonzero(error.u + error.v)
    rows = [[Fraction(v) for v in X[i].tolist()] + [Fraction(1)] for i in chosen]
    signed = [[v if y[i] else -v for v in row] for i, row in zip(chosen, rows, strict=True)]
    system = [list(column) for column in zip(*signed, strict=True)]
    system.append([Fraction(1)] * len(chosen))
    assert len(system) == len(chosen)
    table = [[*row, Fraction(int(k == len(system) - 1))] for k, row in enumerate(system)]
    weights = solve_linear_system(table)
    assert weights is not None
    return {int(i): 2 * weight for i, weight in zip(chosen, weights, strict=True)}


def test_an_enclosure_does_not_enclose_what_is_not_there():
    assert find_enclosure(np.array([[1, 2, 1]], dtype=object), np.array([0.3, 0.3, 0.4])) is None
    assert find_enclosure(np.array([[1, -1], [1, -1]], dtype=object), np.array([0.5, 0.5])) is None
    assert find_enclosure(np.array([[1, -1, 1]], dtype=object), np.array([0.5, 0.5, 1e-300])) is not None
    assert find_enclosure(np.array([[1 << 60, -(1 << 60) - 1]], dtype=object), np.array([0.5, 0.5])) is None


# --- rows of a user's ---


def is_farkas(proof, rows):
    """Say whether the weights of a record, of rows (g, c, h) by name, are Farkas's."""
    weights = proof.record["weights"]
    assert all(w > 0 for w in weights.values())
    sums = [sum(weights[name] * rows[name][k] for name in weights) for k in range(len(next(iter(rows.values()))))]
    return not any(sums[:-1]) and sums[-1] < 0


@for_each("intercept", ["free", "penalised", None])
def test_rows_that_exclude_each_other(intercept):
    rng = np.random.default_rng(3)
    G = rng.standard_normal((14, 3)) * 10.0 ** rng.integers(-3, 3, (14, 1))
    c = rng.standard_normal(14)
    X, y = cloud(20, 3, 0)
    error = catch_error(
        lambda: qpsvm.solve(qpsvm.CSVM(X, y, intercept=intercept, constraints=qpsvm.Constraints(G, -1.0, c))),
        qpsvm.InfeasibleConstraintsError,
    )
    own = [[] if intercept is None else [value] for value in c.tolist()]
    rows = {f"row {k}": [Fraction(v) for v in [*G[k].tolist(), *own[k], -1.0]] for k in range(14)}
    proof = error.verify()
    assert proof
    assert is_farkas(proof, rows)
    assert ("(w, b)" in proof.claims[-1].text) == (intercept is not None)


def test_rows_of_values_and_margins():
    Z = [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [3.0, 3.0]]
    A = [[0.25, 0.0, 0.25, 0.0], [0.0, -0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    X, y = cloud(20, 2, 0)
    for kernel in ("linear", "rbf"):
        points = Z if kernel == "linear" else [Z[1], Z[1], Z[1], Z[3]]
        for machine in (
            lambda rows, kernel=kernel: qpsvm.CSVM(X, y, kernel=kernel, constraints=rows),
            lambda rows, kernel=kernel: qpsvm.SVDD(X, nu=0.3, kernel=kernel, constraints=rows),
        ):
            rows = qpsvm.ValueConstraints(points, A, [-1.0, 0.5, 9.0])
            proof = catch_error(lambda: qpsvm.solve(machine(rows)), qpsvm.InfeasibleConstraintsError).verify()  # noqa: B023
            assert proof.record["weights"] == {"row 0": Fraction(1, 2), "row 1": Fraction(1, 2)}
    rows = qpsvm.Constraints([[1.0]], 0.1, names=["w"])
    error = catch_error(
        lambda: qpsvm.solve(qpsvm.HardMargin([[0.0], [2.0]], [0, 1], constraints=rows)),
        qpsvm.InfeasibleConstraintsError,
    )
    proof = error.verify()
    one = Fraction(1)
    assert is_farkas(
        proof, {"w": [one, 0, Fraction(0.1)], "margin[0]": [0 * one, one, -one], "margin[1]": [-2 * one, -one, -one]}
    )
    rows = qpsvm.Constraints([[1.0]], 10.0)
    error = catch_error(lambda: qpsvm.solve(qpsvm.HardMargin(*INSEPARABLE, constraints=rows)))
    assert error.verify().record["u"] == {1: 1}


@for_each("kernel", ["linear", "rbf", qpsvm.Polynomial(2, 1.0, 1.0)])
@for_each("machine", [qpsvm.CSVM, qpsvm.HardMargin])
def test_rows_are_said_to_exclude_each_other_where_that_is_proven_only(machine, kernel):
    """Of rows that are opposite but for the rounding of a factor, an immense w keeps both."""
    X, y = cloud(12, 3, 1)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((3, 3)) * 10.0 ** rng.uniform(-12, 12, (3, 1))
        A = np.vstack([A, -rng.choice([1.0, 2.0, rng.uniform()]) * A[0]])
        h = rng.choice([-1.0, 1.0], 4) * np.abs(A).max(axis=1)
        h[3] = -abs(h[3])
        if kernel == "linear":
            own = qpsvm.Constraints(A, h)
        else:
            own = qpsvm.ValueConstraints(X[:3], A, h)
        try:
            error = qpsvm.solve(machine(X, y, kernel=kernel, constraints=own), check=False).error
        except (qpsvm.SolverError, qpsvm.InfeasibleConstraintsError) as caught:
            error = caught
        if isinstance(error, (qpsvm.InfeasibleConstraintsError, qpsvm.NotSeparableError)):
            assert error.verify(), seed
        elif isinstance(error, qpsvm.UndecidedConstraintsError):
            assert not error.verify(), seed


def test_rows_without_exact_weights_are_left_open(monkeypatch):
    rows = qpsvm.Constraints([[1.0], [-1.0]], [1.0, -2.0])
    error = catch_error(lambda: qpsvm.CSVM(*INSEPARABLE, constraints=rows).svm, qpsvm.InfeasibleConstraintsError)
    error._evidence.args[-1]["row 1"] += 2.0**-30
    monkeypatch.setattr(exact_weights, "MAX_PIVOT_WORK", 0)
    monkeypatch.setattr(exact_weights, "find_enclosure", lambda *_: None)
    proof = error.verify()
    assert not proof
    assert verdicts(proof) == {"weights": "open", "feasible": "open"}


# --- ν ---


def test_a_nu_that_is_too_large():
    weight = [0.1, 0.2, 0.3, 0.0]
    error = catch_error(
        lambda: qpsvm.NuSVM([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1], nu=0.8, sample_weight=weight),
        qpsvm.InfeasibleNuError,
    )
    proof = error.verify()
    assert proof
    assert proof.record["limit"] == 2 * Fraction(0.1) / (Fraction(0.1) + Fraction(0.2) + Fraction(0.3))
    assert proof.primal == -math.inf == proof.dual
    with pytest.raises(qpsvm.InfeasibleNuError) as caught:
        NuSVC(nu=0.9, class_weight={0: 0.1}).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2])
    proof = caught.value.verify()
    assert proof
    assert Fraction(2, 21) < proof.record["limit"] < Fraction(2, 21) * (1 + Fraction(1, 10**12))
    for machine in (qpsvm.OneClass, qpsvm.SVDD):
        proof = catch_error(lambda: machine([[0.0], [1.0]], nu=1.5), qpsvm.InfeasibleNuError).verify()  # noqa: B023
        assert verdicts(proof) == {"limit": "proven", "feasible": "proven"}
    proof = catch_error(lambda: qpsvm.NuSVR([[0.0], [1.0]], [0.0, 1.0], nu=1.5), qpsvm.InfeasibleNuError).verify()
    assert "feasible" not in verdicts(proof)  # there are such α, up to ν = 2


# --- errors as objects ---


def test_an_error_without_samples_says_so():
    error = catch_hard_margin(*INSEPARABLE)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), qpsvm.NotSeparableError(error.u, error.v, 0.0)):
        assert str(other) == str(error)
        with pytest.raises(qpsvm.UnsupportedError, match="solve the problem here"):
            other.verify()


POLYNOMIALS = [qpsvm.Polynomial(p, gamma=1.0, coef0=r) for p in (1, 2, 3) for r in (0.0, 1.0)]


@for_each("kernel", ["linear", "rbf", *POLYNOMIALS])
@for_each("machine", [qpsvm.CSVM, qpsvm.HardMargin, qpsvm.OneClass])
def test_errors_about_rows_are_verified_whatever_the_kernel(machine, kernel):
    """Rows without anything on their left-hand side among them: their kernel has no points at all."""
    X, y = cloud(9, 2, 5)
    given = (X,) if machine is qpsvm.OneClass else (X, y)
    for A, h in (([[0, 0, 0]], [-1]), ([[0, 0, 0], [1, -1, 0]], [-1, -2]), ([[1, 0, 0], [0, -1, 0]], [-1, 0])):
        problem = machine(*given, kernel=kernel, constraints=qpsvm.ValueConstraints(X[[1, 1, 2]], A, h))
        error = catch_error(lambda: qpsvm.solve(problem), qpsvm.InfeasibleConstraintsError)  # noqa: B023
        assert error.verify()


def test_a_row_at_the_origin_of_a_kernel_that_is_0_there():
    X, y = cloud(9, 2, 5)
    rows = qpsvm.ValueConstraints([[0.0, 0.0]], [[1.0]], -1.0)
    problem = qpsvm.CSVM(X, y, kernel=POLYNOMIALS[4], intercept=None, constraints=rows)
    assert catch_error(lambda: qpsvm.solve(problem), qpsvm.InfeasibleConstraintsError).verify()
