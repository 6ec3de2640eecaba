"""Parse the command line: no abbreviations, and errors of this library (`CommandParser`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from qpsvm.base.errors import ParameterError, UnknownOptionError, describe_nearest, suggest_names
from qpsvm.faces.cli.lists import expand_lists, is_option


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
