"""What a solver from outside has to have, to be a backend: looked at once, when it is registered.

A function as a backend: x, y, z = f(P, q, G, h, A, b, lb, ub), in whatever language it goes on from there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL, Abilities, Form, Wish
from qpsvm.backends.base import Backend, Compiled
from qpsvm.backends.contract import Limits, SolverData
from qpsvm.backends.external.boundary import NOT_FINITE, Boundary, as_vector, broken, without_point
from qpsvm.backends.external.cvxopt_ import PRICES
from qpsvm.base.arrays.checks import all_finite
from qpsvm.base.arrays.types import Matrix, as_dense
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import ParameterError, ParameterTypeError
from qpsvm.program.costs import Cost, Size
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.space.operators import Diagonal, Operator

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
                raise ParameterTypeError(f"{kind}.estimate(size, form) has to return a qpsvm.program.costs.Cost")
