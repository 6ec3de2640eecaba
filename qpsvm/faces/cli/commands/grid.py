"""`path` and `cross-validate`: many parameters of one problem, each certified, and the model of the best."""

from __future__ import annotations

import argparse
import copy
from typing import Any

from qpsvm.base.errors import ParameterError
from qpsvm.faces.cli.commands.plot import require_picture, write_picture
from qpsvm.faces.cli.data import Sample, read
from qpsvm.faces.cli.options import OF_KERNELS, PARAMETERS, WORDS, settle
from qpsvm.faces.cli.terminal import require_writable
from qpsvm.faces.plotting import scores
from qpsvm.machines import Problem
from qpsvm.machines.problem.replaced import parameters
from qpsvm.many.grid.cross_validation import cross_validate
from qpsvm.many.grid.path import path

#: An example of values of ν.
SHARES = "0.1,0.2,0.5"


def words(text: str) -> list[Any]:
    """Numbers or rules (scale, auto) with commas between them."""
    found: list[Any] = []
    for part in text.split(","):
        try:
            found.append(float(part))
        except ValueError:
            found.append(part.strip())
    return found


def run_path(options: argparse.Namespace) -> int:
    """Solve every point, and print the table."""
    problem, axes, _ = _asked(options)
    found = path(problem, **axes, **_settings(options), check=False)
    print(f"{type(problem).__name__}, kernel {type(problem.kernel).__name__}\n{found}")
    return 0 if all(result.status == "optimal" for result in found) else 1


def run_cross_validate(options: argparse.Namespace) -> int:
    """Score every point on the folds, print the table, and keep the model of the best."""
    require_writable(options.save)
    require_picture(options.plot)
    problem, axes, sample = _asked(options)
    if options.plot is not None and len(axes) > 2:
        raise ParameterError(
            f"--plot shows scores over one parameter or two, and {', '.join(f'--{axis}' for axis in axes)} are "
            f"{len(axes)}: leave --plot out, or vary two"
        )
    found = cross_validate(
        problem, folds=options.folds, shuffle=options.shuffle, seed=options.seed, scoring=options.scoring,
        **axes, **_settings(options), check=False,
    )  # fmt: skip
    best = ", ".join(f"{name} = {value:g}" for name, value in found.best.items())
    print(f"{type(problem).__name__}, kernel {type(problem.kernel).__name__}: {found}")
    print(f"best: {best}, {found.scoring} {found.best_score:.4f}")
    if options.plot is not None:
        write_picture(scores(found), options.plot)
        print(f"drawn {options.plot}")
    if options.save is not None:
        sample.model(found.refit(tol=options.tol, check=False), found.best_problem).save(options.save)
        print(f"saved {options.save}: the machine with the best parameters, trained on all rows")
    return 0 if set(found.status.ravel()) <= {"optimal", "infeasible"} else 1


def _asked(options: argparse.Namespace) -> tuple[Problem, dict[str, Any], Sample]:
    """The problem, the values of each parameter, and the data. Raises ParameterError."""
    given = {name: getattr(options, name) for name in (*PARAMETERS, *OF_KERNELS) if getattr(options, name) is not None}
    one = copy.copy(options)
    for name, values in given.items():
        setattr(one, name, values[0])
    settle(one)
    sample = read(options)
    problem = sample.problem(one)
    if not given:
        example = next((name for name in parameters(problem) if name not in WORDS), "kernel rbf --gamma")
        values = SHARES if example == "nu" else "0.1,1,10"
        raise ParameterError(f"give the values of a parameter, with commas between them, such as --{example} {values}")
    return problem, given, sample


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {"tol": options.tol, "verbose": options.verbose, "n_jobs": options.n_jobs, "time_limit": options.time_limit}
