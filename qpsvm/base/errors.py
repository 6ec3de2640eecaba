"""Every exception and warning of the library.

Every error derives from `QPSVMError`, and also from the built-in class that a Python user would catch in its place. A
message says what is wrong, where (row, column, parameter), and what to do about it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class QPSVMError(Exception):
    """Base class of every error that this library raises.

    See Also
    --------
    QPSVMWarning : Base class of every warning.

    Examples
    --------
    Each error is also the built-in one that a Python user would catch in its place:

    >>> import qpsvm
    >>> try:
    ...     qpsvm.CSVM([[0.0], [1.0]], [0, 1], C=-1)
    ... except qpsvm.QPSVMError as error:
    ...     print(f"{type(error).__name__}: {error}")
    ParameterError: C must be positive, got -1
    >>> issubclass(qpsvm.ParameterError, ValueError)
    True
    """

    def __reduce__(self) -> tuple[Any, ...]:  # that of MemoryError is not safe for whoever pickles tracebacks, too
        return type(self), self.args


class DataError(QPSVMError, ValueError):
    """The samples, labels or weights cannot be used: their shape or a value in them is wrong.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], [float("nan")]], [0, 1])
    Traceback (most recent call last):
        ...
    qpsvm.DataError: X has NaN in row 1, column 0; impute or drop such rows first
    """


class DataTypeError(DataError, TypeError):
    """The samples, labels or weights are of a type that has no order or no arithmetic (complex, text, objects).

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], ["red"]], [0, 1])
    Traceback (most recent call last):
        ...
    qpsvm.DataTypeError: X has entries of type ...; samples must be numbers: encode text columns first
    """


class FileFormatError(DataError):
    """A data or model file does not hold what it should; or a page or table cannot be written.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.load(qpsvm.__file__)
    Traceback (most recent call last):
        ...
    qpsvm.FileFormatError: ...__init__.py is not a model saved by qpsvm, or it is damaged: ...
    """


class MissingFileError(QPSVMError, FileNotFoundError):
    """A data or model file does not exist.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.load("nowhere.npz")
    Traceback (most recent call last):
        ...
    qpsvm.MissingFileError: no model file 'nowhere.npz'
    """


class FileAccessError(QPSVMError, OSError):
    """A file cannot be written or read: there is no folder, permission or room, or it is a folder or a device.

    What the system said is in `__cause__`.

    Examples
    --------
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))
    >>> try:
    ...     result.save("no_such_folder/model.npz")
    ... except qpsvm.FileAccessError as error:
    ...     print(isinstance(error, OSError), type(error.__cause__).__name__)
    True FileNotFoundError
    """


class ParameterError(QPSVMError, ValueError):
    """A parameter of a problem, a kernel or `solve` is outside its range.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.RBF(gamma=0)
    Traceback (most recent call last):
        ...
    qpsvm.ParameterError: gamma must be positive, got 0
    """


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of the wrong type: text or None where a number belongs.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1], C="1")
    Traceback (most recent call last):
        ...
    qpsvm.ParameterTypeError: C must be a number, got '1'
    """


class UnknownOptionError(QPSVMError, TypeError, ValueError):
    """A backend, form, kernel or option that does not exist; the message names the nearest one that does.

    To Python an unknown keyword is a `TypeError` and an unknown value a `ValueError`; this is caught as either.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
    >>> qpsvm.solve(problem, tolerence=1e-8)
    Traceback (most recent call last):
        ...
    qpsvm.UnknownOptionError: no backend has an option 'tolerence'; did you mean 'tol'? known: ...
    """


class UnsupportedError(QPSVMError, NotImplementedError):
    """The backend or machine chosen cannot do what was asked for; the message names one that can.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
    >>> qpsvm.solve(problem, "libsvm", form="primal")
    Traceback (most recent call last):
        ...
    qpsvm.UnsupportedError: libsvm takes the dual form only: it solves the dual; use form='dual', or cvxopt, ...
    """


