"""Every exception and warning of the library.

Every error derives from `QPSVMError`, and also from the built-in class that a Python user would catch in its place. A
message says what is wrong, where (row, column, parameter), and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qpsvm.base.arrays.words import did_you_mean as did_you_mean
from qpsvm.base.arrays.words import install as install
from qpsvm.base.arrays.words import nearest as nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class QPSVMError(Exception):
    """Base class of every error that this library raises.

    Examples
    --------
    >>> import qpsvm
    >>> issubclass(qpsvm.ParameterError, qpsvm.QPSVMError), issubclass(qpsvm.ParameterError, ValueError)
    (True, True)
    """

    def __reduce__(self) -> tuple[Any, ...]:  # that of MemoryError is not safe for whoever pickles tracebacks, too
        code = getattr(type(self).__init__, "__code__", None)
        names = code.co_varnames[1 : code.co_argcount] if code else ()  # each an attribute
        return type(self), tuple(vars(self)[name] for name in names if name in vars(self)) or self.args


class DataError(QPSVMError, ValueError):
    """The samples, labels or weights cannot be used: their shape or a value in them is wrong.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], [float("nan")]], [0, 1])
    Traceback (most recent call last):
    qpsvm.DataError: X has NaN in row 1, column 0; impute or drop such rows first
    """


class DataTypeError(DataError, TypeError):
    """The samples, labels or weights are of a type that has no order or no arithmetic (complex, text, objects).

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], ["red"]], [0, 1])
    Traceback (most recent call last):
    qpsvm.DataTypeError: X has entries of type ...; samples must be numbers: encode text columns first
    """


class FileFormatError(DataError):
    """A data or model file does not hold what it should; or a page or table cannot be written.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.load(qpsvm.__file__)
    Traceback (most recent call last):
    qpsvm.FileFormatError: ...__init__.py is not a model saved by qpsvm, or it is damaged: ...
    """


class MissingFileError(QPSVMError, FileNotFoundError):
    """A data or model file does not exist.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.load("nowhere.npz")
    Traceback (most recent call last):
    qpsvm.MissingFileError: no model file 'nowhere.npz'
    """


class FileAccessError(QPSVMError, OSError):
    """A file cannot be written or read: no folder, permission or room, or it is a device; `__cause__` says which.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1])).save("no_such_folder/model.npz")
    Traceback (most recent call last):
    qpsvm.FileAccessError: ...
    """


class ParameterError(QPSVMError, ValueError):
    """A parameter of a problem, a kernel or `solve` is outside its range.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.RBF(gamma=0)
    Traceback (most recent call last):
    qpsvm.ParameterError: gamma must be positive, got 0
    """


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of the wrong type: text or None where a number belongs.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1], C="1")
    Traceback (most recent call last):
    qpsvm.ParameterTypeError: C must be a number, got '1'
    """


class UnknownOptionError(QPSVMError, TypeError, ValueError):
    """A backend, form, kernel or option that does not exist; the message names the nearest one that does.

    To Python an unknown keyword is a `TypeError` and an unknown value a `ValueError`; this is caught as either.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]), tolerence=1e-8)
    Traceback (most recent call last):
    qpsvm.UnknownOptionError: no backend has an option 'tolerence'; did you mean 'tol'? known: ...
    """


class UnsupportedError(QPSVMError, NotImplementedError):
    """The backend or machine chosen cannot do what was asked for; the message names one that can.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]), "libsvm", form="primal")
    Traceback (most recent call last):
    qpsvm.UnsupportedError: libsvm takes the dual form only: it solves the dual; use form='dual', or cvxopt, ...
    """


class TooLargeError(QPSVMError, MemoryError):
    """What was asked for needs more memory than there is.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.LowRank([[1.0]] * 1_000_000).dense()  # 10⁶ numbers stand for 10¹² entries
    Traceback (most recent call last):
    qpsvm.TooLargeError: a low-rank operator made dense would be a dense 1000000 × 1000000 matrix of ...
    """


class MissingExtraError(QPSVMError, ImportError):
    """An optional package is not installed; the message gives the command that installs it.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> import qpsvm
    >>> with patch.dict(sys.modules, {"matplotlib": None}):  # as if it were absent
    ...     qpsvm.plotting.gap([[0, 1.0], [1, 0.1]])
    Traceback (most recent call last):
    qpsvm.MissingExtraError: ...
    """


