"""Prove the errors of infeasible problems by rows of the exact program: samples and linear constraints with weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import above, sum_of
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof import infeasible
from qpsvm.bounds.proof.infeasible import Combination, Rows, balance, combination, coordinates, meeting
from qpsvm.bounds.proof.proof import Proof
from qpsvm.data.rows import Mapped, RowSource, as_row_source
from qpsvm.machines.problem.exact import by_matrix, exact_program, own_value, points_of, recorded, space_of
from qpsvm.machines.separability import shared_sample
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Precomputed

__all__ = ["balance", "excluded", "hulls", "imbalance", "kept_by_none", "meet"]


@dataclass(frozen=True, eq=False)
class _Meeting:
    """Facts about the hulls of two classes: λ = (u, v)/2 of some samples, those of the error if nothing was found."""

    found: Combination | None
    chosen: IntArray
    halves: list[Fraction]
    point: str
    assumptions: tuple[str, ...]

    def by_number(self, problem: Any, sign: float) -> dict[int, Fraction]:
        """The weights of one class that are not 0, by the numbers of samples; they sum to 1."""
        labels, numbers = problem.labels[self.chosen].tolist(), problem.rows[self.chosen].tolist()
        every = zip(labels, numbers, self.halves, strict=True)
        return {number: 2 * half for label, number, half in every if label == sign and half}


def _meeting(problem: Any, weights: FloatArray, exactly: bool) -> _Meeting:
    """Whether two classes meet by weights near some floats, (n,)."""
    chosen = np.flatnonzero(weights > 0.0)
    matrix = not isinstance(problem.kernel, (Linear, FeatureMap)) and by_matrix(problem)
    signs = problem.labels[chosen]
    rows, assumed = _rows(problem, chosen, list(map(str, chosen)), matrix)
    given = [Fraction(value) for value in weights[chosen].tolist()]
    sums = {sign: sum(w for w, s in zip(given, signs, strict=True) if s == sign) for sign in (1.0, -1.0)}
    halves = [w / sums[s] / 2 for w, s in zip(given, signs, strict=True)]
    point = "Σ u_i φ(x_i) = Σ v_j φ(x_j)"
    if matrix or isinstance(problem.kernel, Precomputed):
        point = "Σ u_i f(x_i) = Σ v_j f(x_j) of every f(x) = Σ a_i K(x_i, x) + b,"
    found = combination(rows, np.array([float(half) for half in halves]), exactly)
    if found is not None and found.share:  # of weights that add up to ½ in each class
        off = (Fraction(found.share) * a + abs(a - half) for a, half in zip(found.weights, halves, strict=True))
        found = replace(found, share=above(max(each / half for each, half in zip(off, halves, strict=True))))
    elif found is not None:
        halves = found.weights
    return _Meeting(found, chosen, halves, point, assumed)


def meet(problem: Any, weights: FloatArray) -> Mapping[int, Fraction] | bool | None:
    """Whether the hulls of the classes meet, by what takes least time; None where that is not known.

    Where they do by rational weights next to those asked about, (n,), these by the numbers of samples.
    """
    known = _meeting(problem, weights, exactly=False)
    if known.found is None:
        return False if _apart(problem) else None
    return bool(known.found.share) or known.by_number(problem, 1.0) | known.by_number(problem, -1.0)


def _apart(problem: Any) -> str:
    """Explain why the hulls of two classes do not meet, or return "" if that is not known."""
    X = problem.samples.taken
    if not isinstance(problem.kernel, RBF) or isinstance(X, RowSource) or shared_sample(X, problem.labels):
        return ""
    return (
        "no sample is in both of them, and features of different samples are linearly independent for a Gaussian "
        "(Micchelli 1986)"
    )


def hulls(problem: Any, weights: FloatArray) -> Proof:
    """Prove that the hulls of two classes meet, given weights of samples, (n,). Raises UnsupportedError."""
    known = _meeting(problem, weights, exactly=True)
    u, v = (known.by_number(problem, sign) for sign in (1.0, -1.0))
    labels, apart = _named(problem.samples)[::-1], _apart(problem)
    proof = meeting(problem.title, (u, v), labels, known.point, known.found, apart, known.assumptions)
    return replace(proof, record={**proof.record, "stated": partial(recorded, problem)})


def kept_by_none(problem: Any, weights: Mapping[str, float]) -> bool:
    """Whether it is proven that no (w, b) keeps rows with weights, by name."""
    try:
        return combination(*_excluding(problem, weights)) is not None
    except UnsupportedError:
        return False


def excluded(problem: Any, weights: Mapping[str, float]) -> Proof:
    """Prove that rows with weights, given by name, exclude every point. Raises UnsupportedError."""
    return infeasible.excluded(problem.title, *_excluding(problem, weights))


def imbalance(nu: float, samples: Any) -> Proof:
    """Prove that ν is too large for two classes of samples."""
    more, less = (sum_of(samples.weight[samples.target * side > 0]) for side in (1, -1))
    return balance(nu, more, less, _named(samples))


def _named(samples: Any) -> tuple[str, str]:
    """The names of the classes −1 and +1."""
    first, second = samples.classes.tolist()
    return shown(first), shown(second)


def _excluding(problem: Any, weights: Mapping[str, float]) -> tuple[Rows, FloatArray]:
    """The rows with weights, and these; a margin row is called "margin[i]". Raises UnsupportedError."""
    kernel: Kernel = problem.kernel
    if problem.psd != "raise" and not kernel.is_psd:
        raise UnsupportedError(f"no proof for the kernel {kernel} with psd={problem.psd!r}, which makes another of it")
    if problem.diagonal and own_value(kernel) is None:
        raise UnsupportedError(f"no proof for the kernel {kernel}: its K(x, x) are not known without rounding")
    own, names = len(problem._record().sign), problem._textbook_rows.names
    place = {name: own + k for k, name in enumerate(names)}
    chosen = [place[name] if name in place else int(name[len("margin[") : -1]) for name in weights]
    return _rows(problem, np.array(chosen), list(weights), False)[0], np.array(list(weights.values()))


def _rows(problem: Any, chosen: IntArray, names: list[str], matrix: bool) -> tuple[Rows, tuple[str, ...]]:
    """Rows of the exact program as (PFARKAS.1), −s_k⟨w, φ_k⟩ − E_k b ≤ −ℓ_k; and what is assumed of their points."""
    program = exact_program(problem)
    every = [program.row(k) for k in chosen.tolist()]
    used = sorted({point for row in every for point, _ in row})
    place = {point: at for at, point in enumerate(used)}
    kernel, points, assumed = _points(problem, np.array(used, dtype=np.intp), matrix)
    terms = [[(place[point], -factor) for point, factor in row] for row in every]
    in_b = next((group for group in program.groups if group.multiplier == "b"), None)
    c = None if in_b is None else [-in_b.entry(k) for k in chosen.tolist()]
    h = [-Fraction(problem.size_of_f) * program.level[k] for k in chosen.tolist()]
    return Rows(coordinates(kernel, points), terms, c, h, names), assumed


def _points(problem: Any, places: IntArray, matrix: bool) -> tuple[Kernel, Matrix, tuple[str, ...]]:
    """Points of the program as those of a kernel, or by its matrix; and what is assumed of them."""
    kernel: Kernel = problem.kernel
    if isinstance(kernel, FeatureMap):
        rows = Mapped(as_row_source(problem.samples.taken), kernel)
        return Linear(), rows.take(places), ("the features are the floats that the map makes",)
    if matrix:
        return Precomputed(), problem.space.gram.dense()[places], space_of(problem).assumptions
    return kernel, as_row_source(points_of(problem)).take(places), ()
