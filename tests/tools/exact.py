"""An exact judge of results: the true relative gap of the very floats that a user holds.

Values P(w, b, ρ) and D(α) are computed without rounding from X, y and the parameters. For linear, polynomial and
precomputed kernels everything is a `Dyadic`; values of other kernels come from mpmath with an error of 2^−300, and
everything after them is exact again. So (P − D)/max(|P|, |D|) is the gap, and not an estimate of it.

α as returned violates yᵀα = 0 (and 1ᵀα = ν) by rounding, so D(α) alone would prove nothing. The judge repairs α: the
surplus moves to the row where that costs least, exactly. By weak duality P − D of any primal point and any feasible α
is at least the distance of either from the optimum; so the judge's gap is never negative, and small only if both are
good. The box is kept exactly by the library, with C_i the floats it computes them as (`SVMResult.upper`, which are
compared with their formula here).

    task = Task(X, y, "c", C=1e4)            # `proof.Task`: a problem in plain numbers, y is −1/+1
    result = task.solve("auto")
    verdict = judge(task, result)            # .primal, .dual, .gap: rational numbers
    deserved(verdict, result, tol)           # whether `optimal` is the truth
    faults(task, result, tol)                # everything that is wrong with what the result claims, in words
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from dyadic import Dyadic
from exact_space import Space, space_of
from proof import Task

import qpsvm

#: What yᵀα and 1ᵀα − ν may be, relative to the sum: rounding.
BALANCE = 1e-12
#: What a printed value or bound may be off, relative.
PRINTED = Fraction(1, 10**9)
#: A row with more than this share of its bound (for a hard margin, of the largest α) is not peripheral.
PERIPHERAL = 1e-3
#: What the note of a ν-SVM says where ρ is 0.
HULLS_MEET = "hulls meet"


@dataclass(frozen=True)
class Verdict:
    """The truth about a result.

    Attributes
    ----------
    primal : Fraction or inf
        P at the w, b and ρ returned, without the factor λ. Of a hard margin at (w, b)/m where m < 1.
    dual : Fraction
        D at the α returned, repaired.
    in_box : bool
        0 ≤ α ≤ C, exactly.
    imbalance : float
        |yᵀα|/Σα, or of a ν-SVM the larger of both classes' |Σα − ν/2|/(ν/2).
    margin : Fraction
        m = min y_i f(x_i).
    norm2, radius2, reach2 : Fraction
        ‖w(α)‖² of the repaired α, the square of what rounding may make of 0 in its computation, and the largest squared
        distance of a sample from the mean: of a ν-SVM.
    """

    primal: Fraction | float
    dual: Fraction
    in_box: bool
    imbalance: float
    margin: Fraction
    norm2: Fraction = Fraction(0)
    radius2: Fraction = Fraction(-1)
    reach2: Fraction = Fraction(0)

    @property
    def size(self) -> Fraction | float:
        """max(|P|, |D|)."""
        return max(abs(self.primal), abs(self.dual))

    @property
    def gap(self) -> Fraction | float:
        """(P − D)/max(|P|, |D|); 0 where both are 0, infinite where P is."""
        if isinstance(self.primal, float):
            return math.inf
        return (self.primal - self.dual) / self.size if self.primal != self.dual else Fraction(0)

    @property
    def hulls_meet(self) -> bool:
        """Whether the reduced hulls of a ν-SVM meet as far as floats can tell: w(α) is no more than its rounding.

        The values at the w, b and ρ returned have to be as small: a w of that length costs no more than its product
        with the reach of the samples.
        """
        if self.norm2 > self.radius2 or isinstance(self.primal, float):
            return False
        beyond = self.primal - self.radius2 / 2
        return beyond <= 0 or beyond**2 <= self.radius2 * self.reach2


def judge(task: Task, result: qpsvm.SVMResult) -> Verdict:
    """The exact values at what the user gets. Everything in the result has to be finite, except P, gap and intervals.

    The Gram matrix has to be positive semidefinite, and the task without psd="clip" or "shift".
    """
    assert task.options.get("psd", "raise") == "raise"
    rows = np.flatnonzero(task.s > 0)
    y, space = Dyadic.of(task.y[rows]), space_of(task, result, rows)
    upper = None if task.variant == "hard" else Dyadic.of(result.upper[rows])
    given = Dyadic.of(result.alpha[rows])
    alpha = given.positive()
    if upper is not None:
        alpha = alpha.where(alpha <= upper, upper)
    in_box = bool((given >= alpha).all() and (given <= alpha).all())
    groups = equalities(task, y, upper)
    imbalance = max((relative_surplus(given, *group) for group in groups), default=0.0)
    level = 0 if task.variant == "nu" else 1
    for sign, target in groups:
        alpha = repaired(alpha, upper, sign, target, y, space, level)
    norm2 = space.own(alpha * y)[1]
    dual = (alpha.sum() * level - norm2.half).fraction()
    if penalised(task):
        dual -= (alpha @ y).fraction() ** 2 / 2
    values, square = space.model(result)
    yf = (values + result.b) * y
    primal = primal_value(task, result, square, yf, upper, groups)
    if task.variant != "nu":
        return Verdict(primal, dual, in_box, imbalance, yf.min().fraction())
    radius2, reach2 = space.rounding(alpha)
    return Verdict(primal, dual, in_box, imbalance, yf.min().fraction(), norm2.fraction(), radius2, reach2)


def penalised(task: Task) -> bool:
    """Whether ½b² is part of the objective."""
    return task.variant == "hinge" and task.intercept == "penalised"


def equalities(task: Task, y: Dyadic, upper: Dyadic | None) -> list[tuple[Dyadic, Dyadic]]:
    """Signs g (n,) and target e of each equality gᵀα = e.

    Both classes of a ν-SVM have mass ν/2; a ν that exceeds what the bounds a_i allow, by their rounding, is that.
    """
    if task.variant == "hinge" and task.intercept != "free":
        return []
    if task.variant != "nu":
        return [(y, Dyadic.of(0))]
    assert upper is not None
    classes = [Dyadic.of(y > 0), Dyadic.of(y < 0)]
    masses = [Dyadic.of(task.nu).half, *(upper @ members for members in classes)]
    target = min(masses, key=Dyadic.fraction)
    assert target.fraction() >= masses[0].fraction() * (1 - Fraction(BALANCE)), "an infeasible ν"
    return [(members, target) for members in classes]


def relative_surplus(alpha: Dyadic, sign: Dyadic, target: Dyadic) -> float:
    """|gᵀα − e| over e or, where that is 0, over Σ|g|α; 0 for α = 0."""
    surplus, size = (sign @ alpha - target).fraction(), target.fraction() or (abs(sign) @ alpha).fraction()
    return float(abs(surplus) / size) if size else 0.0


def repaired(
    alpha: Dyadic, upper: Dyadic | None, sign: Dyadic, target: Dyadic, y: Dyadic, space: Space, level: int
) -> Dyadic:
    """α in its box with gᵀα = e: the surplus moves to the one row where D stays largest, or else to many rows.

    D(α + δ_i e_i) − D(α) = δ_i(level − y_i⟨w(α), φ(x_i)⟩) − ½δ_i²K_ii.
    """
    surplus = sign @ alpha - target
    if not surplus.ints.item():
        return alpha
    delta = -(sign * surplus)  # that of each row, were it the only one
    moved = alpha + delta
    fits = (sign.ints != 0) & (moved >= 0)
    if upper is not None:
        fits &= moved <= upper
    if fits.any():
        values = space.own(alpha * y)[0] * y
        change = delta * (-values + level) - (delta * delta * space.diagonal).half
        best = next(i for i in change.descending() if fits[i])
        return alpha.where(np.arange(len(alpha)) != best, moved)
    return spread(alpha, upper, sign, surplus)


def spread(alpha: Dyadic, upper: Dyadic | None, sign: Dyadic, surplus: Dyadic) -> Dyadic:
    """Take the surplus from the largest α, and from where there is room above last."""
    assert upper is not None, "without upper bounds one row takes all"
    shrink = sign.ints * surplus.ints.item() > 0
    order = [i for i in alpha.descending() if shrink[i]]
    order += [i for i in (upper - alpha).descending() if sign.ints[i] and not shrink[i]]
    for i in order:
        room = alpha[i] if shrink[i] else upper[i] - alpha[i]
        step = room if room <= abs(surplus) else abs(surplus)
        step = -step if shrink[i] else step
        alpha = alpha + step * Dyadic.of(np.arange(len(alpha)) == i)
        surplus = surplus + sign[i] * step
        if not surplus.ints.item():
            return alpha
    raise AssertionError("no point of the box keeps the equality")


def primal_value(
    task: Task,
    result: qpsvm.SVMResult,
    square: Dyadic,
    yf: Dyadic,
    upper: Dyadic | None,
    groups: list[tuple[Dyadic, Dyadic]],
) -> Fraction | float:
    """P for ‖w‖² and y∘f of the point returned."""
    if upper is None:
        margin = yf.min().fraction()
        return square.fraction() / 2 / min(margin, Fraction(1)) ** 2 if margin > 0 else math.inf
    primal = square.half + upper @ (-yf + result.rho).positive()
    if task.variant == "nu":
        primal = primal - (groups[0][1] + groups[1][1]) * result.rho
    return primal.fraction() + (Fraction(result.b) ** 2 / 2 if penalised(task) else 0)


def deserved(verdict: Verdict, result: qpsvm.SVMResult, tol: float) -> bool:
    """Whether `optimal` at this tolerance is the truth.

    It is where α is feasible up to the rounding of its sums, and the exact gap within the tolerance; or, for a ν-SVM,
    where the reduced hulls meet as far as floats can tell and the result says so.
    """
    if not verdict.in_box or verdict.imbalance > BALANCE:
        return False
    return verdict.gap <= tol or (verdict.hulls_meet and HULLS_MEET in result.message)


def faults(task: Task, result: qpsvm.SVMResult, tol: float = 1e-6) -> list[str]:
    """What is wrong with a result's claims, each beginning with one word; an empty list if all is as it says."""
    w = [] if result.model.w is None else result.w
    numbers = (result.alpha, result.b, result.rho, result.yf, result.model.coef, w)
    may_be_infinite = (result.b_interval, result.gap, result.solver_gap, result.primal, result.dual, result.terms)
    if not all(np.isfinite(part).all() for part in numbers) or any(np.isnan(part).any() for part in may_be_infinite):
        return ["nan: a number that is none"]
    verdict = judge(task, result)
    optimal = result.status == "optimal"
    found = []
    if optimal and not deserved(verdict, result, tol):
        found.append(f"false: optimal, the gap is {float(verdict.gap):.3g}, printed {result.gap:.3g}")
    if verdict.gap < 0:
        found.append(f"judge: a gap of {float(verdict.gap):.3g} contradicts weak duality")
    if result.gap < 0:
        found.append(f"negative: a gap of {result.gap:.3g}")
    meets = optimal and verdict.gap > tol and verdict.hulls_meet
    if math.isfinite(result.gap) and not meets:
        if result.gap < verdict.gap * (1 - PRINTED):
            found.append(f"low: the gap is {float(verdict.gap):.3g}, printed {result.gap:.3g}")
        found += wrong_values(task, result, verdict)
    if optimal != (result.gap <= tol):
        found.append(f"status: {result.status} at a gap of {result.gap:.3g}")
    if not verdict.in_box or (result.alpha[task.s == 0] != 0).any():
        found.append("box: α is not between 0 and C")
    if verdict.imbalance > BALANCE:
        found.append(f"balance: violated by {verdict.imbalance:.3g}")
    if optimal and task.variant == "hard" and verdict.margin < 1 - tol:
        found.append(f"margin: the smallest y f is {float(verdict.margin):.17g}")
    if HULLS_MEET in result.message and verdict.primal < 0 and verdict.norm2 > verdict.radius2:
        found.append(f"note: the reduced hulls do not meet, the objective is below {float(verdict.primal):.3g}")
    return [*found, *wrong_parts(task, result)]


