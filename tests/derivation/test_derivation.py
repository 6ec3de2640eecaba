"""The derivation as data: of real samples, of results that are none, and as text and page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from each import for_each
from full_disk import fill_the_disk
from pairwise import cover_pairs
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from test_displayed import INTERCEPTS
from test_every_machine import FAILS, HOLDS, another_b, assert_all_hold

import qpsvm
from qpsvm.derivation.display import Code, ShownStep
from qpsvm.derivation.quantities import Quantities
from qpsvm.derivation.registry import STEPS
from qpsvm.derivation.source import find_code
from qpsvm.derivation.written.page import mark_indices
from qpsvm.faces.cli import main
from qpsvm.result.svm_result import SVMResult

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


SAMPLES = ("breast_cancer", "setosa/versicolor", "versicolor/virginica", "moons")
KERNELS = {"linear": qpsvm.Linear(), "rbf": qpsvm.RBF("scale"), "polynomial": qpsvm.Polynomial(3, "scale", 1.0)}
SOFT: dict[str, Callable[..., qpsvm.Problem]] = {
    "c": lambda X, y, k, s: qpsvm.CSVM(X, y, 1.0, k, s),
    "small c": lambda X, y, k, s: qpsvm.CSVM(X, y, 0.01, k, s),
    "nu": lambda X, y, k, s: qpsvm.NuSVM(X, y, 0.47, k, s),
    **{f"hinge, {i}": lambda X, y, k, s, i=i: qpsvm.PrimalHinge(X, y, 0.02, k, i, s) for i in INTERCEPTS},
}


def solve_polished(problem: qpsvm.Problem) -> SVMResult:
    """Return the optimum to the last digit: what `solve` gives, after one more round of polishing."""
    result = qpsvm.solve(problem)
    better = qpsvm.solve(problem, result.backend, result.form, tol=1e-15, check=False)
    return replace(better if better.gap < result.gap else result, status=result.status)


# --- residuals --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@for_each("name, kernel, variant, weighted", cover_pairs(SAMPLES, (*KERNELS,), (*SOFT,), (False, True)))
def test_every_equation_holds_on_real_samples(name, kernel, variant, weighted):
    X, y = samples(name)
    if len(y) > 300 and kernel != "linear":  # every third is enough for what is cubic in them
        X, y = X[::3], y[::3]
    problem = SOFT[variant](X, y, KERNELS[kernel], weights(len(y)) if weighted else None)
    result = solve_polished(problem)
    assert result.gap <= 1e-11
    assert_all_hold(problem, result)


@pytest.mark.slow
@for_each("name, kernel", cover_pairs(("setosa/versicolor", "blobs"), (*KERNELS,)))
def test_a_plane_that_is_pushed_outwards_by_its_rounding_still_holds(name, kernel):
    """The result as it comes: w is w(α) times a factor, whose cost, 2(factor − 1), is in the gap."""
    X, y = samples(name)
    problem = qpsvm.HardMargin(X, y, KERNELS[kernel])
    for tol in (1e-6, 1e-15):
        result = qpsvm.solve(problem, tol=tol, check=False)
        assert min(result.yf) >= 1 - 1e-15
        derivation = qpsvm.derive(problem, result)
        assert {tag: r for tag, r in derivation.residuals().items() if r > HOLDS} == {}
        assert "HARD.1" not in derivation.reasons()
        if kernel != "linear":
            support = np.flatnonzero(result.alpha)
            factor = result.model.coef / (result.alpha * problem.y)[support]
            assert abs(factor - 1).max() <= result.gap / 2 + 1e-14


def test_what_is_not_measured_says_why():
    X, y = samples("moons")
    problem = qpsvm.NuSVM(X, y, 0.1)  # whose hulls meet
    assert "ρ is 0" in assert_all_hold(problem, solve_polished(problem)).reasons()["NUSVM.1"]
    problem = qpsvm.CSVM(X, y, 0.01)
    reasons = assert_all_hold(problem, solve_polished(problem)).reasons()
    assert reasons["CSVM.1"] == (
        "not measurable: no margin vectors in one of the classes, so no two hyperplanes are touched"
    )
    assert "CSVM.12" not in reasons
    reasons = qpsvm.derive(qpsvm.PrimalHinge(X, y, intercept=None)).reasons()
    assert {"PHINGE.5", "PHINGE.12", "PHINGE.17"} == set(reasons)
    assert qpsvm.derive(qpsvm.PrimalHinge(X, y, intercept="penalised")).reasons() == {}


def test_a_step_that_does_not_exist_says_why_and_shows_no_equation():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y, kernel="rbf")
    for result in (None, qpsvm.solve(problem)):
        derivation = qpsvm.derive(problem, result)
        text = str(derivation["CSVM.15"])
        page = derivation._repr_html_()
        page = page.split('id="CSVM.15"')[1].split("</section>")[0]
        assert "feature space of RBF" in derivation.reasons()["CSVM.15"]
        assert "feature space of RBF" in " ".join(text.split())
        assert "does not exist here" in text
        assert "does not exist here" in page
        assert not [word for word in ("code:", "wᵀx") if word in text]
        assert not [word for word in ("<math", "<pre") if word in page]
    assert np.isnan(derivation["CSVM.15"].residual(problem, result))
    assert "feature space of RBF" in derivation["CSVM.15"].measured(Quantities(problem, result)).reason
    assert "CSVM.15" not in qpsvm.derive(qpsvm.CSVM(X, y)).reasons()


def test_an_alpha_beyond_the_best_factor_is_not_taken_for_a_certificate():
    """(HARD.14): where the lower value exceeds the upper one, α is infeasible, and by so much it violates."""
    problem = qpsvm.HardMargin(*samples("blobs"))
    result = solve_polished(problem)
    plus = np.where(problem.y > 0, 1.2 * result.alpha, result.alpha)
    assert qpsvm.derive(problem)["HARD.14"].residual(problem, replace(result, alpha=plus)) > FAILS


def test_rows_of_weight_zero_have_no_part_in_it():
    X, y = samples("moons")
    problem = qpsvm.CSVM(X, y, 1.0, sample_weight=weights(len(y)))
    result = solve_polished(problem)
    moved = replace(result, yf=np.where(problem.sample_weight == 0, -100.0, result.yf))
    assert qpsvm.derive(problem, moved).residuals() == qpsvm.derive(problem, result).residuals()
    taken = np.where(problem.sample_weight == 0, 0.5, result.alpha)
    assert qpsvm.derive(problem)["CSVM.7"].residual(problem, replace(result, alpha=taken)) > FAILS


def test_long_docstrings_are_cut_to_their_first_line():
    text = find_code(qpsvm.Model.predict).text
    assert 'predicted label of each row of X; without labels, f."""' in text
    assert "Parameters" not in text
    compile("class A:\n" + "\n".join("    " + line for line in text.splitlines()), "cut", "exec")


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
    assert "tol=1e-15" not in str(qpsvm.derive(problem, solve_polished(problem)))


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
    of_rbf = qpsvm.CSVM(X, y, kernel="rbf")
    few = qpsvm.CSVM(X[:50], y[:50])
    for call, kind, words in (
        (lambda: qpsvm.derive(result), qpsvm.ParameterTypeError, "takes a problem"),
        (lambda: qpsvm.derive(problem, result.alpha), qpsvm.ParameterTypeError, r"what solve\(problem\) returns"),
        (lambda: qpsvm.derive(problem, result, alpha=result.alpha), qpsvm.ParameterTypeError, "leave one of them out"),
        (lambda: qpsvm.derive(few, result), qpsvm.DataError, "120 rows of 2 features, the problem has 50 rows of 2"),
        (lambda: qpsvm.derive(of_rbf, result), qpsvm.DataError, r"has the kernel Linear\(\), the problem RBF"),
        (lambda: qpsvm.derive(problem)["CSVN.1"], qpsvm.UnknownOptionError, r"did you mean 'CSVM\.1'"),
        (lambda: qpsvm.derive(problem)["NUSVM.2"], qpsvm.UnknownOptionError, "derivation of CSVM"),
    ):
        with pytest.raises(kind, match=words):
            call()
    for tag in (1, slice(1, 3), None, ("CSVM.1", "CSVM.2")):
        with pytest.raises(qpsvm.ParameterTypeError, match=rf"derivation\['CSVM.1'\].* of type {type(tag).__name__}"):
            qpsvm.derive(problem)[tag]


