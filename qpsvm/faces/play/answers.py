"""Answer a request of the page (`reply`): JSON in, JSON out, without a state and without exceptions.

An error is described by a sentence, the field of the page, a value that would work, and the proof if there is one.
"""

from __future__ import annotations

import logging
import math
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import (
    IndefiniteKernelError,
    InfeasibleNuError,
    MarginNotFoundError,
    NotSeparableError,
    QPSVMError,
    UnsupportedError,
)
from qpsvm.faces.play import catalogue
from qpsvm.faces.play.checks import to_json_list, to_json_number
from qpsvm.faces.play.equations import list_equations, measure_equations
from qpsvm.faces.play.exact_answers import build_exact_path, compare_without_sample
from qpsvm.faces.play.explanations import MIN_MENTIONED, describe_result, describe_user_alpha
from qpsvm.faces.play.machine_catalogue import MACHINES, PageMachine
from qpsvm.faces.play.measures import compute_sample_share, measure_width
from qpsvm.faces.play.moves import MoveFinder
from qpsvm.faces.play.plane import build_plane, build_proof_plane
from qpsvm.faces.play.qp_description import describe_qp
from qpsvm.faces.play.request import PageRequest, PageState, read_id, read_request, write_program
from qpsvm.faces.play.sample_table import build_sample_table, compute_full_size
from qpsvm.faces.play.solver_run import run_solver
from qpsvm.faces.play.start import SCENES, Start, choose_default_start
from qpsvm.faces.plotting.tube import find_half_width
from qpsvm.machines import Problem
from qpsvm.program.status import Status
from qpsvm.result.svm_result import KIND_DESCRIPTIONS, SVMResult
from qpsvm.solve.call import solve

#: Decimal places of the ν that is suggested in place of one that is too large.
NU_DECIMALS = 4
#: What stands for a value of ∞ and −∞ in a corner of a path.
TOP, BOTTOM = "top", "bottom"
#: A corner of a path: α as a share of its bound, and the value beside it.
Corner = tuple[float, float | str]
#: Time limit of a solve in seconds, imports included.
SECONDS = 4.0
#: Relative gap of a solve.
TOL = 1e-6
log = logging.getLogger(__name__)
#: Errors that are faults of this library. The page gets a sentence, the log the traceback.
INTERNAL_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


def reply(message: Any, start: Start | None = None) -> dict[str, Any]:
    """Answer a page's request.

    Parameters
    ----------
    message : object
        The decoded JSON: {"id": 7, "ask": "solve", "state": {…}, …}.
    start : Start, optional
        The initial state of the page; by default a scene.

    Returns
    -------
    dict
        Data for JSON, with None for numbers that are not finite. On failure the key "error" has a sentence that
        explains it.

    Examples
    --------
    A wrong request is answered by a sentence; nothing is raised:

    >>> import qpsvm.play
    >>> answer = qpsvm.play.reply({"id": 2, "ask": "solve", "state": {"points": []}})
    >>> print(answer["error"]["sentence"])
    state lacks the key 'labels'.
    """
    try:
        return _build_answer(message, start)
    except QPSVMError as error:
        return build_failure(read_id(message), error)
    except INTERNAL_ERRORS:
        log.exception("qpsvm play: a request failed")
        return build_internal_error(read_id(message))


def _build_answer(message: Any, start: Start | None) -> dict[str, Any]:
    """Build the answer, also if the problem cannot be solved. Raises QPSVMError if the request cannot be read."""
    start_time = time.perf_counter()
    request = read_request(message)
    if request.state is None:
        return {"id": request.id, **_build_catalogue(start or choose_default_start())}
    if request.ask == "steps":
        return {"id": request.id, **list_equations(request.state)}
    if request.ask == "program":
        return {"id": request.id, "python": write_program(request.state, TOL, SECONDS)}
    problem: Problem | None = None
    try:
        problem = request.state.build_problem()
        if request.ask == "run":
            return {"id": request.id, **run_solver(problem, request.solver)}
        if request.ask == "path":
            return {"id": request.id, **build_exact_path(request.state, problem, SECONDS)}
        if request.ask == "without":
            return {"id": request.id, **compare_without_sample(request, request.state, problem, TOL, SECONDS)}
        answer = _answer_solve(request, request.state, problem)
    except QPSVMError as error:
        return build_failure(request.id, error, request, problem)
    return {**answer, "ms": 1e3 * (time.perf_counter() - start_time)}


def _build_catalogue(start: Start) -> dict[str, Any]:
    """Build the answer to "catalogue": machines, kernels, scenes and the initial state of the page."""
    scenes = [
        {"name": name, "title": scene.title, "try": list(scene.tries), "state": scene.state.to_json()}
        for name, scene in SCENES.items()
    ]
    return {
        "version": _find_version(),
        **catalogue.to_json(),
        "scenes": scenes,
        "kinds": list(KIND_DESCRIPTIONS),
        **start.to_json(),
    }


def _find_version() -> str:
    """Return the installed version; "" if the library is imported without being installed."""
    try:
        return version("qpsvm")
    except PackageNotFoundError:
        return ""


