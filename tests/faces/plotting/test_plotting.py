"""The pictures: each is rendered, and what is drawn is what the result says."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from each import for_each
from matplotlib import colors, pyplot
from matplotlib.figure import Figure
from scipy.optimize import linprog
from sklearn.datasets import load_iris, make_moons

import qpsvm
from qpsvm import CSVM, RBF, HardMargin, NuSVM, PrimalHinge, solve
from qpsvm.faces import plotting
from qpsvm.faces.plotting.hulls import compute_reduced_hull, find_furthest_points
from qpsvm.faces.plotting.palette import KINDS


def clouds(distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two normal clouds in the plane, 2·distance apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, 0.0], [25, 20])
    return rng.normal(size=(45, 2)) + np.outer(2 * y - 1, [distance, 0.7 * distance]), y


FAR, NEAR = clouds(2.2), clouds(0.9)
MOONS = make_moons(80, noise=0.22, random_state=0)
IRIS = load_iris()
TWO = IRIS.target > 0
FOUR = (IRIS.data[TWO], IRIS.target[TWO])
WEIGHTS = np.where(np.arange(45) % 5 == 0, 0.0, 1.0)
PROBLEMS = {
    "rbf": CSVM(*MOONS, 1.0, RBF(1.0)),
    "linear": CSVM(*NEAR, 0.3),
    "weighted": CSVM(*NEAR, np.linspace(0.1, 2.0, 45), sample_weight=WEIGHTS),
    "hard": HardMargin(*FAR),
    "nu": NuSVM(*NEAR, 0.5),
    "hinge": PrimalHinge(*NEAR, 0.05),
}
SOLVED = {name: (problem, solve(problem)) for name, problem in PROBLEMS.items()}
FLAT = [name for name in SOLVED if name != "rbf"]
HISTORY = np.column_stack([np.arange(30), 0.5 ** np.arange(30)])


def find_artist(artists: Any, beginning: str) -> Any:
    """Return the one artist whose label begins so."""
    found = [artist for artist in artists if str(artist.get_label()).startswith(beginning)]
    assert len(found) == 1, [artist.get_label() for artist in artists]
    return found[0]


def rows_of(points: Any) -> list[tuple[float, ...]]:
    """Points in sorted order, for comparison as sets that may hold one twice."""
    return sorted(map(tuple, np.asarray(points).tolist()))


def drawn_by_kind(ax: Any) -> list[np.ndarray]:
    """The points drawn with the outline of each kind, (m, 2) each; without one they are pale."""
    outlines = [None if outline is None else colors.to_rgba(outline) for _, outline in KINDS]
    found: list[list[np.ndarray]] = [[] for _ in outlines]
    for scatter in ax.collections:
        if hasattr(scatter, "get_sizes") and len(scatter.get_facecolor()):  # rings have no fill
            edge = tuple(scatter.get_edgecolor()[0].tolist())
            kind = outlines.index(edge) if edge in outlines else outlines.index(None)
            found[kind].append(np.asarray(scatter.get_offsets()))
    return [np.vstack(points) if points else np.zeros((0, 2)) for points in found]


# --- every picture is rendered ----------------------------------------------------------------------------------------

#: One of each kind; `test_accepted` draws those of every machine.
PICTURES = {
    "boundary": lambda ax: plotting.boundary(*SOLVED["rbf"], ax=ax),
    "multipliers": lambda ax: plotting.multipliers(*SOLVED["weighted"], ax=ax),
    "complementarity": lambda ax: plotting.complementarity(*SOLVED["weighted"], ax=ax),
    "duality": lambda ax: plotting.duality(*SOLVED["nu"], ax=ax),
    "hulls": lambda ax: plotting.hulls(*SOLVED["linear"], ax=ax),
    "path": lambda ax: plotting.path(PROBLEMS["linear"], [0.01, 0.1, 1.0], show="vectors", ax=ax),
    "gap": lambda ax: plotting.gap({"one": HISTORY, "two": HISTORY[::2]}, tol=1e-6, ax=ax),
}


# --- boundary ---------------------------------------------------------------------------------------------------------


def contours(ax: Any) -> Any:
    """The contour lines, not the painted sides."""
    return next(c for c in ax.collections if hasattr(c, "levels") and np.isfinite(c.levels).all())


@pytest.mark.slow
@for_each("name", SOLVED)
def test_lines_are_level_sets_rings_are_support_vectors_and_fills_are_kinds(name):
    problem, result = SOLVED[name]
    ax = plotting.boundary(problem, result, legend=False)
    assert ax.get_legend() is None
    lines = contours(ax)
    assert set(lines.levels) <= {-result.rho, 0.0, result.rho}
    assert 0.0 in lines.levels
    tolerance = 2e-3 if name == "rbf" else 1e-9
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        assert len(path.vertices) > 1
        assert np.abs(result.decision_function(path.vertices) - level).max() <= tolerance
    rings = find_artist(ax.collections, "support vectors")
    assert rows_of(rings.get_offsets()) == rows_of(problem.X[result.support])
    for kind, points in enumerate(drawn_by_kind(ax)):
        rows = problem.active_rows[result.kind[problem.active_rows] == kind]
        assert rows_of(points) == rows_of(problem.X[rows])


def test_more_features_need_a_choice_and_the_others_are_at_their_medians():
    problem = CSVM(*FOUR, kernel="rbf")
    result = solve(problem)
    with pytest.raises(qpsvm.ParameterError, match=r"4 features.*features=\(i, j\)"):
        plotting.boundary(problem, result)
    ax = plotting.boundary(problem, result, features=(3, 1), names=IRIS.feature_names)
    assert "2 other features held at the median" in ax.get_title()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (IRIS.feature_names[3], IRIS.feature_names[1])
    lines = contours(ax)
    at = np.tile(np.median(problem.X, axis=0), (1, 1))
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        X = np.repeat(at, len(path.vertices), axis=0)
        X[:, [3, 1]] = path.vertices
        assert np.abs(result.decision_function(X) - level).max() <= 2e-3


@for_each("features", [(0,), (0, 0), (0, 4), (-1, 2), (0.0, 1.0), (0, 1, 2), "ab", True])
def test_a_choice_that_does_not_exist(features):
    problem = CSVM(*FOUR)
    with pytest.raises(qpsvm.ParameterError, match="two different integers from 0 to 3"):
        plotting.boundary(problem, solve(problem), features=features)


def test_one_feature_draws_the_curve():
    problem = CSVM(FOUR[0][:, [3]], FOUR[1], kernel="rbf")
    result = solve(problem)
    ax = plotting.boundary(problem, result)
    x, f = find_artist(ax.lines, "f(x)").get_data()
    assert f == pytest.approx(result.decision_function(x[:, None]))
    rings = np.asarray(find_artist(ax.collections, "support vectors").get_offsets())
    assert rings[:, 1] == pytest.approx(result.decision_function(rings[:, :1]), abs=1e-9)
    heights = sorted(float(line.get_ydata()[0]) for line in ax.lines if len(line.get_ydata()) == 2)
    assert heights == [-1.0, 0.0, 1.0]


def test_sparse_samples_and_constant_features():
    import scipy.sparse as sp

    X = np.column_stack([NEAR[0][:, 0], np.ones(45)])
    problem = CSVM(sp.csr_array(X), NEAR[1])
    assert plotting.boundary(problem, solve(problem)).get_xlim()[0] < X[:, 0].min()


def test_what_is_not_solved_says_so():
    problem = HardMargin(*NEAR)
    ax = plotting.boundary(problem, solve(problem, check=False))
    assert "not solved: infeasible" in ax.get_title()


# --- multipliers and complementarity ----------------------------------------------------------------------------------


@for_each("name, sort", [("weighted", True), ("weighted", False), ("hard", True)])
def test_heights_are_alpha(name, sort):
    problem, result = SOLVED[name]
    ax = plotting.multipliers(problem, result, sort=sort)
    points = np.vstack(drawn_by_kind(ax))
    points = points[np.argsort(points[:, 0])]
    alpha = result.alpha[problem.active_rows]
    if sort:
        assert points[:, 1] == pytest.approx(np.sort(alpha)[::-1], abs=0)
    else:
        assert points[:, 0] == pytest.approx(problem.active_rows, abs=0)
        assert points[:, 1] == pytest.approx(alpha, abs=0)


def test_bounds_are_drawn_where_there_are_any():
    for name, drawn in (("weighted", True), ("hard", False)):
        problem, result = SOLVED[name]
        ax = plotting.multipliers(problem, result, sort=False)
        lines = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
        assert len(lines) == 1 + drawn
        if drawn:
            heights = [segment[0][1] for segment in lines[1].get_segments()]
            assert heights == pytest.approx(result.upper[problem.active_rows])


@pytest.mark.slow
@for_each("name", SOLVED)
def test_samples_lie_on_the_path_of_complementarity(name):
    problem, result = SOLVED[name]
    kinds = drawn_by_kind(plotting.complementarity(problem, result))
    rho = result.rho
    for kind, points in enumerate(kinds):
        rows = problem.active_rows[result.kind[problem.active_rows] == kind]
        share = result.alpha[rows] / (result.alpha.max() if name == "hard" else result.upper[rows])
        assert rows_of(points) == rows_of(np.column_stack([share, result.yf[rows]]))
    assert (kinds[0][:, 0] <= 1e-6).all()
    assert (kinds[0][:, 1] >= rho - 1e-6).all()
    assert kinds[1][:, 1] == pytest.approx(rho, abs=1e-6)
    assert kinds[2][:, 0] == pytest.approx(1.0, abs=1e-6)
    assert (kinds[2][:, 1] <= rho + 1e-6).all()


# --- hulls ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@for_each("cap", [1.0, 0.4, 0.15, 1 / 12])
def test_the_reduced_hull_reaches_as_far_as_a_linear_program_says(cap):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(12, 2))
    caps = np.full(12, cap)
    vertices = compute_reduced_hull(points, caps)
    x, y = vertices.T
    assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() >= 0.0, "the vertices are not counterclockwise"
    for angle in np.linspace(0, 2 * np.pi, 60):
        direction = np.array([np.cos(angle), np.sin(angle)])
        program = linprog(-(points @ direction), A_eq=np.ones((1, 12)), b_eq=[1.0], bounds=(0, cap * (1 + 1e-12)))
        assert (vertices @ direction).max() == pytest.approx(-program.fun, abs=1e-9)
        assert find_furthest_points(points, caps, direction) @ direction == pytest.approx(-program.fun, abs=1e-9)


@for_each("points", [np.zeros((1, 2)), np.ones((4, 2)), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])])
def test_hulls_of_points_and_lines(points):
    vertices = compute_reduced_hull(points, np.ones(len(points)))
    assert rows_of(vertices) == rows_of(np.unique([points.min(axis=0), points.max(axis=0)], axis=0))


@pytest.mark.slow
@for_each("name", FLAT)
def test_the_closest_points_of_the_hulls_are_the_dual(name):
    """(HULL.3): w = A(p − m); for a hard margin the distance is the margin and the boundary bisects the segment."""
    problem, result = SOLVED[name]
    ax = plotting.hulls(problem, result)
    p, m = np.array(find_artist(ax.lines, "closest points").get_data()).T
    total = result.alpha.sum() / 2
    assert result.w == pytest.approx(total * (p - m), rel=1e-6, abs=1e-9)
    if name == "hard":
        assert np.hypot(*(p - m)) == pytest.approx(2 / np.hypot(*result.w), rel=1e-6)
        assert result.decision_function((p + m)[None] / 2)[0] == pytest.approx(0.0, abs=1e-6)
        assert not any(line.get_label() == "perpendicular bisector" for line in ax.lines)
    weights = np.where(problem.y > 0, result.alpha, 0.0) / total
    assert p == pytest.approx(weights @ problem.X, abs=1e-9)
    slack = result.rho - weights @ result.xi  # (HULL.4)
    assert result.decision_function(p[None])[0] == pytest.approx(slack, abs=1e-6)
    minus, plus = (patch.get_xy() for patch in ax.patches if "hull, class" in str(patch.get_label()))
    direction = (p - m) / np.hypot(*(p - m))
    tolerance = 1e-6 * np.ptp(problem.X)
    assert (minus @ direction).max() <= m @ direction + tolerance, "no two points of the hulls are closer"
    assert (plus @ direction).min() >= p @ direction - tolerance
    level = {"boundary, f = 0": {0.0}, "margins": {-result.rho, result.rho}}
    for line in ax.lines:
        for target in [level[line.get_label()]] if line.get_label() in level else []:
            f = result.decision_function(np.column_stack(line.get_data()))
            assert min(np.abs(f - value).max() for value in target) <= 1e-8 * max(1.0, np.abs(problem.X).max())


@for_each("polish", [True, False])
def test_only_support_vectors_are_filled_in_a_picture_of_hulls(polish):
    """Also where the solver's own point has a trace of every sample in it."""
    X = np.random.default_rng(2).normal(size=(60, 2)) + 1.5 * np.repeat([0.0, 1.0], 30)[:, None]
    problem = NuSVM(X, np.repeat([0, 1], 30), nu=0.6)
    result = solve(problem, "cvxopt", polish=polish)
    ax = plotting.hulls(problem, result)
    sizes = [len(each.get_offsets()) for each in ax.collections[:4]]
    filled = [int((result.kind[problem.y == side] > 0).sum()) for side in (-1, 1)]
    assert sizes == [30 - filled[0], filled[0], 30 - filled[1], filled[1]]
    assert 0 < filled[0] < 30


