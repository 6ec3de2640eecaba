"""Errors as questions about rows of the exact program: the samples and linear constraints that have weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import sum_of
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.infeasible import constraints
from qpsvm.bounds.proof.infeasible import hulls as meeting
from qpsvm.bounds.proof.infeasible.constraints import Rows, balance
from qpsvm.bounds.proof.infeasible.coordinates import columns_of, coordinates
from qpsvm.bounds.proof.infeasible.hulls import Apart, Meeting, compared
from qpsvm.bounds.proof.proof import Proof
from qpsvm.data.rows import Mapped, RowSource, as_row_source
from qpsvm.machines.exact.constraints import by_matrix, own_value, points_of
from qpsvm.machines.exact.program import exact_program, space_of
from qpsvm.machines.exact.record import recorded
from qpsvm.machines.infeasible.separability import shared_sample
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Precomputed

__all__ = ["balance", "excluded", "hulls", "imbalance", "kept_by_none", "meet"]

#: Numbers of X up to which all samples are looked at.
LOOKED_AT = 1e5
#: Coordinates in which points cancel where they do in feature space, and only there: what of them separates classes.
SPANNING = {
    "features": "a rational combination of the monomials", "gram": "a rational combination of kernel functions",
    "matrix": "a rational combination of the rows of the kernel matrix",
}  # fmt: skip


def meet(problem: Any, weights: FloatArray) -> Mapping[int, Fraction] | bool | None:
    """Whether the hulls of the classes meet: as `hulls.meet`."""
    return meeting.meet(_asked(problem, weights))


def hulls(problem: Any, weights: FloatArray) -> Proof:
    """What is proven of two classes, with samples that have weights, (n,).

    Raises UnsupportedError.
    """
    if not problem.comm.serial:
        raise UnsupportedError("a proof needs all samples in one process: solve the problem in one")
    proof = meeting.meeting(_asked(problem, weights))
    return replace(proof, record={**proof.record, "stated": partial(recorded, problem)})


def kept_by_none(problem: Any, weights: Mapping[str, float]) -> bool:
    """Whether it is proven that no (w, b) keeps rows with weights, by name."""
    try:
        return constraints.kept_by_none(*_excluding(problem, weights))
    except UnsupportedError:
        return False


def excluded(problem: Any, weights: Mapping[str, float]) -> Proof:
    """What is proven of rows with weights, by name.

    Raises UnsupportedError.
    """
    return constraints.excluded(problem.title, *_excluding(problem, weights))


def imbalance(nu: float, samples: Any) -> Proof:
    """What is proven of a ν for two classes of samples."""
    above, below = (sum_of(samples.weight[samples.target * side > 0]) for side in (1, -1))
    return balance(nu, above, below, _named(samples))


def _named(samples: Any) -> tuple[str, str]:
    """The names of the classes −1 and +1."""
    first, second = samples.classes.tolist()
    return shown(first), shown(second)


def _asked(problem: Any, weights: FloatArray) -> Meeting:
    """The question whether two classes meet, and the samples with weights."""
    chosen = np.flatnonzero(weights > 0.0)
    signs, numbers = problem.labels[chosen].astype(int).tolist(), problem.rows[chosen].tolist()
    rows, assumed = _rows(problem, chosen, list(map(str, numbers)), _matrix_only(problem))
    return Meeting(
        problem.title, rows, signs, weights[chosen], numbers, _named(problem.samples),
        partial(_decided, problem, weights), (problem.labels.tolist(), problem.rows.tolist()), assumed,
    )  # fmt: skip


def _excluding(problem: Any, weights: Mapping[str, float]) -> tuple[Rows, FloatArray]:
    """The rows with weights, and these; a margin row is called "margin[i]".

    Raises UnsupportedError.
    """
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


def _matrix_only(problem: Any) -> bool:
    """Whether the points are known by their kernel matrix alone."""
    return not isinstance(problem.kernel, (Linear, FeatureMap)) and by_matrix(problem)


def _decided(problem: Any, beta: FloatArray) -> list[Fraction] | Apart | None:
    """Whether the classes meet, by other means than the weights of the error: exactly, or why they do not."""
    X, n = problem.samples.taken, len(problem.labels)
    if isinstance(problem.kernel, RBF) and not isinstance(X, RowSource):
        return None if shared_sample(X, problem.labels) else Apart([], (
            "no sample is in both of them, and features of different samples are linearly independent for a Gaussian "
            "(Micchelli 1986)"
        ))  # fmt: skip
    matrix = _matrix_only(problem)
    mapped = isinstance(problem.kernel, FeatureMap)
    if n * (n if matrix else problem.kernel.width if mapped else X.shape[1]) > LOOKED_AT:
        return None
    kernel, points, _ = _points(problem, np.arange(n), matrix)
    known = coordinates(kernel, points)
    if known is None or known.kind not in SPANNING:
        return None
    signs = problem.labels.astype(np.int64)
    found = compared(known.whole * signs.astype(object), signs, np.abs(beta))
    if not isinstance(found, Apart):
        return found
    if not isinstance(kernel, Linear):
        return Apart([], SPANNING[known.kind])
    w = [Fraction(0)] * points.shape[1]
    for place, exponent, value in zip(columns_of(points).tolist(), known.exponents, found.w, strict=True):
        w[place] = value / Fraction(2) ** exponent
    return Apart(w)
