"""Define the base class of all estimators (`Estimator`).

Estimators have the names, parameters and attributes of scikit-learn, and solve the problems of this library. The base
class checks the parameters, calls the solver, and warns if the certified gap is above `tol`. Here `tol` is the relative
duality gap to be reached; in scikit-learn its meaning depends on the solver.

A subclass lists the names of its parameters, from which constructor and documentation are built, and implements `_fit`,
`_build_model` and `predict`.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, Unpack

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.data.kinds import is_table
from qpsvm.data.open_samples import open_stored
from qpsvm.estimators.callbacks import CallbackSupportMixin, with_fit_callbacks
from qpsvm.estimators.constructor import EstimatorSettings, build_constructor, build_docstring
from qpsvm.estimators.fit_warnings import warn_of_caveats, warn_of_gap
from qpsvm.estimators.models import AnyModel, find_feature_names
from qpsvm.estimators.parameter_table import NO_LIMIT, PARAMETERS, ParameterInfo
from qpsvm.machines import Problem
from qpsvm.many.multiclass.one_by_one import remove_rounding_alpha
from qpsvm.many.multiclass.together import BinaryMachines, LazyResults
from qpsvm.program.status import Status
from qpsvm.result.caveats import Caveat
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

E = TypeVar("E", bound="Estimator")
P = ParamSpec("P")


def fit_atomically(fit: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """Decorate a `fit` so that it changes the estimator in one step, at its end.

    After an error or Ctrl-C the estimator is unchanged, and a thread that predicts during a fit uses the complete last
    model. If two threads fit the same estimator, it has the model of the last one to finish. Memory that runs out is a
    TooLargeError.
    """

    @wraps(fit)
    def fit_copy(self: E, /, *args: P.args, **kwargs: P.kwargs) -> E:
        working_copy = object.__new__(type(self))
        working_copy.__dict__.update(self.__dict__)
        try:
            fit(working_copy, *args, **kwargs)
        except TooLargeError:  # a MemoryError that already has a message
            raise
        except MemoryError as error:
            name = type(self).__name__
            raise TooLargeError(f"memory ran out in the fit of {name}: use fewer rows or columns of X") from error
        self.__dict__ = working_copy.__dict__  # one assignment, which is atomic for signals and threads
        return self

    return fit_copy


class Estimator(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The base of all estimators."""

    #: Names of the parameters that a class adds to those of its base classes.
    _parameter_names: ClassVar[tuple[str, ...]] = (
        "tol", "verbose", "max_iter", "backend", "constraints", "warm_start", "time_limit",
    )  # fmt: skip
    #: Parameters that are not in the table `PARAMETERS`, or differ from it.
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {}
    #: Names of the attributes set by a fit.
    _attribute_names: ClassVar[tuple[str, ...]] = ()
    #: Whether this fit continues the last one with additional samples.
    _is_partial_fit: bool = False
    #: Feature names of a `qpsvm.Table`, which has no `feature_names_in_`; None if the samples are no table.
    _columns: tuple[str, ...] | None = None
    #: The results of the machines, if the estimator has no `results_`.
    _results: Sequence[SVMResult]
    #: All parameters, in the order of `__init__`.
    _parameters: ClassVar[Mapping[str, ParameterInfo]] = {}
    #: Number of positional parameters.
    _n_positional: ClassVar[int] = 0

    if TYPE_CHECKING:

        def __init__(self, *first: Any, **named: Unpack[EstimatorSettings]) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Build the constructor and the documentation of a class of this library from its parameter names."""
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith("qpsvm."):
            return
        bases = [base for base in cls.__mro__ if issubclass(base, Estimator)]
        overrides = [vars(base).get("_parameter_overrides", {}) for base in bases]
        table = ChainMap(*overrides, PARAMETERS)
        names = dict.fromkeys(name for base in bases for name in vars(base).get("_parameter_names", ()))
        cls._parameters = {name: table[name] for name in names if name in table}
        defaults = {name: parameter.default for name, parameter in cls._parameters.items()}
        cls.__init__ = build_constructor(defaults, cls._n_positional)  # type: ignore[method-assign]
        if cls.__doc__ is not None:  # removed by python -OO
            cls.__doc__ = build_docstring(cls.__doc__, cls._parameters, (*cls._attribute_names, "notes_"))

    def _check_parameters(self) -> None:
        """Check the parameters without data. Raises ParameterError, ParameterTypeError, UnknownOptionError."""
        for name, parameter in self._parameters.items():
            value = getattr(self, name)
            if parameter.check is not None and value is not parameter.default:
                parameter.check(value, name)

    @with_fit_callbacks
    @fit_atomically
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solve the machines, and certify how close to their optima they are.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows; the (n, n) kernel matrix of a precomputed kernel.
        y : array_like, shape (n,)
            Labels of two classes or more, or targets; not used by `OneClassSVM` and `SVDD`.
        sample_weight : array_like, shape (n,), optional
            Factors by which C is multiplied. A sample whose weight is not positive is left out.

        Returns
        -------
        self

        Raises
        ------
        DataError, DataTypeError
            Samples, labels, targets or weights that cannot be used.
        ParameterError, ParameterTypeError, UnknownOptionError, UnsupportedError
            A parameter out of its range, of wrong type or name, or unsupported; an infinite C for classes that are not
            separable.

        Warns
        -----
        GapWarning
            The certified gap is above `tol`; a `ConvergenceWarning`.
        ChangedKernelWarning
            The kernel matrix is indefinite, `psd` is None, and its positive part was used instead.
        DegenerateWarning
            f is constant, as in a ν-SVM with ρ = 0.
        """
        self._check_parameters()
        self.__dict__.pop("_training_samples", None)
        self._columns = tuple(X.columns) if is_table(X) else None
        X, y, sample_weight = self._open_samples(X, y, sample_weight)
        self._fit(X, y, sample_weight)
        self._store_samples(y, sample_weight)
        return self

    def _store_samples(self, y: Any, sample_weight: Any) -> None:
        """Store the samples for a later `partial_fit`, in classes that have one."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit checked parameters to samples that may be stored. Raises QPSVMError."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample, or f of a regression, or a score; +1 inside and −1 outside.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)

        Raises
        ------
        sklearn.exceptions.NotFittedError, DataError, DataTypeError
        """
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params
            Parameters of this estimator.

        Returns
        -------
        self

        Raises
        ------
        UnknownOptionError
            An unknown name; the message contains the nearest one.
        """
        valid = self.get_params(deep=False)
        for name in params:
            if name.partition("__")[0] not in valid:
                raise UnknownOptionError(
                    f"Invalid parameter {name!r} for estimator {self}: {describe_nearest(name, valid)}"
                )
        super().set_params(**params)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the samples of the fit, and without results that were not requested.

        The last solution is kept if `warm_start` is set.
        """
        state = dict(super().__getstate__())
        for name in ("_split_builder", "_samples_so_far", "_training_samples"):
            state.pop(name, None)
        if not self._is_warm_started:
            state.pop("_solution", None)
        share_vectors = partial(_share_vectors, vectors=state.get("_computed_vectors"))
        for name in ("results_", "_results"):
            if isinstance(state.get(name), LazyResults):
                state[name] = state[name].select_requested(share_vectors)
        if isinstance(state.get("_solution"), BinaryMachines):
            state["_solution"] = replace(state["_solution"], results=state.get("results_", state.get("_results")))
        return state

    def _build_model(self) -> AnyModel:
        """Build the model that predicts without the estimator."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the decision functions to an .npz file, without pickle; `qpsvm.load` reads it back as a model.

        Parameters
        ----------
        path : str or path-like
            An existing file is replaced once the new one is complete.

        Raises
        ------
        sklearn.exceptions.NotFittedError
        UnsupportedError, DataError, FileAccessError, ParameterTypeError
            See `Model.save`.
        """
        check_is_fitted(self)
        self._build_model().save(path)

    @property
    def result_(self) -> SVMResult:
        """The certified result."""
        if "_results" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not been fitted: call fit")
        return get_only_result(self._results)

    @property
    def notes_(self) -> tuple[str, ...]:
        """Hints about the fit; usually empty. See `SVMResult.notes`.

        They are about features of different scales, a nearly constant kernel, a class that is never predicted, every α
        at its bound, or a constant f. They are computed on demand from the samples: an estimator from a pickle, or
        over a Dask collection, has none.
        """
        check_is_fitted(self)
        result = getattr(self, "result_", None)
        if result is None:
            return ()
        return tuple(map(str, result.list_hints(find_feature_names(self))))

    def _list_results(self) -> list[SVMResult]:
        """Return the result of each machine. Raises UnsupportedError if a pickle left one out."""
        return list(getattr(self, "results_", None) or self._results)

    def _open_samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Open stored samples as a source of rows, with their target and weights."""
        return open_stored(X, y, sample_weight)

    def _build_options(self) -> dict[str, Any]:
        """Return the options of `qpsvm.solve`."""
        return {
            "backend": self.backend, "tol": self.tol, "time_limit": self.time_limit, "verbose": bool(self.verbose),
            "max_iter": None if self.max_iter in (NO_LIMIT, None) else int(self.max_iter),
        }  # fmt: skip

    def _solve_one(self, problem: Problem) -> SVMResult:
        """Solve one problem with certificate. Raises QPSVMError."""
        result = self._solve_certified(problem, self._find_start(problem))
        result = remove_rounding_alpha(problem, result, float(self.tol))
        self._report_status([result.status], np.array([result.gap]), result.message, result.caveats)
        return result

    @property
    def _is_warm_started(self) -> bool:
        """Whether a solve starts from the last solution."""
        return self._is_partial_fit or bool(self.warm_start)

    def _find_start(self, problem: Problem) -> SVMResult | FloatArray | None:
        """Return the last result, or its α followed by zeros for new samples; None if neither fits the problem."""
        last = getattr(self, "result_", None) if self._is_warm_started else None
        if not isinstance(last, SVMResult):
            return None
        n_new = problem.n - len(last.coef)
        if n_new == 0:
            return last
        if n_new < 0 or not self._is_partial_fit:
            return None
        alpha = last.alpha.reshape(problem._variables_per_sample, -1)
        return np.hstack([alpha, np.zeros((problem._variables_per_sample, n_new))]).ravel()

    def _solve_certified(self, problem: Problem, start: SVMResult | FloatArray | None) -> SVMResult:
        """Solve one problem with `qpsvm.solve`, and return its certified result. Raises QPSVMError."""
        result = solve(problem, start=start, check=False, **self._build_options())
        if result.error is not None:
            raise result.error
        return result

    def _report_status(self, status: Sequence[Status], gap: Any, message: str, caveats: Sequence[Caveat]) -> None:
        """Store gap and status of the fit, and warn if the gap exceeds `tol` or the problem was changed.

        Raises KeyboardInterrupt.
        """
        if Status.INTERRUPTED in status:
            raise KeyboardInterrupt
        self.gap_ = float(np.max(gap))
        self.fit_status_ = int(any(each is not Status.OPTIMAL for each in status))
        warn_of_caveats(self, caveats, len(status))
        if self.fit_status_:
            warn_of_gap(self, status, gap, message)

    def _count_iterations(self, iterations: Any) -> Any:
        """Return the iterations that `max_iter` limits, without polishing; at least one, as in scikit-learn."""
        iterations = np.maximum(iterations, 1)
        if self.max_iter in (NO_LIMIT, None):
            return iterations
        return np.minimum(iterations, int(self.max_iter))


def get_only_result(results: Sequence[SVMResult]) -> SVMResult:
    """Return the only result. Raises AttributeError, as `hasattr` and `dir` expect, if a pickle left it out."""
    try:
        return results[0]
    except UnsupportedError as error:
        raise AttributeError(str(error)) from None


def _share_vectors(result: Any, vectors: Any) -> Any:
    """Return the result with these support vectors (s, d) in place of equal ones: a pickle stores them once."""
    has_arrays = isinstance(vectors, np.ndarray) and isinstance(result.model.vectors, np.ndarray)
    if not has_arrays or not np.array_equal(result.model.vectors, vectors):
        return result
    shared_result = copy(result)
    object.__setattr__(shared_result, "model", copy(result.model))
    object.__setattr__(shared_result.model, "vectors", vectors)
    return shared_result
