"""Tables and solvers of one's own: measured and scored like the known ones, and what is wrong with them is said."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tqdm", reason="the benchmarks need the extra bench")
pytest.importorskip("resource", reason="the benchmarks weigh memory as Unix does")

from benchmarks import cli, lines
from benchmarks.chosen import add_choice, choose_suites
from benchmarks.details import build_seconds_table
from benchmarks.report import write_report
from benchmarks.run import iter_pairs, run_pairs
from benchmarks.solvers import ENTRANTS

ROWS = 40
HEAD = """
from benchmarks.solvers import *
import numpy as np, qpsvm

class Mine(Entrant):
    name = "mine"
    tolerances = (1e-3, 1e-6)

    def accepts(self, task):
        return task.variant in ("c", "epsilon-svr") and task.kernel == "rbf"
"""
POINT = """
    def point(self, data, answer):
        return Point(alpha=answer)
"""
HONEST = """
    def run(self, data, rung):
        alpha = qpsvm.solve(data.build_problem(), "cvxopt", tol=rung.tol).alpha
        return alpha, Said("done", claimed=True, seconds=1e-12)
"""
#: What a solver may do, and how the line ends that says so.
BAD = {
    "raises": ('raise ValueError("not today")', "error: ValueError: not today"),
    "nothing": ('return None, Said("done", claimed=True)', "done"),
    "no word": ("return np.zeros(len(data.y))", "error: "),
    "another shape": ('return np.zeros(3), Said("done", claimed=True)', "error: DataError: alpha must be 39 finite"),
    "not finite": ('return np.full(len(data.y), np.nan), Said("done", True)', "error: DataError: alpha"),
    "text": ('return "optimal", Said("done", claimed=True)', "error: "),
    "far": ('return np.full(len(data.y), 0.5), Said("done", claimed=True)', "done"),
    "spoils": ('data.X[:] = 0; data.y[:] = 1; return np.ones(len(data.y)), Said("done", claimed=True)', "done"),
    "crashes": ("import os; os._exit(3)", "crash: the process ended with 3"),
}


@pytest.fixture(autouse=True)
def _nothing_stays():
    yield
    for name in [name for name, entrant in ENTRANTS.items() if entrant.origin is not None]:
        del ENTRANTS[name]


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """A CSV file with a column of text, two labels, three labels, a number, and one cell that is missing."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("tables") / "mine.csv"
    rows = ["colour,size,price,kind,sort"]
    for i in range(ROWS):
        size = rng.normal() + (i % 2)
        price = "NA" if i == 7 else f"{3 * size + rng.normal():.4f}"
        rows.append(f"{'red' if i % 3 else 'blue'},{size:.4f},{price},{'yes' if i % 2 else 'no'},{'abc'[i % 3]}")
    path.write_text("\n".join(rows) + "\n")
    return path


def choice(*words: object):
    """The suites of a command line."""
    parser = argparse.ArgumentParser()
    add_choice(parser)
    return choose_suites(parser.parse_args([str(word) for word in words]))


def measure(path: Path, *words: object) -> list[dict]:
    run_pairs(list(iter_pairs(choice(*words))), path, "fork")
    return lines.read_runs([path])


def solver(folder: Path, body: str, head: str = HEAD) -> Path:
    path = folder / "my_solver.py"
    path.write_text(head + body)
    return path


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_table_is_measured_scored_and_reported(table, tmp_path):
    given = ("--table", table, "--target", "kind", "--drop-missing", "--kernel", "rbf", "-C", 2, "-C", 30)
    found = measure(tmp_path / "lines.jsonl", *given, "--solver", "qpsvm", "--solver", "SVC", "--seconds", 5)
    assert {line["suite"] for line in found} == {"own"}
    assert {line["facts"]["C"] for line in found} == {2.0, 30.0}
    assert {line["facts"]["data"] for line in found} == {"mine.csv"}
    assert {(line["facts"]["n"], line["facts"]["d"]) for line in found} == {(ROWS - 1, 7)}
    assert {line["solver"] for line in found} == {"qpsvm", "SVC"}
    assert min(line["gap"] for line in found if line["solver"] == "qpsvm") <= 1e-9
    page = write_report(found, lines.read_machines([tmp_path / "lines.jsonl"]), tmp_path / "report").read_text()
    assert "## Your own tables" in page
    assert "C = 30" in page


