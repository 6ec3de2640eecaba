"""The two QPs of a machine with a user's rows, (USER.2): rows of the primal, and a block of prices in the dual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.operators import Dense, LowRank, Operator
from qpsvm.problems.forms import PRICES, ROWS, SCALED_PRICES, SCALED_ROWS
from qpsvm.problems.user_rows import UserRows
from qpsvm.qp.program import QP, Rows


def primal_with_rows(qp: QP, rows: UserRows, g: Matrix, own: bool, letters: Mapping[str, str]) -> QP:
    """A primal with the rows behind its margin rows.

    Shapes: g (p, r).
    """
    assert qp.G is not None
    assert qp.h is not None
    p, b = rows.p, letters.get("b", "b")
    left = sp.lil_array((p, qp.n))
    left[:, qp.variables[letters.get("w", "w")]] = g  # (OWN.3)
    if b in qp.variables:
        left[:, qp.variables[b]] = (-rows.c if b == "rho" else rows.c)[:, None]
    start = len(qp.h)
    group = Rows("G", slice(start, start + p), _formula(rows, b in qp.variables))
    return replace(
        qp, G=sp.csc_array(sp.vstack([sp.csc_array(qp.G), sp.csc_array(left)])), h=np.concatenate([qp.h, rows.h]),
        constraints={**qp.constraints, ROWS if own else SCALED_ROWS: group},
    )  # fmt: skip


def _formula(rows: UserRows, with_b: bool) -> str:
    """What the group says, and what the first of its rows are called."""
    text = "Gw + cb ≤ h" if with_b else "Gw ≤ h"
    return f"{text}: {', '.join(rows.names[:3])}{', …' if rows.p > 3 else ''}"


def split_prices(qp: QP, svm: SVMDual, own: bool) -> QP:
    """The dual with a block of its own for the prices of the rows."""
    assert svm.users is not None
    m = svm.users.own.m
    return replace(qp, variables={"alpha": slice(0, m), PRICES if own else SCALED_PRICES: slice(m, svm.m)})


def read_prices(parts: Mapping[str, FloatArray], rows: UserRows) -> FloatArray:
    """λ (p,) as it is computed with, from blocks by name of either kind of QP."""
    for name in (SCALED_PRICES, SCALED_ROWS):
        if name in parts:
            return parts[name]
    return parts[PRICES if PRICES in parts else ROWS] * rows.scale


def with_ones(gram: Operator, ones: FloatArray) -> Operator:
    """A Gram matrix with a feature behind φ that is `ones` (n,): where the intercept is penalised."""
    if isinstance(gram, LowRank):
        Z = gram.Z
        column = ones[:, None]
        return LowRank(sp.csr_array(sp.hstack([Z, sp.csr_array(column)])) if sp.issparse(Z) else np.hstack([Z, column]))
    return Dense(gram.dense() + np.outer(ones, ones))
