"""`backends`: what is installed, and what it can take."""

from __future__ import annotations

import argparse

from qpsvm import backends


def run(options: argparse.Namespace) -> int:
    """Print a line for each backend."""
    del options
    for name in backends.REGISTRY:
        backend = backends.get(name)
        version = backend.version()
        state = f"{backend.package} {version}" if version else f"not installed: pip install {backend.package}"
        print(f"{name:<21}{state:<28}{backend.takes}")
    return 0
