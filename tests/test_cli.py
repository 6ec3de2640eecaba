"""The command line as a user sees it: what it prints, what it saves, and how it says no."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qpsvm import backends
from qpsvm.cli import main

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
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


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


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


def test_compare_has_a_line_for_each_backend_that_takes_the_problem(capsys, table):
    code, out, _ = run(capsys, "compare", table, "--target", "kind", "--drop", "id")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert {cells[0] for cells in lines if cells} >= set(backends.REGISTRY) - {"kernel_newton"}  # the kernel is linear
    for name in ("cvxopt", "osqp", "cvxpy"):
        for form in ("dual", "primal"):
            assert [name, form, "optimal"] in [cells[:3] for cells in lines]


@pytest.mark.parametrize("variant", ["c", "nu", "hinge"])
def test_derive_prints_every_step_and_writes_the_page(capsys, table, tmp_path, variant):
    page = tmp_path / "page.html"
    arguments = [variant, "--data", table, "--target", "kind", "--drop", "id", "--kernel", "rbf", "--html", page]
    code, out, _ = run(capsys, "derive", *arguments)
    assert code == 0
    assert "Strong duality" in out
    assert f"written: {page}" in out
    residuals = [float(value) for value in re.findall(r"  residual (\d\S+)$", out, re.MULTILINE)]
    assert len(residuals) >= 13
    assert max(residuals) <= 1e-8
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


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
    code, _, err = run(capsys, "solve", path)
    assert code == 2
    assert "two classes" in err
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


def test_a_result_that_is_not_optimal_is_status_1(capsys, table):
    arguments = [part.format(table=table) for part in SOLVE]
    code, out, _ = run(capsys, *arguments, "--backend", "osqp", "--max-iter", "2", "--no-polish")
    assert code == 1
    assert "iteration_limit" in out


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


@pytest.mark.parametrize("arguments", [[], ["solve"], ["compare"], ["derive"]], ids=" ".join)
def test_help_has_examples(arguments):
    arguments = [*arguments, "--help"]
    done = subprocess.run([sys.executable, "-m", "qpsvm", *arguments], capture_output=True, text=True, check=True)
    assert "examples:" in done.stdout
