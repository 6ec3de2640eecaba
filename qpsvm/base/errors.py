"""Define the exceptions and warnings of the library; a message says what is wrong, where, and what to do.

Every error derives from `QPSVMError`, and also from the built-in class that a Python user would catch in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qpsvm.base.arrays.formatting import describe_install as describe_install
from qpsvm.base.arrays.formatting import describe_nearest as describe_nearest
from qpsvm.base.arrays.formatting import suggest_names as suggest_names

if TYPE_CHECKING:
    from qpsvm.base.arrays.types import FloatArray


class QPSVMError(Exception):
    """Base class of every error that this library raises.

    Examples
    --------
    >>> import qpsvm
    >>> issubclass(qpsvm.ParameterError, qpsvm.QPSVMError), issubclass(qpsvm.ParameterError, ValueError)
    (True, True)
    """

    def __reduce__(self) -> tuple[Any, ...]:  # MemoryError's own is not safe with libraries that pickle tracebacks
        code = getattr(type(self).__init__, "__code__", None)  # each argument is stored as the attribute of its name
        names = code.co_varnames[1 : code.co_argcount] if code else ()
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
    """The samples, labels or weights are of a type without order or arithmetic (complex, text, objects).

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], ["red"]], [0, 1])
    Traceback (most recent call last):
    qpsvm.DataTypeError: X has entries of type ...; samples must be numbers: encode text columns first...
    """


class FileFormatError(DataError):
    """A data or model file has wrong content; or a page or table cannot be written.

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
    """A file cannot be written or read: no folder, permission or space, or it is a device; see `__cause__`.

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
    """No backend, form, kernel or option has this name (a `TypeError` and a `ValueError`); the message suggests one.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]), tolerence=1e-8)
    Traceback (most recent call last):
    qpsvm.UnknownOptionError: no backend has an option 'tolerence'; did you mean 'tol'? known: ...
    """


class UnsupportedError(QPSVMError, NotImplementedError):
    """The backend or machine does not support the request; the message names one that does.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]), "libsvm", form="primal")
    Traceback (most recent call last):
    qpsvm.UnsupportedError: libsvm takes the dual form only: it solves the dual; use form='dual', or cvxopt, ...
    """


class TooLargeError(QPSVMError, MemoryError):
    """The request needs more memory than is available.

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
    >>> import sys, unittest.mock
    >>> import qpsvm
    >>> with unittest.mock.patch.dict(sys.modules, {"matplotlib": None}):  # as if it were absent
    ...     qpsvm.plotting.gap([[0, 1.0], [1, 0.1]])
    Traceback (most recent call last):
    qpsvm.MissingExtraError: ...
    """


class AbsentError(UnsupportedError, AttributeError):
    """The machine does not have the requested quantity, such as the classes of a regression.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1])
    >>> hasattr(problem, "classes"), hasattr(problem, "t")
    (True, False)
    """


class FrozenProblemError(QPSVMError, AttributeError):
    """An attribute of a problem or of constraints was assigned: they do not change, as QPs are computed only once.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1]).C = 10
    Traceback (most recent call last):
    qpsvm.FrozenProblemError: a problem does not change: problem.replace(C=...) returns a new one
    """


class NoWeightVectorError(AbsentError):
    """`w` was requested of a kernel machine, whose weight vector is in the feature space of the kernel.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel=qpsvm.RBF(gamma=0.5))).w
    Traceback (most recent call last):
    qpsvm.NoWeightVectorError: w = Σ β_i φ(x_i) is a vector in the feature space of RBF(gamma=0.5), not ...
    """


class SolverError(QPSVMError, RuntimeError):
    """The solver's solution could not be certified, and `check=True` requests an error.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.compile(qpsvm.QP([[1.0]], [0.0], G=[[1.0], [-1.0]], h=[-1.0, -1.0]), "osqp").solve().objective
    Traceback (most recent call last):
    qpsvm.SolverError: osqp returned no point to measure (primal infeasible)
    """


class ClusterError(SolverError):
    """A Dask cluster could not continue a solve, because it lost workers or the scheduler.

    Examples
    --------
    >>> import qpsvm
    >>> raise qpsvm.ClusterError("all workers of the Dask cluster are gone")
    Traceback (most recent call last):
    qpsvm.ClusterError: all workers of the Dask cluster are gone
    """


class _ProvableError(QPSVMError):
    """Base of the errors about a machine that has no solution, or none that was found; `verify` proves what it can."""

    #: Function that makes the proof from the samples. The code that raises the error sets it, and pickles omit it.
    _evidence: Callable[[], Any] | None = None

    def verify(self) -> Any:
        """Prove that there is no solution, by exact rational weights or by a proof that such weights are near.

        Returns
        -------
        Proof
            Its gap is NaN. If the error's numbers do not prove this exactly, one of its `claims` is open or refuted.

        Raises
        ------
        UnsupportedError
            The error has no samples, or their kernel has no exact arithmetic.

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
                "make and solve the problem here, and call verify() of the error that this raises"
            )
        return self._evidence()


