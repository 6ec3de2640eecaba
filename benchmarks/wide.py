"""Suites that ask for more than one machine in one thread: what users wait by default, and whole grids."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kinds import GeneratedTable
from benchmarks.samples import Clouds, LibsvmFile, Moons, Source
from benchmarks.suite import Suite
from benchmarks.summary import OURS
from benchmarks.tasks import Grid, Task
from benchmarks.threads import ALL

#: Name, source, rows, kernel, C.
Wide = tuple[str, Source, int, str, float]
#: Real tables for default threads: name, rows, C.
FILES = (("satimage.xz", 6435, 10.0), ("usps.xz", 7291, 1.0), ("phishing.xz", 11_055, 1.0), ("letter.xz", 20_000, 1.0))

#: And for grids: name, rows.
GRID_FILES = (("australian", 690), ("splice", 1000))


def build_threads_suite(data: Path, quick: bool) -> Suite:
    """(0) By the clock on the wall: with as many threads as everybody gets who sets nothing, and with one."""
    found: list[Wide] = [("clouds", Clouds(300, 10), 300, "rbf", 1.0)]
    if not quick:
        found = [
            ("clouds", Clouds(5000, 24), 5000, "rbf", 1.0),
            ("clouds", Clouds(20_000, 24), 20_000, "rbf", 1.0),
            ("unbalanced", GeneratedTable("unbalanced", 8000, 15, 7), 8000, "rbf", 10.0),
            *_list_files(data),
            ("clouds", Clouds(1_000_000, 34), 1_000_000, "linear", 1.0),
        ]
    tasks = []
    for name, source, n, kernel, C in found:
        facts = {"data": name, "n": n, "C": C, "variant": "c", "kernel": kernel}
        title = f"{name}, {n} rows, {kernel}, C = {C:g}"
        tasks.append(Task(title, source, facts, C=C, kernel=kernel, gamma="scale"))  # type: ignore[arg-type]
    return Suite(
        "threads", "C-SVMs by the clock on the wall, default threads beside one thread.",
        tuple(tasks), (OURS, f"{OURS}{ALL}", f"SVC{ALL}", "sklearnex SVC", f"sklearnex SVC{ALL}"),
        goal=1e-6, seconds=12.0, budget=6.0, clock="wall",
        most_rows=dict.fromkeys((f"SVC{ALL}", "sklearnex SVC", f"sklearnex SVC{ALL}"), 20_000),
        files=() if quick else tuple(name for name, _, _ in FILES),
    )  # fmt: skip


def _list_files(data: Path) -> list[Wide]:
    """Real tables, standardised, where they are."""
    return [
        (name.removesuffix(".xz"), LibsvmFile(data / name, "standardised"), n, "rbf", C)
        for name, n, C in FILES
        if (data / name).exists()
    ]


def build_grids_suite(data: Path, quick: bool) -> Suite:
    """(h) Cross-validation over many C: every machine of it."""
    penalties = tuple(float(C) for C in np.logspace(1, -1, 3) if quick) or tuple(map(float, np.logspace(2, -2, 50)))
    tables: list[tuple[str, Source, int]] = [("moons", Moons(60 if quick else 500), 60 if quick else 500)]
    if not quick:
        tables += [
            (name, LibsvmFile(data / name, "standardised"), n) for name, n in GRID_FILES if (data / name).exists()
        ]
    tasks = []
    for name, source, n in tables:
        grid = Grid(penalties)
        facts = {"data": name, "n": n, "penalties": len(penalties), "folds": grid.folds, "kernel": "rbf"}
        title = f"{name}, {len(penalties)} C, {grid.folds} folds"
        tasks.append(Task(title, source, facts, kernel="rbf", gamma="scale", grid=grid))
    return Suite(
        "grids", "Exact cross-validation of RBF C-SVMs over a grid of C: all rows and five folds for each C.",
        tuple(tasks), (OURS, "SVC", "torchkm"), goal=1e-6, seconds=100.0, budget=40.0,
        files=() if quick else tuple(name for name, _ in GRID_FILES),
    )  # fmt: skip
