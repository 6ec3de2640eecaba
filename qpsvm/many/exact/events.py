"""Run the ordinary events of a parametric active set in compiled code, qpsvm/core/c/active.c (`run_compiled`).

`ActiveSet`, which explains the method and its symbols, handles everything unusual (a tie, a row that would make M
singular, a large residual), and all events if there is no compiled core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm import core
from qpsvm.many.exact.active_set_state import ActiveSetState
from qpsvm.many.exact.steps import Record, Steps

#: Limit of the steps per call. Each may add a row to F: the arrays grow if they have space for fewer than the second.
MAX_STEPS, MIN_SPARE_ROWS = 32, 8
#: Why a call ended, numbered as in the C code: the path ends; the limit is reached, or rounding has grown, and another
#: call continues; the next step is unusual; `ActiveSet` has to add a row to F, or to move one to its hi or its lo.
END, FULL, AGAIN, UNUSUAL, ENTERS, LEAVES_UP, LEAVES_DOWN = range(7)
#: Empty arrays that the C code gets if the steps are not recorded.
NO_RECORD: Any = (np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8))


def run_compiled(state: ActiveSetState, record: Record | None) -> tuple[int, int, int]:
    """Run at most `MAX_STEPS` ordinary events, and pass their steps to `record`.

    Return why the call ended, the row of the next event, and the number of steps.
    """
    rows, factor = state.rows, state.factor
    limit = min(factor.n_spare_rows, MAX_STEPS)
    if limit < MIN_SPARE_ROWS:
        factor.grow(MAX_STEPS)
        limit = MAX_STEPS
    steps = None if record is None else state.steps
    if record is not None and (steps is None or steps.width < factor.count + MAX_STEPS):
        steps = state.steps = Steps(MAX_STEPS, rows.m, rows.p, 2 * (factor.count + MAX_STEPS))
    arrays = (
        rows.K, rows.E, rows.curvature, rows.ridge, rows.sample, *state.slope.parts, *state.current.parts,
        state.pinned, state.v, state.mu, state.f, state.rate, state.f_rate, state.e_rate, state.kind,
        factor.inverse_buffer, factor.kernel_buffer, factor.free_buffer,
        *(NO_RECORD if steps is None else (steps.numbers, steps.rows, steps.kinds)),
    )  # fmt: skip
    reason, row, count, factor.count, state.s = core.compiled.active_run(
        arrays, rows.max_diagonal, factor.pivot_tolerance, state.s, factor.count, limit,
        0 if steps is None else steps.width,
    )  # fmt: skip
    state.events += count - (reason == END)
    if steps is not None and record is not None and count:
        steps.count = count
        record(steps)
    return reason, row, count