def _answer_solve(request: PageRequest, state: PageState, problem: Problem) -> dict[str, Any]:
    """Answer "solve": solve the problem, or certify the user's α."""
    alpha = request.alpha
    if alpha is None:
        result = solve(problem, tol=TOL, check=False, time_limit=SECONDS)
    else:
        result = problem.at(alpha, TOL)
    if result.error is not None:
        raise result.error
    norm = _compute_norm(problem, result)
    machine = MACHINES[state.machine].select_notation(state.parameters)
    answer = {
        "id": request.id,
        **_summarise(problem, result, norm),
        "width": to_json_number(measure_width(problem, result, machine, norm)),
        "accuracy": compute_sample_share(problem, result, machine),
        **_explain_solution(state, problem, result, machine, norm, alpha),
        "alpha": to_json_list(result.alpha),
        "pair": _build_optimal_path(problem, result, machine),
    }
    if "plane" in request.show:
        answer["plane"] = build_plane(request, state, problem, result)
    if "qp" in request.show:
        answer["qp"] = describe_qp(state, problem, result)
    if "derivation" in request.show:
        try:
            answer["derivation"] = measure_equations(problem, result, alpha)
        except UnsupportedError as error:  # a machine without listed steps
            answer["derivation"] = {"headline": str(error), "trusted": False, "steps": {}}
    return answer


def _explain_solution(
    state: PageState, problem: Problem, result: SVMResult, machine: PageMachine, norm: float, alpha: FloatArray | None
) -> dict[str, Any]:
    """Explain the result and each sample; for a user's α (m,), also the repair that made it feasible, and a move."""
    moves = move = None
    repair = 0.0
    if alpha is None:
        sentence = describe_result(result, machine, norm)
    else:
        moves = MoveFinder(problem, result)
        move = None if result.status is Status.OPTIMAL else moves.find_best()
        repair = _measure_repair(result, alpha)
        sentence = describe_user_alpha(result, machine, repair > MIN_MENTIONED, move)
    samples = build_sample_table(result, machine, moves)
    return {
        "yours": alpha is not None,
        "sentence": sentence,
        "move": None if move is None else move.to_json(),
        "repaired": to_json_number(repair),
        "sum": to_json_number(_compute_balance(state, result.alpha if alpha is None else alpha)),
        "samples": samples,
        "rest": to_json_number(result.gap - sum(share or 0.0 for share in samples["gap"])),
    }


def _summarise(problem: Problem, result: SVMResult, norm: float) -> dict[str, Any]:
    """Return the figures of a result, with ‖w‖."""
    w = result.w if problem.space.is_linear else None
    return {
        "title": problem.title,
        "status": str(result.status),
        "message": result.message,
        "primal": to_json_number(result.primal),
        "dual": to_json_number(result.dual),
        "gap": to_json_number(result.gap),
        "tol": TOL,
        "rounding": to_json_number(result.rounding),
        "b": to_json_number(result.b),
        "b_interval": to_json_list(result.b_interval),
        "rho": to_json_number(result.rho),
        "w": None if w is None else to_json_list(w),
        "norm": to_json_number(norm),
        "backend": result.backend,
        "form": result.form,
        "iterations": result.iterations,
        "counts": [int((result.kind == kind).sum()) for kind in range(len(KIND_DESCRIPTIONS))],
    }


def _compute_balance(state: PageState, alpha: FloatArray) -> float:
    """Evaluate the machine's `balance` at an α (m,): yᵀα, 1ᵀα⁺ − 1ᵀα⁻ or 1ᵀα."""
    if MACHINES[state.machine].learnt == "labels":
        return float(state.labels @ alpha)
    n = len(state.points)
    return float(alpha[:n].sum() - alpha[n:].sum())


def _measure_repair(result: SVMResult, alpha: FloatArray) -> float:
    """Measure the largest change from α (m,) to the certified α, in units of C, or without bounds of the largest α."""
    change = float(np.abs(result.alpha - alpha).max())
    if np.isfinite(result.upper).all():
        size = float(result.upper.max())
    else:
        size = float(np.abs([alpha, result.alpha]).max())
    return change / size if size > 0.0 else change


def _compute_norm(problem: Problem, result: SVMResult) -> float:
    """Return ‖w‖ of w = Σ β_i φ(x_i), or 0 if it is no larger than the rounding error of this sum."""
    K = problem.space.centred_gram
    beta = result.coef
    rounding = 2.0 * len(beta) * UNIT
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows becomes null
        term_sum = np.abs(beta) @ np.sqrt(np.maximum(K.diagonal(), 0.0))
        if problem.space.is_linear:
            norm = float(np.linalg.norm(result.w))
            return 0.0 if norm <= rounding * term_sum else norm
        square = beta @ (K @ beta)
        if np.isfinite(square) and square <= rounding * term_sum**2:
            return 0.0
        return float(np.sqrt(square))


