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
from qpsvm.base.resources.progress import Clock
from qpsvm.derivation import Step, derive
from qpsvm.derivation.written.page import mathml
from qpsvm.faces.play.catalogue import KERNELS, MACHINES, Machine, solvers, toy
from qpsvm.faces.play.checks import number, numbers
from qpsvm.faces.play.explanations import gap_in_words, verdicts
from qpsvm.faces.play.moves import Moves
from qpsvm.faces.play.request import Request, State
from qpsvm.faces.plotting.hulls import reduced_hull, shares_of
from qpsvm.faces.plotting.style import CURVE_POINTS, ROOM, View
from qpsvm.faces.plotting.tube import half_width
from qpsvm.machines import Problem
from qpsvm.program.losses import gap_term
from qpsvm.program.solution import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve


def width(problem: Problem, result: SVMResult, machine: Machine, norm: float) -> float | None:
    """2ρ/‖w‖ of two classes, the tube 2ε, ρ, the radius R, or ‖w‖: what the machine's `width` names."""
    if machine.learnt == "labels":
        return 2.0 * result.rho / norm if norm > 0.0 else None
    if machine.learnt == "none":
        return next(iter(result.extras.values()))
    return 2.0 * half_width(problem, result) if machine.tube else norm


def counted(problem: Problem, result: SVMResult, machine: Machine) -> float:
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


#: Variables up to which every number is shown; and cells of the heat map a side.
MOST_SHOWN, MOST_CELLS = 14, 48
#: Samples up to which the primal is written out, too: of a kernel that takes a Cholesky factor, at every drag.
MOST_WRITTEN = 120


def quadratic(state: State, problem: Problem, result: SVMResult) -> dict[str, Any]:
    """The dual of a problem, with what its rows are at the result's α."""
    qp, machine = problem.qp("dual"), MACHINES[state.machine].under(state.parameters)
    n, small = qp.n, qp.n <= MOST_SHOWN
    P = qp.P.dense()
    lower, upper = qp.bounds
    A = None if qp.A is None else as_dense(qp.A)
    rows = []
    for name, group in qp.constraints.items():
        if A is None or qp.b is None:
            continue
        for k in range(group.rows.start, group.rows.stop):
            rows.append({
                "name": name, "text": group.formula, "tag": machine.tags.get(name, ""),
                "coefficients": numbers(A[k]) if small else None, "sense": "=", "right": number(float(qp.b[k])),
                "left": number(float(A[k] @ result.alpha)),
            })  # fmt: skip
    box = {"text": machine.box, "tag": machine.tags.get("box", ""), "lower": numbers(lower) if small else None,
           "upper": numbers(upper) if small and np.isfinite(upper).any() else None}  # fmt: skip
    return {
        "form": "dual", "text": str(qp), "variables": _variables(n, machine.kind.sides), "objective": qp.formula,
        "n": n, "P": numbers(P) if small else None, "heat": None if small else _heat(P),
        "q": numbers(qp.q) if small else None, "rows": rows, "box": box, "objective_tag": problem.dual_tag,
        "primal": str(problem.qp("primal")) if problem.n <= MOST_WRITTEN else "",
    }  # fmt: skip


