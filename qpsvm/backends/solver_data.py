"""Define what a solver receives (`SolverData`)."""

from __future__ import annotations

from typing import Any

from qpsvm.base.arrays.formatting import build_repr


class SolverData(tuple[Any, ...]):
    """The data that a solver receives, in the order and by the names of its own interface.

    It can be unpacked (`P, q, G, h, A, b = data`), read by attribute (`data.P`) or key (`data["P"]`), and passed on as
    keywords (`cvxopt.solvers.qp(**data)`).
    """

    _names: tuple[str, ...]

    def __new__(cls, **parts: Any) -> SolverData:
        data = super().__new__(cls, parts.values())
        data._names = tuple(parts)
        return data

    def keys(self) -> tuple[str, ...]:
        """Return the names, in the solver's order."""
        return self._names

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_names", ()):
            return self[name]
        raise AttributeError(name)

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """Return the parts by name, from which a pickled or copied object is rebuilt."""
        return (), dict(self)

    def __repr__(self) -> str:
        return build_repr("SolverData", **self)
