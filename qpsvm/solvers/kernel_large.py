"""More rows than a Gram matrix is made for without thought: a guess, then the engine that it makes look cheapest.

    (KLARGE.1)  band:   c_W |W|² + c_F |F|³:  the loop on K_WW, about twice; factors of K_FF for the Newton steps
    (KLARGE.2)  dense:  c_K n²:  K once in single precision, and some tens of products with it
    (KLARGE.3)  gram:   c_G n²:  K once in double precision, the loop on it, Newton steps; where memory allows

W is the band and F the free rows that the guess foretells (`kernel_nystrom`, or a start). The constants are seconds on
one core; only their ratios matter. What an engine leaves above the tolerance is the guess of the next: band takes over
from dense, and LIBSVM's loop over all rows is for bands that do not fit in memory. A band that was foretold too narrow
costs another loop over the wider one, and that is less than a loop that evaluates the kernel itself. Where a small
subsample says that few rows support, there is nothing to foretell at all (`kernel_few`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from qpsvm.arrays import FloatArray, IntArray
from qpsvm.kernel_blocks import KernelBlocks
from qpsvm.solvers.kernel_band import BAND, LARGEST_BAND, band_outcome, first_band
from qpsvm.solvers.kernel_dense import LARGEST_DENSE, dense_outcome
from qpsvm.solvers.kernel_dual import HingeDual
from qpsvm.solvers.kernel_few import few_support_outcome
from qpsvm.solvers.kernel_nystrom import Guess, nystrom_guess
from qpsvm.solvers.kernel_small import gram_outcome
from qpsvm.solvers.kernel_working_set import LOOP_TOL, Effort, Outcome, WorkingSet, rough_margin

LargeEngine = Literal["auto", "gram", "band", "dense", "libsvm"]

#: c_W, c_F, c_K and c_G, in seconds: measured on tables of 3000 to 20 000 rows, generated and real ones.
BAND_SECONDS, FACTOR_SECONDS, DENSE_SECONDS, GRAM_SECONDS = 40e-9, 1e-11, 34e-9, 18e-9
#: Most rows of a Gram matrix in double precision: 512 MB.
LARGEST_GRAM = 8000
#: A subsample of a fifth is asked first for at most so many rows, and believed where at most this share supports.
FEW_ROWS, VERY_FEW = 9000, 0.06
#: A start is taken for a guess where its relative gap is below this.
USEFUL_START = 0.9
#: Newton steps right away from a start where at most so many rows are not at rest.
START_ROWS = 1500


def large_outcome(
    blocks: KernelBlocks,
    problem: HingeDual,
    engine: LargeEngine,
    start: FloatArray | None,
    target: float,
    effort: Effort,
) -> tuple[Outcome, str]:
    """Solve over all rows; what was used is named.

    Parameters
    ----------
    blocks : KernelBlocks
    problem : HingeDual
    engine : str
        "auto" for the cheapest by (KLARGE.1) and (KLARGE.2).
    start : ndarray, shape (n,), optional
        β of a neighbouring problem.
    target : float
        Relative gap.
    effort : Effort
    """
    best: Outcome | None = None
    guess: Guess | None = None
    if start is not None:
        measured = _measured(blocks, problem, start)
        outcome = _newton_steps(blocks, problem, measured, target, effort)
        if outcome is not None and (outcome.gap <= target or effort.late()):
            return outcome, "start"
        guess = _guess_from(problem, outcome or measured)
    if guess is None and engine == "auto" and problem.n <= FEW_ROWS and blocks.single:
        best = few_support_outcome(blocks, problem, target, effort, VERY_FEW)
        if best is not None and (best.gap <= target or effort.late()):
            return best, "few"
    if guess is None and engine not in ("libsvm", "gram"):
        guess = nystrom_guess(blocks, problem, stratified_order(problem.y), effort)
    if guess is not None and engine == "auto":
        engine = cheapest(guess)
    if engine == "gram":
        return gram_outcome(blocks, problem, target, effort), "gram"
    if guess is not None and engine == "dense" and problem.n <= LARGEST_DENSE:
        best = dense_outcome(blocks, problem, guess, target, effort)
        if best is not None and (best.gap <= target or effort.late()):
            return best, "dense"
        guess = guess if best is None else _guess_from(problem, best) or guess
    if guess is not None and engine != "libsvm":
        outcome = band_outcome(blocks, problem, guess, target, effort)
        if outcome is not None and (best is None or outcome.gap < best.gap):
            return outcome, "band"
    if best is not None:
        return best, "dense"
    return _plain(blocks, problem, target, effort), "libsvm"


def cheapest(guess: Guess) -> Literal["gram", "band", "dense", "libsvm"]:
    """The rule."""
    n, free, band = len(guess.slack), np.count_nonzero(guess.free), np.count_nonzero(first_band(guess))
    by_band = BAND_SECONDS * band**2 + FACTOR_SECONDS * free**3  # (KLARGE.1)
    if n <= LARGEST_GRAM and GRAM_SECONDS * n**2 < by_band:  # (KLARGE.3)
        return "gram"
    if n <= LARGEST_DENSE and (band > LARGEST_BAND or DENSE_SECONDS * n**2 < by_band):  # (KLARGE.2)
        return "dense"
    return "band" if band <= LARGEST_BAND else "libsvm"


def stratified_order(y: FloatArray, seed: int = 0) -> IntArray:
    """A random order of the rows of which every beginning holds both classes in proportion: (n,)."""
    rng = np.random.default_rng(seed)
    key = np.empty(len(y))
    for sign in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero(y == sign))
        key[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(key, kind="stable")


def _measured(blocks: KernelBlocks, problem: HingeDual, beta: FloatArray) -> Outcome:
    """A feasible β with its rough u and gap."""
    support = np.flatnonzero(beta)
    u = blocks.product(support, beta[support], np.arange(problem.n), rough=True)
    point = problem.point(beta, u)
    return Outcome(beta, u, np.zeros(problem.n, dtype=bool), point.b, point.gap)


def _newton_steps(
    blocks: KernelBlocks, problem: HingeDual, start: Outcome, target: float, effort: Effort
) -> Outcome | None:
    """Newton steps on the rows of a start that are not at rest; None where those are many."""
    alpha, slack = problem.y * start.beta, 1.0 - problem.y * (start.u + start.b)
    margin = rough_margin(start.beta)
    resting = ((alpha == 0) & (slack < -margin)) | ((alpha == problem.upper) & (slack > margin))
    rows = np.flatnonzero(~resting)
    if not 0 < len(rows) <= START_ROWS:
        return None
    return WorkingSet(blocks, problem, rows, start.beta, effort, start.u).run(target, False)


def _guess_from(problem: HingeDual, outcome: Outcome) -> Guess | None:
    """A point taken for a guess; None where its gap says that it foretells nothing."""
    if not outcome.gap < USEFUL_START:
        return None
    alpha, n = problem.y * outcome.beta, problem.n
    slack = 1.0 - problem.y * (outcome.u + outcome.b)
    free = (alpha > 0) & (alpha < problem.upper) & (np.abs(slack) <= BAND)  # C may have been another one
    return Guess(slack, outcome.beta, free, np.ones((n, 1), dtype=np.float32), np.ones(n))


def _plain(blocks: KernelBlocks, problem: HingeDual, target: float, effort: Effort) -> Outcome:
    """LIBSVM's loop over all rows, then Newton steps on its support and the rows near the margin."""
    if blocks.samples is None:
        everything = np.arange(problem.n)
        return WorkingSet(blocks, problem, everything, np.zeros(problem.n), effort).run(target, True)
    beta = effort.loop(problem, blocks.samples, LOOP_TOL, float(blocks.kernel.gamma))  # type: ignore[attr-defined]
    outcome = _measured(blocks, problem, beta)
    near = (beta != 0) | (1.0 - problem.y * (outcome.u + outcome.b) > -rough_margin(beta))
    return WorkingSet(blocks, problem, np.flatnonzero(near), beta, effort, outcome.u).run(target, False)
