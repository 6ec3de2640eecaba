"""Values and arrays as one short line of a message or a `repr`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: Entries up to which a `repr` shows an array itself.
MOST_SHOWN = 3


def shown(value: Any) -> str:
    """A value as one short line of a message."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number with more digits than Python prints
        text = f"a huge {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def outline(kind: str, **parts: Any) -> str:
    """A `repr` on one line. Arrays are shown by their shape, and everything else as a short text."""
    return f"{kind}({', '.join(f'{name}={_outlined(part)}' for name, part in parts.items())})"


def _outlined(part: Any) -> str:
    if isinstance(part, np.ndarray) and part.size > MOST_SHOWN:
        return f"<array {' × '.join(map(str, part.shape)) or 'of no dimension'}>"
    if sp.issparse(part):
        return f"<sparse array {' × '.join(map(str, part.shape))}, {part.nnz} non-zeros>"
    return shown(part)
