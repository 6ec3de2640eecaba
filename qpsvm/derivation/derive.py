"""`derive`: from a problem, and its result if there is one, to the derivation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import (
    FileAccessError,
    FileFormatError,
    MissingExtraError,
    ParameterTypeError,
    UnknownOptionError,
    UnsupportedError,
    nearest,
)
from qpsvm.base.writing import write_text
from qpsvm.bounds.proof.proof import Proof
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities, all_in_one_headline
from qpsvm.derivation.constraint_quantities import letters_of
from qpsvm.derivation.display import ShownDerivation
from qpsvm.derivation.headline import of_alpha, of_result
from qpsvm.derivation.page import describe
from qpsvm.derivation.proven import Proven, proven_of
from qpsvm.derivation.quantities import Quantities
from qpsvm.derivation.registry import steps_of
from qpsvm.derivation.residual import point_of
from qpsvm.derivation.step import Measurement, Step
from qpsvm.machines import JointProblem, Problem
from qpsvm.machines.problem.pairing import check_joint_pair, check_pair
from qpsvm.machines.problem.reading import title_of
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.result.svm_result import SVMResult

#: Claims of a proof that are told above the steps.
SAID = ("feasible", "gap", "kernel")


@dataclass(frozen=True, eq=False)
class Derivation:
    """The steps from margin to dual and back, each with its residual at a solution.

    `derivation["CSVM.4"]` is one step, and iteration gives all in order. `print` shows them in a terminal. A notebook
    shows them as a page, and `to_html` writes that page.

    Attributes
    ----------
    problem : Problem or JointProblem
    steps : tuple of Step
    result : SVMResult, JointResult or None
        What the residuals are measured at; where α was given, what it was certified as.
    alpha : ndarray, shape (n,), or (2n,) of a regression, or None
        The α that was given instead of a result: the residuals are measured at it as it stands, with w = w(α) and the
        best b and ρ for that.
    proof : Proof or None
        What is proven of the result, where that was asked for.

    Examples
    --------
    >>> import qpsvm
    >>> derivation = qpsvm.derive(qpsvm.NuSVM([[0.0], [2.0]], [0, 1]))
    >>> print(derivation.variant, derivation.result, "NUSVM.6" in derivation)
    NuSVM None True
    >>> print(derivation["NUSVM.6"].statement)
    ∂L/∂ρ = 0:  1ᵀα = ν
    >>> [step.tag for step in derivation][:3]
    ['NUSVM.1', 'NUSVM.2', 'NUSVM.3']
    """

    problem: Problem | JointProblem
    steps: tuple[Step, ...]
    result: SVMResult | JointResult | None = None
    alpha: FloatArray | None = None
    proof: Proof | None = None

    @property
    def title(self) -> str:
        """The problem with its parameters; of a result of another machine also which."""
        return self.problem.title if self.result is None else title_of(self.problem, self.result)

    @property
    def variant(self) -> str:
        """The name of the problem's class."""
        return type(self.problem).__name__

    @property
    def headline(self) -> str:
        """What the residuals are worth: whether there are any, and whether they are at an optimum of this problem."""
        return self._said[0]

    @cached_property
    def measurements(self) -> dict[str, Measurement]:
        """By tag, each step's sides and residual, or the reason why it has none; empty where nothing is measured."""
        if self._quantities is None:
            return {}
        return {step.tag: step.measured(self._quantities) for step in self.steps}

    @cached_property
    def bounds(self) -> dict[str, Proven]:
        """By tag, what is proven of each step, with a bound or without; empty where no proof was asked for."""
        if self.proof is None or self.result is None:
            return {}
        claimed = float(self.result.primal)
        return {step.tag: proven_of(step.title, self.proof, claimed) for step in self.steps}

    def shown(self) -> ShownDerivation:
        """The derivation as text and numbers: what `print` and the page are made from.

        Returns
        -------
        ShownDerivation
            Title, headline, and the steps as text and numbers.

        Examples
        --------
        >>> import qpsvm
        >>> shown = qpsvm.derive(qpsvm.CSVM([[0.0], [2.0]], [0, 1])).shown()
        >>> print(shown.title, "|", shown.steps[0].tag)
        C-SVM, C = 1, kernel Linear() | CSVM.1
        """
        steps = tuple(step.shown(self.measurements.get(step.tag), self.bounds.get(step.tag)) for step in self.steps)
        said = [] if self.proof is None else [str(claim) for claim in self.proof.claims if claim.kind in SAID]
        said += [] if self.proof is None else [f"assumed: {text}" for text in self.proof.assumptions]
        proven = "; ".join(said)
        return ShownDerivation(self.title, self.headline, self._said[1], steps, proven)

    @cached_property
    def _quantities(self) -> Quantities[Any] | AllInOneQuantities | None:
        """The letters at the point that is measured: the α given as it stands, else the result."""
        if self.result is None:
            return None
        if isinstance(self.problem, JointProblem):
            assert isinstance(self.result, JointResult)
            return AllInOneQuantities(self.problem, self.result)
        assert isinstance(self.result, SVMResult)
        point = self.result if self.alpha is None else point_of(self.problem, self.alpha, self.result)
        return letters_of(self.problem, point)

    @cached_property
    def _said(self) -> tuple[str, bool]:
        """The headline, and whether the point is an optimum of this problem."""
        if self.result is None or self._quantities is None:
            return "not solved: derive(problem, solve(problem)) measures every step on this data", False
        if isinstance(self._quantities, AllInOneQuantities):
            return all_in_one_headline(self._quantities, self.measurements)
        assert isinstance(self.result, SVMResult)
        with np.errstate(all="ignore"):  # an α may be so large that its products overflow
            if self.alpha is not None:
                return of_alpha(self._quantities, self.result, self.measurements)
            return of_result(self._quantities, self.measurements)

    def residuals(self) -> dict[str, float]:
        """The violation of each equation at the result, relative, by tag; empty without a result.

        It is NaN where a step does not exist for this problem, or cannot be measured on this data. `reasons` says why.

        Returns
        -------
        dict of str to float
            In the order of the steps.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.HardMargin([[0.0], [1.0], [3.0]], [0, 0, 1])
        >>> derivation = qpsvm.derive(problem, qpsvm.solve(problem))
        >>> residuals = derivation.residuals()
        >>> len(residuals) == len(derivation), max(residuals.values()) < 1e-12
        (True, True)
        """
        return {tag: measurement.residual for tag, measurement in self.measurements.items()}

    def proven(self) -> dict[str, float]:
        """A bound of each equation's violation by tag, relative, that is proven; empty where no proof was asked for.

        It is true of the very numbers: of w and b as they are, and of the proof's α, which is next to the result's. It
        is 0 where an equation holds exactly, and NaN where a proof says nothing of it.

        Returns
        -------
        dict of str to float
            In the order of the steps.

        See Also
        --------
        SVMResult.verify : The proof.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> proven = qpsvm.derive(problem, qpsvm.solve(problem), proven=True).proven()
        >>> proven["CSVM.5"], proven["CSVM.14"] < 1e-14
        (0.0, True)
        """
        return {tag: float("nan") if found.bound is None else found.bound for tag, found in self.bounds.items()}

    def sides(self) -> dict[str, dict[str, Any]]:
        """Both sides of each equation at the point, by tag, as data for JSON; empty where nothing was measured.

        Each has the keys left, relation, right, of, residual and reason, as in `Measurement`, and with a proof the key
        proven. None stands for a number that is not there, or not finite.

        Returns
        -------
        dict of str to dict
            In the order of the steps.

        Examples
        --------
        Strong duality at the optimum, ½ = ½:

        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> sides = qpsvm.derive(problem, qpsvm.solve(problem)).sides()
        >>> print(round(sides["CSVM.14"]["left"], 6), sides["CSVM.14"]["relation"], round(sides["CSVM.14"]["right"], 6))
        0.5 = 0.5
        """
        found = {tag: measurement.as_dict() for tag, measurement in self.measurements.items()}
        for tag, proven in self.bounds.items():
            found[tag]["proven"] = proven.bound
        return found

    def reasons(self) -> dict[str, str]:
        """Why a step has no residual, by tag, for those that have none.

        Returns
        -------
        dict of str to str
            Sentences.

        Examples
        --------
        In the feature space of a kernel, w has no entries to show:

        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [2.0]], [0, 1], kernel=qpsvm.RBF(gamma=0.5))
        >>> for reason in qpsvm.derive(problem).reasons().values():
        ...     print(reason.split(" is ")[0])
        does not exist here: w = Σ α_i y_i φ(x_i)
        """
        if self.result is None:
            return {step.tag: step.absence for step in self.steps if step.absent}
        return {tag: measurement.reason for tag, measurement in self.measurements.items() if measurement.reason}

    def __getitem__(self, tag: str) -> Step:
        """The step with this tag.

        Raises UnknownOptionError, ParameterTypeError.
        """
        if not isinstance(tag, str):
            raise ParameterTypeError(
                f"a step is chosen by its tag, such as derivation[{self.steps[0].tag!r}], got {shown(tag)} of type "
                f"{type(tag).__name__}; derivation.steps is a tuple, for numbers and slices"
            )
        found = {step.tag: step for step in self.steps}
        wanted = tag.strip("()")
        if wanted not in found:
            where = f"in the derivation of {self.variant}"
            raise UnknownOptionError(f"no step {wanted!r} {where}; {nearest(wanted, found)}")
        return found[wanted]

    def __contains__(self, tag: object) -> bool:
        """Whether there is a step with this tag."""
        return any(step.tag == str(tag).strip("()") for step in self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return describe(self.shown())

    def __repr__(self) -> str:
        return f"<Derivation of {self.title}: {len(self)} steps, {'not solved' if self.result is None else 'measured'}>"

    def _repr_html_(self) -> str:
        from qpsvm.derivation.page import fragment, preformatted

        try:
            return fragment(self.shown())
        except MissingExtraError as error:  # a notebook still shows the steps, and says what is missing
            return preformatted(f"{self}\n\n{error}")

    def to_html(self, path: str | Path) -> None:
        """Write the page to one file that needs no network: whole, or not at all.

        Parameters
        ----------
        path : str or Path
            What is there is replaced once the page is complete; until then it stays as it was.

        Raises
        ------
        MissingExtraError
            The packages of the extra `teach` are not installed.
        FileFormatError
            The file cannot be written.
        ParameterTypeError
            Not a path.

        Examples
        --------
        >>> from pathlib import Path
        >>> import qpsvm
        >>> qpsvm.derive(qpsvm.CSVM([[0.0], [2.0]], [0, 1])).to_html("derivation.html")
        >>> "<math" in Path("derivation.html").read_text(encoding="utf-8")
        True
        """
        from qpsvm.derivation.page import document

        if not isinstance(path, (str, Path)):
            raise ParameterTypeError(f"path must be text or a Path, got {shown(path)}")
        page = document(self.shown())
        try:
            write_text(path, page)
        except FileAccessError as error:
            raise FileFormatError(str(error)) from error


def derive(
    problem: Problem | JointProblem,
    result: SVMResult | JointResult | None = None,
    *,
    alpha: ArrayLike | None = None,
    proven: bool = False,
) -> Derivation:
    """The derivation of a problem's dual, step by step, each measured at a solution, or at any α.

    Parameters
    ----------
    problem : Problem or JointProblem
        Any machine of the library.
    result : SVMResult or JointResult, optional
        Of this problem, optimal or not. Without one the steps have no residuals.
    alpha : array_like, shape (n,), or (2n,) of a regression, optional
        Dual variables to measure at instead of a result, feasible or not: anything finite, indexed by the caller's
        rows. `problem.at(alpha)` certifies it, and each step is measured at this very α.
    proven : bool
        Beside what is measured, also what is proven of the numbers of the result, as by `result.verify()`: bounds that
        are true whatever was rounded, for the equations that a proof is about.

    Returns
    -------
    Derivation
        Measured, where there is a result.

    Raises
    ------
    UnsupportedError
        Nobody has listed the steps of this machine; an α for a machine with rows of a user's, whose prices it has not;
        or there is no proof of this machine, or none with its kernel.
    DataError
        The result is over other rows or features than the problem, or with another kernel; or α has another shape, or
        values that are not finite.
    ParameterTypeError
        Not a problem, not a result, or both a result and an α; a proof of no result.

    See Also
    --------
    dualise : The dual of any QP, made mechanically.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> derivation = qpsvm.derive(problem, qpsvm.solve(problem))
    >>> for tag in ("CSVM.4", "CSVM.6", "CSVM.15"):
    ...     print(derivation[tag].statement, "|", derivation.residuals()[tag] < 1e-12)
    ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i) | True
    ∂L/∂ξ_i = 0:  η_i = C_i − α_i | True
    linear kernel only:  w = Σ α_i y_i x_i has one weight a feature, and f(x) = wᵀx + b | True
    """
    if proven and (result is None or alpha is not None):
        raise ParameterTypeError(
            "proven=True is about the numbers of a result: derive(problem, solve(problem), proven=True), and of an α "
            "derive(problem, problem.at(alpha), proven=True)"
        )
    if isinstance(problem, JointProblem):
        if alpha is not None:
            raise UnsupportedError(
                f"{type(problem).__name__} is measured at a result: derive(problem, problem.at(alpha)) takes an α"
            )
        if result is not None:
            check_joint_pair(problem, result)
        proof = problem.prove(result) if proven and isinstance(result, JointResult) else None
        return Derivation(problem, steps_of(problem), result, proof=proof)
    if not isinstance(problem, Problem):
        raise ParameterTypeError(f"derive takes a problem such as CSVM(X, y), got {type(problem).__name__}")
    if alpha is None:
        if result is not None:
            check_pair(problem, result)  # type: ignore[arg-type]
        steps = steps_of(problem)
        proof = problem.prove(result) if proven and isinstance(result, SVMResult) else None
        return Derivation(problem, steps, result, proof=proof)
    if result is not None:
        raise ParameterTypeError("derive measures at a result or at an α, not at both: leave one of them out")
    if problem.constraints:
        raise UnsupportedError(
            "with rows of your own an α needs their prices: derive(problem, problem.at(alpha)) measures at both, the "
            "prices behind α"
        )
    steps, given = steps_of(problem), as_finite_vector(alpha, "alpha", problem.alphas)
    return Derivation(problem, steps, problem.at(given), given)
