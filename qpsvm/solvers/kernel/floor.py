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

from qpsvm.solvers.kernel.effort import Effort

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
    """An engine.

    forecast: Says how many seconds it will take, as things stand.
    run: Whether it has solved.
    again: Whether it may be tried again from where the baseline then stands.
    """

    name: str
    forecast: Callable[[], float]
    run: Callable[[], bool]
    again: bool = False


@contextmanager
def within(effort: Effort, seconds: float) -> Iterator[None]:
    """A clock of its own for a part of a solve: it is late after so many seconds, or where the whole is."""
    outer, limit, shortened = effort.clock, effort.seconds, effort.shortened
    if seconds < outer.left:
        effort.clock = copy(outer)
        effort.clock.limit = effort.seconds = outer.seconds + max(seconds, 0.0)
    try:
        yield
    finally:
        effort.clock, effort.seconds = outer, limit
        effort.shortened = shortened or (effort.shortened and effort.late())


def race(baseline: Baseline, rivals: Iterable[Rival], effort: Effort) -> bool:
    """Rivals, one after the other, each within (FLOOR.2), and the baseline; whether it is solved."""
    used = 0.0
    for rival in rivals:
        while not effort.late():
            seconds = rival.forecast()
            wanted = (used + seconds) / SHARE - baseline.spent - baseline.least
            if not seconds <= baseline.left or (wanted > 0.0 and not baseline.resumes):
                break
            if wanted > 0.0:
                if baseline.go(max(wanted, baseline.spent)):
                    return True
                continue
            began = effort.clock.seconds
            with within(effort, SHARE * (baseline.spent + baseline.least) - used):
                solved = rival.run()
            used += effort.clock.seconds - began
            if solved:
                return True
            if not rival.again:
                break
    return not effort.late() and baseline.go(float("inf"))
