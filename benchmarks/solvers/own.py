"""A solver of one's own: a class of about ten lines, named on the command line by MODULE:CLASS or by a file.

    class Mine(Entrant):                                   # my_solver.py, with `from benchmarks.solvers import *`
        name = "mine"

        def accepts(self, task):                           # the machines that it knows
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

from benchmarks.solvers.base import Entrant, SolverOrigin
from qpsvm.base.errors import MissingFileError, ParameterTypeError, UnknownOptionError, describe_nearest

#: How a class is named.
ORIGIN_FORMS = "MODULE:CLASS, FILE.py:CLASS, or FILE.py where the file has one"


def parse_origin(text: str) -> SolverOrigin | None:
    """Parse a word of the command line as the origin of a solver; None if it is a solver's name."""
    place, _, kind = text.rpartition(":")
    if text.endswith(".py"):
        return SolverOrigin(str(Path(text).resolve()))
    if place.endswith(".py"):
        return SolverOrigin(str(Path(place).resolve()), kind)
    dotted = place and all(part.isidentifier() for part in place.split("."))
    return SolverOrigin(place, kind) if dotted and place != "qpsvm" else None


def load_solver(origin: SolverOrigin) -> Entrant:
    """The solver, made and looked at.

    Raises
    ------
    MissingFileError, UnknownOptionError
        No such file or module, or no such class in it.
    ParameterTypeError
        It is no `Entrant`, or lacks what one has to have; the message names it.
    """
    kind = _find_class(_import_module(origin.location), origin)
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if not isinstance(getattr(kind, "name", None), str):
        lacking.append("name")
    if lacking:
        raise ParameterTypeError(
            f"{kind.__name__} in {origin.location} lacks {', '.join(lacking)}: "
            "benchmarks/solvers/own.py shows all of it"
        )
    entrant = kind()
    entrant.origin = origin
    return entrant


def _import_module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix != ".py":
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise  # something that it imports
            raise UnknownOptionError(f"there is no module {place!r}; a solver of one's own is {ORIGIN_FORMS}") from None
        finally:
            sys.path.pop(0)
    if not path.is_file():
        raise MissingFileError(f"{path} does not exist; a solver of one's own is {ORIGIN_FORMS}")
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


def _find_class(module: ModuleType, origin: SolverOrigin) -> type[Entrant]:
    own: dict[str, type[Entrant]] = {name: kind for name, kind in vars(module).items() if _is_own(kind, module)}
    if not origin.class_name:
        if len(own) != 1:
            if own:
                which = f"has several, {', '.join(own)}: name one of them"
            else:
                which = "has none"
            raise UnknownOptionError(f"{origin.location} {which}; a subclass of benchmarks.solvers.Entrant is wanted")
        [only] = own.values()
        return only
    kind: Any = getattr(module, origin.class_name, None)
    if kind is None:
        raise UnknownOptionError(
            f"{origin.location} has no class {origin.class_name!r}; {describe_nearest(origin.class_name, own)}"
        )
    if not (isinstance(kind, type) and issubclass(kind, Entrant)):
        raise ParameterTypeError(
            f"{origin.class_name} in {origin.location} is no subclass of benchmarks.solvers.Entrant"
        )
    return kind


def _is_own(kind: Any, module: ModuleType) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Entrant) and kind.__module__ == module.__name__
