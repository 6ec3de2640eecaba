"""Build the steps of the C-SVM, (CSVM.1) to (CSVM.16)."""

from __future__ import annotations

from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step
from qpsvm.derivation.steps.formulas import Formulas
from qpsvm.derivation.steps.primal import build_primal_step
from qpsvm.derivation.steps.two_class import build_margin_step, build_two_class
from qpsvm.derivation.term_builders import total
from qpsvm.machines import CSVM


def build_terms(problem: CSVM) -> Formulas:
    """Build the terms of the machine."""
    return build_two_class(problem, sym.C, total(sym.C * sym.XI))


def steps(problem: CSVM) -> tuple[Step, ...]:
    """Return all steps, in order."""
    soft = build_terms(problem)
    return build_steps(
        soft,
        "CSVM",
        first=build_margin_step(soft),
        primal=build_primal_step(
            soft,
            "A wide margin is traded off against slack. ξ_i is how far y_i f(x_i) falls short of 1, and C_i is the "
            "penalty per unit of slack.",
        ),
        dual=build_dual_step(soft, "n variables in a box, and one equality"),
    )
