"""Points near the optima of all machines, from LIBSVM's loop, for `settle` to go on from."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.backends.libsvm_classes import Loop, fit_classes
from qpsvm.multiclass.split import REST, Split
from qpsvm.multiclass.stack import Stack

#: Violation of a row at which the loop ends. From here `settle` needs two rounds, which cost less than three digits of
#: the loop's; ten times as much saves as much in the loop as it takes in `settle`.
LOOP_TOLERANCE = 1e-2
#: Iterations of a machine: so many for each row, and so many besides. Most end at half of that; of those that do not,
#: the loop may take many thousands, where `qpsvm.solve` takes another road.
PER_ROW, BESIDES = 1, 400
#: A machine of few rows whose split is not found is looped over again, which costs less than `qpsvm.solve` does: to
#: this tolerance, with that many iterations.
FEW_ROWS, FINE_TOLERANCE, FINE_ITERATIONS = 300, 1e-6, 5000


#: An α within this share of its bound is at it: of a ν-SVM, whose α are scaled.
AT_BOUND = 1e-9


def loop_points(
    split: Split, stack: Stack, data: FloatArray, upper: FloatArray, kernel: Loop
) -> tuple[FloatArray, IntArray] | None:
    """α of all machines, (M,), and the iterations of each, (P,).

    Shapes: data (r, d), upper (r,).
    """
    codes, nu = split.codes[split.order], None if stack.nu is None else float(stack.nu.max())
    parts, counts, most = [], [], PER_ROW * int(stack.lengths.max()) + BESIDES
    rest = split.pairs[0, 1] == REST
    for classes in [(codes == j).astype(int) for j in split.pairs[:, 0].tolist()] if rest else [codes]:
        found = fit_classes(data, classes, upper, LOOP_TOLERANCE, kernel, most, nu)
        if found is None:
            return None
        support, values, iterations = found
        whole = np.zeros((len(values), len(data)))
        whole[:, support] = values
        counts.append(iterations)
        if rest:
            parts.append(whole[0])
            continue
        for (i, j), (first, second) in zip(split.pairs.tolist(), stack.slices, strict=True):
            parts += [whole[j - 1, first], whole[i, second]]
    alpha = np.concatenate(parts)
    if stack.nu is not None:
        alpha *= stack.spread(stack.nu / stack.sums(alpha))
        alpha[alpha > (1.0 - AT_BOUND) * stack.upper] = np.inf
    return np.minimum(alpha, stack.upper), np.concatenate(counts)


def again(stack: Stack, p: int, data: FloatArray, kernel: Loop) -> FloatArray | None:
    """α (m,) of one machine of few rows, nearer to the optimum; None of others."""
    part = stack.part(p)
    y, places = stack.sign[part], stack.places[part]
    if len(y) > FEW_ROWS or stack.nu is not None:
        return None
    own = data[places] if kernel.name != "precomputed" else np.ascontiguousarray(data[places[:, None], places])
    upper = stack.upper[part]
    found = fit_classes(own, (y > 0.0).astype(int), upper, FINE_TOLERANCE, kernel, FINE_ITERATIONS)
    if found is None:
        return None
    alpha = np.zeros(len(y))
    alpha[found[0]] = found[1][0]
    return np.minimum(alpha, upper)
