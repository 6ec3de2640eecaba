"""Define the symbols that several machines share, as terms: how each is written, and its value at a point.

A point (`At`) holds the problem, its result and the values of all symbols. Below the symbols are sums that occur in
several equations, other points at which a line may be evaluated, sets of rows, and functions that compute the value of
a symbol at a point. The modules of the machines import this module as `sym`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.derivation.display import RESIDUAL_TOL
from qpsvm.derivation.expressions import RELATIONS, EquationLine, Subset, line, shift_by_tol
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.relative_size import reference_size, relative_to
from qpsvm.derivation.residual import NotMeasurableError
from qpsvm.derivation.term_builders import operation, reindex
from qpsvm.derivation.terms import Term
from qpsvm.program import residuals
from qpsvm.program.status import Status

#: A value within this share of a level counts as equal to it: the difference is rounding.
ROUNDING = 1e-9
W = letter("w", "products")
W_SQUARED = letter(r"\|w\|^2", "square_of_w", "norm(w)**2")
NORM = letter(r"\|w\|", lambda at: np.sqrt(at.square_of_w), "norm(w)")
B = letter("b")
Y = letter("y_i")
F = letter("f(x_i)", "values", "f(X)")
U = letter("u_i")
T = letter("t_i", lambda at: at.problem._active_target)
RHO = letter(r"\rho")
NU = letter(r"\nu", lambda at: at.problem.nu)
DIAGONAL = letter("K(x_i,x_i)", lambda at: 2.0 * at.margin, "K.diagonal()")
W_DOT_PHI = letter(r"\langle w,\varphi(x_i)\rangle", lambda at: at.values - at.b, "(phi(X) @ w)")
ALPHA = letter(r"\alpha_i")
F_BETWEEN = letter("f(x)", "f_between")
XI = letter(r"\xi_i")
C = letter("C_i")
MULTIPLIER = letter(r"\pi_j", "user_multipliers", "multiplier")
ETA = letter(r"\eta_i")
CLAIMED_PRIMAL = letter("P", lambda at: at.result.primal, "result.primal", "the value claimed")
CLAIMED_DUAL = letter("D", lambda at: at.result.dual, "result.dual", "the value claimed")
QP_VALUE = letter("D", "dual_value", "-qp.objective(variables)", "minus the objective of the dual QP")
#: The rows with α = 0.
AT_ZERO = Subset("kind == 0", lambda at: at.kind == 0)
#: The rows on the margin.
ON_MARGIN = Subset("kind == 1", lambda at: at.on_margin)
#: Line: the multipliers of the linear constraints are not negative.
MULTIPLIERS_NONNEGATIVE = line(
    MULTIPLIER, "≥", 0, place="constraint", scale=lambda at: float(np.abs(at.user_multipliers).max()) or 1.0
)
#: Line: α = 0 for samples of weight 0.
ALPHA_ZERO_WITHOUT_WEIGHT = line(
    letter("", "alpha_without_weight", "", "the largest |α| of a sample of weight 0"), "=", 0,
    scale=lambda at: at.box.max(), shown=False,
)  # fmt: skip


def make_reader(name: str, half: int | None = None, factor: float = 1.0) -> Callable[[Any], Any]:
    """Make a function of a point that reads an attribute and multiplies it by a factor.

    half: For a regression, the side of f to read: 0 for the rows above, 1 for those below; None for all rows.
    """

    def read(at: Any) -> Any:
        values = getattr(at, name)
        if half is not None:
            values = np.split(values, 2)[half]
        return values if factor == 1.0 else factor * values

    return read


def feature_sum(coef: Term) -> Term:
    """Return w(α) as a term, whose value is a vector for a linear kernel, else its products with every φ(x_i)."""
    return operation(
        r"\sum_i%s\,\varphi(x_i)", "Σ %s φ(x_i)", "phi(X).T @ (%s)", lambda at, beta: at.combine_features(beta), coef
    )


def kernel_sum(coef: Term, x: str = "x_i") -> Term:
    """Return ⟨w(α), φ(x)⟩ at the samples x_i, or at samples x half way between them."""
    i = "j" if x == "x_i" else "i"
    return operation(
        rf"\sum_{i}%s K(x_{i},{x})", f"Σ %s K(x_{i}, {x})", "K(X, X) @ (%s)" if i == "j" else "K(x, X) @ (%s)",
        lambda at, beta: at.sum_kernels(beta) if i == "j" else at.sum_kernels_between(beta), reindex(coef, f"_{i}"),
    )  # fmt: skip


def mean(name: str, value: Term, rows: Callable[[Any], Any]) -> Term:
    """Return the mean of a term over a set of rows.

    name: The letter of the set of rows.
    rows: Function of a point that returns its mask.
    """
    return operation(
        rf"\frac{{1}}{{|{name}|}}\sum_{{i\in {name}}}\Bigl(%s\Bigr)", f"the mean of %s over {name}",
        f"mean((%s)[{name}])", lambda at, values: float(values[rows(at)].mean()), value
    )  # fmt: skip


def sum_weights_where(
    left: Term, relation: str, right: Term | float, weight: Term, tolerance: float = ROUNDING, side: int = 0
) -> Term:
    """Return the total weight of the samples for which a relation holds, up to rounding, as a term.

    side: The class of the samples, -1 or 1; 0 for both.
    """

    def sum_weights(at: Any, lhs: FloatArray, rhs: FloatArray | float, weights: FloatArray) -> float:
        slack = np.asarray(rhs - lhs if relation in "<≤" else lhs - rhs)
        rounding = tolerance * at.level
        holds = slack > rounding if relation in "<>" else slack >= -rounding
        return float(weights[holds & (at.y == side) if side else holds].sum())

    if side:
        latex = rf"y_i={side:+d},\,"
        text = f"y_i = {side:+d}, "
        mask = f"(y == {side}) * "
    else:
        latex, text, mask = "", "", ""
    sign = "-" if relation in "<≥" else "+"
    code = f"%s {RELATIONS[relation][1]} {shift_by_tol('%s', sign) if tolerance else '%s'}"
    return operation(
        rf"\sum_{{{latex}%s{RELATIONS[relation][0]}%s}}%s", f"the sum over {text}%s {relation} %s of %s",
        f"sum({mask}({code}) * %s)", sum_weights, left, right, weight,
    )  # fmt: skip


def build_quantile_line(
    value: Term, relation: str, level: Term, weights: Term, share: Term, side: int = 0, **fields: Any
) -> EquationLine:
    """Build the line of a weighted quantile: weight beyond the level ≤ share ≤ weight beyond or at it.

    relation: The relation of a value beyond the level: "<" or ">".
    """
    beyond = sum_weights_where(value, relation, level, weights, RESIDUAL_TOL, side)
    beyond_or_at = sum_weights_where(value, {"<": "≤", ">": "≥"}[relation], level, weights, RESIDUAL_TOL, side)
    return line(beyond, "≤", share, "≤", beyond_or_at, scale=lambda at: float(share.value(at)), **fields)


# --- other points -----------------------------------------------------------------------------------------------------


def substitute_w(at: At, b: float | None = None) -> At:
    """Return the point with w(α) instead of w, and for a loss with curvature the ξ that α gives.

    b: Another intercept; None to leave it.
    """
    point: At = at.with_symbols(**at.compute_symbols(at.b if b is None else b))
    return point


def substitute_w_and_b(at: At) -> At:
    """Return the point with w(α) and, if b is penalised, the b that α gives."""
    return substitute_w(at, at.balance if at.problem.intercept == "penalised" else None)


def with_needed_slack(at: At) -> At:
    """Return the point with the smallest slack that w and b need; 0 for a row without slack."""
    point: At = at.with_symbols(xi=np.where(at.hard, 0.0, np.maximum(at.margin - at.y * at.f, 0.0)))
    return point


def make_suboptimal(at: Any) -> Any:
    """Return the point with a feasible α that is not optimal."""
    return with_needed_slack(at.make_suboptimal() if at.result.status is Status.OPTIMAL else at)


def explain_infeasibility(at: At) -> str:
    """Explain why weak duality implies nothing at a point, or return ""."""
    if relative_to(measure_violation(at), at.alpha_scale) > RESIDUAL_TOL:
        return "α is not feasible, so that the dual's value bounds nothing"
    finite = np.isfinite(at.primal_value)
    if finite:
        return ""
    return "a sample is inside its margin, so that the primal's value is infinite"


# --- sets of rows -----------------------------------------------------------------------------------------------------


def is_free(at: At) -> Any:
    """Mark the rows with 0 < α < C."""
    return (at.alpha > 0) & (at.alpha < at.C) & ((at.kind == 1) | (np.isinf(at.C) & (at.kind > 0)))


def is_at_bound(at: At) -> Any:
    """Mark the rows with α at its upper bound."""
    return (at.kind == 2) & np.isfinite(at.C)


#: The rows with 0 < α < C, or with α > 0 if C is infinite.
FREE = Subset("kind == 1", lambda at: (at.kind > 0) & ~is_at_bound(at))
#: The rows with α > 0 of a machine without upper bounds.
POSITIVE = replace(FREE, code="kind > 0")
#: The rows with α = C.
AT_BOUND = Subset("kind == 2", is_at_bound)


# --- values and scales of symbols -------------------------------------------------------------------------------------


def measure_margin(at: At) -> float:
    """Measure the distance of the classes along w/‖w‖, at margin vectors, or support vectors shifted by their slack."""
    vectors = at.alpha > 0 if at.svm.has_curvature else at.on_margin
    plus, minus = vectors & (at.y > 0), vectors & (at.y < 0)
    if at.level != at.rho:
        raise NotMeasurableError("ρ is 0: the reduced convex hulls meet, w is 0, and there is no margin")
    if not (plus.any() and minus.any()):
        kind = "support" if at.svm.has_curvature else "margin"
        raise NotMeasurableError(f"no {kind} vectors in one of the classes, so no two hyperplanes are touched")
    along_w = (at.f - at.b + at.y * at.xi) / np.sqrt(at.square_of_w)  # ⟨w/‖w‖, φ(x_i)⟩
    return float(along_w[plus].mean() - along_w[minus].mean())


def find_nearest_b(at: At) -> float:
    """Return the b nearest to the result's that is a weighted quantile over the rows."""
    b_of_rows = at.y * (at.margin - at.svm.curvature * at.alpha) - at.svm.at_rows(at.u)
    low, high = levels.find_minimisers(at.svm, at.svm.parts[0], b_of_rows) or (-np.inf, np.inf)
    return float(min(max(at.b, low), high))


