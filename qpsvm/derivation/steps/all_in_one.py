"""The steps of the machines that learn several classes in one program, (CSMC.1) to (CSMC.14), (WWMC.1) to (WWMC.14)."""

from __future__ import annotations

import numpy as np

from qpsvm.derivation.all_in_one_quantities import JointLetters
from qpsvm.derivation.residual import Relation, Sides, size_of, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import lines
from qpsvm.machines import CrammerSinger
from qpsvm.machines.problem.all_in_one import JointProblem
from qpsvm.machines.problem.all_in_one_forms import dual_qp, primal_qp
from qpsvm.program.all_in_one import JointDual
from qpsvm.result.model import DecisionFunctions

#: What of Σα_ic a weight of the slack leaves, in LaTeX.
APART = r"f_y(x_i)-f_c(x_i)"
#: A row counts as strictly inside where its kind says so; its f_y − f_c is 1 up to the residual.
MARGIN = 1


def steps(problem: JointProblem) -> tuple[Step, ...]:
    """All steps, in order."""
    tag = "CSMC" if isinstance(problem, CrammerSinger) else "WWMC"
    one = tag == "CSMC"
    xi, used = (r"\xi_i", r"\sum_c\alpha_{ic}") if one else (r"\xi_{ic}", r"\alpha_{ic}")
    eta, rows = (r"\eta_i", "i") if one else (r"\eta_{ic}", "{ic}")
    penalised, free, of_b = problem.intercept == "penalised", problem.intercept == "free", problem.intercept is not None
    norm = r"\tfrac12\sum_c\bigl(\|w_c\|^2+b_c^2\bigr)" if penalised else r"\tfrac12\sum_c\|w_c\|^2"
    quadratic = r"\tfrac12\sum_c\beta_c^{\top}K\beta_c"
    square = r"\tfrac12\sum_c\bigl(\sum_i\beta_{ic}\bigr)^2" if penalised else ""
    ridge = r"+\tfrac12\sum_c\bigl(b_c-\sum_i\beta_{ic}\bigr)^2" if penalised else ""
    price = rf"\sum_{rows} C_i{xi}"
    lagrangian = (
        rf"\begin{{align*}}L={{}}&{norm}+{price}\\ "
        rf"&-\sum_{{ic}}\alpha_{{ic}}\bigl({APART}-1+{xi}\bigr)-\sum_{rows} {eta}{xi}\end{{align*}}"
    )
    return (
        _margin(problem) if one else _level(penalised),
        Step(
            f"{tag}.2", "Primal",
            f"Small weights are weighed against slack: {'one for all rivals of a sample' if one else 'one a rival'}. "
            + ("Only differences of f count, and only differences of b." if free else "Only differences of f count."),
            lines(
                rf"\min_{{{'w,b' if of_b else 'w'},\xi}}\ {norm}+{price}",
                rf"\text{{subject to}}\ {APART}\ge 1-{xi},\ {xi}\ge 0\quad (c\ne y)",
            ),
            primal_qp, primal,
        ),
        Step(
            f"{tag}.3", "Lagrangian",
            "Every row gets a price α_ic, and every slack η. At the solution nothing is to be paid, so L is the primal "
            "value.",
            lagrangian, lagrangian_value, lagrangian_value,
        ),
        Step(
            f"{tag}.4", "Stationarity in w",
            "At a minimum over w_c the Lagrangian is flat. A sample pulls its own class towards itself by all that its "
            "rivals cost, and pushes each of these away by what it costs.",
            r"w_c=\sum_i\beta_{ic}\,\varphi(x_i),\quad \beta_{ic}=-\alpha_{ic}\ (c\ne y),\quad "
            r"\beta_{iy}=\sum_c\alpha_{ic}",
            JointDual.beta, stationarity_in_w, general="JOINT.3",
            construction="" if problem.space.is_linear else "f is made of α, and w is never written down",
        ),
        Step(
            f"{tag}.5", "Stationarity in b",
            "b_c has a price of its own, ½b_c², and is what its samples pull with." if penalised else
            "b_c enters L only through b_c Σ β_ic, which has no minimum unless the factor is zero: balance in every "
            "class.",
            r"b_c=\sum_i\beta_{ic}" if penalised else r"\sum_i\beta_{ic}=0",
            stationarity_in_b, stationarity_in_b,
            absent="there is no intercept" if problem.intercept is None else "",
        ),
        Step(
            f"{tag}.6", "Stationarity in ξ",
            "A unit of slack costs C_i: what α does not use of that is left for η.",
            rf"{eta}=C_i-{used}", stationarity_in_xi, stationarity_in_xi,
        ),
        Step(
            f"{tag}.7", "Dual feasibility",
            "Prices are not negative, so that α is bounded.",
            rf"\alpha_{{ic}}\ge 0,\quad {used}\le C_i", dual_feasibility, dual_feasibility,
        ),
        Step(
            f"{tag}.8", "Complementary slackness",
            "A row that has room costs nothing, and slack is there only where its whole price is used.",
            lines(rf"\alpha_{{ic}}\bigl({APART}-1+{xi}\bigr)=0", rf"\bigl(C_i-{used}\bigr){xi}=0"),
            JointDual.terms, complementary_slackness, general="JOINT.6",
        ),
        Step(
            f"{tag}.9", "Dual",
            "Put w(α) and η into L: ξ drops out, and only kernel values are left. It is written as a minimisation.",
            lines(
                rf"\min_{{\alpha}}\ {quadratic}{'+' if square else ''}{square}-\sum_{{ic}}\alpha_{{ic}}",
                rf"\text{{subject to}}\ \alpha\ge 0,\ {used}\le C_i"
                + (r",\ \sum_i\beta_{ic}=0" if free else ""),
            ),
            dual_qp, dual_value,
        ),
        Step(
            f"{tag}.10", "Recovering f",
            f"Products of features are kernel values, so {'β and b are' if of_b else 'β is'} all that the decision "
            f"functions "
            "need. What a class gains another one loses: the w_c add up to 0.",
            lines(r"f_c(x)=\sum_i\beta_{ic}K(x_i,x)" + ("+b_c" if of_b else ""), r"\sum_c w_c=0"),
            DecisionFunctions._values, f_recovered, general="JOINT.1",
        ),
        Step(
            f"{tag}.11", "Three kinds of rows",
            "What α says of a row is what f says of it"
            + (": the rivals that share a price are equally near." if one else ".")
            + " It is measured at the rows of each kind.",
            lines(*(
                (rf"\alpha_{{ic}}=0\ \Rightarrow\ {APART}\ge 1-\xi_i",
                 rf"0<\alpha_{{ic}},\ {used}<C_i\ \Rightarrow\ {APART}=1",
                 rf"0<\alpha_{{ic}},\ {used}=C_i\ \Rightarrow\ {APART}=1-\xi_i") if one else
                (rf"\alpha_{{ic}}=0\ \Rightarrow\ {APART}\ge 1",
                 rf"0<\alpha_{{ic}}<C_i\ \Rightarrow\ {APART}=1",
                 rf"\alpha_{{ic}}=C_i\ \Rightarrow\ {APART}\le 1")
            )),
            kinds_of_rows, kinds_of_rows,
        ),
        Step(
            f"{tag}.12", "Strong duality",
            "The constraints are linear, so no gap remains: both optimal values are the same number.",
            rf"{norm}+{price}=\sum_{{ic}}\alpha_{{ic}}-{quadratic}{'-' if square else ''}{square}",
            strong_duality, strong_duality,
        ),
        Step(
            f"{tag}.13", "Weak duality",
            "The difference of the two values is a sum of terms, one a row, of which none is negative: that is what "
            "the library certifies with.",
            rf"\begin{{align*}}P-D={{}}&\tfrac12\sum_c\|w_c-w_c(\alpha)\|^2\\ "
            rf"&+\sum_{{ic}}\alpha_{{ic}}\bigl({APART}-1+{xi}\bigr)+\sum_{rows}\bigl(C_i-{used}\bigr){xi}{ridge}\ "
            rf"\ge\ 0"
            r"\end{align*}",
            JointDual.terms, weak_duality, general="JOINT.6",
        ),
        Step(
            f"{tag}.14", "Two classes",
            "With two classes w₂ = −w₁, and all that counts is their difference: a C-SVM with twice the price, whose "
            "f is "
            "f₂ − f₁.",
            lines(
                "v=w_2-w_1",
                r"2P=\tfrac12" + (r"\bigl(\|v\|^2+(b_2-b_1)^2\bigr)" if penalised else r"\|v\|^2")
                + rf"+\sum_{rows} 2C_i{xi}",
            ),
            two_classes, two_classes, absent="" if len(problem.classes) == 2 else "there are more than two classes",
        ),
    )  # fmt: skip


