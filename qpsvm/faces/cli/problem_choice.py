"""Build the problem that the options of a command describe, for any number of classes (`choose_problem`).

All-in-one machines are problems like any other; a two-class machine for more classes becomes a `MulticlassProblem`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from qpsvm.base.errors import ParameterError
from qpsvm.faces.cli.data import ALL_IN_ONE_NAMES, Dataset, build_class_weights
from qpsvm.faces.cli.multiclass import MachineSettings, MulticlassClassifier, MulticlassProblem
from qpsvm.faces.cli.problem_options import VARIANTS, build_kernel, collect_parameters
from qpsvm.machines import registry


def choose_problem(dataset: Dataset, options: argparse.Namespace) -> Any:
    """Build the problem that the options describe; a two-class machine for more classes gives a `MulticlassProblem`.

    Options that only some commands have may be absent. Raises ParameterError, DataError.
    """
    _check_single_machine(dataset, options)
    if dataset.is_multiclass and options.variant not in registry.ALL_IN_ONE:
        table = dataset.table
        classifier = _build_classifier(dataset, options)
        return MulticlassProblem(table.X, np.asarray(dataset.y), table.weights, classifier, table.names)
    if getattr(options, "multi_class", None) is not None:
        reason = "there are no more than two here"
        if dataset.is_multiclass:
            reason = f"{options.variant} has all classes in one program"
        raise ParameterError(f"--multi-class extends two-class machines to more classes, but {reason}: leave it out")
    return dataset.build_problem(options)


def _build_classifier(dataset: Dataset, options: argparse.Namespace) -> MulticlassClassifier:
    """Build the untrained classifier for more than two classes. Raises ParameterError."""
    kernel, parameters = build_kernel(options), collect_parameters(options)
    intercept = parameters.pop("intercept", "free")
    classifier = MulticlassClassifier(
        kernel=kernel,
        psd=options.psd or "raise",
        multi_class=getattr(options, "multi_class", None) or "ovo",
        break_ties=True,
        tol=options.tol,
        class_weight=build_class_weights(options.class_weight, dataset.list_labels),
        backend=getattr(options, "backend", "auto"),
        time_limit=options.time_limit,
        max_iter=-1 if getattr(options, "max_iter", None) is None else options.max_iter,
        verbose=options.verbose,
        probability=bool(getattr(options, "probability", False)),
    )
    classifier.machine_settings = MachineSettings(VARIANTS[options.variant].__name__, parameters, intercept)
    form = getattr(options, "form", None)
    classifier.solve_options = {} if form is None else {"form": form}
    if getattr(options, "no_polish", False):
        classifier.solve_options["polish"] = False
    return classifier


def _check_single_machine(dataset: Dataset, options: argparse.Namespace) -> None:
    """Refuse --proof for several programs, and --bounds for several decision functions. Raises ParameterError."""
    is_all_in_one = options.variant in registry.ALL_IN_ONE
    if not (is_all_in_one or dataset.is_multiclass):
        return
    if getattr(options, "proof", None) and not is_all_in_one:
        reason = "--proof: a proof covers one program"
        alternative = f", or use --variant {ALL_IN_ONE_NAMES}"
    elif getattr(options, "bounds", None):
        reason = "--bounds: bounds cover one decision function"
        alternative = " and another --variant" if is_all_in_one else ""
    else:
        return
    labels = dataset.list_labels()[0]
    if is_all_in_one:
        fact = f"--variant {options.variant} has one per class"
    else:
        fact = f"there are {len(labels)} classes"
    raise ParameterError(
        f"{reason}, but {fact}: train one class against all others with --positive LABEL, such as "
        f"--positive {labels[0]}{alternative}"
    )
