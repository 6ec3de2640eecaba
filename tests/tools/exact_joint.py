"""The judge of joint machines in exact arithmetic: P, D and the feasibility of α from their definitions, in fractions.

Nothing of the library is used. Kernels are linear, or a matrix of numbers (`K`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def _exact(values: Any) -> list[Any]:
    """Arrays of floats, or of fractions, as lists of fractions."""
    array = np.asarray(values)
    return [_exact(row) for row in array] if array.ndim > 1 else [Fraction(value) for value in array.tolist()]


def exact_gap(
    X: Any,
    label: Any,
    upper: Any,
    alpha: Any,
    b: Any,
    *,
    shared: bool,
    intercept: str | None,
    w: Any = None,
    K: Any = None,
    coef: Any = None,
) -> tuple[Fraction, Fraction]:
    """P and D at the very floats given: w (k, d) for samples X, or f from coef (n, k) and a matrix K (n, n).

    Raises
    ------
    AssertionError
        α is not feasible.
    """
    n, k = np.shape(alpha)
    a, C, intercepts = _exact(alpha), _exact(upper), _exact(b)
    beta = [[-value for value in row] for row in a]
    for i in range(n):
        assert a[i][label[i]] == 0, "the own class has an alpha"
        assert all(value >= 0 for value in a[i]), "alpha is negative"
        if shared:
            assert sum(a[i]) <= C[i], "the rivals' alpha add up to more than C"
        else:
            assert all(value <= C[i] for value in a[i]), "alpha is above C"
        beta[i][label[i]] = sum(a[i])
    net = [sum(beta[i][c] for i in range(n)) for c in range(k)]
    if intercept == "free":
        assert not any(net), "a class is out of balance"
    rows = _exact(K if X is None else X)
    if X is not None:
        columns = range(len(rows[0]))
        own = [[sum(beta[i][c] * rows[i][j] for i in range(n)) for j in columns] for c in range(k)]
        given = _exact(w)
        half = sum(value * value for row in given for value in row) / 2
        half_own = sum(value * value for row in own for value in row) / 2
        f = [[sum(given[c][j] * x[j] for j in columns) + intercepts[c] for c in range(k)] for x in rows]
    else:
        kept = _exact(coef)
        u = [[sum(rows[i][j] * kept[j][c] for j in range(n)) for c in range(k)] for i in range(n)]
        half = sum(kept[i][c] * u[i][c] for i in range(n) for c in range(k)) / 2
        pairs = [(i, j) for i in range(n) for j in range(n)]
        half_own = sum(rows[i][j] * beta[i][c] * beta[j][c] for i, j in pairs for c in range(k)) / 2
        f = [[u[i][c] + intercepts[c] for c in range(k)] for i in range(n)]
    P, D = half, sum(sum(row) for row in a) - half_own
    if intercept == "penalised":
        P += sum(value * value for value in intercepts) / 2
        D -= sum(value * value for value in net) / 2
    for i in range(n):
        short = [max(1 - f[i][label[i]] + f[i][c], Fraction(0)) for c in range(k) if c != label[i]]
        P += C[i] * (max(short) if shared else sum(short))
    return P, D
