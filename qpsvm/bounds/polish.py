"""Find the exact split of α into zero, free and bound entries, and solve for it in full precision (`polish`).

A solver stops at an α that is close to the optimum, and whose split is almost that of the optimum. Each round predicts
the split from the present point, solves the linear system of that split, and certifies the result. So a wrong split
never makes the result worse.

Let Q be the Hessian of (DUAL.1), curvature δ included. If the split of the rows into zero, free (F) and bound is known,
the optimum solves one linear system in the correction d:

    (POL.1)  Q_FF d + E_F μ = ℓ_F − (Qα)_F,   E_Fᵀ d − Rμ = e − Eᵀα,   α_F ← α_F + d

with α already 0 or U outside F. Solving for a correction keeps the digits that α already has. (A penalised intercept is
the multiplier μ of a column with R = 1. Q + yyᵀ is never formed: its rounding would swamp Q if yᵀα is small compared
with α.) The split is predicted by a projected-gradient step of length τ:

    (POL.2)  v = α − τ (δα − t):  v ≤ 0 → zero,  v ≥ U → bound,  else free

In an all-in-one multiclass dual, Σ_B α ≤ U bounds a block B of rows (one per class) instead of each row:

    (POL.3)  in a full block, Σ_B α = U, the largest free α is eliminated by a matrix T:  TᵀQ_FF T, TᵀE_F and so on
             replace the terms of (POL.1), and v is projected on the block's simplex

Q_FF may be singular (duplicates, more free vectors than features): then (POL.1) is solved by minimum-norm least
squares, or with many free rows by a ridge and iterative refinement.
Sources: primal-dual active set method, Hintermüller, Ito & Kunisch (2002); Bergounioux, Ito & Kunisch (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack, lstsq

from qpsvm.base.arrays.rounding import SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import is_interrupted
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.class_repair import project_on_simplex
from qpsvm.program.losses import sum_blocks
from qpsvm.program.svm_dual import SVMDual

#: States of a row in a split: the free ones are odd. FREE_IN_FULL: free, in a block with Σ_B α = U.
ZERO, FREE, BOUND, FREE_IN_FULL = 0, 1, 2, 3
#: A state for every row, (m,).
Split = NDArray[np.int8]
#: Largest number of rounds of (POL.1) for each step length; the split settles in about three.
ROUNDS = 15
#: Largest number of times in one round that variables leaving the box are fixed and (POL.1) is solved again.
MAX_BOUND_FIXES = 8
#: A relative gap below this is rounding: there is nothing left to polish.
FINISHED = 1e-13
#: Below this gap the split is right, and other step lengths are not tried.
POLISHED = 1e-10
#: A start is good if its gap is at most this. Then the numbers of rounds and step lengths are limited.
GOOD = 1e-6
#: With at most this many rows they are not limited, however good the start is.
TEACHING_ROWS = 200
#: With at most FEW_ROWS rows a good start gets this many rounds with each of this many step lengths.
FEW_ROWS, ROUNDS_FEW_ROWS, LENGTHS_FEW_ROWS = 700, 4, 2
#: With more rows it gets this many rounds with one step length.
ROUNDS_MORE_ROWS = 3
#: With more than this many rows, polishing stops at a gap of GOOD.
MANY_ROWS = 1500
#: The last step length for few rows, as a share of 1/Q_ii.
SHORT_STEP = 0.03
#: Polishing a gap below EXCELLENT ends if the first step length does not reduce it by the factor WORTHWHILE.
EXCELLENT, WORTHWHILE = 1e-9, 0.1
#: Q_ii counts as at least this share of the largest where (POL.1) is equilibrated: that of a sample at the origin is 0.
LEAST_DIAGONAL = 1e-6
#: Relative size of a Cholesky pivot below which Q_FF counts as singular.
SINGULAR = 1e-11
#: Singular values below this share of the largest are dropped in the least-squares solution.
RANK_TOLERANCE = 1e-12
#: Largest number of free vectors for which the least-squares solution (a singular value decomposition) is affordable.
LEAST_SQUARES_ROWS = 150
#: With more, RIDGE is added to the unit diagonal of a singular Q_FF, and REFINEMENTS steps of iterative refinement
#: remove its effect: in a direction with eigenvalue λ a share (ridge/(λ + ridge))^k of it remains after k steps.
RIDGE, REFINEMENTS = 1e-10, 4
#: Largest number of free vectors for which a Cholesky factorisation is affordable.
CHOLESKY_ROWS = 6000
#: The same for a good start with more than FEW_ROWS rows.
CHOLESKY_ROWS_GOOD = 1000
#: Estimated seconds to solve (POL.1) with k free rows, divided by k³.
SOLVE_SECONDS = 3e-11
#: Estimated cost of the rest of a round, as a multiple of the cost of a certificate.
ROUND_CERTIFICATES = 2.0


def polish(
    svm: SVMDual,
    start: Certificate,
    certify: Callable[[FloatArray], Certificate],
    rounds: int = ROUNDS,
    clock: Clock | None = None,
    certify_seconds: float = 0.0,
    lengths: int | None = None,
) -> Certificate:
    """Improve a certified point until its gap is rounding, or no predicted split improves it.

    Return the best certificate found, at worst `start`.

    certify: Returns the certificate of an α (m,).
    rounds: Largest number of rounds per step length.
    clock: Time limit; None for no limit.
    certify_seconds: Seconds that one certificate takes.
    lengths: Largest number of step lengths; None to choose it by the number of rows and the gap.
    """
    best = start
    n = len(start.alpha)
    max_rounds, max_lengths, max_free = _choose_round_limits(n, start.gap)
    limits = RoundLimits(clock or Clock(), certify_seconds, max_free)
    for tau in islice(_iter_step_lengths(svm, start), max_lengths if lengths is None else lengths):
        if limits.is_exhausted():
            break
        best = _run_rounds(svm, start, best, certify, tau, min(rounds, max_rounds), limits)
        if best.gap <= POLISHED or (best.gap <= GOOD and n > MANY_ROWS):
            break
        if start.gap <= EXCELLENT and best.gap > WORTHWHILE * start.gap:
            break
    return best


@dataclass(frozen=True, eq=False)
class RoundLimits:
    """Limits of the rounds: a clock, the seconds per certificate, and the largest number of free rows."""

    clock: Clock
    certify_seconds: float
    max_free: int

    def is_exhausted(self) -> bool:
        """Return whether another round would not end in time, or the user has interrupted."""
        return is_interrupted() or self.clock.remaining <= ROUND_CERTIFICATES * self.certify_seconds

    def find_max_free(self) -> int:
        """Return the largest number of free rows for which (POL.1) can be solved in the remaining time."""
        remaining = self.clock.remaining - ROUND_CERTIFICATES * self.certify_seconds
        if remaining == float("inf"):
            return self.max_free
        return min(self.max_free, int((max(remaining, 0.0) / SOLVE_SECONDS) ** (1 / 3)))


def _choose_round_limits(n: int, gap: float) -> tuple[int, int | None, int]:
    """Return the limits of rounds per step length, of step lengths (None: all) and of free rows."""
    if gap > GOOD or n <= TEACHING_ROWS:
        return ROUNDS, None, CHOLESKY_ROWS
    if n <= FEW_ROWS:
        return ROUNDS_FEW_ROWS, LENGTHS_FEW_ROWS, CHOLESKY_ROWS
    return ROUNDS_MORE_ROWS, 1, CHOLESKY_ROWS_GOOD


def _iter_step_lengths(svm: SVMDual, start: Certificate) -> Iterator[FloatArray]:
    """Yield the τ (m,) of (POL.2) to try, most successful first: no single one works for every problem.

    τ = 0 is the split of α itself, for solvers that return α exactly at its bounds. It comes first with many rows, of
    which a thousand may be close to the margin, and late with few.
    """
    free = (start.alpha > 0) & (start.alpha < svm.upper)
    is_mostly_at_bounds = 2 * np.count_nonzero(free) < len(free)
    has_many_rows = len(free) > MANY_ROWS and svm.classes is None
    if is_mostly_at_bounds and has_many_rows:
        yield np.zeros(len(free))
    curvature = svm.hessian.diagonal()
    curvature = np.maximum(curvature, max(1e-6 * float(curvature.mean()), SMALLEST_NORMAL))
    yield 1.0 / curvature
    if svm.is_bounded:
        yield svm.upper
        yield np.sqrt(svm.upper / curvature)
    yield 100.0 / curvature
    if is_mostly_at_bounds and not has_many_rows:
        yield np.zeros(len(free))
    if len(free) <= TEACHING_ROWS:  # if the hulls of the classes meet, longer steps may leave too few free rows
        yield SHORT_STEP / curvature


def _run_rounds(
    svm: SVMDual,
    start: Certificate,
    best: Certificate,
    certify: Callable[[FloatArray], Certificate],
    tau: FloatArray,
    rounds: int,
    limits: RoundLimits,
) -> Certificate:
    """Return the best point of the rounds with one step length τ (m,), or `best` if none is better.

    The rounds end early if a split recurs without an improvement, (POL.1) cannot be solved, or a limit is reached.
    """
    point = start
    seen_splits: set[bytes] = set()
    for _ in range(rounds):
        if limits.is_exhausted() or not np.isfinite(point.yf).all():
            break
        split = _predict_split(svm, point.alpha - tau * point.gradient)
        key = split.tobytes()
        is_repeated = key in seen_splits
        seen_splits.add(key)
        alpha = _solve_split(svm, point.alpha, split, limits)
        if alpha is None:
            break
        point = certify(alpha)
        if point.gap < best.gap:
            best = point
        elif is_repeated:
            break
        if best.gap <= FINISHED:
            break
    return best


def _predict_split(svm: SVMDual, v: FloatArray) -> Split:
    """Return the split (POL.2) for v (m,)."""
    if svm.block == 1:
        return np.where(v <= 0, ZERO, np.where(v >= svm.upper, BOUND, FREE)).astype(np.int8)
    v = np.maximum(v, 0.0).reshape(-1, svm.block)
    upper = svm.upper[:: svm.block]
    full = v.sum(axis=1) >= upper
    v[full] = project_on_simplex(v[full], upper[full])
    return np.where(v > 0.0, np.where(full, FREE_IN_FULL, FREE)[:, None], ZERO).astype(np.int8).ravel()


def _is_free(split: Split) -> NDArray[np.bool_]:
    return (split & 1).astype(bool)


def _fix_at_bounds(svm: SVMDual, solved: FloatArray, split: Split) -> Split | None:
    """Return the split with the bounds that `solved` (m,) violates made active; None if it violates none."""
    below = solved < 0
    if svm.block == 1:
        above = solved > svm.upper
        state_above = BOUND
    else:
        is_overfull = sum_blocks(np.maximum(solved, 0.0), svm.block) > svm.upper[:: svm.block]
        above = np.repeat(is_overfull, svm.block) & (split == FREE)
        state_above = FREE_IN_FULL
    if not (below.any() or above.any()):
        return None
    return np.where(below, ZERO, np.where(above, state_above, split)).astype(np.int8)


def _solve_split(svm: SVMDual, alpha: FloatArray, split: Split, limits: RoundLimits) -> FloatArray | None:
    """Return the α (m,) that solves (POL.1) for a split (m,); None if too many rows are free, or it has no solution.

    Variables that leave the box are fixed at the bound that they cross, and the rest is solved again.
    """
    if np.count_nonzero(_is_free(split)) > limits.find_max_free():
        return None
    solved = _solve_free(svm, alpha, split)
    for _ in range(MAX_BOUND_FIXES):
        if solved is None or limits.is_exhausted():
            return None
        new_split = _fix_at_bounds(svm, solved, split)
        if new_split is None:
            break
        split = new_split
        solved = _solve_free(svm, alpha, split)
    return solved


def _solve_free(svm: SVMDual, alpha: FloatArray, split: Split) -> FloatArray | None:
    """Return the α (m,) that solves (POL.1), which may leave the box; None if that fails."""
    free = np.flatnonzero(_is_free(split))
    snapped = np.where(split == BOUND, svm.upper, np.where(_is_free(split), alpha, 0.0))
    T = None
    if (split == FREE_IN_FULL).any():
        snapped, T = _couple_blocks(svm, snapped, split, free)
    if not len(free) or (T is not None and not T.shape[1]):
        return snapped
    residual = svm.level[free] - (svm.hessian @ snapped)[free]
    E = np.array([part.column[free] for part in svm.parts]).T.reshape(len(free), len(svm.parts))
    R = np.array([part.ridge for part in svm.parts])
    equality_residual = np.array([part.total - float(part.column @ snapped) for part in svm.parts])
    Q = svm.hessian.block(free, free)
    if T is not None:
        Q = T.T @ (T.T @ Q).T
        E = T.T @ E
        residual = T.T @ residual
    step = _solve_bordered(Q, E, R, residual, equality_residual)
    if step is None or not np.isfinite(step).all():
        return None
    snapped[free] += step if T is None else T @ step
    return snapped


def _couple_blocks(svm: SVMDual, alpha: FloatArray, split: Split, free: IntArray) -> tuple[FloatArray, sp.csr_array]:
    """Return α (m,) with every full block at its bound, and the T of (POL.3), (free rows, remaining variables).

    In a full block, the largest free α is the pivot: it is U minus the others, so it changes by minus their changes.
    """
    is_in_full = split == FREE_IN_FULL
    block_alpha = np.where(is_in_full, alpha, -np.inf).reshape(-1, svm.block)
    full = np.flatnonzero(is_in_full.reshape(-1, svm.block).any(axis=1))
    pivot = np.full(len(block_alpha), -1)  # row of the pivot of each block; −1 if the block is not full
    pivot[full] = full * svm.block + block_alpha[full].argmax(axis=1)
    snapped = alpha.copy()
    snapped[pivot[full]] = 0.0
    snapped[pivot[full]] = svm.upper[pivot[full]] - sum_blocks(snapped, svm.block)[full]
    other_rows = np.flatnonzero(pivot[free // svm.block] != free)
    own_pivot = pivot[free[other_rows] // svm.block]
    coupled = np.flatnonzero(own_pivot >= 0)
    rows = np.concatenate([other_rows, np.searchsorted(free, own_pivot[coupled])])
    columns = np.concatenate([np.arange(len(other_rows)), coupled])
    values = np.repeat([1.0, -1.0], [len(other_rows), len(coupled)])
    return snapped, sp.csr_array((values, (rows, columns)), (len(free), len(other_rows)))


def _solve_bordered(Q: FloatArray, E: FloatArray, R: FloatArray, r: FloatArray, s: FloatArray) -> FloatArray | None:
    """Solve Qd + Eμ = r, Eᵀd − Rμ = s for d (k,); None if that fails.

    The system is equilibrated, so that Q has a unit diagonal. If R > 0, μ = (Eᵀd − s)/R can be eliminated, so then the
    diagonal of Q + ER⁻¹Eᵀ is used. Shapes: Q (k, k), E (k, m), R, s (m,), r (k,).
    """
    diagonal = Q.diagonal() + (E[:, R > 0] ** 2) @ (1.0 / R[R > 0])
    scale = 1.0 / np.sqrt(np.maximum(diagonal, max(LEAST_DIAGONAL * float(diagonal.max()), SMALLEST_NORMAL)))
    A = Q * scale
    A *= scale[:, None]
    B = scale[:, None] * E
    rhs = scale * r
    border_norms = np.linalg.norm(B, axis=0)  # scale the border, so that the scale of Q does not matter
    border_norms = np.where(border_norms > 0, border_norms, 1.0)
    B = B / border_norms
    R = R / border_norms**2
    s = s / border_norms
    factor, info = lapack.dpotrf(A, lower=0, overwrite_a=0, clean=0)
    pivots = factor.diagonal()
    if info == 0 and pivots.min() ** 2 > SINGULAR * pivots.max() ** 2:
        step: FloatArray | None = _solve_by_schur(A, factor, B, R, rhs, s, 1)
    elif len(A) <= LEAST_SQUARES_ROWS:
        step = _solve_least_squares(A, B, R, rhs, s)
    else:
        ridged = A.copy()
        ridged[np.diag_indices_from(ridged)] += RIDGE
        factor, info = lapack.dpotrf(ridged, lower=0, overwrite_a=1, clean=0)
        if info == 0:
            step = _solve_by_schur(A, factor, B, R, rhs, s, REFINEMENTS)
        else:
            step = None
    return None if step is None else scale * step


def _solve_by_schur(
    A: FloatArray, factor: FloatArray, B: FloatArray, R: FloatArray, r: FloatArray, s: FloatArray, refinements: int
) -> FloatArray:
    """Solve Ax + Bμ = r, Bᵀx − Rμ = s for x (k,), by the Schur complement BᵀA⁻¹B + R and iterative refinement.

    factor: The Cholesky factor of A, or of A + ridge.
    """
    m = B.shape[1]

    def solve(right: FloatArray) -> FloatArray:
        solution: FloatArray = lapack.dpotrs(factor, right, lower=0)[0]
        return solution

    inverse_times_B = solve(B) if m else B
    schur_inverse = _compute_pseudo_inverse(B.T @ inverse_times_B + np.diag(R))

    def solve_both(top: FloatArray, bottom: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = solve(top)
        if not m:
            return x, bottom
        mu = schur_inverse @ (B.T @ x - bottom)
        return x - inverse_times_B @ mu, mu

    x, mu = solve_both(r, s)
    for _ in range(refinements):
        dx, dmu = solve_both(r - A @ x - B @ mu, s - B.T @ x + R * mu)
        x, mu = x + dx, mu + dmu
    return x


def _compute_pseudo_inverse(S: FloatArray) -> FloatArray:
    """Return the pseudo-inverse of a small semidefinite S (m, m): a column of E may have no free entries."""
    if len(S) == 1:
        return np.array([[1.0 / S[0, 0] if S[0, 0] > 0 else 0.0]])
    inverse: FloatArray = np.asarray(np.linalg.pinv(S, rcond=RANK_TOLERANCE, hermitian=True), dtype=np.float64)
    return inverse


def _solve_least_squares(
    A: FloatArray, B: FloatArray, R: FloatArray, r: FloatArray, s: FloatArray
) -> FloatArray | None:
    """Return the x (k,) of the minimum-norm solution of Ax + Bμ = r, Bᵀx − Rμ = s.

    None if LAPACK fails or numbers overflow.
    """
    k, m = B.shape
    bordered = np.zeros((k + m, k + m))
    bordered[:k, :k] = A
    bordered[:k, k:] = B
    bordered[k:, :k] = B.T
    bordered[k:, k:] = -np.diag(R)
    right = np.concatenate([r, s])
    if not (np.isfinite(bordered).all() and np.isfinite(right).all()):
        return None
    try:
        solution = lstsq(bordered, right, cond=RANK_TOLERANCE, check_finite=False)[0]
    except np.linalg.LinAlgError:
        return None
    step: FloatArray = solution[:k]
    return step
