"""An exact judge for any machine, from nothing but its `SVMDual`; and a hunt with machines that the library has not.

`Stated` is a machine with levels, prices U and curvatures δ given row by row: the squared hinge (U = ∞), Huber's hinge
(both finite), hard rows (U = ∞, δ = 0), rows of several kinds side by side, any intercept. `judge` computes P(w, b) and
D(α) of the very floats that a user gets, in rational numbers, from (DUAL.1) and (DUAL.3) as they stand:

    P = ½‖w‖² + Σ ψ_k(t_k) + eᵀμ + ½Σ R_g μ_g²,    D = ℓᵀα − ½‖w(α)‖² − ½Σ δ_k α_k² − Σ_R (E_gᵀα − e_g)²/(2R_g)

Where E_gᵀα = e_g is asked for, α is repaired exactly first, on the row where that costs least, as in `exact`.

    python tests/tools/exact_dual.py --problems 3000 --seed 1      # exit code 1 where a claim is wrong
    python tests/tools/exact_dual.py --pairs --problems 3000           # rows that are pairs of samples
    python tests/tools/exact_dual.py --only 17                     # one problem in full
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import qpsvm
from qpsvm.data.samples import two_classes
from qpsvm.program.record import Record
from qpsvm.program.svm_dual import Part, SVMDual

#: What sᵀα may be, relative to Σα, and a printed number, relative: rounding.
BALANCE, PRINTED = 1e-12, Fraction(1, 10**9)
BACKENDS = ("auto", "auto", "interior_point", "cvxopt", "osqp")
TOLERANCES = (1e-6, 1e-6, 1e-8, 1e-10, 1e-12)


class Stated(qpsvm.Problem):
    """The machine of a dual that is given row by row."""

    textbook = ("", "½ {norm} + Σ ψ_i(t_i)", "y_i {f} ≥ ℓ_i − ξ_i")

    def __init__(
        self, X: Any, y: Any, level: Any = 1.0, upper: Any = np.inf, curvature: Any = 0.0, intercept: Any = "free",
        kernel: Any = "linear",
    ) -> None:  # fmt: skip
        super().__init__(two_classes(X, y), kernel, intercept, "raise")
        self.stated = {"level": level, "upper": upper, "curvature": curvature}

    @property
    def title(self) -> str:
        """What was stated."""
        return f"stated, intercept {self.intercept}, {self.stated}"

    def _record(self) -> Record:
        return Record(self.labels, **{name: numbers(value) for name, value in self.stated.items()})


class StatedPairs(qpsvm.Ranking):
    """The machine of a dual over pairs of samples that is given pair by pair."""

    textbook = ("", "½ {norm} + Σ ψ_k(t_k)", "wᵀ(x_i − x_j) ≥ ℓ_k − ξ_k")

    def __init__(self, X: Any, pairs: Any, level: Any = 1.0, upper: Any = np.inf, curvature: Any = 0.0) -> None:
        super().__init__(X, pairs=pairs)
        self.stated = {"level": level, "upper": upper, "curvature": curvature}

    def _record(self) -> Record:
        return replace(super()._record(), **{name: numbers(value) for name, value in self.stated.items()})


def numbers(value: Any) -> Any:
    """One number, or a vector."""
    return np.array(value, float) if np.ndim(value) else float(value)


@dataclass(frozen=True)
class Verdict:
    """P (infinite where a hard row falls short), D at the repaired α, and what α broke before that."""

    primal: Fraction | float
    dual: Fraction
    in_box: bool
    imbalance: float

    @property
    def gap(self) -> Fraction | float:
        """(P − D)/max(|P|, |D|), 0 where both are 0."""
        if isinstance(self.primal, float):
            return math.inf
        size = max(abs(self.primal), abs(self.dual))
        return (self.primal - self.dual) / size if size else Fraction(0)


def fractions(values: Any) -> list[Fraction]:
    """Finite floats as fractions."""
    return [Fraction(float(value)) for value in np.ravel(values)]


def loss(t: Fraction, upper: float, curvature: Fraction) -> Fraction | float:
    """ψ of (LOSS.1), from its definition as a maximum over 0 ≤ a ≤ U."""
    if t <= 0 or upper == 0:
        return Fraction(0)
    best = t / curvature if curvature else None
    if math.isinf(upper):
        return math.inf if best is None else best * t - curvature * best * best / 2
    a = Fraction(upper) if best is None else min(best, Fraction(upper))
    return a * t - curvature * a * a / 2


def dot(a: Any, b: Any) -> Fraction:
    """aᵀb without rounding."""
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))


def rows_of(X: Any, svm: SVMDual) -> list[list[Fraction]]:
    """The samples, or combinations of them, at the rows of the dual, X as it is: (m, d)."""
    if svm.mix is not None:
        samples, A = [fractions(x) for x in X], svm.mix.toarray()
        return [[dot(a, column) for column in zip(*samples, strict=True)] for a in map(fractions, A)]
    return [fractions(x) for x in (X if svm.rows is None else X[svm.rows])]


def primal_value(X: Any, svm: SVMDual, w: list[Fraction], multipliers: dict[str, Fraction]) -> Fraction | float:
    """P of (DUAL.3), infinite where a hard row falls short."""
    value = dot(w, w) / 2
    for group in svm.groups:
        mu = multipliers[group.multiplier]
        value += Fraction(group.total) * mu + Fraction(group.ridge) * mu * mu / 2
    for k, z in enumerate(rows_of(X, svm)):
        t = Fraction(float(svm.level[k])) - Fraction(float(svm.sign[k])) * dot(w, z)
        t -= sum((Fraction(float(g.column[k])) * multipliers[g.multiplier] for g in svm.groups), Fraction(0))
        paid = loss(t, float(svm.upper[k]), Fraction(float(svm.curvature[k])))
        if isinstance(paid, float):
            return paid
        value += paid
    return value


def dual_value(X: Any, svm: SVMDual, alpha: list[Fraction]) -> Fraction:
    """D, minus the objective of (DUAL.1); whether α is feasible is not looked at."""
    signed = [a * Fraction(float(s)) for a, s in zip(alpha, svm.sign, strict=True)]
    own = [dot(signed, column) for column in zip(*rows_of(X, svm), strict=True)]
    value = dot(alpha, fractions(svm.level)) - dot(own, own) / 2
    value -= dot(fractions(svm.curvature), [a * a for a in alpha]) / 2
    for group in svm.penalised:
        value -= (dot(fractions(group.column), alpha) - Fraction(group.total)) ** 2 / (2 * Fraction(group.ridge))
    return value


def repaired(X: Any, svm: SVMDual, part: Part, alpha: list[Fraction]) -> tuple[list[Fraction], float]:
    """α with the equality of a part, moved in the one row where D stays largest, and what it was off, relative."""
    column = fractions(part.column)
    surplus = dot(column, alpha) - Fraction(part.total)
    if part.ridge or not surplus:
        return alpha, 0.0
    found = []
    for k in (k for k, c in enumerate(column) if c):
        moved = alpha[k] - surplus / column[k]
        if moved >= 0 and (math.isinf(svm.upper[k]) or moved <= Fraction(float(svm.upper[k]))):
            found.append([*alpha[:k], moved, *alpha[k + 1 :]])
    size = max(dot([abs(c) for c in column], alpha), abs(Fraction(part.total)))
    return max(found, key=lambda other: dual_value(X, svm, other)), float(abs(surplus) / size)


def judge(svm: SVMDual, X: Any, point: Any) -> Verdict:
    """The exact values at α, w, b and the other multipliers of a result or a certificate, over a linear kernel."""
    X = np.asarray(X, float)
    multipliers = {name: Fraction(value) for name, value in getattr(point, "multipliers", {}).items()}
    if svm.intercept is not None:
        multipliers[svm.intercept.multiplier] = Fraction(point.b)
    alpha, imbalance = fractions(point.alpha), 0.0
    in_box = all(a >= 0 and (math.isinf(u) or a <= Fraction(float(u))) for a, u in zip(alpha, svm.upper, strict=True))
    for part in svm.parts:
        alpha, off = repaired(X, svm, part, alpha)
        imbalance = max(imbalance, off)
    primal = primal_value(X, svm, fractions(point.w), multipliers)
    return Verdict(primal, dual_value(X, svm, alpha), in_box, imbalance)


def faults(problem: qpsvm.Problem, result: Any, tol: float) -> list[str]:
    """What is wrong with a result's claims, each beginning with one word."""
    if not all(np.isfinite(part).all() for part in (result.alpha, result.w, result.b, result.yf)):
        return ["nan: a number that is none"]
    verdict, optimal, found = judge(problem.svm, problem.X, result), result.status == "optimal", []
    exact = float(verdict.gap)
    if optimal and not verdict.gap <= tol:
        found.append(f"false: optimal at tol {tol:g}, the gap is {exact:.3g}, printed {result.gap:.3g}")
    if verdict.gap < 0:
        found.append(f"judge: a gap of {exact:.3g} contradicts weak duality")
    if math.isfinite(result.gap) and result.gap < verdict.gap * (1 - PRINTED):
        found.append(f"low: the gap is {exact:.3g}, printed {result.gap:.3g}")
    if not result.gap >= 0 or optimal != (result.gap <= tol):
        found.append(f"status: {result.status} at a gap of {result.gap:.3g}")
    if not verdict.in_box or verdict.imbalance > BALANCE:
        found.append(f"infeasible: in the box {verdict.in_box}, off balance by {verdict.imbalance:.3g}")
    if math.isfinite(result.gap) and not isinstance(verdict.primal, float):
        size = max(abs(verdict.primal), abs(verdict.dual))
        room = (Fraction(result.gap) + PRINTED) * size
        for name, printed, true in (("primal", result.primal, verdict.primal), ("dual", result.dual, verdict.dual)):
            if not (math.isfinite(printed) and abs(Fraction(printed) - true) <= room):
                found.append(f"values: {name} is {float(true):.9g}, printed {printed:.9g}")
    return found


