"""Look up backends by name, and register external ones (`get`, `names`, `register_backend`).

The backends of this library are listed in `REGISTRY`. Others are external: registered in this process by
`register_backend`, or provided by an installed package as an entry point of the group "qpsvm.backends", which is loaded
when the backend is requested by name. A solver's package is imported when it is first used, so listing the backends is
cheap.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any

from qpsvm.backends.base import Backend
from qpsvm.backends.foreign_errors import ForeignCode
from qpsvm.base import errors
from qpsvm.base.arrays.formatting import format_value

if TYPE_CHECKING:
    import importlib.metadata

#: One line per backend: name → module and class.
REGISTRY: dict[str, tuple[str, str]] = {
    "cvxopt": ("qpsvm.backends.external.cvxopt_", "CvxoptBackend"),
    "osqp": ("qpsvm.backends.external.osqp_", "OsqpBackend"),
    "cvxpy": ("qpsvm.backends.external.cvxpy_", "CvxpyBackend"),
    "clarabel": ("qpsvm.backends.external.clarabel_", "ClarabelBackend"),
    "augmented_lagrangian": ("qpsvm.backends.own.augmented_lagrangian_", "AugmentedLagrangianBackend"),
    "kernel_newton": ("qpsvm.backends.own.kernel_newton_", "KernelNewtonBackend"),
    "sequential_dual": ("qpsvm.backends.own.sequential_dual_", "SequentialDualBackend"),
    "libsvm": ("qpsvm.backends.external.libsvm_", "LibsvmBackend"),
    "liblinear": ("qpsvm.backends.external.liblinear_", "LiblinearBackend"),
    "interior_point": ("qpsvm.backends.own.interior_point_", "InteriorPointBackend"),
    "dual_ascent": ("qpsvm.backends.own.dual_ascent_", "DualAscentBackend"),
    "subgradient": ("qpsvm.backends.own.subgradient_", "SubgradientBackend"),
    "slsqp": ("qpsvm.backends.own.slsqp_", "SlsqpBackend"),
}
#: External backends of this process by name. The dictionary is replaced as a whole, under the lock, so that readers
#: need none.
EXTERNAL_BACKENDS: dict[str, Backend] = {}
#: Names of the external backends that "auto" may choose.
EXTERNAL_FOR_AUTO: set[str] = set()
LOCK = RLock()
#: The group of entry points; and the pattern of valid names, which are easy to type and to quote in a message.
ENTRY_POINT_GROUP, NAME_PATTERN = "qpsvm.backends", re.compile(r"[A-Za-z_][\w.-]*")


def get(name: str) -> Backend:
    """Return the backend with a name.

    Parameters
    ----------
    name : str
        One of `names()`, or "qpsolvers:" followed by the name of a solver that the package qpsolvers supports.

    Returns
    -------
    Backend
        The same object each time; its package need not be installed.

    Raises
    ------
    UnknownOptionError
        There is no such backend; the message names the nearest.
    UnsupportedError
        A package provides it, but it cannot be loaded.

    See Also
    --------
    qpsvm.register_backend : Register a solver of your own.

    Examples
    --------
    >>> import qpsvm
    >>> backend = qpsvm.backends.get("cvxopt")
    >>> backend.name, backend.find_preferred_form(linear=True), backend.abilities.supports("time_limit")
    ('cvxopt', 'dual', False)
    >>> qpsvm.backends.get("cvxopr")
    Traceback (most recent call last):
        ...
    qpsvm.UnknownOptionError: unknown backend 'cvxopr'; did you mean 'cvxopt'? known: ...
    """
    if isinstance(name, str) and name == "auto":
        raise errors.UnknownOptionError(
            f"'auto' chooses a backend for a problem, in solve(problem); here one has to be named: {', '.join(names())}"
        )
    if isinstance(name, str) and name in REGISTRY:
        return _instantiate(*REGISTRY[name])
    if isinstance(name, str) and name in EXTERNAL_BACKENDS:
        return EXTERNAL_BACKENDS[name]
    if isinstance(name, str) and name in find_entry_points():
        return _load_entry_point(name)
    if isinstance(name, str) and name.startswith("qpsolvers:"):
        from qpsvm.backends.external.qpsolvers_ import get_qpsolvers_backend

        return get_qpsolvers_backend(name, _iter_loaded_backends)
    raise errors.UnknownOptionError(
        f"unknown backend {format_value(name)}; {errors.describe_nearest(name, [*names(), 'auto'])}"
    )


@cache
def _instantiate(module: str, kind: str) -> Backend:
    backend: Backend = getattr(importlib.import_module(module), kind)(_iter_loaded_backends)
    return backend


def _iter_loaded_backends() -> Iterator[Backend]:
    """Yield every backend except those of entry points that have not been loaded."""
    return (get(name) for name in (*REGISTRY, *EXTERNAL_BACKENDS))


def names() -> tuple[str, ...]:
    """Return the values of `backend=` besides "auto": the names of all backends, installed or not.

    Returns
    -------
    tuple of str
        First those of `REGISTRY`, then registered ones, then those that packages provide.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.backends.names()[:3]
    ('cvxopt', 'osqp', 'cvxpy')
    """
    return tuple(dict.fromkeys((*REGISTRY, *EXTERNAL_BACKENDS, *find_entry_points())))


def iter_backends() -> Iterator[Backend]:
    """Yield every backend, installed or not.

    Returns
    -------
    iterator of Backend
        In the order of `names()`.

    Examples
    --------
    >>> import qpsvm
    >>> [backend.name for backend in qpsvm.backends.iter_backends() if backend.abilities.package is None]
    ['augmented_lagrangian', 'kernel_newton', 'sequential_dual', 'interior_point', 'dual_ascent', 'subgradient']
    """
    return (get(name) for name in names())


@cache
def find_entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry points of installed packages by name; cached, because the look-up takes milliseconds."""
    import importlib.metadata  # imported late, because it takes 20 ms

    return {point.name: point for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}


