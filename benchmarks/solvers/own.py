"""A solver of one's own: a class of about ten lines, named on the command line by MODULE:CLASS or by a file.

    class Mine(Entrant):                                   # my_solver.py, with `from benchmarks.solvers import *`
        name = "mine"

        def takes(self, task):                             # the machines that it knows
            return task.variant == "c"

        def run(self, data, rung):                         # timed: from X, y to an answer of any kind
            alpha = ...data.X, data.y, data.task.C, data.gamma, rung.tol...
            return alpha, Said("converged", claimed=True)  # what it says is recorded, and not believed

        def point(self, data, answer):                     # not timed: α (n,), or w (d,) and b
            return Point(alpha=answer)

    python -m benchmarks --quick --solver my_solver.py --solver qpsvm

It is measured like the others: in a process of its own, with a copy of the samples, by our clock, its point by the
certificate. Where it raises, crashes, never ends or returns nonsense, that is what the record says.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.solvers.base import Entrant, Origin
from qpsvm.base.errors import MissingFileError, ParameterTypeError, UnknownOptionError, nearest

#: How a class is named.
HOW = "MODULE:CLASS, FILE.py:CLASS, or FILE.py where the file has one"


def origin_of(text: str) -> Origin | None:
    """What a word of the command line names; None where it is no such word, but a solver's name."""
    place, _, kind = text.rpartition(":")
    if text.endswith(".py"):
        return Origin(str(Path(text).resolve()))
    if place.endswith(".py"):
        return Origin(str(Path(place).resolve()), kind)
    dotted = place and all(part.isidentifier() for part in place.split("."))
    return Origin(place, kind) if dotted and place != "qpsvm" else None


def loaded(origin: Origin) -> Entrant:
    """The solver, made and looked at.

    Raises
    ------
    MissingFileError, UnknownOptionError
        No such file or module, or no such class in it.
    ParameterTypeError
        It is no `Entrant`, or lacks what one has to have; the message names it.
    """
    kind = _class(_module(origin.place), origin)
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if not isinstance(getattr(kind, "name", None), str):
        lacking.append("name")
    if lacking:
        raise ParameterTypeError(
            f"{kind.__name__} in {origin.place} lacks {', '.join(lacking)}: benchmarks/solvers/own.py shows all of it"
        )
    entrant = kind()
    entrant.origin = origin
    return entrant


def _module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix != ".py":
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise  # something that it imports
            raise UnknownOptionError(f"there is no module {place!r}; a solver of one's own is {HOW}") from None
        finally:
            sys.path.pop(0)
    if not path.is_file():
        raise MissingFileError(f"{path} does not exist; a solver of one's own is {HOW}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # so that what it makes can be pickled
    sys.path.insert(0, str(path.parent))  # as Python does for a script
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _class(module: ModuleType, origin: Origin) -> type[Entrant]:
    own: dict[str, type[Entrant]] = {name: kind for name, kind in vars(module).items() if _is_own(kind, module)}
    if not origin.kind:
        if len(own) != 1:
            which = f"has several, {', '.join(own)}: name one of them" if own else "has none"
            raise UnknownOptionError(f"{origin.place} {which}; a subclass of benchmarks.solvers.Entrant is wanted")
        [only] = own.values()
        return only
    kind: Any = getattr(module, origin.kind, None)
    if kind is None:
        raise UnknownOptionError(f"{origin.place} has no class {origin.kind!r}; {nearest(origin.kind, own)}")
    if not (isinstance(kind, type) and issubclass(kind, Entrant)):
        raise ParameterTypeError(f"{origin.kind} in {origin.place} is no subclass of benchmarks.solvers.Entrant")
    return kind


def _is_own(kind: Any, module: ModuleType) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Entrant) and kind.__module__ == module.__name__
