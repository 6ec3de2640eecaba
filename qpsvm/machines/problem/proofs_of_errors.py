"""Prove that problems are infeasible (`prove_hulls`, `prove_infeasible`, `prove_imbalance`).

A proof consists of weights λ ≥ 0 of rows of the exact program, that is of margin rows and linear constraints, whose
weighted sum is a contradiction (Farkas' lemma). For a hard margin, λ gives a common point of the hulls of the classes.
Solvers find λ in floats; `find_combination` turns it into exact weights, or proves that exact ones are near.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.rationals import round_up, sum_floats
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.exact_weights import Combination, ContradictingRows, compute_coordinates, find_combination
from qpsvm.bounds.proof.infeasible import prove_hulls_meet, prove_no_plane, prove_nu_exceeds_balance
from qpsvm.bounds.proof.proof import Proof
from qpsvm.data.rows import FeatureRows, RowSource, as_row_source
from qpsvm.machines.hull_distance import find_shared_sample
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_program import build_exact_program
from qpsvm.machines.problem.exact_space import build_exact_space, find_diagonal_of_row, stack_points, uses_kernel_matrix
from qpsvm.machines.problem.proof_record import build_proof_record
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Precomputed


def find_common_point(problem: DualStatement, weights: FloatArray) -> Mapping[int, Fraction] | bool | None:
    """Return whether the hulls of the classes meet, given weights (n,) of a suspected common point; None if unknown.

    If they meet and exact weights of a common point are known, return these, by sample number, in place of True.
    """
    attempt = _try_to_prove_meeting(problem, weights, prefer_exact=False)
    if attempt.combination is None:
        return False if _explain_disjoint(problem) else None
    if attempt.combination.relative_radius:
        return True
    return attempt.get_weights_by_sample(problem, 1.0) | attempt.get_weights_by_sample(problem, -1.0)


def prove_hulls(problem: DualStatement, weights: FloatArray) -> Proof:
    """Prove that the hulls of two classes meet, given weights of samples, (n,). Raises UnsupportedError."""
    attempt = _try_to_prove_meeting(problem, weights, prefer_exact=True)
    u, v = (attempt.get_weights_by_sample(problem, sign) for sign in (1.0, -1.0))
    labels = _name_classes(problem.samples)
    separation = _explain_disjoint(problem)
    proof = prove_hulls_meet(
        problem.title, (u, v), labels, attempt.equation, attempt.combination, separation, attempt.assumptions
    )
    return replace(proof, record={**proof.record, "stated": partial(build_proof_record, problem)})


def is_proven_infeasible(problem: DualStatement, weights: Mapping[str, float]) -> bool:
    """Return whether Farkas weights of rows, by name, prove that no (w, b) satisfies all of these rows."""
    try:
        return find_combination(*_build_farkas_system(problem, weights)) is not None
    except UnsupportedError:
        return False


def prove_infeasible(problem: DualStatement, weights: Mapping[str, float]) -> Proof:
    """Prove that no (w, b) satisfies the rows with these weights, by name. Raises UnsupportedError."""
    return prove_no_plane(problem.title, *_build_farkas_system(problem, weights))


def prove_imbalance(nu: float, samples: Any) -> Proof:
    """Prove that ν is too large for two classes of samples."""
    more, less = (sum_floats(samples.weight[samples.target * side > 0]) for side in (1, -1))
    return prove_nu_exceeds_balance(nu, more, less, _name_classes(samples))


@dataclass(frozen=True, eq=False)
class _HullAttempt:
    """Attempt to prove that the hulls of two classes meet, by weights λ = (u, v)/2 of some samples.

    combination: The exact combination that proves it; None if none was found.
    support (k,): Samples of positive weight.
    halves: λ of these samples: exact if they are proven, else those given, scaled to add up to ½ in each class.
    equation: The equation of the common point as text.
    assumptions: Assumptions about the points.
    """

    combination: Combination | None
    support: IntArray
    halves: list[Fraction]
    equation: str
    assumptions: tuple[str, ...]

    def get_weights_by_sample(self, problem: DualStatement, sign: float) -> dict[int, Fraction]:
        """Return the nonzero weights of one class by sample number; they sum to 1."""
        labels, numbers = problem._active_target[self.support].tolist(), problem.active_rows[self.support].tolist()
        entries = zip(labels, numbers, self.halves, strict=True)
        return {number: 2 * half for label, number, half in entries if label == sign and half}


def _try_to_prove_meeting(problem: DualStatement, weights: FloatArray, prefer_exact: bool) -> _HullAttempt:
    """Try to prove that the hulls of two classes meet, by exact weights near the given floats, (n,).

    prefer_exact: Whether to look for exact weights even where proving that they exist is faster.
    """
    support = np.flatnonzero(weights > 0.0)
    uses_matrix = not isinstance(problem.kernel, FeatureMap) and uses_kernel_matrix(problem)
    signs = problem._active_target[support]
    rows, assumptions = _build_rows(problem, support, list(map(str, support)), uses_matrix)
    exact_weights = [Fraction(value) for value in weights[support].tolist()]
    sums = {sign: sum(w for w, s in zip(exact_weights, signs, strict=True) if s == sign) for sign in (1.0, -1.0)}
    halves = [w / sums[s] / 2 for w, s in zip(exact_weights, signs, strict=True)]
    equation = "Σ u_i φ(x_i) = Σ v_j φ(x_j)"
    if uses_matrix or isinstance(problem.kernel, Precomputed):
        equation = "Σ u_i f(x_i) = Σ v_j f(x_j) for every f(x) = Σ a_i K(x_i, x) + b"
    proven = find_combination(rows, np.array([float(half) for half in halves]), prefer_exact)
    if proven is not None and proven.relative_radius:
        proven = _recentre(proven, halves)
    elif proven is not None:
        halves = proven.weights
    return _HullAttempt(proven, support, halves, equation, assumptions)


def _recentre(enclosure: Combination, centres: list[Fraction]) -> Combination:
    """Enlarge the radius r of an enclosure of λ around a to one around c: |λ − c| ≤ r a + |a − c|."""
    radius = Fraction(enclosure.relative_radius)
    pairs = zip(enclosure.weights, centres, strict=True)
    return replace(enclosure, relative_radius=round_up(max((radius * a + abs(a - c)) / c for a, c in pairs)))


def _explain_disjoint(problem: DualStatement) -> str:
    """Explain why the hulls of two classes do not meet, or return "" if that is not known."""
    X = problem.samples.active_features
    if not isinstance(problem.kernel, RBF) or isinstance(X, RowSource) or find_shared_sample(X, problem._active_target):
        return ""
    return (
        "no sample is in both of them, and features of different samples are linearly independent for a Gaussian "
        "(Micchelli 1986)"
    )


def _name_classes(samples: Any) -> tuple[str, str]:
    """Return the names of the classes −1 and +1."""
    first, second = samples.classes.tolist()
    return format_value(first), format_value(second)


def _build_farkas_system(problem: DualStatement, weights: Mapping[str, float]) -> tuple[ContradictingRows, FloatArray]:
    """Return the named rows and their weights (k,); a margin row is called "margin[i]". Raises UnsupportedError."""
    kernel: Kernel = problem.kernel
    if problem.psd != "raise" and not kernel.is_psd:
        raise UnsupportedError(f"no proof for the kernel {kernel} with psd={problem.psd!r}, which makes another of it")
    if problem._diagonal_weight and find_diagonal_of_row(kernel) is None:
        raise UnsupportedError(f"no proof for the kernel {kernel}: its K(x, x) are not known without rounding")
    n_machine_rows = len(problem._build_specification().sign)
    names = problem._textbook_constraint_rows.names
    row_of_name = {name: n_machine_rows + k for k, name in enumerate(names)}
    chosen = [row_of_name[name] if name in row_of_name else int(name[len("margin[") : -1]) for name in weights]
    rows, _ = _build_rows(problem, np.array(chosen), list(weights), uses_matrix=False)
    return rows, np.array(list(weights.values()))


def _build_rows(
    problem: DualStatement, chosen: IntArray, names: list[str], uses_matrix: bool
) -> tuple[ContradictingRows, tuple[str, ...]]:
    """Build rows (PFARKAS.1) of the exact program, −s_k⟨w, φ_k⟩ − E_k b ≤ −ℓ_k, and the assumptions on their points.

    chosen (k,): The rows.
    uses_matrix: Whether points are rows of the kernel matrix.
    """
    program = build_exact_program(problem)
    row_terms = [program.list_row_terms(k) for k in chosen.tolist()]
    used_points = sorted({point for row in row_terms for point, _ in row})
    index_of_point = {point: index for index, point in enumerate(used_points)}
    kernel, points, assumptions = _build_points(problem, np.array(used_points, dtype=np.intp), uses_matrix)
    terms = [[(index_of_point[point], -factor) for point, factor in row] for row in row_terms]
    balance = next((group for group in program.groups if group.multiplier == "b"), None)
    c = None if balance is None else [-balance.get_entry(k) for k in chosen.tolist()]
    h = [-Fraction(problem._f_scale) * program.level[k] for k in chosen.tolist()]
    return ContradictingRows(compute_coordinates(kernel, points), terms, c, h, names), assumptions


def _build_points(
    problem: DualStatement, used_points: IntArray, uses_matrix: bool
) -> tuple[Kernel, Matrix, tuple[str, ...]]:
    """Return a kernel, the points of these numbers as rows of its samples (q, d), and the assumptions on them."""
    kernel: Kernel = problem.kernel
    if isinstance(kernel, FeatureMap):
        rows = FeatureRows(as_row_source(problem.samples.active_features), kernel)
        return Linear(), rows.take(used_points), ("the features are the floats that the map makes",)
    if uses_matrix:
        return Precomputed(), problem.space.gram.dense()[used_points], build_exact_space(problem).assumptions
    return kernel, as_row_source(stack_points(problem)).take(used_points), ()
