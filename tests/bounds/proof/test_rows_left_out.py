"""That rows are out of a model, as a proof: confirmed where it is so, refuted where they are still in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checking import looked_at
from sealing import sealed

import qpsvm
from qpsvm.bounds.proof import checker
from qpsvm.faces.cli import main

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=16) > 0.0, 1, 0)
Y[:4] = 0, 1, 0, 1
T = X[:, 0] + 0.1 * RNG.normal(size=16)
GONE = [3, 8]
RBF = qpsvm.RBF(0.5)
CASES = {
    "c": (qpsvm.CSVM(X, Y), X, Y),
    "weights": (qpsvm.CSVM(X, Y, kernel=RBF, sample_weight=np.arange(16.0) % 4), X, Y),
    "prices": (qpsvm.CSVM(X, Y, C=1.0 + np.arange(16.0) % 4), X, Y),
    "matrix": (qpsvm.CSVM(X @ X.T, Y, kernel="precomputed"), X @ X.T, Y),
    "tube": (qpsvm.EpsilonSVR(X, T, kernel=RBF), X, T),
    "novelty": (qpsvm.OneClass(X, nu=0.3, kernel=RBF), X, None),
    "ball": (qpsvm.SVDD(X, nu=0.3), X, None),
    "nu": (qpsvm.NuSVM(X, Y, nu=0.5, kernel=RBF), X, Y),
    "constraints": (qpsvm.CSVM(X, Y, constraints=qpsvm.Constraints([[1.0, 0.0]], [0.5])), X, Y),
}


def table(folder: Path, samples, target, kept=slice(None), name="data.csv") -> Path:
    """Rows of a table as a file."""
    samples = samples[kept]
    whole = samples if target is None else np.column_stack([samples, target[kept]])
    path = folder / name
    np.savetxt(path, whole, delimiter=",", header=",".join(f"x{j}" for j in range(whole.shape[1])), comments="")
    return path


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_out_are_confirmed_to_be(tmp_path, name):
    problem, samples, target = CASES[name]
    less = qpsvm.solve(problem).without(GONE)
    proof = less.verify(tol=1e-6)
    assert proof
    assert proof.claims[0].text == "rows 3, 8 of 16 have no part in it: all of it is about the 14 others"
    data, path = table(tmp_path, samples, target), tmp_path / "proof.json"
    proof.save(path, data)
    assert json.loads(path.read_text())["data"]["without"] == GONE
    for asked in ((), (3,), (8, 3)):
        code, said = looked_at(path, data, without=asked)
        assert code == 0, said
        assert "confirmed   rows 3, 8 of the data, counted from 0, have no part in what follows" in said
    code, said = looked_at(path, data, without=(3, 4))
    assert code == 1
    assert said[-1].startswith("REFUTED     the values of its other 13 rows, without rows 3, 4, 8, are")
    assert looked_at(path, data, without=(16,))[0] == 2


@pytest.mark.parametrize("name", ["c", "matrix", "tube"])
def test_rows_that_are_in_are_refuted(tmp_path, name):
    problem, samples, target = CASES[name]
    result, data = qpsvm.solve(problem), table(tmp_path, samples, target)
    gone = np.flatnonzero(result.coef)[[0, 2]].tolist()  # of others the plane is the same without them
    whole, less = tmp_path / "whole.json", tmp_path / "less.json"
    result.verify().save(whole, data)
    result.without(gone).verify().save(less)
    assert looked_at(whole, data)[0] == 0
    code, said = looked_at(whole, data, without=gone)  # a proof of the model with them in it
    assert code == 1
    assert said[-1].startswith("REFUTED")
    # who forges writes the old plane, or the old numbers, into the proof without them, and seals it again
    true, forged = json.loads(less.read_text()), json.loads(whole.read_text())
    del true["seal"], forged["seal"]
    plane = dict(forged["plane"])
    if "coef" in plane:
        plane["coef"] = np.delete(plane["coef"], gone).tolist()
    path = tmp_path / "forged.json"
    for content in ({**true, "plane": plane}, {**forged, "data": true["data"], "file": {}}):
        path.write_bytes(sealed(content))
        assert looked_at(path, data)[0] != 0
    # rows that are said to be out and are not: none of the data is missing
    path.write_bytes(sealed({**forged, "data": {**forged["data"], "without": gone}, "file": {}}))
    assert looked_at(path, data)[0] == looked_at(path, data, without=gone)[0] == 1
    for wrong in (gone[::-1], [3, 3], [], [-1], [1.5], "3"):
        path.write_bytes(sealed({**true, "data": {**true["data"], "without": wrong}}))
        assert looked_at(path, data)[0] == 2
    path.write_bytes(sealed({**true, "data": {**true["data"], "without": [gone[0], gone[1] + 1]}}))
    assert looked_at(path, data)[0] == 1


def test_whoever_has_erased_the_rows_has_a_proof_of_the_others(tmp_path):
    problem, samples, target = CASES["tube"]
    proof, path = qpsvm.solve(problem).without(GONE).verify(), tmp_path / "proof.json"
    rest = table(tmp_path, samples, target, np.delete(np.arange(16), GONE), "rest.csv")
    proof.save(path, rest)
    assert "without" not in json.loads(path.read_text())["data"]
    assert looked_at(path, rest)[0] == 0
    proof.save(path)  # of which file is not said: so it is of the table that had the rows
    assert looked_at(path, rest)[0] == 1
    assert looked_at(path, table(tmp_path, samples, target))[0] == 0
    with pytest.raises(qpsvm.DataError):
        proof.save(path, table(tmp_path, samples, target, slice(15), "short.csv"))
    with pytest.raises(qpsvm.FileFormatError):
        proof.save(path, table(tmp_path, samples, target, slice(7), "short.csv"))


def test_rows_are_those_of_the_first_table():
    result = qpsvm.solve(qpsvm.CSVM(X, Y)).without([3]).without([7])  # the row 8 of the table
    assert result.problem.samples.left_out == (3, 8)
    assert result.problem.replace(C=2.0).samples.left_out == (3, 8)
    mask = np.arange(14) == 0
    assert result.without(mask).problem.samples.left_out == (0, 3, 8)
    assert result.without([]).problem.samples.left_out == (3, 8)
    assert result.with_samples(X[:2], Y[:2]).problem.samples.left_out == ()
    assert result.with_targets(1 - Y[:14]).problem.samples.left_out == ()
    weighted = qpsvm.CSVM(X, Y, sample_weight=np.arange(16.0) % 4)
    assert qpsvm.solve(weighted).without(GONE).problem.samples.left_out == (3, 8)


def test_on_the_command_line_and_without_this_library(tmp_path, capsys):
    problem, samples, target = CASES["c"]
    data, path = table(tmp_path, samples, target), tmp_path / "proof.json"
    qpsvm.solve(problem).without(GONE).verify().save(path, data)
    assert main(["verify", str(path), "--data", str(data), "--without", "8, 3"]) == 0
    assert "rows 3, 8 of the data, counted from 0, have no part in what follows" in capsys.readouterr().out
    assert main(["verify", str(path), "--data", str(data), "--without", "2"]) == 1
    assert main(["verify", str(path), "--data", str(data), "--without", "99"]) == 2
    assert "no [99]" in capsys.readouterr().err
    alone = [sys.executable, "-I", checker.__file__, str(path), "--data", str(data), "--without"]
    for rows, code in (("3,8", 0), ("5", 1), ("x", 2), ("-1", 2)):
        assert subprocess.run([*alone, rows], capture_output=True, check=False).returncode == code