def _margin(problem: JointProblem) -> Step:
    return Step(
        "CSMC.1", "Margin",
        "A step of length t along w_y − w_c changes f_y − f_c by t‖w_y − w_c‖, so that a row that is just kept is "
        "1/‖w_y − w_c‖ away from the border of the two classes.",
        rf"\xi_i=0\ \Rightarrow\ \frac{{{APART}}}{{\|w_y-w_c\|}}\ \ge\ \frac{{1}}{{\|w_y-w_c\|}}",
        margin, margin, absent="" if problem.space.is_linear else "w has no entries in the feature space of a kernel",
    )  # fmt: skip


def _level(penalised: bool) -> Step:
    norm = r"\tfrac12\sum_c\bigl(\|2w_c\|^2+(2b_c)^2\bigr)" if penalised else r"\tfrac12\sum_c\|2w_c\|^2"
    return Step(
        "WWMC.1", "Level",
        "Put 2w, 2b, 2ξ for w, b, ξ: every f doubles, the norm is four times as large and the slack twice, so that the "
        "paper's machine with twice the price has four times the value.",
        rf"{norm}+\sum_{{ic}}(2C_i)(2\xi_{{ic}})=4P", level, level,
    )  # fmt: skip


def margin(at: JointLetters) -> Sides:
    """Rows on their margin are 1/‖w_y − w_c‖ from the border."""
    kind = at.problem.samples.taking_part(at.result.kind)
    sample, rival = np.nonzero(kind == MARGIN)
    w = at.result.w
    norm = np.linalg.norm(w[at.label[sample]] - w[rival], axis=1)
    if not len(sample) or not norm.all():
        raise NotMeasurable("no row is just on its margin")
    stated = 1.0 / norm  # (CSMC.1)
    apart = (at.f[sample, at.label[sample]] - at.f[sample, rival]) / norm
    return worst(apart, "=", stated, "the way of row {i} to the border, and 1/‖w_y − w_c‖", stated)


