"""The command line: `python -m qpsvm [solve | predict | compare | derive | backends]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.derivation import derive
from qpsvm.errors import DataError, FileFormatError, QPSVMError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.files import Encoding, Table, read_like, read_table
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.model import load
from qpsvm.problems import CSVM, HardMargin, NuSVM, PrimalHinge, Problem
from qpsvm.result import Status, SVMResult
from qpsvm.solve import solve

#: Seconds that a textbook method gets in a comparison.
STUDY_SECONDS = 5.0
#: Names of the variants.
VARIANTS = ("c", "nu", "hard", "hinge")
#: Gap below rounding, which no result has: asking for it polishes to the last digit.
TO_THE_LAST_DIGIT = 1e-15

EXAMPLES = """examples:
  python -m qpsvm
      every installed backend on scikit-learn's breast_cancer
  python -m qpsvm solve heart_scale --C 10 --kernel rbf --gamma scale
      a LIBSVM file: the labels are in it
  python -m qpsvm solve possum.csv --target sex --drop case --drop-missing --standardise --save model.npz
      a CSV file: text columns become one column a category
  python -m qpsvm predict model.npz possum.csv --drop-missing
  python -m qpsvm compare heart_scale --variant nu --nu 0.3 --kernel rbf
  python -m qpsvm derive c --data heart_scale --C 10 --html derivation.html
      the derivation of the dual, each equation beside its code and measured on this data
  python -m qpsvm backends
