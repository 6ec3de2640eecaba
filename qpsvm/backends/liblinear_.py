"""LIBLINEAR, through scikit-learn: dual coordinate descent (Hsieh et al. 2008), at its own stopping rule.

It returns w; α is read off features that are added to the rows (`solvers.linear.coordinate`). Its loop knows no clock
and no interrupt key: it is run in slices, long ones in a child process (`sliced`). `augmented_lagrangian` begins with
the same loop where that pays, and goes on where it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import Abilities, Form, Machines
from qpsvm.backends.augmented_lagrangian_ import HINGE
from qpsvm.backends.base import Backend, Compiled
from qpsvm.backends.contract import Limits, SolverData, stopped
from qpsvm.backends.kernel_newton_ import LIBSVM_IMPORT
from qpsvm.costs import Cost, Import, Size
from qpsvm.dual.statement import Statement
from qpsvm.errors import UnsupportedError
from qpsvm.operators import LowRank
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution, Solver, Status
from qpsvm.rows import WithOnes
from qpsvm.solvers.linear.coordinate import (
    NUMBER_BYTES,
    NUMBER_SECONDS,
    ROW_SECONDS,
    Descent,
    countable,
    descend,
    numbers_of,
)
from qpsvm.solvers.shared.stopping import Clock

#: scikit-learn's own tolerance, for the largest violation, and the relative gap that it stands for.
DEFAULT_EPS, USUAL_GAP = 1e-4, 1e-6
#: Passes where no limit is given: on tables whose features are scaled alike it ends within a thousand.
PASSES = 10_000
#: Passes of an ordinary run, and the seconds of a call, for the estimate.
USUAL_PASSES, CALL = 200.0, 5e-4


class LiblinearBackend(Backend):
    """`sklearn.svm.LinearSVC` with `loss="hinge"`."""

    name = "liblinear"
    abilities = Abilities(
        needs="dual of a linear machine with hinge losses and a penalised intercept or none; the peer to compare with",
        dual=(Machines(HINGE - {"balance"}),), because="it solves the dual", polls=True, package="scikit-learn",
    )  # fmt: skip
    loads = Import("sklearn.svm", LIBSVM_IMPORT)

    def options(self) -> frozenset[str]:
        """LIBLINEAR's own: `eps`, its tolerance for the largest violation."""
        return frozenset({"eps"})

    def estimate(self, size: Size, form: Form) -> Cost:
        """Passes over the rows; its loop runs in slices, so that it can be stopped from the beginning."""
        del form
        seconds = NUMBER_SECONDS * (size.entries + 2 * size.rows) + ROW_SECONDS * size.rows
        return Cost(0.0, CALL + USUAL_PASSES * seconds, NUMBER_BYTES * (size.entries + 3 * size.rows))

    def compile(self, qp: QP) -> LiblinearCompiled:
        """X, y, sample weights that carry C, and whether there is an intercept."""
        statement = self.stated(qp)
        svm = statement.svm
        assert isinstance(svm.gram, LowRank)  # it takes linear machines only
        source, intercept = svm.gram.source, isinstance(svm.gram.source, WithOnes)
        X = source.source.matrix() if isinstance(source, WithOnes) else source.matrix()
        if not countable(X):
            raise UnsupportedError(
                f"liblinear counts with 32 bits, and cannot take {numbers_of(X)} numbers; use augmented_lagrangian"
            )
        upper = np.ascontiguousarray(svm.upper)
        return LiblinearCompiled(
            self, qp, SolverData(X=X, y=svm.sign, sample_weight=upper, fit_intercept=intercept), statement
        )


class LiblinearCompiled(Compiled):
    """X, y, sample_weight of `LinearSVC.fit`, and `fit_intercept`."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, statement: Statement) -> None:
        super().__init__(backend, qp, data)
        self._statement = statement

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        data, statement, most = self.data, self._statement, limits.max_iter or PASSES
        eps = DEFAULT_EPS if limits.tol is None else min(DEFAULT_EPS, DEFAULT_EPS / USUAL_GAP * limits.tol)
        clock = Clock(limits.time_limit)
        found = descend(
            data.X, data.y, data.sample_weight, data.fit_intercept, eps=float(options.get("eps", eps)), most=most,
            clock=clock, verbose=limits.verbose,
        )  # fmt: skip
        status, raw = _end(found, most, clock)
        solver = Solver(self.backend.name, self.backend.version() or "?", raw)
        w = np.append(found.w, found.b) if data.fit_intercept else found.w
        if not (np.isfinite(w).all() and np.isfinite(found.alpha).all()):
            return QPSolution(self.qp, Status.NUMERICAL_ERROR, solver, iterations=found.iterations)
        x, y = statement.x(found.alpha), statement.multipliers({"b": found.b})
        return QPSolution(self.qp, status, solver, x=x, y=y, v=statement.lift(w), iterations=found.iterations)


def _end(found: Descent, most: int, clock: Clock) -> tuple[Status, str]:
    """Why the loop ended."""
    if found.finished:
        return Status.OPTIMAL, "converged"
    if found.iterations >= most:
        return stopped("iteration_limit")
    return stopped(clock.stopped() or "time_limit")
