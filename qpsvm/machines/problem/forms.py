"""Build the two QPs of a machine from its `SVMDual`, with and without linear constraints.

    (FORM.1)  dual:  minimise unit · (DUAL.1) over α
    (FORM.2)  primal:  minimise unit · (½‖w‖² + eᵀμ + ½Σ R_g μ_g² + the cost of slack)
              subject to  s_k⟨w, z_r(k)⟩ + Σ_g E_kg μ_g ≥ ℓ_k − ξ_k − ζ_k,  ξ, ζ ≥ 0
    (FORM.3)  the cost of slack is U ξ if δ = 0,  ξ²/(2δ) if U = ∞,  else ξ²/(2δ) + U ζ;  hard rows have no slack

The machine names the multipliers of its groups. The slacks are named "xi" and "zeta", the margin rows "margin". A
regression has slacks "xi" and "xi_star", for its rows "above" and "below" f.

Linear constraints, (USER.2), add rows to the primal and a block of multipliers to the dual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.constant_vectors import multiply, repeat_value
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.linear_constraints import ConstraintRows
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.qp import QP, Rows
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.space.operators import Dense, LowRank, Operator

#: Name of the multipliers of the linear constraints in the dual: in textbook units, and scaled for a solver.
MULTIPLIERS, SCALED_MULTIPLIERS = "lambda", "scaled_lambda"
#: Name of the linear constraints in the primal: in textbook units, and scaled for a solver.
ROWS, SCALED_ROWS = "constraints", "scaled_constraints"
#: Names of the slacks of a primal.
SLACKS = ("xi", "xi_star", "zeta")
#: Names of the rows of a primal whose multipliers are α.
LEVEL_ROWS = ("margin", "above", "below")
#: Largest upper bound of α in a solver's units; beyond it, solvers report a bounded problem as unbounded.
MAX_SCALED_BOUND = 1e3
#: Smallest unit of α handed to a solver: its square and the inverse of the square are still normal floats.
SMALLEST_UNIT = 1e-60


def build_dual_qp(svm: SVMDual, formula: str, title: str) -> QP:
    """Build the dual QP over α, (FORM.1), with an equality for every group.

    formula, title: The objective and the program as text.
    """
    m, equalities = svm.m, svm.groups
    rows = {group.name: Rows("A", slice(k, k + 1), group.formula) for k, group in enumerate(equalities)}
    # a single column is not copied
    if len(equalities) == 1:
        A = equalities[0].column[None, :]
    else:
        A = np.array([group.column for group in equalities])
    return QP(
        P=svm.hessian if svm.unit == 1.0 else svm.hessian.congruence(repeat_value(np.sqrt(svm.unit), m)),
        q=multiply(-svm.unit, svm.level),
        A=A if equalities else None, b=np.array([group.total for group in equalities]) if equalities else None,
        lb=repeat_value(0.0, m), ub=None if np.isinf(svm.upper).all() else svm.upper,
        variables={"alpha": slice(0, m)}, constraints=rows, formula=formula, title=title, statement=Statement(svm),
    )  # fmt: skip


def build_constrained_qp(problem: DualStatement, form: Form, textbook: bool) -> QP:
    """Build either QP of a problem with linear constraints, in textbook form or as used to compute, (USER.2)."""
    space = problem.space
    n = len(problem._active_target)
    rows = problem._textbook_constraint_rows if textbook else problem._constraint_rows
    assert rows is not None
    if form == "primal":
        if not space.is_linear:
            points = space.coordinates
        else:
            points = rows.append_points_to(space.samples.take(np.arange(n)))
        return add_constraints_to_primal(
            problem._build_primal(points[:n]), rows, rows.combine_points(points[n:]), textbook, problem._variable_names
        )
    gram = space.centred_gram
    if textbook and space.is_linear:
        gram = LowRank(rows.append_points_to(space.samples.take(np.arange(n))))
    svm = problem._build_full_dual(gram, problem.intercept, rows)  # (OWN.10)
    if problem.intercept == "penalised":
        svm = problem._build_full_dual(add_ones_feature(gram, rows.build_intercept_feature(n)), None, rows)
    title = f"{problem.title}: dual ({problem._dual_tag})"
    return split_multipliers(build_dual_qp(svm, problem._format_dual_formula(svm), title), svm, textbook)


def add_constraints_to_primal(
    qp: QP, rows: ConstraintRows, g: Matrix, textbook: bool, variable_names: Mapping[str, str]
) -> QP:
    """Add the linear constraints to a primal, after its margin rows.

    g (p, r): The vectors g_j in the coordinates of w.
    textbook: Whether the constraints are in textbook units; otherwise they are scaled for a solver.
    variable_names: Names of w and b in the QP, if they differ from "w" and "b".
    """
    assert qp.G is not None
    assert qp.h is not None
    p = rows.p
    b = variable_names.get("b", "b")
    G = sp.lil_array((p, qp.n))
    G[:, qp.variables[variable_names.get("w", "w")]] = g  # (OWN.3)
    if b in qp.variables:
        G[:, qp.variables[b]] = (-rows.c if b == "rho" else rows.c)[:, None]
    start = len(qp.h)
    group = Rows("G", slice(start, start + p), _format_constraints(rows, b in qp.variables))
    return replace(
        qp,
        G=sp.csc_array(sp.vstack([sp.csc_array(qp.G), sp.csc_array(G)])),
        h=np.concatenate([qp.h, rows.h]),
        constraints={**qp.constraints, ROWS if textbook else SCALED_ROWS: group},
    )


def _format_constraints(rows: ConstraintRows, with_b: bool) -> str:
    """Describe the group of constraints: its inequality and the names of its first rows."""
    text = "Gw + cb ≤ h" if with_b else "Gw ≤ h"
    return f"{text}: {', '.join(rows.names[:3])}{', …' if rows.p > 3 else ''}"


def split_multipliers(qp: QP, svm: SVMDual, textbook: bool) -> QP:
    """Split the variables of the dual into α and the multipliers of the linear constraints.

    textbook: Whether the multipliers are in textbook units; otherwise they are scaled for a solver.
    """
    assert svm.linear_constraints is not None
    m = svm.linear_constraints.unconstrained_dual.m
    name = MULTIPLIERS if textbook else SCALED_MULTIPLIERS
    return replace(qp, variables={"alpha": slice(0, m), name: slice(m, svm.m)})


def read_multipliers(parts: Mapping[str, FloatArray], rows: ConstraintRows) -> FloatArray:
    """Read the multipliers λ (p,) of the linear constraints, scaled for a solver.

    parts: The blocks of a dual's point, or the multipliers of a primal, by name and in either units.
    """
    for name in (SCALED_MULTIPLIERS, SCALED_ROWS):
        if name in parts:
            return parts[name]
    return parts[MULTIPLIERS if MULTIPLIERS in parts else ROWS] * rows.scale


def add_ones_feature(gram: Operator, ones: FloatArray) -> Operator:
    """Add the feature of a penalised intercept to a Gram matrix (n, n).

    ones (n,): Values of the feature; 1 for a sample.
    """
    if isinstance(gram, LowRank):
        Z = gram.Z
        column = ones[:, None]
        return LowRank(sp.csr_array(sp.hstack([Z, sp.csr_array(column)])) if sp.issparse(Z) else np.hstack([Z, column]))
    return Dense(gram.dense() + np.outer(ones, ones))
