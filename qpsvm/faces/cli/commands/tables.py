"""Run the commands that print a table: one row per backend, or per combination of parameters.

`compare`, and the program without a command, solve one problem with several backends; `backends` lists all backends,
and what each supports. `path` and `cross-validate` solve one problem for many combinations of parameters, with a
certificate for each; `cross-validate` can also save the model of the best combination.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.backends.problem_size import measure_size
from qpsvm.backends.traits import find_problem_traits
from qpsvm.base.errors import ParameterError
from qpsvm.faces import plotting
from qpsvm.faces.cli.commands.plot import require_picture, write_picture
from qpsvm.faces.cli.data import Dataset, read_dataset
from qpsvm.faces.cli.multiclass import MulticlassProblem
from qpsvm.faces.cli.multiclass_tables import cross_validate_classes, iter_class_comparison
from qpsvm.faces.cli.problem_choice import choose_problem
from qpsvm.faces.cli.problem_options import KERNEL_DEFAULTS, PARAMETERS, WORD_CHOICES, apply_defaults
from qpsvm.faces.cli.scores import format_notes
from qpsvm.faces.cli.shell import find_command
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.faces.cli.ticker import Ticker
from qpsvm.machines import CSVM, Problem
from qpsvm.machines.problem.derived_problems import get_parameters
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.many.comparison import STUDY_SECONDS, CompareOptions, iter_comparison
from qpsvm.many.comparison_table import HEADINGS, Comparison, ComparisonRow, format_line
from qpsvm.many.grid.cross_validation import CrossValidation, cross_validate
from qpsvm.many.grid.path import path
from qpsvm.many.grid.scorers import ACCURACY
from qpsvm.result.hints import Hint, find_sample_hints

#: Formats of the table: as text it is printed row by row, in the other formats when it is complete.
FORMATS = ("text", "csv", "json", "latex")
#: The commands that the program suggests if it is run without one.
NEXT_COMMANDS = (
    "example customers.csv new_customers.csv",
    "solve customers.csv --target bought --missing median --test-size 0.25 --class-weight balanced --save bought.npz",
    "predict bought.npz new_customers.csv --id customer_id",
    "--help",
)
#: Values that a message suggests for ν, and for any other parameter.
EXAMPLE_NU_VALUES, EXAMPLE_VALUES = "0.1,0.2,0.5", "0.1,1,10"


def run_compare(options: argparse.Namespace) -> int:
    """Compare backends on a data file. Raises ParameterError."""
    apply_defaults(options)
    as_text = options.format == "text"
    if options.verbose and not as_text:
        raise ParameterError(
            f"--verbose would print inside the {options.format} output: leave --verbose or --format out"
        )
    problem = choose_problem(read_dataset(options, sys.stdout if as_text else sys.stderr), options)
    names = [name for group in options.backend or [] for name in group] or None
    settings = CompareOptions(
        tol=options.tol, time_limit=options.time_limit, max_iter=options.max_iter, polish=not options.no_polish,
        repeat=options.repeat, verbose=options.verbose,
    )  # fmt: skip
    empty, rows = _begin_comparison(problem, names, options.form, settings)
    if as_text:
        _print_rows(empty, rows)
    else:
        comparison = replace(empty, rows=tuple(rows))
        convert = {"csv": comparison.to_csv, "json": comparison.to_json, "latex": comparison.to_latex}[options.format]
        print(convert(), end="")
    return 0


def demonstrate(options: argparse.Namespace) -> int:
    """Compare backends on a data set of scikit-learn: the usable ones on the dual; with `--all` all, on both forms."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = data.target_names[data.target]
    print("breast_cancer (scikit-learn), standardised")
    problem = CSVM(X, y, C=1.0)
    names = None if options.all else _list_usable(problem)
    _print_rows(*_begin_comparison(problem, names, None if options.all else "dual", CompareOptions()))
    print("\n'solver gap' is the gap of the solver's own point; 'gap' is certified after polishing it.")
    if not options.all:
        print(f"With --all: also the primal forms, and textbook methods for at most {STUDY_SECONDS:g} s each.")
    print("Next, write a table of customers, train a model on it, and predict:")
    for arguments in NEXT_COMMANDS:
        print(f"  {find_command(*arguments.split())}")
    return 0


def list_backends(options: argparse.Namespace) -> int:
    """Print one line per backend."""
    del options
    for backend in backends.iter_backends():
        package = backend.abilities.package or ("outside" if backend.is_external else "qpsvm")
        version = backend.version()
        if version:
            state = f"{package} {version}"
        else:
            state = f"not installed: pip install {package}"
        print(f"{backend.name:<21}{state:<28}{backend.abilities.describe()}")
    return 0


def run_path(options: argparse.Namespace) -> int:
    """Solve the problem for every combination of the parameters, and print the table."""
    problem, axes, _ = read_parameter_grid(options)
    with nullcontext() if options.verbose else Ticker("solving"):
        results = path(problem, **axes, **_build_settings(options), check=False)
    print(f"{_name_machine(problem)}\n{results}")
    return 0 if all(result.status == "optimal" for result in results) else 1


