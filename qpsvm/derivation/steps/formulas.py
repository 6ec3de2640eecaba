"""Define the terms of a machine (`Formulas`): objective, constraints, multipliers, and the terms of the dual.

A `Term` is a symbol or an expression of symbols, which is written as LaTeX, text and code, and evaluated at a point.
From the fields of `Formulas` its properties combine the expressions that steps display and measure, such as the
Lagrangian and the dual's value. `RowTerms` are the terms of the constraints of the primal, and `ConstraintTerms` those
of additional linear constraints.
"""

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
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.term_builders import HALF, add, multiply, operation, reindex, total
from qpsvm.derivation.terms import PRODUCT, Term
from qpsvm.machines import SVDD, OneClass, Problem, ValueConstraints

#: Largest number of constraints that a sentence names; `SVMResult.constraints` lists all.
MAX_NAMED = 3


def step(
    title: str, text: str, equation: Equation, function: Callable[..., Any] | None = None, absent: str = "",
    general: str = "", construction: str = "",
) -> Step:  # fmt: skip
    """Build a step without a tag.

    function: The function of the library that implements the equation; None for the equation itself.
    absent, general, construction: As in `Step`.
    """
    return Step(
        "", title, text, equation.latex(), function or equation, equation, absent, general=general,
        construction=construction,
    )  # fmt: skip


def number_steps(prefix: str, *steps: Step) -> tuple[Step, ...]:
    """Number the steps without a tag: PREFIX.1, PREFIX.2 and so on."""
    return tuple(replace(step, tag=step.tag or f"{prefix}.{k}") for k, step in enumerate(steps, 1))


def iter_minimum(variables: str, objective: Term, text: str = "the primal's value") -> Iterator[EquationLine]:
    """Yield the line of a minimisation over variables, and the equality of its value and the result's."""
    yield display(objective, rf"\min_{{{variables}}}\ ")
    yield build_value_line(objective.with_name(text), "=", sym.CLAIMED_PRIMAL)


def build_value_line(first: Term, *rest: Any, **fields: Any) -> EquationLine:
    """Build a line of objective values, which is measured and not displayed."""
    return line(first, *rest, scale="objective_scale", shown=False, **fields)


def case(
    kind: Subset, premise: tuple[Any, ...] | EquationLine, conclusion: tuple[Any, ...] | EquationLine, box: Any = "box"
) -> EquationLine:
    """Build the line "premise about α ⇒ conclusion about f", which is measured at the samples of one kind.

    premise, conclusion: A line, or the arguments of `line`.
    box: The scale of the premise.
    """
    premise_line = line(*premise, scale=box) if isinstance(premise, tuple) else premise
    if isinstance(conclusion, tuple):
        conclusion_line = line(*conclusion, scale="level")
    else:
        conclusion_line = conclusion
    return replace(conclusion_line, premise=premise_line, rows=kind)


@dataclass(frozen=True, eq=False)
class RowTerms:
    """Terms of the rows of a machine, or of those on one side of f.

    alpha: The multiplier of a row.
    slack: The slack of a row; None if the rows have none.
    high, low: Without slack, the constraint is high ≥ low; None for 0. A regression adds the slack to `high`, any other
        machine subtracts it from `low`.
    eta, penalised_slack: The multiplier of the slack with a linear penalty, and that slack; None without such a slack.
    upper: The upper bound of α; None if α has none.
    side: The side of a regression: 0 for targets above f, 1 for those below; None for all rows.
    written_constraint: The constraint as the primal states it, if that differs from the one built from these terms.
    """

    alpha: Term
    slack: Term | None
    high: Term | None
    low: Term | None
    eta: Term | None = None
    penalised_slack: Term | None = None
    upper: Term | None = None
    side: int | None = None
    written_constraint: EquationLine | None = None

    @property
    def constraint(self) -> EquationLine:
        """The constraint of the primal."""
        if self.written_constraint is not None:
            return self.written_constraint
        if self.side is not None:
            return line(self.low or 0, "≤", add(self.high, self.slack), scale="level")
        slacks = () if self.slack is None else self.slack.parts or (self.slack,)
        return line(self.high or 0, "≥", add(self.low, *(-slack for slack in slacks)), scale="level")

    @property
    def product(self) -> Term:
        """The multiplier times the slack to the constraint, which L subtracts: a term of P − D."""
        return self.alpha * add(self.high, self.low and self.low.negative_form, self.slack)

    @property
    def slack_product(self) -> Term | None:
        """The slack with a linear penalty times η = U − α; None without such a slack."""
        if self.upper is None or self.penalised_slack is None:
            return None
        return (self.upper - self.alpha) * self.penalised_slack

    @property
    def box(self) -> EquationLine:
        """The bounds of α."""
        scale = sym.make_reader("box", self.side)
        if self.upper is None:
            return line(self.alpha, "≥", 0, scale=scale)
        return line(0, "≤", self.alpha, "≤", self.upper, scale=scale)


