"""Machines whose features are no array: rows in blocks, stacked ones, and Dask collections without a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.base.errors import DataError, DataTypeError, UnknownOptionError
from qpsvm.data.rows import Block, RowSource, StackedRows, as_block, as_row_source


class Cut(RowSource):
    """The rows of an array in blocks."""

    def __init__(self, X, size):
        self.parts = [X[i : i + size] for i in range(0, X.shape[0], size)]
        self.n, self.d = X.shape
        self.is_sparse = sp.issparse(X)

    def blocks(self) -> Iterator[Block]:
        start = 0
        for part in self.parts:
            yield as_block(part, start)
            start += part.shape[0]

    @property
    def entries(self) -> int:
        return sum(block.entries for block in self.blocks())

    @property
    def nbytes(self) -> int:
        return 0


rng = np.random.default_rng(5)
X = rng.normal(size=(90, 4))
Y = np.where(X[:, 0] + rng.normal(size=90) > 0, "yes", "no")
T = X @ [1.0, -2.0, 0.0, 3.0] + rng.normal(size=90)
S = rng.integers(0, 3, 90).astype(float)
ROWS_OF_ITS_OWN = qpsvm.Constraints(-np.eye(4)[:2], [0.0, 0.0])

MACHINES = {
    "C": lambda Z: qpsvm.CSVM(Z, Y),
    "weights": lambda Z: qpsvm.CSVM(Z, Y, sample_weight=S, class_weight="balanced"),
    "penalised": lambda Z: qpsvm.PrimalHinge(Z, Y, intercept="penalised"),
    "nu": lambda Z: qpsvm.NuSVM(Z, Y, nu=0.8),
    "squared": lambda Z: qpsvm.SquaredHinge(Z, Y),
    "huber": lambda Z: qpsvm.HuberHinge(Z, Y),
    "tube": lambda Z: qpsvm.EpsilonSVR(Z, T, sample_weight=S),
    "nu tube": lambda Z: qpsvm.NuSVR(Z, T),
    "quantile": lambda Z: qpsvm.QuantileSVR(Z, T, quantile=0.3),
    "one class": lambda Z: qpsvm.OneClass(Z, kernel="rbf"),
    "ball": lambda Z: qpsvm.SVDD(Z, kernel="linear"),
    "rows": lambda Z: qpsvm.CSVM(Z, Y, constraints=ROWS_OF_ITS_OWN),
    "rbf": lambda Z: qpsvm.CSVM(Z, Y, kernel="rbf"),
}


@for_each(
    "name, storage",
    [*((name, "dense") for name in MACHINES), ("C", "sparse"), ("tube", "sparse"), ("rows", "sparse")],
)
def test_a_machine_over_blocks_is_the_machine_over_their_array(name, storage):
    whole = X if storage == "dense" else sp.csr_array(X * (np.abs(X) > 0.7))
    there = MACHINES[name](Cut(whole, 37))
    here = MACHINES[name](whole)
    found, known = qpsvm.solve(there), qpsvm.solve(here)
    assert found.status == known.status == "optimal"
    size = max(abs(known.primal), abs(known.dual), 1e-12)
    assert abs(found.primal - known.primal) <= 2.1e-6 * size
    streamed = found.decision_function(Cut(whole, 11))
    assert np.allclose(streamed, found.decision_function(whole), rtol=0, atol=1e-12 * (1.0 + np.abs(streamed).max()))
    assert repr(there) == repr(here)
    assert str(there) == str(here)


def test_pairs_of_a_source_and_other_parameters_of_its_machine():
    found = qpsvm.solve(qpsvm.Ranking(Cut(X[:30], 7), np.round(T[:30])))
    assert found.status == "optimal"
    problem = qpsvm.CSVM(Cut(X, 40), Y)
    assert problem.replace(C=3.0).X is problem.X
    steps = qpsvm.derive(problem, qpsvm.solve(problem)).steps
    assert len(steps) == len(qpsvm.derive(qpsvm.CSVM(X, Y), qpsvm.solve(qpsvm.CSVM(X, Y))).steps)


def test_a_hard_margin_of_a_source():
    y = X[:, 1] > 0
    gap = X + np.outer(np.where(y, 0.3, -0.3), np.eye(4)[1])
    assert qpsvm.solve(qpsvm.HardMargin(Cut(gap, 25), y)).status == "optimal"


def test_stacked_rows_are_those_of_all():
    both = StackedRows([Cut(X, 20), as_row_source(X[:5])])
    assert np.array_equal(both.matrix(), np.vstack([X, X[:5]]))
    assert np.array_equal(both.take(np.array([3, 92, 40])), np.vstack([X, X[:5]])[[3, 92, 40]])
    assert both.entries == 95 * 4


def test_a_source_of_another_width_cannot_be_predicted():
    result = qpsvm.solve(qpsvm.CSVM(X, Y))
    with pytest.raises(DataError, match="3 columns where 4"):
        result.predict(Cut(X[:, :3], 10))


def table_of(Z):
    """Columns a, b, c and d of numbers, and the labels t."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(Z, columns=list("abcd")).assign(t=np.where(X[:, 0] > 0, 1, -1))


