"""Build the steps of the all-in-one multiclass machines, (CSMC.1) to (CSMC.14) and (WWMC.1) to (WWMC.14)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from qpsvm.derivation.steps import letters as sym
from qpsvm.derivation.steps.formulas import build_value_line, number_steps, step
from qpsvm.derivation.steps.sensitivity import build_saddle_step
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, add, magnitude, total
from qpsvm.derivation.terms import PRODUCT, SUM, Term
from qpsvm.machines import CrammerSinger
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
    r"\alpha": Meaning("dual variables of each sample and rival class", "(n, k)", lambda at: at.alpha),
    r"\eta": Meaning("multipliers of ξ ≥ 0", "(n, k)"),
    r"\beta": Meaning("coefficients of the samples in each f", "(n, k)", lambda at: at.beta),
    "C": Meaning("penalty of a unit of slack", "(n,)", lambda at: at.C),
    "c": Meaning("a class; c ≠ y_i is a rival of the sample's own"),
    "k": Meaning("number of classes"),
    "v": Meaning("difference of the two weight vectors", "(d,)"),
}
#: The index of a row: a sample and a class that is not its own.
RIVALS = r"i\sum_{c\ne y_i}"
NET = Term((r"\sum_i\beta_{ic}", "Σ_i β_ic", "beta.sum(axis=0)"), lambda at: at.beta_sums, rank=PRODUCT)
B = letter("b_c", lambda at: at.beta_sums if at.intercept_in_kernel else at.b)
SQUARE = letter(r"\|w_c\|^2", "squares", "norm(w, axis=1)**2")
OF_ALPHA = letter(r"\beta_c^{\top}K\beta_c", "squares_of_alpha", "diag(beta.T @ K @ beta)")
DIFFERENCE = letter(
    r"\|w_c-w_c(\alpha)\|^2", lambda at: at.squares - 2.0 * (at.beta * (at.f - B.value(at))).sum(axis=0)
    + at.squares_of_alpha, "norm(w - w_of_alpha, axis=1)**2",
)  # fmt: skip
QP_VALUE = letter(
    "",
    lambda at: -at.problem.qp("dual").objective(at.dual.flatten_alpha(at.alpha)),
    "-qp.objective(variables)",
    "minus the dual QP's objective at α",
)
SUM_OF_ALPHA = Term(
    (r"\sum_{d\ne y_i}\alpha_{id}", "Σ_d α_id", "sum_over_rivals(alpha)"), lambda at: at.alpha.sum(axis=1), rank=PRODUCT
)


def flat(name: str) -> Any:
    """Return a function that reads an attribute (n, k) or (n, 1) of a point for each row, (m,)."""
    return lambda at: at.dual.flatten_alpha(np.broadcast_to(getattr(at, name), at.alpha.shape))


def get_penalties(at: AllInOneQuantities) -> FloatArray:
    """Return C_i of each row: (m,)."""
    return at.dual.flatten_alpha(np.broadcast_to(at.C[:, None], at.alpha.shape))


def select_kind(kind: int) -> Subset:
    """Return the rows of a kind: 0 for α = 0, 1 for a free α, 2 for α at its bound."""
    return Subset(f"kind == {kind}", lambda at: read_kinds(at) == kind)


def read_kinds(at: AllInOneQuantities) -> Any:
    """Return the kind, 0, 1 or 2, of each row: (m,)."""
    return at.dual.flatten_alpha(at.problem.samples.select_active(at.result.kind))


def weight_distances(at: AllInOneQuantities) -> FloatArray:
    """Return ‖w_y − w_c‖ of each row: (m,)."""
    w = at.result.w
    return at.dual.flatten_alpha(np.linalg.norm(w[at.label][:, None] - w[None], axis=2))


ALPHA = letter(r"\alpha_{ic}", flat("alpha"))
#: f of a sample's own class less that of a rival.
APART = letter(r"f_{y_i}(x_i)-f_c(x_i)", lambda at: at.dual.level - flat("shortfalls")(at), "f_y - f_c", rank=SUM)


def steps(problem: AllInOneProblem) -> tuple[Step, ...]:
    """Return all steps, in order."""
    has_shared_slack = isinstance(problem, CrammerSinger)
    penalised = problem.intercept == "penalised"
    free = problem.intercept == "free"
    has_b = problem.intercept is not None
    rows = "i" if has_shared_slack else RIVALS
    xi, eta = (r"\xi_i", r"\eta_i") if has_shared_slack else (r"\xi_{ic}", r"\eta_{ic}")
    xi_text, eta_text = ("ξ_i", "η_i") if has_shared_slack else ("ξ_ic", "η_ic")
    XI_ROW = letter(xi, flat("xi"), "xi_of_row" if has_shared_slack else "xi", xi_text)
    XI = letter(xi, lambda at: at.xi.max(axis=1), "xi", xi_text) if has_shared_slack else XI_ROW
    C = letter("C_i", "C" if has_shared_slack else get_penalties)
    USED = SUM_OF_ALPHA if has_shared_slack else ALPHA
    ETA = letter(eta, (C - USED).value, "eta", eta_text)
    norm = HALF * total(SQUARE + (B**2 if penalised else None), "c")
    quadratic = HALF * total(OF_ALPHA, "c")
    square_of_b = HALF * total(NET**2, "c") if penalised else None
    bound_slack = APART - 1 + XI_ROW
    P = norm + total(C * XI, rows)
    margin_products = total(ALPHA * bound_slack, RIVALS)
    slack_product = (C - USED) * XI
    L = add(P, -margin_products, -total(ETA * XI, rows), broken=r"\\ &\quad ")
    multipliers = rf",\qquad \alpha_{{ic}},{eta}\ge 0"
    value = add(total(ALPHA, RIVALS), -quadratic, square_of_b and -square_of_b)
    difference_of_b = HALF * total((B - NET) ** 2, "c") if penalised else None
    terms = add(
        HALF * total(DIFFERENCE, "c"), margin_products, total(slack_product, rows), difference_of_b,
        broken=r"\\ &\quad ",
    )  # fmt: skip
    products = add(total(magnitude(ALPHA * bound_slack), RIVALS), total(magnitude(slack_product), rows))
    products = products.with_name("all products, added up by size")
    D = value.with_name("D", "D")
    primal = P.with_name("the primal's value", "P")
    used_scale: dict[str, Any] = {"scale": "C" if has_shared_slack else get_penalties}
    alpha_scale: dict[str, Any] = {"scale": get_penalties}
    balance = line(NET, "=", 0, scale="beta_sum_scale")
    f = letter("f_c(x)", lambda at: at.f.ravel(), "f", "f_c(x_i)")
    sums = letter(
        r"\sum_i\beta_{ic}K(x_i,x)", lambda at: (at.f_of_alpha - has_b * at.b).ravel(), "K @ beta",
        "Σ_j β_jc K(x_j, x_i)"
    )  # fmt: skip
    b = letter("b_c", lambda at: np.broadcast_to(at.b, at.f.shape).ravel()) if has_b else None
    own_beta = letter(r"\beta_{iy_i}", lambda at: at.beta[np.arange(len(at.label)), at.label], "beta[i, y]")
    w = letter("w_c", lambda at: at.result.w.ravel() if at.is_linear else at.f.ravel())
    w_of_beta = letter(
        r"\sum_i\beta_{ic}\,\varphi(x_i)",
        lambda at: np.asarray(at.X.T @ at.beta).T.ravel() if at.is_linear else at.f_of_alpha.ravel(),
        "beta.T @ phi(X)", "Σ β_ic φ(x_i)"
    )  # fmt: skip
    return number_steps(
        "CSMC" if has_shared_slack else "WWMC",
        _build_margin(problem, XI_ROW) if has_shared_slack else _build_level(penalised, XI_ROW),
        step(
            "Primal",
            "Small weights are weighed against slack: "
            + ("one for all rivals of a sample. " if has_shared_slack else "one per rival. ")
            + ("Only differences of f count, and only differences of b." if free else "Only differences of f count."),
            Equation("below", (
                display(P, rf"\min_{{{'w,b' if has_b else 'w'},\xi}}\ "),
                build_value_line(primal, "=", sym.CLAIMED),
                *iter_constraints(line(APART, "≥", 1 - XI_ROW, scale="level"),
                         line(XI, "≥", 0, scale="level", after=r"\quad (c\ne y_i)")),
            )),
            build_primal_qp,
        ),
        step(
            "Lagrangian",
            "Every row gets a multiplier α_ic, and every slack η. At the solution the products vanish, so L equals the "
            "primal value.",
            Equation("aligned", (
                display(L, "L&=", multipliers),
                build_value_line(L.with_name("L"), "=", primal),
            )),
        ),
        step(
            "Stationarity in w",
            "At a minimum over w_c the derivative of the Lagrangian is zero. A sample enters w_c of its own class with "
            "the sum of its multipliers, and w_c of every other class with minus the multiplier of that class.",
            Equation("alone", (
                line(w, "=", w_of_beta, place="entry", before=write_stationarity("w_c"),
                     scale=lambda at: at.w_scale if at.is_linear else at.f_scale),
                line(letter(r"\beta_{ic}", flat("beta"), "beta_of_row"), "=", -ALPHA, before=r",\quad ",
                     after=r"\ (c\ne y_i)", scale="alpha_scale"),
                line(own_beta, "=", SUM_OF_ALPHA, before=r",\quad ", scale="alpha_scale"),
            )),
            AllInOneDual.compute_beta, general="JOINT.3",
            construction="" if problem.space.is_linear else "f is computed from α, and w is never formed",
        ),
        step(
            "Stationarity in b",
            "b_c is penalised by ½b_c², so the derivative gives b_c." if penalised else
            "b_c enters L only through b_c Σ β_ic, which has no minimum unless the factor is zero: balance in every "
            "class.",
            Equation("alone", (
                line(letter("b_c"), "=", NET, place="class", before=write_stationarity("b_c"),
                     scale=lambda at: max(at.beta_sum_scale, float(np.abs(at.b).max())))
                if penalised else replace(balance, before=write_stationarity("b_c")),
            ), lambda at: "the intercept is part of the Gram matrix, which is positive semidefinite only with it"
            if at.intercept_in_kernel else ""),
            absent="there is no intercept" if problem.intercept is None else "",
        ),
        step(
            "Stationarity in ξ",
            "The multipliers of a slack add up to its penalty C_i, so η is what α leaves of C_i.",
            Equation("alone", (line(ETA, "=", C - USED, before=write_stationarity(xi), **used_scale),)),
        ),
        step(
            "Dual feasibility",
            "The multipliers of the slack are not negative, so α is bounded above.",
            Equation("alone", (
                line(ALPHA, "≥", 0, **alpha_scale), line(USED, "≤", C, before=r",\quad ", **used_scale),
            )),
        ),
        step(
            "Complementary slackness",
            "A constraint with positive margin slack has α = 0, and ξ_i is positive only if α is at its bound.",
            Equation("below", (
                line(ALPHA * bound_slack, "=", 0, measured=False), line(slack_product, "=", 0, measured=False),
                build_value_line(products, "=", 0),
            )),
            AllInOneDual.compute_gap_terms, general="JOINT.6",
        ),
        step(
            "Dual",
            "Put w(α) and η into L: ξ drops out, and only kernel values are left. It is written as a minimisation.",
            Equation("below", (
                display(add(quadratic, square_of_b, -total(ALPHA, RIVALS)), r"\min_{\alpha}\ "),
                build_value_line(D, "=", QP_VALUE),
                build_value_line(D, "=", sym.CLAIMED_DUAL),
                *iter_constraints(
                    line(ALPHA, "≥", 0, **alpha_scale), line(USED, "≤", C, **used_scale), balance if free else None,
                ),
            )),
            build_dual_qp,
        ),
        step(
            "Recovering f",
            f"Products of features are kernel values, so {'β and b are' if has_b else 'β is'} all that the decision "
            "functions need. Each multiplier enters with both signs, so the w_c add up to 0.",
            Equation("below", (
                line(f, "=", sums + b, scale="f_scale", place="entry"),
                line(letter(r"\sum_c w_c", lambda at: at.beta.sum(axis=1), "beta.sum(axis=1)", "Σ_c β_ic"), "=", 0,
                     scale="alpha_scale"),
            )),
            DecisionFunctions._evaluate, general="JOINT.1",
        ),
        step(
            "Three kinds of rows",
            "What α says of a row is what f says of it"
            + (": the rivals that share a multiplier budget are equally near." if has_shared_slack else ".")
            + " It is measured at the rows of each kind.",
            Equation("aligned", tuple(_build_kinds(has_shared_slack, XI_ROW))),
        ),
        step(
            "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number.",
            Equation("alone", (line(P, "=", value, scale="objective_scale"),)),
        ),
        step(
            "Weak duality",
            "The difference of the two values is a sum of terms, one per row, of which none is negative: that is what "
            "the library certifies with. It is measured at half of α.",
            Equation("aligned", (
                line(primal - D, "=", terms, "≥", 0, scale="objective_scale", left="P-D&",
                     at=lambda at: at.make_suboptimal()),
            )),
            AllInOneDual.compute_gap_terms, general="JOINT.6",
        ),
        _build_two_classes(problem, penalised, rows, C, XI),
        _build_saddle(problem, L, C - USED),
    )  # fmt: skip


def _build_saddle(problem: AllInOneProblem, L: Term, bound_slack: Term) -> Step:
    """Build the saddle of L: with C − α instead of α, at the solution, and with half of all weights.

    bound_slack: C − α; for one slack per sample C − Σ_c α_ic, which the rivals share equally.
    """
    other_alpha = bound_slack
    if isinstance(problem, CrammerSinger):
        other_alpha = bound_slack / letter("(k-1)", lambda at: at.dual.k - 1, "(k - 1)")
    letters = ["w", "b"] if problem.intercept else ["w"]
    return build_saddle_step(L, letters, (display(other_alpha, r"\bar\alpha_{ic}="),))


def _build_kinds(has_shared_slack: bool, XI: Term) -> list[EquationLine]:
    """Build the lines of the kinds of rows: α zero, free and at its bound."""
    used = letter(SUM_OF_ALPHA.latex(), flat("used"), "used", SUM_OF_ALPHA.text()) if has_shared_slack else ALPHA
    C = letter("C_i", get_penalties, "C_of_row")
    levels: tuple[Term | float, ...] = (1 - XI, 1, 1 - XI) if has_shared_slack else (1, 1, 1)
    relations = ("≥", "=", "=") if has_shared_slack else ("≥", "=", "≤")
    premises = [line(ALPHA, "=", 0), line(0, "<", ALPHA, "<", C), line(ALPHA, "=", C)]
    if has_shared_slack:
        premises[1:] = [line(0, "<", ALPHA, after=rf",\ {line(used, relation, C).latex()}") for relation in ("<", "=")]
    lines = []
    for kind, (premise, relation, level) in enumerate(zip(premises, relations, levels, strict=True)):
        scaled_premise = EquationLine(premise.sides, premise.relations, scale=get_penalties, after=premise.after)
        lines.append(
            line(
                APART, relation, level, scale="level", rows=select_kind(kind), premise=scaled_premise,
                after=r"\quad (c\ne y_i)",
            )
        )  # fmt: skip
    if has_shared_slack:
        lines += [
            line(used, relation, C, scale=get_penalties, rows=select_kind(kind), shown=False)
            for kind, relation in ((1, "≤"), (2, "="))
        ]
    return lines


def _build_margin(problem: AllInOneProblem, XI: Term) -> Step:
    """Build the step about the distance of a row from the border of two classes."""
    norm = letter(r"\|w_{y_i}-w_c\|", weight_distances, "norm(w_y - w_c, axis=1)")
    no_margin = "no row is just on its margin"
    return step(
        "Margin",
        "A step of length t along w_y − w_c changes f_y − f_c by t‖w_y − w_c‖, so that a row that is just kept is "
        "1/‖w_y − w_c‖ away from the border of the two classes.",
        Equation("alone", (
            line(APART / norm, "=", 1 / norm, rows=select_kind(1), shown=False),
            line(APART / norm, "≥", 1 / norm, before=r"\xi_i=0\ \Rightarrow\ ",
                 rows=Subset(f"{XI.python()} == 0", lambda at: XI.value(at) == 0.0)),
        ), lambda at: "" if select_kind(1)(at).any() and weight_distances(at).all() else no_margin),
        absent="" if problem.space.is_linear else "w has no entries in the feature space of a kernel",
    )  # fmt: skip


def _build_level(penalised: bool, XI: Term) -> Step:
    """Build the step about the margin level of the paper, which is 2 instead of 1."""
    square_of_w = letter(r"\|2w_c\|^2", lambda at: 4.0 * at.squares, "norm(2 * w, axis=1)**2")
    b = (2 * B).with_name("(2b_c)", "(2b_c)")
    C = letter("(2C_i)", lambda at: 2.0 * get_penalties(at), "(2 * C)")
    xi = (2 * XI).with_name("(2ξ_ic)", r"(2\xi_{ic})")
    return step(
        "Level",
        "Put 2w, 2b, 2ξ for w, b, ξ: every f doubles, the norm is four times as large and the slack twice, so that the "
        "paper's machine with twice the penalty C has four times the value.",
        Equation("alone", (
            line(HALF * total(square_of_w + (b**2 if penalised else None), "c") + total(C * xi, RIVALS), "=",
                 (4 * sym.CLAIMED).with_name("4P", "4P"), scale=lambda at: 4.0 * at.objective_scale),
        )),
    )  # fmt: skip


def _build_two_classes(problem: AllInOneProblem, penalised: bool, rows: str, C: Term, XI: Term) -> Step:
    """Build the step about two classes, for which the machine is a C-SVM."""
    v = letter(r"\|v\|^2", "square_of_v", "norm(v)**2")
    b = letter("b_2-b_1", lambda at: float(B.value(at)[1] - B.value(at)[0]), "b[1] - b[0]")
    norm = v + Term((r"\bigl(b_2-b_1\bigr)", "(b_2 − b_1)", "(b[1] - b[0])"), b.function) ** 2 if penalised else v
    return step(
        "Two classes",
        "With two classes w₂ = −w₁, and all that counts is their difference: a C-SVM with twice the penalty C, whose "
        "f is f₂ − f₁.", Equation("below",
        ("v=w_2-w_1", line((2 * sym.CLAIMED).with_name("2P", "2P"), "=", HALF * norm + total(2 * C * XI, rows),
        scale=lambda at: 2.0 * at.objective_scale))),
        absent="" if len(problem.classes) == 2 else "there are more than two classes"
    )  # fmt: skip
