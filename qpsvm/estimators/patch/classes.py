"""Define the estimators by which `patch_sklearn` replaces those of scikit-learn: the stand-ins (`CLASSES`).

Each is an estimator of this library with the name and the defaults of scikit-learn's class, so that it solves the same
problem. If it cannot (probabilities, an L1 penalty, an indefinite kernel, …), it fits the class that it replaces, the
original, delegates predictions and attributes to that, and logs the reason.

The stand-ins are attributes of this module, so that a pickle written after `patch_sklearn` can be read without it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, Self

from sklearn.exceptions import NotFittedError
from sklearn.svm import _classes as sklearn_classes
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from qpsvm import estimators
from qpsvm.base import errors
from qpsvm.base.arrays.types import FloatArray
from qpsvm.space.kernels.functions import Kernel

log = logging.getLogger("qpsvm.patch")

#: Errors after which the original is fitted, which may support what this library does not, or raises its own error. A
#: proof that there is no solution (`NotSeparableError`) is not among them. `MarginNotFoundError` is a subclass of one
#: of them, but is raised as well: LIBSVM would not terminate.
FALLBACK_ERRORS = (
    errors.UnsupportedError, errors.ParameterError, errors.UnknownOptionError, errors.DataError,
    errors.IndefiniteKernelError, errors.TooLargeError, errors.SolverError,
)  # fmt: skip
#: Methods delegated to the original if that was fitted.
DELEGATED_METHODS = ("predict", "decision_function", "score_samples")


class StandInMeta(type):
    """Metaclass of the stand-ins: `isinstance` also accepts instances of the original."""

    def __instancecheck__(cls, thing: object) -> bool:
        original = vars(cls).get("original")
        return super().__instancecheck__(thing) or (original is not None and isinstance(thing, original))


def delegate_to_fallback(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method to call that of the original if that was fitted."""

    @wraps(method)
    def delegate(self: Any, *arguments: Any, **named: Any) -> Any:
        fallback = vars(self).get("fallback_")
        if fallback is None:
            return method(self, *arguments, **named)
        return getattr(fallback, method.__name__)(*arguments, **named)

    return delegate


def read_defaults(kind: type) -> dict[str, Any]:
    """Read the parameters of an estimator's constructor, with their defaults."""
    parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {each.name: each.default for each in parameters if each.default is not each.empty}


class StandIn(metaclass=StandInMeta):
    """Base of the stand-ins: a fit that may fall back to the original, and attributes of the fallback."""

    #: The class of scikit-learn that this one replaces.
    original: ClassVar[type]
    #: The fitted instance of the original; None if this library fitted.
    fallback_: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit by this library or, if it raises one of `FALLBACK_ERRORS`, by the original.

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
        """Fit the original, and delete all fitted attributes of this object."""
        reason = " ".join(str(refusal).split())
        log.warning("%s falls back to scikit-learn's own: %s", type(self).__name__, reason)
        for name in self._learnt:
            del vars(self)[name]
        fallback = self._build_fallback()
        fallback.fit(X, y, sample_weight=sample_weight)
        self.fallback_ = fallback
        self._learnt = {"fallback_"}
        return self

    def _needs_qpsvm(self) -> bool:
        """Return whether a parameter is given that the original does not have, so that there is no fallback."""
        extra_names = read_defaults(self._find_stand_in()).keys() - read_defaults(self.original).keys()
        has_extra = any(not self._is_default(name) for name in extra_names)
        return has_extra or isinstance(getattr(self, "kernel", None), Kernel)

    def _build_fallback(self) -> Any:
        """Build an instance of the original with the given parameters, and its own defaults for the others."""
        names = [name for name in read_defaults(self.original) if not self._is_default(name)]
        return self.original(**{name: getattr(self, name) for name in names})

    def _is_default(self, name: str) -> bool:
        """Return whether a parameter has the default of the stand-in."""
        value = getattr(self, name)
        default = read_defaults(self._find_stand_in())[name]
        return value is default or (isinstance(value, type(default)) and bool(value == default))

    @classmethod
    def _find_stand_in(cls) -> type:
        """Find the stand-in that this class is or derives from."""
        return next(kind for kind in cls.__mro__ if "original" in vars(kind))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the fallback, if that was fitted."""
        fallback = vars(self).get("fallback_")
        if fallback is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(fallback, name)


def _has_probabilities(self: Any) -> bool:
    """Return True if there are probabilities, for `available_if`. Raises AttributeError if not."""
    if self.probability in (False, "deprecated"):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class ProbabilityStandIn(StandIn):
    """Base of the classifiers that leave probabilities to the original."""

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
        """Predict the probabilities of the classes by the original: (m, k)."""
        return self._get_fallback().predict_proba(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithms of the probabilities of the classes by the original: (m, k)."""
        return self._get_fallback().predict_log_proba(X)

    def _get_fallback(self) -> Any:
        """Return the fitted instance of the original. Raises sklearn.exceptions.NotFittedError."""
        check_is_fitted(self)
        if self.fallback_ is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return self.fallback_