class InfeasibleNuError(_ProvableError, ParameterError):
    """ν is larger than the class balance allows: no α has yᵀα = 0, 1ᵀα = ν and 0 ≤ α_i ≤ s_i/Σs.

    `nu_max` is the largest feasible ν: 2·min(S₊, S₋)/S, where S₊, S₋ and S are the sums of the weights of the positive
    class, the negative class and both. Without classes (`balance` is false), ν is a share, and `nu_max` is 1.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.NuSVM([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1], nu=0.8)  # at most 2·min(1, 3)/4
    Traceback (most recent call last):
    qpsvm.InfeasibleNuError: nu = 0.8 is infeasible for this class balance: the largest feasible value is 0.5 ...
    """

    def __init__(self, nu: float, nu_max: float, balance: bool = True) -> None:
        self.nu = nu
        self.nu_max = nu_max
        self.balance = balance
        why = f": it is a share, so choose nu <= {nu_max:g}"
        if balance:
            why = (
                f" for this class balance: the largest feasible value is {nu_max:.6g} (2·min(S+, S-)/S over the class "
                f"weights); choose nu <= {nu_max:.6g} or weight the smaller class up"
            )
        super().__init__(f"nu = {nu:g} is infeasible{why}")


class IndefiniteKernelError(QPSVMError, ValueError):
    """The kernel matrix has a negative eigenvalue on the directions that the dual allows, so the QP is not convex.

    `eigenvalue` is the smallest one of the Gram matrix of `kernel`, restricted to the directions that `where` names.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.CSVM([[0.0, 1.0], [1.0, 0.0]], [0, 1], kernel="precomputed"))
    Traceback (most recent call last):
    qpsvm.IndefiniteKernelError: ... its smallest eigenvalue on the hyperplane yᵀα = 0 is -1, so ...
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


class NonConvexError(QPSVMError, ValueError):
    """A QP is not convex; the error has a direction d with dᵀPd < 0.

    Attributes
    ----------
    direction : ndarray of shape (n,)
        d, with a largest entry of 1.
    curvature : float
        dᵀPd, which is proven to be negative, rounding errors included.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.QP(P=[[1.0, 2.0], [2.0, 1.0]], q=[0.0, 0.0], lb=-1.0, ub=1.0))
    Traceback (most recent call last):
    qpsvm.NonConvexError: the QP is not convex: dᵀPd = -2 for the direction d in .direction, ...
    """

    def __init__(self, direction: FloatArray, curvature: float) -> None:
        self.direction, self.curvature = direction, curvature
        places = [k for k, value in enumerate(direction.tolist()) if value]
        if len(places) == 1:
            where = f"P[{places[0]}, {places[0]}] is negative"
        else:
            where = f"which has {len(places)} entries"
        super().__init__(
            f"the QP is not convex: dᵀPd = {curvature:.6g} for the direction d in .direction, {where}. Minima of such "
            "a QP may be local ones, and no multipliers bound it: check the sign of P (a maximum of xᵀPx is no "
            "minimum), or add a multiple of the identity to it"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.direction, self.curvature)


class NotSeparableError(_ProvableError, ValueError):
    """The classes cannot be separated, because their convex hulls meet; the error has weights of a common point.

    Attributes
    ----------
    u, v : ndarray of shape (n,)
        Convex weights over the caller's rows, of the positive and of the negative class: Σ u_i φ(x_i) = Σ v_j φ(x_j).
    distance : float
        ‖Σ u_i φ(x_i) − Σ v_j φ(x_j)‖ / max_i ‖φ(x_i) − φ̄‖ with the mean φ̄; proven to be 0 for weights close to u, v.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0]], [0, 1, 0]))
    Traceback (most recent call last):
    qpsvm.NotSeparableError: the classes are not separable: a convex combination of 1 positive samples meets one of ...
    """

    def __init__(self, u: FloatArray, v: FloatArray, distance: float) -> None:
        self.u = u
        self.v = v
        self.distance = distance
        super().__init__(
            "the classes are not separable: a convex combination of "
            f"{int((u > 0).sum())} positive samples meets one of {int((v > 0).sum())} negative samples (relative "
            f"distance {distance:.1e}; the weights are in .u and .v). So the hard margin has no solution; use CSVM, or "
            "another kernel"
        )


class MarginNotFoundError(_ProvableError, SolverError, ValueError):
    """No margin between two classes was found, nor was it proven that none exists: the classes are too close.

    Attributes
    ----------
    u, v, distance
        As for `NotSeparableError`, at the nearest points found. A margin, if any, is hardly larger than `distance`.
    separable : bool or None
        True if a margin is known to exist, too narrow for doubles: for a Gaussian kernel, if no sample is in both
        classes. None if this is unknown.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], kernel=qpsvm.RBF(1e-7)))
    Traceback (most recent call last):
    qpsvm.MarginNotFoundError: the classes can be separated, but by a margin too narrow for doubles: ...
    """

    def __init__(self, u: FloatArray, v: FloatArray, distance: float, separable: bool | None = None) -> None:
        self.u = u
        self.v = v
        self.distance = distance
        self.separable = separable
        narrow = "the classes can be separated, but by a margin too narrow for doubles"
        if separable:
            known = narrow
        else:
            known = "whether the classes can be separated is not decided"
        super().__init__(
            f"{known}: their hulls come as near as {distance:.1e} of the data's size (the weights of these points are "
            "in .u and .v), where rounding hides which side a sample is on; .verify() says what is proven. Use CSVM, "
            "another kernel, or features of other units"
        )


class _ConstraintsError(_ProvableError):
    """Base of the errors about linear constraints: a verdict, the weights that explain it, and advice."""

    _verdict, _advice = "", ""

    def __init__(self, weights: dict[str, float], bound: float, residual: float) -> None:
        self.weights = weights
        self.bound = bound
        self.residual = residual
        named = [f"{weight:.3g}·({name})" for name, weight in sorted(weights.items(), key=lambda item: -item[1])]
        listing = " + ".join([*named[:8], "…"] if len(named) > 8 else named)
        exact = "exactly" if residual == 0.0 else f"up to {residual:.1e}"
        why = f"in {listing} the left-hand sides cancel {exact}, and the bounds add up to {bound:.3g} < 0"
        super().__init__(f"{self._verdict}: {why}; {self._advice} (the weights are in .weights)")


class InfeasibleConstraintsError(_ConstraintsError, ValueError):
    """No (w, b) satisfies all linear constraints, which is proven; `UndecidedConstraintsError` is without proof.

    Attributes
    ----------
    weights : dict of str to float
        λ > 0 of constraints that contradict each other, by name, with the sum 1: in Σ λ_k · (row k) the left-hand sides
        cancel, and the bound is negative (Farkas). The margin row of sample i of a hard margin is called "margin[i]".
    bound, residual : float
        The bound Σ λ_k h_k < 0; and the largest value of the left-hand side for a (w, b) of norm 1. Rounding
        of λ may keep it above 0, but it is proven to be exactly 0 for weights close to these floats.

    Examples
    --------
    >>> import qpsvm
    >>> rows = qpsvm.Constraints([[1.0], [-1.0]], [1.0, -2.0], names=["w ≤ 1", "w ≥ 2"])
    >>> qpsvm.CSVM([[0.0], [2.0]], [0, 1], constraints=rows).svm
    Traceback (most recent call last):
    qpsvm.InfeasibleConstraintsError: no (w, b) satisfies all rows of constraints: in 0.5·(w ≤ 1) + 0.5·(w ≥ 2) ...
    """

    _verdict, _advice = "no (w, b) satisfies all rows of constraints", "drop or loosen one of them"


class UndecidedConstraintsError(_ConstraintsError, SolverError, ValueError):
    """No (w, b) that satisfies all linear constraints was found, nor was it proven that none exists.

    Attributes
    ----------
    weights, bound, residual
        As for `InfeasibleConstraintsError`, but the residual is not proven to vanish for close weights. If some (w, b)
        satisfies all rows, its norm is at least about −bound/residual.

    Examples
    --------
    The second row contradicts three times the first, but 0.3 is not 3 · 0.1 in floats: a huge w satisfies both.

    >>> import qpsvm
    >>> rows = qpsvm.Constraints([[1.0, 0.1], [-3.0, -0.3]], [1.0, -4.0])
    >>> qpsvm.CSVM([[0.0, 0.0], [2.0, 1.0]], [0, 1], constraints=rows).svm
    Traceback (most recent call last):
    qpsvm.UndecidedConstraintsError: whether some (w, b) satisfies all rows of constraints is not decided: in ...
    """

    _verdict = "whether some (w, b) satisfies all rows of constraints is not decided"
    _advice = ".verify() says what is proven. Drop or loosen one of them, or use features of other units"


class QPSVMWarning(UserWarning):
    """Base class of every warning that this library issues.

    Examples
    --------
    >>> import warnings
    >>> import qpsvm
    >>> warnings.filterwarnings("ignore", category=qpsvm.QPSVMWarning)
    """


class InaccurateWarning(QPSVMWarning):
    """The best certified point is farther from the optimum than the tolerance.

    Examples
    --------
    >>> import warnings
    >>> import qpsvm
    >>> warnings.simplefilter("error", qpsvm.InaccurateWarning)  # an error instead
    >>> qpsvm.solve(qpsvm.HardMargin([[0.0], [1.0], [4.0]], [0, 1, 1]), "dual_ascent", max_iter=1, polish=False)
    Traceback (most recent call last):
    qpsvm.InaccurateWarning: ...
    """


class ChangedKernelWarning(QPSVMWarning):
    """The kernel matrix of an estimator is indefinite, and its positive part was used, as `psd` was not given.

    `psd="clip"` does the same without a warning, and `psd="raise"` raises an `IndefiniteKernelError` instead.

    Examples
    --------
    >>> import warnings
    >>> import qpsvm
    >>> from qpsvm.estimators import SVC
    >>> warnings.simplefilter("error", qpsvm.ChangedKernelWarning)  # an error instead
    >>> SVC(kernel="precomputed").fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    Traceback (most recent call last):
    qpsvm.ChangedKernelWarning: SVC: the kernel matrix is indefinite, ... the most negative one is -1. ...
    """


class DegenerateWarning(QPSVMWarning):
    """The decision function of an estimator is constant: w is 0, and so is ρ of a ν-SVM or one-class SVM.

    The machine is optimal, but it does not distinguish any samples.

    Examples
    --------
    >>> import warnings
    >>> import qpsvm
    >>> from qpsvm.estimators import NuSVC
    >>> warnings.simplefilter("error", qpsvm.DegenerateWarning)  # an error instead
    >>> NuSVC(kernel="linear").fit([[0.0], [1.0], [1.0], [0.0]], [0, 0, 1, 1])
    Traceback (most recent call last):
    qpsvm.DegenerateWarning: NuSVC: w is 0, and so is rho: f is the same number everywhere, ...
    """


for _name, _kind in [*vars().items()]:
    if isinstance(_kind, type) and _kind.__module__ == __name__ and not _name.startswith("_"):
        _kind.__module__ = "qpsvm"  # where users import them from, and what a traceback shows
