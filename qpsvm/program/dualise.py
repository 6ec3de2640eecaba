"""Derive the dual of any convex QP mechanically (Dorn 1960), to check a derivation by hand.

Derivation
----------
F is any factor of P = FFᵀ; z_hi and z_lo belong to the finite upper and lower bounds.

    (DORN.1)  primal:  minimise ½xᵀPx + qᵀx + r  subject to  Gx ≤ h,  Ax = b,  lb ≤ x ≤ ub
    (DORN.2)  Lagrangian:  L = ½xᵀPx + qᵀx + r + zᵀ(Gx − h) + yᵀ(Ax − b) + z_hiᵀ(x − ub) − z_loᵀ(x − lb),
              z, z_hi, z_lo ≥ 0
    (DORN.3)  ∂L/∂x = 0 at x = u:  Pu + q + Gᵀz + Aᵀy + z_hi − z_lo = 0
    (DORN.4)  substitution of (DORN.3):  L = −½uᵀPu − hᵀz − bᵀy − ubᵀz_hi + lbᵀz_lo + r,  the least value over all x
    (DORN.5)  only Fᵀu matters: with v = Fᵀu, uᵀPu = ‖v‖² and Pu = Fv; v has as many entries as P has rank, and rows of
              (DORN.3) in which P is zero are conditions only on the multipliers
    (DORN.6)  dual:  minimise ½‖v‖² + hᵀz + bᵀy + ubᵀz_hi − lbᵀz_lo − r  over v, y and z, z_hi, z_lo ≥ 0
              subject to  −(Fv + Gᵀz + Aᵀy + z_hi − z_lo) = q
    (DORN.7)  strong duality:  if either QP has an optimum, so has the other, and the values differ in sign only. Any
              feasible point of (DORN.6) bounds the value of (DORN.1) from below, so where (DORN.6) is unbounded,
              (DORN.1) is infeasible
    (DORN.8)  the multipliers of the rows of (DORN.6) are x itself, by the same steps once more; hence their sign
    (DORN.9)  elimination: a variable t_p ≥ 0 or v_p that occurs in only one row is determined by it, t_p = β + Bt.
              For v_p it leaves ½(β + Bt)² in the objective; for t_p ≥ 0 the row β + Bt ≥ 0, its reduced cost, which is
              a bound where Bt has a single term

By (DORN.9) v = w and the multipliers of ξ ≥ 0 vanish from the dual of an SVM's primal. The result is the textbook dual,
with identical numbers; and the dual of that is the primal again.

Source: Dorn, *Duality in quadratic programming*, Quarterly of Applied Mathematics 18 (1960).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import ParameterTypeError, UnsupportedError
from qpsvm.program.qp import QP, Rows
from qpsvm.space.operators import Diagonal, LowRank, Operator

#: Share of nonzeros from which a dense array takes less memory than CSR: 8 bytes per entry instead of 12.
DENSE_SHARE = 2 / 3
#: The only nonlinear term of the dual's objective.
SQUARE = "½‖v‖²"


def dualise(qp: QP, *, reduced: bool = False) -> QP:
    """Return the Lagrangian dual of a convex QP, as a QP to minimise.

    Parameters
    ----------
    qp : QP
        With P positive semidefinite.
    reduced : bool, default=False
        Eliminate every variable that a row determines, (DORN.9). Exact, as it changes neither value nor solutions; but
        it divides by the diagonal part of P.

    Returns
    -------
    QP
        (DORN.6). Its value is minus that of `qp`. Variables: "v", one block for each constraint group of `qp` by its
        name, and "upper" and "lower", one entry for each finite bound in order. Rows: "stationarity", whose multipliers
        are x.

        Where `reduced`, "stationarity" keeps the rows of free x that are not in P; the rows "reduced_costs" have
        the multipliers x − lb (or ub − x where there is no lb), and those with a single term are bounds.

    Raises
    ------
    UnsupportedError
        P has a negative eigenvalue: the QP is not convex, and (DORN.4) is not the least value of L.
    TooLargeError
        P has no known factor and is too large to be made dense.
    ParameterTypeError
        Not a QP, or a `reduced` that is neither True nor False.

    See Also
    --------
    derive : The dual of a machine step by step.

    References
    ----------
    Dorn, *Duality in quadratic programming*, Quarterly of Applied Mathematics 18 (1960).

    Examples
    --------
    Made mechanically from the primal, the dual of a C-SVM is the textbook's, number for number:

    >>> import numpy as np
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], C=2)
    >>> dual = qpsvm.dualise(problem.qp("primal"), reduced=True)
    >>> textbook = problem.qp("dual")
    >>> print(np.array_equal(dual.P.dense(), textbook.P.dense()), np.array_equal(dual.ub, textbook.ub))
    True True
    """
    if not isinstance(qp, QP):
        raise ParameterTypeError(f"dualise takes a QP, such as problem.qp('primal'), got {type(qp).__name__}")
    if not isinstance(reduced, (bool, np.bool_)):
        raise ParameterTypeError(f"reduced must be True or False, got {format_value(reduced)}")
    F, d = _factorise(qp.P)
    dual = _build_dorn_dual(qp, F, d)
    if reduced:
        return _eliminate_pivots(dual, _find_pivots(qp, F.shape[1], d, dual))
    return dual


def _factorise(P: Operator) -> tuple[Matrix, FloatArray]:
    """Return F (n, k), d ≥ 0 (n,) with P = FFᵀ + diag(d): the known factor, or the positive eigenvectors with d = 0."""
    factor = P.factor()
    if factor is not None and (factor[1] >= 0).all():
        return factor
    values, vectors = eigh(P.dense())
    tolerance = len(values) * EPS * float(np.abs(values).max())
    if values[0] < -tolerance:
        raise UnsupportedError(
            f"P has the eigenvalue {values[0]:.3g}: the QP is not convex, and its Lagrangian has no least value, "
            'so there is no dual to write down; for a kernel, psd="clip" or psd="shift" makes it convex'
        )
    is_positive = values > tolerance
    return vectors[:, is_positive] * np.sqrt(values[is_positive]), np.zeros(len(values))


@dataclass(frozen=True, eq=False)
class _VariableBlock:
    """Variables of the dual: their name, columns (n, k) in (DORN.3), costs (k,), lower bound, and term as text."""

    name: str
    columns: Matrix
    cost: FloatArray
    lower_bound: float
    term: str


def _build_blocks(qp: QP, F: Matrix, d: FloatArray) -> list[_VariableBlock]:
    """Build the variables of (DORN.6), in order; blocks without a variable are omitted, unless all are empty."""
    eye = sp.eye_array(qp.n, format="csc")
    curved = np.flatnonzero(d)
    v = sp.hstack([sp.csc_array(F), eye[:, curved] * np.sqrt(d[curved])], format="csc")
    blocks = [_VariableBlock(_make_unused_name("v", qp), v, np.zeros(v.shape[1]), -np.inf, SQUARE)]
    for name, group in qp.constraints.items():
        matrix, side = (qp.G, qp.h) if group.matrix == "G" else (qp.A, qp.b)
        assert matrix is not None  # groups name existing rows
        assert side is not None
        columns = sp.csc_array(matrix[group.rows]).T
        lower_bound, letter = (0.0, "h") if group.matrix == "G" else (-np.inf, "b")
        blocks.append(_VariableBlock(name, columns, side[group.rows], lower_bound, f"{letter}ᵀ{name}"))
    for name, bound, sign, term in zip(
        ("upper", "lower"), qp.bounds[::-1], (1.0, -1.0), ("ubᵀupper", "(−lb)ᵀlower"), strict=True
    ):
        finite = np.flatnonzero(np.isfinite(bound))
        blocks.append(
            _VariableBlock(_make_unused_name(name, qp), sign * eye[:, finite], sign * bound[finite], 0.0, term)
        )
    nonempty = [block for block in blocks if len(block.cost)]
    zero_column = sp.csc_array((qp.n, 1))  # a QP needs a variable; this one has no effect
    return nonempty or [replace(blocks[0], columns=zero_column, cost=np.zeros(1))]


def _make_unused_name(name: str, qp: QP) -> str:
    """Return the name, with appended underscores if a constraint group already has it."""
    while name in qp.constraints:
        name += "_"
    return name


def _build_dorn_dual(qp: QP, F: Matrix, d: FloatArray) -> QP:
    blocks = _build_blocks(qp, F, d)
    sizes = [len(block.cost) for block in blocks]
    ends = np.cumsum(sizes).tolist()
    A = -sp.hstack([block.columns for block in blocks], format="csc")
    A.eliminate_zeros()
    curved = np.repeat([float(block.term == SQUARE) for block in blocks], sizes)
    constant = f" − ({qp.r:g})" if qp.r else ""
    return QP(  # (DORN.6)
        P=Diagonal(curved),
        q=np.concatenate([block.cost for block in blocks]),
        r=-qp.r,
        A=A,
        b=qp.q,
        lb=np.repeat([block.lower_bound for block in blocks], sizes),
        variables={block.name: slice(end - size, end) for block, size, end in zip(blocks, sizes, ends, strict=True)},
        constraints={"stationarity": Rows("A", slice(0, qp.n), "−(Fv + Gᵀz + Aᵀy + z_hi − z_lo) = q")},
        formula=" + ".join(block.term for block in blocks) + constant,
        title=f"{qp.title}: Dorn dual (DORN.6)",
    )


def _find_pivots(qp: QP, k: int, d: FloatArray, dual: QP) -> IntArray:
    """Return for each row of (DORN.6) a variable of no other row: v, else lower, else upper, else −1. (n,).

    At least one variable of the dual remains.
    """
    pivots = np.full(qp.n, -1)
    lb, ub = qp.bounds
    for name, rows, skipped in (
        ("upper", np.isfinite(ub), 0),
        ("lower", np.isfinite(lb), 0),
        ("v", d > 0, k),  # later ones have precedence
    ):
        if rows.any():
            first = dual.variables[_make_unused_name(name, qp)].start + skipped
            pivots[rows] = first + np.arange(np.count_nonzero(rows))
    determined = np.flatnonzero(pivots >= 0)
    if len(determined) == dual.n:
        pivots[determined[-1]] = -1  # a QP needs a variable
    return pivots


def _eliminate_pivots(dual: QP, pivots: IntArray) -> QP:
    """Eliminate by (DORN.9) the variable of every row that has a pivot."""
    assert isinstance(dual.P, Diagonal)  # built by `_build_dorn_dual`
    assert dual.lb is not None
    S, side = sp.csr_array(dual.A), np.asarray(dual.b)
    rows, remaining_rows = np.flatnonzero(pivots >= 0), np.flatnonzero(pivots < 0)
    eliminated = pivots[rows]
    remaining = np.setdiff1d(np.arange(dual.n), eliminated)
    factor = np.asarray(S[:, eliminated].sum(axis=0)).ravel()  # the only entry of each column
    beta = side[rows] / factor
    B = sp.csr_array(sp.diags_array(-1.0 / factor) @ S[rows][:, remaining])
    square = dual.P.d[eliminated] > 0
    slope = np.where(square, beta, dual.q[eliminated])  # of ½(β + Bt)², or of q_p(β + Bt), at t = 0
    value = float(np.where(square, 0.5, 1.0) @ (slope * beta))
    variables = _select_names(dual, remaining)
    flat = QP(
        P=_build_quadratic_term(B[square], dual.P.d[remaining]),
        q=dual.q[remaining] + B.T @ slope,
        r=dual.r + value,
        **_build_rows("G", -B[~square], beta[~square]),
        **_build_rows("A", S[remaining_rows][:, remaining], side[remaining_rows]),
        lb=dual.lb[remaining],
        variables=variables,
        formula=f"½ tᵀPt + qᵀt,  t = ({', '.join(variables)})",
        title=f"{dual.title}, reduced",
    )
    return _name_rows(_convert_rows_to_bounds(flat))


def _build_rows(matrix: Literal["G", "A"], left: Matrix, right: FloatArray) -> dict[str, Any]:
    """Return rows of G or A as arguments of the QP, None if there is no row."""
    names = ("G", "h") if matrix == "G" else ("A", "b")
    return dict(zip(names, (sp.csc_array(left), right) if len(right) else (None, None), strict=True))


def _name_rows(qp: QP) -> QP:
    """Name the remaining rows."""
    groups = {}
    if qp.h is not None:
        groups["reduced_costs"] = Rows("G", slice(0, len(qp.h)), "−Bt ≤ β")
    if qp.b is not None:
        groups["stationarity"] = Rows("A", slice(0, len(qp.b)), "−(Gᵀz + Aᵀy) = q")
    return replace(qp, constraints=groups)


def _build_quadratic_term(B: Matrix, d: FloatArray) -> Operator:
    """Return BᵀB + diag(d)."""
    if not B.shape[0]:
        return Diagonal(d)
    Z = sp.csr_array(B.T)
    dense = Z.nnz >= DENSE_SHARE * Z.shape[0] * Z.shape[1]
    return LowRank(Z.toarray() if dense else Z, d if d.any() else None)


def _select_names(qp: QP, kept: IntArray) -> dict[str, slice]:
    """Return the variables' names and slices if only some, in order, are kept."""
    ends = {name: np.searchsorted(kept, [extent.start, extent.stop]) for name, extent in qp.variables.items()}
    return {name: slice(int(start), int(stop)) for name, (start, stop) in ends.items() if stop > start}


def _convert_rows_to_bounds(qp: QP) -> QP:
    """Convert rows of G with a single entry to bounds, unless the bounds would cross: that is left to a solver."""
    if qp.G is None or qp.h is None:
        return qp
    G = sp.csr_array(qp.G)
    single = np.flatnonzero(np.diff(G.indptr) == 1)
    column, entry = G.indices[G.indptr[single]], G.data[G.indptr[single]]
    with np.errstate(over="ignore"):
        limit = qp.h[single] / entry
    lb, ub = (bound.copy() for bound in qp.bounds)
    np.minimum.at(ub, column[entry > 0], limit[entry > 0])
    np.maximum.at(lb, column[entry < 0], limit[entry < 0])
    crossing = (lb > ub) | (lb == np.inf) | (ub == -np.inf)
    lb[crossing], ub[crossing] = qp.bounds[0][crossing], qp.bounds[1][crossing]
    remaining_rows = np.setdiff1d(np.arange(G.shape[0]), single[~crossing[column]])
    return replace(
        qp,
        **_build_rows("G", G[remaining_rows], qp.h[remaining_rows]),
        lb=lb if np.isfinite(lb).any() else None,
        ub=ub if np.isfinite(ub).any() else None,
        constraints={},
    )
