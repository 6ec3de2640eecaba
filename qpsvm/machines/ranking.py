"""Define the ranking SVM (Herbrich, Graepel & Obermayer 2000): f of the better sample of a pair is higher by 1.

Derivation
----------
f(x) = ⟨w, φ(x)⟩; an intercept would cancel in every difference. Pair k says that sample i is better than sample j. The
matrix A has one row per pair, with A_ki = 1, A_kj = −1 and 0 elsewhere. C_k = C s_i s_j with the sample weights s.

    (RANK.1)  order:  the samples are ordered along w/‖w‖; a pair without slack differs by at least 1 in f, and so by
              at least 1/‖w‖ along this direction: a small ‖w‖ keeps all pairs far apart
    (RANK.2)  primal:  minimise ½‖w‖² + Σ C_k ξ_k  over w, ξ  subject to  f(x_i) − f(x_j) ≥ 1 − ξ_k,  ξ_k ≥ 0
    (RANK.3)  Lagrangian:  L = ½‖w‖² + Σ C_k ξ_k − Σ α_k (f(x_i) − f(x_j) − 1 + ξ_k) − Σ η_k ξ_k,  α, η ≥ 0
    (RANK.4)  ∂L/∂w = 0:  w = Σ α_k (φ(x_i) − φ(x_j)) = Σ β_i φ(x_i),  β = Aᵀα:  the sum of α over the pairs in which a
              sample is better, less the sum over those in which it is worse
    (RANK.5)  ∂L/∂ξ_k = 0:  η_k = C_k − α_k
    (RANK.6)  dual feasibility:  α_k ≥ 0 and η_k ≥ 0, that is 0 ≤ α_k ≤ C_k
    (RANK.7)  complementary slackness:  α_k (f(x_i) − f(x_j) − 1 + ξ_k) = 0  and  (C_k − α_k) ξ_k = 0
    (RANK.8)  substitution of (RANK.4) and (RANK.5):  L = Σ α_k − ½ αᵀAKAᵀα
    (RANK.9)  dual:  minimise ½αᵀAKAᵀα − 1ᵀα  subject to  0 ≤ α_k ≤ C_k
    (RANK.10)  f is recovered from α:  f(x) = Σ β_i K(x_i, x); as Σ β_i = 0, adding a constant to K changes nothing
    (RANK.11)  three kinds of pairs:  α_k = 0 and f(x_i) − f(x_j) ≥ 1, in order;  0 < α_k < C_k and f(x_i) − f(x_j) = 1,
               just in order;  α_k = C_k and f(x_i) − f(x_j) ≤ 1, too close or out of order
    (RANK.12)  strong duality:  the optimal values of (RANK.2) and (RANK.9) differ in sign only
    (RANK.13)  linear kernel only:  w = Σ β_i x_i has one weight per feature, and f(x) = wᵀx
    (RANK.14)  weak duality:  for every α of (RANK.9) and every w, ξ of (RANK.2),  P(w, ξ) − D(α) =
               ½‖w − w(α)‖² + Σ [(C_k − α_k) ξ_k + α_k (f(x_i) − f(x_j) − 1 + ξ_k)] ≥ 0
    (RANK.15)  (RANK.2) is a C-SVM without intercept, (CSVM.2) with b = 0, whose samples are the differences
               φ(x_i) − φ(x_j), all of class +1; φ(x_j) − φ(x_i) of class −1 gives the same result

Implementation
--------------
`_build_specification` states (RANK.2) and (RANK.9), with A as its `mix`, (DUAL.6): for a nonlinear kernel, neither AKAᵀ
nor differences of samples are computed. A target y defines up to n²/2 pairs, which are listed only if needed. In each
group, the samples are sorted by y, so that those worse than a given sample come first. Therefore pairs can be counted,
and each can be found by its number, without a list (`PairOrder`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_finite_vector, as_positive, as_raw_array
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import multiply_exactly
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError, TooLargeError
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.kinds import is_table
from qpsvm.data.labels import encode_groups
from qpsvm.data.open_samples import open_stored
from qpsvm.data.rows import as_row_source
from qpsvm.data.samples import build_regression_samples, check_features
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.specification import Specification
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import KindLabels
from qpsvm.space.kernels.functions import Linear
from qpsvm.space.kernels.psd_rule import PSDRule

#: Largest number of pairs listed for a target: indices and multipliers take about 100 B per pair, a gigabyte in all.
MAX_PAIRS = 10_000_000
#: This many pair numbers are drawn for each missing pair, because some numbers are drawn twice.
OVERSAMPLING = 1.1


class Ranking(Problem):
    """Ranking SVM: for every pair (i, j) with i better than j, f(x_i) ≥ f(x_j) + 1 − ξ.

    Parameters
    ----------
    y : array_like, shape (n,), optional
        How good each sample is: any two samples of a group with different y are a pair. Not needed if pairs are given.
    C : float, default=1.0
        Penalty per unit of slack of a pair, positive.
    groups : array_like, shape (n,), optional
        Only samples of the same group are compared; by default all are in one group.
    pairs : array_like of int, shape (m, 2), optional
        Pairs (better, worse) of row numbers, instead of those from y. A pair that appears twice counts double, and a
        pair may appear in both orders.
    sample_weight : array_like, shape (n,), optional
        A pair has the penalty C_k = C s_i s_j.

    Attributes
    ----------
    pairs : ndarray of int, shape (m, 2)
        The pairs (better, worse). `alpha`, `xi` and `kind` of a result have one entry per pair.

    Raises
    ------
    DataError
        There is no pair: neither y nor pairs are given, y is constant in every group, or every pair has a sample of
        weight 0. A pair is not of two different row numbers. Both pairs and groups are given. Others as for `Problem`.
    DataTypeError, ParameterError
        As for `Problem`.
    TooLargeError
        y defines more than ten million pairs: pass `groups`, or `pairs` from `sampled_pairs`.

    See Also
    --------
    CSVM : Two classes, instead of an order.

    References
    ----------
    Herbrich, Graepel & Obermayer, *Large margin rank boundaries for ordinal regression*, Advances in Large Margin
    Classifiers (2000).

    Joachims, *Optimizing search engines using clickthrough data*, KDD (2002).

    Examples
    --------
    The scores are in the order of y; their absolute values have no meaning:

    >>> import qpsvm
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]], [1, 2, 3, 3]
    >>> problem = qpsvm.Ranking(X, y)
    >>> print(problem.pairs.tolist())
    [[1, 0], [2, 0], [2, 1], [3, 0], [3, 1]]
    >>> result = qpsvm.solve(problem)
    >>> print(result.w.round(6), result.predict(X).round(6))
    [ 0.666667 -0.333333] [-0.333333  0.666667  1.666667  2.333333]

    The share of pairs that the scores put in order:

    >>> problem.concordance(result.predict(X))
    1.0
    """

    _kind_labels: ClassVar[KindLabels] = KindLabels(
        ("ordered", "edge", "violator"), ("in order", "just in order", "out of order"), "out of order"
    )
    _primal_notation = ("RANK.2", "½ {norm} + Σ C_k ξ_k", "wᵀ(x_i − x_j) ≥ 1 − ξ_k")
    _dual_tag, _hyperparameters, _target_kind = "RANK.9", ("C",), "ranks"
    C: float

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None = None,
        C: float = 1.0,
        groups: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        if groups is None and pairs is None and is_table(X):  # a table has a column of groups, or None
            groups = X.groups
        X, y, sample_weight = open_stored(X, y, sample_weight)
        values = np.zeros(check_features(X)[0].shape[0]) if y is None else y  # given pairs need no y
        super().__init__(build_regression_samples(X, values, sample_weight, "y"), kernel, None, psd, constraints)
        if pairs is not None and groups is not None:
            raise DataError("groups say which pairs y makes: give groups or pairs, not both")
        if pairs is None and y is None:
            raise DataError("Ranking needs y, how good each sample is, or pairs (better, worse) of row numbers")
        self.pairs: IntArray = list_all_pairs(self.samples.target, groups) if pairs is None else as_pairs(pairs, self.n)
        if not self._active_variables.any():
            raise DataError("there is no pair whose samples both have a positive weight")
        self._set_hyperparameters(C=C)

    def _set_hyperparameters(self, *, C: float) -> None:  # type: ignore[override]
        self.C = as_positive(C, "C")
        if float(np.log(self.C) + 2.0 * np.log(self.sample_weight.max())) > np.log(LARGEST_VALUE):
            raise ParameterError("C times the weights of a pair overflows: divide them by a constant")

    @staticmethod
    def sampled_pairs(y: ArrayLike, most: int, groups: ArrayLike | None = None, seed: int | None = 0) -> IntArray:
        """Draw some of the pairs that y defines at random, for the argument `pairs`.

        n samples have up to n²/2 pairs; often a fraction of them gives nearly the same order.

        Parameters
        ----------
        y : array_like, shape (n,)
            How good each sample is.
        most : int
            Number of pairs to draw; all pairs if there are fewer.
        groups : array_like, shape (n,), optional
            Only samples of the same group are compared.
        seed : int, optional
            Seed of the random numbers; None for different pairs every time.

        Returns
        -------
        ndarray of int, shape (at most `most`, 2)
            Pairs (better, worse), each once.

        Raises
        ------
        DataError, DataTypeError
            y is constant in every group, or not finite; or groups have another length.
        ParameterError, ParameterTypeError
            `most` is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3))
        >>> y = X @ [1.0, 2.0, 0.0]
        >>> pairs = qpsvm.Ranking.sampled_pairs(y, 5000)
        >>> result = qpsvm.solve(qpsvm.Ranking(X, y, pairs=pairs))
        >>> print(pairs.shape, qpsvm.Ranking(X, y).concordance(result.predict(X)) > 0.99)
        (5000, 2) True
        """
        values = as_raw_array(y, "y")
        return draw_pairs(as_finite_vector(values, "y", values.size), _check_count(most), groups, seed)

    def concordance(self, f: ArrayLike) -> float:
        """Return the share of the pairs that are ordered correctly by scores f; a tie counts half.

        It is (1 + Kendall's τ)/2 if y has no ties.

        Parameters
        ----------
        f : array_like, shape (n,)
            One score per sample, such as `result.predict(X)`.

        Returns
        -------
        float
            From 0 to 1; about ½ for random scores. Pairs with samples of weight 0 are included.

        Raises
        ------
        DataError
            f has another shape, or values that are not finite.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.Ranking([[0.0], [1.0], [2.0]], pairs=[[1, 0], [2, 1]])
        >>> print(problem.concordance([3.0, 4.0, 4.0]))
        0.75
        """
        values = as_finite_vector(f, "f", self.n)
        differences = values[self.pairs[:, 0]] - values[self.pairs[:, 1]]
        return float(np.mean(0.5 * (np.sign(differences) + 1.0)))

    @property
    def title(self) -> str:
        """Name of the machine, with its parameters."""
        return f"ranking SVM, C = {self.C:g}, {len(self.pairs)} pairs, kernel {self.kernel}"

    @property
    def _sample_pairs(self) -> IntArray:
        """The pairs (better, worse): (m, 2)."""
        return self.pairs

    @property
    def _n_dual_variables(self) -> int:
        """Number of pairs."""
        return len(self.pairs)

    @cached
    def _active_variables(self) -> NDArray[np.bool_]:
        """Mask of the pairs whose samples both have a positive weight: (m,)."""
        is_active: NDArray[np.bool_] = np.all((self.sample_weight > 0)[self.pairs], axis=1)
        return is_active

    def _fill_inactive(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        del rows, certificate  # the variables are pairs, and every level is 1
        is_inactive = ~self._active_variables
        better, worse = self.pairs[is_inactive].T
        f = model.decision_function(as_row_source(self.X).matrix())
        yf[is_inactive] = f[better] - f[worse]
        margin[is_inactive] = 1.0

    def _build_specification(self) -> Specification:
        pairs = self.pairs[self._active_variables]
        weight = self.sample_weight
        m = len(pairs)
        active_index = np.zeros(self.n, dtype=np.intp)
        active_index[self.active_rows] = np.arange(len(self.active_rows))
        entries = np.tile([1.0, -1.0], m)
        row_starts = np.arange(0, 2 * m + 1, 2)
        return Specification(  # (RANK.2), (RANK.9)
            sign=repeat_value(1.0, m),
            level=1.0,
            upper=multiply_exactly(weight[pairs[:, 0]], weight[pairs[:, 1]], Fraction(self.C)),
            mix=sp.csr_array((entries, active_index[pairs].ravel(), row_starts), shape=(m, len(self.active_rows))),  # A
        )

    def _format_dual_formula(self, svm: SVMDual) -> str:
        del svm
        return "½ αᵀQα − 1ᵀα,  Q = AKAᵀ,  (Aᵀα)_i = Σ α of pairs where i is better − Σ α where i is worse"


class PairOrder(NamedTuple):
    """The pairs of a target, numbered from 0 in the order of their better sample, without a list.

    members (n,): The samples, group after group, from the worst to the best of each group.
    first, n_worse (n,): Where in `members` the group of each member starts, and how many of the group are worse.
    """

    members: IntArray
    first: IntArray
    n_worse: IntArray

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.n_worse.sum())

    def list_pairs(self, numbers: IntArray) -> IntArray:
        """List the pairs (better, worse) with these numbers, from 0 to `n_pairs` − 1: (k, 2)."""
        ends = np.cumsum(self.n_worse)  # one more than the last pair number of each member
        better = np.searchsorted(ends, numbers, side="right")
        worse = self.first[better] + numbers - (ends[better] - self.n_worse[better])
        return np.column_stack([self.members[better], self.members[worse]])


def find_pair_order(y: FloatArray, groups: ArrayLike | None) -> PairOrder:
    """Number the pairs of samples that are in the same group and have different y (n,). Raises DataError."""
    group_of_sample: NDArray[np.intp] = np.zeros(len(y), dtype=np.intp)
    if groups is not None:
        group_of_sample = encode_groups(groups, len(y))
    members = np.lexsort((y, group_of_sample))
    group = group_of_sample[members]
    value = y[members]
    position = np.arange(len(y))
    new_group = np.append(True, group[1:] != group[:-1])
    new_value = new_group | np.append(True, value[1:] != value[:-1])
    first = np.maximum.accumulate(np.where(new_group, position, 0))
    first_equal = np.maximum.accumulate(np.where(new_value, position, 0))  # where the members with the same y start
    return PairOrder(members, first, first_equal - first)


def list_all_pairs(y: FloatArray, groups: ArrayLike | None) -> IntArray:
    """List all pairs (better, worse) within the groups: (m, 2). Raises DataError, TooLargeError."""
    order = find_pair_order(y, groups)
    if not order.n_pairs:
        if groups is None:
            where = "all samples are"
        else:
            where = "the samples of every group are"
        raise DataError(f"there is no pair: {where} equally good")
    if order.n_pairs > MAX_PAIRS:
        raise TooLargeError(
            f"y makes {order.n_pairs} pairs, more than {MAX_PAIRS}: compare fewer samples with each other by groups=, "
            "or take some of the pairs, pairs=Ranking.sampled_pairs(y, 1_000_000)"
        )
    return order.list_pairs(np.arange(order.n_pairs))


def draw_pairs(y: FloatArray, most: int, groups: ArrayLike | None, seed: int | None) -> IntArray:
    """Draw distinct pairs (better, worse) within the groups, uniformly: (at most `most`, 2). Raises DataError."""
    order = find_pair_order(y, groups)
    if order.n_pairs <= most:
        return list_all_pairs(y, groups)
    rng = np.random.default_rng(seed)
    if order.n_pairs < 2 * most:  # `choice` takes O(n_pairs) time and memory
        return order.list_pairs(np.sort(rng.choice(order.n_pairs, most, replace=False)))
    numbers = np.zeros(0, dtype=np.intp)  # always distinct
    while len(numbers) < most:
        more = rng.integers(order.n_pairs, size=int(OVERSAMPLING * (most - len(numbers))) + 1)
        numbers = np.unique(np.concatenate([numbers, more]))
    return order.list_pairs(np.sort(rng.permutation(numbers)[:most]))


def as_pairs(pairs: ArrayLike, n: int) -> IntArray:
    """Return pairs as integers, (m, 2), if each is of two different samples. Raises DataError, DataTypeError."""
    raw = as_raw_array(pairs, "pairs")
    if not raw.size:
        raise DataError("pairs is empty: there is nothing to put in order")
    if raw.ndim != 2 or raw.shape[1] != 2:
        raise DataError(f"pairs must have two columns, better and worse, got shape {raw.shape}")
    values = as_finite_vector(raw.ravel(), "pairs", raw.size)
    if (values != np.round(values)).any() or values.min() < 0 or values.max() >= n:
        raise DataError(f"pairs must be numbers of rows of X, whole ones from 0 to {n - 1}")
    checked = values.astype(np.intp).reshape(-1, 2)
    is_self = checked[:, 0] == checked[:, 1]
    if is_self.any():
        k = int(np.argmax(is_self))
        raise DataError(f"pairs[{k}] is a sample with itself: {checked[k].tolist()}")
    return checked


def _check_count(most: Any) -> int:
    """Check `most`, the number of pairs to draw. Raises ParameterError, ParameterTypeError."""
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)):
        raise ParameterTypeError(f"most must be a whole number of pairs, got {format_value(most)}")
    if most < 1:
        raise ParameterError(f"most must be at least 1, got {most}")
    return int(most)
