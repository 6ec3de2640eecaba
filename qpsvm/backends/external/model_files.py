"""Read and write MPS and LP files, by HiGHS (Huangfu & Hall 2018): `read_model`, `write_model`."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.external.mps_lines import HIGHS_OBJECTIVE, normalise_lines
from qpsvm.base.atomic_files import as_path_text, open_output
from qpsvm.base.errors import (
    DataError,
    FileAccessError,
    FileFormatError,
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
    QPSVMWarning,
    UnsupportedError,
)
from qpsvm.base.resources.captured_output import capture_output
from qpsvm.base.resources.messages import LOGGER
from qpsvm.program.qp import QP
from qpsvm.space.operators import Diagonal

#: Extensions of the files that HiGHS reads and writes.
EXTENSIONS = (".mps", ".qps", ".lp")
#: Coefficients up to this size are 0 to HiGHS; by default those up to 1e-9 are.
SMALLEST = 1e-12
#: Bounds and right-hand sides from this size on are infinite to HiGHS and to other software.
INFINITY = 1e20
#: HiGHS's message about coefficients that it drops, with the largest of them.
DROPPED = re.compile(r"\|value\| in \[\S+, (\S+)\] at/below tolerance of \S+: ignored")


def _check_extension(path: str | os.PathLike[str]) -> str:
    """Check a file name's extension; return it as HiGHS knows it. Raises ParameterError."""
    extension = Path(as_path_text(path)).suffix.lower()
    if extension not in EXTENSIONS:
        raise ParameterError(f"the file of a model ends with {', '.join(EXTENSIONS)}; got {as_path_text(path)!r}")
    return ".mps" if extension == ".qps" else extension


def _load_highs() -> tuple[Any, Any]:
    """Import HiGHS; return its module and a silent instance. Raises MissingExtraError."""
    try:
        import highspy
    except ImportError as error:
        raise MissingExtraError(".mps, .qps and .lp need highspy; run: pip install highspy") from error
    with capture_output("HiGHS", descriptors=True):  # the first instance in a process prints a banner
        highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (
        ("output_flag", False),
        ("small_matrix_value", SMALLEST),
        ("large_matrix_value", np.inf),
        ("infinite_cost", np.inf),
    ):
        highs.setOptionValue(name, value)
    return highspy, highs


def write_model(qp: QP, path: str | os.PathLike[str]) -> None:
    """Write a QP into a file that other software reads.

    Parameters
    ----------
    qp : QP
        Any QP. Numbers are written with fifteen digits, and coefficients up to 1e-12 as 0, with a `QPSVMWarning`;
        `QP.save` is exact.
    path : str or path-like
        Ends with .mps, .qps or .lp.

    Raises
    ------
    ParameterError, ParameterTypeError
        The path has another extension, or `qp` is not a QP.
    UnsupportedError
        A bound or right-hand side of at least 1e20, which readers take for infinite.
    MissingExtraError
        highspy is not installed.
    FileAccessError
        The file cannot be written.

    See Also
    --------
    read_model : Read such a file.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.write_model(qpsvm.QP(P=[[1.0]], q=[-3.0], ub=2.0), "small.txt")
    Traceback (most recent call last):
    qpsvm.ParameterError: the file of a model ends with .mps, .qps, .lp; got 'small.txt'
    """
    if not isinstance(qp, QP):
        raise ParameterTypeError(f"write_model takes a QP, such as problem.qp(), got {type(qp).__name__}")
    extension = _check_extension(path)
    module, highs = _load_highs()
    model = module.HighsModel()
    lb, ub = qp.bounds
    matrices = [sp.csc_array(M) for M in (qp.G, qp.A) if M is not None]
    rows = sp.csc_array(sp.vstack(matrices, format="csc") if matrices else sp.csc_array((0, qp.n)))
    h, b = (np.zeros(0) if rhs is None else np.asarray(rhs) for rhs in (qp.h, qp.b))
    lp = model.lp_
    lp.num_col_ = qp.n
    lp.num_row_ = len(h) + len(b)
    lp.offset_ = float(qp.r)
    lp.col_cost_ = np.array(qp.q)
    lp.col_lower_ = np.array(lb)
    lp.col_upper_ = np.array(ub)
    lp.row_lower_ = np.concatenate([np.full(len(h), -np.inf), b])
    lp.row_upper_ = np.concatenate([h, b])
    lp.a_matrix_.format_ = module.MatrixFormat.kColwise
    lp.a_matrix_.start_ = rows.indptr
    lp.a_matrix_.index_ = rows.indices
    lp.a_matrix_.value_ = rows.data
    lower: Any = sp.csc_array(
        sp.tril(sp.diags_array(qp.P.d) if isinstance(qp.P, Diagonal) else qp.P.dense(), format="csc")
    )
    coefficients = np.abs(np.concatenate([rows.data, lower.data]))
    _warn_of_dropped("the QP", float(coefficients.max(where=coefficients <= SMALLEST, initial=0.0)))
    for name, limits in (("lb", lb), ("ub", ub), ("h", h), ("b", b)):
        _check_limits(name, np.asarray(limits))
    if lower.nnz:
        hessian = model.hessian_
        hessian.dim_ = qp.n
        hessian.format_ = module.HessianFormat.kTriangular
        hessian.start_ = lower.indptr
        hessian.index_ = lower.indices
        hessian.value_ = lower.data
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"model{extension}"
        if module.HighsStatus.kError in (highs.passModel(model), highs.writeModel(str(draft))):
            raise UnsupportedError(f"HiGHS does not write this QP to {as_path_text(path)}: use QP.save")
        with open_output(path) as file:
            complete = _complete_columns if extension == ".mps" else _complete_objective
            file.write(complete(draft.read_text("utf-8"), qp.n).encode())


