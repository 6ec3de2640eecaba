"""What a derivation shows, as text and numbers: all that the terminal and the page know of it."""

from __future__ import annotations

from dataclasses import dataclass

#: What a residual stays below at a polished optimum. What is shown marks those that are larger.
HOLDS = 1e-8
#: What is written between two sides that should stand in a relation and do not.
FAILS = {"=": "≠", "≤": ">", "≥": "<"}


@dataclass(frozen=True)
class Code:
    """A function of the library, for people.

    Attributes
    ----------
    where : str
        Its name, file and line, such as "CSVM._primal, qpsvm/problems/c_svm.py:117".
    text : str
        Its source, with the docstring cut to the first line.
    """

    where: str
    text: str


@dataclass(frozen=True)
class ShownStep:
    """One step: its equation, its code and its residual.

    Attributes
    ----------
    tag, title, text, latex, statement : str
        As in `Step`.
    code : Code
        The function that states the equation.
    measured_by : Code or None
        The function that measures it, where that is another.
    solved : bool
        Whether there is a solution to measure.
    residual : float or None
        The equation's violation, relative; None where it was not measured.
    reason : str
        Why there is no residual, or "".
    left, right : float or None
        Both sides of the equation.
    relation, of : str
        How they are to stand to each other, and what they are.
    """

    tag: str
    title: str
    text: str
    latex: str
    statement: str
    code: Code
    measured_by: Code | None = None
    solved: bool = False
    residual: float | None = None
    reason: str = ""
    left: float | None = None
    right: float | None = None
    relation: str = ""
    of: str = ""

    @property
    def sides_text(self) -> str:
        """Both sides for people, such as "2.5 = 2.5"; empty where they were not measured."""
        if self.left is None or self.right is None:
            return ""
        holds = self.residual is not None and self.residual <= HOLDS
        relation = self.relation if holds else FAILS[self.relation]
        return f"{self.left:.6g} {relation} {self.right:.6g}"

    @property
    def residual_text(self) -> str:
        """The residual for people; empty where nothing was solved."""
        if not self.solved:
            return ""
        return "residual -" if self.residual is None else f"residual {self.residual:.1e}"


@dataclass(frozen=True)
class ShownDerivation:
    """All steps under a headline.

    Attributes
    ----------
    title : str
        The problem with its parameters.
    headline : str
        What the residuals are worth.
    trusted : bool
        Whether they are those of an optimum of this problem.
    steps : tuple of ShownStep
    """

    title: str
    headline: str
    trusted: bool
    steps: tuple[ShownStep, ...]
