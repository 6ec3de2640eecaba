"""`compare`, and what runs without a command: every backend on one problem, each with a line as soon as it is done.

`backends`: what is installed, and what it can take.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from qpsvm import backends
from qpsvm.base.errors import ParameterError
from qpsvm.faces.cli.data import read
from qpsvm.faces.cli.options import settle
from qpsvm.machines import CSVM, Problem
from qpsvm.machines.problem.forms import Form
from qpsvm.many.comparison.compare import Asked, compared
from qpsvm.many.comparison.table import HEADINGS, Comparison, ComparisonRow, line

#: How the table may be written; the first as it grows, the others when it is there.
FORMATS = ("text", "csv", "json", "latex")


def run(options: argparse.Namespace) -> int:
    """Compare on a data file. Raises ParameterError."""
    settle(options)
    as_text = options.format == "text"
    if options.verbose and not as_text:
        raise ParameterError(f"--verbose prints in the middle of the {options.format}: leave one of the two out")
    problem = read(options, sys.stdout if as_text else sys.stderr).problem(options)
    chosen = [name for each in options.backend or [] for name in each] or None
    asked = Asked(
        options.tol, options.time_limit, options.max_iter, not options.no_polish, options.repeat, options.verbose
    )
    found = _compare(problem, chosen, options.form, asked, as_text)
    written = {"csv": found.to_csv, "json": found.to_json, "latex": found.to_latex}.get(options.format)
    if written is not None:
        print(written(), end="")
    return 0


def demonstrate(options: argparse.Namespace) -> int:
    """Compare on a data set that is always there."""
    del options
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = data.target_names[data.target]
    print("breast_cancer (scikit-learn), standardised")
    _compare(CSVM(X, y, C=1.0), None, None, Asked(), True)
    print("\n'solver gap' is the gap of the solver's own point; 'gap' is certified after polishing it.")
    print("Next: python -m qpsvm --help")
    return 0


def _compare(
    problem: Problem, chosen: Sequence[str] | None, form: Form | None, asked: Asked, as_text: bool
) -> Comparison:
    """The comparison, printed as it grows where it is text."""
    n, d = problem.X.shape
    rows: list[ComparisonRow] = []
    coming = compared(problem, chosen, form, asked)
    heading = Comparison(problem.title, n, d, asked.tol, (), asked.repeat).heading
    if as_text:
        print(f"{heading}\n\n{line(HEADINGS)}", flush=True)
    for row in coming:
        rows.append(row)
        if as_text:
            print(line(row.cells), flush=True)
    found = Comparison(problem.title, n, d, asked.tol, tuple(rows), asked.repeat)
    if as_text and found.notes:
        print("\n".join(found.notes))
    return found


def list_backends(options: argparse.Namespace) -> int:
    """Print a line for each backend."""
    del options
    for backend in backends.everyone():
        package, version = backend.abilities.package or ("outside" if backend.outside else "qpsvm"), backend.version()
        state = f"{package} {version}" if version else f"not installed: pip install {package}"
        print(f"{backend.name:<21}{state:<28}{backend.abilities.in_words()}")
    return 0
