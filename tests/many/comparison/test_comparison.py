"""`qpsvm.compare`: a row for every backend, whatever becomes of it, and tables that others can read."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

import qpsvm
from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.many.comparison_table import Comparison, ComparisonRow

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(-1.0, 1.0, (20, 2)), RNG.normal(1.0, 1.0, (20, 2))])
Y = np.repeat(["a_b", "c"], 20)
PROBLEM = qpsvm.CSVM(X, Y)


@pytest.fixture(scope="module")
def comparison():
    return qpsvm.compare(PROBLEM, ["osqp", "libsvm", "liblinear", "auto"], repeat=3)


def test_rows_have_what_was_certified_and_what_it_took(comparison):
    names = [(row.backend, row.form, row.status) for row in comparison]
    assert names == [
        ("osqp", "dual", "optimal"), ("osqp", "primal", "optimal"), ("libsvm", "dual", "optimal"),
        ("liblinear", None, "unsupported"), ("auto", comparison[-1].form, "optimal"),
    ]  # fmt: skip
    alone = qpsvm.solve(PROBLEM, "libsvm")
    for row in comparison:
        if row.status == "optimal":
            assert row.gap <= comparison.tol == 1e-6
            assert row.primal == pytest.approx(alone.primal, rel=1e-6)
            assert row.support == len(alone.support)
            assert min(row.build_time, row.solve_time) > 0.0  # medians of the runs: each below that of the whole
            assert max(row.build_time, row.solve_time) <= row.total_time
            assert row.runs == 3
    assert "free" in comparison[3].note or "yᵀα" in comparison[3].note
    assert comparison[-1].note.startswith("took ")
    assert comparison.fastest in comparison
    assert len(comparison) == 5
    assert comparison[1:3] == comparison.rows[1:3]


def test_it_prints_as_a_table(comparison):
    lines = str(comparison).splitlines()
    assert "40 samples × 2 features" in lines[0]
    assert "medians of 3" in lines[0]
    assert [line.split()[0] for line in lines[2:8]] == ["backend", "osqp", "osqp", "libsvm", "liblinear", "auto"]
    assert max(len(line) for line in lines[2:8]) <= 120
    assert sum("liblinear" in line for line in lines[8:]) == 1, "why, once, without its name twice"
    page = comparison._repr_html_()
    assert page.count("<tr>") == 6
    assert "unsupported" in page
    assert repr(comparison).startswith("<Comparison: 5 rows")


def test_what_is_exported_is_read_back(comparison, tmp_path):
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [row["backend"] for row in rows] == [row.backend for row in comparison]
    assert [float(row["gap"]) if row["gap"] else None for row in rows] == [row.gap for row in comparison]
    back = json.loads(comparison.to_json())
    assert (back["problem"], back["tol"]) == (PROBLEM.title, 1e-6)
    assert back["rows"][2]["primal"] == comparison[2].primal
    assert back["rows"][3]["gap"] is None
    assert comparison.columns()["status"] == [row.status for row in comparison]
    latex = comparison.to_latex()
    assert latex.count(r" \\") == 6
    for name, write in (("t.csv", comparison.to_csv), ("t.json", comparison.to_json), ("t.tex", comparison.to_latex)):
        assert write(tmp_path / name) is None
        assert (tmp_path / name).read_text(encoding="utf-8") == write()
    with pytest.raises(qpsvm.FileAccessError, match="no folder"):
        comparison.to_csv(tmp_path / "nowhere" / "t.csv")


def test_what_a_document_or_a_reader_would_choke_on_is_escaped():
    row = ComparisonRow("my_solver", "dual", "50 % & more", primal=math.inf, gap=math.nan, note='a, "b"')
    found = Comparison("t", 1, 1, 1e-6, (row,))
    assert r"my\_solver & dual & 50 \% \& more & inf" in found.to_latex()
    assert json.loads(found.to_json())["rows"][0]["primal"] is None
    assert next(csv.DictReader(io.StringIO(found.to_csv())))["note"] == 'a, "b"'


class Broken(Backend):
    """A backend of somebody else's, with a fault."""

    name = "broken"
    abilities = backends.get("slsqp").abilities

    def compile(self, qp):  # noqa: ARG002
        raise ZeroDivisionError("my fault")

    def options(self):
        return frozenset()


