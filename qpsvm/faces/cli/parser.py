"""Define the commands and their options.

examples:
  python -m qpsvm
      compare the solvers in use on scikit-learn's breast_cancer; with --all every installed backend, in each form
  python -m qpsvm example customers.csv new_customers.csv iris.csv houses.csv results.csv train.py
      write the tables used below
  python -m qpsvm solve customers.csv --target bought --missing median --standardise --save model.npz
      a CSV file: each text column becomes one 0/1 column per category
  python -m qpsvm predict model.npz new_customers.csv
  python -m qpsvm solve customers.csv --target bought --missing median --proof proof.json
  python -m qpsvm verify proof.json --data customers.csv
      a theorem about the floating-point values of the result, and a check of it in exact arithmetic
  python -m qpsvm solve customers.csv --target bought --missing median --test-size 0.25 --cv 5 --plot bought.png
      scores on held-out rows, the confusion matrix, and a picture
  python -m qpsvm importance customers.csv --target bought --missing median --class-weight balanced --test-size 0.25
      how much the predictions depend on each column
  python -m qpsvm solve iris.csv --target species --test-size 0.3
      any number of classes; alternatives are --multi-class ovr and --variant crammer-singer
  python -m qpsvm solve houses.csv --target price --variant epsilon-svr --epsilon 5 --C 100 --kernel rbf --standardise
      regression: the target is a number; alternatives are nu-svr and quantile-svr
  python -m qpsvm solve customers.csv --drop bought --missing median --standardise --variant one-class --nu 0.1
      novelty detection: no target is needed; svdd fits a ball around the rows
  python -m qpsvm solve results.csv --target points --groups race --variant ranking
      ranking: rows of one group are compared with each other
  python -m qpsvm compare iris.csv --target species --backend osqp,libsvm --repeat 5 --format csv > table.csv
  python -m qpsvm cross-validate iris.csv --target species --kernel rbf --C 0.1,1,10 --gamma 0.01,0.1,1 --save iris.npz
      the accuracy of nine machines on five folds, and a model of the best
  python -m qpsvm path iris.csv --target species --positive virginica --C 0.05,100 --exact --plot path.png
      the optimum for every C in an interval, not only on a grid
  python -m qpsvm leave-one-out iris.csv --target species --positive virginica --kernel rbf --C 10
      the exact leave-one-out error
  python -m qpsvm derive c --data iris.csv --target species --positive setosa --html derivation.html
  python -m qpsvm derive epsilon-svr --intercept penalised --steps ESVR.5,ESVR.9
      the derivation of the dual, each equation next to its code and measured on this data
  python -m qpsvm play --data iris.csv --target species --positive setosa --axes petal_length petal_width
      a page in the browser; drag samples, and the problem is solved again
  python -m qpsvm solve 'part-*.parquet' --target y --standardise --save model.npz
      more rows than fit into memory: Parquet, Feather, .npy, and text with --stream are read in blocks
  cat customers.csv | python -m qpsvm solve - --target bought --missing median
      standard input, CSV or LIBSVM
  python -m qpsvm backends
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qpsvm import __version__
from qpsvm.faces.cli.command_parser import CommandParser
from qpsvm.faces.cli.commands import derive, exact, example, importance, play, predict, solve, tables, verify
from qpsvm.faces.cli.option_values import (
    make_word_reader,
    read_file_name,
    read_fold_count,
    read_name,
    read_names,
    read_numbers,
    read_repeats,
    read_rows,
    read_seed,
    read_share,
)
from qpsvm.faces.cli.options import (
    add_backend,
    add_data,
    add_encoding,
    add_file,
    add_missing_texts,
    add_multi_class,
    add_parameters,
    add_problem,
    add_solver,
    add_stream,
    add_time_limit,
    add_tolerance,
    add_variant,
)
from qpsvm.faces.cli.shell import find_command
from qpsvm.faces.play.server import PORT

#: The command as in the examples; the help replaces it by the command for this shell.
PROGRAM = "python -m qpsvm"
#: Text below the help: the examples above.
EXAMPLES = "examples:" + (__doc__ or "").partition("examples:")[2]


def make_parser() -> CommandParser:
    """Build the parser. `options.run(options)` runs the chosen command with the options that it returns."""
    program = find_command()
    examples = EXAMPLES.replace(PROGRAM, program)
    parser = CommandParser(
        prog=program, description="Support vector machines as explicit quadratic programs, certified.", epilog=examples
    )
    parser.add_argument("--version", action="version", version=f"qpsvm {__version__}")
    what = "without a command: every installed backend in each form, including the textbook methods"
    parser.add_argument("--all", action="store_true", help=what)
    parser.set_defaults(run=tables.demonstrate)
    commands = parser.add_subparsers(title="commands", metavar="", dest="command", parser_class=CommandParser)
    parser.commands = commands.choices

    def add_command(
        name: str, what: str, add_options: Callable[[CommandParser], None], *, has_examples: bool = True, **how: Any
    ) -> None:
        add_options(commands.add_parser(name, help=what, epilog=examples if has_examples else None, **how))

    add_command("solve", "solve one problem with the samples of a file", _add_solve)
    add_command("predict", "predict with a saved model", _add_predict, has_examples=False)
    add_command(
        "verify", "check a proof that `solve --proof` wrote", _add_verify, has_examples=False,
        description="Check every claim of a proof file with integers and fractions alone, by\n"
        "qpsvm/bounds/proof/checker.py, which also runs without this library. Exit code 0: all claims\n"
        "are confirmed, and they state that alpha is feasible and how large the gap is; 1: one of these\n"
        "is refuted or open; 2: a file cannot be used.",
    )  # fmt: skip
    add_command("compare", "compare all backends on one file", _add_compare)
    add_command("importance", "measure how much the predictions depend on each column", _add_importance)
    add_command("path", "solve one problem for many parameters", _add_path)
    add_command("cross-validate", "score many parameters on held-out folds", _add_cross_validate)
    add_command("leave-one-out", "predict each row by the machine trained without it, exactly", _add_leave_one_out)
    add_command("derive", "derive the dual equation by equation, measured on a file or in symbols", _add_derive)
    add_command("play", "open a page on which dragged samples are solved and certified as they move", _add_play)
    add_command(
        "example",
        "write the tables that these examples use",
        _add_example,
        description=f"Write tables by name: {', '.join(example.TABLES)}.\nWithout a name, describe them.",
    )
    add_command("backends", "list what is installed, and what it supports", _add_backends, has_examples=False)
    return parser


def _add_solve(parser: CommandParser) -> None:
    add_data(parser, nargs="+")
    add_stream(parser)
    group = parser.add_argument_group("solve on a cluster")
    what = (
        "Dask cluster whose workers read the files: tcp://host:port, local:N for N workers on this machine, or threads"
    )
    group.add_argument("--scheduler", type=read_name, metavar="ADDRESS", help=what)
    add_problem(parser)
    add_multi_class(parser)
    add_solver(parser)
    add_backend(parser)
    group = parser.add_argument_group("score on held-out rows")
    what = "hold out this share of the rows, such as 0.25, stratified by class; for a ranking, whole groups"
    group.add_argument("--test-size", type=read_share, metavar="SHARE", help=what)
    what = "score on this number of folds of the training rows"
    group.add_argument("--cv", type=read_fold_count, metavar="FOLDS", help=what)
    group.add_argument("--seed", type=read_seed, metavar="N", help="seed of the draw of rows; default 0")
    group = parser.add_argument_group("output")
    add_file(group, "--plot", "draw the result: .png, .svg or .pdf")
    group.add_argument(
        "--axes", nargs=2, type=read_name, metavar=("X", "Y"), help="the features that the picture shows"
    )
    add_file(group, "--save", "write the decision function to this .npz file", "MODEL")
    what = "save probabilities for `predict`: a curve fitted to the decision values of five held-out folds"
    group.add_argument("--probability", action="store_true", help=what)
    what = "save bounds for `predict`: an interval that contains f of every exact optimum, rounding errors included"
    group.add_argument("--bounds", action="store_true", help=what)
    what = "write a proof of how far the result is from the optimum, rounding errors included; `verify` checks it"
    add_file(group, "--proof", what)
    parser.set_defaults(run=solve.run)


def _add_predict(parser: CommandParser) -> None:
    parser.add_argument("model", type=read_file_name, help="an .npz file written by `solve --save`")
    parser.add_argument("file", type=read_file_name, nargs="+", help="files with the same columns; - is standard input")
    add_stream(parser)
    what = "leave out rows with a missing value that cannot be imputed; by default they are answered NA"
    parser.add_argument("--drop-missing", action="store_true", help=what)
    what = "start each line with the value of this column, or, for row, with the number of the row, from 0"
    parser.add_argument("--id", type=read_name, metavar="COLUMN", help=what)
    add_missing_texts(parser, "those of the training file")
    add_encoding(parser)
    what = "write labels and decision values as CSV, instead of one label per line; - is standard output"
    add_file(parser, "--output", what)
    what = "add the probability of the positive label; the model needs `solve --probability`"
    parser.add_argument("--probability", action="store_true", help=what)
    what = (
        "add lower and upper bounds on f of every exact optimum, and whether the label is proven; the model needs "
        "`solve --bounds`"
    )
    parser.add_argument("--bounds", action="store_true", help=what)
    parser.set_defaults(run=predict.run)


def _add_verify(parser: CommandParser) -> None:
    parser.add_argument("proof", type=read_file_name, help="a .json file")
    what = "the samples: CSV, LIBSVM (both may be compressed by gzip, bzip2 or xz), or .npy"
    add_file(parser, "--data", what, required=True)
    what = "target column, or a .npy file, if the proof does not name it"
    parser.add_argument("--target", type=read_name, metavar="COLUMN", help=what)
    what = "largest accepted relative gap, whatever the proof claims; default 1e-6"
    parser.add_argument("--tol", type=float, default=1e-6, help=what)
    what = (
        "rows of the data, counted from 0, such as 17,203, that the proof must not use: refuted if it uses one of them"
    )
    parser.add_argument("--without", type=read_rows, default=(), metavar="ROWS", help=what)
    parser.add_argument("--verbose", action="store_true", help="show progress")
    parser.set_defaults(run=verify.run)


def _add_solve_options(parser: CommandParser) -> None:
    """Add the options of data, problem, several classes and solver."""
    add_data(parser)
    add_problem(parser)
    add_multi_class(parser)
    add_solver(parser)


def _add_compare(parser: CommandParser) -> None:
    _add_solve_options(parser)
    group = parser.add_argument_group("comparison")
    what = "names from `backends`, or auto, separated by commas (repeatable); default all"
    group.add_argument("--backend", type=read_names, action="append", metavar="NAME", help=what)
    group.add_argument("--repeat", type=int, default=1, metavar="N", help="times are medians of N solves; default 1")
    what = "text (default), csv, json, latex"
    group.add_argument("--format", type=make_word_reader(tables.FORMATS), default="text", metavar="FORMAT", help=what)
    parser.set_defaults(run=tables.run_compare)


def _add_importance(parser: CommandParser) -> None:
    _add_solve_options(parser)
    add_backend(parser)
    group = parser.add_argument_group("importance")
    what = "hold out this share of the rows, and score on it"
    group.add_argument("--test-size", type=read_share, metavar="SHARE", help=what)
    what = "number of shuffles per column; default 10"
    group.add_argument("--repeats", type=read_repeats, default=10, metavar="N", help=what)
    what = (
        "one of scikit-learn's scorers; default balanced_accuracy, r2 for a regression, the pinball loss for a quantile"
    )
    group.add_argument("--scoring", metavar="NAME", help=what)
    group.add_argument("--seed", type=read_seed, metavar="N", help="seed of the draws; default 0")
    add_file(group, "--plot", "draw the importances: .png, .svg or .pdf")
    parser.set_defaults(run=importance.run)


def _add_grid(parser: CommandParser) -> None:
    """Add the options of a problem with several values of each parameter."""
    add_data(parser)
    group = parser.add_argument_group("problem: values separated by commas span the grid")
    add_variant(group)
    add_parameters(group, read_numbers, tables.parse_values)
    group = parser.add_argument_group("solver")
    add_tolerance(group, "relative gap to reach")
    add_time_limit(group, "time limit in seconds, for each point or exact path")
    group.add_argument("--n-jobs", type=int, metavar="N", help="number of processes; -1 is one per core")
    group.add_argument("--verbose", action="store_true", help="show progress")


def _add_path(parser: CommandParser) -> None:
    _add_grid(parser)
    group = parser.add_argument_group("every value of an interval, not only a grid")
    what = "the optimum for every value in an interval, such as --C 0.05,100, each piece certified"
    group.add_argument("--exact", action="store_true", help=what)
    add_file(group, "--output", "write the pieces as CSV")
    add_file(group, "--plot", "draw the multipliers: .png, .svg or .pdf")
    parser.set_defaults(run=exact.run_path)


def _add_cross_validate(parser: CommandParser) -> None:
    _add_grid(parser)
    add_multi_class(parser)
    group = parser.add_argument_group("folds")
    what = "number of folds, stratified if there are classes; default 5"
    group.add_argument("--folds", type=int, default=5, help=what)
    group.add_argument("--shuffle", action="store_true", help="draw the folds at random")
    group.add_argument("--seed", type=int, help="seed of the draw")
    what = (
        "one of scikit-learn's scorers; default accuracy, r2 for a regression, the negative pinball loss for a quantile"
    )
    group.add_argument("--scoring", help=what)
    add_file(group, "--plot", "draw the scores: .png, .svg or .pdf")
    add_file(group, "--save", "train with the best parameters on all rows, and write the model", "MODEL")
    parser.set_defaults(run=tables.run_cross_validate)


def _add_leave_one_out(parser: CommandParser) -> None:
    add_data(parser)
    add_problem(parser)
    group = parser.add_argument_group("solver")
    add_tolerance(group, "relative gap of each machine")
    add_time_limit(group, "time limit in seconds; the results so far are printed")
    group.add_argument("--verbose", action="store_true", help="show progress")
    add_file(parser, "--output", "write decision value and gap of each row as CSV")
    parser.set_defaults(run=exact.run_leave_one_out)


def _add_derive(parser: CommandParser) -> None:
    add_variant(parser.add_argument_group("machine"), is_required=True)
    add_data(parser, "--data", dest="file", metavar="FILE")
    add_parameters(parser.add_argument_group("problem"))
    add_solver(parser)
    add_backend(parser)
    add_file(parser, "--html", "write a page for the browser, which needs no network", "PAGE")
    add_file(parser, "--latex", "write an article that LaTeX compiles", "ARTICLE")
    what = "show only these equations, such as CSVM.4,CSVM.9"
    parser.add_argument("--steps", type=read_names, action="extend", metavar="TAGS", help=what)
    what = "show next to each residual what is proven about it, rounding errors included"
    parser.add_argument("--proven", action="store_true", help=what)
    parser.set_defaults(run=derive.run)


def _add_play(parser: CommandParser) -> None:
    add_data(parser, "--data", dest="file", metavar="FILE")
    parser.add_argument("--axes", nargs=2, type=read_name, metavar=("X", "Y"), help="the features that the page shows")
    add_problem(parser)
    what = f"port of the page, 0 for any free one; default {PORT}"
    parser.add_argument("--port", type=int, default=PORT, metavar="P", help=what)
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening a browser")
    parser.set_defaults(run=play.run, verbose=False)


def _add_example(parser: CommandParser) -> None:
    parser.add_argument("file", nargs="*", type=read_file_name, help="one of these names, in any folder")
    parser.set_defaults(run=example.run)


def _add_backends(parser: CommandParser) -> None:
    parser.set_defaults(run=tables.list_backends)
