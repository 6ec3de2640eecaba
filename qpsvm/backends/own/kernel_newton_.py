"""Solve duals of kernel machines by the working-set loop of LIBSVM and Newton steps (`KernelNewtonBackend`).

Both work on parts of the Gram matrix. A hard margin is solved by its own engine.

`interval_problem` converts a machine to the form that they take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import DEFAULT_TOLERANCE, Limits, build_common_settings
from qpsvm.backends.own.interval_problem import IntervalProblem
from qpsvm.backends.requirements import Form, LazyImport, Memory, Requirements, Size
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.stop_reasons import translate_stop_reason
from qpsvm.backends.traits import ONE_FUNCTION
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.operators import Dense, LowRank, Operator

if TYPE_CHECKING:
    from qpsvm.solvers.kernel.solve import KernelSolution

#: A Gram matrix counts as zero if the mean of its diagonal is at most this.
MIN_DIAGONAL = 1e-280
#: Maximum number of rows of a linear machine, whose Gram matrix is computed.
MAX_GRAM_ROWS = 8000
#: Traits of classifiers with margins of level 1, soft or hard, and the row yᵀα = 0.
MARGINS = ONE_FUNCTION - {
    "level 0", "other levels", "partly bounded", "curved", "partly curved", "no rows", "sum", "balance and total",
    "one row", "other rows", "penalised", "two-sided α", "several α per sample",
}  # fmt: skip
#: Traits of machines with one interval of β per sample, any levels, and one given sum, or two as in ν-machines.
INTERVALS = ONE_FUNCTION - {
    "unbounded", "partly bounded", "curved", "partly curved", "no rows", "one row", "other rows", "penalised",
    "several α per sample",
}  # fmt: skip
#: Traits of the same machines with curvature.
CURVED = ONE_FUNCTION - {
    "flat", "partly curved", "no rows", "balance and total", "one row", "other rows", "penalised",
    "several α per sample",
}  # fmt: skip
#: Traits of machines without a free intercept, whose α are bounded, or whose losses are curved.
NO_SUM = ONE_FUNCTION - {
    "linear", "level 0", "partly bounded", "partly curved", "balance", "sum", "balance and total", "one row",
    "other rows",
}  # fmt: skip
#: Maximum number of rows of a linear machine with curvature.
MAX_LINEAR_CURVED_ROWS = 1000
#: Bytes of address space that the first use of LIBSVM's loop maps, scikit-learn included.
LIBSVM_IMPORT = 4e8
#: Tolerance of the interior-point method relative to the requested one, because α alone certifies less well than the
#: primal-dual pair at which it stops; and the shortest time limit that it is given.
INTERIOR_POINT_TOL_SHARE, MIN_TIME_LIMIT = 1e-2, 1e-9


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
        options=frozenset({"engine"}),  # auto, gram or libsvm.
    )
    lazy_import = LazyImport("sklearn.svm", LIBSVM_IMPORT)
    memory = Memory(dual=2.5, primal=2.5)  # of a linear machine

    def requirements(self, size: Size, form: Form) -> Requirements:
        """Return the time and memory for a linear machine's Gram matrix; none for other kernels, computed in parts."""
        needed = super().requirements(size, form)
        return needed if size.is_linear else replace(needed, seconds=0.0, memory_bytes=0.0)

    def compile(self, qp: QP) -> KernelNewtonCompiled:
        """Read kernel, X, y and C off the QP, or only the Gram matrix if the QP does not have the kernel."""
        statement = self.read_statement(qp)
        svm = statement.svm
        kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
        data = SolverData(kernel=kernel, X=X, y=svm.sign, C=svm.upper, gram=gram)
        return KernelNewtonCompiled(self, qp, data, statement=statement)

    def can_solve_dual(self, svm: SVMDual) -> bool:
        """Return whether the machine is not a linear ν-SVM: if Newton steps fail on these, their QP is needed."""
        return not isinstance(svm.gram, LowRank) or svm.is_two_sided or len(svm.groups) == 1

    def solve_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:
        """Solve the dual by a suitable engine; a hard margin by its own engine."""
        kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
        settings: dict[str, Any] = {
            "tol": limits.tol or DEFAULT_TOLERANCE, "max_iter": limits.max_iter, "time_limit": limits.time_limit,
            "verbose": limits.verbose, **options,
        }  # fmt: skip
        solution: KernelSolution
        if svm.is_hard:
            from qpsvm.solvers.kernel.hard_margin import solve_kernel_hard

            gram_blocks = svm.gram.blocks if isinstance(svm.gram, KernelGram) else gram
            solution = solve_kernel_hard(
                kernel, X, svm.sign, compute_mean_diagonal(svm), gram=gram_blocks, start=limits.start, **settings
            )
            alpha, multipliers = svm.sign * solution.beta + 0.0, {"b": solution.b}
        else:
            from qpsvm.solvers.kernel.solve import solve_kernel

            machine = IntervalProblem.from_dual(svm, self.name)
            start = None if limits.start is None else machine.compute_beta(limits.start)
            blocks = machine.build_blocks(kernel, X, gram)
            brief = not self.can_solve_dual(svm)  # then interior points take over if it fails
            solution = solve_kernel(blocks, machine.problem, start=start, brief=brief, **settings)
            alpha = machine.compute_alpha(solution.beta)
            multipliers = machine.compute_multipliers(solution.b, solution.tube)
        status, reason_text = translate_stop_reason(solution.reason)
        solver = self.describe_solver(f"{reason_text} ({solution.engine})")
        return DualSolution(status, solver, alpha, solution.iterations or None, None, multipliers)


