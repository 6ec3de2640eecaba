"""Where to begin with many rows: the weights of two subsamples, and how far from them the answer can be.

    (SUB.1)  two disjoint stratified subsamples, C weighted up, give W₁, W₂;  W = ½(W₁ + W₂)
    (SUB.2)  τ = 4·½ rms(Z(W₁ − W₂)):  half the difference has the standard error of the margins at W
    (SUB.3)  from the solution W, α of a neighbouring problem:  the least τ with C̄ N_τ τ = 36 (P − D)

The mean in (SUB.2) is over the rows of the subsamples, so that neither needs a pass over all rows. (SUB.3) is the τ
that (WORK.3) leaves as it is, with N_τ, the rows with |1 − m| ≤ τ, counted in a sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.solvers.linear.augmented_lagrangian import AugmentedLagrangian
from qpsvm.solvers.linear.hinge_problem import HingeProblem, Start
from qpsvm.solvers.shared.stopping import Budget

#: The two subsamples together: at least this, at least this many rows a column …
SAMPLE_ROWS, SAMPLE_PER_COLUMN = 4000, 20
#: … and of each class, where it has so many.
SAMPLE_PER_CLASS = 100
#: A subsample is solved to a gap of this share of d/n₀ (its statistical error), within the limits.
SAMPLE_GOAL, SAMPLE_GOAL_LIMITS = 0.2, (1e-5, 1e-2)
#: Rows in which N_τ of (SUB.3) is counted, and the number there: (WORK.3) squared.
COUNTED_ROWS, CAPACITY = 20_000, 36.0
#: τ in (SUB.2), in standard errors.
STANDARD_ERRORS = 4.0


@dataclass(frozen=True, eq=False)
class Estimate:
    """W (d + 1,) of (SUB.1) and τ of (SUB.2)."""

    W: FloatArray
    tau: float


def sample_size(n: int, d: int) -> int:
    """n₀: rows in both subsamples, so that solving them costs about as much as the band that they leave."""
    return 2 * (int(max(SAMPLE_ROWS, SAMPLE_PER_COLUMN * (d + 1), (2.0 * n * np.sqrt(d)) ** (2 / 3))) // 2)


def estimate(problem: HingeProblem, first: Start, budget: Budget) -> Estimate:
    """(SUB.1) and (SUB.2) for (ALM.1) with h = 0, both subsamples begun at `first`."""
    rows = problem.rows
    n0 = sample_size(rows.n, rows.d)
    goal = float(np.clip(SAMPLE_GOAL * rows.d / n0, *SAMPLE_GOAL_LIMITS))
    parts, found = [], []
    for index, weight in _subsamples(rows.y, n0):
        upper = weight * (problem.upper if isinstance(problem.upper, float) else problem.upper[index])
        part = HingeProblem(rows.select(index), upper, problem.ridge, problem.offset)
        run = AugmentedLagrangian(part, Start(first.W, None, float(upper.mean())), budget, "subsample")
        found.append(run.run(goal, certify=False)[0].W)
        parts.append(part.rows)
    changes = np.concatenate([part.margins(found[0] - found[1]) for part in parts])
    tau = STANDARD_ERRORS * 0.5 * float(np.sqrt(changes @ changes / len(changes)))
    return Estimate(0.5 * (found[0] + found[1]), tau)


def nearby(problem: HingeProblem, W: FloatArray, alpha: FloatArray) -> Estimate:
    """(SUB.3), in one pass."""
    hinge, product, distances = 0.0, 0.0, []
    step = max(1, problem.rows.n // COUNTED_ROWS)

    def visit(block: slice, m: FloatArray) -> FloatArray:
        nonlocal hinge, product
        slack, a = 1.0 - m, alpha[block].copy()
        upper = problem.upper if isinstance(problem.upper, float) else problem.upper[block]
        hinge += float((upper * np.maximum(slack, 0.0)).sum())
        product += float(a @ slack)
        distances.append(np.abs(slack[::step]))
        return a

    missing = problem.ridge * W - problem.rows.scan(W, visit)
    weighted, rest = (missing[:-1], missing[-1]) if problem.ridge[-1] == 0.0 else (missing, 0.0)
    gap = 0.5 * float(weighted @ weighted) + (1.0 + abs(float(W[-1]))) * abs(float(rest)) + max(hinge - product, 0.0)
    sample = np.sort(np.concatenate(distances))
    capacity = float(np.mean(problem.upper)) * problem.rows.n / len(sample) * np.arange(1, len(sample) + 1) * sample
    return Estimate(W, float(sample[min(int(np.searchsorted(capacity, CAPACITY * gap)), len(sample) - 1)]))


def _subsamples(y: FloatArray, n0: int) -> list[tuple[IntArray, FloatArray]]:
    """Two disjoint index sets (n₀/2,) with the classes in proportion, and the factor of C for each of their rows."""
    generator = np.random.default_rng(0)
    halves: list[list[IntArray]] = [[], []]
    weights: list[list[FloatArray]] = [[], []]
    positive = y > 0
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        size = min(len(members), max(n0 * len(members) // len(y), SAMPLE_PER_CLASS))
        drawn = members[generator.choice(len(members), size, replace=False)]
        for half in (0, 1):
            part = drawn[half::2] if size > 1 else drawn
            halves[half].append(part)
            weights[half].append(np.full(len(part), len(members) / max(1, len(part))))
    result = []
    for half in (0, 1):
        index = np.concatenate(halves[half])
        order = np.argsort(index)
        result.append((index[order], np.concatenate(weights[half])[order]))
    return result
