"""Tell whether the point of a derivation is an optimum, in its headline (`assess_result`, `assess_alpha`).

A result is not trusted: the residuals measured at it must agree with its margins, status and certified gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.base.arrays.rounding import EPS
from qpsvm.bounds.repair import make_feasible
from qpsvm.derivation.quantities import Quantities
from qpsvm.derivation.relative_size import relative_to
from qpsvm.derivation.step import Measurement
from qpsvm.program import residuals
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: A residual may be as large as the square root of the relative gap. Users are told so only above this gap.
SMALL_GAP = 1e-12
#: The call that users are advised to make for a gap below it.
SMALL_GAP_CODE = "solve(problem, tol=1e-15, check=False)"
#: Largest relative difference between f at the problem's samples and the margins of the result, and between α and the
#: nearest feasible α. It does not depend on the solver's tolerance, because both values belong to one result.
AGREEMENT_TOL = 1e-6
#: In addition, f may differ by this many roundings of its terms.
ROUNDINGS = 1e3
#: Multiple of the square root of the gap above which a residual contradicts the gap.
MAX_GAP_ROOTS = 100.0


def assess_result(at: Quantities[Any], measured: Mapping[str, Measurement]) -> tuple[str, bool]:
    """Return the headline at a result, and whether the result is an optimum of the problem."""
    result = at.result
    difference = measure_decision_difference(at)
    if difference:
        return (
            "NOT OF THIS PROBLEM: at the problem's samples the decision function of the result differs from its "
            f"margins by {difference:.1e}, relative. So the result is that of other samples or labels, or it was "
            "changed. The residuals show what it violates; derive(problem, solve(problem)) measures the right one"
        ), False
    if result.status is Status.OPTIMAL:
        contradiction = find_contradiction(at, measured)
        if contradiction and has_equal_values(at):
            return (
                f"optimal, certified relative gap {result.gap:.1e}, although {contradiction}: the values at its (w, b) "
                "and at its α are equal, but doubles cannot bring both to the same point at these scales"
            ), True
        if contradiction:
            return (
                f"NOT AN OPTIMUM: the result says {result.status} with a relative gap of {result.gap:.1e}, but "
                f"{contradiction}. So it was changed, or is that of another problem. The residuals show what it "
                "violates; derive(problem, alpha=result.alpha) certifies its α as it is now"
            ), False
        return f"optimal, certified relative gap {describe_gap(result.gap)}", True
    message = " ".join(result.message.split())
    return (
        f"NOT OPTIMAL: status {result.status}, certified relative gap {result.gap:.1e}; the residuals are those of the "
        f"best point so far. {result.status.sentence} {message}".strip()
    ), False


def assess_alpha(at: Quantities[Any], result: SVMResult, measured: Mapping[str, Measurement]) -> tuple[str, bool]:
    """Return the headline at a given α, and whether it is optimal; `result` is of the feasible α made of it."""
    certified_alpha = at.problem._restrict_to_dual(result.alpha)
    alpha = at.alpha
    gap = result.gap
    if np.isfinite(gap):
        gap_text = f"a certified relative gap of {gap:.1e}"
    else:
        gap_text = "no certified gap: it separates nothing"
    change = float(np.abs(make_feasible(at.problem.svm, alpha) - alpha).max())
    if relative_to(max(change, at.alpha_without_weight), at.max_alpha) > AGREEMENT_TOL:
        return (
            f"NOT FEASIBLE: at the α given, {describe_violation(at)}. The residuals are those of the α given; the "
            f"feasible α that the library makes of it has {gap_text}"
        ), False
    if relative_to(float(np.abs(certified_alpha - alpha).max()), at.max_alpha) > AGREEMENT_TOL:
        return (
            f"NOT OPTIMAL: the α given is feasible, but a multiple of it is better, and has {gap_text}. The "
            "residuals are those of the α given"
        ), False
    if result.status is Status.OPTIMAL:
        failures = describe_failures(measured, gap)
        if failures:  # if b or the multipliers are large, rounding of the last digits has a large effect
            return (
                f"OPTIMAL ONLY WHEN REPAIRED: the α given is feasible but for its last digits, and the feasible α that "
                f"the library makes of it is optimal, with {gap_text}; but as it was given, {failures}. The residuals "
                "are those of the α given"
            ), False
        return f"optimal, the α given: certified relative gap {describe_gap(gap)}", True
    return (
        f"NOT OPTIMAL: the α given is feasible, with {gap_text}; the residuals show which conditions it violates",
        False,
    )


def describe_gap(gap: float) -> str:
    """Describe a gap that is small enough, and what it implies for the residuals."""
    text = f"{gap:.1e}; a residual is an equation's violation at this solution, relative"
    advice = f". A residual may be as large as the square root of this gap; {SMALL_GAP_CODE} looks for less"
    return text + advice if gap > SMALL_GAP else text


def measure_decision_difference(at: Quantities[Any]) -> float:
    """Measure the relative difference of f at the samples and the result's `yf`; 0 if it is rounding."""
    claimed_yf = at.claimed_yf
    if at.problem.samples.classes is None:
        margin_level = at.level
    else:
        margin_level = abs(at.result.rho)
    size = max(float(np.abs(claimed_yf).max()), margin_level)
    difference = float(np.abs(at.y * at.f - claimed_yf).max())
    rounding = ROUNDINGS * EPS * (at.f_term_size + abs(at.result.b))
    if difference > AGREEMENT_TOL * size + rounding:
        return difference / (size or 1.0)
    return 0.0


