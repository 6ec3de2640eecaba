"""Add the options that several commands share (`add_data`, `add_problem`, `add_solver`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from qpsvm.data.files.column_kinds import MISSING_POLICIES
from qpsvm.faces.cli.option_values import (
    build_choice,
    make_word_reader,
    read_class_weight,
    read_file_name,
    read_name,
)
from qpsvm.faces.cli.problem_options import COLUMN_LISTS, PARAMETERS, VARIANTS, WORD_CHOICES, list_option_owners
from qpsvm.machines import registry
from qpsvm.space.kernels.kernel_registry import FUNCTIONS


def add_data(parser: argparse.ArgumentParser, name_or_flag: str = "file", **extra: Any) -> None:
    """Add the options that say which file is read, and how.

    name_or_flag, extra: Name of the argument or option for the file, and further arguments of `add_argument`.
    """
    group = parser.add_argument_group("data")
    help_text = (
        "CSV file with a header, LIBSVM file (both may be compressed by gzip, bzip2 or xz; - is standard input), "
        "Parquet, Feather or .npy; a folder or a pattern such as 'part-*.parquet' stands for its files"
    )
    group.add_argument(name_or_flag, type=read_file_name, **extra, help=help_text)
    help_text = "column of labels or numbers; for an array its position, or a .npy file"
    group.add_argument("--target", type=read_name, metavar="COLUMN", help=help_text)
    help_text = "label of the positive class; all others form the negative class"
    group.add_argument("--positive", type=read_name, metavar="LABEL", help=help_text)
    help_text = "column of groups of a ranking; rows are compared within a group"
    group.add_argument("--groups", type=read_name, metavar="COLUMN", help=help_text)
    help_text = "column of row weights; rows of weight 0 are ignored"
    group.add_argument("--weights", type=read_name, metavar="COLUMN", help=help_text)
    help_text = (
        "balanced (all classes get the same total weight), or LABEL=WEIGHT, the weight of each row of that class "
        "(several may follow)"
    )
    group.add_argument("--class-weight", type=read_class_weight, action="append", metavar="WEIGHT", help=help_text)
    for option, help_text in COLUMN_LISTS.items():
        group.add_argument(f"--{option}", action="append", default=[], metavar="COLUMN", help=help_text)
    add_missing_texts(group, "empty ones, NA, null and the like")
    help_text = "decimal mark: with , points may group thousands, with . commas; by default nothing groups thousands"
    group.add_argument("--decimal", **build_choice((".", ",")), help=help_text)
    add_encoding(group)
    help_text = "missing values: error (default), drop their rows, or impute from the training rows"
    group.add_argument("--missing", **build_choice(MISSING_POLICIES), help=help_text)
    group.add_argument("--drop-missing", action="store_true", help="the same as --missing drop")
    help_text = "scale each column to mean 0 and standard deviation 1"
    group.add_argument("--standardise", "--standardize", action="store_true", help=help_text)


def add_file(
    group: argparse._ActionsContainer, option: str, help_text: str, metavar: str = "FILE", **extra: Any
) -> None:
    """Add an option that names a file; `extra` are further arguments of `add_argument`."""
    group.add_argument(option, type=read_file_name, metavar=metavar, help=help_text, **extra)


def add_missing_texts(group: argparse._ActionsContainer, known: str) -> None:
    """Add the option for cells that mean no value; `known` describes those that always do."""
    help_text = f"cells that mean no value, besides {known} (several may follow)"
    group.add_argument("--na", action="append", default=[], metavar="CELL", help=help_text)


def add_encoding(group: argparse._ActionsContainer) -> None:
    """Add the option for the character encoding of a text file."""
    help_text = "character encoding of a text file, such as latin-1, cp1252 or utf-16; default utf-8"
    group.add_argument("--encoding", type=read_name, metavar="NAME", help=help_text)


def add_stream(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves the samples on disk."""
    help_text = "read in blocks of rows, for files that do not fit into memory (the default for large files)"
    parser.add_argument("--stream", action="store_true", help=help_text)


