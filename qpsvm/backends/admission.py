"""What a solver from outside has to have, to be a backend: looked at once, when it is registered."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, get_args

from qpsvm.arrays.words import shown
from qpsvm.backends.abilities import Abilities, Form
from qpsvm.backends.base import Backend
from qpsvm.backends.boundary import Boundary
from qpsvm.backends.function import FunctionBackend
from qpsvm.costs import Cost, Size
from qpsvm.errors import ParameterError, ParameterTypeError

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
    with Boundary(kind.__name__, "while it was made"):
        return kind(peers)


def _check(backend: Backend) -> None:
    """Ask for its abilities, options and estimates once, and look at what comes back."""
    kind = type(backend).__name__
    if not isinstance(getattr(backend, "abilities", None), Abilities):
        raise ParameterTypeError(f"{kind} lacks what a backend has to have: abilities, a qpsvm.backends.Abilities")
    if not backend.abilities.forms:
        raise ParameterTypeError(f"{kind} says in its abilities that it takes neither duals nor primals")
    with Boundary(backend.name, "while it was registered"):
        options = backend.options()
        if not isinstance(options, frozenset) or not all(isinstance(option, str) for option in options):
            raise ParameterTypeError(f"{kind}.options() has to return a frozenset of names, not {shown(options)}")
        form: Form
        for form in get_args(Form):
            cost = backend.estimate(SMALL, form)
            if not isinstance(cost, Cost):
                raise ParameterTypeError(f"{kind}.estimate(size, form) has to return a qpsvm.costs.Cost")
