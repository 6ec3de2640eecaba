"""Define the commands and their options.

examples:
  python -m qpsvm
      the solvers in use on scikit-learn's breast_cancer; with --all every installed backend, in each form
  python -m qpsvm example customers.csv new_customers.csv iris.csv houses.csv results.csv train.py
      the tables of the lines below
  python -m qpsvm solve customers.csv --target bought --missing median --standardise --save model.npz
      a CSV file: a text column becomes one 0/1 column for each category
  python -m qpsvm predict model.npz new_customers.csv
  python -m qpsvm solve customers.csv --target bought --missing median --proof proof.json
  python -m qpsvm verify proof.json --data customers.csv
      a theorem about the very numbers of the result, and a check of it by whole numbers alone
  python -m qpsvm solve customers.csv --target bought --missing median --test-size 0.25 --cv 5 --plot bought.png
      the scores on rows that did not train, the confusion matrix, and a picture
  python -m qpsvm importance customers.csv --target bought --missing median --class-weight balanced --test-size 0.25
      what each column is worth to the predictions
  python -m qpsvm solve iris.csv --target species --test-size 0.3
      any number of classes; --multi-class ovr and --variant crammer-singer are other ways
  python -m qpsvm solve houses.csv --target price --variant epsilon-svr --epsilon 5 --C 100 --kernel rbf --standardise
      regression: the target is a number; nu-svr and quantile-svr are others
  python -m qpsvm solve customers.csv --drop bought --missing median --standardise --variant one-class --nu 0.1
      what is new: no target is needed; svdd is the ball around the rows
  python -m qpsvm solve results.csv --target points --groups race --variant ranking
      an order: rows of one group are compared with each other
  python -m qpsvm compare iris.csv --target species --backend osqp,libsvm --repeat 5 --format csv > table.csv
  python -m qpsvm cross-validate iris.csv --target species --kernel rbf --C 0.1,1,10 --gamma 0.01,0.1,1 --save iris.npz
      the accuracy of nine machines on five folds, and the best of them
  python -m qpsvm path iris.csv --target species --positive virginica --C 0.05,100 --exact --plot path.png
      the optimum of every C between two, not of a grid
  python -m qpsvm leave-one-out iris.csv --target species --positive virginica --kernel rbf --C 10
      the error of the machines without each row, exactly
  python -m qpsvm derive c --data iris.csv --target species --positive setosa --html derivation.html
  python -m qpsvm derive epsilon-svr --intercept penalised --steps ESVR.5,ESVR.9
      the derivation of the dual, each equation beside its code and measured on this data
  python -m qpsvm play --data iris.csv --target species --positive setosa --axes petal_length petal_width
      a page in the browser on which samples are dragged and everything is solved again
  python -m qpsvm solve 'part-*.parquet' --target y --standardise --save model.npz
      more rows than memory holds: Parquet, Feather, .npy, and text with --stream are read in blocks
  cat customers.csv | python -m qpsvm solve - --target bought --missing median
      standard input, CSV or LIBSVM
      a program of yours that imports from sklearn.svm, run on these estimators
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
    add_multi_class,
    add_parameters,
    add_problem,
    add_solver,
    add_stream,
    add_variant,
)
from qpsvm.faces.cli.shell import find_command
from qpsvm.faces.play.server import PORT

#: The command as the examples write it; the help has it as this shell takes it.
PROGRAM = "python -m qpsvm"
#: What stands below the help: the examples above.
EXAMPLES = "examples:" + (__doc__ or "").partition("examples:")[2]


def _add_file(group: argparse._ActionsContainer, option: str, what: str, metavar: str = "FILE", **how: Any) -> None:
    """Add an option that names a file."""
    group.add_argument(option, type=file_name, metavar=metavar, help=what, **how)


def make_parser() -> CommandParser:
    """The parser. Of the options that it returns, `options.run(options)` runs the command that was asked for."""
    program = find_command()
    examples = EXAMPLES.replace(PROGRAM, program)
    parser = CommandParser(
        prog=program, description="Support vector machines as explicit quadratic programs, certified.", epilog=examples
    )
    parser.add_argument("--version", action="version", version=f"qpsvm {__version__}")
    what = "without a command: every installed backend in each form, the textbook methods too"
    parser.add_argument("--all", action="store_true", help=what)
    parser.set_defaults(run=tables.demonstrate)
    commands = parser.add_subparsers(title="commands", metavar="", dest="command", parser_class=CommandParser)
    parser.commands = commands.choices

    solving = commands.add_parser("solve", help="solve one problem on a file", epilog=examples)
    add_data(solving, nargs="+")
    add_stream(solving)
    group = solving.add_argument_group("solve on several machines, or in several sittings")
    what = "a Dask cluster whose workers read the files: tcp://host:port, local:N for N workers here, or threads"
    group.add_argument("--scheduler", type=name, metavar="ADDRESS", help=what)
    add_problem(solving)
    add_multi_class(solving)
    add_solver(solving)
    add_backend(solving)
    group = solving.add_argument_group("score on rows that do not train")
    what = "hold out this share of the rows, such as 0.25: of each class in proportion, of a ranking whole groups"
    group.add_argument("--test-size", type=parse_share, metavar="SHARE", help=what)
    group.add_argument("--cv", type=fold_count, metavar="FOLDS", help="score on so many folds of the rows that train")
    group.add_argument("--seed", type=seed, metavar="N", help="of the draw of rows; default 0")
    group = solving.add_argument_group("what is written")
    _add_file(group, "--plot", "a picture: .png, .svg or .pdf")
    group.add_argument("--axes", nargs=2, type=name, metavar=("X", "Y"), help="the features that the picture shows")
    _add_file(group, "--save", "write the decision function to this .npz file", "MODEL")
    what = "let `predict` say how likely each label is: a curve fitted to the machines without each row, exactly"
    group.add_argument("--probability", action="store_true", help=what)
    what = "let `predict` say between which numbers f of every exact optimum lies, whatever was rounded"
    group.add_argument("--bounds", action="store_true", help=what)
    what = "prove how far from the optimum these very numbers are, whatever was rounded; `verify` checks this file"
    _add_file(group, "--proof", what)
    solving.set_defaults(run=solve.run)

    predicting = commands.add_parser("predict", help="predict with a saved model")
    predicting.add_argument("model", type=file_name, help="an .npz file that `solve --save` wrote")
    predicting.add_argument("file", type=file_name, nargs="+", help="files with the same columns; - is standard input")
    add_stream(predicting)
    what = "leave out rows that lack a value which cannot be filled in; they are answered by NA otherwise"
    predicting.add_argument("--drop-missing", action="store_true", help=what)
    what = "begin each line with what this column has, or with the number of the row, from 0: row"
    predicting.add_argument("--id", type=name, metavar="COLUMN", help=what)
    what = "write a CSV file of labels and decision values, not one label a line; - is standard output"
    _add_file(predicting, "--output", what)
    what = "the probability of the positive label as well; of a model by `solve --probability`"
    predicting.add_argument("--probability", action="store_true", help=what)
    what = "lower and upper bounds of f of every exact optimum, and whether the label is proven; of `solve --bounds`"
    predicting.add_argument("--bounds", action="store_true", help=what)
    predicting.set_defaults(run=predict.run)

    verifying = commands.add_parser(
        "verify", help="check a proof that `solve --proof` wrote", description="Check every claim of a proof file with "
        "whole numbers and fractions alone, by\nqpsvm/bounds/proof/checker.py, which runs without this library, too. "
        "Exit code 0: all are confirmed, and they say that alpha is feasible and how large the gap is;\n"
        "1: one of these is refuted or open; 2: a file cannot be used.",
    )  # fmt: skip
    verifying.add_argument("proof", type=file_name, help="a .json file")
    what = "the samples: CSV, LIBSVM (both may be packed by gzip, bzip2 or xz), or .npy"
    _add_file(verifying, "--data", what, required=True)
    what = "where the proof does not name it: a column, or a .npy file"
    verifying.add_argument("--target", type=name, metavar="COLUMN", help=what)
    what = "what the relative gap is to be at most, whatever the proof claims (default: 1e-6)"
    verifying.add_argument("--tol", type=float, default=1e-6, help=what)
    what = (
        "rows of the data, from 0, such as 17,203, that the proof is to be without: refuted where one has a part in it"
    )
    verifying.add_argument("--without", type=parse_rows, default=(), metavar="ROWS", help=what)
    verifying.add_argument("--verbose", action="store_true", help="show progress")
    verifying.set_defaults(run=proving.run)

    comparing = commands.add_parser("compare", help="every backend on one file", epilog=examples)
    add_data(comparing)
    add_problem(comparing)
    add_multi_class(comparing)
    add_solver(comparing)
    group = comparing.add_argument_group("comparison")
    what = "names from `backends`, or auto, with commas between them (repeatable); default all"
    group.add_argument("--backend", type=names, action="append", metavar="NAME", help=what)
    group.add_argument("--repeat", type=int, default=1, metavar="N", help="times are medians of N solves; default 1")
    what = "text (default), csv, json, latex"
    group.add_argument("--format", type=make_word_reader(tables.FORMATS), default="text", metavar="FORMAT", help=what)
    comparing.set_defaults(run=tables.run)

    weighing = commands.add_parser("importance", help="what each column is worth to the predictions", epilog=examples)
    add_data(weighing)
    add_problem(weighing)
    add_multi_class(weighing)
    add_solver(weighing)
    add_backend(weighing)
    group = weighing.add_argument_group("importance")
    group.add_argument(
        "--test-size", type=parse_share, metavar="SHARE", help="score on this share of the rows, held out"
    )
    group.add_argument("--repeats", type=repeats, default=10, metavar="N", help="how often a column is shuffled; 10")
    what = (
        "one of scikit-learn's scorers; default balanced_accuracy, r2 of a regression, of a quantile its pinball loss"
    )
    group.add_argument("--scoring", metavar="NAME", help=what)
    group.add_argument("--seed", type=seed, metavar="N", help="of the draws; default 0")
    _add_file(group, "--plot", "draw it: .png, .svg or .pdf")
    weighing.set_defaults(run=importance.run)

    for command, what, action in (
        ("path", "one problem for many parameters", exact.run_path),
        ("cross-validate", "score many parameters on rows that did not train them", tables.run_cross_validate),
    ):
        gridding = commands.add_parser(command, help=what, epilog=examples)
        add_data(gridding)
        group = gridding.add_argument_group("problem: values with commas between them span the grid")
        add_variant(group)
        add_parameters(group, numbers, tables.parse_values)
        group = gridding.add_argument_group("solver")
        group.add_argument("--tol", type=float, default=1e-6, help="relative gap to reach, rounding included (1e-6)")
        group.add_argument("--time-limit", type=float, metavar="SECONDS", help="seconds for each point, or exact path")
        group.add_argument("--n-jobs", type=int, metavar="N", help="processes; -1 is one for each core")
        group.add_argument("--verbose", action="store_true", help="show progress")
        if command == "path":
            group = gridding.add_argument_group("every value, not only those of a grid")
            what = "the optimum of every value between two, such as --C 0.05,100, each piece certified"
            group.add_argument("--exact", action="store_true", help=what)
            _add_file(group, "--output", "write the pieces as CSV")
            _add_file(group, "--plot", "draw the multipliers: .png, .svg or .pdf")
        else:
            add_multi_class(gridding)
            group = gridding.add_argument_group("folds")
            group.add_argument("--folds", type=int, default=5, help="stratified where there are classes; default 5")
            group.add_argument("--shuffle", action="store_true", help="draw the folds at random")
            group.add_argument("--seed", type=int, help="of the draw")
            what = "one of scikit-learn's scorers; default accuracy, r2 of a regression, and of a quantile its pinball"
            group.add_argument("--scoring", help=f"{what} loss, negative")
            _add_file(group, "--plot", "draw the scores: .png, .svg or .pdf")
            _add_file(group, "--save", "train the best on all rows", "MODEL")
        gridding.set_defaults(run=action)

    leaving = commands.add_parser(
        "leave-one-out", help="what the machine without each row says of it, exactly", epilog=examples
    )
    add_data(leaving)
    add_problem(leaving)
    group = leaving.add_argument_group("solver")
    group.add_argument("--tol", type=float, default=1e-6, help="relative gap of each machine, rounding included (1e-6)")
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="seconds; what was reached is said")
    group.add_argument("--verbose", action="store_true", help="show progress")
    _add_file(leaving, "--output", "write decision and gap of each row as CSV")
    leaving.set_defaults(run=exact.run_leave_one_out)

    deriving = commands.add_parser(
        "derive", help="the derivation, equation by equation, measured on a file or in symbols", epilog=examples
    )
    add_variant(deriving.add_argument_group("machine"), "variant")
    add_data(deriving, "--data", dest="file", metavar="FILE")
    add_parameters(deriving.add_argument_group("problem"))
    add_solver(deriving)
    add_backend(deriving)
    _add_file(deriving, "--html", "write a page that opens in a browser without a network", "PAGE")
    _add_file(deriving, "--latex", "write an article that LaTeX compiles", "ARTICLE")
    deriving.add_argument(
        "--steps", type=names, action="extend", metavar="TAGS", help="show these only, such as CSVM.4,CSVM.9"
    )
    what = "beside each residual what is proven of it, whatever was rounded"
    deriving.add_argument("--proven", action="store_true", help=what)
    deriving.set_defaults(run=derive.run)

    playing = commands.add_parser(
        "play", help="a page to drag samples on, solved and certified as they move", epilog=examples
    )
    add_data(playing, "--data", dest="file", metavar="FILE")
    playing.add_argument("--axes", nargs=2, type=name, metavar=("X", "Y"), help="the features that the page shows")
    add_problem(playing)
    playing.add_argument("--port", type=int, default=PORT, metavar="P", help=f"0 for any free one; default {PORT}")
    playing.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    playing.set_defaults(run=play.run, verbose=False)

    giving = commands.add_parser(
        "example", help="write the tables that these examples use", description="Write tables by their names: "
        f"{', '.join(example.TABLES)}.\nWithout a name, say what they are.", epilog=examples,
    )  # fmt: skip
    giving.add_argument("file", nargs="*", type=file_name, help="a name of these, in any folder")
    giving.set_defaults(run=example.run)

    listed = commands.add_parser("backends", help="what is installed, and what it can take")
    listed.set_defaults(run=tables.list_backends)
    return parser
