"""Define the caveats of a result (`Caveat`): a changed kernel matrix, or a constant f.

A result has them as `caveats` and lists them in `notes`; an estimator warns of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from qpsvm.base.arrays.rounding import UNIT

#: What is said of a kernel matrix that was repaired, by the rule.
REPAIRS = {"clip": "its negative eigenvalues were set to 0", "shift": "a multiple of the identity was added to it"}


@dataclass(frozen=True)
class Caveat:
    """A property that limits the meaning of a certified result.

    kind: "kernel" where the kernel matrix was changed, "degenerate" where f is the same number everywhere.
    text: A sentence without its full stop.
    eigenvalue: The most negative one of a kernel matrix that was changed, where it matters; else 0.
    """

    kind: Literal["kernel", "degenerate"]
    text: str
    eigenvalue: float = 0.0


#: What is said of most machines whose w is 0.
NO_INFORMATION = Caveat("degenerate", "w is 0: f is the same number everywhere, and carries no information")


def is_rounding(squares: Any, total: Any, n: Any, scale: float) -> Any:
    """Return whether ‖w‖² of n samples, Σ|coef| being `total` and K_ii about `scale`, is only its own rounding."""
    return squares <= (n + 8) * UNIT * scale * total * total