@pytest.mark.slow
@for_each("variant, kernel", cover_pairs((*SOFT,), (*KERNELS,)))
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
        return abs(float(at.y @ at.alpha)) / at.alpha_sum

    def steps(problem: Toy) -> tuple[qpsvm.derivation.Step, ...]:
        text = f"{problem.n} samples pull."
        latex = r"y^{\top}\alpha=0"
        return (qpsvm.derivation.Step("TOY.1", "Balance", text, latex, balance, balance, "", "yᵀα = 0"),)

    monkeypatch.setitem(STEPS, Toy, steps)
    X, y = samples("moons")
    problem = Toy(X, y)
    derivation = assert_all_hold(problem, solve_polished(problem))
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
        result = solve_polished(problem)
        side = qpsvm.derive(problem, result).sides()["PHINGE.6"]
        assert side["description"].startswith("η_i, and p_i/λ − α_i, of sample ")
        assert np.isclose(1 / len(y) / lam - result.alpha, side["right"]).any()
        assert np.isclose(result.kkt["eta"], side["left"]).any()
        assert side["right"] <= 1 / len(y) / lam * (1 + 1e-12)
        latex = qpsvm.derive(problem)["PHINGE.6"].latex
        assert latex.endswith(r"\eta_i=\tfrac{p_i}{\lambda}-\alpha_i")


