"""Ranking from pairs (Herbrich, Graepel & Obermayer 2000): f is to be higher by 1 for the better of two samples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm.arrays.checks import as_finite_vector, as_matrix, as_positive, raw_array
from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.errors import DataError
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.model import Model
from qpsvm.operators import Operator
from qpsvm.problems.base import Problem
from qpsvm.problems.forms import primal_qp
from qpsvm.qp.program import QP
from qpsvm.result import Kinds
from qpsvm.samples import numbers


class Ranking(Problem):
    """Ranking SVM: for every pair (i, j) with i better than j, f(x_i) ≥ f(x_j) + 1 − ξ.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    y : array_like, shape (n,), or None
        How good each is: every two samples of a group with different y are a pair. None where pairs are given.
    C : float, default=1.0
        Price of a unit of slack of a pair, positive.
    groups : array_like, shape (n,), optional
        Only samples of the same group are compared; all with each other where absent.
    pairs : array_like of int, shape (m, 2), optional
        Pairs (better, worse), instead of those made from y.
    kernel : Kernel, str or callable, default=Linear()
        A kernel object, its name, or a function `(X, Z) -> (n, m)`.
    sample_weight : array_like, shape (n,), optional
        A pair costs C s_i s_j.
    psd : "raise", "clip" or "shift", default="raise"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f have to keep.
    """

    kinds: ClassVar[Kinds] = Kinds(
        ("ordered", "edge", "violator"), ("in order", "just in order", "out of order"), "out of order"
    )
    dual_tag, own = "RANK.9", ("C",)

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
        matrix = as_matrix(X)
        values = np.zeros(matrix.shape[0]) if y is None else y
        super().__init__(numbers(X, values, sample_weight), kernel, None, psd, constraints)
        if pairs is None:
            if y is None:
                raise DataError("Ranking needs y, or pairs")
            pairs = made_pairs(self.samples.target, groups)
        self.pairs: IntArray = as_pairs(pairs, self.n)
        self._keep(C=C)

    def _keep(self, *, C: float) -> None:  # type: ignore[override]
        self.C = as_positive(C, "C")

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"ranking SVM, C = {self.C:g}, {len(self.pairs)} pairs, kernel {self.kernel}"

    @property
    def alphas(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    @property
    def taking_pairs(self) -> NDArray[np.bool_]:
        """The pairs of which both samples take part: (m,)."""
        found: NDArray[np.bool_] = np.all((self.sample_weight > 0)[self.pairs], axis=1)
        return found

    def _gather(self, alpha: FloatArray) -> FloatArray:
        return alpha[self.taking_pairs]

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        whole = np.zeros(len(self.pairs), dtype=values.dtype)
        whole[self.taking_pairs] = values
        return whole

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        del rows, certificate
        left = ~self.taking_pairs
        f = model.decision_function(self.X)
        yf[left], margin[left] = f[self.pairs[left, 0]] - f[self.pairs[left, 1]], 1.0

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        del kept
        pairs = self.pairs[self.taking_pairs]
        m, weight = len(pairs), self.sample_weight
        place = np.zeros(self.n, dtype=np.intp)
        place[self.rows] = np.arange(len(self.rows))
        parts = (np.tile([1.0, -1.0], m), place[pairs].ravel(), np.arange(0, 2 * m + 1, 2))
        return SVMDual(
            gram=gram, sign=repeated(1.0, m), level=repeated(1.0, m),
            upper=self.C * weight[pairs[:, 0]] * weight[pairs[:, 1]], curvature=repeated(0.0, m),
            mix=sp.csr_array(parts, shape=(m, len(self.rows))),
        )  # fmt: skip

    def _primal(self, Z: Matrix) -> QP:
        return primal_qp(
            self._dual(self.space.centred, None), Z, "½ ‖w‖² + Σ C_k ξ_k", "wᵀx_i − wᵀx_j ≥ 1 − ξ_k",
            f"{self.title}: primal (RANK.2)",
        )  # fmt: skip


def made_pairs(y: FloatArray, groups: ArrayLike | None) -> IntArray:
    """All pairs (better, worse) within the groups: (m, 2)."""
    names = np.zeros(len(y), dtype=int) if groups is None else raw_array(groups, "groups")
    if names.shape != y.shape:
        raise DataError(f"groups has shape {names.shape} where {y.shape} is expected")
    found = []
    for name in np.unique(names):
        members = np.flatnonzero(names == name)
        better, worse = np.nonzero(y[members][:, None] > y[members])
        found.append(np.column_stack([members[better], members[worse]]))
    return np.concatenate(found)


def as_pairs(pairs: ArrayLike, n: int) -> IntArray:
    """Check pairs of different samples: (m, 2)."""
    raw = raw_array(pairs, "pairs")
    if raw.ndim != 2 or raw.shape[1] != 2:
        raise DataError(f"pairs must have two columns, better and worse, got shape {raw.shape}")
    if not len(raw):
        raise DataError("there is no pair: all samples of every group are equally good")
    values = as_finite_vector(raw.ravel(), "pairs", raw.size)
    if (values != np.round(values)).any() or values.min() < 0 or values.max() >= n:
        raise DataError(f"pairs must be numbers of rows from 0 to {n - 1}")
    found = values.astype(np.intp).reshape(-1, 2)
    if (found[:, 0] == found[:, 1]).any():
        k = int(np.flatnonzero(found[:, 0] == found[:, 1])[0])
        raise DataError(f"pairs[{k}] is a sample with itself: {found[k].tolist()}")
    return found