def wrong_values(task: Task, result: qpsvm.SVMResult, verdict: Verdict) -> list[str]:
    """Printed objective values that are further from the exact ones than the printed gap allows."""
    factor = Fraction(task.lam) if task.variant == "hinge" else Fraction(1)
    room = (abs(Fraction(result.gap)) + PRINTED) * verdict.size * factor
    if HULLS_MEET in result.message:  # the value is 0, and what is printed may be what rounding makes of that
        room += verdict.radius2
    pairs = (("primal", result.primal, verdict.primal), ("dual", result.dual, verdict.dual))
    return [
        f"values: {name} is {float(exact * factor):.9g}, printed {printed:.9g}"
        for name, printed, exact in pairs
        if not (math.isfinite(printed) and math.isfinite(exact) and abs(Fraction(printed) - exact * factor) <= room)
    ]


def wrong_parts(task: Task, result: qpsvm.SVMResult) -> list[str]:
    """Bounds that are not what is documented, an intercept where there is none, and rows in the wrong class."""
    found = []
    if task.variant != "hard":
        weights = [Fraction(float(s)) for s in task.s]
        if task.variant == "c":
            prices = np.broadcast_to(np.asarray(task.C, float), len(weights)).tolist()
            bounds = [s * Fraction(C) for s, C in zip(weights, prices, strict=True)]
        else:
            total = sum(weights) * (Fraction(task.lam) if task.variant == "hinge" else 1)
            bounds = [s / total for s in weights]
        if any(abs(Fraction(float(u)) - C) > PRINTED * C for u, C in zip(result.upper, bounds, strict=True)):
            found.append("upper: C_i is not what is documented")
    if task.variant == "hinge" and task.intercept is None and result.b != 0:
        found.append(f"intercept: b = {result.b:.3g} where there is none")
    most = result.upper if task.variant != "hard" else np.full(len(result.alpha), result.alpha.max())
    outside = np.flatnonzero((result.kind == 0) & (result.alpha > PERIPHERAL * most))
    if len(outside) and math.isfinite(result.gap):
        share = (result.alpha[outside] / most[outside]).max()
        found.append(f"kind: rows {outside.tolist()} are called peripheral, α/C up to {share:.3g}")
    return found