def test_hulls_that_meet_are_drawn_with_the_point_where_they_do():
    problem = HardMargin(*NEAR)
    with pytest.raises(qpsvm.NotSeparableError) as caught:
        solve(problem)
    for outcome in (caught.value, solve(problem, check=False)):
        ax = plotting.hulls(problem, outcome)
        (point,) = np.asarray(find_artist(ax.collections, "the hulls meet").get_offsets())
        assert point == pytest.approx(caught.value.u @ problem.X, abs=1e-9)
        assert point == pytest.approx(caught.value.v @ problem.X, abs=1e-6)
        assert not ax.lines


def test_reduced_hulls_of_a_nu_svm_without_margin_meet():
    problem = NuSVM(*clouds(0.1), 0.05)
    ax = plotting.hulls(problem, solve(problem))
    find_artist(ax.collections, "the hulls meet")


@for_each(
    "problem, message",
    [
        (CSVM(*MOONS, kernel="rbf"), r"linear kernel.*RBF.*boundary\(problem, result\)"),
        (CSVM(*FOUR), "on 4 features"),
        (CSVM(NEAR[0][:, :1], NEAR[1]), r"in the plane of two features.* on 1 feature;"),
        (PrimalHinge(*NEAR, intercept="penalised"), "penalised.*yᵀα = 0"),
        (CSVM(*NEAR, constraints=qpsvm.Constraints([[1.0, 1.0]], [9.0])), "linear constraints"),
    ],
)
def test_hulls_say_why_there_is_no_picture(problem, message):
    with pytest.raises(qpsvm.UnsupportedError, match=message):
        plotting.hulls(problem, solve(problem))


