"""Every exception and warning of the library.

Every error derives from `QPSVMError`, and also from the built-in class that a Python user would catch in its place. A
message says what is wrong, where (row, column, parameter), and what to do about it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class QPSVMError(Exception):
    """Base class of every error that this library raises."""


class DataError(QPSVMError, ValueError):
    """The samples, labels or weights cannot be used: their shape or a value in them is wrong."""


class DataTypeError(DataError, TypeError):
    """The samples, labels or weights are of a type that has no order or no arithmetic (complex, text, objects)."""


class FileFormatError(DataError):
    """A data or model file does not hold what it should; or a page or table cannot be written."""


class MissingFileError(QPSVMError, FileNotFoundError):
    """A data or model file does not exist."""


class FileAccessError(QPSVMError, OSError):
    """A file cannot be written or read: there is no folder, permission or room, or it is a folder or a device.

    What the system said is in `__cause__`.
    """


class ParameterError(QPSVMError, ValueError):
    """A parameter of a problem, a kernel or `solve` is outside its range."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of the wrong type: text or None where a number belongs."""


class UnknownOptionError(QPSVMError, TypeError, ValueError):
    """A backend, form, kernel or option that does not exist; the message names the nearest one that does.

    To Python an unknown keyword is a `TypeError` and an unknown value a `ValueError`; this is caught as either.
    """


class UnsupportedError(QPSVMError, NotImplementedError):
    """The backend or machine chosen cannot do what was asked for; the message names one that can."""


class TooLargeError(QPSVMError, MemoryError):
    """What was asked for needs more memory than there is."""


class MissingExtraError(QPSVMError, ImportError):
    """An optional package is not installed; the message gives the command that installs it."""


class NoWeightVectorError(QPSVMError, AttributeError):
    """`w` was asked of a kernel machine, whose weight vector lives in the kernel's feature space."""


class SolverError(QPSVMError, RuntimeError):
    """The solver's answer could not be certified, and `check=True` asked for an error."""


class InfeasibleNuError(ParameterError):
    """ν is larger than the class balance allows: no α has yᵀα = 0, 1ᵀα = ν and 0 ≤ α_i ≤ s_i/Σs.

    Attributes
    ----------
    nu : float
        The value asked for.
    nu_max : float
        The largest feasible value, 2·min(S₊, S₋)/S. S₊, S₋ and S are the sums of the sample weights of the positive
        class, of the negative class and of both.
    """

    def __init__(self, nu: float, nu_max: float) -> None:
        self.nu = nu
        self.nu_max = nu_max
        super().__init__(
            f"nu = {nu:g} is infeasible for this class balance: the largest feasible value is {nu_max:.6g} "
            f"(2·min(S+, S-)/S over the class weights); choose nu <= {nu_max:.6g} or weight the smaller class up"
        )

    def __reduce__(self) -> tuple[type[InfeasibleNuError], tuple[float, float]]:
        return type(self), (self.nu, self.nu_max)


class IndefiniteKernelError(QPSVMError, ValueError):
    """The kernel matrix has a negative eigenvalue where the dual needs none, so the QP is not convex.

    Attributes
    ----------
    eigenvalue : float
        The smallest eigenvalue of the Gram matrix, on the hyperplane of the dual variables if there is one.
    kernel, where : str
        The kernel, and that hyperplane, in words.
    """

    def __init__(self, kernel: str, eigenvalue: float, where: str) -> None:
        self.kernel = kernel
        self.eigenvalue = eigenvalue
        self.where = where
        super().__init__(
            f"the Gram matrix of {kernel} is indefinite: its smallest eigenvalue {where} is {eigenvalue:.6g}, so the "
            'dual is not convex; pass psd="clip" (project on the positive eigenspace) or psd="shift" (add a multiple '
            "of the identity), or choose other kernel parameters"
        )

    def __reduce__(self) -> tuple[type[IndefiniteKernelError], tuple[str, float, str]]:
        return type(self), (self.kernel, self.eigenvalue, self.where)


class NotSeparableError(QPSVMError, ValueError):
    """The classes cannot be separated: their convex hulls meet, and here is a point in both.

    Attributes
    ----------
    u, v : ndarray of shape (n,)
        Convex weights over the caller's rows with Σ u_i φ(x_i) = Σ v_j φ(x_j). u is zero outside the positive class,
        and v outside the negative class.
    distance : float
        ‖Σ u_i φ(x_i) − Σ v_j φ(x_j)‖ / max_i ‖φ(x_i) − φ̄‖. Rounding keeps it from being zero.
    """

    def __init__(self, u: NDArray[np.float64], v: NDArray[np.float64], distance: float) -> None:
        self.u = u
        self.v = v
        self.distance = distance
        super().__init__(
            "the classes are not separable at working precision: a convex combination of "
            f"{int((u > 0).sum())} positive samples meets one of {int((v > 0).sum())} negative samples (relative "
            f"distance {distance:.1e}; the weights are in .u and .v). So the hard margin has no solution; use CSVM, or "
            "another kernel"
        )

    def __reduce__(self) -> tuple[type[NotSeparableError], tuple[NDArray[np.float64], NDArray[np.float64], float]]:
        return type(self), (self.u, self.v, self.distance)


class QPSVMWarning(UserWarning):
    """Base class of every warning that this library issues."""


class InaccurateWarning(QPSVMWarning):
    """The best certified point is further from the optimum than the tolerance asked for."""


def install(extra: str) -> str:
    """The command that installs an extra. It installs from a clone, as long as there is no release."""
    return f'pip install ".[{extra}]" in a clone of the repository'


def nearest(name: object, known: Iterable[str]) -> str:
    """Words that name the nearest known option, for the end of an error message.

    Returns
    -------
    str
        `did you mean 'tol'? known: ...`, or only the known names where none is near.
    """
    names = sorted(known, key=_natural)
    wanted = str(name).lower()
    lowered = [k.lower() for k in names]
    close = difflib.get_close_matches(wanted, lowered, n=1, cutoff=0.8)
    close = close or [k for k in sorted(lowered, key=len, reverse=True) if wanted.startswith(k)]
    close = close or difflib.get_close_matches(wanted, lowered, n=1, cutoff=0.5)
    listing = "known: " + ", ".join(names)
    if not close:
        return listing
    match = next(k for k in names if k.lower() == close[0])
    return f"did you mean {match!r}? {listing}"


def _natural(name: str) -> list[tuple[int, str]]:
    """A key to sort by in which numbers count as numbers: CSVM.2 comes before CSVM.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
