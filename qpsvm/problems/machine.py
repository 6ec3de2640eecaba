"""What `solve` takes: a machine that knows the type of its result."""

from __future__ import annotations

from typing import Generic, TypeVar

#: The type of a machine's result.
R = TypeVar("R")


class Machine(Generic[R]):
    """A machine whose solution is an R: `Problem` of one decision function, `JointProblem` of several."""
