"""What a run of the linear solver has reached, in so few numbers that they can be kept: it goes on from there.

Neither α nor the residuals are kept, which are as many as the rows. W and τ say which rows can be near a kink, and what
α the others have (WORK.1); of a run over all rows, W and σ are enough for the next outer step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.checks import LARGEST_VALUE, as_finite_vector, as_real
from qpsvm.arrays.types import FloatArray
from qpsvm.errors import ParameterError


@dataclass(frozen=True, eq=False)
class State:
    """Where a run was after an outer step over all rows, or after a round of bands.

    w (d,)
    b: In the caller's coordinates.
    tau: How far from a kink the next band reaches; 0 in a run over all rows.
    sigma: The penalty of the next outer step.
    gap: The relative gap as the run estimates it; infinite where it has not looked at all rows yet.
    stage: "subsample", "band" or "rows".
    """

    w: FloatArray
    b: float
    tau: float
    sigma: float
    gap: float
    stage: str

    def checked(self, width: int) -> State:
        """The same, if a run over rows of so many columns can begin with it.

        Raises DataError, ParameterError.
        """
        w, b = as_finite_vector(self.w, "w of the state", width), as_real(self.b, "b of the state")
        if not max(float(np.abs(w).max(initial=0.0)), abs(b)) < LARGEST_VALUE:
            raise ParameterError("a state to go on from has numbers whose squares overflow; begin anew")
        if not (0.0 < self.sigma < np.inf and 0.0 <= self.tau < np.inf):
            raise ParameterError(
                f"a state to go on from has sigma > 0 and tau >= 0, got {self.sigma!r} and {self.tau!r}; begin anew"
            )
        return State(w, b, float(self.tau), float(self.sigma), float(self.gap), self.stage)


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    passes: Passes over all rows, so far.
    rows: Rows of all members.
    gap: The relative gap as estimated: of all rows, or in the stages "band" and "subsample" of some.
    seconds: Since the run began.
    """

    stage: str
    passes: int
    rows: int
    gap: float
    seconds: float
