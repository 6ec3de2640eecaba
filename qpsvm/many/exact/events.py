"""Run the ordinary events of a parametric active set in compiled code (CACTIVE of qpsvm/core/c/active.c).

Whatever is unusual (a tie, a row that adds nothing or may not go, a residual to be repaired) is done by `ActiveSet`,
which does all of it where nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray

#: Steps at a time, and the least that arrays have room for.
STEPS, FEWEST = 32, 8
#: Why it ended; `AGAIN` and `FULL` are no reasons to do anything.
END, FULL, AGAIN, UNUSUAL, ENTERS, LEAVES_UP, LEAVES_DOWN = range(7)
NOTHING: Any = (np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8))


class Steps:
    """What a number of steps went through, one after the other: from s to `end`, with F and the kinds on the way.

    numbers (limit, 2 + 2p + 2 width): s, end, μ, its slope, v_F and its slope, `width` for each of these two.
    rows (limit, 1 + width): How many rows F has, and F.
    kinds (limit, m).
    """

    def __init__(self, limit: int, m: int, p: int, width: int) -> None:
        self.numbers: FloatArray = np.empty((limit, 2 + 2 * p + 2 * width))
        self.rows: IntArray = np.empty((limit, 1 + width), dtype=np.int64)
        self.kinds: NDArray[np.int8] = np.empty((limit, m), dtype=np.int8)
        self.p, self.width, self.count = p, width, 0

    @classmethod
    def from_step(
        cls, ends: tuple[float, float], free: IntArray, kind: NDArray[np.int8], values: tuple[FloatArray, ...]
    ) -> Steps:  # fmt: skip
        """Build the record of a single step, with μ, its slope, v_F and its slope."""
        steps = cls(1, len(kind), len(values[0]), len(free))
        steps.count = 1
        steps.numbers[0] = np.concatenate([ends, *values])
        steps.rows[0, 0], steps.rows[0, 1:], steps.kinds[0] = len(free), free, kind
        return steps


#: Is told of steps, whose arrays are used again.
Record = Callable[[Steps], None]


def run(engine: Any, record: Record | None) -> tuple[int, int, int]:
    """Events of an `ActiveSet` up to an unusual one, or `STEPS`: why it ends, where, and how many there were."""
    rows, factor = engine.rows, engine.factor
    limit = factor.places
    if limit < FEWEST:
        factor.grow(STEPS)
        limit = STEPS
    limit = min(limit, STEPS)
    kept = None if record is None else engine.steps
    if record is not None and (kept is None or kept.width < factor.count + STEPS):
        kept = engine.steps = Steps(STEPS, rows.m, rows.p, 2 * factor.count + 2 * STEPS)
    arrays = (
        rows.K, rows.E, rows.curvature, rows.ridge, rows.sample, *engine.slope.parts, *engine.now.parts, engine.pinned,
        engine.v, engine.mu, engine.f, engine.rate, engine.q, engine.b, engine.kind, factor.W, factor.kernel,
        factor.order, *(NOTHING if kept is None else (kept.numbers, kept.rows, kept.kinds)),
    )  # fmt: skip
    why, place, count, factor.count, engine.s = core.compiled.active_run(
        arrays, rows.top, factor.no_pivot, engine.s, factor.count, limit, 0 if kept is None else kept.width
    )
    engine.events += count - (why == END)
    if kept is not None and record is not None and count:
        kept.count = count
        record(kept)
    return why, place, count
