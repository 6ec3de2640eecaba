"""Who solves a large table: each opens it in its own way, and says what it has measured. A process each (`apart`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import qpsvm
from benchmarks.large.cluster import solve_on_cluster
from benchmarks.large.data import LargeTable
from benchmarks.large.passes import Passes, count_passes
from benchmarks.large.spark import minimise_hinge
from benchmarks.large.weigh import read_from_disk, sample_memory
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


def solve_in_memory(table: LargeTable, C: float) -> dict[str, Any]:
    """An array that is there when the clock starts."""
    X, y = load_table(table)
    return _measure_solve(lambda: (X, y), C)


def solve_memory_map(table: LargeTable, C: float) -> dict[str, Any]:
    """A .npy file that the system has in its page cache when the clock starts, as far as there is room."""
    _fill_page_cache(table.rows_path)
    return _measure_solve(lambda: _open_map(table), C)


def solve_cold_map(table: LargeTable, C: float) -> dict[str, Any]:
    """A .npy file of which the system has nothing in its page cache."""
    with table.rows_path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return _measure_solve(lambda: _open_map(table), C)


def solve_parquet(table: LargeTable, C: float) -> dict[str, Any]:
    """A Parquet file in the page cache, decoded into a scratch file in the folder of the tables."""
    _fill_page_cache(table.parquet_path)

    def open_parquet() -> Any:
        rows = qpsvm.open_rows(table.parquet_path, target="y", scratch=table.folder)
        return rows, rows.target

    return _measure_solve(open_parquet, C)


def solve_text(table: LargeTable, C: float) -> dict[str, Any]:
    """A LIBSVM file, read once into scratch files in the folder of the tables."""

    def open_text() -> Any:
        rows = qpsvm.open_rows(table.text_path, scratch=table.folder)
        return rows, rows.target

    return _measure_solve(open_text, C)


def solve_on_workers(table: LargeTable, C: float) -> dict[str, Any]:
    """Two workers of one thread each, which hold the rows when the clock starts."""
    return solve_on_cluster(table, C, TOL)


def solve_with_spark(table: LargeTable, C: float) -> dict[str, Any]:
    """Spark's minimiser over an array that is there when the clock starts."""
    X, y = load_table(table)
    rows = as_row_source(X)
    with sample_memory() as peak:
        start = time.perf_counter()
        found = minimise_hinge(rows, y, C)
        seconds = time.perf_counter() - start
    short = np.maximum(0.0, 1.0 - y * (rows.margins(found.w) + found.b))
    value = 0.5 * float(found.w @ found.w) + C * float(short.sum())
    bound = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=BOUND_TOL, check=False).dual
    return {
        "seconds": seconds, "memory": peak.bytes, "gap": (value - bound) / max(abs(value), abs(bound)),
        "bound": "known", "iterations": found.iterations, "passes": found.passes, "said": found.stop_reason,
    }  # fmt: skip


ENTRANTS: dict[str, Callable[[LargeTable, float], dict[str, Any]]] = {
    "memory": solve_in_memory,
    "map": solve_memory_map,
    "cold": solve_cold_map,
    "parquet": solve_parquet,
    "text": solve_text,
    "cluster": solve_on_workers,
    "spark": solve_with_spark,
}


def _open_map(table: LargeTable) -> Any:
    rows = qpsvm.open_rows(table.rows_path, target=str(table.target_path))
    return rows, rows.target


def _fill_page_cache(path: Path) -> None:
    """Once from its beginning to its end, and away with it."""
    with path.open("rb", buffering=0) as file:
        part = bytearray(READ_BYTES)
        while file.readinto(part):
            pass


def load_table(table: LargeTable) -> tuple[Any, FloatArray]:
    """X (n, d) and y (n,) in memory, as float64."""
    if table.kind == "text":
        rows = qpsvm.open_rows(table.text_path, scratch=table.folder)
        assert rows.target is not None
        return rows.matrix(), np.asarray(rows.target, dtype=np.float64)
    return np.load(table.rows_path).astype(np.float64, copy=False), np.load(table.target_path).astype(np.float64)


def _measure_solve(opened: Callable[[], tuple[Any, Any]], C: float) -> dict[str, Any]:
    """Open and solve: what was measured."""
    warm_up()
    disk = read_from_disk()
    with sample_memory() as peak:
        start = time.perf_counter()
        X, y = opened()
        opening = time.perf_counter() - start
        if isinstance(X, np.ndarray) or not hasattr(X, "blocks"):
            passes = None
        else:
            passes = count_passes(X)
        result = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=TOL, check=False)
        seconds = time.perf_counter() - start
    return {
        "seconds": seconds, "opening": opening, "memory": peak.bytes, "disk": read_from_disk() - disk,
        **collect_facts(result), **_describe_passes(passes),
    }  # fmt: skip


def collect_facts(result: Any) -> dict[str, Any]:
    """Collect the facts of a result that are recorded."""
    return {
        "gap": float(result.gap), "bound": "own", "said": str(result.status), "iterations": result.iterations,
        "engine": result.backend, "free": int(np.count_nonzero(result.kind == 1)),
    }  # fmt: skip


def _describe_passes(passes: Passes | None) -> dict[str, Any]:
    if passes is None:
        return {}
    return {"passes": passes.full_reads, "gathers": passes.partial_reads, "gathered": passes.rows_read}


def warm_up() -> None:
    """A small machine of the same kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((WARM_ROWS, 3))
    qpsvm.solve(qpsvm.CSVM(X, np.where(X[:, 0] + rng.standard_normal(WARM_ROWS) > 0, 1, -1)), check=False)
