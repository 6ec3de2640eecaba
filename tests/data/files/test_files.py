"""Files as users have them: well-formed, compressed, exported by some spreadsheet, damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm.data.files as files
from qpsvm import open_rows
from qpsvm.base.errors import (
    DataError,
    FileFormatError,
    MissingFileError,
    ParameterError,
    QPSVMError,
    TooLargeError,
    UnknownOptionError,
)
from qpsvm.data.files import MISSING, Column, Encoding, MissingPolicy, StandardInput, read_table, read_with_encoding
from qpsvm.data.files.sheet import detect_format
from qpsvm.data.files.source import read_bytes

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(content: str | bytes, name: str = "file.data") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def real(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


PETS = "weight,kind,site,label\n4.5,cat,1,yes\n30,dog,2,no\n5,cat,2,yes\n"


# CSV: what becomes of the columns


def test_numbers_become_features_and_text_becomes_one_feature_for_each_category(save: Save) -> None:
    table = read_table(save(PETS), target="label")
    assert table.names == ("weight", "kind=cat", "kind=dog", "site")
    np.testing.assert_array_equal(table.X, [[4.5, 1, 0, 1], [30, 0, 1, 2], [5, 1, 0, 2]])
    assert table.X.dtype == np.float64
    assert table.y is not None
    assert table.y.tolist() == ["yes", "no", "yes"]
    assert table.dropped == 0
    assert table.encoding.columns == (Column("weight"), Column("kind", ("cat", "dog")), Column("site"))
    assert table.encoding.n_features == 4


@pytest.mark.parametrize(
    ("cells", "expected", "kind"),
    [
        (["1", "-1", "+1"], [1, -1, 1], "i"),
        (["1.0", "0", "2e0"], [1, 0, 2], "i"),
        (["0.5", "1", "1"], [0.5, 1, 1], "f"),
        (["1e300", "1", "1"], [1e300, 1, 1], "f"),
        (["a", "1", "b"], ["a", "1", "b"], "U"),
        (["True", "False", "True"], ["True", "False", "True"], "U"),
        (["1_0", "1", "1"], ["1_0", "1", "1"], "U"),
        (["ja", "nein", "vielleicht"], ["ja", "nein", "vielleicht"], "U"),  # three classes: the problem refuses them
    ],
)
def test_labels_are_integers_then_numbers_then_text(
    save: Save, cells: list[str], expected: list[object], kind: str
) -> None:
    y = read_table(save("x,y\n" + "".join(f"{i},{c}\n" for i, c in enumerate(cells))), target="y").y
    assert y is not None
    assert y.tolist() == expected
    assert y.dtype.kind == kind


def test_dropped_columns_are_not_used_and_may_have_missing_cells(save: Save) -> None:
    path = save("id,x,y\n,1,a\nNA,2,b\n")
    assert read_table(path, target="y", drop=["id"]).names == ("x",)
    assert read_table(path, target="y", drop="id").names == ("x",)


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        ({}, ParameterError, ["target", "weight, kind, site, label"]),
        ({"target": "lable"}, UnknownOptionError, ["'lable'", "did you mean 'label'?"]),
        ({"target": "label", "drop": ["Kind"]}, UnknownOptionError, ["drop", "'Kind'", "did you mean 'kind'?"]),
        ({"target": "label", "drop": ["label"]}, ParameterError, ["'label'", "cannot be dropped"]),
        ({"target": "label", "drop": ["weight", "kind", "site"]}, DataError, ["no feature column"]),
    ],
)
def test_column_names_are_checked(
    save: Save, options: dict[str, str], kind: type[QPSVMError], expected: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        read_table(save(PETS), **options)  # type: ignore[arg-type]
    for text in expected:
        assert text in str(caught.value)


def test_the_listing_of_a_wide_file_is_cut(save: Save) -> None:
    wide = ",".join(f"column{j}" for j in range(200))
    with pytest.raises(ParameterError, match=r"column29, \.\.\.$"):
        read_table(save(f"{wide}\n{','.join('1' * 200)}\n"))


# CSV: missing and infinite values


@pytest.mark.parametrize("cell", [*sorted(MISSING), "  NA ", '"NA"', '""'])
def test_missing_cells_are_refused_or_dropped(save: Save, cell: str) -> None:
    path = save(f"x,z,y\n1,5,a\n\n2,{cell},b\n{cell},7,b\n4,8,b\n")
    with pytest.raises(DataError) as caught:
        read_table(path, target="y")
    for text in ("line 4", "column 'z'", "first of 2 missing cells in 2 rows", "--drop-missing"):
        assert text in str(caught.value)
    table = read_table(path, target="y", missing="drop")
    assert table.dropped == 2
    np.testing.assert_array_equal(table.X, [[1, 5], [4, 8]])
    assert table.y is not None
    assert table.y.tolist() == ["a", "b"]


def test_a_missing_label_counts_and_dropped_rows_add_no_category(save: Save) -> None:
    path = save("kind,y\ncat,1\nfish,?\ndog,0\n")
    with pytest.raises(DataError, match="line 3, column 'y'"):
        read_table(path, target="y")
    assert read_table(path, target="y", missing="drop").names == ("kind=cat", "kind=dog")


def test_no_row_left(save: Save) -> None:
    with pytest.raises(DataError, match="every row has a missing value, most of them in column 'z'"):
        read_table(save("x,z,y\n1,,a\n,2,b\n3,,b\n"), target="y", missing="drop")


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999", "NAN", "-nan"])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_cells_that_are_not_finite(save: Save, cell: str, missing: MissingPolicy) -> None:
    with pytest.raises(DataError, match=f"line 3, column 'x': '{cell}' is not a finite number"):
        read_table(save(f"x,y\n1,0\n{cell},1\n"), target="y", missing=missing)
    with pytest.raises(DataError, match=f"line 3, column 'y': '{cell}' is not a finite number"):
        read_table(save(f"x,y\n1,0\n2,{cell}\n"), target="y", missing=missing)


def test_inf_among_words_is_a_word(save: Save) -> None:
    assert read_table(save("x,y\ninf,0\nsup,1\n"), target="y").names == ("x=inf", "x=sup")


# CSV: columns that are refused


def test_a_column_that_identifies_rows(save: Save) -> None:
    rows = [f"name{i},{i},{i % 2}" for i in range(40)]
    path = save("\n".join(["patient,x,y", *rows]))
    table = read_table(path, target="y")
    assert (table.names, table.column_summaries[0].kind) == (("x",), "identifier")
    assert "--keep patient" in table.column_summaries[0].outcome
    assert read_table(path, target="y", keep="patient").X.shape == (40, 41)
    assert read_table(path, target="y", drop=["patient"]).X.shape == (40, 1)


@pytest.mark.parametrize(("categories", "rows", "accepted"), [(20, 20, True), (21, 41, False), (21, 42, True)])
def test_where_a_column_has_too_many_categories(save: Save, categories: int, rows: int, accepted: bool) -> None:
    path = save("k,y\n" + "".join(f"v{i % categories},{i % 2}\n" for i in range(rows)))
    if accepted:
        assert read_table(path, target="y").X.shape == (rows, categories)
    else:
        with pytest.raises(DataError, match=r"no feature column: 'k' \(identifier\) is left out \(--keep k"):
            read_table(path, target="y")


def test_one_typing_error_among_many_numbers_is_named(save: Save) -> None:
    rows = [f"{i if i != 27 else '2 7'},{i % 2}" for i in range(60)]
    with pytest.raises(DataError, match="line 29, column 'x': '2 7' is not a number"):
        read_table(save("\n".join(["x,y", *rows])), target="y")


@pytest.mark.parametrize("content", ["x;y\n1;0\n1,5;1\n", 'x,y\n1,0\n"1,5",1\n', 'x,y\n1,0\n"1,500",1\n'])
def test_decimal_commas_are_not_guessed(save: Save, content: str) -> None:
    with pytest.raises(
        DataError, match=r"line 3, column 'x': '1,5(00)?' has thousands marks or a decimal comma.*--decimal ,"
    ):
        read_table(save(content), target="y")


def test_lists_with_commas_are_categories(save: Save) -> None:
    assert read_table(save('x,y\n"a,b",0\n"1,2",1\n'), target="y").names == ("x=1,2", "x=a,b")


# CSV: read in blocks


@pytest.fixture(params=[1, 3, 7])
def in_small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qpsvm.data.files.sheet.BLOCK_CELLS", request.param)


@pytest.mark.usefixtures("in_small_blocks")
def test_blocks_change_nothing(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    late = ["1" if i < 9 else "xz"[i % 2] for i in range(20)]
    rows = [f"{i / 7},{'abc'[i % 3]},{'' if i % 5 == 4 else i},{late[i]},{i % 2}" for i in range(20)]
    path = save("x,k,m,late,y\n" + "\n\n".join(rows))
    options = {"target": "y", "missing": "drop", "standardise": True}
    small = read_table(path, **options)  # type: ignore[arg-type]
    monkeypatch.undo()
    whole = read_table(path, **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(small.X, whole.X)
    assert small.encoding.to_json() == whole.encoding.to_json()
    assert small.dropped == whole.dropped == 4


@pytest.mark.usefixtures("in_small_blocks")
def test_a_column_that_turns_into_text_late_keeps_its_first_cells_as_they_are_written(save: Save) -> None:
    rows = [*(["1.0,0", "1,1", "01,0"] * 8), "one,1"]
    table = read_table(save("x,y\n" + "\n".join(rows)), target="y", keep="x")
    assert table.names == ("x=01", "x=1", "x=1.0", "x=one")
    assert table.X.sum(axis=0).tolist() == [8, 8, 8, 1]


@pytest.mark.usefixtures("in_small_blocks")
def test_text_in_rows_that_are_dropped_leaves_numbers(save: Save) -> None:
    rows = [*(f"{i},{i % 2}" for i in range(9)), "fish,?", "9,1"]
    table = read_table(save("x,y\n" + "\n".join(rows)), target="y", missing="drop")
    assert table.X[:, 0].tolist() == list(range(10))


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("1,2,3", "line 11 has 3 cells where the header has 2"),
        ('"1,2', "line 11: unexpected end of data"),
        ("7,", "line 11, column 'y' is missing"),
        ("inf,1", "line 11, column 'x': 'inf' is not a finite number"),
        ("1_0,1", "line 11, column 'x': '1_0' is not a number, and 29 of 30 cells of the column are"),
    ],
)
def test_a_fault_far_down_is_named_with_its_line(save: Save, row: str, expected: str) -> None:
    good = [f"{i},{i % 2}" for i in range(20)]
    path = save("\n".join(["x,y", *good[:9], row, *good, ""]))
    with pytest.raises(DataError) as caught:
        read_table(path, target="y")
    assert expected in str(caught.value)


@pytest.mark.slow
def test_a_large_csv_file_takes_little_memory(save: Save) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 20))
    text = "\n".join(",".join(f"{v:.6f}" for v in x) + (",cat,yes" if x[0] > 0 else ",dog,no") for x in X)
    path = save(",".join([*(f"x{j}" for j in range(20)), "kind", "y"]) + "\n" + text)
    tracemalloc.start()
    try:
        table = read_table(path, target="y", standardise=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    block = 20e6  # cells of one block as Python text, the same for every file
    assert table.X.shape == (10_000, 22)
    assert peak < max(4 * table.X.nbytes, 3 * path.stat().st_size) + block


def test_too_little_memory_is_an_error_of_ours(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qpsvm.data.files.training_table.encode", lambda *_: np.empty(2**58))
    with pytest.raises(TooLargeError, match=r"file\.data does not fit into the memory"):
        read_table(save(PETS), target="label")
    assert issubclass(TooLargeError, MemoryError)


# CSV: an index without a name


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("mark", [",", ";"])
def test_an_unnamed_column_that_counts_rows_is_an_index(save: Save, first: int, mark: str) -> None:
    lines = PETS.splitlines()
    numbered = [f",{lines[0]}", *(f"{i},{line}" for i, line in enumerate(lines[1:], first))]
    table = read_table(save("\n".join(numbered).replace(",", mark)), target="label")
    np.testing.assert_array_equal(table.X, read_table(save(PETS), target="label").X)
    assert len(table.notes) == 1
    assert f"counts the rows from {first}" in table.notes[0]
    assert read_table(save(PETS), target="label").notes == ()
    further = read_with_encoding(save("\n".join([numbered[0], numbered[2]]).replace(",", mark)), table.encoding)
    np.testing.assert_array_equal(further.X, table.X[1:2])


def test_pandas_own_file(save: Save) -> None:
    pandas = pytest.importorskip("pandas")
    path = save("")
    pandas.DataFrame({"x": [1.5, 2.5, 3.5], "y": ["a", "b", "a"]}).to_csv(path)
    assert read_table(path, target="y").names == ("x",)


def test_the_index_counts_also_the_rows_that_are_dropped(save: Save) -> None:
    table = read_table(save(",x,y\n0,1,a\n1,,b\n2,3,b\n"), target="y", missing="drop")
    assert table.dropped == 1
    assert table.names == ("x",)


@pytest.mark.parametrize(("cells", "line"), [("017", 4), ("203", 3), ("ab", 2), ("00", 3), ("2", 2)])
def test_an_unnamed_column_that_does_not_count_is_refused_with_a_cure(save: Save, cells: str, line: int) -> None:
    path = save(",x,y\n" + "".join(f"{cell},{i},{i % 2}\n" for i, cell in enumerate(cells)))
    with pytest.raises(FileFormatError) as caught:
        read_table(path, target="y")
    for text in ("column 1 has no name and does not count the rows", f"(line {line}: ", "index=False", "--drop ''"):
        assert text in str(caught.value)
    assert read_table(path, target="y", drop=[""]).names == ("x",)
    with pytest.raises(UnknownOptionError, match=r"known: x, y$"):
        read_table(path, target="")


# CSV: form


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_delimiters_line_ends_and_byte_order_mark(save: Save, mark: str, end: str, bom: str) -> None:
    content = bom + PETS.replace(",", mark).replace("\n", end) + end * 2
    np.testing.assert_array_equal(
        read_table(save(content), target="label").X, read_table(save(PETS, "plain"), target="label").X
    )


def test_the_delimiter_is_not_taken_from_inside_quotes(save: Save) -> None:
    path = save('"a;b;c;d",y\n1,0\n2,1\n')
    assert read_table(path, target="y").names == ("a;b;c;d",)
    path = save('"size, in\ncm, or, so";y\n1;0\n2;1\n')
    assert read_table(path, target="y").names == ("size, in cm, or, so",)


def test_a_very_wide_header(save: Save) -> None:
    names = [f"a_rather_long_column_name_{j}" for j in range(8000)]  # longer than csv's limit for one cell
    content = ",".join([*names, "y"]) + "\n" + ",".join(["1"] * 8000 + ["0"]) + "\n"
    assert read_table(save(content), target="y").names == tuple(names)


def test_quotes_blanks_and_embedded_line_ends(save: Save) -> None:
    path = save('\n\n name , "the ""kind""" ,y\n a, "b\nc",0\n\n"d,e" ,f ,1\n'.replace('" ', '"'))
    table = read_table(path, target="y")
    assert table.names == ("name=a", "name=d,e", 'the "kind"=b\nc', 'the "kind"=f')
    np.testing.assert_array_equal(table.X, [[1, 0, 1, 0], [0, 1, 0, 1]])


