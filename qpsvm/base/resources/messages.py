"""Log messages and progress to the logger "qpsvm", and with `verbose` to standard output (`log_message`).

Nothing is printed by default. A program that configures logging receives the messages: at INFO the choice of backend,
the progress of long solves and the certified gap, and at DEBUG also one line per iteration. `verbose=True` shows all of
them for one call, by `print` unless a handler of the program receives them.

`verbose` is an argument of every function, not a level of the logger, which all threads share: one thread's verbose
solve does not make another's print.
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("qpsvm")
LOGGER.addHandler(logging.NullHandler())
#: Logger of the progress of solves, at DEBUG; progress bars can read the numbers from its records.
PROGRESS = logging.getLogger("qpsvm.progress")


def is_logging(verbose: bool, level: int = logging.INFO) -> bool:
    """Return whether messages are shown: by `verbose`, or by a program that logs this level."""
    return verbose or LOGGER.isEnabledFor(level)


def log_message(text: str, verbose: bool) -> None:
    """Log a message at INFO; with `verbose` and without a handler, print it."""
    _log_at(text, verbose, logging.INFO, "qpsvm: ")


def log_step(text: str, verbose: bool) -> None:
    """Log a message of one iteration: at INFO with `verbose`, otherwise at DEBUG."""
    _log_at(text, verbose, logging.INFO if verbose else logging.DEBUG, "")


def log_progress(stage: str, gap: float, passes: int | None = None, rows: int | None = None) -> None:
    """Log the progress of a solve: its stage and relative gap and, if known, the numbers of passes and rows.

    The record has them as `stage`, `gap`, `passes` and `rows`.
    """
    if PROGRESS.isEnabledFor(logging.DEBUG):
        numbers = {"stage": stage, "gap": gap, "passes": passes, "rows": rows}
        pass_text = "" if passes is None else f"pass {passes}, "
        PROGRESS.debug(f"{stage}: {pass_text}gap {gap:.1e}", extra=numbers, stacklevel=2)


def log_done(done: int, total: int, unit: str) -> None:
    """Log the number of finished solves, or other units. The record has `done`, `total` and `unit`."""
    if PROGRESS.isEnabledFor(logging.DEBUG):
        PROGRESS.debug(f"{done} of {total} {unit}s", extra={"done": done, "total": total, "unit": unit}, stacklevel=2)


def _log_at(text: str, verbose: bool, level: int, prefix: str) -> None:
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, text, stacklevel=3)
    if verbose and not _has_handler(level):
        print(f"{prefix}{text}", flush=True)


def _has_handler(level: int) -> bool:
    """Return whether a program's own handler receives messages of this level."""
    if not LOGGER.isEnabledFor(level):
        return False
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(h.level <= level and not isinstance(h, logging.NullHandler) for h in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
