"""Compute derivatives of an optimum with respect to its data, from the optimality system (`Sensitivity`, `vjp`).

The optimality conditions of the free rows F of (SENSE.1) are linear equations in μ and α_F. As long as F does not
change, their derivatives are linear equations with the same matrix, whose solution is dμ and dα_F, with

    (SENSE.2)  r = [de − E_Bᵀ dU_B;  dℓ_F − α_F dδ_F − s_F(dK β) − Q_FB dU_B]
    (SENSE.3)  f = Σ β_i K(x_i, ·) + b:  df = Σ dβ_i K + β_i dK + db;  w and ‖w‖² likewise
    (SENSE.4)  d(P*) = ℓ: αᵀdℓ;  K: −½βᵀdKβ;  δ: −½Σα²dδ;  U: Σ_B (t_k − δ_kU_k)dU_k;  e: μᵀde;  all times the unit
    (SENSE.5)  backwards: for a cotangent g of (μ, α) let z = M⁻¹g_F; then e has z_μ, ℓ_F has z_F, δ_F has −α_F z_F,
               U_B has g_B − E_B z_μ − Q_BF z_F, and K_ij has −Σ s z over the rows of i, times β_j

A row at a bound with slack 0 is degenerate: it stays at the bound or becomes free, depending on the direction, by the
complementarity conditions

    (SENSE.6)  dα_k ≥ 0 and dg_k ≥ 0 for g = δα − t at 0, at U with the opposite signs, and one of them is 0

So derivatives are one-sided: that along a direction need not be minus that along the opposite one.

Sources: Chapelle, Vapnik, Bousquet & Mukherjee, *Choosing multiple parameters for support vector machines*, Machine
Learning 46 (2002); Amos & Kolter, *OptNet* (2017); Fiacco, *Introduction to sensitivity and stability analysis* (1983).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector, as_matrix, as_real
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import DataError, ParameterTypeError, UnsupportedError
from qpsvm.machines.problem.bordered_system import SymmetricSystem
from qpsvm.machines.problem.optimality_system import DataChange, OptimalitySystem, add_changes
from qpsvm.space.kernels.functions import RBF, Linear

#: Largest number of exchanges between the free rows and those at a bound, per degenerate row.
MAX_EXCHANGES = 20
#: A rate of change below this share of the others counts as 0 in (SENSE.6).
ZERO_TOL = 1e-9
#: Relative difference up to which derivatives along opposite directions count as opposite.
OPPOSITE_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class Derivative:
    """The derivative of an optimum along one direction of its data.

    Attributes
    ----------
    alpha : ndarray, shape (m,)
        Derivative of the dual variables of the result; NaN if it does not exist, which `message` explains.
    b, margin, objective : float
        Derivatives of the intercept, of ρ/‖w‖, and of the optimal value.
    w : ndarray, shape (d,), or None
        Derivative of the weights of a linear machine.
    extras : dict
        Derivatives of other primal variables: "rho", "epsilon".
    two_sided : bool
        Whether the derivative along the opposite direction is minus this one.
    message : str
        A warning, or "".
    """

    alpha: FloatArray
    b: float
    margin: float
    objective: float
    w: FloatArray | None
    extras: dict[str, float]
    two_sided: bool
    message: str
    _f: Any = field(repr=False)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the derivative of f at fixed points: (q,) of X (q, d). Raises DataError."""
        values: FloatArray = self._f(X)
        return values


@dataclass(frozen=True, eq=False)
class _Direction:
    """Rates of change of the dual's data, of γ, and of the points of S, (s, d).

    dK_beta (s,): The rate of change of Kβ at fixed β.
    """

    change: DataChange
    gamma: float
    dpoints: FloatArray
    dK_beta: FloatArray


