"""The command line as a user sees it: what it prints, what it saves, and how it says no."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from command_line import fail, read_rows, run, succeed
from each import for_each
from full_disk import fill_the_disk

import qpsvm
from qpsvm import backends
from qpsvm.backends import registry
from qpsvm.base.errors import DataError, SolverError, TooLargeError
from qpsvm.data.files import read_table
from qpsvm.faces.cli import main
from qpsvm.faces.cli.terminal import SPELLINGS, require_writable, spell_unencodable
from qpsvm.program.status import Status
from qpsvm.solve.call import solve


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty rows: two numbers, a category, a row id, and a label in words."""
    rng = np.random.default_rng(0)
    lines = ["id,length,weight,site,kind"]
    for i in range(60):
        kind = "cat" if i % 2 else "dog"
        x = rng.standard_normal(2) + (1.5 if i % 2 else -1.5)
        lines.append(f"r{i},{x[0]:.6f},{x[1]:.6f},{'north' if x[0] > 0 else 'south'},{kind}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
def test_derive_prints_every_step_and_writes_the_page(table, tmp_path):
    """To a pipe that has none of its letters."""
    page = tmp_path / "page.html"
    arguments = ["nu", "--data", table, "--target", "kind", "--drop", "id", "--kernel", "rbf", "--html", page]
    done = subprocess.run(
        [sys.executable, "-m", "qpsvm", "derive", *arguments], capture_output=True, text=True, encoding="ascii",
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Strong duality" in done.stdout
    assert "alpha_i" in done.stdout
    assert f"written: {page}" in done.stdout
    residuals = [float(value) for value in re.findall(r"  residual (\d\S*)$", done.stdout, re.MULTILINE)]
    assert len(residuals) >= 13
    assert max(residuals) <= 1e-8
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_derive_without_data_is_in_symbols(capsys, tmp_path):
    out = succeed(capsys, "derive", "epsilon-svr", "--intercept", "penalised", "--kernel", "rbf")
    assert out.splitlines()[0] == "Derivation: ε-SVR, intercept = 'penalised', kernel RBF"
    assert "symbols only" in out
    assert "residual" not in out
    article = tmp_path / "derived.tex"
    out = succeed(capsys, "derive", "c", "--intercept", "none", "--steps", "CSVM.5,CSVM.9", "--latex", article)
    assert "(CSVM.9)  Substitution" in out
    assert "(CSVM.4)" not in out
    assert f"written: {article}" in out
    assert article.read_text(encoding="utf-8").startswith("\\documentclass")


def test_derive_of_what_has_no_optimum_is_status_1(capsys, tmp_path):
    path = tmp_path / "crossed"
    path.write_text("1 1:0 2:0\n1 1:1 2:1\n-1 1:0 2:1\n-1 1:1 2:0\n")
    code, out, _ = run(capsys, "derive", "hard", "--data", path)
    assert code == 1
    assert "NOT OPTIMAL: status infeasible" in out
    assert "(HARD.14)" in out


def test_one_label_against_the_rest(capsys, tmp_path):
    path, model = tmp_path / "three", tmp_path / "model.npz"
    path.write_text("".join(f"{i % 3} 1:{i % 3 + 0.01 * i} 2:{(i % 3) ** 2}\n" for i in range(30)))
    assert "labels 2: 10, not 2: 20" in succeed(capsys, "solve", path, "--positive", "2", "--save", model)
    labels, err = predicted(capsys, model, path)
    assert labels == ["not 2", "not 2", "2"] * 10
    assert "accuracy 1.0000" in err
    succeed(capsys, "solve", path, "--positive", "+2.0")  # numbers count by their value
    assert "0, 1, 2" in fail(capsys, "solve", path, "--positive", "7")
    assert "--positive 0" in fail(capsys, "leave-one-out", path)
    succeed(capsys, "leave-one-out", path, "--positive", "2")
    path.write_text("1 1:0.5\n2 1:1.5\n3 1:2.5\n1 1:0.25\n")  # too few of a class for machines of several
    for command in (["solve", path], ["compare", path], ["play", "--no-browser", "--data", path]):
        assert "--positive 1" in fail(capsys, *command)


SOLVE = ("solve", "{table}", "--target", "kind", "--drop", "id")
WRONG = [
    # what is mistyped, with the nearest that there is
    (["solve", "{table}", "--c", "3"], "'--C'"),
    (["solve", "{table}", "--targ=kind"], "'--target'"),
    (["compare", "{table}", "--format", "cvs"], "'csv'"),
    (["compare", "{table}", "--backend", "osqp,,cvxopt"], "names separated by commas"),
    (["derive", "c", "--daata", "{table}"], "'--data'"),  # before it is missed as required
    (["--versio"], "'--version'"),
    (["backends", "-x"], "no option -x"),
    (["slove", "{table}"], "'solve'"),
    (["solve", "{table}", "more"], "more"),
    (["solve"], "file"),
    (["solve", "{table}", "--C", "many"], "--C"),
    (["solve", "{table}", "--variant", "d"], "--variant"),
    (["solve", "{table}", "--save"], "--save"),
    # what does not exist
    (["solve", "nowhere.csv"], "nowhere.csv"),
    (["solve", "{table}"], "--target"),
    (["solve", "{table}", "--target", "kin"], "'kind'"),
    ([*SOLVE, "--backend", "cvxop"], "'cvxopt'"),
    (["predict", "nowhere.npz", "{table}"], "nowhere.npz"),
    (["predict", "{table}", "{table}"], "not a model"),
    (["derive", "c", "--steps", "CSVM.44"], "did you mean 'CSVM.4'"),
    ([*SOLVE, "--kernel", "rbf", "--gamma", "x"], "gamma"),
    # what the library refuses
    ([*SOLVE, "--C", "-1"], "C must be positive"),
    ([*SOLVE, "--backend", "cvxopt", "--time-limit", "1"], "time_limit"),
    ([*SOLVE, "--save", ""], "--save"),
    ([*SOLVE, "--target", ""], "--target"),
    ([*SOLVE, "--positive", ""], "--positive"),
    # what would have no effect, with what it belongs to
    (["compare", "{table}", "--target", "kind", "--format", "csv", "--verbose"], "leave --verbose or --format out"),
    (["derive", "c", "--proven"], "--proven needs data: add --data FILE, or leave it out"),
    (["derive", "c", "--class-weight", "balanced"], "--class-weight needs data"),
    (["derive", "hard", "--C", "1"], "--C belongs to the variant c"),
    ([*SOLVE, "--nu", "0.3"], "variant nu"),
    ([*SOLVE, "--variant", "nu", "--C", "2"], "variant c"),
    ([*SOLVE, "--variant", "nu", "--intercept", "none"], "variant c, hinge"),
    ([*SOLVE, "--gamma", "1"], "kernel rbf, polynomial or sigmoid"),
    ([*SOLVE, "--gamma", "scale"], "kernel rbf, polynomial or sigmoid"),  # as by default
    ([*SOLVE, "--kernel", "rbf", "--degree", "2"], "kernel polynomial"),
    ([*SOLVE, "--kernel", "rbf", "--psd", "shift"], "--psd is for an indefinite kernel"),
]


@for_each(
    "options",
    [
        ["--variant", "hinge", "--lam", "0.1", "--intercept", "penalised"],
        ["--variant", "nu", "--kernel", "polynomial", "--degree", "2", "--coef0", "1", "--gamma", "auto"],
        ["--kernel", "sigmoid", "--coef0", "-1", "--gamma", "0.1", "--psd", "clip"],
    ],
)
def test_options_that_belong_together_are_taken(capsys, table, options):
    assert "status      optimal" in succeed(capsys, *[part.format(table=table) for part in SOLVE], *options)


def test_compare_warms_up_before_it_takes_times(capsys, table, monkeypatch):
    calls = []

    def recorded(problem, name, form, **options):
        calls.append((name, form, problem.n))
        return solve(problem, name, form, **options)

    monkeypatch.setattr("qpsvm.many.comparison.solve", recorded)
    monkeypatch.setattr(registry, "REGISTRY", {"cvxopt": backends.REGISTRY["cvxopt"]})
    run(capsys, "compare", *[part.format(table=table) for part in SOLVE[1:]])
    assert calls == [(name, form, n) for name in ("cvxopt",) for form in ("dual", "primal") for n in (20, 60)]


def test_compare_names_backends_and_writes_formats(capsys, table):
    arguments = ["compare", *(part.format(table=table) for part in SOLVE[1:]), "--form", "dual"]
    code, out, err = run(capsys, *arguments, "--backend", "osqp,libsvm", "--backend", "auto", "--repeat", "2")
    assert (code, err) == (0, "")
    assert "times are medians of 2" in out
    assert re.findall(r"^(\w+) +dual +optimal ", out, re.MULTILINE) == ["osqp", "libsvm", "auto"]
    limited = succeed(capsys, *arguments, "--backend", "cvxopt", "--time-limit", "60")
    assert "cvxopt: works without time_limit, which it cannot enforce" in limited
    code, out, err = run(capsys, *arguments, "--backend", "osqp", "--format", "csv")
    assert (code, "60 rows" in err) == (0, True), "what is not of the table is not between a program and its CSV"
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["backend"], row["status"], float(row["gap"]) <= 1e-6) == ("osqp", "optimal", True)
    code, out, _ = run(capsys, *arguments, "--backend", "osqp", "--format", "json")
    assert json.loads(out)["rows"][0]["status"] == "optimal"
    code, out, _ = run(capsys, *arguments, "--backend", "osqp", "--format", "latex")
    assert out.startswith("\\begin{tabular}")


# Labels


def predicted(capsys, model, table):
    code, out, err = run(capsys, "predict", model, table)
    assert code == 0
    return out.split("\n")[:-1], err


@for_each("positive", ["cat", "dog"])
def test_positive_keeps_the_names_of_two_labels(capsys, table, tmp_path, positive):
    model, values = tmp_path / "model.npz", tmp_path / "values.csv"
    arguments = [part.format(table=table) for part in SOLVE]
    out = succeed(capsys, *arguments, "--positive", positive, "--save", model)
    assert "cat: 30, dog: 30" in out
    labels, err = predicted(capsys, model, table)
    assert set(labels) == {"cat", "dog"}
    accuracy = out.split("accuracy ")[1].split()[0]
    assert float(accuracy) > 0.9
    assert f"accuracy {accuracy}" in err
    succeed(capsys, "predict", model, table, "--output", values)
    assert {row["label"] for row in read_rows(values) if float(row["decision"]) > 0} == {positive}


def test_labels_with_commas_and_quotes_read_back(capsys, tmp_path):
    path, model, written = tmp_path / "t.csv", tmp_path / "m.npz", tmp_path / "out.csv"
    labels = ['Berlin, "Mitte"', "Köln"]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("x", "y"), *((i, labels[i % 2]) for i in range(20))])
    succeed(capsys, "solve", path, "--target", "y", "--kernel", "rbf", "--gamma", "9", "--save", model)
    succeed(capsys, "predict", model, path, "--output", written)
    table = read_table(written, target="label")
    assert table.y.tolist() == labels * 10
    out = succeed(capsys, "predict", model, path, "--output", "-")
    assert out == written.read_text(encoding="utf-8")


