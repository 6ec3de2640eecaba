"""Find the versions of installed packages (`find_installed_version`, `is_importable`)."""

from __future__ import annotations

import importlib.util
from functools import cache


@cache
def find_installed_version(package: str) -> str | None:
    """Return the version of an installed distribution, or None; cached, because it takes milliseconds."""
    import importlib.metadata  # imported late, because it takes 20 ms

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def is_importable(module: str) -> bool:
    """Return whether the top-level package of a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # an import hook that fails, or a module without a specification
        return False


def find_library_version() -> str:
    """Return this library's version, for the built-in solvers."""
    return find_installed_version("qpsvm") or "?"
