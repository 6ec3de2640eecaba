"""The backends: which exist, whether they are installed, and what they support (`get`, `iter_backends`).

`version()` of a backend is None if its package is not installed.

>>> import qpsvm
>>> for backend in qpsvm.backends.iter_backends():
...     if backend.abilities.is_educational:
...         print(f"{backend.name}: {backend.abilities.describe()}")
dual_ascent: dual forms: a box and at most two equality rows; a textbook method; for study
subgradient: primal forms with slacks xi (not the hard margin); a textbook method; for study
slsqp: any QP of at most 2000 variables, dense; a general method; for study
"""

from __future__ import annotations

from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.registry import (
    REGISTRY,
    Registered,
    get,
    iter_backends,
    names,
    register_backend,
    unregister_backend,
)

__all__ = [
    "REGISTRY",
    "Backend",
    "Compiled",
    "Registered",
    "get",
    "iter_backends",
    "names",
    "register_backend",
    "unregister_backend",
]
