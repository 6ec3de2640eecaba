"""Support vector data description (Tax & Duin 2004): the smallest ball around the samples, some left outside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.rounding import gamma
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.dual.accuracy import Accuracy
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import Group, SVMDual
from qpsvm.kernels.functions import Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.model import Model
from qpsvm.operators import Operator
from qpsvm.problems.base import Problem
from qpsvm.problems.forms import primal_qp
from qpsvm.problems.one_class import ENCLOSING, INSIDE, OUTSIDE
from qpsvm.problems.parameters import as_share
from qpsvm.qp.program import QP
from qpsvm.result import Kinds
from qpsvm.samples import shares_of, unlabelled


class SVDD(Problem):
    """The smallest ball: f(x) = R² − ‖φ(x) − c‖², negative for at most a share ν of the samples.

    Parameters
    ----------
    X : array_like or SciPy sparse, shape (n, d)
        Samples in rows; also a data frame. An (n, n) kernel matrix for `Precomputed()`.
    nu : float, default=0.5
        In (0, 1]: a unit of ‖φ(x) − c‖² outside costs C_i = s_i/(ν Σs).
    kernel : Kernel, str or callable, default=Linear()
        A kernel object, its name, or a function `(X, Z) -> (n, m)`.
    sample_weight : array_like, shape (n,), optional
        In what proportion samples outside are paid for.
    psd : "raise", "clip" or "shift", default="raise"
        What to do where the Gram matrix is indefinite.
    constraints : Constraints, ValueConstraints, or a list of them, optional
        Rows of your own that w, b and f have to keep.
    """

    kinds: ClassVar[Kinds] = ENCLOSING
    size_of_f: ClassVar[float] = 2.0
    diagonal: ClassVar[float] = -1.0
    dual_tag, own = "SVDD.10", ("nu",)

    def __init__(
        self,
        X: Any,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
        constraints: Any = None,
    ) -> None:
        super().__init__(unlabelled(X, sample_weight), kernel, None, psd, constraints)
        self._keep(nu=nu)

    def _keep(self, *, nu: float) -> None:  # type: ignore[override]
        self.nu = as_share(nu)

    @property
    def title(self) -> str:
        """The machine with its parameters."""
        return f"SVDD, ν = {self.nu:g}, kernel {self.kernel}"

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
        """R from μ = (R² − ‖c‖²)/2."""
        square = 2.0 * certificate.half_norm
        low, value, high = (
            math.sqrt(max(square + 2.0 * mu, 0.0))
            for mu in (certificate.b_interval[0], certificate.b, certificate.b_interval[1])
        )
        return {"radius": value}, {"radius": (low, high)}

    @cached_property
    def _levels(self) -> tuple[FloatArray, FloatArray | None]:
        """K_ii/2 of the samples that take part, and how far that may be off: (n,) each."""
        level = self.space.gram.diagonal()[: len(self.labels)] / 2.0
        epsilon = gamma(self.space.samples.longest_row + 4) if self.space.is_linear else Accuracy(self.space).epsilon
        return level, epsilon * np.abs(level) if epsilon else None

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        del kept
        level, radius = self._levels
        n = len(level)
        ones = np.ones(n)
        ball = Group("mass", "b", ones, 1.0, formula="1ᵀα = 1")
        shares = shares_of(self.taking_part(self.sample_weight))
        return SVMDual(
            gram=gram, sign=ones, level=level, upper=shares / self.nu, curvature=repeated(0.0, n), groups=(ball,),
            unit=2.0, level_radius=radius,
        )  # fmt: skip

    def _primal(self, Z: Matrix) -> QP:
        return primal_qp(
            self._dual(self.space.centred, None), Z, "‖c‖² + 2μ + Σ 2 C_i ξ_i", "cᵀx_i + μ ≥ K_ii/2 − ξ_i",
            f"{self.title}: primal (SVDD.2)",
        )  # fmt: skip
