"""Calls in a child process: what they return, how they end, and that nothing is left of them."""

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from processes import children

from qpsvm.base.errors import SolverError
from qpsvm.base.resources import child_process as apart
from qpsvm.base.resources.child_process import ForkedProcess, FreshInterpreter, run_in_child

linux = pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")
KINDS = [pytest.param(ForkedProcess, marks=linux), FreshInterpreter]


def return_false() -> bool:
    return False


def wait_until_hurried(seconds: float) -> str:
    """Wait, and end early when the call is hurried."""
    ended = []
    apart.on_stop_request(lambda: ended.append(True))
    until = time.monotonic() + seconds
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
    return "hurried" if ended else "ended"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_call_returns_and_raises(kind):
    large = run_in_child(np.full, (300_000, 2.5), return_false, start=kind)
    assert large.shape == (300_000,)
    assert (large == 2.5).all()
    with pytest.raises(ValueError, match="domain"):
        run_in_child(math.sqrt, (-1.0,), return_false, start=kind)
    assert not apart.is_child()


@linux
def test_what_cannot_be_hurried_is_killed():
    began, others = time.monotonic(), children()  # of other tests: a browser, for one
    assert run_in_child(time.sleep, (600.0,), lambda: time.monotonic() - began > 0.1) is None
    assert children() <= others


@linux
def test_what_can_be_hurried_returns():
    began = time.monotonic()
    assert run_in_child(wait_until_hurried, (600.0,), lambda: time.monotonic() - began > 0.2, grace=60.0) == "hurried"


@linux
def test_a_child_that_dies_is_an_error():
    with pytest.raises(SolverError, match="memory"):
        run_in_child(os._exit, (3,), return_false)


@linux
def test_a_press_in_the_meantime_leaves_no_child():
    def press_key() -> bool:
        raise KeyboardInterrupt

    before, others = set(os.listdir("/proc/self/fd")), children()
    with pytest.raises(KeyboardInterrupt):
        run_in_child(time.sleep, (600.0,), press_key)
    assert children() <= others
    assert set(os.listdir("/proc/self/fd")) <= before


@pytest.mark.slow
def wait_unready(seconds: float) -> str:
    """Wait, at first not ready to be hurried when that comes."""
    time.sleep(0.3)
    return wait_until_hurried(seconds)


@linux
def test_a_hurry_that_comes_too_early_is_not_lost():
    assert run_in_child(wait_unready, (300.0,), lambda: True, grace=150.0) == "hurried"


@linux
def test_the_child_ends_with_its_parent():
    code = (
        "import os, time\n"
        "from qpsvm.base.resources.child_process import run_in_child\n"
        "read, write = os.pipe()\n"
        "def call():\n"
        "    os.write(write, str(os.getpid()).encode())\n"
        "    time.sleep(600)\n"
        "def told():\n"
        "    print(os.read(read, 20).decode(), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "run_in_child(call, (), told)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL
    child = int(done.stdout)
    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{child}") and time.monotonic() < until:
        with open(f"/proc/{child}/stat", encoding="ascii", errors="replace") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":  # ended; nobody collects it here
                return
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{child}")
