"""A solve that keeps where it is in a file, and goes on from there: what the file has to know of the problem.

What is kept is the small state of the one solver that has such states. It says where to begin, and nothing about the
answer, which is certified as any other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from qpsvm.backends import RESUMABLE
from qpsvm.base.errors import UnsupportedError
from qpsvm.base.resources.progress import say
from qpsvm.machines import JointProblem, Problem
from qpsvm.machines.problem.replaced import own_parameters
from qpsvm.result.saving.checkpoint import Checkpoint


def backend_of(problem: Problem | JointProblem, backend: str) -> str:
    """The backend of a solve that keeps its state.

    Raises UnsupportedError.
    """
    if not isinstance(problem, Problem) or backend not in ("auto", RESUMABLE) or not problem.space.is_linear:
        raise UnsupportedError(
            f"checkpoint= is for linear machines that {RESUMABLE!r} solves: only its solves have a state of few numbers"
        )
    return RESUMABLE


@contextmanager
def kept(problem: Problem, path: str | os.PathLike[str], verbose: bool) -> Iterator[Checkpoint]:
    """The file of a solve; however that ends, its last state is written.

    Raises DataError, ParameterError, FileFormatError, FileAccessError.
    """
    signature = {
        "machine": type(problem).__name__, "kernel": str(problem.kernel), "intercept": problem.intercept,
        **own_parameters(problem),
    }  # fmt: skip
    file = LastState(path, problem.samples.fingerprint(), signature, problem.X.shape[1] + 8)
    if file.state is not None:
        say(f"goes on from {file.path}", verbose)
    try:
        yield file
    finally:
        file.finish()


class LastState(Checkpoint):
    """A checkpoint that knows the last state it was given, written or not."""

    last: Mapping[str, Any] | None = None

    def keep(self, state: Mapping[str, Any], now: bool = False) -> None:
        """Write a state, if the last was not written just now."""
        self.last = state
        super().keep(state, now)

    def finish(self) -> None:
        """Write the last state."""
        if self.last is not None and self.last is not self.state:
            super().keep(self.last, now=True)


__all__ = ["backend_of", "kept"]
