"""Write the dual of a machine as signed rows over distinct samples (`SignedRows`).

    (SIGNED.1)  v = s∘α:  minimise ½ vᵀ(K_rr + Δ)v − tᵀv + Σ (E_gᵀv − e_g)²/(2R_g)  over groups g with a ridge R_g > 0
              subject to  lo ≤ v ≤ hi,  and E_gᵀv = e_g for groups without a ridge;   t = s∘ℓ,  E of (DUAL.1) times s
    (SIGNED.2)  rows with equal φ, s, t and E, and no curvature, are merged to one, whose bounds are the sums of theirs:
              any division of v among them is optimal, and α is divided in proportion to U

This is (DUAL.1) in other variables: s is the sign and ℓ the level of a row, r its sample, so that K_rr has the kernel
values between the samples of rows, Δ = diag(δ) its curvature, and 0 ≤ α ≤ U becomes lo ≤ v ≤ hi. β (n,) sums v over the
rows of each distinct sample, and f = Kβ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.limits import check_memory
from qpsvm.machines import Problem
from qpsvm.program.svm_dual import SVMDual

#: Advice if the kernel matrix does not fit into memory.
MEMORY_ADVICE = "qpsvm.path solves as many values as you ask for, without it"


@dataclass(frozen=True, eq=False)
class Data:
    """Data of (SIGNED.1) that vary along a path: t, lo, hi (m,) and e (p,); or as columns, (m, k) and (p, k)."""

    t: FloatArray
    lo: FloatArray
    hi: FloatArray
    e: FloatArray

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """t, lo, hi and e."""
        return self.t, self.lo, self.hi, self.e

    def difference_to(self, other: Data) -> Data:
        """Return the difference to other data; 0 where both are infinite."""
        with np.errstate(invalid="ignore"):
            return Data(*(np.where(a == b, 0.0, b - a) for a, b in zip(self.parts, other.parts, strict=True)))

    def step_along(self, s: float, slope: Data) -> Data:
        """Return the data after a step s along a slope."""
        return Data(*(a + s * b for a, b in zip(self.parts, slope.parts, strict=True)))

    def copy(self) -> Data:
        """Return a writable copy."""
        return Data(*(np.array(a) for a in self.parts))

    def add(self, s: float, slope: Data) -> None:
        """Move the data by s along a slope, in place."""
        for a, b in zip(self.parts, slope.parts, strict=True):
            a += s * b


class SignedRows:
    """(SIGNED.1) without its varying data: K over distinct samples (n, n), and the sample, E and Δ of each row.

    sample (m,): r, among the distinct samples.
    E (m, p), ridge (p,), curvature (m,).
    merged_row (rows of the dual,): Index of the signed row to which each row of the dual belongs.
    first_dual_row (m,): The first row of the dual that belongs to each signed row.
    sign (rows of the dual,): s.
    distinct (n,): Index of one representative of each distinct sample.
    distinct_index: Index among the distinct samples of every sample.
    max_diagonal: Largest diagonal entry of K_rr + Δ.
    """

    def __init__(self, problem: Problem, duals: list[SVMDual]) -> None:
        svm = duals[0]
        space = problem.space
        self.svm = svm
        self.n_samples = svm.n
        ids = find_equal_samples(problem)
        self.distinct, self.distinct_index = np.unique(ids, return_inverse=True)
        K = compute_kernel_matrix(problem)
        if len(self.distinct) < svm.n:
            K = K[np.ix_(self.distinct, self.distinct)]
        self.K = np.ascontiguousarray(K, dtype=np.float64)
        self.sign = np.array(svm.sign, dtype=np.float64)
        owner = self.distinct_index[np.arange(svm.m) if svm.rows is None else np.asarray(svm.rows)]
        E = np.array([self.sign * group.column for group in svm.groups]).T.reshape(svm.m, len(svm.groups))
        levels = np.array([self.sign * dual.level for dual in duals])
        curved = np.asarray(svm.curvature) > 0.0
        row_if_curved = np.where(curved, np.arange(svm.m), -1)
        keys = np.column_stack([owner, self.sign, row_if_curved, E, levels.T])
        _, first, whole = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        self.merged_row: IntArray = whole.ravel()
        self.first_dual_row = first
        self.sample: IntArray = np.ascontiguousarray(owner[first], dtype=np.int64)
        self.E = np.ascontiguousarray(E[first])
        self.curvature = np.array(svm.curvature, dtype=np.float64)[first]
        self.ridge = np.array([group.ridge for group in svm.groups])
        self.diagonal = self.K.diagonal()[self.sample] + self.curvature
        self.max_diagonal = float(np.abs(self.diagonal).max(initial=0.0)) or 1.0
        self.has_one_row_per_sample = len(first) == len(self.K) and bool((self.sample == np.arange(len(first))).all())
        self.space = space

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether K is exactly symmetric."""
        return np.array_equal(self.K, self.K.T)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.sample)

    @property
    def p(self) -> int:
        """Number of groups."""
        return int(self.E.shape[1])

    def build_data(self, dual: SVMDual) -> Data:
        """Build the varying data of a dual with these rows."""
        upper = np.bincount(self.merged_row, np.array(dual.upper, dtype=np.float64), self.m)
        sign = self.sign[self.first_dual_row]
        t = sign * np.asarray(dual.level)[self.first_dual_row]
        e = np.array([group.total for group in dual.groups], dtype=np.float64)
        return Data(t, np.where(sign < 0.0, -upper, 0.0), np.where(sign > 0.0, upper, 0.0), e)

    def compute_v(self, alpha: FloatArray) -> FloatArray:
        """Return v (m,) for α over the rows of the dual."""
        return np.asarray(np.bincount(self.merged_row, self.sign * alpha, self.m), dtype=np.float64)

    def compute_alpha(self, v: FloatArray, upper: FloatArray) -> FloatArray:
        """Return α over the rows of the dual, (SIGNED.2), from v (m,) and U; rows at a bound are exactly at it."""
        upper = np.array(upper, dtype=np.float64)
        finite = np.where(np.isinf(upper), 1.0, upper)  # rows without bounds share equally
        total = np.bincount(self.merged_row, finite, self.m)[self.merged_row]
        share = np.divide(finite, total, out=np.zeros_like(upper), where=total > 0.0)
        alpha = np.abs(v)[self.merged_row] * share
        return np.minimum(np.where(np.abs(v)[self.merged_row] == total, finite, alpha), upper)

    def compute_f(self, v: FloatArray) -> FloatArray:
        """Return K β over the distinct samples, (n,), or (n, k) for v (m, k)."""
        return self.K @ self.compute_beta(v)

    def compute_beta(self, v: FloatArray) -> FloatArray:
        """Return β (n,), or (n, k), over the distinct samples: the sums of v over their rows."""
        if self.has_one_row_per_sample:
            return v
        if v.ndim == 1:
            return np.asarray(np.bincount(self.sample, v, len(self.K)), dtype=np.float64)
        gather = sp.csr_array((np.ones(self.m), (self.sample, np.arange(self.m))), shape=(len(self.K), self.m))
        return np.asarray(gather @ v)

    def at_rows(self, values: FloatArray) -> FloatArray:
        """Return the entries of a vector over the distinct samples at the rows, (m,) or (m, k)."""
        return values if self.has_one_row_per_sample else values[self.sample]


