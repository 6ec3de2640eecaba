"""The backends by name. A solver's module is imported when it is first used."""

from __future__ import annotations

import importlib

from qpsvm.arrays.words import shown
from qpsvm.backends.base import Backend, Compiled
from qpsvm.errors import UnknownOptionError, nearest

#: One line a solver: name → module and class.
REGISTRY: dict[str, tuple[str, str]] = {
    "cvxopt": ("cvxopt_", "CvxoptBackend"),
    "osqp": ("osqp_", "OsqpBackend"),
    "cvxpy": ("cvxpy_", "CvxpyBackend"),
    "augmented_lagrangian": ("augmented_lagrangian_", "AugmentedLagrangianBackend"),
    "kernel_newton": ("kernel_newton_", "KernelNewtonBackend"),
    "libsvm": ("libsvm_", "LibsvmBackend"),
    "interior_point": ("interior_point_", "InteriorPointBackend"),
    "dual_ascent": ("dual_ascent_", "DualAscentBackend"),
    "subgradient": ("subgradient_", "SubgradientBackend"),
    "slsqp": ("slsqp_", "SlsqpBackend"),
}


def get(name: str) -> Backend:
    """The backend of that name.

    Raises
    ------
    UnknownOptionError
        No such backend; the nearest one is named.
    """
    if not isinstance(name, str) or name not in REGISTRY:
        raise UnknownOptionError(f"unknown backend {shown(name)}; {nearest(shown(name), [*REGISTRY, 'auto'])}")
    module, kind = REGISTRY[name]
    backend: Backend = getattr(importlib.import_module(f"qpsvm.backends.{module}"), kind)()
    return backend


__all__ = ["REGISTRY", "Backend", "Compiled", "get"]
