"""Define what can be done with any machine (`BaseProblem`): its two QPs, other parameters, certificates, proofs.

`Problem` is a machine of one decision function, `AllInOneProblem` one of several.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_tolerance
from qpsvm.base.arrays.frozen import FastABCMeta
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnknownOptionError
from qpsvm.base.html import Cell, render_table
from qpsvm.base.other_names import PROBLEM_HINTS, AttributeHints, explain_argument
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import FEW_ROWS
from qpsvm.machines.problem.certification_limits import NO_LIMITS, CertificationLimits
from qpsvm.machines.problem.certifier import JudgedPoint, compute_measured_gap, decide_status
from qpsvm.machines.problem.derived_problems import replace_parameters
from qpsvm.machines.problem.docstrings import complete_docstring, signature_of
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.machines.problem.starts import estimate_certificate_seconds
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.program.exchange import R, Solvable
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.program.status import Solver, Status
from qpsvm.space.kernels.psd_rule import PSDRule

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof

#: What may be done with an indefinite Gram matrix.
PSD_RULES = get_args(PSDRule)


class MachineType(FastABCMeta):
    """Type of the classes of machines: a call with an unknown argument raises an error that says what to write."""

    __signature__: inspect.Signature

    if not TYPE_CHECKING:  # a type checker reads the arguments off `__init__`

        def __call__(cls, *values: Any, **options: Any) -> Any:
            known = cls.__signature__.parameters
            unknown = next((name for name in options if name not in known), None)
            if unknown is not None and all(each.kind is not each.VAR_KEYWORD for each in known.values()):
                raise UnknownOptionError(explain_argument(cls.__name__, unknown, options, sorted(known)))
            return super().__call__(*values, **options)


class BaseProblem(AttributeHints, MachineStatement, Solvable[R], metaclass=MachineType):
    """Base of all machines; the result is an R."""

    _attribute_hints: ClassVar[Mapping[str, str]] = PROBLEM_HINTS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)
        cls.__signature__ = signature_of(cls)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {self.samples!r}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {label:<12}{text}" for label, text in self._describe_parts())])

    def _repr_html_(self) -> str:
        return render_table([[Cell(label), Cell(text)] for label, text in self._describe_parts()], title=self.title)

    def _describe_parts(self) -> list[tuple[str, str]]:
        """Describe the parts of the problem: pairs of a label and a short text."""
        parts = [("machine", type(self).__name__), *self.samples.describe(), ("kernel", str(self.kernel))]
        names = self._textbook_constraint_rows.names if self.constraints else ()
        first = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        return [*parts, ("constraints", f"{len(names)} rows: {first}")] if names else parts

    def replace(self, **parameters: Any) -> Self:
        """Return the problem with other parameters; it shares the samples and, for the same kernel, the Gram matrix.

        Parameters
        ----------
        **parameters
            Of the machine (`C`, `nu`, `lam`) and of its kernel (`gamma`, `degree`, `coef0`), by name; `kernel` and
            `psd`.

        Returns
        -------
        Problem
            Of the same class. Kernel values that either of the two makes whole and keeps serve both.

        Raises
        ------
        UnknownOptionError, ParameterError, ParameterTypeError
            A parameter of another name (the nearest is named), out of its range, or of another type.

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
        same: Self = replace_parameters(self, parameters)
        return same

    def qp(self, form: Form = "dual") -> QP:
        """Return the textbook QP of this problem.

        Parameters
        ----------
        form : "dual" or "primal"
            The primal of a kernel that is not linear is that of the rows of L, K = LLᵀ.

        Returns
        -------
        QP
            Over the rows of positive weight, unscaled, with the variables and constraints named as in the derivation.

        Raises
        ------
        UnknownOptionError
            Another form.
        IndefiniteKernelError
            The Gram matrix is indefinite and psd="raise".
        TooLargeError
            The primal of several classes has more numbers than are written down.

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
        """Return the QP as a solver gets it: scaled, and centred if that changes only rounding.

        Parameters
        ----------
        form : "dual" or "primal"
            As for `qp`.

        Returns
        -------
        ScaledQP
            `qp` is what the solver gets, and `unscale(solution)` brings its answer back to the units of the problem.

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

    def _deferred_qp(self, form: Form = "dual") -> ScaledQP:
        """Return the scaled QP as `solver_qp` does, but write a dual down only when its arrays are read.

        Examples
        --------
        >>> import qpsvm
        >>> posed = qpsvm.CSVM([[0.0], [2.0]], [0, 1], C=8)._deferred_qp()
        >>> print(posed.qp.statement.svm.upper, posed.qp.ub)
        [8. 8.] [8. 8.]
        """
        return self.solver_qp(form)

    def at(self, alpha: ArrayLike, tol: float = 1e-6) -> R:
        """Certify any α without a solver, and return the result.

        Parameters
        ----------
        alpha : array_like, shape (n,), or (2n,) of a regression, or (n, k) of several classes in one program
            Anything finite, indexed by the caller's rows. It is made feasible first, by `bounds.repair`, and for a hard
            margin stretched as far as helps; the result's `alpha` is what that gives. b and ρ are the best for it.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.

        Returns
        -------
        SVMResult, or AllInOneResult
            `optimal`, or a `candidate`.

        Raises
        ------
        DataError, ParameterError
            Another shape, values that are not finite, or a tolerance that is not positive.

        Examples
        --------
        >>> import qpsvm  # the optimum of a neighbouring C is feasible, but no answer yet
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> near = qpsvm.solve(qpsvm.CSVM(X, y, C=0.1))
        >>> candidate = qpsvm.CSVM(X, y, C=1).at(near.alpha)
        >>> print(candidate.status, candidate.dual <= 0.5 <= candidate.primal)
        candidate True
        >>> print(qpsvm.CSVM(X, y, C=1).at([0.0, 0.5, 0.5, 0.0]).status)
        optimal
        """
        self.samples.check()
        a, tol = self._read_user_alpha(alpha), as_tolerance(tol)
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
    ) -> R:
        """Read α from a solution of one of this problem's QPs, polish it, and certify it.

        Parameters
        ----------
        solution : QPSolution or DualSolution
            Of `qp(form)`, or of `solver_qp(form)` after `unscale`; or what a solver has found for the dual itself.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.
        polished : bool
            Whether to improve the solver's point first (`polish`).
        form : "dual" or "primal", optional
            Read off the variables' names where absent.
        backend, build_time : str, float
            Who solved, and seconds, for the record.
        limits : CertificationLimits, optional
            Time that certifying and polishing may take.

        Returns
        -------
        SVMResult, or AllInOneResult
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
        return self._build_judged_result(
            self._judge(solution, tol, polished, form, limits), iterations=solution.iterations,
            backend=backend or solution.solver.name, build_time=build_time, solve_time=solution.solve_time,
            solver=solution.solver,
        )  # fmt: skip

    def _judge(
        self, solution: Any, tol: float, polished: bool, form: Form | None = None,
        limits: CertificationLimits = NO_LIMITS,
    ) -> JudgedPoint:  # fmt: skip
        """Read α from a solution, polish it if `polished`, and certify it; see `interpret`."""
        self.samples.check()  # after the solver, before anything is said of its answer
        alpha, w, form = self._read_point(solution, form)
        alpha, target_gap = self._fit_to_time(alpha, w, tol, limits.certificate_seconds)
        clock, polish_clock = Clock(), limits.polish_clock
        certificate = self._certifier.certify(alpha, w, target_gap)
        certify_seconds, solver_gap = clock.seconds, certificate.gap
        if certificate.explicit is not None:  # from here on without it
            certify_seconds = max(certify_seconds, estimate_certificate_seconds(self.space, alpha))
        was_stopped = solution.reported in (Status.TIME_LIMIT, Status.INTERRUPTED) and self.svm.m > FEW_ROWS
        if polished and not was_stopped:
            certificate = self._polish(certificate, tol, polish_clock, certify_seconds)
        has_time = not was_stopped and (polish_clock is None or not polish_clock.find_stop_reason())
        certificate = self._bound_rounding(certificate, tol, has_time)
        judged = self._decide_outcome(certificate, solution.reported, tol, polished and has_time, limits.run_clock)
        return replace(judged, form=form, solver_gap=solver_gap, has_time=has_time)

    def _decide_outcome(
        self, certificate: Certificate, reported: Status, tol: float, polished: bool, clock: Clock | None
    ) -> JudgedPoint:
        """Return the certificate with its status; a machine may override this with a better point or an error."""
        del polished, clock
        return JudgedPoint(certificate, *decide_status(certificate, reported, tol, self._describe_caveats(certificate)))

    @abstractmethod
    def _build_start(self, start: Any) -> FloatArray:
        """Build a feasible α (m,) from a result or an array."""

    @abstractmethod
    def _read_point(self, solution: Any, form: Form | None) -> tuple[FloatArray, FloatArray | None, Form]:
        """Return α (m,) of a solution, w if it is explicit, and the form that was solved."""

    def _fit_to_time(
        self, alpha: FloatArray, w: FloatArray | None, tol: float, seconds: float
    ) -> tuple[FloatArray, float]:
        """Return an α (m,) whose certificate takes at most `seconds` if possible, and the gap that is small enough."""
        del w, tol, seconds
        return alpha, 0.0

    @abstractmethod
    def prove(self, result: R, *, tol: float | None = None) -> Proof:
        """Prove a theorem about the numbers of a result of this problem: see `Problem.prove`."""

    @abstractmethod
    def _build_qp(self, form: Form, textbook: bool) -> QP:
        """Return a QP in the caller's own coordinates, as the textbook has it, or in those to compute with."""

    @abstractmethod
    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """Compute factors of variables, rows and objective for a solver, as `QP.scaled` takes them."""

    @abstractmethod
    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        """Check α as a user gives it, and restrict it to the rows of the dual."""

    def _build_judged_result(self, judged: JudgedPoint, **record: Any) -> R:
        """Build the result of a judged point, with the record of the solve."""
        return self._build_result(
            judged.certificate, status=judged.status, message=judged.message, error=judged.error, form=judged.form,
            solver_gap=judged.solver_gap, has_time=judged.has_time, **record,
        )  # fmt: skip

    @abstractmethod
    def _build_result(self, certificate: Certificate, **record: Any) -> R:
        """Build the result of a certified point, with the record of the solve."""
