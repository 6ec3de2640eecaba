"""Build the steps of the all-in-one multiclass machines, (CSMC.1) to (CSMC.14) and (WWMC.1) to (WWMC.14).

The two machines differ only in their `AllInOneTerms` and in their first step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.expressions import (
    Equation,
    EquationLine,
    Subset,
    display,
    iter_constraints,
    line,
    write_stationarity,
)
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.all_in_one_terms import (
    ALPHA,
    ALPHA_SUM,
    BALANCE,
    BETA_SUM,
    F_DIFFERENCE,
    QP_VALUE,
    RIVALS,
    SQUARED_DISTANCE,
    AllInOneTerms,
    B,
    get_penalties,
    read_by_row,
    select_kind,
)
from qpsvm.derivation.steps.formulas import build_value_line, number_steps, step
from qpsvm.derivation.steps.sensitivity import build_saddle_step
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, add, magnitude, total
from qpsvm.derivation.terms import Term
from qpsvm.machines.problem.all_in_one import AllInOneProblem
from qpsvm.machines.problem.class_forms import build_dual_qp, build_primal_qp
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.result.model import DecisionFunctions

#: Meanings of the symbols of these machines; k is the number of classes.
SYMBOLS = {
    "y": Meaning("the class of each sample", "(n,)"),
    "w": Meaning("weights of each class", "(k, d)", lambda at: at.result.w if at.is_linear else None),
    "b": Meaning("intercept of each class", "(k,)", lambda at: at.b),
    "f": Meaning("decision functions, one per class", "(n, k)", lambda at: at.f),
    r"\xi": Meaning("slack", "(n, k)", lambda at: at.xi),
    r"\alpha": Meaning("dual variable of each sample and rival class", "(n, k)", lambda at: at.alpha),
    r"\eta": Meaning("multipliers of ξ ≥ 0", "(n, k)"),
    r"\beta": Meaning("coefficients of the samples in each f", "(n, k)", lambda at: at.beta),
    "C": Meaning("penalty of a unit of slack", "(n,)", lambda at: at.C),
    "c": Meaning("a class; c ≠ y_i is a rival of the sample's own"),
    "k": Meaning("number of classes"),
    "v": Meaning("difference of the two weight vectors", "(d,)"),
}
#: C_i of each row.
C_OF_ROW = letter("C_i", get_penalties, "C_of_row")


def steps(problem: AllInOneProblem) -> tuple[Step, ...]:
    """Return all steps, in order."""
    terms = AllInOneTerms(problem)
    return number_steps(
        "CSMC" if terms.has_shared_slack else "WWMC",
        build_margin_step(terms) if terms.has_shared_slack else build_level_step(terms),
        build_primal_step(terms),
        build_lagrangian_step(terms),
        build_w_step(problem),
        build_b_step(problem),
        build_xi_step(terms),
        build_box_step(terms),
        build_slackness_step(terms),
        build_dual_step(terms),
        build_recovered_f_step(terms),
        build_kinds_step(terms),
        step(
            "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number.",
            Equation("alone", (line(terms.primal, "=", terms.dual_value, scale="objective_scale"),)),
        ),
        build_weak_duality_step(terms),
        build_two_classes_step(terms),
        build_class_saddle_step(terms),
    )


# --- from the primal to the optimality conditions ---------------------------------------------------------------------


def build_margin_step(terms: AllInOneTerms) -> Step:
    """Build the step about the distance of a sample on the margin from the boundary of two classes."""
    norm = letter(r"\|w_{y_i}-w_c\|", compute_weight_distances, "norm(w_y - w_c, axis=1)")
    xi = terms.xi_of_row

    def explain_no_margin(at: AllInOneQuantities) -> str:
        """Explain why there is no margin to measure, or return ""."""
        has_margin = select_kind(1)(at).any() and compute_weight_distances(at).all()
        return "" if has_margin else "no row is exactly on its margin"

    return step(
        "Margin",
        "A step of length t along w_y − w_c changes f_y − f_c by t‖w_y − w_c‖. So a sample whose constraint holds with "
        "equality is 1/‖w_y − w_c‖ away from the boundary of the two classes.",
        Equation("alone", (
            line(F_DIFFERENCE / norm, "=", 1 / norm, rows=select_kind(1), shown=False),
            line(F_DIFFERENCE / norm, "≥", 1 / norm, before=r"\xi_i=0\ \Rightarrow\ ",
                 rows=Subset(f"{xi.python()} == 0", lambda at: xi.value(at) == 0.0)),
        ), explain_no_margin),
        absent="" if terms.problem.space.is_linear else "w has no entries in the feature space of a kernel",
    )  # fmt: skip


def build_level_step(terms: AllInOneTerms) -> Step:
    """Build the step about the margin in the paper of Weston and Watkins, which is 2 instead of 1."""
    square_of_w = letter(r"\|2w_c\|^2", lambda at: 4.0 * at.squares, "norm(2 * w, axis=1)**2")
    b = (2 * B).with_name("(2b_c)", "(2b_c)")
    C = letter("(2C_i)", lambda at: 2.0 * get_penalties(at), "(2 * C)")
    xi = (2 * terms.xi_of_row).with_name("(2ξ_ic)", r"(2\xi_{ic})")
    norm = HALF * total(square_of_w + (b**2 if terms.has_penalised_b else None), "c")
    return step(
        "Level",
        "Put 2w, 2b and 2ξ for w, b and ξ: every f doubles, ‖w‖² is four times as large, and the slack is twice as "
        "large. So the paper's machine, with twice the penalty C, has four times the value.",
        Equation("alone", (
            line(norm + total(C * xi, RIVALS), "=", (4 * sym.CLAIMED_PRIMAL).with_name("4P", "4P"),
                 scale=lambda at: 4.0 * at.objective_scale),
        )),
    )  # fmt: skip


def build_primal_step(terms: AllInOneTerms) -> Step:
    """Build the step of the primal."""
    variables = "w,b" if terms.has_b else "w"
    is_free = terms.problem.intercept == "free"
    return step(
        "Primal",
        "The objective balances small weights and small slack, "
        + ("which all rivals of a sample share. " if terms.has_shared_slack else "one for each rival. ")
        + ("Only differences of f count, and only differences of b." if is_free else "Only differences of f count."),
        Equation("below", (
            display(terms.primal, rf"\min_{{{variables},\xi}}\ "),
            build_value_line(name_primal(terms), "=", sym.CLAIMED_PRIMAL),
            *iter_constraints(line(F_DIFFERENCE, "≥", 1 - terms.xi_of_row, scale="level"),
                              line(terms.xi, "≥", 0, scale="level", after=r"\quad (c\ne y_i)")),
        )),
        build_primal_qp,
    )  # fmt: skip


def name_primal(terms: AllInOneTerms) -> Term:
    """Return the primal's value under its name."""
    return terms.primal.with_name("the primal's value", "P")


