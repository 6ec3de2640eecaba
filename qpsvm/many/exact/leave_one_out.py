"""The machine without each sample, exactly: its α is led to 0 while all others stay optimal.

    (LEAVE.1)  s from 0 to 1:  the bounds of the rows of sample i go from where α_i is to 0; U and e of all others,
               where they depend on how many samples there are, go to those of the machine without i
    (LEAVE.2)  α_i = 0 and data that do not depend on i:  the optimum is the same, P loses a slack that is not negative,
               D loses nothing, and the gap is at most that of all samples over |D|

Each machine is certified like any other: a row whose bounds are both 0 is a sample that is not there.

Source: Cauwenberghs & Poggio, *Incremental and decremental support vector machine learning* (2000).
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_flag, as_positive, as_tolerance
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, InfeasibleNuError, ParameterTypeError, QPSVMError
from qpsvm.base.resources.limits import one_thread
from qpsvm.base.resources.progress import Clock, held
from qpsvm.machines.problem.judge import Judge
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.replaced import restricted
from qpsvm.many.exact.active_set import ActiveSet, Stopped, Stuck
from qpsvm.many.exact.functions import Functions
from qpsvm.many.exact.rows import Data, SignedRows, check_supported
from qpsvm.many.exact.start import LEAST_TIME, exact_start
from qpsvm.many.grid.walk import bar_of
from qpsvm.program.solution import Status
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve
from qpsvm.space.kernels.functions import Precomputed

#: A row whose bounds are within this share of what a sample takes from them has none left.
NONE_LEFT = 1e-12


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """f of the machine without each sample, at that sample.

    Attributes
    ----------
    decision : ndarray, shape (n,)
        f without sample i, or its group, at sample i; NaN where there is no such machine, or it was not reached.
    gap : ndarray, shape (n,)
        The certified relative gap of the machine that it is of; NaN where there is none.
    error : float
        Of two classes the share of samples on the wrong side; of a regression the mean of (f − t)²; of novelty
        detection the share that the others would call new. Samples without a decision do not count.
    status : Status
        `optimal` where every machine is; `time_limit` or `interrupted` where some were not reached.
    message : str
        Which samples have no decision, and why.
    moved : int
        How many machines had another optimum than that of all samples.
    functions : Functions
        The machines themselves.

    See Also
    --------
    leave_one_out : What makes one.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5], [1.5]], [0, 0, 1, 1, 1])
    >>> found = qpsvm.leave_one_out(problem)
    >>> print(found.decision.round(3), found.error, bool(found.gap.max() < 1e-9))
    [-0.125  0.333  0.375  2.    -0.5  ] 0.4 True
    """

    decision: FloatArray
    gap: FloatArray
    error: float
    status: Status
    message: str
    moved: int
    functions: Functions = field(repr=False)

    def decision_function(self, X: Any) -> FloatArray:
        """f without each sample, or its group, at new points.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Its columns are those of the samples; of a precomputed kernel the values with each of them, (m, n).

        Returns
        -------
        ndarray, shape (m, n)
            Column i is of the machine without sample i; NaN where there is none.

        Raises
        ------
        DataError, DataTypeError
            Samples that do not fit.
        UnsupportedError
            Of an SVDD, whose f is more than a sum of kernel values.

        Examples
        --------
        >>> import qpsvm
        >>> found = qpsvm.leave_one_out(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5], [1.5]], [0, 0, 1, 1, 1]))
        >>> print(found.decision_function([[1.5], [9.0]]).round(3))
        [[ 0.625  1.    -0.375  0.    -0.5  ]
         [ 4.375 11.     3.375  5.     7.   ]]
        """
        return self.functions(X)

    def __repr__(self) -> str:
        known = int(np.isfinite(self.decision).sum())
        return f"<LeaveOneOut: {known} of {len(self.decision)} samples, error {self.error:.6g}, {self.status}>"


def leave_one_out(
    problem: Any,
    result: SVMResult | None = None,
    groups: ArrayLike | None = None,
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
    verbose: bool = False,
) -> LeaveOneOut:
    """The exact leave-one-out decision of every sample, each machine certified.

    Parameters
    ----------
    problem : Problem
        Of two classes, a regression, or novelty detection.
    result : SVMResult, optional
        Of this problem, to begin from; it is solved where absent.
    groups : array_like, shape (n,), optional
        Labels: samples with the same one are left out together.
    tol : float, default=1e-6
        Relative gap up to which a machine counts as optimal.
    time_limit : float, optional
        Seconds; what was reached until then is returned.
    verbose : bool, default=False
        A progress bar, where tqdm is installed; else a line at every tenth of the way.

    Returns
    -------
    LeaveOneOut
        Decisions, gaps and the error.

    Raises
    ------
    ParameterError, ParameterTypeError, DataError
        No problem; a result of another one; groups of another length.
    UnsupportedError
        A machine with linear constraints, of pairs, of several classes in one program, or over several processes.
    TooLargeError
        The kernel matrix does not fit: said before it is made.

    See Also
    --------
    cross_validate : Folds of many samples.
    exact_path : The same machine for every value of a parameter.

    Notes
    -----
    Samples with α = 0 cost nothing. A sample that is the last of its class has no such machine: NaN, and a note.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [3.0], [4.5], [1.5]], [0, 0, 1, 1, 1]
    >>> found = qpsvm.leave_one_out(qpsvm.CSVM(X, y))
    >>> others = qpsvm.solve(qpsvm.CSVM(X[:4], y[:4]))
    >>> bool(np.isclose(found.decision[4], others.decision_function(X[4:])[0]))
    True
    """
    if not isinstance(problem, Machine):
        raise ParameterTypeError(f"leave_one_out takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    tol, verbose, clock = (
        as_tolerance(tol),
        as_flag(verbose, "verbose"),
        Clock(None if time_limit is None else as_positive(time_limit, "time_limit")),
    )
    sets = groups_of(problem, groups)
    check_supported(problem)
    with held(), one_thread(), closing(bar_of(len(sets), verbose, "machine")) as bar:
        out = _Outs(problem, result, tol, clock)
        decision, gap = np.full(len(problem.rows), np.nan), np.full(len(problem.rows), np.nan)
        notes: list[str] = []
        stopped = ""
        for rows in sets:
            if stopped := clock.stopped() or "":
                break
            try:
                decision[rows], gap[rows] = out.without(rows)
            except Stopped:
                stopped = clock.stopped() or "time_limit"
                break
            except _NoMachine as fault:
                notes.append(f"{_named(problem.rows[rows])}: {fault}")
            bar.update(1)
    return _gathered(problem, out, decision, gap, tol, notes, stopped)


class _NoMachine(Exception):
    """There is no machine without these samples."""


def groups_of(problem: Any, groups: ArrayLike | None) -> list[IntArray]:
    """The samples that are left out together, as places among those that take part. Raises DataError."""
    if groups is None:
        return [np.array([i]) for i in range(len(problem.rows))]
    labels = np.asarray(groups)
    if labels.shape != (problem.n,):
        raise DataError(f"groups must have one label for each of the {problem.n} samples, got shape {labels.shape}")
    _, codes = np.unique(labels[problem.rows], return_inverse=True)
    order = np.argsort(codes.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes.ravel()[order])) + 1)


def _named(rows: IntArray) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {rows[0]} and {len(rows) - 1} more"


class _Outs:
    """What is shared by all machines without some samples.

    base: The active set of all samples.
    full: The result of all samples.
    """

    def __init__(self, problem: Any, result: SVMResult | None, tol: float, clock: Clock) -> None:
        self.problem, self.tol, self.clock, self.moved = problem, tol, clock, 0
        self.svm: SVMDual = problem.svm
        self.rows = SignedRows(problem, [self.svm])
        self.data = self.rows.data(self.svm)
        self.full, self.base = exact_start(problem, self.rows, result, clock)
        self.alpha = problem._gather(self.full.alpha)
        self.owner = np.arange(self.svm.m) if self.svm.rows is None else np.asarray(self.svm.rows)
        self.hard = self.svm.hard is not None
        self.depends = self._depends()
        size = max(abs(self.full.primal), abs(self.full.dual))
        self.free_gap = self.full.gap * size / abs(self.full.dual) if self.full.dual else self.full.gap
        self.values = _decisions(problem._gather(self.full.yf), self.svm)
        self.functions = Functions(problem, self.full)

    def _depends(self) -> bool:
        """Whether the bounds or totals of the others depend on who takes part."""
        return any(name in self.problem.own for name in ("nu", "lam"))

    def without(self, rows: IntArray) -> tuple[FloatArray, float]:
        """f of the machine without these samples at them, and its gap. Raises _NoMachine, Stopped."""
        gone = np.isin(self.owner, rows)
        self._check(rows)
        if not self.alpha[gone].any() and not self.depends:
            return self.values[rows], self.free_gap  # (LEAVE.2)
        self.moved += 1
        if self.base is not None and not self.hard:
            dual = self._dual(rows, gone)
            with suppress(Stuck, np.linalg.LinAlgError):
                engine = self._led(dual, gone)
                alpha = self.rows.alpha(engine.v, dual.upper)
                judge = Judge(self.problem.space, dual)
                certificate = judge.with_rounding_bound(judge.certify(alpha), self.tol)
                if certificate.gap <= self.tol:
                    self.functions.certified(rows, certificate)
                    values = -certificate.short * self.problem.size_of_f if self.problem.diagonal else None
                    values = self.svm.sign * certificate.yf if values is None else values
                    return _of_samples(self.owner, values)[rows], float(certificate.gap)
        return self._solved(rows, gone)

    def _check(self, rows: IntArray) -> None:
        """That there is a machine without these samples. Raises _NoMachine."""
        problem = self.problem
        kept = np.delete(np.arange(len(problem.rows)), rows)
        if not len(kept):
            raise _NoMachine("no sample is left")
        if problem.samples.classes is not None and len(np.unique(problem.labels[kept])) < 2:
            raise _NoMachine("no other sample of its class is left")

    def _dual(self, rows: IntArray, gone: NDArray[np.bool_]) -> SVMDual:
        """The dual of the machine without these samples, as one in which they have no room. Raises _NoMachine."""
        svm, upper = self.svm, np.array(self.svm.upper)
        groups = svm.groups
        if self.depends:
            kept = np.delete(np.arange(len(self.problem.rows)), rows)
            try:
                part = restricted(self.problem, kept)
                part.replace(**{name: getattr(part, name) for name in ("nu",) if name in part.own})
            except InfeasibleNuError as error:
                raise _NoMachine(str(error)) from error
            upper[~gone] = np.asarray(part.outlined.upper)
            groups = tuple(
                replace(group, total=other.total, radius=other.radius)
                for group, other in zip(svm.groups, part.outlined.groups, strict=True)
            )
        upper[gone] = 0.0
        found = replace(svm, upper=upper, groups=groups, unit=part.outlined.unit if self.depends else svm.unit)
        index = next((k for k, group in enumerate(svm.groups) if group is svm.intercept), None)
        if index is not None and found.intercept is None:
            object.__setattr__(found.groups[index], "column", found.sign)
        return found

    def _led(self, dual: SVMDual, gone: NDArray[np.bool_]) -> ActiveSet:
        """The active set led to that dual, (LEAVE.1). Raises Stuck, Stopped, LinAlgError."""
        rows, goal = self.rows, self.rows.data(dual)
        assert self.base is not None
        engine = self.base.copy(self.clock)
        return lead(engine, goal, np.unique(rows.whole[gone]))

    def _solved(self, rows: IntArray, gone: NDArray[np.bool_]) -> tuple[FloatArray, float]:
        """The same by `solve`, from the optimum of all samples. Raises _NoMachine, Stopped."""
        problem = self.problem
        kept = np.delete(np.arange(len(problem.rows)), rows)
        try:
            part = restricted(problem, kept)
            start = {} if self.hard else {"start": self.alpha[~gone]}
            left = None if self.clock.limit is None else max(self.clock.left, LEAST_TIME)
            found = solve(part, tol=self.tol, check=False, time_limit=left, **start)
        except QPSVMError as error:
            raise _NoMachine(str(error)) from error
        if found.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            raise Stopped
        if found.error is not None:
            raise _NoMachine(str(found.error))
        self.functions.solved(rows, kept, found)
        X = problem.samples.taken[rows]
        X = X[:, problem.rows[kept]] if isinstance(problem.kernel, Precomputed) else X
        return np.asarray(found.decision_function(X)), float(found.gap)


def lead(engine: ActiveSet, goal: Data, touched: IntArray) -> ActiveSet:
    """An active set led to other data; of the rows `touched`, those that get no room are pinned on their way.

    Raises Stuck, Stopped, LinAlgError.
    """
    now = engine.now
    width = np.maximum(now.hi[touched], -now.lo[touched])
    for side in (goal.lo, goal.hi):  # what is left of a merged row that gave up all it had
        side[touched] = np.where(np.abs(side[touched]) <= NONE_LEFT * width, 0.0, side[touched])
    engine.slope = now.to(now)
    for k in touched[(goal.hi[touched] <= goal.lo[touched]) & ~engine.pinned[touched]].tolist():
        engine.pin(int(k))
    engine.advance(engine.now.to(goal))
    engine.now = goal.copy()
    return engine


def _of_samples(owner: IntArray, values: FloatArray) -> FloatArray:
    """f of the samples from values at their rows: the first row of each."""
    found = np.empty(int(owner.max()) + 1)
    found[owner[::-1]] = values[::-1]
    return found


def _decisions(yf: FloatArray, svm: SVMDual) -> FloatArray:
    """f at the samples that take part, (n,), from y f as a result has it, (m,)."""
    owner = np.arange(svm.m) if svm.rows is None else np.asarray(svm.rows)
    return _of_samples(owner, svm.sign * yf)


def error_of(problem: Any, decision: FloatArray) -> float:
    """The share of wrong sides, the mean squared error, or the share outside, over samples with a decision (n,)."""
    known = np.isfinite(decision)
    if not known.any():
        return float("nan")
    f = decision[known]
    if problem.samples.classes is not None:
        return float(np.mean((f > 0.0) != (problem.samples.target[known] > 0.0)))
    if problem.shown_target is not None:
        return float(np.mean(np.square(f - problem.samples.target[known])))
    return float(np.mean(f < 0.0))


def _gathered(
    problem: Any, out: _Outs, decision: FloatArray, gap: FloatArray, tol: float, notes: list[str], stopped: str
) -> LeaveOneOut:
    whole, gaps = np.full(problem.n, np.nan), np.full(problem.n, np.nan)
    whole[problem.rows], gaps[problem.rows] = decision, gap
    if not problem.takes_all and not stopped:  # a sample of weight 0 trains nothing
        absent = np.flatnonzero(problem.sample_weight == 0.0)
        whole[absent] = out.full.decision_function(problem.X[absent])
        gaps[absent] = out.full.gap
    status = {"": Status.OPTIMAL, "time_limit": Status.TIME_LIMIT, "interrupted": Status.INTERRUPTED}[stopped]
    if status is Status.OPTIMAL and (gaps[np.isfinite(decision) if problem.takes_all else slice(None)] > tol).any():
        status = Status.INACCURATE
    message = "; ".join(notes[:3]) + (f"; and {len(notes) - 3} more" if len(notes) > 3 else "")
    out.functions.absent(np.flatnonzero(np.isnan(decision)))
    return LeaveOneOut(whole, gaps, error_of(problem, whole), status, message, out.moved, out.functions)
