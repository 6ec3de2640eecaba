"""The steps of any machine with rows of a user's, (OWN.1) to (OWN.12): a list of its own, beside that of the machine.

What the rows add is the same in every machine: a term of the Lagrangian, a part of w, a part of the balance, a block of
prices. The machine's own steps are derived of the same problem without rows, because their w is not the same.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.levels import primal_points
from qpsvm.bounds.repair import boxed
from qpsvm.derivation import measures
from qpsvm.derivation.constraint_quantities import RowLetters
from qpsvm.derivation.residual import Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import flat, lines, numbered, step
from qpsvm.machines import (
    SVDD,
    Constraints,
    PrimalHinge,
    Problem,
    Ranking,
    ValueConstraints,
)
from qpsvm.machines.problem.forms import primal_with_rows, qp_with_rows
from qpsvm.machines.problem.linear_constraints import UserRows, textbook_rows
from qpsvm.machines.problem.reading import constraint_table
from qpsvm.result.model import DecisionFunctions
from qpsvm.space.kernels.functions import Linear

#: Rows that are named in a sentence: more of them are in `SVMResult.constraints`.
NAMED = 3

# --- measures ---------------------------------------------------------------------------------------------------------


def bounds_of(at: RowLetters[Problem]) -> FloatArray:
    """h as the user wrote it: (p,)."""
    return np.concatenate([item.h for item in at.problem.constraints])


def values_of(at: RowLetters[Problem]) -> FloatArray:
    """The left sides of the rows as the user wrote them, (p,): h less what is left of it."""
    return bounds_of(at) + at.problem.size_of_f * (at.left - at.rows.h)


def rows_kept(at: RowLetters[Problem]) -> tuple[Sides, ...]:
    """⟨g_j, w⟩ + c_j b ≤ h_j, and the result says of the left side what the decision function does."""
    size, table, names = at.problem.size_of_f, at.result.constraints, at.rows.names
    assert table is not None
    claimed = bounds_of(at) + (table["value"] - table["bound"])
    values, scale = values_of(at), size * at.row_sizes
    return (
        worst(values, "≤", bounds_of(at), "the left side of {i}, and its bound", scale, lambda j: repr(names[j])),
        worst(values, "=", claimed, "the left side of {i}, and what the result says it is", scale,
              lambda j: repr(names[j])),
    )  # fmt: skip


def primal(at: RowLetters[Problem]) -> tuple[Sides, ...]:
    """The machine's objective has the value claimed, its own constraints hold, and so do the rows."""
    return (*measures.primal(at), *rows_kept(at))


def stationarity_in_w(at: RowLetters[Problem]) -> tuple[Sides, ...]:
    """w − Σ α_k s_k φ(x_k) + Σ λ_j g_j = 0: as a vector of a linear kernel, else by products with φ(x_i) and g_j."""
    size = at.problem.size_of_f  # w itself: of a ball 2c
    if at.is_linear:
        scale = size_of(at.w, at.terms_of_w)
        of = "entry {i} of w, and of the sum of samples less that of the rows"
        return (worst(size * at.w, "=", size * at.w_of_alpha, of, size * scale),)
    of = "⟨w, φ(x)⟩ at {i}, and the sum of samples less that of the rows there"
    of_row = "the left side of {i}, and that by the two sums"
    return (
        worst(size * (at.values - at.b), "=", size * at.u, of, size * size_of(at.u, at.terms_of_u), at.say.sample),
        worst(at.left, "=", at.left_of_alpha, of_row, at.row_sizes, lambda j: repr(at.rows.names[j])),
    )


def stationarity_in_b(at: RowLetters[Problem]) -> Sides:
    """Σ α_k s_k − cᵀλ is e, which is 0 of most machines; of a penalised intercept, b."""
    group = next((group for group in at.problem.svm.groups if group.multiplier == "b"), None)
    if group is None:
        raise NotMeasurable("there is no b")
    parts = group.column * at.whole
    left, scale = float(parts.sum()), float(np.abs(parts).sum())
    if group.ridge:
        return Sides(left / group.ridge, "=", at.b, "Σ α_k s_k − cᵀλ, and b", 1 + abs(at.b))
    return Sides(left, "=", group.total, "Σ α_k s_k − cᵀλ, and what it is to be", scale or abs(group.total))