"""


#: What a shell reports of a process that Ctrl-C ended.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process where absent.

    Returns
    -------
    int
        0; 1 where a result is not optimal; 2, with one line on standard error, for what the user got wrong; 130 where
        the user pressed Ctrl-C.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except QPSVMError as error:
        print(f"qpsvm: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("qpsvm: interrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m qpsvm", description="Support vector machines as explicit quadratic programs, certified.",
        epilog=EXAMPLES, formatter_class=plain,
    )
    parser.set_defaults(run=_demonstrate)
    commands = parser.add_subparsers(title="commands", metavar="")

    solving = commands.add_parser("solve", help="solve one problem on a file", epilog=EXAMPLES, formatter_class=plain)
    _add_data(solving)
    _add_problem(solving)
    _add_solver(solving)
    solving.add_argument("--backend", default="auto", help="a name from `backends`, or auto (default)")
    solving.add_argument("--save", metavar="MODEL", help="write the decision function to this .npz file")
    solving.set_defaults(run=_solve)

    predicting = commands.add_parser("predict", help="predict with a saved model")
    predicting.add_argument("model", help="an .npz file that `solve --save` wrote")
    predicting.add_argument("file", help="CSV or LIBSVM file with the same columns")
    predicting.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    predicting.add_argument("--output", metavar="FILE", help="write label and decision value as CSV instead")
    predicting.set_defaults(run=_predict)

    comparing = commands.add_parser("compare", help="every backend on one file", epilog=EXAMPLES, formatter_class=plain)
    _add_data(comparing)
    _add_problem(comparing)
    _add_solver(comparing)
    comparing.set_defaults(run=_compare)

    deriving = commands.add_parser(
        "derive", help="the derivation, equation by equation, measured on a file", epilog=EXAMPLES,
        formatter_class=plain,
    )
    deriving.add_argument("variant", choices=VARIANTS)
    _add_data(deriving, "--data", dest="file", required=True, metavar="FILE")
    _add_parameters(deriving.add_argument_group("problem"))
    _add_solver(deriving)
    deriving.add_argument("--backend", default="auto", help="a name from `backends`, or auto (default)")
    deriving.add_argument("--html", metavar="PAGE", help="write a page that opens in a browser without a network")
    deriving.set_defaults(run=_derive)

    listing = commands.add_parser("backends", help="what is installed, and what it can take")
    listing.set_defaults(run=_list_backends)
    return parser


def _add_data(parser: argparse.ArgumentParser, name: str = "file", **how: Any) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(name, **how, help="CSV file with a header, or LIBSVM file; .gz, .bz2 and .xz are read too")
    group.add_argument("--target", metavar="COLUMN", help="the label column of a CSV file")
    group.add_argument("--positive", metavar="LABEL", help="make it this label (+1) against all others (-1)")
    group.add_argument("--drop", action="append", default=[], metavar="COLUMN", help="leave a column out (repeatable)")
    group.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    group.add_argument("--standardise", "--standardize", action="store_true", help="mean 0 and deviation 1 a column")


def _add_problem(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("problem")
    group.add_argument("--variant", choices=VARIANTS, default="c", help="default: c")
    _add_parameters(group)


def _add_parameters(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--C", type=float, default=1.0, help="price of slack (variant c; default 1)")
    group.add_argument("--nu", type=float, default=0.5, help="share of errors (variant nu; default 0.5)")
    group.add_argument("--lam", type=float, default=0.01, help="weight of the norm (variant hinge; default 0.01)")
    group.add_argument("--intercept", choices=("free", "penalised", "none"), default="free", help="variant hinge")
    group.add_argument("--kernel", choices=("linear", "rbf", "polynomial", "sigmoid"), default="linear")
    group.add_argument("--gamma", default="scale", help="a number, scale (default) or auto")
    group.add_argument("--degree", type=float, default=3, help="of the polynomial (default 3)")
    group.add_argument("--coef0", type=float, default=0.0, help="of polynomial and sigmoid (default 0)")
    group.add_argument("--psd", choices=("raise", "clip", "shift"), default="raise", help="for an indefinite kernel")


def _add_solver(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("solver")
    group.add_argument("--form", choices=("dual", "primal"), help="default: what the backend certifies best")
    group.add_argument("--tol", type=float, default=1e-6, help="certified relative gap to reach (default 1e-6)")
    group.add_argument("--max-iter", type=int)
    group.add_argument("--time-limit", type=float, metavar="SECONDS")
    group.add_argument("--no-polish", action="store_true", help="certify the solver's own point")
    group.add_argument("--verbose", action="store_true", help="show the solver's progress")


def _read(options: argparse.Namespace) -> tuple[Table, Any]:
    """The table of the file, and its labels."""
    table = read_table(
        options.file, target=options.target, drop=options.drop, drop_missing=options.drop_missing,
        standardise=options.standardise,
    )
    if table.y is None:
        raise DataError(f"{options.file} has no labels")
    y = table.y
    if options.positive is not None:
        labels = [str(label) for label in np.unique(y)]
        if options.positive not in labels:
            raise UnknownOptionError(f"no label {options.positive!r}; {nearest(options.positive, labels)}")
        y = np.where(y.astype(str) == options.positive, 1, -1)
    classes, counts = np.unique(y, return_counts=True)
    balance = ", ".join(f"{label}: {count}" for label, count in list(zip(classes, counts, strict=True))[:6])
    left_out = f"; {table.dropped} rows with missing values left out" if table.dropped else ""
    print(f"{options.file}: {table.X.shape[0]} rows x {table.X.shape[1]} features; labels {balance}{left_out}")
    return table, y


def _kernel(options: argparse.Namespace) -> Kernel:
    try:
        gamma: Any = float(options.gamma)
    except ValueError:
        gamma = options.gamma
    if options.kernel == "rbf":
        return RBF(gamma)
    if options.kernel == "polynomial":
        return Polynomial(options.degree, gamma, options.coef0)
    if options.kernel == "sigmoid":
        return Sigmoid(gamma, options.coef0)
    return Linear()


def _problem(X: Any, y: Any, options: argparse.Namespace) -> Problem:
    kernel, psd = _kernel(options), options.psd
    if options.variant == "c":
        return CSVM(X, y, options.C, kernel, psd=psd)
    if options.variant == "nu":
        return NuSVM(X, y, options.nu, kernel, psd=psd)
    if options.variant == "hard":
        return HardMargin(X, y, kernel, psd=psd)
    intercept = None if options.intercept == "none" else options.intercept
    return PrimalHinge(X, y, options.lam, kernel, intercept, psd=psd)


def _solve(options: argparse.Namespace) -> int:
    table, y = _read(options)
    problem = _problem(table.X, y, options)
    result = solve(
        problem, options.backend, options.form, tol=options.tol, polish=not options.no_polish, check=False,
        verbose=options.verbose, time_limit=options.time_limit, max_iter=options.max_iter,
    )
    if result.error is not None:
        raise result.error
    print(result.summary())
    print(f"  training    accuracy {(result.predict(table.X) == y).mean():.4f}")
    if options.save:
        _save(result, table, options.save)
        print(f"  saved       {options.save}")
    return 0 if result.status is Status.OPTIMAL else 1


def _derive(options: argparse.Namespace) -> int:
    table, y = _read(options)
    problem = _problem(table.X, y, options)
    result = _solved_to_the_last_digit(problem, options)
    derivation = derive(problem, result)
    print(derivation)
    if options.html:
        derivation.to_html(options.html)
        print(f"\nwritten: {options.html}")
    return 0 if result.status is Status.OPTIMAL else 1


def _solved_to_the_last_digit(problem: Problem, options: argparse.Namespace) -> SVMResult:
    """The result as `solve` gives it, and better where one more round of polishing makes it so.

    The tolerance asked for decides on the status; but equations are looked at here, and an error in α, or in a slack,
    is as large as the square root of the gap.
    """
    settings = {
        "polish": not options.no_polish, "check": False, "verbose": options.verbose,
        "time_limit": options.time_limit, "max_iter": options.max_iter,
    }
    result = solve(problem, options.backend, options.form, tol=options.tol, **settings)
    if result.status is not Status.OPTIMAL or options.no_polish:
        return result
    better = solve(problem, result.backend, result.form, tol=TO_THE_LAST_DIGIT, **settings)  # type: ignore[arg-type]
    return replace(better, status=Status.OPTIMAL) if better.gap < result.gap else result


def _save(result: SVMResult, table: Table, path: str) -> None:
    result.model.metadata["encoding"] = table.encoding.to_json()
    result.save(path)


def _predict(options: argparse.Namespace) -> int:
    model = load(options.model)
    if "encoding" not in model.metadata:
        raise DataError(f"{options.model} does not say how a file becomes features; use qpsvm.load(...) in Python")
    table = read_like(options.file, Encoding.from_json(model.metadata["encoding"]), drop_missing=options.drop_missing)
    values = model.decision_function(table.X)
    labels = model.classes[(values > 0).astype(int)]
    lines = [f"{label},{value:.10g}" for label, value in zip(labels, values, strict=True)]
    if options.output:
        try:
            Path(options.output).write_text("\n".join(["label,decision", *lines]) + "\n", encoding="utf-8")
        except OSError as error:
            raise FileFormatError(f"cannot write {options.output}: {error.strerror}") from None
    else:
        print("\n".join(str(label) for label in labels))
    known = table.y is not None and np.isin(np.unique(table.y), model.classes).all()
    accuracy = f", accuracy {(labels == table.y).mean():.4f}" if known else ""
    left_out = f", {table.dropped} rows with missing values left out" if table.dropped else ""
    print(f"{len(labels)} predictions{accuracy}{left_out}", file=sys.stderr)
    return 0


def _compare(options: argparse.Namespace) -> int:
    table, y = _read(options)
    problem = _problem(table.X, y, options)
    print(f"{problem.title}\n")
    limits = {"max_iter": options.max_iter, "time_limit": options.time_limit}
    _print_comparison(problem, options.form, options.tol, not options.no_polish, options.verbose, limits)
    return 0


def _demonstrate(options: argparse.Namespace) -> int:
    del options
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    problem = CSVM(X, data.target_names[data.target], C=1.0)
    print(f"breast_cancer (scikit-learn), standardised: {X.shape[0]} rows x {X.shape[1]} features")
    print(f"{problem.title}\n")
    _print_comparison(problem, None, 1e-6, True, False, {})
    print("\n'solver gap' is what the solver's own point is worth; 'gap' is certified after polishing it.")
    print("Next: python -m qpsvm --help")
    return 0


COLUMNS = (
    ("backend", "form", "status", "objective", "solver gap", "gap", "support", "margin", "bound", "build", "solve")
)


def _print_comparison(
    problem: Problem, form: Any, tol: float, polish: bool, verbose: bool, limits: dict[str, Any]
) -> None:
    """Every installed backend in every form that it takes, a line each as soon as it is there."""
    _print_row(COLUMNS)
    for name in backends.REGISTRY:
        backend = backends.get(name)
        if backend.version() is None:
            _print_row((name, "-", "not installed", *[""] * 8))
            continue
        wanted: list[Any] = [form] if form else ["dual", "primal"]
        if backend.study and not form:
            wanted = [backend.preferred_form(problem.space.is_linear)]
        for each in wanted:
            kept = {k: v for k, v in limits.items() if v is not None and k in backend.limits}
            if backend.study:
                kept.setdefault("time_limit", STUDY_SECONDS)
            try:
                result = solve(problem, name, each, tol=tol, polish=polish, check=False, verbose=verbose, **kept)
            except UnsupportedError:
                continue
            _print_row(_cells(name, result))


def _cells(name: str, result: SVMResult) -> tuple[str, ...]:
    return (
        name, result.form, str(result.status), f"{result.primal:.8g}", f"{result.solver_gap:.1e}", f"{result.gap:.1e}",
        str(len(result.support)), str(len(result.on_margin)), str(len(result.at_bound)),
        f"{1e3 * result.build_time:.1f} ms", f"{1e3 * result.solve_time:.1f} ms",
    )


def _print_row(cells: Sequence[str]) -> None:
    widths = (21, 7, 16, 13, 11, 9, 8, 7, 6, 10, 11)
    texts = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    print("".join(texts).rstrip(), flush=True)


def _list_backends(options: argparse.Namespace) -> int:
    del options
    for name in backends.REGISTRY:
        backend = backends.get(name)
        version = backend.version()
        state = f"{backend.package} {version}" if version else f"not installed: pip install {backend.package}"
        print(f"{name:<21}{state:<28}{backend.takes}")
    return 0
