"""Solve machines without some samples from the optimum of all, by moving their α to 0 (`LeaveOutSolver`).

    (LEAVE.1)  s from 0 to 1:  the bounds of the rows of sample i go from α_i to 0; if U and e of all others depend on
               the number of samples, they go to those of the machine without i
    (LEAVE.2)  α_i = 0 and data that do not depend on i:  the optimum is the same, P loses a nonnegative slack, D is
               unchanged, and the gap is at most that of all samples over |D|

A sample is left out by setting both bounds of its rows to 0. All machines start from one `Tableau`; if that fails for
one, an active set is followed, and if that gets stuck, `solve` runs. Each machine is certified like any other.

Source: Cauwenberghs & Poggio, *Incremental and decremental support vector machine learning* (2000).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import InfeasibleNuError, QPSVMError
from qpsvm.base.resources.clock import Clock
from qpsvm.machines import Problem
from qpsvm.machines.problem.certifier import Certifier
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.many.exact.active_set import ActiveSet, PathBreakdown, Stopped
from qpsvm.many.exact.functions import LeaveOneOutFunctions
from qpsvm.many.exact.piece_certifier import PieceCertifier
from qpsvm.many.exact.removals import build_tableau
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.start import MIN_SECONDS, find_start
from qpsvm.many.exact.values import Decisions
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.kernels.functions import Precomputed

#: Bounds of a merged row up to this share of its bounds with all samples count as 0.
ZERO_BOUND = 1e-12
#: Gap up to which a point is not certified again by itself.
GOOD_GAP = 1e-9
#: f at the samples left out, and the certified gap of the machine without them.
LeftOutValues = tuple[FloatArray, float]
#: v (m,) and μ (p,) of an optimum.
Point = tuple[FloatArray, FloatArray]


class NoMachine(Exception):
    """Raised if there is no machine without these samples."""


@dataclass(frozen=True, eq=False)
class _Removal:
    """The removal of some samples.

    rows: Indices of the samples among the active ones.
    is_removed: Mask of their rows in the dual.
    dual, goal: The dual without them, and its data.
    pinned (r,): Signed rows whose bounds become 0.
    """

    rows: IntArray
    is_removed: NDArray[np.bool_]
    dual: SVMDual
    goal: Data
    pinned: IntArray


@dataclass(frozen=True)
class _RemainingData:
    """The data of the dual of the remaining samples: U of its rows, fields of its groups, and its unit."""

    upper: FloatArray | float
    groups: list[dict[str, Any]]
    unit: Any


class LeaveOutSolver:
    """Finds the machines without some samples.

    full, alpha: The result for all samples, and its α over the rows of the dual.
    base, tableau: The active set for all samples, and its tableau; None if rounding or memory prevents it.
    sample_of_row: For each row of the dual, the index of its sample.
    depends_on_count: Whether U or e of the remaining samples depends on their number.
    functions: The decision functions of the machines found so far.
    moved: Number of machines whose optimum differs from that of all samples.
    """

    def __init__(self, problem: Problem, result: SVMResult | None, tol: float, clock: Clock) -> None:
        self.problem, self.tol, self.clock, self.moved = problem, tol, clock, 0
        self.svm: SVMDual = problem.svm
        self.rows = SignedRows(problem, [self.svm])
        self.data = self.rows.build_data(self.svm)
        self.full, self.base = find_start(problem, self.rows, result, clock)
        self.alpha = problem._restrict_to_dual(self.full.alpha)
        self.sample_of_row = np.arange(self.svm.m) if self.svm.rows is None else np.asarray(self.svm.rows)
        self.has_hard_rows = self.svm.hard_rows is not None
        self.depends_on_count = any(name in problem._hyperparameters for name in ("nu", "lam"))
        self.remaining_cache: dict[tuple[int, int], _RemainingData] = {}
        size = max(abs(self.full.primal), abs(self.full.dual))
        self.unchanged_gap = self.full.gap * size / abs(self.full.dual) if self.full.dual else self.full.gap
        self.full_f = self._reduce_to_samples(self.svm.sign * problem._restrict_to_dual(self.full.yf))
        self.functions = LeaveOneOutFunctions(problem, self.full)
        self.tableau = None if self.has_hard_rows else build_tableau(self.base)
        self.piece_certifier = PieceCertifier(self.rows)
        self.is_first_class = np.zeros(len(problem.active_rows), dtype=np.bool_)
        self.class_sizes: tuple[int, int] | None = None
        if problem.samples.classes is not None:
            self.is_first_class = np.asarray(problem._active_target) > 0.0
            n_first = int(np.count_nonzero(self.is_first_class))
            self.class_sizes = n_first, len(self.is_first_class) - n_first

    # --- all from one tableau ---------------------------------------------------------------------------------------

    def evaluate_batch(self, sets: list[IntArray]) -> list[LeftOutValues | None]:
        """Do the same as `evaluate_without` for many sets of samples, as far as the tableau finds their optima.

        An entry is None if it does not, if nothing changes, (LEAVE.2), or if time is up.
        """
        results: list[LeftOutValues | None] = [None] * len(sets)
        if self.tableau is None:
            return results
        indices, removals = [], []
        for k, rows in enumerate(sets):
            if self.clock.find_stop_reason():
                break
            with suppress(NoMachine):
                if (removal := self._build_removal(rows)) is not None:
                    indices.append(k)
                    removals.append(removal)
        optima = self.tableau.find_optima([(removal.pinned, removal.goal) for removal in removals])
        found = [
            (k, removal, optimum)
            for k, removal, optimum in zip(indices, removals, optima, strict=True)
            if optimum is not None
        ]
        values = self._certify_all([removal for _, removal, _ in found], [optimum for _, _, optimum in found])
        for (k, _, _), result in zip(found, values, strict=True):
            results[k] = result
            self.moved += result is not None
        return results

    def _certify_all(self, removals: list[_Removal], optima: list[Point]) -> list[LeftOutValues | None]:
        """Certify these points together by a few products, and one by one where that fails; None where both fail."""
        results: list[LeftOutValues | None] = [None] * len(removals)
        problem = self.problem
        is_simple = problem.space.is_plain and not (problem._diagonal_weight or self.functions.has_weights)
        if removals and is_simple and problem._f_scale == 1.0:
            results = self._certify_together(removals, optima)
        for k, removal in enumerate(removals):
            if results[k] is None and not self.clock.find_stop_reason():
                results[k] = self._certify(removal, self.rows.compute_alpha(optima[k][0], removal.dual.upper))
        return results

    def _certify_together(self, removals: list[_Removal], optima: list[Point]) -> list[LeftOutValues | None]:
        """Certify these points as pieces of length 0; None where the gap exceeds `GOOD_GAP`, or b is not determined."""
        goals = [removal.goal for removal in removals]
        v = [self.piece_certifier.repair(optimum[0], goal) for optimum, goal in zip(optima, goals, strict=True)]
        points, is_determined = self.piece_certifier.average_multipliers(
            self.piece_certifier.build_points(v, [optimum[1] for optimum in optima], goals)
        )
        all_columns = np.arange(len(removals))
        gaps = self.piece_certifier.bound_gaps(points, all_columns, all_columns)
        alphas = [
            self.rows.compute_alpha(column, removal.dual.upper) for column, removal in zip(v, removals, strict=True)
        ]
        coef, b = Decisions(self.problem, self.rows).compute_planes(alphas, list(points.mu.T))
        index = self._find_intercept_group()
        level = np.zeros(len(b)) if index is None else points.mu[index]
        results: list[LeftOutValues | None] = [None] * len(removals)
        for k in np.flatnonzero(is_determined & (gaps <= min(self.tol, GOOD_GAP)) & (b == level)).tolist():
            rows = removals[k].rows
            self.functions.add_coefficients(rows, coef[:, k], float(b[k]))
            results[k] = points.f[self.rows.distinct_index[rows], k] + b[k], float(gaps[k])
        return results

    # --- one by one -------------------------------------------------------------------------------------------------

    def evaluate_without(self, rows: IntArray) -> LeftOutValues:
        """Return f at these samples of the machine without them, and its gap. Raises NoMachine, Stopped."""
        removal = self._build_removal(rows)
        if removal is None:
            return self.full_f[rows], self.unchanged_gap  # (LEAVE.2)
        self.moved += 1
        if self.base is not None and not self.has_hard_rows:
            with suppress(PathBreakdown, np.linalg.LinAlgError):
                engine = move_to_pinned(self.base.copy(self.clock), removal.goal, removal.pinned)
                values = self._certify(removal, self.rows.compute_alpha(engine.v, removal.dual.upper))
                if values is not None:
                    return values
        return self._solve_without(rows, removal.is_removed)

    def _certify(self, removal: _Removal, alpha: FloatArray) -> LeftOutValues | None:
        """Return f and gap of a point over the rows of its dual; None if the gap exceeds the tolerance."""
        problem, dual = self.problem, removal.dual
        certifier = Certifier(problem.space, dual)
        certificate = certifier.with_rounding_bound(certifier.certify(alpha), self.tol)
        if not certificate.gap <= self.tol:
            return None
        self.functions.add_certified(removal.rows, certificate)
        f = -certificate.violation * problem._f_scale if problem._diagonal_weight else dual.sign * certificate.yf
        return self._reduce_to_samples(f)[removal.rows], float(certificate.gap)

    def _solve_without(self, rows: IntArray, is_removed: NDArray[np.bool_]) -> LeftOutValues:
        """Find f without these samples by `solve`, started at the optimum of all. Raises NoMachine, Stopped."""
        problem = self.problem
        remaining_rows = np.delete(np.arange(len(problem.active_rows)), rows)
        try:
            remaining = restrict_to_rows(problem, remaining_rows)
            start = None if self.has_hard_rows else self.alpha[~is_removed]
            seconds = None if self.clock.limit is None else max(self.clock.remaining, MIN_SECONDS)
            result = solve(remaining, tol=self.tol, check=False, time_limit=seconds, start=start)
        except QPSVMError as error:
            raise NoMachine(str(error)) from error
        if result.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            raise Stopped
        if result.error is not None:
            raise NoMachine(str(result.error))
        self.functions.add_result(rows, remaining_rows, result)
        X = problem.samples.active_features[rows]
        X = X[:, problem.active_rows[remaining_rows]] if isinstance(problem.kernel, Precomputed) else X
        diagonal = problem._take_kernel_diagonal(problem.active_rows[rows])
        return np.asarray(result.decision_function(X, diagonal=diagonal)), float(result.gap)

    # --- duals without some samples ---------------------------------------------------------------------------------

    def _build_removal(self, rows: IntArray) -> _Removal | None:
        """Build the removal of these samples; None if the optimum stays, (LEAVE.2). Raises NoMachine."""
        n_first = int(np.count_nonzero(self.is_first_class[rows]))
        if len(rows) == len(self.problem.active_rows):
            raise NoMachine("no sample is left")
        if self.class_sizes is not None and (
            n_first == self.class_sizes[0] or len(rows) - n_first == self.class_sizes[1]
        ):
            raise NoMachine("no other sample of its class is left")
        is_removed = self.sample_of_row == rows[0] if len(rows) == 1 else np.isin(self.sample_of_row, rows)
        if not self.depends_on_count and not self.alpha[is_removed].any():
            return None
        dual = self._build_dual(rows, is_removed, n_first)
        goal, touched = self.rows.build_data(dual), np.unique(self.rows.merged_row[is_removed])
        width = np.maximum(self.data.hi[touched], -self.data.lo[touched])
        for bounds in (goal.lo, goal.hi):  # remove rounding errors of merged rows whose bounds become 0
            bounds[touched] = np.where(np.abs(bounds[touched]) <= ZERO_BOUND * width, 0.0, bounds[touched])
        return _Removal(rows, is_removed, dual, goal, touched[goal.hi[touched] <= goal.lo[touched]])

    def _build_dual(self, rows: IntArray, is_removed: NDArray[np.bool_], n_first: int) -> SVMDual:
        """Build the dual without these samples, `n_first` of which are of the first class. Raises NoMachine."""
        svm, upper = self.svm, np.array(self.svm.upper)
        groups, unit = svm.groups, svm.unit
        if self.depends_on_count:
            remaining = self._build_remaining_data(rows, n_first)
            upper[~is_removed], unit = remaining.upper, remaining.unit
            groups = tuple(replace(group, **data) for group, data in zip(groups, remaining.groups, strict=True))
        upper[is_removed] = 0.0
        dual = replace(svm, upper=upper, exact_upper=None, groups=groups, unit=unit)
        index = self._find_intercept_group()
        if index is not None and dual.intercept is None:  # its group is recognised by this column
            object.__setattr__(dual.groups[index], "column", dual.sign)
        return dual

    def _build_remaining_data(self, rows: IntArray, n_first: int) -> _RemainingData:
        """Build the data of the dual of the other samples. Raises NoMachine.

        If all samples have equal weights, these depend only on how many of each class are left, and are cached.
        """
        if (len(rows), n_first) in self.remaining_cache:
            return self.remaining_cache[len(rows), n_first]
        problem = self.problem
        try:
            remaining: Any = restrict_to_rows(problem, np.delete(np.arange(len(problem.active_rows)), rows))
            if "nu" in remaining._hyperparameters:
                remaining.replace(nu=remaining.nu)  # raises if ν is infeasible
        except InfeasibleNuError as error:
            raise NoMachine(str(error)) from error
        structure = remaining._dual_structure
        upper = np.asarray(structure.upper)
        groups = [{"total": group.total, "low": group.low, "rest": group.rest} for group in structure.groups]
        weight = np.asarray(problem.sample_weight)
        has_equal_weights = find_common_value(weight) is not None or np.ptp(weight) == 0.0
        has_scalar_parameters = all(np.ndim(getattr(problem, name)) == 0 for name in problem._hyperparameters)
        data = _RemainingData(upper, groups, structure.unit)
        if has_equal_weights and np.ptp(upper) == 0.0 and has_scalar_parameters:
            self.remaining_cache[len(rows), n_first] = replace(data, upper=float(upper[0]))
        return data

    def _find_intercept_group(self) -> int | None:
        """Return the index of the group of the intercept; None if there is none."""
        return next((k for k, group in enumerate(self.svm.groups) if group is self.svm.intercept), None)

    def _reduce_to_samples(self, values: FloatArray) -> FloatArray:
        """Return the values of the samples from values at the rows of the dual: that of the first row of each."""
        sample_values = np.empty(int(self.sample_of_row.max()) + 1)
        sample_values[self.sample_of_row[::-1]] = values[::-1]
        return sample_values


def move_to_pinned(engine: ActiveSet, goal: Data, pinned: IntArray) -> ActiveSet:
    """Move an active set to other data, in which the bounds of the rows `pinned` are 0, and return it.

    Raises PathBreakdown, Stopped, LinAlgError.
    """
    engine.slope = engine.current.difference_to(engine.current)
    for k in pinned[~engine.pinned[pinned]].tolist():
        engine.pin(int(k))
    engine.advance(engine.current.difference_to(goal))
    engine.current = goal.copy()
    return engine
