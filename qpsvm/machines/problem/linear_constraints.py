"""Represent linear constraints on w, b and f as rows of both QPs of a machine (`UserConstraints`, `ConstraintRows`).

`UserConstraints` holds what the user wrote, `build_textbook_rows` joins all of it to one `ConstraintRows`, and
`build_scaled_rows` scales these for computation.

    (USER.1)  ⟨g_k, w⟩ + c_k b ≤ h_k,  g_k = Σ_l A_kl φ(z_l),  c_k = Σ_l A_kl of a row of values;  where w is a vector,
              z_k = g_k, A = I, and the user gives c
    (USER.2)  in the primal they are further rows; in the dual (DUAL.9) each is a sample with sign −1 and a multiplier
              p_k ≥ 0, in the units of α:  w = Σ α_i s_i φ(x_i) − Σ p_k g_k,  and  Σ α_i s_i − cᵀp replaces Σ α_i s_i:
              it is 0 or e for a free b, and b itself for a penalised one
    (USER.3)  complementary slackness:  p_k (h_k − ⟨g_k, w⟩ − c_k b) = 0;  the multiplier in a result, π_k = u p_k with
              the unit u of the objective divided by that of f (λ of (PHINGE.2), else 1), is the rate at which the
              optimal value decreases with h_k
    (USER.4)  for computation rows are scaled by 2^−e_k to about the length of the samples: this is exact, and
              multiplies p_k by 2^e_k

f may be a multiple of that of the dual, plus −K(x, x), as in an SVDD: then h is replaced by (h + AK_zz)/2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector, as_matrix, as_real_vector
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import cached, freeze, owns_frozen_data
from qpsvm.base.arrays.rationals import concatenate_rationals, from_constant
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError, FrozenProblemError, ParameterError, UnsupportedError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows import RowSource, StackedRows, as_row_source
from qpsvm.program.svm_dual import DualGroup, LinearConstraints, SVMDual
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.operators import Diagonal, Operator

#: Largest number of characters of the name of a linear constraint in a table.
LONGEST_NAME = 64
#: Largest number of points for which lengths of rows are computed from all kernel values between them.
MAX_POINTS = 2000
#: A length ‖g‖ below this share of Σ |A_kl| ‖φ(z_l)‖ is rounding.
ROUNDING_SHARE = 1e-7
#: Largest exponent of the power of 2 by which a row is scaled, so that this is neither 0 nor infinite.
LARGEST_EXPONENT = 300
#: Bits of the largest coefficient of a covariance. All are rounded to its last bit, so that their sums are exact.
COVARIANCE_BITS = 40


class UserConstraints:
    """Linear inequalities as a user writes them, p rows over q points of d features.

    Its subclasses are `Constraints`, over w and b, which has G, and `ValueConstraints`, over values of f, which has Z
    and A.

    h, c (p,): The bounds, and the coefficients of b.
    """

    G: Matrix
    Z: Matrix
    A: sp.csr_array
    names: tuple[str, ...] | None

    def __init__(self, h: ArrayLike, names: Sequence[str] | None, p: int) -> None:
        self.h = broadcast_values(h, "h", p)
        if names is None:
            self.names = None
        elif isinstance(names, str):
            self.names = (names,)
        else:
            self.names = tuple(map(str, names))
        if self.names is not None and len(self.names) != p:
            raise DataError(f"names has {len(self.names)} entries for {p} rows")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise FrozenProblemError(f"constraints do not change: build new {type(self).__name__} with another {name}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **{name: part for name, part in vars(self).items() if name[0] != "_"})

    @property
    def over_w(self) -> bool:
        """Whether the rows constrain w and b, not values of f."""
        return "G" in vars(self)

    @property
    def points(self) -> Matrix:
        """The points of the values, or the rows G themselves if they are over w: (q, d)."""
        return self.G if self.over_w else self.Z

    @cached
    def c(self) -> FloatArray:
        """Coefficients of b in rows over values, Σ_l A_kl, each rounded once: (p,)."""
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
        """Require |cov(group, f)| ≤ limit over samples, a linear notion of fairness between groups.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (n, d)
            Samples, for example the training set.
        group : array_like, shape (n,)
            A number for each sample; True and False count as 1 and 0.
        limit : float
            Largest covariance, not negative; 0 is an equality.
        name : str
            The rows are called "name ≤" and "name ≥".

        Returns
        -------
        Constraints or ValueConstraints
            Two rows, which do not involve b.

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
        largest_entry = int(np.abs(a).argmax())
        if a[largest_entry]:  # round to a grid on which sums are exact: Σ a_i is 0, and b cancels without rounding
            grid = 2.0 ** (math.frexp(a[largest_entry])[1] - COVARIANCE_BITS)
            a = np.round(a / grid) * grid
            a[largest_entry] -= math.fsum(a.tolist())
        return cls._from_values(Z, a, float(limit), [f"{name} ≤", f"{name} ≥"])


