"""Compute the elementwise part of an interior-point iteration for a chunk of variables, (IPM.6) and (IPM.7).

Each bound has a room c, the signed distance of x from it, and a force f, its signed multiplier, as in `mehrotra`. A
`VariableChunk` owns c and f of its variables, (2, rows), and works in place on its slices of the vectors shared with
the Newton system. Its arrays are reused, and stay in a core's second-level cache.
`InteriorPointSettings` are the constants of the whole method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray


@dataclass(frozen=True)
class InteriorPointSettings:
    """Constants of the method, file by file. Those that depend on the cost of a product with B are in `systems`."""

    # --- mehrotra: the stopping test
    # The run ends after this many successive iterations that each leave more than this share of the best gap: only
    # rounding is left then. Without the share, a creeping gap would count as progress for thirty iterations more.
    max_stalled_iterations: int = 6
    max_gap_share: float = 0.9

    # --- mehrotra, chunk: the iteration
    # Exponent of (IPM.8). No exponent is best everywhere: on ijcnn1 6 takes 24 iterations and 4 takes
    # 30; on sixteen duals of smaller sets, raw and standardised, to 1e-7, 6 takes 327 in all and 4 takes 306.
    centring_power: int = 6
    # Share of the longest step that is taken: if that is short, and if it is longer than `min_long_step`.
    short_step_share: float = 0.9
    long_step_share: float = 0.999
    min_long_step: float = 0.9
    # Number of columns from which a factorisation costs five times as much as a corrector (Gondzio): 27 + k/4 ns per
    # row for the corrector, 42 + k/2 + k²/33 ns for the iteration. From there on at most two correctors are used, else
    # one. And the step length from which none is used, with few and with many columns: small tables take a quarter
    # longer with the second rule.
    costly_width: int = 50
    sufficient_steps: tuple[float, float] = (0.5, 0.9)
    # A corrector aims for a step that is longer by this, and is accepted if it is by at least this share of that.
    step_increase: float = 0.3
    min_gain: float = 0.1
    # Variables per chunk: its two dozen temporary arrays stay in a core's second-level cache.
    chunk_rows: int = 4096
    # Lower limits of the objective in relative gaps: as a share of force times Σ|x|, below which there is only
    # rounding, and as a share of force times room, which may be 1e35 times as large as x if C is not active.
    min_objective: float = 1e-12
    min_scale: float = 1e-40
    # Σ|x| is computed only if the objective is below this share of force times room.
    small_objective: float = 1e-9
    # Up to this relative gap the best point is saved.
    max_saved_gap: float = 1e-4
    # Interval of the products at which a corrector aims, in units of σμ (Gondzio 1996).
    lowest_product: float = 0.1
    highest_product: float = 10.0

    # --- problem: the start, and the form of the problem
    # μ of the start, in units of force times room. 3 is better on small sets (290 iterations for 327) and worse on
    # ijcnn1 (30 for 24); below 0.3 the first iterations make no progress.
    start_product: float = 1.0
    # Columns of Z per row from which Z = LQᵀ, about 3n²k multiplications, costs less than a smaller Newton matrix saves
    # in a dozen iterations. P itself, (n, n), would be cheaper, but loses accuracy for badly scaled columns.
    min_wide_ratio: float = 1.25
    # Rows from which that time matters; below, accuracy matters more.
    min_wide_rows: int = 256
    # θ of a free variable without curvature, a share of the mean diagonal of P (a proximal term: it vanishes with dx).
    proximal: float = 1e-8


SETTINGS = InteriorPointSettings()


@dataclass(eq=False)
class NewtonVectors:
    """Vectors of (IPM.5) and (IPM.7), (n,) each, shared by the Newton system and the chunks.

    rho, target: ρ of the predictor, without the terms in σ and e, and of the step.
    """

    x: FloatArray
    m: FloatArray
    theta: FloatArray
    rho: FloatArray
    target: FloatArray


class VariableChunk:
    """The variables in the slice `part` of the problem, whose arrays, (2, n) and (n,), are given in full.

    room, force: c = (x − lb, x − ub) and f = (s, −t); copied.
    min_theta: Smallest θ, for free variables without curvature.

    An iteration calls `update_weights`, `predict`, `set_centring_target` and `correct`; then, for each of Gondzio's
    correctors, `add_centrality_correction`, `propose`, and `accept` if it helps; and `move`.
    """

    def __init__(
        self, part: slice, vectors: NewtonVectors, room: FloatArray, force: FloatArray, q: FloatArray,
        d: FloatArray | None, min_theta: float,
    ) -> None:  # fmt: skip
        self.part = part
        self.room, self.force = room[:, part].copy(), force[:, part].copy()
        self._x, self._m = vectors.x[part], vectors.m[part]
        self._theta = vectors.theta[part]
        self._rho = vectors.rho[part]
        self._target = vectors.target[part]
        self._minus_q = -q[part]
        self._d = None if d is None else d[part]
        self._min_theta = min_theta
        shape = self.room.shape
        self._inverse = np.empty(shape)  # 1/c
        self._second = np.empty(shape)  # e
        self._ratio = np.empty(shape)  # scratch
        self._dforce, self._trial_dforce = np.empty(shape), np.empty(shape)  # df, and that with one more corrector
        self._flat_room, self._flat_ratio = self.room.ravel(), self._ratio.ravel()  # views: both are contiguous

    def update_weights(self) -> float:
        """Compute θ, and ρ without centring (IPM.7), and return Σcf."""
        ratio = self._ratio
        theta = self._theta
        rho = self._rho
        np.divide(1.0, self.room, out=self._inverse)
        np.multiply(self.force, self._inverse, out=ratio)
        np.add(ratio[0], ratio[1], out=theta)
        np.subtract(self._minus_q, self._m, out=rho)
        if self._d is not None:
            theta += self._d
            rho -= self._d * self._x
        if self._min_theta:
            np.maximum(theta, self._min_theta, out=theta)
        return float(self._flat_room @ self.force.ravel())

    def predict(self, dx: FloatArray) -> tuple[float, float]:
        """Compute e of (IPM.6) from the predicted dx (n,); return 1/τ for the longest step τ, at least 1, and Σ c e."""
        r = self._ratio
        flat = self._flat_ratio
        second = self._second
        np.multiply(dx[self.part], self._inverse, out=r)
        # A room shrinks by −r, a force by 1 + r.
        longest = max(1.0, -float(np.minimum.reduce(flat)), 1.0 + float(np.maximum.reduce(flat)))
        np.add(r, 1.0, out=second)
        second *= r
        second *= self.force  # (IPM.6)
        return longest, float(self._flat_room @ second.ravel())

    def set_centring_target(self, goal: float) -> None:
        """Compute ρ of (IPM.7) for the products `goal` = σμ."""
        centred = self._dforce  # `correct` completes it to df
        np.multiply(self._inverse, goal, out=centred)
        centred += self._second
        np.add(centred[0], centred[1], out=self._target)
        self._target += self._rho

    def correct(self, dx: FloatArray) -> float:
        """Compute df of (IPM.6) for dx (n,); return the lowest relative change of a room or a force."""
        r = self._ratio
        flat = self._flat_ratio
        dforce = self._dforce
        np.multiply(dx[self.part], self._inverse, out=r)
        lowest = float(np.minimum.reduce(flat))
        r += 1.0
        r *= self.force
        dforce -= r  # (IPM.6)
        np.divide(dforce, self.force, out=r)
        return min(lowest, float(np.minimum.reduce(flat)))

    def add_centrality_correction(self, dx: FloatArray, goal: float, target_step: float, total: FloatArray) -> None:
        """Compute the change of f that moves c∘f, at a longer step, near `goal` = σμ, and its sums `total` (n,)."""
        products = np.multiply(self._dforce, target_step, out=self._trial_dforce)
        products += self.force
        dx_ahead = np.multiply(target_step, dx[self.part], out=total[self.part])
        products *= np.add(self.room, dx_ahead, out=self._ratio)
        nearest = np.maximum(products, SETTINGS.lowest_product * goal, out=self._ratio)
        np.minimum(nearest, SETTINGS.highest_product * goal, out=nearest)
        push = np.subtract(nearest, products, out=products)
        np.maximum(push, -SETTINGS.highest_product * goal, out=push)
        push *= self._inverse
        np.add(push[0], push[1], out=total[self.part])

    def propose(self, dx: FloatArray, correction: FloatArray) -> float:
        """Compute df for dx + correction, (n,) each, besides the old df; return the lowest relative change."""
        part, trial = self.part, self._trial_dforce
        r = np.multiply(correction[part], self._inverse, out=self._ratio)
        r *= self.force
        trial -= r
        trial += self._dforce
        np.divide(trial, self.force, out=r)
        lowest = float(np.minimum.reduce(self._flat_ratio))
        np.multiply(dx[part] + correction[part], self._inverse, out=r)
        return min(lowest, float(np.minimum.reduce(self._flat_ratio)))

    def accept(self) -> None:
        """Replace df by the proposed one."""
        self._dforce, self._trial_dforce = self._trial_dforce, self._dforce

    def move(self, step: float, dx: FloatArray, dm: FloatArray) -> None:
        """Take a step along dx, df and dm = B du."""
        change = step * dx[self.part]
        self._x += change
        self.room += change
        self._m += step * dm[self.part]
        self.force += np.multiply(self._dforce, step, out=self._ratio)

    def measure_stationarity(self) -> tuple[float, float]:
        """Return the largest entry of the gradient minus the forces (IPM.5), and the largest of its terms."""
        residual = self._rho + self.force[0]
        residual += self.force[1]
        terms = max(float(np.abs(self.force).max()), float(np.abs(self._m).max()))
        return float(np.abs(residual).max()), terms