def add_problem(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the support vector machine."""
    group = parser.add_argument_group("problem")
    add_variant(group)
    add_parameters(group)


def add_variant(group: argparse._ArgumentGroup, is_required: bool = False) -> None:
    """Add the choice of the machine: a positional argument if `is_required`, else the option --variant."""
    reader = make_word_reader(VARIANTS)
    names = ", ".join(VARIANTS)
    if is_required:
        group.add_argument("variant", type=reader, metavar="VARIANT", help=names)
    else:
        group.add_argument("--variant", type=reader, metavar="VARIANT", help=f"{names}; default c", default="c")


def add_multi_class(parser: argparse.ArgumentParser) -> None:
    """Add the option that extends two-class machines to more classes."""
    help_text = "more than two classes: one machine per pair (ovo, default), or per class against all others (ovr)"
    parser.add_argument("--multi-class", **build_choice(("ovo", "ovr")), help=help_text)


def add_parameters(
    group: argparse._ArgumentGroup, read_number: Callable[[str], Any] = float, read_gamma: Callable[[str], Any] = str
) -> None:
    """Add the parameters of variant and kernel, which are None until `apply_defaults` sets them.

    read_number, read_gamma: Read the text of a number, and of γ, as one value, or for a grid both as a list of values.
    """
    list_action: dict[str, Any] = {} if read_number is float else {"action": "extend"}  # a repeated option adds values
    for option, description in PARAMETERS.items():
        help_text = f"{description} ({_describe_owners(option)}; default {registry.find_default(option):g})"
        group.add_argument(f"--{option}", type=read_number, help=help_text, **list_action)
    for option, words in WORD_CHOICES.items():
        group.add_argument(f"--{option}", **build_choice(words), help=f"{_describe_owners(option)}; default {words[0]}")
    group.add_argument("--kernel", **build_choice(tuple(FUNCTIONS)), help="default linear; rbf for one-class")
    help_text = "a number, scale (default) or auto (all kernels except linear)"
    group.add_argument("--gamma", type=read_gamma, help=help_text, **list_action)
    group.add_argument("--degree", type=read_number, help="degree of the polynomial kernel (default 3)", **list_action)
    help_text = "constant of the polynomial and sigmoid kernels (default 0)"
    group.add_argument("--coef0", type=read_number, help=help_text, **list_action)
    help_text = "treatment of an indefinite kernel; default raise"
    group.add_argument("--psd", **build_choice(("raise", "clip", "shift")), help=help_text)


def _describe_owners(option: str) -> str:
    """Name the variants that have an option."""
    return f"variant {', '.join(list_option_owners(option))}"


def add_solver(parser: argparse.ArgumentParser) -> None:
    """Add the options of the solver, except its name: see `add_backend`."""
    group = parser.add_argument_group("solver")
    help_text = "default: the form that the backend certifies best"
    group.add_argument("--form", **build_choice(("dual", "primal")), help=help_text)
    add_tolerance(group, "relative gap to reach")
    group.add_argument("--max-iter", type=int, metavar="N", help="iteration limit of the solver")
    add_time_limit(group, "time limit in seconds, certificate included")
    group.add_argument("--no-polish", action="store_true", help="certify the solver's own point without polishing")
    group.add_argument("--verbose", action="store_true", help="show the solver's progress")


def add_tolerance(group: argparse._ArgumentGroup, help_text: str) -> None:
    """Add the option for the relative gap that is described by `help_text`."""
    help_text = f"{help_text}, rounding errors included; default 1e-6"
    group.add_argument("--tol", type=float, default=1e-6, help=help_text)


def add_time_limit(group: argparse._ArgumentGroup, help_text: str) -> None:
    """Add the option for a time limit."""
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help=help_text)


def build_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Build the keyword arguments of `qpsvm.solve`; `check` is False, as the commands report the status themselves."""
    return {
        "tol": options.tol, "polish": not options.no_polish, "check": False, "verbose": options.verbose,
        "time_limit": options.time_limit, "max_iter": options.max_iter,
    }  # fmt: skip


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses the solver."""
    parser.add_argument("--backend", default="auto", help="a name from `backends`, or auto (default)")
