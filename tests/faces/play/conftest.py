"""What the tests of the page share: a library that is imported before a solve is timed."""

import pytest

from qpsvm.faces.play.server import warm_up
from qpsvm.faces.play.start import choose_default_start


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """Answer the first questions of a page once, as the server does."""
    warm_up(choose_default_start())
