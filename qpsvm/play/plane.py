"""What the plane shows of a result: f on a grid, the hulls that the dual is about, and their closest points."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.errors import NotSeparableError
from qpsvm.play.finite import numbers
from qpsvm.play.request import Request, State
from qpsvm.plotting.reduced_hull import reduced_hull
from qpsvm.plotting.view import BLOCK_ENTRIES
from qpsvm.problems import Problem
from qpsvm.result import SVMResult

#: Free space around the points, as a share of their range; and half of what is shown where they have none.
ROOM, ALONE = 0.15, 1.0
#: Digits of f, below the larger of its level and its typical size.
DIGITS = 6
#: A hull is drawn to this share of its range: less than a pixel.
PIXEL = 1e-4
#: Closest points are one point where they are nearer than this share of the points' range.
ONE_POINT = 1e-7


def plane(request: Request, state: State, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """f on the grid and the geometry of the dual."""
    box = request.box or box_around(state)
    shown = {"box": list(box), "n": request.grid, "f": _values(state, result, box, request.grid),
             "levels": [-result.rho, 0.0, result.rho]}  # fmt: skip
    return {**shown, **_hulls(state, problem, result)}


def proof_plane(request: Request, state: State, problem: Problem, error: NotSeparableError) -> dict[str, Any]:
    """The hulls of two classes that cannot be separated, and the point that they share."""
    box = request.box or box_around(state)
    shown: dict[str, Any] = {"box": list(box), "n": request.grid, "f": None, "levels": [-1.0, 0.0, 1.0]}
    why = why_no_hulls(state, problem)
    shown |= {"hulls": None, "cap": None, "closest": None, "meeting": None, "why_no_hulls": why}
    if not why:
        whole = [_hull(state, label, np.ones(len(state.labels))) for label in (1, -1)]
        shown["hulls"] = [{"label": label, "full": numbers(hull), "reduced": []} for label, hull in _each(whole)]
        shown["meeting"] = numbers((error.u + error.v) @ _projected(state) / 2)
    return shown


def box_around(state: State) -> tuple[float, float, float, float]:
    """A square part of the plane around the points."""
    points = _projected(state)
    if not len(points):
        return -ALONE, ALONE, -ALONE, ALONE
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) * (0.5 + ROOM) or ALONE
    x, y = (float(m) for m in middle)
    return x - half, x + half, y - half, y + half


def why_no_hulls(state: State, problem: Problem) -> str:
    """Why there are no hulls to draw, or ""."""
    if not problem.space.is_linear:
        return f"the hulls lie in the feature space of {problem.kernel}"
    if problem.intercept != "free":
        return "without a free intercept, there is no row yᵀα = 0, and the dual is no distance between hulls"
    if state.points.shape[1] != 2:
        return f"the hulls lie in {state.points.shape[1]} dimensions"
    return ""


def _projected(state: State) -> FloatArray:
    """The points on the plane, (n, 2)."""
    projected: FloatArray = state.points[:, list(state.axes)]
    return projected


def _hull(state: State, label: int, caps: FloatArray) -> FloatArray:
    """The reduced hull of a class, for caps of all samples (n,)."""
    members = state.labels == label
    return reduced_hull(_projected(state)[members], caps[members], PIXEL)


def _each(parts: list[FloatArray]) -> zip[tuple[int, FloatArray]]:
    """Both classes, the positive one first, with their parts."""
    return zip((1, -1), parts, strict=True)


def _values(state: State, result: SVMResult, box: tuple[float, float, float, float], n: int) -> list[Any]:
    """f on an n × n grid, row by row from y0 up, with as many digits as a picture needs: n² numbers."""
    x0, x1, y0, y1 = box
    x, y = np.meshgrid(np.linspace(x0, x1, n), np.linspace(y0, y1, n))
    base = np.median(state.points, axis=0)  # features that are not shown are held here
    step = max(1, BLOCK_ENTRIES // len(base))
    found = []
    for start in range(0, n * n, step):
        part = slice(start, start + step)
        at = np.tile(base, (len(x.ravel()[part]), 1))
        at[:, state.axes[0]], at[:, state.axes[1]] = x.ravel()[part], y.ravel()[part]
        with np.errstate(all="ignore"):  # what overflows becomes null
            found.append(result.decision_function(at))
    f = np.concatenate(found)
    finite = np.abs(f[np.isfinite(f)])
    size = max(abs(result.rho), float(np.median(finite)) if len(finite) else 0.0)
    if size > 0.0:
        f = np.round(f, min(max(DIGITS - int(np.ceil(np.log10(size))), 0), 300))
    return numbers(f)


def _hulls(state: State, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """(HULL.3): the hulls, the reduced hulls with the share that no sample may exceed, and their closest points."""
    why = why_no_hulls(state, problem)
    if why:
        return {"hulls": None, "cap": None, "closest": None, "meeting": None, "why_no_hulls": why}
    points, labels, alpha = _projected(state), state.labels, result.alpha
    full = [_hull(state, label, np.ones(len(labels))) for label in (1, -1)]
    total = float(alpha.sum()) / 2
    if not total > 0.0:
        hulls = [{"label": label, "full": numbers(hull), "reduced": []} for label, hull in _each(full)]
        return {"hulls": hulls, "cap": None, "closest": None, "meeting": None,
                "why_no_hulls": "every α is 0, so there are no closest points"}  # fmt: skip
    caps = np.minimum(result.upper / total, 1.0)
    reduced = full if (caps >= 1.0).all() else [_hull(state, label, caps) for label in (1, -1)]
    closest = [alpha[labels == label] @ points[labels == label] / alpha[labels == label].sum() for label in (1, -1)]
    apart = float(np.hypot(*(closest[0] - closest[1])))
    meet = apart <= ONE_POINT * float(np.ptp(points, axis=0).max())
    return {
        "hulls": [{"label": label, "full": numbers(hull), "reduced": numbers(part)}
                  for (label, hull), part in zip(_each(full), reduced, strict=True)],
        "cap": float(caps.max()), "closest": numbers(closest), "meeting": numbers(closest[0]) if meet else None,
        "why_no_hulls": "",
    }  # fmt: skip
