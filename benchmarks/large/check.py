"""The cost model held against the record: its constants from a probe and two runs, and the others predicted.

β and φ are what a probe of this machine finds. v is what is left of the largest solve in one process, where no vector
over the rows fits into a cache, and o of the smallest on two workers; the others are predicted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.large.data import COLUMNS
from benchmarks.large.model import NUMBER, Machines, Work, cost
from benchmarks.tables import digits, markdown, ratio
from qpsvm.data.rows import as_row_source

Line = dict[str, Any]
#: Rows of the probe: more than any cache holds; and how many are gathered from them.
ROWS, GATHERED = 1_500_000, 150_000
#: Times that a probe is made, of which the fastest counts.
TURNS = 3
#: Share of a band whose moments a step makes anew, on average.
FRESH = 1 / 3


@dataclass(frozen=True)
class Probe:
    """β in bytes a second, and φ in pairs multiplied and added a second, gathering included; of one thread."""

    bandwidth: float
    flops: float


def probe(n: int = ROWS, gathered: int = GATHERED) -> Probe:
    """What this machine does with n rows in memory."""
    rng = np.random.default_rng(0)
    rows = as_row_source(rng.standard_normal((n, COLUMNS)))
    w, index = rng.standard_normal(COLUMNS), np.sort(rng.choice(n, gathered, replace=False))
    reading = _fastest(lambda: rows.margins(w))
    multiplying = _fastest(lambda: rows.moments(index))
    return Probe(NUMBER * n * COLUMNS / reading, COLUMNS**2 * gathered / multiplying)


def _fastest(function: Callable[[], object]) -> float:
    found = []
    for _ in range(TURNS):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def check(runs: Iterable[Line], here: Probe) -> str:
    """A row for each run on dense tables of one thread or two workers: seconds as measured and as predicted.

    Parameters
    ----------
    runs : iterable of dict
        With a memory map of each size, of which passes are counted, and of two sizes at least.
    here : Probe
    """
    lines = [run for run in runs if run["suite"] == "large" and run["outcome"] == "ran"]
    maps = {_key(run): run for run in lines if run["solver"] == "map" and run["threads"] == 1}
    known = [*maps.values(), *(run for run in lines if run["solver"] == "cluster" and _key(run) in maps)]
    kinds = [[run for run in known if run["solver"] == name] for name in ("map", "cluster")]
    alone, spread = (sorted(runs, key=lambda run: float(run["facts"]["n"])) for runs in kinds)
    if len(alone) < 2:
        return ""
    most = alone[-1]
    v = (_solving(most) - cost(_work(most, maps), _machines(1, here)).seconds) / most["facts"]["n"]
    o = 0.0
    if spread:
        least = spread[0]
        o = (least["seconds"] - cost(_work(least, maps), _machines(2, here, v)).seconds) / least["messages"]
    head = ["table", "seconds", "predicted", "ratio", "rows", "vectors", "bands", "waiting"]
    said = f"β = {digits(here.bandwidth / 1e9)} GB/s, φ = {digits(here.flops / 1e9)}·10⁹/s, v = {digits(1e9 * v)} ns, "
    rows = _predicted([*alone, *spread], maps, here, v, o)
    return f"{said}o = {digits(1e3 * o)} ms\n\n{markdown(head, rows)}"


def _predicted(
    runs: Iterable[Line], maps: dict[Any, Line], here: Probe, v: float, o: float
) -> Iterator[list[str]]:  # fmt: skip
    for run in runs:
        found = cost(_work(run, maps), _machines(2 if run["solver"] == "cluster" else 1, here, v, o))
        parts = (found.rows, found.vectors, found.bands, found.waiting)
        measured = _solving(run)
        yield [
            f"{run['solver']}, {run['task']}", digits(measured), digits(found.seconds),
            ratio(measured / found.seconds), *map(digits, parts),
        ]  # fmt: skip


def _machines(count: int, here: Probe, v: float = 0.0, o: float = 0.0) -> Machines:
    """Processes on this machine: no way between them, and no narrow link."""
    return Machines(count, here.bandwidth, here.flops, 0.0, float("inf"), o, v)


def _work(run: Line, maps: dict[Any, Line]) -> Work:
    """What a run does: passes and bands are those that the memory map of the same table counted."""
    counted, facts = maps[_key(run)], run["facts"]
    band = counted["gathered"] / counted["gathers"]
    messages, spoken = run.get("messages", 0), float(run.get("spoken", 0))
    return Work(facts["n"], facts["d"], counted["passes"], run["iterations"], band, FRESH, messages, spoken)


def _solving(run: Line) -> float:
    return float(run["seconds"] - run.get("opening", 0.0))


def _key(run: Line) -> tuple[Any, ...]:
    return tuple(run["facts"].values())