def _variables(n: int, sides: int) -> list[str]:
    """The names of n α; of a regression, those above f and then those below."""
    signs = ("",) if sides == 1 else ("⁺", "⁻")
    return [f"α{sign}{i}" for sign in signs for i in range(n // sides)]


def _heat(P: FloatArray) -> dict[str, Any]:
    """P in blocks of nearly equal size, each with the mean of its entries: at most `MOST_CELLS` a side."""
    n = len(P)
    k = min(n, MOST_CELLS)
    starts = np.arange(k) * n // k
    sizes = np.diff(np.append(starts, n))
    sums = np.add.reduceat(np.add.reduceat(P, starts, axis=0), starts, axis=1)
    return {"n": k, "values": numbers((sums / np.outer(sizes, sizes)).ravel())}


#: Machines with their parameters and kernels whose equations are kept.
KEPT = 64


def measured(problem: Problem, result: SVMResult, alpha: FloatArray | None = None) -> dict[str, Any]:
    """Both sides of each equation by its tag, at a result; or at an α (n,) as it stands, feasible or not."""
    derivation = derive(problem, result) if alpha is None else derive(problem, alpha=alpha)
    return {"headline": derivation.headline, "trusted": derivation.trusted, "steps": derivation.sides()}


def equations(state: State) -> dict[str, Any]:
    """The equations, which change only with machine and kernel."""
    values = {name: value for name, value in state.parameters.items() if name != "nu"}  # any ν has the same equations
    known = _equations(state.machine, json.dumps(values), state.kernel, json.dumps(dict(state.kernel_parameters)))
    return {"machine": state.machine, "steps": list(known)}


@lru_cache(maxsize=KEPT)
def _equations(machine: str, parameters: str, kernel: str, kernel_parameters: str) -> tuple[dict[str, Any], ...]:
    values = json.loads(kernel_parameters)
    problem = toy(machine, json.loads(parameters), KERNELS[kernel].make(values), values.get("psd", "raise"))
    return tuple(_shown(step) for step in derive(problem))


def _shown(step: Step) -> dict[str, Any]:
    shown = step.shown()
    code = shown.code.excerpt or shown.code
    return {
        "tag": step.tag, "title": step.title, "text": step.text, "statement": step.statement, "latex": step.latex,
        "mathml": "" if step.absent else _mathml(step.latex), "absent": step.absent,
        "construction": shown.by_construction, "where": shown.code.where, "code": code.text, "lines": list(code.lines),
    }  # fmt: skip


def _mathml(latex: str) -> str:
    """The equation for a browser, "" where the package that makes it is not installed."""
    try:
        return mathml(latex)
    except MissingExtraError:
        return ""


def table(result: SVMResult, machine: Machine, moves: Moves | None = None) -> dict[str, Any]:
    """Everything about each sample, as columns of n entries; with `moves` also which of them raise the dual value."""
    alpha, xi = result.alpha, result.xi
    with np.errstate(invalid="ignore", over="ignore"):
        slack = gap_term(alpha, xi, result.upper, result.curvature)
        products = (alpha * np.maximum(result.yf - result.margin, 0.0), slack)
    margin_product, slack_product = (_by_sample(part, result) for part in products)
    own = _two_sided(result) if machine.learnt == "numbers" else _one_sided(result)
    return own | {
        "kind": [int(kind) for kind in result.kind], "gap": numbers(result.kkt["residual"]),
        "margin_product": numbers(margin_product), "slack_product": numbers(slack_product),
        "verdict": verdicts(result, machine, margin_product, slack_product, moves),
        "slope": None if moves is None else numbers(moves.slope),
    }  # fmt: skip


def _by_sample(values: FloatArray, result: SVMResult) -> FloatArray:
    """Values of all α, (m,), summed over those of each sample: (n,)."""
    return values.reshape(-1, len(result.kind)).sum(axis=0) if len(values) else values


def _one_sided(result: SVMResult) -> dict[str, Any]:
    return {
        "alpha": numbers(result.alpha), "upper": numbers(result.upper), "share": numbers(_shares(result)),
        "xi": numbers(result.xi), "eta": numbers(result.kkt["eta"]), "yf": numbers(result.yf),
    }  # fmt: skip


def _two_sided(result: SVMResult) -> dict[str, Any]:
    """α is β = α⁺ − α⁻ here, and what it is drawn against t − f."""
    n, target = len(result.kind), result.target
    assert target is not None
    beta, f, upper = result.coef, result.yf[:n], result.upper
    shares = _shares(result)
    return {
        "alpha": numbers(beta), "alpha_above": numbers(result.alpha[:n]), "alpha_below": numbers(result.alpha[n:]),
        "upper": numbers(upper[:n]), "lower": numbers(-upper[n:]), "share": numbers(np.maximum(shares[:n], shares[n:])),
        "signed": numbers(beta / full_size(result)), "xi": numbers(_by_sample(result.xi, result)), "f": numbers(f),
        "target": numbers(target), "value": numbers(target - f),
    }  # fmt: skip


def full_size(result: SVMResult) -> float:
    """What is drawn as a whole α: the largest bound; where nothing bounds it, the largest α."""
    bounded = result.upper[np.isfinite(result.upper)]
    size = bounded.max(initial=0.0) if len(bounded) else np.abs(result.alpha).max(initial=0.0)
    return float(size) or 1.0


def _shares(result: SVMResult) -> FloatArray:
    """α/C; where nothing bounds α, α/max α: (m,)."""
    largest = float(result.alpha.max(initial=0.0)) or 1.0
    sizes = np.where(np.isfinite(result.upper) & (result.upper > 0.0), result.upper, largest)
    return result.alpha / sizes


#: Half of what is shown where the points have no range.
ALONE = 1.0
#: Digits of f, below the larger of its level and its typical size.
DIGITS = 6
#: A hull is drawn to this share of its range: less than a pixel.
PIXEL = 1e-4
#: Levels of f inside and outside, as shares of its largest value at a sample.
CONTOURS = (-1.0, -0.5, 0.25, 0.5, 0.75)
#: The classes in the order in which a page lists them.
LABELS = (1, -1)


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


def boundary(request: Request, state: State, result: SVMResult) -> dict[str, Any]:
    """f alone: on the grid, or of a regression over the horizontal axis."""
    box = request.box or box_around(state)
    if MACHINES[state.machine].learnt == "numbers":
        return {"box": list(box), "n": request.grid, "curve": numbers(_over_axis(state, result, box))}
    return {"box": list(box), "n": request.grid, "f": _values(state, result, box, request.grid)}


def _curve(state: State, problem: Problem, result: SVMResult, box: tuple[float, float, float, float]) -> dict[str, Any]:
    """f along the horizontal axis, the other features at their medians, with half the width of the tube."""
    f = _over_axis(state, result, box)
    return {"f": None, "levels": [], "curve": numbers(f), "epsilon": half_width(problem, result), **_nothing("")}


def _over_axis(state: State, result: SVMResult, box: tuple[float, float, float, float]) -> FloatArray:
    x = np.linspace(box[0], box[1], CURVE_POINTS)
    return _seen(state.axes[:1], state.points[:, :-1]).values(result, x[:, None])


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
        shown["hulls"] = _hulls_listed(_hulls_of(state, np.ones(len(state.labels))), None)
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
    """Why there are no hulls to draw, as a sentence, or ""."""
    if not problem.space.is_linear:
        return f"No hulls here: they lie in the feature space of {problem.kernel}."
    if MACHINES[state.machine].curved:
        return "No hulls here: where the penalty of slack is curved, the dual is no distance between hulls alone."
    if problem.intercept != "free":
        return "No hulls here: without a free intercept, there is no row yᵀα = 0, and the dual is no such distance."
    if state.points.shape[1] != 2:
        return f"No hulls here: they lie in {state.points.shape[1]} dimensions."
    return ""


def _projected(state: State) -> FloatArray:
    """The points on the plane, (n, 2)."""
    return state.points[:, list(state.axes)]


def _seen(axes: tuple[int, ...], X: FloatArray) -> View:
    """The plane, or line, that the page shows: features that are not shown are held at their medians."""
    return View(axes, np.median(X, axis=0), X[:, list(axes)], [], "")


def _values(state: State, result: SVMResult, box: tuple[float, float, float, float], n: int) -> list[Any]:
    """f on an n × n grid, row by row from y0 up, with as many digits as a picture needs: n² numbers."""
    grid = np.meshgrid(np.linspace(*box[:2], n), np.linspace(*box[2:], n))
    f = _seen(state.axes, state.points).values(result, np.column_stack([each.ravel() for each in grid]))
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
    full = _hulls_of(state, np.ones(len(state.labels)))
    if not min(result.alpha[state.labels == label].sum() for label in LABELS) > 0.0:
        return {**_nothing("No closest points: every α is 0."), "hulls": _hulls_listed(full, None)}
    shares, axes = shares_of(problem, result), list(state.axes)
    reduced = full if shares.full else _hulls_of(state, shares.caps)
    return {
        "hulls": _hulls_listed(full, reduced), "cap": float(shares.caps.max()),
        "closest": numbers([shares.plus[axes], shares.minus[axes]]),
        "meeting": numbers(shares.plus[axes]) if shares.meet(state.points) else None, "missing": "",
    }  # fmt: skip


def _nothing(why: str) -> dict[str, Any]:
    """Nothing of the dual's geometry, and in a sentence why."""
    return {"hulls": None, "cap": None, "closest": None, "meeting": None, "missing": why}


def _hulls_of(state: State, caps: FloatArray) -> list[FloatArray]:
    """The reduced hulls of both classes on the plane, for the caps of all samples (n,)."""
    points = _projected(state)
    return [reduced_hull(points[rows], caps[rows], PIXEL) for rows in (state.labels == label for label in LABELS)]


def _hulls_listed(full: list[FloatArray], reduced: list[FloatArray] | None) -> list[dict[str, Any]]:
    """The hulls of both classes for the page; where there are no reduced ones, their lists are empty."""
    parts = [[], []] if reduced is None else [numbers(hull) for hull in reduced]
    return [{"label": label, "full": numbers(hull), "reduced": part}
            for label, hull, part in zip(LABELS, full, parts, strict=True)]  # fmt: skip


#: Points of a run, and the iterations of the last one.
RUN_POINTS, LAST = 40, 1000
#: Seconds for all runs together; and for the optimum beside them.
RUN_SECONDS, SOLVING = 2.5, 2.0
#: The shortest time limit of a run, in seconds: what it has after one step.
SHORTEST = 0.01
#: The relative gap at which a run has arrived.
ARRIVED = 1e-8


def run(problem: Problem, name: str) -> dict[str, Any]:
    """The certified values of a solver at increasing counts of iterations. Raises QPSVMError."""
    best = solve(problem, check=False, time_limit=SOLVING)
    if best.error is not None:
        raise best.error
    points: list[dict[str, Any]] = []
    clock, note = Clock(RUN_SECONDS), f"Ended here, after {LAST} iterations."
    limited = backends.get(name).abilities.grants("time_limit")
    # 1, 2, 3, …, then ever further apart, up to `LAST`: about `RUN_POINTS` of them, since the first ones are rounded
    for k in map(int, np.unique(np.round(np.geomspace(1, LAST, RUN_POINTS + 8)))):
        limit = max(clock.left, SHORTEST) if limited else None
        result = solve(problem, name, check=False, polish=False, max_iter=k, tol=ARRIVED, time_limit=limit)
        if points and (clock.stopped() or result.status is Status.TIME_LIMIT):
            note = f"Ended here: {RUN_SECONDS:g} seconds are over."
            break
        by_itself = result.iterations is not None and result.iterations < k
        iteration = k if result.iterations is None else min(k, result.iterations)
        if not points or points[-1]["iteration"] < iteration:
            values = {each: number(getattr(result, each)) for each in ("primal", "dual", "gap")}
            alpha = numbers(result.alpha)
            points.append({"iteration": iteration, **values, "status": str(result.status), "alpha": alpha})
        if result.gap <= ARRIVED:
            note = ""
            break
        if by_itself:
            note = f"Its own test ends it after {result.iterations} iterations, at a gap of {gap_in_words(result.gap)}."
            break
    choice = solvers()[name]
    return {
        "solver": name, "title": choice["title"], "about": choice["about"], "points": points, "note": note,
        "optimum": {"primal": number(best.primal), "dual": number(best.dual), "gap": number(best.gap)},
    }  # fmt: skip