def build_lagrangian_step(terms: AllInOneTerms) -> Step:
    """Build the step of the Lagrangian: every constraint with its multiplier."""
    L = terms.lagrangian
    return step(
        "Lagrangian",
        "Every row has a multiplier α_ic, and every slack has η. At the solution the products vanish, so L equals the "
        "primal value.",
        Equation("aligned", (
            display(L, "L&=", rf",\qquad \alpha_{{ic}},{terms.eta.latex()}\ge 0"),
            build_value_line(L.with_name("L"), "=", name_primal(terms)),
        )),
    )  # fmt: skip


def build_w_step(problem: AllInOneProblem) -> Step:
    """Build the step ∂L/∂w = 0."""
    w = letter("w_c", lambda at: at.result.w.ravel() if at.is_linear else at.f.ravel())
    w_of_beta = letter(
        r"\sum_i\beta_{ic}\,\varphi(x_i)",
        lambda at: np.asarray(at.X.T @ at.beta).T.ravel() if at.is_linear else at.f_of_alpha.ravel(),
        "beta.T @ phi(X)",
        "Σ β_ic φ(x_i)",
    )
    own_beta = letter(r"\beta_{iy_i}", lambda at: at.beta[np.arange(len(at.label)), at.label], "beta[i, y]")
    return step(
        "Stationarity in w",
        "At a minimum over w_c the derivative of the Lagrangian is zero. The coefficient of a sample in w_c is the sum "
        "of its multipliers for its own class, and minus its multiplier of class c for any other.",
        Equation("alone", (
            line(w, "=", w_of_beta, place="entry", before=write_stationarity("w_c"),
                 scale=lambda at: at.w_scale if at.is_linear else at.f_scale),
            line(letter(r"\beta_{ic}", read_by_row("beta"), "beta_of_row"), "=", -ALPHA, before=r",\quad ",
                 after=r"\ (c\ne y_i)", scale="alpha_scale"),
            line(own_beta, "=", ALPHA_SUM, before=r",\quad ", scale="alpha_scale"),
        )),
        AllInOneDual.compute_beta, general="JOINT.3",
        construction="" if problem.space.is_linear else "f is computed from α, and w is never formed",
    )  # fmt: skip