def compute_kernel_matrix(problem: Problem) -> FloatArray:
    """Return the kernel matrix of the samples of positive weight: (n, n).

    Raises TooLargeError before computing it.
    """
    n = problem.svm.n
    check_memory(3 * n, n, "an exact path needs the kernel matrix and a factor of a part of it, which", MEMORY_ADVICE)
    return np.asarray(problem.svm.gram.dense())


def find_equal_samples(problem: Problem) -> IntArray:
    """Return for every sample the index of the first sample equal to it: (n,).

    If a multiple of the identity was added to K, no two samples are equal.
    """
    n = problem.svm.n
    if problem.space.shift:
        return np.arange(n)
    X = problem.samples.active_features
    if sp.issparse(X) or not isinstance(X, np.ndarray):
        X = np.asarray(problem.svm.gram.dense())
    first_index: dict[bytes, int] = {}
    rows = np.ascontiguousarray(X + 0.0)  # turns −0.0 into 0.0
    return np.array([first_index.setdefault(row.tobytes(), i) for i, row in enumerate(rows)])


def check_supported(problem: Problem) -> None:
    """Check that the dual is (SIGNED.1) over known kernel values. Raises UnsupportedError."""
    name = type(problem).__name__
    svm = problem._dual_structure
    reason = ""
    if svm.classes is not None:
        reason = "several classes are in one program"
    elif svm.linear_constraints is not None:
        reason = "it has linear constraints"
    elif svm.mix is not None:
        reason = "its rows are of pairs of samples"
    elif svm.block > 1:
        reason = "its rows share a slack"
    if reason:
        raise UnsupportedError(
            f"exact paths and leave-one-out are not available for this {name}: {reason}; qpsvm.path and "
            "qpsvm.cross_validate solve one problem at a time"
        )
    if len(svm.groups) > 2 or (len(svm.groups) == 2 and svm.penalised_groups):
        raise UnsupportedError(f"the equalities of {name} share rows in a way that is not supported")
