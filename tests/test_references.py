"""What docstrings, comments and pages name in backticks is there: identifiers, modules and files."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("qpsvm", "tests", "benchmarks", "docs/gallery")
#: Objects and packages, whose attributes may have the name of a module.
OBJECTS = {"result", "problem", "proof", "solution", "sklearn", "cvxopt", "data", "self", "lines",
           "dask", "dtype"}  # fmt: skip
#: Words in backticks that are no names of this repository: of other packages, of languages, of files that are made.
FOREIGN = {"with", "inspection", "FirstOrderMinimizer", "Session", "eps2", "cuml", "ru_maxrss", "pythonpath",
           "wait_for_function", "Held"}  # fmt: skip


def sources() -> list[Path]:
    """Every file of Python that is not made."""
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if "_build" not in path.parts]


@cache
def identifiers() -> frozenset[str]:
    """Every name that code has, and every word of its strings that may be one."""
    found: set[str] = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for field in ("name", "id", "attr", "arg"):
                if isinstance(name := getattr(node, field, None), str):
                    found.update(name.split("."))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"\w+", node.value) if len(node.value) < 60 else ())
    return frozenset(found | modules().keys() | {path.stem for path in sources()})


@cache
def modules() -> dict[str, set[str]]:
    """The modules and packages of the library by their last names: their dotted paths."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "qpsvm").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        found.setdefault(parts[-1], set()).add(".".join(parts))
    return found


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a file, or all of a page, with their lines."""
    if path.suffix != ".py":
        yield 1, path.read_text(encoding="utf-8")
        return
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and '"""' in token.string):
            yield token.start[0], token.string


@cache
def backticks(path: Path) -> list[tuple[str, str]]:
    """What stands in backticks in a file, and where."""
    found = []
    for first, text in texts(path):
        for match in re.finditer(r"(?<!`)`([\w./-]+)`(?!`)", text):
            line = first + text.count("\n", 0, match.start())
            found.append((f"{path.relative_to(ROOT)}:{line}: {match[1]}", match[1]))
    return found


def find_quoted(paths: list[Path], form: str) -> Iterator[tuple[str, str]]:
    """Find those that have a form."""
    for path in paths:
        yield from (pair for pair in backticks(path) if re.fullmatch(form, pair[1]))


def test_identifiers_are_there() -> None:
    known = identifiers() | FOREIGN
    form = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
    assert not [where for where, word in find_quoted(sources(), form) if not known.issuperset(word.split("."))]


def test_modules_are_where_they_are_said_to_be() -> None:
    every = {path for paths in modules().values() for path in paths}

    def tails(words: str) -> list[str]:
        return [path for path in every if path == words or path.endswith(f".{words}")]

    def has(module: str, name: str) -> bool:
        file = ROOT / module.replace(".", "/")
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        return re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) is not None

    wrong = []
    for where, word in find_quoted(sources(), r"[a-z_]+(?:\.[a-z_]+)+"):
        owners, _, last = word.rpartition(".")
        if last in modules() and owners.split(".")[0] not in OBJECTS and not tails(word):
            wrong += [] if any(has(module, last) for module in tails(owners)) else [where]
    assert not wrong


def test_files_are_where_they_are_said_to_be() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md"), ROOT / "README.md",
             *(ROOT / "docs" / "theory").glob("*.md"), ROOT / "CONTRIBUTING.md"]  # fmt: skip
    folders = [ROOT, ROOT / "qpsvm", ROOT / "docs", ROOT / "tests", ROOT / "tests" / "tools"]
    wrong = []
    for where, word in find_quoted([*sources(), *pages], r"[\w./-]+/[\w.-]+\.(?:py|c|h|md|toml|js|css)"):
        own = (ROOT / where.partition(":")[0]).parent
        if not any((folder / word).exists() for folder in (*folders, own)):
            wrong.append(where)
    assert not wrong
