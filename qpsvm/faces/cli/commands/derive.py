"""Run the command `derive`: print the derivation of the dual, with residuals on a file or, without one, in symbols."""

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

#: Tolerance that makes `solve` polish to the last digit: with rounding errors included, hardly any gap is so small.
PRECISE_TOL = 1e-15

#: Options that are refused without a file: those of reading it, and two that need a result.
DATA_OPTIONS = (*FILE_OPTIONS, "proven", "form")


def run(options: argparse.Namespace) -> int:
    """Print the steps, with residuals if there is a file, and write the page and the article; return the exit code.

    Raises ParameterError, UnknownOptionError.
    """
    for path in (options.html, options.latex):
        require_writable(path)
    if options.html is not None:
        require_extra()
    if options.file is not None:
        derivation, code = _derive_from_data(options)
    else:
        derivation = _derive_symbolically(options)
        code = 0
    print(derivation.to_text(options.verbose))
    if options.html is not None:
        derivation.to_html(options.html)
    if options.latex is not None:
        derivation.to_latex(options.latex, standalone=True)
    for path in filter(None, (options.html, options.latex)):
        print(f"\nwritten: {path}")
    return code


def _derive_from_data(options: argparse.Namespace) -> tuple[Derivation, int]:
    """Return the derivation with residuals on a file, and the exit code for the status of the result."""
    apply_defaults(options)
    problem = read_dataset(options).build_problem(options)
    result = _solve_precisely(problem, options)
    derivation = derive(problem, result, proven=options.proven, steps=options.steps)
    return derivation, EXIT_CODES.get(result.status, 1)


def _derive_symbolically(options: argparse.Namespace) -> Derivation:
    """Return the derivation of a machine in symbols. Raises ParameterError."""
    for name in DATA_OPTIONS:
        if getattr(options, name):
            raise ParameterError(f"--{name.replace('_', '-')} needs data: add --data FILE, or leave it out")
    machine = VARIANTS[options.variant]
    names = ("kernel", *registry.list_options(machine))
    parameters = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    apply_defaults(options)  # only to refuse options that would be ignored: the others stay symbols
    if parameters.get("intercept") == "none":
        parameters["intercept"] = None
    return derive(machine, steps=options.steps, **parameters)


def _solve_precisely(problem: Problem, options: argparse.Namespace) -> SVMResult:
    """Solve to the requested tolerance, which decides the status; then reduce the gap further if that is possible.

    The residuals of a derivation need a smaller gap: the error of α or of a slack may be as large as its square root.
    """
    settings = build_settings(options)
    result = solve(problem, options.backend, options.form, **settings)
    if result.status is not Status.OPTIMAL or options.no_polish:
        return result
    settings["tol"] = PRECISE_TOL
    precise = solve(problem, result.backend, result.form, **settings)  # type: ignore[arg-type]
    if precise.gap < result.gap:
        return replace(precise, status=Status.OPTIMAL)
    return result
