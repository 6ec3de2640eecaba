"""What a user gets wrong: each mistake is an error of the library's own, and of the builtin class that users catch.

A row of a table says what is done, which builtin class the error must also be, and what its message must name. Nothing
may escape as an error of NumPy, SciPy or a solver, and no RuntimeWarning may leak on the way.
"""

from __future__ import annotations

import importlib
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm import (
    CSVM,
    RBF,
    CrammerSinger,
    HardMargin,
    Linear,
    NuSVM,
    NuSVR,
    Polynomial,
    Precomputed,
    PrimalHinge,
    Sigmoid,
    WestonWatkins,
)
from qpsvm.estimators import SVC, SVR, LinearSVC, LinearSVR
from qpsvm.program.qp import Rows
from qpsvm.space.operators import Dense, Diagonal, LowRank

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

N, D = 12, 3
RNG = np.random.default_rng(20)
X = RNG.normal(size=(N, D))
Y = np.repeat([-1, 1], N // 2)
X[Y > 0] += 1.0
X.setflags(write=False)
Y.setflags(write=False)
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Bad:
    """A mistake, the builtin class of its error, and what the message must contain."""

    name: str
    do: Callable[[], Any]
    builtin: type[Exception]
    says: tuple[str, ...] = ()


def bad(name: str, do: Callable[[], Any], builtin: type[Exception], *says: str) -> Bad:
    return Bad(name, do, builtin, says)


def cases(*rows: Bad) -> Any:
    return for_each("case", rows)


def check(case: Bad) -> qpsvm.QPSVMError:
    with pytest.raises(qpsvm.QPSVMError) as caught:
        case.do()
    error = caught.value
    message = str(caught.value)
    assert isinstance(error, case.builtin), f"{type(error).__mro__} is no {case.builtin.__name__}"
    assert message.strip()
    assert "\n" not in message, "a message is one line"
    for part in case.says:
        assert part in message, f"{message!r} does not say {part!r}"
    return error


def spoil(row: int, column: int, value: Any, dtype: Any = float) -> Any:
    """Return X with one entry replaced."""
    copy = X.astype(dtype)
    copy[row, column] = value
    return copy


def swap(values: Any, index: int, value: Any) -> Any:
    """Return a vector with one entry replaced."""
    copy = np.array(values)
    copy[index] = value
    return copy


def mask(values: Any, index: Any) -> Any:
    array = np.ma.masked_array(values)
    array[index] = np.ma.masked
    return array


# samples


@cases(
    bad("nan", lambda: CSVM(spoil(3, 1, NAN), Y), ValueError, "X", "NaN", "row 3", "column 1"),
    bad("infinity", lambda: CSVM(spoil(3, 1, INF), Y), ValueError, "X", "infinite", "row 3", "column 1"),
    bad("several nan", lambda: CSVM(spoil(3, slice(None), NAN), Y), ValueError, "row 3, column 0", "2 more"),
    bad("nan in csr", lambda: CSVM(sp.csr_array(spoil(3, 1, NAN)), Y), ValueError, "NaN", "row 3", "column 1"),
    bad(
        "infinity in coo", lambda: CSVM(sp.coo_matrix(spoil(9, 0, INF)), Y), ValueError, "infinite", "row 9", "column 0"
    ),
    bad("complex", lambda: CSVM(X + 0j, Y), TypeError, "X", "complex"),
    bad("complex sparse", lambda: CSVM(sp.csr_array(X + 0j), Y), TypeError, "X", "complex"),
    bad("text", lambda: CSVM(X.astype(str), Y), TypeError, "X", "number"),
    bad("object", lambda: CSVM(spoil(2, 1, "red", object), Y), TypeError, "row 2", "column 1", "'red'"),
    bad("none in a list", lambda: CSVM([[1.0, None], [2.0, 3.0]], [0, 1]), TypeError, "row 0", "column 1", "None"),
    bad("huge integer", lambda: CSVM([[10**400], [1]], [0, 1]), ValueError, "X"),
    bad("a number that Python does not print", lambda: CSVM(X, Y, 10**5000), ValueError, "C", "finite"),
    bad("long double too large", lambda: CSVM(X.astype("g") * np.longdouble("1e400"), Y), ValueError, "X"),
    bad("record array", lambda: CSVM(np.rec.fromarrays([X[:, 0], X[:, 1]]), Y), TypeError, "X"),
    bad("none", lambda: CSVM(None, Y), TypeError, "X", "table of numbers", "None"),
    bad("a file that is not there", lambda: CSVM("samples.csv", Y), FileNotFoundError, "samples.csv does not exist"),
    bad("a column by its name", lambda: CSVM(X, "label"), TypeError, "'label'", "path", "ndarray"),
    bad("no target", lambda: CSVM(X), TypeError, "y is missing"),
    bad("0-d", lambda: CSVM(3.0, [0]), ValueError, "two-dimensional", "()"),
    bad("1-d", lambda: CSVM(X[:, 0], Y), ValueError, "two-dimensional", "(12,)", "reshape"),
    bad("1-d sparse", lambda: CSVM(sp.coo_array(np.ones(N)), Y), ValueError, "two-dimensional"),
    bad("ragged", lambda: CSVM([[1, 2], [3]], [0, 1]), ValueError, "X", "rows equally long"),
    bad("no rows", lambda: CSVM(np.zeros((0, 3)), []), ValueError, "X", "empty", "(0, 3)"),
    bad("no columns", lambda: CSVM(np.zeros((3, 0)), [0, 1, 1]), ValueError, "X", "empty", "(3, 0)"),
    bad("no rows sparse", lambda: CSVM(sp.csr_array((0, 3)), []), ValueError, "X", "empty"),
    bad("empty list", lambda: CSVM([], []), ValueError, "X"),
    bad("masked entry", lambda: CSVM(mask(X, (2, 1)), Y), ValueError, "row 2", "column 1"),
)
def test_samples(case: Bad) -> None:
    check(case)


@for_each("variant", [CSVM, HardMargin, NuSVM, PrimalHinge])
def test_every_variant_checks_its_samples(variant: Any) -> None:
    check(bad("", lambda: variant(spoil(3, 1, NAN), Y), ValueError, "row 3", "column 1"))
    check(bad("", lambda: variant(X, Y[:-1]), ValueError, "11", "12"))


#: Columns of a data frame → the builtin class, and what the message must contain.
FRAMES: dict[str, tuple[Callable[[Any], Any], type[Exception], tuple[str, ...]]] = {
    "text column": (lambda _: {"age": [1, 2], "town": ["Bern", "Ulm"]}, TypeError, ("'town'", "row 0", "'Bern'")),
    "numbers as text": (lambda _: {"age": ["1", "2"]}, TypeError, ("'age'", "'1'")),
    "categorical": (lambda pd: {"k": pd.Categorical(["a", "b"]), "v": [1, 2]}, TypeError, ("'k'", "categories")),
    "dates of a zone": (lambda pd: {"t": pd.date_range("2020", periods=2, tz="UTC")}, TypeError, ("'t'", "dates")),
    "durations": (lambda pd: {"v": [1, 2], "d": pd.to_timedelta([1, 2])}, TypeError, ("'d'", "total_seconds")),
    "periods": (lambda pd: {"p": pd.period_range("2020", periods=2)}, TypeError, ("'p'", "periods")),
    "complex": (lambda _: {"v": [1, 2], "z": [1j, 2]}, TypeError, ("'z'", "complex")),
    "None": (lambda _: {"v": [1, 2], "o": [True, None]}, ValueError, ("'o'", "row 1", "missing")),
    "nan": (lambda _: {"age": [1, 2], "size": [1, None]}, ValueError, ("'size'", "row 1")),
    "nullable integers": (lambda pd: {"v": pd.array([1, None], dtype="Int64")}, ValueError, ("'v'", "row 1")),
    "empty": (lambda _: {"age": []}, ValueError, ("empty",)),
}


@for_each("name", FRAMES)
def test_data_frames(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    make, builtin, says = FRAMES[name]
    check(bad(name, lambda: CSVM(pandas.DataFrame(make(pandas)), [0, 1]), builtin, *says))
    if says[1:] in (("categories",), ("dates",), ("total_seconds",), ("periods",), ("complex",)):
        check(bad(name, lambda: SVC().fit(pandas.DataFrame(make(pandas)), [0, 1]), builtin, *says))


def test_truth_values_and_numbers_of_any_type_are_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": X[:, 0], "flag": (Y > 0).astype(int)})
    for kind in ("bool", "boolean", "Int64", "Float32", "category"):
        mixed = table.assign(flag=table["flag"].astype(kind))
        assert np.array_equal(CSVM(mixed, Y).X, table.to_numpy()), kind
    dummies = pandas.get_dummies(table.assign(flag=np.where(Y > 0, "yes", "no")))
    result = qpsvm.solve(CSVM(dummies, Y))
    assert result.problem.feature_names == tuple(dummies.columns)
    assert (result.predict(dummies) == SVC(kernel="linear").fit(dummies, Y).predict(dummies)).all()
    check(bad("one column", lambda: CSVM(table["age"], Y), ValueError, "two-dimensional"))


# labels


@cases(
    bad("too short", lambda: CSVM(X, Y[:-1]), ValueError, "y", "11", "12"),
    bad("too long", lambda: CSVM(X, [*Y, 1]), ValueError, "y", "13", "12"),
    bad("none", lambda: CSVM(X, None), ValueError, "y"),
    bad("a string", lambda: CSVM(X, "yes"), ValueError, "y", "one-dimensional"),
    bad("one class", lambda: CSVM(X, np.ones(N)), ValueError, "y", "two classes", "1.0"),
    bad("one sample", lambda: CSVM(X[:1], [1]), ValueError, "y", "two classes"),
    bad("three classes", lambda: CSVM(X, np.arange(N) % 3), ValueError, "y", "two classes", "0, 1, 2", "y == label"),
    bad("regression", lambda: CSVM(X, X[:, 0]), ValueError, "y", "two classes", "12"),
    bad("nan", lambda: CSVM(X, swap(Y * 1.0, 4, NAN)), ValueError, "y", "row 4"),
    bad("infinity", lambda: CSVM(X, swap(Y * 1.0, 4, INF)), ValueError, "y", "row 4"),
    bad("missing object", lambda: CSVM(X, swap(Y.astype(object), 4, None)), ValueError, "y", "row 4"),
    bad("not a time", lambda: CSVM(X, swap(np.full(N, "2020", "M8[D]"), 4, "NaT")), ValueError, "y", "row 4"),
    bad("column vector", lambda: CSVM(X, Y[:, None]), ValueError, "y", "one-dimensional", "ravel"),
    bad("ragged", lambda: CSVM(X[:2], [[1, 2], [3]]), ValueError, "y"),
    bad("mixed types", lambda: CSVM(X, swap(Y.astype(object), 0, "yes")), TypeError, "y", "types"),
    bad("unsortable", lambda: CSVM(X[:2], np.array([{}, []], dtype=object)), TypeError, "y"),
    bad("complex", lambda: CSVM(X, Y + 0j), TypeError, "y", "complex"),
    bad("sparse", lambda: CSVM(X, sp.csr_array(Y[:, None])), ValueError, "y"),
    bad("masked", lambda: CSVM(X, mask(Y, 4)), ValueError, "y", "row 4"),
)
def test_labels(case: Bad) -> None:
    check(case)


WITH_LABELS: dict[str, Callable[[Any], Any]] = {
    "machine": lambda y: CSVM(X, y),
    "all in one": lambda y: CrammerSinger(X, y),
    "SVC": lambda y: SVC().fit(X, y),
    "LinearSVC": lambda y: LinearSVC().fit(X, y),
}


def without_label(dtype: str) -> Any:
    """Twelve labels, of which that of row 11 is missing."""
    library, _, kind = dtype.partition(" ")
    text, numbers = ["yes", "no"] * 5 + ["yes"], [1, 0] * 5 + [1]
    if library != "numpy":
        module = importlib.import_module(library)
        short = {"Int64": numbers, "boolean": [True, False] * 5 + [True]}.get(kind, text)
        if library == "pandas":
            return module.Series([*short, None], dtype=kind)
        if library == "pyarrow":
            return module.array([*short, None])
        return module.Series([*short, None])
    made: dict[str, Callable[[], Any]] = {
        "None": lambda: [*text, None],
        "nan": lambda: [*text, NAN],
        "numbers None": lambda: [*numbers, None],
        "numbers nan": lambda: [*numbers, NAN],
        "infinity": lambda: [*numbers, INF],
        "U": lambda: np.array([*text, NAN]),
        "objects": lambda: np.array([*text, NAN], dtype=object),
        "dates": lambda: np.array(["2020-01-01", "2021-01-01"] * 5 + ["2020-01-01", "NaT"], dtype="M8[D]"),
        "text": lambda: np.array([*text, None], dtype=np.dtypes.StringDType(na_object=None)),
    }
    return made[kind]()


#: Libraries, and what their labels may be of.
LABELS = {
    "numpy": ["None", "nan", "numbers None", "numbers nan", "infinity", "U", "objects", "dates", "text"],
    "pandas": ["category", "Int64", "string", "boolean", "str"],
    "polars": ["str"],
    "pyarrow": ["str"],
}


@pytest.mark.parametrize("library", LABELS)
@for_each("what", WITH_LABELS)
def test_a_missing_label_is_named_with_its_row(library: str, what: str) -> None:
    pytest.importorskip(library)
    for kind in LABELS[library]:
        if kind != "text" or hasattr(np.dtypes, "StringDType"):
            y = without_label(f"{library} {kind}")
            wrong = "infinite" if kind == "infinity" else "missing"
            check(bad(kind, lambda y=y: WITH_LABELS[what](y), ValueError, f"the label of row 11 is {wrong}"))


def test_the_first_missing_label_is_named_and_the_others_are_counted() -> None:
    y = np.array([None, *["yes", "no"] * 5, None], dtype=object)
    check(bad("", lambda: CSVM(X, y), ValueError, "the label of row 0 (and of 1 further row) is missing (None)"))


def test_a_class_may_be_called_none() -> None:
    assert CSVM(X, ["None", "some"] * 6).classes.tolist() == ["None", "some"]
    assert SVC().fit(X, ["None", "some"] * 6).classes_.tolist() == ["None", "some"]


def test_text_of_numpys_own_kind_is_text() -> None:
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("this NumPy has no such text")
    y = np.array(["yes", "no"] * 6, dtype=np.dtypes.StringDType())
    assert CSVM(X, y).classes.tolist() == SVC().fit(X, y).classes_.tolist() == ["no", "yes"]


@for_each("value", [NAN, INF, None])
def test_a_missing_target_or_weight_of_an_estimator_is_named_with_its_row(value: Any) -> None:
    numbers = [*map(float, range(N - 1)), value]
    for machine in (SVR, LinearSVR):
        check(bad("", lambda machine=machine: machine().fit(X, numbers), ValueError, "the target of row 11 is"))
    check(bad("", lambda: SVC().fit(X, Y, numbers), ValueError, "sample_weight", "the weight of row 11 is"))


# weights and penalties


@cases(
    bad("negative", lambda: CSVM(X, Y, sample_weight=swap(np.ones(N), 4, -1)), ValueError, "sample_weight[4]", "-1"),
    bad("nan", lambda: CSVM(X, Y, sample_weight=swap(np.ones(N), 4, NAN)), ValueError, "sample_weight[4]"),
    bad("all zero", lambda: CSVM(X, Y, sample_weight=np.zeros(N)), ValueError, "sample_weight", "zero"),
    bad("positives zero", lambda: CSVM(X, Y, sample_weight=Y < 0), ValueError, "sample_weight", "positive (larger)"),
    bad("negatives zero", lambda: NuSVM(X, Y, 0.1, sample_weight=Y > 0), ValueError, "weight", "negative (smaller)"),
    bad("too short", lambda: PrimalHinge(X, Y, sample_weight=np.ones(5)), ValueError, "sample_weight", "(5,)", "(12,)"),
    bad("column", lambda: CSVM(X, Y, sample_weight=np.ones((N, 1))), ValueError, "sample_weight", "(12, 1)"),
    bad("a number", lambda: CSVM(X, Y, sample_weight=2.0), ValueError, "sample_weight"),
    bad("class names", lambda: CSVM(X, Y, sample_weight="balanced"), TypeError, "sample_weight"),
    bad("complex", lambda: CSVM(X, Y, sample_weight=np.ones(N) + 0j), TypeError, "sample_weight"),
    bad("text", lambda: CSVM(X, Y, sample_weight=["1"] * N), TypeError, "sample_weight"),
    bad("ragged", lambda: CSVM(X, Y, sample_weight=[[1], [1, 2]]), ValueError, "sample_weight"),
    bad("masked", lambda: CSVM(X, Y, sample_weight=mask(np.ones(N), 4)), ValueError, "sample_weight"),
    bad("overflows", lambda: CSVM(X, Y, C=1e300, sample_weight=np.full(N, 1e300)), ValueError, "C"),
)
def test_weights(case: Bad) -> None:
    check(case)


@cases(
    bad("zero", lambda: CSVM(X, Y, C=0), ValueError, "C", "positive"),
    bad("nan", lambda: CSVM(X, Y, C=NAN), ValueError, "C", "finite"),
    bad("infinity", lambda: CSVM(X, Y, C=INF), ValueError, "C", "finite"),
    bad("true", lambda: CSVM(X, Y, C=True), TypeError, "C", "True"),
    bad("text", lambda: CSVM(X, Y, C="1"), TypeError, "C", "'1'"),
    bad("a dict", lambda: CSVM(X, Y, C={1: 2.0}), TypeError, "C"),
    bad("too few", lambda: CSVM(X, Y, C=[1.0, 2.0]), ValueError, "C", "(12,)", "(2,)"),
    bad("two-dimensional", lambda: CSVM(X, Y, C=np.ones((N, 1))), ValueError, "C", "(12, 1)"),
    bad("a zero among them", lambda: CSVM(X, Y, C=swap(np.ones(N), 4, 0)), ValueError, "C[4]"),
    bad("a nan among them", lambda: CSVM(X, Y, C=swap(np.ones(N), 4, NAN)), ValueError, "C[4]"),
    bad("ragged", lambda: CSVM(X, Y, C=[[1], [1, 2]]), ValueError, "C"),
    bad("huge integer", lambda: CSVM(X, Y, C=10**400), ValueError, "C"),
    bad("masked", lambda: CSVM(X, Y, C=mask(np.ones(N), 4)), ValueError, "C"),
)
def test_penalties(case: Bad) -> None:
    check(case)


# parameters of problems and kernels


@cases(
    bad("nu zero", lambda: NuSVM(X, Y, 0), ValueError, "nu"),
    bad("nu above one", lambda: NuSVM(X, Y, 1.5), ValueError, "nu", "(0, 1]", "1.5"),
    bad("nu nan", lambda: NuSVM(X, Y, NAN), ValueError, "nu"),
    bad("nu text", lambda: NuSVM(X, Y, "0.5"), TypeError, "nu", "'0.5'"),
    bad("lam zero", lambda: PrimalHinge(X, Y, 0.0), ValueError, "lam"),
    bad("lam nan", lambda: PrimalHinge(X, Y, NAN), ValueError, "lam"),
    bad("lam text", lambda: PrimalHinge(X, Y, "auto"), TypeError, "lam", "'auto'"),
    bad("intercept american", lambda: PrimalHinge(X, Y, intercept="penalized"), ValueError, "'penalised'"),
    bad("intercept true", lambda: PrimalHinge(X, Y, intercept=True), ValueError, "intercept", "True"),
    bad("kernel class", lambda: CSVM(X, Y, kernel=RBF), ValueError, "kernel", "RBF()"),
    bad("kernel none", lambda: CSVM(X, Y, kernel=None), ValueError, "kernel", "None"),
    bad("a kernel matrix as kernel", lambda: CSVM(X, Y, kernel=X @ X.T), ValueError, "kernel", "precomputed"),
    bad("weights as intercept", lambda: PrimalHinge(X, Y, 0.1, Linear(), np.ones(N)), ValueError, "intercept"),
    bad("weights as psd", lambda: CSVM(X, Y, 1.0, Linear(), None, np.ones(N)), ValueError, "psd"),
    bad("gamma zero", lambda: RBF(0), ValueError, "gamma"),
    bad("gamma nan", lambda: Sigmoid(NAN), ValueError, "gamma"),
    bad("gamma infinite", lambda: Polynomial(3, INF), ValueError, "gamma"),
    bad("gamma true", lambda: RBF(True), TypeError, "gamma"),
    bad("gamma scale, constant X", lambda: CSVM(np.ones((N, D)), Y, kernel=RBF()), ValueError, "gamma", "var(X)"),
    bad("gamma scale, zero csr", lambda: CSVM(sp.csr_array((N, D)), Y, kernel="rbf"), ValueError, "gamma", "var(X)"),
    bad("degree zero", lambda: Polynomial(0), ValueError, "degree"),
    bad("degree nan", lambda: Polynomial(NAN), ValueError, "degree"),
    bad("degree text", lambda: Polynomial("3"), TypeError, "degree"),
    bad("coef0 nan", lambda: Polynomial(3, coef0=NAN), ValueError, "coef0"),
    bad("coef0 text", lambda: Sigmoid(coef0="0"), TypeError, "coef0"),
    bad("root of a negative", lambda: qpsvm.solve(CSVM(X, Y, kernel=Polynomial(2.5))), ValueError, "degree", "2.5"),
    bad("kernel unresolved", lambda: RBF()(X, X), ValueError, "gamma"),
)
def test_parameters(case: Bad) -> None:
    check(case)


def test_too_large_nu_names_the_largest_feasible_one() -> None:
    y = np.repeat([-1, 1], [9, 3])
    error = check(bad("", lambda: NuSVM(X, y, 0.6), ValueError, "nu", "0.6", "0.5"))
    assert isinstance(error, qpsvm.InfeasibleNuError)
    assert error.nu == 0.6
    assert error.nu_max == pytest.approx(0.5, rel=1e-15)
    weights = np.where(y > 0, 1.5, 1.0)
    NuSVM(X, y, 0.6, sample_weight=weights)  # ν_max = 2·4.5/13.5
    with pytest.raises(qpsvm.InfeasibleNuError) as caught:
        NuSVM(X, y, 0.67, sample_weight=weights)
    assert caught.value.nu_max == pytest.approx(2 / 3, rel=1e-15)


# kernels that misbehave


def gram(A: Any, B: Any) -> Any:
    return A @ B.T


def solve_with(kernel: Any) -> Callable[[], Any]:
    return lambda: qpsvm.solve(CSVM(X, Y, kernel=kernel))


def solve_matrix(given: Any) -> Callable[[], Any]:
    return lambda: qpsvm.solve(CSVM(given, Y, kernel="precomputed"))


def one_nan(A: Any, B: Any) -> Any:
    K = gram(A, B)
    K[2, 1] = NAN
    return K


K = X @ X.T


@cases(
    bad("wrong shape", solve_with(lambda A, B: gram(A, B)[:, :-1]), ValueError, "kernel", "(12, 11)", "(12, 12)"),
    bad("a number", solve_with(lambda A, B: 1.0), ValueError, "kernel", "()"),  # noqa: ARG005
    bad("ragged", solve_with(lambda A, B: [[1.0], [1.0, 2.0]]), ValueError, "kernel"),  # noqa: ARG005
    bad("nan", solve_with(one_nan), ValueError, "one_nan", "nan", "row 2", "row 1"),
    bad("complex", solve_with(lambda A, B: gram(A, B) + 0j), TypeError, "kernel", "complex"),
    bad("objects", solve_with(lambda A, B: gram(A, B).astype(object)), TypeError, "kernel"),
    bad("sparse", solve_with(lambda A, B: sp.csr_array(gram(A, B))), ValueError, "kernel"),
    bad("asymmetric", solve_with(lambda A, B: gram(A, B) + A[:, :1]), ValueError, "not symmetric"),
    bad("indefinite", solve_with(lambda A, B: -gram(A, B)), ValueError, "indefinite", "psd="),
    bad("indefinite sigmoid", solve_with(Sigmoid(1.0, -3.0)), ValueError, "indefinite", "psd="),
    bad("not square", lambda: CSVM(X, Y, kernel=Precomputed()), ValueError, "square", "(12, 3)"),
    bad("asymmetric matrix", solve_matrix(K + np.eye(N, k=2)), ValueError, "not symmetric", "(0, 2)"),
    bad("asymmetric sparse", solve_matrix(sp.csr_array(K + np.eye(N, k=2))), ValueError, "not symmetric"),
    bad(
        "nan in the matrix", lambda: CSVM(swap(K, (3, 1), NAN), Y, kernel="precomputed"), ValueError, "row 3, column 1"
    ),
    bad("indefinite matrix", solve_matrix(-K), ValueError, "indefinite"),
)
def test_kernels(case: Bad) -> None:
    check(case)


def test_an_indefinite_kernel_carries_its_eigenvalue() -> None:
    with pytest.raises(qpsvm.IndefiniteKernelError) as caught:
        qpsvm.solve(CSVM(-K, Y, kernel="precomputed"))
    H = np.eye(N) - 1 / N
    assert caught.value.eigenvalue == pytest.approx(np.linalg.eigvalsh(-H @ K @ H)[0], rel=1e-9)


def test_a_kernel_that_raises_is_heard() -> None:
    def broken(A: Any, B: Any) -> Any:  # noqa: ARG001
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        qpsvm.solve(CSVM(X, Y, kernel=broken))


@pytest.mark.slow
def test_a_huge_degree_does_not_hang() -> None:
    code = (
        "import numpy as np, qpsvm\n"
        "try: qpsvm.solve(qpsvm.CSVM(np.eye(4) / 2, [0, 0, 1, 1], kernel=qpsvm.Polynomial(1e12, 1.0)), check=False)\n"
        "except qpsvm.QPSVMError: pass"
    )
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], check=True, timeout=300)


