"""Build the steps of Huber's hinge, (HUBER.1) to (HUBER.17).

The slack of a sample is ξ + ζ: the penalty C ξ²/(2κ) of ξ is quadratic, that of ζ, Cζ, is linear.
"""

from __future__ import annotations

from qpsvm.derivation.expressions import Equation, line, write_stationarity
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, case, step
from qpsvm.derivation.steps.primal import NO_MULTIPLIER_NEEDED, build_lagrangian_step, build_primal_step
from qpsvm.derivation.steps.slackness import build_kinds_step
from qpsvm.derivation.steps.stationarity import build_eta_lines
from qpsvm.derivation.steps.two_class import build_margin_step, build_two_class
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, largest_of, total
from qpsvm.machines import HuberHinge

WIDTH = letter(r"\kappa", lambda at: float(at.problem.width))
XI = letter(r"\xi_i", lambda at: at.xi - at.zeta)
ZETA = letter(r"\zeta_i")
#: δ_iα_i = κα_i/C_i, which is ξ_i at an optimum.
CURVE = WIDTH * sym.ALPHA / sym.C
#: Meanings of the symbols of this machine.
SYMBOLS = {
    r"\kappa": Meaning("width of the quadratic part of the loss"),
    r"\xi": Meaning("the part of the slack that costs its square", "(n,)"),
    r"\zeta": Meaning("the rest of the slack, which costs C per unit", "(n,)"),
    r"\eta": Meaning("multipliers of ζ ≥ 0", "(n,)"),
    "t": Meaning("a slack"),
    r"\psi": Meaning("the loss of a slack", "(n,)"),
}


def build_terms(problem: HuberHinge) -> Formulas:
    """Build the terms of the machine."""
    return build_two_class(
        problem, sym.C, total(sym.C * (XI**2 / (2 * WIDTH) + ZETA)), slack=XI + ZETA, penalised_slack=ZETA,
        curvature_slack=CURVE, curvature_term=HALF * total(WIDTH * sym.ALPHA**2 / sym.C),
        curvature_gap=total(sym.C / (2 * WIDTH) * (XI - CURVE) ** 2)
    )  # fmt: skip


def steps(problem: HuberHinge) -> tuple[Step, ...]:
    """Return all steps, in order."""
    soft = build_terms(problem)
    t = letter("t", lambda at: at.xi)
    psi = letter(r"\psi_i(t)", lambda at: at.compute_losses(at.xi), "psi")
    minimum = -largest_of(-(sym.C * t), -(sym.C / (2 * WIDTH) * t**2))
    smaller_penalty = letter(
        r"\min\Bigl(C_it,\ \tfrac{C_i}{2\kappa}t^2\Bigr)",
        minimum.value,
        "minimum(C * t, C * t**2 / (2 * kappa))",
        "min(C_i t, C_i t²/(2κ))",
    )
    xi_line = line(XI, "=", CURVE, scale="level", before=write_stationarity(r"\xi_i"))
    return build_steps(
        soft,
        "HUBER",
        first=build_margin_step(soft),
        primal=build_primal_step(
            soft,
            "Slack has two parts. The penalty of ξ_i is quadratic, and its slope is smaller than that of ζ_i until "
            "ξ_i = κ; beyond that, ζ_i is cheaper.",
        ),
        lagrangian=build_lagrangian_step(
            soft,
            first="The margin rows get multipliers α, and ζ_i ≥ 0 gets η_i. ξ_i ≥ 0 needs none: "
            f"{NO_MULTIPLIER_NEEDED}.",
        ),
        level=step(
            "Stationarity in ξ and ζ",
            "The penalty of ξ_i has the slope C_iξ_i/κ, which equals the multiplier α_i of the margin row: α is the "
            "curved part of the slack in other units. ζ_i is in two constraints, whose multipliers add up to its "
            "penalty.",
            Equation("below", (xi_line, *build_eta_lines(soft, write_stationarity(r"\zeta_i")))),
        ),
        xi=None,  # part of "level"
        substitution=build_substitution_step(
            soft,
            "ζ drops out, half of each quadratic term cancels, and the remaining terms of ξ are a square of α",
            slack_texts=("ξ = κα/C", "η = C − α"),
        ),
        dual=build_dual_step(soft, "the box of a C-SVM, and a square"),
        kinds=build_kinds_step(
            soft,
            case(sym.AT_ZERO, (sym.ALPHA, "=", 0), (soft.compared_value, "≥", 1)),
            case(sym.FREE, (0, "<", sym.ALPHA, "<", sym.C), (soft.compared_value, "=", 1 - CURVE)),
            case(sym.AT_BOUND, (sym.ALPHA, "=", sym.C), (soft.compared_value, "≤", 1 - WIDTH)),
            text=": outside the margin, inside it by less than κ, and inside "
            "it by more, where every sample pulls equally.",
        ),
        last=step(
            "Between hinge and squared hinge",
            "The penalty of a slack t ≥ 0, ψ_i(t), lies between that of the C-SVM minus C_iκ/2 and that of the C-SVM, "
            "and is never above that of a square: it is the square up to t = κ. So a small κ gives the C-SVM, and a "
            "large one the squared hinge with C_i/(2κ).",
            Equation(
                "alone",
                (line(sym.C * (t - WIDTH / 2), "≤", psi, "≤", smaller_penalty, scale="objective_scale"),),
                lambda at: "" if at.xi.any() else "no sample has slack",
            ),
        ),
    )