def project_alpha(at: At) -> FloatArray:
    """Return α after a projected gradient step on the Lagrangian, in which b and ρ multiply equalities."""
    gradient = at.y * at.svm.at_rows(at.u + at.b) - at.margin + at.svm.curvature * at.alpha
    return np.clip(at.alpha - at.alpha_scale / at.level * gradient, 0, at.C)


def measure_violation(at: At) -> float:
    """Measure the violation of the constraints of the dual QP by α and π."""
    return float(residuals.compute_primal_residual(at.dual, at.dual_point))


def compute_balance_scale(at: Any) -> float:
    """Return the scale of the balance of samples and constraints."""
    if at.problem.constraints:
        constraint_total = float(np.abs(at.constraint_rows.c) @ np.abs(at.constraint_multipliers))
    else:
        constraint_total = 0.0
    return float(at.alpha_sum) + constraint_total or 1.0


def project_multipliers(at: Any) -> FloatArray:
    """Return π after a projected step along the violation of the constraints: (p,)."""
    multipliers = at.all_multipliers[at.svm.m :]
    violation = at.lhs_of_alpha - at.constraint_rows.h
    return np.asarray(
        np.maximum(multipliers + at.alpha_scale / at.level * violation / at.problem._constraint_scale, 0.0)
    )


