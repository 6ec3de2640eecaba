"""The checker of proof files, run in this process by the tests of proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qpsvm.bounds.proof import checker


def run_checker(proof: Any, data: Any, tol: float = 1e-6, without: Sequence[int] = ()) -> tuple[int, list[str]]:
    """Return the exit code of the checker, 2 where it cannot use the files, and the lines that it says."""
    said: list[str] = []
    try:
        return checker.check(str(proof), str(data), None, said.append, tol, without), said
    except checker.UnusableError as error:
        return 2, [str(error)]
