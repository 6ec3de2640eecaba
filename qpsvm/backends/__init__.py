"""The backends by name: which there are, whether they are installed, and what each can do.

A solver's package is imported when it is first used, so that a list of the backends costs little.

    >>> for backend in qpsvm.backends.everyone():                                   # doctest: +SKIP
    ...     print(backend.name, backend.version(), backend.abilities.in_words())    # version() is None: not installed
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache

from qpsvm.arrays.words import shown
from qpsvm.backends.base import Backend, Compiled
from qpsvm.errors import UnknownOptionError, nearest

#: One line a solver: name → module and class.
REGISTRY: dict[str, tuple[str, str]] = {
    "cvxopt": ("qpsvm.backends.cvxopt_", "CvxoptBackend"),
    "osqp": ("qpsvm.backends.osqp_", "OsqpBackend"),
    "cvxpy": ("qpsvm.backends.cvxpy_", "CvxpyBackend"),
    "augmented_lagrangian": ("qpsvm.backends.augmented_lagrangian_", "AugmentedLagrangianBackend"),
    "kernel_newton": ("qpsvm.backends.kernel_newton_", "KernelNewtonBackend"),
    "libsvm": ("qpsvm.backends.libsvm_", "LibsvmBackend"),
    "interior_point": ("qpsvm.backends.interior_point_", "InteriorPointBackend"),
    "dual_ascent": ("qpsvm.backends.dual_ascent_", "DualAscentBackend"),
    "subgradient": ("qpsvm.backends.subgradient_", "SubgradientBackend"),
    "slsqp": ("qpsvm.backends.slsqp_", "SlsqpBackend"),
}


def get(name: str) -> Backend:
    """The backend of that name.

    Raises
    ------
    UnknownOptionError
        No such backend; the nearest one is named.
    """
    if not isinstance(name, str) or name not in REGISTRY:
        raise UnknownOptionError(f"unknown backend {shown(name)}; {nearest(shown(name), [*names(), 'auto'])}")
    return _made(*REGISTRY[name])


@cache
def _made(module: str, kind: str) -> Backend:
    backend: Backend = getattr(importlib.import_module(module), kind)(everyone)
    return backend


def names() -> tuple[str, ...]:
    """What `backend=` may be besides "auto": the names of all backends, installed or not."""
    return tuple(REGISTRY)


def everyone() -> Iterator[Backend]:
    """Every backend, installed or not."""
    return (get(name) for name in REGISTRY)


__all__ = ["REGISTRY", "Backend", "Compiled", "everyone", "get", "names"]
