"""Define the common base of all machines (`Machine`): samples, kernel, intercept, hyperparameters, and the two QPs.

`Problem` is a machine of one decision function, `JointProblem` one of several.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.frozen import PLAIN, Abstract, freeze_all, read_only, remembered
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError, DataError, UnknownOptionError, UnsupportedError
from qpsvm.base.html import Cell, table
from qpsvm.base.other_names import OF_PROBLEM, AnswersOtherNames, explain_argument
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.data.rows.transformed import map_rows
from qpsvm.data.samples import Samples
from qpsvm.machines.problem.linear_constraints import UserRows, as_list, computed_rows, textbook_rows
from qpsvm.machines.problem.parameters import (
    Form,
    as_intercept,
    check_form,
    checked,
    described,
    in_words,
    one_of,
    signature_of,
)
from qpsvm.machines.problem.reading import candidate
from qpsvm.machines.problem.replaced import in_space, replaced
from qpsvm.program.exchange import R, Solvable
from qpsvm.program.qp import QP
from qpsvm.program.solution import ScaledQP
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed, as_kernel
from qpsvm.space.kernels.gram import Intercept, PSDRule
from qpsvm.space.kernels.space import FeatureSpace

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof

#: What may be done with an indefinite Gram matrix.
RULES = get_args(PSDRule)


class MachineType(Abstract):
    """Type of the classes of machines: a call with an unknown argument raises an error that says what to write."""

    __signature__: inspect.Signature

    if not TYPE_CHECKING:  # a type checker reads the arguments off `__init__`

        def __call__(cls, *values: Any, **options: Any) -> Any:
            known = cls.__signature__.parameters
            unknown = next((name for name in options if name not in known), None)
            if unknown is not None and all(each.kind is not each.VAR_KEYWORD for each in known.values()):
                raise UnknownOptionError(explain_argument(cls.__name__, unknown, options, sorted(known)))
            return super().__call__(*values, **options)


class Machine(AnswersOtherNames, Solvable[R], metaclass=MachineType):
    """Base of all machines; the result is an R. Arrays are read-only, since values computed from them are cached."""

    samples: Samples
    X: Matrix
    kernel: Kernel
    intercept: Intercept
    psd: PSDRule
    #: What the machine is called, for people.
    called: str = ""
    #: The names of the machine's own parameters, which `_keep` checks and keeps.
    own: ClassVar[tuple[str, ...]] = ()
    #: What is learnt of a sample beside its features: one of two labels, a number, a place in an order, or nothing.
    learns: ClassVar[Literal["labels", "numbers", "ranks", "none"]] = "labels"
    #: How many α each sample has: those of one side after those of the other.
    sides: ClassVar[int] = 1
    #: f in units of that of the dual, and what it has of K(x, x) besides.
    size_of_f: ClassVar[float] = 1.0
    diagonal: ClassVar[float] = 0.0
    #: Whether 1ᵀβ = 1, so that w is a point that moves with the samples.
    affine: ClassVar[bool] = False
    #: Whether a feature map is computed with by its features, not by the kernel that they make.
    mapped: ClassVar[bool] = True
    _other_names: ClassVar[Mapping[str, str]] = OF_PROBLEM

    def __init__(
        self, samples: Samples, kernel: Any, intercept: Intercept, psd: PSDRule, constraints: Any = None, **own: Any
    ) -> None:
        self.constraints = () if constraints is None else as_list(constraints)
        self._take(samples, kernel, intercept, psd)
        if own:
            self._keep(**own)

    def _own_values(self, rows: IntArray | slice) -> FloatArray | None:
        """Return K(x, x) of some samples, (r,), if the model needs it, else None."""
        asks = self.diagonal and isinstance(self.kernel, Precomputed)
        return np.asarray(self.X.diagonal()[rows]) if asks else None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        described(cls)
        cls.__signature__ = signature_of(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value if type(value) in PLAIN else read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_all(self.__dict__)

    def _take(self, samples: Samples, kernel: Any, intercept: Intercept, psd: PSDRule) -> None:
        """Check and keep what every machine has."""
        kernel = kernel if isinstance(kernel, Kernel) else as_kernel(kernel)
        if isinstance(samples.X, RowSource) and not isinstance(kernel, (Linear, FeatureMap)):
            samples = samples.gathered()
        n, d = samples.X.shape
        if isinstance(kernel, Precomputed) and n != d:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {samples.X.shape}")
        self.__dict__.update(  # nothing of it can be written to
            samples=samples, X=samples.X, intercept=as_intercept(intercept), psd=one_of(psd, "psd", RULES),
            kernel=kernel.resolve(samples.taken if isinstance(kernel, FeatureMap) else samples.X),
        )  # fmt: skip
        if self.constraints:
            textbook_rows(self)  # only checked

    def _keep(self, **own: Any) -> None:
        """Check and keep the machine's own parameters, those of `own`."""
        for name, value in own.items():
            setattr(self, name, checked(name, value, self.samples))

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
        same: Self = replaced(self, parameters)
        return same

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {self.samples!r}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {label:<12}{text}" for label, text in self._said())])

    def _repr_html_(self) -> str:
        return table([[Cell(label), Cell(text)] for label, text in self._said()], title=self.title)

    def _said(self) -> list[tuple[str, str]]:
        """Describe the parts of the problem: pairs of a label and a short text."""
        said = [("machine", type(self).__name__), *self.samples.said(), ("kernel", str(self.kernel))]
        names = self._textbook_rows.names if self.constraints else ()
        first = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        return [*said, ("constraints", f"{len(names)} rows: {first}")] if names else said

    @remembered
    def title(self) -> str:
        """The machine with its parameters, for people."""
        own = "".join(in_words(name, getattr(self, name)) for name in self.own)
        kept = self.intercept if self.learns in ("labels", "numbers") else "free"  # of the others it is no choice
        intercept = "" if kept == "free" else f", intercept {kept or 'absent'}"
        return f"{self.called or type(self).__name__}{own}{intercept}, kernel {self.kernel}"

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
    def takes_all(self) -> bool:
        """Whether every sample takes part."""
        return self.samples.takes_all

    def taking_part(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of a vector for the samples of positive weight; the vector itself if that is all of them.

        Parameters
        ----------
        vector : ndarray, shape (n,)
            One entry a sample.

        Returns
        -------
        ndarray, shape (rows that take part,)

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
    def classes(self) -> NDArray[Any]:
        """The labels in sort order: two, or (k,) of several in one program; AbsentError without classes."""
        if self.samples.classes is None:
            raise AbsentError(f"{type(self).__name__} has no classes: its target is a number")
        return self.samples.classes

    @property
    def labels(self) -> FloatArray:
        """The target of the samples that take part: −1/+1 of a two-class machine, places among `classes` of several."""
        return self.taking_part(self.samples.target)

    @property
    def predicted(self) -> NDArray[Any] | None:
        """The two predicted labels, for f ≤ 0 and f > 0; None if f itself is the prediction."""
        return self.samples.classes

    @property
    def alphas(self) -> int:
        """Number of dual variables α, including those of samples of weight 0."""
        return self.sides * self.n

    @remembered
    def in_dual(self) -> NDArray[np.bool_]:
        """Mask of the dual variables that are in the dual, those of samples of positive weight: one entry per α."""
        return np.tile(self.sample_weight > 0.0, self.sides)

    def _gather(self, alpha: FloatArray) -> FloatArray:
        """Restrict an array over the caller's α, one entry per dual variable, to the rows of the dual: (m, …)."""
        return alpha if self.takes_all else alpha[self.in_dual]

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand an array over the rows of the dual, (m, …), to all of the caller's α: 0 for samples of weight 0."""
        if self.takes_all:
            return values
        whole = np.zeros((self.alphas, *values.shape[1:]), dtype=values.dtype)
        whole[self.in_dual] = values
        return whole

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
                raise UnsupportedError("constraints and a penalised intercept take a positive semidefinite kernel")
            return space
        if self.mapped and isinstance(self.kernel, FeatureMap):
            X = map_rows(as_row_source(X), self.kernel)  # (MAP.1)
        return FeatureSpace(self.kernel, X, self.intercept, self.psd, self.affine)

    @remembered
    def user_rows(self) -> UserRows | None:
        """The linear constraints as they are computed with; None without any."""
        return computed_rows(self) if self.constraints else None

    @property
    def _textbook_rows(self) -> UserRows:
        """The linear constraints as the user wrote them."""
        return textbook_rows(self)

    @property
    def _row_scale(self) -> FloatArray:
        """Divisors of the linear constraints: (p,)."""
        if self.user_rows is None:
            raise AbsentError(f"{type(self).__name__} has no linear constraints")
        return self.user_rows.scale

    @remembered
    def _by_differences(self) -> Self | None:
        """This problem with kernel values free of cancellation; None if there are none."""
        space = self.space.by_differences()
        return None if space is None else in_space(self, space)

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
        return self._qp(check_form(form), textbook=True)

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
        original = self._qp(check_form(form), textbook=False)
        factors = self._scaling(form)
        return ScaledQP(original.scaled(*factors), original, *factors)

    def posed(self, form: Form = "dual") -> ScaledQP:
        """Return the scaled QP as `solver_qp` does, but write a dual down only when its arrays are read.

        Examples
        --------
        >>> import qpsvm
        >>> posed = qpsvm.CSVM([[0.0], [2.0]], [0, 1], C=8).posed()
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
        SVMResult, or JointResult
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
        return cast("R", candidate(self, alpha, tol))

    def prove(self, result: R, *, tol: float | None = None) -> Proof:
        """Prove a theorem about the numbers of a result of this problem, as `result.verify()` returns it.

        Parameters
        ----------
        result : SVMResult, or JointResult
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
            A machine or a kernel that nobody has stated exactly.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> proof = problem.prove(problem.at([0.25, 0.25, 0.25, 0.25]), tol=0.1)
        >>> print(round(proof.gap, 2), proof.claims[-1])
        1.11 refuted: the relative gap is at most the tolerance, 0.1: it is at least 1.11
        """
        from qpsvm.machines.problem.exact import verified  # proofs are loaded when somebody asks for one

        return verified(self, cast("Any", result), tol)

    @abstractmethod
    def _qp(self, form: Form, textbook: bool) -> QP:
        """A QP in the caller's own coordinates, as the textbook has it, or in those to compute with."""

    @abstractmethod
    def _scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """Factors of variables, rows and objective for a solver, as `QP.scaled` takes them."""

    @abstractmethod
    def _given(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        """Check α as a user gives it, and restrict it to the rows of the dual."""
