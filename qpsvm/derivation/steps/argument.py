"""Define the terms of a machine (`Formulas`): objective, constraints, multipliers, and the terms of the dual."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import Equation, EquationLine, Subset, display, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as sym
from qpsvm.derivation.term_builders import HALF, add, multiply, operation, reindex, total
from qpsvm.derivation.terms import PRODUCT, Term
from qpsvm.machines import SVDD, OneClass, Problem, ValueConstraints

#: Rows that are named in a sentence: more of them are in `SVMResult.constraints`.
MAX_NAMED = 3


def step(
    title: str, text: str, equation: Equation, function: Callable[..., Any] | None = None, absent: str = "",
    general: str = "", construction: str = "",
) -> Step:  # fmt: skip
    """Build a step without a tag; without a function that states it, the equation itself is the code."""
    latex = equation.latex()
    return Step(
        "", title, text, latex, function or equation, equation, absent, general=general, construction=construction
    )


def number_steps(prefix: str, *steps: Step) -> tuple[Step, ...]:
    """Number steps by their tags, in order; those that all machines share have theirs, and are last."""
    return tuple(replace(step, tag=step.tag or f"{prefix}.{k}") for k, step in enumerate(steps, 1))


def iter_minimum(over: str, objective: Term, text: str = "the primal's value") -> Iterator[EquationLine]:
    """Yield the minimisation over letters, and the equation of its value with the one the result claims."""
    yield display(objective, rf"\min_{{{over}}}\ ")
    yield value_of(objective.with_name(text), "=", sym.CLAIMED)


def value_of(one: Term, *rest: Any, **more: Any) -> EquationLine:
    """Build a line of objective values, which is measured and not shown."""
    return line(one, *rest, scale="size", shown=False, **more)


def case(
    kind: Subset, premise: tuple[Any, ...] | EquationLine, conclusion: tuple[Any, ...] | EquationLine, box: Any = "box"
) -> EquationLine:  # fmt: skip
    """State f for one kind of α: both are measured at the samples that the library counts as of this kind."""
    given = line(*premise, scale=box) if isinstance(premise, tuple) else premise
    then = line(*conclusion, scale="level") if isinstance(conclusion, tuple) else conclusion
    return replace(then, premise=given, rows=kind)


@dataclass(frozen=True, eq=False)
class RowTerms:
    """The rows of a machine, or those on one side of f.

    alpha, slack: The multiplier of a row and its slack, or None where there may be none.
    high, low: What is to be larger than what, but for slack; of a regression slack is added to what is high.
    eta, priced, upper: The multiplier of that slack which has a linear price, that slack, and the bound of α.
    half: Which part of the rows they are: of a regression 0 above f, 1 below it.
    other: The constraint as the primal has it, where that is written in another way.
    """

    alpha: Term
    slack: Term | None
    high: Term | None
    low: Term | None
    eta: Term | None = None
    priced: Term | None = None
    upper: Term | None = None
    half: int | None = None
    other: EquationLine | None = None

    @property
    def constraint(self) -> EquationLine:
        """The constraint of the primal."""
        if self.other is not None:
            return self.other
        if self.half is not None:
            return line(self.low or 0, "≤", add(self.high, self.slack), scale="level")
        slacks = () if self.slack is None else self.slack.parts or (self.slack,)
        return line(self.high or 0, "≥", add(self.low, *(-each for each in slacks)), scale="level")

    @property
    def product(self) -> Term:
        """Term of each row in P − D, which L subtracts."""
        return self.alpha * add(self.high, self.low and self.low.negative_form, self.slack)

    @property
    def slack_product(self) -> Term | None:
        """Product of the slack and the part of its price that α leaves."""
        return None if self.upper is None or self.priced is None else (self.upper - self.alpha) * self.priced

    @property
    def box(self) -> EquationLine:
        """The bounds of α."""
        scale = sym.get_part("box", self.half)
        if self.upper is None:
            return line(self.alpha, "≥", 0, scale=scale)
        return line(0, "≤", self.alpha, "≤", self.upper, scale=scale)


def collect_bounds(at: At) -> FloatArray:
    """Return h as the user wrote it: (p,)."""
    return np.concatenate([item.h for item in at.problem.constraints])


def find_unit(at: At) -> float:
    """Return the factor from w and b of the dual to those of the constraints: of a ball w is 2c and b is 2μ."""
    return float(at.problem._f_scale)


def sum_by_method(latex: str, text: str, python: str, name: str, price: Term) -> Term:
    """Sum π_j times a property of every constraint, by a method of the point."""
    return operation(latex, text, python, lambda at, values: getattr(at, name)(values), price)


@final
@dataclass(frozen=True)
class ConstraintTerms:
    """Terms of the linear constraints in a machine's formulas.

    unit: The machine's λ, or None: π_j/λ is then next to α_k.
    """

    problem: Problem
    unit: Term | None

    @property
    def is_ball(self) -> bool:
        """Whether w is 2c and b is 2μ; what b counts in a row is d_j there."""
        return isinstance(self.problem, SVDD)

    @property
    def lacks_diagonal(self) -> bool:
        """Whether rows are over values of an f that lacks K(x, x)."""
        return self.is_ball and any(isinstance(item, ValueConstraints) for item in self.problem.constraints)

    @property
    def count(self) -> Term | None:
        """c_j, what b counts in a row; None without a b."""
        there = any(group.multiplier == "b" for group in self.problem.svm.groups)
        return letter("d_j" if self.is_ball else "c_j", lambda at: at.rows.c, "c_rows") if there else None

    @property
    def product(self) -> Term:
        """⟨g_j, w⟩."""
        latex = r"2\langle g_j,c\rangle" if self.is_ball else r"\langle g_j,w\rangle"
        python = "(2 * (G @ c))" if self.is_ball else "(G @ w)"
        return letter(latex, lambda at: find_unit(at) * (at.lhs - at.rows.c * at.b), python, rank=PRODUCT)

    @property
    def row(self) -> Term:
        """⟨g_j, w⟩ + c_j b."""
        if self.count is None:
            return self.product
        if isinstance(self.problem, OneClass):
            return self.product - self.count * letter(r"\rho", lambda at: -at.b)
        return self.product + (2 * self.count * letter(r"\mu", "b") if self.is_ball else self.count * letter("b"))

    @property
    def bound(self) -> Term:
        """h_j, and of values of a ball's f what it lacks."""
        if not self.lacks_diagonal:
            return letter("h_j", collect_bounds, "bound")
        lengths = letter(
            r"\sum_l A_{jl}K(z_l,z_l)", lambda at: find_unit(at) * at.rows.h - collect_bounds(at),
            "A @ K(Z, Z).diagonal()", "Σ A_jl K(z_l, z_l)", PRODUCT,
        )  # fmt: skip
        return letter("h_j", collect_bounds, "bound") + lengths

    @property
    def bound_slack(self) -> Term:
        """Slack to the bound."""
        return self.bound - self.row

    @property
    def lagrangian_term(self) -> Term:
        """Term of the constraints in L."""
        row = self.row
        for each in self.bound.parts or (self.bound,):
            row = row - each
        return total(sym.PRICE * row, "j")

    @property
    def cost(self) -> Term:
        """Term of the bounds in the dual's value, subtracted."""
        return total(sym.PRICE * self.bound, "j")

    @property
    def price(self) -> Term:
        """π_j in the units of α."""
        return sym.PRICE / self.unit if self.unit else sym.PRICE

    @property
    def balance(self) -> Term | None:
        """Term of the constraints in the balance of b, subtracted."""
        return None if self.count is None else total(multiply(self.count, self.price), "j")

    @property
    def pull(self) -> Term:
        """Σ π_j g_j, what the rows take off w."""
        return sum_by_method(r"\sum_j%s\,g_j", "Σ %s g_j", "G.T @ (%s)", "of_rows", self.price)

    @property
    def price_product(self) -> Term:
        """Σ π_j ⟨g_j, w⟩."""
        return total(multiply(self.price, self.product), "j")

    @property
    def values(self) -> Term:
        """Σ π_j ⟨g_j, φ(x)⟩ at samples half way between neighbours."""
        return sum_by_method(
            r"\sum_j%s\,\langle g_j,\varphi(x)\rangle", "Σ %s ⟨g_j, φ(x)⟩", "phi(x) @ (G.T @ (%s))", "of_rows_between",
            self.price,
        )  # fmt: skip