def test_line_numbers_count_embedded_line_ends_and_blank_lines(save: Save) -> None:
    path = save('x,text,y\n1,"one\ntwo\nthree",0\n\n2,"four\nfive",1\n,six,1\n')
    with pytest.raises(DataError, match="line 8, column 'x'"):
        read_table(path, target="y")
    with pytest.raises(FileFormatError, match="line 6 has 2 cells where the header has 3"):
        read_table(save('x,text,y\n1,"one\ntwo\nthree",0\n\n2,"four\nfive"\n'), target="y")


def test_unicode_names_and_cells(save: Save) -> None:
    table = read_table(save("größe,färbung,y\n1,grün\u2028x,ä\n2,\N{NO-BREAK SPACE}红 ,ö\n"), target="y")
    assert table.names == ("größe", "färbung=grün\u2028x", "färbung=红")
    assert table.y is not None
    assert table.y.tolist() == ["ä", "ö"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ("\n \r\n\t\n", "is empty"),
        ("\ufeff", "is empty"),
        ("x,y\n", "a header line and no rows"),
        ("x,y\n\n\n", "a header line and no rows"),
        ("x,y", "a header line and no rows"),
        ("x,y\n1,2\n1,2,3\n", "line 3 has 3 cells where the header has 2; quote a cell that contains ','"),
        ("x;y\n1;2\n1\n", "line 3 has 1 cells where the header has 2"),
        ("x,x,y\n1,2,3\n", "column 2 has the same name 'x' as column 1"),
        ("x, x ,y\n1,2,3\n", "column 2 has the same name 'x' as column 1"),
        ("x,,y\n1,2,3\n", "column 2 has no name"),
        (",x,y\n7,2,3\n", "column 1 has no name"),
        ("\tx\ty\n7\t2\t3\n", "column 1 has no name"),
        ("1,1,0\n1,2,3\n", "is the line of column names missing?"),
        ('x,y\n1,"2\n3,4\n', "line 2: unexpected end of data; look for a quote"),
        ('x,y\n1,2\n1,"2"3\n', "line 3"),
        ("x,y\n1," + "9" * 200_000 + "\n", "line 2: field larger than field limit"),
        (b"x,y\n1,2\n\x00,3\n", "not a text file"),
        (b"PK\x03\x04\x14\x00\x06\x00", "not a text file"),
    ],
)
def test_what_is_no_table(save: Save, content: str | bytes, expected: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_table(save(content), target="y")
    assert expected in str(caught.value)
    assert "file.data" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_messages_stay_short(save: Save) -> None:
    for content, target in (
        ("x,y\n1,0\n" + "9" * 100_000 + ",1\n", "y"),
        ("1 1:2\n" + "1" * 100_000 + "x 1:2\n", None),
    ):
        with pytest.raises(DataError) as caught:
            read_table(save(content), target=target)
        assert len(str(caught.value)) < 300 + len(str(save("")))


def test_a_file_without_header(save: Save) -> None:
    with pytest.raises(UnknownOptionError, match="is the line of column names missing"):
        read_table(save("1,2,0\n3,4,1\n"), target="y")
    assert read_table(save("0,1,2\n3,4,1\n5,6,0\n"), target="2").names == ("0", "1")  # numbers may be names


def test_a_single_column(save: Save) -> None:
    with pytest.raises(DataError, match="no feature column"):
        read_table(save("y\n1\n0\n"), target="y")
    with pytest.raises(FileFormatError, match="no rows"):
        read_table(save("7"), target="y")


def test_a_single_row_and_a_constant_category(save: Save) -> None:
    table = read_table(save("k,y\nonly,1\n"), target="y", standardise=True)
    np.testing.assert_array_equal(table.X, [[0.0]])
    assert table.names == ("k=only",)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.csv does not exist"):
        read_table(tmp_path / "none.csv", target="y")
    with pytest.raises(FileNotFoundError):
        read_table(str(tmp_path / "none.csv"), target="y")
    with pytest.raises(FileFormatError, match=r"cannot be read: .*directory"):
        read_table(tmp_path)
    with pytest.raises(FileFormatError, match=r"cannot be read: .*too long"):
        read_table("x" * 5000)


def test_utf_16_is_named(save: Save) -> None:
    with pytest.raises(FileFormatError, match="it is UTF-16 text; read it by --encoding utf-16"):
        read_table(save("x,y\n1,2\n".encode("utf-16")), target="y")


def test_a_byte_that_is_not_utf_8_is_found(save: Save) -> None:
    good = "größe,y\n" + "ääää红,1\n" * 6 + "b,0\n"
    assert read_table(save(good), target="y").X.shape == (7, 2)
    with pytest.raises(FileFormatError, match="line 9 is not UTF-8 text"):
        read_table(save(good.encode() + "ö,1\n".encode("latin-1")), target="y")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(PETS.encode()))))
    assert read_table(StandardInput(), target="label").X.shape == (3, 4)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 1:2\n-1 1:x\n")))
    with pytest.raises(FileFormatError, match="standard input, line 2: "):
        read_table(StandardInput())


