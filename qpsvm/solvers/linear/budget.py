"""What one solve may spend, shared by all its stages, and the lines it prints."""

from __future__ import annotations

from dataclasses import dataclass, field

from qpsvm.solvers.shared.stopping import Clock, StopReason


@dataclass(eq=False)
class Budget:
    """Steps and seconds.

    Attributes
    ----------
    max_steps : int
        Newton steps allowed in all stages together.
    time_limit : float or None
        Seconds allowed.
    verbose : bool
    steps : int
        Newton steps made.
    """

    max_steps: int
    time_limit: float | None = None
    verbose: bool = False
    steps: int = 0
    _clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self._clock = Clock(self.time_limit)

    @property
    def seconds(self) -> float:
        """Since the solve began."""
        return self._clock.seconds

    def spent(self) -> StopReason | None:
        """The limit that has been reached, if one is."""
        return self._clock.stopped() or ("iteration_limit" if self.steps >= self.max_steps else None)

    def report(self, stage: str, outer: int, gap: float, sigma: float, free: int) -> None:
        """Print one line, if verbose."""
        if self.verbose:
            print(
                f"{stage:>12} {outer:3d}  steps {self.steps:4d}  gap {gap:8.1e}  sigma {sigma:7.1e}  "
                f"free {free:7d}  {self.seconds:8.3f} s",
                flush=True,
            )
