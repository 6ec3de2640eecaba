"""Draw the dual as the closest points of two reduced convex hulls (`hulls`).

Reduced convex hulls in the plane: a vertex is found from a direction, and an edge from two vertices.

    (HULL.1)  reduced hull:  {Σ a_i x_i : Σ a_i = 1, 0 ≤ a_i ≤ μ_i}, the convex hull where no μ_i is below 1
    (HULL.2)  furthest point in a direction: fill a_i up to μ_i, in the order of how far the x_i reach, until the sum
              is 1
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

#: A point is a vertex, and not rounding, where it reaches beyond an edge by this share of the samples' range.
NOTICED = 1e-9
#: A boundary is the segment's bisector where it passes the middle closer than this share of the segment's length.
BISECTS = 1e-6
#: Size of the mark where hulls meet, in points². The mark is open, because a sample may lie there.
STAR = 300
#: Closest points are one point where they are nearer than this share of the samples' range.
ONE_POINT = 1e-7
#: What `solve` raises where there is no margin to draw: two points of the hulls that are one, or look so.
ERRORS = (errors.NotSeparableError, errors.MarginNotFoundError)


def find_furthest_points(points: FloatArray, caps: FloatArray, directions: FloatArray) -> FloatArray:
    """Find the furthest points of the reduced hull of points (n, 2), caps μ (n,), in a direction (2,) or k of them.

    Shapes: points (n, 2), caps (n,), directions (2,).
    """
    order = np.argsort(-(points @ np.atleast_2d(directions).T), axis=0, kind="stable")
    filled = np.minimum(np.cumsum(caps[order], axis=0), 1.0)  # (HULL.2)
    weights = filled.copy()
    weights[1:] -= filled[:-1]
    reached = [(weights * points[order, j]).sum(axis=0) / filled[-1] for j in range(2)]
    return np.column_stack(reached).reshape(directions.shape)


def compute_reduced_hull(points: FloatArray, caps: FloatArray, noticed: float = NOTICED) -> FloatArray:
    """Return the vertices of (HULL.1), counterclockwise. Shapes: points (n, 2), caps (n,) → (v, 2)."""
    tolerance = noticed * float(np.ptp(points, axis=0).max())
    origin = points.mean(axis=0)  # an offset would take the digits that the shape needs
    points = points - origin
    vertices = find_furthest_points(points, caps, np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]))
    waiting = np.ones(len(vertices), dtype=np.bool_)  # edges to look behind, by the vertex at which they begin
    while waiting.any():
        rows = np.flatnonzero(waiting)
        beyond, found = _find_vertices_beyond(
            points, caps, vertices[rows], np.roll(vertices, -1, axis=0)[rows], tolerance
        )
        waiting[rows] = beyond
        vertices = np.insert(vertices, rows[beyond] + 1, found[beyond], axis=0)
        waiting = np.insert(waiting, rows[beyond] + 1, True)
    apart = np.abs(vertices - np.roll(vertices, 1, axis=0)).max(axis=1) > tolerance
    hull: FloatArray = (vertices[apart] if apart.any() else vertices[:1]) + origin
    return hull


def _find_vertices_beyond(
    points: FloatArray, caps: FloatArray, start: FloatArray, stop: FloatArray, tolerance: float
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Find the edges from `start` to `stop`, (k, 2) each, with a vertex beyond, (k,), and those vertices, (k, 2)."""
    edge = stop - start
    length = np.hypot(*edge.T)
    outward = np.column_stack([edge[:, 1], -edge[:, 0]])
    found = find_furthest_points(points, caps, outward)
    reach = np.einsum("kj,kj->k", outward, found - start)
    new = (found != start).any(axis=1) & (found != stop).any(axis=1)
    return (length > tolerance) & (reach > tolerance * length) & new, found


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
    `SquaredHinge`, the dual does not search for closest points of hulls in the plane, (SQHINGE.17).

    Parameters
    ----------
    problem : Problem
        With two features, a linear kernel and a free intercept.
    result : SVMResult, NotSeparableError or MarginNotFoundError
        Of that problem. Where the hulls meet, `solve` raises the error, and their common point is drawn.
    names : (str, str), optional
        Names of the features.
    legend, ax

    Returns
    -------
    Axes
        With equal units in both directions, so that right angles look right; as in `boundary`, unless the ranges of
        the features differ too much, which the title then says.

    Raises
    ------
    UnsupportedError
        Another machine, kernel or number of features, or an intercept that is not free: no such picture exists. Names
        one that draws the problem.
    ParameterError
        Every α is 0.
    DataError
        The result or error is not of this problem.
    MissingExtraError

    Notes
    -----
    In the point of its class, a sample has at most the share μ_i = C_i/Σ₊α, (HULL.1). This is 1 for a hard margin and
    2/(νn) for a ν-SVM; a C-SVM has that of the ν which belongs to its C. (HULL.3) and (HULL.4) tie the two points to
    the boundary.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 3.0]], [0, 0, 1, 1])
    >>> ax = qpsvm.plotting.hulls(problem, qpsvm.solve(problem))
    >>> ax.get_aspect()
    1.0

    Where the hulls meet, the error is the picture's data:

    >>> problem = qpsvm.HardMargin([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]], [0, 0, 1, 1])
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.NotSeparableError as error:
    ...     ax = qpsvm.plotting.hulls(problem, error)
    """
    error = result if isinstance(result, ERRORS) else getattr(result, "error", None)
    meeting = error if isinstance(error, ERRORS) else None
    _check_result(problem, result)
    view = build_view("hulls", problem, None, names)
    solved: Any = result
    shares = find_closest_points(problem, solved) if meeting is None else _find_common_point(problem, meeting)
    ax = make_axes(ax, view.figure_size)
    handles = _draw_hulls(ax, problem, view, shares)
    if meeting is None:
        handles += _draw_lines(ax, solved, view, shares)
    handles.append(_draw_points(ax, view, shares))
    units = view.set_frame(ax)
    reduced = f"reduced convex hulls: no weight above {shares.caps.max():.3g}"
    set_title(ax, problem.title, "convex hulls" if shares.is_unreduced else reduced, units)
    which = "the common" if isinstance(meeting, errors.NotSeparableError) else "a closest"
    return finish_axes(ax, legend, [*handles, make_marker_proxy("o", BLACK, "0.6", f"part of {which} point")])


@dataclass(frozen=True, eq=False)
class ClosestPoints:
    """Which of the m samples that take part are in a point, μ_i of (HULL.3), (m,) each, and the two points, (2,)."""

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
        return self.distance <= ONE_POINT * float(np.ptp(points, axis=0).max())


def _check_result(problem: Problem, result: SVMResult | HullsError) -> None:
    if isinstance(result, ERRORS):
        check_machine("hulls", problem)
    else:
        check_picture("hulls", problem, result)
    d, why = problem.X.shape[1], ""
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
    if why:
        raise build_refusal("hulls", problem, why)


def find_closest_points(problem: Problem, result: SVMResult) -> ClosestPoints:
    """Find both points of (HULL.3). Raises ParameterError."""
    y, alpha = problem._active_target, result.alpha[problem.active_rows]
    total = float(alpha.sum()) / 2
    if not total > 0:
        raise errors.ParameterError("every α is 0, so there are no closest points to draw")
    a = alpha / np.where(y > 0, alpha[y > 0].sum(), alpha[y < 0].sum())  # (HULL.3)
    used = result.kind[problem.active_rows] > 0  # a solver's own point may have a trace of every sample in it
    with np.errstate(over="ignore"):  # α may be far below its bound
        caps = np.minimum(problem.upper / total, 1.0)
    return _build_closest_points(problem, a, used, caps)


def _find_common_point(problem: Problem, error: HullsError) -> ClosestPoints:
    """Return the weights of the common point, and check that it is one of this problem's hulls."""
    advice = "give the error that solve(problem) raised"
    if len(error.u) != problem.n:
        raise errors.DataError(f"the error is over {len(error.u)} rows, the problem has {problem.n}: {advice}")
    u, v = error.u[problem.active_rows], error.v[problem.active_rows]
    own = [np.where(problem._active_target > 0, u, 0.0), np.where(problem._active_target < 0, v, 0.0)]
    X = problem.X[problem.active_rows]
    X = as_dense(X) - X.mean(axis=0)  # an offset would take the digits
    apart = float(np.hypot(*((own[0] - own[1]) @ X)))
    short = max(abs(float(side.sum()) - 1.0) for side in own)
    if short > ONE_POINT or apart > ONE_POINT * float(np.hypot(*X.T).max()):
        raise errors.DataError(
            "the error is of another problem: its weights u and v give two points of the classes' hulls, "
            f"{apart:.3g} apart, and no common one: {advice}"
        )
    a = u + v
    return _build_closest_points(problem, a, a > 0, np.ones(len(a)))


