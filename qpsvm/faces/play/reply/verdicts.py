"""A sentence for each sample: which product of complementary slackness is violated, or which constraint is active."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play.machines import Machine
from qpsvm.program.solution import Status
from qpsvm.result.svm_result import SVMResult

#: What a sample of α = 0 means at an optimum, where no sample's bound depends on how many there are; and elsewhere.
IDLE, HELD = "Without this sample, nothing would change.", "It has no part in w."
#: A product counts as violated from this share of the objective on: the gap of an optimal result is smaller.
NOTICED = 1e-6


@dataclass(frozen=True, eq=False)
class Products:
    """The two products of each sample, (n,) each: what is paid inside the margin, and what for slack."""

    beyond: FloatArray
    slack: FloatArray


def verdicts(result: SVMResult, machine: Machine, products: Products) -> list[str]:
    """A sentence for each sample, in the machine's own letters."""
    size = max((abs(v) for v in (result.primal, result.dual) if np.isfinite(v)), default=0.0) or 1.0
    noticed = NOTICED * size / result.unit
    if machine.learnt == "numbers":
        say = _of_regression
    elif machine.learnt == "none":
        say = _of_novelty
    else:
        say = _of_curved if machine.curved else _of_classes
    said = [say(result, machine, products, i, noticed) for i in range(len(result.kind))]
    if result.status is Status.OPTIMAL and not machine.shared:
        return said
    return [sentence.replace(IDLE, HELD) for sentence in said]


def _of_classes(result: SVMResult, machine: Machine, products: Products, i: int, noticed: float) -> str:
    bound, level, bounded = machine.bound, machine.level, np.isfinite(result.upper[i])
    slack, beyond, kind = products.slack[i], products.beyond[i], result.kind[i]
    both, fall = ("both products are 0", " + ξ") if bounded else ("α (y f − 1) is 0", "")
    if slack > noticed and not bounded:
        return f"y f < {level}, and a hard margin allows no slack."
    if slack > noticed:
        return f"Violated: ({bound} − α) ξ = {slack:.3g}. It falls short by ξ, so α should be {bound}: raise α."
    if beyond > noticed:
        return (
            f"Violated: α (y f − {level}{fall}) = {beyond:.3g}. It lies beyond its margin, so α should be 0: lower α."
        )
    if kind == 0:
        return f"α = 0 and y f ≥ {level}: {both}. {IDLE}"
    if kind == 1:
        bounds = f"0 < α < {bound}" if bounded else "α > 0"
        return f"{bounds} and y f = {level}: {both}. It lies on its margin and holds it."
    return f"α = {bound} and y f ≤ {level}: both products are 0. It pays for each unit of ξ."


def _of_curved(result: SVMResult, machine: Machine, products: Products, i: int, noticed: float) -> str:
    wanted = "hα/C" if machine.bound else "α/(2C)"
    alpha, upper = result.alpha[i], result.upper[i]
    if products.beyond[i] > noticed:
        return (
            f"Violated: α (y f − 1) = {products.beyond[i]:.3g}. It lies beyond its margin, so α should be 0: lower α."
        )
    if products.slack[i] > noticed:
        way = "raise" if result.xi[i] > result.curvature[i] * alpha else "lower"
        return f"Violated: its slack is {result.xi[i]:.3g}, and {wanted} is {result.curvature[i] * alpha:.3g}: {way} α."
    if result.kind[i] == 0:
        return f"α = 0 and y f ≥ 1: both products are 0. {IDLE}"
    if alpha >= upper:
        return f"α = {machine.bound} and y f ≤ 1 − h: both products are 0. It is on the slope, where each unit costs C."
    return (
        f"0 < α and y f = 1 − {wanted}: both products are 0. The more slack it has, the more it pays for the next bit."
    )


def _of_regression(result: SVMResult, machine: Machine, products: Products, i: int, noticed: float) -> str:
    n = len(result.kind)
    assert result.target is not None
    beta, residual = result.coef[i], result.target[i] - result.yf[i]
    above = residual > 0.0
    tube = machine.tube
    side, full = ("above", result.upper[i]) if above else ("below", result.upper[n + i])
    letter, where = ("α⁺", "up") if above else ("α⁻", "down")
    bound = _bound(machine, above) if np.isfinite(full) else "2C ξ"
    if products.slack[i] > noticed and (np.isfinite(full) or result.xi[i] + result.xi[n + i] > 0.0):
        size = result.xi[i] + result.xi[n + i]
        return f"Violated: it lies {side} {'the tube' if tube else 'f'} by {size:.3g}, so {letter} should be {bound}."
    if max(products.beyond[i], products.slack[i]) > noticed:
        place = "inside the tube" if tube else f"{side} f"
        return f"Violated: it lies {place}, so {'β' if tube else 'the other α'} should be 0: bring β to 0 there."
    kind = result.kind[i]
    if kind == 0 and beta == 0.0:
        inside = "|t − f| ≤ ε" if tube else "t = f"
        return f"β = 0 and {inside}: both products are 0. {IDLE}"
    if kind == 1:
        edge = f"t − f = {'ε' if above else '−ε'}, on the edge of the tube" if tube else "t = f, on the curve"
        return f"{edge}: both products are 0. Its β = {_signed(beta)} holds f there."
    much = "with all it may" if np.isfinite(full) else "the more, the farther it is"
    return f"{letter} = {bound}, and it lies {side} {'the tube' if tube else 'f'}: it pulls f {where}, {much}."


def _signed(value: float) -> str:
    """A number with a real minus sign."""
    return f"{value:.3g}".replace("-", "−")


def _bound(machine: Machine, above: bool) -> str:
    """The bound of α⁺ or α⁻ as the machine writes it."""
    written = {key: text for key, text, _ in machine.letters}
    return written.get("upper", "C") if above else written.get("lower", f"−{machine.bound}").removeprefix("−")


def _of_novelty(result: SVMResult, machine: Machine, products: Products, i: int, noticed: float) -> str:
    bound = machine.bound
    if result.status is Status.OPTIMAL and "radius" not in result.extras and not np.any(np.abs(result.yf) > noticed):
        return "f = 0, as it is everywhere: w is 0, so that there is no boundary, and no sample is outside."
    if products.slack[i] > noticed:
        return f"Violated: ({bound} − α) ξ = {products.slack[i]:.3g}. It is outside, so α should be {bound}: raise α."
    if products.beyond[i] > noticed:
        return f"Violated: α f = {products.beyond[i]:.3g}. It is inside, so α should be 0: lower α."
    if result.kind[i] == 0:
        return f"α = 0 and f ≥ 0: both products are 0. {IDLE}"
    if result.kind[i] == 1:
        return f"0 < α < {bound} and f = 0: both products are 0. It lies on the boundary and holds it."
    if result.xi[i] <= noticed:
        return f"α = {bound} and f = 0: both products are 0. It lies on the boundary, and holds it with all it may."
    return f"α = {bound} and f ≤ 0: both products are 0. It is outside and pays for it."