def collect_bounds(at: At) -> FloatArray:
    """Return the bounds h of all linear constraints in the user's units: (p,)."""
    return np.concatenate([item.h for item in at.problem.constraints])


def read_f_scale(at: At) -> float:
    """Return the factor that scales w and b of the dual to those of the constraints; for a ball w = 2c and b = 2μ."""
    return float(at.problem._f_scale)


def build_constraint_sum(latex: str, text: str, python: str, name: str, multiplier: Term) -> Term:
    """Build Σ_j π_j v_j, where v_j belongs to constraint j; method `name` of the point evaluates it from all π_j."""
    return operation(latex, text, python, lambda at, values: getattr(at, name)(values), multiplier)


@final
@dataclass(frozen=True)
class ConstraintTerms:
    """Terms of the linear constraints in a machine's formulas.

    unit: The factor λ of a machine whose dual has π_j/λ next to α_k; None for 1.
    """

    problem: Problem
    unit: Term | None

    @property
    def is_ball(self) -> bool:
        """Whether the machine is a ball: w = 2c, b = 2μ, and the factor of b in a constraint is called d_j."""
        return isinstance(self.problem, SVDD)

    @property
    def lacks_diagonal(self) -> bool:
        """Whether constraints are on values of the f of a ball, which has a further term −K(x, x)."""
        return self.is_ball and any(isinstance(item, ValueConstraints) for item in self.problem.constraints)

    @property
    def b_factor(self) -> Term | None:
        """c_j, the factor of b in a constraint; None without a b."""
        has_b = any(group.multiplier == "b" for group in self.problem.svm.groups)
        if has_b:
            return letter("d_j" if self.is_ball else "c_j", lambda at: at.constraint_rows.c, "c_rows")
        return None

    @property
    def product(self) -> Term:
        """⟨g_j, w⟩."""
        latex = r"2\langle g_j,c\rangle" if self.is_ball else r"\langle g_j,w\rangle"
        python = "(2 * (G @ c))" if self.is_ball else "(G @ w)"
        return letter(latex, lambda at: read_f_scale(at) * (at.lhs - at.constraint_rows.c * at.b), python, rank=PRODUCT)

    @property
    def lhs(self) -> Term:
        """⟨g_j, w⟩ + c_j b."""
        if self.b_factor is None:
            return self.product
        if isinstance(self.problem, OneClass):
            return self.product - self.b_factor * letter(r"\rho", lambda at: -at.b)
        return self.product + (2 * self.b_factor * letter(r"\mu", "b") if self.is_ball else self.b_factor * letter("b"))

    @property
    def bound(self) -> Term:
        """h_j; for values of the f of a ball with Σ A_jl K(z_l, z_l) added."""
        if not self.lacks_diagonal:
            return letter("h_j", collect_bounds, "bound")
        lengths = letter(
            r"\sum_l A_{jl}K(z_l,z_l)", lambda at: read_f_scale(at) * at.constraint_rows.h - collect_bounds(at),
            "A @ K(Z, Z).diagonal()", "Σ A_jl K(z_l, z_l)", PRODUCT,
        )  # fmt: skip
        return letter("h_j", collect_bounds, "bound") + lengths

    @property
    def bound_slack(self) -> Term:
        """Slack to the bound."""
        return self.bound - self.lhs

    @property
    def lagrangian_term(self) -> Term:
        """Term of the constraints in L."""
        violation = self.lhs
        for summand in self.bound.parts or (self.bound,):
            violation = violation - summand
        return total(sym.MULTIPLIER * violation, "j")

    @property
    def cost(self) -> Term:
        """Σ π_j h_j, which is subtracted in the dual's value."""
        return total(sym.MULTIPLIER * self.bound, "j")

    @property
    def multiplier(self) -> Term:
        """π_j in the units of α."""
        return sym.MULTIPLIER / self.unit if self.unit else sym.MULTIPLIER

    @property
    def balance(self) -> Term | None:
        """Σ π_j c_j, which is subtracted in the balance of b; None without a b."""
        if self.b_factor is None:
            return None
        return total(multiply(self.b_factor, self.multiplier), "j")

    @property
    def constraint_gradient(self) -> Term:
        """Σ π_j g_j, which is subtracted in w."""
        return build_constraint_sum(r"\sum_j%s\,g_j", "Σ %s g_j", "G.T @ (%s)", "combine_constraints", self.multiplier)

    @property
    def multiplier_product(self) -> Term:
        """Σ π_j ⟨g_j, w⟩."""
        return total(multiply(self.multiplier, self.product), "j")

    @property
    def kernel_sum(self) -> Term:
        """Σ π_j ⟨g_j, φ(x)⟩ at samples half way between neighbours."""
        return build_constraint_sum(
            r"\sum_j%s\,\langle g_j,\varphi(x)\rangle", "Σ %s ⟨g_j, φ(x)⟩", "phi(x) @ (G.T @ (%s))",
            "combine_constraints_between", self.multiplier,
        )  # fmt: skip


