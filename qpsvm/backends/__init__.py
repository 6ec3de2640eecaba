"""The backends by name: which there are, whether they are installed, and what each can do.

Those of this library stand in `REGISTRY`. Others come from outside: registered in this process by `register_backend`,
or offered by an installed package. A solver's package is imported when it is first used, so that a list of the backends
costs little. `version()` is None where the package is not installed.

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

from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Compiled
from qpsvm.backends.external.registering import OUTSIDE, Registered, offered, register_backend, unregister_backend
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import UnknownOptionError, nearest

#: One line a solver: name → module and class.
REGISTRY: dict[str, tuple[str, str]] = {
    "cvxopt": ("qpsvm.backends.external.cvxopt_", "CvxoptBackend"),
    "osqp": ("qpsvm.backends.external.osqp_", "OsqpBackend"),
    "cvxpy": ("qpsvm.backends.external.cvxpy_", "CvxpyBackend"),
    "augmented_lagrangian": ("qpsvm.backends.own.augmented_lagrangian_", "AugmentedLagrangianBackend"),
    "kernel_newton": ("qpsvm.backends.own.kernel_newton_", "KernelNewtonBackend"),
    "libsvm": ("qpsvm.backends.external.libsvm_", "LibsvmBackend"),
    "liblinear": ("qpsvm.backends.external.liblinear_", "LiblinearBackend"),
    "interior_point": ("qpsvm.backends.own.interior_point_", "InteriorPointBackend"),
    "dual_ascent": ("qpsvm.backends.own.study_", "DualAscentBackend"),
    "subgradient": ("qpsvm.backends.own.study_", "SubgradientBackend"),
    "slsqp": ("qpsvm.backends.own.study_", "SlsqpBackend"),
}
#: The one backend that runs on a communicator, and whose runs have a state of few numbers from which they can go on.
RESUMABLE = "augmented_lagrangian"


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
    UnsupportedError
        A package offers it, and it cannot be loaded.

    See Also
    --------
    qpsvm.register_backend : A solver of one's own.

    Examples
    --------
    >>> import qpsvm
    >>> backend = qpsvm.backends.get("cvxopt")
    >>> backend.name, backend.preferred_form(linear=True), backend.abilities.grants("time_limit")
    ('cvxopt', 'dual', False)
    >>> qpsvm.backends.get("cvxopr")
    Traceback (most recent call last):
        ...
    qpsvm.UnknownOptionError: unknown backend 'cvxopr'; did you mean 'cvxopt'? known: ...
    """
    if isinstance(name, str) and name == "auto":
        raise UnknownOptionError(
            f"'auto' chooses a backend for a problem, in solve(problem); here one has to be named: {', '.join(names())}"
        )
    if isinstance(name, str) and name in REGISTRY:
        return _made(*REGISTRY[name])
    if isinstance(name, str) and name in OUTSIDE.there:
        return OUTSIDE.there[name]
    if isinstance(name, str) and name in offered():
        return OUTSIDE.load(name)
    raise UnknownOptionError(f"unknown backend {shown(name)}; {nearest(name, [*names(), 'auto'])}")


@cache
def _made(module: str, kind: str) -> Backend:
    backend: Backend = getattr(importlib.import_module(module), kind)(_there)
    return backend


def _there() -> Iterator[Backend]:
    """Every backend, but those that a package offers and nobody has asked for."""
    return (get(name) for name in (*REGISTRY, *OUTSIDE.there))


def candidates() -> tuple[str, ...]:
    """The names of the backends that "auto" may take: ours, and of the others those that were registered so."""
    return (*REGISTRY, *(name for name in OUTSIDE.there if name in OUTSIDE.for_auto))


def names() -> tuple[str, ...]:
    """What `backend=` may be besides "auto": the names of all backends, installed or not.

    Returns
    -------
    tuple of str
        In the order of `REGISTRY`; behind them those registered, and those that packages offer.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.backends.names()[:3]
    ('cvxopt', 'osqp', 'cvxpy')
    """
    return tuple(dict.fromkeys((*REGISTRY, *OUTSIDE.there, *offered())))


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
    return (get(name) for name in names())


OUTSIDE.join(names, _there)
__all__ = [
    "REGISTRY", "RESUMABLE", "Backend", "Compiled", "Registered", "everyone", "get", "names", "register_backend",
    "unregister_backend",
]  # fmt: skip