# Standard input, output and error


@for_each("pack", [bytes, gzip.compress])
def test_standard_input(capsys, table, tmp_path, monkeypatch, pack):
    model = tmp_path / "model.npz"

    def piped(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(content))))

    piped(table.read_bytes())
    out = succeed(capsys, "solve", "-", *SOLVE[2:], "--save", model)
    assert "standard input: 60 rows x 4 features" in out
    piped(table.read_bytes())
    succeed(capsys, "predict", model, "-")
    piped(b"1 1:1 2:0\n-1 1:0 2:1\n")
    out = succeed(capsys, "derive", "c", "--data", "-")
    assert "standard input: 2 rows x 2 features" in out
    piped(b"")
    code, _, err = run(capsys, "compare", "-")
    assert (code, err) == (2, "qpsvm: error: standard input is empty\n")


def test_closed_streams(capsys, table, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = run(capsys, "solve", "-")
    assert (code, err) == (2, "qpsvm: error: standard input cannot be read: it is closed\n")
    monkeypatch.setattr("sys.stdout", None)
    assert main([part.format(table=table) for part in SOLVE]) == 0


def test_an_index_is_noted(capsys, tmp_path):
    path = tmp_path / "pandas.csv"
    path.write_text(",x,y\n" + "".join(f"{i},{i * i},{i % 2}\n" for i in range(9)))
    out = succeed(capsys, "solve", path, "--target", "y")
    assert "counts the rows from 0" in out


def encoded(encoding, text):
    """What a stream of that encoding is given for a text."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    with spell_unencodable(stream):
        print(text, end="", file=stream, flush=True)
    assert stream.errors == "strict"
    return stream.buffer.getvalue().decode(encoding)


@for_each(
    "encoding, text, written",
    [
        ("ascii", "ν ≤ 1", "nu <= 1"),
        ("ascii", "½‖w‖² − νρ + Σα_i", "1/2||w||^2 - nu rho + Sum alpha_i"),
        ("ascii", "yᵀα, 2ρ, αx", "y'alpha, 2 rho, alpha x"),
        ("ascii", "½ αᵀQα + ½ Σ δ_i α_i² − ℓᵀα", "1/2 alpha'Q alpha + 1/2 Sum delta_i alpha_i^2 - ell'alpha"),
        ("ascii", "10⁻⁶, 10⁶, θ⁻¹", "10^-6, 10^6, theta^-1"),
        ("ascii", "10⁻\N{COMBINING CIRCUMFLEX ACCENT}", "10^-^"),
        ("ascii", "Größe, 红, \udcff", "Gr\\xf6\\xdfe, \\u7ea2, \\udcff"),
        ("utf-8", "½‖w‖² − νρ, Größe, 红", "½‖w‖² − νρ, Größe, 红"),
        ("latin-1", "½ × ν² ≥ Größe", "½ × nu² >= Größe"),
    ],
)
def test_letters_that_a_stream_cannot_hold(encoding, text, written):
    assert encoded(encoding, text) == written


@pytest.mark.slow
def test_every_letter_that_the_library_prints_is_spelt():
    root = Path(qpsvm.__file__).parent
    for path in root.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                assert {c for c in node.value if ord(c) > 127} <= set(SPELLINGS), (path, node.value)
        if path.parent.name == "machines":  # whose equations a derivation prints
            for text in (node for node in docstrings if isinstance(node, ast.Constant)):
                lines = "".join(re.findall(r"^ +\([A-Z]+\.\d+\)  .*$", getattr(text, "value", ""), flags=re.MULTILINE))
                assert {c for c in lines if ord(c) > 127} <= set(SPELLINGS), path


def raising(error):
    """A function that takes anything and raises."""
    return Mock(side_effect=error)


@for_each(
    "when", ["qpsvm.faces.cli.commands.solve.solve", "qpsvm.faces.cli.data.read_table", "qpsvm.faces.cli.make_parser"]
)
def test_the_interrupt_key_ends_with_its_code_and_a_sentence(capsys, table, monkeypatch, when):
    monkeypatch.setattr(when, raising(KeyboardInterrupt()))
    code, _, err = run(capsys, *[part.format(table=table) for part in SOLVE])
    assert (code, err) == (130, "qpsvm: interrupted by Ctrl-C before the command ended\n")


def test_an_interrupted_result_is_printed_and_has_the_code_of_an_interrupt(capsys, table, monkeypatch):
    def interrupted(*arguments, **options):
        return replace(solve(*arguments, **options), status=Status.INTERRUPTED)

    monkeypatch.setattr("qpsvm.faces.cli.commands.solve.solve", interrupted)
    code, out, _ = run(capsys, *[part.format(table=table) for part in SOLVE])
    assert code == 130
    assert "interrupted" in out
    monkeypatch.setattr("qpsvm.many.comparison.solve", interrupted)
    code, _, err = run(capsys, "compare", *[part.format(table=table) for part in SOLVE[1:]])
    assert code == 130
    assert len(err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes as on Unix")
def test_a_reader_that_goes_away_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([sys.executable, "-m", "qpsvm", "backends"], stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@for_each("raised, code", [(MemoryError(), 1), (TooLargeError("too large"), 1), (SolverError("broke down"), 1),
                         (DataError("wrong"), 2)],
)  # fmt: skip
def test_what_is_raised_decides_on_the_code(capsys, table, monkeypatch, raised, code):
    monkeypatch.setattr("qpsvm.faces.cli.commands.solve.solve", raising(raised))
    found, _, err = run(capsys, *[part.format(table=table) for part in SOLVE])
    assert found == code
    assert len(err.splitlines()) == 1
    assert str(raised) in err


LIMITED = """
import resource, sys
from qpsvm.faces.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * 2**20,) * 2)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="address space is read as on Linux")
@for_each("room, named", [(20, "more memory"), (170, "does not fit into the memory")])
def test_a_limited_address_space_ends_in_a_sentence(tmp_path, room, named):
    path = tmp_path / "long.csv"
    path.write_text("x,y\n" + "1,0\n" * 4_000_000)  # 16 MB of text, which become 32 MB of X beside 64 MB of columns
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(room), "solve", str(path), "--target", "y"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert named in done.stderr