# --- path -------------------------------------------------------------------------------------------------------------


def test_what_a_path_shows():
    problem = PROBLEMS["linear"]
    values = [0.01, 0.1, 1.0]
    results = qpsvm.path(problem, C=values)
    drawn = {
        show: [line.get_ydata() for line in plotting.path(problem, values, show=show, results=results).lines]
        for show in ("margin", "norm", "objective", "vectors", "coefficients")
    }
    assert drawn["objective"][0] == pytest.approx([r.primal for r in results], rel=0)
    assert list(plotting.path(problem, values, show="objective", results=results).lines[0].get_xdata()) == values
    norms = np.array([np.hypot(*r.w) for r in results])
    assert drawn["norm"][0] == pytest.approx(norms)
    assert drawn["margin"][0] == pytest.approx(2 / norms)
    assert drawn["vectors"][0] == pytest.approx(drawn["vectors"][1] + drawn["vectors"][2])
    for j, heights in enumerate(drawn["coefficients"]):
        assert heights == pytest.approx([r.w[j] for r in results])


def test_what_a_path_cannot_do():
    with pytest.raises(qpsvm.UnsupportedError, match="HardMargin has two classes and no parameter"):
        plotting.path(PROBLEMS["hard"], [1.0])
    with pytest.raises(qpsvm.NoWeightVectorError, match=r"RBF.*feature space"):
        plotting.path(PROBLEMS["rbf"], [1.0], show="coefficients")
    with pytest.raises(qpsvm.UnknownOptionError, match="did you mean 'vectors'"):
        plotting.path(PROBLEMS["linear"], [1.0], show="vector")
    for values in ([], [0.0], [np.inf], [-1.0]):
        with pytest.raises(qpsvm.ParameterError, match="positive and finite"):
            plotting.path(PROBLEMS["linear"], values)
    with pytest.raises(qpsvm.DataError, match="1 results for 2 values of C"):
        plotting.path(PROBLEMS["linear"], [1.0, 2.0], results=[SOLVED["linear"][1]])
    with pytest.raises(qpsvm.DataError, match="one entry for each of the 2 features"):
        plotting.path(PROBLEMS["linear"], [1.0], show="coefficients", names=["a"])