# Compression


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress, bz2.compress, lambda b: bz2.compress(b, 1)])
@pytest.mark.parametrize("name", ["file.packed", "file.csv"])  # the content counts, not the name
def test_compressed_files(save: Save, pack: Callable[[bytes], bytes], name: str) -> None:
    assert read_table(save(pack(PETS.encode()), name), target="label").X.shape == (3, 4)
    table = read_table(save(pack(b"1 1:2 3:4\n-1 2:1\n"), name))
    np.testing.assert_array_equal(table.X.toarray(), [[2, 0, 4], [0, 1, 0]])
    with pytest.raises(FileFormatError, match="damaged compressed file"):
        read_table(save(pack(PETS.encode())[:-9], name), target="label")
    with pytest.raises(FileFormatError, match="is empty"):
        read_table(save(pack(b""), name), target="label")


# LIBSVM


def test_libsvm_rows(save: Save) -> None:
    path = save("# made by hand\n\n+1 1:2.5 3:-4 # why\n-1\n-1\t2:1e-3\n+1 qid:7 1:1 \r\n")
    table = read_table(path)
    assert sp.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), [[2.5, 0, -4], [0, 0, 0], [0, 1e-3, 0], [1, 0, 0]])
    assert table.names == ("x1", "x2", "x3")
    assert table.y is not None
    assert table.y.tolist() == [1, -1, -1, 1]
    assert table.y.dtype.kind == "i"
    assert (table.encoding.format, table.encoding.target, table.encoding.columns) == ("libsvm", None, ())
    assert read_table(save("0.5 1:1\n1 1:2\n")).y.dtype.kind == "f"  # type: ignore[union-attr]


