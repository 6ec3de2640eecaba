"""A parameter along which the data of a dual move linearly: itself, or its inverse.

    (AFFINE.1)  U, ℓ and e of (DUAL.1) are affine in C, ν, ε, τ of most machines, and in 1/λ, or 1/ν where U = s/(ν Σs)
    (AFFINE.2)  K, δ and R may not move: a C or a width that bends the loss enters K's diagonal, γ all of K

Which of them it is, is found by looking at three values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.errors import ParameterError, ParameterTypeError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.replaced import kernel_parameters
from qpsvm.many.exact.rows import SignedRows, check_supported
from qpsvm.many.grid.parameters import FROM_ZERO, Grid
from qpsvm.program.svm_dual import SVMDual

#: Relative difference up to which data in the middle lie on the line.
ON_LINE = 1e-10


@dataclass(frozen=True)
class Line:
    """One machine for all values of one parameter from low to high; s in [0, 1] goes along it, or its inverse."""

    problem: Any
    name: str
    low: float
    high: float
    inverse: bool = False

    def at(self, value: float) -> Any:
        """The problem with this value; a C that differs between samples keeps its ratios."""
        return Grid(self.problem, {self.name: (value,)}).problem_at(self.problem, {self.name: value})

    def s(self, value: Any) -> Any:
        """Where on the way a value is."""
        if self.inverse:
            return (1.0 / np.asarray(value) - 1.0 / self.low) / (1.0 / self.high - 1.0 / self.low)
        return (np.asarray(value) - self.low) / (self.high - self.low)

    def value(self, s: Any) -> Any:
        """Which value is there."""
        if self.inverse:
            return 1.0 / (1.0 / self.low + np.asarray(s) * (1.0 / self.high - 1.0 / self.low))
        return self.low + np.asarray(s) * (self.high - self.low)


def line_of(problem: Any, name: Any, low: Any, high: Any) -> tuple[Line, SignedRows]:
    """The line, and the rows of the dual, checked.

    Raises ParameterError, ParameterTypeError, UnknownOptionError, UnsupportedError, TooLargeError.
    """
    if not isinstance(problem, Machine):
        raise ParameterTypeError(f"exact_path takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    low, high = as_real(low, "low"), as_real(high, "high")
    if not 0.0 <= low < high < np.inf:
        raise ParameterError(
            f"an interval goes from a low to a higher number, neither negative, got {low:g} to {high:g}"
        )
    check_name(problem, name)
    if not low > 0.0 and name not in FROM_ZERO:
        raise ParameterError(f"{name} must be positive: the interval begins at {low:g}")
    check_supported(problem)
    line = Line(problem, name, low, high)
    first, last = (line.at(value).svm for value in (line.low, line.high))
    for dual in (last, line.at(0.5 * (line.low + line.high)).svm):
        if not _same_matrix(first, dual):
            raise UnsupportedError(
                f"{name} of this {type(problem).__name__} bends the loss, so that it enters the matrix of the dual, "
                "and optima do not move along straight lines: qpsvm.path solves as many values as you ask for"
            )
    for inverse in (False, True):
        if inverse and not low > 0.0:
            break
        line = Line(problem, name, low, high, inverse)
        if _halfway(first, line.at(float(line.value(0.5))).svm, last):
            return line, SignedRows(problem, [first, last])
    raise UnsupportedError(
        f"{name} of {type(problem).__name__} does not enter its dual linearly: qpsvm.path takes a grid of it"
    )


def check_name(problem: Any, name: Any) -> None:
    """That the machine has this parameter. Raises UnknownOptionError, UnsupportedError."""
    if name in problem.own and not isinstance(getattr(problem, name, None), str):
        return
    if isinstance(name, str) and (name in kernel_parameters(problem.kernel) or name in ("loss", "kernel", "psd")):
        raise UnsupportedError(
            f"{name} does not enter the dual linearly, so optima do not move along straight lines with it: qpsvm.path "
            "and cross_validate take a grid of it"
        )
    raise UnknownOptionError(f"{type(problem).__name__} has no parameter {name!r}; {nearest(str(name), problem.own)}")


def _same_matrix(one: SVMDual, other: SVMDual) -> bool:
    ridges = [[group.ridge for group in dual.groups] for dual in (one, other)]
    return bool((np.asarray(one.curvature) == np.asarray(other.curvature)).all()) and ridges[0] == ridges[1]


def _halfway(first: SVMDual, middle: SVMDual, last: SVMDual) -> bool:
    """Whether the data of the second are the means of those of the others."""
    for a, b, c in zip(_moving(first), _moving(middle), _moving(last), strict=True):
        finite = np.isfinite(a)
        if not (np.isfinite(b) == finite).all() or not (np.isfinite(c) == finite).all():
            return False
        a, b, c = a[finite], b[finite], c[finite]
        if (np.abs(0.5 * (a + c) - b) > ON_LINE * (np.abs(a) + np.abs(c))).any():
            return False
    return True


def _moving(dual: SVMDual) -> tuple[Any, ...]:
    return np.asarray(dual.level), np.asarray(dual.upper), np.array([group.total for group in dual.groups])
