"""Solve machines without some samples from the optimum of all, by moving their α to 0 (`LeaveOutSolver`).

    (LEAVE.1)  s from 0 to 1:  the bounds of the rows of sample i go from where α_i is to 0; U and e of all others,
               where they depend on how many samples there are, go to those of the machine without i
    (LEAVE.2)  α_i = 0 and data that do not depend on i:  the optimum is the same, P loses a slack that is not negative,
               D loses nothing, and the gap is at most that of all samples over |D|

They are led all from one tableau; where that says too little, each by an active set of its own, and by `solve` where
that gets stuck. Each machine is certified like any other: a row whose bounds are both 0 is a sample that is not there.

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
from qpsvm.many.exact.active_set import ActiveSet, Stopped, Stuck
from qpsvm.many.exact.functions import Functions
from qpsvm.many.exact.judge import PieceJudge
from qpsvm.many.exact.removals import removals_from
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.start import LEAST_TIME, exact_start
from qpsvm.many.exact.values import Decisions
from qpsvm.program.status import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.kernels.functions import Precomputed

#: A row whose bounds are within this share of what a sample takes from them has none left.
NONE_LEFT = 1e-12
#: The gap up to which no better point is searched for.
ENOUGH = 1e-9
#: f of the samples that are left out, and the certified gap of the machine that it is of.
Found = tuple[FloatArray, float]


class NoMachine(Exception):
    """There is no machine without these samples."""


@dataclass(frozen=True, eq=False)
class _Change:
    """Some samples less: the rows of the dual that have no room, that dual, and its data.

    pinned (r,): Signed rows in which there is no room any more.
    """

    rows: IntArray
    gone: NDArray[np.bool_]
    dual: SVMDual
    goal: Data
    pinned: IntArray


class LeaveOutSolver:
    """What is shared by all machines without some samples.

    base: The active set of all samples.
    full: The result of all samples.
    moved: How many machines had another optimum.
    """

    def __init__(self, problem: Problem, result: SVMResult | None, tol: float, clock: Clock) -> None:
        self.problem, self.tol, self.clock, self.moved = problem, tol, clock, 0
        self.svm: SVMDual = problem.svm
        self.rows = SignedRows(problem, [self.svm])
        self.data = self.rows.data(self.svm)
        self.full, self.base = exact_start(problem, self.rows, result, clock)
        self.alpha = problem._restrict_to_dual(self.full.alpha)
        self.owner = np.arange(self.svm.m) if self.svm.rows is None else np.asarray(self.svm.rows)
        self.hard = self.svm.hard_rows is not None
        self.depends = any(
            name in problem._hyperparameters for name in ("nu", "lam")
        )  # the others' U or e on who takes part
        self.known: dict[tuple[int, int], tuple[float, list[tuple[Any, Any]], Any]] = {}
        size = max(abs(self.full.primal), abs(self.full.dual))
        self.free_gap = self.full.gap * size / abs(self.full.dual) if self.full.dual else self.full.gap
        self.values = _of_samples(self.owner, self.svm.sign * problem._restrict_to_dual(self.full.yf))
        self.functions = Functions(problem, self.full)
        self.removals = None if self.hard else removals_from(self.base)
        self.judge = PieceJudge(self.rows)
        two = problem.samples.classes is not None
        self.first = (
            np.asarray(problem._active_target) > 0.0 if two else np.zeros(len(problem.active_rows), dtype=np.bool_)
        )
        self.classes = (int(np.count_nonzero(self.first)), int(np.count_nonzero(~self.first))) if two else None

    # --- all from one tableau ---------------------------------------------------------------------------------------

    def find_in_batch(self, sets: list[IntArray]) -> list[Found | None]:
        """Return the results of some machines found without following a path for each; None for the others."""
        found: list[Found | None] = [None] * len(sets)
        if self.removals is None:
            return found
        places, changes = [], []
        for k, rows in enumerate(sets):
            if self.clock.find_stop_reason():
                break
            with suppress(NoMachine):
                if (change := self._change(rows)) is not None:
                    places.append(k)
                    changes.append(change)
        led = self.removals.find_optima([(change.pinned, change.goal) for change in changes])
        good = [k for k, point in enumerate(led) if point is not None]
        for k, one in zip(good, self._certify_all([changes[k] for k in good], [led[k] for k in good]), strict=True):
            found[places[k]] = one
            self.moved += one is not None
        return found

    def _certify_all(self, changes: list[_Change], led: list[Any]) -> list[Found | None]:
        """Certify all of these points in a few products, and one by one where that is not enough."""
        found: list[Found | None] = [None] * len(changes)
        problem = self.problem
        simple = problem.space.is_plain and not (problem._diagonal_weight or self.functions.in_space)
        if changes and simple and problem._f_scale == 1.0:
            goals = [change.goal for change in changes]
            v = [self.judge.repair(point[0], goal) for point, goal in zip(led, goals, strict=True)]
            points, inside = self.judge.average_multipliers(self.judge.points(v, [point[1] for point in led], goals))
            every = np.arange(len(changes))
            gaps = self.judge.gaps(points, every, every)
            alphas = [self.rows.alpha(each, change.dual.upper) for each, change in zip(v, changes, strict=True)]
            coef, b = Decisions(problem, self.rows).planes(alphas, list(points.mu.T))
            index = next((k for k, group in enumerate(self.svm.groups) if group is self.svm.intercept), None)
            level = np.zeros(len(b)) if index is None else points.mu[index]
            for k in np.flatnonzero(inside & (gaps <= min(self.tol, ENOUGH)) & (b == level)).tolist():
                rows = changes[k].rows
                self.functions.planes(rows, coef[:, k], float(b[k]))
                found[k] = points.f[self.rows.of_sample[rows], k] + b[k], float(gaps[k])
        for k, change in enumerate(changes):
            if found[k] is None and not self.clock.find_stop_reason():
                found[k] = self._certified(change, self.rows.alpha(led[k][0], change.dual.upper))
        return found

    # --- one by one -------------------------------------------------------------------------------------------------

    def evaluate_without(self, rows: IntArray) -> Found:
        """Return f at these samples of the machine without them, and its gap. Raises NoMachine, Stopped."""
        change = self._change(rows)
        if change is None:
            return self.values[rows], self.free_gap  # (LEAVE.2)
        self.moved += 1
        if self.base is not None and not self.hard:
            with suppress(Stuck, np.linalg.LinAlgError):
                engine = lead(self.base.copy(self.clock), change.goal, change.pinned)
                found = self._certified(change, self.rows.alpha(engine.v, change.dual.upper))
                if found is not None:
                    return found
        return self._solve_without(rows, change.gone)

    def _certified(self, change: _Change, alpha: FloatArray) -> Found | None:
        """f and gap of a point over the rows of its dual, where it is within the tolerance."""
        problem, dual = self.problem, change.dual
        judge = Certifier(problem.space, dual)
        certificate = judge.with_rounding_bound(judge.certify(alpha), self.tol)
        if not certificate.gap <= self.tol:
            return None
        self.functions.add_certified(change.rows, certificate)
        values = -certificate.violation * problem._f_scale if problem._diagonal_weight else dual.sign * certificate.yf
        return _of_samples(self.owner, values)[change.rows], float(certificate.gap)

    def _change(self, rows: IntArray) -> _Change | None:
        """Return the dual without these samples; None if the optimum stays, (LEAVE.2). Raises NoMachine."""
        n, first = len(self.problem.active_rows), int(np.count_nonzero(self.first[rows]))
        if len(rows) == n:
            raise NoMachine("no sample is left")
        if self.classes is not None and (first == self.classes[0] or len(rows) - first == self.classes[1]):
            raise NoMachine("no other sample of its class is left")
        gone = self.owner == rows[0] if len(rows) == 1 else np.isin(self.owner, rows)
        if not self.depends and not self.alpha[gone].any():
            return None
        dual = self._dual(rows, gone, first)
        goal, touched = self.rows.data(dual), np.unique(self.rows.whole[gone])
        width = np.maximum(self.data.hi[touched], -self.data.lo[touched])
        for side in (goal.lo, goal.hi):  # what is left of a merged row that gave up all it had
            side[touched] = np.where(np.abs(side[touched]) <= NONE_LEFT * width, 0.0, side[touched])
        return _Change(rows, gone, dual, goal, touched[goal.hi[touched] <= goal.lo[touched]])

    def _dual(self, rows: IntArray, gone: NDArray[np.bool_], first: int) -> SVMDual:
        """The dual of the machine without these samples, as one in which they have no room. Raises NoMachine."""
        svm, upper = self.svm, np.array(self.svm.upper)
        groups, unit = svm.groups, svm.unit
        if self.depends:
            upper[~gone], totals, unit = self._build_remaining_data(rows, first)
            groups = tuple(
                replace(group, total=total, radius=radius)
                for group, (total, radius) in zip(groups, totals, strict=True)
            )
        upper[gone] = 0.0
        found = replace(svm, upper=upper, groups=groups, unit=unit)
        index = next((k for k, group in enumerate(svm.groups) if group is svm.intercept), None)
        if index is not None and found.intercept is None:
            object.__setattr__(found.groups[index], "column", found.sign)
        return found

    def _build_remaining_data(self, rows: IntArray, first: int) -> tuple[Any, list[tuple[Any, Any]], Any]:
        """Return U of the others, the total and radius of each group, and the unit. Raises NoMachine.

        Of samples that count alike these depend on how many of each class are left, and on nothing else.
        """
        if (len(rows), first) in self.known:
            return self.known[len(rows), first]
        problem = self.problem
        try:
            part = restrict_to_rows(problem, np.delete(np.arange(len(problem.active_rows)), rows))
            part.replace(**{name: getattr(part, name) for name in ("nu",) if name in part._hyperparameters})
        except InfeasibleNuError as error:
            raise NoMachine(str(error)) from error
        upper = np.asarray(part._dual_structure.upper)
        found = upper, [(group.total, group.radius) for group in part._dual_structure.groups], part._dual_structure.unit
        alike = find_common_value(np.asarray(problem.sample_weight)) is not None or np.ptp(problem.sample_weight) == 0.0
        if (
            alike
            and np.ptp(upper) == 0.0
            and all(np.ndim(getattr(problem, name)) == 0 for name in problem._hyperparameters)
        ):
            self.known[len(rows), first] = float(upper[0]), *found[1:]
        return found

    def _solve_without(self, rows: IntArray, gone: NDArray[np.bool_]) -> Found:
        """Find f without these samples by `solve`, started at the optimum of all. Raises NoMachine, Stopped."""
        problem = self.problem
        kept = np.delete(np.arange(len(problem.active_rows)), rows)
        try:
            part = restrict_to_rows(problem, kept)
            start = None if self.hard else self.alpha[~gone]
            left = None if self.clock.limit is None else max(self.clock.remaining, LEAST_TIME)
            found = solve(part, tol=self.tol, check=False, time_limit=left, start=start)
        except QPSVMError as error:
            raise NoMachine(str(error)) from error
        if found.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            raise Stopped
        if found.error is not None:
            raise NoMachine(str(found.error))
        self.functions.add_result(rows, kept, found)
        X = problem.samples.active_features[rows]
        X = X[:, problem.active_rows[kept]] if isinstance(problem.kernel, Precomputed) else X
        own = problem._take_kernel_diagonal(problem.active_rows[rows])
        return np.asarray(found.decision_function(X, diagonal=own)), float(found.gap)


def lead(engine: ActiveSet, goal: Data, pinned: IntArray) -> ActiveSet:
    """An active set led to other data, in which the rows `pinned` have no room.

    Raises Stuck, Stopped, LinAlgError.
    """
    engine.slope = engine.now.difference_to(engine.now)
    for k in pinned[~engine.pinned[pinned]].tolist():
        engine.pin(int(k))
    engine.advance(engine.now.difference_to(goal))
    engine.now = goal.copy()
    return engine


def _of_samples(owner: IntArray, values: FloatArray) -> FloatArray:
    """f of the samples from values at their rows: the first row of each."""
    found = np.empty(int(owner.max()) + 1)
    found[owner[::-1]] = values[::-1]
    return found
