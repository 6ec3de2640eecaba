"""Steps and measures that machines of two classes share whose loss is curved: squared hinge and Huber's.

δ_i is the curvature: ξ_i = δ_iα_i is the slack whose square is paid, 1/(2C_i) and h/C_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.derivation.quantities import Letters
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import NotMeasurable, Step

At = Letters[Any]


def margin(tag: str) -> Step:
    """How far the two hyperplanes of the margin are apart, seen from samples that have left them."""
    return Step(
        tag, "Margin",
        "A step of length t along w/‖w‖ changes f by t‖w‖, so the way from one hyperplane to the other is the "
        "difference of their levels over ‖w‖. Samples that support have slack, and lie on their hyperplane only after "
        "a step of ξ/‖w‖ towards it: it is measured there.",
        r"\operatorname{dist}\bigl(\{f=-1\},\{f=+1\}\bigr)=\frac{2}{\|w\|}",
        margin_width, margin_width,
    )  # fmt: skip


def margin_width(at: At) -> Sides:
    """Along w/‖w‖, the support vectors of the two classes are 2/‖w‖ apart, each moved forward by its slack."""
    plus, minus = (at.alpha > 0) & (at.y > 0), (at.alpha > 0) & (at.y < 0)
    if not (plus.any() and minus.any()):
        raise NotMeasurable("no support vectors in one of the classes, so no two hyperplanes are known")
    norm = np.sqrt(2 * at.half_norm - at.penalised_b**2)
    along_w = (at.f - at.b + at.y * at.xi) / norm
    width = along_w[plus].mean() - along_w[minus].mean()
    stated = 2 / norm  # (SQHINGE.1), (HUBER.1)
    return Sides(width, "=", stated, "the way between support vectors along w, slack added, and 2/‖w‖", stated)


def intercept_recovered(at: At) -> Sides | tuple[Sides, ...]:
    """b is the mean of y_i (1 − δ_iα_i) − Σ_j α_j y_j K(x_j, x_i) over the samples with 0 < α_i < C_i."""
    free = (at.kind > 0) & (np.isinf(at.C) | (at.kind == 1))
    if not free.any():
        raise NotMeasurable("no sample with 0 < α < C: b is any value that costs least")
    b = float((at.y * (1 - at.svm.curvature * at.alpha) - at.u)[free].mean())
    return Sides(at.b, "=", b, "b, and the mean of y(1 − δα) − u over the samples with 0 < α < C", 1 + abs(b))


def kinds_of_samples(at: At) -> tuple[Sides, ...]:
    """α_i = 0 and y_i f ≥ 1;  0 < α_i < C_i and y_i f = 1 − δ_iα_i;  α_i = C_i and y_i f ≤ 1 − δ_iC_i."""
    yf, curved = at.y * at.f, at.svm.curvature * at.alpha
    zero, full = at.kind == 0, np.isfinite(at.C) & (at.kind == 2)
    claims = []
    for rows, relation, words in (
        (zero, "≥", "peripheral"), (~zero & ~full, "=", "where the loss is curved"), (full, "≤", "on its slope"),
    ):  # fmt: skip
        if rows.any():
            claims.append(_of_kind(at, rows, yf, relation, 1.0 - curved, f"y f of {{i}}, {words}, and 1 − δα"))
    return tuple(claims)


def _of_kind(at: At, rows: Any, left: Any, relation: Any, right: Any, of: str) -> Sides:
    places = np.flatnonzero(rows)
    return worst(left[rows], relation, right[rows], of, at.level, lambda k: at.say.row(places[k]))