# solve and its options


def refuse_kernel(A: Any, B: Any) -> Any:  # noqa: ARG001
    raise AssertionError("the kernel was evaluated, although the request is refused")


def ask(backend: Any = "cvxopt", **options: Any) -> Callable[[], Any]:
    """Solve a problem whose kernel must not be touched: refusals come before any work."""
    return lambda: qpsvm.solve(CSVM(X, Y, kernel=refuse_kernel), backend=backend, **options)


@cases(
    bad("text", lambda: qpsvm.solve("not a problem"), ValueError, "problem", "str"),
    bad("a class", lambda: qpsvm.solve(CSVM), ValueError, "problem", "the class CSVM"),
    bad("a qp of one form", lambda: qpsvm.solve(CSVM(X, Y).qp(), form="dual"), NotImplementedError, "QP", "form"),
    bad("backend upper case", ask("OSQP"), ValueError, "backend", "'osqp'"),
    bad("backend none", ask(None), ValueError, "backend", "None"),
    bad("backend array", ask(np.array(["cvxopt", "osqp"])), ValueError, "backend"),
    bad("form array", ask(form=np.array(["dual", "primal"])), ValueError, "form"),
    bad("tol array", ask(tol=np.full((9, 1), 1e-6)), TypeError, "tol"),
    bad("tol zero", ask(tol=0), ValueError, "tol"),
    bad("tol nan", ask(tol=NAN), ValueError, "tol"),
    bad("tol text", ask(tol="x"), TypeError, "tol", "'x'"),
    bad("max_iter zero", ask(max_iter=0), ValueError, "max_iter"),
    bad("max_iter fraction", ask(max_iter=2.5), TypeError, "max_iter", "2.5"),
    bad("max_iter true", ask(max_iter=True), TypeError, "max_iter"),
    bad("max_iter array", ask("osqp", max_iter=np.array([1, 2])), TypeError, "max_iter"),
    bad("max_iter beyond int", ask("osqp", max_iter=10**30), ValueError, "max_iter"),
    bad("time_limit zero", ask("cvxpy", time_limit=0), ValueError, "time_limit"),
    bad("time_limit nan", ask("osqp", time_limit=NAN), ValueError, "time_limit"),
    bad("time_limit text", ask("osqp", time_limit="1s"), TypeError, "time_limit"),
    bad("time_limit for cvxopt", ask("cvxopt", time_limit=1.0), NotImplementedError, "cvxopt", "time_limit", "osqp"),
    bad("tolerence", ask(tolerence=1e-8), TypeError, "'tolerence'", "'tol'"),
    bad("tolerence, osqp", ask("osqp", tolerence=1e-8), TypeError, "'tolerence'", "'tol'"),
    bad("tolerance, cvxpy", ask("cvxpy", tolerance=1e-8), TypeError, "'tolerance'", "'tol'"),
    bad("eps_ab", ask("osqp", eps_ab=1e-8), TypeError, "osqp", "'eps_ab'", "'eps_abs'"),
    bad("reltoll", ask(reltoll=1e-8), TypeError, "cvxopt", "'reltoll'", "'reltol'"),
    bad("tol_gap_ab", ask("cvxpy", tol_gap_ab=1e-8), TypeError, "'tol_gap_ab'", "'tol_gap_abs'"),
    bad("tol_gap_ab, clarabel", ask("clarabel", tol_gap_ab=1e-8), TypeError, "'tol_gap_ab'", "'tol_gap_abs'"),
    bad("another solver's option", ask("cvxpy", solver="SCS", tol_gap_abs=1e-8), TypeError, "SCS", "'tol_gap_abs'"),
    bad("option of a study backend", ask("dual_ascent", stepp=1.0), TypeError, "dual_ascent", "'stepp'"),
    bad("verbos", ask(verbos=True), TypeError, "'verbose'"),
    bad("unknown cvxpy solver", ask("cvxpy", solver="CLARABLE"), ValueError, "CLARABLE", "CLARABEL"),
    bad("cvxpy solver none", ask("cvxpy", solver=None), ValueError, "solver"),
    bad("form that a backend cannot take", ask("subgradient", form="dual"), NotImplementedError, "subgradient"),
)
def test_solve(case: Bad) -> None:
    check(case)


