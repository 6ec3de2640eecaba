"""Where to begin with many rows: the weights of two subsamples, and how far from them the answer can be.

    (SUB.1)  two disjoint stratified subsamples, C weighted up, give W₁, W₂;  W = ½(W₁ + W₂)
    (SUB.2)  τ = 4·½ rms(Z(W₁ − W₂)):  half the difference has the standard error of the margins at W
    (SUB.3)  from the solution W, α of a neighbouring problem:  the least τ with C̄ N_τ τ = 36 (P − D)

The mean in (SUB.2) is over the rows of the subsamples, so that neither needs a pass over all rows. (SUB.3) is the τ
that (WORK.3) would leave as it is. N_τ, the number of rows at most τ from a kink, is estimated from a sample.

Of a team each member draws its share of each class, so that all have the rows that one of them alone could have drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.communicator import Team
from qpsvm.data.rows.source import in_order
from qpsvm.program.losses import per_row
from qpsvm.solvers.linear.augmented_lagrangian import AugmentedLagrangian
from qpsvm.solvers.linear.row_problem import RowProblem, Start
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.shared.stopping import Budget


@dataclass(frozen=True, eq=False)
class Estimate:
    """W (d + 1,) of (SUB.1) and τ of (SUB.2)."""

    W: FloatArray
    tau: float


def sample_size(n: int, d: int) -> int:
    """n₀: rows in both subsamples, so that solving them costs about as much as the band that they leave."""
    least = max(SETTINGS.sample_rows, SETTINGS.sample_per_column * (d + 1))
    return 2 * (int(max(least, (2.0 * n * np.sqrt(d)) ** (2 / 3))) // 2)


def estimate(problem: RowProblem, first: Start, budget: Budget) -> Estimate:
    """(SUB.1) and (SUB.2) for (ALM.1), both subsamples begun at `first`."""
    rows = problem.rows
    n0 = sample_size(rows.total, rows.d)
    goal = float(np.clip(SETTINGS.sample_goal * rows.d / n0, *SETTINGS.sample_goal_limits))
    parts, found = [], []
    drawn = _subsamples(rows.y, n0, rows.team)
    for (index, weight), selected in zip(drawn, rows.selections([index for index, _ in drawn]), strict=True):
        losses = problem.losses.part(index).times(per_row(weight) if rows.team.alone else weight)
        part = RowProblem(selected, losses, problem.ridge, problem.offset)
        run = AugmentedLagrangian(part, Start(first.W, None, losses.first_sigma), budget, "subsample")
        found.append(run.run(goal, certify=False)[0].W)
        parts.append(part.rows)
    changes = np.concatenate([part.margins(found[0] - found[1]) for part in parts])
    squares, count = rows.team.sums(float(changes @ changes), len(changes))
    tau = SETTINGS.standard_errors * 0.5 * float(np.sqrt(squares / count))
    return Estimate(0.5 * (found[0] + found[1]), tau)


def nearby(problem: RowProblem, W: FloatArray, alpha: FloatArray) -> Estimate:
    """(SUB.3), in one pass."""
    found: dict[int, tuple[FloatArray, float]] = {}
    rows = problem.rows
    step = max(1, rows.total // SETTINGS.counted_rows)

    def visit(block: slice, m: FloatArray) -> FloatArray:
        losses, a = problem.losses.of(block), alpha[block].copy()
        slack = losses.residuals(m)
        found[block.start] = losses.distance(slack)[::step], losses.mismatch(a, slack)
        return a

    own = rows.own_scan(W, visit)
    distances = np.concatenate([np.empty(0), *(distance for distance, _ in in_order(found))])
    pull, mismatch = rows.team.sums(own, sum(mismatch for _, mismatch in in_order(found)))
    pull = pull + problem.offset
    residual, complementarity, _ = problem.measures(float(W[-1]), problem.ridge * W - pull, pull, mismatch)
    sample = np.sort(rows.team.joined(distances))
    capacity = problem.losses.jump * rows.total / len(sample) * np.arange(1, len(sample) + 1) * sample
    wanted = SETTINGS.capacity * (residual + complementarity)
    return Estimate(W, float(sample[min(int(np.searchsorted(capacity, wanted)), len(sample) - 1)]))


def _subsamples(y: FloatArray, n0: int, team: Team) -> list[tuple[IntArray, FloatArray]]:
    """Two disjoint index sets (n₀/2,) with the classes in proportion, and the factor of C for each of their rows.

    Where a team has the rows, these are the places of this member's part of them.
    """
    generator = np.random.default_rng(team.rank)
    halves: list[list[IntArray]] = [[], []]
    weights: list[list[FloatArray]] = [[], []]
    positive = y > 0
    classes = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    counts = team.joined(np.array([[len(members) for members in classes]]))  # (members of the team, 2)
    total = int(counts.sum())
    for members, before in zip(classes, _before(counts), strict=True):
        here, everyone = slice(team.rank, team.rank + 2), int(before[-1])
        size = min(everyone, max(n0 * everyone // total, SETTINGS.sample_per_class))
        first, last = (size * before[here] // max(1, everyone)).tolist()  # of the rows drawn, those of this member
        drawn = members[generator.choice(len(members), last - first, replace=False)]
        for half in (0, 1):
            part = drawn[(half - first) % 2 :: 2] if size > 1 else drawn
            halves[half].append(part)
            taken = (size + 1 - half) // 2 if size > 1 else size
            weights[half].append(np.full(len(part), everyone / max(1, taken)))
    result = []
    for half in (0, 1):
        index = np.concatenate(halves[half])
        order = np.argsort(index)
        result.append((index[order], np.concatenate(weights[half])[order]))
    return result


def _before(counts: IntArray) -> IntArray:
    """For each class how many of its rows the members before each one have, and all: (2, P + 1) from (P, 2)."""
    return np.vstack([np.zeros((1, 2), dtype=counts.dtype), np.cumsum(counts, axis=0)]).T