# --- gap --------------------------------------------------------------------------------------------------------------


def test_gap_draws_each_run_under_its_name():
    ax = plotting.gap({"one": HISTORY, "two": [(0, np.inf), (1, 1e-3), (2, 0.0)]}, tol=1e-6)
    assert ax.get_yscale() == "log"
    assert find_artist(ax.lines, "one").get_ydata() == pytest.approx(HISTORY[:, 1])
    x, heights = find_artist(ax.lines, "two").get_data()
    assert list(x) == [1, 2]
    assert list(heights) == [1e-3, np.finfo(float).eps]
    assert find_artist(ax.lines, "tolerance 1e-06").get_ydata()[0] == 1e-6
    assert plotting.gap(HISTORY).get_legend() is None


@for_each("history", [HISTORY.T, [1.0, 2.0], np.zeros((0, 2)), [(0, np.nan)], [(0, -1.0)]])
def test_gap_refuses_what_is_no_history(history):
    with pytest.raises(qpsvm.DataError, match="run"):
        plotting.gap({"run": history})


# --- what does not fit together ---------------------------------------------------------------------------------------


DRAWN = [plotting.boundary, plotting.multipliers, plotting.complementarity, plotting.hulls, plotting.duality]


@pytest.mark.slow
@for_each("draw", DRAWN)
def test_problem_and_result_are_checked(draw):
    problem, result = SOLVED["linear"]
    with pytest.raises(qpsvm.ParameterTypeError, match=r"such as CSVM\(X, y\) comes first"):
        draw(result, problem)
    with pytest.raises(qpsvm.DataError, match="over 45 rows of 2 features, the problem has 80 rows"):
        draw(PROBLEMS["rbf"], result)
    with pytest.raises(qpsvm.ParameterTypeError, match="ax must be a Matplotlib Axes"):
        draw(problem, result, ax=pyplot.subplots(1, 2)[1])


