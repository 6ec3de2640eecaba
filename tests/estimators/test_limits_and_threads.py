"""A fit is all or nothing: whatever ends it, and whoever else fits at the same time."""

import json
import subprocess
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from counted import Ticks
from sklearn.exceptions import ConvergenceWarning

import qpsvm
from qpsvm.base.resources import progress
from qpsvm.estimators import SVC, SVDD, SVR, GapWarning, LinearSVC, NuSVC, OneClassSVM, QuantileSVR, RankingSVM
from qpsvm.many.multiclass import one_by_one


def data(n=60, d=3, seed=0, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.arange(n) % k, X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.1 * rng.normal(size=n)


def state(machine):
    """What there is of an estimator, by identity: a fit that failed may not even have made an equal copy."""
    return {name: id(value) for name, value in vars(machine).items()}


@pytest.mark.parametrize("kind", [SVC, LinearSVC, SVR, OneClassSVM, SVDD, RankingSVM])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(kind):
    X, labels, numbers = data()
    y = labels if kind in (SVC, LinearSVC) else numbers
    fresh, machine = kind(), kind().fit(X, y)
    before, values = state(machine), machine.predict(X)
    wider = np.column_stack([X, np.full(len(X), np.nan)])
    for bad, weight in ((wider, None), (wider[:, :1], np.full(len(X), np.nan))):  # the width is learnt before the fault
        for each in (fresh, machine):
            with pytest.raises(qpsvm.DataError):
                each.fit(bad, y, sample_weight=weight)
    machine.tol = 1e-30  # which no doubles reach
    before = state(machine)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GapWarning)
        with pytest.raises(GapWarning):
            machine.fit(X[:20], y[:20])
    assert state(machine) == before
    assert set(vars(fresh)) == set(vars(kind()))
    assert (machine.predict(X) == values).all()


def test_the_user_is_told_of_the_gap_and_has_a_model():
    X, labels, numbers = data(200)
    made = ((SVC, labels % 2), (SVR, numbers), (QuantileSVR, numbers), (OneClassSVM, None), (RankingSVM, labels))
    for kind, y in made:
        machine = kind(max_iter=1, C=100.0) if kind is not OneClassSVM else kind(max_iter=1)
        machine.set_params(backend="dual_ascent" if kind is SVC else "auto", tol=1e-13)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            machine.fit(X, y)
        assert np.isfinite(machine.predict(X)).all()
        told = [each for each in said if issubclass(each.category, ConvergenceWarning)]
        assert bool(told) == (machine.gap_ > 1e-13) == bool(machine.fit_status_)
        assert all(each.filename == __file__ and f"{machine.gap_:.2g}" in str(each.message) for each in told)


def test_a_time_limit_is_for_all_machines_of_a_fit(monkeypatch):
    """Each has its share of what is left; with one limit each, the fit took as many times as long.

    By clocks that count the looks at them.
    """
    ticks = Ticks(0.001)
    monkeypatch.setattr(one_by_one, "monotonic", ticks)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=ticks))
    X, y, _ = data(900, 8, k=6)
    machine, given = NuSVC(nu=0.8, time_limit=0.2, backend="dual_ascent", tol=1e-12), []

    def solve(problem, **options):
        given.append(options["time_limit"])
        return qpsvm.solve(problem, **options)

    monkeypatch.setattr(one_by_one, "solve", solve)
    with pytest.warns(GapWarning, match="time_limit"):
        machine.fit(X, y)
    assert len(machine.results_) == len(given) == 15
    shares = [max(0.2 / left, one_by_one.LEAST_SECONDS) for left in range(15, 0, -1)]
    assert all(0 < limit <= share * (1 + 1e-12) for limit, share in zip(given, shares, strict=True))
    assert np.isfinite(machine.decision_function(X)).all()


def test_a_time_limit_does_not_keep_small_machines_from_the_fast_road():
    X, y, _ = data(150, k=3)
    free, limited = SVC().fit(X, y), SVC(time_limit=30.0).fit(X, y)
    assert limited.gap_ <= limited.tol
    assert (free.dual_coef_ == limited.dual_coef_).all()
    assert (free.intercept_ == limited.intercept_).all()


def test_a_joint_machine_whose_kernel_matrix_takes_too_long_ends_at_once():
    X, y, _ = data(3000, 20, k=3)
    machine = SVC(multi_class="crammer_singer", time_limit=1e-3)
    with pytest.warns(GapWarning, match="time_limit"):
        machine.fit(X, y)
    assert np.isfinite(machine.decision_function(X[:5])).all()


@pytest.mark.parametrize("gamma", [1.0, 1e-200])
def test_a_nu_machine_without_a_margin_fits(gamma):
    """All samples are equal, so that ρ is 0, by which LIBSVM divides."""
    X, y = np.ones((30, 2)), np.arange(30) % 2
    with pytest.warns(qpsvm.DegenerateWarning, match="NuSVC: w is 0, and so is rho"):
        machine = NuSVC(gamma=gamma).fit(X, y)
    assert machine.gap_ <= machine.tol
    assert np.isfinite(machine.decision_function(X)).all()


