"""Define machines that the library does not have: duals given row by row, with any levels, bounds and curvatures.

A row of `StatedProblem` may have no bound (squared hinge), a bound and a curvature (Huber hinge), or neither (a hard
row, U = ∞ and δ = 0), and rows of several kinds may be mixed. `StatedRanking` has the same for rows that are pairs of
samples. `draw_stated` and `draw_stated_pairs` draw such a problem for a seed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hostile import BACKENDS, TOLERANCES, examine_solve

import qpsvm
from qpsvm.data.samples import build_binary_samples
from qpsvm.program.specification import Specification


class StatedProblem(qpsvm.Problem):
    """The machine of a dual that is given row by row: one number for all rows, or one per row."""

    _primal_notation = ("", "½ {norm} + Σ ψ_i(t_i)", "y_i {f} ≥ ℓ_i − ξ_i")

    def __init__(
        self, X: Any, y: Any, level: Any = 1.0, upper: Any = np.inf, curvature: Any = 0.0, intercept: Any = "free",
        kernel: Any = "linear",
    ) -> None:  # fmt: skip
        super().__init__(build_binary_samples(X, y), kernel, intercept, "raise")
        self.stated = {"level": level, "upper": upper, "curvature": curvature}

    @property
    def title(self) -> str:
        """The rows, in words."""
        return f"stated, intercept {self.intercept}, {self.stated}"

    def _build_specification(self) -> Specification:
        return Specification(self._active_target, **{name: as_floats(value) for name, value in self.stated.items()})


class StatedRanking(qpsvm.Ranking):
    """The machine of a dual over pairs of samples that is given pair by pair."""

    _primal_notation = ("", "½ {norm} + Σ ψ_k(t_k)", "wᵀ(x_i − x_j) ≥ ℓ_k − ξ_k")

    def __init__(self, X: Any, pairs: Any, level: Any = 1.0, upper: Any = np.inf, curvature: Any = 0.0) -> None:
        super().__init__(X, pairs=pairs)
        self.stated = {"level": level, "upper": upper, "curvature": curvature}

    def _build_specification(self) -> Specification:
        return replace(
            super()._build_specification(), **{name: as_floats(value) for name, value in self.stated.items()}
        )


def as_floats(value: Any) -> Any:
    """Return a float, or an array of floats."""
    return np.array(value, float) if np.ndim(value) else float(value)


def draw_stated(seed: int) -> tuple[StatedProblem, dict[str, Any]]:
    """Draw a machine over 2 to 12 samples of small integers in units of any size, and the options of its solve."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    X = (rng.integers(-8, 9, (n, d)) + rng.choice([0, 2, 12]) * y[:, None]) * 2.0 ** int(rng.choice([0, 0, -20, 15]))
    if rng.random() < 0.2:
        X = X * rng.uniform(0.5, 1.5, (n, d)) + rng.choice([0.0, 1e4])
    vectors = draw_rows(rng, n)
    intercept = [None, "free", "free", "free", "penalised"][int(rng.integers(5))]
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    return StatedProblem(X, y, *vectors, intercept), options


def draw_stated_pairs(seed: int) -> tuple[StatedRanking, dict[str, Any]]:
    """Draw a ranking over pairs of 2 to 8 samples, some repeated or reversed, and the options of its solve."""
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 15))
    X = rng.integers(-8, 9, (n, d)) * 2.0 ** int(rng.choice([0, 0, -20, 15]))
    if rng.random() < 0.6:
        X = X * rng.uniform(0.5, 1.5, (n, d)) + rng.choice([0.0, 1e4, 1e8, 1e12]) * rng.choice([1.0, 1.0 / 3.0])
    first = rng.integers(0, n, m)
    pairs = np.column_stack([first, (first + rng.integers(1, n, m)) % n])
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    return StatedRanking(X, pairs, *draw_rows(rng, m)), options


def draw_rows(rng: np.random.Generator, m: int) -> list[Any]:
    """Draw levels, upper bounds and curvatures of m rows: a number or a vector each."""
    C = 10.0 ** rng.uniform(-8, 8)
    curvature = np.full(m, 0.5 / C)
    upper = np.full(m, np.inf)
    kind = str(rng.choice(["squared", "squared", "huber", "mixed", "hard rows", "hard rows"]))
    if kind == "huber":
        curvature = np.full(m, 10.0 ** rng.uniform(-3, 3) / C)
        upper = np.full(m, C)
    elif kind == "mixed":
        upper = np.where(rng.random(m) < 0.5, C * rng.uniform(0.1, 1, m), np.inf)
        curvature = np.where((rng.random(m) < 0.5) & np.isfinite(upper), 0.0, curvature * rng.uniform(0.1, 10, m))
    elif kind == "hard rows":
        curvature[rng.permutation(m)[: rng.integers(1, m + 1)]] = 0.0
    level: Any = rng.choice([1.0, 1.0, 0.5, 3.0, 0.0, -1.0])
    if rng.random() < 0.4:
        if rng.random() < 0.5:
            level = rng.choice([0.0, 0.25, 1.0, 2.0, -1.0], m)
        else:
            level = rng.uniform(0.1, 3, m)
    return [level, *(part[0] if (part == part[0]).all() else part for part in (upper, curvature))]


def examine_stated_seed(seed: int, draw: Any = draw_stated) -> list[str]:
    """List everything that is wrong with the claims about the machine of a seed."""
    return examine_solve(*draw(seed))[1]
