"""Compute the exact leave-one-out decisions and their error (`leave_one_out`)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_flag, as_positive, as_tolerance
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import ParameterTypeError, UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.data.labels import encode_groups
from qpsvm.machines import Problem
from qpsvm.many.exact.active_set import Stopped
from qpsvm.many.exact.functions import LeaveOneOutFunctions
from qpsvm.many.exact.left_out import LeaveOutSolver, NoMachine
from qpsvm.many.exact.rows import check_supported
from qpsvm.many.grid.walk import build_progress_bar
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: Number of machines that are computed and certified together.
BATCH = 64


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Decision of the machine without each sample, at that sample.

    Attributes
    ----------
    decision : ndarray, shape (n,)
        f without sample i, or its group, at sample i; NaN if there is no such machine, or it was not reached.
    gap : ndarray, shape (n,)
        The certified relative gap of that machine; NaN if there is none.
    error : float
        For two classes the share of misclassified samples; for a regression the mean of (f − t)²; for novelty
        detection the share of samples that the others classify as novel. Samples without a decision do not count.
    status : Status
        `optimal` if every machine is; `time_limit` or `interrupted` if some were not reached.
    message : str
        Which samples have no decision, and why.
    moved : int
        Number of machines whose optimum differs from that of all samples.
    functions : Functions
        The decision functions of these machines.

    See Also
    --------
    leave_one_out : Computes one.

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
    functions: LeaveOneOutFunctions = field(repr=False)

    def decision_function(self, X: Any) -> FloatArray:
        """Evaluate f without each sample, or its group, at new points.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            Points with the columns of the samples; for a precomputed kernel its values with each sample, (m, n).

        Returns
        -------
        ndarray, shape (m, n)
            Column i belongs to the machine without sample i; NaN if there is none.

        Raises
        ------
        DataError, DataTypeError
            Points with wrong columns or types.
        UnsupportedError
            For an SVDD, whose f is more than a sum of kernel values.

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
    problem: Problem,
    result: SVMResult | None = None,
    groups: ArrayLike | None = None,
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
    verbose: bool = False,
) -> LeaveOneOut:
    """Compute the exact leave-one-out decision of every sample, by certified machines.

    Parameters
    ----------
    problem : Problem
        With two classes, a regression, or novelty detection.
    result : SVMResult, optional
        The result of this problem; computed if omitted.
    groups : array_like, shape (n,), optional
        Labels: samples with the same one are left out together.
    tol : float, default=1e-6
        Relative gap up to which a machine counts as optimal.
    time_limit : float, optional
        Seconds; the decisions reached in time are returned.
    verbose : bool, default=False
        Show a progress bar if tqdm is installed, else a line for every tenth of the work.

    Returns
    -------
    LeaveOneOut
        Decisions, gaps and the error.

    Raises
    ------
    ParameterError, ParameterTypeError, DataError
        Not a problem; a result of another problem; groups of wrong length.
    UnsupportedError
        A machine with linear constraints, over pairs, with several classes in one program, or over several processes;
        an indefinite kernel matrix that was repaired.
    TooLargeError
        The kernel matrix does not fit into memory; checked before it is computed.

    See Also
    --------
    cross_validate : Validation on folds; for many samples.
    exact_path : The same machine for every value of a parameter.

    Notes
    -----
    Samples with α = 0 need no computation. For the last sample of a class there is no such machine: its decision is
    NaN, and the message says so. The kernel is that of all samples, including γ by "scale" and landmarks.

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
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"leave_one_out takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    tol = as_tolerance(tol)
    verbose = as_flag(verbose, "verbose")
    clock = Clock(None if time_limit is None else as_positive(time_limit, "time_limit"))
    sets = list_groups(problem, groups)
    check_supported(problem)
    if problem.psd != "raise" and (problem.space.shift or problem.space.is_clipped):
        raise UnsupportedError(
            f"the kernel matrix is indefinite, and what psd={problem.psd!r} makes of it depends on every sample: "
            "solve the problem of the other samples, which makes it again"
        )
    with defer_interrupt(), limit_blas_threads(), closing(build_progress_bar(len(sets), verbose, "machine")) as bar:
        solver = LeaveOutSolver(problem, result, tol, clock)
        return _build_result(solver, _evaluate_sets(solver, sets, bar), groups)


@dataclass(eq=False)
class _Evaluations:
    """What was found, as far as the run got.

    decision, gap (n,): Of the active samples; NaN if there is none.
    notes: Which machines do not exist, and why.
    stop_reason: "time_limit", "interrupted" or "".
    """

    decision: FloatArray
    gap: FloatArray
    notes: list[str]
    stop_reason: str


def _evaluate_sets(solver: LeaveOutSolver, sets: list[IntArray], bar: Any) -> _Evaluations:
    """Evaluate the machines without each of these sets of samples, batch by batch. Raises KeyboardInterrupt."""
    clock = solver.clock
    active_rows = solver.problem.active_rows
    found = _Evaluations(np.full(len(active_rows), np.nan), np.full(len(active_rows), np.nan), [], "")
    for batch in (sets[k : k + BATCH] for k in range(0, len(sets), BATCH)):
        for rows, values in zip(batch, solver.evaluate_batch(batch), strict=True):
            if values is None:
                found.stop_reason = found.stop_reason or clock.find_stop_reason() or ""
                if found.stop_reason:
                    continue
            try:
                if values is None:
                    found.decision[rows], found.gap[rows] = solver.evaluate_without(rows)
                else:
                    found.decision[rows], found.gap[rows] = values
            except Stopped:
                found.stop_reason = clock.find_stop_reason() or "time_limit"
                continue
            except KeyboardInterrupt:  # raised by a solve that could not be stopped; a second Ctrl-C ends the run
                found.stop_reason = clock.find_stop_reason() or ""
                if not found.stop_reason:
                    raise
                continue
            except NoMachine as error:
                found.notes.append(f"{_name_rows(active_rows[rows])}: {error}")
            bar.update(1)
        if found.stop_reason:
            break
    return found


def list_groups(problem: Problem, groups: ArrayLike | None) -> list[IntArray]:
    """Return the sets of samples that are left out together, as indices among the active samples. Raises DataError."""
    if groups is None:
        return [np.array([i]) for i in range(len(problem.active_rows))]
    codes = encode_groups(groups, problem.n)[problem.active_rows]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def compute_error(problem: Problem, decision: FloatArray) -> float:
    """Return the error of the decisions (n,) as defined by `LeaveOneOut.error`; NaN if there are none."""
    has_decision = np.isfinite(decision)
    if not has_decision.any():
        return float("nan")
    f = decision[has_decision]
    if problem.samples.classes is not None:
        return float(np.mean((f > 0.0) != (problem.samples.target[has_decision] > 0.0)))
    if problem._regression_target is not None:
        return float(np.mean(np.square(f - problem.samples.target[has_decision])))
    return float(np.mean(f < 0.0))


def _name_rows(rows: IntArray) -> str:
    """Return the names of the caller's rows for a message."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    return f"rows {rows[0]} and {len(rows) - 1} more"


