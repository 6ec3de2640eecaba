"""What an estimator warns of: a kernel matrix that was changed, and an f that carries no information."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from each import for_each
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

import qpsvm
from qpsvm.estimators import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, RankingSVM

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
T = X[:, 0]
TWO = (T > 0.1).astype(int)
THREE = np.arange(40) % 3
SAME = np.ones((40, 3))
#: Each class at two corners of a square, in the middle of which all classes meet.
CROSSED, SIDES = np.tile([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], (10, 1)), np.tile([0, 0, 1, 1], 10)


def fit_with_warnings(machine: Any, X: Any, y: Any = None) -> tuple[Any, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    return machine, caught


# a kernel matrix that was changed


@for_each(
    "machine, y",
    [
        (SVC(), TWO),
        (SVC(multi_class="ovr"), THREE),
        (SVC(multi_class="crammer_singer"), THREE),
        (NuSVC(nu=0.3), TWO),
        (SVR(), T),
        (NuSVR(), T),
        (OneClassSVM(), None),
        (RankingSVM(), T),
    ],
)
def test_a_kernel_matrix_that_was_clipped_by_default_is_warned_of(machine, y):
    machine = clone(machine).set_params(kernel="sigmoid", gamma=1.0, coef0=0.5)
    machine, (said,) = fit_with_warnings(machine, X, y)
    assert said.category is qpsvm.ChangedKernelWarning
    assert issubclass(said.category, qpsvm.QPSVMWarning)
    assert said.filename == __file__
    least = min(caveat.eigenvalue for result in machine._list_results() for caveat in result.caveats)
    text = str(said.message)
    assert least < 0.0
    assert f"the most negative one is {least:.3g}" in text
    assert text.startswith(type(machine).__name__)
    assert all(word in text for word in ("psd='clip'", "psd='raise'", "psd='shift'", "gamma", "coef0"))
    machines = len(machine._list_results())
    assert (f"(of {machines} of {machines} machines)" in text) == (machines > 1)
    assert machine.get_params()["psd"] is None
    values = {None: getattr(machine, "decision_function", machine.predict)(X)}
    for psd in ("clip", "shift"):
        other, silence = fit_with_warnings(clone(machine).set_params(psd=psd), X, y)
        assert not silence
        values[psd] = getattr(other, "decision_function", other.predict)(X)
    # clipping is the default; how far a point is polished depends on the time that it took
    assert np.abs(values["clip"] - values[None]).max() < 1e-2 * np.abs(values["shift"] - values[None]).max()
    with pytest.raises(qpsvm.IndefiniteKernelError):
        clone(machine).set_params(psd="raise").fit(X, y)


def test_the_eigenvalue_is_that_of_the_matrix_that_was_changed():
    """The error, and a shift, are about K on the hyperplane yᵀα = 0; all of K is clipped."""
    machine = SVC(kernel="sigmoid", gamma=1.0, coef0=0.5)
    with pytest.raises(qpsvm.IndefiniteKernelError) as caught:
        clone(machine).set_params(psd="raise").fit(X, TWO)
    smallest = float(np.linalg.eigvalsh(np.tanh(X @ X.T + 0.5))[0])
    with pytest.warns(qpsvm.ChangedKernelWarning, match=f"{smallest:.3g}"):
        machine.fit(X, TWO)
    (caveat,) = pickle.loads(pickle.dumps(machine.result_)).caveats
    assert (caveat.kind, caveat.eigenvalue) == ("kernel", pytest.approx(smallest))
    assert smallest <= caught.value.eigenvalue  # by interlacing
    (caveat,) = clone(machine).set_params(psd="shift").fit(X, TWO).result_.caveats
    assert caveat.eigenvalue == caught.value.eigenvalue


def test_a_kernel_matrix_that_is_as_it_should_be_is_not_warned_of():
    assert not fit_with_warnings(SVC(kernel="sigmoid", gamma=1e-3, coef0=0.0), X[:2], TWO[:2] * 0 + [0, 1])[1]
    assert not fit_with_warnings(SVC(kernel="precomputed"), X @ X.T, TWO)[1]


# a column of targets


@for_each("machine", [SVC(), LinearSVC(), SVR(), LinearSVR(), NuSVR(), RankingSVM()])
def test_a_column_as_target_is_warned_of_once(machine):
    (said,) = fit_with_warnings(machine, X, TWO[:, None])[1]
    assert said.category is DataConversionWarning


# an f that carries no information


@for_each(
    "machine, samples, y",
    [
        (SVC(), SAME, TWO),
        (SVC(), SAME, THREE),
        (SVC(multi_class="weston_watkins"), SAME, THREE),
        (SVC(kernel="linear"), CROSSED, SIDES),
        (SVC(kernel="linear", backend="auto", max_iter=10**6), CROSSED, SIDES),
        (LinearSVC(), CROSSED, SIDES),
        (NuSVC(kernel="linear"), CROSSED, SIDES),
        (SVR(epsilon=10.0), X, T),
        (LinearSVR(epsilon=10.0), X, T),
        (LinearSVR(loss="squared_epsilon_insensitive"), SAME, T),
        (OneClassSVM(kernel="linear"), X, None),
        (RankingSVM(), SAME, T),
    ],
)
def test_a_constant_f_is_warned_of(machine, samples, y):
    fitted, (said,) = fit_with_warnings(clone(machine), samples, y)
    assert said.category is qpsvm.DegenerateWarning
    assert "w is 0" in str(said.message)
    assert "no information" in str(said.message)
    assert ("and so is rho" in str(said.message)) == isinstance(machine, (NuSVC, OneClassSVM))
    assert said.filename == __file__
    f = getattr(fitted, "decision_function", fitted.predict)
    values = f(X[:, : samples.shape[1]])
    np.testing.assert_allclose(values, np.broadcast_to(values[:1], values.shape), atol=1e-9)


@for_each(
    "machine, samples, y",
    [
        (SVC(), X, TWO),
        (SVC(C=1e-6), X, TWO),  # nearly constant
        (SVC(kernel="linear"), 1e8 + X, TWO),  # far from the origin
        (SVC(gamma=1e-4), X, TWO),
        (SVR(), X, np.zeros(40)),  # f is what the targets are
        (LinearSVR(), X, np.ones(40)),
        (NuSVR(), X, np.ones(40)),
        (SVDD(kernel="linear"), X - X.mean(axis=0), None),  # whose w is the centre
        (OneClassSVM(), X, None),
    ],
)
def test_an_f_that_is_as_it_should_be_is_not_warned_of(machine, samples, y):
    assert not fit_with_warnings(clone(machine), samples, y)[1]


def test_a_result_notes_what_an_estimator_warns_of():
    for problem in (
        qpsvm.CSVM(CROSSED, SIDES),
        qpsvm.OneClass(X, kernel=qpsvm.Linear()),
        qpsvm.EpsilonSVR(X, T, epsilon=10.0),
    ):
        result = qpsvm.solve(problem)
        assert [caveat.kind for caveat in result.caveats] == ["degenerate"]
        assert "no information" in result.notes[0]
    assert sum("no information" in note for note in qpsvm.solve(qpsvm.NuSVM(CROSSED, SIDES)).notes) == 1
