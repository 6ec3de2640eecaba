"""Compute the elementwise part of an interior-point iteration for a chunk of variables, (IPM.6) and (IPM.7).

A chunk owns the room c and the force f of both bounds of its variables, (2, rows), and works in place on its slices of
the vectors that the Newton system sees. Its arrays stay in a core's second-level cache.

The numbers of the interior point method, each with its reason: what its authors chose, and what they measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray


@dataclass(frozen=True)
class InteriorPointSettings:
    """The numbers of one solve, file by file. Those that follow from what a product with B costs stand in `systems`."""

    # --- mehrotra: where it ends
    # Iterations that each leave more than this share of the best gap, after which only rounding is left: where it makes
    # the gap creep, any progress at all would count for thirty iterations more.
    stalled: int = 6
    progress: float = 0.9

    # --- iterate, chunk: the iteration
    # Exponent of (IPM.8). No exponent is best everywhere: on ijcnn1 6 takes 24 iterations and 4 takes
    # 30; on sixteen duals of smaller sets, raw and standardised, to 1e-7, 6 takes 327 in all and 4 takes 306.
    centring_power: int = 6
    # Share of the longest step that is taken, where that is short, and where it is nearly or more than a whole one.
    short_step: float = 0.9
    long_step: float = 0.999
    nearly_whole: float = 0.9
    # Columns from which a factorisation costs five times as much as a corrector (Gondzio): 27 + k/4 ns a row for the
    # corrector, 42 + k/2 + k²/33 ns for the iteration. There two are made at most, else one. And the step from which
    # none is needed, with few columns and with many: small tables take a quarter longer with the second rule.
    costly_width: int = 50
    sufficient_steps: tuple[float, float] = (0.5, 0.9)
    # By how much longer a step a corrector aims for.
    target_step: float = 0.3
    # A corrector is kept where the step grows by this share of what was aimed for.
    min_gain: float = 0.1
    # Variables of a chunk of the elementwise work: its two dozen temporaries stay in a core's second-level cache.
    chunk_rows: int = 4096
    # Objectives below these shares of their natural size count as this in relative gaps: of force times Σ|x|, where
    # only rounding is left, and of force times room, which may be 1e35 times as large as an x that C does not hold.
    min_objective: float = 1e-12
    min_scale: float = 1e-40
    # Below this share of force times room Σ|x| is looked at.
    small_objective: float = 1e-9
    # From this relative gap on the best point is kept aside.
    keep_below: float = 1e-4
    # The products that a corrector aims at, in shares of σμ (Gondzio 1996).
    lowest_product: float = 0.1
    highest_product: float = 10.0

    # --- problem: the start, and the form of the problem
    # μ of the start, in units of force times room. 3 is better on small sets (290 iterations for 327) and worse on
    # ijcnn1 (30 for 24); below 0.3 the first iterations make no progress.
    start_product: float = 1.0
    # Columns of Z a row from which Z = LQᵀ, about 3n²k multiplications, costs less than what a smaller Newton matrix
    # saves in a dozen iterations. P itself, (n, n), costs less again, but loses the digits of badly scaled columns.
    wide: float = 1.25
    # Rows from which that time matters; below it the digits do.
    wide_rows: int = 256
    # θ of a free variable without curvature, a share of the mean diagonal of P (a proximal term: it vanishes with dx).
    proximal: float = 1e-8


SETTINGS = InteriorPointSettings()


@dataclass(eq=False)
class NewtonVectors:
    """What the Newton system and the chunks share, each (n,): the point, θ, ρ of the predictor and of the step."""

    x: FloatArray
    m: FloatArray
    theta: FloatArray
    rho: FloatArray
    target: FloatArray


class VariableChunk:
    """Variables `part` of the problem.

    room, force (2, n): c = (x − lb, x − ub) and f = (s, −t); copied.
    q (n,)
    d (n,) or None
    least_theta: Smallest θ, for free variables without curvature.
    """

    def __init__(
        self, part: slice, vectors: NewtonVectors, room: FloatArray, force: FloatArray, q: FloatArray, d: FloatArray |
        None, least_theta: float,
    ) -> None:  # fmt: skip
        self.part = part
        self.room, self.force = room[:, part].copy(), force[:, part].copy()
        self._x, self._m = vectors.x[part], vectors.m[part]
        self._theta, self._rho, self._target = vectors.theta[part], vectors.rho[part], vectors.target[part]
        self._minus_q, self._d, self._least_theta = -q[part], None if d is None else d[part], least_theta
        shape = self.room.shape
        self._inverse, self._second, self._ratio = np.empty(shape), np.empty(shape), np.empty(shape)
        self._dforce, self._push = np.empty(shape), np.empty(shape)
        self._flat_room, self._flat_ratio = self.room.ravel(), self._ratio.ravel()  # views: both are contiguous

    def update_weights(self) -> float:
        """Compute θ, and ρ without centring (IPM.7), and return Σcf."""
        ratio, theta, rho = self._ratio, self._theta, self._rho
        np.divide(1.0, self.room, out=self._inverse)
        np.multiply(self.force, self._inverse, out=ratio)
        np.add(ratio[0], ratio[1], out=theta)
        np.subtract(self._minus_q, self._m, out=rho)
        if self._d is not None:
            theta += self._d
            rho -= self._d * self._x
        if self._least_theta:
            np.maximum(theta, self._least_theta, out=theta)
        return float(self._flat_room @ self.force.ravel())

    def predict(self, dx: FloatArray) -> tuple[float, float]:
        """e of (IPM.6) from the predicted dx (n,): 1/τ for the longest step τ, at least 1, and Σ c e."""
        r, flat, second = self._ratio, self._flat_ratio, self._second
        np.multiply(dx[self.part], self._inverse, out=r)
        # A room shrinks by −r, a force by 1 + r.
        longest = max(1.0, -float(np.minimum.reduce(flat)), 1.0 + float(np.maximum.reduce(flat)))
        np.add(r, 1.0, out=second)
        second *= r
        second *= self.force  # (IPM.6)
        return longest, float(self._flat_room @ second.ravel())

    def set_centring_target(self, goal: float) -> None:
        """ρ of (IPM.7) for the products `goal` = σμ."""
        reduced_gradient = self._dforce
        np.multiply(self._inverse, goal, out=reduced_gradient)
        reduced_gradient += self._second
        np.add(reduced_gradient[0], reduced_gradient[1], out=self._target)
        self._target += self._rho

    def correct(self, dx: FloatArray) -> float:
        """Compute df of (IPM.6) for dx (n,), after `aim`; return the lowest relative change of a room or a force."""
        r, flat, dforce = self._ratio, self._flat_ratio, self._dforce
        np.multiply(dx[self.part], self._inverse, out=r)
        lowest = float(np.minimum.reduce(flat))
        r += 1.0
        r *= self.force
        dforce -= r  # (IPM.6)
        np.divide(dforce, self.force, out=r)
        return min(lowest, float(np.minimum.reduce(flat)))

    def add_centrality_correction(self, dx: FloatArray, goal: float, aimed: float, total: FloatArray) -> None:
        """Ask the products at the step `aimed` back into their interval; the sum of what that takes goes to `total`."""
        push = np.multiply(self._dforce, aimed, out=self._push)
        push += self.force
        ahead = np.multiply(aimed, dx[self.part], out=total[self.part])
        push *= np.add(self.room, ahead, out=self._ratio)  # the products
        wanted = np.maximum(push, SETTINGS.lowest_product * goal, out=self._ratio)
        np.minimum(wanted, SETTINGS.highest_product * goal, out=wanted)
        np.subtract(wanted, push, out=push)
        np.maximum(push, -SETTINGS.highest_product * goal, out=push)
        push *= self._inverse
        np.add(push[0], push[1], out=total[self.part])

    def propose(self, dx: FloatArray, correction: FloatArray) -> float:
        """Compute df for dx + correction, (n,) each, beside the old df; return the lowest relative change."""
        part, push = self.part, self._push
        r = np.multiply(correction[part], self._inverse, out=self._ratio)
        r *= self.force
        push -= r
        push += self._dforce
        np.divide(push, self.force, out=r)
        lowest = float(np.minimum.reduce(self._flat_ratio))
        np.multiply(dx[part] + correction[part], self._inverse, out=r)
        return min(lowest, float(np.minimum.reduce(self._flat_ratio)))

    def accept(self) -> None:
        """Take the proposed df."""
        self._dforce, self._push = self._push, self._dforce

    def move(self, step: float, dx: FloatArray, dm: FloatArray) -> None:
        """A step along dx, df and dm = B du."""
        change = step * dx[self.part]
        self._x += change
        self.room += change
        self._m += step * dm[self.part]
        self.force += np.multiply(self._dforce, step, out=self._ratio)

    def measure_stationarity(self) -> tuple[float, float]:
        """Return the largest entry of the gradient less the forces (IPM.5), and of its terms."""
        residual = self._rho + self.force[0]
        residual += self.force[1]
        terms = max(float(np.abs(self.force).max()), float(np.abs(self._m).max()))
        return float(np.abs(residual).max()), terms
