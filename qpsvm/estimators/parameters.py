"""The parameters and attributes of estimators in one table: type, meaning, and how a value is checked.

A class says which parameters it has. Its constructor, its documentation and the checks of its values are read from the
table. Scikit-learn's own words for values are taken, and those of this library where it has
others.

Scikit-learn's callbacks, in its versions that have them: a fit is one task, which begins and ends.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, cast

from qpsvm import backends
from qpsvm.base import errors
from qpsvm.base.arrays.checks import as_flag, as_positive, as_real, as_tolerance
from qpsvm.base.arrays.formatting import format_value
from qpsvm.machines.problem.parameters import make_range_check
from qpsvm.result.calibration import METHODS
from qpsvm.space.kernels.functions import Kernel

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: there are no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


Fit = TypeVar("Fit", bound=Callable[..., Any])


def with_fit_callbacks(fit: Fit) -> Fit:
    """Decorate a `fit` so that the estimator's callbacks are called at its beginning and end."""

    @functools.wraps(fit)
    def watched_fit(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        if not getattr(self, "_skl_callbacks", None):
            return fit(self, X, *args, **named)
        given = {**dict(zip(("y", "sample_weight"), args, strict=False)), **named}
        told = {"X": X, "y": given.get("y"), "metadata": {"sample_weight": given.get("sample_weight")}}
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, **told)
        fit(self, X, *args, **named)
        context.call_on_fit_task_end(estimator=self, **told, reconstruction_attributes={})
        return self

    return cast(Fit, with_callbacks(watched_fit))


#: A check of one parameter; it raises where the value is none.
Check = Callable[[Any, str], object]
#: Scikit-learn's names of kernels.
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
#: What scikit-learn writes for "no limit".
NO_LIMIT = -1


def check_choice(*known: Any) -> Check:
    """Return a check of a value that is one of a few."""

    def check(value: Any, name: str) -> None:
        if not any(value is option or (type(value) is type(option) and value == option) for option in known):
            near = errors.suggest_names(value, known)
            words = ", ".join(sorted(format_value(option) for option in known))
            raise errors.UnknownOptionError(" ".join([f"{name} is {format_value(value)};", *near, f"known: {words}"]))

    return check


def check_integer(words: str, fits: Callable[[int], bool], flags: bool = False) -> Check:
    """Return a check of an integer; True and False are refused unless `flags`."""

    def check(value: Any, name: str) -> None:
        number = isinstance(value, numbers.Integral) and (flags or not isinstance(value, bool))
        if not number or not fits(value):
            raise errors.ParameterTypeError(f"{name} must be {words}, got {value!r}")

    return check


def check_unless(exempt: Callable[[Any], bool], check: Check) -> Check:
    """Return a check that exempts some values."""
    return lambda value, name: None if exempt(value) else check(value, name)


def is_none(value: Any) -> bool:
    """Tell whether it is not given."""
    return value is None


def is_kernel(value: Any) -> bool:
    """Tell whether it is a kernel of this library, or a function."""
    return isinstance(value, Kernel) or callable(value)


def is_infinite(value: Any) -> bool:
    """Tell whether it is no limit: no slack at all."""
    return isinstance(value, numbers.Real) and value == math.inf


