"""Draw the dual as the closest points of two reduced convex hulls (`hulls`).

A reduced convex hull caps the weight of each sample in a convex combination. The dual of a linear C-SVM or ν-SVM
minimises the distance between the reduced hulls of the classes. In the plane, a hull is computed from its furthest
points in given directions: starting with four, it searches behind every edge for a vertex that lies beyond it.

    (HULL.1)  reduced hull:  {Σ a_i x_i : Σ a_i = 1, 0 ≤ a_i ≤ μ_i}, the convex hull where no μ_i is below 1
    (HULL.2)  furthest point in a direction: set a_i = μ_i for the x_i that lie furthest, one after the other, until
              the sum is 1
    (HULL.3)  w = A (p − m) with p = Σ₊ a_i x_i, m = Σ₋ a_i x_i, a_i = α_i/A and A = Σ₊ α_i = Σ₋ α_i: p and m are the
              closest points of the reduced hulls with μ_i = C_i/A, and ‖w‖ = A ‖p − m‖
    (HULL.4)  for a hard margin ‖p − m‖ = 2/‖w‖, the margin, and f = 0 bisects the segment; otherwise
              f(p) = ρ − Σ₊ a_iξ_i and f(m) = −(ρ − Σ₋ a_iξ_i): f = 0 is perpendicular to the segment but need not
              bisect it

Sources: Bennett & Bredensteiner, *Duality and geometry in SVM classifiers*, ICML (2000); Crisp & Burges, *A geometric
interpretation of ν-SVM classifiers*, NIPS (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base import errors
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.faces.plotting.accepted import build_refusal, check_machine, check_picture
from qpsvm.faces.plotting.labels import escape_label, finish_axes, set_title
from qpsvm.faces.plotting.markers import make_marker_proxy
from qpsvm.faces.plotting.palette import BLACK, CLASSES, EDGE, GREY, PURPLE, SAMPLE, SHAPES
from qpsvm.faces.plotting.picture import Axes, make_axes, picture
from qpsvm.faces.plotting.view import View, build_view
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Linear

#: A point beyond an edge is a vertex, and not rounding, from this share of the samples' range on.
VERTEX_TOL = 1e-9
#: The boundary bisects the segment if it passes its middle within this share of the segment's length.
BISECTOR_TOL = 1e-6
#: Area of the marker where the hulls meet, in points². It is open, because a sample may lie there.
STAR = 300
#: The closest points coincide if their distance is at most this share of the samples' range.
COMMON_POINT_TOL = 1e-7
#: Errors of `solve` for hulls that meet, or are so close that no margin is found.
ERRORS = (errors.NotSeparableError, errors.MarginNotFoundError)


def find_furthest_points(points: FloatArray, caps: FloatArray, directions: FloatArray) -> FloatArray:
    """Find the furthest point of the reduced hull in each direction, (HULL.2).

    Shapes: points (n, 2), caps μ (n,), directions (k, 2) or (2,), the result as the directions.
    """
    order = np.argsort(-(points @ np.atleast_2d(directions).T), axis=0, kind="stable")
    total = np.minimum(np.cumsum(caps[order], axis=0), 1.0)
    weights = total.copy()
    weights[1:] -= total[:-1]
    coordinates = [(weights * points[order, j]).sum(axis=0) / total[-1] for j in range(2)]
    return np.column_stack(coordinates).reshape(directions.shape)


def compute_reduced_hull(points: FloatArray, caps: FloatArray, vertex_tol: float = VERTEX_TOL) -> FloatArray:
    """Return the vertices of (HULL.1), counterclockwise. Shapes: points (n, 2), caps (n,) → (v, 2)."""
    tolerance = vertex_tol * float(np.ptp(points, axis=0).max())
    origin = points.mean(axis=0)  # a large offset would cost the digits that the shape needs
    points = points - origin
    vertices = find_furthest_points(points, caps, np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]))
    is_open = np.ones(len(vertices), dtype=np.bool_)  # whether a vertex may lie beyond the edge that begins here
    while is_open.any():
        edges = np.flatnonzero(is_open)
        has_vertex, found = _find_vertices_beyond(
            points, caps, vertices[edges], np.roll(vertices, -1, axis=0)[edges], tolerance
        )
        is_open[edges] = has_vertex
        vertices = np.insert(vertices, edges[has_vertex] + 1, found[has_vertex], axis=0)
        is_open = np.insert(is_open, edges[has_vertex] + 1, True)
    is_distinct = np.abs(vertices - np.roll(vertices, 1, axis=0)).max(axis=1) > tolerance
    hull: FloatArray = (vertices[is_distinct] if is_distinct.any() else vertices[:1]) + origin
    return hull


def _find_vertices_beyond(
    points: FloatArray, caps: FloatArray, start: FloatArray, stop: FloatArray, tolerance: float
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Mark the edges from `start` to `stop`, (k, 2) each, with a vertex beyond, (k,); return these vertices, (k, 2)."""
    edge = stop - start
    length = np.hypot(*edge.T)
    outward = np.column_stack([edge[:, 1], -edge[:, 0]])
    found = find_furthest_points(points, caps, outward)
    reach = np.einsum("kj,kj->k", outward, found - start)  # the distance beyond the edge, times its length
    is_new = (found != start).any(axis=1) & (found != stop).any(axis=1)
    return (length > tolerance) & (reach > tolerance * length) & is_new, found


