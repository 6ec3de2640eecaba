"""Define the certified result of an all-in-one multiclass machine (`AllInOneResult`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import QPSVMError, UnsupportedError
from qpsvm.base.html import Cell, render_table
from qpsvm.program.status import Solver, Status
from qpsvm.result.caveats import Caveat
from qpsvm.result.certified import Certified
from qpsvm.result.kkt_table import KKTTable
from qpsvm.result.model import AllInOneModel
from qpsvm.result.solved_problem import ProblemReference, SolvedProblem

#: Names of the numbers in `AllInOneResult.kind`: α_ic zero, free, at bound.
KINDS = ("idle", "margin", "bound")


@dataclass(frozen=True, eq=False)
class AllInOneResult(Certified):
    """The certified result of an all-in-one multiclass machine.

    Arrays (n, k) have a row for each of the caller's samples and a column for each class. Every class but a sample's
    own is a rival, and each pair of a sample and a rival is a row of the program; at the own class α, slack and kind
    are 0. Further attributes are as in `SVMResult`.

    Attributes
    ----------
    alpha : ndarray, shape (n, k)
        Dual variables, feasible to the last bit.
    coef : ndarray, shape (n, k)
        f_c(x) = Σ_i coef_ic K(x_i, x) + b_c: −α_ic, and Σ_c α_ic at the own class.
    b : ndarray, shape (k,)
        Intercepts. Free ones are unique up to a common constant, which makes their sum 0 for the samples in the form
        used for computation.
    primal, dual : float
        Certified values: primal ≥ optimum ≥ dual, up to rounding of the last digits.
    kind : ndarray of int8, shape (n, k)
        0 idle: α_ic = 0;  1 on the margin: α_ic > 0 and no slack;  2 at the bound: α_ic = C_i, or Σ_c α_ic = C_i if
        the rivals share a slack.
    shortfalls : ndarray, shape (n, k)
        The margin level minus f_y − f_c: how much a rival violates the margin; negative if it is kept with room.
    xi : ndarray, shape (n,) or (n, k)
        Slacks: one per sample if its rivals share it, else one per row.
    terms : ndarray, shape (n, k)
        The share of every row in primal − dual, (JOINT.6).
    upper : ndarray, shape (n,)
        C_i.
    label : ndarray of int, shape (n,)
        The index of each sample's own class in `classes`.
    model : AllInOneModel
        The decision functions.

    See Also
    --------
    solve : Solve a machine and return its result.
    SVMResult : The result of a machine with one decision function.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]], ["a", "a", "b", "b", "c", "c"]
    >>> result = qpsvm.solve(qpsvm.CrammerSinger(X, y, C=10))
    >>> print(result.status, result.gap < 1e-9, result.predict([[0.4], [4.6], [7.0]]))
    optimal True ['a' 'b' 'c']
    >>> print(result.kind)
    [[0 0 0]
     [0 1 0]
     [1 0 0]
     [0 0 1]
     [0 1 0]
     [0 0 0]]
    """

    status: Status
    alpha: FloatArray
    coef: FloatArray
    b: FloatArray
    primal: float
    dual: float
    gap: float
    rounding: float
    solver_gap: float
    kind: NDArray[np.int8]
    shortfalls: FloatArray
    xi: FloatArray
    terms: FloatArray
    upper: FloatArray
    label: IntArray
    backend: str
    form: str
    iterations: int | None
    build_time: float
    solve_time: float
    solver: Solver
    model: AllInOneModel
    title: str
    message: str = ""
    error: QPSVMError | None = None
    problem: ProblemReference = None
    caveats: tuple[Caveat, ...] = ()

    def sensitivity(self, problem: SolvedProblem | None = None) -> Any:
        """Raise an error: derivatives are supported for one decision function only, by `SVMResult.sensitivity`.

        Parameters
        ----------
        problem : Problem, optional
            Ignored.

        Raises
        ------
        UnsupportedError
            Always.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [1.0], [2.0]], [0, 1, 2]))
        >>> try:
        ...     result.sensitivity()
        ... except qpsvm.UnsupportedError as error:
        ...     print(str(error).split(",")[0])
        no derivatives of Crammer-Singer
        """
        del problem
        raise UnsupportedError(f"no derivatives of {self.title}, which is one program over several classes")

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, (k,), in sort order."""
        return self.model.classes

    @cached
    def support(self) -> IntArray:
        """Samples with some α_ic > 0: (s,)."""
        return np.flatnonzero((self.kind > 0).any(axis=1))

    @cached
    def kkt(self) -> KKTTable:
        """Table with one row per sample and rival: the terms of its optimality conditions, and its share of the gap.

        The columns are sample, rival (a label), alpha, xi, shortfall, kind; `gap`, the row's term of P − D, (JOINT.6),
        and `residual`, the same relative to the objective. If rivals share a slack, the term (C_i − Σ_c α_ic)ξ_i is in
        the row of the rival with the largest violation.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0], [4.0]], ["a", "b", "c"], C=10))
        >>> print(result.kkt["rival"][:2], result.kkt["kind"][:2], len(result.kkt))
        ['b' 'c'] ['margin' 'idle'] 6
        """
        n, k = self.alpha.shape
        own = self.label[:, None] == np.arange(k)
        sample, rival = np.nonzero(~own)
        terms = self.terms.copy()
        worst_rival = np.where(own, -np.inf, self.shortfalls).argmax(axis=1)
        terms[np.arange(n), worst_rival] += terms[np.arange(n), self.label]
        xi = np.broadcast_to(self.xi[:, None], (n, k)) if self.xi.ndim == 1 else self.xi
        columns = {"alpha": self.alpha, "xi": xi, "shortfall": self.shortfalls, "gap": terms}
        columns["residual"] = terms / abs(self.primal) if np.isfinite(self.primal) and self.primal else terms
        labels = self.classes[rival]
        kinds = [("sample", "i8"), ("rival", labels.dtype), *((name, "f8") for name in columns), ("kind", "U6")]
        rows = np.empty(len(sample), dtype=kinds)
        rows["sample"], rows["rival"] = sample, labels
        for name, values in columns.items():
            rows[name] = values[sample, rival]
        rows["kind"] = np.array(KINDS)[self.kind[sample, rival]]
        return KKTTable(rows)

    def summary(self, notes: bool = True) -> str:
        """Return the result in a few lines.

        Parameters
        ----------
        notes : bool, default=True
            Whether the `notes` are appended.

        Returns
        -------
        str
            The lines, without a line break after the last.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0], [4.0]], ["a", "b", "c"], C=10))
        >>> print(result.summary())
        Crammer-Singer, 3 classes, C = 10, intercept free, kernel Linear()
          status      optimal: The certified relative gap is within the tolerance.
          objective   primal 1, dual 1
          gap         ... relative, rounding included (the solver's own point: ...)
          vectors     3 support of 3; rows: 4 on the margin + 0 at the bound, of 6
          optimum     ‖w − w*‖ ≤ ... for every exact optimum
          solver      ... on the ... form, ... iterations; it reported '...'
          time        build ...s, solve ...s
        """
        n_margin, n_bound = (int((self.kind == kind).sum()) for kind in (1, 2))
        n, k = self.alpha.shape
        lines = [
            *self._describe_solve(),
            f"  vectors     {len(self.support)} support of {n}; rows: {n_margin} on the margin + {n_bound} at the "
            f"bound, of {n * (k - 1)}",
            *self._describe_optimum(),
        ]
        return self._append_notes(lines, notes)

    def __repr__(self) -> str:
        return (
            f"<AllInOneResult {self.status}: gap {self.gap:.2g}, {len(self.support)} support vectors, "
            f"{self.backend}/{self.form}>"
        )

    def _repr_html_(self) -> str:
        title, *lines = self.summary().splitlines()
        return render_table([[Cell(line[2:14].strip()), Cell(line[14:])] for line in lines], title=title)
