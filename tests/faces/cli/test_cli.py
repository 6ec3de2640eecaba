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
from command_line import run
from full_disk import fill_the_disk

import qpsvm
from qpsvm import backends
from qpsvm.base.errors import DataError, SolverError, TooLargeError
from qpsvm.data.files import read_table
from qpsvm.faces.cli import main
from qpsvm.faces.cli.terminal import SPELT, readable, require_writable
from qpsvm.program.solution import Status
from qpsvm.solve.call import solve

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
real_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data sets are not on this machine")


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


def test_solve_prints_the_summary_saves_and_predicts_the_same(capsys, table, tmp_path):
    model = tmp_path / "model.npz"
    code, out, _ = run(capsys, "solve", table, "--target", "kind", "--drop", "id", "--standardise", "--kernel", "rbf",
                       "--save", model)  # fmt: skip
    assert code == 0
    assert "60 rows x 4 features" in out
    assert "status      optimal" in out
    accuracy = out.split("accuracy ")[1].split()[0]
    code, out, err = run(capsys, "predict", model, table)
    assert code == 0
    assert set(out.split()) == {"cat", "dog"}
    assert f"60 predictions, accuracy {accuracy}" in err
    written = tmp_path / "out.csv"
    assert run(capsys, "predict", model, table, "--output", written)[0] == 0
    assert written.read_text().splitlines()[0] == "label,decision"
    assert len(written.read_text().splitlines()) == 61


@pytest.mark.parametrize("variant", ["c", "nu", "hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_every_variant_and_kernel_solves(capsys, table, variant, kernel):
    options = ["--variant", variant, "--kernel", kernel]
    code, out, _ = run(capsys, "solve", table, "--target", "kind", "--drop", "id", *options)
    assert code == 0
    assert "optimal" in out


@pytest.mark.slow
def test_compare_has_a_line_for_each_backend_that_takes_the_problem(capsys, table):
    code, out, _ = run(capsys, "compare", table, "--target", "kind", "--drop", "id")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    strangers = {"kernel_newton", "liblinear"}  # the kernel is linear, and the intercept free
    assert {cells[0] for cells in lines if cells} >= set(backends.REGISTRY) - strangers
    for name in ("cvxopt", "osqp", "cvxpy"):
        for form in ("dual", "primal"):
            assert [name, form, "optimal"] in [cells[:3] for cells in lines]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["c", "nu", "hinge"])
def test_derive_prints_every_step_and_writes_the_page(capsys, table, tmp_path, variant):
    page = tmp_path / "page.html"
    arguments = [variant, "--data", table, "--target", "kind", "--drop", "id", "--kernel", "rbf", "--html", page]
    code, out, _ = run(capsys, "derive", *arguments)
    assert code == 0
    assert "Strong duality" in out
    assert f"written: {page}" in out
    residuals = [float(value) for value in re.findall(r"  residual (\d\S*)$", out, re.MULTILINE)]
    assert len(residuals) >= 13
    assert max(residuals) <= 1e-8
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_derive_without_data_is_in_symbols(capsys, tmp_path):
    code, out, _ = run(capsys, "derive", "epsilon-svr", "--intercept", "penalised", "--kernel", "rbf")
    assert code == 0
    assert out.splitlines()[0] == "Derivation: ε-SVR, intercept = 'penalised', kernel RBF"
    assert "symbols only" in out
    assert "residual" not in out
    article = tmp_path / "derived.tex"
    code, out, _ = run(capsys, "derive", "c", "--intercept", "none", "--steps", "CSVM.5,CSVM.9", "--latex", article)
    assert code == 0
    assert "(CSVM.9)  Substitution" in out
    assert "(CSVM.4)" not in out
    assert f"written: {article}" in out
    assert article.read_text(encoding="utf-8").startswith("\\documentclass")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--steps", "CSVM.44"], "did you mean 'CSVM.4'"),
        (["--proven"], "--proven is about data, and there are none: give --data FILE"),
        (["--class-weight", "balanced"], "--class-weight is about data"),
        (["--nu", "0.5"], "--nu belongs to the variant"),
        (["--gamma", "1"], "--gamma belongs to the kernel"),
        (["--C", "-1"], "C must be positive"),
    ],
)
def test_derive_without_data_refuses_what_would_be_ignored(capsys, arguments, said):
    code, _, err = run(capsys, "derive", "c", *arguments)
    assert code == 2
    assert said in err


