"""What the machines for novelty have in common: a ν, an inside and an outside, and samples without a target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.certificate import Certificate
from qpsvm.model import Model
from qpsvm.problems.base import Problem
from qpsvm.problems.parameters import as_share
from qpsvm.result import Kinds

#: What a novelty detector says of samples outside and inside.
OUTSIDE, INSIDE = -1, 1


class Enclosing(Problem):
    """A machine whose f says how far inside a sample is; its level is 0."""

    kinds: ClassVar[Kinds] = Kinds(
        ("inside", "boundary", "outside"), ("inside", "on the boundary", "outside"), "outside"
    )
    own: ClassVar[tuple[str, ...]] = ("nu",)

    def _keep(self, *, nu: float) -> None:  # type: ignore[override]
        self.nu = as_share(nu)

    @property
    def predicted(self) -> NDArray[Any]:
        """−1 outside, +1 inside."""
        return np.array([OUTSIDE, INSIDE])

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        del certificate
        yf[rows], margin[rows] = model.decision_function(self.X[rows]), 0.0
