"""Merge equal rows of a kernel dual, and split α over them again (`merge_ties`, `split_ties`).

Tables of counts, codes and rounded measurements have many rows that are equal, label included. Each group of such rows
(ties) is solved as one row:

    (KTIES.1)  the rows i of a group g of equal rows (same x and label y, or same level ℓ and tube ε) enter (KDUAL.1)
               only by their sum Σ_g α_i, which is between 0 and Σ_g C_i
    (KTIES.2)  every α with the same sums has the same objective;  if the rows of a group are filled one after the
               other, at most one of them ends strictly between its bounds

If enough samples x occur with both labels, a ν-SVM needs no solver (`find_cancelling_beta`). ΣU₊ and ΣU₋ are the sums
of the bounds of the rows at x with label +1 and −1, and m is the prescribed sum of all α, half of it per label:

    (KTIES.3)  if Σ_x min(ΣU₊, ΣU₋) ≥ m/2, both labels can have the same Σα at each x, and m/2 in total:  then w(α) = 0,
               and ½‖w(α)‖² cannot be smaller
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.ties import Ties, find_ties
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.solvers.kernel.dual import SUM_TOL, KernelDual

#: Ties are searched for in more rows than this: the search takes a hundredth of the time of the solve.
MIN_ROWS_FOR_TIES = 500
#: Minimum share of the rows that merging must remove to be worth the memory of the merged rows.
MIN_MERGED_SHARE = 0.15


def find_cancelling_beta(X: Matrix, problem: KernelDual) -> FloatArray | None:
    """Return β (n,) of (KTIES.3), with few nonzero entries; None if (KTIES.3) does not hold."""
    ties = find_ties(X)
    assert ties is not None  # it is None only for a `min_share`
    sum_above, sum_below = problem.target_sums
    high = ties.sum_groups(problem.high)  # ΣU₊
    low = -ties.sum_groups(problem.low)  # ΣU₋
    capacity = np.minimum(high, low)
    capacity_before = np.asarray(np.cumsum(capacity, dtype=np.longdouble) - capacity, dtype=float)
    if sum_above != -sum_below or capacity_before[-1] + capacity[-1] < (1.0 - SUM_TOL) * sum_above:
        return None
    sums = np.clip(sum_above - capacity_before, 0.0, capacity)  # Σα of each label: one x after the other is filled
    share_of_high = sums / np.where(high > 0.0, high, 1.0)
    share_of_low = sums / np.where(low > 0.0, low, 1.0)
    return ties.expand_groups(share_of_high) * problem.high + ties.expand_groups(share_of_low) * problem.low


def list_tie_labels(problem: KernelDual) -> list[FloatArray]:
    """List the values, (n,) each, that ties must share besides x, as arguments of `find_ties`."""
    values = [problem.level]
    if problem.is_nu_svm:  # all levels are 0, also those of different classes
        values.append(problem.sign)
    if not isinstance(problem.tube, float):
        values.append(problem.tube)
    return values


def merge_ties(problem: KernelDual, ties: Ties) -> KernelDual:
    """Return the problem with one row per group of ties, whose bounds are the sums over the group."""
    return replace(
        problem.restrict_rows(ties.first_rows), high=ties.sum_groups(problem.high), low=ties.sum_groups(problem.low)
    )


def split_ties(ties: Ties, beta: FloatArray, problem: KernelDual) -> FloatArray:
    """Return β (n,), given its sums over the groups, beta (g,): a group is filled row by row, (KTIES.2)."""
    if problem.has_kink or problem.is_sign_constrained or problem.is_nu_svm:
        positive_part = ties.distribute_alpha(np.maximum(beta, 0.0), problem.high)
        negative_part = ties.distribute_alpha(np.maximum(-beta, 0.0), -problem.low)
        return positive_part - negative_part
    return problem.low + ties.distribute_alpha(beta - ties.sum_groups(problem.low), problem.weight)