def describe_costliest(at: Any) -> str:
    """Describe the products of the constraints, the costliest by name."""
    bounds, prices = collect_bounds(at), at.user_prices
    values = bounds + find_unit(at) * (at.lhs - at.rows.h)
    first = np.argsort(-prices, kind="stable")[:MAX_NAMED]
    signed = [f"({value:.4g})" if value < 0.0 else f"{value:.4g}" for value in values]
    text = "; ".join(f"{at.rows.names[j]}: {prices[j]:.4g} · ({bounds[j]:.4g} − {signed[j]})" for j in first)
    more = "; …" if at.rows.p > MAX_NAMED else ""
    return f"π (h − ⟨g, w⟩ − c b) of all rows, added up by size, and 0. {text}{more}"


@dataclass(frozen=True, eq=False)
class Formulas:
    """Terms of a machine's steps.

    rows: Its rows, of a regression above f and below it.
    price: What the slacks cost in the primal.
    linear: The linear terms of the dual's value.
    coef: The coefficient of a sample in f.
    quadratic: The quadratic term of the dual as a matrix product.
    others: Letters of the primal besides w, b and the slacks; `reward` is their part of the objective, and `equality` a
        letter with the two sides that it asks for: it stands in the Lagrangian times their difference.
    bend, bend_gap, curve: Of a curved loss: its square in the dual, its square in P − D, and δ_iα_i.
    reach, level: What is to reach what.
    f, f_by_w, added, lacking: f at samples half way between neighbours; what it is by w, in LaTeX, where that is more
        than a product and b; what is in the place of b, and what is taken off.
    pull: What is 0 of a free b, and b of a penalised one; `sides` is what b balances.
    half, twice: What stands before the square of the norm, and before the product of w with a combination.
    unit: A factor of the objective, as the λ of (PHINGE.2).
    w, b, row: The letters of the weights, of what is added in f, and of a row.
    """

    problem: Problem
    rows: tuple[RowTerms, ...]
    price: Term | None
    linear: tuple[Term, ...]
    coef: Term
    quadratic: Term
    pairs: str
    pull: Term = sym.B
    others: str = ""
    reward: Term | None = None
    equality: tuple[Term, Term, Term] | None = None
    f: Term = sym.F_BETWEEN
    f_by_w: str = ""
    added: Term | None = None
    lacking: Term | None = None
    bend: Term | None = None
    bend_gap: Term | None = None
    curve: Term | None = None
    reach: Term = sym.F
    level: Term | float = 1.0
    half: Term | None = HALF
    twice: float | None = None
    unit: Term | None = None
    w: str = "w"
    b: str = "b"
    row: str = "i"
    sides: str = "classes"
    matrix: str = ""

    @property
    def marginal(self) -> Term | None:
        """Factor of C_i in the objective, if it is all in the price and a single C_i can be changed."""
        alone = (
            "C" in self.problem._hyperparameters and self.row == "i" and self.reward is None and self.price is not None
        )
        return self.price.parts[0].parts[1] if alone and self.price else None

    # --- linear constraints of a user's ---

    @cached_property
    def constraint_terms(self) -> ConstraintTerms | None:
        """The terms of the rows, where there are any."""
        return ConstraintTerms(self.problem, self.unit) if self.problem.constraints else None

    @property
    def full_balance(self) -> Term:
        """`pull` with what the rows take off it."""
        return self.pull - (self.constraint_terms and self.constraint_terms.balance)

    @property
    def sides_of_equality(self) -> tuple[Term, Term, Term] | None:
        """`equality`, with what the rows take off it where their b is this letter."""
        if self.equality is None or self.constraint_terms is None or self.b == "b":
            return self.equality
        letter, left, right = self.equality
        return letter, left - self.constraint_terms.balance, right

    @property
    def equality_term(self) -> Term | None:
        """Term of the equality's letter in the Lagrangian at w(α)."""
        if self.sides_of_equality is None:
            return None
        letter, left, right = self.sides_of_equality
        return -(letter.parts[0] * (left - right)) if letter.negative else letter * (left - right)

    # --- parts of formulas --------------------------------------------------------------------------------------------

    @property
    def penalised(self) -> bool:
        """Whether b is a weight like the others."""
        return self.problem.intercept == "penalised"

    @property
    def intercept(self) -> Term | None:
        """b, where there is one in f."""
        return sym.B if self.problem.intercept else None

    @property
    def offset(self) -> Term | None:
        """Terms of f besides ⟨w, φ(x)⟩."""
        return self.added or self.intercept

    @property
    def slacks(self) -> list[Term]:
        """ξ of all rows, and ζ where slack has two parts."""
        return [part for rows in self.rows if rows.slack is not None for part in (rows.slack.parts or (rows.slack,))]

    @property
    def main_variables(self) -> str:
        """Variables of the primal, without the slacks."""
        return self.w + (",b" if self.problem.intercept else "") + self.others

    @property
    def variables(self) -> str:
        """Variables of the primal."""
        return ",".join([self.main_variables, *(reindex(slack).latex() for slack in self.slacks)])

    @property
    def norm(self) -> Term:
        """The square of the norm, with that of a penalised b."""
        own = replace(sym.W2, written=(rf"\|{self.w}\|^2", f"‖{self.w}‖²", f"norm({self.w})**2"))
        return own + sym.B**2 if self.penalised else own

    @property
    def regulariser(self) -> Term:
        """Objective of the primal without the price of slack."""
        return multiply(self.unit / 2 if self.unit else self.half, self.norm) + self.reward

    @property
    def objective(self) -> Term:
        """Objective of the primal."""
        return self.regulariser + self.price

    def lagrangian(self, eta: bool = True) -> Term:
        """Return the Lagrangian; η as a letter, or expressed by α."""
        off = [total(multiply(self.unit, rows.product), self.row) for rows in self.rows]
        if eta:
            rest = [each.eta * each.priced for each in self.rows if each.eta is not None and each.priced is not None]
        else:
            rest = [each.slack_product for each in self.rows if each.slack_product is not None]
        off += [total(multiply(self.unit, each), self.row) for each in rest]
        return add(
            self.objective,
            *(-each for each in off),
            self.constraint_terms and self.constraint_terms.lagrangian_term,
            broken=r"\\ &\quad ",
        )

    def scaled(self, value: Term, *more: Term | None) -> Term:
        """Scale a value to the units of the objective, and add terms that have them already."""
        return add(multiply(self.unit, value), *more)

    @property
    def form(self) -> Term:
        """The quadratic term: with linear constraints as the square of w(α, π)."""
        if self.constraint_terms is None:
            return self.quadratic
        w = rf"\|{self.w}(\alpha,\pi)\|^2", f"‖{self.w}(α, π)‖²", f"norm({self.w}_of_alpha)**2"
        return multiply(self.half, letter(w[0], "quadratic", w[2], w[1]))

    @property
    def subtracted_terms(self) -> list[Term]:
        """Terms of the dual's value besides the linear ones, which are subtracted."""
        square = HALF * self.full_balance**2 if self.penalised else None
        return [each for each in (self.form, self.bend, square) if each is not None]

    def value(self, quadratic: Term | None = None) -> Term:
        """Return the dual's value, with the quadratic term as a matrix product or as it is given."""
        rest = (
            self.subtracted_terms
            if quadratic is None
            else [each for each in (quadratic, self.bend) if each is not None]
        )
        return self.scaled(
            add(*self.linear, *(-each for each in rest)), self.constraint_terms and -self.constraint_terms.cost
        )

    @property
    def dual_objective(self) -> Term:
        """Minus the dual's value."""
        return self.scaled(
            add(*self.subtracted_terms, *(-each for each in self.linear)),
            self.constraint_terms and self.constraint_terms.cost,
        )

    @property
    def double(self) -> Term:
        """The quadratic term as a sum over pairs of samples."""
        kernel = r"\bigl(K(x_i,x_j)+1\bigr)" if self.penalised else "K(x_i,x_j)"
        text = "(K(x_i, x_j) + 1)" if self.penalised else "K(x_i, x_j)"
        pairs, coef = (reindex(self.coef, index).text() for index in ("_i", "_j")), self.coef.python()
        whole = letter(
            rf"\sum_{{i,j}}{self.pairs} {kernel}", lambda at: at.quadratic + self.penalised * at.beta.sum() ** 2,
            f"({coef}) @ (K{' + 1' * self.penalised}) @ ({coef})", f"Σ {' '.join(pairs)} {text}",
        )  # fmt: skip
        return multiply(self.half, whole)
