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
from qpsvm.machines import EpsilonSVR

#: For the squared loss: ξ_i and ξ*_i at the optimum, as functions of α.
XI_OF_ALPHA = (two.ABOVE / (2 * two.C), two.BELOW / (2 * two.C))
#: Meanings of the symbols of this machine.
SYMBOLS = two.SYMBOLS


def build_terms(problem: EpsilonSVR) -> Formulas:
    """Build the terms of the machine."""
    if problem.loss == "absolute":
        return two.build_terms(problem, total(two.C * (two.XI + two.XI_STAR)))
    above, below = two.XI - XI_OF_ALPHA[0], two.XI_STAR - XI_OF_ALPHA[1]
    return two.build_terms(
        problem,
        total(two.C * (two.XI**2 + two.XI_STAR**2)),
        has_linear_penalty=False,
        curvature_term=total((two.ABOVE**2 + two.BELOW**2) / (4 * two.C)),
        curvature_gap=total(two.C * (above**2 + below**2)),
    )


def steps(problem: EpsilonSVR) -> tuple[Step, ...]:
    """Return all steps, in order."""
    squared = problem.loss == "squared"
    tube = build_terms(problem)
    beyond = largest_of(0, two.MISSED - two.EPSILON)
    return build_steps(
        tube,
        "ESVR",
        first=build_loss_step(
            tube,
            "A prediction within ε of its target has no loss. Beyond that, sample i is penalised by C_i per unit "
            "beyond ε" + (", squared." if squared else ", so that a single outlier pulls with a bounded force."),
            total(two.C * (beyond**2 if squared else beyond)),
        ),
        primal=build_primal_step(
            tube,
            "The loss is the smallest ξ_i and ξ*_i above three linear functions: its kinks become linear constraints, "
            "one for each side of f.",
        ),
        dual=build_dual_step(tube, "2n variables, but only β = α⁺ − α⁻ meets the kernel"),
        intercept=build_recovered_b_step(
            tube,
            build_edge_case(0, squared),
            build_edge_case(1, squared),
            line(sym.U, "=", sym.kernel_sum(two.BETA), measured=False, left="u_i&"),
            where="A support vector is beyond the tube by the slack, which α gives"
            if squared
            else "On an edge of the tube f is known",
        ),
        **(build_squared_loss_steps(tube) if squared else build_absolute_loss_steps(tube)),
    )


def build_absolute_loss_steps(tube: Formulas) -> dict[str, Step]:
    """Build the steps that differ for the absolute loss."""
    return {
        "lagrangian": build_lagrangian_step(tube, two.MULTIPLIERS),
        "xi": build_xi_step(tube),
        "substitution": build_substitution_step(tube, slack_texts=(two.ETA_TEXT,)),
        "kinds": build_kinds_step(tube, *two.KINDS),
    }


def build_squared_loss_steps(tube: Formulas) -> dict[str, Step]:
    """Build the steps that differ for the squared loss."""
    beyond_by = two.EPSILON + letter(
        r"\tfrac{\alpha^\pm_i}{2C_i}", lambda at: at.svm.curvature * at.alpha, "alpha / tile(2 * C, 2)", "α^±_i/(2C_i)"
    )
    slopes = [
        line(alpha, "=", 2 * two.C * xi, scale=sym.make_reader("box", half))
        for half, (alpha, xi) in enumerate(((two.ABOVE, two.XI), (two.BELOW, two.XI_STAR)))
    ]
    is_support = Subset("alpha > 0", lambda at: at.alpha > 0)
    return {
        "lagrangian": build_lagrangian_step(
            tube, first=f"The rows get multipliers, α⁺_i above f, α⁻_i below. ξ ≥ 0 needs none: {NO_MULTIPLIER_NEEDED}."
        ),
        "xi": build_curved_xi_step(
            tube, "The penalty per unit of ξ_i grows with ξ_i, so that at the minimum α is the slope of the loss: a "
            "sample pulls the more, the further it is beyond the tube.",
            *slopes,
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
    }  # fmt: skip


def build_edge_case(half: int, squared: bool) -> EquationLine:
    """Build the equation of b at a sample on an edge of the tube, or, for the squared loss, beyond it by its slack.

    half: The edge: 0 above f, 1 below it.
    """
    alpha = (two.ABOVE, two.BELOW)[half]
    slack = (two.XI, two.XI_STAR)[half] if squared else None
    b = sym.T - two.EPSILON - slack if half == 0 else sym.T + two.EPSILON + slack
    premise = line(alpha, ">", 0) if squared else line(0, "<", alpha, "<", two.C)
    name = ("above", "below")[half]
    code = f"(alpha_{name} > 0) & (kind_{name} > 0)" if squared else f"kind_{name} == 1"
    return case(
        Subset(code, lambda at: np.split(sym.is_free(at), 2)[half]), premise, line(sym.B, "=", b - sym.U, scale="level")
    )
