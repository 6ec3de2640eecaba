"""Fingerprints: the same for the same rows in any order, blocks and storage, and another for any other rows."""

import numpy as np
import scipy.sparse as sp
from communicators import together

from qpsvm.data.rows import as_row_source
from qpsvm.data.sources import open_rows
from qpsvm.data.sources.fingerprint import fingerprint

RNG = np.random.default_rng(0)
N, D = 300, 6
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.6)
X[3, 2] = -0.0
Y = np.where(RNG.random(N) < 0.4, "yes", "no")
S = RNG.integers(1, 4, N)
PRINT = fingerprint(X, Y, S)


def test_storage_blocks_and_order_are_of_no_matter(tmp_path):
    np.save(tmp_path / "X.npy", X)
    order = RNG.permutation(N)
    stored = sp.csr_array(X)
    stored.data[::7] = 0.0  # stored, and zero
    for same in (
        fingerprint(X[order], Y[order], S[order]),
        fingerprint(np.asfortranarray(X), Y.astype(object), S.astype(float)),
        fingerprint(sp.csr_array(X), Y.astype("U20"), S),
        fingerprint(sp.csc_array(X), Y, S),
        fingerprint(open_rows(tmp_path / "X.npy", block_rows=7), Y, S),
        fingerprint(open_rows(tmp_path / "X.npy", block_rows=7, sparse=True), Y, S),
        fingerprint(open_rows(X.astype(">f8"), block_rows=50), Y, S),
    ):
        assert same == PRINT
    assert fingerprint(stored, Y, S) == fingerprint(stored.toarray(), Y, S)
    assert fingerprint(X, S) == fingerprint(X, S.astype(float), np.ones(N))
    assert fingerprint(X[:1]) == fingerprint(sp.csr_array(X[:1]))


def test_other_rows_have_another():
    def changed(array, *at):
        array = array.copy()
        array[at] = np.nextafter(array[at], 9.0) if array.dtype.kind == "f" else array[0] + array[1]
        return array

    swapped = X.copy()
    swapped[[4, 5], 1] = swapped[[5, 4], 1]
    others = [
        fingerprint(changed(X, 7, 1), Y, S), fingerprint(X, changed(Y.astype("U9"), 5), S), fingerprint(X, Y),
        fingerprint(X, Y, changed(S.astype(float), 9)), fingerprint(X[:, ::-1], Y, S), fingerprint(X, Y[::-1], S),
        fingerprint(X[:-1], Y[:-1], S[:-1]), fingerprint(np.vstack([X, X[:1]]), [*Y, Y[0]], [*S, S[0]]),
        fingerprint(swapped, Y, S), fingerprint(np.column_stack([X, np.zeros(N)]), Y, S), fingerprint(-X, Y, S),
        fingerprint(X, None, S), fingerprint(X, np.where(Y == "yes", 1, 0), S), fingerprint(np.zeros((N, D)), Y, S),
    ]  # fmt: skip
    assert len({PRINT, *others}) == len(others) + 1


def test_few_values_do_not_collide():
    """Rows of zeros and ones have doubles whose low bits are all 0."""
    bits = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.float64)
    assert len({fingerprint(row[None, :]) for row in bits}) == 256


def test_members_of_a_team_add_theirs():
    cuts = [slice(0, 100), slice(100, 100), slice(100, N)]

    def program(comm):
        rows = cuts[comm.rank]
        return fingerprint(as_row_source(X[rows], comm), Y[rows], S[rows])

    assert set(together(3, program)) == {PRINT}
