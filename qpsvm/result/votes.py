"""Count the votes of one-vs-one machines, and pack their coefficients in scikit-learn's layout.

Pairs (i, j), i < j, are in the order (0, 1), (0, 2), …, (k − 2, k − 1), and values are positive for class i.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray


def find_winners(values: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the index of the class with the most votes, the first one in case of ties: (m,), from values (m, P)."""
    codes: NDArray[np.intp] = _count_votes(values > 0.0, k).argmax(axis=1)
    return codes


def compute_scores(values: FloatArray, k: int) -> FloatArray:
    """Return scikit-learn's score per class, (m, k), from values (m, P): its votes, plus x/(3(|x| + 1)) to break ties.

    x is the sum of the values of its pairs, positive in its favour.
    """
    signs, _ = _build_pair_signs(k)
    scores = values @ signs
    divisors = np.abs(scores)
    divisors += 1.0
    divisors *= 3.0
    scores /= divisors
    scores += _count_votes(values >= 0.0, k)
    return scores


def pack_dual_coef(coef: sp.csr_array, size: FloatArray, codes: IntArray, support: IntArray) -> FloatArray:
    """Return LIBSVM's k − 1 rows of coefficients, (k − 1, s), from those of the pairs.

    A support vector of class i has a coefficient for each other class c, in row c if c < i, and in row c − 1 if c > i.
    Its sign is that of the first class of the pair.

    coef (P, n): Coefficients of the samples in each pair.
    size (P,): Divisor of the coefficients of each pair.
    codes (n,): Index of the class of each sample.
    support (s,): Indices of the support vectors.
    """
    k = int(codes.max()) + 1
    first, second = np.triu_indices(k, 1)
    pairs = np.repeat(np.arange(len(size)), np.diff(coef.indptr))
    sample_class = codes[coef.indices]
    rows = np.where(sample_class == first[pairs], second[pairs] - 1, first[pairs])
    columns = np.empty(len(codes), dtype=np.intp)
    columns[support] = np.arange(len(support))
    packed = np.zeros((k - 1, len(support)))
    packed[rows, columns[coef.indices]] = -coef.data / size[pairs]
    return packed + 0.0  # no negative zeros


@lru_cache(maxsize=32)
def _build_pair_signs(k: int) -> tuple[FloatArray, FloatArray]:
    """Return the signs of the classes in each pair, (P, k), and the number of pairs in which each is second, (k,).

    The sign is +1 for the first class of a pair, −1 for the second, and 0 for all others.
    """
    first, second = np.triu_indices(k, 1)
    signs = np.zeros((len(first), k))
    pairs = np.arange(len(first))
    signs[pairs, first] = 1.0
    signs[pairs, second] = -1.0
    return signs, np.arange(k, dtype=float)  # class j is second in the pairs (0, j), …, (j − 1, j)


def _count_votes(won: NDArray[np.bool_], k: int) -> FloatArray:
    """Return the number of pairs that each class wins, (m, k); `won` (m, P): whether the first class of a pair wins.

    The second class wins all its pairs but those that the first class wins.
    """
    signs, n_second = _build_pair_signs(k)
    votes: FloatArray = won.astype(np.float64) @ signs
    votes += n_second
    return votes
