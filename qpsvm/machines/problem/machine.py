"""Define the common base of all machines (`BaseProblem`): samples, kernel, intercept, hyperparameters, and the two QPs.

`Problem` is a machine of one decision function, `AllInOneProblem` one of several.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.frozen import IMMUTABLE_TYPES, FastABCMeta, as_read_only, cached, freeze_all
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError, DataError, UnknownOptionError, UnsupportedError
from qpsvm.base.html import Cell, render_table
from qpsvm.base.other_names import OF_PROBLEM, AnswersOtherNames, explain_argument
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.data.rows.transformed import map_rows
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.derived_problems import replace_parameters, with_space
from qpsvm.machines.problem.docstrings import complete_docstring, signature_of
from qpsvm.machines.problem.hyperparameters import check_hyperparameter, format_hyperparameter
from qpsvm.machines.problem.linear_constraints import (
    ConstraintRows,
    as_constraints,
    build_computed_rows,
    build_textbook_rows,
)
from qpsvm.machines.problem.parameter_checks import Form, as_intercept, check_choice, check_form
from qpsvm.machines.problem.reading import build_result_at
from qpsvm.program.exchange import R, Solvable
from qpsvm.program.qp import QP
from qpsvm.program.scaled_qp import ScaledQP
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.kernel_registry import as_kernel
from qpsvm.space.kernels.psd_rule import Intercept, PSDRule
from qpsvm.space.kernels.space import FeatureSpace

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


class BaseProblem(AnswersOtherNames, Solvable[R], metaclass=MachineType):
    """Base of all machines; the result is an R. Arrays are read-only, since values computed from them are cached."""

    samples: TrainingSamples
    X: Matrix
    kernel: Kernel
    intercept: Intercept
    psd: PSDRule
    #: What the machine is called, for people.
    _display_name: str = ""
    #: The names of the machine's own parameters, which `_set_hyperparameters` checks and keeps.
    _hyperparameters: ClassVar[tuple[str, ...]] = ()
    #: What is learnt of a sample beside its features: one of two labels, a number, a place in an order, or nothing.
    _target_kind: ClassVar[Literal["labels", "numbers", "ranks", "none"]] = "labels"
    #: How many α each sample has: those of one side after those of the other.
    _variables_per_sample: ClassVar[int] = 1
    #: f in units of that of the dual, and what it has of K(x, x) besides.
    _f_scale: ClassVar[float] = 1.0
    _diagonal_weight: ClassVar[float] = 0.0
    #: Whether 1ᵀβ = 1, so that w is a point that moves with the samples.
    _is_affine: ClassVar[bool] = False
    #: Whether a feature map is computed with by its features, not by the kernel that they make.
    _uses_explicit_features: ClassVar[bool] = True
    _other_names: ClassVar[Mapping[str, str]] = OF_PROBLEM

    def __init__(
        self,
        samples: TrainingSamples,
        kernel: Any,
        intercept: Intercept,
        psd: PSDRule,
        constraints: Any = None,
        **own: Any,
    ) -> None:
        self.constraints = () if constraints is None else as_constraints(constraints)
        self._set_data(samples, kernel, intercept, psd)
        if own:
            self._set_hyperparameters(**own)

    def _take_kernel_diagonal(self, rows: IntArray | slice) -> FloatArray | None:
        """Return K(x, x) of some samples, (r,), if the model needs it, else None."""
        asks = self._diagonal_weight and isinstance(self.kernel, Precomputed)
        return np.asarray(self.X.diagonal()[rows]) if asks else None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)
        cls.__signature__ = signature_of(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value if type(value) in IMMUTABLE_TYPES else as_read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_all(self.__dict__)

    def _set_data(self, samples: TrainingSamples, kernel: Any, intercept: Intercept, psd: PSDRule) -> None:
        """Check and keep what every machine has."""
        kernel = kernel if isinstance(kernel, Kernel) else as_kernel(kernel)
        if isinstance(samples.X, RowSource) and not isinstance(kernel, (Linear, FeatureMap)):
            samples = samples.to_memory()
        n, d = samples.X.shape
        if isinstance(kernel, Precomputed) and n != d:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {samples.X.shape}")
        self.__dict__.update(  # nothing of it can be written to
            samples=samples, X=samples.X, intercept=as_intercept(intercept), psd=check_choice(psd, "psd", PSD_RULES),
            kernel=kernel.resolve(samples.active_features if isinstance(kernel, FeatureMap) else samples.X),
        )  # fmt: skip
        if self.constraints:
            build_textbook_rows(self)  # only checked

    def _set_hyperparameters(self, **own: Any) -> None:
        """Check and keep the machine's own parameters, those of `_hyperparameters`."""
        for name, value in own.items():
            setattr(self, name, check_hyperparameter(name, value, self.samples))

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {self.samples!r}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {label:<12}{text}" for label, text in self._describe_parts())])

    def _repr_html_(self) -> str:
        return render_table([[Cell(label), Cell(text)] for label, text in self._describe_parts()], title=self.title)

    def _describe_parts(self) -> list[tuple[str, str]]:
        """Describe the parts of the problem: pairs of a label and a short text."""
        said = [("machine", type(self).__name__), *self.samples.describe(), ("kernel", str(self.kernel))]
        names = self._textbook_constraint_rows.names if self.constraints else ()
        first = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        return [*said, ("constraints", f"{len(names)} rows: {first}")] if names else said

    @cached
    def title(self) -> str:
        """The machine with its parameters, for people."""
        own = "".join(format_hyperparameter(name, getattr(self, name)) for name in self._hyperparameters)
        kept = self.intercept if self._target_kind in ("labels", "numbers") else "free"  # of the others it is no choice
        intercept = "" if kept == "free" else f", intercept {kept or 'absent'}"
        return f"{self._display_name or type(self).__name__}{own}{intercept}, kernel {self.kernel}"

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
    def active_rows(self) -> IntArray:
        """The samples that take part: those of positive weight."""
        return self.samples.active_rows

    @property
    def _all_weights_positive(self) -> bool:
        """Whether every sample takes part."""
        return self.samples.all_weights_positive

    def _select_active(self, vector: NDArray[Any]) -> NDArray[Any]:
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
        >>> print(problem._select_active(np.array([5.0, 6.0, 7.0])))
        [5. 7.]
        """
        return self.samples.select_active(vector)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sort order: two, or (k,) of several in one program; AbsentError without classes."""
        if self.samples.classes is None:
            raise AbsentError(f"{type(self).__name__} has no classes: its target is a number")
        return self.samples.classes

    @property
    def _active_target(self) -> FloatArray:
        """The target of the samples that take part: −1/+1 of a two-class machine, places among `classes` of several."""
        return self._select_active(self.samples.target)

    @property
    def _predicted_labels(self) -> NDArray[Any] | None:
        """The two predicted labels, for f ≤ 0 and f > 0; None if f itself is the prediction."""
        return self.samples.classes

    @property
    def _n_dual_variables(self) -> int:
        """Number of dual variables α, including those of samples of weight 0."""
        return self._variables_per_sample * self.n

    @cached
    def _active_variables(self) -> NDArray[np.bool_]:
        """Mask of the dual variables that are in the dual, those of samples of positive weight: one entry per α."""
        return np.tile(self.sample_weight > 0.0, self._variables_per_sample)

    def _restrict_to_dual(self, alpha: FloatArray) -> FloatArray:
        """Restrict an array over the caller's α, one entry per dual variable, to the rows of the dual: (m, …)."""
        return alpha if self._all_weights_positive else alpha[self._active_variables]

    def _expand_from_dual(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand an array over the rows of the dual, (m, …), to all of the caller's α: 0 for samples of weight 0."""
        if self._all_weights_positive:
            return values
        whole = np.zeros((self._n_dual_variables, *values.shape[1:]), dtype=values.dtype)
        whole[self._active_variables] = values
        return whole

    @cached
    def space(self) -> FeatureSpace:
        """The samples that take part, in feature space."""
        X: Matrix = self.samples.active_features
        if not self._all_weights_positive and isinstance(self.kernel, Precomputed):
            X = X[:, self.active_rows]
        if self._constraint_rows is not None:  # whose samples must not be centred
            kept: Intercept = "penalised" if self.intercept == "penalised" else None
            space = FeatureSpace(self.kernel, self._constraint_rows.append_points(X), kept, self.psd)
            if kept and space.computed_intercept is None:
                raise UnsupportedError("constraints and a penalised intercept take a positive semidefinite kernel")
            return space
        if self._uses_explicit_features and isinstance(self.kernel, FeatureMap):
            X = map_rows(as_row_source(X), self.kernel)  # (MAP.1)
        return FeatureSpace(self.kernel, X, self.intercept, self.psd, self._is_affine)

    @cached
    def _constraint_rows(self) -> ConstraintRows | None:
        """The linear constraints as they are computed with; None without any."""
        return build_computed_rows(self) if self.constraints else None

    @property
    def _textbook_constraint_rows(self) -> ConstraintRows:
        """The linear constraints as the user wrote them."""
        return build_textbook_rows(self)

    @property
    def _constraint_scale(self) -> FloatArray:
        """Divisors of the linear constraints: (p,)."""
        if self._constraint_rows is None:
            raise AbsentError(f"{type(self).__name__} has no linear constraints")
        return self._constraint_rows.scale

    @cached
    def _without_cancellation(self) -> Self | None:
        """This problem with kernel values free of cancellation; None if there are none."""
        space = self.space.without_cancellation()
        return None if space is None else with_space(self, space)

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
        return cast("R", build_result_at(self, alpha, tol))

    def prove(self, result: R, *, tol: float | None = None) -> Proof:
        """Prove a theorem about the numbers of a result of this problem, as `result.verify()` returns it.

        Parameters
        ----------
        result : SVMResult, or AllInOneResult
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
        from qpsvm.machines.problem.verify import verify_result  # proofs are loaded when somebody asks for one

        return verify_result(self, cast("Any", result), tol)

    @abstractmethod
    def _build_qp(self, form: Form, textbook: bool) -> QP:
        """Return a QP in the caller's own coordinates, as the textbook has it, or in those to compute with."""

    @abstractmethod
    def _compute_scaling(self, form: Form) -> tuple[Mapping[str, float], Mapping[str, float], float]:
        """Compute factors of variables, rows and objective for a solver, as `QP.scaled` takes them."""

    @abstractmethod
    def _read_user_alpha(self, alpha: ArrayLike, name: str = "alpha") -> FloatArray:
        """Check α as a user gives it, and restrict it to the rows of the dual."""
