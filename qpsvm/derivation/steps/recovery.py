"""Build the steps that lead back from α to the primal: to f, to b, and for a linear kernel to w."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qpsvm.bounds import certify, levels
from qpsvm.derivation.expressions import Equation, EquationLine, Subset, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.relative_size import reference_size
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.formulas import Formulas, step
from qpsvm.derivation.steps.stationarity import NO_INTERCEPT, build_penalised_b_equation, build_w_line
from qpsvm.derivation.term_builders import multiply, operation, total
from qpsvm.result.model import DecisionFunctions
from qpsvm.space.kernels.space import FeatureSpace


def build_recovered_f_step(machine: Formulas) -> Step:
    """Build the step that recovers f from α."""
    needed = "α"
    if machine.constraint_terms:
        needed = "α, π and the constraints"
    elif machine.offset:
        needed = f"α and {machine.b}"
    f_of_w = operation(r"\langle w,\varphi(x)\rangle", "", "phi(x) @ w", machine.f.function) + machine.offset
    kernel_sum = sym.kernel_sum(machine.coef, "x")
    if machine.constraint_terms:
        kernel_sum = kernel_sum - machine.constraint_terms.kernel_sum
    f_of_alpha = multiply(machine.product_factor, kernel_sum) + machine.offset - machine.subtracted_term
    lines = (
        machine.f_by_w or line(machine.f, "=", f_of_w, measured=False),
        line(machine.f, "=", f_of_alpha, place="between",
             scale=lambda at: (machine.product_factor or 1.0) * sym.compute_scale_between(at), left=r"\phantom{f(x)}"),
    )  # fmt: skip
    return step(
        f"Recovering {machine.w}",
        f"Put the stationarity in {machine.w} into f: products of features are kernel values, so a prediction needs "
        f"only {needed}. The residual is measured at points half way between training samples.",
        Equation("below", lines),
        DecisionFunctions._evaluate,
        general="DUAL.4",
        construction="" if machine.problem.space.is_linear else "the decision function is this sum",
    )


def build_recovered_b_step(machine: Formulas, *lines: EquationLine | str, where: str = "") -> Step:
    """Build the step that recovers b.

    lines: The lines that compute b; by default the mean over the free support vectors.
    where: The beginning of the text, which states at which samples b is determined.
    """
    if machine.has_penalised_b:
        return step(
            "Recovering b",
            "A penalised intercept is a weight like the others, and it is read off α in the same way.",
            build_penalised_b_equation("", machine.full_balance, total(machine.coef)),
            certify.compute_penalised_multipliers,
            general="CERT.2",
        )
    where = where or ("On the margin f(x_i) = y_i" if machine.curvature_slack is None else
                      "At a free support vector y_i f(x_i) is 1 less the slack, which α gives")  # fmt: skip
    text = f"{where}, so one such sample would give b. The mean over all of them is less sensitive to rounding."
    if machine.curvature_term is None:
        text += " Without such a sample, b is any value in an interval of weighted quantiles."
    has_cases = any(isinstance(equation_line, EquationLine) and equation_line.premise for equation_line in lines)
    lines = lines or _build_mean_of_b(machine)
    quantile = letter("", sym.find_nearest_b, "", "the weighted quantile of the values of b that the rows imply")
    quantile_line = line(sym.B, "=", quantile, when=Subset("", lambda at: not sym.is_free(at).any()), shown=False,
                         scale=lambda at: at.level if at.svm.is_two_sided else 1 + abs(at.b))  # fmt: skip
    return step(
        "Recovering b", text,
        Equation("aligned" if has_cases else "below", (*lines, quantile_line),
                 explain_unmeasurable=_explain_undetermined_b),
        levels.average_free_rows, absent="" if machine.problem.intercept else NO_INTERCEPT, general="LEVEL.5",
    )  # fmt: skip


def build_linear_w_step(machine: Formulas) -> Step:
    """Build the step of w as a vector, for a linear kernel."""
    absent = (
        f"w = Σ {machine.coef.text()} φ(x_i) is a vector in the feature space of {machine.problem.kernel}, not in the "
        "space of the samples; use decision_function(X), or Linear() as kernel"
    )
    weighted_sum = operation(
        r"\sum_i%s x_i", "Σ %s x_i", "X.T @ (%s)", lambda at, beta: at.combine_features(beta), machine.coef
    )
    matrix_product = letter(machine.matrix, lambda at: at.combine_features(at.beta), "X.T @ beta", "Xᵀβ")
    f = line(sym.F, "=", letter(r"w^{\top}x", lambda at: at.X @ at.w, "X @ w", "wᵀx_i") + machine.offset,
             scale=lambda at: reference_size(at.values), place="sample", left="f(x)",
             before=r",\quad ", joined=True)  # fmt: skip
    sum_line = build_w_line(machine, right=weighted_sum)
    chain = replace(sum_line, sides=(*sum_line.sides, matrix_product), relations=("=", "="))
    return step(
        "w of a linear kernel",
        "If φ(x) = x, the sum over the samples can be computed once and for all: w has one weight per feature, and "
        "predicting needs neither α nor the samples.", Equation("below", (chain, f)), FeatureSpace.weights,
        absent="" if machine.problem.space.is_linear else absent, general="DUAL.5",
    )  # fmt: skip


def _build_mean_of_b(machine: Formulas) -> tuple[EquationLine | str, ...]:
    """Build the line of b as a mean over the free support vectors M, and LaTeX that defines M."""
    upper = machine.rows[0].upper
    if machine.curvature_slack is None:
        label = sym.Y
    else:
        label = sym.Y * (1 - machine.curvature_slack)
    mean = sym.mean("M", label - sym.kernel_sum(machine.coef), sym.is_free)
    if upper:
        is_free = line(0, "<", sym.ALPHA, "<", upper)
        is_free_code = f"(alpha > 0) & (alpha < {upper.python()}) & (kind == 1)"
    else:  # all support vectors are free
        is_free = line(sym.ALPHA, ">", 0)
        is_free_code = "(alpha > 0) & (kind > 0)"
    mean_line = line(sym.B, "=", mean, setup_code=f"M = {is_free_code}",
                     when=Subset("not any(M)", lambda at: sym.is_free(at).any()),
                     scale=lambda at: 1 + abs(at.b))  # fmt: skip
    return mean_line, rf"M=\{{i:{is_free.latex()}\}}"


def _explain_undetermined_b(at: Any) -> str:
    """Explain why no sample determines the b of a loss with curvature; "" if some sample does."""
    if at.svm.has_curvature and not sym.is_free(at).any():
        return "no sample with 0 < α < C: b is any value with the least penalty"
    return ""
