"""What pytest is to know of the notebooks, wherever it is started."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every notebook that is run, so that `-m "not notebook"` leaves it out."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.notebook)
