"""The command line: `python -m qpsvm [solve | predict | verify | compare | path | leave-one-out | derive | …]`.

Each command has a file. Whatever happens, the user sees results on standard output, one line on standard error and an
exit code, and never a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from qpsvm.base.errors import ParameterError, QPSVMError, SolverError, TooLargeError
from qpsvm.faces.cli.parser import make_parser
from qpsvm.faces.cli.terminal import reserve_blas_buffers, spell_unencodable

#: Exit code where a result is not optimal, memory is too small or a solver broke down.
FAILED = 1
#: Exit code for what the user got wrong.
WRONG = 2
#: Exit code that a shell reports of a process that Ctrl-C ended.
INTERRUPTED = 130
#: What is said where memory runs out in the middle of the work.
NO_MEMORY = (
    "this needs more memory than the process may use: take fewer rows, or --kernel linear where there are many, or "
    "raise the limit (ulimit -v)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    code = 0
    with spell_unencodable(sys.stdout), spell_unencodable(sys.stderr):
        try:
            try:
                code = _parse_and_run(arguments)
            finally:
                if sys.stdout is not None:  # None where it is closed
                    sys.stdout.flush()
        except BrokenPipeError:  # the reader of our output went away, as `| head` does
            _discard_output()
        except OSError as error:  # a full disk behind standard output
            _discard_output()
            code = _print_error(error.strerror or str(error), FAILED)
    return code


def _parse_and_run(arguments: Sequence[str] | None) -> int:
    """Parse and run. Every way to fail has its sentence and its code."""
    try:
        options = make_parser().parse_args(arguments)
        if options.all and options.command is not None:
            raise ParameterError(f"--all belongs to the table without a command: leave it out of {options.command}")
        reserve_blas_buffers()
        code: int = options.run(options)
        return code
    except MemoryError as error:
        return _print_error(str(error) if isinstance(error, TooLargeError) else NO_MEMORY, FAILED)
    except QPSVMError as error:
        return _print_error(str(error), FAILED if isinstance(error, SolverError) else WRONG)
    except KeyboardInterrupt:
        print("qpsvm: interrupted by Ctrl-C before the command ended", file=sys.stderr)
        return INTERRUPTED


def _print_error(sentence: str, code: int) -> int:
    print(f"qpsvm: error: {' '.join(sentence.split())}", file=sys.stderr)
    return code


def _discard_output() -> None:
    """Send the rest of standard output nowhere, so that the interpreter does not complain when it ends."""
    with suppress(OSError, ValueError):  # in a test, standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
