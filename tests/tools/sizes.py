"""Print how large the library is: for people to read, without a limit.

python tests/tools/sizes.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import qpsvm

ROOT = Path(qpsvm.__file__).parent
#: A constant of a module whose value begins with a number, and the numbers in it.
CONSTANT = re.compile(r"^[A-Z][A-Z_0-9]*(, [A-Z][A-Z_0-9]*)*(: [^=]+)? = [-(\d]")
NUMBER = re.compile(r"\d+\.?\d*(?:e[-+]?\d+)?")
#: How many of the longest files and fullest folders are printed.
SHOWN = 10


def docstring_and_import_lines(tree: ast.Module) -> Iterator[int]:
    """The numbers of lines that are docstrings, or imports at the top."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield from range(first.lineno, (first.end_lineno or 0) + 1)
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from range(node.lineno, (node.end_lineno or 0) + 1)


def measure_file(path: Path) -> dict[str, int]:
    """Lines, lines of code, classes, and numbers in constants of one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    beside = set(docstring_and_import_lines(tree))
    code = [line for k, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#" and k not in beside]
    return {
        "files": 1,
        "lines": len(lines),
        "lines of code": len(code),
        "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        "constants": sum(len(NUMBER.findall(line.split("#")[0])) for line in lines if CONSTANT.match(line)),
    }


def files_of_a_solve() -> int:
    """How many files a second solve of a linear C-SVM calls functions of: what is imported is imported."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    problem = qpsvm.CSVM(X, X.sum(axis=1) + rng.normal(size=80) > 0)
    qpsvm.solve(problem)
    files: set[str] = set()

    def note_file(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(str(ROOT)) and code.co_name != "<module>":
            files.add(code.co_filename)

    sys.setprofile(note_file)
    qpsvm.solve(qpsvm.CSVM(problem.X, problem.y))
    sys.setprofile(None)
    return len(files)


def main() -> None:
    """Print totals, then the longest files and the fullest folders."""
    sizes = {path.relative_to(ROOT).as_posix(): measure_file(path) for path in sorted(ROOT.rglob("*.py"))}
    for name in next(iter(sizes.values())):
        print(f"{sum(size[name] for size in sizes.values()):7,}  {name}")
    print(f"{files_of_a_solve():7,}  files through which a solve goes")
    for path, size in sorted(sizes.items(), key=lambda item: -item[1]["lines"])[:SHOWN]:
        print(f"{size['lines']:7,}  lines in {path}")
    folders = {folder: len([*folder.glob("*.py")]) for folder in ROOT.rglob("*") if folder.is_dir()}
    for folder, count in sorted(folders.items(), key=lambda item: -item[1])[:SHOWN]:
        print(f"{count:7,}  files in {folder.relative_to(ROOT).as_posix()}")


if __name__ == "__main__":
    main()
