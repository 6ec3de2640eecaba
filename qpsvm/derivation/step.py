"""Define a step of a derivation (`Step`): an equation, the function that states it, and its residual.

A step evaluates its equation at a point, a `Quantities`. The result is a `Measurement` of both sides.
"""

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

#: Function of a point (`Quantities`) that evaluates both sides of an equation: one comparison, or several, the most
#: informative first; or only a residual, if there are no sides to show.
Measure = Callable[[Any], BothSides | tuple[BothSides, ...] | float]
NAN = float("nan")


class Measurement(NamedTuple):
    """An equation evaluated at a point: its violation, and its two sides.

    residual: Violation of the equation, relative to the size of its terms.
    reason: Reason why the residual is NaN; empty otherwise.
    left, right: Both sides; for a vector equation, in the entry where they differ most. If a step makes several
        comparisons, those of the largest violation, or of the first one if all hold. None if there are none to show.
    relation: Relation of the sides if the equation holds: "=", "≤", ….
    description: What the two numbers are.
    """

    residual: float
    reason: str = ""
    left: float | None = None
    right: float | None = None
    relation: str = ""
    description: str = ""

    @classmethod
    def from_sides(cls, comparisons: BothSides | tuple[BothSides, ...] | float) -> Measurement:
        """Build the measurement from the result of a `Measure`."""
        if isinstance(comparisons, BothSides):
            comparisons = (comparisons,)
        if not isinstance(comparisons, tuple):
            return cls(float(comparisons))
        residuals = [float(sides.residual) for sides in comparisons]
        shown = choose_shown_sides(comparisons)
        residual = NAN if any(map(math.isnan, residuals)) else max(residuals)
        return cls(residual, "", float(shown.left), float(shown.right), shown.relation, shown.description)

    def as_dict(self) -> dict[str, Any]:
        """Return the measurement as data for JSON, with None for numbers that are not finite."""
        numbers = {"left": self.left, "right": self.right, "residual": self.residual}
        finite = {name: value if value is not None and np.isfinite(value) else None for name, value in numbers.items()}
        reason = "one side is infinite" if np.isinf(self.residual) else self.reason
        return {**finite, "relation": self.relation, "description": self.description, "reason": reason}


@dataclass(frozen=True)
class Step:
    """A step of a derivation, built for one problem.

    Attributes
    ----------
    tag : str
        Tag of the equation, such as "CSVM.4".
    title : str
        Title of the step.
    text : str
        A few sentences that explain the step.
    latex : str
        The equation in LaTeX.
    function : callable
        The function of the library that implements the equation, or the equation itself.
    measure : callable
        The equation in NumPy: returns its two sides from the symbols at a point.
    absent : str
        Reason why this step does not exist for this problem, or "".
    statement : str
        The equation in plain text, from the docstring of the machine's module.
    construction : str
        Reason why the equation holds for any α by construction, or "".
    general : str
        Tag of the general equation of which this is a special case, and which marks the code instead; or "".

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
        """Return the equation's relative violation at a solution; NaN if `measured` gives a reason.

        Parameters
        ----------
        problem : Problem
            The problem of this step.
        result : SVMResult
            A result of that problem, optimal or not.

        Returns
        -------
        float
            0 if the equation holds.

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
        """Evaluate both sides at a point, and the residual.

        Parameters
        ----------
        at : Quantities
            The symbols α, w, b, … of a solution.

        Returns
        -------
        Measurement
            With a reason if there is no residual.
        """
        if self.absent:
            return Measurement(NAN, self.absence)
        try:
            with np.errstate(all="ignore"):  # without a solution an objective may be infinite, and the residual NaN
                measurement = Measurement.from_sides(self.measure(at))
        except NotMeasurableError as reason:
            return Measurement(NAN, f"not measurable: {reason}")
        if np.isnan(measurement.residual):
            return measurement._replace(reason="not measurable: the point has infinite values")
        return measurement

    @property
    def absence(self) -> str:
        """Reason why there is no residual if the step is `absent`, or ""."""
        return f"does not exist here: {self.absent}" if self.absent else ""

    def shown(self, measurement: Measurement | None = None, proven: ProvenBound | None = None) -> ShownStep:
        """Return the step as text and numbers.

        Parameters
        ----------
        measurement : Measurement, optional
            The measurement, if there is a solution.
        proven : ProvenBound, optional
            The proven bound.

        Returns
        -------
        ShownStep
            The input of articles, pages and frames.
        """
        displayed = measurement or Measurement(NAN, self.absence)
        library = find_code(self.function, self.tag, self.general)
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
            residual=None if np.isnan(displayed.residual) else displayed.residual,
            reason=displayed.reason,
            left=displayed.left,
            relation=displayed.relation,
            right=displayed.right,
            description=displayed.description,
            proven_text="" if proven is None else proven.text,
            proven_description="" if proven is None else proven.description,
        )

    @property
    def code(self) -> str:
        """The evaluated code of the equation."""
        return find_code(self.measure, self.tag, self.general).text

    @property
    def lines(self) -> tuple[int, ...]:
        """Numbers of the lines of `code`, from 0, that state the equation."""
        return find_code(self.measure, self.tag, self.general).lines

    @property
    def where(self) -> str:
        """Name, file and line of `function`."""
        return find_code(self.function, self.tag, self.general).where

    def __repr__(self) -> str:
        return f"<Step {self.tag}: {self.title}{', which does not exist here' if self.absent else ''}>"

    def __str__(self) -> str:
        return describe_with_code(self.shown())
