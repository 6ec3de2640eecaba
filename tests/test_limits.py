"""Nothing endless: time limits that count everything, followers in proportion, memory asked for beforehand."""

import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge, backends, solve
from qpsvm.backends.requirements import Requirements, Size
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.limits import find_available_memory
from qpsvm.base.resources.pulse import Pulse
from qpsvm.bounds.repair import make_feasible
from qpsvm.machines.problem.starts import find_affordable_alpha
from qpsvm.solve.attempt import check_available_memory
from qpsvm.solve.request import (
    FOLLOW_UP_FACTOR,
    MIN_COUNTED_SECONDS,
    SolveRequest,
    bound_follow_up_time,
    format_time_estimate,
)

RNG = np.random.default_rng(0)


def samples(n: int, d: int = 10) -> tuple[Any, Any]:
    """Two classes that overlap: X (n, d), y (n,)."""
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return RNG.standard_normal((n, d)) + y[:, None] / np.sqrt(d), y


# --- time -------------------------------------------------------------------------------------------------------------


def test_the_dual_with_a_penalised_intercept_is_made_without_its_matrix():
    """It took four seconds of a limit of 0.3 at 3000 rows, for a backend that was then not started."""
    problem = PrimalHinge(*samples(3000), 0.01, RBF(0.05), intercept="penalised")
    Q = problem.qp("dual").P
    assert Q.nbytes == 0
    result = solve(problem, "interior_point", time_limit=1e-3, check=False)
    assert result.status == "time_limit"
    assert problem.space.gram.nbytes == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["osqp", "cvxpy", "interior_point", "subgradient", "auto"])
@pytest.mark.parametrize("problem", [CSVM(*samples(3000), 1.0, RBF(0.05)), NuSVM(*samples(3000), 0.3, RBF(0.05))])
def test_a_time_limit_counts_the_set_up(problem, backend):
    if backend != "auto":
        backends.get(backend).options()  # what is imported when first used is not what is timed
    began = time.process_time()  # a busy machine stretches the other kind
    result = solve(problem, backend, time_limit=0.3, check=False)
    assert time.process_time() - began < 5.0  # it took up to 33
    assert result.status in ("time_limit", "optimal")
    assert np.isfinite(result.gap)
    assert abs(result.alpha @ problem.y) <= 1e-9 * max(result.alpha.sum(), 1.0)


def test_what_cannot_end_in_time_is_not_started():
    result = solve(CSVM(*samples(3000), 1.0, RBF(0.05)), "osqp", time_limit=0.3, check=False)
    assert result.solver.status.startswith("not started")
    assert "osqp" in result.message
    assert result.gap <= 1.0 + 1e-9  # rounding included
    assert not result.alpha.any()
    with pytest.warns(qpsvm.InaccurateWarning, match="not started"):
        solve(CSVM(*samples(3000), 1.0, RBF(0.05)), "osqp", time_limit=0.3)


def test_polishing_takes_no_longer_than_the_solver_that_was_stopped(monkeypatch):
    lasting: list[float] = []

    def spy(*seen: Any) -> Any:
        _, certificate, _, clock, _ = seen
        lasting.append(clock.limit)
        return certificate

    monkeypatch.setattr(qpsvm.machines.problem.problem.Problem, "_polish", spy)
    problem = CSVM(*samples(300), 1.0, RBF(0.05))
    result = solve(problem, "osqp", "dual", max_iter=2, check=False)
    assert lasting[-1] == pytest.approx(max(result.solve_time, 0.1))
    solve(problem, "osqp", "dual", time_limit=1e-9, check=False)
    assert lasting[-1] == pytest.approx(0.1)


def test_no_round_of_polishing_begins_that_would_not_end():
    problem = CSVM(*samples(400), 1.0, RBF(0.05))
    start = problem.certify(np.full(400, 0.5))
    certified: list[Any] = []

    def certify(alpha: Any) -> Any:
        certified.append(alpha)
        return problem.certify(alpha)

    assert qpsvm.bounds.polish.polish(problem.svm, start, certify, clock=Clock(0.0)) is start
    assert qpsvm.bounds.polish.polish(problem.svm, start, certify, clock=Clock(10.0), certify_seconds=100.0) is start
    assert not certified
    assert qpsvm.bounds.polish.polish(problem.svm, start, certify, clock=Clock(100.0)).gap < start.gap


@pytest.mark.parametrize("seconds", [1e-4, 1e-3, float("inf")])
def test_a_certificate_is_made_of_what_can_be_afforded(seconds):
    n = 2000
    X, y = samples(n)
    for problem in (CSVM(X, y, 1.0, RBF(0.05)), NuSVM(X, y, 0.5, RBF(0.05)), PrimalHinge(X, y, 1.0, RBF(0.05))):
        alpha = make_feasible(problem.svm, RNG.random(n) * problem.upper)
        less = find_affordable_alpha(problem.space, problem.svm, alpha, seconds)
        assert np.isfinite(problem.certify(less).gap)
        if seconds == float("inf") or isinstance(problem, NuSVM):  # whose α cannot be fewer than νn
            assert less is alpha
        else:
            assert 0 < np.count_nonzero(less) <= seconds / (n * 5e-9)
    machine = HardMargin(X, y, RBF(0.05))
    hard = find_affordable_alpha(machine.space, machine.svm, np.zeros(n), 1e-4)
    assert np.count_nonzero(hard) == 2


# --- followers --------------------------------------------------------------------------------------------------------


