"""Build the steps of the C-SVM, (CSVM.1) to (CSVM.16)."""

from __future__ import annotations

from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as sym
from qpsvm.derivation.steps.shared import MachineSteps
from qpsvm.derivation.steps.two_class import build_margin_step, build_two_class
from qpsvm.derivation.term_builders import total
from qpsvm.machines import CSVM


def build_terms(problem: CSVM) -> MachineSteps:
    """Build the terms of the machine."""
    return build_two_class(problem, sym.C, total(sym.C * sym.XI))


def steps(problem: CSVM) -> tuple[Step, ...]:
    """Return all steps, in order."""
    soft = build_terms(problem)
    return soft.build_steps(
        "CSVM",
        first=build_margin_step(soft),
        primal=soft.build_primal_step(
            "A wide margin is traded off against slack. ξ_i is how far y_i f(x_i) falls short of 1, and C_i is the "
            "penalty per unit of slack."
        ),
        dual=soft.build_dual_step("n variables in a box, and one equality"),
    )
