"""Measure the size of a problem, from which the requirements of backends follow (`measure_size`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qpsvm.backends.requirements import Form, Size
from qpsvm.space.kernels.feature_map import FeatureMap

if TYPE_CHECKING:
    from qpsvm.machines.problem.problem import Problem
    from qpsvm.program.all_in_one import AllInOneDual


def measure_size(problem: Problem, form: Form = "dual") -> Size:
    """Measure the size of a problem: rows, features and nonzero entries of its data, without its Gram matrix.

    form: It matters only for machines that learn several classes in one program.
    """
    svm = problem._dual_structure
    has_feature_map = isinstance(problem.kernel, FeatureMap)
    if svm.classes is not None:
        return _measure_all_in_one(problem, svm.classes, form)
    X = problem.space.samples if has_feature_map else problem.samples
    n = len(problem._active_target)
    entries = X.entries
    samples = 0
    n_all, d = problem.space.samples.shape if has_feature_map else problem.X.shape
    if svm.mix is not None:  # each row combines several samples, and has the entries of all of them
        n, samples = svm.mix.shape
        entries = round(entries / n_all * svm.mix.nnz) if X.is_sparse else n * d
    return Size(n, d, entries, problem.space.is_linear, samples)


def _measure_all_in_one(problem: Problem, dual: AllInOneDual, form: Form) -> Size:
    """Measure one of the QPs of a machine of several classes: its primal is over explicit coordinates."""
    samples, is_linear = problem.space.samples, problem.space.is_linear
    has_coordinates = form == "primal" or is_linear
    width = dual.k * (samples.d if is_linear else dual.n)
    entries = 2 * (dual.k - 1) * (samples.entries if is_linear else dual.n * dual.n)
    return Size(len(dual.row_positions), width if has_coordinates else samples.d, entries, has_coordinates, dual.n)
