"""Solve machines without some samples from the optimum of all, by moving their α to 0 (`LeaveOutSolver`).

    (LEAVE.1)  s from 0 to 1:  the bounds of the rows of sample i go from α_i to 0; if U and e of all others depend on
               the number of samples, they go to those of the machine without i
    (LEAVE.2)  α_i = 0 and data that do not depend on i:  the optimum is the same, P loses a nonnegative slack, D is
               unchanged, and the gap is at most that of all samples over |D|

All machines start from one tableau; if that fails for one, an active set is followed, and if that gets stuck, `solve`
runs. Each machine is certified like any other: a sample is left out by setting both bounds of its row to 0.

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
from qpsvm.many.exact.removals import build_removals
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.start import MIN_SECONDS, find_start
from qpsvm.many.exact.values import Decisions
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.kernels.functions import Precomputed

#: Bounds of a merged row within this share of the bounds removed from it count as 0.
ZERO_BOUND = 1e-12
#: The gap up to which no better point is searched.
GOOD_GAP = 1e-9
#: f at the samples left out, and the certified gap of the machine without them.
LeftOutValues = tuple[FloatArray, float]


class NoMachine(Exception):
    """Raised if there is no machine without these samples."""


@dataclass(frozen=True, eq=False)
class _Change:
    """The removal of some samples.

    rows: Indices of the samples.
    gone: Mask of their rows in the dual.
    dual, goal: The dual without them, and its data.
    pinned (r,): Signed rows whose bounds become 0.
    """

    rows: IntArray
    gone: NDArray[np.bool_]
    dual: SVMDual
    goal: Data
    pinned: IntArray


class LeaveOutSolver:
    """Finds the machines without some samples.

    base: The active set for all samples; None if rounding prevents it.
    full: The result for all samples.
    moved: Number of machines whose optimum differs from that of all samples.
    """

    def __init__(self, problem: Problem, result: SVMResult | None, tol: float, clock: Clock) -> None:
        self.problem, self.tol, self.clock, self.moved = problem, tol, clock, 0
        self.svm: SVMDual = problem.svm
        self.rows = SignedRows(problem, [self.svm])
        self.data = self.rows.build_data(self.svm)
        self.full, self.base = find_start(problem, self.rows, result, clock)
        self.alpha = problem._restrict_to_dual(self.full.alpha)
        self.owner = np.arange(self.svm.m) if self.svm.rows is None else np.asarray(self.svm.rows)
        self.has_hard_rows = self.svm.hard_rows is not None
        # with these, U or e of the remaining samples depends on their number
        self.depends = any(name in problem._hyperparameters for name in ("nu", "lam"))
        self.data_cache: dict[tuple[int, int], tuple[float, list[tuple[Any, Any, Any]], Any]] = {}
        size = max(abs(self.full.primal), abs(self.full.dual))
        self.unchanged_gap = self.full.gap * size / abs(self.full.dual) if self.full.dual else self.full.gap
        self.values = _reduce_to_samples(self.owner, self.svm.sign * problem._restrict_to_dual(self.full.yf))
        self.functions = LeaveOneOutFunctions(problem, self.full)
        self.removals = None if self.has_hard_rows else build_removals(self.base)
        self.piece_certifier = PieceCertifier(self.rows)
        has_two_classes = problem.samples.classes is not None
        self.is_first_class = (
            np.asarray(problem._active_target) > 0.0
            if has_two_classes
            else np.zeros(len(problem.active_rows), dtype=np.bool_)
        )
        self.classes = (
            (int(np.count_nonzero(self.is_first_class)), int(np.count_nonzero(~self.is_first_class)))
            if has_two_classes
            else None
        )

    # --- all from one tableau ---------------------------------------------------------------------------------------

    def find_in_batch(self, sets: list[IntArray]) -> list[LeftOutValues | None]:
        """Return the results of some machines found without following a path for each; None for the others."""
        results: list[LeftOutValues | None] = [None] * len(sets)
        if self.removals is None:
            return results
        indices, changes = [], []
        for k, rows in enumerate(sets):
            if self.clock.find_stop_reason():
                break
            with suppress(NoMachine):
                if (change := self._build_change(rows)) is not None:
                    indices.append(k)
                    changes.append(change)
        optima = self.removals.find_optima([(change.pinned, change.goal) for change in changes])
        solved = [k for k, point in enumerate(optima) if point is not None]
        for k, result in zip(
            solved, self._certify_all([changes[k] for k in solved], [optima[k] for k in solved]), strict=True
        ):
            results[indices[k]] = result
            self.moved += result is not None
        return results

    def _certify_all(self, changes: list[_Change], optima: list[Any]) -> list[LeftOutValues | None]:
        """Certify these points together by a few products, and one by one where that fails; None where both fail."""
        results: list[LeftOutValues | None] = [None] * len(changes)
        problem = self.problem
        is_simple = problem.space.is_plain and not (problem._diagonal_weight or self.functions.has_weights)
        if changes and is_simple and problem._f_scale == 1.0:
            goals = [change.goal for change in changes]
            v = [self.piece_certifier.repair(point[0], goal) for point, goal in zip(optima, goals, strict=True)]
            points, is_determined = self.piece_certifier.average_multipliers(
                self.piece_certifier.build_points(v, [point[1] for point in optima], goals)
            )
            all_columns = np.arange(len(changes))
            gaps = self.piece_certifier.bound_gaps(points, all_columns, all_columns)
            alphas = [
                self.rows.compute_alpha(column, change.dual.upper) for column, change in zip(v, changes, strict=True)
            ]
            coef, b = Decisions(problem, self.rows).compute_planes(alphas, list(points.mu.T))
            index = next((k for k, group in enumerate(self.svm.groups) if group is self.svm.intercept), None)
            level = np.zeros(len(b)) if index is None else points.mu[index]
            for k in np.flatnonzero(is_determined & (gaps <= min(self.tol, GOOD_GAP)) & (b == level)).tolist():
                rows = changes[k].rows
                self.functions.add_coefficients(rows, coef[:, k], float(b[k]))
                results[k] = points.f[self.rows.distinct_index[rows], k] + b[k], float(gaps[k])
        for k, change in enumerate(changes):
            if results[k] is None and not self.clock.find_stop_reason():
                results[k] = self._certify(change, self.rows.compute_alpha(optima[k][0], change.dual.upper))
        return results

    # --- one by one -------------------------------------------------------------------------------------------------

    def evaluate_without(self, rows: IntArray) -> LeftOutValues:
        """Return f at these samples of the machine without them, and its gap. Raises NoMachine, Stopped."""
        change = self._build_change(rows)
        if change is None:
            return self.values[rows], self.unchanged_gap  # (LEAVE.2)
        self.moved += 1
        if self.base is not None and not self.has_hard_rows:
            with suppress(PathBreakdown, np.linalg.LinAlgError):
                engine = move_to_pinned(self.base.copy(self.clock), change.goal, change.pinned)
                values = self._certify(change, self.rows.compute_alpha(engine.v, change.dual.upper))
                if values is not None:
                    return values
        return self._solve_without(rows, change.gone)

    def _certify(self, change: _Change, alpha: FloatArray) -> LeftOutValues | None:
        """Return f and gap of a point over the rows of its dual; None if the gap exceeds the tolerance."""
        problem, dual = self.problem, change.dual
        certifier = Certifier(problem.space, dual)
        certificate = certifier.with_rounding_bound(certifier.certify(alpha), self.tol)
        if not certificate.gap <= self.tol:
            return None
        self.functions.add_certified(change.rows, certificate)
        values = -certificate.violation * problem._f_scale if problem._diagonal_weight else dual.sign * certificate.yf
        return _reduce_to_samples(self.owner, values)[change.rows], float(certificate.gap)

    def _build_change(self, rows: IntArray) -> _Change | None:
        """Return the dual without these samples; None if the optimum stays, (LEAVE.2). Raises NoMachine."""
        n, n_first = len(self.problem.active_rows), int(np.count_nonzero(self.is_first_class[rows]))
        if len(rows) == n:
            raise NoMachine("no sample is left")
        if self.classes is not None and (n_first == self.classes[0] or len(rows) - n_first == self.classes[1]):
            raise NoMachine("no other sample of its class is left")
        gone = self.owner == rows[0] if len(rows) == 1 else np.isin(self.owner, rows)
        if not self.depends and not self.alpha[gone].any():
            return None
        dual = self._build_dual(rows, gone, n_first)
        goal, touched = self.rows.build_data(dual), np.unique(self.rows.merged_row[gone])
        width = np.maximum(self.data.hi[touched], -self.data.lo[touched])
        for bounds in (goal.lo, goal.hi):  # remove rounding errors of merged rows whose bounds become 0
            bounds[touched] = np.where(np.abs(bounds[touched]) <= ZERO_BOUND * width, 0.0, bounds[touched])
        return _Change(rows, gone, dual, goal, touched[goal.hi[touched] <= goal.lo[touched]])

    def _build_dual(self, rows: IntArray, gone: NDArray[np.bool_], first: int) -> SVMDual:
        """Return the dual of the machine without these samples, by setting their bounds to 0. Raises NoMachine."""
        svm, upper = self.svm, np.array(self.svm.upper)
        groups, unit = svm.groups, svm.unit
        if self.depends:
            upper[~gone], totals, unit = self._build_remaining_data(rows, first)
            groups = tuple(
                replace(group, total=total, low=low, rest=rest)
                for group, (total, low, rest) in zip(groups, totals, strict=True)
            )
        upper[gone] = 0.0
        dual = replace(svm, upper=upper, exact_upper=None, groups=groups, unit=unit)
        index = next((k for k, group in enumerate(svm.groups) if group is svm.intercept), None)
        if index is not None and dual.intercept is None:
            object.__setattr__(dual.groups[index], "column", dual.sign)
        return dual

    def _build_remaining_data(self, rows: IntArray, first: int) -> tuple[Any, list[tuple[Any, Any, Any]], Any]:
        """Return U of the others, total, low and rest of each group, and the unit. Raises NoMachine.

        If all samples have equal weights, these depend only on how many of each class are left, and are cached.
        """
        if (len(rows), first) in self.data_cache:
            return self.data_cache[len(rows), first]
        problem = self.problem
        try:
            remaining = restrict_to_rows(problem, np.delete(np.arange(len(problem.active_rows)), rows))
            remaining.replace(
                **{name: getattr(remaining, name) for name in ("nu",) if name in remaining._hyperparameters}
            )
        except InfeasibleNuError as error:
            raise NoMachine(str(error)) from error
        upper = np.asarray(remaining._dual_structure.upper)
        data = (
            upper,
            [(group.total, group.low, group.rest) for group in remaining._dual_structure.groups],
            remaining._dual_structure.unit,
        )
        has_equal_weights = (
            find_common_value(np.asarray(problem.sample_weight)) is not None or np.ptp(problem.sample_weight) == 0.0
        )
        if (
            has_equal_weights
            and np.ptp(upper) == 0.0
            and all(np.ndim(getattr(problem, name)) == 0 for name in problem._hyperparameters)
        ):
            self.data_cache[len(rows), first] = float(upper[0]), *data[1:]
        return data

    def _solve_without(self, rows: IntArray, gone: NDArray[np.bool_]) -> LeftOutValues:
        """Find f without these samples by `solve`, started at the optimum of all. Raises NoMachine, Stopped."""
        problem = self.problem
        remaining_rows = np.delete(np.arange(len(problem.active_rows)), rows)
        try:
            remaining = restrict_to_rows(problem, remaining_rows)
            start = None if self.has_hard_rows else self.alpha[~gone]
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


def _reduce_to_samples(owner: IntArray, values: FloatArray) -> FloatArray:
    """Return the values of the samples from values at their rows: that of the first row of each."""
    sample_values = np.empty(int(owner.max()) + 1)
    sample_values[owner[::-1]] = values[::-1]
    return sample_values
