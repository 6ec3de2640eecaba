"""Bound f of every optimum at new points x (`NearFunction`).

By (OPTIMA.3) of `near_optimum` it is in f(x) ± R‖φ(x) − o‖ + [Δ], for any origin o, near the samples if it may be
chosen. These are the bounds of the distances from o, also those of the samples (`OriginDistances`), and of f:

    (PLACE.1)  linear: ‖x − o‖, o the mean of the samples if b is free and they are dense, else 0
    (PLACE.2)  RBF: 1, or with a free b √(2 − 2K(x, z)) from o = φ(z), z the mean of the samples, if that is less
    (PLACE.3)  any other kernel: √K(x, x);  for a matrix its diagonal, which the user has to give for new points
    (PLACE.4)  f(x) = Σ c_j K(x_j, x) + b, with the error (KSUM.1) and the rounding of adding b; values of user-defined
               kernels count as exact

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, bound_row_norms, gamma
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import FileFormatError
from qpsvm.bounds.proof.classes import ExactClassSpace
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.kernels.points import KernelSpace, build_space_of_samples
from qpsvm.bounds.proof.kernels.values import MatrixValues
from qpsvm.bounds.proof.spaces import BallSpace, LinearSpace, PointValues, Space
from qpsvm.data.rows import as_row_source
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.space.kernels.kernel import squared_norms

#: Roundings of exp, and of a power.
FUNCTION_ROUNDINGS = 16
#: Largest number of numbers that are processed at a time: new points and their kernel values.
BLOCK_NUMBERS = 4_000_000


class OriginDistances:
    """The origin o, and the distances ρ of (OPTIMA.2) of the samples from it.

    kernel: The kernel for new points; linear if they are given by coordinates.
    can_choose: Whether o may be chosen: there is a free intercept, and no linear constraints.
    origin: o in the space of the samples, (d,); None if it is 0.
    sample_distances (n,): Upper bounds of ρ of the samples.
    """

    def __init__(self, space: Space, kernel: Kernel, can_choose: bool) -> None:
        self.kernel = kernel
        self.n_classes = 1
        self.origin: FloatArray | None = None
        if isinstance(space, ExactClassSpace):
            self.n_classes, space = space.k, space.space
        if isinstance(space, BallSpace):
            self.origin = space.centre
        elif isinstance(space, LinearSpace):
            if can_choose and not space.rows.is_sparse:
                self.origin = np.asarray(space.rows.means(), dtype=np.float64)
        else:
            assert isinstance(space, KernelSpace)
            self._set_kernel_distances(space, can_choose)
            return
        blocks = (piece for block in space.rows.blocks() for piece in block.iter_tiles())
        self.sample_distances = np.concatenate([_bound_lengths(piece.matrix, self.origin) for piece in blocks])

    def _set_kernel_distances(self, space: KernelSpace, can_choose: bool) -> None:
        """Set `sample_distances` and `origin` for a kernel machine, (PLACE.2), (PLACE.3)."""
        values = space.kernel_values
        if isinstance(values, MatrixValues):
            self.sample_distances = np.sqrt(np.maximum(values.K.diagonal(), 0.0)) * FEW_ROUNDINGS
            return
        X: Matrix = values.X  # type: ignore[attr-defined]
        self.sample_distances = values.sizes
        if isinstance(self.kernel, RBF) and can_choose and not sp.issparse(X) and len(self.sample_distances):
            self.origin = X.mean(axis=0)
            distances = _bound_rbf_distances(self.kernel, X, self.origin)
            if distances.max() < 1.0:
                self.sample_distances = distances
            else:
                self.origin = None

    def bound_row_distances(self, program: ExactDual) -> FloatArray:
        """Return upper bounds of the distances of the rows of a program: (m,)."""
        distances = np.repeat(self.sample_distances, self.n_classes)
        if program.mix is not None:  # a row is a combination of samples
            longest = int(np.diff(program.mix.indptr).max(initial=0))
            return np.asarray((abs(program.mix) @ distances) * (1.0 + gamma(longest + 4)))
        return distances if program.rows is None else distances[program.rows]


@dataclass(frozen=True, eq=False)
class NearFunction:
    """Bounds (OPTIMA.3) of f of every exact optimum at new points, which do not need the samples.

    radius: R.
    shift: Interval of Δ, the change of the intercept.
    in_ball: Contribution of a penalised intercept to ‖φ(x)‖².
    size: Factor of f, in units of (DUAL.1).
    origin: o, (d,), in the space of the samples; None if it is 0.
    """

    radius: float
    shift: tuple[float, float]
    in_ball: float
    size: float
    origin: FloatArray | None

    def __call__(
        self, model: Any, samples: Matrix, diagonal: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return lower bounds, upper bounds and f of a model at checked samples (q, d): (q, k) each.

        diagonal: K(x, x) for a kernel matrix, (q,); else None.
        """
        if isinstance(model.kernel, FeatureMap) and model.w is not None:
            samples = model.kernel.features(samples)
            model = model.linear_model
        with np.errstate(all="ignore"):
            f, rounding = enclose_decision_values(model, samples, diagonal)
            distances = bound_distances(model.kernel, self.origin, samples, diagonal)
            radius = self.radius * np.sqrt(distances * distances + self.in_ball) * FEW_ROUNDINGS
            radius = np.where(np.isnan(radius), np.inf, radius)[:, None] * self.size + rounding
            low, high = self.shift
            lower, upper = f - radius + self.size * low, f + radius + self.size * high
            slack = 8.0 * UNIT * (np.abs(f) + radius + self.size * max(abs(low), abs(high)))
            lower, upper = lower - slack, upper + slack
        return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper), f

    def record(self) -> dict[str, Any]:
        """Return the attributes as JSON values, with None for infinity."""
        numbers = {"radius": self.radius, "low": self.shift[0], "high": self.shift[1]}
        finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        origin = None if self.origin is None else self.origin.tolist()
        return {**finite, "in_ball": self.in_ball, "size": self.size, "origin": origin}

    @classmethod
    def from_record(cls, record: Any, d: int) -> NearFunction:
        """Build the function from a `record` of a model with d features. Raises FileFormatError."""
        try:
            low, high, radius = (
                end if record[name] is None else float(record[name])
                for name, end in (("low", -math.inf), ("high", math.inf), ("radius", math.inf))
            )
            stored = record["origin"]
            origin = None if stored is None else np.array(stored, dtype=np.float64)
            in_ball, size = float(record["in_ball"]), float(record["size"])
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the model's bounds are damaged: {error}") from error
        fits = origin is None or (origin.shape == (d,) and np.isfinite(origin).all())
        if not (fits and radius >= 0.0 and low <= high and 0.0 <= in_ball < math.inf and 0.0 < size < math.inf):
            raise FileFormatError("the model's bounds are not of this version")
        return cls(radius, (low, high), in_ball, size, origin)