@cases(
    bad("cvxopt text", lambda: solve(reltol="x"), ValueError, "reltol"),
    bad("cvxopt negative", lambda: solve(feastol=-1.0), ValueError, "feastol"),
    bad("cvxopt iterations as text", lambda: solve(maxiters="x"), ValueError, "maxiters"),
    bad("cvxopt kktsolver", lambda: solve(kktsolver="nonsense"), ValueError, "kktsolver", "nonsense"),
    bad("osqp text", lambda: solve("osqp", eps_abs="x"), ValueError, "eps_abs"),
    bad("osqp negative", lambda: solve("osqp", eps_abs=-1.0), ValueError, "eps_abs"),
    bad("osqp rho", lambda: solve("osqp", rho=-1.0), ValueError, "rho"),
    bad("osqp out of range", lambda: solve("osqp", alpha=3.0), ValueError, "alpha"),
    bad("clarabel text", lambda: solve("clarabel", tol_gap_abs="x"), ValueError, "tol_gap_abs"),
    bad("clarabel method", lambda: solve("clarabel", direct_solve_method="x"), ValueError, "direct_solve_method"),
    bad("cvxpy's clarabel text", lambda: solve("cvxpy", tol_gap_abs="x"), ValueError, "tol_gap_abs"),
    bad("cvxpy's method", lambda: solve("cvxpy", direct_solve_method="x"), ValueError, "direct_solve_method"),
    bad("cvxpy solver number", lambda: solve("cvxpy", solver=3), ValueError, "solver"),
    bad("scs text", lambda: solve("cvxpy", solver="SCS", eps_abs="x"), ValueError, "eps_abs"),
    bad("scs negative", lambda: solve("cvxpy", solver="SCS", eps_abs=-1.0), ValueError, "eps_abs"),
    bad("cvxpy's osqp negative", lambda: solve("cvxpy", solver="OSQP", eps_abs=-1.0), ValueError, "eps_abs"),
    bad("cvxpy solver that cannot", lambda: solve("cvxpy", solver="GLPK"), Exception, "GLPK"),
)
def test_values_that_a_solver_refuses(case: Bad) -> None:
    assert str(check(case)).count("refused its settings") <= 1


