"""What the solvers share about how a run ends: its clock and budget, the words for why, and what it prints a round."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.base.resources.communicator import ALONE, Team
from qpsvm.base.resources.progress import Clock, heard, say_step

#: Why a run ended. It is the method's own word: how good the point is, a certificate says.
#: ``infeasible`` is said only where it is proven (the rows cannot be met within the box).
StopReason: TypeAlias = Literal[
    "converged", "iteration_limit", "time_limit", "interrupted", "numerical_error", "infeasible"
]

#: Takes W (d + 1,), τ, σ, the relative gap and the stage of a run.
Keep: TypeAlias = Callable[[FloatArray, float, float, float, str], None]
#: Takes the stage and the relative gap.
Tell: TypeAlias = Callable[[str, float], None]


class Budget:
    """What one run may spend, all its stages together, and what it has spent.

    talks: Whether anybody reads the lines that are reported.
    steps: Steps made: whoever makes one counts it here.
    keep: Takes what may be kept of the run, after each of its rounds: W, τ, σ, gap and stage.
    tell: Takes stage and gap of each report.
    """

    def __init__(
        self, most: int | None = None, time_limit: float | None = None, verbose: bool = False, team: Team = ALONE
    ) -> None:
        if most is not None and most < 1:
            raise ParameterError(f"max_iter must be at least 1, got {most}")
        self.most, self.verbose, self.steps = most, verbose, 0
        self.talks = heard(verbose, logging.DEBUG) and team.rank == 0
        self.clock, self.team = Clock(time_limit), team
        self._agreed: Literal["time_limit", "interrupted"] | None = None
        self.keep: Keep | None = None
        self.tell: Tell | None = None

    def spent(self, coming: float = 0.0) -> StopReason | None:
        """The limit that is reached, or would be by a step of `coming` seconds; or the interrupt key."""
        used_up = self.most is not None and self.steps >= self.most
        stopped = self.clock.stopped(coming) if self.team.alone else self._agreed
        return stopped or ("iteration_limit" if used_up else None)

    def signs(self) -> FloatArray:
        """What this member's clock says, (2,), to be put into a message: the sum over the members goes to `agree`."""
        stopped = None if self.team.alone else self.clock.stopped()
        return np.array([stopped == "time_limit", stopped == "interrupted"], dtype=np.float64)

    def agree(self, signs: FloatArray) -> None:
        """From now on the run is stopped where any member's clock has said so."""
        self._agreed = "interrupted" if signs[1] else "time_limit" if signs[0] else self._agreed

    def report(self, stage: str, number: int, **measures: float | str) -> None:
        """Show one line, if anybody reads it: stage and number, each measure by its name, and the seconds."""
        gap = measures.get("gap")
        if self.tell is not None and isinstance(gap, float):
            self.tell(stage, gap)
        if self.talks:
            said = f"{stage:<14} {number:7d}"
            for name, value in measures.items():
                form = "" if isinstance(value, str) else "7d" if isinstance(value, int) else "8.1e"
                said += f"  {name.replace('_', ' ')} {value:{form}}"
            self.say(f"{said}  {self.clock.seconds:8.3f} s")

    def say(self, line: str) -> None:
        """Show a line of the run."""
        say_step(line, self.verbose)


__all__ = ["Budget", "Clock", "StopReason"]
