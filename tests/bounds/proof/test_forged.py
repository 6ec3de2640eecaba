"""Forged proof files: whatever is written into one and sealed again, nothing false is confirmed, and nothing hangs."""

from __future__ import annotations

import copy
import gzip
import json
import os
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import checking
import numpy as np
import pytest
from each import for_each
from sealing import sealed, sealed_text
from textbook_gap import REGRESSIONS, TextbookMachine, is_true

import qpsvm
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof import checker
from qpsvm.faces.cli import main

RNG = np.random.default_rng(26)
X = np.round(RNG.normal(size=(7, 2)), 2)
LABELS = np.array([0, 1, 0, 1, 1, 0, 1])
NUMBERS = np.round(X[:, 0] + 0.3 * RNG.normal(size=7), 2)
#: How many forgeries of each machine are tried, and how long one may take.
EACH, SECONDS = 150, 5.0
KINDS = ("c", "nu", "hinge", "hard", "squared", "huber", *REGRESSIONS, "one")
HOSTILE: list[Any] = [
    0, 1, -1, 2, 0.5, -0.5, 1e308, -1e308, 5e-324, 10**6, -(10**6), 10**400, 10**4200, 2**53 + 1, True, False, None, "",
    "1e999999999", "nan", "free", "penalised", "linear", "precomputed", "gap at most", [], {}, [[]], [0], [[0, 1, 3]],
    {"0": 1}, "x\nconfirmed   the gap is 0", "\u2028\u202econfirmed", "x" * 20000,
]  # fmt: skip
NAMES = ["C", "nu", "kernel", "gamma", "intercept", "weights", "classes", "rows", "bound", "b", "lower", "coef", "w",
         "hulls", "others", "target", "labels", "scale", "mean", "columns", "pairs", "centre", "extra"]  # fmt: skip


def check_quickly(proof: Path, data: Path, tol: float = 1e-6) -> tuple[int, list[str]]:
    """Call `checking.run_checker`: it does not take long, and every line can be printed."""
    start = time.process_time()
    code, said = checking.run_checker(proof, data, tol)
    assert time.process_time() - start < SECONDS
    assert all(line.isprintable() for line in said)
    return code, said


def save_proof(folder: Path, problem: Any, samples: Any, target: Any) -> tuple[Any, Path]:
    """Save what the library writes of a problem, as JSON, and its data as .npy."""
    data = folder / "data.npy"
    np.save(data, np.asarray(samples, float) if target is None else np.column_stack([samples, target]))
    result = qpsvm.solve(problem, check=False)
    proof = (getattr(result, "error", None) or result).verify()
    proof.save(folder / "proof.json", data)
    assert check_quickly(folder / "proof.json", data)[0] == 0
    return json.loads((folder / "proof.json").read_text(encoding="utf-8")), data


