"""MPS and LP files of others: what is wrong in them is an error with its line, and nothing is read otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm.backends.external.mps_lines import normalise_lines

pytest.importorskip("highspy")

MODEL = """\
* a comment
NAME small
ROWS
 N obj
 L first
 G second
COLUMNS
 x obj 1 first 1
 x second 2
 y obj -1 second 1
RHS
 rhs first 4 second 1
BOUNDS
 UP bnd x 3
 FR bnd y
QUADOBJ
 x x 2
 y x 1
 y y 4
ENDATA
"""
LINEAR = """\
minimize
 obj: x + 2 y + [ 2 x^2 + 2 x*y + 4 y^2 ] / 2
subject to
 first: x + y >= 1
end
"""


def read(folder: Path, text: str, ending: str = ".mps") -> qpsvm.QP:
    path = folder / f"model{ending}"
    path.write_text(text)
    return qpsvm.read_model(path)


@for_each("old, new, message", [
    (" x second 2", " x third 2", "line 9: COLUMNS has the row 'third', which ROWS does not have"),
    (" x second 2", " x second two", "line 9: 'two' is not a number"),
    (" x second 2", " x second 2 second 3", "line 9: COLUMNS has an entry of 'second x' already, in line 9"),
    (" x second 2", " x second", "line 9: an entry of COLUMNS is a variable, a row and a number, not 'x second'"),
    ("RHS", " x first 2\nRHS", "line 11: the variable 'x' is there already, in line 8"),
    (" L first", " M first", "line 5: a row is N, L, G or E and a name, not 'M first'"),
    (" G second", " G first", "line 6: the row 'first' is there already, in line 5"),
    ("first 4", "first 4x", "line 12: '4x' is not a number"),
    ("first 4", "third 4", "line 12: RHS has the row 'third'"),
    ("BOUNDS", " rhs first 5\nBOUNDS", "line 13: RHS has an entry of 'first' already, in line 12"),
    (" UP bnd x", " UP bnd z", "line 14: BOUNDS has the variable 'z', which COLUMNS does not have"),
    (" UP bnd x", " AT bnd x", "line 14: a bound is UP, LO,"),
    (" FR bnd y", " UP bnd x 2", "line 15: BOUNDS has an entry of 'UP x' already, in line 14"),
    (" y y 4", " x y 1", r"line 19: QUADOBJ holds one .* has both \(x, y\) and, in line 18, \(y, x\); .*QMATRIX"),
    (" y y 4", " x x 4", r"line 19: QUADOBJ has the entry \(x, x\) already, in line 17"),
    (" y y 4", " y z 4", "line 19: QUADOBJ has the variable 'z'"),
    ("QUADOBJ", "QSECTION obj", None),
    ("QUADOBJ", "QMATRIX", r"line 18: QMATRIX holds both triangles, and \(y, x\) is 1 where \(x, y\) is not"),
    ("QUADOBJ", "QCMATRIX first", "line 16: a QP has no section QCMATRIX"),
    ("QUADOBJ", "QUADOBJS", "line 16: 'QUADOBJS' begins no section of an MPS file; did you mean 'QUADOBJ'"),
    ("ENDATA\n", "", "the file ends without ENDATA"),
    ("COLUMNS", " OBJSENSE SMALL\nCOLUMNS", "line 7: a row is"),
    ("ROWS", "OBJSENSE\n SMALL\nROWS", "line 4: OBJSENSE is MAX or MIN, not 'SMALL'"),
    ("4 second 1", "4 second 1_0", "'1_0' is not a number"),
    (" UP bnd x 3", " UP bnd x -3", "line 14: the upper bound -3 of 'x' is below .* 0 .*add a bound MI or LO of x"),
    (" UP bnd x 3", " LO bnd x 4\n UP bnd x 3", " holds no QP: lb > ub"),
    (" FR bnd y", " FR bnd x", "line 15: the variable 'x' has its upper bound already, from line 14; leave one out"),
    (" FR bnd y", " MI bnd y\n LO bnd y 1", "line 16: the variable 'y' has its lower bound already, from line 15"),
    (" FR bnd y", " FR b y", "line 15: BOUNDS has the set 'b' after 'bnd' in line 14; leave one out"),
    (" second 1\nBOUNDS", "\n r second 1\nBOUNDS", "line 13: RHS has the set 'r' after 'rhs' in line 12"),
    (" second 1\nBOUNDS", "\nRHS\n rhs second 1\nBOUNDS", "line 13: the section RHS is there already, in line 11"),
])  # fmt: skip
def test_what_is_wrong_is_an_error_with_its_line(tmp_path, capfd, old, new, message):
    assert MODEL.count(old) >= 1
    text = MODEL.replace(old, new, 1)
    if message is None:
        assert read(tmp_path, text).P.dense().tolist() == [[2.0, 1.0], [1.0, 4.0]]
    else:
        with pytest.raises(qpsvm.FileFormatError, match=rf"model\.mps.*{message}"):
            read(tmp_path, text)
    assert capfd.readouterr() == ("", "")


def test_a_model_is_what_its_lines_say(tmp_path):
    qp = read(tmp_path, MODEL)
    assert qp.P.dense().tolist() == [[2.0, 1.0], [1.0, 4.0]]
    assert qp.q.tolist() == [1.0, -1.0]
    assert np.asarray(qp.G.todense()).tolist() == [[1.0, 0.0], [-2.0, -1.0]]
    assert qp.h.tolist() == [4.0, -1.0]
    assert (qp.lb.tolist(), qp.ub.tolist()) == ([0.0, -np.inf], [3.0, np.inf])


@for_each("cost, ending", [(-3.0, ".mps"), (0.0, ".qps"), (-3.0, ".lp"), (0.0, ".lp")])
def test_variables_without_cost_keep_their_places(tmp_path, ending, cost):
    """HiGHS leaves them out of COLUMNS, and out of an LP file's objective, and reads them as the last."""
    rows = {"G": [[0.0, 0.0, 1.0, 0.0]], "h": [2.0], "lb": [0.0, -1.0, 0.0, -np.inf]}
    qp = qpsvm.QP(P=np.diag([1.0, 2.0, 0.0, 3.0]) * (cost != 0.0), q=[0.0, cost, 0.0, 0.0], r=1.5, **rows)
    qpsvm.write_model(qp, tmp_path / f"model{ending}")
    back = qpsvm.read_model(tmp_path / f"model{ending}")
    assert (back.q.tolist(), back.r) == (qp.q.tolist(), qp.r)
    assert back.G.toarray().tolist() == rows["G"]
    assert back.lb.tolist() == qp.lb.tolist()
    assert back.P.dense().tolist() == qp.P.dense().tolist()


