"""ε-insensitive regression (Vapnik 1995): a tube of width 2ε around f is free, what is beyond it is paid for."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import Matrix
from qpsvm.arrays.words import shown
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.errors import UnknownOptionError, nearest
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.operators import Operator
from qpsvm.problems.forms import primal_qp
from qpsvm.problems.parameters import as_intercept, as_width, price_in_words, prices
from qpsvm.problems.regression import Regression
from qpsvm.qp.program import QP
from qpsvm.samples import numbers

Loss = Literal["absolute", "squared"]


class EpsilonSVR(Regression):
    """ε-SVR: what f misses its target by beyond ε costs C a unit, or C times its square.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    t : array_like, shape (n,)
        Targets: any finite numbers.
    C : float or array_like of shape (n,), default=1.0
        Price of a unit beyond the tube, positive.
    epsilon : float, default=0.1
        Half the width of the tube, not negative; in units of t.
    loss : "absolute" or "squared", default="absolute"
        What is beyond the tube costs C ξ, or C ξ².
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

    dual_tag, own = "ESVR.10", ("C", "epsilon", "loss")

    def __init__(
        self,
        X: Any,
        t: ArrayLike,
        C: float | ArrayLike = 1.0,
        epsilon: float = 0.1,
        loss: Loss = "absolute",
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        intercept: Intercept = "free",
        constraints: Any = None,
    ) -> None:
        super().__init__(numbers(X, t, sample_weight), kernel, as_intercept(intercept), psd, constraints)
        self._keep(C=C, epsilon=epsilon, loss=loss)

    def _keep(self, *, C: float | ArrayLike, epsilon: float, loss: Loss) -> None:  # type: ignore[override]
        if not isinstance(loss, str) or loss not in get_args(Loss):
            raise UnknownOptionError(f"unknown loss {shown(loss)}; {nearest(shown(loss), get_args(Loss))}")
        self.C, self.epsilon, self.loss = prices(C, self.samples), as_width(epsilon), loss

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        squared = " (squared)" if self.loss == "squared" else ""
        return f"ε-SVR{squared}, C = {price_in_words(self.C)}, ε = {self.epsilon:g}, kernel {self.kernel}"

    def _half_width(self, certificate: Certificate) -> float:
        del certificate
        return self.epsilon

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        C = np.tile(self.taking_part(self.sample_weight) * self.taking_part(self.C), 2)
        if self.loss == "squared":
            return self._two_sided(gram, kept, self.epsilon, repeated(np.inf, len(C)), 0.5 / C)
        return self._two_sided(gram, kept, self.epsilon, C, repeated(0.0, len(C)))

    def _primal(self, Z: Matrix) -> QP:
        svm = self._dual(self.space.centred, self.computed_intercept)
        cost = "ξ_i²" if self.loss == "squared" else "ξ_i"
        return primal_qp(
            svm, Z, f"½ ‖w‖² + Σ C_i ({cost} + {cost.replace('ξ', 'ξ*')})", "± (t_i − f(x_i)) ≤ ε + ξ_i",
            f"{self.title}: primal (ESVR.2)",
        )  # fmt: skip