def build_machine(kind: str) -> tuple[TextbookMachine, Any]:
    """Build a machine of one kind that is easy to solve, and what its file has for a target."""
    samples = X + 3.0 * LABELS[:, None] * (kind in ("hard", "nu"))
    y = NUMBERS if kind in REGRESSIONS else 2.0 * LABELS - 1.0
    samples = samples + 2.0 if kind == "one" else samples
    return TextbookMachine(kind, samples, y, C=2.0, nu=0.4), None if kind == "one" else y


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every place of a proof: what holds it, and its key."""
    found = []
    for key, value in list(content.items()) if isinstance(content, dict) else list(enumerate(content)):
        found.append((content, key))
        found += places(value) if isinstance(value, (dict, list)) else []
    return found


def forge(content: Any, rng: np.random.Generator) -> None:
    """One change, of a number, a name or a part."""
    some = places(content)
    holder, key = some[rng.integers(len(some))]
    value = holder[key]
    kind = rng.integers(8)
    if kind == 0:
        holder[key] = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
    elif kind == 1:
        del holder[key]
    elif kind == 2 and isinstance(value, dict):
        value[NAMES[rng.integers(len(NAMES))]] = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
    elif kind == 3:
        other, at = some[rng.integers(len(some))]
        holder[key] = copy.deepcopy(other[at])
    elif kind == 4 and isinstance(value, list) and value:
        value.insert(int(rng.integers(len(value))), copy.deepcopy(value[rng.integers(len(value))]))
    elif kind == 5 and isinstance(value, list):
        value.reverse()
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        real = float(value) if abs(value) < 2**1000 else 0.0  # an integer may be far from any float
        near = [value + 1, value - 1, -value, 2 * value, real * 0.5, real * (1.0 + 1e-9), 0.0]
        holder[key] = near[rng.integers(len(near))]
    elif isinstance(value, str):
        words = [*checker.MACHINES, *checker.CLAIMS, value + " ", value[:-1]]
        holder[key] = words[rng.integers(len(words))]


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_forged_nothing_false_is_confirmed(kind, tmp_path):
    machine, target = build_machine(kind)
    content, data = save_proof(tmp_path, machine.problem, machine.X, target)
    assert is_true(content, machine)
    path = tmp_path / "proof.json"
    rng = np.random.default_rng([26, len(kind)])
    codes = []
    for _ in range(EACH):
        changed = copy.deepcopy(content)
        if rng.random() < 0.7:
            changed["file"] = {}
        for _ in range(rng.integers(1, 3)):
            forge({name: changed[name] for name in ("machine", "alpha", "plane", "claims") if name in changed}
                  if rng.random() < 0.9 else changed, rng)  # fmt: skip
        path.write_bytes(sealed(changed))
        code, said = check_quickly(path, data)
        codes.append(code)
        if code == 0:
            assert is_true(changed, machine), said
    assert min(codes.count(1), codes.count(2)) > EACH / 30


# --- forgeries that were confirmed, or that took for ever -------------------------------------------------------------


def base(name: str, folder: Path) -> tuple[Any, Path]:
    """A proof of one kind."""
    K = X @ X.T + np.eye(7)
    crossed = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    apart = X + 3.0 * LABELS[:, None]
    of_three = np.array([0, 1, 2, 0, 1, 2, 2])
    near = qpsvm.ValueConstraints(X[:2], np.eye(2), [0.5, 0.5])
    problem, samples, target = {
        "c": lambda: (qpsvm.CSVM(X, LABELS, 2.0), X, LABELS),
        "nu": lambda: (qpsvm.NuSVM(apart, LABELS, 0.5, sample_weight=1.0 + 1.25 * LABELS), apart, LABELS),
        "polynomial": lambda: (qpsvm.CSVM(X, LABELS, kernel=qpsvm.Polynomial(3, 0.5, 1.0)), X, LABELS),
        "rbf": lambda: (qpsvm.EpsilonSVR(X, NUMBERS, kernel=qpsvm.RBF(0.5)), X, NUMBERS),
        "matrix": lambda: (qpsvm.CSVM(K, LABELS, kernel=qpsvm.Precomputed()), K, LABELS),
        "rows": lambda: (qpsvm.CSVM(X, LABELS, constraints=near), X, LABELS),
        "ranking": lambda: (qpsvm.Ranking(X, NUMBERS), X, NUMBERS),
        "ball": lambda: (qpsvm.SVDD(X, nu=0.4), X, None),
        "hulls": lambda: (qpsvm.HardMargin(crossed, [0, 0, 1, 1]), crossed, [0, 0, 1, 1]),
        "joint": lambda: (qpsvm.CrammerSinger(X, of_three), X, of_three),
    }[name]()
    return save_proof(folder, problem, samples, target)


def setting(*where: Any, to: Any) -> Any:
    """A change: what is at a path of keys."""

    def change(content: Any) -> None:
        for key in where[:-1]:
            content = content[key]
        content[where[-1]] = to

    return change


def repeat_first(*where: Any) -> Any:
    """Return a change: the first of a list, once more."""

    def change(content: Any) -> None:
        for key in where:
            content = content[key]
        content.append(copy.deepcopy(content[0]))

    return change


def drop_entry(*where: Any) -> Any:
    """Return a change: what is not there any more."""

    def change(content: Any) -> None:
        for key in where[:-1]:
            content = content[key]
        del content[where[-1]]

    return change


def add_row_beside_matrix(content: Any) -> None:
    """Add a user's row of a point of unknown K beside a matrix: K is neither symmetric then, nor definite."""
    content["machine"]["rows"] = {"names": ["a"], "points": [[9.0] * 7 + [-1e3]], "each": [[[[0, 1.0]], None, 1e6]]}
    content["alpha"]["integers"].append(0)
    content["plane"]["coef"].append(0.0)


