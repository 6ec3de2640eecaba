"""A point that is exact as the solver left it, without the traces of rows that belong at a bound.

A multiplier that should be 0 comes back from a solver as 1e-18. Polishing would move it there, but a point whose gap is
rounding is not polished.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.polish import FINISHED
from qpsvm.dual.repair import feasible_start
from qpsvm.kernels.space import FeatureSpace
from qpsvm.problems.reading import kinds


def swept(
    space: FeatureSpace,
    certificate: Certificate,
    certify: Callable[[FloatArray], Certificate],
    enough: float = FINISHED,
) -> Certificate:
    """The certificate of α with each row at the bound that `kinds` says it is at, unless that is a worse point.

    A gap up to `enough` is not worse.
    """
    if certificate.explicit is not None or not np.isfinite(certificate.gap):
        return certificate
    svm, alpha, kind = certificate.svm, certificate.alpha, kinds(space, certificate)
    full = kind == 2
    if svm.curved:
        full &= svm.curvature == 0.0
    at_bounds = np.where(kind == 0, 0.0, np.where(full, svm.upper, alpha))
    if svm.team.all(bool((at_bounds == alpha).all())):
        return certificate.changed(kind=kind)  # which the result asks for again
    clean = certify(feasible_start(svm, at_bounds))
    return clean if clean.gap <= max(certificate.gap, enough) else certificate