def test_derive_tells_more_when_it_is_asked_to(capsys, table):
    arguments = ["c", "--data", table, "--target", "kind", "--drop", "id", "--steps", "CSVM.4"]
    code, out, _ = run(capsys, "derive", *arguments)
    assert code == 0
    assert "residual" in out
    assert "the Lagrangian is flat" not in out
    assert "the Lagrangian is flat" in run(capsys, "derive", *arguments, "--verbose")[1]


def test_derive_of_what_has_no_optimum_is_status_1(capsys, tmp_path):
    path = tmp_path / "crossed"
    path.write_text("1 1:0 2:0\n1 1:1 2:1\n-1 1:0 2:1\n-1 1:1 2:0\n")
    code, out, _ = run(capsys, "derive", "hard", "--data", path)
    assert code == 1
    assert "NOT OPTIMAL: status infeasible" in out
    assert "(HARD.14)" in out


def test_backends_lists_all_with_their_versions(capsys):
    code, out, _ = run(capsys, "backends")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(backends.REGISTRY)


def test_one_label_against_the_rest(capsys, tmp_path):
    path = tmp_path / "three"
    path.write_text("".join(f"{i % 3} 1:{i % 3 + 0.01 * i} 2:{(i % 3) ** 2}\n" for i in range(30)))
    code, _, err = run(capsys, "leave-one-out", path)
    assert code == 2
    assert "--positive 0" in err
    assert run(capsys, "leave-one-out", path, "--positive", "2")[0] == 0
    assert run(capsys, "solve", path, "--positive", "2")[0] == 0
    code, _, err = run(capsys, "solve", path, "--positive", "7")
    assert code == 2
    assert "0, 1, 2" in err


SOLVE = ("solve", "{table}", "--target", "kind", "--drop", "id")
WRONG = {
    "no file": (["solve", "nowhere.csv"], "nowhere.csv"),
    "no target": (["solve", "{table}"], "--target"),
    "unknown target": (["solve", "{table}", "--target", "kin"], "'kind'"),
    "unknown backend": ([*SOLVE, "--backend", "cvxop"], "'cvxopt'"),
    "negative C": ([*SOLVE, "--C", "-1"], "C must be positive"),
    "bad gamma": ([*SOLVE, "--kernel", "rbf", "--gamma", "x"], "gamma"),
    "large nu": ([*SOLVE, "--variant", "nu", "--nu", "1.5"], "nu"),
    "time limit": (
        [*SOLVE, "--backend", "cvxopt", "--time-limit", "1"],
        "time_limit",
    ),
    "no model": (["predict", "nowhere.npz", "{table}"], "nowhere.npz"),
    "not a model": (["predict", "{table}", "{table}"], "not a model"),
    "cannot write a page": (
        ["derive", "c", "--data", "{table}", "--target", "kind", "--drop", "id", "--html", "/nowhere/page.html"],
        "cannot write /nowhere/page.html",
    ),
    "cannot write": ([*SOLVE, "--save", "/nowhere/m.npz"], "cannot write"),
}


@pytest.mark.parametrize("case", WRONG, ids=list(WRONG))
def test_what_the_user_got_wrong_is_one_line_and_status_2(capsys, table, case):
    arguments, named = WRONG[case]
    code, _, err = run(capsys, *[a.format(table=table) for a in arguments])
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert named in err


def test_a_hard_margin_that_cannot_be_had_is_status_2(capsys, tmp_path):
    path = tmp_path / "crossed"
    path.write_text("1 1:0 2:0\n1 1:1 2:1\n-1 1:0 2:1\n-1 1:1 2:0\n")
    code, _, err = run(capsys, "solve", path, "--variant", "hard")
    assert code == 2
    assert "not separable" in err
    assert "Proven: " in err


def test_a_result_that_is_not_optimal_is_status_1(capsys, table):
    arguments = [part.format(table=table) for part in SOLVE]
    code, out, _ = run(capsys, *arguments, "--backend", "osqp", "--max-iter", "2", "--no-polish")
    assert code == 1
    assert "iteration_limit" in out


