"""What columns are taken for, what is made of dates, rare categories and missing values, and tables from anywhere."""

from __future__ import annotations

import contextlib
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from customers import N, customers
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

import qpsvm
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, QPSVMError, UnknownOptionError
from qpsvm.data.files import Column, Encoding, as_frame, describe_columns, read_table, read_with_encoding
from qpsvm.data.files.dates import DATE_ORDERS, find_date_orders, parse_day, split_dates
from qpsvm.estimators import SVC, LinearSVC, RankingSVM


def kinds(table: Any) -> dict[str, str]:
    return {each.name: each.kind for each in table.column_summaries}


def test_what_each_column_is_taken_for_and_said_to_be() -> None:
    table = read_table(as_frame(customers()), target="churned", missing="median")
    assert kinds(table) == {
        "customer_id": "identifier", "signup": "date", "age": "number", "visits": "number", "city": "category of 52",
        "plan": "category of 3", "active": "category of 2", "comment": "text", "nothing": "nothing",
        "churned": "target",
    }  # fmt: skip
    used = {column.name for column in table.encoding.columns}
    assert used == {"age", "visits", "city", "plan", "active"}
    said = {line.split()[0]: line for line in describe_columns(table.column_summaries)}
    assert "left out (--keep customer_id to use it)" in said["customer_id"]
    assert "left out (--date signup for year, month, weekday, days)" in said["signup"]
    assert "missing: median" in said["age"]
    assert table.names == tuple(name for column in table.encoding.columns for name in column.names)
    wide = {f"x{j}": [1.0, 2.0] for j in range(40)} | {"y": [0, 1]}
    lines = describe_columns(read_table(as_frame(wide), target="y").column_summaries)
    assert len(lines) == 3
    assert "1 feature each, of 40 columns" in lines[-1]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("customer_id", range(100, 140), "identifier"),
        ("orderNr", range(140, 100, -1), "identifier"),
        ("ID", range(7, 47), "identifier"),
        ("paid", range(100, 140), "number"),
        ("customer_id", [k / 2 for k in range(40)], "number"),
        ("store_id", [k % 5 for k in range(40)], "number"),
        ("first", range(1, 41), "identifier"),
        ("first", range(2, 42), "number"),
        ("tag", [f"r{k}" for k in range(40)], "identifier"),
        ("tag", [f"r{k % 20}" for k in range(40)], "category of 20"),
        ("tag", [f"Anna Muster{k}" for k in range(40)], "identifier"),
        ("tag", [f"this is remark {k}" for k in range(40)], "text"),
        ("when", [f"{k + 1}.{k % 12 + 1}.2020" for k in range(28)] + ["29.2.2020"] * 12, "date"),
        ("when", [f"2020-02-{k % 28 + 1} 10:30" for k in range(40)], "date"),
        ("when", ["2020-02-30"] * 40, "category of 1"),
    ],
)
def test_kinds(name: str, values: Any, kind: str) -> None:
    table = read_table(as_frame({name: list(values), "x": [0.5] * 40, "y": [0, 1] * 20}), target="y")
    assert kinds(table)[name] == kind
    kept = read_table(as_frame({name: list(values), "x": [0.5] * 40, "y": [0, 1] * 20}), target="y", keep=name)
    assert kept.encoding.columns[0].name == name


def test_a_few_misprints_make_no_text_of_numbers() -> None:
    rows = {"x": [*range(50), "5o"], "y": [0, 1, 0] * 17}
    with pytest.raises(
        DataError, match=r"row 50, column 'x': '5o' is not a number.*50 of 51 cells.*--na 5o .*--keep 'x'"
    ):
        read_table(as_frame(rows), target="y")
    assert len(read_table(as_frame(rows), target="y", keep=["x"]).names) == 51