def solve(backend: str = "cvxopt", **options: Any) -> Any:
    return qpsvm.solve(CSVM(X, Y), backend=backend, **options)


def with_rows(*groups: Any) -> Any:
    """A QP with four rows of G, and these groups of them."""
    names = {f"group {k}": group for k, group in enumerate(groups)}
    return qpsvm.QP(np.eye(2), [0, 0], G=np.ones((4, 2)), h=np.ones(4), constraints=names)


@cases(
    bad("p none", lambda: qpsvm.QP(None, np.zeros(2)), TypeError, "P"),
    bad("p objects", lambda: qpsvm.QP(np.eye(2, dtype=object), [0, 0]), TypeError, "P", "np.array(P, float)"),
    bad("q objects", lambda: qpsvm.QP(np.eye(2), [10**30, 1]), TypeError, "q", "np.array(q, float)"),
    bad("p complex", lambda: qpsvm.QP(np.eye(2) * 1j, np.zeros(2)), TypeError, "P"),
    bad("p complex sparse", lambda: qpsvm.QP(sp.csr_array(np.eye(2) * 1j), np.zeros(2)), TypeError, "P"),
    bad("p vector", lambda: qpsvm.QP(np.ones(2), np.zeros(2)), ValueError, "P", "two dimensions"),
    bad("p not square", lambda: qpsvm.QP(np.ones((2, 3)), np.zeros(2)), ValueError, "P", "square"),
    bad("p ragged", lambda: qpsvm.QP([[1], [2, 3]], np.zeros(2)), ValueError, "P"),
    bad("p not symmetric", lambda: qpsvm.QP([[1, 2], [3, 4]], np.zeros(2)), ValueError, "P", "symmetric"),
    bad("dense of text", lambda: Dense("x"), TypeError, "matrix"),
    bad("dense not square", lambda: Dense(np.ones((2, 3))), ValueError, "square"),
    bad("diagonal of a matrix", lambda: Diagonal(np.eye(2)), ValueError, "diagonal", "one-dimensional"),
    bad("low rank none", lambda: LowRank(None), TypeError, "Z"),
    bad("low rank d", lambda: LowRank(np.ones((2, 1)), [1, 2, 3]), ValueError, "d", "2 rows"),
    bad("low rank nan", lambda: qpsvm.compile(qpsvm.QP(LowRank([[NAN], [1]]), [0, 0], lb=0)), ValueError, "finite"),
    bad("q text", lambda: qpsvm.QP(np.eye(2), ["a", "b"]), TypeError, "q"),
    bad("q number", lambda: qpsvm.QP(np.eye(1), 1.0), ValueError, "q", "one-dimensional"),
    bad("q column", lambda: qpsvm.QP(np.eye(2), [[1], [2]]), ValueError, "q.ravel()"),
    bad("q empty", lambda: qpsvm.QP(np.zeros((0, 0)), []), ValueError, "at least one variable"),
    bad("r text", lambda: qpsvm.QP(np.eye(2), [0, 0], r="0"), TypeError, "r"),
    bad("g text", lambda: qpsvm.QP(np.eye(2), [0, 0], G="G", h=[1]), TypeError, "G"),
    bad("h infinite", lambda: qpsvm.QP(np.eye(2), [0, 0], G=[[1, 1]], h=[INF]), ValueError, "h", "left out"),
    bad("a sparse vector", lambda: qpsvm.QP(np.eye(2), [0, 0], A=sp.coo_array(np.ones(2)), b=[1]), ValueError, "A"),
    bad("lb text", lambda: qpsvm.QP(np.eye(2), [0, 0], lb="0"), TypeError, "lb"),
    bad("lb matrix", lambda: qpsvm.QP(np.eye(2), [0, 0], lb=np.eye(2)), ValueError, "lb"),
    bad("lb above, as a number", lambda: qpsvm.QP(np.eye(2), [0, 0], lb=2, ub=1), ValueError, "lb > ub"),
    bad("ub nan, as a number", lambda: qpsvm.QP(np.eye(2), [0, 0], ub=NAN), ValueError, "ub has a NaN"),
    bad("variables list", lambda: qpsvm.QP(np.eye(2), [0, 0], variables=["x"]), TypeError, "variables"),
    bad("variables number", lambda: qpsvm.QP(np.eye(2), [0, 0], variables={"x": 2}), TypeError, "variables", "'x'"),
    bad("variables text", lambda: qpsvm.QP(np.eye(2), [0, 0], variables={"x": slice("a", "b")}), TypeError, "'x'"),
    bad("variables steps", lambda: qpsvm.QP(np.eye(2), [0, 0], variables={"x": slice(0, 2, 2)}), ValueError, "steps"),
    bad("rows of what", lambda: with_rows(Rows("X", slice(0, 1), "")), ValueError, "'G' or 'A'"),
    bad("rows number", lambda: with_rows(Rows("G", 1, "")), TypeError, "slice"),
    bad("rows twice", lambda: with_rows(*2 * [Rows("G", slice(0, 2), "")]), ValueError, "each once"),
    bad("no rows object", lambda: with_rows("G"), TypeError, "constraints"),
    bad("title", lambda: qpsvm.QP(np.eye(2), [0, 0], title=3), TypeError, "title"),
)
def test_qp(case: Bad) -> None:
    check(case)


