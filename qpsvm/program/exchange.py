"""Save, load and convert a QP, and build changed copies of it (`Exchange`)."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any, BinaryIO, Generic, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from qpsvm.base.arrays.types import Matrix
from qpsvm.base.atomic_files import as_path_text, open_output
from qpsvm.base.damaged_files import DAMAGE
from qpsvm.base.errors import (
    FileAccessError,
    FileFormatError,
    MissingExtraError,
    ParameterTypeError,
    TooLargeError,
    UnknownOptionError,
    describe_nearest,
)
from qpsvm.program.parts import Rows
from qpsvm.space.operators import Diagonal, Operator

R = TypeVar("R")
#: The parts of a QP, besides P and r, that are stored in a file as matrices, vectors and texts.
MATRICES, VECTORS, TEXTS = ("G", "A"), ("q", "h", "b", "lb", "ub"), ("formula", "title")


class Solvable(Generic[R]):
    """Base of the arguments of `solve`, with results of type R."""


class Exchange(Solvable[Any]):
    """Base of `QP`: changed copies, and conversions to and from files and other libraries."""

    def replace(self, **parts: Any) -> Self:
        """Return the same QP with other parts.

        Parameters
        ----------
        **parts
            Attributes of the QP by name: P, q, r, G, h, A, b, lb, ub, variables, constraints, formula, title.

        Returns
        -------
        QP
            Checked like a new one. It has no `statement` of a machine.

        Raises
        ------
        UnknownOptionError
            No such part.
        DataError, DataTypeError
            As for `QP`.

        Examples
        --------
        >>> import qpsvm
        >>> qp = qpsvm.QP(P=[[1.0]], q=[-3.0])
        >>> print(qpsvm.solve(qp.replace(ub=2.0)).x.round(6))
        [2.]
        """
        qp: Any = self
        part_names = [field.name for field in dataclasses.fields(qp) if field.name != "statement"]
        for name in parts:
            if name not in part_names:
                raise UnknownOptionError(f"a QP has no part {name!r}; {describe_nearest(name, part_names)}")
        values = {name: getattr(self, name) for name in part_names}
        if any(part in parts for part in ("G", "A", "h", "b")) and "constraints" not in parts:
            values["constraints"] = {}
        if "P" in parts or "q" in parts:
            values["formula"] = "½ xᵀPx + qᵀx"
        return type(self)(**{**values, **parts})

    def with_rows(
        self,
        G: ArrayLike | Matrix | None = None,
        h: ArrayLike | None = None,
        A: ArrayLike | Matrix | None = None,
        b: ArrayLike | None = None,
    ) -> Self:
        """Return the same QP with additional rows after the existing ones.

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
        qp: Any = self
        groups = dict(qp.constraints)
        pairs: Any = (("G", G, "h", h, "≤"), ("A", A, "b", b, "="))
        for name, matrix, rhs_name, rhs, sign in pairs:
            if matrix is None and rhs is None:
                continue
            # the constructor checks the new rows, in a QP without others
            added = self.replace(**{"G": None, "h": None, "A": None, "b": None, name: matrix, rhs_name: rhs})
            new, new_rhs = getattr(added, name), getattr(added, rhs_name)
            old, old_rhs = getattr(self, name), getattr(self, rhs_name)
            if old is None:
                parts[name] = new
            else:
                parts[name] = sp.vstack([sp.csr_array(old), sp.csr_array(new)], format="csc")
            if old_rhs is None:
                parts[rhs_name] = new_rhs
            else:
                parts[rhs_name] = np.concatenate([old_rhs, new_rhs])
            first = 0 if old_rhs is None else len(old_rhs)
            group_name = f"more {name}"
            while group_name in groups:
                group_name = f"{group_name}+"
            groups[group_name] = Rows(name, slice(first, first + len(new_rhs)), f"{name}x {sign} {rhs_name}")
        return self.replace(**parts, constraints=groups)

    def to_qpsolvers(self: Any) -> Any:
        """Return the problem as an object of the package qpsolvers.

        Returns
        -------
        qpsolvers.Problem
            With the same sparse or dense matrices, but without the constant r.

        Raises
        ------
        MissingExtraError
            qpsolvers is not installed.

        Examples
        --------
        >>> import sys, unittest.mock
        >>> import qpsvm
        >>> with unittest.mock.patch.dict(sys.modules, {"qpsolvers": None}):  # as if it were absent
        ...     qpsvm.QP(P=[[1.0]], q=[-3.0], ub=2.0).to_qpsolvers()
        Traceback (most recent call last):
        qpsvm.MissingExtraError: to_qpsolvers needs qpsolvers; run: pip install qpsolvers
        """
        try:
            from qpsolvers import Problem
        except ImportError as error:
            raise MissingExtraError("to_qpsolvers needs qpsolvers; run: pip install qpsolvers") from error
        matrices = (_as_matrix(self.P), self.G, self.A)
        P, G, A = (sp.csc_matrix(matrix) if sp.issparse(matrix) else matrix for matrix in matrices)
        return Problem(P, self.q, G, self.h, A, self.b, self.lb, self.ub)

    @classmethod
    def from_qpsolvers(cls, problem: Any) -> Self:
        """Build a QP from a problem of the package qpsolvers, or any object with its attributes.

        Parameters
        ----------
        problem : qpsolvers.Problem
            With P, q, G, h, A, b, lb and ub, of which all but P and q may be None.

        Returns
        -------
        QP
            With the same numbers.

        Raises
        ------
        ParameterTypeError
            The problem has no P or q.
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
        return cls(**parts)

    def save(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the QP into a file.

        Parameters
        ----------
        path : str or path-like
            Path of an .npz file, which stores the QP exactly. `write_model` writes MPS and LP files.

        Raises
        ------
        FileAccessError
            The file cannot be written.

        See Also
        --------
        qpsvm.write_model : Writes files for other software.

        Examples
        --------
        >>> import tempfile
        >>> import qpsvm
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     qpsvm.QP(P=[[1.0]], q=[-3.0], ub=2.0).save(f"{folder}/small.npz")
        ...     print(qpsvm.solve(qpsvm.QP.load(f"{folder}/small.npz")).x.round(6))
        [2.]
        """
        arrays: dict[str, Any] = {"r": np.float64(self.r)}
        rows = {name: getattr(self, name) for name in MATRICES if getattr(self, name) is not None}
        for name, matrix in {"P": _as_matrix(self.P), **rows}.items():
            if sp.issparse(matrix):
                coo = sp.coo_array(matrix)
                arrays |= {f"{name}.data": coo.data, f"{name}.row": coo.coords[0], f"{name}.column": coo.coords[1]}
                arrays[f"{name}.shape"] = np.array(coo.shape)
            else:
                arrays[name] = matrix
        arrays |= {name: np.asarray(getattr(self, name)) for name in VECTORS if getattr(self, name) is not None}
        texts = {
            **{name: getattr(self, name) for name in TEXTS},
            "variables": {name: [part.start, part.stop] for name, part in self.variables.items()},
            "constraints": {k: [g.matrix, g.rows.start, g.rows.stop, g.formula] for k, g in self.constraints.items()},
        }
        with open_output(path) as file:
            np.savez_compressed(file, words=np.array(json.dumps(texts)), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a QP that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            Path of an .npz file. `read_model` reads MPS and LP files.

        Returns
        -------
        QP
            The saved QP.

        Raises
        ------
        FileAccessError
            The file cannot be read.
        FileFormatError
            The file contains no QP, or is damaged.
        TooLargeError
            The QP does not fit into memory.

        Examples
        --------
        >>> import qpsvm
        >>> qpsvm.QP.load("absent.npz")
        Traceback (most recent call last):
        qpsvm.FileAccessError: ...absent.npz...
        """
        name = as_path_text(path)
        try:
            with Path(name).open("rb") as file:
                try:
                    return cls(**_read_parts(file))
                except MemoryError as error:
                    raise TooLargeError(f"{name} holds a QP that does not fit into this machine's memory") from error
                except DAMAGE as error:
                    reason = " ".join(str(error).split()) or type(error).__name__
                    message = f"{name} is no file that `QP.save` wrote, or it is damaged: {reason}"
                    raise FileFormatError(message) from error
        except OSError as error:
            raise FileAccessError(f"{name} cannot be read: {error}") from error


def _as_matrix(P: Operator) -> Any:
    """Return P as a sparse diagonal or a dense matrix."""
    return sp.diags_array(P.d) if isinstance(P, Diagonal) else P.dense()


def _read_parts(file: BinaryIO) -> dict[str, Any]:
    """Read the arguments of a `QP` from an open .npz file; a damaged one may raise any of `DAMAGE`."""
    with np.load(file, allow_pickle=False) as file_arrays:
        arrays = dict(file_arrays)
    text = arrays.pop("words")
    if text.dtype.kind != "U" or text.shape:
        raise ValueError("its words are no text")
    # a damaged text may contain code points beyond Unicode, which decoding replaces
    native = text.astype(text.dtype.newbyteorder("="))
    texts = json.loads(native.tobytes().decode("utf-32", "replace").rstrip("\0"))
    parts: dict[str, Any] = {name: texts[name] for name in TEXTS}
    parts["variables"] = {name: slice(*span) for name, span in texts["variables"].items()}
    groups = texts["constraints"].items()
    parts["constraints"] = {name: Rows(M, slice(i, j), formula) for name, (M, i, j, formula) in groups}
    for name in ("P", *MATRICES):
        if f"{name}.data" in arrays:
            coordinates = arrays[f"{name}.row"], arrays[f"{name}.column"]
            parts[name] = sp.csc_array((arrays[f"{name}.data"], coordinates), shape=tuple(arrays[f"{name}.shape"]))
    parts |= {name: arrays[name] for name in ("P", *MATRICES, *VECTORS) if name in arrays}
    return {**parts, "r": float(arrays["r"])}
