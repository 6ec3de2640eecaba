"""A QP of any origin: solved by what takes any QP, and judged as a machine is, by both sides of its optimum."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Compiled
from qpsvm.backends.recognise import in_words
from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.base.errors import InaccurateWarning, QPSVMError, SolverError, TooLargeError, UnsupportedError
from qpsvm.base.resources.limits import one_thread
from qpsvm.base.resources.progress import say
from qpsvm.bounds.program.faces import Face, dual_inside, face_of
from qpsvm.bounds.program.sides import STEPS, Lower, Program, Upper
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status, complementarity, dual_residual, primal_residual
from qpsvm.program.svm_dual import Statement
from qpsvm.result.qp_result import QPResult
from qpsvm.solve.choice import Request

#: The solver is asked for this share of the tolerance: what repairs cost comes on top.
SHARE = 1e-3
#: Our own solver of machines' duals.
OWN = "kernel_newton"
#: And never for more than floats have.
FINEST = 1e-10
#: A row is active where its multiplier is larger than its slack, in units of this times both scales.
DEFINITE = 1e-9


def solve_program(
    qp: QP, backend: str, request: Request, start: Any, check: bool, machines: tuple[Any, ...]
) -> QPResult:
    """The best verdict of the backends in turn: of the first that proves its point, or of one that is named.

    `machines` are options that a QP does not have: a form and a checkpoint.
    """
    if machines != (None, None):
        raise UnsupportedError("form= and checkpoint= belong to machines: a QP is solved as it stands")
    request = replace(request, start=None if start is None else as_finite_vector(start, "start", qp.n))
    with np.errstate(all="ignore"), one_thread():
        result = _solved(qp, backend, request)
        result = replace(result, machine=in_its_terms(qp, result))
    if check and result.status is not Status.OPTIMAL:
        said = f"{result.status}: {result.message} ({result.solver.name} ended with {result.solver.status!r})"
        if result.status is Status.INFEASIBLE:
            raise SolverError(said)
        warnings.warn(f"{said}; the gap is {result.gap:.2g}, above tol = {request.tol:g}", InaccurateWarning, 3)
    return result


def _solved(qp: QP, backend: str, request: Request) -> QPResult:
    """`solve_program`, of what has been checked."""
    program, best = Program(qp), None
    inside: list[FloatArray | Face | None] = []
    refused: QPSVMError | None = None
    for chosen in _takers(qp, backend):
        try:
            limits = replace(request.limits(chosen), tol=max(request.tol * SHARE, FINEST))
            chosen.check(limits, request.options)
            began = time.perf_counter()
            data = chosen.compile(qp)
            build = time.perf_counter() - began
            solution = data._solved(limits, request.options)
        except (UnsupportedError, TooLargeError, SolverError) as error:
            refused = refused or error
            continue
        found = replace(judged(program, solution, request.tol, request.polish, inside), build_time=build)
        say(f"{chosen.name}: {found.status}, gap {found.gap:.2g}", request.verbose)
        best = found if best is None or _order(found) < _order(best) else best
        if found.status in (Status.OPTIMAL, Status.INFEASIBLE) or request.clock.stopped():
            return found
    if best is None:
        assert refused is not None
        raise refused
    return best


def compiled(qp: QP, backend: str) -> Compiled:
    """The QP for a backend; for "auto", for the first that takes it."""
    refused: QPSVMError | None = None
    for chosen in _takers(qp, backend):
        try:
            return chosen.compile(qp)
        except (UnsupportedError, TooLargeError) as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _order(result: QPResult) -> tuple[float, int]:
    """What is better first: the gap, then how many sides of the optimum are known."""
    return result.gap, math.isinf(result.primal) + math.isinf(result.dual)


def _takers(qp: QP, backend: str) -> Iterator[Backend]:
    """The backend named; or those that take this QP, a machine's own solver first where it is a machine's dual."""
    if not isinstance(backend, str) or backend != "auto":  # an array is refused by name
        yield backends.get(backend)
        return
    if recognised(qp) is not None:
        yield backends.get(OWN)
    for each in backends.everyone():
        if each.abilities.any_qp and not each.abilities.study and not each.outside and each.version() is not None:
            yield each


def recognised(qp: QP) -> Statement | None:
    """The machine's dual that a QP is, whoever wrote it, if our own solver takes it; else None."""
    try:
        return backends.get(OWN).stated(qp)
    except UnsupportedError:
        return None


