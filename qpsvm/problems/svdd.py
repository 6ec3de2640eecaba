"""Support vector data description (Tax & Duin 2004): the smallest ball around the samples, some left outside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.rounding import UNDERFLOW, UNIT, dot, gamma
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.dual.accuracy import Accuracy
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import Group, SVMDual
from qpsvm.kernels.functions import RBF, Linear
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.kernels.products import squared_norms
from qpsvm.model import Model
from qpsvm.operators import Diagonal, Operator
from qpsvm.problems.base import Problem
from qpsvm.problems.forms import margin_group, margin_rows
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
    """

    kinds: ClassVar[Kinds] = ENCLOSING
    size_of_f: ClassVar[float] = 2.0
    diagonal: ClassVar[float] = -1.0
    affine: ClassVar[bool] = True
    letters: ClassVar[Mapping[str, str]] = {"w": "c", "b": "mu"}
    dual_tag, own = "SVDD.10", ("nu",)

    def __init__(
        self,
        X: Any,
        nu: float = 0.5,
        kernel: Any = Linear(),  # noqa: B008  (frozen)
        sample_weight: ArrayLike | None = None,
        psd: PSDRule = "raise",
    ) -> None:
        super().__init__(unlabelled(X, sample_weight), kernel, None, psd)
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
        square, w = 2.0 * certificate.half_norm, certificate.w
        low, value, high = (
            math.sqrt(max(dot(w, w, 2.0 * mu)[0] if w is not None else square + 2.0 * mu, 0.0))  # (SVDD.13)
            for mu in (certificate.b_interval[0], certificate.b, certificate.b_interval[1])
        )
        if certificate.primal == 0.0:  # R² + Σ C_i ξ_i: nothing is left for R
            value = low = high = 0.0
        return {"radius": value}, {"radius": (low, high)}

    def _level_radius(self, level: FloatArray) -> FloatArray | None:
        """How far K_ii/2 may be off, (n,): ½ερ_i² of (ACC.1), as for every kernel value; None where it is ½ exactly."""
        if isinstance(self.space.kernel, RBF) and self.space.is_plain:
            return None
        if self.space.is_linear:
            return gamma(self.space.samples.longest_row + 4) * level + UNDERFLOW
        accuracy = Accuracy(self.space)
        return np.asarray((0.5 + UNIT) * accuracy.epsilon * np.square(accuracy.sizes(np.arange(len(level)))) + UNDERFLOW)

    def _dual(self, gram: Operator, kept: Intercept) -> SVMDual:
        del kept
        level = gram.diagonal() / 2.0
        n = len(level)
        ones = np.ones(n)
        ball = Group("mass", "b", ones, 1.0, formula="1ᵀα = 1")  # (SVDD.5)
        return SVMDual(  # (SVDD.10)
            gram=gram, sign=ones, level=level, upper=self._prices(), curvature=repeated(0.0, n), groups=(ball,),
            unit=2.0, level_radius=self._level_radius(level),
        )  # fmt: skip

    @cached_property
    def outlined(self) -> SVMDual:
        """The same dual with a stand-in for the Gram matrix: K_ii differ, unless they are known not to."""
        outlined = super().outlined
        if isinstance(self.kernel, RBF):
            return outlined
        level = np.array(outlined.level)
        level[0] *= 0.5
        return replace(outlined, level=level, level_radius=None)

    def _prices(self) -> FloatArray:
        """C_i = s_i/(ν Σs) of the samples that take part."""
        return shares_of(self.taking_part(self.sample_weight)) / self.nu

    def _primal(self, Z: Matrix) -> QP:
        n, r = Z.shape
        squares = squared_norms(Z)
        return QP(  # (SVDD.3)
            P=Diagonal(np.concatenate([np.full(r, 2.0), np.zeros(1 + n)])),
            q=np.concatenate([np.zeros(r), [2.0], self._prices()]),
            G=margin_rows(Z, np.ones(n), [-np.ones((n, 1)), -0.5 * sp.eye_array(n)]), h=-0.5 * squares,
            lb=np.concatenate([np.full(r + 1, -np.inf), np.zeros(n)]),
            variables={"c": slice(0, r), "mu": slice(r, r + 1), "xi": slice(r + 1, r + 1 + n)},
            constraints=margin_group(n, "cᵀx_i + μ ≥ (K_ii − ξ_i)/2"),
            formula="‖c‖² + 2μ + Σ C_i ξ_i", title=f"{self.title}: primal (SVDD.3)",
        )  # fmt: skip
