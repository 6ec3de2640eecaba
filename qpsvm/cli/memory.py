"""Under a limit of the address space (`ulimit -v`), memory that is short ends in a sentence of ours."""

from __future__ import annotations

import numpy as np

#: Bytes that the BLAS of NumPy and that of SciPy take together for buffers, at their first product: measured, and
#: rounded up.
BLAS_BYTES = 1 << 27
#: Rows and columns of a product that is large enough to need the buffers.
SIDE = 256


def take_buffers_first() -> None:
    """Where the address space is limited, let BLAS take its buffers while there is room for them.

    OpenBLAS ends the process where it cannot have its buffers. Once it has them, whatever else is too large raises
    `MemoryError`.

    Raises MemoryError.
    """
    try:
        import resource
    except ImportError:  # not a Unix system: no such limit
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    from scipy.linalg.blas import dgemm

    np.empty(BLAS_BYTES, dtype=np.uint8)
    X = np.ones((SIDE, SIDE))
    X @ X
    dgemm(1.0, X, X)
