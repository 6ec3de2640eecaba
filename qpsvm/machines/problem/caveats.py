"""Find properties of a problem that limit the meaning of its result: a changed kernel matrix, or a constant f."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.result.caveats import NO_INFORMATION, REPAIRS, Caveat, is_rounding


def find_caveats(problem: MachineStatement, certificate: Certificate) -> tuple[Caveat, ...]:
    """Return the caveats of a certified point of a problem; mostly empty."""
    space = problem.space
    found = list[Caveat]()
    if not space.is_linear and (space.shift or space.is_clipped):
        text = f"the kernel matrix is indefinite, and {REPAIRS[problem.psd]} (psd={problem.psd!r})"
        found.append(Caveat("kernel", text, space.smallest_eigenvalue))
    if np.isfinite(certificate.gap) and not space.is_affine and _has_zero_weights(problem, certificate):
        found += _iter_degeneracies(problem, certificate)
    return tuple(found)


def _iter_degeneracies(problem: MachineStatement, certificate: Certificate) -> Iterable[Caveat]:
    """Return the caveat of a point with w = 0; none for a regression whose targets are all the same number."""
    if not isinstance(problem, DualStatement):
        return [NO_INFORMATION]
    if problem._target_kind == "numbers" and problem._sample_pairs is None and _is_constant(problem.samples):
        return []
    if problem._compute_extras(certificate)[0].get("rho", certificate.rho):
        return [NO_INFORMATION]
    return [Caveat("degenerate", "w is 0, and so is rho: f is the same number everywhere, and carries no information")]


def _is_constant(samples: TrainingSamples) -> bool:
    """Return whether the targets of a regression are all the same."""
    ends = samples.target_range
    return ends is None or ends[0] == ends[1]


def _has_zero_weights(problem: MachineStatement, certificate: Certificate) -> bool:
    """Return whether w is 0, or no more than the rounding of its own length in a kernel's feature space."""
    if certificate.w is not None:
        return not certificate.w.any()
    coef = certificate.coef
    if find_common_value(coef) is None and not coef.any():
        return True
    total = float(np.abs(coef).sum())
    return bool(is_rounding(2.0 * certificate.half_norm, total, coef.size, problem.space.scale))
