"""The iterate of `interior_point`: a point, its measures, and one iteration of Mehrotra's method from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.interior_point.chunk import Chunk, Vectors
from qpsvm.solvers.interior_point.problem import Reduced
from qpsvm.solvers.interior_point.settings import SETTINGS
from qpsvm.solvers.shared.cholesky import NumericalTrouble


@dataclass(frozen=True, eq=False)
class Point:
    """A point kept aside: x (n',), force (2, n'), u (k + p,) and its objective."""

    x: FloatArray
    force: FloatArray
    u: FloatArray
    objective: float


class Iterate:
    """The point, x (n',) and u (k + p,) with m = Bu, room and force in chunks, and the step from it."""

    def __init__(self, problem: Reduced) -> None:
        self._problem, self._newton = problem, problem.newton
        x, room, force = problem.centred_start()
        n = len(x)
        self._u = np.zeros(problem.lifted + len(problem.b))
        self._vectors = Vectors(x, self._newton.force(x, self._u), np.empty(n), np.empty(n), np.empty(n))
        self._chunks = [
            Chunk(slice(i, min(n, i + SETTINGS.chunk_rows)), self._vectors, room, force, problem.q, problem.d,
                  problem.scales.theta)
            for i in range(0, n, SETTINGS.chunk_rows)
        ]  # fmt: skip
        self._pairs = max(1, 2 * n)
        costly = self._newton.costly
        self._correctors = SETTINGS.correctors_costly if costly else SETTINGS.correctors_cheap
        self._long_enough = SETTINGS.long_enough_costly if costly else SETTINGS.long_enough_cheap
        self._least_objective = SETTINGS.least_of_all * problem.scales.force * problem.scales.room
        self.step = 0.0
        self.objective = self.absolute_gap = self.gap = self._primal_residual = np.inf
        self._best: Point | None = None
        self._best_merit = np.inf

    def weigh(self) -> None:
        """θ and ρ of the predictor (IPM.7), and Σcf."""
        self._products = sum(chunk.weigh() for chunk in self._chunks)
        if not math.isfinite(self._products):
            raise NumericalTrouble("a product of room and force is not finite")

    def looks_finished(self, tol: float) -> bool:
        """Whether Σcf alone is small enough: then r is worth a pass of its own, before the matrix is formed."""
        if self._products > tol * abs(self.objective) or not math.isfinite(self.objective):
            return False
        self._newton.refresh(self._vectors.x, self._u)
        return True

    def factor(self) -> None:
        """The factors of the Newton matrix, and r."""
        vectors = self._vectors
        self._newton.factor(vectors.theta, vectors.rho, vectors.x, self._u)

    def measure(self, tol: float) -> float:
        """The largest of relative gap and residuals; the residuals are measured only where the gap is small."""
        problem, vectors, residual = self._problem, self._vectors, self._newton.residual
        k = problem.lifted
        lift, rows = residual[:k], residual[k:]
        gap = self._products + 0.5 * float(lift @ lift) + abs(float(rows @ self._u[k:]))  # (IPM.9)
        self.objective = problem.objective(vectors.x, self._u, vectors.m)
        self.absolute_gap = gap
        size = max(abs(self.objective), abs(self.objective - gap), self._least_objective)
        if size < SETTINGS.small_objective * problem.scales.force * problem.scales.room:
            size = max(size, SETTINGS.least_objective * problem.scales.force * float(np.abs(vectors.x).sum()))
        self.gap = gap / size
        merit = self.gap
        if merit <= max(tol, SETTINGS.keep_below):
            primal, dual = self.residuals()
            self._newton.careful = self._newton.careful or primal > self._primal_residual
            self._primal_residual = primal
            merit = max(merit, primal, dual)
            if merit < self._best_merit:
                self._keep(merit)
        return merit

    def residuals(self) -> tuple[float, float]:
        """Relative residuals of (IPM.5), in the largest norm: of the rows, and of stationarity."""
        rows = self._problem.relative_rows(self._newton.residual, self._vectors.x, self._u)
        pairs = [chunk.stationarity() for chunk in self._chunks]
        scale = max([self._problem.scales.force, *(terms for _, terms in pairs)])
        return rows, max((residual for residual, _ in pairs), default=0.0) / scale

    def _keep(self, merit: float) -> None:
        self._best_merit = merit
        forces = [chunk.force for chunk in self._chunks]
        force = np.concatenate(forces, axis=1) if forces else np.zeros((2, 0))
        self._best = Point(self._vectors.x.copy(), force, self._u.copy(), self.objective)

    @property
    def is_near(self) -> bool:
        """Whether the gap has come so low that the best point is kept."""
        return self._best is not None

    @property
    def best(self) -> Point:
        """The best point so far: the last one, where none was good enough to be kept."""
        if self._best is None:
            self._keep(np.inf)
        assert self._best is not None
        return self._best

    def advance(self) -> None:
        """One iteration: predictor, corrector, Gondzio's correctors, and the step."""
        if not self._products > 0:  # of no inequality at all the first point is as good as the last one
            raise NumericalTrouble("no product of a multiplier and its slack is left to make smaller")
        goal = self._predict() * self._products / self._pairs
        for chunk in self._chunks:
            chunk.aim(goal)
        dx, du, dm = self._newton.solve(self._vectors.target)
        step = _step_length(min(chunk.correct(dx) for chunk in self._chunks))
        for _ in range(self._correctors):
            if step > self._long_enough:
                break
            aimed = min(1.0, max(SETTINGS.aimed_growth * step, step + SETTINGS.aimed_step))
            total = self._vectors.target
            for chunk in self._chunks:
                chunk.push(dx, goal, aimed, total)
            change, du_change, dm_change = self._newton.solve(total, residual=False)
            better = _step_length(min(chunk.propose(dx, change) for chunk in self._chunks))
            if not better >= step + SETTINGS.worthwhile * (aimed - step):
                break
            for chunk in self._chunks:
                chunk.accept()
            step, dx, du, dm = better, dx + change, du + du_change, dm + dm_change
        if not math.isfinite(dx @ dx):
            raise NumericalTrouble("the step is not finite")
        self.step = step
        for chunk in self._chunks:
            chunk.move(step, dx, dm)
        self._u += step * du

    def _predict(self) -> float:
        """σ (IPM.8) from the step to products of zero, and e of (IPM.6)."""
        dx, _, _ = self._newton.solve(self._vectors.rho)
        longest, product = 1.0, 0.0
        for chunk in self._chunks:
            chunk_longest, chunk_product = chunk.predict(dx)
            longest, product = max(longest, chunk_longest), product + chunk_product
        tau = 1.0 / longest
        share = (1.0 - tau) - tau * tau * product / self._products  # (IPM.8)
        return min(1.0, max(SETTINGS.least_centring, max(share, 0.0) ** SETTINGS.centring_power))


def _step_length(lowest: float) -> float:
    """The step for the lowest relative change: a whole one where that is safe, else a share of the longest."""
    if lowest > -SETTINGS.long_step:
        return 1.0
    longest = -1.0 / lowest
    return longest * (SETTINGS.long_step if longest > SETTINGS.nearly_whole else SETTINGS.short_step)
