"""Define what a caller may set for any backend: tolerance, limits and start of a run (`Limits`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_positive
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError, ParameterTypeError
from qpsvm.solvers.shared.budget import MAX_ITERATIONS

#: The relative gap to aim for if no tolerance is given. LIBSVM's and LIBLINEAR's own tolerances correspond to it.
DEFAULT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Limits:
    """Limits and start of a run, the same for every backend.

    tol: Relative accuracy to aim for; None for the solver's own defaults.
    max_iter: Number of iterations as the solver counts them; None for the solver's default.
    time_limit: Seconds; None for no limit.
    verbose: Whether the solver prints.
    start (n,): The initial point of the QP; None for the solver's own.
    start_multipliers: Multipliers of the constraints at the start, by name; None if they are not known.

    Raises ParameterError, ParameterTypeError.
    """

    tol: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    verbose: bool = False
    start: FloatArray | None = None
    start_multipliers: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.tol is not None:
            as_positive(self.tol, "tol")
        if self.time_limit is not None:
            as_positive(self.time_limit, "time_limit")
        if self.max_iter is not None:
            if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, (int, np.integer)):
                raise ParameterTypeError(f"max_iter must be a whole number, got {format_value(self.max_iter)}")
            if not 1 <= self.max_iter <= MAX_ITERATIONS:
                raise ParameterError(f"max_iter must be between 1 and {MAX_ITERATIONS}, got {self.max_iter}")


def build_common_settings(limits: Limits, options: Mapping[str, Any], tol: float | None = None) -> dict[str, Any]:
    """Return the settings of a built-in solver, with its own `options`; what `tol` means is up to each backend."""
    settings: dict[str, Any] = {"time_limit": limits.time_limit, "verbose": limits.verbose, **options}
    if tol is not None:
        settings["tol"] = tol
    if limits.max_iter is not None:
        settings["max_iter"] = int(limits.max_iter)
    return settings
