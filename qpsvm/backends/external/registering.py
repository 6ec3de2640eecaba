"""The backends that are no part of this library: registered in this process, or offered by an installed package.

A package offers a backend by an entry point of the group "qpsvm.backends". Nothing of it is loaded before somebody asks
for the backend by its name. What a solver has to have, to be a backend, is looked at once, when it is registered. It
may be a function, x, y, z = f(P, q, G, h, A, b, lb, ub), in whatever language it goes on from there.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from threading import RLock
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL, Abilities, Form, Wish
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import NOT_FINITE, Compiled, Limits, SolverData, as_vector, boundary, broken, without_point
from qpsvm.base.arrays.checks import all_finite
from qpsvm.base.arrays.types import Matrix, as_dense
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import (
    ParameterError,
    ParameterTypeError,
    QPSVMError,
    UnknownOptionError,
    UnsupportedError,
    nearest,
)
from qpsvm.program.costs import Cost, Size
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.space.operators import Diagonal, Operator

#: The group of entry points.
GROUP = "qpsvm.backends"


class Outside:
    """Backends from outside, by name. The tables are replaced as a whole, under a lock, so that who reads needs none.

    for_auto: Those that "auto" may take.
    names, peers: All names that there are, and all backends, those of this library among them.
    """

    def __init__(self) -> None:
        self.there: dict[str, Backend] = {}
        self.for_auto: frozenset[str] = frozenset()
        self.names: Callable[[], tuple[str, ...]] = tuple
        self.peers: Callable[[], Iterable[Backend]] = tuple
        self._lock = RLock()

    def join(self, names: Callable[[], tuple[str, ...]], peers: Callable[[], Iterable[Backend]]) -> None:
        """Stand beside the backends of this library, which know of this."""
        self.names, self.peers = names, peers

    def add(self, name: str, made: Callable[[], Backend], auto: bool) -> Backend:
        """Make a backend and keep it.

        Raises ParameterError.
        """
        with self._lock:
            taken = ("auto", *self.names())
            if name in taken:
                raise ParameterError(f"the name {name!r} is taken; the backends are {', '.join(taken)}")
            backend = made()
            self._keep(name, backend, auto)
        return backend

    def remove(self, name: str, only: Backend | None = None) -> None:
        """Take one away; or, where one is given, only if it is that one.

        Raises UnknownOptionError.
        """
        with self._lock:
            if only is not None and self.there.get(name) is not only:
                return
            if name not in self.there:
                known = nearest(name, self.there) if self.there else "none is"
                ours = "; those of this library stay" if name in self.names() else ""
                raise UnknownOptionError(f"no backend is registered as {shown(name)}{ours}; {known}")
            self.there = {each: backend for each, backend in self.there.items() if each != name}
            self.for_auto = self.for_auto - {name}

    def load(self, name: str) -> Backend:
        """The backend that a package offers; from then on it is there.

        Raises UnsupportedError.
        """
        with self._lock:
            if name not in self.there:
                self._keep(name, _loaded(name, self.peers), auto=False)
            return self.there[name]

    def _keep(self, name: str, backend: Backend, auto: bool) -> None:
        self.there = {**self.there, name: backend}
        self.for_auto = self.for_auto | {name} if auto else self.for_auto


#: Those of this process.
OUTSIDE = Outside()


class Registered:
    """What `register_backend` returns: as a block, it takes the backend away at its end.

    Parameters
    ----------
    backend : Backend
        What was registered.

    Attributes
    ----------
    backend : Backend
        As given.

    See Also
    --------
    qpsvm.register_backend : What makes one.

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
        OUTSIDE.remove(self.backend.name, only=self.backend)