def write_rows(Z, kind, folder):
    """Write a file of some format, with the labels behind the columns, and return its path."""
    path = folder / f"rows.{kind}"
    table = table_of(Z)
    if kind == "npy":
        np.save(path, table.to_numpy())
    elif kind == "svm":
        rows = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), 1)) for row in Z)
        path.write_text("".join(f"{label} {row}\n" for label, row in zip(table["t"], rows, strict=True)))
    else:
        pytest.importorskip("pyarrow")
        {"csv": table.to_csv, "parquet": table.to_parquet, "feather": table.to_feather}[kind](
            path, **{"index": False} if kind != "feather" else {}
        )
    return path


def in_dask(Z, named):
    pytest.importorskip("dask.array")
    from dask import array, dataframe

    table = table_of(Z)
    if named:
        return qpsvm.CSVM(dataframe.from_pandas(table, npartitions=3), "t")
    return qpsvm.CSVM(array.from_array(Z, chunks=(40, 4)), table["t"].to_numpy())


#: What opens rows of 4 columns, and how it says that column 2 of row 52 is NaN.
SPOILT = {
    "array": (lambda Z, _: qpsvm.CSVM(Z, Y), r"^X has NaN in row 52, column 2 \(and 1 more\)"),
    "list": (lambda Z, _: qpsvm.CSVM(Z.tolist(), Y), r"^X has NaN in row 52, column 2 "),
    "sparse": (lambda Z, _: qpsvm.CSVM(sp.csr_array(Z), Y), r"^X has NaN in row 52, column 2 "),
    "frame": (lambda Z, _: qpsvm.CSVM(table_of(Z)[[*"abcd"]], Y), r"^X has NaN in row 52, column 2 \('c'\)"),
    "rows": (lambda Z, _: qpsvm.open_rows(Z), "^row 52, column 2 is NaN .and 1 more near it"),
    "batches": (lambda Z, _: qpsvm.open_rows(iter([Z[:40], Z[40:]])), "^row 52, column 2 is NaN"),
    "npy": (lambda Z, folder: qpsvm.CSVM(write_rows(Z, "npy", folder), 4), "rows.npy, row 52, column 2 is NaN"),
    "csv": (
        lambda Z, folder: qpsvm.CSVM(write_rows(Z, "csv", folder), "t"),
        "rows.csv, line 54, row 52, column 'c' has no value",
    ),
    "parquet": (lambda Z, folder: qpsvm.CSVM(write_rows(Z, "parquet", folder), "t"), "row 52, column 'c' has no value"),
    "feather": (lambda Z, folder: qpsvm.CSVM(write_rows(Z, "feather", folder), "t"), "row 52, column 'c' has no value"),
    "LIBSVM": (lambda Z, folder: qpsvm.CSVM(write_rows(Z, "svm", folder)), "rows.svm, row 52, column 2 is NaN"),
    "Dask array": (lambda Z, _: in_dask(Z, False), "^partition 1 of X: row 12, column 2 is NaN .and 1 more near it"),
    "Dask frame": (lambda Z, _: in_dask(Z, True), "^partition 1 of X: row 22, column 'c' is NaN; impute"),
}


