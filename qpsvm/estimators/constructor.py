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
COLUMNS = 112


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


def build_constructor(defaults: Mapping[str, Any], positional: int = 0) -> Callable[..., None]:
    """Build an `__init__` that stores every parameter as given, with the signature that scikit-learn reads.

    defaults: The parameters with their defaults, in order; only the first `positional` can be passed by position.
    """
    kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD] * positional + [inspect.Parameter.KEYWORD_ONLY] * len(defaults)
    types = {name: kind.__forward_arg__ for name, kind in EstimatorSettings.__annotations__.items()}
    signature = inspect.Signature([
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(inspect.Parameter(name, kind, default=defaults[name], annotation=types[name])
          for name, kind in zip(defaults, kinds, strict=False)),
    ])  # fmt: skip

    def __init__(self: Any, *first: Any, **named: Any) -> None:
        if not first and named.keys() <= defaults.keys():  # the usual call, which needs no binding
            self.__dict__.update({**defaults, **named})
            return
        try:
            given = signature.bind(self, *first, **named).arguments
        except TypeError as error:
            unknown = next((name for name in named if name not in defaults), None)
            if unknown is None:
                near = ""
            else:
                near = f"; {errors.describe_nearest(unknown, defaults)}"
            raise errors.ParameterTypeError(f"{type(self).__name__}() {error}{near}") from None
        for name, value in {**defaults, **given}.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def build_docstring(text: str, parameters: Mapping[str, ParameterInfo], attributes: Iterable[str]) -> str:
    """Build the docstring of a class with its parameters, their defaults, and attributes, before other sections."""
    lines = ["Parameters", "----------"]
    for name, parameter in parameters.items():
        if parameter.default is None:
            default = "optional"
        else:
            default = f"default={parameter.default!r}".replace("'", '"')
        lines += [f"{name} : {parameter.kind}, {default}", *_wrap(parameter.text)]
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
