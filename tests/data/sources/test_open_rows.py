"""Rows from every kind of store, against the array that was stored; and every fault of a store, by its message."""

import bz2
import errno
import gzip
import io
import lzma
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

import qpsvm
from qpsvm.base.errors import (
    DataError,
    DataTypeError,
    FileFormatError,
    MissingExtraError,
    MissingFileError,
    ParameterError,
    TooLargeError,
    UnknownOptionError,
)
from qpsvm.data.files.source import read_bytes
from qpsvm.data.rows import ArrayRows, RowSource
from qpsvm.data.sources import open_rows, scratch

pa = pytest.importorskip("pyarrow")
for part in ("dataset", "feather", "parquet"):
    pytest.importorskip(f"pyarrow.{part}")

N, D = 150, 4
RNG = np.random.default_rng(0)
#: Eighths, which float32 and decimal text hold exactly; half of them 0.
X = RNG.integers(-20, 20, (N, D)) / 8.0 * (RNG.random((N, D)) < 0.5)
X[0], X[1] = [1.0, 0.0, 0.0, -0.5], 0.0
Y = np.where(np.arange(N) % 3 > 0, "no", "yes")
S = 1.0 + np.arange(N) % 2
NAMES = ("a", "b", "c", "d")
CUT = 40


def table(X, y=Y, s=S, names=NAMES):
    return pa.table({**dict(zip(names, X.T, strict=True)), "label": y, "s": s})


def csv(X, y=Y, s=S, names=NAMES, mark=","):
    rows = [mark.join([*map(repr, x.tolist()), y, repr(float(s))]) for x, y, s in zip(X, y, s, strict=True)]
    return "\n".join([mark.join([*names, "label", "s"]), *rows]) + "\n"


def npy(folder, name, X):
    np.save(folder / name, X)
    return folder / name


def text(folder, name, content, pack=lambda content: content):
    (folder / name).write_bytes(pack(content.encode()))
    return folder / name


def libsvm(X, first=1):
    pairs = [" ".join(f"{j + first}:{value!r}" for j, value in enumerate(x) if value) for x in X.tolist()]
    return "".join(f"{int(s)} {line}\n" for s, line in zip(S, pairs, strict=True))


def npy_parts(folder, X):
    for k, rows in enumerate((slice(0, CUT), slice(CUT, CUT), slice(CUT, N))):
        npy(folder, f"part-{k}.npy", X[rows])
    return folder / "part-*.npy"


