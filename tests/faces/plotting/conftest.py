"""Pictures are drawn without a window; none outlives the test that drew it, and none changes a global setting."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib import pyplot

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Close every figure after each test, and check that the settings are as they were."""
    before = mpl.rcParams.copy()
    yield
    assert mpl.rcParams == before
    pyplot.close("all")