def drawn(seed: int) -> tuple[Stated | StatedPairs, dict[str, Any]]:
    """A machine over 2 to 12 rows of small integers in units of any size, and how it is to be solved."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    X = (rng.integers(-8, 9, (n, d)) + rng.choice([0, 2, 12]) * y[:, None]) * 2.0 ** int(rng.choice([0, 0, -20, 15]))
    if rng.random() < 0.2:
        X = X * rng.uniform(0.5, 1.5, (n, d)) + rng.choice([0.0, 1e4])
    vectors = stated(rng, n)
    intercept = [None, "free", "free", "free", "penalised"][int(rng.integers(5))]
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    return Stated(X, y, *vectors, intercept), options


def drawn_pairs(seed: int) -> tuple[Stated | StatedPairs, dict[str, Any]]:
    """The same for pairs of 2 to 8 samples, some of them twice or both ways round, often far from the origin."""
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 15))
    X = rng.integers(-8, 9, (n, d)) * 2.0 ** int(rng.choice([0, 0, -20, 15]))
    if rng.random() < 0.6:
        X = X * rng.uniform(0.5, 1.5, (n, d)) + rng.choice([0.0, 1e4, 1e8, 1e12]) * rng.choice([1.0, 1.0 / 3.0])
    first = rng.integers(0, n, m)
    pairs = np.column_stack([first, (first + rng.integers(1, n, m)) % n])
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    return StatedPairs(X, pairs, *stated(rng, m)), options


def stated(rng: np.random.Generator, m: int) -> list[Any]:
    """Levels, prices and curvatures of m rows: a number or a vector each."""
    C = 10.0 ** rng.uniform(-8, 8)
    curvature, upper = np.full(m, 0.5 / C), np.full(m, np.inf)
    kind = str(rng.choice(["squared", "squared", "huber", "mixed", "hard rows", "hard rows"]))
    if kind == "huber":
        curvature, upper = np.full(m, 10.0 ** rng.uniform(-3, 3) / C), np.full(m, C)
    elif kind == "mixed":
        upper = np.where(rng.random(m) < 0.5, C * rng.uniform(0.1, 1, m), np.inf)
        curvature = np.where((rng.random(m) < 0.5) & np.isfinite(upper), 0.0, curvature * rng.uniform(0.1, 10, m))
    elif kind == "hard rows":
        curvature[rng.permutation(m)[: rng.integers(1, m + 1)]] = 0.0
    level: Any = rng.choice([1.0, 1.0, 0.5, 3.0, 0.0, -1.0])
    if rng.random() < 0.4:
        level = rng.choice([0.0, 0.25, 1.0, 2.0, -1.0], m) if rng.random() < 0.5 else rng.uniform(0.1, 3, m)
    return [level, *(part[0] if (part == part[0]).all() else part for part in (upper, curvature))]


def examined(seed: int, draw: Any = drawn) -> tuple[str, list[str], bool]:
    """The status, what is wrong, and whether `optimal` would have been true where it was not said."""
    problem, options = draw(seed)
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
        return str(result.status), wrong, False
    careful = result.status != "optimal" and judge(problem.svm, problem.X, result).gap <= options["tol"]
    return str(result.status), foreign + wrong, careful


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--pairs", action="store_true", help="rows that are pairs of samples")
    parser.add_argument("--only", type=int, help="one seed, in full")
    options = parser.parse_args(arguments)
    draw = drawn_pairs if options.pairs else drawn
    if options.only is not None:
        problem, how = draw(options.only)
        print(
            problem,
            how,
            f"X = {problem.X.tolist()}",
            f"y = {getattr(problem, 'pairs', problem.samples.target).tolist()}",
            sep="\n",
        )
        print(qpsvm.solve(problem, **how).summary(), *examined(options.only, draw)[1], sep="\n")
        return 0
    statuses, careful, wrong = Counter[str](), [], []
    for seed in range(options.seed, options.seed + options.problems):
        status, lines, missed = examined(seed, draw)
        statuses[status] += 1
        careful += [seed] if missed else []
        wrong += [f"seed {seed}: {line}" for line in lines]
    print(qpsvm.__file__, *(f"{count} {status}" for status, count in statuses.most_common()), *wrong, sep="\n")
    print(f"not called optimal though it is: {careful}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
