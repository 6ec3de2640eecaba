"""What every backend is asked in the same words, and in what words our own solvers answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qpsvm.base.arrays.checks import as_positive
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import outline, shown
from qpsvm.base.errors import (
    ParameterError,
    ParameterTypeError,
)
from qpsvm.program.solution import Status

#: The largest iteration limit that every solver can hold, a 32-bit integer.
MOST_ITERATIONS = 2**31 - 1
#: Why our own solvers stop, and what that claims.
STOPPED = {
    "converged": Status.OPTIMAL,
    "iteration_limit": Status.ITERATION_LIMIT,
    "time_limit": Status.TIME_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "numerical_error": Status.NUMERICAL_ERROR,
    "infeasible": Status.INFEASIBLE,
}


@dataclass(frozen=True)
class Limits:
    """What every backend is asked in the same words.

    tol: Relative accuracy to aim for; None leaves the solver at its own defaults.
    time_limit or None: Seconds.
    start (n,) or None: A point of the QP to begin at.
    """

    tol: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    verbose: bool = False
    start: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.tol is not None:
            as_positive(self.tol, "tol")
        if self.time_limit is not None:
            as_positive(self.time_limit, "time_limit")
        if self.max_iter is not None:
            if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, (int, np.integer)):
                raise ParameterTypeError(f"max_iter must be a whole number, got {shown(self.max_iter)}")
            if not 1 <= self.max_iter <= MOST_ITERATIONS:
                raise ParameterError(f"max_iter must be between 1 and {MOST_ITERATIONS}, got {self.max_iter}")


def stopped(reason: str) -> tuple[Status, str]:
    """The status that one of our own solvers claims by its stop reason, and the reason in words."""
    return STOPPED[reason], reason.replace("_", " ")


class Run(Protocol):
    """How a run of one of our own solvers ended."""

    @property
    def reason(self) -> str:
        """A key of `STOPPED`."""

    @property
    def iterations(self) -> int:
        """How many were made."""


class SolverData(tuple[Any, ...]):
    """What a solver receives, in the order and by the names of its own interface.

    Unpacks (`P, q, G, h, A, b = data`), reads by attribute (`data.P`) or key (`data["P"]`), and passes on as keywords
    (`cvxopt.solvers.qp(**data)`).
    """

    _names: tuple[str, ...]

    def __new__(cls, **parts: Any) -> SolverData:
        data = super().__new__(cls, parts.values())
        data._names = tuple(parts)
        return data

    def keys(self) -> tuple[str, ...]:
        """The names, in the solver's order."""
        return self._names

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_names", ()):
            return self[name]
        raise AttributeError(name)

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """How it is pickled and copied: made anew, from its parts by name."""
        return (), dict(zip(self._names, self, strict=True))

    def __repr__(self) -> str:
        return outline("SolverData", **dict(zip(self._names, self, strict=True)))


def own_settings(limits: Limits, options: Mapping[str, Any], tol: float | None = None) -> dict[str, Any]:
    """What our own solvers are asked, by the names that they share; what `tol` means is each backend's own business."""
    settings: dict[str, Any] = {"time_limit": limits.time_limit, "verbose": limits.verbose, **options}
    if tol is not None:
        settings["tol"] = tol
    if limits.max_iter is not None:
        settings["max_iter"] = int(limits.max_iter)
    return settings
