"""The squared hinge loss (L2-SVM): slack costs its square, so that no α is bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.constant import repeated, times
from qpsvm.arrays.types import Matrix
from qpsvm.dual.svm_dual import SVMDual, intercept_group
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.operators import Operator
from qpsvm.problems.base import Problem
from qpsvm.problems.forms import primal_qp
from qpsvm.problems.parameters import as_intercept, price_in_words, prices
from qpsvm.qp.program import QP
from qpsvm.samples import two_classes


class SquaredHinge(Problem):
    """Soft-margin SVM whose slack costs C ξ².

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    y : array_like, shape (n,)
        Any two labels; the larger in sort order is +1.
    C : float or array_like of shape (n,), default=1.0
        Price of the square of slack, positive.
    kernel : Kernel, str or callable, default=Linear()
        A kernel object, its name, or a function `(X, Z) -> (n, m)`.
    sample_weight : array_like, shape (n,), optional
        C_i = C · s_i.
    psd : "raise", "clip" or "shift", default="raise"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f have to keep.
    intercept : "free", "penalised" or None, default="free"
        Outside the norm, inside it, or absent.
    """

    dual_tag, own = "SQHINGE.10", ("C",)

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: float | ArrayLike = 1.0,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
    ) -> None:
        super().__init__(two_classes(X, y, sample_weight), kernel, as_intercept(intercept), psd, constraints)
        self._keep(C=C)

    def _keep(self, *, C: float | ArrayLike) -> None:  # type: ignore[override]
        self.C = prices(C, self.samples)

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"squared hinge, C = {price_in_words(self.C)}, kernel {self.kernel}"

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        y = self.labels
        C = times(self.taking_part(self.sample_weight), self.taking_part(self.C))
        return SVMDual(
            gram=gram, sign=y, level=repeated(1.0, len(y)), upper=repeated(np.inf, len(y)),
            curvature=0.5 / C, groups=intercept_group(y, kept),
        )  # fmt: skip

    def _primal(self, Z: Matrix) -> QP:
        svm = self._dual(self.space.centred, self.computed_intercept)
        return primal_qp(
            svm, Z, "½ ‖w‖² + Σ C_i ξ_i²", "y_i f(x_i) ≥ 1 − ξ_i",
            f"{self.title}: primal (SQHINGE.2)",
        )  # fmt: skip
