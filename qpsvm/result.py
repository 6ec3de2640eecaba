"""The library's answer to an SVM: a certified point that measures itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.certificate import objective_terms
from qpsvm.errors import NoWeightVectorError, QPSVMError
from qpsvm.html import Cell, table
from qpsvm.kkt_table import KKTTable
from qpsvm.model import Model
from qpsvm.qp.solution import Solver, Status

#: What the numbers of `SVMResult.kind` mean.
KINDS = ("peripheral", "margin", "violator")
#: The same for people who look at a picture or a page.
KINDS_IN_WORDS = ("peripheral", "on the margin", "at the bound")


@dataclass(frozen=True, eq=False)
class SVMResult:
    """A solved SVM, with the proof of how well it is solved. Every array is indexed by the caller's n rows.

    Attributes
    ----------
    status : Status
        `optimal` exactly when the certified gap is within the tolerance. It equals its name as text.
    alpha : ndarray, shape (n,)
        Dual variables, feasible.
    b, b_interval : float, (float, float)
        Intercept, and the interval of all intercepts that are as good.
    rho : float
        Level of the margin, which is where y f = rho. It is 1 except in the ν-SVM.
    primal, dual : float
        Certified values: primal ≥ optimum ≥ dual, up to their last digits.
    gap : float
        (primal − dual)/max(|primal|, |dual|), with all rounding counted. It is a bound for exactly these α, w, b and
        ρ, by (PROOF.4). A smaller `tol` makes the library prove a smaller gap, where doubles allow it.
    rounding : float
        How much of `gap` is there for rounding alone. The rest was measured.
    solver_gap : float
        The relative gap (CERT.3) of the point that the solver returned, as measured before polishing.
    kind : ndarray of int8, shape (n,)
        0 peripheral, 1 on the margin, 2 at the bound.
    yf, margin : ndarray, shape (n,)
        y_i f(x_i), and what it is to reach: `rho` in every row of a two-class machine with one level. Of many rows with
        an RBF kernel, those far beyond their margin are known in single precision only; `decision_function` is exact.
    upper, curvature : ndarray, shape (n,)
        C_i, which may be infinite, and how the price of slack grows: 0 for the hinge loss.
    unit : float
        The objective's factor in front of ½‖w‖²: λ of the primal hinge problem, else 1.
    backend, form : str
        Which backend solved, and which form of the problem: "dual" or "primal".
    iterations : int or None
        Of the solver; None where it does not count them.
    build_time, solve_time : float
        Seconds that building and compiling the QP took, and seconds inside the solver.
    solver : Solver
        Name, version and the raw status that the solver reported.
    model : Model
        The decision function on its own.
    title, message : str
        What was solved; and what else a user should know, or "".
    error : QPSVMError or None
        What `solve(check=True)` raises. Where classes have no hard margin, it holds the proof.

    See Also
    --------
    solve : What makes one.
    derive : Every equation of the dual, measured at a result.

    Examples
    --------
    >>> import qpsvm
    >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    >>> print(result.status, result.w.round(6), round(result.b, 6))
    optimal [1.] -2.0
    >>> print(result.alpha.round(6), result.yf.round(6), result.kind)
    [0.  0.5 0.5 0. ] [2. 1. 1. 2.] [0 1 1 0]
    >>> result.dual <= result.primal * (1 + 1e-15) and result.gap <= 1e-6
    True
    """

    status: Status
    alpha: FloatArray
    b: float
    b_interval: tuple[float, float]
    rho: float
    primal: float
    dual: float
    gap: float
    solver_gap: float
    kind: NDArray[np.int8]
    yf: FloatArray
    margin: FloatArray
    upper: FloatArray
    curvature: FloatArray
    unit: float
    backend: str
    form: str
    iterations: int | None
    build_time: float
    solve_time: float
    solver: Solver
    model: Model
    title: str
    message: str = ""
    error: QPSVMError | None = None
    rounding: float = 0.0

    @cached_property
    def xi(self) -> FloatArray:
        """Slacks ξ_i = max(ρ − y_i f(x_i), 0): (n,)."""
        return np.maximum(self.margin - self.yf, 0.0)

    @cached_property
    def terms(self) -> FloatArray:
        """Each sample's share of P − D, (CERT.1) in the units of the objective: (n,)."""
        return self.unit * objective_terms(self.alpha, self.upper, self.yf, self.margin, self.curvature, self.primal)

    @cached_property
    def support(self) -> IntArray:
        """Rows with α > 0, (k,): on the margin or at the bound."""
        return np.flatnonzero(self.kind > 0)

    @cached_property
    def on_margin(self) -> IntArray:
        """Rows with 0 < α < C, (k,). They lie on the margin."""
        return np.flatnonzero(self.kind == 1)

    @cached_property
    def at_bound(self) -> IntArray:
        """Rows with α = C, (k,), or with a curved loss α > 0. They lie behind the margin, or just on it."""
        return np.flatnonzero(self.kind == 2)

    @property
    def w(self) -> FloatArray:
        """Weight vector of a linear machine, (d,).

        Raises
        ------
        NoWeightVectorError
            The kernel is not linear: w lives in the kernel's feature space.
        """
        if self.model.w is None:
            raise NoWeightVectorError(
                f"w = Σ α_i y_i φ(x_i) is a vector in the feature space of {self.model.kernel}, not in the space of "
                "the samples; use decision_function(X), or Linear() as kernel"
            )
        return self.model.w

    @property
    def classes(self) -> NDArray[Any]:
        """The two labels, (2,), in sort order."""
        return self.model.classes

    @cached_property
    def kkt(self) -> KKTTable:
        """One row a sample: what its optimality conditions are about, and its share of the gap.

        alpha, xi, eta = C − α, yf, kind; `gap`, the sample's term of P − D, (CERT.1), in the units of the objective:
        with ½‖w − w(α)‖² and the share of a penalised intercept they add up to it; `residual`, the same as a share of
        the relative gap, (CERT.3).

        Examples
        --------
        The last sample stands among those of the other class:

        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1], C=1))
        >>> print(result.kkt["kind"])
        ['margin' 'violator' 'margin' 'peripheral' 'violator']
        >>> print(result.kkt.dtype.names)
        ('alpha', 'xi', 'eta', 'yf', 'gap', 'residual', 'kind')

        It prints as a table, and `np.asarray(result.kkt)` is the structured array.
        """
        return KKTTable(kkt_table(self))

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) for each row of X.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            See `Model.decision_function`.

        Returns
        -------
        ndarray, shape (m,)
            Positive on the side of the larger label.

        Raises
        ------
        DataError
            Another width or other column names than the training data; no rows; a value that is NaN or infinite.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], [0, 1]))
        >>> print(result.decision_function([[0.0], [1.5], [2.0]]).round(6))
        [-1.   0.5  1. ]
        """
        return self.model.decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X: the larger one where f > 0.

        Parameters
        ----------
        X : array_like or SciPy sparse, shape (m, d)
            See `Model.predict`.

        Returns
        -------
        ndarray, shape (m,)
            Labels as they were given.

        Raises
        ------
        DataError
            Another width or other column names than the training data; no rows; a value that is NaN or infinite.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [2.0]], ["no", "yes"]))
        >>> print(result.predict([[0.5], [1.5]]))
        ['no' 'yes']
        """
        return self.model.predict(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the decision function to an .npz file, as `Model.save` does. `qpsvm.load` reads it back.

        Parameters
        ----------
        path : str or path-like
            What is there is replaced once the file is complete.

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

    def summary(self) -> str:
        """The result in a few lines, as a person would report it.

        Returns
        -------
        str
            Lines without an end of line after the last.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]), "cvxopt")
        >>> print(result.summary())
        C-SVM, C = 1, kernel Linear()
          status      optimal: The certified relative gap is within the tolerance.
          objective   primal 0.5, dual 0.5
          gap         ... relative, rounding included (the solver's own point: ...)
          vectors     2 support = 2 on the margin + 0 at the bound, of 4
          intercept   b = -2
          solver      cvxopt ... on the dual form, ... iterations; it said 'optimal'
          time        build ...s, solve ...s
        """
        beyond = "at the bound" if np.isfinite(self.upper[self.at_bound]).all() else "behind the margin"
        low, high = self.b_interval
        width = high - low
        spread = "" if width <= 1e-9 * max(1.0, abs(self.b)) else f"   any b in [{low:.6g}, {high:.6g}] is as good"
        steps = "" if self.iterations is None else f", {self.iterations} iterations"
        lines = [
            self.title,
            f"  status      {self.status}: {self.status.sentence}",
            f"  objective   primal {self.primal:.10g}, dual {self.dual:.10g}",
            f"  gap         {self.gap:.2g} relative, rounding included (the solver's own point: {self.solver_gap:.2g})",
            f"  vectors     {len(self.support)} support = {len(self.on_margin)} on the margin + {len(self.at_bound)} "
            f"{beyond}, of {len(self.alpha)}",
            f"  intercept   b = {self.b:.10g}{spread}",
            f"  solver      {self.solver.name} {self.solver.version} on the {self.form} form{steps}; it said "
            f"{self.solver.status!r}",
            f"  time        build {_seconds(self.build_time)}, solve {_seconds(self.solve_time)}",
        ]
        if self.rho != 1.0:
            lines.insert(5, f"  margin      rho = {self.rho:.10g}")
        if self.message:
            lines.append(f"  note        {self.message}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<SVMResult {self.status}: gap {self.gap:.2g}, {len(self.support)} support vectors "
            f"({len(self.on_margin)} on the margin), {self.backend}/{self.form}>"
        )

    def _repr_html_(self) -> str:
        low, high = self.b_interval
        figures = [
            ("status", str(self.status)), ("primal", f"{self.primal:.10g}"), ("dual", f"{self.dual:.10g}"),
            ("relative gap", f"{self.gap:.2g}"), ("b", f"{self.b:.10g}"), ("interval of b", f"{low:.6g} to {high:.6g}"),
            ("rho", f"{self.rho:.10g}"), ("solver", f"{self.solver.name} {self.solver.version}, {self.form} form"),
            ("time", f"build {_seconds(self.build_time)}, solve {_seconds(self.solve_time)}"), ("note", self.message),
        ]  # fmt: skip
        said = table([[Cell(label), Cell(text)] for label, text in figures if text], title=self.title)
        counts = np.bincount(self.kind, minlength=len(KINDS_IN_WORDS))
        kinds = [[Cell(words), Cell(str(count), True)] for words, count in zip(KINDS_IN_WORDS, counts, strict=True)]
        return said + table([*kinds, [Cell("all"), Cell(str(len(self.kind)), True)]], head=["kind", "samples"])


def kkt_table(result: SVMResult) -> NDArray[np.void]:
    """What `SVMResult.kkt` shows: (n,)."""
    numbers = ("alpha", "xi", "eta", "yf", "gap", "residual")
    table = np.empty(len(result.alpha), dtype=[*((name, "f8") for name in numbers), ("kind", "U10")])
    scale = max(abs(result.primal), abs(result.dual))
    table["alpha"], table["xi"], table["yf"] = result.alpha, result.xi, result.yf
    table["eta"] = result.upper - result.alpha  # (CSVM.6), (NUSVM.7), (PHINGE.6)
    table["kind"] = np.array(KINDS)[result.kind]
    table["gap"] = result.terms
    table["residual"] = result.terms / scale if scale > 0 and np.isfinite(scale) else result.terms
    return table


def _seconds(t: float) -> str:
    return f"{1e3 * t:.3g} ms" if t < 1 else f"{t:.3g} s"
