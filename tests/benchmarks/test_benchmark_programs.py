"""QPs of files judged, files of the suites brought, solvers that are left out named, files for other benchmarks."""

from __future__ import annotations

import bz2
import hashlib
import importlib.util
import lzma
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

import qpsvm
from benchmarks import cli, fetch, programs
from benchmarks.fetch import ORIGINS, FileOrigin, content
from benchmarks.suites import build_suites

ELSEWHERE = Path(__file__).resolve().parents[2] / "benchmarks" / "elsewhere"


# --- programs ---------------------------------------------------------------------------------------------------------


def matlab(folder: Path) -> Path:
    """Minimise x² + y² − 3x + 1 over x + y = 1, 2x − y ≤ 1, 0 ≤ x ≤ 5: at (2/3, 1/3)."""
    A = sp.csc_matrix([[1.0, 1.0], [2.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    low = np.array([1.0, -1e20, 0.0, -1e20])
    high = np.array([1.0, 1.0, 5.0, 1e20])
    P = sp.csc_matrix([[2.0, 0.0], [0.0, 2.0]])
    path = folder / "SMALL.mat"
    savemat(path, {"P": P, "q": np.array([[-3.0], [0.0]]), "r": 1.0, "A": A, "l": low[:, None], "u": high[:, None]})
    return path


def test_a_matlab_file_is_read(tmp_path):
    qp = programs.read_program(matlab(tmp_path))
    assert (qp.title, qp.n, len(qp.b), len(qp.h)) == ("SMALL", 2, 1, 1)
    result = qpsvm.solve(qp)
    assert result.x == pytest.approx([2 / 3, 1 / 3], abs=1e-9)
    assert result.dual <= 4 / 9 + 1 / 9 - 2 + 1 <= result.primal


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_every_claim_is_judged(tmp_path, capsys):
    matlab(tmp_path)
    qpsvm.QP(P=np.eye(2), q=[-3.0, 0.0], lb=0.0, ub=1.0, title="a box").save(tmp_path / "box.npz")
    qpsvm.QP(P=np.eye(30), q=np.ones(30)).save(tmp_path / "large.npz")
    (tmp_path / "broken.npz").write_text("no QP")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{programs.BEGIN}\nold\n{programs.END}\nafter\n")
    words = ["programs", tmp_path, "--solver", "cvxopt", "--solver", "osqp", "--most", 20, "--fill", page]
    assert cli.main([str(word) for word in words]) == 0
    told = capsys.readouterr()
    assert "left out, of more than 20 variables or rows: large" in told.err
    assert "left out, broken.npz" in told.err
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    cells = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in lines if line.startswith("|")}
    assert cells["osqp"][:6] == ["2", "2", "2", "0", "0", "0"]  # two claims, both kept
    assert float(cells["box"][2]) <= -2.5 <= float(cells["box"][3])


def test_a_claim_that_is_none_shows():
    kinds = {"problem": "P", "n": 1, "rows": 0, "said": "optimal", "claimed": True, "seconds": 0.1}
    far = programs.ProgramVerdict(solver="a", own=0.5, gap=1e-9, low=1.0, high=3.0, **kinds)
    open_ = programs.ProgramVerdict(solver="b", own=np.inf, gap=np.inf, low=2.0, high=np.inf, **kinds)
    text = programs.format_tables([far, open_])
    assert "| a | 1 | 1 | 0 | 0 | 1 | 0 | 1 | 100.0 |" in text
    assert "| b | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 100.0 |" in text
    assert "| P | 1 | 0 | 2 | 3 | 3e-01 | a 5e-01 |" in text


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_solver_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(programs, "judge_solver", lambda *_: time.sleep(60))
    found = programs.judge_within_limit(qpsvm.QP(P=[[1.0]], q=[1.0]), "osqp", 1e-6, 0.2)
    assert (found.claimed, found.said) == (False, "no answer in 0.2 s")


def test_wrong_words_of_programs_are_named(tmp_path, capsys):
    with pytest.raises(SystemExit, match="no such file or folder"):
        cli.main(["programs", str(tmp_path / "absent")])
    with pytest.raises(SystemExit, match="did you mean 'osqp'"):
        cli.main(["programs", str(matlab(tmp_path)), "--solver", "osqpp"])
    (tmp_path / "empty").mkdir()
    assert cli.main(["programs", str(tmp_path / "empty")]) == 1
    assert "nothing to measure" in capsys.readouterr().err


# --- files ------------------------------------------------------------------------------------------------------------


def test_every_file_of_the_suites_has_an_address(tmp_path):
    named = {name for suite in build_suites(tmp_path, quick=False).values() for name in suite.files}
    assert named <= set(ORIGINS)
    assert all(len(origin.sha256) == 64 and origin.at.count("/") >= 3 for origin in ORIGINS.values())


@pytest.mark.parametrize(("raw", "how", "made"), [
    (b"1 1:2\n", "as it is", b"1 1:2\n"),
    (bz2.compress(b"1 1:2\n"), "bz2", b"1 1:2\n"),
    (b"a\nb\nc\n", "first 2", b"a\nb\n"),
    (b"1.50,0,3,g\n2,1,0,h\n", "label last", b"1 1:1.5 3:3\n-1 1:2 2:1\n"),
    (b"0 7 0\n1 0 1\n", "label last, 0 is -1", b"-1 2:7\n1 1:1\n"),
    (b"% of\n@data\n 5, 1, 0\n", "label first", b"5 1:1\n"),
])  # fmt: skip
def test_a_file_is_made_of_what_is_at_its_address(raw, how, made):
    assert content(raw, how) == made


def test_what_is_absent_is_brought_and_checked(tmp_path, monkeypatch, capsys):
    there = tmp_path / "there"
    there.mkdir()
    (there / "one").write_bytes(b"1 1:2\n")
    (there / "two").write_bytes(b"something else")
    digest = hashlib.sha256(b"1 1:2\n").hexdigest()
    origins = {
        "a.xz": FileOrigin(digest, "one"),
        "b": FileOrigin(digest, "two"),
        "c": FileOrigin(digest, "three", "by hand: so"),
    }
    monkeypatch.setattr(fetch, "ORIGINS", origins)
    monkeypatch.setattr(fetch, "ADDRESS", there.as_uri())
    data = tmp_path / "data"
    assert cli.main(["fetch", "a.xz", "--data", str(data)]) == 0
    assert lzma.decompress((data / "a.xz").read_bytes()) == b"1 1:2\n"
    assert cli.main(["fetch", "--data", str(data)]) == 1
    told = capsys.readouterr()
    assert "a.xz: there" in told.out
    assert "b: what came has another checksum" in told.out
    assert "c: by hand: so" in told.out
    assert not (data / "b").exists()
    assert "2 of 3 files are missing" in told.err
    monkeypatch.setattr(fetch, "ADDRESS", (tmp_path / "nowhere").as_uri())
    assert cli.main(["fetch", "b", "--data", str(data)]) == 1
    assert "b: cannot be fetched" in capsys.readouterr().out
    (data / "a.xz").write_bytes(lzma.compress(b"changed"))
    assert cli.main(["fetch", "a.xz", "--data", str(data), "--list"]) == 1
    assert "a.xz: another" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no suite reads 'd'"):
        cli.main(["fetch", "d", "--data", str(data)])


# --- solvers ----------------------------------------------------------------------------------------------------------


def test_no_solver_is_left_out_in_silence(tmp_path, monkeypatch, capsys):
    from benchmarks import run as runner

    monkeypatch.setattr(runner, "run_pairs", lambda *_: None)
    words = ["--quick", "--suite", "osqp", "--suite", "variants", "--lines", str(tmp_path / "lines.jsonl")]
    assert cli.main([*words, "--solver", "qpsvm", "--solver", "LinearSVC", "--solver", "SVC"]) == 0
    told = capsys.readouterr().err
    assert "left out, SVC on all tasks of osqp: osqp is not for it" in told
    assert "left out, qpsvm" not in told


# --- other people's benchmarks ----------------------------------------------------------------------------------------


def load_program(name: str, monkeypatch: pytest.MonkeyPatch, **stands_in: object) -> types.ModuleType:
    """Load a file for another benchmark, with as much of that as it uses."""
    for module, what in stands_in.items():
        monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**what))
    spec = importlib.util.spec_from_file_location(name, ELSEWHERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("new", [True, False])
def test_the_solver_for_benchopt_solves_its_problem(new, monkeypatch):
    base = type("BaseSolver", (), {"sampling_strategy": ""} if new else {})
    solver = load_program("qpsvm_benchopt", monkeypatch, benchopt={"BaseSolver": base}).Solver()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.sign(X[:, 0] + rng.normal(size=80))
    solver.backend = "auto"
    solver.set_objective(X, y, C=0.3)
    solver.run(1e-9)
    found = solver.get_result()
    beta = found["beta"] if new else found

    def objective(beta: np.ndarray) -> float:
        return 0.5 * beta @ beta + 0.3 * np.maximum(0.0, 1.0 - y * (X @ beta)).sum()

    result = qpsvm.solve(qpsvm.PrimalHinge(X, y, lam=1.0 / (0.3 * 80), intercept=None), "cvxopt", tol=1e-9)
    least = result.dual * 0.3 * 80  # a lower bound of the same objective
    assert objective(beta) == pytest.approx(least, rel=1e-8)


def test_the_test_set_for_qpbenchmark_is_one(monkeypatch):
    parts = ("P", "q", "G", "h", "A", "b", "lb", "ub")

    def problem(*given: object, name: str) -> dict[str, object]:
        return {**dict(zip(parts, given, strict=True)), "name": name}

    pytest.importorskip("qpsolvers")
    found = list(load_program("svm", monkeypatch, qpbenchmark={"TestSet": object, "Problem": problem}).Svm())
    assert len({each["name"] for each in found}) == len(found) >= 30
    for each in found:
        assert isinstance(each["P"], np.ndarray)
        assert each["P"].flags.writeable
    small = next(each for each in found if each["name"] == "IRIS-C1-dual")
    result = qpsvm.solve(qpsvm.QP(**{part: small[part] for part in parts}))
    assert result.status == "optimal"
    assert result.machine.startswith("the dual of a C-SVM of 150 samples, C = 1")