def _build_optimal_path(problem: Problem, result: SVMResult, machine: PageMachine) -> dict[str, Any]:
    """Build the path on which (α, y f), or (α, t − f) or (α, f), of every sample lies at an optimum.

    Returns its corners, with α as a share of its bound, and the smallest share that is drawn.
    """
    if machine.learnt == "numbers":
        lowest_share = -1.0
        corners = _build_two_sided_path(result, find_half_width(problem, result))
    else:
        lowest_share = 0.0
        corners = _build_one_sided_path(result)
    path = [[share, value if isinstance(value, str) else to_json_number(value)] for share, value in corners]
    return {"low": lowest_share, "path": path}


def _build_one_sided_path(result: SVMResult) -> list[Corner]:
    """Build the path: α = 0 outside the margin, free on it, and inside at its bound, or increasing."""
    level = float(result.margin[0]) if len(result.margin) else result.rho
    drop = float(result.curvature.max(initial=0.0)) * compute_full_size(result)
    corners: list[Corner] = [(0.0, TOP), (0.0, level), (1.0, level - drop)]
    if np.isfinite(result.upper).all():
        corners.append((1.0, BOTTOM))
    return corners


def _build_two_sided_path(result: SVMResult, epsilon: float) -> list[Corner]:
    """Build the path of β, from residuals below the tube of half width ε to those above it."""
    n = len(result.kind)
    full_size = compute_full_size(result)
    bound_above = float(result.upper[:n].max())
    bound_below = float(result.upper[n:].max())
    if not np.isfinite(bound_above):
        drop = float(result.curvature.max()) * full_size
        return [(-1.0, -epsilon - drop), (0.0, -epsilon), (0.0, epsilon), (1.0, epsilon + drop)]
    low = -bound_below / full_size
    high = bound_above / full_size
    return [(low, BOTTOM), (low, -epsilon), (0.0, -epsilon), (0.0, epsilon), (high, epsilon), (high, TOP)]


def build_failure(
    number: int | None, error: QPSVMError, request: PageRequest | None = None, problem: Problem | None = None
) -> dict[str, Any]:
    """Build the answer if there is no result, with the proof in the plane if the classes cannot be separated."""
    sentence, field, hint = _explain_error(error)
    answer: dict[str, Any] = {
        "id": number,
        "error": {"kind": type(error).__name__, "sentence": sentence, "field": field},
    }
    if hint is not None:
        answer["hint"] = hint
    state = None if request is None else request.state
    if isinstance(error, NotSeparableError) and request is not None and state is not None and problem is not None:
        answer["plane"] = build_proof_plane(request, state, problem, error)
        answer["samples"] = _describe_proof_samples(error)
    return answer


def build_internal_error(number: int | None) -> dict[str, Any]:
    """Build the answer to a request that failed with an internal error."""
    sentence = "The library failed on this request: what the server printed says where. Undo the last change."
    return {"id": number, "error": {"kind": "Fault", "sentence": sentence, "field": None}}


def _explain_error(error: QPSVMError) -> tuple[str, str | None, dict[str, Any] | None]:
    """Describe an error for the page: a sentence, the field, and a setting that would work; None where unknown."""
    if isinstance(error, NotSeparableError):
        plus, minus = int((error.u > 0).sum()), int((error.v > 0).sum())
        text = (
            f"The classes cannot be separated: their hulls meet. A mixture of {_count_samples(plus, 'positive')} is "
            f"the same point as a mixture of {_count_samples(minus, 'negative')}. Choose the C-SVM, or another kernel."
        )
        return text, "machine", {"machine": "c"}
    if isinstance(error, MarginNotFoundError):
        if error.separable:
            separability = "can be separated, but by a margin"
        else:
            separability = "may be separated, but only by a margin"
        text = f"The classes {separability} too narrow for doubles. Choose the C-SVM, or another kernel."
        return text, "machine", {"machine": "c"}
    if isinstance(error, InfeasibleNuError):
        text = (
            f"ν = {error.nu:g} is too large: with these classes it is {error.nu_max:.4g} at the most, twice the share "
            "of the smaller class. Lower ν, or add samples to the smaller class."
        )
        rounded_down = math.floor(error.nu_max * 10**NU_DECIMALS) / 10**NU_DECIMALS
        return text, "nu", {"nu": rounded_down or error.nu_max}
    if isinstance(error, IndefiniteKernelError):
        text = (
            f"The kernel matrix is indefinite: it has the eigenvalue {error.eigenvalue:.4g} {error.where}, so the dual "
            "is not convex. Set psd to clip or shift, or choose other kernel parameters."
        )
        return text, "psd", {"psd": "clip"}
    text = " ".join(str(error).split())
    return text if text.endswith((".", "!", "?")) else f"{text}.", getattr(error, "field", None), None


def _count_samples(number: int, sign: str) -> str:
    """Return the number of samples of a class in words, such as "1 positive sample"."""
    return f"{number} {sign} sample{'' if number == 1 else 's'}"


def _describe_proof_samples(error: NotSeparableError) -> dict[str, Any]:
    """Return the weights of the common point, and a sentence for each sample."""
    share = error.u + error.v
    sentences = [
        f"The point where the hulls meet takes {weight:.3g} of this sample."
        if weight > 0.0
        else "This sample has no part in the point where the hulls meet."
        for weight in share
    ]
    return {"share": to_json_list(share), "verdict": sentences}