def bound_distances(kernel: Kernel, origin: FloatArray | None, X: Matrix, diagonal: FloatArray | None) -> FloatArray:
    """Return upper bounds of ‖φ(x) − o‖ of new points X (q, d): (q,).

    diagonal: K(x, x) for a kernel matrix, (q,); else None.
    """
    if diagonal is not None:
        return np.sqrt(np.maximum(diagonal, 0.0)) * FEW_ROUNDINGS
    if isinstance(kernel, Linear):
        return _bound_lengths(X, origin)
    if isinstance(kernel, RBF):
        if origin is None:
            return np.ones(X.shape[0])
        return _bound_rbf_distances(kernel, X, origin)
    if isinstance(kernel, (Polynomial, Sigmoid)):
        return np.asarray(build_space_of_samples(kernel, X).kernel_values.sizes)
    return np.sqrt(np.maximum(kernel.diagonal(X), 0.0)) * FEW_ROUNDINGS


def _bound_rbf_distances(kernel: RBF, X: Matrix, origin: FloatArray) -> FloatArray:
    """Return upper bounds of √(2 − 2K(x, z)), for z = origin: (q,)."""
    exponents = squared_norms(as_dense(X) - origin) * float(kernel.gamma)
    squares = -2.0 * np.expm1(-exponents * (1.0 + gamma(X.shape[1] + 8))) * (1.0 + FUNCTION_ROUNDINGS * UNIT)
    return np.asarray(np.sqrt(squares) * FEW_ROUNDINGS + math.sqrt(X.shape[1] * UNDERFLOW))


def _bound_lengths(X: Matrix, origin: FloatArray | None) -> FloatArray:
    """Return upper bounds of ‖x − o‖: (q,)."""
    differences = X if origin is None else as_dense(X) - origin
    return np.asarray(bound_row_norms(squared_norms(differences), X.shape[1]) * FEW_ROUNDINGS)


