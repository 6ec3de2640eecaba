"""`python -m benchmarks.large`: make tables, measure, print."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import lines
from benchmarks.large.apart import run_in_process
from benchmarks.large.data import COLUMNS, DENSE, Kind, LargeTable
from benchmarks.large.entrants import ENTRANTS
from benchmarks.large.tables import build_tables

SUITE = "large"
LINES = Path("large-lines.jsonl")
#: What is measured again and again, and of which the median counts.
MEDIANS = ("seconds", "opening", "memory", "disk", "down", "up")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 where it did what it should."""
    options = _parser().parse_args(arguments)
    return int(options.command(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description="Tables past memory, and clusters.")
    commands = parser.add_subparsers(required=True)
    make = commands.add_parser("make", help="write tables into a folder, by blocks, from seeds")
    make.set_defaults(command=_make)
    measure = commands.add_parser("measure", help="entrants on tables, in turn, each in a process of its own")
    measure.add_argument("--entrant", action="append", choices=ENTRANTS, help="may be repeated; default: all that fit")
    measure.add_argument("--repeats", type=int, default=1, help="of which the median counts")
    measure.add_argument("--threads", type=int, default=1, help="of BLAS, and so of ours; workers have one each")
    measure.set_defaults(command=_measure)
    for command in (make, measure):
        command.add_argument("--folder", type=Path, required=True, help="where the tables are")
        command.add_argument("--kind", choices=(*DENSE, "text"), default="gauss")
        command.add_argument("--rows", type=float, action="append", required=True, help="may be repeated")
        command.add_argument("--columns", type=int, default=COLUMNS, help=f"of a dense table (default {COLUMNS})")
        command.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    measure.add_argument("-C", "--C", type=float, default=1.0)
    measure.add_argument("--lines", type=Path, default=LINES, help=f"the record, appended to (default {LINES})")
    shown = commands.add_parser("tables", help="Markdown from the lines alone")
    shown.add_argument("lines", type=Path, nargs="*", default=[LINES])
    shown.set_defaults(command=_tables)
    return parser


def _list_tables(options: argparse.Namespace) -> list[LargeTable]:
    kind: Kind = options.kind
    return [LargeTable(options.folder, kind, int(rows), options.dtype, options.columns) for rows in options.rows]


def _make(options: argparse.Namespace) -> int:
    for table in _list_tables(options):
        table.write_files()
        print(table.format_title())
    return 0


def _measure(options: argparse.Namespace) -> int:
    machine = lines.describe_machine()
    lines.append(options.lines, machine)
    for table in _list_tables(options):
        names = [name for name in options.entrant or ENTRANTS if _is_readable(name, table)]
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for _ in range(options.repeats):
            for name in names:
                found[name].append(run_in_process(ENTRANTS[name], table, options.C, threads=options.threads))
        for name in names:
            line = {**_build_head(machine, table, name, options), **_take_medians(found[name])}
            lines.append(options.lines, line)
            print(name, {key: line.get(key) for key in ("outcome", "error", "seconds", "memory", "gap")})
    return 0


def _is_readable(name: str, table: LargeTable) -> bool:
    """Whether an entrant reads such a table."""
    if table.kind == "text":
        return name in ("memory", "text", "spark")
    return name != "text"


def _build_head(machine: lines.Line, table: LargeTable, name: str, options: argparse.Namespace) -> dict[str, Any]:
    threads = "two workers" if name == "cluster" else f"threads: {options.threads}"
    task = f"{table.format_title()}, C = {options.C:g}, {threads}"
    facts = {"data": table.kind, "n": table.n, "d": table.d, "dtype": table.dtype, "C": options.C}
    return {
        "kind": "run", "machine": machine["id"], "suite": SUITE, "task": task,
        "solver": name, "facts": facts, "threads": options.threads, "repeats": options.repeats,
    }  # fmt: skip


def _take_medians(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The last run that came to an end, with the medians of what varies; or what went wrong."""
    ran = [run for run in runs if run["outcome"] == "ran"]
    if len(ran) < len(runs):
        return next(run for run in runs if run["outcome"] != "ran")
    medians = {name: statistics.median(run[name] for run in ran) for name in MEDIANS if name in ran[0]}
    return {**ran[-1], **medians}


def _tables(options: argparse.Namespace) -> int:
    print(build_tables(lines.read_runs(options.lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
