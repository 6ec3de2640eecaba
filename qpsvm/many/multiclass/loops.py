"""Run the working-set loop of all machines over parts of one Gram matrix (`run_loops`), or of one (`run_single_loop`).

The loop is the compiled one of `qpsvm.core`, or that of LIBSVM if there is no compiled core. The compiled loop solves
machines of few rows completely, so that usually nothing is left to do, and returns their u = Kβ, each as one sum of
products, as (BULK.1) supposes; β = α∘y. Machines of more rows are left at a rough point, from which `bulk` continues.
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

#: Violation of the optimality conditions at which the loop ends. The search for the exact optimum needs two rounds from
#: there, which cost less than three more digits of the loop; a tolerance ten times as large saves no time in total.
LOOP_TOLERANCE = 1e-2
#: Machines with at most this many rows, and fewer with a linear kernel, whose loop is slow, are looped over to this
#: tolerance, because the search for the exact optimum would take longer than the loop.
FINE_LOOP_ROWS, FINE_LOOP_ROWS_LINEAR, FINE_TOLERANCE = 600, 64, 1e-9
#: The limit of the iterations of a machine is a multiple of its rows plus a constant. Most machines need half of that;
#: the others may need many thousands, and `qpsvm.solve` has faster methods for them.
ITERATIONS_PER_ROW, BASE_ITERATIONS = 1, 400
#: Least limit of the iterations if machines are looped over to the fine tolerance.
FINE_ITERATIONS = 5000
#: An α within this share of its bound is set to the bound: scaling the α of a ν-SVM rounds them.
AT_BOUND = 1e-9


def has_loop() -> bool:
    """Return whether a loop is available: the compiled one, or LIBSVM's."""
    return core.compiled is not None or is_available()


def limit_iterations(n_rows: int) -> int:
    """Return the limit of the iterations of a machine."""
    return ITERATIONS_PER_ROW * n_rows + BASE_ITERATIONS


def find_max_fine_rows(split: Split) -> int:
    """Return the number of rows up to which a machine is looped over to the fine tolerance."""
    return FINE_LOOP_ROWS_LINEAR if split.is_linear else FINE_LOOP_ROWS


def choose_tolerances(stack: Stack, max_diagonal: float, max_fine_rows: int) -> FloatArray:
    """Return the violation at which the loop over each machine ends, (P,); max_diagonal is the largest K_ii."""
    tol = np.where(stack.row_counts <= max_fine_rows, FINE_TOLERANCE, LOOP_TOLERANCE)
    return tol if stack.nu is None else tol * max_diagonal / stack.row_counts  # α of a ν-SVM is a share of all rows


def run_loops(
    split: Split, stack: Stack, K: FloatArray, upper: FloatArray, max_rows: int
) -> tuple[FloatArray, FloatArray | None, IntArray] | None:
    """Return α of all machines, (M,), u (M,) if it is known, and the iterations of each, (P,); None if a loop fails.

    Machines with more than `max_rows` rows are not looped over.

    K (r, r), upper (r,): The Gram matrix and U of the rows of `Split.order`.
    """
    max_iter = limit_iterations(int(stack.row_counts.max()))
    if core.compiled is None:
        found = _run_libsvm_loops(split, stack, K, upper, max_iter)
        return None if found is None else (found[0], None, found[1])
    tol = choose_tolerances(stack, float(K.diagonal().max()), find_max_fine_rows(split))
    tol = np.where(stack.row_counts > max_rows, np.inf, tol)
    max_iter = max(max_iter, FINE_ITERATIONS)
    alpha, u, iterations = _run_compiled_loops(stack, K, tol, max_iter, stack.slice_starts, stack.slice_lengths)
    return alpha, u, np.abs(iterations)


def run_single_loop(stack: Stack, K: NDArray[Any], tol: float, max_iter: int) -> tuple[FloatArray, int] | None:
    """Return α (m,) of a stack of one machine with its own Gram matrix (m, m), and its iterations."""
    if core.compiled is not None:
        lengths = np.array([[len(K)]])
        alpha, _, iterations = _run_compiled_loops(stack, K, np.array([tol]), max_iter, np.zeros_like(lengths), lengths)
        return alpha, abs(int(iterations[0]))
    classes, nu = (stack.sign > 0.0).astype(int), None if stack.nu is None else float(stack.nu[0])
    fitted = fit_classes(np.asarray(K, dtype=np.float64), classes, stack.upper, tol, "precomputed", max_iter, nu)
    if fitted is None:
        return None
    support, alpha_of_support, libsvm_iterations = fitted
    alpha = np.zeros(len(K))
    alpha[support] = alpha_of_support[0]
    return _scale_to_box(stack, alpha), int(libsvm_iterations[0])


