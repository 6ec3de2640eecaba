"""The benchmarks' command line: `run` (the default), `report`, `list`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import fetch, lines, programs
from benchmarks.chosen import add_choice, choose_suites, describe_absent, describe_dropped, explain_no_pairs
from benchmarks.details import build_seconds_table
from benchmarks.solvers import ENTRANTS, ESTIMATORS, GRIDS
from benchmarks.suites import build_suites
from qpsvm.base.errors import QPSVMError

LINES = Path("benchmark-lines.jsonl")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 where it did what it should."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] not in ("run", "report", "join", "list", "programs", "fetch", "-h", "--help"):
        given.insert(0, "run")
    options = _build_parser().parse_args(given)
    try:
        return int(options.command(options))
    except QPSVMError as error:
        raise SystemExit(str(error)) from None
    except ModuleNotFoundError as error:
        print(f'{error}: pip install -e ".[bench]" installs what the benchmarks need', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="SVM solvers, scored from outside.")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure (the default); resumes what the file of lines does not hold yet")
    add_choice(run)
    run.add_argument("--lines", type=Path, default=LINES, help=f"the record, appended to (default {LINES})")
    run.add_argument(
        "--prove", action="store_true", help="prove or refute each claim besides measuring it: tasks of few rows"
    )
    run.add_argument("--fresh", action="store_true", help="begin the record anew")
    run.set_defaults(command=_run)
    report = commands.add_parser("report", help="tables and pictures from the lines alone")
    report.add_argument("lines", type=Path, nargs="*", default=[LINES], help=f"records (default {LINES})")
    report.add_argument("--to", type=Path, default=Path("benchmark-report"), help="folder for report.md and pictures")
    report.add_argument(
        "--fill", type=Path, action="append", default=[], help="a Markdown file whose marked tables are to be made anew"
    )
    report.set_defaults(command=_report)
    join = commands.add_parser("join", help="one packed record of several; what is measured again replaces the old")
    join.add_argument("lines", type=Path, nargs="+", help="records, the older ones first")
    join.add_argument("--to", type=Path, required=True, help="the packed record (.xz), which may be one of them")
    join.add_argument(
        "--anew", action="append", default=[], metavar="SUITE",
        help="of this suite, nothing from the first record (another processor's; may be repeated)",
    )  # fmt: skip
    join.set_defaults(command=_join)
    quadratic = commands.add_parser("programs", help="QPs of files: every solver's claim, judged")
    programs.add_options(quadratic)
    files = commands.add_parser("fetch", help="bring the files of the suites; says what is missing")
    fetch.add_options(files)
    listed = commands.add_parser("list", help="the suites, their tasks, and the solvers that are installed")
    listed.add_argument("--quick", action="store_true")
    listed.add_argument("--data", type=Path, default=fetch.DATA)
    listed.set_defaults(command=_list)
    return parser


def _run(options: argparse.Namespace) -> int:
    from benchmarks.run import iter_pairs, run_pairs

    found = choose_suites(options)
    if options.fresh:
        options.lines.unlink(missing_ok=True)
    todo = list(iter_pairs(found, options.prove))
    if not todo:
        print(explain_no_pairs(found, options), file=sys.stderr)
        return 1
    for line in describe_absent(found, options.data):
        print(f"left out, {line}", file=sys.stderr)
    for line in describe_dropped(found, (pair.key for pair in todo), options.solver or ()):
        print(line, file=sys.stderr)
    run_pairs(todo, options.lines)
    print(f"{len(todo)} pairs of solver and task are in {options.lines}; python -m benchmarks report {options.lines}")
    if options.table or any(pair.plan.origin for pair in todo):
        keys = {pair.key for pair in todo}
        print(
            "\n"
            + build_seconds_table(run for run in lines.read_runs([options.lines]) if lines.get_pair_key(run) in keys)
        )
    return 0


def _join(options: argparse.Namespace) -> int:
    _check_files_exist(options.lines)
    count = lines.join_records(options.lines, options.to, options.anew)
    print(f"{count} measurements are in {options.to}")
    _warn_of_processors([options.to])
    return 0


def _check_files_exist(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise SystemExit(f"{path} does not exist: python -m benchmarks run --lines {path} makes it")


def _warn_of_processors(paths: Sequence[Path]) -> None:
    """Say so where a suite was measured on several kinds: its ratios mean nothing then."""
    for suite, kinds in lines.group_processors(lines.read_runs(paths), lines.read_machines(paths)).items():
        if len(kinds) > 1:
            print(f"{suite} was measured on {', '.join(sorted(kinds))}: do not compare these times", file=sys.stderr)


def _report(options: argparse.Namespace) -> int:
    from benchmarks.report import fill_tables, write_report

    _check_files_exist(options.lines)
    _warn_of_processors(options.lines)
    runs, machines = lines.read_runs(options.lines), lines.read_machines(options.lines)
    write_report(runs, machines, options.to)
    for page in options.fill:
        fill_tables(page, runs, machines)
    return 0


def _list(options: argparse.Namespace) -> int:
    for suite in build_suites(options.data, options.quick).values():
        print(f"{suite.name}: {suite.about}")
        print(f"  {len(suite.tasks)} tasks: {'; '.join(task.name for task in suite.tasks)}")
    found = (
        f"{name} {entrant.version() or 'not installed'}"
        for name, entrant in {**ESTIMATORS, **GRIDS, **ENTRANTS}.items()
    )
    print(f"solvers: {', '.join(found)}")
    return 0
