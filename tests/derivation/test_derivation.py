"""The derivation as data: every equation holds at a polished optimum, and each fails at the perturbation it forbids."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from xml.etree import ElementTree

import numpy as np
import pytest
from each import for_each
from full_disk import fill_the_disk
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

import qpsvm
from qpsvm.derivation.display import Code, ShownStep
from qpsvm.derivation.quantities import Quantities
from qpsvm.derivation.registry import STEPS
from qpsvm.derivation.source import code, statements
from qpsvm.derivation.steps import sensitivity
from qpsvm.derivation.written.page import indexed
from qpsvm.faces.cli import main
from qpsvm.machines import c_svm, hard_margin, nu_svm, primal_hinge
from qpsvm.result.svm_result import SVMResult

#: Steps that all machines share.
SHARED = statements(sensitivity)
#: What every residual is at a polished optimum, and what it exceeds where the equation is violated.
HOLDS, FAILS = 1e-8, 1e-4


# --- samples ----------------------------------------------------------------------------------------------------------


@cache
def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d) and y (n,)."""
    if name == "breast_cancer":
        data = load_breast_cancer()
        return (data.data - data.data.mean(axis=0)) / data.data.std(axis=0), data.target
    if name == "moons":
        return make_moons(120, noise=0.2, random_state=0)
    if name == "blobs":
        rng = np.random.default_rng(1)
        y = np.where(np.arange(60) % 3 > 0, 1, -1)
        return rng.normal(size=(60, 2)) + 3.0 * y[:, None] + 1.0, y
    iris = load_iris()
    kept = iris.target != {"setosa/versicolor": 2, "versicolor/virginica": 0}[name]
    return iris.data[kept], iris.target[kept]


def weights(n: int) -> np.ndarray:
    """Uneven, some of them 0."""
    s = np.random.default_rng(2).uniform(0.3, 2.0, n)
    s[[0, 5, n - 1]] = 0.0
    return s


#: Rows above which every third is enough for what is cubic in them: a kernel, or a general QP solver.
MANY = 300
SAMPLES = ("breast_cancer", "setosa/versicolor", "versicolor/virginica", "moons")
KERNELS = {
    "linear": qpsvm.Linear(),
    "rbf": qpsvm.RBF("scale"),
    "polynomial": qpsvm.Polynomial(3, "scale", 1.0),
}
SOFT: dict[str, Callable[..., qpsvm.Problem]] = {
    "c": lambda X, y, k, s: qpsvm.CSVM(X, y, 1.0, k, s),
    "small c": lambda X, y, k, s: qpsvm.CSVM(X, y, 0.01, k, s),
    "nu": lambda X, y, k, s: qpsvm.NuSVM(X, y, 0.47, k, s),
    "hinge": lambda X, y, k, s: qpsvm.PrimalHinge(X, y, 0.02, k, "free", s),
    "hinge, penalised": lambda X, y, k, s: qpsvm.PrimalHinge(X, y, 0.02, k, "penalised", s),
    "hinge, no intercept": lambda X, y, k, s: qpsvm.PrimalHinge(X, y, 0.02, k, None, s),
}
VARIANTS = {qpsvm.HardMargin: hard_margin, qpsvm.CSVM: c_svm, qpsvm.NuSVM: nu_svm, qpsvm.PrimalHinge: primal_hinge}


def polished(problem: qpsvm.Problem) -> SVMResult:
    """The optimum to the last digit: what `solve` gives, after one more round of polishing."""
    result = qpsvm.solve(problem)
    better = qpsvm.solve(problem, result.backend, result.form, tol=1e-15, check=False)
    return replace(better if better.gap < result.gap else result, status=result.status)


def assert_all_hold(problem: qpsvm.Problem, result: SVMResult) -> qpsvm.Derivation:
    derivation = qpsvm.derive(problem, result)
    residuals, reasons = derivation.residuals(), derivation.reasons()
    assert list(residuals) == [step.tag for step in derivation]
    assert derivation.headline.startswith("optimal")
    assert {tag for tag, residual in residuals.items() if np.isnan(residual)} == set(reasons)
    assert {tag: r for tag, r in residuals.items() if tag not in reasons and not 0 <= r <= HOLDS} == {}
    for tag, reason in reasons.items():
        assert reason.startswith(("does not exist here: ", "not measurable: ")), (tag, reason)
    return derivation


