"""Build the table of multipliers, slacks and shares of the gap, one row per sample (`build_sample_table`).

Complementary slackness has two products for each α, α (y f − ρ + ξ) and (C − α) ξ; for a squared penalty of slack the
second is C (ξ − α/(2C))², or that of Huber's hinge. They are never negative, and their sum is the sample's term g_i of
the gap, (CERT.1). A regression has two α per sample, and the products are summed over both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play.checks import to_json_list
from qpsvm.faces.play.explanations import explain_samples
from qpsvm.faces.play.machine_catalogue import PageMachine
from qpsvm.faces.play.moves import MoveFinder
from qpsvm.program.losses import compute_gap_term
from qpsvm.result.svm_result import SVMResult


def build_sample_table(result: SVMResult, machine: PageMachine, moves: MoveFinder | None = None) -> dict[str, Any]:
    """Build the table as columns of n entries; with `moves` also the moves that increase the dual value."""
    alpha, xi = result.alpha, result.xi
    with np.errstate(invalid="ignore", over="ignore"):
        slack = compute_gap_term(alpha, xi, result.upper, result.curvature)
        products = (alpha * np.maximum(result.yf - result.margin, 0.0), slack)
    margin_product, slack_product = (_sum_by_sample(part, result) for part in products)
    if machine.learnt == "numbers":
        own = _build_two_sided_columns(result)
    else:
        own = _build_one_sided_columns(result)
    return own | {
        "kind": [int(kind) for kind in result.kind],
        "gap": to_json_list(result.kkt["residual"]),
        "margin_product": to_json_list(margin_product),
        "slack_product": to_json_list(slack_product),
        "verdict": explain_samples(result, machine, margin_product, slack_product, moves),
        "slope": None if moves is None else to_json_list(moves.gradient),
    }


def _sum_by_sample(values: FloatArray, result: SVMResult) -> FloatArray:
    """Sum the values of all α, (m,), over those of each sample: (n,)."""
    return values.reshape(-1, len(result.kind)).sum(axis=0) if len(values) else values


def _build_one_sided_columns(result: SVMResult) -> dict[str, Any]:
    return {
        "alpha": to_json_list(result.alpha),
        "upper": to_json_list(result.upper),
        "share": to_json_list(_compute_shares(result)),
        "xi": to_json_list(result.xi),
        "eta": to_json_list(result.kkt["eta"]),
        "yf": to_json_list(result.yf),
    }


def _build_two_sided_columns(result: SVMResult) -> dict[str, Any]:
    """Build the columns of a regression: β = α⁺ − α⁻ in place of α, and t − f in place of y f."""
    n = len(result.kind)
    target = result.target
    assert target is not None
    beta = result.coef
    f = result.yf[:n]
    upper = result.upper
    shares = _compute_shares(result)
    return {
        "alpha": to_json_list(beta),
        "alpha_above": to_json_list(result.alpha[:n]),
        "alpha_below": to_json_list(result.alpha[n:]),
        "upper": to_json_list(upper[:n]),
        "lower": to_json_list(-upper[n:]),
        "share": to_json_list(np.maximum(shares[:n], shares[n:])),
        "signed": to_json_list(beta / compute_full_size(result)),
        "xi": to_json_list(_sum_by_sample(result.xi, result)),
        "f": to_json_list(f),
        "target": to_json_list(target),
        "value": to_json_list(target - f),
    }


def compute_full_size(result: SVMResult) -> float:
    """Return the α that is drawn at full size: the largest bound; without bounds, the largest α."""
    bounded = result.upper[np.isfinite(result.upper)]
    if len(bounded):
        size = bounded.max(initial=0.0)
    else:
        size = np.abs(result.alpha).max(initial=0.0)
    return float(size) or 1.0


def _compute_shares(result: SVMResult) -> FloatArray:
    """Return α/C, or α/max α if α has no upper bound: (m,)."""
    largest = float(result.alpha.max(initial=0.0)) or 1.0
    sizes = np.where(np.isfinite(result.upper) & (result.upper > 0.0), result.upper, largest)
    return result.alpha / sizes
