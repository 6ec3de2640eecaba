"""Solve duals of kernel machines by the working-set loop of LIBSVM and Newton steps (`KernelNewtonBackend`).

Both compute only parts of the Gram matrix, for a machine in the form of `interval_problem`. A hard margin is solved by
its own engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import DEFAULT_TOLERANCE, Limits
from qpsvm.backends.own.interval_problem import IntervalProblem
from qpsvm.backends.requirements import Form, LazyImport, Memory, Requirements, Size
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.stop_reasons import translate_stop_reason
from qpsvm.backends.traits import ONE_FUNCTION
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.operators import Dense, LowRank, Operator

if TYPE_CHECKING:
    from qpsvm.solvers.kernel.solve import KernelSolution

    #: The solution of an engine, α, and the multipliers by name.
    _Solution = tuple[KernelSolution, FloatArray, dict[str, float]]

#: A Gram matrix counts as zero if the mean of its diagonal is at most this.
MIN_DIAGONAL = 1e-280
#: Maximum number of rows of a linear machine, whose Gram matrix is computed.
MAX_GRAM_ROWS = 8000
#: Traits of machines without linear constraints on w, b and f.
UNCONSTRAINED = ONE_FUNCTION - {"partly curved", "one row", "other rows"}
#: Traits of those with a free intercept and at most two α per sample, which are one β in an interval.
INTERCEPT = UNCONSTRAINED - {"no rows", "penalised", "several α per sample"}
#: Traits of classifiers with margins of level 1, soft or hard, and the row yᵀα = 0.
MARGINS = INTERCEPT - {
    "level 0", "other levels", "partly bounded", "curved", "sum", "balance and total", "two-sided α",
}  # fmt: skip
#: Traits of machines with bounded intervals, any levels, and one given sum, or two as in ν-machines.
INTERVALS = INTERCEPT - {"unbounded", "partly bounded", "curved"}
#: Traits of the same machines with curvature.
CURVED = INTERCEPT - {"flat", "balance and total"}
#: Traits of machines without a free intercept, whose α are bounded, or whose losses are curved.
NO_SUM = UNCONSTRAINED - {"linear", "level 0", "partly bounded", "balance", "sum", "balance and total"}
#: Maximum number of rows of a linear machine with curvature.
MAX_LINEAR_CURVED_ROWS = 1000
#: Bytes of address space that the first use of LIBSVM's loop maps, scikit-learn included.
LIBSVM_IMPORT = 4e8


class KernelNewtonBackend(Backend):
    """`solvers.kernel.solve.solve_kernel`."""

    name = "kernel_newton"
    abilities = Abilities(
        summary="dual of a machine with a kernel, or of a linear one with a free intercept and few rows; fast",
        dual=(
            MachineSet(MARGINS - {"linear"}),
            MachineSet(MARGINS - {"kernel"}, MAX_GRAM_ROWS),
            MachineSet(INTERVALS - {"linear"}),
            MachineSet(INTERVALS - {"kernel"}, MAX_GRAM_ROWS),
            MachineSet(CURVED - {"linear"}),
            MachineSet(CURVED - {"kernel"}, MAX_LINEAR_CURVED_ROWS),
            MachineSet(NO_SUM - {"unbounded", "curved"}),
            MachineSet(NO_SUM - {"flat"}),
        ),
        missing_form_reason="it reads kernel and samples off the dual",
        supports_warm_start=True,
        handles_interrupt=True,
        options=frozenset({"engine"}),  # auto, gram or libsvm
    )
    lazy_import = LazyImport("sklearn.svm", LIBSVM_IMPORT)
    memory = Memory(dual=2.5, primal=2.5)  # of a linear machine

    def estimate_requirements(self, size: Size, form: Form) -> Requirements:
        """Return the time and memory for a linear machine's Gram matrix; none for other kernels, computed in parts."""
        needed = super().estimate_requirements(size, form)
        if size.is_linear:
            return needed
        return replace(needed, seconds=0.0, memory_bytes=0.0)

    def compile(self, qp: QP) -> KernelNewtonCompiled:
        """Read kernel, X, y and C off the QP, or only the Gram matrix if the QP does not have the kernel."""
        statement = self.read_statement(qp)
        svm = statement.svm
        kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
        data = SolverData(kernel=kernel, X=X, y=svm.sign, C=svm.upper, gram=gram)
        return KernelNewtonCompiled(self, qp, data, statement=statement)

    def can_solve_dual(self, svm: SVMDual) -> bool:
        """Return True: only `compile` needs a QP."""
        del svm
        return True

    def solve_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
        """Solve the dual by a suitable engine; a hard margin by its own engine."""
        settings: dict[str, Any] = {
            "tol": limits.tol or DEFAULT_TOLERANCE, "max_iter": limits.max_iter, "time_limit": limits.time_limit,
            "verbose": limits.verbose, **options,
        }  # fmt: skip
        solve = self._solve_hard_margin if svm.is_hard else self._solve_intervals
        solution, alpha, multipliers = solve(svm, limits.start, settings)
        status, reason_text = translate_stop_reason(solution.reason)
        solver = self.describe_solver(f"{reason_text} ({solution.engine})")
        return DualSolution(status, solver, alpha, solution.iterations or None, None, multipliers)

    def _solve_hard_margin(self, svm: SVMDual, start: FloatArray | None, settings: dict[str, Any]) -> _Solution:
        from qpsvm.solvers.kernel.hard_margin import solve_kernel_hard

        kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
        blocks = svm.gram.blocks if isinstance(svm.gram, KernelGram) else gram
        diagonal = svm.gram.mean_diagonal()
        scale = diagonal if diagonal > MIN_DIAGONAL else 1.0
        solution = solve_kernel_hard(kernel, X, svm.sign, scale, gram=blocks, start=start, **settings)
        return solution, svm.sign * solution.beta + 0.0, {"b": solution.b}

    def _solve_intervals(self, svm: SVMDual, start: FloatArray | None, settings: dict[str, Any]) -> _Solution:
        from qpsvm.solvers.kernel.solve import solve_kernel

        kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
        machine = IntervalProblem.from_dual(svm, self.name)
        start = None if start is None else machine.compute_beta(start)
        blocks = machine.build_blocks(kernel, X, gram)
        solution = solve_kernel(blocks, machine.problem, start=start, **settings)
        multipliers = machine.compute_multipliers(solution.b, solution.tube)
        return solution, machine.compute_alpha(solution.beta), multipliers


