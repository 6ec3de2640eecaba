"""Read α from a solver's solution, certify it, and build the result (`read`, `certify`, `interpret`).

This is the one place in which the letters of the QP (x, y, z) and of the SVM (α, w, b) meet. (`problem.machine` imports
this file, so a problem is any object here.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_finite_vector, as_real_vector, as_tolerance, is_all_finite
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import build_frozen, copy_without_cache, freeze, multiply
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import FEW_ROWS, GOOD, MANY_ROWS
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.certifier import classify_samples, compute_measured_gap, decide_status, with_rounding_bound
from qpsvm.machines.problem.exact_kernel import bound_exact_objectives
from qpsvm.machines.problem.forms import read_multipliers
from qpsvm.machines.problem.linear_constraints import ConstraintRows
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.machines.problem.starts import estimate_certificate_seconds, find_affordable_alpha
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.result.caveats import find_caveats
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Precomputed

#: Letters of the names of a user's rows that a table keeps.
LONGEST_NAME = 64


def read(self: Any, solution: QPSolution, form: Form) -> tuple[FloatArray, FloatArray | None]:
    """Read α off a solution, and w where it is explicit.

    Parameters
    ----------
    solution : QPSolution
        Of one of this problem's QPs.
    form : "dual" or "primal"
        Which one.

    Returns
    -------
    alpha : ndarray, shape (rows that take part,)
        As the solver left it: not repaired. Zeros where it gave no point.
    w : ndarray, shape (d,), or None
        None where there is none, or it is not finite. Of a kernel that is not linear, coefficients over the samples
        in its place, (rows that take part,).

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
    >>> alpha, w = problem.read(qpsvm.compile(problem.qp("primal"), "cvxopt").solve(), "primal")
    >>> print(alpha.round(5), w.round(5))
    [0.5 0.5] [1.]
    """
    if solution.x is None:
        return np.zeros(self.svm.m), None
    x, w = solution.x, None
    if form == "dual":
        alpha = x[solution.qp.variables["alpha"]]
        if self._constraint_rows is not None:
            alpha = np.concatenate([alpha, read_multipliers(solution.qp.split(x), self._constraint_rows)])
        if solution.v is not None:
            w = solution.v / float(np.sqrt(self.svm.unit))  # the factor of P is that of K times √unit
            w = w[:-1] if self.intercept == "penalised" and self.space.is_linear else w
    else:
        sides = [solution.qp.multiplier(name, solution.z, solution.y) for name in self._margin_constraints]
        alpha = np.concatenate(sides) / self.svm.unit  # (PHINGE.16)
        if self._constraint_rows is not None:
            groups = {name: solution.qp.multiplier(name, solution.z, solution.y) for name in solution.qp.constraints}
            alpha = np.concatenate([alpha, read_multipliers(groups, self._constraint_rows) / self.svm.unit])
        w = solution.qp.split(x)[self._variable_names.get("w", "w")] if self.space.is_linear else None
    if w is not None and not is_all_finite(w):
        w = None
    return (alpha if is_all_finite(alpha) else np.where(np.isfinite(alpha), alpha, 0.0)), w


def read_user_alpha(problem: Any, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
    """Map α of a user, with or without multipliers of the constraints, to the rows of the dual: (m,)."""
    rows = problem._constraint_rows
    if rows is None:
        return np.asarray(problem._restrict_to_dual(as_finite_vector(alpha, name, problem._n_dual_variables)))
    whole = as_real_vector(alpha, name)
    n = problem._n_dual_variables + (rows.p if len(whole) != problem._n_dual_variables else 0)
    whole = as_finite_vector(whole, name, n)
    prices = whole[problem._n_dual_variables :] if n > problem._n_dual_variables else np.zeros(rows.p)
    return np.concatenate(
        [
            problem._restrict_to_dual(whole[: problem._n_dual_variables]),
            prices * rows.scale * (problem._f_scale / problem.svm.unit),
        ]
    )


def certify(self: Any, alpha: ArrayLike, w: ArrayLike | None = None, *, tol: float = 0.0) -> Certificate:
    """Turn any α into a feasible primal-dual pair with a certified gap.

    Parameters
    ----------
    alpha : array_like, shape (n,), or (2n,) of a regression
        Anything finite; it is repaired first. Indexed by the caller's rows.
    w : array_like, shape (d,) or (n,), optional
        An explicit weight vector for a linear kernel, as `result.w` has it, used where its primal value is the
        better one. For another kernel, the coefficients of w = Σ_j w_j φ(x_j): where few of them are not 0, the
        certificate needs the kernel values of those samples only, however many α are not 0.
    tol : float
        Relative gap that is small enough: no more digits are computed then.

    Returns
    -------
    Certificate
        Over the rows of positive weight.

    Raises
    ------
    DataError
        Another shape, or values that are not finite.
    ParameterError
        A tolerance below 0, or not below 1.

    Examples
    --------
    Be the solver: any α gives bounds on the optimal value, ½ here, and the right one gives it exactly.

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> guess = problem.certify([0.1, 0.3, 0.3, 0.1])
    >>> guess.dual <= 0.5 <= guess.primal
    True
    >>> right = problem.certify([0.0, 0.5, 0.5, 0.0])
    >>> print(round(right.dual, 6), round(right.primal, 6), right.gap < 1e-12)
    0.5 0.5 True
    """
    self.samples.check()
    a, tol = self._read_user_alpha(alpha), as_tolerance(tol) if tol != 0.0 else 0.0
    explicit = None if w is None else as_real_vector(w, "w")
    if explicit is not None:
        width = (self.space.samples.d if self.space.is_linear else self.n,)
        if explicit.shape != width or not np.isfinite(explicit).all():
            whose = "a weight vector" if self.space.is_linear else "coefficients over the samples"
            raise DataError(f"w must be {whose}: finite, of shape {width}; got shape {explicit.shape}")
        explicit = explicit / self._f_scale if self._f_scale != 1.0 else explicit
        explicit = self.space.to_row_weights(explicit) if self.space.is_linear else self._select_active(explicit)
    with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
        return with_rounding_bound(self, self._certifier.certify(a, explicit), tol)


def build_result_at(problem: Any, alpha: ArrayLike, tol: float) -> Any:
    """Certify any α and build the result: see `Machine.at`."""
    problem.samples.check()
    a, tol = problem._read_user_alpha(alpha), as_tolerance(tol)
    with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
        measured = problem._certifier.certify(a)
        certificate = with_rounding_bound(problem, measured, tol, polished=False)
    return problem._build_result(
        certificate, message=problem._describe_caveats(certificate),
        status=Status.OPTIMAL if certificate.gap <= tol else Status.CANDIDATE, backend="none", form="dual",
        iterations=None, build_time=0.0, solve_time=0.0, solver=Solver("no solver", "", "the point was given"),
        solver_gap=compute_measured_gap(measured),
    )  # fmt: skip


def build_result(problem: Any, point: Any, said: Status, tol: float, **record: Any) -> Any:
    """Build the result of a point whose rounding is bounded; its certificate decides the status, not the solver."""
    status, message = decide_status(point, said, tol, problem._describe_caveats(point))
    return problem._build_result(point, status=status, message=message, **record)


def interpret(
    self: Any,
    solution: QPSolution | DualSolution,
    *,
    tol: float = 1e-6,
    polished: bool = True,
    form: Form | None = None,
    backend: str = "",
    build_time: float = 0.0,
    certifying: float = float("inf"),
    polishing: Clock | None = None,
    clock: Clock | None = None,
) -> SVMResult:
    """Read α from a solution of one of this problem's QPs, polish it, and certify it.

    Parameters
    ----------
    solution : QPSolution or DualAnswer
        Of `qp(form)`, or of `solver_qp(form)` after `unscale`; or what a solver has found for the dual itself.
    tol : float
        Relative gap, rounding included, up to which the result is `optimal`.
    polished : bool
        Whether to improve the solver's point first (`polish`).
    form : "dual" or "primal", optional
        Read off the variables' names where absent.
    backend, build_time : str, float
        Who solved, and seconds, for the record.
    certifying : float
        Seconds that a certificate may take: where α has too many support vectors, some of them are certified.
    polishing : Clock, optional
        What polishing may take.
    clock : Clock, optional
        Of the whole run: what a machine has still to find out, it looks for while this runs.

    Returns
    -------
    SVMResult
        With `error` set to what `solve(check=True)` raises, or None.

    Raises
    ------
    ParameterTypeError, DataError
        No solution, or one of another QP.

    Examples
    --------
    CVXOPT by hand; what comes back is certified all the same:

    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> solution = qpsvm.compile(problem.qp("primal"), "cvxopt").solve()
    >>> result = problem.interpret(solution)
    >>> print(result.status, result.form, result.alpha.round(6))
    optimal primal [0.  0.5 0.5 0. ]
    """
    self.samples.check()  # after the solver, before anything is said of its answer
    if isinstance(solution, DualSolution):
        alpha, w, form = np.zeros(self.svm.m) if solution.alpha is None else solution.alpha, solution.w, "dual"
    else:
        own = self.svm if self.svm.linear_constraints is None else self.svm.linear_constraints.unconstrained_dual
        form = infer_form(solution, form, own.m, self._margin_constraints)
        alpha, w = self.read(solution, form)
    m = self.svm.m
    enough = 0.0 if m <= MANY_ROWS else min(GOOD, tol)
    if self.space.is_linear or certifying == np.inf:
        pass
    elif w is None and not self.constraints:
        alpha = find_affordable_alpha(self.space, self.svm, alpha, certifying)
    elif estimate_certificate_seconds(self.space, alpha) > certifying:
        enough = float("inf")  # the solver's own w is all that can be looked at
    measured = Clock()
    certificate = self._certifier.certify(alpha, w, enough)
    each, solver_gap = measured.seconds, certificate.gap
    if certificate.explicit is not None:  # from here on without it
        each = max(each, estimate_certificate_seconds(self.space, alpha))
    stopped = solution.reported in (Status.TIME_LIMIT, Status.INTERRUPTED) and m > FEW_ROWS
    if polished and not stopped:
        certificate = self._polish(certificate, tol, polishing, each)
    in_time = not stopped and (polishing is None or not polishing.find_stop_reason())
    certificate = with_rounding_bound(self, certificate, tol, in_time)
    certificate, status, message, error = self._decide_outcome(
        certificate, solution.reported, tol, polished and in_time, clock
    )
    found: SVMResult = self._build_result(
        certificate, status=status, message=message, error=error, form=form, iterations=solution.iterations,
        backend=backend or solution.solver.name, build_time=build_time, solve_time=solution.solve_time,
        solver=solution.solver, solver_gap=solver_gap, bounded=in_time,
    )  # fmt: skip
    return found


def infer_form(solution: QPSolution, form: Form | None, n: int, names: tuple[str, ...] = ("margin",)) -> Form:
    """Infer the form of a solution from the names of its variables, unless it is given.

    The rows of a primal whose multipliers are α have these names.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(solution, QPSolution):
        raise ParameterTypeError(
            f"interpret takes the QPSolution of a QP of this problem, got {format_value(solution)}"
        )
    qp = solution.qp
    form = check_form(form or ("dual" if "alpha" in qp.variables else "primal"))
    if form == "dual":
        parts = [qp.variables["alpha"]] if "alpha" in qp.variables else []
    else:
        parts = [qp.constraints[name].rows for name in names if name in qp.constraints]
    if sum(part.stop - part.start for part in parts) != n:
        raise DataError(f"the solution is of {qp!r}, which is not the {form} form of this problem over {n} rows")
    return form


