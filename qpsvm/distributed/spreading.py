"""One program on all workers that hold rows: started together, watched, and begun again where a worker is lost.

Each member runs as a task on its worker. Where a worker dies or hangs, the others stop within seconds, Dask makes its
partitions again on those that are left, and the program begins anew at the last state that it has noted. An error that
the program itself raises ends the run, as itself.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from qpsvm.distributed.placing import Placed
from qpsvm.distributed.recovery import left_out, placed_again
from qpsvm.distributed.run import Lost, Member, OnState, Settings, Spread
from qpsvm.errors import ClusterError
from qpsvm.resources.interrupts import held

#: One run at a time on each cluster: two, each with half of the threads it needs, would wait for each other for ever.
_turns: weakref.WeakKeyDictionary[Any, threading.Lock] = weakref.WeakKeyDictionary()


def spread(
    placed: Placed,
    program: Callable[..., Any],
    *args: Any,
    on_state: OnState | None = None,
    begun: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> list[Member]:
    """Run a program on every worker that holds rows, and answer with what each has returned.

    Raises ClusterError, QPSVMError.
    """
    settings = settings or Settings()
    state = dict(begun) if begun is not None else None

    def note(found: Mapping[str, Any]) -> None:
        nonlocal state
        state = dict(found)
        if on_state is not None:
            on_state(found)

    faults: list[str] = []
    try:
        with held(), _turns.setdefault(placed.client, threading.Lock()):
            while True:
                placed_again(placed, settings)
                run = Spread(placed, settings)
                try:
                    return run.result(program, args, state, note)
                except Lost as lost:
                    faults.append(str(lost))
                    if len(faults) > settings.restarts:
                        raise ClusterError(f"begun again {settings.restarts} times: {'; '.join(faults)}") from None
                    left_out(placed.client, lost, settings)
    except ClusterError as error:
        error.state = state
        raise


__all__ = ["spread"]
