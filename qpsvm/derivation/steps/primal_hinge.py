"""Build the steps of the regularised hinge loss, (PHINGE.1) to (PHINGE.19) (`steps`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qpsvm.derivation.expressions import Equation, EquationLine, Subset, display, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.relative_size import reference_size
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step
from qpsvm.derivation.steps.formulas import Formulas, step
from qpsvm.derivation.steps.primal import build_lagrangian_step, build_loss_step, build_primal_step
from qpsvm.derivation.steps.two_class import build_two_class
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, largest_of, total
from qpsvm.machines import PrimalHinge, Problem
from qpsvm.program import residuals
from qpsvm.space.kernels.space import FeatureSpace

LAM = letter(r"\lambda", lambda at: at.problem.lam, "lam")
#: Weights p_i of the losses in the mean, and the upper bounds C_i = p_i/λ of α.
SHARES = letter("p_i", lambda at: at.problem.weight_shares)
UPPER = SHARES / LAM
#: Largest number of rows for which the primal QP of a kernel is built: its factor of K takes seconds and 100 MB.
MAX_DERIVED_KERNEL_ROWS = 3000
#: Meanings of the symbols of this machine.
SYMBOLS = {
    "p": Meaning("share of each sample in all weights", "(n,)"),
    "C": Meaning("p/λ, the upper bound of α", "(n,)"),
    r"\lambda": Meaning("weight of the squared norm"),
    "G": Meaning("constraint matrix of the primal QP"),
    "z": Meaning("multipliers of the constraints and bounds of the primal QP"),
}


def build_terms(problem: PrimalHinge) -> Formulas:
    """Build the terms of the machine."""
    return build_two_class(problem, UPPER, total(SHARES * sym.XI), unit=LAM)


def steps(problem: PrimalHinge) -> tuple[Step, ...]:
    """Return all steps, in order."""
    machine = build_terms(problem)
    return build_steps(
        machine,
        "PHINGE",
        first=build_loss_step(
            machine,
            "The mean hinge loss is the empirical risk: p_i is 1/n, or sample i's share of all weights. A sample "
            "beyond its margin has no loss. The norm keeps w short.",
            total(SHARES * largest_of(0, 1 - machine.compared_value)),
            "Primal",
        ),
        primal=build_primal_step(
            machine,
            "The maximum of two linear functions is the smallest ξ_i above both: the kink becomes two linear "
            "constraints.",
            title="Primal as a QP",
        ),
        lagrangian=build_lagrangian_step(
            machine, first="The multipliers are written λα_i and λη_i, so that α and η mean the same as in the C-SVM."
        ),
        substitution=build_substitution_step(machine, slack_texts=("η",)),
        dual=build_dual_step(machine, "n variables in a box, and one equality, only for a free intercept"),
        besides=(_build_c_svm_step(machine), _build_qp_multiplier_step(), _build_feature_of_ones_step(machine)),
    )


def _build_c_svm_step(machine: Formulas) -> Step:
    """Build the step about the C-SVM with C_i = p_i/λ."""
    c_svm_value = letter(
        "",
        lambda at: -at.problem.lam * at.problem.equivalent_c_svm().qp("dual").objective(at.alpha),
        "-lam * c_svm.objective(alpha)",
        "λ times the value of the C-SVM's dual at α",
    )
    scaled_objective = line(
        1 / LAM * machine.objective, "=", HALF * machine.norm + total(sym.C * sym.XI),
        left="", scale=lambda at: at.objective_scale / at.problem.lam,
    )  # fmt: skip
    return step(
        "The same as a C-SVM",
        "Dividing by λ moves the weight from the norm to the loss. The same α is certified for the C-SVM "
        "unchanged: α and f are the same, and the objective values are divided by λ.",
        Equation("below", (
            line(c_svm_value, "=", sym.CLAIMED_PRIMAL, scale="objective_scale", shown=False),
            display(1 / LAM * (LAM / 2 * machine.norm + total(SHARES * sym.XI))),
            scaled_objective,
            line(sym.C, "=", UPPER, before=r",\qquad ", joined=True),
        )),
        PrimalHinge.equivalent_c_svm,
    )  # fmt: skip


def _build_qp_multiplier_step() -> Step:
    """Build the step about the multipliers that a solver of the primal QP returns."""
    has_b = Subset("'b' not in gradient", lambda at: at.problem.space.computed_intercept is not None)
    return step(
        "Multipliers of the QP",
        "A solver of the primal QP returns λα as the multipliers of the margin constraints. With these the "
        "stationarity of the QP holds, block by block.",
        Equation("below", (
            r"\nabla\,\text{objective}+G^{\top}z+z_{\mathrm{box}}=0",
            r"z_i=\lambda\alpha_i,\quad z_{\mathrm{box},\xi_i}=-\lambda\eta_i",
            _build_gradient_line("w", "w", _compute_w_scale),
            _build_gradient_line("xi", "ξ", lambda at: float(max(at.problem.weight_shares))),
            _build_gradient_line("b", "b", _compute_b_scale, has_b),
        ), explain_missing_primal),
        Problem.read,
    )  # fmt: skip


def _build_feature_of_ones_step(machine: Formulas) -> Step:
    """Build the step about a penalised b as the weight of a constant feature."""
    f_of_alpha = letter(
        r"\sum_j\alpha_j y_j\bigl(K(x_j,x_i)+1\bigr)",
        lambda at: at.y * (at.dual.P @ at.alpha) / at.unit,
        "(K + 1) @ (alpha * y)",
        "Σ_j α_j y_j (K(x_j, x_i) + 1)",
    )
    f_line = line(
        sym.F, "=", f_of_alpha, left=r"\phantom{f(x_i)}",
        scale=lambda at: reference_size(f_of_alpha.value(at), at.f_term_size),
    )  # fmt: skip
    reason = f"intercept={machine.problem.intercept!r}: only a penalised b is a weight like the others"
    return step(
        "A feature of ones",
        "A penalised b is the weight of one more feature, which is 1 for every sample. It adds 1 to every "
        "inner product, so K + 1 replaces K, and there is no equality constraint.",
        Equation("below", (r"f(x_i)=\langle (w,b),\,(\varphi(x_i),1)\rangle", f_line)),
        FeatureSpace.with_penalised_intercept,
        "" if machine.has_penalised_b else reason,
    )


def explain_missing_primal(at: At) -> str:
    """Explain why the primal of a kernel is not built, or return ""."""
    if at.is_linear or len(at.y) <= MAX_DERIVED_KERNEL_ROWS:
        return ""
    return f"the primal of a kernel needs a factor of K, which is computed for at most {MAX_DERIVED_KERNEL_ROWS} rows"


def compute_gradient_blocks(at: At) -> dict[str, np.ndarray]:
    """Compute the blocks of Px + q + Gᵀz + z_box by name, with z = λα and z_box = −λη for the bounds ξ ≥ 0."""
    qp = at.problem.qp("primal")
    space = at.problem.space
    w = at.w if at.is_linear else space.textbook_coordinates.T @ (at.alpha * at.y)
    b = [] if space.computed_intercept is None else [at.b]
    blocks: dict[str, np.ndarray] = qp.split(
        residuals.compute_lagrangian_gradient(qp, np.concatenate([w, b, at.xi]), np.zeros(0), at.unit * at.alpha)
    )
    return blocks | {"xi": blocks["xi"] - at.unit * at.eta}


def _build_gradient_line(
    name: str, symbol: str, scale: Callable[[At], float], when: Subset | None = None
) -> EquationLine:
    """Build the line: a block of the gradient is 0, given its name and the symbol of its variables."""
    block = letter("", lambda at: compute_gradient_blocks(at)[name], f"gradient[{name!r}]", f"the gradient in {symbol}")
    return line(block, "=", 0, scale=scale, place="entry", shown=False, when=when)


def _compute_w_scale(at: At) -> float:
    """Compute the scale of the block of w."""
    return at.unit * reference_size(at.w if at.is_linear else at.u, at.w_term_size)


def _compute_b_scale(at: At) -> float:
    """Compute the scale of the block of b, as in (PHINGE.5)."""
    if at.problem.intercept == "penalised":
        return at.unit * max(at.alpha_sum, 1 + abs(at.b))
    return at.unit * at.alpha_sum