def build_svm_result(problem: Any, certificate: Certificate, bounded: bool = True, **record: Any) -> SVMResult:
    """Build the result with the record of the solve; a row of a sample of weight 0 has α = 0 and C = 0.

    `bounded` says whether there is time for bounds on the machine with the kernel itself, of a pivoted factor. Where f
    is a multiple of that of the dual, as in an SVDD, so are b, w, the coefficients and what is missing.
    (`problem.base` imports this file, so a problem is any object here.)
    """
    samples, space, size = problem.samples, problem.space, problem._f_scale
    spread = (lambda values: values) if samples.all_weights_positive else problem._expand_from_dual
    whole = certificate
    kind, table = classify_samples(space, certificate) if certificate.kind is None else certificate.kind, None
    if problem._constraint_rows is not None:
        table = build_constraint_table(certificate, problem._constraint_rows, size)
        certificate = remove_constraints(certificate)
        kind = kind[: certificate.svm.m]
    svm = certificate.svm
    model = _build_model(problem, certificate)
    shown_yf, shown_margin = certificate.yf, certificate.margin
    if problem._diagonal_weight:
        shown_yf, shown_margin = -size * certificate.violation, np.zeros(svm.m)
    yf, margin = spread(shown_yf), spread(shown_margin)
    if not samples.all_weights_positive:
        problem._fill_inactive(np.flatnonzero(samples.weight == 0), model, certificate, yf, margin)
    extras, intervals = problem._compute_extras(certificate)
    if bounded and isinstance(problem.kernel, FeatureMap):
        extras = {**extras, **bound_exact_objectives(problem, certificate, model)}
    low, high = certificate.b_interval
    if certificate.w is not None:
        moved = model.b / size - certificate.b
        low, high = low + moved, high + moved
    return build_frozen(
        SVMResult,
        alpha=spread(certificate.alpha),
        constraints=table,
        coef=samples.expand_active(multiply(size, certificate.coef[: svm.n])),
        b=model.b,
        b_interval=(size * low, size * high),
        rho=extras.get("rho", certificate.rho),
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        rounding=certificate.rounding,
        kind=spread(kind) if svm.rows is None else samples.expand_active(merge_kinds_by_sample(svm, kind)),
        yf=yf,
        margin=margin,
        upper=spread(svm.upper),
        curvature=spread(svm.curvature),
        unit=svm.unit / size,
        model=model,
        extras=extras,
        intervals=intervals,
        target=problem._regression_target,
        kinds=problem._kind_labels,
        pairs=problem._sample_pairs,
        problem=copy_without_cache(problem),
        caveats=find_caveats(problem, whole),
        **{"title": problem.title, **record},
    )