def run_cross_validate(options: argparse.Namespace) -> int:
    """Score every combination of the parameters on the folds, print the table, and save the best model."""
    require_writable(options.save)
    require_picture(options.plot)
    problem, axes, dataset = read_parameter_grid(options, choose_problem)
    if options.plot is not None and len(axes) > 2:
        raise ParameterError(
            f"--plot shows scores over one or two parameters, but {', '.join(f'--{axis}' for axis in axes)} are "
            f"{len(axes)}: leave --plot out, or vary at most two"
        )
    with nullcontext() if options.verbose else Ticker("cross-validating"):
        validation, best_problem = _cross_validate(problem, axes, options)
    best_values = ", ".join(f"{name} = {value:g}" for name, value in validation.best.items())
    print(f"{_name_machine(problem)}: {validation}")
    print(f"best: {best_values}, {validation.scoring} {validation.best_score:.4f}")
    if options.plot is not None:
        write_picture(plotting.scores(validation), options.plot)
        print(f"drawn {options.plot}")
    if options.save is not None:
        if isinstance(best_problem, MulticlassProblem):
            result: Any = best_problem.solve()
        else:
            result = validation.refit(tol=options.tol, check=False)
        dataset.build_model(result, best_problem).save(options.save)
        print(f"saved {options.save}: the machine with the best parameters, trained on all rows")
    if notes := format_notes(_find_hints(validation, best_problem, dataset)):
        print(notes)
    return 0 if set(validation.status.ravel()) <= {"optimal", "infeasible"} else 1  # infeasible: a score of NaN


def parse_values(text: str) -> list[Any]:
    """Parse numbers or rules (scale, auto) separated by commas."""
    values: list[Any] = []
    for part in text.split(","):
        try:
            values.append(float(part))
        except ValueError:
            values.append(part.strip())
    return values


def read_parameter_grid(
    options: argparse.Namespace, build: Callable[[Dataset, argparse.Namespace], Any] = Dataset.build_problem
) -> tuple[Any, dict[str, Any], Dataset]:
    """Return the problem at the first value of each parameter, all values by parameter, and the data.

    build: Builds the problem from the data and the options. Raises ParameterError.
    """
    axes = {
        name: getattr(options, name) for name in (*PARAMETERS, *KERNEL_DEFAULTS) if getattr(options, name) is not None
    }
    first_options = copy.copy(options)
    for name, values in axes.items():
        setattr(first_options, name, values[0])
    apply_defaults(first_options)
    dataset = read_dataset(options)
    problem = build(dataset, first_options)
    if not axes:
        parameters = get_parameters(problem.build_machine(0) if isinstance(problem, MulticlassProblem) else problem)
        example = next((name for name in parameters if name not in WORD_CHOICES), "kernel rbf --gamma")
        values = EXAMPLE_NU_VALUES if example == "nu" else EXAMPLE_VALUES
        raise ParameterError(f"give the values of a parameter, separated by commas, such as --{example} {values}")
    return problem, axes, dataset


def _begin_comparison(
    problem: Problem | MulticlassProblem, names: Sequence[str] | None, form: Form | None, settings: CompareOptions
) -> tuple[Comparison, Iterator[ComparisonRow]]:
    """Return a comparison without rows, and an iterator that solves them.

    names, form: The backends and the form to compare; None for all backends, and for both forms.
    """
    n, d = problem.X.shape
    empty = Comparison(problem.title, n, d, settings.tol, (), settings.repeat)
    if isinstance(problem, MulticlassProblem):
        return empty, iter_class_comparison(problem, names, form, settings)
    return empty, iter_comparison(problem, names, form, settings)


def _print_rows(empty: Comparison, rows: Iterator[ComparisonRow]) -> None:
    """Print a comparison as text, each row as soon as it is solved."""
    print(f"{empty.heading}\n\n{format_line(HEADINGS)}", flush=True)
    solved: list[ComparisonRow] = []
    for row in rows:
        solved.append(row)
        print(format_line(row.cells), flush=True)
    if notes := replace(empty, rows=tuple(solved)).notes:
        print("\n".join(notes))


def _name_machine(problem: Problem | MulticlassProblem) -> str:
    """Name the machine and its kernel, without parameters."""
    if isinstance(problem, MulticlassProblem):
        return problem.short_title
    return f"{type(problem).__name__}, kernel {type(problem.kernel).__name__}"


def _list_usable(problem: Problem) -> list[str]:
    """List the names of the backends that the library would use for the dual of a problem."""
    traits = find_problem_traits(problem)
    rows = measure_size(problem).rows
    return [backend.name for backend in backends.iter_backends() if backend.is_usable(traits, rows, "dual")]


def _cross_validate(problem: Any, axes: dict[str, Any], options: argparse.Namespace) -> tuple[CrossValidation, Any]:
    """Score every combination of the parameters; return the scores, and the problem with the best parameters."""
    folds = {"folds": options.folds, "shuffle": options.shuffle, "seed": options.seed, "scoring": options.scoring}
    if isinstance(problem, MulticlassProblem):
        scores = cross_validate_classes(problem, axes, **folds, n_jobs=options.n_jobs, bar=options.verbose)
        return scores, problem.replace_parameters(scores.best)
    validation: Any = cross_validate(problem, **folds, **axes, **_build_settings(options), check=False)
    return validation, validation.best_problem


def _find_hints(validation: CrossValidation, best_problem: Any, dataset: Dataset) -> list[Hint]:
    """Find hints about the scores and the samples."""
    hints = find_sample_hints(best_problem.X, best_problem.kernel, dataset.table.names)
    if validation.scoring == ACCURACY and dataset.target_kind == "labels":
        labels = dataset.labels[best_problem.active_rows]
        class_counts = np.unique(labels, return_counts=True)[1]
        largest_share = float(class_counts.max()) / len(labels)
        if validation.best_score <= largest_share + 1.0 / len(labels):  # at most one more row is right
            fact = f"no combination is better than one label for all rows, which has an accuracy of {largest_share:.4f}"
            advice = "--class-weight balanced with --scoring balanced_accuracy, or other values"
            return [Hint("labels", fact, advice), *hints]
    return hints


def _build_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Build the keyword arguments that `path` and `cross_validate` have in common."""
    return {"tol": options.tol, "verbose": options.verbose, "n_jobs": options.n_jobs, "time_limit": options.time_limit}
