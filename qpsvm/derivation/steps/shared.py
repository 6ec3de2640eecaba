"""The argument of every machine, from the margin to strong duality and back: its steps, made of a machine's formulas.

A machine says what it is once, as an `Argument`: its objective, its rows and what multiplies them, what is left of it
in the dual. The steps are the same for all, and so are their measures. What stands for b is there, or it is not: a
penalised b is part of the norm and of K + 1, and has an equation of its own; without a b, the steps about it do not
exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qpsvm.bounds import certify, levels
from qpsvm.bounds.certificate import gap_sums
from qpsvm.bounds.levels import primal_points
from qpsvm.bounds.repair import boxed
from qpsvm.derivation import measures
from qpsvm.derivation.step import Measure, Step
from qpsvm.derivation.steps.latex import cases, flat, lines, signed, step
from qpsvm.machines import Problem
from qpsvm.machines.problem import judge
from qpsvm.program.svm_dual import intercept_group
from qpsvm.result.model import DecisionFunctions
from qpsvm.result.svm_result import kkt_table
from qpsvm.space.kernels.space import FeatureSpace

#: Why steps about b do not exist without one.
NO_INTERCEPT = "intercept=None: f(x) = ⟨w, φ(x)⟩ goes through the origin, there is no b"
#: What reaches the level in a two-class machine.
YF = "y_i f(x_i)"
#: Why ξ ≥ 0 needs no multiplier where its square is paid.
NEEDS_NONE = "where a negative ξ_i is feasible 0 is, and it costs less"


@dataclass(frozen=True)
class Argument:
    """What a machine's steps are made of, in LaTeX. Where it has two rows a sample, lists have an entry for each.

    price: What the slacks cost in the primal.
    subject: The constraints of the primal.
    rows: What multipliers multiply and is at least 0, with ξ for its slack and the sign in front.
    plus, minus: The linear terms of the dual's value, by their sign.
    others: Letters of the primal besides w, b and the slacks; `reward` is their part of the objective, `equality` what
        they ask of α, in LaTeX and in words, and `gone` their part of the Lagrangian at w(α).
    alphas, slacks, etas, uppers: Multipliers, slacks, the multipliers of those slacks that have a linear price,
        `priced`, and the upper bounds of α.
    quadratic, double: The quadratic term of the dual as a matrix product, and what multiplies K(x_i, x_j) in it.
    bend, bend_gap, curve: Of a curved loss: its square in the dual, its square in P − D, and δ_iα_i.
    coef, coef_words, matrix: The coefficient of a sample in f, and Σ coef x_i as a matrix product.
    reach, level: What is to reach what.
    half, twice: What stands before the square of the norm, and before the product of w with a combination.
    unit: A factor of the objective, as the λ of (PHINGE.2).
    w, b, row: The letters of the weights, of what is added in f, and of a row.
    pull, pull_words: What is 0 of a free b, and b of a penalised one; `sides` is what b balances.
    """

    problem: Problem
    price: str
    subject: str
    rows: tuple[str, ...] = (f"{YF}-1+ξ",)
    plus: str = r"\sum_i\alpha_i"
    minus: str = ""
    others: str = ""
    reward: str = ""
    equality: tuple[str, str] = ("", "")
    gone: str = ""
    alphas: tuple[str, ...] = (r"\alpha_i",)
    slacks: tuple[str, ...] = (r"\xi_i",)
    etas: tuple[str, ...] = (r"\eta_i",)
    priced: tuple[str, ...] | None = None
    uppers: tuple[str, ...] = ("C_i",)
    quadratic: str = r"\tfrac12\alpha^{\top}Q\alpha"
    double: str = r"\tfrac12\sum_{i,j}\alpha_i\alpha_j y_i y_j"
    bend: str = ""
    bend_gap: str = ""
    curve: str = ""
    coef: str = r"\alpha_i y_i"
    coef_words: str = "α_i y_i"
    matrix: str = r"X^{\top}(\alpha\circ y)"
    reach: str = YF
    level: str = "1"
    half: str = r"\tfrac12"
    twice: str = ""
    unit: str = ""
    w: str = "w"
    b: str = "b"
    pull: str = r"y^{\top}\alpha"
    pull_words: str = "yᵀα"
    row: str = "i"
    sides: str = "classes"

    # --- parts of formulas --------------------------------------------------------------------------------------------

    def of_b(self, free: str, penalised: str = "") -> str:
        """What stands there for a free b, or for a penalised one."""
        return {"free": free, "penalised": penalised, None: ""}[self.problem.intercept]

    @property
    def over(self) -> str:
        """What the primal is minimised over, but for the slacks."""
        return self.w + self.of_b(",b", ",b") + self.others

    @property
    def variables(self) -> str:
        """What the primal is minimised over."""
        slacks = [each for slack in self.slacks for each in slack.split("+")]
        return ",".join([self.over, *(each[: -len("_i")] for each in slacks)])

    @property
    def norm(self) -> str:
        """The square of the norm, to be multiplied."""
        return rf"\bigl(\|{self.w}\|^2+b^2\bigr)" if self.penalised else rf"\|{self.w}\|^2"

    @property
    def norm_and_reward(self) -> str:
        """What the primal minimises besides the price of slack."""
        return (r"\tfrac{\lambda}{2}" if self.unit else self.half) + self.norm + self.reward

    @property
    def cost(self) -> str:
        """What the primal minimises."""
        return self.norm_and_reward + (f"+{self.price}" if self.price else "")

    @property
    def square(self) -> str:
        """What the quadratic term lacks of the norm with a penalised b."""
        return rf"\tfrac12\bigl({self.pull}\bigr)^2" if self.penalised else ""

    @property
    def sum(self) -> str:
        """Σ over the rows."""
        return rf"\sum_{self.row}"

    @property
    def products(self) -> list[str]:
        """What each row adds to P − D, and takes off L."""
        rows = (row.replace("ξ", slack) for row, slack in zip(self.rows, self.slacks or ("",) * 2, strict=False))
        return [rf"{self.sum}{a}\bigl({row}\bigr)" for a, row in zip(self.alphas, rows, strict=True)]

    @property
    def with_prices(self) -> tuple[str, ...]:
        """The slacks that have a linear price."""
        return self.slacks if self.priced is None else self.priced

    @property
    def rooms(self) -> list[str]:
        """What α leaves of the price of each slack, times the slack."""
        each = zip(self.uppers, self.alphas, self.with_prices, strict=False)
        return [rf"\bigl({upper}-{a}\bigr)\,{slack}" for upper, a, slack in each]

    @property
    def box(self) -> str:
        """The bounds of α."""
        ends = [rf"\le {upper}" for upper in self.uppers] if self.with_prices else [""] * len(self.alphas)
        return r",\ ".join(rf"0\le {a}{end}" for a, end in zip(self.alphas, ends, strict=True))

    @property
    def penalised(self) -> bool:
        """Whether b is a weight like the others."""
        return self.problem.intercept == "penalised"

    def scaled(self, latex: str) -> str:
        """A value in the units of the objective."""
        return rf"{self.unit}\Bigl({latex}\Bigr)" if self.unit else latex

    def value(self, quadratic: str, sign: str = "-", square: str = "") -> str:
        """The dual's value, or minus it."""
        plus, minus = ("+", "-") if sign == "-" else ("-", "+")
        linear = [plus + self.plus, minus + self.minus]
        bend = "" if "D" in quadratic else self.bend  # which has it
        rest = [sign + quadratic, sign + bend, sign + square]
        return self.scaled(signed(*linear, *rest) if sign == "-" else signed(*rest, *linear))

    # --- from the margin to the optimality conditions -----------------------------------------------------------------

    def margin(self) -> Step:
        """How far the two hyperplanes of the margin are apart."""
        level = self.level
        seen = "It is measured between the margin vectors of the two classes."
        if self.bend:
            seen = "Samples that support have slack: it is measured after a step of ξ/‖w‖ towards their hyperplane."
        return step(
            "Margin",
            "A step of length t along w/‖w‖ changes f by t‖w‖, so the way from one hyperplane to the other is the "
            f"difference of their levels over ‖w‖. {seen}",
            rf"\operatorname{{dist}}\bigl(\{{f=-{level}\}},\{{f=+{level}\}}\bigr)"
            rf"=\frac{{2{level if level != '1' else ''}}}{{\|w\|}}",
            measures.margin_width,
        )  # fmt: skip

    def loss(self, text: str, loss: str, title: str = "Loss") -> Step:
        """The primal without slacks."""
        latex = rf"\min_{{{self.over}}}\ {self.norm_and_reward}+{loss}"
        return step(title, text, latex, measures.regularised_loss, general="ARGUMENT.1")

    def primal(self, text: str, title: str = "Primal") -> Step:
        """What is minimised, and what the minimum has to keep."""
        latex = lines(rf"\min_{{{self.variables}}}\ {self.cost}", rf"\text{{subject to}}\ {self.subject}")
        return step(title, text, latex, type(self.problem)._record, measures.primal)

    def lagrangian(self, multipliers: str = "α_i for the margin and η_i for ξ_i ≥ 0", first: str = "") -> Step:
        """Every constraint with its multiplier."""
        first = first or f"Every constraint gets a multiplier, the price of a unit of it: {multipliers}."
        off = [
            *self.products,
            *(self.sum + eta + slack for eta, slack in zip(self.etas, self.with_prices, strict=False)),
        ]
        off = [rf"\\ &-{each.replace('_i', f'_i{self.unit}', 1)}" for each in off]
        letters = [each[: -len("_i")] for each in (*self.alphas, *self.etas[: len(self.with_prices)])]
        return step(
            "Lagrangian", f"{first} At the solution nothing is to be paid, so L is the primal value.",
            rf"\begin{{align*}}L={{}}&{self.cost}{''.join(off)},\qquad {','.join(letters)}\ge 0\end{{align*}}",
            measures.lagrangian, general="ARGUMENT.2",
        )  # fmt: skip

    def stationarity_in_w(self, flat_at: str = "the normal vector is a combination of the samples") -> Step:
        """The Lagrangian is flat in w."""
        w, linear = self.w, self.problem.space.is_linear
        seen = (
            "The kernel is linear, so both sides are vectors with one entry a feature."
            if linear
            else f"In the feature space of {self.problem.kernel} {w} has no entries to compare, so the products of "
            "both sides with every φ(x_i) are compared."
        )
        return step(
            f"Stationarity in {w}", f"At a minimum over {w} the Lagrangian is flat: {flat_at}. {seen}",
            flat(w, rf"{w}=\sum_i{self.coef}\,\varphi(x_i)"), primal_points, measures.stationarity_in_w,
            general="DUAL.5", construction="" if linear else f"f is made of α, and {w} is never written down",
        )  # fmt: skip

    def stationarity_in_b(self) -> Step:
        """The Lagrangian is flat in b, whatever its price."""
        if self.penalised:
            half = "(λ/2)" if self.unit else "½"
            return step(
                "Stationarity in b",
                f"With {half}b² in the objective, b has a price of its own. So the derivative gives b itself, instead "
                f"of a balance between the {self.sides}.",
                flat("b", f"b={self.pull}"), certify.penalised_multipliers, measures.penalised_intercept,
                general="CERT.2",
            )  # fmt: skip
        return step(
            "Stationarity in b",
            f"b enters the Lagrangian only through b·Σ {self.coef_words}, which has no minimum over b unless the "
            f"factor is zero. So the two {self.sides} pull with the same total force.",
            flat("b", rf"{self.pull}=\sum_i{self.coef}=0"), intercept_group, measures.stationarity_in_b,
            "" if self.problem.intercept else NO_INTERCEPT, "DUAL.1",
        )  # fmt: skip

    def stationarity_in(self, letter: str, latex: str, factor: str, meaning: str, measure: Measure) -> Step:
        """The Lagrangian is flat in another variable, which stands in it times a factor."""
        return step(
            f"Stationarity in {letter}",
            f"{letter} enters the Lagrangian only through {factor}, which has no minimum over {letter} unless the "
            f"factor is zero.{meaning}",
            flat(latex, self.equality[0]), type(self.problem)._record, measure,
        )  # fmt: skip

    def stationarity_in_xi(self) -> Step:
        """The Lagrangian is flat in ξ, whose price is linear."""
        each = zip(self.etas, self.uppers, self.alphas, strict=True)
        return step(
            "Stationarity in ξ",
            f"ξ_{self.row} stands in two constraints, and their multipliers share the price of a unit of slack. This "
            "gives η from α, so η is not needed any more.",
            flat(self.slacks[0], r",\quad ".join(f"{eta}={upper}-{a}" for eta, upper, a in each)),
            kkt_table, measures.stationarity_in_xi, general="DUAL.7",
            construction="η is no unknown any more, the library makes it of α and its bound",
        )  # fmt: skip

    def stationarity_in_curved_xi(self, text: str, latex: str) -> Step:
        """The same of a slack whose square is paid."""
        return step("Stationarity in ξ", text, latex, measures.stationarity_in_curved_xi, general="LOSS.4")

    def dual_feasibility(self) -> Step:
        """The box; without an upper bound, α ≥ 0 is all."""
        bounded = "With η expressed by α, its sign becomes the upper bound of α: the box of the dual."
        free = "The slack is squared and has no multiplier η, so that nothing bounds α above."
        etas = self.etas[: len(self.with_prices)]
        return step(
            "Dual feasibility", f"Multipliers of inequalities are not negative. {bounded if etas else free}",
            rf"{','.join([*self.alphas, *etas])}\ge 0" + (rf"\quad\Longrightarrow\quad {self.box}" if etas else ""),
            boxed, measures.dual_feasibility, general="REPAIR.1",
        )  # fmt: skip

    def complementary_slackness(self) -> Step:
        """Where a constraint has room its multiplier is zero."""
        rows = [each.removeprefix(self.sum) for each in self.products]
        return step(
            "Complementary slackness",
            "Either a constraint holds with equality or its multiplier is zero. The library adds these products up, "
            "sample by sample: their sum is the duality gap.",
            lines(*(f"{each}=0" for each in (*rows, *self.rooms))), gap_sums, measures.complementary_slackness,
            general="CERT.1",
        )  # fmt: skip

    # --- the dual -----------------------------------------------------------------------------------------------------

    def substitution(self, what: str = "", eta: str = "η = C − α") -> Step:
        """L with all that stationarity gave."""
        kernel = r"\bigl(K(x_i,x_j)+1\bigr)" if self.penalised else "K(x_i,x_j)"
        norm, linear = self.half + self.norm, ["+" + self.plus, "-" + self.minus, "-" + self.bend]
        off = "".join(rf"\\ &\quad-{each.replace('_i', f'_i{self.unit}', 1)}"
                      for each in (*self.products, *(self.sum + room for room in self.rooms)))  # fmt: skip
        b = self.of_b(rf"-b\,{self.pull}", rf"-b\,{self.pull}")
        cross = rf"-{self.twice}\sum_i{self.coef}\langle {self.w},\varphi(x_i)\rangle"
        sides = (
            f"{self.cost}{off}",
            self.scaled(signed("+" + norm, cross, r"\\ &\quad", b, self.gone, *linear)),
            self.scaled(signed("+" + norm, f"-{self.twice}{self.norm}", *linear)),
            self.value(f"{self.double} {kernel}"),
        )
        put = [f"{self.w}(α)", self.of_b(f"{self.pull_words} = 0", f"b = {self.pull_words}"), self.equality[1]]
        *first, last = filter(None, [*put, *eta.split(", ")])
        what = what or (
            f"what {self.of_b('b and ', 'b and ')}the slack added cancels, half of the quadratic term cancels, and "
            "only kernel values are left"
        )
        return step(
            "Substitution", f"Put {', '.join(first)}{' and ' if first else ''}{last} into L: {what}.",
            r"\begin{align*}L&=" + r"\\ &=".join(sides) + r"\end{align*}", measures.substitution,
            general="ARGUMENT.3",
        )  # fmt: skip

    def dual(self, what: str, where: str = "") -> Step:
        """The best lower bound, written as a minimisation."""
        equalities = [self.of_b(f"{self.pull}=0"), self.equality[0]]
        asked = r",\ ".join(filter(None, [*equalities, self.box]))
        alpha = r"\alpha" if len(self.rows) == 1 else r"\alpha^\pm"
        return step(
            "Dual",
            f"The best lower bound, written as a minimisation: {what}. At its solution a projected gradient step goes "
            "nowhere.",
            lines(rf"\min_{{{alpha}}}\ {self.value(self.quadratic, '+', self.square)}{where}",
                  rf"\text{{subject to}}\ {asked}"),
            type(self.problem)._record, measures.dual_optimum,
        )  # fmt: skip

    def strong_duality(self, rows: str = "samples") -> Step:
        """No gap is left at the optimum."""
        return step(
            "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number. The library "
            f"certifies how far the two values found are apart, as a sum over the {rows}.",
            lines(self.cost, rf"\quad={self.value(self.quadratic, square=self.square)}"), measures.strong_duality,
            general="ARGUMENT.4",
        )  # fmt: skip

    def weak_duality(self, function: Callable[..., Any] = certify._measured) -> Step:
        """D(α) ≤ P, because the difference is a sum of terms that are not negative."""
        squares = [rf"{self.half}\|{self.w}-{self.w}(\alpha)\|^2"]
        squares += [rf"\tfrac12\bigl(b-{self.pull}\bigr)^2"] if self.penalised else []
        terms = [*squares, self.bend_gap, *(self.sum + room for room in self.rooms), *self.products]
        difference = self.scaled(r"\\ &\quad+".join(filter(None, terms)))
        return step(
            "Weak duality",
            "Take any feasible α and any feasible point of the primal, optimal or not. The difference of their values "
            "is a sum of terms that are not negative, so every α bounds the optimum from below, and every point of the "
            "primal from above. This is what makes a certificate possible.",
            lines(
                rf"P({self.variables})-D(\alpha)", rf"\quad={difference}\ \ge\ 0",
                rf"\Longrightarrow\quad D(\alpha)\le P({self.variables})",
            ),
            function, measures.weak_duality, general="GAP.1",
            construction="for every feasible pair the difference is this sum",
        )  # fmt: skip

    # --- back from the dual -------------------------------------------------------------------------------------------

    def weights_recovered(self, f: str = "") -> Step:
        """f from α; `f` is the LaTeX of it where it is more than a sum and b."""
        plus_b = self.of_b("+b", "+b")
        needed = f"α and {self.b} are" if f or plus_b else "α is"
        return step(
            f"Recovering {self.w}",
            f"Put the stationarity in {self.w} into f: products of features are kernel values, so {needed} all that a "
            "prediction needs. It is measured at samples half way between those trained on.",
            f or lines(
                rf"f(x)=\langle w,\varphi(x)\rangle{plus_b}", rf"\phantom{{f(x)}}=\sum_i{self.coef}\,K(x_i,x){plus_b}"
            ),
            DecisionFunctions._values, measures.decision_function_recovered, general="DUAL.4",
            construction="" if self.problem.space.is_linear else "the decision function is this sum",
        )  # fmt: skip

    def intercept_recovered(self, text: str, latex: str = "") -> Step:
        """Back to b: text and LaTeX are those of a free one; without LaTeX, it is the mean over the margin."""
        if self.penalised:
            return step(
                "Recovering b",
                "A penalised intercept is a weight like the others, and it is read off α in the same way.",
                rf"b={self.pull}=\sum_i{self.coef}", certify.penalised_multipliers, measures.penalised_intercept,
                general="CERT.2",
            )  # fmt: skip
        level = rf"y_i\bigl(1-{self.curve}\bigr)" if self.curve else "y_i"
        bounds = rf"0<\alpha_i<{self.uppers[0]}" if self.with_prices else r"\alpha_i>0"
        return step(
            "Recovering b", text,
            latex or lines(
                rf"b=\frac{{1}}{{|M|}}\sum_{{i\in M}}\Bigl({level}-\sum_j\alpha_j y_j K(x_j,x_i)\Bigr)",
                rf"M=\{{i:{bounds}\}}",
            ),
            levels.average, measures.intercept_recovered, "" if self.problem.intercept else NO_INTERCEPT, "LEVEL.5",
        )  # fmt: skip

    def kinds_of_samples(self, latex: str = "", title: str = "Three kinds of samples", text: str = "") -> Step:
        """What α says about where a sample lies."""
        a, upper, level = self.alphas[0], self.uppers[0], self.level
        return step(
            title,
            text or "Complementary slackness leaves three cases. The library tells them apart by comparing the slack "
            "with its multiplier, not by a cut like 1e-5.",
            latex or cases(
                (f"{a}=0", rf"{self.reach}\ge {level}"), (f"0<{a}<{upper}", f"{self.reach}={level}"),
                (f"{a}={upper}", rf"{self.reach}\le {level}"),
            ),
            judge.split, measures.kinds_of_samples, general="DUAL.8",
        )  # fmt: skip

    def what_nu_bounds(self, violated: str, total: str, text: str, function: Measure = measures.shares) -> Step:
        """How much weight violates its level, and how much supports; `total` is the LaTeX of what all α add up to."""
        C = self.uppers[0]
        return step(
            "What ν bounds", f"{text} The residual is by how much a bound fails.",
            rf"\sum_{{{violated}}}{C}\ \le\ {total}\ \le\ \sum_{{\alpha_i>0}}{C}", function,
        )  # fmt: skip

    def linear_weights(self, plus_b: str = "") -> Step:
        """w as a vector, where the kernel is linear."""
        absent = (
            f"w = Σ {self.coef_words} φ(x_i) is a vector in the feature space of {self.problem.kernel}, not in the "
            "space of the samples; use decision_function(X), or Linear() as kernel"
        )
        return step(
            "w of a linear kernel",
            "Where φ(x) = x, the sum over the samples can be done once and for all: w has one weight a feature, and "
            "predicting needs neither α nor the samples.",
            lines(rf"w=\sum_i{self.coef} x_i={self.matrix}", rf"f(x)=w^{{\top}}x{plus_b or self.of_b('+b', '+b')}"),
            FeatureSpace.weights, measures.linear_weights, "" if self.problem.space.is_linear else absent, "DUAL.5",
        )  # fmt: skip