def describe_costliest(at: Any) -> str:
    """Describe the sum of the products of multiplier and slack of all constraints, and those with the largest π."""
    bounds = collect_bounds(at)
    multipliers = at.user_multipliers
    values = bounds + read_f_scale(at) * (at.lhs - at.constraint_rows.h)
    costliest = np.argsort(-multipliers, kind="stable")[:MAX_NAMED]
    value_texts = [f"({value:.4g})" if value < 0.0 else f"{value:.4g}" for value in values]
    text = "; ".join(
        f"{at.constraint_rows.names[j]}: {multipliers[j]:.4g} · ({bounds[j]:.4g} − {value_texts[j]})" for j in costliest
    )
    ellipsis = "; …" if at.constraint_rows.p > MAX_NAMED else ""
    return f"π (h − ⟨g, w⟩ − c b) of all rows, added up by size, and 0. {text}{ellipsis}"


@dataclass(frozen=True, eq=False)
class Formulas:
    """Terms of a machine's steps. None, or "", stands for what the machine does not have.

    problem: The machine with its data.
    rows: The rows; for a regression those above f and those below it.
    penalty: The penalty of the slacks in the primal; None without slacks.
    linear: The linear terms of the dual's value.
    coef: The coefficient of a sample in f.
    quadratic: The quadratic term of the dual as a matrix product.
    other_variables: LaTeX of the variables of the primal besides w, b and the slacks, each after a comma; or "".
    reward: Term of these variables in the objective of the primal.
    equality: Such a variable, and both sides of the equality that its stationarity implies: the Lagrangian has the
        variable times the difference of the sides.
    curvature_term, curvature_gap, curvature_slack: Terms of a loss with curvature: its quadratic term in the dual, its
        term in P − D, and δ_iα_i, the slack that α gives; None without curvature.
    compared_value, level: The value of a sample that is compared with the margin, as y_i f(x_i), and the margin.
    f: f at samples half way between neighbours.
    f_by_w: LaTeX of f in terms of w, if it is more than a product and b.
    intercept_term, subtracted_term: The term of f in place of b, and a term that f subtracts; None for neither.
    balance: The term that is 0 if b is free, and that equals b if b is penalised, such as yᵀα.
    sides: The two sides that b balances, in words.
    norm_factor, product_factor: The factor of ‖w‖² in the objective, and of ⟨w, Σ coef_i φ(x_i)⟩ after substitution;
        None for 1.
    unit: A factor of the objective, as the λ of (PHINGE.2); None for 1.
    pair_factor: LaTeX of the factor of K(x_i, x_j) in the quadratic term as a sum over pairs.
    matrix: LaTeX of w as a matrix product.
    w, b, row: The letters of the weights, of the intercept or the term in place of it, and of the index of a row.
    """

    problem: Problem
    rows: tuple[RowTerms, ...]
    penalty: Term | None
    linear: tuple[Term, ...]
    coef: Term
    quadratic: Term
    pair_factor: str
    balance: Term = sym.B
    other_variables: str = ""
    reward: Term | None = None
    equality: tuple[Term, Term, Term] | None = None
    f: Term = sym.F_BETWEEN
    f_by_w: str = ""
    intercept_term: Term | None = None
    subtracted_term: Term | None = None
    curvature_term: Term | None = None
    curvature_gap: Term | None = None
    curvature_slack: Term | None = None
    compared_value: Term = sym.F
    level: Term | float = 1.0
    norm_factor: Term | None = HALF
    product_factor: float | None = None
    unit: Term | None = None
    w: str = "w"
    b: str = "b"
    row: str = "i"
    sides: str = "classes"
    matrix: str = ""

    @property
    def penalty_derivative(self) -> Term | None:
        """The factor of C_i in the objective; None if C is not only in the penalty, or no single C_i can be changed."""
        is_C_per_sample = "C" in self.problem._hyperparameters and self.row == "i"
        if not is_C_per_sample or self.reward is not None or self.penalty is None:
            return None
        return self.penalty.parts[0].parts[1]

    # --- linear constraints -------------------------------------------------------------------------------------------

    @cached_property
    def constraint_terms(self) -> ConstraintTerms | None:
        """Terms of the linear constraints; None without constraints."""
        if self.problem.constraints:
            return ConstraintTerms(self.problem, self.unit)
        return None

    @property
    def full_balance(self) -> Term:
        """`balance` minus the term of the linear constraints."""
        return self.balance - (self.constraint_terms and self.constraint_terms.balance)

    @property
    def full_equality(self) -> tuple[Term, Term, Term] | None:
        """`equality` with its variable; if that is in linear constraints in place of b, less their term on the left."""
        if self.equality is None or self.constraint_terms is None or self.b == "b":
            return self.equality
        letter, left, right = self.equality
        return letter, left - self.constraint_terms.balance, right

    @property
    def equality_term(self) -> Term | None:
        """Term of the variable of `equality` in the Lagrangian at w(α)."""
        if self.full_equality is None:
            return None
        letter, left, right = self.full_equality
        if letter.negative:
            return -(letter.parts[0] * (left - right))
        return letter * (left - right)

    # --- parts of formulas --------------------------------------------------------------------------------------------

    @property
    def has_penalised_b(self) -> bool:
        """Whether b is penalised, as a weight is."""
        return self.problem.intercept == "penalised"

    @property
    def intercept(self) -> Term | None:
        """b; None without an intercept."""
        return sym.B if self.problem.intercept else None

    @property
    def offset(self) -> Term | None:
        """Terms of f besides ⟨w, φ(x)⟩."""
        return self.intercept_term or self.intercept

    @property
    def slacks(self) -> list[Term]:
        """ξ of all rows, and ζ where slack has two parts."""
        return [part for rows in self.rows if rows.slack is not None for part in (rows.slack.parts or (rows.slack,))]

    @property
    def main_variables(self) -> str:
        """Variables of the primal, without the slacks."""
        return self.w + (",b" if self.problem.intercept else "") + self.other_variables

    @property
    def variables(self) -> str:
        """Variables of the primal."""
        return ",".join([self.main_variables, *(reindex(slack).latex() for slack in self.slacks)])

    @property
    def norm(self) -> Term:
        """The square of the norm of w, plus that of a penalised b."""
        norm_of_w = replace(sym.W_SQUARED, written=(rf"\|{self.w}\|^2", f"‖{self.w}‖²", f"norm({self.w})**2"))
        return norm_of_w + sym.B**2 if self.has_penalised_b else norm_of_w

    @property
    def regulariser(self) -> Term:
        """Objective of the primal without the penalty of slack."""
        return multiply(self.unit / 2 if self.unit else self.norm_factor, self.norm) + self.reward

    @property
    def objective(self) -> Term:
        """Objective of the primal."""
        return self.regulariser + self.penalty

    def build_lagrangian(self, eta: bool = True) -> Term:
        """Return the Lagrangian, with η as a letter, or expressed by α."""
        if eta:
            slack_products = [
                rows.eta * rows.penalised_slack
                for rows in self.rows
                if rows.eta is not None and rows.penalised_slack is not None
            ]
        else:
            slack_products = [rows.slack_product for rows in self.rows if rows.slack_product is not None]
        products = [*(rows.product for rows in self.rows), *slack_products]
        return add(
            self.objective,
            *(-total(multiply(self.unit, product), self.row) for product in products),
            self.constraint_terms and self.constraint_terms.lagrangian_term,
            broken=r"\\ &\quad ",
        )

    def scale_to_objective(self, value: Term, *scaled_terms: Term | None) -> Term:
        """Multiply a value by `unit`, and add terms that have the units of the objective already."""
        return add(multiply(self.unit, value), *scaled_terms)

    @property
    def dual_quadratic(self) -> Term:
        """The quadratic term of the dual; with linear constraints it is the square of w(α, π)."""
        if self.constraint_terms is None:
            return self.quadratic
        latex = rf"\|{self.w}(\alpha,\pi)\|^2"
        norm = letter(latex, "quadratic", f"norm({self.w}_of_alpha)**2", f"‖{self.w}(α, π)‖²")
        return multiply(self.norm_factor, norm)

    @property
    def subtracted_terms(self) -> list[Term]:
        """The terms that are subtracted from the linear ones in the dual's value."""
        square_of_b = HALF * self.full_balance**2 if self.has_penalised_b else None
        return [term for term in (self.dual_quadratic, self.curvature_term, square_of_b) if term is not None]

    def build_dual_value(self, quadratic: Term | None = None) -> Term:
        """Return the dual's value.

        quadratic: All quadratic terms except `curvature_term`; None for the matrix product and a penalised b squared.
        """
        if quadratic is None:
            subtracted = self.subtracted_terms
        else:
            subtracted = [term for term in (quadratic, self.curvature_term) if term is not None]
        value = add(*self.linear, *(-term for term in subtracted))
        return self.scale_to_objective(value, self.constraint_terms and -self.constraint_terms.cost)

    @property
    def dual_objective(self) -> Term:
        """Minus the dual's value."""
        return self.scale_to_objective(
            add(*self.subtracted_terms, *(-term for term in self.linear)),
            self.constraint_terms and self.constraint_terms.cost,
        )

    @property
    def quadratic_sum(self) -> Term:
        """The quadratic term as a sum over pairs of samples."""
        kernel = r"\bigl(K(x_i,x_j)+1\bigr)" if self.has_penalised_b else "K(x_i,x_j)"
        text = "(K(x_i, x_j) + 1)" if self.has_penalised_b else "K(x_i, x_j)"
        coef_texts = " ".join(reindex(self.coef, index).text() for index in ("_i", "_j"))
        coef = self.coef.python()
        double_sum = letter(
            rf"\sum_{{i,j}}{self.pair_factor} {kernel}",
            lambda at: at.quadratic + self.has_penalised_b * at.beta.sum() ** 2,
            f"({coef}) @ (K{' + 1' * self.has_penalised_b}) @ ({coef})",
            f"Σ {coef_texts} {text}",
        )
        return multiply(self.norm_factor, double_sum)
