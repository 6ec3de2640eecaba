"""Define the terms that regressions share: two rows per sample, above f with α⁺ and ξ, below it with α⁻ and ξ*."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.rationals import as_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import EquationLine, Subset, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.steps import letters as sym
from qpsvm.derivation.steps.argument import RowTerms, case
from qpsvm.derivation.steps.shared import Argument
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, dot, magnitude, reindex
from qpsvm.derivation.terms import Term
from qpsvm.machines import Problem
from qpsvm.machines.problem.penalties import compute_active_penalties

#: What the Lagrangian of a regression has, and how slacks and η leave it.
MULTIPLIERS, ETA = "α⁺_i above f, α⁻_i below it, and η_i, η*_i for the slacks", "what ξ gave"
ABOVE = letter(r"\alpha^+_i", sym.get_part("alpha", 0))
BELOW = letter(r"\alpha^-_i", sym.get_part("alpha", 1))
XI = letter(r"\xi_i", sym.get_part("xi", 0))
XI_STAR = letter(r"\xi^*_i", sym.get_part("xi", 1))
ETAS = (letter(r"\eta_i", sym.get_part("eta", 0)), letter(r"\eta^*_i", sym.get_part("eta", 1)))
BETA = letter(r"\beta_i")
C = letter("C_i", lambda at: active_prices(at))
SIGMA_C = letter(r"\Sigma_C", lambda at: float(active_prices(at).sum()), "sum(C)")
EPSILON = letter(
    r"\varepsilon", lambda at: at.multipliers.get("epsilon", getattr(at.problem, "epsilon", 0.0))
)  # fmt: skip
#: |t_i − f(x_i)|, for each sample, and for each row.
MISSED = magnitude(sym.T - sym.F)
EACH = letter("|t_i-f(x_i)|", lambda at: np.tile(MISSED.value(at), 2), "tile(abs(t - f(X)), 2)")
EITHER = letter(r"\alpha^\pm_i", python="alpha")
#: What the letters of a regression mean.
SYMBOLS = {
    r"\xi": Meaning("slack: ξ of the targets above f, ξ* of those below", "(n,)"),
    r"\alpha": Meaning("dual variables: α⁺ of the rows above f, α⁻ of those below", "(n,)"),
    r"\eta": Meaning("multipliers of the slack: η of ξ ≥ 0, η* of ξ* ≥ 0", "(n,)"),
    r"\beta": Meaning("α⁺ − α⁻, the coefficients of the samples in f", "(n,)"),
    r"\Sigma": Meaning("Σ_C, the sum of all C_i"),
}
#: The samples of which both α are 0.
NEITHER = Subset("(kind_above == 0) & (kind_below == 0)", lambda at: np.logical_and(*np.split(sym.ZERO(at), 2)))
#: Where a sample is that is inside of a tube, on its edge, or beyond it.
UPPER = letter("C_i", "C", "tile(C, 2)")
INSIDE: EquationLine = case(
    NEITHER, line(ABOVE, "=", BELOW, "=", 0, scale=lambda at: at.box.max()), line(MISSED, "≤", EPSILON, scale="level")
)  # fmt: skip
KINDS = (
    INSIDE, case(sym.BETWEEN, (0, "<", EITHER, "<", UPPER), (EACH, "=", EPSILON)),
    case(sym.BOUNDED, (EITHER, "=", UPPER), (EACH, "≥", EPSILON))
)  # fmt: skip


def active_prices(at: At) -> FloatArray:
    """Return C_i of the active samples: (n,)."""
    return as_floats(compute_active_penalties(at.problem.C, at.problem.samples))


def argument(
    problem: Problem, price: Term, uppers: tuple[Term, Term] = (C, C), width: Term | None = EPSILON,
    linear: bool = True, priced: bool = True, **more: Any,
) -> Argument:  # fmt: skip
    """Build a regression whose f may miss t by a width."""
    rows = []
    for half, (alpha, slack, ahead) in enumerate(((ABOVE, XI, sym.T - sym.F), (BELOW, XI_STAR, sym.F - sym.T))):
        bounds: dict[str, Any] = {"eta": ETAS[half], "priced": slack, "upper": uppers[half]} if priced else {}
        rows.append(RowTerms(alpha, slack, width, ahead, half=half, **bounds))
    mass = dot(1, ABOVE + BELOW)
    terms = (dot(reindex(sym.T), BETA), -(width * mass)) if width and linear else (dot(sym.T, BETA),)
    return Argument(
        problem, tuple(rows), price, linear=terms, coef=BETA, pairs=r"\beta_i\beta_j", pull=dot(1, BETA),
        quadratic=HALF * letter(r"\beta^{\top}K\beta", "quadratic", "beta @ K @ beta"), reach=sym.F,
        matrix=r"X^{\top}\beta", sides="sides of f", **more,
    )  # fmt: skip
