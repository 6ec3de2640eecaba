"""Every machine as the exact program of a proof, and a result as the numbers that the proof is about.

The table of `_dual` once more, in rational numbers: where that rounds t − ε, C·s, 1/Σs or νΣC, this does not. Signs,
rows and columns, which are exact there, are taken from there. A user's rows are as the user wrote them, and a linear
ball is told from its own centre, (BALL.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import repeated
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.bounds.proof.claims import Asked
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.exactly import Exactly, constant, floats, inverses, joined, products, sum_of, sums, total_of
from qpsvm.bounds.proof.kernels.points import kernel_space, matrix_space
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.prove import prove
from qpsvm.bounds.proof.spaces import BallSpace, LinearSpace, Space
from qpsvm.data.rows import Mapped, RowSource, Standardised, as_row_source
from qpsvm.machines.exact.constraints import (
    by_matrix,
    coefficients,
    exact_sums,
    half_diagonal,
    points_of,
    row_levels,
)
from qpsvm.machines.exact.record import recorded
from qpsvm.machines.problem.reading import check_point, check_result, title_of
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Linear, Precomputed
from qpsvm.space.kernels.space import FeatureSpace

#: Levels, prices, curvatures, and totals of groups by their multiplier where they are not those of the dual.
Numbers = tuple[Exactly, Exactly, Exactly, Mapping[str, Fraction]]


def verified(problem: Any, result: SVMResult, tol: float | None = None) -> Proof:
    """What is proven of the numbers of a result.

    Raises ParameterTypeError, DataError, UnsupportedError.
    """
    check_result(problem.samples, result)
    if not problem.samples.team.alone:
        raise UnsupportedError("a member of a team knows its own samples only: verify(problem) where all of them are")
    check_point(problem, result)
    space, held = points_and_numbers(problem, result)
    program = stated(problem, space.levels if isinstance(space, BallSpace) else None)
    record, title = {"stated": partial(recorded, problem, result)}, title_of(problem, result)
    return prove(Asked(program, space, held, alpha_of(problem, result), result.gap, tol, title, record))


def points_and_numbers(problem: Any, result: SVMResult) -> tuple[Space, Primal]:
    """The points of a problem, and the numbers that a result has for them; of a linear ball from its centre."""
    w = result.model.w
    if w is None or not problem.affine or problem.constraints:
        return space_of(problem), held_numbers(problem, result)
    centre = w / float(problem.size_of_f)
    space = BallSpace(_linear_points(problem), centre)
    space.assumptions = _of_rows(problem)
    if not (math.isfinite(result.radius) and np.isfinite(centre).all()):
        return space, Primal(centre, None)  # of which nothing is proven
    return space, Primal(np.zeros_like(w), None, {"b": Fraction(result.radius) ** 2 / 2})  # (BALL.1)


def space_of(problem: Any) -> Space:
    """The points of a problem in feature space, in the caller's coordinates."""
    if isinstance(problem.kernel, (Linear, FeatureMap)):
        linear = LinearSpace(_linear_points(problem))
        linear.assumptions = _of_rows(problem)
        return linear
    space: FeatureSpace = problem.space
    if space.computed_intercept is None and problem.intercept == "penalised":
        raise UnsupportedError(
            "no proof for a kernel that is positive semidefinite only together with a penalised intercept"
        )
    if not by_matrix(problem):
        return kernel_space(problem.kernel, as_row_source(points_of(problem)).matrix())
    made = matrix_space(space.gram.dense())
    made.assumptions = _of_matrix(problem)
    return made


def _of_matrix(problem: Any) -> tuple[str, ...]:
    """What the theorem takes for the kernel, where that is a matrix of floats that nobody has given."""
    kernel, space = problem.kernel, problem.space
    named = "K"
    if not isinstance(kernel, Precomputed):
        named = f"what {kernel} gives for these samples, made symmetric"
    elif space.asymmetry:
        named = "the mean of K and its transpose, as computed"
    if space.clipped:
        named = f"the positive part, as computed, of {named} (psd='clip')"
    elif space.shift:
        named = f"{named}, with {space.shift!r} added to its diagonal, as computed (psd='shift')"
    return () if named == "K" else (f"the kernel matrix is {named}",)


