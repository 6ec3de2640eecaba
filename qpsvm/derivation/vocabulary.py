"""What a person calls the letters of a machine: its rows, its bounds, what f is to reach."""

from __future__ import annotations

from qpsvm.machines import SVDD, OneClass, PrimalHinge, Problem, QuantileSVR


class Words:
    """How the numbers at a point are named in sentences.

    problem: Whose they are.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.two_class = problem.samples.classes is not None

    def sample(self, i: int) -> str:
        """Sample i of those that take part, with the caller's number."""
        return f"sample {self.problem.rows[i]}"

    def row(self, k: int) -> str:
        """Row k of the dual: a sample, a side of it, or a pair."""
        svm = self.problem.svm
        if svm.mix is not None:
            return f"row {k}"
        if svm.rows is None:
            return self.sample(k)
        side = " (t above f)" if svm.sign[k] > 0 else " (t below f)"
        return f"{self.sample(int(svm.rows[k]))}{side if svm.mirrored else ''}"

    @property
    def rho(self) -> str:
        """ρ in a product: nothing where it is 1."""
        return "ρ" if any(group.multiplier == "rho" for group in self.problem.svm.margins) else ""

    @property
    def level(self) -> str:
        """What s f of a row is to reach."""
        if self.two_class or self.problem.svm.common_level == 1.0:
            return self.rho or "1"
        if self.problem.svm.mirrored:
            return "±t" if isinstance(self.problem, QuantileSVR) else "±t − ε"
        return "0" if self.problem.svm.homogeneous else "its level"

    @property
    def yf(self) -> str:
        """s f of a row."""
        return "y f" if self.two_class else "±f" if self.problem.svm.mirrored else "f"

    @property
    def reached(self) -> str:
        """What f is to be where a row is on its level, of which u and b are the parts."""
        if self.problem.svm.mirrored:
            return "t" if isinstance(self.problem, QuantileSVR) else "t ∓ ε"
        return "y(1 − δα)" if self.problem.svm.curved else "y"

    @property
    def on_margin(self) -> str:
        """The samples that are on their level."""
        return "margin vectors" if self.two_class else f"samples {self.problem.kinds.words[1]}"

    @property
    def w(self) -> str:
        """The weights."""
        return "c" if isinstance(self.problem, SVDD) else "w"

    @property
    def coef(self) -> str:
        """The coefficient of a sample in f."""
        return "α_i y_i" if self.two_class else "α_i" if self.problem.svm.plain else "β_i"

    @property
    def C(self) -> str:
        """The upper bound of α."""
        if isinstance(self.problem, OneClass):
            return "s"
        return "a" if self.rho else "p/λ" if isinstance(self.problem, PrimalHinge) else "C"
