"""Names of a package that are imported when they are first used (PEP 562), so that who needs few of them pays for few.

A package lists them twice: under `TYPE_CHECKING` as imports, for type checkers and editors, and otherwise as a table
for `late_names`. A test holds the two against each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late_names(
    package: str, groups: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package some of whose names are imported late."""
    homes = {name: module for module, names in groups.items() for name in names}
    modules = {module.rpartition(".")[2]: module for module, names in groups.items() if not names}

    def attribute(name: str) -> Any:
        if name in modules:
            value: Any = import_module(modules[name])
        elif name in homes:
            value = getattr(import_module(homes[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        setattr(sys.modules[package], name, value)
        return value

    def everything() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return attribute, everything
