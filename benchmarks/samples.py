"""Where the samples of a task come from: generators with fixed seeds, scikit-learn's own tables, files.

A source is a small description that can be sent to another process; `load` makes the samples there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import datasets

from qpsvm.data.files import read_table

FloatArray = NDArray[np.float64]
Samples = tuple[Any, FloatArray]
#: Share of non-zeros from which a table is stored densely.
DENSE_FROM = 0.3
#: Rows of a generated table that are shifted at a time: a second table of its size would hide a solver's memory.
MADE_ROWS = 100_000


class Source(Protocol):
    """X (n, d), dense or CSR, and y (n,) of −1/+1, or of numbers."""

    def load(self) -> Samples: ...


@dataclass(frozen=True)
class Clouds:
    """Two Gaussian clouds whose means are `distance` apart, with some labels flipped."""

    n: int
    d: int
    flipped: float = 0.05
    distance: float = 2.0
    seed: int = 0

    def load(self) -> Samples:
        rng = np.random.default_rng(self.seed)
        y = np.where(rng.random(self.n) < 0.5, 1.0, -1.0)
        direction = rng.standard_normal(self.d)
        direction *= self.distance / 2 / np.linalg.norm(direction)
        X = rng.standard_normal((self.n, self.d))
        for i in range(0, self.n, MADE_ROWS):
            X[i : i + MADE_ROWS] += y[i : i + MADE_ROWS, None] * direction
        y[rng.random(self.n) < self.flipped] *= -1
        return X, y


@dataclass(frozen=True)
class Waves:
    """Numbers that follow a wave along one direction, a slope along another, and noise."""

    n: int
    d: int
    noise: float = 0.2
    seed: int = 0

    def load(self) -> Samples:
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.n, self.d))
        wave, slope = (rng.standard_normal((self.d, 2)) / np.sqrt(self.d)).T
        return X, np.sin(2.0 * (X @ wave)) + X @ slope + self.noise * rng.standard_normal(self.n)


@dataclass(frozen=True)
class Moons:
    """Two interleaved half circles with noise: not separable by a line, and easy for RBF."""

    n: int
    noise: float = 0.2
    seed: int = 0

    def load(self) -> Samples:
        X, y = datasets.make_moons(self.n, noise=self.noise, random_state=self.seed)
        return X, np.where(y > 0, 1.0, -1.0)


@dataclass(frozen=True)
class RandomClass:
    """A class of random sparse SVMs from the QP literature, no intercept.

    OSQP's: Stellato et al. 2020, appendix A.6, 100 samples a feature, 15 % of the entries non-zero, N(±1/n, 1/n).
    Clarabel's (Goulart and Chen 2024) is the same with 50 samples a feature and 20 %. The
    distribution is that of the published code; its numbers come from the random generators of other languages.
    """

    features: int
    per_feature: int
    density: float
    seed: int

    def load(self) -> Samples:
        rng = np.random.default_rng(self.seed)
        n = self.per_feature * self.features
        k = self.features
        y = np.repeat([-1.0, 1.0], [(n + 1) // 2, n // 2])
        drawn = rng.standard_normal
        X = sp.random_array((n, k), density=self.density, random_state=rng, format="csr", data_sampler=drawn)
        X.data = X.data / np.sqrt(k) - np.repeat(y, np.diff(X.indptr)) / k
        return sp.csr_array(X), y


@dataclass(frozen=True)
class BundledTable:
    """A table that comes with scikit-learn; of several classes, the given one against the rest."""

    name: str
    positive: int = 1
    scaling: str = "standardised"

    def load(self) -> Samples:
        X, y = getattr(datasets, f"load_{self.name}")(return_X_y=True)
        return scale_table(X, self.scaling), np.where(y == self.positive, 1.0, -1.0)


@dataclass(frozen=True)
class LibsvmFile:
    """A LIBSVM file. Labels are split at their median, so that several classes become two; or they are numbers.

    Numbers are given mean 0 and deviation 1, so that a tube of one width suits all tables.
    """

    path: Path
    scaling: str = "raw"
    target: Literal["classes", "numbers"] = "classes"

    def load(self) -> Samples:
        table = read_table(self.path)
        X = table.X
        labels = np.asarray(table.y, dtype=float)
        if self.scaling != "raw" or X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
            X = scale_table(X.toarray(), self.scaling)
        else:
            X = narrow_indices(X)
        if self.target == "numbers":
            return X, (labels - labels.mean()) / labels.std()
        middle = float(np.median(labels))
        upper = labels > middle if (labels > middle).any() else labels >= middle
        return X, np.where(upper, 1.0, -1.0)


def scale_table(X: FloatArray, scaling: str) -> FloatArray:
    """The table "raw", or "standardised": each column with mean 0 and deviation 1."""
    if scaling == "raw":
        return X
    spread = X.std(axis=0)
    standard: FloatArray = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return standard


def narrow_indices(X: Any) -> Any:
    """CSR with 32-bit indices, which is all that LIBSVM and LIBLINEAR read."""
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