# --- on paper ---------------------------------------------------------------------------------------------------------


def test_the_page_sets_indices_as_such():
    """Of letters only: a name with an underscore stays as it is, and what is no letter of mathematics is escaped."""
    assert mark_indices("α_i of K_ij < ν_max, some_name") == (
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
    problem = qpsvm.CSVM(*samples("moons"))
    result = solve_polished(problem)
    derivation = qpsvm.derive(problem, result)
    text = derivation.to_text(verbose=True)
    assert len(str(derivation).splitlines()) <= 100
    assert max(len(line) for line in text.splitlines()) <= 80
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    for part in (
        "(CSVM.4)  Stationarity in w",
        "w = Σ_i α_i y_i φ(x_i)",
        "CSVM._build_specification, qpsvm/machines/c_svm.py:",
    ):
        assert part in text
    assert len(re.findall(r"residual (?:0|[1-9]\.\de[-+]\d\d)$", text, re.MULTILINE)) == 18
    assert "0.5 * alpha @ Q @ alpha" in str(qpsvm.derive(problem)["CSVM.10"])
    assert repr(qpsvm.derive(problem)) == f"<Derivation of {problem.title}: 18 steps, not solved>"


def test_the_page_says_what_fails():
    problem = qpsvm.CSVM(*samples("moons"))
    result = solve_polished(problem)
    page = qpsvm.derive(problem, another_b(problem, result))._repr_html_()
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


def test_a_page_is_written_whole_or_not_at_all(monkeypatch, tmp_path):
    derivation = qpsvm.derive(qpsvm.CSVM(*samples("moons")))
    path = tmp_path / "page.html"
    with pytest.raises(qpsvm.FileFormatError, match="cannot write"):
        derivation.to_html("/nowhere/page.html")
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
    page._highlight.cache_clear()
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