def build_b_step(problem: AllInOneProblem) -> Step:
    """Build the step ∂L/∂b = 0, for free or penalised intercepts."""
    if problem.intercept == "penalised":
        text = "b_c is penalised by ½b_c², so the derivative gives b_c."
        balance = line(letter("b_c"), "=", BETA_SUM, place="class",
                       scale=lambda at: max(at.beta_sum_scale, float(np.abs(at.b).max())))  # fmt: skip
    else:
        text = "b_c enters L only through b_c Σ β_ic, which has no minimum unless Σ β_ic is zero in every class."
        balance = BALANCE
    return step(
        "Stationarity in b", text,
        Equation("alone", (replace(balance, before=write_stationarity("b_c")),), lambda at:
                 "the intercept is part of the Gram matrix, which is positive semidefinite only with it"
                 if at.intercept_in_kernel else ""),
        absent="there is no intercept" if problem.intercept is None else "",
    )  # fmt: skip


def build_xi_step(terms: AllInOneTerms) -> Step:
    """Build the step ∂L/∂ξ = 0."""
    stationarity = write_stationarity(terms.xi.latex())
    return step(
        "Stationarity in ξ",
        "The multipliers of a slack add up to its penalty C_i, so η is C_i minus the others.",
        Equation("alone", (line(terms.eta, "=", terms.C - terms.used, before=stationarity, **terms.slack_scale),)),
    )


def build_box_step(terms: AllInOneTerms) -> Step:
    """Build the step of the bounds of α."""
    return step(
        "Dual feasibility",
        "The multipliers of the slack are not negative, so α is bounded above.",
        Equation("alone", (
            line(ALPHA, "≥", 0, scale=get_penalties),
            line(terms.used, "≤", terms.C, before=r",\quad ", **terms.slack_scale),
        )),
    )  # fmt: skip


def build_slackness_step(terms: AllInOneTerms) -> Step:
    """Build the step of complementary slackness: a multiplier is zero, or its constraint holds with equality."""
    margin_product = ALPHA * terms.bound_slack
    products = add(
        total(magnitude(margin_product), RIVALS), total(magnitude(terms.slack_product), terms.slack_index)
    ).with_name("all products, added up by size")
    return step(
        "Complementary slackness",
        "A constraint with positive margin slack has α = 0, and ξ_i is positive only if α is at its bound.",
        Equation("below", (
            line(margin_product, "=", 0, measured=False), line(terms.slack_product, "=", 0, measured=False),
            build_value_line(products, "=", 0),
        )),
        AllInOneDual.compute_gap_terms, general="JOINT.6",
    )  # fmt: skip


