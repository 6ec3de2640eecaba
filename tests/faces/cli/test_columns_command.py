"""A raw table in the shell: columns explained, missing values, predictions for every row, proofs, lists of options."""

from __future__ import annotations

import copy
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run, succeed
from customers import N, customers
from each import for_each
from sealing import sealed

import qpsvm
from qpsvm.bounds.proof import checker
from qpsvm.data.files import as_frame, read_table
from qpsvm.data.files.dates import DATE_ORDERS, parse_day
from qpsvm.faces.cli import main
from qpsvm.faces.cli.data import Dataset
from qpsvm.faces.cli.lists import expand_lists
from qpsvm.faces.cli.parser import make_parser
from qpsvm.faces.cli.splits import draw_held_out, split_dataset

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same customers as CSV, Parquet and Feather."""
    frame = pandas.DataFrame(customers())
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.feather")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SOLVE = ["--target", "churned", "--missing", "median", "--date", "signup", "--standardise"]


@pytest.mark.usefixtures("folder")
def test_columns_are_explained_and_every_format_has_the_same_answers(capsys):
    written = []
    for ending, how in (("csv", ["--probability", "--bounds", "--save", "m.npz"]), ("parquet", []), ("feather", [])):
        out = succeed(capsys, "solve", f"rows.{ending}", *SOLVE, "--C", "0.3", *how)
        assert re.search(r"^  customer_id +identifier +left out \(--keep customer_id to use it\)$", out, re.MULTILINE)
        assert re.search(r"^  signup +date +signup.year, signup.month, signup.weekday, signup.days$", out, re.MULTILINE)
        assert re.search(r"^  city +category of 52 +3 features; 50 categories below 1% join", out, re.MULTILINE)
        asked = ("--id", "customer_id", "--probability", "--bounds", "--output", "-")
        code, out, err = run(capsys, "predict", "m.npz", f"rows.{ending}", *asked)
        assert code == 0
        assert err.startswith(f"{N} predictions, accuracy ")
        written.append(out)
    assert written[0] == written[1] == written[2]
    assert written[0].startswith("customer_id,label,decision,probability,lower,upper,proven\n")
    assert written[0].count("\n") == N + 1


@pytest.mark.usefixtures("folder")
def test_a_column_that_tells_nothing_and_a_target_of_one_label_are_said(capsys, tmp_path):
    (tmp_path / "flat.csv").write_text("a,b,c,d,y\n" + "".join(f"{k},7,new,3,{'yn'[k % 2]}\n" for k in range(8)))
    assert main(["solve", "flat.csv", "--target", "y"]) == 0
    told = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert told["a"].endswith("1 feature")
    assert all(told[name].endswith("1 feature, the same in every row") for name in "bcd")
    for command in (["solve"], ["cross-validate", "--C", "1,10"], ["compare"]):
        assert main([*command, "flat.csv", "--target", "c"]) == 2
        error = capsys.readouterr().err
        assert "the single label new in 8 rows" in error
        assert "--variant one-class" in error


def test_a_number_that_no_double_is_equal_to_is_refused_with_the_way_to_leave_it_out(capsys, tmp_path):
    frame = pandas.DataFrame({"a": range(8), "post": [2**60 + 1 + k for k in range(8)], "y": list("yn" * 4)})
    frame.to_csv(tmp_path / "posts.csv", index=False)
    frame.to_parquet(tmp_path / "posts.parquet")
    for name in ("posts.csv", "posts.parquet"):
        code, _, error = run(capsys, "solve", tmp_path / name, "--target", "y")
        assert code == 2
        assert f"{2**60 + 1}" in error
        assert "--drop 'post'" in error
        succeed(capsys, "solve", tmp_path / name, "--target", "y", "--drop", "post")


@pytest.mark.usefixtures("folder")
def test_no_row_is_dropped_where_a_value_cannot_be_filled_in(capsys):
    succeed(capsys, "solve", "rows.csv", "--target", "churned", "--drop-missing", "--save", "m.npz")
    rows = customers()
    holes = [row for row in range(N) if rows["age"][row] is None or rows["plan"][row] is None]
    for ending in ("csv", "parquet", "feather"):
        code, out, err = run(capsys, "predict", "m.npz", f"rows.{ending}")
        assert (code, len(out.splitlines())) == (0, N)
        assert [row for row, line in enumerate(out.splitlines()) if line == "NA"] == holes
        assert f"{len(holes)} rows with missing values answered NA" in err
        numbered = run(capsys, "predict", "m.npz", f"rows.{ending}", "--id", "row")[1].splitlines()
        assert numbered == [f"{row},{line}" for row, line in enumerate(out.splitlines())]
        left = run(capsys, "predict", "m.npz", f"rows.{ending}", "--drop-missing", "--output", "-")[1].splitlines()
        assert left[0] == "row,label,decision"
        assert [int(line.split(",")[0]) for line in left[1:]] == [row for row in range(N) if row not in holes]


@pytest.mark.usefixtures("folder")
def test_numbers_with_holes_are_answered_whatever_they_are_in(capsys, tmp_path):
    pandas.DataFrame({"x": [1.0, 2, 3, 4], "y": [0, 0, 1, 1]}).to_parquet("all.parquet")
    pandas.DataFrame({"x": [1.0, None, 4]}).to_parquet("some.parquet")
    succeed(capsys, "solve", "all.parquet", "--target", "y", "--C", "9", "--save", "m.npz")
    assert run(capsys, "predict", "m.npz", "some.parquet")[1].split() == ["0", "NA", "1"]
    np.save("all.npy", np.array([[1.0, 0], [2, 0], [3, 1], [4, 1]]))
    np.save("some.npy", np.array([[1.0], [np.nan], [4]]))
    succeed(capsys, "solve", "all.npy", "--target", "1", "--C", "9", "--save", "n.npz")
    assert run(capsys, "predict", "n.npz", "some.npy")[1].split() == ["0", "NA", "1"]
    (tmp_path / "all.libsvm").write_text("0 1:1\n0 1:2\n1 1:3\n1 1:4\n")
    (tmp_path / "some.libsvm").write_text("0 1:1\n0 1:nan\n1 1:4\n")
    succeed(capsys, "solve", "all.libsvm", "--C", "9", "--save", "l.npz")
    assert run(capsys, "predict", "l.npz", "some.libsvm")[1].split() == ["0", "NA", "1"]
    (tmp_path / "none.csv").write_text("x\n\nNA\n?\n")
    assert run(capsys, "predict", "m.npz", "none.csv")[1].split() == ["NA", "NA"]


@pytest.mark.usefixtures("folder")
def test_unknown_categories_and_names_of_rows_are_said(capsys):
    succeed(capsys, "solve", "rows.csv", *SOLVE, "--save", "m.npz")
    new = {name: values[:5] for name, values in customers().items() if name != "churned"}
    pandas.DataFrame({**new, "plan": ["gold", "pro", "gold", "tin", "basic"]}).to_csv("new.csv", index=False)
    code, out, err = run(capsys, "predict", "m.npz", "new.csv")
    assert (code, len(out.split())) == (0, 5)
    said = "note: column 'plan' has categories that are not in the training rows, in 3 rows, first new.csv, line 2: "
    assert f"{said}'gold', 'tin'; they count as none of the known ones" in err
    Path("named.csv").write_text(Path("new.csv").read_text().replace("comment", "row"))
    named = run(capsys, "predict", "m.npz", "named.csv", "--id", "row", "--output", "-")[1].splitlines()
    assert named[1].startswith(new["comment"][0] + ",")
    assert "did you mean 'customer_id'" in run(capsys, "predict", "m.npz", "new.csv", "--id", "customer")[2]
    assert "--id needs columns in memory" in run(capsys, "predict", "m.npz", "new.csv", "--stream", "--id", "plan")[2]
    assert "features from a date in column 'signup'" in run(capsys, "predict", "m.npz", "new.csv", "--stream")[2]


# Nothing is learnt of rows that are held out


def test_what_is_learnt_is_learnt_of_the_rows_that_train():
    """As if the rows that train were all there is: medians, categories, first days, means."""
    rows = customers()
    rows["age"] = [None if age is None else age * 100.0 if row % 4 == 0 else age for row, age in enumerate(rows["age"])]
    how = {"target": "churned", "missing": "median", "date": ["signup"]}
    table = read_table(as_frame(rows), raw=True, **how)
    sample = Dataset(table, table.y)
    split = draw_held_out(sample, 0.25, 0)
    options = make_parser().parse_args(["solve", "x.csv", "--target", "churned", "--standardise"])
    train, test = split_dataset(sample, split, options)
    alone = {name: [values[row] for row in split.train] for name, values in rows.items()}
    expected = qpsvm.Table(alone, standardise=True, **how)
    assert train.table.encoding.to_json() == expected.encoding.to_json()
    np.testing.assert_array_equal(train.table.X, expected.X)
    others = {name: [values[row] for row in split.test] for name, values in rows.items()}
    np.testing.assert_array_equal(test.table.X, expected.like(others).X)
    assert expected.encoding.to_json() != qpsvm.Table(rows, standardise=True, **how).encoding.to_json()


def test_how_a_column_is_read_is_told_by_the_whole_table():
    """Not by the rows that train, in which an order of day and month may be open, or a text look like numbers."""
    dates = ["13/2/2020", *(f"{k % 9 + 1}/{k % 7 + 1}/2021" for k in range(39))]
    rows = {"d": dates, "code": ["x", *("12"[k % 2] for k in range(39))], "v": [0.5] * 40, "y": [0, 1] * 20}
    table = read_table(as_frame(rows), target="y", date=["d"], keep=["code"], raw=True)
    train, test = table.encode_split(np.arange(1, 40), np.array([0]))
    made = {column.name: column for column in train.encoding.columns}
    assert (made["d"].date, made["code"].categories) == ("dmy", ("1", "2"))
    assert test.X[0, :3].tolist() == [2020, 2, 3]
    assert test.X[0, train.names.index("code=1") :].tolist() == [0, 0, 0.5]


@pytest.mark.usefixtures("folder")
def test_a_table_past_memory_is_predicted_in_batches(capsys, monkeypatch):
    def read(text):
        rows = [line.split(",") for line in text.splitlines()[1:]]
        return [row[0] for row in rows], np.array([np.nan if row[-1] == "NA" else float(row[-1]) for row in rows])

    for machine in (SOLVE, ["--target", "visits", "--variant", "ranking", "--groups", "plan", "--drop-missing"]):
        succeed(capsys, "solve", "rows.parquet", *machine, "--save", "m.npz")
        ask = ("predict", "m.npz", "rows.parquet", "--id", "customer_id", "--output", "-")
        names, values = read(run(capsys, *ask)[1])
        with monkeypatch.context() as small:
            small.setattr("qpsvm.faces.cli.data_files.LARGE_MAP", 10)
            small.setattr("qpsvm.data.sources.arrow.BLOCK_NUMBERS", 700)
            code, out, err = run(capsys, *ask)
            assert (code, read(out)[0]) == (0, names)
            np.testing.assert_allclose(read(out)[1], values, atol=1e-9)
            assert ("pairs in order" if "ranking" in machine else "accuracy") in err
            assert "read in blocks" in run(capsys, "solve", "rows.parquet", *SOLVE)[2]


# Proofs


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        ("csv", SOLVE),
        ("csv", ["--target", "churned", "--drop-missing", "--keep", "customer_id"]),
        ("csv", ["--target", "visits", "--variant", "epsilon-svr", "--missing", "most-frequent", "--date", "signup"]),
        ("parquet", SOLVE),
        ("PARQUET", SOLVE),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_proof_reads_the_raw_table_as_it_was_read(capsys, ending, options):
    if ending == "PARQUET":
        Path("rows.parquet").rename("rows.PARQUET")
    out = succeed(capsys, "solve", f"rows.{ending}", *options, "--proof", "p.json")
    if ending == "csv":
        hint = "--data rows.csv"
    else:
        hint = "--data DATA, with DATA the same table in one CSV file"
    assert hint in out
    code, out, err = run(capsys, "verify", "p.json", "--data", "rows.csv")
    assert (code, err) == (0, ""), out
    assert out.splitlines()[-1].endswith("every claim is confirmed, in exact arithmetic")
    pandas.read_csv("rows.csv").assign(age=41).to_csv("rows.csv", index=False)
    code, out, _ = run(capsys, "verify", "p.json", "--data", "rows.csv")
    assert code == 1
    assert "REFUTED" in out


@pytest.mark.usefixtures("folder")
def test_a_forged_reading_of_columns_is_not_confirmed(capsys):
    succeed(capsys, "solve", "rows.csv", *SOLVE[:-1], "--proof", "p.json")
    honest = json.loads(Path("p.json").read_text())
    place = {column[0]: k for k, column in enumerate(honest["file"]["columns"])}
    changes = [
        ("age", {"fill": 41.5}, 1), ("age", {"missing": "none"}, 2), ("age", {"fill": "many"}, 2),
        ("age", {"odd": 1}, 2), ("signup", {"origin": 738_002}, 1), ("signup", {"date": "dmy"}, 2),
        ("signup", {"date": None}, 2),
        ("signup", {"origin": 0}, 2), ("signup", {"fill": 1e300}, 2), ("city", {"rare": []}, 2),
        ("city", {"rare": ["Rome"]}, 2), ("plan", {"fill": "gold"}, 2), ("plan", {"fill": "pro"}, 1),
    ]  # fmt: skip
    for name, change, code in changes:
        forged = copy.deepcopy(honest)
        more = forged["file"]["columns"][place[name]][2]
        more.update(change)
        forged["file"]["columns"][place[name]][2] = {key: value for key, value in more.items() if value is not None}
        Path("f.json").write_bytes(sealed(forged))
        assert (name, change, run(capsys, "verify", "f.json", "--data", "rows.csv")[0]) == (name, change, code)


def test_the_checker_reads_dates_as_the_library_does():
    for text in ("2020-02-29", "2021-02-29", "1.2.2021", "1/2/2021 10:00", "13-02-2021", "2-13-2021T9:00 PM",
                 "0000-1-1", "9999/12/31 23:59:59,5Z", "2020-1/2", "20200101", " 2020-01-01", "2020-01-01 ",
                 "\u0662\u0660\u0662\u0660-01-01"):  # fmt: skip
        for order in DATE_ORDERS:
            assert checker.parse_day(text, order) == parse_day(text, order), (text, order)


# Lists


@for_each(
    "given, joined",
    [
        (["--drop", "a", "b", "t.csv"], ["--drop=a", "--drop=b", "t.csv"]),
        (["--drop", "a,b", "--C", "2", "t"], ["--drop=a,b", "--C", "2", "t"]),
        (["t", "--drop", "a", "b"], ["t", "--drop=a", "--drop=b"]),
        (["--drop", "a", "b", "mistyped"], ["--drop=a", "--drop=b", "mistyped"]),
        (["--drop", "a", "b.csv", "--keep", "c"], ["--drop=a", "b.csv", "--keep=c"]),
        (["--drop", "a", "--keep", "c", "d"], ["--drop=a", "--keep=c", "d"]),
        (["--drop", "a", "b", "-"], ["--drop=a", "--drop=b", "-"]),
        (["--drop", "a", "b", "--", "t"], ["--drop=a", "--drop=b", "--", "t"]),
        (["--drop=a", "t"], ["--drop=a", "t"]),
        (["--drop", "t"], ["--drop=t"]),
        (["--class-weight", "a=1,b=2", "-1=3", "t"], [f"--class-weight={x}" for x in ("a=1", "b=2", "-1=3")] + ["t"]),
    ],
)
def test_lists_are_written_out(given, joined):
    assert expand_lists(given, ["--drop", "--keep", "--class-weight"], {"--C": 1}, 1) == joined


@pytest.mark.usefixtures("folder")
def test_lists_say_the_same_in_every_way(capsys):
    Path("comma.csv").write_text('"a,b",a,x,y\n' + "".join(f"{k},{k % 3},{k % 5},{k % 2}\n" for k in range(30)))
    ways = ((["--drop", "a,b", "comma.csv"], 2), (["--drop", "a", "x", "comma.csv"], 1),
            (["comma.csv", "--drop", "a, x"], 1), (["comma.csv", "--drop=a", "--drop", "x"], 1))  # fmt: skip
    for how, count in ways:
        code, out, err = run(capsys, "solve", "--target", "y", *how)
        assert code == 0, err
        assert f"30 rows x {count} features" in out
    for how, words in ((["--drop", "a", "x", "coma.csv"], "coma.csv does not exist"),
                       (["--drop", "a", "x", "coma"], "coma does not exist"),
                       (["comma.csv", "--drop", "a", "z"], "no column 'z'")):  # fmt: skip
        code, _, err = run(capsys, "solve", "--target", "y", *how)
        assert code == 2
        assert words in err
    grids = [run(capsys, "path", "comma.csv", "--target", "y", *how)[1] for how in (
        ["--C", "0.1", "1"], ["--C", "0.1,1"], ["--C", "0.1", "--C", "1"])]  # fmt: skip
    assert [len(re.findall(r"^ *(?:0\.1|1) ", grid, re.MULTILINE)) for grid in grids] == [2, 2, 2]
    steps = [run(capsys, "derive", "c", "--steps", *how)[1] for how in (["CSVM.4", "CSVM.9"], ["CSVM.4,CSVM.9"])]
    assert steps[0] == steps[1]
    assert "leave one of them out" in run(capsys, "solve", "rows.csv", *SOLVE, "--drop-missing")[2]


def test_standard_input_is_explained_and_proven(capsys, folder, monkeypatch):
    content = (folder / "rows.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    out = succeed(capsys, "solve", "-", *SOLVE, "--proof", "p.json")
    assert "identifier" in out
    succeed(capsys, "verify", "p.json", "--data", "rows.csv")


def test_a_table_as_people_write_it_is_solved_predicted_and_proven(capsys, tmp_path, monkeypatch):
    """Decimal commas, a currency, a word for missing values, another character encoding, bars between the cells."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{1000 * k},5 €|{'unknown' if k == 3 else f'{k % 7},25'}|{'Köln' if k % 3 else 'Ulm'}|{'ny'[k % 2]}"
            for k in range(24)]  # fmt: skip
    Path("t.csv").write_bytes("\n".join(["pay|rate|city|y", *rows]).encode("cp1252"))
    how = ("--target", "y", "--encoding", "cp1252")
    assert "line 5, column 'rate'" in run(capsys, "solve", "t.csv", *how, "--decimal", ",")[2]
    how = (*how, "--decimal", ",", "--na", "unknown", "-", "--missing", "median", "--standardise")
    out = succeed(capsys, "solve", *how, "t.csv", "--save", "m.npz", "--proof", "p.json")
    assert "number in €" in out
    assert "1 missing: median" in out
    succeed(capsys, "verify", "p.json", "--data", "t.csv")
    Path("new.csv").write_text("pay;rate;city\n1.500,5€;1,25;Köln\n7 €;keine;Ulm\n")
    assert "'keine' is not a finite number" in run(capsys, "predict", "m.npz", "new.csv")[2]
    code, out, _ = run(capsys, "predict", "m.npz", "new.csv", "--na", "keine")
    assert (code, len(out.split())) == (0, 2)


def test_the_model_is_saved_though_nobody_reads_the_output(tmp_path):
    text = "\n".join(["x,y", *(f"{k},{int(k > 9)}" for k in range(20))])
    (tmp_path / "t.csv").write_text(text)
    command = [sys.executable, "-u", "-m", "qpsvm", "solve", "t.csv", "--target", "y", "--save", "m.npz"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    assert child.stdout is not None
    child.stdout.close()
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, b"")
    assert (tmp_path / "m.npz").exists()


def test_a_picture_is_an_option_and_no_command(capsys):
    assert "--plot is an option of solve" in run(capsys, "plot", "t.csv")[2]
