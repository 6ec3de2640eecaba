"""Input that no exact path, leave-one-out machine or changed machine can be made of: named, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm.base.resources import limits
from qpsvm.space.kernels.gram import KernelGram

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=30) > 0.0, "yes", "no")
T = X[:, 0] + 0.1 * RNG.normal(size=30)
K3 = np.arange(30) % 3
RBF = qpsvm.RBF(0.5)
PROBLEM = qpsvm.CSVM(X, Y, kernel=RBF)
RESULT = qpsvm.solve(PROBLEM)
JOINT = qpsvm.solve(qpsvm.CrammerSinger(X, K3))


def refuse(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@for_each("low, high", [(1, 1), (2, 1), (0, 1), (-1, 1), (1, np.inf), (np.nan, 1), (1, np.nan), (-2, -1)])
def test_intervals_that_are_none(low, high):
    refuse(lambda: qpsvm.exact_path(PROBLEM, "C", low, high), qpsvm.ParameterError, "interval|finite|positive")
    refuse(lambda: qpsvm.Interval(low, high), qpsvm.ParameterError, "interval|finite")


@for_each("end", ["a", None, [1.0], True, 1j])
def test_ends_that_are_no_numbers(end):
    refuse(lambda: qpsvm.exact_path(PROBLEM, "C", end, 1), qpsvm.ParameterTypeError, "low")
    refuse(lambda: qpsvm.Interval(end, 1), qpsvm.ParameterTypeError, "low")
    refuse(lambda: qpsvm.Interval(0.1, end), qpsvm.ParameterTypeError, "high")


@for_each("problem, name, kind, words", [
    (PROBLEM, "nu", qpsvm.UnknownOptionError, "no parameter 'nu'"),
    (PROBLEM, "c", qpsvm.UnknownOptionError, "did you mean 'C'"),
    (PROBLEM, "D", qpsvm.UnknownOptionError, "no parameter 'D'"),
    (PROBLEM, None, qpsvm.UnknownOptionError, "no parameter None"),
    (PROBLEM, 3, qpsvm.UnknownOptionError, "no parameter 3"),
    (PROBLEM, ["C"], qpsvm.UnknownOptionError, "no parameter"),
    (qpsvm.HardMargin(X, Y, kernel=qpsvm.RBF(20.0)), "C", qpsvm.UnknownOptionError, "it has none"),
    (PROBLEM, "gamma", qpsvm.UnsupportedError, "gamma does not enter .* qpsvm.path and cross_validate take a grid"),
    (qpsvm.CSVM(X, Y, kernel="polynomial"), "degree", qpsvm.UnsupportedError, "degree does not enter .* grid of it"),
    (qpsvm.CSVM(X, Y, kernel="polynomial"), "coef0", qpsvm.UnsupportedError, "coef0 does not enter .* grid of it"),
    (PROBLEM, "kernel", qpsvm.UnsupportedError, r"problem.replace\(kernel=…\)"),
    (PROBLEM, "psd", qpsvm.UnsupportedError, r"problem.replace\(psd=…\)"),
    (qpsvm.SquaredHinge(X, Y), "C", qpsvm.UnsupportedError, "bends the loss.* qpsvm.path"),
    (qpsvm.HuberHinge(X, Y), "width", qpsvm.UnsupportedError, "bends the loss.* qpsvm.path"),
    (qpsvm.CrammerSinger(X, K3), "C", qpsvm.UnsupportedError, "several classes are in one program"),
    (qpsvm.Ranking(X, T), "C", qpsvm.UnsupportedError, "pairs"),
    (qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[1.0, 0.0, 0.0]], [0.5])), "C", qpsvm.UnsupportedError,
     "linear constraints"),
    (X, "C", qpsvm.ParameterTypeError, "a problem such as"),
])  # fmt: skip
def test_parameters_that_no_path_has(problem, name, kind, words):
    refuse(lambda: qpsvm.exact_path(problem, name, 0.1, 1.0), kind, words)
    if isinstance(problem, qpsvm.CSVM) and isinstance(name, str) and kind is qpsvm.UnsupportedError and name != "C":
        given = {name: qpsvm.Interval(0.1, 1.0)}
        refuse(lambda: qpsvm.cross_validate(problem, **given), qpsvm.QPSVMError, name)


@for_each("problem, name, high, words", [
    (qpsvm.QuantileSVR(X, T), "quantile", 1.2, "quantile"),
    (qpsvm.OneClass(X), "nu", 1.2, "infeasible"),
    (qpsvm.NuSVM(X[:10], [1] + 9 * [0], nu=0.1), "nu", 0.9, "largest feasible value is 0.2"),
])  # fmt: skip
def test_intervals_beyond_what_the_machine_takes(problem, name, high, words):
    refuse(lambda: qpsvm.exact_path(problem, name, 0.1, high), qpsvm.ParameterError, words)


@for_each("result, kind", [
    (qpsvm.solve(qpsvm.CSVM(X + 1.0, Y, kernel=RBF)), qpsvm.DataError),
    (qpsvm.solve(qpsvm.CSVM(X, np.roll(Y, 3), kernel=RBF)), qpsvm.DataError),
    (qpsvm.solve(qpsvm.CSVM(X[::-1], Y[::-1], kernel=RBF)), qpsvm.DataError),
    (qpsvm.solve(qpsvm.CSVM(X[:20], Y[:20], kernel=RBF)), qpsvm.DataError),
    (qpsvm.solve(qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(0.6))), qpsvm.DataError),
    (qpsvm.solve(qpsvm.CSVM(X, Y, kernel=RBF, sample_weight=np.arange(30) % 2 + 1.0)), qpsvm.DataError),
    (qpsvm.solve(qpsvm.EpsilonSVR(X, T, kernel=RBF)), qpsvm.DataError),
    (JOINT, qpsvm.ParameterTypeError),
    (qpsvm.solve(PROBLEM.qp("dual")), qpsvm.ParameterTypeError),
    (RESULT.alpha, qpsvm.ParameterTypeError),
    (PROBLEM, qpsvm.ParameterTypeError),
    ("result", qpsvm.ParameterTypeError),
])  # fmt: skip
def test_results_of_other_problems(result, kind):
    refuse(lambda: qpsvm.leave_one_out(PROBLEM, result), kind, "result")


def test_a_result_of_another_penalty_is_a_start():
    """It is certified as a point of this problem, so that nothing of what it said of its own is claimed."""
    other = qpsvm.solve(PROBLEM.replace(C=20.0), tol=1e-12)
    found = qpsvm.leave_one_out(PROBLEM, other)
    own = qpsvm.leave_one_out(PROBLEM)
    np.testing.assert_allclose(found.decision, own.decision, atol=1e-6)
    assert found.gap.max() <= 1e-6


def test_a_left_out_sample_that_is_its_classs_last_has_no_machine():
    found = qpsvm.leave_one_out(qpsvm.CSVM([[0.0], [1.0], [2.0], [0.5]], ["a", "b", "b", "b"]))
    assert np.isnan(found.decision).tolist() == np.isnan(found.gap).tolist() == [True, False, False, False]
    assert found.message == "row 0: no other sample of its class is left"
    assert np.isfinite(found.error)
    groups = np.where(Y == "yes", 0, np.arange(30))
    found = qpsvm.leave_one_out(PROBLEM, groups=groups)
    assert (np.isnan(found.decision) == (groups == 0)).all()
    assert "no other sample of its class is left" in found.message
    for problem in (qpsvm.CSVM([[0.0], [1.0]], [0, 1]), qpsvm.OneClass([[1.0]])):
        found = qpsvm.leave_one_out(problem)
        assert np.isnan(found.decision).all()
        assert np.isnan(found.error)
        assert "is left" in found.message
    refuse(lambda: qpsvm.leave_one_out(PROBLEM, groups=np.full(30, np.nan)), qpsvm.DataError, "group of row 0")
    refuse(lambda: qpsvm.leave_one_out(PROBLEM, groups=[None, *range(29)]), qpsvm.DataError, "group of row 0")
    refuse(lambda: qpsvm.leave_one_out(PROBLEM, groups=K3[:20]), qpsvm.DataError, "30 samples")


def test_a_nu_that_a_left_out_sample_makes_infeasible():
    few = qpsvm.NuSVM(X[:10], [0, 1] * 5, nu=0.95)
    found = qpsvm.leave_one_out(few)
    assert np.isnan(found.decision).all()
    assert "nu = 0.95 is infeasible" in found.message


def test_kernels_that_are_indefinite():
    kernel = qpsvm.Sigmoid(1.0, 0.3)
    raised = qpsvm.CSVM(X, Y, kernel=kernel)
    refuse(lambda: qpsvm.exact_path(raised, "C", 0.1, 1.0), qpsvm.IndefiniteKernelError, "indefinite")
    refuse(lambda: qpsvm.leave_one_out(raised), qpsvm.IndefiniteKernelError, "indefinite")
    refuse(lambda: qpsvm.cross_validate(raised, C=qpsvm.Interval(0.1, 1.0)), qpsvm.IndefiniteKernelError, "indefin")
    for psd in ("clip", "shift"):
        repaired = qpsvm.CSVM(X, Y, kernel=kernel, psd=psd)
        refuse(lambda p=repaired: qpsvm.leave_one_out(p), qpsvm.UnsupportedError, "depends on every sample")
        path = qpsvm.exact_path(repaired, "C", 0.1, 1.0)
        assert path.gaps.max() <= 1e-6
    definite = qpsvm.CSVM(X, Y, kernel=RBF, psd="clip")  # nothing had to be repaired
    np.testing.assert_allclose(qpsvm.leave_one_out(definite).decision, qpsvm.leave_one_out(PROBLEM).decision, atol=1e-6)


@for_each("make", [
    lambda problem: qpsvm.exact_path(problem, "C", 0.1, 1.0),
    lambda problem: qpsvm.leave_one_out(problem),
    lambda problem: qpsvm.cross_validate(problem, C=qpsvm.Interval(0.1, 1.0), folds=2),
])  # fmt: skip
def test_a_kernel_matrix_that_does_not_fit_is_refused_before_it_is_made(make):
    with pytest.MonkeyPatch.context() as there:
        there.setattr(limits, "SMALL_BYTES", 1000.0)
        there.setattr(limits, "find_total_memory", lambda: 1e4)
        there.setattr(limits, "find_available_memory", lambda: 1e4)

        def refuse_call(*_):
            raise AssertionError("it was made")

        there.setattr(KernelGram, "dense", refuse_call)
        refuse(lambda: make(qpsvm.CSVM(X, Y, kernel=RBF)), qpsvm.TooLargeError, "matri.* of 0 MiB")


def test_leaving_out_of_classes_without_a_margin_is_their_error():
    with pytest.raises(qpsvm.NotSeparableError, match="not separable"):
        qpsvm.leave_one_out(qpsvm.HardMargin(X, np.arange(len(X)) % 2))
