"""P and D of a linear machine by its textbook, in rational numbers: the judge of proofs.

It uses nothing of the library.
A `Machine` is what a user asked for, in floats; `values` takes w, b and the rest as the floats of a result, and α as
rationals, checks box and equalities, and returns P (None where a hard row falls short) and D.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import qpsvm

CLASSES = ("c", "nu", "hinge", "hard", "squared", "huber")
TUBES = ("tube", "tube squared", "nu tube", "quantile")
ZERO = Fraction(0)


@dataclass(frozen=True)
class Machine:
    """Parameters of one kind, in floats; y has −1 and +1, or the target of a regression."""

    kind: str
    X: Any
    y: Any
    C: float = 1.0
    nu: float = 0.5
    lam: float = 0.1
    width: float = 0.5
    epsilon: float = 0.1
    quantile: float = 0.8
    weight: Any = None
    intercept: Any = "free"

    @property
    def problem(self) -> qpsvm.Problem:
        """The library's."""
        X, y, kind, C = self.X, self.y, self.kind, self.C
        some: dict[str, Any] = {} if kind == "hard" else {"sample_weight": self.weight}
        both = {**some, "intercept": self.intercept}
        made: dict[str, Any] = {
            "c": lambda: qpsvm.CSVM(X, y, C, **both),
            "nu": lambda: qpsvm.NuSVM(X, y, self.nu, **some),
            "hinge": lambda: qpsvm.PrimalHinge(X, y, self.lam, **both),
            "hard": lambda: qpsvm.HardMargin(X, y),
            "squared": lambda: qpsvm.SquaredHinge(X, y, C, **both),
            "huber": lambda: qpsvm.HuberHinge(X, y, C, self.width, **both),
            "tube": lambda: qpsvm.EpsilonSVR(X, y, C, self.epsilon, **both),
            "tube squared": lambda: qpsvm.EpsilonSVR(X, y, C, self.epsilon, loss="squared", **both),
            "nu tube": lambda: qpsvm.NuSVR(X, y, C, self.nu, **some),
            "quantile": lambda: qpsvm.QuantileSVR(X, y, C, self.quantile, **both),
            "one": lambda: qpsvm.OneClass(X, self.nu, kernel="linear", **some),
        }
        problem: qpsvm.Problem = made[kind]()
        return problem


def fractions(values: Any) -> list[Fraction]:
    """Finite floats as fractions."""
    return [Fraction(float(value)) for value in np.ravel(values)]


def dot(a: Any, b: Any) -> Fraction:
    """aᵀb."""
    return sum((p * q for p, q in zip(a, b, strict=True)), ZERO)


def values(machine: Machine, result: Any, alpha: list[Fraction]) -> tuple[Fraction | None, Fraction]:
    """P and D, in units of ½‖w‖²."""
    kind, X = machine.kind, machine.X.toarray() if sp.issparse(machine.X) else machine.X
    rows, w, b = [fractions(x) for x in X], fractions(result.w), Fraction(float(result.b))
    s = [Fraction(1)] * len(rows) if machine.weight is None else fractions(machine.weight)
    f = [dot(w, x) + b for x in rows]
    C = [Fraction(machine.C) * one for one in s]
    nu = Fraction(result.problem.nu) if kind in ("nu", "nu tube", "one") else ZERO
    half = dot(w, w) / 2
    if kind in TUBES:
        return _tube(machine, result, alpha, rows, f, C, nu, half)
    y = [Fraction(1)] * len(rows) if kind == "one" else fractions(machine.y)
    total, balance = sum(alpha, ZERO), dot(alpha, y)
    beta = [a * sign for a, sign in zip(alpha, y, strict=True)]
    level = Fraction(float(result.rho)) if kind == "nu" else ZERO if kind == "one" else Fraction(1)
    short = [max(level - sign * value, ZERO) for sign, value in zip(y, f, strict=True)]
    primal, dual = half, (ZERO if kind in ("nu", "one") else total) - _half_norm(rows, beta)
    penalty = {"c": C, "huber": C, "one": s, "nu": [one / sum(s) for one in s],
             "hinge": [one / sum(s) / Fraction(machine.lam) for one in s]}.get(kind)  # fmt: skip
    assert all(a >= 0 for a in alpha)
    assert penalty is None or all(a <= U for a, U in zip(alpha, penalty, strict=True))
    if kind == "one":
        assert total == nu * sum(s)
        primal += nu * sum(s) * b
    elif machine.intercept == "penalised":
        primal, dual = primal + b * b / 2, dual - balance * balance / 2
    elif machine.intercept == "free":
        assert balance == 0
    else:
        assert b == 0
    if kind == "nu":
        assert total == nu
        primal -= nu * level
    if kind == "hard":
        return (None if any(short) else primal), dual
    h = Fraction(machine.width)
    if kind == "squared":
        primal += dot(C, [t * t for t in short])
        dual -= sum((a * a / (4 * c) for a, c in zip(alpha, C, strict=True)), ZERO)
    elif kind == "huber":
        primal += dot(C, [t * t / (2 * h) if t <= h else t - h / 2 for t in short])
        dual -= sum((h * a * a / (2 * c) for a, c in zip(alpha, C, strict=True)), ZERO)
    else:
        assert penalty is not None
        primal += dot(penalty, short)
    return primal, dual


def _half_norm(rows: list[list[Fraction]], beta: list[Fraction]) -> Fraction:
    own = [dot(beta, column) for column in zip(*rows, strict=True)]
    return dot(own, own) / 2


def _tube(
    machine: Machine, result: Any, alpha: list[Fraction], rows: list[list[Fraction]], f: list[Fraction],
    C: list[Fraction], nu: Fraction, half: Fraction,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    kind, t, n, b = machine.kind, fractions(machine.y), len(rows), Fraction(float(result.b))
    above, below = alpha[:n], alpha[n:]
    width = {"nu tube": result.extras.get("epsilon", 0.0), "quantile": 0.0}.get(kind, machine.epsilon)
    epsilon, q = Fraction(float(width)), Fraction(machine.quantile)
    penalties = ([q * c for c in C], [(1 - q) * c for c in C]) if kind == "quantile" else (C, C)
    assert all(a >= 0 for a in alpha)
    beta = [p - m for p, m in zip(above, below, strict=True)]
    primal, dual = half, dot(t, beta) - _half_norm(rows, beta)
    if kind == "nu tube":
        assert sum(alpha) == nu * sum(C)
        primal += nu * sum(C) * epsilon
    else:
        dual -= epsilon * sum(alpha)
    if machine.intercept == "penalised":
        primal, dual = primal + b * b / 2, dual - sum(beta) ** 2 / 2
    else:
        assert b == 0 if machine.intercept is None else sum(beta) == 0
    for side, penalty, sign in ((above, penalties[0], 1), (below, penalties[1], -1)):
        short = [max(sign * (value - at) - epsilon, ZERO) for value, at in zip(t, f, strict=True)]
        if kind == "tube squared":
            primal += dot(penalty, [one * one for one in short])
            dual -= sum((a * a / (4 * c) for a, c in zip(side, penalty, strict=True)), ZERO)
        else:
            assert all(a <= U for a, U in zip(side, penalty, strict=True))
            primal += dot(penalty, short)
    return primal, dual
