"""Define the terms that regressions share: two rows per sample, above f with α⁺ and ξ, below it with α⁻ and ξ*."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.rationals import as_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import EquationLine, Subset, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, RowTerms, case
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, dot, magnitude, reindex
from qpsvm.derivation.terms import Term
from qpsvm.machines import Problem
from qpsvm.machines.problem.penalties import compute_active_penalties

#: The multipliers of the Lagrangian, in words.
MULTIPLIERS = "α⁺_i above f, α⁻_i below it, and η_i, η*_i for the slacks"
#: What is substituted for η, in words.
ETA_TEXT = "what ξ gave"
ABOVE = letter(r"\alpha^+_i", sym.make_reader("alpha", 0))
BELOW = letter(r"\alpha^-_i", sym.make_reader("alpha", 1))
XI = letter(r"\xi_i", sym.make_reader("xi", 0))
XI_STAR = letter(r"\xi^*_i", sym.make_reader("xi", 1))
ETAS = (letter(r"\eta_i", sym.make_reader("eta", 0)), letter(r"\eta^*_i", sym.make_reader("eta", 1)))
BETA = letter(r"\beta_i")
C = letter("C_i", lambda at: active_penalties(at))
SIGMA_C = letter(r"\Sigma_C", lambda at: float(active_penalties(at).sum()), "sum(C)")
EPSILON = letter(r"\varepsilon", lambda at: at.multipliers.get("epsilon", getattr(at.problem, "epsilon", 0.0)))
#: |t_i − f(x_i)| of each sample.
MISSED = magnitude(sym.T - sym.F)
#: The same for each row.
MISSED_OF_ROW = letter("|t_i-f(x_i)|", lambda at: np.tile(MISSED.value(at), 2), "tile(abs(t - f(X)), 2)")
#: α of each row.
ALPHA_OF_ROW = letter(r"\alpha^\pm_i", python="alpha")
#: Meanings of the symbols of a regression.
SYMBOLS = {
    r"\xi": Meaning("slack: ξ of the targets above f, ξ* of those below", "(n,)"),
    r"\alpha": Meaning("dual variables: α⁺ of the rows above f, α⁻ of those below", "(n,)"),
    r"\eta": Meaning("multipliers of the slack: η of ξ ≥ 0, η* of ξ* ≥ 0", "(n,)"),
    r"\beta": Meaning("α⁺ − α⁻, the coefficients of the samples in f", "(n,)"),
    r"\Sigma": Meaning("Σ_C, the sum of all C_i"),
}
#: The samples with α⁺ = α⁻ = 0.
BOTH_ZERO = Subset("(kind_above == 0) & (kind_below == 0)", lambda at: np.logical_and(*np.split(sym.AT_ZERO(at), 2)))
#: The upper bound of α of each row.
UPPER = letter("C_i", "C", "tile(C, 2)")
#: Line: samples with α⁺ = α⁻ = 0 are in the tube.
INSIDE: EquationLine = case(
    BOTH_ZERO, line(ABOVE, "=", BELOW, "=", 0, scale=lambda at: at.box.max()), line(MISSED, "≤", EPSILON, scale="level")
)
#: Lines: samples in the tube, on its edge, and beyond it.
KINDS = (
    INSIDE,
    case(sym.FREE, (0, "<", ALPHA_OF_ROW, "<", UPPER), (MISSED_OF_ROW, "=", EPSILON)),
    case(sym.AT_BOUND, (ALPHA_OF_ROW, "=", UPPER), (MISSED_OF_ROW, "≥", EPSILON)),
)


def active_penalties(at: At) -> FloatArray:
    """Return C_i of the active samples: (n,)."""
    return as_floats(compute_active_penalties(at.problem.C, at.problem.samples))


def build_terms(
    problem: Problem, penalty: Term, uppers: tuple[Term, Term] = (C, C), width: Term | None = EPSILON,
    is_width_in_dual: bool = True, has_linear_penalty: bool = True, **terms: Any,
) -> Formulas:  # fmt: skip
    """Build the terms of a regression, which requires |t − f| ≤ width + slack.

    penalty: The slack's part of the primal objective.
    uppers: The upper bounds of α⁺ and α⁻.
    width: The half width of the tube; None for 0.
    is_width_in_dual: Whether the width is in the objective of the dual, as it is unless it is a variable.
    has_linear_penalty: Whether the slack has a linear penalty, hence a multiplier η and an upper bound of α.
    terms: Further fields of `Formulas`.
    """
    rows = []
    for half, (alpha, slack, excess) in enumerate(((ABOVE, XI, sym.T - sym.F), (BELOW, XI_STAR, sym.F - sym.T))):
        bounds: dict[str, Any]
        if has_linear_penalty:
            bounds = {"eta": ETAS[half], "penalised_slack": slack, "upper": uppers[half]}
        else:
            bounds = {}
        rows.append(RowTerms(alpha, slack, width, excess, side=half, **bounds))
    linear_terms: tuple[Term, ...] = (dot(sym.T, BETA),)
    if width and is_width_in_dual:
        linear_terms = dot(reindex(sym.T), BETA), -(width * dot(1, ABOVE + BELOW))
    return Formulas(
        problem, tuple(rows), penalty, linear=linear_terms, coef=BETA, pair_factor=r"\beta_i\beta_j",
        balance=dot(1, BETA), quadratic=HALF * letter(r"\beta^{\top}K\beta", "quadratic", "beta @ K @ beta"),
        compared_value=sym.F, matrix=r"X^{\top}\beta", sides="sides of f", **terms,
    )  # fmt: skip