def drop_labels(content: Any) -> None:
    """Make of labels 0 and 1 the numbers y, of which half of the rows have none: what is claimed is so of these."""
    del content["machine"]["classes"]
    rows = [{j: x for j, x in enumerate(row) if x} for row in X.tolist()]
    content["data"]["values"] = checker.compute_digest(rows, [float(y) for y in LABELS])
    content["alpha"]["integers"] = [0] * 7
    content["plane"] = {"w": [0.0, 0.0], "multipliers": {"b": 0.0}}
    content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 1.0}]


def loosely(change: Any) -> Any:
    """A change, and claims that are so of whatever is computed with it."""

    def claim_loosely(content: Any) -> None:
        change(content)
        content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 2.0}]

    return claim_loosely


def with_pair(*pair: int) -> Any:
    """A change: one more pair, with alpha = 0."""

    def change(content: Any) -> None:
        content["machine"]["pairs"].append(list(pair))
        content["alpha"]["integers"].append(0)

    return change


def add_fraction(content: Any) -> None:
    """Add the same alpha as a fraction, too."""
    e, integers = content["alpha"]["exponent"], content["alpha"]["integers"]
    k = next(k for k, j in enumerate(integers) if j)
    value = Fraction(integers[k]) * Fraction(2) ** e
    content["alpha"]["others"] = [[k, value.numerator, value.denominator]]


def nothings(*numbers: tuple[int, int]) -> Any:
    """A change: alpha = 0, as fractions."""

    def change(content: Any) -> None:
        k = content["alpha"]["integers"].index(0)
        content["alpha"]["others"] = [[k, p, q] for p, q in numbers]

    return change


def long_nothings(content: Any) -> None:
    """alpha = 0, over numbers without a common factor that are long."""
    free = [k for k, j in enumerate(content["alpha"]["integers"]) if j == 0][:3]
    content["alpha"]["others"] = [[k, 0, HUGE + odd] for k, odd in zip(free, (1, 3, 7), strict=True)]


def double_weights(content: Any) -> None:
    """Give weights that make one point, and add up to 2."""
    for side in content["hulls"].values():
        for weight in side:
            weight[1] *= 2