@pytest.mark.parametrize("first", ["1", "+1", "-1.0", "1e0"])
def test_libsvm_that_begins_with_a_row_of_zeros(save: Save, first: str) -> None:
    np.testing.assert_array_equal(read_table(save(f"{first}\n1 2:5\n")).X.toarray(), [[0, 0], [0, 5]])


def test_libsvm_from_index_zero_keeps_its_columns(save: Save) -> None:
    from sklearn.datasets import dump_svmlight_file

    X = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])
    y = np.array([1, 2, 1])
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, comment="from scikit-learn")  # counts from 0 unless told otherwise
    table = read_table(save(buffer.getvalue()))
    np.testing.assert_array_equal(table.X.toarray(), X)
    assert table.names == ("x0", "x1")
    further = read_with_encoding(save("0 1:5\n"), table.encoding)  # has no index 0, and still counts from 0
    np.testing.assert_array_equal(further.X.toarray(), [[0, 5]])


@pytest.mark.parametrize("option", [{"target": "y"}, {"drop": ["x1"]}])
def test_libsvm_has_no_columns_to_name(save: Save, option: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match=f"LIBSVM file.*leave out {next(iter(option))}"):
        read_table(save("1 1:1\n"), **option)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("one 1:2", "the label 'one' is not a number"),
        ("1,2 1:2", "the label '1,2' is not a number"),
        ("1:2 2:3", "the label '1:2' is not a number"),
        ("1 1:x", "'1:x' is not a feature index and a number"),
        ("1 1:", "'1:' is not"),
        ("1 1: 2", "'1:' is not"),
        ("1 1:2 3", "'3' is not"),
        ("1 1:2:3", "'1:2:3' is not"),
        ("1 a:2", "'a:2' is not"),
        ("1 -1:2", "'-1:2' is not"),
        ("1 3:1 2:1", "feature index 2 comes after 3; indices must increase"),
        ("1 2:1 2:1", "feature index 2 comes after 2"),
        ("1 3000000000:1", "feature index 3000000000 is too large"),
        ("1 2147483648:1", "feature index 2147483648 is too large"),
        ("1 99999999999999999999:1", "is not a feature index"),
        ("1,2,3", "the label '1,2,3' is not a number"),
    ],
)
def test_malformed_libsvm_lines(save: Save, line: str, expected: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_table(save(f"# first\n1 1:1\n\n{line}\n1 1:1\n"))
    assert f"file.data, line 4: {expected}" in str(caught.value) or "is not a feature" in str(caught.value)
    assert expected in str(caught.value)
    assert "label index:value" in str(caught.value)


@pytest.mark.parametrize("read", [read_table, open_rows])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-1 1:2 qid:3", "column 8: 'qid:3' must come directly after the label"),
        ("-1\t1:2  2:3\tqid:3 # why", "column 13: 'qid:3' must come directly after the label"),
        ("-1 qid:3 qid:4 1:2", "column 10: 'qid:4' must come directly after the label"),
        ("-1 qid:x 1:2", "column 4: 'qid:x' is not a group that is a whole number"),
        ("-1 qid: 1:2", "column 4: 'qid:' is not a group that is a whole number"),
        ("-1 qid:1.5 1:2", "column 4: 'qid:1.5' is not a group"),
        ("-1 qid:99999999999999999999 1:2", "column 4: 'qid:99999"),
    ],
)
def test_a_group_elsewhere_than_after_the_label_is_refused_by_line_and_column(
    save: Save, read: Any, line: str, expected: str
) -> None:
    with pytest.raises(FileFormatError, match=re.escape(f", line 3, {expected}")):
        read(save(f"# made by hand\n1 qid:1 1:1\n{line}\n1 qid:1 1:1\n", "file.svm"))


