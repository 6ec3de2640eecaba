"""A fit is all or nothing: whatever ends it, and whoever else fits at the same time."""

import os
import re
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from counted import Ticks
from each import for_each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm.base.resources import clock
from qpsvm.estimators import SVC, SVDD, SVR, GapWarning, LinearSVC, NuSVC, OneClassSVM, QuantileSVR, RankingSVM
from qpsvm.many.multiclass import one_by_one


def data(n=60, d=3, seed=0, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.arange(n) % k, X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.1 * rng.normal(size=n)


def state(machine):
    """What there is of an estimator, by identity: a fit that failed may not even have made an equal copy."""
    return {name: id(value) for name, value in vars(machine).items()}


@for_each("kind", [SVC, LinearSVC, SVR, OneClassSVM, SVDD, RankingSVM])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(kind):
    X, labels, numbers = data()
    y = labels if kind in (SVC, LinearSVC) else numbers
    fresh = kind()
    machine = kind().fit(X, y)
    before = state(machine)
    values = machine.predict(X)
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


def test_memory_that_runs_out_in_a_fit_is_said():
    def allocate(*_):
        raise MemoryError("Unable to allocate 64.0 GiB")

    X, labels, _ = data()
    for kind in (SVC, OneClassSVM):
        with pytest.raises(qpsvm.TooLargeError, match="memory ran out"):
            kind(kernel=allocate).fit(X, labels)


def test_the_user_is_told_of_the_gap_and_has_a_model():
    few, labels, numbers = data(200)
    noise = np.random.default_rng(0).normal(size=(800, 5))
    many = np.random.default_rng(1).integers(0, 3, 800)
    for machine, X, y in (
        (SVC(max_iter=1, C=100.0, backend="dual_ascent", tol=1e-13), few, labels),
        (SVC(C=1e4, max_iter=2), noise, many), (SVC(C=1e4, time_limit=1e-2), noise, many),
        *((kind(max_iter=1, C=100.0, tol=1e-13), few, numbers) for kind in (SVR, QuantileSVR)),
        (OneClassSVM(max_iter=1, tol=1e-13), few, None), (RankingSVM(max_iter=1, C=100.0, tol=1e-13), few, labels),
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            machine.fit(X, y)
        assert np.isfinite(machine.predict(X)).all()
        told = [each for each in said if issubclass(each.category, ConvergenceWarning)]
        assert bool(told) == (machine.gap_ > machine.tol) == bool(machine.fit_status_)
        assert all(each.filename == __file__ and f"{machine.gap_:.2g}" in str(each.message) for each in told)
        if X is noise:
            (said,) = told
            assert issubclass(said.category, GapWarning)
            assert re.search(r"Solver terminated early \((max_iter|time_limit)=", str(said.message))
            assert machine.max_iter != 2 or (machine.n_iter_ <= 2).all()


def test_a_time_limit_is_for_all_machines_of_a_fit(monkeypatch):
    """Each has its share of what is left; with one limit each, the fit took as many times as long.

    By clocks that count the looks at them.
    """
    ticks = Ticks(0.001)
    monkeypatch.setattr(one_by_one, "monotonic", ticks)
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=ticks))
    X, y, _ = data(900, 8, k=6)
    machine = NuSVC(nu=0.8, time_limit=0.2, backend="dual_ascent", tol=1e-12)
    given = []

    def solve(problem, **options):
        given.append(options["time_limit"])
        return qpsvm.solve(problem, **options)

    monkeypatch.setattr(one_by_one, "solve", solve)
    with pytest.warns(GapWarning, match="time_limit"):
        machine.fit(X, y)
    assert len(machine.results_) == len(given) == 15
    shares = [max(0.2 / left, one_by_one.MIN_SECONDS) for left in range(15, 0, -1)]
    assert all(0 < limit <= share * (1 + 1e-12) for limit, share in zip(given, shares, strict=True))
    assert np.isfinite(machine.decision_function(X)).all()


def test_a_time_limit_does_not_keep_small_machines_from_the_fast_road():
    X, y, _ = data(150, k=3)
    free = SVC().fit(X, y)
    for seconds in (30.0, 1e308):
        limited = SVC(time_limit=seconds).fit(X, y)
        assert limited.gap_ <= limited.tol
        assert (free.dual_coef_ == limited.dual_coef_).all()
        assert (free.intercept_ == limited.intercept_).all()


