"""Each level of instructions of the compiled core in turn, for the tests of its loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qpsvm import core


@pytest.fixture(params=["plain", "avx2", "avx512"])
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each level that the processor has."""
    before = core.level()
    if not core.compiled.set_level(request.param):
        pytest.skip("not a level of this processor")
    yield request.param
    core.compiled.set_level(before)
