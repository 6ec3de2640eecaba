"""Define the symbols of the machines as terms: how each is written, and its value at a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.derivation.display import HOLDS
from qpsvm.derivation.expressions import RELATIONS, EquationLine, Subset, line, shift_by_tol
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.relative_size import reference_size, relative_to
from qpsvm.derivation.residual import NotMeasurableError
from qpsvm.derivation.term_builders import operation, reindex
from qpsvm.derivation.terms import Term
from qpsvm.program import residuals
from qpsvm.program.status import Status

#: Share of the level by which a row may miss it and still be on it: rounding.
ROUNDING = 1e-9
W = letter("w", "products")
W2 = letter(r"\|w\|^2", "square_of_w", "norm(w)**2")
NORM = letter(r"\|w\|", lambda at: np.sqrt(at.square_of_w), "norm(w)")
B = letter("b")
Y = letter("y_i")
F = letter("f(x_i)", "values", "f(X)")
U = letter("u_i")
T = letter("t_i", lambda at: at.problem._active_target)
RHO = letter(r"\rho")
NU = letter(r"\nu", lambda at: at.problem.nu)
DIAGONAL = letter("K(x_i,x_i)", lambda at: 2.0 * at.margin, "K.diagonal()")
PRODUCT = letter(r"\langle w,\varphi(x_i)\rangle", lambda at: at.values - at.b, "(phi(X) @ w)")
ALPHA = letter(r"\alpha_i")
F_BETWEEN = letter("f(x)", "f_between")
XI = letter(r"\xi_i")
C = letter("C_i")
PRICE = letter(r"\pi_j", "user_prices", "price")
ETA = letter(r"\eta_i")
CLAIMED = letter("P", lambda at: at.result.primal, "result.primal", "the value claimed")
CLAIMED_DUAL = letter("D", lambda at: at.result.dual, "result.dual", "the value claimed")
QP_VALUE = letter("D", "dual_value", "-qp.objective(variables)", "minus the objective of the dual QP")
#: α = 0; α between its bounds, or above 0 where nothing bounds it; α at its upper bound.
ZERO = Subset("kind == 0", lambda at: at.kind == 0)
ON_MARGIN = Subset("kind == 1", lambda at: at.on_margin)
#: The prices of the linear constraints, and that a projected gradient step does not move them.
PRICES_POSITIVE = line(
    PRICE, "≥", 0, place="constraint", scale=lambda at: float(np.abs(at.user_prices).max()) or 1.0
)  # fmt: skip
#: A sample of weight 0 has no α.
NOTHING = line(
    letter("", "alpha_without_weight", "",
    "the largest |α| of a sample of weight 0"), "=", 0, scale=lambda at: at.box.max(), shown=False
)  # fmt: skip


def get_part(name: str, half: int | None = None, factor: float = 1.0) -> Callable[[Any], Any]:
    """Return a function that reads an attribute of a point times a factor; of a regression, one half of the rows."""

    def find(at: Any) -> Any:
        found = getattr(at, name)
        found = found if half is None else np.split(found, 2)[half]
        return found if factor == 1.0 else factor * found

    return find


def combination(coef: Term) -> Term:
    """Return w(α) as a term: a vector for a linear kernel, else its products with every φ(x_i)."""
    return operation(
        r"\sum_i%s\,\varphi(x_i)", "Σ %s φ(x_i)", "phi(X).T @ (%s)", lambda at, beta: at.combination(beta), coef
    )


def kernel_sum(coef: Term, x: str = "x_i") -> Term:
    """Return ⟨w(α), φ(x)⟩ at the samples x_i, or at samples x half way between them."""
    i = "j" if x == "x_i" else "i"
    return operation(
        rf"\sum_{i}%s K(x_{i},{x})", f"Σ %s K(x_{i}, {x})", "K(X, X) @ (%s)" if i == "j" else "K(x, X) @ (%s)",
        lambda at, beta: at.sums(beta) if i == "j" else at.sums_between(beta), reindex(coef, f"_{i}"),
    )  # fmt: skip


def mean(name: str, each: Term, rows: Callable[[Any], Any]) -> Term:
    """Return the mean over a set of samples."""
    return operation(
        rf"\frac{{1}}{{|{name}|}}\sum_{{i\in {name}}}\Bigl(%s\Bigr)", f"the mean of %s over {name}",
        f"mean((%s)[{name}])", lambda at, values: float(values[rows(at)].mean()), each
    )  # fmt: skip


def weight_where(
    left: Term, relation: str, right: Term | float, each: Term, tolerance: float = ROUNDING, side: int = 0
) -> Term:
    """Sum the weights of the samples for which a relation holds, up to rounding relative to the level.

    side: Of which class, -1 or 1, or of both.
    """

    def find(at: Any, one: FloatArray, other: FloatArray | float, weights: FloatArray) -> float:
        off = np.asarray(other - one if relation in "<≤" else one - other)
        rounding = tolerance * at.level
        holds = off > rounding if relation in "<>" else off >= -rounding
        return float(weights[holds & (at.y == side) if side else holds].sum())

    front, text, mask = (rf"y_i={side:+d},\,", f"y_i = {side:+d}, ", f"(y == {side}) * ") if side else ("", "", "")
    sign = "-" if relation in "<≥" else "+"
    code = f"%s {RELATIONS[relation][1]} {shift_by_tol('%s', sign) if tolerance else '%s'}"
    return operation(
        rf"\sum_{{{front}%s{RELATIONS[relation][0]}%s}}%s", f"the sum over {text}%s {relation} %s of %s",
        f"sum({mask}({code}) * %s)", find, left, right, each,
    )  # fmt: skip


def split_by(
    value: Term, far: str, level: Term, weights: Term, share: Term, side: int = 0, **more: Any
) -> EquationLine:
    """State a quantile: the weights beyond it are at most a share, and with those at it, at least that."""
    beyond, upto = (weight_where(value, how, level, weights, HOLDS, side) for how in (far, {"<": "≤", ">": "≥"}[far]))
    return line(beyond, "≤", share, "≤", upto, scale=lambda at: float(share.value(at)), **more)


# --- points -----------------------------------------------------------------------------------------------------------


def substitute_w(at: At, b: float | None = None) -> At:
    """Return the point with w(α) instead of w, for a curved loss the ξ that α gives, and another b."""
    changed: At = at.with_letters(**at.compute_letters(at.b if b is None else b))
    return changed


def substitute_w_and_b(at: At) -> At:
    """Return the point with w(α) and, if b is penalised, the b that α gives."""
    return substitute_w(at, at.balance if at.problem.intercept == "penalised" else None)


def with_needed_slack(at: At) -> At:
    """Return the point with the smallest slack that w and b need; 0 for a row without slack."""
    changed: At = at.with_letters(xi=np.where(at.hard, 0.0, np.maximum(at.margin - at.y * at.f, 0.0)))
    return changed


def make_suboptimal(at: Any) -> Any:
    """Return the point with a feasible α that is not optimal."""
    return with_needed_slack(at.make_suboptimal() if at.result.status is Status.OPTIMAL else at)


def explain_infeasibility(at: At) -> str:
    """Explain why weak duality implies nothing at a point, or return ""."""
    if relative_to(measure_violation(at), at.reach) > HOLDS:
        return "α is not feasible, so that the dual's value bounds nothing"
    finite = np.isfinite(at.primal_value)
    return "" if finite else "a sample is inside its margin, so that the primal's value is infinite"


# --- which rows -------------------------------------------------------------------------------------------------------


def is_free(at: At) -> Any:
    """Mark the rows with 0 < α < C."""
    return (at.alpha > 0) & (at.alpha < at.C) & ((at.kind == 1) | (np.isinf(at.C) & (at.kind > 0)))


def is_at_bound(at: At) -> Any:
    """Mark the rows with α at its upper bound."""
    return (at.kind == 2) & np.isfinite(at.C)


BETWEEN = Subset("kind == 1", lambda at: (at.kind > 0) & ~is_at_bound(at))
POSITIVE = replace(BETWEEN, code="kind > 0")
BOUNDED = Subset("kind == 2", is_at_bound)


# --- letters that are found -------------------------------------------------------------------------------------------


def measure_margin(at: At) -> float:
    """Measure the distance of the classes along w/‖w‖, at margin vectors, or support vectors shifted by their slack."""
    on_it = at.alpha > 0 if at.svm.has_curvature else at.on_margin
    plus, minus = on_it & (at.y > 0), on_it & (at.y < 0)
    if at.level != at.rho:
        raise NotMeasurableError("ρ is 0: the reduced convex hulls meet, w is 0, and there is no margin")
    if not (plus.any() and minus.any()):
        of = "support" if at.svm.has_curvature else "margin"
        raise NotMeasurableError(f"no {of} vectors in one of the classes, so no two hyperplanes are touched")
    along_w = (at.f - at.b + at.y * at.xi) / np.sqrt(at.square_of_w)  # ⟨w/‖w‖, φ(x_i)⟩
    return float(along_w[plus].mean() - along_w[minus].mean())


def find_nearest_b(at: At) -> float:
    """Return the b nearest to the result's in the interval that the weighted quantile over the rows allows."""
    reached = at.y * (at.margin - at.svm.curvature * at.alpha) - at.svm.at_rows(at.u)
    low, high = levels.interval(at.svm, at.svm.parts[0], reached) or (-np.inf, np.inf)
    return float(min(max(at.b, low), high))