check_share = make_range_check("above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
check_not_negative = make_range_check("0 or positive", lambda value: value >= 0.0)
#: A positive, finite number, or infinity.
check_penalty = check_unless(is_infinite, as_positive)


def check_gamma(value: Any, name: str) -> None:
    """Check a number that is not negative, or the name of a rule."""
    (check_choice("scale", "auto") if isinstance(value, str) else check_not_negative)(value, name)


def check_probability(value: Any, name: str) -> None:
    """Check a flag, or the name of a kind of curve."""
    (check_choice(*METHODS) if isinstance(value, str) else as_flag)(value, name)


def check_intercept(instead: str) -> Check:
    """Return a check of `fit_intercept` that refuses False."""

    def check(value: Any, name: str) -> None:
        if not as_flag(value, name):
            raise errors.UnsupportedError(f"there is an intercept always: take {instead}(fit_intercept=False)")

    return check


def check_backend(value: Any, name: str) -> None:
    """Check that the value is one of `qpsvm.backends.names()`, or "auto"."""
    check_choice("auto", *backends.names())(value, name)


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter: its type and meaning, as the documentation has them, its default, and its check, if it has one."""

    kind: str
    text: str
    default: Any = None
    check: Check | None = None


LIBSVM_ONLY = "Without effect: it belongs to LIBSVM."
#: Parameters by name. A class in which one means something else has an entry in `_parameter_overrides`.
PARAMETERS: dict[str, ParameterInfo] = {
    "C": ParameterInfo("float", "Penalty of slack, positive.", 1.0, as_positive),
    "backend": ParameterInfo("str", "Who solves: one of `qpsvm.backends.names()`.", "auto", check_backend),
    "break_ties": ParameterInfo(
        "bool",
        'Whether `predict` follows the scores of "ovr" where classes have as many votes; it costs a little.',
        False,
        as_flag,
    ),
    "cache_size": ParameterInfo("float", LIBSVM_ONLY, 200, as_positive),
    "class_weight": ParameterInfo(
        'dict, "balanced" or None',
        "Factors of C by label.",
        None,
        check_unless(lambda value: isinstance(value, Mapping), check_choice("balanced", None)),
    ),
    "coef0": ParameterInfo("float", 'Of "poly" and "sigmoid".', 0.0, as_real),
    "constraints": ParameterInfo(
        "Constraints, ValueConstraints, or a list of them", "Linear constraints on w, b and f of every machine."
    ),
    "decision_function_shape": ParameterInfo(
        '{"ovr", "ovo"}',
        "Of more than two classes: a score for each, or the value of each pair.",
        "ovr",
        check_choice("ovr", "ovo"),
    ),
    "degree": ParameterInfo(
        "int", 'Of "poly".', 3, check_integer("a whole number from 0 on", lambda value: value >= 0)
    ),
    "dual": ParameterInfo(
        '"auto" or bool',
        "Without effect, since every answer is certified by both forms; what LIBLINEAR refuses is refused.",
        "auto",
        check_choice("auto", True, False),
    ),
    "epsilon": ParameterInfo(
        "float", "Half the width of the tube within which an error costs nothing.", 0.1, check_not_negative
    ),
    "fit_intercept": ParameterInfo("bool", "False for f(x) = ⟨w, φ(x)⟩, through the origin.", True, as_flag),
    "gamma": ParameterInfo(
        '{"scale", "auto"} or float',
        'Of "rbf", "poly" and "sigmoid": 1/(d var(X)), 1/d, or a number.',
        "scale",
        check_gamma,
    ),
    "intercept_scaling": ParameterInfo(
        "float",
        "Where it is given, the intercept is penalised as LIBLINEAR's: scikit-learn's default is 1.",
        None,
        check_unless(is_none, as_real),
    ),
    "kernel": ParameterInfo(
        '{"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable',
        "A name, a kernel of this library, or a function `(X, Z) -> (n, m)`.",
        "rbf",
        check_unless(is_kernel, check_choice(*KERNELS)),
    ),
    "max_iter": ParameterInfo(
        "int",
        "Iterations of the solver, its final steps of polishing not included; −1 for no limit.",
        NO_LIMIT,
        check_unless(
            is_none,
            check_integer("a positive whole number, or -1 for no limit", lambda value: value == -1 or value > 0),
        ),
    ),
    "multi_class": ParameterInfo(
        '{"ovo", "ovr", "crammer_singer", "weston_watkins"}',
        "More than two classes: a machine for every two, one for each against all others, or all in one.",
        "ovo",
        check_choice("ovo", "ovr", "crammer_singer", "weston_watkins"),
    ),
    "n_jobs": ParameterInfo(
        "int",
        "Processes for the machines of several classes, by joblib.",
        None,
        check_unless(is_none, check_integer("a whole number other than 0, or None", lambda value: value != 0)),
    ),
    "nu": ParameterInfo(
        "float", "In (0, 1]: a bound on the share of errors, and the least share of support vectors.", 0.5, check_share
    ),
    "probability": ParameterInfo(
        'bool, "sigmoid" or "isotonic"',
        "Whether `predict_proba` is there: a sigmoid (True), or steps, fitted to the decision of each sample by the "
        "machine without it, exactly.",
        False,
        check_probability,
    ),
    "psd": ParameterInfo(
        '{"clip", "shift", "raise"} or None',
        'What to do with an indefinite kernel matrix, as that of "sigmoid" may be: project it, add to its diagonal, '
        "or raise `IndefiniteKernelError`. None projects it, and says so by a `ChangedKernelWarning`.",
        None,
        check_unless(is_none, check_choice("raise", "clip", "shift")),
    ),
    "random_state": ParameterInfo("int or None", "Without effect: nothing is random."),
    "shrinking": ParameterInfo("bool", LIBSVM_ONLY, True, as_flag),
    "time_limit": ParameterInfo(
        "float",
        "Seconds of the whole fit; one that needs more ends with the best certified points and a `GapWarning`.",
        None,
        check_unless(is_none, as_positive),
    ),
    "tol": ParameterInfo(
        "float",
        "The relative duality gap that has to be reached, rounding errors included.",
        1e-6,
        lambda value, _: as_tolerance(value),
    ),
    "verbose": ParameterInfo(
        "bool or int",
        "Report progress; of several machines, how many are done.",
        False,
        check_integer("a flag or a whole number from 0 on", lambda value: value >= 0, flags=True),
    ),
    "warm_start": ParameterInfo(
        "bool", "Begin where the last fit ended, if it was over as many samples.", False, as_flag
    ),
}


class EstimatorSettings(TypedDict, total=False):
    """The parameters of all estimators, for type checkers and editors; each estimator takes some of them."""

    C: float
    backend: str
    break_ties: bool
    cache_size: float
    class_weight: Any
    coef0: float
    constraints: Any
    decision_function_shape: str
    degree: int
    dual: Any
    epsilon: float
    fit_intercept: bool
    gamma: Any
    intercept_scaling: float | None
    kernel: Any
    loss: str
    max_iter: int
    multi_class: str
    n_jobs: int | None
    nu: float
    penalty: str
    probability: Any
    psd: str | None
    quantile: float
    random_state: Any
    shrinking: bool
    time_limit: float | None
    tol: float
    verbose: Any
    warm_start: bool


def build_constructor(defaults: Mapping[str, Any], positional: int = 0) -> Callable[..., None]:
    """Build an `__init__` that stores every parameter as given, with the signature that scikit-learn reads.

    positional: How many may be given without their names.
    """
    kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD] * positional + [inspect.Parameter.KEYWORD_ONLY] * len(defaults)
    types = {name: kind.__forward_arg__ for name, kind in EstimatorSettings.__annotations__.items()}
    signature = inspect.Signature([
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(inspect.Parameter(name, kind, default=defaults[name], annotation=types[name])
          for name, kind in zip(defaults, kinds, strict=False)),
    ])  # fmt: skip

    def __init__(self: Any, *first: Any, **named: Any) -> None:
        if not first and named.keys() <= defaults.keys():
            self.__dict__.update({**defaults, **named})
            return
        try:
            given = signature.bind(self, *first, **named).arguments
        except TypeError as error:  # an unknown name, with the nearest one
            unknown = next((name for name in named if name not in defaults), None)
            near = "" if unknown is None else f"; {errors.describe_nearest(unknown, defaults)}"
            raise errors.ParameterTypeError(f"{type(self).__name__}() {error}{near}") from None
        for name, value in {**defaults, **given}.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


#: What a fit leaves, by name: type and meaning.
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "center_": ("ndarray, shape (d,)", "Centre of the ball, of a linear kernel."),
    "classes_": ("ndarray, shape (k,)", "The labels in sort order."),
    "support_": ("ndarray of int32, shape (s,)", "Rows of the support vectors, class after class."),
    "support_vectors_": ("ndarray or csr_matrix, shape (s, d)", "Empty of a precomputed kernel."),
    "n_support_": ("ndarray of int32, shape (1,) or (k,)", "How many there are; of several classes, of each."),
    "dual_coef_": (
        "ndarray or csr_matrix, shape (1, s) or (k − 1, s)",
        "As scikit-learn stores them: α_i y_i, of a regression α⁺ − α⁻; (P, s) of machines that are no pairs.",
    ),
    "coef_": (
        "ndarray or csr_matrix, shape (1, d) or (P, d)",
        "The weights of the features, a row for each machine, of a linear kernel, where they cannot be written to; "
        "(d,) of `LinearSVR`.",
    ),
    "intercept_": ("ndarray, shape (P,)", "One for each machine."),
    "offset_": ("ndarray, shape (1,)", "`decision_function` is `score_samples` less this."),
    "pairs_": ("ndarray of int, shape (m, 2)", "The pairs (better, worse) that were learnt from."),
    "radius_": ("float", "Radius R of the ball, in feature space."),
    "fit_status_": ("int", "0 where every gap is certified to be within `tol`, else 1."),
    "gap_": ("float", "The largest of the certified relative gaps."),
    "result_": ("SVMResult", "The certified result."),
    "results_": (
        "sequence of SVMResult", "The certified result of each machine; of two classes there is also `result_`.",
    ),
    "n_iter_": ("int or ndarray of int32, shape (P,)", "Iterations of the solver."),
    "class_weight_": ("ndarray, shape (k,)", "The factor of C of each class."),
    "notes_": ("tuple of str", "What a colleague would say of the fit, such as features out of scale; mostly empty."),
    "shape_fit_": ("tuple of int", "The shape of X."),
    "n_features_in_": ("int", "d."),
    "feature_names_in_": ("ndarray of str, shape (d,)", "Where X was a data frame."),
}  # fmt: skip
#: Columns of a line of documentation.
COLUMNS = 112


def build_docstring(text: str, parameters: Mapping[str, ParameterInfo], attributes: Iterable[str]) -> str:
    """Build the docstring of a class with its parameters, their defaults, and attributes, before other sections."""
    lines = ["Parameters", "----------"]
    for name, parameter in parameters.items():
        given = "optional" if parameter.default is None else f"default={parameter.default!r}".replace("'", '"')
        lines += [f"{name} : {parameter.kind}, {given}", *_wrap(parameter.text)]
    lines += ["", "Attributes", "----------"]
    for name in attributes:
        kind, meaning = ATTRIBUTES[name]
        lines += [f"{name} : {kind}", *_wrap(meaning)]
    text = inspect.cleandoc(text)
    section = re.search(r"^[A-Z][A-Za-z ]+\n-{3,}$", text, flags=re.MULTILINE)
    start = len(text) if section is None else section.start()
    return "\n".join([text[:start].rstrip(), "", *lines, "", text[start:]]).rstrip() + "\n"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent="    ", subsequent_indent="    ")


__all__ = ["CallbackSupportMixin", "with_fit_callbacks"]