def test_rare_categories_and_fills_are_those_of_scikit_learn() -> None:
    rows = customers()
    table = read_table(as_frame(rows), target="churned", missing="median")
    found = {column.name: column for column in table.encoding.columns}
    cities = np.array(rows["city"], dtype=object)[:, None]
    encoder = OneHotEncoder(min_frequency=0.01, sparse_output=False).fit(cities)
    assert found["city"].rare == tuple(encoder.infrequent_categories_[0])
    first = table.names.index("city=Bonn")
    np.testing.assert_array_equal(table.X[:, first : first + len(found["city"].names)], encoder.transform(cities))
    age = np.array(rows["age"], dtype=float)[:, None]
    expected = SimpleImputer(strategy="median", add_indicator=True).fit_transform(age)
    np.testing.assert_array_equal(table.X[:, [table.names.index("age"), table.names.index("age=(missing)")]], expected)
    frequent = read_table(as_frame(rows), target="churned", missing="most-frequent")
    expected = SimpleImputer(strategy="most_frequent").fit_transform(age)
    np.testing.assert_array_equal(frequent.X[:, [frequent.names.index("age")]], expected)


def test_what_is_filled_in_and_what_is_left_out() -> None:
    rows = customers()
    complete = [a is not None and p is not None for a, p in zip(rows["age"], rows["plan"], strict=True)]
    dropped = read_table(as_frame(rows), target="churned", missing="drop")
    assert (dropped.X.shape[0], dropped.dropped) == (sum(complete), N - sum(complete))
    with pytest.raises(DataError, match=r"is missing.*--missing median.*--drop-missing"):
        read_table(as_frame(rows), target="churned")
    rows["churned"][5] = None
    filled = read_table(as_frame(rows), target="churned", missing="median")
    assert (filled.X.shape[0], filled.dropped) == (N - 1, 1)  # a target is not filled in
    assert len(filled.y) == N - 1  # type: ignore[arg-type]


# Dates


@pytest.mark.parametrize("order", DATE_ORDERS)
@pytest.mark.parametrize("mark", "-/.")
def test_dates_are_those_of_python(order: str, mark: str) -> None:
    for day in map(date.fromordinal, (1, 700_000, 737_484, 738_000, 3_652_059)):
        parts = {"y": f"{day.year:04}", "m": str(day.month), "d": f"{day.day:02}"}
        text = mark.join(parts[letter] for letter in order)
        known = None if mark == "." and order == "mdy" else day.toordinal()
        assert parse_day(text, order) == known
        assert parse_day(f"{text}T10:30:59.5+01:00", order) == known
        assert parse_day(f"{text} 9:30 PM", order) == known
        assert parse_day(f"{text} or so", order) is None
    days = np.array([738_000.0, 737_484.0, 738_000.0])
    days_of = [date.fromordinal(int(day)) for day in days]
    expected = [(each.year, each.month, each.weekday(), each.toordinal() - 737_000) for each in days_of]
    np.testing.assert_array_equal(split_dates(days, 737_000), expected)


def test_the_order_of_day_and_month_is_not_guessed() -> None:
    assert find_date_orders(["2020-01-02"]) == ("ymd",)
    assert find_date_orders(["1/2/2020", "13/2/2020"]) == ("dmy",)
    assert find_date_orders(["1/2/2020", "2/13/2020"]) == ("mdy",)
    assert find_date_orders(["1.2.2020"]) == ("dmy",)
    assert find_date_orders(["1/2/2020"]) == ("dmy", "mdy")
    assert (
        find_date_orders(["13/1/2020", "1/13/2020"]) == find_date_orders([]) == find_date_orders(["2021-02-29"]) == ()
    )
    rows = {"d": ["1/2/2020", "3/4/2020"], "x": [1, 2], "y": [0, 1]}
    assert kinds(read_table(as_frame(rows), target="y"))["d"] == "date"
    with pytest.raises(DataError, match=r"row 0, column 'd'.*day or month may be first"):
        read_table(as_frame(rows), target="y", date=["d"])


# Tables in Python


