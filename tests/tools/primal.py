"""Build the primal QP of a machine from the floats of its dual, independently of the library's own primal."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.qp import QP, Rows
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.operators import Diagonal


def build_primal(svm: SVMDual, Z: Matrix) -> QP:
    """Build the primal over w, the multipliers and the slacks, for samples Z (n, r) in explicit coordinates."""
    m = svm.m
    r = Z.shape[1]
    q = len(svm.groups)
    if svm.mix is not None:
        rows = svm.mix @ Z
    elif svm.rows is None:
        rows = Z
    else:
        rows = Z[svm.rows]
    quadratic = np.flatnonzero(svm.curvature > 0.0)
    linear = np.flatnonzero(np.isfinite(svm.upper))
    first = np.flatnonzero((svm.curvature > 0.0) | np.isfinite(svm.upper))  # rows with a slack ξ
    second = np.intersect1d(quadratic, linear)  # rows with a second slack ζ as well
    curvature = svm.curvature[first]
    penalty = np.where(svm.curvature > 0.0, 0.0, svm.upper)[first]
    variables = {"w": slice(0, r)}
    variables |= {group.multiplier: slice(r + k, r + k + 1) for k, group in enumerate(svm.groups)}
    free = r + q
    if len(first):
        variables["xi"] = slice(free, free + len(first))
    if len(second):
        variables["zeta"] = slice(free + len(first), free + len(first) + len(second))
    inverse_curvature = np.divide(1.0, curvature, out=np.zeros(len(first)), where=curvature > 0.0)
    ridges, totals = (np.array([getattr(g, name) for g in svm.groups]) for name in ("ridge", "total"))
    diagonal = [np.ones(r), ridges, inverse_curvature, np.zeros(len(second))]
    costs = [np.zeros(r), totals, penalty, svm.upper[second]]
    others = [-group.column[:, None] for group in svm.groups]
    others += [-sp.eye_array(m, format="csc")[:, part] for part in (first, second) if len(part)]
    return QP(
        P=Diagonal(svm.unit * np.concatenate(diagonal)), q=svm.unit * np.concatenate(costs),
        G=_build_margin_rows(rows, svm.sign, others), h=-np.asarray(svm.level + 0.0),
        lb=np.concatenate([np.full(free, -np.inf), np.zeros(len(first) + len(second))]),
        variables=variables, constraints={"margin": Rows("G", slice(0, m), "")},
    )  # fmt: skip


def _build_margin_rows(Z: Matrix, sign: FloatArray, others: list[Matrix]) -> Matrix:
    """Return [−s_k z_kᵀ, further columns] (m, …) as CSC: the left-hand side of 's_k f(x_k) ≥ …' written as Gx ≤ h."""
    if sp.issparse(Z):
        weights = sp.csc_array(-(sp.diags_array(sign) @ Z))
    else:
        weights = sp.csc_array(-sign[:, None] * Z)
    return sp.hstack([weights, *(sp.csc_array(block) for block in others)], format="csc")
