"""Count the votes of one-vs-one machines, and pack their coefficients in scikit-learn's layout.

Pairs (i, j), i < j, are in the order (0, 1), (0, 2), …, (k − 2, k − 1), and values are positive for class i.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray


@lru_cache(maxsize=32)
def _build_pair_signs(k: int) -> tuple[FloatArray, FloatArray]:
    """Return +1 where a class is the first of a pair, −1 where the second, (P, k); in how many it is second, (k,)."""
    first, second = np.triu_indices(k, 1)
    sides = np.zeros((len(first), k))
    pairs = np.arange(len(first))
    sides[pairs, first], sides[pairs, second] = 1.0, -1.0
    return sides, np.arange(k, dtype=float)


def _count_votes(won: NDArray[np.bool_], k: int) -> FloatArray:
    """Return the number of pairs each class wins: (m, k) from whether the first class of each pair does, (m, P)."""
    sides, seconds = _build_pair_signs(k)
    votes: FloatArray = won.astype(np.float64) @ sides
    votes += seconds
    return votes


def find_winners(values: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the class with the most votes, the first of those where several have as many: (m,) from (m, P)."""
    codes: NDArray[np.intp] = _count_votes(values > 0.0, k).argmax(axis=1)
    return codes


def compute_scores(values: FloatArray, k: int) -> FloatArray:
    """Return a score per class: its votes and, to break ties, less than half of one by the values: (m, k)."""
    total = values @ _build_pair_signs(k)[0]
    sizes = np.abs(total)
    sizes += 1.0
    sizes *= 3.0
    total /= sizes  # above −1/3, below 1/3, in the order of the sums
    total += _count_votes(values >= 0.0, k)
    return total


def pack_dual_coef(coef: sp.csr_array, size: FloatArray, codes: IntArray, support: IntArray) -> FloatArray:
    """Return LIBSVM's k − 1 rows of coefficients, (k − 1, s), from those of the pairs, each in units of a size.

    A support vector of class i has a coefficient for each other class c, in row c where c < i and c − 1 where c > i.
    Its sign is that of the first class of the pair.

    Shapes: coef (P, n), size (P,), codes (n,), support (s,).
    """
    k = int(codes.max()) + 1
    first, second = np.triu_indices(k, 1)
    pairs, own = np.repeat(np.arange(len(size)), np.diff(coef.indptr)), codes[coef.indices]
    rows = np.where(own == first[pairs], second[pairs] - 1, first[pairs])
    columns = np.empty(len(codes), dtype=np.intp)
    columns[support] = np.arange(len(support))
    found = np.zeros((k - 1, len(support)))
    found[rows, columns[coef.indices]] = -coef.data / size[pairs]
    return found + 0.0  # no negative zeros
