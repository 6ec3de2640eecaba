"""Numbers that no double is equal to are refused, by name, wherever they come in; those that are doubles are kept."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import qpsvm
from qpsvm import CSVM, EpsilonSVR
from qpsvm.data.files import read_table
from qpsvm.estimators import SVC, LinearSVR

#: The least whole number that is no double; and one far beyond it that is.
ODD, EVEN = 2**53 + 1, 2**60
X, Y = np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1]
LONG = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant


def column(number: Any) -> list[list[Any]]:
    return [[0], [1], [number], [4]]


INPUTS: dict[str, Any] = {
    "int64": lambda k: CSVM(np.array(column(k)), Y),
    "uint64": lambda k: CSVM(np.array(column(k), dtype=np.uint64), Y),
    "list of floats": lambda k: CSVM([[0.5], [1], [k], [4]], Y),
    "frame of floats": lambda k: CSVM(pd.DataFrame({"a": [0, 1, k, 4], "b": [0.5, 1, 1, 1]}), Y),
    "frame with truths": lambda k: CSVM(pd.DataFrame({"a": [0, 1, k, 4], "b": [True, False, True, True]}), Y),
    "frame of an extension": lambda k: CSVM(pd.DataFrame({"a": pd.array([0, 1, k, 4], "Int64"), "b": 0.5}), Y),
    "target of an extension": lambda k: EpsilonSVR(X, pd.Series([0, 1, k, 4], dtype="Int64")),
    "estimator's frame": lambda k: SVC().fit(pd.DataFrame({"a": [0, 1, k, 4], "b": [True, False, True, True]}), Y),
    "sparse": lambda k: CSVM(sp.coo_array(np.array(column(k))), Y),
    "kernel matrix": lambda k: CSVM(np.array([[k, 1], [1, k]]), [0, 1], kernel="precomputed"),
    "target": lambda k: EpsilonSVR(X, [0, 1, k, 4]),
    "target of floats": lambda k: EpsilonSVR(X, [0.5, 1, k, 4]),
    "weights": lambda k: CSVM(X, Y, sample_weight=[1, 1, k, 1]),
    "class weight": lambda k: CSVM(X, Y, class_weight={0: k}),
    "C": lambda k: CSVM(X, Y, C=k),
    "C, NumPy": lambda k: CSVM(X, Y, C=np.uint64(k)),
    "C of each": lambda k: CSVM(X, Y, C=[1, 1, k, 1]),
    "gamma": lambda k: CSVM(X, Y, kernel=qpsvm.RBF(k)),
    "G": lambda k: qpsvm.Constraints([[k]], 1.0),
    "h": lambda k: qpsvm.ValueConstraints([[1.0]], None, k),
    "points": lambda k: qpsvm.ValueConstraints([[k]], None, 1.0),
    "P": lambda k: qpsvm.QP(P=[[k]], q=[1.0]),
    "sparse P": lambda k: qpsvm.QP(P=sp.csr_array(np.array([[k]])), q=[1.0]),
    "lb": lambda k: qpsvm.QP(P=[[1.0]], q=[1.0], lb=k),
    "r": lambda k: qpsvm.QP(P=[[1.0]], q=[1.0], r=k),
    "prediction": lambda k: qpsvm.solve(CSVM(X, Y)).decision_function([[k]]),
    "alpha": lambda k: CSVM(X, Y).at([1, 1, k, 1]),
    "rows": lambda k: qpsvm.open_rows(np.array(column(k))),
    "batches": lambda k: qpsvm.open_rows(iter([np.array(column(k))])),
    "table": lambda k: qpsvm.open_rows(pa.table({"a": [0, 1, k]})),
    "decimals": lambda k: qpsvm.open_rows(pa.table({"a": [Decimal(1), Decimal(k)]})),
    "estimator": lambda k: SVC().fit(np.array(column(k)), Y),
    "estimator's list": lambda k: SVC(gamma=1.0).fit([[0.5], [1], [k], [4]], Y),
    "estimator's target": lambda k: LinearSVR(max_iter=1).fit(X, [0, 1, k, 4]),
    "estimator's weights": lambda k: SVC().fit(X, Y, sample_weight=[1, 1, k, 1]),
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_whole_number_that_is_no_double_is_refused(name: str) -> None:
    with pytest.raises(qpsvm.QPSVMError, match=rf"{ODD}.*no double") as caught:
        INPUTS[name](ODD)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("other", [[0.5, 1.0, 1.0, 1.0], [True, False, True, True], [1, 2, 3, 4]], ids=["f", "b", "i"])
def test_frames_of_polars_are_no_way_around(other: Any) -> None:
    polars = pytest.importorskip("polars")
    for make in (CSVM, SVC().fit):
        make(polars.DataFrame({"a": [0, 1, EVEN, 4], "b": other}), Y)
        with pytest.raises(qpsvm.QPSVMError, match=rf"{ODD}.*no double"):
            make(polars.DataFrame({"a": [0, 1, ODD, 4], "b": other}), Y)
    with pytest.raises(qpsvm.QPSVMError, match=rf"{ODD}.*no double"):
        EpsilonSVR(X, polars.Series([0, 1, ODD, 4]))


@pytest.mark.parametrize("name", ["int64", "uint64", "list of floats", "frame of floats", "sparse", "C", "rows"])
def test_a_large_one_that_is_a_double_is_kept(name: str) -> None:
    INPUTS[name](EVEN)


def test_the_place_is_named() -> None:
    with pytest.raises(qpsvm.DataError, match=r"row 3, column 1 \('id'\)"):
        CSVM(pd.DataFrame({"a": [0.5, 1, 2, 3], "id": [1, 2, 3, ODD]}), Y)
    with pytest.raises(qpsvm.DataError, match=r"t\[2\] is"):
        EpsilonSVR(X, [0, 1, ODD, 4])
    with pytest.raises(qpsvm.DataError, match="row 2, column 0"):
        qpsvm.open_rows(np.array(column(ODD)))
    for top in (2**63 - 1, -(2**63) + 1):
        with pytest.raises(qpsvm.DataError, match=str(top)):
            CSVM(np.array(column(top)), Y)
    with pytest.raises(qpsvm.DataError, match=str(2**64 - 1)):
        CSVM(np.array(column(2**64 - 1), dtype=np.uint64), Y)


@pytest.mark.skipif(not LONG, reason="a long double is a double here")
def test_a_long_double_that_is_no_double_is_refused() -> None:
    kept = CSVM(X.astype(np.longdouble) + 0.5, Y)
    np.testing.assert_array_equal(kept.X, X + 0.5)
    tenth = np.longdouble(1) / 10
    with pytest.raises(qpsvm.DataError, match=r"row 0, column 0, which no double"):
        CSVM(X + tenth, Y)
    with pytest.raises(qpsvm.ParameterError, match="C = "):
        CSVM(X, Y, C=tenth)


TEXTS = {
    "csv": lambda k: f"a,b,y\n0.5,1,0\n1,{k},1\n",
    "libsvm": lambda k: f"0 1:0.5 2:1\n1 1:1 2:{k}\n",
}


@pytest.mark.parametrize("scratch", ["read", "opened"])
@pytest.mark.parametrize("form", TEXTS)
def test_text(form: str, scratch: str, tmp_path: Path) -> None:
    """Digits alone are a whole number; with a point or an exponent they are a decimal, and the double nearest to it."""
    path = tmp_path / f"data.{form}"

    def read(number: str) -> Any:
        path.write_text(TEXTS[form](number))
        if scratch == "read":
            return read_table(path, **({"target": "y"} if form == "csv" else {}))
        return qpsvm.open_rows(path, **({"target": "y"} if form == "csv" else {}))

    for number in ("0.1", f"{ODD}.0", "1e20", "0.12345678901234567890", str(EVEN)):
        read(number)
    with pytest.raises(qpsvm.DataError, match=rf"{ODD}.*no double"):
        read(str(ODD))


@pytest.mark.parametrize("part", ["rows", "weight", "target"])
def test_partitions(part: str) -> None:
    da = pytest.importorskip("dask.array")
    own = {"rows": X.astype(np.int64), "weight": np.ones(4, dtype=np.int64), "target": np.arange(4)}
    own[part][2] = ODD
    lazy = {name: da.from_array(array, chunks=2) for name, array in own.items()}
    with pytest.raises(qpsvm.DataError, match="no double"):
        qpsvm.solve(EpsilonSVR(lazy["rows"], lazy["target"], sample_weight=lazy["weight"]))


def test_parquet(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [0.5, 1.0], "id": [1, ODD]}), tmp_path / "t.parquet")
    with pytest.raises(qpsvm.DataError, match=r"row 1, column 'id'"):
        qpsvm.open_rows(tmp_path / "t.parquet")
    assert qpsvm.open_rows(tmp_path / "t.parquet", columns=["a"]).d == 1
