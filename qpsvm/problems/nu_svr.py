"""The ν-SVR (Schölkopf et al. 2000): the width of the tube is a variable, ν bounds fractions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import Matrix
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import Group, SVMDual
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.operators import Operator
from qpsvm.problems.forms import primal_qp
from qpsvm.problems.parameters import as_share, price_in_words, prices
from qpsvm.problems.regression import Regression
from qpsvm.qp.program import QP
from qpsvm.samples import numbers


class NuSVR(Regression):
    """Regression with ν instead of ε: at most this share of the samples lies beyond the tube, at least as many support.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    t : array_like, shape (n,)
        Targets: any finite numbers.
    C : float or array_like of shape (n,), default=1.0
        Price of a unit beyond the tube, positive.
    nu : float, default=0.5
        In (0, 1]: of ΣC_i, what samples beyond the tube may have at most.
    kernel : Kernel, str or callable, default=Linear()
        A kernel object, its name, or a function `(X, Z) -> (n, m)`.
    sample_weight : array_like, shape (n,), optional
        C_i = C · s_i.
    psd : "raise", "clip" or "shift", default="raise"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f have to keep.
    """

    dual_tag, own = "NUSVR.11", ("C", "nu")

    def __init__(
        self,
        X: Any,
        t: ArrayLike,
        C: float | ArrayLike = 1.0,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        super().__init__(numbers(X, t, sample_weight), kernel, "free", psd, constraints)
        self._keep(C=C, nu=nu)

    def _keep(self, *, C: float | ArrayLike, nu: float) -> None:  # type: ignore[override]
        self.C, self.nu = prices(C, self.samples), as_share(nu)

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"ν-SVR, C = {price_in_words(self.C)}, ν = {self.nu:g}, kernel {self.kernel}"

    def _half_width(self, certificate: Certificate) -> float:
        return certificate.multipliers["epsilon"]

    def _extras(self, certificate: Certificate) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        return {"epsilon": certificate.multipliers["epsilon"]}, certificate.intervals

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        C = np.tile(self.taking_part(self.sample_weight) * self.taking_part(self.C), 2)
        total = self.nu * float(C[: len(C) // 2].sum())
        width = Group("nu", "epsilon", repeated(1.0, len(C)), total, formula="1ᵀα⁺ + 1ᵀα⁻ = ν ΣC_i")
        return self._two_sided(gram, kept, 0.0, C, repeated(0.0, len(C)), (width,))

    def _primal(self, Z: Matrix) -> QP:
        svm = self._dual(self.space.centred, self.intercept)
        return primal_qp(
            svm, Z, "½ ‖w‖² + ν ΣC_i ε + Σ C_i (ξ_i + ξ*_i)", "± (t_i − f(x_i)) ≤ ε + ξ_i",
            f"{self.title}: primal (NUSVR.2)",
        )  # fmt: skip
