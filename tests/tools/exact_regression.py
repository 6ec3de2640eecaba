"""The exact judge for regressions, over linear kernels; a textbook's primal in CVXPY; and a hunt.

P(w, b, ε) and D(α⁺, α⁻) of the very floats that a user gets are rational numbers, computed here from the loss by its
definition: no levels, signs and rows, only X, t and ε as given. The prices C·s, τC, (1 − τ)C and 1/(4C) and the mass
ν ΣC are the floats that the problem states; that these are right, but for a rounding or two, is checked besides.

    python tests/tools/exact_regression.py --problems 3000 --seed 1      # exit code 1 where a claim is wrong
    python tests/tools/exact_regression.py --only 17                     # one problem in full
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from exact_dual import BALANCE, PRINTED, TOLERANCES, dot, fractions

import qpsvm

BACKENDS = ("auto", "auto", "interior_point", "cvxopt", "osqp")
MACHINES = ("absolute", "absolute", "squared", "nu", "quantile", "quantile")


#: By how many roundings a price that is stated may differ from the product that it is.
ROUNDED = Fraction(1, 2**50)


@dataclass(frozen=True)
class Prices:
    """What a unit of slack costs above and below f, (n,) each, whether its square is paid, ε, and the mass ν ΣC_i."""

    above: list[Fraction]
    below: list[Fraction]
    squared: bool
    epsilon: Fraction
    mass: Fraction | None


def prices(problem: Any) -> Prices:
    """Of a regression, as it states them, once they are found to be what they should be."""
    exact, svm, n = true_prices(problem), problem.svm, problem.n
    stated = svm.upper
    if exact.squared:
        stated = 0.5 / svm.curvature
        halves = [Fraction(1, 2) / c for c in fractions(svm.curvature)]
        each = [Fraction(0)] * (2 * n)
        for place, half in zip(np.flatnonzero(problem._spread(np.ones(svm.m))), halves, strict=True):
            each[place] = half
    else:
        each = fractions(problem._spread(stated))
    mass = None if exact.mass is None else Fraction(svm.margins[0].total)
    for known, true in [*zip(each, (*exact.above, *exact.below), strict=True), (mass or Fraction(0), exact.mass or 0)]:
        assert abs(known - true) <= ROUNDED * n * true
    return Prices(each[:n], each[n:], exact.squared, exact.epsilon, mass)


def true_prices(problem: Any) -> Prices:
    """The same as exact products of the floats that the problem was given."""
    C = [a * b for a, b in zip(fractions(problem.C), fractions(problem.sample_weight), strict=True)]
    if isinstance(problem, qpsvm.QuantileSVR):
        tau = Fraction(problem.quantile)
        return Prices([tau * c for c in C], [(1 - tau) * c for c in C], False, Fraction(0), None)
    if isinstance(problem, qpsvm.NuSVR):
        return Prices(C, C, False, Fraction(0), Fraction(problem.nu) * sum(C, Fraction(0)))
    return Prices(C, C, problem.loss == "squared", Fraction(problem.epsilon), None)


def primal(problem: Any, w: Any, b: float, epsilon: float | None = None) -> Fraction:
    """P at (w, b), with the ε that a ν-SVR found."""
    price, weights, offset = prices(problem), fractions(w), Fraction(float(b))
    width = price.epsilon if epsilon is None else Fraction(epsilon)
    value = dot(weights, weights) / 2
    if problem.intercept == "penalised":
        value += offset * offset / 2
    if price.mass is not None:
        value += price.mass * width
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
    for x, t, up, down in zip(X, fractions(problem.t), price.above, price.below, strict=True):
        missed = t - dot(weights, fractions(x)) - offset
        for cost, slack in ((up, max(missed - width, Fraction(0))), (down, max(-missed - width, Fraction(0)))):
            value += cost * slack * (slack if price.squared else 1)
    return value


def dual(problem: Any, alpha: Any, near: Any) -> tuple[Fraction, bool, float]:
    """D at α (2n,), one side brought to what the other has, whichever way is better."""
    return max((_dual(problem, alpha, near, level) for level in (min, max)), key=lambda found: found[0])


def _dual(problem: Any, alpha: Any, near: Any, level: Any) -> tuple[Fraction, bool, float]:
    """D at α (2n,) moved onto its equalities where slack is near 0; whether α was in its box; how far off it was."""
    price, n = prices(problem), problem.n
    above, below = fractions(alpha[:n]), fractions(alpha[n:])
    upper = [None if price.squared else c for c in (*price.above, *price.below)]
    inside = all(a >= 0 and (u is None or a <= u) for a, u in zip((*above, *below), upper, strict=True))
    off = 0.0
    if problem.intercept == "free":
        half = None if price.mass is None else price.mass / 2
        off = _moved(above, below, half, upper, np.abs(near), level)
        if math.isinf(off):
            return Fraction(-(10**300)), inside, off
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
    beta = [a - c for a, c in zip(above, below, strict=True)]
    w = [dot(beta, fractions(column)) for column in np.asarray(X, float).T]
    total = [a + c for a, c in zip(above, below, strict=True)]
    value = dot(beta, fractions(problem.t)) - price.epsilon * sum(total, Fraction(0)) - dot(w, w) / 2
    if problem.intercept == "penalised":
        value -= sum(beta, Fraction(0)) ** 2 / 2
    if price.squared:
        for a, c, cost in zip(above, below, price.above, strict=True):
            value -= (a * a + c * c) / (4 * cost) if cost else 0
    return value, inside, off


def _moved(
    above: list[Fraction], below: list[Fraction], half: Fraction | None, upper: list[Any], near: Any, level: Any
) -> float:
    """Each side brought to its mass, or the heavier to the lighter, on rows near an edge; how far off it was."""
    sums = [sum(above, Fraction(0)), sum(below, Fraction(0))]
    size = max(*sums, half or Fraction(0))
    wanted, n = [half, half] if half is not None else [level(sums)] * 2, len(above)
    off = max(abs(a - b) for a, b in zip(sums, wanted, strict=True))
    for side, first, now, goal in ((above, 0, sums[0], wanted[0]), (below, n, sums[1], wanted[1])):
        left = goal - now
        for k in (int(i) for i in np.argsort(near[first : first + n], kind="stable")):
            most = size * 2 if upper[first + k] is None else upper[first + k]
            step = min(left, most - side[k]) if left > 0 else max(left, -side[k])
            side[k] += step
            left -= step
        if left:  # no room on this side
            return math.inf
    return float(off / size) if size else 0.0


def gap_of(problem: Any, result: Any) -> tuple[Fraction, Fraction, Fraction, bool, float]:
    """The exact relative gap, P, D, whether α is in its box, and how far it is off balance."""
    width = result.extras.get("epsilon")
    P = primal(problem, result.w, result.b, width)
    D, inside, off = dual(problem, result.alpha, result.margin - result.yf)
    size = max(abs(P), abs(D))
    return ((P - D) / size if size else Fraction(0)), P, D, inside, off


def faults(problem: Any, result: Any, tol: float) -> list[str]:
    """What is wrong with a result's claims, each beginning with one word."""
    numbers = (result.alpha, result.w, result.b, result.yf, list(result.extras.values()))
    if not all(np.isfinite(part).all() for part in numbers):
        return ["nan: a number that is none"]
    exact, P, D, inside, off = gap_of(problem, result)
    optimal, found = result.status == "optimal", []
    if optimal and not exact <= tol:
        found.append(f"false: optimal at tol {tol:g}, the gap is {float(exact):.3g}, printed {result.gap:.3g}")
    if exact < 0:
        found.append(f"judge: a gap of {float(exact):.3g} contradicts weak duality")
    if math.isfinite(result.gap) and result.gap < exact * (1 - PRINTED):
        found.append(f"low: the gap is {float(exact):.3g}, printed {result.gap:.3g}")
    if not result.gap >= 0 or optimal != (result.gap <= tol):
        found.append(f"status: {result.status} at a gap of {result.gap:.3g}")
    if not inside or off > BALANCE:
        found.append(f"infeasible: in the box {inside}, off balance by {off:.3g}")
    if not result.extras.get("epsilon", 0.0) >= 0.0:
        found.append(f"width: ε = {result.epsilon}")
    if math.isfinite(result.gap):
        room = (Fraction(result.gap) + PRINTED) * max(abs(P), abs(D))
        for name, printed, true in (("primal", result.primal, P), ("dual", result.dual, D)):
            if not (math.isfinite(printed) and abs(Fraction(printed) - true) <= room):
                found.append(f"values: {name} is {float(true):.9g}, printed {printed:.9g}")
    low, high = result.b_interval
    if not low <= result.b <= high:
        found.append(f"interval: b = {result.b} is outside of its own interval [{low}, {high}]")
    return found


