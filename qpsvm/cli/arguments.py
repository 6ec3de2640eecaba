"""argparse as this command line wants it: nothing abbreviated, nothing guessed, and a refusal is an error of ours."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from qpsvm.errors import ParameterError, UnknownOptionError, nearest

#: What argparse itself takes for a value and not for an option.
_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$|-\d+[eE]|-\d*\.\d+[eE]")


class Parser(argparse.ArgumentParser):
    """A parser whose options have to be written in full, and that raises instead of leaving the process."""

    def __init__(self, **how: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **how)
        self.commands: dict[str, Parser] = {}

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say.

        Raises
        ------
        ParameterError
        """
        raise ParameterError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Look for unknown options and commands before argparse does, which would only say that something is missing.

        Raises
        ------
        UnknownOptionError
            With the nearest that exists.
        """
        args = sys.argv[1:] if args is None else args
        for text in args:
            if text == "--":
                break
            if text.startswith("-") and text != "-" and not _NEGATIVE_NUMBER.match(text):
                self._check_option(text.partition("=")[0], text)
            elif self.commands:
                if text not in self.commands:
                    raise UnknownOptionError(f"no command {text!r}; {nearest(text, self.commands)}")
                break  # what follows is the command's
        return super().parse_known_args(args, namespace)

    def _check_option(self, name: str, text: str) -> None:
        known = self._option_string_actions
        if text in known or name in known or " " in text:  # argparse takes text with a blank for a value
            return
        near, _, _ = nearest(name, known).partition(" known: ")
        hint = f"; {near}" if near.startswith("did you mean") else ""
        raise UnknownOptionError(f"there is no option {name}{hint} (see {self.prog} --help)")


def file_name(text: str) -> str:
    """The name of a file, which must not be empty."""
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a file, got ''")
    return text


def name(text: str) -> str:
    """The name of a column or label, which must not be empty."""
    if not text:
        raise argparse.ArgumentTypeError("expected a name, got ''")
    return text
