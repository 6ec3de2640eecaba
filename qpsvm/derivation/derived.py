"""Define a derivation: its steps, their residuals at a point, and its output formats (`Derivation`).

The steps contain the equations as expressions. `Quantities` has the values of their symbols at a result, from which the
residuals are computed, on first use. All output formats are written from one `ShownDerivation` of text and numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.atomic_files import write_text
from qpsvm.base.errors import FileAccessError, FileFormatError, MissingExtraError, ParameterTypeError
from qpsvm.bounds.proof.proof import Proof
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities, assess_all_in_one
from qpsvm.derivation.constraint_quantities import build_quantities
from qpsvm.derivation.display import ShownDerivation, Symbol
from qpsvm.derivation.headline import assess_alpha, assess_result
from qpsvm.derivation.key import iter_symbols
from qpsvm.derivation.names import collect_names
from qpsvm.derivation.picture import build_picture
from qpsvm.derivation.proven import ProvenBound, find_proven_bound
from qpsvm.derivation.quantities import Quantities
from qpsvm.derivation.registry import collect_meanings, select_steps
from qpsvm.derivation.residual import choose_point
from qpsvm.derivation.step import Measurement, Step
from qpsvm.derivation.written.article import render_latex
from qpsvm.derivation.written.terminal import describe
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.machines.problem.result_checks import format_title
from qpsvm.result.svm_result import SVMResult

#: Kinds of the claims of a proof that are displayed above the steps.
SHOWN_CLAIMS = ("feasible", "gap", "kernel")


@dataclass(frozen=True, eq=False)
class Derivation:
    """The steps from margin to dual and back, each with its residual at a solution.

    `derivation["CSVM.4"]` is one step, and iteration gives all in order. `print` shows them in a terminal. A notebook
    shows them as a page, and `to_html` writes that page.

    Attributes
    ----------
    problem : Problem
        The problem; for a derivation of a class without data, a placeholder over a few samples.
    steps : tuple of Step
        All steps, or the selected ones.
    result : SVMResult or None
        The result at which the residuals are measured; if α was given, its certified result.
    alpha : ndarray, shape (n,), or (2n,) for a regression, or None
        The α that was given instead of a result: the residuals are measured at this α without repair, with w = w(α) and
        the best b and ρ for it.
    proof : Proof or None
        The proof about the result; None if none was requested.
    all_steps : tuple of Step
        All steps, which the headline is based on even if only some of them are selected.
    display_name : str
        The name of a class without data, with its options; "" for a problem.

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

    problem: Problem
    steps: tuple[Step, ...]
    result: SVMResult | None = None
    alpha: FloatArray | None = None
    proof: Proof | None = None
    all_steps: tuple[Step, ...] = field(default=(), repr=False)
    display_name: str = ""

    @property
    def title(self) -> str:
        """The problem with its parameters, and the machine of the result if it is another one."""
        if self.display_name:
            return self.display_name
        if self.result is None:
            return self.problem.title
        return format_title(self.problem, self.result)

    @property
    def variant(self) -> str:
        """The name of the problem's class."""
        return type(self.problem).__name__

    @property
    def headline(self) -> str:
        """Meaning of the residuals: whether there are any, and whether they are at an optimum of this problem."""
        return self._verdict[0]

    @property
    def trusted(self) -> bool:
        """Whether the residuals are those of an optimum of this problem."""
        return self._verdict[1]

    @cached_property
    def measurements(self) -> dict[str, Measurement]:
        """Sides and residual of each step by tag, or the reason why it has none; empty without a solution."""
        if self._all_measurements:
            return {step.tag: self._all_measurements[step.tag] for step in self.steps}
        return {}

    @cached_property
    def bounds(self) -> dict[str, ProvenBound]:
        """The answer of the proof to each step, by tag; empty if no proof was requested."""
        if self.proof is None or self.result is None:
            return {}
        claimed = float(self.result.primal)
        return {step.tag: find_proven_bound(step.title, self.proof, claimed) for step in self.steps}

    def shown(self) -> ShownDerivation:
        """Return the derivation as text and numbers, from which `print` and the page are built.

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
        proven = ""
        if self.proof is not None:
            claims = [str(claim) for claim in self.proof.claims if claim.kind in SHOWN_CLAIMS]
            proven = "; ".join([*claims, *(f"assumed: {text}" for text in self.proof.assumptions)])
        return ShownDerivation(self.title, self.headline, self.trusted, steps, proven, self.key())

    def key(self) -> tuple[Symbol, ...]:
        """Return the symbols of the displayed equations, each with its meaning, its shape, and its value at the result.

        Returns
        -------
        tuple of Symbol
            Each has name, latex, meaning, shape, number as text, and value.

        Examples
        --------
        >>> import qpsvm
        >>> for symbol in qpsvm.derive(qpsvm.CSVM, steps=["CSVM.6"]).key():
        ...     print(symbol.name, symbol.shape, symbol.meaning)
        ξ (n,) slack
        α (n,) dual variables, the multipliers of the margin constraints
        η (n,) multipliers of ξ ≥ 0
        C (n,) penalty of a unit of slack
        L  Lagrangian
        """
        return tuple(iter_symbols(self.steps, collect_meanings(self.problem), self._quantities))

    def names(self) -> dict[str, Any]:
        """Return the names of the code beside the equations, with their values at the result.

        With these names, every statement of a step's `code` evaluates to True at an optimum.

        Returns
        -------
        dict of str to object
            Arrays, numbers and functions; `tol` is the tolerance for comparing two sides at this result.

        Raises
        ------
        ParameterTypeError
            Nothing is measured: the derivation has no result.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
        >>> derivation = qpsvm.derive(problem, qpsvm.solve(problem))
        >>> print(derivation["CSVM.4"].code)
        allclose(w, phi(X).T @ (alpha * y), atol=tol)  # (CSVM.4)
        >>> eval(derivation["CSVM.4"].code, derivation.names())
        True
        """
        if self._quantities is None:
            raise ParameterTypeError("names have values at a result: derive(problem, solve(problem)).names()")
        return collect_names((step for step in self.steps if not step.absent), self._quantities)

    def residuals(self) -> dict[str, float]:
        """Return the relative violation of each equation at the result, by tag; empty without a result.

        It is NaN if a step does not exist for this problem or cannot be measured on this data; see `reasons`.

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
        """Return a proven bound on each equation's relative violation, by tag; empty if no proof was requested.

        It holds for the floating-point values of w and b, and for the proof's α, which is close to the result's. It is
        0 if an equation holds exactly, and NaN if the proof has no bound for it.

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
        return {tag: float("nan") if proven.bound is None else proven.bound for tag, proven in self.bounds.items()}

    def sides(self) -> dict[str, dict[str, Any]]:
        """Return both sides of each equation at the point, by tag, as data for JSON; empty if nothing was measured.

        Each has the keys left, relation, right, description, residual and reason, as in `Measurement`, and with a proof
        the key proven. None stands for a number that does not exist or is not finite.

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
        sides = {tag: measurement.as_dict() for tag, measurement in self.measurements.items()}
        for tag, proven in self.bounds.items():
            sides[tag]["proven"] = proven.bound
        return sides

    def reasons(self) -> dict[str, str]:
        """Explain for each step without a residual, by tag, why it has none.

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
                f"a step is chosen by its tag, such as derivation[{self.steps[0].tag!r}], got {format_value(tag)} of "
                f"type {type(tag).__name__}; derivation.steps is a tuple, for numbers and slices"
            )
        return select_steps(self.steps, [tag], f"in the derivation of {self.variant}")[0]

    def __contains__(self, tag: object) -> bool:
        """Return whether there is a step with this tag."""
        return any(step.tag == str(tag).strip("()") for step in self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        unsolved = "in symbols" if self.display_name else "not solved"
        state = unsolved if self.result is None else "measured"
        return f"<Derivation of {self.title}: {len(self)} steps, {state}>"

    def _repr_html_(self) -> str:
        from qpsvm.derivation.written.page import render_fragment, wrap_preformatted

        try:
            return render_fragment(self._show_with_picture())
        except MissingExtraError as error:  # a notebook still shows the steps as text
            return wrap_preformatted(f"{self}\n\n{error}")

    def to_text(self, verbose: bool = False) -> str:
        """Return the text that `print` shows: each equation with both sides as numbers, on two screens at most.

        Parameters
        ----------
        verbose : bool
            Whether to add the explanation of each step, the place of its code, and why steps do not exist here.

        Returns
        -------
        str
            Lines of at most 80 columns.

        Examples
        --------
        >>> import qpsvm
        >>> print(qpsvm.derive(qpsvm.CSVM, steps="CSVM.6").to_text().splitlines()[-1].strip())
        ∂L/∂ξ_i = 0  ⟹  η_i = C_i − α_i
        """
        return describe(self.shown(), verbose)

    def to_latex(self, path: str | Path | None = None, *, beamer: bool = False, standalone: bool = False) -> str | None:
        r"""Return the derivation as LaTeX: a section of an article, or frames of a talk.

        Parameters
        ----------
        path : str or Path, optional
            The file to write; without a path the text is returned.
        beamer : bool
            Frames of Beamer, one per step, instead of a section.
        standalone : bool
            A document that compiles as it is. Otherwise only its body, which needs amsmath, amssymb and graphicx.

        Returns
        -------
        str or None
            The text, or None if it was written to a file.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        ParameterTypeError
            Not a path.

        Examples
        --------
        >>> import qpsvm
        >>> print(qpsvm.derive(qpsvm.CSVM, steps=["CSVM.6"]).to_latex().split("equation}")[1])
        \tag{CSVM.6}\label{eq:CSVM.6}
        \fitted{\frac{\partial L}{\partial \xi_i}=0\quad\Longrightarrow\quad \eta_i=C_i-\alpha_i}
        \end{
        """
        return _write_or_return(render_latex(self.shown(), beamer, standalone), path)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Return the page as one file that needs no network, or write it to a path.

        Parameters
        ----------
        path : str or Path, optional
            The file to write; an existing one is replaced only once the page is complete. Without a path the page is
            returned.

        Returns
        -------
        str or None
            The page, or None if it was written to a file.

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
        >>> import qpsvm
        >>> "<math" in qpsvm.derive(qpsvm.CSVM([[0.0], [2.0]], [0, 1])).to_html()
        True
        """
        from qpsvm.derivation.written.page import render_document

        return _write_or_return(render_document(self._show_with_picture()), path)

    @cached_property
    def _all_measurements(self) -> dict[str, Measurement]:
        """The measurements of all steps."""
        if self._quantities is None:
            return {}
        return {step.tag: step.measured(self._quantities) for step in self.all_steps or self.steps}

    @cached_property
    def _quantities(self) -> Quantities[Any] | AllInOneQuantities | None:
        """The symbols at the measured point: the given α without repair, or else the result."""
        if self.result is None:
            return None
        if isinstance(self.problem, AllInOneProblem):
            return AllInOneQuantities(self.problem, self.result)
        if self.alpha is None:
            point = self.result
        else:
            point = choose_point(self.problem, self.alpha, self.result)
        return build_quantities(self.problem, point)

    @cached_property
    def _verdict(self) -> tuple[str, bool]:
        """The headline, and whether the point is an optimum of this problem."""
        if self.display_name:
            return f"symbols only: derive({self.variant}(X, …), result) measures every step", False
        if self.result is None or self._quantities is None:
            return "not solved: derive(problem, solve(problem)) measures every step on this data", False
        if isinstance(self._quantities, AllInOneQuantities):
            return assess_all_in_one(self._quantities, self._all_measurements)
        with np.errstate(all="ignore"):  # an α may be so large that its products overflow
            if self.alpha is not None:
                return assess_alpha(self._quantities, self.result, self._all_measurements)
            return assess_result(self._quantities, self._all_measurements)

    def _show_with_picture(self) -> ShownDerivation:
        """Return the displayed derivation with the picture of the samples, which evaluates f on a grid."""
        shown = self.shown()
        if self._quantities is None:
            picture = None
        else:
            picture = build_picture(self._quantities, shown.key)
        return replace(shown, picture=picture)


def _write_or_return(text: str, path: str | Path | None) -> str | None:
    """Return a text, or write it to a path and return None.

    Raises FileFormatError, ParameterTypeError.
    """
    if path is None:
        return text
    if not isinstance(path, (str, Path)):
        raise ParameterTypeError(f"path must be text or a Path, got {format_value(path)}")
    try:
        write_text(path, text)
    except FileAccessError as error:
        raise FileFormatError(str(error)) from error
    return None
