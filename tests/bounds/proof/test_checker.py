"""Proof files and the checker that stands alone: what is true is confirmed, and whatever is changed is found."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from checking import run_checker
from each import for_each
from sealing import sealed
from textbook_gap import TextbookMachine, is_true

import qpsvm
from qpsvm.base.errors import DataError, FileFormatError, UnsupportedError
from qpsvm.bounds.proof import checker
from qpsvm.bounds.proof.file import compute_digest
from qpsvm.data.rows import as_row_source
from qpsvm.faces.cli.terminal import SPELLINGS

RNG = np.random.default_rng(0)
N = 14
X = RNG.normal(size=(N, 2))
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0.0, 3, 1)
LABELS[:2] = 1, 3
APART = X + 3.0 * (LABELS == 3)[:, None]
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=N)
RANKS = np.round(2.0 * X[:, 0])
WEIGHT = RNG.integers(0, 3, N) / 7.0
VALUES = qpsvm.ValueConstraints(X[:3], np.array([[1.0, -1.0, 0.0], [0.3, 0.0, 1.0]]), [0.2, -0.1])
HALF_PLANE = qpsvm.Constraints([[1.0, 0.0]], [0.1], c=0.5)


def machines() -> Iterator[tuple[str, Any, Any]]:
    """A name, samples and target, and a machine of them: samples are None where a proof is of what is made of them."""
    kernels = {"linear": qpsvm.Linear(), "poly": qpsvm.Polynomial(3, 0.3, 1.0), "rbf": qpsvm.RBF(0.3)}
    for name, kernel in kernels.items():
        for label, intercept in (("", "free"), (" penalised", "penalised"), (" none", None)):
            made = qpsvm.CSVM(X, LABELS, C=WEIGHT + 0.5, kernel=kernel, intercept=intercept, sample_weight=WEIGHT)
            yield f"C-SVM{label} {name}", (X, LABELS), made
        yield f"hard {name}", (APART, LABELS), qpsvm.HardMargin(APART, LABELS, kernel=kernel)
        nu = qpsvm.NuSVM(APART, LABELS, nu=0.3, kernel=kernel, sample_weight=WEIGHT + 0.2)
        yield f"nu {name}", (APART, LABELS), nu
        yield f"hinge {name}", (X, LABELS), qpsvm.PrimalHinge(X, LABELS, lam=0.03, kernel=kernel, sample_weight=WEIGHT)
        yield f"squared {name}", (X, LABELS), qpsvm.SquaredHinge(X, LABELS, kernel=kernel)
        yield f"huber {name}", (X, LABELS), qpsvm.HuberHinge(X, LABELS, C=0.7, width=0.3, kernel=kernel)
        yield f"tube {name}", (X, NUMBERS), qpsvm.EpsilonSVR(X, NUMBERS, sample_weight=WEIGHT, kernel=kernel)
        yield f"squared tube {name}", (X, NUMBERS), qpsvm.EpsilonSVR(X, NUMBERS, loss="squared", kernel=kernel)
        yield f"nu tube {name}", (X, NUMBERS), qpsvm.NuSVR(X, NUMBERS, C=3.0, kernel=kernel)
        yield f"quantile {name}", (X, NUMBERS), qpsvm.QuantileSVR(X, NUMBERS, quantile=0.3, kernel=kernel)
        yield f"novelty {name}", (APART, None), qpsvm.OneClass(APART, nu=0.3, kernel=kernel)
        yield f"ball {name}", (X, None), qpsvm.SVDD(X, nu=0.3, kernel=kernel, sample_weight=WEIGHT)
        yield f"ranking {name}", (X, RANKS), qpsvm.Ranking(X, RANKS, kernel=kernel, sample_weight=WEIGHT)
        yield f"values {name}", (X, LABELS), qpsvm.CSVM(X, LABELS, constraints=VALUES, kernel=kernel)
    yield "rows", (X, NUMBERS), qpsvm.EpsilonSVR(X, NUMBERS, constraints=[HALF_PLANE, VALUES])
    far = X + 2e6
    yield "far", (far, LABELS), qpsvm.CSVM(far, LABELS, C=5e4)
    yield "sigmoid", (X[:6], LABELS[:6]), qpsvm.CSVM(X[:6], LABELS[:6], kernel=qpsvm.Sigmoid(0.1, -0.5))
    yield "shifted", (None, LABELS), qpsvm.CSVM(X, LABELS, kernel=qpsvm.Sigmoid(0.1, 0.5), psd="shift")
    yield "function", (None, NUMBERS), qpsvm.EpsilonSVR(X, NUMBERS, kernel=lambda A, B: (A @ B.T) ** 2)
    matrix = X @ X.T + np.eye(N)
    yield "matrix", (matrix, None), qpsvm.OneClass(matrix, nu=0.2, kernel="precomputed")
    mapped = qpsvm.CSVM(X, LABELS, kernel=qpsvm.Nystroem(qpsvm.RBF(0.3), 4))
    yield "map", (None, LABELS), mapped


CASES = {name: (data, machine) for name, data, machine in machines()}


def write_data(folder: Path, data: Any, kind: str = "csv") -> str:
    """Write samples and a target, or None, as a file."""
    samples, target = data
    whole = samples if target is None else np.column_stack([samples, target])
    path = folder / f"data.{kind}"
    if kind == "npy":
        np.save(path, whole)
    else:
        np.savetxt(path, whole, delimiter=",", header=",".join(f"x{j}" for j in range(whole.shape[1])), comments="")
    return str(path)


@pytest.mark.parametrize("name", CASES)
def test_proofs_of_every_machine_are_confirmed(tmp_path, name):
    data, machine = CASES[name]
    proof = qpsvm.solve(machine, check=False).verify()
    assert {letter for letter in str(proof) if not letter.isascii()} <= SPELLINGS.keys()  # on any terminal
    path = tmp_path / "proof.json"
    if data[0] is None:  # features, or a kernel matrix
        data = proof.record["stated"]().X.take(np.arange(N)), data[1]
    file = write_data(tmp_path, data, "npy" if len(name) % 2 else "csv")
    proof.save(path, file)
    code, said = run_checker(path, file, 1e-6)
    assert code == 0, said
    claims = json.loads(path.read_text())["claims"]
    gap = "gap of zero at most" if name == "novelty linear" else "gap at most"
    assert {"primal at most", "dual at least", gap} <= {claim["claim"] for claim in claims} or name == "matrix"
    assert any(line.startswith("assumed") for line in said) == (
        name in ("sigmoid", "shifted", "function", "matrix", "map")
    )
    if name == "far":  # what the rounding of b costs is told apart
        assert claims[-1]["claim"] == "gap with the best b at most"
        assert claims[-1]["bound"] < 0.5 * proof.gap


# --- tampering --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_proof(tmp_path_factory) -> tuple[Path, Path]:
    """A small proof of a C-SVM and its data."""
    folder = tmp_path_factory.mktemp("small")
    samples = np.array([[0.5, 1.0], [2.0, -1.0], [3.0, 0.25], [0.0, 1.5], [1.5, 1.5]])
    labels = [0, 1, 1, 0, 0]
    data = folder / "data.csv"
    rows = "\n".join(f"{a},{b},{y}" for (a, b), y in zip(samples.tolist(), labels, strict=True))
    data.write_text(f"a,b,y\n{rows}\n")
    result = qpsvm.solve(qpsvm.CSVM(samples, labels, C=2.0))
    result.verify().save(folder / "proof.json", data)
    return folder / "proof.json", data


def test_every_byte_that_is_changed_is_found(small_proof, monkeypatch):
    files = {str(path): path.read_bytes() for path in small_proof}
    monkeypatch.setattr(checker, "read_content", files.__getitem__)
    assert run_checker(*small_proof)[0] == 0
    for name, content in list(files.items()):
        for place in range(len(content)):
            files[name] = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            code, said = run_checker(*small_proof)
            assert code != 0, (name, place, said)
        for changed in (content[:-1], content + b"\n", b""):
            files[name] = changed
            assert run_checker(*small_proof)[0] != 0
        files[name] = content


def leaves(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every number and text of a proof, as where it is and under which key."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(value, (dict, list)):
            yield from leaves(value)
        else:
            yield content, key


def list_changes(value: Any) -> list[Any]:
    """List what a number or text might be changed to."""
    if isinstance(value, bool) or value is None:
        return [True, 0, 1.5, "free"]
    if isinstance(value, str):
        return [f"{value}x", "", None, 3]
    if isinstance(value, int):
        near = [value + 1, value - 1]
    else:
        near = [np.nextafter(value, np.inf).item()]
    return [
        *near,
        -value,
        2 * value,
        0,
        0.5 * value,
        value * 1e-3,
        value * (1 + 1e-9),
        "nan",
        float("inf"),
        True,
        [value],
    ]


def test_every_number_that_is_changed_and_sealed_again_is_judged_by_arithmetic(small_proof, tmp_path):
    """What is confirmed is true; what is true of numbers that stand in α, in the plane or in a claim is confirmed."""
    proof, data = small_proof
    table = np.loadtxt(data, delimiter=",", skiprows=1)
    machine = TextbookMachine("c", table[:, :2], 2.0 * table[:, 2] - 1.0)
    path = tmp_path / "proof.json"
    content = json.loads(proof.read_text())
    refuted = 0
    del content["seal"]
    path.write_bytes(sealed(content))
    assert run_checker(path, data)[0] == 0
    content["file"] = {}
    for holder, key in list(
        leaves({name: part for name, part in content.items() if name not in ("format", "version")})
    ):
        value = holder[key]
        for other in list_changes(value):
            holder[key] = other
            path.write_bytes(sealed(content))
            code, said = run_checker(path, data)
            if code == 0:
                assert is_true(content, machine), (key, value, other, said)
            refuted += code == 1
        holder[key] = value
    assert refuted > 50


@pytest.mark.parametrize("name", ["C-SVM rbf", "tube poly", "nu linear", "ball rbf", "quantile linear", "far"])
def test_a_claim_that_is_too_good_is_refuted_though_it_is_sealed(tmp_path, name):
    data, machine = CASES[name]
    problem = machine
    result = qpsvm.solve(problem, check=False)
    if name.endswith("linear") or name == "far":
        worse = result
    else:
        worse = problem.at(0.9 * result.alpha)
    proof = worse.verify(tol=1e-30)
    path = tmp_path / "proof.json"
    file = write_data(tmp_path, data)
    proof.save(path, file)
    content = json.loads(path.read_text())
    del content["seal"]
    assert run_checker(path, file, 1.0)[0] == 0
    for claim in content["claims"]:
        if "bound" not in claim:
            continue
        value = claim["bound"]
        at_least = claim["claim"].endswith("at least")
        gap = claim["claim"].startswith(("gap", "distance"))
        away = 0.5 * value if gap else 0.4 * proof.difference + 1e-14 * abs(value)
        if proof.gap < 1e-13 and not gap:
            continue
        claim["bound"] = value + away if at_least else value - away
        path.write_bytes(sealed(content))
        code, said = run_checker(path, file, 1.0)
        assert code == 1, (claim, said)
        verdict = "open" if claim["claim"] == "distance at most" else "REFUTED"  # the plane may be nearer
        assert sum(line.startswith(verdict) for line in said) == 1
        claim["bound"] = value


def test_an_alpha_outside_of_its_box_proves_nothing(small_proof, tmp_path):
    proof, data = small_proof
    path = tmp_path / "proof.json"
    content = json.loads(proof.read_text())
    del content["seal"]
    content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 1e300}]
    path.write_bytes(sealed(content))
    assert run_checker(path, data)[0] == 0
    integers = content["alpha"]["integers"]
    content["alpha"]["integers"] = [1000 * j for j in integers]  # keeps the equality
    path.write_bytes(sealed(content))
    assert run_checker(path, data)[0] == 1
    content["alpha"]["integers"] = [integers[0] + 1, *integers[1:]]  # keeps the box
    path.write_bytes(sealed(content))
    assert run_checker(path, data)[0] == 1


@for_each(
    "old, new",
    [
        (b'"version": 1', b'"version": 2'),
        (b'"kernel": {"name": "linear"}', b'"kernel": {"name": "splines"}'),
        (b'"kernel": {"name": "linear"}', b'"kernel": {"name": "rbf", "gamma": -1.0}'),
        (b'"C": 2.0', b'"C": 2.0, "C": 3.0'),
        (b'"C": 2.0', b'"C": -2.0'),
        (b'"C": 2.0', b'"C": NaN'),
        (b'"C": 2.0', b'"C": 1e999'),
        (b'"name": "CSVM"', b'"name": "Oracle"'),
        (b'"claim": "feasible"', b'"claim": "it is optimal"'),
        (b'"claim": "feasible"', b'"claim": "feasible", "b": [1, 2]'),
        (b'"others": []', b'"others": [[0, 1, 0]]'),
        (b'"plane"', b'"plain"'),
    ],
)
def test_what_is_no_proof_is_not_confirmed_though_it_is_sealed(small_proof, tmp_path, old, new):
    proof, data = small_proof
    content = proof.read_bytes()
    assert old in content
    body = content.replace(old, new).rpartition(checker.SEAL)[0]
    path = tmp_path / "proof.json"
    path.write_bytes(body + checker.SEAL + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n')
    assert run_checker(path, data)[0] in (1, 2)


# --- what it is made of -----------------------------------------------------------------------------------------------


def test_the_checker_imports_the_standard_library_only_and_runs_alone(small_proof):
    path = Path(checker.__file__)
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            names.add(str(node.module))
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    command = [sys.executable, "-I", "-S", str(path), str(small_proof[0]), "--data", str(small_proof[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line.startswith(("confirmed", "claimed of", "read as")) for line in done.stdout.splitlines())
    done = subprocess.run([*command[:-1], "absent.csv"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("cannot be used: absent.csv")


def test_irrational_kernel_values_are_between_their_bounds():
    """Judged by decimals of 90 digits."""
    rng = np.random.default_rng(1)
    points = [Fraction(0), Fraction(1, 10**40), Fraction(191), Fraction(2**60, 3)]
    points += [Fraction(float(x)) for x in 10.0 ** rng.uniform(-9.0, 2.5, 60)]
    with localcontext() as context:
        context.prec = 90
        context.Emin = -(10**15)
        for x in points:
            exact = (-Decimal(x.numerator) / Decimal(x.denominator)).exp()
            low, high = checker.enclose_exponential(x)
            assert Decimal(low) <= exact * 2**checker.BITS <= Decimal(high)
            assert high - low <= 2**24
            square = exact * exact
            low, high = checker.enclose_tangent(x)
            assert Decimal(low) <= (1 - square) / (1 + square) * 2**checker.BITS <= Decimal(high)
            assert high - low <= 2**28
            assert x == 0 or checker.enclose_tangent(-x) == (-high, -low)


def test_the_digest_is_of_values_wherever_they_are():
    dense = np.array([[0.0, -0.0, 3.0], [1.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    stored = sp.csr_array((np.array([3.0, 0.0, 1.5]), np.array([2, 1, 0]), np.array([0, 1, 3, 3])), shape=(3, 3))
    target = np.array([1.0, -1.0, 1.0])
    found = {compute_digest(as_row_source(samples), target) for samples in (dense, stored, np.asfortranarray(dense))}
    rows = [{j: v for j, v in enumerate(row) if v} for row in dense.tolist()]
    assert found == {checker.compute_digest(rows, target.tolist())}
    assert compute_digest(as_row_source(dense[:, ::-1].copy()), target) not in found
    assert compute_digest(as_row_source(dense), -target) not in found


@for_each("dtype", ["<f8", "<f4", ">f8", "<i4", "|i1", "|b1", "<u2"])
@for_each("order", ["C", "F"])
def test_arrays_are_read_as_numpy_reads_them(tmp_path, dtype, order):
    values = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=dtype, order=order)
    path = tmp_path / "x.npy"
    np.save(path, values)
    rows, y, kind = checker.read_samples(path.read_bytes(), {}, None, {"name": "CSVM", "classes": [0, 1]})
    assert kind == "npy"
    assert rows == [{1: 1.0}, {0: 1.0}, {0: 1.0, 1: 1.0}, {}]
    assert y == [1.0, -1.0, 1.0, -1.0]


def test_a_file_with_other_values_is_refused(tmp_path):
    result = qpsvm.solve(qpsvm.CSVM(X, LABELS))
    file = write_data(tmp_path, (X + 1e-9, LABELS))
    with pytest.raises(DataError, match="other values than the samples"):
        result.verify().save(tmp_path / "proof.json", file)
    (tmp_path / "text.csv").write_text("a,b\nx,y\n")
    with pytest.raises(FileFormatError, match="cannot be read as samples"):
        result.verify().save(tmp_path / "proof.json", tmp_path / "text.csv")
    assert not (tmp_path / "proof.json").exists()


def test_a_proof_of_nothing_has_no_file(tmp_path):
    of_its_own = qpsvm.CSVM(X, LABELS, kernel=lambda A, B: A @ B.T, sample_weight=WEIGHT)
    with pytest.raises(UnsupportedError, match="only where all rows have a weight"):
        qpsvm.solve(of_its_own).verify().save(tmp_path / "proof.json")
    result = qpsvm.solve(qpsvm.CSVM(X, LABELS))
    nothing = replace(result, alpha=np.full(N, np.nan))
    with pytest.raises(UnsupportedError, match="nothing proven"):
        nothing.verify().save(tmp_path / "proof.json")
    ball = qpsvm.SVDD(X, nu=0.3, constraints=qpsvm.ValueConstraints(X[:1], [[-1.0]], [0.0]))
    with pytest.raises(UnsupportedError, match="linear constraints beside a ball"):
        qpsvm.solve(ball, check=False).verify().save(tmp_path / "proof.json")


@for_each("kernel", [qpsvm.Linear(), qpsvm.Polynomial(2, 0.5, 1.0), qpsvm.RBF(0.7), qpsvm.Precomputed()])
def test_a_point_of_both_hulls_is_confirmed_and_any_other_refuted(tmp_path, kernel):
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [3.0, 5.0], [0.5, 0.5]])
    labels = np.array([0, 1, 1, 0, 0, 1])
    if not isinstance(kernel, qpsvm.Linear):
        points[5] = points[0]  # the same point in both classes
    samples = points @ points.T if isinstance(kernel, qpsvm.Precomputed) else points
    with pytest.raises(qpsvm.NotSeparableError) as caught:
        qpsvm.solve(qpsvm.HardMargin(samples, labels, kernel=kernel))
    path = tmp_path / "proof.json"
    file = write_data(tmp_path, (samples, labels))
    caught.value.verify().save(path, file)
    assert run_checker(path, file)[0] == 0
    content = json.loads(path.read_text())
    del content["seal"]
    for side in "uv":
        weight = content["hulls"][side][0]
        for place, value in ((0, 4), (1, 2 * weight[1]), (1, -weight[1]), (2, 7 * weight[2])):
            before = weight[place]
            weight[place] = value
            path.write_bytes(sealed(content))
            assert run_checker(path, file)[0] in (1, 2)
            weight[place] = before
    path.write_bytes(sealed({**content, "claims": [{"claim": "gap at most", "bound": 1.0}]}))
    assert run_checker(path, file)[0] == 2


def test_of_other_proofs_there_is_no_file_yet(tmp_path):
    with pytest.raises(qpsvm.InfeasibleNuError) as caught:
        qpsvm.NuSVM([[0.0], [1.0], [2.0]], [0, 0, 1], nu=0.9)
    with pytest.raises(UnsupportedError, match="goes into no file yet"):
        caught.value.verify().save(tmp_path / "proof.json")


def test_a_distance_below_zero_is_refuted_and_old_files_without_one_are_read(small_proof, tmp_path):
    proof, data = small_proof
    path = tmp_path / "proof.json"
    content = json.loads(proof.read_text())
    del content["seal"]
    (far,) = (claim for claim in content["claims"] if claim["claim"] == "distance at most")
    bound = far["bound"]
    far["bound"] = -far["bound"]
    path.write_bytes(sealed(content))
    code, said = run_checker(path, data)
    assert code == 1
    assert any(line.startswith("REFUTED") for line in said)
    far["bound"] = bound
    content["claims"].remove(far)
    path.write_bytes(sealed(content))
    assert run_checker(path, data)[0] == 0


@for_each("weight", [None, [1.0, 2.0, 1.0, 0.5]])
def test_a_ball_of_radius_0_is_proven_and_confirmed(tmp_path, weight):
    X = np.tile([0.1, 0.3], (4, 1))
    for kernel in (qpsvm.Polynomial(2, gamma=1.0, coef0=1.0), qpsvm.Polynomial(3), qpsvm.RBF(0.5)):
        result = qpsvm.solve(qpsvm.SVDD(X, kernel=kernel, sample_weight=weight))
        proof = result.verify(tol=1e-6)
        assert proof
        assert result.gap == proof.gap == result.primal == proof.primal == 0.0  # b is a rounding of −K(x, x): R is not
        file = str(tmp_path / "X.npy")
        np.save(file, X)
        proof.save(tmp_path / "proof.json", file)
        code, said = run_checker(tmp_path / "proof.json", file, 1e-6)
        assert code == 0, said


@for_each(
    "kernel",
    [qpsvm.Sigmoid(0.5), lambda A, B: (A @ B.T + 1.0) ** 2, "precomputed"],
)
def test_a_matrix_of_one_number_is_semidefinite(kernel):
    X = np.full((4, 4), 0.3)
    result = qpsvm.solve(qpsvm.SVDD(X, kernel=kernel))
    assert result.gap == result.verify().gap == 0.0
