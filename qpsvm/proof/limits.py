"""What is proven of a ν that is too large.

    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each, and α_i ≤ s_i/S make ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i make ν ≤ 1

S₊, S₋ and S are sums of floats without rounding: rational numbers, as is ν.
"""

from __future__ import annotations

from fractions import Fraction

from qpsvm.proof.impossible import nothing_feasible
from qpsvm.proof.proof import Claim, Proof

#: Fractions that are written as such.
SHORT = 10**6


def balance(
    nu: float, above: Fraction, below: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """(PNU.1)."""
    least, label = min((below, labels[0]), (above, labels[1]))
    limit = 2 * least * (1 + radius) / ((above + below) * (1 - radius))
    exact = radius == 0
    sums = f"at most {_plain(limit)}"
    if exact:
        sums = f"2·{_plain(least)}/{_plain(above + below)}, that is {_plain(limit)}"
    claims = [
        Claim("limit", "proven", "1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each class, of which each α_i may be s_i/S: for "
              f"class {label} this allows ν up to {sums}"),
        Claim("feasible", "proven" if Fraction(nu) > limit else "open" if radius else "refuted",
              f"ν = {nu!r} is more, so that no α is feasible"),
    ]  # fmt: skip
    record = {"kind": "nu", "nu": Fraction(nu), "limit": limit}
    return nothing_feasible(f"ν-SVM, ν = {nu:g}", claims, record)


def share(nu: float, feasible: bool) -> Proof:
    """(PNU.2); or that a machine is not defined for such a ν, although there are feasible α."""
    why = "1ᵀα = νS, and each α_i may be s_i: this allows ν up to 1"
    what = f"ν = {nu!r} is more, so that no α is feasible"
    if feasible:
        why = "a width ε costs νΣC a unit and saves at most ΣC: for ν ≥ 1 none is better than 0, whatever ν is"
        what = f"ν = {nu!r} says no more than 1 does: it is refused, although up to ν = 2 there are feasible α"
    claims = [Claim("limit", "proven", why), Claim("feasible" if not feasible else "refused", "proven", what)]
    record = {"kind": "nu", "nu": Fraction(nu), "limit": Fraction(1)}
    return nothing_feasible(f"ν = {nu:g}", claims, record, not feasible)


def _plain(value: Fraction) -> str:
    """A fraction where it is short, and else about what it is."""
    short = value.denominator < SHORT and abs(value.numerator) < SHORT
    return str(value) if short else f"about {float(value):.17g}"
