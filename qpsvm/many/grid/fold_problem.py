"""Build the problem of one fold, and predict its tested samples from the shared Gram matrix (`FoldProblem`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import check_memory
from qpsvm.machines import Problem
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.many.grid.folds import Fold
from qpsvm.many.grid.scorers import get_target
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.gram import CACHE_ROWS, KernelGram

#: Number of matrices that a fold needs at the same time: of all samples, of the fold, and a copy for the solver.
MATRICES = 3


def share_gram(problem: Problem) -> None:
    """Cache the Gram matrix shared by all folds, if it is that of the kernel and fits into memory."""
    space = problem.space
    if space.is_linear or space.n > CACHE_ROWS or not space.is_plain or not isinstance(space.gram, KernelGram):
        return
    try:
        check_memory(MATRICES * space.n, space.n, "the Gram matrices of the folds")
    except TooLargeError:
        return
    space.gram.dense()


class FoldProblem:
    """The problem of one fold, and its test samples.

    problem: The problem over the training rows.
    """

    def __init__(self, problem: Problem, fold: Fold) -> None:
        self.problem = restrict_to_rows(problem, fold.train)
        self.fold = fold
        self.space = problem.space
        rows = problem.active_rows
        self.train_rows, self.test_rows = rows[fold.train], rows[fold.test]
        self.target = get_target(problem)[self.test_rows]
        X = problem.samples.X[self.test_rows]
        self.X = X[:, self.train_rows] if isinstance(problem.kernel, Precomputed) else X

    @cached
    def _cross_gram(self) -> FloatArray | None:
        """K between test and training rows, (t, k); None if the full matrix is not stored."""
        if self.space.is_linear or not self.space.is_plain or not isinstance(self.space.gram, KernelGram):
            return None
        K = self.space.gram.cached_matrix
        return None if K is None else K[self.fold.test[:, None], self.fold.train]

    def evaluate(self, results: Sequence[SVMResult]) -> Sequence[FloatArray]:
        """Evaluate f at the test samples for each result: (t,), or (t, k) for several classes in one program."""
        if results[0].coef.ndim > 1:
            return [result.decision_function(self.X) for result in results]
        K = self._cross_gram
        values = np.empty((len(self.fold.test), len(results)))
        positions: list[int] = []  # of the results that are evaluated by K, all at once
        columns: list[FloatArray] = []
        for j, result in enumerate(results):
            coef = None if K is None else _collect_coefficients(result)
            if coef is None:
                values[:, j] = result.decision_function(self.X)
            else:
                positions.append(j)
                columns.append(coef)
        if K is not None and columns:
            values[:, positions] = K @ np.column_stack(columns) + [results[j].b for j in positions]
        return list(values.T)


def _collect_coefficients(result: SVMResult) -> FloatArray | None:
    """Return c of f = Kc + b over the training samples, (k,); None if the model is not of this form."""
    support = np.flatnonzero(result.coef)
    if result.model.w is not None or len(support) != len(result.model.coef):
        return None
    coef = np.zeros(len(result.coef))
    coef[support] = result.model.coef
    return coef
