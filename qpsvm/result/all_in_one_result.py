"""Define the certified result of an all-in-one multiclass machine (`AllInOneResult`)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.result.kkt_table import KKTTable
from qpsvm.result.model import AllInOneModel
from qpsvm.result.svm_result import SVMResult

#: Most intercepts that a summary shows.
MAX_SHOWN_INTERCEPTS = 6


@dataclass(frozen=True, eq=False, repr=False)
class AllInOneResult(SVMResult):
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
    b_interval : None
        Equally good intercepts of several classes are a polytope.
    kind : ndarray of int8, shape (n, k)
        0 idle: α_ic = 0;  1 on the margin: α_ic > 0 and no slack;  2 at the bound: α_ic = C_i, or Σ_c α_ic = C_i if
        the rivals share a slack. `support`, `on_margin`, `at_bound` and `counts` are about samples: each has the
        largest kind of its rows.
    yf, margin : ndarray, shape (n, k)
        f_y(x_i) − f_c(x_i), and the margin that it should reach: 1 for every rival, 0 at the own class.
    xi : ndarray, shape (n,) or (n, k)
        Slacks: one per sample if its rivals share it, else one per row.
    terms : ndarray, shape (n, k)
        The share of every row in primal − dual, (JOINT.6).
    upper : ndarray, shape (n,)
        C_i.
    structure : AllInOneDual
        The rows of the program over all samples: own classes and bounds.
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

    b: FloatArray  # type: ignore[assignment]
    b_interval: None  # type: ignore[assignment]
    model: AllInOneModel  # type: ignore[assignment]
    structure: AllInOneDual = field(kw_only=True)

    @property
    def _listed_kind(self) -> NDArray[np.int8]:
        """The largest kind of each sample's rows: (n,)."""
        largest: NDArray[np.int8] = self.kind.max(axis=1)
        return largest

    @cached
    def shortfalls(self) -> FloatArray:
        """How far f_y − f_c is below the margin; negative beyond it, 0 at the own class: (n, k)."""
        return self.margin - self.yf

    @cached
    def xi(self) -> FloatArray:
        """Slacks: (n,) if the rivals of a sample share one, else (n, k)."""
        slack = np.maximum(self.shortfalls, 0.0)
        return slack.max(axis=1) if self.structure.has_shared_slack else slack

    @cached
    def terms(self) -> FloatArray:
        """The share of every row in P − D, (JOINT.6): (n, k)."""
        return self.structure.compute_gap_terms(self.alpha, self.shortfalls)

    @cached
    def kkt(self) -> KKTTable:
        """Table with one row per sample and rival: the terms of its optimality conditions, and its share of the gap.

        The columns are sample, rival (a label), alpha, xi, shortfall, kind; `gap`, the row's term of P − D, (JOINT.6),
        and `residual`, the same relative to the objective. If rivals share a slack, the term (C_i − Σ_c α_ic)ξ_i is in
        the row of the rival with the largest shortfall.

        Examples
        --------
        >>> import qpsvm
        >>> result = qpsvm.solve(qpsvm.CrammerSinger([[0.0], [2.0], [4.0]], ["a", "b", "c"], C=10))
        >>> print(result.kkt["rival"][:2], result.kkt["kind"][:2], len(result.kkt))
        ['b' 'c'] ['margin' 'idle'] 6
        """
        n, k = self.alpha.shape
        label, own = self.structure.label, self.structure.own_class_mask
        sample, rival = np.nonzero(~own)
        terms = self.terms.copy()
        worst_rival = np.where(own, -np.inf, self.shortfalls).argmax(axis=1)
        terms[np.arange(n), worst_rival] += terms[np.arange(n), label]
        if self.xi.ndim == 1:
            xi = np.broadcast_to(self.xi[:, None], (n, k))
        else:
            xi = self.xi
        columns = {"alpha": self.alpha, "xi": xi, "shortfall": self.shortfalls, "gap": terms}
        if np.isfinite(self.primal) and self.primal:
            columns["residual"] = terms / abs(self.primal)
        else:
            columns["residual"] = terms
        labels = self.classes[rival]
        kinds = [("sample", "i8"), ("rival", labels.dtype), *((name, "f8") for name in columns), ("kind", "U6")]
        rows = np.empty(len(sample), dtype=kinds)
        rows["sample"], rows["rival"] = sample, labels
        for name, values in columns.items():
            rows[name] = values[sample, rival]
        rows["kind"] = np.array(self.kinds.names)[self.kind[sample, rival]]
        return KKTTable(rows)

    def _describe_intercept(self) -> str:
        more = ", …" if len(self.b) > MAX_SHOWN_INTERCEPTS else ""
        return ", ".join(f"{b:.6g}" for b in self.b[:MAX_SHOWN_INTERCEPTS].tolist()) + more
