"""Candidates for the primal point: the w of the dual point, and the one that a solver returned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qpsvm.arrays.types import FloatArray
from qpsvm.kernels.space import FeatureSpace


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """A primal candidate: decision values without intercept, u (n,), w, ½‖w‖², and w − w(α), None where that is 0.

    `radius` (n,) says how far u may be off where that differs from row to row.
    """

    u: FloatArray
    w: FloatArray | None
    half_norm: float
    offset: FloatArray | None = None
    radius: FloatArray | None = None

    def half_distance(self, growth: float = 0.0) -> float:
        """½‖(1 + growth)w − w(α)‖²."""
        if self.offset is None or self.w is None:
            return growth * growth * self.half_norm
        difference = self.offset + growth * self.w
        return 0.5 * float(difference @ difference)


def primal_points(space: FeatureSpace, beta: FloatArray, w: FloatArray | None) -> tuple[float, Iterator[PrimalPoint]]:
    """½‖w(α)‖² with β = α∘y, and the primal candidates: the w of a solver that returned one first, then w(α)."""
    if not space.is_linear:
        u = space.centred @ beta  # (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4): ⟨w, φ(x_i)⟩ = Σ_j β_j K(x_j, x_i)
        half_norm = max(0.5 * float(beta @ u), 0.0)  # what is below 0 is rounding
        return half_norm, iter([PrimalPoint(u, None, half_norm)])
    own = space.weights(beta)  # (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4)
    half_norm = 0.5 * float(own @ own)

    def candidates() -> Iterator[PrimalPoint]:
        if w is not None:
            yield PrimalPoint(space.rows.margins(w), w, 0.5 * float(w @ w), w - own)
        yield PrimalPoint(space.rows.margins(own), own, half_norm)

    return half_norm, candidates()