class TooLargeError(QPSVMError, MemoryError):
    """What was asked for needs more memory than there is.

    Examples
    --------
    An operator keeps 10⁶ numbers for 10¹² entries, until somebody asks for all of them:

    >>> import numpy as np
    >>> import qpsvm
    >>> P = qpsvm.LowRank(np.ones((1_000_000, 1)))
    >>> P.dense()
    Traceback (most recent call last):
        ...
    qpsvm.TooLargeError: a low-rank operator made dense would be a dense 1000000 × 1000000 matrix of ...
    """


class MissingExtraError(QPSVMError, ImportError):
    """An optional package is not installed; the message gives the command that installs it.

    Examples
    --------
    Where Matplotlib is absent, as it is made to look here:

    >>> import sys
    >>> from unittest.mock import patch
    >>> import qpsvm
    >>> with patch.dict(sys.modules, {"matplotlib": None}):
    ...     qpsvm.plotting.gap([[0, 1.0], [1, 0.1]])
    Traceback (most recent call last):
        ...
    qpsvm.MissingExtraError: ...
    """


class NoWeightVectorError(QPSVMError, AttributeError):
    """`w` was asked of a kernel machine, whose weight vector lives in the kernel's feature space.

    Examples
    --------
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel=qpsvm.RBF(gamma=0.5)))
    >>> result.w
    Traceback (most recent call last):
        ...
    qpsvm.NoWeightVectorError: w = Σ α_i y_i φ(x_i) is a vector in the feature space of RBF(gamma=0.5), not ...
    >>> hasattr(result, "w")
    False
    """


class SolverError(QPSVMError, RuntimeError):
    """The solver's answer could not be certified, and `check=True` asked for an error.

    Examples
    --------
    A QP without a feasible point, x ≤ −1 and x ≥ 1. The solver says so, and there is nothing to measure:

    >>> import qpsvm
    >>> qp = qpsvm.QP(P=[[1.0]], q=[0.0], G=[[1.0], [-1.0]], h=[-1.0, -1.0])
    >>> solution = qpsvm.compile(qp, "osqp").solve()
    >>> print(solution.status)
    infeasible
    >>> solution.objective
    Traceback (most recent call last):
        ...
    qpsvm.SolverError: osqp returned no point to measure (primal infeasible)
    """


class ClusterError(SolverError):
    """A Dask cluster could not go on with a solve: workers were lost for good, or all of them, or the scheduler.

    Attributes
    ----------
    message : str
        What was lost.
    state : dict or None
        The last state that was noted, where there is one.
    checkpoint : str or None
        The file that a solve may go on from, where one was asked for.

    Examples
    --------
    >>> import qpsvm
    >>> try:
    ...     raise qpsvm.ClusterError("all workers of the Dask cluster are gone")
    ... except qpsvm.SolverError as error:
    ...     print(error.checkpoint)
    None
    """

    def __init__(self, message: str, state: dict[str, Any] | None = None, checkpoint: str | None = None) -> None:
        self.state = state
        self.checkpoint = checkpoint
        super().__init__(message)

    def __reduce__(self) -> tuple[type[ClusterError], tuple[str, dict[str, Any] | None, str | None]]:
        return type(self), (str(self), self.state, self.checkpoint)


