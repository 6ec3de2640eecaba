"""Define the quadratic program: minimise ½xᵀPx + qᵀx + r subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub (`QP`).

Convention for multipliers, the same for every backend:

    (QP.1)  Px + q + Gᵀz + Aᵀy + z_box = 0,  z ≥ 0,  z_box ≤ 0 at a lower bound and ≥ 0 at an upper one.

Variables and constraint rows have names, so that a QP can be read: `print(qp)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_positive, as_real_vector
from qpsvm.base.arrays.coefficients import as_vector, is_float64_array
from qpsvm.base.arrays.constant_vectors import find_common_value, multiply, repeat_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, ParameterTypeError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.program.exchange import Exchange
from qpsvm.program.parts import (
    Rows,
    as_bound,
    as_constant,
    as_constraints,
    as_operator,
    as_row_groups,
    as_variable_slices,
    check_bounds,
    check_finite,
    check_texts,
)
from qpsvm.program.printing import as_html, as_text
from qpsvm.program.svm_dual import Statement
from qpsvm.space.operators import Diagonal, Operator


@dataclass(frozen=True, eq=False)
class QP(Exchange):
    """A convex quadratic program with named parts.

    Parameters
    ----------
    P : Operator, array_like or SciPy sparse, shape (n, n)
        Symmetric; positive semidefinite at least on the directions d with Ad = 0, which is not checked here. For a
        linear program, a sparse matrix without entries.
    q : array_like, shape (n,)
        Linear part of the objective.
    r : float
        Constant in the objective.
    G, h : array_like or SciPy sparse, shape (m, n), and array_like, shape (m,), or None
        Inequalities Gx ≤ h.
    A, b : array_like or SciPy sparse, shape (p, n), and array_like, shape (p,), or None
        Equalities Ax = b.
    lb, ub : array_like, shape (n,), one number for all, or None
        May be infinite.
    variables : mapping of name to slice
        They cover 0 to n in order. By default all variables are "x".
    constraints : mapping of name to Rows
        Every row of G has one name, or none has any; the same holds for A.
    formula : str
        The objective as text, to be printed.
    title : str
        What this QP is, in words.
    statement : Statement, optional
        The SVM of which this is the dual, if a problem built it.

    Raises
    ------
    DataError
        Shapes do not fit, numbers are not finite, lb > ub, or P is not symmetric.
    DataTypeError
        Text, complex numbers or objects where numbers belong.
    TooLargeError
        A sparse P that is not diagonal, and too large to be made dense.

    See Also
    --------
    Problem.qp : The QPs of a machine.
    compile : A QP in the form of one solver.
    dualise : The dual of any QP.

    Notes
    -----
    A QP holds arrays of float64 and, for P, an `Operator`. Arguments of these types are not copied, but made read-only.

    Examples
    --------
    The point of the line x₁ + x₂ = 2 that is nearest to (3, 0), with x ≥ ½; P may be given as an array:

    >>> import qpsvm
    >>> qp = qpsvm.QP(P=[[1.0, 0.0], [0.0, 1.0]], q=[-3.0, 0.0], r=4.5, A=[[1.0, 1.0]], b=[2.0], lb=0.5, title="near")
    >>> print(qp)
    near
      minimise    ½ xᵀPx + qᵀx
      subject to  Ax = b                            A                1 row
                  0.5 ≤ x                           box              2 rows
      variables   2: x 2
      P           2 × 2, dense
      A           1 × 2, dense, 2 non-zeros
      memory      88 B
    <BLANKLINE>
                x[0]  x[1]
      P            1     0       x[0]
                   0     1       x[1]
      q           -3     0
      A            1     1  = 2  A
      lb         0.5   0.5
    >>> print(qpsvm.compile(qp, "cvxopt").solve().x.round(4))
    [1.5 0.5]
    """

    P: Operator
    q: FloatArray
    r: float = 0.0
    G: Matrix | None = None
    h: FloatArray | None = None
    A: Matrix | None = None
    b: FloatArray | None = None
    lb: FloatArray | None = None
    ub: FloatArray | None = None
    variables: Mapping[str, slice] = field(default_factory=dict)
    constraints: Mapping[str, Rows] = field(default_factory=dict)
    formula: str = "½ xᵀPx + qᵀx"
    title: str = "QP"
    statement: Statement | None = None

    def __post_init__(self) -> None:
        P = as_operator(self.P)
        q = as_vector(self.q, "q")
        n = len(q)
        if not n:
            raise DataError("a QP needs at least one variable; q is empty")
        if P.shape != (n, n):
            raise DataError(f"P has shape {P.shape} where q has {n} entries")
        G, h = as_constraints(self.G, self.h, n, ("G", "h"))
        A, b = as_constraints(self.A, self.b, n, ("A", "b"))
        lb, ub = as_bound(self.lb, "lb", n), as_bound(self.ub, "ub", n)
        check_bounds(lb, ub)
        check_finite(q, "q")
        check_texts(formula=self.formula, title=self.title)
        self.__dict__.update(P=P, q=q, r=as_constant(self.r), G=G, h=h, A=A, b=b, lb=lb, ub=ub)
        freeze_parts(self)
        names = as_variable_slices(self.variables, n)
        rows = as_row_groups(self.constraints, h, b)
        self.__dict__.update(variables=names, constraints=rows)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.q)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds lb and ub, (n,) each, infinite where there is none."""
        return (
            repeat_value(-np.inf, self.n) if self.lb is None else self.lb,
            repeat_value(np.inf, self.n) if self.ub is None else self.ub,
        )

    def objective(self, x: ArrayLike) -> float:
        """Return the value ½xᵀPx + qᵀx + r.

        Parameters
        ----------
        x : array_like, shape (n,)
            A point, feasible or not.

        Returns
        -------
        float
            In the units of the QP.

        Raises
        ------
        DataError, DataTypeError
            Not a vector of n numbers.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.QP(P=[[2.0, 0.0], [0.0, 4.0]], q=[1.0, 0.0], r=10.0)
        >>> qp.objective([1, 1])
        14.0
        """
        point = _check_vector(x, "x", self.n)
        return float(0.5 * (point @ (self.P @ point)) + self.q @ point + self.r)

    def split(self, x: ArrayLike) -> dict[str, FloatArray]:
        """Return the named parts of a point.

        Parameters
        ----------
        x : array_like, shape (n,)
            A point, feasible or not.

        Returns
        -------
        dict of str to ndarray
            One vector for each block of variables.

        Raises
        ------
        DataError, DataTypeError
            Not a vector of n numbers.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("primal")
        >>> for name, part in qp.split([1.0, -1.0, 0.0, 0.0]).items():
        ...     print(name, part)
        w [1.]
        b [-1.]
        xi [0. 0.]
        """
        point = _check_vector(x, "x", self.n)
        return {name: point[part] for name, part in self.variables.items()}

    def multiplier(self, name: str, z: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return the multipliers of one constraint group, from those of all rows.

        Parameters
        ----------
        name : str
            Name of the group, a key of `constraints`.
        z : array_like, shape (m,)
            Multipliers of the rows of G.
        y : array_like, shape (p,)
            Multipliers of the rows of A.

        Returns
        -------
        ndarray, shape (rows of the group,)
            In the signs of (QP.1).

        Raises
        ------
        UnknownOptionError
            No group of that name.
        DataError
            The number of multipliers is not that of rows.

        Examples
        --------
        The multipliers of the primal's margin rows are α:

        >>> import qpsvm
        >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("primal")
        >>> solution = qpsvm.compile(qp, "cvxopt").solve(tol=1e-9)
        >>> print(qp.multiplier("margin", solution.z, solution.y).round(5))
        [0.5 0.5]
        """
        if not isinstance(name, str) or name not in self.constraints:
            raise UnknownOptionError(
                f"no constraint group {format_value(name)}; {describe_nearest(name, self.constraints)}"
            )
        group = self.constraints[name]
        if group.matrix == "G":
            letter = "z"
            multipliers = z
            side = self.h
        else:
            letter = "y"
            multipliers = y
            side = self.b
        return _check_vector(multipliers, letter, 0 if side is None else len(side))[group.rows]

    def to_lifted(self) -> QP:
        """Return the equivalent sparse QP in (x, v) with v = Zᵀx, for P = ZZᵀ + diag(d).

        Returns
        -------
        QP
            P = diag(d, 1), with the rows Zᵀx − v = 0 added to A under the name "lift".

        Raises
        ------
        UnsupportedError
            P has no known factor.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]], [0, 0, 1])
        >>> wide = problem.qp("dual").to_lifted()
        >>> print({name: part.stop - part.start for name, part in wide.variables.items()}, wide.P)
        {'alpha': 3, 'v': 2} <Diagonal 5 × 5: diagonal, 2 non-zero>
        >>> print(wide.constraints["lift"].formula)
        v = Zᵀx
        """
        factor = self.P.factor()
        if factor is None:
            raise UnsupportedError(f"P ({self.P.describe()}) has no factor to lift by; use the QP as it is")
        Z, d = factor
        k = Z.shape[1]
        lift = sp.hstack([sp.csc_array(Z).T, -sp.eye_array(k)], format="csc")
        if self.A is None:
            A = lift
        else:
            A = sp.vstack([_pad_columns(self.A, k), lift], format="csc")
        p = 0 if self.A is None else self.A.shape[0]
        lb, ub = self.bounds
        return QP(
            P=Diagonal(np.concatenate([d, np.ones(k)])), q=np.concatenate([self.q, np.zeros(k)]), r=self.r,
            G=None if self.G is None else _pad_columns(self.G, k), h=self.h,
            A=A, b=np.concatenate([np.zeros(0) if self.b is None else self.b, np.zeros(k)]),
            lb=np.concatenate([lb, np.full(k, -np.inf)]), ub=np.concatenate([ub, np.full(k, np.inf)]),
            variables={**self.variables, "v": slice(self.n, self.n + k)},
            constraints={**self.constraints, "lift": Rows("A", slice(p, p + k), "v = Zᵀx")},
            formula="½ vᵀv + ½ xᵀdiag(d)x + qᵀx", title=f"{self.title}, lifted",
        )  # fmt: skip

    def scaled(self, variables: Mapping[str, float], rows: Mapping[str, float], objective: float) -> QP:
        """Return the QP in x̃ with x = s∘x̃, s constant in each block of variables, and scale the rows and objective.

        Parameters
        ----------
        variables : mapping of name to float
            The factor s of each block; 1 where absent.
        rows : mapping of name to float
            Factors of the constraint groups; 1 where absent.
        objective : float
            Factor of the objective.

        Returns
        -------
        QP
            With the same names of variables and constraints.

        Raises
        ------
        ParameterError, ParameterTypeError
            A factor is not positive and finite, or factors are not given as a mapping.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1], C=8).qp("dual")
        >>> half = qp.scaled({"alpha": 2.0}, {}, 4.0)  # α = 2x, and four times the objective
        >>> print(qp.ub, half.ub, half.objective([1, 1]), 4 * qp.objective([2, 2]))
        [8. 8.] [4. 4.] 16.0 16.0
        """
        for scales, name in ((variables, "variables"), (rows, "rows")):
            if not isinstance(scales, Mapping):
                raise ParameterTypeError(f"{name} must be a mapping of names to factors, got {format_value(scales)}")
        for factor in (*variables.values(), *rows.values(), objective):
            as_positive(factor, "a positive scale")
        s, g, a = self.scales(variables, rows)
        common = find_common_value(s)
        inverse = 1.0 / s if common is None else repeat_value(1.0 / common, self.n)
        return self._copy_with(
            P=self.P.congruence(multiply(float(np.sqrt(objective)), s)), q=multiply(objective, multiply(s, self.q)),
            r=objective * self.r, title=f"{self.title}, scaled",
            G=_scale_matrix(self.G, g, s), h=None if self.h is None else multiply(g, self.h),
            A=_scale_matrix(self.A, a, s), b=None if self.b is None else multiply(a, self.b),
            lb=None if self.lb is None else multiply(inverse, self.lb),
            ub=None if self.ub is None else multiply(inverse, self.ub),
            statement=None if self.statement is None else self.statement.scale(variables, rows, objective),
        )  # fmt: skip

    def _copy_with(self, **changed: Any) -> QP:
        """Return a copy with other numbers of the same shapes, without the checks of the constructor."""
        copy = object.__new__(QP)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changed)
        return copy

    def scales(
        self, variables: Mapping[str, float], rows: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the factors of every variable, row of G and row of A.

        Parameters
        ----------
        variables : mapping of name to float
            The factor of each block; 1 where absent.
        rows : mapping of name to float
            Factors of the constraint groups; 1 where absent.

        Returns
        -------
        s : ndarray, shape (n,)
            Of the variables.
        g : ndarray, shape (m,)
            Of the rows of G.
        a : ndarray, shape (p,)
            Of the rows of A.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("primal")
        >>> s, g, a = qp.scales({"w": 5.0}, {"margin": 3.0})
        >>> print(s, g, a)
        [5. 1. 1. 1.] [3. 3.] []
        """
        if len(self.variables) == 1:
            s = repeat_value(variables.get(next(iter(self.variables)), 1.0), self.n)
        else:
            s = np.ones(self.n)
            for name, part in self.variables.items():
                s[part] = variables.get(name, 1.0)
        g = np.ones(0 if self.h is None else len(self.h))
        a = np.ones(0 if self.b is None else len(self.b))
        for name, group in self.constraints.items():
            (g if group.matrix == "G" else a)[group.rows] = rows.get(name, 1.0)
        return s, g, a

    @property
    def nbytes(self) -> int:
        """Memory of P's data, the vectors and the constraint matrices, in bytes."""
        vectors = [v.nbytes for v in (self.q, self.h, self.b, self.lb, self.ub) if v is not None]
        return self.P.nbytes + sum(vectors) + sum(_count_bytes(M) for M in (self.G, self.A) if M is not None)

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def __repr__(self) -> str:
        rows = [f"{len(side)} × {self.n} {name}" for name, side in (("G", self.h), ("A", self.b)) if side is not None]
        return f"<QP {self.title!r}: {', '.join([f'{self.n} variables', *rows])}>"


def _check_vector(values: ArrayLike, name: str, n: int) -> FloatArray:
    """Return a vector of n numbers, of any value."""
    vector = values if is_float64_array(values) else as_real_vector(values, name)
    if vector.shape != (n,):
        raise DataError(f"{name} must be {n} numbers, got shape {vector.shape}")
    return vector


def _count_bytes(matrix: Matrix) -> int:
    if sp.issparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def _pad_columns(matrix: Matrix, k: int) -> Matrix:
    return sp.hstack([sp.csc_array(matrix), sp.csc_array((matrix.shape[0], k))], format="csc")


def _scale_matrix(matrix: Matrix | None, rows: FloatArray, columns: FloatArray) -> Matrix | None:
    if matrix is None:
        return None
    if sp.issparse(matrix):
        return sp.csc_array(sp.diags_array(rows) @ matrix @ sp.diags_array(columns))
    column = find_common_value(columns)
    if column is None:
        return rows[:, None] * matrix * columns
    factors = column * rows
    return matrix if (factors == 1.0).all() else factors[:, None] * matrix


__all__ = ["QP", "Rows"]
