"""Run the working-set loop of all machines over parts of one Gram matrix.

The compiled loop goes on until machines of few rows are solved, so that nothing is left to do for most of them, and
gives their u as one sum of products each, as (BULK.1) supposes. Machines of more rows are left at a rough point, from
which `_settle` resumes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.backends.external.libsvm_ import fit_classes, is_available
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.many.multiclass.split import REST, Split
from qpsvm.many.multiclass.stack import Stack

#: Violation of a row at which the loop ends. From here `_settle` needs two rounds, which cost less than three digits of
#: the loop's; ten times as much saves as much in the loop as it takes in `_settle`.
LOOP_TOLERANCE = 1e-2
#: Machines with at most this many rows, and fewer with a linear kernel, whose loop is slow, are looped over to this
#: tolerance, because `_settle` would take longer than the loop.
FINE_LOOP_ROWS, FINE_LOOP_ROWS_LINEAR, FINE_TOLERANCE = 600, 64, 1e-9
#: Iterations of a machine: a number per row, and a constant. Most end at half of that; of those that do not,
#: the loop may take many thousands, where `qpsvm.solve` takes another road.
PER_ROW, BESIDES = 1, 400
#: Those of a machine of few rows.
FINE_ITERATIONS = 5000
#: An α within this share of its bound is at it: of a ν-SVM, whose α are scaled.
AT_BOUND = 1e-9


def can_loop() -> bool:
    """Whether there is a loop: the compiled one, or LIBSVM's, which answers rightly."""
    return core.compiled is not None or is_available()


def run_compiled_loop(
    stack: Stack, K: NDArray[Any], tol: FloatArray, most: int, begins: IntArray, counts: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return α and u, (M,), and the iterations of each machine, (P,), by the compiled loop; negative if unfinished.

    Shapes: K (r, r), tol (P,), begins, counts (P, c).
    """
    signed, iterations = stack.upper * stack.sign, np.zeros(stack.n_machines, dtype=np.int64)
    if stack.nu is None:
        beta, u = np.zeros(len(signed)), stack.sign.copy()
    else:
        beta, u = first_rows(stack) * stack.sign, np.zeros(len(signed))
    core.compiled.loop_over_parts(
        K, begins.astype(np.int64), counts.astype(np.int64), beta, u, np.minimum(signed, 0.0), np.maximum(signed, 0.0),
        tol, iterations, 1 if stack.nu is None else 2, most, None,
    )  # fmt: skip
    return np.abs(beta), u, iterations


def first_rows(stack: Stack) -> FloatArray:
    """α of ν-SVMs, (M,), to begin with: the first rows of each class at their bound, as many as it takes."""
    assert stack.nu is not None
    half, alpha = 0.5 * stack.repeat_over_rows(stack.nu), np.zeros(len(stack.upper))
    for own in (stack.sign > 0.0, stack.sign < 0.0):
        taken = np.where(own, stack.upper, 0.0)
        before = np.cumsum(taken) - taken
        before -= stack.repeat_over_rows(before[stack.ends[:-1]])
        alpha += np.clip(half - before, 0.0, taken)
    return alpha


def few_rows(split: Split) -> int:
    """Rows up to which a machine is looped over to the end."""
    return FINE_LOOP_ROWS_LINEAR if split.kernel_is_linear else FINE_LOOP_ROWS


def tolerances(stack: Stack, largest: float, few: int) -> FloatArray:
    """The violation at which the loop over each machine ends, (P,), for K_ii up to the largest; fine up to few rows."""
    fine = np.where(stack.lengths <= few, FINE_TOLERANCE, LOOP_TOLERANCE)
    return fine if stack.nu is None else fine * largest / stack.lengths  # α is a share of all rows


def loop_points(
    split: Split, stack: Stack, K: FloatArray, upper: FloatArray, largest: int
) -> tuple[FloatArray, FloatArray | None, IntArray] | None:
    """α of all machines, (M,), u where it is known, (M,), and the iterations of each, (P,); none of more rows.

    Shapes: K (r, r), upper (r,).
    """
    most = PER_ROW * int(stack.lengths.max()) + BESIDES
    if core.compiled is not None:
        fine = tolerances(stack, float(K.diagonal().max()), few_rows(split))
        tol = np.where(stack.lengths > largest, np.inf, fine)
        alpha, u, iterations = run_compiled_loop(stack, K, tol, max(most, FINE_ITERATIONS), stack.begins, stack.counts)
        return alpha, u, np.abs(iterations)
    codes, nu = split.codes[split.order], None if stack.nu is None else float(stack.nu.max())
    parts, counts = [], []
    rest = split.pairs[0, 1] == REST
    for classes in [(codes == j).astype(int) for j in split.pairs[:, 0].tolist()] if rest else [codes]:
        found = fit_classes(K, classes, upper, LOOP_TOLERANCE, "precomputed", most, nu)
        if found is None:
            return None
        support, values, iterations = found
        whole = np.zeros((len(values), len(K)))
        whole[:, support] = values
        counts.append(iterations)
        if rest:
            parts.append(whole[0])
            continue
        for p, (i, j) in enumerate(split.pairs.tolist()):
            first, second = stack.slices(p)
            parts += [whole[j - 1, first], whole[i, second]]
    return scaled(stack, np.concatenate(parts)), None, np.concatenate(counts)


def loop_alone(stack: Stack, K: NDArray[Any], tol: float, most: int) -> tuple[FloatArray, int] | None:
    """α (m,) of a stack of one machine over its own matrix (m, m), and its iterations."""
    if core.compiled is not None:
        m = np.array([[len(K)]])
        alpha, _, iterations = run_compiled_loop(stack, K, np.array([tol]), most, np.zeros_like(m), m)
        return alpha, abs(int(iterations[0]))
    nu = None if stack.nu is None else float(stack.nu[0])
    found = fit_classes(
        np.asarray(K, dtype=np.float64), (stack.sign > 0.0).astype(int), stack.upper, tol, "precomputed", most, nu
    )
    if found is None:
        return None
    alpha = np.zeros(len(K))
    alpha[found[0]] = found[1][0]
    return scaled(stack, alpha), int(found[2][0])


def scaled(stack: Stack, alpha: FloatArray) -> FloatArray:
    """Scale LIBSVM's output to its box, (M,); of a ν-SVM it is α/ρ, whose sum is known."""
    if stack.nu is not None:
        alpha = alpha * stack.repeat_over_rows(stack.nu / stack.sums(alpha))
        alpha[alpha > (1.0 - AT_BOUND) * stack.upper] = np.inf
    return np.minimum(alpha, stack.upper)