class Sensitivity(OptimalitySystem):
    """The optimality system of a result, in which a derivative is one linear solve: `result.sensitivity()`.

    Attributes
    ----------
    problem, result
        The problem, and its optimum.
    parameters : tuple of str
        Scalar parameters that have derivatives: "C", "lam", "nu", "epsilon", "quantile", and "gamma" of an RBF kernel.
    degenerate : ndarray of int
        Indices of α at a bound with slack 0, for which derivatives are one-sided.
    singular : bool
        Whether the system is singular: several α give the same f, and some directions have no derivative.

    See Also
    --------
    vjp : Vector-Jacobian products, for PyTorch and JAX.
    exact_path : The whole path along C, λ, ν or ε, beyond the first kink.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1], C=1)
    >>> result = qpsvm.solve(problem, tol=1e-10)
    >>> change = result.sensitivity().along(C=1.0)
    >>> print(round(change.objective, 4), change.two_sided)
    2.3333 True
    >>> more = qpsvm.solve(problem.replace(C=1.001), tol=1e-10)
    >>> print(round((more.primal - result.primal) / 0.001, 4))
    2.3333
    """

    def along(
        self, *, sample_weight: ArrayLike | None = None, target: ArrayLike | None = None, X: ArrayLike | None = None,
        **parameters: float,
    ) -> Derivative:  # fmt: skip
        """Return the derivative along one direction, given as a rate for each parameter and each entry of an array.

        Parameters
        ----------
        sample_weight, target : array_like, shape (n,), optional
            Rate of each weight, and of each target of a regression.
        X : array_like, shape (n, d), optional
            Rate of each feature of each sample, with a linear or an RBF kernel.
        **parameters : float
            Rates of `parameters`, by name: `along(C=1)` is the derivative with respect to C, and `along(C=-1)` that in
            the opposite direction.

        Returns
        -------
        Derivative
            The derivatives of all parts of the result.

        Raises
        ------
        UnknownOptionError
            A parameter that the machine does not have, or that has no derivative.
        UnsupportedError
            Targets of a machine that is not a regression; samples with a kernel that is neither linear nor RBF; weights
            of 0.
        DataError, ParameterError
            Another shape, or values that are not finite.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.EpsilonSVR([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.2, 1.9, 3.1], C=100, epsilon=0.1)
        >>> change = qpsvm.solve(problem, tol=1e-10).sensitivity().along(target=[1.0, 1.0, 1.0, 1.0])
        >>> print(round(change.b, 6), abs(change.w).round(6), round(abs(change.objective), 6))
        1.0 [0.] 0.0
        """
        direction = self._read_direction(sample_weight, target, X, parameters)
        solution = self._solve_direction(direction)
        two_sided = True
        message = ""
        if solution is None:
            solution = np.full(len(self.mu), np.nan), np.full(self.svm.m, np.nan)
            two_sided = False
            message = "no derivative: at this optimum several rows compete, and α jumps along this direction"
        elif self.is_degenerate.any():
            two_sided = self._is_two_sided(direction, solution)
            message = f"{int(self.is_degenerate.sum())} α are at a bound without slack: derivatives are one-sided there"
        return self._build_derivative(*solution, direction, two_sided, message)

    def _read_direction(
        self, sample_weight: ArrayLike | None, target: ArrayLike | None, X: ArrayLike | None,
        parameters: Mapping[str, float],
    ) -> _Direction:  # fmt: skip
        """Read the arguments of `along`."""
        n = self.problem.n
        active_rows = self.problem.active_rows
        change, gamma = self._differentiate_by_scalars(parameters)
        if sample_weight is not None:
            dweight = as_finite_vector(sample_weight, "sample_weight", n)
            entering = np.flatnonzero((dweight != 0.0) & (self.problem.sample_weight == 0.0))
            if len(entering):
                raise UnsupportedError(
                    f"sample_weight[{entering[0]}] changes a weight of 0: its sample is not part of the optimum, which "
                    "has no derivative there"
                )
            change = add_changes(change, self._differentiate_by_weights(dweight[active_rows]))
        if target is not None:
            dtarget = as_finite_vector(target, "target", n)[active_rows]
            change = add_changes(change, self._differentiate_by_targets(dtarget))
        dpoints = np.zeros_like(self.points)
        if X is not None:
            self._check_kernel_differentiable()
            dX = as_dense(as_matrix(X, "X", self.problem.X.shape[1]))
            if len(dX) != n:
                raise DataError(f"X must have a row for each of the {n} samples, got {len(dX)}")
            dpoints = dX[active_rows][self.S]
        return self._build_direction(change, gamma, dpoints)

    def _build_direction(self, change: DataChange, gamma: float, dpoints: FloatArray) -> _Direction:
        """Build a direction from rates of the data, of γ and of the points."""
        dK_beta = self._differentiate_kernel_product(
            self.points, self.points, self.beta[self.S], dpoints, dpoints, gamma
        )
        return _Direction(change, gamma, dpoints, dK_beta)

    def _is_two_sided(self, direction: _Direction, solution: tuple[FloatArray, FloatArray]) -> bool:
        """Return whether the solution along the opposite direction is minus this one."""
        opposite = self._solve_direction(
            self._build_direction(add_changes(None, direction.change, -1.0), -direction.gamma, -direction.dpoints)
        )
        if opposite is None:
            return False
        zero = ZERO_TOL * (np.abs(solution[1]).max(initial=0.0) + np.abs(solution[0]).max(initial=0.0))
        pairs = zip(solution, opposite, strict=True)
        return all(np.allclose(a, -b, rtol=OPPOSITE_TOL, atol=zero) for a, b in pairs)

    def _build_derivative(
        self, dmu: FloatArray, dalpha: FloatArray, direction: _Direction, two_sided: bool, message: str
    ) -> Derivative:
        """Build the derivative by (SENSE.3), (SENSE.4)."""
        change = direction.change
        dpoints = direction.dpoints
        dK_beta = direction.dK_beta
        beta = self.beta[self.S]
        points = self.points
        K = self.K
        dbeta: FloatArray = np.asarray(np.bincount(self.sample_index, self.sign * dalpha, self.svm.n)[self.S], float)
        dmultipliers = dict(zip((group.multiplier for group in self.svm.groups), dmu.tolist(), strict=True))
        db = dmultipliers.pop("b", 0.0)
        if isinstance(self.kernel, Linear):
            dw = points.T @ dbeta + dpoints.T @ beta
        else:
            dw = None
        extras = {name: value for name, value in dmultipliers.items() if name in ("rho", "epsilon")}
        drho = extras.get("rho", -db if self.problem._target_kind == "none" else 0.0)
        if self.problem._target_kind == "none":
            extras["rho"] = drho
        length = np.sqrt(float(beta @ K @ beta))  # ‖w‖
        margin = float("nan")
        if length > 0.0:
            dsquare = float(2.0 * beta @ K @ dbeta + beta @ dK_beta)
            margin = drho / length - 0.5 * self.rho * dsquare / length**3  # of ρ/‖w‖
        value = float(self.alpha @ change.level - 0.5 * beta @ dK_beta - 0.5 * np.square(self.alpha) @ change.curvature)
        value += float(self.eta @ change.upper + self.mu @ change.total)
        objective = self.svm.unit * value + change.unit * self.objective / self.svm.unit
        if not np.isfinite(dalpha).all():
            objective = float("nan")

        return Derivative(
            self.problem._expand_from_dual(dalpha),
            db,
            float(margin),
            objective,
            dw,
            extras,
            two_sided,
            message,
            partial(self._differentiate_decision, dbeta, db, direction),
        )

    def _differentiate_decision(self, dbeta: FloatArray, db: float, direction: _Direction, X: Any) -> FloatArray:
        """Return df at fixed points X (q, d), (SENSE.3), for the rates of β of the samples S, (s,), and of b."""
        Z = as_dense(self.check_points(X))
        by_kernel = self._differentiate_kernel_product(
            Z, self.points, self.beta[self.S], np.zeros_like(Z), direction.dpoints, direction.gamma
        )
        return np.asarray(self._evaluate_kernel(Z, self.points) @ dbeta + db + by_kernel)

    def _solve_direction(self, direction: _Direction) -> tuple[FloatArray, FloatArray] | None:
        """Solve for dμ and dα: (p,), (m,); None if they do not exist.

        The system is solved with the degenerate rows at their bounds. While one of them violates (SENSE.6), it changes
        sides: it becomes free, or returns to its bound (Murty's rule for linear complementarity problems).
        """
        degenerate = np.flatnonzero(self.is_degenerate)
        freed: set[int] = set()
        for _ in range(MAX_EXCHANGES * len(degenerate) + 1):
            rows = np.sort(np.concatenate([np.flatnonzero(self.is_free), np.array(sorted(freed), dtype=np.int64)]))
            rows = rows.astype(np.int64)
            fixed = np.setdiff1d(np.flatnonzero(self.is_at_bound), rows)
            if not freed:
                factor = self._factor
            else:
                factor = SymmetricSystem(self._build_matrix(rows), self._scale)
            solution = factor.solve(self._build_right_hand_side(direction, rows, fixed))
            if solution is None:
                return None
            dmu = solution[: len(self.mu)]
            dalpha = np.zeros(self.svm.m)
            dalpha[rows] = solution[len(self.mu) :]
            dalpha[fixed] = direction.change.upper[fixed]
            misplaced = self._find_misplaced_row(degenerate, freed, dmu, dalpha, direction)
            if misplaced is None:
                return dmu, dalpha
            freed ^= {misplaced}
        return None

    def _build_right_hand_side(self, direction: _Direction, rows: IntArray, fixed: IntArray) -> FloatArray:
        """Return r of (SENSE.2), (p + f,), for the free rows, (f,), and those at the upper bound."""
        change = direction.change
        dK_beta = direction.dK_beta[self.position[self.sample_index[rows]]]
        top = change.total - self.E[fixed].T @ change.upper[fixed]
        bottom = change.level[rows] - self.alpha[rows] * change.curvature[rows] - self.sign[rows] * dK_beta
        return np.concatenate([top, bottom - self._compute_Q(rows, fixed) @ change.upper[fixed]])  # (SENSE.2)

    def _find_misplaced_row(
        self, degenerate: IntArray, freed: set[int], dmu: FloatArray, dalpha: FloatArray, direction: _Direction
    ) -> int | None:
        """Return the first degenerate row that is on the wrong side of (SENSE.6); None if all are on the right one."""
        if not len(degenerate):
            return None
        k = degenerate
        change = direction.change
        dbeta = np.bincount(self.sample_index, self.sign * dalpha, self.svm.n)[self.S]
        dKbeta = (direction.dK_beta + self.K @ dbeta)[self.position[self.sample_index[k]]]
        dt = change.level[k] - self.alpha[k] * change.curvature[k] - self.sign[k] * dKbeta
        dt = dt - self.E[k] @ dmu - self.curvature[k] * dalpha[k]  # −dg
        side = np.where(self.is_at_bound[k], -1.0, 1.0)
        inward = side * (dalpha[k] - np.where(self.is_at_bound[k], change.upper[k], 0.0))
        is_freed = np.array([row in freed for row in k.tolist()])
        zero = ZERO_TOL * (np.abs(dalpha).max(initial=0.0) + 1e-300)  # not exactly 0
        dt_zero = ZERO_TOL * (self._measure_direction(direction) + np.abs(dt).max(initial=0.0))
        is_misplaced = np.where(is_freed, inward < -zero, side * dt > dt_zero)
        return int(k[np.argmax(is_misplaced)]) if is_misplaced.any() else None

    def _measure_direction(self, direction: _Direction) -> float:
        """Return the size of the terms of (SENSE.2), to which rounding is relative."""
        change = direction.change
        size = float(np.abs(direction.dK_beta).max(initial=0.0) + np.abs(change.level).max(initial=0.0))
        upper = float(np.abs(change.upper).max(initial=0.0)) * self._scale
        return size + (upper + float(np.abs(change.total).max(initial=0.0)))

    def _vjp(
        self, X: Any = None, f: ArrayLike | None = None, *, b: float = 0.0, w: ArrayLike | None = None,
        objective: float = 0.0,
    ) -> dict[str, Any]:  # fmt: skip
        """Compute (SENSE.5): see `qpsvm.vjp`."""
        svm = self.svm
        beta = self.beta[self.S]
        points = self.points
        to_beta, to_b, to_points, to_new, gamma = self._pull_back_values(X, f, b, w)
        to_alpha = np.zeros(svm.m)
        used = np.flatnonzero(self.position[self.sample_index] >= 0)
        to_alpha[used] = self.sign[used] * to_beta[self.position[self.sample_index[used]]]
        to_mu = np.array([to_b if group.multiplier == "b" else 0.0 for group in svm.groups])
        free = np.flatnonzero(self.is_free)
        bound = np.flatnonzero(self.is_at_bound)
        z = self._factor.apply(np.concatenate([to_mu, to_alpha[free]]))
        z_mu = z[: len(to_mu)]
        z_free = z[len(to_mu) :]
        to_dual_value = as_real(objective, "objective") * svm.unit
        upper = to_dual_value * self.eta
        upper[bound] += to_alpha[bound] - self.E[bound] @ z_mu - self._compute_Q(bound, free) @ z_free
        level = to_dual_value * self.alpha
        curvature = -0.5 * to_dual_value * np.square(self.alpha)
        level[free] += z_free
        curvature[free] -= self.alpha[free] * z_free
        unit = as_real(objective, "objective") * self.objective / svm.unit
        at = self.position[self.sample_index[free]]
        z_by_point = np.asarray(np.bincount(at, self.sign[free] * z_free, len(self.S)), dtype=np.float64)
        for left in (-z_by_point, -0.5 * to_dual_value * beta):  # K in the system, and in the objective
            near, by_gamma = self._differentiate_quadratic_form(left, points, beta, points)
            to_points = to_points + near + self._differentiate_quadratic_form(beta, points, left, points)[0]
            gamma = gamma + by_gamma
        change = DataChange(upper, level, curvature, z_mu + to_dual_value * self.mu, unit)
        return self._name_cotangents(change, to_points, to_new, gamma)

    def _pull_back_values(
        self, X: Any, f: ArrayLike | None, b: float, w: ArrayLike | None
    ) -> tuple[FloatArray, float, FloatArray, FloatArray | None, float]:
        """Pull cotangents of f, b and w back to β, b, the points of S, the points X, and γ, by (SENSE.3).

        Shapes: (s,), (), (s, d), (q, d) or None, ().
        """
        beta = self.beta[self.S]
        points = self.points
        to_beta = np.zeros(len(self.S))
        to_b = as_real(b, "b")
        to_points = np.zeros_like(points)
        to_new = None
        gamma = 0.0
        if (X is None) != (f is None):
            raise DataError("f is a cotangent of f at the rows of X: give both, or neither")
        if X is not None:
            Z = as_dense(self.check_points(X))
            c = as_finite_vector(f, "f", len(Z))
            to_beta += np.asarray(self._evaluate_kernel(points, Z) @ c)
            to_b += float(c.sum())
            to_points, gamma = self._differentiate_quadratic_form(beta, points, c, Z)
            to_new = self._differentiate_quadratic_form(c, Z, beta, points)[0]
        if w is not None:
            if not isinstance(self.kernel, Linear):
                raise UnsupportedError(f"w is no vector of numbers with {self.kernel}: give cotangents of f")
            v = as_finite_vector(w, "w", points.shape[1])
            to_beta = to_beta + points @ v
            to_points = to_points + beta[:, None] * v
        return to_beta, to_b, to_points, to_new, gamma

    def _name_cotangents(
        self, c: DataChange, to_points: FloatArray, to_new: FloatArray | None, gamma: float
    ) -> dict[str, Any]:
        """Convert cotangents of the dual's data to those of the arguments of the machine, by name."""
        problem = self.problem
        n = problem.n
        found: dict[str, Any] = {
            name: gamma if name == "gamma" else _inner_product(c, self._differentiate_by_parameter(name))
            for name in self.parameters
        }
        found["sample_weight"] = np.full(n, np.nan)  # no derivative at a weight of 0
        found["sample_weight"][problem.active_rows] = self._pull_back_to_weights(c)
        if problem._target_kind == "numbers":
            found["target"] = np.zeros(n)
            found["target"][problem.active_rows] = np.bincount(self.sample_index, self.sign * c.level, self.svm.n)
        if isinstance(self.kernel, (Linear, RBF)):
            found["X"] = np.zeros((n, to_points.shape[1]))
            found["X"][problem.active_rows[self.S]] = to_points
            if to_new is not None:
                found["X_new"] = to_new
        return found

    def _pull_back_to_weights(self, c: DataChange) -> FloatArray:
        """Pull cotangents of the dual's data back to the weights of the active samples, (n,), by (SENSE.8)."""
        v = self.problem.sample_weight[self.problem.active_rows]
        upper_power, curvature_power, total_powers = self._find_weight_powers()
        upper = np.where(np.isfinite(self.upper), self.upper, 0.0) * c.upper
        curvature = self.curvature * c.curvature
        totals = np.array([group.total for group in self.svm.groups])
        to_weights = np.bincount(self.sample_index, upper - curvature, self.svm.n) / v
        common = (upper_power - 1.0) * upper.sum() + (curvature_power + 1.0) * curvature.sum()
        to_weights += (common + float(totals * total_powers @ c.total)) / v.sum()
        return to_weights


