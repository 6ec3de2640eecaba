"""The steps of the C-SVM, (CSVM.1) to (CSVM.16)."""

from __future__ import annotations

from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as of
from qpsvm.derivation.steps.shared import Argument, two_class
from qpsvm.derivation.terms import total
from qpsvm.machines import CSVM


def argument(problem: CSVM) -> Argument:
    """What the machine is."""
    return two_class(problem, of.C, total(of.C * of.XI))


def steps(problem: CSVM) -> tuple[Step, ...]:
    """All steps, in order."""
    soft = argument(problem)
    return soft.steps(
        "CSVM",
        first=soft.margin(),
        primal=soft.primal(
            "A wide margin is weighed against slack. ξ_i is how far sample i stays behind its margin, and C_i is the "
            "price of a unit of it."
        ),
        dual=soft.dual("n variables in a box, and one equality"),
        intercept=soft.intercept_recovered(
            "On the margin f(x_i) = y_i, so one margin vector would give b. The mean over all of them is less "
            "sensitive to rounding. Where there are none, b is a weighted quantile: every b that minimises the slack "
            "is as good."
        ),
    )
