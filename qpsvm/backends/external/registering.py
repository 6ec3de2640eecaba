"""How a solver of one's own becomes a backend, and how it is taken away again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from qpsvm.backends.base import Backend
from qpsvm.backends.external.admission import admitted, checked_name
from qpsvm.backends.external.entry_points import OUTSIDE, Registered


def register_backend(
    name: str, solver: Callable[..., Any] | Backend | type[Backend], *, sparse: bool = False, auto: bool = False
) -> Registered:
    """Make a solver of one's own a backend, in this process.

    Parameters
    ----------
    name : str
        What `backend=` is to be.
    solver : callable, or Backend or a subclass of it
        A function of (P, q, G, h, A, b, lb, ub) that returns x, or x, y and z; see the notes.
    sparse : bool
        Hand a function P, G and A as CSC matrices, and not as arrays.
    auto : bool
        Whether `backend="auto"` may take it, by its estimate. A function is estimated as CVXOPT is.

    Returns
    -------
    Registered
        In a `with` statement, the backend is taken away at the end of the block.

    Raises
    ------
    ParameterError, ParameterTypeError
        The name is taken or none; or the solver does not have what it needs, which the message names.

    See Also
    --------
    unregister_backend : Take it away.
    backends.Backend : What a solver implements that needs more than this.

    Notes
    -----
    The function is given copies of the parts of: minimise ½xᵀPx + qᵀx subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub. G and
    h, and A and b, are None where there are no such rows; bounds may be infinite. It returns x (n,), or the tuple
    (x, y, z) with y (p,) for the rows of A and z (m,) ≥ 0 for those of G, in the signs of (QP.1); None for x where it
    found no point. The multipliers z of a primal are α. Most duals have no rows Gx ≤ h: there x alone is enough. Of the
    keywords `tol`, `max_iter`, `time_limit`, `verbose` and `start` it is given those that it names; others are its
    settings.

    Its word is not taken: the certificate judges x as it does any. What it raises comes out as a `SolverError`, and so
    does an answer of another shape. Numbers that are not finite are no point. A process that is started anew knows
    nothing of it; a package offers a solver in every process, by an entry point of the group "qpsvm.backends".

    Examples
    --------
    SciPy's own minimiser of a quadratic in a box, for a machine without equality rows:

    >>> import qpsvm
    >>> from scipy.optimize import minimize
    >>> def boxed(P, q, G, h, A, b, lb, ub, *, ftol=1e-15):
    ...     value = lambda x: (0.5 * x @ P @ x + q @ x, P @ x + q)
    ...     bounds, options = list(zip(lb, ub)), {"ftol": ftol}
    ...     return minimize(value, 0 * q, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    >>> problem = qpsvm.PrimalHinge([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], 0.25, intercept=None)
    >>> with qpsvm.register_backend("boxed", boxed):
    ...     result = qpsvm.solve(problem, backend="boxed", ftol=1e-12)
    >>> print(result.status, result.backend, result.gap < 1e-6)
    optimal boxed True
    """
    made = partial(admitted, checked_name(name), solver, sparse, OUTSIDE.peers)
    return Registered(OUTSIDE.add(name, made, auto))


def unregister_backend(name: str) -> None:
    """Take a registered backend away. What is being solved by it goes on.

    Parameters
    ----------
    name : str
        As it was registered.

    Raises
    ------
    UnknownOptionError
        Nothing was registered under that name; the nearest one is named.

    See Also
    --------
    qpsvm.register_backend : What makes it one.

    Examples
    --------
    >>> import qpsvm
    >>> _ = qpsvm.register_backend("none", lambda P, q, G, h, A, b, lb, ub: 0 * q)
    >>> qpsvm.unregister_backend("none")
    >>> qpsvm.unregister_backend("none")
    Traceback (most recent call last):
        ...
    qpsvm.UnknownOptionError: no backend is registered as 'none'...
    """
    OUTSIDE.remove(name)