def broadcast_values(values: ArrayLike, name: str, p: int) -> FloatArray:
    """Broadcast one finite number for all rows, or one per row, to an array (p,)."""
    real = as_real_vector(values, name)
    return freeze(as_finite_vector(np.full(p, float(real)) if real.ndim == 0 else values, name, p))


def copy_matrix(values: Any, name: str) -> Matrix:
    """Return a matrix that the caller cannot change: a copy, unless the library already owns it."""
    matrix = as_matrix(values, name)
    return matrix if owns_frozen_data(matrix) else freeze(matrix.copy())


@dataclass(frozen=True, eq=False)
class ConstraintRows:
    """The linear constraints (USER.1) of one problem: p rows over q points.

    names: Names of the p rows.
    Z (q, d): The points z; for rows over w the vectors g themselves.
    mix (p, q): A of (USER.1); None for the identity.
    c, h, h_radius (p,): Coefficients of b, bounds, and rounding errors of h, in the units of f in the dual.
    scale (p,): 2^e of (USER.4); 1 if the rows are not scaled.
    b_weights (q,): Coefficient of b at each point: 1 if it is a point z, c if it is a vector g.
    original_h (p,): h as the user wrote it, for f itself.
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
        for value in vars(self).values():
            freeze(value)

    @property
    def p(self) -> int:
        """Number of rows."""
        return len(self.names)

    def rescale(self, lengths: FloatArray, sample_length: float) -> ConstraintRows:
        """Scale the rows by (USER.4), given the lengths of g, (p,), and the typical length of a sample."""
        sizes = np.maximum(lengths, np.abs(self.c) * sample_length)
        with np.errstate(divide="ignore"):
            exponents = np.where(sizes > 0.0, np.round(np.log2(np.where(sizes > 0.0, sizes, 1.0) / sample_length)), 0.0)
        scale = np.exp2(np.clip(exponents, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        if self.mix is None:
            left_sides = replace(self, Z=_divide_rows(self.Z, scale), b_weights=self.b_weights / scale)
        else:
            left_sides = replace(self, mix=_divide_rows(self.mix, scale))
        return replace(
            left_sides,
            c=self.c / scale,
            h=self.h / scale,
            h_radius=self.h_radius / scale,
            scale=self.scale * scale,
        )

    def append_points_to(self, X: Matrix | RowSource) -> Matrix | RowSource:
        """Append the points to the samples X (n, d): (n + q, d)."""
        if isinstance(X, RowSource):
            Z = as_dense(self.Z)
            return StackedRows([X, as_row_source(sp.csr_array(Z) if X.is_sparse else Z)])
        if sp.issparse(X) or sp.issparse(self.Z):
            return sp.csr_array(sp.vstack([sp.csr_array(X), sp.csr_array(self.Z)]))
        return np.concatenate([X, self.Z])

    def build_intercept_feature(self, n: int) -> FloatArray:
        """Build the feature whose weight is b: 1 at n samples, and `b_weights` at the points, (n + q,)."""
        return np.concatenate([np.ones(n), self.b_weights])

    def combine_points(self, coordinates: Matrix) -> Matrix:
        """Combine coordinates of the points, (q, r), to those of the vectors g, (p, r)."""
        return coordinates if self.mix is None else self.mix @ coordinates

    def find_opposite_pairs(self) -> IntArray:
        """Find pairs of rows aᵀv ≤ h and −aᵀv ≤ h' that a point can satisfy, h + h' ≥ 0: (k, 2)."""
        rows = self.Z if self.mix is None else self.mix
        if self.p * rows.shape[1] > BLOCK_NUMBERS:
            return np.zeros((0, 2), dtype=np.intp)
        matrix = np.column_stack([as_dense(rows), self.c]) + 0.0  # −0 becomes 0, so that equal rows have equal bytes
        rows_by_bytes: dict[bytes, list[int]] = {}
        for k, row in enumerate(matrix):
            rows_by_bytes.setdefault(row.tobytes(), []).append(k)
        negated = -matrix + 0.0
        pairs = [
            (k, other)
            for k, row in enumerate(negated)
            for other in rows_by_bytes.get(row.tobytes(), ())
            if k < other and self.h[k] + self.h[other] >= 0.0
        ]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def extend_dual(self, dual: SVMDual, gram: Operator, n: int) -> SVMDual:
        """Extend the dual of a machine over n samples by these rows, (DUAL.9).

        Shapes: gram (n + q, n + q).
        """
        p = self.p
        zeros = np.zeros(p)
        rows, mix = self._extend_points(dual, n)
        upper_radius = dual.upper_radius
        exact_upper = dual.exact_upper
        if exact_upper is not None:
            exact_upper = concatenate_rationals(exact_upper, from_constant(np.inf, p))
        return SVMDual(
            gram=gram,
            sign=np.concatenate([dual.sign, -np.ones(p)]),
            level=np.concatenate([dual.level, -self.h]),
            upper=np.concatenate([dual.upper, np.full(p, np.inf)]),
            curvature=np.concatenate([dual.curvature, zeros]),
            groups=tuple(self._extend_group(group) for group in dual.groups),
            rows=rows,
            unit=dual.unit,
            mix=mix,
            level_radius=self._extend_level_radius(dual),
            upper_radius=None if upper_radius is None else np.concatenate([upper_radius, zeros]),
            exact_upper=exact_upper,
            linear_constraints=LinearConstraints(
                dual.with_gram(Diagonal(repeat_value(1.0, n))), self.names, self.find_opposite_pairs()
            ),
        )

    def _extend_level_radius(self, dual: SVMDual) -> FloatArray | None:
        """Return the rounding errors of the levels, those of h last: (m + p,); None if all are 0."""
        if dual.level_radius is None and not self.h_radius.any():
            return None
        machine_radius = np.zeros(dual.m) if dual.level_radius is None else dual.level_radius
        return np.concatenate([machine_radius, self.h_radius])

    def _extend_group(self, group: DualGroup) -> DualGroup:
        """Extend an equality of the dual by the multipliers of these rows, (OWN.6)."""
        if group.multiplier != "b":
            return replace(group, column=np.concatenate([group.column, np.zeros(self.p)]))
        lhs, _, rhs = group.formula.rpartition(" = ")
        return replace(group, column=np.concatenate([group.column, -self.c]), formula=f"{lhs} − cᵀπ = {rhs}")

    def _extend_points(self, dual: SVMDual, n: int) -> tuple[IntArray | None, sp.csr_array | None]:
        """Return `SVMDual.rows` and `SVMDual.mix` with these rows after those of the machine."""
        rows, mix = dual.rows, dual.mix
        if self.mix is None and mix is None:
            return (None if rows is None else np.concatenate([rows, n + np.arange(self.p)])), None
        if mix is not None:
            machine_mix = mix
        else:
            machine_mix = sp.eye_array(n, format="csr")[slice(None) if rows is None else rows]
        constraint_mix = sp.eye_array(self.p) if self.mix is None else self.mix
        return None, sp.csr_array(sp.block_diag([machine_mix, constraint_mix]))


def as_constraints(constraints: Any) -> tuple[UserConstraints, ...]:
    """Return the argument `constraints=` as a tuple. Raises ParameterError."""
    items = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    for item in items:
        if not isinstance(item, UserConstraints):
            raise ParameterError(
                f"constraints must be Constraints, ValueConstraints, or a list of them, got {type(item).__name__}"
            )
    return tuple(items)


def build_scaled_rows(rows: ConstraintRows, X: Matrix | RowSource, kernel: Kernel) -> ConstraintRows:
    """Scale the constraints of a problem over samples X (n, d) for computation, by (USER.4)."""
    squares = X.squared_norms() if isinstance(X, RowSource) else kernel.diagonal(X)
    sample_length = float(np.sqrt(max(float(np.mean(squares)), 0.0))) or 1.0
    return rows.rescale(_compute_lengths(rows, kernel), sample_length)


def build_textbook_rows(
    items: Sequence[UserConstraints], kernel: Kernel, d: int, f_scale: float = 1.0, diagonal_weight: float = 0.0
) -> ConstraintRows:
    """Build the rows (USER.1) of the constraints as the user wrote them, over samples of d features.

    f_scale, diagonal_weight: The f of the user is `f_scale` times that of the dual, plus `diagonal_weight` K(x, x).

    Raises UnsupportedError, DataError, ParameterError.
    """
    _check_kernel(kernel)
    for item in items:
        _check_columns(item, kernel, d)
    bounds, radii = zip(*(_compute_bounds(item, kernel, diagonal_weight) for item in items), strict=True)
    mixes = [sp.eye_array(len(item.h)) if item.over_w else item.A for item in items]  # (OWN.2)
    b_weights = [item.c if item.over_w else np.ones(item.points.shape[0]) for item in items]
    names = _name_all_rows(items)
    return ConstraintRows(
        names=names,
        Z=_stack_points([item.points for item in items]),
        mix=None if all(item.over_w for item in items) else sp.csr_array(sp.block_diag(mixes)),
        c=np.concatenate([item.c for item in items]),  # (OWN.1)
        h=np.concatenate(bounds) / f_scale,
        h_radius=np.concatenate(radii) / f_scale,
        scale=np.ones(len(names)),
        b_weights=np.concatenate(b_weights),
        original_h=np.concatenate([item.h for item in items]),
    )


def _divide_rows(matrix: Matrix, divisors: FloatArray) -> Matrix:
    """Divide each row of a matrix (p, q) by its divisor, (p,)."""
    if sp.issparse(matrix):
        return sp.csr_array(sp.diags_array(1.0 / divisors) @ matrix)
    return matrix / divisors[:, None]


def _name_all_rows(items: Sequence[UserConstraints]) -> tuple[str, ...]:
    """Return the names of the rows of all constraints. Raises ParameterError if two rows have one name."""
    names: list[str] = []
    for item in items:
        names += item.name_rows(len(names))
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ParameterError(f"the name {repeated[0]!r} is used for several rows; give each row a separate name")
    return tuple(names)


def _stack_points(matrices: list[Matrix]) -> Matrix:
    """Return the rows of all matrices as one matrix, sparse if one of them is."""
    if any(sp.issparse(matrix) for matrix in matrices):
        return sp.csr_array(sp.vstack([sp.csr_array(matrix) for matrix in matrices]))
    return np.concatenate(matrices)


def _check_kernel(kernel: Kernel) -> None:
    """Check that a kernel is a function of the features of the samples. Raises UnsupportedError."""
    if isinstance(kernel, Precomputed):
        raise UnsupportedError("linear constraints need the samples: they are not there with a precomputed kernel")
    if isinstance(kernel, FeatureMap):
        raise UnsupportedError(
            f"constraints are about features or values of a kernel, and {kernel} has features of its own: make these "
            "by its `features` and take them as samples, with a linear kernel"
        )


def _check_columns(item: UserConstraints, kernel: Kernel, d: int) -> None:
    """Check that constraints fit the kernel and the number of features. Raises UnsupportedError, DataError."""
    if item.over_w and not isinstance(kernel, Linear):
        raise UnsupportedError(
            f"Constraints are rows over w, which is no vector for the kernel {kernel}; ValueConstraints are "
            "rows over values of f, for any kernel"
        )
    if item.points.shape[1] != d:
        argument = "G" if item.over_w else "Z"
        raise DataError(f"{argument} of the constraints has {item.points.shape[1]} columns, X has {d}")


def _compute_bounds(item: UserConstraints, kernel: Kernel, diagonal_weight: float) -> tuple[FloatArray, FloatArray]:
    """Return h without the term of K(x, x) in f, and bounds of its rounding errors: (p,) each."""
    if not diagonal_weight or item.over_w:
        return item.h, np.zeros(len(item.h))
    n_points, d = item.points.shape
    K = kernel.diagonal(item.points)
    radius = gamma(d + n_points + 8) * (np.abs(item.h) + abs(diagonal_weight) * (abs(item.A) @ np.abs(K)))
    return item.h - diagonal_weight * (item.A @ K), radius


def _compute_lengths(rows: ConstraintRows, kernel: Kernel) -> FloatArray:
    """Compute ‖g_k‖ of the rows, (p,); the bound Σ_l |A_kl| ‖φ(z_l)‖ if that is only rounding, or too expensive."""
    if isinstance(kernel, Linear):
        g = rows.combine_points(rows.Z)
        if sp.issparse(g):
            squares = np.asarray((g.multiply(g)).sum(axis=1)).ravel()
        else:
            squares = np.square(g).sum(axis=1)
        return np.asarray(np.sqrt(squares))
    mix = rows.mix
    assert mix is not None
    length_bounds = np.asarray(abs(mix) @ np.sqrt(np.abs(kernel.diagonal(rows.Z))))
    if rows.Z.shape[0] > MAX_POINTS:
        return length_bounds
    squares = np.asarray((mix.multiply((mix @ kernel(rows.Z, rows.Z)))).sum(axis=1)).ravel()
    is_accurate = squares > (ROUNDING_SHARE * length_bounds) ** 2
    return np.where(is_accurate, np.sqrt(np.maximum(squares, 0.0)), length_bounds)
