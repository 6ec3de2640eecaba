"""What pytest is to know of notebooks, of threads and of the interrupt key, wherever it is started."""

import os
import signal

import pytest

# One process a core is all that the cores can do: with two threads of BLAS in each, everything takes a fifth longer.
# It has to be said before NumPy is loaded, and holds for the processes that tests start; `-n 0` leaves threads alone.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def pytest_sessionstart() -> None:
    """Take the interrupt key back where a shell ignores it, as for what it starts in the background."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every notebook that is run, so that `-m "not notebook"` leaves it out; they are long, and begin."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.notebook)
    items.sort(key=lambda item: item.path.suffix != ".ipynb")