#: What belongs to other problems than that of X and Y.
SHORTER, SHORTER_NU = qpsvm.compile(CSVM(X[2:], Y[2:]).qp()).solve(), qpsvm.solve(NuSVM(X[2:], Y[2:], 0.2))
PLAIN = qpsvm.compile(qpsvm.QP(np.eye(2), [0, 0])).solve()
STEP = qpsvm.derive(CSVM(X, Y)).steps[0]


def plot(**options: Any) -> Any:
    return qpsvm.plotting.multipliers(CSVM(X, Y), qpsvm.solve(CSVM(X, Y)), **options)


@cases(
    bad("unknown form", lambda: CSVM(X, Y).qp("duals"), ValueError, "form", "'dual'"),
    bad("unknown backend", lambda: qpsvm.compile(CSVM(X, Y).qp(), "osq"), ValueError, "'osqp'"),
    bad("not a qp", lambda: qpsvm.compile("qp", "cvxopt"), ValueError, "QP", "str"),
    bad("a problem, not its qp", lambda: qpsvm.compile(CSVM(X, Y), "osqp"), ValueError, "QP", "CSVM"),
    bad("option", lambda: qpsvm.compile(CSVM(X, Y).qp(), "osqp").solve(eps_ab=1), TypeError, "'eps_abs'"),
    bad("tol", lambda: qpsvm.compile(CSVM(X, Y).qp(), "osqp").solve(tol=-1), ValueError, "tol"),
    bad("time limit", lambda: qpsvm.compile(CSVM(X, Y).qp()).solve(time_limit=1), NotImplementedError, "time_limit"),
    bad("certify short", lambda: CSVM(X, Y).certify(np.zeros(3)), ValueError, "alpha", "12", "(3,)"),
    bad("certify nan", lambda: CSVM(X, Y).certify(np.full(N, NAN)), ValueError, "alpha", "finite"),
    bad("certify complex", lambda: CSVM(X, Y).certify(np.ones(N) + 1j), TypeError, "alpha"),
    bad("certify none", lambda: CSVM(X, Y).certify(None), ValueError, "alpha"),
    bad("certify another w", lambda: CSVM(X, Y).certify(np.zeros(N), w=np.zeros(5)), ValueError, "w"),
    bad("objective text", lambda: qpsvm.QP(np.eye(2), [0, 0]).objective("x"), TypeError, "x"),
    bad("objective short", lambda: qpsvm.QP(np.eye(2), [0, 0]).objective([1]), ValueError, "x must be 2 numbers"),
    bad("split matrix", lambda: qpsvm.QP(np.eye(2), [0, 0]).split(np.eye(2)), ValueError, "x must be 2 numbers"),
    bad("multipliers short", lambda: CSVM(X, Y).qp().multiplier("balance", [], []), ValueError, "y must be 1 numbers"),
    bad("group of no name", lambda: CSVM(X, Y).qp().multiplier(["balance"], [], [1]), ValueError, "constraint group"),
    bad("scales", lambda: CSVM(X, Y).qp().scaled("alpha", {}, 1.0), TypeError, "variables"),
    bad("scale text", lambda: CSVM(X, Y).qp().scaled({"alpha": "1"}, {}, 1.0), TypeError, "scale"),
    bad("verbose", lambda: qpsvm.compile(CSVM(X, Y).qp()).solve(verbose=np.ones(2)), TypeError, "verbose"),
    bad("interpret", lambda: CSVM(X, Y).interpret("solution"), TypeError, "QPSolution"),
    bad("interpret another", lambda: CSVM(X, Y).interpret(SHORTER), ValueError, "12 rows"),
    bad("interpret no svm", lambda: CSVM(X, Y).interpret(PLAIN), ValueError, "this problem"),
    bad("equivalent of nothing", lambda: CSVM(X, Y).equivalent_nu_svm(None), TypeError, "result"),
    bad("equivalent of another", lambda: NuSVM(X, Y).equivalent_c_svm(SHORTER_NU), ValueError, "10 rows"),
    bad("residual of nothing", lambda: STEP.residual(CSVM(X, Y), None), TypeError, "result"),
    bad("legend", lambda: plot(legend="no"), TypeError, "legend"),
    bad("sort", lambda: plot(sort=X), TypeError, "sort"),
)
def test_what_is_asked_of_a_qp_and_its_solution(case: Bad) -> None:
    check(case)