class _ProvableError(QPSVMError):
    """An error about a machine without a solution, which says why in numbers: that can be proven."""

    #: Makes the proof, where the samples are at hand; whoever raises the error sets it. It is not pickled.
    _evidence: Callable[[], Any] | None = None

    def verify(self) -> Any:
        """Prove it: in rational numbers, and where these are not found up to a distance that is proven.

        Returns
        -------
        Proof
            Without a gap, which is NaN. Its `claims` are the sentences; `bool(proof)` is whether each of them is
            proven. Where the numbers of the error do not prove it exactly, one is open and says what they do prove; or
            refuted, where the opposite is proven.

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
        ...     print(error.verify())
        hard margin, kernel Linear()
          proven    the weights u ≥ 0 of 1 of class 1 (row 1) and v ≥ 0 of 2 of class 0 (rows 0, 2) add up to 1 ...
          proven    Σ u_i φ(x_i) = Σ v_j φ(x_j) exactly, in rational numbers: the hulls of the classes meet
          proven    no hyperplane separates the classes: that point would be on both of its sides
        """
        if self._evidence is None:
            raise UnsupportedError(
                "there are no samples with this error, which was copied, pickled or made by hand, or whose samples are "
                "in several processes: make and solve the problem here, and ask the error that this raises"
            )
        return self._evidence()


