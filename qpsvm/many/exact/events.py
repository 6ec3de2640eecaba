"""Run the ordinary events of a parametric active set in compiled code (CACTIVE of qpsvm/core/c/active.c).

`run_compiled` is the entry point. `ActiveSet` handles everything unusual (a tie, a row that would make M singular, a
large residual), and all events if there is no compiled core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.many.exact.factor import InverseFactor
from qpsvm.many.exact.rows import Data, SignedRows

#: Limit of the steps per call, and the minimum for which the arrays must have space.
STEPS, MIN_STEPS = 32, 8
#: Why a call ended; `AGAIN` and `FULL` need no action. The numbers are those of the C code.
END, FULL, AGAIN, UNUSUAL, ENTERS, LEAVES_UP, LEAVES_DOWN = range(7)
#: Empty arrays that the C code gets if the steps are not recorded.
NO_RECORD: Any = (np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8))


class Steps:
    """Record of successive steps: from s to `end` each, with F and the kinds of all rows.

    numbers (limit, 2 + 2p + 2 width): s, end, μ, its slope, v_F and its slope, `width` numbers for each of these two.
    rows (limit, 1 + width): The size of F, and F.
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


#: Callback that receives steps; it must copy their arrays, which are reused.
Record = Callable[[Steps], None]


class ActiveSetState(Protocol):
    """The attributes of an `ActiveSet` that the compiled code reads and writes; `ActiveSet` explains them."""

    rows: SignedRows
    factor: InverseFactor
    slope: Data
    current: Data
    pinned: NDArray[np.bool_]
    v: FloatArray
    mu: FloatArray
    f: FloatArray
    rate: FloatArray
    f_rate: FloatArray
    e_rate: FloatArray
    kind: NDArray[np.int8]
    s: float
    events: int
    steps: Steps | None


def run_compiled(state: ActiveSetState, record: Record | None) -> tuple[int, int, int]:
    """Run at most `STEPS` ordinary events; return why the call ended, the row of the next event, and the steps made."""
    rows, factor = state.rows, state.factor
    limit = factor.n_spare_rows
    if limit < MIN_STEPS:
        factor.grow(STEPS)
        limit = STEPS
    limit = min(limit, STEPS)
    steps = None if record is None else state.steps
    if record is not None and (steps is None or steps.width < factor.count + STEPS):
        steps = state.steps = Steps(STEPS, rows.m, rows.p, 2 * factor.count + 2 * STEPS)
    arrays = (
        rows.K, rows.E, rows.curvature, rows.ridge, rows.sample, *state.slope.parts, *state.current.parts,
        state.pinned, state.v, state.mu, state.f, state.rate, state.f_rate, state.e_rate, state.kind, factor.W,
        factor.kernel, factor.order, *(NO_RECORD if steps is None else (steps.numbers, steps.rows, steps.kinds)),
    )  # fmt: skip
    reason, row, count, factor.count, state.s = core.compiled.active_run(
        arrays, rows.max_diagonal, factor.no_pivot, state.s, factor.count, limit, 0 if steps is None else steps.width
    )
    state.events += count - (reason == END)
    if steps is not None and record is not None and count:
        steps.count = count
        record(steps)
    return reason, row, count
