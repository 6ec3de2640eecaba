"""Which backend `auto` takes: by structure, and by what it will cost.

| kernel | backend              | applies to               | seconds, on one core of an AVX-512 machine             |
|--------|----------------------|--------------------------|--------------------------------------------------------|
| linear | augmented_lagrangian | C-SVM, hinge             | 5e-3 + 8e-9 z + 1e-9 min(n, 3000) d z/n: passes        |
| linear | interior_point       | every variant            | 2e-3 + 8e-7 n + 20 n d (2e-9 + 3e-11 d): factorisations |
| linear | kernel_newton        | free intercept, n ≤ 8000 | (1e-3 + 2e-8 n² + 2.5e-11 n z) · (10 if n > 2.5 d)     |
| linear | cvxopt, dual         | n ≤ 4000                 | 2e-3 + 6e-11 n³ + 2.5e-11 n z: the dense dual          |
| other  | kernel_newton        | C-SVM, hinge, free       | parts of the Gram matrix: always the first choice      |
| other  | libsvm               | ν-SVM                    | its first choice; what it leaves, polishing takes      |
| other  | cvxopt, both forms   | n ≤ 4000                 | n³ an iteration; exact, and independent of the first   |
| other  | osqp                 | n > 4000                 | one factorisation, cheap iterations                    |

n rows, d features, z entries that are not zero (in sparse products each counts as `SPARSE_FACTOR`). Up to n = 2d rows
nearly every labelling is separable (Cover 1965), and a Gram matrix and a few steps are enough; beyond, classes overlap
while the Gram matrix is singular, and LIBSVM's loop takes long where C is large. The cheapest comes first; the others
follow in the order of their cost and take over where one cannot take the variant or the limits asked for, or where the
certificate says no. The constants are medians of measurements; only their ratios matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from qpsvm.backends.kernel_newton_ import LARGEST_GRAM
from qpsvm.problems import NuSVM, Problem
from qpsvm.problems.base import Form

#: Rows up to which exact methods take the dense dual.
DENSE_ROWS = 4000
#: Non-zeros a second of a sparse product, beside the entries of a dense one.
SPARSE_FACTOR = 20.0
#: Samples a feature from which classes overlap, and what that costs a method that works on the Gram matrix.
CROWDED, CROWDED_FACTOR = 2.5, 10.0


@dataclass(frozen=True)
class Choice:
    """A backend, the form it is wanted in (None: the one it prefers), and the estimate, where there is one."""

    backend: str
    form: Form | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        form = "" if self.form is None else f" on the {self.form} form"
        cost = "" if self.seconds is None else f" (about {self.seconds:.2g} s)"
        return f"{self.backend}{form}{cost}"


#: For kernels, with as many rows as the dense dual takes, and more.
DENSE = (
    Choice("kernel_newton"), Choice("cvxopt", "dual"), Choice("cvxopt", "primal"), Choice("interior_point"),
    Choice("cvxpy"),
)  # fmt: skip
LARGE = (Choice("kernel_newton"), Choice("osqp"))
NU = Choice("libsvm")


def choices(problem: Problem) -> list[Choice]:
    """The backends for a problem, the first choice first."""
    n = len(problem.labels)
    if problem.space.is_linear:
        X = problem.X
        d, entries = X.shape[1], X.nnz if sp.issparse(X) else X.size
        estimates = _linear(n, d, entries, SPARSE_FACTOR if sp.issparse(X) else 1.0)
        ranked = sorted(estimates, key=lambda choice: choice.seconds or 0.0)
        return [*ranked, Choice("cvxpy")]
    others = list(DENSE if n <= DENSE_ROWS else LARGE)
    return [NU, *others] if isinstance(problem, NuSVM) else others


def _linear(n: int, d: int, entries: int, factor: float) -> list[Choice]:
    """The table's estimates for a linear machine."""
    found = [
        Choice("augmented_lagrangian", None, 5e-3 + 8e-9 * factor * entries + 1e-9 * min(n, 3000) * d * entries / n),
        Choice("interior_point", None, 2e-3 + 8e-7 * n + 20.0 * n * d * (2e-9 + 3e-11 * d)),
    ]
    if n <= LARGEST_GRAM:
        crowded = CROWDED_FACTOR if n > CROWDED * d else 1.0
        found.append(Choice("kernel_newton", None, crowded * (1e-3 + n * n * 2e-8 + n * 2.5e-11 * factor * entries)))
    if n <= DENSE_ROWS:
        found.append(Choice("cvxopt", "dual", 2e-3 + 6e-11 * n**3 + n * 2.5e-11 * factor * entries))
    return found
