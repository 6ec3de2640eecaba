"""Solve an all-in-one multiclass machine one sample at a time, as a backend (`SequentialDualBackend`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.limits import Limits
from qpsvm.backends.own.class_duals import build_class_solution, get_class_dual
from qpsvm.backends.requirements import Form, Requirements, Size
from qpsvm.backends.traits import ALL_TRAITS
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.svm_dual import SVMDual
from qpsvm.solvers.sequential import solve_sequential
from qpsvm.solvers.shared.budget import Budget

#: Tolerances of successive runs: the largest violation of the optimality conditions, relative to the margin level. The
#: point of each run is polished and certified, so that a finer run is often not needed.
TOLERANCES = (0.02, 3e-3, 1e-4, 1e-6, 1e-8)
#: Number of (n, k) arrays that the solver and the certificate hold at once.
N_ARRAYS = 24
#: Default limit on the steps, each over one sample: this many per sample, but not fewer than the second number in all.
STEPS_PER_SAMPLE, MIN_STEPS = 2000, 20_000


class SequentialDualBackend(Backend):
    """Backend for `solvers.sequential.solve_sequential`."""

    name = "sequential_dual"
    abilities = Abilities(
        summary="dual of a machine that learns several classes in one program; fast",
        dual=(MachineSet(ALL_TRAITS - {"one function"}),),
        missing_form_reason="it solves for the α of one sample after the other",
        supports_warm_start=True,
        handles_interrupt=True,
        tolerances=TOLERANCES,
    )

    def estimate_requirements(self, size: Size, form: Form) -> Requirements:  # noqa: ARG002  (there is one form)
        """Return the time for the Gram matrix, and the memory for it and for `N_ARRAYS` arrays (n, k)."""
        gram_bytes = 0.0 if size.is_linear else 8.0 * size.samples**2
        return Requirements(size.gram_seconds, 8.0 * N_ARRAYS * (size.rows + size.samples) + gram_bytes)

    def compile(self, qp: QP) -> NoReturn:  # noqa: ARG002
        """Raise UnsupportedError: the method solves a machine, not a QP."""
        raise UnsupportedError(f"{self.name} takes a machine of several classes, not a QP; use cvxopt or osqp")

    def can_solve_dual(self, svm: SVMDual) -> bool:
        """Return whether the machine has several classes."""
        return svm.classes is not None

    def find_default_max_iter(self, size: Size) -> int:
        """Return the default limit on the steps."""
        return max(MIN_STEPS, STEPS_PER_SAMPLE * size.samples)

    def solve_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:  # noqa: ARG002
        """Solve the dual from the given α and intercepts, if any."""
        dual, gram = get_class_dual(svm)
        alpha = None if limits.start is None else dual.unflatten_alpha(limits.start)
        if limits.start_multipliers is None:
            b = None
        else:
            b = dual.extract_intercepts(limits.start_multipliers)
        budget = Budget(limits.max_iter, limits.time_limit, limits.verbose)
        solution = solve_sequential(gram, dual, limits.tol or TOLERANCES[-1], budget, alpha, b)
        return build_class_solution(self, dual, solution)
