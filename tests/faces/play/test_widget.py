"""The widget: the same answers by a notebook's messages, and what Python sees of the page."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from asking import check_answer, make_samples, make_state
from each import for_each

import qpsvm
from qpsvm.base.errors import ParameterTypeError, UnsupportedError
from qpsvm.faces.play.checks import RequestError


def problem(**how: object) -> qpsvm.Problem:
    held = make_samples(12)
    names = np.array(["cat", "dog"])[(np.array(held["labels"]) > 0).astype(int)]
    return qpsvm.CSVM(held["points"], names, **{"C": 3.0, "kernel": qpsvm.RBF(0.7), **how})


def ask_widget(playground: qpsvm.Playground, message: object) -> dict:
    """Return the answer to a message of the page."""
    sent: list[dict] = []
    playground.send = lambda content, buffers=None: sent.append(content)  # noqa: ARG005  (as ipywidgets has it)
    playground._handle_custom_msg(message, [])
    (answer,) = sent
    check_answer(answer)
    return answer


def test_it_begins_with_the_problem_and_gives_it_back():
    given = problem()
    playground = qpsvm.Playground(given)
    assert playground.state["machine"] == "c"
    assert playground.state["parameters"] == {"C": 3.0, "intercept": "free"}
    assert playground.state["kernel"] == {"name": "rbf", "gamma": 0.7}
    held = playground.problem
    assert np.array_equal(held.X, given.X)
    assert held.title == given.title
    assert held.classes.tolist() == ["cat", "dog"]
    assert playground.result.alpha == pytest.approx(qpsvm.solve(given).alpha)


@for_each("kind", [qpsvm.NuSVR, qpsvm.OneClass])
def test_a_machine_without_classes_is_shown_and_may_become_one_with_two(kind):
    X = np.array(make_samples(12)["points"])
    given = kind(X, X[:, 0] ** 2) if kind is qpsvm.NuSVR else kind(X)
    playground = qpsvm.Playground(given)
    assert playground.result.coef == pytest.approx(qpsvm.solve(given).coef, abs=1e-6)
    labels = np.where(X[:, 0] > 0.0, 1, -1).tolist()
    playground.state = {**playground.state, "machine": "c", "parameters": {}, "labels": labels, "axes": [0, 1]}
    assert playground.problem.classes.tolist() == [-1, 1]


def test_messages_are_answered():
    playground = qpsvm.Playground(problem())
    catalogue = ask_widget(playground, {"id": 1, "ask": "catalogue"})
    assert catalogue["classes"] == ["cat", "dog"]
    answer = ask_widget(playground, {"id": 2, "ask": "solve", "state": playground.state})
    assert answer["samples"]["alpha"] == pytest.approx(playground.result.alpha)
    assert "error" in ask_widget(playground, "nonsense")
    scene = qpsvm.Playground()
    assert len(scene.state["points"]) == 40
    assert ask_widget(scene, {"id": 1, "ask": "catalogue"})["start"] == scene.state


def test_a_state_from_the_page_or_from_python_is_checked_and_followed():
    playground = qpsvm.Playground()
    playground.set_state({"state": make_state("nu")})  # what comes from the page
    assert playground.problem.title.startswith("ν-SVM")
    playground.state = {"points": [[0, 0], [2, 2]], "labels": [-1, 1]}
    assert playground.state["parameters"] == {"C": 1.0, "intercept": "free"}
    with pytest.raises(RequestError, match=r"state\.points must be a list"):
        playground.state = {"points": 3, "labels": []}
    assert len(playground.state["points"]) == 2
    playground.state = {"points": [[0, 0]], "labels": [1]}
    with pytest.raises(RequestError, match="class -1 has no point"):
        playground.problem  # noqa: B018


@for_each(
    "given, error, words",
    [
        ("c", ParameterTypeError, "a page shows a problem"),
        (problem(C=np.arange(1.0, 13.0)), UnsupportedError, "one C for all samples"),
        (problem(sample_weight=np.arange(1.0, 13.0)), UnsupportedError, "sample weights"),
        (problem(kernel=lambda X, Z: X @ Z.T), UnsupportedError, "the page does not have the kernel"),
        (qpsvm.CSVM([[0.0], [1.0]], [0, 1]), UnsupportedError, "one feature"),
        (qpsvm.CSVM(np.zeros((1001, 2)), np.arange(1001) % 2), UnsupportedError, "1000 rows at the most"),
        (
            qpsvm.CSVM([[0.0, 1e12], [1.0, 0.0]], [0, 1]),
            RequestError,
            r"the page cannot show this problem: state\.points\[0\]\[1\]",
        ),
    ],
)
def test_what_the_page_does_not_have_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        qpsvm.Playground(given)


@pytest.mark.slow
def test_without_its_packages_the_library_works_and_the_widget_says_what_to_install():
    code = """
import sys
sys.modules["anywidget"] = None
import qpsvm
from qpsvm import *
assert not {"qpsvm.play", "traitlets", "starlette"} & set(sys.modules)
try:
    qpsvm.Playground()
except qpsvm.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert 'pip install ".[play]"' in done.stdout