def test_machines_and_targets_of_a_table(table):
    given = ("--table", table, "--drop-missing")
    (suite,) = choice(*given, "--target", "price", "--variant", "epsilon-svr", "--standardise")
    X, y = suite.tasks[0].source.load()
    assert (y.mean(), y.std()) == pytest.approx((0.0, 1.0))
    assert X.std(axis=0) == pytest.approx(1.0)
    assert [task.kernel for task in suite.tasks] == ["linear", "rbf"]
    (suite,) = choice(*given, "--target", "sort", "--positive", "b", "--variant", "nu", "--nu", 0.2)
    _, y = suite.tasks[0].source.load()
    assert set(y) == {-1.0, 1.0}
    assert np.sum(y > 0) == sum("abc"[i % 3] == "b" for i in range(ROWS) if i != 7)
    (suite,) = choice(*given, "--variant", "one-class", "-C", 1, "-C", 2, "--kernel", "rbf")
    assert len(suite.tasks) == 1
    (suite,) = choice(*given, "--target", "kind", "--intercept", "penalised", "--kernel", "linear")
    assert (suite.tasks[0].variant, suite.tasks[0].intercept) == ("hinge", "penalised")
    assert "piqp" in suite.iter_solvers(suite.tasks[0])  # which is not asked for a twin in the suites of this folder
    others = (("--target", "kind"), ("--target", "kind", "--standardise"), ("--target", "sort", "--positive", "a"))
    names = {choice(*given, *more)[0].tasks[0].name for more in others}
    assert len(names) == 3  # a record of one is not taken for another


def test_a_libsvm_file_is_a_table(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"{i % 2} 1:{i} 3:{i * i % 7}\n" for i in range(20)))
    (suite,) = choice("--table", path, "--kernel", "linear")
    X, y = suite.tasks[0].source.load()
    assert (X.shape, set(y)) == ((20, 3), {-1.0, 1.0})


@pytest.mark.parametrize(("words", "said"), [
    (["--target", "kinds"], "no column 'kinds'; did you mean 'kind'"), ([], "name the column of labels by --target"),
    (["--target", "kind"], r"line 9, column 'price' is missing .*--drop-missing"),
    (["--target", "sort", "--drop-missing"], r"has 3 labels \(a, b, c\).*--positive LABEL"),
    (["--target", "sort", "--drop-missing", "--positive", "d"], "has no label 'd'"),
    (["--target", "kind", "--drop-missing", "--variant", "nu-svr"], "not a number"),
    (["--target", "kind", "--suite", "rbf"], "--suite names suites of this folder"),
    (["--target", "kind", "--drop-missing", "--seconds", "0"], "--seconds must be positive"),
])  # fmt: skip
def test_what_is_wrong_with_a_table_is_said(table, words, said):
    with pytest.raises(SystemExit, match=f"(?s){said}"):
        cli.main(["--table", str(table), *words])


@pytest.mark.parametrize(("words", "said"), [
    (["--suite", "linear", "--data", "nowhere"], ["linear: none of its files is in", "nowhere: australian, german"]),
    (["--suite", "linear", "--data", "nowhere"], ["--table FILE --target COLUMN", "--data DIR", "--quick"]),
    (["--suite", "osqp", "--task", "heart"], ["no task is called 'heart'", "list"]),
    (["--suite", "osqp", "--quick", "--solver", "NuSVC"], ["no solver of NuSVC is in osqp"]),
])  # fmt: skip
def test_nothing_to_measure_says_why_and_what_to_pass(words, said, capsys):
    assert cli.main(words) == 1
    told = capsys.readouterr().err
    assert told.startswith("nothing to measure:")
    assert [part for part in said if part not in told] == []


def test_options_of_tables_want_a_table():
    with pytest.raises(SystemExit, match="--target is for a table of your own, --table FILE"):
        cli.main(["--target", "kind"])


