"""Define linear constraints on the weights or on values of f (`Constraints`, `ValueConstraints`).

    (OWN.1)  G w + c b ≤ h:  `Constraints`, with a linear kernel;  constraint j has the vector g_j, row j of G
    (OWN.2)  A f(Z) ≤ h:  `ValueConstraints`, with any kernel, where f(z) = ⟨w, φ(z)⟩ + b at points z_l, the rows of Z;
             constraint j has the vector g_j = Σ_l A_jl φ(z_l) and the coefficient c_j = Σ_l A_jl

They change the equations of every machine. Without them, P is its objective in w, b and the slacks ξ, L₀ its
Lagrangian, and (DUAL.1) its dual, whose row k has the sample x_k, sign s_k, level ℓ_k, bound U_k, curvature δ_k and
multiplier α_k. In a machine with λ, (PHINGE.2), P has λ/2 ‖w‖² in place of ½‖w‖².

    (OWN.3)  primal:  minimise P(w, b, ξ)  subject to the constraints of the machine and  ⟨g_j, w⟩ + c_j b ≤ h_j
    (OWN.4)  Lagrangian:  L = L₀ + Σ π_j (⟨g_j, w⟩ + c_j b − h_j),  π ≥ 0, where π_j is the multiplier, in units of P
             per unit of h
    (OWN.5)  ∂L/∂w = 0:  w = Σ α_k s_k φ(x_k) − Σ π_j g_j;  in a machine with λ read π_j/λ for π_j, here and in
             (OWN.6) and (OWN.11)
    (OWN.6)  ∂L/∂b = 0:  Σ α_k s_k − Σ c_j π_j = e if b is free, with the same e as without constraints: 0 for most
             machines, ν times the sum of the weights for a one-class SVM, 1 for an SVDD;  = b if b is penalised
    (OWN.7)  dual feasibility:  π_j ≥ 0, without an upper bound;  0 ≤ α_k ≤ U_k as without constraints
    (OWN.8)  complementary slackness:  π_j (h_j − ⟨g_j, w⟩ − c_j b) = 0;  the others as without constraints
    (OWN.9)  substitution of (OWN.5) and (OWN.6):  L = ℓᵀα − ½Σ δ_k α_k² − ½‖w(α, π)‖² − Σ h_j π_j,  with −½b(α, π)²
             if b is penalised;  w(α, π) and b(α, π) are the sums in (OWN.5) and (OWN.6);  in a machine with λ all terms
             but Σ h_j π_j are multiplied by λ
    (OWN.10)  dual:  minimise −L of (OWN.9)  over α, π  subject to (OWN.6), for a free b, and (OWN.7)
    (OWN.11)  f is recovered from α and π:  f(x) = Σ α_k s_k K(x_k, x) − Σ π_j ⟨g_j, φ(x)⟩ + b
    (OWN.12)  strong duality:  the optimal values of (OWN.3) and (OWN.10) differ in sign only
    (OWN.13)  weak duality:  P − D is the sum of (GAP.1) over the rows of the machine and Σ π_j (h_j − ⟨g_j, w⟩ − c_j b)

An SVDD has the radius R, the centre c and the variable μ of (SVDD.3): f(x) = R² − ‖φ(x) − c‖² is ⟨w, φ(x)⟩ + b −
K(x, x) with w = 2c and b = 2μ. So the bound of constraint j on values is h_j + Σ_l A_jl K(z_l, z_l), w is 2(Σ α_k
φ(x_k) − Σ π_j g_j), and (OWN.9) begins with Σ α_k K(x_k, x_k) − ¼‖w(α, π)‖².

An equality is two inequalities. Common constraints have constructors: signs of weights, monotonicity, budgets, bounds,
a small covariance with a group, and an order of f at given points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_matrix, as_positive, find_feature_names
from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.machines.problem.linear_constraints import UserConstraints, broadcast_values, copy_matrix


class Constraints(UserConstraints):
    """Rows over the weights of a linear machine: G w + c b ≤ h.

    Parameters
    ----------
    G : array_like or SciPy sparse, shape (p, d)
        A row for each inequality.
    h : float or array_like, shape (p,)
        The bounds of the inequalities.
    c : float or array_like, shape (p,), default=0
        The factors of b in them.
    names : sequence of str, optional
        Names of the rows, all different; by default "row 0", "row 1" and so on.

    Raises
    ------
    DataError, DataTypeError
        Shapes that do not fit, or values that are not finite numbers.

    See Also
    --------
    ValueConstraints : Rows over values of f, for any kernel.

    Examples
    --------
    The weight of the first feature may not be negative; the multiplier is the price of that:

    >>> import numpy as np
    >>> import qpsvm
    >>> X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 3.0], [0.0, 4.0]])
    >>> free = qpsvm.solve(qpsvm.CSVM(X, [0, 0, 1, 1]))
    >>> rows = qpsvm.Constraints([[-1.0, 0.0]], 0.0, names=["w0 ≥ 0"])
    >>> held = qpsvm.solve(qpsvm.CSVM(X, [0, 0, 1, 1], constraints=rows))
    >>> print(free.w.round(4), held.w.round(4) + 0.0, held.status)
    [-0.4  0.8] [0. 1.] optimal
    >>> print({name: round(multiplier, 4) for name, multiplier in held.constraint_multipliers.items()})
    {'w0 ≥ 0': 0.5}
    """

    def __init__(self, G: Any, h: ArrayLike, c: ArrayLike = 0.0, names: Sequence[str] | None = None) -> None:
        self.G: Matrix = copy_matrix(G, "G")
        super().__init__(h, names, self.G.shape[0])
        self.c = broadcast_values(c, "c", self.G.shape[0])

    @classmethod
    def _from_values(cls, Z: Matrix, a: FloatArray, h: float, names: Sequence[str]) -> Constraints:
        g = np.asarray(Z.T @ a).ravel()
        return cls(np.array([g, -g]), h, names=names)

    @classmethod
    def equal(cls, G: Any, h: ArrayLike, c: ArrayLike = 0.0, names: Sequence[str] | None = None) -> Constraints:
        """Require G w + c b = h, as two rows each.

        Parameters
        ----------
        G, h, c, names : as for `Constraints`
            The two rows of an equality are named "name ≤" and "name ≥".

        Returns
        -------
        Constraints
            2p rows. Floats w and b rarely satisfy an equality exactly: a result satisfies it up to the rounding of its
            evaluation.

        Examples
        --------
        >>> import qpsvm
        >>> rows = qpsvm.Constraints.equal([[1.0, 1.0]], 1.0, names=["budget"])
        >>> print(rows.names, rows.h)
        ('budget ≤', 'budget ≥') [ 1. -1.]
        """
        upper = cls(G, h, c, names)
        if sp.issparse(upper.G):
            both_G = sp.csr_array(sp.vstack([upper.G, -upper.G]))
        else:
            both_G = np.concatenate([upper.G, -upper.G])
        both_names = None
        if upper.names is not None:
            both_names = [f"{name} {relation}" for relation in "≤≥" for name in upper.names]
        return cls(both_G, np.concatenate([upper.h, -upper.h]), np.concatenate([upper.c, -upper.c]), both_names)

    @classmethod
    def signs(cls, X: Any, signs: Mapping[Any, int]) -> Constraints:
        """Require known signs of weights.

        Parameters
        ----------
        X : array_like, SciPy sparse or data frame, shape (n, d)
            The samples, which give the number of features and their names.
        signs : mapping of int or str to +1 or -1
            The signs of columns, by index, or by name in a data frame.

        Returns
        -------
        Constraints
            One row per sign.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> rows = qpsvm.Constraints.signs(np.zeros((1, 3)), {0: +1, 2: -1})
        >>> print(rows.G, rows.names)
        [[-1.  0.  0.]
         [ 0.  0.  1.]] ('w[0] ≥ 0', 'w[2] ≤ 0')
        """
        for column, sign in signs.items():
            if sign not in (-1, 1):
                raise ParameterError(f"the sign of column {column!r} must be +1 or -1, got {sign!r}")
        return cls.bounds(X, {column: (0.0, None) if sign > 0 else (None, 0.0) for column, sign in signs.items()})

    @classmethod
    def monotone(cls, X: Any, increasing: Sequence[Any] = (), decreasing: Sequence[Any] = ()) -> Constraints:
        """Require f to rise, or to fall, with some features, by the signs of their weights.

        Parameters
        ----------
        X : array_like, SciPy sparse or data frame, shape (n, d)
            The samples.
        increasing, decreasing : sequences of int or str
            Columns, by index or name.

        Returns
        -------
        Constraints
            One row per column.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> print(qpsvm.Constraints.monotone(np.zeros((1, 3)), increasing=[1]).names)
        ('w[1] ≥ 0',)
        """
        return cls.signs(X, {**dict.fromkeys(increasing, 1), **dict.fromkeys(decreasing, -1)})

    @classmethod
    def bounds(cls, X: Any, bounds: Mapping[Any, tuple[float | None, float | None]]) -> Constraints:
        """Require weights within bounds.

        Parameters
        ----------
        X : array_like, SciPy sparse or data frame, shape (n, d)
            The samples.
        bounds : mapping of int or str to (float or None, float or None)
            The lower and the upper bound of the weight of each column; None for no bound.

        Returns
        -------
        Constraints
            One row per bound.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> print(qpsvm.Constraints.bounds(np.zeros((1, 2)), {0: (None, 0.5)}).names)
        ('w[0] ≤ 0.5',)
        """
        width, names = _read_columns(X)
        G: list[FloatArray] = []
        h: list[float] = []
        row_names: list[str] = []
        for column, low_and_high in bounds.items():
            for sign, bound in zip((-1.0, 1.0), low_and_high, strict=True):
                if bound is not None:
                    row = np.zeros(width)
                    row[_find_column(column, width, names)] = sign
                    G.append(row)
                    h.append(0.0 + sign * bound)
                    row_names.append(f"w[{column}] {'≤' if sign > 0 else '≥'} {bound:g}")
        return cls(np.array(G).reshape(-1, width), np.array(h), names=row_names)

    @classmethod
    def budget(cls, costs: ArrayLike, limit: float, name: str = "budget") -> Constraints:
        """Require costs · w ≤ limit.

        Parameters
        ----------
        costs : array_like, shape (d,)
            The cost of a unit of each weight.
        limit : float
            Largest total cost.
        name : str
            Name of the row.

        Returns
        -------
        Constraints
            One row.

        Examples
        --------
        >>> import qpsvm
        >>> print(qpsvm.Constraints.budget([1.0, 2.0], 3.0).h)
        [3.]
        """
        return cls(np.atleast_2d(np.asarray(costs, dtype=float)), limit, names=[name])


class ValueConstraints(UserConstraints):
    """Rows over values of f at points: A f(Z) ≤ h, for any kernel.

    Parameters
    ----------
    Z : array_like or SciPy sparse, shape (q, d)
        The points.
    A : array_like or SciPy sparse, shape (p, q), or None
        A row for each inequality; None for the identity.
    h : float or array_like, shape (p,)
        The bounds of the inequalities.
    names : sequence of str, optional
        Names of the rows, all different; by default "row 0", "row 1" and so on.

    Raises
    ------
    DataError, DataTypeError
        Shapes that do not fit, or values that are not finite numbers.

    See Also
    --------
    Constraints : Rows over the weights of a linear machine.

    Examples
    --------
    Require that the prediction at x = 2 is at most 1:

    >>> import numpy as np
    >>> import qpsvm
    >>> X, t = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 1.0])
    >>> rows = qpsvm.ValueConstraints([[2.0]], None, 1.0, names=["f(2) ≤ 1"])
    >>> result = qpsvm.solve(qpsvm.EpsilonSVR(X, t, C=10.0, kernel=qpsvm.RBF(1.0), constraints=rows))
    >>> print(result.status, result.predict([[2.0]]).round(6), result.constraint_multipliers["f(2) ≤ 1"] > 0)
    optimal [1.] True
    """

    def __init__(self, Z: Any, A: Any, h: ArrayLike, names: Sequence[str] | None = None) -> None:
        self.Z: Matrix = copy_matrix(Z, "Z")
        q = self.Z.shape[0]
        self.A = freeze(sp.csr_array(sp.eye_array(q)) if A is None else sp.csr_array(as_matrix(A, "A", q), copy=True))
        super().__init__(h, names, self.A.shape[0])

    @classmethod
    def _from_values(cls, Z: Matrix, a: FloatArray, h: float, names: Sequence[str]) -> ValueConstraints:
        return cls(Z, np.array([a, -a]), h, names)

    @classmethod
    def ordered(cls, lower: Any, upper: Any, by: float = 0.0, names: Sequence[str] | None = None) -> ValueConstraints:
        """Require f(lower_k) + by ≤ f(upper_k) for pairs of points.

        Parameters
        ----------
        lower, upper : array_like or SciPy sparse, shape (p, d)
            The points, pair by pair.
        by : float
            Smallest allowed f(upper_k) − f(lower_k).
        names : sequence of str, optional
            Names of the rows.

        Returns
        -------
        ValueConstraints
            One row per pair.

        Examples
        --------
        >>> import qpsvm
        >>> rows = qpsvm.ValueConstraints.ordered([[0.0]], [[1.0]])
        >>> print(rows.A.toarray(), rows.h)
        [[ 1. -1.]] [-0.]
        """
        below, above = as_matrix(lower, "lower"), as_matrix(upper, "upper")
        p = below.shape[0]
        if above.shape != below.shape:
            raise DataError(f"lower has shape {below.shape} and upper {above.shape}: they are pairs of points")
        if sp.issparse(below) or sp.issparse(above):
            Z = sp.vstack([below, above])
        else:
            Z = np.concatenate([below, above])
        return cls(Z, sp.hstack([sp.eye_array(p), -sp.eye_array(p)]), np.full(p, -float(by)), names)

    @classmethod
    def monotone(cls, Z: Any, column: int, step: float, increasing: bool = True) -> ValueConstraints:
        """Require f(z) ≤ f(z + step·e) for the direction e of a feature, at some points z.

        Parameters
        ----------
        Z : array_like, shape (p, d)
            The points z.
        column : int
            Index of the feature.
        step : float
            Distance between the two points of each pair, positive.
        increasing : bool
            Whether f rises with the feature; False for f(z) ≥ f(z + step·e).

        Returns
        -------
        ValueConstraints
            One row per point.

        Examples
        --------
        >>> import qpsvm
        >>> rows = qpsvm.ValueConstraints.monotone([[0.0, 5.0], [1.0, 5.0]], 0, 1.0)
        >>> print(rows.Z)
        [[0. 5.]
         [1. 5.]
         [1. 5.]
         [2. 5.]]
        """
        points = as_matrix(Z, "Z")
        dense = points.toarray() if sp.issparse(points) else points
        shifted = dense.copy()
        shifted[:, column] += as_positive(step, "step")
        names = [f"{'rising' if increasing else 'falling'} in {column} at {k}" for k in range(len(dense))]
        return cls.ordered(*((dense, shifted) if increasing else (shifted, dense)), names=names)

    @classmethod
    def between(cls, Z: Any, low: float | None = None, high: float | None = None) -> ValueConstraints:
        """Require low ≤ f(z) ≤ high at every point.

        Parameters
        ----------
        Z : array_like or SciPy sparse, shape (q, d)
            The points.
        low, high : float, optional
            The bounds, at least one of them.

        Returns
        -------
        ValueConstraints
            One row per point and bound.

        Examples
        --------
        >>> import qpsvm
        >>> print(qpsvm.ValueConstraints.between([[0.0]], low=0.0).names)
        ('f(z[0]) ≥ 0',)
        """
        points = as_matrix(Z, "Z")
        q = points.shape[0]
        bounds = [(sign, bound) for sign, bound in ((-1.0, low), (1.0, high)) if bound is not None]
        if not bounds:
            raise ParameterError("between needs low, or high")
        A = sp.vstack([sign * sp.eye_array(q) for sign, _ in bounds])
        names = [f"f(z[{k}]) {'≤' if sign > 0 else '≥'} {bound:g}" for sign, bound in bounds for k in range(q)]
        return cls(points, A, np.repeat([sign * bound for sign, bound in bounds], q), names)


def _read_columns(X: Any) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of columns of X, and their names if X is a data frame."""
    names = find_feature_names(X)
    return (len(names) if names is not None else as_matrix(X).shape[1]), names


def _find_column(column: Any, width: int, names: tuple[str, ...] | None) -> int:
    """Find the index of a column that is given by index or name."""
    if isinstance(column, str):
        if names is None or column not in names:
            raise ParameterError(f"there is no column {column!r}: {'X has no names' if names is None else list(names)}")
        return names.index(column)
    index = int(column)
    if not -width <= index < width:
        raise ParameterError(f"column {index} is not among the {width} of X")
    return index % width
