"""More rows than a Gram matrix is made for without thought: a guess, then the engine that it makes look cheapest.

    (KLARGE.1)  plain:  (c_e + c_f d) S n + c_i I n + c_m max(0, I − I R/S) (10 + d) n + c_F F³
    (KLARGE.2)  band:   c_n n + (e_s + e_f d) S n + e_W W² + e_i min(I, 4W) W + e_F F³
    (KLARGE.3)  gram:   (g_n + g_f d) n² + g_i I n + g_F F³
    (KLARGE.4)  dense:  (k_n + k_f d) n²
    (KLARGE.5)  I = S(1 + √(κC̄)),  R = 50 MB / n:  iterations of LIBSVM's loop, and the kernel rows that it can keep

Over d features, S rows support and F of them are free as the guess foretells (`kernel_nystrom`, or a start), W is the
band around them. The plain way is LIBSVM's own; it evaluates the kernel where it needs it, so S n values or, where they
do not fit its cache, many twice. The constants are seconds on one core, fitted to generated tables of 3000 to 12 000
rows, and to real ones where most rows are in the band; only their ratios matter. What an engine leaves
above the tolerance is the guess of the next. No way but the plain one may cost more than a share of what the plain one
would, unless it promises to end. Where a small subsample says that few rows support, there is nothing to foretell at
all (`kernel_few`, or the plain way).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.band import BAND, LARGEST_BAND, band_outcome, first_band
from qpsvm.solvers.kernel.dense import LARGEST_DENSE, dense_outcome
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.few import few_support_outcome
from qpsvm.solvers.kernel.nystrom import Guess, nystrom_guess
from qpsvm.solvers.kernel.small import gram_outcome
from qpsvm.solvers.kernel.working_set import LOOP_TOL, Effort, Outcome, WorkingSet, rough_margin, unsettled_rows

LargeEngine = Literal["auto", "gram", "band", "dense", "libsvm"]

#: c_e, c_f, c_i, c_m and c_F of (KLARGE.1).
PLAIN_SECONDS = (17e-9, 0.5e-9, 0.5e-9, 0.09e-9, 4e-12)
#: c_n, e_s, e_f, e_W, e_i and e_F of (KLARGE.2).
BAND_SECONDS = (3e-6, 0.4e-9, 0.07e-9, 16e-9, 4e-9, 9e-12)
#: g_n, g_f, g_i and g_F of (KLARGE.3); most of g_n is memory that is touched for the first time.
GRAM_SECONDS = (14e-9, 0.05e-9, 3e-9, 4e-12)
#: k_n and k_f of (KLARGE.4), where the low-rank model leaves at least this share of the diagonal: else too many
#: products.
DENSE_SECONDS, LEAST_REST = (22e-9, 0.1e-9), 0.9
#: A band of more than this share of the rows grows to nearly all of them: by so much the foretold seconds of the plain
#: way and of the band are too few, and by so much those of the Gram matrix.
CROWDED, CROWDED_ROWS, CROWDED_GRAM = 0.6, 2.0, 1.4
#: R n of (KLARGE.5).
CACHED_ENTRIES = 50e6
#: The dense engine is given up after this share of the plain one's seconds, if it does not promise to end in time.
WASTE = 0.3
#: Most rows of a Gram matrix in double precision: 1.2 GB.
LARGEST_GRAM = 12_000
#: A subsample of an eighth is asked first for at most so many rows, and believed where at most this share supports.
FEW_ROWS, VERY_FEW = 9000, 0.06
#: With more rows, a subsample of so many says how many support; where it says that the plain way costs less than
#: foretelling would, at so many seconds a row, that is the way.
SAMPLE_ROWS, SAMPLE_TOLERANCE, GUESS_SECONDS = 600, 1e-2, 12e-6
#: A start is taken for a guess where its relative gap is below the first; Newton steps go on from it below the second.
FORETELLING_START, USEFUL_START = 0.05, 0.3
#: They do where at most so many rows, and at most this share, are not at rest; and as long as every so many steps bring
#: the gap to this share.
START_ROWS, START_SHARE, START_STEPS, START_GAIN = 1500, 0.35, 3, 0.3


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
        best = start_outcome(blocks, problem, start, target, effort)
        if best.gap <= target or effort.late():
            return best, "start"
        guess = _guess_from(problem, best, FORETELLING_START)
    if guess is None and engine == "auto" and blocks.single:
        if problem.n > FEW_ROWS:
            engine = "libsvm" if _hardly_any_support(blocks, problem, effort) else "auto"
        else:
            outcome = few_support_outcome(blocks, problem, target, effort, VERY_FEW)
            if outcome is not None and (outcome.gap <= target or effort.late()):
                return outcome, "few"
    if guess is None and engine not in ("libsvm", "gram"):
        guess = nystrom_guess(blocks, problem, stratified_order(problem.y), effort)
    used: str = engine
    if guess is not None and engine == "auto":
        used = cheapest(guess, problem, blocks)
    if guess is not None and used == "dense" and problem.n <= LARGEST_DENSE:
        allowed = WASTE * _otherwise(guess, problem, blocks) if engine == "auto" else np.inf
        best = _better(best, dense_outcome(blocks, problem, guess, target, effort, allowed))
        if best is not None and (best.gap <= target or effort.late()):
            return best, "dense"
        guess = guess if best is None else _guess_from(problem, best, USEFUL_START) or guess
        used = cheapest(guess, problem, blocks, False)
    if used == "gram" and effort.affords(problem.n, blocks.width, False):
        outcome = gram_outcome(blocks, problem, target, effort)
    elif guess is not None and used not in ("gram", "libsvm"):
        used, outcome = "band", band_outcome(blocks, problem, guess, target, effort)
    else:
        used, outcome = "libsvm", None
    best = _better(best, outcome)
    if best is None or (outcome is None and not effort.late()):
        best, used = _better(best, _plain(blocks, problem, target, effort)), "libsvm"
    assert best is not None  # the plain way always ends at a point
    return best, used


def _better(a: Outcome | None, b: Outcome | None) -> Outcome | None:
    return b if a is None or (b is not None and b.gap < a.gap) else a


def seconds(guess: Guess, problem: HingeDual, blocks: KernelBlocks) -> dict[str, float]:
    """What every engine would take, (KLARGE.1) to (KLARGE.4); infinite where it cannot be used."""
    n, width, band = problem.n, blocks.width, float(np.count_nonzero(first_band(guess)))
    free, support = float(np.count_nonzero(guess.free)), float(np.count_nonzero(guess.free | (guess.slack > 0))) + 1.0
    iterations = support * (1.0 + np.sqrt(problem.total_penalty / n))  # (KLARGE.5)
    missed = iterations * max(0.0, 1.0 - CACHED_ENTRIES / n / support) * (10 + width)
    plain = np.array([support * n, width * support * n, iterations * n, missed * n, free**3])
    by_band = np.array([n, support * n, width * support * n, band**2, min(iterations, 4.0 * band) * band, free**3])
    gram = np.array([n**2, width * n**2, iterations * n, free**3])
    narrow = free > 0 and float(guess.rest[guess.free].mean()) >= LEAST_REST
    rows, whole = (CROWDED_ROWS, CROWDED_GRAM) if band > CROWDED * n else (1.0, 1.0)
    return {
        "libsvm": rows * float(plain @ PLAIN_SECONDS) if blocks.samples is not None else np.inf,
        "band": rows * float(by_band @ BAND_SECONDS) if band <= LARGEST_BAND else np.inf,
        "gram": whole * float(gram @ GRAM_SECONDS) if n <= LARGEST_GRAM else np.inf,
        "dense": float(np.array([n**2, width * n**2]) @ DENSE_SECONDS) if n <= LARGEST_DENSE and narrow else np.inf,
    }


def _otherwise(guess: Guess, problem: HingeDual, blocks: KernelBlocks) -> float:
    """Seconds of the plain way; of the best other one, where there is no plain one."""
    costs = seconds(guess, problem, blocks)
    return costs["libsvm"] if np.isfinite(costs["libsvm"]) else min(costs["band"], costs["gram"])


def cheapest(guess: Guess, problem: HingeDual, blocks: KernelBlocks, dense: bool = True) -> str:
    """The rule."""
    costs = seconds(guess, problem, blocks)
    if not dense:
        del costs["dense"]
    return min(costs, key=lambda name: costs[name])


def _hardly_any_support(blocks: KernelBlocks, problem: HingeDual, effort: Effort) -> bool:
    """Whether LIBSVM's loop over all rows would cost less than foretelling what it does."""
    n, rows = problem.n, np.sort(stratified_order(problem.y)[:SAMPLE_ROWS])
    sample = HingeDual(problem.y[rows], problem.upper[rows] * (n / len(rows)))
    if not 0 < sample.positives < len(rows):
        return False
    share = np.count_nonzero(effort.loop(sample, blocks.symmetric(rows), SAMPLE_TOLERANCE)) / len(rows)
    each = PLAIN_SECONDS[0] + PLAIN_SECONDS[1] * blocks.width
    return bool(share * n * each < GUESS_SECONDS)


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


