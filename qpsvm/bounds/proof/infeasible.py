"""Prove that a problem has no solution: contradicting constraints, classes whose hulls meet, or too large a ν.

Entry points: `prove_no_plane`, `prove_hulls_meet`, and `prove_nu_exceeds_balance` and `prove_nu_above_one` for ν.

    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so no (w, b) satisfies them (Farkas)
    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has the same value at both
               points, at least the minimum over the positive class and at most the maximum over the other; so no f
               separates the classes (Gordan). This is (PFARKAS.1) for the rows −y_i f(x_i) ≤ −1 with λ = (u, v)/2
    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 imply Σα = ν/2 in each class, so α_i ≤ s_i/S implies ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i imply ν ≤ 1

S₊, S₋ and S are the exact sums of the sample weights s_i. An exception, such as `NotSeparableError`, has λ in floats;
`exact_weights` finds a λ near them that satisfies the equations exactly, or proves that one exists.

Source: Schrijver, *Theory of Linear and Integer Programming* (1986), chapters 7 and 11.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import round_up
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.exact_weights import Combination, ContradictingRows, find_combination
from qpsvm.bounds.proof.proof import Claim, Proof, Verdict

#: Largest number of rows named in a sentence.
MAX_NAMED = 6
#: Fractions whose numerator and denominator are smaller are printed exactly: weights, and ν.
MAX_SHORT_WEIGHT, MAX_SHORT_NU = 1000, 10**6


def prove_no_plane(title: str, rows: ContradictingRows, approximate_weights: FloatArray) -> Proof:
    """Prove by (PFARKAS.1) that rows contradict each other, with λ near `approximate_weights` (k,)."""
    combination = find_combination(rows, approximate_weights, prefer_exact=True)
    if combination is None:
        weights = list(map(Fraction, approximate_weights.tolist()))
    else:
        weights = combination.weights
    used = [(name, weight) for name, weight in zip(rows.names, weights, strict=True) if weight]
    unknowns = "w" if rows.c is None else "(w, b)"
    listing = f"{len(used)} rows: {_format_weights(used)}"
    record = {"kind": "farkas", "weights": dict(used)}
    if combination is None:
        return _build_proof(title, [
            Claim("weights", "open", f"whether there are weights near those of the exception that prove it: {listing}"),
            Claim("feasible", "open", f"whether no {unknowns} at all satisfies these rows"),
        ], optimum=None, record=record)  # fmt: skip
    bound = _format_fraction(combination.rhs)
    if combination.relative_radius:
        radius = format_upper_bound(combination.relative_radius)
        listing += f", or rational ones next to them, off by at most {radius} of each"
        bound = f"at most {format_upper_bound(round_up(combination.rhs))}"
    return _build_proof(title, [
        Claim("weights", "proven", f"the weights λ ≥ 0 of {listing}", combination.relative_radius or None),
        Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly"),
        Claim("right", "proven", f"Σ λ_k h_k is {bound} < 0", round_up(combination.rhs)),
        Claim("feasible", "proven", f"no {unknowns} satisfies all of these rows: 0 ≤ Σ λ_k h_k would follow"),
    ], optimum=math.inf, record=record)  # fmt: skip


def prove_hulls_meet(
    title: str,
    weights: tuple[Mapping[int, Fraction], Mapping[int, Fraction]],
    labels: tuple[str, str],
    equation: str,
    combination: Combination | None,
    separation: str,
    assumptions: tuple[str, ...] = (),
) -> Proof:
    """Prove by (PHULL.1) that the hulls of two classes meet, or state what is known.

    weights: u of class +1 and v of class −1, by the index of the sample, scaled to add up to 1 exactly.
    labels: Names of the classes −1 and +1, the other way round.
    equation: The equation of the common point, as text.
    combination: The exact weights, or an enclosure; None if none was found.
    separation: Description of a hyperplane that does separate the classes; empty if none is known.
    """
    u, v = weights
    assert sum(u.values()) == 1 == sum(v.values())
    u_text, v_text = (
        f"{letter} ≥ 0 of {len(weights_of_class)} of class {label} ({_list_first('row', list(weights_of_class))})"
        for letter, weights_of_class, label in zip("uv", weights, reversed(labels), strict=True)
    )
    record: dict[str, Any] = {"kind": "hulls", "u": u, "v": v}
    inseparable = "no hyperplane separates the classes"
    convex = Claim("convex", "proven", f"the weights {u_text} and {v_text} add up to 1 each, exactly")
    if combination is None:
        hulls = Claim("hulls", "open", f"whether {equation} for weights near these")
        separable = Claim("separable", "open", f"{inseparable}: no exact point of both hulls was found")
        if separation:
            refutation = f"one does ({separation}), but the hulls are too close for doubles to find it"
            separable = Claim("separable", "refuted", f"{inseparable}: {refutation}")
        return _build_proof(title, (convex, hulls, separable), optimum=None, record=record, assumptions=assumptions)
    hulls_text = f"{equation}, exactly in rational numbers: the hulls of the classes meet"
    if combination.relative_radius:  # the weights are only known to exist
        radius = format_upper_bound(combination.relative_radius)
        existence = "there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the exception"
        text = f"{existence}: none is off by more than {radius} of itself"
        convex = Claim("convex", "proven", text, combination.relative_radius)
        hulls_text = f"{equation}, exactly for these u and v: the hulls of the classes meet"
    claims = (
        convex,
        Claim("hulls", "proven", hulls_text),
        Claim("separable", "proven", f"{inseparable}: that point would be on both of its sides"),
    )
    record["enclosed"] = combination.relative_radius > 0.0
    return _build_proof(title, claims, optimum=math.inf, record=record, assumptions=assumptions)


def prove_nu_exceeds_balance(
    nu: float, positive_sum: Fraction, negative_sum: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """Prove by (PNU.1) that ν is too large.

    positive_sum, negative_sum: S₊ and S₋, or approximations with a relative error of at most `radius`.
    labels: Names of the classes −1 and +1.
    """
    smaller_sum, label = min((negative_sum, labels[0]), (positive_sum, labels[1]))
    total = positive_sum + negative_sum
    limit = 2 * smaller_sum * (1 + radius) / (total * (1 - radius))  # upper bound: min(S₊, S₋) from above, S from below
    sums = f"at most {_format_nu(limit)}"
    if radius == 0:
        sums = f"2·{_format_nu(smaller_sum)}/{_format_nu(total)}, that is {_format_nu(limit)}"
    reason = "1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each class, and α_i is at most s_i/S: for class "
    verdict: Verdict
    if Fraction(nu) > limit:
        verdict = "proven"
    elif radius:
        verdict = "open"
    else:
        verdict = "refuted"
    claims = [
        Claim("limit", "proven", f"{reason}{label} this allows ν up to {sums}"),
        Claim("feasible", verdict, f"ν = {nu!r} is more, so that no α is feasible"),
    ]
    return _build_nu_proof(f"ν-SVM, ν = {nu:g}", nu, limit, claims)


def prove_nu_above_one(nu: float, has_feasible_alpha: bool) -> Proof:
    """Prove by (PNU.2) that no α is feasible for ν > 1.

    has_feasible_alpha: Whether the dual is feasible nevertheless, as that of a ν-SVR up to ν = 2. Then prove that ε = 0
        is optimal, as for ν = 1, which is why such a ν is refused.
    """
    name, reason = "feasible", "1ᵀα = νS, and α_i is at most s_i: this allows ν up to 1"
    conclusion = f"ν = {nu!r} is more, so that no α is feasible"
    if has_feasible_alpha:
        name, reason = (
            "refused",
            "a tube of width ε is penalised by νΣC ε and reduces the penalty of the slacks by at most ΣC ε: for ν ≥ 1 "
            "no ε is better than 0, whatever ν is",
        )
        conclusion = f"ν = {nu!r} says no more than 1 does: it is refused, although up to ν = 2 there are feasible α"
    claims = [Claim("limit", "proven", reason), Claim(name, "proven", conclusion)]
    return _build_nu_proof(f"ν = {nu:g}", nu, Fraction(1), claims, not has_feasible_alpha)


def _build_nu_proof(title: str, nu: float, limit: Fraction, claims: Sequence[Claim], is_empty: bool = True) -> Proof:
    """Build the proof for a ν that is too large: the optimal value is −∞ if the dual is empty and all is proven."""
    if is_empty and all(claim.verdict == "proven" for claim in claims):
        optimum = -math.inf
    else:
        optimum = None
    return _build_proof(title, claims, optimum=optimum, record={"kind": "nu", "nu": Fraction(nu), "limit": limit})


def _build_proof(
    title: str, claims: Sequence[Claim], *, optimum: float | None, record: Mapping[str, Any],
    assumptions: tuple[str, ...] = (),
) -> Proof:  # fmt: skip
    """Build a proof that is not about a point: it has no duality gap, which is NaN here, and no α.

    optimum: The optimal value, ∞ of an infeasible primal or −∞ of an infeasible dual; None if it is not known.
    """
    primal, dual = (math.inf, -math.inf) if optimum is None else (optimum, optimum)
    return Proof(
        title=title, gap=math.nan, least_gap=math.nan, primal=primal, dual=dual, difference=math.nan, remains=math.nan,
        alpha=np.zeros(0), exactly=all(claim.verdict == "proven" for claim in claims),
        claims=tuple(claims), assumptions=assumptions, record=record,
    )  # fmt: skip


def _list_first(noun: str, items: Sequence[Any]) -> str:
    """Name the first items: "rows 0, 1, …"."""
    return f"{noun}{'' if len(items) == 1 else 's'} {_join_first(list(map(str, items)), ', ')}"


def _format_weights(used: Sequence[tuple[str, Fraction]]) -> str:
    """Format the largest of named weights as a sum: "1/2·(row 0) + …"."""
    ordered = sorted(used, key=lambda item: -item[1])
    return _join_first([f"{_format_fraction(weight)}·({name})" for name, weight in ordered], " + ")


def _join_first(parts: Sequence[str], separator: str) -> str:
    """Join the first parts, with "…" for the others."""
    return separator.join([*parts[:MAX_NAMED], *(["…"] if len(parts) > MAX_NAMED else [])])


def _format_fraction(value: Fraction, limit: int = MAX_SHORT_WEIGHT, digits: int = 6) -> str:
    """Return a fraction as text if it is short, otherwise its approximate value."""
    if max(abs(value.numerator), value.denominator) < limit:
        return str(value)
    return f"about {round_up(value):.{digits}g}"


def _format_nu(value: Fraction) -> str:
    """Return ν or a sum of weights as text."""
    return _format_fraction(value, MAX_SHORT_NU, 17)
