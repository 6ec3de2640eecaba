"""Compile a QP for one solver (`compile`)."""

from __future__ import annotations

import numpy as np

from qpsvm.backends.compiled import Compiled
from qpsvm.base.errors import DataError, ParameterTypeError, TooLargeError
from qpsvm.program.qp import QP


def compile(qp: QP, backend: str = "cvxopt") -> Compiled:
    """Turn a QP into a solver's own data.

    Parameters
    ----------
    qp : QP
        The QP of a machine, or any other.
    backend : str
        One of `qpsvm.backends.names()`, or "auto" for the first that `solve` would try.

    Returns
    -------
    Compiled
        `.data` is exactly what the solver will receive; `.solve(**options)` returns a `QPSolution`.

    Raises
    ------
    UnknownOptionError
        There is no such backend.
    UnsupportedError
        The backend does not accept this QP.
    MissingExtraError
        The backend's package is not installed.
    DataError
        P or its factor has an entry that is not finite or whose square overflows.
    TooLargeError
        The solver's data do not fit into memory.
    ParameterTypeError
        `qp` is not a QP.

    See Also
    --------
    solve : Compile, solve and certify.

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
        is_finite = np.isfinite(qp.P.mean_diagonal())
    if not is_finite:  # the QP checks an explicit P itself; entries of a factor show in the diagonal
        raise DataError(f"P ({qp.P.describe()}) holds a number that is not finite, or whose square is not")
    from qpsvm.solve.program import compile_qp

    try:
        return compile_qp(qp, backend)
    except TooLargeError:  # a MemoryError that already has a message
        raise
    except MemoryError as error:
        raise TooLargeError(
            f"{backend} ran out of memory on a QP of {qp.n} variables: use fewer rows, or another backend or form"
        ) from error
