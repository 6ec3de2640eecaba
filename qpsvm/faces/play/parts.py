"""The parts of an answer. Two numbers of a result beside primal, dual and gap: how wide, and how many.

The dual QP as numbers: P, q, rows and box of a small problem, a heat map of P where it is larger; and the primal.

The equations of a machine with their code, and the residual of each at a result.

The samples of a result, one by one: α, ξ, η, y f, the share of the gap, and which product is violated.

Complementary slackness is two products for each α, α (y f − ρ + ξ) and (C − α) ξ; where the penalty of slack is
curved, the second is C (ξ − α/(2C))² or Huber's. They are never negative, and their sum is the sample's term g_i of
the gap, (CERT.1). A regression has two α a sample, and the products are summed over both.

What the plane shows: f on a grid or as a curve, the hulls that the dual is about, a ball's centre.

A solver's way to the optimum: certified values after 1, 2, 3, … iterations, each of a run of its own. A run that is
ended after k iterations gives the point that the solver had there, and nothing is polished.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import MissingExtraError, NotSeparableError
from qpsvm.base.resources.clock import Clock
from qpsvm.derivation import Step, derive
from qpsvm.derivation.written.page import mathml
from qpsvm.faces.play.backend_catalogue import list_solvers
from qpsvm.faces.play.checks import to_json_list, to_json_number
from qpsvm.faces.play.explanations import explain_samples, format_gap
from qpsvm.faces.play.kernel_catalogue import KERNELS
from qpsvm.faces.play.machine_catalogue import MACHINES, PageMachine, build_toy_problem
from qpsvm.faces.play.moves import MoveFinder
from qpsvm.faces.play.request import PageRequest, PageState
from qpsvm.faces.plotting.hulls import compute_reduced_hull, find_closest_points
from qpsvm.faces.plotting.style import CURVE_POINTS, ROOM, View
from qpsvm.faces.plotting.tube import find_half_width
from qpsvm.machines import Problem
from qpsvm.program.losses import compute_gap_term
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Variables up to which every number is shown; and cells of the heat map a side.
MOST_SHOWN, MOST_CELLS = 14, 48
#: Samples up to which the primal is written out, too: of a kernel that takes a Cholesky factor, at every drag.
MOST_WRITTEN = 120
#: Machines with their parameters and kernels whose equations are kept.
CACHE_SIZE = 64
#: Half of what is shown where the points have no range.
LONE_HALF_WIDTH = 1.0
#: Digits of f, below the larger of its level and its typical size.
DIGITS = 6
#: A hull is drawn to this share of its range: less than a pixel.
PIXEL = 1e-4
#: Levels of f inside and outside, as shares of its largest value at a sample.
CONTOURS = (-1.0, -0.5, 0.25, 0.5, 0.75)
#: The classes in the order in which a page lists them.
LABELS = (1, -1)
#: Points of a run, and the iterations of the last one.
RUN_POINTS, MAX_RUN_ITERATIONS = 40, 1000
#: Seconds for all runs together; and for the optimum beside them.
RUN_SECONDS, OPTIMUM_SECONDS = 2.5, 2.0
#: The shortest time limit of a run, in seconds: what it has after one step.
MIN_RUN_SECONDS = 0.01
#: The relative gap at which a run has arrived.
CONVERGED_GAP = 1e-8


def measure_width(problem: Problem, result: SVMResult, machine: PageMachine, norm: float) -> float | None:
    """2ρ/‖w‖ of two classes, the tube 2ε, ρ, the radius R, or ‖w‖: what the machine's `width` names."""
    if machine.learnt == "labels":
        return 2.0 * result.rho / norm if norm > 0.0 else None
    if machine.learnt == "none":
        return next(iter(result.extras.values()))
    return 2.0 * find_half_width(problem, result) if machine.tube else norm


def compute_sample_share(problem: Problem, result: SVMResult, machine: PageMachine) -> float:
    """The share of the samples that are classified right, beyond the tube, below the quantile, or outside."""
    if machine.learnt == "labels":
        return float(np.mean((result.yf * problem.y > 0.0) == (problem.y > 0.0)))
    third = result.kind == 2
    if machine.learnt == "numbers" and not machine.tube:
        assert result.target is not None
        third &= result.target < result.yf[: len(result.kind)]
    if machine.learnt == "none":
        third &= result.xi > 0.0  # where w = 0, f is 0 everywhere
    return float(np.mean(third)) if len(third) else math.nan


