"""Define the type of the classes of machines (`MachineType`)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from qpsvm.base.arrays.frozen import FastABCMeta
from qpsvm.base.errors import UnknownOptionError
from qpsvm.base.other_names import explain_argument
from qpsvm.machines.problem.docstrings import signature_of


class MachineType(FastABCMeta):
    """Type of the classes of machines: a call with an unknown argument raises an error that says what to write."""

    __signature__: inspect.Signature

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace)
        del options  # of `__init_subclass__`
        cls.__signature__ = signature_of(cls)

    if not TYPE_CHECKING:  # a type checker reads the arguments off `__init__`

        def __call__(cls, *values: Any, **options: Any) -> Any:
            known = cls.__signature__.parameters
            unknown = next((name for name in options if name not in known), None)
            if unknown is not None and all(each.kind is not each.VAR_KEYWORD for each in known.values()):
                raise UnknownOptionError(explain_argument(cls.__name__, unknown, options, sorted(known)))
            problem = super().__call__(*values, **options)
            problem.__dict__["_is_complete"] = True
            return problem
