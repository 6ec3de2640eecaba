"""Every public name has an example, every example runs, and the sections of a docstring say what the code takes.

An example stands alone: it imports what it uses, so that a reader can copy it. Each runs in an empty folder, so that it
may write a file as a reader would.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot

import qpsvm
import qpsvm.derivation
import qpsvm.play

ROOT = Path(qpsvm.__file__).parent
#: The modules whose `__all__` a user imports from.
MODULES = (qpsvm, qpsvm.plotting, qpsvm.backends, qpsvm.derivation, qpsvm.play)
#: For who writes a machine or a solver: the example of the class shows what they are, and not each method.
SHOWN_BY_THE_CLASS = {"SVMDual", "Backend", "Step"}
#: numpydoc's checks that hold for every public name; what each means stands in its documentation.
CHECKS = {
    "GL01", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10", "SS01", "SS03", "SS04", "SS06",
    "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10", "RT02", "RT03", "RT04", "RT05", "YD01",
    "SA02", "SA03", "SA04",
}  # fmt: skip
#: Those that hold where a docstring does not leave the words to the class or the method that it stands for.
COMPLETE = {"PR01", "RT01"}


# --- the examples run -------------------------------------------------------------------------------------------------


def examples_of(path: Path) -> Iterator[doctest.DocTest]:
    """The examples in the docstrings of a file, each with an empty namespace."""
    parser = doctest.DocTestParser()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node)
            if text and ">>>" in text:
                name = getattr(node, "name", path.stem)
                yield parser.get_doctest(text, {}, name, str(path), node.body[0].lineno - 1)


WITH_EXAMPLES = [path for path in sorted(ROOT.rglob("*.py")) if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_runs(path, tmp_path, monkeypatch):
    if path.name == "widget.py":
        pytest.importorskip("anywidget")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for example in examples_of(path):
        runner.run(example, out=said.append)
        pyplot.close("all")
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_no_example_is_skipped():
    assert [path for path in WITH_EXAMPLES if "+SKIP" in path.read_text(encoding="utf-8")] == []


# --- every public name has one ----------------------------------------------------------------------------------------


def public_names() -> dict[str, Any]:
    """Classes and functions that a user imports, by their full names; `Playground` where its packages are installed."""
    named = [getattr(module, name) for module in MODULES for name in module.__all__]
    named += [qpsvm.patch_sklearn, qpsvm.unpatch_sklearn, *([qpsvm.Playground] if find_spec("anywidget") else [])]
    return {f"{kind.__module__}.{kind.__qualname__}": kind for kind in named if callable(kind)}


def methods() -> Iterator[tuple[str, str, Any]]:
    """Public methods and properties that public classes define: full name, kind of the class, attribute."""
    for full, kind in public_names().items():
        for name, value in vars(kind).items() if inspect.isclass(kind) else ():
            if not name.startswith("_") and (
                inspect.isroutine(value) or isinstance(value, (property, cached_property))
            ):
                yield f"{full}.{name}", kind, value


def is_override(name: str, kind: type) -> bool:
    """Whether a public class above defines the method: an override may leave the words to it."""
    above = kind.__mro__[1:]
    return any(name.rpartition(".")[2] in vars(base) for base in above if base.__module__.startswith("qpsvm"))


def test_every_public_name_has_an_example():
    assert [name for name, kind in public_names().items() if ">>>" not in (inspect.getdoc(kind) or "")] == []


def test_every_method_that_a_user_calls_has_an_example():
    own = {name: value for name, kind, value in methods() if not is_override(name, kind)}
    called = {name: value for name, value in own.items() if not isinstance(value, (property, cached_property))}
    shown = {name for name in called if name.split(".")[-2] in SHOWN_BY_THE_CLASS}
    assert [name for name in called.keys() - shown if ">>>" not in (inspect.getdoc(called[name]) or "")] == []


# --- the sections are complete ----------------------------------------------------------------------------------------


def test_every_attribute_of_a_record_is_described():
    """A class that says what it holds, in a section of attributes, names all that it is made from."""
    docscrape = pytest.importorskip("numpydoc.docscrape")
    missing, told = {}, {}
    for kind in public_names().values():
        if inspect.isclass(kind):
            text = docscrape.NumpyDocString(inspect.getdoc(kind))
        else:
            text = None
        if text is None or text["Parameters"] or not text["Attributes"] or issubclass(kind, enum.Enum):
            continue
        described = told[kind.__name__] = {
            part.strip() for entry in text["Attributes"] for part in entry.name.split(",")
        }
        if dataclasses.is_dataclass(kind):
            made_from = {field.name for field in dataclasses.fields(kind)}
        else:
            made_from = set()
        made_from = made_from or set(inspect.signature(kind).parameters) - {"args", "kwargs"}
        missing[kind] = {part for part in made_from - described if not part.startswith("_")}
    for kind in missing:  # which may say that the rest is as of another record
        other = re.search(r"(?:is as of an?|attributes are as in) `(\w+)`", inspect.getdoc(kind) or "")
        missing[kind] -= told[other[1]] if other else set()
    assert len(missing) > 5
    assert {name: absent for name, absent in missing.items() if absent} == {}


@pytest.mark.filterwarnings("ignore:Widget")  # of ipywidgets, whose members are all looked at
def test_the_sections_of_every_public_docstring_are_sound():
    validate = pytest.importorskip("numpydoc.validate").validate
    names = dict.fromkeys(public_names(), CHECKS)
    described = {name for name, kind in public_names().items() if not inspect.isclass(kind)}
    for name, kind, _ in methods():
        names[name] = CHECKS
        if not is_override(name, kind):
            described.add(name)
    wrong = [
        f"{name}: {code} {message}"
        for name, checks in names.items()
        for code, message in validate(name)["errors"]
        if code in (checks | COMPLETE if name in described else checks)
    ]
    assert wrong == []