def _linear_points(problem: Any) -> RowSource:
    """The points of a linear machine, or what a map makes of them."""
    if isinstance(problem.kernel, FeatureMap):
        return Mapped(as_row_source(problem.samples.taken), problem.kernel)  # (MAP.1)
    return as_row_source(points_of(problem))


def _of_rows(problem: Any) -> tuple[str, ...]:
    """What the theorem takes for the samples, where these are not what a user has stored."""
    if isinstance(problem.kernel, FeatureMap):
        return (f"the samples are the features, as computed, that {problem.kernel} makes of them",)
    if isinstance(problem.X, Standardised):
        return ("the samples are the floats that (x − μ)/s gives for them",)
    return ()


def alpha_of(problem: Any, result: SVMResult) -> FloatArray:
    """α at the rows of the program, with the prices of a user's rows behind: (m,)."""
    alpha: FloatArray = problem._gather(result.alpha)
    if result.constraints is None:
        return alpha
    unit = problem.outlined.unit / problem.size_of_f
    return np.concatenate([alpha, result.constraints["price"] / unit])


def held_numbers(problem: Any, result: SVMResult) -> Primal:
    """w or coefficients, and every multiplier that is a number, as a user has them."""
    size, w = Fraction(problem.size_of_f), result.model.w
    multipliers = {}
    if result.b and not any(group.multiplier == "b" for group in problem.outlined.groups):
        raise DataError(
            f"{problem.title} has no intercept, and the result has b = {result.b!r}: no point of its primal"
        )
    for group in problem.outlined.groups:
        name = group.multiplier
        value = float(result.b if name == "b" else result.rho if name == "rho" else result.extras[name])
        if math.isfinite(value):
            multipliers[name] = Fraction(value) / (size if name == "b" else 1)
    if w is None:
        return Primal(None, coefficients(problem, result) / float(size), multipliers)
    return Primal(w / float(size), None, multipliers)


def stated(problem: Any, levels: Exactly | None = None) -> ExactDual:
    """The exact program of a problem.

    Raises UnsupportedError.
    """
    name = type(problem).__name__
    numbers = MACHINES.get(name)
    if numbers is None or type(problem).__module__.partition(".")[0] != "qpsvm":
        raise UnsupportedError(f"there is no exact program of {name} to prove; certify says what is measured")
    svm: SVMDual = problem.outlined
    if problem.constraints:
        svm = problem._extended(svm.gram, problem.intercept, problem._textbook_rows)  # unscaled
    own = svm if svm.users is None else svm.users.own
    level, price, curvature, totals = numbers(problem, own)
    if problem.affine:
        level = half_diagonal(problem) if levels is None else levels
    entries = {own.m + k: -value for k, value in exact_sums(problem).items()}
    groups = tuple(
        ExactGroup(
            group.multiplier, group.column, totals.get(group.multiplier, Fraction(group.total)),
            Fraction(group.ridge), group.formula, entries if group.multiplier == "b" else {},
        )
        for group in svm.groups
    )  # fmt: skip
    if svm.users is not None:
        p = svm.m - own.m
        level, price = joined(level, row_levels(problem)), joined(price, constant(np.inf, p))
        curvature = joined(curvature, constant(0.0, p))
    unit = Fraction(problem.lam) if name == "PrimalHinge" else Fraction(svm.unit)
    return ExactDual(svm.sign, level, price, curvature, groups, svm.n, svm.rows, svm.mix, unit, svm.m - own.m)


def _priced(problem: Any) -> Exactly:
    """C_i = C·s_i of the samples that take part."""
    return products(problem.taking_part(problem.C), problem.taking_part(problem.sample_weight))


def _weights(problem: Any) -> FloatArray:
    """s of the samples that take part."""
    weights: FloatArray = problem.taking_part(problem.sample_weight)
    return weights


def _hinge(problem: Any, svm: SVMDual) -> Numbers:
    return constant(1.0, svm.m), _priced(problem), constant(0.0, svm.m), {}


