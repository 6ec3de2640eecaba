"""Define a step of a derivation (`Step`): an equation, the function that states it, and its residual."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from qpsvm.derivation.constraint_quantities import build_quantities
from qpsvm.derivation.display import ShownStep
from qpsvm.derivation.proven import ProvenBound
from qpsvm.derivation.residual import BothSides, NotMeasurableError, choose_shown_sides
from qpsvm.derivation.source import find_code
from qpsvm.derivation.written.terminal import describe_with_code
from qpsvm.machines import Problem
from qpsvm.machines.problem.problem import check_result_matches
from qpsvm.result.svm_result import SVMResult

#: From the letters at a point to the sides of the equation: one comparison, or several, of which the first says most.
#: A measure may return a residual alone, where there are no sides to show. It is given `Quantities`, or those of
#: constraints.
Measure = Callable[[Any], BothSides | tuple[BothSides, ...] | float]
NAN = float("nan")


class Measurement(NamedTuple):
    """An equation at a point: how far it is from holding, and its two sides.

    residual: By how much the equation does not hold, relative to the size of its terms.
    reason: Where the residual is NaN, why there is none.
    left, right or None: Both sides: of a vector equation in the row where they differ most. Where a step
        compares several things, those that differ most, or while all of them agree, the first.
    relation: How they stand to each other where the equation holds.
    of: What the two numbers are.
    """

    residual: float
    reason: str = ""
    left: float | None = None
    right: float | None = None
    relation: str = ""
    of: str = ""

    @classmethod
    def from_sides(cls, found: BothSides | tuple[BothSides, ...] | float) -> Measurement:
        """Build the measurement from the sides that a measure returned."""
        if isinstance(found, BothSides):
            found = (found,)
        if not isinstance(found, tuple):
            return cls(float(found))
        residuals, shown = [float(sides.residual) for sides in found], choose_shown_sides(found)
        residual = NAN if any(map(math.isnan, residuals)) else max(residuals)
        return cls(residual, "", float(shown.left), float(shown.right), shown.relation, shown.of)

    def as_dict(self) -> dict[str, Any]:
        """Return the measurement as data for JSON, with None for numbers that are not finite."""
        numbers = {"left": self.left, "right": self.right, "residual": self.residual}
        finite = {name: value if value is not None and np.isfinite(value) else None for name, value in numbers.items()}
        reason = "one side is infinite" if np.isinf(self.residual) else self.reason
        return {**finite, "relation": self.relation, "of": self.of, "reason": reason}


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
        The function of the library that does the same, or the equation itself.
    measure : callable
        The equation itself, in NumPy: from the letters at a point to its two sides.
    absent : str
        Why this step does not exist for this problem, or "".
    statement : str
        The equation as the docstring of the variant defines it, in plain text.
    construction : str
        Why the equation holds for whatever α there is, because the library makes its letters that way; or "".
    general : str
        The tag of the equation of all machines that this is a case of, which the code carries instead; or "".

    Examples
    --------
    >>> import qpsvm
    >>> step = qpsvm.derive(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))["CSVM.6"]
    >>> print(step.tag, step.statement)
    CSVM.6 ∂L/∂ξ_i = 0:  η_i = C_i − α_i
    """

    tag: str
    title: str
    text: str
    latex: str
    function: Callable[..., Any]
    measure: Measure = field(repr=False)
    absent: str = ""
    statement: str = ""
    construction: str = ""
    general: str = ""

    def residual(self, problem: Problem, result: SVMResult) -> float:
        """Return the equation's violation at a solution, relative; NaN where `measured` has a reason.

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
        >>> qpsvm.derive(problem)["CSVM.6"].residual(problem, qpsvm.solve(problem)) < 1e-12
        True
        """
        check_result_matches(problem, result)
        return self.measured(build_quantities(problem, result)).residual

    def measured(self, at: Any) -> Measurement:
        """Measure both sides at a point, and the residual.

        Parameters
        ----------
        at : Quantities
            The letters α, w, b, … of a solution.

        Returns
        -------
        Measurement
            With a reason where there is no residual.
        """
        if self.absent:
            return Measurement(NAN, self.absence)
        try:
            with np.errstate(all="ignore"):  # where there is no solution, an objective may be infinite: NaN says so
                found = Measurement.from_sides(self.measure(at))
        except NotMeasurableError as reason:
            return Measurement(NAN, f"not measurable: {reason}")
        if np.isnan(found.residual):
            return found._replace(reason="not measurable: the point has infinite values")
        return found

    @property
    def absence(self) -> str:
        """`absent` as the reason why there is no residual, or ""."""
        return f"does not exist here: {self.absent}" if self.absent else ""

    def shown(self, measurement: Measurement | None = None, proven: ProvenBound | None = None) -> ShownStep:
        """Return the step as text and numbers.

        Parameters
        ----------
        measurement : Measurement, optional
            What is measured of it, where there is a solution.
        proven : Proven, optional
            What is proven of it.

        Returns
        -------
        ShownStep
            What articles, pages and frames are made of.
        """
        found, library = measurement or Measurement(NAN, self.absence), find_code(self.function, self.tag, self.general)
        return ShownStep(
            self.tag,
            self.title,
            self.text,
            self.latex,
            self.statement,
            code=find_code(self.measure, self.tag, self.general),
            construction=self.construction,
            absent=bool(self.absent),
            library=library if library.lines and self.measure is not self.function else None,
            solved=measurement is not None,
            residual=None if np.isnan(found.residual) else found.residual,
            reason=found.reason,
            left=found.left,
            relation=found.relation,
            right=found.right,
            of=found.of,
            proven_text="" if proven is None else proven.text,
            proven_of="" if proven is None else proven.of,
        )

    @property
    def code(self) -> str:
        """The equation as code: what is evaluated, line by line."""
        return find_code(self.measure, self.tag, self.general).text

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines of `code`, from 0, that are the equation."""
        return find_code(self.measure, self.tag, self.general).lines

    @property
    def where(self) -> str:
        """Name, file and line of `function`."""
        return find_code(self.function, self.tag, self.general).where

    def __repr__(self) -> str:
        return f"<Step {self.tag}: {self.title}{', which does not exist here' if self.absent else ''}>"

    def __str__(self) -> str:
        return describe_with_code(self.shown())
