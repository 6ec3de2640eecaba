"""The one-class SVM (Schölkopf et al. 2001): a plane that parts most samples from the origin, as far out as can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import Group, SVMDual
from qpsvm.kernels.functions import RBF
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.model import Model
from qpsvm.operators import Operator
from qpsvm.problems.base import Problem
from qpsvm.problems.forms import primal_qp
from qpsvm.problems.parameters import as_share
from qpsvm.qp.program import QP
from qpsvm.result import Kinds
from qpsvm.samples import unlabelled

#: What a novelty detector says of samples outside and inside.
OUTSIDE, INSIDE = -1, 1
ENCLOSING = Kinds(("inside", "boundary", "outside"), ("inside", "on the boundary", "outside"), "outside")


class OneClass(Problem):
    """One-class SVM: f(x) = ⟨w, φ(x)⟩ − ρ, negative for at most a share ν of the samples.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    nu : float, default=0.5
        In (0, 1]: at most this share of the weights is outside, at least this share belongs to support vectors.
    kernel : Kernel, str or callable, default=RBF()
        A kernel object, its name, or a function `(X, Z) -> (n, m)`.
    sample_weight : array_like, shape (n,), optional
        A unit outside costs s_i.
    psd : "raise", "clip" or "shift", default="raise"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f have to keep.
    """

    kinds: ClassVar[Kinds] = ENCLOSING
    dual_tag, own = "ONE.10", ("nu",)

    def __init__(
        self,
        X: Any,
        nu: float = 0.5,
        kernel: Any = RBF(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        super().__init__(unlabelled(X, sample_weight), kernel, None, psd, constraints)  # Σα ≠ 0: nothing may be centred
        self._keep(nu=nu)

    def _keep(self, *, nu: float) -> None:  # type: ignore[override]
        self.nu = as_share(nu)

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"one-class SVM, ν = {self.nu:g}, kernel {self.kernel}"

    @property
    def predicted(self) -> NDArray[Any]:
        """−1 outside, +1 inside."""
        return np.array([OUTSIDE, INSIDE])

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        del certificate
        yf[rows], margin[rows] = model.decision_function(self.X[rows]), 0.0

    def _extras(self, certificate: Certificate) -> tuple[Mapping[str, float], Mapping[str, tuple[float, float]]]:
        low, high = certificate.b_interval
        return {"rho": -certificate.b}, {"rho": (-high, -low)}

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        del kept
        s = self.taking_part(self.sample_weight)
        n = len(s)
        ones = np.ones(n)
        plane = Group("mass", "b", ones, self.nu * float(s.sum()), formula="1ᵀα = ν Σs_i")
        return SVMDual(
            gram=gram, sign=ones, level=repeated(0.0, n), upper=s, curvature=repeated(0.0, n), groups=(plane,)
        )  # fmt: skip

    def _primal(self, Z: Matrix) -> QP:
        return primal_qp(
            self._dual(self.space.centred, None), Z, "½ ‖w‖² + ν Σs_i b + Σ s_i ξ_i", "wᵀx_i + b ≥ −ξ_i",
            f"{self.title}: primal (ONE.2)",
        )  # fmt: skip
