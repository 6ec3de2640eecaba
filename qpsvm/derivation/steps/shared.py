"""Build the steps that all machines share, from the margin to strong duality and back (`MachineSteps`).

A machine is described by the fields of its `MachineSteps`: its objective, its rows (the constraints of the primal) with
their multipliers, and its terms in the dual. From these terms the methods build the steps. `MachineSteps.build_steps`
puts them in order, and a machine's own module passes it the steps that differ.

The steps about b depend on the intercept: a penalised b is part of the norm and of K + 1, and has an equation of its
own; without a b, these steps are absent.

The equations below are in units of the objective. μ are the variables of the primal besides w, b and the slacks, such
as ρ and ε, e their factors in the objective, and V_k(ξ_k, ζ_k) the penalty of the slack. For a loss with curvature
ξ_k = δ_kα_k, and only the rest of the slack, ζ_k, has a linear penalty and a multiplier η_k:

    (ARGUMENT.1)  primal:  P = ½‖w‖² + Σ V_k(ξ_k, ζ_k) + eᵀμ,  and  s_k f_k ≥ margin_k − ξ_k − ζ_k,  ξ, ζ ≥ 0
    (ARGUMENT.2)  Lagrangian:  L = P − Σ α_k (s_k f_k − margin_k + ξ_k + ζ_k) − Σ η_k ζ_k;  linear constraints add
                  Σ π_j (⟨g_j, w⟩ + c_j b − h_j), (OWN.4)
    (ARGUMENT.3)  substitution:  L at w(α) and ξ_k = δ_kα_k is D(α), whatever μ and ζ are
    (ARGUMENT.4)  strong duality:  P = D(α), with the smallest ξ that w needs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.bounds import certify, levels
from qpsvm.bounds.certificate import sum_gap_terms
from qpsvm.bounds.levels import find_primal_points
from qpsvm.bounds.repair import clip_to_box
from qpsvm.derivation.expressions import (
    Equation,
    EquationLine,
    Subset,
    display,
    iter_constraints,
    join_lines,
    line,
    write_stationarity,
)
from qpsvm.derivation.letter_builder import latex_to_text, letter
from qpsvm.derivation.relative_size import reference_size
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as sym
from qpsvm.derivation.steps.formulas import (
    Formulas,
    build_value_line,
    case,
    describe_costliest,
    iter_minimum,
    number_steps,
    step,
)
from qpsvm.derivation.steps.sensitivity import build_bound_sensitivity, build_machine_saddle, build_penalty_sensitivity
from qpsvm.derivation.term_builders import HALF, add, magnitude, multiply, operation, reindex, total
from qpsvm.derivation.terms import Term
from qpsvm.machines.problem import certifier
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import build_intercept_groups
from qpsvm.result.model import DecisionFunctions
from qpsvm.result.svm_result import build_kkt_table
from qpsvm.space.kernels.space import FeatureSpace

#: Why the steps about b are absent without an intercept.
NO_INTERCEPT = "intercept=None: f(x) = ⟨w, φ(x)⟩ goes through the origin, there is no b"
#: Why ξ ≥ 0 needs no multiplier if the square of ξ is penalised.
NO_MULTIPLIER_NEEDED = "where a negative ξ_i is feasible 0 is, and it costs less"
#: Names of the steps, in order. "first", "primal", "level", "dual", "besides" and "last" have no default: each machine
#: passes its own, or has none.
ORDER = (
    "first", "primal", "lagrangian", "w", "b", "level", "xi", "box", "slackness", "substitution", "dual", "f",
    "intercept", "kinds", "strong", "besides", "linear", "weak", "last",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MachineSteps(Formulas):
    """The steps of a machine, built from its terms, which are the fields."""

    def build_steps(self, prefix: str, **specific: Step | tuple[Step, ...] | None) -> tuple[Step, ...]:
        """Return all steps in order, numbered with the prefix.

        specific: Steps specific to the machine, by the names of `ORDER`. They replace the shared steps; None omits one.
        """
        shared: dict[str, Callable[[], Step]] = {
            "lagrangian": self.build_lagrangian_step, "w": self.build_w_step, "b": self.build_b_step,
            "xi": self.build_xi_step, "box": self.build_box_step, "slackness": self.build_slackness_step,
            "substitution": self.build_substitution_step, "f": self.build_recovered_f_step,
            "intercept": self.build_recovered_b_step, "kinds": self.build_kinds_step,
            "strong": self.build_strong_duality_step, "linear": self.build_linear_w_step,
            "weak": self.build_weak_duality_step,
        }  # fmt: skip
        steps: list[Step] = []
        for name in ORDER:
            if name in specific:
                replacement = specific[name]
                if isinstance(replacement, tuple):
                    steps += replacement
                elif replacement is not None:
                    steps.append(replacement)
            elif name in shared:
                steps.append(shared[name]())
        return number_steps(prefix, *steps, *self.iter_sensitivity_steps())

    def iter_sensitivity_steps(self) -> Iterator[Step]:
        """Yield the last steps: the saddle of L, and the derivative of the optimum with respect to C_i or h_j."""
        yield build_machine_saddle(self)
        if self.constraint_terms is not None:
            yield build_bound_sensitivity(sym.MULTIPLIER, self.build_dual_value())
        elif self.penalty_derivative is not None:
            yield build_penalty_sensitivity(self.penalty_derivative, self.objective)

    # --- from the margin to the optimality conditions -----------------------------------------------------------------

    def build_loss_step(self, text: str, loss: Term, title: str = "Loss") -> Step:
        """Build the step of the primal without slacks."""
        lines = tuple(iter_minimum(self.main_variables, self.regulariser + loss, "norm and loss at w and b"))
        return step(title, text, Equation("alone", lines))

    def build_primal_step(self, text: str, *further_lines: EquationLine, title: str = "Primal") -> Step:
        """Build the step of the primal: objective and constraints."""
        constraints = [rows.constraint for rows in self.rows]
        constraints += [line(slack, "≥", 0, scale="level") for slack in self.slacks]
        constraints += [self.constraint_line] if self.constraint_terms else []
        lines = (*iter_minimum(self.variables, self.objective), *iter_constraints(*constraints), *further_lines)
        return step(title, text, Equation("below", lines), type(self.problem)._build_specification)

    @property
    def constraint_line(self) -> EquationLine:
        """The linear constraints, as a line of the primal."""
        assert self.constraint_terms is not None
        return line(
            self.constraint_terms.lhs, "≤", self.constraint_terms.bound, scale="user_lhs_scale", place="constraint"
        )

    def build_lagrangian_step(
        self, multipliers: str = "α_i for the margin and η_i for ξ_i ≥ 0", first: str = ""
    ) -> Step:
        """Build the step of the Lagrangian: every constraint with its multiplier.

        multipliers, first: The multipliers in words; or the whole first sentence of the text, which names them.
        """
        first = first or f"Every constraint gets a multiplier, the cost of a unit of violation: {multipliers}."
        names = [reindex(rows.alpha).latex() for rows in self.rows]
        names += [reindex(rows.eta).latex() for rows in self.rows if rows.eta is not None]
        names += [r"\pi"] if self.constraint_terms else []
        L = self.build_lagrangian()
        lines = (
            display(L, "L&=", rf",\qquad {','.join(names)}\ge 0"),
            build_value_line(L.with_name("L"), "=", self.objective.with_name("the primal's value")),
        )
        return step(
            "Lagrangian", f"{first} At the solution the products vanish, so L equals the primal value.",
            Equation("aligned", lines),
        )  # fmt: skip

    def build_w_step(self, consequence: str = "the normal vector is a combination of the samples") -> Step:
        """Build the step ∂L/∂w = 0, with its consequence in words."""
        w = self.w
        is_linear = self.problem.space.is_linear
        if is_linear:
            comparison = "The kernel is linear, so both sides are vectors with one entry per feature."
        else:
            comparison = (
                f"In the feature space of {self.problem.kernel} {w} has no entries to compare, so the products of "
                "both sides with every φ(x_i) are compared."
            )
        return step(
            f"Stationarity in {w}", f"At a minimum over {w} the Lagrangian is flat: {consequence}. {comparison}",
            Equation("alone", (self.build_w_line(write_stationarity(w)),)), find_primal_points, general="DUAL.5",
            construction="" if is_linear else f"f is computed from α, and {w} is never formed",
        )  # fmt: skip

    def build_w_line(self, before: str = "", right: Term | None = None, **line_options: Any) -> EquationLine:
        """Build the line: w is a combination of the samples, or another right-hand side."""
        w = letter(self.w, "products", self.w, self.w)
        place = "entry" if self.problem.space.is_linear else "product"
        right = right or sym.feature_sum(self.coef) - (
            self.constraint_terms and self.constraint_terms.constraint_gradient
        )
        return line(w, "=", right, scale="products_scale", before=before, place=place, **line_options)

    def build_b_step(self) -> Step:
        """Build the step ∂L/∂b = 0, for a free or a penalised b."""
        if self.has_penalised_b:
            half = "(λ/2)" if self.unit else "½"
            return step(
                "Stationarity in b",
                f"With {half}b² in the objective, b is penalised itself. So the derivative gives b, instead "
                f"of a balance between the {self.sides}.",
                self._build_penalised_b(write_stationarity("b"), self.full_balance),
                certify.compute_penalised_multipliers,
                general="CERT.2",
            )  # fmt: skip
        middle = [] if self.constraint_terms else ["=", total(self.coef)]
        balance = line(
            self.full_balance, *middle, "=", 0,
            scale=sym.compute_balance_scale, before=write_stationarity("b"), caption=self.describe_balance,
        )  # fmt: skip
        return step(
            "Stationarity in b",
            f"b enters the Lagrangian only through b·Σ {self.coef.text()}, which has no minimum over b unless the "
            f"factor is zero. So the multipliers of the two {self.sides} have the same sum.",
            Equation("alone", (balance,)),
            build_intercept_groups,
            "" if self.problem.intercept else NO_INTERCEPT,
            "DUAL.1",
        )

    def describe_balance(self, at: Any) -> str:
        """Describe the balance of b, with the force of either side."""
        return (
            f"{self.full_balance.text()}, and 0: {at.beta[at.beta > 0].sum():.6g} on one side, "
            f"{-at.beta[at.beta < 0].sum():.6g} on the other"
        )

    def _build_penalised_b(self, before: str, *right_sides: Term) -> Equation:
        """Build the equation of a penalised b with its right-hand sides; `before` is LaTeX in front of it."""
        chain = [part for side in right_sides for part in ("=", side)]
        equation_line = line(sym.B, *chain, scale=lambda at: 1 + abs(float(np.sum(at.beta))), before=before)
        return Equation("alone", (equation_line,), lambda at:
                        "psd='clip' projected K + 1, and b with it, so b is no longer yᵀα"
                        if at.intercept_in_kernel and at.problem.psd == "clip" else "")  # fmt: skip

    def build_other_variable_step(self, meaning: str = "") -> Step:
        """Build the step of stationarity in the other variable of the primal (ρ, ε or μ), in which L is linear.

        meaning: A sentence that the text ends with, after a blank.
        """
        assert self.equality_term is not None
        latex = self.other_variables[1:]
        name = latex_to_text(latex)
        assert self.sides_of_equality is not None
        _, left, right = self.sides_of_equality
        return step(
            f"Stationarity in {name}",
            f"{name} enters the Lagrangian only through {self.equality_term.text()}, which has no minimum over {name} "
            f"unless the factor is zero.{meaning}",
            Equation("alone", (line(left, "=", right, before=write_stationarity(latex)),)),
            type(self.problem)._build_specification,
        )

    def build_xi_step(self) -> Step:
        """Build the step ∂L/∂ξ = 0, for a linear penalty."""
        return step(
            "Stationarity in ξ",
            f"ξ_{self.row} is in two constraints, whose multipliers add up to the penalty per unit of slack. This "
            "gives η from α, so η is eliminated.",
            Equation("alone", self.build_eta_lines(write_stationarity(*(slack.latex() for slack in self.slacks)))),
            build_kkt_table,
            general="DUAL.7",
            construction="η is eliminated: the library computes it from α and its bound",
        )

    def build_eta_lines(self, before: str) -> tuple[EquationLine, ...]:
        """Build the lines η = C − α, one per side of f; `before` is LaTeX in front of the first."""
        lines = (
            line(rows.eta or 0, "=", (rows.upper or sym.C) - rows.alpha, scale=sym.read_part("C", rows.side))
            for rows in self.rows
        )
        return tuple(join_lines(before, *lines))

    def build_curved_xi_step(self, text: str, *lines: EquationLine) -> Step:
        """Build the step of stationarity in ξ for a squared slack; its lines are written next to each other."""
        stationarity = write_stationarity(*(slack.latex() for slack in self.slacks))
        return step("Stationarity in ξ", text, Equation("alone", tuple(join_lines(stationarity, *lines))))

    def build_box_step(self, text: str = "") -> Step:
        """Build the step of the box; without an upper bound, of α ≥ 0 alone."""
        has_upper_bound = any(rows.eta is not None for rows in self.rows)
        text = text or "Multipliers of inequalities are not negative. " + (
            "With η expressed by α, its sign becomes the upper bound of α: the box of the dual."
            if has_upper_bound
            else "The slack is squared and has no multiplier η, so that nothing bounds α above."
        )
        multipliers = [rows.alpha for rows in self.rows] + [rows.eta for rows in self.rows if rows.eta is not None]
        signs = ",".join(reindex(multiplier, "_" + self.row).latex() for multiplier in multipliers) + r"\ge 0"
        signs = r"\pi_j\ge 0,\quad " * bool(self.constraint_terms) + signs
        boxes = join_lines("", *(replace(rows.box, shown=has_upper_bound) for rows in self.rows), separator=r",\ ")
        lines: tuple[EquationLine | str, ...] = (
            signs + (r"\quad\Longrightarrow\quad " if has_upper_bound else ""), *boxes, sym.ALPHA_ZERO_WITHOUT_WEIGHT,
            *([replace(sym.MULTIPLIERS_NONNEGATIVE, shown=False)] if self.constraint_terms else []),
        )  # fmt: skip
        return step("Dual feasibility", text, Equation("alone", lines), clip_to_box, general="REPAIR.1")

    def build_slackness_step(self, text: str = "", function: Callable[..., Any] = sum_gap_terms) -> Step:
        """Build the step: if a constraint has slack, its multiplier is zero."""
        lines: list[EquationLine] = []
        if self.constraint_terms is not None:
            constraint_product = sym.MULTIPLIER * self.constraint_terms.bound_slack
            lines += [
                line(
                    total(magnitude(constraint_product), "j"), "=", 0,
                    scale="objective_scale", shown=False, caption=describe_costliest,
                ),
                line(constraint_product, "=", 0, measured=False),
            ]  # fmt: skip
        for rows in self.rows:
            products = [rows.product] if rows.slack_product is None else [rows.product, rows.slack_product]
            lines += join_lines("", *(line(product, "=", 0, measured=False) for product in products))
        lines.append(self._build_products_line())
        return step(
            "Complementary slackness",
            text
            or "Either a constraint holds with equality or its multiplier is zero. The library adds these products "
            "up, sample by sample: their sum is the duality gap.",
            Equation("below", tuple(lines)), function, general="CERT.1",
        )  # fmt: skip

    @property
    def products(self) -> list[Term]:
        """Products that are 0 at an optimum, for every row."""
        return [
            *(rows.product for rows in self.rows),
            *(rows.slack_product for rows in self.rows if rows.slack_product is not None),
        ]

    def _build_products_line(self) -> EquationLine:
        """Build the line of all products, summed by absolute value."""
        products_sum = self.scale_to_objective(add(*(total(magnitude(product), self.row) for product in self.products)))
        products_sum = products_sum.with_name("all products, added up by size")
        return build_value_line(products_sum, "=", 0, caption=self.describe_products)

    def describe_products(self, at: Any) -> str:
        """Describe the sum of all products, and the factors of that of a sample with 0 < α < C."""
        text = "all products, added up by size, and 0"
        free_rows = np.flatnonzero(sym.is_free(at))
        if not len(free_rows):
            return text
        row = int(free_rows[0])
        rows = self.rows[row // (at.svm.m // len(self.rows))]  # the side of f that the row is on
        alpha, slack = (np.asarray(factor.value(at)) for factor in rows.product.parts)
        k = row % len(alpha)
        return f"{text}; that of {at.name_row(row)} is {alpha[k]:.4g} · {slack[k]:.1e}"

    # --- the dual -----------------------------------------------------------------------------------------------------

    def build_substitution_step(self, consequence: str = "", eta: str = "η = C − α") -> Step:
        """Build the step that substitutes stationarity into L, line by line, each evaluated at w(α).

        consequence: What cancels, in words.
        eta: What is put in place of η, and of further variables, separated by ", ".
        """
        b_term = None if self.intercept is None else sym.B * self.full_balance
        constraint_cross, constraint_cost = None, None
        if self.constraint_terms:
            constraint_cross, constraint_cost = self.constraint_terms.multiplier_product, -self.constraint_terms.cost
        norm = multiply(self.norm_factor, self.norm)
        product = letter(rf"\langle {self.w},\varphi(x_i)\rangle", sym.PRODUCT.function, f"(phi(X) @ {self.w})")
        cross = multiply(self.product_factor, total(self.coef * product))
        rest = [*self.linear, self.curvature_term and -self.curvature_term]
        lagrangian = self.build_lagrangian(eta=False)
        sides = (
            self.scale_to_objective(
                add(norm, -cross, constraint_cross, b_term and -b_term, self.equality_term, *rest), constraint_cost
            ),
            self.scale_to_objective(add(norm, -multiply(self.product_factor, self.norm), *rest), constraint_cost),
            self.build_dual_value(None if self.constraint_terms else self.quadratic_sum),
        )  # fmt: skip
        L = lagrangian.with_name(f"L at {self.w}(α)")
        lines = (
            build_value_line(L, "=", sym.QP_VALUE, at=sym.substitute_w), display(lagrangian, "L&="),
            *(line(L, "=", side, scale="objective_scale", left="&", at=at)
              for side, at in zip(sides, (sym.substitute_w, sym.substitute_w_and_b, sym.substitute_w), strict=True)),
        )  # fmt: skip
        balance = f"b = {self.full_balance.text()}" if self.has_penalised_b else f"{self.full_balance.text()} = 0"
        substituted = [f"{self.w}(α{', π' if self.constraint_terms else ''})"]
        if b_term:
            substituted.append(balance)
        if self.sides_of_equality:
            substituted.append(" = ".join(side.text() for side in self.sides_of_equality[1:]))
        *first, last = filter(None, [*substituted, *eta.split(", ")])
        consequence = consequence or (
            f"what {'b and ' if b_term else ''}the slack added cancels, half of the quadratic term cancels, and "
            "only kernel values are left"
        )
        return step(
            "Substitution", f"Put {', '.join(first)}{' and ' if first else ''}{last} into L: {consequence}.",
            Equation("aligned", lines),
        )  # fmt: skip

    def build_dual_step(self, description: str, *definitions: EquationLine) -> Step:
        """Build the step of the dual, the best lower bound, written as a minimisation.

        description: The dual in words.
        definitions: Lines that define symbols of the objective, written next to it.
        """
        has_free_b = self.problem.intercept == "free"
        balance = line(self.full_balance, "=", 0, scale=sym.compute_balance_scale) if has_free_b else None
        equality = None
        if self.sides_of_equality:
            _, left, right = self.sides_of_equality
            equality = line(left, "=", right)
        alpha = (r"\alpha" if len(self.rows) == 1 else r"\alpha^\pm") + r",\pi" * bool(self.constraint_terms)
        D = self.build_dual_value().with_name("the dual's value at α")
        lines = (
            display(self.dual_objective, rf"\min_{{{alpha}}}\ "),
            *(replace(definition, before=r",\quad ", joined=True) for definition in definitions),
            build_value_line(D, "=", sym.CLAIMED_DUAL),
            build_value_line(D, "=", sym.QP_VALUE),
            *iter_constraints(
                balance,
                equality,
                *(rows.box for rows in self.rows),
                sym.MULTIPLIERS_NONNEGATIVE if self.constraint_terms else None,
            ),
            *sym.ALPHA_OPTIMAL,
            *([sym.MULTIPLIERS_STATIONARY] if self.constraint_terms else []),
        )
        return step(
            "Dual",
            f"The best lower bound, written as a minimisation: {description}. At its solution a projected gradient "
            "step does not change α.",
            Equation("below", lines), type(self.problem)._build_specification,
        )  # fmt: skip

    def build_strong_duality_step(self, rows: str = "samples") -> Step:
        """Build the step of strong duality: no gap remains at the optimum; `rows` is what the gap is a sum over."""
        return step(
            "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            f"certifies how far the two values found are apart, as a sum over the {rows}.",
            Equation(
                "below",
                (
                    display(self.objective),
                    display(self.build_dual_value(), r"\quad="),
                    build_value_line(
                        self.objective.with_name("the primal's value"),
                        "=",
                        self.build_dual_value().with_name("the dual's value"),
                        at=sym.with_needed_slack,
                    ),
                ),
            ),
        )

    def build_weak_duality_step(self) -> Step:
        """Build the step of weak duality: P − D(α) is a sum of terms that are not negative."""
        w = self.w
        alpha = r"\alpha,\pi" if self.constraint_terms else r"\alpha"
        squared_distance = letter(rf"\|{w}-{w}({alpha})\|^2", "squared_distance", f"norm({w} - {w}_of_alpha)**2")
        terms = [
            multiply(self.norm_factor, squared_distance),
            HALF * (sym.B - self.full_balance) ** 2 if self.has_penalised_b else None,
            self.curvature_gap,
        ]
        terms += [total(rows.slack_product, self.row) for rows in self.rows if rows.slack_product is not None]
        terms += [total(rows.product, self.row) for rows in self.rows]
        P = self.objective.with_name("the primal's value", f"P({self.variables})")
        D = self.build_dual_value().with_name("the dual's value at α", rf"D({alpha})")
        difference = add(
            multiply(self.unit, add(*terms, broken=r"\\ &\quad ")),
            self.constraint_terms and total(sym.MULTIPLIER * self.constraint_terms.bound_slack, "j"),
            broken=r"\\ &\quad ",
        )
        lines = (
            build_value_line(D, "≤", P, at=sym.make_suboptimal, caption=describe_weak_duality),
            display(P - D),
            display(difference, r"\quad=", r"\ \ge\ 0"),
            build_value_line(
                P - D,
                "=",
                difference.with_name("the sum of terms that are not negative"),
                "≥",
                0,
                at=sym.make_suboptimal,
            ),
        )
        return step(
            "Weak duality",
            "Take any feasible α and any feasible point of the primal, optimal or not. The difference of their values "
            "is a sum of terms that are not negative, so every α bounds the optimum from below, and every point of the "
            "primal from above. This is what makes a certificate possible. At an optimal α it is measured half way "
            "to another feasible one.",
            Equation("below", lines, sym.explain_infeasibility), certify.build_candidate, general="GAP.1",
            construction="for every feasible pair the difference is this sum",
        )  # fmt: skip

    # --- back from the dual -------------------------------------------------------------------------------------------

    def build_recovered_f_step(self) -> Step:
        """Build the step that recovers f from α."""
        needed = "α is"
        if self.constraint_terms:
            needed = "α, π and the rows are"
        elif self.offset:
            needed = f"α and {self.b} are"
        w_product = operation(r"\langle w,\varphi(x)\rangle", "", "phi(x) @ w", self.f.function) + self.offset
        sums = multiply(
            self.product_factor,
            sym.kernel_sum(self.coef, "x") - (self.constraint_terms and self.constraint_terms.kernel_sum),
        )
        lines = (
            self.f_by_w or line(self.f, "=", w_product, measured=False),
            line(self.f, "=", sums + self.offset - self.subtracted_term, place="between",
                 scale=lambda at: (self.product_factor or 1.0) * sym.compute_scale_between(at), left=r"\phantom{f(x)}"),
        )  # fmt: skip
        return step(
            f"Recovering {self.w}",
            f"Put the stationarity in {self.w} into f: products of features are kernel values, so {needed} all that a "
            "prediction needs. It is measured at samples half way between those trained on.",
            Equation("below", lines), DecisionFunctions._evaluate, general="DUAL.4",
            construction="" if self.problem.space.is_linear else "the decision function is this sum",
        )  # fmt: skip

    def build_recovered_b_step(self, *lines: EquationLine | str, where: str = "") -> Step:
        """Build the step that recovers b.

        lines: How b is computed; without any, as the mean over the samples on the margin.
        where: The beginning of the text, which says which samples give b.
        """
        if self.has_penalised_b:
            return step(
                "Recovering b",
                "A penalised intercept is a weight like the others, and it is read off α in the same way.",
                self._build_penalised_b("", self.full_balance, total(self.coef)),
                certify.compute_penalised_multipliers,
                general="CERT.2",
            )
        where = where or ("On the margin f(x_i) = y_i" if self.curvature_slack is None else
                          "At a free support vector y_i f(x_i) is 1 less the slack, which α gives")  # fmt: skip
        text = f"{where}, so one such sample would give b. The mean over all of them is less sensitive to rounding."
        if self.curvature_term is None:
            text += " Where there are none, b is a weighted quantile: every b of its interval is as good."
        has_cases = any(isinstance(equation_line, EquationLine) and equation_line.premise for equation_line in lines)
        lines = lines or self._build_mean_of_b()
        quantile = letter("", sym.find_nearest_b, "", "the weighted quantile of what it would be on each row")
        quantile_line = line(sym.B, "=", quantile, when=Subset("", lambda at: not sym.is_free(at).any()), shown=False,
                             scale=lambda at: at.level if at.svm.is_two_sided else 1 + abs(at.b))  # fmt: skip
        return step(
            "Recovering b", text,
            Equation("aligned" if has_cases else "below", (*lines, quantile_line), explain_undetermined_b),
            levels.average_free_rows, "" if self.problem.intercept else NO_INTERCEPT, "LEVEL.5",
        )  # fmt: skip

    def _build_mean_of_b(self) -> tuple[EquationLine | str, ...]:
        """Build the line of b as a mean over the free support vectors M, and LaTeX that defines M."""
        upper = self.rows[0].upper
        label = sym.Y if self.curvature_slack is None else sym.Y * (1 - self.curvature_slack)
        mean = sym.mean("M", label - sym.kernel_sum(self.coef), sym.is_free)
        if upper:
            is_free = line(0, "<", sym.ALPHA, "<", upper)
            is_free_code = f"(alpha > 0) & (alpha < {upper.python()}) & (kind == 1)"
        else:
            is_free = line(sym.ALPHA, ">", 0)
            is_free_code = "(alpha > 0) & (kind > 0)"
        mean_line = line(sym.B, "=", mean, setup_code=f"M = {is_free_code}",
                         when=Subset("not any(M)", lambda at: sym.is_free(at).any()),
                         scale=lambda at: 1 + abs(at.b))  # fmt: skip
        return mean_line, rf"M=\{{i:{is_free.latex()}\}}"

    def build_kinds_step(self, *cases: EquationLine, text: str = "") -> Step:
        """Build the step about the position of a sample, given its α.

        cases: One per kind of sample; by default α = 0, 0 < α < C and α = C.
        text: How the first sentence continues.
        """
        rows = self.rows[0]
        value, level, alpha, upper = self.compared_value, self.level, rows.alpha, rows.upper
        if not cases:
            assert upper is not None
            cases = (
                case(sym.ZERO, (alpha, "=", 0), (value, "≥", level)),
                case(sym.BETWEEN, (0, "<", alpha, "<", upper), (value, "=", level)),
                case(sym.BOUNDED, (alpha, "=", upper), (value, "≤", level)),
            )
        count = "two" if len(cases) == 2 else "three"
        return step(
            f"{count.capitalize()} kinds of samples",
            f"Complementary slackness leaves {count} cases{text or '.'} The library tells them apart by comparing the "
            "slack with its multiplier, not by a cut like 1e-5.",
            Equation("aligned", cases), certifier.classify_by_bounds, general="DUAL.8",
        )  # fmt: skip

    def build_linear_w_step(self) -> Step:
        """Build the step of w as a vector, for a linear kernel."""
        absent = (
            f"w = Σ {self.coef.text()} φ(x_i) is a vector in the feature space of {self.problem.kernel}, not in the "
            "space of the samples; use decision_function(X), or Linear() as kernel"
        )
        weighted_sum = operation(
            r"\sum_i%s x_i", "Σ %s x_i", "X.T @ (%s)", lambda at, beta: at.combine_features(beta), self.coef
        )
        matrix_product = letter(self.matrix, lambda at: at.combine_features(at.beta), "X.T @ beta", "Xᵀβ")
        f = line(sym.F, "=", letter(r"w^{\top}x", lambda at: at.X @ at.w, "X @ w", "wᵀx_i") + self.offset,
                 scale=lambda at: reference_size(at.values), place="sample", left="f(x)",
                 before=r",\quad ", joined=True)  # fmt: skip
        sum_line = self.build_w_line(right=weighted_sum)
        chain = replace(sum_line, sides=(*sum_line.sides, matrix_product), relations=("=", "="))
        return step(
            "w of a linear kernel",
            "Where φ(x) = x, the sum over the samples can be done once and for all: w has one weight per feature, and "
            "predicting needs neither α nor the samples.", Equation("below", (chain, f)), FeatureSpace.weights,
            "" if self.problem.space.is_linear else absent, "DUAL.5"
        )  # fmt: skip


def describe_weak_duality(at: Any) -> str:
    """Describe the two numbers of weak duality."""
    where = "half way to another feasible α" if at.result.status is Status.OPTIMAL else "at α"
    return f"the dual's value {where}, and the primal's value"


def explain_undetermined_b(at: Any) -> str:
    """Explain why no sample determines b of a loss with curvature at a point, or return ""."""
    if at.svm.has_curvature and not sym.is_free(at).any():
        return "no sample with 0 < α < C: b is any value that costs least"
    return ""