class AbsentError(UnsupportedError, AttributeError):
    """A quantity was asked for that this machine does not have, as the classes of a regression.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
    >>> hasattr(problem, "classes"), hasattr(problem, "t")
    (True, False)
    """


class NoWeightVectorError(AbsentError):
    """`w` was asked of a kernel machine, whose weight vector lives in the kernel's feature space.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel=qpsvm.RBF(gamma=0.5))).w
    Traceback (most recent call last):
    qpsvm.NoWeightVectorError: w = Σ β_i φ(x_i) is a vector in the feature space of RBF(gamma=0.5), not ...
    """


class SolverError(QPSVMError, RuntimeError):
    """The solver's answer could not be certified, and `check=True` asked for an error.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.compile(qpsvm.QP([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[-1.0, -1.0]), "osqp").solve().objective
    Traceback (most recent call last):
    qpsvm.SolverError: osqp returned no point to measure (primal infeasible)
    """


class ClusterError(SolverError):
    """A Dask cluster could not go on with a solve: workers were lost for good, or all of them, or the scheduler.

    Attributes
    ----------
    message : str
        What was lost.
    state : dict or None
        The last state that was noted.
    checkpoint : str or None
        The file that a solve may go on from.

    Examples
    --------
    >>> import qpsvm
    >>> print(qpsvm.ClusterError("all workers of the Dask cluster are gone").checkpoint)
    None
    """

    def __init__(self, message: str, state: dict[str, Any] | None = None, checkpoint: str | None = None) -> None:
        self.message, self.state, self.checkpoint = message, state, checkpoint
        super().__init__(message)


class _ProvableError(QPSVMError):
    """An error about a machine without a solution, which says why in numbers: that can be proven."""

    #: Makes the proof, where the samples are at hand; whoever raises the error sets it. It is not pickled.
    _evidence: Callable[[], Any] | None = None

    def verify(self) -> Any:
        """Prove it: in rational numbers, and where these are not found up to a distance that is proven.

        Returns
        -------
        Proof
            Without a gap, which is NaN. Where the numbers of the error do not prove it exactly, one of its `claims` is
            open and says what they do prove; or refuted, where the opposite is proven.

        Raises
        ------
        UnsupportedError
            There are no samples with the error, or nobody can compute with their kernel exactly.

        Examples
        --------
        >>> import qpsvm
        >>> try:
        ...     qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0]))
        ... except qpsvm.NotSeparableError as error:
        ...     print(error.verify().claims[-1].text)
        no hyperplane separates the classes: that point would be on both of its sides
        """
        if self._evidence is None:
            raise UnsupportedError(
                "this error has no samples: it was copied, pickled or made by hand, or they are in several processes; "
                "make and solve the problem here, and ask the error that this raises"
            )
        return self._evidence()


class InfeasibleNuError(_ProvableError, ParameterError):
    """The ν asked for is larger than the class balance allows: no α has yᵀα = 0, 1ᵀα = ν and 0 ≤ α_i ≤ s_i/Σs.

    Attributes
    ----------
    nu : float
        The value asked for.
    nu_max : float
        The largest feasible value: 2·min(S₊, S₋)/S for sums of sample weights of the positive class, the negative class
        and both; 1 where there are no classes, so that ν is a share.
    balance : bool
        Whether it is the balance of two classes that sets it.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.NuSVM([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1], nu=0.8)  # at most 2·min(1, 3)/4
    Traceback (most recent call last):
    qpsvm.InfeasibleNuError: nu = 0.8 is infeasible for this class balance: the largest feasible value is 0.5 ...
    """

    def __init__(self, nu: float, nu_max: float, balance: bool = True) -> None:
        self.nu, self.nu_max, self.balance = nu, nu_max, balance
        why = f": it is a share, so choose nu <= {nu_max:g}"
        if balance:
            why = (
                f" for this class balance: the largest feasible value is {nu_max:.6g} (2·min(S+, S-)/S over the class "
                f"weights); choose nu <= {nu_max:.6g} or weight the smaller class up"
            )
        super().__init__(f"nu = {nu:g} is infeasible{why}")


