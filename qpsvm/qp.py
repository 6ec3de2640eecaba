"""The quadratic program: minimise ½xᵀPx + qᵀx + r subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub.

Convention for multipliers, the same for every backend:

    (QP.1)  Px + q + Gᵀz + Aᵀy + z_box = 0,  z ≥ 0,  z_box ≤ 0 at a lower bound and ≥ 0 at an upper one.

Variables and constraint rows have names, so that a QP can be read: `print(qp)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import FloatArray, Matrix, common_value, repeated, times
from qpsvm.errors import DataError, ParameterError, ParameterTypeError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.operators import Dense, Diagonal, Operator, largest_asymmetry

#: Relative difference of P and Pᵀ that may be rounding.
ASYMMETRY = 1e-10


@dataclass(frozen=True)
class Rows:
    """A named group of constraint rows.

    Attributes
    ----------
    matrix : "G" or "A"
        Inequalities Gx ≤ h or equalities Ax = b.
    rows : slice
        Which rows of that matrix.
    formula : str
        The constraint as a person writes it.
    """

    matrix: Literal["G", "A"]
    rows: slice
    formula: str


@dataclass(frozen=True, eq=False)
class QP:
    """A convex quadratic program with named parts.

    Parameters
    ----------
    P : Operator, shape (n, n)
        Symmetric, positive semidefinite where it counts: that is the problem's business.
    q : ndarray, shape (n,)
    r : float
        Constant in the objective.
    G, h : (m, n) array or CSC array and (m,), or None
    A, b : (p, n) array or CSC array and (p,), or None
    lb, ub : ndarray, shape (n,), or None
        May be infinite.
    variables : mapping of name to slice
    constraints : mapping of name to Rows
    formula : str
        The objective as a person writes it.
    title : str
        What this QP is.

    Raises
    ------
    DataError
        Shapes that do not fit, numbers that are not finite, lb > ub.
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

    def __post_init__(self) -> None:
        if not isinstance(self.P, Operator):
            raise ParameterTypeError(f"P must be an Operator such as operators.Dense(P), got {type(self.P).__name__}")
        if self.q.ndim != 1 or not np.isfinite(self.r):
            raise DataError(f"q must be one-dimensional and r finite, got shape {self.q.shape} and r = {self.r}")
        n = len(self.q)
        if not n:
            raise DataError("a QP needs at least one variable; q is empty")
        explicit = self.P.matrix if isinstance(self.P, Dense) else self.P.d if isinstance(self.P, Diagonal) else None
        if explicit is not None and not _finite(explicit):
            raise DataError("P holds a number that is not finite")
        if self.P.shape != (n, n):
            raise DataError(f"P has shape {self.P.shape} where q has {n} entries")
        if isinstance(self.P, Dense):
            _check_symmetric(self.P.matrix)
        for matrix, vector, names in ((self.G, self.h, ("G", "h")), (self.A, self.b, ("A", "b"))):
            _check_rows(matrix, vector, n, names)
        _check_bounds(self.lb, self.ub, n)
        if not _finite(self.q):
            raise DataError(f"q is not finite in entry {int(np.flatnonzero(~np.isfinite(self.q))[0])}")
        if not self.variables:
            object.__setattr__(self, "variables", {"x": slice(0, n)})
        parts = list(self.variables.values())
        starts, stops = [part.start for part in parts], [part.stop for part in parts]
        if starts != [0, *stops[:-1]] or stops[-1] != n or any(part.stop < part.start for part in parts):
            raise DataError(f"the variables' slices must cover 0 to {n} in order, got {dict(self.variables)}")
        object.__setattr__(self, "constraints", {**self.constraints, **self._unnamed_rows()})

    def _unnamed_rows(self) -> dict[str, Rows]:
        """Names for the rows of a matrix of which no row has one; some with and some without is an error."""
        found: dict[str, Rows] = {}
        sides: tuple[tuple[Literal["G", "A"], FloatArray | None, str], ...] = (
            ("G", self.h, "Gx ≤ h"), ("A", self.b, "Ax = b"),
        )
        for matrix, side, formula in sides:
            count = 0 if side is None else len(side)
            groups = [group for group in self.constraints.values() if group.matrix == matrix]
            named = sum(group.rows.stop - group.rows.start for group in groups)
            if count and not groups:
                found[matrix] = Rows(matrix, slice(0, count), formula)
            elif named != count:
                raise DataError(f"{matrix} has {count} rows but the constraint groups name {named}; name all or none")
        return found

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.q)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """lb and ub, (n,) each, infinite where there is none."""
        return (
            repeated(-np.inf, self.n) if self.lb is None else self.lb,
            repeated(np.inf, self.n) if self.ub is None else self.ub,
        )

    def objective(self, x: FloatArray) -> float:
        """½xᵀPx + qᵀx + r at x (n,)."""
        return float(0.5 * (x @ (self.P @ x)) + self.q @ x + self.r)

    def split(self, x: FloatArray) -> dict[str, FloatArray]:
        """The named parts of x (n,)."""
        return {name: x[part] for name, part in self.variables.items()}

    def multiplier(self, name: str, z: FloatArray, y: FloatArray) -> FloatArray:
        """The multipliers of the constraint group `name`, from those of all rows of G, z, and of A, y.

        Raises
        ------
        UnknownOptionError
            No group of that name.
        """
        if name not in self.constraints:
            raise UnknownOptionError(f"no constraint group {name!r}; {nearest(name, self.constraints)}")
        group = self.constraints[name]
        return (z if group.matrix == "G" else y)[group.rows]

    def lifted(self) -> QP:
        """The equivalent sparse QP in (x, v) with v = Zᵀx, for P = ZZᵀ + diag(d).

        Returns
        -------
        QP
            P = diag(d, 1), with the rows Zᵀx − v = 0 added to A under the name "lift".

        Raises
        ------
        UnsupportedError
            P has no known factor.
        """
        factor = self.P.factor()
        if factor is None:
            raise UnsupportedError(f"P ({self.P.describe()}) has no factor to lift by; use the QP as it is")
        Z, d = factor
        k = Z.shape[1]
        lift = sp.hstack([sp.csc_array(Z).T, -sp.eye_array(k)], format="csc")
        wide_A = lift if self.A is None else sp.vstack([_widen(self.A, k), lift], format="csc")
        known = 0 if self.A is None else self.A.shape[0]
        lb, ub = self.bounds
        return QP(
            P=Diagonal(np.concatenate([d, np.ones(k)])),
            q=np.concatenate([self.q, np.zeros(k)]),
            r=self.r,
            G=None if self.G is None else _widen(self.G, k),
            h=self.h,
            A=wide_A,
            b=np.concatenate([np.zeros(0) if self.b is None else self.b, np.zeros(k)]),
            lb=np.concatenate([lb, np.full(k, -np.inf)]),
            ub=np.concatenate([ub, np.full(k, np.inf)]),
            variables={**self.variables, "v": slice(self.n, self.n + k)},
            constraints={**self.constraints, "lift": Rows("A", slice(known, known + k), "v = Zᵀx")},
            formula="½ vᵀv + ½ xᵀdiag(d)x + qᵀx",
            title=f"{self.title}, lifted",
        )

    def scaled(self, variables: Mapping[str, float], rows: Mapping[str, float], objective: float) -> QP:
        """The QP in x̃ with x = s∘x̃ a block of variables at a time, objective and rows times constants.

        Parameters
        ----------
        variables : mapping of name to float
            s for each block; 1 where absent.
        rows : mapping of name to float
            Factors of the constraint groups; 1 where absent.
        objective : float
            Factor of the objective.

        Raises
        ------
        ParameterError
            A factor that is not positive and finite.
        """
        if not all(f > 0 and math.isfinite(f) for f in (*variables.values(), *rows.values(), objective)):
            raise ParameterError(f"scales must be positive and finite: {dict(variables)}, {dict(rows)}, {objective}")
        s, g, a = self.scales(variables, rows)
        common = common_value(s)
        inverse = 1.0 / s if common is None else repeated(1.0 / common, self.n)
        return self._derived(
            P=self.P.congruence(times(float(np.sqrt(objective)), s)),
            q=times(objective, times(s, self.q)),
            r=objective * self.r,
            G=_scale_matrix(self.G, g, s),
            h=None if self.h is None else times(g, self.h),
            A=_scale_matrix(self.A, a, s),
            b=None if self.b is None else times(a, self.b),
            lb=None if self.lb is None else times(inverse, self.lb),
            ub=None if self.ub is None else times(inverse, self.ub),
            title=f"{self.title}, scaled",
        )

    def _derived(self, **changed: Any) -> QP:
        """A copy with other numbers of the same shapes, not checked again."""
        copy = object.__new__(QP)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changed)
        return copy

    def scales(
        self, variables: Mapping[str, float], rows: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The factors of every variable (n,), row of G (m,) and row of A (p,)."""
        if len(self.variables) == 1:
            s = repeated(variables.get(next(iter(self.variables)), 1.0), self.n)
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
        return self.P.nbytes + sum(vectors) + sum(_nbytes(M) for M in (self.G, self.A) if M is not None)

    def __str__(self) -> str:
        lines = [self.title, f"  minimise    {self.formula}"]
        wanted = [(group.formula, name, group.rows.stop - group.rows.start) for name, group in self.constraints.items()]
        box = [(text, "box", part.stop - part.start) for name, part in self.variables.items()
               if (text := self._box_text(name, part))]
        lead = "  subject to  "
        for text, name, count in wanted + box:
            lines.append(f"{lead}{text:<33} {name:<10}{count:>8} row{'s' if count != 1 else ''}")
            lead = " " * len(lead)
        listing = ", ".join(f"{name} {part.stop - part.start}" for name, part in self.variables.items())
        lines.append(f"  variables   {self.n}: {listing}")
        lines.append(f"  P           {self.n} × {self.n}, {self.P.describe()}")
        for name, matrix in (("G", self.G), ("A", self.A)):
            if matrix is not None:
                nonzeros = matrix.nnz if sp.issparse(matrix) else np.count_nonzero(matrix)
                kind = "sparse" if sp.issparse(matrix) else "dense"
                lines.append(f"  {name}           {matrix.shape[0]} × {matrix.shape[1]}, {kind}, {nonzeros} non-zeros")
        lines.append(f"  memory      {_human(self.nbytes)}")
        return "\n".join(lines)

    def _box_text(self, name: str, part: slice) -> str:
        lb, ub = (bound[part] for bound in self.bounds)
        if not (np.isfinite(lb).any() or np.isfinite(ub).any()):
            return ""
        low = f"{_entry(lb, 'lb')} ≤ " if np.isfinite(lb).any() else ""
        high = f" ≤ {_entry(ub, 'ub')}" if np.isfinite(ub).any() else ""
        return f"{low}{name}{high}"


def _entry(bound: FloatArray, letter: str) -> str:
    return f"{bound[0]:.6g}" if (bound == bound[0]).all() else f"{letter}_i ({bound.min():.4g} … {bound.max():.4g})"


def _human(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _nbytes(matrix: Matrix) -> int:
    if sp.issparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def _check_rows(matrix: Matrix | None, vector: FloatArray | None, n: int, names: tuple[str, str]) -> None:
    if (matrix is None) != (vector is None):
        raise DataError(f"{names[0]} and {names[1]} go together: give both or neither")
    if matrix is None or vector is None:
        return
    if vector.ndim != 1:
        raise DataError(f"{names[1]} must be one-dimensional, got shape {vector.shape}")
    if matrix.ndim != 2 or matrix.shape != (len(vector), n):
        raise DataError(f"{names[0]} has shape {matrix.shape} where ({len(vector)}, {n}) is expected")
    if not (_finite(matrix.data if sp.issparse(matrix) else matrix) and _finite(vector)):
        raise DataError(f"{names[0]} or {names[1]} holds a number that is not finite")


def _finite(values: FloatArray) -> bool:
    """Whether all values are finite: a finite sum shows it in one pass, another one has to be looked into."""
    common = common_value(values)
    if common is not None:
        return math.isfinite(common)
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(values, axis=None)) or bool(np.isfinite(values).all())


def _check_symmetric(P: FloatArray) -> None:
    """Of xᵀPx only the symmetric part counts, but solvers read one triangle."""
    i, j, difference = largest_asymmetry(P)
    if difference > ASYMMETRY:
        raise DataError(f"P is not symmetric: P[{i}, {j}] = {P[i, j]:g} and P[{j}, {i}] = {P[j, i]:g}; use (P + Pᵀ)/2")


def _check_bounds(lb: FloatArray | None, ub: FloatArray | None, n: int) -> None:
    """Shapes, NaN, infinities on the wrong side, and lb ≤ ub: two passes where nothing is wrong."""
    for name, bound in (("lb", lb), ("ub", ub)):
        if bound is not None and bound.shape != (n,):
            raise DataError(f"{name} has shape {bound.shape} where ({n},) is expected")
    low, high = -np.inf if lb is None else _shared(lb), np.inf if ub is None else _shared(ub)
    if np.all((low <= high) & (low < np.inf) & (high > -np.inf)):
        return
    for name, bound in (("lb", lb), ("ub", ub)):
        if bound is not None and np.isnan(bound).any():
            raise DataError(f"{name} has a NaN in entry {int(np.flatnonzero(np.isnan(bound))[0])}")
        if bound is not None and (bound == (np.inf if name == "lb" else -np.inf)).any():
            raise DataError(f"{name} is infinite on the wrong side: no x can satisfy it")
    if lb is not None and ub is not None:
        i = int(np.flatnonzero(lb > ub)[0])
        raise DataError(f"lb > ub in entry {i}: {lb[i]:g} > {ub[i]:g}")


def _shared(vector: FloatArray) -> float | FloatArray:
    """The one number of a `repeated` vector, or the vector."""
    value = common_value(vector)
    return vector if value is None else value


def _widen(matrix: Matrix, k: int) -> Matrix:
    return sp.hstack([sp.csc_array(matrix), sp.csc_array((matrix.shape[0], k))], format="csc")


def _scale_matrix(matrix: Matrix | None, rows: FloatArray, columns: FloatArray) -> Matrix | None:
    if matrix is None:
        return None
    if sp.issparse(matrix):
        return sp.csc_array(sp.diags_array(rows) @ matrix @ sp.diags_array(columns))
    column = common_value(columns)
    if column is None:
        return rows[:, None] * matrix * columns
    factors = column * rows
    return matrix if (factors == 1.0).all() else factors[:, None] * matrix