def _warn_of_dropped(where: str, largest: float) -> None:
    """Warn the caller of a public function that HiGHS drops coefficients, if it does."""
    if largest > 0.0:
        message = (
            f"{where} has coefficients up to {largest:g} that HiGHS takes for 0, as all up to {SMALLEST:g}: scale "
            f"their rows or the objective, if they matter; QP.save is exact"
        )
        warnings.warn(message, QPSVMWarning, stacklevel=3)


def _check_limits(name: str, values: Any) -> None:
    """Check that bounds and right-hand sides are not read as infinite ones. Raises UnsupportedError."""
    large = values[np.isfinite(values) & (np.abs(values) >= INFINITY)]
    if len(large):
        raise UnsupportedError(
            f"{name} has an entry of {large[0]:g}, and readers of the file take numbers from {INFINITY:g} on for "
            f"infinite: make it infinite, or scale the problem, or use QP.save, which is exact"
        )


def _complete_columns(text: str, n: int) -> str:
    """Insert the variables that HiGHS omits from the section COLUMNS, which readers would otherwise number last."""
    lines = text.splitlines()
    start = lines.index("COLUMNS") + 1
    end = next(k for k in range(start, len(lines)) if not lines[k].startswith(" "))  # the next section
    column_lines: dict[str, list[str]] = {f"c{j}": [] for j in range(n)}  # by HiGHS's names of the variables
    for line in lines[start:end]:
        column_lines[line.split()[0]].append(line)
    columns = (column_lines[name] or [f"    {name}  {HIGHS_OBJECTIVE}  0"] for name in column_lines)
    return "\n".join([*lines[:start], *(line for column in columns for line in column), *lines[end:], ""])


def _complete_objective(text: str, n: int) -> str:
    """Add all variables to the objective of an LP file, as a reader numbers them in the order of their appearance."""
    return text.replace(" obj:", "\n".join([" obj:", *(f"  +0 c{j}" for j in range(n))]), 1)


def _read_by_highs(highs: Any, draft: Path, content: bytes) -> tuple[Any, str]:
    """Let HiGHS read a file with this content; return its status and its log, which it writes to a file."""
    draft.write_bytes(content)
    log = draft.with_name("log")
    for name, value in (("log_to_console", False), ("log_file", str(log)), ("output_flag", True)):
        highs.setOptionValue(name, value)
    try:
        status = highs.readModel(str(draft))
    finally:
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("log_file", "")  # closes the file
    log_text = log.read_text("utf-8", "replace") if log.exists() else ""
    return status, log_text.replace(str(draft), "the file")


