"""Answer two questions of the web page of `qpsvm play` exactly: what changes without a sample, or along a parameter.

`compare_without_sample` solves again without the sample. `build_exact_path` follows the exact path of a parameter, with
the validation error at each of its values. Both return the JSON object that the page reads.
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
from qpsvm.many.exact.path_result import ExactPath
from qpsvm.many.grid.cross_validation import cross_validate
from qpsvm.many.grid.interval import Interval
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: Samples up to which a path is followed: more would take too long for a page.
MAX_SAMPLES = 300
#: Evenly spaced values at which curves are drawn, and the largest number of breakpoints that are drawn besides.
DRAWN_VALUES, MAX_BREAKPOINTS = 120, 200
#: Largest number of folds of the cross-validation.
MAX_FOLDS = 5


def compare_without_sample(
    request: PageRequest, state: PageState, problem: Problem, tol: float, seconds: float
) -> dict[str, Any]:
    """Return the optimum without one sample, and how much f changes. Raises QPSVMError."""
    i = request.sample
    full_result = _require_solved(solve(problem, tol=tol, check=False, time_limit=seconds))
    other_samples = replace(state, points=np.delete(state.points, i, axis=0), labels=np.delete(state.labels, i))
    result = _require_solved(solve(other_samples.build_problem(), tol=tol, check=False, time_limit=seconds))
    X, *_ = MACHINES[state.machine].build_arguments(state.points, state.labels)
    before, after = (np.asarray(each.decision_function(X), dtype=np.float64) for each in (full_result, result))
    return {
        "sample": i, "idle": _is_non_support(full_result, i),
        "before": to_json_number(before[i]), "after": to_json_number(after[i]),  # f at the sample, with and without it
        "most": to_json_number(np.abs(after - before).max()),  # the largest change of f at any sample
        "status": str(result.status), "gap": to_json_number(result.gap),
        "plane": build_boundary(request, state, result),
    }  # fmt: skip


def _require_solved(result: SVMResult) -> SVMResult:
    """Return the result, or raise its error."""
    if result.error is not None:
        raise result.error
    return result


def _is_non_support(result: SVMResult, i: int) -> bool:
    """Return whether all α of a sample are 0, so that the machine is the same without it."""
    return not bool(result.alpha.reshape(-1, len(result.kind))[:, i].any())  # α (n,), or α⁺ and α⁻ of a regression


def build_exact_path(state: PageState, problem: Problem, seconds: float) -> dict[str, Any]:
    """Build the exact path of the first parameter that has one, with validation errors. Raises QPSVMError."""
    if len(state.points) > MAX_SAMPLES:
        raise RequestError(f"the page follows up to {MAX_SAMPLES} samples: qpsvm.exact_path takes more")
    path = _follow_path(problem, seconds)
    values = _choose_values(path)
    answer = {
        "parameter": path.parameter, "low": path.low, "high": path.high, "reached": path.reached,
        "breakpoints": to_json_list(path.breakpoints), "pieces": len(path), "status": str(path.status),
        "message": path.message, "gap": to_json_number(float(path.gaps.max(initial=0.0))),
        "values": to_json_list(values),  # of the parameter, where the curves of α are drawn
        "shares": to_json_list(np.round(_compute_alpha_fractions(path, values), DIGITS).T),  # a curve per sample
        "validation": None, "why": "",  # why there is no validation
    }  # fmt: skip
    try:
        answer["validation"] = _cross_validate_path(problem, path, seconds)
    except QPSVMError as error:
        answer["why"] = " ".join(str(error).split())
    return answer


def _follow_path(problem: Problem, seconds: float) -> ExactPath:
    """Follow the path of the first parameter in the machine's list that enters the dual linearly. Raises QPSVMError."""
    for name in problem._hyperparameters:
        parameter = PARAMETERS.get(name)
        if parameter is None or parameter.low is None or parameter.high is None:  # it is not a number with a slider
            continue
        low, high = parameter.low, parameter.high
        if name == "nu":  # the classes of a ν-SVM may be too unbalanced for the end of the slider
            high = min(high, float(getattr(problem, "nu_max", np.inf)))
        try:
            path = exact_path(problem, name, low, high, time_limit=seconds)
        except (UnsupportedError, UnknownOptionError):  # the dual is not linear in it
            continue
        if len(path):
            return path
        raise UnsupportedError(path.message or f"nothing of the path over {name} is certified")
    raise UnsupportedError(f"{problem.title} has no parameter that its dual is linear in, so there is no exact path")


def _choose_values(path: ExactPath) -> FloatArray:
    """Choose the values of the parameter at which curves are drawn, in order: (c,)."""
    low, high = path.low, path.reached
    space_evenly = np.geomspace if PARAMETERS[path.parameter].scale == "log" else np.linspace
    if len(path.breakpoints) <= MAX_BREAKPOINTS:
        breakpoints = path.breakpoints
    else:
        breakpoints = path.breakpoints[[0, -1]]
    values = np.unique(np.concatenate([space_evenly(low, high, DRAWN_VALUES), breakpoints]))
    return np.asarray(values[(values >= low) & (values <= high)])


def _compute_alpha_fractions(path: ExactPath, values: FloatArray) -> FloatArray:
    """Return α, or α⁺ − α⁻ for a regression, as a fraction of the largest bound at each value: (c, n)."""
    fractions = []
    n = path.problem.n
    for value in values.tolist():
        fraction = path.alpha(value) / float(np.max(path.problem.replace(**{path.parameter: value}).svm.upper))
        fractions.append(fraction if len(fraction) == n else fraction[:n] - fraction[n:])
    return np.array(fractions)


def _cross_validate_path(problem: Problem, path: ExactPath, seconds: float) -> dict[str, Any]:
    """Return the mean error of the folds at every value, and where it is smallest. Raises QPSVMError."""
    if problem._target_kind != "labels":
        raise UnsupportedError("the page validates machines of two classes")
    smaller_class = int(min((problem.y == label).sum() for label in (-1.0, 1.0)))
    if smaller_class < 2:
        raise UnsupportedError("a class of one sample cannot be held out")
    interval: dict[str, Any] = {path.parameter: Interval(path.low, path.reached)}
    validation: Any = cross_validate(problem, folds=min(MAX_FOLDS, smaller_class), time_limit=seconds, **interval)
    curve = validation.mean[()]  # an array of shape (), since an interval is no axis of a grid
    if not len(curve.values):
        raise UnsupportedError("the folds took too long")
    return {
        "folds": validation.folds, "edges": to_json_list(curve.edges), "values": to_json_list(curve.values),
        "best": validation.best_score, "intervals": [list(pair) for pair in validation.best_intervals],
    }  # fmt: skip
