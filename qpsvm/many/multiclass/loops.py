"""Run the working-set loop of all machines over parts of one Gram matrix (`run_loops`), or of one (`run_single_loop`).

The loop is the compiled one of `qpsvm.core`. It solves machines of few rows completely, so that usually nothing is left
to do, and returns their u = Kβ, each as one sum of products, as (BULK.1) supposes; β = α∘y. Machines of more rows are
left at a rough point, from which `bulk` continues.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.many.multiclass.split import Split
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


def run_loops(split: Split, stack: Stack, K: FloatArray, max_rows: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return α and u of all machines, (M,) each, and the iterations of each, (P,).

    Machines with more than `max_rows` rows are not looped over.

    K (r, r): The Gram matrix of the rows of `Split.order`.
    """
    tol = choose_tolerances(stack, float(K.diagonal().max()), find_max_fine_rows(split))
    tol = np.where(stack.row_counts > max_rows, np.inf, tol)
    max_iter = max(limit_iterations(int(stack.row_counts.max())), FINE_ITERATIONS)
    return _run_compiled_loops(stack, K, tol, max_iter, stack.slice_starts, stack.slice_lengths)


def run_single_loop(stack: Stack, K: NDArray[Any], tol: float, max_iter: int) -> tuple[FloatArray, int]:
    """Return α (m,) of a stack of one machine with its own Gram matrix (m, m), and its iterations."""
    lengths = np.array([[len(K)]])
    alpha, _, iterations = _run_compiled_loops(stack, K, np.array([tol]), max_iter, np.zeros_like(lengths), lengths)
    return alpha, int(iterations[0])


def _run_compiled_loops(
    stack: Stack, K: NDArray[Any], tol: FloatArray, max_iter: int, starts: IntArray, lengths: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return α and u, (M,), and the iterations of each machine, (P,), by the compiled loop.

    K (r, r): The Gram matrix; the rows of each machine are the slices `starts`, `lengths` (P, c) of it.
    tol (P,): The violation at which the loop over each machine ends.
    """
    signed_upper = stack.upper * stack.sign
    iterations = np.zeros(stack.n_machines, dtype=np.int64)
    if stack.nu is None:
        beta = np.zeros(len(signed_upper))
        u = stack.sign.copy()
    else:
        beta = _build_nu_start(stack) * stack.sign
        u = np.zeros(len(signed_upper))
    core.compiled.loop_over_parts(
        K, starts.astype(np.int64), lengths.astype(np.int64), beta, u, np.minimum(signed_upper, 0.0),
        np.maximum(signed_upper, 0.0), tol, iterations, 1 if stack.nu is None else 2, max_iter, None,
    )  # fmt: skip
    return np.abs(beta), u, np.abs(iterations)  # negative if unfinished


def _build_nu_start(stack: Stack) -> FloatArray:
    """Return α of ν-SVMs, (M,), to start from: the first rows of each class at their bound, until they sum to ν/2."""
    assert stack.nu is not None
    half = 0.5 * stack.repeat_over_rows(stack.nu)
    alpha = np.zeros(len(stack.upper))
    for of_class in (stack.sign > 0.0, stack.sign < 0.0):
        upper = np.where(of_class, stack.upper, 0.0)
        preceding = np.cumsum(upper) - upper  # the sum of U over the preceding rows of the class
        preceding -= stack.repeat_over_rows(preceding[stack.row_offsets[:-1]])
        alpha += np.clip(half - preceding, 0.0, upper)
    return alpha