def compute_mean_diagonal(svm: SVMDual) -> float:
    """Return the mean of K_ii; 1 if that is zero."""
    kappa = svm.gram.mean_diagonal()
    return kappa if kappa > MIN_DIAGONAL else 1.0


def extract_kernel_samples(gram: Operator, name: str) -> tuple[Kernel, Matrix, FloatArray | None]:
    """Return kernel and samples of a Gram matrix, and the matrix itself or None if it has not been computed.

    Raises UnsupportedError.
    """
    if isinstance(gram, KernelGram):
        return gram.kernel, gram.X, gram.cached_matrix
    if isinstance(gram, LowRank) and gram.d is None and gram.shape[0] <= MAX_GRAM_ROWS:
        return Linear(), gram.Z, None
    if isinstance(gram, Dense):
        return Precomputed(), gram.matrix, gram.matrix
    raise UnsupportedError(
        f"{name} needs a dual over a kernel's Gram matrix, or over at most {MAX_GRAM_ROWS} rows of a linear one; "
        "use augmented_lagrangian or cvxopt"
    )


class KernelNewtonCompiled(Compiled):
    """Kernel, X, y, C and gram of the machine that the QP is the dual of."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        statement, clock = self.statement, Clock(limits.time_limit)
        start = None if limits.start is None else statement.to_alpha(limits.start)
        solution = self.backend.solve_dual(statement.svm, replace(limits, start=start), options)
        if solution.reported is Status.NUMERICAL_ERROR and not self.backend.can_solve_dual(statement.svm):
            # the reduced hulls of a ν-SVM (nearly) intersect: K_FF is singular; interior points work on the features
            remaining = None if limits.time_limit is None else max(clock.remaining, MIN_TIME_LIMIT)
            return self._solve_by_interior_point(replace(limits, time_limit=remaining))
        x, y = statement.to_qp_variables(solution.alpha), statement.to_row_multipliers(solution.multipliers)
        v = None if solution.w is None else statement.lift(solution.w)
        return self._build_solution(solution.reported, solution.solver, solution.iterations, x, y=y, v=v)

    def _solve_by_interior_point(self, limits: Limits) -> QPSolution:
        """Solve the QP by an interior-point method."""
        from qpsvm.solvers.interior_point.mehrotra import solve_mehrotra

        qp, tol = self.qp, INTERIOR_POINT_TOL_SHARE * (limits.tol or DEFAULT_TOLERANCE)
        settings = build_common_settings(limits, {}, tol)
        solution = solve_mehrotra(qp.P, qp.q, qp.A, qp.b, *qp.bounds, **settings)
        raw = f"{translate_stop_reason(solution.reason)[1]} (interior points)"
        return self._build_run_solution(solution, solution.x, raw, y=solution.y, box=solution.z_box, v=solution.v)
