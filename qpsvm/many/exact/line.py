"""Describe a parameter along which the data of a dual move linearly: itself, or its inverse (`ParameterLine`).

    (AFFINE.1)  U, ℓ and e of (DUAL.1) are affine in C, ν, ε, τ of most machines, and in 1/λ, or 1/ν where U = s/(ν Σs)
              in the weight of a sample, U = C s_i, and in the target of a regression, ℓ = ±y_i − ε
    (AFFINE.2)  K, δ and R may not move: a C or a width that bends the loss enters K's diagonal, γ all of K

`build_line` finds the right one by comparing the data at three values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.errors import (
    DataError,
    ParameterError,
    ParameterTypeError,
    UnknownOptionError,
    UnsupportedError,
    describe_nearest,
)
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import get_kernel_parameters, replace_samples
from qpsvm.many.exact.rows import SignedRows, check_supported
from qpsvm.many.grid.parameters import MAY_BE_ZERO, replace_hyperparameters
from qpsvm.program.svm_dual import SVMDual

#: Parameters with one value per sample.
PER_SAMPLE = ("sample_weight", "y")
#: Relative difference up to which data at the midpoint count as linear.
ON_LINE = 1e-10


@dataclass(frozen=True)
class ParameterLine:
    """One machine for all values of a parameter from low to high; s in [0, 1] is linear in it, or in its inverse.

    row: The sample whose weight or target varies; None for other parameters.
    """

    problem: Problem
    name: str
    low: float
    high: float
    inverse: bool = False
    row: int | None = None

    def build_problem(self, value: float) -> Any:
        """Return the problem with this value; a C that differs between samples keeps its ratios."""
        if self.row is not None:
            return _replace_sample_value(self.problem, self.name, self.row, value)
        return replace_hyperparameters(self.problem, {self.name: value})

    def s(self, value: Any) -> Any:
        """Return the position s of a value."""
        if self.inverse:
            return (1.0 / np.asarray(value) - 1.0 / self.low) / (1.0 / self.high - 1.0 / self.low)
        return (np.asarray(value) - self.low) / (self.high - self.low)

    def value(self, s: Any) -> Any:
        """Return the value at position s."""
        if self.inverse:
            return 1.0 / (1.0 / self.low + np.asarray(s) * (1.0 / self.high - 1.0 / self.low))
        return self.low + np.asarray(s) * (self.high - self.low)


def build_line(problem: Problem, name: Any, low: Any, high: Any, row: Any = None) -> tuple[ParameterLine, SignedRows]:
    """Build the line and the rows of the dual, after checking the arguments.

    Raises DataError, ParameterError, ParameterTypeError, UnknownOptionError, UnsupportedError, TooLargeError.
    """
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"exact_path takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    if not isinstance(name, str):
        raise UnknownOptionError(f"no parameter {format_value(name)}: it must be a name, such as 'C'")
    low, high = _check_ends(name, low, high)
    row = _check_row(problem, name, row)
    if row is None:
        check_name(problem, name)
    if not low > 0.0 and name not in (*MAY_BE_ZERO, "y"):
        raise ParameterError(f"{name} must be positive: the interval begins at {low:g}")
    check_supported(problem)
    if row is not None:
        problem = _replace_sample_value(problem, name, row, high)
    line = ParameterLine(problem, name, low, high, row=row)
    first, middle, last = (line.build_problem(value).svm for value in (low, 0.5 * (low + high), high))
    if not (_have_same_matrix(first, last) and _have_same_matrix(first, middle)):
        raise UnsupportedError(
            f"{name} of this {type(problem).__name__} bends the loss, so that it enters the matrix of the dual, "
            "and optima do not move along straight lines: qpsvm.path solves as many values as you ask for"
        )
    for inverse in (False, True) if low > 0.0 else (False,):
        line = replace(line, inverse=inverse)
        if _is_midpoint(first, line.build_problem(float(line.value(0.5))).svm, last):
            return line, SignedRows(problem, [first, last])
    raise UnsupportedError(
        f"{name} of {type(problem).__name__} does not enter its dual linearly: qpsvm.path takes a grid of it"
    )


def _check_ends(name: Any, low: Any, high: Any) -> tuple[float, float]:
    """Return the checked ends of an interval, in which only targets are negative. Raises ParameterError."""
    low, high = as_real(low, "low"), as_real(high, "high")
    if not -np.inf < low < high < np.inf or (low < 0.0 and name != "y"):
        sign = "" if name == "y" else ", neither negative"
        raise ParameterError(f"an interval goes from a low to a higher number{sign}, got {low:g} to {high:g}")
    return low, high


def check_name(problem: Problem, name: Any) -> None:
    """Check that the machine has this parameter. Raises UnknownOptionError, UnsupportedError."""
    if name in problem._hyperparameters and not isinstance(getattr(problem, name, None), str):
        return
    if isinstance(name, str) and name in ("loss", "kernel", "psd"):
        raise UnsupportedError(f"{name} is not a number: solve a problem for each, problem.replace({name}=…)")
    if isinstance(name, str) and name in get_kernel_parameters(problem.kernel):
        raise UnsupportedError(
            f"{name} does not enter the dual linearly, so optima do not move along straight lines with it: qpsvm.path "
            "and cross_validate take a grid of it"
        )
    if problem._hyperparameters:
        hint = describe_nearest(str(name), problem._hyperparameters)
    else:
        hint = "it has none that is a number"
    raise UnknownOptionError(f"{type(problem).__name__} has no parameter {name!r}; {hint}")


def _check_row(problem: Problem, name: Any, row: Any) -> int | None:
    """Return the checked index of the sample whose weight or target varies; None for parameters of the machine.

    Raises DataError, ParameterError, ParameterTypeError, UnsupportedError.
    """
    if name not in PER_SAMPLE:
        if row is not None:
            raise ParameterError(f"row is that of a sample whose {' or '.join(PER_SAMPLE)} varies, and {name} has none")
        return None
    if name == "y" and problem._target_kind != "numbers":
        target = "has no y" if problem.samples.classes is None else "has labels as y"
        raise UnsupportedError(f"only the y of a regression can vary: {type(problem).__name__} {target}")
    if row is None:
        raise ParameterError(f"{name} is one for each sample: say of which one, such as row=0")
    try:
        sample = index(row)
    except TypeError:
        raise ParameterTypeError(f"row must be a whole number, got {row!r}") from None
    if not 0 <= sample < problem.n:
        raise DataError(f"there is no row {sample}: the samples are rows 0 to {problem.n - 1}")
    return sample


def _replace_sample_value(problem: Problem, name: str, row: int, value: float) -> Any:
    """Return the machine over the same samples, one of which has another weight or target."""
    samples = problem.samples
    values = {"sample_weight": np.array(samples.weight), "y": np.array(samples.target)}
    was_active = bool(values["sample_weight"][row] > 0.0)
    values[name][row] = value
    new = replace_samples(
        problem,
        replace(samples, target=freeze(values["y"]), weight=freeze(values["sample_weight"])),
        {parameter: getattr(problem, parameter) for parameter in problem._hyperparameters},
    )
    if was_active and type(new.kernel) is type(problem.kernel):
        new.__dict__["space"] = problem.space
    return new


def _have_same_matrix(first: SVMDual, second: SVMDual) -> bool:
    ridges = [[group.ridge for group in dual.groups] for dual in (first, second)]
    return bool((np.asarray(first.curvature) == np.asarray(second.curvature)).all()) and ridges[0] == ridges[1]


def _is_midpoint(first: SVMDual, middle: SVMDual, last: SVMDual) -> bool:
    """Return whether the data of the second dual are the means of those of the other two."""
    for a, b, c in zip(_list_varying_data(first), _list_varying_data(middle), _list_varying_data(last), strict=True):
        finite = np.isfinite(a)
        if not (np.isfinite(b) == finite).all() or not (np.isfinite(c) == finite).all():
            return False
        a, b, c = a[finite], b[finite], c[finite]
        if (np.abs(0.5 * (a + c) - b) > ON_LINE * (np.abs(a) + np.abs(c))).any():
            return False
    return True


def _list_varying_data(dual: SVMDual) -> tuple[Any, ...]:
    return np.asarray(dual.level), np.asarray(dual.upper), np.array([group.total for group in dual.groups])