def test_a_group_under_a_longer_name_is_refused_by_its_line(save: Save) -> None:
    with pytest.raises(FileFormatError, match="line 2: 'qidx:3' is not a feature index"):
        read_table(save("1 qid:1 1:1\n-1 qidx:3 1:2\n"))
    table = read_table(save("1 qid:1 1:1 # the qids: all\n-1 qid:3 1:2\n"))
    assert table.groups is not None
    assert table.groups.tolist() == [1, 3]


def test_the_first_line_of_a_libsvm_file_may_be_the_malformed_one(save: Save) -> None:
    for line in ("one 1:2", "1 1:x", "1 1: 2", "1:2 2:3", "1 -1:2"):
        with pytest.raises(FileFormatError, match="line 1: "):
            read_table(save(line + "\n"))


def test_libsvm_values_that_are_no_numbers(save: Save) -> None:
    path = save("# c\n1 1:1\n\n-1 1:nan 2:2\nnan 2:1\n1 2:3\n")
    with pytest.raises(DataError, match="line 4: NaN or infinite value, the first of 2 such rows of 4; --drop-missing"):
        read_table(path)
    table = read_table(path, missing="drop")
    assert table.dropped == 2
    np.testing.assert_array_equal(table.X.toarray(), [[1, 0], [0, 3]])
    assert table.y is not None
    assert table.y.tolist() == [1, 1]
    for content in ("1 1:1\n1 1:inf\n", "1 1:1\ninf 1:1\n"):
        with pytest.raises(DataError, match=r"line 2: NaN or infinite value, the first of 1 such rows of 2$"):
            read_table(save(content), missing="drop")
    with pytest.raises(DataError, match=r"2 such rows of 2$"):
        read_table(save("1 1:nan\n1 1:nan\n"), missing="drop")


