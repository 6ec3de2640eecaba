"""What is kept and handed out cannot be written to; what a caller changes in place all the same is noticed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import CSVM, RBF, EpsilonSVR, NuSVM, Nystroem, OneClass, Ranking
from qpsvm.base.arrays.frozen import list_arrays
from qpsvm.base.errors import DataError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0, 1, 0)
T = X @ [1.0, 2.0, 0.0] + 0.1 * RNG.normal(size=40)
WEIGHT = np.where(np.arange(40) % 9 == 0, 0.0, 1.0 + np.arange(40) / 40)
K = X @ X.T + 1.0

PROBLEMS: dict[str, Callable[[], Any]] = {
    "linear": lambda: CSVM(X, Y),
    "weights": lambda: CSVM(X, Y, C=np.full(40, 2.0), sample_weight=WEIGHT),
    "sparse": lambda: CSVM(sp.csr_array(np.where(X > 0, X, 0.0)), Y),
    "rbf": lambda: CSVM(X, Y, kernel=RBF(0.5)),
    "matrix": lambda: CSVM(K, Y, kernel="precomputed"),
    "clipped": lambda: CSVM(K - 2.0 * np.eye(40), Y, kernel="precomputed", psd="clip"),
    "map": lambda: CSVM(X, Y, kernel=Nystroem(RBF(0.5), components=10)),
    "regression": lambda: EpsilonSVR(X, T, kernel=RBF(0.5)),
    "nu": lambda: NuSVM(X, Y, nu=0.3),
    "one class": lambda: OneClass(X, nu=0.2),
    "ranks": lambda: Ranking(X[:12], T[:12]),
    "rows of a user's": lambda: CSVM(X, Y, constraints=qpsvm.ValueConstraints(X[:2], None, 1.0)),
    "source": lambda: CSVM(qpsvm.open_rows(X), Y),
    "joint": lambda: qpsvm.CrammerSinger(X, np.digitize(T, [-1.0, 1.0])),
}


def arrays(thing: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays that can be reached from an object of the library, with the way to each."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    parts = list_arrays(thing)
    if parts:
        yield from ((path, part) for part in parts)
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from arrays(value, f"{path}[{key!r}]", seen)
    elif isinstance(thing, (list, tuple)):
        for k, value in enumerate(thing):
            yield from arrays(value, f"{path}[{k}]", seen)
    elif type(thing).__module__.partition(".")[0] == "qpsvm" and hasattr(thing, "__dict__"):
        for name, value in vars(thing).items():
            yield from arrays(value, f"{path}.{name}", seen)


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_that_is_handed_out_can_be_written_to(name: str) -> None:
    problem = PROBLEMS[name]()
    result = qpsvm.solve(problem)
    assert result.status == "optimal"
    problem.qp("dual")
    if name != "joint":
        problem.certify(result.alpha)
        assert [result.support, result.xi, problem._active_target] != []
    again = pickle.loads(pickle.dumps((problem, result)))
    for what in (problem, result, again, copy.deepcopy(problem)):
        found = list(arrays(what))
        assert found
        assert [way for way, array in found if array.flags.writeable] == []
    assert all(own.flags.writeable for own in (X, T, Y, K, WEIGHT))


def test_no_attribute_of_a_problem_can_be_assigned() -> None:
    problem = CSVM(X, Y, C=1.0)
    nu_svm = problem.equivalent_nu_svm(qpsvm.solve(problem))
    for each in (problem, problem.replace(C=2.0), copy.copy(problem), pickle.loads(pickle.dumps(problem)), nu_svm):
        before = each.title
        for name in ("C", "nu", "kernel", "X", "intercept", "misspelt"):
            with pytest.raises(qpsvm.FrozenProblemError, match=r"problem\.replace\("):
                setattr(each, name, 2.0)
        assert each.title == before
    for rows in (qpsvm.Constraints([[1.0, 0.0, 0.0]], [0.1]), qpsvm.ValueConstraints(X[:2], None, 1.0)):
        with pytest.raises(qpsvm.FrozenProblemError, match="constraints do not change"):
            rows.h = np.zeros(1)


def make_parts(kind: str, path: Path) -> tuple[Any, Any, np.ndarray]:
    """Return what a problem is made of, its options, and the array under it that is the caller's."""
    own = X.copy()
    if kind == "dense":
        return own, {}, own
    if kind == "Fortran":
        own = np.asfortranarray(own)
        return own, {}, own
    if kind == "some columns":
        wide = np.column_stack([own, own])
        return wide[:, 1:4], {}, wide
    if kind == "view of rows":
        return own[::-1], {}, own
    if kind in ("sparse", "sparse columns"):
        store = (sp.csr_array if kind == "sparse" else sp.csr_matrix)(np.where(own > 0, own, 0.0))
        return store, {}, store.data if kind == "sparse" else store.indices
    if kind == "kernel":
        return own, {"kernel": RBF(0.5)}, own
    if kind == "matrix":
        own = K.copy()
        return own, {"kernel": "precomputed"}, own
    if kind == "map":
        return own, {"kernel": Nystroem(RBF(0.5), components=10)}, own
    if kind == "memory map":
        np.save(path / "X.npy", own)
        own = np.load(path / "X.npy", mmap_mode="r+")
        return own, {}, own
    if kind == "rows of floats":
        return qpsvm.open_rows(own), {}, own
    if kind == "rows of integers":
        own = (8 * own).astype(np.int32)
        return qpsvm.open_rows(own), {}, own
    frame = pytest.importorskip("pandas").DataFrame(own, copy=False)
    return frame, {}, own


