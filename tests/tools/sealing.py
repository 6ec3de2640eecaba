"""What a forger writes, who knows how a proof file is sealed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from qpsvm.bounds.proof import checker


def sealed(content: Any) -> bytes:
    """A proof file that says something else: `content` is what JSON gave for one, changed."""
    parts = {name: part for name, part in content.items() if name not in ("format", "version", "seal")}
    return sealed_text("".join(f"{json.dumps(name)}: {json.dumps(part)},\n" for name, part in parts.items()))


def sealed_text(parts: str) -> bytes:
    """The same of text that need not be JSON: each part of it ends with a comma."""
    body = checker.HEAD + parts.encode()
    return body + checker.SEAL + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'
