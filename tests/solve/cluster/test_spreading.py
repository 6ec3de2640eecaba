"""One program on all workers: what the members tell each other, how it ends, and what is said where it cannot go on."""

from __future__ import annotations

import signal
from uuid import uuid4

import numpy as np
import pytest
from spread_programs import every_way, faulty, messages, rounds, until_pressed

from qpsvm.base.errors import ClusterError, DataError
from qpsvm.base.resources.progress import noted
from qpsvm.solve.distributed.run import Placed, Settings, place
from qpsvm.solve.distributed.solving import spread

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.xdist_group("cluster")

X = np.random.default_rng(0).standard_normal((1000, 5))


@pytest.fixture
def placed(whole):
    """Ten partitions on two workers."""
    found = place(da.from_array(X.astype(np.float32), chunks=(100, -1)), np.arange(1000.0), client=whole, worth=1)
    assert len(found.holders()) == 2
    return found


def test_members_are_told_what_all_have_said(placed):
    found = spread(placed, every_way)
    assert len(found) == 2
    first, second = (member.small for member in found)
    firsts = first.pop("allgather"), second.pop("allgather")
    assert sorted(firsts[0]) == list(range(0, 1000, 100))
    assert (firsts[0] == firsts[1]).all()
    assert first["types"] == {"float32"}
    for told in (first, second):
        assert (told["sum"] == 3.0).all()
        total, vector = told["sums"]
        assert total == pytest.approx(np.sum(np.square(X)), rel=1e-6)
        assert vector.tolist() == [1.0, 2.0]
        assert told["count"] == 1000
        assert told["ends"][:2] == (0.0, 1.0)
        assert np.isnan(told["ends"][2])
        assert told["truth"] == (True, False)
        assert told["broadcast"] == ("from", 0)
    norms = np.zeros(1000)
    for member in found:
        assert member.names == ("norms",)
        values = member.rows("norms").reshape(-1, 100)
        for start, part in zip(member.starts, values, strict=True):
            norms[start : start + 100] = part
    assert norms == pytest.approx(np.square(X).sum(axis=1), rel=1e-5)


def test_what_is_sent_does_not_depend_on_the_rows(placed):
    """Counted by Dask: bytes written to connections, and data that workers give away.

    Not counted is a partition that goes to where fewer rows are: its copy there may be dropped between two solves.
    """

    def given(what: Placed) -> int:
        logs = placed.client.run(lambda dask_worker: [sent["keys"] for sent in dask_worker.transfer_outgoing_log])
        partitions = {part.key for part in what.futures()}
        sizes = [size for log in logs.values() for keys in log for key, size in keys.items() if key not in partitions]
        return sum(sizes)

    def solved(what: Placed) -> tuple[list[float], int]:
        before = given(what)
        found = spread(what, messages, 50)
        assert [member.messages for member in found] == [51, 51]
        return [member.sent_bytes / member.messages for member in found], given(what) - before

    few, small = solved(placed)
    many, large = solved(place(da.random.default_rng(0).random((40_000, 5), chunks=(5_000, -1)), worth=1))
    assert few == pytest.approx(many, rel=0.05)  # an "alive" more or less
    assert 320 < many[1] < 1000
    assert small == pytest.approx(large, abs=100)  # what the members return
    assert 0 < large < 1000


@pytest.mark.parametrize("kind", ["ways", "shapes", "leaves"])
def test_members_that_differ_are_found_out(placed, kind):
    with pytest.raises(ClusterError, match="internal error: the members differ; please report it"):
        spread(placed, faulty, kind)


@pytest.mark.parametrize(("kind", "error"), [("refuses", DataError), ("a bug", ZeroDivisionError)])
def test_an_error_of_the_program_ends_all_members_as_itself(placed, kind, error):
    with pytest.raises(error, match=r"row 7|a bug"):
        spread(placed, faulty, kind)
    assert spread(placed, rounds, 2, 0.0)[0].small[1] == 0  # and the cluster is free again


def test_a_worker_without_a_free_thread_is_named(placed):
    client = placed.client
    address = list(placed.holders())[1]
    free = distributed.Event(client=client)
    name = f"sleeper-{uuid4().hex}"  # a key that was forgotten a moment ago may be taken for this one
    sleeping = client.submit(free.wait, 600, workers=[address], key=name)
    try:
        with pytest.raises(ClusterError, match=rf"no thread free.*{address}.*{name}"):
            spread(placed, rounds, 1, 0.0, settings=Settings(reporting=0.3))
    finally:
        free.set()
        sleeping.result(timeout=300)


def pressed_at_first(state):
    """The interrupt key, when the first state is seen."""
    if not noted():
        signal.raise_signal(signal.SIGINT)
    assert state["round"] >= 0


def test_the_interrupt_key_is_noted_by_all_members_in_the_same_round(placed):
    first, second = (member.small for member in spread(placed, until_pressed, on_state=pressed_at_first))
    assert first == second > 0
    (alone,) = spread(place(da.ones((10, 2), chunks=(10, -1))), until_pressed, on_state=pressed_at_first)
    assert alone.small > 0
    assert not noted()


def test_the_interrupt_key_pressed_twice_ends_the_members(placed):
    def pressed(_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        spread(placed, rounds, 100_000, 0.01, on_state=pressed)
    found = spread(placed, rounds, 1, 0.0, settings=Settings(reporting=20.0))
    assert found[0].small[0] == pytest.approx(np.sum(np.square(X)), rel=1e-6)