def test_without_matplotlib_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(qpsvm.MissingExtraError, match=r"pip install \"\.\[plot\]\""):
        plotting.boundary(*SOLVED["linear"])


# --- what is wrong in an argument -------------------------------------------------------------------------------------

OTHER = CSVM(*NEAR, kernel=RBF(0.5))
SOLID = Figure().add_subplot(projection="3d")
WRONG = {
    "names-5": (TypeError, "names must be a sequence", lambda p, r: plotting.boundary(p, r, names=5)),
    "names-text": (TypeError, "one text for each", lambda p, r: plotting.hulls(p, r, names="ab")),
    "names-length": (ValueError, "2 features, got 1", lambda p, r: plotting.hulls(p, r, names=["a"])),
    "names-nested": (ValueError, "2 features, got shape", lambda p, r: plotting.hulls(p, r, names=[["a", "b"]])),
    "path-scalar": (ValueError, "values must be a vector", lambda p, _: plotting.path(p, 1.0)),
    "path-text": (TypeError, "values must hold real", lambda p, _: plotting.path(p, ["a"])),
    "path-show": (TypeError, "show cannot be", lambda p, _: plotting.path(p, [1.0], show=np.arange(2))),
    "path-results": (TypeError, "results must be", lambda p, r: plotting.path(p, [1.0], results=r)),
    "path-other": (ValueError, "kernel", lambda p, _: plotting.path(p, [1.0], results=[solve(OTHER)])),
    "gap-text": (TypeError, "real numbers", lambda *_: plotting.gap("abc")),
    "gap-complex": (TypeError, "real numbers", lambda *_: plotting.gap([[1j, 1.0]])),
    "gap-result": (TypeError, "real numbers", lambda _, r: plotting.gap(r)),
    "gap-ragged": (ValueError, "equally long", lambda *_: plotting.gap([[1, 0.1], [2]])),
    "gap-empty": (ValueError, "shape", lambda *_: plotting.gap([])),
    "gap-no-run": (ValueError, "no run", lambda *_: plotting.gap({})),
    "gap-iteration": (ValueError, "row 1 is", lambda *_: plotting.gap([(0, 1.0), (np.inf, 1.0)])),
    "tol-text": (TypeError, "tol must be", lambda *_: plotting.gap(HISTORY, tol="a")),
    "tol-vector": (TypeError, "tol must be", lambda *_: plotting.gap(HISTORY, tol=[1, 2])),
    "tol-zero": (ValueError, "tol must be positive", lambda *_: plotting.gap(HISTORY, tol=0)),
    "tol-nan": (ValueError, "tol must be finite", lambda *_: plotting.gap(HISTORY, tol=np.nan)),
    "resolution-0": (ValueError, "from 2 to", lambda p, r: plotting.boundary(p, r, resolution=0)),
    "resolution-huge": (ValueError, "from 2 to", lambda p, r: plotting.regions(r, p.X, p.y, resolution=10**6)),
    "resolution-2.5": (TypeError, "an integer", lambda p, r: plotting.boundary(p, r, resolution=2.5)),
    "resolution-text": (TypeError, "an integer", lambda p, r: plotting.boundary(p, r, resolution="a")),
    "axes-3d": (TypeError, "omit projection", lambda p, r: plotting.boundary(p, r, ax=SOLID)),
    "confusion-nan": (ValueError, "predicted: .* row 1 ", lambda *_: plotting.confusion([0.0, 1.0], [0.0, np.nan])),
    "confusion-none": (ValueError, "y: .* row 0 ", lambda *_: plotting.confusion([None, "a"], ["a", "a"])),
    "confusion-mixed": (TypeError, "mixes types", lambda *_: plotting.confusion(["1", "2"], [1, 2])),
    "kernel": (ValueError, "kernel", lambda p, _: plotting.multipliers(p, solve(OTHER))),
    "features": (ValueError, "1 features", lambda p, _: plotting.hulls(p, solve(CSVM(NEAR[0][:, :1], NEAR[1])))),
}  # fmt: skip