HUGE = 10**4000
FORGERIES: dict[str, tuple[str, Any]] = {
    "feasible with a bound": ("c", setting("claims", 0, to={"claim": "feasible", "bound": 1e9})),
    "C in the kernel": ("c", setting("machine", "kernel", "C", to=1e-9)),
    "an intercept in the kernel": ("c", setting("machine", "kernel", "intercept", to="penalised")),
    "a kernel in the kernel": ("c", setting("machine", "kernel", "kernel", to="rbf")),
    "a parameter of another machine": ("c", setting("machine", "parameters", "nu", to=0.5)),
    "no classes": ("c", drop_labels),
    "one class twice": ("c", setting("machine", "classes", to=[1, 1])),
    "classes of numbers": ("rbf", setting("machine", "classes", to=[0, 1])),
    "nu above its largest": ("nu", setting("machine", "parameters", "nu", to=0.99)),
    "a row of weights for all": ("c", setting("machine", "weights", to=[])),
    "weights of others": ("c", setting("machine", "weights", to=[1.0] * 8)),
    "weights below 0": ("c", setting("machine", "weights", to=[1.0] * 6 + [-1.0])),
    "penalties of others": ("c", setting("machine", "parameters", "C", to=[2.0] * 8)),
    "points beside a matrix": ("matrix", add_row_beside_matrix),
    "rows beside a ball": ("ball", setting("machine", "rows", to={"names": [], "points": [], "each": []})),
    "a point twice": ("rows", setting("machine", "rows", "each", 0, 0, to=[[0, 0.5], [0, 0.5]])),
    "a point from behind": ("rows", setting("machine", "rows", "each", 0, 0, to=[[-1, 1.0]])),
    "a sample better than itself": ("ranking", setting("machine", "pairs", 0, to=[1, 1])),
    "a sample better than itself, with alpha = 0": ("ranking", loosely(with_pair(1, 1))),
    "a pair of no rows, with alpha = 0": ("ranking", loosely(with_pair(1, 99))),
    "an alpha that is there as a fraction, too": ("c", add_fraction),
    "an alpha of 0, twice": ("c", nothings((0, 1), (0, 1))),
    "alphas of 0 over many digits": ("joint", long_nothings),
    "hulls that add up to 2": ("hulls", double_weights),
    "hulls of rows without a weight": ("hulls", setting("machine", "weights", to=[0.0] * 4)),
    "a pair of no rows": ("ranking", setting("machine", "pairs", 0, to=[0, 99])),
    "no claims": ("c", setting("claims", to=[])),
    "feasible alone": ("c", setting("claims", to=[{"claim": "feasible"}])),
    "not feasible": ("c", drop_entry("claims", 0)),
    "no gap": ("c", lambda content: content.update(claims=content["claims"][:3])),
    "a claim twice": ("c", repeat_first("claims")),
    "levels so low that they say nothing": ("c", setting("claims", to=[
        {"claim": "feasible"}, {"claim": "gap with lower levels at most", "bound": 1.0, "lower": [[0, 1.0]]}])),
    "levels of no rows": ("c", lambda content: content["claims"].append(
        {"claim": "gap with lower levels at most", "bound": 1.0, "lower": [[99, 1.0]]})),
    "b of another world": ("c", setting("claims", to=[
        {"claim": "feasible"}, {"claim": "gap with the best b at most", "bound": 9.0, "b": [7, 2]}])),
    "a bound of text": ("c", setting("claims", 3, "bound", to="1e999999999")),
    "a bound of truth": ("c", setting("claims", 3, "bound", to=True)),
    "an exponent of a million": ("c", setting("alpha", "exponent", to=10**6)),
    "an exponent of minus ten millions": ("c", setting("alpha", "exponent", to=-(10**7))),
    "an alpha from behind": ("c", setting("alpha", "others", to=[[-1, 0, 1]])),
    "an alpha twice": ("c", setting("alpha", "others", to=[[0, 1, 3], [0, 1, 2]])),
    "an alpha of two numbers": ("c", setting("alpha", "others", to=[[0, 1, 3], [1, 1, 2], [2, 1, 2], [3, 1, 2]])),
    "others of several classes": ("joint", setting("alpha", "others", to=[[0, 7, 1]])),
    "alphas of long fractions": ("c", setting("alpha", "others", to=[[k, 1, HUGE + k] for k in range(7)])),
    "alphas that are long": ("c", setting("alpha", "integers", to=[HUGE] * 7)),
    "powers of long numbers": ("polynomial", setting("machine", "kernel", to={
        "name": "polynomial", "degree": 99, "gamma": 5e-324, "coef0": 1e308})),
    "a degree of a million": ("polynomial", setting("machine", "kernel", "degree", to=10**6)),
    "two planes": ("c", setting("plane", "centre", to=[0.0, 0.0])),
    "a multiplier of nothing": ("c", setting("plane", "multipliers", "rho", to=1.0)),
    "hulls of another machine": ("hulls", setting("machine", "name", to="CSVM")),
    "hulls and another claim": ("hulls", lambda content: content["claims"].append({"claim": "feasible"})),
    "hulls twice": ("hulls", repeat_first("hulls", "u")),
    "hulls from behind": ("hulls", setting("hulls", "u", 0, 0, to=-1)),
    "hulls of text": ("hulls", setting("hulls", "u", 0, 1, to="1e999999999")),
    "columns of LIBSVM": ("c", lambda content: content["file"].update(kind="libsvm", columns=[["0", None]])),
    "columns that are scaled by nothing": ("c", lambda content: content["file"].update(mean=[1.0, 1.0])),
    "a column twice": ("c", lambda content: content["file"].update(columns=[["0", None], ["0", None]])),
    "labels of numbers": ("rbf", lambda content: content["file"].update(labels=[0, 1])),
    "a target of nothing": ("ball", lambda content: content["file"].update(target="1")),
    "something unknown": ("c", setting("comment", to="all is well")),
    "something unknown of the file": ("c", lambda content: content["file"].update(comment="all is well")),
    "a list of machines": ("c", setting("machine", to=[])),
    "a part that is missing": ("c", drop_entry("assumptions")),
}  # fmt: skip


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> dict[str, tuple[Any, Path]]:
    """A proof of each kind, and its data."""
    return {name: base(name, tmp_path_factory.mktemp(name)) for name in {name for name, _ in FORGERIES.values()}}


