"""Where a solve was, on disk: written whole or not at all, and read again for the same data and the same machine only.

The file holds the small state of a solver, no vector over the rows. It is an archive of arrays with a header, as the
file of a model, and nothing in it is code. A state is only where a solve begins: the answer is certified as any other
is, so that a file that was tampered with costs time and no truth. One solver has such states.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.backends import RESUMABLE
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import (
    DataError,
    FileAccessError,
    FileFormatError,
    ParameterError,
    QPSVMWarning,
    UnsupportedError,
)
from qpsvm.base.resources.progress import say
from qpsvm.base.writing import replacing, text_of
from qpsvm.machines import Problem
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.replaced import own_parameters
from qpsvm.result.saving.archive import Archive, as_json, write_archive

#: The version of the file. It is another one as soon as a state means something else.
FORMAT = 1
#: Share of the time of a solve that goes into writing where it is.
SHARE = 0.05
#: The beginning of the name of each array of the state.
VECTOR = "state_"


def backend_of(problem: Machine[Any], backend: str) -> str:
    """The backend of a solve that keeps its state. Raises UnsupportedError."""
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
    file = Checkpoint(path, problem.samples.fingerprint(), signature, problem.X.shape[1] + 8)
    if file.state is not None:
        say(f"goes on from {file.path}", verbose)
    try:
        yield file
    finally:
        if file.last is not None:
            file.keep(file.last, now=True)


class Checkpoint:
    """The file of one solve.

    That it can be written is tried at once. What is there already is read, and refused where it is not of this solve.

    state or None: The last that was written, be it by an earlier solve.
    last or None: The last that this solve has had, written or not.
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprint: str, signature: Mapping[str, Any], numbers: int = 0
    ) -> None:
        self.path = text_of(path)
        self.fingerprint = fingerprint
        self.signature = as_json({name: _described(value) for name, value in signature.items()}, "signature")
        self.state: dict[str, Any] | None = self._read()
        room = np.frombuffer(os.urandom(8 * numbers), np.uint8)  # which no packing makes smaller
        self._write(self.state, {} if self.state is not None else {"room": room})
        self.last: Mapping[str, Any] | None = None
        self._next = 0.0
        self._warned = False

    def keep(self, state: Mapping[str, Any], now: bool = False) -> None:
        """Write a state, unless the last was written so short a time ago that writing would cost too much.

        A disk that is full by now does not end the solve: a warning says that the state on it is an older one.
        """
        self.last = state
        begun = time.monotonic()
        if begun < self._next and not now:
            return
        try:
            self._write(state, {})
            self.state = dict(state)
        except FileAccessError as error:
            if not self._warned:
                warnings.warn(f"the checkpoint is not up to date: {error}", QPSVMWarning, stacklevel=2)
            self._warned = True
        end = time.monotonic()
        self._next = end + (end - begun) * (1.0 / SHARE - 1.0)

    def _write(self, state: Mapping[str, Any] | None, arrays: dict[str, NDArray[Any]]) -> None:
        values = None if state is None else {name: v for name, v in state.items() if not isinstance(v, np.ndarray)}
        vectors = {name: v for name, v in (state or {}).items() if isinstance(v, np.ndarray)}
        header = {
            "format": FORMAT, "fingerprint": self.fingerprint, "signature": self.signature,
            "state": None if values is None else as_json(values, "state"), "vectors": sorted(vectors),
        }  # fmt: skip
        arrays |= {f"{VECTOR}{name}": v for name, v in vectors.items()}
        with replacing(self.path) as file:
            write_archive(file, header, arrays)

    def _read(self) -> dict[str, Any] | None:
        path = Path(self.path)
        if not path.exists():
            return None
        if not path.is_file():
            raise FileAccessError(f"{self.path!r} is a folder, a device or a pipe, not a checkpoint")
        try:
            with path.open("rb") as file:
                archive = Archive(file)
                header = self._header(archive)
                vectors = {name: archive.read(f"{VECTOR}{name}") for name in header["vectors"]}
        except FileFormatError as error:
            raise FileFormatError(f"{self.path} is no checkpoint of qpsvm, or it is damaged: {error}") from error
        except OSError as error:
            raise FileAccessError(f"cannot read {self.path}: {error.strerror or error}") from error
        self._compare(header)
        if header["state"] is None:
            return None
        return {**header["state"], **vectors}

    @staticmethod
    def _header(archive: Archive) -> dict[str, Any]:
        """The header, if it is one of a checkpoint. Raises FileFormatError."""
        header = archive.header([FORMAT])
        kinds = {"fingerprint": str, "signature": dict, "state": (dict, type(None)), "vectors": list}
        if not all(isinstance(header.get(name), kind) for name, kind in kinds.items()):  # type: ignore[arg-type]
            raise FileFormatError("its header is not that of a checkpoint")
        if not all(isinstance(name, str) and f"{VECTOR}{name}" in archive.members for name in header["vectors"]):
            raise FileFormatError("it lacks a part of the state")
        return header

    def _compare(self, header: Mapping[str, Any]) -> None:
        """That the file is of the same machine over the same data. Raises DataError, ParameterError."""
        elsewhere = "delete it, or give another path"
        if header["fingerprint"] != self.fingerprint:
            raise DataError(f"the checkpoint {self.path} belongs to other data: {elsewhere}")
        there, here = header["signature"], self.signature
        for name in sorted(there.keys() | here.keys()):
            if there.get(name) != here.get(name):
                raise ParameterError(
                    f"the checkpoint {self.path} belongs to a machine with {name} = {shown(there.get(name))}, and here "
                    f"it is {shown(here.get(name))}: {elsewhere}"
                )


def _described(value: Any) -> Any:
    """A parameter as a header holds it: of an array its digest."""
    if not isinstance(value, np.ndarray):
        return value
    digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return f"{value.dtype} {value.shape} {digest}"


__all__ = ["Checkpoint", "backend_of", "kept"]