@cache
def offered() -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages offer, by name; looked up once, because that takes milliseconds."""
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def _loaded(name: str, peers: Callable[[], Iterable[Backend]]) -> Backend:
    point = offered()[name]
    try:
        return admitted(checked_name(name), point.load(), False, peers)
    except (ImportError, AttributeError, QPSVMError) as error:
        package = point.dist.name if point.dist else point.value
        raise UnsupportedError(
            f"the package {package} offers a backend {name!r} that cannot be used: {error}"
        ) from error


#: What such a function is called with, in this order.
ARGUMENTS = ("P", "q", "G", "h", "A", "b", "lb", "ub")
#: Keywords that it is called with where it names them.
SHARED = ("tol", "max_iter", "time_limit", "verbose", "start")


class FunctionBackend(Backend):
    """A function of (P, q, G, h, A, b, lb, ub), as `register_backend` describes it.

    sparse: Whether P, G and A are handed over as CSC matrices.
    peers: The backends that there are.
    """

    def __init__(self, function: Callable[..., Any], sparse: bool, peers: Callable[[], Iterable[Backend]]) -> None:
        super().__init__(peers)
        self.function = function
        self.sparse = sparse
        named = keywords_of(function)
        limits: tuple[Wish, ...] = ("max_iter", "time_limit")
        self.passed = frozenset(named) & frozenset(SHARED)
        self.settings = frozenset(named) - frozenset(SHARED)
        self.abilities = Abilities(
            needs=f"any QP{'' if sparse else ', dense'}; registered from outside", dual=ALL, primal=ALL, any_qp=True,
            keeps=frozenset(limit for limit in limits if limit in named), starts="start" in named,
            linear_form="primal" if sparse else "dual",
        )  # fmt: skip

    def options(self) -> frozenset[str]:
        """Its keywords but those that all backends share."""
        return self.settings

    def estimate(self, size: Size, form: Form) -> Cost:
        """That of CVXOPT, for want of a better: a factorisation of the whole matrix an iteration."""
        from qpsvm.backends.external.cvxopt_ import PRICES

        return PRICES.cost(size, form) if self.sparse else PRICES.matrices(size, form)

    def compile(self, qp: QP) -> FunctionCompiled:
        """P, q, G, h, A, b, lb, ub."""
        lb, ub = qp.bounds
        P = _sparse(qp.P) if self.sparse else qp.P.dense()
        data = SolverData(P=P, q=qp.q, G=self._rows(qp.G), h=qp.h, A=self._rows(qp.A), b=qp.b, lb=lb, ub=ub)
        return FunctionCompiled(self, qp, data)

    def _rows(self, matrix: Matrix | None) -> Matrix | None:
        if matrix is None:
            return None
        return sp.csc_matrix(matrix) if self.sparse else as_dense(matrix)


class FunctionCompiled(Compiled):
    """P, q, G, h, A, b, lb, ub: the arguments, in their order."""

    backend: FunctionBackend

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        shared = {word: getattr(limits, word) for word in self.backend.passed}
        given = {word: value for word, value in shared.items() if value is not None}
        own = (None if part is None else part.copy() for part in self.data)  # P may be what the answer is judged by
        return self._read(self.backend.function(*own, **given, **options))

    def _read(self, answer: Any) -> QPSolution:
        name, qp = self.backend.name, self.qp
        rows, equalities = (0 if side is None else len(side) for side in (qp.h, qp.b))
        solver = Solver(name, "?", "returned a point")
        x, y, z = answer if isinstance(answer, tuple) and len(answer) == 3 else (answer, None, None)
        if x is None:
            return without_point(qp, solver._replace(status="returned no point"))
        if isinstance(x, (tuple, Mapping, str)):
            raise broken(name, f"it has to return x, or (x, y, z), and returned {type(x).__name__}")
        if z is None and rows:
            raise broken(
                name, f"it returned no z, and this QP has {rows} rows Gx <= h, whose multipliers are wanted: "
                "return (x, y, z)",
            )  # fmt: skip
        found: dict[str, Any] = {
            "x": as_vector(name, x, "x", qp.n),
            "y": np.zeros(equalities) if y is None else as_vector(name, y, "y", equalities),
            "z": np.zeros(0) if z is None else as_vector(name, z, "z", rows),
        }
        if not all(map(all_finite, found.values())):
            return without_point(qp, solver._replace(status=NOT_FINITE))
        return QPSolution(qp, Status.OPTIMAL, solver, **found)


def keywords_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters behind the eight, all of which have to have defaults.

    Raises ParameterTypeError.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without a signature: the first call will show
        return ()
    try:
        bound = signature.bind(*ARGUMENTS)
    except TypeError as error:
        raise ParameterTypeError(
            f"a solver is called as f({', '.join(ARGUMENTS)}), and {getattr(function, '__name__', 'this one')}"
            f"{signature} cannot be: {error}"
        ) from None
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in signature.parameters.values() if p.kind in kinds and p.name not in bound.arguments)


def _sparse(P: Operator) -> Matrix:
    return sp.csc_matrix(sp.diags_array(P.d)) if isinstance(P, Diagonal) else sp.csc_matrix(P.dense())


#: What a name may be: something that a user types, and a message quotes.
NAME = re.compile(r"[A-Za-z_][\w.-]*")
#: The machine for which a backend is asked its estimate.
SMALL = Size(rows=10, features=2, entries=20, sparse=False, linear=True)


def checked_name(name: Any) -> str:
    """The name of a backend.

    Raises ParameterTypeError, ParameterError.
    """
    if not isinstance(name, str):
        raise ParameterTypeError(f"the name of a backend must be text, got {shown(name)}")
    if not NAME.fullmatch(name):
        raise ParameterError(
            f"{shown(name)} is no name for a backend: a letter, then letters, digits, '_', '-' or '.', without blanks"
        )
    return name


def admitted(name: str, solver: Any, sparse: bool, peers: Callable[[], Iterable[Backend]]) -> Backend:
    """The backend of a function, of a subclass of `Backend`, or of one that is made already.

    Raises ParameterTypeError, SolverError.
    """
    if isinstance(solver, type) and issubclass(solver, Backend):
        backend = _made(solver, peers)
    elif isinstance(solver, Backend):
        backend = solver
        if backend.outside or type(backend).__module__.startswith("qpsvm."):
            raise ParameterTypeError(f"{backend!r} is registered already; its name is {backend.name!r}")
    elif isinstance(solver, type) or not callable(solver):
        raise ParameterTypeError(
            f"a solver is a function of (P, q, G, h, A, b, lb, ub) or a qpsvm.backends.Backend, got {shown(solver)}"
        )
    else:
        backend = FunctionBackend(solver, sparse, peers)
    if sparse and not isinstance(backend, FunctionBackend):
        raise ParameterTypeError("sparse=True is for functions: a Backend makes its own matrices in compile")
    backend.name, backend.outside, backend._peers = name, True, peers
    _check(backend)
    return backend


def _made(kind: type[Backend], peers: Callable[[], Iterable[Backend]]) -> Backend:
    """An object of the class."""
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if inspect.isabstract(kind):
        raise ParameterTypeError(f"{kind.__name__} lacks what a backend has to have: {', '.join(lacking)}")
    with boundary(kind.__name__, "while it was made"):
        return kind(peers)


def _check(backend: Backend) -> None:
    """Ask for its abilities, options and estimates once, and look at what comes back."""
    kind = type(backend).__name__
    if not isinstance(getattr(backend, "abilities", None), Abilities):
        raise ParameterTypeError(f"{kind} lacks what a backend has to have: abilities, a qpsvm.backends.Abilities")
    if not backend.abilities.forms:
        raise ParameterTypeError(f"{kind} says in its abilities that it takes neither duals nor primals")
    with boundary(backend.name, "while it was registered"):
        options = backend.options()
        if not isinstance(options, frozenset) or not all(isinstance(option, str) for option in options):
            raise ParameterTypeError(f"{kind}.options() has to return a frozenset of names, not {shown(options)}")
        form: Form
        for form in get_args(Form):
            cost = backend.estimate(SMALL, form)
            if not isinstance(cost, Cost):
                raise ParameterTypeError(f"{kind}.estimate(size, form) has to return a qpsvm.program.costs.Cost")


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
    found no point. The multipliers z of a primal are α. Most duals have no rows Gx ≤ h: there x alone is enough. Of the
    keywords `tol`, `max_iter`, `time_limit`, `verbose` and `start` it is given those that it names; others are its
    settings.

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
    made = partial(admitted, checked_name(name), solver, sparse, OUTSIDE.peers)
    return Registered(OUTSIDE.add(name, made, auto))


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
    qpsvm.UnknownOptionError: no backend is registered as 'none'...
    """
    OUTSIDE.remove(name)
