"""List the parameters that can vary, the points of a grid, and the order in which they are solved.

A `Grid` is the product of its axes; the last one varies fastest. It is solved in another order: kernel parameters vary
slowest, so that one Gram matrix serves all other parameters, and each C starts from the next smaller one.
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
from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import InfeasibleNuError, ParameterError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import get_kernel_parameters, get_parameters
from qpsvm.machines.problem.hyperparameters import HYPERPARAMETERS
from qpsvm.many.grid.interval import Interval

#: Display symbols of parameters of machines and kernels; others are displayed by name.
PARAMETER_SYMBOLS = {name: each.symbol for name, each in HYPERPARAMETERS.items()}
PARAMETER_SYMBOLS |= {"intercept": "b", "gamma": "γ", "coef0": "r", "degree": "p"}
#: Parameters that may be 0.
MAY_BE_ZERO = ("epsilon",)
#: Parameters with which the penalty of slack grows, and falls: a path goes towards larger penalties.
RISING_PENALTIES, FALLING_PENALTIES = ("C",), ("lam",)


@dataclass(frozen=True)
class Grid:
    """The axes of a grid over one problem.

    axes: The values of each parameter, in the given order.
    """

    problem: Problem
    axes: Mapping[str, tuple[Any, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values on each axis."""
        return tuple(len(values) for values in self.axes.values())

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Values of each axis as a vector."""
        return {name: np.array(values) for name, values in self.axes.items()}

    @property
    def points(self) -> list[dict[str, Any]]:
        """Combinations of the values of all axes; the last axis varies fastest."""
        return [dict(zip(self.axes, point, strict=True)) for point in itertools.product(*self.axes.values())]

    def group_by_kernel(self) -> list[tuple[dict[str, Any], list[int]]]:
        """Group the points by kernel: return its parameters, and the indices of its points in the order of solving."""
        kernel_names = [name for name in self.axes if name not in self.problem._hyperparameters]
        groups: dict[tuple[Any, ...], list[int]] = {}
        points = self.points
        for index, point in enumerate(points):
            groups.setdefault(tuple(point[name] for name in kernel_names), []).append(index)
        for indices in groups.values():
            indices.sort(key=lambda index: self._build_sort_key(points[index]))
        return [(dict(zip(kernel_names, key, strict=True)), indices) for key, indices in groups.items()]

    def _build_sort_key(self, point: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the sort key of a point of one kernel: the penalty of slack varies fastest, in ascending order."""
        names = [name for name in self.axes if name in self.problem._hyperparameters]
        names.sort(key=lambda name: name in (*RISING_PENALTIES, *FALLING_PENALTIES))
        return tuple(-point[name] if name in FALLING_PENALTIES else point[name] for name in names)


def build_at_point(problem: Problem, point: Mapping[str, Any]) -> Problem:
    """Return the problem with the parameters of a point; its C is the mean of one that differs between samples."""
    kernel_values = {name: value for name, value in point.items() if name not in problem._hyperparameters}
    return replace_hyperparameters(problem.replace(**kernel_values) if kernel_values else problem, point)


def replace_hyperparameters(problem: Problem, point: Mapping[str, Any]) -> Problem:
    """Return the problem with the hyperparameters of a point; kernel parameters are ignored, so K stays cached."""
    values = {name: point[name] for name in problem._hyperparameters if name in point}
    C = getattr(problem, "C", None)
    if "C" in values and isinstance(C, np.ndarray) and find_common_value(C) is None:
        values["C"] = values["C"] * (C / float(C.mean()))
    return problem.replace(**values)


def build_grid(problem: Problem, options: Mapping[str, Any]) -> tuple[Grid, dict[str, Any]]:
    """Return the grid over the options that name parameters, and the other options, those of `solve`.

    Raises ParameterError, UnknownOptionError, UnsupportedError.
    """
    known = get_parameters(problem)
    if not known:
        raise UnsupportedError(
            f"a path varies a parameter of the machine, such as the C of a CSVM, or one of the kernel; "
            f"{type(problem).__name__} has none of them with {problem.kernel}"
        )
    axes = {name: check_axis_values(problem, name, options[name]) for name in options if name in known}
    other_options = {name: value for name, value in options.items() if name not in known}
    for name, value in other_options.items():
        if name != "start" and not isinstance(value, str) and np.ndim(value):
            raise UnknownOptionError(
                f"{type(problem).__name__} with {problem.kernel} has no parameter {name!r}; "
                f"{describe_nearest(name, known)}"
            )
    if not axes:
        example = next(iter(known))
        raise ParameterError(f"give the values of a parameter, such as {example}=[…]; known: {', '.join(known)}")
    return Grid(problem, axes), other_options


def check_axis_values(problem: Problem, name: str, values: Any) -> tuple[Any, ...]:
    """Check the values of one axis; return numbers as floats, and rules for γ as their values."""
    if isinstance(values, Interval):
        raise UnsupportedError(
            f"solves are of values one by one, and {name} is an interval: take exact_path or cross_validate, or a list"
        )
    is_text = isinstance(getattr(problem, name, None), str)  # such as an intercept
    if name in problem._hyperparameters and not is_text:
        numbers = tuple(float(value) for value in check_path_values(values, name))
        for value in numbers:
            with suppress(InfeasibleNuError):  # feasibility of ν depends on the rows
                problem.replace(**{name: value})
        return numbers
    if isinstance(values, str) or not np.ndim(values):
        values = [values]
    if np.ndim(values) != 1 or not len(values):
        raise ParameterError(f"{name} must be a vector of at least one value, got {format_value(values)}")
    plain_values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if is_text:
        return tuple(getattr(problem.replace(**{name: value}), name) for value in plain_values)
    return tuple(get_kernel_parameters(problem.replace(**{name: value}).kernel)[name] for value in plain_values)


def check_path_values(values: ArrayLike, name: str = "values") -> FloatArray:
    """Check the values of a path, (k,): positive, or 0 if it may be. Raises ParameterError, DataTypeError."""
    vector = as_real_vector(values, name)
    if vector.ndim != 1:
        raise ParameterError(f"{name} must be a vector, one number per point of the path, got shape {vector.shape}")
    may_be_zero = name in MAY_BE_ZERO
    if not len(vector) or not (np.isfinite(vector) & ((vector >= 0) if may_be_zero else (vector > 0))).all():
        raise ParameterError(f"{name} must be {'0 or ' if may_be_zero else ''}positive and finite, at least one")
    return vector


def find_path_parameter(problem: Problem) -> tuple[str, str]:
    """Return name and symbol of the first hyperparameter of the machine. Raises UnsupportedError."""
    if not problem._hyperparameters:
        raise UnsupportedError(
            f"a path varies a parameter such as the C of a CSVM or the nu of a NuSVM; {type(problem).__name__} has none"
        )
    name = problem._hyperparameters[0]
    return name, PARAMETER_SYMBOLS.get(name, name)


def format_columns(columns: Mapping[str, Sequence[Any]], formats: Mapping[str, Callable[[Any], str]]) -> str:
    """Format columns under their names, right-aligned, one line per row."""
    cells = {name: [formats.get(name, _format_cell)(value) for value in values] for name, values in columns.items()}
    widths = {name: max(len(name), *(len(cell) for cell in column)) for name, column in cells.items()}
    rows = [list(cells), *(list(row) for row in zip(*cells.values(), strict=True))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths.values(), strict=True)).rstrip() for row in rows
    )


def _format_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
