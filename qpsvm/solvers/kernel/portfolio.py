"""Solve the dual of a kernel SVM (`solve_kernel`).

What is tried in which order is in `engines`. Equal rows with equal targets are made one first. A ν-SVR of many rows is
a search for the width of its tube (`find_tube_start`). What could not be done is said in `reason`.

The engines measure distances in units of a margin, which is 1 for hinges. Of other machines targets, tube and β are
divided by the spread of the targets first; for novelty, where f is compared with nothing but itself, β by its total.

ν-SVR of many rows: ε-SVRs, until one has nearly the Σ|β| that is asked for.

    (KTUBE.1)  Σ|β| of the ε-SVR falls as ε grows, and β is piecewise linear in ε
    (KTUBE.2)  so between two values of ε that lie near each other and on both sides, the point in between with
               Σ|β| = m is feasible, and nearly the solution;  its u is that combination of theirs

The first ε is that of a part of the rows, every ε-SVR starts from the one before, and Newton steps with both sums fixed
go on from (KTUBE.2).

Equal rows of equal label made one: tables of counts, codes and rounded measurements have many.

    (KTIES.1)  rows i ∈ g with the same x and y, or ℓ and ε, enter (KDUAL.1) by Σ_g α_i alone, which lies between 0 and
               Σ_g C_i
    (KTIES.2)  any α with that sum is as good; filled up one after the other, at most one of them ends inside its bounds

The gap does not change, and the support is as small as it can be.

Equal rows of both labels, which are all that a ν-SVM needs where there are enough of them:

    (KTIES.3)  where Σ_x min(ΣU₊, ΣU₋) ≥ m/2 over the rows x, the labels may have the same Σα at each, and m/2 in all:
               w(α) = 0, and nothing is less
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.ties import Ties, find_ties
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import ParameterError
from qpsvm.solvers.kernel.dual import UNMET, DualPoint, Edges, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import SETTINGS as ENGINE_SETTINGS
from qpsvm.solvers.kernel.engines import EngineSearch
from qpsvm.solvers.kernel.newton_step import EXACT_ROWS
from qpsvm.solvers.shared.stopping import StopReason
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Precomputed


@dataclass(frozen=True)
class PortfolioSettings:
    """Constants of the search."""

    #: Rows that say what the first ε is.
    part: int = 500
    #: The gap of each ε-SVR.
    gap: float = 1e-4
    #: A point whose relative gap is below this says what the first ε is.
    trusted_gap: float = 0.05
    #: The two sides are near each other where their Σ|β| differ by this share of m; and so many ε-SVRs at most.
    near: float = 0.03
    most: int = 10
    #: A step from one side goes so many times as far as the residuals say, or the two last ε: beyond m, because u
    #: follows. But it is at least and at most such a share of ε, and besides: an ε that is hardly anything, in units of
    #: the spread of the targets.
    beyond: float = 1.5
    least: float = 0.2
    largest: float = 3.0
    hardly: float = 2e-3
    #: A step within a bracket stays away from its ends by this share of its width; by its square where an end is near.
    inset: float = 0.05


SETTINGS = PortfolioSettings()


def find_tube_start(
    blocks: KernelBlocks, problem: KernelDual, effort: Effort, start: DualPoint | None = None
) -> tuple[FloatArray, FloatArray] | None:
    """Find rough β and u, (n,), by (KTUBE.2); None if time runs out or the search fails.

    Where no tube is needed, (KDUAL.8), β is that of ε = 0, with a smaller Σ|β|.
    """
    assert problem.mass is not None
    tube = _estimate_first_tube(blocks, problem, effort) if start is None else start.tube
    below: _TriedTube | None = None  # Σ|β| > m
    above: _TriedTube | None = None
    point, tries = start, list[_TriedTube]()
    for _ in range(SETTINGS.most):
        if not 0.0 <= tube < np.inf:  # of a point with numbers beyond all floats
            return None
        engines = EngineSearch(blocks, problem.with_tube(Edges(0.0, tube)), SETTINGS.gap, effort)
        engines.run("auto", None if point is None else point.beta, None if point is None else point.u)
        point = engines.best_point
        if engines.engine_used == "none" or effort.is_late():
            return None
        tried = _TriedTube(tube, float(np.abs(point.beta).sum()), point)
        tries.append(tried)
        if tried.mass >= problem.mass:
            below = tried
        if tried.mass <= problem.mass:
            above = tried
        effort.report("tube", problem.n, point.gap)
        if below is not None and above is not None and below.mass - above.mass <= SETTINGS.near * problem.mass:
            return _interpolate_start(below, above, problem.mass)
        if below is None and tube == 0.0:
            return point.beta, point.u
        tube = _choose_next_tube(problem, below, above, tries)
    return None if below is None or above is None else _interpolate_start(below, above, problem.mass)


def _estimate_first_tube(blocks: KernelBlocks, problem: KernelDual, effort: Effort) -> float:
    """ε of f = 0; of many rows that of a part of them, with their penalties raised to the sum of all."""
    if problem.n <= SETTINGS.part:
        return problem.compute_edges(np.zeros(problem.n)).tube
    rows = np.sort(np.random.default_rng(0).permutation(problem.n)[: SETTINGS.part])
    share = float(problem.high[rows].sum()) / float(problem.high.sum())
    part, own = (
        problem.restrict_rows(rows).scale_by(1.0 / share),
        KernelBlocks(blocks.kernel, blocks.X[rows], blocks.compute_symmetric(rows)),
    )
    found = find_tube_start(own, part, effort)
    return part.compute_edges(np.zeros(part.n) if found is None else found[1]).tube


@dataclass(frozen=True, eq=False)
class _TriedTube:
    """An ε-SVR: its ε, its Σ|β|, and its solution."""

    tube: float
    mass: float
    point: DualPoint


def _choose_next_tube(
    problem: KernelDual, below: _TriedTube | None, above: _TriedTube | None, tried: list[_TriedTube]
) -> float:
    """Choose the next ε: between two tried values, or beyond one of them."""
    assert problem.mass is not None
    last = tried[-1]
    if below is not None and above is not None:
        close, goal = 0.5 * SETTINGS.near * problem.mass, problem.mass
        if goal - above.mass <= close:  # the other side is to come near, too
            goal += 0.5 * close
        elif below.mass - goal <= close:
            goal -= 0.5 * close
        share = (below.mass - goal) / (below.mass - above.mass)
        inset = SETTINGS.inset if goal == problem.mass else SETTINGS.inset**2
        return below.tube + min(max(share, inset), 1.0 - inset) * (above.tube - below.tube)
    if below is None and last.tube <= SETTINGS.hardly:
        return 0.0
    step = problem.compute_edges(last.point.u).tube - last.tube  # what the residuals say
    if len(tried) > 1 and tried[-2].mass != last.mass:
        step = (problem.mass - last.mass) * (last.tube - tried[-2].tube) / (last.mass - tried[-2].mass)
    least, most = SETTINGS.least * last.tube + SETTINGS.hardly, SETTINGS.largest * last.tube + SETTINGS.hardly
    far = min(max(SETTINGS.beyond * abs(step), least), most)
    return last.tube + far if below is not None else max(last.tube - far, 0.0)


def _interpolate_start(below: _TriedTube, above: _TriedTube, mass: float) -> tuple[FloatArray, FloatArray]:
    """Interpolate β and u by (KTUBE.2)."""
    share = (below.mass - mass) / (below.mass - above.mass) if below.mass > above.mass else 0.0
    first, last = below.point, above.point
    return first.beta + share * (last.beta - first.beta), first.u + share * (last.u - first.u)


#: From this many rows on equal ones are looked for: that takes a hundredth of the time of the whole. And the share of
#: rows that must go for it to be worth a second set of arrays.
TIES_FROM, WORTHWHILE = 500, 0.15

Engine = Literal["auto", "gram", "libsvm"]
ENGINES = ("auto", "gram", "libsvm")

#: Rows whose kernel values say how much f of a novelty machine varies.
SAMPLED = 100
#: The margin of a ν-SVM in spreads of f, roughly: its classes overlap.
MARGIN = 0.03
#: What rounding may make of Σ|β|, as a share of the most that it can be.
ALL = 1e-9
#: A spread below this share of the largest number that it is made of is rounding.
NO_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """What a kernel engine returns.

    beta (n,): Feasible, its sum up to rounding.
    b, tube: The intercept; and ε where it is a variable.
    u (n,): Kβ: in double precision where it matters, and to about seven digits in rows that lie strictly on
        their right side and contribute nothing to the gap.
    gap: Relative gap (KDUAL.4) over all rows.
    engine: Which one found the point: of `ENGINES`, "start", "equal rows" (KTIES.3), or "none" where time ran out
        before any began.
    iterations: Of LIBSVM's loop plus Newton steps.
    reason: "converged", "iteration_limit", "time_limit", "interrupted" or "numerical_error".
    """

    beta: FloatArray
    b: float
    u: FloatArray
    gap: float
    engine: str
    iterations: int
    reason: StopReason
    tube: float = 0.0


def solve_kernel(
    blocks: KernelBlocks,
    problem: KernelDual,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
    start: FloatArray | None = None,
    engine: Engine = "auto",
    brief: bool = False,
) -> KernelSolution:
    """Solve (KDUAL.1) or (KDUAL.7); `brief` where others go on from what takes long.

    Shapes: start (n,). Raises ParameterError.
    """
    if engine not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    effort = Effort(time_limit, max_iter, verbose)
    with np.errstate(all="ignore"):
        rows = not isinstance(blocks.kernel, Precomputed)  # those of a matrix that was repaired are no samples
        even = _find_meeting_point(blocks.X, problem) if problem.is_nu_svm and engine == "auto" and rows else None
        if even is not None:
            return KernelSolution(even, 0.0, np.zeros(problem.n), 0.0, "equal rows", 0, "converged")
        worth = blocks.is_fast and blocks.full_matrix is None and problem.n > TIES_FROM
        ties = find_ties(blocks.X, *_list_tie_labels(problem), least=WORTHWHILE) if worth else None
        if ties is None:
            point, used = _solve(blocks, problem, start, engine, tol, effort, brief)
        else:
            fewer = KernelBlocks(blocks.kernel, blocks.X[ties.rows])
            start = None if start is None else ties.sum_groups(start)
            point, used = _solve(fewer, _merge_ties(problem, ties), start, engine, tol, effort)
            point = replace(point, beta=_split_ties(ties, point.beta, problem), u=ties.expand_groups(point.u))
    steps, reason = effort.iterations + effort.newton_steps, effort.find_stop_reason(point.gap <= tol)
    return KernelSolution(point.beta + 0.0, point.b, point.u, point.gap, used, steps, reason, point.tube)


def _solve(
    blocks: KernelBlocks,
    problem: KernelDual,
    start: FloatArray | None,
    engine: str,
    tol: float,
    effort: Effort,
    brief: bool = False,
) -> tuple[DualPoint, str]:
    """Return the best point, in the units of the problem, and the engine that found it."""
    if problem.is_standard_hinge:
        engines = EngineSearch(blocks, problem, tol, effort)
        engines.run(engine, None if start is None else problem.make_feasible(start))
        return engines.best_point, engines.engine_used
    alike = not (problem.total_penalty > 0.0 and (problem.level != problem.level[0]).any())
    if alike and not (problem.total or problem.is_nu_svm):
        return problem.with_tube(Edges(0.0)).build_zero_point(), "none"  # β = 0, and b is what all targets are
    unit = choose_unit(blocks, problem)
    middle = problem.n // 2
    whole = problem.total != 0.0 or problem.is_nu_svm
    shift = 0.0 if whole else float(np.partition(problem.level, middle)[middle])  # moves b alone
    scaled = KernelDual(
        problem.high / unit, (problem.level - shift) / unit, problem.low / unit, problem.tube / unit,
        total=problem.total / unit, mass=None if problem.mass is None else problem.mass / unit,
    )  # fmt: skip
    first = None if start is None else scaled.make_feasible(start / unit)
    if not scaled.has_kink or scaled.mass is None:
        engines = EngineSearch(blocks, scaled, tol, effort)
        engines.brief = brief
        engines.run(engine, first)
    else:
        engines = _solve_with_tube(blocks, scaled, first, engine, tol, effort)
    best = engines.best_point
    beta = np.where(best.beta >= scaled.high, problem.high, np.minimum(unit * best.beta, problem.high))
    beta = np.where(best.beta <= scaled.low, problem.low, np.maximum(beta, problem.low))  # at a bound stays there
    point = replace(best, beta=beta, u=unit * best.u, b=unit * best.b + shift, tube=unit * best.tube)
    return point, engines.engine_used


def _solve_with_tube(
    blocks: KernelBlocks, problem: KernelDual, first: FloatArray | None, engine: str, tol: float, effort: Effort
) -> EngineSearch:
    """(KDUAL.7), or the ε-SVR with ε = 0 where that needs no more than m: (KDUAL.8)."""
    assert problem.mass is not None
    engines, flat = (
        EngineSearch(blocks, problem, tol, effort),
        EngineSearch(blocks, problem.with_tube(Edges(0.0)), tol, effort),
    )
    if problem.mass >= (1.0 - ALL) * problem.total_penalty:
        flat.run(engine, first)
        return flat
    known = None if first is None else engines.measure_point(first)
    if engine != "auto" or problem.n <= ENGINE_SETTINGS.slow_gram_rows or blocks.full_matrix is not None:
        engines.brief = engine == "auto"
        engines.run(engine, first)
        known = engines.best_point
    if engines.has_ended() or engine != "auto":
        return engines
    useful = known is not None and known.gap < SETTINGS.trusted_gap
    found = find_tube_start(blocks, problem, effort, known if useful else None)
    engines.brief = False
    if found is not None and np.abs(found[0]).sum() < (1.0 - ALL) * problem.mass:
        flat.run(engine, *found)
        return flat
    engines.run(engine, *((None, None) if found is None else (problem.make_feasible(found[0]), found[1])))
    if engines.has_ended():
        return engines
    flat.run(engine, None)
    needs = float(np.abs(flat.best_point.beta).sum())
    return flat if needs <= (1.0 + ALL) * problem.mass and flat.best_point.gap < engines.best_point.gap else engines


def choose_unit(blocks: KernelBlocks, problem: KernelDual) -> float:
    """Choose the unit of the problem in which the engines compute."""
    target = problem.level
    spread = _compute_spread(target)
    if spread > NO_SPREAD * float(np.abs(target).max(initial=0.0)) and not problem.total:
        return spread
    if problem.total or problem.is_nu_svm:
        total, shares = problem.mass or problem.total, problem.sign if problem.is_nu_svm else np.ones(problem.n)
        if problem.n <= EXACT_ROWS:  # the engine makes the whole matrix anyhow
            K, level = blocks.all(), problem.level
            own = K.diagonal()
        else:
            rows = _sample_rows(problem.n)
            K, level, own = blocks.compute_block(rows, rows[:SAMPLED]), problem.level[rows], blocks.diagonal(rows)
            shares = shares[rows[:SAMPLED]]
        f = level - total / len(shares) * (K @ shares)
        spread, size = _compute_spread(f), abs(total) * float(np.maximum.reduce(np.abs(own)))
        share = MARGIN if problem.is_nu_svm else 1.0
        return share * (spread if spread > NO_SPREAD * size else size or 1.0)
    return max(float(np.abs(target).max(initial=0.0)), float(np.max(problem.tube))) or 1.0


@lru_cache(maxsize=64)
def _sample_rows(n: int) -> IntArray:
    """Draw at most `2 * SAMPLED` of n rows, always the same: (k,)."""
    return freeze(np.random.default_rng(0).permutation(n)[: 2 * SAMPLED].copy())


def _compute_spread(values: FloatArray) -> float:
    """Compute the standard deviation of numbers (n,) whose squares may overflow."""
    size = float(np.maximum.reduce(np.abs(values), initial=0.0))
    if not size > 0.0:
        return 0.0
    apart = values / size
    apart -= np.add.reduce(apart) / len(apart)
    return size * math.sqrt(float(apart @ apart) / len(apart))


def _find_meeting_point(X: Matrix, problem: KernelDual) -> FloatArray | None:
    """(KTIES.3): β (n,), of few of the rows x; None where equal rows of both labels have less."""
    ties, (plus, minus) = find_ties(X), problem.target_sums
    assert ties is not None
    high, low = ties.sum_groups(problem.high), -ties.sum_groups(problem.low)
    shared = np.minimum(high, low)
    before = np.asarray(np.cumsum(shared, dtype=np.longdouble) - shared, dtype=float)
    if plus != -minus or before[-1] + shared[-1] < (1.0 - UNMET) * plus:
        return None
    each = np.clip(plus - before, 0.0, shared)
    shares = [each / np.where(end > 0.0, end, 1.0) for end in (high, low)]
    return ties.expand_groups(shares[0]) * problem.high + ties.expand_groups(shares[1]) * problem.low


def _list_tie_labels(problem: KernelDual) -> list[FloatArray]:
    """List the values, (n,) each, that tied rows share besides x; levels of a ν-SVM do not separate its classes."""
    sides = [problem.sign] if problem.is_nu_svm else []
    return [problem.level, *sides, *([] if isinstance(problem.tube, float) else [problem.tube])]


def _merge_ties(problem: KernelDual, ties: Ties) -> KernelDual:
    return replace(
        problem.restrict_rows(ties.rows), high=ties.sum_groups(problem.high), low=ties.sum_groups(problem.low)
    )


def _split_ties(ties: Ties, beta: FloatArray, problem: KernelDual) -> FloatArray:
    """β (n,) from its sums over the groups (g,): filled up one after the other, from the end where nothing is."""
    if problem.has_kink or problem.is_sign_constrained or problem.is_nu_svm:
        up = ties.distribute_alpha(np.maximum(beta, 0.0), problem.high)
        return up - ties.distribute_alpha(np.maximum(-beta, 0.0), -problem.low)
    return problem.low + ties.distribute_alpha(beta - ties.sum_groups(problem.low), problem.weight)
