"""Huber's hinge: slack costs its square up to a width, and grows linearly beyond it (Chapelle 2007)."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from qpsvm.arrays.checks import as_positive
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


class HuberHinge(Problem):
    """Soft-margin SVM whose slack costs C ξ²/(2h) up to a width h, and C (ξ − h/2) beyond.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    y : array_like, shape (n,)
        Any two labels; the larger in sort order is +1.
    C : float or array_like of shape (n,), default=1.0
        Price of a unit of slack beyond the width, positive.
    width : float, default=0.5
        h, positive: below it the price grows with the slack.
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

    dual_tag, own = "HUBER.10", ("C", "width")

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: float | ArrayLike = 1.0,
        width: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
    ) -> None:
        super().__init__(two_classes(X, y, sample_weight), kernel, as_intercept(intercept), psd, constraints)
        self._keep(C=C, width=width)

    def _keep(self, *, C: float | ArrayLike, width: float) -> None:  # type: ignore[override]
        self.C = prices(C, self.samples)
        self.width = as_positive(width, "width")

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"Huber hinge, C = {price_in_words(self.C)}, h = {self.width:g}, kernel {self.kernel}"

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        y = self.labels
        C = times(self.taking_part(self.sample_weight), self.taking_part(self.C))
        return SVMDual(
            gram=gram, sign=y, level=repeated(1.0, len(y)), upper=C,
            curvature=self.width / C, groups=intercept_group(y, kept),
        )  # fmt: skip

    def _primal(self, Z: Matrix) -> QP:
        svm = self._dual(self.space.centred, self.computed_intercept)
        return primal_qp(
            svm, Z, "½ ‖w‖² + Σ C_i (ξ_i²/(2h) + ζ_i)", "y_i f(x_i) ≥ 1 − ξ_i − ζ_i",
            f"{self.title}: primal (HUBER.2)",
        )  # fmt: skip
