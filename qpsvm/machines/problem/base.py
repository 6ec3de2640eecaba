"""What every machine has in common: its samples, its two QPs, and the way from a solver's answer to a certified result.

A machine is one file that says what it is called, and what it is: a `Record`. Both QPs, scaling for a solver, reading α
from a solution, certificate, proof, polish and result follow from that. This is the one layer in which
the letters of the QP (x, y, z) and of the SVM (α, w, b) meet.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import all_finite, as_finite_vector, as_real_vector, as_tolerance
from qpsvm.base.arrays.remembered import remembered
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.vectors import common_value, repeated
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, QPSVMError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.base.html import Cell, table
from qpsvm.base.resources.communicator import ALONE, Team
from qpsvm.base.resources.interrupts import noted
from qpsvm.base.resources.progress import Clock
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.certify import certify
from qpsvm.bounds.gap_bounds import Bounds
from qpsvm.bounds.polish import FEW_ROWS, FINISHED, GOOD, MANY_ROWS, TEACHING_ROWS, polish
from qpsvm.bounds.repair import feasible_start
from qpsvm.bounds.restoration import Held, infeasible, room_of
from qpsvm.bounds.rounding_bound import Counting
from qpsvm.data.rows import Mapped, RowSource, as_row_source
from qpsvm.data.samples import Samples
from qpsvm.machines.infeasible.evidence import with_rows
from qpsvm.machines.problem.forms import (
    Form,
    check_form,
    dual_qp,
    primal_with_rows,
    read_form,
    read_prices,
    scaling,
    split_prices,
    with_ones,
)
from qpsvm.machines.problem.linear_constraints import UserRows, as_list, lengths_of, user_rows
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.reading import svm_result
from qpsvm.machines.problem.replaced import replaced
from qpsvm.machines.problem.starts import affordable_alpha, certificate_seconds, neighbouring_alpha, swept
from qpsvm.program.qp import QP, check_scales
from qpsvm.program.record import Record, Textbook, primal_qp
from qpsvm.program.scaled import LaterQP, ScaledQP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.program.statement import Statement
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import Kinds, SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed, as_kernel
from qpsvm.space.kernels.gram import Intercept, PSDRule
from qpsvm.space.kernels.space import FeatureSpace
from qpsvm.space.operators import Diagonal, LowRank, Operator

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof

#: What to say of a point whose measured gap is within the tolerance, when the rounding of that is not.
LOST_TO_ROUNDING = (
    "the gap is within the tolerance as computed, but doubles cannot show it: rounding in f, and of w and b "
    "themselves, may cost as much as the rest of it; centre and scale the features, or lower C"
)
#: Polishing to rounding takes a factorisation of the free rows: cheap for so few of them, or `FEW_ROWS` in all.
FEW_FREE = 150
#: Of many rows, α without the traces of rows at a bound may have so much of the gap that was asked for.
SWEPT = 0.1
#: Rows of a user's that are named where a problem is shown.
NAMED_ROWS = 3


class Problem(Machine[SVMResult], ABC):
    """A support vector machine as a pair of quadratic programs.

    Parameters
    ----------
    samples : Samples
        Rows of weight 0 take no part; their α is 0.
    kernel : Kernel, str or callable
        For `Precomputed()` the samples are the (n, n) kernel matrix among them.
    intercept : "free", "penalised" or None
        Outside the norm, inside it, or absent.
    psd : "raise", "clip" or "shift"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of the user's own.

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
        Samples, labels or weights that are no numbers, or labels without an order.
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
    ...     problem = machine(X, y)
    ...     print(isinstance(problem, qpsvm.Problem), problem.title, "|", qpsvm.solve(problem).status)
    True hard margin, kernel Linear() | optimal
    True C-SVM, C = 1, kernel Linear() | optimal
    True ν-SVM, ν = 0.5, kernel Linear() | optimal
    True primal hinge loss, lambda = 0.01, intercept free, kernel Linear() | optimal
    """

    #: The machines by the names of their classes.
    machines: ClassVar[dict[str, type[Problem]]] = {}
    #: The tag of the dual in the derivation, and what stands for a factor of the objective.
    dual_tag: ClassVar[str] = "DUAL.1"
    unit_letter: ClassVar[str] = "unit"
    #: What the objective of the dual has besides, where a loss is curved.
    curved_term: ClassVar[str] = "½ Σ δ_i α_i²"
    #: The names of the machine's own parameters, which `_keep` checks and keeps.
    own: ClassVar[tuple[str, ...]] = ()
    #: The tag of the primal, its objective and its rows as a person writes them: see `Textbook`.
    textbook: tuple[str, ...] = ("DUAL.3", "½ {norm} + Σ ψ_i(t_i)", "s_i {f} ≥ ℓ_i − ξ_i")
    #: What the kinds of samples in a result mean.
    kinds: ClassVar[Kinds] = Kinds()
    #: The rows of the primal whose multipliers are α, in order.
    level_rows: ClassVar[tuple[str, ...]] = ("margin",)
    #: What is learnt of a sample beside its features: one of two labels, a number, a place in an order, or nothing.
    learns: ClassVar[Literal["labels", "numbers", "ranks", "none"]] = "labels"
    #: How many α each sample has: those of one side after those of the other.
    sides: ClassVar[int] = 1
    #: f in units of that of the dual, and what it has of K(x, x) besides.
    size_of_f: ClassVar[float] = 1.0
    diagonal: ClassVar[float] = 0.0
    #: Whether 1ᵀβ = 1, so that w is a point that moves with the samples.
    affine: ClassVar[bool] = False
    #: What the variables of the primal are called in place of w, b, …
    letters: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Problem.machines.setdefault(cls.__name__, cls)  # a machine of a user does not stand in for one of ours

    def __init__(
        self, samples: Samples, kernel: Any, intercept: Intercept, psd: PSDRule, constraints: Any = None
    ) -> None:
        self.constraints = as_list(constraints)
        self._take(samples, kernel, intercept, psd)

    def _take(self, samples: Samples, kernel: Any, intercept: Intercept, psd: PSDRule) -> None:
        """Check and keep what every machine has."""
        if not isinstance(psd, str) or psd not in get_args(PSDRule):
            raise UnknownOptionError(f"unknown psd {shown(psd)}; {nearest(psd, get_args(PSDRule))}")
        kernel = as_kernel(kernel)
        if isinstance(samples.X, RowSource) and not isinstance(kernel, (Linear, FeatureMap)):
            samples = samples.gathered()
        self.samples = samples
        self.X: Matrix = samples.X
        n, d = self.X.shape
        if isinstance(kernel, Precomputed) and n != d:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {self.X.shape}")
        if isinstance(kernel, FeatureMap):
            self.kernel: Kernel = kernel.resolve(samples.taken)
        else:
            self.kernel = kernel.resolve(self.X)
        self.intercept: Intercept = intercept
        self.psd: PSDRule = psd
        if self.constraints and isinstance(kernel, FeatureMap):
            raise UnsupportedError(
                f"constraints are about features or values of a kernel, and {kernel} has features of its own: make "
                "these by its `features` and take them as samples, with a linear kernel"
            )
        if self.constraints:
            user_rows(self.constraints, self.kernel, d, self.size_of_f, self.diagonal)  # only checked

    def _keep(self, **own: Any) -> None:
        """Check and keep the machine's own parameters, those of `own`."""
        assert not own

    def replace(self, **parameters: Any) -> Self:
        """The same problem with other parameters, sharing samples and, where the kernel stays, the Gram matrix.

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
        UnknownOptionError
            A parameter that this machine or kernel does not have; names the nearest.
        ParameterError, ParameterTypeError
            A value out of its range, or of another type.

        See Also
        --------
        qpsvm.path, qpsvm.cross_validate : Many parameters.

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
        same: Self = replaced(self, parameters)
        return same

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {self.samples!r}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {label:<12}{text}" for label, text in self._said())])

    def _repr_html_(self) -> str:
        return table([[Cell(label), Cell(text)] for label, text in self._said()], title=self.title)

    def _said(self) -> list[tuple[str, str]]:
        """What the problem is made of, a label and a short text each."""
        said = [("machine", type(self).__name__), *self.samples.said(), ("kernel", str(self.kernel))]
        names = self._textbook_rows.names if self.constraints else ()
        first = f"{', '.join(names[:NAMED_ROWS])}{', …' if len(names) > NAMED_ROWS else ''}"
        return [*said, ("constraints", f"{len(names)} rows: {first}")] if names else said

    @property
    def n(self) -> int:
        """Number of samples, those of weight 0 included."""
        return self.samples.n

    @property
    def sample_weight(self) -> FloatArray:
        """The weights s: (n,)."""
        return self.samples.weight

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of a data frame."""
        return self.samples.feature_names

    @property
    def rows(self) -> IntArray:
        """The samples that take part: those of positive weight."""
        return self.samples.rows

    @property
    def team(self) -> Team:
        """Whoever has the other samples."""
        return self.X.team if isinstance(self.X, RowSource) else ALONE

    @property
    def takes_all(self) -> bool:
        """Whether every sample takes part."""
        return self.samples.takes_all

    def taking_part(self, vector: NDArray[Any]) -> NDArray[Any]:
        """The entries of a vector over the caller's samples that take part; the vector itself where all do.

        Parameters
        ----------
        vector : ndarray, shape (n,)
            One entry a sample.

        Returns
        -------
        ndarray, shape (rows that take part,)
            Of positive weight, in order.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0]], [0, 0, 1], sample_weight=[1, 0, 1])
        >>> print(problem.taking_part(np.array([5.0, 6.0, 7.0])))
        [5. 7.]
        """
        return self.samples.taking_part(vector)

    @property
    def y(self) -> FloatArray:
        """−1/+1 of each sample of a two-class machine: (n,)."""
        return self.samples.target

    @property
    def classes(self) -> NDArray[Any]:
        """The two labels of a two-class machine, in sort order.

        Raises
        ------
        UnsupportedError
            A machine without classes.
        """
        if self.samples.classes is None:
            raise UnsupportedError(f"{type(self).__name__} has no classes: its target is a number")
        return self.samples.classes

    @property
    def t(self) -> FloatArray:
        """The target of each sample of a regression: (n,).

        Raises
        ------
        UnsupportedError
            A machine whose target is no number.
        """
        if self.shown_target is None:
            raise UnsupportedError(f"{type(self).__name__} has no numbers as target")
        return self.samples.target

    @property
    def predicted(self) -> NDArray[Any] | None:
        """The two labels that a result predicts, for f ≤ 0 and f > 0; None where it predicts f itself."""
        return self.samples.classes

    @property
    def shown_target(self) -> FloatArray | None:
        """The target of a regression, (n,); None for other machines."""
        return None

    @property
    def shown_pairs(self) -> IntArray | None:
        """The pairs of samples that a row each is about, (m, 2); None for other machines."""
        return None

    @property
    def labels(self) -> FloatArray:
        """The target of the samples that take part: −1/+1 of a two-class machine."""
        return self.taking_part(self.samples.target)

    @property
    def alphas(self) -> int:
        """How many α there are, those of samples that take no part included."""
        return self.sides * self.n

    def _gather(self, alpha: FloatArray) -> FloatArray:
        """The entries of a vector over the caller's α, (alphas,), over the rows of the dual: (m,)."""
        if self.takes_all:
            return alpha
        return np.concatenate([self.taking_part(side) for side in alpha.reshape(self.sides, self.n)])

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """A vector over the rows of the dual, (m,), over the caller's α, (alphas,): 0 where a sample takes no part."""
        if self.takes_all:
            return values
        return np.concatenate([self.samples.spread(side) for side in values.reshape(self.sides, -1)])

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        """Fill in s f and what it is to reach, (alphas,) each, for samples that take no part."""
        yf[rows] = self.samples.target[rows] * model.decision_function(self.X[rows])
        margin[rows] = certificate.rho

    def _extras(self, certificate: Certificate) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        """What else the primal has a variable for, in the machine's own terms, and all values that are as good."""
        return {}, certificate.intervals

    @remembered
    def space(self) -> FeatureSpace:
        """The samples that take part, in feature space."""
        X: Matrix = self.samples.taken
        if not self.takes_all and isinstance(self.kernel, Precomputed):
            X = X[:, self.rows]
        if self.user_rows is not None:  # whose samples must not be centred
            kept: Intercept = "penalised" if self.intercept == "penalised" else None
            space = FeatureSpace(self.kernel, self.user_rows.behind(X), kept, self.psd)
            if kept and space.computed_intercept is None:
                raise UnsupportedError(
                    "constraints with a penalised intercept take a kernel that is positive semidefinite"
                )
            return space
        if isinstance(self.kernel, FeatureMap):
            X = Mapped(as_row_source(X), self.kernel)  # (MAP.1)
        return FeatureSpace(self.kernel, X, self.intercept, self.psd, self.affine)

    @remembered
    def user_rows(self) -> UserRows | None:
        """The rows of `constraints` as they are computed with; None without any."""
        if not self.constraints:
            return None
        X = self.samples.taken
        own = X.squared_norms() if isinstance(X, RowSource) else self.kernel.diagonal(X)
        usual = float(np.sqrt(max(float(np.mean(own)), 0.0))) or 1.0
        rows = self._textbook_rows
        return rows.scaled(lengths_of(rows, self.kernel), usual)

    @property
    def _textbook_rows(self) -> UserRows:
        """The same as the user wrote them."""
        return user_rows(self.constraints, self.kernel, self.X.shape[1], self.size_of_f, self.diagonal)

    @property
    def _row_scale(self) -> FloatArray:
        """What the user's rows were divided by: (p,)."""
        assert self.user_rows is not None
        return self.user_rows.scale

    @property
    def computed_intercept(self) -> Intercept:
        """The intercept as it is computed with: None where it is part of the Gram matrix."""
        return self.intercept if self.constraints else self.space.computed_intercept

    def _extended(self, gram: Operator, kept: Intercept, rows: UserRows | None = None) -> SVMDual:
        """The dual of the machine over a Gram matrix, with the user's rows."""
        rows = rows or self.user_rows
        if rows is None:
            return self._dual(gram, kept)
        n = len(self.labels)
        return rows.extended(self._dual(Diagonal(gram.diagonal()[:n]), kept), gram, n)

    @remembered
    def svm(self) -> SVMDual:
        """The dual of this machine, over the samples that take part, with the Gram matrix to compute with."""
        if self.constraints:
            return self._feasible_rows(self._extended(self.space.centred, self.intercept))
        centred, kept = self.space.centred, self.space.computed_intercept
        if kept == self.intercept and not self.diagonal:
            return self.outlined.over(centred)
        return self._dual(centred, kept)  # whose levels are of that Gram matrix, where f has a part of its diagonal

    @remembered
    def outlined(self) -> SVMDual:
        """The same dual with a stand-in for the Gram matrix, which need not be made to tell machines apart."""
        behind = 0 if self.user_rows is None else self.user_rows.Z.shape[0]
        stand_in = Diagonal(repeated(1.0, len(self.labels) + behind))
        return self._extended(stand_in, self.intercept)

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of α for the rows that take part; infinite where nothing bounds it."""
        return self.svm.upper

    def qp(self, form: Form = "dual") -> QP:
        """The textbook QP of this problem.

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
        if self.constraints:
            return self._qp_with_rows(check_form(form), self._textbook_rows)
        if check_form(form) == "dual":
            return self._dual_qp(self.space.gram if self.space.is_linear else self.space.centred)
        return self._primal(self.space.textbook_coordinates)

    def solver_qp(self, form: Form = "dual") -> ScaledQP:
        """The same QP as a solver is handed it: centred where that changes nothing but rounding, and scaled.

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
        UnknownOptionError
            Another form.
        IndefiniteKernelError
            The Gram matrix is indefinite and psd="raise".

        Examples
        --------
        Whatever the units of X, the mean diagonal of P is 1:

        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [2e6]], [0, 1], C=1e-12)
        >>> scaled = problem.solver_qp("dual")
        >>> print(round(scaled.qp.P.mean_diagonal(), 6))
        1.0
        >>> answer = scaled.unscale(qpsvm.compile(scaled.qp, "cvxopt").solve(tol=1e-9))
        >>> print((1e12 * answer.x).round(5))
        [0.5 0.5]
        """
        if self.user_rows is not None:
            original = self._qp_with_rows(check_form(form), self.user_rows)
        elif check_form(form) == "dual":
            original = self._dual_qp(self.space.centred)
        else:
            original = self._primal(self.space.coordinates)
        factors = scaling(self.svm, self.space.scale, form, self.letters)
        return ScaledQP(original.scaled(*factors), original, *factors)

    def posed(self, form: Form = "dual") -> ScaledQP:
        """The same, but a dual is written down when somebody looks at it: our own solvers read its statement alone.

        Parameters
        ----------
        form : "dual" or "primal"
            As for `qp`.

        Returns
        -------
        ScaledQP
            With the same numbers as that of `solver_qp`.

        Raises
        ------
        UnknownOptionError, IndefiniteKernelError
            As `solver_qp`.

        Examples
        --------
        >>> import qpsvm
        >>> posed = qpsvm.CSVM([[0.0], [2.0]], [0, 1], C=8).posed()
        >>> print(posed.qp.statement.svm.upper, posed.qp.ub)
        [8. 8.] [8. 8.]
        """
        if form == "primal":
            return self.solver_qp(form)
        factors = variables, rows, objective = scaling(self.svm, self.space.scale, check_form(form))
        check_scales(*variables.values(), *rows.values(), objective)
        if self.constraints:
            return self.solver_qp(form)
        original = LaterQP(Statement(self._stated), lambda: self._dual_qp(self.space.centred))
        scaled = LaterQP(Statement(self._stated).scaled(*factors), lambda: original.scaled(*factors))
        return ScaledQP(scaled, original, *factors)

    @remembered
    def _stated(self) -> SVMDual:
        """The dual that the dual QP is of: where the intercept is penalised, it is a feature of ones behind φ."""
        if self.intercept != "penalised" or self.constraints:
            return self.svm
        return self._dual(self.space.with_penalised_intercept(), None)

    def certify(self, alpha: ArrayLike, w: ArrayLike | None = None) -> Certificate:
        """Turn any α into a feasible primal-dual pair with a certified gap.

        Parameters
        ----------
        alpha : array_like, shape (n,), or (2n,) of a regression
            Anything finite; it is repaired first. Indexed by the caller's rows.
        w : array_like, shape (d,) or (n,), optional
            An explicit weight vector for a linear kernel, as `result.w` has it, used where its primal value is the
            better one. For another kernel, the coefficients of w = Σ_j w_j φ(x_j): where few of them are not 0, the
            certificate needs the kernel values of those samples only, however many α are not 0.

        Returns
        -------
        Certificate
            Over the rows of positive weight.

        Raises
        ------
        DataError
            Another shape, or values that are not finite.

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
        a = self._given(alpha, "alpha")
        explicit = None if w is None else as_real_vector(w, "w")
        if explicit is not None:
            width = (self.space.samples.d if self.space.is_linear else self.n,)
            if explicit.shape != width or not np.isfinite(explicit).all():
                whose = "a weight vector" if self.space.is_linear else "coefficients over the samples"
                raise DataError(f"w must be {whose}: finite, of shape {width}; got shape {explicit.shape}")
            explicit = explicit / self.size_of_f if self.size_of_f != 1.0 else explicit
            explicit = self.space.over_rows(explicit) if self.space.is_linear else self.taking_part(explicit)
        with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
            return self._counted(self._certify(a, explicit), 0.0)

    def _given(self, alpha: ArrayLike, name: str) -> FloatArray:
        """α as a user gives it, prices of the constraints behind it or not, over the rows of the dual: (m,)."""
        rows = self.user_rows
        if rows is None:
            return self._gather(as_finite_vector(alpha, name, self.alphas))
        whole = as_real_vector(alpha, name)
        n = self.alphas + (rows.p if len(whole) != self.alphas else 0)
        whole = as_finite_vector(whole, name, n)
        prices = whole[self.alphas :] if n > self.alphas else np.zeros(rows.p)
        return np.concatenate(
            [self._gather(whole[: self.alphas]), prices * rows.scale * (self.size_of_f / self.svm.unit)]
        )

    def at(self, alpha: ArrayLike, tol: float = 1e-6) -> SVMResult:
        """The result at any α, without a solver: what it would be worth as an answer.

        Parameters
        ----------
        alpha : array_like, shape (n,), or (2n,) of a regression
            Anything finite, indexed by the caller's rows. It is made feasible first, by `dual.repair`, and for a hard
            margin stretched as far as helps; the result's `alpha` is what that gives. b and ρ are the best for it.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.

        Returns
        -------
        SVMResult
            `optimal`, or a `candidate`.

        Raises
        ------
        DataError, ParameterError
            Another shape, values that are not finite, or a tolerance that is not positive.

        See Also
        --------
        certify : The same bounds as a certificate.

        Examples
        --------
        The optimum of a neighbouring C is feasible here, but no answer yet:

        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> near = qpsvm.solve(qpsvm.CSVM(X, y, C=0.1))
        >>> candidate = qpsvm.CSVM(X, y, C=1).at(near.alpha)
        >>> print(candidate.status, candidate.dual <= 0.5 <= candidate.primal)
        candidate True
        >>> print(qpsvm.CSVM(X, y, C=1).at([0.0, 0.5, 0.5, 0.0]).status)
        optimal
        """
        self.samples.check()
        a, tol = self._given(alpha, "alpha"), as_tolerance(tol)
        with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
            measured = self._certify(a)
            certificate = self._counted(measured, tol, polished=False)
        return svm_result(
            self, certificate, title=self.title, message=self._note(certificate),
            status=Status.OPTIMAL if certificate.gap <= tol else Status.CANDIDATE, backend="none", form="dual",
            iterations=None, build_time=0.0, solve_time=0.0, solver=Solver("no solver", "", "the point was given"),
            solver_gap=measured.gap,
        )  # fmt: skip

    def start(self, start: SVMResult | ArrayLike) -> FloatArray:
        """An α to begin at: from the result of a neighbouring problem, or given.

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
        if isinstance(start, SVMResult):
            guess = neighbouring_alpha(self, start)
            if self.user_rows is not None:
                known = start.constraint_multipliers
                prices = np.array([known.get(name, 0.0) for name in self.user_rows.names])
                guess = np.concatenate([guess, prices * self.user_rows.scale * (self.size_of_f / self.svm.unit)])
        else:
            guess = self._given(start, "start")
        with np.errstate(all="ignore"):  # what overflows is clipped
            return feasible_start(self.svm, guess)

    def in_own_units(self, alpha: FloatArray) -> FloatArray:
        """Rescale α of a problem with margin level 1 to the units of this machine's α.

        Parameters
        ----------
        alpha : ndarray, shape (n,)
            Of the other problem.

        Returns
        -------
        ndarray, shape (n,)
            The same α, except in a ν-SVM, whose α add up to ν.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> problem = qpsvm.NuSVM([[0.0], [2.0]], [0, 1], nu=0.5)
        >>> print(problem.in_own_units(np.array([3.0, 3.0])))
        [0.25 0.25]
        """
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
            Who solved, for the record.
        build_time : float
            Seconds, for the record.
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
        own = self.svm if self.svm.users is None else self.svm.users.own
        form = read_form(solution, form, own.m, self.level_rows)
        alpha, w = self.read(solution, form)
        m = self.team.count(self.svm.m)
        enough = 0.0 if m <= MANY_ROWS else min(GOOD, tol)
        if w is None and not self.constraints:
            alpha = affordable_alpha(self.space, self.svm, alpha, certifying)
        elif not self.space.is_linear and certificate_seconds(self.space, alpha) > certifying:
            enough = float("inf")  # the solver's own w is all that can be looked at
        measured = Clock()
        certificate = self._certify(alpha, w, enough)
        each, solver_gap = measured.seconds, certificate.gap
        if certificate.explicit is not None:  # from here on without it
            each = max(each, certificate_seconds(self.space, alpha))
        stopped = solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED) and m > FEW_ROWS
        if polished and not stopped:
            certificate = self._polished(certificate, tol, polishing, each)
        in_time = self.team.agreed(not stopped and (polishing is None or not polishing.stopped()))
        certificate = self._counted(certificate, tol, in_time)
        certificate, status, message, error = self._judge(certificate, solution, tol, polished and in_time, clock)
        return svm_result(
            self, certificate, title=self.title, status=status, message=message, error=error,
            backend=backend or solution.solver.name,
            form=form, iterations=solution.iterations, build_time=build_time, solve_time=solution.solve_time,
            solver=solution.solver, solver_gap=solver_gap, bounded=in_time,
        )  # fmt: skip

    def _polished(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, each: float = 0.0
    ) -> Certificate:
        """Polish to rounding where that costs little: of few rows, or few free ones; else to what was asked for.

        Whoever asks for less than the default gets just that: far from the exact split, polishing would cost more than
        a solver that is asked for more.
        """
        n, alpha = self.team.count(self.svm.m), certificate.alpha
        free = (alpha > 0) & (alpha < self.upper)
        cheap = n <= FEW_ROWS or (n <= MANY_ROWS and self.team.count(int(np.count_nonzero(free))) <= FEW_FREE)
        enough = FINISHED if n <= TEACHING_ROWS or (cheap and tol <= GOOD) else tol
        if certificate.gap <= enough:
            if n <= FEW_ROWS:
                return swept(self.space, certificate, self._certify)
            late = self.team.agreed(clock is not None and clock.stopped())
            if self.space.is_linear and not late:  # a certificate is a pass over X
                return swept(self.space, certificate, self._certify, max(SWEPT * tol, FINISHED))
            return certificate
        return polish(self.svm, certificate, self._certify, clock=clock, each=each)

    def _counted(
        self, certificate: Certificate, tol: float, in_time: bool = True, polished: bool = True
    ) -> Certificate:
        """With a gap that counts all rounding. Where kernel values are what it suffers from, they are made better."""
        counted = self._counting.counted(certificate, tol, lambda: in_time and not noted())
        twin = self._by_differences if in_time and certificate.gap <= tol < counted.gap else None
        if twin is None:
            return counted
        exact = twin._certify(certificate.alpha)
        exact = twin._counting.counted(twin._polished(exact, tol) if polished else exact, tol)
        return exact if exact.gap < counted.gap else counted

    @remembered
    def _counting(self) -> Counting:
        """What bounds the gap of this problem's points."""
        return Counting(Accuracy(self.space), self.svm, self.__dict__.get("_equalities"))

    @remembered
    def _held(self) -> Held:
        """What brings points to keep the user's rows."""
        return Held(self._counting.bounds)

    def _feasible_rows(self, svm: SVMDual) -> SVMDual:
        """The dual, once it is known that the user's rows can be kept, and which of them as equalities only.

        Raises InfeasibleConstraintsError.
        """
        assert svm.users is not None
        self.__dict__.pop("_equalities", None)
        rows, scale = np.arange(svm.users.own.m, svm.m), self._row_scale
        if (svm.level[rows] >= 0.0).any():  # else w = 0, b = 0 keeps them with room to spare
            found = room_of(svm, Bounds(Accuracy(self.space), svm), rows)
            if found.farkas is not None:
                raise with_rows(infeasible(svm, Bounds(Accuracy(self.space), svm), rows, found, scale), self)
            if found.equal.any():
                self.__dict__["_equalities"] = np.concatenate([np.zeros(svm.users.own.m, dtype=bool), found.equal])
        return svm

    @remembered
    def _by_differences(self) -> Problem | None:
        """This problem with kernel values that do not cancel, where there are such."""
        space = self.space.by_differences()
        if space is None:
            return None
        twin = copy.copy(self)
        for derived in ("_counting", "_held", "svm", "_stated"):
            twin.__dict__.pop(derived, None)
        twin.__dict__["space"] = space
        return twin

    def prove(self, result: SVMResult, *, tol: float | None = None) -> Proof:
        """What `result.verify()` returns: a theorem about the numbers of a result of this problem.

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
            Not a result, or over other rows or features.
        UnsupportedError
            A machine or a kernel that nobody has stated exactly.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> proof = problem.prove(problem.at([0.25, 0.25, 0.25, 0.25]), tol=0.1)
        >>> print(round(proof.gap, 2), proof.claims[-1])
        1.11 refuted: the relative gap is at most the tolerance, 0.1: it is at least 1.11
        """
        from qpsvm.machines.exact.program import verified  # proofs are loaded when somebody asks for one

        return verified(self, result, tol)

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
        parts = solution.qp.split(solution.x)
        w: FloatArray | None = None
        if form == "dual":
            alpha = parts["alpha"]
            if self.user_rows is not None:
                alpha = np.concatenate([alpha, read_prices(parts, self.user_rows)])
            if solution.v is not None:
                w = solution.v / float(np.sqrt(self.svm.unit))  # the factor of P is that of K times √unit
                w = w[:-1] if self.intercept == "penalised" and self.space.is_linear else w
        else:
            sides = [solution.qp.multiplier(name, solution.z, solution.y) for name in self.level_rows]
            alpha = np.concatenate(sides) / self.svm.unit  # (PHINGE.16)
            if self.user_rows is not None:
                groups = {
                    name: solution.qp.multiplier(name, solution.z, solution.y) for name in solution.qp.constraints
                }
                alpha = np.concatenate([alpha, read_prices(groups, self.user_rows) / self.svm.unit])
            w = parts[self.letters.get("w", "w")] if self.space.is_linear else None
        if w is not None and not all_finite(w):
            w = None
        return (alpha if all_finite(alpha) else np.where(np.isfinite(alpha), alpha, 0.0)), w

    def _judge(
        self, certificate: Certificate, solution: QPSolution, tol: float, polished: bool, clock: Clock | None
    ) -> tuple[Certificate, Status, str, QPSVMError | None]:
        """The status that the certificate gives. A soft margin is feasible and bounded, whatever a solver says."""
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
        """What else the user of this machine should know."""
        if isinstance(self.kernel, FeatureMap):
            return self.kernel.note
        if certificate.explicit is not None and not self.constraints:
            return (
                f"f rests on {np.count_nonzero(certificate.coef)} of the samples: a combination of these, whose "
                "coefficients result.model has, stands in for Σ α_i y_i φ(x_i); the gap counts how far they are apart"
            )
        if self.space.shift:
            return (
                f"the certificate is for the kernel matrix plus {self.space.shift!r} times the identity "
                "(psd='shift'), which has no counterpart for new samples: there f(x) = Σ α_i y_i K(x_i, x) + b"
            )
        if self.space.clipped:
            return (
                "the kernel matrix is indefinite: the certificate is for its positive part (psd='clip'), in which f of "
                "new samples is taken too"
            )
        return ""

    def _dual_qp(self, gram: Operator) -> QP:
        """The dual over a Gram matrix, a penalised intercept being a feature of ones behind φ."""
        svm = self._stated if self.intercept == "penalised" else self._dual(gram, self.intercept)
        return dual_qp(svm, self._dual_formula(svm), f"{self.title}: dual ({self.dual_tag})")

    def _qp_with_rows(self, form: Form, rows: UserRows) -> QP:
        """Either QP with the user's rows, as they are written or as they are computed with, (USER.2)."""
        own, n = rows is not self.user_rows, len(self.labels)
        if form == "primal":
            points = (
                self.space.coordinates
                if not self.space.is_linear
                else rows.behind(self.space.samples.take(np.arange(n)))
            )
            return primal_with_rows(self._primal(points[:n]), rows, rows.values(points[n:]), own, self.letters)
        gram = self.space.centred
        if own and self.space.is_linear:
            gram = LowRank(rows.behind(self.space.samples.take(np.arange(n))))
        svm = self._extended(gram, self.intercept, rows)  # (OWN.10)
        if self.intercept == "penalised":
            gram = with_ones(gram, rows.ones(n))
            svm = self._extended(gram, None, rows)
        return split_prices(dual_qp(svm, self._dual_formula(svm), f"{self.title}: dual ({self.dual_tag})"), svm, own)

    def _dual_formula(self, svm: SVMDual) -> str:
        """The objective of the dual, for people."""
        linear = {1.0: " − 1ᵀα", 0.0: ""}.get(svm.common_level if svm.common_level is not None else np.nan, " − ℓᵀα")
        objective = f"½ αᵀQα{f' + {self.curved_term}' if svm.curved else ''}{linear}"
        if svm.unit != 1.0:
            objective = f"{self.unit_letter} ({objective})"
        centred = not self.space.is_linear and self.space.centred is not self.space.gram
        entry = "(HKH)_ij,  H = I − 11ᵀ/n" if centred else "K(x_i, x_j)"
        if self.intercept == "penalised":
            entry = "(K(x_i, x_j) + 1)"
        sign = "" if common_value(svm.sign) == 1.0 else "y_i y_j " if self.samples.classes is not None else "s_i s_j "
        return f"{objective},  Q_ij = {sign}{entry}"

    def _certify(self, alpha: FloatArray, w: FloatArray | None = None, enough: float = 0.0) -> Certificate:
        """`certify` over the rows that take part; no better primal point is looked for once the gap is `enough`."""
        if self.constraints:
            return self._held.certify(alpha, w, enough)
        return certify(self.space, self.svm, alpha, w, enough)

    @property
    @abstractmethod
    def title(self) -> str:
        """The machine with its parameters, for people."""

    @abstractmethod
    def _record(self) -> Record:
        """The machine itself, in exact numbers, over the samples that take part."""

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        """The dual over a Gram matrix of the samples that take part, with the intercept kept apart as said."""
        return self._record().dual(gram, kept, self.samples.team)

    def _primal(self, Z: Matrix) -> QP:
        """The primal over w, b, …, for the samples Z (n, r) in explicit coordinates."""
        tag, objective, *rows = self.textbook
        book = Textbook(f"{self.title}: primal ({tag})", objective, tuple(rows), self.level_rows, self.letters,
                        self.size_of_f)  # fmt: skip
        return primal_qp(self._record(), Z, self.computed_intercept, book)
