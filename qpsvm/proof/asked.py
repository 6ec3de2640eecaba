"""A result that is asked for a proof: it keeps its problem for that, and leaves it behind where it goes into a file."""

from __future__ import annotations

from typing import Any

from qpsvm.errors import UnsupportedError
from qpsvm.proof.proof import Proof


def proof_of(result: Any, problem: Any, tol: float | None) -> Proof:
    """What `verify` of a result returns, whatever the machine.

    Raises UnsupportedError.
    """
    owner = result.problem if problem is None else problem
    owner = owner() if callable(owner) else owner
    if owner is None:
        raise UnsupportedError("a result out of a file has no samples: verify(problem) with the problem it solves")
    proof: Proof = owner.prove(result, tol=tol)
    return proof


def without_problem(result: Any) -> dict[str, Any]:
    """The state of a result that goes into a file: all but the problem, whose samples do not belong there."""
    return {name: value for name, value in vars(result).items() if name != "problem"}