def start_outcome(blocks: KernelBlocks, problem: HingeDual, beta: FloatArray, target: float, effort: Effort) -> Outcome:
    """A feasible β, and Newton steps from it where few rows are not at rest and the steps gain."""
    measured = _measured(blocks, problem, beta)
    slack = 1.0 - problem.y * (measured.u + measured.b)
    rows = unsettled_rows(problem, beta, slack, rough_margin(beta))
    if not measured.gap < USEFUL_START or not 0 < len(rows) <= min(START_ROWS, START_SHARE * problem.n):
        return measured
    if not effort.affords(len(rows), blocks.width):
        return measured
    working_set = WorkingSet(blocks, problem, rows, beta, effort, measured.u)
    outcome = working_set.run(target, START_STEPS, START_GAIN, measured.gap)
    return outcome if outcome.gap < measured.gap else measured


def _guess_from(problem: HingeDual, outcome: Outcome, largest_gap: float) -> Guess | None:
    """A point taken for a guess; None where its gap says that it foretells nothing."""
    if not outcome.gap < largest_gap:
        return None
    alpha, n = problem.y * outcome.beta, problem.n
    slack = 1.0 - problem.y * (outcome.u + outcome.b)
    free = (alpha > 0) & (alpha < problem.upper) & (np.abs(slack) <= BAND)  # C may have been another one
    return Guess(slack, outcome.beta, free, np.ones((n, 1), dtype=np.float32), np.zeros(n))


def _plain(blocks: KernelBlocks, problem: HingeDual, target: float, effort: Effort) -> Outcome:
    """LIBSVM's loop over all rows, then Newton steps on its support and the rows near the margin."""
    if effort.late() or (blocks.samples is None and not effort.affords(problem.n, blocks.width, False)):
        nothing = np.zeros(problem.n)
        point = problem.point(nothing, nothing)
        return Outcome(nothing, nothing, nothing == 0.0, point.b, point.gap)
    if blocks.samples is None:
        return gram_outcome(blocks, problem, target, effort)
    beta = effort.loop(problem, blocks.samples, LOOP_TOL, float(blocks.kernel.gamma))  # type: ignore[attr-defined]
    outcome = _measured(blocks, problem, beta)
    near = unsettled_rows(problem, beta, 1.0 - problem.y * (outcome.u + outcome.b), max(LOOP_TOL, rough_margin(beta)))
    if effort.late() or not effort.affords(len(near), blocks.width):
        return outcome
    return WorkingSet(blocks, problem, near, beta, effort, outcome.u).run(target)
