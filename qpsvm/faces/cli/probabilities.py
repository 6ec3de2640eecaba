"""Calibrate probabilities from exact leave-one-out machines, for a model file (`solve --probability`)."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from qpsvm.base.errors import DataError, ParameterError
from qpsvm.estimators.left_out import check_left_out, fit_curve, run_leave_one_out
from qpsvm.faces.cli.data import Dataset
from qpsvm.faces.cli.problem_options import VARIANTS
from qpsvm.faces.cli.several import MulticlassProblem, MulticlassResult
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.result.calibration import KEY, Calibration
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult

INSTEAD = "leave --probability out"


def check_probability(options: argparse.Namespace) -> None:
    """Refuse probabilities without classes, or of samples on workers. Raises ParameterError."""
    if not options.probability:
        return
    if VARIANTS[options.variant]._target_kind != "labels":
        raise ParameterError(
            f"--probability belongs to two-class machines, but the variant is {options.variant}: {INSTEAD}"
        )
    if options.scheduler is not None:
        raise ParameterError(
            "--probability leaves out each sample, which needs the samples on this machine: leave --probability or "
            "--scheduler out"
        )


def check_samples(problem: Problem, options: argparse.Namespace) -> None:
    """Refuse samples that cannot be left out, before they are solved. Raises UnsupportedError, DataError."""
    if not options.probability or isinstance(problem, MulticlassProblem):
        return  # it checks each of its machines
    if isinstance(problem, AllInOneProblem):
        raise ParameterError(f"--probability leaves rows out of two-class machines, but {options.variant} has all "
                             f"classes in one program: {INSTEAD}, or use another variant")  # fmt: skip
    check_left_out(f"--variant {options.variant}", problem.X, problem.n, INSTEAD)
    if np.unique(problem._active_target, return_counts=True)[1].min() < 2:
        raise DataError(f"a class has one sample, and no machine can be trained without it: {INSTEAD}, or add samples")


def add_probabilities(
    sample: Dataset, problem: Problem, result: SVMResult, model: Model, options: argparse.Namespace
) -> tuple[Model, str]:
    """Return the model with its curve, and a line on the samples that were left out. Raises QPSVMError."""
    if isinstance(result, MulticlassResult):
        return model, f"  left out    each row of every machine, for {len(result.machines.results_)} curves, one each"
    found, note = run_leave_one_out(problem, result, options.tol, options.time_limit, options.verbose)
    rows = found.functions.rows[np.isfinite(found.decision[found.functions.rows])]
    weights = sample.table.weights
    weight = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)[rows]
    positive = problem.samples.target[rows] > 0.0
    calibration = Calibration("sigmoid", "two", (fit_curve("sigmoid", found.decision[rows], positive, weight),))
    chance = calibration(found.decision[rows, None])[np.arange(len(rows)), positive.astype(int)]
    loss = -float(weight @ np.log(chance) / weight.sum())
    said = (
        f"  left out    accuracy {1.0 - found.error:.4f}, log loss {loss:.4f}, over {len(rows)} machines, each without "
        "one row"
    )
    more = {**model.metadata, KEY: calibration.to_record()}
    return replace(model, metadata=more), said + (f"; {note}" if note else "")