def drawn(seed: int) -> tuple[Any, dict[str, Any]]:
    """A regression over 1 to 10 samples, of any size and place, and how it is to be solved."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 11)), int(rng.integers(1, 4))
    unit, place = 10.0 ** rng.choice([0, 0, 0, -8, -4, 4, 8]), rng.choice([0.0, 0.0, 0.0, 5.0, 1e4])
    X = rng.integers(-6, 7, (n, d)) * 10.0 ** rng.choice([0, 0, -4, 4]) + rng.choice([0.0, 0.0, 1e3])
    if rng.random() < 0.5:
        X = X * rng.uniform(0.5, 1.5, (n, d))
    if rng.random() < 0.1:
        X[:, int(rng.integers(d))] = 1.0
    t = unit * ((rng.integers(-4, 5, n) if rng.random() < 0.5 else rng.normal(size=n)) + place)
    if rng.random() < 0.1:
        t = np.full(n, float(unit * place + 0.1 * unit))
    if rng.random() < 0.15:
        X, t = np.vstack([X, X]), np.concatenate([t, t + rng.choice([0.0, unit])])
    weight = None
    if rng.random() < 0.2:
        weight = rng.choice([0.0, 0.5, 1.0, 100.0], len(t))
        weight[0] = 1.0
    C = float(10.0 ** rng.uniform(-6, 6) * unit)
    intercept = str(rng.choice(["free", "free", "free", "penalised", "none"])).replace("none", "")
    machine = str(rng.choice(MACHINES))
    if machine == "nu":
        nu = float(rng.choice([1e-12, 1e-3, 0.1, 0.5, 0.9, 1.0, rng.uniform(0, 1)]))
        problem: Any = qpsvm.NuSVR(X, t, C, nu, sample_weight=weight)
    elif machine == "quantile":
        tau = float(rng.choice([0.5, 0.1, 0.9, 0.001, rng.uniform(0, 1)]))
        problem = qpsvm.QuantileSVR(X, t, C, tau, sample_weight=weight, intercept=intercept or None)
    else:
        C = C / unit if machine == "squared" else C
        epsilon = float(unit * rng.choice([0.0, 0.0, 0.1, 0.5, 1.0, 100.0]))
        problem = qpsvm.EpsilonSVR(X, t, C, epsilon, machine, sample_weight=weight, intercept=intercept or None)
    return problem, {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}


def examined(seed: int) -> tuple[str, list[str], bool]:
    """The status, what is wrong, and whether `optimal` would have been true where it was not said."""
    problem, options = drawn(seed)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = qpsvm.solve(problem, **options)
        except qpsvm.QPSVMError as error:
            return f"{type(error).__name__}: {str(error)[:60]}", [], False
    foreign = [f"warning: {one.message}" for one in heard if not issubclass(one.category, qpsvm.QPSVMWarning)]
    wrong = faults(problem, result, options["tol"])
    if any(line.startswith("nan") for line in wrong):
        return str(result.status), wrong, False
    careful = result.status != "optimal" and gap_of(problem, result)[0] <= options["tol"]
    return str(result.status), foreign + wrong, careful


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", type=int, help="one seed, in full")
    options = parser.parse_args(arguments)
    if options.only is not None:
        problem, how = drawn(options.only)
        print(problem, how, f"X = {problem.X.tolist()}", f"t = {problem.t.tolist()}", sep="\n")
        print(f"s = {problem.sample_weight.tolist()}, C = {problem.C.tolist()}")
        print(qpsvm.solve(problem, **how).summary(), *examined(options.only)[1], sep="\n")
        return 0
    statuses, careful, wrong = Counter[str](), [], []
    for seed in range(options.seed, options.seed + options.problems):
        status, lines, missed = examined(seed)
        statuses[status] += 1
        careful += [seed] if missed else []
        wrong += [f"seed {seed}: {line}" for line in lines]
    print(qpsvm.__file__, *(f"{count} {status}" for status, count in statuses.most_common()), *wrong, sep="\n")
    print(f"not called optimal though it is: {careful}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
