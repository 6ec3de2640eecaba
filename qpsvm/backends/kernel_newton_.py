"""Kernel C-SVMs by LIBSVM's loop where it is good, and Newton steps where they are: on parts of the Gram matrix.

A hard margin is the C-SVM with a C that no α reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.backends.base import Backend, Compiled, Limits, SolverData, built_in_version, stopped
from qpsvm.backends.recognise import RecognisedCSVM, RecognisedNuSVM, recognise
from qpsvm.errors import UnsupportedError
from qpsvm.kernels.functions import Linear, Precomputed
from qpsvm.kernels.gram import KernelGram
from qpsvm.kernels.products import inner
from qpsvm.operators import Dense, LowRank
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution, Solver

#: The relative gap aimed at where no tolerance is given.
DEFAULT_TOLERANCE = 1e-6
#: A Gram matrix with less on its diagonal is zero.
LEAST_CURVATURE = 1e-280
#: Rows of a linear machine up to which its Gram matrix is made.
LARGEST_GRAM = 8000
Recognised = TypeVar("Recognised", RecognisedCSVM, RecognisedNuSVM)


class KernelNewtonBackend(Backend):
    """`solvers.kernel.portfolio.solve_kernel`."""

    name = "kernel_newton"
    package = "qpsvm"
    module = "qpsvm.solvers.kernel.portfolio"
    starts = True
    polls = True
    takes = "dual of a C-SVM, hard margin or primal hinge problem with free intercept, kernel or wide linear; fast"

    def options(self) -> frozenset[str]:
        """The engine: auto, gram, band, dense or libsvm."""
        return frozenset({"engine"})

    def refuse(self, form: str) -> str | None:
        """The kernel and the samples are read off the dual."""
        if form == "primal":
            return "kernel_newton reads kernel and samples off the dual; form='dual', or cvxopt"
        return None

    def compile(self, qp: QP) -> KernelNewtonCompiled:
        """Kernel, X, y, C; or the Gram matrix where the QP has nothing else."""
        problem, kernel, X, gram = kernel_csvm(qp, self.name, hard=True)
        data = SolverData(kernel=kernel, X=X, y=problem.y, C=problem.C, gram=gram)
        return KernelNewtonCompiled(self, qp, data, problem)


def kernel_csvm(
    qp: QP, name: str, hard: bool = False
) -> tuple[RecognisedCSVM, Any, Any, FloatArray | None]:
    """The C-SVM of a dual with a free intercept: its kernel and samples, and its Gram matrix where that exists.

    If `hard`, C may be infinite.

    Raises
    ------
    UnsupportedError
        Another problem, or a P that is neither a kernel's nor dense.
    """
    problem, kernel, X, gram = kernel_machine(qp, name, partial(recognise, hard=hard))
    if not problem.row:
        raise UnsupportedError(f"{name} needs a free intercept, the row yᵀα = 0; use interior_point or cvxopt")
    return problem, kernel, X, gram


def kernel_machine(
    qp: QP, name: str, read: Callable[[QP, FloatArray | None, str], Recognised]
) -> tuple[Recognised, Any, Any, FloatArray | None]:
    """What `read` recognises in a dual over a kernel, with the kernel, the samples and the Gram matrix if it exists.

    Raises
    ------
    UnsupportedError
        Another problem, or a P that is neither a kernel's nor dense.
    """
    P = qp.P
    if isinstance(P, KernelGram) and P.scale is not None and not P.offset:
        return read(qp, P.scale, name), P.kernel, P.X, P.kept
    if isinstance(P, LowRank) and P.scale is not None and P.d is None and P.shape[0] <= LARGEST_GRAM:
        return read(qp, P.scale, name), Linear(), P.Z, None
    if isinstance(P, Dense):
        problem = read(qp, None, name)
        gram = P.matrix * problem.y * problem.y[:, None]
        return problem, Precomputed(), gram, gram
    raise UnsupportedError(
        f"{name} needs a dual over a kernel's Gram matrix, or over at most {LARGEST_GRAM} rows of a linear one; "
        "use augmented_lagrangian or cvxopt"
    )


class KernelNewtonCompiled(Compiled):
    """Kernel, X, y, C, gram of the C-SVM that the QP is the dual of."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, problem: RecognisedCSVM) -> None:
        super().__init__(backend, qp, data)
        self._problem = problem

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.kernel.hard import solve_kernel_hard
        from qpsvm.solvers.kernel.portfolio import solve_kernel

        data, problem, P = self.data, self._problem, self.qp.P
        blocks = P.blocks if isinstance(P, KernelGram) else data.gram
        if isinstance(data.kernel, Linear):
            blocks = inner(data.X, data.X)
        settings: dict[str, Any] = {
            "gram": blocks, "tol": limits.tol or DEFAULT_TOLERANCE, "max_iter": limits.max_iter,
            "time_limit": limits.time_limit, "verbose": limits.verbose,
            "start": None if limits.start is None else problem.alpha(limits.start), **options,
        }
        if np.isinf(data.C[0]):
            answer = solve_kernel_hard(data.kernel, data.X, data.y, self._curvature(), **settings)
        else:
            answer = solve_kernel(data.kernel, data.X, data.y, data.C, **settings)
        status, raw = stopped(answer.reason)
        solver = Solver(self.backend.name, built_in_version(), f"{raw} ({answer.engine})")
        if not (np.isfinite(answer.alpha).all() and np.isfinite(answer.u).all()):
            return QPSolution(self.qp, status, solver, iterations=answer.iterations)
        x, balance = problem.x(answer.alpha), problem.balance(answer.b)
        return QPSolution(self.qp, status, solver, x=x, y=balance, iterations=answer.iterations)

    def _curvature(self) -> float:
        """The mean of K_ii; 1 where that is nothing."""
        kappa = self.qp.P.mean_diagonal() / self._problem.unit**2
        return kappa if kappa > LEAST_CURVATURE else 1.0