@for_each("backend", ["cvxopt", "osqp", "cvxpy"])
@for_each("form", ["dual", "primal"])
def test_inseparable_hard_margin_is_one_error_everywhere(backend: str, form: str) -> None:
    y = np.tile([0, 1], N // 2)
    twice = np.repeat(X[::2], 2, axis=0)
    problem = HardMargin(twice, y)
    error = check(bad("", lambda: qpsvm.solve(problem, backend, form), ValueError, "separable", ".u", "CSVM"))
    assert isinstance(error, qpsvm.NotSeparableError)
    assert qpsvm.solve(problem, backend, form, check=False).status == "infeasible"


# prediction


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {
        "linear": qpsvm.solve(CSVM(X, Y)),
        "rbf": qpsvm.solve(CSVM(X, Y, kernel="rbf")),
        "precomputed": qpsvm.solve(CSVM(K, Y, kernel="precomputed")),
    }


class Unreadable:
    """What says itself why it is no array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("this tensor is on the GPU; call cpu() first")


PREDICT: dict[str, tuple[Callable[[int], Any], type[Exception], tuple[str, ...]]] = {
    "wider": (lambda d: np.zeros((2, d + 1)), ValueError, ("columns", "expected")),
    "narrower sparse": (lambda d: sp.csr_array((2, d - 1)), ValueError, ("columns", "expected")),
    "nan": (lambda d: swap(np.zeros((2, d)), (1, 2), NAN), ValueError, ("NaN", "row 1", "column 2")),
    "1-d": (np.zeros, ValueError, ("two-dimensional", "reshape")),
    "empty": (lambda d: np.zeros((0, d)), ValueError, ("empty",)),
    "text": (lambda d: np.full((2, d), "1"), TypeError, ("number",)),
    "complex": (lambda d: np.zeros((2, d), complex), TypeError, ("complex",)),
    "none": (lambda d: None, TypeError, ("X",)),  # noqa: ARG005
    "ragged": (lambda d: [[0.0] * d, [0.0] * (d - 1)], ValueError, ("row 0 is", "row 1 is", "equally long")),
    "ragged inside": (lambda d: [[0.0] * d, [[0.0]] + [0.0] * (d - 1)], ValueError, ("not a number",)),
    "ragged, a number": (lambda d: [np.array(1.0), np.zeros(d)], ValueError, ("row 0 is no list",)),
    "1-d sparse": (lambda d: sp.coo_array(np.ones(d)), ValueError, ("two-dimensional",)),
    "a number": (lambda _: 3.0, ValueError, ("two-dimensional",)),
    "a string": (lambda _: "samples.csv", TypeError, ("number",)),
    "objects": (lambda d: swap(np.zeros((2, d), object), (1, 2), "red"), TypeError, ("row 1", "column 2", "'red'")),
    "none in a list": (lambda d: [[0.0] * (d - 1) + [None]], TypeError, ("row 0", "None")),
    "too large to be squared": (lambda d: np.full((2, d), 1e200), ValueError, ("overflows",)),
    "a tensor elsewhere": (lambda _: Unreadable(), ValueError, ("on the GPU",)),
    "masked": (lambda d: mask(np.zeros((2, d)), (1, 2)), ValueError, ("row 1", "column 2")),
}


@for_each("kernel", ["linear", "rbf", "precomputed"])
@for_each("name", PREDICT)
def test_prediction(name: str, kernel: str, models: dict[str, Any]) -> None:
    make, builtin, says = PREDICT[name]
    result = models[kernel]
    samples = make(N if kernel == "precomputed" else D)
    for method in (result.predict, result.decision_function, result.model.predict):
        error = check(bad(name, lambda method=method: method(samples), builtin, *says))
        for advice in ("Reshape your data", "sequence", "inhomogeneous", "dtype=object", "pickle"):
            assert advice not in str(error), "NumPy's advice is about NumPy"


def test_w_of_a_kernel_machine_is_an_attribute_error_that_says_why(models: dict[str, Any]) -> None:
    check(bad("", lambda: models["rbf"].w, AttributeError, "feature space", "Linear()"))
    assert not hasattr(models["rbf"], "w")


def test_a_residual_without_a_point_is_an_error() -> None:
    qp = CSVM(X, Y).qp()
    solution = qpsvm.QPSolution(qp, qpsvm.Status.NUMERICAL_ERROR, qpsvm.compile(qp).solve().solver)
    for measure in (solution.primal_residual, solution.dual_residual, solution.complementarity, solution.duality_gap):
        check(bad("", measure, RuntimeError, "no point"))


def test_no_c_belongs_to_rho_zero() -> None:
    samples = np.array([[0.0], [1.0], [0.0], [1.0]])
    y = [0, 0, 1, 1]
    problem = NuSVM(samples, y, 1.0)
    result = qpsvm.solve(problem, check=False)
    assert "rho" in result.message
    check(bad("", lambda: problem.equivalent_c_svm(result), ValueError, "rho", "nu"))


# files of models


def test_callable_kernels_and_labels_that_are_objects_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    labels = np.array([Decimal(int(v)) for v in Y])
    for problem, says in ((CSVM(X, Y, kernel=gram), ("gram", "callable")), (CSVM(X, labels), ("Decimal",))):
        result = qpsvm.solve(problem)
        check(bad("", lambda result=result: result.save(path), NotImplementedError, *says))
        assert not path.exists()


# numbers that overflow or vanish


@for_each("factor", [1e100, 1e160, 1e307, 1e-100, 1e-160, 1e-320])
@for_each("kernel", [Linear(), RBF(), RBF(1.0), Polynomial(), Polynomial(3, 1.0), Sigmoid()])
@for_each("variant", [CSVM, HardMargin, NuSVM, PrimalHinge])
def test_absurd_scales_are_refused_or_answered_honestly(factor: float, kernel: Any, variant: Any) -> None:
    refused_or_honest(lambda: variant(X * factor, Y, kernel=kernel))


#: Machines, and what they are given besides samples and labels.
ABSURD: list[tuple[Any, dict[str, Any]]] = [
    *((CSVM, {"C": C}) for C in (1e300, 1e-300, 1e308, 5e-324, np.logspace(-300, 300, N))),
    *((CSVM, {"sample_weight": weight}) for weight in (np.logspace(-300, 300, N), np.full(N, 5e-324))),
    *((NuSVM, {"nu": 0.1, "sample_weight": np.full(N, weight)}) for weight in (1e308, 5e-324)),
    (NuSVM, {"nu": 1e-300}),
    *((NuSVR, {"y": X[:, 0], "C": 5e-324, "kernel": kernel}) for kernel in (Linear(), RBF(0.5))),
    *((kind, {"y": np.arange(N) % 3, "C": 5e-324, "kernel": RBF(0.5)}) for kind in (CrammerSinger, WestonWatkins)),
    *((PrimalHinge, {"lam": lam}) for lam in (1e300, 1e-300, 5e-324)),
    *((CSVM, {"kernel": kernel}) for kernel in (RBF(1e-320), RBF(1e300), Polynomial(200, 10.0))),
    *((CSVM, {"kernel": kernel}) for kernel in (Polynomial(3, 1e-320), Polynomial(3, coef0=1e300))),
    *((CSVM, {"kernel": kernel, "psd": "clip"}) for kernel in (Polynomial(0.5, 1, 100), Sigmoid(1e300))),
    *((CSVM, {"X": size * np.eye(N), "kernel": "precomputed"}) for size in (1e200, 1e-320, 0.0)),
]


@for_each("variant, given", ABSURD)
def test_absurd_parameters_are_refused_or_answered_honestly(variant: Any, given: dict[str, Any]) -> None:
    refused_or_honest(lambda: variant(**{"X": X, "y": Y, **given}))


def refused_or_honest(make: Callable[[], Any]) -> None:
    try:
        result = qpsvm.solve(make(), check=False)
    except qpsvm.QPSVMError:
        return
    fields = (result.alpha, result.xi, result.yf, result.b, result.rho, result.primal, result.dual, result.gap)
    assert not any(np.isnan(part).any() for part in fields)
    assert (result.status == "optimal") == (result.gap <= 1e-6)
    assert result.summary()


@for_each("t", [["1", "two", "3"], np.array([1.0, "two", 3.0], dtype=object)])
def test_text_for_numbers_is_told_who_takes_labels(t: Any) -> None:
    samples = [[0.0], [1.0], [2.0]]
    for machine in (qpsvm.EpsilonSVR, qpsvm.NuSVR, qpsvm.QuantileSVR):
        with pytest.raises(qpsvm.DataTypeError, match=r"t holds text where numbers are needed; .*CSVM"):
            machine(samples, t)
    with pytest.raises(qpsvm.DataTypeError, match="y holds text"):
        qpsvm.Ranking(samples, t)


def test_numbers_for_classes_are_told_who_takes_numbers() -> None:
    with pytest.raises(qpsvm.DataError, match="or take a regression such as EpsilonSVR"):
        CSVM(X, X[:, 0])
    with pytest.raises(qpsvm.DataError, match=r"y == label$"):
        CSVM(X, np.arange(N) % 3)


def test_what_there_is_to_learn_is_shown() -> None:
    problem = qpsvm.EpsilonSVR(X, np.linspace(-1.0, 2.5, N))
    assert "target from -1 to 2.5" in repr(problem)
    assert ("target", "-1 to 2.5") in problem.samples.describe()
    for shown in (repr(qpsvm.OneClass(X)), str(qpsvm.OneClass(X))):
        assert "target" not in shown
        assert "class" not in shown.replace("OneClass", "").replace("one-class", "")


def test_a_nu_that_is_no_share_does_not_speak_of_classes() -> None:
    for make in (
        lambda: qpsvm.NuSVR(X, X[:, 0], nu=1.0 + 1e-9),
        lambda: qpsvm.OneClass(X, 1.5),
        lambda: qpsvm.SVDD(X, 1.5),
    ):
        with pytest.raises(qpsvm.InfeasibleNuError, match=r"nu = 1(\.5)? is infeasible: it is a share") as caught:
            make()
        assert "class" not in str(caught.value)
        assert caught.value.nu_max == 1.0
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


#: Misspelt options, and which one is meant.
MISSPELT: list[tuple[Callable[[], Any], str | None]] = [
    (lambda: CSVM(X, Y, kernel="rbbf"), "'rbf'"),
    (lambda: SVC(multi_class="ovvo").fit(X, Y), "'ovo'"),
    (lambda: SVC(class_weight="balanse").fit(X, Y), "'balanced'"),
    (lambda: SVC(gamma="scal").fit(X, Y), "'scale'"),
    (lambda: LinearSVC(loss="hinj").fit(X, Y), "'hinge'"),
    (lambda: CSVM(X, Y, intercept="fre"), "'free'"),
    (lambda: CSVM(X, Y, intercept="none"), "None"),
    (lambda: qpsvm.EpsilonSVR(X, Y, loss="absolut"), "'absolute'"),
    (ask("cvxop"), "'cvxopt'"),
    (ask("autoo"), "'auto'"),
    (ask(form="dul"), "'dual'"),
    (lambda: qpsvm.solve(CrammerSinger(X, Y), "cvxop"), "'cvxopt'"),
    (lambda: CSVM(X, Y, psd="clp"), "'clip'"),
    (lambda: CrammerSinger(X, Y, psd="clp"), "'clip'"),
    (lambda: RBF(gamma="scal"), "'scale'"),
    (lambda: qpsvm.unregister_backend("nobody"), None),
    (lambda: CSVM(X, Y, intercept=10**5000), None),
]


@for_each("wrong, meant", MISSPELT)
def test_the_nearest_option_is_named_as_it_is_written(wrong: Callable[[], Any], meant: str | None) -> None:
    with pytest.raises(qpsvm.UnknownOptionError) as caught:
        wrong()
    assert re.findall(r"did you mean (.*?)\?", str(caught.value)) == ([] if meant is None else [meant])