@for_each("forgery", FORGERIES)
def test_a_known_forgery_is_not_confirmed(forgery, bases, tmp_path):
    name, change = FORGERIES[forgery]
    content = copy.deepcopy(bases[name][0])
    data = bases[name][1]
    path = tmp_path / "proof.json"
    path.write_bytes(sealed(content))
    assert check_quickly(path, data)[0] == 0
    change(content)
    path.write_bytes(sealed(content))
    assert check_quickly(path, data)[0] != 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"C": 2.0', '"C": 2.0, "C": 2.0'),
        ('"claim": "feasible"', '"claim": "feasible", "claim": "feasible"'),
        ('"C": 2.0', '"C": Infinity'),
        ('"C": 2.0', '"C": -Infinity'),
        ('"C": 2.0', '"C": NaN'),
        ('"C": 2.0', '"C": 1e400'),
        ('"C": 2.0', '"C": 0x1p1'),
        ('"C": 2.0', '"C": 2_0'),
        ('"C": 2.0', '"C": 2' + "0" * 100000),
        ('"C": 2.0', '"C": 2.0' + "0" * 100000),
        ('"C": 2.0', '"C": ' + "[" * 200000),
        ('"C": 2.0', '"C": "2.0"'),
        ('"others": [[0, 1, 3]]', '"others": [[0, 1, ' + "9" * 100000 + "]]"),
    ],
    ids=lambda text: text[:30],
)
def test_numbers_that_are_none_make_a_file_unusable(old, new, bases, tmp_path):
    content = copy.deepcopy(bases["c"][0])
    data = bases["c"][1]
    if "others" in old:
        content["alpha"]["others"] = [[0, 1, 3]]
    parts = sealed(content).partition(checker.HEAD)[2].rpartition(checker.SEAL)[0].decode()
    assert old in parts
    path = tmp_path / "proof.json"
    path.write_bytes(sealed_text(parts.replace(old, new, 1)))
    assert check_quickly(path, data)[0] == 2


@for_each("trick", ["\n", "\r", "\x1b[2K\x1b[1G", "\u2028", "\u202e", "\x85", "\x0b", "\u200b", "\ud800"])
def test_no_line_is_printed_that_the_checker_has_not_judged(trick, bases, tmp_path, capsys):
    content = copy.deepcopy(bases["c"][0])
    data = bases["c"][1]
    line = f"a{trick}confirmed   the gap is 0"
    content["assumptions"] = [line]
    content["file"]["name"] = line
    path = tmp_path / "proof.json"
    path.write_bytes(sealed(content))
    code, said = check_quickly(path, data)
    assert code == 0
    assert sum(text.startswith("confirmed") for text in said) == 4 + len(content["claims"])
    assert any("data.npy" in text for text in said)  # the file that was read, whatever the proof calls it
    assert main(["verify", str(path), "--data", str(data)]) == 0
    assert [text[:20] for text in capsys.readouterr().out.split("\n")[:-2]] == [text[:20] for text in said]
    content["machine"]["name"] = line
    path.write_bytes(sealed(content))
    code, said = check_quickly(path, data)
    assert code == 2
    main(["verify", str(path), "--data", str(data)])
    assert not any(text.startswith("confirmed") for text in capsys.readouterr().err.splitlines())


