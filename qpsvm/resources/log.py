"""What a solve says while it works: to the logger "qpsvm", and where `verbose` asks for it on standard output.

Nothing is printed by default. A program that configures logging gets the messages in its own way and place:
`logging.basicConfig(level=logging.INFO)` shows the choice of backend, signs of life and the certified gap of each
solve, and `logging.DEBUG` a line an iteration too. `verbose=True` shows all of them for one call; where the
program's own logging takes a message, it is not printed a second time.

Whether a call is verbose travels with the call, and not in the logger, which all threads share: so no thread makes
another one's solve talk.
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("qpsvm")
LOGGER.addHandler(logging.NullHandler())
#: How far a solve is, at DEBUG: whoever draws a bar listens to this one, and finds the numbers in the record.
PROGRESS = logging.getLogger("qpsvm.progress")


def heard(verbose: bool, level: int = logging.INFO) -> bool:
    """Whether anybody listens: `verbose`, or a program that logs this level."""
    return verbose or LOGGER.isEnabledFor(level)


def say(text: str, verbose: bool) -> None:
    """Log a message at INFO; where `verbose` and nobody's handler takes it, print it."""
    _tell(text, verbose, logging.INFO, "qpsvm: ")


def say_step(text: str, verbose: bool) -> None:
    """The same for one iteration of many: at INFO where `verbose` asks for it, and at DEBUG where nobody does."""
    _tell(text, verbose, logging.INFO if verbose else logging.DEBUG, "")


def say_progress(stage: str, gap: float, passes: int | None = None, rows: int | None = None) -> None:
    """Log how far a solve is: its stage and relative gap, and passes so far over so many rows, where these are counted.

    The record has them as `stage`, `gap`, `passes` and `rows`.
    """
    if PROGRESS.isEnabledFor(logging.DEBUG):
        measures = {"stage": stage, "gap": gap, "passes": passes, "rows": rows}
        counted = "" if passes is None else f"pass {passes}, "
        PROGRESS.debug(f"{stage}: {counted}gap {gap:.1e}", extra=measures, stacklevel=2)


def _tell(text: str, verbose: bool, level: int, prefix: str) -> None:
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, text, stacklevel=3)
    if verbose and not _taken(level):
        print(f"{prefix}{text}", flush=True)


def _taken(level: int) -> bool:
    """Whether a handler that a program has put there gets messages of this level."""
    if not LOGGER.isEnabledFor(level):
        return False
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(each.level <= level and not isinstance(each, logging.NullHandler) for each in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
