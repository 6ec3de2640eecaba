"""Rank the backends that "auto" tries (`rank_backends`).

| machine                                 | first                | then                                 |
|-----------------------------------------|----------------------|--------------------------------------|
| linear, few rows, or more features      | kernel_newton        | augmented_lagrangian, interior_point |
| linear, others                          | augmented_lagrangian | interior_point, kernel_newton        |
| another kernel                          | kernel_newton        | interior_point                       |
| another kernel, many pairs of samples   | interior_point       | kernel_newton                        |
| several classes in one program          | sequential_dual      | interior_point, or cvxopt            |
| several classes, few weights in all     | interior_point       | sequential_dual                      |

CVXOPT, registered backends and CVXPY follow; they share no code with these. Backends that are not installed or do not
accept the machine are skipped. The next backend is tried if the previous one does not support the requested limits, or
if its point could not be certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.backends import registry
from qpsvm.backends.base import Backend
from qpsvm.backends.own.class_duals import find_class_features, get_class_dual
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.requirements import Size
from qpsvm.backends.traits import find_problem_traits
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.machines.problem.problem import Problem

#: Maximum number of rows of a linear machine with few rows: in general, and with squared losses. And its maximum of
#: Σ_i C_i K_ii: above it, most α are free or keep moving between their bounds, and their Gram matrix is singular.
FEW_LINEAR_ROWS, FEW_SQUARED_ROWS, MAX_FEW_ROWS_SCALE = 300, 100, 8000.0
#: Maximum number of rows of a linear machine that counts as wide if it has at least as many features.
WIDE_ROWS = 1000
#: Maximum number of rows for CVXOPT, which cannot be interrupted: on the dual, and on the primal of a kernel machine
#: (each takes about 3 s), and on the dual of a machine of several classes (at most 1 s).
CVXOPT_DUAL_ROWS, CVXOPT_PRIMAL_ROWS, CVXOPT_CLASS_ROWS = 2000, 400, 2000
#: Largest number of pairs per sample of a ranking with a kernel whose dual is solved first, in .05 to 1.1 times the
#: time of the primal. With 20 pairs per sample it takes up to ten times as long, because its Hessian has a low rank.
MAX_PAIRS_PER_SAMPLE = 5.0
#: Maximum number of rows of a kernel machine for CVXPY.
CVXPY_ROWS = 4000
#: Products of an interior point step of a machine of several classes up to which a solve takes about 10 ms, 1 s
#: and 100 s: see `_start_for_classes`.
SMALL_PRODUCTS, QUICK_PRODUCTS, MAX_PRODUCTS = 1e7, 1e9, 3e10
#: The same for a kernel, per pair of samples: beyond, a trial of the sequential dual method takes less time.
QUICK_PRODUCTS_PER_PAIR = 2000.0
#: With this many samples for each number in w, classes overlap more often, which makes the sequential dual method slow.
MIN_SAMPLES_PER_WEIGHT = 10.0
#: Limits on the steps per sample of a trial of the sequential dual method, before a quick method and before a slow one;
#: and the least limit on all steps. A step of a linear machine takes some microseconds.
SHORT_TRIAL_STEPS, LONG_TRIAL_STEPS, MIN_TRIAL_STEPS = 100, 400, 20_000


@dataclass(frozen=True)
class RankedBackend:
    """A backend that "auto" may try.

    form: The form to solve; None for the backend's preferred form.
    max_rows: The maximum number of rows for which it is tried.
    trial_max_iter: Limit on the iterations of a trial; None if not a trial.
    """

    backend: str
    form: Form | None = None
    max_rows: float = math.inf
    trial_max_iter: int | None = None

    @property
    def backend_object(self) -> Backend:
        """The backend object."""
        return registry.get(self.backend)

    def __str__(self) -> str:
        if self.form is None:
            return self.backend
        return f"{self.backend} on the {self.form} form"

    def is_eligible(self, problem: Problem, size: Size) -> bool:
        """Return whether the backend is installed, not educational, and accepts the machine."""
        if size.rows > self.max_rows or (
            self.backend not in registry.REGISTRY and self.backend not in registry.EXTERNAL_BACKENDS
        ):
            return False
        abilities = self.backend_object.abilities
        form = self.form or self.backend_object.find_preferred_form(size.is_linear)
        return (
            not abilities.is_educational
            and abilities.accepts(find_problem_traits(problem), size.rows, form)
            and bool(self.backend_object.version())
        )


def rank_backends(problem: Problem) -> Iterator[RankedBackend]:
    """Yield the backends that accept a problem, best first; each is checked only when it is requested."""
    size = measure_size(problem)
    external = [RankedBackend(name) for name in registry.EXTERNAL_BACKENDS if name in registry.EXTERNAL_FOR_AUTO]
    if problem._dual_structure.classes is not None:
        order = _order_for_classes(problem, size, external)
    elif size.is_linear:
        order = _order_for_linear(problem, size, external)
    else:
        order = _order_for_kernel(size, external)
    return (backend for backend in order if backend.is_eligible(problem, size))


def _order_for_classes(problem: Problem, size: Size, external: list[RankedBackend]) -> list[RankedBackend]:
    """Return the order of backends for a machine of several classes."""
    sequential = RankedBackend("sequential_dual", "dual")
    cvxopt = RankedBackend("cvxopt", "dual", CVXOPT_CLASS_ROWS)
    start = _start_for_classes(size, size.features if size.is_linear else _count_class_weights(problem, size))
    if start or size.is_linear:
        backends = [*start, sequential, cvxopt]
    elif cvxopt.is_eligible(problem, size):
        backends = [_build_trial(LONG_TRIAL_STEPS, size), cvxopt, sequential]
    else:
        backends = [sequential]
    last_form: Form = "primal" if size.is_linear else "dual"
    return [*backends, RankedBackend("cvxopt", "primal"), *external, RankedBackend("cvxpy", last_form)]


def _count_class_weights(problem: Problem, size: Size) -> float:
    """Return the number of weights of all classes over a factor of the kernel matrix; infinity if there are too many.

    The factor is computed, and kept for the solver.
    """
    k = size.rows // size.samples + 1
    max_weights = min((3.0 * MAX_PRODUCTS) ** (1 / 3), math.sqrt(MAX_PRODUCTS / size.samples))
    features = find_class_features(get_class_dual(problem.svm)[1], int(max_weights / k))
    return math.inf if features is None else k * features.shape[1]


def _start_for_classes(size: Size, n_weights: float) -> list[RankedBackend]:
    """Return what a machine of several classes starts with, before the sequential dual method without a limit.

    A quick interior point method comes first, one that takes at most 100 s after a trial of the sequential dual method.
    """
    interior = RankedBackend("interior_point", "dual")
    products = _count_interior_products(size, n_weights)
    if size.is_linear:
        may_overlap = size.samples >= MIN_SAMPLES_PER_WEIGHT * n_weights
        quick_products = QUICK_PRODUCTS if may_overlap else SMALL_PRODUCTS
    else:
        quick_products = QUICK_PRODUCTS_PER_PAIR * size.samples**2
    if products <= quick_products:
        return [interior]
    if size.is_linear and products <= QUICK_PRODUCTS:
        steps = SHORT_TRIAL_STEPS
    else:
        steps = LONG_TRIAL_STEPS
    if products <= MAX_PRODUCTS:
        return [_build_trial(steps, size), interior]
    return []


def _build_trial(steps_per_sample: int, size: Size) -> RankedBackend:
    """Build a trial of the sequential dual method with a limit on its steps, after which another can take over."""
    max_steps = max(MIN_TRIAL_STEPS, steps_per_sample * size.samples)
    return RankedBackend("sequential_dual", "dual", trial_max_iter=max_steps)


def _count_interior_products(size: Size, n_weights: float) -> float:
    """Count the products of an interior point step of a machine of several classes, (CLASSIP.3)."""
    k = size.rows / size.samples + 1.0
    return (k + 1.0) / k * size.samples * n_weights**2 + n_weights**3 / 3.0


def _order_for_linear(problem: Problem, size: Size, external: list[RankedBackend]) -> list[RankedBackend]:
    """Return the order of backends for a linear machine."""
    newton, interior, augmented = map(RankedBackend, ("kernel_newton", "interior_point", "augmented_lagrangian"))
    n = size.rows
    d = size.features
    svm = problem._dual_structure
    is_squared = svm.has_curvature and not svm.is_bounded
    few_rows = FEW_SQUARED_ROWS if is_squared else FEW_LINEAR_ROWS
    has_few_rows = n <= few_rows and _estimate_objective_scale(problem) <= MAX_FEW_ROWS_SCALE
    is_wide = n <= d and (n <= WIDE_ROWS or not augmented.is_eligible(problem, size))
    if has_few_rows or is_wide:
        built_in = [newton, augmented, interior]
    else:
        built_in = [augmented, interior, newton]
    return [*built_in, RankedBackend("cvxopt", "dual", CVXOPT_DUAL_ROWS), *external, RankedBackend("cvxpy")]


def _order_for_kernel(size: Size, external: list[RankedBackend]) -> list[RankedBackend]:
    """Return the order of backends for a machine with another kernel.

    If each row combines several samples, as in ranking by pairs, the primal is the smaller QP; it comes first if there
    are many pairs.
    """
    smaller_form: Form | None = "primal" if size.samples else None
    built_in = [RankedBackend("kernel_newton"), RankedBackend("interior_point", smaller_form)]
    if size.samples and size.rows > MAX_PAIRS_PER_SAMPLE * size.samples:
        built_in.reverse()
    cvxopt_dual = RankedBackend("cvxopt", "dual", CVXOPT_DUAL_ROWS)
    cvxopt_primal = RankedBackend("cvxopt", "primal", CVXOPT_PRIMAL_ROWS)
    return [*built_in, cvxopt_dual, cvxopt_primal, *external, RankedBackend("cvxpy", smaller_form, CVXPY_ROWS)]


def _estimate_objective_scale(problem: Problem) -> float:
    """Return Σ C_i times the mean of K_ii, or for squared losses Σ 1/δ_i times it: a dimensionless number.

    It is 0 for a hard margin, and if the sum of α is given, as in a ν-SVM, because C says little about its scale.
    """
    svm = problem._dual_structure
    if svm.is_homogeneous or (not svm.is_bounded and not (svm.has_curvature and bool((svm.curvature > 0.0).all()))):
        return 0.0
    return float(np.add.reduce(svm.upper if svm.is_bounded else 1.0 / svm.curvature)) * problem.space.scale
