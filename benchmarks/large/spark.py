"""Spark's way: the hinge loss by a quasi-Newton method that keeps ten gradients, to Spark's tolerance.

    (SPARK.1)  minimise (reg/2)‖w‖² + mean max(0, 1 − y_i(x_iᵀw + b)),  reg = 1/(nC) for a C-SVM

Spark's `LinearSVC` "optimizes the Hinge Loss using the OWLQN optimizer", by default to tol = 1e-6 in at most 100
iterations, with an intercept, on columns that are standardised: each divided by its deviation, its mean taken off
(spark.apache.org/docs/latest/api/python/reference/api/pyspark.ml.classification.LinearSVC.html, and LinearSVC.scala in
apache/spark, `train`). Without an L1 term OWL-QN is L-BFGS, of ten pairs there. It ends, by `FirstOrderMinimizer` of
Breeze, where the value is within tol·f(0) of the largest of the last twenty, or the norm of the gradient within tol·f.
Here SciPy's L-BFGS-B takes the steps, and the rule is Breeze's: both stop where Spark would. The penalty is that of w
in the columns' own units, Spark's `standardization=False`, so that it is the same machine as ours; the steps are taken
in standardised columns in both of Spark's settings. Spark's own default reg = 0 is no machine with a solution that
must exist, so reg follows from C.

A w without α has no gap of its own: its value is held against the dual one of a certified solution, the best lower
bound that is known, whoever made it. This is the kinder way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from qpsvm.base.arrays.types import FloatArray
from qpsvm.data.rows import RowSource

#: Spark's defaults, and Breeze's.
TOL, MAX_ITERATIONS, PAIRS, MEMORY, LEAST_GRADIENT = 1e-6, 100, 10, 20, 1e-8


@dataclass(frozen=True)
class SparkSolution:
    """Where it stopped: w (d,) and b in the columns' own units, iterations, passes over the rows, and why."""

    w: FloatArray
    b: float
    iterations: int
    passes: int
    stop_reason: str


@dataclass
class _StoppingRule:
    """When Breeze stops."""

    first: float
    tol: float
    values: list[float] = field(default_factory=lambda: [float("inf")])
    stop_reason: str = ""

    def is_met(self, value: float, gradient: FloatArray) -> bool:
        """After an iteration."""
        self.values = [*self.values, value][-MEMORY:]
        if abs(value - max(self.values)) <= self.tol * abs(self.first):
            self.stop_reason = "function values converged"
        elif np.linalg.norm(gradient) <= max(self.tol * abs(value), LEAST_GRADIENT):
            self.stop_reason = "gradient converged"
        return bool(self.stop_reason)


def minimise_hinge(
    rows: RowSource, y: FloatArray, C: float = 1.0, tol: float = TOL, most_iterations: int = MAX_ITERATIONS
) -> SparkSolution:
    """(SPARK.1) over the blocks of a source.

    Parameters
    ----------
    rows : RowSource, shape (n, d)
    y : ndarray, shape (n,)
        −1 or +1.
    C : float
    tol : float
    most_iterations : int
    """
    mean, deviation = _compute_moments(rows)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0.0)
    value_and_gradient, counted = _build_objective(rows, y, mean, scale, 1.0 / (rows.n * C))
    start = np.zeros(rows.d + 1)
    rule = _StoppingRule(value_and_gradient(start)[0], tol)

    def check_end(intermediate_result: Any) -> None:
        if rule.is_met(float(intermediate_result.fun), value_and_gradient(intermediate_result.x)[1]):
            raise StopIteration

    options = {"maxiter": most_iterations, "maxcor": PAIRS, "ftol": 0.0, "gtol": 0.0, "maxfun": 100 * most_iterations}
    found = minimize(value_and_gradient, start, method="L-BFGS-B", jac=True, callback=check_end, options=options)
    w = found.x[:-1] * scale
    words = rule.stop_reason or str(found.message)
    return SparkSolution(w, float(found.x[-1] - mean @ w), int(found.nit), 2 + len(counted), words)


def _compute_moments(rows: RowSource) -> tuple[FloatArray, FloatArray]:
    """Means and deviations of the columns: (d,) each."""
    mean = rows.means()
    squares = rows.column_squares() / rows.n - mean**2
    return mean, np.sqrt(np.maximum(squares, 0.0))


def _build_objective(
    rows: RowSource, y: FloatArray, mean: FloatArray, scale: FloatArray, reg: float
) -> tuple[Callable[[FloatArray], tuple[float, FloatArray]], list[int]]:
    """(SPARK.1) and its gradient at (v, b), w = scale∘v; the last point is kept. And a list that grows by each pass."""
    counted: list[int] = []
    kept: dict[bytes, tuple[float, FloatArray]] = {}

    def value_and_gradient(point: FloatArray) -> tuple[float, FloatArray]:
        key = point.tobytes()
        if key in kept:
            return kept[key]
        counted.append(1)
        w = point[:-1] * scale
        b = float(point[-1] - mean @ w)
        losses = {}
        sums = {}

        def visit(block: slice, u: FloatArray) -> FloatArray:
            slack = 1.0 - y[block] * (u + b)
            beta = np.where(slack > 0.0, -y[block], 0.0)
            losses[block.start] = float(np.maximum(slack, 0.0).sum())
            sums[block.start] = float(beta.sum())
            return beta

        pull = rows.scan(w, visit)
        total = sum(sums.values())
        gradient = np.append(scale * ((pull - total * mean) / rows.n + reg * w), total / rows.n)
        found = 0.5 * reg * float(w @ w) + sum(losses.values()) / rows.n, gradient
        kept.clear()
        kept[key] = found
        return found

    return value_and_gradient, counted