def compute_scale_between(at: Any) -> float:
    """Return the scale of differences of f at samples half way between neighbours."""
    if at.problem.constraints:
        constraint_sums = at.combine_constraints_between(at.constraint_multipliers)
    else:
        constraint_sums = 0.0
    return reference_size(at.sum_kernels_between(at.beta) - constraint_sums, at.u_term_size)


def compute_diagonal_between(at: At) -> FloatArray:
    """Return K(x, x) at samples half way between neighbours: (k,)."""
    return np.asarray(at.kernel.diagonal(at.X if at.new_samples is None else at.new_samples))


#: Line: a projected gradient step does not change the multipliers of the linear constraints.
MULTIPLIERS_STATIONARY = line(
    letter("", lambda at: at.all_multipliers[at.svm.m :], "", "π"), "=",
    letter("", project_multipliers, "", "after a projected gradient step"), place="constraint", shown=False,
    scale=lambda at: max(at.alpha_scale, float(np.abs(at.all_multipliers[at.svm.m :]).max())),
)  # fmt: skip
#: Lines: a projected gradient step does not change α, and α is feasible for the dual QP.
ALPHA_OPTIMAL = (
    line(letter("", "alpha", "", "α"), "=", letter("", project_alpha, "", "after a projected gradient step"),
         scale="alpha_scale", shown=False),
    line(letter("", measure_violation, "", "by how much α violates a constraint of the dual QP"), "=", 0,
         scale=lambda at: max(at.alpha_scale, float(np.abs(at.dual_point).max())), shown=False),
)  # fmt: skip
