"""What a problem, a QP and a result show in a terminal and in a notebook: no addresses, no markup of the user's."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from cells import Cells

import qpsvm
from qpsvm.base.html import Cell, render_table

X, Y = [[1.0], [2.0], [4.0]], ["<b>no", "<b>no", "yes & so"]
MACHINES = (qpsvm.HardMargin, qpsvm.CSVM, qpsvm.NuSVM, qpsvm.PrimalHinge)


class OwnKernel:
    """A kernel whose own repr is an address."""

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        product: np.ndarray = A @ B.T
        return product


KERNELS = {
    "linear": "linear", "rbf": "rbf", "object": OwnKernel(), "method": OwnKernel().__call__,
    "partial": functools.partial(lambda A, B, s: s * (A @ B.T), s=2.0), "lambda": lambda A, B: A @ B.T,
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_shows_an_address(machine, kernel):
    problem = machine(X, Y, kernel=KERNELS[kernel])
    result = qpsvm.solve(problem)
    things = [
        problem,
        problem.qp(),
        problem.qp("primal"),
        result,
        result.kkt,
        problem.kernel,
        problem.samples,
        problem.space,
        problem.svm,
        problem._deferred_qp(),
        problem.certify(result.alpha),
        result.model,
    ]
    for thing in things:
        texts = [str(thing), repr(thing)]
        if hasattr(thing, "_repr_html_"):
            texts.append(thing._repr_html_())
        assert not any(" at 0x" in text or "object at" in text for text in texts), thing
    assert str(problem).splitlines()[0] == problem.title
    assert not str(problem).startswith("<")


@pytest.mark.parametrize("machine", MACHINES)
def test_pages_are_tables_in_plain_html(machine):
    problem = machine(X, Y)
    result = qpsvm.solve(problem)
    for thing in (problem, problem.qp(), problem.qp("primal"), result):
        page = thing._repr_html_()
        assert page.startswith("<table>")
        assert page.endswith("</table>")
        assert not any(word in page for word in ("<script", "color", "background", "http", "<b>no"))
        assert all(row[0] or any(row[1:]) for row in Cells(page).rows)
        assert len(page) < 20_000


def test_the_page_of_a_problem_has_its_classes_and_weights():
    rows = {row[0]: row[1:] for row in Cells(qpsvm.CSVM(X, Y, sample_weight=[1, 0, 2])._repr_html_()).rows}
    assert rows["samples"] == ["3 × 1, dense"]
    assert rows["class −1"] == ["'<b>no' (2)"]
    assert rows["weights"] == ["0 to 2, 1 of weight 0"]
    assert "weights" not in str(qpsvm.CSVM(X, Y))
    assert "penalised" in str(qpsvm.PrimalHinge(X, Y, intercept="penalised"))


def test_the_page_of_a_result_counts_the_kinds():
    result = qpsvm.solve(qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0], [0.5]], [0, 0, 1, 1, 1]))
    rows = {row[0]: row[1:] for row in Cells(result._repr_html_()).rows}
    assert rows["status"] == ["optimal"]
    assert [rows[kind] for kind in ("non-support vector", "on the margin", "at the bound", "all")] == [
        ["1"],
        ["2"],
        ["2"],
        ["5"],
    ]
    assert float(rows["primal"][0]) == pytest.approx(result.primal, rel=1e-9)


def test_the_pages_show_linear_constraints_the_costliest_first():
    names = ["w ≤ 0.4 <i>", *(f"idle {k}" for k in range(11)), "w ≤ 0.3 & so"]
    rows = qpsvm.Constraints(np.ones((13, 1)), [0.4, *np.arange(5.0, 16.0), 0.3], names=names)
    problem = qpsvm.CSVM(X, Y, constraints=rows)
    result = qpsvm.solve(problem)
    page = result._repr_html_()
    shown = [row for row in Cells(page).rows if len(row) == 4]
    assert shown[0] == ["row", "value ≤", "bound", "multiplier"]
    assert len(shown) == 11
    assert shown[1][0] == "w ≤ 0.3 & so"
    costliest = result.constraints[-1]
    assert costliest["multiplier"] > 0.0
    assert [float(cell) for cell in shown[1][1:]] == pytest.approx(
        [costliest["value"], costliest["bound"], costliest["multiplier"]], rel=1e-5
    )
    assert float(shown[2][3]) == 0.0
    assert "of 13" in page
    assert "<i>" not in page + problem._repr_html_()
    said = {row[0]: row[1:] for row in Cells(problem._repr_html_()).rows}
    assert said["constraints"] == ["13 rows: w ≤ 0.4 <i>, idle 0, idle 1, …"]
    free = qpsvm.CSVM(X, Y)
    assert "constraints" not in free._repr_html_()
    assert "linear constraints" not in qpsvm.solve(free)._repr_html_()


def test_text_and_page_of_a_small_qp_have_its_numbers():
    qp = qpsvm.CSVM(X, Y, C=3).qp("primal")
    names, *lines = [line.split() for line in str(qp).split("\n\n")[1].splitlines()]
    assert names == ["w", "b", "xi[0]", "xi[1]", "xi[2]"]
    assert lines[0] == ["P", "1", "0", "0", "0", "0", "w"]
    assert lines[5] == ["q", "0", "0", "3", "3", "3"]
    assert lines[6:9] == [
        ["G", "1", "1", "-1", "0", "0", "≤", "-1", "margin[0]"],
        ["2", "1", "0", "-1", "0", "≤", "-1", "margin[1]"],
        ["-4", "-1", "0", "0", "-1", "≤", "-1", "margin[2]"],
    ]
    assert lines[9] == ["lb", "-inf", "-inf", "0", "0", "0"]
    shown = [[cell for cell in row if cell] for row in Cells(qp._repr_html_()).rows]
    assert [names, *lines] == shown[-len(lines) - 1 :]


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_to_print_a_qp_changes_nothing_and_a_large_one_has_no_numbers(kernel, form):
    rng = np.random.default_rng(0)
    for n, small in ((3, True), (12, False)):
        qp = qpsvm.NuSVM(rng.normal(size=(n, 2)), np.arange(n) % 2, kernel=kernel).qp(form)
        text = str(qp)
        assert text == str(qp)
        assert max(map(len, text.splitlines()[1:])) <= 100
        assert ("\n\n" in text) == small == (qp._repr_html_().count("<table>") == 2)


def test_wide_numbers_are_left_out():
    n = 8
    qp = qpsvm.QP(P=np.full((n, n), -1.2345e-200), q=np.zeros(n), variables={"a_long_name": slice(0, n)})
    assert "\n\n" not in str(qp)


def test_a_table_escapes_whatever_it_is_given():
    page = render_table([[Cell("<i>"), Cell("a&b", True)]], head=["<u>", "x"], title="<s>", caption='"<q>"')
    assert Cells(page).rows == [["<u>", "x"], ["<i>", "a&b"]]
    assert not any(tag in page for tag in ("<i>", "<u>", "<s>", "<q>"))
