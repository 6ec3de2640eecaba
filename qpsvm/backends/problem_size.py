"""Measure the size of a problem, from which the requirements of backends follow (`measure_size`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qpsvm.backends.requirements import Size
from qpsvm.space.kernels.feature_map import FeatureMap

if TYPE_CHECKING:
    from qpsvm.machines import Problem


def measure_size(problem: Problem) -> Size:
    """Measure the size of a problem, from which the requirements follow."""
    linear, mapped, svm = problem.space.is_linear, isinstance(problem.kernel, FeatureMap), problem._dual_structure
    X = problem.space.samples if mapped else problem.samples
    n, entries, samples = len(problem._active_target), X.entries, 0
    every, d = problem.space.samples.shape if mapped else problem.X.shape
    if svm.mix is not None:  # a row has the entries of all its samples
        n, samples = svm.mix.shape
        entries = round(entries / every * svm.mix.nnz) if X.is_sparse else n * d
    return Size(n, d, entries, linear, samples)