def _inner_product(c: DataChange, d: DataChange) -> float:
    total = c.upper @ d.upper + c.level @ d.level + c.curvature @ d.curvature + c.total @ d.total
    return float(total + c.unit * d.unit)


def vjp(
    result: Any, X: Any = None, f: ArrayLike | None = None, *, b: float = 0.0, w: ArrayLike | None = None,
    objective: float = 0.0, problem: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the vector-Jacobian product of an optimum, as PyTorch and JAX need it for backpropagation.

    With L = Σ f_q f(x_q) + b·(intercept) + ⟨w, weights⟩ + objective·(optimal value) it returns the derivatives of L.

    Parameters
    ----------
    result : SVMResult
        Certified to a small gap, such as `solve(problem, tol=1e-10)`.
    X : array_like, shape (q, d), optional
        Points.
    f : array_like, shape (q,), optional
        The cotangents of f there.
    b, w, objective : optional
        The cotangents of the intercept, of the weights of a linear machine, and of the optimal value.
    problem : Problem, optional
        The problem that was solved; needed only for a result loaded from a file.

    Returns
    -------
    dict
        By name: a number for each of `Sensitivity.parameters`; "sample_weight" (n,), NaN where a weight is 0; "target"
        (n,) of a regression; "X" (n, d) and "X_new" (q, d) with a linear or an RBF kernel.

    Raises
    ------
    UnsupportedError
        Machines of several classes, rankings, SVDD, linear constraints, feature maps that have no kernel values.
    ParameterTypeError, DataError, ParameterError
        Not a result; other shapes; values that are not finite.

    See Also
    --------
    Sensitivity.along : Forward derivatives, one-sided if the optimum is degenerate.

    Notes
    -----
    Where α at a bound has no slack, or the system is singular, this is one of several generalised derivatives: that of
    the rows as they are. `result.sensitivity()` says whether it is.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.EpsilonSVR([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.2, 1.9, 3.1], C=100, epsilon=0.1)
    >>> result = qpsvm.solve(problem, tol=1e-10)
    >>> found = qpsvm.vjp(result, [[4.0]], [1.0])  # of f(4)
    >>> print(sorted(found), found["X_new"].round(6))
    ['C', 'X', 'X_new', 'epsilon', 'sample_weight', 'target'] [[0.966667]]
    """
    if not hasattr(result, "sensitivity"):
        raise ParameterTypeError(f"vjp takes what solve returns for one machine, got {type(result).__name__}")
    return result.sensitivity(problem)._vjp(X, f, b=b, w=w, objective=objective)  # type: ignore[no-any-return]
