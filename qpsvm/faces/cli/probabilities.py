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
    """Refuse probabilities where there are no two classes, or samples are elsewhere. Raises ParameterError."""
    if not options.probability:
        return
    if VARIANTS[options.variant]._target_kind != "labels":
        raise ParameterError(
            f"--probability belongs to machines of two classes, and the variant here is {options.variant}: {INSTEAD}"
        )
    if options.scheduler is not None:
        raise ParameterError(f"--probability leaves each sample out, which needs them here: {INSTEAD}, or --scheduler")


def check_samples(problem: Problem, options: argparse.Namespace) -> None:
    """Refuse samples that cannot be left out, before they are solved. Raises UnsupportedError, DataError."""
    if not options.probability or isinstance(problem, MulticlassProblem):
        return  # which asks the same of each of its machines
    if isinstance(problem, AllInOneProblem):
        raise ParameterError(f"--probability leaves rows out of machines of two classes, and {options.variant} has all "
                             f"classes in one program: {INSTEAD}, or take another variant")  # fmt: skip
    check_left_out(f"--variant {options.variant}", problem.X, problem.n, INSTEAD)
    if np.unique(problem._active_target, return_counts=True)[1].min() < 2:
        raise DataError(f"a class has one sample, without which it has no machine: {INSTEAD}, or give it more")


def add_probabilities(
    sample: Dataset, problem: Problem, result: SVMResult, model: Model, options: argparse.Namespace
) -> tuple[Model, str]:
    """The model with its curve, and what is printed of the samples that were left out. Raises QPSVMError."""
    if isinstance(result, MulticlassResult):
        return model, f"  left out    each row of every machine, for a curve of each: {len(result.machines.results_)}"
    found, note = run_leave_one_out(problem, result, options.tol, options.time_limit, options.verbose)
    rows = found.functions.rows[np.isfinite(found.decision[found.functions.rows])]
    weights = sample.table.weights
    weight = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)[rows]
    positive = problem.samples.target[rows] > 0.0
    calibration = Calibration("sigmoid", "two", (fit_curve("sigmoid", found.decision[rows], positive, weight),))
    chance = calibration(found.decision[rows, None])[np.arange(len(rows)), positive.astype(int)]
    loss = -float(weight @ np.log(chance) / weight.sum())
    said = f"  left out    accuracy {1.0 - found.error:.4f}, log loss {loss:.4f}, of {len(rows)} machines without a row"
    more = {**model.metadata, KEY: calibration.to_record()}
    return replace(model, metadata=more), said + (f"; {note}" if note else "")