# --- the dual, and back -----------------------------------------------------------------------------------------------


def build_dual_step(terms: AllInOneTerms) -> Step:
    """Build the step of the dual, written as a minimisation."""
    D = terms.dual_value.with_name("D", "D")
    return step(
        "Dual",
        "Put w(α) and η into L: ξ drops out, and only kernel values are left. The dual is written as a minimisation.",
        Equation("below", (
            display(add(terms.quadratic, terms.square_of_b, -total(ALPHA, RIVALS)), r"\min_{\alpha}\ "),
            build_value_line(D, "=", QP_VALUE),
            build_value_line(D, "=", sym.CLAIMED_DUAL),
            *iter_constraints(
                line(ALPHA, "≥", 0, scale=get_penalties),
                line(terms.used, "≤", terms.C, **terms.slack_scale),
                BALANCE if terms.problem.intercept == "free" else None,
            ),
        )),
        build_dual_qp,
    )  # fmt: skip


def build_recovered_f_step(terms: AllInOneTerms) -> Step:
    """Build the step that recovers f from α."""
    f = letter("f_c(x)", lambda at: at.f.ravel(), "f", "f_c(x_i)")
    if terms.has_b:
        b = letter("b_c", lambda at: np.broadcast_to(at.b, at.f.shape).ravel())
    else:
        b = None
    sums = letter(
        r"\sum_i\beta_{ic}K(x_i,x)",
        lambda at: (at.f_of_alpha - terms.has_b * at.b).ravel(),
        "K @ beta",
        "Σ_j β_jc K(x_j, x_i)",
    )
    sum_of_w = letter(r"\sum_c w_c", lambda at: at.beta.sum(axis=1), "beta.sum(axis=1)", "Σ_c β_ic")
    return step(
        "Recovering f",
        f"Products of features are kernel values, so {'β and b are' if terms.has_b else 'β is'} all that the decision "
        "functions need. Each multiplier enters with both signs, so the w_c add up to 0.",
        Equation("below", (
            line(f, "=", sums + b, scale="f_scale", place="entry"),
            line(sum_of_w, "=", 0, scale="alpha_scale"),
        )),
        DecisionFunctions._evaluate, general="JOINT.1",
    )  # fmt: skip


def build_kinds_step(terms: AllInOneTerms) -> Step:
    """Build the step about f of a row, given its α."""
    if terms.has_shared_slack:
        shared = ", and the rivals with α > 0 that share a slack have the same f."
    else:
        shared = "."
    return step(
        "Three kinds of rows",
        f"The α of a row determines on which side of the margin it is{shared} This is measured at the rows of each "
        "kind.",
        Equation("aligned", _build_shared_kinds(terms) if terms.has_shared_slack else _build_separate_kinds()),
    )


def _build_separate_kinds() -> tuple[EquationLine, ...]:
    """Build the lines of the kinds of rows with a slack each: α zero, free and at its bound."""
    return (
        _build_kind(0, line(ALPHA, "=", 0), "≥", 1),
        _build_kind(1, line(0, "<", ALPHA, "<", C_OF_ROW), "=", 1),
        _build_kind(2, line(ALPHA, "=", C_OF_ROW), "≤", 1),
    )


def _build_shared_kinds(terms: AllInOneTerms) -> tuple[EquationLine, ...]:
    """Build the lines of the kinds of rows that share a slack: α zero, or positive with Σ α free or at its bound."""
    xi = terms.xi_of_row
    used = letter(ALPHA_SUM.latex(), read_by_row("used"), "used", ALPHA_SUM.text())
    is_free = line(0, "<", ALPHA, after=rf",\ {line(used, '<', C_OF_ROW).latex()}")
    is_at_bound = line(0, "<", ALPHA, after=rf",\ {line(used, '=', C_OF_ROW).latex()}")
    return (
        _build_kind(0, line(ALPHA, "=", 0), "≥", 1 - xi),
        _build_kind(1, is_free, "=", 1),
        _build_kind(2, is_at_bound, "=", 1 - xi),
        line(used, "≤", C_OF_ROW, scale=get_penalties, rows=select_kind(1), shown=False),
        line(used, "=", C_OF_ROW, scale=get_penalties, rows=select_kind(2), shown=False),
    )


