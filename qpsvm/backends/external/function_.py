"""Use a function x, y, z = f(P, q, G, h, A, b, lb, ub) as a backend (`FunctionBackend`).

Only the types and shapes of its return value are checked; its accuracy is the certificate's concern.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL_MACHINES, Abilities, RequestedOption
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled, build_failed_solution
from qpsvm.backends.limits import Limits
from qpsvm.backends.solver_data import SolverData
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import ParameterTypeError, SolverError
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.space.operators import Diagonal, Operator

#: The positional arguments of such a function.
ARGUMENTS = ("P", "q", "G", "h", "A", "b", "lb", "ub")
#: Limits and start, which it receives by keyword if they are in its signature. Other keywords are its own options.
COMMON_KEYWORDS = ("tol", "max_iter", "time_limit", "verbose", "start")


class FunctionBackend(Backend):
    """A function of (P, q, G, h, A, b, lb, ub), as `register_backend` describes it.

    sparse: Whether it receives P, G and A as CSC matrices.
    all_backends: Returns all backends, for messages.
    """

    def __init__(
        self, function: Callable[..., Any], sparse: bool, all_backends: Callable[[], Iterable[Backend]]
    ) -> None:
        super().__init__(all_backends)
        self.function = function
        self.sparse = sparse
        keywords = frozenset(_list_keywords(function))
        limits: tuple[RequestedOption, ...] = ("max_iter", "time_limit")
        self.common_keywords = keywords.intersection(COMMON_KEYWORDS)
        self.own_options = keywords.difference(COMMON_KEYWORDS)
        self.memory = self.memory if sparse else self.memory._replace(copies=math.inf)
        self.abilities = Abilities(
            summary=f"any QP{'' if sparse else ', dense'}; registered from outside",
            dual=ALL_MACHINES,
            primal=ALL_MACHINES,
            accepts_any_qp=True,
            enforced_limits=frozenset(limit for limit in limits if limit in keywords),
            supports_warm_start="start" in keywords,
            linear_form="primal" if sparse else "dual",
        )

    def options(self) -> frozenset[str]:
        """Return its keywords except those that all backends share."""
        return self.own_options

    def compile(self, qp: QP) -> FunctionCompiled:
        """Build the arguments P, q, G, h, A, b, lb, ub."""
        lb, ub = qp.bounds
        P = _to_sparse(qp.P) if self.sparse else qp.P.dense()
        data = SolverData(
            P=P, q=qp.q, G=self._convert_rows(qp.G), h=qp.h, A=self._convert_rows(qp.A), b=qp.b, lb=lb, ub=ub
        )
        return FunctionCompiled(self, qp, data)

    def _convert_rows(self, matrix: Matrix | None) -> Matrix | None:
        if matrix is None:
            return None
        return sp.csc_matrix(matrix) if self.sparse else as_dense(matrix)


class FunctionCompiled(Compiled):
    """P, q, G, h, A, b, lb, ub: the arguments, in their order."""

    backend: FunctionBackend

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        keywords = {word: getattr(limits, word) for word in self.backend.common_keywords}
        given = {word: value for word, value in keywords.items() if value is not None}
        # copies, because the certificate may use the same P, which the function must not change
        arguments = (None if argument is None else argument.copy() for argument in self.data)
        return self._read_solution(self.backend.function(*arguments, **given, **options))

    def _read_solution(self, returned: Any) -> QPSolution:
        """Check what the function returned, and build the solution. Raises SolverError."""
        name = self.backend.name
        qp = self.qp
        n_inequalities, n_equalities = (0 if side is None else len(side) for side in (qp.h, qp.b))
        solver = Solver(name, self.backend.version() or "?", "returned a point")
        x, y, z = returned if isinstance(returned, tuple) and len(returned) == 3 else (returned, None, None)
        if x is None:
            return build_failed_solution(qp, solver._replace(status="returned no point"))
        if isinstance(x, (tuple, Mapping, str)):
            raise _build_protocol_error(name, f"it has to return x, or (x, y, z), and returned {type(x).__name__}")
        if z is None and n_inequalities:
            why = f"it returned no z, and this QP has {n_inequalities} rows Gx <= h, whose multipliers are wanted: "
            raise _build_protocol_error(name, f"{why}return (x, y, z)")
        vectors: dict[str, Any] = {
            "x": _read_vector(name, x, "x", qp.n),
            "y": np.zeros(n_equalities) if y is None else _read_vector(name, y, "y", n_equalities),
            "z": np.zeros(0) if z is None else _read_vector(name, z, "z", n_inequalities),
        }
        return QPSolution(qp, Status.OPTIMAL, solver, **vectors)


def _list_keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters after `ARGUMENTS`, which must all have defaults.

    Raises ParameterTypeError.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function in C without a signature: errors show in the first call
        return ()
    try:
        bound = signature.bind(*ARGUMENTS)  # any eight values: only their number is checked
    except TypeError as error:
        raise ParameterTypeError(
            f"a solver is called as f({', '.join(ARGUMENTS)}), and {getattr(function, '__name__', 'this one')}"
            f"{signature} cannot be: {error}"
        ) from None
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in signature.parameters.values() if p.kind in kinds and p.name not in bound.arguments)


def _to_sparse(P: Operator) -> Matrix:
    if isinstance(P, Diagonal):
        return sp.csc_matrix(sp.diags_array(P.d))
    return sp.csc_matrix(P.dense())


def _read_vector(name: str, values: Any, part: str, size: int) -> FloatArray:
    """Copy the `part` x, y or z of a solution to a vector (size,), also from a row or column. Raises SolverError."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths, or tensors on another device
        raise _build_protocol_error(name, f"its {part} is no array of numbers, but {format_value(values)}") from error
    if array.dtype.kind not in "fiu":
        raise _build_protocol_error(name, f"its {part} holds no numbers, but {format_value(values)}")
    if array.size != size or (size and max(array.shape, default=1) != size):
        raise _build_protocol_error(name, f"its {part} has shape {array.shape} where ({size},) is needed")
    return np.array(array, dtype=np.float64).reshape(size)


def _build_protocol_error(name: str, why: str) -> SolverError:
    return SolverError(f"the registered backend {name!r} does not keep the protocol of qpsvm.register_backend: {why}")
