"""A floor under every solve: one baseline that always ends, and rivals that run only as long as they may cost.

The baseline is LIBSVM's loop over all rows: never the fastest by far, never a bad choice either. Its time T is not
known before its end, but T is at least what it has spent and what it surely has yet to do. A rival runs only

    (FLOOR.1)  where it is forecast to end sooner than what is left of the baseline,
    (FLOOR.2)  for at most σ(spent + least) seconds, all rivals together, with `least` ≤ what is left of the baseline

so that the whole takes at most (1 + σ)T, whatever the rivals promised, and besides what a rival takes to look at its
clock. A rival that is forecast to need more than (FLOOR.2) allows waits: the baseline goes on until it allows it. If it
can go on, that is: one that always begins anew runs last, and at once.

    (FLOOR.3)  forecast ≤ left and forecast > σ(spent + least):  the baseline runs for forecast/σ − spent − least

Whoever is stopped leaves its best point to those that follow. It is the ski-rental problem, with σ for 1: Karlin,
Manasse, Rudolph & Sleator, *Competitive snoopy caching*, Algorithmica 3 (1988).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Protocol

from qpsvm.solvers.kernel.libsvm import Effort

#: σ.
SHARE = 0.3


class Baseline(Protocol):
    """What always ends. Seconds are those of the clock."""

    @property
    def spent(self) -> float:
        """Seconds so far."""

    @property
    def least(self) -> float:
        """Seconds that it will surely take from here on."""

    @property
    def left(self) -> float:
        """Seconds that it will probably take from here on."""

    @property
    def resumes(self) -> bool:
        """Whether it goes on where it was stopped."""

    def go(self, seconds: float) -> bool:
        """Go on for so long, or to the end if that is infinite; whether nothing is left to do."""


@dataclass(frozen=True)
class Rival:
    """An engine: its name, the seconds that it is forecast to take, and its run, which says whether it has solved."""

    name: str
    seconds: float
    run: Callable[[], bool]


@contextmanager
def within(effort: Effort, seconds: float) -> Iterator[None]:
    """A clock of its own for a part of a solve: it is late after so many seconds, or where the whole is."""
    outer, limit, shortened = effort.clock, effort.seconds, effort.shortened
    inner = copy(outer)
    inner.limit = max(min(outer.limit or float("inf") if outer.limit != 0 else 0.0, outer.seconds + seconds), 0.0)
    if inner.limit == float("inf"):
        inner.limit = None
    effort.clock, effort.seconds = inner, inner.limit
    try:
        yield
    finally:
        effort.clock, effort.seconds, effort.shortened = outer, limit, shortened


def race(baseline: Baseline, rivals: Iterable[Rival], effort: Effort) -> bool:
    """Rivals in the order of their forecasts, each within (FLOOR.2), and the baseline; whether it is solved."""
    used = 0.0
    for rival in sorted(rivals, key=lambda one: one.seconds):
        if effort.late() or not rival.seconds <= baseline.left:
            break
        wanted = (used + rival.seconds) / SHARE - baseline.spent - baseline.least
        if wanted > 0.0 and not baseline.resumes:
            continue
        if wanted > 0.0 and baseline.go(wanted):
            return True
        if effort.late() or not rival.seconds <= baseline.left:
            break
        allowed, began = SHARE * (baseline.spent + baseline.least) - used, effort.clock.seconds
        with within(effort, allowed):
            solved = rival.run()
        if solved:
            return True
        used += effort.clock.seconds - began
    return not effort.late() and baseline.go(float("inf"))
