"""One kernel's points, each solved from those before it.

Between two values of C at which the same samples are free, α is linear in C: where that held for the last two points,
it foretells the next one exactly. Where samples change sides, it still foretells most of the changes.

    (WALK.1)  α(C) = α₂ + (C − C₂)/(C₂ − C₁) (α₂ − α₁),  brought into its box
    (WALK.2)  after the first point, C/C₁ α₁:  where C is small, α is nearly proportional to it

Where another parameter of the machine changes, C begins anew: from what was found for the same C before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.arrays.types import FloatArray
from qpsvm.errors import InfeasibleNuError
from qpsvm.grid.parameters import FALLING, RISING, Grid
from qpsvm.problems import Problem
from qpsvm.qp.solution import Status
from qpsvm.result import SVMResult
from qpsvm.solve import solve

#: Relative difference of two C from which on they foretell a third.
LEAST_STEP = 1e-9


def walk(
    grid: Grid, problem: Problem, points: Sequence[Mapping[str, Any]], options: Mapping[str, Any], refuse: bool = True
) -> Iterator[SVMResult | InfeasibleNuError]:
    """Solve the points in this order.

    Raises KeyboardInterrupt.
    """
    name = options.get("backend", "auto")
    begins = name == "auto" or backends.get(name).abilities.starts  # a named one that cannot refuses a start
    past: list[tuple[float | None, SVMResult]] = []
    beside: Mapping[str, Any] | None = None
    before: dict[float, SVMResult] = {}
    for point in points:
        try:
            step = grid.problem_at(problem, point)
        except InfeasibleNuError as error:
            if refuse:
                raise
            yield error
            continue
        price = price_of(point)
        others = {name: value for name, value in point.items() if name not in (*RISING, *FALLING)}
        if price is not None and others != beside:
            past = [(None, before[price])] if price in before else []
            beside = others
        start = {} if "start" in options or not past or not begins else {"start": _start(price, past)}
        result = solve(step, **{**start, **options})
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # it was meant for all points, not for one of them
        if result.gap < np.inf:
            past = [*past[-1:], (price, result)]
            if price is not None:
                before[price] = result
        yield result


def price_of(point: Mapping[str, Any]) -> float | None:
    """What every upper bound is proportional to along the path: C, or 1/λ; None where it is neither."""
    for name, value in point.items():
        if name in RISING:
            return float(value)
        if name in FALLING:
            return 1.0 / float(value)
    return None


def _start(price: float | None, past: Sequence[tuple[float | None, SVMResult]]) -> SVMResult | FloatArray:
    """Where to begin: what the last two results foretell, or the last one."""
    (before, first), (last, second) = past[0], past[-1]
    if price is None or last is None:
        return second
    if len(past) == 1 or before is None or abs(last - before) <= LEAST_STEP * last:
        return price / last * second.alpha  # (WALK.2)
    return second.alpha + (price - last) / (last - before) * (second.alpha - first.alpha)  # (WALK.1)
