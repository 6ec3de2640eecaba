"""Build the steps of the one-class SVM, (ONE.1) to (ONE.19)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.bounds import levels
from qpsvm.derivation.expressions import Equation, EquationLine, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import NotMeasurableError
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, RowTerms, step
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_primal_step
from qpsvm.derivation.steps.stationarity import build_other_variable_step
from qpsvm.derivation.steps.two_class import build_nu_step
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, dot, total
from qpsvm.derivation.terms import Term
from qpsvm.machines import OneClass, Problem

S = letter("s_i", "C")
WEIGHT_SUM = letter("S", lambda at: float(at.C.sum()), "sum(s)")
RHO = letter(r"\rho", lambda at: -at.b)
ALPHA_SUM = dot(1, sym.ALPHA)
NU_S = sym.NU * WEIGHT_SUM
QUADRATIC_FORM = letter(r"\alpha^{\top}Q\alpha", "quadratic", "alpha @ Q @ alpha")
#: The text of the step about ν, of both machines for novelty detection.
NU_BOUNDS_TEXT = (
    "A sample outside has its α_i at the bound, so such samples weigh at most a share ν together. No α_i is above its "
    "bound, so the support vectors weigh at least that share."
)
#: Meanings of the symbols of this machine.
SYMBOLS = {
    "Q": Meaning("Q_ij = K(x_i, x_j)", "(n, n)"),
    "s": Meaning("weights of the samples, the upper bounds of α", "(n,)"),
    "S": Meaning("sum of the sample weights"),
    r"\rho": Meaning("offset: f(x) = ⟨w, φ(x)⟩ − ρ"),
}


def build_unlabelled(problem: Problem, rows: RowTerms, penalty: Term, **terms: Any) -> Formulas:
    """Build the terms of a machine without labels, which requires f ≥ −slack.

    penalty: The slack's part of the primal objective.
    terms: Further fields of `Formulas`.
    """
    return Formulas(
        problem, (rows,), penalty, coef=sym.ALPHA, pair_factor=r"\alpha_i\alpha_j", matrix=r"X^{\top}\alpha", **terms
    )


def build_terms(problem: OneClass) -> Formulas:
    """Build the terms of the machine."""
    rows = RowTerms(sym.ALPHA, sym.XI, sym.W_DOT_PHI, RHO, sym.ETA, sym.XI, S)
    return build_unlabelled(
        problem, rows, total(S * sym.XI), linear=(), quadratic=HALF * QUADRATIC_FORM, other_variables=r",\rho",
        reward=-(NU_S * RHO), equality=(RHO, ALPHA_SUM, NU_S), intercept_term=-RHO, level=0.0, b="ρ",
    )  # fmt: skip


def steps(problem: OneClass) -> tuple[Step, ...]:
    """Return all steps, in order."""
    plane = build_terms(problem)
    distance = letter(
        r"\operatorname{dist}\bigl(0,\{f=0\}\bigr)",
        measure_plane_distance,
        "distance",
        "how far the boundary is along w",
    )
    max_u = letter(r"\max_i u_i", lambda at: float(at.u.max()), "u.max()", "max u_i")
    primal_at_zero = letter("P(0,0,0)", lambda _: 0.0, "P(0, 0, 0)")
    primal_at_optimum = plane.objective.with_name("the primal's value", r"P(w^*,\rho^*,\xi^*)")
    return build_steps(
        plane,
        "ONE",
        first=step(
            "Plane",
            "The plane f = 0 is ρ/‖w‖ away from the origin. Samples on the boundary lie on it, so that this is how far "
            "they reach along w/‖w‖.",
            Equation("alone", (line(distance, "=", RHO / sym.NORM, scale=distance_scale),)),
        ),
        primal=build_primal_step(
            plane,
            "−νSρ rewards a plane far from the origin, and a sample on the side of the origin pays for it. S is the "
            "sum of the weights, n without any: ν balances the two in shares of samples."
        ),
        lagrangian=build_lagrangian_step(plane, "α_i for the plane and η_i for ξ_i ≥ 0"),
        b=None,
        level=build_other_variable_step(
            plane,
            " So ν is the mean of the multipliers, in units of the weights.",
        ),
        substitution=build_substitution_step(
            plane,
            "ρ and ξ drop out, and with them everything that is linear in α", slack_texts=("η = s − α",)
        ),
        dual=build_dual_step(
            plane,
            "the shortest vector in the reduced convex hull of the samples, in units of νS: where the plane touches "
            "the hull, it is perpendicular to that"
        ),
        intercept=step(
            "Recovering ρ",
            "For a given w, only −νSρ and the slacks depend on ρ. The best ρ has a share ν of the weights below it: a "
            "weighted quantile of u = Kα.",
            Equation("below", (
                sym.build_quantile_line(sym.U, "<", RHO, S, NU_S),
                line(sym.U, "=", sym.kernel_sum(sym.ALPHA), measured=False),
                EquationLine((sym.U, RHO), ("=",), scale="level", rows=sym.ON_MARGIN,
                     before=line(0, "<", sym.ALPHA, "<", S).latex() + r"\ \Rightarrow\ "),
            )),
            levels.find_soft_minimisers, general="LEVEL.3",
        ),
        besides=build_nu_step(plane, sym.F, 0, NU_S, NU_BOUNDS_TEXT),
        last=(
            step(
            "The origin among the samples",
            "The objective is 0 at w = 0 and ρ = 0, so the optimum, at w*, ρ* and ξ*, is never above 0. It is 0 if the "
            "reduced hull of the samples contains the origin, and no plane separates them.",
            Equation("alone", (
                line(primal_at_zero, "=", 0, measured=False),
                line(-(HALF * QUADRATIC_FORM), "≤", primal_at_optimum, "≤", 0, scale="objective_scale",
                     map_point=sym.with_needed_slack, before=r"\quad\Longrightarrow\quad "),
            )),
        ),
            step(
            "All of the weight: ν = 1",
            "The bounds then determine α = s. No sample need be inside, and ρ has no largest value: the reward of a "
            "larger ρ equals the penalty of the slacks.",
            Equation("alone", (
                line(letter(r"\alpha", text="α_i"), "=", letter("s", "C", text="s_i"), scale="max_alpha",
                     before=r"\nu=1\quad\Longrightarrow\quad "),
                line(RHO, "≥", max_u, before=r",\quad ", scale="level"),
            ), lambda at: "" if at.problem.nu == 1.0 else f"ν is {at.problem.nu:g}, so that there is a choice"),
            levels.find_soft_minimisers, general="LEVEL.3",
        ),
        ),
    )  # fmt: skip


def measure_plane_distance(at: At) -> float:
    """Return the mean distance of the samples on the boundary from the origin, along w/‖w‖.

    Raises NotMeasurableError.
    """
    norm = float(np.sqrt(at.square_of_w))
    if not norm:
        raise NotMeasurableError("w is 0: the origin is among the samples, and no plane parts them from it")
    if not at.on_margin.any():
        raise NotMeasurableError("no sample on the boundary, so that none shows where the plane is")
    return float((at.f - at.b)[at.on_margin].mean()) / norm


def distance_scale(at: At) -> float:
    """Return the scale of differences of distances from the origin."""
    return max(abs(at.b), at.level) / float(np.sqrt(at.square_of_w))
