"""What pytest is to know of threads, of the interrupt key and of what takes long, wherever it is started."""

import gc
import importlib
import os
import signal
import sys
from collections.abc import Generator
from contextlib import suppress

import pytest

# With two threads of BLAS in each of as many processes as there are cores, everything takes a fifth longer. It has to
# be said before NumPy is loaded, and holds for the processes that tests start; `-n 0` leaves threads alone.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
# What is compiled is kept, as is Python's way: each of the many processes that tests start would take half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: What takes long or waits for other processes: it begins, in this order, so that nobody is left with it at the end.
FIRST = (
    "tests/test_notebooks.py::test_each_notebook_runs",
    "tests/faces/play/browser",
    "tests/test_chapters.py",
    "tests/solve/cluster",
    "tests/benchmarks",
    "tests/estimators",
    "tests/bounds/proof",
    "tests/faces/plotting",
    "tests/derivation/test_displayed.py",
    "tests/machines/test_joint.py",
    "tests/faces/cli",
    "tests/test_architecture.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One process more than there are cores: one or another waits for a browser, a cluster, another interpreter."""
    cores = yield
    return cores + 1


def pytest_configure() -> None:
    """Let Hypothesis draw the same examples each time, however long that takes on a busy machine.

    What is found by chance is found by `tests/tools/hunt.py`, and not in somebody else's run.
    """
    with suppress(ImportError):
        from hypothesis import HealthCheck, settings

        quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
        settings.register_profile(
            "alike", derandomize=True, database=None, deadline=None, suppress_health_check=quiet
        )  # fmt: skip
        settings.load_profile("alike")


def pytest_sessionstart() -> None:
    """Collect tests, which are no garbage; and take the interrupt key back where a shell ignores it, as it may do."""
    gc.disable()  # a third of the time that it takes to collect them, in each process
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """From here on there is garbage, and modules and tests are none of it."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins."""
    items.sort(key=_get_order)


@pytest.fixture
def patient_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `auto` wait for the backends that it tries: on a busy machine it would give up and name another one."""
    request = importlib.import_module("qpsvm.solve.request")  # `qpsvm.solve` is the function
    monkeypatch.setattr(request, "MIN_COUNTED_SECONDS", 1000.0)


def _get_order(item: pytest.Item) -> int:
    """The place of a test's group among those that begin, behind them for all others."""
    return next((turn for turn, group in enumerate(FIRST) if item.nodeid.startswith(group)), len(FIRST))
