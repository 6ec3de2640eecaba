"""Tables that nobody tuned on: kinds of samples that real tables have and clouds do not, from fixed seeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from benchmarks.samples import FloatArray, Samples, Source
from benchmarks.suite import PENALTIES, Suite
from benchmarks.summary import PACKAGES, PEERS, SCIKIT_LEARN
from benchmarks.tasks import Task

Kind = Literal["heavy tails", "counts", "categories", "unbalanced", "duplicates", "few features", "many features"]
#: Degrees of freedom of heavy tails: the mean exists, the variance does not.
HEAVY = 1.5
#: Values that a category takes.
LEVELS = 12
#: So many rows share one of duplicated ones, with labels of their own.
COPIES = 20
#: Share of the rarer label.
RARE = 0.03
#: Directions that many features vary in.
FACTORS = 20


@dataclass(frozen=True)
class GeneratedTable:
    """Samples of a kind.

    heavy tails : Student's t, some rows a thousand times as long as others.
    counts : Poisson with rates that differ by orders of magnitude, not scaled.
    categories : d // 12 categories one-hot, sparse.
    unbalanced : 3 % of one label, which the features hardly tell.
    duplicates : every row about twenty times, under both labels.
    few features : squares of a chessboard in the first two, noise in the others.
    many features : more columns than rows tell apart, from twenty factors.
    """

    kind: Kind
    n: int
    d: int
    seed: int

    def load(self) -> Samples:
        rng = np.random.default_rng(self.seed)
        X = getattr(self, f"_{self.kind.replace(' ', '_')}")(rng)
        return X, self._draw_labels(X, rng)

    def _draw_labels(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """By a random direction and noise as strong as itself; by the squares where features are few."""
        if self.kind == "few features":
            square = np.floor(X[:, 0]) + np.floor(X[:, 1])
            y = np.where(square % 2 == 0, 1.0, -1.0)
            y[rng.random(self.n) < 0.1] *= -1
            return y
        score = np.asarray(X @ rng.standard_normal(self.d))
        score = (score - np.median(score)) / (np.median(np.abs(score - np.median(score))) + 1e-12)
        noise = 4.0 if self.kind == "unbalanced" else 1.0
        score = np.clip(score, -5.0, 5.0) + noise * rng.standard_normal(self.n)
        share = RARE if self.kind == "unbalanced" else 0.4
        return np.where(score > np.quantile(score, 1.0 - share), 1.0, -1.0)

    def _heavy_tails(self, rng: np.random.Generator) -> FloatArray:
        return np.asarray(rng.standard_t(HEAVY, size=(self.n, self.d)))

    def _counts(self, rng: np.random.Generator) -> FloatArray:
        rates = np.exp(rng.normal(0.0, 2.0, self.d))
        return rng.poisson(rates * np.exp(rng.normal(0.0, 0.7, (self.n, 1)))).astype(float)

    def _categories(self, rng: np.random.Generator) -> sp.csr_matrix:
        """Levels are the rarer the higher."""
        columns = self.d // LEVELS
        shares = 1.0 / np.arange(1, LEVELS + 1)
        drawn = rng.choice(LEVELS, size=(self.n, columns), p=shares / shares.sum()) + LEVELS * np.arange(columns)
        ends = np.arange(0, drawn.size + 1, columns, dtype=np.int32)
        entries = (np.ones(drawn.size), drawn.ravel().astype(np.int32), ends)
        return sp.csr_matrix(entries, shape=(self.n, self.d))

    def _unbalanced(self, rng: np.random.Generator) -> FloatArray:
        return rng.standard_normal((self.n, self.d))

    def _duplicates(self, rng: np.random.Generator) -> FloatArray:
        rows = np.round(rng.standard_normal((self.n // COPIES, self.d)), 1)
        return rows[rng.integers(len(rows), size=self.n)]

    def _few_features(self, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(-2.0, 2.0, size=(self.n, self.d))

    def _many_features(self, rng: np.random.Generator) -> FloatArray:
        factors = rng.standard_normal((self.n, FACTORS)) @ rng.standard_normal((FACTORS, self.d))
        return np.asarray(factors / np.sqrt(FACTORS) + 0.3 * rng.standard_normal((self.n, self.d)))


#: Kind, columns, rows for a kernel and for a linear machine.
SIZES: tuple[tuple[Kind, int, int, int], ...] = (
    ("heavy tails", 20, 3000, 20_000), ("counts", 50, 4000, 10_000), ("categories", 240, 5000, 20_000),
    ("unbalanced", 15, 5000, 20_000), ("duplicates", 10, 4000, 10_000), ("few features", 2, 8000, 20_000),
    ("few features", 3, 4000, 10_000), ("many features", 1500, 1000, 2000),
)  # fmt: skip
#: Of the same tables in the quick set.
QUICK = (("heavy tails", 5, 200, 200), ("categories", 36, 200, 200))


def build_kinds_suite(data: Path, quick: bool) -> Suite:
    """(g) Kinds of tables that were not looked at when anything was tuned."""
    del data
    tasks = []
    for kind, d, few, many in QUICK if quick else SIZES:
        for C in (1.0,) if quick else PENALTIES:
            for kernel, intercept, n in (("rbf", "free", few), ("linear", "free", many), ("linear", "penalised", many)):
                source: Source = GeneratedTable(kind, n, d, seed=100 + d)  # type: ignore[arg-type]
                variant = "hinge" if intercept == "penalised" else "c"
                facts = {"data": f"{kind}, d = {d}", "n": n, "d": d, "C": C, "intercept": intercept,
                         "variant": variant, "kernel": kernel}  # fmt: skip
                title = f"{kind}, {n} × {d}, {kernel}, C = {C:g}, {intercept} intercept"
                machine = {"variant": variant, "kernel": kernel, "intercept": intercept, "gamma": "scale"}
                tasks.append(Task(title, source, facts, C=C, **machine))  # type: ignore[arg-type]
    return Suite(
        "kinds", "Heavy tails, counts, categories, unbalanced labels that the features hardly tell, duplicates, few "
        "features and many, generated, not scaled; linear and RBF.",
        tuple(tasks), ("qpsvm", *SCIKIT_LEARN, *PACKAGES, *PEERS, "piqp"), seconds=4.0, budget=3.0,
        most_rows={"libsvm": 1000, "SVC": 10_000, "sklearnex SVC": 10_000, "piqp": 2000},
    )  # fmt: skip