def dual_feasibility(at: RowLetters[Problem]) -> tuple[Sides, ...]:
    """λ_j ≥ 0, and 0 ≤ α_k ≤ U_k as without rows."""
    names, scale = at.rows.names, float(np.abs(at.prices).max()) or 1.0
    own = worst(at.prices, "≥", 0.0, "λ of {i}, and 0", scale, lambda j: repr(names[j]))
    return (own, *measures.dual_feasibility(at))


def complementary_slackness(at: RowLetters[Problem]) -> tuple[Sides, ...]:
    """λ_j (h_j − ⟨g_j, w⟩ − c_j b) = 0, row by row; and the machine's own products."""
    products = at.unit * at.prices * (at.rows.h - at.left)
    bounds, values, prices = bounds_of(at), values_of(at), at.user_prices
    dearest = np.argsort(-prices, kind="stable")[:NAMED]
    said = "; ".join(f"{at.rows.names[j]}: {prices[j]:.4g} · ({bounds[j]:.4g} − {_signed(values[j])})" for j in dearest)
    more = "; …" if at.rows.p > NAMED else ""
    of = f"λ (h − ⟨g, w⟩ − c b) of all rows, added up by size, and 0. {said}{more}"
    return Sides(float(np.abs(products).sum()), "=", 0.0, of, at.size), measures.complementary_slackness(at)


def _signed(value: float) -> str:
    return f"({value:.4g})" if value < 0.0 else f"{value:.4g}"


def dual_optimum(at: RowLetters[Problem]) -> tuple[Sides, ...]:
    """(α, λ) is feasible, has the value claimed, and a projected gradient step from it goes nowhere."""
    prices, names, pull = at.whole[at.svm.m :], at.rows.names, at.left_of_alpha - at.rows.h
    raised = np.maximum(prices + at.reach / at.level * pull / at.problem._row_scale, 0.0)
    reach, of = max(at.reach, float(np.abs(prices).max())), "λ of {i}, and after a projected gradient step"
    return (*measures.dual_optimum(at), worst(prices, "=", raised, of, reach, lambda j: repr(names[j])))


def f_recovered(at: RowLetters[Problem]) -> Sides:
    """f(x) from α and λ, at samples between those trained on."""
    X = at.X if at.new_samples is None else at.new_samples
    size = at.problem.size_of_f  # ⟨w, φ(x)⟩ itself: of a ball w is 2c
    found = size * (at.decision(X) - at.b)
    stated = size * (X @ at.w_of_alpha if at.is_linear else at.kernel_sums(X))
    of = "⟨w, φ(x)⟩ at sample {i} of those half way between neighbours, and the two sums there"
    return worst(found, "=", stated, of, size_of(stated, size * at.terms_of_u))


# --- steps ------------------------------------------------------------------------------------------------------------


