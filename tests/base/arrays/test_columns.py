"""Columns by name: a data frame whose columns stand in another order is the same data frame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import Frame
from sklearn.datasets import load_breast_cancer

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge
from qpsvm.base.arrays.checks import find_column_order, find_feature_names

RNG = np.random.default_rng(5)
NAMES = ("age", "weight", "mean radius", "größe")
Y = np.repeat([-1, 1], 10)
X = RNG.normal(size=(20, 4)) * [1, 10, 100, 1000] + Y[:, None] * [1, 2, 3, 4]


def frame(order: Sequence[int] = (0, 1, 2, 3), **renamed: str) -> Frame:
    """X as a data frame with its columns in another order."""
    return Frame(X[:, list(order)], [renamed.get(NAMES[j], NAMES[j]) for j in order])


KERNELS: tuple[Any, ...] = ("linear", RBF("scale"))


# what is remembered

REMEMBERED: dict[str, tuple[Any, tuple[str, ...] | None]] = {
    "text": (list(NAMES), NAMES),
    "text of NumPy's": (np.array(NAMES), NAMES),
    "an empty name": (["", "b", "c", "d"], ("", "b", "c", "d")),
    "numbers": (range(4), None),
    "mixed": (["a", "b", "c", 3], None),
    "twice": (["a", "b", "a", "c"], None),
    "levels": ([("a", 1), ("a", 2), ("b", 1), ("b", 2)], None),
    "missing": (["a", None, "b", "c"], None),
    "something else": (4, None),
    "a method": (list.copy, None),
}


@pytest.mark.parametrize("name", REMEMBERED)
@pytest.mark.parametrize("variant", [CSVM, HardMargin, NuSVM, PrimalHinge])
def test_names_are_remembered_where_they_are_different_texts(name: str, variant: Any) -> None:
    columns, names = REMEMBERED[name]
    problem = variant(Frame(X, columns), Y)
    assert problem.feature_names == names
    assert qpsvm.solve(problem).model.feature_names == names


def test_an_array_has_no_names() -> None:
    assert CSVM(X, Y).feature_names is None
    assert find_feature_names(X) is None
    assert find_feature_names(None) is None


def test_names_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for kernel in KERNELS:
        qpsvm.solve(CSVM(frame(), Y, kernel=kernel)).save(path)
        model = qpsvm.load(path)
        assert model.feature_names == NAMES
        np.testing.assert_allclose(model.decision_function(frame((2, 0, 3, 1))), model.decision_function(X))


def test_an_equivalent_machine_has_the_same_names() -> None:
    problem = NuSVM(frame(), Y, 0.5)
    assert problem.equivalent_c_svm(qpsvm.solve(problem)).feature_names == NAMES
    assert PrimalHinge(frame(), Y, 0.1).equivalent_c_svm().feature_names == NAMES


# what is matched


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_columns_are_found_by_name(kernel: Any) -> None:
    result = qpsvm.solve(CSVM(frame(), Y, kernel=kernel))
    f, labels = result.decision_function(X), result.predict(X)
    for _ in range(5):
        other = frame(RNG.permutation(4))
        np.testing.assert_allclose(result.decision_function(other), f, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(result.predict(other), labels)
        assert np.abs(result.decision_function(other.values) - f).max() > 1e-3 or other.columns == list(NAMES)


def test_a_shuffled_breast_cancer_is_predicted_as_well() -> None:
    data = load_breast_cancer()
    columns = RNG.permutation(30)
    names = [str(name) for name in data.feature_names]
    result = qpsvm.solve(CSVM(Frame(data.data, names), data.target, 1.0, "rbf"))
    shuffled = Frame(data.data[:, columns], [names[j] for j in columns])
    np.testing.assert_array_equal(result.predict(shuffled), result.predict(data.data))


def test_pandas_and_polars_are_matched() -> None:
    pandas = pytest.importorskip("pandas")
    data = load_breast_cancer(as_frame=True)
    result = qpsvm.solve(CSVM(data.data, data.target, 1.0, "rbf"))
    assert result.model.feature_names == tuple(data.feature_names)
    shuffled = data.data.sample(frac=1.0, axis=1, random_state=0)
    accuracy = (result.predict(data.data) == data.target).mean()
    assert (result.predict(shuffled) == data.target).mean() == accuracy
    assert (result.predict(shuffled.to_numpy()) == data.target).mean() < accuracy
    with pytest.raises(qpsvm.DataError, match="'Mean Radius'"):
        result.predict(data.data.rename(columns={"mean radius": "Mean Radius"}))
    levels = pandas.DataFrame(X, columns=pandas.MultiIndex.from_product([["a", "b"], [1, 2]]))
    assert CSVM(levels, Y).feature_names is None
    assert CSVM(pandas.DataFrame(X), Y).feature_names is None
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(dict(zip(shuffled.columns, shuffled.to_numpy().T, strict=True)))
    np.testing.assert_array_equal(result.predict(table), result.predict(data.data))


def test_without_names_on_either_side_columns_go_by_position() -> None:
    named = qpsvm.solve(CSVM(frame(), Y))
    plain = qpsvm.solve(CSVM(X, Y))
    f = named.decision_function(X)
    for samples in (X, Frame(X, range(4)), Frame(X, [("a", 1), ("a", 2), ("b", 1), ("b", 2)])):
        np.testing.assert_array_equal(named.decision_function(samples), f)
    f = plain.decision_function(X)
    for samples in (Frame(X, NAMES[::-1]), Frame(X, ["a", "a", "b", 3])):
        np.testing.assert_array_equal(plain.decision_function(samples), f)


def test_the_columns_of_a_kernel_matrix_are_the_training_rows_and_matched_too() -> None:
    gram = X @ X.T
    rows = [f"row {i}" for i in range(20)]
    result = qpsvm.solve(CSVM(Frame(gram, rows), Y, kernel="precomputed"))
    order = RNG.permutation(20)
    shuffled = Frame(gram[:5, order], [rows[i] for i in order])
    np.testing.assert_allclose(result.decision_function(shuffled), result.decision_function(gram[:5]))


# what is refused

REFUSED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "renamed": (frame(age="Age"), ("'age' (is it 'Age'?)", "too many")),
    "missing": (Frame(X[:, :3], NAMES[:3]), ("no column 'größe'", "by position")),
    "too many": (Frame(np.ones((20, 5)), [*NAMES, "x"]), ("'x' too many", "feature_names")),
    "all others": (
        Frame(np.ones((20, 6)), list("abcdef")),
        ("'age', 'weight', 'mean radius' and 1 more", "'a', 'b', 'c' and 3 more"),
    ),
    "twice": (Frame(X, ["age", "weight", "mean radius", "age"]), ("'age' twice", "to_numpy")),
    "mixed": (Frame(X, ["age", "weight", "mean radius", 3]), ("3 for the name", "to_numpy")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_columns_are_named(name: str) -> None:
    result = qpsvm.solve(CSVM(frame(), Y))
    samples, says = REFUSED[name]
    for method in (result.predict, result.decision_function, result.model.predict):
        with pytest.raises(qpsvm.DataError) as caught:
            method(samples)
        for part in says:
            assert part in str(caught.value)


def test_a_message_about_thousands_of_columns_is_short() -> None:
    known = [f"feature {i}" for i in range(3000)]
    given = [f"Feature {i} {'x' * 200}" for i in range(3000)]
    with pytest.raises(qpsvm.DataError) as caught:
        find_column_order(Frame(np.zeros((1, 3000)), given), known)
    assert len(str(caught.value)) < 1000


def test_a_bad_value_is_in_the_column_of_the_frame_given() -> None:
    result = qpsvm.solve(CSVM(frame(), Y))
    samples = frame((3, 2, 1, 0))
    samples.values[4, 1] = np.nan
    with pytest.raises(qpsvm.DataError, match=r"row 4, column 1 \('mean radius'\)"):
        result.predict(samples)


# a start from columns in another order


@pytest.mark.parametrize("kernel", ["linear", RBF(1e-5)], ids=str)
def test_a_start_is_matched_by_name(kernel: Any) -> None:
    half = np.arange(20) % 3 > 0
    result = qpsvm.solve(CSVM(Frame(X[half], NAMES), Y[half], kernel=kernel))
    straight, mixed = (CSVM(frame(order), Y, kernel=kernel) for order in ((0, 1, 2, 3), (3, 1, 0, 2)))
    np.testing.assert_allclose(mixed.start(result), straight.start(result), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(CSVM(X, Y, kernel=kernel).start(result), straight.start(result))
    assert qpsvm.solve(mixed, start=result).status == "optimal"
    with pytest.raises(qpsvm.DataError, match="start"):
        CSVM(frame(age="Age"), Y, kernel=kernel).start(result)
