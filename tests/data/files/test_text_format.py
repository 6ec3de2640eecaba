"""Missing values by name, decimal commas, units, character encodings: read alike by the library and by the checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qpsvm
from qpsvm.base.errors import DataError, FileFormatError, ParameterError
from qpsvm.bounds.proof import checker
from qpsvm.data.files import Encoding, TextFormat, as_frame, read_table, read_with_encoding
from qpsvm.data.files.text_format import advise_decimal, find_unit, strip_unit

LABELS = [0, 1] * 10


def table_of(cells: list[Any], **how: Any) -> Any:
    return read_table(as_frame({"x": cells, "y": LABELS[: len(cells)]}), target="y", **how)


@pytest.mark.parametrize(
    ("decimal", "cell", "expected"),
    [
        (".", "20,322.95", "20322.95"), (".", "1,200", "1200"), (".", "1,20", "1,20"), (".", "-$1,200", "-$1200"),
        (",", "26.986,67", "26986.67"), (",", "1,5", "1.5"), (",", "1.200", "1200"), (",", "12 345,5 €", "12345.5 €"),
        (",", "1\u202f234", "1234"), (",", "1.2.2024", "1.2.2024"), (".", "1'000'000", "1000000"),
        (",", "-,5", "-,5"), (".", "1e5", "1e5"), (".", "+7", "+7"), ("", "1,5", "1,5"), (",", "3,e2", "3.e2"),
    ],
)  # fmt: skip
def test_a_number_is_read_by_its_decimal_mark(decimal: Any, cell: str, expected: str) -> None:
    assert TextFormat(decimal=decimal).normalise_cells([cell]) == [expected]


@given(
    st.text(alphabet="0123456789.,'-+$% \u00a0eE", max_size=12), st.sampled_from(".,"), st.lists(st.text(max_size=3))
)
def test_the_checker_reads_a_cell_alike(cell: str, decimal: Any, na_values: list[str]) -> None:
    cell = cell.strip()
    try:
        (ours,) = TextFormat(tuple(na_values), decimal).normalise_cells([cell])
    except DataError:
        return
    assert checker.normalise_cell(cell, {"na": na_values, "decimal": decimal}) == ours


def test_the_point_of_a_decimal_comma_is_refused_and_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x;y\n1,5;0\n2.5;1\n")
    with pytest.raises(DataError, match=r"t.csv, line 3, column 'x': '2.5' has a decimal point.*--decimal ,"):
        read_table(str(path), target="y", text_format=TextFormat(decimal=","))


def test_a_column_with_one_unit_is_numbers_and_other_rows_need_it_too() -> None:
    table = table_of(["38%", "7 %", "-2%", None] * 5, missing="median")
    assert table.column_summaries[0].kind == "number in %"
    assert table.X[:3, 0].tolist() == [38, 7, -2]
    again = Encoding.from_json(table.encoding.to_json())
    other = read_with_encoding(as_frame({"x": ["5%", None]}), again)
    assert other.X[:, 0].tolist() == [5, 7]
    for cells in (["5"], [5.0], ["$5"]):
        with pytest.raises(DataError, match="is not a finite number with %"):
            read_with_encoding(as_frame({"x": cells}), again)


def test_units_are_one_sign_at_one_end() -> None:
    assert find_unit(["$5", "-$7.5", "- $8", "9 $"]) == "$"
    assert strip_unit(["$5", "-$7.5", "9 $", "9"], "$") == ["5", "-7.5", "9", ""]
    for texts in (["$5", "€5"], ["5"], ["a$"], ["$5", "5"], [], ["5$5"], ["1_0%"]):
        assert find_unit(texts) == ""
    assert advise_decimal(["1,5", "2"]).endswith("by --decimal , (decimal=',')")
    assert advise_decimal(["1,200"]).count("--decimal") == 2
    assert advise_decimal(["1,2,3"]) == advise_decimal(["a"]) == ""


def test_one_odd_cell_of_a_few_different_numbers_is_named() -> None:
    cells = [1, 2, 3, 4] * 4 + ["unknown", 1, 2, 3]
    with pytest.raises(DataError, match=r"row 16, column 'x': 'unknown' is not a number, and 19 of 20 .*--na unknown"):
        table_of(cells)
    assert table_of(cells, text_format=TextFormat(("unknown",)), missing="median").names == ("x", "x=(missing)")
    assert len(table_of(cells, keep="x").names) == 5
    assert table_of(["a", "1"] * 10).names == ("x=1", "x=a")  # half of them: categories


def test_missing_values_that_are_numbers_are_found_in_columns_of_numbers() -> None:
    table = qpsvm.Table({"x": [1.0, -999.0, 3.0, 4.0], "y": [0, 1, 0, 1]}, "y", na_values="-999", missing="median")
    assert table.X.tolist() == [[1, 0], [3, 1], [3, 0], [4, 0]]
    assert table.like({"x": [-999, 2]}).X.tolist() == [[3, 1], [2, 0]]


def test_a_frame_mixes_floats_with_texts_that_have_a_decimal_comma() -> None:
    table = table_of([0.5, "1,5", None, "1.000"], text_format=TextFormat(decimal=","), missing="median")
    assert table.X[:, 0].tolist() == [0.5, 1.5, 1.5, 1000]


@pytest.mark.parametrize("charset", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_a_file_in_another_encoding_is_the_same_table(charset: str, tmp_path: Path) -> None:
    text = "city|x|y\n" + "".join(f"{['Köln', 'Łódź'][k % 2]}|{k}|{k % 2}\n" for k in range(8))
    text = text if charset.startswith("utf") else text.replace("Łódź", "Kraków")
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(charset))
    table = qpsvm.Table(str(path), "y", file_encoding=charset)
    assert table.columns[0] == "city=Kraków" if charset in ("latin-1", "cp1252") else "city=Köln"
    assert table.shape == (8, 3)
    np.testing.assert_array_equal(table.like(str(path)).X, table.X)


def test_an_encoding_that_is_wrong_or_unknown_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("x,y\nä,1\nb,0\n".encode("latin-1"))
    for charset in ("ascii", "base64"):
        with pytest.raises(FileFormatError, match=f"is not text in {charset}"):
            read_table(str(path), target="y", text_format=TextFormat(charset=charset))
    with pytest.raises(FileFormatError, match="line 2 is not UTF-8 text; name its encoding"):
        read_table(str(path), target="y")
    with pytest.raises(ParameterError, match="no character encoding 'latin-99'"):
        TextFormat(charset="latin-99")
    with pytest.raises(ParameterError, match="a decimal mark is"):
        qpsvm.Table({"x": [1], "y": [1]}, "y", decimal=";")  # type: ignore[arg-type]