class RowTerms:
    """The LaTeX of a machine's letters beside its rows: each term is there, or it is not.

    λ_j is the user's price, so that λ_j/λ stands beside α_k where the machine has a λ. Of a ball w is 2c and b is 2μ.

    problem: With `constraints`.
    """

    def __init__(self, problem: Problem) -> None:
        svm, machine = problem.outlined, type(problem).__name__
        svm = svm if svm.users is None else svm.users.own
        hinge, ranks = isinstance(problem, PrimalHinge), isinstance(problem, Ranking)
        self.penalised, self.ball = problem.intercept == "penalised", isinstance(problem, SVDD)
        self.has_b = any(group.multiplier == "b" for group in svm.groups)
        self.others = any(group.multiplier != "b" for group in svm.groups)
        self.price = r"\frac{\lambda_j}{\lambda}" if hinge else r"\lambda_j"
        self.over = "w,b" if self.has_b else "w"
        self.over += {"NuSVM": r",\rho", "NuSVR": r",\varepsilon"}.get(machine, "") + r",\xi"
        self.row = r"\langle g_j,w\rangle" + (r"+c_j b" if self.has_b else "")
        self.minus_row = self.row.replace("+", "-")
        values = any(isinstance(item, ValueConstraints) for item in problem.constraints)
        self.bound = r"h_j+\sum_l A_{jl}K(z_l,z_l)" if self.ball and values else "h_j"
        at_row = "z_k" if ranks else r"s_k\,\varphi(x_k)"
        self.w = self._twice(rf"\sum_k\alpha_k {at_row}-\sum_j{self.price}\,g_j")
        product = r"\langle z_k,\varphi(x)\rangle" if ranks else "s_k K(x_k,x)"
        self.f = self._twice(rf"\sum_k\alpha_k {product}-\sum_j{self.price}\langle g_j,\varphi(x)\rangle")
        self.f += ("+b" if self.has_b else "") + ("-K(x,x)" if self.ball else "")
        self.pull = rf"\sum_k\alpha_k s_k-\sum_j c_j{self.price}"
        self.total = "b" if self.penalised else {"OneClass": r"\nu S", "SVDD": "1"}.get(machine, "0")
        self.upper = "" if np.isinf(svm.upper).all() else r"\le U_k"
        self._unit = r"\lambda" if hinge else ""
        self._curved = svm.curved
        self._level = "" if svm.homogeneous else r"\sum_k\ell_k\alpha_k"
        if self.ball:
            self._level = r"\sum_k\alpha_k K(x_k,x_k)"
        elif svm.common_level == 1.0:
            self._level = r"\sum_k\alpha_k"

    def _twice(self, latex: str) -> str:
        return rf"2\Bigl({latex}\Bigr)" if self.ball else latex

    @property
    def _norm(self) -> str:
        """½‖w(α, λ)‖², with b of a penalised intercept, and what a curved loss adds."""
        found = (r"\tfrac14" if self.ball else r"\tfrac12") + r"\bigl\|w(\alpha,\lambda)\bigr\|^2"
        found += r"+\tfrac12 b(\alpha,\lambda)^2" if self.penalised else ""
        return found + (r"+\tfrac12\sum_k\delta_k\alpha_k^2" if self._curved else "")

    @property
    def _bounds(self) -> str:
        return rf"\sum_j\lambda_j\Bigl({self.bound}\Bigr)" if "+" in self.bound else r"\sum_j\lambda_j h_j"

    @property
    def value(self) -> str:
        """D(α, λ)."""
        own = f"{self._level}-{self._norm}".replace("+", "-") if self._level else f"-{self._norm}".replace("+", "-")
        return (rf"{self._unit}\Bigl({own}\Bigr)" if self._unit else own) + f"-{self._bounds}"

    @property
    def minimised(self) -> str:
        """Minus D(α, λ)."""
        own = self._norm + (f"-{self._level}" if self._level else "")
        return (rf"{self._unit}\Bigl({own}\Bigr)" if self._unit else own) + f"+{self._bounds}"

    @property
    def words(self) -> str:
        """What w, b and ℓ stand for, where that is not what they do in every machine."""
        if self.ball:
            return "w stands for 2c and b for 2μ here, so that f(x) = ⟨w, φ(x)⟩ + b − K(x, x). "
        return "b stands for −ρ here. " if self.total == r"\nu S" else ""


