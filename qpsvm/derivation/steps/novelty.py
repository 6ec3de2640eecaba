"""What the one-class SVM and the SVDD have in common: one group, whose total ν sets, and samples inside and outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.bounds import certify, levels
from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides
from qpsvm.derivation.step import Step

#: Share of what f is made of by which a sample may be outside and still be on the boundary: rounding.
ROUNDING = 1e-9
#: The function that states (GAP.1).
gap = certify._measured


def what_nu_bounds(tag: str, weight: str, total: str) -> Step:
    """How much weight is outside, and how much supports; `weight` and `total` are the LaTeX of U_i and e."""
    return Step(
        tag, "What ν bounds",
        "A sample outside has its α_i at the bound, so such samples weigh at most a share ν together. No α_i is above "
        "its bound, so the support vectors weigh at least that share. The residual is by how much a bound fails.",
        rf"\sum_{{f(x_i)<0}}{weight}\ \le\ {total}\ \le\ \sum_{{\alpha_i>0}}{weight}",
        shares, shares,
    )  # fmt: skip


def shares(at: Letters[Any]) -> tuple[Sides, ...]:
    """The weight outside is at most ν of all, the weight that supports at least."""
    total = at.svm.groups[0].total
    outside = float(at.C[at.f < at.margin - ROUNDING * at.level].sum())
    supporting = float(at.C[at.alpha > 0].sum())
    return (  # (ONE.15), (SVDD.16)
        Sides(outside, "≤", total, "the bounds of the samples outside, added up, and what all α add up to", total),
        Sides(supporting, "≥", total, "the bounds of the support vectors, added up, and what all α add up to", total),
    )


def level_recovered(at: Letters[Any]) -> tuple[Sides, ...]:
    """μ is a weighted quantile of ℓ − u, and ℓ − u itself of the samples on the boundary."""
    low, high = levels.interval(at.svm, at.svm.parts[0], at.svm.level - at.u) or (-np.inf, np.inf)
    name = "−ρ" if at.svm.homogeneous else "μ"
    found = [
        Sides(at.b, "≥", low, f"{name}, and the lower end of the weighted quantile", at.level),
        Sides(at.b, "≤", high, f"{name}, and the upper end of the weighted quantile", at.level),
    ]
    if at.on_margin.any():
        mean = float((at.svm.level - at.u)[at.on_margin].mean())
        found.append(Sides(at.b, "=", mean, f"{name}, and its mean over the boundary", at.level))
    return tuple(found)
