"""Define what is displayed of a derivation (`ShownDerivation`): the texts and numbers that every format writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qpsvm.base.arrays.types import FloatArray

#: An equation counts as true up to this residual; a polished optimum satisfies all equations to this accuracy.
RESIDUAL_TOL = 1e-8
#: The sign that is displayed in place of a relation that does not hold.
NEGATIONS = {"=": "≠", "≤": ">", "≥": "<"}
#: Significant digits of both sides. If a relation fails, the first number that shows a difference is used.
DIGITS = (6, 9, 12, 17)
#: Sides below `TINY` of a true equation are displayed with few digits: they are mostly rounding errors.
TINY, TINY_DIGITS = 1e-10, 2


@dataclass(frozen=True)
class Code:
    """Displayed source code of a function.

    where: The function's name, file and line, such as "CSVM._primal, qpsvm/machines/c_svm.py:117".
    text: The source, with the docstring shortened to its first line.
    lines: The indices of the lines of `text` that state the equation.
    excerpt: For a long function, the lines around the equation; None for a short one.
    """

    where: str
    text: str
    lines: tuple[int, ...] = ()
    excerpt: Code | None = None


@dataclass(frozen=True)
class ShownStep:
    """One displayed step: its equation, its code and its residual.

    tag, title, text, latex, statement: As in `Step`.
    code: The code by which the residual of the equation is evaluated.
    library: The function of the library that implements the equation; None if `code` is all there is.
    solved: Whether there is a solution to measure.
    residual: The equation's relative violation; None if it was not measured.
    reason: Why there is no residual, or "".
    left, right: Both sides of the equation; None if they were not measured.
    relation, description: The relation of the sides if the equation holds, and their description.
    construction: Why the equation holds for any α, or "".
    absent: Whether the step does not apply to this problem; then only the reason is displayed.
    proven_text: The proven bound as text, such as "proven ≤ 1.3e-17"; "" without a proof.
    proven_description: What is bounded, as a sentence without the full stop; or "".
    """

    tag: str
    title: str
    text: str
    latex: str
    statement: str
    code: Code
    library: Code | None = None
    solved: bool = False
    residual: float | None = None
    reason: str = ""
    left: float | None = None
    right: float | None = None
    relation: str = ""
    description: str = ""
    construction: str = ""
    absent: bool = False
    proven_text: str = ""
    proven_description: str = ""

    @property
    def lines(self) -> tuple[int, ...]:
        """Indices of the lines of `code` that state the equation."""
        return self.code.lines

    @property
    def by_construction(self) -> str:
        """Reason why the equation holds for any α, as a sentence; or ""."""
        if self.construction:
            return f"It holds by construction: {self.construction}."
        return ""

    @property
    def sides_text(self) -> str:
        """Both sides as text, such as "2.5 = 2.5" or "1e-16 ≈ 0"; empty if they were not measured."""
        if self.left is None or self.right is None:
            return ""
        holds = self.residual is not None and self.residual <= RESIDUAL_TOL
        visible = (k for k in DIGITS if f"{self.left:.{k}g}" != f"{self.right:.{k}g}")
        digits = DIGITS[0] if holds else next(visible, DIGITS[-1])
        left, right = (
            f"{value:.{TINY_DIGITS if holds and abs(value) < TINY else digits}g}" for value in (self.left, self.right)
        )
        relation = self.relation if holds else NEGATIONS[self.relation]
        return f"{left} {'≈' if relation == '=' and left != right else relation} {right}"

    @property
    def residual_text(self) -> str:
        """The residual as text; empty without a solution."""
        if not self.solved:
            return ""
        if not self.residual:
            return "residual -" if self.residual is None else "residual 0"
        return f"residual {self.residual:.1e}"

    @property
    def proven_sentence(self) -> str:
        """The proven bound as a sentence; or ""."""
        if self.proven_description:
            return f"Proven: {self.proven_description}."
        return ""


@dataclass(frozen=True, eq=False)
class Symbol:
    """A symbol of the equations, with its value at the point.

    name, latex: The symbol in text and in LaTeX.
    meaning: What it denotes.
    shape: Its shape in symbols, such as "(n,)"; "" for a number.
    number: Its value as text; "" without a solution.
    value: Its value; None without a solution.
    """

    name: str
    latex: str
    meaning: str
    shape: str = ""
    number: str = ""
    value: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """A plot of the samples in a plane, with level lines of f.

    points (k, 2): The samples.
    side (k,): Whether the target of each sample is above the median.
    captions: A description of each sample.
    symbol_names: For each sample the names of its nonzero symbols.
    lines: Pairs of a level of f and its level line, as segments (start, end).
    axes: The labels of the axes.
    """

    points: FloatArray
    side: Any
    captions: tuple[str, ...]
    symbol_names: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[float, tuple[tuple[FloatArray, FloatArray], ...]], ...]
    axes: tuple[str, str]


@dataclass(frozen=True)
class ShownDerivation:
    """Displayed derivation: all steps under a headline.

    title: The problem with its parameters.
    headline: What the residuals mean.
    trusted: Whether the residuals are those of an optimum of this problem.
    steps: The displayed steps.
    proven: What has been proven about the result as a whole, in sentences; "" without a proof.
    key: The symbols of the equations.
    picture: The samples in a plane; None if there is no picture.
    """

    title: str
    headline: str
    trusted: bool
    steps: tuple[ShownStep, ...]
    proven: str = ""
    key: tuple[Symbol, ...] = ()
    picture: Picture | None = None
