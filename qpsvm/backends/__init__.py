"""The backends by name: which there are, whether they are installed, and what each can do.

A solver's package is imported when it is first used, so that a list of the backends costs little. `version()` is None
where the package is not installed.

>>> import qpsvm
>>> for backend in qpsvm.backends.everyone():
...     if backend.abilities.study:
...         print(f"{backend.name}: {backend.abilities.in_words()}")
dual_ascent: dual forms: a box and at most two equality rows; a textbook method; for study
subgradient: primal forms with slacks xi (not the hard margin); a textbook method; for study
slsqp: any QP of at most 2000 variables, dense; a general method; for study
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
    "liblinear": ("qpsvm.backends.liblinear_", "LiblinearBackend"),
    "interior_point": ("qpsvm.backends.interior_point_", "InteriorPointBackend"),
    "dual_ascent": ("qpsvm.backends.dual_ascent_", "DualAscentBackend"),
    "subgradient": ("qpsvm.backends.subgradient_", "SubgradientBackend"),
    "slsqp": ("qpsvm.backends.slsqp_", "SlsqpBackend"),
}


def get(name: str) -> Backend:
    """The backend of that name.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    Backend
        The same object each time; its package need not be installed.

    Raises
    ------
    UnknownOptionError
        No such backend; the nearest one is named.

    Examples
    --------
    >>> import qpsvm
    >>> backend = qpsvm.backends.get("cvxopt")
    >>> backend.name, backend.preferred_form(linear=True), backend.abilities.grants("time_limit")
    ('cvxopt', 'dual', False)
    >>> qpsvm.backends.get("cvxopr")
    Traceback (most recent call last):
        ...
    qpsvm.errors.UnknownOptionError: unknown backend 'cvxopr'; did you mean 'cvxopt'? known: ...
    """
    if isinstance(name, str) and name == "auto":
        raise UnknownOptionError(
            f"'auto' chooses a backend for a problem, in solve(problem); here one has to be named: {', '.join(names())}"
        )
    if not isinstance(name, str) or name not in REGISTRY:
        raise UnknownOptionError(f"unknown backend {shown(name)}; {nearest(shown(name), [*names(), 'auto'])}")
    return _made(*REGISTRY[name])


@cache
def _made(module: str, kind: str) -> Backend:
    backend: Backend = getattr(importlib.import_module(module), kind)(everyone)
    return backend


def names() -> tuple[str, ...]:
    """What `backend=` may be besides "auto": the names of all backends, installed or not.

    Returns
    -------
    tuple of str
        In the order of `REGISTRY`.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.backends.names()[:3]
    ('cvxopt', 'osqp', 'cvxpy')
    """
    return tuple(REGISTRY)


def everyone() -> Iterator[Backend]:
    """Every backend, installed or not.

    Returns
    -------
    iterator of Backend
        In the order of `names()`.

    Examples
    --------
    >>> import qpsvm
    >>> [backend.name for backend in qpsvm.backends.everyone() if backend.abilities.package is None]
    ['augmented_lagrangian', 'kernel_newton', 'interior_point', 'dual_ascent', 'subgradient']
    """
    return (get(name) for name in REGISTRY)


__all__ = ["REGISTRY", "Backend", "Compiled", "everyone", "get", "names"]
