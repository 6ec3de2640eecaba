"""Workers that die or hang in the middle of a run: it takes longer, and its answer is the same."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import numpy as np
import pytest
from spread_programs import rounds

from qpsvm.base.errors import ClusterError
from qpsvm.solve.distributed.run import Settings, place
from qpsvm.solve.distributed.solving import spread

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]

#: Rounds of a run, and seconds of a round: several looks of the client. The patience is that of the library, because a
#: busy machine is silent for seconds.
ROUNDS, PAUSE = 30, 0.04
SETTINGS = Settings(recovery=300.0, restarts=20)


def numbers():
    """A table that Dask can make again; and the sum of its squares."""
    X = np.random.default_rng(1).standard_normal((400, 3))
    return da.from_array(X, chunks=(50, -1)), float(np.sum(np.square(X)))


def struck(placed, rank, number):
    """Run the rounds, and send a signal to the worker of a member when its first state is seen."""
    client = placed.client
    address = list(placed.holders())[rank]
    pid = client.run(os.getpid, workers=[address])[address]
    states = []

    def strike(state):
        if not states:
            os.kill(pid, number)
        states.append(state["round"])

    try:
        found = spread(placed, rounds, ROUNDS, PAUSE, on_state=strike, settings=SETTINGS)
    finally:
        with suppress(ProcessLookupError):  # its nanny has started another
            os.kill(pid, signal.SIGKILL)
    assert states == sorted(states)
    return found


@pytest.mark.parametrize(("rank", "number"), [(0, signal.SIGKILL), (1, signal.SIGSTOP)])
def test_a_worker_that_dies_or_hangs_costs_time_and_not_the_answer(whole, rank, number):
    X, squares = numbers()
    check(struck(place(X, client=whole, worth=1), rank, number), squares)


def check(found, squares):
    """That members have the sum, and went on from a state that was noted before the fault."""
    for member in found:
        total, first = member.small
        assert total == pytest.approx(ROUNDS * squares, rel=1e-9)
        assert first > 0


def test_without_nannies(bare):
    """Workers hang and die until none is left; the error has the last state. Then the scheduler is gone, too."""
    X, squares = numbers()
    placed = place(X, client=bare, worth=1)
    found = struck(placed, 0, signal.SIGSTOP)
    assert len(found) == 2
    check(found, squares)
    (alone,) = struck(placed, 1, signal.SIGKILL)
    check([alone], squares)
    with pytest.raises(ClusterError, match="all workers") as caught:
        struck(placed, 0, signal.SIGKILL)
    assert caught.value.state["round"] >= 1
    with pytest.raises(ClusterError, match="on a worker that is gone"):
        alone.rows("norms")
    bare.cluster.close()
    with pytest.raises(ClusterError, match="scheduler"):
        spread(placed, rounds, ROUNDS, PAUSE, begun={"total": 0.0, "round": 0}, settings=SETTINGS)


def test_data_that_nobody_can_make_again_are_named(whole):
    parts = whole.scatter(list(np.ones((4, 50, 3))))
    X = da.concatenate([da.from_delayed(part, (50, 3), dtype=float) for part in parts])
    with pytest.raises(ClusterError, match="cannot make them again") as caught:
        struck(place(X, client=whole, worth=1), 1, signal.SIGKILL)
    assert caught.value.state["round"] >= 1