@for_each("case", WRONG)
def test_a_wrong_argument_is_refused_in_words(case):
    kind, message, call = WRONG[case]
    with pytest.raises(qpsvm.QPSVMError, match=message) as caught:
        call(*SOLVED["linear"])
    assert isinstance(caught.value, kind)
    assert not pyplot.get_fignums()


@for_each("X, y", [clouds(0.9, seed=1), (NEAR[0][5:], NEAR[1][5:]), (NEAR[0], 1 - NEAR[1])])
def test_hulls_refuse_the_error_of_another_problem(X, y):
    problem = HardMargin(*NEAR)
    with pytest.raises(qpsvm.NotSeparableError) as caught:
        solve(problem)
    with pytest.raises(qpsvm.DataError, match=r"the error .* give the error that solve\(problem\) raised"):
        plotting.hulls(HardMargin(X, y), caught.value)


@for_each("scale, offset, seed", [(1e-6, 1e6, 1), (1.0, 0.0, 0), (1.0, 1e6, 2), (1e6, 1e6, 3)])
def test_hulls_take_the_error_of_their_own_problem(scale, offset, seed):
    X, y = clouds(0.5, seed)
    problem = HardMargin(scale * (X + offset), y)
    plotting.hulls(problem, solve(problem, check=False))


@pytest.mark.slow
@for_each("names", [("$\\frac$", "_hidden"), ("$x$", "$$"), ("\\$a", "$x_{")])
def test_text_of_the_user_is_no_formula(names):
    X = NEAR[0]
    y = np.array(names)[NEAR[1].astype(int)]
    problem = CSVM(X, y, kernel=named_kernel)
    result = solve(problem)
    linear = CSVM(X, y)
    drawn = [
        plotting.boundary(problem, result, names=names),
        plotting.multipliers(problem, result),
        plotting.complementarity(problem, result),
        plotting.hulls(linear, solve(linear), names=names),
        plotting.path(linear, [0.1, 1.0], show="coefficients", names=names),
        plotting.gap(dict.fromkeys(names, HISTORY)),
    ]
    for ax in drawn:
        ax.figure.draw_without_rendering()  # every text is set, formulas too
        texts = [text.get_text().replace("\\$", "$") for text in ax.get_legend().get_texts()]
        assert all(any(name in text for text in texts) for name in names)


def named_kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """A linear kernel whose name is in every title."""
    return np.asarray(X @ Z.T)


named_kernel.__name__ = "$\\frac$"


def test_rows_without_weight_in_the_result_are_left_out():
    problem = PROBLEMS["linear"]
    other = CSVM(*NEAR, 0.3, sample_weight=WEIGHTS)
    ax = plotting.complementarity(problem, solve(other))
    assert sum(len(points) for points in drawn_by_kind(ax)) == (WEIGHTS > 0).sum()
    apart = CSVM(*NEAR, 0.3, sample_weight=1 - WEIGHTS)
    with pytest.raises(qpsvm.DataError, match="no row of positive weight"):
        plotting.complementarity(apart, solve(other))
