"""State the samples of a problem as exact points in feature space, for a proof (`build_exact_space`)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rationals import RationalVector, as_integers, from_constant, from_floats, from_fractions
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.kernels.points import build_space_of_matrix, build_space_of_samples
from qpsvm.bounds.proof.spaces import BallSpace, LinearSpace, Space
from qpsvm.data.rows import FeatureRows, RowSource, StandardisedRows, as_row_source
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid


def build_exact_space(problem: MachineStatement) -> Space:
    """Build the points of a problem in feature space, in the caller's coordinates, with the proof's assumptions."""
    if isinstance(problem.kernel, (Linear, FeatureMap)):
        linear_space = LinearSpace(collect_linear_points(problem))
        linear_space.assumptions = list_sample_assumptions(problem)
        return linear_space
    space = problem.space
    if space.computed_intercept is None and problem.intercept == "penalised":  # the machine has K + 1, the proof K
        raise UnsupportedError(
            "no proof for a kernel that is positive semidefinite only together with a penalised intercept"
        )
    if not uses_kernel_matrix(problem):
        return build_space_of_samples(problem.kernel, as_row_source(stack_points(problem)).matrix())  # nothing assumed
    exact_space = build_space_of_matrix(space.gram.dense())
    exact_space.assumptions = _list_matrix_assumptions(problem)
    return exact_space


def _list_matrix_assumptions(problem: MachineStatement) -> tuple[str, ...]:
    """Return the assumption about the kernel matrix, in a tuple; an empty one if the user gave this matrix."""
    kernel, space = problem.kernel, problem.space
    description = "K"
    if not isinstance(kernel, Precomputed):
        description = f"what {kernel} gives for these samples, made symmetric"
    elif space.asymmetry:
        description = "the mean of K and its transpose, as computed"
    if space.is_clipped:
        description = f"the positive part, as computed, of {description} (psd='clip')"
    elif space.shift:
        description = f"{description}, with {space.shift!r} added to its diagonal, as computed (psd='shift')"
    if description == "K":
        return ()
    return (f"the kernel matrix is {description}",)


def collect_linear_points(problem: MachineStatement) -> RowSource:
    """Collect the points of a linear machine, or their features under a map."""
    if isinstance(problem.kernel, FeatureMap):
        return FeatureRows(as_row_source(problem.samples.active_features), problem.kernel)  # (MAP.1)
    return as_row_source(stack_points(problem))


def list_sample_assumptions(problem: MachineStatement) -> tuple[str, ...]:
    """Return the assumption about the samples, in a tuple; an empty one if they are those that the user gave."""
    if isinstance(problem.kernel, FeatureMap):
        return (f"the samples are the features, as computed, that {problem.kernel} makes of them",)
    if isinstance(problem.X, StandardisedRows):
        return ("the samples are the floats that (x − μ)/s gives for them",)
    return ()


def build_class_space(problem: MachineStatement) -> Space:
    """Build the points of an all-in-one machine: from the kernel matrix for a feature map, since w is not explicit."""
    if isinstance(problem.kernel, FeatureMap):
        return build_space_of_matrix(problem.space.gram.dense())
    return build_exact_space(problem)


def stack_points(problem: MachineStatement) -> Matrix | RowSource:
    """Return the active samples, followed by the points of the linear constraints: (n + q, d)."""
    X: Matrix | RowSource = problem.samples.active_features
    if problem.constraints:
        return problem._textbook_constraint_rows.append_points_to(X)
    return X


def compute_squared_norm(row: Matrix) -> Fraction:
    """Return ‖x‖² of one row (1, d), exactly."""
    integers, exponent = as_integers(sp.csr_array(row).data)
    return sum(integer * integer for integer in integers) * Fraction(2) ** (2 * exponent)


def uses_kernel_matrix(problem: MachineStatement) -> bool:
    """Return whether a proof uses the computed kernel matrix, because it cannot evaluate the kernel function."""
    kernel, space = problem.kernel, problem.space
    if isinstance(kernel, Linear):
        return False
    has_function = isinstance(kernel, (RBF, Polynomial, Sigmoid)) and not (space.shift or space.is_clipped)
    has_exact_levels = not problem._is_affine or find_diagonal_of_row(kernel) is not None  # of an SVDD: ½K(x, x)
    return not (has_function and has_exact_levels)


def find_diagonal_of_row(kernel: Kernel) -> Callable[[Matrix], Fraction] | None:
    """Return a function that computes K(x, x) of one row (1, d) exactly; None if that is not rational."""
    if isinstance(kernel, RBF):
        return lambda row: Fraction(1)  # noqa: ARG005
    if isinstance(kernel, Linear):
        return compute_squared_norm
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        gamma = Fraction(kernel.gamma)
        coef0 = Fraction(kernel.coef0)
        degree = int(kernel.degree)
        return lambda row: (gamma * compute_squared_norm(row) + coef0) ** degree
    return None


def build_diagonal_of_index(problem: MachineStatement) -> Callable[[int], Fraction]:
    """Return a function that computes K(x, x) exactly, from the index of a point of `stack_points`."""
    diagonal_of_row = find_diagonal_of_row(problem.kernel)
    if diagonal_of_row is None or uses_kernel_matrix(problem):
        diagonal = np.diagonal(problem.space.gram.dense()).tolist()
        return lambda i: Fraction(diagonal[i])
    points = as_row_source(stack_points(problem))
    return lambda i: diagonal_of_row(points.take(np.array([i])))


def compute_half_diagonal(problem: MachineStatement) -> RationalVector:
    """Return ½K(x_i, x_i) of the active samples, the margin levels of an SVDD: (n,)."""
    kernel = problem.kernel
    X = problem.samples.active_features
    n = X.shape[0]
    if isinstance(kernel, Linear):
        return BallSpace(as_row_source(X), centre=np.zeros(X.shape[1])).levels  # ½‖x − 0‖², exact only on demand
    if uses_kernel_matrix(problem):
        return from_floats(np.diagonal(problem.space.gram.dense())[:n].copy(), factor=Fraction(1, 2))
    if isinstance(kernel, RBF):
        return from_constant(Fraction(1, 2), n)
    diagonal_of_index = build_diagonal_of_index(problem)
    return from_fractions([diagonal_of_index(i) / 2 for i in range(n)])
