"""One step of a derivation: an equation, the function that states it, and how far a solution is from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from qpsvm.derivation.letters import Letters
from qpsvm.derivation.shown import ShownStep
from qpsvm.derivation.source import code
from qpsvm.derivation.text import describe_with_code
from qpsvm.problems import Problem
from qpsvm.problems.pairing import check_pair
from qpsvm.result import SVMResult

Measure = Callable[[Letters[Any]], float]


class NotMeasurable(Exception):
    """Raised by a measure where a solution has nothing to measure the equation on. The message says what is missing."""


class Measurement(NamedTuple):
    """A residual, relative. Where it is NaN, the reason why there is none."""

    residual: float
    reason: str = ""


@dataclass(frozen=True)
class Step:
    """A step of a derivation, for the problem that it was made for.

    Attributes
    ----------
    tag : str
        Of the equation, such as "CSVM.4".
    title : str
        What the step is called.
    text : str
        A few sentences: what happens here, and why.
    latex : str
        The equation.
    function : callable
        The function of the library that states it.
    measure : callable
        The equation itself, in NumPy: from the letters at a solution to the residual, relative.
    absent : str
        Why this step does not exist for this problem, or "".
    statement : str
        The equation as the docstring of the variant defines it, in plain text.

    Examples
    --------
    >>> import qpsvm
    >>> step = qpsvm.derive(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))["CSVM.5"]
    >>> print(step.tag, step.statement)
    CSVM.5 ∂L/∂b = 0:  yᵀα = 0
    """

    tag: str
    title: str
    text: str
    latex: str
    function: Callable[..., Any]
    measure: Measure = field(repr=False)
    absent: str = ""
    statement: str = ""

    def residual(self, problem: Problem, result: SVMResult) -> float:
        """The equation's violation at a solution, relative; NaN where `measured` has a reason.

        Parameters
        ----------
        problem : Problem
            That the step was made for.
        result : SVMResult
            Of that problem, optimal or not.

        Returns
        -------
        float
            0 where the equation holds.

        Raises
        ------
        ParameterTypeError
            Not a problem, or not a result.
        DataError
            The result is over other rows or features than the problem, or with another kernel.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
        >>> qpsvm.derive(problem)["CSVM.5"].residual(problem, qpsvm.solve(problem)) < 1e-12
        True
        """
        check_pair(problem, result)
        return self.measured(Letters(problem, result)).residual

    def measured(self, at: Letters[Any]) -> Measurement:
        """The residual at a solution, with the reason where there is none.

        Parameters
        ----------
        at : Letters
            The letters α, w, b, … of the solution.

        Returns
        -------
        Measurement
            A residual and a reason.
        """
        if self.absent:
            return Measurement(float("nan"), self.absence)
        try:
            with np.errstate(all="ignore"):  # where there is no solution, an objective may be infinite: NaN says so
                residual = float(self.measure(at))
        except NotMeasurable as reason:
            return Measurement(float("nan"), f"not measurable: {reason}")
        if np.isnan(residual):
            return Measurement(residual, "not measurable: the point has infinite values")
        return Measurement(residual)

    @property
    def absence(self) -> str:
        """`absent` as the reason why there is no residual, or ""."""
        return f"does not exist here: {self.absent}" if self.absent else ""

    def shown(self, measurement: Measurement | None = None) -> ShownStep:
        """The step as text and numbers, with its residual where there is a solution.

        Parameters
        ----------
        measurement : Measurement, optional
            What `measured` returned.

        Returns
        -------
        ShownStep
            Text and numbers only.
        """
        residual, reason = measurement or Measurement(float("nan"), self.absence)
        return ShownStep(
            self.tag, self.title, self.text, self.latex, self.statement,
            code=code(self.function), measured_by=None if self.measure is self.function else code(self.measure),
            solved=measurement is not None, residual=None if np.isnan(residual) else residual, reason=reason,
        )  # fmt: skip

    @property
    def code(self) -> str:
        """The source of `function`, as it is now, its docstring cut to the first line."""
        return code(self.function).text

    @property
    def where(self) -> str:
        """Name, file and line of `function`."""
        return code(self.function).where

    def __repr__(self) -> str:
        return f"<Step {self.tag}: {self.title}{', which does not exist here' if self.absent else ''}>"

    def __str__(self) -> str:
        return describe_with_code(self.shown())