# Files that are none


@for_each(
    "command, content, named",
    [
        (["solve"], bytes(range(256)) * 20, "not a text file"),
        (["solve"], b"x,kind\n,a\n2,b\n", "--drop-missing"),
        (["compare"], b"x,kind\n1,a\n2,a\n", "two classes"),
        (["compare"], b"x,kind\n", "no rows"),
        (["derive", "c", "--data"], b"", "is empty"),
        (["derive", "c", "--data"], b'x,kind\n1,"a\n2,b\n', "line 2"),
        (["solve"], None, "a folder without files"),
    ],
)
def test_files_that_are_none_are_one_line(capsys, tmp_path, command, content, named):
    """`tests/data/files` has all that may be wrong in a file."""
    path = tmp_path / "file.csv"
    if content is None:
        path.unlink(missing_ok=True)
        path.mkdir()
    else:
        path.write_bytes(content)
    assert named in fail(capsys, *command, path, "--target", "kind")


def test_what_cannot_be_written_is_said_before_the_work(capsys, table, tmp_path, monkeypatch):
    for where in ("solve.solve", "derive.solve", "predict.load"):
        monkeypatch.setattr(f"qpsvm.faces.cli.commands.{where}", raising(AssertionError("solved first")))
    target = ["--target", "kind", "--drop", "id"]
    for *command, option in (
        ["solve", table, *target, "--save"],
        ["derive", "c", "--data", table, *target, "--html"],
        ["predict", "m.npz", table, "--output"],
    ):
        for path, why in ((tmp_path / "none" / "file", "no directory"), (tmp_path, "is a directory")):
            err = fail(capsys, *command, option, path)
            assert f"cannot write {path}" in err
            assert why in err
    assert "name a file" in fail(capsys, "leave-one-out", table, *target, "--output", "-")


