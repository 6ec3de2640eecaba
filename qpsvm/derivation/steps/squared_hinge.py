"""Build the steps of the squared hinge, (SQHINGE.1) to (SQHINGE.17)."""

from __future__ import annotations

from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.relative_size import reference_size
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, build_value_line, case, step
from qpsvm.derivation.steps.primal import NO_MULTIPLIER_NEEDED, build_lagrangian_step, build_primal_step
from qpsvm.derivation.steps.slackness import build_kinds_step
from qpsvm.derivation.steps.stationarity import build_curved_xi_step
from qpsvm.derivation.steps.two_class import build_margin_step, build_two_class
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, total
from qpsvm.machines import SquaredHinge

#: C_i, the penalty of a squared slack: δ_i = 1/(2C_i).
C = letter("C_i", lambda at: 0.5 / at.svm.curvature)
#: δ_iα_i.
CURVE = sym.ALPHA / (2 * C)
#: αᵀ(Q + D)α with D = diag(1/(2C)).
QUADRATIC_FORM = letter(
    r"\alpha^{\top}(Q+D)\alpha",
    lambda at: at.quadratic + float(at.svm.curvature @ at.alpha**2),
    "alpha @ (Q + diag(1 / (2 * C))) @ alpha",
)
#: Meanings of the symbols of this machine.
SYMBOLS = {"e": Meaning("e_i, the unit vector of sample i", "(n,)")}


def build_terms(problem: SquaredHinge) -> Formulas:
    """Build the terms of the machine."""
    return build_two_class(
        problem, None, total(C * sym.XI**2), penalised_slack=None, curvature_slack=CURVE,
        curvature_term=total(sym.ALPHA**2 / (4 * C)), curvature_gap=total(C * (sym.XI - CURVE) ** 2),
    )  # fmt: skip


def steps(problem: SquaredHinge) -> tuple[Step, ...]:
    """Return all steps, in order."""
    soft = build_terms(problem)
    yf_with_slack = soft.compared_value + CURVE
    return build_steps(
        soft,
        "SQHINGE",
        first=build_margin_step(soft),
        primal=build_primal_step(
            soft,
            "A wide margin is weighed against the squares of slack. A little slack costs next to nothing, and a sample "
            "far on the wrong side costs more than many near their margin.",
        ),
        lagrangian=build_lagrangian_step(
            soft, first=f"The margin rows get multipliers. ξ_i ≥ 0 needs none: {NO_MULTIPLIER_NEEDED}."
        ),
        xi=build_curved_xi_step(
            soft,
            "The penalty of the slack has the slope 2C_iξ_i, which equals the multiplier α_i of the margin row. So α "
            "is the slack in other units, and there is no slack without a multiplier.",
            line(sym.XI, "=", CURVE, scale="level"),
        ),
        substitution=build_substitution_step(
            soft,
            "half of each quadratic term cancels, and the remaining terms of the slack are a square of α",
            slack_texts=("ξ = α/(2C)",),
        ),
        dual=build_dual_step(soft, "α has no upper bound, and the square keeps it from growing"),
        kinds=build_kinds_step(
            soft,
            case(sym.AT_ZERO, (sym.ALPHA, "=", 0), (soft.compared_value, "≥", 1)),
            case(sym.POSITIVE, (sym.ALPHA, ">", 0), (soft.compared_value, "=", 1 - CURVE)),
            text=". No support vector lies on the margin itself: the first bit "
            "of slack is free, so that every one has some.",
        ),
        last=step(
            "A hard margin in a larger space",
            "D on the diagonal is a kernel of its own: every sample has one more feature, which no other sample has. "
            "With these any classes can be separated, and the hard margin there is this machine.",
            Equation(
                "below",
                (
                    r"\tilde\varphi(x_i)=\Bigl(\varphi(x_i),\ \tfrac{1}{\sqrt{2C_i}}\,e_i\Bigr)",
                    r"\langle\tilde\varphi(x_i),\tilde\varphi(x_j)\rangle=\bigl(K+\operatorname{diag}\tfrac{1}{2C}\bigr)_{ij}",
                    build_value_line(
                        HALF * QUADRATIC_FORM + (HALF * soft.balance**2 if soft.has_penalised_b else None),
                        "=",
                        sym.QP_VALUE,
                    ),
                    line(
                        yf_with_slack, "≥", 1, scale=lambda at: reference_size(yf_with_slack.value(at), at.f_term_size)
                    ),
                ),
            ),
        ),
    )
