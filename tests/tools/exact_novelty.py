"""An exact judge for `OneClass` and `SVDD` with a linear kernel, and a hunt for false claims.

What is judged are the floats that a user gets, in rational numbers and in the textbook's terms, over the samples as
they are: nothing is centred, nothing is scaled.

    one-class:  P = ½‖w‖² − e ρ + Σ s_i (ρ − wᵀx_i)₊,           D = −½‖Σ α_i x_i‖²
    SVDD:       P = R² + Σ C_i (‖x_i − c‖² − R²)₊,             D = Σ α_i ‖x_i‖² − ‖Σ α_i x_i‖²

e = ν Σs and C_i = s_i/(ν Σs) are the floats that the machine states. α is repaired exactly first, on the row where that
costs least. Where a one-class SVM says w = 0, the gap is that of (VANISH.2), and no entry of Σ α_i x_i may be more than
the rounding of its own sum.

    python tests/tools/exact_novelty.py --problems 3000 --seed 1      # exit code 1 where a claim is wrong
    python tests/tools/exact_novelty.py --only 17                     # one problem in full
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
import scipy.sparse as sp
from exact_dual import BACKENDS, BALANCE, PRINTED, TOLERANCES, dot, fractions

import qpsvm
from qpsvm.base.arrays.types import FloatArray

#: What an entry of w(α) may be in units of Σ α_i |x_ij|, times the rows, where w = 0 is claimed.
ROUNDING = Fraction(1, 2**52)
OFFSETS = (0.0, 0.0, 0.0, 1.0, 1e3, 1e6)


@dataclass(frozen=True)
class Verdict:
    """P and D at the repaired α, the exact relative gap, and what α broke before it was repaired."""

    primal: Fraction
    dual: Fraction
    gap: Fraction | float
    in_box: bool
    imbalance: float


def stated(problem: qpsvm.Problem) -> tuple[list[list[Fraction]], list[Fraction], Fraction]:
    """The samples that take part, U, and what Σα is to be."""
    X = problem.X[problem.rows]
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    return [fractions(x) for x in dense], fractions(problem.svm.upper), Fraction(problem.svm.groups[0].total)


def weights_of(X: list[list[Fraction]], alpha: list[Fraction]) -> list[Fraction]:
    """Σ α_i x_i: (d,)."""
    return [dot(alpha, column) for column in zip(*X, strict=True)]


def dual_value(ball: bool, X: list[list[Fraction]], alpha: list[Fraction]) -> Fraction:
    """D, whether or not α is feasible."""
    own = weights_of(X, alpha)
    if not ball:
        return -dot(own, own) / 2
    return sum((a * dot(x, x) for a, x in zip(alpha, X, strict=True)), Fraction(0)) - dot(own, own)


def primal_value(ball: bool, X: list[list[Fraction]], upper: list[Fraction], e: Fraction, result: Any) -> Fraction:
    """P at the numbers that the user gets."""
    if ball:
        c, square = fractions(result.centre), Fraction(result.radius) ** 2
        far = [sum(((a - b) ** 2 for a, b in zip(x, c, strict=True)), Fraction(0)) - square for x in X]
        return square + sum((C * t for C, t in zip(upper, far, strict=True) if t > 0), Fraction(0))
    w, rho = fractions(result.w), Fraction(result.rho)
    short = [rho - dot(w, x) for x in X]
    return dot(w, w) / 2 - e * rho + sum((s * t for s, t in zip(upper, short, strict=True) if t > 0), Fraction(0))


def repaired(
    ball: bool, X: list[list[Fraction]], upper: list[Fraction], e: Fraction, alpha: list[Fraction]
) -> tuple[list[Fraction], float]:
    """α with Σα = e, moved in the one row where D stays largest, and what it was off, relative."""
    surplus = sum(alpha, Fraction(0)) - e
    if not surplus:
        return alpha, 0.0
    able = [k for k, a in enumerate(alpha) if 0 <= a - surplus <= upper[k]]
    if not able:
        return alpha, math.inf
    own, unit = weights_of(X, alpha), 1 if ball else Fraction(1, 2)

    def lost(k: int) -> Fraction:
        """What D loses where row k takes the surplus."""
        square = dot(X[k], X[k])
        slope = 2 * unit * dot(own, X[k]) - (square if ball else 0)
        return surplus * (unit * surplus * square - slope)

    best = min(able, key=lost)
    return [*alpha[:best], alpha[best] - surplus, *alpha[best + 1 :]], float(abs(surplus) / e)


def judge(problem: qpsvm.Problem, result: Any) -> Verdict:
    """The exact values of a result."""
    X, upper, e = stated(problem)
    ball = isinstance(problem, qpsvm.SVDD)
    alpha = fractions(problem.taking_part(result.alpha))
    imbalance = 0.0
    in_box = all(0 <= a <= u for a, u in zip(alpha, upper, strict=True))
    if abs(sum(upper, Fraction(0)) - e) <= len(X) * ROUNDING * e:  # ν = 1: one α is feasible, but U and e are rounded
        imbalance = float(abs(sum(alpha, Fraction(0)) - e) / e)
        alpha = upper = [u * e / sum(upper, Fraction(0)) for u in upper]
    given, (alpha, moved) = alpha, repaired(ball, X, upper, e, alpha)
    primal, dual = primal_value(ball, X, upper, e, result), dual_value(ball, X, alpha)
    size = max(abs(primal), abs(dual))
    gap: Fraction | float = (primal - dual) / size if size else Fraction(0)
    if not ball and primal == 0 and not result.w.any():
        size = [[abs(entry) for entry in x] for x in X]
        own, spread = weights_of(X, given), weights_of(size, given)
        small = all(abs(one) <= (len(X) + 2) * ROUNDING * most for one, most in zip(own, spread, strict=True))
        whole = dot(spread, spread)
        gap = (-2 * dual / whole if whole else -dual) if small else math.inf  # of α with Σα = e to the last digit
    return Verdict(primal, dual, gap, in_box, max(imbalance, moved))


def faults(problem: qpsvm.Problem, result: Any, tol: float) -> list[str]:
    """What is wrong with a result's claims, each beginning with one word."""
    ball = isinstance(problem, qpsvm.SVDD)
    own = (result.radius, result.centre) if ball else (result.rho, result.w)
    if not all(np.isfinite(part).all() for part in (result.alpha, result.yf, *own)):
        return ["nan: a number that is none"]
    verdict, optimal, found = judge(problem, result), result.status == "optimal", []
    exact = float(verdict.gap)
    if optimal and not verdict.gap <= tol:
        found.append(f"false: optimal at tol {tol:g}, the gap is {exact:.3g}, printed {result.gap:.3g}")
    if verdict.gap < 0:
        found.append(f"judge: a gap of {exact:.3g} contradicts weak duality")
    if math.isfinite(result.gap) and result.gap < verdict.gap * (1 - PRINTED) and verdict.primal:
        found.append(f"low: the gap is {exact:.3g}, printed {result.gap:.3g}")
    if not result.gap >= 0 or optimal != (result.gap <= tol):
        found.append(f"status: {result.status} at a gap of {result.gap:.3g}")
    if not verdict.in_box or verdict.imbalance > BALANCE:
        found.append(f"infeasible: in the box {verdict.in_box}, off balance by {verdict.imbalance:.3g}")
    if math.isfinite(result.gap):
        room = (Fraction(result.gap) + PRINTED) * max(abs(verdict.primal), abs(verdict.dual))
        for name, printed, true in (("primal", result.primal, verdict.primal), ("dual", result.dual, verdict.dual)):
            if not abs(Fraction(printed) - true) <= room and verdict.primal:
                found.append(f"values: {name} is {float(true):.17g}, printed {printed:.17g}")
    return found + inside_out(problem, result, ball)


