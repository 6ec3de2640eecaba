"""Build the optimality system of the free rows of an optimum (`OptimalitySystem`).

    (SENSE.1)  M = [−R, E_Fᵀ; E_F, Q_FF + Δ_F],  Q = s K sᵀ;   M [dμ; dα_F] = r,  dα_B = dU_B,  dα = 0 of rows at 0
    (SENSE.7)  U, ℓ, 1/δ and e are affine in C, ν, ε, the quantile and 1/λ: differences give their exact derivatives
    (SENSE.8)  U_k ∝ v_i V^(a−1), δ_k ∝ V^(c+1)/v_i and e_g ∝ V^(h_g) in the weights v of the samples i and V = Σv; the
               powers a, c and h_g are 0 or ±1

Rows of (DUAL.1) are free (F) where 0 < α < U, at 0, or at their bound (B), by (DUAL.8). The columns of E and the ridges
R belong to its groups, with multipliers μ; Δ = diag(δ).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from qpsvm.base.arrays.checks import as_matrix, as_real
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import DataError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.base.resources.limits import check_memory
from qpsvm.data.rows import RowSource
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.bordered_system import SymmetricSystem
from qpsvm.machines.problem.derived_problems import get_hyperparameters, replace_parameters, replace_samples
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.result_checks import check_result
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import RBF, Linear, Precomputed

#: Parameters in which the data of the dual are affine; for "lam", in 1/λ.
AFFINE_PARAMETERS = ("C", "lam", "nu", "epsilon", "quantile")
#: An α closer to a bound than this share of its range is at the bound.
BOUND_SHARE = 1e-8
#: A slack within this share of the size of levels and f is 0.
SLACK_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class DataChange:
    """Rates of change of the dual's data: U, ℓ, δ (m,), e (p,), and the unit of the objective."""

    upper: FloatArray
    level: FloatArray
    curvature: FloatArray
    total: FloatArray
    unit: float = 0.0


