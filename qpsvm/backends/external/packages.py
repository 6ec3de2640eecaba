"""Which packages are installed, and which version: looked up once, because that takes milliseconds."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from functools import cache


@cache
def installed_version(package: str) -> str | None:
    """The version of an installed distribution, or None; looked up once, because that takes milliseconds."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def importable(module: str) -> bool:
    """Whether the package of a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # something in the way of imports, or a package without a file
        return False


def built_in_version() -> str:
    """This library's version, for the solvers that are part of it."""
    return installed_version("qpsvm") or "?"
