"""No figure outlives the test that drew it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close every figure after each test."""
    yield
    pyplot.close("all")
