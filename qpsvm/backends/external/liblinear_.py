"""LIBLINEAR, through scikit-learn: dual coordinate descent (Hsieh et al. 2008), at its own stopping rule.

It returns w; α is read off features that are added to the rows (`solvers.linear.liblinear`). Its loop knows no clock
and no interrupt key: it is run in slices, long ones in a child (`run_sliced`). `augmented_lagrangian` begins with
a loop of the same kind where that pays, and goes on where it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import DEFAULT_TOLERANCE, Limits
from qpsvm.backends.own.augmented_lagrangian_ import LOSSES
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

#: Whose duals it takes: hinges and their squares at level 1, and both losses outside of a tube.
OWN = LOSSES - {"balance", "sum", "partly bounded", "partly curved"}
ONE_SIDED, TWO_SIDED = OWN - {"level 0", "other levels", "mirrored α"}, OWN - {"one α a sample", "several α a sample"}
#: Linear losses have bounds of α, squared ones none.
LINEAR, SQUARED = {"unbounded", "curved"}, {"bounded", "flat"}
#: scikit-learn's own tolerance, for the largest violation.
DEFAULT_EPS = 1e-4
#: Of a tube with a linear penalty, the tolerance is for the sum of all violations, as a share of the first one.
TUBE_SHARE = 0.01
#: Passes where no limit is given: on tables whose features are scaled alike it ends within a thousand.
PASSES = 10_000


class LiblinearBackend(Backend):
    """`sklearn.svm.LinearSVC` and `LinearSVR`, with `dual=True`."""

    name = "liblinear"
    abilities = Abilities(
        summary="dual of a linear machine with a penalised intercept or none: hinges, tubes of one width, and the "
        "squares of both; for comparison",
        dual=tuple(MachineSet(sides - loss) for sides in (ONE_SIDED, TWO_SIDED) for loss in (LINEAR, SQUARED)),
        missing_form_reason="it solves the dual", handles_interrupt=True, package="scikit-learn",
        options=frozenset({"eps"}),  # its tolerance for the largest violation
    )  # fmt: skip
    lazy_import = LazyImport("sklearn.svm", LIBSVM_IMPORT)
    memory = Memory(dual=0.0, primal=0.0, copies=liblinear.NUMBER_BYTES / 8)

    def compile(self, qp: QP) -> LiblinearCompiled:
        """Build X, the target, sample weights that carry C, and whether there is an intercept."""
        statement = self.read_statement(qp)
        rows = build_linear_rows(statement.svm)
        X, intercept = rows.source.matrix(), rows.intercept == "penalised"
        if not liblinear.fits_liblinear(X):
            raise UnsupportedError(
                f"liblinear counts with 32 bits, and cannot take {count_entries(X)} numbers; use augmented_lagrangian"
            )
        if liblinear.find_solver_type(rows.losses, rows.sign, intercept) is None:
            raise UnsupportedError(
                "liblinear takes tubes of one width that cost the same on both sides, and two classes where there is "
                "an intercept; use augmented_lagrangian"
            )
        y, weight = (
            liblinear.build_targets(rows.losses, rows.sign),
            liblinear.build_penalties(rows.losses, len(rows.sign)),
        )
        data = SolverData(X=X, y=y, sample_weight=weight, fit_intercept=intercept)
        return LiblinearCompiled(self, qp, data, statement=statement, rows=rows)


class LiblinearCompiled(Compiled):
    """X, y, sample_weight of `fit`, and `fit_intercept`."""

    rows: LinearRows

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        data, rows, statement, most = self.data, self.rows, self.statement, limits.max_iter or PASSES
        eps = DEFAULT_EPS if limits.tol is None else min(DEFAULT_EPS, DEFAULT_EPS / DEFAULT_TOLERANCE * limits.tol)
        eps *= TUBE_SHARE if rows.losses.is_piecewise_linear and not rows.losses.is_one_sided else 1.0
        clock = Clock(limits.time_limit)
        found = liblinear.run_liblinear(
            data.X, rows.sign, rows.losses, data.fit_intercept, eps=float(options.get("eps", eps)), most=most,
            clock=clock, verbose=limits.verbose,
        )  # fmt: skip
        status, raw = find_run_status(found, most, clock)
        w = np.append(found.w, found.b) if data.fit_intercept else found.w
        x, y = statement.to_qp_variables(rows.to_alpha(found.alpha)), statement.to_row_multipliers({"b": found.b})
        return self._build_solution(status, self._describe_solver(raw), found.iterations, x, y=y, v=statement.lift(w))