def test_libsvm_without_features(save: Save) -> None:
    encoding = read_table(save("1 2:1\n")).encoding
    assert read_with_encoding(save("1\n-1\n"), encoding).X.toarray().tolist() == [[0, 0], [0, 0]]
    with pytest.raises(DataError, match="no feature in any row"):
        read_table(save("1 qid:3\n-1 qid:4\n"))


def test_a_huge_index_costs_nothing_until_its_names_are_asked_for(save: Save) -> None:
    table = read_table(save("1 1:1\n-1 2000000000:1\n"))
    assert table.X.shape == (2, 2_000_000_000)
    with pytest.raises(ParameterError, match="cannot be standardised"):
        read_table(save("1 1:1\n-1 2000000000:1\n"), standardise=True)


# Standardising


def test_standardised_columns(save: Save) -> None:
    rows = "".join(f"{i},{0.1},{'ab'[i % 2]},{i * 1e-200},{i % 2}\n" for i in range(7))
    table = read_table(save("x,constant,k,tiny,y\n" + rows), target="y", standardise=True)
    np.testing.assert_allclose(table.X.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(table.X.std(axis=0), [1, 0, 1, 1, 1], rtol=1e-14)
    assert table.encoding.scale is not None
    assert table.encoding.scale[1] == 1.0
    with pytest.raises(ParameterError, match="a raw table cannot be standardised"):  # a mean of all rows, also held out
        read_table(save("x,y\n1,0\n2,1\n"), target="y", standardise=True, raw=True)


def test_values_at_the_end_of_the_range(save: Save) -> None:
    path = save("x,y\n1e308,0\n-1e308,1\n")
    assert read_table(path, target="y").X.tolist() == [[1e308], [-1e308]]
    encoding = read_table(save("x,y\n0.1,0\n0.2,1\n", "small"), target="y", standardise=True).encoding
    with pytest.raises(DataError, match="feature 'x' has values too large to be standardised"):
        read_with_encoding(path, encoding)


def test_sparse_files_are_made_dense_only_where_they_fit(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save("1 1:1 4:2\n-1 2:1\n-1 4:1\n")
    table = read_table(path, standardise=True)
    assert isinstance(table.X, np.ndarray)
    np.testing.assert_allclose(table.X.std(axis=0), [1, 1, 0, 1])
    np.testing.assert_array_equal(read_with_encoding(path, table.encoding).X, table.X)
    monkeypatch.setattr("qpsvm.data.files.encoded_table.DENSE_LIMIT", 11)
    with pytest.raises(ParameterError, match=r"3 rows × 4 features cannot be standardised: .* leave out standardise"):
        read_table(path, standardise=True)
    with pytest.raises(ParameterError, match="cannot be standardised"):
        read_with_encoding(path, table.encoding)


def test_many_categories_in_many_rows_stay_sparse(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(PETS)
    expected = read_table(path, target="label")
    monkeypatch.setattr("qpsvm.data.files.encoding.DENSE_LIMIT", 11)
    table = read_table(path, target="label")
    assert sp.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), expected.X)


# A further file


def test_a_further_csv_file_is_encoded_in_the_same_way(save: Save) -> None:
    first = read_table(save(PETS), target="label", standardise=True)
    again = read_with_encoding(save(PETS), first.encoding)
    np.testing.assert_array_equal(again.X, first.X)
    assert again.names == first.names
    assert again.y is not None
    assert again.y.tolist() == ["yes", "no", "yes"]
    # Another order, another delimiter, a column more, no labels, and one of the categories only.
    other = read_with_encoding(save("kind;note;site;weight\ndog;;2;30\n"), first.encoding)
    np.testing.assert_array_equal(other.X, first.X[1:2])
    assert other.y is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("kind,label\ncat,yes\n", "has no column 'weight', 'site'"),
        ("kind,site,weight\ncat,1,heavy\n", "line 2, column 'weight': 'heavy' is not a finite number"),
        ("kind,site,weight\ncat,1,inf\n", "line 2, column 'weight': 'inf' is not a finite number"),
        ("kind,site,weight\n,1,2\n", "line 2, column 'kind' is missing"),
        ("kind,site,weight,label\ncat,1,2,yes\ncat,1,2,\n", "line 3, column 'label' is missing"),
        ("1 1:2\n", "is a libsvm file, but the model was trained on a csv file"),
    ],
)
def test_a_further_csv_file_that_does_not_fit(save: Save, content: str, expected: str) -> None:
    encoding = read_table(save(PETS), target="label").encoding
    with pytest.raises(DataError) as caught:
        read_with_encoding(save(content), encoding)
    assert expected in str(caught.value)