class IndefiniteKernelError(QPSVMError, ValueError):
    """The kernel matrix has a negative eigenvalue where the dual needs none, so the QP is not convex.

    Attributes
    ----------
    eigenvalue : float
        The smallest eigenvalue of the Gram matrix, on the hyperplane of the dual variables if there is one.
    kernel, where : str
        The kernel, and that hyperplane, in words.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0, 1.0], [1.0, 0.0]], [0, 1], kernel="precomputed"))
    Traceback (most recent call last):
    qpsvm.IndefiniteKernelError: ... its smallest eigenvalue on the hyperplane yᵀα = 0 is -1, so ...
    """

    def __init__(self, kernel: str, eigenvalue: float, where: str) -> None:
        self.kernel, self.eigenvalue, self.where = kernel, eigenvalue, where
        super().__init__(
            f"the Gram matrix of {kernel} is indefinite: its smallest eigenvalue {where} is {eigenvalue:.6g}, so the "
            'dual is not convex; pass psd="clip" (project on the positive eigenspace) or psd="shift" (add a multiple '
            "of the identity), or choose other kernel parameters"
        )


class NotSeparableError(_ProvableError, ValueError):
    """The classes cannot be separated: their convex hulls meet, and here is a point in both.

    Attributes
    ----------
    u, v : ndarray of shape (n,)
        Convex weights over the caller's rows with Σ u_i φ(x_i) = Σ v_j φ(x_j). u is zero outside the positive class,
        and v outside the negative class.
    distance : float
        ‖Σ u_i φ(x_i) − Σ v_j φ(x_j)‖ / max_i ‖φ(x_i) − φ̄‖ of these floats. Rounding keeps it from being zero: that
        there are weights next to them for which it is, is proven before this is raised.

    Examples
    --------
    >>> import qpsvm
    >>> try:
    ...     qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0]))
    ... except qpsvm.NotSeparableError as error:
    ...     print(error.u.round(6), error.v.round(6))
    [0. 1. 0.] [0.5 0.  0.5]
    """

    def __init__(self, u: Floats, v: Floats, distance: float) -> None:
        self.u, self.v, self.distance = u, v, distance
        super().__init__(
            "the classes are not separable: a convex combination of "
            f"{int((u > 0).sum())} positive samples meets one of {int((v > 0).sum())} negative samples (relative "
            f"distance {distance:.1e}; the weights are in .u and .v). So the hard margin has no solution; use CSVM, or "
            "another kernel"
        )


class MarginNotFoundError(_ProvableError, SolverError, ValueError):
    """No margin was found between two classes, and that there is none was not proven: they are too near to each other.

    Attributes
    ----------
    u, v : ndarray of shape (n,)
        Convex weights over the caller's rows, of the positive and of the negative class: of the nearest points of the
        hulls that were found.
    distance : float
        ‖Σ u_i φ(x_i) − Σ v_j φ(x_j)‖ / max_i ‖φ(x_i) − φ̄‖, as measured. A margin, if there is one, is hardly larger.
    separable : bool or None
        True where exact arithmetic found that there is a margin, which is too narrow for doubles; None where it found
        neither that nor a common point.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], kernel=qpsvm.RBF(1e-7)))
    Traceback (most recent call last):
    qpsvm.MarginNotFoundError: the classes can be separated, but by a margin too narrow for doubles: ...
    """

    def __init__(self, u: Floats, v: Floats, distance: float, separable: bool | None = None) -> None:
        self.u, self.v, self.distance, self.separable = u, v, distance, separable
        known = "whether the classes can be separated is not decided"
        if separable:
            known = "the classes can be separated, but by a margin too narrow for doubles"
        super().__init__(
            f"{known}: their hulls come as near as {distance:.1e} of the data's size (the weights of these points are "
            "in .u and .v), where rounding hides which side a sample is on; .verify() says what is proven. Use CSVM, "
            "another kernel, or features of other units"
        )


class _RowsError(_ProvableError):
    """An error about a user's rows, with weights that say why."""

    #: What is said of the rows before the weights, and after them.
    _said = ("", "")

    def __init__(self, weights: dict[str, float], bound: float, residual: float) -> None:
        self.weights = weights
        self.bound = bound
        self.residual = residual
        named = sorted(weights.items(), key=lambda item: -item[1])
        listing = " + ".join(f"{weight:.3g}·({name})" for name, weight in named[:8]) + (
            " + …" if len(named) > 8 else ""
        )
        exact = "exactly" if residual == 0.0 else f"up to {residual:.1e}"
        super().__init__(
            f"{self._said[0]}: in {listing} the left-hand sides cancel {exact}, and the bounds add up to {bound:.3g} < "
            f"0; {self._said[1]} (the weights are in .weights)"
        )

    def __reduce__(self) -> tuple[type[_RowsError], tuple[dict[str, float], float, float]]:
        return type(self), (self.weights, self.bound, self.residual)