HullsError = errors.NotSeparableError | errors.MarginNotFoundError


@picture
def hulls(
    problem: Problem,
    result: SVMResult | HullsError,
    *,
    names: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the reduced convex hulls of both classes, their closest points, and the boundary between them.

    This is for `HardMargin`, `CSVM`, `NuSVM` and `PrimalHinge`. For a loss with curvature, such as that of
    `SquaredHinge`, the dual is not the distance of hulls in the plane, (SQHINGE.17).

    Parameters
    ----------
    problem : Problem
        With two features, a linear kernel and a free intercept.
    result : SVMResult, NotSeparableError or MarginNotFoundError
        Of that problem. If the hulls meet, `solve` raises the error, and their common point is drawn.
    names : (str, str), optional
        Names of the features.
    legend, ax

    Returns
    -------
    Axes
        With equal units in both directions, so that right angles look right; unless, as in `boundary`, the ranges of
        the features differ too much, which the title then says.

    Raises
    ------
    UnsupportedError
        The machine, kernel or number of features is another one, or the intercept is not free; the message names a
        suitable picture.
    ParameterError
        Every α is 0.
    DataError
        The result or error is not of this problem.
    MissingExtraError

    Notes
    -----
    A sample has at most the weight μ_i = C_i/Σ₊α in the point of its class, (HULL.1). This is 1 for a hard margin and
    2/(νn) for a ν-SVM; for a C-SVM it is that of the equivalent ν. (HULL.3) and (HULL.4) relate the two points to the
    boundary.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
    >>> ax = qpsvm.plotting.hulls(problem, qpsvm.solve(problem))
    >>> ax.get_aspect()
    1.0

    If the hulls meet, pass the error:

    >>> problem = qpsvm.HardMargin([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]], [0, 0, 1, 1])
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.NotSeparableError as error:
    ...     ax = qpsvm.plotting.hulls(problem, error)
    """
    error = result if isinstance(result, ERRORS) else getattr(result, "error", None)
    proof = error if isinstance(error, ERRORS) else None
    _check_result(problem, result)
    view = build_view("hulls", problem, None, names)
    solved: Any = result
    if proof is None:
        closest = find_closest_points(problem, solved)
    else:
        closest = _find_common_point(problem, proof)
    ax = make_axes(ax, view.figure_size)
    handles = _draw_hulls(ax, problem, view, closest)
    if proof is None:
        handles += _draw_lines(ax, solved, view, closest)
    handles.append(_draw_points(ax, view, closest))
    units = view.set_frame(ax)
    reduced = f"reduced convex hulls: no weight above {closest.caps.max():.3g}"
    set_title(ax, problem.title, "convex hulls" if closest.is_unreduced else reduced, units)
    which = "the common" if isinstance(proof, errors.NotSeparableError) else "a closest"
    return finish_axes(ax, legend, [*handles, make_marker_proxy("o", BLACK, "0.6", f"part of {which} point")])


@dataclass(frozen=True, eq=False)
class ClosestPoints:
    """The closest points of the two hulls of m active samples.

    used (m,): Whether a sample has a weight in its point.
    caps (m,): μ_i of (HULL.3).
    plus, minus (2,): The points p and m of (HULL.3).
    """

    used: NDArray[np.bool_]
    caps: FloatArray
    plus: FloatArray
    minus: FloatArray

    @property
    def is_unreduced(self) -> bool:
        """Whether the hulls are not reduced."""
        return bool((self.caps >= 1.0).all())

    @property
    def distance(self) -> float:
        """The distance of the two points."""
        return float(np.hypot(*(self.plus - self.minus)))

    def is_common_point(self, points: FloatArray) -> bool:
        """Whether the two points coincide up to rounding, relative to samples (m, 2)."""
        return self.distance <= COMMON_POINT_TOL * float(np.ptp(points, axis=0).max())


def _check_result(problem: Problem, result: SVMResult | HullsError) -> None:
    """Check that the hulls of this problem can be drawn. Raises UnsupportedError, ParameterTypeError, DataError."""
    if isinstance(result, ERRORS):
        check_machine("hulls", problem)
    else:
        check_picture("hulls", problem, result)
    d = problem.X.shape[1]
    why = ""
    if not isinstance(problem.kernel, Linear) or d != 2:
        why = (
            f"hulls are drawn in the plane of two features, for a linear kernel; here the kernel is {problem.kernel} "
            f"on {d} feature{'s' if d > 1 else ''}"
        )
    elif problem.intercept != "free":
        why = (
            f"the intercept is {problem.intercept!r}: without yᵀα = 0 the classes' sums of α differ, so the dual is "
            'not the distance between hulls; use intercept="free"'
        )
    elif problem.constraints:
        why = "the machine has linear constraints, whose multipliers move w: its α are no weights of two closest points"
    if why:
        raise build_refusal("hulls", problem, why)


def find_closest_points(problem: Problem, result: SVMResult) -> ClosestPoints:
    """Find both points of (HULL.3). Raises ParameterError."""
    y = problem._active_target
    alpha = result.alpha[problem.active_rows]
    total = float(alpha.sum()) / 2
    if not total > 0:
        raise errors.ParameterError("every α is 0, so there are no closest points to draw")
    a = alpha / np.where(y > 0, alpha[y > 0].sum(), alpha[y < 0].sum())  # (HULL.3)
    used = result.kind[problem.active_rows] > 0  # not α > 0: a solver may return traces of every sample
    with np.errstate(over="ignore"):  # α may be far below its bound
        caps = np.minimum(problem.upper / total, 1.0)
    return _build_closest_points(problem, a, used, caps)


def _find_common_point(problem: Problem, error: HullsError) -> ClosestPoints:
    """Return the common point of both hulls that an error proves, after a check. Raises DataError."""
    advice = "give the error that solve(problem) raised"
    if len(error.u) != problem.n:
        raise errors.DataError(f"the error is over {len(error.u)} rows, the problem has {problem.n}: {advice}")
    u, v = error.u[problem.active_rows], error.v[problem.active_rows]
    plus, minus = np.where(problem._active_target > 0, u, 0.0), np.where(problem._active_target < 0, v, 0.0)
    X = problem.X[problem.active_rows]
    X = as_dense(X) - X.mean(axis=0)  # a large offset would cost digits
    distance = float(np.hypot(*((plus - minus) @ X)))
    sum_error = max(abs(float(weights.sum()) - 1.0) for weights in (plus, minus))
    if sum_error > COMMON_POINT_TOL or distance > COMMON_POINT_TOL * float(np.hypot(*X.T).max()):
        raise errors.DataError(
            "the error is of another problem: its weights u and v give two points of the classes' hulls, "
            f"{distance:.3g} apart, and no common one: {advice}"
        )
    a = u + v
    return _build_closest_points(problem, a, a > 0, np.ones(len(a)))


def _build_closest_points(problem: Problem, a: FloatArray, used: NDArray[np.bool_], caps: FloatArray) -> ClosestPoints:
    """Build the two points of the weights a (m,) within each class."""
    y = problem._active_target
    X = problem.X[problem.active_rows]
    return ClosestPoints(used, caps, (a * (y > 0)) @ X, (a * (y < 0)) @ X)


def _draw_hulls(ax: Axes, problem: Problem, view: View, closest: ClosestPoints) -> list[Any]:
    """Draw the samples and hulls of both classes, and the reduced hulls if they differ."""
    handles = []
    for side, (shape, color, label) in enumerate(zip(SHAPES, CLASSES, problem.classes, strict=True)):
        members = (problem._active_target > 0) == bool(side)
        points = view.points[members]
        name = "convex hull" if closest.is_unreduced else "reduced hull"
        vertices = compute_reduced_hull(points, closest.caps[members])
        look: dict[str, Any] = {"facecolor": (color, 0.18), "edgecolor": color, "linestyle": ("--", "-")[side]}
        handles += ax.fill(*vertices.T, linewidth=1.4, zorder=1, label=f"{name}, class {escape_label(label)}", **look)
        if not closest.is_unreduced:
            full_hull = compute_reduced_hull(points, np.ones(len(points)))
            ax.fill(*full_hull.T, fill=False, edgecolor=color, linestyle=":", linewidth=0.9, zorder=1)
        used = closest.used[members]
        for chosen, fill in ((~used, "white"), (used, color)):
            x, y = points[chosen].T
            ax.scatter(x, y, s=SAMPLE, c=fill, marker=shape, edgecolors=color, linewidths=EDGE, zorder=3)
    return handles


def _draw_points(ax: Axes, view: View, closest: ClosestPoints) -> Any:
    """Draw the closest points and the segment between them, or the common point of the hulls."""
    if closest.is_common_point(view.points):
        x, y = closest.plus
        look: dict[str, Any] = {"s": STAR, "marker": "*", "facecolors": "none", "edgecolors": PURPLE, "linewidths": 2.0}
        return ax.scatter(x, y, zorder=6, label="the hulls meet", **look)
    ends = np.array([closest.plus, closest.minus]).T
    label = f"closest points, {closest.distance:.4g} apart"
    return ax.plot(*ends, color=PURPLE, linewidth=2.2, marker="D", markeredgecolor=BLACK, zorder=6, label=label)[0]


def _draw_lines(ax: Axes, result: SVMResult, view: View, closest: ClosestPoints) -> list[Any]:
    """Draw f = 0, f = ±ρ, and the bisector of the segment if that is not f = 0."""
    w = result.w
    diagonal = float(np.hypot(*np.ptp(view.points, axis=0)))
    if closest.is_common_point(view.points):
        return []
    middle = (closest.plus + closest.minus) / 2
    along = 2 * diagonal * np.array([-w[1], w[0]]) / float(np.hypot(*w))
    handles = []
    for level in (0.0, -result.rho, result.rho):
        foot = middle - w * (float(w @ middle) + result.b - level) / float(w @ w)
        if level:
            style, width, label = "--", 1.0, "margins"
        else:
            style, width, label = "-", 1.7, "boundary, f = 0"
        ends = np.array([foot - along, foot + along]).T
        line = ax.plot(*ends, color=BLACK, linestyle=style, linewidth=width, zorder=2, label=label)
        handles += line if level <= 0 else []
    shift = abs(float(w @ middle) + result.b) / float(np.hypot(*w))
    if shift > BISECTOR_TOL * closest.distance:
        ends = np.array([middle - along, middle + along]).T
        handles += ax.plot(*ends, color=GREY, linestyle=":", linewidth=1.5, zorder=2, label="perpendicular bisector")
    return handles
