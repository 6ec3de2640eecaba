"""What the machines have in common that learn several classes in one program: samples, two QPs, and certified results.

Such a machine is a `JointDual` over its samples (`dual.joint`): how much a row is to reach, and whether the rivals of a
sample share one slack. All else follows from that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_real_vector, as_tolerance
from qpsvm.base.arrays.exactly import as_floats
from qpsvm.base.arrays.remembered import remembered
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, ParameterTypeError, UnknownOptionError, nearest
from qpsvm.bounds.all_in_one_certificate import JointJudge, JointPoint
from qpsvm.bounds.all_in_one_repair import feasible
from qpsvm.data.samples import ClassWeight, Samples, several_classes
from qpsvm.machines.problem.all_in_one_forms import dual_qp, primal_qp, read_alpha, scaling
from qpsvm.machines.problem.forms import Form, check_form
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.parameters import as_intercept, price_in_words, prices, taking_prices
from qpsvm.machines.problem.reading import bare
from qpsvm.machines.problem.replaced import replaced
from qpsvm.program.all_in_one import JointDual
from qpsvm.program.qp import QP
from qpsvm.program.scaled import ScaledQP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.result.all_in_one_model import JointModel
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.space.kernels.functions import Kernel, Precomputed, as_kernel
from qpsvm.space.kernels.gram import Intercept, PSDRule
from qpsvm.space.kernels.space import FeatureSpace

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof

#: A slack above this share of the level is clear, and there this share of C is nothing.
CLEAR, NOTHING = 1e-6, 1e-9
#: Nor is more than this share of C, or of the largest α, ever nothing.
SMALL = 1e-3


class JointProblem(Machine[JointResult]):
    """A machine that learns several classes in one program.

    X (n, d): The samples as they are computed with.
    classes (k,): The labels in sort order.
    """

    #: What the machine is called, for people.
    name: ClassVar[str]
    #: The names of the machine's own parameters, which `replace` changes.
    own: ClassVar[tuple[str, ...]] = ("C",)
    #: What a row is to reach, and whether the rivals of a sample share one slack.
    level: ClassVar[float] = 1.0
    shared: ClassVar[bool]
    #: Rows of a user's, which these machines do not take.
    constraints: ClassVar[None] = None
    #: Whether 1ᵀβ = 1: there is no centre here.
    affine: ClassVar[bool] = False
    #: The tags of the primal and of the dual.
    primal_tag: ClassVar[str]
    dual_tag: ClassVar[str]

    def __init__(
        self,
        X: Any,
        y: ArrayLike | None,
        C: float | ArrayLike,
        kernel: Any,
        sample_weight: ArrayLike | None,
        psd: PSDRule,
        intercept: Intercept,
        class_weight: ClassWeight,
    ) -> None:
        self._take(several_classes(X, y, sample_weight, class_weight), kernel, as_intercept(intercept), psd)
        self._keep(C=C)

    def _take(self, samples: Samples, kernel: Any, intercept: Intercept, psd: PSDRule) -> None:
        """Check and keep what all have."""
        if not isinstance(psd, str) or psd not in get_args(PSDRule):
            raise UnknownOptionError(f"unknown psd {shown(psd)}; {nearest(psd, get_args(PSDRule))}")
        kernel = as_kernel(kernel)
        self.samples = samples
        self.X: Matrix = samples.X
        if isinstance(kernel, Precomputed) and self.X.shape[0] != self.X.shape[1]:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {self.X.shape}")
        self.kernel: Kernel = kernel.resolve(self.X)
        self.intercept: Intercept = intercept
        self.psd: PSDRule = psd

    def _keep(self, *, C: float | ArrayLike) -> None:
        self.C = prices(C, self.samples)

    def replace(self, **parameters: Any) -> Self:
        """The same problem with other parameters, sharing samples and, where the kernel stays, the Gram matrix.

        Parameters
        ----------
        **parameters
            `C`, those of the kernel (`gamma`, `degree`, `coef0`), `kernel` and `psd`.

        Returns
        -------
        JointProblem
            Of the same class.

        Raises
        ------
        UnknownOptionError
            A parameter that this machine or kernel does not have; names the nearest.
        ParameterError, ParameterTypeError
            A value out of its range, or of another type.

        Examples
        --------
        >>> import qpsvm
        >>> print(qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1]).replace(C=10).title)
        Crammer-Singer, 2 classes, C = 10, intercept free, kernel Linear()
        """
        same: Self = replaced(self, parameters)
        return same

    @remembered
    def title(self) -> str:
        """The machine with its parameters."""
        kept = {"free": "intercept free", "penalised": "intercept penalised", None: "no intercept"}[self.intercept]
        price = price_in_words(self.C)
        return f"{self.name}, {len(self.classes)} classes, C = {price}, {kept}, kernel {self.kernel}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {self.samples!r}>"

    @property
    def n(self) -> int:
        """Number of samples, those of weight 0 included."""
        return self.samples.n

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sort order: (k,)."""
        assert self.samples.classes is not None
        return self.samples.classes

    @property
    def label(self) -> IntArray:
        """The place of each sample's label among `classes`: (n,)."""
        return self.samples.target.astype(np.intp)

    @property
    def sample_weight(self) -> FloatArray:
        """The weights s: (n,)."""
        return self.samples.weight

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of a data frame."""
        return self.samples.feature_names

    @property
    def rows(self) -> IntArray:
        """The samples that take part: those of positive weight."""
        return self.samples.rows

    @remembered
    def space(self) -> FeatureSpace:
        """The samples that take part, in feature space."""
        X = self.X
        if not self.samples.takes_all:
            X = X[self.rows]
            X = X[:, self.rows] if isinstance(self.kernel, Precomputed) else X
        return FeatureSpace(self.kernel, X, self.intercept, self.psd)

    @remembered
    def joint(self) -> JointDual:
        """The dual as it is computed with, over the samples that take part."""
        return JointDual(
            label=self.samples.taking_part(self.label), k=len(self.classes),
            upper=np.array(as_floats(taking_prices(self.C, self.samples))), level=self.level, shared=self.shared,
            intercept=self.space.computed_intercept,
        )  # fmt: skip

    @remembered
    def judge(self) -> JointJudge:
        """What certifies the points of this problem."""
        return JointJudge(self.space, self.joint)

    def qp(self, form: Form = "dual") -> QP:
        """The textbook QP of this problem.

        Parameters
        ----------
        form : "dual" or "primal"
            The primal of a kernel that is not linear is that of the rows of L, K = LLᵀ.

        Returns
        -------
        QP
            Over the samples of positive weight, unscaled, with named variables and rows: (JFORM.1) or (JFORM.2).

        Raises
        ------
        UnknownOptionError
            Another form.
        IndefiniteKernelError
            The Gram matrix is indefinite and psd="raise".
        TooLargeError
            The rows of the primal have more numbers than are written down.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CrammerSinger([[1.0], [2.0], [4.0]], ["a", "b", "c"], C=3)
        >>> for form in ("dual", "primal"):
        ...     qp = problem.qp(form)
        ...     print({name: part.stop - part.start for name, part in qp.variables.items()}, list(qp.constraints))
        {'alpha': 6} ['share', 'balance']
        {'w': 3, 'b': 2, 'xi': 3} ['margin']
        """
        return self._qp(check_form(form), own=True)

    def solver_qp(self, form: Form = "dual") -> ScaledQP:
        """The same QP as a solver is handed it: centred where that changes nothing but rounding, and scaled.

        Parameters
        ----------
        form : "dual" or "primal"
            As for `qp`.

        Returns
        -------
        ScaledQP
            `qp` is what the solver gets, and `unscale(solution)` brings its answer back to the units of the problem.

        Raises
        ------
        UnknownOptionError, IndefiniteKernelError, TooLargeError
            As `qp`.

        Examples
        --------
        >>> import qpsvm
        >>> scaled = qpsvm.WestonWatkins([[0.0], [2e6]], [0, 1], C=1e-12).solver_qp("dual")
        >>> print(scaled.qp.ub)
        [2. 2.]
        """
        original = self._qp(check_form(form), own=False)
        factors = scaling(self.joint, self.space.scale, form)
        return ScaledQP(original.scaled(*factors), original, *factors)

    def _qp(self, form: Form, own: bool) -> QP:
        """The QP in the caller's own coordinates, or in those to compute with."""
        space = self.space
        if form == "dual":
            if self.intercept == "penalised":
                gram = space.with_penalised_intercept()
            else:
                gram = space.gram if own and space.is_linear else space.centred
            title = f"{self.title}: dual ({self.dual_tag})"
            return dual_qp(self.joint, gram, title, self.intercept == "penalised")
        Z = space.textbook_coordinates if own else space.coordinates
        return primal_qp(self.joint, Z, f"{self.title}: primal ({self.primal_tag})")

    def read(self, solution: QPSolution) -> FloatArray:
        """Read α off a solution of one of this problem's QPs.

        Parameters
        ----------
        solution : QPSolution
            Of `qp(form)`, or of `solver_qp(form)` after `unscale`.

        Returns
        -------
        ndarray, shape (samples that take part, k)
            As the solver left it: not repaired. Zeros where it gave no point.

        Raises
        ------
        ParameterTypeError, DataError
            No solution, or one of another QP.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1])
        >>> solution = qpsvm.compile(problem.qp("primal"), "cvxopt").solve(tol=1e-9)
        >>> print(problem.read(solution).round(5))
        [[0.   0.25]
         [0.25 0.  ]]
        """
        if not isinstance(solution, QPSolution):
            raise ParameterTypeError(f"read takes the QPSolution of a QP of this problem, got {shown(solution)}")
        dual, qp = self.joint, solution.qp
        if solution.x is None:
            return np.zeros((dual.n, dual.k))
        primal = "margin" in qp.constraints
        margins = qp.multiplier("margin", solution.z, solution.y) if primal else None
        parts = qp.split(solution.x)
        rows = len(margins) if margins is not None else len(parts.get("alpha", ()))
        if rows != len(dual.places):
            raise DataError(f"the solution is of {qp!r}, which is none of this problem over {dual.n} samples")
        return read_alpha(dual, parts, margins)

    def given(self, alpha: ArrayLike) -> FloatArray:
        """α as a user gives it, over the samples that take part.

        Parameters
        ----------
        alpha : array_like, shape (n, k)
            Finite.

        Returns
        -------
        ndarray, shape (samples that take part, k)
            As it was given.

        Raises
        ------
        DataError
            Another shape, or values that are not finite.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1])
        >>> print(problem.given([[0.0, 1.0], [1.0, 0.0]]))
        [[0. 1.]
         [1. 0.]]
        """
        shape = (self.n, len(self.classes))
        values = np.asarray(as_real_vector(np.ravel(np.asarray(alpha)), "alpha"))
        if np.shape(alpha) != shape or not np.isfinite(values).all():
            raise DataError(f"alpha must be finite, of shape {shape}; got shape {np.shape(alpha)}")
        taking: FloatArray = self.samples.taking_part(values.reshape(shape))
        return taking

    def start(self, start: JointResult | ArrayLike) -> FloatArray:
        """An α to begin at: from the result of a neighbouring problem over the same samples, or given.

        Parameters
        ----------
        start : JointResult, or array_like of shape (n, k)
            Of a result, what is at its bound goes to the new bound.

        Returns
        -------
        ndarray, shape (samples that take part, k)
            Feasible.

        Raises
        ------
        DataError
            Another shape, or values that are not finite.

        Examples
        --------
        >>> import qpsvm
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> before = qpsvm.solve(qpsvm.WestonWatkins(X, y, C=0.01))
        >>> print(qpsvm.WestonWatkins(X, y, C=0.02).start(before).round(6))
        [[0.   0.02]
         [0.   0.02]
         [0.02 0.  ]
         [0.02 0.  ]]
        """
        if not isinstance(start, JointResult):
            return feasible(self.joint, self.given(start))
        alpha = self.given(start.alpha)
        full = self.samples.taking_part(start.kind) == 2
        before = self.samples.taking_part(start.upper)
        ratio = np.divide(self.joint.upper, before, out=np.ones(len(before)), where=before > 0.0)[:, None]
        return feasible(self.joint, np.where(full, alpha * ratio, alpha))

    def at(self, alpha: ArrayLike, tol: float = 1e-6) -> JointResult:
        """The result at any α, without a solver: what it would be worth as an answer.

        Parameters
        ----------
        alpha : array_like, shape (n, k)
            Anything finite, made feasible first; the numbers at the own classes do not matter.
        tol : float
            Relative gap, rounding included, up to which the result is `optimal`.

        Returns
        -------
        JointResult
            `optimal`, or a `candidate`.

        Raises
        ------
        DataError, ParameterError
            Another shape, values that are not finite, or a tolerance that is not positive.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1])
        >>> print(problem.at([[0, 0.25], [0.25, 0]]).status, problem.at([[0, 0.1], [0.3, 0]]).status)
        optimal candidate
        """
        tol = as_tolerance(tol)
        with np.errstate(all="ignore"):  # what overflows is clipped, or bounds nothing
            measured = self.judge.certify(self.given(alpha))
            point = self.judge.counted(measured, tol)
        return self.result(
            point, status=Status.OPTIMAL if point.gap <= tol else Status.CANDIDATE, backend="none", form="dual",
            iterations=None, build_time=0.0, solve_time=0.0, solver=Solver("no solver", "", "the point was given"),
            solver_gap=measured.measured,
        )  # fmt: skip

    def prove(self, result: JointResult, *, tol: float | None = None) -> Proof:
        """What `result.verify()` returns: a theorem about the numbers of a result of this problem.

        Parameters
        ----------
        result : JointResult
            Of this problem, optimal or not; `at(alpha)` makes one of any α.
        tol : float, optional
            A relative gap that is claimed.

        Returns
        -------
        Proof

        Raises
        ------
        ParameterTypeError, DataError
            Not a result, or over other rows, features or classes.
        UnsupportedError
            A kernel that nobody has stated exactly.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CrammerSinger([[0.0], [2.0]], [0, 1])
        >>> print(problem.prove(problem.at([[0, 0.125], [0.125, 0]]), tol=0.1).claims[-1])
        refuted: the relative gap is at most the tolerance, 0.1: it is at least 0.823
        """
        from qpsvm.machines.exact.all_in_one import verified  # proofs are loaded when somebody asks for one

        return verified(self, result, tol)

    def result(self, point: JointPoint, **record: Any) -> JointResult:
        """The result of a certified point over the samples that take part, with the record of how it came about.

        Parameters
        ----------
        point : JointPoint
            What `judge` made.
        **record
            The other attributes of `JointResult`.

        Returns
        -------
        JointResult
            A sample that takes no part has α = 0 and C = 0.
        """
        self.samples.check()  # before anything is said of the point
        samples, dual = self.samples, self.joint
        model = self._model(point)
        f, label = self._over_all(point.f), self.label
        if not samples.takes_all:
            absent = np.flatnonzero(samples.weight == 0)
            f[absent] = model.decision_function(self.X[absent])
        whole = JointDual(label, dual.k, samples.spread(dual.upper), dual.level, dual.shared, dual.intercept)
        missing, alpha = whole.missing(f), self._over_all(point.alpha)
        short = np.maximum(missing, 0.0)
        return JointResult(
            alpha=alpha, coef=self._over_all(point.coef), b=point.b, primal=point.primal, dual=point.dual,
            gap=point.gap, rounding=max(point.gap - max(point.measured, 0.0), 0.0),
            kind=self._over_all(self._kinds(point)),
            missing=missing, xi=short.max(axis=1) if dual.shared else short, terms=whole.terms(alpha, missing),
            upper=whole.upper, label=label, model=model, title=self.title, problem=bare(self), **record,
        )  # fmt: skip

    def _over_all(self, values: NDArray[Any]) -> NDArray[Any]:
        """(samples that take part, k) as (n, k): 0 where a sample takes no part."""
        if self.samples.takes_all:
            return values
        whole = np.zeros((self.n, values.shape[1]), dtype=values.dtype)
        whole[self.rows] = values
        return whole

    def _kinds(self, point: JointPoint) -> NDArray[np.int8]:
        """`JointResult.kind`, by comparing α with the slack, and not by a cut: as `reading.kinds`."""
        dual, alpha, t = self.joint, point.alpha, point.missing
        C = dual.upper[:, None]
        way = 0.5 / np.maximum(self.space.centred.diagonal(), 1e-12 * self.space.scale)[:, None]
        worst = np.maximum(t.max(axis=1), 0.0)[:, None] if dual.shared else 0.0
        clear = np.where(np.abs(worst - t) > CLEAR * dual.level, NOTHING * C, 0.0)
        little = SMALL * np.minimum(C, float(alpha.max()))
        idle = alpha <= np.maximum((worst - t) * way, np.where(worst > t, clear, 0.0))
        kind = np.where((alpha > 0.0) & ~(idle & (alpha <= little)), 1, 0).astype(np.int8)
        above = worst if dual.shared else t
        room = C - alpha.sum(axis=1)[:, None] if dual.shared else C - alpha
        clear = np.where(above > CLEAR * dual.level, NOTHING * C, 0.0)
        full = room <= np.maximum(above * way, clear)
        kind[(kind == 1) & full & (room <= little)] = 2
        return kind

    def _model(self, point: JointPoint) -> JointModel:
        samples, space = self.samples, self.space
        d = samples.X.shape[1]
        common: dict[str, Any] = {
            "kernel": space.kernel, "classes": self.classes, "b": point.b, "n_features": d,
            "feature_names": samples.feature_names,
        }  # fmt: skip
        if point.w is not None:
            empty = np.zeros((0, len(point.b)))
            return JointModel(coef=empty, vectors=np.zeros((0, d)), w=np.ascontiguousarray(point.w.T), **common)
        kept = np.flatnonzero(point.coef.any(axis=1))
        vectors = samples.rows[kept] if isinstance(space.kernel, Precomputed) else space.X[kept]
        return JointModel(coef=point.coef[kept], vectors=vectors, w=None, **common)
