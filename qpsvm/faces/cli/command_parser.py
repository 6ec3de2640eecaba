"""Parse the command line without abbreviations, and raise errors of this library (`CommandParser`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from qpsvm.base.arrays.formatting import join_names
from qpsvm.base.errors import ParameterError, UnknownOptionError, describe_nearest, suggest_names
from qpsvm.faces.cli.lists import expand_lists, is_option


class CommandParser(argparse.ArgumentParser):
    """A parser that requires full option names, and raises an error instead of ending the process."""

    def __init__(self, **how: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **how)
        self.commands: dict[str, CommandParser] = {}

    def error(self, message: str) -> NoReturn:
        """Raise the message of argparse as an error. Raises ParameterError."""
        raise ParameterError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Check for unknown options and commands first; argparse would only report a missing argument."""
        args = sys.argv[1:] if args is None else args
        args = expand_lists(args, *self._count_option_values())
        given: set[str] = set()
        for text in args:
            if text == "--":
                break
            if is_option(text):
                name = text.partition("=")[0]
                self._check_option(name, text)
                self._check_repetition(name, given)
            elif self.commands:
                if text not in self.commands:
                    owners = [name for name, parser in self.commands.items() if parser._has_option(f"--{text}")]
                    if owners:
                        hint = f"--{text} is an option of {join_names(owners)}"
                    else:
                        hint = describe_nearest(text, self.commands)
                    raise UnknownOptionError(f"there is no command {text!r}; {hint}")
                break  # the rest belongs to the command
        return super().parse_known_args(args, namespace)

    def _count_option_values(self) -> tuple[list[str], dict[str, int], int]:
        """Return the list options, the number of values of each other option, and that of positional arguments."""
        known = self._option_string_actions.items()
        lists = [text for text, action in known if isinstance(action, argparse._AppendAction)]
        takes = {text: 1 if action.nargs is None else int(action.nargs) for text, action in known
                 if not isinstance(action.nargs, str)}  # fmt: skip
        return lists, takes, 0 if self.commands else len(self._get_positional_actions())

    def _has_option(self, name: str) -> bool:
        return name in self._option_string_actions

    def _check_repetition(self, name: str, given: set[str]) -> None:
        """Refuse an option of one value that is given twice, of which argparse would drop the first."""
        action = self._option_string_actions.get(name)
        if type(action) is not argparse._StoreAction:
            return
        if action.dest in given:
            raise ParameterError(f"{name} is given twice, and takes one value: leave one out")
        given.add(action.dest)

    def _check_option(self, name: str, text: str) -> None:
        known = self._option_string_actions
        if text in known or name in known or " " in text:  # argparse reads text with a blank as a value
            return
        hint = "; ".join(["", *suggest_names(name, known)])
        raise UnknownOptionError(f"there is no option {name}{hint} (see {self.prog} --help)")
