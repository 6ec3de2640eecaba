"""Define the base class of all certified results, which verify, predict, save and explain (`Certified`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached, freeze_all, freeze_parts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import NoWeightVectorError
from qpsvm.base.other_names import RESULT_HINTS, AttributeHints
from qpsvm.bounds.proof.proof import without_problem
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import Caveat
from qpsvm.result.proven import ProvenPredictions
from qpsvm.result.solved_problem import SolvedProblem

if TYPE_CHECKING:
    from qpsvm.bounds.proof.proof import Proof
    from qpsvm.result.hints import Hint


class Certified(AttributeHints, ProvenPredictions):
    """Base of the certified results: bounds of the optimum, the decision function, and data about the solve."""

    status: Status
    primal: float
    dual: float
    gap: float
    solver_gap: float
    form: str
    iterations: int | None
    build_time: float
    solve_time: float
    solver: Solver
    model: Any
    title: str
    message: str
    caveats: tuple[Caveat, ...]
    _attribute_hints: ClassVar[Mapping[str, str]] = RESULT_HINTS

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __getstate__(self) -> dict[str, Any]:
        return without_problem(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_all(self.__dict__)

    def verify(self, problem: SolvedProblem | None = None, *, tol: float | None = None) -> Proof:
        """Prove a bound of the relative gap of the floating-point values in this result.

        The proof includes all rounding, unlike `gap`, which is a measurement.

        Parameters
        ----------
        problem : Problem, optional
            The problem that was solved; needed for a result from a file, which has no samples. For another problem, the
            values are checked as a point of that problem, and the title of the proof says so.
        tol : float, optional
            A claimed relative gap: the proof says whether it is proven, refuted or open.

        Returns
        -------
        Proof
            The bound, `gap`, and the `claims` of the proof as sentences.

        Raises
        ------
        UnsupportedError
            No samples, or a machine or kernel without an exact statement.
        DataError
            The result does not fit the problem: other rows, features, classes, kernel, constraints or variables.

        See Also
        --------
        Proof.save : Save a file that can be checked independently.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> proof = result.verify()
        >>> proof.gap < 1e-14, bool(proof)
        (True, True)
        """
        return self._require_problem(problem).prove(self, tol=tol)

    @property
    def w(self) -> FloatArray:
        """Weight vector of a linear machine, (d,); for an all-in-one multiclass machine one per class, (k, d).

        Raises
        ------
        NoWeightVectorError
            The kernel is not linear: w is a vector in the feature space of the kernel.
        """
        if self.model.w is None:
            raise NoWeightVectorError(
                f"w = Σ β_i φ(x_i) is a vector in the feature space of {self.model.kernel}, not in the space of "
                "the samples; use decision_function(X), or Linear() as kernel"
            )
        w: FloatArray = self.model.w
        return w

    def decision_function(self, X: Any, *, diagonal: Any = None) -> FloatArray:
        """Return f(x) for each row of X.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            See `Model.decision_function`.
        diagonal : array_like, shape (m,), optional
            K(x, x) of each row, needed by an `SVDD` with a precomputed kernel, because rows of K do not contain it.

        Returns
        -------
        ndarray, shape (m,), or (m, k)
            Positive on the side of the larger label; for a regression, the prediction; for an all-in-one multiclass
            machine one column for each of `classes`.

        Raises
        ------
        DataError
            Other columns than in the training data, no rows, or a value that is NaN or infinite.
        ParameterError
            `diagonal` is missing but needed, or given for a kernel that is not precomputed.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))
        >>> print(result.decision_function([[0.0], [1.5], [2.0]]).round(6))
        [-1.   0.5  1. ]
        """
        values: FloatArray = self.model.decision_function(X, diagonal=diagonal)
        return values

    def predict(self, X: Any, *, diagonal: Any = None) -> NDArray[Any]:
        """Return the predicted label of each row of X, or f for a regression.

        The label is the larger one if f > 0; with several f_c, that of the largest.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            See `Model.predict`.
        diagonal : array_like, shape (m,), optional
            As for `decision_function`.

        Returns
        -------
        ndarray, shape (m,)
            Labels of the training data, or numbers.

        Raises
        ------
        DataError
            Other columns than in the training data, no rows, or a value that is NaN or infinite.
        ParameterError
            `diagonal` is missing but needed, or given for a kernel that is not precomputed.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"]))
        >>> print(result.predict([[0.5], [1.5]]))
        ['no' 'yes']
        """
        labels: NDArray[Any] = self.model.predict(X, diagonal=diagonal)
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the decision function to an .npz file, as `Model.save` does. `qpsvm.load` reads it back.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced once the new one is complete.

        Raises
        ------
        UnsupportedError, DataError, FileAccessError, ParameterTypeError
            See `Model.save`.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"]))
        >>> result.save("model.npz")
        >>> print(qpsvm.load("model.npz").predict([[0.5], [1.5]]))
        ['no' 'yes']
        """
        self.model.save(path)

    @cached
    def notes(self) -> tuple[str, ...]:
        """The message, and hints about the data and the parameters; usually empty.

        Hints are about features of different scales, a nearly constant kernel, a class that is never predicted, every
        α at its bound, or a constant f. They need the samples, so a result from a file has the message only.

        Examples
        --------
        >>> import qpsvm
        >>> X = [[0.0, 1e7], [1.0, 3e7], [3.0, 2e7], [4.0, 5e7]]
        >>> print(qpsvm.solve(qpsvm.CSVM(X, [0, 0, 1, 1], C=100)).notes[0])
        feature 1 varies 1e+07 times as much as feature 0, which has almost no influence next to it. Try ...
        """
        sentences = [self.message] if self.message else []
        if "no information" not in self.message:  # unless the message of a ν-SVM says it already
            sentences += [caveat.text for caveat in self.caveats if caveat.kind == "degenerate"]
        return (*sentences, *map(str, self.list_hints()))

    def list_hints(self, names: Sequence[str] | None = None) -> list[Hint]:
        """Return the hints about the result. `names` are those of the features; by default those of the model."""
        from qpsvm.result.hints import find_hints  # imported on demand

        return find_hints(self, names)

    def _append_notes(self, lines: list[str], notes: bool) -> str:
        """Return the lines of a summary as text, followed by the notes if `notes`."""
        return "\n".join([*lines, *(f"  note        {note}" for note in self.notes if notes)])

    def _describe_solve(self) -> list[str]:
        """Return the first lines of a summary: title, status, objective and gap."""
        return [
            self.title,
            f"  status      {self.status}: {self.status.sentence}",
            f"  objective   primal {self.primal:.10g}, dual {self.dual:.10g}",
            f"  gap         {self.gap:.2g} relative, rounding included (the solver's own point: {self.solver_gap:.2g})",
        ]

    def _describe_optimum(self) -> list[str]:
        """Return the lines of a summary about the optimum, the solver and the time."""
        distance = []
        if self.gap < np.inf:
            distance = [f"  optimum     ‖w − w*‖ ≤ {self.nearness:.2g} for every exact optimum"]
        iterations = "" if self.iterations is None else f", {self.iterations} iterations"
        return [
            *distance,
            f"  solver      {self.solver.name} {self.solver.version} on the {self.form} form{iterations}; it reported "
            f"{self.solver.status!r}",
            f"  time        build {format_seconds(self.build_time)}, solve {format_seconds(self.solve_time)}",
        ]


def format_seconds(seconds: float) -> str:
    """Format a time in milliseconds or seconds."""
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s"
