"""Choose between the compiled loops and NumPy (`level`, `compiled`); the compiled core is small and optional.

The module that `pip install` compiles where there is a compiler is `qpsvm.core.compiled`, else None: then everything
runs on NumPy and scikit-learn, with the same answers to rounding and the same certificate.

| QPSVM_CORE                | runs                                                              |
|---------------------------|-------------------------------------------------------------------|
| unset                     | the best that is there                                            |
| numpy                     | NumPy, whatever was compiled                                      |
| plain, avx2, avx512       | the compiled core, with these instructions of the processor alone |
"""

from __future__ import annotations

import os
from typing import Any

from qpsvm.base.errors import ParameterError

compiled: Any = None
try:
    from qpsvm.core import _compiled  # type: ignore[attr-defined]

    compiled = _compiled
except ImportError:  # no compiler, or another platform's
    compiled = None

_asked = os.environ.get("QPSVM_CORE", "")
if _asked == "numpy":
    compiled = None
elif _asked and (compiled is None or not compiled.set_level(_asked)):
    raise ParameterError(f"QPSVM_CORE={_asked} is not there; unset it, or set it to numpy")


def level() -> str:
    """Return what runs: "numpy", or the instructions of the compiled core, "plain", "avx2" or "avx512"."""
    return "numpy" if compiled is None else str(compiled.level())
