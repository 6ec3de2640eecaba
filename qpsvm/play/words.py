"""A result in one or two sentences: what it means, and what to try next."""

from __future__ import annotations

import numpy as np

from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult


def sentence(result: SVMResult) -> str:
    """What a solved result means."""
    if result.status is not Status.OPTIMAL:
        return f"{result.status.sentence} The gap proven is {_gap(result)}."
    parts = [f"Optimal, and proven: no other α or (w, b) is better by more than {result.gap:.1g} of the objective."]
    if result.rho == 0.0:
        parts.append("The reduced hulls meet, so w = 0: choose a larger ν.")
    elif not len(result.support):
        parts.append("Every α is 0, so that f is constant.")
    elif not len(result.on_margin):
        parts.append("No sample is on the margin, so b may be anywhere in an interval: move C a little.")
    elif len(result.at_bound) > len(result.alpha) / 2 and np.isfinite(result.upper).all():
        parts.append("More than half of the samples are at their bound: raise C for a narrower margin.")
    return " ".join(parts)


def verdict_on_yours(result: SVMResult) -> str:
    """What the certificate says of an α that the user holds."""
    if result.status is Status.OPTIMAL:
        return f"This α is optimal: the gap is {_gap(result)}."
    if not np.isfinite(result.gap):
        return "This α proves nothing yet: f separates no classes, so no primal point comes with it."
    worst = int(np.argmax(result.terms))
    return (
        f"The gap is {_gap(result)}: so far may this α be from the optimum. Sample {worst + 1} has the largest share "
        "of it; its sentence says which way to move its α."
    )


def _gap(result: SVMResult) -> str:
    return f"{100 * result.gap:.2g} %" if result.gap >= 1e-4 else f"{result.gap:.1g}"
