"""Run the command line, `python -m qpsvm [command] [options]` (`main`).

The package `commands` implements the commands. Results go to standard output. An error prints one line on standard
error, sets the exit code, and never shows a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext

from qpsvm.base.errors import ParameterError, QPSVMError, SolverError, TooLargeError
from qpsvm.faces.cli.memory import reserve_blas_buffers
from qpsvm.faces.cli.parser import make_parser
from qpsvm.faces.cli.terminal import discard_output, ignore_closed_pipe, spell_unencodable

#: Exit code if memory runs out, a solver breaks down or the output cannot be written.
EXIT_FAILURE = 1
#: Exit code if the arguments or the data are wrong.
EXIT_USER_ERROR = 2
#: Exit code that a shell reports for a process ended by Ctrl-C.
EXIT_INTERRUPTED = 130
#: Options that name a file to write; with one of them, a closed pipe does not end the command.
FILE_OUTPUTS = ("save", "proof", "plot", "output", "html", "latex")
#: Message if memory runs out while a command runs.
NO_MEMORY = (
    "this needs more memory than the process may use: use fewer rows, use --kernel linear if there are many, or raise "
    "the limit (ulimit -v)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default with the arguments of this process, and return the exit code."""
    code = 0
    with spell_unencodable(sys.stdout), spell_unencodable(sys.stderr):
        try:
            try:
                code = _parse_and_run(arguments)
            finally:  # flush here, so that an error of the last write is handled below
                if sys.stdout is not None:  # None if it is closed
                    sys.stdout.flush()
        except BrokenPipeError:  # the reader closed the pipe, as `| head` does
            discard_output()
        except OSError as error:  # a full disk behind standard output
            discard_output()
            code = _print_error(error.strerror or str(error), EXIT_FAILURE)
    return code


def _parse_and_run(arguments: Sequence[str] | None) -> int:
    """Parse the arguments, run the command and return its exit code; an error is printed."""
    try:
        options = make_parser().parse_args(arguments)
        if options.all and options.command is not None:
            raise ParameterError(f"--all only applies without a command: leave it out of {options.command}")
        reserve_blas_buffers()
        writes_files = any(getattr(options, name, None) for name in FILE_OUTPUTS)
        with ignore_closed_pipe() if writes_files else nullcontext():
            code: int = options.run(options)
        return code
    except MemoryError as error:
        return _print_error(str(error) if isinstance(error, TooLargeError) else NO_MEMORY, EXIT_FAILURE)
    except QPSVMError as error:
        return _print_error(str(error), EXIT_FAILURE if isinstance(error, SolverError) else EXIT_USER_ERROR)
    except KeyboardInterrupt:
        print("qpsvm: interrupted by Ctrl-C before the command ended", file=sys.stderr)
        return EXIT_INTERRUPTED


def _print_error(message: str, code: int) -> int:
    """Print a message as one line, and return the exit code."""
    print(f"qpsvm: error: {' '.join(message.split())}", file=sys.stderr)
    return code
