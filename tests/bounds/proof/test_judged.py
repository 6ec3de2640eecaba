"""What a proof names is what it judged: the machine in its title, and α as the floats that they are."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from judge import judge

import qpsvm
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.proof import checker

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [3.0, 0.25], [1.5, 1.0], [0.5, -2.0]])
Y = np.array([0, 0, 1, 1, 0, 1])
ROW = qpsvm.ValueConstraints([[0.0, 0.0]], [[1.0]], 3.0)


def machines(constraints):
    """A machine of each kind."""
    t = X[:, 0] - 2.0 * X[:, 1]
    given = {"constraints": constraints}
    yield from (kind(X, Y, **given) for kind in (qpsvm.CSVM, qpsvm.SquaredHinge, qpsvm.HuberHinge, qpsvm.PrimalHinge))
    yield from (kind(X, t, **given) for kind in (qpsvm.EpsilonSVR, qpsvm.NuSVR, qpsvm.QuantileSVR, qpsvm.Ranking))
    yield from (kind(X, nu=0.5, **given) for kind in (qpsvm.OneClass, qpsvm.SVDD))
    yield qpsvm.CSVM(X, Y, C=50.0, intercept=None, **given)
    yield qpsvm.CSVM(X, Y[::-1], C=2.0, intercept="penalised", **given)
    yield qpsvm.CSVM(X, np.array(["no", "yes"])[Y], **given)
    yield qpsvm.CSVM(X[:, :1], Y, **({} if constraints else given))
    yield qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(1.0), **given)
    yield qpsvm.SVDD(X, nu=0.5, kernel=qpsvm.RBF(2.0), **given)
    yield qpsvm.NuSVM(X, Y, nu=0.5, sample_weight=[0, 1, 1, 1, 1, 1], **given)


def test_a_title_is_of_the_machine_that_judged():
    problem = qpsvm.CSVM(X, Y, C=2.0)
    result = qpsvm.solve(problem.replace(C=50.0))
    proof = result.verify(problem)
    assert proof.title == (
        "C-SVM, C = 2, kernel Linear(); the numbers are those of a result of C-SVM, C = 50, kernel Linear()"
    )
    assert pickle.loads(pickle.dumps(result)).verify(problem.replace(C=50.0)).title == result.title
    joint = qpsvm.CrammerSinger(X, Y, C=2.0)
    assert qpsvm.solve(joint.replace(C=50.0)).verify(joint).title.startswith(f"{joint.title}; the numbers are")


def test_a_result_is_judged_by_a_machine_that_it_is_a_point_of_or_not_at_all():
    problems = [*machines(None), *machines(ROW), qpsvm.CrammerSinger(X, Y), qpsvm.WestonWatkins(X, Y[::-1])]
    problems.append(qpsvm.CrammerSinger(X, np.arange(6) % 3, kernel="rbf"))
    judged = 0
    for result in [qpsvm.solve(problem) for problem in problems]:
        for problem in problems:
            try:
                proof = result.verify(problem)
            except qpsvm.QPSVMError as error:
                assert isinstance(error, (ValueError, TypeError))  # noqa: PT017
                continue
            assert proof.title.startswith(problem.title)
            assert result.model.kernel == problem.kernel
            judged += 1
    assert judged > len(problems)


# --- α of any size ---


@pytest.mark.parametrize(("C", "length"), [(1e-300, 1e150), (1e-290, 1e140), (1e-295, 1.0)])
def test_small_alpha_are_not_floored(C, length, tmp_path):
    rng = np.random.default_rng(0)
    for k in range(8):
        samples = rng.standard_normal((8, 2)) * length
        weight = 10.0 ** rng.uniform(0, 6, 8)
        problem = qpsvm.CSVM(samples, np.arange(8) % 2, C=C, sample_weight=weight)
        result = qpsvm.solve(problem)
        proof = result.verify(tol=1e-6)
        assert proof, str(proof)
        assert judge(problem, result).gap < 1e-6
        if k == 0:
            data, written = tmp_path / "data.csv", tmp_path / "proof.json"
            lines = [f"{u!r},{v!r},{i % 2}" for i, (u, v) in enumerate(samples.tolist())]
            data.write_text("\n".join(["u,v,y", *lines]))
            proof.save(written)
            assert checker.check(str(written), str(data)) == 0


def test_alpha_of_many_sizes_are_judged_as_they_are():
    """Samples of many lengths: what the largest α is rounded by is much for the samples that are long."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = int(rng.integers(3, 10))
        samples = rng.standard_normal((n, 2)) * 10.0 ** rng.uniform(-10, 10, (n, 1))
        problem = qpsvm.CSVM(
            samples, np.append([0, 1], rng.integers(0, 2, n - 2)), C=10.0 ** rng.uniform(0, 20),
            sample_weight=10.0 ** rng.uniform(-10, 10, n), intercept=None,
        )  # fmt: skip
        result = qpsvm.solve(problem, check=False)
        proof = result.verify(tol=1e-6)
        assert bool(proof) == (judge(problem, result).gap <= 1e-6)


