"""Moved to `qpsvm.kernel_blocks`."""

from qpsvm.kernel_blocks import DENSE_BYTES, STRIP, TILE, KernelBlocks

__all__ = ["DENSE_BYTES", "STRIP", "TILE", "KernelBlocks"]
