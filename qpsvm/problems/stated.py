"""Every machine as the exact program of a proof, and a result as the numbers that the proof is about.

The table of `_dual` once more, in rational numbers: where that rounds t − ε, C·s, 1/Σs or νΣC, this does not. Signs,
rows and columns, which are exact there, are taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.errors import UnsupportedError
from qpsvm.kernels.feature_map import FeatureMap
from qpsvm.kernels.functions import Linear
from qpsvm.problems.reading import check_result
from qpsvm.problems.recorded import recorded
from qpsvm.proof.exact_dual import ExactDual, ExactGroup, Held
from qpsvm.proof.exactly import Exactly, constant, floats, inverses, joined, products, sum_of, sums
from qpsvm.proof.linear import LinearSpace
from qpsvm.proof.proof import Proof
from qpsvm.proof.prove import Asked, prove
from qpsvm.proof.spaces import Space
from qpsvm.result import SVMResult
from qpsvm.rows import as_row_source

#: Levels, prices, curvatures, and totals of groups by their multiplier where they are not those of the dual.
Numbers = tuple[Exactly, Exactly, Exactly, Mapping[str, Fraction]]


def verified(problem: Any, result: SVMResult, tol: float | None = None) -> Proof:
    """What is proven of the numbers of a result.

    Parameters
    ----------
    problem : Problem
        That was solved.
    result : SVMResult
    tol : float, optional
        A gap that is claimed.

    Raises
    ------
    UnsupportedError
        A machine of a user's own, whose exact numbers nobody has stated.
    """
    check_result(problem.samples, result)
    held = held_numbers(problem, result)
    program, alpha = stated(problem), problem._gather(result.alpha)
    record = {"stated": partial(recorded, problem)}
    return prove(Asked(program, space_of(problem), held, alpha, result.gap, tol, result.title, record))


def space_of(problem: Any) -> Space:
    """The points of a problem in feature space, in the caller's coordinates."""
    if isinstance(problem.kernel, FeatureMap):
        return LinearSpace(problem.space.source)
    if isinstance(problem.kernel, Linear):
        return LinearSpace(as_row_source(problem.samples.taken))
    raise UnsupportedError(f"no proof for the kernel {problem.kernel}")


def held_numbers(problem: Any, result: SVMResult) -> Held:
    """w or coefficients, and every multiplier, as a user has them."""
    size = Fraction(problem.size_of_f)
    multipliers = {}
    for group in problem.outlined.groups:
        name = group.multiplier
        value = result.b if name == "b" else result.rho if name == "rho" else result.extras[name]
        multipliers[name] = Fraction(float(value)) / (size if name == "b" else 1)
    if result.model.w is not None:
        return Held(result.model.w / float(size), None, multipliers)
    return Held(None, problem.taking_part(result.coef) / float(size), multipliers)


def stated(problem: Any) -> ExactDual:
    """The exact program of a problem.

    Raises
    ------
    UnsupportedError
        Nobody has stated this machine.
    """
    name = type(problem).__name__
    numbers = MACHINES.get(name)
    if numbers is None:
        raise UnsupportedError(f"there is no exact program of {name} to prove; certify says what is measured")
    svm: SVMDual = problem.outlined
    level, price, curvature, totals = numbers(problem, svm)
    groups = tuple(
        ExactGroup(
            group.multiplier, group.column, totals.get(group.multiplier, Fraction(group.total)),
            Fraction(group.ridge), group.formula,
        )
        for group in svm.groups
    )  # fmt: skip
    unit = Fraction(problem.lam) if name == "PrimalHinge" else Fraction(svm.unit)
    return ExactDual(svm.sign, level, price, curvature, groups, svm.n, svm.rows, svm.mix, unit)


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
    s = _weights(problem)
    return constant(0.0, svm.m), floats(s, 1 / sum_of(s)), constant(0.0, svm.m), {}


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
    total = sum((C[k] for k in range(len(C))), Fraction(0))
    nu = Fraction(problem.nu) * total
    return _two_levels(problem, 0.0), joined(C, C), constant(0.0, svm.m), {"epsilon": nu}


def _quantile(problem: Any, svm: SVMDual) -> Numbers:
    C, s, q = problem.taking_part(problem.C), _weights(problem), Fraction(problem.quantile)
    price = joined(products(C, s, q), products(C, s, 1 - q))
    return _two_levels(problem, 0.0), price, constant(0.0, svm.m), {}


#: Levels, prices and curvatures of the machines by the name of their class.
MACHINES: dict[str, Callable[[Any, SVMDual], Numbers]] = {
    "CSVM": _hinge, "HardMargin": _hard, "NuSVM": _nu, "PrimalHinge": _primal_hinge, "SquaredHinge": _squared,
    "HuberHinge": _huber, "EpsilonSVR": _epsilon, "NuSVR": _nu_svr, "QuantileSVR": _quantile, "OneClass": _one_class,
}  # fmt: skip
