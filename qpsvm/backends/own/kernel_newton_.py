"""Kernel C-SVMs by LIBSVM's loop where it is good, and Newton steps where they are: on parts of the Gram matrix.

A hard margin is the C-SVM with a C that no α reaches.

A machine with one α a sample, or two mirrored ones, as `solvers.kernel.dual` knows it: over intervals of β.

    (IVAL.1)  β_i = s_i α_i:  t = sℓ, ε = 0, and the box is that of sα;  ρ of a ν-SVM is −ε of (IVAL.3)
    (IVAL.2)  mirrored, β_i = α⁺_i − α⁻_i:  t = (ℓ⁺ − ℓ⁻)/2, ε = −(ℓ⁺ + ℓ⁻)/2, −U⁻ ≤ β ≤ U⁺
    (IVAL.3)  a column c·s of E with e is Σβ = e/c, and b = cμ;  a constant column c beside it is Σ|β| = e/c, and ε = cμ
    (IVAL.4)  δ is a diagonal: K + diag(δ) for K, if both rows of a sample have the same
    (IVAL.5)  where U = ∞, α_i ≤ (2P₀/δ_i)^½ at the optimum, P₀ = Σ max(ℓ_k, 0)²/(2δ_k) the value of w = 0 and b = 0

The solver's β lead back to α, and its b and ε to the multipliers of the groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qpsvm.backends.abilities import ANYTHING, Abilities, Machines
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import DEFAULT_TOLERANCE, Compiled, Limits, SolverData, own_settings, stopped
from qpsvm.backends.requirements import Form, Import, Memory, Requirements, Size
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.progress import Clock
from qpsvm.program.dual_answer import DualAnswer
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Status
from qpsvm.program.svm_dual import Group, SVMDual
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.kernel import inner
from qpsvm.space.operators import Dense, LowRank, Operator

if TYPE_CHECKING:
    from qpsvm.solvers.kernel.portfolio import KernelSolution

#: A Gram matrix with less on its diagonal is zero.
LEAST_CURVATURE = 1e-280
#: Rows of a linear machine up to which its Gram matrix is made.
LARGEST_GRAM = 8000
#: Whose duals it takes: margins of level 1, soft or hard, and the row yᵀα = 0.
MARGINS = ANYTHING - {
    "level 0", "other levels", "partly bounded", "curved", "partly curved", "no rows", "sum", "balance and total",
    "one row", "other rows", "penalised", "mirrored α", "several α a sample",
}  # fmt: skip
#: Machines of one interval of β a sample, whatever their levels, with one sum or, as ν-machines, a second one.
INTERVALS = ANYTHING - {
    "unbounded", "partly bounded", "curved", "partly curved", "no rows", "one row", "other rows", "penalised",
    "several α a sample",
}  # fmt: skip
#: Those with curvature, of which the Gram matrix is made.
CURVED = ANYTHING - {
    "flat", "partly curved", "no rows", "balance and total", "one row", "other rows", "penalised",
    "several α a sample",
}  # fmt: skip
#: Rows of a machine with curvature up to which its Gram matrix is made, and of a linear one.
LARGEST_CURVED, LINEAR_CURVED = 4000, 1000
#: Bytes of address space that the first use of LIBSVM's loop maps, scikit-learn included.
LIBSVM_IMPORT = 4e8
#: The tolerance of interior points, as a share of that asked for: α alone certifies less well than the pair. The
#: shortest time that they are handed.
INSIDE_SHARE, SHORTEST = 1e-2, 1e-9
#: What both α of a sample share is worth looking at from this share of the sum of all bounds on.
SHARED = 1e-15
#: An interval is so much wider than (IVAL.5) asks for.
ROOM = 2.0


class KernelNewtonBackend(Backend):
    """`solvers.kernel.portfolio.solve_kernel`."""

    name = "kernel_newton"
    abilities = Abilities(
        needs="dual of a machine with a free intercept, kernel or (few rows) linear; fast",
        dual=(
            Machines(MARGINS - {"linear"}), Machines(MARGINS - {"kernel"}, LARGEST_GRAM),
            Machines(INTERVALS - {"linear"}), Machines(INTERVALS - {"kernel"}, LARGEST_GRAM),
            Machines(CURVED - {"linear"}, LARGEST_CURVED), Machines(CURVED - {"kernel"}, LINEAR_CURVED),
        ),
        because="it reads kernel and samples off the dual", starts=True, polls=True,
        options=frozenset({"engine"}),  # auto, gram or libsvm.
    )  # fmt: skip
    loads = Import("sklearn.svm", LIBSVM_IMPORT)
    memory = Memory(dual=2.5, primal=2.5)  # of a linear machine

    def requirements(self, size: Size, form: Form) -> Requirements:
        """Return the memory of a linear machine's Gram matrix and its parts; for another kernel, of parts only."""
        needed = super().requirements(size, form)
        return needed if size.linear else replace(needed, seconds=0.0, bytes=0.0)

    def compile(self, qp: QP) -> KernelNewtonCompiled:
        """Read kernel, X, y, C; or the Gram matrix if the QP has nothing else."""
        statement = self.stated(qp)
        svm = statement.svm
        kernel, X, gram = kernel_samples(svm.gram, self.name)
        data = SolverData(kernel=kernel, X=X, y=svm.sign, C=svm.upper, gram=gram)
        return KernelNewtonCompiled(self, qp, data, statement=statement)

    def direct(self, svm: SVMDual) -> bool:
        """Return whether it is no linear ν-SVM: if Newton steps fail on these, interior points solve their QP."""
        return not isinstance(svm.gram, LowRank) or svm.mirrored or len(svm.groups) == 1

    def on_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualAnswer:
        """Solve the dual by the engine that suits; a hard margin by its own engine."""
        kernel, X, gram = kernel_samples(svm.gram, self.name)
        settings: dict[str, Any] = {
            "tol": limits.tol or DEFAULT_TOLERANCE, "max_iter": limits.max_iter, "time_limit": limits.time_limit,
            "verbose": limits.verbose, **options,
        }  # fmt: skip
        answer: KernelSolution
        if svm.all_hard:
            from qpsvm.solvers.kernel.hard import solve_kernel_hard

            whole = svm.gram.blocks if isinstance(svm.gram, KernelGram) else gram
            answer = solve_kernel_hard(
                kernel, X, svm.sign, mean_curvature(svm), gram=whole, start=limits.start, **settings
            )
            alpha, multipliers = svm.sign * answer.beta + 0.0, {"b": answer.b}
        else:
            from qpsvm.solvers.kernel.portfolio import solve_kernel

            machine = Intervals.of(svm, self.name)
            start = None if limits.start is None else machine.beta(limits.start)
            blocks = interval_blocks(kernel, X, gram, svm, machine)
            brief = not self.direct(svm)
            answer = solve_kernel(blocks, machine.problem, start=start, brief=brief, **settings)
            alpha, multipliers = machine.alpha(answer.beta), machine.multipliers(answer.b, answer.tube)
        status, words = stopped(answer.reason)
        solver = self.reported(f"{words} ({answer.engine})")
        return DualAnswer(status, solver, alpha, answer.iterations or None, None, multipliers)