def test_labels_and_columns_are_printed_as_text_of_the_file(tmp_path):
    """With quotation marks: nothing in them reads like a word of the checker."""
    data = tmp_path / "data.csv"
    path = tmp_path / "proof.json"
    label = "no\u202e as -1, 'yes' as +1"
    y = np.where(LABELS, "yes", label)
    rows = [f'{a},{b},"{c}"' for (a, b), c in zip(X.tolist(), y, strict=True)]
    data.write_text("\n".join(["a\u2028b,b,y", *rows]) + "\n", encoding="utf-8")
    qpsvm.solve(qpsvm.CSVM(X, y), check=False).verify().save(path, data, "y")
    code, said = check_quickly(path, data)
    assert code == 0
    line = next(text for text in said if text.startswith("read as"))
    assert line == f"read as     csv, target 'y', {label!r} as -1, 'yes' as +1"


def test_what_is_printed_is_what_was_computed_with(bases, tmp_path):
    """All parameters, and the classes by their places."""
    for name, words in {
        "c": ["CSVM, C 2.0, intercept free, kernel linear", "npy, 0 as -1, 1 as +1"],
        "polynomial": ["kernel polynomial", "degree 3", "gamma 0.5", "coef0 1.0"],
        "joint": ["CrammerSinger, C 1.0, intercept free", "0 as 0, 1 as 1, 2 as 2"],
        "ranking": ["the target of the better row is higher in 21 of 21 pairs"],
    }.items():
        path = tmp_path / "proof.json"
        path.write_bytes(sealed(bases[name][0]))
        _, said = check_quickly(path, bases[name][1])
        assert all(any(word in line for line in said) for word in words), (words, said)


def test_a_matrix_that_is_far_from_positive_semidefinite_is_refuted(bases, tmp_path):
    """Then D can be above P: a difference below 0 is no proof of a small gap."""
    K = np.array([[0.0, 4.0], [4.0, 0.0]])
    data, path = tmp_path / "data.npy", tmp_path / "proof.json"
    np.save(data, np.column_stack([K, [0, 1]]))
    rows, y, _ = checker.read_samples(data.read_bytes(), {}, None, {"name": "CSVM", "classes": [0, 1]})
    content = copy.deepcopy(bases["matrix"][0])
    content.update(file={}, data={"rows": 2, "values": checker.compute_digest(rows, y)})
    content["plane"] = {"coef": [1.0, -1.0], "multipliers": {"b": 0.0}}
    content["alpha"] = {"exponent": 0, "integers": [1, 1], "others": []}
    content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 0.0}]
    path.write_bytes(sealed(content))
    assert check_quickly(path, data)[0] == 1


def test_a_claim_that_is_open_is_not_confirmed(tmp_path):
    """K of far points is above 0 and below 2^-192: whether D is as large as with K = 0 the checker cannot see."""
    far = np.array([[0.0], [1000.0], [2000.0]])
    problem = qpsvm.CSVM(far, [0, 1, 1], kernel=qpsvm.RBF(1.0), intercept=None)
    content, data = save_proof(tmp_path, problem, far, [0, 1, 1])
    content["alpha"] = {"exponent": 0, "integers": [0, 1, 1], "others": []}
    content["plane"] = {"coef": [0.0, 1.0, 1.0], "multipliers": {}}
    content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 1.0}]
    path = tmp_path / "proof.json"
    path.write_bytes(sealed(content))
    assert check_quickly(path, data, 1.0)[0] == 0
    content["claims"].append({"claim": "dual at least", "bound": 1.0})
    path.write_bytes(sealed(content))
    code, said = check_quickly(path, data, 1.0)
    assert code == 1
    assert [line.split()[0] for line in said].count("open") == 1
    assert "REFUTED" not in "".join(said)


