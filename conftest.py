"""What pytest is to know of notebooks and of the interrupt key, wherever it is started."""

import signal

import pytest


def pytest_sessionstart() -> None:
    """Take the interrupt key back where a shell ignores it, as for what it starts in the background."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every notebook that is run, so that `-m "not notebook"` leaves it out."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.notebook)
