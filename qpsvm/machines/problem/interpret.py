"""The way through: from a solver's answer to α, from α to a certified point, and from there to a result.

This is the one place in which the letters of the QP (x, y, z) and of the SVM (α, w, b) meet. (`problem.machine` imports
this file, so a problem is any object here.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import all_finite, as_finite_vector, as_real_vector, as_tolerance
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError
from qpsvm.base.resources.progress import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import FEW_ROWS, GOOD, MANY_ROWS
from qpsvm.machines.problem.forms import Form, read_form, read_prices
from qpsvm.machines.problem.judge import counted, gap_of, verdict
from qpsvm.machines.problem.starts import affordable_alpha, certificate_seconds
from qpsvm.program.solution import QPSolution, Solver, Status


def read(problem: Any, solution: QPSolution, form: Form) -> tuple[FloatArray, FloatArray | None]:
    """`Problem.read`."""
    if solution.x is None:
        return np.zeros(problem.svm.m), None
    parts = solution.qp.split(solution.x)
    w: FloatArray | None = None
    if form == "dual":
        alpha = parts["alpha"]
        if problem.user_rows is not None:
            alpha = np.concatenate([alpha, read_prices(parts, problem.user_rows)])
        if solution.v is not None:
            w = solution.v / float(np.sqrt(problem.svm.unit))  # the factor of P is that of K times √unit
            w = w[:-1] if problem.intercept == "penalised" and problem.space.is_linear else w
    else:
        sides = [solution.qp.multiplier(name, solution.z, solution.y) for name in problem.level_rows]
        alpha = np.concatenate(sides) / problem.svm.unit  # (PHINGE.16)
        if problem.user_rows is not None:
            groups = {name: solution.qp.multiplier(name, solution.z, solution.y) for name in solution.qp.constraints}
            alpha = np.concatenate([alpha, read_prices(groups, problem.user_rows) / problem.svm.unit])
        w = parts[problem.letters.get("w", "w")] if problem.space.is_linear else None
    if w is not None and not all_finite(w):
        w = None
    return (alpha if all_finite(alpha) else np.where(np.isfinite(alpha), alpha, 0.0)), w


def given(problem: Any, alpha: ArrayLike, name: str) -> FloatArray:
    """α as a user gives it, multipliers of the constraints behind it or not, over the rows of the dual: (m,)."""
    rows = problem.user_rows
    if rows is None:
        return np.asarray(problem._gather(as_finite_vector(alpha, name, problem.alphas)))
    whole = as_real_vector(alpha, name)
    n = problem.alphas + (rows.p if len(whole) != problem.alphas else 0)
    whole = as_finite_vector(whole, name, n)
    prices = whole[problem.alphas :] if n > problem.alphas else np.zeros(rows.p)
    return np.concatenate(
        [problem._gather(whole[: problem.alphas]), prices * rows.scale * (problem.size_of_f / problem.svm.unit)]
    )


def certified(problem: Any, alpha: ArrayLike, w: ArrayLike | None) -> Certificate:
    """`Problem.certify`."""
    problem.samples.check()
    a = problem._given(alpha, "alpha")
    explicit = None if w is None else as_real_vector(w, "w")
    if explicit is not None:
        width = (problem.space.samples.d if problem.space.is_linear else problem.n,)
        if explicit.shape != width or not np.isfinite(explicit).all():
            whose = "a weight vector" if problem.space.is_linear else "coefficients over the samples"
            raise DataError(f"w must be {whose}: finite, of shape {width}; got shape {explicit.shape}")
        explicit = explicit / problem.size_of_f if problem.size_of_f != 1.0 else explicit
        explicit = problem.space.over_rows(explicit) if problem.space.is_linear else problem.taking_part(explicit)
    with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
        return counted(problem, problem.judge.certify(a, explicit), 0.0)


def candidate(problem: Any, alpha: ArrayLike, tol: float) -> Any:
    """`Machine.at`."""
    problem.samples.check()
    a, tol = problem._given(alpha, "alpha"), as_tolerance(tol)
    with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
        measured = problem.judge.certify(a)
        certificate = counted(problem, measured, tol, polished=False)
    return problem._result(
        certificate, message=problem._note(certificate),
        status=Status.OPTIMAL if certificate.gap <= tol else Status.CANDIDATE, backend="none", form="dual",
        iterations=None, build_time=0.0, solve_time=0.0, solver=Solver("no solver", "", "the point was given"),
        solver_gap=gap_of(measured),
    )  # fmt: skip


def concluded(problem: Any, point: Any, said: Status, tol: float, **record: Any) -> Any:
    """The result of a counted point, with the status that its certificate gives, whatever a solver said."""
    status, message = verdict(point, said, tol, problem._note(point))
    return problem._result(point, status=status, message=message, **record)


def interpreted(
    problem: Any,
    solution: QPSolution,
    tol: float,
    polished: bool,
    form: Form | None,
    certifying: float,
    polishing: Clock | None,
    clock: Clock | None,
    **record: Any,
) -> Any:
    """`Problem.interpret`."""
    problem.samples.check()  # after the solver, before anything is said of its answer
    own = problem.svm if problem.svm.users is None else problem.svm.users.own
    form = read_form(solution, form, own.m, problem.level_rows)
    alpha, w = problem.read(solution, form)
    m = problem.team.count(problem.svm.m)
    enough = 0.0 if m <= MANY_ROWS else min(GOOD, tol)
    if w is None and not problem.constraints:
        alpha = affordable_alpha(problem.space, problem.svm, alpha, certifying)
    elif not problem.space.is_linear and certificate_seconds(problem.space, alpha) > certifying:
        enough = float("inf")  # the solver's own w is all that can be looked at
    measured = Clock()
    certificate = problem.judge.certify(alpha, w, enough)
    each, solver_gap = measured.seconds, certificate.gap
    if certificate.explicit is not None:  # from here on without it
        each = max(each, certificate_seconds(problem.space, alpha))
    stopped = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED) and m > FEW_ROWS
    if polished and not stopped:
        certificate = problem._polished(certificate, tol, polishing, each)
    in_time = problem.team.agreed(not stopped and (polishing is None or not polishing.stopped()))
    certificate = counted(problem, certificate, tol, in_time)
    certificate, status, message, error = problem._judge(certificate, solution, tol, polished and in_time, clock)
    record["backend"] = record["backend"] or solution.solver.name
    return problem._result(
        certificate, status=status, message=message, error=error, form=form, iterations=solution.iterations,
        solve_time=solution.solve_time, solver=solution.solver, solver_gap=solver_gap, bounded=in_time, **record,
    )  # fmt: skip
