"""Define the base class of the machines, as SVM formulations are called here (`Problem`).

A machine is a subclass that states its formulation as a `Specification`. From it follow both QPs, their scaling for a
solver, the way from a solution (x, y, z) of a QP to the variables (α, w, b) of the SVM, the certificate, the result and
the proofs.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterTypeError
from qpsvm.base.html import Cell, render_table
from qpsvm.base.other_names import PROBLEM_HINTS, AttributeHints
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import FEW_ROWS, GOOD, MANY_ROWS
from qpsvm.bounds.repair import make_start_feasible
from qpsvm.machines.problem.certification_limits import NO_LIMITS, CertificationLimits
from qpsvm.machines.problem.certifier import CertifiedPoint, compute_measured_gap, decide_status
from qpsvm.machines.problem.derived_problems import replace_parameters
from qpsvm.machines.problem.docstrings import complete_docstring
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.evidence import check_feasible_constraints
from qpsvm.machines.problem.forms import build_constrained_qp, build_dual_qp
from qpsvm.machines.problem.machine_type import MachineType
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.machines.problem.reading import infer_form, read_solution, read_user_alpha, read_user_weights
from qpsvm.machines.problem.result_building import build_svm_result
from qpsvm.machines.problem.result_checks import check_function_count, check_point, check_samples
from qpsvm.machines.problem.scaling import compute_scaling
from qpsvm.machines.problem.starts import estimate_certificate_seconds, find_affordable_alpha, read_neighbouring_alpha
from qpsvm.program.deferred_qp import DeferredQP
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.exchange import Solvable
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from qpsvm.base.arrays.rationals import RationalVector
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.bounds.proof.exact_dual import ExactDual
    from qpsvm.bounds.proof.proof import Proof
    from qpsvm.machines.problem.sensitivity import Sensitivity


class Problem(AttributeHints, DualStatement, Solvable[SVMResult], metaclass=MachineType):
    """A support vector machine as a pair of quadratic programs.

    Parameters
    ----------
    samples : Samples
        The samples with their weights. Those of weight 0 are left out; their α is 0.
    kernel : Kernel, str or callable
        For `Precomputed()`, X is the (n, n) kernel matrix.
    intercept : "free", "penalised" or None
        Whether b is outside the norm (not penalised), inside it, or absent.
    psd : "raise", "clip" or "shift"
        What to do if the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Linear constraints on w, b and f.

    Attributes
    ----------
    constraints : tuple of Constraints and ValueConstraints
        Empty if there are none.
    X : ndarray, csr_array or RowSource, shape (n, d)
        The samples. For a linear kernel, a `RowSource` is read block by block; for any other kernel, all rows are read
        into one array.
    kernel : Kernel
        The kernel, with numbers for all parameters.

    Raises
    ------
    DataError, DataTypeError
        Samples, labels or weights of a wrong shape or type, or not finite; labels of one class, or that cannot be
        sorted; a kernel matrix that is not square.
    ParameterError, ParameterTypeError, UnknownOptionError
        A parameter that is out of range, of a wrong type, or unknown.

    See Also
    --------
    CSVM, HardMargin, NuSVM, PrimalHinge : The machines.
    solve : Solve any of them.

    Examples
    --------
    All machines have the same interface, apart from their hyperparameters:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> for machine in (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge):
    ...     print(machine(X, y).title, "|", qpsvm.solve(machine(X, y)).status)
    hard margin, kernel Linear() | optimal
    C-SVM, C = 1, kernel Linear() | optimal
    ν-SVM, ν = 0.5, kernel Linear() | optimal
    primal hinge loss, lambda = 0.01, intercept free, kernel Linear() | optimal
    """

    #: The machines by class name.
    _registered_machines: ClassVar[dict[str, type[Problem]]] = {}
    _attribute_hints: ClassVar[Mapping[str, str]] = PROBLEM_HINTS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)
        Problem._registered_machines.setdefault(cls.__name__, cls)  # a user's machine does not replace a built-in one

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {self.samples!r}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {label:<12}{text}" for label, text in self._describe_parts())])

    def _repr_html_(self) -> str:
        return render_table([[Cell(label), Cell(text)] for label, text in self._describe_parts()], title=self.title)

    @cached
    def svm(self) -> SVMDual:
        """The dual over the samples of positive weight, with the Gram matrix that is used in computations."""
        if self.constraints:
            return check_feasible_constraints(self, self._build_full_dual(self.space.centred_gram, self.intercept))
        centred, intercept = self.space.centred_gram, self.space.computed_intercept
        if intercept == self.intercept and not self._diagonal_weight:
            return self._dual_structure.with_gram(self._extend_gram(centred))
        return self._build_dual(centred, intercept)  # if f includes K(x, x), the levels are those of this Gram matrix

    def replace(self, **parameters: Any) -> Self:
        """Return the problem with other parameters; it shares the samples and, for the same kernel, the Gram matrix.

        Parameters
        ----------
        **parameters
            Parameters of the machine (`C`, `nu`, `lam`) or its kernel (`gamma`, `degree`, `coef0`), `kernel` or `psd`.

        Returns
        -------
        Problem
            A problem of the same class. If the kernel is the same, both use the same cached kernel values.

        Raises
        ------
        UnknownOptionError, ParameterError, ParameterTypeError
            A parameter that is unknown, out of range, or of a wrong type.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], kernel=qpsvm.RBF(0.5))
        >>> print(problem.replace(C=10).title)
        C-SVM, C = 10, kernel RBF(gamma=0.5)
        >>> print(problem.replace(C=10, gamma=2.0).title)
        C-SVM, C = 10, kernel RBF(gamma=2)
        >>> problem.replace(C=10).space is problem.space
        True
        """
        replaced: Self = replace_parameters(self, parameters)
        return replaced

    def qp(self, form: Form = "dual") -> QP:
        """Return the textbook QP of this problem.

        Parameters
        ----------
        form : "dual" or "primal"
            For a kernel that is not linear, the samples of the primal are the rows of L, K = LLᵀ.

        Returns
        -------
        QP
            Over the rows of positive weight, unscaled, with the variables and constraints named as in the derivation.

        Raises
        ------
        UnknownOptionError
            An unknown form.
        IndefiniteKernelError
            The Gram matrix is indefinite and psd="raise".
        TooLargeError
            The primal of several classes is too large to be built.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[1.0], [2.0], [4.0]], [0, 0, 1], C=3)
        >>> print(problem.qp("dual").P.dense())  # y_i y_j x_i x_j
        [[ 1.  2. -4.]
         [ 2.  4. -8.]
         [-4. -8. 16.]]
        >>> print(list(problem.qp("primal").variables), problem.qp("primal").q)
        ['w', 'b', 'xi'] [0. 0. 3. 3. 3.]
        """
        return self._build_qp(check_form(form), textbook=True)

    def solver_qp(self, form: Form = "dual") -> ScaledQP:
        """Return the QP as a solver gets it: scaled, and with centred samples if that changes only rounding errors.

        Parameters
        ----------
        form : "dual" or "primal"
            As for `qp`.

        Returns
        -------
        ScaledQP
            `qp` is the QP for the solver; `unscale(solution)` returns its solution in the units of the problem.

        Raises
        ------
        UnknownOptionError, IndefiniteKernelError, TooLargeError
            As `qp`.

        Examples
        --------
        >>> import qpsvm  # whatever the units of X, the mean diagonal of P is 1
        >>> scaled = qpsvm.CSVM([[0.0], [2e6]], [0, 1], C=1e-12).solver_qp("dual")
        >>> print(round(scaled.qp.P.mean_diagonal(), 6))
        1.0
        >>> answer = scaled.unscale(qpsvm.compile(scaled.qp, "cvxopt").solve(tol=1e-9))
        >>> print((1e12 * answer.x).round(5))
        [0.5 0.5]
        """
        original = self._build_qp(check_form(form), textbook=False)
        factors = self._compute_scaling(form)
        return ScaledQP(original.scaled(*factors), original, *factors)

    def certify(self, alpha: ArrayLike, w: ArrayLike | None = None, *, tol: float = 0.0) -> Certificate:
        """Turn any α into a feasible primal-dual pair with a certified gap.

        Parameters
        ----------
        alpha : array_like, shape (n,), or (2n,) of a regression, or (n, k) of several classes in one program
            Any finite values, indexed by the caller's rows. They are made feasible first.
        w : array_like, shape (d,) or (n,), or (k, d) of several classes, optional
            For a linear kernel, a weight vector in the units of `result.w`; for another kernel, the coefficients of
            w = Σ_j w_j φ(x_j). It is used if its primal value is better than that of w(α). A sparse w is cheap: the
            certificate needs only the kernel values of the samples with w_j ≠ 0, however many α are not 0.
        tol : float
            Relative gap below which no more digits are computed.

        Returns
        -------
        Certificate
            Over the rows of positive weight.

        Raises
        ------
        DataError
            A wrong shape, or values that are not finite.
        ParameterError
            A tolerance below 0, or not below 1.

        Examples
        --------
        Any α gives bounds on the optimal value, ½ here, and the optimal α gives it exactly:

        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> guess = problem.certify([0.1, 0.3, 0.3, 0.1])
        >>> guess.dual <= 0.5 <= guess.primal
        True
        >>> right = problem.certify([0.0, 0.5, 0.5, 0.0])
        >>> print(round(right.dual, 6), round(right.primal, 6), right.gap < 1e-12)
        0.5 0.5 True
        """
        self.samples.check_unchanged()
        a = self._read_user_alpha(alpha)
        is_zero = isinstance(tol, numbers.Real) and tol == 0.0
        tol = 0.0 if is_zero else as_tolerance(tol)
        explicit = None if w is None else self._read_user_weights(w)
        with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
            return self._bound_rounding(self._certifier.certify(a, explicit), tol)

    def at(self, alpha: ArrayLike, tol: float = 1e-6) -> SVMResult:
        """Certify any α without a solver, and return the result.

        Parameters
        ----------
        alpha : array_like, shape (n,), or (2n,) of a regression, or (n, k) of several classes in one program
            Any finite values, indexed by the caller's rows. They are made feasible first, by `bounds.repair`, and for a
            hard margin scaled by the best factor; `alpha` of the result is the outcome. b and ρ are optimal for it.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.

        Returns
        -------
        SVMResult
            With the status `optimal` or `candidate`.

        Raises
        ------
        DataError, ParameterError
            A wrong shape, values that are not finite, or a tolerance that is not positive.

        Examples
        --------
        >>> import qpsvm  # the optimum for a smaller C is feasible, but not optimal
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> near = qpsvm.solve(qpsvm.CSVM(X, y, C=0.1))
        >>> candidate = qpsvm.CSVM(X, y, C=1).at(near.alpha)
        >>> print(candidate.status, candidate.dual <= 0.5 <= candidate.primal)
        candidate True
        >>> print(qpsvm.CSVM(X, y, C=1).at([0.0, 0.5, 0.5, 0.0]).status)
        optimal
        """
        self.samples.check_unchanged()
        a = self._read_user_alpha(alpha)
        tol = as_tolerance(tol)
        with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
            measured = self._certifier.certify(a)
            certificate = self._bound_rounding(measured, tol, polished=False)
        return self._build_result(
            certificate, message=self._describe_caveats(certificate),
            status=Status.OPTIMAL if certificate.gap <= tol else Status.CANDIDATE, backend="none", form="dual",
            iterations=None, build_time=0.0, solve_time=0.0, solver=Solver("no solver", "", "the point was given"),
            solver_gap=compute_measured_gap(measured),
        )  # fmt: skip

    def interpret(
        self,
        solution: Any,
        *,
        tol: float = 1e-6,
        polished: bool = True,
        form: Form | None = None,
        backend: str = "",
        build_time: float = 0.0,
        limits: CertificationLimits = NO_LIMITS,
    ) -> SVMResult:
        """Read α from a solution of one of this problem's QPs, polish it, and certify it.

        Parameters
        ----------
        solution : QPSolution or DualSolution
            A solution of `qp(form)`, or of `solver_qp(form)` after `unscale`; or a solver's point of the dual itself.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.
        polished : bool
            Whether to improve the solver's point first (`polish`).
        form : "dual" or "primal", optional
            By default it follows from the names of the variables.
        backend, build_time : str, float
            Name of the backend, and seconds to build its problem; only copied into the result.
        limits : CertificationLimits, optional
            Time that certifying and polishing may take.

        Returns
        -------
        SVMResult
            Its `error` is the exception that `solve(check=True)` raises, or None.

        Raises
        ------
        ParameterTypeError, DataError
            The argument is not a solution, or it is the solution of another QP.

        Examples
        --------
        Call CVXOPT directly; its solution is certified like any other:

        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> solution = qpsvm.compile(problem.qp("primal"), "cvxopt").solve()
        >>> result = problem.interpret(solution)
        >>> print(result.status, result.form, result.alpha.round(6))
        optimal primal [0.  0.5 0.5 0. ]
        """
        return self._build_certified_result(
            self._certify_solution(solution, tol, polished, form, limits), iterations=solution.iterations,
            backend=backend or solution.solver.name, build_time=build_time, solve_time=solution.solve_time,
            solver=solution.solver,
        )  # fmt: skip

    def read(self, solution: QPSolution, form: Form) -> tuple[FloatArray, FloatArray | None]:
        """Read α from a solution, and w if the QP has it as a variable.

        Parameters
        ----------
        solution : QPSolution
            A solution of `qp(form)`, or of `solver_qp(form)` after `unscale`.
        form : "dual" or "primal"
            The form that was solved.

        Returns
        -------
        alpha : ndarray, shape (m,), for m dual variables
            As the solver returned it, not made feasible; zeros if it returned no point.
        w : ndarray, shape (d,), or None
            None if there is no finite w. For a nonlinear kernel, the coefficients of w over the active samples.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
        >>> alpha, w = problem.read(qpsvm.compile(problem.qp("primal"), "cvxopt").solve(), "primal")
        >>> print(alpha.round(5), w.round(5))
        [0.5 0.5] [1.]
        """
        return read_solution(self, solution, form)

    def start(self, start: SVMResult | ArrayLike) -> FloatArray:
        """Build a feasible starting α from the result of a neighbouring problem, or from a given α.

        Parameters
        ----------
        start : SVMResult, or array_like of shape (n,), or (2n,) of a regression
            From a result over the same rows, α at its bound is set to the new bound. From a result over other rows
            with the same features, α is derived from its margins y_i f(x_i) at these rows.

        Returns
        -------
        ndarray, shape (m,), for m dual variables
            A feasible α.

        Raises
        ------
        DataError
            A wrong shape, other features, or values that are not finite.

        Examples
        --------
        The α at the bound C = 0.1 start at the new bound:

        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> before = qpsvm.solve(qpsvm.CSVM(X, y, C=0.1))
        >>> print(before.alpha.round(6))
        [0.075 0.1   0.1   0.075]
        >>> print(qpsvm.CSVM(X, y, C=0.2).start(before).round(6))
        [0.075 0.2   0.2   0.075]
        """
        return self._build_start(start)

    def prove(self, result: SVMResult, *, tol: float | None = None) -> Proof:
        """Prove bounds on the exact gap of a result of this problem, as `result.verify()` does.

        Parameters
        ----------
        result : SVMResult
            A result of this problem, optimal or not; `at(alpha)` builds one from any α.
        tol : float, optional
            A relative gap: the proof then says whether the result attains it.

        Returns
        -------
        Proof
            A bound on the gap, and claims as sentences.

        Raises
        ------
        ParameterTypeError, DataError
            The argument is not a result, or it is over other rows, features or classes.
        UnsupportedError
            A machine or a kernel without an exact statement.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> proof = problem.prove(problem.at([0.25, 0.25, 0.25, 0.25]), tol=0.1)
        >>> print(round(proof.gap, 2), proof.claims[-1])
        1.11 refuted: the relative gap is at most the tolerance, 0.1: it is at least 1.11
        """
        from qpsvm.machines.problem.verify import verify_result  # proofs are imported on demand

        return verify_result(self, result, tol)

    def _describe_parts(self) -> list[tuple[str, str]]:
        """Describe the parts of the problem: pairs of a label and a short text."""
        parts = [("machine", type(self).__name__), *self.samples.describe(), ("kernel", str(self.kernel))]
        names = self._textbook_constraint_rows.names if self.constraints else ()
        first = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        if names:
            return [*parts, ("constraints", f"{len(names)} rows: {first}")]
        return parts

    def _certify_solution(
        self, solution: Any, tol: float, polished: bool, form: Form | None = None,
        limits: CertificationLimits = NO_LIMITS,
    ) -> CertifiedPoint:  # fmt: skip
        """Read α from a solution, polish it if `polished`, and certify it; see `interpret`."""
        self.samples.check_unchanged()  # they may have changed while the solver ran
        alpha, w, form = self._read_point(solution, form)
        alpha, target_gap = self._fit_to_time(alpha, w, tol, limits.certificate_seconds)
        clock = Clock()
        polish_clock = limits.polish_clock
        certificate = self._certifier.certify(alpha, w, target_gap)
        certify_seconds, solver_gap = clock.seconds, certificate.gap
        if certificate.sparse_coef is not None:  # later certificates are computed without w
            certify_seconds = max(certify_seconds, estimate_certificate_seconds(self.space, alpha))
        was_stopped = solution.reported in (Status.TIME_LIMIT, Status.INTERRUPTED) and self.svm.m > FEW_ROWS
        if polished and not was_stopped:
            certificate = self._polish(certificate, tol, polish_clock, certify_seconds)
        has_time = not was_stopped and (polish_clock is None or not polish_clock.find_stop_reason())
        certificate = self._bound_rounding(certificate, tol, has_time)
        certified = self._decide_outcome(certificate, solution.reported, tol, polished and has_time, limits.run_clock)
        return replace(certified, form=form, solver_gap=solver_gap, has_time=has_time)

    def _decide_outcome(
        self, certificate: Certificate, reported: Status, tol: float, polished: bool, clock: Clock | None
    ) -> CertifiedPoint:
        """Return the certificate with its status; a machine may override this with a better point or an error."""
        del polished, clock
        return CertifiedPoint(
            certificate, *decide_status(certificate, reported, tol, self._describe_caveats(certificate))
        )

    def _read_point(
        self, solution: QPSolution | DualSolution, form: Form | None
    ) -> tuple[FloatArray, FloatArray | None, Form]:
        """Return α (m,) of a solution, w if it is explicit, and the form that was solved."""
        if isinstance(solution, DualSolution):
            return np.zeros(self.svm.m) if solution.alpha is None else solution.alpha, solution.w, "dual"
        constraints = self.svm.linear_constraints
        machine = self.svm if constraints is None else constraints.unconstrained_dual
        form = infer_form(solution, form, machine.m, self._margin_constraints)
        return *self.read(solution, form), form

    def _fit_to_time(
        self, alpha: FloatArray, w: FloatArray | None, tol: float, seconds: float
    ) -> tuple[FloatArray, float]:
        """Return an α (m,) whose certificate takes at most `seconds` if possible, and the gap at which it may stop."""
        target_gap = 0.0 if self.svm.m <= MANY_ROWS else min(GOOD, tol)
        if not self.space.is_linear and seconds < np.inf:
            if w is None and not self.constraints:
                return find_affordable_alpha(self.space, self.svm, alpha, seconds), target_gap
            if estimate_certificate_seconds(self.space, alpha) > seconds:
                return alpha, float("inf")  # there is only time to evaluate the solver's own w
        return alpha, target_gap

    def _build_start(self, start: SVMResult | ArrayLike) -> FloatArray:
        """Build a feasible α (m,) from a result or an array."""
        if isinstance(start, SVMResult):
            check_function_count(self, start, "start")
            guess = self._read_neighbouring_alpha(start)
        else:
            guess = self._read_user_alpha(start, "start")
        with np.errstate(all="ignore"):  # what overflows is clipped
            return make_start_feasible(self.svm, guess)

    def _read_neighbouring_alpha(self, result: SVMResult) -> FloatArray:
        """Read α (m,) from the result of a neighbouring problem, not yet feasible."""
        return read_neighbouring_alpha(self, result)

    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        """Check the α of a user, and restrict it to the rows of the dual: (m,)."""
        return read_user_alpha(self, alpha, name)

    def _build_certified_result(self, point: CertifiedPoint, **record: Any) -> SVMResult:
        """Build the result of a certified solution; `record` describes the solve."""
        return self._build_result(
            point.certificate, status=point.status, message=point.message, error=point.error, form=point.form,
            solver_gap=point.solver_gap, has_time=point.has_time, **record,
        )  # fmt: skip

    def _read_user_weights(self, w: ArrayLike) -> FloatArray:
        """Check the w of a user, and return it in the units of the dual. Raises DataError."""
        return read_user_weights(self, w)

    def _build_result(self, certificate: Certificate, **record: Any) -> SVMResult:
        """Build the result of a certificate; `record` describes the solve."""
        return build_svm_result(self, certificate, **record)

    def _build_qp(self, form: Form, textbook: bool) -> QP:
        """Build a QP in the caller's coordinates (`textbook`), or in those that are used in computations."""
        space = self.space
        if self.constraints:
            return build_constrained_qp(self, form, textbook)
        if form == "primal":
            return self._build_primal(space.textbook_coordinates if textbook else space.coordinates)
        if self.intercept == "penalised":  # φ gets a feature of ones
            svm = self._dual_of_qp
        else:
            svm = self._build_dual(space.gram if textbook and space.is_linear else space.centred_gram, self.intercept)
        return build_dual_qp(svm, self._format_dual_formula(svm), f"{self.title}: dual ({self._dual_tag})")

    def _deferred_qp(self, form: Form = "dual") -> ScaledQP:
        """Return the scaled QP as `solver_qp` does, but build the arrays of a dual only when they are read."""
        if check_form(form) == "primal" or self.constraints:
            return self.solver_qp(form)
        factors = self._compute_scaling(form)
        original = DeferredQP(Statement(self._dual_of_qp), lambda: self._build_qp("dual", textbook=False))
        scaled = DeferredQP(Statement(self._dual_of_qp).scale(*factors), lambda: original.scaled(*factors))
        return ScaledQP(scaled, original, *factors)

    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """Compute the factors of variables, rows and objective that `QP.scaled` takes."""
        return compute_scaling(self.svm, self.space.scale, form, self._variable_names)

    def _build_exact_program(self, levels: RationalVector | None = None) -> ExactDual:
        from qpsvm.machines.problem.exact_program import build_exact_program  # imported on demand

        return build_exact_program(self, levels)

    def _enclose_optima(self, result: SVMResult) -> NearOptimum:
        """Return a set that contains every exact optimum."""
        from qpsvm.machines.problem.optimum_enclosure import enclose_optima  # imported on demand

        return enclose_optima(self, result)

    def _build_sensitivity(self, result: SVMResult) -> Sensitivity:
        """Return the system that gives the derivatives of the optimum."""
        from qpsvm.machines.problem.sensitivity import Sensitivity  # imported on demand

        check_point(self, result)
        check_samples(self, result)
        return Sensitivity(self, result)


def check_result_matches(problem: Problem, result: object) -> None:
    """Check that a result has the data, kernel and variables of a problem. Raises ParameterTypeError, DataError."""
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    check_point(problem, result)