class OptimalitySystem:
    """The system (SENSE.1) at a result, over the samples S that are support vectors or on the margin.

    Of the m rows of the dual, all (m,):

    sample_index, sign: Sample of each row, and s.
    alpha, upper, curvature, t: α, U, δ, and t = ℓ − s f without the intercept's penalty.
    eta: Multipliers of α ≤ U.
    is_free, is_at_bound: Whether 0 < α < U, and whether α = U.
    is_degenerate: Whether α is at 0 or at U although the row is on its margin.

    Of the p groups: E (m, p), ridge (p,) and the multipliers mu (p,). Of the samples:

    beta (n,): β_i = Σ s_k α_k over the rows of sample i.
    S (s,), points (s, d), K (s, s): Indices of S, these samples, and their kernel matrix.
    position (n,): Index in S of each sample, or −1.
    """

    parameters: tuple[str, ...]
    degenerate: IntArray
    singular: bool

    def __init__(self, problem: DualStatement, result: SVMResult) -> None:
        _check_supported(problem, result)
        svm = problem.svm
        self.problem = problem
        self.svm = svm
        self.kernel = problem.kernel
        self.X = problem.samples.active_features
        self.sample_index: IntArray = np.arange(svm.m) if svm.rows is None else np.asarray(svm.rows)
        self.sign = np.array(svm.sign, dtype=np.float64)
        self.E = np.array([group.column for group in svm.groups]).reshape(len(svm.groups), svm.m).T
        self.ridge = np.array([group.ridge for group in svm.groups])
        self.upper = np.array(svm.upper, dtype=np.float64)
        self.curvature = np.array(svm.curvature, dtype=np.float64)
        self.alpha = problem._restrict_to_dual(result.alpha)
        multipliers = {**result.extras, "b": result.b, "rho": result.rho}
        self.mu = np.array([multipliers[group.multiplier] for group in svm.groups], dtype=np.float64)
        self.t = problem._restrict_to_dual(result.margin - result.yf)
        self.rho = float(result.rho)
        self.objective = float(result.dual)
        self.beta: FloatArray = np.asarray(
            np.bincount(self.sample_index, self.sign * self.alpha, svm.n), dtype=np.float64
        )
        levels = problem._restrict_to_dual(result.margin)
        size = np.abs(levels).max(initial=0.0) + np.abs(result.yf).max(initial=0.0)
        self._classify_rows(levels, size)
        active = np.flatnonzero(self.beta != 0.0)
        self.S: IntArray = np.union1d(active, self.sample_index[self.is_free | self.is_degenerate])
        check_memory(3 * len(self.S), len(self.S), "derivatives need the kernel matrix of the support vectors, which")
        self.points: FloatArray = as_dense(self.X[self.S])
        self.position = np.full(svm.n, -1)
        self.position[self.S] = np.arange(len(self.S))
        if len(self.S):
            self.K = as_dense(self._evaluate_kernel(self.points, self.points))
        else:
            self.K = np.zeros((0, 0))
        self._changes: dict[str, DataChange] = {}
        self.parameters = tuple(
            name for name in AFFINE_PARAMETERS if _is_number(get_hyperparameters(problem).get(name))
        )
        if isinstance(self.kernel, RBF):
            self.parameters += ("gamma",)
        self._factor = SymmetricSystem(self._build_matrix(np.flatnonzero(self.is_free)), self._scale)
        self.singular = self._factor.singular

    def _classify_rows(self, levels: FloatArray, size: float) -> None:
        """Find the rows that are free, at their upper bound, and degenerate.

        levels (m,): ℓ, with the width of the tube of a ν-SVR.
        size: Size of levels and f, to which distances from the margin are relative.
        """
        largest_alpha = self.alpha.max(initial=0.0)
        width = np.minimum(self.upper, largest_alpha if largest_alpha > 0.0 else 1.0)
        is_at_zero = self.alpha <= BOUND_SHARE * width
        is_at_upper = self.upper - self.alpha <= BOUND_SHARE * width
        self.is_free = ~is_at_zero & ~is_at_upper
        self.is_at_bound = is_at_upper & ~is_at_zero
        finite_upper = np.where(self.is_at_bound, self.upper, 0.0)
        distance = np.where(self.is_at_bound, self.t - self.curvature * finite_upper, -self.t)  # from the margin
        self.eta = np.where(self.is_at_bound, np.maximum(distance, 0.0), 0.0)
        is_degenerate = ~self.is_free & (distance <= SLACK_SHARE * size)
        if self.problem._variables_per_sample == 2:
            n = self.svm.n
            # if ε = 0, the two rows of a sample determine one β
            has_twin = np.tile(levels[:n] == -levels[n:], 2)
            # a row at 0 whose twin is above 0 moves with it
            is_degenerate &= ~has_twin | np.roll(is_at_zero, n)
            # if both are at 0, then β = 0 is inside −U < β < U
            has_degenerate_twin = has_twin & np.roll(is_degenerate, n)
            is_inside = (is_degenerate & has_degenerate_twin & is_at_zero)[:n]
            self.is_free[:n] |= is_inside
            is_degenerate &= ~np.tile(is_inside, 2)
        self.is_degenerate = is_degenerate
        self.degenerate: IntArray = np.flatnonzero(self.problem._expand_from_dual(is_degenerate))

    def _evaluate_kernel(self, A: Any, B: Any) -> Any:
        """Return the kernel matrix of points A (a, d) and B (b, d): (a, b), sparse if both are."""
        if isinstance(self.kernel, Linear):
            return A @ B.T
        return self.kernel(A, B)

    def check_points(self, X: Any) -> Any:
        """Return new points as a checked array (q, d). Raises DataError."""
        return as_matrix(X, "X", self.problem.X.shape[1])

    @property
    def _scale(self) -> float:
        """Largest diagonal entry of K in absolute value; 1 if that is 0."""
        size = float(np.abs(self.K.diagonal()).max(initial=0.0))
        return size if size > 0.0 else 1.0

    def _compute_Q(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return s_k s_l K_kl: (rows, columns)."""
        K = self.K[np.ix_(self.position[self.sample_index[rows]], self.position[self.sample_index[columns]])]
        return np.asarray(self.sign[rows, None] * K * self.sign[columns])

    def _build_matrix(self, rows: IntArray) -> FloatArray:
        """Build M of (SENSE.1)."""
        p = len(self.ridge)
        f = len(rows)
        M = np.zeros((p + f, p + f))
        M[:p, :p] = -np.diag(self.ridge)
        M[:p, p:] = self.E[rows].T
        M[p:, :p] = self.E[rows]
        M[p:, p:] = self._compute_Q(rows, rows) + np.diag(self.curvature[rows])
        return M

    def _differentiate_by_scalars(self, parameters: Mapping[str, Any]) -> tuple[DataChange, float]:
        """Return the rates of the dual's data for rates of scalar parameters, and the rate of γ.

        Raises UnknownOptionError, ParameterError.
        """
        gamma = 0.0
        zeros = np.zeros(self.svm.m)
        change = DataChange(zeros, zeros, zeros, np.zeros(len(self.mu)))
        for name, value in parameters.items():
            if name not in self.parameters:
                raise UnknownOptionError(
                    f"{self.problem.title} has no derivative with respect to {name!r}; "
                    f"{describe_nearest(name, self.parameters)}"
                )
            if name == "gamma":
                gamma = as_real(value, name)
            else:
                change = add_changes(change, self._differentiate_by_parameter(name), as_real(value, name))
        return change, gamma

    def _differentiate_by_parameter(self, name: str) -> DataChange:
        """Return the derivative of the dual's data with respect to a parameter: a difference, exact by (SENSE.7)."""
        if name not in self._changes:
            value = float(get_hyperparameters(self.problem)[name])
            other_value = {"lam": 2.0 * value, "epsilon": value + 1.0}.get(name, 0.5 * value)
            svm = self.svm
            other_svm = replace_parameters(self.problem, {name: other_value}).svm
            # 1/(2λ) − 1/λ = −1/(2λ) and d(1/λ) = −dλ/λ²: a difference from λ to 2λ is divided by λ/2
            step = 0.5 * value if name == "lam" else other_value - value
            upper = _divide_difference(svm.upper, other_svm.upper, step)
            level = _divide_difference(svm.level, other_svm.level, step)
            total = _divide_difference([g.total for g in svm.groups], [g.total for g in other_svm.groups], step)
            delta = np.array(svm.curvature, dtype=np.float64)
            other_delta = np.array(other_svm.curvature, dtype=np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                curvature = np.where(delta > 0.0, -np.square(delta) * (1.0 / other_delta - 1.0 / delta) / step, 0.0)
            unit = (other_svm.unit - svm.unit) / (other_value - value)  # affine in λ, not in 1/λ
            self._changes[name] = DataChange(upper, level, curvature, total, unit)
        return self._changes[name]

    def _find_weight_powers(self) -> tuple[float, float, FloatArray]:
        """Return a, c and h of (SENSE.8), (), () and (p,): if all weights double, U, δ and e grow by 2^a, 2^c and 2^h.

        They are 1 or 0, −1 or 0, and 1 or 0 for each group.
        """
        samples = self.problem.samples
        doubled_samples = TrainingSamples(
            samples.X, samples.target, samples.weight * 2.0, samples.classes, samples.feature_names
        )
        hyperparameters = {name: getattr(self.problem, name) for name in self.problem._hyperparameters}
        svm = self.svm
        doubled_svm = replace_samples(self.problem, doubled_samples, hyperparameters).svm
        upper_power = _find_power(svm.upper, doubled_svm.upper)
        curvature_power = _find_power(svm.curvature, doubled_svm.curvature)
        totals = [(g.total, h.total) for g, h in zip(svm.groups, doubled_svm.groups, strict=True)]
        return upper_power, curvature_power, np.array([np.log2(b / a) if a else 0.0 for a, b in totals])

    def _differentiate_by_weights(self, change: FloatArray) -> DataChange:
        """Return the rates of the dual's data for rates of the weights, (n,), by (SENSE.8)."""
        v = self.problem.sample_weight[self.problem.active_rows]
        upper_power, curvature_power, total_powers = self._find_weight_powers()
        own_term = (change / v)[self.sample_index]
        mean = float(change.sum() / v.sum())
        upper = np.where(np.isfinite(self.upper), self.upper, 0.0) * (own_term + (upper_power - 1.0) * mean)
        curvature = self.curvature * (-own_term + (curvature_power + 1.0) * mean)
        totals = np.array([group.total for group in self.svm.groups]) * total_powers * mean
        return DataChange(upper, np.zeros(self.svm.m), curvature, totals)

    def _differentiate_by_targets(self, change: FloatArray) -> DataChange:
        """Return the rates of the dual's data for rates of the targets, (n,): ℓ = s t + a term independent of t."""
        if self.problem._target_kind != "numbers":
            raise UnsupportedError(f"the targets of a {type(self.problem).__name__} are not numbers")
        zeros = np.zeros(self.svm.m)
        return DataChange(zeros, self.sign * change[self.sample_index], zeros, np.zeros(len(self.mu)))

    def _check_kernel_differentiable(self) -> None:
        if not isinstance(self.kernel, (Linear, RBF)):
            raise UnsupportedError(
                f"derivatives with respect to X need the kernel Linear() or RBF(), not {self.kernel}"
            )

    def _differentiate_kernel_product(
        self, A: FloatArray, B: FloatArray, c: FloatArray, dA: FloatArray, dB: FloatArray, gamma: float
    ) -> FloatArray:
        """Return dK(A, B) c for rates dA, dB of the points and gamma of γ: (a,)."""
        if isinstance(self.kernel, Linear):
            return np.asarray(dA @ (B.T @ c) + A @ (dB.T @ c))
        if not isinstance(self.kernel, RBF) or not (gamma or dA.any() or dB.any()):
            return np.zeros(len(A))
        K = as_dense(self.kernel(A, B)) * c
        g = float(self.kernel.gamma)
        inner = (A * dA).sum(axis=1)[:, None] - A @ dB.T - dA @ B.T + (B * dB).sum(axis=1)
        return np.asarray((K * (-2.0 * g * inner - gamma * _compute_squared_distances(A, B))).sum(axis=1))

    def _differentiate_quadratic_form(
        self, a: FloatArray, A: FloatArray, c: FloatArray, B: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return the derivative of aᵀK(A, B)c with respect to A, (a, d), and with respect to γ."""
        if isinstance(self.kernel, Linear):
            return a[:, None] * (B.T @ c), 0.0
        if not isinstance(self.kernel, RBF):
            return np.zeros_like(A), 0.0
        derivative = np.zeros_like(A)
        rows = np.flatnonzero(a)
        columns = np.flatnonzero(c)
        if not len(rows) or not len(columns):
            return derivative, 0.0
        A, B = A[rows], B[columns]
        K = a[rows, None] * as_dense(self.kernel(A, B)) * c[columns]
        derivative[rows] = -2.0 * float(self.kernel.gamma) * (K.sum(axis=1)[:, None] * A - K @ B)
        return derivative, -float((K * _compute_squared_distances(A, B)).sum())


def _compute_squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return ‖a − b‖² of all pairs of rows: (a, b)."""
    return np.asarray(cdist(A, B, "sqeuclidean"))


def _divide_difference(values: Any, other_values: Any, step: float) -> FloatArray:
    """Return the difference to other values over a step; 0 where both are infinite."""
    a = np.array(values)
    b = np.array(other_values)
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, (b - a) / step)


def _find_power(values: Any, doubled_values: Any) -> float:
    """Return the power of 2 by which the first positive and finite value grew; 0 if there is none."""
    a = np.asarray(values)
    usable = np.flatnonzero(np.isfinite(a) & (a > 0.0))
    if not len(usable):
        return 0.0
    return float(np.log2(np.asarray(doubled_values)[usable[0]] / a[usable[0]]))


def _is_number(value: Any) -> bool:
    return isinstance(value, (float, int)) and not isinstance(value, bool)


def add_changes(a: DataChange | None, b: DataChange, factor: float = 1.0) -> DataChange:
    """Return a + factor b."""
    if a is None:
        return DataChange(factor * b.upper, factor * b.level, factor * b.curvature, factor * b.total, factor * b.unit)
    return DataChange(
        a.upper + factor * b.upper, a.level + factor * b.level, a.curvature + factor * b.curvature,
        a.total + factor * b.total, a.unit + factor * b.unit,
    )  # fmt: skip


def _has_no_tube(result: SVMResult) -> bool:
    """Return whether the result is that of a ν-SVR whose tube has the width 0, up to rounding."""
    width = result.extras.get("epsilon")
    return width is not None and not width > SLACK_SHARE * np.abs(result.yf).max(initial=0.0)


def _check_supported(problem: DualStatement, result: SVMResult) -> None:
    """Check that the optimum is (DUAL.1) with kernel values. Raises UnsupportedError, ParameterTypeError, DataError."""
    name = type(problem).__name__
    svm = problem._dual_structure
    reason = ""
    if svm.classes is not None or svm.block > 1 or svm.mix is not None:
        reason = "has rows of several classes or samples"
    elif problem.constraints:
        reason = "has linear constraints"
    elif problem._diagonal_weight:
        reason = "has levels that depend on its samples: use a OneClass"
    elif isinstance(problem.kernel, (Precomputed, FeatureMap)) or isinstance(problem.samples.X, RowSource):
        reason = "has a precomputed kernel, a feature map, or samples of a row source"
    elif problem.space.shift or problem.space.is_clipped:
        reason = "has a kernel matrix that was repaired"
    if reason:
        raise UnsupportedError(f"no derivatives of this {name}, which {reason}")
    check_result(problem.samples, result)
    if _has_no_tube(result):
        raise UnsupportedError(
            f"no derivatives of this {name}, whose tube has width 0, so that ν does not matter: use an EpsilonSVR with "
            "epsilon=0"
        )
    if not np.isfinite(result.gap) or not np.isfinite(result.b):
        raise DataError("no derivatives of a result without a finite gap and intercept")