def test_followers_together_stay_in_proportion():
    """How they share it is seen in `tests/backends/test_auto.py`."""
    assert bound_follow_up_time(10.0) == FOLLOW_UP_FACTOR * 10.0
    assert bound_follow_up_time(1e-3) == FOLLOW_UP_FACTOR * MIN_COUNTED_SECONDS


def test_what_takes_minutes_to_set_up_has_no_turn():
    """After one second of the first choice; of CVXOPT, `test_machines_of_another_kernel`."""
    requirements = backends.get("cvxpy").estimate_requirements(Size(8000, 10, 80_000, False), "dual")
    assert requirements.seconds > bound_follow_up_time(1.0)


def test_seconds_in_words():
    said = [format_time_estimate(seconds) for seconds in (0.04, 38.0, 400.0, 9000.0, 3e5)]
    assert said == ["0.04 s", "40 s", "7 minutes", "2 hours", "3 days"]


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wish", ["time_limit", "max_iter"])
def test_the_list_of_who_keeps_a_limit_is_complete(wish):
    said = backends.get("cvxopt").list_alternatives(wish).split(", ")
    assert said == [backend.name for backend in backends.iter_backends() if wish in backend.abilities.enforced_limits]
    assert {"interior_point", "augmented_lagrangian", "kernel_newton"} <= set(said)


def test_advice_is_only_what_was_not_done():
    problem = CSVM(*samples(200), 1.0, RBF(0.05))
    said = []
    for polish in (True, False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solve(problem, "osqp", tol=1e-300, polish=polish)
        said.append(str(caught[-1].message))
    assert "polish=True" not in said[0]
    assert "polish=True" in said[1]


@pytest.mark.slow
def test_a_pulse_says_that_it_lives(monkeypatch, capsys):
    monkeypatch.setattr("qpsvm.base.resources.pulse.PULSE_SECONDS", 0.01)
    out = ""

    def wait_for_words(words):
        nonlocal out
        until = time.monotonic() + 60.0
        while words not in out and time.monotonic() < until:
            time.sleep(0.01)
            out += capsys.readouterr().out
        return words in out

    with Pulse(True, "setting up") as pulse:
        assert wait_for_words("setting up")
        pulse.activity = "at work"
        assert wait_for_words("at work")
    capsys.readouterr()  # it may have spoken once more
    with Pulse(False, "nothing"):
        time.sleep(0.05)
    assert not capsys.readouterr().out


# --- memory -----------------------------------------------------------------------------------------------------------


def test_too_little_memory_is_said_before_anything_starts(monkeypatch):
    problem = CSVM(*samples(100), 1.0, RBF(0.05))
    monkeypatch.setattr(sys.modules["qpsvm.solve.attempt"], "find_available_memory", lambda: 1e9)
    request = Requirements(0.0, 2e9)
    with pytest.raises(qpsvm.TooLargeError, match=r"osqp needs about 1.9 GiB .* 100 rows") as caught:
        check_available_memory(problem, backends.get("osqp"), "dual", request)
    assert isinstance(caught.value, MemoryError)
    check_available_memory(problem, backends.get("osqp"), "dual", Requirements(0.0, 5e8))


@pytest.mark.usefixtures("patient_auto")
def test_memory_that_runs_out_is_an_error_of_ours_and_auto_goes_on(monkeypatch):
    from qpsvm.backends.own.kernel_newton_ import KernelNewtonBackend

    def fails(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(KernelNewtonBackend, "solve_dual", fails)
    problem = CSVM(*samples(60), 1.0, RBF(0.05))
    with pytest.raises(qpsvm.TooLargeError, match="kernel_newton ran out of memory"):
        solve(problem, "kernel_newton")
    result = solve(problem)
    assert result.status == "optimal"
    assert result.backend == "interior_point"


CHILD = """
import resource, sys
import numpy as np, qpsvm
rng = np.random.default_rng(0)
y = np.where(np.arange({n}) % 2, 1.0, -1.0)
X = rng.standard_normal(({n}, 20)) + y[:, None] / 4
problem = qpsvm.CSVM(X, y, 1.0, {kernel})
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {megabytes} * 2**20,) * 2)
try:
    print(qpsvm.solve(problem, {backend!r}, check=False, time_limit={limit}).status)
except qpsvm.QPSVMError as error:
    print(type(error).__name__)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address-space limits as on Linux")
@pytest.mark.parametrize(
    ("backend", "limit", "kernel", "megabytes"),
    [("cvxopt", None, "'linear'", 200), ("auto", None, "qpsvm.RBF(0.05)", 60), ("osqp", 60.0, "qpsvm.RBF(0.05)", 300)],
)
def test_an_address_space_limit_ends_in_words(backend, limit, kernel, megabytes):
    """cvxopt's import ended in a segmentation fault, CVXPY's in a plain MemoryError, OpenBLAS waited for ever."""
    code = CHILD.format(n=3000, kernel=kernel, megabytes=megabytes, backend=backend, limit=limit)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("TooLargeError", "optimal", "time_limit")


def test_available_memory_is_a_number():
    assert 0 < find_available_memory() < 1e15


def test_a_request_knows_what_is_too_late():
    request = SolveRequest(1e-6, True, False, 100.0, None, {}, None, Clock(100.0))
    assert request.explain_late_start(1.0) is None
    assert "3 minutes" in (request.explain_late_start(200.0) or "")
    over = SolveRequest(1e-6, True, False, 1e-9, None, {}, None, Clock(0.0))
    assert over.explain_late_start(0.0) == "the time was over"
