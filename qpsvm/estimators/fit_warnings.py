"""Warn about a fit that missed its tolerance or changed its problem (`warn_of_gap`, `warn_of_caveats`)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from qpsvm.base.errors import ChangedKernelWarning, DegenerateWarning, InaccurateWarning
from qpsvm.program.status import Status
from qpsvm.result.caveats import Caveat

#: scikit-learn's advice for a solver that ends early.
SCALING_ADVICE = "Consider pre-processing your data with StandardScaler or MinMaxScaler. "


class GapWarning(InaccurateWarning, ConvergenceWarning):  # type: ignore[misc]
    """A fit ended before its gap was certified to be within `tol`; the estimator has the best certified point.

    Filters of scikit-learn's `ConvergenceWarning`, its base class, apply to this warning.

    See Also
    --------
    qpsvm.InaccurateWarning : The corresponding warning of `qpsvm.solve`.

    Examples
    --------
    >>> from sklearn.exceptions import ConvergenceWarning
    >>> from qpsvm.estimators import GapWarning
    >>> issubclass(GapWarning, ConvergenceWarning)
    True
    """


def warn_of_gap(estimator: Any, status: Sequence[Status], gap: Any, message: str) -> None:
    """Warn that machines are not optimal, with the largest of their gaps.

    status, gap (P,): Of each machine; at least one status is not optimal.
    message: What the solver says.
    """
    not_optimal = [k for k, each in enumerate(status) if each is not Status.OPTIMAL]
    worst = max(not_optimal, key=lambda k: float(gap[k]))
    if len(status) > 1:
        count = f" of {len(not_optimal)} of {len(status)} machines"
    else:
        count = ""
    text = (
        f"{type(estimator).__name__} did not reach tol={estimator.tol:g}: the certified relative gap{count} is "
        f"{float(gap[worst]):.2g} ({status[worst]}). {status[worst].sentence} {message}"
    )
    text = _describe_early_stop(estimator, status[worst]) + text.strip()
    warnings.warn(text, GapWarning, stacklevel=find_caller_level())


def _describe_early_stop(estimator: Any, status: Status) -> str:
    """Return scikit-learn's message for a limit that was reached, its advice alone for rounding, or ""."""
    limit_name = {Status.ITERATION_LIMIT: "max_iter", Status.TIME_LIMIT: "time_limit"}.get(status)
    if limit_name is not None:
        return f"Solver terminated early ({limit_name}={getattr(estimator, limit_name)!r}).  {SCALING_ADVICE}"
    if status is Status.NUMERICAL_ERROR and getattr(estimator, "kernel", None) != "precomputed":
        return SCALING_ADVICE
    return ""


def warn_of_caveats(estimator: Any, caveats: Sequence[Caveat], n_machines: int) -> None:
    """Warn of kernel matrices that were repaired although `psd` is None, and of a constant f at an optimum."""
    kernel_caveats = [caveat for caveat in caveats if caveat.kind == "kernel"]
    if kernel_caveats and getattr(estimator, "psd", "") is None:
        text = _describe_changed_kernel(kernel_caveats, n_machines)
        _warn(estimator, text, ChangedKernelWarning)
    degenerate_caveats = [caveat for caveat in caveats if caveat.kind == "degenerate"]
    if degenerate_caveats and not estimator.fit_status_:  # else the optimum itself may not be degenerate
        parameters = [name for name in ("nu", "epsilon", "C", "kernel") if name in estimator._parameters]
        text = degenerate_caveats[0].text + _describe_count(len(degenerate_caveats), n_machines)
        _warn(estimator, f"{text}. Try another {', '.join(parameters)}, or other features", DegenerateWarning)


def _warn(estimator: Any, text: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code."""
    warnings.warn(f"{type(estimator).__name__}: {text}", category, stacklevel=find_caller_level())


def _describe_changed_kernel(kernel_caveats: Sequence[Caveat], n_machines: int) -> str:
    """Describe kernel matrices that were repaired."""
    most_negative = min(kernel_caveats, key=lambda caveat: caveat.eigenvalue)
    count = _describe_count(len(kernel_caveats), n_machines)
    return (
        f"{most_negative.text}{count}; the most negative one is {most_negative.eigenvalue:.3g}. That "
        "is another problem than scikit-learn's, which has no certified optimum. Choose psd='clip' for this one "
        "without a warning, psd='raise' for an error, psd='shift', or another kernel, gamma or coef0"
    )


def _describe_count(n_concerned: int, n_machines: int) -> str:
    """Describe how many of the machines are concerned; return "" if there is only one machine."""
    if n_machines > 1:
        return f" (of {n_concerned} of {n_machines} machines)"
    return ""


def find_caller_level() -> int:
    """Find the `stacklevel` with which a warning points at the line of the user's code."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("qpsvm.", "sklearn.")):
        level = level + 1
        frame = frame.f_back
    return level
