"""Build the steps of the ν-SVR, (NUSVR.1) to (NUSVR.18), from the terms that regressions share (`two_sided`)."""

from __future__ import annotations

from qpsvm.bounds import levels
from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps import two_sided as two
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, step
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_loss_step, build_primal_step
from qpsvm.derivation.steps.slackness import build_kinds_step
from qpsvm.derivation.steps.stationarity import build_other_variable_step
from qpsvm.derivation.term_builders import HALF, dot, largest_of, total
from qpsvm.machines import NuSVR

#: Both sides of the stationarity in ε: the sum of all α, and νΣ_C.
ALPHA_SUM, NU_C = dot(1, two.ABOVE + two.BELOW), sym.NU * two.SIGMA_C
#: Meanings of the symbols of this machine.
SYMBOLS = two.SYMBOLS


def build_terms(problem: NuSVR) -> Formulas:
    """Build the terms of a machine with a variable half width ε."""
    return two.build_terms(
        problem, total(two.C * (two.XI + two.XI_STAR)), other_variables=r",\varepsilon", reward=NU_C * two.EPSILON,
        equality=(-two.EPSILON, ALPHA_SUM, NU_C), is_width_in_dual=False,
    )  # fmt: skip


def steps(problem: NuSVR) -> tuple[Step, ...]:
    """Return all steps, in order."""
    terms = build_terms(problem)
    residual = sym.T - sym.U
    half_weight = HALF * NU_C
    weight_outside = sym.sum_weights_where(two.MISSED, ">", two.EPSILON, two.C)
    weight_edge_or_outside = sym.sum_weights_where(two.MISSED, "≥", two.EPSILON, two.C)
    return build_steps(
        terms,
        "NUSVR",
        first=build_loss_step(
            terms,
            "The half width ε of the tube is a variable with the penalty νΣ_C per unit, where Σ_C is the sum of all "
            "C_i. So ν determines the fraction of samples outside the tube, and the noise in the data its width.",
            total(two.C * largest_of(0, two.MISSED - two.EPSILON)),
        ),
        primal=build_primal_step(
            terms,
            "The loss is the smallest ξ_i + ξ*_i above three linear functions: 0, and one for each side of f. The "
            "last line is why ε ≥ 0 is no constraint: a negative half width −ε costs at least as much as 0.",
            line(total(two.C * (two.MISSED + two.EPSILON)) - NU_C * two.EPSILON, "≥", total(two.C * two.MISSED),
                 scale=lambda at: float(total(two.C * (two.MISSED + two.EPSILON)).value(at)) or 1.0),
        ),
        lagrangian=build_lagrangian_step(terms, two.MULTIPLIERS),
        level=build_other_variable_step(
            terms,
            " So ν is the sum of all α⁺ and α⁻, divided by the largest value that the sum can have.",
        ),
        substitution=build_substitution_step(
            terms, "b, ε, ξ and ξ* cancel, and so does the penalty νΣ_Cε", slack_texts=(two.ETA_TEXT,)
        ),
        dual=build_dual_step(terms, "2n variables in a box, and two equalities"),
        intercept=step(
            "Recovering b and ε",
            "Relative to u = Kβ, b + ε is the upper edge of the tube and b − ε the lower one. The penalty νΣ_Cε is "
            "½νΣ_C(b + ε) − ½νΣ_C(b − ε), so the primal splits into one problem per edge, which a weighted quantile "
            "solves.",
            Equation("below", (
                sym.build_quantile_line(residual, ">", sym.B + two.EPSILON, two.C, half_weight),
                sym.build_quantile_line(residual, "<", sym.B - two.EPSILON, two.C, half_weight),
                line(sym.U, "=", sym.kernel_sum(two.BETA), measured=False),
            )),
            levels.find_soft_minimisers, general="LEVEL.3",
        ),
        kinds=build_kinds_step(terms, *two.KINDS),
        besides=step(
            "What ν bounds",
            "A sample outside the tube has α_i = C_i, so the C_i of all samples outside sum to at most νΣ_C. A sample "
            "inside has α_i = 0, so the C_i of all samples on the edge or outside sum to at least νΣ_C. The residual "
            "is the violation of these bounds.",
            Equation("alone", (line(weight_outside, "≤", NU_C, "≤", weight_edge_or_outside, scale=NU_C.value),)),
        ),
    )  # fmt: skip
