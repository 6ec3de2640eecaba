"""Run `derive`: derive the dual, measured on a file or in symbols."""

from __future__ import annotations

import argparse
from dataclasses import replace

from qpsvm.base.errors import ParameterError
from qpsvm.derivation import Derivation, derive
from qpsvm.derivation.written.page import require_extra
from qpsvm.faces.cli.commands.solve import EXIT_CODES
from qpsvm.faces.cli.data import read_dataset
from qpsvm.faces.cli.options import build_settings
from qpsvm.faces.cli.problem_options import FILE_OPTIONS, VARIANTS, apply_defaults
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.machines import Problem, registry
from qpsvm.program.status import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: With rounding errors included, hardly any result has a gap this small. Requesting it polishes to the last digit.
PRECISE_TOL = 1e-15

#: Options that need a file, or a result on it.
DATA_OPTIONS = (*FILE_OPTIONS, "proven", "form")


def run(options: argparse.Namespace) -> int:
    """Print every step with its residual, or in symbols without data, and write the page or the article.

    Raises ParameterError, UnknownOptionError.
    """
    for path in (options.html, options.latex):
        require_writable(path)
    if options.html is not None:
        require_extra()
    derivation, code = _derive_from_data(options) if options.file is not None else (_derive_symbolically(options), 0)
    print(derivation.to_text(options.verbose))
    if options.html is not None:
        derivation.to_html(options.html)
    if options.latex is not None:
        derivation.to_latex(options.latex, standalone=True)
    for path in filter(None, (options.html, options.latex)):
        print(f"\nwritten: {path}")
    return code


def _derive_from_data(options: argparse.Namespace) -> tuple[Derivation, int]:
    """Build the derivation on a file, and the exit code."""
    apply_defaults(options)
    problem = read_dataset(options).build_problem(options)
    result = _solve_precisely(problem, options)
    found = derive(problem, result, proven=options.proven, steps=options.steps)
    return found, EXIT_CODES.get(result.status, 1)


def _derive_symbolically(options: argparse.Namespace) -> Derivation:
    """Build the derivation of a machine without data. Raises ParameterError."""
    for name in DATA_OPTIONS:
        if getattr(options, name):
            raise ParameterError(f"--{name.replace('_', '-')} needs data: add --data FILE, or leave it out")
    known = ("kernel", *registry.list_options(VARIANTS[options.variant]))
    given = {name: getattr(options, name) for name in known if getattr(options, name) is not None}
    apply_defaults(options)
    if given.get("intercept") == "none":
        given["intercept"] = None
    return derive(VARIANTS[options.variant], steps=options.steps, **given)


def _solve_precisely(problem: Problem, options: argparse.Namespace) -> SVMResult:
    """Return the result of `solve`, or a better one if another round of polishing finds it.

    The requested tolerance decides the status. But a derivation evaluates equations, and the error of α, or of a slack,
    may be as large as the square root of the gap.
    """
    asked = build_settings(options)
    result = solve(problem, options.backend, options.form, **asked)
    if result.status is not Status.OPTIMAL or options.no_polish:
        return result
    better = solve(problem, result.backend, result.form, **{**asked, "tol": PRECISE_TOL})  # type: ignore[arg-type]
    return replace(better, status=Status.OPTIMAL) if better.gap < result.gap else result
