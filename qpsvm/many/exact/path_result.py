"""Define the result of an exact path: the optima along an interval of a parameter (`ExactPath`).

Positions on the path are given by s in [0, 1], which is linear in the parameter or its inverse (`ParameterLine`). A
piece of the path is the part between two breakpoints. It is proven if the bound on its gap is at most the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_raw_array, as_real, as_tolerance
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.machines import Problem
from qpsvm.many.exact.error_curve import ErrorCurve, compute_error_curve
from qpsvm.many.exact.follow import FollowedPath
from qpsvm.many.exact.line import ParameterLine
from qpsvm.many.exact.values import Decisions
from qpsvm.program.status import Solver, Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve


class _PathPoint(NamedTuple):
    """α (m,) over the rows of the dual, μ (p,) of its groups, and the problem, at a value of the parameter."""

    alpha: FloatArray
    mu: FloatArray
    problem: Problem


@dataclass(frozen=True, eq=False)
class ExactPath:
    """The exact optimum of a machine for every value of one of its parameters in an interval.

    Between two breakpoints α, b and f are linear in the parameter (or in its inverse, for λ and for ν as a divisor).
    On a piece whose gap is above the tolerance, b, f and the margin are those of `at`, which solves again if necessary.

    Attributes
    ----------
    problem : Problem
        The machine whose parameter varies.
    parameter : str
        The name of the parameter.
    low, high : float
        The interval.
    breakpoints : ndarray, shape (k + 1,)
        From `low` to `high`, or to the end of the path.
    gaps : ndarray, shape (k,)
        Proven bound on the relative gap at every value between two breakpoints, including rounding.
    status : Status
        `optimal`; `time_limit` or `interrupted` if the path was stopped; `inaccurate` if rounding ended it.
    message : str
        Why the path is not optimal or ended early; empty otherwise.

    See Also
    --------
    exact_path : Computes one.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1])
    >>> path = qpsvm.exact_path(problem, "C", 0.05, 1)
    >>> print(path.breakpoints.round(6), path.at(0.3).w.round(6), bool(path.gaps.max() < 1e-12))
    [0.05     0.068376 0.222222 0.285714 0.5      1.      ] [0.6] True
    """

    problem: Problem
    parameter: str
    low: float
    high: float
    breakpoints: FloatArray
    gaps: FloatArray
    status: Status
    message: str
    _line: ParameterLine
    _followed: FollowedPath
    _tol: float

    @property
    def reached(self) -> float:
        """Last certified value: `high`, unless the path ended early."""
        return float(self.breakpoints[-1])

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.gaps)

    def alpha(self, value: float) -> FloatArray:
        """Return α at one value of the parameter.

        Parameters
        ----------
        value : float
            In the interval.

        Returns
        -------
        ndarray, shape (n,), or (2n,) for a regression
            In the order of the caller's rows.

        Raises
        ------
        ParameterError, ParameterTypeError
            A value that is not on the path.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> print(path.alpha(0.3).round(6))
        [0.  0.3 0.3 0. ]
        """
        point = self._evaluate_point(value)
        return np.asarray(point.problem._expand_from_dual(point.alpha))

    def kind(self, value: float) -> NDArray[np.int8]:
        """Return the kind of each sample, non-support vector (0), on the margin (1) or at the bound (2), at a value.

        Parameters
        ----------
        value : float
            In the interval.

        Returns
        -------
        ndarray of int8, shape (n,)
            `SVMResult.kind` of `at(value)`.

        Raises
        ------
        ParameterError, ParameterTypeError
            A value that is not on the path.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> print(path.kind(0.3), path.kind(0.7))
        [0 2 2 0] [0 1 1 0]
        """
        return self.at(value).kind

    def b(self, value: float) -> float:
        """Return the intercept at one value of the parameter.

        Parameters
        ----------
        value : float
            In the interval.

        Returns
        -------
        float
            If it is not unique, one of the optimal intercepts.

        Raises
        ------
        ParameterError, ParameterTypeError
            A value that is not on the path.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> bool(path.decision([[0.0]], 0.3)[0] == path.b(0.3))
        True
        """
        alpha, mu, problem = self._evaluate_point(value)
        if (solved := self._solve_if_unproven(value)) is not None:
            return solved.b
        return Decisions(problem, self._followed.rows).compute_intercept(alpha, mu)

    def margin(self, value: float) -> float:
        """Return the distance of the margin from the hyperplane, ρ/‖w‖ (C-SVM: 1/‖w‖), at one value of the parameter.

        Parameters
        ----------
        value : float
            In the interval.

        Returns
        -------
        float
            Infinite if w = 0.

        Raises
        ------
        ParameterError, ParameterTypeError
            A value that is not on the path.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> round(path.margin(0.3), 6)
        1.666667
        """
        alpha, mu, problem = self._evaluate_point(value)
        rho = next((float(mu_g) for g, mu_g in zip(problem.svm.groups, mu, strict=True) if g.multiplier == "rho"), 1.0)
        if (solved := self._solve_if_unproven(value)) is not None:
            alpha = problem._restrict_to_dual(solved.alpha)
            rho = solved.rho
        norm = Decisions(problem, self._followed.rows).compute_norm(alpha)
        return rho / norm if norm else float("inf")

    def decision(self, X: Any, values: ArrayLike, *, diagonal: Any = None) -> FloatArray:
        """Evaluate f at samples, for one value of the parameter or several.

        Parameters
        ----------
        X : array_like, shape (q, d)
            Samples, as `SVMResult.decision_function` takes them.
        values : float or array_like, shape (c,)
            In the interval.
        diagonal : array_like, shape (q,), optional
            As for `SVMResult.decision_function`.

        Returns
        -------
        ndarray, shape (q,), or (q, c)
            One column per value.

        Raises
        ------
        DataError, ParameterError, ParameterTypeError
            Samples of another width; a value that is not on the path.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> print(path.decision([[2.5]], [0.1, 0.3, 1.0]).round(6))
        [[ 0.111111 -0.1       0.5     ]]
        """
        value_list = np.atleast_1d(as_raw_array(values, self.parameter)).tolist()
        points = [self._evaluate_point(value) for value in value_list]
        decisions = Decisions(self.problem, self._followed.rows)
        f = decisions.evaluate(X, diagonal, [point.alpha for point in points], [point.mu for point in points])
        for c, value in enumerate(value_list):
            if (solved := self._solve_if_unproven(value)) is not None:
                f[:, c] = solved.decision_function(X, diagonal=diagonal)
        return f if np.ndim(values) else f[:, 0]

    def at(self, value: float, tol: float = 1e-6, **options: Any) -> SVMResult:
        """Return the certified result at one value: from the path if its gap is at most `tol`, else from `solve`.

        Parameters
        ----------
        value : float
            Between `low` and `high`.
        tol : float
            As for `solve`.
        **options
            For `solve`, if the path does not give the result.

        Returns
        -------
        SVMResult
            Certified independently of the path.

        Raises
        ------
        ParameterError, ParameterTypeError
            A value outside the interval.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> print(path.at(0.3).status, path.at(0.3).gap < 1e-12)
        optimal True
        """
        tol = as_tolerance(tol)
        value = as_real(value, self.parameter)
        is_beyond_end = self.low <= value <= self.high and not self._covers(value)
        result: SVMResult
        start = None
        if len(self) or not is_beyond_end:  # `_evaluate_point` raises if the value is outside the interval
            alpha, _, problem = self._evaluate_point(self.reached if is_beyond_end else value)
            start = problem._expand_from_dual(alpha)
            if not is_beyond_end:
                result = problem.at(start, tol)
                if result.gap <= tol:
                    solver = Solver("exact path", "", f"linear in {self.parameter} between two breakpoints")
                    return replace(result, backend="exact path", solver=solver)
        problem = self._line.build_problem(value)
        if start is not None:  # a failure from this start is not final
            result = solve(problem, **{"tol": tol, "start": start, "check": False, **options})
            if result.gap <= tol:
                return result
        result = solve(problem, **{"tol": tol, **options})
        return result

    def pieces_at(self, X: Any, *, diagonal: Any = None) -> tuple[FloatArray, FloatArray]:
        """Evaluate f at samples, at the lower and at the upper end of every piece; f is linear between them.

        Parameters
        ----------
        X : array_like, shape (q, d)
            Samples.
        diagonal : array_like, shape (q,), optional
            As for `SVMResult.decision_function`.

        Returns
        -------
        ndarray, ndarray, shape (q, k) each
            Values of f at the lower and at the upper ends, in the order of `breakpoints`.

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> print(path.pieces_at([[2.5]])[1].round(6))
        [[ 0.111111  0.111111 -0.142857  0.5       0.5     ]]
        """
        lower, upper = Decisions(self.problem, self._followed.rows).evaluate_pieces(X, diagonal, self._followed.parts)
        unproven = np.flatnonzero(~(self.gaps <= self._tol))
        f_at_breakpoint = {
            k: self.at(self.breakpoints[k], self._tol).decision_function(X, diagonal=diagonal)
            for k in {*unproven, *(unproven + 1)}
        }
        for k in unproven.tolist():
            lower[:, k] = f_at_breakpoint[k]
            upper[:, k] = f_at_breakpoint[k + 1]
        return lower, upper

    @cached
    def support(self) -> NDArray[Any]:
        """Number of support vectors on each piece, as rows of (SIGNED.1) with v ≠ 0 at one of its ends: (k,)."""
        counts = [
            np.count_nonzero((part.v[i] != 0) | (part.v[j] != 0))
            for part in self._followed.parts
            for i, j in zip(part.first, part.second, strict=True)
        ]
        return np.array(counts, dtype=np.int64)

    def columns(self) -> dict[str, list[Any]]:
        """Return a list per column, one entry per piece: `pandas.DataFrame(path.columns())`.

        Returns
        -------
        dict of str to list
            "from" and "to", the ends; "free" and "support", the numbers of free α and of support vectors; "gap".

        Examples
        --------
        >>> import qpsvm
        >>> path = qpsvm.exact_path(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1]), "C", 0.05, 1)
        >>> print(path.columns()["free"])
        [1, 2, 1, 1, 2]
        """
        return {
            "from": self.breakpoints[:-1].tolist(), "to": self.breakpoints[1:].tolist(),
            "free": self._followed.free.tolist(), "support": self.support.tolist(), "gap": self.gaps.tolist(),
        }  # fmt: skip

    def _covers(self, value: float) -> bool:
        """Return whether the path was followed as far as a value."""
        return len(self) > 0 and self.low <= value <= self.reached

    def _find_piece(self, value: float) -> tuple[int, float]:
        """Return the index of the piece at a value, and its s. Raises ParameterError, ParameterTypeError."""
        value = as_real(value, self.parameter)
        if not self._covers(value):
            ends = f"{self.low:g} to {self.reached:g}"
            raise ParameterError(f"{self.parameter} = {value!r} is not on this path, which goes from {ends}")
        s = min(max(float(self._line.s(value)), 0.0), self._followed.reached)  # against rounding
        return min(int(np.searchsorted(self._followed.s[:, 1], s)), len(self) - 1), s

    def _evaluate_point(self, value: float) -> _PathPoint:
        """Return the point of the path at a value. Raises ParameterError, ParameterTypeError."""
        k, s = self._find_piece(value)
        problem = self._line.build_problem(float(value))
        v, mu = self._followed.take_piece(k).evaluate(s, self._followed.evaluate_data(s))
        return _PathPoint(self._followed.rows.compute_alpha(v, problem.svm.upper), mu, problem)

    def _solve_if_unproven(self, value: float) -> SVMResult | None:
        """Return the result `at(value)` on a piece whose gap is not proven, otherwise None."""
        k, _ = self._find_piece(value)
        return None if self.gaps[k] <= self._tol else self.at(value, self._tol)

    def _compute_error_curve(self, X: Any, target: FloatArray) -> ErrorCurve:
        """Compute the error rate at every value, (ERROR.1), on samples (q, d) with targets ±1 (q,)."""
        return compute_error_curve(self._line, self._followed.s, *self.pieces_at(X), target)

    def __str__(self) -> str:
        text = (
            f"{self.parameter} from {self.low:g} to {self.reached:g}: {len(self)} pieces, each certified, "
            f"gap at most {self.gaps.max(initial=0.0):.1e}: {self.status}"
        )
        return f"{text}\n{self.message}" if self.message else text

    def __repr__(self) -> str:
        return f"<ExactPath: {self.parameter} from {self.low:g} to {self.reached:g}, {len(self)} pieces>"
