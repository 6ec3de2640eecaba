"""What an exhibit of the museum is, and how a peer's answer is judged: from outside, by this library's certificate.

A peer is judged at the version on which its failure was seen. At any other version the exhibit says what it finds and
holds nothing against anybody: rounding, defaults and algorithms move. What this library answers is held at all times.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

import qpsvm

#: The gap that an answer of this library's is to reach, unless the exhibit says otherwise: `solve`'s own default.
TOLERANCE = 1e-6
#: Where the failures were seen. Peers choose their instructions by the processor, and some failures are rounding.
MACHINE = "x86_64"
MENDED = "the peer has mended it: move this exhibit to the mended ones"


@dataclass(frozen=True)
class Shown:
    """What an exhibit finds on this machine.

    Attributes
    ----------
    fails : bool
        Whether the peer's failure is there.
    said : str
        What the peer said or did, in a few words.
    gap : float
        The certified relative gap of the peer's answer; NaN where it has none to judge.
    seconds : float
        Processor time of the peer.
    ours : SVMResult, QPResult or QPSVMError
        This library's answer, or the error with the proof that there is none.
    our_seconds : float
    right : bool
        Whatever else is to hold of our answer.
    because : bool
        Whether the reason that the page gives was put to the test, and held.
    """

    fails: bool
    said: str
    gap: float
    seconds: float
    ours: qpsvm.SVMResult | qpsvm.QPResult | qpsvm.QPSVMError
    our_seconds: float
    right: bool = True
    because: bool = True


@dataclass(frozen=True)
class Exhibit:
    """A published failure.

    Attributes
    ----------
    name : str
        Its anchor on the page.
    source : str
        Where it was published.
    year : int
    data : "published", "of that kind" or "ours"
    package : str
        The distribution of the peer; "" where what is judged was printed, and needs no peer.
    seen : tuple of str
        Its versions on which the failure was seen here.
    mended : str
        What mended it; "" where nothing has.
    dear : bool
        Whether it takes long enough to be left out of the fast set.
    tolerance : float
        The gap that our answer is to reach.
    show : callable
    """

    name: str
    source: str
    year: int
    data: str
    package: str
    seen: tuple[str, ...]
    mended: str
    dear: bool
    tolerance: float
    show: Callable[[], Shown]

    @property
    def version(self) -> str | None:
        """Of the peer on this machine; None where it is not installed."""
        if not self.package:
            return ""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None

    @property
    def held(self) -> bool:
        """Whether the failure is to be there: printed, or seen on this version and this kind of machine."""
        return not self.package or (self.version in self.seen and platform.machine() == MACHINE)


#: Every exhibit by its name, as the rooms are opened.
EXHIBITS: dict[str, Exhibit] = {}


def exhibit(
    source: str,
    year: int,
    data: str,
    package: str = "scikit-learn",
    seen: tuple[str, ...] = ("1.4.0", "1.9.1"),
    mended: str = "",
    dear: bool = False,
    tolerance: float = TOLERANCE,
) -> Callable[[Callable[[], Shown]], Callable[[], Shown]]:
    """Put a function on show: its name, with hyphens, is that of the exhibit."""

    def hang(show: Callable[[], Shown]) -> Callable[[], Shown]:
        name = show.__name__.replace("_", "-")
        assert name not in EXHIBITS
        assert data in ("published", "of that kind", "ours")
        EXHIBITS[name] = Exhibit(name, source, year, data, package, seen, mended, dear, tolerance, show)
        return show

    return hang


def issue(number: int, repository: str = "scikit-learn/scikit-learn") -> str:
    """The address of a thread."""
    return f"https://github.com/{repository}/issues/{number}"


def time_call(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and the processor time that it took."""
    begun = time.process_time()
    found = call()
    return found, time.process_time() - begun


def solve_timed(problem: qpsvm.Problem, **options: Any) -> tuple[qpsvm.SVMResult, float]:
    """Return our result, optimal or not, and the processor time that it took."""
    found: tuple[qpsvm.SVMResult, float] = time_call(lambda: qpsvm.solve(problem, check=False, **options))
    return found


def alpha_of(model: Any, n: int) -> np.ndarray:
    """α of a fitted two-class machine of LIBSVM's interface: (n,)."""
    alpha = np.zeros(n)
    alpha[np.asarray(model.support_)] = np.abs(np.asarray(model.dual_coef_)[0])
    return alpha


def gap_of(problem: qpsvm.Problem, model: Any) -> float:
    """The gap that the certificate gives a fitted model's α, which is scaled to the sum that a ν-SVM asks for."""
    alpha = alpha_of(model, problem.n)
    if isinstance(problem, qpsvm.NuSVR):
        above = np.zeros(problem.n, dtype=bool)
        above[np.asarray(model.support_)] = np.asarray(model.dual_coef_)[0] > 0
        alpha = np.concatenate([np.where(above, alpha, 0.0), np.where(above, 0.0, alpha)])
    if isinstance(problem, qpsvm.NuSVM):
        alpha *= problem.nu / alpha.sum()
    return float(problem.at(alpha).gap)


def show_stop(problem: qpsvm.Problem, fit: Callable[[], Any], least: float = 0.1, **options: Any) -> Shown:
    """Show a fit of LIBSVM's that its limit of iterations stops, at a gap above the least that counts."""
    model, seconds = time_call(fit)
    gap = gap_of(problem, model)
    said = f"no end after {int(np.max(model.n_iter_)):,} iterations"
    return Shown(bool(model.fit_status_ == 1 and gap > least), said, gap, seconds, *solve_timed(problem, **options))


def centre(problem: qpsvm.Problem) -> np.ndarray:
    """Return the Gram matrix without its mean, which is idle: because yᵀα = 0, f changes by a constant only. (n, n)."""
    K = problem.kernel(problem.X, problem.X)
    mean = K.mean(axis=0)
    return np.asarray(K - mean[:, None] - mean + mean.mean())


def excess(value: float, result: qpsvm.SVMResult) -> float:
    """How far a primal value is above the best there is, of which our dual value is a bound: relative to the latter."""
    return value / result.dual - 1.0
