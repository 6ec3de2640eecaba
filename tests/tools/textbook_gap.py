"""Compute P and D of linear machines by the textbook formulas in fractions: the judge of proofs.

Nothing of the library is used but the classes that pose the problem. A `TextbookMachine` holds the parameters of one
kind of machine; its `problem` is what the library solves. `compute_textbook_objectives` then evaluates P at the floats
of the result and D at a feasible α in fractions, and `is_true` judges what a proof file claims of a linear machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from exact_arithmetic import Vector, as_fraction_rows, as_fractions, dot

import qpsvm

#: The kinds of machines: classifiers (and "one", a one-class SVM), and regressions.
CLASSIFIERS = ("c", "nu", "hinge", "hard", "squared", "huber")
REGRESSIONS = ("tube", "tube squared", "nu tube", "quantile")
ZERO = Fraction(0)


@dataclass(frozen=True)
class TextbookMachine:
    """Samples and parameters of a machine of one kind, in floats; y (n,) is ±1, or the target of a regression."""

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
        """The same machine as a problem of the library."""
        X = self.X
        y = self.y
        kind = self.kind
        C = self.C
        weighted: dict[str, Any] = {} if kind == "hard" else {"sample_weight": self.weight}
        options = {**weighted, "intercept": self.intercept}
        builders: dict[str, Any] = {
            "c": lambda: qpsvm.CSVM(X, y, C, **options),
            "nu": lambda: qpsvm.NuSVM(X, y, self.nu, **weighted),
            "hinge": lambda: qpsvm.PrimalHinge(X, y, self.lam, **options),
            "hard": lambda: qpsvm.HardMargin(X, y),
            "squared": lambda: qpsvm.SquaredHinge(X, y, C, **options),
            "huber": lambda: qpsvm.HuberHinge(X, y, C, self.width, **options),
            "tube": lambda: qpsvm.EpsilonSVR(X, y, C, self.epsilon, **options),
            "tube squared": lambda: qpsvm.EpsilonSVR(X, y, C, self.epsilon, loss="squared", **options),
            "nu tube": lambda: qpsvm.NuSVR(X, y, C, self.nu, **weighted),
            "quantile": lambda: qpsvm.QuantileSVR(X, y, C, self.quantile, **options),
            "one": lambda: qpsvm.OneClass(X, self.nu, kernel="linear", **weighted),
        }
        problem: qpsvm.Problem = builders[kind]()
        return problem


def compute_textbook_objectives(
    machine: TextbookMachine, result: Any, alpha: Vector
) -> tuple[Fraction | None, Fraction]:
    """Compute P at the w, b, ρ and ε of a result, and D at α, in units of ½‖w‖²; P is None if a hard row falls short.

    α (m,) is feasible: box and equalities are asserted.
    """
    X, w = as_fraction_rows(machine.X), as_fractions(result.w)
    f = [dot(w, x) + Fraction(float(result.b)) for x in X]
    if machine.weight is None:
        s = [Fraction(1)] * len(X)
    else:
        s = as_fractions(machine.weight)
    if machine.kind in ("nu", "nu tube", "one"):
        nu = Fraction(result.problem.nu)
    else:
        nu = ZERO
    assert all(a >= 0 for a in alpha)
    if machine.kind in REGRESSIONS:
        compute = _compute_regression
    else:
        compute = _compute_classification
    return compute(machine, result, alpha, X, f, s, nu, dot(w, w) / 2)


def _compute_classification(
    machine: TextbookMachine, result: Any, alpha: Vector, X: list[Vector], f: Vector, s: Vector, nu: Fraction,
    half_norm: Fraction,
) -> tuple[Fraction | None, Fraction]:  # fmt: skip
    """Compute P and D of a classifier, or of a one-class SVM: one α per sample."""
    kind = machine.kind
    b = Fraction(float(result.b))
    C = [Fraction(machine.C) * one for one in s]
    y = [Fraction(1)] * len(X) if kind == "one" else as_fractions(machine.y)
    total, balance = sum(alpha, ZERO), dot(alpha, y)
    beta = [a * sign for a, sign in zip(alpha, y, strict=True)]
    if kind == "nu":
        margin = Fraction(float(result.rho))
    elif kind == "one":
        margin = ZERO
    else:
        margin = Fraction(1)
    slack = [max(margin - sign * value, ZERO) for sign, value in zip(y, f, strict=True)]
    primal = half_norm
    dual = (ZERO if kind in ("nu", "one") else total) - _compute_half_norm(X, beta)
    penalty = {"c": C, "huber": C, "one": s, "nu": [one / sum(s) for one in s],
               "hinge": [one / sum(s) / Fraction(machine.lam) for one in s]}.get(kind)  # fmt: skip
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
        primal -= nu * margin
    if kind == "hard":
        return (None if any(slack) else primal), dual
    h = Fraction(machine.width)
    if kind == "squared":
        primal += dot(C, [t * t for t in slack])
        dual -= sum((a * a / (4 * c) for a, c in zip(alpha, C, strict=True)), ZERO)
    elif kind == "huber":
        primal += dot(C, [t * t / (2 * h) if t <= h else t - h / 2 for t in slack])
        dual -= sum((h * a * a / (2 * c) for a, c in zip(alpha, C, strict=True)), ZERO)
    else:
        assert penalty is not None
        primal += dot(penalty, slack)
    return primal, dual


def _compute_regression(
    machine: TextbookMachine, result: Any, alpha: Vector, X: list[Vector], f: Vector, s: Vector, nu: Fraction,
    half_norm: Fraction,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Compute P and D of a regression: α is α⁺ of all samples, then α⁻."""
    kind = machine.kind
    t = as_fractions(machine.y)
    n = len(X)
    b = Fraction(float(result.b))
    C = [Fraction(machine.C) * one for one in s]
    above = alpha[:n]
    below = alpha[n:]
    width = {"nu tube": result.extras.get("epsilon", 0.0), "quantile": 0.0}.get(kind, machine.epsilon)
    epsilon = Fraction(float(width))
    q = Fraction(machine.quantile)
    if kind == "quantile":
        penalties = [q * c for c in C], [(1 - q) * c for c in C]
    else:
        penalties = C, C
    beta = [p - m for p, m in zip(above, below, strict=True)]
    primal = half_norm
    dual = dot(t, beta) - _compute_half_norm(X, beta)
    if kind == "nu tube":
        assert sum(alpha) == nu * sum(C)
        primal += nu * sum(C) * epsilon
    else:
        dual -= epsilon * sum(alpha)
    if machine.intercept == "penalised":
        primal = primal + b * b / 2
        dual = dual - sum(beta) ** 2 / 2
    else:
        assert b == 0 if machine.intercept is None else sum(beta) == 0
    for side, penalty, sign in ((above, penalties[0], 1), (below, penalties[1], -1)):
        slack = [max(sign * (value - at) - epsilon, ZERO) for value, at in zip(t, f, strict=True)]
        if kind == "tube squared":
            primal += dot(penalty, [one * one for one in slack])
            dual -= sum((a * a / (4 * c) for a, c in zip(side, penalty, strict=True)), ZERO)
        else:
            assert all(a <= U for a, U in zip(side, penalty, strict=True))
            primal += dot(penalty, slack)
    return primal, dual