# Options


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["solve", "{table}", "--c", "3"], "'--C'"),
        (["solve", "--c=3", "{table}"], "'--C'"),
        (["solve", "{table}", "--targ", "kind"], "'--target'"),
        (["compare", "{table}", "--max-itr", "3"], "'--max-iter'"),
        (["compare", "{table}", "--format", "cvs"], "'csv'"),
        (["compare", "{table}", "--backend", "osqp,,cvxopt"], "names with commas"),
        (["compare", "{table}", "--target", "kind", "--format", "csv", "--verbose"], "leave one of the two out"),
        (["derive", "c", "--daata", "{table}"], "'--data'"),  # before it is missed as required
        (["predict", "m.npz", "{table}", "--drop-missin"], "'--drop-missing'"),
        (["--versio"], "'--version'"),
        (["backends", "-x"], "no option -x"),
        (["slove", "{table}"], "'solve'"),
        (["solve", "{table}", "more"], "more"),
        (["solve"], "file"),
        (["solve", "{table}", "--C", "many"], "--C"),
        (["solve", "{table}", "--variant", "d"], "--variant"),
        (["solve", "{table}", "--save"], "--save"),
    ],
)
def test_usage_is_checked_and_the_nearest_option_named(capsys, table, arguments, named):
    code, out, err = run(capsys, *[a.format(table=table) for a in arguments])
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert named in err


IDLE = {
    "nu": (["--nu", "0.3"], "variant nu"),
    "lam": (["--lam", "0.1"], "variant hinge"),
    "intercept": (["--variant", "nu", "--intercept", "none"], "variant c, hinge"),
    "C nu": (["--variant", "nu", "--C", "2"], "variant c"),
    "C hard": (["--variant", "hard", "--C", "2"], "variant c"),
    "C hinge": (["--variant", "hinge", "--C", "2"], "variant c"),
    "lam nu": (["--variant", "nu", "--lam", "0.1"], "variant hinge"),
    "gamma": (["--gamma", "1"], "kernel rbf, polynomial or sigmoid"),
    "gamma as by default": (["--gamma", "scale"], "kernel rbf, polynomial or sigmoid"),
    "degree": (["--kernel", "rbf", "--degree", "2"], "kernel polynomial"),
    "coef0": (["--kernel", "rbf", "--coef0", "1"], "kernel polynomial or sigmoid"),
    "psd linear": (["--psd", "clip"], "--psd is for an indefinite kernel"),
    "psd rbf": (["--kernel", "rbf", "--psd", "shift"], "--psd is for an indefinite kernel"),
    "save": (["--save", ""], "--save"),
    "target": (["--target", ""], "--target"),
    "positive": (["--positive", ""], "--positive"),
}


@pytest.mark.parametrize("case", IDLE, ids=list(IDLE))
def test_options_without_effect_are_refused_with_what_they_belong_to(capsys, table, case):
    options, named = IDLE[case]
    code, _, err = run(capsys, "solve", table, "--target", "kind", "--drop", "id", *options)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert named in err


@pytest.mark.parametrize(
    "options",
    [
        ["--variant", "hinge", "--lam", "0.1", "--intercept", "penalised"],
        ["--kernel", "polynomial", "--degree", "2", "--coef0", "1", "--gamma", "auto"],
        ["--kernel", "sigmoid", "--coef0", "-1", "--gamma", "0.1", "--psd", "clip"],
    ],
)
def test_options_that_belong_together_are_taken(capsys, table, options):
    assert run(capsys, "solve", table, "--target", "kind", "--drop", "id", *options)[0] == 0


def test_derive_refuses_parameters_of_another_variant(capsys, table):
    code, _, err = run(capsys, "derive", "hard", "--data", table, "--target", "kind", "--C", "1")
    assert code == 2
    assert "--C belongs to the variant c" in err


def test_compare_says_who_cannot_keep_a_limit(capsys, table, monkeypatch):
    monkeypatch.setattr(backends, "REGISTRY", {name: backends.REGISTRY[name] for name in ("cvxopt", "osqp")})
    arguments = [part.format(table=table) for part in SOLVE[1:]]
    code, out, _ = run(capsys, "compare", *arguments, "--time-limit", "60")
    assert code == 0
    assert "cvxopt: works without time_limit, which it cannot keep" in out
    assert "cannot keep" not in run(capsys, "compare", *arguments)[1]


