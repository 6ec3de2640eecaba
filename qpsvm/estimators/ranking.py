"""Define `RankingSVM`, which learns scores that order samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from qpsvm.base.arrays.checks import as_positive
from qpsvm.base.errors import DataError
from qpsvm.data.kinds import is_table
from qpsvm.estimators.base import fit_atomically
from qpsvm.estimators.callbacks import with_fit_callbacks
from qpsvm.estimators.kernel_machine import SingleMachine
from qpsvm.estimators.parameter_table import PARAMETERS, ParameterInfo
from qpsvm.estimators.targets import check_targets, check_weights
from qpsvm.machines import Ranking
from qpsvm.many.grid.ordered_pairs import count_ordered_pairs


class RankingSVM(SingleMachine):
    """Ranking support vector machine with a certified gap: f(x_i) should be at least f(x_j) + 1 if i is better than j.

    See Also
    --------
    qpsvm.Ranking : The problem itself.

    References
    ----------
    Joachims, *Optimizing search engines using clickthrough data*, KDD (2002).

    Examples
    --------
    >>> from qpsvm.estimators import RankingSVM
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]], [1, 2, 3, 3]
    >>> machine = RankingSVM().fit(X, y)
    >>> print(machine.predict(X).round(6), machine.score(X, y), machine.gap_ <= 1e-6)
    [-0.333333  0.666667  1.666667  2.333333] 1.0 True
    """

    _problem_class, _parameter_names = Ranking, ("C",)
    _parameter_overrides: ClassVar[Mapping[str, ParameterInfo]] = {
        "C": ParameterInfo("float", "Penalty of slack of a pair, positive.", 1.0, as_positive),
        "kernel": replace(PARAMETERS["kernel"], default="linear"),
    }
    _attribute_names: ClassVar[tuple[str, ...]] = (*SingleMachine._attribute_names, "pairs_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @with_fit_callbacks
    @fit_atomically
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the machine, and certify how close to its optimum it is.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (n, d)
            Samples in rows; the (n, n) kernel matrix of a precomputed kernel.
        y : array_like, shape (n,)
            How good each sample is.
        sample_weight : array_like, shape (n,), optional
            A pair has the penalty C s_i s_j.
        groups : array_like, shape (n,), optional
            Only samples of the same group are compared.

        Returns
        -------
        self

        See Also
        --------
        SVC.fit : Errors and warnings.
        """
        self._check_parameters()
        groups = X.groups if groups is None and is_table(X) else groups
        X, y, sample_weight = self._open_samples(X, y, sample_weight)
        matrix, kernel = self._prepare_training(X)
        n = matrix.shape[0]
        if n < 2:
            raise DataError(f"n_samples={n}: there are pairs to learn from among two samples or more")
        target, weight = check_targets(y, n), check_weights(sample_weight, n)
        problem = self._build_problem(matrix, target, groups=groups, kernel=kernel, weight=weight)
        self.pairs_ = problem.pairs
        self._store_result(matrix, self._solve_one(problem))
        return self

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the fraction of pairs that are ordered correctly.

        Parameters
        ----------
        X : array_like, data frame or SciPy sparse, shape (m, d)
        y : array_like, shape (m,)
            How good each sample is.
        groups : array_like, shape (m,), optional
            Only samples of the same group are compared.

        Returns
        -------
        float
        """
        scores = self.predict(X)
        target = check_targets(y, len(scores))
        among = None if groups is None else np.unique(groups, return_inverse=True)[1]
        right, pairs = count_ordered_pairs(target, scores, among)
        return right / pairs if pairs else 1.0
