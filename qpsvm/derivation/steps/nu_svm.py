"""Build the steps of the ν-SVM, (NUSVM.1) to (NUSVM.19)."""

from __future__ import annotations

from qpsvm.bounds import levels
from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_strong_duality_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, step
from qpsvm.derivation.steps.primal import build_primal_step
from qpsvm.derivation.steps.stationarity import build_other_variable_step
from qpsvm.derivation.steps.two_class import build_margin_step, build_nu_step, build_two_class
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, dot, total
from qpsvm.derivation.terms import Term
from qpsvm.machines import NuSVM
from qpsvm.machines.nu_svm import compute_nu_max

A = letter("a_i", "C")
ALPHA_SUM = dot(1, sym.ALPHA)
#: Meanings of the symbols of this machine.
SYMBOLS = {
    "a": Meaning("share of each sample in all weights, the upper bound of α", "(n,)"),
    "s": Meaning("ρ − b, the level of u in the class +1"),
    "t": Meaning("ρ + b, the level of −u in the class −1"),
    "S": Meaning("sum of the sample weights; S₊ and S₋ of one class"),
}


def build_terms(problem: NuSVM) -> Formulas:
    """Build the terms of the machine."""
    return build_two_class(
        problem, A, total(A * sym.XI), sym.RHO, other_variables=r",\rho", reward=-(sym.NU * sym.RHO), linear=(),
        equality=(sym.RHO, ALPHA_SUM, sym.NU),
    )  # fmt: skip


def sum_over_class(sign: str) -> Term:
    """Sum α_i over one class."""
    return letter(
        rf"\sum_{{y_i={sign}1}}\alpha_i",
        lambda at: float(at.alpha[at.y > 0 if sign == "+" else at.y < 0].sum()),
        f"sum(alpha[y == {sign}1])",
        f"Σ α_i over the class {sign}1",
    )


def steps(problem: NuSVM) -> tuple[Step, ...]:
    """Return all steps, in order."""
    soft = build_terms(problem)
    s_of_rho = sym.RHO - sym.B
    t_of_rho = sym.RHO + sym.B
    s, t = (letter(name, value.value, f"{name}_of_class", name) for name, value in (("s", s_of_rho), ("t", t_of_rho)))
    nu_max = letter(
        r"\nu_{\max}=\frac{2\min(S_+,S_-)}{S}", lambda at: float(at.problem.nu_max), "nu_max", "ν_max = 2·min(S₊, S₋)/S"
    )
    return build_steps(
        soft,
        "NUSVM",
        first=build_margin_step(soft),
        primal=build_primal_step(
            soft,
            "The level ρ of the margin is a variable. −νρ rewards a high level, and the mean slack pays for it: a_i is "
            "1/n, or sample i's share of all weights. ν sets this trade-off as a share of samples, not as a penalty.",
        ),
        level=build_other_variable_step(soft, " So ν is the total of the multipliers."),
        substitution=build_substitution_step(
            soft, "b, ρ and ξ drop out, and with them the linear term", slack_texts=("η = a − α",)
        ),
        dual=build_dual_step(soft, "the shortest way between two reduced convex hulls, one for each class"),
        intercept=step(
            "Recovering b and ρ",
            "With s = ρ − b and t = ρ + b the primal splits into one problem for each class. Each is solved by a "
            "weighted quantile of u = K(α∘y): half of ν lies below it.",
            Equation(
                "below",
                (
                    line(s, "=", s_of_rho, scale="level"),
                    line(t, "=", t_of_rho, before=r",\quad ", joined=True, scale="level"),
                    sym.build_quantile_line(sym.U, "<", s, A, sym.NU / 2, 1),
                    sym.build_quantile_line(-sym.U, "<", t, A, sym.NU / 2, -1),
                    line(sym.RHO, "=", HALF * (s + t), scale="level"),
                    line(sym.B, "=", HALF * (t - s), before=r",\quad ", joined=True, scale="level"),
                ),
            ),
            levels.find_soft_minimisers,
            general="LEVEL.3",
        ),
        strong=(
            build_strong_duality_step(soft),
            step(
                "How large ν may be",
                "The two equalities give each class half of ν, and no class can hold more than its weights.",
                Equation(
                    "below",
                    (
                        line(sum_over_class("+"), "=", sym.NU / 2, scale=lambda at: at.problem.nu),
                        line(
                            sum_over_class("-"),
                            "=",
                            sym.NU / 2,
                            before=r",\quad ",
                            joined=True,
                            scale=lambda at: at.problem.nu,
                        ),
                        line(sym.NU, "≤", nu_max, scale=lambda at: at.problem.nu),
                    ),
                ),
                compute_nu_max,
            ),
        ),
        besides=build_nu_step(
            soft,
            soft.compared_value,
            sym.RHO,
            sym.NU,
            "A sample inside the margin or misclassified has α_i = a_i, so such samples weigh at most ν together. No "
            "α_i is larger than a_i, so the support vectors weigh at least ν together.",
        ),
    )