def test_masked_entries_and_dates_are_refused():
    X, labels, numbers = data()
    masked = np.ma.masked_array(X, mask=X > 1.0)
    dates = np.datetime64("2020-01-01") + np.arange(len(X))
    for machine, y in ((SVC(), labels), (SVR(), numbers), (LinearSVC(), labels), (SVDD(), None)):
        with pytest.raises(qpsvm.DataError, match="masked"):
            machine.fit(masked, y)
        with pytest.raises(qpsvm.DataError, match="masked"):
            machine.fit(X, y).predict(masked)
    with pytest.raises(qpsvm.DataError, match="masked"):
        SVC().fit(X, np.ma.masked_array(labels, mask=X[:, 0] > 1.0))
    with pytest.raises(qpsvm.DataTypeError, match="dates"):
        SVR().fit(X, dates)


def test_a_clipped_kernel_is_said_to_be():
    X, y, _ = data()
    machine = SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0, psd="clip")
    assert "positive part" in machine.fit(X, y).result_.message
    assert not SVC(kernel="rbf").fit(X, y).result_.message


def test_any_number_of_seconds_is_a_time_limit():
    X, _, y = data()
    assert SVR(time_limit=1e308).fit(X, y).gap_ <= 1e-6


def test_two_fits_in_two_threads_do_not_disturb_each_other():
    """Other options, other warnings; the settings of NumPy, of BLAS and of `warnings` are afterwards what they were."""
    X, y, numbers = data(120, k=3)
    alone = SVC(C=10.0).fit(X, y), SVR(tol=1e-9, backend="cvxopt").fit(X, numbers)
    expected = alone[0].decision_function(X), alone[1].predict(X)
    before, filters = np.geterr(), list(warnings.filters)
    begin, found = threading.Barrier(3), {}

    def classes():
        begin.wait()
        found["classes"] = [SVC(C=10.0).fit(X, y).decision_function(X) for _ in range(6)]

    def numbers_():
        begin.wait()
        found["numbers"] = [SVR(tol=1e-9, backend="cvxopt").fit(X, numbers).predict(X) for _ in range(6)]

    shared = SVC(C=10.0, backend="cvxopt").fit(X, y)

    def same_estimator():
        begin.wait()
        lazily = [result.gap for result in SVC(C=10.0).fit(X, y).results_]
        found["shared"] = [shared.fit(X, y).decision_function(X).shape for _ in range(3)] + [lazily]

    threads = [threading.Thread(target=each) for each in (classes, numbers_, same_estimator)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((values == expected[0]).all() for values in found["classes"])
    assert all(np.allclose(values, expected[1], rtol=0.0, atol=1e-9) for values in found["numbers"])
    assert max(found["shared"][-1]) <= 1e-6
    assert np.geterr() == before
    assert list(warnings.filters) == filters


def test_one_estimator_and_its_results_from_several_threads():
    X, y, _ = data(150, k=4)
    machine = SVC(C=10.0).fit(X, y)
    begin, found, faults = threading.Barrier(4), [], []

    def work(k):
        begin.wait()
        try:
            if k % 2:
                machine.fit(X[: 150 - 30 * (k // 2)], y[: 150 - 30 * (k // 2)])
            found.append([result.gap for result in machine.results_] + [machine.decision_function(X).shape[1]])
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len(found) == 4
    n, s = machine.shape_fit_[0], len(machine.support_)  # of one of the fits, whole
    assert machine.dual_coef_.shape == (3, s)
    assert machine.support_.max() < n
    assert machine._solution.coef.shape[1] == n


INTERRUPTED = """
import json, os, signal, sys, threading, time, warnings
import numpy as np
from qpsvm.estimators import SVC, NuSVC, SVR

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(2500, 12))
y, many, t = np.arange(2500) % 2, np.arange(2500) % 10, X[:, 0]
said = {}

def pressed(name, machine, target):
    machine.fit(X[:60], target[:60])
    before = {key: id(value) for key, value in vars(machine).items() if key not in CHANGED}
    machine.set_params(**CHANGED)
    fresh = type(machine)(**machine.get_params())
    ended = []
    for each in (machine, fresh):
        done = threading.Event()
        def press():
            while not done.wait(0.3):
                os.kill(os.getpid(), signal.SIGINT)
        presser = threading.Thread(target=press)
        presser.start()
        try:
            each.fit(X, target)
            ended.append("fitted")
        except KeyboardInterrupt:
            ended.append("interrupted")
        finally:
            for _ in range(100):
                try:
                    done.set()
                    presser.join()
                    break
                except KeyboardInterrupt:
                    pass
    same = {key: id(value) for key, value in vars(machine).items() if key not in CHANGED} == before
    said[name] = [ended, same, set(vars(fresh)) == set(type(machine)(**machine.get_params()).get_params())]

CHANGED = {"tol": 1e-13, "backend": "dual_ascent"}
pressed("two classes", SVC(C=1e4), y)
pressed("one against one", NuSVC(nu=0.9), many)
pressed("a number", SVR(C=1e4, epsilon=0.0), t)
print(json.dumps(said))
"""


def test_ctrl_c_ends_the_fit_and_leaves_the_estimator_as_it_was():
    """In `qpsvm.solve` it gives the best point; here whoever calls fit, a grid search for one, has to end too."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for name, (ended, same, unfitted) in json.loads(done.stdout.splitlines()[-1]).items():
        assert ended == ["interrupted", "interrupted"], name
        assert same, name
        assert unfitted, name
