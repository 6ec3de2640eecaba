"""The options that several commands share, and which of them belong together.

argparse as this command line wants it: it takes no abbreviations, and refuses with an error of ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, NoReturn, TypeVar

from qpsvm.backends.abilities import join_names
from qpsvm.base.errors import ParameterError, UnknownOptionError, describe_nearest, suggest_names
from qpsvm.bounds.proof import checker
from qpsvm.data.files import TargetKind
from qpsvm.data.files.kinds import MISSING_POLICIES, MissingPolicy
from qpsvm.faces.cli.lists import BALANCED, expand_lists, is_option
from qpsvm.machines import Problem, registry
from qpsvm.machines.problem.parameters import HYPERPARAMETERS
from qpsvm.many.grid.scoring import SEEDS
from qpsvm.space.kernels.functions import FUNCTIONS, KERNELS, Kernel

T = TypeVar("T")


class CommandParser(argparse.ArgumentParser):
    """A parser that wants options written in full, and raises an error instead of ending the process."""

    def __init__(self, **how: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **how)
        self.commands: dict[str, CommandParser] = {}

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say. Raises ParameterError."""
        raise ParameterError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Look for unknown options and commands first, where argparse would only say that something is missing."""
        args = sys.argv[1:] if args is None else args
        args = expand_lists(args, *self._count_option_values())
        for text in args:
            if text == "--":
                break
            if is_option(text):
                self._check_option(text.partition("=")[0], text)
            elif self.commands:
                if text not in self.commands:
                    raise UnknownOptionError(f"no command {text!r}; {describe_nearest(text, self.commands)}")
                break  # what follows is the command's
        return super().parse_known_args(args, namespace)

    def _count_option_values(self) -> tuple[list[str], dict[str, int], int]:
        """The options that take a list, how many values each other one takes, and how many arguments are no option."""
        known = self._option_string_actions.items()
        lists = [text for text, action in known if isinstance(action, argparse._AppendAction)]
        takes = {text: 1 if action.nargs is None else int(action.nargs) for text, action in known
                 if not isinstance(action.nargs, str)}  # fmt: skip
        return lists, takes, 0 if self.commands else len(self._get_positional_actions())

    def _check_option(self, name: str, text: str) -> None:
        known = self._option_string_actions
        if text in known or name in known or " " in text:  # text with a blank is a value to argparse
            return
        hint = "; ".join(["", *suggest_names(name, known)])
        raise UnknownOptionError(f"there is no option {name}{hint} (see {self.prog} --help)")


def make_reader(convert: Callable[[str], T], what: str) -> Callable[[str], T]:
    """Make a reader of an option's text; its error says that `what` is expected where `convert` raises `ValueError`."""

    def read(given: str) -> T:
        try:
            return convert(given)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {what}, got {given!r}") from None

    return read


def make_integer_reader(low: int, high: int) -> Callable[[str], int]:
    """Make a converter of whole numbers from `low` on and below `high`."""
    return lambda text: low + range(low, high).index(int(text))


def require_text(text: str) -> str:
    """A text that is not empty. Raises ValueError."""
    if not text:
        raise ValueError
    return text


file_name, name = make_reader(require_text, "the name of a file"), make_reader(require_text, "a name")
names = make_reader(
    lambda text: [require_text(part.strip()) for part in text.split(",")], "names with commas between them"
)
numbers = make_reader(lambda text: [float(part) for part in text.split(",")], "numbers with commas between them")
fold_count = make_reader(make_integer_reader(2, SEEDS), "a whole number of folds, 2 or more")
repeats = make_reader(make_integer_reader(1, SEEDS), "a whole number, 1 or more")
seed = make_reader(make_integer_reader(0, SEEDS), f"a whole number from 0 to {SEEDS - 1}")


def make_word_reader(known: Iterable[str]) -> Callable[[str], str]:
    """A reader of one of these words; of another, it names the nearest."""
    words = tuple(known)

    def read(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"unknown {text!r}; {describe_nearest(text, words)}")
        return text

    return read


def build_choice(words: Sequence[str]) -> dict[str, Any]:
    """Build the arguments of argparse for an option that is one of these words."""
    return {"type": make_word_reader(words), "choices": words}


#: What a machine makes of the target: two classes, a number for each row, an order of the rows, or nothing.
LearningTarget = Literal["labels", "numbers", "ranks", "none"]
#: The machines by the words of the command line.
VARIANTS: dict[str, Any] = {word: registry.load_machine(word) for word in (*registry.FILES, *registry.ALL_IN_ONE)}
#: Parameters of the machines that are numbers, and what they are.
PARAMETERS = {name: each.description for name, each in HYPERPARAMETERS.items() if name != "loss"}
#: Parameters whose values are words, the first by default: no grid varies them.
WORD_CHOICES = {"loss": ("absolute", "squared"), "intercept": ("free", "penalised", "none")}
#: Those of the kernels, with their defaults.
KERNEL_DEFAULTS = {"gamma": "scale", "degree": 3.0, "coef0": 0.0}