class LinearStandIn(StandIn):
    """Base of the classifier that leaves to the original what it solves otherwise, or faster without a certificate."""

    multi_class: str
    class_weight_: FloatArray

    def _encode_labels(self, *arguments: Any, **options: Any) -> Any:
        encoded = super()._encode_labels(*arguments, **options)  # type: ignore[misc]
        if self.multi_class == "ovr" and len(self.class_weight_) > 2 and (self.class_weight_ != 1.0).any():
            raise errors.UnsupportedError(
                "class_weight with several classes: LIBLINEAR weighs the class that is separated, and not the rest"
            )
        return encoded

    def _check_l1(self) -> None:
        raise errors.UnsupportedError("penalty='l1': qpsvm.estimators.LinearSVC certifies it, in more time")


#: Default of `probability` in the installed scikit-learn, which may deprecate it and warn of any other value.
DEFAULT_PROBABILITY = read_defaults(sklearn_classes.SVC).get("probability", False)


def build_stand_in(estimator: Any, base: type = StandIn, **defaults: Any) -> type:
    """Build the stand-in for scikit-learn's class of the same name.

    estimator: The class of this library that fits.
    defaults: Of the parameters whose defaults differ from those of `estimator`.
    """
    name, parameters = estimator.__name__, estimator._parameters
    methods = [method for method in DELEGATED_METHODS if hasattr(estimator, method)]
    return StandInMeta(name, (base, estimator), {
        "__module__": __name__, "__qualname__": name, "original": getattr(sklearn_classes, name),
        "__doc__": f"`qpsvm.estimators.{name}` in the place of `sklearn.svm.{name}`.",
        "_parameter_overrides": {key: replace(parameters[key], default=value) for key, value in defaults.items()},
        **{method: delegate_to_fallback(getattr(estimator, method)) for method in methods},
    })  # fmt: skip


# An indefinite kernel matrix, as of "sigmoid", is left to scikit-learn, whose result differs from that of psd="clip".
# `LinearSVC` and `LinearSVR` penalise the intercept, like those of scikit-learn.
SVC = build_stand_in(estimators.SVC, ProbabilityStandIn, psd="raise", probability=DEFAULT_PROBABILITY)
NuSVC = build_stand_in(estimators.NuSVC, ProbabilityStandIn, psd="raise", probability=DEFAULT_PROBABILITY)
LinearSVC = build_stand_in(estimators.LinearSVC, LinearStandIn, intercept_scaling=1)
SVR = build_stand_in(estimators.SVR, psd="raise")
NuSVR = build_stand_in(estimators.NuSVR, psd="raise")
LinearSVR = build_stand_in(estimators.LinearSVR, intercept_scaling=1.0)
OneClassSVM = build_stand_in(estimators.OneClassSVM, psd="raise")

#: The stand-ins by name.
CLASSES: dict[str, type] = {kind.__name__: kind for kind in (SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM)}