# --- every equation holds ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SAMPLES)
def test_every_equation_of_a_soft_margin_holds(name, kernel):
    X, y = samples(name)
    if len(y) > MANY and kernel != "linear":
        X, y = X[::3], y[::3]
    for variant in SOFT.values():
        for s in (None, weights(len(y))):
            problem = variant(X, y, KERNELS[kernel], s)
            result = polished(problem)
            assert result.gap <= 1e-11
            assert_all_hold(problem, result)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["setosa/versicolor", "blobs"])
def test_every_equation_of_a_hard_margin_holds(name, kernel):
    X, y = samples(name)
    problem = qpsvm.HardMargin(X, y, KERNELS[kernel])
    derivation = assert_all_hold(problem, polished(problem))
    assert "HARD.1" not in derivation.reasons()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["setosa/versicolor", "blobs"])
def test_a_plane_that_is_pushed_outwards_by_its_rounding_still_holds(name, kernel):
    """The result as it comes: w is w(α) times a factor, whose price, 2(factor − 1), is in the gap."""
    X, y = samples(name)
    problem = qpsvm.HardMargin(X, y, KERNELS[kernel])
    for tol in (1e-6, 1e-15):
        result = qpsvm.solve(problem, tol=tol, check=False)
        assert min(result.yf) >= 1 - 1e-15
        residuals = qpsvm.derive(problem, result).residuals()
        assert {tag: r for tag, r in residuals.items() if r > HOLDS} == {}
        if kernel != "linear":
            support = np.flatnonzero(result.alpha)
            factor = result.model.coef / (result.alpha * problem.y)[support]
            assert abs(factor - 1).max() <= result.gap / 2 + 1e-14


def indefinite(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """A user's kernel that is none."""
    return np.tanh(0.5 * X @ Z.T - 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("psd", ["clip", "shift"])
@pytest.mark.parametrize("variant", [*SOFT])
def test_every_equation_holds_for_a_repaired_kernel(variant, psd):
    X, y = samples("moons")
    problem = SOFT[variant](X, y, indefinite, None)
    problem.psd = psd
    assert_all_hold(problem, polished(problem))


@pytest.mark.parametrize("variant", [*SOFT])
def test_every_equation_holds_for_a_precomputed_kernel(variant):
    X, y = samples("moons")
    K = qpsvm.RBF(1.0)(X, X)
    problem = SOFT[variant](K, y, qpsvm.Precomputed(), weights(len(y)))
    assert_all_hold(problem, polished(problem))


def test_every_equation_holds_for_a_kernel_that_is_positive_semidefinite_only_where_it_counts():
    X, y = samples("moons")
    for variant in ("c", "nu", "hinge"):
        problem = SOFT[variant](X, y, qpsvm.Polynomial(1, 1.0, -1.0), None)
        assert_all_hold(problem, polished(problem))
    problem = SOFT["hinge, penalised"](X, y, lambda X, Z: X @ Z.T - 0.5, None)
    assert_all_hold(problem, polished(problem))


@pytest.mark.parametrize("scale", [1e-6, 1e8])
def test_the_scale_of_the_data_does_not_matter(scale):
    X, y = samples("moons")
    for problem in (qpsvm.CSVM(scale * X, y, 1 / scale**2), qpsvm.NuSVM(scale * X, y, 0.5)):
        assert_all_hold(problem, polished(problem))


def test_data_far_from_the_origin_and_sparse_data():
    import scipy.sparse as sp

    X, y = samples("moons")
    problem = qpsvm.CSVM(X + 1e4, y)
    assert_all_hold(problem, polished(problem))
    problem = qpsvm.CSVM(sp.csr_array(np.where(np.abs(X) > 0.3, X, 0)), y)
    assert_all_hold(problem, polished(problem))


def test_where_the_hulls_meet_there_is_no_margin_to_measure():
    X, y = samples("moons")
    problem = qpsvm.NuSVM(X, y, 0.1)
    derivation = assert_all_hold(problem, polished(problem))
    assert "ρ is 0" in derivation.reasons()["NUSVM.1"]


def test_a_w_of_zero_is_no_trouble():
    X = np.repeat([[1.0, 2.0], [3.0, 1.0]], 4, axis=0)
    problem = qpsvm.CSVM(X, np.arange(8) % 2)
    assert_all_hold(problem, polished(problem))


def test_without_margin_vectors_the_margin_has_no_residual_and_says_why():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y, 0.01)
    derivation = assert_all_hold(problem, polished(problem))
    assert derivation.reasons()["CSVM.1"] == (
        "not measurable: no margin vectors in one of the classes, so no two hyperplanes are touched"
    )
    assert "CSVM.12" not in derivation.reasons()


def test_a_step_measures_itself():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y)
    result = polished(problem)
    derivation = qpsvm.derive(problem, result)
    for step in derivation:
        assert step.residual(problem, result) == derivation.residuals()[step.tag]