def find_contradiction(at: Quantities[Any], measured: Mapping[str, Measurement]) -> str:
    """Describe what contradicts the gap of a result, or return ""."""
    if measure_violation(at) > AGREEMENT_TOL:
        return describe_violation(at)
    return describe_failures(measured, at.result.gap)


def measure_violation(at: Quantities[Any]) -> float:
    """Measure by how much α violates the constraints of the dual, relative to the largest |α_i|."""
    return relative_to(residuals.compute_primal_residual(at.dual, at.dual_point), at.max_alpha)


def has_equal_values(at: Quantities[Any]) -> bool:
    """Tell whether a feasible result has equal P and D, re-evaluated at its (w, b) and its α: then it is optimal.

    Neither value may differ from the one that the result claims.
    """
    P = at.primal_value
    D = at.dual_value
    claimed = at.result
    difference = max(abs(P - D), abs(claimed.primal - P), abs(claimed.dual - D))
    return at.rows_agree and measure_violation(at) <= AGREEMENT_TOL and difference <= AGREEMENT_TOL * at.objective_scale


def describe_failures(measured: Mapping[str, Measurement], gap: float) -> str:
    """Describe how many residuals are larger than a relative gap allows, and the largest of them; or return ""."""
    allowed = AGREEMENT_TOL + MAX_GAP_ROOTS * float(np.sqrt(gap))
    failing = {tag: measurement.residual for tag, measurement in measured.items() if measurement.residual > allowed}
    if not failing:
        return ""
    worst = max(failing, key=lambda tag: failing[tag])
    return f"{len(failing)} of its equations fail, ({worst}) by {failing[worst]:.1e}"


def describe_violation(at: Quantities[Any]) -> str:
    """Describe the first constraint of the dual that α clearly violates; else the one violated most."""
    alpha = at.alpha
    excess = alpha - at.C
    low, high = int(np.argmin(alpha)), int(np.argmax(excess))
    upper = f"{at.bound_name} = {at.C[high]:.4g}"
    violations = {
        f"α of {at.name_row(low)} is {alpha[low]:.4g}, below 0": -alpha[low],
        f"α of {at.name_row(high)} is {alpha[high]:.4g}, above {upper}": excess[high],
    }
    for formula, value, total in at.equalities:
        violations[f"{formula} fails: the left side is {value:.4g}"] = abs(value - total)
    violations |= at.other_violations
    violations["α of a sample of weight 0 is not 0"] = at.alpha_without_weight
    clear = [text for text, amount in violations.items() if amount > AGREEMENT_TOL * at.alpha_scale]
    if clear:
        return clear[0]
    return max(violations, key=lambda text: violations[text])