def test_the_tolerance_is_who_checks_to_say(bases, tmp_path, capsys):
    path = tmp_path / "proof.json"
    data = bases["c"][1]
    path.write_bytes(sealed(bases["c"][0]))
    assert check_quickly(path, data)[0] == 0
    content = copy.deepcopy(bases["c"][0])
    content["plane"]["w"][0] *= 1.5
    content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 0.9}]
    path.write_bytes(sealed(content))
    assert check_quickly(path, data, 0.9)[0] == 0
    code, said = check_quickly(path, data)
    assert code == 1
    assert [line for line in said if not line.startswith(("confirmed", "read as", "claimed of"))] == [
        "REFUTED     the relative gap of these numbers is at most the tolerance, 1e-06"
    ]
    assert [check_quickly(path, data, tol)[0] for tol in (float("nan"), float("inf"), -1.0)] == [2, 2, 2]
    assert main(["verify", str(path), "--data", str(data)]) == 1
    assert "REFUTED" in capsys.readouterr().out
    assert main(["verify", str(path), "--data", str(data), "--tol", "0.9"]) == 0
    path.write_bytes(sealed(bases["hulls"][0]))
    assert check_quickly(path, bases["hulls"][1])[0] == 0


def test_an_optimum_of_nothing_needs_no_gap(tmp_path):
    """P and D are 0 but for what underflows: no gap is relative to that, and both bounds say enough."""
    tiny = 1e-300 * X
    content, _ = save_proof(tmp_path, qpsvm.OneClass(tiny, nu=0.5, kernel="linear"), tiny, None)
    claims = [claim["claim"] for claim in content["claims"]]
    assert claims == ["feasible", "primal at most", "dual at least", "distance at most"]


# --- the data ---------------------------------------------------------------------------------------------------------


def npy(header: str, body: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body


DATA: dict[str, bytes] = {
    "nothing": b"",
    "blank lines": b"\n \n\n",
    "a header alone": b"a,b,y\n",
    "two columns of one name": b"a,a,y\n1,2,0\n1,3,1\n",
    "digits of another script": "a,y\n\u0661,0\n2,1\n".encode(),
    "underscores": b"a,y\n1_0,0\n2,1\n",
    "numbers in hexadecimal": b"a,y\n0x1p3,0\n2,1\n",
    "no numbers": b"a,y\nnan,0\ninf,1\n",
    "a feature twice": b"+1 1:1 1:2\n-1 1:3\n",
    "a feature before the first": b"+1 -5:1 99999999999999:1\n-1 1:3\n",
    "a feature of a long number": b"+1 1" + b"0" * 5000 + b":1\n-1 1:3\n",
    "an array that is cut": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", b"\0" * 40),
    "an array of nothing, often": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0), }", b""),
    "an array of text": npy("{'descr': '|S1', 'fortran_order': False, 'shape': (3, 2), }", b"abcdef"),
    "an array of code": npy("[" * 5000, b""),
    "an array of long numbers": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }",
                                    (2**53 + 1).to_bytes(8, "little") + bytes(8)),
    "packed, and broken": gzip.compress(b"a,y\n1,0\n2,1\n" * 99)[:20],
    "packed, and wrong": b"\x1f\x8b\x08" + bytes(20),
    "packed by another": b"BZh9" + bytes(20),
    "packed by the third": b"\xfd7zXZ\0" + bytes(20),
    "bytes": bytes(range(256)),
}  # fmt: skip


@for_each("kind", DATA)
def test_data_that_are_none_are_unusable(kind, bases, tmp_path):
    content = copy.deepcopy(bases["c"][0])
    path = tmp_path / "proof.json"
    data = tmp_path / "data"
    content["file"] = {}
    path.write_bytes(sealed(content))
    data.write_bytes(DATA[kind])
    assert check_quickly(path, data)[0] == 2