def _find_reason(log: str) -> str:
    """Return the errors in HiGHS's log, with the line that they are about."""
    lines = [line.strip() for line in log.splitlines()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    reasons = [error for error in errors if not error.startswith("Parser error")]
    position = re.search(r"--> the file:(\d+):(\d+)", log)
    where = f"line {position[1]}, character {position[2]}: " if position else ""
    return where + ("; ".join(reasons) or "it does not say why")


def read_model(path: str | os.PathLike[str]) -> QP:
    """Read a linear or convex quadratic program that other software wrote.

    Parameters
    ----------
    path : str or path-like
        Ends with .mps, .qps or .lp.

    Returns
    -------
    QP
        A maximisation becomes the minimisation of the negative objective; a row with two bounds becomes two rows. HiGHS
        takes coefficients up to 1e-12 for 0, of which a `QPSVMWarning` tells, and bounds from 1e20 on for infinite.

    Raises
    ------
    FileAccessError
        The file cannot be read.
    FileFormatError
        The file contains no valid model, or integer variables; the message names the line of a syntax error.
    ParameterError
        The path has another extension.
    MissingExtraError
        highspy is not installed.

    See Also
    --------
    write_model : Write such a file.
    solve : Solve it and certify the result.

    Examples
    --------
    >>> import qpsvm
    >>> qpsvm.read_model("small.txt")
    Traceback (most recent call last):
    qpsvm.ParameterError: the file of a model ends with .mps, .qps, .lp; got 'small.txt'
    """
    extension = _check_extension(path)
    module, highs = _load_highs()
    file = Path(as_path_text(path))
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FileAccessError(f"{path} cannot be read: {error}") from error
    if extension == ".mps":
        content = normalise_lines(content.decode("utf-8", "replace"), str(file)).encode()
    with tempfile.TemporaryDirectory() as folder:
        status, log = _read_by_highs(highs, Path(folder) / f"model{extension}", content)
    LOGGER.debug("HiGHS reads %s: %s", file, log)
    if status == module.HighsStatus.kError:
        raise FileFormatError(f"HiGHS reads no model in {file}: {_find_reason(log)}")
    _warn_of_dropped(str(file), max(map(float, DROPPED.findall(log)), default=0.0))
    if "fixed format parser" in log:  # it suspected blanks within names, and changed the format
        raise FileFormatError(f"{file} has names that HiGHS takes for the fixed format of MPS; use other names")
    model = highs.getModel()
    lp = model.lp_
    hessian = model.hessian_
    n = model.lp_.num_col_
    if any(kind != module.HighsVarType.kContinuous for kind in lp.integrality_):
        raise FileFormatError(f"{file} has integer variables: a QP has none")
    unbalanced = [name for name in lp.col_names_ if name.count("(") != name.count(")")]
    if unbalanced:  # 2 (x + y) would be read as two variables
        raise FileFormatError(
            f"{file} has a parenthesis in {unbalanced[0]!r}: expressions of a model file have none; write 2 x + 2 y"
        )
    sign = -1.0 if lp.sense_ == module.ObjSense.kMaximize else 1.0
    is_rowwise = lp.a_matrix_.format_ == module.MatrixFormat.kRowwise
    arrays = lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_
    rows = sp.csr_array((sp.csr_array if is_rowwise else sp.csc_array)(arrays, shape=(lp.num_row_, n)))
    low, high = np.array(lp.row_lower_), np.array(lp.row_upper_)
    equalities = np.flatnonzero(low == high)
    upper_bounded = np.flatnonzero(np.isfinite(high) & (low != high))
    lower_bounded = np.flatnonzero(np.isfinite(low) & (low != high))
    P = sp.csc_array((n, n))
    if hessian.dim_:
        P = sp.csc_array((hessian.value_, hessian.index_, hessian.start_), shape=(n, n))
        if hessian.format_ == module.HessianFormat.kTriangular:
            P = P + sp.tril(P, -1).T
    parts: dict[str, Any] = {
        "P": sign * P, "q": sign * np.array(lp.col_cost_), "r": sign * lp.offset_, "title": lp.model_name_ or file.stem,
        "lb": np.array(lp.col_lower_), "ub": np.array(lp.col_upper_),
    }  # fmt: skip
    if len(upper_bounded) + len(lower_bounded):
        parts["G"] = sp.csc_array(sp.vstack([rows[upper_bounded], -rows[lower_bounded]], format="csc"))
        parts["h"] = np.concatenate([high[upper_bounded], -low[lower_bounded]])
    if len(equalities):
        parts |= {"A": sp.csc_array(rows[equalities]), "b": low[equalities]}
    try:
        return QP(**parts)
    except DataError as error:  # crossing bounds, or numbers that are not finite
        raise FileFormatError(f"{file} holds no QP: {error}") from error
