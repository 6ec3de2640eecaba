"""Quantile regression with a norm (Takeuchi, Le, Sears & Smola 2006): the two sides of f have different prices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import Matrix
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.operators import Operator
from qpsvm.problems.forms import primal_qp
from qpsvm.problems.parameters import as_intercept, as_quantile, price_in_words, prices
from qpsvm.problems.regression import Regression
from qpsvm.qp.program import QP
from qpsvm.result import Kinds
from qpsvm.samples import numbers


class QuantileSVR(Regression):
    """The conditional quantile of t: a unit above f costs Cτ, a unit below it C(1 − τ).

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    t : array_like, shape (n,)
        Targets: any finite numbers.
    C : float or array_like of shape (n,), default=1.0
        Price of a unit, positive.
    quantile : float, default=0.5
        τ, between 0 and 1: the share of the samples that is to lie below f.
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

    kinds: ClassVar[Kinds] = Kinds(("idle", "on", "off"), ("idle", "on the curve", "off it"), "off the curve")
    dual_tag, own = "QSVR.10", ("C", "quantile")

    def __init__(
        self,
        X: Any,
        t: ArrayLike,
        C: float | ArrayLike = 1.0,
        quantile: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
    ) -> None:
        super().__init__(numbers(X, t, sample_weight), kernel, as_intercept(intercept), psd, constraints)
        self._keep(C=C, quantile=quantile)

    def _keep(self, *, C: float | ArrayLike, quantile: float) -> None:  # type: ignore[override]
        self.C, self.quantile = prices(C, self.samples), as_quantile(quantile)

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"quantile SVR, C = {price_in_words(self.C)}, τ = {self.quantile:g}, kernel {self.kernel}"

    def _half_width(self, certificate: Certificate) -> float:
        del certificate
        return 0.0

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        C = self.taking_part(self.sample_weight) * self.taking_part(self.C)
        upper = np.concatenate([self.quantile * C, (1.0 - self.quantile) * C])
        return self._two_sided(gram, kept, 0.0, upper, repeated(0.0, len(upper)))

    def _primal(self, Z: Matrix) -> QP:
        svm = self._dual(self.space.centred, self.computed_intercept)
        return primal_qp(
            svm, Z, "½ ‖w‖² + Σ C_i (τ ξ_i + (1 − τ) ξ*_i)", "± (t_i − f(x_i)) ≤ ξ_i",
            f"{self.title}: primal (QSVR.2)",
        )  # fmt: skip
