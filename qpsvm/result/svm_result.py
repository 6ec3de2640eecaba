"""Define the certified result of an SVM (`SVMResult`).

It holds the dual variables α, the decision function, bounds of the optimum, and measures of how well each sample
satisfies the optimality conditions. All of these are computed from the problem's data at the returned α; only `solver`
and `iterations` are what the solver reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError, ParameterTypeError, QPSVMError
from qpsvm.base.html import Cell, render_table
from qpsvm.bounds.certificate import compute_gap_terms
from qpsvm.data.rows import as_row_source
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import Caveat
from qpsvm.result.certified import Certified, format_seconds
from qpsvm.result.kkt_table import KKTTable
from qpsvm.result.model import Model
from qpsvm.result.solved_problem import ProblemReference, SolvedProblem

#: Names of the values 0, 1 and 2 of `SVMResult.kind`.
KINDS = ("non-support", "margin", "violator")
#: Descriptions of these values, for pictures and pages.
KIND_DESCRIPTIONS = ("non-support vector", "on the margin", "at the bound")
#: Labels of lines of a summary, for the entries of `SVMResult.extras`.
EXTRA_LABELS = {
    "rho": "margin", "epsilon": "tube", "radius": "ball",
    "exact_primal": "exact", "exact_dual": "exact", "exact_gap": "exact",
}  # fmt: skip
#: Largest number of linear constraints shown in a notebook; `SVMResult.constraints` has all of them.
MAX_DISPLAYED_ROWS = 10
#: An interval of equally good values is shown if it is wider than this, relative to the value if that is above 1.
MIN_DISPLAYED_WIDTH = 1e-9


@dataclass(frozen=True)
class KindLabels:
    """Names of the values 0, 1 and 2 of `SVMResult.kind` for a machine.

    names: One word each, for tables.
    descriptions: Descriptions for pictures and pages.
    curved_description: The third description for a curved loss, where α has no upper bound.
    """

    names: tuple[str, str, str] = KINDS
    descriptions: tuple[str, str, str] = KIND_DESCRIPTIONS
    curved_description: str = "inside the margin or misclassified"


@dataclass(frozen=True, eq=False)
class SVMResult(Certified):
    """A solved SVM, with the certificate of how well it is solved.

    Arrays (n,) are indexed by the caller's rows, arrays (m,) by the dual variables: one for each row, or two.

    Attributes
    ----------
    status : Status
        `optimal` if and only if the certified gap is within the tolerance. It equals its name as text.
    alpha : ndarray, shape (m,)
        Feasible dual variables: one per sample, or for regression α⁺ of all samples followed by α⁻, m = 2n.
    coef : ndarray, shape (n,)
        Coefficients of f(x) = Σ coef_i K(x_i, x) + b: α_i y_i for two classes, α⁺_i − α⁻_i for regression.
    b, b_interval : float, (float, float)
        Intercept, and the interval of equally good intercepts.
    rho : float
        Level of the margin: y f = rho on the margin. It is 1 except in the ν-SVM.
    primal, dual : float
        Certified values: primal ≥ optimum ≥ dual, except for rounding in their last digits, and that of kernel values:
        values of size K with a relative error ε change both equally by up to ½ε(Σ|coef|)²K, which is visible for
        C = 1e8. `verify` bounds rounding, too.
    gap : float
        (primal − dual)/max(|primal|, |dual|) for exactly these α, w, b and ρ: evaluated in doubles, plus a bound of the
        rounding errors of this, (COUNT.4). `verify` proves a bound of it. A smaller `tol` gives a smaller gap, as far
        as doubles permit.
    rounding : float
        The part of `gap` that is the bound of rounding errors.
    solver_gap : float
        The relative gap (CERT.3) of the solver's point, as measured before polishing.
    kind : ndarray of int8, shape (n,)
        0 non-support vector (α = 0), 1 on the margin (free), 2 at bound; `kinds` has the names for this machine.
    yf, margin : ndarray, shape (m,)
        y_i f(x_i) for every α, and the margin it should reach: `rho`, for two classes and one level.
    upper, curvature : ndarray, shape (m,)
        C_i, which may be infinite, and the curvature δ_i of the loss: 0 for the hinge loss.
    unit : float
        Factor of ½‖w‖² in the objective: λ of the primal hinge problem, else 1.
    backend, form : str
        The backend, and the form of the problem that it solved: "dual" or "primal".
    iterations : int or None
        Iterations of the solver; None if it does not count them.
    build_time, solve_time : float
        Seconds to build and compile the QP, and seconds in the solver.
    solver : Solver
        Name, version and the raw status that the solver reported.
    model : Model
        The decision function.
    title, message : str
        The machine; and a warning or explanation, or "".
    extras, intervals : mapping of str to float, and to (float, float)
        Other primal variables by name ("rho", "epsilon", "radius"), and intervals of equally good values. With a
        `PivotedCholesky` kernel also the certified values for the exact kernel, "exact_primal" and "exact_dual", and
        their relative gap, "exact_gap".
    target : ndarray, shape (n,), or None
        t of a regression; None otherwise.
    kinds : KindLabels
        The meaning of the numbers in `kind`.
    pairs : ndarray of int, shape (m, 2), or None
        For a ranking, the pairs (better, worse); None otherwise. `kind`, `kkt`, `support`, `on_margin` and `at_bound`
        then have one entry per pair instead of one per sample. Support vectors are the samples with `coef` ≠ 0.
    constraints : structured ndarray, shape (p,), or None
        One row per linear constraint: name, value and bound of G w + c b ≤ h, violation, multiplier π, and
        `gap`, π·|slack|, which is 0 by complementary slackness. Violations are 0, except for rows that can only hold
        as equalities: these may be violated by the rounding of their evaluation, which the gap includes.
    problem : Problem or None
        The problem, without cached values; for one of many machines a function that builds it; None for a result from
        a file.
    caveats : tuple of Caveat
        Properties that limit the meaning of the result: a kernel matrix that `psd` changed, or w = 0.
    error : QPSVMError or None
        The error that `solve(check=True)` raises; None otherwise. If classes have no hard margin, it has the proof.

    See Also
    --------
    solve : Solves a problem and returns its result.
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
    coef: FloatArray = field(default_factory=lambda: np.zeros(0))
    extras: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    target: FloatArray | None = None
    kinds: KindLabels = KindLabels()
    pairs: IntArray | None = None
    constraints: NDArray[np.void] | None = None
    problem: ProblemReference = None
    caveats: tuple[Caveat, ...] = ()

    @property
    def constraint_multipliers(self) -> Mapping[str, float]:
        """Multipliers of the linear constraints by name: the rate at which the optimum decreases with each bound."""
        table = self.constraints
        if table is None:
            return {}
        return dict(zip(table["name"].tolist(), table["multiplier"].tolist(), strict=True))

    @cached
    def xi(self) -> FloatArray:
        """Slacks ξ_i = max(ρ − y_i f(x_i), 0), one per α: (m,)."""
        return np.maximum(self.margin - self.yf, 0.0)

    @cached
    def terms(self) -> FloatArray:
        """Terms of P − D, one per α, (CERT.1), in the units of the objective: (m,)."""
        return self.unit * compute_gap_terms(self.alpha, self.upper, self.yf, self.margin, self.curvature, self.primal)

    @property
    def _listed_kind(self) -> NDArray[np.int8]:
        """The kind of each item that `support`, `on_margin` and `at_bound` list: a sample, or a pair of a ranking."""
        return self.kind

    @cached
    def counts(self) -> tuple[int, int, int]:
        """The number of items of each of the three kinds: non-support vectors, free and at bound."""
        n_zero, n_free, n_at_bound = np.bincount(self._listed_kind, minlength=len(KINDS)).tolist()
        return n_zero, n_free, n_at_bound

    @cached
    def support(self) -> IntArray:
        """Rows of the support vectors, (k,): those with α > 0, on the margin or at the bound."""
        return np.flatnonzero(self._listed_kind > 0)

    @property
    def support_vectors(self) -> Matrix:
        """The samples with coef ≠ 0, rows of X: (s, d); with a precomputed kernel, rows of the kernel matrix.

        Raises
        ------
        UnsupportedError
            A result read from a file, which has no samples.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
        >>> print(result.support, result.support_vectors.ravel())
        [1 2] [1. 3.]
        """
        X = self._require_problem(None).X
        rows = np.unique(np.nonzero(self.coef)[0])
        return as_row_source(X).take(rows)

    @cached
    def on_margin(self) -> IntArray:
        """Rows with 0 < α < C, (k,). They lie on the margin."""
        return np.flatnonzero(self._listed_kind == 1)

    @cached
    def at_bound(self) -> IntArray:
        """Rows with α = C, (k,), or with a curved loss α > 0: on the margin, inside it, or misclassified."""
        return np.flatnonzero(self._listed_kind == 2)

    @property
    def kind_descriptions(self) -> tuple[str, str, str]:
        """Descriptions of the three kinds; if α has no bound, the third is not called at the bound."""
        is_bounded = len(self.upper) != len(self.kind) or np.isfinite(self.upper[self.at_bound]).all()
        zero, free, at_bound = self.kinds.descriptions
        return zero, free, at_bound if is_bounded else self.kinds.curved_description

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sort order: (2,), or (k,) for an all-in-one multiclass machine.

        Raises
        ------
        AbsentError
            The machine has no classes.
        """
        if self.model.classes is None:
            raise AbsentError("there are no classes: what this machine predicts is a number")
        return self.model.classes

    @property
    def epsilon(self) -> float:
        """Half the width ε of the tube of a ν-SVR, where it is a variable.

        Raises
        ------
        AbsentError
            Not a ν-SVR.
        """
        return self._get_extra("epsilon")

    @property
    def radius(self) -> float:
        """The radius R of an SVDD's ball; nan where linear constraints ask for R² < 0, which no ball has.

        Raises
        ------
        AbsentError
            Not an SVDD.
        """
        return self._get_extra("radius")

    @property
    def centre(self) -> FloatArray:
        """The centre c of the ball of an SVDD with a linear kernel: (d,).

        Raises
        ------
        AbsentError
            Not an SVDD.
        NoWeightVectorError
            The kernel is not linear: c lives in the kernel's feature space.
        """
        self._get_extra("radius")
        return self.w / 2.0

    def _get_extra(self, name: str) -> float:
        """Return an entry of `extras`. Raises AbsentError."""
        if name not in self.extras:
            raise AbsentError(f"{name} is no variable of this machine ({self.title})")
        return self.extras[name]

    @cached
    def kkt(self) -> KKTTable:
        """Table with one row per sample: the terms of its optimality conditions, and its share of the gap.

        Its columns are alpha, xi, eta = C − α, yf, gap, residual and kind. `gap` is the sample's term of P − D,
        (CERT.1), in the units of the objective; with ½‖w − w(α)‖² and the term of a penalised intercept they sum to
        P − D. `residual` is the same as a share of the relative gap, (CERT.3).

        Examples
        --------
        The last sample lies among those of the other class:

        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1], C=1))
        >>> print(result.kkt["kind"])
        ['margin' 'violator' 'margin' 'non-support' 'violator']
        >>> print(result.kkt.dtype.names)
        ('alpha', 'xi', 'eta', 'yf', 'gap', 'residual', 'kind')

        It prints as a table, and `np.asarray(result.kkt)` is the structured array.
        """
        return KKTTable(build_kkt_rows(self))

    def sensitivity(self, problem: SolvedProblem | None = None) -> Any:
        """Return the derivatives of f, b, w, margin and objective in the parameters, weights, targets, X and γ.

        They are those of the optimum near this result, so solve to a small gap: `solve(problem, tol=1e-10)`.

        Parameters
        ----------
        problem : Problem, optional
            The problem that was solved; needed for a result from a file.

        Returns
        -------
        Sensitivity
            Its method `along` returns directional derivatives.

        Raises
        ------
        UnsupportedError
            A ranking, an SVDD, linear constraints, a precomputed or repaired kernel matrix, samples that are stored.
        TooLargeError
            The kernel matrix of the support vectors does not fit into memory.

        See Also
        --------
        vjp : Reverse-mode derivatives (vector-Jacobian products).

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.5], [1.5]], [0, 0, 1, 1, 1], C=1), tol=1e-10)
        >>> change = result.sensitivity().along(C=1)
        >>> print(round(change.objective, 4), change.two_sided)
        1.6667 True
        """
        owner = self._require_problem(problem)
        if not hasattr(owner, "_build_sensitivity"):
            raise ParameterTypeError(f"problem must be the machine that was solved, got {owner.title}")
        return owner._build_sensitivity(self)

    def summary(self, notes: bool = True) -> str:
        """Return the result in a few lines.

        Parameters
        ----------
        notes : bool, default=True
            Whether to append its `notes`.

        Returns
        -------
        str
            The lines, without a line break after the last.

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
          optimum     ‖w − w*‖ ≤ ... for every exact optimum
          solver      cvxopt ... on the dual form, ... iterations; it reported 'optimal'
          time        build ...s, solve ...s
        """
        _, free, at_bound = self.kind_descriptions
        extras = {"rho": self.rho, **self.extras} if self.rho != 1.0 else self.extras
        constraints = [] if self.constraints is None else [_describe_constraints(self.constraints)]
        lines = [
            *self._describe_solve(),
            f"  {'vectors' if self.pairs is None else 'pairs  '}     {sum(self.counts[1:])} support = "
            f"{self.counts[1]} {free} + {self.counts[2]} {at_bound}, of {sum(self.counts)}",
            *(self._describe_extra(name, value) for name, value in reversed(list(extras.items()))),
            f"  intercept   b = {self._describe_intercept()}",
            *(f"  constraints {text}" for text in constraints),
            *self._describe_optimum(),
        ]
        return self._append_notes(lines, notes)

    def _describe_extra(self, name: str, value: float) -> str:
        interval = _describe_interval(name, value, self.intervals.get(name, (value, value)))
        return f"  {EXTRA_LABELS.get(name, name):<11} {name} = {value:.10g}{interval}"

    def _describe_intercept(self) -> str:
        return f"{self.b:.10g}{_describe_interval('b', self.b, self.b_interval)}"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.status}: gap {self.gap:.2g}, {sum(self.counts[1:])} support vectors "
            f"({self.counts[1]} {self.kinds.descriptions[1]}), {self.backend}/{self.form}>"
        )

    def _repr_html_(self) -> str:
        figures = [
            ("status", str(self.status)), ("primal", f"{self.primal:.10g}"), ("dual", f"{self.dual:.10g}"),
            ("relative gap", f"{self.gap:.2g}"), ("b", self._describe_intercept()),
            *((name, f"{value:.10g}") for name, value in {"rho": self.rho, **self.extras}.items()),
            ("solver", f"{self.solver.name} {self.solver.version}, {self.form} form"),
            ("time", f"build {format_seconds(self.build_time)}, solve {format_seconds(self.solve_time)}"),
            ("note", "; ".join(self.notes)),
        ]  # fmt: skip
        html = render_table([[Cell(label), Cell(text)] for label, text in figures if text], title=self.title)
        counts = [*zip(self.kinds.descriptions, self.counts, strict=True), ("all", sum(self.counts))]
        html += render_table([[Cell(kind), Cell(str(count), True)] for kind, count in counts], head=["kind", "samples"])
        if self.constraints is None:
            return html
        return html + _render_constraints(self.constraints)


def build_kkt_rows(result: SVMResult) -> NDArray[np.void]:
    """Build the rows of `SVMResult.kkt`, (n,); a regression has columns for the two α of a sample."""
    n = len(result.kind)
    terms = result.terms
    alpha = result.alpha
    eta = result.upper - alpha  # (DUAL.7), (CSVM.6), (NUSVM.7), (PHINGE.6)
    columns = {"alpha": alpha, "xi": result.xi, "eta": eta, "yf": result.yf}
    if len(alpha) != n and result.target is not None:  # a regression: α⁺, then α⁻
        columns = {"alpha_above": alpha[:n], "alpha_below": alpha[n:], "eta_above": eta[:n], "eta_below": eta[n:]}
        columns |= {"xi": result.xi[:n] + result.xi[n:], "f": result.yf[:n], "target": result.target}
        terms = terms[:n] + terms[n:]
    indices = {} if result.pairs is None else {"i": result.pairs[:, 0], "j": result.pairs[:, 1]}
    scale = max(abs(result.primal), abs(result.dual))
    columns |= {"gap": terms, "residual": terms / scale if scale > 0 and np.isfinite(scale) else terms}
    names = np.array(result.kinds.names)
    types = [*((name, "i8") for name in indices), *((name, "f8") for name in columns), ("kind", names.dtype)]
    table = np.empty(n, dtype=types)
    for name, values in (indices | columns).items():
        table[name] = values
    table["kind"] = names[result.kind]
    return table


def _describe_constraints(table: NDArray[np.void]) -> str:
    """Describe the linear constraints in a line: feasibility, number of positive multipliers, and the largest three."""
    positive = np.flatnonzero(table["multiplier"] > 0.0)
    costliest = positive[np.argsort(-table["multiplier"][positive], kind="stable")][:3]
    listed = ", ".join(f"{table['name'][k]} ({table['multiplier'][k]:.4g})" for k in costliest)
    more = ", …" if len(positive) > len(costliest) else ""
    violation = float(table["violation"].max(initial=0.0))
    if violation == 0.0:
        feasibility = "all satisfied"
    else:
        feasibility = f"largest violation {violation:.1e}"
    count = f"{len(positive)} with a positive multiplier"
    return f"{len(table)} rows, {feasibility}; {count}{': ' if listed else ''}{listed}{more}"


def _render_constraints(table: NDArray[np.void]) -> str:
    """Return the linear constraints with the largest multipliers in HTML, and how many there are."""
    costliest = np.argsort(-table["multiplier"], kind="stable")[:MAX_DISPLAYED_ROWS]
    columns = ("value", "bound", "multiplier")
    cells = [
        [Cell(str(row["name"])), *(Cell(f"{float(row[column]):.6g}", True) for column in columns)]
        for row in table[costliest]
    ]
    is_truncated = len(table) > MAX_DISPLAYED_ROWS
    if is_truncated:
        caption = f"the first {MAX_DISPLAYED_ROWS} of {len(table)}, by multiplier"
    else:
        caption = ""
    return render_table(cells, head=["row", "value ≤", *columns[1:]], title="linear constraints", caption=caption)


def _describe_interval(name: str, value: float, interval: tuple[float, float]) -> str:
    """Describe the interval of equally good values of a variable; "" if its value is unique."""
    low, high = interval
    if not high - low > MIN_DISPLAYED_WIDTH * max(1.0, abs(value)):  # true for NaN too
        return ""
    return f"   any {name} in [{low:.6g}, {high:.6g}] is as good"