def test_categories_that_did_not_train_are_counted_and_have_zeros(save: Save) -> None:
    encoding = read_table(save(PETS), target="label").encoding
    table = read_with_encoding(save("kind,site,weight\ncat,1,2\n\nfish,1,2\nfish,1,3\n"), encoding)
    assert {name: each.counts for name, each in table.unseen.items()} == {"kind": {"fish": 2}}
    assert table.unseen["kind"].position.endswith("line 4")
    np.testing.assert_array_equal(table.X, [[2, 1, 0, 1], [2, 0, 0, 1], [3, 0, 0, 1]])


def test_missing_values_in_a_further_file(save: Save) -> None:
    encoding = read_table(save(PETS), target="label").encoding
    path = save("kind,site,weight,label\ncat,1,2,\n,1,2,\ncat,2,2,\n")
    table = read_with_encoding(path, encoding, drop_missing=True)
    assert table.y is None  # no label at all: the file waits for its predictions
    assert table.dropped == 1
    assert table.X.shape == (2, 4)


def test_labels_keep_their_type_in_a_further_file(save: Save) -> None:
    text = read_table(save("x,y\n1,1\n2,b\n"), target="y").encoding
    assert read_with_encoding(save("x,y\n1,1\n"), text).y.tolist() == ["1"]  # type: ignore[union-attr]
    number = read_table(save("x,y\n1,1\n2,2\n"), target="y").encoding
    with pytest.raises(DataError, match="line 2, column 'y': 'b' is not a finite number"):
        read_with_encoding(save("x,y\n1,b\n"), number)


