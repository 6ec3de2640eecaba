"""Build the steps of the quantile SVR, (QSVR.1) to (QSVR.17)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation.expressions import Equation, Subset, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps import two_sided as two
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, case, step
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_loss_step, build_primal_step
from qpsvm.derivation.steps.recovery import build_recovered_b_step
from qpsvm.derivation.steps.slackness import build_kinds_step
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import largest_of, total
from qpsvm.machines import QuantileSVR

TAU = letter(r"\tau", lambda at: at.problem.quantile)
UPPER = TAU * two.C
LOWER = (1 - TAU) * two.C
#: Meanings of the symbols of this machine.
SYMBOLS = two.SYMBOLS | {
    r"\tau": Meaning("which quantile"),
    "M": Meaning("samples on the curve: β_i is between its bounds, and not 0"),
}
#: The samples with neither α⁺ nor α⁻ at its bound.
INSIDE_BOUNDS = Subset("(kind_above < 2) & (kind_below < 2)", lambda at: ~np.logical_or(*np.split(sym.AT_BOUND(at), 2)))
#: The samples with α⁺ at its bound, and those with α⁻ at its bound.
ABOVE_AT_BOUND = Subset("kind_above == 2", lambda at: np.split(sym.AT_BOUND(at), 2)[0])
BELOW_AT_BOUND = Subset("kind_below == 2", lambda at: np.split(sym.AT_BOUND(at), 2)[1])


def build_terms(problem: QuantileSVR) -> Formulas:
    """Build the terms of the machine."""
    penalty = total(two.C * (TAU * two.XI + (1 - TAU) * two.XI_STAR))
    return two.build_terms(problem, penalty, (UPPER, LOWER), None)


def find_largest_bound(at: At) -> float:
    """Return the largest upper bound of α, the scale of β."""
    return float(at.box.max())


def steps(problem: QuantileSVR) -> tuple[Step, ...]:
    """Return all steps, in order."""
    terms = build_terms(problem)
    loss = largest_of(TAU * (sym.T - sym.F), (1 - TAU) * (sym.F - sym.T))
    between_bounds = line(-LOWER, "<", two.BETA, "<", UPPER, scale=find_largest_bound)
    mean = sym.mean("M", sym.T - sym.U, lambda at: np.logical_or(*np.split(sym.is_free(at), 2)))
    below_f = sym.sum_weights_where(sym.T, "<", sym.F, two.C)
    above_f = sym.sum_weights_where(sym.T, ">", sym.F, two.C)
    return build_steps(
        terms,
        "QSVR",
        first=build_loss_step(
            terms,
            "An underestimate has a loss of τ per unit, an overestimate one of 1 − τ. If all x are the same, the "
            "τ-quantile of t minimises the mean of this loss, as the mean of t minimises the mean square.",
            total(two.C * loss),
        ),
        primal=build_primal_step(
            terms,
            "The maximum of two linear functions is the smallest number above both: its kink becomes two linear "
            "constraints, with a slack and a penalty for each side of f."
        ),
        lagrangian=build_lagrangian_step(terms, two.MULTIPLIERS),
        substitution=build_substitution_step(terms, slack_texts=(two.ETA_TEXT,)),
        dual=build_dual_step(
            terms,
            "only β enters the objective, so this is a problem in n variables between −(1 − τ)C and τC"
        ),
        intercept=build_recovered_b_step(
            terms,
            line(sym.B, "=", mean, scale="level", when=Subset("not any(M)", lambda at: sym.is_free(at).any()),
                 setup_code="M = (kind_above == 1) | (kind_below == 1)"),
            line(sym.U, "=", sym.kernel_sum(two.BETA), before=r",\quad ", joined=True, measured=False),
            rf"M=\{{i:{between_bounds.latex()},\ \beta_i\ne 0\}}", where="On the curve f(x_i) = t_i",
        ),
        kinds=build_kinds_step(
            terms,
            case(INSIDE_BOUNDS, between_bounds, (sym.T, "=", sym.F)),
            case(ABOVE_AT_BOUND, (two.BETA, "=", UPPER), (sym.T, "≥", sym.F), find_largest_bound),
            case(BELOW_AT_BOUND, (two.BETA, "=", -LOWER), (sym.T, "≤", sym.F), find_largest_bound),
        ),
        besides=step(
            "What τ bounds",
            "A sample above the curve has β_i = τC_i, one below it −(1 − τ)C_i, and all β_i add up to 0. So at most a "
            "share τ lies below f and at most 1 − τ above, which makes f a quantile of the training samples. The "
            "residual is the amount by which a bound is violated.",
            Equation("below", (
                line(below_f, "≤", TAU * two.SIGMA_C, scale=two.SIGMA_C.value),
                line(above_f, "≤", (1 - TAU) * two.SIGMA_C, scale=two.SIGMA_C.value),
            )),
            absent="" if problem.intercept == "free" else
            f"intercept={problem.intercept!r}: without a free b, Σ β_i is not 0",
        ),
    )  # fmt: skip
