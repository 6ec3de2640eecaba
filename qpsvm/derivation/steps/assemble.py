"""Assemble the derivation of a machine from the steps that all machines share and its own (`build_steps`).

A machine is described by its `Formulas`: its objective, its rows (the constraints of the primal) with their
multipliers, and its terms in the dual. The shared steps are built from these terms, in the order of the argument:
`primal` (with the Lagrangian), `stationarity`, `slackness`, `duality`, and `recovery` of w, b and f from α. The module
of a machine passes `build_steps` those that differ.

The steps about b depend on the intercept: a penalised b is part of the norm and of K + 1, and has an equation of its
own; without a b, these steps are absent.

The equations below are in units of the objective. μ are the variables of the primal besides w, b and the slacks, such
as ρ and ε, e their factors in the objective, and V_k(ξ_k, ζ_k) the penalty of the slack. For a loss with curvature
ξ_k = δ_kα_k, and only the rest of the slack, ζ_k, has a linear penalty and a multiplier η_k:

    (ARGUMENT.1)  primal:  P = ½‖w‖² + Σ V_k(ξ_k, ζ_k) + eᵀμ,  and  s_k f_k ≥ margin_k − ξ_k − ζ_k,  ξ, ζ ≥ 0
    (ARGUMENT.2)  Lagrangian:  L = P − Σ α_k (s_k f_k − margin_k + ξ_k + ζ_k) − Σ η_k ζ_k;  linear constraints add
                  Σ π_j (⟨g_j, w⟩ + c_j b − h_j), (OWN.4)
    (ARGUMENT.3)  substitution:  L at w(α) and ξ_k = δ_kα_k is D(α), whatever μ and ζ are
    (ARGUMENT.4)  strong duality:  P = D(α), with the smallest ξ that w needs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from qpsvm.derivation.step import Step
from qpsvm.derivation.steps import shared_symbols as sym
from qpsvm.derivation.steps.duality import build_strong_duality_step, build_substitution_step, build_weak_duality_step
from qpsvm.derivation.steps.formulas import Formulas, number_steps
from qpsvm.derivation.steps.primal import build_lagrangian_step
from qpsvm.derivation.steps.recovery import build_linear_w_step, build_recovered_b_step, build_recovered_f_step
from qpsvm.derivation.steps.sensitivity import build_bound_sensitivity, build_machine_saddle, build_penalty_sensitivity
from qpsvm.derivation.steps.slackness import build_box_step, build_kinds_step, build_slackness_step
from qpsvm.derivation.steps.stationarity import build_b_step, build_w_step, build_xi_step

#: All steps by name, in order. Those without a function have no default: each machine passes its own, or has none.
STEPS: dict[str, Callable[[Formulas], Step] | None] = {
    "first": None,
    "primal": None,
    "lagrangian": build_lagrangian_step,
    "w": build_w_step,
    "b": build_b_step,
    "level": None,
    "xi": build_xi_step,
    "box": build_box_step,
    "slackness": build_slackness_step,
    "substitution": build_substitution_step,
    "dual": None,
    "f": build_recovered_f_step,
    "intercept": build_recovered_b_step,
    "kinds": build_kinds_step,
    "strong": build_strong_duality_step,
    "besides": None,
    "linear": build_linear_w_step,
    "weak": build_weak_duality_step,
    "last": None,
}


def build_steps(machine: Formulas, prefix: str, **specific: Step | tuple[Step, ...] | None) -> tuple[Step, ...]:
    """Return all steps in order, numbered with the prefix.

    specific: Steps specific to the machine, by the names of `STEPS`. They replace the shared steps; None omits one.
    """
    steps: list[Step] = []
    for name, build_step in STEPS.items():
        if name in specific:
            replacement = specific[name]
            if isinstance(replacement, tuple):
                steps += replacement
            elif replacement is not None:
                steps.append(replacement)
        elif build_step is not None:
            steps.append(build_step(machine))
    return number_steps(prefix, *steps, *iter_sensitivity_steps(machine))


def iter_sensitivity_steps(machine: Formulas) -> Iterator[Step]:
    """Yield the last steps: the saddle of L, and the derivative of the optimum with respect to C_i or h_j."""
    yield build_machine_saddle(machine)
    if machine.constraint_terms is not None:
        yield build_bound_sensitivity(sym.MULTIPLIER, machine.build_dual_value())
    elif machine.penalty_derivative is not None:
        yield build_penalty_sensitivity(machine.penalty_derivative, machine.objective)
