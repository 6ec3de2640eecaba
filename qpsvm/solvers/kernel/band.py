"""LIBSVM's loop on a band around the margin, everything else resting at 0 or C: exact whatever the guess was.

    (KBAND.1)  the band W: rows foretold as free or with |s| ≤ τ;  of the others s > 0 rest at C (the set U), s < 0 at 0
    (KBAND.2)  solve W with U fixed: minimise ½βᵀK_WWβ − (y − u_U)ᵀβ,  1ᵀβ = −Σ_U C_j y_j,  u_U = Σ_U K_ij C_j y_j
    (KBAND.3)  rows outside that are on the wrong side now join W, and those next to them
    (KBAND.4)  when few violate, Newton steps on the rows near the margin, in double precision (`WorkingSet`)

LIBSVM's loop knows no linear term. It is given two more points instead, z₊ and z₋, with labels ±1:

    (KBAND.5)  K(z₊, i) = u_U,i / B = −K(z₋, i),  C₊ = c + max(R, 0),  C₋ = c + max(−R, 0),  B = C₊ + C₋,
               R = Σ_U C_j y_j
    (KBAND.6)  K(z, z) = −M with M so large that both rest at their bound in every solution that the loop can stop at

At their bounds they add exactly u_U to every u_i, and R to the balance, so that the loop solves (KBAND.2); the negative
curvature makes the bound the only stable place for them. All kernel values up to here are in single precision; u_U is
streamed once, and then only what changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.nystrom import Guess
from qpsvm.solvers.kernel.working_set import LOOP_TOL, MANY_JOIN, Effort, Outcome, WorkingSet, unsettled_rows

#: τ, in units of the margin; and how many rows W takes at most besides those foretold as free, a share of them.
BAND, NEIGHBOURS = 0.1, 0.5
#: But W may always have this share as many entries of K_WW as K_U has: they cost little beside those.
CHEAP = 0.04
#: Most rows of W: its Gram matrix is 8·12000² = 1.2 GB.
LARGEST_BAND = 12000
#: Rounds of joining.
ROUNDS = 8
#: LIBSVM's tolerance in the first round, in the next, and where Newton steps fall short, in units of the margin.
TOLERANCES = (1e-2, LOOP_TOL, 0.02 * LOOP_TOL)
#: Rows that violate by at most this, in units of the margin, and this share of W, are left to Newton steps.
SLIGHT, FEW_SHARE = 0.01, 0.01
#: Rows on their right side by up to this join with those that violate, at most so many for each of them.
LOOKAHEAD, COMPANY = 0.1, 0.25
#: W holds this many times what it must to balance U.
ROOM = 1.1
#: Entries of K streamed between looks at the clock: a fifth of a second.
STREAMED = 5e7


def band_outcome(
    blocks: KernelBlocks, problem: HingeDual, guess: Guess, target: float, effort: Effort
) -> Outcome | None:
    """Solve from what is foretold; None where the band would be too wide, or time ran out before any point was known.

    Parameters
    ----------
    blocks : KernelBlocks
    problem : HingeDual
    guess : Guess
    target : float
        Relative gap.
    effort : Effort
    """
    band, best = _Band(blocks, problem, guess, effort), None
    if len(band.rows) > LARGEST_BAND or not effort.affords(len(band.rows), blocks.width, False) or not band.begin():
        return None
    while band.settle():
        near = band.near()
        if effort.late() or len(near) > LARGEST_BAND or not effort.affords(len(near), blocks.width):
            outcome = band.outcome()
        else:
            outcome = WorkingSet(blocks, problem, near, band.beta, effort, band.u).run(target)
        best = outcome if best is None or outcome.gap < best.gap else best
        if best.gap <= target or effort.late() or effort.exhausted() or not band.tighten():
            break
    return best


def first_band(guess: Guess) -> NDArray[np.bool_]:
    """W of (KBAND.1): a mask, (n,)."""
    n, distance = len(guess.slack), np.where(guess.free, 0.0, np.abs(guess.slack))
    free = int(np.count_nonzero(guess.free))
    cheap = int(np.sqrt(CHEAP * n * np.count_nonzero(guess.slack > 0))) + MANY_JOIN
    near = min(int(np.count_nonzero(distance <= BAND)), int((1.0 + NEIGHBOURS) * free))
    count = min(max(cheap, near), n)
    mask = np.zeros(n, dtype=bool)
    mask[np.argpartition(distance, count - 1)[:count]] = True
    return mask


class _Band:
    """W and U, and the state of all rows."""

    def __init__(self, blocks: KernelBlocks, problem: HingeDual, guess: Guess, effort: Effort) -> None:
        self.blocks, self.problem, self.effort = blocks, problem, effort
        self.everything = np.arange(problem.n)
        self.slack, self.b, self.solved = guess.slack, 0.0, False
        self.tolerance = self.last_tolerance = TOLERANCES[0]
        inside = first_band(guess)
        self.at_upper = ~inside & (self.slack > 0)
        self._make_room(inside, self.at_upper)
        self.rows: IntArray = np.flatnonzero(inside)
        self.beta = self.u = self.resting_u = np.zeros(problem.n)
        self._K = np.empty((0, 0))

    def settle(self) -> bool:
        """Solve and let rows join until few violate; False where no point is known."""
        for _ in range(ROUNDS):
            if not self.solve():
                break
            self.effort.report("band", len(self.rows), np.inf)
            join = self.violators()
            if not len(join) or self.effort.late() or self.effort.exhausted():
                break
            wider = len(self.rows) + len(join)
            if wider > LARGEST_BAND or not self.effort.affords(wider, self.blocks.width, False):
                break
            self.exchange(join)
        return self.solved

    def tighten(self) -> bool:
        """Let the loop go on to the next tolerance; False after the last."""
        self.tolerance = next((tol for tol in TOLERANCES if tol < self.last_tolerance), 0.0)
        return self.tolerance > 0.0

    def _make_room(self, inside: NDArray[np.bool_], at_upper: NDArray[np.bool_]) -> None:
        """Move rows of U that are least sure into W, in place, until W can balance U."""
        y, upper = self.problem.y, self.problem.upper
        for sign in (1.0, -1.0):
            resting = float((upper * y)[at_upper].sum()) * sign
            lacking = ROOM * resting - float(upper[inside & (y == -sign)].sum())
            if resting <= 0 or lacking <= 0:
                continue
            members = np.flatnonzero(at_upper & (y == sign))
            members = members[np.argsort(self.slack[members])]
            count = int(np.searchsorted(np.cumsum(upper[members]), lacking)) + 1
            inside[members[:count]] = True
            at_upper[members[:count]] = False

    def _resting(self) -> FloatArray:
        """β of U, 0 elsewhere: (n,)."""
        return np.where(self.at_upper, self.problem.upper * self.problem.y, 0.0)

    def _stream(self, beta: FloatArray) -> FloatArray | None:
        """Kβ for all rows, rough: (n,); None where time runs out."""
        index = np.flatnonzero(beta)
        total = np.zeros(self.problem.n)
        step = max(1, int(STREAMED / self.problem.n))
        for start in range(0, len(index), step):
            if self.effort.late():
                return None
            part = index[start : start + step]
            total += self.blocks.product(part, beta[part], self.everything, rough=True)
        return total

    def begin(self) -> bool:
        """u_U and K_WW; False where time runs out."""
        resting = self._stream(self._resting())
        if resting is None:
            return False
        self.resting_u = resting
        spare = self.rows[[0, 0]]
        self._K = self.blocks.rough_symmetric(np.concatenate([self.rows, spare]))  # two places for z₊ and z₋
        return True

    def solve(self) -> bool:
        """(KBAND.2), then β, u, b and s over all rows; False where time runs out or W cannot balance U."""
        problem, rows, resting = self.problem, self.rows, self._resting()
        part = problem.restricted(rows, float(resting.sum()))
        found = self._loop(part)
        if found is None:
            return False
        moving = np.zeros(problem.n)
        moving[rows] = part.balanced(found)
        u = self._stream(moving)
        if u is None:
            return False
        self.beta, self.u, self.solved = resting + moving, self.resting_u + u, True
        self.last_tolerance, self.tolerance = self.tolerance, min(self.tolerance, LOOP_TOL)
        self.b = problem.intercept(self.u)
        self.slack = 1.0 - problem.y * (self.u + self.b)
        return True

    def _loop(self, part: HingeDual) -> FloatArray | None:
        """LIBSVM's loop on W with z₊ and z₋: β (w,); None where those are not at their bounds afterwards."""
        K, m, u = self._K, part.n, self.resting_u[self.rows]
        spare = float(part.upper.mean())
        masses = spare + max(part.outside, 0.0), spare + max(-part.outside, 0.0)
        image, largest = u / sum(masses), float(np.abs(u).max())
        K[m, :m] = K[:m, m] = image  # (KBAND.5)
        K[m + 1, :m] = K[:m, m + 1] = -image
        depth = 2.0 * (largest * float(part.upper.sum()) / sum(masses) + largest + 10.0) / min(masses)
        K[m:, m:] = np.diag([-depth, -depth])  # (KBAND.6)
        whole = HingeDual(np.append(part.y, [1.0, -1.0]), np.append(part.upper, masses))
        beta = self.effort.loop(whole, K, self.tolerance)
        return beta[:m] if np.allclose(np.abs(beta[m:]), masses) else None

    def violators(self) -> IntArray:
        """Rows outside W that should join it (KBAND.3); none where few violate."""
        reach = np.where(self.at_upper, -self.slack, self.slack)
        reach[self.rows] = -np.inf
        count = int(np.count_nonzero(reach > SLIGHT))
        if count <= max(MANY_JOIN, FEW_SHARE * len(self.rows)):
            return np.empty(0, dtype=np.intp)
        join = np.flatnonzero(reach > -LOOKAHEAD)
        most = int((1.0 + COMPANY) * count)
        if len(join) > most:
            join = join[np.argpartition(-reach[join], most)[:most]]
        return join

    def exchange(self, join: IntArray) -> None:
        """Take rows into W; those of U leave it."""
        inside, at_upper = np.zeros(self.problem.n, dtype=bool), self.at_upper.copy()
        inside[self.rows] = True
        inside[join] = True
        at_upper[join] = False
        self._make_room(inside, at_upper)
        inside[self.rows] = False
        added, m = np.flatnonzero(inside), len(self.rows)
        leaving = added[self.at_upper[added]]
        signed = (self.problem.upper * self.problem.y)[leaving]
        self.resting_u = self.resting_u - self.blocks.product(leaving, signed, self.everything, rough=True)
        self.at_upper = at_upper
        spare = added[[0, 0]]
        self._K = self.blocks.grown(self._K[:m, :m], self.rows, np.concatenate([added, spare]), rough=True)
        self.rows = np.concatenate([self.rows, added])

    def near(self) -> IntArray:
        """Rows for the Newton steps (KBAND.4): those that the loop may have left on the wrong side by its tolerance."""
        return unsettled_rows(self.problem, self.beta, self.slack, self.last_tolerance)

    def outcome(self) -> Outcome:
        """The point as it is, its gap from rough values."""
        gap = self.problem.point(self.beta, self.u).gap
        return Outcome(self.beta, self.u, np.zeros(self.problem.n, dtype=bool), self.b, gap)