@pytest.mark.parametrize("source", SPOILT)
def test_a_number_that_is_missing_is_named_by_row_and_column(source, tmp_path):
    build, said = SPOILT[source]
    Z = X.copy()
    Z[52, 2], Z[77, 1] = np.nan, np.inf
    with pytest.raises(DataError, match=said):
        build(Z, tmp_path)


class TestDask:
    """Collections that Dask computes in this process."""

    @pytest.fixture(autouse=True)
    def da(self):
        return pytest.importorskip("dask.array")

    @pytest.mark.parametrize("name", ["weights", "tube", "rbf"])
    def test_a_machine_over_a_collection_is_the_machine_over_the_array(self, name, da, monkeypatch):
        known = qpsvm.solve(MACHINES[name](X))
        for part, values in (("Y", Y), ("T", T), ("S", S)):
            monkeypatch.setitem(globals(), part, da.from_array(values, chunks=31))
        problem = MACHINES[name](da.from_array(X, chunks=(40, 3)))
        found = qpsvm.solve(problem)
        assert found.status == "optimal"
        assert abs(found.primal - known.primal) <= 2.1e-6 * abs(known.primal)
        assert "90 × 4" in repr(problem)

    def test_sizes_of_chunks_need_not_be_known(self, da):
        D = da.from_array(X, chunks=(40, 4))
        y = da.from_array(Y, chunks=25)
        some = D[:, 0] > 0
        for Z, z in ((D[some], y[some]), (D[some], Y[X[:, 0] > 0])):
            found = qpsvm.solve(qpsvm.CSVM(Z, z))
            assert found.status == "optimal"
            assert len(found.alpha) == np.count_nonzero(X[:, 0] > 0)

    def test_a_data_frame_gives_its_names(self):
        frames = pytest.importorskip("dask.dataframe")
        pandas = pytest.importorskip("pandas")
        table = frames.from_pandas(pandas.DataFrame(X, columns=list("abcd")).assign(t=T), npartitions=3)
        for problem in (qpsvm.EpsilonSVR(table[list("abcd")], table["t"]), qpsvm.EpsilonSVR(table, "t")):
            assert problem.feature_names == ("a", "b", "c", "d")
            assert problem.n == len(X)
        assert qpsvm.solve(problem).status == "optimal"
        with pytest.raises(UnknownOptionError, match="no column 'u'"):
            qpsvm.EpsilonSVR(table, "u")

    @pytest.mark.parametrize(
        ("build", "said"),
        [
            (
                lambda D: qpsvm.CSVM(D.map_blocks(lambda part: np.where(part > 2.0, np.nan, part)), Y),
                "partition {partition} of X: row {row}, column {column} is NaN",
            ),
            (lambda D: qpsvm.CSVM(D, Y[:-1]), "89 labels but X has 90"),
            (lambda D: qpsvm.CSVM(D, D[1:, 0]), "89 labels but X has 90"),
            (lambda D: qpsvm.CSVM(D, np.ones(90)), "exactly two classes, got 1"),
            (lambda D: qpsvm.CSVM(D, np.arange(90)), "exactly two classes, got 90"),
            (lambda D: qpsvm.CSVM(D, Y, sample_weight=-S), "finite and not negative"),
            (
                lambda D: qpsvm.CSVM(D, Y, sample_weight=np.where(Y == "no", 0.0, 1.0)),
                "zero in the whole negative",
            ),
            (lambda D: qpsvm.EpsilonSVR(D, Y), "text where numbers are needed"),
            (lambda D: qpsvm.CSVM(D[0], Y), "must have 2 dimensions"),
        ],
    )
    def test_what_is_wrong_is_named(self, build, said, da):
        row, column = np.argwhere(X > 2.0)[0]
        place = {"partition": row // 40, "row": row % 40, "column": column}
        with pytest.raises((DataError, DataTypeError), match=said.format(**place)):
            build(da.from_array(X, chunks=(40, 4)))
