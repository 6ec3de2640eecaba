"""`solve --proof` and `verify`: a proof of the very numbers, and a check of it that reads the data by itself."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
from command_line import fail, run, succeed
from each import for_each

import qpsvm

RNG = np.random.default_rng(0)
ROWS = [
    f"{float(a)!r},{'north' if a > 0.3 else 'south'},{b:.3f},{'cat' if a + 0.3 * b > 0 else 'dog'},{weight}"
    for a, b, weight in zip(RNG.normal(size=30), RNG.normal(size=30), RNG.integers(1, 4, 30), strict=True)
]
TABLE = "\n".join(["age,region,height,kind,counts", *ROWS]) + "\n"
TRICKY = (
    '\ufeff"a;b";region ;;y\r\n'
    '1e-3; "north; by west";x;1\r\n'
    "\r\n"
    '-.5;south;y; 2.0\r\n+7E1;south;x;1\r\nNA;south;x;2\r\n0.1;"north; by west";y;1\r\n3;?;x;3\r\n2;south;x;3\r\n'
)
LIBSVM = "# a comment\n+1 1:0.5 3:-2e-1 # and another\n-1 2:1\n+1 3:0.25 1000:1e-5\n\n-1 1:-3 2:0\n+1\n"


def proven(capsys, folder: Path, file: Path, *options: object) -> tuple[Path, str]:
    """Solve with a proof and have it confirmed; what `verify` prints."""
    proof = folder / "proof.json"
    code, out, err = run(capsys, "solve", file, *options, "--proof", proof)
    assert (code, err) == (0, ""), (out, err)
    assert f"verify {proof} --data {file}" in out
    code, out, err = run(capsys, "verify", proof, "--data", file)
    assert (code, err) == (0, ""), (out, err)
    return proof, out


@for_each(
    "options",
    [
        ("--target", "kind", "--standardise"),
        ("--target", "kind", "--drop", "region", "--weights", "counts", "--class-weight", "cat=2"),
        ("--target", "age", "--variant", "epsilon-svr", "--kernel", "rbf", "--gamma", "0.5"),
        ("--target", "age", "--variant", "ranking", "--groups", "region"),
        ("--variant", "svdd", "--standardise"),
        ("--target", "counts", "--positive", "3", "--kernel", "polynomial", "--intercept", "penalised"),
        ("--target", "region", "--positive", "south", "--drop", "kind", "--stream"),
        ("--target", "kind", "--variant", "hard", "--kernel", "rbf", "--gamma", "3"),
    ],
)
def test_a_table_is_read_as_it_was(capsys, tmp_path, options):
    file = tmp_path / "table.csv"
    file.write_text(TABLE if "--stream" not in options else TABLE.replace(",north,", ",1,").replace(",south,", ",2,"))
    options = [{"south": "2"}.get(o, o) if "--stream" in options else o for o in options]
    proof, out = proven(capsys, tmp_path, file, *options)
    assert "the data are table.csv, to the last byte" in out
    assert out.splitlines()[-1] == f"{proof}: every claim is confirmed, in exact arithmetic"
    file.write_text(file.read_text() + "\n")
    code, out, err = run(capsys, "verify", proof, "--data", file)
    assert (code, err) == (1, "")
    assert "REFUTED     the data are table.csv, to the last byte" in out
    assert f"{proof}: refuted" in out


def test_odd_tables_and_libsvm_lines_are_read_as_they_were(capsys, tmp_path):
    file = tmp_path / "tricky.csv"
    file.write_bytes(TRICKY.replace(";;", ";c;").encode())
    proven(capsys, tmp_path, file, "--target", "y", "--positive", "3", "--drop-missing", "--standardise")
    proven(capsys, tmp_path, file, "--target", "region", "--drop-missing", "--drop", "a;b")
    for ending, opened in (("", open), (".gz", gzip.open), (".xz", lzma.open)):
        packed = tmp_path / f"data{ending}"
        with opened(packed, "wb") as stream:
            stream.write(LIBSVM.encode())
        _, out = proven(capsys, tmp_path, packed, "--C", "3")
        assert "the values of its 5 rows" in out
    packed.unlink()
    file.write_text(LIBSVM.replace("2:1\n", "0:1\n").replace("3:0.25", "3:nan"))
    _, out = proven(capsys, tmp_path, file, "--drop-missing", "--standardise")
    assert "the values of its 4 rows" in out


def test_arrays_are_read_as_they_were(capsys, tmp_path):
    samples = RNG.normal(size=(20, 3))
    target = tmp_path / "y.npy"
    np.save(tmp_path / "X.npy", samples.astype(np.float32))
    np.save(target, (samples[:, 0] > 0).astype(np.int8))
    proven(capsys, tmp_path, tmp_path / "X.npy", "--target", target, "--standardise")
    proven(capsys, tmp_path, tmp_path / "X.npy", "--target", "-1", "--variant", "quantile-svr")


def test_a_proof_from_python_is_checked_by_any_file_with_its_values(capsys, tmp_path):
    samples = RNG.normal(size=(20, 2))
    labels = np.where(samples[:, 0] + 0.5 * RNG.normal(size=20) > 0, "yes", "no")
    result = qpsvm.solve(qpsvm.CSVM(samples, labels, kernel="rbf"))
    proof, file = tmp_path / "proof.json", tmp_path / "data.csv"
    result.verify().save(proof)
    rows = [f"{label},{a!r},{b!r}" for label, (a, b) in zip(labels, samples.tolist(), strict=True)]
    file.write_text("\n".join(["label,a,b", *rows]) + "\n")
    out = succeed(capsys, "verify", proof, "--data", file, "--target", "label")
    assert "CSVM, C 1.0, intercept free, kernel rbf, gamma" in out
    code, _, err = run(capsys, "verify", proof, "--data", file)
    assert code == 2
    assert err.startswith("qpsvm: error: ")
    rows[3] += "e-3"
    file.write_text("\n".join(["label,a,b", *rows]) + "\n")
    code, out, _ = run(capsys, "verify", proof, "--data", file, "--target", "label")
    assert code == 1
    assert "REFUTED     the values of its 20 rows" in out


def test_what_is_not_optimal_is_told_and_its_proof_is_one_all_the_same(capsys, tmp_path):
    file, proof = tmp_path / "table.csv", tmp_path / "proof.json"
    file.write_text(TABLE)
    options = ("--target", "kind", "--kernel", "rbf", "--backend", "osqp", "--no-polish", "--max-iter", "25")
    code, out, _ = run(capsys, "solve", file, *options, "--proof", proof)
    assert code == 1
    assert "refuted" in out
    code, out, _ = run(capsys, "verify", proof, "--data", file)
    assert code == 1
    assert "its claims are confirmed, but its gap is above --tol 1e-06" in out
    out = succeed(capsys, "verify", proof, "--data", file, "--tol", 0.9)
    assert "the relative gap (P - D)/max(|P|, |D|) is at least" in out


@for_each(
    "arguments, said",
    [
        (("verify", "absent.json", "--data", "table.csv"), "absent.json does not exist"),
        (("verify", "proof.json", "--data", "absent.csv"), "absent.csv does not exist"),
        (("verify", "table.csv", "--data", "table.csv"), "table.csv is not a proof file of qpsvm"),
        (("verify", ".", "--data", "table.csv"), "cannot be read"),
        (("verify", "proof.json"), "--data"),
        (("solve", "table.csv", "--target", "kind", "--proof", "x", "--test-size", "0.5"), "--proof or --test-size"),
        (("solve", "table.csv", "--target", "kind", "--proof", "absent/x"), "cannot write absent/x"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE)
    Path("proof.json").write_text(json.dumps({"format": "qpsvm proof"}))
    assert said in fail(capsys, *arguments)


def test_an_error_that_proves_itself_is_proven_on_request(capsys, tmp_path):
    file, proof = tmp_path / "cross.csv", tmp_path / "proof.json"
    file.write_text("a,b,y\n0,0,no\n1,0,yes\n0,1,yes\n1,1,no\n")
    code, out, err = run(capsys, "solve", file, "--target", "y", "--variant", "hard", "--proof", proof)
    assert code == 2
    assert "no hyperplane separates the classes" in out
    assert err.startswith("qpsvm: error: the classes are not separable")
    out = succeed(capsys, "verify", proof, "--data", file)
    assert "both make the same point" in out
    proof.unlink()
    code, out, _ = run(capsys, "solve", file, "--target", "y", "--variant", "hard")
    assert (code, "proof" in out) == (2, False)
