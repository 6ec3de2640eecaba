"""What is to be measured, by the words of the command line; and where that is nothing, why."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.fetch import DATA
from benchmarks.own import OF_CLASSES, VARIANTS, build_user_suite
from benchmarks.solvers import ENTRANTS, ESTIMATORS, GRIDS, register_solver
from benchmarks.solvers.base import Entrant
from benchmarks.solvers.own import ORIGIN_FORMS, parse_origin
from benchmarks.suite import Suite
from benchmarks.suites import build_suites
from benchmarks.tasks import Task
from qpsvm.base.errors import ParameterError, UnknownOptionError, describe_nearest

#: What there is besides the files of --data.
INSTEAD = "--data DIR says where they are; --table FILE --target COLUMN measures your own; --quick needs no files"


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that say what is measured."""
    parser.add_argument("--quick", action="store_true", help="a few small tasks of each suite: about four minutes")
    parser.add_argument("--first", type=int, metavar="K", help="only the first K tasks of each suite")
    parser.add_argument("--suite", action="append", help="only this suite (may be repeated)")
    parser.add_argument(
        "--solver", action="append", help=f"only this solver (may be repeated); one's own: {ORIGIN_FORMS}"
    )
    parser.add_argument("--task", action="append", help="only tasks whose name contains this (may be repeated)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the files that the suites name")
    parser.add_argument("--seconds", type=float, help="time limit of one run, instead of the suite's")
    own = parser.add_argument_group("tables of your own")
    own.add_argument("--table", action="append", type=Path, help="a CSV or LIBSVM file (may be repeated)")
    own.add_argument("--target", help="CSV: the column of labels, or of numbers for a regression")
    own.add_argument("--positive", metavar="LABEL", help="of several labels, the one that is told from the others")
    own.add_argument("--standardise", action="store_true", help="every feature with mean 0 and deviation 1")
    own.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    own.add_argument(
        "--variant", action="append", choices=VARIANTS, help=f"machine (may be repeated; default {OF_CLASSES[0]})"
    )
    own.add_argument("--kernel", action="append", choices=("linear", "rbf"), help="default: both, one after the other")
    own.add_argument("-C", "--C", action="append", type=float, help="default 1 (may be repeated)")
    own.add_argument("--nu", type=float, help="of the machines that have one")
    own.add_argument("--intercept", choices=("free", "penalised", "none"), default="free")


def choose_suites(options: argparse.Namespace) -> list[Suite]:
    """The suites with the tasks and solvers that were asked for.

    Raises
    ------
    QPSVMError
        A word means nothing, or a table or a solver of the user's cannot be used.
    """
    named = [_load_named_solver(word) for word in options.solver or ()]
    found = _find_suites(options)
    if options.task:
        found = [replace(suite, tasks=tuple(_filter_tasks(suite.tasks, options.task))) for suite in found]
    if options.first is not None:
        if options.first < 1:
            raise ParameterError(f"--first must be at least 1, got {options.first}")
        found = [replace(suite, tasks=suite.tasks[: options.first]) for suite in found]
    if options.seconds is not None:
        if not options.seconds > 0:
            raise ParameterError(f"--seconds must be positive, got {options.seconds:g}")
        found = [replace(suite, seconds=options.seconds, budget=2 * options.seconds) for suite in found]
    if named:
        return [replace(suite, solvers=_choose_solvers(suite, named)) for suite in found]
    return found


def _load_named_solver(word: str) -> str:
    """The name of a solver; one from outside is loaded first."""
    known = {**ENTRANTS, **GRIDS, **ESTIMATORS}
    origin = None if word in known else parse_origin(word)
    if origin is not None:
        return register_solver(origin).name
    if word not in known:
        raise UnknownOptionError(
            f"unknown solver {word!r}; {describe_nearest(word, known)}; or your own, {ORIGIN_FORMS}"
        )
    return word


def _choose_solvers(suite: Suite, named: Sequence[str]) -> tuple[str, ...]:
    """Choose the named solvers of a suite; third-party ones are in every suite, and a user's suite takes all."""
    whole = not any(task.grid or task.estimator for task in suite.tasks)  # those of these are others
    extra = [name for name in named if whole and name in ENTRANTS and (ENTRANTS[name].origin or not suite.twins)]
    return tuple(dict.fromkeys([*(name for name in suite.solvers if name in named), *extra]))