# --- and fails where it should ----------------------------------------------------------------------------------------


def shifted_b(_: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """Another intercept, in the result and in its decision function."""
    b = result.b + 0.5 * result.rho
    return replace(result, b=b, model=replace(result.model, b=b))


def another_w(_: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """A decision function that α does not give."""
    model = result.model
    if model.w is not None:
        return replace(result, model=replace(model, w=1.05 * model.w))
    return replace(result, model=replace(model, coef=1.05 * model.coef))


def off_the_hyperplane(problem: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """α of one class made smaller."""
    return replace(result, alpha=np.where(problem.y > 0, 0.97 * result.alpha, result.alpha))


def outside_the_box(problem: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """One α negative."""
    alpha = result.alpha.copy()
    alpha[np.argmin(np.where(problem.sample_weight > 0, alpha, np.inf))] = -0.01 * alpha.max()
    return replace(result, alpha=alpha)


def feasible_but_not_optimal(problem: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """α on the way to another feasible point."""
    other = problem.start(np.random.default_rng(0).uniform(0, result.alpha.max(), problem.n))
    alpha = result.alpha.copy()
    alpha[problem.rows] = 0.95 * alpha[problem.rows] + 0.05 * other
    return replace(result, alpha=alpha)


def another_rho(_: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """A higher level of the margin."""
    return replace(result, rho=1.5 * result.rho)


def less_slack(_: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """ξ of another f."""
    return replace(result, yf=result.yf + 0.1 * result.rho)


def another_bound(_: qpsvm.Problem, result: SVMResult) -> SVMResult:
    """η of another C."""
    return replace(result, upper=1.01 * result.upper)


HARD = {
    "HARD.1": another_w,
    "HARD.2": another_w,
    "HARD.3": feasible_but_not_optimal,
    "HARD.4": another_w,
    "HARD.5": off_the_hyperplane,
    "HARD.6": outside_the_box,
    "HARD.7": feasible_but_not_optimal,
    "HARD.8": off_the_hyperplane,
    "HARD.9": feasible_but_not_optimal,
    "HARD.10": another_w,
    "HARD.11": shifted_b,
    "HARD.12": shifted_b,
    "HARD.13": another_w,
    "HARD.14": feasible_but_not_optimal,
    "HARD.15": another_w,
}
C = {
    "CSVM.1": another_w,
    "CSVM.2": less_slack,
    "CSVM.3": feasible_but_not_optimal,
    "CSVM.4": another_w,
    "CSVM.5": off_the_hyperplane,
    "CSVM.6": another_bound,
    "CSVM.7": outside_the_box,
    "CSVM.8": shifted_b,
    "CSVM.9": off_the_hyperplane,
    "CSVM.10": feasible_but_not_optimal,
    "CSVM.11": another_w,
    "CSVM.12": shifted_b,
    "CSVM.13": shifted_b,
    "CSVM.14": feasible_but_not_optimal,
    "CSVM.15": another_w,
}
NU = {
    "NUSVM.1": another_w,
    "NUSVM.2": less_slack,
    "NUSVM.3": feasible_but_not_optimal,
    "NUSVM.4": another_w,
    "NUSVM.5": off_the_hyperplane,
    "NUSVM.6": off_the_hyperplane,
    "NUSVM.7": another_bound,
    "NUSVM.8": outside_the_box,
    "NUSVM.9": shifted_b,
    "NUSVM.10": off_the_hyperplane,
    "NUSVM.11": feasible_but_not_optimal,
    "NUSVM.12": another_w,
    "NUSVM.13": another_rho,
    "NUSVM.14": shifted_b,
    "NUSVM.15": feasible_but_not_optimal,
    "NUSVM.16": off_the_hyperplane,
    "NUSVM.17": another_rho,
    "NUSVM.18": another_w,
}
FREE = {
    "PHINGE.1": another_w,
    "PHINGE.2": less_slack,
    "PHINGE.3": feasible_but_not_optimal,
    "PHINGE.4": another_w,
    "PHINGE.5": off_the_hyperplane,
    "PHINGE.6": another_bound,
    "PHINGE.7": outside_the_box,
    "PHINGE.8": shifted_b,
    "PHINGE.9": off_the_hyperplane,
    "PHINGE.10": feasible_but_not_optimal,
    "PHINGE.11": another_w,
    "PHINGE.12": shifted_b,
    "PHINGE.13": shifted_b,
    "PHINGE.14": feasible_but_not_optimal,
    "PHINGE.15": feasible_but_not_optimal,
    "PHINGE.16": off_the_hyperplane,
    "PHINGE.18": another_w,
}
#: b = yᵀα instead of yᵀα = 0, and (PHINGE.17), which only a penalised intercept has.
PENALISED = {
    **FREE,
    "PHINGE.5": shifted_b,
    "PHINGE.9": shifted_b,
    "PHINGE.17": another_w,
}
#: Without b nothing is left of the equations about it; (PHINGE.9) is an identity in w, ξ and α: see IDENTITIES.
NO_INTERCEPT = {tag: kind for tag, kind in FREE.items() if tag not in ("PHINGE.5", "PHINGE.9", "PHINGE.12")}
NO_INTERCEPT |= {"PHINGE.8": feasible_but_not_optimal, "PHINGE.13": another_w, "PHINGE.16": another_bound}
#: Steps that no perturbation of the solution violates: they hold for every α, by algebra.
IDENTITIES = {"hinge, no intercept": {"PHINGE.9"}}
#: And for every feasible pair of points.
WEAK_DUALITY = {"HARD.16", "CSVM.16", "NUSVM.19", "PHINGE.19"}
PERTURBED = {
    "hard": HARD,
    "c": C,
    "nu": NU,
    "hinge": FREE,
    "hinge, penalised": PENALISED,
    "hinge, no intercept": NO_INTERCEPT,
}


@cache
def solved(variant: str, kernel: str) -> tuple[qpsvm.Problem, SVMResult]:
    """A problem for the perturbations, with margin vectors in both classes."""
    X, y = samples("blobs" if variant == "hard" else "moons")
    k = KERNELS[kernel]
    problem = qpsvm.HardMargin(X, y, k) if variant == "hard" else SOFT[variant](X, y, k, None)
    return problem, polished(problem)


CASES = [
    (variant, kernel, tag)
    for variant, table in PERTURBED.items()
    for kernel in ("linear", "rbf")
    for tag in table
    if kernel == "linear" or not tag.endswith((".15", ".18")) or tag == "PHINGE.15"
]


@pytest.mark.slow
@for_each("variant, kernel, tag", CASES)
def test_every_equation_fails_where_it_is_violated(variant, kernel, tag):
    problem, result = solved(variant, kernel)
    step = qpsvm.derive(problem)[tag]
    assert step.residual(problem, result) <= HOLDS
    assert step.residual(problem, PERTURBED[variant][tag](problem, result)) > FAILS


@pytest.mark.parametrize("variant", PERTURBED)
def test_the_table_of_perturbations_is_complete(variant):
    problem, result = solved(variant, "linear")
    measured = {tag for tag, r in qpsvm.derive(problem, result).residuals().items() if not np.isnan(r)}
    assert measured - WEAK_DUALITY - set(SHARED) == set(PERTURBED[variant]) | IDENTITIES.get(variant, set())
    assert len(measured & WEAK_DUALITY) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("variant", PERTURBED)
def test_a_residual_is_a_size_and_not_negative(variant, kernel):
    """Whichever side of an equation is the larger one, by rounding or because the result is none."""
    problem, result = solved(variant, kernel)
    rng = np.random.default_rng(7)
    n, size = len(result.alpha), float(result.alpha.max())
    rounded = [result.alpha * (1 + 1e-15 * rng.uniform(-1, 1, n)) for _ in range(5)]
    for alpha in (-result.alpha, 1.1 * result.alpha, 0 * result.alpha, size * rng.normal(size=n), *rounded):
        for tampered in (replace(result, alpha=alpha), replace(result, alpha=alpha, rho=-result.rho)):
            residuals = qpsvm.derive(problem, tampered).residuals()
            assert {tag: r for tag, r in residuals.items() if r < 0} == {}


def test_an_alpha_beyond_the_best_factor_is_not_taken_for_a_certificate():
    """(HARD.14): where the lower value exceeds the upper one, α is infeasible, and by so much it violates."""
    problem, result = solved("hard", "linear")
    plus = np.where(problem.y > 0, 1.2 * result.alpha, result.alpha)
    assert qpsvm.derive(problem)["HARD.14"].residual(problem, replace(result, alpha=plus)) > FAILS


def test_rows_of_weight_zero_have_no_part_in_it():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y, 1.0, sample_weight=weights(len(y)))
    result = polished(problem)
    moved = replace(result, yf=np.where(problem.sample_weight == 0, -100.0, result.yf))
    assert qpsvm.derive(problem, moved).residuals() == qpsvm.derive(problem, result).residuals()
    taken = np.where(problem.sample_weight == 0, 0.5, result.alpha)
    assert qpsvm.derive(problem)["CSVM.7"].residual(problem, replace(result, alpha=taken)) > FAILS


# --- steps and statements ---------------------------------------------------------------------------------------------


def problems() -> list[qpsvm.Problem]:
    X, y = samples("blobs")
    hinges = [qpsvm.PrimalHinge(X, y, intercept=i, kernel=k) for i in ("free", "penalised", None) for k in ("rbf",)]
    return [qpsvm.HardMargin(X, y), qpsvm.CSVM(X, y), qpsvm.NuSVM(X, y), *hinges]


@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.title)
def test_the_steps_are_the_equations_of_the_docstring_in_order(problem):
    says = statements(VARIANTS[type(problem)])
    derivation = qpsvm.derive(problem)
    assert [step.tag for step in derivation if step.tag not in SHARED] == list(says)
    assert len(says) >= 14
    numbers = [int(tag.split(".")[1]) for tag in says]
    assert numbers == list(range(1, len(numbers) + 1))
    for step in derivation:
        assert step.statement == (says | SHARED)[step.tag]
        assert step.title
        assert 1 <= len(re.findall(r"[.:] |\.$", step.text)) <= 6
        assert derivation[step.tag] is step
        assert derivation[f"({step.tag})"] is step


@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.title)
def test_the_code_is_the_library_s_own_and_carries_the_tag(problem):
    derivation = qpsvm.derive(problem)
    for step in derivation:
        assert step.code == step.measure.python(step.tag)  # the expression itself is the code
        assert len(step.lines) == len(step.code.splitlines()) > 0
        library = step.shown().library
        if library is not None:
            assert library.lines
            assert library.text.splitlines()[-1].strip() in inspect.getsource(step.function)
            assert step.function.__qualname__ in step.where
            assert len(library.text.splitlines()) <= 50
        assert re.search(r"qpsvm/\S+\.py:\d+$", step.where) or step.function is step.measure
        assert len(step.code.splitlines()) <= 22, "a residual is a few lines"
    stated = [step for step in derivation if getattr(step.function, "__name__", "") == "_record"]
    assert {"Primal", "Dual"} <= {step.title.removesuffix(" as a QP") for step in stated}
    for step in stated:
        library = step.shown().library
        assert library is not None
        assert f"({step.tag})" in library.text


def test_long_docstrings_are_cut_to_their_first_line():
    text = code(qpsvm.Model.predict).text
    assert 'of the largest f_c, or of the most votes."""' in text
    assert "Parameters" not in text
    compile("class A:\n" + "\n".join("    " + line for line in text.splitlines()), "cut", "exec")


def test_a_linear_step_of_a_kernel_problem_says_why_it_does_not_exist():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y, kernel="rbf")
    for result in (None, qpsvm.solve(problem)):
        derivation = qpsvm.derive(problem, result)
        assert "feature space of RBF" in derivation.reasons()["CSVM.15"]
        assert "feature space of RBF" in " ".join(str(derivation["CSVM.15"]).split())
    assert np.isnan(derivation["CSVM.15"].residual(problem, result))
    assert "feature space of RBF" in derivation["CSVM.15"].measured(Quantities(problem, result)).reason
    assert "CSVM.15" not in qpsvm.derive(qpsvm.CSVM(X, y)).reasons()


def test_an_intercept_that_is_not_there_has_no_equation():
    X, y = samples("moons")
    reasons = qpsvm.derive(qpsvm.PrimalHinge(X, y, intercept=None)).reasons()
    assert {"PHINGE.5", "PHINGE.12", "PHINGE.17"} == set(reasons)
    assert qpsvm.derive(qpsvm.PrimalHinge(X, y, intercept="penalised")).reasons() == {}


# --- unsolved, not optimal, impossible --------------------------------------------------------------------------------


def test_an_unsolved_problem_has_steps_and_no_residuals():
    X, y = samples("moons")
    derivation = qpsvm.derive(qpsvm.CSVM(X, y))
    assert derivation.residuals() == {}
    assert "not solved" in str(derivation)
    assert "residual" not in str(derivation).split("\n\n", 1)[1]
    assert "∂L/∂b = 0  ⟹  yᵀα = Σ_i α_i y_i = 0" in str(derivation)


@pytest.mark.slow
def test_a_result_that_is_not_optimal_is_said_to_be_none():
    X, y = samples("breast_cancer")
    problem = qpsvm.CSVM(X, y, 100.0, "rbf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = qpsvm.solve(problem, "osqp", max_iter=3, polish=False)
    derivation = qpsvm.derive(problem, result)
    first = str(derivation).splitlines()[1]
    assert first.startswith("NOT OPTIMAL: status iteration_limit, certified relative gap ")
    assert derivation.residuals()["CSVM.10"] > FAILS
    assert "NOT OPTIMAL" in derivation._repr_html_()


def test_an_optimum_that_is_not_polished_says_how_to_go_on():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y, kernel="rbf")
    result = qpsvm.solve(problem, "osqp", polish=False, tol=1e-2)
    assert result.gap > 1e-12
    assert "tol=1e-15" in str(qpsvm.derive(problem, result)).replace("\n", " ")
    assert "tol=1e-15" not in str(qpsvm.derive(problem, polished(problem)))


def test_classes_that_cannot_be_separated_have_a_derivation_too():
    X, y = samples("moons")
    problem = qpsvm.HardMargin(X, y)
    derivation = qpsvm.derive(problem, qpsvm.solve(problem, check=False))
    assert "not separable" in derivation.headline
    residuals = derivation.residuals()
    assert max(r for r in residuals.values() if not np.isnan(r)) > FAILS
    assert derivation._repr_html_()


def test_what_derive_refuses():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y)
    result = qpsvm.solve(problem)
    with pytest.raises(qpsvm.ParameterTypeError, match="takes a problem"):
        qpsvm.derive(result)
    with pytest.raises(qpsvm.ParameterTypeError, match=r"what solve\(problem\) returns"):
        qpsvm.derive(problem, result.alpha)
    with pytest.raises(qpsvm.DataError, match="120 rows of 2 features, the problem has 50 rows of 2"):
        qpsvm.derive(qpsvm.CSVM(X[:50], y[:50]), result)
    with pytest.raises(qpsvm.UnknownOptionError, match=r"did you mean 'CSVM\.1'"):
        qpsvm.derive(problem)["CSVN.1"]
    with pytest.raises(qpsvm.UnknownOptionError, match="derivation of CSVM"):
        qpsvm.derive(problem)["NUSVM.2"]
    with pytest.raises(qpsvm.DataError, match=r"has the kernel Linear\(\), the problem RBF"):
        qpsvm.derive(qpsvm.CSVM(X, y, kernel="rbf"), result)


@pytest.mark.parametrize("tag", [1, slice(1, 3), None, ("CSVM.1", "CSVM.2")])
def test_a_step_is_chosen_by_text(tag):
    with pytest.raises(qpsvm.ParameterTypeError, match=rf"derivation\['CSVM.1'\].* of type {type(tag).__name__}"):
        qpsvm.derive(qpsvm.CSVM(*samples("moons")))[tag]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("variant", SOFT)
def test_the_headline_says_where_a_result_is_of_another_problem(variant, kernel):
    X, y = samples("moons")
    problem = SOFT[variant](X, y, KERNELS[kernel].resolve(X), None)
    moved, flipped = X.copy(), y.copy()
    moved[3] += 0.5
    flipped[0] = 1 - flipped[0]
    for other in (SOFT[variant](moved, y, problem.kernel, None), SOFT[variant](X, flipped, problem.kernel, None)):
        derivation = qpsvm.derive(problem, qpsvm.solve(other))
        assert derivation.headline.startswith("NOT OF THIS PROBLEM")
        assert max(r for r in derivation.residuals().values() if not np.isnan(r)) > HOLDS


def test_a_variant_without_steps_is_named_and_a_subclass_has_those_of_its_parent():
    X, y = samples("moons")

    class Mine(qpsvm.CSVM):
        pass

    assert qpsvm.derive(Mine(X, y))["CSVM.4"].statement
    kind = type("Stranger", (qpsvm.Problem,), {})
    kind.__abstractmethods__ = frozenset()
    stranger = object.__new__(kind)
    with pytest.raises(qpsvm.UnsupportedError, match="Stranger has no derivation; those that have one: CSVM"):
        qpsvm.derive(stranger)


def test_a_new_machine_is_a_file_of_steps_and_a_line_in_the_registry(monkeypatch, tmp_path):
    class Toy(qpsvm.CSVM):
        pass

    def balance(at: Quantities[Toy]) -> float:
        """The classes pull with the same total force."""
        return abs(float(at.y @ at.alpha)) / at.total

    def steps(problem: Toy) -> tuple[qpsvm.derivation.Step, ...]:
        text = f"{problem.n} samples pull."
        latex = r"y^{\top}\alpha=0"
        return (qpsvm.derivation.Step("TOY.1", "Balance", text, latex, balance, balance, "", "yᵀα = 0"),)

    monkeypatch.setitem(STEPS, Toy, steps)
    X, y = samples("moons")
    problem = Toy(X, y)
    derivation = assert_all_hold(problem, polished(problem))
    assert list(derivation.residuals()) == ["TOY.1"]
    for part in ("(TOY.1)  Balance", "yᵀα = 0", "120 samples pull.", "balance, ", "residual "):
        assert part in derivation.to_text(verbose=True)
    derivation.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="TOY.1"' in page
    assert 'class="residual holds"' in page


def test_eta_is_the_multiplier_of_the_equation_beside_it():
    """(PHINGE.6) is η = p/λ − α, whatever λ is: what the table of the result has, the room below the bound of α."""
    X, y = samples("moons")
    for lam in (0.1, 1.0):
        problem = qpsvm.PrimalHinge(X, y, lam=lam)
        result = polished(problem)
        side = qpsvm.derive(problem, result).sides()["PHINGE.6"]
        assert side["of"].startswith("η_i, and p_i/λ − α_i, of sample ")
        assert np.isclose(1 / len(y) / lam - result.alpha, side["right"]).any()
        assert np.isclose(result.kkt["eta"], side["left"]).any()
        assert side["right"] <= 1 / len(y) / lam * (1 + 1e-12)
        latex = qpsvm.derive(problem)["PHINGE.6"].latex
        assert latex.endswith(r"\eta_i=\tfrac{p_i}{\lambda}-\alpha_i")


# --- on paper ---------------------------------------------------------------------------------------------------------


def test_the_page_sets_indices_as_such():
    """Of letters only: a name with an underscore stays as it is, and what is no letter of mathematics is escaped."""
    assert indexed("α_i of K_ij < ν_max, some_name") == (
        "α<sub>i</sub> of K<sub>ij</sub> &lt; ν<sub>max</sub>, some_name"
    )


def test_what_is_rounding_is_written_with_two_digits():
    """Every digit is still there in numbers; sides that ought to agree and do not keep the digits that tell."""
    step = partial(ShownStep, "TOY.1", "Balance", "", "", "", Code("here", "pass"), solved=True, relation="=")
    assert step(residual=0.0, left=0.0, right=0.0).residual_text == "residual 0"
    assert step(residual=1e-16, left=2.42861e-17, right=0.0).sides_text == "2.4e-17 ≈ 0"
    assert step(residual=1.0, left=1.234567e-12, right=1.234568e-12).sides_text == "1.234567e-12 ≠ 1.234568e-12"
    assert step(residual=0.0, left=2.42861, right=2.42861).sides_text == "2.42861 = 2.42861"


def test_print_is_readable():
    problem, result = solved("c", "linear")
    derivation = qpsvm.derive(problem, result)
    text = derivation.to_text(verbose=True)
    assert len(str(derivation).splitlines()) <= 100
    assert max(len(line) for line in text.splitlines()) <= 80
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    for part in ("(CSVM.4)  Stationarity in w", "w = Σ_i α_i y_i φ(x_i)", "CSVM._record, qpsvm/machines/c_svm.py:"):
        assert part in text
    assert len(re.findall(r"residual (?:0|[1-9]\.\de[-+]\d\d)$", text, re.MULTILINE)) == 18
    assert "0.5 * alpha @ Q @ alpha" in str(qpsvm.derive(problem)["CSVM.10"])
    assert repr(qpsvm.derive(problem)) == f"<Derivation of {problem.title}: 18 steps, not solved>"


@pytest.mark.slow
@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.title)
def test_the_page_is_one_file_that_needs_no_network(problem, tmp_path):
    derivation = qpsvm.derive(problem, qpsvm.solve(problem))
    path = tmp_path / "page.html"
    derivation.to_html(path)
    page = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+[^\s\"<]*", page))
    assert addresses == {"http://www.w3.org/1998/Math/MathML"}
    assert not re.search(r"<script|<link|<img|@import|url\(", page)
    equations = re.findall(r"<math.*?</math>", page, re.DOTALL)
    of_steps = page.partition("<aside")[0].count("<math")
    assert of_steps == len([step for step in derivation if not step.absent]) < len(equations)  # and the symbols' own
    for equation in equations:
        text = "".join(ElementTree.fromstring(equation).itertext())
        assert "\\" not in text
        assert "&" not in text
    assert page.count('class="step"') == len(derivation)
    for step in derivation:
        assert f'id="{step.tag}"' in page
    assert page.count('class="hll"') >= 2  # the lines that carry the tag
    assert "✓" in page or "\\2713" in page
    assert derivation._repr_html_().partition("</style>")[2] in page  # a notebook has its own colours