def test_a_joint_machine_whose_kernel_matrix_takes_too_long_ends_at_once():
    X, y, _ = data(3000, 20, k=3)
    machine = SVC(multi_class="crammer_singer", time_limit=1e-3)
    with pytest.warns(GapWarning, match="time_limit"):
        machine.fit(X, y)
    assert np.isfinite(machine.decision_function(X[:5])).all()


@for_each("gamma", [1.0, 1e-200])
def test_a_nu_machine_without_a_margin_fits(gamma):
    """All samples are equal, so that ρ is 0, by which LIBSVM divides."""
    X = np.ones((30, 2))
    y = np.arange(30) % 2
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


# --- threads ----------------------------------------------------------------------------------------------------------


def run_together(*calls):
    """Each call in a thread of its own, all at once; what one raises is raised."""
    begin = threading.Barrier(len(calls))

    def call(each):
        begin.wait()
        return each()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def test_fits_in_several_threads_do_not_disturb_each_other():
    """Other options, other warnings; the settings of NumPy, of BLAS and of `warnings` are afterwards what they were."""
    X, y, numbers = data(120, k=3)
    expected = SVC(C=10.0).fit(X, y).decision_function(X), SVR(tol=1e-9, backend="cvxopt").fit(X, numbers).predict(X)
    before = np.geterr()
    filters = list(warnings.filters)
    of_classes, of_numbers, gaps = run_together(
        lambda: [SVC(C=10.0).fit(X, y).decision_function(X) for _ in range(6)],
        lambda: [SVR(tol=1e-9, backend="cvxopt").fit(X, numbers).predict(X) for _ in range(6)],
        lambda: [result.gap for result in SVC(C=10.0).fit(X, y).results_],
    )
    assert all((values == expected[0]).all() for values in of_classes)
    assert all(np.allclose(values, expected[1], rtol=0.0, atol=1e-9) for values in of_numbers)
    assert max(gaps) <= 1e-6
    assert np.geterr() == before
    assert list(warnings.filters) == filters


@for_each("backend", ["auto", "cvxopt"])
def test_one_estimator_and_its_results_from_several_threads(backend):
    X, y, _ = data(150, k=4)
    machine = SVC(C=10.0, backend=backend).fit(X, y)

    def work(n):
        if n:
            machine.fit(X[:n], y[:n])
        return [result.gap for result in machine.results_] + [machine.decision_function(X).shape[1]]

    assert len(run_together(*(lambda n=n: work(n) for n in (0, 150, 0, 120)))) == 4
    n = machine.shape_fit_[0]  # of one of the fits, whole
    s = len(machine.support_)
    assert machine.dual_coef_.shape == (3, s)
    assert machine.support_.max() < n
    assert machine._solution.coef.shape[1] == n


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------

SLOW = {"tol": 1e-13, "backend": "dual_ascent"}


def interrupt(fit):
    """Press Ctrl-C while it runs, which is to end it soon."""
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fit()
    timer.join()
    assert time.monotonic() - pressed[0] < 20.0  # of solves that would take minutes


@pytest.mark.skipif(os.name == "nt", reason="a process cannot send itself an interrupt there")
def test_ctrl_c_ends_the_fit_and_leaves_the_estimator_as_it_was():
    """In `qpsvm.solve` it gives the best point; here whoever calls fit, a grid search for one, has to end too."""
    X, y, t = data(3000, 12)
    for machine, target in ((SVC(C=1e4), y), (NuSVC(nu=0.9), np.arange(3000) % 10), (SVR(C=1e4, epsilon=0.0), t)):
        machine.fit(X[:60], target[:60]).set_params(**SLOW)
        fresh, before = clone(machine), state(machine)
        for each in (machine, fresh):
            interrupt(lambda each=each, target=target: each.fit(X, target))
        assert state(machine) == before
        assert vars(fresh).keys() == fresh.get_params().keys()
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0]}, cv=2).fit(X[:60], y[:60])
    machine = search.best_estimator_[-1]
    expected = search.predict(X[:20])
    before = state(machine)
    search.set_params(param_grid={"svc__C": [1e4, 1e5], **{f"svc__{key}": [value] for key, value in SLOW.items()}})
    interrupt(lambda: search.fit(X, y))
    assert search.best_estimator_[-1] is machine
    assert state(machine) == before
    assert (search.predict(X[:20]) == expected).all()
