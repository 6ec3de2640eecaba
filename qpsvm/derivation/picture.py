"""Build the picture of a derivation: the samples in the plane of two features, or else of f(x_i) and α_i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.display import Picture, Symbol
from qpsvm.result.svm_result import SVMResult

#: A piece of a level line: its two ends.
Segment = tuple[FloatArray, FloatArray]
#: Largest number of samples in the picture.
MAX_POINTS = 250
#: Number of points along each side of the grid on which f is evaluated.
GRID_POINTS = 36
#: An amount below this share of the largest is a rounding error and counts as zero.
MIN_AMOUNT_SHARE = 1e-9


def compute_amounts(quantities: Any, value: FloatArray | None) -> FloatArray | None:
    """Return the amount of a symbol in each sample, (n,): its absolute values, summed over the rows of a sample.

    value: Shape (n,), (n, k) or, with one entry per row of the dual, (m,). None is returned for other shapes.
    """
    X = quantities.X
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if value is None or not value.ndim:
        return None
    size = np.abs(value)
    if size.ndim == 2:
        return size.sum(axis=1) if len(size) == n else None
    svm = getattr(quantities, "svm", None)
    if svm is not None and len(size) == svm.m:
        if svm.mix is not None:
            return np.asarray(abs(svm.mix).T @ size).ravel()
        if svm.rows is not None:
            return np.asarray(np.bincount(svm.rows, weights=size, minlength=n), dtype=float)
    return size if len(size) == n else None


def build_picture(quantities: Any, key: Iterable[Symbol]) -> Picture | None:
    """Build the picture of the samples, each with its nonzero symbols; None if X is sparse or not an array."""
    problem = quantities.problem
    if not hasattr(problem.X, "shape") or hasattr(problem.X, "tocsr"):
        return None
    X = np.asarray(problem.X, dtype=float)[problem.active_rows]
    n = len(X)
    found = ((symbol.name, compute_amounts(quantities, symbol.value)) for symbol in key)
    amounts = {name: amount for name, amount in found if amount is not None and len(amount) == n}
    alpha = amounts.get("α", np.zeros(n))
    shown = np.sort(np.argsort(-alpha, kind="stable")[:MAX_POINTS])  # the samples with the largest α
    if X.shape[1] == 2 and not isinstance(quantities, AllInOneQuantities):
        points = X
        lines = _trace_level_lines(quantities, X)
        axes = tuple(getattr(problem, "feature_names", None) or ("first feature", "second feature"))
    else:
        points = np.column_stack([_evaluate_f(quantities), alpha])
        lines = ()
        axes = "f", "α"
    captions = tuple(_write_caption(i, problem.active_rows[i], amounts) for i in shown)
    nonzero = {name: amount > MIN_AMOUNT_SHARE * amount.max() for name, amount in amounts.items()}
    symbol_names = tuple(tuple(name for name, mask in nonzero.items() if mask[i]) for i in shown)
    is_above = _is_above_median(problem, n)
    return Picture(points[shown], is_above[shown], captions, symbol_names, lines, (axes[0], axes[1]))


def _write_caption(i: int, row: int, amounts: Mapping[str, FloatArray]) -> str:
    """Write the amounts of sample i, which is row `row` of X."""
    return f"sample {row}: " + ", ".join(f"{name} = {amount[i]:.4g}" for name, amount in amounts.items())


def _evaluate_f(quantities: Any) -> FloatArray:
    """Evaluate f at the samples, (n,); with several classes, return the largest f of each sample."""
    problem = quantities.problem
    diagonal = problem._take_kernel_diagonal(slice(None))
    f = np.asarray(quantities.result.decision_function(problem.X, diagonal=diagonal))[problem.active_rows]
    largest: FloatArray = f if f.ndim == 1 else f.max(axis=1)
    return largest


def _is_above_median(problem: Any, n: int) -> NDArray[np.bool_]:
    """Mark the samples whose target is above the median, (n,); none if the samples have no targets."""
    target = np.asarray(getattr(problem, "_active_target", ()), dtype=float)
    return target > np.median(target) if len(target) == n else np.zeros(n, dtype=np.bool_)


def _trace_level_lines(quantities: Any, points: FloatArray) -> tuple[tuple[float, tuple[Segment, ...]], ...]:
    """Trace the boundary and the margins in the plane of the points (n, 2); a regression has neither."""
    margin = float(getattr(quantities.result, "rho", 1.0))
    levels = {"labels": (-margin, 0.0, margin), "none": (0.0,)}.get(quantities.problem._target_kind, ())
    return tuple((level, tuple(iter_contour_segments(quantities.result, points, level))) for level in levels)


def iter_contour_segments(result: SVMResult, points: FloatArray, level: float) -> Iterator[Segment]:
    """Yield the segments of the line f = level in the plane of the points (n, 2).

    Each cell of a grid is divided into two triangles, and f is interpolated linearly in each.
    """
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    across, up = np.meshgrid(np.linspace(x0, x1, GRID_POINTS), np.linspace(y0, y1, GRID_POINTS))
    grid = np.dstack([across, up])
    f = np.asarray(result.decision_function(grid.reshape(-1, 2))).reshape(GRID_POINTS, GRID_POINTS) - level
    for i, j in product(range(GRID_POINTS - 1), repeat=2):
        lower = (i, j), (i + 1, j), (i, j + 1)
        upper = (i + 1, j), (i, j + 1), (i + 1, j + 1)
        for triangle in (lower, upper):
            ends = []
            for k in range(3):
                start = triangle[k]
                stop = triangle[k - 1]
                if (f[start] > 0) != (f[stop] > 0):
                    share = f[start] / (f[start] - f[stop])
                    ends.append(grid[start] + share * (grid[stop] - grid[start]))
            if len(ends) == 2:
                yield ends[0], ends[1]
