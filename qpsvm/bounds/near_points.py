"""What (OPTIMA.3) asks of points: how far φ(x) is from the origin that was chosen, and f(x) with a radius.

    (PLACE.1)  linear: ‖x − o‖, o the mean of the samples where b is free and they are dense, else 0
    (PLACE.2)  RBF: 1, or with a free b √(2 − 2K(x, z)) from o = φ(z), z the mean of the samples, where that is less
    (PLACE.3)  any other kernel: √K(x, x);  of a matrix its diagonal, which for new points a user has to say
    (PLACE.4)  f(x) = Σ c_j K(x_j, x) + b, off by (KSUM.1) and what b costs; of kernels that are a user's, as computed

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rounding import FEW, UNDERFLOW, UNIT, gamma, lengths_above
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.bounds.proof.classes import ClassesSpace
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.kernels.points import KernelSpace, kernel_space
from qpsvm.bounds.proof.kernels.values import MatrixValues
from qpsvm.bounds.proof.spaces import BallSpace, LinearSpace, Space
from qpsvm.data.rows import as_row_source
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.space.kernels.kernel import squared_norms

#: Roundings of exp, and of a power.
ROUNDINGS = 16
#: Numbers of new points that are looked at together.
AT_A_TIME = 4_000_000


class Places:
    """ρ of (OPTIMA.2) at the points of a program, and of (OPTIMA.3) at new ones.

    kernel: Of the new points; linear where they are coordinates.
    free: Whether there is a free intercept, and nobody's own rows beside it: then o may be chosen.
    """

    def __init__(self, space: Space, kernel: Kernel, free: bool) -> None:
        self.kernel, self.classes = kernel, 1
        self.origin: FloatArray | None = None
        if isinstance(space, ClassesSpace):
            self.classes, space = space.k, space.space
        if isinstance(space, BallSpace):
            self.origin, self._rows = space.centre, space.rows
        elif isinstance(space, LinearSpace):
            self._rows = space.rows
            if free and not space.rows.is_sparse:
                self.origin = np.asarray(space.rows.means(), dtype=np.float64)
        else:
            assert isinstance(space, KernelSpace)
            self._of_kernel(space, free)
            return
        blocks = (piece for block in self._rows.blocks() for piece in block.pieces())
        self.own = np.concatenate([self._lengths(piece.matrix) for piece in blocks])

    def _of_kernel(self, space: KernelSpace, free: bool) -> None:
        """(PLACE.2), (PLACE.3)."""
        values = space.kernel_values
        if isinstance(values, MatrixValues):
            self.own = np.sqrt(np.maximum(values.K.diagonal(), 0.0)) * FEW
            return
        X: Matrix = values.X  # type: ignore[attr-defined]
        self.own = values.sizes
        if isinstance(self.kernel, RBF) and free and not sp.issparse(X) and len(self.own):
            self.origin = X.mean(axis=0)
            near = self._from_origin(X)
            if near.max() < 1.0:
                self.own = near
            else:
                self.origin = None

    def _from_origin(self, X: Matrix) -> FloatArray:
        """√(2 − 2K(x, z)) from above: (q,)."""
        assert isinstance(self.kernel, RBF)
        assert self.origin is not None
        far = squared_norms(as_dense(X) - self.origin) * float(self.kernel.gamma)
        squares = -2.0 * np.expm1(-far * (1.0 + gamma(X.shape[1] + 8))) * (1.0 + ROUNDINGS * UNIT)
        found: FloatArray = np.sqrt(squares) * FEW + math.sqrt(X.shape[1] * UNDERFLOW)
        return found

    def _lengths(self, X: Matrix) -> FloatArray:
        """‖x − o‖ from above: (q,)."""
        apart = X if self.origin is None else as_dense(X) - self.origin
        found: FloatArray = lengths_above(squared_norms(apart), X.shape[1]) * FEW
        return found

    def of_rows(self, program: ExactDual) -> FloatArray:
        """Those of the rows of a program, from above: (m,)."""
        own = np.repeat(self.own, self.classes)
        if program.mix is not None:
            longest = int(np.diff(program.mix.indptr).max(initial=0))
            found: FloatArray = (abs(program.mix) @ own) * (1.0 + gamma(longest + 4))
            return found
        return own if program.rows is None else own[program.rows]

    def of(self, X: Matrix, diagonal: FloatArray | None = None) -> FloatArray:
        """Those of new points, (q,): X (q, d), or of a matrix K(x, x) itself, (q,)."""
        if diagonal is not None:
            return np.sqrt(np.maximum(diagonal, 0.0)) * FEW
        if isinstance(self.kernel, Linear):
            return self._lengths(X)
        if isinstance(self.kernel, RBF):
            return np.ones(X.shape[0]) if self.origin is None else self._from_origin(X)
        if isinstance(self.kernel, (Polynomial, Sigmoid)):
            space = kernel_space(self.kernel, X)
            return np.asarray(space.kernel_values.sizes)
        return np.sqrt(np.maximum(self.kernel.diagonal(X), 0.0)) * FEW


def decision_values(model: Any, X: Matrix) -> tuple[FloatArray, FloatArray]:
    """f at checked samples (q, d) and its radius, (q, k) each, of the numbers that a model has: (PLACE.4)."""
    b = np.atleast_1d(np.asarray(model.b, dtype=np.float64))
    if getattr(model, "radius", None) is not None:
        return _in_ball(model, X)
    ws = None if model.w is None else np.atleast_2d(model.w)
    coef = model.coef if model.coef.ndim == 2 else model.coef[:, None]
    width = X.shape[1] + (len(model.coef) if ws is None else 0)
    step = max(AT_A_TIME // max(width, 1), 1)
    found = []
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        found.append(_linear(part, ws) if ws is not None else _by_kernel(model, part, coef))
    u, radius = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    values = u + b
    radius = (radius + 4.0 * UNIT * (np.abs(u) + np.abs(b))) * FEW
    diagonal = getattr(model, "diagonal", 0.0)
    if diagonal:
        own = model.kernel.diagonal(X)
        size = squared_norms(X) if isinstance(model.kernel, Linear) else np.square(
            1.0 if isinstance(model.kernel, RBF) else kernel_space(model.kernel, X).kernel_values.sizes)  # fmt: skip
        degree = float(getattr(model.kernel, "degree", 1.0))
        spread = gamma((X.shape[1] + 8) * max(degree, 1.0) + ROUNDINGS) * np.broadcast_to(size, own.shape)
        values = values + (diagonal * own)[:, None]
        radius = (
            radius + (abs(diagonal) * spread + 4.0 * UNIT * np.abs(own))[:, None] + 4.0 * UNIT * np.abs(values)
        ) * FEW
    return values, radius


def _linear(X: Matrix, ws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """⟨w, x⟩ of each w: (q, k) each."""
    space = LinearSpace(as_row_source(X))
    nothing = np.zeros(X.shape[0])
    parts = [space.measured(Primal(w, None), nothing, nothing).values for w in ws]
    return np.column_stack([part.high for part in parts]), np.column_stack([part.radius for part in parts])


def _by_kernel(model: Any, X: Matrix, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Σ c_j K(x_j, x) of each column of coef (s, k): (q, k) each."""
    kernel, s, q = model.kernel, len(coef), X.shape[0]
    if not s:
        return np.zeros((q, coef.shape[1])), np.zeros((q, coef.shape[1]))
    if isinstance(kernel, (RBF, Polynomial, Sigmoid)):
        both = (
            sp.vstack([model.vectors, X], format="csr") if sp.issparse(X) else np.vstack([as_dense(model.vectors), X])
        )
        space = kernel_space(kernel, both)
        columns = np.vstack([coef, np.zeros((q, coef.shape[1]))])
        nothing = np.zeros(len(columns))
        parts = [
            space.measured(Primal(None, c), np.ascontiguousarray(c), nothing).values
            for c in np.ascontiguousarray(columns.T)
        ]
        return np.column_stack([part.high[s:] for part in parts]), np.column_stack([part.radius[s:] for part in parts])
    K = as_dense(X)[:, model.vectors] if isinstance(kernel, Precomputed) else kernel(X, model.vectors)
    radius = gamma(s + 4) * (np.abs(K) @ np.abs(coef)) + s * UNDERFLOW
    return np.asarray(K @ coef), radius * FEW


def _in_ball(model: Any, X: Matrix) -> tuple[FloatArray, FloatArray]:
    """R² − ‖x − c‖²: (q, 1) each, (BALL.2)."""
    low, high = BallSpace(as_row_source(X), model.w / 2.0).levels.bounds
    square = model.radius * model.radius
    values = square - (low + high)
    radius = (high - low) + 8.0 * UNIT * (square + high)
    return values[:, None], radius[:, None] * FEW