def _build_closest_points(problem: Problem, a: FloatArray, used: NDArray[np.bool_], caps: FloatArray) -> ClosestPoints:
    y, X = problem._active_target, problem.X[problem.active_rows]
    return ClosestPoints(used, caps, (a * (y > 0)) @ X, (a * (y < 0)) @ X)


def _draw_hulls(ax: Axes, problem: Problem, view: View, shares: ClosestPoints) -> list[Any]:
    """Draw the samples and hulls of both classes, and the reduced hulls if they differ."""
    handles = []
    for side, (shape, color, label) in enumerate(zip(SHAPES, CLASSES, problem.classes, strict=True)):
        members = (problem._active_target > 0) == bool(side)
        points, name = view.points[members], "convex hull" if shares.is_unreduced else "reduced hull"
        vertices = compute_reduced_hull(points, shares.caps[members])
        look: dict[str, Any] = {"facecolor": (color, 0.18), "edgecolor": color, "linestyle": ("--", "-")[side]}
        handles += ax.fill(*vertices.T, linewidth=1.4, zorder=1, label=f"{name}, class {escape_label(label)}", **look)
        if not shares.is_unreduced:
            whole = compute_reduced_hull(points, np.ones(len(points)))
            ax.fill(*whole.T, fill=False, edgecolor=color, linestyle=":", linewidth=0.9, zorder=1)
        used = shares.used[members]
        for chosen, fill in ((~used, "white"), (used, color)):
            x, y = points[chosen].T
            ax.scatter(x, y, s=SAMPLE, c=fill, marker=shape, edgecolors=color, linewidths=EDGE, zorder=3)
    return handles