def _load_entry_point(name: str) -> Backend:
    """Load the backend of an entry point and register it."""
    point = find_entry_points()[name]
    with LOCK:
        if name not in EXTERNAL_BACKENDS:
            try:
                _register(_build_backend(_check_name(name), point.load(), sparse=False))
            except (ImportError, AttributeError, errors.QPSVMError) as error:
                package = point.dist.name if point.dist else point.value
                raise errors.UnsupportedError(
                    f"the package {package} offers a backend {name!r} that cannot be used: {error}"
                ) from error
        return EXTERNAL_BACKENDS[name]


def _register(backend: Backend) -> None:
    global EXTERNAL_BACKENDS
    EXTERNAL_BACKENDS = {**EXTERNAL_BACKENDS, backend.name: backend}


def _check_name(name: Any) -> str:
    """Check the name of a backend. Raises ParameterTypeError, ParameterError."""
    if not isinstance(name, str):
        raise errors.ParameterTypeError(f"the name of a backend must be text, got {format_value(name)}")
    if not NAME_PATTERN.fullmatch(name):
        raise errors.ParameterError(
            f"{format_value(name)} is not a name for a backend: "
            "a letter, then letters, digits, '_', '-' or '.', without blanks"
        )
    return name


def _build_backend(name: str, solver: Any, sparse: bool) -> Backend:
    """Build the backend of a function or a subclass of `Backend`, or take an instance; give it the name.

    Raises ParameterTypeError, SolverError.
    """
    from qpsvm.backends.external.function_ import FunctionBackend

    backend: Backend = solver
    if isinstance(solver, type) and issubclass(solver, Backend):
        with ForeignCode(solver.__name__, "while it was made"):
            backend = solver(_iter_loaded_backends)
    elif isinstance(solver, type) or not (callable(solver) or isinstance(solver, Backend)):
        raise errors.ParameterTypeError(
            f"a solver is a function of (P, q, G, h, A, b, lb, ub) or a qpsvm.backends.Backend, got "
            f"{format_value(solver)}"
        )
    elif not isinstance(solver, Backend):
        backend = FunctionBackend(solver, sparse, _iter_loaded_backends)
    elif solver.is_external or type(solver).__module__.startswith("qpsvm."):
        raise errors.ParameterTypeError(f"{solver!r} is registered already; its name is {solver.name!r}")
    if sparse and not isinstance(backend, FunctionBackend):
        raise errors.ParameterTypeError("sparse=True is for functions: a Backend makes its own matrices in compile")
    backend.name = name
    backend.is_external = True
    backend._all_backends = _iter_loaded_backends
    return backend


