"""SVMs as a test set of qpbenchmark: every machine, both forms, dense and sparse, well and badly scaled.

    pip install qpbenchmark
    qpbenchmark benchmarks/elsewhere/svm.py run

The problems are made here, and are the same everywhere: nothing else of `benchmarks` is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import qpbenchmark
from sklearn import datasets

import qpsvm


class Svm(qpbenchmark.TestSet):  # type: ignore[misc]
    """Textbook duals and primals, as `problem.qp` makes them."""

    @property
    def title(self) -> str:
        """Title of the report."""
        return "Support vector machines"

    @property
    def description(self) -> str:
        """Description of the report."""
        return "Textbook duals and primals of support vector machines, unscaled, on tables that come with scikit-learn."

    @property
    def sparse_only(self) -> bool:
        """Whether only solvers of sparse matrices take part: P of a dual is dense."""
        return False

    def __iter__(self) -> Iterator[Any]:
        """One problem after the other, dense."""
        for name, problem in machines():
            forms = ("dual", "primal") if problem.space.is_linear else ("dual",)
            for form in forms:
                found = problem.qp(form).to_qpsolvers()
                parts = (found.P, found.q, found.G, found.h, found.A, found.b, found.lb, found.ub)
                yield qpbenchmark.Problem(*map(dense, parts), name=f"{name}-{form}")


def dense(part: Any) -> Any:
    """A part as an array that may be written to, which some solvers ask for."""
    if part is None:
        return None
    return np.array(part.toarray() if hasattr(part, "toarray") else part)


def machines() -> Iterator[tuple[str, Any]]:
    """Names and problems: two classes, regression and novelty detection, of 4 to 30 features."""
    X, target = datasets.load_iris(return_X_y=True)
    y = np.where(target == 1, 1.0, -1.0)
    raw, numbers = datasets.load_diabetes(return_X_y=True)
    raw, numbers = raw[:150], numbers[:150]
    wide, sick = datasets.load_breast_cancer(return_X_y=True)
    rows = np.arange(0, len(sick), 4)
    wide = wide[rows]
    sick = np.where(sick[rows] > 0, 1.0, -1.0)
    for C in (1e-2, 1.0, 1e2, 1e4):
        yield f"IRIS-C{C:g}", qpsvm.CSVM(X, y, C)
        yield f"IRIS-RBF-C{C:g}", qpsvm.CSVM(X, y, C, qpsvm.RBF(0.5))
        yield f"CANCER-RAW-C{C:g}", qpsvm.CSVM(wide, sick, C)
    apart = np.where(target == 0, 1.0, -1.0)
    yield "IRIS-HARD", qpsvm.HardMargin(X, apart)
    yield "IRIS-SQUARED", qpsvm.SquaredHinge(X, y)
    yield "IRIS-NU", qpsvm.NuSVM(X, y, 0.5, qpsvm.RBF(0.5))
    yield "IRIS-ONE-CLASS", qpsvm.OneClass(X, 0.1, qpsvm.RBF(0.5))
    yield "DIABETES-EPSILON", qpsvm.EpsilonSVR(raw, numbers, 10.0, 5.0)
    yield "DIABETES-NU", qpsvm.NuSVR(raw, numbers, 10.0)