def describe_qp(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """The dual of a problem, with what its rows are at the result's α."""
    qp, machine = problem.qp("dual"), MACHINES[state.machine].select_notation(state.parameters)
    n, small = qp.n, qp.n <= MOST_SHOWN
    P = qp.P.dense()
    lower, upper = qp.bounds
    A = None if qp.A is None else as_dense(qp.A)
    rows = []
    for name, group in qp.constraints.items():
        if A is None or qp.b is None:
            continue
        for k in range(group.rows.start, group.rows.stop):
            rows.append(
                {
                    "name": name,
                    "text": group.formula,
                    "tag": machine.tags.get(name, ""),
                    "coefficients": to_json_list(A[k]) if small else None,
                    "sense": "=",
                    "right": to_json_number(float(qp.b[k])),
                    "left": to_json_number(float(A[k] @ result.alpha)),
                }
            )
    box = {"text": machine.box, "tag": machine.tags.get("box", ""), "lower": to_json_list(lower) if small else None,
           "upper": to_json_list(upper) if small and np.isfinite(upper).any() else None}  # fmt: skip
    return {
        "form": "dual",
        "text": str(qp),
        "variables": _name_variables(n, machine.kind._variables_per_sample),
        "objective": qp.formula,
        "n": n,
        "P": to_json_list(P) if small else None,
        "heat": None if small else _average_blocks(P),
        "q": to_json_list(qp.q) if small else None,
        "rows": rows,
        "box": box,
        "objective_tag": problem._dual_tag,
        "primal": str(problem.qp("primal")) if problem.n <= MOST_WRITTEN else "",
    }


def _name_variables(n: int, sides: int) -> list[str]:
    """The names of n α; of a regression, those above f and then those below."""
    signs = ("",) if sides == 1 else ("⁺", "⁻")
    return [f"α{sign}{i}" for sign in signs for i in range(n // sides)]


def _average_blocks(P: FloatArray) -> dict[str, Any]:
    """P in blocks of nearly equal size, each with the mean of its entries: at most `MOST_CELLS` a side."""
    n = len(P)
    k = min(n, MOST_CELLS)
    starts = np.arange(k) * n // k
    sizes = np.diff(np.append(starts, n))
    sums = np.add.reduceat(np.add.reduceat(P, starts, axis=0), starts, axis=1)
    return {"n": k, "values": to_json_list((sums / np.outer(sizes, sizes)).ravel())}


def measure_equations(problem: Problem, result: SVMResult, alpha: FloatArray | None = None) -> dict[str, Any]:
    """Both sides of each equation by its tag, at a result; or at an α (n,) as it stands, feasible or not."""
    derivation = derive(problem, result) if alpha is None else derive(problem, alpha=alpha)
    return {"headline": derivation.headline, "trusted": derivation.trusted, "steps": derivation.sides()}


def list_equations(state: PageState) -> dict[str, Any]:
    """The equations, which change only with machine and kernel."""
    values = {name: value for name, value in state.parameters.items() if name != "nu"}  # any ν has the same equations
    known = _derive_equations(
        state.machine, json.dumps(values), state.kernel, json.dumps(dict(state.kernel_parameters))
    )
    return {"machine": state.machine, "steps": list(known)}


@lru_cache(maxsize=CACHE_SIZE)
def _derive_equations(machine: str, parameters: str, kernel: str, kernel_parameters: str) -> tuple[dict[str, Any], ...]:
    values = json.loads(kernel_parameters)
    problem = build_toy_problem(
        machine, json.loads(parameters), KERNELS[kernel].build_kernel(values), values.get("psd", "raise")
    )
    return tuple(_step_to_json(step) for step in derive(problem))


def _step_to_json(step: Step) -> dict[str, Any]:
    shown = step.shown()
    code = shown.code.excerpt or shown.code
    return {
        "tag": step.tag, "title": step.title, "text": step.text, "statement": step.statement, "latex": step.latex,
        "mathml": "" if step.absent else _render_mathml(step.latex), "absent": step.absent,
        "construction": shown.by_construction, "where": shown.code.where, "code": code.text, "lines": list(code.lines),
    }  # fmt: skip


def _render_mathml(latex: str) -> str:
    """The equation for a browser, "" where the package that makes it is not installed."""
    try:
        return mathml(latex)
    except MissingExtraError:
        return ""


def build_sample_table(result: SVMResult, machine: PageMachine, moves: MoveFinder | None = None) -> dict[str, Any]:
    """Everything about each sample, as columns of n entries; with `moves` also which of them raise the dual value."""
    alpha, xi = result.alpha, result.xi
    with np.errstate(invalid="ignore", over="ignore"):
        slack = compute_gap_term(alpha, xi, result.upper, result.curvature)
        products = (alpha * np.maximum(result.yf - result.margin, 0.0), slack)
    margin_product, slack_product = (_sum_by_sample(part, result) for part in products)
    own = _build_two_sided_columns(result) if machine.learnt == "numbers" else _build_one_sided_columns(result)
    return own | {
        "kind": [int(kind) for kind in result.kind], "gap": to_json_list(result.kkt["residual"]),
        "margin_product": to_json_list(margin_product), "slack_product": to_json_list(slack_product),
        "verdict": explain_samples(result, machine, margin_product, slack_product, moves),
        "slope": None if moves is None else to_json_list(moves.slope),
    }  # fmt: skip


def _sum_by_sample(values: FloatArray, result: SVMResult) -> FloatArray:
    """Values of all α, (m,), summed over those of each sample: (n,)."""
    return values.reshape(-1, len(result.kind)).sum(axis=0) if len(values) else values


def _build_one_sided_columns(result: SVMResult) -> dict[str, Any]:
    return {
        "alpha": to_json_list(result.alpha),
        "upper": to_json_list(result.upper),
        "share": to_json_list(_compute_shares(result)),
        "xi": to_json_list(result.xi),
        "eta": to_json_list(result.kkt["eta"]),
        "yf": to_json_list(result.yf),
    }


def _build_two_sided_columns(result: SVMResult) -> dict[str, Any]:
    """α is β = α⁺ − α⁻ here, and what it is drawn against t − f."""
    n, target = len(result.kind), result.target
    assert target is not None
    beta, f, upper = result.coef, result.yf[:n], result.upper
    shares = _compute_shares(result)
    return {
        "alpha": to_json_list(beta),
        "alpha_above": to_json_list(result.alpha[:n]),
        "alpha_below": to_json_list(result.alpha[n:]),
        "upper": to_json_list(upper[:n]),
        "lower": to_json_list(-upper[n:]),
        "share": to_json_list(np.maximum(shares[:n], shares[n:])),
        "signed": to_json_list(beta / compute_full_size(result)),
        "xi": to_json_list(_sum_by_sample(result.xi, result)),
        "f": to_json_list(f),
        "target": to_json_list(target),
        "value": to_json_list(target - f),
    }


def compute_full_size(result: SVMResult) -> float:
    """Return the α that is drawn at full size: the largest bound; without bounds, the largest α."""
    bounded = result.upper[np.isfinite(result.upper)]
    size = bounded.max(initial=0.0) if len(bounded) else np.abs(result.alpha).max(initial=0.0)
    return float(size) or 1.0


def _compute_shares(result: SVMResult) -> FloatArray:
    """α/C; where nothing bounds α, α/max α: (m,)."""
    largest = float(result.alpha.max(initial=0.0)) or 1.0
    sizes = np.where(np.isfinite(result.upper) & (result.upper > 0.0), result.upper, largest)
    return result.alpha / sizes


def build_plane(request: PageRequest, state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """f on the grid and the geometry of the dual; of a regression f over the horizontal axis."""
    box = request.box or compute_box(state)
    shown: dict[str, Any] = {"box": list(box), "n": request.grid}
    learnt = MACHINES[state.machine].learnt
    if learnt == "numbers":
        return shown | _build_curve(state, problem, result, box)
    shown["f"] = _evaluate_on_grid(state, result, box, request.grid)
    if learnt == "none":
        return shown | _build_enclosure(state, problem, result)
    return shown | {"levels": [-result.rho, 0.0, result.rho], **_build_hulls(state, problem, result)}


def build_boundary(request: PageRequest, state: PageState, result: SVMResult) -> dict[str, Any]:
    """f alone: on the grid, or of a regression over the horizontal axis."""
    box = request.box or compute_box(state)
    if MACHINES[state.machine].learnt == "numbers":
        return {"box": list(box), "n": request.grid, "curve": to_json_list(_evaluate_on_axis(state, result, box))}
    return {"box": list(box), "n": request.grid, "f": _evaluate_on_grid(state, result, box, request.grid)}


def _build_curve(
    state: PageState, problem: Problem, result: SVMResult, box: tuple[float, float, float, float]
) -> dict[str, Any]:
    """f along the horizontal axis, the other features at their medians, with half the width of the tube."""
    f = _evaluate_on_axis(state, result, box)
    return {
        "f": None,
        "levels": [],
        "curve": to_json_list(f),
        "epsilon": find_half_width(problem, result),
        **_build_empty_geometry(""),
    }


def _evaluate_on_axis(state: PageState, result: SVMResult, box: tuple[float, float, float, float]) -> FloatArray:
    x = np.linspace(box[0], box[1], CURVE_POINTS)
    return _build_page_view(state.axes[:1], state.points[:, :-1]).evaluate(result, x[:, None])


def _build_enclosure(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """f = 0 between levels inside and outside, and the ball where it is one of the plane."""
    highest = float(result.yf.max(initial=0.0))
    ball = None
    if "radius" in result.extras and problem.space.is_linear and state.points.shape[1] == 2:
        ball = {"centre": to_json_list(result.centre[list(state.axes)]), "radius": to_json_number(result.radius)}
    return {"levels": [None, 0.0, None], "contours": [share * highest for share in CONTOURS if highest > 0.0],
            "ball": ball, **_build_empty_geometry("")}  # fmt: skip


def build_proof_plane(
    request: PageRequest, state: PageState, problem: Problem, error: NotSeparableError
) -> dict[str, Any]:
    """The hulls of two classes that cannot be separated, and the point that they share."""
    box, why = request.box or compute_box(state), explain_missing_hulls(state, problem)
    shown = {"box": list(box), "n": request.grid, "f": None, "levels": [-1.0, 0.0, 1.0], **_build_empty_geometry(why)}
    if not why:
        shown["hulls"] = _hulls_to_json(_compute_hulls(state, np.ones(len(state.labels))), None)
        shown["meeting"] = to_json_list((error.u + error.v) @ _project_points(state) / 2)
    return shown


def compute_box(state: PageState) -> tuple[float, float, float, float]:
    """A square part of the plane around the points."""
    points = _project_points(state)
    if not len(points):
        return -LONE_HALF_WIDTH, LONE_HALF_WIDTH, -LONE_HALF_WIDTH, LONE_HALF_WIDTH
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) * (0.5 + ROOM) or LONE_HALF_WIDTH
    x, y = (float(m) for m in middle)
    return x - half, x + half, y - half, y + half


def explain_missing_hulls(state: PageState, problem: Problem) -> str:
    """Explain in a sentence why no hulls can be drawn; "" if they can."""
    if not problem.space.is_linear:
        return f"No hulls here: they lie in the feature space of {problem.kernel}."
    if MACHINES[state.machine].curved:
        return "No hulls here: where the penalty of slack is curved, the dual is no distance between hulls alone."
    if problem.intercept != "free":
        return "No hulls here: without a free intercept, there is no row yᵀα = 0, and the dual is no such distance."
    if state.points.shape[1] != 2:
        return f"No hulls here: they lie in {state.points.shape[1]} dimensions."
    return ""


def _project_points(state: PageState) -> FloatArray:
    """The points on the plane, (n, 2)."""
    return state.points[:, list(state.axes)]


def _build_page_view(axes: tuple[int, ...], X: FloatArray) -> View:
    """The plane, or line, that the page shows: features that are not shown are held at their medians."""
    return View(axes, np.median(X, axis=0), X[:, list(axes)], [], "")


def _evaluate_on_grid(state: PageState, result: SVMResult, box: tuple[float, float, float, float], n: int) -> list[Any]:
    """f on an n × n grid, row by row from y0 up, with as many digits as a picture needs: n² numbers."""
    grid = np.meshgrid(np.linspace(*box[:2], n), np.linspace(*box[2:], n))
    f = _build_page_view(state.axes, state.points).evaluate(result, np.column_stack([each.ravel() for each in grid]))
    finite = np.abs(f[np.isfinite(f)])
    size = max(abs(result.rho), float(np.median(finite)) if len(finite) else 0.0)
    if size > 0.0:
        f = np.round(f, min(max(DIGITS - int(np.ceil(np.log10(size))), 0), 300))
    return to_json_list(f)


def _build_hulls(state: PageState, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """(HULL.3): the hulls, the reduced hulls with the share that no sample may exceed, and their closest points."""
    why = explain_missing_hulls(state, problem)
    if why:
        return _build_empty_geometry(why)
    full = _compute_hulls(state, np.ones(len(state.labels)))
    if not min(result.alpha[state.labels == label].sum() for label in LABELS) > 0.0:
        return {**_build_empty_geometry("No closest points: every α is 0."), "hulls": _hulls_to_json(full, None)}
    shares, axes = find_closest_points(problem, result), list(state.axes)
    reduced = full if shares.is_unreduced else _compute_hulls(state, shares.caps)
    return {
        "hulls": _hulls_to_json(full, reduced), "cap": float(shares.caps.max()),
        "closest": to_json_list([shares.plus[axes], shares.minus[axes]]),
        "meeting": to_json_list(shares.plus[axes]) if shares.is_common_point(state.points) else None, "missing": "",
    }  # fmt: skip


def _build_empty_geometry(why: str) -> dict[str, Any]:
    """Return the empty geometry of the dual, and a sentence that explains it."""
    return {"hulls": None, "cap": None, "closest": None, "meeting": None, "missing": why}


def _compute_hulls(state: PageState, caps: FloatArray) -> list[FloatArray]:
    """The reduced hulls of both classes on the plane, for the caps of all samples (n,)."""
    points = _project_points(state)
    return [
        compute_reduced_hull(points[rows], caps[rows], PIXEL) for rows in (state.labels == label for label in LABELS)
    ]


def _hulls_to_json(full: list[FloatArray], reduced: list[FloatArray] | None) -> list[dict[str, Any]]:
    """The hulls of both classes for the page; where there are no reduced ones, their lists are empty."""
    parts = [[], []] if reduced is None else [to_json_list(hull) for hull in reduced]
    return [{"label": label, "full": to_json_list(hull), "reduced": part}
            for label, hull, part in zip(LABELS, full, parts, strict=True)]  # fmt: skip


def run_solver(problem: Problem, name: str) -> dict[str, Any]:
    """The certified values of a solver at increasing counts of iterations. Raises QPSVMError."""
    best = solve(problem, check=False, time_limit=OPTIMUM_SECONDS)
    if best.error is not None:
        raise best.error
    points: list[dict[str, Any]] = []
    clock, note = Clock(RUN_SECONDS), f"Ended here, after {MAX_RUN_ITERATIONS} iterations."
    limited = backends.get(name).abilities.supports("time_limit")
    # 1, 2, 3, …, then further apart, up to `MAX_RUN_ITERATIONS`: about `RUN_POINTS`, since the first ones are rounded
    for k in map(int, np.unique(np.round(np.geomspace(1, MAX_RUN_ITERATIONS, RUN_POINTS + 8)))):
        limit = max(clock.remaining, MIN_RUN_SECONDS) if limited else None
        result = solve(problem, name, check=False, polish=False, max_iter=k, tol=CONVERGED_GAP, time_limit=limit)
        if points and (clock.find_stop_reason() or result.status is Status.TIME_LIMIT):
            note = f"Ended here: {RUN_SECONDS:g} seconds are over."
            break
        by_itself = result.iterations is not None and result.iterations < k
        iteration = k if result.iterations is None else min(k, result.iterations)
        if not points or points[-1]["iteration"] < iteration:
            values = {each: to_json_number(getattr(result, each)) for each in ("primal", "dual", "gap")}
            alpha = to_json_list(result.alpha)
            points.append({"iteration": iteration, **values, "status": str(result.status), "alpha": alpha})
        if result.gap <= CONVERGED_GAP:
            note = ""
            break
        if by_itself:
            note = f"Its own test ends it after {result.iterations} iterations, at a gap of {format_gap(result.gap)}."
            break
    choice = list_solvers()[name]
    return {
        "solver": name,
        "title": choice["title"],
        "about": choice["about"],
        "points": points,
        "note": note,
        "optimum": {
            "primal": to_json_number(best.primal),
            "dual": to_json_number(best.dual),
            "gap": to_json_number(best.gap),
        },
    }