def _draw_points(ax: Axes, view: View, shares: ClosestPoints) -> Any:
    """Draw the closest points and the segment between them, or the one point in which the hulls meet."""
    if shares.is_common_point(view.points):
        x, y = shares.plus
        look: dict[str, Any] = {"s": STAR, "marker": "*", "facecolors": "none", "edgecolors": PURPLE, "linewidths": 2.0}
        return ax.scatter(x, y, zorder=6, label="the hulls meet", **look)
    ends, label = np.array([shares.plus, shares.minus]).T, f"closest points, {shares.distance:.4g} apart"
    return ax.plot(*ends, color=PURPLE, linewidth=2.2, marker="D", markeredgecolor=BLACK, zorder=6, label=label)[0]


def _draw_lines(ax: Axes, result: SVMResult, view: View, shares: ClosestPoints) -> list[Any]:
    """Draw f = 0, f = ±ρ, and the bisector of the segment if that is not f = 0."""
    w, reach = result.w, float(np.hypot(*np.ptp(view.points, axis=0)))
    if shares.is_common_point(view.points):
        return []
    middle = (shares.plus + shares.minus) / 2
    along = 2 * reach * np.array([-w[1], w[0]]) / float(np.hypot(*w))
    handles = []
    for level in (0.0, -result.rho, result.rho):
        foot = middle - w * (float(w @ middle) + result.b - level) / float(w @ w)
        style, width, label = ("--", 1.0, "margins") if level else ("-", 1.7, "boundary, f = 0")
        ends = np.array([foot - along, foot + along]).T
        line = ax.plot(*ends, color=BLACK, linestyle=style, linewidth=width, zorder=2, label=label)
        handles += line if level <= 0 else []
    shift = abs(float(w @ middle) + result.b) / float(np.hypot(*w))
    if shift > BISECTS * shares.distance:
        ends = np.array([middle - along, middle + along]).T
        handles += ax.plot(*ends, color=GREY, linestyle=":", linewidth=1.5, zorder=2, label="perpendicular bisector")
    return handles