def inside_out(problem: qpsvm.Problem, result: Any, ball: bool) -> list[str]:
    """What is wrong with f at the samples: more than rounding of the distances, or the products, that it is made of."""
    X = problem.X.toarray() if sp.issparse(problem.X) else np.asarray(problem.X)
    f, d = result.decision_function(problem.X), X.shape[1]
    for i, x in enumerate(X):
        if ball:
            squares = [(a - b) ** 2 for a, b in zip(fractions(x), fractions(result.centre), strict=True)]
            square = Fraction(result.radius) ** 2
            true, size = square - sum(squares, Fraction(0)), square + sum(squares, Fraction(0))
        else:
            true = dot(fractions(result.w), fractions(x)) - Fraction(result.rho)
            size = dot(np.abs(result.w), np.abs(x)) + abs(Fraction(result.rho))
        if abs(Fraction(float(f[i])) - true) > (2 * d + 8) * ROUNDING * size:
            return [f"f: of sample {i} it is {float(true):.17g}, said {f[i]:.17g}"]
    return []


def samples(rng: np.random.Generator) -> FloatArray:
    """1 to 12 rows of small integers in units of any size, some of them twice, symmetric, equal or far away."""
    n, d = int(rng.integers(1, 13)), int(rng.integers(1, 4))
    X = rng.integers(-8, 9, (n, d)).astype(float)
    shape = str(rng.choice(["plain", "plain", "apart", "mirrored", "equal", "twice", "ragged"]))
    if shape == "apart":
        X += 12.0
    elif shape == "mirrored":
        X = np.vstack([X, -X])
    elif shape == "equal":
        X = np.repeat(X[:1] + 0.1, n, axis=0)
    elif shape == "twice":
        X = np.vstack([X, X])
    elif shape == "ragged":
        X = X * rng.uniform(0.5, 1.5, X.shape)
    X *= 2.0 ** int(rng.choice([0, 0, -20, 15]))
    return X + float(rng.choice(OFFSETS)) * rng.choice([0.0, 1.0, 1.1], X.shape[1])