def level(at: JointLetters) -> Sides:
    """The value of the machine of the paper, with level 2 and price 2C, at 2w, 2b, 2ξ."""
    paper = 4.0 * at.half_norm + float((2.0 * at.C[:, None] * 2.0 * at.xi).sum())  # (WWMC.1)
    return Sides(paper, "=", 4.0 * at.result.primal, "the paper's value with twice the price, and 4P", 4.0 * at.size)


def primal(at: JointLetters) -> Sides:
    """P at w, b and ξ."""
    value = at.half_norm + at.cost  # (CSMC.2), (WWMC.2)
    return Sides(value, "=", at.result.primal, "the primal's value at w, b and ξ, and the value claimed", at.size)


def lagrangian_value(at: JointLetters) -> Sides:
    """At the solution all penalties vanish."""
    rows = np.where(at.dual.own, 0.0, at.alpha * (at.xi - at.missing))
    eta = np.where(at.dual.own, 0.0, at.C[:, None] - at.used)
    slack = (eta * at.xi).max(axis=1) if at.dual.shared else (eta * at.xi).sum(axis=1)
    L = at.primal - float(rows.sum()) - float(slack.sum())  # (CSMC.3), (WWMC.3)
    return Sides(L, "=", at.primal, "L, and the primal's value", at.size)


def stationarity_in_w(at: JointLetters) -> Sides:
    """w_c = Σ β_ic φ(x_i): entry by entry for a linear kernel, else by the products with every φ(x_i)."""
    if at.is_linear:
        w, own = at.result.w.ravel(), np.asarray(at.X.T @ at.beta).T.ravel()  # (CSMC.4), (WWMC.4)
        largest = float(np.sqrt(abs(at.X).power(2).sum() if hasattr(at.X, "power") else np.square(at.X).sum()))
        return worst(w, "=", own, "entry {i} of all w_c, and of Σ β_ic x_i", size_of(w, largest * at.terms))
    f, own = at.f.ravel(), at.values_of_alpha.ravel()  # (CSMC.4), (WWMC.4)
    return worst(f, "=", own, "f_c at place {i}, and Σ β_jc K(x_j, x_i) + b_c", at.size_of_f)


def stationarity_in_b(at: JointLetters) -> Sides:
    """Σ_i β_ic = 0, or b_c."""
    if at.absorbed:
        raise NotMeasurable("the intercept is part of the Gram matrix, which is positive semidefinite only with it")
    stated = at.net  # (CSMC.5), (WWMC.5)
    if at.problem.intercept == "penalised":
        return worst(at.b, "=", stated, "b of class {i}, and Σ β_ic", max(at.terms, float(np.abs(at.b).max())))
    return worst(stated, "=", 0.0, "Σ β_ic of class {i}, and 0", at.terms)


