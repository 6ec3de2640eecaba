"""Random orders of the rows of which every beginning is like the whole."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import KernelDual


def stratified(problem: KernelDual) -> IntArray:
    """A random order of which every beginning holds both classes, or high and low targets, in proportion: (n,)."""
    if problem.signed:
        return stratified_order(problem.sign)
    return stratified_order(np.where(problem.level > np.median(problem.level), 1.0, -1.0))


def stratified_order(y: FloatArray, seed: int = 0) -> IntArray:
    """A random order of the rows of which every beginning holds both classes in proportion: (n,)."""
    rng = np.random.default_rng(seed)
    key = np.empty(len(y))
    for sign in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero(y == sign))
        key[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(key, kind="stable")


__all__ = ["stratified", "stratified_order"]
