"""Build the steps of the ν-SVR, (NUSVR.1) to (NUSVR.18)."""

from __future__ import annotations

from qpsvm.bounds import levels
from qpsvm.derivation.expressions import Equation, line
from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import letters as sym
from qpsvm.derivation.steps import two_sided as two
from qpsvm.derivation.steps.formulas import step
from qpsvm.derivation.steps.shared import MachineSteps
from qpsvm.derivation.term_builders import HALF, dot, largest_of, total
from qpsvm.machines import NuSVR

ALPHA_SUM = dot(1, two.ABOVE + two.BELOW)
NU_C = sym.NU * two.SIGMA_C
#: Meanings of the symbols of this machine.
SYMBOLS = two.SYMBOLS


def build_terms(problem: NuSVR) -> MachineSteps:
    """Build the terms of the machine."""
    return two.build_terms(
        problem, total(two.C * (two.XI + two.XI_STAR)), other_variables=r",\varepsilon", reward=NU_C * two.EPSILON,
        equality=(-two.EPSILON, ALPHA_SUM, NU_C), linear=False,
    )  # fmt: skip


def steps(problem: NuSVR) -> tuple[Step, ...]:
    """Return all steps, in order."""
    tube = build_terms(problem)
    residual = sym.T - sym.U
    half_sum = HALF * NU_C
    weight_beyond = sym.weight_where(two.MISSED, ">", two.EPSILON, two.C)
    weight_outside = sym.weight_where(two.MISSED, "≥", two.EPSILON, two.C)
    return tube.steps(
        "NUSVR",
        first=tube.loss(
            "The half width ε of the tube is a variable, and costs as much as a share ν of all samples that miss it by "
            "a unit; Σ_C is the sum of all C_i. So ν says how many samples may lie outside, and the noise in the data "
            "how wide the tube is.",
            total(two.C * largest_of(0, two.MISSED - two.EPSILON)),
        ),
        primal=tube.primal(
            "The loss is the smallest ξ_i and ξ*_i above three linear functions, one for each side of f. −ε in place "
            "of ε would save νΣ_C a unit and cost Σ_C or more, as the last line says: ε ≥ 0 need not be asked for.",
            line(total(two.C * (two.MISSED + two.EPSILON)) - NU_C * two.EPSILON, "≥", total(two.C * two.MISSED),
                 scale=lambda at: float(total(two.C * (two.MISSED + two.EPSILON)).value(at)) or 1.0),
        ),
        lagrangian=tube.lagrangian_step(two.MULTIPLIERS),
        level=tube.stationarity_in(
            " So ν is the total of the multipliers, as a share of what they are when all samples pull.",
        ),
        substitution=tube.substitution("b, ε, ξ and ξ* drop out, and with ε the price of the tube", two.ETA),
        dual=tube.dual("2n variables in a box, and two equalities"),
        intercept=step(
            "Recovering b and ε",
            "b + ε is the upper edge of the tube and b − ε the lower one, seen from u = Kβ. Each side has half of the "
            "mass, so that the primal splits into one problem for each edge, solved by a weighted quantile.",
            Equation("below", (
                sym.split_by(residual, ">", sym.B + two.EPSILON, two.C, half_sum),
                sym.split_by(residual, "<", sym.B - two.EPSILON, two.C, half_sum),
                line(sym.U, "=", sym.kernel_sum(two.BETA), measured=False),
            )),
            levels._soft_interval, general="LEVEL.3",
        ),
        kinds=tube.kinds_of_samples(*two.KINDS),
        besides=step(
            "What ν bounds",
            "A sample beyond the tube has α_i = C_i, so such samples weigh at most a share ν together. No sample "
            "inside has any α, so those on the edge and beyond weigh at least ν. The residual is by how much a bound "
            "fails.",
            Equation("alone", (line(weight_beyond, "≤", NU_C, "≤", weight_outside, scale=NU_C.value),)),
        ),
    )  # fmt: skip
