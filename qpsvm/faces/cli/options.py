"""Add the options that several commands share (`add_data`, `add_problem`, `add_solver`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from qpsvm.data.files.kinds import MISSING_POLICIES
from qpsvm.faces.cli.option_values import build_choice, file_name, make_word_reader, name, parse_class_weight
from qpsvm.faces.cli.problem_options import COLUMN_LISTS, PARAMETERS, VARIANTS, WORD_CHOICES, list_option_owners
from qpsvm.machines import registry
from qpsvm.space.kernels.kernel_registry import FUNCTIONS


def add_data(parser: argparse.ArgumentParser, name_or_flag: str = "file", **how: Any) -> None:
    """Add the options that say which file is read, and how."""
    group = parser.add_argument_group("data")
    what = (
        "CSV file with a header, LIBSVM file (both may be packed by gzip, bzip2 or xz; - is standard input), Parquet, "
        "Feather or .npy; a folder or a pattern such as 'part-*.parquet' stands for its files"
    )
    group.add_argument(name_or_flag, type=file_name, **how, help=what)
    what = "the column of labels, or numbers; of an array its place, or a .npy file"
    group.add_argument("--target", type=name, metavar="COLUMN", help=what)
    what = "the label on the positive side, with all others on the negative"
    group.add_argument("--positive", type=name, metavar="LABEL", help=what)
    group.add_argument("--groups", type=name, metavar="COLUMN", help="of a ranking: rows of one group are compared")
    group.add_argument("--weights", type=name, metavar="COLUMN", help="what each row weighs; a row of 0 takes no part")
    what = (
        "balanced (each class weighs the same), or LABEL=WEIGHT, what a row of that class weighs (several may follow)"
    )
    group.add_argument("--class-weight", type=parse_class_weight, action="append", metavar="WEIGHT", help=what)
    for option, what in COLUMN_LISTS.items():
        group.add_argument(f"--{option}", action="append", default=[], metavar="COLUMN", help=what)
    what = "missing values: error (default), drop their rows, or fill in what the rows that train say"
    group.add_argument("--missing", **build_choice(MISSING_POLICIES), help=what)
    group.add_argument("--drop-missing", action="store_true", help="the same as --missing drop")
    what = "give each column mean 0 and deviation 1"
    group.add_argument("--standardise", "--standardize", action="store_true", help=what)


def add_stream(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves samples where they are stored."""
    what = "read in blocks of rows, for files that memory does not hold (by itself where they are large)"
    parser.add_argument("--stream", action="store_true", help=what)


def add_problem(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which support vector machine."""
    group = parser.add_argument_group("problem")
    add_variant(group)
    add_parameters(group)


def add_variant(group: argparse._ArgumentGroup, *name_or_flag: str) -> None:
    """Add the option, or the argument, that names the machine."""
    how: dict[str, Any] = {} if name_or_flag else {"default": "c"}
    what = f"{', '.join(VARIANTS)}{'' if name_or_flag else '; default c'}"
    group.add_argument(
        *(name_or_flag or ("--variant",)), type=make_word_reader(VARIANTS), metavar="VARIANT", help=what, **how
    )


def add_multi_class(parser: argparse.ArgumentParser) -> None:
    """Add the option that says how machines of two classes learn more of them."""
    what = "more than two classes: a machine for every two (ovo, default), or for each against all others (ovr)"
    parser.add_argument("--multi-class", **build_choice(("ovo", "ovr")), help=what)


def _describe_owners(option: str) -> str:
    """The variants that have an option, in words."""
    return f"variant {', '.join(list_option_owners(option))}"


def add_parameters(
    group: argparse._ArgumentGroup, number: Callable[[str], Any] = float, rule: Callable[[str], Any] = str
) -> None:
    """Add the parameters of variant and kernel, which are None until `apply_defaults` has seen them.

    `number` and `rule` read a parameter, and γ, from its text.
    """
    several: dict[str, Any] = {} if number is float else {"action": "extend"}
    for option, what in PARAMETERS.items():
        group.add_argument(
            f"--{option}",
            type=number,
            help=f"{what} ({_describe_owners(option)}; default {registry.find_default(option):g})",
            **several,
        )
    for option, known in WORD_CHOICES.items():
        group.add_argument(f"--{option}", **build_choice(known), help=f"{_describe_owners(option)}; default {known[0]}")
    group.add_argument("--kernel", **build_choice(tuple(FUNCTIONS)), help="default: linear; of one-class rbf")
    group.add_argument(
        "--gamma", type=rule, help="a number, scale (default) or auto (every kernel but linear)", **several
    )
    group.add_argument("--degree", type=number, help="of the polynomial (default 3)", **several)
    group.add_argument("--coef0", type=number, help="of polynomial and sigmoid (default 0)", **several)
    group.add_argument(
        "--psd", **build_choice(("raise", "clip", "shift")), help="for an indefinite kernel; default raise"
    )


def add_solver(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how it is solved."""
    group = parser.add_argument_group("solver")
    group.add_argument("--form", **build_choice(("dual", "primal")), help="default: what the backend certifies best")
    group.add_argument("--tol", type=float, default=1e-6, help="relative gap to reach, rounding included (1e-6)")
    group.add_argument("--max-iter", type=int, metavar="N", help="iterations of the solver")
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="seconds in all, certificate included")
    group.add_argument("--no-polish", action="store_true", help="certify the solver's own point")
    group.add_argument("--verbose", action="store_true", help="show the solver's progress")


def build_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Build the keyword arguments of `qpsvm.solve`, without its check of the status."""
    return {
        "tol": options.tol, "polish": not options.no_polish, "check": False, "verbose": options.verbose,
        "time_limit": options.time_limit, "max_iter": options.max_iter,
    }  # fmt: skip


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add the option that says which solver."""
    parser.add_argument("--backend", default="auto", help="a name from `backends`, or auto (default)")