class Registered:
    """The return value of `register_backend`: as a context manager, it removes the backend at the end of the block.

    Parameters
    ----------
    backend : Backend
        The backend that was registered.

    Attributes
    ----------
    backend : Backend
        As given.

    See Also
    --------
    qpsvm.register_backend : Register a solver, and return this object.

    Examples
    --------
    >>> import qpsvm
    >>> with qpsvm.register_backend("none", lambda P, q, G, h, A, b, lb, ub: 0 * q) as backend:
    ...     print(backend.name, "none" in qpsvm.backends.names())
    none True
    >>> "none" in qpsvm.backends.names()
    False
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def __repr__(self) -> str:
        return f"<registered: {self.backend.name}>"

    def __enter__(self) -> Backend:
        return self.backend

    def __exit__(self, *raised: object) -> None:
        _remove(self.backend.name, expected=self.backend)


def register_backend(
    name: str, solver: Callable[..., Any] | Backend | type[Backend], *, sparse: bool = False, auto: bool = False
) -> Registered:
    """Register a solver of your own as a backend, in this process.

    Parameters
    ----------
    name : str
        The value of `backend=` that selects it.
    solver : callable, or Backend or a subclass of it
        A function of (P, q, G, h, A, b, lb, ub) that returns x, or x, y and z; see the notes.
    sparse : bool
        Pass P, G and A to a function as CSC matrices instead of arrays.
    auto : bool
        Whether `backend="auto"` may use it, after the methods of this library and CVXOPT.

    Returns
    -------
    Registered
        In a `with` statement, the backend is removed at the end of the block.

    Raises
    ------
    ParameterError, ParameterTypeError
        The name is taken or not valid; or the solver has the wrong type or signature.

    See Also
    --------
    unregister_backend : Remove it.
    backends.Backend : The interface for solvers that need more control.

    Notes
    -----
    The function receives copies of the parts of: minimise ½xᵀPx + qᵀx subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. G and
    h, and A and b, are None if there are no such rows; bounds may be infinite. It returns x (n,), or the tuple
    (x, y, z) with y (p,) for the rows of A and z (m,) ≥ 0 for those of G, in the signs of (QP.1); x is None if it found
    no point. The multipliers z of a primal are α. Most duals have no rows Gx ≤ h, so x alone suffices. Of the keywords
    `tol`, `max_iter`, `time_limit`, `verbose` and `start` the function receives those in its signature; its other
    keywords are its settings.

    The solver is not trusted: its x is certified like any other. Its exceptions are raised as a `SolverError`, as is a
    solution of the wrong shape. A point that is not finite counts as no point. A new process does not know the solver;
    a package can provide one in every process, by an entry point of the group "qpsvm.backends".

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
    with LOCK:
        if _check_name(name) in (taken := ("auto", *names())):
            raise errors.ParameterError(f"the name {name!r} is taken; the backends are {', '.join(taken)}")
        backend = _build_backend(name, solver, sparse)
        _register(backend)
        if auto:
            EXTERNAL_FOR_AUTO.add(name)
    return Registered(backend)


def unregister_backend(name: str) -> None:
    """Remove a registered backend. Solves that are running continue.

    Parameters
    ----------
    name : str
        The name under which it was registered.

    Raises
    ------
    UnknownOptionError
        Nothing is registered under this name; the message names the nearest.

    See Also
    --------
    qpsvm.register_backend : Register a solver of your own.

    Examples
    --------
    >>> import qpsvm
    >>> _ = qpsvm.register_backend("none", lambda P, q, G, h, A, b, lb, ub: 0 * q)
    >>> qpsvm.unregister_backend("none")
    >>> qpsvm.unregister_backend("none")
    Traceback (most recent call last):
        ...
    qpsvm.UnknownOptionError: no backend is registered as 'none'...
    """
    _remove(name)


def _remove(name: str, expected: Backend | None = None) -> None:
    """Remove a backend; if `expected` is given, only if the name still belongs to it. Raises UnknownOptionError."""
    global EXTERNAL_BACKENDS
    with LOCK:
        if expected is not None and EXTERNAL_BACKENDS.get(name) is not expected:
            return
        if name not in EXTERNAL_BACKENDS:
            if EXTERNAL_BACKENDS:
                nearest = errors.describe_nearest(name, EXTERNAL_BACKENDS)
            else:
                nearest = "none is"
            built_in_note = "; those of this library stay" if name in names() else ""
            raise errors.UnknownOptionError(
                f"no backend is registered as {format_value(name)}{built_in_note}; {nearest}"
            )
        EXTERNAL_BACKENDS = {each: backend for each, backend in EXTERNAL_BACKENDS.items() if each != name}
        EXTERNAL_FOR_AUTO.discard(name)