def test_more_bytes_than_anyone_wants_are_not_unpacked(bases, tmp_path, monkeypatch):
    monkeypatch.setattr(checker, "MAX_UNPACKED_BYTES", 1 << 20)
    content = copy.deepcopy(bases["c"][0])
    path = tmp_path / "proof.json"
    data = tmp_path / "data.gz"
    content["file"] = {}
    path.write_bytes(sealed(content))
    data.write_bytes(gzip.compress(bytes(1 << 24)))
    code, said = check_quickly(path, data)
    assert (code, "unpacked" in said[0]) == (2, True)


def test_only_files_are_read(bases, tmp_path):
    path, pipe, link = tmp_path / "proof.json", tmp_path / "pipe", tmp_path / "link.npy"
    path.write_bytes(sealed(bases["c"][0]))
    os.mkfifo(pipe)
    for data in (pipe, Path("/dev/zero"), tmp_path):
        assert check_quickly(path, data)[0] == 2
        assert check_quickly(data, bases["c"][1])[0] == 2
    link.symlink_to(bases["c"][1])
    assert check_quickly(path, link)[0] == 0
    link.unlink()
    link.symlink_to(bases["matrix"][1])
    assert check_quickly(path, link)[0] == 1


def test_the_data_are_read_once(bases, tmp_path, monkeypatch):
    """Another file in their place, a moment later, is not what the lines are about."""
    path = tmp_path / "proof.json"
    content, data = bases["c"]
    path.write_bytes(sealed(content))
    read = []
    own = checker.read_content
    monkeypatch.setattr(checker, "read_content", lambda name: read.append(name) or own(name))
    assert check_quickly(path, data)[0] == 0
    assert read == [str(path), str(data)]


def test_a_matrix_that_is_not_symmetric_or_not_square_is_none(bases, tmp_path):
    content = copy.deepcopy(bases["matrix"][0])
    path = tmp_path / "proof.json"
    data = tmp_path / "data.npy"
    content["claims"] = [{"claim": "feasible"}, {"claim": "gap at most", "bound": 2.0}]
    K = X @ X.T + np.eye(7)
    slanted = K.copy()
    slanted[0, 1] += 1e-9
    for matrix, words in ((slanted, "not symmetric"), (np.column_stack([K, np.ones(7)]), "not square")):
        np.save(data, np.column_stack([matrix, LABELS]))
        rows, y, _ = checker.read_samples(data.read_bytes(), {}, None, content["machine"])
        content.update(file={}, data={"rows": 7, "values": checker.compute_digest(rows, y)})
        path.write_bytes(sealed(content))
        code, said = check_quickly(path, data)
        assert (code, words in said[0]) == (2, True)


def test_the_library_writes_nothing_that_the_checker_cannot_use(tmp_path):
    """Where it could, the file would say so only when somebody checks it."""
    labels = np.where(LABELS, "y" * 20000, "n")
    for problem in (
        qpsvm.CSVM(X, LABELS, kernel=qpsvm.Polynomial(150, 0.1, 1.0)),
        qpsvm.CSVM(X, labels),
    ):
        with pytest.raises(UnsupportedError, match="the checker could not use it"):
            qpsvm.solve(problem, check=False).verify().save(tmp_path / "proof.json")
    assert not (tmp_path / "proof.json").exists()


def test_truth_values_are_labels_in_text_too(tmp_path):
    data, path = tmp_path / "data.csv", tmp_path / "proof.json"
    rows = [f"{a},{b},{bool(c)}" for (a, b), c in zip(X.tolist(), LABELS, strict=True)]
    data.write_text("\n".join(["a,b,y", *rows]) + "\n")
    qpsvm.solve(qpsvm.CSVM(X, LABELS == 1), check=False).verify().save(path, data, "y")
    assert check_quickly(path, data)[0] == 0
