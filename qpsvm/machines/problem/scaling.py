"""Scale the QPs of a machine to the units of a solver (`compute_scaling`).

    (FORM.4)  scaling:  α in units of a typical α, primal variables and constraints in units of the level

Solvers have absolute tolerances, so they need numbers near 1. The level ℓ is the value that s f should reach: 1 for a
C-SVM, where s = y.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.errors import ParameterError
from qpsvm.machines.problem import forms
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.svm_dual import SVMDual


def compute_scaling(
    svm: SVMDual, kappa: float, form: Form, variable_names: Mapping[str, str] | None = None
) -> tuple[Mapping[str, float], Mapping[str, float], float]:
    """Compute the factors of (FORM.4) for variables, rows and objective: the arguments of `QP.scaled`.

    kappa: Scale of the kernel values.
    variable_names: The primal variables that this machine names differently: its names by the usual ones.

    Raises ParameterError.
    """
    constraints = svm.linear_constraints
    if constraints is not None:  # their multipliers are no typical α
        svm = constraints.unconstrained_dual
    unit = compute_alpha_unit(svm, kappa)
    level = unit * kappa if svm.is_homogeneous else compute_level_size(svm)  # if ℓ = 0, the size of f at a typical α
    objective_unit = svm.unit * unit * level
    # factors, which are these sizes and their reciprocals, must be positive and finite
    if not all(size > 0.0 and 1.0 / size < np.inf for size in (objective_unit, unit if form == "dual" else level)):
        raise ParameterError(
            f"no scale makes ordinary numbers of α near {unit:.1e} and levels near {level:.1e}: multiply X, the "
            "targets, or C and the weights by a constant, or standardise X"
        )
    objective = 1.0 / objective_unit
    if form == "dual":
        multipliers = {} if constraints is None else {forms.SCALED_MULTIPLIERS: unit}
        rows = {group.name: 1.0 / unit for group in svm.groups if not group.ridge}
        return {"alpha": unit, **multipliers}, rows, objective
    # ‖w‖² = Σ_ij α_i α_j s_i s_j K_ij has the size of α f, that is of unit · level
    variables, rows = {"w": float(np.sqrt(unit * level))}, {}
    if level != 1.0:  # absent factors are 1
        variables |= dict.fromkeys([*forms.SLACKS, *(group.multiplier for group in svm.groups)], level)
        rows = dict.fromkeys([*forms.LEVEL_ROWS, forms.SCALED_ROWS], 1.0 / level)
    own_names = variable_names or {}
    return {own_names.get(name, name): factor for name, factor in variables.items()}, rows, objective


def compute_alpha_unit(svm: SVMDual, kappa: float) -> float:
    """Return a typical size of α: ℓ/(κ + δ), with which a single sample reaches the level ℓ.

    The unit is at most a typical upper bound U of α, and at least U/`MAX_SCALED_BOUND`. If every level is 0, the unit
    is U, or the sum of α that an equality prescribes, if that is smaller.
    """
    typical_bound = find_common_value(svm.upper)
    if typical_bound is None:
        finite_bounds = svm.upper[np.isfinite(svm.upper)]
        typical_bound = float(finite_bounds.mean()) if len(finite_bounds) else np.inf
    if svm.is_homogeneous:
        sizes = [size for size in (typical_bound, *(abs(part.total) for part in svm.parts)) if 0.0 < size < np.inf]
        return max(min(sizes, default=1.0), forms.SMALLEST_UNIT)
    curvature = float(svm.curvature.mean()) if svm.has_curvature else 0.0
    unit = min(compute_level_size(svm) / (kappa + curvature), typical_bound)
    if np.isfinite(typical_bound):
        return max(unit, typical_bound / forms.MAX_SCALED_BOUND)
    return unit


def compute_level_size(svm: SVMDual) -> float:
    """Return the size of the levels ℓ: their common value, else the largest."""
    common_level = svm.common_level
    if common_level is not None:
        return abs(common_level)
    return float(np.abs(svm.level).max(initial=0.0))