# --- solvers ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_solver_of_ten_lines_is_measured_beside_the_others_by_our_clock(table, tmp_path):
    given = ("--table", table, "--target", "kind", "--drop-missing")
    words = (*given, "--solver", f"{solver(tmp_path, HONEST + POINT)}:Mine", "--solver", "qpsvm")
    found = measure(tmp_path / "lines.jsonl", *words)
    mine = [line for line in found if line["solver"] == "mine"]
    assert {line["facts"]["kernel"] for line in mine} == {"rbf"}
    assert {line["facts"]["kernel"] for line in found} == {"rbf", "linear"}
    assert min(line["gap"] for line in mine) <= 1e-6
    assert all(line["seconds"] > 1e-6 for line in mine)  # it says that it took 1e-12 s
    again = measure(tmp_path / "lines.jsonl", *words)  # it may have been changed: it is measured anew, the others not
    assert [line for line in again if line["solver"] == "qpsvm"] == [
        line for line in found if line["solver"] == "qpsvm"
    ]
    begun = [line for line in lines.read_lines([tmp_path / "lines.jsonl"]) if line["kind"] == "begin"]
    assert sorted(line["solver"] for line in begun) == ["mine", "mine", "qpsvm", "qpsvm"]
    assert "mine" not in [name for suite in choice("--quick") for name in suite.solvers]
    inside = choice("--quick", "--solver", "mine")
    assert {suite.name for suite in inside if "mine" in suite.solvers} >= {"rbf", "linear", "variants"}
    assert not [pair for pair in iter_pairs(inside) if pair.plan.task.grid]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("what", BAD)
def test_a_solver_that_fails_is_recorded_as_that_and_never_trusted(table, tmp_path, what):
    body, ended = BAD[what]
    path = solver(tmp_path, f"\n    def run(self, data, rung):\n        {body}\n{POINT}")
    given = ("--table", table, "--target", "kind", "--drop-missing", "--kernel", "rbf")
    found = measure(tmp_path / "lines.jsonl", *given, "--solver", path)
    assert found
    for line in found:
        assert line["gap"] is None or line["gap"] > 0.1
        assert line["outcome"] == "ran" or not line["claimed"]
    shown = build_seconds_table(found)
    assert ended in shown
    row = shown.splitlines()[2].split("|")
    assert [cell.strip() for cell in row[3:5]] == ["–", "–"]
    assert not row[6].strip().startswith(tuple("123456789"))  # no claim is true


@pytest.mark.parametrize(("text", "word", "said"), [
    ("", "my_solver.py", "has none; a subclass of benchmarks.solvers.Entrant is wanted"),
    (HEAD, "my_solver.py:Mine", "Mine in .*my_solver.py lacks point, run: benchmarks/solvers/own.py shows"),
    (HEAD + HONEST, "my_solver.py", "lacks point:"),
    (HEAD.replace('    name = "mine"\n', "") + HONEST + POINT, "my_solver.py", "lacks name:"),
    (HEAD.replace('"mine"', '"SVC"') + HONEST + POINT, "my_solver.py", "is called 'SVC', as another solver is"),
    (HEAD.replace('"mine"', '"torchkm"') + HONEST + POINT, "my_solver.py", "is called 'torchkm', as another"),
    (HEAD + HONEST + POINT, "my_solver.py:Mein", "has no class 'Mein'; did you mean 'Mine'"),
    (HEAD + HONEST + POINT + "class Other(Mine):\n    pass\n", "my_solver.py", "has several, Mine, Other: name one"),
    ("Mine = 3", "my_solver.py:Mine", "is no subclass of benchmarks.solvers.Entrant"),
    ("", "absent.py", "absent.py does not exist; a solver of one's own is MODULE:CLASS"),
    ("", "absent.module:Mine", "there is no module 'absent.module'"),
    ("", "piqpp", "unknown solver 'piqpp'; did you mean 'piqp'.*or your own, MODULE:CLASS"),
    ("", "qpsvm:cvxpot", "did you mean 'qpsvm:cvxopt'"),
])  # fmt: skip
def test_what_is_no_solver_is_refused_before_anything_is_measured(tmp_path, monkeypatch, text, word, said):
    (tmp_path / "my_solver.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=f"(?s){said}"):
        cli.main(["--quick", "--solver", word])


def test_a_module_that_misses_something_says_what(tmp_path, monkeypatch):
    (tmp_path / "lonely.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        choice("--solver", "lonely:Mine")


def test_a_class_in_a_module_is_found(tmp_path, monkeypatch):
    (tmp_path / "my_module.py").write_text(HEAD + HONEST + POINT)
    monkeypatch.chdir(tmp_path)
    assert [suite.solvers for suite in choice("--quick", "--suite", "rbf", "--solver", "my_module:Mine")] == [("mine",)]
    assert ENTRANTS["mine"].version() == "?"