@for_each("ending", [".mps", ".lp"])
def test_coefficients_of_any_size_are_written_and_read(tmp_path, ending):
    """HiGHS drops those up to 1e-9 by default, and writes an empty model if one is 1e15 or more."""
    parts = {"P": np.diag([1e-11, 1e20]), "q": [1e21, -1e-300], "G": [[1e-10, 1.0], [1e16, 1e-11]], "h": [1.0, -1e19]}
    path = tmp_path / f"model{ending}"
    qpsvm.write_model(qpsvm.QP(**parts), path)
    qp = qpsvm.read_model(path)
    assert (qp.P.dense().tolist(), qp.q.tolist()) == (parts["P"].tolist(), parts["q"])
    assert (qp.G.toarray().tolist(), qp.h.tolist()) == (parts["G"], parts["h"])
    with pytest.warns(qpsvm.QPSVMWarning, match=r"the QP has coefficients up to 1e-12 that HiGHS takes for 0"):
        qpsvm.write_model(qpsvm.QP(P=np.eye(2), q=[1.0, 1.0], G=[[0.0, 1.0], [1e-12, 1.0]], h=[1.0, 1.0]), path)
    assert qpsvm.read_model(path).G.toarray().tolist() == [[0.0, 1.0], [0.0, 1.0]]
    text = {".mps": MODEL.replace("first 1", "first 1e-13"), ".lp": LINEAR.replace("x + y >=", "1e-13 x + y >=")}
    with pytest.warns(qpsvm.QPSVMWarning, match=rf"model\{ending} has coefficients up to 1e-13 that"):
        read(tmp_path, text[ending], ending)


@for_each("part", [{"lb": -1e21}, {"ub": 1e20}, {"G": [[1.0]], "h": [1e20]}, {"A": [[1.0]], "b": [-1e21]}])
def test_limits_that_readers_take_for_infinite_are_not_written(tmp_path, part):
    path = tmp_path / "model.mps"
    with pytest.raises(
        qpsvm.UnsupportedError, match=f"{list(part)[-1]} has an entry of .* take numbers from 1e\\+20 on"
    ):
        qpsvm.write_model(qpsvm.QP(P=[[1.0]], q=[1.0], **part), path)
    assert not path.exists()


def test_variables_that_highs_leaves_out_of_columns_are_read(tmp_path):
    text = "NAME\nROWS\n N Obj\nCOLUMNS\n c0 Obj -3\nRHS\nBOUNDS\n MI BOUND c1\nQUADOBJ\n c0 c0 1\n c1 c1 2\nENDATA\n"
    assert read(tmp_path, text).P.dense().tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_both_triangles_are_what_qmatrix_holds(tmp_path):
    text = MODEL.replace("QUADOBJ", "QMATRIX").replace(" y x 1", " y x 1\n x y 1")
    assert read(tmp_path, text).P.dense().tolist() == [[2.0, 1.0], [1.0, 4.0]]


