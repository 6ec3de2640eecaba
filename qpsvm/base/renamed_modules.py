"""Import renamed modules by their former names, with a `DeprecationWarning` (`install_renamed_modules`).

And names of a package that are imported when they are first used (PEP 562), so that who needs few pays for few. A
package lists them twice: under `TYPE_CHECKING` as imports, for type checkers and editors, and otherwise as a table
for `build_lazy_attributes`. A test holds the two against each other.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from qpsvm.base.other_names import explain_module_attribute

#: New names of the public packages, and of modules whose classes are in pickles.
RENAMED_MODULES = {
    "qpsvm.cli": "qpsvm.faces.cli",
    "qpsvm.errors": "qpsvm.base.errors",
    "qpsvm.kernels": "qpsvm.space.kernels",
    "qpsvm.play": "qpsvm.faces.play",
    "qpsvm.plotting": "qpsvm.faces.plotting",
    "qpsvm.problems": "qpsvm.machines",
    "qpsvm.proof": "qpsvm.bounds.proof",
    "qpsvm.qp": "qpsvm.program",
    "qpsvm.result.decision_functions": "qpsvm.result.model",
    "qpsvm.space.kernels.sampled_maps": "qpsvm.space.kernels.feature_map",
}
#: Names that stay public, without a warning.
SILENT_NAMES = ("qpsvm.errors", "qpsvm.play", "qpsvm.plotting")


def _find_new_name(name: str) -> str | None:
    """Return the new name of a renamed module; None for any other name."""
    return next(
        (now + name[len(old) :] for old, now in RENAMED_MODULES.items() if f"{name}.".startswith(f"{old}.")), None
    )


class _RenamedModuleFinder(MetaPathFinder, Loader):
    """Import finder that returns the renamed module for its former name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname.startswith("qpsvm.") and _find_new_name(fullname):
            return ModuleSpec(fullname, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        now = _find_new_name(module.__name__)
        assert now is not None
        if not old.startswith(SILENT_NAMES):
            warnings.warn(f"{old} is called {now} now", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(now)


def install_renamed_modules() -> None:
    """Let imports of the old names find the new modules."""
    if not any(isinstance(finder, _RenamedModuleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _RenamedModuleFinder())


def build_lazy_attributes(
    package: str, groups: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that imports some names lazily."""
    homes = {name: module for module, names in groups.items() for name in names}
    modules = {module.rpartition(".")[2]: module for module, names in groups.items() if not names}

    def attribute(name: str) -> Any:
        if name in modules:
            value: Any = import_module(modules[name])
        elif name in homes:
            value = getattr(import_module(homes[name]), name)
        else:
            hint = explain_module_attribute(name) if package == "qpsvm" else ""
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[package]
            )
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        found = vars(sys.modules[package])
        public = found.get("__all__", found)
        return sorted({*(name for name in found if name.startswith("__")), *public, *homes, *modules})

    return attribute, list_names
