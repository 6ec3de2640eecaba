"""Prove that a problem has no solution: contradicting constraints, classes whose hulls meet, or too large a ν.

Entry points: `prove_no_plane`, `prove_hulls_meet`, and `prove_nu_exceeds_balance` and `prove_nu_above_one` for ν.

    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so no (w, b) satisfies them (Farkas)
    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has the same value at both
               points, at least the minimum over the positive class and at most the maximum over the other; so no f
               separates the classes (Gordan). This is (PFARKAS.1) for the rows −y_i f(x_i) ≤ −1 with λ = (u, v)/2
    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 imply Σα = ν/2 in each class, so α_i ≤ s_i/S implies ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i imply ν ≤ 1

S₊, S₋ and S are the exact sums of the s_i. `exact_weights` finds λ near the floats of an error, and checks the
equations in integers.

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


def prove_no_plane(title: str, rows: ContradictingRows, approximate: FloatArray) -> Proof:
    """Prove by (PFARKAS.1) that rows contradict each other, with weights near `approximate` (k,)."""
    proven = find_combination(rows, approximate, prefer_exact=True)
    weights = [Fraction(value) for value in approximate.tolist()] if proven is None else proven.weights
    used = [(name, weight) for name, weight in zip(rows.names, weights, strict=True) if weight]
    plane = "w" if rows.c is None else "(w, b)"
    listing = f"{len(used)} rows: {_format_weights(used)}"
    record = {"kind": "farkas", "weights": dict(used)}
    if proven is None:
        return _build_proof(title, [
            Claim("weights", "open", f"whether there are weights near those of the error that prove it: {listing}"),
            Claim("feasible", "open", f"whether no {plane} at all keeps these rows"),
        ], None, record)  # fmt: skip
    bound = _format_fraction(proven.rhs)
    if proven.relative_radius:
        radius = format_upper_bound(proven.relative_radius)
        listing += f", or rational ones next to them, off by at most {radius} of each"
        bound = f"at most {format_upper_bound(round_up(proven.rhs))}"
    return _build_proof(title, [
        Claim("weights", "proven", f"the weights λ ≥ 0 of {listing}", proven.relative_radius or None),
        Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly"),
        Claim("right", "proven", f"Σ λ_k h_k is {bound} < 0", round_up(proven.rhs)),
        Claim("feasible", "proven", f"no {plane} keeps all of these rows: 0 ≤ Σ λ_k h_k would follow"),
    ], math.inf, record)  # fmt: skip


def prove_hulls_meet(
    title: str,
    weights: tuple[Mapping[int, Fraction], Mapping[int, Fraction]],
    labels: tuple[str, str],
    point: str,
    proven: Combination | None,
    separation: str,
    assumptions: tuple[str, ...] = (),
) -> Proof:
    """Prove by (PHULL.1) that the hulls of two classes meet, or state what is known.

    weights: u of class +1 and v of class −1, by the index of the sample.
    labels: Names of these classes.
    point: Statement that both hulls have a common point, as a part of a sentence.
    proven: The exact weights; None if none were found.
    separation: Description of a hyperplane that does separate the classes; empty if none is known.
    """
    u, v = weights
    assert sum(u.values()) == 1 == sum(v.values())
    u_text, v_text = (
        f"{letter} ≥ 0 of {len(weights_of_class)} of class {label} ({_list_first('row', list(weights_of_class))})"
        for letter, weights_of_class, label in zip("uv", weights, labels, strict=True)
    )
    record: dict[str, Any] = {"kind": "hulls", "u": u, "v": v}
    convex = Claim("convex", "proven", f"the weights {u_text} and {v_text} add up to 1 each, exactly")
    text = "no hyperplane separates the classes: "
    if proven is not None:
        manner = "exactly, in rational numbers"
        if proven.relative_radius:
            manner = "exactly, for these"
            existence = (
                "there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the error: none is off "
                f"by more than {format_upper_bound(proven.relative_radius)} of itself"
            )
            convex = Claim("convex", "proven", existence, proven.relative_radius)
        return _build_proof(title, [
            convex,
            Claim("hulls", "proven", f"{point} {manner}: the hulls of the classes meet"),
            Claim("separable", "proven", f"{text}that point would be on both of its sides"),
        ], math.inf, {**record, "enclosed": proven.relative_radius > 0.0}, assumptions)  # fmt: skip
    last = Claim("separable", "open", f"{text}no exact point of both hulls was found")
    if separation:
        last = Claim("separable", "refuted", f"{text}one does ({separation}), but its slab is too narrow for doubles")
    open_claim = Claim("hulls", "open", f"whether {point.rstrip(',')} for weights near these")
    return _build_proof(title, [convex, open_claim, last], None, record, assumptions)


def prove_nu_exceeds_balance(
    nu: float, positive_sum: Fraction, negative_sum: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """Prove by (PNU.1) that ν is too large.

    positive_sum, negative_sum: S₊ and S₋, known up to a relative radius.
    labels: Names of the classes −1 and +1.
    """
    smaller_sum, label = min((negative_sum, labels[0]), (positive_sum, labels[1]))
    total = positive_sum + negative_sum
    limit = 2 * smaller_sum * (1 + radius) / (total * (1 - radius))
    sums = f"at most {_format_nu(limit)}"
    if radius == 0:
        sums = f"2·{_format_nu(smaller_sum)}/{_format_nu(total)}, that is {_format_nu(limit)}"
    reason = "1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each class, of which each α_i may be s_i/S: for class "
    verdict: Verdict = "proven" if Fraction(nu) > limit else "open" if radius else "refuted"
    claims = [
        Claim("limit", "proven", f"{reason}{label} this allows ν up to {sums}"),
        Claim("feasible", verdict, f"ν = {nu!r} is more, so that no α is feasible"),
    ]
    return _build_nu_proof(f"ν-SVM, ν = {nu:g}", nu, limit, claims)


def prove_nu_above_one(nu: float, has_feasible_alpha: bool) -> Proof:
    """Prove by (PNU.2) that no α is feasible for ν > 1; if some α is (a regression's), explain why ν is refused."""
    name, reason = "feasible", "1ᵀα = νS, and each α_i may be s_i: this allows ν up to 1"
    conclusion = f"ν = {nu!r} is more, so that no α is feasible"
    if has_feasible_alpha:
        name, reason = (
            "refused",
            "a width ε costs νΣC a unit and saves at most ΣC: for ν ≥ 1 none is better than 0, whatever ν is",
        )
        conclusion = f"ν = {nu!r} says no more than 1 does: it is refused, although up to ν = 2 there are feasible α"
    claims = [Claim("limit", "proven", reason), Claim(name, "proven", conclusion)]
    return _build_nu_proof(f"ν = {nu:g}", nu, Fraction(1), claims, not has_feasible_alpha)


def _build_nu_proof(title: str, nu: float, limit: Fraction, claims: Sequence[Claim], is_empty: bool = True) -> Proof:
    """Build the proof for a ν that is too large: the optimal value is −∞ if the dual is empty and all is proven."""
    value = -math.inf if is_empty and all(claim.verdict == "proven" for claim in claims) else None
    return _build_proof(title, claims, value, {"kind": "nu", "nu": Fraction(nu), "limit": limit})


def _build_proof(
    title: str, claims: Sequence[Claim], value: float | None,
    record: Mapping[str, Any], assumptions: tuple[str, ...] = (),
) -> Proof:  # fmt: skip
    """Build a proof without a gap; `value` is the optimal value, ±∞, or None if it is not known."""
    primal, dual = (value, value) if value is not None else (math.inf, -math.inf)
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
