"""Try one backend after another until a result is certified (`find_best_result`).

The same loop serves machines and QPs: how a `Candidate` solves and certifies is its own concern.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from qpsvm.base.errors import QPSVMError, SolverError, TooLargeError, UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.program.exchange import R
from qpsvm.program.status import Status
from qpsvm.solve.candidate import Candidate
from qpsvm.solve.request import SolveRequest, bound_follow_up_time, format_time_estimate

#: Statuses that are proven, after which nothing is left to try.
PROVEN_STATUSES = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


def find_best_result(candidates: Iterable[Candidate[R]], request: SolveRequest) -> R:
    """Return the best result of the candidates: of the first that can start, and of later ones within the time budget.

    Raises UnsupportedError, SolverError, TooLargeError.
    """
    search = _Search(request)
    for candidate in candidates:
        if search.is_in_time(candidate):
            search.try_backend(candidate)
            if search.is_over:
                break
    return cast("R", search.build_result())


def rank_result(result: Any) -> tuple[bool, float, int]:
    """Return the sort key of a result: proven first, then a smaller gap, then more finite bounds."""
    return result.status not in PROVEN_STATUSES, result.gap, math.isinf(result.primal) + math.isinf(result.dual)


class _Search:
    """The best result so far, and the backends that were left out.

    is_over: Whether the last result ends the search.
    """

    def __init__(self, request: SolveRequest) -> None:
        self.request = request
        self.is_over = False
        self._best: Any = None
        self._error: QPSVMError | None = None
        self._remaining: float | None = None  # seconds for all later backends together; None before the first
        self._late: tuple[Candidate[Any], str] | None = None
        self._left_out: list[str] = []
        self._waiting_helps = False

    def is_in_time(self, candidate: Candidate[Any]) -> bool:
        """Return whether the set-up of a backend fits into the limits; if not, record the reason."""
        seconds = candidate.setup_seconds
        reason = self.request.explain_late_start(seconds)
        if reason is not None:
            self._late = self._late or (candidate, reason)
            return False
        if self._remaining is None or seconds < self._remaining:
            return True
        if self._remaining > 0.0:
            reason = f"about {format_time_estimate(seconds)} to set it up"
        else:
            reason = "no time left"
        self._left_out.append(f"{candidate} ({reason})")
        self._waiting_helps = True
        return False

    def try_backend(self, candidate: Candidate[Any]) -> None:
        """Run a backend, and store its result if it is the best so far, or its error."""
        clock = Clock(self._remaining)
        try:
            attempt = candidate.run(clock)
        except UnsupportedError as error:  # it does not accept this problem
            self._error = self._error or error
            return
        except SolverError as error:  # of an external backend: the others are tried
            self._error = self._error or error
            self._left_out.append(f"{candidate} ({error})")
            return
        except TooLargeError as error:
            self._error = error
            self._left_out.append(f"{candidate} (memory)")
            return
        if self._remaining is not None:
            self._remaining -= clock.seconds
        elif candidate.trial_max_iter is None:
            self._remaining = bound_follow_up_time(clock.seconds)
        result = attempt.result
        if self._best is None or rank_result(result) < rank_result(self._best):
            self._best = result
        is_final = attempt.is_rounding or self._best.status in PROVEN_STATUSES
        self.is_over = is_final or self.request.forbids_retry(result)

    def build_result(self) -> Any:
        """Return the best result, with a note on the backends that were left out. Raises the error if there is none."""
        if self._best is None and self._late is not None:
            candidate, reason = self._late
            return candidate.build_unstarted_result(reason)
        if self._best is None:
            assert self._error is not None  # there is at least one candidate
            raise self._error
        if self._best.status in PROVEN_STATUSES or not self._left_out:
            return self._best
        note = f"Not tried: {', '.join(self._left_out)}"
        note += "; name one as backend= to wait for it." if self._waiting_helps else "."
        return replace(self._best, message=f"{self._best.message} {note}".strip())