def enclose_decision_values(model: Any, X: Matrix, kernel_diagonal: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return f of a model at checked samples (q, d), and its radius, (PLACE.4): (q, k) each.

    kernel_diagonal: K(x, x) for a kernel matrix, (q,); else None.
    """
    if getattr(model, "radius", None) is not None:
        return _enclose_ball_values(model, X)
    b = np.atleast_1d(np.asarray(model.b, dtype=np.float64))
    weights = None if model.w is None else np.atleast_2d(model.w)
    coef = model.coef if model.coef.ndim == 2 else model.coef[:, None]
    width = X.shape[1] + (len(model.coef) if weights is None else 0)
    step = max(BLOCK_NUMBERS // max(width, 1), 1)
    blocks = (X[start : start + step] for start in range(0, X.shape[0], step))
    enclosures = [
        _enclose_kernel_values(model, block, coef) if weights is None else _enclose_linear_values(block, weights)
        for block in blocks
    ]
    u, radius = (np.concatenate(parts) for parts in zip(*enclosures, strict=True))  # u = f − b
    values = u + b
    radius = (radius + 4.0 * UNIT * (np.abs(u) + np.abs(b))) * FEW_ROUNDINGS
    factor = getattr(model, "diagonal", 0.0)  # f has a term factor·K(x, x)
    if factor:
        K, K_radius = _enclose_diagonal(model.kernel, X) if kernel_diagonal is None else (kernel_diagonal, 0.0)
        values = values + (factor * K)[:, None]
        radius = radius + (abs(factor) * K_radius + 4.0 * UNIT * np.abs(K))[:, None] + 4.0 * UNIT * np.abs(values)
        radius = radius * FEW_ROUNDINGS
    return values, radius


def _enclose_diagonal(kernel: Kernel, X: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return K(x, x) at samples (q, d), and its radius: (q,) each."""
    K = kernel.diagonal(X)
    if isinstance(kernel, Linear):
        size = squared_norms(X)
    else:
        size = np.square(1.0 if isinstance(kernel, RBF) else build_space_of_samples(kernel, X).kernel_values.sizes)
    degree = float(getattr(kernel, "degree", 1.0))
    factor = gamma((X.shape[1] + 8) * max(degree, 1.0) + FUNCTION_ROUNDINGS)
    return K, factor * np.broadcast_to(size, K.shape)


def _enclose_linear_values(X: Matrix, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ⟨w, x⟩ for each row w of `weights` (k, d), and its radius: (q, k) each."""
    space = LinearSpace(as_row_source(X))
    zeros = np.zeros(X.shape[0])
    return _stack_columns([space.measure(Primal(w, None), zeros, zeros).values for w in weights])


def _enclose_kernel_values(model: Any, X: Matrix, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ c_j K(x_j, x) for each column of coef (s, k), and its radius: (q, k) each."""
    kernel = model.kernel
    s = len(coef)
    q = X.shape[0]
    if not s:
        return np.zeros((q, coef.shape[1])), np.zeros((q, coef.shape[1]))
    if isinstance(kernel, (RBF, Polynomial, Sigmoid)):
        is_sparse = sp.issparse(X)
        S = model.vectors
        if is_sparse:
            samples = sp.vstack([S, X], format="csr")
        else:
            samples = np.vstack([as_dense(S), X])
        space = build_space_of_samples(kernel, samples)
        columns = np.vstack([coef, np.zeros((q, coef.shape[1]))])
        zeros = np.zeros(s + q)
        values = [space.measure(Primal(None, c), c, zeros).values for c in np.ascontiguousarray(columns.T)]
        u, u_radius = _stack_columns(values)
        return u[s:], u_radius[s:]
    if isinstance(kernel, Precomputed):
        K = as_dense(X)[:, model.vectors]
    else:
        K = kernel(X, model.vectors)
    radius = gamma(s + 4) * (np.abs(K) @ np.abs(coef)) + s * UNDERFLOW
    return np.asarray(K @ coef), radius * FEW_ROUNDINGS


def _stack_columns(values: list[PointValues]) -> tuple[FloatArray, FloatArray]:
    """Return values and radii of several functions as columns."""
    return np.column_stack([part.high for part in values]), np.column_stack([part.radius for part in values])


def _enclose_ball_values(model: Any, X: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return R² − ‖x − c‖² and its radius, (BALL.2): (q, 1) each."""
    low, high = BallSpace(as_row_source(X), model.w / 2.0).levels.bounds
    square = model.radius * model.radius
    values = square - (low + high)
    radius = (high - low) + 8.0 * UNIT * (square + high)
    return values[:, None], radius[:, None] * FEW_ROUNDINGS