def test_the_page_says_what_fails():
    problem, result = solved("c", "linear")
    page = qpsvm.derive(problem, shifted_b(problem, result))._repr_html_()
    assert page.count('class="residual fails"') >= 3
    assert qpsvm.derive(problem, result)._repr_html_().count('class="residual fails"') == 0
    assert 'class="residual holds"' not in qpsvm.derive(problem)._repr_html_()


def test_text_of_a_user_is_escaped_in_the_page(tmp_path):
    X, y = samples("moons")

    def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return X @ Z.T

    kernel.__name__ = kernel.__qualname__ = "<script>alert(1)</script>"
    derivation = qpsvm.derive(qpsvm.CSVM(X, y, kernel=kernel))
    assert "<script" not in derivation._repr_html_()
    derivation.to_html(tmp_path / "page.html")
    assert "<script" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written():
    X, y = samples("moons")
    with pytest.raises(qpsvm.FileFormatError, match="cannot write"):
        qpsvm.derive(qpsvm.CSVM(X, y)).to_html("/nowhere/page.html")


def test_a_page_is_written_whole_or_not_at_all(monkeypatch, tmp_path):
    derivation = qpsvm.derive(qpsvm.CSVM(*samples("moons")))
    path = tmp_path / "page.html"
    path.write_text("the page of yesterday")
    fill_the_disk(monkeypatch)
    with pytest.raises(qpsvm.FileFormatError, match=f"cannot write {re.escape(str(path))}: No space left"):
        derivation.to_html(path)
    assert path.read_bytes() == b"the page of yesterday"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    derivation.to_html(path)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are of Unix")
