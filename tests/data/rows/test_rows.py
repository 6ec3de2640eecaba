"""Sources of rows: every reduction against NumPy, however the rows are stored; and nothing above looks at X itself."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.base.arrays.frozen import list_arrays
from qpsvm.base.errors import TooLargeError
from qpsvm.data.rows import ArrayRows, Block, CentredRows, RowSource, RowsWithOnes, SomeRows, as_block, as_row_source
from qpsvm.data.rows import blocks as blocks_module
from qpsvm.data.rows import blocks as tiles
from qpsvm.solvers.linear import working_set
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows, build_label_scaled_rows
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.solve import solve_linear
from qpsvm.space.kernels.space import FeatureSpace
from qpsvm.space.operators import LowRank

RNG = np.random.default_rng(0)


class WholeRefusedError(AssertionError):
    """Something asked for all rows at once."""


class Blocked(RowSource):
    """Rows that come a few at a time, and never all at once: not as one array, nor by gathering most of them."""

    def __init__(self, X, size=7):
        self.is_sparse = sp.issparse(X)
        self.n, self.d = X.shape
        self.passes = 0
        self._X = X
        self._size = size

    def blocks(self) -> Iterator[Block]:
        self.passes += 1
        for start in range(0, self.n, self._size):
            part = self._X[start : start + self._size]
            yield as_block(part.copy(), start)

    def take(self, rows):
        gathered = super().take(rows)
        if gathered.shape[0] > max(self.n // 2, self._size):
            raise WholeRefusedError(f"{gathered.shape[0]} of {self.n} rows were asked for")
        return gathered

    def matrix(self):
        raise WholeRefusedError("the whole matrix was asked for")

    @property
    def entries(self):
        return self._X.nnz if self.is_sparse else self._X.size

    @property
    def nbytes(self):
        return 0


def dense(n=40, d=5, offset=0.0):
    return RNG.standard_normal((n, d)) + offset


def holes():
    """Empty rows, the first and the last among them, and an empty column."""
    X = dense(30, 6) * (RNG.random((30, 6)) < 0.4)
    X[[0, 7, 8, 29]], X[:, 2] = 0.0, 0.0
    return X


def wide_indices(X):
    csr = sp.csr_array(X)
    return sp.csr_array((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=csr.shape)


#: What is stored, and how.
STORED = {
    "C order": (lambda X: X, dense()),
    "Fortran order": (np.asfortranarray, dense()),
    "every other row": (lambda X: np.repeat(X, 2, axis=0)[::2], dense()),
    "one row": (lambda X: X, dense(1, 4)),
    "one column": (lambda X: X, dense(9, 1)),
    "CSR": (sp.csr_array, holes()),
    "CSR, long indices": (wide_indices, holes()),
    "CSC": (sp.csc_array, holes()),
    "CSR, one row": (sp.csr_array, dense(1, 4)),
    "CSR, one column": (sp.csr_array, holes()[:, :1]),
    "CSR, nothing": (sp.csr_array, np.zeros((6, 3))),
    "many short rows": (sp.csr_array, np.where(RNG.random((400, 90)) < 0.02, 1.5, 0.0)),
}
#: What is made of it: a source, and the array that it stands for.
MADE = {
    "in memory": lambda stored, X: (as_row_source(stored), X),
    "in blocks": lambda stored, X: (Blocked(stored.tocsr() if sp.issparse(stored) else stored), X),
    "centred": lambda stored, X: (CentredRows(as_row_source(stored), X.mean(axis=0)), X - X.mean(axis=0)),
    "with ones": lambda stored, X: (RowsWithOnes(as_row_source(stored)), np.column_stack([X, np.ones(len(X))])),
    "some rows": lambda stored, X: (SomeRows(as_row_source(stored), np.arange(0, len(X), 2)), X[::2]),
    "some rows of blocks": lambda stored, X: (
        SomeRows(Blocked(stored.tocsr() if sp.issparse(stored) else stored), np.arange(len(X))[-3:]), X[-3:]
    ),
    "centred, with ones, in blocks": lambda stored, X: (
        RowsWithOnes(CentredRows(Blocked(stored.tocsr() if sp.issparse(stored) else stored), X.mean(axis=0))),
        np.column_stack([X - X.mean(axis=0), np.ones(len(X))]),
    ),
}  # fmt: skip
CASES = [(stored, made) for stored in STORED for made in MADE]


@pytest.fixture
def pieces(monkeypatch):
    """Several of what is small."""
    monkeypatch.setattr(tiles, "CACHED_NUMBERS", 30)
    monkeypatch.setattr(tiles, "MIN_ROWS", 3)
    monkeypatch.setattr(blocks_module, "TILED_NUMBERS", 60)


def source_of(stored, made):
    store, X = STORED[stored]
    return MADE[made](store(X), X)


def close(values, expected):
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    assert values.shape == np.shape(expected)
    np.testing.assert_allclose(values, expected, atol=1e-12)


def some_rows(n):
    """In no order, and few enough that a source in blocks gives them."""
    return np.random.default_rng(1).permutation(n)[: max(n // 2, 1)]


@pytest.mark.slow
@pytest.mark.usefixtures("pieces")
@for_each("stored, made", CASES)
def test_blocks_are_the_rows_in_order_again_and_again(stored, made):
    source, X = source_of(stored, made)
    for _ in range(2):
        parts = []
        end = 0
        for block in source.blocks():
            assert block.rows == slice(end, end + block.n)
            parts.append(block.matrix.toarray() if sp.issparse(block.matrix) else block.matrix)
            pieces = list(block.iter_tiles())
            assert [piece.rows.start for piece in pieces] == list(np.cumsum([end, *(p.n for p in pieces)])[:-1])
            end = block.rows.stop
        close(np.concatenate(parts), X)


@pytest.mark.slow
@pytest.mark.usefixtures("pieces")
@for_each("stored, made", CASES)
def test_maps_and_sums_are_those_of_the_array(stored, made):
    source, X = source_of(stored, made)
    n, d = X.shape
    w = RNG.standard_normal(d)
    W = RNG.standard_normal((d, 3))
    beta = RNG.standard_normal(n)
    several = RNG.standard_normal((n, 3))
    assert source.shape == X.shape
    close(source.margins(w), X @ w)
    close(source.margins(W), X @ W)
    close(source.weights(beta), X.T @ beta)
    close(source.weights(several), X.T @ several)
    close(source.squared_norms(), (X * X).sum(axis=1))
    close(source.sum_of_squares(), (X * X).sum())
    close(source.means(), X.mean(axis=0))
    close(source.column_squares(), (X * X).sum(axis=0))
    if source.is_sparse:
        assert source.entries >= np.count_nonzero(X)
        assert source.longest_row >= np.count_nonzero(X, axis=1).max()
    else:
        assert (source.entries, source.longest_row) == (X.size, d)
    assert repr(source).startswith(f"<{type(source).__name__} {n} × {d}: ")


@pytest.mark.slow
@pytest.mark.usefixtures("pieces")
@for_each("stored, made", CASES)
def test_some_rows_are_those_of_the_array(stored, made):
    source, X = source_of(stored, made)
    J = some_rows(len(X))
    L = np.arange(len(X))[: max(len(X) // 3, 1)]
    beta, D = RNG.standard_normal(len(J)), RNG.random(len(J))
    close(source.take(J), X[J])
    close(source.take(slice(1, len(X) // 2)), X[1 : len(X) // 2])
    close(source.weights(beta, J), X[J].T @ beta)
    close(source.compute_inner_products(J, L), X[J] @ X[L].T)
    close(source.compute_inner_products(J, J), X[J] @ X[J].T)
    for rows, scale in ((J, None), (J, D)):
        S, s = source.moments(rows, scale)
        scaled = X[rows] if scale is None else scale[:, None] * X[rows]
        close(S, X[rows].T @ scaled)
        close(s, scaled.sum(axis=0))


@pytest.mark.usefixtures("pieces")
@for_each("stored, made", CASES)
def test_no_rows_are_an_empty_sum(stored, made):
    source, X = source_of(stored, made)
    none = np.zeros(0, dtype=np.intp)
    assert source.take(none).shape == (0, X.shape[1])
    close(source.weights(np.zeros(0), none), np.zeros(X.shape[1]))
    close(source.moments(none)[0], np.zeros((X.shape[1], X.shape[1])))


@pytest.mark.usefixtures("pieces")
@for_each("stored, made", CASES)
def test_a_scan_is_two_products_in_one_pass(stored, made):
    source, X = source_of(stored, made)
    w = RNG.standard_normal(X.shape[1])
    beta = RNG.standard_normal(len(X))
    seen = np.full(len(X), np.nan)

    def visit(rows, m):
        seen[rows] = m
        return None if rows.start == 0 else beta[rows]

    pulled = source.scan(w, visit)
    close(seen, X @ w)
    first = next(piece for block in source.blocks() for piece in block.iter_tiles())
    close(pulled, X[first.n :].T @ beta[first.n :])


@pytest.mark.usefixtures("pieces")
@for_each("stored, made", CASES)
def test_what_is_gathered_belongs_to_the_caller(stored, made):
    source, X = source_of(stored, made)
    gathered = source.take(some_rows(len(X)))
    (gathered.data if sp.issparse(gathered) else gathered)[...] = np.nan
    assert np.isfinite(source.margins(np.ones(X.shape[1]))).all()


@pytest.mark.parametrize("stored", STORED)
def test_the_array_is_kept_by_reference(stored):
    store, X = STORED[stored]
    given = store(X)
    source = as_row_source(given)
    assert source.matrix() is source.memory_matrix
    for kept, own in zip(list_arrays(source.memory_matrix), list_arrays(given), strict=True):
        assert np.shares_memory(kept, own) or not own.size
        assert own.flags.writeable
        assert not kept.flags.writeable
    assert source.nbytes == (
        given.data.nbytes + given.indices.nbytes + given.indptr.nbytes if sp.issparse(given) else given.nbytes
    )
    assert as_row_source(source) is source
    assert LowRank(source).Z is source.memory_matrix
    ones = np.column_stack([X, np.ones(len(X))])
    for virtual, expected in ((RowsWithOnes(source), ones), (CentredRows(source, X[0]), X - X[0])):
        assert virtual.memory_matrix is None
        assert virtual.nbytes <= source.nbytes + 8 * X.shape[1]
        close(virtual.matrix(), expected)


def test_what_is_no_array_of_doubles_is_made_one():
    X = np.arange(6).reshape(3, 2)
    close(as_row_source(X).margins(np.ones(2)), X.sum(axis=1))
    twice = sp.csr_array((np.ones(3), [0, 0, 1], [0, 2, 3, 3]), shape=(3, 2))
    close(as_row_source(twice).squared_norms(), [4.0, 1.0, 0.0])
    assert twice.nnz == 3  # the caller's array is as it was
    close(as_row_source(sp.coo_matrix(X)).margins(np.ones(2)), X.sum(axis=1))


def test_centring_keeps_the_digits_that_an_offset_costs():
    X = dense(60, 4) + 1e8
    w = RNG.standard_normal(4)
    mean = X.mean(axis=0)
    exact = (X.astype(np.longdouble) - mean) @ w
    assert np.abs(CentredRows(ArrayRows(X), mean).margins(w) - exact).max() < 1e-13
    assert np.abs(X @ w - mean @ w - exact).max() > 1e-10


def test_a_matrix_for_which_there_is_no_memory_is_refused():
    class Endless(Blocked):
        def matrix(self):
            return RowSource.matrix(self)

    endless = Endless(np.ones((1, 1)))
    endless.n = endless.d = 10**7
    with pytest.raises(TooLargeError, match="10000000 × 10000000"):
        LowRank(endless).Z  # noqa: B018


# --- operators --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", MADE)
def test_low_rank_is_the_same_over_every_source(made):
    X = dense(20, 4)
    source, array = MADE[made](X, X)
    n = len(array)
    s = RNG.standard_normal(n)
    d = RNG.random(n)
    J = some_rows(n)
    P = LowRank(source, d, s)
    expected = np.diag(s) @ array @ array.T @ np.diag(s) + np.diag(d)
    close(P @ np.ones(n), expected.sum(axis=1))
    close(P @ np.eye(n), expected)
    close(P.diagonal(), expected.diagonal())
    close(LowRank(source).mean_diagonal(), (array * array).sum() / n)
    close(P.block(J, J[:3]), expected[np.ix_(J, J[:3])])
    close(P.congruence(s) @ np.ones(n), s * (expected @ s))
    assert P.source is source
    assert f"Z {n} × {array.shape[1]} dense" in P.describe()


def test_an_intercept_in_the_norm_copies_nothing():
    X = dense(200, 6)
    y = np.where(dense(200, 1)[:, 0] > 0, 1, -1)
    for samples in (X, sp.csr_array(X)):
        problem = qpsvm.PrimalHinge(samples, y, 0.01, intercept="penalised")
        P = problem.solver_qp("dual").qp.P
        assert isinstance(P, LowRank)
        assert P.source.source is problem.space.samples
        data = qpsvm.compile(problem.solver_qp("dual").qp, "augmented_lagrangian").data
        assert (data.X, data.intercept) == (problem.space.samples, "penalised")
        close(P.Z, np.column_stack([X, np.ones(200)]))


# --- linear machines: nothing looks at X but through blocks -----------------------------------------------------------


def two_classes(n=300, d=4, offset=0.0, separation=1.5):
    random = np.random.default_rng(3)
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    X = random.standard_normal((n, d)) + offset
    X[:, 0] += separation * y
    return X, y


def in_blocks(problem, X, size=7):
    """The problem over a source that gives its samples in blocks only, and the source."""
    source = Blocked(X, size)
    problem.__dict__["space"] = FeatureSpace(problem.kernel, source, problem.intercept, problem.psd)
    return problem, source


MACHINES = {
    "C-SVM": lambda X, y: qpsvm.CSVM(X, y, 1.0),
    "weights": lambda X, y: qpsvm.CSVM(X, y, 0.1, sample_weight=1.0 + (np.arange(len(y)) % 3)),
    "hinge": lambda X, y: qpsvm.PrimalHinge(X, y, 0.01),
    "intercept in the norm": lambda X, y: qpsvm.PrimalHinge(X, y, 0.01, intercept="penalised"),
    "no intercept": lambda X, y: qpsvm.PrimalHinge(X, y, 0.01, intercept=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["dense", "far from the origin", "sparse"])
def test_a_source_that_refuses_the_whole_is_solved_and_certified(machine, kind):
    X, y = two_classes(160, offset=1e5 * (kind == "far from the origin" and "intercept" not in machine))
    samples = sp.csr_array(X * (np.abs(X) > 0.8)) if kind == "sparse" else X
    expected = qpsvm.solve(MACHINES[machine](samples, y), "augmented_lagrangian")
    problem, source = in_blocks(MACHINES[machine](samples, y), samples)
    result = qpsvm.solve(problem, "augmented_lagrangian")
    assert source.passes > 10
    assert result.status == "optimal"
    assert result.gap <= 1e-6
    assert result.primal == pytest.approx(expected.primal, rel=2e-6)
    np.testing.assert_allclose(result.yf, y * (samples @ result.w + result.b), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_more_columns_than_can_be_factored_go_by_blocks(sparse, monkeypatch):
    """Conjugate gradients over the free rows, which may be most of all: they are not gathered."""
    by_blocks = replace(SETTINGS, max_factored_columns=1, max_factored_rows=20)
    monkeypatch.setattr("qpsvm.solvers.linear.newton_step.SETTINGS", by_blocks)
    X, y = two_classes(200, 8)
    X = sp.csr_array(X * (np.abs(X) > 0.8)) if sparse else X
    problem, _ = in_blocks(qpsvm.CSVM(X, y, 0.1), X)
    assert qpsvm.solve(problem, "augmented_lagrangian").status == "optimal"


def test_a_start_and_the_certificate_go_by_blocks_too():
    X, y = two_classes()
    first = qpsvm.solve(qpsvm.CSVM(X, y, 1.0))
    problem, _ = in_blocks(qpsvm.CSVM(X, y, 2.0), X)
    result = qpsvm.solve(problem, "augmented_lagrangian", start=first)
    assert result.status == "optimal"
    assert problem.certify(result.alpha, result.w).gap <= 1e-6
    assert problem.certify(result.alpha).gap <= 1e-5


def test_many_rows_go_by_bands_over_blocks():
    X, y = two_classes(21_000, 3)
    assert working_set.is_large(*X.shape)
    problem, source = in_blocks(qpsvm.CSVM(X, y, 1.0), X, size=3000)
    result = qpsvm.solve(problem, "augmented_lagrangian")
    assert result.status == "optimal"
    assert source.passes > 5
    assert result.primal == pytest.approx(qpsvm.solve(qpsvm.CSVM(X, y, 1.0)).primal, rel=2e-6)


@pytest.mark.parametrize("intercept", ["free", "penalised", None])
def test_the_linear_solver_takes_a_source(intercept):
    X, y = two_classes()
    expected = solve_linear(X, y, 1.0, intercept=intercept, tol=1e-9)
    solution = solve_linear(Blocked(X), y, 1.0, intercept=intercept, tol=1e-9)
    assert solution.reason == "converged"
    np.testing.assert_allclose(solution.w, expected.w, atol=1e-5)
    assert solution.b == pytest.approx(expected.b, abs=1e-5)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e7])
def test_signed_rows_are_products_with_z(offset):
    X, y = two_classes(40, 5, offset)
    rows, mean = build_label_scaled_rows(Blocked(X), y, 1.0, True)
    assert isinstance(rows, LabelScaledRows)
    Z = y[:, None] * np.column_stack([X - mean, np.ones(40)])
    J = np.array([30, 1, 5])
    L = np.array([2, 39])
    W = RNG.standard_normal(6)
    a = RNG.random(40)
    np.testing.assert_allclose(rows.margins(W), Z @ W, atol=1e-12)
    np.testing.assert_allclose(rows.gradient(a), Z.T @ a, atol=1e-12)
    np.testing.assert_allclose(rows.gradient(a[J], J), Z[J].T @ a[J], atol=1e-12)
    np.testing.assert_allclose(rows.gram(J), Z[J].T @ Z[J], atol=1e-11)
    np.testing.assert_allclose(rows.kernel(J, L), Z[J] @ Z[L].T, atol=1e-11)
    np.testing.assert_allclose(rows.select(J).margins(W), Z[J] @ W, atol=1e-11)
    np.testing.assert_allclose(rows.compute_column_squares(), (Z * Z).sum(axis=0), rtol=1e-9)
