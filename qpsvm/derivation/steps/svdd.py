"""The steps of the SVDD, (SVDD.1) to (SVDD.20).

Where the samples of a linear kernel are centred inside, everything is measured there, by (SVDD.19): R² would be a small
difference of large numbers elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds import levels
from qpsvm.derivation import measures
from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides, worst
from qpsvm.derivation.step import NotMeasurable, Step
from qpsvm.derivation.steps.latex import lines, numbered, step
from qpsvm.derivation.steps.one_class import WHAT_NU_BOUNDS
from qpsvm.derivation.steps.shared import Argument
from qpsvm.machines import SVDD
from qpsvm.machines.one_class import check_constant_diagonal
from qpsvm.result.model import Model
from qpsvm.space.kernels.space import FeatureSpace


def steps(problem: SVDD) -> tuple[Step, ...]:
    """All steps, in order."""
    linear = problem.space.is_linear
    ball = Argument(
        problem, r"\sum_i C_i\xi_i",
        r"\langle c,\varphi(x_i)\rangle+\mu\ge\tfrac12\bigl(K(x_i,x_i)-\xi_i\bigr),\ \xi_i\ge 0",
        rows=(r"2\langle c,\varphi(x_i)\rangle+2\mu-K(x_i,x_i)+ξ",), reach="f(x_i)", level="0",
        plus=r"\sum_i\alpha_i K(x_i,x_i)",
        others=r",\mu", reward=r"+2\mu", equality=(r"1^{\top}\alpha=1", "1ᵀα = 1"), gone=r"+2\mu\,(1-1^{\top}\alpha)",
        quadratic=r"\alpha^{\top}Q\alpha", double=r"\sum_{i,j}\alpha_i\alpha_j", coef=r"\alpha_i", coef_words="α_i",
        half="", twice="2", w="c", b="μ",
    )  # fmt: skip
    square = replace(ball, others=",R^2", rows=(r"R^2+ξ-\|\varphi(x_i)-c\|^2",))
    return numbered(
        "SVDD",
        step(
            "Ball",
            "f is positive inside of the ball and negative outside. A sample on the boundary has the distance R from "
            "the centre, and one outside pays for what the square of its distance exceeds R².",
            r"f(x)=R^2-\|\varphi(x)-c\|^2,\qquad \|\varphi(x_i)-c\|=R\ \text{ on the boundary}",
            distance_of_boundary,
        ),
        step(
            "Primal",
            "The smallest ball, some samples left outside for a price. Without anybody outside this is the smallest "
            "enclosing ball. C_i is sample i's share of all weights, over ν. They add up to 1/ν ≥ 1, so that R² < 0 "
            "would cost as much as it saves, or more, and R² ≥ 0 need not be asked for.",
            lines(
                r"\min_{c,R^2,\xi}\ R^2+\sum_i C_i\xi_i",
                r"\text{subject to}\ \|\varphi(x_i)-c\|^2\le R^2+\xi_i,\ \xi_i\ge 0",
            ),
            measures.primal, general="ARGUMENT.1",
        ),
        step(
            "As a QP",
            "The constraints are quadratic in c, all in the same way. With μ in place of R², ‖c‖² moves from the "
            "constraints to the objective, and what is left is a QP.",
            lines(
                rf"\min_{{{ball.variables}}}\ {ball.cost},\qquad \mu=\tfrac12(R^2-\|c\|^2)",
                rf"\text{{subject to}}\ {ball.subject}",
            ),
            SVDD._record, as_qp,
        ),
        ball.lagrangian("α_i for the ball and η_i for ξ_i ≥ 0"),
        ball.stationarity_in("μ", r"\mu", "2μ(1 − Σ α_i)", "", measures.stationarity_in_b),
        ball.stationarity_in_w("the centre is a mean of the samples"),
        ball.stationarity_in_xi(),
        ball.dual_feasibility(),
        square.complementary_slackness(),
        ball.substitution("μ and ξ drop out"),
        ball.dual(
            "minus the variance of the samples, each with the weight α_i. It looks for the weights that spread them "
            "most"
        ),
        ball.weights_recovered(
            lines(r"f(x)=R^2-\|\varphi(x)-c\|^2", r"\phantom{f(x)}=2\sum_i\alpha_i K(x_i,x)+2\mu-K(x,x)")
        ),
        step(
            "Recovering R",
            "For a given centre, only R² and the slacks depend on R. The best R² has a share ν of the weights beyond "
            "it: a weighted quantile of the squared distances.",
            lines(
                r"R^2=\|c\|^2+2\mu=\operatorname{quantile}_{1-\nu}\bigl(\|\varphi(x_i)-c\|^2;\,s_i\bigr)",
                r"0<\alpha_i<C_i\ \Rightarrow\ \|\varphi(x_i)-c\|=R",
            ),
            levels._soft_interval, radius_recovered, general="LEVEL.3",
        ),
        ball.kinds_of_samples(),
        ball.strong_duality(),
        ball.what_nu_bounds("f(x_i)<0", "1", WHAT_NU_BOUNDS),
        step(
            "Centre of a linear kernel",
            "Where φ(x) = x, the centre is a point among the samples. Distances from it are evaluated by differences, "
            "which have all their digits however far the samples are from the origin.",
            lines(r"c=\sum_i\alpha_i x_i=X^{\top}\alpha", r"f(x)=R^2-\|x-c\|^2"),
            Model._inside, by_differences, "" if linear else
            f"c = Σ α_i φ(x_i) is a point in the feature space of {problem.kernel}, not among the samples; use "
            "decision_function(X), or Linear() as kernel",
        ),
        square.weak_duality(),
        step(
            "Translation",
            "Take the same vector a away from all φ(x_i): by 1ᵀα = 1 the centre moves with them, and no distance "
            "changes. Dense samples of a linear kernel are centred so, which saves their digits.",
            r"\varphi(x)\to\varphi(x)-a\quad\Longrightarrow\quad c\to c-a,\quad \|\varphi(x)-c\|\ \text{stays}",
            FeatureSpace.representable, translation, "" if linear else
            "the samples are not moved: K(x, z) is all that is known of φ",
        ),
        step(
            "The one-class SVM",
            "Where all samples have one length in feature space, Σ α_i K(x_i, x_i) is a constant. What is left is the "
            "dual of a one-class SVM, in other units.",
            r"K(x,x)=\kappa\quad\Longrightarrow\quad \min_\alpha\ \alpha^{\top}Q\alpha-\kappa,\qquad f=\frac{2}{\nu S}"
            r"\,f_{\text{one-class}}",
            SVDD.equivalent_one_class, one_length, one_length_missing(problem),
        ),
    )  # fmt: skip


def one_length_missing(problem: SVDD) -> str:
    """Why (SVDD.20) says nothing for this problem, or ""."""
    try:
        check_constant_diagonal(problem)
    except UnsupportedError:
        return f"K(x, x) differs between the samples with {problem.kernel}: the two machines differ"
    return ""


def square(at: At) -> float:
    """R² = ‖c‖² + 2μ."""
    return 2.0 * (at.half_norm + at.b)


def distances(at: At) -> FloatArray:
    """‖φ(x_i) − c‖² = R² − f: (n,)."""
    return square(at) + 2.0 * (at.margin - at.f)


def distance_of_boundary(at: At) -> Sides:
    """The samples on the boundary are R away from the centre."""
    if not at.on_margin.any():
        raise NotMeasurable("no sample on the boundary, so that none shows how large the ball is")
    if at.is_linear:
        far = np.linalg.norm((at.X if isinstance(at.X, np.ndarray) else at.X.toarray())[at.on_margin] - at.w, axis=1)
    else:
        far = np.sqrt(np.maximum(distances(at)[at.on_margin], 0.0))
    stated = float(at.result.extras["radius"])  # (SVDD.1)
    of = "the mean distance of the boundary from the centre, and R"
    return Sides(float(far.mean()), "=", stated, of, max(stated, at.length))


def as_qp(at: At) -> Sides:
    """‖c‖² + 2μ = R²: the objective of the QP is that of (SVDD.2)."""
    radius = float(at.result.extras["radius"])
    if not at.is_linear:
        return Sides(square(at), "=", radius * radius, "‖c‖² + 2μ, and R²", at.size)
    norm = float(at.result.centre @ at.result.centre)  # in the caller's coordinates, where b is 2μ
    return Sides(norm + at.result.b, "=", radius * radius, "‖c‖² + 2μ, and R²", max(at.size, norm))


def radius_recovered(at: At) -> tuple[Sides, ...]:
    """μ is a weighted quantile, and R² = ‖c‖² + 2μ."""
    return (*measures.level_recovered(at), as_qp(at))


def by_differences(at: At) -> Sides:
    """f(x) = R² − ‖x − c‖² with c = Σ α_i x_i."""
    X = at.X if isinstance(at.X, np.ndarray) else at.X.toarray()
    radius = float(at.result.extras["radius"])
    stated = radius * radius - np.square(X - at.w_of_alpha).sum(axis=1)
    return worst(2.0 * (at.f - at.margin), "=", stated, "f of {i}, and R² − ‖x − c(α)‖²", at.level, at.say.sample)


def translation(at: At) -> Sides:
    """The centre over centred samples, moved back, is Σ α_i x_i over the samples as they are."""
    space = at.problem.space
    moved, own = space.moved(at.w), np.asarray(space.samples.weights(at.alpha))
    size = float(np.abs(own).max()) or at.length
    return worst(moved, "=", own, "entry {i} of c, moved back, and of Σ α_i x_i", size)


def one_length(at: At) -> Sides:
    """Σ α_i K(x_i, x_i) = κ, by 1ᵀα = 1."""
    diagonal = at.problem.space.gram.diagonal()
    return Sides(float(at.alpha @ diagonal), "=", float(diagonal[0]), "Σ α_i K(x_i, x_i), and κ", float(diagonal[0]))