def extract_kernel_samples(gram: Operator, backend: str) -> tuple[Kernel, Matrix, FloatArray | None]:
    """Return kernel and samples of a Gram matrix, and the matrix itself, or None if it has not been computed.

    Raises UnsupportedError, which names the backend.
    """
    if isinstance(gram, KernelGram):
        return gram.kernel, gram.X, gram.cached_matrix
    if isinstance(gram, LowRank) and gram.d is None and gram.shape[0] <= MAX_GRAM_ROWS:
        return Linear(), gram.Z, None
    if isinstance(gram, Dense):
        return Precomputed(), gram.matrix, gram.matrix
    raise UnsupportedError(
        f"{backend} needs a dual over a kernel's Gram matrix, or over at most {MAX_GRAM_ROWS} rows of a linear one; "
        "use augmented_lagrangian or cvxopt"
    )


class KernelNewtonCompiled(Compiled):
    """Kernel, X, y, C and the Gram matrix of the machine that the QP is the dual of."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        statement = self.statement
        start = None if limits.start is None else statement.to_alpha(limits.start)
        solution = self.backend.solve_dual(statement.svm, replace(limits, start=start), options)
        x, y = statement.to_qp_variables(solution.alpha), statement.to_row_multipliers(solution.multipliers)
        v = None if solution.w is None else statement.to_lifted_variables(solution.w)
        return self._build_solution(solution.reported, solution.solver, solution.iterations, x, y=y, v=v)
