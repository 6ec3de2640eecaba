"""The backends that are no part of this library: registered in this process, or offered by an installed package.

A package offers a backend by an entry point of the group "qpsvm.backends". Nothing of it is loaded before somebody asks
for the backend by its name.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable
from functools import cache
from threading import RLock
from types import TracebackType

from qpsvm.backends.base import Backend
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import ParameterError, QPSVMError, UnknownOptionError, UnsupportedError, nearest

#: The group of entry points.
GROUP = "qpsvm.backends"


class Outside:
    """Backends from outside, by name. The tables are replaced as a whole, under a lock, so that who reads needs none.

    for_auto: Those that "auto" may take.
    names, peers: All names that there are, and all backends, those of this library among them.
    """

    def __init__(self) -> None:
        self.there: dict[str, Backend] = {}
        self.for_auto: frozenset[str] = frozenset()
        self.names: Callable[[], tuple[str, ...]] = tuple
        self.peers: Callable[[], Iterable[Backend]] = tuple
        self._lock = RLock()

    def join(self, names: Callable[[], tuple[str, ...]], peers: Callable[[], Iterable[Backend]]) -> None:
        """Stand beside the backends of this library, which know of this."""
        self.names, self.peers = names, peers

    def add(self, name: str, made: Callable[[], Backend], auto: bool) -> Backend:
        """Make a backend and keep it.

        Raises ParameterError.
        """
        with self._lock:
            taken = ("auto", *self.names())
            if name in taken:
                raise ParameterError(f"the name {name!r} is taken; the backends are {', '.join(taken)}")
            backend = made()
            self._keep(name, backend, auto)
        return backend

    def remove(self, name: str, only: Backend | None = None) -> None:
        """Take one away; or, where one is given, only if it is that one.

        Raises UnknownOptionError.
        """
        with self._lock:
            if only is not None and self.there.get(name) is not only:
                return
            if name not in self.there:
                known = nearest(name, self.there) if self.there else "none is"
                ours = "; those of this library stay" if name in self.names() else ""
                raise UnknownOptionError(f"no backend is registered as {shown(name)}{ours}; {known}")
            self.there = {each: backend for each, backend in self.there.items() if each != name}
            self.for_auto = self.for_auto - {name}

    def load(self, name: str) -> Backend:
        """The backend that a package offers; from then on it is there.

        Raises UnsupportedError.
        """
        with self._lock:
            if name not in self.there:
                self._keep(name, _loaded(name, self.peers), auto=False)
            return self.there[name]

    def _keep(self, name: str, backend: Backend, auto: bool) -> None:
        self.there = {**self.there, name: backend}
        self.for_auto = self.for_auto | {name} if auto else self.for_auto


#: Those of this process.
OUTSIDE = Outside()


class Registered:
    """What `register_backend` returns: as a block, it takes the backend away at its end.

    Parameters
    ----------
    backend : Backend
        What was registered.

    Attributes
    ----------
    backend : Backend
        As given.

    See Also
    --------
    qpsvm.register_backend : What makes one.

    Examples
    --------
    >>> import qpsvm
    >>> with qpsvm.register_backend("none", lambda P, q, G, h, A, b, lb, ub: 0 * q) as backend:
    ...     print(backend.name, "none" in qpsvm.backends.names())
    none True
    >>> "none" in qpsvm.backends.names()
    False
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def __repr__(self) -> str:
        return f"<registered: {self.backend.name}>"

    def __enter__(self) -> Backend:
        return self.backend

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        OUTSIDE.remove(self.backend.name, only=self.backend)


@cache
def offered() -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages offer, by name; looked up once, because that takes milliseconds."""
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def _loaded(name: str, peers: Callable[[], Iterable[Backend]]) -> Backend:
    from qpsvm.backends.external.admission import admitted, checked_name

    point = offered()[name]
    try:
        return admitted(checked_name(name), point.load(), False, peers)
    except (ImportError, AttributeError, QPSVMError) as error:
        package = point.dist.name if point.dist else point.value
        raise UnsupportedError(
            f"the package {package} offers a backend {name!r} that cannot be used: {error}"
        ) from error
