"""Points near the optima of all machines, from LIBSVM's loop, for `settle` to go on from."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.backends.libsvm_classes import fit_classes
from qpsvm.multiclass.split import REST, Split
from qpsvm.multiclass.stack import Stack

#: Violation of a row at which the loop ends. From here `settle` needs two rounds, which cost less than three digits of
#: the loop's; ten times as much saves as much in the loop as it takes in `settle`.
LOOP_TOLERANCE = 1e-2


def loop_points(
    split: Split, stack: Stack, data: FloatArray, upper: FloatArray, linear: bool
) -> tuple[FloatArray, IntArray]:
    """α of all machines, (M,), and the iterations of each, (P,).

    Parameters
    ----------
    split : Split
    stack : Stack
    data : ndarray, shape (r, d) or (r, r)
        Samples of a linear kernel, or the Gram matrix, over `Split.order`; C-ordered float64.
    upper : ndarray, shape (r,)
        U.
    linear : bool
        Which of the two `data` is.
    """
    codes = split.codes[split.order]
    parts, counts = [], []
    if split.pairs[0, 1] != REST:
        support, found, iterations = fit_classes(data, codes, upper, LOOP_TOLERANCE, linear)
        whole = np.zeros((split.k - 1, len(data)))
        whole[:, support] = found
        for (i, j), (first, second) in zip(split.pairs.tolist(), stack.slices, strict=True):
            parts += [whole[j - 1, first], whole[i, second]]
        counts.append(iterations)
    else:
        for j in split.pairs[:, 0].tolist():
            support, found, iterations = fit_classes(data, (codes == j).astype(int), upper, LOOP_TOLERANCE, linear)
            alpha = np.zeros(len(data))
            alpha[support] = found[0]
            parts.append(alpha)
            counts.append(iterations)
    return np.minimum(np.concatenate(parts), stack.upper), np.concatenate(counts)
