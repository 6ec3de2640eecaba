"""Build the steps of the hard margin, (HARD.1) to (HARD.16)."""

from __future__ import annotations

import numpy as np

from qpsvm.bounds import certify
from qpsvm.bounds.hard_margin import find_middle_intercept
from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, case, step
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_primal_step
from qpsvm.derivation.steps.slackness import build_box_step, build_kinds_step, build_slackness_step
from qpsvm.derivation.steps.two_class import build_margin_step, build_two_class
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, dot, operation, total
from qpsvm.derivation.terms import Term
from qpsvm.machines import HardMargin
from qpsvm.program.losses import compute_gap_term

#: The smallest u of the class +1, and the largest u of the class −1, for u = K(α∘y) at a point `at`.
MIN_U = letter(r"\min_{+}u", value=lambda at: float(at.u[at.y > 0].min()), python="u[y > 0].min()", text="min₊ u")
MAX_U = letter(r"\max_{-}u", value=lambda at: float(at.u[at.y < 0].max()), python="u[y < 0].max()", text="max₋ u")
#: Meanings of the symbols of this machine.
SYMBOLS = {
    r"\delta": Meaning("half of the gap between the classes along w(α)"),
    "M": Meaning("samples with α_i > 0, the support vectors"),
}


def build_terms(problem: HardMargin) -> Formulas:
    """Build the terms of the machine: those of a C-SVM without slack, and with α not bounded from above."""
    return build_two_class(problem, upper=None, penalty=None, slack=None, penalised_slack=None)


def steps(problem: HardMargin) -> tuple[Step, ...]:
    """Return all steps, in order."""
    machine = build_terms(problem)
    return build_steps(
        machine,
        "HARD",
        first=build_margin_step(machine),
        primal=build_primal_step(
            machine,
            "Maximising 2/‖w‖ is minimising ½‖w‖², a convex function, under one linear constraint per sample. The "
            "levels ±1 fix the scale of w.",
        ),
        lagrangian=build_lagrangian_step(
            machine, first="Every constraint gets a multiplier, the cost of a unit of violation."
        ),
        xi=None,  # no slack, so no stationarity in ξ
        box=build_box_step(
            machine,
            "Multipliers of inequalities are not negative. They have no upper bound, because hard "
            "constraints must not be violated at any cost.",
        ),
        slackness=build_slackness_step(
            machine,
            "A sample beyond its margin has α = 0. So the hyperplane depends only on those on the margin, the support "
            "vectors.",
            function=compute_gap_term,
        ),
        substitution=build_substitution_step(
            machine, "b drops out, half of the quadratic term cancels, and only kernel values are left", slack_texts=()
        ),
        dual=build_dual_step(machine, "one variable per sample, and one equality"),
        intercept=_build_intercept_step(machine),
        kinds=build_kinds_step(
            machine,
            case(sym.AT_ZERO, (sym.ALPHA, "=", 0), (machine.compared_value, "≥", 1)),
            case(sym.POSITIVE, (sym.ALPHA, ">", 0), (machine.compared_value, "=", 1)),
        ),
        strong=_build_strong_duality_step(),
        besides=_build_certificate_step(),  # between strong and weak duality
    )


def _build_intercept_step(machine: Formulas) -> Step:
    """Build the step of b, (HARD.11)."""
    b_between_classes = -(HALF * (MIN_U + MAX_U))
    mean_b = sym.mean("M", sym.Y - sym.kernel_sum(machine.coef), rows=lambda at: at.on_margin)
    return step(
        "Recovering b",
        "The plane is as far from the nearest sample of one class as from that of the other, with u = K(α∘y). Both "
        "are on the margin, where f(x_i) = y_i, so the mean of y_i − u_i over all such samples is the same b.",
        Equation("below", (
            line(sym.B, "=", b_between_classes, scale=lambda at: 1 + abs(at.b)),
            line(sym.B, "=", mean_b, scale=lambda at: 1 + abs(at.b), left=r"\phantom{b}", setup_code="M = kind == 1"),
            rf"M=\{{i:{line(sym.ALPHA, '>', 0).latex()}\}}",
        ), explain_unmeasurable=lambda at: "" if at.on_margin.any() else "no sample has α > 0"),
        function=find_middle_intercept,
    )  # fmt: skip


def _build_strong_duality_step() -> Step:
    """Build the step of strong duality, (HARD.13)."""
    half_norm2 = HALF * sym.W_SQUARED
    return step(
        "Strong duality",
        "Both optimal values are the same number. As ½αᵀQα = ½‖w‖², the sum of α gives the margin without w.",
        Equation("below", (
            line(half_norm2, "=", total(sym.ALPHA) - half_norm2, scale="objective_scale"),
            line(half_norm2, "=", sym.QP_VALUE, scale="objective_scale", shown=False),
            line(2 / sym.NORM, "=", 2 / _build_square_root(total(sym.ALPHA)), before=r"\Longrightarrow\quad "),
        )),
    )  # fmt: skip


def _build_certificate_step() -> Step:
    """Build the step of the bounds from w(α)/δ, which is feasible, and from the best multiple of α, (HARD.14)."""
    half_gap = HALF * (MIN_U - MAX_U)
    delta = letter(r"\delta", value=half_gap.value, python="half_gap")
    norm2 = letter(r"\|w(\alpha)\|^2", value="quadratic", python="norm(w_of_alpha)**2")  # the attribute: αᵀQα
    upper_bound = norm2 / (2 * delta**2)
    lower_bound = dot(1, sym.ALPHA) ** 2 / (2 * norm2)
    optimum = HALF * letter(r"\|w^*\|^2", value="square_of_w", python="norm(w)**2")
    return step(
        "Certificate",
        "A direction w(α) that separates the classes becomes feasible when it is divided by δ. Any positive multiple "
        "of a feasible α is feasible, and the multiple by 1ᵀα/‖w(α)‖² has the largest dual value. The values of these "
        "two points enclose the optimum.",
        Equation("below", (
            line(delta, "=", half_gap, ">", 0),
            line(lower_bound, "≤", optimum, "≤", upper_bound, scale="objective_scale"),
            line(upper_bound, "=", lower_bound, shown=False),
        )),
        function=certify.scale_to_level,
    )  # fmt: skip


def _build_square_root(radicand: Term) -> Term:
    """Return the square root of a term, 0 if it is negative."""
    return operation(r"\sqrt{%s}", "√(%s)", "sqrt(%s)", lambda _, a: float(np.sqrt(max(a, 0.0))), radicand)
