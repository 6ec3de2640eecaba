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

#: Options of `solve` that need a single machine, and the reason; all-in-one machines support the first.
SINGLE_MACHINE_OPTIONS = {
    "proof": "a proof covers one program", "bounds": "bounds cover one decision function",
}  # fmt: skip


def choose_problem(dataset: Dataset, options: argparse.Namespace) -> Any:
    """Build the problem that the options describe; a two-class machine for more classes gives a `MulticlassProblem`.

    Options that only some commands have may be absent. Raises ParameterError, DataError.
    """
    multi_class = getattr(options, "multi_class", None)
    _check_single_machine(dataset, options)
    if not dataset.is_several or options.variant in registry.ALL_IN_ONE:
        if multi_class is not None:
            all_in_one = f"{options.variant} has all classes in one program"
            why = all_in_one if dataset.is_several else "there are no more than two here"
            raise ParameterError(f"--multi-class extends two-class machines to more classes, but {why}: leave it out")
        return dataset.build_problem(options)
    table = dataset.table
    return MulticlassProblem(
        table.X, np.asarray(dataset.y), table.weights, _build_classifier(dataset, options), table.names
    )


def _build_classifier(dataset: Dataset, options: argparse.Namespace) -> MulticlassClassifier:
    """Build the untrained machines for several classes. Raises ParameterError."""
    kernel, parameters = build_kernel(options), collect_parameters(options)
    intercept = parameters.pop("intercept", "free")
    machines = MulticlassClassifier(
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
    machines.machine_settings = MachineSettings(VARIANTS[options.variant].__name__, parameters, intercept)
    form = getattr(options, "form", None)
    machines.solve_options = {} if form is None else {"form": form}
    if getattr(options, "no_polish", False):
        machines.solve_options["polish"] = False
    return machines


def _check_single_machine(dataset: Dataset, options: argparse.Namespace) -> None:
    """Refuse options that need one machine, or one decision function, if there are several. Raises ParameterError."""
    is_all_in_one = options.variant in registry.ALL_IN_ONE
    if not (is_all_in_one or dataset.is_several):
        return
    for option, why in SINGLE_MACHINE_OPTIONS.items():
        is_proof = option == "proof"
        if not getattr(options, option, None) or (is_all_in_one and is_proof):
            continue
        labels = dataset.list_labels()[0]
        if is_all_in_one:
            fact, other = f"--variant {options.variant} has one per class", " and another --variant"
        else:
            fact = f"there are {len(labels)} classes"
            other = f", or use --variant {ALL_IN_ONE_NAMES}" if is_proof else ""
        raise ParameterError(
            f"--{option}: {why}, but {fact}: train one class against all others with --positive LABEL, such as "
            f"--positive {labels[0]}{other}"
        )
