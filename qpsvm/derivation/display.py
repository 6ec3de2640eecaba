"""Hold the displayed text and numbers of a derivation, the only input of the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qpsvm.base.arrays.types import FloatArray

#: What a residual stays below at a polished optimum. What is shown marks those that are larger.
HOLDS = 1e-8
#: What is written between two sides that should stand in a relation and do not.
FAILS = {"=": "≠", "≤": ">", "≥": "<"}
#: Digits of both sides: more of them where they differ in no fewer.
DIGITS = (6, 9, 12, 17)
#: What is below this is rounding in nearly every problem, of which two digits are enough; all are in `left`, `right`.
TINY, TINY_DIGITS = 1e-10, 2


@dataclass(frozen=True)
class Code:
    """A function of the library, for people.

    where: Its name, file and line, such as "CSVM._primal, qpsvm/machines/c_svm.py:117".
    text: Its source, with the docstring cut to the first line.
    lines: The numbers of the lines, from 0, that are the equation.
    excerpt: Of a long function, what is around the equation; None where it is short.
    """

    where: str
    text: str
    lines: tuple[int, ...] = ()
    excerpt: Code | None = None


@dataclass(frozen=True)
class ShownStep:
    """One step: its equation, its code and its residual.

    tag, title, text, latex, statement: As in `Step`.
    code: The equation as code, as it is evaluated.
    library or None: The function of the library that does the same, with the lines that are the equation.
    solved: Whether there is a solution to measure.
    residual: The equation's violation, relative; None where it was not measured.
    reason: Why there is no residual, or "".
    left, right or None: Both sides of the equation.
    relation, of: How they are to stand to each other, and what they are.
    construction: Why the equation holds for whatever α there is, or "".
    absent: Whether the step does not exist here: then there is no equation to show, only the reason.
    proven_text: What is proven of it, for people, such as "proven ≤ 1.3e-17"; empty where no proof was asked
        for.
    proven_of: What that is a bound of, or "".
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
    of: str = ""
    construction: str = ""
    absent: bool = False
    proven_text: str = ""
    proven_of: str = ""

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines of `code`, from 0, that are the equation."""
        return self.code.lines

    @property
    def by_construction(self) -> str:
        """Reason why the equation holds for any α, as a sentence; or ""."""
        return f"It holds by construction: {self.construction}." if self.construction else ""

    @property
    def sides_text(self) -> str:
        """Both sides as text, such as "2.5 = 2.5" or "1e-16 ≈ 0"; empty if they were not measured."""
        if self.left is None or self.right is None:
            return ""
        holds = self.residual is not None and self.residual <= HOLDS
        relation = self.relation if holds else FAILS[self.relation]
        fails = relation != self.relation
        digits = next((k for k in DIGITS if not fails or f"{self.left:.{k}g}" != f"{self.right:.{k}g}"), DIGITS[-1])
        left, right = (
            f"{v:.{TINY_DIGITS if not fails and abs(v) < TINY else digits}g}" for v in (self.left, self.right)
        )
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
        return f"Proven: {self.proven_of}." if self.proven_of else ""


@dataclass(frozen=True, eq=False)
class Symbol:
    """A symbol of the equations: its name in text and in LaTeX, its meaning, and its value or values at the point."""

    name: str
    latex: str
    meaning: str
    shape: str = ""
    number: str = ""
    value: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """The samples as points (k, 2), the side of each (k,), its description, and the names of its nonzero symbols.

    lines: Levels of f with the pieces of the line on which f has it.
    axes: What is drawn to the right, and upwards.
    """

    points: FloatArray
    side: Any
    captions: tuple[str, ...]
    symbol_names: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[float, tuple[tuple[FloatArray, FloatArray], ...]], ...]
    axes: tuple[str, str]


@dataclass(frozen=True)
class ShownDerivation:
    """All steps under a headline.

    title: The problem with its parameters.
    headline: What the residuals are worth.
    trusted: Whether they are those of an optimum of this problem.
    proven: What is proven of the result as a whole, in sentences; empty without a proof.
    key, picture: The symbols of its equations, and the samples that have them.
    """

    title: str
    headline: str
    trusted: bool
    steps: tuple[ShownStep, ...]
    proven: str = ""
    key: tuple[Symbol, ...] = ()
    picture: Picture | None = None