def test_a_further_libsvm_file(save: Save) -> None:
    encoding = read_table(save("1 1:1 4:2\n-1 2:1\n")).encoding
    table = read_with_encoding(save("1 1:3\n"), encoding)
    np.testing.assert_array_equal(table.X.toarray(), [[3, 0, 0, 0]])
    with pytest.raises(DataError, match="line 3: feature index 5 is unknown to the model, whose features are 1 to 4"):
        read_with_encoding(save("1 1:3\n# c\n1 2:1 5:1\n"), encoding)
    with pytest.raises(DataError, match="line 1: feature index 0 is unknown"):
        read_with_encoding(save("1 0:3\n"), encoding)
    with pytest.raises(FileFormatError, match="is a csv file, but the model was trained on a libsvm file"):
        read_with_encoding(save(PETS), encoding)


@pytest.mark.parametrize("content", [PETS, "1 0:1 4:2\n-1 2:0.1\n", "x;y;z\n0.1;a;1\n0.3;b;0\n"])
@pytest.mark.parametrize("standardise", [False, True])
def test_an_encoding_survives_json(save: Save, content: str, standardise: bool) -> None:
    target = {"w": "label", "x": "z", "1": None}[content[0]]
    table = read_table(save(content), target=target, standardise=standardise)
    again = Encoding.from_json(table.encoding.to_json())
    assert again.to_json() == table.encoding.to_json()
    assert again.columns == table.encoding.columns
    assert again.names == table.names
    np.testing.assert_array_equal(dense(read_with_encoding(save(content), again).X), dense(table.X))


def test_json_that_is_no_encoding(save: Save) -> None:
    good = json.loads(read_table(save(PETS), target="label", standardise=True).encoding.to_json())
    changes: list[dict[str, object]] = [
        {"format": "arff"},
        {"n_features": 3},
        {"mean": [0.0]},
        {"mean": None},
        {"mean": ["a"]},
        {"columns": [1]},
        {"columns": None},
        {"surprise": 1},
    ]
    for text in ("", "{", "[]", "null", "1", "{}", *(json.dumps({**good, **change}) for change in changes)):
        with pytest.raises(FileFormatError):
            Encoding.from_json(text)


# Real files


def test_possum() -> None:
    path = real("possum.csv")
    with pytest.raises(DataError, match=r"missing \('NA'\), the first of 3 missing cells in 3 rows"):
        read_table(path, target="sex", drop=["case"])
    table = read_table(path, target="sex", drop=["case"], missing="drop", standardise=True)
    assert table.X.shape == (101, 13)
    assert table.dropped == 3
    assert table.names[:4] == ("site", "Pop=Vic", "Pop=other", "age")
    assert set(table.y.tolist()) == {"f", "m"}  # type: ignore[union-attr]
    np.testing.assert_allclose(table.X.std(axis=0), 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shape", "nnz", "positive"),
    [
        ("heart_scale", (270, 13), 3378, 120),
        ("australian", (690, 14), None, 307),
        ("a9a.xz", (32561, 123), 451592, 7841),
    ],
)
def test_libsvm_sets(name: str, shape: tuple[int, int], nnz: int | None, positive: int) -> None:
    table = read_table(real(name))
    assert table.X.shape == shape
    assert nnz is None or table.X.nnz == nnz
    assert table.y is not None
    assert np.unique(table.y).tolist() == [-1, 1]
    assert (table.y == 1).sum() == positive
    assert read_with_encoding(real(name), table.encoding).X.shape == shape


@pytest.mark.slow
def test_narrow_and_wide_parts_of_one_set() -> None:
    wide = read_table(real("a9a.xz"))
    assert read_with_encoding(real("a9a.t.xz"), wide.encoding).X.shape == (16281, 123)
    narrow = read_table(real("a1a"))
    with pytest.raises(DataError, match="whose features are 1 to 119"):
        read_with_encoding(real("a9a.t.xz"), narrow.encoding)


def test_every_file_is_told_apart() -> None:
    real("heart_scale")
    for path in DATA.iterdir():
        if path.suffix != ".md" and path.stat().st_size < 100_000:
            content = read_bytes(path)
            assert detect_format(content) == ("csv" if path.suffix == ".csv" else "libsvm"), path


@pytest.mark.slow
def test_importing_loads_no_scikit_learn() -> None:
    code = "import sys, qpsvm.data.files; sys.exit('sklearn' in sys.modules)"
    root = Path(files.__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0
