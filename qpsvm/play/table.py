"""The samples of a result, one by one: α, ξ, η, y f, the share of the gap, and which product is violated.

Complementary slackness is two products for each sample, α (y f − ρ + ξ) and (C − α) ξ. They are never negative, and
their sum is the sample's term g_i of the gap, (CERT.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.play.finite import numbers
from qpsvm.result import SVMResult

#: A product counts as violated from this share of the objective on: the gap of an optimal result is smaller.
NOTICED = 1e-6


def table(result: SVMResult, bound: str, level: str) -> dict[str, Any]:
    """Everything about each sample, as columns of n entries.

    How the upper bound of α is written, and what y f is on the margin, is for the machine to say.
    """
    alpha, upper, xi, margin = result.alpha, result.upper, result.xi, result.margin
    kkt = result.kkt
    eta = kkt["eta"]
    with np.errstate(invalid="ignore", over="ignore"):  # ∞ · 0 is 0 here: nothing is paid where nothing falls short
        slack = np.where(xi > 0.0, eta * xi, 0.0)
        beyond = alpha * np.maximum(result.yf - margin, 0.0)
    return {
        "alpha": numbers(alpha), "upper": numbers(upper), "share": numbers(_shares(result)), "xi": numbers(xi),
        "eta": numbers(eta), "yf": numbers(result.yf), "kind": [int(kind) for kind in result.kind],
        "gap": numbers(kkt["residual"]), "margin_product": numbers(beyond), "slack_product": numbers(slack),
        "verdict": _verdicts(result, bound, level, beyond, slack),
    }  # fmt: skip


def _shares(result: SVMResult) -> FloatArray:
    """α/C; where nothing bounds α, α/max α: (n,)."""
    largest = float(result.alpha.max()) or 1.0
    sizes = np.where(np.isfinite(result.upper) & (result.upper > 0.0), result.upper, largest)
    shares: FloatArray = result.alpha / sizes
    return shares


def _verdicts(result: SVMResult, bound: str, level: str, beyond: FloatArray, slack: FloatArray) -> list[str]:
    """A sentence for each sample: which product is violated, or which constraint is active."""
    bounded = np.isfinite(result.upper)
    size = max((abs(v) for v in (result.primal, result.dual) if np.isfinite(v)), default=0.0) or 1.0
    noticed = NOTICED * size / result.unit
    said = []
    for i, kind in enumerate(result.kind):
        products, fall = ("both products are 0", " + ξ") if bounded[i] else ("α (y f − 1) is 0", "")
        if slack[i] > noticed and not bounded[i]:
            said.append(f"y f < {level}, and a hard margin allows no slack.")
        elif slack[i] > noticed:
            said.append(
                f"Violated: ({bound} − α) ξ = {slack[i]:.3g}. It falls short by ξ, so α should be {bound}: raise α."
            )
        elif beyond[i] > noticed:
            said.append(f"Violated: α (y f − {level}{fall}) = {beyond[i]:.3g}. It lies beyond its margin, so α should "
                        "be 0: lower α.")  # fmt: skip
        elif kind == 0:
            said.append(f"α = 0 and y f ≥ {level}: {products}. Without this sample, nothing would change.")
        elif kind == 1:
            bounds = f"0 < α < {bound}" if bounded[i] else "α > 0"
            said.append(f"{bounds} and y f = {level}: {products}. It lies on its margin and holds it.")
        else:
            said.append(f"α = {bound} and y f ≤ {level}: both products are 0. It pays for each unit of ξ.")
    return said