def test_a_folder_that_takes_no_new_file_is_said_before_the_work_and_a_device_needs_none(tmp_path, monkeypatch):
    file, pipe = tmp_path / "labels.csv", tmp_path / "pipe"
    file.touch()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    for path in (file, tmp_path / "new.csv"):
        said = rf"cannot write .*: permission denied in {re.escape(str(tmp_path))}"
        with pytest.raises(qpsvm.FileFormatError, match=said):
            require_writable(str(path))
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
        require_writable(str(pipe))


def test_predictions_are_written_whole_or_not_at_all(capsys, table, tmp_path, monkeypatch):
    model, labels = tmp_path / "m.npz", tmp_path / "labels.csv"
    succeed(capsys, "solve", table, "--target", "kind", "--drop", "id", "--save", model)
    labels.write_text("those of yesterday")
    before = sorted(tmp_path.iterdir())
    fill_the_disk(monkeypatch)
    code, _, err = run(capsys, "predict", model, table, "--output", labels)
    assert code == 2
    assert f"cannot write {labels}: No space left" in err
    assert labels.read_text() == "those of yesterday"
    assert sorted(tmp_path.iterdir()) == before
    monkeypatch.undo()
    succeed(capsys, "predict", model, table, "--output", labels)
    assert len(labels.read_text().splitlines()) == 61


def test_derive_of_data_measures_the_steps_and_tells_more_when_it_is_asked_to(capsys, table):
    arguments = ["derive", "c", "--data", table, "--target", "kind", "--drop", "id", "--steps", "CSVM.4"]
    out = succeed(capsys, *arguments)
    assert "residual" in out
    assert "the Lagrangian is flat" not in out
    assert "the Lagrangian is flat" in succeed(capsys, *arguments, "--verbose")


@for_each("arguments, named", WRONG)
def test_what_the_user_got_wrong_is_one_line(capsys, table, arguments, named):
    assert named in fail(capsys, *[a.format(table=table) for a in arguments])


def test_version_and_backends(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"qpsvm {qpsvm.__version__}\n"
    assert [line.split()[0] for line in succeed(capsys, "backends").splitlines()] == list(backends.REGISTRY)


def test_an_option_of_one_value_is_not_dropped_in_silence(capsys, tmp_path):
    for twice in (
        ["--backend", "osqp", "--backend", "libsvm"],
        ["--C", "1", "--C=2"],
        ["--target", "a", "--target", "b"],
    ):
        assert f"{twice[0]} is given twice" in fail(capsys, "solve", tmp_path / "t.csv", *twice)
