"""Compute the exact leave-one-out values and their error (`leave_one_out`)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_flag, as_positive, as_tolerance
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, ParameterTypeError, UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines import Problem
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.many.exact.active_set import Stopped
from qpsvm.many.exact.functions import Functions
from qpsvm.many.exact.left_out import LeaveOutSolver, NoMachine
from qpsvm.many.exact.rows import check_supported
from qpsvm.many.grid.walk import bar_of
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult

#: Machines that are led and judged at a time.
BATCH = 64


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
    problem: Problem,
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
        A machine with linear constraints, of pairs, of several classes in one program, or over several processes; an
        indefinite kernel matrix that is repaired.
    TooLargeError
        The kernel matrix does not fit: said before it is made.

    See Also
    --------
    cross_validate : Folds of many samples.
    exact_path : The same machine for every value of a parameter.

    Notes
    -----
    Samples with α = 0 cost nothing. A sample that is the last of its class has no such machine: NaN, and a note.
    The kernel stays: γ by "scale", and landmarks, are those of all samples.

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
    if not isinstance(problem, BaseProblem):
        raise ParameterTypeError(f"leave_one_out takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    tol, verbose, clock = (
        as_tolerance(tol),
        as_flag(verbose, "verbose"),
        Clock(None if time_limit is None else as_positive(time_limit, "time_limit")),
    )
    sets = groups_of(problem, groups)
    check_supported(problem)
    if problem.psd != "raise" and (problem.space.shift or problem.space.is_clipped):
        raise UnsupportedError(
            f"the kernel matrix is indefinite, and what psd={problem.psd!r} makes of it depends on every sample: "
            "solve the problem of the other samples, which makes it again"
        )
    with defer_interrupt(), limit_blas_threads(), closing(bar_of(len(sets), verbose, "machine")) as bar:
        out = LeaveOutSolver(problem, result, tol, clock)
        decision, gap = np.full(len(problem.active_rows), np.nan), np.full(len(problem.active_rows), np.nan)
        notes: list[str] = []
        stopped = ""
        for batch in (sets[k : k + BATCH] for k in range(0, len(sets), BATCH)):
            for rows, known in zip(batch, out.find_in_batch(batch), strict=True):
                if known is None and (stopped := stopped or clock.find_stop_reason() or ""):
                    continue
                try:
                    decision[rows], gap[rows] = out.evaluate_without(rows) if known is None else known
                except Stopped:
                    stopped = clock.find_stop_reason() or "time_limit"
                    continue
                except KeyboardInterrupt:  # by a solve that had nothing left to stop; a second press is not noted
                    if not (stopped := clock.find_stop_reason() or ""):
                        raise
                    continue
                except NoMachine as fault:
                    notes.append(f"{_name_rows(problem.active_rows[rows])}: {fault}")
                bar.update(1)
            if stopped:
                break
    return _build_result(problem, out, decision, gap, tol, notes, stopped)


def groups_of(problem: Problem, groups: ArrayLike | None) -> list[IntArray]:
    """The samples that are left out together, as places among those that take part. Raises DataError."""
    if groups is None:
        return [np.array([i]) for i in range(len(problem.active_rows))]
    labels = np.asarray(groups)
    missing = np.flatnonzero(labels != labels)
    if missing.size:
        raise DataError(f"groups[{missing[0]}] is {labels.ravel()[missing[0]]}: give each sample a label")
    if labels.shape != (problem.n,):
        raise DataError(f"groups must have one label for each of the {problem.n} samples, got shape {labels.shape}")
    _, codes = np.unique(labels[problem.active_rows], return_inverse=True)
    order = np.argsort(codes.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes.ravel()[order])) + 1)


def _name_rows(rows: IntArray) -> str:
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {rows[0]} and {len(rows) - 1} more"


def error_of(problem: Problem, decision: FloatArray) -> float:
    """The share of wrong sides, the mean squared error, or the share outside, over samples with a decision (n,)."""
    known = np.isfinite(decision)
    if not known.any():
        return float("nan")
    f = decision[known]
    if problem.samples.classes is not None:
        return float(np.mean((f > 0.0) != (problem.samples.target[known] > 0.0)))
    if problem._regression_target is not None:
        return float(np.mean(np.square(f - problem.samples.target[known])))
    return float(np.mean(f < 0.0))


def _build_result(
    problem: Problem,
    out: LeaveOutSolver,
    decision: FloatArray,
    gap: FloatArray,
    tol: float,
    notes: list[str],
    stopped: str,
) -> LeaveOneOut:
    whole, gaps = np.full(problem.n, np.nan), np.full(problem.n, np.nan)
    whole[problem.active_rows], gaps[problem.active_rows] = decision, gap
    if not problem._all_weights_positive and not stopped:  # a sample of weight 0 trains nothing
        absent = np.flatnonzero(problem.sample_weight == 0.0)
        whole[absent] = out.full.decision_function(problem.X[absent], diagonal=problem._take_kernel_diagonal(absent))
        gaps[absent] = out.full.gap
    status = {"": Status.OPTIMAL, "time_limit": Status.TIME_LIMIT, "interrupted": Status.INTERRUPTED}[stopped]
    if (
        status is Status.OPTIMAL
        and (gaps[np.isfinite(decision) if problem._all_weights_positive else slice(None)] > tol).any()
    ):
        status = Status.INACCURATE
    message = "; ".join(notes[:3]) + (f"; and {len(notes) - 3} more" if len(notes) > 3 else "")
    out.functions.mark_missing(np.flatnonzero(np.isnan(decision)))
    return LeaveOneOut(whole, gaps, error_of(problem, whole), status, message, out.moved, out.functions)
