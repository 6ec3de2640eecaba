"""How the pictures look, measured on the canvas: right angles, what covers what, and what tells samples apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from each import for_each
from matplotlib import colors, pyplot
from matplotlib.patches import Patch
from sklearn.datasets import make_blobs
from test_plotting import FLAT, FOUR, HISTORY, NEAR, PICTURES, PROBLEMS, SOLVED, contours, find_artist

from qpsvm import CSVM, RBF, NuSVM, path, solve
from qpsvm.faces import plotting
from qpsvm.faces.plotting.markers import choose_outline_and_fill
from qpsvm.faces.plotting.palette import CLASSES, KINDS, SIDES
from qpsvm.faces.plotting.view import DISTORTED, MAX_ASPECT_RATIO

LONG = ("the height of the plant above the ground in metres", "the width of its widest leaf at noon, $measured$ twice")


def on_canvas(ax, points):
    """Points of the data as they lie on the canvas, once everything has its place: (m, 2)."""
    ax.figure.draw_without_rendering()
    return ax.transData.transform(points)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# --- units ------------------------------------------------------------------------------------------------------------


@for_each("stretch, draw", product([(1.0, 2.5), (1e-6, 1e-6)], [plotting.boundary, plotting.hulls]))
def test_w_is_perpendicular_to_the_boundary_on_the_canvas(draw, stretch):
    problem = CSVM(NEAR[0] * stretch, NEAR[1], 1.0 / stretch[0] ** 2)
    result = solve(problem)
    given = pyplot.subplots(figsize=(7, 3), layout="constrained")[1]
    for ax in (draw(problem, result), draw(problem, result, legend=False, ax=given)):
        if draw is plotting.boundary:
            lines = contours(ax)
            zero = lines.get_paths()[list(lines.levels).index(0.0)].vertices
        else:
            zero = np.column_stack(find_artist(ax.lines, "boundary").get_data())
        start, stop = on_canvas(ax, zero[[0, -1]])
        foot, tip = on_canvas(
            ax, np.array([zero[0], zero[0] + result.w / np.linalg.norm(result.w) * np.ptp(problem.X)])
        )
        assert abs(cosine(stop - start, tip - foot)) < 1e-6
        assert DISTORTED not in ax.get_title()


@for_each("draw, stretch", [(plotting.boundary, (1.0, 100.0)), (plotting.hulls, (100.0, 1.0))])
def test_no_picture_is_a_sliver_and_the_title_says_what_that_costs(draw, stretch):
    problem = CSVM(NEAR[0] * stretch, NEAR[1])
    ax = draw(problem, solve(problem))
    ax.figure.canvas.draw()
    assert 1 / MAX_ASPECT_RATIO < ax.bbox.height / ax.bbox.width < MAX_ASPECT_RATIO
    assert DISTORTED in ax.get_title()


def test_pictures_side_by_side_keep_equal_units():
    axes = pyplot.subplots(1, 2, sharex=True, sharey=True, layout="constrained")[1]
    for ax in axes:
        plotting.boundary(*SOLVED["linear"], legend=False, ax=ax)
    for ax in axes:
        origin, across, up = on_canvas(ax, [(0, 0), (1, 0), (0, 1)])
        assert across[0] - origin[0] == pytest.approx(up[1] - origin[1])


# --- what covers what -------------------------------------------------------------------------------------------------


def long_names(draw, ax):
    X = NEAR[0]
    y = np.where(NEAR[1] > 0, "Iris versicolor, from the northern slopes", "Iris setosa, from the south")
    problem = CSVM(X, y, 0.3)
    result = solve(problem)
    if draw in ("boundary", "hulls"):
        return getattr(plotting, draw)(problem, result, names=LONG, ax=ax)
    return getattr(plotting, draw)(problem, result, ax=ax)


NAMED = {f"{draw}-long": lambda ax, d=draw: long_names(d, ax)
         for draw in ("boundary", "hulls", "multipliers", "complementarity", "duality")}  # fmt: skip
NAMED["path-long"] = lambda ax: plotting.path(PROBLEMS["linear"], [0.1, 1], show="coefficients", names=LONG, ax=ax)
NAMED["gap-long"] = lambda ax: plotting.gap(dict.fromkeys(LONG, HISTORY), tol=1e-6, ax=ax)
NAMED["boundary-one"] = lambda ax: plotting.boundary(ONE, solve(ONE), names=LONG[:1], ax=ax)
NAMED["boundary-tiny"] = lambda ax: plotting.boundary(TINY, solve(TINY), ax=ax)
ONE = CSVM(FOUR[0][:, [3]], FOUR[1], kernel=RBF(1.0))
TINY = CSVM(1e-9 * NEAR[0], NEAR[1], 1e17)
OWN = ("boundary-long", "path-long", "gap-long")  # on a page of its own size there is more room


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, (4.2, 5.2)], ids=["own", "small"])
@for_each("name", [*PICTURES, *NAMED])
def test_no_text_lies_on_another_or_off_the_page(name, size):
    if size is None and name in NAMED and name not in OWN:
        return
    if size is None:
        given = None
    else:
        given = pyplot.subplots(figsize=size, layout="constrained")[1]
    ax = {**PICTURES, **NAMED}[name](given)
    assert given in (None, ax)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    ax.figure.draw_without_rendering()
    ax.figure.draw_without_rendering()  # the layout settles on the second
    page = ax.figure.bbox
    labels = ax.xaxis.get_tightbbox()
    boxes = [labels, ax.yaxis.get_tightbbox(), *([ax.title.get_window_extent()] if ax.get_title() else [])]
    if ax.get_legend() is not None:
        legend = ax.get_legend().get_window_extent()
        assert legend.y1 <= labels.y0 + 1, "the legend lies over the label of the axis"
        boxes.append(legend)
    for box in boxes:
        assert page.x0 - 1 <= box.x0
        assert box.x1 <= page.x1 + 1
        assert page.y0 - 1 <= box.y0
        assert box.y1 <= page.y1 + 1


def test_a_name_too_long_for_any_line_is_cut():
    ax = plotting.boundary(*SOLVED["linear"], names=["word " * 100, "x" * 500])
    assert all(label.count("\n") == 2 and label.endswith("…") for label in (ax.get_xlabel(), ax.get_ylabel()))


# --- what tells samples apart -----------------------------------------------------------------------------------------


def grey(color):
    """Luminance, as a grey printer shows it."""
    return float(np.dot(colors.to_rgb(color), (0.299, 0.587, 0.114)))


def samples_drawn(ax):
    """Fill, edge and positions of each group of samples, without the rings."""
    groups = [c for c in ax.collections if hasattr(c, "get_sizes") and len(c.get_facecolor())]
    return [(c.get_facecolor()[0], c.get_edgecolor()[0], np.asarray(c.get_offsets())) for c in groups]


@for_each("name", ["linear", "rbf"])
def test_classes_differ_in_hue(name):
    problem, result = SOLVED[name]
    hues = [colors.rgb_to_hsv(colors.to_rgb(color))[0] for color in CLASSES]
    for fill, _, points in samples_drawn(plotting.boundary(problem, result)):
        side = int(abs(colors.rgb_to_hsv(fill[:3])[0] - hues[1]) < 0.02)
        assert colors.rgb_to_hsv(fill[:3])[0] == pytest.approx(hues[side], abs=0.02)
        own = {tuple(x) for x in problem.X[(problem.y > 0) == bool(side)].tolist()}
        assert {tuple(x) for x in points.tolist()} <= own


def test_kinds_differ_in_grey_print_and_from_the_classes():
    for color in CLASSES:
        (_, pale), (black, full), (orange, same) = (choose_outline_and_fill(kind, color) for kind in range(len(KINDS)))
        assert full == same == color
        assert grey(pale) - grey(full) > 0.25
        assert grey(orange) - grey(black) > 0.25
    assert not {outline for _, outline in KINDS} & set(CLASSES)


@for_each("problem", [PROBLEMS["linear"], ONE])
def test_the_legend_names_both_sides(problem):
    result = solve(problem)
    ax = plotting.boundary(problem, result)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    sides = [handle for handle in ax.get_legend().legend_handles if isinstance(handle, Patch)]
    assert [text for text in texts if "predicts" in text] == [
        f"{sign}: predicts {label}" for sign, label in zip(("f < 0", "f > 0"), problem.classes, strict=True)
    ]
    assert [colors.to_rgb(side.get_facecolor()) for side in sides] == [colors.to_rgb(color) for color in CLASSES]


def test_the_sides_differ_in_grey_print():
    painted = [shade * grey(color) + 1 - shade for color, shade in SIDES]  # on white paper
    assert painted[0] - painted[1] > 0.05


def test_the_sides_of_one_feature_meet_at_zero():
    ax = plotting.boundary(ONE, solve(ONE))
    low, high = ax.get_ylim()
    boxes = [ax.transData.inverted().transform(patch.get_window_extent())[:, 1] for patch in ax.patches]
    assert sorted(map(tuple, boxes)) == [pytest.approx((low, 0.0)), pytest.approx((0.0, high))]


# --- paths ------------------------------------------------------------------------------------------------------------

MIXED = make_blobs(120, centers=[(0, 0), (1, 1)], cluster_std=1.0, random_state=1)
NUS = [0.1, 0.2, 0.7, 0.9]


@pytest.fixture(scope="module")
def nu_path():
    problem = NuSVM(*MIXED)
    return problem, path(problem, nu=NUS)


@for_each("show", ["margin", "norm", "objective", "vectors", "coefficients"])
def test_where_rho_is_0_the_path_says_so(show, nu_path):
    problem, results = nu_path
    flat = [nu for nu, result in zip(NUS, results, strict=True) if result.rho == 0]
    assert 0 < len(flat) < len(NUS)
    ax = plotting.path(problem, NUS, show=show, results=results)
    marks = find_artist(ax.lines, "ρ = 0")
    assert list(marks.get_xdata()) == flat
    assert ax.get_xlim()[0] <= min(flat)
    assert "ρ = 0: w = 0, no margin" in [text.get_text() for text in ax.get_legend().get_texts()]
    for line in set(ax.lines) - {marks}:
        defined = np.isfinite(np.asarray(line.get_ydata(), dtype=float))
        assert defined.tolist() == [show not in ("margin", "vectors") or nu not in flat for nu in NUS]


def test_a_path_with_a_margin_everywhere_has_no_marks():
    ax = plotting.path(PROBLEMS["linear"], [0.1, 1.0])
    assert len(ax.lines) == 1
    assert ax.get_legend() is None


def test_only_what_changes_tenfold_is_on_a_logarithmic_axis():
    problem = CSVM(*NEAR)
    assert plotting.path(problem, [0.9, 1.1], show="norm").get_yscale() == "linear"
    assert plotting.path(problem, [1e-4, 10.0], show="norm").get_yscale() == "log"


@for_each("name", FLAT[:2])
def test_hulls_have_the_colours_of_their_classes(name):
    ax = plotting.hulls(*SOLVED[name])
    for color, side in zip(CLASSES, ax.patches[:: len(ax.patches) // 2], strict=True):
        assert colors.to_rgb(side.get_edgecolor()) == colors.to_rgb(color)
