"""Build the steps of the ε-SVR, (ESVR.1) to (ESVR.16), for the absolute and the squared loss (`steps`)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation.expressions import EquationLine, Subset, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps import two_sided as two
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, case
from qpsvm.derivation.steps.primal import (
    NO_MULTIPLIER_NEEDED,
    build_lagrangian_step,
    build_loss_step,
    build_primal_step,
)
from qpsvm.derivation.steps.recovery import build_recovered_b_step
from qpsvm.derivation.steps.slackness import build_kinds_step
from qpsvm.derivation.steps.stationarity import build_curved_xi_step, build_xi_step
from qpsvm.derivation.term_builders import largest_of, total
from qpsvm.derivation.terms import Term
from qpsvm.machines import EpsilonSVR

#: For the squared loss: ξ_i and ξ*_i at the optimum, as functions of α.
XI_OF_ALPHA = two.ABOVE / (2 * two.C)
XI_STAR_OF_ALPHA = two.BELOW / (2 * two.C)
#: How far a sample is beyond the tube, or 0.
EXCESS = largest_of(0, two.MISSED - two.EPSILON)
#: The beginning of the sentences about both losses.
LOSS_TEXT = (
    "A prediction within ε of its target has no loss. Beyond that, sample i is penalised by C_i per unit beyond ε"
)
#: Line: u, of which b is the rest.
U_LINE = line(sym.U, "=", sym.kernel_sum(two.BETA), measured=False, left="u_i&")
#: Meanings of the symbols of this machine.
SYMBOLS = two.SYMBOLS


def build_terms(problem: EpsilonSVR) -> Formulas:
    """Build the terms of the machine."""
    if problem.loss == "absolute":
        return two.build_terms(problem, total(two.C * (two.XI + two.XI_STAR)))
    slack_errors = (two.XI - XI_OF_ALPHA) ** 2 + (two.XI_STAR - XI_STAR_OF_ALPHA) ** 2
    return two.build_terms(
        problem,
        total(two.C * (two.XI**2 + two.XI_STAR**2)),
        has_linear_penalty=False,
        curvature_term=total((two.ABOVE**2 + two.BELOW**2) / (4 * two.C)),
        curvature_gap=total(two.C * slack_errors),
    )


def steps(problem: EpsilonSVR) -> tuple[Step, ...]:
    """Return all steps, in order."""
    tube = build_terms(problem)
    if problem.loss == "absolute":
        steps_of_loss = _build_absolute_loss_steps(tube)
    else:
        steps_of_loss = _build_squared_loss_steps(tube)
    return build_steps(
        tube,
        "ESVR",
        primal=build_primal_step(
            tube,
            "The loss is the smallest ξ_i and ξ*_i above three linear functions: its kinks become linear constraints, "
            "one for each side of f.",
        ),
        dual=build_dual_step(tube, "2n variables, but only β = α⁺ − α⁻ meets the kernel"),
        **steps_of_loss,
    )


def _build_absolute_loss_steps(tube: Formulas) -> dict[str, Step]:
    """Build the steps of the absolute loss that differ from those of the squared loss."""
    return {
        "first": build_loss_step(
            tube, f"{LOSS_TEXT}, so that a single outlier pulls with a bounded force.", total(two.C * EXCESS)
        ),
        "lagrangian": build_lagrangian_step(tube, two.MULTIPLIERS),
        "xi": build_xi_step(tube),
        "substitution": build_substitution_step(tube, slack_texts=(two.ETA_TEXT,)),
        "kinds": build_kinds_step(tube, *two.KINDS),
        "intercept": build_recovered_b_step(
            tube,
            _build_b_case(0, "kind_above == 1", line(0, "<", two.ABOVE, "<", two.C), sym.T - two.EPSILON),
            _build_b_case(1, "kind_below == 1", line(0, "<", two.BELOW, "<", two.C), sym.T + two.EPSILON),
            U_LINE,
            where="On an edge of the tube f is known",
        ),
    }


def _build_squared_loss_steps(tube: Formulas) -> dict[str, Step]:
    """Build the steps of the squared loss that differ from those of the absolute loss."""
    beyond_by = two.EPSILON + letter(
        r"\tfrac{\alpha^\pm_i}{2C_i}", lambda at: at.svm.curvature * at.alpha, "alpha / tile(2 * C, 2)", "α^±_i/(2C_i)"
    )
    is_support = Subset("alpha > 0", lambda at: at.alpha > 0)
    above, below = "(alpha_above > 0) & (kind_above > 0)", "(alpha_below > 0) & (kind_below > 0)"
    return {
        "first": build_loss_step(tube, f"{LOSS_TEXT}, squared.", total(two.C * EXCESS**2)),
        "lagrangian": build_lagrangian_step(
            tube, first=f"The rows get multipliers, α⁺_i above f, α⁻_i below. ξ ≥ 0 needs none: {NO_MULTIPLIER_NEEDED}."
        ),
        "xi": build_curved_xi_step(
            tube, "The penalty per unit of ξ_i grows with ξ_i, so that at the minimum α is the slope of the loss: a "
            "sample pulls the more, the further it is beyond the tube.",
            line(two.ABOVE, "=", 2 * two.C * two.XI, scale=sym.make_reader("box", 0)),
            line(two.BELOW, "=", 2 * two.C * two.XI_STAR, scale=sym.make_reader("box", 1)),
        ),
        "substitution": build_substitution_step(
            tube, "half of each quadratic term cancels, and the remaining terms of the slacks are a square of α",
            slack_texts=("ξ = α⁺/(2C)", "ξ* = α⁻/(2C)"),
        ),
        "kinds": build_kinds_step(
            tube, two.INSIDE,
            case(is_support, (two.ALPHA_OF_ROW, ">", 0), (two.MISSED_OF_ROW, "=", beyond_by)),
            text=": inside the tube, and beyond it by as much as α says.",
        ),
        "intercept": build_recovered_b_step(
            tube,
            _build_b_case(0, above, line(two.ABOVE, ">", 0), sym.T - two.EPSILON - two.XI),
            _build_b_case(1, below, line(two.BELOW, ">", 0), sym.T + two.EPSILON + two.XI_STAR),
            U_LINE,
            where="A support vector is beyond the tube by the slack, which α gives",
        ),
    }  # fmt: skip


def _build_b_case(half: int, code: str, premise: EquationLine, f: Term) -> EquationLine:
    """Build the equation of b at the samples with a free α⁺ (half 0) or α⁻ (half 1), whose f is known.

    code: The mask of these samples as code.
    """
    subset = Subset(code, lambda at: np.split(sym.is_free(at), 2)[half])
    return case(subset, premise, line(sym.B, "=", f - sym.U, scale="level"))
