"""The fast road where all samples are too many for one Gram matrix, and those of two classes are not: pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.grid.progress import run_tasks
from qpsvm.multiclass.bulk import solve_in_bulk
from qpsvm.multiclass.split import Split
from qpsvm.multiclass.together import Results, Together
from qpsvm.result import SVMResult


def solve_apart(split: Split, tol: float, n_jobs: int | None) -> Together | None:
    """Solve the machines of pairs, each in bulk by itself."""
    P = len(split.pairs)
    if split.machine == "NuSVM":
        for p in range(P):
            split.bare(p)  # is ν feasible?
    found = [each for (each,) in run_tasks(_solved, [(split, p, tol) for p in range(P)], [1] * P, n_jobs, False)]
    if any(together is None for together, _ in found):
        return None
    parts = [(together, rows) for together, rows in found if together is not None]
    singles = [together for together, _ in parts]
    return Together(
        classes=split.labels, machines=split.pairs, coef=_spread(parts, split.n),
        b=_joined([each.b for each in singles]), rho=_joined([each.rho for each in singles]),
        w=None if singles[0].w is None else np.vstack([each.w for each in singles if each.w is not None]),
        gap=_joined([each.gap for each in singles]), status=[each.status[0] for each in singles],
        iterations=np.concatenate([each.iterations for each in singles]), solver=singles[0].solver,
        message="; ".join(each.message for each in singles if each.message),
        results=Results(P, First([each.results for each in singles])),
    )  # fmt: skip


def _solved(split: Split, p: int, tol: float) -> list[tuple[Together | None, IntArray]]:
    part, rows = split.alone(p)
    return [(solve_in_bulk(part, tol, apart=True), rows)]


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate(parts)


def _spread(parts: list[tuple[Together, IntArray]], n: int) -> sp.csr_array:
    """Coefficients over some of the rows, one machine each, as a matrix over all rows."""
    columns = [rows[together.coef.indices] for together, rows in parts]
    ends = np.cumsum([0, *(len(each) for each in columns)])
    values = np.concatenate([together.coef.data for together, _ in parts])
    return sp.csr_array((values, np.concatenate(columns), ends), shape=(len(parts), n))


@dataclass(frozen=True, eq=False)
class First:
    """The results of machines that were solved apart: the only one of each."""

    parts: list[Sequence[SVMResult]]

    def __call__(self, p: int) -> SVMResult:
        """Of one of them."""
        return self.parts[p][0]