def _build_kind(kind: int, premise: EquationLine, relation: str, level: Term | float) -> EquationLine:
    """Build the line of one kind of rows: its condition on α, and the relation of f_y − f_c and a level."""
    return line(
        F_DIFFERENCE, relation, level, scale="level", rows=select_kind(kind),
        premise=replace(premise, scale=get_penalties), after=r"\quad (c\ne y_i)",
    )  # fmt: skip


def build_weak_duality_step(terms: AllInOneTerms) -> Step:
    """Build the step of weak duality: P − D(α) is a sum of terms that are not negative."""
    D = terms.dual_value.with_name("D", "D")
    difference = add(
        HALF * total(SQUARED_DISTANCE, "c"), terms.margin_products, total(terms.slack_product, terms.slack_index),
        HALF * total((B - BETA_SUM) ** 2, "c") if terms.has_penalised_b else None, broken=r"\\ &\quad ",
    )  # fmt: skip
    return step(
        "Weak duality",
        "The difference of the two values is a sum of terms, one per row, and no term is negative. The library's "
        "certificate is this sum. It is measured at half of α.",
        Equation("aligned", (
            line(name_primal(terms) - D, "=", difference, "≥", 0, scale="objective_scale", left="P-D&",
                 map_point=lambda at: at.make_suboptimal()),
        )),
        AllInOneDual.compute_gap_terms, general="JOINT.6",
    )  # fmt: skip


def build_two_classes_step(terms: AllInOneTerms) -> Step:
    """Build the step about two classes, for which the machine is a C-SVM."""
    v = letter(r"\|v\|^2", "square_of_v", "norm(v)**2")
    b = letter("b_2-b_1", lambda at: float(B.value(at)[1] - B.value(at)[0]), "b[1] - b[0]")
    b_in_brackets = Term((r"\bigl(b_2-b_1\bigr)", "(b_2 − b_1)", "(b[1] - b[0])"), b.function)
    norm = v + b_in_brackets**2 if terms.has_penalised_b else v
    value = HALF * norm + total(2 * terms.C * terms.xi, terms.slack_index)
    return step(
        "Two classes",
        "With two classes w₂ = −w₁, and only their difference counts. So the machine is a C-SVM with twice the penalty "
        "C, whose f is f₂ − f₁.",
        Equation("below", (
            "v=w_2-w_1",
            line((2 * sym.CLAIMED_PRIMAL).with_name("2P", "2P"), "=", value, scale=lambda at: 2.0 * at.objective_scale),
        )),
        absent="" if len(terms.problem.classes) == 2 else "there are more than two classes",
    )  # fmt: skip


def build_class_saddle_step(terms: AllInOneTerms) -> Step:
    """Build the saddle of L, with C − α as the other multipliers.

    If the rivals of a sample share a slack, C − Σ α is divided equally among them.
    """
    other_alpha = terms.C - terms.used
    if terms.has_shared_slack:
        other_alpha = other_alpha / letter("(k-1)", lambda at: at.dual.k - 1, "(k - 1)")
    letters = ["w", "b"] if terms.has_b else ["w"]
    return build_saddle_step(terms.lagrangian, letters, (display(other_alpha, r"\bar\alpha_{ic}="),))


def compute_weight_distances(at: AllInOneQuantities) -> FloatArray:
    """Compute ‖w_y − w_c‖ of each row: (m,)."""
    w = at.result.w
    return at.dual.flatten_alpha(np.linalg.norm(w[at.label][:, None] - w[None], axis=2))
