"""The exact solution of a joint machine's dual over the α of one sample, all others held: k − 1 numbers.

With K = K_ii and m_c = t_c at α_i = 0, over the rivals c of sample i, and S = Σ_c α_c:

    (SAMPLE.1)  maximise Σ m_c α_c − ½K(Σα_c² + S²)  over α ≥ 0 and S ≤ C:  α_c = (m_c/K − S)⁺ while S < C, and
                α_c = (m_c/K − θ)⁺ with Σ_c α_c = C where that asks for more
    (SAMPLE.2)  the same over 0 ≤ α_c ≤ C:  α_c = clip(m_c/K − S, 0, C)

S is where a falling piecewise linear function meets its argument; sorting finds it. Source: Crammer & Singer (2001),
section 6; Keerthi et al., *A sequential dual method for large scale multi-class linear SVMs* (KDD 2008).
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray


def shared_step(z: FloatArray, C: float) -> FloatArray:
    """(SAMPLE.1) for z = m/K over the rivals: (k − 1,)."""
    ordered = np.sort(z)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(z) + 1)
    levels = sums / (counts + 1)  # S = Σ_top z − (how many) S
    last = int(np.count_nonzero(ordered > levels)) - 1
    if last < 0:
        return np.zeros(len(z))
    theta = float(levels[last])
    if theta > C:
        levels = (sums - C) / counts
        last = int(np.count_nonzero(ordered > levels)) - 1
        theta = float(levels[max(last, 0)])
    return np.asarray(np.maximum(z - theta, 0.0))


def separate_step(z: FloatArray, C: float) -> FloatArray:
    """(SAMPLE.2) for z = m/K over the rivals: (k − 1,)."""
    points = np.concatenate([z, z - C])
    points.sort()
    points = points[np.searchsorted(points, 0.0) :]  # S ≥ 0
    if not len(points):
        return np.zeros(len(z))
    excess = np.minimum(np.maximum(z - points[:, None], 0.0), C).sum(axis=1) - points  # falls
    last = int(np.count_nonzero(excess > 0.0))
    low = 0.0 if last == 0 else float(points[last - 1])
    above = float(np.minimum(np.maximum(z - low, 0.0), C).sum()) - low
    slope = 1.0 + int(np.count_nonzero((z > low) & (z - C <= low)))
    return np.asarray(np.minimum(np.maximum(z - (low + above / slope), 0.0), C))
