"""List the parameters that can vary, the points of a grid, and the order in which they are solved.

A grid is the product of its axes, the last one running fastest. It is solved in another order: parameters of the kernel
outermost, so that one Gram matrix serves all other parameters, and each C from the one below it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_real_vector
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import get_kernel_parameters, get_parameters
from qpsvm.machines.problem.hyperparameters import HYPERPARAMETERS
from qpsvm.many.grid.interval import Interval

#: The letters of the machines' own parameters and of the kernels', for people; of others the name.
LETTERS = {
    **{name: each.symbol for name, each in HYPERPARAMETERS.items()},
    "intercept": "b", "gamma": "γ", "coef0": "r", "degree": "p",
}  # fmt: skip
#: Those that may be 0.
FROM_ZERO = ("epsilon",)
#: How much slack costs grows along the first and falls along the second: a path is walked towards larger penalties.
RISING, FALLING = ("C",), ("lam",)


@dataclass(frozen=True)
class Grid:
    """The axes of a grid over one problem.

    axes: The values of each parameter, in the order asked for.
    """

    problem: Problem
    axes: Mapping[str, tuple[Any, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Values of each axis."""
        return tuple(len(values) for values in self.axes.values())

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The values of each axis as a vector."""
        return {name: np.array(values) for name, values in self.axes.items()}

    @property
    def points(self) -> list[dict[str, Any]]:
        """Every combination, the last axis running fastest."""
        return [dict(zip(self.axes, point, strict=True)) for point in itertools.product(*self.axes.values())]

    def groups(self) -> list[tuple[dict[str, Any], list[int]]]:
        """The points by kernel: its parameters, and the places of its points in the order in which they are solved."""
        of_kernel = [name for name in self.axes if name not in self.problem._hyperparameters]
        found: dict[tuple[Any, ...], list[int]] = {}
        points = self.points
        for place, point in enumerate(points):
            found.setdefault(tuple(point[name] for name in of_kernel), []).append(place)
        return [
            (
                dict(zip(of_kernel, key, strict=True)),
                sorted(places, key=lambda place: self._build_sort_key(points[place])),
            )
            for key, places in found.items()
        ]

    def _build_sort_key(self, point: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the sort key of a point of one kernel: the penalty of slack varies fastest, upwards."""
        own = [name for name in self.axes if name in self.problem._hyperparameters]
        own.sort(key=lambda name: name in (*RISING, *FALLING))
        return tuple(-point[name] if name in FALLING else point[name] for name in own)


def problem_at(problem: Problem, point: Mapping[str, Any]) -> Problem:
    """Return the problem with the parameters of a point; a C that differs between samples keeps its ratios."""
    of_kernel = {name: value for name, value in point.items() if name not in problem._hyperparameters}
    return replace_own(problem.replace(**of_kernel) if of_kernel else problem, point)


def replace_own(problem: Problem, point: Mapping[str, Any]) -> Problem:
    """Return the problem with the machine's own parameters of a point; those of the kernel stay, and so does K."""
    own = {name: point[name] for name in problem._hyperparameters if name in point}
    C = getattr(problem, "C", None)
    if "C" in own and isinstance(C, np.ndarray) and find_common_value(C) is None:
        own["C"] = own["C"] * (C / float(C.mean()))
    return problem.replace(**own)


def grid_of(problem: Problem, options: Mapping[str, Any]) -> tuple[Grid, dict[str, Any]]:
    """The grid among keyword arguments, and what is left of them, for `solve`."""
    known = get_parameters(problem)
    if not known:
        raise UnsupportedError(
            f"a path varies a parameter of the machine, such as the C of a CSVM, or one of the kernel; "
            f"{type(problem).__name__} has none of them with {problem.kernel}"
        )
    axes = {name: values_of(problem, name, options[name]) for name in options if name in known}
    rest = {name: value for name, value in options.items() if name not in known}
    for name, value in rest.items():
        if name != "start" and not isinstance(value, str) and np.ndim(value):
            raise UnknownOptionError(
                f"{type(problem).__name__} with {problem.kernel} has no parameter {name!r}; "
                f"{describe_nearest(name, known)}"
            )
    if not axes:
        example = next(iter(known))
        raise ParameterError(f"give the values of a parameter, such as {example}=[…]; known: {', '.join(known)}")
    return Grid(problem, axes), rest


def values_of(problem: Problem, name: str, values: Any) -> tuple[Any, ...]:
    """The values of one axis, checked: numbers as floats, and rules for γ as the numbers that they stand for."""
    if isinstance(values, Interval):
        raise UnsupportedError(
            f"solves are of values one by one, and {name} is an interval: take exact_path or cross_validate, or a list"
        )
    word = isinstance(getattr(problem, name, None), str)
    if name in problem._hyperparameters and not word:
        numbers = tuple(float(value) for value in path_values(values, name, name in FROM_ZERO))
        for value in numbers:
            with suppress(InfeasibleNuError):  # which depends on the rows
                problem.replace(**{name: value})
        return numbers
    if isinstance(values, str) or not np.ndim(values):
        values = [values]
    if np.ndim(values) != 1 or not len(values):
        raise ParameterError(f"{name} must be a vector of at least one value, got {format_value(values)}")
    listed = [value.item() if isinstance(value, np.generic) else value for value in values]
    if word:
        return tuple(getattr(problem.replace(**{name: value}), name) for value in listed)
    return tuple(get_kernel_parameters(problem.replace(**{name: value}).kernel)[name] for value in listed)


def path_values(values: ArrayLike, name: str = "values", from_zero: bool = False) -> FloatArray:
    """The values of a path, checked: (k,). Raises ParameterError, DataTypeError."""
    at = as_real_vector(values, name)
    if at.ndim != 1:
        raise ParameterError(f"{name} must be a vector, one number for each point of the path, got shape {at.shape}")
    if not len(at) or not (np.isfinite(at) & ((at >= 0) if from_zero else (at > 0))).all():
        raise ParameterError(f"{name} must be {'0 or ' if from_zero else ''}positive and finite, at least one")
    return at


def family(problem: Problem) -> tuple[str, str]:
    """The name and the letter of the machine's own parameter. Raises UnsupportedError."""
    if not problem._hyperparameters:
        raise UnsupportedError(
            f"a path varies a parameter such as the C of a CSVM or the nu of a NuSVM; {type(problem).__name__} has none"
        )
    name = problem._hyperparameters[0]
    return name, LETTERS.get(name, name)


def table(columns: Mapping[str, Sequence[Any]], formats: Mapping[str, Callable[[Any], str]]) -> str:
    """Columns under their names, right-aligned, a line a row."""
    cells = {name: [formats.get(name, _number)(value) for value in values] for name, values in columns.items()}
    widths = {name: max(len(name), *(len(cell) for cell in column)) for name, column in cells.items()}
    rows = [list(cells), *(list(row) for row in zip(*cells.values(), strict=True))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths.values(), strict=True)).rstrip() for row in rows
    )


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
