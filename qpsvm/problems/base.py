"""What every variant has in common: its samples, its two QPs, and the way from a solver's answer to a certified result.

A variant is one file that says four things: its QP in each form, how that QP is scaled for a solver, how α is read from
a solution, and how any α is certified. Everything else is here. This is the one layer in which the letters of the QP
(x, y, z) and of the SVM (α, w, b) meet.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm.arrays.checks import as_finite_vector, as_matrix, as_real_vector
from qpsvm.arrays.columns import feature_names
from qpsvm.arrays.constant import common_value, repeated
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.arrays.words import shown
from qpsvm.dual.accuracy import Accuracy
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.polish import FEW_ROWS, FINISHED, GOOD, MANY_ROWS, TEACHING_ROWS, DualSystem, polish
from qpsvm.dual.proven import Equalities, Proof
from qpsvm.errors import DataError, ParameterTypeError, QPSVMError, UnknownOptionError, nearest
from qpsvm.kernels.functions import Kernel, Precomputed, as_kernel
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.kernels.space import FeatureSpace
from qpsvm.operators import Operator
from qpsvm.problems.affordable import affordable_alpha
from qpsvm.problems.neighbour import neighbouring_alpha
from qpsvm.problems.reading import svm_result
from qpsvm.qp.program import QP
from qpsvm.qp.scaled import ScaledQP
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.resources.clock import Clock
from qpsvm.resources.interrupts import noted
from qpsvm.result import SVMResult
from qpsvm.samples import as_labels, as_weights

Form = Literal["dual", "primal"]
#: What to say of a point whose measured gap is within the tolerance, when the rounding of that is not.
LOST_TO_ROUNDING = (
    "the gap is within the tolerance as computed, but doubles cannot show it: rounding in f, and of w and b "
    "themselves, may cost as much as the rest of it; centre and scale the features, or lower C"
)
#: Polishing to rounding takes a factorisation of the free rows: cheap for so few of them, or `FEW_ROWS` in all.
FEW_FREE = 150


class Problem(ABC):
    """A support vector machine as a pair of quadratic programs.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples; for `Precomputed()` the (n, n) kernel matrix among them. The column names of a data frame are kept as
        `feature_names`, and frames given to the result are matched by them.
    y : array_like, shape (n,)
        Any two labels; the larger in sort order is +1.
    kernel : Kernel, str or callable
    sample_weight : array_like, shape (n,), or None
        Rows of weight 0 take no part; their α is 0.
    intercept : "free", "penalised" or None
    psd : "raise", "clip" or "shift"
        What to do where the Gram matrix is indefinite.
    """

    #: The coefficient of α in the dual's objective: the margin level, or 0 where that is a variable.
    _level = 1.0

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        kernel: Any,
        sample_weight: ArrayLike | None,
        intercept: Intercept,
        psd: PSDRule,
    ) -> None:
        if not isinstance(psd, str) or psd not in get_args(PSDRule):
            raise UnknownOptionError(f"psd must be one of 'raise', 'clip', 'shift', got {shown(psd)}")
        kernel = as_kernel(kernel)
        self.X: Matrix = as_matrix(X)
        self.feature_names = feature_names(X)
        n, d = self.X.shape
        if isinstance(kernel, Precomputed) and n != d:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {self.X.shape}")
        self.y, self.classes = as_labels(y, n)
        self.sample_weight = as_weights(sample_weight, self.y)
        self.kernel: Kernel = kernel.resolve(self.X)
        self.intercept: Intercept = intercept
        self.psd: PSDRule = psd

    def __repr__(self) -> str:
        storage = "sparse" if sp.issparse(self.X) else "dense"
        n, d = self.X.shape
        counts = (f"{shown(label)} ({int(count)})" for label, count in zip(
            self.classes.tolist(), (np.count_nonzero(self.y < 0), np.count_nonzero(self.y > 0)), strict=True
        ))  # fmt: skip
        return f"<{type(self).__name__}: {self.title}; X {n} × {d}, {storage}; classes {' and '.join(counts)}>"

    @property
    def n(self) -> int:
        """Number of samples, those of weight 0 included."""
        return len(self.y)

    @cached_property
    def rows(self) -> IntArray:
        """The rows that take part: those of positive weight."""
        return np.flatnonzero(self.sample_weight > 0)

    @cached_property
    def takes_all(self) -> bool:
        """Whether every row takes part, so that nothing has to be picked."""
        return common_value(self.sample_weight) is not None or bool((self.sample_weight > 0).all())

    @property
    def labels(self) -> FloatArray:
        """−1/+1 of the rows that take part."""
        return self.taking_part(self.y)

    def taking_part(self, vector: NDArray[Any]) -> NDArray[Any]:
        """The entries of a vector (n,) over the caller's rows that take part; the vector itself where all do."""
        return vector if self.takes_all else vector[self.rows]

    @cached_property
    def space(self) -> FeatureSpace:
        """The rows that take part, in feature space."""
        X = self.X
        if not self.takes_all:
            X = X[self.rows]
            X = X[:, self.rows] if isinstance(self.kernel, Precomputed) else X
        return FeatureSpace(self.kernel, X, self.intercept, self.psd)

    def qp(self, form: Form = "dual") -> QP:
        """The textbook QP of this problem.

        Parameters
        ----------
        form : "dual" or "primal"

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
        """
        if check_form(form) == "dual":
            return self._dual(self._textbook_gram().congruence(self.labels))
        return self._primal(self.space.textbook_coordinates)

    def solver_qp(self, form: Form = "dual") -> ScaledQP:
        """The same QP as a solver is handed it: centred where that changes nothing but rounding, and scaled."""
        if check_form(form) == "dual":
            original = self._dual(self._solver_gram().congruence(self.labels))
        else:
            original = self._primal(self.space.coordinates)
        variables, rows, objective = self._scaling(form)
        return ScaledQP(original.scaled(variables, rows, objective), original, variables, rows, objective)

    def certify(self, alpha: ArrayLike, w: ArrayLike | None = None) -> Certificate:
        """Turn any α into a feasible primal-dual pair with a proven gap.

        Parameters
        ----------
        alpha : array_like, shape (n,)
            Anything finite; it is repaired first. Indexed by the caller's rows.
        w : array_like, shape (d,), optional
            An explicit weight vector for a linear kernel, used where its primal value is the better one.

        Returns
        -------
        Certificate
            Over the rows of positive weight.

        Raises
        ------
        DataError
            Another shape, or values that are not finite.
        """
        a = as_finite_vector(alpha, "alpha", self.n)
        explicit = None if w is None else as_real_vector(w, "w")
        if explicit is not None:
            width = (self.X.shape[1],) if self.space.is_linear else None
            if explicit.shape != width or not np.isfinite(explicit).all():
                raise DataError(f"w must be finite, of shape {width}, for a linear kernel; got shape {explicit.shape}")
        return self._proven(self._certify(self.taking_part(a), explicit), 0.0)

    def start(self, start: SVMResult | ArrayLike) -> FloatArray:
        """An α to begin at: from the result of a neighbouring problem, or given.

        Parameters
        ----------
        start : SVMResult, or array_like of shape (n,)
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
        """
        if isinstance(start, SVMResult):
            guess = neighbouring_alpha(self, start)
        else:
            guess = self.taking_part(as_finite_vector(start, "start", self.n))
        with np.errstate(all="ignore"):  # what overflows is clipped
            return self._feasible(guess)

    def in_own_units(self, alpha: FloatArray) -> FloatArray:
        """α (n,) of a problem with margin level 1 in the units of this variant's α."""
        return alpha

    def interpret(
        self,
        solution: QPSolution,
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
        solution : QPSolution
            Of `qp(form)`, or of `solver_qp(form)` after `unscale`.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.
        polished : bool
            Whether to improve the solver's point first (`polish`).
        form : "dual" or "primal", optional
            Read off the variables' names where absent.
        backend : str
        build_time : float
            Seconds, for the record.
        certifying : float
            Seconds that a certificate may take: where α has too many support vectors, some of them are certified.
        polishing : Clock, optional
            What polishing may take.
        clock : Clock, optional
            Of the whole run: what is left to be found out is looked for while it runs.

        Returns
        -------
        SVMResult
            With `error` set to what `solve(check=True)` raises, or None.

        Raises
        ------
        ParameterTypeError, DataError
            No solution, or one of another QP.
        """
        form = read_form(solution, form, len(self.labels))
        alpha, w = self._read(solution, form)
        alpha = affordable_alpha(self, alpha, certifying)
        measured = Clock()
        certificate = self._certify(alpha, w, 0.0 if len(self.labels) <= MANY_ROWS else min(GOOD, tol))
        each, solver_gap = measured.seconds, certificate.gap
        stopped = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED) and len(alpha) > FEW_ROWS
        if polished and not stopped:
            certificate = self._polished(certificate, tol, polishing, each)
        in_time = not stopped and (polishing is None or not polishing.stopped())
        certificate = self._proven(certificate, tol, in_time)
        certificate, status, message, error = self._judge(certificate, solution, tol, polished and in_time, clock)
        return svm_result(
            self, certificate, status=status, message=message, error=error, backend=backend or solution.solver.name,
            form=form, iterations=solution.iterations, build_time=build_time, solve_time=solution.solve_time,
            solver=solution.solver, solver_gap=solver_gap,
        )

    def _polished(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, each: float = 0.0
    ) -> Certificate:
        """Polish to rounding where that costs little: of few rows, or few free ones; else to what was asked for.

        Who asks for less than the default gets it without further work: far from the exact split, polishing would cost
        more than a solver that is asked for more.
        """
        n, alpha = len(self.labels), certificate.alpha
        cheap = n <= FEW_ROWS or (n <= MANY_ROWS and np.count_nonzero((alpha > 0) & (alpha < self.upper)) <= FEW_FREE)
        enough = FINISHED if n <= TEACHING_ROWS or (cheap and tol <= GOOD) else tol
        if certificate.gap <= enough:
            return certificate
        return polish(self._dual_system(), certificate, self._certify, clock=clock, each=each)

    def _proven(self, certificate: Certificate, tol: float, in_time: bool = True) -> Certificate:
        """With a gap that counts all rounding. Where kernel values are what it suffers from, they are made better."""
        proven = self._proof.prove(certificate, tol, lambda: in_time and not noted())
        twin = self._by_differences if in_time and certificate.gap <= tol < proven.gap else None
        if twin is None:
            return proven
        exact = twin._certify(certificate.alpha)
        exact = twin._proof.prove(twin._polished(exact, tol), tol)
        return exact if exact.gap < proven.gap else proven

    @cached_property
    def _proof(self) -> Proof:
        """What bounds the gap of this problem's points."""
        return Proof(Accuracy(self.space), self.labels, self._equalities(), homogeneous=self._level == 0.0)

    @cached_property
    def _by_differences(self) -> Problem | None:
        """This problem with kernel values that do not cancel, where there are such."""
        space = self.space.by_differences()
        if space is None:
            return None
        twin = copy.copy(self)
        twin.__dict__.pop("_proof", None)
        twin.__dict__["space"] = space
        return twin

    def _read(self, solution: QPSolution, form: Form) -> tuple[FloatArray, FloatArray | None]:
        """α of the rows that take part, zeros where the solver gave none, and w where it is explicit."""
        if solution.x is None:
            return np.zeros(len(self.labels)), None
        parts = solution.qp.split(solution.x)
        w: FloatArray | None = None
        if form == "dual":
            alpha = parts["alpha"]
            if self.space.is_linear and solution.v is not None:
                w = self._from_lift(solution.v)
        else:
            alpha = self._alpha_from_margin(solution.qp.multiplier("margin", solution.z, solution.y))
            w = parts["w"] if self.space.is_linear else None
        finite = np.isfinite(alpha)
        if w is not None and not np.isfinite(w).all():
            w = None
        return (alpha if finite.all() else np.where(finite, alpha, 0.0)), w

    def _judge(
        self, certificate: Certificate, solution: QPSolution, tol: float, polished: bool, clock: Clock | None
    ) -> tuple[Certificate, Status, str, QPSVMError | None]:
        """The status that the certificate proves. A soft margin is feasible and bounded, whatever a solver says."""
        del polished, clock
        if certificate.gap <= tol:
            return certificate, Status.OPTIMAL, self._note(certificate), None
        if certificate.measured <= tol:
            return certificate, Status.INACCURATE, f"{LOST_TO_ROUNDING} {self._note(certificate)}".strip(), None
        claimed = solution.status
        if claimed is Status.OPTIMAL:
            claimed = Status.INACCURATE
        elif claimed in (Status.INFEASIBLE, Status.UNBOUNDED):
            claimed = Status.NUMERICAL_ERROR
        return certificate, claimed, self._note(certificate), None

    def _note(self, certificate: Certificate) -> str:
        """What else the user of this variant should know."""
        del certificate
        if self.space.shift:
            return (
                f"the certificate is for the kernel matrix plus {self.space.shift:.3g} times the identity "
                "(psd='shift'), which has no counterpart for new samples: there f(x) = Σ α_i y_i K(x_i, x) + b"
            )
        return ""

    @property
    def _entry(self) -> str:
        """The entries of Q, for people."""
        centred = not self.space.is_linear and self.space.centred is not self.space.gram
        return f"Q_ij = y_i y_j {'(HKH)_ij,  H = I − 11ᵀ/n' if centred else 'K(x_i, x_j)'}"

    def _textbook_gram(self) -> Operator:
        """K of the textbook's dual; for a kernel that is positive semidefinite only on yᵀα = 0, the centred one."""
        return self.space.gram if self.space.is_linear else self.space.centred

    def _solver_gram(self) -> Operator:
        """K of the dual that a solver is handed."""
        return self.space.centred

    @property
    @abstractmethod
    def title(self) -> str:
        """The variant with its parameters, for people."""

    @property
    @abstractmethod
    def upper(self) -> FloatArray:
        """Upper bounds of α for the rows that take part; infinite for the hard margin."""

    @abstractmethod
    def _dual(self, Q: Operator) -> QP:
        """The dual over α, for Q_ij = y_i y_j K_ij."""

    @abstractmethod
    def _primal(self, Z: Matrix) -> QP:
        """The primal over w, b, …, for the rows Z (n, r) in explicit coordinates."""

    @abstractmethod
    def _scaling(self, form: Form) -> tuple[dict[str, float], dict[str, float], float]:
        """Factors of variables, rows and objective, as `QP.scaled` takes them."""

    @abstractmethod
    def _alpha_from_margin(self, multipliers: FloatArray) -> FloatArray:
        """α from the multipliers of the primal's rows "margin"."""

    @abstractmethod
    def _from_lift(self, v: FloatArray) -> FloatArray:
        """w from v = Zᵀx of the lifted dual."""

    @abstractmethod
    def _certify(self, alpha: FloatArray, w: FloatArray | None = None, enough: float = 0.0) -> Certificate:
        """`certify` over the rows that take part; no better primal point is looked for once the gap is `enough`."""

    @abstractmethod
    def _feasible(self, alpha: FloatArray) -> FloatArray:
        """The nearest cheap α of the dual, over the rows that take part."""

    @abstractmethod
    def _equalities(self) -> Equalities:
        """The equalities of the dual, and its penalised intercept."""

    def _dual_system(self) -> DualSystem:
        """The dual as `polish` needs it."""
        y, rules = self.labels, self._equalities()
        Q = self.space.centred.congruence(y)
        return DualSystem(Q, repeated(self._level, len(y)), self.upper, rules.E, rules.e, rules.ridge)


def read_form(solution: QPSolution, form: Form | None, n: int) -> Form:
    """The form of which a solution is, read off the variables' names where it is not said.

    Raises
    ------
    ParameterTypeError
        Not a solution.
    DataError
        Of a QP without α (n,), or without n margin rows.
    """
    if not isinstance(solution, QPSolution):
        raise ParameterTypeError(f"interpret takes the QPSolution of a QP of this problem, got {shown(solution)}")
    qp = solution.qp
    form = check_form(form or ("dual" if "alpha" in qp.variables else "primal"))
    group = qp.constraints.get("margin")
    rows = qp.variables.get("alpha") if form == "dual" else None if group is None else group.rows
    if rows is None or rows.stop - rows.start != n:
        raise DataError(f"the solution is of {qp!r}, which is not the {form} form of this problem over {n} rows")
    return form


def check_form(form: str) -> Form:
    """Check the name of a form.

    Raises
    ------
    UnknownOptionError
        With the nearest known name.
    """
    if not isinstance(form, str) or form not in get_args(Form):
        raise UnknownOptionError(f"unknown form {shown(form)}; {nearest(shown(form), get_args(Form))}")
    return form  # type: ignore[return-value]
