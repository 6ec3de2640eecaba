"""Define estimators that replace those of scikit-learn, with its defaults and fall-backs to its own classes.

Each class here is an estimator of this library that keeps the promise of scikit-learn's class of the same name. It
solves the same problem by default, and where it cannot (probabilities, an l1 penalty, an indefinite kernel, …), it fits
scikit-learn's own class, hands every question on to that, and says so in the log.

They stand in a module of their own, under scikit-learn's names, so that a pickle made while `patch_sklearn` was in
force is read where it is not.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, Self

from sklearn.exceptions import NotFittedError
from sklearn.svm import _classes as theirs
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from qpsvm import estimators
from qpsvm.base import errors
from qpsvm.space.kernels.functions import Kernel

log = logging.getLogger("qpsvm.patch")

#: After these scikit-learn's class is asked, which may take what ours refused, or refuses it in its own words. A proof
#: that there is no answer (`NotSeparableError`) is not among them, and where none was found (`MarginNotFoundError`) no
#: other is asked either: LIBSVM would look for one without end.
FALLBACK_ERRORS = (
    errors.UnsupportedError, errors.ParameterError, errors.UnknownOptionError, errors.DataError,
    errors.IndefiniteKernelError, errors.TooLargeError, errors.SolverError,
)  # fmt: skip
#: The questions that scikit-learn's estimator answers where that was fitted.
DELEGATED_METHODS = ("predict", "decision_function", "score_samples")


class StandInMeta(type):
    """Metaclass of a class that replaces another: its instances include those of the original class."""

    def __instancecheck__(cls, thing: object) -> bool:
        original = vars(cls).get("original")
        return super().__instancecheck__(thing) or (original is not None and isinstance(thing, original))


def delegate_to_fallback(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method to call that of scikit-learn's estimator if that was fitted."""

    @wraps(method)
    def delegate(self: Any, *arguments: Any, **named: Any) -> Any:
        other = vars(self).get("fallback_")
        if other is None:
            return method(self, *arguments, **named)
        return getattr(other, method.__name__)(*arguments, **named)

    return delegate


def read_defaults(kind: type) -> dict[str, Any]:
    """Read the parameters of an estimator's constructor, with their defaults."""
    parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {each.name: each.default for each in parameters if each.default is not each.empty}


class StandIn(metaclass=StandInMeta):
    """Base of the replacements: a fit that may fall back to scikit-learn, and methods of the fallback."""

    #: The class of scikit-learn that this one replaces.
    original: ClassVar[type]
    #: The fitted estimator of scikit-learn; None if this library fitted.
    fallback_: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit by this library or, if it raises an error, by scikit-learn's own class.

        Shapes: X (n, d), y (n,), sample_weight (n,). Raises QPSVMError.
        """
        old_attributes = vars(self).keys() - vars(self).get("_learnt", ())
        refusal = None
        try:
            super().fit(X, y, sample_weight)  # type: ignore[misc]
        except FALLBACK_ERRORS as error:
            if self._needs_qpsvm() or isinstance(error, errors.MarginNotFoundError):
                raise
            refusal = error
        finally:
            self._learnt = vars(self).keys() - old_attributes
        if refusal is None:
            self.fallback_ = None
            log.info("%s is fitted by qpsvm: certified gap %.1e", type(self).__name__, vars(self)["gap_"])
            return self
        return self._fit_fallback(refusal, X, y, sample_weight)

    def _fit_fallback(self, refusal: errors.QPSVMError, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit scikit-learn's own class, and delete all fitted attributes of this object."""
        why = " ".join(str(refusal).split())
        log.warning("%s falls back to scikit-learn's own: %s", type(self).__name__, why)
        for name in self._learnt:
            del vars(self)[name]
        fallback = self._build_fallback()
        fallback.fit(X, y, sample_weight=sample_weight)
        self.fallback_, self._learnt = fallback, {"fallback_"}
        return self

    def _needs_qpsvm(self) -> bool:
        """Tell whether a parameter is given that scikit-learn's class does not have, so that there is no fallback."""
        only = read_defaults(self._find_stand_in()).keys() - read_defaults(self.original).keys()
        given = any(not self._is_default(name) for name in only)
        return given or isinstance(getattr(self, "kernel", None), Kernel)

    def _build_fallback(self) -> Any:
        """Build scikit-learn's estimator with the given parameters, and its own defaults for the others."""
        given = [name for name in read_defaults(self.original) if not self._is_default(name)]
        return self.original(**{name: getattr(self, name) for name in given})

    def _is_default(self, name: str) -> bool:
        value, default = getattr(self, name), read_defaults(self._find_stand_in())[name]
        return value is default or (isinstance(value, type(default)) and bool(value == default))

    @classmethod
    def _find_stand_in(cls) -> type:
        """Find the class here that a user's class derives from, or that class itself."""
        return next(kind for kind in cls.__mro__ if "original" in vars(kind))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of scikit-learn's estimator, if that was fitted."""
        fallback = vars(self).get("fallback_")
        if fallback is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(fallback, name)


