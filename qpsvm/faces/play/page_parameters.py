"""Define a parameter of a machine or kernel, as the page shows and checks it (`PageParameter`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from qpsvm.faces.play.checks import as_choice, as_integer, as_number, as_object
from qpsvm.machines import registry
from qpsvm.many.grid.parameters import PARAMETER_SYMBOLS


@dataclass(frozen=True)
class PageParameter:
    """A parameter of a machine or kernel.

    name: The name of the argument in the library.
    scale: Scale of the slider, or "choice" for a list.
    default: The value if a request does not have one.
    low, high: The ends of the slider.
    accepted: The range that requests may use, which is wider than that of the slider.
    step: 1 for integers; None for real numbers.
    choices: The values to choose from.
    """

    name: str
    scale: Literal["log", "linear", "choice"]
    default: Any = None
    low: float | None = None
    high: float | None = None
    accepted: tuple[float, float] = (1e-12, 1e12)
    step: float | None = None
    choices: tuple[Any, ...] | None = None

    def check_value(self, value: Any, group: str) -> Any:
        """Check a value in a group of fields of a request. Raises RequestError, which names the field."""
        field = f"{group}.{self.name}"
        if self.choices is not None:
            return as_choice(value, field, self.choices)
        low, high = self.accepted
        if self.step == 1:
            return as_integer(value, field, int(low), int(high))
        return as_number(value, field, low, high)

    def to_json(self) -> dict[str, Any]:
        """Return the parameter for the page."""
        fields = {name: value for name, value in asdict(self).items() if name != "accepted"}
        choices = None if self.choices is None else list(self.choices)
        return fields | {"symbol": PARAMETER_SYMBOLS.get(self.name, self.name), "choices": choices}


def read_settings(parameters: tuple[PageParameter, ...], settings: Any, group: str) -> dict[str, Any]:
    """Return the value of every parameter by name, from a group of fields of a request, such as "state.kernel".

    Fields that are missing get their default. Raises RequestError, also for unknown names.
    """
    values = as_object(settings, group, [parameter.name for parameter in parameters])
    given = [parameter for parameter in parameters if parameter.name in values]
    checked = {parameter.name: parameter.check_value(values[parameter.name], group) for parameter in given}
    return {parameter.name: checked.get(parameter.name, parameter.default) for parameter in parameters}


#: The parameters of the machines by name; their defaults are those of the constructors.
PARAMETERS = {
    parameter.name: replace(parameter, default=registry.find_default(parameter.name))
    for parameter in (
        PageParameter("C", "log", low=0.01, high=1000.0),
        PageParameter("nu", "linear", low=0.01, high=1.0, accepted=(1e-12, 1.0)),
        PageParameter("lam", "log", low=1e-5, high=10.0),
        PageParameter("width", "log", low=0.01, high=10.0),
        PageParameter("epsilon", "linear", low=0.0, high=2.0, accepted=(0.0, 1e12)),
        PageParameter("quantile", "linear", low=0.01, high=0.99, accepted=(1e-9, 1.0 - 1e-9)),
        PageParameter("loss", "choice", choices=("absolute", "squared")),
        PageParameter("intercept", "choice", choices=("free", "penalised", "none")),
    )
}
