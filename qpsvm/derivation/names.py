"""Evaluate the names in the Python code of the equations at a solution, so that the code can be run (`collect_names`).

Names are the letters of the equations, and matrices and functions computed from the samples: `X`, `K`, `phi`, `f`, …
For a nonlinear kernel, `phi` maps to coordinates from a factor of the kernel matrix over all points that occur, so that
`w` and `phi(x)` are vectors too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.constraint_quantities import ConstraintQuantities
from qpsvm.derivation.display import RESIDUAL_TOL
from qpsvm.derivation.key import iter_letters
from qpsvm.derivation.quantities import Quantities
from qpsvm.derivation.residual import NotMeasurableError
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.all_in_one_terms import read_kinds
from qpsvm.derivation.steps.primal_hinge import compute_gradient_blocks, explain_missing_primal
from qpsvm.machines import SVDD, PrimalHinge, Ranking
from qpsvm.program.status import Status
from qpsvm.space.kernels.functions import Precomputed

#: Functions that the code uses, by name; most are NumPy's.
FUNCTIONS: dict[str, Any] = {
    "all": lambda values: bool(np.all(values)), "any": lambda values: bool(np.any(values)), "norm": np.linalg.norm,
    **{name: getattr(np, name) for name in (
        "abs", "sum", "max", "mean", "maximum", "minimum", "sqrt", "diag", "tile", "isclose", "allclose")},
}  # fmt: skip
#: Eigenvalues of a kernel matrix below this share of the largest count as 0: they are rounding.
RANK_TOL = 1e-13


class SampleKernel(np.ndarray):
    """K as a matrix over the samples, and as a function of two sets of points."""

    samples: Any
    function: Callable[[Any, Any], Any]

    @classmethod
    def from_matrix(cls, matrix: FloatArray, samples: Any, function: Callable[[Any, Any], Any]) -> SampleKernel:
        """Build the kernel from the matrix over the samples, and the function elsewhere."""
        kernel = matrix.view(cls)
        kernel.samples = samples
        kernel.function = function
        return kernel

    def __call__(self, X: Any, Z: Any) -> FloatArray:
        """Return K(X, Z): the matrix itself if both are the samples."""
        if X is self.samples and Z is self.samples:
            return np.asarray(self)
        return np.asarray(self.function(X, Z))


def collect_names(steps: Iterable[Step], at: Quantities[Any] | AllInOneQuantities) -> dict[str, Any]:
    """Collect all names of the code of some steps: functions, values computed from the samples, and letters.

    `tol` is the largest difference of two sides at an optimum: the square root of its gap, which bounds the residuals,
    times the largest of their scales.
    """
    result = at.result
    gap = result.gap if result.status is Status.OPTIMAL else 0.0
    names = FUNCTIONS | {
        "tol": max(RESIDUAL_TOL, np.sqrt(gap)) * max(1.0, at.objective_scale, at.alpha_scale, at.level),
        "result": result,
    }
    names |= collect_all_in_one_names(at) if isinstance(at, AllInOneQuantities) else collect_single_names(at)
    for term in iter_letters(steps):
        name = term.python()
        if name.isidentifier() and name not in names:
            with suppress(NotMeasurableError):  # then its step has no numbers
                names[name] = term.value(at)
    return names


def build_feature_map(
    kernel: Callable[[Any, Any], Any], points: FloatArray, matrix: FloatArray
) -> Callable[[Any], Any]:
    """Build φ as a function of samples (k, d): (k, r), coordinates in the span of some points (p, d).

    matrix (p, p): The kernel matrix of the points.
    """
    values, vectors = np.linalg.eigh(matrix)
    is_positive = values > RANK_TOL * values.max()
    inverse_root = vectors[:, is_positive] / np.sqrt(values[is_positive])
    return lambda Z: np.asarray(kernel(Z, points)) @ inverse_root


def build_space(at: Any, other_points: FloatArray) -> tuple[FloatArray, SampleKernel, Callable[[Any], Any], FloatArray]:
    """Return X, K, φ, and all points at which φ is evaluated: the samples, and `other_points` (q, d)."""
    X = as_dense(at.X)
    if at.is_linear:
        return X, SampleKernel.from_matrix(X @ X.T, X, lambda A, B: A @ B.T), np.asarray, np.vstack([X, other_points])
    gram = at.problem.space.gram
    matrix = np.asarray(gram @ np.eye(gram.shape[0]))[: len(X), : len(X)]
    kernel = SampleKernel.from_matrix(matrix, X, getattr(at, "kernel", at.problem.kernel))
    if has_given_matrix(at):
        return X, kernel, build_feature_map(lambda *_: matrix, X, matrix), X
    points = np.vstack([X, other_points])
    return X, kernel, build_feature_map(kernel.function, points, np.asarray(kernel.function(points, points))), points


def has_given_matrix(at: Any) -> bool:
    """Return whether the kernel matrix is precomputed, or was changed to be semidefinite: no function gives it."""
    problem = at.problem
    return isinstance(problem.kernel, Precomputed) or problem.psd == "clip" or bool(problem.space.shift)


def collect_single_names(at: Quantities[Any]) -> dict[str, Any]:
    """Collect the names computed from the samples, for a machine with one f."""
    new = at.new_samples
    Z = as_dense(at.constraint_rows.Z) if isinstance(at, ConstraintQuantities) else None
    other_points = [as_dense(matrix) for matrix in (new, Z) if matrix is not None]
    X, K, phi, points = build_space(at, np.vstack(other_points) if other_points else np.zeros((0, at.X.shape[1])))
    if at.is_linear:
        w, w_of_alpha = at.w, at.w_of_alpha
    else:
        values = at.values if points is X else at.evaluate_decision(points)
        w = np.linalg.lstsq(phi(points), values - at.b, rcond=None)[0]
        w_of_alpha = phi(X).T @ at.all_beta[: at.svm.n]
    names: dict[str, Any] = {
        "X": X, "x": X if new is None else as_dense(new), "K": K, "phi": phi, "w": w, "b": at.b, "beta": at.beta,
        "u": at.u, "kind": at.kind, "qp": at.dual, "variables": at.dual_point, "f": lambda A: phi(A) @ w + at.b,
    }  # fmt: skip
    if has_given_matrix(at):
        names["f"] = lambda A: at.values if A is X else at.evaluate_decision(A)
    if isinstance(at, ConstraintQuantities):
        rows = at.constraint_rows
        G = phi(Z) if rows.mix is None else rows.mix @ phi(Z)
        if not at.is_linear:
            w_of_alpha = w_of_alpha - G.T @ at.constraint_multipliers
        names |= {"G": G, "Z": Z, "A": rows.mix}
    names["w_of_alpha"] = w_of_alpha
    return names | collect_specific_names(at, names)


def collect_specific_names(at: Quantities[Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the names that only some machines have, from those that all have."""
    problem = at.problem
    X = names["X"]
    phi = names["phi"]
    w = names["w"]
    specific: dict[str, Any] = {}
    if at.svm.is_two_sided:
        specific["kind_above"], specific["kind_below"] = np.split(at.kind, 2)
    if at.svm.n == at.svm.m:
        specific["Q"] = np.asarray(names["K"]) * np.outer(at.y, at.y)
    if isinstance(problem, PrimalHinge):
        specific["c_svm"] = problem.equivalent_c_svm().qp("dual")
        if not isinstance(at, ConstraintQuantities) and not explain_missing_primal(at):
            specific["gradient"] = compute_gradient_blocks(at)
    if isinstance(problem, Ranking):
        i, j = np.searchsorted(problem.active_rows, problem.pairs[problem._active_variables].T)
        specific |= {"i": i, "j": j, "z": phi(X)[i] - phi(X)[j]}
        if "A" not in names:
            specific["A"] = at.svm.mix
    if isinstance(problem, SVDD):
        squared_norms = (lambda A: np.square(A).sum(axis=1)) if at.is_linear else at.kernel.diagonal
        specific |= {"c": w, "c_of_alpha": names["w_of_alpha"]}
        specific["f"] = lambda A: 2 * (phi(A) @ w + at.b) - squared_norms(A)
        if problem.space.origin is not None:
            specific["moved_by"] = problem.space.origin
    return specific


