"""What the plane shows of a result: f on a grid or as a curve, the hulls that the dual is about, a ball's centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import NotSeparableError
from qpsvm.faces.play.finite import number, numbers
from qpsvm.faces.play.machines import MACHINES
from qpsvm.faces.play.reply.parts import half_tube
from qpsvm.faces.play.request import Request, State
from qpsvm.faces.plotting.hulls import reduced_hull
from qpsvm.faces.plotting.view import BLOCK_ENTRIES
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Free space around the points, as a share of their range; and half of what is shown where they have none.
ROOM, ALONE = 0.15, 1.0
#: Digits of f, below the larger of its level and its typical size.
DIGITS = 6
#: A hull is drawn to this share of its range: less than a pixel.
PIXEL = 1e-4
#: Points of a curve; and levels of f inside and outside, as shares of its largest value at a sample.
TICKS_OF_CURVE, CONTOURS = 241, (-1.0, -0.5, 0.25, 0.5, 0.75)
#: The classes in the order in which a page lists them.
LABELS = (1, -1)
#: Closest points are one point where they are nearer than this share of the points' range.
ONE_POINT = 1e-7


def plane(request: Request, state: State, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """f on the grid and the geometry of the dual; of a regression f over the horizontal axis."""
    box = request.box or box_around(state)
    shown: dict[str, Any] = {"box": list(box), "n": request.grid}
    learnt = MACHINES[state.machine].learnt
    if learnt == "numbers":
        return shown | _curve(state, problem, result, box)
    shown["f"] = _values(state, result, box, request.grid)
    if learnt == "none":
        return shown | _enclosed(state, problem, result)
    return shown | {"levels": [-result.rho, 0.0, result.rho], **_hulls(state, problem, result)}


def _curve(state: State, problem: Problem, result: SVMResult, box: tuple[float, float, float, float]) -> dict[str, Any]:
    """f along the horizontal axis, the other features at their medians, with half the width of the tube."""
    x = np.linspace(box[0], box[1], TICKS_OF_CURVE)
    at = np.tile(np.median(state.points[:, :-1], axis=0), (len(x), 1))
    at[:, state.axes[0]] = x
    with np.errstate(all="ignore"):  # what overflows becomes null
        f = result.decision_function(at)
    return {"f": None, "levels": [], "curve": numbers(f), "epsilon": half_tube(problem, result), **_nothing("")}


def _enclosed(state: State, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """f = 0 between levels inside and outside, and the ball where it is one of the plane."""
    highest = float(result.yf.max(initial=0.0))
    ball = None
    if "radius" in result.extras and problem.space.is_linear and state.points.shape[1] == 2:
        ball = {"centre": numbers(result.centre[list(state.axes)]), "radius": number(result.radius)}
    return {"levels": [None, 0.0, None], "contours": [share * highest for share in CONTOURS if highest > 0.0],
            "ball": ball, **_nothing("")}  # fmt: skip


def proof_plane(request: Request, state: State, problem: Problem, error: NotSeparableError) -> dict[str, Any]:
    """The hulls of two classes that cannot be separated, and the point that they share."""
    box, why = request.box or box_around(state), why_no_hulls(state, problem)
    shown = {"box": list(box), "n": request.grid, "f": None, "levels": [-1.0, 0.0, 1.0], **_nothing(why)}
    if not why:
        shown["hulls"] = _listed(_hulls_of(state, np.ones(len(state.labels))), None)
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
    if MACHINES[state.machine].curved:
        return "where the price of slack is curved, the dual is no distance between hulls alone"
    if problem.intercept != "free":
        return "without a free intercept, there is no row yᵀα = 0, and the dual is no distance between hulls"
    if state.points.shape[1] != 2:
        return f"the hulls lie in {state.points.shape[1]} dimensions"
    return ""


def _projected(state: State) -> FloatArray:
    """The points on the plane, (n, 2)."""
    projected: FloatArray = state.points[:, list(state.axes)]
    return projected


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
        return _nothing(why)
    points, alpha = _projected(state), result.alpha
    full = _hulls_of(state, np.ones(len(alpha)))
    members = [state.labels == label for label in LABELS]
    sums = [float(alpha[rows].sum()) for rows in members]
    if not min(sums) > 0.0:
        return {**_nothing("every α is 0, so there are no closest points"), "hulls": _listed(full, None)}
    with np.errstate(over="ignore"):  # α may be far below its bound
        caps = np.minimum(2.0 * result.upper / sum(sums), 1.0)
    reduced = full if (caps >= 1.0).all() else _hulls_of(state, caps)
    closest = [alpha[rows] @ points[rows] / total for rows, total in zip(members, sums, strict=True)]
    meet = float(np.hypot(*(closest[0] - closest[1]))) <= ONE_POINT * float(np.ptp(points, axis=0).max())
    return {
        "hulls": _listed(full, reduced), "cap": float(caps.max()), "closest": numbers(closest),
        "meeting": numbers(closest[0]) if meet else None, "why_no_hulls": "",
    }  # fmt: skip


def _nothing(why: str) -> dict[str, Any]:
    """No hulls, and why."""
    return {"hulls": None, "cap": None, "closest": None, "meeting": None, "why_no_hulls": why}


def _hulls_of(state: State, caps: FloatArray) -> list[FloatArray]:
    """The reduced hulls of both classes on the plane, for the caps of all samples (n,)."""
    points = _projected(state)
    return [reduced_hull(points[rows], caps[rows], PIXEL) for rows in (state.labels == label for label in LABELS)]


def _listed(full: list[FloatArray], reduced: list[FloatArray] | None) -> list[dict[str, Any]]:
    """The hulls of both classes for the page; where there are no reduced ones, their lists are empty."""
    parts = [[], []] if reduced is None else [numbers(hull) for hull in reduced]
    return [{"label": label, "full": numbers(hull), "reduced": part}
            for label, hull, part in zip(LABELS, full, parts, strict=True)]  # fmt: skip
