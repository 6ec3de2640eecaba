"""Rank the backends that "auto" tries (`rank_backends`).

| machine                                 | first                | then                                 |
|-----------------------------------------|----------------------|--------------------------------------|
| linear, few rows, or more features      | kernel_newton        | augmented_lagrangian, interior_point |
| linear, small                           | interior_point       | augmented_lagrangian, kernel_newton  |
| linear                                  | augmented_lagrangian | interior_point, kernel_newton        |
| another kernel                          | kernel_newton        | interior_point                       |

Backends that do not accept the machine, or are not installed, are skipped. CVXOPT, registered backends and CVXPY
follow, which share no code with these. The next backend is tried if the one before it does not support the limits
requested, or if its point could not be certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.backends import registry
from qpsvm.backends.base import Backend
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.requirements import Size
from qpsvm.backends.traits import find_problem_traits
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameter_checks import Form

#: A linear machine has few rows up to this number, unless Σ_i C_i K_ii is larger than the second: then most of them
#: are free or change sides, and their Gram matrix is singular. Wide ones have at most the third number of rows, and at
#: least as many features.
FEW_ROWS, MAX_FEW_ROWS_SCALE, WIDE_ROWS = 300, 8000.0, 1000
#: It is small up to this many rows and this n d², the products of an interior-point iteration: some 30 ms for any C.
SMALL_ROWS, SMALL_SYSTEM = 2000, 3e7
#: Rows up to which CVXOPT, which nothing can stop, has a turn: on the dual some 3 s, on the primal of a kernel as long.
DUAL_ROWS, PRIMAL_ROWS = 2000, 400
#: Rows of a kernel machine up to which CVXPY has one.
CVXPY_ROWS = 4000


@dataclass(frozen=True)
class Candidate:
    """A backend that "auto" may try.

    form: Which of the two QPs; None for the one that it prefers.
    max_rows: Rows up to which it has a turn.
    """

    backend: str
    form: Form | None = None
    max_rows: float = math.inf

    @property
    def backend_object(self) -> Backend:
        """The backend object."""
        return registry.get(self.backend)

    def __str__(self) -> str:
        return self.backend if self.form is None else f"{self.backend} on the {self.form} form"

    def is_eligible(self, problem: Problem, size: Size) -> bool:
        """Return whether the backend is installed, not for study only, and accepts the machine."""
        if size.rows > self.max_rows or (
            self.backend not in registry.REGISTRY and self.backend not in registry.EXTERNAL_BACKENDS
        ):
            return False
        can, form = self.backend_object.abilities, self.form or self.backend_object.preferred_form(size.is_linear)
        return (
            not can.is_educational
            and can.accepts(find_problem_traits(problem), size.rows, form)
            and bool(self.backend_object.version())
        )


def rank_backends(problem: Problem) -> Iterator[Candidate]:
    """Yield the backends that accept a problem, the first choice first; each is evaluated only when requested."""
    size = measure_size(problem)
    outside = [Candidate(name) for name in registry.EXTERNAL_BACKENDS if name in registry.EXTERNAL_FOR_AUTO]
    order = _order_for_linear(problem, size, outside) if size.is_linear else _order_for_kernel(size, outside)
    return (choice for choice in order if choice.is_eligible(problem, size))


def _order_for_linear(problem: Problem, size: Size, outside: list[Candidate]) -> list[Candidate]:
    """Return the order of backends for a linear machine."""
    newton, interior, augmented = map(Candidate, ("kernel_newton", "interior_point", "augmented_lagrangian"))
    n, d = size.rows, size.features
    few = n <= FEW_ROWS and _estimate_objective_scale(problem) <= MAX_FEW_ROWS_SCALE
    wide = n <= d and (n <= WIDE_ROWS or not augmented.is_eligible(problem, size))
    if few or wide:
        ours = [newton, augmented, interior]
    elif n <= SMALL_ROWS and n * d**2 <= SMALL_SYSTEM:
        ours = [interior, augmented, newton]
    else:
        ours = [augmented, interior, newton]
    return [*ours, Candidate("cvxopt", "dual", DUAL_ROWS), *outside, Candidate("cvxpy")]


def _order_for_kernel(size: Size, outside: list[Candidate]) -> list[Candidate]:
    """Return the order for another kernel; where a row combines several samples, as pairs do, the primal is smaller."""
    smaller: Form | None = "primal" if size.samples else None
    exact = [Candidate("cvxopt", "dual", DUAL_ROWS), Candidate("cvxopt", "primal", PRIMAL_ROWS)]
    ours = [Candidate("kernel_newton"), Candidate("interior_point", smaller)]
    return [*ours, *exact, *outside, Candidate("cvxpy", smaller, CVXPY_ROWS)]


def _estimate_objective_scale(problem: Problem) -> float:
    """Return Σ C_i times the mean of K_ii, or Σ 1/δ_i of losses with curvature: a number without a unit.

    0 where α has no bound, and where its total is given, as in a ν-SVM: there C says little of it.
    """
    svm = problem._dual_structure
    if svm.is_homogeneous or (not svm.is_bounded and not (svm.has_curvature and bool((svm.curvature > 0.0).all()))):
        return 0.0
    return float(np.add.reduce(svm.upper if svm.is_bounded else 1.0 / svm.curvature)) * problem.space.scale
