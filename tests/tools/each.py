"""One test of many cases, where each takes some milliseconds: an item of its own would take as long again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(names: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, in one item; what fails says for which values."""
    asked = [name.strip() for name in names.split(",")]
    cases = list(values)
    assert cases

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run_all(**given: Any) -> None:
            for case in cases:
                own = dict(zip(asked, case if len(asked) > 1 else [case], strict=True))
                try:
                    test(**given, **own)
                except BaseException as error:
                    error.add_note(f"for {own}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in asked]
        run_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run_all

    return decorate
