"""Refine a solution of (QP.1) by solving for its active set (`polish`).

This is OSQP's polishing (Stellato et al., *OSQP*, Math. Prog. Comp. 12 (2020), section 4), with least squares in case
the active rows are dependent.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from qpsvm.base.arrays.types import as_dense
from qpsvm.bounds.program.qp_bounds import DualArguments, QPBounds

#: Largest number of unknowns of a dense system.
MAX_UNKNOWNS = 2000


def polish(program: QPBounds, start: DualArguments) -> DualArguments | None:
    """Solve for the rows and bounds that are active at the start; None if the system is too large, or fails."""
    qp = program.qp
    x, y, z = start
    n = qp.n
    if n + len(program.b) + len(program.h) > MAX_UNKNOWNS:
        return None
    slack = program.h - program.G @ x
    box = -(program.hessian.apply(x).value + qp.q + program.G.T @ z + program.A.T @ y)
    rows = np.flatnonzero(z > slack)
    at_low = (-box > x - program.lb) | (program.lb == program.ub)
    at_high = (box > program.ub - x) & ~at_low
    free = np.flatnonzero(~(at_low | at_high))
    fixed = np.where(at_low, program.lb, np.where(at_high, program.ub, 0.0))
    active = as_dense(sp.vstack([sp.csr_array(program.A), sp.csr_array(program.G)[rows]], format="csr"))
    sides = np.concatenate([program.b, program.h[rows]])
    dense = qp.P.dense()
    k, f = len(sides), len(free)
    K = np.block([[dense[np.ix_(free, free)], active[:, free].T], [active[:, free], np.zeros((k, k))]])
    right = np.concatenate([-(qp.q + dense @ fixed)[free], sides - active @ fixed])
    try:
        solution = lstsq(K, right, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
        solution += lstsq(K, right - K @ solution, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
    except np.linalg.LinAlgError:
        return None
    finer = np.zeros(len(z))
    finer[rows] = solution[f + len(y) :]
    point = fixed
    point[free] = solution[:f]
    return DualArguments(point, solution[f : f + len(y)], finer)