def parquet(folder, X):
    t = table(X)
    pa.parquet.write_table(t.slice(0, CUT), folder / "part-0.parquet", row_group_size=11)
    pa.parquet.write_table(t.slice(0, 0), folder / "part-1.parquet")
    pa.parquet.write_table(t.slice(CUT).select(["s", "label", *reversed(NAMES)]), folder / "part-2.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    return folder


def feather(folder, X):
    pa.feather.write_feather(table(X), folder / "t.arrow", compression="lz4")
    return str(folder / "t.arrow")


def csv_parts(folder, X):
    text(folder, "p-0.csv", csv(X[:CUT], Y[:CUT], S[:CUT]))
    text(folder, "p-1.csv.gz", csv(X[CUT:, ::-1], Y[CUT:], S[CUT:], NAMES[::-1], ";"), gzip.compress)
    return [folder / "p-0.csv", str(folder / "p-1.csv.gz")]


def memmap(folder, X):
    made = np.memmap(folder / "raw", np.float32, "w+", shape=(N, D), order="F")
    made[:] = X
    return made


BESIDE = {"target": "label", "weight": "s"}
#: How the same rows are stored, and what has to be said to open them.
STORES = {
    "npy": (lambda folder, X: npy(folder, "X.npy", X), {}),
    "npy float32": (lambda folder, X: npy(folder, "X.npy", X.astype(np.float32)), {}),
    "npy columns first": (lambda folder, X: npy(folder, "X.npy", np.asfortranarray(X)), {}),
    "npy other bytes": (lambda folder, X: npy(folder, "X.npy", X.astype(">f8")), {}),
    "npy parts": (npy_parts, {}),
    "npy with a target": (
        lambda folder, X: npy(folder, "X.npy", np.column_stack([S, X])), {"target": 0, "columns": [1, 2, 3, 4]},
    ),
    "npy in another order": (
        lambda folder, X: npy(folder, "X.npy", np.column_stack([X[:, ::-1], S])),
        {"weight": -1, "columns": [3, 2, 1, 0]},
    ),
    "npy made sparse": (lambda folder, X: npy(folder, "X.npy", X), {"sparse": True}),
    "memory map": (memmap, {}),
    "array": (lambda _, X: X.astype(np.float32), {}),
    "Parquet": (parquet, BESIDE),
    "Parquet float32": (lambda folder, X: parquet(folder, X.astype(np.float32)), BESIDE),
    "Parquet again and again": (parquet, {**BESIDE, "scratch": False}),
    "Parquet made sparse": (parquet, {**BESIDE, "sparse": True}),
    "batches": (lambda _, X: iter(table(X).to_batches(max_chunksize=19)), BESIDE),
    "batches of arrays": (lambda _, X: ((X[i : i + 9], Y[i : i + 9]) for i in range(0, N, 9)), {}),
    "Feather": (feather, BESIDE),
    "table": (lambda _, X: table(X), {**BESIDE, "columns": list(NAMES)}),
    "data set": (lambda folder, X: pa.dataset.dataset(parquet(folder, X) / "part-0.parquet"), {**BESIDE, "n": CUT}),
    "CSV": (lambda folder, X: text(folder, "t.csv", csv(X)), BESIDE),
    "CSV parts": (csv_parts, BESIDE),
    "CSV bzip2": (lambda folder, X: text(folder, "t", csv(X), bz2.compress), BESIDE),
    "CSV with an index": (
        lambda folder, X: text(folder, "t.csv", "\n".join(
            f"{i - 1 if i else ''},{line}" for i, line in enumerate(csv(X).splitlines()))), BESIDE,
    ),
    "LIBSVM": (lambda folder, X: text(folder, "t.svm", libsvm(X)), {}),
    "LIBSVM from 0": (lambda folder, X: text(folder, "t.svm", libsvm(X, 0)), {}),
    "LIBSVM xz": (lambda folder, X: text(folder, "t", libsvm(X), lzma.compress), {}),
    "LIBSVM made dense": (lambda folder, X: text(folder, "t.svm", libsvm(X)), {"sparse": False}),
    "LIBSVM again and again": (lambda folder, X: text(folder, "t.svm", libsvm(X)), {"scratch": False}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Text in pieces of a few lines, so that there are several."""
    monkeypatch.setattr("qpsvm.data.sources.text.LIBSVM_BYTES", 500)
    monkeypatch.setattr("qpsvm.data.files.sheet.BLOCK_CELLS", 120)
    monkeypatch.setattr("qpsvm.data.sources.arrow.BLOCK_NUMBERS", 120)


@pytest.mark.parametrize("store", STORES)
def test_what_is_computed_is_that_of_the_array(store, tmp_path):
    make, options = STORES[store]
    n = options.get("n", N)
    rows = open_rows(make(tmp_path, X), **{k: v for k, v in options.items() if k != "n"}, block_rows=17)
    A = X[:n]
    assert rows.shape == A.shape
    assert len(list(rows.blocks())) > 2
    assert rows.is_sparse == (options.get("sparse", store.startswith("LIBSVM")))
    w, beta = RNG.normal(size=D), RNG.normal(size=n)
    some = RNG.permutation(n)[:30]
    scale = RNG.random(30)
    close = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(rows.margins(w), A @ w, **close)
    np.testing.assert_allclose(rows.margins(np.stack([w, -w], axis=1)), A @ np.stack([w, -w], axis=1), **close)
    np.testing.assert_allclose(rows.weights(beta), A.T @ beta, **close)
    np.testing.assert_allclose(rows.weights(beta[some], some), A[some].T @ beta[some], **close)
    np.testing.assert_allclose(rows.scan(w, lambda at, margins: margins + beta[at]), A.T @ (A @ w + beta), **close)
    for weighed, D_ in ((None, np.ones(30)), (scale, scale)):
        moments = rows.moments(some, weighed)
        np.testing.assert_allclose(moments[0], A[some].T @ (D_[:, None] * A[some]), **close)
        np.testing.assert_allclose(moments[1], A[some].T @ D_, **close)
    for at in (some, slice(20, 60), some[:0]):
        taken = rows.take(at)
        assert np.array_equal(taken.toarray() if rows.is_sparse else taken, A[at])
    np.testing.assert_allclose(rows.squared_norms(), (A**2).sum(axis=1), **close)
    np.testing.assert_allclose(rows.column_squares(), (A**2).sum(axis=0), **close)
    np.testing.assert_allclose(rows.sum_of_squares(), (A**2).sum(), **close)
    np.testing.assert_allclose(rows.means(), A.mean(axis=0), **close)
    assert rows.longest_row == ((A != 0).sum(axis=1).max() if rows.is_sparse else D)
    assert rows.entries == ((A != 0).sum() if rows.is_sparse else A.size)
    assert np.array_equal(rows.matrix().toarray() if rows.is_sparse else rows.matrix(), A)
    if "label" in options.values():
        assert rows.target.tolist() == Y[:n].tolist()
        assert np.array_equal(rows.weight, S[:n])
        assert rows.feature_names == NAMES


def test_a_block_of_float64_is_no_copy(tmp_path):
    rows = open_rows(npy(tmp_path, "X.npy", X), block_rows=50)
    assert all(np.shares_memory(block.matrix, rows.parts[0]) for block in rows.blocks())
    assert rows.memory_matrix is None
    assert rows.nbytes == 0
    assert not open_rows(table(X), target="label", columns=["a", "b"]).nbytes  # the scratch file is mapped


def test_narrow_numbers_are_kept_narrow():
    assert open_rows(pa.table({"a": np.ones(3, np.float32), "b": np.ones(3, np.int16)})).parts[0].dtype == np.float32
    assert open_rows(pa.table({"a": np.ones(3, np.float32), "b": np.ones(3, np.int32)})).parts[0].dtype == np.float64


def test_rows_are_named_by_their_file(tmp_path):
    rows = open_rows(npy_parts(tmp_path, X))
    assert rows.where(CUT - 1).endswith(f"part-0.npy, row {CUT - 1}")
    assert rows.where(CUT).endswith("part-2.npy, row 0")
    assert "2 files" in repr(rows)
    assert open_rows(rows) is rows
    assert open_rows(csv_parts(tmp_path, X), **BESIDE).where(CUT + 3).endswith("p-1.csv.gz, row 3")


def test_a_machine_is_the_same_from_a_file(tmp_path):
    rows = open_rows(parquet(tmp_path, X), **BESIDE, block_rows=17)
    here = qpsvm.solve(qpsvm.CSVM(X, Y, sample_weight=S))
    there = qpsvm.solve(qpsvm.CSVM(rows, rows.target, sample_weight=rows.weight))
    assert there.status == "optimal"
    assert there.primal == pytest.approx(here.primal, rel=1e-5)


def test_rows_that_are_open_already():
    rows = ArrayRows(X)
    assert open_rows(rows) is rows
    with pytest.raises(ParameterError, match="open already: leave out target"):
        open_rows(rows, target=0)
    own = type("OwnRows", (RowSource,), dict.fromkeys(RowSource.__abstractmethods__))()
    assert open_rows(own) is own
    for option in ({"sparse": True}, {"scratch": False}):
        with pytest.raises(ParameterError, match=f"open already: leave out {next(iter(option))}"):
            open_rows(own, **option)


def test_what_needs_pyarrow_says_so(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"t\.parquet.*needs pyarrow: pip install"):
        open_rows(text(tmp_path, "t.parquet", "PAR1"))
    assert open_rows(text(tmp_path, "t.svm", libsvm(X))).shape == X.shape
    assert open_rows(text(tmp_path, "t.csv", csv(X)), **BESIDE).shape == X.shape


def test_labels_of_every_kind(tmp_path):
    blanks = csv(X[:2], ["u", "v"], S[:2]).replace("u,", "u ,") + csv(X[:1], ["u"], S[:1]).splitlines()[1]
    assert open_rows(text(tmp_path, "blanks.csv", blanks), **BESIDE).target.tolist() == ["u", "v", "u"]
    late = [*map(str, [1, 2] * 50), "x"]
    path = text(tmp_path, "late.csv", csv(X[:101], late, S[:101]))
    assert open_rows(path, **BESIDE).target.tolist() == late  # numbers at first
    whole = open_rows(text(tmp_path, "whole.csv", csv(X[:6], ["1", "2"] * 3, S[:6])), **BESIDE).target
    assert whole.dtype.kind == "i"
    coded = pa.table({"a": [1.0, 2.0], "y": pa.array(["u", "v"]).dictionary_encode(), "b": [True, False]})
    rows = open_rows(coded, "y", ["b"])
    assert rows.target.tolist() == ["u", "v"]
    assert rows.matrix().tolist() == [[1.0], [0.0]]
    npy(tmp_path, "y.npy", Y)
    assert open_rows(npy(tmp_path, "X.npy", X), target=tmp_path / "y.npy").target.tolist() == Y.tolist()


# --- what is wrong with numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "said"), [(np.nan, "NaN"), (np.inf, "infinite"), (1e200, "overflows")])
@pytest.mark.parametrize("store", ["npy", "memory map", "Parquet", "CSV", "LIBSVM", "Parquet again and again"])
def test_bad_numbers_are_named(store, value, said, tmp_path):
    if store == "memory map" and value == 1e200:
        pytest.skip("float32 has no such number")
    bad = X.copy()
    bad[CUT + 5, 2] = value
    make, options = STORES[store]
    with pytest.raises(DataError, match="no value" if store == "CSV" and np.isnan(value) else said) as raised:
        open_rows(make(tmp_path, bad), **options, block_rows=17)
    assert f"row {5 if 'Parquet' in store else CUT + 5}," in str(raised.value)
    assert "column 'c'" in str(raised.value) or "column 2" in str(raised.value)


def test_a_cell_that_is_no_number_is_shown(tmp_path):
    lines = csv(X).splitlines()
    for cell, said in (("red", "'red' is not a number"), ("'1,5'", "comma"), ("", "no value"), ("NA", "no value")):
        changed = [*lines[:80], lines[80].replace(repr(X[79, 0].item()), cell.replace("'", '"'), 1), *lines[81:]]
        with pytest.raises(DataError, match=rf"line 81, row 79, column 'a'.*{said}"):
            open_rows(text(tmp_path, "t.csv", "\n".join(changed)), **BESIDE)
    with pytest.raises(FileFormatError, match="line 81 has 2 cells"):
        open_rows(text(tmp_path, "t.csv", "\n".join([*lines[:80], "1,2", *lines[80:]])), **BESIDE)
    with pytest.raises(DataTypeError, match=r"column 'label' \(string\).*columns="):
        open_rows(table(X))
    with pytest.raises(DataError, match=r"row 2, column 'a' has no value"):
        open_rows(pa.table({"a": [1.0, 2.0, None]}))
    with pytest.raises(FileFormatError, match=r"line 3.*'2:x' is not a feature index and a number"):
        open_rows(text(tmp_path, "t.svm", "1 1:1\n0 2:1\n1 2:x\n"))
    with pytest.raises(DataError, match=r"row 1 has the label nan"):
        open_rows(text(tmp_path, "t.svm", "1 1:1\nnan 2:1\n"))
    for data in (np.full((400, 4), 1.2e153), pa.table({"a": np.full(1600, 1.2e153)})):
        with pytest.raises(DataError, match="overflow when they are added up"):
            open_rows(data, block_rows=17)
    with pytest.raises(DataError, match="no feature in any row"):
        open_rows(text(tmp_path, "t.svm", "0 qid:1\n1 qid:1\n"))
    with pytest.raises(DataTypeError, match="one of the two"):
        open_rows([pa.record_batch({"a": [1.0], "y": [1]}), pa.record_batch({"a": [1.0], "y": ["u"]})], "y")


# --- what is wrong with files -----------------------------------------------------------------------------------------


def test_files_that_do_not_go_together(tmp_path):
    first = npy(tmp_path, "0.npy", X)
    with pytest.raises(DataError, match=r"1\.npy has 3 columns, but .*0\.npy has 4"):
        open_rows([first, npy(tmp_path, "1.npy", X[:, :3])])
    with pytest.raises(FileFormatError, match=r"t\.csv is a csv file, but .*0\.npy is a npy file"):
        open_rows([first, text(tmp_path, "t.csv", csv(X))])
    folder = tmp_path / "parquet"
    folder.mkdir()
    parquet(folder, X)
    pa.parquet.write_table(table(X).drop_columns("c"), folder / "part-3.parquet")
    with pytest.raises(DataError, match=r"part-3\.parquet has no column 'c', which .*part-0\.parquet has"):
        open_rows(folder, **BESIDE)
    assert open_rows(folder, columns=["a", "b"]).d == 2
    assert open_rows(folder, columns=np.int64(0)).d == 1
    pa.parquet.write_table(table(X).append_column("more", pa.array(S)), folder / "part-3.parquet")
    with pytest.raises(DataError, match=r"part-3\.parquet has a column 'more'"):
        open_rows(folder, **BESIDE)
    other = text(tmp_path, "other.csv", csv(X).replace("c,d", "c,e"))
    with pytest.raises(DataError, match=r"other\.csv has no column 'd'"):
        open_rows([tmp_path / "t.csv", other], **BESIDE)


def test_files_that_cannot_be_read(tmp_path):
    whole = npy(tmp_path, "whole.npy", X).read_bytes()
    pa.parquet.write_table(table(X), tmp_path / "whole.parquet")
    cut = (tmp_path / "whole.parquet").read_bytes()[:-20]
    packed = gzip.compress(csv(X).encode())[:-30]
    faults = [
        ("cut.npy", whole[:-8], FileFormatError, "cut short"),
        ("head.npy", whole[:20], FileFormatError, "cut short"),
        ("text.npy", b"1,2\n", FileFormatError, r"not a \.npy file"),
        ("cut.parquet", cut, FileFormatError, "damaged"),
        ("text.parquet", b"1,2\n", FileFormatError, r"not a \.parquet file"),
        ("cut.csv.gz", packed, FileFormatError, "cut.csv.gz"),
        ("any.npz", b"PK\x03\x04....", FileFormatError, "archive"),
        ("any", bytes(range(256)), FileFormatError, "neither text"),
        ("empty.csv", b"", FileFormatError, "is empty"),
        ("header.csv", b"a,b\n", DataError, "no rows"),
        ("twice.csv", b"a,a\n1,2\n", FileFormatError, "same name 'a'"),
        ("index.csv", b",a\n5,2\n", FileFormatError, "does not count the rows"),
        ("latin.csv", b"a,b\n1,2\n1,\xff\xfe\n", FileFormatError, "latin.csv"),
    ]
    for name, content, error, said in faults:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(error, match=said):
            open_rows(tmp_path / name)
    for name, array, said in (
        ("line.npy", X[0], "two-dimensional"), ("none.npy", X[:0], "no rows"), ("narrow.npy", X[:, :0], "no columns"),
        ("words.npy", np.array([["u"]]), "real numbers"), ("objects.npy", np.array([[None]]), "Python objects"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=said):
            open_rows(npy(tmp_path, name, array))
    with pytest.raises(DataError, match="no rows"):
        open_rows(table(X).slice(0, 0), **BESIDE)
    (tmp_path / "folder").mkdir()
    for data, error, said in (
        (tmp_path / "nowhere.npy", MissingFileError, "does not exist"),
        (tmp_path / "*.nothing", MissingFileError, "no file matches"),
        (tmp_path / "folder", FileFormatError, "folder without files"),
        ([], DataTypeError, "list"),
        (7, DataTypeError, "int"),
    ):
        with pytest.raises(error, match=said):
            open_rows(data)


def test_columns_that_are_not_there(tmp_path):
    for options, error, said in (
        ({"target": "lable"}, UnknownOptionError, "did you mean 'label'"),
        ({"target": 9}, UnknownOptionError, "it has 6"),
        ({"target": 1.5}, qpsvm.ParameterTypeError, "name of a column"),
        ({"target": "s", "weight": "s"}, ParameterError, "both target and weight"),
        ({"target": "a", "columns": ["a", "b"]}, ParameterError, "cannot be a feature as well"),
        ({"columns": ["a", "a"]}, ParameterError, "twice"),
        ({"columns": []}, DataError, "no feature column"),
        ({"columns": ["a"], "weight": "label"}, DataTypeError, "weight"),
        ({"columns": ["a"], "block_rows": 0}, ParameterError, "block_rows"),
        ({"columns": ["a"], "scratch": tmp_path / "nowhere"}, OSError, "is not a folder"),
    ):
        with pytest.raises(error, match=said):
            open_rows(table(X), **options)
    with pytest.raises(ParameterError, match="have no names"):
        open_rows(npy(tmp_path, "X.npy", X), target="label")
    with pytest.raises(DataError, match=r"one for each row"):
        open_rows(X, target=Y[1:])
    with pytest.raises(ParameterError, match="leave out target"):
        open_rows(text(tmp_path, "t.svm", libsvm(X)), target="label")


def write_anew(path: Path, content: bytes) -> None:
    """Write a file anew, with a time of its own even where the clock of the file system is coarse."""
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))


def test_a_file_that_changes_is_noticed(tmp_path, monkeypatch):
    path = npy(tmp_path, "X.npy", X)
    monkeypatch.chdir(tmp_path)
    rows = open_rows("X.npy", block_rows=17)
    content = path.read_bytes()
    monkeypatch.chdir(tmp_path.parent)
    blocks = rows.blocks()
    next(blocks)
    write_anew(path, content)
    with pytest.raises(DataError, match=r"X\.npy changed while it was read"):
        next(blocks)
    with pytest.raises(DataError, match="changed while it was read"):
        rows.margins(np.ones(D))
    with pytest.raises(DataError, match="changed while it was read"):
        rows.take(np.arange(3))
    path.unlink()
    with pytest.raises(DataError, match="removed"):
        rows.margins(np.ones(D))


@pytest.mark.parametrize("store", ["CSV", "LIBSVM", "Parquet"])
def test_a_file_that_changes_while_it_is_decoded_is_noticed(store, tmp_path, monkeypatch):
    make, options = STORES[store]
    data = make(tmp_path, X)
    path = data / "part-0.parquet" if store == "Parquet" else data
    again = open_rows(data, **options, scratch=False)
    content = path.read_bytes()
    append = scratch.ScratchFile.append
    monkeypatch.setattr(scratch.ScratchFile, "append", lambda *some: (write_anew(path, content), append(*some))[1])
    with pytest.raises(DataError, match="changed while it was read"):
        open_rows(data, **options)
    with pytest.raises(DataError, match="changed while it was read"):
        again.margins(np.ones(D))


# --- scratch ----------------------------------------------------------------------------------------------------------


def test_a_scratch_file_that_does_not_fit(tmp_path, monkeypatch):
    room = os.stat(tmp_path)
    with monkeypatch.context() as patch:
        usage = scratch.shutil.disk_usage(tmp_path)
        patch.setattr(scratch.shutil, "disk_usage", lambda _: usage._replace(free=scratch.RESERVED_BYTES + 100))
        for data in (table(X), text(tmp_path, "t.csv", csv(X))):
            with pytest.raises(TooLargeError, match=r"needs .* of scratch in .* are free.*scratch=False"):
                open_rows(data, **BESIDE, scratch=tmp_path)
        assert open_rows(data, **BESIDE, scratch=False).n == N
    append = scratch.ScratchFile.append
    seen = []

    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    def full(scratch, values, name):
        seen.append(values)
        if len(seen) == 3:
            scratch._file.close()
            scratch._file = Full()
        append(scratch, values, name)

    monkeypatch.setattr(scratch.ScratchFile, "append", full)
    folder = tmp_path / "scratch"
    folder.mkdir()
    with pytest.raises(TooLargeError, match=r"became full while .*t\.csv was decoded.*scratch="):
        open_rows(tmp_path / "t.csv", **BESIDE, scratch=folder)
    assert not list(folder.iterdir())
    assert room.st_dev == os.stat(folder).st_dev


def test_scratch_files_have_no_name(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    for data, options in ((table(X), BESIDE), (text(tmp_path, "t.svm", libsvm(X)), {})):
        rows = open_rows(data, **options, scratch=folder)
        assert not list(folder.iterdir())
        assert rows.margins(np.ones(D)).shape == (N,)


# --- LIBSVM text -----------------------------------------------------------------------------------------------------


def test_plain_text(tmp_path):
    plain = [
        "+1 3:0.5 7:1e-3\n-1\n2.5 1:-4\n",
        "1 1:1 2:2 \r\n0 5:1\r\n",
        "-1 0:1 9:2\n1 1:3 2:4\n",
        libsvm(X),
        "1 2:3",
    ]
    for some in plain:
        rows = open_rows(text(tmp_path, "t.svm", some))
        wanted, labels = load_svmlight_file(io.BytesIO(some.encode()))
        assert np.array_equal(rows.matrix().toarray(), wanted.toarray())
        assert np.array_equal(rows.target, labels)


def test_other_text(tmp_path):
    wrong = ["1 2 3:4\n1:2 3:4", "1:2\n1 1 1:1", "1 3:1 2:1", "1 1:1 1:2", "1 1.5:2", "1 1e3:2", "1 -1:2", "1 1:",
             "1 :2", "1 1:1:2", "1 2147483648:1", "+-1 1:1", "1 1:x", "1 1:1 7"]  # fmt: skip
    for some in wrong:
        with pytest.raises(DataError):
            open_rows(text(tmp_path, "t.svm", f"1 1:1\n{some}\n"))
    for some in ("1 qid:3 1:2\n", "1 1:2 # so it is\n", "1\t1:2\n", "1  1:2\n", "1 01:2\n"):
        assert open_rows(text(tmp_path, "t.svm", some)).matrix().toarray().tolist() == [[2.0]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_and_a_device_are_not_empty_files(tmp_path):
    """The size of both is 0. A pipe is read once, and a device has no end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, word in ((pipe, "is a pipe, .* only once"), ("/dev/zero", "is a device"), ("/dev/null", "is a device")):
        with pytest.raises(FileFormatError, match=word):
            qpsvm.open_rows(path)
    with pytest.raises(FileFormatError, match="is a pipe"):
        qpsvm.open_rows([tmp_path / "pipe", "/dev/zero"])
    with pytest.raises(FileFormatError, match="is a device"):
        read_bytes("/dev/zero")
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"1 1:2\n-1 1:3\n"))
    writer.start()
    assert read_bytes(pipe) == b"1 1:2\n-1 1:3\n"  # which is read to its end, once
    writer.join()
