"""The terms of the LaTeX that depend on the intercept: each is there, or it is not."""

from __future__ import annotations

from dataclasses import dataclass

from qpsvm.machines import JointProblem, Problem


@dataclass(frozen=True)
class Terms:
    """What is written for an intercept that is free, penalised, or absent.

    pull: LaTeX of what is 0 of a free b, and b of a penalised one: yᵀα of two classes.
    """

    intercept: str | None
    pull: str = r"y^{\top}\alpha"

    @classmethod
    def of(cls, problem: Problem | JointProblem, pull: str = r"y^{\top}\alpha") -> Terms:
        """Those of a problem."""
        return cls(problem.intercept, pull)

    @property
    def penalised(self) -> bool:
        """Whether b is a weight like the others."""
        return self.intercept == "penalised"

    @property
    def over(self) -> str:
        """What the primal is minimised over."""
        return "w" if self.intercept is None else "w,b"

    @property
    def norm(self) -> str:
        """The square of the norm, to be multiplied."""
        return r"\bigl(\|w\|^2+b^2\bigr)" if self.penalised else r"\|w\|^2"

    @property
    def plus_b(self) -> str:
        """b in f."""
        return "" if self.intercept is None else "+b"

    @property
    def kernel(self) -> str:
        """The entry of the matrix that the dual has."""
        return r"\bigl(K(x_i,x_j)+1\bigr)" if self.penalised else "K(x_i,x_j)"

    @property
    def balanced(self) -> str:
        """The equality of the dual, behind its other constraints."""
        return rf",\ {self.pull}=0" if self.intercept == "free" else ""

    @property
    def minus_b(self) -> str:
        """What b adds to the Lagrangian of w(α)."""
        return "" if self.intercept is None else rf"-b\,{self.pull}"

    @property
    def square(self) -> str:
        """What ½αᵀQα lacks of ½αᵀ(Q + yyᵀ)α: the norm of a penalised b, with a half before it."""
        return rf"\tfrac12\bigl({self.pull}\bigr)^2" if self.penalised else ""

    @property
    def plus_square(self) -> str:
        """`square` in the dual that is minimised."""
        return f"+{self.square}" if self.square else ""

    @property
    def minus_square(self) -> str:
        """`square` in the dual's value."""
        return f"-{self.square}" if self.square else ""

    @property
    def b_and(self) -> str:
        """Before another letter, in words."""
        return "" if self.intercept is None else "b and "

    @property
    def ridge(self) -> str:
        """What a b that is not that of α adds to P − D."""
        return rf"\\ &\quad+\tfrac12\bigl(b-{self.pull}\bigr)^2" if self.penalised else ""

    def puts(self, written: str = "yᵀα") -> str:
        """What is put into L besides w(α), in words, with a comma before it."""
        return {"free": f", {written} = 0", "penalised": f", b = {written}", None: ""}[self.intercept]
