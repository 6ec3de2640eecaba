"""Build constructors and docstrings of estimators from the parameter table (`build_constructor`, `build_docstring`)."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from qpsvm.base import errors
from qpsvm.estimators.parameter_table import ATTRIBUTES, ParameterInfo

#: Width of a line of documentation.
LINE_WIDTH = 112


class EstimatorSettings(TypedDict, total=False):
    """The parameters of all estimators, for type checkers and editors; each estimator has some of them."""

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


def build_constructor(defaults: Mapping[str, Any], n_positional: int = 0) -> Callable[..., None]:
    """Build an `__init__` that stores every parameter as given, with the signature that scikit-learn reads.

    defaults: The parameters with their defaults, in order; only the first `n_positional` can be passed by position.
    """
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for k, (name, default) in enumerate(defaults.items()):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if k < n_positional else inspect.Parameter.KEYWORD_ONLY
        annotation = EstimatorSettings.__annotations__[name].__forward_arg__
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    signature = inspect.Signature(parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not args and kwargs.keys() <= defaults.keys():  # the usual call, which needs no binding
            self.__dict__.update({**defaults, **kwargs})
            return
        try:
            given = signature.bind(self, *args, **kwargs).arguments
        except TypeError as error:
            unknown = next((name for name in kwargs if name not in defaults), None)
            hint = "" if unknown is None else f"; {errors.describe_nearest(unknown, defaults)}"
            raise errors.ParameterTypeError(f"{type(self).__name__}() {error}{hint}") from None
        for name, value in {**defaults, **given}.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def build_docstring(text: str, parameters: Mapping[str, ParameterInfo], attributes: Iterable[str]) -> str:
    """Insert the sections of parameters, with their defaults, and of attributes before the first section of `text`."""
    lines = ["Parameters", "----------"]
    for name, parameter in parameters.items():
        default = "optional" if parameter.default is None else f"default={parameter.default!r}".replace("'", '"')
        lines += [f"{name} : {parameter.type_text}, {default}", *_wrap(parameter.meaning)]
    lines += ["", "Attributes", "----------"]
    for name in attributes:
        type_text, meaning = ATTRIBUTES[name]
        lines += [f"{name} : {type_text}", *_wrap(meaning)]
    text = inspect.cleandoc(text)
    section = re.search(r"^[A-Z][A-Za-z ]+\n-{3,}$", text, flags=re.MULTILINE)
    start = len(text) if section is None else section.start()
    return "\n".join([text[:start].rstrip(), "", *lines, "", text[start:]]).rstrip() + "\n"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, LINE_WIDTH, initial_indent="    ", subsequent_indent="    ")
