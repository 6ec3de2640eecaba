"""The table of a result's conditions: a structured array to index, and a table to read."""

from __future__ import annotations

import numpy as np
import pytest
from cells import Cells

import qpsvm
from qpsvm.result.kkt_table import MAX_ROWS, ROWS_AT_EACH_END, KKTTable

X, Y = np.array([[0.0], [1.0], [3.0], [4.0], [0.5]]), [0, 0, 1, 1, 1]


def table() -> KKTTable:
    return qpsvm.solve(qpsvm.CSVM(X, Y)).kkt


def make_table(n: int, **columns: np.ndarray) -> KKTTable:
    rows = np.zeros(n, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        rows[name] = column
    return KKTTable(rows)


def test_it_indexes_like_the_structured_array_in_it():
    kkt = table()
    rows = np.asarray(kkt)
    assert rows.dtype.names == kkt.dtype.names == ("alpha", "xi", "eta", "yf", "gap", "residual", "kind")
    assert len(kkt) == 5
    assert kkt.shape == rows.shape
    for name in rows.dtype.names:
        np.testing.assert_array_equal(kkt[name], rows[name])
    assert kkt[1] == rows[1]
    assert kkt[-1]["kind"] == "violator"
    assert [row["alpha"] for row in kkt] == rows["alpha"].tolist()
    assert (kkt == rows).all()
    np.testing.assert_array_equal(np.sort(kkt, order="alpha"), np.sort(rows, order="alpha"))
    with pytest.raises(ValueError, match="no field"):
        kkt["lambda"]


def test_some_rows_keep_their_numbers():
    kkt = table()
    worst = kkt[kkt["kind"] == "violator"]
    assert isinstance(worst, KKTTable)
    assert [line.split()[0] for line in str(worst).splitlines()[1:-1]] == ["1", "4"]
    assert [line.split()[0] for line in str(kkt[3:]).splitlines()[1:-1]] == ["3", "4"]
    assert kkt[["alpha", "kind"]].dtype.names == ("alpha", "kind")


def test_it_prints_aligned_columns():
    head, *lines, worst = str(table()).splitlines()
    assert head.split() == list(table().dtype.names)
    for name in ("alpha", "yf", "residual"):  # each number ends where its column's name does
        end = head.index(f" {name}") + 1 + len(name)
        assert all(line[end] == " " and line[end - 1] != " " for line in lines)
    assert "(" not in str(table())
    assert worst == f"largest residual {table()['residual'].max():.4g}, row {table()['residual'].argmax()}"
    assert repr(table()) == str(table())


def test_a_long_one_prints_its_ends_and_names_its_worst_row():
    n = MAX_ROWS + 100
    residual = np.zeros(n)
    residual[60] = 0.25
    text = str(make_table(n, alpha=np.arange(n) / 7, residual=residual, kind=np.full(n, "inside")))
    assert len(text.splitlines()) == 1 + 2 * ROWS_AT_EACH_END + 2
    assert f"{n - 2 * ROWS_AT_EACH_END} more rows" in text
    assert text.splitlines()[-1] == "largest residual 0.25, row 60"
    assert len(str(make_table(MAX_ROWS, alpha=np.arange(MAX_ROWS))).splitlines()) == 1 + MAX_ROWS


def test_other_columns_and_no_rows():
    """Columns and words are the array's; without residuals no row is the worst."""
    text = str(make_table(2, price=np.array([1.0, np.inf]), kind=np.array(["inside the tube", "beyond"])))
    assert text.splitlines() == ["   price  kind", "0      1  inside the tube", "1    inf  beyond"]
    assert str(make_table(0, residual=np.zeros(0))).split() == ["residual"]
    assert "row 1" in str(make_table(2, residual=np.array([0.0, np.nan])))
    assert "every residual is 0" in str(make_table(2, residual=np.zeros(2)))


def test_the_page_has_the_same_cells_and_is_plain():
    kkt = table()
    page = kkt._repr_html_()
    rows = Cells(page).rows
    assert rows == [["", *kkt.dtype.names], *[line.split() for line in str(kkt).splitlines()[1:-1]]]
    assert not any(word in page for word in ("<script", "color", "background", "href", "src"))
    odd = make_table(1, kind=np.array(["<b>&"]))._repr_html_()
    assert "<b>" not in odd
    assert "&lt;b&gt;&amp;" in odd