def _find_suites(options: argparse.Namespace) -> list[Suite]:
    if options.table:
        return [_read_user_suite(options)]
    for word in ("target", "positive", "variant", "kernel", "C", "nu"):
        if getattr(options, word) is not None:
            raise ParameterError(f"--{word} is for a table of your own, --table FILE")
    known = build_suites(options.data, options.quick)
    for name in options.suite or ():
        if name not in known:
            raise UnknownOptionError(f"unknown suite {name!r}; {describe_nearest(name, list(known))}")
    return [suite for name, suite in known.items() if not options.suite or name in options.suite]


def _read_user_suite(options: argparse.Namespace) -> Suite:
    if options.suite:
        raise ParameterError("--suite names suites of this folder, and --table makes one of its own: leave one out")
    return build_user_suite(
        options.table, options.variant or ["c"], options.kernel or ["linear", "rbf"], options.C or [1.0],
        options.intercept, options.nu, target=options.target, positive=options.positive,
        standardise=options.standardise, missing="drop" if options.drop_missing else "error",
    )  # fmt: skip


def _filter_tasks(tasks: Sequence[Task], parts: Sequence[str]) -> Iterator[Task]:
    return (task for task in tasks if any(part in task.name for part in parts))


def describe_absent(found: Sequence[Suite], data: Path) -> list[str]:
    """A line for each suite whose files are not all there."""
    said = []
    for suite in found:
        missing = [name for name in suite.files if not (data / name).exists()]
        if missing:
            if len(missing) == len(suite.files):
                which = "none of its files is"
            else:
                which = "these of its files are not"
            said.append(f"{suite.name}: {which} in {data.resolve()}: {', '.join(missing)}")
    return said


def describe_dropped(found: Sequence[Suite], taken: Iterable[tuple[str, str, str]], words: Sequence[str]) -> list[str]:
    """A line for each solver that was named and each suite of which it does not take every task, with the reason.

    taken: Suite, task and solver of what is measured.
    """
    said = []
    pairs = list(taken)
    for name in dict.fromkeys(_load_named_solver(word) for word in words):
        for suite in found:
            count = sum(pair[0] == suite.name and pair[2] == name for pair in pairs)
            if count < len(suite.tasks):  # a suite without tasks lacks its files, which is said elsewhere
                if not count:
                    share = "all"
                else:
                    share = f"{len(suite.tasks) - count} of {len(suite.tasks)}"
                said.append(f"left out, {name} on {share} tasks of {suite.name}: {_explain_skipped(name, suite)}")
    return said


def _explain_skipped(name: str, suite: Suite) -> str:
    """Explain why a solver does not take every task of a suite."""
    entrant = {**ESTIMATORS, **GRIDS, **ENTRANTS}[name]
    if entrant.version() is None:
        return f"it {_describe_missing(entrant)}"
    if name not in suite.solvers:
        return f"{suite.name} is not for it"
    return "it takes other machines, or they are too large for it"


def _describe_missing(entrant: Entrant) -> str:
    return f'is not installed: pip install {entrant.package}, or -e ".[bench]" for all'


def explain_no_pairs(found: Sequence[Suite], options: argparse.Namespace) -> str:
    """Explain why no pair of solver and task is left, and what to pass instead."""
    lines = ["nothing to measure:"]
    tasks = [task for suite in found for task in suite.tasks]
    missing = describe_absent(found, options.data)
    if not tasks and options.task:
        lines.append(f"no task is called {' or '.join(map(repr, options.task))}; python -m benchmarks list names them")
    lines += missing if not tasks else []
    lines += [INSTEAD] if missing and not tasks else []
    for name in dict.fromkeys(name for suite in found for name in suite.solvers) if tasks else ():
        entrant = {**ESTIMATORS, **GRIDS, **ENTRANTS}[name]
        if entrant.version() is None:
            lines.append(f"{name} {_describe_missing(entrant)}")
        else:
            lines.append(f"{name} takes none of these {len(tasks)} tasks, or they are too large for it")
    if tasks and len(lines) == 1:
        lines.append(f"no solver of {' or '.join(options.solver)} is in {', '.join(suite.name for suite in found)}")
    return "\n  ".join(lines)