def _compute_half_norm(X: list[Vector], beta: Vector) -> Fraction:
    """Return ½‖Σ β_i x_i‖²."""
    w = [dot(beta, column) for column in zip(*X, strict=True)]
    return dot(w, w) / 2


def is_true(content: Any, machine: TextbookMachine) -> bool:
    """Say whether all that a proof file says of a linear machine is so, whatever has been changed in it."""
    stated, plane = content["machine"], content["plane"]
    given, mu = stated["parameters"], plane["multipliers"]
    kind = {"CSVM": "c", "NuSVM": "nu", "PrimalHinge": "hinge", "HardMargin": "hard", "SquaredHinge": "squared",
            "HuberHinge": "huber", "NuSVR": "nu tube", "QuantileSVR": "quantile", "OneClass": "one",
            "EpsilonSVR": "tube squared" if given.get("loss") == "squared" else "tube"}[stated["name"]]  # fmt: skip
    known = {key: value for key, value in given.items() if key not in ("intercept", "loss")}
    assert stated["kernel"] == {"name": "linear"}
    assert {*plane} == {"w", "multipliers"}
    of = TextbookMachine(
        kind, machine.X, machine.y, weight=stated.get("weights"), intercept=given.get("intercept"), **known
    )
    numbers = SimpleNamespace(w=plane["w"], b=mu.get("b", 0.0), rho=mu.get("rho", 0.0), extras=mu,
                              problem=SimpleNamespace(**known))  # fmt: skip
    alpha = [Fraction(2) ** content["alpha"]["exponent"] * j for j in content["alpha"]["integers"]]
    for k, p, q in content["alpha"]["others"]:
        alpha[k] = Fraction(p, q)
    try:
        P, D = compute_textbook_objectives(of, numbers, alpha)
    except AssertionError:
        return False
    unit = Fraction(given.get("lam", 1))
    size = max(abs(P), abs(D)) if P is not None else 0
    if P is None:
        gap = None
    elif size:
        gap = (P - D) / size
    else:
        gap = Fraction(0)
    limits = {"primal at most": P, "dual at least": -D, "gap at most": gap, "gap at least": gap and -gap}
    seen = set()
    for claim in content["claims"]:
        kind = claim["claim"]
        seen = {*seen, claim["claim"]}
        if kind == "distance at most":
            if P is None or claim["bound"] < 0.0 or Fraction(claim["bound"]) ** 2 < 2 * (P - D):
                return False
        elif kind != "feasible":
            limit = limits[kind]
            factor = 1 if kind.startswith("gap") else unit
            if limit is None or limit * factor > Fraction(claim["bound"]) * (1 if kind.endswith("most") else -1):
                return False
    return {"feasible", "gap at most"} <= seen
