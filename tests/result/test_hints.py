"""Notes of results, of estimators and of the shell on what is wrong with data or parameters: given where true only."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm import estimators
from qpsvm.faces.cli import main
from qpsvm.result.hints import find_label_hints, find_sample_hints

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
SIDE = X[:, 0] + 0.3 * rng.normal(size=90) > 0
RARE = X[:, 0] + 0.5 * rng.normal(size=90) > 1.9
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
APART = X * [1.0, 1e8, 1.0]
SAID = {
    "scale": (lambda: qpsvm.CSVM(APART, SIDE), "feature 1 varies"),
    "scale, sparse": (lambda: qpsvm.CSVM(sp.csr_array(APART), SIDE), "StandardScaler"),
    "scale, regression": (lambda: qpsvm.EpsilonSVR(APART, X[:, 0]), "--standardise"),
    "constant": (lambda: qpsvm.CSVM(X, SIDE, kernel=qpsvm.RBF(1e-9)), "gamma = 1e-09 makes the kernel nearly constant"),
    "nobody": (lambda: qpsvm.CSVM(X, RARE, C=0.01), "every row is predicted False"),
    "nobody of three": (lambda: qpsvm.CrammerSinger(X, THREE, C=1e-4), "no row is predicted 1"),
    "bound": (lambda: qpsvm.EpsilonSVR(X, X[:, 0], C=1e-5, epsilon=0.0), "at its bound and none on the margin"),
    "lam": (lambda: qpsvm.PrimalHinge(X, SIDE, lam=100.0), "a smaller --lam"),
}
HEALTHY: dict[str, Callable[[], object]] = {
    "C": lambda: qpsvm.CSVM(X, SIDE),
    "RBF": lambda: qpsvm.CSVM(X, SIDE, kernel="rbf"),
    "nu": lambda: qpsvm.NuSVM(X, SIDE, nu=0.5),
    "hard": lambda: qpsvm.HardMargin(X, X[:, 0] > 0),
    "joint": lambda: qpsvm.WestonWatkins(X, THREE),
    "SVR": lambda: qpsvm.EpsilonSVR(X, X[:, 0], epsilon=0.5),
    "one-class": lambda: qpsvm.OneClass(X, nu=0.1),
    "ranking": lambda: qpsvm.Ranking(X[:20], X[:20, 0]),
    "squared": lambda: qpsvm.SquaredHinge(X, SIDE),
    "two samples": lambda: qpsvm.CSVM([[0.0], [1.0]], [0, 1]),
    "equal samples": lambda: qpsvm.SVDD(np.ones((4, 2))),
    "raw, 1e5-fold": lambda: qpsvm.CSVM(*load_breast_cancer(return_X_y=True), C=0.1),
    "precomputed": lambda: qpsvm.CSVM(X @ X.T, SIDE, kernel="precomputed"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_hurts_is_said_once(name):
    make, words = SAID[name]
    result = qpsvm.solve(make())
    said = [note for note in result.notes if words in note]
    assert len(said) == 1, result.notes
    assert said[0] in result.summary()
    assert said[0] not in result.summary(notes=False)
    assert result._repr_html_()


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said_of_what_is_well(name):
    assert qpsvm.solve(HEALTHY[name](), check=False).list_hints() == []


def test_each_fact_is_one():
    """Labels that are called absent are absent from the predictions, and the kernel is as constant as is said."""
    for C in (1e-4, 0.05, 1.0):
        result = qpsvm.solve(qpsvm.CSVM(X, RARE, C=C))
        predicted = result.predict(X)
        assert any("every row" in note for note in result.notes) == (len(np.unique(predicted)) == 1)
        joint = qpsvm.solve(qpsvm.CrammerSinger(X, THREE, C=C))
        absent = set(THREE) - set(joint.predict(X))
        assert any("is predicted" in note for note in joint.notes) == bool(absent)
    K = qpsvm.RBF(1e-9)(X, X)
    assert np.ptp(K) < 1e-3 * K.max()
    assert find_sample_hints(X, qpsvm.RBF(1e-9))
    assert not find_sample_hints(X, qpsvm.RBF(1e-2))


def test_names_are_those_of_the_frame_and_of_a_file_nothing_is_said():
    frame = pd.DataFrame(APART, columns=["a", "b", "c"])
    result = qpsvm.solve(qpsvm.CSVM(frame, SIDE))
    assert result.notes[0].startswith("'b' varies")
    assert pickle.loads(pickle.dumps(result)).list_hints() == []


def test_guesses_are_told_from_answers():
    true = np.repeat([0, 1], 50)
    half = np.tile([0, 1], 50)
    assert "a random guess" in str(find_label_hints(true, half)[0])
    assert find_label_hints(true, true) == []
    assert find_label_hints(true[:1], half[:1]) == []
    assert "class_weight" not in str(find_label_hints(true, np.zeros(100), is_weighted=True)[0])


@pytest.mark.filterwarnings("ignore::qpsvm.InaccurateWarning")
@pytest.mark.filterwarnings("ignore::qpsvm.DegenerateWarning")  # the reduced hulls of one of them meet
def test_estimators_have_the_same_notes():
    for machine, y in ((estimators.SVC(), SIDE), (estimators.LinearSVC(), THREE), (estimators.SVR(), X[:, 0]),
                       (estimators.SVC(), THREE), (estimators.OneClassSVM(), None), (estimators.NuSVC(nu=0.3), SIDE),
                       (estimators.SVC(multi_class="crammer_singer"), THREE),
                       (estimators.LinearSVR(), X[:, 0])):  # fmt: skip
        healthy = machine.fit(StandardScaler().fit_transform(X), y)
        assert healthy.notes_ == (), machine
        assert pickle.loads(pickle.dumps(healthy)).notes_ == ()
        frame = pd.DataFrame(APART, columns=["a", "b", "c"])
        said = clone(machine).fit(frame, y).notes_
        assert said, machine
        assert said[0].startswith("'b' varies"), machine
        if y is not None:
            table = qpsvm.Table(frame.assign(y=y), target="y")
            assert clone(machine).fit(table).notes_ == said, machine
    rare = estimators.SVC(C=0.01).fit(load_iris().data, np.repeat([0, 1, 2], [70, 70, 10]))
    assert "no row is predicted 2" in rare.notes_[0]
    with pytest.raises(AttributeError):
        _ = estimators.SVC().notes_


def test_the_shell_says_each_once_at_its_end(capsys, tmp_path: Path):
    path = tmp_path / "apart.csv"
    rows = (f"{a!r},{b!r},{c!r},{'yes' if r else 'no'}" for (a, b, c), r in zip(APART.tolist(), RARE, strict=True))
    path.write_text("\n".join(["a,b,c,bought", *rows]) + "\n")
    how = ["solve", str(path), "--target", "bought", "--kernel", "rbf", "--test-size", "0.3", "--cv", "2"]
    assert main(how) == 0
    out = capsys.readouterr().out
    notes = re.findall(r"^  note +(.*)$", out, re.MULTILINE)
    assert [note[:9] for note in notes] == ["every row", "'b' varie"]
    assert out.rstrip().endswith(notes[-1])
    assert main([*how, "--standardise", "--class-weight", "balanced"]) == 0
    assert "note" not in capsys.readouterr().out
