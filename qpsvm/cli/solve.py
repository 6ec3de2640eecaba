"""`solve`: one problem, its certificate, and a model to keep."""

from __future__ import annotations

import argparse

from qpsvm.cli.data import read
from qpsvm.cli.options import settle
from qpsvm.cli.writing import require_writable
from qpsvm.qp.solution import Status
from qpsvm.solve import solve

#: Exit codes by status; that of any other status is 1.
CODES = {Status.OPTIMAL: 0, Status.INTERRUPTED: 130}


def run(options: argparse.Namespace) -> int:
    """Solve, print the summary, and save the model."""
    settle(options)
    require_writable(options.save)
    sample = read(options)
    problem = sample.problem(options)
    result = solve(
        problem, options.backend, options.form, tol=options.tol, polish=not options.no_polish, check=False,
        verbose=options.verbose, time_limit=options.time_limit, max_iter=options.max_iter,
    )  # fmt: skip
    if result.error is not None:
        raise result.error
    model = sample.model(result, problem)
    print(result.summary())
    if sample.learnt != "none":  # else the kinds of the vectors say it, and count what is on the boundary
        print(f"  training    {sample.training(model)}")
    if options.save is not None:
        model.save(options.save)
        print(f"  saved       {options.save}")
    return CODES.get(result.status, 1)
