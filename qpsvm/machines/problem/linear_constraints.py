"""Represent linear constraints on a machine as rows of its dual and of both QPs (`Rows`, `ConstraintRows`).

    (USER.1)  ⟨g_k, w⟩ + c_k b ≤ h_k,  g_k = Σ_l A_kl φ(z_l),  c_k = Σ_l A_kl of a row of values;  where w is a vector,
              z_k = g_k, A = I and c are the user's own
    (USER.2)  in the primal they are rows beside the margin; in the dual (DUAL.9) each is a sample of weight −1 with a
              price p_k ≥ 0, in the units of α:  w = Σ α_i s_i φ(x_i) − Σ p_k g_k,  and  Σ α_i s_i − cᵀp is what
              Σ α_i s_i is without rows:  0 or e of a free b, b itself of a penalised one
    (USER.3)  complementary slackness:  p_k (h_k − ⟨g_k, w⟩ − c_k b) = 0;  the price that a user reads, π_k = u p_k with
              the unit u of the objective over that of f (λ of (PHINGE.2), 1 of the others), is what the optimum falls
              by for a small unit of h_k
    (USER.4)  computed with are 2^−e_k times these, as long as the samples: exact in floats, and p_k is 2^e_k times

f may be a multiple of that of the dual and have −K(x, x) besides, as in an SVDD: then h is (h + AK_zz)/2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector, as_matrix, as_real_vector
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached, freeze, is_ours, repeat_value
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError, ParameterError, UnsupportedError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import RowSource, StackedRows, as_row_source
from qpsvm.program.svm_dual import DualGroup, LinearConstraints, SVMDual
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.operators import Diagonal, Operator

#: Letters of the names of the linear constraints that a table keeps.
LONGEST_NAME = 64
#: Rows of values whose length is measured by kernel values between all their points.
MAX_POINTS = 2000
#: Below this share of what it would be without cancellation, the length of a row of values is rounding.
NO_LENGTH = 1e-7
#: The largest power of two that a row is multiplied or divided by.
LARGEST_EXPONENT = 300
#: Bits of the largest share of a group's covariance: so many rows can be added up without rounding besides.
GRID = 40


class UserConstraints:
    """Linear inequalities of a user's, p rows over q points of d features: `Constraints`, or `ValueConstraints`.

    h, c (p,): Their bounds, and what b counts in each.
    """

    G: Matrix
    Z: Matrix
    A: sp.csr_array
    names: tuple[str, ...] | None

    def __init__(self, h: ArrayLike, names: Sequence[str] | None, p: int) -> None:
        self.h = broadcast_values(h, "h", p)
        self.names = None if names is None else (names,) if isinstance(names, str) else tuple(map(str, names))
        if self.names is not None and len(self.names) != p:
            raise DataError(f"names has {len(self.names)} entries for {p} rows")

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **{name: part for name, part in vars(self).items() if name[0] != "_"})

    @property
    def over_w(self) -> bool:
        """Whether the rows are over w, and not over values of f."""
        return "G" in vars(self)

    @property
    def points(self) -> Matrix:
        """The points of the values, or the rows themselves where they are over w: (q, d)."""
        return self.G if self.over_w else self.Z

    @cached
    def c(self) -> FloatArray:
        """Coefficient of b in each row of values, Σ_l A_kl, rounded once: (p,)."""
        return np.array([math.fsum(row.tolist()) for row in np.split(self.A.data, self.A.indptr[1:-1])])

    def name_rows(self, first: int) -> tuple[str, ...]:
        """Return the names of the rows; unnamed rows are numbered from `first`: (p,)."""
        return self.names or tuple(f"row {first + k}" for k in range(len(self.h)))

    @classmethod
    def _from_values(cls, Z: Matrix, a: FloatArray, h: float, names: Sequence[str]) -> Self:
        """Require ±Σ a_l f(z_l) ≤ h, where Σ a_l = 0, so that b does not matter."""
        raise NotImplementedError

    @classmethod
    def covariance(cls, X: Any, group: ArrayLike, limit: float, name: str = "covariance") -> Self:
        """|cov(group, f)| ≤ limit over samples: a linear notion of fairness between groups.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (n, d)
            Samples, those of training for example.
        group : array_like, shape (n,)
            A number for each sample; True and False count as 1 and 0.
        limit : float
            Not negative; 0 is an equality.
        name : str
            The rows are called "name ≤" and "name ≥".

        Returns
        -------
        Constraints or ValueConstraints
            Two rows, in which b has no part.

        References
        ----------
        Zafar, Valera, Gomez Rodriguez & Gummadi, *Fairness constraints*, AISTATS (2017).

        Examples
        --------
        >>> import qpsvm
        >>> rows = qpsvm.Constraints.covariance([[0.0, 1.0], [2.0, 1.0]], [False, True], 0.1)
        >>> print(rows.G, rows.h)
        [[ 0.5  0. ]
         [-0.5 -0. ]] [0.1 0.1]
        >>> print(qpsvm.ValueConstraints.covariance([[0.0], [2.0]], [0, 1], 0.1).A.toarray())
        [[-0.25  0.25]
         [ 0.25 -0.25]]
        """
        if not (np.isfinite(limit) and limit >= 0.0):
            raise ParameterError(f"limit must be finite and not negative, got {limit!r}")
        Z = as_matrix(X)
        values = as_finite_vector(np.asarray(group, dtype=float), "group", Z.shape[0])
        a: FloatArray = (values - values.mean()) / len(values)
        largest = int(np.abs(a).argmax())
        if a[largest]:  # on a grid whose sums are exact, so that b has no part in a row, not even by rounding
            grid = 2.0 ** (math.frexp(a[largest])[1] - GRID)
            a = np.round(a / grid) * grid
            a[largest] -= math.fsum(a.tolist())
        return cls._from_values(Z, a, float(limit), [f"{name} ≤", f"{name} ≥"])


def broadcast_values(values: ArrayLike, name: str, p: int) -> FloatArray:
    """Broadcast one finite number for all rows, or one per row, to an array (p,)."""
    found = as_real_vector(values, name)
    return freeze(as_finite_vector(np.full(p, float(found)) if found.ndim == 0 else values, name, p))


def copy_matrix(values: Any, name: str) -> Matrix:
    """Return a matrix that the caller cannot change: a copy, unless the library already owns it."""
    matrix = as_matrix(values, name)
    return matrix if is_ours(matrix) else freeze(matrix.copy())


@dataclass(frozen=True, eq=False)
class ConstraintRows:
    """The rows (USER.1) of one problem.

    names: Of the p rows.
    Z (q, d): The points z, or g itself.
    mix (p, q): A; None for the identity.
    c, h, h_radius (p,): In the units of f as the dual has it; how far h may be off, which is 0 where it is the
        user's own.
    scale (p,): 2^e of (USER.4): 1 where the rows are the user's own.
    b_weights (q,): What b counts at each of the points: 1, but for those that are g itself.
    original_h (p,): h as the user wrote it, of f itself.
    """

    names: tuple[str, ...]
    Z: Matrix
    mix: sp.csr_array | None
    c: FloatArray
    h: FloatArray
    h_radius: FloatArray
    scale: FloatArray
    b_weights: FloatArray
    original_h: FloatArray

    def __post_init__(self) -> None:
        for part in vars(self).values():
            freeze(part)

    @property
    def p(self) -> int:
        """Number of rows."""
        return len(self.names)

    def rescale(self, lengths: FloatArray, usual: float) -> ConstraintRows:
        """Scale the rows by (USER.4), for the lengths of g, (p,), and that of a sample."""
        size = np.maximum(lengths, np.abs(self.c) * usual)
        with np.errstate(divide="ignore"):
            exponents = np.where(size > 0.0, np.round(np.log2(np.where(size > 0.0, size, 1.0) / usual)), 0.0)
        scale = np.exp2(np.clip(exponents, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        mix, Z = self.mix, self.Z
        if mix is None:
            Z = sp.csr_array(sp.diags_array(1.0 / scale) @ Z) if sp.issparse(Z) else Z / scale[:, None]
        else:
            mix = sp.csr_array(sp.diags_array(1.0 / scale) @ mix)
        counts = self.b_weights / scale if mix is None else self.b_weights
        return ConstraintRows(
            self.names, Z, mix, self.c / scale, self.h / scale, self.h_radius / scale, self.scale * scale, counts,
            self.original_h,
        )  # fmt: skip

    def append_points(self, X: Matrix | RowSource) -> Matrix | RowSource:
        """Append the points to the samples X (n, d): (n + q, d)."""
        if isinstance(X, RowSource):
            Z = as_dense(self.Z)
            return StackedRows([X, as_row_source(sp.csr_array(Z) if X.is_sparse else Z)])
        if sp.issparse(X) or sp.issparse(self.Z):
            return sp.csr_array(sp.vstack([sp.csr_array(X), sp.csr_array(self.Z)]))
        return np.concatenate([X, self.Z])

    def build_ones_feature(self, n: int) -> FloatArray:
        """Build the feature of ones at n samples and at the points, whose weight is b: (n + q,)."""
        return np.concatenate([np.ones(n), self.b_weights])

    def values(self, rows: Matrix) -> Matrix:
        """g in coordinates, (p, r), from those of the points, (q, r)."""
        return rows if self.mix is None else self.mix @ rows

    def find_opposite_pairs(self) -> IntArray:
        """Find pairs of opposite rows that can hold together: (k, 2)."""
        rows = self.Z if self.mix is None else self.mix
        if self.p * rows.shape[1] > BLOCK_NUMBERS:
            return np.zeros((0, 2), dtype=np.intp)
        whole = np.column_stack([as_dense(rows), self.c]) + 0.0  # no −0
        places: dict[bytes, list[int]] = {}
        for k, row in enumerate(whole):
            places.setdefault(row.tobytes(), []).append(k)
        turned = -whole + 0.0
        found = [(k, other) for k, row in enumerate(turned) for other in places.get(row.tobytes(), ()) if k < other]
        pairs = [(k, other) for k, other in found if self.h[k] + self.h[other] >= 0.0]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def extend_dual(self, own: SVMDual, gram: Operator, n: int) -> SVMDual:
        """Extend the dual of a machine over n samples by these rows, (DUAL.9).

        Shapes: gram (n + q, n + q).
        """
        p, known, wide = self.p, own.level_radius, own.upper_radius
        none = np.zeros(p)
        groups = tuple(  # (OWN.6)
            DualGroup(
                g.name,
                g.multiplier,
                np.concatenate([g.column, -self.c if g.multiplier == "b" else none]),
                g.total,
                g.ridge,
                _add_to_equality(g.formula) if g.multiplier == "b" else g.formula,
            )
            for g in own.groups
        )
        rows, mix = own.rows, own.mix
        if self.mix is not None or mix is not None:
            first = mix if mix is not None else sp.eye_array(n, format="csr")[slice(None) if rows is None else rows]
            rows, mix = None, sp.csr_array(sp.block_diag([first, sp.eye_array(p) if self.mix is None else self.mix]))
        elif rows is not None:
            rows = np.concatenate([rows, n + np.arange(p)])
        off = known is not None or bool(self.h_radius.any())
        return SVMDual(
            gram=gram,
            sign=np.concatenate([own.sign, -np.ones(p)]),
            level=np.concatenate([own.level, -self.h]),
            upper=np.concatenate([own.upper, np.full(p, np.inf)]),
            curvature=np.concatenate([own.curvature, none]),
            groups=groups,
            rows=rows,
            unit=own.unit,
            mix=mix,
            level_radius=np.concatenate([np.zeros(own.m) if known is None else known, self.h_radius]) if off else None,
            upper_radius=None if wide is None else np.concatenate([wide, none]),
            linear_constraints=LinearConstraints(
                own.with_gram(Diagonal(repeat_value(1.0, n))), self.names, self.find_opposite_pairs()
            ),
        )


def _add_to_equality(formula: str) -> str:
    """Return the formula of an equality with the term of the constraints."""
    left, _, right = formula.rpartition(" = ")
    return f"{left} − cᵀπ = {right}"


def as_constraints(constraints: Any) -> tuple[UserConstraints, ...]:
    """Return the argument `constraints=` as a tuple. Raises ParameterError."""
    items = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    for item in items:
        if not isinstance(item, UserConstraints):
            raise ParameterError(
                f"constraints must be Constraints, ValueConstraints, or a list of them, got {type(item).__name__}"
            )
    return tuple(items)


def build_computed_rows(rows: ConstraintRows, X: Matrix | RowSource, kernel: Kernel) -> ConstraintRows:
    """Scale the constraints of a problem over samples X (n, d) for computation."""
    own = X.squared_norms() if isinstance(X, RowSource) else kernel.diagonal(X)
    usual = float(np.sqrt(max(float(np.mean(own)), 0.0))) or 1.0
    return rows.rescale(compute_lengths(rows, kernel), usual)


def build_textbook_rows(
    items: Sequence[UserConstraints], kernel: Kernel, d: int, size: float = 1.0, diagonal: float = 0.0
) -> ConstraintRows:
    """Build the rows (USER.1) of the constraints as the user wrote them, over samples of d features.

    `size` and `diagonal` are f in units of that of the dual, and what it has of K(x, x) besides.

    Raises UnsupportedError, DataError, ParameterError.
    """
    if isinstance(kernel, Precomputed):
        raise UnsupportedError("linear constraints need the samples: they are not there with a precomputed kernel")
    if isinstance(kernel, FeatureMap):
        raise UnsupportedError(
            f"constraints are about features or values of a kernel, and {kernel} has features of its own: make these "
            "by its `features` and take them as samples, with a linear kernel"
        )
    names: list[str] = []
    mixes, bounds, radii, counts = [], [], [], []
    for item in items:
        Z, A, bound, off = item.points, sp.eye_array(len(item.h)), item.h, np.zeros(len(item.h))
        if item.over_w and not isinstance(kernel, Linear):
            raise UnsupportedError(
                f"Constraints are rows over w, which is no vector for the kernel {kernel}; ValueConstraints are "
                "rows over values of f, for any kernel"
            )
        if Z.shape[1] != d:
            what = "G" if item.over_w else "Z"
            raise DataError(f"{what} of the constraints has {Z.shape[1]} columns, X has {d}")
        if not item.over_w:
            A = item.A  # (OWN.2)
        if diagonal and not item.over_w:
            K = kernel.diagonal(Z)
            bound = item.h - diagonal * (A @ K)
            off = gamma(d + Z.shape[0] + 8) * (np.abs(item.h) + abs(diagonal) * (abs(A) @ np.abs(K)))
        mixes.append(A)
        bounds.append(bound / size)
        radii.append(off / size)
        counts.append(item.c if item.over_w else np.ones(Z.shape[0]))
        names += item.name_rows(len(names))
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise ParameterError(f"the name {sorted(twice)[0]!r} stands for several rows; give each row a name of its own")
    points = [item.points for item in items]
    sparse = any(sp.issparse(Z) for Z in points)
    return ConstraintRows(
        tuple(names),
        sp.csr_array(sp.vstack([sp.csr_array(Z) for Z in points])) if sparse else np.concatenate(points),
        None if all(item.over_w for item in items) else sp.csr_array(sp.block_diag(mixes)),
        np.concatenate([item.c for item in items]),  # (OWN.1)
        np.concatenate(bounds),
        np.concatenate(radii),
        np.ones(len(names)),
        np.concatenate(counts),
        np.concatenate([item.h for item in items]),
    )


def compute_lengths(rows: ConstraintRows, kernel: Kernel) -> FloatArray:
    """Compute ‖g_k‖ of the rows, 0 if it cannot be told from 0: (p,)."""
    if isinstance(kernel, Linear):
        g = rows.values(rows.Z)
        squares = np.asarray((g.multiply(g)).sum(axis=1)).ravel() if sp.issparse(g) else np.square(g).sum(axis=1)
        lengths: FloatArray = np.sqrt(squares)
        return lengths
    mix = rows.mix
    assert mix is not None
    most = np.asarray(abs(mix) @ np.sqrt(np.abs(kernel.diagonal(rows.Z))))
    if rows.Z.shape[0] > MAX_POINTS:
        return most
    squares = np.asarray((mix.multiply((mix @ kernel(rows.Z, rows.Z)))).sum(axis=1)).ravel()
    found: FloatArray = np.where(squares > (NO_LENGTH * most) ** 2, np.sqrt(np.maximum(squares, 0.0)), most)
    return found