def drawn(seed: int) -> tuple[qpsvm.Problem, dict[str, Any]]:
    """A machine over such rows, with any ν, and how it is to be solved."""
    rng = np.random.default_rng(seed)
    X: Any = samples(rng)
    n = len(X)
    nu = float(rng.choice([1.0, 1e-12, 0.5, rng.uniform(0.01, 1.0), rng.integers(1, n + 1) / n]))
    weight = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], n) if rng.random() < 0.4 else None
    if weight is not None and not weight.any():
        weight = None
    if rng.random() < 0.15:
        X = sp.csr_array(X)
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    machine: Any = qpsvm.SVDD if rng.random() < 0.5 else qpsvm.OneClass
    return machine(X, nu, "linear", weight), options


def examined(seed: int) -> tuple[str, list[str], bool]:
    """The status, what is wrong, and whether `optimal` would have been true where it was not said."""
    problem, options = drawn(seed)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = qpsvm.solve(problem, **options)
        except qpsvm.QPSVMError as error:
            return f"{type(error).__name__}: {str(error)[:60]}", [], False
        except Exception as error:  # whatever it is: that it came is the finding
            return "exception", [f"exception: {type(error).__name__}: {error}"], False
    foreign = [f"warning: {one.message}" for one in heard if not issubclass(one.category, qpsvm.QPSVMWarning)]
    wrong = faults(problem, result, options["tol"])
    if any(line.startswith("nan") for line in wrong):
        return str(result.status), foreign + wrong, False
    careful = result.status != "optimal" and judge(problem, result).gap <= options["tol"]
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
        X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
        print(problem, how, f"X = {X.tolist()}", f"weights = {problem.sample_weight.tolist()}", sep="\n")
        result = qpsvm.solve(problem, **how)
        verdict = judge(problem, result)
        print(result.summary(), result.alpha.tolist(), float(verdict.primal), float(verdict.dual), sep="\n")
        print(*examined(options.only)[1], sep="\n")
        return 0
    statuses, careful, wrong = Counter[str](), [], []
    for seed in range(options.seed, options.seed + options.problems):
        status, lines, missed = examined(seed)
        statuses[f"{type(drawn(seed)[0]).__name__} {status}"] += 1
        careful += [seed] if missed else []
        wrong += [f"seed {seed}: {line}" for line in lines]
    print(qpsvm.__file__, *(f"{count} {status}" for status, count in statuses.most_common()), *wrong, sep="\n")
    print(f"not called optimal though it is: {careful}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