KINDS = [
    "dense", "Fortran", "some columns", "view of rows", "sparse", "sparse columns", "kernel", "matrix", "map",
    "memory map", "rows of floats", "rows of integers", "frame",
]  # fmt: skip
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda problem, _: qpsvm.solve(problem),
    "other parameters": lambda problem, _: qpsvm.solve(problem.replace(C=2.0)),
    "at": lambda problem, result: problem.at(result.alpha),
    "certify": lambda problem, result: problem.certify(result.alpha),
    "verify": lambda _, result: result.verify(),
    "path": lambda problem, _: qpsvm.path(problem, C=[0.5, 1.0]),
    "folds": lambda problem, _: qpsvm.cross_validate(problem, C=[0.5, 1.0]),
    "compare": lambda problem, _: qpsvm.compare(problem, ["interior_point"]),
    "derive": lambda problem, result: qpsvm.derive(problem, result),
}


@pytest.mark.parametrize("kind", KINDS)
def test_samples_that_were_changed_in_place_are_noticed(kind: str, tmp_path: Path) -> None:
    given, options, own = make_parts(kind, tmp_path)
    problem = CSVM(given, Y, **options)
    result = qpsvm.solve(problem)
    assert qpsvm.solve(problem).status == result.status == "optimal"
    if own.ndim == 1:
        last = int(np.flatnonzero(own != own[:1])[-1])
    else:
        last = 20
    own[[0, last]] = own[[last, 0]]  # no sum shows it
    with pytest.raises(DataError, match="changed in place"):
        qpsvm.solve(problem)
    with pytest.raises(DataError, match="changed in place"):
        problem.at(result.alpha)
    own[[0, last]] = own[[last, 0]]
    assert qpsvm.solve(problem).status == "optimal"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["dense", "rows of floats"])
def test_every_way_to_a_claim_looks(kind: str, call: str, tmp_path: Path) -> None:
    given, options, own = make_parts(kind, tmp_path)
    problem = CSVM(given, Y, **options)
    result = qpsvm.solve(problem)
    own[5, 0] += 1e-9
    with pytest.raises(DataError, match="changed in place"):
        CALLS[call](problem, result)


def test_several_classes_in_one_program_look_too() -> None:
    own = X.copy()
    problem = qpsvm.CrammerSinger(own, np.digitize(T, [-1.0, 1.0]))
    result = qpsvm.solve(problem)
    own[0, 0] += 1.0
    for call in (lambda: qpsvm.solve(problem), lambda: problem.at(result.alpha), result.verify):
        with pytest.raises(DataError, match="changed in place"):
            call()


def test_a_change_during_the_solve_is_noticed_before_the_answer_is_judged() -> None:
    own = X.copy()
    problem = CSVM(own, Y)
    solution = qpsvm.compile(problem.qp("dual"), "interior_point").solve()
    assert problem.interpret(solution).status == "optimal"
    own[0, 0] += 1.0
    with pytest.raises(DataError, match="changed in place"):
        problem.interpret(solution)


def test_what_is_copied_may_be_changed() -> None:
    """Labels, weights, penalties and the numbers of constraints: small beside the samples."""
    y = Y.copy()
    weight = WEIGHT.copy()
    C = np.full(40, 2.0)
    points = X[:2].copy()
    rows = np.eye(2)
    h = np.ones(2)
    values = qpsvm.ValueConstraints(points, rows, h)
    problem = CSVM(X, y, C=C, sample_weight=weight, constraints=values)
    first = qpsvm.solve(problem)
    for own in (y, weight, C, points, rows, h):
        own[...] = own[::-1].copy() + 1
    assert qpsvm.solve(problem).primal == first.primal
    weights = np.eye(3)
    linear = CSVM(X, Y, constraints=qpsvm.Constraints(weights, 0.5))
    first = qpsvm.solve(linear)
    weights *= -3.0
    assert qpsvm.solve(linear).primal == first.primal
    pairs = np.array([[0, 1], [2, 3], [1, 4]])
    ranks = Ranking(X[:6], pairs=pairs)
    first = qpsvm.solve(ranks)
    pairs[...] = pairs[:, ::-1].copy()
    assert qpsvm.solve(ranks).primal == first.primal
