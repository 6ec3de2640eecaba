"""Solve linear machines by LIBLINEAR, through scikit-learn: dual coordinate descent (Hsieh et al. 2008).

It uses LIBLINEAR's own stopping rule. LIBLINEAR returns w; α is read off features that are added to the rows
(`solvers.linear.liblinear`). Its loop checks neither a clock nor Ctrl-C (`run_within_time`). `augmented_lagrangian`
starts with a loop of the same kind if that is faster, and resumes from its result.
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

#: Traits of the machines that it accepts: hinges and squared hinges at level 1, and the same losses outside a tube.
OWN = LINEAR_TRAITS - {"balance", "sum", "partly bounded", "partly curved"}
ONE_SIDED, TWO_SIDED = (
    OWN - {"level 0", "other levels", "two-sided α"},
    OWN - {"one α per sample", "several α per sample"},
)
#: Traits that linear losses, and squared losses, do not have: α is bounded with linear losses only.
LINEAR, SQUARED = {"unbounded", "curved"}, {"bounded", "flat"}
#: scikit-learn's default tolerance, for the largest violation of the optimality conditions.
DEFAULT_EPS = 1e-4
#: Factor on the tolerance for a tube with a linear loss: there it is for the sum of all violations, relative to that of
#: the first pass.
TUBE_SHARE = 0.01
#: Default limit of the number of passes: if all features have a similar scale, LIBLINEAR needs fewer than a thousand.
PASSES = 10_000


class LiblinearBackend(Backend):
    """`sklearn.svm.LinearSVC` and `LinearSVR`, with `dual=True`."""

    name = "liblinear"
    abilities = Abilities(
        summary="dual of a linear machine with a penalised intercept or none: hinges, tubes of one width, and the "
        "squares of both; for comparison",
        dual=tuple(MachineSet(sides - loss) for sides in (ONE_SIDED, TWO_SIDED) for loss in (LINEAR, SQUARED)),
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

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        data = self.data
        rows = self.rows
        statement = self.statement
        max_passes = limits.max_iter or PASSES
        if limits.tol is None:
            eps = DEFAULT_EPS
        else:
            eps = min(DEFAULT_EPS, DEFAULT_EPS / DEFAULT_TOLERANCE * limits.tol)
        if rows.losses.is_piecewise_linear and not rows.losses.is_one_sided:
            eps *= TUBE_SHARE
        clock = Clock(limits.time_limit)
        run = liblinear.run_liblinear(
            data.X, rows.sign, rows.losses, data.fit_intercept, eps=float(options.get("eps", eps)),
            max_passes=max_passes, clock=clock,
        )  # fmt: skip
        status, raw = find_run_status(run, max_passes, clock)
        w = np.append(run.w, run.b) if data.fit_intercept else run.w
        x = statement.to_qp_variables(rows.to_alpha(run.alpha))
        y = statement.to_row_multipliers({"b": run.b})
        return self._build_solution(status, self._describe_solver(raw), run.iterations, x, y=y, v=statement.lift(w))
