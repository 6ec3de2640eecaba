"""Build a problem from command line options (`build_problem`), after defaults and refusals (`apply_defaults`)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal

from qpsvm.base.arrays.formatting import join_names
from qpsvm.base.errors import ParameterError
from qpsvm.data.files import TargetKind, TextFormat
from qpsvm.data.files.column_kinds import MissingPolicy
from qpsvm.machines import Problem, registry
from qpsvm.machines.problem.hyperparameters import HYPERPARAMETERS
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.kernel_registry import FUNCTIONS, KERNELS

#: How a machine uses the target: as classes, as real numbers, as ranks that order the rows, or not at all.
LearningTarget = Literal["labels", "numbers", "ranks", "none"]
#: The classes of the machines by their names on the command line (`--variant`).
VARIANTS: dict[str, Any] = {name: registry.load_machine(name) for name in (*registry.MACHINES, *registry.ALL_IN_ONE)}
#: Numeric hyperparameters of the machines, with descriptions.
PARAMETERS = {name: parameter.description for name, parameter in HYPERPARAMETERS.items() if name != "loss"}
#: Hyperparameters whose values are words, with the default first; grids do not vary them.
WORD_CHOICES = {"loss": ("absolute", "squared"), "intercept": ("free", "penalised", "none")}
#: Kernel parameters, with their defaults.
KERNEL_DEFAULTS = {"gamma": "scale", "degree": 3.0, "coef0": 0.0}
#: Options that list columns, with their help.
COLUMN_LISTS = {
    "drop": "leave out these columns (several may follow, separated by blanks or commas)",
    "keep": "keep columns that would be left out: identifiers, free text, many categories",
    "date": "convert columns of dates to year, month, weekday and days",
}
#: Options of how a file is read; they have no effect without a file.
FILE_OPTIONS = (
    "target", "positive", "groups", "weights", "class_weight", *COLUMN_LISTS, "missing", "drop_missing", "standardise",
    "na", "decimal", "encoding",
)  # fmt: skip
#: Options that require a table that is read into memory.
COLUMN_OPTIONS = ("keep", "date", "missing", "drop_missing", "na", "decimal", "encoding")


def choose_missing_policy(options: argparse.Namespace) -> MissingPolicy:
    """Return how missing values are handled. Raises ParameterError."""
    if options.drop_missing and options.missing not in (None, "drop"):
        raise ParameterError(
            f"--drop-missing is --missing drop, which excludes --missing {options.missing}: leave one of them out"
        )
    return "drop" if options.drop_missing else options.missing or "error"


def build_text_format(options: argparse.Namespace) -> TextFormat:
    """Build the text format of the file: missing values, decimal sign and encoding. Raises ParameterError."""
    return TextFormat(tuple(options.na), getattr(options, "decimal", None) or "", options.encoding or "utf-8")


def refuse_options(options: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse those of the named options that are set, because they would be ignored. Raises ParameterError."""
    for name in names:
        if getattr(options, name):
            raise ParameterError(f"--{name.replace('_', '-')} {why}")


def choose_target_kind(options: argparse.Namespace) -> TargetKind:
    """Return how the target column of a file is read for the machine; ranks are read as numbers."""
    target_kind: Any = VARIANTS[options.variant]._target_kind
    return "numbers" if target_kind == "ranks" else target_kind


def list_option_owners(option: str) -> tuple[str, ...]:
    """List the kernels that use a kernel parameter, or the variants that use any other option."""
    if option in KERNEL_DEFAULTS:
        return tuple(kernel for kernel, parameters in FUNCTIONS.items() if option in parameters)
    return tuple(name for name, machine in VARIANTS.items() if option in registry.list_options(machine))


def apply_defaults(options: argparse.Namespace) -> None:
    """Set absent options to their defaults, and refuse those that would be ignored. Raises ParameterError."""
    options.kernel = options.kernel or registry.find_default_kernel(VARIANTS[options.variant])
    for option in (*PARAMETERS, *WORD_CHOICES, *KERNEL_DEFAULTS):
        is_kernel_parameter = option in KERNEL_DEFAULTS
        owner = "kernel" if is_kernel_parameter else "variant"
        chosen = getattr(options, owner)
        if getattr(options, option) is None:
            if is_kernel_parameter:
                default = KERNEL_DEFAULTS[option]
            else:
                default = registry.find_default(option)
            setattr(options, option, default)
        elif chosen not in list_option_owners(option):
            raise ParameterError(
                f"--{option} belongs to the {owner} {join_names(list_option_owners(option))}, but the {owner} is "
                f"{chosen}: leave --{option} out, or choose another {owner}"
            )


def build_kernel(options: argparse.Namespace) -> Kernel:
    """Build the kernel that the options describe. Raises ParameterError."""
    with suppress(ValueError):  # γ may be a rule such as "scale"
        options.gamma = float(options.gamma)
    kernel: Kernel = KERNELS[options.kernel](**{name: getattr(options, name) for name in FUNCTIONS[options.kernel]})
    if options.psd is not None and kernel.is_psd:
        raise ParameterError(
            f"--psd is for an indefinite kernel, but {kernel} is positive semidefinite by construction: leave it out"
        )
    return kernel


def collect_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the hyperparameters of the machine, and its intercept if it can be chosen."""
    parameters = {name: getattr(options, name) for name in registry.list_options(VARIANTS[options.variant])}
    if parameters.get("intercept") == "none":
        parameters["intercept"] = None
    return parameters


def build_problem(
    X: Any, y: Any, options: argparse.Namespace, groups: Any = None, weights: Any = None, class_weight: Any = None
) -> Problem:
    """Build the problem that the options describe. Raises ParameterError, DataError.

    X has shape (n, d). The targets y, the groups of a ranking and the weights have shape (n,), or are None.
    """
    kernel = build_kernel(options)
    machine = VARIANTS[options.variant]
    arguments = collect_parameters(options)
    if machine._target_kind == "ranks":
        arguments["groups"] = groups
    if weights is not None:
        arguments["sample_weight"] = weights
    if class_weight is not None:
        arguments["class_weight"] = class_weight
    samples = (X,) if machine._target_kind == "none" else (X, y)
    problem: Problem = machine(*samples, **arguments, kernel=kernel, psd=options.psd or "raise")
    return problem
