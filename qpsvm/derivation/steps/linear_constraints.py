"""The steps of any machine with linear constraints, (OWN.1) to (OWN.12): a list of its own, beside that of the machine.

What constraints add is the same in every machine: a term of the Lagrangian, a part of w, a part of the balance, a block
of multipliers. The machine's own steps are derived of the same problem without them, because their w is not the same.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.levels import primal_points
from qpsvm.bounds.repair import boxed
from qpsvm.derivation.constraint_quantities import ConstraintQuantities
from qpsvm.derivation.expressions import Equation, Line, display, flat_in, line, subject
from qpsvm.derivation.quantities import size_of
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as of
from qpsvm.derivation.steps.argument import numbered, step, value_of
from qpsvm.derivation.steps.sensitivity import price_of_bound, saddle
from qpsvm.derivation.steps.shared import Argument
from qpsvm.derivation.terms import HALF, PRODUCT, Term, add, letter, plain, size, term, times, total, written
from qpsvm.machines import SVDD, Constraints, Problem, Ranking, ValueConstraints
from qpsvm.machines.problem.forms import primal_with_rows, qp_with_rows
from qpsvm.machines.problem.linear_constraints import UserRows, textbook_rows
from qpsvm.machines.problem.reading import constraint_table
from qpsvm.result.model import DecisionFunctions
from qpsvm.space.kernels.functions import Linear

At = ConstraintQuantities[Problem]
#: Rows that are named in a sentence: more of them are in `SVMResult.constraints`.
NAMED = 3


def bounds_of(at: At) -> FloatArray:
    """h as the user wrote it: (p,)."""
    return np.concatenate([item.h for item in at.problem.constraints])


def values_of(at: At) -> FloatArray:
    """The left sides as the user wrote them, (p,): h less what is left of it."""
    return bounds_of(at) + unit_of(at) * (at.left - at.rows.h)


def claimed_values(at: At) -> FloatArray:
    """The left sides that the result says: (p,)."""
    table = at.result.constraints
    assert table is not None
    return np.asarray(bounds_of(at) + (table["value"] - table["bound"]))


def unit_of(at: At) -> float:
    """What w and b are here in those of the dual: of a ball w is 2c and b is 2μ."""
    return float(at.problem.size_of_f)


def dearest(at: At) -> str:
    """What the products of the constraints are, the dearest by name."""
    bounds, values, prices = bounds_of(at), values_of(at), at.user_prices
    first = np.argsort(-prices, kind="stable")[:NAMED]
    said = "; ".join(f"{at.rows.names[j]}: {prices[j]:.4g} · ({bounds[j]:.4g} − {_signed(values[j])})" for j in first)
    more = "; …" if at.rows.p > NAMED else ""
    return f"λ (h − ⟨g, w⟩ − c b) of all rows, added up by size, and 0. {said}{more}"


def _signed(value: float) -> str:
    return f"({value:.4g})" if value < 0.0 else f"{value:.4g}"


def raised(at: At) -> FloatArray:
    """λ after a step along what the constraints lack: (p,)."""
    prices, pull = at.whole[at.svm.m :], at.left_of_alpha - at.rows.h
    return np.maximum(prices + at.reach / at.level * pull / at.problem._row_scale, 0.0)


LAMBDA = letter(r"\lambda_j", "user_prices", "price")
C = letter("c_j", lambda at: at.rows.c, "c_rows")
G_W = letter(r"\langle g_j,w\rangle", lambda at: unit_of(at) * (at.left - at.rows.c * at.b), "G @ w")
B = letter("b", lambda at: unit_of(at) * at.b)
ALPHA = letter(r"\alpha_k")
S = letter("s_k", "y", "sign")
LEVEL = letter(r"\ell_k", lambda at: at.svm.level, "level")
DELTA = letter(r"\delta_k", lambda at: at.svm.curvature)
UPPER = letter("U_k", "C")
LENGTH = letter("K(x_k,x_k)", lambda at: 2.0 * at.svm.level, "K.diagonal()")
SQUARE = letter(r"\bigl\|w(\alpha,\lambda)\bigr\|^2", lambda at: unit_of(at) ** 2 * at.quadratic, "norm(w_of_alpha)**2")


def part_of(coef: Term, index: str, each: str, python: str, between: bool = False) -> Term:
    """The part of w(α, λ), or of f, that the rows of the machine have, or those of the user."""
    text = plain(rf"\sum_{index}") + " %s " + plain(each)
    return written(
        rf"\sum_{index}%s{'' if each.startswith(' ') else chr(92) + ','}{each}", text, python,
        lambda at, values: at.combination_of(values, index == "j", between), coef,
    )  # fmt: skip


class Terms:
    """The terms of a machine beside its constraints: each is there, or it is not.

    λ_j is the user's multiplier, so that λ_j/λ stands beside α_k where the machine has a λ. Of a ball w is 2c, b is 2μ.

    problem: With `constraints`.
    own: What the machine is without them.
    """

    def __init__(self, problem: Problem, own: Argument) -> None:
        users, machine, self.own = problem.svm.users, type(problem).__name__, own
        assert users is not None
        svm = users.own
        self.ball = isinstance(problem, SVDD)
        self.penalised = own.penalised
        self.group = next((group for group in problem.svm.groups if group.multiplier == "b"), None)
        self.others = any(group.multiplier != "b" for group in svm.groups)
        unit = own.unit
        self.price = LAMBDA / unit if unit else LAMBDA
        self.over = ("w,b" if self.group else "w") + (own.others if machine in ("NuSVM", "NuSVR") else "") + r",\xi"
        self.row = G_W + C * B if self.group else G_W
        values = any(isinstance(item, ValueConstraints) for item in problem.constraints)
        long = self.long = self.ball and values
        self.bound = (
            letter("h_j", bounds_of, "bound_of_row")
            if long
            else letter("h_j", lambda at: unit_of(at) * at.rows.h, "bound")
        )
        if long:
            lengths = letter(
                r"\sum_l A_{jl}K(z_l,z_l)", lambda at: unit_of(at) * at.rows.h - bounds_of(at),
                "A @ K(Z, Z).diagonal()", "Σ A_jl K(z_l, z_l)", PRODUCT,
            )  # fmt: skip
            self.bound = self.bound + lengths
        pairs = isinstance(problem, Ranking)
        coef, z = (ALPHA, "z_k") if pairs else (ALPHA * S, r"\varphi(x_k)")
        self.w = self._twice(
            part_of(coef, "k", z, "phi(rows).T @ (%s)") - part_of(self.price, "j", "g_j", "G.T @ (%s)")
        )
        z = r"\langle z_k,\varphi(x)\rangle" if pairs else " K(x_k,x)"
        self.f = self._twice(part_of(coef, "k", z, "K(x, rows) @ (%s)", between=True) - part_of(
            self.price, "j", r"\langle g_j,\varphi(x)\rangle", "phi(x) @ (G.T @ (%s))", between=True))  # fmt: skip
        self.pull = total(ALPHA * S, "k") - total(C * self.price, "j")
        self.total: Term = term(0)
        if self.penalised:
            self.total = B
        elif machine in ("OneClass", "SVDD") and own.equality is not None:
            self.total = own.equality[1]
        self.box = line(ALPHA, "≥", 0, scale="box") if np.isinf(svm.upper).all() else line(
            0, "≤", ALPHA, "≤", UPPER, scale="box"
        )  # fmt: skip
        level = None if svm.homogeneous else total(LEVEL * ALPHA, "k")
        level = total(ALPHA * LENGTH, "k") if self.ball else total(ALPHA, "k") if svm.common_level == 1.0 else level
        norm = (Term((r"\tfrac14", "¼", "0.25"), lambda _: 0.25) if self.ball else HALF) * SQUARE
        of_b = letter(r"b(\alpha,\lambda)", self.pull.value, "b_of_alpha")
        square, bend = HALF * of_b**2, HALF * total(DELTA * ALPHA**2, "k")
        rest = [norm, square if self.penalised else None, bend if svm.curved else None]
        bounds = total(LAMBDA * self.bound, "j")
        self.value = times(unit, add(level, *(each and -each for each in rest))) - bounds
        self.minimised = times(unit, add(*rest, level and -level)) + bounds
        #: What w, b and ℓ stand for, where that is not what they do in every machine.
        self.words = "b stands for −ρ here. " if machine == "OneClass" else ""
        if self.ball:
            self.words = "w stands for 2c and b for 2μ here, so that f(x) = ⟨w, φ(x)⟩ + b − K(x, x). "

    def _twice(self, whole: Term) -> Term:
        return 2 * whole if self.ball else whole

    @property
    def kept(self) -> tuple[Line, Line]:
        """The constraints hold, and have the left sides that the result says."""
        python = "A @ f(Z)" if self.long else "G @ w + c_rows * b" if self.group else "G @ w"
        values = letter("Gw+cb" if self.group else "Gw", values_of, python, "the left side")
        asked = line(
            values, "≤", letter("h", bounds_of, "bound", "its bound"), scale="row_sizes_of_user", place="constraint"
        )
        claimed = letter("", claimed_values, "result.constraints['value']", "what the result says it is")
        return asked, line(values, "=", claimed, scale="row_sizes_of_user", place="constraint", shown=False)

    @property
    def lagrangian(self) -> Term:
        """L, with η as what α leaves of the price."""
        return self.own.lagrangian(eta=False) + self.violated

    @property
    def violated(self) -> Term:
        """What the constraints add to L."""
        return total(LAMBDA * add(self.row, *(-each for each in self.bound.parts or (self.bound,))), "j")


def steps(problem: Problem, own: Argument) -> tuple[Step, ...]:
    """All steps, in order."""
    machine, t = problem.dual_tag.split(".")[0], Terms(problem, own)
    alone_ = (
        f"These steps are what rows of your own add to a machine. Its own steps, ({machine}.1) and so on, are those of "
        f"the same problem without rows. {t.words}"
    )
    linear = any(isinstance(item, Constraints) for item in problem.constraints)
    values = any(isinstance(item, ValueConstraints) for item in problem.constraints)
    kept = line(t.row, "≤", t.bound, scale="row_sizes_of_user", place="constraint")
    positive = line(LAMBDA, "≥", 0, place="constraint", scale=lambda at: float(np.abs(at.user_prices).max()) or 1.0)
    rows = Line((t.kept[0].sides[0], t.kept[0].sides[1]), ("≤",), scale="row_sizes_of_user", place="constraint")
    D = t.value.named("the dual's value at α and λ", r"D(\alpha,\lambda)")
    P = own.objective.named("the primal's value", f"P({t.over})")
    L = t.lagrangian.named("L", "L")
    hidden = [value_of(P, "=", of.CLAIMED),
              *(line(*_of(each.asked), scale="level", shown=False) for each in own.rows)]  # fmt: skip
    w = letter("w", lambda at: unit_of(at) * at.products)
    of_b = " + c_rows * b" if t.group else ""
    left = letter("", lambda at: unit_of(at) * at.left, f"G @ w{of_b}", "the left side")
    by_sums = letter("", lambda at: unit_of(at) * at.left_of_alpha, f"G @ w_of_alpha{of_b}", "that by the two sums")
    length = letter("K(x,x)", of.diagonal_between, "K(x, x).diagonal()") if t.ball else None
    f = letter("f(x)", lambda at: unit_of(at) * at.f_between - (of.diagonal_between(at) if t.ball else 0.0))
    after = letter("", raised, "projected_price", "after a projected gradient step")
    moved = line(letter("", lambda at: at.whole[at.svm.m :], "scaled_price", "λ"), "=", after, place="constraint",
                 shown=False, scale=lambda at: max(at.reach, float(np.abs(at.whole[at.svm.m :]).max())))  # fmt: skip
    products = total(size(LAMBDA * (t.bound - t.row)), "j")
    return numbered(
        "OWN",
        step(
            "Rows over w",
            f"{alone_}Each row is an inequality that the weights and b have to keep: {_named(problem, Constraints)}.",
            Equation("alone", (rows, t.kept[1])), textbook_rows,
            "" if linear else "all rows are over values of f, (OWN.2)",
        ),
        step(
            "Rows over values of f",
            f"{'' if linear else alone_}Each row is an inequality between values of f at points z: "
            f"{_named(problem, ValueConstraints)}. As f is linear in w and b, that is a row over w "
            "too, of g = Σ A φ(z) and c = Σ A"
            + (", whose bound is h and the K(z, z) that f lacks." if t.ball else "."),
            Equation("below", (
                r"Af(Z)\le h",
                r"g_j=\sum_l A_{jl}\,\varphi(z_l)" + (r",\quad c_j=\sum_l A_{jl}" if t.group else ""),
                *(_hidden(each) for each in t.kept),
            )),
            textbook_rows, "" if values else "all rows are over w, (OWN.1)",
        ),
        step(
            "Primal with the rows",
            "The objective and the constraints of the machine stay as they are, and the rows stand beside them. No "
            "slack is allowed in a row.",
            Equation("below", (
                display(P, rf"\min_{{{t.over}}}\ "), *hidden, *subject(kept),
                *(_hidden(each) for each in t.kept), r"\text{and what the machine asks for}",
            )),
            primal_with_rows,
        ),
        step(
            "Lagrangian",
            "Every row gets a multiplier λ_j, the price of a unit of its bound, beside those that the machine has. At "
            "the solution nothing is to be paid, so L is the primal value.",
            Equation("alone", (
                display(own.lagrangian().named("L_0", "L_0") + t.violated, "L=", r",\qquad \lambda_j\ge 0"),
                value_of(L, "=", P),
            )),
        ),
        step(
            "Stationarity in w",
            "A row with a price pulls at w as a sample does, against its own direction g. "
            + ("Both sides are vectors with one entry a feature." if isinstance(problem.kernel, Linear) else
               "The products of both sides with every φ(x_i) and every g_j are compared."),
            Equation("alone", (
                line(w, "=", t.w, before=flat_in("w"), place="entry" if problem.space.is_linear else "product",
                     scale=lambda at: unit_of(at) * at.size_of_products),
                line(left, "=", by_sums, scale="row_sizes_of_user", place="constraint", shown=False),
            )),
            primal_points, general="DUAL.5",
        ),
        step(
            "Stationarity in b",
            "b stands in the rows too, with the factors c. "
            + ("b has a price of its own, so the derivative gives b itself." if t.penalised else
               "What was the balance of the samples alone is one of samples and prices."),
            Equation("alone", (line(t.pull, "=", t.total, before=flat_in("b"), scale=size_of_pull),)),
            UserRows.extended, "" if t.group else "there is no b",
        ),
        step(
            "Dual feasibility",
            "Multipliers of inequalities are not negative. A row must not be broken, so nothing bounds its price.",
            Equation("alone", (positive, *(_hidden(each.box) for each in own.rows), of.NOTHING)), boxed,
            general="REPAIR.1",
        ),
        step(
            "Complementary slackness",
            "Either a row holds with equality or its price is zero. A price says how fast the optimum falls with its "
            "bound: h more by a little t, the optimum less by λt.",
            Equation("alone", (
                line(LAMBDA * (t.bound - t.row), "=", 0, measured=False),
                line(products, "=", 0, scale="size", shown=False, told=dearest), own.no_products(),
            )),
            constraint_table,
        ),
        step(
            "Substitution",
            "Put w(α, λ) and what (OWN.6) gave into L: what b and ξ added cancels as without rows, and of the rows "
            "what their bounds cost is left beside the square.",
            Equation("alone", (line(L, "=", t.value, scale="size", at=of.substituted),)),
        ),
        step(
            "Dual with prices",
            "The dual of the machine with a block of prices: each row is one more sample, of sign −1 and level −h, "
            "whose α has no upper bound. At the solution a projected gradient step goes nowhere.",
            Equation("below", (
                display(t.minimised, r"\min_{\alpha,\lambda}\ "),
                value_of(D, "=", of.CLAIMED_DUAL), value_of(D, "=", of.QP_VALUE),
                r"\text{subject to}\ " + (r"\text{(OWN.6)},\ " if t.group and not t.penalised else ""),
                Line(t.box.sides, t.box.relations, scale="box", joined=True),
                Line(positive.sides, ("≥",), scale=positive.scale, place="constraint", before=r",\ ", joined=True),
                *of.SOLVED, moved, *([r"\text{and the other equalities of the machine}"] if t.others else []),
            )),
            qp_with_rows,
        ),
        step(
            "Recovering f",
            "Put the stationarity in w into f: α, λ and the points of the rows are all that a prediction needs.",
            Equation("alone", (line(
                f, "=", t.f + (B if t.group else None) - length, place="between", scale=lambda at: size_of(
                unit_of(at) * at.sums_between(at.beta), unit_of(at) * at.terms_of_u)),)),
            DecisionFunctions._values, general="DUAL.4",
        ),
        step(
            "Strong duality",
            "The rows are linear, so no gap remains as long as some point keeps them: both optimal values are the same "
            "number. The price of a row adds λ·(h − ⟨g, w⟩ − c b) to the gap, and nothing where (OWN.8) holds.",
            Equation("alone", (line(P, "=", D, scale="size", at=of.as_needed),)),
        ),
        saddle(t.lagrangian, "w", "b" if t.group else ""),
        price_of_bound(LAMBDA, t.value),
    )  # fmt: skip


def _of(asked: Line) -> tuple[Term, str, Term]:
    return asked.sides[0], asked.relations[0], asked.sides[1]


def _hidden(asked: Line) -> Line:
    return Line(asked.sides, asked.relations, scale=asked.scale, place=asked.place, shown=False)


def size_of_pull(at: At) -> float:
    """What the balance of samples and multipliers is relative to."""
    group = next(group for group in at.problem.svm.groups if group.multiplier == "b")
    return 1 + abs(at.b) if group.ridge else float(np.abs(group.column * at.whole).sum()) or abs(group.total)


def _named(problem: Problem, kind: type) -> str:
    """The first rows of a kind, each with its name and bound."""
    names, bounds, said = problem._textbook_rows.names, [item.h for item in problem.constraints], []
    mine = np.concatenate([np.full(len(item.h), isinstance(item, kind)) for item in problem.constraints])
    places, h = np.flatnonzero(mine), np.concatenate(bounds)
    said = [f"{names[j]!r} with the bound {h[j]:.6g}" for j in places[:NAMED]]
    return ", ".join(said) + (f", and {len(places) - NAMED} more" if len(places) > NAMED else "")
