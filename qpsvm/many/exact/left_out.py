"""Solve machines without some samples: move the α of these from the optimum of all samples to 0 (`LeaveOutSolver`).

    (LEAVE.1)  s from 0 to 1:  the bounds of the rows of sample i go from α_i to 0; if U and e of the other samples
               depend on the number of samples, they go to U and e of the machine without i
    (LEAVE.2)  α_i = 0, and U and e of the other samples do not change:  the optimum is the same, P loses a nonnegative
               penalty, D is unchanged, and the relative gap is at most P − D of all samples over |D|

U are the upper bounds of α, and e the right-hand sides of the equalities. `RemovalBuilder` builds the data at s = 1.
Three methods are tried in turn: one `Tableau` for all machines, an active set that follows the path of (LEAVE.1), and
`solve`. Each machine is certified like any other.

Source: Cauwenberghs & Poggio, *Incremental and decremental support vector machine learning* (2000).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import InfeasibleNuError, QPSVMError
from qpsvm.base.resources.clock import Clock
from qpsvm.machines import Problem
from qpsvm.machines.problem.certifier import Certifier
from qpsvm.machines.problem.derived_problems import restrict_to_rows
from qpsvm.many.exact.active_set import ActiveSet, PathBreakdown, Stopped
from qpsvm.many.exact.functions import LeaveOneOutFunctions
from qpsvm.many.exact.piece_certifier import PieceCertifier
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.start import MIN_SECONDS, find_start
from qpsvm.many.exact.tableau import build_tableau
from qpsvm.many.exact.values import Decisions
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.kernels.functions import Precomputed

#: A bound of a merged row counts as 0 if it is at most this share of the bound with all samples.
ZERO_BOUND = 1e-12
#: Points that are certified together, and have a larger gap than this, are certified again one by one.
GOOD_GAP = 1e-9
#: f at the samples left out, and the certified gap of the machine without them.
LeftOutValues = tuple[FloatArray, float]
#: v (m,) and μ (p,) of an optimum.
Point = tuple[FloatArray, FloatArray]


class NoMachine(Exception):
    """Raised if there is no machine without these samples."""


@dataclass(frozen=True, eq=False)
class Removal:
    """The removal of some samples.

    samples: Indices of the samples among the active samples.
    is_removed: Mask of the rows of these samples in the dual.
    dual: The dual without these samples: their rows stay, with bounds of 0.
    goal: The data of this dual, at s = 1 of (LEAVE.1).
    rows_to_pin (r,): Indices of the signed rows whose bounds become 0.
    """

    samples: IntArray
    is_removed: NDArray[np.bool_]
    dual: SVMDual
    goal: Data
    rows_to_pin: IntArray


class LeaveOutSolver:
    """Finds the machines without some samples.

    full_result, full_alpha, full_f: The result for all samples, its α, and its f at the active samples.
    unchanged_gap: The bound of (LEAVE.2) on the gap of a machine whose optimum is that of all samples.
    active_set, tableau: The active set for all samples, and its tableau; None if rounding or memory prevents it.
    functions: The decision functions of the machines found so far.
    n_moved: Number of machines whose optimum differs from that of all samples.
    """

    def __init__(self, problem: Problem, result: SVMResult | None, tol: float, clock: Clock) -> None:
        self.problem = problem
        self.tol = tol
        self.clock = clock
        self.n_moved = 0
        svm = problem.svm
        self.signed_rows = SignedRows(problem, [svm])
        full, self.active_set = find_start(problem, self.signed_rows, result, clock)
        self.full_result = full
        self.full_alpha = problem._restrict_to_dual(full.alpha)
        self.removals = RemovalBuilder(problem, self.signed_rows, self.full_alpha)
        self.has_hard_rows = svm.hard_rows is not None
        size = max(abs(full.primal), abs(full.dual))  # `full.gap` is (P − D)/size
        self.unchanged_gap = full.gap * size / abs(full.dual) if full.dual else full.gap
        self.full_f = self.removals.reduce_to_samples(svm.sign * problem._restrict_to_dual(full.yf))
        self.functions = LeaveOneOutFunctions(problem, full)
        self.tableau = None if self.has_hard_rows else build_tableau(self.active_set)
        self.piece_certifier = PieceCertifier(self.signed_rows)

    def evaluate_batch(self, sets: list[IntArray]) -> list[LeftOutValues | None]:
        """Return what `evaluate_without` returns, for many sets of samples, by the tableau.

        An entry is None if the tableau finds no optimum, if the optimum does not change, (LEAVE.2), or if time is up.
        """
        results: list[LeftOutValues | None] = [None] * len(sets)
        if self.tableau is None:
            return results
        removals = self._build_removals(sets)
        optima = self.tableau.find_optima([(removal.rows_to_pin, removal.goal) for removal in removals.values()])
        found = {k: optimum for k, optimum in zip(removals, optima, strict=True) if optimum is not None}
        values = self._certify_all([removals[k] for k in found], list(found.values()))
        for k, result in zip(found, values, strict=True):
            results[k] = result
            self.n_moved += result is not None
        return results

    def _build_removals(self, sets: list[IntArray]) -> dict[int, Removal]:
        """Return the removals that change the optimum, by the index of the set, until time is up."""
        removals: dict[int, Removal] = {}
        for k, samples in enumerate(sets):
            if self.clock.find_stop_reason():
                break
            with suppress(NoMachine):
                removal = self.removals.build(samples)
                if removal is not None:
                    removals[k] = removal
        return removals

    def evaluate_without(self, samples: IntArray) -> LeftOutValues:
        """Return f of the machine without these samples, at the samples, and its gap. Raises NoMachine, Stopped."""
        removal = self.removals.build(samples)
        if removal is None:
            return self.full_f[samples], self.unchanged_gap  # (LEAVE.2)
        self.n_moved += 1
        if self.active_set is not None and not self.has_hard_rows:
            with suppress(PathBreakdown, np.linalg.LinAlgError):
                active_set = move_to_data(self.active_set.copy(self.clock), removal.goal, removal.rows_to_pin)
                values = self._certify(removal, self.signed_rows.compute_alpha(active_set.v, removal.dual.upper))
                if values is not None:
                    return values
        return self._solve_without(samples, removal.is_removed)

    def _certify_all(self, removals: list[Removal], optima: list[Point]) -> list[LeftOutValues | None]:
        """Certify optima together, by a few matrix products, and one by one if that fails; None if both fail."""
        results: list[LeftOutValues | None] = [None] * len(removals)
        problem = self.problem
        # `_certify_together` evaluates f = Kβ + b of the dual: not centred, repaired or scaled, and without explicit w
        has_f_of_dual = problem.space.is_plain and not (problem._diagonal_weight or self.functions.has_weights)
        if removals and has_f_of_dual and problem._f_scale == 1.0:
            results = self._certify_together(removals, optima)
        for k, removal in enumerate(removals):
            if results[k] is None and not self.clock.find_stop_reason():
                results[k] = self._certify(removal, self.signed_rows.compute_alpha(optima[k][0], removal.dual.upper))
        return results

    def _certify_together(self, removals: list[Removal], optima: list[Point]) -> list[LeftOutValues | None]:
        """Certify optima as paths of length 0; None if a gap exceeds `GOOD_GAP` or b differs from the certified one."""
        goals = [removal.goal for removal in removals]
        v = [self.piece_certifier.repair(raw_v, goal) for (raw_v, _), goal in zip(optima, goals, strict=True)]
        unaveraged = self.piece_certifier.build_points(v, [mu for _, mu in optima], goals)
        points, is_determined = self.piece_certifier.average_multipliers(unaveraged)
        all_columns = np.arange(len(removals))
        gaps = self.piece_certifier.bound_gaps(points, all_columns, all_columns)
        uppers = [removal.dual.upper for removal in removals]
        alphas = list(map(self.signed_rows.compute_alpha, v, uppers))
        coef, b = Decisions(self.problem, self.signed_rows).compute_planes(alphas, list(points.mu.T))
        index = find_intercept_group(self.problem.svm)
        certified_b = np.zeros(len(b)) if index is None else points.mu[index]
        results: list[LeftOutValues | None] = [None] * len(removals)
        is_certified = is_determined & (gaps <= min(self.tol, GOOD_GAP)) & (b == certified_b)
        for k in np.flatnonzero(is_certified).tolist():
            samples = removals[k].samples
            self.functions.add_coefficients(samples, coef[:, k], float(b[k]))
            f = points.f[self.signed_rows.distinct_index[samples], k] + b[k]
            results[k] = f, float(gaps[k])
        return results

    def _certify(self, removal: Removal, alpha: FloatArray) -> LeftOutValues | None:
        """Return f and the gap at an α over the rows of the dual; None if the gap exceeds the tolerance."""
        problem = self.problem
        dual = removal.dual
        certifier = Certifier(problem.space, dual)
        certificate = certifier.with_rounding_bound(certifier.certify(alpha), self.tol)
        if not certificate.gap <= self.tol:  # or the gap is NaN
            return None
        self.functions.add_certified(removal.samples, certificate)
        # f of a ball also has a term K(x, x), the level of its rows, so that f is minus the violation
        if problem._diagonal_weight:
            f = -certificate.violation * problem._f_scale
        else:
            f = dual.sign * certificate.yf
        return self.removals.reduce_to_samples(f)[removal.samples], float(certificate.gap)

    def _solve_without(self, samples: IntArray, is_removed: NDArray[np.bool_]) -> LeftOutValues:
        """Find f and gap without these samples by `solve`, from the optimum of all. Raises NoMachine, Stopped."""
        problem = self.problem
        remaining_samples = np.delete(np.arange(len(problem.active_rows)), samples)
        try:
            remaining = restrict_to_rows(problem, remaining_samples)
            start = None if self.has_hard_rows else self.full_alpha[~is_removed]
            if self.clock.limit is None:
                seconds = None
            else:
                seconds = max(self.clock.remaining, MIN_SECONDS)
            result = solve(remaining, tol=self.tol, check=False, time_limit=seconds, start=start)
        except QPSVMError as error:
            raise NoMachine(str(error)) from error
        if result.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            raise Stopped
        if result.error is not None:
            raise NoMachine(str(result.error))
        self.functions.add_result(samples, remaining_samples, result)
        X = problem.samples.active_features[samples]
        if isinstance(problem.kernel, Precomputed):
            X = X[:, problem.active_rows[remaining_samples]]
        diagonal = problem._take_kernel_diagonal(problem.active_rows[samples])
        return np.asarray(result.decision_function(X, diagonal=diagonal)), float(result.gap)


@dataclass(frozen=True)
class _RemainingData:
    """Data of the dual of the remaining samples: U of the rows, fields of the groups by name, and the unit."""

    upper: FloatArray | float
    groups: list[dict[str, Any]]
    unit: Any


class RemovalBuilder:
    """Builds the duals without some samples.

    full_alpha: α of the optimum of all samples, over the rows of the dual.
    sample_of_row: For each row of the dual, the index of its sample.
    depends_on_count: Whether U or e of the remaining samples depends on their number.
    """

    def __init__(self, problem: Problem, signed_rows: SignedRows, full_alpha: FloatArray) -> None:
        self.problem = problem
        self.svm = problem.svm
        self.signed_rows = signed_rows
        self.full_alpha = full_alpha
        self.full_data = signed_rows.build_data(self.svm)
        if self.svm.rows is None:
            self.sample_of_row = np.arange(self.svm.m)
        else:
            self.sample_of_row = np.asarray(self.svm.rows)
        self.depends_on_count = any(name in problem._hyperparameters for name in ("nu", "lam"))
        self.remaining_cache: dict[tuple[int, int], _RemainingData] = {}
        self.is_positive = np.zeros(len(problem.active_rows), dtype=np.bool_)
        if problem.samples.classes is not None:
            self.is_positive = np.asarray(problem._active_target) > 0.0
        self.n_positive = int(np.count_nonzero(self.is_positive))

    def build(self, samples: IntArray) -> Removal | None:
        """Build the removal of these samples; None if the optimum does not change, (LEAVE.2). Raises NoMachine."""
        n_removed_positive = int(np.count_nonzero(self.is_positive[samples]))
        n_remaining = len(self.is_positive) - len(samples)
        if n_remaining == 0:
            raise NoMachine("no sample is left")
        if self.problem.samples.classes is not None and self.n_positive - n_removed_positive in (0, n_remaining):
            raise NoMachine("no other sample of its class is left")
        sample_of_row = self.sample_of_row
        if len(samples) == 1:
            is_removed = sample_of_row == samples[0]
        else:
            is_removed = np.isin(sample_of_row, samples)
        if not self.depends_on_count and not self.full_alpha[is_removed].any():
            return None
        dual = self._build_dual(samples, is_removed, n_removed_positive)
        goal = self.signed_rows.build_data(dual)
        changed = np.unique(self.signed_rows.merged_row[is_removed])
        full_bound = np.maximum(self.full_data.hi[changed], -self.full_data.lo[changed])
        for bounds in (goal.lo, goal.hi):  # remove rounding errors of merged rows whose bounds become 0
            is_zero = np.abs(bounds[changed]) <= ZERO_BOUND * full_bound
            bounds[changed] = np.where(is_zero, 0.0, bounds[changed])
        return Removal(samples, is_removed, dual, goal, rows_to_pin=changed[goal.hi[changed] <= goal.lo[changed]])

    def reduce_to_samples(self, values: FloatArray) -> FloatArray:
        """Return the value of each sample, which is that of its first row, from values at the rows of the dual."""
        sample_values = np.empty(int(self.sample_of_row.max()) + 1)
        sample_values[self.sample_of_row[::-1]] = values[::-1]  # backwards: the first row is assigned last
        return sample_values

    def _build_dual(self, samples: IntArray, is_removed: NDArray[np.bool_], n_removed_positive: int) -> SVMDual:
        """Build the dual without these samples, in which their rows stay, with bounds of 0. Raises NoMachine."""
        svm = self.svm
        upper = np.array(svm.upper)
        groups, unit = svm.groups, svm.unit
        if self.depends_on_count:
            remaining = self._build_remaining_data(samples, n_removed_positive)
            upper[~is_removed], unit = remaining.upper, remaining.unit
            groups = tuple(replace(group, **data) for group, data in zip(groups, remaining.groups, strict=True))
        upper[is_removed] = 0.0
        dual = replace(svm, upper=upper, exact_upper=None, groups=groups, unit=unit)
        index = find_intercept_group(svm)
        # `intercept` finds its group by the identity `column is sign`, which `replace` may break
        if index is not None and dual.intercept is None:
            object.__setattr__(dual.groups[index], "column", dual.sign)
        return dual

    def _build_remaining_data(self, samples: IntArray, n_removed_positive: int) -> _RemainingData:
        """Build the data of the dual of the remaining samples. Raises NoMachine.

        If all samples have equal weights, the data depend only on the number of samples left in each class, and are
        cached.
        """
        key = len(samples), n_removed_positive
        if key in self.remaining_cache:
            return self.remaining_cache[key]
        problem = self.problem
        try:
            remaining: Any = restrict_to_rows(problem, np.delete(np.arange(len(problem.active_rows)), samples))
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
            self.remaining_cache[key] = replace(data, upper=float(upper[0]))
        return data


def find_intercept_group(svm: SVMDual) -> int | None:
    """Return the index of the group of the intercept; None without such a group."""
    return next((k for k, group in enumerate(svm.groups) if group is svm.intercept), None)


def move_to_data(active_set: ActiveSet, goal: Data, rows_to_pin: IntArray) -> ActiveSet:
    """Move an active set to data with bounds of 0 at `rows_to_pin`. Raises PathBreakdown, Stopped, LinAlgError."""
    active_set.slope = active_set.current.difference_to(active_set.current)  # 0: pinning a row does not move the data
    for k in rows_to_pin[~active_set.pinned[rows_to_pin]].tolist():
        active_set.pin(int(k))
    active_set.advance(active_set.current.difference_to(goal))
    active_set.current = goal.copy()
    return active_set