def remove_constraints(certificate: Certificate) -> Certificate:
    """Restrict the certificate to the rows of the machine itself, with b in f as without linear constraints."""
    users = certificate.svm.linear_constraints
    assert users is not None
    own, multipliers = users.unconstrained_dual, dict(certificate.multipliers)
    b = multipliers.pop("b", 0.0)
    intervals = dict(certificate.intervals)
    low, high = intervals.pop("b", (b, b))
    yf = certificate.yf[: own.m] + (own.sign * b if own.intercept is not None else 0.0)
    return certificate.replace(
        svm=own, alpha=certificate.alpha[: own.m], yf=yf, margin=own.margin(multipliers), b=b, b_interval=(low, high),
        multipliers=multipliers, intervals=intervals, slack=None, radius=None, contributing=None,
    )  # fmt: skip


def build_constraint_table(certificate: Certificate, rows: ConstraintRows, size: float) -> NDArray[np.void]:
    """Build the table `SVMResult.constraints`: (p,).

    The left-hand side is h − slack, with what the certificate knows of the slack: of f, as the user wrote it.
    """
    users = certificate.svm.linear_constraints
    assert users is not None
    behind = slice(users.unconstrained_dual.m, None)
    short = certificate.violation[behind] if certificate.slack is None else certificate.slack[behind]
    prices = certificate.alpha[behind]
    columns = {
        "value": rows.original_h + rows.scale * size * short, "bound": rows.original_h,
        "violation": rows.scale * size * np.maximum(short, 0.0),
        "price": certificate.unit * prices / rows.scale / size,
        "gap": certificate.unit * prices * np.abs(short),  # (OWN.8)
    }  # fmt: skip
    table = np.empty(rows.p, dtype=[("name", f"U{LONGEST_NAME}"), *((name, "f8") for name in columns)])
    table["name"] = rows.names
    for name, values in columns.items():
        table[name] = values
    return table


