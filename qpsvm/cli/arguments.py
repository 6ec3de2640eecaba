"""argparse as this command line wants it: it takes no abbreviations, and refuses with an error of ours."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from qpsvm.errors import ParameterError, UnknownOptionError, did_you_mean, nearest

#: Negative numbers: argparse takes them for values, though they begin as options do.
_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$|-\d+[eE]|-\d*\.\d+[eE]")


#: The option that takes several values, each a label and a number.
WEIGHTS, BALANCED = "--class-weight", "balanced"
_WEIGHT = re.compile(r"[^=]+=[-+]?[\d.]\S*$")


class Parser(argparse.ArgumentParser):
    """A parser that wants options written in full, and raises an error instead of ending the process."""

    def __init__(self, **how: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **how)
        self.commands: dict[str, Parser] = {}
        #: How many of the arguments are options; what comes behind them is kept as `program`, unread.
        self.own: Callable[[Sequence[str]], int] = len

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say.

        Raises ParameterError.
        """
        raise ParameterError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Look for unknown options and commands first, where argparse would only say that something is missing.

        Raises UnknownOptionError, ParameterError.
        """
        args = sys.argv[1:] if args is None else args
        args, program = args[: self.own(args)], args[self.own(args) :]
        if WEIGHTS in self._option_string_actions:
            args = _joined(args)
        for text in args:
            if text == "--":
                break
            if text.startswith("-") and text != "-" and not _NEGATIVE_NUMBER.match(text):
                self._check_option(text.partition("=")[0], text)
            elif self.commands:
                if text not in self.commands:
                    raise UnknownOptionError(f"no command {text!r}; {nearest(text, self.commands)}")
                break  # what follows is the command's
        found, rest = super().parse_known_args(args, namespace)
        if self.own is not len:
            found.program = program
        return found, rest

    def _check_option(self, name: str, text: str) -> None:
        known = self._option_string_actions
        if text in known or name in known or " " in text:  # text with a blank is a value to argparse
            return
        hint = "; ".join(["", *did_you_mean(name, known)])
        raise UnknownOptionError(f"there is no option {name}{hint} (see {self.prog} --help)")


def _joined(args: Sequence[str]) -> list[str]:
    """The arguments with `--class-weight A=1 -1=2` as `--class-weight=A=1 --class-weight=-1=2`.

    So any number of them may follow, and a label may be a negative number, as in LIBSVM files.
    """
    found: list[str] = []
    follows = False
    for place, text in enumerate(args):
        if text == "--":
            return [*found, *args[place:]]
        follows = text == WEIGHTS or (follows and (text == BALANCED or _WEIGHT.match(text) is not None))
        following = args[place + 1] if place + 1 < len(args) else ""
        if text == WEIGHTS and (following == BALANCED or _WEIGHT.match(following)):
            continue
        found.append(f"{WEIGHTS}={text}" if follows and text != WEIGHTS else text)
    return found


def file_name(text: str) -> str:
    """The name of a file.

    Raises ArgumentTypeError.
    """
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a file, got ''")
    return text


def word(known: Iterable[str]) -> Callable[[str], str]:
    """A reader of one of these words; of another, it names the nearest."""
    words = tuple(known)

    def read(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"unknown {text!r}; {nearest(text, words)}")
        return text

    return read


def among(words: Sequence[str]) -> dict[str, Any]:
    """How argparse is told of an option that is one of these words."""
    return {"type": word(words), "choices": words}


def name(text: str) -> str:
    """The name of a column or label.

    Raises ArgumentTypeError.
    """
    if not text:
        raise argparse.ArgumentTypeError("expected a name, got ''")
    return text
