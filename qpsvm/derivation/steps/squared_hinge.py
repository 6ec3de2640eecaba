"""The steps of the squared hinge, (SQHINGE.1) to (SQHINGE.17)."""

from __future__ import annotations

from qpsvm.derivation.quantities import At
from qpsvm.derivation.residual import Sides, size_of, worst
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps.latex import cases, flat, lines, numbered, step
from qpsvm.derivation.steps.shared import NEEDS_NONE, YF, Argument
from qpsvm.machines import SquaredHinge


def steps(problem: SquaredHinge) -> tuple[Step, ...]:
    """All steps, in order."""
    curve = r"\tfrac{\alpha_i}{2C_i}"
    soft = Argument(
        problem, r"\sum_i C_i\xi_i^2", r"y_i f(x_i)\ge 1-\xi_i,\ \xi_i\ge 0", priced=(), curve=curve,
        quadratic=r"\tfrac12\alpha^{\top}(Q+D)\alpha", bend=r"\sum_i\frac{\alpha_i^2}{4C_i}",
        bend_gap=r"\sum_i C_i\Bigl(\xi_i-\frac{\alpha_i}{2C_i}\Bigr)^2",
    )  # fmt: skip
    return numbered(
        "SQHINGE",
        soft.margin(),
        soft.primal(
            "A wide margin is weighed against the squares of slack. A little slack costs next to nothing, and a sample "
            "far on the wrong side costs more than many near their margin."
        ),
        soft.lagrangian(first=f"The margin rows get multipliers. ξ_i ≥ 0 needs none: {NEEDS_NONE}."),
        soft.stationarity_in_w(),
        soft.stationarity_in_b(),
        soft.stationarity_in_curved_xi(
            "The last bit of slack costs 2C_iξ_i, and the margin row pays α_i for it. So α is the slack in other "
            "units, and there is no slack without a multiplier.",
            flat(r"\xi_i", r"\xi_i=\frac{\alpha_i}{2C_i}"),
        ),
        soft.dual_feasibility(),
        soft.complementary_slackness(),
        soft.substitution(
            "half of each quadratic term cancels, and what is left of the slack is a square of α", "ξ = α/(2C)"
        ),
        soft.dual("α has no upper bound, and the square keeps it from growing", r",\quad D_{ii}=\frac{1}{2C_i}"),
        soft.weights_recovered(),
        soft.intercept_recovered(
            "Where α_i is positive, y_i f(x_i) is 1 less the slack, which α gives. So every support vector gives b, "
            "and the mean over all of them is less sensitive to rounding."
        ),
        soft.kinds_of_samples(
            cases((r"\alpha_i=0", rf"{YF}\ge 1"), (r"\alpha_i>0", f"{YF}=1-{curve}")), "Two kinds of samples",
            "Complementary slackness leaves two cases. No support vector lies on the margin itself: the first bit of "
            "slack is free, so that every one has some.",
        ),
        soft.strong_duality(),
        soft.linear_weights(),
        soft.weak_duality(),
        step(
            "A hard margin in a larger space",
            "D on the diagonal is a kernel of its own: every sample has one more feature, which no other sample has. "
            "With these any classes can be separated, and the hard margin there is this machine.",
            lines(
                r"\tilde\varphi(x_i)=\Bigl(\varphi(x_i),\ \tfrac{1}{\sqrt{2C_i}}\,e_i\Bigr)",
                r"\langle\tilde\varphi(x_i),\tilde\varphi(x_j)\rangle=(K+D)_{ij}",
                r"y_i f(x_i)+\frac{\alpha_i}{2C_i}\ \ge\ 1",
            ),
            SquaredHinge._record, hard_margin_in_a_larger_space,
        ),
    )  # fmt: skip


def hard_margin_in_a_larger_space(at: At) -> tuple[Sides, ...]:
    """(K + D)(α∘y) + b has no sample within its margin, and half the square of its norm is the value of the dual."""
    longer = at.y * at.f_of_alpha + at.svm.curvature * at.alpha  # (SQHINGE.17)
    norm = at.half_norm_of_alpha + 0.5 * float(at.svm.curvature @ at.alpha**2)
    scale = size_of(longer, at.terms)
    return (
        Sides(norm, "=", at.dual_value, "half the square of the norm of (w, v), and the dual's value", at.size),
        worst(longer, "≥", 1.0, "y f of {i} with the feature of its own, and 1", scale, at.say.row),
    )