def in_its_terms(qp: QP, result: QPResult) -> str:
    """What the numbers of a machine's dual mean; "" where it is none.

    (PROGRAM.1) at a point of such a dual is the primal objective of the machine at w(α) and b, with its sign turned.
    """
    statement = recognised(qp)
    if statement is None:
        return ""
    vectors = int((result.x > 0.0).sum())
    words = f"the dual of {in_words(statement)}; {vectors} of {qp.n} multipliers are not 0"
    group = next((each for each in statement.svm.groups if each.multiplier == "b"), None)
    if group is None or not len(result.y):
        return words
    place = [each.name for each in statement.svm.groups if not each.ridge].index(group.name)
    b = result.y[place] * statement.rows.get(group.name, 1.0) / (statement.objective * statement.svm.unit)
    return f"{words}, b = {b:.6g}"


def judged(
    program: Program, solution: QPSolution, tol: float, polish: bool, inside: list[FloatArray | Face | None]
) -> QPResult:
    """The verdict on a solver's answer. `inside` keeps an interior point of (PROGRAM.5), once it was looked for."""
    qp = program.qp
    points = [] if solution.x is None else [(solution.x, solution.y, solution.z)]
    if polish and points:
        finer = polished(program, *points[0])
        points = [finer, *points] if finer is not None else points
    upper, lower = Upper(math.inf, np.clip(np.zeros(qp.n), *qp.bounds), math.inf, "the solver gave no point"), None
    own = math.inf
    for x, y, z in points:
        above, below = program.upper(x, None), program.lower(x, y, z)
        own = relative(above.value, below.value)  # the last is the solver's own
        upper = above if above.value < upper.value or not math.isfinite(upper.radius) else upper
        lower = below if lower is None or below.value > lower.value else lower
    lower = lower or Lower(-math.inf, np.zeros(len(program.b)), np.zeros(len(program.h)), "the solver gave no point")
    shortfall: tuple[FloatArray, FloatArray] | None = None
    if not math.isfinite(upper.value):
        if not inside:
            found, shortfall = interior(program)
            inside.append(face_of(program) if found is None else found)
        for x, *_ in points if inside[0] is not None else []:
            above = program.upper(x, inside[0])
            upper = above if above.value < upper.value else upper
    if relative(upper.value, lower.value) > tol and math.isfinite(program.deficit):
        lower = raised(program, points, lower)
    status, message = Status.INACCURATE, " ".join(f"{part}." for part in dict.fromkeys((upper.why, lower.why)) if part)
    if shortfall is not None and program.lower(np.zeros(qp.n), *shortfall, rows_only=True).value > 0.0:
        status, message = Status.INFEASIBLE, "Multipliers of the rows prove that no point satisfies all of them."
    gap = relative(upper.value, lower.value)
    if gap <= tol:
        status, message = Status.OPTIMAL, ""
    elif status is Status.INACCURATE and solution.status not in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED):
        status = solution.status
    residuals = (math.inf,) * 3
    if solution.x is not None and solution.z_box is not None:
        x, y, z, box = solution.x, solution.y, solution.z, solution.z_box
        residuals = (primal_residual(qp, x), dual_residual(qp, x, y, z, box), complementarity(qp, x, z, box))
    return QPResult(
        qp, status, upper.x, upper.radius, lower.y, lower.z, upper.value, lower.value, gap, own, *residuals,
        solver=Solver(*solution.solver), solve_time=solution.solve_time, iterations=solution.iterations,
        message=message,
    )  # fmt: skip


def raised(program: Program, points: list[tuple[FloatArray, FloatArray, FloatArray]], lower: Lower) -> Lower:
    """(FACE.4): the best bound of multipliers that are moved a little; the one given where none is better."""
    for x, y, z in points:
        for other_y, other_z in dual_inside(program, x):
            for t in STEPS[1:]:
                moved = np.maximum(z, 0.0) * (1.0 - t) + t * np.maximum(other_z, 0.0)
                found = program.lower(x, y + t * (other_y - y), moved)
                lower = found if found.value > lower.value else lower
    return lower


def relative(above: float, below: float) -> float:
    """The gap between two sides, infinite where one of them is."""
    difference = above - below
    return max(difference / max(1.0, abs(above), abs(below)), 0.0) if math.isfinite(difference) else math.inf


