"""Make a lack of memory an error of this library if the address space is limited (`reserve_blas_buffers`).

A limit is set by `ulimit -v`, for example.
"""

from __future__ import annotations

import numpy as np

#: Bytes that the BLAS of NumPy and that of SciPy together allocate for buffers at their first product (measured, and
#: rounded up).
BLAS_BYTES = 1 << 27
#: Rows and columns of a product that is large enough to need the buffers.
PRODUCT_SIZE = 256


def reserve_blas_buffers() -> None:
    """Let BLAS allocate its buffers early if the address space is limited.

    OpenBLAS ends the process if it cannot allocate its buffers. Once they are allocated, any other request that is too
    large raises `MemoryError`. Raises MemoryError.
    """
    try:
        import resource
    except ImportError:  # not a Unix system: no such limit
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    from scipy.linalg.blas import dgemm

    np.empty(BLAS_BYTES, dtype=np.uint8)
    X = np.ones((PRODUCT_SIZE, PRODUCT_SIZE))
    X @ X
    dgemm(1.0, X, X)
