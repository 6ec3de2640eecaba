"""Solve linear machines by a semismooth-Newton augmented Lagrangian (`AugmentedLagrangianBackend`).

It needs few passes over the samples and no n × n matrix. `solvers.linear` may choose coordinate descent instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import DEFAULT_TOLERANCE, Limits, build_common_settings
from qpsvm.backends.own.linear_rows import LinearRows, build_linear_rows, compute_best_intercept
from qpsvm.backends.requirements import Form, Requirements, Size
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.stop_reasons import translate_stop_reason
from qpsvm.backends.traits import ONE_FUNCTION
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.solvers.linear.settings import SETTINGS

#: Traits of the linear machines whose dual has at most the equality of a free intercept.
LINEAR_TRAITS = ONE_FUNCTION - {"kernel", "balance and total", "one row", "other rows"}
#: Accepted are those with bounds on all α or curvature in all losses: a hard margin has neither.
ALL_BOUNDED, ALL_CURVED = LINEAR_TRAITS - {"unbounded", "partly bounded"}, LINEAR_TRAITS - {"flat", "partly curved"}


class AugmentedLagrangianBackend(Backend):
    """`solvers.linear.solve.solve_linear`."""

    name = "augmented_lagrangian"
    abilities = Abilities(
        summary="dual of a linear machine without an equality but that of its intercept, any n; fast",
        dual=(MachineSet(ALL_BOUNDED), MachineSet(ALL_CURVED)),
        missing_form_reason="it reads the samples off the dual's factor",
        supports_warm_start=True,
        handles_interrupt=True,
        options=frozenset({"engine"}),  # the first engine: auto, coordinate or newton
    )

    def estimate_requirements(self, size: Size, form: Form) -> Requirements:
        """Return the memory of the samples and of the factored matrix, of one row per feature or per free sample."""
        del form  # it only solves the dual
        k = min(size.rows, size.features)
        dimension = k if k <= SETTINGS.max_factored_columns else min(k, SETTINGS.max_pool_rows)
        return Requirements(0.0, 8.0 * (size.entries + size.rows + dimension**2))

    def compile(self, qp: QP) -> AugmentedLagrangianCompiled:
        """Find the machine that the QP is the dual of; its X is not copied."""
        statement = self.read_statement(qp)
        rows = build_linear_rows(statement.svm)
        data = SolverData(X=rows.source, y=rows.sign, C=rows.penalty, intercept=rows.intercept)
        return AugmentedLagrangianCompiled(self, qp, data, statement=statement, rows=rows)


class AugmentedLagrangianCompiled(Compiled):
    """X, y, C and intercept of the machine that the QP is the dual of; C is a `RowLosses` if losses are no hinges."""

    rows: LinearRows

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.linear.solve import solve_linear

        data, statement = self.data, self.statement
        settings = build_common_settings(limits, options, limits.tol or DEFAULT_TOLERANCE)
        if limits.max_iter is not None:  # iterations are Newton steps, unless another engine is requested
            settings.setdefault("engine", "newton")
        start = self._convert_start(limits.start)
        total = self.rows.total
        solution = solve_linear(data.X, data.y, data.C, intercept=data.intercept, total=total, start=start, **settings)
        if data.intercept == "penalised":
            w = np.append(solution.w, solution.b)
        else:
            w = solution.w
        x = statement.to_qp_variables(self.rows.to_alpha(solution.alpha))
        y = statement.to_row_multipliers(
            {group.multiplier: solution.b / self.rows.factor for group in statement.svm.groups}
        )
        raw = f"{translate_stop_reason(solution.reason)[1]} ({solution.engine})"
        return self._build_run_solution(solution, x, raw, y=y, v=statement.to_lifted_variables(w))

    def _convert_start(self, x: FloatArray | None) -> tuple[FloatArray, float, FloatArray] | None:
        """Return w, the best b for it, and the multipliers of the rows at a point x (n,) of the QP; None without x."""
        if x is None:
            return None
        svm = self.statement.svm
        rows = self.rows
        alpha = rows.from_alpha(np.clip(self.statement.to_alpha(x), 0.0, svm.upper))
        beta = alpha * rows.sign
        w = rows.source.weights(beta)
        if rows.intercept == "free":
            return w, compute_best_intercept(svm, w, rows.factor), alpha
        return w, float(beta.sum()) if rows.intercept else 0.0, alpha
