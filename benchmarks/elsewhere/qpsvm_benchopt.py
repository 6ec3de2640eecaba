"""A solver of benchopt's benchmark of linear SVMs without intercept: ½‖β‖² + C Σ max(0, 1 − y xᵀβ).

    cp benchmarks/elsewhere/qpsvm_benchopt.py benchmark_linear_svm_binary_classif_no_intercept/solvers/qpsvm.py
    benchopt run benchmark_linear_svm_binary_classif_no_intercept -s qpsvm -s sklearn

benchopt asks for one tolerance after the other and times each. What is solved is the same problem times 1/(nC).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchopt import BaseSolver

import qpsvm


class Solver(BaseSolver):  # type: ignore[misc]
    """`qpsvm.solve` on the machine without an intercept, by the backend named."""

    name = "qpsvm"
    stopping_strategy = sampling_strategy = "tolerance"  # the first is what it was called before benchopt 1.5
    requirements = ("pip::qpsvm",)
    parameters = {"backend": ["auto"]}  # noqa: RUF012  (benchopt wants a dict)
    references = ("https://pypi.org/project/qpsvm",)

    def set_objective(self, X: Any, y: Any, C: float) -> None:
        """Samples (n, d), labels of −1 and +1 (n,), and the penalty."""
        self.X = X
        self.y = y
        self.C = C
        self.run(1e-1)  # what the first call imports is not timed

    def run(self, tolerance: float) -> None:
        """Solve to a certified gap."""
        n = len(self.y)
        problem = qpsvm.PrimalHinge(self.X, self.y, lam=1.0 / (n * self.C), intercept=None)
        found: Any = qpsvm.solve(problem, self.backend, tol=min(max(tolerance, 1e-12), 1e-1), check=False)
        self.beta = np.asarray(found.w)

    def get_result(self) -> Any:
        """β, (d,): by name since benchopt 1.5."""
        if hasattr(BaseSolver, "sampling_strategy"):
            return {"beta": self.beta}
        return self.beta
