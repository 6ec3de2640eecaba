"""List the exceptions that readers raise on damaged files (`DAMAGE`): of zipfile, of NumPy's headers and of JSON."""

from __future__ import annotations

import struct
import zlib
from tokenize import TokenError
from zipfile import BadZipFile

try:
    from lzma import LZMAError
except ImportError:  # a Python built without it, which reads no such archive
    LZMAError = BadZipFile  # type: ignore[misc, assignment]

#: The exceptions. MemoryError is not among them: it does not imply damage.
DAMAGE = (
    BadZipFile, LZMAError, zlib.error, struct.error, TokenError, SyntaxError, EOFError, OSError, ValueError, TypeError,
    LookupError, AttributeError, AssertionError, ArithmeticError, RuntimeError,
)  # fmt: skip
