"""Solve linear machines by LIBLINEAR, through scikit-learn: dual coordinate descent (Hsieh et al. 2008).

LIBLINEAR has its own stopping rule. It returns w only; α comes from features that are added to the rows
(`solvers.linear.liblinear`). Its loop checks neither a clock nor Ctrl-C (`run_within_time`). `augmented_lagrangian`
starts with a loop of the same kind if that is faster, and resumes from the result of that loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import DEFAULT_TOLERANCE, Limits
from qpsvm.backends.own.augmented_lagrangian_ import LINEAR_TRAITS
from qpsvm.backends.own.kernel_newton_ import LIBSVM_IMPORT
from qpsvm.backends.own.linear_rows import LinearRows, build_linear_rows
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.stop_reasons import find_run_status
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.solvers.linear import liblinear
from qpsvm.solvers.linear.descent import count_entries

#: Traits that the accepted machines may have.
ACCEPTED_TRAITS = LINEAR_TRAITS - {"balance", "sum", "partly bounded", "partly curved"}
#: Those of hinges and squared hinges, at level 1.
ONE_SIDED = ACCEPTED_TRAITS - {"level 0", "other levels", "two-sided α"}
#: Those of the same losses outside a tube.
TWO_SIDED = ACCEPTED_TRAITS - {"one α per sample", "several α per sample"}
#: Traits that no linear loss has: its α is bounded.
NOT_LINEAR = {"unbounded", "curved"}
#: Traits that no squared loss has: its α is not bounded.
NOT_SQUARED = {"bounded", "flat"}
#: scikit-learn's default tolerance, for the largest violation of the optimality conditions.
DEFAULT_EPS = 1e-4
#: Factor of the tolerance for a tube with a linear loss, where the tolerance is for the sum of all violations, relative
#: to their sum in the first pass.
TUBE_FACTOR = 0.01
#: Default limit of the number of passes: if all features have a similar scale, LIBLINEAR needs fewer than a thousand.
DEFAULT_MAX_PASSES = 10_000


class LiblinearBackend(Backend):
    """`sklearn.svm.LinearSVC` and `LinearSVR`, with `dual=True`."""

    name = "liblinear"
    abilities = Abilities(
        summary="dual of a linear machine with a penalised intercept or none: hinges, tubes of one width, and the "
        "squares of both; for comparison",
        dual=(
            MachineSet(ONE_SIDED - NOT_LINEAR), MachineSet(ONE_SIDED - NOT_SQUARED),
            MachineSet(TWO_SIDED - NOT_LINEAR), MachineSet(TWO_SIDED - NOT_SQUARED),
        ),
        missing_form_reason="it solves the dual", handles_interrupt=True, package="scikit-learn",
        options=frozenset({"eps"}),  # LIBLINEAR's tolerance for the largest violation
    )  # fmt: skip
    lazy_import = LazyImport("sklearn.svm", LIBSVM_IMPORT)
    memory = Memory(dual=0.0, primal=0.0, copies=liblinear.ENTRY_BYTES / 8)

    def compile(self, qp: QP) -> LiblinearCompiled:
        """Build X, the target, sample weights that carry C, and whether there is an intercept."""
        statement = self.read_statement(qp)
        rows = build_linear_rows(statement.svm)
        X = rows.source.matrix()
        intercept = rows.intercept == "penalised"
        if not liblinear.fits_liblinear(X):
            raise UnsupportedError(
                f"liblinear counts with 32 bits, and cannot take {count_entries(X)} numbers; use augmented_lagrangian"
            )
        if liblinear.find_solver_type(rows.losses, rows.sign, intercept) is None:
            raise UnsupportedError(
                "liblinear takes tubes of one width that cost the same on both sides, and two classes where there is "
                "an intercept; use augmented_lagrangian"
            )
        y = liblinear.build_targets(rows.losses, rows.sign)
        weight = liblinear.build_penalties(rows.losses, len(rows.sign))
        data = SolverData(X=X, y=y, sample_weight=weight, fit_intercept=intercept)
        return LiblinearCompiled(self, qp, data, statement=statement, rows=rows)


class LiblinearCompiled(Compiled):
    """X, y, sample_weight of `fit`, and `fit_intercept`."""

    rows: LinearRows

    def _choose_eps(self, tol: float | None) -> float:
        """Choose LIBLINEAR's tolerance for a relative gap; None for the default."""
        losses = self.rows.losses
        if tol is None:
            eps = DEFAULT_EPS
        else:
            eps = min(DEFAULT_EPS, DEFAULT_EPS / DEFAULT_TOLERANCE * tol)
        if losses.is_piecewise_linear and not losses.is_one_sided:
            eps *= TUBE_FACTOR
        return eps

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        data = self.data
        rows = self.rows
        statement = self.statement
        max_passes = limits.max_iter or DEFAULT_MAX_PASSES
        eps = float(options.get("eps", self._choose_eps(limits.tol)))
        clock = Clock(limits.time_limit)
        run = liblinear.run_liblinear(
            data.X, rows.sign, rows.losses, data.fit_intercept, eps=eps, max_passes=max_passes, clock=clock
        )
        status, raw = find_run_status(run, max_passes, clock)
        w = np.append(run.w, run.b) if data.fit_intercept else run.w
        x = statement.to_qp_variables(rows.to_alpha(run.alpha))
        y = statement.to_row_multipliers({"b": run.b})
        return self._build_solution(
            status, self._describe_solver(raw), run.iterations, x, y=y, v=statement.to_lifted_variables(w)
        )