def test_a_backend_that_breaks_down_is_a_row(monkeypatch):
    monkeypatch.setitem(backends.REGISTRY, "broken", (__name__, "Broken"))
    found = qpsvm.compare(PROBLEM, ["broken", "osqp"], "dual")
    assert [(row.backend, row.status) for row in found] == [("broken", "failed"), ("osqp", "optimal")]
    assert found[0].note == "ZeroDivisionError: my fault"
    assert found[0].gap is None


def test_a_solver_of_ones_own_has_a_row_whatever_it_does():
    def stumbles(*_):
        return [][0]

    with qpsvm.register_backend("stumbles", stumbles):
        found = qpsvm.compare(PROBLEM, ["stumbles", "osqp"], "dual")
    assert [row.status for row in found] == ["failed", "optimal"]
    assert "IndexError" in found[0].note


def test_several_classes_in_one_program():
    problem = qpsvm.CrammerSinger(X[::2], np.arange(20) % 3, C=0.1)
    found = [row for row in qpsvm.compare(problem) if row.status != "unsupported"]
    assert {row.backend for row in found} >= {"sequential_dual", "cvxopt", "osqp"}
    assert {row.status for row in found} == {"optimal"}
    assert found[0].primal == pytest.approx(found[-1].primal, rel=1e-5)
    (row,) = qpsvm.compare(problem, "liblinear")
    assert (row.status, "several classes" in row.note) == ("unsupported", True)


def test_a_package_that_is_absent_is_a_row(monkeypatch):
    monkeypatch.setattr(type(backends.get("osqp")), "version", lambda _: None)
    (row,) = qpsvm.compare(PROBLEM, "osqp")
    assert row.status == "not installed"
    assert "pip install osqp" in row.note


def test_each_backend_starts_from_nothing():
    """The Gram matrix that one has made is not there for the next, nor for the caller."""
    problem = qpsvm.CSVM(X, Y, kernel="rbf")
    qpsvm.compare(problem, ["kernel_newton", "libsvm"], "dual")
    assert "svm" not in vars(problem)
    assert getattr(problem.space.gram, "cached_matrix", None) is None


def test_machines_of_every_target():
    """Those of numbers, of nothing and of pairs, which cannot be warmed up on some of their rows."""
    problems = qpsvm.EpsilonSVR(X[:, :1], X[:, 1]), qpsvm.OneClass(X, kernel="rbf"), qpsvm.Ranking(X[:9], range(9))
    for problem in problems:
        (row,) = qpsvm.compare(problem, "interior_point", "dual")
        assert row.status == "optimal"
    (row,) = qpsvm.compare(qpsvm.HardMargin(X, Y), "interior_point", "dual")
    assert (row.status, "separ" in row.note) == ("infeasible", True)


def test_limits_go_to_those_who_keep_them():
    found = qpsvm.compare(PROBLEM, ["cvxopt", "osqp"], "dual", time_limit=60, max_iter=1, polish=False)
    assert "without time_limit, which it cannot enforce" in found[0].note
    assert found[1].note == ""
    assert found[1].status == "iteration_limit"
    assert found.fastest is None


WRONG = {
    "problem": (lambda: qpsvm.compare("x"), qpsvm.ParameterTypeError, "takes a problem"),
    "backend": (lambda: qpsvm.compare(PROBLEM, "osq"), qpsvm.UnknownOptionError, "'osqp'"),
    "backends": (lambda: qpsvm.compare(PROBLEM, 3), qpsvm.ParameterTypeError, "backends must be"),
    "none": (lambda: qpsvm.compare(PROBLEM, []), qpsvm.ParameterError, "backends is empty"),
    "form": (lambda: qpsvm.compare(PROBLEM, "osqp", "daul"), qpsvm.UnknownOptionError, "dual"),
    "tol": (lambda: qpsvm.compare(PROBLEM, tol=-1), qpsvm.ParameterError, "tol"),
    "limit": (lambda: qpsvm.compare(PROBLEM, time_limit=-1), qpsvm.ParameterError, "time_limit"),
    "repeat": (lambda: qpsvm.compare(PROBLEM, repeat=0), qpsvm.ParameterError, "repeat must be at least 1"),
    "repeats": (lambda: qpsvm.compare(PROBLEM, repeat=1.5), qpsvm.ParameterTypeError, "repeat must be an integer"),
    "matrix": (
        lambda: qpsvm.compare(qpsvm.CSVM(X, Y, kernel=qpsvm.Sigmoid(5.0, -1.0)), "osqp"),
        qpsvm.IndefiniteKernelError, "indefinite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_the_problem_is_an_error(case):
    call, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        call()