def collect_all_in_one_names(at: AllInOneQuantities) -> dict[str, Any]:
    """Collect the names computed from the samples, for a machine with one f per class."""
    sample, rival = np.divmod(at.dual.row_positions, at.dual.k)
    X, K, phi, _ = build_space(at, np.zeros((0, at.X.shape[1])))
    if at.intercept_in_kernel:
        K = SampleKernel.from_matrix(np.asarray(X @ X.T + 1.0) if at.is_linear else np.asarray(K), X, K.function)
    if at.is_linear:
        w = at.result.w
    else:
        w = np.linalg.lstsq(phi(X), at.f - at.b, rcond=None)[0].T
    return {
        "X": X, "K": K, "phi": phi, "w": w, "b": at.b, "f": at.f, "beta": at.beta, "qp": at.problem.qp("dual"),
        "variables": at.dual.flatten_alpha(at.alpha), "v": w[1] - w[0], "y": at.label, "i": np.arange(len(X)),
        "f_y": at.f[sample, at.label[sample]], "f_c": at.f[sample, rival], "w_y": w[at.label[sample]], "w_c": w[rival],
        "w_of_alpha": at.beta.T @ phi(X), "kind": read_kinds(at),
        "sum_over_rivals": lambda alpha: np.bincount(sample, alpha, len(X)),
    }  # fmt: skip