@dataclass(frozen=True, eq=False)
class Intervals:
    """A machine and its problem over intervals.

    curvature (n,) or None: δ by samples, where there is any.
    balance: That of Σβ.
    """

    svm: SVMDual
    problem: KernelDual
    curvature: FloatArray | None
    balance: Group

    @classmethod
    def of(cls, svm: SVMDual, name: str) -> Intervals:
        """Build it from a machine's dual, for a backend of that name. Raises UnsupportedError."""
        balance = _balance(svm)
        if svm.common_level == 1.0 and not balance.total and not svm.curved and not svm.mirrored:
            return cls(svm, KernelDual.of_hinges(svm.sign, svm.upper), None, balance)
        level, upper, n = svm.level + 0.0, _bounded(svm), svm.n
        totals = {group is balance: group.total / _factor(svm, group, balance) for group in svm.groups}
        total, mass = totals.get(True, 0.0), totals.get(False)
        curvature = svm.curvature[:n] + 0.0 if svm.curved else None
        if not svm.mirrored:
            signed = svm.sign * upper
            high, low = np.maximum(signed, 0.0), np.minimum(signed, 0.0)
            problem = KernelDual(high, svm.sign * level, low, total=total, mass=mass)
            return cls(svm, problem, curvature, balance)
        from qpsvm.backends.own.views import folded

        fold = folded(svm)
        if fold is None:
            raise UnsupportedError(f"{name} takes mirrored rows with one tube and one curvature a sample; use cvxopt")
        width = 0.0 if mass is not None else fold.tube
        problem = KernelDual(upper[:n] + 0.0, fold.level + np.zeros(n), -upper[n:], width, total=total, mass=mass)
        return cls(svm, problem, curvature, balance)

    def beta(self, alpha: FloatArray) -> FloatArray:
        """Return β (n,) of α (m,)."""
        return self.svm.beta(alpha)

    def alpha(self, beta: FloatArray) -> FloatArray:
        """Return α (m,) of β (n,)."""
        if not self.svm.mirrored:
            return np.maximum(self.svm.sign * beta, 0.0)
        sides = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        left = 0.0 if self.problem.mass is None else 0.5 * (self.problem.mass - float(np.abs(beta).sum()))
        if left > SHARED * self.problem.total_penalty:  # (KDUAL.8)
            room = np.minimum(self.problem.high - sides[0], -self.problem.low - sides[1])
            both = room * min(left / float(room.sum()), 1.0)
            sides = sides[0] + both, sides[1] + both
        return np.concatenate(sides)

    def multipliers(self, b: float, tube: float) -> dict[str, float]:
        """Return the multipliers of the groups, by name: (IVAL.3)."""
        return {
            group.multiplier: (b if group is self.balance else tube) / _factor(self.svm, group, self.balance)
            for group in self.svm.groups
        }


