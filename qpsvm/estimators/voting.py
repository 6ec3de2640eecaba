"""One-vs-one: how the pairs vote, and how scikit-learn stores their coefficients.

Pairs (i, j), i < j, are in the order (0, 1), (0, 2), …, (k − 2, k − 1), and values here are positive for class i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from qpsvm.arrays.types import FloatArray


def winners(values: FloatArray, k: int) -> NDArray[np.intp]:
    """The class with the most votes, the first of those where several have as many: (m,) from (m, P)."""
    first, second = np.triu_indices(k, 1)
    votes = np.zeros((values.shape[0], k), dtype=np.intp)
    won = values > 0.0
    for p, (i, j) in enumerate(zip(first, second, strict=True)):
        votes[:, i] += won[:, p]
        votes[:, j] += ~won[:, p]
    codes: NDArray[np.intp] = votes.argmax(axis=1)
    return codes


def scores(values: FloatArray, k: int) -> FloatArray:
    """A score for each class, its votes and, to break ties, less than half of one by the values: (m, k)."""
    found: FloatArray = _ovr_decision_function(values < 0.0, -values, k)
    return found


def packed(coef: FloatArray, n_support: NDArray[Any]) -> FloatArray:
    """LIBSVM's k − 1 rows of coefficients, (k − 1, s), from those of the pairs, (P, s).

    A support vector of class i has a coefficient for each other class c, in row c where c < i and c − 1 where c > i.
    Its sign is that of the first class of the pair; of two classes it is that of the second.

    Parameters
    ----------
    coef : ndarray, shape (P, s)
        Positive for the second class of the pair; the support vectors stand class after class.
    n_support : ndarray of int, shape (k,)
    """
    k = len(n_support)
    if k == 2:
        return coef
    ends = np.concatenate([[0], np.cumsum(n_support)])
    rows = np.zeros((k - 1, coef.shape[1]))
    for p, (i, j) in enumerate(zip(*np.triu_indices(k, 1), strict=True)):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        rows[j - 1, of_i] = -coef[p, of_i]
        rows[i, of_j] = -coef[p, of_j]
    return rows + 0.0  # no negative zeros


def unpacked(rows: FloatArray, n_support: NDArray[Any]) -> FloatArray:
    """The coefficients of the pairs, (P, s), positive for the second class, from LIBSVM's rows: undoes `packed`."""
    k = len(n_support)
    if k == 2:
        return rows
    ends = np.concatenate([[0], np.cumsum(n_support)])
    pairs = list(zip(*np.triu_indices(k, 1), strict=True))
    coef = np.zeros((len(pairs), rows.shape[1]))
    for p, (i, j) in enumerate(pairs):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        coef[p, of_i] = -rows[j - 1, of_i]
        coef[p, of_j] = -rows[i, of_j]
    return coef
