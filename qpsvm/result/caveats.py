"""Find properties of a problem that limit the meaning of its result: a changed kernel matrix, or a constant f.

A result has them as `caveats` and says them in `notes`; an estimator warns of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qpsvm.base.arrays.frozen import find_common_value
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


def find_caveats(problem: Any, certificate: Any) -> tuple[Caveat, ...]:
    """Return the caveats of a certified point of a problem; mostly empty."""
    space, found = problem.space, []
    if not space.is_linear and (space.shift or space.is_clipped):
        text = f"the kernel matrix is indefinite, and {REPAIRS[problem.psd]} (psd={problem.psd!r})"
        found.append(Caveat("kernel", text, space.smallest_eigenvalue))
    if np.isfinite(certificate.gap) and not space.is_affine and _has_zero_weights(problem, certificate):
        found += _iter_degeneracies(problem, certificate)
    return tuple(found)


def is_rounding(squares: Any, total: Any, n: Any, scale: float) -> Any:
    """Return whether ‖w‖² of n samples, Σ|coef| being `total` and K_ii about `scale`, is only its own rounding."""
    return squares <= (n + 8) * UNIT * scale * total * total


def _iter_degeneracies(problem: Any, certificate: Any) -> Iterable[Caveat]:
    """Return the caveat of a point with w = 0; none for a regression whose targets are all the same number."""
    if problem._target_kind == "numbers" and problem._sample_pairs is None and _is_constant(problem.samples):
        return []
    rho = (
        problem._compute_extras(certificate)[0].get("rho", certificate.rho)
        if hasattr(problem, "_compute_extras")
        else 1.0
    )
    if rho:
        return [NO_INFORMATION]
    return [Caveat("degenerate", "w is 0, and so is rho: f is the same number everywhere, and carries no information")]


def _is_constant(samples: Any) -> bool:
    """Return whether the targets of a regression are all the same."""
    ends = samples.target_range
    return ends is None or ends[0] == ends[1]


def _has_zero_weights(problem: Any, certificate: Any) -> bool:
    """Return whether w is 0, or no more than the rounding of its own length in a kernel's feature space."""
    if certificate.w is not None:
        return not certificate.w.any()
    coef = certificate.coef
    if find_common_value(coef) is None and not coef.any():
        return True
    total = float(np.abs(coef).sum())
    return bool(is_rounding(2.0 * certificate.half_norm, total, coef.size, problem.space.scale))
