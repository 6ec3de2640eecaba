"""Define the status of a solution (`Status`), and the solver that claims it (`Solver`)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """Status of a solve. Each member has a sentence: what happened, and what to try.

    Attributes
    ----------
    sentence : str
        What happened, and what to try.

    Examples
    --------
    A status equals its name, prints as it, and carries what to do about it:

    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))
    >>> result.status == "optimal", result.status is qpsvm.Status.OPTIMAL
    (True, True)
    >>> print(qpsvm.Status.TIME_LIMIT.sentence)
    The time limit came first: raise time_limit, or choose a faster backend.
    """

    sentence: str

    def __new__(cls, value: str, sentence: str) -> Status:
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    OPTIMAL = "optimal", "The certified relative gap is within the tolerance."
    INACCURATE = "inaccurate", "The solver stopped, but the certified gap is above the tolerance."
    CANDIDATE = (
        "candidate",
        "The point was given, not solved for, and its certified gap is above the tolerance: solve(problem) looks for "
        "the optimum.",
    )
    INFEASIBLE = (
        "infeasible",
        "No point satisfies the constraints: for a hard margin the classes cannot be separated, so use a soft one.",
    )
    UNBOUNDED = "unbounded", "The objective has no lower bound: check that P is positive semidefinite."
    ITERATION_LIMIT = (
        "iteration_limit",
        "The iteration limit came first: raise max_iter, or start with better scaled data.",
    )
    TIME_LIMIT = "time_limit", "The time limit came first: raise time_limit, or choose a faster backend."
    INTERRUPTED = "interrupted", "You interrupted it: this is the best point so far; start=result resumes from it."
    NUMERICAL_ERROR = "numerical_error", "The solver broke down on rounding."

    def __str__(self) -> str:
        return str(self.value)


class Solver(NamedTuple):
    """Name, version and raw status of the solver of a result."""

    name: str
    version: str
    status: str
