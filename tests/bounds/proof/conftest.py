"""Both roads of a proof: in rational numbers, or in floats with radii, where nothing else is affordable."""

import pytest

from qpsvm.bounds.proof import prove as proving


@pytest.fixture
def in_floats(monkeypatch):
    """Nothing is affordable in rational numbers."""
    monkeypatch.setattr(proving, "MAX_PRODUCTS_AT_FIRST", 0.0)
    monkeypatch.setattr(proving, "MAX_PRODUCTS", 0.0)


@pytest.fixture(params=["rational", "floats"])
def arithmetic(request):
    """Each road in turn."""
    if request.param == "floats":
        request.getfixturevalue("in_floats")
    return request.param
