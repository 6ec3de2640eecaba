"""Who solves a large table: each opens it in its own way, and says what it has measured. A process each (`apart`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import qpsvm
from benchmarks.large.cluster import on_cluster
from benchmarks.large.data import Table
from benchmarks.large.passes import Passes, counted
from benchmarks.large.spark import minimised
from benchmarks.large.weigh import read_from_disk, weighed
from qpsvm.base.arrays.types import FloatArray
from qpsvm.data.rows import as_row_source

#: The gap that is asked for.
TOL = 1e-6
#: And for the lower bound of whoever has none.
BOUND_TOL = 1e-7
#: Bytes of a file that are read at a time.
READ_BYTES = 2**24
#: Rows of the machine that is solved before the clock is started, so that everything is imported.
WARM_ROWS = 2000


def in_memory(table: Table, C: float) -> dict[str, Any]:
    """An array that is there when the clock starts."""
    X, y = loaded(table)
    return _solved(lambda: (X, y), C)


def memory_map(table: Table, C: float) -> dict[str, Any]:
    """A .npy file that the system has in its page cache when the clock starts, as far as there is room."""
    _read(table.rows)
    return _solved(lambda: _mapped(table), C)


def cold_map(table: Table, C: float) -> dict[str, Any]:
    """A .npy file of which the system has nothing in its page cache."""
    with table.rows.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return _solved(lambda: _mapped(table), C)


def parquet(table: Table, C: float) -> dict[str, Any]:
    """A Parquet file in the page cache, decoded into a scratch file in the folder of the tables."""
    _read(table.parquet)

    def opened() -> Any:
        rows = qpsvm.open_rows(table.parquet, target="y", scratch=table.folder)
        return rows, rows.target

    return _solved(opened, C)


def text(table: Table, C: float) -> dict[str, Any]:
    """A LIBSVM file, read once into scratch files in the folder of the tables."""

    def opened() -> Any:
        rows = qpsvm.open_rows(table.text, scratch=table.folder)
        return rows, rows.target

    return _solved(opened, C)


def workers(table: Table, C: float) -> dict[str, Any]:
    """Two workers of one thread each, which hold the rows when the clock starts."""
    return on_cluster(table, C, TOL)


def spark(table: Table, C: float) -> dict[str, Any]:
    """Spark's minimiser over an array that is there when the clock starts."""
    X, y = loaded(table)
    rows = as_row_source(X)
    with weighed() as peak:
        start = time.perf_counter()
        found = minimised(rows, y, C)
        seconds = time.perf_counter() - start
    short = np.maximum(0.0, 1.0 - y * (rows.margins(found.w) + found.b))
    value = 0.5 * float(found.w @ found.w) + C * float(short.sum())
    bound = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=BOUND_TOL, check=False).dual
    return {
        "seconds": seconds, "memory": peak.bytes, "gap": (value - bound) / max(abs(value), abs(bound)),
        "bound": "known", "iterations": found.iterations, "passes": found.passes, "said": found.words,
    }  # fmt: skip


ENTRANTS: dict[str, Callable[[Table, float], dict[str, Any]]] = {
    "memory": in_memory, "map": memory_map, "cold": cold_map, "parquet": parquet, "text": text, "cluster": workers,
    "spark": spark,
}  # fmt: skip


def _mapped(table: Table) -> Any:
    rows = qpsvm.open_rows(table.rows, target=str(table.target))
    return rows, rows.target


def _read(path: Path) -> None:
    """Once from its beginning to its end, and away with it."""
    with path.open("rb", buffering=0) as file:
        part = bytearray(READ_BYTES)
        while file.readinto(part):
            pass


def loaded(table: Table) -> tuple[Any, FloatArray]:
    """X (n, d) and y (n,) in memory, as float64."""
    if table.kind == "text":
        rows = qpsvm.open_rows(table.text, scratch=table.folder)
        assert rows.target is not None
        return rows.matrix(), np.asarray(rows.target, dtype=np.float64)
    return np.load(table.rows).astype(np.float64, copy=False), np.load(table.target).astype(np.float64)


def _solved(opened: Callable[[], tuple[Any, Any]], C: float) -> dict[str, Any]:
    """Open and solve: what was measured."""
    warm_up()
    disk = read_from_disk()
    with weighed() as peak:
        start = time.perf_counter()
        X, y = opened()
        opening = time.perf_counter() - start
        passes = None if isinstance(X, np.ndarray) or not hasattr(X, "blocks") else counted(X)
        result = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=TOL, check=False)
        seconds = time.perf_counter() - start
    return {
        "seconds": seconds, "opening": opening, "memory": peak.bytes, "disk": read_from_disk() - disk,
        **facts_of(result), **_passes(passes),
    }  # fmt: skip


def facts_of(result: Any) -> dict[str, Any]:
    """What the record keeps of a result."""
    return {
        "gap": float(result.gap), "bound": "own", "said": str(result.status), "iterations": result.iterations,
        "engine": result.backend, "free": int(np.count_nonzero(result.kind == 1)),
    }  # fmt: skip


def _passes(passes: Passes | None) -> dict[str, Any]:
    return {} if passes is None else {"passes": passes.whole, "gathers": passes.gathered, "gathered": passes.rows}


def warm_up() -> None:
    """A small machine of the same kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((WARM_ROWS, 3))
    qpsvm.solve(qpsvm.CSVM(X, np.where(X[:, 0] + rng.standard_normal(WARM_ROWS) > 0, 1, -1)), check=False)