def project_alpha(at: At) -> FloatArray:
    """Return α after a projected gradient step on L, in which b and ρ multiply equalities."""
    gradient = at.y * at.svm.at_rows(at.u + at.b) - at.margin + at.svm.curvature * at.alpha
    return np.clip(at.alpha - at.reach / at.level * gradient, 0, at.C)


def measure_violation(at: At) -> float:
    """Measure the violation of the constraints of the dual QP by α and π."""
    return float(residuals.compute_primal_residual(at.dual, at.dual_point))


def balance_scale(at: Any) -> float:
    """Return the scale of the balance of samples and constraints."""
    rows = float(np.abs(at.rows.c) @ np.abs(at.prices)) if at.problem.constraints else 0.0
    return float(at.total) + rows or 1.0


def project_prices(at: Any) -> FloatArray:
    """Return π after a projected step along the violation of the constraints: (p,)."""
    prices, pull = at.all_multipliers[at.svm.m :], at.lhs_of_alpha - at.rows.h
    return np.asarray(np.maximum(prices + at.reach / at.level * pull / at.problem._constraint_scale, 0.0))


PRICES_STATIONARY = line(
    letter("", lambda at: at.all_multipliers[at.svm.m :], "", "π"), "=",
    letter("", project_prices, "", "after a projected gradient step"), place="constraint", shown=False,
    scale=lambda at: max(at.reach, float(np.abs(at.all_multipliers[at.svm.m :]).max())),
)  # fmt: skip
#: A projected gradient step goes nowhere, and the dual QP finds α feasible.
ALPHA_OPTIMAL = (
    line(letter("", "alpha", "", "α"), "=", letter("", project_alpha, "",
    "after a projected gradient step"), scale="reach", shown=False),
    line(letter("", measure_violation, "", "by how much α violates a constraint of the dual QP"),
    "=", 0, scale=lambda at: max(at.reach, float(np.abs(at.dual_point).max())), shown=False)
)  # fmt: skip


def scale_between(at: Any) -> float:
    """Return the scale of differences of f at samples between those trained on."""
    rows = at.of_rows_between(at.prices) if at.problem.constraints else 0.0
    return reference_size(at.sums_between(at.beta) - rows, at.terms_of_u)


def diagonal_between(at: At) -> FloatArray:
    """Return K(x, x) at samples half way between neighbours: (k,)."""
    return np.asarray(at.kernel.diagonal(at.X if at.new_samples is None else at.new_samples))