def merge_kinds_by_sample(svm: SVMDual, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    """Reduce the kinds of rows, (m,), to the largest kind of each sample, (n,)."""
    assert svm.rows is not None
    found = np.zeros(svm.n, dtype=np.int8)
    np.maximum.at(found, svm.rows, kind)
    return found


def _build_model(problem: Any, certificate: Certificate) -> Model:
    samples, space, size = problem.samples, problem.space, problem._f_scale
    d = samples.X.shape[1]
    common: dict[str, Any] = {
        "kernel": space.kernel, "classes": problem._predicted_labels, "b": size * certificate.b, "n_features": d,
        "feature_names": samples.feature_names, "diagonal": problem._diagonal_weight, "metadata": {},
    }  # fmt: skip
    if certificate.w is not None:
        common["b"] = size * space.to_caller_intercept(certificate.w, certificate.b)
        w, radius = multiply(size, space.to_caller_weights(certificate.w)), None
        if space.is_affine:  # beside rows of a user's it is b that was certified
            radius = problem._compute_extras(certificate)[0]["radius"]
        return build_frozen(Model, coef=np.zeros(0), vectors=np.zeros((0, d)), w=w, radius=radius, **common)
    kept = certificate.coef.nonzero()[0]  # points of a user's rows among them
    vectors = samples.active_rows[kept] if isinstance(space.kernel, Precomputed) else space.X[kept]
    return build_frozen(Model, coef=multiply(size, certificate.coef[kept]), vectors=freeze(vectors), w=None, **common)


def check_result(samples: TrainingSamples, result: SVMResult) -> None:
    """Check that a result is over the samples of a problem. Raises ParameterTypeError, DataError."""
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {format_value(result)}")
    if len(result.coef) != samples.n:
        raise DataError(f"the result is over {len(result.coef)} rows, the problem has {samples.n}")


def check_all_in_one_result(result: Any) -> None:
    """Check that a result is of several classes in one program. Raises ParameterTypeError."""
    if not isinstance(result, AllInOneResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {format_value(result)}")


def check_point(problem: Any, result: Any) -> None:
    """Check that a result is a point of a problem, with a decision function of that problem.

    Raises DataError.
    """
    problem.samples.check()
    model = result.model
    classes = problem._predicted_labels if isinstance(result, SVMResult) else problem.classes
    rows, features = len(result.coef), model.n_features
    why = ""
    if (rows, features) != problem.X.shape:
        why = (
            f"is over {rows} rows of {features} features, the problem has {problem.X.shape[0]} rows of "
            f"{problem.X.shape[1]}"
        )
    elif model.kernel != problem.kernel:
        why = f"has the kernel {model.kernel!r}, the problem {problem.kernel!r}"
    elif not np.array_equal(np.asarray(model.classes), np.asarray(classes)):
        why = f"has the classes {format_value(model.classes)}, the problem {format_value(classes)}"
    elif isinstance(result, SVMResult):
        why = _explain_other_variables(problem, result)
    if why:
        raise DataError(f"the result {why}: give the result of solve(problem)")


def format_title(problem: Any, result: Any) -> str:
    """Format the title of a proof: the problem, and the other machine if the result is from one."""
    if result.title == problem.title:
        return str(problem.title)
    return f"{problem.title}; the numbers are those of a result of {result.title}"


def _explain_other_variables(problem: Any, result: SVMResult) -> str:
    """Explain which variables of a problem a result lacks or has in excess: the end of a sentence, or ""."""
    names = [name[:LONGEST_NAME] for name in problem._textbook_constraint_rows.names] if problem.constraints else []
    given = [] if result.constraints is None else result.constraints["name"].tolist()
    needed = {group.multiplier for group in problem._dual_structure.groups} - {"b", "rho"}
    needed |= {"radius"} if problem._is_affine else set()
    if len(result.alpha) != problem._n_dual_variables:
        return f"of {result.title} has {len(result.alpha)} α, the problem {problem._n_dual_variables}"
    if names != given:
        return f"has the rows of constraints {format_value(given)}, the problem {format_value(names)}"
    if not needed <= {*result.extras} or (result.model.diagonal != 0.0) != (problem._diagonal_weight != 0.0):
        return f"of {result.title} has other variables than {problem.title}"
    return ""