class InfeasibleConstraintsError(_RowsError, ValueError):
    """Rows of the user's that no (w, b) keeps all at once, with the proof.

    Attributes
    ----------
    weights : dict of str to float
        λ > 0 of the rows that exclude each other, by name, adding up to 1: Σ λ_k times row k has nothing on its
        left-hand side, and a negative bound on its right (Farkas). A margin row of a hard margin is called "margin[i]".
    bound : float
        That bound, Σ λ_k h_k < 0.
    residual : float
        How large the left-hand side is for a (w, b) of norm 1, of these floats: 0 where they were found in exact
        arithmetic. That there are weights next to them for which it is 0 is proven before this is raised.

    See Also
    --------
    UndecidedConstraintsError : Where it is not.

    Examples
    --------
    >>> import qpsvm
    >>> rows = qpsvm.Constraints([[1.0], [-1.0]], [1.0, -2.0], names=["w ≤ 1", "w ≥ 2"])
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1], constraints=rows).svm
    Traceback (most recent call last):
    qpsvm.InfeasibleConstraintsError: no (w, b) keeps all rows of constraints: in 0.5·(w ≤ 1) + 0.5·(w ≥ 2) ...
    """

    _said = ("no (w, b) keeps all rows of constraints", "drop or loosen one of them")


class UndecidedConstraintsError(_RowsError, SolverError, ValueError):
    """No (w, b) was found that keeps all rows of the user's, and that there is none was not proven.

    Attributes
    ----------
    weights : dict of str to float
        λ > 0 of some rows, by name, adding up to 1: Σ λ_k times row k has hardly anything on its left-hand side.
    bound : float
        What it has on its right-hand side, Σ λ_k h_k < 0.
    residual : float
        How large the left-hand side is for a (w, b) of norm 1, as computed: one that keeps the rows, if there is one,
        has about the norm −bound/residual, or more.

    See Also
    --------
    InfeasibleConstraintsError : Where it was.

    Examples
    --------
    The second row asks of three times the first what that excludes, but 0.3 is not three times 0.1 in floats, so that
    an immense w keeps both:

    >>> import qpsvm
    >>> rows = qpsvm.Constraints([[1.0, 0.1], [-3.0, -0.3]], [1.0, -4.0])
    >>> try:
    ...     qpsvm.CSVM([[0.0, 0.0], [2.0, 1.0]], [0, 1], constraints=rows).svm
    ... except qpsvm.UndecidedConstraintsError as error:
    ...     print([claim.kind for claim in error.verify().claims if claim.verdict == "open"])
    ['feasible']
    """

    _said = (
        "whether some (w, b) keeps all rows of constraints is not decided",
        ".verify() says what is proven. Drop or loosen one of them, or use features of other units",
    )


class QPSVMWarning(UserWarning):
    """Base class of every warning that this library issues.

    Examples
    --------
    >>> import warnings
    >>> import qpsvm
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", qpsvm.QPSVMWarning)  # errors instead
    ...     print(qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1])).status)
    optimal
    """


class InaccurateWarning(QPSVMWarning):
    """The best certified point is further from the optimum than the tolerance asked for.

    Examples
    --------
    >>> import warnings
    >>> import qpsvm
    >>> with warnings.catch_warnings(record=True) as warned:
    ...     warnings.simplefilter("always")
    ...     problem = qpsvm.HardMargin([[0.0], [1.0], [4.0]], [0, 1, 1])
    ...     result = qpsvm.solve(problem, "dual_ascent", max_iter=1, polish=False)
    >>> print(warned[0].category.__name__)
    InaccurateWarning
    """


for _name, _kind in [*vars().items()]:
    if isinstance(_kind, type) and _kind.__module__ == __name__ and not _name.startswith("_"):
        _kind.__module__ = "qpsvm"  # where users import them from, and what a traceback shows
