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
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from qpsvm.arrays.words import shown
from qpsvm.backends.admission import admitted, checked_name
from qpsvm.backends.base import Backend, Compiled
from qpsvm.backends.outside import OUTSIDE, Registered, offered
from qpsvm.errors import ParameterError, UnknownOptionError, nearest

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
    qpsvm.errors.UnknownOptionError: unknown backend 'cvxopr'; did you mean 'cvxopt'? known: ...
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
        return OUTSIDE.load(name, _there)
    raise UnknownOptionError(f"unknown backend {shown(name)}; {nearest(shown(name), [*names(), 'auto'])}")


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


def register_backend(
    name: str, solver: Callable[..., Any] | Backend | type[Backend], *, sparse: bool = False, auto: bool = False
) -> Registered:
    """Make a solver of one's own a backend, in this process.

    Parameters
    ----------
    name : str
        What `backend=` is to be.
    solver : callable, or Backend or a subclass of it
        A function of (P, q, G, h, A, b, lb, ub) that returns x, or x, y and z; see the notes.
    sparse : bool
        Hand a function P, G and A as CSC matrices, and not as arrays.
    auto : bool
        Whether `backend="auto"` may take it, by its estimate. A function is estimated as CVXOPT is.

    Returns
    -------
    Registered
        In a `with` statement, the backend is taken away at the end of the block.

    Raises
    ------
    ParameterError, ParameterTypeError
        The name is taken or none; or the solver does not have what it needs, which the message names.

    See Also
    --------
    unregister_backend : Take it away.
    backends.Backend : What a solver implements that needs more than this.

    Notes
    -----
    The function is given copies of the parts of: minimise ½xᵀPx + qᵀx subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. G and
    h, and A and b, are None where there are no such rows; bounds may be infinite. It returns x (n,), or the tuple
    (x, y, z) with y (p,) for the rows of A and z (m,) ≥ 0 for those of G, in the signs of (QP.1); None for x where it
    found no point. The multipliers z of a primal are α, and have to be there; a dual needs x alone. Of the keywords
    `tol`, `max_iter`, `time_limit`, `verbose` and `start` it is given those that it names; others are its settings.

    Its word is not taken: the certificate judges x as it does any. What it raises comes out as a `SolverError`, and so
    does an answer of another shape. Numbers that are not finite are no point. A process that is started anew knows
    nothing of it; a package offers a solver in every process, by an entry point of the group "qpsvm.backends".

    Examples
    --------
    SciPy's own minimiser of a quadratic in a box, for a machine without equality rows:

    >>> import qpsvm
    >>> from scipy.optimize import minimize
    >>> def boxed(P, q, G, h, A, b, lb, ub, *, ftol=1e-15):
    ...     value = lambda x: (0.5 * x @ P @ x + q @ x, P @ x + q)
    ...     bounds, options = list(zip(lb, ub)), {"ftol": ftol}
    ...     return minimize(value, 0 * q, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    >>> problem = qpsvm.PrimalHinge([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], 0.25, intercept=None)
    >>> with qpsvm.register_backend("boxed", boxed):
    ...     result = qpsvm.solve(problem, backend="boxed", ftol=1e-12)
    >>> print(result.status, result.backend, result.gap < 1e-6)
    optimal boxed True
    """
    made = partial(admitted, checked_name(name), solver, sparse, _there)
    return Registered(OUTSIDE.add(name, made, lambda: ("auto", *names()), auto))


def unregister_backend(name: str) -> None:
    """Take a registered backend away. What is being solved by it goes on.

    Parameters
    ----------
    name : str
        As it was registered.

    Raises
    ------
    UnknownOptionError
        Nothing was registered under that name; the nearest one is named.
    ParameterError
        It is a backend of this library.

    See Also
    --------
    qpsvm.register_backend : What makes it one.

    Examples
    --------
    >>> import qpsvm
    >>> _ = qpsvm.register_backend("none", lambda P, q, G, h, A, b, lb, ub: 0 * q)
    >>> qpsvm.unregister_backend("none")
    >>> qpsvm.unregister_backend("none")
    Traceback (most recent call last):
        ...
    qpsvm.errors.UnknownOptionError: no backend is registered as 'none'...
    """
    if name in REGISTRY:
        raise ParameterError(f"{name!r} is part of this library and stays; what was registered can be taken away")
    OUTSIDE.remove(name)


__all__ = ["REGISTRY", "Backend", "Compiled", "Registered", "everyone", "get", "names"]