def stationarity_in_xi(at: JointLetters) -> Sides:
    """What is used of C and what is left of it."""
    eta = at.dual.flat(at.C[:, None] - at.used)  # (CSMC.6), (WWMC.6)
    prices = at.dual.flat(np.broadcast_to(at.C[:, None], at.alpha.shape))
    used = at.dual.flat(at.used)
    return worst(used + eta, "=", prices, "α and η of {i}, and C", prices, at.row)


def dual_feasibility(at: JointLetters) -> tuple[Sides, ...]:
    """α ≥ 0, and no more is used than C."""
    prices = at.dual.flat(np.broadcast_to(at.C[:, None], at.alpha.shape))
    alpha, used = at.dual.flat(at.alpha), at.dual.flat(at.used)
    return (
        worst(used, "≤", prices, "what {i} use of C, and C", prices, at.row),  # (CSMC.7), (WWMC.7)
        worst(alpha, "≥", 0.0, "α of {i}, and 0", prices, at.row),  # (CSMC.7), (WWMC.7)
    )


def complementary_slackness(at: JointLetters) -> Sides:
    """The products of every price with its room, added up."""
    terms = float(np.abs(at.dual.terms(at.alpha, at.missing)).sum())  # (CSMC.8), (WWMC.8)
    return Sides(terms, "=", 0.0, "all products, added up by size, and 0", at.size)


def dual_value(at: JointLetters) -> tuple[Sides, ...]:
    """The QP's objective at α is −D, and α has the value claimed."""
    value = -at.problem.qp("dual").objective(at.dual.flat(at.alpha))  # (CSMC.9), (WWMC.9)
    return (
        Sides(value, "=", at.dual_value, "minus the dual QP's objective at α, and D", at.size),
        Sides(at.dual_value, "=", at.result.dual, "D, and the value claimed", at.size),
    )


def f_recovered(at: JointLetters) -> tuple[Sides, ...]:
    """f at the samples, and the sum of the β of a sample."""
    f, own = at.f.ravel(), at.values_of_alpha.ravel()
    return (
        worst(f, "=", own, "f_c at place {i}, and Σ β_jc K(x_j, x_i) + b_c", at.size_of_f),  # (CSMC.10), (WWMC.10)
        worst(at.beta.sum(axis=1), "=", 0.0, "Σ_c β_ic of sample {i}, and 0", at.reach),  # (CSMC.10), (WWMC.10)
    )


def kinds_of_rows(at: JointLetters) -> tuple[Sides, ...]:
    """What f says of the rows with α = 0, of those between their bounds, and of those at the bound."""
    kind = at.dual.flat(at.problem.samples.taking_part(at.result.kind))
    level, apart, slack = at.dual.level, at.dual.level - at.dual.flat(at.missing), at.dual.flat(at.xi)
    claims: tuple[tuple[int, Relation, str], ...] = (
        (0, "≥", "idle"),
        (1, "=", "between its bounds"),
        (2, "≤", "at its bound"),
    )
    found = []
    for which, relation, words in claims:
        rows = np.flatnonzero(kind == which)
        if not len(rows):
            continue
        stated = np.full(len(rows), level)  # (WWMC.11)
        if at.dual.shared and which != MARGIN:  # (CSMC.11)
            stated, relation = level - slack[rows], "=" if which else relation
        of = f"f_y − f_c at {{i}}, {words}, and what it says"
        found.append(worst(apart[rows], relation, stated, of, level, lambda i, rows=rows: at.row(int(rows[i]))))  # type: ignore[misc]
    return tuple(sorted(found, key=lambda sides: sides.relation != "="))


def strong_duality(at: JointLetters) -> Sides:
    """P and D."""
    return Sides(at.primal, "=", at.dual_value, "the primal's value, and the dual's", at.size)  # (CSMC.12), (WWMC.12)


def weak_duality(at: JointLetters) -> Sides:
    """P − D is the sum of the terms, and what w and b differ from those of α."""
    terms = float(at.dual.terms(at.alpha, at.missing).sum())  # (CSMC.13), (WWMC.13)
    return Sides(at.primal - terms, "=", at.dual_value, "P less the sum of all terms, and D", at.size)


def two_classes(at: JointLetters) -> Sides:
    """The value of the C-SVM over f_2 − f_1."""
    f = at.f[:, 1] - at.f[:, 0]
    sign = np.where(at.label == 1, 1.0, -1.0)
    value = 2.0 * at.half_norm + float(2.0 * at.C @ np.maximum(1.0 - sign * f, 0.0))  # (CSMC.14), (WWMC.14)
    return Sides(value, "=", 2.0 * at.result.primal, "the value of the C-SVM, and 2P", 2.0 * at.size)
