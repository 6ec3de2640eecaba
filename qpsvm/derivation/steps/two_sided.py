"""What the regressions share: two rows a sample, above f with α⁺ and ξ, below it with α⁻ and ξ*."""

from __future__ import annotations

from typing import Any

from qpsvm.base.arrays.exactly import as_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.quantities import At
from qpsvm.derivation.steps.latex import cases
from qpsvm.derivation.steps.shared import Argument
from qpsvm.machines import Problem
from qpsvm.machines.problem.parameters import taking_prices

#: What the Lagrangian of a regression has.
MULTIPLIERS = "α⁺_i above f, α⁻_i below it, and η_i, η*_i for the slacks"
#: Where a sample is that is inside of a tube, on its edge, or beyond it.
KINDS = cases(
    (r"\alpha^+_i=\alpha^-_i=0", r"|t_i-f(x_i)|\le\varepsilon"), (r"0<\alpha^\pm_i<C_i", r"|t_i-f(x_i)|=\varepsilon"),
    (r"\alpha^\pm_i=C_i", r"|t_i-f(x_i)|\ge\varepsilon"),
)  # fmt: skip
#: How slacks and η leave the Lagrangian.
ETA = "what ξ gave"


def argument(
    problem: Problem, price: str, uppers: tuple[str, str], width: str = r"\varepsilon+", **more: Any
) -> Argument:
    """A regression, of which f may miss t by a width."""
    epsilon = "" if "gone" in more else width.removesuffix("+")
    return Argument(
        problem, price,
        rf"t_i-f(x_i)\le {width}\xi_i,\ f(x_i)-t_i\le {width}\xi^*_i,\ \xi_i,\xi^*_i\ge 0",
        rows=(f"{width}ξ-t_i+f(x_i)", f"{width}ξ+t_i-f(x_i)"), uppers=uppers,
        alphas=(r"\alpha^+_i", r"\alpha^-_i"), slacks=(r"\xi_i", r"\xi^*_i"), etas=(r"\eta_i", r"\eta^*_i"),
        plus=r"t^{\top}\beta", minus=rf"{epsilon}\,1^{{\top}}(\alpha^++\alpha^-)" if epsilon else "",
        quadratic=r"\tfrac12\beta^{\top}K\beta", double=r"\tfrac12\sum_{i,j}\beta_i\beta_j", coef=r"\beta_i",
        coef_words="β_i", matrix=r"X^{\top}\beta", pull=r"1^{\top}\beta", pull_words="1ᵀβ", sides="sides of f", **more,
    )  # fmt: skip


def targets(at: At) -> FloatArray:
    """t of the samples that take part: (n,)."""
    t: FloatArray = at.problem.labels
    return t


def prices(at: At) -> FloatArray:
    """C_i of the samples that take part: (n,)."""
    return as_floats(taking_prices(at.problem.C, at.problem.samples))