def _hard(problem: Any, svm: SVMDual) -> Numbers:
    del problem
    return constant(1.0, svm.m), constant(np.inf, svm.m), constant(0.0, svm.m), {}


def _squared(problem: Any, svm: SVMDual) -> Numbers:
    return constant(1.0, svm.m), constant(np.inf, svm.m), inverses(_priced(problem), Fraction(1, 2)), {}


def _huber(problem: Any, svm: SVMDual) -> Numbers:
    C = _priced(problem)
    return constant(1.0, svm.m), C, inverses(C, Fraction(problem.width)), {}


def _primal_hinge(problem: Any, svm: SVMDual) -> Numbers:
    s = _weights(problem)
    price = floats(s, 1 / (Fraction(problem.lam) * sum_of(s)))
    return constant(1.0, svm.m), price, constant(0.0, svm.m), {}


def _nu(problem: Any, svm: SVMDual) -> Numbers:
    s, positive = _weights(problem), problem.labels > 0.0
    above, below = sum_of(s[positive]), sum_of(s[~positive])
    nu = min(Fraction(problem.nu), 2 * min(above, below) / (above + below))  # whose float may be too large, (NUSVM.16)
    return constant(0.0, svm.m), floats(s, 1 / (above + below)), constant(0.0, svm.m), {"rho": -nu}


def _one_class(problem: Any, svm: SVMDual) -> Numbers:
    s = _weights(problem)
    return constant(0.0, svm.m), floats(s), constant(0.0, svm.m), {"b": Fraction(problem.nu) * sum_of(s)}


def _two_levels(problem: Any, epsilon: float) -> Exactly:
    """t − ε of all samples, then −t − ε."""
    t = problem.labels
    width = repeated(-epsilon, len(t))
    return joined(sums(t, np.asarray(width)), sums(-t, np.asarray(width)))


def _epsilon(problem: Any, svm: SVMDual) -> Numbers:
    C = joined(_priced(problem), _priced(problem))
    if problem.loss == "squared":
        half = inverses(_priced(problem), Fraction(1, 2))
        return _two_levels(problem, problem.epsilon), constant(np.inf, svm.m), joined(half, half), {}
    return _two_levels(problem, problem.epsilon), C, constant(0.0, svm.m), {}


def _nu_svr(problem: Any, svm: SVMDual) -> Numbers:
    C = _priced(problem)
    nu = Fraction(problem.nu) * total_of(C)
    return _two_levels(problem, 0.0), joined(C, C), constant(0.0, svm.m), {"epsilon": nu}


def _quantile(problem: Any, svm: SVMDual) -> Numbers:
    C, s, q = problem.taking_part(problem.C), _weights(problem), Fraction(problem.quantile)
    price = joined(products(C, s, q), products(C, s, 1 - q))
    return _two_levels(problem, 0.0), price, constant(0.0, svm.m), {}


def _ball(problem: Any, svm: SVMDual) -> Numbers:
    s = _weights(problem)
    price = floats(s, 1 / (Fraction(problem.nu) * sum_of(s)))
    return constant(0.0, svm.m), price, constant(0.0, svm.m), {}


def _ranking(problem: Any, svm: SVMDual) -> Numbers:
    pairs, s = problem.pairs[problem.taking_pairs], problem.sample_weight
    price = products(s[pairs[:, 0]], s[pairs[:, 1]], Fraction(problem.C))
    return constant(1.0, svm.m), price, constant(0.0, svm.m), {}


#: Levels, prices and curvatures of the machines by the name of their class.
MACHINES: dict[str, Callable[[Any, SVMDual], Numbers]] = {
    "CSVM": _hinge, "HardMargin": _hard, "NuSVM": _nu, "PrimalHinge": _primal_hinge, "SquaredHinge": _squared,
    "HuberHinge": _huber, "EpsilonSVR": _epsilon, "NuSVR": _nu_svr, "QuantileSVR": _quantile, "OneClass": _one_class,
    "SVDD": _ball, "Ranking": _ranking,
}  # fmt: skip
