"""The equations of a variant, read from the docstring that defines them."""

from __future__ import annotations

import re
from types import ModuleType

#: A definition: its tag, and the text up to the end of the line. Lines that are indented deeper continue it.
DEFINITION = re.compile(r"^ {4}\(([A-Z][A-Z0-9]+\.\d+)\)  (\S.*(?:\n {5,}\S.*)*)", re.MULTILINE)


def statements(module: ModuleType | None) -> dict[str, str]:
    """Every tag that a module's docstring defines, in order, with its equation on one line."""
    text = (module.__doc__ if module is not None else None) or ""
    return {tag: re.sub(r"\s*\n\s*", " ", equation) for tag, equation in DEFINITION.findall(text)}