def test_compare_warms_up_before_it_takes_times(capsys, table, monkeypatch):
    calls = []

    def recorded(problem, name, form, **options):
        calls.append((name, form, problem.n))
        return solve(problem, name, form, **options)

    monkeypatch.setattr("qpsvm.many.comparison.solve", recorded)
    monkeypatch.setattr(backends, "REGISTRY", {"cvxopt": backends.REGISTRY["cvxopt"]})
    run(capsys, "compare", *[part.format(table=table) for part in SOLVE[1:]])
    assert calls == [(name, form, n) for name in ("cvxopt",) for form in ("dual", "primal") for n in (20, 60)]


def test_compare_names_backends_and_writes_formats(capsys, table):
    arguments = ["compare", *(part.format(table=table) for part in SOLVE[1:]), "--form", "dual"]
    code, out, err = run(capsys, *arguments, "--backend", "osqp,libsvm", "--backend", "auto", "--repeat", "2")
    assert (code, err) == (0, "")
    assert "times are medians of 2" in out
    assert re.findall(r"^(\w+) +dual +optimal ", out, re.MULTILINE) == ["osqp", "libsvm", "auto"]
    code, out, err = run(capsys, *arguments, "--backend", "osqp", "--format", "csv")
    assert (code, "60 rows" in err) == (0, True), "what is not of the table is not between a program and its CSV"
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["backend"], row["status"], float(row["gap"]) <= 1e-6) == ("osqp", "optimal", True)
    code, out, _ = run(capsys, *arguments, "--backend", "osqp", "--format", "json")
    assert json.loads(out)["rows"][0]["status"] == "optimal"
    code, out, _ = run(capsys, *arguments, "--backend", "osqp", "--format", "latex")
    assert out.startswith("\\begin{tabular}")


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"qpsvm {qpsvm.__version__}\n"


# Labels


def predicted(capsys, model, table):
    code, out, err = run(capsys, "predict", model, table)
    assert code == 0
    return out.split("\n")[:-1], err


@pytest.mark.parametrize("positive", ["cat", "dog"])
def test_positive_keeps_the_names_of_two_labels(capsys, table, tmp_path, positive):
    model = tmp_path / "model.npz"
    arguments = [part.format(table=table) for part in SOLVE[1:]]
    code, out, _ = run(capsys, "solve", *arguments, "--positive", positive, "--save", model)
    assert code == 0
    assert "cat: 30, dog: 30" in out
    labels, err = predicted(capsys, model, table)
    assert set(labels) == {"cat", "dog"}
    accuracy = out.split("accuracy ")[1].split()[0]
    assert float(accuracy) > 0.9
    assert f"accuracy {accuracy}" in err
    values = tmp_path / "values.csv"
    run(capsys, "predict", model, table, "--output", values)
    rows = [line.split(",") for line in values.read_text().splitlines()[1:]]
    assert {label for label, value in rows if float(value) > 0} == {positive}


def test_positive_against_several_is_called_so(capsys, tmp_path):
    path, model = tmp_path / "three", tmp_path / "model.npz"
    path.write_text("".join(f"{i % 3} 1:{i % 3 + 0.01 * i} 2:{(i % 3) ** 2}\n" for i in range(30)))
    code, out, _ = run(capsys, "solve", path, "--positive", "2", "--save", model)
    assert code == 0
    assert "labels 2: 10, not 2: 20" in out
    labels, err = predicted(capsys, model, path)
    assert labels == ["not 2", "not 2", "2"] * 10
    assert "accuracy 1.0000" in err
    assert run(capsys, "solve", path, "--positive", "+2.0")[0] == 0  # numbers count by their value


def test_labels_with_commas_and_quotes_read_back(capsys, tmp_path):
    path, model, written = tmp_path / "t.csv", tmp_path / "m.npz", tmp_path / "out.csv"
    labels = ['Berlin, "Mitte"', "Köln"]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("x", "y"), *((i, labels[i % 2]) for i in range(20))])
    assert run(capsys, "solve", path, "--target", "y", "--kernel", "rbf", "--gamma", "9", "--save", model)[0] == 0
    assert run(capsys, "predict", model, path, "--output", written)[0] == 0
    table = read_table(written, target="label")
    assert table.y.tolist() == labels * 10
    code, out, _ = run(capsys, "predict", model, path, "--output", "-")
    assert code == 0
    assert out == written.read_text(encoding="utf-8")


