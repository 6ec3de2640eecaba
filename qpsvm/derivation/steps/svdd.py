"""Build the steps of the SVDD, (SVDD.1) to (SVDD.20).

If the samples of a linear kernel are centred for the computation, by (SVDD.19), symbols are evaluated in the centred
coordinates: in the caller's, R² could be a small difference of large numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds import levels
from qpsvm.derivation.expressions import Equation, EquationLine, display, iter_constraints, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.quantities import At
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.assemble import build_steps
from qpsvm.derivation.steps.duality import build_dual_step, build_substitution_step, build_weak_duality_step
from qpsvm.derivation.steps.formulas import Formulas, RowTerms, iter_minimum, step
from qpsvm.derivation.steps.one_class import NU_BOUNDS_TEXT, QUADRATIC_FORM, build_unlabelled
from qpsvm.derivation.steps.primal import build_lagrangian_step
from qpsvm.derivation.steps.slackness import build_slackness_step
from qpsvm.derivation.steps.stationarity import build_other_variable_step, build_w_step
from qpsvm.derivation.steps.two_class import build_nu_step
from qpsvm.derivation.symbols import Meaning
from qpsvm.derivation.term_builders import HALF, dot, total
from qpsvm.derivation.terms import term
from qpsvm.machines import SVDD
from qpsvm.machines.one_class import check_constant_diagonal
from qpsvm.result.model import Model

# f, w and ξ of the SVDD are twice those in the units of its dual, where the level is K(x_i, x_i)/2.
XI = letter(r"\xi_i", sym.make_reader("xi", factor=2.0))
MU = letter(r"\mu", "b")
F = letter("f(x_i)", lambda at: 2.0 * (at.values - at.svm.level), "f(X)")
PRODUCT = letter(r"\langle c,\varphi(x_i)\rangle", lambda at: at.values - at.b, "(phi(X) @ c)")
DIAGONAL = letter("K(x_i,x_i)", lambda at: 2.0 * at.svm.level, "K.diagonal()")
CENTRE2 = letter(r"\|c\|^2", "square_of_w", "norm(c)**2")
R2 = letter("R^2", lambda at: at.square_of_w + 2.0 * at.b, "R**2")
DISTANCE = letter(r"\|\varphi(x_i)-c\|", lambda at: compute_distances(at), "norm(phi(X) - c, axis=1)")
DISTANCE2 = letter(r"\|\varphi(x_i)-c\|^2", lambda at: R2.value(at) - F.value(at), "norm(phi(X) - c, axis=1)**2")
NEW_DIAGONAL = letter("K(x,x)", sym.compute_diagonal_between, "K(x, x).diagonal()")
RADIUS = letter("R", lambda at: float(at.result.extras["radius"]))
ALPHA_SUM = dot(1, sym.ALPHA)
#: Meanings of the symbols of this machine.
SYMBOLS = {
    "f": Meaning("decision function, R² − ‖φ(x) − c‖²", "(n,)", F.value),
    "Q": Meaning("Q_ij = K(x_i, x_j)", "(n, n)"),
    "c": Meaning("centre of the ball", "(d,)", lambda at: at.result.centre if at.is_linear else None),
    "R": Meaning("radius of the ball", value=RADIUS.value),
    r"\mu": Meaning("(R² − ‖c‖²)/2"),
    "C": Meaning("penalty of a unit of slack: each sample's share of all weights, over ν", "(n,)"),
    "S": Meaning("sum of the sample weights"),
    "a": Meaning("any vector of the feature space", "(d,)"),
    r"\kappa": Meaning("K(x, x), where it is the same for all samples"),
}


def build_terms(problem: SVDD) -> Formulas:
    """Build the terms of the SVDD, with μ in place of R²."""
    constraint = line(PRODUCT + MU, "≥", HALF * (DIAGONAL - XI), scale="level")
    rows = RowTerms(sym.ALPHA, XI, 2 * PRODUCT + 2 * MU, DIAGONAL, sym.ETA, XI, sym.C, written_constraint=constraint)
    return build_unlabelled(
        problem, rows, total(sym.C * XI), linear=(total(sym.ALPHA * DIAGONAL),), quadratic=QUADRATIC_FORM,
        other_variables=r",\mu", reward=2 * MU, equality=(-(2 * MU), ALPHA_SUM, term(1)), intercept_term=2 * MU,
        norm_factor=None, product_factor=2.0, compared_value=F, level=0.0, w="c", b="μ",
        f_by_w=r"f(x)=R^2-\|\varphi(x)-c\|^2", subtracted_term=NEW_DIAGONAL,
        f=letter("f(x)", lambda at: 2.0 * at.f_between - NEW_DIAGONAL.value(at)),
    )  # fmt: skip


def steps(problem: SVDD) -> tuple[Step, ...]:
    """Return all steps, in order."""
    ball = build_terms(problem)
    with_radius = replace(ball, other_variables=",R^2", rows=(replace(ball.rows[0], high=R2, low=DISTANCE2),))
    return build_steps(
        ball,
        "SVDD",
        first=build_ball_step(),
        primal=build_primal_steps(ball),
        lagrangian=build_lagrangian_step(ball, "α_i for the ball and η_i for ξ_i ≥ 0"),
        w=(build_other_variable_step(ball), build_w_step(ball, "the centre is a mean of the samples")),
        b=None,
        slackness=build_slackness_step(with_radius),
        substitution=build_substitution_step(ball, "μ and ξ drop out"),
        dual=build_dual_step(
            ball,
            "minus the variance of the samples, each with the weight α_i. It looks for the weights that spread them "
            "most",
        ),
        intercept=build_radius_step(),
        besides=build_nu_step(ball, F, 0, term(1), NU_BOUNDS_TEXT),
        linear=build_centre_step(problem),
        weak=build_weak_duality_step(with_radius),
        last=(build_translation_step(problem), build_one_class_step(problem)),
    )


def build_ball_step() -> Step:
    """Build the step about the samples on the boundary of the ball."""
    return step(
        "Ball",
        "f is positive inside of the ball and negative outside. A sample on the boundary has the distance R from "
        "the centre, and one outside is penalised by the amount by which its squared distance exceeds R².",
        Equation("below", (
            r"f(x)=R^2-\|\varphi(x)-c\|^2",
            line(DISTANCE, "=", RADIUS, before=r"f(x_i)=0\ \Rightarrow\ ", rows=sym.ON_MARGIN,
                 scale=lambda at: max(RADIUS.value(at), (at.w_term_size or 1.0))),
        ), explain_unmeasurable=lambda at: "" if at.on_margin.any() else
        "no sample on the boundary, so that none shows how large the ball is"),
    )  # fmt: skip


def build_primal_steps(ball: Formulas) -> tuple[Step, Step]:
    """Build the steps of the primal with R², and as a QP with μ."""
    as_written = step(
        "Primal",
        "The smallest ball; samples outside are penalised. Without samples outside this is the smallest "
        "enclosing ball. C_i is sample i's share of all weights, over ν. They add up to 1/ν ≥ 1, so that −R² in "
        "place of R² would cost at least what it saves, as the last line says: R² ≥ 0 need not be asked for.",
        Equation("below", (
            *iter_minimum(r"c,R^2,\xi", R2 + ball.penalty),
            *iter_constraints(line(DISTANCE2, "≤", R2 + XI, scale="level"), line(XI, "≥", 0, scale="level")),
            line(total(sym.C * (DISTANCE2 + R2)) - R2, "≥", total(sym.C * DISTANCE2),
                 scale=lambda at: float(at.C @ np.abs(DISTANCE2.value(at))) + abs(float(R2.value(at)))),
        )),
    )  # fmt: skip
    as_qp = step(
        "As a QP",
        "The constraints are quadratic in c, all in the same way. With μ in place of R², ‖c‖² moves from the "
        "constraints to the objective, and the result is a QP.",
        Equation("below", (
            display(ball.objective, rf"\min_{{{ball.variables}}}\ "),
            line(MU, "=", HALF * (R2 - CENTRE2), before=r",\qquad ", joined=True, measured=False),
            build_radius_line(), *iter_constraints(ball.rows[0].constraint, line(XI, "≥", 0, scale="level")),
        )),
        function=SVDD._build_specification,
    )  # fmt: skip
    return as_written, as_qp


def build_radius_step() -> Step:
    """Build the step that recovers R."""
    return step(
        "Recovering R",
        "For a given centre, only R² and the slacks depend on R. The best R² has a share ν of the weights beyond "
        "it: a weighted quantile of the squared distances.",
        Equation("below", (
            line(R2, "=", CENTRE2 + 2 * MU, scale="level"),
            sym.build_quantile_line(DISTANCE2, ">", R2, sym.C, term(1)),
            build_radius_line(),
            line(DISTANCE2, "=", R2, rows=sym.ON_MARGIN, scale="level", shown=False),
            line(0, "<", sym.ALPHA, "<", sym.C, measured=False, after=r"\ \Rightarrow\ \|\varphi(x_i)-c\|=R"),
        )),
        function=levels.find_soft_minimisers, general="LEVEL.3",
    )  # fmt: skip


def build_centre_step(problem: SVDD) -> Step:
    """Build the step of the centre as a vector, for a linear kernel."""
    transposed = letter(r"X^{\top}\alpha", "w_of_alpha", "X.T @ alpha")
    squared_distance = letter(
        r"\|x-c\|^2",
        lambda at: compute_linear_distances(at, at.w_of_alpha) ** 2,
        "norm(X - c, axis=1)**2",
        "‖x_i − c(α)‖²",
    )
    return step(
        "Centre of a linear kernel",
        "Where φ(x) = x, the centre is a point among the samples. Distances from it are evaluated by differences, "
        "which have all their digits however far the samples are from the origin.",
        Equation("below", (
            line(letter("c", "w"), "=", sym.feature_sum(sym.ALPHA), "=", transposed, scale="products_scale",
                 place="entry"),
            line(F, "=", RADIUS**2 - squared_distance, scale="level", left="f(x)", place="sample",
                 before=r",\quad ", joined=True),
        )),
        function=Model._evaluate_ball, absent="" if problem.space.is_linear else
        f"c = Σ α_i φ(x_i) is a point in the feature space of {problem.kernel}, not among the samples; use "
        "decision_function(X), or Linear() as kernel",
    )  # fmt: skip


def build_translation_step(problem: SVDD) -> Step:
    """Build the step that moves the origin, (SVDD.19)."""
    moved_centre = letter("", lambda at: at.problem.space.to_caller_weights(at.w), "c + moved_by", "c, moved back")
    centre_of_alpha = letter(
        "", lambda at: np.asarray(at.problem.space.samples.weights(at.alpha)), "(X + moved_by).T @ alpha", "Σ α_i x_i"
    )
    return step(
        "Translation",
        "Subtract the same vector a from all φ(x_i): by 1ᵀα = 1 the centre moves with them, and no distance "
        "changes. Dense samples of a linear kernel are centred in this way, which avoids cancellation.",
        Equation("alone", (
            r"\varphi(x)\to\varphi(x)-a\quad\Longrightarrow\quad c\to c-a,\quad \|\varphi(x)-c\|\ \text{stays}",
            line(moved_centre, "=", centre_of_alpha, place="entry", shown=False,
                 scale=lambda at: float(np.abs(centre_of_alpha.value(at)).max()) or (at.w_term_size or 1.0)),
        )),
        absent="" if problem.space.is_linear else
        "the samples are not moved: K(x, z) is all that is known of φ",
    )  # fmt: skip


def build_one_class_step(problem: SVDD) -> Step:
    """Build the step about the one-class SVM, (SVDD.20), which is this machine if K(x, x) is constant."""
    kappa = letter(r"\kappa", lambda at: float(at.problem.space.gram.diagonal()[0]))
    diagonal = letter("", lambda at: at.problem.space.gram.diagonal(), "K.diagonal()")
    mean_diagonal = total(sym.ALPHA * diagonal).with_name("Σ α_i K(x_i, x_i)", "K(x,x)")
    return step(
        "The one-class SVM",
        "Where all samples have one length in feature space, Σ α_i K(x_i, x_i) is a constant. What is left is the "
        "dual of a one-class SVM, in other units.",
        Equation("alone", (
            line(mean_diagonal, "=", kappa, after=r"\quad\Longrightarrow\quad \min_\alpha\ \alpha^{\top}Q\alpha-\kappa,"
                 r"\qquad f=\frac{2}{\nu S}\,f_{\text{one-class}}"),
        )),
        absent=explain_varying_diagonal(problem),
    )  # fmt: skip


def explain_varying_diagonal(problem: SVDD) -> str:
    """Explain why (SVDD.20) implies nothing for this problem, or return ""."""
    try:
        check_constant_diagonal(problem)
    except UnsupportedError:
        return f"K(x, x) differs between the samples with {problem.kernel}: the two machines differ"
    return ""


def build_radius_line() -> EquationLine:
    """Build the line ‖c‖² + 2μ = R², for a linear kernel in the caller's coordinates, as in (SVDD.2).

    In these coordinates, b of the result is 2μ.
    """

    def square(at: At) -> float:
        if at.is_linear:
            return float(at.result.centre @ at.result.centre)
        return at.square_of_w

    squared_radius = letter(
        "", lambda at: square(at) + (at.result.b if at.is_linear else 2.0 * at.b), "norm(c)**2 + 2 * mu", "‖c‖² + 2μ"
    )
    return line(squared_radius, "=", RADIUS**2, scale=lambda at: max(at.objective_scale, square(at)), shown=False)


def compute_distances(at: At) -> FloatArray:
    """Return ‖φ(x_i) − c‖ of each sample, for a linear kernel from differences: (n,)."""
    if at.is_linear:
        return compute_linear_distances(at, at.w)
    return np.asarray(np.sqrt(np.maximum(DISTANCE2.value(at), 0.0)))


def compute_linear_distances(at: At, centre: FloatArray) -> FloatArray:
    """Return ‖x_i − c‖ of each sample for a linear kernel and a centre (d,): (n,)."""
    X = at.X if isinstance(at.X, np.ndarray) else at.X.toarray()
    return np.asarray(np.linalg.norm(X - centre, axis=1))
