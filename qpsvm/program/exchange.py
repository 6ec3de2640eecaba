"""A QP in other people's hands: as a file, in the form of qpsolvers, and changed.

Files: `.npz` holds the numbers as they are; `.mps`, `.qps` and `.lp` go through HiGHS, which writes fifteen digits.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import (
    DataError,
    FileAccessError,
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
    UnknownOptionError,
    nearest,
)
from qpsvm.base.writing import text_of, written
from qpsvm.program.parts import Rows
from qpsvm.space.operators import Diagonal

if TYPE_CHECKING:
    from qpsvm.program.qp import QP

R = TypeVar("R")
#: Files that HiGHS reads and writes.
OF_HIGHS = (".mps", ".qps", ".lp")
#: The arrays of a file, and what is text in it.
MATRICES, VECTORS, TEXTS = ("G", "A"), ("q", "h", "b", "lb", "ub"), ("formula", "title")


class Solvable(Generic[R]):
    """What `solve` takes: its result is an R."""


class Exchange(Solvable[Any]):
    """The ways of a `QP` out of this library, and back."""

    def replace(self: Any, **parts: Any) -> QP:
        """The same QP with other parts.

        Parameters
        ----------
        **parts
            Attributes of the QP by name: P, q, r, G, h, A, b, lb, ub, variables, constraints, formula, title.

        Returns
        -------
        QP
            Checked as a new one. It no longer says which machine it is the dual of.

        Raises
        ------
        UnknownOptionError
            No such part.
        DataError, DataTypeError
            As of a `QP`.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.QP(P=[[1.0]], q=[-3.0])
        >>> print(qpsvm.solve(qp.replace(ub=2.0)).x.round(6))
        [2.]
        """
        known = [field.name for field in dataclasses.fields(self) if field.name != "statement"]
        for name in parts:
            if name not in known:
                raise UnknownOptionError(f"a QP has no part {name!r}; {nearest(name, known)}")
        kept = {name: getattr(self, name) for name in known}
        if any(part in parts for part in ("G", "A", "h", "b")) and "constraints" not in parts:
            kept["constraints"] = {}
        if "P" in parts or "q" in parts:
            kept["formula"] = "½ xᵀPx + qᵀx"
        from qpsvm.program.qp import QP

        return QP(**{**kept, **parts})

    def with_rows(
        self: Any,
        G: ArrayLike | Matrix | None = None,
        h: ArrayLike | None = None,
        A: ArrayLike | Matrix | None = None,
        b: ArrayLike | None = None,
    ) -> QP:
        """The same QP with more rows, behind those that it has.

        Parameters
        ----------
        G, h : array_like or SciPy sparse, shape (k, n), and array_like, shape (k,), optional
            Inequalities Gx ≤ h.
        A, b : array_like or SciPy sparse, shape (k, n), and array_like, shape (k,), optional
            Equalities Ax = b.

        Returns
        -------
        QP
            Its new groups of rows are called "more G" and "more A".

        Raises
        ------
        DataError, DataTypeError
            Shapes that do not fit.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.QP(P=[[1.0, 0.0], [0.0, 1.0]], q=[-3.0, 0.0])
        >>> print(qpsvm.solve(qp.with_rows(A=[[1.0, 1.0]], b=[2.0])).x.round(6))
        [ 2.5 -0.5]
        """
        parts: dict[str, Any] = {}
        groups = dict(self.constraints)
        pairs: Any = (("G", G, "h", h, "≤"), ("A", A, "b", b, "="))
        for name, matrix, side_name, side, sign in pairs:
            if matrix is None and side is None:
                continue
            more = self.replace(**{"G": None, "h": None, "A": None, "b": None, name: matrix, side_name: side})
            new, sides = getattr(more, name), getattr(more, side_name)
            old, known = getattr(self, name), getattr(self, side_name)
            parts[name] = new if old is None else sp.vstack([sp.csr_array(old), sp.csr_array(new)], format="csc")
            parts[side_name] = sides if known is None else np.concatenate([known, sides])
            first, word = 0 if known is None else len(known), f"more {name}"
            while word in groups:
                word = f"{word}+"
            groups[word] = Rows(name, slice(first, first + len(sides)), f"{name}x {sign} {side_name}")
        return self.replace(**parts, constraints=groups)  # type: ignore[no-any-return]

    def to_qpsolvers(self: Any) -> Any:
        """The problem as the package qpsolvers has it.

        Returns
        -------
        qpsolvers.Problem
            Sparse where a matrix is sparse here. It has no constant r.

        Raises
        ------
        MissingExtraError
            qpsolvers is not installed.

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.QP(P=[[1.0]], q=[-3.0], ub=2.0).to_qpsolvers()  # doctest: +SKIP
        >>> print(problem.P, problem.ub)  # doctest: +SKIP
        [[1.]] [2.]
        """
        try:
            from qpsolvers import Problem
        except ImportError as error:
            raise MissingExtraError("to_qpsolvers needs qpsolvers; run: pip install qpsolvers") from error
        matrices = [None if M is None else sp.csc_matrix(M) if sp.issparse(M) else M for M in (self.G, self.A)]
        P = sp.csc_matrix(sp.diags_array(self.P.d)) if isinstance(self.P, Diagonal) else self.P.dense()
        return Problem(P, self.q, matrices[0], self.h, matrices[1], self.b, self.lb, self.ub)

    @classmethod
    def from_qpsolvers(cls, problem: Any) -> QP:
        """A problem of the package qpsolvers, or of anything with its attributes.

        Parameters
        ----------
        problem : qpsolvers.Problem
            With P, q, G, h, A, b, lb and ub, of which all but P and q may be None.

        Returns
        -------
        QP
            The same numbers.

        Raises
        ------
        ParameterTypeError
            It has no P or q.
        DataError
            As of a `QP`.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> import qpsvm
        >>> given = SimpleNamespace(P=[[1.0]], q=[-3.0], G=None, h=None, A=None, b=None, lb=None, ub=[2.0])
        >>> print(qpsvm.solve(qpsvm.QP.from_qpsolvers(given)).x.round(6))
        [2.]
        """
        if not hasattr(problem, "P") or not hasattr(problem, "q"):
            raise ParameterTypeError(f"a problem of qpsolvers has P and q; got {type(problem).__name__}")
        parts = {name: getattr(problem, name, None) for name in ("P", "q", "G", "h", "A", "b", "lb", "ub")}
        return cls(**parts)  # type: ignore[return-value]

    def save(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the QP into a file.

        Parameters
        ----------
        path : str or path-like
            Ends with .npz (all that a QP holds, to the last bit), or with .mps, .qps or .lp (by HiGHS: other software
            reads them; fifteen digits).

        Raises
        ------
        ParameterError
            Another ending.
        MissingExtraError
            highspy is not installed.
        FileAccessError
            It cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import qpsvm
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     qpsvm.QP(P=[[1.0]], q=[-3.0], ub=2.0).save(f"{folder}/small.npz")
        ...     print(qpsvm.solve(qpsvm.QP.load(f"{folder}/small.npz")).x.round(6))
        [2.]
        """
        if _ending(path) in OF_HIGHS:
            _write_model(self, path)
            return
        arrays: dict[str, Any] = {"r": np.float64(self.r)}
        sparse = {name: getattr(self, name) for name in MATRICES if getattr(self, name) is not None}
        P: Any = sp.diags_array(self.P.d) if isinstance(self.P, Diagonal) else self.P.dense()
        for name, matrix in {"P": P, **sparse}.items():
            if sp.issparse(matrix):
                coo = sp.coo_array(matrix)
                arrays |= {f"{name}.data": coo.data, f"{name}.row": coo.coords[0], f"{name}.column": coo.coords[1]}
                arrays[f"{name}.shape"] = np.array(coo.shape)
            else:
                arrays[name] = matrix
        arrays |= {name: np.asarray(getattr(self, name)) for name in VECTORS if getattr(self, name) is not None}
        words = {
            **{name: getattr(self, name) for name in TEXTS},
            "variables": {name: [part.start, part.stop] for name, part in self.variables.items()},
            "constraints": {k: [g.matrix, g.rows.start, g.rows.stop, g.formula] for k, g in self.constraints.items()},
        }
        with written(path) as file:
            np.savez_compressed(file, words=np.array(json.dumps(words)), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> QP:
        """Read a QP that `save`, or other software, wrote.

        Parameters
        ----------
        path : str or path-like
            Ends with .npz, .mps, .qps or .lp. Of the last three integers are refused, and a maximum is made a minimum
            of the opposite.

        Returns
        -------
        QP
            As it was saved.

        Raises
        ------
        FileAccessError
            It cannot be read.
        DataError
            It holds no QP.
        ParameterError
            Another ending.
        MissingExtraError
            highspy is not installed.

        Examples
        --------
        >>> import qpsvm
        >>> qpsvm.QP.load("absent.npz")
        Traceback (most recent call last):
        qpsvm.FileAccessError: ...absent.npz...
        """
        if _ending(path) in OF_HIGHS:
            return cls(**_read_model(path))  # type: ignore[return-value]
        try:
            with np.load(text_of(path), allow_pickle=False) as found:
                arrays = dict(found)
            words = json.loads(str(arrays.pop("words")))
            parts: dict[str, Any] = {name: words[name] for name in TEXTS}
            parts["variables"] = {name: slice(*span) for name, span in words["variables"].items()}
            groups = words["constraints"].items()
            parts["constraints"] = {name: Rows(M, slice(i, j), formula) for name, (M, i, j, formula) in groups}
            for name in ("P", *MATRICES):
                if f"{name}.data" in arrays:
                    places = arrays[f"{name}.row"], arrays[f"{name}.column"]
                    parts[name] = sp.csc_array((arrays[f"{name}.data"], places), shape=tuple(arrays[f"{name}.shape"]))
            parts |= {name: arrays[name] for name in ("P", *MATRICES, *VECTORS) if name in arrays}
            parts["r"] = float(arrays["r"])
        except OSError as error:
            raise FileAccessError(f"{path} cannot be read: {error}") from error
        except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is no file that `QP.save` wrote") from error
        return cls(**parts)  # type: ignore[return-value]


def _ending(path: str | os.PathLike[str]) -> str:
    """Of a file's name. Raises ParameterError."""
    ending = Path(text_of(path)).suffix.lower()
    if ending not in (".npz", *OF_HIGHS):
        raise ParameterError(f"a QP's file ends with .npz, {', '.join(OF_HIGHS)}; got {text_of(path)!r}")
    return ending


def _highs() -> tuple[Any, Any]:
    """The module, and a silent instance. Raises MissingExtraError."""
    try:
        import highspy
    except ImportError as error:
        raise MissingExtraError(".mps, .qps and .lp need highspy; run: pip install highspy") from error
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    return highspy, highs


def _write_model(qp: Any, path: str | os.PathLike[str]) -> None:
    """By HiGHS, beside the place where it belongs."""
    module, highs = _highs()
    model, (lb, ub) = module.HighsModel(), qp.bounds
    blocks = [sp.csc_array(M) for M in (qp.G, qp.A) if M is not None]
    rows = sp.csc_array(sp.vstack(blocks, format="csc") if blocks else sp.csc_array((0, qp.n)))
    m, p = (0 if side is None else len(side) for side in (qp.h, qp.b))
    sides = [np.zeros(0) if side is None else np.asarray(side) for side in (qp.h, qp.b)]
    lp = model.lp_
    lp.num_col_, lp.num_row_, lp.offset_ = qp.n, m + p, float(qp.r)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.array(qp.q), np.array(lb), np.array(ub)
    lp.row_lower_, lp.row_upper_ = np.concatenate([np.full(m, -np.inf), sides[1]]), np.concatenate(sides)
    lp.a_matrix_.format_ = module.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    lower = sp.csc_array(sp.tril(sp.diags_array(qp.P.d) if isinstance(qp.P, Diagonal) else qp.P.dense(), format="csc"))
    if lower.nnz:
        hessian = model.hessian_
        hessian.dim_, hessian.format_ = qp.n, module.HessianFormat.kTriangular
        hessian.start_, hessian.index_, hessian.value_ = lower.indptr, lower.indices, lower.data
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"model{'.mps' if _ending(path) == '.qps' else _ending(path)}"
        highs.passModel(model)
        highs.writeModel(str(draft))
        with written(path) as file:
            file.write(draft.read_bytes())


def _read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of a QP, by HiGHS. Raises FileAccessError, DataError."""
    module, highs = _highs()
    name = Path(text_of(path))
    try:
        content = name.read_bytes()
    except OSError as error:
        raise FileAccessError(f"{path} cannot be read: {error}") from error
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"model{'.mps' if name.suffix.lower() == '.qps' else name.suffix.lower()}"
        draft.write_bytes(content)
        if highs.readModel(str(draft)) == module.HighsStatus.kError:
            raise DataError(f"HiGHS reads no model in {path}")
    model = highs.getModel()
    lp, hessian, n = model.lp_, model.hessian_, model.lp_.num_col_
    if any(kind != module.HighsVarType.kContinuous for kind in lp.integrality_):
        raise DataError(f"{path} has integer variables: a QP has none")
    sign = -1.0 if lp.sense_ == module.ObjSense.kMaximize else 1.0
    order = (sp.csr_array, (lp.num_row_, n)) if lp.a_matrix_.format_ == module.MatrixFormat.kRowwise else (
        sp.csc_array, (lp.num_row_, n)
    )  # fmt: skip
    rows = sp.csr_array(order[0]((lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_), shape=order[1]))
    low, high = np.array(lp.row_lower_), np.array(lp.row_upper_)
    equal = np.flatnonzero(low == high)
    above, below = np.flatnonzero(np.isfinite(high) & (low != high)), np.flatnonzero(np.isfinite(low) & (low != high))
    P = sp.csc_array((n, n))
    if hessian.dim_:
        P = sp.csc_array((hessian.value_, hessian.index_, hessian.start_), shape=(n, n))
        if hessian.format_ == module.HessianFormat.kTriangular:
            P = P + sp.tril(P, -1).T
    parts: dict[str, Any] = {
        "P": sign * P, "q": sign * np.array(lp.col_cost_), "r": sign * lp.offset_, "title": lp.model_name_ or name.stem,
        "lb": np.array(lp.col_lower_), "ub": np.array(lp.col_upper_),
    }  # fmt: skip
    if len(above) + len(below):
        parts["G"] = sp.csc_array(sp.vstack([rows[above], -rows[below]], format="csc"))
        parts["h"] = np.concatenate([high[above], -low[below]])
    if len(equal):
        parts |= {"A": sp.csc_array(rows[equal]), "b": low[equal]}
    return parts
