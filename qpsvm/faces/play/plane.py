"""Build the geometry that the page draws: curves, hulls, enclosures, values on a grid (`build_plane`)."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import NotSeparableError
from qpsvm.faces.play.checks import to_json_list, to_json_number
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.request import PageRequest, PageState
from qpsvm.faces.plotting.hulls import compute_reduced_hull, find_closest_points
from qpsvm.faces.plotting.tube import find_half_width
from qpsvm.faces.plotting.view import CURVE_POINTS, PADDING, View
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: The part of the plane that is shown: left, right, lower and upper end.
Box: TypeAlias = tuple[float, float, float, float]

#: Half the width of the plane if all points coincide.
DEFAULT_HALF_WIDTH = 1.0
#: Significant digits of f, relative to the larger of ρ and its median size.
DIGITS = 6
#: Accuracy of a hull, as a share of its range: less than a pixel.
HULL_TOL = 1e-4
#: Contour levels of f inside and outside an enclosure, as shares of its largest value at a sample.
CONTOURS = (-1.0, -0.5, 0.25, 0.5, 0.75)
#: The classes in the order in which a page lists them.
LABELS = (1, -1)


def build_plane(request: PageRequest, state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """Build what the page draws as JSON: f on a grid and hulls or a ball, or for a regression f along an axis."""
    box = request.box or compute_box(state)
    plane: dict[str, Any] = {"box": list(box), "n": request.grid}
    learnt = MACHINES[state.machine].learnt
    if learnt == "numbers":
        return plane | _build_curve(state, problem, result, box)
    plane["f"] = _evaluate_on_grid(state, result, box, request.grid)
    if learnt == "none":
        return plane | _build_enclosure(state, problem, result)
    return plane | {"levels": [-result.rho, 0.0, result.rho], **_build_hulls(state, problem, result)}


def build_boundary(request: PageRequest, state: PageState, result: SVMResult) -> dict[str, Any]:
    """Build f only: on the grid, or for a regression over the horizontal axis."""
    box = request.box or compute_box(state)
    if MACHINES[state.machine].learnt == "numbers":
        return {"box": list(box), "n": request.grid, "curve": to_json_list(_evaluate_on_axis(state, result, box))}
    return {"box": list(box), "n": request.grid, "f": _evaluate_on_grid(state, result, box, request.grid)}


def _build_curve(state: PageState, problem: Problem, result: SVMResult, box: Box) -> dict[str, Any]:
    """Build f along the horizontal axis, the other features at their medians, with the half width of the tube."""
    curve = to_json_list(_evaluate_on_axis(state, result, box))
    epsilon = find_half_width(problem, result)
    return {"f": None, "levels": [], "curve": curve, "epsilon": epsilon, **_build_empty_geometry("")}


def _evaluate_on_axis(state: PageState, result: SVMResult, box: Box) -> FloatArray:
    """Evaluate f at `CURVE_POINTS` points from left to right, the other features at their medians."""
    x = np.linspace(box[0], box[1], CURVE_POINTS)
    return _build_page_view(state.axes[:1], state.points[:, :-1]).evaluate(result, x[:, None])


def _build_enclosure(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """Build f = 0 with levels inside and outside, and the ball if it lies in the plane."""
    highest = float(result.yf.max(initial=0.0))
    ball = None
    if "radius" in result.extras and problem.space.is_linear and state.points.shape[1] == 2:
        ball = {"centre": to_json_list(result.centre[list(state.axes)]), "radius": to_json_number(result.radius)}
    return {"levels": [None, 0.0, None], "contours": [share * highest for share in CONTOURS if highest > 0.0],
            "ball": ball, **_build_empty_geometry("")}  # fmt: skip


def build_proof_plane(
    request: PageRequest, state: PageState, problem: Problem, error: NotSeparableError
) -> dict[str, Any]:
    """Build the hulls of two classes that are not separable, and their common point."""
    box = request.box or compute_box(state)
    why = explain_missing_hulls(state, problem)
    plane = {"box": list(box), "n": request.grid, "f": None, "levels": [-1.0, 0.0, 1.0], **_build_empty_geometry(why)}
    if not why:
        plane["hulls"] = _hulls_to_json(_compute_hulls(state, np.ones(len(state.labels))), None)
        plane["meeting"] = to_json_list((error.u + error.v) @ _project_points(state) / 2)
    return plane


def compute_box(state: PageState) -> Box:
    """Compute a square box around the points."""
    points = _project_points(state)
    if not len(points):
        return -DEFAULT_HALF_WIDTH, DEFAULT_HALF_WIDTH, -DEFAULT_HALF_WIDTH, DEFAULT_HALF_WIDTH
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    half = float((high - low).max()) * (0.5 + PADDING) or DEFAULT_HALF_WIDTH
    x, y = (float(m) for m in middle)
    return x - half, x + half, y - half, y + half


def explain_missing_hulls(state: PageState, problem: Problem) -> str:
    """Explain in a sentence why no hulls can be drawn; "" if they can."""
    if not problem.space.is_linear:
        return f"No hulls here: they lie in the feature space of {problem.kernel}."
    if MACHINES[state.machine].curved:
        return "No hulls here: with a curved penalty of slack, the dual is not just a distance between hulls."
    if problem.intercept != "free":
        return "No hulls here: without a free intercept, yᵀα = 0 is not required, and the dual is not such a distance."
    if state.points.shape[1] != 2:
        return f"No hulls here: they lie in {state.points.shape[1]} dimensions."
    return ""


def _project_points(state: PageState) -> FloatArray:
    """Project the points on the plane: (n, 2)."""
    return state.points[:, list(state.axes)]


def _build_page_view(axes: tuple[int, ...], X: FloatArray) -> View:
    """Build the plane or line that the page shows; features that are not shown are held at their medians."""
    return View(axes, np.median(X, axis=0), X[:, list(axes)], [], "")


def _evaluate_on_grid(state: PageState, result: SVMResult, box: Box, n: int) -> list[Any]:
    """Evaluate f on an n × n grid, row by row upwards, rounded to the digits that a picture needs: n² numbers."""
    grid = np.meshgrid(np.linspace(*box[:2], n), np.linspace(*box[2:], n))
    f = _build_page_view(state.axes, state.points).evaluate(result, np.column_stack([axis.ravel() for axis in grid]))
    finite = np.abs(f[np.isfinite(f)])
    size = max(abs(result.rho), float(np.median(finite)) if len(finite) else 0.0)
    if size > 0.0:
        f = np.round(f, min(max(DIGITS - int(np.ceil(np.log10(size))), 0), 300))
    return to_json_list(f)


def _build_hulls(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """Build the hulls, the reduced hulls with the cap on a sample's weight, and their closest points, (HULL.3)."""
    why = explain_missing_hulls(state, problem)
    if why:
        return _build_empty_geometry(why)
    full = _compute_hulls(state, np.ones(len(state.labels)))
    if not min(result.alpha[state.labels == label].sum() for label in LABELS) > 0.0:
        return {**_build_empty_geometry("No closest points: every α is 0."), "hulls": _hulls_to_json(full, None)}
    closest = find_closest_points(problem, result)
    axes = list(state.axes)
    reduced = full if closest.is_unreduced else _compute_hulls(state, closest.caps)
    return {
        "hulls": _hulls_to_json(full, reduced),
        "cap": float(closest.caps.max()),
        "closest": to_json_list([closest.plus[axes], closest.minus[axes]]),
        "meeting": to_json_list(closest.plus[axes]) if closest.is_common_point(state.points) else None,
        "missing": "",
    }


def _build_empty_geometry(why: str) -> dict[str, Any]:
    """Return the geometry of the dual without hulls, and a sentence that explains why."""
    return {"hulls": None, "cap": None, "closest": None, "meeting": None, "missing": why}


def _compute_hulls(state: PageState, caps: FloatArray) -> list[FloatArray]:
    """Compute the reduced hulls of both classes on the plane, for the caps of all samples (n,)."""
    points = _project_points(state)
    return [
        compute_reduced_hull(points[rows], caps[rows], HULL_TOL) for rows in (state.labels == label for label in LABELS)
    ]


def _hulls_to_json(full: list[FloatArray], reduced: list[FloatArray] | None) -> list[dict[str, Any]]:
    """Convert the hulls of both classes for the page, with empty lists if there are no reduced ones."""
    parts = [[], []] if reduced is None else [to_json_list(hull) for hull in reduced]
    return [
        {"label": label, "full": to_json_list(hull), "reduced": part}
        for label, hull, part in zip(LABELS, full, parts, strict=True)
    ]