def polished(
    program: Program, x: FloatArray, y: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """The solution of (QP.1) with the rows and bounds that the point says are active: x, y, z; None where it is worse.

    As OSQP's polishing (Stellato et al. 2020, section 4), in the least-squares sense where rows depend on each other.
    """
    qp, n = program.qp, program.qp.n
    if n + len(program.b) + len(program.h) > 2000:
        return None
    slack = program.h - program.G @ x
    box = -(program.curved(x).value + qp.q + program.G.T @ z + program.A.T @ y)
    rows = np.flatnonzero(z > slack)
    at_low = (-box > x - program.lb) | (program.lb == program.ub)
    at_high = (box > program.ub - x) & ~at_low
    free = np.flatnonzero(~(at_low | at_high))
    fixed = np.where(at_low, program.lb, np.where(at_high, program.ub, 0.0))
    active = as_dense(sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)[rows]], format="csr"))
    sides = np.concatenate([program.b, program.h[rows]])
    dense = qp.P.dense()
    k, f = len(sides), len(free)
    K = np.block([[dense[np.ix_(free, free)], active[:, free].T], [active[:, free], np.zeros((k, k))]])
    right = np.concatenate([-(qp.q + dense @ fixed)[free], sides - active @ fixed])
    try:
        found = np.linalg.lstsq(K, right, rcond=1e-13)[0]
        found += np.linalg.lstsq(K, right - K @ found, rcond=1e-13)[0]
    except np.linalg.LinAlgError:
        return None
    at = fixed
    at[free] = found[:f]
    finer = np.zeros(len(z))
    finer[rows] = found[f + len(y) :]
    return at, found[f : f + len(y)], finer


def interior(program: Program) -> tuple[FloatArray | None, tuple[FloatArray, FloatArray] | None]:
    """A point (n,) with room in all rows and bounds, by HiGHS; or multipliers (p,), (m,) if there is none."""
    from scipy.optimize import linprog

    n, m, p = program.qp.n, len(program.h), len(program.b)
    with np.errstate(invalid="ignore"):
        width = np.minimum(1.0, 0.5 * (program.ub - program.lb))
    width = np.where(np.isfinite(width), width, 1.0)
    over = sp.csr_array(program.G)
    norms = np.sqrt(over.multiply(over).sum(axis=1))
    low = np.flatnonzero(np.isfinite(program.lb) & (width > 0))
    high = np.flatnonzero(np.isfinite(program.ub) & (width > 0))
    eye = sp.eye_array(n, format="csr")
    blocks = [
        sp.hstack([over, sp.csr_array(norms[:, None])]),
        sp.hstack([-eye[low], sp.csr_array(width[low][:, None])]),
        sp.hstack([eye[high], sp.csr_array(width[high][:, None])]),
    ]
    rows = sp.vstack(blocks, format="csr")
    sides = np.concatenate([program.h, -program.lb[low], program.ub[high]])
    equal = sp.hstack([sp.csr_array(program.A), sp.csr_array((p, 1))], format="csr") if p else None
    bounds = [*zip(program.lb, program.ub, strict=True), (None, 1.0)]
    found = linprog(
        np.concatenate([np.zeros(n), [-1.0]]), A_ub=rows, b_ub=sides, A_eq=equal, b_eq=program.b if p else None,
        bounds=bounds, method="highs",
    )  # fmt: skip
    if found.status == 0 and found.x[-1] > 0.0:
        return np.clip(found.x[:n], program.lb, program.ub), None
    if found.status == 0:
        y = -found.eqlin.marginals if p else np.zeros(0)
        return None, (y, -found.ineqlin.marginals[:m])
    return None, _farkas(program)


def _farkas(program: Program) -> tuple[FloatArray, FloatArray] | None:
    """Multipliers (p,), (m,) of the least sum of violations of the rows, within the bounds: (PROGRAM.6)."""
    from scipy.optimize import linprog

    n, m, p = program.qp.n, len(program.h), len(program.b)
    equal, over = sp.csr_array(program.A), sp.csr_array(program.G)
    rows = sp.hstack([over, -sp.eye_array(m), sp.csr_array((m, 2 * p))], format="csr") if m else None
    ties = sp.hstack([equal, sp.csr_array((p, m)), sp.eye_array(p), -sp.eye_array(p)], format="csr") if p else None
    found = linprog(
        np.concatenate([np.zeros(n), np.ones(m + 2 * p)]), A_ub=rows, b_ub=program.h if m else None, A_eq=ties,
        b_eq=program.b if p else None, bounds=[*zip(program.lb, program.ub, strict=True), *[(0.0, None)] * (m + 2 * p)],
        method="highs",
    )  # fmt: skip
    if found.status != 0:
        return None
    return (-found.eqlin.marginals if p else np.zeros(0)), (-found.ineqlin.marginals if m else np.zeros(0))
