"""A number that tells one data set from another, whatever the order of its rows, their blocks and their storage.

    (PRINT.1)  F = Σ_i mix(Σ_j a_j u(x_ij) + a_t u(t_i) + a_s u(s_i))  mod 2⁶⁴,   u(0) = 0

u turns the 64 bits of a double into a whole number, without loss, and the a_j are odd. So a row that differs in one
number has another sum, and rows that differ in several have the same by chance only. `mix` (Steele, Lea & Flood, *Fast
splittable pseudorandom number generators*, OOPSLA 2014) scatters the sums before they are added up. Zeros count for
nothing, stored or not, so that dense and sparse rows agree. F is made twice, of other a_j: 128 bits. Several processes
add up theirs.

It is no signature: who wants to find another data set of the same number can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import Matrix
from qpsvm.base.resources.workers import in_tiles
from qpsvm.data.rows.blocks import READ_SECONDS, Block
from qpsvm.data.rows.memory import as_row_source
from qpsvm.data.rows.source import RowSource

Whole = NDArray[np.uint64]

#: 2⁶⁴ over the golden ratio, and the multipliers of `mix`.
GOLDEN, FIRST, SECOND = (np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
#: How many independent sums there are, and where the multipliers of each begin.
LANES = 2
APART = 1 << 40
#: Places of the target, the weight, and n and d, behind those of any columns.
TARGET, WEIGHT, SIZES = (APART - (k << 32) for k in (1, 2, 3))
#: What a number costs, in numbers that are read.
COST = 6.0


def fingerprint(source: Any, target: Any = None, weight: Any = None) -> str:
    """The fingerprint of samples, as 32 hexadecimal digits. Shapes: source (n, d), target (n,), weight (n,)."""
    rows = as_row_source(source)
    comm = rows.comm
    return of_lanes(comm.allgather(lanes_of(rows, target, weight)), comm.count(rows.n), rows.d)


def of_lanes(lanes: Whole, n: int, d: int) -> str:
    """The fingerprint of n rows of d columns, from the sums over parts of them, (2k,) one behind the other."""
    total = lanes.reshape(-1, LANES).sum(axis=0, dtype=np.uint64)
    sizes = np.array([[n, d]], dtype=np.uint64)
    return "".join(f"{int(lane):016x}" for lane in mixed(total + _row_sums(sizes, SIZES)[0]))


def lanes_of(source: RowSource, target: Any = None, weight: Any = None) -> Whole:
    """The sums (PRINT.1) over the rows of one member, (2,): those of several parts of the rows add up, modulo 2⁶⁴."""
    beside = [
        _row_sums(columns, place)
        for columns, place in ((_as_columns(target), TARGET), (_as_columns(weight), WEIGHT)) if columns is not None
    ]  # fmt: skip
    if weight is None:
        beside.append(_row_sums(_bits(np.ones((1, 1))), WEIGHT))
    total = np.zeros(LANES, dtype=np.uint64)
    keys = _keys(source.d, 0)
    for block in source.blocks():
        tiles = block.tiles()
        found = np.zeros((len(tiles), LANES), dtype=np.uint64)

        def add(k: int, block: Block = block, tiles: list[slice] = tiles, found: Whole = found) -> None:
            piece = block.piece(tiles[k])
            sums = _of_matrix(piece.matrix, keys)
            for other in beside:
                sums += other[piece.rows] if len(other) > 1 else other
            found[k] = mixed(sums).sum(axis=0, dtype=np.uint64)

        in_tiles(add, range(len(tiles)), COST * READ_SECONDS * block.entries)
        total += found.sum(axis=0, dtype=np.uint64)
    return total


def mixed(h: Whole) -> Whole:
    """Whole numbers of 64 bits, scattered one to one."""
    h = (h ^ (h >> np.uint64(30))) * FIRST
    h = (h ^ (h >> np.uint64(27))) * SECOND
    return np.asarray(h ^ (h >> np.uint64(31)), dtype=np.uint64)


def _keys(d: int, place: int) -> Whole:
    """Odd multipliers of d columns from a place on, in each lane: (2, d)."""
    at = np.arange(place, place + d, dtype=np.uint64) + np.uint64(1)
    return np.array([mixed((at + np.uint64(lane * APART)) * GOLDEN) | np.uint64(1) for lane in range(LANES)])


def _bits(X: NDArray[Any]) -> Whole:
    """u of (PRINT.1), (k, d): the high half of a double is folded onto its low half, which is 0 in small numbers."""
    bits = np.add(X, 0.0).view(np.uint64)  # the sum makes 0 of −0
    return np.asarray(bits ^ (bits >> np.uint64(32)))


def _of_matrix(X: Matrix, keys: Whole) -> Whole:
    """The sums over the columns of rows, (k, 2)."""
    if not sp.issparse(X):
        return _times(_bits(X), keys)
    sums = np.zeros((X.shape[0], LANES), dtype=np.uint64)
    X = sp.csr_array(X)
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):  # an empty range would be read as one number
        bits = _bits(X.data)
        for lane in range(LANES):
            sums[filled, lane] = np.add.reduceat(bits * keys[lane][X.indices], X.indptr[filled])
    return sums


def _row_sums(columns: Whole, place: int) -> Whole:
    """The sums of whole numbers (k, m) beside the samples: (k, 2)."""
    return _times(columns, _keys(columns.shape[1], place))


def _times(u: Whole, keys: Whole) -> Whole:
    return np.stack([np.einsum("ij,j->i", u, lane) for lane in keys], axis=1)


def _as_columns(values: Any) -> Whole | None:
    """Labels or numbers (k,) as whole numbers (k, m): text letter by letter, so that its dtype is of no matter."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return _bits(array.astype(np.float64)[:, None])
    text = np.ascontiguousarray(array.astype(np.str_))
    letters = text.view(np.uint32).reshape(len(text), text.itemsize // 4).astype(np.uint64)
    return np.concatenate([np.ones((len(text), 1), dtype=np.uint64), letters], axis=1)  # "" is not 0
