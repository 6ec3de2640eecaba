"""The record of large tables as Markdown: who took how long, how time grows, what a cluster sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.summary import fit_exponent
from benchmarks.tables import format_digits, format_gap, format_table

Line = dict[str, Any]
GIBIBYTE = 2**30
#: What entrants are called.
NAMES = {
    "memory": "in memory", "map": "memory map", "cold": "memory map, cold", "parquet": "Parquet", "text": "LIBSVM text",
    "cluster": "two workers", "spark": "Spark's way",
}  # fmt: skip
ABSENT = "–"


def build_tables(runs: Iterable[Line]) -> str:
    """Build all tables that have lines, each below its heading."""
    lines = list(runs)
    made = {heading: table(lines) for heading, table in TABLES.items()}
    return "\n\n".join(f"### {heading}\n\n{text}" for heading, text in made.items() if text)


def build_seconds_table(lines: Sequence[Line]) -> str:
    """A row for each entrant on each table."""
    head = ["table", "entrant", "seconds", "of them opening", "GiB", "GB from disk", "passes", "steps", "gap", "ended"]
    rows = [
        [
            run["task"],
            NAMES[run["solver"]],
            _format_number(run.get("seconds")),
            _format_number(run.get("opening")),
            _format_number(run.get("memory"), GIBIBYTE),
            _format_number(run.get("disk"), 1e9),
            run.get("passes", ABSENT),
            run.get("iterations", ABSENT),
            format_gap(run["gap"]) if run.get("gap") is not None else ABSENT,
            run.get("said") or run.get("error") or run["outcome"],
        ]
        for run in lines
        if run["suite"] == "large"
    ]
    return format_table(head, rows, 2) if rows else ""


def build_growth_table(lines: Sequence[Line]) -> str:
    """Exponents of the time, and of that of an iteration, against n: by least squares in logarithms."""
    rows = []
    for sweep, runs in _group_sweeps(lines).items():
        sizes = [run["facts"]["n"] for run in runs]
        solving = [run["seconds"] - run.get("opening", 0.0) for run in runs]
        steps = [one / run["iterations"] for one, run in zip(solving, runs, strict=True)]
        whole, _ = fit_exponent(sizes, solving)
        step, points = fit_exponent(sizes, steps)
        times = ", ".join(
            f"{_format_size(n)}: {format_digits(1000 * one)}" for n, one in zip(sizes, steps, strict=True)
        )
        rows.append([sweep, times, format_digits(step), format_digits(whole), points])
    if rows:
        return format_table(["entrant", "ms an iteration", "exponent", "of the whole solve", "sizes"], rows, 2)
    return ""


def build_traffic_table(lines: Sequence[Line]) -> str:
    """Graphs of a solve, their tasks, and the bytes that workers and the client have written, by Dask's own count."""
    rows = [
        [run["task"], run["graphs"], run["tasks"], format_digits(run["down"] / 1e6), format_digits(run["up"] / 1e6)]
        for run in lines
        if run["suite"] == "large" and run["outcome"] == "ran" and "graphs" in run
    ]
    if rows:
        return format_table(["table", "graphs", "tasks", "MB from the workers", "MB to them"], rows)
    return ""


TABLES: dict[str, Callable[[Sequence[Line]], str]] = {
    "Seconds, memory and gaps": build_seconds_table,
    "Growth": build_growth_table,
    "What a cluster sends": build_traffic_table,
}


def _group_sweeps(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The runs of an entrant on tables of one kind, the sizes in order, where there are several."""
    found: dict[str, list[Line]] = {}
    for run in lines:
        if run["suite"] == "large" and run["outcome"] == "ran" and run["solver"] != "spark":
            facts = run["facts"]
            title = (
                f"{facts['data']}, {NAMES[run['solver']]}, {run['threads']} thread{'s' if run['threads'] > 1 else ''}"
            )
            found.setdefault(title, []).append(run)
    ordered = {title: sorted(runs, key=lambda run: float(run["facts"]["n"])) for title, runs in found.items()}
    return {title: runs for title, runs in ordered.items() if len({run["facts"]["n"] for run in runs}) > 1}


def _format_number(value: float | None, unit: float = 1.0) -> str:
    return ABSENT if value is None else format_digits(value / unit)


def _format_size(n: float) -> str:
    return f"{n:.0e}".replace("e+0", "e")