@pytest.mark.parametrize("seed", [60, 152, 235, 246, 327, 437])
def test_a_gap_counts_the_rounding_of_alpha_that_have_no_square(seed):
    """‖β‖ underflows below 1e-154, and what α is moved by for a proof is as little as one row can make up for."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    samples = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-150, 150)
    C = 2.0 ** rng.integers(-1000, -660)  # the floats of C·s are exact
    weight = 2.0 ** rng.integers(0, 20, n)
    t = rng.standard_normal(n) * 10.0 ** (rng.uniform(-3, 3) if rng.random() < 0.5 else 0)
    problem = qpsvm.EpsilonSVR(samples, t, C=C, epsilon=10.0 ** rng.uniform(-3, 1), sample_weight=weight)
    result = qpsvm.solve(problem, check=False)
    proof = result.verify()
    assert proof.least_gap <= 1.01 * result.gap
    assert proof.gap <= 1.01 * result.gap


@pytest.mark.parametrize("seed", [58, 98, 138, 256])
def test_a_gap_counts_the_rounding_of_weighted_penalties(seed):
    """C·s is no float: α at its bound is beyond C·s or short of it, and w(α) may cancel to what that is worth."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    d = int(rng.integers(1, 4))
    far = rng.integers(4) == 2
    samples = rng.standard_normal((n, d))
    C = 1.0
    if rng.random() < 0.8:
        weight = 10.0 ** rng.uniform(0, 6, n)
    else:
        weight = 10.0 ** rng.uniform(-10, 10, n)
    if far:
        samples = samples * 10.0 ** rng.uniform(-150, 150)
        few = rng.random() < 0.5
        if few:
            C = 10.0 ** rng.uniform(-300, -200)
        else:
            C = 10.0 ** rng.uniform(-20, 20)
    rng.integers(0, 2, n - 2)
    t = rng.standard_normal(n) * 10.0 ** (rng.uniform(-3, 3) if rng.random() < 0.5 else 0)
    problem = qpsvm.EpsilonSVR(samples, t, C=C, epsilon=10.0 ** rng.uniform(-3, 1), sample_weight=weight)
    result = qpsvm.solve(problem, check=False)
    proof = result.verify()
    assert proof.gap <= result.gap
    assert proof.least_gap <= result.gap


def test_rounded_bounds_that_all_alpha_are_at_leave_a_gap():
    """What clipping α to C·s leaves of yᵀα is taken from one class or from the other: either has something to give."""
    problem = qpsvm.PrimalHinge(
        [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], lam=100.0, sample_weight=[0.1, 0.2, 0.1, 0.2]
    )
    result = qpsvm.solve(problem)
    assert (result.alpha == problem.svm.upper).all()
    assert problem.svm.upper_radius.all()
    assert result.verify().gap <= result.gap < 1e-12


def test_a_length_is_known_where_its_square_underflows():
    """The rounding of w(α) is a share of ‖β‖ and of the lengths of samples, whatever the size of either."""
    rng = np.random.default_rng(0)
    problem = qpsvm.EpsilonSVR(rng.standard_normal((6, 3)) * 1e116, rng.standard_normal(6))
    accuracy = Accuracy(problem.space)
    beta = rng.standard_normal(6) * 1e-209
    Z = problem.space.rows.take(np.arange(6))
    found = problem.space.weights(beta)
    weights = [Fraction(v) for v in beta.tolist()]
    exact = [sum(w * Fraction(v) for w, v in zip(weights, column, strict=True)) for column in np.asarray(Z).T.tolist()]
    off = max(abs(float(Fraction(float(one)) - other)) for one, other in zip(found, exact, strict=True))
    assert 0.0 < off <= accuracy.bound_weight_error(np.abs(beta)) < 1e-9 * np.abs(found).max()