def test_a_table_is_the_same_wherever_it_is(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(customers())
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.feather")
    how: dict[str, Any] = {"target": "churned", "missing": "median", "date": "signup", "standardise": True}
    first = qpsvm.Table(tmp_path / "rows.csv", **how)
    typed = frame.assign(signup=pandas.to_datetime(frame["signup"]), city=frame["city"].astype("category"),
                         visits=frame["visits"].astype("Int64"), plan=frame["plan"].astype("string"))  # fmt: skip
    table = pyarrow.Table.from_pandas(typed)
    others = [frame, typed, table, table.to_batches()[0], customers(), {k: frame[k].to_numpy() for k in frame.columns},
              tmp_path / "rows.parquet", str(tmp_path / "rows.feather")]  # fmt: skip
    with contextlib.suppress(ImportError):
        import polars

        others.append(polars.DataFrame(customers()))
    for given in others:
        other = qpsvm.Table(given, **how)
        assert other.columns == first.columns
        assert other.encoding.to_json() == first.encoding.to_json()
        np.testing.assert_array_equal(other.X, first.X)
        np.testing.assert_array_equal(other.y, first.y)
        np.testing.assert_array_equal(first.like(given).X, first.X)


def test_every_machine_and_estimator_takes_a_table() -> None:
    table = qpsvm.Table(customers(), "churned", missing="median", standardise=True)
    result = qpsvm.solve(qpsvm.CSVM(table))
    same = qpsvm.solve(qpsvm.CSVM(np.asarray(table.X), table.y))
    np.testing.assert_array_equal(result.alpha, same.alpha)
    new = table.like(customers(1))
    np.testing.assert_array_equal(result.predict(new), same.predict(new.X))
    assert result.model.feature_names == tuple(table.columns)
    assert SVC().fit(table).score(table) == SVC().fit(table.X, table.y).score(table.X, table.y)
    np.testing.assert_array_equal(LinearSVC().fit(table).predict(new), LinearSVC().fit(table.X, table.y).predict(new.X))
    assert qpsvm.solve(qpsvm.OneClass(table)).status == "optimal"
    three = qpsvm.Table({"x": [1.0, 2, 3, 4, 5, 6], "k": list("aabbcc"), "y": list("ppqqrr")}, "y")
    assert qpsvm.solve(qpsvm.CrammerSinger(three)).status == "optimal"
    ranked = qpsvm.Table({"x": [1.0, 2, 3, 4], "race": list("aabb"), "y": [1, 2, 2, 1]}, "y", groups="race")
    assert qpsvm.Ranking(ranked).pairs.tolist() == [[1, 0], [2, 3]]
    with pytest.warns(qpsvm.DegenerateWarning, match="RankingSVM: w is 0"):  # the two races contradict each other
        assert RankingSVM().fit(ranked).pairs_.tolist() == [[1, 0], [2, 3]]
    weighed = qpsvm.Table({"x": [1.0, 2, 3], "s": [1, 2, 0], "y": [1.0, 2, 4]}, "y", weights="s")
    assert qpsvm.EpsilonSVR(weighed).sample_weight.tolist() == [1, 2, 0]


def test_a_table_says_what_it_made_and_what_it_does_not_know() -> None:
    table = qpsvm.Table(customers(), "churned", missing="median")
    assert str(table).splitlines()[1].split() == ["column", "type", "encoding"]
    assert repr(table) == f"<Table the table: {N} rows x {table.shape[1]} features>"
    rows = {name: values[:2] for name, values in customers().items() if name != "churned"} | {"plan": ["gold", "pro"]}
    other = table.like(rows)
    assert "column 'plan' has categories not seen in training: 'gold'" in str(other)
    names = [name for name in table.columns if name.startswith("plan=")]
    assert other.X[:, [table.columns.index(name) for name in names]].sum(axis=1).tolist() == [0, 1]
    model = table.with_encoding(qpsvm.solve(qpsvm.CSVM(table)).model)
    assert Encoding.from_json(model.metadata["encoding"]).columns == table.encoding.columns
    with pytest.raises(DataError, match="1 features"):
        table.with_encoding(qpsvm.solve(qpsvm.CSVM([[0.0], [1.0]], [0, 1])).model)


@pytest.mark.parametrize(
    ("rows", "how", "kind", "words"),
    [
        ([[1, 2]], {}, DataTypeError, "a table is a frame of"),
        ({}, {}, DataError, "no columns"),
        ({"x": [], "y": []}, {}, DataError, "no rows"),
        ({"x": [1, 2], "y": [1]}, {}, DataError, "column 'y' has 1 rows"),
        ({"x": 5, "y": [1]}, {}, DataTypeError, "column 'x' is 5, and not a value for each row"),
        ({"x": "ab", "y": [1, 2]}, {}, DataTypeError, "column 'x' is 'ab'"),
        ({"x": [[1], [2]], "y": [1, 2]}, {}, DataTypeError, "column 'x' holds list"),
        ({"x": [1j, 2], "y": [1, 2]}, {}, DataTypeError, "column 'x' holds complex"),
        ({"x": [2**53 + 1, 2], "y": [1, 2]}, {}, DataError, "row 0, column 'x'.*no double"),
        ({"x": [1, float("inf")], "y": [1, 2]}, {}, DataError, "row 1, column 'x': 'inf' is not a finite number"),
        ({"x": [1, None], "y": [1, 2]}, {}, DataError, "row 1, column 'x' is missing"),
        ({"x": ["1,5", "2"], "y": [1, 2]}, {}, DataError, "a decimal comma"),
        ({"x": [None, None], "y": [1, 2]}, {}, DataError, r"no feature column: 'x' \(nothing\)"),
        ({"x": [1, 2], "y": [1, 2]}, {"missing": "mean"}, ParameterError, "did you mean 'median'"),
        ({"x": [1, 2], "y": [1, 2]}, {"keep": "z"}, UnknownOptionError, "keep: the table has no column 'z'"),
        ({"x": [1, 2], "y": [1, 2]}, {"date": "x"}, DataError, "row 0, column 'x': '1' is no date"),
        (
            {"x": [1, 2], "z": [None] * 2, "y": [1, 2]},
            {"keep": "z"},
            DataError,
            "column 'z' has no value in 2",
        ),
        ({"x": [1, 2], "y": [1, 2]}, {"date": "y"}, UnknownOptionError, "it is no feature"),
        ({"x": [1, 2], "y": [1, 2]}, {"date": "x", "keep": "x"}, ParameterError, "both of keep and of date"),
        ({"d": ["2020-1-1", "2020-2-30"], "y": [1, 2]}, {"date": "d"}, DataError, "'2020-2-30' is no date"),
    ],
)
def test_what_is_no_table(rows: Any, how: dict[str, Any], kind: type[QPSVMError], words: str) -> None:
    with pytest.raises(kind, match=words):
        qpsvm.Table(rows, "y", **how)


# What is kept in a model


def test_encodings_survive_json_and_those_of_earlier_versions_are_read() -> None:
    table = read_table(as_frame(customers()), target="churned", missing="median", date=["signup"])
    again = Encoding.from_json(table.encoding.to_json())
    assert again.columns == table.encoding.columns
    np.testing.assert_array_equal(read_with_encoding(as_frame(customers()), again).X, table.X)
    record = json.loads(table.encoding.to_json())
    columns = [{"name": "x", "categories": None}, {"name": "k", "categories": ["a", "b"]}]
    old = Encoding.from_json(json.dumps({**record, "columns": columns, "n_features": 3}))
    assert old.columns == (Column("x"), Column("k", ("a", "b")))
    for change in ({"date": "myd"}, {"date": "ymd", "origin": None}, {"surprise": 1}):
        with pytest.raises(qpsvm.FileFormatError):
            Encoding.from_json(json.dumps({**record, "columns": [{**columns[0], **change}], "n_features": 1}))


def test_rows_that_are_not_complete_stand_beside_the_others() -> None:
    table = read_table(as_frame({"x": [1.0, 2], "d": ["2020-01-01"] * 2, "y": ["a", "b"]}), target="y", date=["d"])
    rows = {"x": [None, 3.0, 4.0], "d": [datetime(2020, 1, 2), datetime(2020, 1, 3, 12), None], "y": ["a", None, "b"]}
    found = read_with_encoding(as_frame({**rows, "no": [7, 8, 9]}), table.encoding, keep_rows=True, name_rows="no")
    assert found.places.tolist() == [1]  # type: ignore[union-attr]
    assert (found.n, found.ids, found.X.tolist()) == (3, ("7", "8", "9"), [[3.0, 2020, 1, 4, 2]])
    assert found.labelled.tolist() == [False]  # type: ignore[union-attr]
    with pytest.raises(DataError, match="row 0, column 'x' is missing"):
        read_with_encoding(as_frame(rows), table.encoding)
    nobody = read_with_encoding(as_frame({"x": [None], "d": [None]}), table.encoding, keep_rows=True)
    assert (nobody.X.shape, nobody.n) == ((0, 5), 1)
