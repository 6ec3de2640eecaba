"""Bound the decision function of every exact optimum, and prove predictions (`ProvenPredictions`).

The certified gap bounds the distance ‖w − w*‖ to every optimum, because the objective is strongly convex in w. So it
also bounds the difference of the decision functions at any sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import ParameterError, ParameterTypeError, UnsupportedError
from qpsvm.program.exchange import Solvable
from qpsvm.result.model import check_kernel_diagonal
from qpsvm.result.solved_problem import ProblemReference, SolvedProblem

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.bounds.near_points import NearFunction


class ProvenPredictions:
    """Base class of results: what the certified gap proves about every exact optimum."""

    model: Any
    problem: ProblemReference
    primal: float
    dual: float
    gap: float

    def decision_bounds(
        self, X: Any, *, problem: SolvedProblem | None = None, diagonal: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return rigorous bounds on f(x) of every exact optimum, by (OPTIMA.3), including all rounding.

        If b is not unique, there are several optima, and the bounds hold for each of them.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (q, d)
            Samples, as for `decision_function`.
        problem : Problem, optional
            The problem that was solved; needed for a result from a file, which has no samples.
        diagonal : array_like, shape (q,), optional
            K(x, x) of each row; needed for a precomputed kernel, because X does not contain it.

        Returns
        -------
        low, high : ndarray, shape (q,), or (q, k) for an all-in-one machine
            Infinite if nothing is proven: for a result that is not near an optimum, or if several free intercepts share
            samples.

        Raises
        ------
        UnsupportedError
            No samples; a machine without an exact statement; a kernel matrix that was repaired.
        ParameterError
            No `diagonal` for a precomputed kernel, or one for another.
        DataError
            Samples that `decision_function` refuses; another problem.

        Notes
        -----
        The kernel is assumed to be positive semidefinite, and values of a user-defined kernel to be exact.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> low, high = qpsvm.solve(problem).decision_bounds([[0.0], [2.5]])
        >>> print(low.round(6), high.round(6))
        [-2.   0.5] [-2.   0.5]

        Far from the optimum, the bounds are wider, but still valid:

        >>> low, high = problem.at([0.5, 0.4, 0.4, 0.5]).decision_bounds([[0.0], [2.5]])
        >>> bool((low <= [-2.0, 0.5]).all() and (high >= [-2.0, 0.5]).all())
        True
        """
        low, high, _ = self._compute_bounds(X, problem, diagonal)
        if np.ndim(self.model.b) == 0:
            return low[:, 0], high[:, 0]
        return low, high

    def proven(
        self, X: Any, *, within: float | None = None, problem: SolvedProblem | None = None, diagonal: Any = None
    ) -> NDArray[np.bool_]:
        """Return for which rows of X every exact optimum predicts the same as this result.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (q, d)
            Samples, as for `predict`.
        within : float, optional
            For a machine that predicts numbers: the largest difference that counts as equal. Labels must be equal.
        problem, diagonal : optional
            As for `decision_bounds`.

        Returns
        -------
        ndarray of bool, shape (q,)
            False if that is not proven, which does not imply that predictions differ.

        Raises
        ------
        ParameterError, UnsupportedError, DataError
            As `decision_bounds`; no `within` where numbers are predicted, or one where labels are.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> print(result.proven([[0.0], [1.9], [2.0]]))
        [ True  True False]
        """
        solved = self._require_problem(problem)
        predicts_numbers = solved._target_kind in ("numbers", "ranks")
        if predicts_numbers and within is None:
            raise ParameterError(
                f"{solved.title} predicts numbers: pass within=, the largest difference that counts as equal"
            )
        if not predicts_numbers and within is not None:
            raise ParameterError(f"{solved.title} predicts labels: leave `within` out")
        low, high, f = self._compute_bounds(X, problem, diagonal)
        if within is not None:
            within = as_real(within, "within")
            if not within >= 0.0:
                raise ParameterError(f"within must not be negative, got {within:g}")
            max_distance = within / FEW_ROUNDINGS  # because high − f and f − low are rounded
            return np.asarray((high - f <= max_distance) & (f - low <= max_distance))[:, 0]
        if f.shape[1] == 1:
            return np.asarray((low > 0.0) & (f > 0.0) | (high < 0.0) & (f <= 0.0))[:, 0]
        row_index = np.arange(len(f))
        best = f.argmax(axis=1)
        others_high = high.copy()
        others_high[row_index, best] = -np.inf
        return np.asarray(low[row_index, best] > others_high.max(axis=1))

    @property
    def nearness(self) -> float:
        """Upper bound of ‖w − w*‖ for every exact optimum w*, in the norm of the feature space.

        It is √(2 (P − D)/unit), by (OPTIMA.1), with P − D from the certified gap, and the factor `unit` from ½‖w‖² to
        the objective. `decision_bounds` uses a tighter one.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> result.nearness < 1e-6
        True
        """
        objective_size = max(abs(self.primal), abs(self.dual))
        unit = float(getattr(self, "unit", 1.0))  # an all-in-one result has none
        distance = float(np.sqrt(2.0 * self.gap * objective_size / unit))
        return distance * (1.0 + 1e-9) if np.isfinite(distance) else float("inf")  # the factor covers the roundings

    def build_near_function(self, problem: SolvedProblem | None = None) -> NearFunction:
        """Build the function that computes `decision_bounds` without the samples; `to_record()` saves it with a model.

        Raises UnsupportedError, DataError.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> result.build_near_function().radius < 1e-6
        True
        """
        return self._enclose_optima(problem).build_function(float(self._require_problem(problem)._f_scale))

    def _require_problem(self, problem: SolvedProblem | None) -> SolvedProblem:
        """Return the given problem, or that of the result. Raises UnsupportedError, ParameterTypeError."""
        if problem is not None:
            if isinstance(problem, Solvable) and hasattr(problem, "prove"):
                return problem
            raise ParameterTypeError(f"problem must be what was solved, as CSVM(X, y), got {format_value(problem)}")
        solved = self.problem() if callable(self.problem) else self.problem
        if solved is None:
            raise UnsupportedError(
                "a result from a file or a pickle has no samples: pass the problem as problem=, as in verify(problem)"
            )
        return solved

    def _enclose_optima(self, problem: SolvedProblem | None) -> NearOptimum:
        """Return the set that contains every optimum; cached unless another problem is given."""
        if problem is not None:
            return self._require_problem(problem)._enclose_optima(self)
        if "_near_optimum" not in self.__dict__:
            self.__dict__["_near_optimum"] = self._require_problem(None)._enclose_optima(self)
        near_optimum: NearOptimum = self.__dict__["_near_optimum"]
        return near_optimum

    def _compute_bounds(
        self, X: Any, problem: SolvedProblem | None, diagonal: Any
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the lower and upper bounds (OPTIMA.3), and f itself: (q, k) each."""
        samples: Matrix = self.model._check_samples(X)
        kernel_diagonal = check_kernel_diagonal(self.model.kernel, diagonal, samples.shape[0], needed=True)
        return self.build_near_function(problem)(self.model, samples, kernel_diagonal)