#: Lists of columns, and what becomes of these.
COLUMN_LISTS = {
    "drop": "leave out columns (several may follow, with blanks or commas)",
    "keep": "take columns that would be left out: identifiers, free text, many categories",
    "date": "make year, month, weekday and days of columns of dates",
}
#: Options that say how a file is read, and do nothing without one.
FILE_OPTIONS = (
    "target", "positive", "groups", "weights", "class_weight", *COLUMN_LISTS, "missing", "drop_missing", "standardise",
)  # fmt: skip
#: What is done with columns in memory only.
COLUMN_OPTIONS = ("keep", "date", "missing", "drop_missing")


def choose_missing(options: argparse.Namespace) -> MissingPolicy:
    """Choose how missing values are handled. Raises ParameterError."""
    if options.drop_missing and options.missing not in (None, "drop"):
        raise ParameterError(f"--drop-missing is --missing drop, and not --missing {options.missing}: leave one out")
    return "drop" if options.drop_missing else options.missing or "error"


def refuse_options(options: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse options that would be ignored. Raises ParameterError."""
    for name in names:
        if getattr(options, name):
            raise ParameterError(f"--{name.replace('_', '-')} {why}")


def choose_target(options: argparse.Namespace) -> TargetKind:
    """Choose how the target of a file is read for the machine: an order is read as numbers."""
    learnt: Any = VARIANTS[options.variant]._target_kind
    return "numbers" if learnt == "ranks" else learnt


def list_option_owners(option: str) -> tuple[str, ...]:
    """The variants, or the kernels, for which an option has an effect."""
    if option in KERNEL_DEFAULTS:
        return tuple(name for name, own in FUNCTIONS.items() if option in own)
    return tuple(word for word, machine in VARIANTS.items() if option in registry.list_options(machine))


def apply_defaults(options: argparse.Namespace) -> None:
    """Give absent options their defaults, and refuse an option that would be ignored. Raises ParameterError."""
    options.kernel = options.kernel or registry.find_default_kernel(VARIANTS[options.variant])
    for option in (*PARAMETERS, *WORD_CHOICES, *KERNEL_DEFAULTS):
        owner = "kernel" if option in KERNEL_DEFAULTS else "variant"
        chosen = getattr(options, owner)
        if getattr(options, option) is None:
            setattr(
                options, option, KERNEL_DEFAULTS[option] if option in KERNEL_DEFAULTS else registry.find_default(option)
            )
        elif chosen not in list_option_owners(option):
            raise ParameterError(
                f"--{option} belongs to the {owner} {join_names(list_option_owners(option))}, and the {owner} here is "
                f"{chosen}: leave "
                f"--{option} out, or choose another {owner}"
            )


def build_kernel(options: argparse.Namespace) -> Kernel:
    """The kernel that the options describe; γ may be a rule. Raises ParameterError."""
    with suppress(ValueError):
        options.gamma = float(options.gamma)
    kernel: Kernel = KERNELS[options.kernel](**{name: getattr(options, name) for name in FUNCTIONS[options.kernel]})
    if options.psd is not None and kernel.is_psd:
        raise ParameterError(
            f"--psd is for an indefinite kernel, and {kernel} is positive semidefinite by construction: leave it out"
        )
    return kernel


def collect_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The machine's own parameters, and its intercept where it takes one."""
    given = {name: getattr(options, name) for name in registry.list_options(VARIANTS[options.variant])}
    return {**given, "intercept": None} if given.get("intercept") == "none" else given


def build_problem(
    X: Any, y: Any, options: argparse.Namespace, groups: Any = None, weights: Any = None, class_weight: Any = None
) -> Problem:
    """The problem that the options describe, over samples X (n, d) with target y, groups of a ranking and weights."""
    kernel = build_kernel(options)
    machine, given = VARIANTS[options.variant], collect_parameters(options)
    if machine._target_kind == "ranks":
        given["groups"] = groups
    given |= {} if weights is None else {"sample_weight": weights}
    given |= {} if class_weight is None else {"class_weight": class_weight}
    samples = (X,) if machine._target_kind == "none" else (X, y)
    problem: Problem = machine(*samples, **given, kernel=kernel, psd=options.psd or "raise")
    return problem


def parse_class_weight(text: str) -> str | tuple[str, float]:
    """The word "balanced", or a label and its weight. Raises ArgumentTypeError."""
    label, equals, weight = text.rpartition("=")
    if equals and label:
        try:
            return label, float(weight)
        except ValueError:
            raise argparse.ArgumentTypeError(f"the weight of {label} must be a number, got {weight!r}") from None
    if text != BALANCED:
        raise argparse.ArgumentTypeError(f"expected balanced or LABEL=WEIGHT, such as yes=10, got {text!r}")
    return BALANCED


def parse_rows(text: str) -> list[int]:
    """Rows by their places from 0, with commas between them. Raises ArgumentTypeError."""
    try:
        return checker.places(text)
    except checker.UnusableError as error:
        raise argparse.ArgumentTypeError(f"expected rows from 0 on, such as 17,203, got {text!r}") from error


def parse_share(text: str) -> float:
    """A share of the rows: more than none, and less than all. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0.0 < value < 1.0:
        return value
    hint = f"; {text} per cent are {value / 100.0:g}" if 1.0 < value < 100.0 else ""
    raise argparse.ArgumentTypeError(f"expected a share between 0 and 1, such as 0.25, got {text!r}{hint}")


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