# Standard input, output and error


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(capsys, table, tmp_path, monkeypatch, pack):
    model = tmp_path / "model.npz"

    def piped(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(content))))

    piped(table.read_bytes())
    code, out, _ = run(capsys, "solve", "-", *SOLVE[2:], "--save", model)
    assert code == 0
    assert "standard input: 60 rows x 4 features" in out
    piped(table.read_bytes())
    assert run(capsys, "predict", model, "-")[0] == 0
    piped(b"1 1:1 2:0\n-1 1:0 2:1\n")
    code, out, _ = run(capsys, "derive", "c", "--data", "-")
    assert code == 0
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
    code, out, _ = run(capsys, "solve", path, "--target", "y")
    assert code == 0
    assert "counts the rows from 0" in out


def encoded(encoding, text):
    """What a stream of that encoding is given for a text."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    with readable(stream):
        print(text, end="", file=stream, flush=True)
    assert stream.errors == "strict"
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("text", "ascii_"),
    [
        ("ν ≤ 1", "nu <= 1"),
        ("½‖w‖² − νρ + Σα_i", "1/2||w||^2 - nu rho + Sum alpha_i"),
        ("yᵀα, 2ρ, αx", "y'alpha, 2 rho, alpha x"),
        ("½ αᵀQα + ½ Σ δ_i α_i² − ℓᵀα", "1/2 alpha'Q alpha + 1/2 Sum delta_i alpha_i^2 - ell'alpha"),
        ("10⁻⁶, 10⁶, θ⁻¹", "10^-6, 10^6, theta^-1"),
        ("Größe", "Gr\\xf6\\xdfe"),
        ("红", "\\u7ea2"),
        ("\udcff", "\\udcff"),
    ],
)
def test_letters_that_a_stream_cannot_hold(text, ascii_):
    assert encoded("ascii", text) == ascii_
    if "\udcff" not in text:
        assert encoded("utf-8", text) == text


def test_latin_1_keeps_what_it_has():
    assert encoded("latin-1", "½ × ν² ≥ Größe") == "½ × nu² >= Größe"


@pytest.mark.slow
def test_every_letter_that_the_library_prints_is_spelt():
    root = Path(qpsvm.__file__).parent
    for path in root.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                assert {c for c in node.value if ord(c) > 127} <= set(SPELT), (path, node.value)
        if path.parent.name == "machines":  # whose equations a derivation prints
            for text in (node for node in docstrings if isinstance(node, ast.Constant)):
                lines = "".join(re.findall(r"^ +\([A-Z]+\.\d+\)  .*$", getattr(text, "value", ""), flags=re.MULTILINE))
                assert {c for c in lines if ord(c) > 127} <= set(SPELT), path


@pytest.mark.slow
def test_a_pipe_without_our_letters_is_no_crash(table):
    arguments = [part.format(table=table) for part in SOLVE[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "qpsvm", "derive", "nu", "--data", *arguments],
        capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"alpha_i" in done.stdout


def raising(error):
    """A function that takes anything and raises."""
    return Mock(side_effect=error)


@pytest.mark.parametrize(
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
@pytest.mark.parametrize(("arguments", "code"), [(["backends"], 0), (["--help"], 0)])
def test_a_reader_that_goes_away_is_no_error(arguments, code):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([sys.executable, "-m", "qpsvm", *arguments], stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize(
    ("raised", "code"), [(MemoryError(), 1), (TooLargeError("too large"), 1), (SolverError("broke down"), 1),
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
@pytest.mark.parametrize(("room", "named"), [(20, "more memory"), (170, "does not fit into the memory")])
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


def bad_files():
    """Name, content, and what the message says."""
    return {
        "binary": (bytes(range(256)) * 20, "not a text file"),
        "empty": (b"", "is empty"),
        "header only": (b"x,kind\n", "no rows"),
        "one class": (b"x,kind\n1,a\n2,a\n", "two classes"),
        "one row": (b"x,kind\n1,a\n", "two classes"),
        "same name twice": (b"x,x,kind\n1,2,a\n2,3,b\n", "the same name"),
        "missing": (b"x,kind\n,a\n2,b\n", "--drop-missing"),
        "UTF-16": ("x,kind\n1,a\n2,b\n".encode("utf-16"), "UTF-16"),
        "Latin-1": ("x,kind\n1,ä\n2,b\n".encode("latin-1"), "line 2 is not UTF-8"),
        "damaged": (gzip.compress(b"x,kind\n1,a\n2,b\n" * 50)[:-12], "damaged compressed file"),
        "open quote": (b'x,kind\n1,"a\n2,b\n', "line 2"),
        "short row": (b"x,kind\n1\n2,b\n", "line 2 has 1 cells"),
    }


@pytest.mark.parametrize("case", bad_files())
@pytest.mark.parametrize("command", [["solve"], ["compare"], ["derive", "c", "--data"]], ids=lambda c: c[0])
def test_files_that_are_none_are_one_line(capsys, tmp_path, case, command):
    content, named = bad_files()[case]
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    code, _, err = run(capsys, *command, path, "--target", "kind")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert named in err


@pytest.mark.parametrize(
    "content", ["\ufeffx;kind\r\n1;a\r\n2;b\r\n", 'x,kind\n1,"a\nb"\n2,"c"\n\n', "x\tkind\n1\ta\n2\tb"]
)
def test_files_as_programs_write_them(capsys, tmp_path, content):
    path = tmp_path / "file.csv"
    path.write_bytes(content.encode())
    code, out, _ = run(capsys, "solve", path, "--target", "kind")
    assert code == 0
    assert "2 rows x 1 features" in out


def test_a_directory_is_no_file(capsys, tmp_path):
    code, _, err = run(capsys, "solve", tmp_path, "--target", "y")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "directory" in err


@pytest.mark.parametrize("option", ["--save", "--html", "--output"])
def test_what_cannot_be_written_is_said_before_the_work(capsys, table, tmp_path, monkeypatch, option):
    for where in ("solve.solve", "derive.solve", "predict.load"):
        monkeypatch.setattr(f"qpsvm.faces.cli.commands.{where}", raising(AssertionError("solved first")))
    commands = {
        "--save": ["solve", table, "--target", "kind", "--drop", "id"],
        "--html": ["derive", "c", "--data", table, "--target", "kind", "--drop", "id"],
        "--output": ["predict", "m.npz", table],
    }
    for path, why in ((tmp_path / "none" / "file", "no directory"), (tmp_path, "is a directory")):
        code, _, err = run(capsys, *commands[option], option, path)
        assert code == 2
        assert f"cannot write {path}" in err
        assert why in err


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
    assert run(capsys, "solve", table, "--target", "kind", "--drop", "id", "--save", model)[0] == 0
    labels.write_text("those of yesterday")
    before = sorted(tmp_path.iterdir())
    fill_the_disk(monkeypatch)
    code, _, err = run(capsys, "predict", model, table, "--output", labels)
    assert code == 2
    assert f"cannot write {labels}: No space left" in err
    assert labels.read_text() == "those of yesterday"
    assert sorted(tmp_path.iterdir()) == before
    monkeypatch.undo()
    assert run(capsys, "predict", model, table, "--output", labels)[0] == 0
    assert len(labels.read_text().splitlines()) == 61


@real_data
@pytest.mark.parametrize(
    "arguments",
    [
        ["possum.csv", "--target", "sex", "--drop", "case", "--drop-missing"],
        ["heart_scale", "--kernel", "rbf", "--gamma", "scale", "--backend", "auto"],
        ["australian"],
    ],
    ids=lambda a: a[0],
)
def test_real_files(capsys, arguments):
    code, out, _ = run(capsys, "solve", DATA / arguments[0], *arguments[1:])
    assert code == 0
    assert "optimal" in out


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["solve"], ["compare"], ["derive"]], ids=" ".join)
def test_help_has_examples(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert not ended.value.code
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["solve", "compare", "play"])
def test_more_than_two_classes_are_answered_with_the_option_that_makes_them_two(command, tmp_path, capsys):
    path = tmp_path / "three.txt"
    path.write_text("1 1:0.5\n2 1:1.5\n3 1:2.5\n1 1:0.25\n", encoding="utf-8")
    options = ["--data", str(path), "--no-browser"] if command == "play" else [str(path)]
    assert main([command, *options]) == 2
    assert "--positive 1" in capsys.readouterr().err
