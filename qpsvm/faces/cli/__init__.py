"""The command line: `python -m qpsvm [solve | predict | verify | compare | path | leave-one-out | derive | …]`.

Each command has its own module. Results go to standard output. An error prints one line on standard error, sets the
exit code, and never shows a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext

from qpsvm.base.errors import ParameterError, QPSVMError, SolverError, TooLargeError
from qpsvm.faces.cli.memory import reserve_blas_buffers
from qpsvm.faces.cli.parser import make_parser
from qpsvm.faces.cli.terminal import discard_output, ignore_closed_pipe, spell_unencodable

#: Exit code if a result is not optimal, memory runs out or a solver breaks down.
FAILED = 1
#: Exit code for errors of the user.
WRONG = 2
#: Exit code that a shell reports for a process ended by Ctrl-C.
INTERRUPTED = 130
#: Options that name a file to write.
FILE_OUTPUTS = ("save", "proof", "plot", "output", "html", "latex")
#: Message if memory runs out during the work.
NO_MEMORY = (
    "this needs more memory than the process may use: use fewer rows, use --kernel linear if there are many, or raise "
    "the limit (ulimit -v)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    code = 0
    with spell_unencodable(sys.stdout), spell_unencodable(sys.stderr):
        try:
            try:
                code = _parse_and_run(arguments)
            finally:
                if sys.stdout is not None:  # None if it is closed
                    sys.stdout.flush()
        except BrokenPipeError:  # the reader closed the pipe, as `| head` does
            discard_output()
        except OSError as error:  # a full disk behind standard output
            discard_output()
            code = _print_error(error.strerror or str(error), FAILED)
    return code


def _parse_and_run(arguments: Sequence[str] | None) -> int:
    """Parse and run; every failure has a message and an exit code."""
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
        return _print_error(str(error) if isinstance(error, TooLargeError) else NO_MEMORY, FAILED)
    except QPSVMError as error:
        return _print_error(str(error), FAILED if isinstance(error, SolverError) else WRONG)
    except KeyboardInterrupt:
        print("qpsvm: interrupted by Ctrl-C before the command ended", file=sys.stderr)
        return INTERRUPTED


def _print_error(sentence: str, code: int) -> int:
    print(f"qpsvm: error: {' '.join(sentence.split())}", file=sys.stderr)
    return code
