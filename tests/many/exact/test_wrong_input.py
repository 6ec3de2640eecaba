"""Input that no exact path, leave-one-out machine or changed machine can be made of: named, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@for_each("low, high", [(1, 1), (2, 1), (0, 1), (-1, 1), (1, np.inf), (np.nan, 1), (1, np.nan), (-2, -1)])
def test_intervals_that_are_none(low, high):
    refused(lambda: qpsvm.exact_path(PROBLEM, "C", low, high), qpsvm.ParameterError, "interval|finite|positive")
    refused(lambda: qpsvm.Interval(low, high), qpsvm.ParameterError, "interval|finite")


@for_each("end", ["a", None, [1.0], True, 1j])
def test_ends_that_are_no_numbers(end):
    refused(lambda: qpsvm.exact_path(PROBLEM, "C", end, 1), qpsvm.ParameterTypeError, "low")
    refused(lambda: qpsvm.Interval(end, 1), qpsvm.ParameterTypeError, "low")
    refused(lambda: qpsvm.Interval(0.1, end), qpsvm.ParameterTypeError, "high")


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
    refused(lambda: qpsvm.exact_path(problem, name, 0.1, 1.0), kind, words)
    if isinstance(problem, qpsvm.CSVM) and isinstance(name, str) and kind is qpsvm.UnsupportedError and name != "C":
        given = {name: qpsvm.Interval(0.1, 1.0)}
        refused(lambda: qpsvm.cross_validate(problem, **given), qpsvm.QPSVMError, name)


@for_each("problem, name, high, words", [
    (qpsvm.QuantileSVR(X, T), "quantile", 1.2, "quantile"),
    (qpsvm.OneClass(X), "nu", 1.2, "infeasible"),
    (qpsvm.NuSVM(X[:10], [1] + 9 * [0], nu=0.1), "nu", 0.9, "largest feasible value is 0.2"),
])  # fmt: skip
def test_intervals_beyond_what_the_machine_takes(problem, name, high, words):
    refused(lambda: qpsvm.exact_path(problem, name, 0.1, high), qpsvm.ParameterError, words)


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
    refused(lambda: qpsvm.leave_one_out(PROBLEM, result), kind, "result")


def test_a_result_of_another_price_is_a_place_to_begin():
    """It is certified as a point of this problem, so that nothing of what it said of its own is claimed."""
    other = qpsvm.solve(PROBLEM.replace(C=20.0), tol=1e-12)
    found, own = qpsvm.leave_one_out(PROBLEM, other), qpsvm.leave_one_out(PROBLEM)
    np.testing.assert_allclose(found.decision, own.decision, atol=1e-6)
    assert found.gap.max() <= 1e-6


@for_each("rows, kind, words", [
    ([30], qpsvm.DataError, "no row 30: the samples are rows 0 to 29"),
    ([-1], qpsvm.DataError, "no row -1"),
    ([0.5], qpsvm.ParameterTypeError, "indices, or a mask of 30 entries"),
    ([[0, 1]], qpsvm.ParameterTypeError, "indices"),
    ("a", qpsvm.ParameterTypeError, "indices"),
    (None, qpsvm.ParameterTypeError, "indices"),
    ([10**30], qpsvm.ParameterTypeError, "indices"),
    ({1, 2}, qpsvm.ParameterTypeError, "indices"),
    (slice(3), qpsvm.ParameterTypeError, "indices"),
    (np.ones(29, dtype=bool), qpsvm.DataError, "30 entries"),
    (np.ones((30, 1), dtype=bool), qpsvm.DataError, "30 entries"),
    (np.flatnonzero(Y == "yes"), qpsvm.DataError, "no sample of class 'yes' is left"),
    (np.arange(30), qpsvm.DataError, "no sample is left"),
])  # fmt: skip
def test_rows_that_are_not_there_or_leave_no_machine(rows, kind, words):
    refused(lambda: RESULT.without(rows), kind, words)


def test_rows_that_leave_a_class_without_weight():
    weight = np.ones(30)
    weight[np.flatnonzero(Y == "yes")[1:]] = 0.0
    result = qpsvm.solve(qpsvm.CSVM(X, Y, sample_weight=weight))
    refused(lambda: result.without(np.flatnonzero(Y == "yes")[:1]), qpsvm.DataError, "class 'yes'")


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
    refused(lambda: qpsvm.leave_one_out(PROBLEM, groups=np.full(30, np.nan)), qpsvm.DataError, r"groups\[0\] is nan")
    refused(lambda: qpsvm.leave_one_out(PROBLEM, groups=K3[:20]), qpsvm.DataError, "30 samples")


def test_constraints_that_a_change_makes_infeasible():
    few = qpsvm.NuSVM(X[:10], [0, 1] * 5, nu=0.95)
    refused(lambda: qpsvm.solve(few).without([0, 2]), qpsvm.InfeasibleNuError, "largest feasible value")
    found = qpsvm.leave_one_out(few)
    assert np.isnan(found.decision).all()
    assert "nu = 0.95 is infeasible" in found.message
    hard = qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    refused(lambda: hard.with_samples([[3.5]], [0]), qpsvm.NotSeparableError, "not separable")
    refused(lambda: hard.with_targets([0, 1, 0, 1]), qpsvm.NotSeparableError, "not separable")
    rows = [qpsvm.Constraints([[1.0], [-1.0]], [-3.0, 4.0])]  # 3 <= -w <= 4, where the samples ask for w > 0
    kept = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], constraints=rows))
    assert kept.without([0]).status == kept.with_samples([[9.0]], [1]).status == "optimal"  # of w and b alone


def test_kernels_that_are_indefinite():
    kernel = qpsvm.Sigmoid(1.0, 0.3)
    raised = qpsvm.CSVM(X, Y, kernel=kernel)
    refused(lambda: qpsvm.exact_path(raised, "C", 0.1, 1.0), qpsvm.IndefiniteKernelError, "indefinite")
    refused(lambda: qpsvm.leave_one_out(raised), qpsvm.IndefiniteKernelError, "indefinite")
    refused(lambda: qpsvm.cross_validate(raised, C=qpsvm.Interval(0.1, 1.0)), qpsvm.IndefiniteKernelError, "indefin")
    gone, kept = [0, 3], np.delete(np.arange(30), [0, 3])
    for psd in ("clip", "shift"):
        repaired = qpsvm.CSVM(X, Y, kernel=kernel, psd=psd)
        refused(lambda p=repaired: qpsvm.leave_one_out(p), qpsvm.UnsupportedError, "depends on every sample")
        less = qpsvm.solve(repaired).without(gone)  # the matrix of the others, repaired anew
        fresh = qpsvm.solve(qpsvm.CSVM(X[kept], Y[kept], kernel=kernel, psd=psd))
        assert less.primal == pytest.approx(fresh.primal, rel=1e-8)
        path = qpsvm.exact_path(repaired, "C", 0.1, 1.0)
        assert path.gaps.max() <= 1e-6
    definite = qpsvm.CSVM(X, Y, kernel=RBF, psd="clip")  # nothing had to be repaired
    np.testing.assert_allclose(qpsvm.leave_one_out(definite).decision, qpsvm.leave_one_out(PROBLEM).decision, atol=1e-6)


def test_a_landmark_is_in_every_feature():
    problem = qpsvm.CSVM(X, Y, kernel=qpsvm.Nystroem(RBF, 6))
    points = np.asarray(problem.kernel.learnt.points)
    rows = np.flatnonzero((X[:, None, :] == points).all(axis=2).any(axis=1))
    assert len(rows) == 6
    refused(lambda: qpsvm.solve(problem).without([rows[0]]), qpsvm.UnsupportedError, f"row {rows[0]} is a landmark")
    others = np.setdiff1d(np.arange(30), rows)[:3]
    assert qpsvm.solve(problem).without(others).status == "optimal"


@for_each("make", [
    lambda problem: qpsvm.exact_path(problem, "C", 0.1, 1.0),
    lambda problem: qpsvm.leave_one_out(problem),
    lambda problem: qpsvm.cross_validate(problem, C=qpsvm.Interval(0.1, 1.0), folds=2),
])  # fmt: skip
def test_a_kernel_matrix_that_does_not_fit_is_refused_before_it_is_made(make):
    with pytest.MonkeyPatch.context() as there:
        there.setattr(limits, "LITTLE", 1000.0)
        there.setattr(limits, "total_memory", lambda: 1e4)
        there.setattr(limits, "available_memory", lambda: 1e4)

        def never(*_):
            raise AssertionError("it was made")

        there.setattr(KernelGram, "dense", never)
        refused(lambda: make(qpsvm.CSVM(X, Y, kernel=RBF)), qpsvm.TooLargeError, "matri.* of 0 MiB")


def test_changes_that_do_not_fit_are_named():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = qpsvm.solve(qpsvm.CSVM(frame, Y))
    turned = named.with_samples(frame[["c", "a", "b"]][:4], Y[:4])  # matched by name
    np.testing.assert_array_equal(turned.problem.X[30:], X[:4])
    svr = qpsvm.solve(qpsvm.EpsilonSVR(X, T))
    for call, kind, words in (
        (lambda: named.with_samples(frame.rename(columns={"a": "d"})[:2], Y[:2]), qpsvm.DataError, "no column 'a'"),
        (lambda: RESULT.with_samples(X[0], ["yes"]), qpsvm.DataError, "two-dimensional"),
        (lambda: RESULT.with_samples([[np.nan, 0.0, 0.0]], ["yes"]), qpsvm.DataError, "NaN in row 0"),
        (lambda: RESULT.with_samples([["a", "b", "c"]], ["yes"]), qpsvm.DataTypeError, "numbers"),
        (lambda: RESULT.with_samples(np.zeros((0, 3)), []), qpsvm.DataError, "empty"),
        (lambda: RESULT.with_samples(X[:1], ["yes"], [-1.0]), qpsvm.DataError, "not negative"),
        (lambda: RESULT.with_samples(X[:1], ["yes"], [1.0, 2.0]), qpsvm.DataError, "sample_weight"),
        (lambda: svr.with_targets(np.full(30, np.nan)), qpsvm.DataError, r"y\[0\] = nan"),
        (lambda: svr.with_targets(["a"] * 30), qpsvm.DataTypeError, "numbers"),
        (lambda: JOINT.without([0]), qpsvm.UnsupportedError, "one program over several classes"),
        (lambda: JOINT.with_samples(X[:1], [0]), qpsvm.UnsupportedError, "one program over several classes"),
        (lambda: JOINT.with_targets(K3), qpsvm.UnsupportedError, "one program over several classes"),
    ):
        refused(call, kind, words)


def test_machines_of_an_estimator_change_too():
    machine = qpsvm.estimators.SVC(kernel="linear").fit(X, K3)
    less = machine.results_[0].without([0])
    assert less.status == "optimal"
    assert less.problem.n == 19
