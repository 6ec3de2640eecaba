"""Estimators and problems over samples that are stored: the answers of the same rows in memory."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from each import for_each
from sklearn.base import clone

import qpsvm
from qpsvm.base.errors import DataError, ParameterTypeError, UnsupportedError
from qpsvm.data import kinds as recognise
from qpsvm.data.rows import RowSource
from qpsvm.estimators import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR, RankingSVM

N, D = 90, 4
rng = np.random.default_rng(8)
X = rng.normal(size=(N, D))
T = X @ [1.0, -2.0, 0.5, 0.0] + 0.5 * rng.normal(size=N)
Y, K = np.where(T > 0, "yes", "no"), np.digitize(T, [-1.0, 1.0])
S = rng.integers(0, 3, N).astype(float)
NAMES = tuple(f"x{j}" for j in range(D))


class Kept(RowSource):
    """Rows in blocks of 25."""

    is_sparse = False

    def __init__(self, X, target=None, weight=None):
        self.X = X
        self.target = target
        self.weight = weight
        self.n, self.d = X.shape

    feature_names = NAMES

    def blocks(self):
        from qpsvm.data.rows import as_block

        return (as_block(self.X[i : i + 25], i) for i in range(0, self.n, 25))

    @property
    def entries(self):
        return self.n * self.d

    @property
    def nbytes(self):
        return 0


CLASSIFIERS = (
    LinearSVC(), LinearSVC(loss="hinge", intercept_scaling=1, class_weight="balanced"), SVC(kernel="linear"),
    SVC(kernel="linear", multi_class="ovr"), NuSVC(kernel="linear", nu=0.2), SVC(kernel=qpsvm.Linear(), C=0.1),
)  # fmt: skip
REGRESSORS = LinearSVR(), SVR(kernel="linear"), NuSVR(kernel="linear"), QuantileSVR(kernel="linear"), RankingSVM()


@for_each("estimator, target", [*((each, K) for each in CLASSIFIERS), (CLASSIFIERS[0], Y), (CLASSIFIERS[2], Y)])
def test_classifiers(estimator, target):
    stored = clone(estimator).fit(Kept(X, target, S + 1.0), None)
    memory = clone(estimator).fit(X, target, S + 1.0)
    assert stored.gap_ <= 1e-6
    assert stored.n_features_in_ == D
    assert stored.feature_names_in_.tolist() == list(NAMES)
    np.testing.assert_array_equal(stored.classes_, memory.classes_)
    np.testing.assert_allclose(stored.decision_function(Kept(X)), memory.decision_function(X), atol=1e-3)
    predicted = stored.predict(Kept(X))
    assert np.mean(predicted == memory.predict(X)) > 0.9  # classes tie at samples on the margins of several
    assert stored.score(Kept(X, target)) == np.mean(predicted == target)
    again = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(again.predict(Kept(X)), predicted)


@for_each("estimator", REGRESSORS)
def test_regressors(estimator):
    stored = clone(estimator).fit(Kept(X, T), None)
    memory = clone(estimator).fit(X, T)
    assert stored.gap_ <= 1e-6
    np.testing.assert_allclose(stored.predict(Kept(X)), memory.predict(X), atol=2e-3)


@for_each("estimator", [OneClassSVM(kernel="linear", nu=0.3), SVDD(kernel="linear", nu=0.3)])
def test_detectors(estimator):
    far = X + 3.0
    stored = clone(estimator).fit(Kept(far))
    memory = clone(estimator).fit(far)
    np.testing.assert_allclose(stored.decision_function(Kept(far)), memory.decision_function(far), atol=1e-3)


def test_other_kernels_take_the_samples_into_memory():
    stored = SVC().fit(Kept(X, Y), None)
    memory = SVC().fit(X, Y)
    assert stored.feature_names_in_.tolist() == list(NAMES)
    np.testing.assert_allclose(stored.decision_function(Kept(X)), memory.decision_function(X), rtol=1e-12)


def test_what_does_not_fit_is_refused():
    machine = LinearSVC().fit(Kept(X, Y), None)
    with pytest.raises(DataError, match="4 features"):
        machine.predict(Kept(X[:, :2]))
    turned = Kept(X)
    turned.feature_names = NAMES[::-1]
    with pytest.raises(DataError, match="another order"):
        machine.predict(turned)
    with pytest.raises(UnsupportedError, match="intercept_scaling"):
        LinearSVC(intercept_scaling=2.0).fit(Kept(X, Y), None)
    with pytest.raises(ParameterTypeError, match=r"open_rows\(..., target="):
        qpsvm.CSVM(Kept(X, Y), "y")


def test_paths_and_the_names_of_columns(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({**dict(zip(NAMES, X.T, strict=True)), "y": Y, "s": S})
    parquet.write_table(table, tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    own = LinearSVC().fit(X, Y, S)
    for given in (path, str(path), [path], table):
        machine = LinearSVC().fit(given, "y", "s")
        np.testing.assert_allclose(machine.coef_, own.coef_, atol=1e-4)
        assert machine.score(given, "y", sample_weight="s") == own.score(X, Y, S)
        np.testing.assert_array_equal(machine.predict(path), own.predict(X))
        assert machine.feature_names_in_.tolist() == list(NAMES)
        problem = qpsvm.CSVM(given, "y", sample_weight="s")
        assert isinstance(problem.X, RowSource)
        assert problem.classes.tolist() == ["no", "yes"]
        np.testing.assert_allclose(qpsvm.solve(problem).w, qpsvm.solve(qpsvm.CSVM(X, Y, sample_weight=S)).w, atol=1e-4)


def test_a_large_map_stays_on_its_disk(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(recognise, "LARGE_MAP", X.size)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(qpsvm.CSVM(mapped, Y).X, RowSource)
    assert not isinstance(qpsvm.CSVM(mapped[:50], Y[:50]).X, RowSource)
    machine = LinearSVC().fit(mapped, Y)
    np.testing.assert_array_equal(machine.predict(mapped), LinearSVC().fit(np.array(mapped), Y).predict(X))


def test_dask_collections_are_fitted_where_they_are_and_predicted_later():
    arrays = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    import pandas as pd

    Z = arrays.from_array(X, chunks=(40, 2))
    for estimator, target in (
        (LinearSVC(class_weight="balanced"), (T > 0).astype(int)), (LinearSVC(), K), (LinearSVR(), T),
    ):  # fmt: skip
        spread = clone(estimator).fit(Z, arrays.from_array(target, chunks=40))
        memory = clone(estimator).fit(X, target)
        assert spread.gap_ <= 1e-6
        predicted = spread.predict(Z)
        assert isinstance(predicted, arrays.Array)
        np.testing.assert_allclose(predicted.compute(), memory.predict(X), atol=2e-3)
        np.testing.assert_allclose(spread.coef_, memory.coef_, atol=1e-3)
    frame = frames.from_pandas(pd.DataFrame(X, columns=NAMES).assign(y=K == 1), npartitions=2)
    machine = LinearSVC().fit(frame, "y")
    assert machine.feature_names_in_.tolist() == list(NAMES)
    assert machine.decision_function(frame).compute().shape == (N,)
    with pytest.raises(DataError, match="no column 'x0'"):
        machine.predict(frame[["x1", "x2"]])
    with pytest.raises(UnsupportedError, match="LinearSVC"):
        SVC(kernel="linear").fit(Z, Y)
