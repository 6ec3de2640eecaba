"""Both sides of each equation, at a solution and at any α: against NumPy, and what is said of the point."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from each import for_each
from pairwise import cover_pairs
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.derivation.residual import BothSides, choose_shown_sides, find_worst_entry
from qpsvm.derivation.source import find_tagged_lines
from qpsvm.program.status import Status

HOLDS = 1e-8


@cache
def problem_of(machine: str, kernel: str) -> qpsvm.Problem:
    """A problem of 50 samples, far from the origin; for a hard margin they can be separated."""
    X, y = make_moons(50, noise=0.2, random_state=0)
    X = X + 3.0
    k = qpsvm.RBF(0.7) if kernel == "rbf" else qpsvm.Linear()
    if machine == "hard":
        return qpsvm.HardMargin(X + 4.0 * y[:, None], y, k)
    if machine == "c":
        return qpsvm.CSVM(X, y, 2.0, k)
    if machine == "nu":
        return qpsvm.NuSVM(X, y, 0.5, k)
    return qpsvm.PrimalHinge(X, y, 0.02, k, {"penalised": "penalised", "none": None}.get(machine, "free"))


MACHINES = ("hard", "c", "nu", "hinge", "penalised", "none")
#: Each machine at each of the points, with each kernel in turn.
CASES = cover_pairs(MACHINES, ("linear", "rbf"), ("solution", "feasible", "random"))


@cache
def solve_machine(machine: str, kernel: str) -> qpsvm.SVMResult:
    return qpsvm.solve(problem_of(machine, kernel), tol=1e-15, check=False)


def points(machine: str, kernel: str) -> dict[str, np.ndarray]:
    """α of a solution, one that is feasible and one that is not."""
    problem = problem_of(machine, kernel)
    best = solve_machine(machine, kernel).alpha
    rng = np.random.default_rng(3)
    other = rng.uniform(0, best.max(), problem.n)
    return {
        "solution": best,
        "feasible": problem.at(0.8 * best + 0.2 * problem.at(other).alpha).alpha,
        "random": other - 0.1 * best.max(),
    }


# --- what NumPy says --------------------------------------------------------------------------------------------------


def numbers(problem: Any, alpha: np.ndarray, b: float, rho: float) -> dict[str, float]:
    """What the objectives and the Lagrangian are at α, w(α), b and ρ, with nothing of the library but the samples."""
    X = problem.X
    y = problem.y
    n = problem.n
    K = X @ X.T
    if isinstance(problem.kernel, qpsvm.RBF):
        K = np.exp(-problem.kernel.gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    unit = 1.0
    nu = 0.0
    C = np.zeros(n)
    match problem:
        case qpsvm.CSVM():
            C = problem.C * np.ones(n)
        case qpsvm.NuSVM():
            C = np.full(n, 1 / n)
            nu = problem.nu
        case qpsvm.PrimalHinge():
            C = np.full(n, 1 / (problem.lam * n))
            unit = problem.lam
    beta = alpha * y
    own = b if problem.intercept == "penalised" else 0.0
    f = K @ beta + b
    xi = np.maximum(rho - y * f, 0) if C.any() else np.zeros(n)
    eta = C - alpha if C.any() else np.zeros(n)
    half = 0.5 * (beta @ K @ beta + own**2)
    loss = half - nu * rho + C @ xi
    Q = (K + 1.0 if problem.intercept == "penalised" else K) * np.outer(y, y)
    level = 0.0 if nu else alpha.sum()
    return {
        "P": unit * loss,
        "D": unit * (level - 0.5 * alpha @ Q @ alpha),
        "L": unit * (loss - alpha @ (y * f - rho + xi) - eta @ xi),
        "products": unit * (np.abs(alpha * (y * f - rho + xi)).sum() + np.abs(eta * xi).sum()),
        "balance": y @ alpha,
        "sum": alpha.sum(),
    }


#: Which numbers are the sides of which steps, by machine: left and right.
TABLE = {
    "hard": {2: "PP", 3: "LP", 5: "b0", 7: "p0", 8: "LD", 9: "D-", 13: "PD", 16: "WP"},
    "c": {2: "PP", 3: "LP", 5: "b0", 8: "p0", 9: "LD", 10: "D-", 14: "PD", 16: "WP"},
    "nu": {2: "PP", 3: "LP", 5: "b0", 6: "s-", 9: "p0", 10: "LD", 11: "D-", 15: "PD", 19: "WP"},
    "hinge": {1: "PP", 2: "PP", 3: "LP", 5: "b0", 8: "p0", 9: "LD", 10: "D-", 14: "PD", 19: "WP"},
}
TABLE["penalised"] = TABLE["none"] = {tag: letters for tag, letters in TABLE["hinge"].items() if tag != 5}
LETTERS = {"P": "P", "D": "D", "L": "L", "b": "balance", "p": "products", "s": "sum"}
#: What the first of several comparisons of a step is called: another one is shown where that fails more.
FIRST = ("value", "½‖w‖²", "L", "yᵀα", "all products", "norm and loss", "1ᵀα")


@for_each("machine, kernel, where", CASES)
def test_both_sides_are_what_numpy_says(machine, kernel, where):
    problem = problem_of(machine, kernel)
    alpha = points(machine, kernel)[where]
    derivation = qpsvm.derive(problem, alpha=alpha)
    at = derivation._quantities.result
    said = numbers(problem, alpha, at.b, at.rho)
    prefix = derivation.steps[0].tag.split(".")[0]
    size = max(abs(said["P"]), abs(said["D"]), 1e-3)
    compared = 0
    for number, letters in TABLE[machine].items():
        sides = derivation.sides()[f"{prefix}.{number}"]
        if not any(word in sides["description"].split(",")[0] for word in FIRST):
            continue
        for letter, side in zip(letters, ("left", "right"), strict=True):
            if letter in LETTERS:
                assert sides[side] == pytest.approx(said[LETTERS[letter]], rel=1e-7, abs=1e-7 * size), (number, side)
                compared += 1
            elif letter == "0":
                assert sides[side] == 0.0
            elif letter == "W" and (where != "solution" or machine != "nu"):  # half way to α = 0 from an optimum
                half = numbers(problem, alpha / 2 if where == "solution" else alpha, at.b, at.rho)["D"]
                assert sides[side] == pytest.approx(half, rel=1e-7, abs=1e-7 * size)
            elif letter == "W":
                assert sides[side] < said["D"]
    assert compared >= 8


@for_each("machine, kernel, where", CASES)
def test_sides_residuals_and_headline_tell_the_same(machine, kernel, where):
    problem = problem_of(machine, kernel)
    alpha = points(machine, kernel)[where]
    derivation = qpsvm.derive(problem, alpha=alpha)
    for tag, sides in derivation.sides().items():
        if sides["left"] is None or sides["right"] is None:
            assert sides["reason"] or sides["residual"] is None, tag
            continue
        wrong = {"=": abs, "≤": lambda d: max(d, 0.0), "≥": lambda d: max(-d, 0.0)}[sides["relation"]]
        violation = wrong(sides["left"] - sides["right"])
        assert sides["description"]
        if sides["residual"] > HOLDS:
            assert violation > 0, tag
        else:
            assert violation <= 1e-6 * max(1.0, abs(sides["left"])), tag
    weak = next(step.tag for step in derivation if step.title == "Weak duality")
    residuals = [r for r in derivation.residuals().values() if not np.isnan(r)]
    said = {"solution": "optimal, the α given", "feasible": "NOT OPTIMAL: the α given is feasible",
            "random": "NOT FEASIBLE: at the α given, "}[where]  # fmt: skip
    assert derivation.headline.startswith(said)
    assert derivation.shown().trusted == (where == "solution")
    assert (derivation.result.status is Status.OPTIMAL) == (where == "solution")
    if where == "solution":
        assert max(residuals) <= 1e-6
    else:
        assert sum(r > 1e-4 for r in residuals) >= 3
        moved = qpsvm.derive(problem, replace(solve_machine(machine, kernel), alpha=alpha, status=Status.OPTIMAL))
        assert moved.headline.startswith("NOT AN OPTIMUM: the result says optimal")
        assert "derive(problem, alpha=result.alpha)" in moved.headline
        assert not moved.shown().trusted
    if where == "random":
        assert "not feasible" in derivation.sides()[weak]["reason"]
        assert np.array_equal(derivation.alpha, alpha)


@for_each("where", ["solution", "random"])
def test_w_is_the_sum_over_the_samples_wherever_the_samples_are(where):
    """An α off the hyperplane yᵀα = 0 too: what is centred for digits is not what is measured."""
    problem = problem_of("c", "linear")
    alpha = points("c", "linear")[where]
    sides = qpsvm.derive(problem, alpha=alpha).sides()["CSVM.4"]
    w = problem.X.T @ (alpha * problem.y)
    assert np.abs(w - sides["left"]).min() <= 1e-9 * np.abs(w).max()
    assert sides["residual"] <= HOLDS


@for_each("kernel", ["linear", "rbf"])
def test_b_at_any_alpha_is_the_best_for_its_w(kernel):
    problem = problem_of("c", kernel)
    alpha = points("c", kernel)["random"]
    at = qpsvm.derive(problem, alpha=alpha)._quantities
    best = np.maximum(1 - problem.y * (at.u + at.b), 0).sum()
    others = [np.maximum(1 - problem.y * (at.u + b), 0).sum() for b in problem.y - at.u]
    assert best <= min(others) * (1 + 1e-12)


# --- comparisons ------------------------------------------------------------------------------------------------------


def test_the_worst_row_is_shown_or_the_one_that_says_most():
    left, right = np.array([1.0, 5.0, 2.0]), np.array([1.0, 5.0, 2.5])
    found = find_worst_entry(left, "=", right, "row {i}", 2.0, np.array([10, 20, 30]))
    assert (found.left, found.right, found.description, found.residual) == (2.0, 2.5, "row 30", 0.25)
    assert find_worst_entry(left, "=", left, "row {i}", 1.0).description == "row 1"
    assert find_worst_entry(left, "≤", left + np.array([1.0, 0.1, 2.0]), "row {i}", 1.0).description == "row 1"
    assert find_worst_entry(left, "≥", right, "row {i}", 1.0).residual == 0.5


def test_the_first_comparison_is_shown_until_another_fails_more():
    first = BothSides(1.0, "=", 1.0, "first")
    second = BothSides(2.0, "≤", 1.0, "second", 4.0)
    assert choose_shown_sides((first, BothSides(1.0, "≤", 1.0, "second"))) is first
    assert choose_shown_sides((first, second)) is second
    assert second.residual == 0.25


@pytest.mark.parametrize("machine", ["hard", "nu"])
def test_sides_are_data_for_json_even_where_there_is_no_solution(machine):
    X, y = make_moons(40, noise=0.3, random_state=0)
    problem = qpsvm.HardMargin(X, y) if machine == "hard" else qpsvm.NuSVM(X, y, 0.1)
    derivation = qpsvm.derive(problem, qpsvm.solve(problem, check=False))
    data = json.loads(json.dumps(derivation.sides(), allow_nan=False))
    assert list(data) == [step.tag for step in derivation]
    for sides in data.values():
        assert set(sides) == {"left", "right", "relation", "description", "residual", "reason"}
    json.dumps(qpsvm.derive(problem, alpha=np.zeros(40)).sides(), allow_nan=False)


# --- any α ------------------------------------------------------------------------------------------------------------


@for_each("machine, kernel", cover_pairs(MACHINES, ("linear", "rbf")))
def test_a_result_at_any_alpha_is_certified_as_such(machine, kernel):
    problem, found = problem_of(machine, kernel), points(machine, kernel)
    best, other = problem.at(found["solution"]), problem.at(found["random"])
    assert best.status is Status.OPTIMAL
    assert other.status is Status.CANDIDATE
    assert other.gap > 1e-6
    size = max(abs(other.primal), abs(other.dual))
    assert other.primal >= best.dual - 1e-12 * size
    assert other.dual <= best.primal + 1e-12 * size
    assert_feasible(problem, other.alpha)
    assert "the point was given" in other.summary()


def assert_feasible(problem: Any, alpha: np.ndarray) -> None:
    assert (alpha >= 0).all()
    assert (alpha <= problem.svm.upper).all()
    largest = alpha.max()  # their sum may be infinite
    for group in problem.svm.groups:
        if not group.ridge:
            share = group.column @ (alpha / largest) - group.total / largest
            assert abs(share) <= 1e-12 * np.abs(alpha / largest).sum()


def test_where_the_hulls_meet_the_optimal_alpha_holds_too():
    """ρ = 0 and w = 0 but for rounding, relative to which nothing holds."""
    problem = qpsvm.NuSVM(*make_moons(60, noise=0.2, random_state=0), 0.1)
    derivation = qpsvm.derive(problem, alpha=qpsvm.solve(problem, tol=1e-15, check=False).alpha)
    assert derivation.headline.startswith("optimal")
    assert max(r for r in derivation.residuals().values() if not np.isnan(r)) <= 1e-6


def test_sides_are_printed_and_on_the_page():
    problem = problem_of("c", "rbf")
    derivation = qpsvm.derive(problem, alpha=points("c", "rbf")["random"])
    sides = derivation.sides()["CSVM.5"]
    assert f"{sides['left']:.6g} ≠ 0   yᵀα, and 0" in str(derivation)
    assert f"<b>{sides['left']:.6g} ≠ 0</b>" in derivation._repr_html_()
    near = qpsvm.derive(problem, alpha=solve_machine("c", "rbf").alpha * (1 + 1e-7)).shown()  # is seen in the digits
    left, relation, right = {step.tag: step for step in near.steps}["CSVM.14"].sides_text.split()
    assert relation == "≠"
    assert left != right


def test_what_is_not_feasible_is_named():
    problem = problem_of("c", "linear")
    alpha = solve_machine("c", "linear").alpha.copy()
    alpha[7] = 5.0
    assert "α of sample 7 is 5, above C = 2" in qpsvm.derive(problem, alpha=alpha).headline
    alpha[7] = -3.0
    assert "α of sample 7 is -3, below 0" in qpsvm.derive(problem, alpha=alpha).headline
    off = np.where(problem.y > 0, 0.5, 0.0)
    assert "yᵀα = 0 fails: the left side is 12.5" in qpsvm.derive(problem, alpha=off).headline
    weighted = qpsvm.CSVM(problem.X, problem._active_target, 2.0, sample_weight=np.where(np.arange(50) == 4, 0.0, 1.0))
    alpha = qpsvm.solve(weighted).alpha.copy()
    assert qpsvm.derive(weighted, alpha=alpha).headline.startswith("optimal")
    alpha[4] = 0.5
    derivation = qpsvm.derive(weighted, alpha=alpha)
    assert "a sample of weight 0 is not 0" in derivation.headline
    assert derivation.residuals()["CSVM.7"] > 1e-4
    for wrong in (np.zeros(49), np.full(50, np.nan), np.zeros((50, 1)), "text"):
        for ask in (problem.at, lambda a: qpsvm.derive(problem, alpha=a)):
            with pytest.raises(qpsvm.QPSVMError, match="alpha"):
                ask(wrong)
    with pytest.raises(qpsvm.QPSVMError, match="alpha"):
        problem.at(None)
    with pytest.raises(qpsvm.ParameterError, match="tol"):
        problem.at(off, tol=0.0)


def test_a_hard_margin_s_alpha_may_be_too_long():
    problem, result = problem_of("hard", "linear"), solve_machine("hard", "linear")
    derivation = qpsvm.derive(problem, alpha=2 * result.alpha)
    assert "a multiple of it is better" in derivation.headline
    assert derivation.sides()["HARD.5"]["residual"] <= HOLDS
    assert derivation.sides()["HARD.9"]["residual"] > 1e-4


# --- the line that is the equation ------------------------------------------------------------------------------------


def test_a_tag_marks_its_statement_or_its_line():
    text = '''def f(x):
    """Words of (A.1)."""
    # (A.1) alone in its line marks nothing
    y = g(  # (A.1)
        x,
    )
    z = h(
        x, y,  # (A.2), (A.1)
    )
    if z:  # (A.3)
        return "(A.3)"
    return z
'''
    assert find_tagged_lines(text, "A.1") == (3, 4, 5, 7)
    assert find_tagged_lines(text, "A.2") == (7,)
    assert find_tagged_lines(text, "A.3") == (9,)
    assert find_tagged_lines(text, "A.4") == ()


def test_steps_that_hold_by_construction_say_so():
    linear, rbf = (qpsvm.derive(problem_of("c", kernel)) for kernel in ("linear", "rbf"))
    assert [s.tag for s in linear if s.construction] == ["CSVM.6", "CSVM.16"]
    assert [s.tag for s in rbf if s.construction] == ["CSVM.4", "CSVM.6", "CSVM.11", "CSVM.16"]
    assert "It holds by construction" in " ".join(str(rbf["CSVM.6"]).split())
    for machine, tag in (("hard", "HARD.8"), ("c", "CSVM.9"), ("nu", "NUSVM.10"), ("hinge", "PHINGE.9")):
        assert qpsvm.derive(problem_of(machine, "linear"))[tag].latex.count("&=") == 4  # it shows its algebra


# --- parameters in titles ---------------------------------------------------------------------------------------------


def test_a_kernel_is_short_in_a_title_and_whole_in_its_repr():
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernel = qpsvm.RBF("scale").resolve(X)
    assert str(kernel) == f"RBF(gamma={kernel.gamma:.4g})"
    assert repr(kernel) == f"RBF(gamma={kernel.gamma!r})"
    assert str(qpsvm.Polynomial(3, 1 / 3, 1.0)) == "Polynomial(degree=3, gamma=0.3333, coef0=1)"
    assert str(qpsvm.RBF("scale")) == "RBF(gamma='scale')"
    assert str(qpsvm.Linear()) == "Linear()"
    title = qpsvm.CSVM(X, X[:, 0] > 0, kernel="rbf").title
    assert title.endswith(str(kernel))


# --- where rounding is all there is -----------------------------------------------------------------------------------

SAME_PLACE, ALTERNATING = [[0.0, 0.0]] * 5, [-1, 1, -1, 1, -1]
SIGMOID = qpsvm.Sigmoid(gamma=72.9, coef0=-1.012)
ROUNDED = {
    "a ν-SVM with w = 0": lambda: qpsvm.NuSVM(SAME_PLACE, ALTERNATING, 0.69, SIGMOID, psd="clip"),
    "more of it": lambda: qpsvm.NuSVM(
        [[0.0, 0.0]] * 40, [-1, 1] * 20, 0.37608806434790193,
        qpsvm.Sigmoid(gamma=0.2577719153959198, coef0=-1.7481044913538981), psd="clip",
    ),
    "a C-SVM with w = 0": lambda: qpsvm.CSVM(
        SAME_PLACE[:3], ALTERNATING[:3], 0.479, qpsvm.Sigmoid(gamma=5.553, coef0=-1.773), psd="clip"
    ),
    "w far below b": lambda: qpsvm.PrimalHinge(
        [[0.0191394, 0.01008286], [0.00629627, -0.01163847], [0.00731343, 0.00453532]], ALTERNATING[:3], 0.7386678674,
        qpsvm.Polynomial(6, 0.32422, 0.02277),
    ),
    "α far below b": lambda: qpsvm.PrimalHinge(
        [[-2950.2, -5001.9], [2227.4, 2424.6], [-3126.6, -2946.7]], ALTERNATING[:3], 0.003591916379508539,
        qpsvm.Polynomial(2, 9.106368230254194, 0.7646818218466955), intercept="penalised",
    ),
    "α far below b, with fewer digits": lambda: qpsvm.PrimalHinge(
        [[-59.03727680644424, 10.639787900137682], [-38.86118978015776, -2.34469033262577]], [-1, 1],
        0.009247756349306505, qpsvm.Polynomial(4, 1.3897316919894616, 1.2904643950892667), intercept="penalised",
    ),
    "a w that no α has": lambda: qpsvm.CSVM(
        [[-28669316.1, -120002.02], [-1443537.7, 166858.16], [-8196317.25, -131781.51], [18416062.7, 203182.98],
         [-603750.39, -49509.35]], [-1, 1, 1, 1, -1], 3555.958654982056,
    ),
}  # fmt: skip


@for_each("name", ROUNDED)
def test_an_optimum_is_not_accused_of_what_rounding_does(name):
    problem = ROUNDED[name]()
    result = qpsvm.solve(problem)
    derivation = qpsvm.derive(problem, result)
    assert result.status == "optimal"
    assert derivation.headline.startswith("optimal")
    assert derivation.shown().trusted
    json.dumps(derivation.sides(), allow_nan=False)


def test_an_alpha_that_is_optimal_only_when_repaired_is_not_called_optimal():
    problem = qpsvm.HardMargin([[1000.0], [1000.001]], [0, 1])  # b is 2·10⁶, and L has b yᵀα
    derivation = qpsvm.derive(problem, alpha=qpsvm.solve(problem).alpha * [1, 1 + 1e-8])
    assert derivation.result is not None
    assert derivation.result.status == "optimal"
    assert max(derivation.residuals().values()) > 1.0
    assert derivation.headline.startswith("OPTIMAL ONLY WHEN REPAIRED: ")
    assert not derivation.shown().trusted


# --- any α, however large ---------------------------------------------------------------------------------------------


@for_each("scale", [1e-5, 1.0, 1e5])
def test_an_alpha_of_a_sample_of_weight_zero_is_measured_relative_to_the_others(scale):
    X = scale * np.array([[0.0], [1.0], [3.0], [4.0], [2.0]])
    problem = qpsvm.CSVM(X, [0, 0, 1, 1, 1], C=1e30 if scale < 1 else 1e6, sample_weight=[1, 1, 1, 1, 0])
    alpha = qpsvm.solve(problem).alpha.copy()
    for share, is_feasible in ((1e-9, True), (1e-3, False)):
        alpha[4] = share * alpha.max()
        assert qpsvm.derive(problem, alpha=alpha).headline.startswith("NOT FEASIBLE: ") != is_feasible


@pytest.mark.filterwarnings("error")
@for_each("machine, kernel, size", cover_pairs(MACHINES, ("linear", "rbf"), (1e17, 1e150, 1e308)))
def test_an_alpha_that_is_far_too_large_is_made_feasible_and_measured(machine, kernel, size):
    problem = problem_of(machine, kernel)
    alpha = size * np.where(np.arange(problem.n) % 3, 1.0, -1.0)
    alpha[::4] = 0.3
    assert_feasible(problem, problem.at(alpha).alpha)
    derivation = qpsvm.derive(problem, alpha=alpha)
    assert derivation.headline.startswith("NOT FEASIBLE: ")
    for tag, sides in derivation.sides().items():
        assert sides["residual"] is not None or sides["reason"], tag


@pytest.mark.filterwarnings("error")
def test_what_a_solver_certifies_is_certified_of_its_alpha_too():
    """The kernel's values are exact only by differences, which squares of 10⁹ need."""
    X = 1e9 * np.random.default_rng(0).uniform(-1, 1, (10, 2))
    problem = qpsvm.CSVM(X, [0, 1] * 5, 1e12, qpsvm.RBF(1e12))
    result = qpsvm.solve(problem)
    again = problem.at(result.alpha)
    assert again.status == "optimal"
    assert np.abs(again.alpha - result.alpha).max() <= 1e-12
