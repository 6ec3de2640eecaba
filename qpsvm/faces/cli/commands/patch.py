"""`patch`: a program that uses scikit-learn's support vector machines, run as Python runs it, on these estimators.

The program sees what it would see of `python SCRIPT`: its arguments, `__main__`, the first entry of `sys.path`, its
exit code, and a traceback that begins in its own file. So it runs after everything of this command line is undone.

examples:
  python -m qpsvm patch train.py --epochs 3
      as `python train.py --epochs 3`, in which `from sklearn.svm import SVC` is qpsvm.estimators.SVC
  python -m qpsvm patch --verbose --only SVC,LinearSVC train.py
      two of the classes, and a line on standard error for each fit
  python -m qpsvm patch -m pytest tests
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import logging
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from qpsvm.base.errors import FileAccessError, MissingFileError, ParameterError
from qpsvm.faces.cli.shell import find_command

#: The options of Python that say what the program is, where it is no script.
KINDS = ("-m", "-c")
#: The option of ours that has a value.
WITH_VALUE = "--only"
#: Files whose frames stand above the program's in a traceback.
ABOVE = (str(Path(__file__).parents[3]), "<frozen runpy>", runpy.__file__)

USAGE = "%(prog)s [--only NAMES] [--verbose] (SCRIPT | -m MODULE | -c CODE) [ARGUMENTS ...]"
EPILOG = "examples:" + (__doc__ or "").partition("examples:")[2]


def own_arguments(arguments: Sequence[str]) -> int:
    """How many arguments are this command's; the rest is the program and what is passed on to it."""
    count = 0
    while count < len(arguments):
        text = arguments[count]
        if text == "-" or not text.startswith("-") or text[:2] in KINDS:
            break
        count += 2 if text == WITH_VALUE else 1
    return min(count, len(arguments))


def run(options: argparse.Namespace) -> Callable[[], int]:
    """Patch scikit-learn, and return what runs the program."""
    program = _program(options.program)
    _show_log(options.verbose)
    from qpsvm.estimators.patch.patching import patch_sklearn

    patch_sklearn([name.strip() for text in options.only for name in text.split(",")] or None)

    def run_program() -> int:
        sys.excepthook = _without_frames_above(sys.excepthook)
        program()
        return 0

    return run_program


def _program(words: Sequence[str]) -> Callable[[], object]:
    """What runs the program that the command line names. Raises MissingFileError, FileAccessError, ParameterError."""
    if not words:
        more = find_command("patch", "--help")
        raise ParameterError(f"name the program to run: a script, -m MODULE or -c CODE ({more})")
    first, *arguments = words
    kind, behind = first[:2], first[2:]
    if kind not in KINDS:
        return _of_script(first, arguments)
    if not (behind or arguments):
        raise ParameterError(f"{kind} needs a {'module' if kind == '-m' else 'piece of code'} behind it")
    name, *arguments = [behind, *arguments] if behind else arguments
    if kind == "-c":
        return lambda: _run_code(name, "<string>", ["-c", *arguments], path="")
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        raise ParameterError(f"no module named {name!r} (looked for in {os.getcwd()} and on Python's own path)")

    def run_module() -> None:
        sys.argv = [name, *arguments]
        runpy.run_module(name, run_name="__main__", alter_sys=True)

    return run_module


def _of_script(name: str, arguments: list[str]) -> Callable[[], object]:
    """What runs a file of source; or a folder, an archive or compiled code, which `runpy` reads."""
    argv = [name, *arguments]
    if name == "-":
        return lambda: _run_code(sys.stdin.read(), "<stdin>", argv, path="")
    path = Path(name)
    if not path.exists():
        raise MissingFileError(f"no script {name!r} (looked for in {os.getcwd()})")
    if path.is_dir() or path.suffix == ".pyc" or zipfile.is_zipfile(path):

        def run_path() -> None:
            sys.argv = argv
            runpy.run_path(name, run_name="__main__")

        return run_path
    try:
        source = path.read_bytes()
    except OSError as error:
        raise FileAccessError(f"the script {name!r} cannot be read: {error.strerror}") from error
    return lambda: _run_code(source, os.path.abspath(name), argv, path=str(path.resolve().parent))


def _run_code(source: bytes | str, file: str, argv: list[str], path: str) -> None:
    """Run source as `__main__`, and leave that there for the threads and exit handlers that outlive it.

    `runpy` would take it away, and gives `sys.argv[0]` and `__file__` one value, where Python makes the second
    absolute.
    """
    main = types.ModuleType("__main__")
    vars(main).update(__builtins__=__builtins__, __annotations__={})
    if os.path.isabs(file):
        vars(main).update(
            __file__=file, __cached__=None, __loader__=importlib.machinery.SourceFileLoader("__main__", file)
        )
    sys.modules["__main__"] = main
    sys.argv = argv
    if not sys.flags.safe_path:
        sys.path[0] = path
    exec(compile(source, file, "exec", dont_inherit=True), vars(main))


def _without_frames_above(
    hook: Callable[[type[BaseException], BaseException, TracebackType | None], object],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], object]:
    """The same hook for an exception that nobody caught, told of the frames from the program's first one on."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        first = trace
        while first is not None and first.tb_frame.f_code.co_filename.startswith(ABOVE):
            first = first.tb_next
        hook(kind, error.with_traceback(first), first)

    return show


def _show_log(verbose: bool) -> None:
    """Show on standard error what falls back, and with `verbose` what is taken over too.

    Where the program configures logging itself, it has these messages from there.
    """
    log = logging.getLogger("qpsvm.patch")
    shown = logging.StreamHandler()
    shown.setFormatter(logging.Formatter("qpsvm: %(message)s"))
    shown.addFilter(lambda record: not logging.getLogger().handlers)  # noqa: ARG005
    log.addHandler(shown)
    if verbose:
        log.setLevel(logging.INFO)
