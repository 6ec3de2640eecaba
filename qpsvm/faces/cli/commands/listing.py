"""`backends`: what is installed, and what it can take."""

from __future__ import annotations

import argparse

from qpsvm import backends


def run(options: argparse.Namespace) -> int:
    """Print a line for each backend."""
    del options
    for backend in backends.everyone():
        package, version = backend.abilities.package or ("outside" if backend.outside else "qpsvm"), backend.version()
        state = f"{package} {version}" if version else f"not installed: pip install {package}"
        print(f"{backend.name:<21}{state:<28}{backend.abilities.in_words()}")
    return 0
