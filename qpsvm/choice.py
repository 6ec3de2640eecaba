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
| other  | interior_point, osqp | n > 4000                 | n³ as well, and they can be stopped                    |

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
from qpsvm.costs import Cost, Size, cost
from qpsvm.problems import NuSVM, Problem
from qpsvm.problems.forms import Form

#: Rows up to which exact methods take the dense dual.
DENSE_ROWS = 4000
#: All followers together may take this many times what the first choice took, and that counts as at least so long.
FOLLOWERS, FLOOR = 3.0, 1.0


@dataclass(frozen=True)
class Choice:
    """A backend, the form it is wanted in (None: the one it prefers), and the estimate, where there is one."""

    backend: str
    form: Form | None = None
    cost: Cost | None = None

    @property
    def seconds(self) -> float:
        """The estimate; 0 where there is none."""
        return 0.0 if self.cost is None else self.cost.seconds

    def __str__(self) -> str:
        form = "" if self.form is None else f" on the {self.form} form"
        cost = "" if self.cost is None else f" (about {self.seconds:.2g} s)"
        return f"{self.backend}{form}{cost}"


#: For kernels, with as many rows as the dense dual takes, and more.
DENSE: tuple[tuple[str, Form | None], ...] = (
    ("kernel_newton", None), ("cvxopt", "dual"), ("cvxopt", "primal"), ("interior_point", None), ("cvxpy", None),
)  # fmt: skip
LARGE: tuple[tuple[str, Form | None], ...] = (("kernel_newton", None), ("interior_point", None), ("osqp", None))
NU: tuple[str, Form | None] = ("libsvm", None)


def choices(problem: Problem) -> list[Choice]:
    """The backends for a problem, the first choice first."""
    size = size_of(problem)
    if size.linear:
        ranked = sorted(_linear(size), key=lambda choice: choice.seconds)
        return [*ranked, Choice("cvxpy", None, cost("cvxpy", "primal", size))]
    others = DENSE if size.rows <= DENSE_ROWS else LARGE
    names = (NU, *others) if isinstance(problem, NuSVM) else others
    return [Choice(name, form, cost(name, form or "dual", size)) for name, form in names]


def size_of(problem: Problem) -> Size:
    """What the cost of a problem follows from."""
    X = problem.X
    n, sparse = len(problem.labels), bool(sp.issparse(X))
    return Size(n, X.shape[1], X.nnz if sparse else X.size, sparse, problem.space.is_linear)


def _linear(size: Size) -> list[Choice]:
    """The table's estimates for a linear machine."""
    names: list[tuple[str, Form | None]] = [("augmented_lagrangian", None), ("interior_point", None)]
    if size.rows <= LARGEST_GRAM:
        names.append(("kernel_newton", None))
    if size.rows <= DENSE_ROWS:
        names.append(("cvxopt", "dual"))
    return [Choice(name, form, cost(name, form or "dual", size)) for name, form in names]


class Followers:
    """Whether a further choice may start: all together only so long as it is in proportion to what the first took.

    Parameters
    ----------
    first : float
        Seconds that the first choice took.
    """

    def __init__(self, first: float) -> None:
        self.left = FOLLOWERS * max(first, FLOOR)

    def spend(self, seconds: float) -> None:
        """Count what a follower took."""
        self.left -= seconds

    def refuse(self, estimate: Cost) -> str | None:
        """Why one is not tried, in words; None where it may be."""
        return f"about {in_seconds(estimate.seconds)}" if estimate.seconds > self.left else None


def in_seconds(seconds: float) -> str:
    """An estimate of seconds, for people: one digit and its size is all that it is worth."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"