def steps(problem: Problem) -> tuple[Step, ...]:
    """All steps, in order."""
    machine, t = problem.dual_tag.split(".")[0], RowTerms(problem)
    alone = (
        f"These steps are what rows of your own add to a machine. Its own steps, ({machine}.1) and so on, are those of "
        f"the same problem without rows. {t.words}"
    )
    linear = any(isinstance(item, Constraints) for item in problem.constraints)
    values = any(isinstance(item, ValueConstraints) for item in problem.constraints)
    subject = [r"0\le\alpha_k" + t.upper, r"\lambda_j\ge 0"]
    if t.has_b and not t.penalised:
        subject.insert(0, r"\text{(OWN.6)}")
    return numbered(
        "OWN",
        step(
            "Rows over w",
            f"{alone}Each row is an inequality that the weights and b have to keep: {_named(problem, Constraints)}.",
            r"Gw+cb\le h" if t.has_b else r"Gw\le h", textbook_rows, rows_kept,
            "" if linear else "all rows are over values of f, (OWN.2)",
        ),
        step(
            "Rows over values of f",
            f"{'' if linear else alone}Each row is an inequality between values of f at points z: "
            f"{_named(problem, ValueConstraints)}. As f is linear in w and b, that is a row over w "
            "too, of g = Σ A φ(z) and c = Σ A"
            + (", whose bound is h and the K(z, z) that f lacks." if t.ball else "."),
            lines(
                r"Af(Z)\le h", r"g_j=\sum_l A_{jl}\,\varphi(z_l)" + (r",\quad c_j=\sum_l A_{jl}" if t.has_b else "")
            ),
            textbook_rows, rows_kept, "" if values else "all rows are over w, (OWN.1)",
        ),
        step(
            "Primal with the rows",
            "The objective and the constraints of the machine stay as they are, and the rows stand beside them. No "
            "slack is allowed in a row.",
            lines(rf"\min_{{{t.over}}}\ P({t.over})", rf"\text{{subject to}}\ {t.row}\le {t.bound}",
                         r"\text{and what the machine asks for}"),
            primal_with_rows, primal,
        ),
        step(
            "Lagrangian",
            "Every row gets a multiplier λ_j, the price of a unit of its bound, beside those that the machine has. At "
            "the solution nothing is to be paid, so L is the primal value.",
            rf"L=L_0+\sum_j\lambda_j\Bigl({t.row}-{t.bound.replace('+', '-')}\Bigr),\qquad \lambda_j\ge 0",
            measures.lagrangian, general="ARGUMENT.2",
        ),
        step(
            "Stationarity in w",
            "A row with a price pulls at w as a sample does, against its own direction g. "
            + ("Both sides are vectors with one entry a feature." if isinstance(problem.kernel, Linear) else
               "The products of both sides with every φ(x_i) and every g_j are compared."),
            flat("w", f"w={t.w}"),
            primal_points, stationarity_in_w, general="DUAL.5",
        ),
        step(
            "Stationarity in b",
            "b stands in the rows too, with the factors c. "
            + ("b has a price of its own, so the derivative gives b itself." if t.penalised else
               "What was the balance of the samples alone is one of samples and prices."),
            flat("b", f"{t.pull}={t.total}"),
            UserRows.extended, stationarity_in_b, "" if t.has_b else "there is no b",
        ),
        step(
            "Dual feasibility",
            "Multipliers of inequalities are not negative. A row must not be broken, so nothing bounds its price.",
            r"\lambda_j\ge 0", boxed, dual_feasibility, general="REPAIR.1",
        ),
        step(
            "Complementary slackness",
            "Either a row holds with equality or its price is zero. A price says how fast the optimum falls with its "
            "bound: h more by a little t, the optimum less by λt.",
            rf"\lambda_j\Bigl({t.bound}-{t.minus_row}\Bigr)=0",
            constraint_table, complementary_slackness,
        ),
        step(
            "Substitution",
            "Put w(α, λ) and what (OWN.6) gave into L: what b and ξ added cancels as without rows, and of the rows "
            "what their bounds cost is left beside the square.",
            rf"L={t.value}",
            measures.substitution, general="ARGUMENT.3",
        ),
        step(
            "Dual with prices",
            "The dual of the machine with a block of prices: each row is one more sample, of sign −1 and level −h, "
            "whose α has no upper bound. At the solution a projected gradient step goes nowhere.",
            lines(
                rf"\min_{{\alpha,\lambda}}\ {t.minimised}", r"\text{subject to}\ " + r",\ ".join(subject),
                *([r"\text{and the other equalities of the machine}"] if t.others else []),
            ),
            qp_with_rows, dual_optimum,
        ),
        step(
            "Recovering f",
            "Put the stationarity in w into f: α, λ and the points of the rows are all that a prediction needs.",
            rf"f(x)={t.f}", DecisionFunctions._values, f_recovered, general="DUAL.4",
        ),
        step(
            "Strong duality",
            "The rows are linear, so no gap remains as long as some point keeps them: both optimal values are the same "
            "number. The price of a row adds λ·(h − ⟨g, w⟩ − c b) to the gap, and nothing where (OWN.8) holds.",
            rf"P({t.over})=D(\alpha,\lambda)", measures.strong_duality, general="ARGUMENT.4",
        ),
    )  # fmt: skip


def _named(problem: Problem, kind: type) -> str:
    """The first rows of a kind, each with its name and bound."""
    names, bounds, said = problem._textbook_rows.names, [item.h for item in problem.constraints], []
    mine = np.concatenate([np.full(len(item.h), isinstance(item, kind)) for item in problem.constraints])
    places, h = np.flatnonzero(mine), np.concatenate(bounds)
    said = [f"{names[j]!r} with the bound {h[j]:.6g}" for j in places[:NAMED]]
    return ", ".join(said) + (f", and {len(places) - NAMED} more" if len(places) > NAMED else "")
