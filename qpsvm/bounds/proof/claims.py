"""Turn proven bounds into a `Proof` with sentences (`build_proof`), and prove weak duality (`prove_weak_duality`).

The only property of the kernel that a proof needs is weak duality, P ≥ D for any two feasible points. It may fail by a
small amount if K is positive semidefinite only up to rounding.

    (LACK.1)  P(w, μ) − D(α′) = ½δᵀKδ + nonnegative terms,  w = Σ_i c_i φ(x_i),  δ = c − β(α′)
    (LACK.2)  with K + 1aᵀ + a1ᵀ + σI positive semidefinite, (DEF.1), and η = 1ᵀδ:  by (DEF.5) no α′ has a dual
              objective above P + ½σ‖δ‖² + |η||a|ᵀ|δ|
    (LACK.3)  −Σ U_k over the rows of point i with s_k = −1 ≤ β_i(α′) ≤ Σ U_k over those with s_k = +1, so |δ_i| is
              bounded
    (LACK.4)  for rows with U = ∞ and curvature δ_k > 0, a term is at least ½δ_k e_k², where
              e_k = α′_k − max(t_k, 0)/δ_k, and |δ_i| ≤ |ρ_i| + Σ|e_k| with ρ_i = c_i − Σ s_k max(t_k, 0)/δ_k, which is
              tiny near the optimum. With κ the smallest δ_k divided by the number of rows of a point, and σ ≤ κ/4,
              (LACK.2) adds at most Σσρ_i² + |η||a_i||ρ_i| + η²a_i²/κ
    (LACK.5)  E_g = κs for an equality E_gᵀα = e_g:  1ᵀβ = e_g/κ for all α, and η = 1ᵀc − e_g/κ is rounding

The proven gap is P − D plus the amount that (LACK.2) adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.double_double import TINY, UNDERFLOW
from qpsvm.base.arrays.formatting import format_lower_bound, format_upper_bound
from qpsvm.base.arrays.rationals import round_down, round_up, sum_floats
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import FeasibleAlpha, make_feasible
from qpsvm.bounds.proof.gap_bounds import GapBounds
from qpsvm.bounds.proof.kernels.definite import Definiteness
from qpsvm.bounds.proof.proof import Claim, Proof, Verdict
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.bounds.proof.terms import INWARD, bound_violations
from qpsvm.bounds.proof.zero import has_balanced_intercept


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """Input of a proof.

    program, space, primal_point: The dual, its points in feature space, and w with its multipliers.
    alpha (m,): α of the rows of the program.
    measured_gap: The relative gap as measured in floats; NaN if unknown.
    tol: The tolerance to compare the gap with; None without one.
    title: Heading of the proof.
    record: Data for a proof file; None without any.
    repair: Function that makes α feasible, with the signature of `make_feasible`.
    costs (m,): |t_k − δ_kα_k| as computed, for (FEAS.3); None if unknown.
    """

    program: ExactDual
    space: Space
    primal_point: Primal
    alpha: FloatArray
    measured_gap: float = math.nan
    tol: float | None = None
    title: str = ""
    record: Mapping[str, Any] | None = None
    repair: Callable[..., FeasibleAlpha | None] = make_feasible
    costs: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class WeakDuality:
    """Statement about weak duality for a kernel.

    excess: No α has a dual objective above P by more than this, in units of (DUAL.1).
    claims: What is proven about the kernel.
    assumptions: Assumptions that the bound needs.
    """

    excess: float = 0.0
    claims: tuple[Claim, ...] = ()
    assumptions: tuple[str, ...] = ()


def prove_weak_duality(
    program: ExactDual, space: Space, primal_point: Primal, values: ExactValues | SpaceMeasurement
) -> WeakDuality:
    """Bound by (LACK.1) to (LACK.5) how far D of any α may exceed P of this primal point.

    values: ⟨w, φ⟩ at all points.
    """
    beta_sum = _find_beta_sum(program)
    kernel = space.prove_definiteness(beta_sum is not None)
    if kernel.sigma == 0.0 and kernel.is_by_construction:
        return WeakDuality()
    if kernel.offset is None:
        restriction = ""
    else:
        restriction = " where 1ᵀβ is what the intercept makes it"
    if kernel.sigma == 0.0 and kernel.offset is None:
        return WeakDuality(claims=(Claim("kernel", "proven", "the kernel matrix is positive semidefinite", 0.0),))
    eta = 0.0
    if kernel.offset is not None and beta_sum is not None:
        eta = round_up(abs(sum_floats(_flatten_coef(primal_point)) - beta_sum))
    if program.classes == 1:
        excess = _bound_excess_by_box(program, primal_point, kernel, eta)
    else:
        excess = math.inf
    if not math.isfinite(excess):
        excess = _bound_excess_by_curvature(program, primal_point, kernel, eta, values)
    if not math.isfinite(excess):
        assumption = "the kernel matrix is positive semidefinite"
        if kernel.sigma < math.inf:
            shift = format_upper_bound(kernel.sigma)
            assumption += f": that is proven with {shift} added to its diagonal{restriction}"
        return WeakDuality(assumptions=(assumption,))
    if kernel.sigma:
        shift_text = f" but for {format_upper_bound(kernel.sigma)} on its diagonal"
    else:
        shift_text = ""
    text = (
        f"the kernel matrix is positive semidefinite{restriction}{shift_text}: no other α has a dual objective "
        f"more than {format_upper_bound(round_up(Fraction(excess) * program.unit))} above P, which the gap counts"
    )
    return WeakDuality(excess, (Claim("kernel", "proven", text, kernel.sigma),))


def build_proof(
    request: ProofRequest, point: FeasibleAlpha, bounds: GapBounds, remains: float, extra_claims: Sequence[Claim],
    weak_duality: WeakDuality,
) -> Proof:  # fmt: skip
    """Build the proof.

    point, bounds: A feasible α, and the bounds proven for it.
    remains: The gap with the best intercepts, or with relaxed levels.
    extra_claims: Claims about that gap.
    weak_duality: What `prove_weak_duality` returned.
    """
    unit = float(request.program.unit)
    return Proof(
        title=request.title, gap=bounds.gap, least_gap=bounds.least_gap,
        primal=_multiply_rounded(unit, bounds.primal[1], up=True),
        dual=_multiply_rounded(unit, bounds.dual[0], up=False),
        difference=_multiply_rounded(unit, bounds.difference[1], up=True), alpha=point.alpha, exactly=bounds.is_exact,
        claims=(*_build_claims(request, point, bounds), *weak_duality.claims, *extra_claims), remains=remains,
        assumptions=(*request.space.assumptions, *weak_duality.assumptions),
        record={**(request.record or {}), "point": point, "held": request.primal_point, "bounds": bounds},
    )  # fmt: skip


def build_empty_proof(request: ProofRequest, reason: str) -> Proof:
    """Build a proof without any proven claim.

    reason: Why nothing could be proven, in words.
    """
    return Proof(
        title=request.title, gap=math.inf, least_gap=0.0, primal=math.inf, dual=-math.inf, difference=math.inf,
        alpha=request.alpha, exactly=False, claims=(Claim("feasible", "open", reason),), remains=math.inf,
        assumptions=request.space.assumptions, record=dict(request.record or {}),
    )  # fmt: skip


def _find_beta_sum(program: ExactDual) -> Fraction | None:
    """Return 1ᵀβ = e_g/κ, (LACK.5), which is the same for all feasible α; None if no equality has this form."""
    if program.mix is not None or not program.m:
        return None
    for group in program.groups:
        factor = float(group.column[0] * program.sign[0])
        if not group.ridge and not group.entries and factor and np.array_equal(group.column, factor * program.sign):
            return group.total / Fraction(factor)
    return None


def _flatten_coef(primal_point: Primal) -> FloatArray:
    """Return the coefficients at all pairs of a sample and a class, (n k,)."""
    assert primal_point.coef is not None
    return primal_point.coef.ravel()


def _find_samples(program: ExactDual) -> IntArray:
    """Return the index of the sample of each row: (m,)."""
    return np.arange(program.m) if program.rows is None else program.rows


def _bound_excess_by_box(program: ExactDual, primal_point: Primal, kernel: Definiteness, eta: float) -> float:
    """Bound the excess of (LACK.2) by (LACK.3), from 0 ≤ α ≤ U; infinite if some U is."""
    U = program.upper.bounds[1]
    coef = _flatten_coef(primal_point)
    if not np.isfinite(U).all() or not math.isfinite(kernel.sigma):
        return math.inf
    if program.mix is not None:
        largest_beta = largest_minus_beta = abs(program.mix).T @ U
    else:
        largest_beta, largest_minus_beta = (
            np.bincount(_find_samples(program), np.where(program.sign == side, U, 0.0), minlength=program.n)
            for side in (1.0, -1.0)
        )
    max_delta: FloatArray = np.maximum(np.abs(coef - largest_beta), np.abs(coef + largest_minus_beta))
    max_delta = max_delta * (1.0 + gamma(program.m + 8)) + UNDERFLOW
    excess = 0.5 * kernel.sigma * float(max_delta @ max_delta)
    if kernel.offset is not None:
        excess += eta * float(np.abs(kernel.offset) @ max_delta)
    return excess * (1.0 + gamma(2 * program.n + 16)) + UNDERFLOW


def _bound_excess_by_curvature(
    program: ExactDual, primal_point: Primal, kernel: Definiteness, eta: float, values: ExactValues | SpaceMeasurement
) -> float:
    """Bound the excess of (LACK.2) by (LACK.4); infinite if the curvature of some row is too small."""
    if program.mix is not None or not program.m:
        return math.inf
    delta = program.curvature.bounds
    rows = _find_samples(program)
    kappa = float(delta[0].min()) / int(np.bincount(rows).max())
    if not (kernel.sigma <= 0.25 * INWARD * kappa and kappa > 0.0 and np.isinf(program.upper.bounds[0]).all()):
        return math.inf
    with np.errstate(all="ignore"):
        low, high = (
            np.maximum(end, 0.0) for end in bound_violations(program, primal_point, _as_point_values(values)).ends
        )
        low = INWARD * (low / delta[1])
        high = FEW_ROUNDINGS * (high / delta[0]) + UNDERFLOW
        dual_coef = np.bincount(rows, program.sign * low, minlength=program.n)
        radius = np.bincount(rows, high - low, minlength=program.n)
        coef = _flatten_coef(primal_point)
        rounding = gamma(program.m + 8)
        sizes = np.bincount(rows, high, minlength=program.n)
        rho = (np.abs(coef - dual_coef) + radius + rounding * (sizes + np.abs(coef))) * FEW_ROUNDINGS
        a = np.zeros(program.n) if kernel.offset is None else np.abs(kernel.offset)
        excess = kernel.sigma * float(rho @ rho) + eta * float(a @ rho) + eta * eta * float(a @ a) / kappa
    excess = excess * (1.0 + gamma(2 * program.n + 16)) * FEW_ROUNDINGS + UNDERFLOW
    return excess if math.isfinite(excess) else math.inf


def _as_point_values(values: ExactValues | SpaceMeasurement) -> PointValues:
    """Return ⟨w, φ⟩ at all points as floats with radii."""
    if isinstance(values, SpaceMeasurement):
        return values.values
    low = np.array([round_down(interval[0]) for interval in values.values])
    high = np.array([round_up(interval[1]) for interval in values.values])
    return PointValues(low, np.zeros(len(low)), (high - low) * FEW_ROUNDINGS + UNDERFLOW)


def _multiply_rounded(unit: float, value: float, up: bool) -> float:
    """Return the product, rounded up or down."""
    if unit == 1.0 or not math.isfinite(value):
        return value
    exact = Fraction(unit) * Fraction(value)
    return round_up(exact) if up else round_down(exact)


def _bound_distance(point: FeasibleAlpha, alpha: FloatArray) -> float:
    """Bound the largest difference of an entry of the point from that of an α (m,)."""
    distance = math.nextafter(float(np.abs(point.alpha - alpha).max(initial=0.0)), math.inf)
    distance = 0.0 if np.array_equal(point.alpha, alpha) else distance
    return max(distance, *(round_up(abs(v - Fraction(float(alpha[k])))) for k, v in point.carriers.items()), 0.0)


def _build_claims(request: ProofRequest, point: FeasibleAlpha, bounds: GapBounds) -> list[Claim]:
    """Return the claims about a feasible point and its bounds."""
    unit = float(request.program.unit)
    primal = _multiply_rounded(unit, bounds.primal[1], up=True)
    dual = _multiply_rounded(unit, bounds.dual[0], up=False)
    claims = [
        _claim_feasibility(request, point),
        Claim("dual", "proven", f"its objective D is at least {dual!r}", dual),
    ]
    if request.tol is None:
        tolerance_text = ""
    else:
        tolerance_text = f"the relative gap is at most the tolerance, {request.tol:g}"
    if not math.isfinite(bounds.difference[1]):
        reason = "some row that must reach its margin may violate it"
        claims.append(Claim("primal", "open", f"no bound of the primal objective: {reason}", math.inf))
        if tolerance_text:
            return [*claims, Claim("optimal", "open", tolerance_text, request.tol)]
        return claims
    claims.append(Claim("primal", "proven", f"the objective P of these w, b is at most {primal!r}", primal))
    vanishes = dual < 0.0 and abs(primal) <= TINY  # as for w = 0, b = 0, ρ = 0, with the bound of underflow
    claims.append(_claim_gap(request, bounds))
    if bounds.zero_size:
        if request.tol is None:
            tolerance_text = ""
        else:
            tolerance_text = f"this share is at most the tolerance, {request.tol:g}"
    elif vanishes:
        claims.append(Claim("nothing", "proven", f"the optimal value is between {dual!r} and {primal!r}: no gap "
                            "is relative to that", max(primal, -dual)))  # fmt: skip
    if request.tol is not None:
        claims.append(_claim_tolerance(request.tol, bounds, tolerance_text, vanishes))
    return claims


def _claim_feasibility(request: ProofRequest, point: FeasibleAlpha) -> Claim:
    """State that the point is feasible, and its distance from the given α."""
    distance = _bound_distance(point, request.alpha)
    n_fractions = len(point.carriers)
    exceptions = ""
    if n_fractions:
        if n_fractions == 1:
            exceptions = " but for one fraction"
        else:
            exceptions = f" but for {n_fractions} fractions"
    return Claim(
        "feasible",
        "proven",
        f"α keeps {request.program.constraints_text} exactly, as integers times 2^{point.exponent}"
        f"{exceptions}; it is within {format_upper_bound(distance, 2)} of the one that was given",
        distance,
    )


def _claim_gap(request: ProofRequest, bounds: GapBounds) -> Claim:
    """State the bound of the relative gap; of a share of the size of w if P = 0."""
    if bounds.zero_size:
        size = "½(Σ|β| · mean ‖φ(x_i)‖)²"
        if has_balanced_intercept(request.program):
            size = "½(Σ|β| · mean ‖φ(x_i) − φ(x_c)‖)², x_c the sample with the largest |β|"
        return Claim("gap", "proven", "P is 0, to which nothing is relative, but P − D is at most "
                     f"{format_upper_bound(bounds.gap)} of {size}", bounds.gap)  # fmt: skip
    relation = "is, rounded up," if bounds.is_exact else "is at most"
    text = f"the relative gap of these numbers {relation} {format_upper_bound(bounds.gap)}"
    return Claim("gap", "proven" if math.isfinite(bounds.gap) else "open", text, bounds.gap)


def _claim_tolerance(tol: float, bounds: GapBounds, text: str, vanishes: bool) -> Claim:
    """State whether the gap is at most the tolerance.

    vanishes: Whether P is next to 0, so that no gap is relative to it.
    """
    verdict: Verdict = "open"
    if bounds.gap <= tol:
        verdict = "proven"
    elif bounds.least_gap > tol and vanishes:
        text += ": the objective of these numbers is next to 0, and nothing is relative to that"
    elif bounds.least_gap > tol:
        verdict = "refuted"
        text += f": it is at least {format_lower_bound(bounds.least_gap)}"
    return Claim("optimal", verdict, text, tol)
