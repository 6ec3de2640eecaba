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

import argparse
from typing import Any

from qpsvm import __version__
from qpsvm.faces.cli.command_parser import CommandParser
from qpsvm.faces.cli.commands import derive, exact, example, importance, play, predict, solve, tables
from qpsvm.faces.cli.commands import verify as proving
from qpsvm.faces.cli.option_values import (
    file_name,
    fold_count,
    make_word_reader,
    name,
    names,
    numbers,
    parse_rows,
    parse_share,
    repeats,
    seed,
)
from qpsvm.faces.cli.options import (
    add_backend,
    add_data,
    add_encoding,
    add_missing_texts,
    add_multi_class,
    add_parameters,
    add_problem,
    add_solver,
    add_stream,
    add_variant,
)
from qpsvm.faces.cli.shell import find_command
from qpsvm.faces.play.server import PORT

#: The command as in the examples; the help replaces it by the command for this shell.
PROGRAM = "python -m qpsvm"
#: Text below the help: the examples above.
EXAMPLES = "examples:" + (__doc__ or "").partition("examples:")[2]


def _add_file(group: argparse._ActionsContainer, option: str, what: str, metavar: str = "FILE", **how: Any) -> None:
    """Add an option that names a file."""
    group.add_argument(option, type=file_name, metavar=metavar, help=what, **how)


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

    solving = commands.add_parser("solve", help="solve one problem with the samples of a file", epilog=examples)
    add_data(solving, nargs="+")
    add_stream(solving)
    group = solving.add_argument_group("solve on a cluster")
    what = (
        "Dask cluster whose workers read the files: tcp://host:port, local:N for N workers on this machine, or threads"
    )
    group.add_argument("--scheduler", type=name, metavar="ADDRESS", help=what)
    add_problem(solving)
    add_multi_class(solving)
    add_solver(solving)
    add_backend(solving)
    group = solving.add_argument_group("score on held-out rows")
    what = "hold out this share of the rows, such as 0.25, stratified by class; for a ranking, whole groups"
    group.add_argument("--test-size", type=parse_share, metavar="SHARE", help=what)
    group.add_argument(
        "--cv", type=fold_count, metavar="FOLDS", help="score on this number of folds of the training rows"
    )
    group.add_argument("--seed", type=seed, metavar="N", help="seed of the draw of rows; default 0")
    group = solving.add_argument_group("output")
    _add_file(group, "--plot", "draw the result: .png, .svg or .pdf")
    group.add_argument("--axes", nargs=2, type=name, metavar=("X", "Y"), help="the features that the picture shows")
    _add_file(group, "--save", "write the decision function to this .npz file", "MODEL")
    what = "save probabilities for `predict`: a curve fitted to the decision values of five held-out folds"
    group.add_argument("--probability", action="store_true", help=what)
    what = "save bounds for `predict`: an interval that contains f of every exact optimum, rounding errors included"
    group.add_argument("--bounds", action="store_true", help=what)
    what = "write a proof of how far the result is from the optimum, rounding errors included; `verify` checks it"
    _add_file(group, "--proof", what)
    solving.set_defaults(run=solve.run)

    predicting = commands.add_parser("predict", help="predict with a saved model")
    predicting.add_argument("model", type=file_name, help="an .npz file written by `solve --save`")
    predicting.add_argument("file", type=file_name, nargs="+", help="files with the same columns; - is standard input")
    add_stream(predicting)
    what = "leave out rows with a missing value that cannot be imputed; by default they are answered NA"
    predicting.add_argument("--drop-missing", action="store_true", help=what)
    what = "start each line with the value of this column, or, for row, with the number of the row, from 0"
    predicting.add_argument("--id", type=name, metavar="COLUMN", help=what)
    add_missing_texts(predicting, "those of the training file")
    add_encoding(predicting)
    what = "write labels and decision values as CSV, instead of one label per line; - is standard output"
    _add_file(predicting, "--output", what)
    what = "add the probability of the positive label; the model needs `solve --probability`"
    predicting.add_argument("--probability", action="store_true", help=what)
    what = (
        "add lower and upper bounds on f of every exact optimum, and whether the label is proven; the model needs "
        "`solve --bounds`"
    )
    predicting.add_argument("--bounds", action="store_true", help=what)
    predicting.set_defaults(run=predict.run)

    verifying = commands.add_parser(
        "verify", help="check a proof that `solve --proof` wrote", description="Check every claim of a proof file with "
        "integers and fractions alone, by\nqpsvm/bounds/proof/checker.py, which also runs without this library. "
        "Exit code 0: all claims\nare confirmed, and they state that alpha is feasible and how large the gap is; "
        "1: one of these\nis refuted or open; 2: a file cannot be used.",
    )  # fmt: skip
    verifying.add_argument("proof", type=file_name, help="a .json file")
    what = "the samples: CSV, LIBSVM (both may be compressed by gzip, bzip2 or xz), or .npy"
    _add_file(verifying, "--data", what, required=True)
    what = "target column, or a .npy file, if the proof does not name it"
    verifying.add_argument("--target", type=name, metavar="COLUMN", help=what)
    what = "largest accepted relative gap, whatever the proof claims; default 1e-6"
    verifying.add_argument("--tol", type=float, default=1e-6, help=what)
    what = (
        "rows of the data, counted from 0, such as 17,203, that the proof must not use: refuted if it uses one of them"
    )
    verifying.add_argument("--without", type=parse_rows, default=(), metavar="ROWS", help=what)
    verifying.add_argument("--verbose", action="store_true", help="show progress")
    verifying.set_defaults(run=proving.run)

    comparing = commands.add_parser("compare", help="compare all backends on one file", epilog=examples)
    add_data(comparing)
    add_problem(comparing)
    add_multi_class(comparing)
    add_solver(comparing)
    group = comparing.add_argument_group("comparison")
    what = "names from `backends`, or auto, separated by commas (repeatable); default all"
    group.add_argument("--backend", type=names, action="append", metavar="NAME", help=what)
    group.add_argument("--repeat", type=int, default=1, metavar="N", help="times are medians of N solves; default 1")
    what = "text (default), csv, json, latex"
    group.add_argument("--format", type=make_word_reader(tables.FORMATS), default="text", metavar="FORMAT", help=what)
    comparing.set_defaults(run=tables.run)

    weighing = commands.add_parser(
        "importance", help="measure how much the predictions depend on each column", epilog=examples
    )
    add_data(weighing)
    add_problem(weighing)
    add_multi_class(weighing)
    add_solver(weighing)
    add_backend(weighing)
    group = weighing.add_argument_group("importance")
    group.add_argument(
        "--test-size", type=parse_share, metavar="SHARE", help="hold out this share of the rows, and score on it"
    )
    group.add_argument(
        "--repeats", type=repeats, default=10, metavar="N", help="number of shuffles per column; default 10"
    )
    what = (
        "one of scikit-learn's scorers; default balanced_accuracy, r2 for a regression, the pinball loss for a quantile"
    )
    group.add_argument("--scoring", metavar="NAME", help=what)
    group.add_argument("--seed", type=seed, metavar="N", help="seed of the draws; default 0")
    _add_file(group, "--plot", "draw the importances: .png, .svg or .pdf")
    weighing.set_defaults(run=importance.run)

    for command, what, action in (
        ("path", "solve one problem for many parameters", exact.run_path),
        ("cross-validate", "score many parameters on held-out folds", tables.run_cross_validate),
    ):
        gridding = commands.add_parser(command, help=what, epilog=examples)
        add_data(gridding)
        group = gridding.add_argument_group("problem: values separated by commas span the grid")
        add_variant(group)
        add_parameters(group, numbers, tables.parse_values)
        group = gridding.add_argument_group("solver")
        group.add_argument(
            "--tol", type=float, default=1e-6, help="relative gap to reach, rounding errors included; default 1e-6"
        )
        group.add_argument(
            "--time-limit", type=float, metavar="SECONDS", help="time limit in seconds, for each point or exact path"
        )
        group.add_argument("--n-jobs", type=int, metavar="N", help="number of processes; -1 is one per core")
        group.add_argument("--verbose", action="store_true", help="show progress")
        if command == "path":
            group = gridding.add_argument_group("every value of an interval, not only a grid")
            what = "the optimum for every value in an interval, such as --C 0.05,100, each piece certified"
            group.add_argument("--exact", action="store_true", help=what)
            _add_file(group, "--output", "write the pieces as CSV")
            _add_file(group, "--plot", "draw the multipliers: .png, .svg or .pdf")
        else:
            add_multi_class(gridding)
            group = gridding.add_argument_group("folds")
            group.add_argument(
                "--folds", type=int, default=5, help="number of folds, stratified if there are classes; default 5"
            )
            group.add_argument("--shuffle", action="store_true", help="draw the folds at random")
            group.add_argument("--seed", type=int, help="seed of the draw")
            what = "one of scikit-learn's scorers; default accuracy, r2 for a regression, the negative pinball loss"
            group.add_argument("--scoring", help=f"{what} for a quantile")
            _add_file(group, "--plot", "draw the scores: .png, .svg or .pdf")
            _add_file(group, "--save", "train with the best parameters on all rows, and write the model", "MODEL")
        gridding.set_defaults(run=action)

    leaving = commands.add_parser(
        "leave-one-out", help="predict each row by the machine trained without it, exactly", epilog=examples
    )
    add_data(leaving)
    add_problem(leaving)
    group = leaving.add_argument_group("solver")
    group.add_argument(
        "--tol", type=float, default=1e-6, help="relative gap of each machine, rounding errors included; default 1e-6"
    )
    group.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="time limit in seconds; the results so far are printed"
    )
    group.add_argument("--verbose", action="store_true", help="show progress")
    _add_file(leaving, "--output", "write decision value and gap of each row as CSV")
    leaving.set_defaults(run=exact.run_leave_one_out)

    deriving = commands.add_parser(
        "derive", help="derive the dual equation by equation, measured on a file or in symbols", epilog=examples
    )
    add_variant(deriving.add_argument_group("machine"), "variant")
    add_data(deriving, "--data", dest="file", metavar="FILE")
    add_parameters(deriving.add_argument_group("problem"))
    add_solver(deriving)
    add_backend(deriving)
    _add_file(deriving, "--html", "write a page for the browser, which needs no network", "PAGE")
    _add_file(deriving, "--latex", "write an article that LaTeX compiles", "ARTICLE")
    deriving.add_argument(
        "--steps", type=names, action="extend", metavar="TAGS", help="show only these equations, such as CSVM.4,CSVM.9"
    )
    what = "show next to each residual what is proven about it, rounding errors included"
    deriving.add_argument("--proven", action="store_true", help=what)
    deriving.set_defaults(run=derive.run)

    playing = commands.add_parser(
        "play", help="open a page on which dragged samples are solved and certified as they move", epilog=examples
    )
    add_data(playing, "--data", dest="file", metavar="FILE")
    playing.add_argument("--axes", nargs=2, type=name, metavar=("X", "Y"), help="the features that the page shows")
    add_problem(playing)
    playing.add_argument(
        "--port", type=int, default=PORT, metavar="P", help=f"port of the page, 0 for any free one; default {PORT}"
    )
    playing.add_argument("--no-browser", action="store_true", help="print the address without opening a browser")
    playing.set_defaults(run=play.run, verbose=False)

    giving = commands.add_parser(
        "example", help="write the tables that these examples use", description="Write tables by name: "
        f"{', '.join(example.TABLES)}.\nWithout a name, describe them.", epilog=examples,
    )  # fmt: skip
    giving.add_argument("file", nargs="*", type=file_name, help="one of these names, in any folder")
    giving.set_defaults(run=example.run)

    listed = commands.add_parser("backends", help="list what is installed, and what it supports")
    listed.set_defaults(run=tables.list_backends)
    return parser
