"""Define a machine with one decision function (`Problem`): how it is solved, certified and read.

A machine is one file that says what it is called, and what it is: a `Specification`. Both QPs, scaling for a solver,
reading α from a solution, certificate, proof and polish, and the result follow from that. Here the letters of the QP
(x, y, z) and of the SVM (α, w, b) meet (`Problem.read`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_real_vector, as_tolerance, is_all_finite
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import GOOD, MANY_ROWS
from qpsvm.bounds.repair import feasible_start
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.evidence import check_feasible_constraints
from qpsvm.machines.problem.forms import build_constrained_qp, build_dual_qp, read_multipliers
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.machines.problem.reading import build_svm_result, infer_form, read_user_alpha
from qpsvm.machines.problem.result_checks import check_point, check_result
from qpsvm.machines.problem.scaling import compute_scaling
from qpsvm.machines.problem.starts import estimate_certificate_seconds, find_affordable_alpha, read_neighbouring_alpha
from qpsvm.program.deferred_qp import DeferredQP
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.solution import QPSolution
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.result.svm_result import SVMResult

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.bounds.proof.proof import Proof
    from qpsvm.machines.problem.sensitivity import Sensitivity


class Problem(DualStatement, BaseProblem[SVMResult]):
    """A support vector machine as a pair of quadratic programs.

    Parameters
    ----------
    samples : Samples
        Those of weight 0 take no part; their α is 0.
    kernel : Kernel, str or callable
        For `Precomputed()` the samples are the (n, n) kernel matrix among them.
    intercept : "free", "penalised" or None
        Outside the norm, inside it, or absent.
    psd : "raise", "clip" or "shift"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Linear constraints on w, b and f.

    Attributes
    ----------
    constraints : tuple of Constraints and ValueConstraints
        Empty where there are none.
    X : ndarray, csr_array or RowSource, shape (n, d)
        The samples as they are computed with. What is not an array stays where it is for a linear kernel, which looks
        at a block of rows at a time; any other kernel takes them as one array.
    kernel : Kernel
        Every parameter of it is a number.

    Raises
    ------
    DataError
        Samples, labels or weights of another shape, not finite, or of one class; a kernel matrix that is not square.
    DataTypeError
        Samples, labels or weights that are not numbers, or labels without an order.
    ParameterError, ParameterTypeError, UnknownOptionError
        A parameter out of its range, of another type, or of another name.

    See Also
    --------
    CSVM, HardMargin, NuSVM, PrimalHinge : The machines.
    solve : What solves them all.

    Examples
    --------
    Everything that is not a machine's own parameter is the same for all of them:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> for machine in (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge):
    ...     print(machine(X, y).title, "|", qpsvm.solve(machine(X, y)).status)
    hard margin, kernel Linear() | optimal
    C-SVM, C = 1, kernel Linear() | optimal
    ν-SVM, ν = 0.5, kernel Linear() | optimal
    primal hinge loss, lambda = 0.01, intercept free, kernel Linear() | optimal
    """

    #: The machines by the names of their classes.
    _registered_machines: ClassVar[dict[str, type[Problem]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Problem._registered_machines.setdefault(
            cls.__name__, cls
        )  # a machine of a user does not stand in for one of ours

    @cached
    def svm(self) -> SVMDual:
        """The dual of this machine, over the samples that take part, with the Gram matrix to compute with."""
        if self.constraints:
            return check_feasible_constraints(self, self._build_full_dual(self.space.centred_gram, self.intercept))
        centred, kept = self.space.centred_gram, self.space.computed_intercept
        if kept == self.intercept and not self._diagonal_weight:
            return self._dual_structure.with_gram(centred)
        return self._build_dual(
            centred, kept
        )  # whose levels are of that Gram matrix, where f has a part of its diagonal

    def read(self, solution: QPSolution, form: Form) -> tuple[FloatArray, FloatArray | None]:
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
                groups = {
                    name: solution.qp.multiplier(name, solution.z, solution.y) for name in solution.qp.constraints
                }
                alpha = np.concatenate([alpha, read_multipliers(groups, self._constraint_rows) / self.svm.unit])
            w = solution.qp.split(x)[self._variable_names.get("w", "w")] if self.space.is_linear else None
        if w is not None and not is_all_finite(w):
            w = None
        return (alpha if is_all_finite(alpha) else np.where(np.isfinite(alpha), alpha, 0.0)), w

    def certify(self, alpha: ArrayLike, w: ArrayLike | None = None, *, tol: float = 0.0) -> Certificate:
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
            return self._bound_rounding(self._certifier.certify(a, explicit), tol)

    def _read_point(
        self, solution: QPSolution | DualSolution, form: Form | None
    ) -> tuple[FloatArray, FloatArray | None, Form]:
        if isinstance(solution, DualSolution):
            return np.zeros(self.svm.m) if solution.alpha is None else solution.alpha, solution.w, "dual"
        constraints = self.svm.linear_constraints
        machine = self.svm if constraints is None else constraints.unconstrained_dual
        form = infer_form(solution, form, machine.m, self._margin_constraints)
        return *self.read(solution, form), form

    def _fit_to_time(
        self, alpha: FloatArray, w: FloatArray | None, tol: float, seconds: float
    ) -> tuple[FloatArray, float]:
        target_gap = 0.0 if self.svm.m <= MANY_ROWS else min(GOOD, tol)
        if not self.space.is_linear and seconds < np.inf:
            if w is None and not self.constraints:
                return find_affordable_alpha(self.space, self.svm, alpha, seconds), target_gap
            if estimate_certificate_seconds(self.space, alpha) > seconds:
                return alpha, float("inf")  # the solver's own w is all that can be evaluated
        return alpha, target_gap

    def start(self, start: SVMResult | ArrayLike) -> FloatArray:
        """Build a feasible starting α from the result of a neighbouring problem, or from a given α.

        Parameters
        ----------
        start : SVMResult, or array_like of shape (n,), or (2n,) of a regression
            A result over the same rows keeps its split: what is at its bound goes to the new bound. From a result
            over other rows of the same features, α follows from the margins y_i f(x_i) that it gives these.

        Returns
        -------
        ndarray, shape (rows that take part,)
            Feasible.

        Raises
        ------
        DataError
            Another shape or other features, or values that are not finite.

        Examples
        --------
        What was at its bound C = 0.1 starts at the new one:

        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> before = qpsvm.solve(qpsvm.CSVM(X, y, C=0.1))
        >>> print(before.alpha.round(6))
        [0.075 0.1   0.1   0.075]
        >>> print(qpsvm.CSVM(X, y, C=0.2).start(before).round(6))
        [0.075 0.2   0.2   0.075]
        """
        return self._build_start(start)

    def _build_start(self, start: SVMResult | ArrayLike) -> FloatArray:
        guess = (
            read_neighbouring_alpha(self, start)
            if isinstance(start, SVMResult)
            else self._read_user_alpha(start, "start")
        )
        with np.errstate(all="ignore"):  # what overflows is clipped
            return feasible_start(self.svm, guess)

    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        return read_user_alpha(self, alpha, name)

    def _build_result(self, certificate: Certificate, **record: Any) -> SVMResult:
        return build_svm_result(self, certificate, **record)

    def _build_qp(self, form: Form, textbook: bool) -> QP:
        space = self.space
        if self.constraints:
            return build_constrained_qp(self, form, textbook)
        if form == "primal":
            return self._build_primal(space.textbook_coordinates if textbook else space.coordinates)
        if self.intercept == "penalised":  # a feature of ones behind φ
            svm = self._dual_of_qp
        else:
            svm = self._build_dual(space.gram if textbook and space.is_linear else space.centred_gram, self.intercept)
        return build_dual_qp(svm, self._format_dual_formula(svm), f"{self.title}: dual ({self._dual_tag})")

    def prove(self, result: SVMResult, *, tol: float | None = None) -> Proof:
        """Prove a theorem about the numbers of a result of this problem, as `result.verify()` returns it.

        Parameters
        ----------
        result : SVMResult
            Of this problem, optimal or not; `at(alpha)` makes one of any α.
        tol : float, optional
            A relative gap that is claimed.

        Returns
        -------
        Proof
            With a bound of the gap, and claims as sentences.

        Raises
        ------
        ParameterTypeError, DataError
            Not a result, or over other rows, features or classes.
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

    def _enclose_optima(self, result: SVMResult) -> NearOptimum:
        """Return a set that contains every exact optimum."""
        from qpsvm.machines.problem.optimum_enclosure import enclose_optima  # imported on demand

        check_result(self.samples, result)
        return enclose_optima(self, result)

    def _build_sensitivity(self, result: SVMResult) -> Sensitivity:
        """Return the system that gives the derivatives of the optimum."""
        from qpsvm.machines.problem.sensitivity import Sensitivity  # the same

        return Sensitivity(self, result)

    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        return compute_scaling(self.svm, self.space.scale, form, self._variable_names)

    def _deferred_qp(self, form: Form = "dual") -> ScaledQP:
        """Return the scaled QP as `solver_qp` does, but write a dual down only when its arrays are read."""
        if check_form(form) == "primal" or self.constraints:
            return self.solver_qp(form)
        factors = self._compute_scaling(form)
        original = DeferredQP(Statement(self._dual_of_qp), lambda: self._build_qp("dual", textbook=False))
        scaled = DeferredQP(Statement(self._dual_of_qp).scale(*factors), lambda: original.scaled(*factors))
        return ScaledQP(scaled, original, *factors)


def check_result_matches(problem: Problem, result: object) -> None:
    """Check that a result has the rows, features, classes, kernel, constraints and variables of a problem.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"a problem such as CSVM(X, y) comes first, got {type(problem).__name__}")
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {type(result).__name__}")
    check_point(problem, result)
