"""Run `path --exact` and `leave-one-out`: optima for all values of a parameter, and without each sample."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from qpsvm.base.atomic_files import open_output
from qpsvm.base.errors import ParameterError, UnsupportedError
from qpsvm.faces import plotting
from qpsvm.faces.cli.commands import tables
from qpsvm.faces.cli.commands.plot import require_picture, write_picture
from qpsvm.faces.cli.data import read_dataset
from qpsvm.faces.cli.problem_options import VARIANTS, apply_defaults, refuse_options
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.machines import registry
from qpsvm.many.exact.leave_one_out import LeaveOneOut, leave_one_out
from qpsvm.many.exact.path import exact_path
from qpsvm.many.grid.cross_validation import MAX_ROWS
from qpsvm.many.grid.parameters import format_columns

#: Name of the leave-one-out error, by the kind of target.
ERROR_NAMES = {
    "labels": "share on the wrong side",
    "numbers": "mean squared error",
    "none": "share outside if left out",
}


def run_path(options: argparse.Namespace) -> int:
    """Solve for the given values, or with `--exact` for all between two. Raises ParameterError."""
    if not options.exact:
        refuse_options(options, ("plot", "output"), "needs an exact path: add --exact, or leave it out")
        return tables.run_path(options)
    refuse_options(
        options, ("n_jobs",), "is for the points of a grid, and an exact path is a single task: leave it out"
    )
    require_picture(options.plot)
    require_writable(options.output)
    _check_single_function(options, "an exact path", "leave --exact out")
    problem, axes, _ = tables.read_parameter_grid(options)
    name = _find_interval(axes)
    path = exact_path(
        problem, name, *axes[name], tol=options.tol, time_limit=options.time_limit, verbose=options.verbose
    )
    print(f"{type(problem).__name__}, kernel {type(problem.kernel).__name__}\n{path}")
    columns = path.columns()
    if len(path):
        _print_pieces(columns, len(path), "" if options.output else "; --output FILE writes all")
    if options.output is not None:
        _write_csv(options.output, columns)
    if options.plot is not None:
        write_picture(plotting.exact_path(path), options.plot)
        print(f"drawn {options.plot}")
    return 0 if path.status == "optimal" else 1


def run_leave_one_out(options: argparse.Namespace) -> int:
    """Leave out each row in turn, and print the error. Raises DataError, UnsupportedError."""
    require_writable(options.output)
    _check_single_function(options, "leave-one-out", "use cross-validate")
    apply_defaults(options)
    dataset = read_dataset(options)
    problem = dataset.build_problem(options)
    with nullcontext() if options.verbose else Ticker("leaving rows out"):
        result = leave_one_out(problem, tol=options.tol, time_limit=options.time_limit, verbose=options.verbose)
    print(
        f"{type(problem).__name__}, kernel {type(problem.kernel).__name__}: "
        f"{len(problem.active_rows)} rows, each left out once"
    )
    print(_describe_errors(result, VARIANTS[options.variant]._target_kind))
    if options.output is not None:
        if dataset.y is None:
            target = {}
        else:
            target = {"target": np.asarray(dataset.labels).tolist()}
        columns = {"decision": result.decision.tolist(), "gap": result.gap.tolist()}
        _write_csv(options.output, {"row": range(len(result.decision)), **target, **columns})
    return 0 if result.status == "optimal" else 1


def _find_interval(axes: Mapping[str, Sequence[Any]]) -> str:
    """Return the name of the only parameter with two values, if all others have one. Raises ParameterError."""
    varied = [name for name, values in axes.items() if len(values) > 1]
    if len(varied) == 1 and len(axes[varied[0]]) == 2:
        return varied[0]
    example = varied[0] if varied else next(iter(axes))
    counts = ", ".join(f"{len(values)} of --{name}" for name, values in axes.items())
    raise ParameterError(
        f"--exact needs the two ends of one interval, such as --{example} 0.05,100, and one value for each other "
        f"parameter; got {counts}"
    )


def _print_pieces(columns: Mapping[str, Sequence[Any]], count: int, hint: str) -> None:
    """Print the pieces of a path as a table; if there are too many, some at equal distances, and a hint."""
    shown = np.unique(np.linspace(0, count - 1, min(count, MAX_ROWS)).round().astype(int))
    if len(shown) < count:
        print(f"{len(shown)} of {count} pieces{hint}")
    shown_columns = {key: [column[i] for i in shown] for key, column in columns.items()}
    print(format_columns(shown_columns, {"from": "{:.6g}".format, "to": "{:.6g}".format, "gap": "{:.1e}".format}))


def _check_single_function(options: argparse.Namespace, what: str, instead: str) -> None:
    """Refuse machines with more than one decision function. Raises UnsupportedError, which says what to do instead."""
    if options.variant in registry.ALL_IN_ONE:
        raise UnsupportedError(
            f"{what} follows one decision function, but {options.variant} has one per class: {instead}, or train one "
            "class against all others with --positive LABEL and another --variant"
        )


def _describe_errors(result: LeaveOneOut, target_kind: str) -> str:
    """Describe the error and its certificates."""
    is_known = np.isfinite(result.decision)
    gap = f", gap at most {result.gap[is_known].max():.1e}" if is_known.any() else ""
    lines = [
        f"{ERROR_NAMES[target_kind]}: {result.error:.4f}, over {int(is_known.sum())} rows",
        f"{result.moved} machines differ from the machine trained on all rows{gap}: {result.status}",
        result.message,
    ]
    return "\n".join(filter(None, lines))


def _write_csv(path: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as CSV, with all digits of numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    with open_output(path) as file:
        file.write(text.getvalue().encode())
    print(f"written {path}")