def _build_result(solver: LeaveOutSolver, found: _Evaluations, groups: ArrayLike | None) -> LeaveOneOut:
    """Build the result from what was found for the active samples."""
    problem, notes = solver.problem, found.notes
    decision, gap = np.full(problem.n, np.nan), np.full(problem.n, np.nan)
    decision[problem.active_rows], gap[problem.active_rows] = found.decision, found.gap
    solver.functions.mark_missing(np.flatnonzero(np.isnan(found.decision)))
    if not problem._all_weights_positive and not found.stop_reason:
        notes = notes + _evaluate_absent(solver, groups, decision, gap)
    statuses = {"": Status.OPTIMAL, "time_limit": Status.TIME_LIMIT, "interrupted": Status.INTERRUPTED}
    status = statuses[found.stop_reason]
    if problem._all_weights_positive:
        has_decision = np.isfinite(decision)
    else:
        has_decision = slice(None)
    if status is Status.OPTIMAL and (gap[has_decision] > solver.tol).any():
        status = Status.INACCURATE
    message = "; ".join(notes[:3]) + (f"; and {len(notes) - 3} more" if len(notes) > 3 else "")
    error = compute_error(problem, decision)
    return LeaveOneOut(decision, gap, error, status, message, solver.n_moved, solver.functions)


def _evaluate_absent(
    solver: LeaveOutSolver, groups: ArrayLike | None, decision: FloatArray, gap: FloatArray
) -> list[str]:
    """Set decision and gap (n,) of the samples of weight 0; return notes about those that have none.

    Without such a sample the machine is that of all samples, or without its group that of the group's active samples.
    """
    problem, functions = solver.problem, solver.functions
    absent = np.flatnonzero(problem.sample_weight == 0.0)
    mates = _find_active_mates(problem, absent, groups)
    single = absent[mates < 0]
    if len(single):
        diagonal = problem._take_kernel_diagonal(single)
        decision[single] = solver.full_result.decision_function(problem.X[single], diagonal=diagonal)
        gap[single] = solver.full_result.gap
    grouped, mates = absent[mates >= 0], mates[mates >= 0]
    if not len(grouped):
        return []
    if problem._diagonal_weight:
        return [f"{_name_rows(grouped)}: f of an SVDD without the group is not available at a sample of weight 0"]
    functions.function_index[grouped] = functions.function_index[mates]
    values = functions.select_values(functions.evaluate_distinct(problem.X[grouped]))
    decision[grouped] = values[np.arange(len(grouped)), grouped]
    gap[grouped] = gap[mates]
    return []


def _find_active_mates(problem: Problem, absent: IntArray, groups: ArrayLike | None) -> IntArray:
    """Return for each absent sample an active one of its group, or −1 if there is none."""
    if groups is None:
        return np.full(len(absent), -1)
    labels = np.asarray(groups)
    active_rows = problem.active_rows
    known, first = np.unique(labels[active_rows], return_index=True)
    place = np.minimum(np.searchsorted(known, labels[absent]), len(known) - 1)
    return np.where(known[place] == labels[absent], active_rows[first[place]], -1)