class InfeasibleNuError(_ProvableError, ParameterError):
    """The ν asked for is larger than the class balance allows: no α has yᵀα = 0, 1ᵀα = ν and 0 ≤ α_i ≤ s_i/Σs.

    Of a machine without classes, ν is a share, and at most 1.

    Attributes
    ----------
    nu : float
        The value asked for.
    nu_max : float
        The largest feasible value, 2·min(S₊, S₋)/S. S₊, S₋ and S are the sums of the sample weights of the positive
        class, of the negative class and of both; 1 where there are no classes.
    balance : bool
        Whether it is the balance of two classes that sets it.

    Examples
    --------
    One sample of the one class and three of the other leave ν at most 2·min(1, 3)/4:

    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1]
    >>> try:
    ...     qpsvm.NuSVM(X, y, nu=0.8)
    ... except qpsvm.InfeasibleNuError as error:
    ...     print(error.nu, error.nu_max)
    0.8 0.5
    """

    def __init__(self, nu: float, nu_max: float, balance: bool = True) -> None:
        self.nu = nu
        self.nu_max = nu_max
        self.balance = balance
        if balance:
            super().__init__(
                f"nu = {nu:g} is infeasible for this class balance: the largest feasible value is {nu_max:.6g} "
                f"(2·min(S+, S-)/S over the class weights); choose nu <= {nu_max:.6g} or weight the smaller class up"
            )
        else:
            super().__init__(f"nu = {nu:g} is infeasible: it is a share, so choose nu <= {nu_max:g}")

    def __reduce__(self) -> tuple[type[InfeasibleNuError], tuple[float, float, bool]]:
        return type(self), (self.nu, self.nu_max, self.balance)


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
    >>> K = [[0.0, 1.0], [1.0, 0.0]]
    >>> try:
    ...     qpsvm.solve(qpsvm.CSVM(K, [0, 1], kernel="precomputed"))
    ... except qpsvm.IndefiniteKernelError as error:
    ...     print(round(error.eigenvalue, 6), error.where)
    -1.0 on the hyperplane yᵀα = 0
    >>> print(qpsvm.solve(qpsvm.CSVM(K, [0, 1], kernel="precomputed", psd="clip")).status)
    optimal
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

    See Also
    --------
    MarginNotFoundError : Where it is not.

    Examples
    --------
    The middle sample is of the other class, so that it lies in the hull of its neighbours:

    >>> import qpsvm
    >>> problem = qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.NotSeparableError as error:
    ...     print(error.u.round(6), error.v.round(6))
    [0. 1. 0.] [0.5 0.  0.5]
    """

    def __init__(self, u: NDArray[np.float64], v: NDArray[np.float64], distance: float) -> None:
        self.u = u
        self.v = v
        self.distance = distance
        super().__init__(
            "the classes are not separable: a convex combination of "
            f"{int((u > 0).sum())} positive samples meets one of {int((v > 0).sum())} negative samples (relative "
            f"distance {distance:.1e}; the weights are in .u and .v). So the hard margin has no solution; use CSVM, or "
            "another kernel"
        )

    def __reduce__(self) -> tuple[type[NotSeparableError], tuple[NDArray[np.float64], NDArray[np.float64], float]]:
        return type(self), (self.u, self.v, self.distance)


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
    Samples of different values are separated by every Gaussian, however wide it is and however far they overlap:

    >>> import qpsvm
    >>> problem = qpsvm.HardMargin([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], kernel=qpsvm.RBF(1e-7))
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.MarginNotFoundError as error:
    ...     print(error.separable, error.distance < 1e-3)
    True True
    """

    def __init__(
        self, u: NDArray[np.float64], v: NDArray[np.float64], distance: float, separable: bool | None = None
    ) -> None:
        self.u = u
        self.v = v
        self.distance = distance
        self.separable = separable
        known = (
            "the classes can be separated, but by a margin too narrow for doubles"
            if separable
            else "whether the classes can be separated is not decided"
        )
        super().__init__(
            f"{known}: their hulls come as near as {distance:.1e} of the data's size (the weights of these points are "
            "in .u and .v), where rounding hides which side a sample is on; .verify() says what is proven. Use CSVM, "
            "another kernel, or features of other units"
        )

    def __reduce__(
        self,
    ) -> tuple[type[MarginNotFoundError], tuple[NDArray[np.float64], NDArray[np.float64], float, bool | None]]:
        return type(self), (self.u, self.v, self.distance, self.separable)


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
    >>> try:
    ...     qpsvm.CSVM([[0.0], [2.0]], [0, 1], constraints=rows).svm
    ... except qpsvm.InfeasibleConstraintsError as error:
    ...     print(error.weights, error.bound)
    {'w ≤ 1': 0.5, 'w ≥ 2': 0.5} -0.5
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

    See Also
    --------
    QPSVMError : Base class of every error.

    Examples
    --------
    A program that wants errors instead says so once:

    >>> import warnings
    >>> import qpsvm
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", qpsvm.QPSVMWarning)
    ...     result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))  # nothing to warn of
    >>> print(result.status)
    optimal
    """


class InaccurateWarning(QPSVMWarning):
    """The best certified point is further from the optimum than the tolerance asked for.

    Examples
    --------
    One step of a solver, and no polishing of its point:

    >>> import warnings
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     result = qpsvm.solve(problem, "dual_ascent", max_iter=1, polish=False)
    >>> print(said[0].category.__name__, result.status, result.gap > 1e-6)
    InaccurateWarning iteration_limit True
    """


def install(extra: str) -> str:
    """The command that installs an extra. It installs from a clone, as long as there is no release."""
    return f'pip install ".[{extra}]" in a clone of the repository'


def nearest(name: object, known: Iterable[object]) -> str:
    """Words that name the nearest known option, for the end of an error message."""
    options = list(known)
    return " ".join([*did_you_mean(name, options), "known: " + ", ".join(sorted(map(str, options), key=_natural))])


def did_you_mean(name: object, known: Iterable[object]) -> list[str]:
    """The question alone, in a list that is empty where no option is near; the options as they are passed, unquoted."""
    options = sorted(known, key=lambda option: _natural(str(option)))
    wanted = name[:80].lower() if isinstance(name, str) else ""
    lowered = {str(option).lower(): option for option in reversed(options)}
    close = difflib.get_close_matches(wanted, lowered, n=1, cutoff=0.8)
    close = close or [k for k in sorted(lowered, key=len, reverse=True) if wanted.startswith(k)]
    close = close or difflib.get_close_matches(wanted, lowered, n=1, cutoff=0.5)
    return [f"did you mean {lowered[close[0]]!r}?"] if close else []


def _natural(name: str) -> list[tuple[int, str]]:
    """A key to sort by in which numbers count as numbers: CSVM.2 comes before CSVM.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


for _name, _kind in list(vars().items()):
    if isinstance(_kind, type) and _kind.__module__ == __name__ and not _name.startswith("_"):
        _kind.__module__ = "qpsvm"  # where users import them from, and what a traceback shows