def _run_compiled_loops(
    stack: Stack, K: NDArray[Any], tol: FloatArray, max_iter: int, starts: IntArray, lengths: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return α and u, (M,), and the iterations of each machine, (P,), by the compiled loop; negative if unfinished.

    K (r, r): The Gram matrix; the rows of each machine are the slices `starts`, `lengths` (P, c) of it.
    tol (P,): The violation at which the loop over each machine ends.
    """
    signed_upper, iterations = stack.upper * stack.sign, np.zeros(stack.n_machines, dtype=np.int64)
    if stack.nu is None:
        beta, u = np.zeros(len(signed_upper)), stack.sign.copy()
    else:
        beta, u = _build_nu_start(stack) * stack.sign, np.zeros(len(signed_upper))
    core.compiled.loop_over_parts(
        K, starts.astype(np.int64), lengths.astype(np.int64), beta, u, np.minimum(signed_upper, 0.0),
        np.maximum(signed_upper, 0.0), tol, iterations, 1 if stack.nu is None else 2, max_iter, None,
    )  # fmt: skip
    return np.abs(beta), u, iterations


def _build_nu_start(stack: Stack) -> FloatArray:
    """Return α of ν-SVMs, (M,), to start from: the first rows of each class at their bound, until they sum to ν/2."""
    assert stack.nu is not None
    half, alpha = 0.5 * stack.repeat_over_rows(stack.nu), np.zeros(len(stack.upper))
    for of_class in (stack.sign > 0.0, stack.sign < 0.0):
        upper = np.where(of_class, stack.upper, 0.0)
        preceding = np.cumsum(upper) - upper  # the sum of U over the preceding rows of the class
        preceding -= stack.repeat_over_rows(preceding[stack.row_offsets[:-1]])
        alpha += np.clip(half - preceding, 0.0, upper)
    return alpha


def _run_libsvm_loops(
    split: Split, stack: Stack, K: FloatArray, upper: FloatArray, max_iter: int
) -> tuple[FloatArray, IntArray] | None:
    """Return α of all machines, (M,), and the iterations of each, (P,), by LIBSVM.

    LIBSVM solves all pairs of classes in one call, and each class against the rest in a call of its own.
    """
    codes, nu = split.codes[split.order], None if stack.nu is None else float(stack.nu.max())
    against_rest = bool(split.pairs[0, 1] == REST)
    calls = [(codes == j).astype(int) for j in split.pairs[:, 0].tolist()] if against_rest else [codes]
    alphas, iteration_counts = [], []
    for classes in calls:
        fitted = fit_classes(K, classes, upper, LOOP_TOLERANCE, "precomputed", max_iter, nu)
        if fitted is None:
            return None
        support, alpha_of_support, iterations = fitted
        alpha = np.zeros((len(alpha_of_support), len(K)))
        alpha[:, support] = alpha_of_support
        iteration_counts.append(iterations)
        if against_rest:
            alphas.append(alpha[0])
            continue
        for p, (i, j) in enumerate(split.pairs.tolist()):  # LIBSVM has k − 1 α per sample: one for each other class
            rows_of_i, rows_of_j = stack.list_slices(p)
            alphas += [alpha[j - 1, rows_of_i], alpha[i, rows_of_j]]
    return _scale_to_box(stack, np.concatenate(alphas)), np.concatenate(iteration_counts)


def _scale_to_box(stack: Stack, alpha: FloatArray) -> FloatArray:
    """Clip LIBSVM's α (M,) to its bounds; in a ν-SVM LIBSVM returns α/ρ, which is first scaled to its sum ν."""
    if stack.nu is not None:
        alpha = alpha * stack.repeat_over_rows(stack.nu / stack.sum_by_machine(alpha))
        alpha[alpha > (1.0 - AT_BOUND) * stack.upper] = np.inf
    return np.minimum(alpha, stack.upper)
