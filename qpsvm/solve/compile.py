"""Compile a QP for one solver (`compile`)."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.compiled import Compiled
from qpsvm.base.errors import (
    DataError,
    ParameterTypeError,
    TooLargeError,
)
from qpsvm.program.qp import QP


def compile(qp: QP, backend: str = "cvxopt") -> Compiled:
    """Turn a QP into a solver's own data.

    Parameters
    ----------
    qp : QP
        The QP of a machine, or any other.
    backend : str
        One of `qpsvm.backends.names()`, or "auto" for the first that `solve` would ask.

    Returns
    -------
    Compiled
        `.data` is exactly what the solver will receive; `.solve(**options)` returns a `QPSolution`.

    Raises
    ------
    UnknownOptionError
        No such backend.
    UnsupportedError
        The backend cannot take this QP.
    MissingExtraError
        The backend's package is not installed.
    DataError
        P's factor is not finite.
    TooLargeError
        Its data do not fit into memory.
    ParameterTypeError
        `qp` is not a QP.

    See Also
    --------
    solve : The whole way, with a certificate.

    Examples
    --------
    >>> import qpsvm
    >>> qp = qpsvm.CSVM([[0.0], [2.0]], [0, 1]).qp("dual")
    >>> compiled = qpsvm.compile(qp, "cvxopt")
    >>> compiled.data["G"].size  # the bounds are rows for CVXOPT: −α ≤ 0 and α ≤ C
    (4, 2)
    >>> solution = compiled.solve()
    >>> print(solution.reported, solution.x.round(5))
    optimal [0.5 0.5]
    """
    if not isinstance(qp, QP):
        raise ParameterTypeError(f"compile takes a QP, such as problem.qp('dual'), got {type(qp).__name__}")
    with np.errstate(all="ignore"):
        finite = np.isfinite(qp.P.mean_diagonal())
    if not finite:  # an explicit P is checked when the QP is made; a factor's entries show in the diagonal
        raise DataError(f"P ({qp.P.describe()}) holds a number that is not finite, or whose square is not")
    from qpsvm.solve.program import compile_qp

    try:
        return compile_qp(qp, backend)
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError(
            f"{backend} ran out of memory on a QP of {qp.n} variables: use fewer rows, or another backend or form"
        ) from error
