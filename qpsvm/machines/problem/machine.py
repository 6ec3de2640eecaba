"""What `solve` takes: a machine that knows the type of its result."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from qpsvm.base.arrays.frozen import freeze_all, read_only

#: The type of a machine's result.
R = TypeVar("R")


class Machine(Generic[R]):
    """A machine whose solution is an R: `Problem` of one decision function, `JointProblem` of several.

    Arrays that it keeps are read-only: what is worked out of them is kept, too.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_all(self.__dict__)