def test_a_page_goes_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(pipe.read_text, encoding="utf-8")
        qpsvm.derive(qpsvm.CSVM(*samples("moons"))).to_html(pipe)
        assert reader.result(timeout=300).endswith("</html>\n")
    assert pipe.is_fifo()


@pytest.mark.parametrize("package", ["jinja2", "pygments", "latex2mathml"])
def test_without_the_extra_it_prints_and_names_the_command(package, monkeypatch, tmp_path, capsys):
    X, y = samples("moons")
    derivation = qpsvm.derive(qpsvm.NuSVM(X, y, 0.41))
    from qpsvm.derivation.written import page

    page.mathml.cache_clear()
    page._coloured.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(qpsvm.MissingExtraError, match=rf"'{package}'.*pip install \"\.\[teach\]\""):
        derivation.to_html(tmp_path / "page.html")
    assert "(NUSVM.1)" in str(derivation)
    assert "pip install &quot;.[teach]&quot;" in derivation._repr_html_()
    assert main(["derive", "c", "--html", str(tmp_path / "page.html")]) == 2
    assert capsys.readouterr().out == "", "it is said before anything is worked out"


@pytest.mark.slow
def test_deriving_and_printing_load_nothing_of_the_extra():
    code = (
        "import sys, qpsvm; p = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]);"
        "str(qpsvm.derive(p, qpsvm.solve(p)));"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert not {"jinja2", "pygments", "latex2mathml"} & set(done.stdout.split())