def _balance(svm: SVMDual) -> Group:
    """Return the group of Σβ."""
    if len(svm.groups) == 1:
        return svm.groups[0]
    return next(group for group in svm.groups if np.ptp(group.column * svm.sign) == 0.0)


def _factor(svm: SVMDual, group: Group, balance: Group) -> float:
    """Return c of (IVAL.3)."""
    return float(group.column[0] * svm.sign[0] if group is balance else group.column[0])


def _bounded(svm: SVMDual) -> FloatArray:
    """Return U (m,), finite: (IVAL.5)."""
    upper = svm.upper + 0.0
    if svm.bounded:
        return upper
    value = float((np.maximum(svm.level, 0.0) ** 2 / (2.0 * svm.curvature)).sum())
    return np.minimum(upper, ROOM * np.sqrt(2.0 * value / svm.curvature))


def interval_blocks(
    kernel: Kernel, X: Matrix, whole: FloatArray | None, svm: SVMDual, machine: Intervals
) -> KernelBlocks:
    """Return the kernel values as blocks: the full Gram matrix if there is curvature or the kernel is linear."""
    gram, curvature = svm.gram, machine.curvature
    if isinstance(gram, KernelGram):
        if curvature is None:
            return gram.blocks
        K = gram.blocks.all()
    else:
        K = inner(X, X) if whole is None else whole
    if curvature is not None:
        K = np.array(K, order="C")
        K.flat[:: len(K) + 1] += curvature
    return KernelBlocks(kernel, X, np.ascontiguousarray(K))


def mean_curvature(svm: SVMDual) -> float:
    """Return the mean of K_ii; 1 if that is zero."""
    kappa = svm.gram.mean_diagonal()
    return kappa if kappa > LEAST_CURVATURE else 1.0


def kernel_samples(gram: Operator, name: str) -> tuple[Kernel, Matrix, FloatArray | None]:
    """Return kernel and samples of a Gram matrix, and the matrix itself if it exists. Raises UnsupportedError."""
    if isinstance(gram, KernelGram) and not gram.offset:
        return gram.kernel, gram.X, gram.kept
    if isinstance(gram, LowRank) and gram.d is None and gram.shape[0] <= LARGEST_GRAM:
        return Linear(), gram.Z, None
    if isinstance(gram, Dense):
        return Precomputed(), gram.matrix, gram.matrix
    raise UnsupportedError(
        f"{name} needs a dual over a kernel's Gram matrix, or over at most {LARGEST_GRAM} rows of a linear one; "
        "use augmented_lagrangian or cvxopt"
    )


class KernelNewtonCompiled(Compiled):
    """Kernel, X, y, C, gram of the C-SVM that the QP is the dual of."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        statement, clock = self.statement, Clock(limits.time_limit)
        start = None if limits.start is None else statement.alpha(limits.start)
        answer = self.backend.on_dual(statement.svm, replace(limits, start=start), options)
        if answer.reported is Status.NUMERICAL_ERROR and not self.backend.direct(statement.svm):
            # its reduced hulls meet, or nearly: K_FF is singular there, and interior points see the features
            left = None if limits.time_limit is None else max(clock.left, SHORTEST)
            return self._inside(replace(limits, time_limit=left))
        v, y = None if answer.w is None else statement.lift(answer.w), statement.multipliers(answer.multipliers)
        return self._answer(answer.reported, answer.solver, answer.iterations, statement.x(answer.alpha), y=y, v=v)

    def _inside(self, limits: Limits) -> QPSolution:
        """Solve the QP by interior points."""
        from qpsvm.solvers.interior_point.mehrotra import mehrotra

        qp, settings = self.qp, own_settings(limits, {}, INSIDE_SHARE * (limits.tol or DEFAULT_TOLERANCE))
        answer = mehrotra(qp.P, qp.q, qp.A, qp.b, *qp.bounds, **settings)
        raw = f"{stopped(answer.reason)[1]} (interior points)"
        return self._told(answer, answer.x, raw, y=answer.y, box=answer.z_box, v=answer.v)
