"""Describe an interval of parameter values (`Interval`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.errors import ParameterError


@dataclass(frozen=True)
class Interval:
    """All values of a parameter from low to high, instead of a grid: for `cross_validate`.

    Parameters
    ----------
    low, high : float
        Positive and finite, low below high.

    Raises
    ------
    ParameterError, ParameterTypeError
        Not numbers, or not a valid interval.

    See Also
    --------
    qpsvm.cross_validate : Takes it in place of a list of values.
    qpsvm.exact_path : Computes the optima of an interval.

    Examples
    --------
    >>> import qpsvm
    >>> print(qpsvm.Interval(0.01, 100))
    from 0.01 to 100
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, as_real(getattr(self, name), name))
        if not 0.0 < self.low < self.high < np.inf:
            raise ParameterError(
                f"an interval goes from a positive number to a higher, finite one, got {self.low:g} to {self.high:g}: "
                "such as Interval(0.01, 100)"
            )

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"
