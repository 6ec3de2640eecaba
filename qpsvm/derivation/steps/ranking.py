"""Build the steps of ranking, (RANK.1) to (RANK.15) (`steps`).

Pair k says that sample i_k should score higher than sample j_k. It acts as one sample, the difference of these two.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.expressions import Equation, line, write_stationarity
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_strong_duality_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, RowTerms, build_value_line, step
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_primal_step
from qpsvm.derivation.steps.stationarity import build_w_line
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, operation, total
from qpsvm.derivation.terms import SUM, term
from qpsvm.machines import Ranking
from qpsvm.space.kernels.feature_map import FeatureMap

ALPHA = letter(r"\alpha_k")
XI = letter(r"\xi_k")
ETA = letter(r"\eta_k")
C = letter("C_k")
BETA = letter(r"\beta_i")
#: The difference of the scores of a pair, which should be at least 1.
SCORE_DIFFERENCE = letter("f(x_{i_k})-f(x_{j_k})", "f", "f(X[i]) - f(X[j])", rank=SUM)
#: Meanings of the symbols of this machine; m is the number of pairs.
SYMBOLS = {
    "y": Meaning("+1 for every pair", "(m,)"),
    r"\xi": Meaning("slack of each pair", "(m,)"),
    r"\alpha": Meaning("dual variables, one per pair", "(m,)"),
    r"\eta": Meaning("multipliers of ξ ≥ 0", "(m,)"),
    "C": Meaning("penalty of a unit of slack of each pair", "(m,)"),
    "A": Meaning("the pairs: row k is +1 at i_k and −1 at j_k", "(m, n)"),
    "z": Meaning("z_k, the difference of the samples of a pair", "(d,)"),
}


def build_terms(problem: Ranking) -> Formulas:
    """Build the terms of the machine."""
    rows = RowTerms(ALPHA, XI, SCORE_DIFFERENCE, term(1), ETA, XI, C)
    quadratic = letter(r"\alpha^{\top}AKA^{\top}\alpha", "quadratic", "alpha @ A @ K @ A.T @ alpha")
    return Formulas(
        problem, (rows,), total(C * XI, "k"), linear=(total(ALPHA, "k"),), coef=BETA, quadratic=HALF * quadratic,
        pair_factor=r"\beta_i\beta_j", compared_value=SCORE_DIFFERENCE, row="k", matrix=r"X^{\top}A^{\top}\alpha",
    )  # fmt: skip


def steps(problem: Ranking) -> tuple[Step, ...]:
    """Return all steps, in order."""
    machine = build_terms(problem)
    return build_steps(
        machine,
        "RANK",
        first=_build_order_step(),
        primal=build_primal_step(
            machine,
            "A small ‖w‖ keeps the pairs far apart along w, at the price of slack. ξ_k is the shortfall to 1 in pair "
            "k, and C_k is the penalty per unit of slack.",
        ),
        lagrangian=build_lagrangian_step(machine, "α_k for the order of a pair and η_k for ξ_k ≥ 0"),
        w=_build_stationarity_step(machine),
        b=None,
        intercept=None,
        substitution=build_substitution_step(
            machine, "ξ drops out, half of the quadratic term cancels, and only kernel values are left"
        ),
        dual=build_dual_step(machine, "a variable for each pair, in a box, and no equality"),
        f=_build_score_step(problem),
        strong=build_strong_duality_step(machine, "pairs"),
        last=_build_c_svm_step(),
    )


def _build_order_step() -> Step:
    """Build the step about the margin: the distance along w of a pair whose scores are 1 apart."""
    distance_along_w = letter(
        r"\frac{\langle w,\,\varphi(x_{i_k})-\varphi(x_{j_k})\rangle}{\|w\|}",
        lambda at: at.svm.at_rows(at.values - at.b) / sym.NORM.value(at),
        "(phi(X[i]) - phi(X[j])) @ w / norm(w)",
        "⟨w, φ(x_i_k) − φ(x_j_k)⟩/‖w‖",
    )
    return step(
        "Order",
        "A step of length t along w/‖w‖ changes f by t‖w‖. So a pair whose scores are 1 apart is 1/‖w‖ apart along "
        "w: this is the margin. It is measured at the pairs that are just in order.",
        Equation("alone", (
            line(distance_along_w, "=", SCORE_DIFFERENCE / sym.NORM, before=r"\xi_k=0\ \Rightarrow\ ",
                 rows=sym.ON_MARGIN),
            line(distance_along_w, "=", 1 / sym.NORM, rows=sym.ON_MARGIN, shown=False),
            r"\ \ge\ \frac{1}{\|w\|}",
        ), lambda at: "" if at.on_margin.any() else
        "no pair is just in order: every difference of scores is more than 1, or less"),
    )  # fmt: skip


def _build_stationarity_step(machine: Formulas) -> Step:
    """Build the step ∂L/∂w = 0: w as a sum over the pairs, and as one over the samples."""
    sum_over_pairs = operation(
        r"\sum_k%s\bigl(\varphi(x_{i_k})-\varphi(x_{j_k})\bigr)",
        "Σ %s (φ(x_i_k) − φ(x_j_k))",
        "(phi(X[i]) - phi(X[j])).T @ %s",
        _combine_differences,
        ALPHA,
    )
    stationary = write_stationarity("w")
    return step(
        "Stationarity in w",
        "At a minimum over w the Lagrangian is flat: w is a combination of differences. The coefficient β_i of a "
        "sample is the sum of α over the pairs where it is better, less that over the pairs where it is worse.",
        Equation("below", (
            build_w_line(machine, stationary, sum_over_pairs),
            build_w_line(machine, rf"\phantom{{{stationary}w}}", left=""),
            r"\beta=A^{\top}\alpha",
        )),
        construction="" if machine.problem.space.is_linear else "f is computed from α, and w is never formed",
    )  # fmt: skip


def _build_score_step(problem: Ranking) -> Step:
    """Build the step that recovers f from β."""
    f = letter("f(x)", "f_between")
    return step(
        "Recovering f",
        "Insert the stationarity in w into f: products of features are kernel values, so a score depends on α only "
        "through β. A pair adds α_k to one sample and subtracts it from the other, so β adds up to 0.",
        Equation("below", (
            line(f, "=", sym.kernel_sum(BETA, "x"), scale=sym.compute_scale_between, place="between",
                 left=r"f(x)=\langle w,\varphi(x)\rangle"),
            line(total(BETA), "=", 0, scale=lambda at: at.alpha_sum or 1.0),
        )),
        construction="" if problem.space.is_linear else "the decision function is this sum",
    )  # fmt: skip


def _build_c_svm_step() -> Step:
    """Build the step about the C-SVM whose samples are the differences of the pairs."""
    c_svm_value = letter(
        "",
        _evaluate_difference_svm,
        "norm(w)**2 / 2 + C @ maximum(1 - z @ w, 0)",
        "the value of the C-SVM over differences",
    )
    return step(
        "The same as a C-SVM of differences",
        "A difference is a sample of class +1, and a hyperplane through the origin should have all differences on "
        "one side. A negated difference is an equivalent sample of class −1. So the value is that of a C-SVM.",
        Equation("below", (
            r"z_k=\varphi(x_{i_k})-\varphi(x_{j_k}),\quad y_k=+1",
            build_value_line(c_svm_value, "=", sym.CLAIMED_PRIMAL),
            r"\min_{w,\xi}\ \tfrac12\|w\|^2+\sum_k C_k\xi_k",
            r"\text{subject to}\ y_k\langle w,z_k\rangle\ge 1-\xi_k",
        )),
    )  # fmt: skip


def _combine_differences(at: At, alpha: FloatArray) -> FloatArray:
    """Return Σ α_k (φ(x_i_k) − φ(x_j_k)), (d,), for a linear kernel; else its products with every φ(x_i), (n,)."""
    if not at.is_linear:
        return at.u
    pairs = at.problem.pairs[at.problem._active_variables]
    kernel = at.problem.kernel
    if isinstance(kernel, FeatureMap):
        X = kernel.features(at.problem.X)
    else:
        X = at.problem.X
    return np.asarray((X[pairs[:, 0]] - X[pairs[:, 1]]).T @ alpha)


def _evaluate_difference_svm(at: At) -> float:
    """Return the value of a C-SVM without intercept over the differences z_k, all of class +1."""
    pairs = at.problem.pairs[at.problem._active_variables]
    active_index = np.cumsum(at.problem.sample_weight > 0) - 1
    values = at.values[active_index[pairs]]
    return float(at.half_norm + at.C @ np.maximum(1.0 - (values[:, 0] - values[:, 1]), 0.0))
