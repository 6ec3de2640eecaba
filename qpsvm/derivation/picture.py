"""Draw the picture of a derivation: the samples in the plane of two features, else over f(x_i) and α_i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.display import Picture, Symbol
from qpsvm.result.svm_result import SVMResult

#: Points of the picture at most, and its cells along each side where f is evaluated.
MAX_POINTS, CELLS = 250, 36
#: Below this share of the largest a sample has nothing of a symbol, but for rounding.
MIN_AMOUNT_SHARE = 1e-9


def compute_amounts(at: Any, value: FloatArray | None) -> FloatArray | None:
    """Return the amount of a symbol in each sample, (n,): sums over the rows of a sample; None for other shapes."""
    n = len(at.X) if not hasattr(at.X, "shape") else at.X.shape[0]
    if value is None or not value.ndim:
        return None
    size = np.abs(value)
    if size.ndim == 2:
        return size.sum(axis=1) if len(size) == n else None
    svm = getattr(at, "svm", None)
    if svm is not None and len(size) == svm.m and svm.mix is not None:
        return np.asarray(abs(svm.mix).T @ size).ravel()
    if svm is not None and len(size) == svm.m and svm.rows is not None:
        return np.asarray(np.bincount(svm.rows, weights=size, minlength=n), dtype=float)
    return size if len(size) == n else None


def build_picture(at: Any, key: Iterable[Symbol]) -> Picture | None:
    """Build the picture of the samples, each with its nonzero symbols; None if there are no samples to show."""
    problem, result = at.problem, at.result
    X = problem.X if hasattr(problem.X, "shape") else None
    if X is None or hasattr(X, "tocsr"):
        return None
    X = np.asarray(X, dtype=float)[problem.active_rows]
    has = {
        symbol.name: found
        for symbol in key
        if (found := compute_amounts(at, symbol.value)) is not None and len(found) == len(X)
    }
    alpha = has.get("α", np.zeros(len(X)))
    kept = np.sort(np.argsort(-alpha, kind="stable")[:MAX_POINTS])
    plane = X.shape[1] == 2 and not isinstance(at, AllInOneQuantities)
    f = np.asarray(result.decision_function(problem.X, diagonal=problem._take_kernel_diagonal(slice(None))))[
        problem.active_rows
    ]
    points = X if plane else np.column_stack([f if f.ndim == 1 else f.max(axis=1), alpha])
    target = np.asarray(problem._active_target if hasattr(problem, "_active_target") else np.zeros(len(X)), dtype=float)
    group = np.sign(target - np.median(target)) if len(target) == len(X) else np.zeros(len(X))
    labels = [
        f"sample {problem.active_rows[i]}: " + ", ".join(f"{name} = {found[i]:.4g}" for name, found in has.items())
        for i in kept
    ]
    marks = tuple(tuple(name for name, found in has.items() if found[i] > MIN_AMOUNT_SHARE * found.max()) for i in kept)
    margin = float(getattr(result, "rho", 1.0))
    levels = {"labels": (-margin, 0.0, margin), "none": (0.0,)}.get(problem._target_kind, ()) if plane else ()
    lines = tuple((level, tuple(contour(result, points, level))) for level in levels)
    axes = (
        tuple(getattr(problem, "feature_names", None) or ("first feature", "second feature")) if plane else ("f", "α")
    )
    return Picture(points[kept], group[kept] > 0, tuple(labels), marks, lines, (axes[0], axes[1]))


def contour(result: SVMResult, points: FloatArray, level: float) -> Iterator[tuple[FloatArray, FloatArray]]:
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
