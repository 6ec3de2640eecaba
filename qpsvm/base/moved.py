"""Modules under the names that they had before: an import of one still works, with a `DeprecationWarning`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Where the public packages went, and modules whose classes are in pickles.
MOVED = {
    "qpsvm.cli": "qpsvm.faces.cli",
    "qpsvm.errors": "qpsvm.base.errors",
    "qpsvm.kernels": "qpsvm.space.kernels",
    "qpsvm.play": "qpsvm.faces.play",
    "qpsvm.plotting": "qpsvm.faces.plotting",
    "qpsvm.problems": "qpsvm.machines",
    "qpsvm.proof": "qpsvm.bounds.proof",
    "qpsvm.qp": "qpsvm.program",
    "qpsvm.result.decision_functions": "qpsvm.result.model",
}
#: Those that stay public under their short names; the others are warned of.
SHORT = ("qpsvm.errors", "qpsvm.play", "qpsvm.plotting")


def _now(name: str) -> str | None:
    """What a module of an old name is called now; None where the name is no old one."""
    return next((now + name[len(old) :] for old, now in MOVED.items() if f"{name}.".startswith(f"{old}.")), None)


class _Moved(MetaPathFinder, Loader):
    """Finds a moved module, and puts the one module that there is in its place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self) if fullname.startswith("qpsvm.") and _now(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        old, now = module.__name__, _now(module.__name__)
        assert now is not None
        if not old.startswith(SHORT):
            warnings.warn(f"{old} is called {now} now", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(now)


def follow() -> None:
    """Let imports of the old names find the new modules."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())
