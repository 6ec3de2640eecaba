"""Draw the picture of a derivation: the samples in the plane of two features, else over f(x_i) and α_i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.display import Picture, Symbol
from qpsvm.result.svm_result import SVMResult

#: A piece of a level line: its two ends.
Segment = tuple[FloatArray, FloatArray]
#: Points of the picture at most, and its cells along each side where f is evaluated.
MAX_POINTS, CELLS = 250, 36
#: Below this share of the largest a sample has nothing of a symbol, but for rounding.
MIN_AMOUNT_SHARE = 1e-9


def compute_amounts(quantities: Any, value: FloatArray | None) -> FloatArray | None:
    """Return the amount of a symbol in each sample, (n,): sums over the rows of a sample; None for other shapes."""
    X = quantities.X
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if value is None or not value.ndim:
        return None
    size = np.abs(value)
    if size.ndim == 2:
        return size.sum(axis=1) if len(size) == n else None
    svm = getattr(quantities, "svm", None)
    if svm is not None and len(size) == svm.m and svm.mix is not None:
        return np.asarray(abs(svm.mix).T @ size).ravel()
    if svm is not None and len(size) == svm.m and svm.rows is not None:
        return np.asarray(np.bincount(svm.rows, weights=size, minlength=n), dtype=float)
    return size if len(size) == n else None


def build_picture(quantities: Any, key: Iterable[Symbol]) -> Picture | None:
    """Build the picture of the samples, each with its nonzero symbols; None if X is sparse or no array."""
    problem = quantities.problem
    if not hasattr(problem.X, "shape") or hasattr(problem.X, "tocsr"):
        return None
    X = np.asarray(problem.X, dtype=float)[problem.active_rows]
    n = len(X)
    found = ((symbol.name, compute_amounts(quantities, symbol.value)) for symbol in key)
    amounts = {name: amount for name, amount in found if amount is not None and len(amount) == n}
    alpha = amounts.get("α", np.zeros(n))
    kept = np.sort(np.argsort(-alpha, kind="stable")[:MAX_POINTS])
    if X.shape[1] == 2 and not isinstance(quantities, AllInOneQuantities):
        points, lines = X, _trace_level_lines(quantities, X)
        axes = tuple(getattr(problem, "feature_names", None) or ("first feature", "second feature"))
    else:
        points, lines, axes = np.column_stack([_evaluate_f(quantities), alpha]), (), ("f", "α")
    captions = tuple(
        f"sample {row}: " + ", ".join(f"{name} = {amount[i]:.4g}" for name, amount in amounts.items())
        for i, row in zip(kept, problem.active_rows[kept], strict=True)
    )
    nonzero = {name: amount > MIN_AMOUNT_SHARE * amount.max() for name, amount in amounts.items()}
    symbol_names = tuple(tuple(name for name, mask in nonzero.items() if mask[i]) for i in kept)
    return Picture(points[kept], _is_above_median(problem, n)[kept], captions, symbol_names, lines, (axes[0], axes[1]))


def _evaluate_f(quantities: Any) -> FloatArray:
    """Evaluate f at the samples, (n,); of several classes the largest f of each sample."""
    problem = quantities.problem
    diagonal = problem._take_kernel_diagonal(slice(None))
    f = np.asarray(quantities.result.decision_function(problem.X, diagonal=diagonal))[problem.active_rows]
    largest: FloatArray = f if f.ndim == 1 else f.max(axis=1)
    return largest


def _is_above_median(problem: Any, n: int) -> NDArray[np.bool_]:
    """Mark the samples whose target is above the median, (n,); none if the problem has no target for each."""
    target = np.asarray(getattr(problem, "_active_target", ()), dtype=float)
    return target > np.median(target) if len(target) == n else np.zeros(n, dtype=np.bool_)


def _trace_level_lines(quantities: Any, points: FloatArray) -> tuple[tuple[float, tuple[Segment, ...]], ...]:
    """Trace the boundary and the margins over the plane of the points; a regression has neither."""
    margin = float(getattr(quantities.result, "rho", 1.0))
    levels = {"labels": (-margin, 0.0, margin), "none": (0.0,)}.get(quantities.problem._target_kind, ())
    return tuple((level, tuple(contour(quantities.result, points, level))) for level in levels)


def contour(result: SVMResult, points: FloatArray, level: float) -> Iterator[Segment]:
    """Yield pieces of the line f = level over the plane of the points: two ends each, by halves of grid cells."""
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    across, up = np.meshgrid(np.linspace(x0, x1, CELLS), np.linspace(y0, y1, CELLS))
    corners = np.dstack([across, up])
    f = np.asarray(result.decision_function(corners.reshape(-1, 2))).reshape(CELLS, CELLS) - level
    for i in range(CELLS - 1):
        for j in range(CELLS - 1):
            for half in (((i, j), (i + 1, j), (i, j + 1)), ((i + 1, j), (i, j + 1), (i + 1, j + 1))):
                ends = []
                for k in range(3):
                    one, other = half[k], half[k - 1]
                    if (f[one] > 0) != (f[other] > 0):
                        share = f[one] / (f[one] - f[other])
                        ends.append(corners[one] + share * (corners[other] - corners[one]))
                if len(ends) == 2:
                    yield ends[0], ends[1]