def _has_probabilities(self: Any) -> bool:
    """Tell whether there are probabilities; those of scikit-learn only."""
    if self.probability in (False, "deprecated"):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class ProbableStandIn(StandIn):
    """A classifier with probabilities if scikit-learn's own class was fitted."""

    probability: Any
    _wants_probabilities: bool

    def _check_parameters(self) -> None:
        if self._wants_probabilities:
            raise errors.UnsupportedError(
                "probability=True: qpsvm.estimators.SVC gives other probabilities, by folds that are not random"
            )
        super()._check_parameters()  # type: ignore[misc]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict the probabilities of the classes, by scikit-learn's own class: (m, k)."""
        return self._get_fallback().predict_proba(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithms of the probabilities of the classes, by scikit-learn's own class: (m, k)."""
        return self._get_fallback().predict_log_proba(X)

    def _get_fallback(self) -> Any:
        check_is_fitted(self)
        if self.fallback_ is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return self.fallback_


class LinearStandIn(StandIn):
    """A linear classifier whose L1 penalty is left to scikit-learn, which does not prove its answer and is faster."""

    def _check_l1(self) -> None:
        raise errors.UnsupportedError("penalty='l1': qpsvm.estimators.LinearSVC certifies it, in more time")


#: Scikit-learn deprecates the parameter, and warns if it is given at all.
NO_PROBABILITIES = read_defaults(theirs.SVC).get("probability", False)


def build_stand_in(ours: Any, base: type = StandIn, **defaults: Any) -> type:
    """Build a class that replaces scikit-learn's estimator of the same name, with other defaults."""
    name = ours.__name__
    members = {
        answer: delegate_to_fallback(getattr(ours, answer)) for answer in DELEGATED_METHODS if hasattr(ours, answer)
    }
    about = {
        "__module__": __name__, "__qualname__": name, "original": getattr(theirs, name),
        "__doc__": f"`qpsvm.estimators.{name}` in the place of `sklearn.svm.{name}`.",
        "_parameter_overrides": {key: replace(ours._parameters[key], default=value) for key, value in defaults.items()},
    }  # fmt: skip
    return StandInMeta(name, (base, ours), {**about, **members})


# An indefinite kernel matrix, as of "sigmoid", is left to scikit-learn, whose result differs from that of psd="clip".
# `LinearSVC` and `LinearSVR` penalise the intercept, like those of scikit-learn.
SVC = build_stand_in(estimators.SVC, ProbableStandIn, psd="raise", probability=NO_PROBABILITIES)
NuSVC = build_stand_in(estimators.NuSVC, ProbableStandIn, psd="raise", probability=NO_PROBABILITIES)
LinearSVC = build_stand_in(estimators.LinearSVC, LinearStandIn, intercept_scaling=1)
SVR = build_stand_in(estimators.SVR, psd="raise")
NuSVR = build_stand_in(estimators.NuSVR, psd="raise")
LinearSVR = build_stand_in(estimators.LinearSVR, intercept_scaling=1.0)
OneClassSVM = build_stand_in(estimators.OneClassSVM, psd="raise")

#: Each by its name, which is scikit-learn's.
CLASSES: dict[str, type] = {
    kind.__name__: kind for kind in (SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM)
}  # fmt: skip
