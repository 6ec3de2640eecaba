"""Measure the size of a problem, from which the requirements of backends follow (`measure_size`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qpsvm.backends.requirements import Size
from qpsvm.space.kernels.feature_map import FeatureMap

if TYPE_CHECKING:
    from qpsvm.machines import Problem


def measure_size(problem: Problem) -> Size:
    """Measure the size of a problem: rows, features and nonzero entries of its data, before the dual is built."""
    svm, has_feature_map = problem._dual_structure, isinstance(problem.kernel, FeatureMap)
    X = problem.space.samples if has_feature_map else problem.samples
    n, entries, samples = len(problem._active_target), X.entries, 0
    n_all, d = problem.space.samples.shape if has_feature_map else problem.X.shape
    if svm.mix is not None:  # each row combines several samples, and has the entries of all of them
        n, samples = svm.mix.shape
        entries = round(entries / n_all * svm.mix.nnz) if X.is_sparse else n * d
    return Size(n, d, entries, problem.space.is_linear, samples)
