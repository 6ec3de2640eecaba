"""`derive`: the derivation of the dual, measured on a file."""

from __future__ import annotations

import argparse
from dataclasses import replace

from qpsvm.derivation import derive
from qpsvm.faces.cli.commands.solve import CODES
from qpsvm.faces.cli.data import read
from qpsvm.faces.cli.options import settings, settle
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.machines import Problem
from qpsvm.program.solution import Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.call import solve

#: With all rounding counted, hardly any result has a gap this small. Asking for it polishes to the last digit.
TO_THE_LAST_DIGIT = 1e-15


def run(options: argparse.Namespace) -> int:
    """Print every step with its residual, and write the page."""
    settle(options)
    require_writable(options.html)
    problem = read(options).problem(options)
    result = _solved_to_the_last_digit(problem, options)
    derivation = derive(problem, result, proven=options.proven)
    print(derivation)
    if options.html is not None:
        derivation.to_html(options.html)
        print(f"\nwritten: {options.html}")
    return CODES.get(result.status, 1)


def _solved_to_the_last_digit(problem: Problem, options: argparse.Namespace) -> SVMResult:
    """The result as `solve` gives it, or a better one where another round of polishing finds it.

    The tolerance asked for decides on the status. But a derivation looks at equations, and an error in α, or in a
    slack, may be as large as the square root of the gap.
    """
    asked = settings(options)
    result = solve(problem, options.backend, options.form, **asked)
    if result.status is not Status.OPTIMAL or options.no_polish:
        return result
    better = solve(problem, result.backend, result.form, **{**asked, "tol": TO_THE_LAST_DIGIT})  # type: ignore[arg-type]
    return replace(better, status=Status.OPTIMAL) if better.gap < result.gap else result
