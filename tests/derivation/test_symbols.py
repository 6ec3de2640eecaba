"""A machine without data has its equations in symbols; some steps of it; both with errors that help."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm.derivation.registry import STEPS

X = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]])
Y = [0, 0, 1, 1]


@for_each("kind", STEPS)
def test_every_machine_is_derived_without_data(kind):
    derivation = qpsvm.derive(kind)
    assert len(derivation) >= 14
    assert derivation.headline.startswith(f"symbols only: derive({kind.__name__}(X, …), result)")
    assert derivation.residuals() == derivation.sides() == {}
    text = str(derivation)
    assert "residual" not in text
    assert len(text.splitlines()) <= 100
    assert all(step.latex for step in derivation if not step.absent)
    assert repr(derivation).endswith("in symbols>")
    assert str(pickle.loads(pickle.dumps(derivation))) == text


def test_the_equations_are_those_of_a_problem_with_the_same_options():
    for options in ({"intercept": "penalised"}, {"intercept": None}, {"kernel": qpsvm.RBF(0.5)}):
        for kind in (qpsvm.CSVM, qpsvm.EpsilonSVR):
            of_class = qpsvm.derive(kind, **options)
            problem = kind(X, Y, **options)
            assert [step.latex for step in of_class] == [step.latex for step in qpsvm.derive(problem)]
    curved = qpsvm.derive(qpsvm.EpsilonSVR, loss="squared")
    assert curved["ESVR.2"].latex == qpsvm.derive(qpsvm.EpsilonSVR(X, Y, loss="squared"))["ESVR.2"].latex


def test_a_width_that_is_made_of_samples_has_no_value():
    derivation = qpsvm.derive(qpsvm.CSVM, kernel="rbf")
    assert derivation.title == "C-SVM, kernel RBF"
    assert "gamma" not in derivation.to_text(verbose=True)
    assert qpsvm.derive(qpsvm.CSVM, kernel=qpsvm.RBF(0.5)).title == "C-SVM, kernel RBF(gamma=0.5)"
    assert len(qpsvm.derive(qpsvm.CSVM, kernel=qpsvm.Precomputed())) == 18


def test_linear_constraints_need_no_data_either():
    assert qpsvm.derive(qpsvm.CSVM, constraints=True)["OWN.1"].latex == r"Gw+cb\le h"
    over_three = qpsvm.Constraints([[1.0, 0.0, -1.0]], 0.0)
    for rows in (over_three, [over_three, qpsvm.ValueConstraints(np.eye(3), [[1.0, 0.0, 0.0]], 1.0)]):
        assert "OWN.10" in qpsvm.derive(qpsvm.NuSVM, constraints=rows)


def test_what_a_class_does_not_take():
    problem = qpsvm.CSVM(X, Y)
    result = qpsvm.solve(problem)
    unknown = qpsvm.UnknownOptionError
    kinds = qpsvm.ParameterTypeError
    value = qpsvm.ParameterError
    for kind, options, error, words in (
        (qpsvm.CSVM, {"intercpt": "free"}, unknown, "CSVM has no option 'intercpt'; did you mean 'intercept'"),
        (qpsvm.CSVM, {"intercept": "fre"}, unknown, "unknown intercept 'fre'"),
        (qpsvm.HardMargin, {"intercept": None}, unknown, "HardMargin has no option 'intercept'"),
        (qpsvm.CSVM, {"C": -1}, value, "C must be positive"),
        (qpsvm.CSVM, {"sample_weight": [1, 2]}, kinds, r"is of samples, and derive\(CSVM\) has none"),
        (qpsvm.CSVM, {"X": X}, kinds, r"is of samples, and derive\(CSVM\) has none"),
        (qpsvm.CSVM, {"C": [1.0, 2.0]}, kinds, r"without data \w+ is one value"),
        (qpsvm.CSVM, {"class_weight": {0: 1.0}}, kinds, r"without data \w+ is one value"),
        (qpsvm.CSVM, {"result": result}, kinds, "a class has no result"),
        (qpsvm.CSVM, {"alpha": [0.0] * 4}, kinds, "a class has no result"),
        (qpsvm.CSVM, {"proven": True}, kinds, "a class has no result"),
        (
            problem,
            {"result": result, "step": ["CSVM.4"]},
            unknown,
            "no option 'step' of a problem; did you mean 'steps'",
        ),
        (qpsvm.Problem, {}, qpsvm.UnsupportedError, "a class such as CSVM"),
        (int, {}, (qpsvm.UnsupportedError, kinds), "a class such as CSVM"),
        ("c", {}, (qpsvm.UnsupportedError, kinds), "a class such as CSVM"),
    ):
        with pytest.raises(error, match=words):
            qpsvm.derive(kind, **options)


# --- some steps -------------------------------------------------------------------------------------------------------


def test_steps_are_chosen_by_their_tags_in_the_order_of_the_argument():
    problem = qpsvm.CSVM(X, Y)
    result = qpsvm.solve(problem, tol=1e-12)
    whole = qpsvm.derive(problem, result)
    some = qpsvm.derive(problem, result, steps=["(CSVM.9)", "CSVM.4"])
    assert [step.tag for step in some] == ["CSVM.4", "CSVM.9"]
    assert list(some.sides()) == list(some.residuals()) == ["CSVM.4", "CSVM.9"]
    assert some.sides()["CSVM.9"] == whole.sides()["CSVM.9"]
    assert some.headline == whole.headline
    assert "CSVM.5" not in some
    assert [step.tag for step in qpsvm.derive(qpsvm.CSVM, steps="CSVM.9")] == ["CSVM.9"]
    assert set(qpsvm.derive(problem, result, steps="CSVM.4", proven=True).proven()) == {"CSVM.4"}


def test_the_headline_judges_by_all_steps():
    """A result that was changed does not pass because the step that shows it was not asked for."""
    problem = qpsvm.CSVM(X, Y)
    result = qpsvm.solve(problem, tol=1e-12)
    object.__setattr__(result, "primal", result.primal + 1.0)
    for steps in (None, ["CSVM.6"]):
        derivation = qpsvm.derive(problem, result, steps=steps)
        assert derivation.headline.startswith("NOT AN OPTIMUM")
        assert not derivation.shown().trusted


def test_steps_that_are_not_there():
    for problem in (qpsvm.CSVM(X, Y), qpsvm.CSVM):
        with pytest.raises(
            qpsvm.UnknownOptionError, match=r"no step 'CSVM\.40' in the .* CSVM; did you mean 'CSVM\.4'"
        ):
            qpsvm.derive(problem, steps=["CSVM.4", "CSVM.40"])
        with pytest.raises(qpsvm.UnknownOptionError, match=r"did you mean 'CSVM\.4'"):
            qpsvm.derive(problem, steps="csvm.4")
        with pytest.raises(qpsvm.ParameterTypeError, match=r"chosen by its tag, such as 'CSVM\.1', got 4"):
            qpsvm.derive(problem, steps=[4])
        for wrong in ([], 4, {"CSVM.4"}):
            with pytest.raises(qpsvm.ParameterTypeError, match=r"steps must be tags such as \['CSVM.1'\]"):
                qpsvm.derive(problem, steps=wrong)
