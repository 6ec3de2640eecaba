"""Count the votes of one-vs-one machines, and pack their coefficients in scikit-learn's layout.

The P pairs (i, j), i < j, of k classes are in the order (0, 1), (0, 2), …, (k − 2, k − 1). Values (m, P) are those of m
samples, positive for class i. A value of 0 is a vote for class j in predictions, as in LIBSVM, and for class i in
scores, as in scikit-learn.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray


def find_winners(values: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the index of the class with the most votes, the first one in case of ties: (m,)."""
    winners: NDArray[np.intp] = _count_votes(values > 0.0, k).argmax(axis=1)
    return winners


def compute_scores(values: FloatArray, k: int) -> FloatArray:
    """Return scikit-learn's score of each class, (m, k): its votes, plus x/(3(|x| + 1)) to break ties.

    x is the sum of the values of the class's pairs, each with the sign that is positive for this class.
    """
    scores = values @ _build_pair_signs(k)
    divisors = np.abs(scores)
    divisors += 1.0
    divisors *= 3.0
    scores /= divisors
    scores += _count_votes(values >= 0.0, k)
    return scores


def pack_dual_coef(coef: sp.csr_array, scale: FloatArray, codes: IntArray, support: IntArray) -> FloatArray:
    """Return LIBSVM's k − 1 rows of coefficients, (k − 1, s), from those of the pairs.

    A support vector of class i has a coefficient for each other class c, in row c if c < i, and in row c − 1 if c > i.
    It is positive if i is the first class of the pair: −coef/scale.

    coef (P, n): Coefficients of the samples in each pair, positive for the second class.
    scale (P,): Divisor of the coefficients of each pair.
    codes (n,): Index of the class of each sample.
    support (s,): Indices of the support vectors.
    """
    k = int(codes.max()) + 1
    first, second = np.triu_indices(k, 1)
    pairs = np.repeat(np.arange(len(scale)), np.diff(coef.indptr))
    sample_class = codes[coef.indices]
    rows = np.where(sample_class == first[pairs], second[pairs] - 1, first[pairs])
    columns = np.empty(len(codes), dtype=np.intp)
    columns[support] = np.arange(len(support))
    packed = np.zeros((k - 1, len(support)))
    packed[rows, columns[coef.indices]] = -coef.data / scale[pairs]
    return packed + 0.0  # no negative zeros


@lru_cache(maxsize=32)
def _build_pair_signs(k: int) -> FloatArray:
    """Return the signs of the classes in each pair, (P, k): +1 for the first class, −1 for the second, else 0."""
    first, second = np.triu_indices(k, 1)
    signs = np.zeros((len(first), k))
    pairs = np.arange(len(first))
    signs[pairs, first] = 1.0
    signs[pairs, second] = -1.0
    return signs


def _count_votes(first_wins: NDArray[np.bool_], k: int) -> FloatArray:
    """Return the number of pairs that each class wins, (m, k). Shapes: first_wins (m, P).

    A class wins the pairs in which it is second, except those that the first class wins.
    """
    votes: FloatArray = first_wins.astype(np.float64) @ _build_pair_signs(k)
    votes += np.arange(k)  # class j is second in the j pairs (0, j), …, (j − 1, j)
    return votes
