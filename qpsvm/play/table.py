"""The samples of a result, one by one: α, ξ, η, y f, the share of the gap, and which product is violated.

Complementary slackness is two products for each α, α (y f − ρ + ξ) and (C − α) ξ; where slack has a price that is
curved, the second is C (ξ − α/(2C))² or Huber's. They are never negative, and their sum is the sample's term g_i of
the gap, (CERT.1). A regression has two α a sample, and the products are summed over both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.losses import gap_term
from qpsvm.play.finite import numbers
from qpsvm.play.machines import Machine
from qpsvm.play.verdicts import Products, verdicts
from qpsvm.result import SVMResult


def table(result: SVMResult, machine: Machine) -> dict[str, Any]:
    """Everything about each sample, as columns of n entries."""
    products = _products(result)
    margin_product, slack_product = (_by_sample(part, result) for part in products)
    own = _two_sided(result) if machine.learnt == "numbers" else _one_sided(result)
    return own | {
        "kind": [int(kind) for kind in result.kind], "gap": numbers(result.kkt["residual"]),
        "margin_product": numbers(margin_product), "slack_product": numbers(slack_product),
        "verdict": verdicts(result, machine, Products(margin_product, slack_product)),
    }  # fmt: skip


def _products(result: SVMResult) -> tuple[FloatArray, FloatArray]:
    """Both products of every α: (m,) each."""
    alpha, xi = result.alpha, result.xi
    with np.errstate(invalid="ignore", over="ignore"):
        slack = gap_term(alpha, xi, result.upper, result.curvature)
        return alpha * np.maximum(result.yf - result.margin, 0.0), slack


def _by_sample(values: FloatArray, result: SVMResult) -> FloatArray:
    """Values of all α, (m,), summed over those of each sample: (n,)."""
    sums: FloatArray = values.reshape(-1, len(result.kind)).sum(axis=0) if len(values) else values
    return sums


def _one_sided(result: SVMResult) -> dict[str, Any]:
    return {
        "alpha": numbers(result.alpha), "upper": numbers(result.upper), "share": numbers(_shares(result)),
        "xi": numbers(result.xi), "eta": numbers(result.kkt["eta"]), "yf": numbers(result.yf),
    }  # fmt: skip


def _two_sided(result: SVMResult) -> dict[str, Any]:
    """α is β = α⁺ − α⁻ here, and what it is drawn against t − f."""
    n, target = len(result.kind), result.target
    assert target is not None
    beta, f, upper = result.coef, result.yf[:n], result.upper
    shares = _shares(result)
    return {
        "alpha": numbers(beta), "alpha_above": numbers(result.alpha[:n]), "alpha_below": numbers(result.alpha[n:]),
        "upper": numbers(upper[:n]), "lower": numbers(-upper[n:]), "share": numbers(np.maximum(shares[:n], shares[n:])),
        "signed": numbers(beta / full_size(result)), "xi": numbers(_by_sample(result.xi, result)), "f": numbers(f),
        "target": numbers(target), "value": numbers(target - f),
    }  # fmt: skip


def full_size(result: SVMResult) -> float:
    """What is drawn as a whole α: the largest bound; where nothing bounds it, the largest α."""
    bounded = result.upper[np.isfinite(result.upper)]
    size = bounded.max(initial=0.0) if len(bounded) else np.abs(result.alpha).max(initial=0.0)
    return float(size) or 1.0


def _shares(result: SVMResult) -> FloatArray:
    """α/C; where nothing bounds α, α/max α: (m,)."""
    largest = float(result.alpha.max(initial=0.0)) or 1.0
    sizes = np.where(np.isfinite(result.upper) & (result.upper > 0.0), result.upper, largest)
    shares: FloatArray = result.alpha / sizes
    return shares
