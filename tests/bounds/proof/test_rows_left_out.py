"""That rows are out of a model, as a proof: confirmed where it is so, refuted where they are still in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checking import run_checker

import qpsvm
from qpsvm.bounds.proof import checker
from qpsvm.faces.cli import main

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=16) > 0.0, 1, 0)
Y[:4] = 0, 1, 0, 1
T = X[:, 0] + 0.1 * RNG.normal(size=16)
GONE = [3, 8]
KEPT = np.delete(np.arange(16), GONE)
WEIGHT = np.arange(16.0) % 4
#: A machine over some of the rows, and the table of all of them.
CASES = {
    "weights": (lambda rows: qpsvm.CSVM(X[rows], Y[rows], kernel=qpsvm.RBF(0.5), sample_weight=WEIGHT[rows]), X, Y),
    "matrix": (lambda rows: qpsvm.CSVM((X @ X.T)[np.ix_(rows, rows)], Y[rows], kernel="precomputed"), X @ X.T, Y),
    "tube": (lambda rows: qpsvm.EpsilonSVR(X[rows], T[rows]), X, T),
    "novelty": (lambda rows: qpsvm.OneClass(X[rows], nu=0.3, kernel=qpsvm.RBF(0.5)), X, None),
}


def table(folder: Path, samples, target, name="data.csv") -> Path:
    """Rows of a table as a file."""
    whole = samples if target is None else np.column_stack([samples, target])
    path = folder / name
    np.savetxt(path, whole, delimiter=",", header=",".join(f"x{j}" for j in range(whole.shape[1])), comments="")
    return path


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_out_are_confirmed_to_be(tmp_path, name):
    make, samples, target = CASES[name]
    data = table(tmp_path, samples, target)
    path = tmp_path / "proof.json"
    qpsvm.solve(make(KEPT)).verify(tol=1e-6).save(path)
    for asked in (GONE, [8, 3, 3]):
        code, said = run_checker(path, data, without=asked)
        assert code == 0, said
        assert "confirmed   rows 3, 8 of the data, counted from 0, have no part in what follows" in said
    for asked, which in (([3, 4], "other 14 rows, without rows 3, 4,"), ([], "16 rows")):
        code, said = run_checker(path, data, without=asked)
        assert code == 1
        assert said[-1].startswith(f"REFUTED     the values of its {which}")
    assert run_checker(path, data, without=(16,))[0] == 2


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_in_are_refuted(tmp_path, name):
    make, samples, target = CASES[name]
    data = table(tmp_path, samples, target)
    path = tmp_path / "proof.json"
    qpsvm.solve(make(np.arange(16))).verify().save(path, data)
    assert run_checker(path, data)[0] == 0
    code, said = run_checker(path, data, without=GONE)
    assert code == 1
    assert said[-1].startswith("REFUTED")


def test_a_table_with_more_rows_is_not_the_one_of_the_proof(tmp_path):
    make, samples, target = CASES["tube"]
    proof = qpsvm.solve(make(KEPT)).verify()
    path = tmp_path / "proof.json"
    rest = table(tmp_path, samples[KEPT], target[KEPT], "rest.csv")
    proof.save(path, rest)
    assert run_checker(path, rest)[0] == 0
    with pytest.raises(qpsvm.DataError, match="other values"):
        proof.save(path, table(tmp_path, samples, target))


def test_on_the_command_line_and_without_this_library(tmp_path, capsys):
    make, samples, target = CASES["tube"]
    data = table(tmp_path, samples, target)
    path = tmp_path / "proof.json"
    qpsvm.solve(make(KEPT)).verify().save(path)
    assert main(["verify", str(path), "--data", str(data), "--without", "8, 3"]) == 0
    assert "rows 3, 8 of the data, counted from 0, have no part in what follows" in capsys.readouterr().out
    assert main(["verify", str(path), "--data", str(data), "--without", "2"]) == 1
    assert main(["verify", str(path), "--data", str(data), "--without", "99"]) == 2
    assert "no [99]" in capsys.readouterr().err
    alone = [sys.executable, "-I", checker.__file__, str(path), "--data", str(data), "--without"]
    for rows, code in (("3,8", 0), ("5", 1), ("x", 2), ("-1", 2)):
        assert subprocess.run([*alone, rows], capture_output=True, check=False).returncode == code
