"""Compare a machine without a sample (`compare_without_sample`), and over a parameter (`build_exact_path`).

Both are exact: one solves without the sample, the other uses `exact_path` with the errors of folds over its interval.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import QPSVMError, UnknownOptionError, UnsupportedError
from qpsvm.faces.play.checks import RequestError, to_json_list, to_json_number
from qpsvm.faces.play.machine_catalogue import MACHINES
from qpsvm.faces.play.page_parameters import PARAMETERS
from qpsvm.faces.play.plane import DIGITS, build_boundary
from qpsvm.faces.play.request import PageRequest, PageState
from qpsvm.machines import Problem
from qpsvm.many.exact.path import exact_path
from qpsvm.many.exact.pieces import ExactPath
from qpsvm.many.grid.cross_validation import cross_validate
from qpsvm.many.grid.interval import Interval
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Samples up to which a path is followed.
MAX_FOLLOWED = 300
#: Values at which curves are drawn besides the breakpoints, and up to how many of these there are.
DRAWN_VALUES, MAX_BREAKPOINTS = 120, 200
FOLDS = 5


def compare_without_sample(
    request: PageRequest, state: PageState, problem: Problem, tol: float, seconds: float
) -> dict[str, Any]:
    """Return the optimum without one sample, and its distance from that with it. Raises QPSVMError."""
    i = request.sample
    whole = _require_solved(solve(problem, tol=tol, check=False, time_limit=seconds))
    others = replace(state, points=np.delete(state.points, i, axis=0), labels=np.delete(state.labels, i))
    rest = _require_solved(solve(others.build_problem(), tol=tol, check=False, time_limit=seconds))
    X = MACHINES[state.machine].build_arguments(state.points, state.labels)[0]
    before, after = (np.asarray(result.decision_function(X), dtype=np.float64) for result in (whole, rest))
    return {
        "sample": i,
        "before": to_json_number(before[i]),
        "after": to_json_number(after[i]),
        "most": to_json_number(np.abs(after - before).max()),
        "status": str(rest.status),
        "gap": to_json_number(rest.gap),
        "idle": _is_non_support(whole, i),
        "plane": build_boundary(request, state, rest),
    }


def _require_solved(result: SVMResult) -> SVMResult:
    if result.error is not None:
        raise result.error
    return result


def _is_non_support(result: SVMResult, i: int) -> bool:
    """Return whether all α of a sample are 0, so that the machine is the same without it."""
    return not bool(result.alpha.reshape(-1, len(result.kind))[:, i].any())


def build_exact_path(state: PageState, problem: Problem, seconds: float) -> dict[str, Any]:
    """Build the exact path over the first parameter that has one, with the errors of folds. Raises QPSVMError."""
    if len(state.points) > MAX_FOLLOWED:
        raise RequestError(f"the page follows up to {MAX_FOLLOWED} samples: qpsvm.exact_path takes more")
    path = _follow_path(problem, seconds)
    values = _choose_values(path)
    answer = {
        "parameter": path.parameter,
        "low": path.low,
        "high": path.high,
        "reached": path.reached,
        "breakpoints": to_json_list(path.breakpoints),
        "pieces": len(path),
        "status": str(path.status),
        "message": path.message,
        "gap": to_json_number(float(path.gaps.max(initial=0.0))),
        "values": to_json_list(values),
        "shares": to_json_list(np.round(_compute_shares(path, values), DIGITS).T),
        "validation": None,
        "why": "",
    }
    try:
        answer["validation"] = _cross_validate_path(problem, path, seconds)
    except QPSVMError as error:
        answer["why"] = " ".join(str(error).split())
    return answer


def _follow_path(problem: Problem, seconds: float) -> ExactPath:
    """Follow the path of C, or of the first parameter that enters the dual linearly. Raises QPSVMError."""
    for name in problem._hyperparameters:
        if name not in PARAMETERS:
            continue
        low, high = PARAMETERS[name].low, PARAMETERS[name].high
        most = min(high or 0.0, float(getattr(problem, "nu_max", np.inf)) if name == "nu" else np.inf)
        try:
            path = exact_path(problem, name, low or 0.0, most, time_limit=seconds)
        except (UnsupportedError, UnknownOptionError):
            continue
        if len(path):
            return path
        raise UnsupportedError(path.message or f"nothing of the path over {name} is certified")
    raise UnsupportedError(f"{problem.title} has no parameter that its dual is linear in, so there is no exact path")


def _choose_values(path: ExactPath) -> FloatArray:
    """Return the values of the parameter that a picture needs, in order: (c,)."""
    low, high = path.low, path.reached
    even = (
        np.geomspace(low, high, DRAWN_VALUES)
        if PARAMETERS[path.parameter].scale == "log"
        else np.linspace(low, high, DRAWN_VALUES)
    )
    bends = path.breakpoints if len(path.breakpoints) <= MAX_BREAKPOINTS else path.breakpoints[[0, -1]]
    found = np.unique(np.concatenate([even, bends]))
    return np.asarray(found[(found >= low) & (found <= high)])


def _compute_shares(path: ExactPath, values: FloatArray) -> FloatArray:
    """Return α as a fraction of its bound, or β with its sign for a regression: (c, n)."""
    rows = []
    for value in values.tolist():
        alpha = path.alpha(value)
        share = alpha / float(np.max(path.problem.replace(**{path.parameter: value}).svm.upper))
        n = path.problem.n
        rows.append(share if len(share) == n else share[:n] - share[n:])
    return np.array(rows)


def _cross_validate_path(problem: Problem, path: ExactPath, seconds: float) -> dict[str, Any]:
    """Return the mean error of folds at every value, and where it is smallest. Raises QPSVMError."""
    if problem._target_kind != "labels":
        raise UnsupportedError("the page validates machines of two classes")
    fewest = int(min((problem.y == label).sum() for label in (-1.0, 1.0)))
    if fewest < 2:
        raise UnsupportedError("a class of one sample cannot be held out")
    whole: dict[str, Any] = {path.parameter: Interval(path.low, path.reached)}
    found: Any = cross_validate(problem, folds=min(FOLDS, fewest), time_limit=seconds, **whole)
    curve = found.mean[()]
    if not len(curve.values):
        raise UnsupportedError("the folds took too long")
    return {
        "folds": found.folds, "edges": to_json_list(curve.edges), "values": to_json_list(curve.values),
        "best": found.best_score, "intervals": [list(pair) for pair in found.best_intervals],
    }  # fmt: skip
