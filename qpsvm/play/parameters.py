"""A parameter of a machine or kernel, as a page shows and checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from qpsvm.play.checks import as_choice, as_number, as_object, as_whole

#: What a positive parameter may be, far beyond what a slider shows.
POSITIVE = (1e-12, 1e12)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a machine or kernel.

    name, symbol: The name of the library's argument, and how it is written in an equation.
    scale: How a control moves through its values.
    low, high: The ends of the control.
    accepts: What a request may ask for, which is more than a control shows.
    step: 1 for whole numbers.
    choices: The values of a choice.
    """

    name: str
    symbol: str
    scale: Literal["log", "linear", "choice"]
    default: Any
    low: float | None = None
    high: float | None = None
    accepts: tuple[float, float] = POSITIVE
    step: float | None = None
    choices: tuple[Any, ...] | None = None

    def checked(self, value: Any, where: str) -> Any:
        """A value that a request gives, or a `RequestError` that names the field."""
        place = f"{where}.{self.name}"
        if self.choices is not None:
            return as_choice(value, place, self.choices)
        low, high = self.accepts
        return as_whole(value, place, int(low), int(high)) if self.step == 1 else as_number(value, place, low, high)

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return {
            "name": self.name, "symbol": self.symbol, "scale": self.scale, "low": self.low, "high": self.high,
            "default": self.default, "step": self.step, "choices": None if self.choices is None else list(self.choices),
        }  # fmt: skip


def settings(parameters: tuple[Parameter, ...], given: Any, where: str) -> dict[str, Any]:
    """A value for every parameter, the default where none is given; a `RequestError` for what is not one of them."""
    wanted = as_object(given, where, [parameter.name for parameter in parameters])
    return {
        each.name: each.checked(wanted[each.name], where) if each.name in wanted else each.default
        for each in parameters
    }