@for_each("old, new", [
    (" rhs first 4 second 1", " first 4 second 1"),
    (" UP bnd x 3\n FR bnd y", " UP x 3\n FR y"),
    (" FR bnd y", " FR bnd y 0"),
    ("ROWS", "OBJSENSE\n    MIN\nROWS"),
    ("first 4", "first 4.0D+00"),
    (" x second 2", " x\tsecond  2.\r"),
    (" FR bnd y", " MI bnd y"),
    (" FR bnd y", " PL bnd y\n MI bnd y"),
    (" UP bnd x 3", " UP bnd x 3\n LO bnd x 0"),
    ("NAME small", "NAME"),
])  # fmt: skip
def test_what_is_allowed_is_read_as_the_same(tmp_path, old, new):
    one = read(tmp_path, MODEL)
    other = read(tmp_path, MODEL.replace(old, new, 1))
    x = np.array([0.3, -0.7])
    assert one.objective(x) == other.objective(x)
    assert (one.h == other.h).all()
    assert (one.G != other.G).nnz == 0
    assert (one.ub.tolist(), one.lb.tolist()) == (other.ub.tolist(), other.lb.tolist())


@for_each(
    "limits",
    [" rhs other 3 first 4\n rhs obj 7 second 1", " rhs first 4 obj 7\n rhs second 1", " obj 7 first 4\n other 3"],
)
def test_a_second_row_without_limits_is_left_out(tmp_path, limits):
    """HiGHS takes the first number of RHS of any row N for the constant of the objective."""
    text = MODEL.replace(" L first", " N other\n L first").replace(" x second 2", " x second 2 other 9")
    qp = read(tmp_path, text.replace(" rhs first 4 second 1", limits))
    assert (qp.q.tolist(), qp.r, qp.h[0]) == ([1.0, -1.0], -7.0, 4.0)


def test_highs_is_given_the_free_format():
    lines = normalise_lines(FIXED, "model").splitlines()
    assert lines[:5] == ["NAME names with blanks", "ROWS", " N cost", " L row\x01one", "COLUMNS"]
    assert lines[5] == " x\x011 cost 1.0 row\x01one 2.0"


FIXED = """\
NAME          names with blanks
ROWS
 N  cost
 L  row one
COLUMNS
    x 1       cost               1.0   row one            2.0
    x 2       cost              -1.0
RHS
    rhs       row one            4.0
BOUNDS
 UP bnd       x 1                4.0
QUADOBJ
    x 1       x 1                2.0
ENDATA
"""


def test_names_with_blanks_are_read_in_the_fixed_format(tmp_path):
    qp = read(tmp_path, FIXED)
    assert (qp.n, qp.q.tolist(), qp.h.tolist(), qp.ub.tolist()) == (2, [1.0, -1.0], [4.0], [4.0, np.inf])
    with pytest.raises(qpsvm.FileFormatError, match="line 11: BOUNDS has the variable 'x 3'"):
        read(tmp_path, FIXED.replace("bnd       x 1", "bnd       x 3"))
    with pytest.raises(qpsvm.FileFormatError, match="line 6: 'e' is outside the fields of the fixed format"):
        read(tmp_path, FIXED.replace("1.0   row", "1.0e  row"))  # on which HiGHS's own reader goes on forever


@for_each("text, message", [
    (LINEAR.replace("subject to", "subject"), "model.lp: line 3, character 1: expected"),
    (LINEAR.replace(">= 1", ">= one"), "model.lp: line 4"),
    ("hello", "model.lp: "),
    ("", "model.lp holds no QP: "),
    (LINEAR.replace("x + 2 y", "2 (x + y)"), r"model.lp has a parenthesis in '\(x'"),
])  # fmt: skip
def test_why_highs_refuses_a_file_is_said(tmp_path, capfd, text, message):
    with pytest.raises(qpsvm.FileFormatError, match=message) as error:
        read(tmp_path, text, ".lp")
    assert "does not say" not in str(error.value)
    assert "/model.lp" in str(error.value)
    assert capfd.readouterr() == ("", "")


@for_each("ending, original", [(".mps", MODEL), (".mps", FIXED), (".lp", LINEAR)])
def test_damaged_models_are_errors_of_ours_or_models(tmp_path, ending, original):
    rng = np.random.default_rng(7)
    loaded = 0
    letters = list(" \n\t-+.0123456789exyNLGERHS*[]^/:\u00e9\0")
    for _ in range(120):
        text = list(original)
        for place in rng.integers(0, len(text), rng.integers(1, 4)):
            text[place] = letters[rng.integers(len(letters))]
        if rng.random() < 0.2:
            del text[rng.integers(len(text)) :]
        try:
            loaded += read(tmp_path, "".join(text), ending).n > 0
        except qpsvm.QPSVMError as error:
            assert "model" in str(error)  # noqa: PT017
    assert 0 < loaded < 120
