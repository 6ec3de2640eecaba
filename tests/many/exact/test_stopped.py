"""Time limits, Ctrl-C and progress: the part that was reached comes back, certified, and nothing is lost."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import qpsvm
from qpsvm.base.resources import clock
from qpsvm.many.exact import active_set, follow, left_out, path, validation
from qpsvm.many.exact.piece_certifier import PieceCertifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = np.where(X[:, 0] + RNG.normal(size=120) > 0.0, 1, 0)
PROBLEM = qpsvm.CSVM(X, Y, kernel=qpsvm.RBF(0.3))
REACH = (0.02, 500.0)


@pytest.fixture
def press_after(monkeypatch):
    """A function after whose calls with these numbers Ctrl-C is pressed."""

    def arrange_press(owner, name, *numbers):
        whole = getattr(owner, name)
        count = 0

        def count_call(*args, **named):
            nonlocal count
            count += 1
            found = whole(*args, **named)
            if count in numbers:
                signal.raise_signal(signal.SIGINT)
            return found

        monkeypatch.setattr(owner, name, count_call)

    monkeypatch.setattr(active_set, "EVENTS_PER_CLOCK_CHECK", 1)
    yield arrange_press
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # the key is given back


def is_part_of(found, whole):
    """What was reached of a path is proven, and the optimum."""
    assert found.breakpoints[0] == whole.low
    assert found.reached < whole.high
    assert (found.gaps <= 1e-6).all()
    assert len(found) == len(found.breakpoints) - 1
    for value in np.geomspace(whole.low, found.reached, 4)[1:-1].tolist():
        own = qpsvm.solve(whole.problem.replace(C=value), tol=1e-10)
        assert abs(found.at(value).primal - own.primal) <= 1e-8 * own.primal
    assert found.at(whole.high).status == "optimal"  # beyond what was reached, `at` solves


def test_a_path_that_is_interrupted_keeps_its_pieces(press_after):
    whole = qpsvm.exact_path(PROBLEM, "C", *REACH)
    press_after(PieceCertifier, "bound_gaps", 1)
    found = qpsvm.exact_path(PROBLEM, "C", *REACH)
    assert found.status == "interrupted"
    assert len(found) >= follow.BATCH
    assert "ends at C = " in found.message
    is_part_of(found, whole)


def test_a_path_whose_time_is_over_keeps_its_pieces(monkeypatch):
    whole = qpsvm.exact_path(PROBLEM, "C", *REACH)
    monkeypatch.setattr(active_set, "EVENTS_PER_CLOCK_CHECK", 1)
    judged = []
    real = PieceCertifier.bound_gaps

    def slow(self, *given, **named):
        judged.append(real(self, *given, **named))
        if len(judged) == 2:
            monkeypatch.setattr(clock.Clock, "find_stop_reason", lambda *_: "time_limit")
        return judged[-1]

    monkeypatch.setattr(PieceCertifier, "bound_gaps", slow)
    found = qpsvm.exact_path(PROBLEM, "C", *REACH, time_limit=100.0)
    assert found.status == "time_limit"
    assert len(found) >= follow.BATCH
    monkeypatch.undo()
    is_part_of(found, whole)


def test_next_to_no_time_is_no_error():
    found = qpsvm.exact_path(PROBLEM, "C", *REACH, time_limit=1e-9)
    assert found.status == "time_limit"
    assert found.at(1.0).status == "optimal"
    found = qpsvm.leave_one_out(PROBLEM, time_limit=1e-9)
    assert found.status == "time_limit"
    assert np.isnan(found.decision).all()


@pytest.fixture
def without_tableau(monkeypatch):
    """No tableau leads machines together, so that each is one of its own."""
    monkeypatch.setattr(left_out, "build_tableau", lambda _: None)


@pytest.mark.usefixtures("without_tableau")
def test_machines_that_were_reached_are_kept(press_after):
    whole = qpsvm.leave_one_out(PROBLEM)
    press_after(left_out.LeaveOutSolver, "evaluate_without", 30)
    found = qpsvm.leave_one_out(PROBLEM)
    assert found.status == "interrupted"
    known = np.isfinite(found.decision)
    assert known.sum() == 30
    assert (found.gap[known] <= 1e-6).all()
    np.testing.assert_allclose(found.decision[known], whole.decision[known], atol=1e-6)
    assert np.isfinite(found.error)
    assert np.isnan(found.decision_function(X[:1])[0, ~known]).all()


@pytest.mark.usefixtures("without_tableau")
def test_the_key_while_a_machine_is_solved_anew_keeps_the_others(press_after, monkeypatch):
    def stuck(*_):
        raise active_set.PathBreakdown("for this test")

    monkeypatch.setattr(left_out, "move_to_data", stuck)
    press_after(left_out, "restrict_to_rows", 5)
    found = qpsvm.leave_one_out(PROBLEM)
    assert found.status == "interrupted"
    assert np.isfinite(found.decision).sum() >= 4
    assert found.moved == 5


def test_the_key_while_the_first_machine_of_a_fold_is_solved_keeps_the_other_folds(press_after):
    press_after(path, "build_line", 3)
    found = qpsvm.cross_validate(PROBLEM, C=qpsvm.Interval(*REACH), folds=3, check=False)
    assert found.status.tolist()[:2] == ["optimal", "optimal"]
    assert found.status[2] == "interrupted"


def test_the_key_while_the_first_machine_is_solved_loses_nothing(press_after):
    press_after(left_out, "find_start", 1)
    found = qpsvm.leave_one_out(PROBLEM)
    assert found.status == "interrupted"
    assert np.isnan(found.decision).all()


def test_curves_that_were_reached_are_kept(press_after):
    interval = qpsvm.Interval(*REACH)
    whole = qpsvm.cross_validate(PROBLEM, C=interval, gamma=[0.3, 1.0], folds=3)
    press_after(validation, "exact_path", 4)
    with pytest.warns(qpsvm.InaccurateWarning, match="2 of 6 paths"):
        found = qpsvm.cross_validate(PROBLEM, C=interval, gamma=[0.3, 1.0], folds=3)
    assert found.status.tolist() == [["optimal", "optimal"], ["optimal", "interrupted"], ["optimal", "interrupted"]]
    assert found.best["gamma"] == 0.3
    assert found.best_score == whole.at(found.best["C"])[0]
    assert (found.reached[1:, 1] == interval.low).all()


def test_the_key_within_a_fold_keeps_its_part(press_after):
    press_after(PieceCertifier, "bound_gaps", 1)
    found = qpsvm.cross_validate(PROBLEM, C=qpsvm.Interval(*REACH), folds=2, check=False)
    assert found.status.tolist() == ["interrupted", "interrupted"]
    assert REACH[0] < found.reached[0] < REACH[1]
    assert found.gaps[0] <= 1e-6
    assert len(found.curves[0].values) >= 1
    with pytest.raises(qpsvm.UnsupportedError, match="no point has a path in every fold"):
        found.best  # noqa: B018


def test_progress_is_said(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)  # without tqdm
    problem = qpsvm.CSVM(X[:40], Y[:40], kernel=qpsvm.RBF(0.3))
    for run, words in (
        (lambda **how: qpsvm.exact_path(problem, "C", 0.1, 10.0, **how), "1000 of 1000 steps"),
        (lambda **how: qpsvm.leave_one_out(problem, **how), "40 of 40 machines"),
        (lambda **how: qpsvm.cross_validate(problem, C=qpsvm.Interval(0.1, 10.0), folds=2, **how), "2 of 2 paths"),
    ):
        run()
        assert not capsys.readouterr().out
        run(verbose=True)
        assert words in capsys.readouterr().out
