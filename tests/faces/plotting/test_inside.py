"""The picture of what is inside and what is outside, measured on the axes."""

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm import RBF, SVDD, OneClass
from qpsvm.faces import plotting


def cloud(d: int = 2) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((40, d)) + 2.0


def legend_texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@for_each("problem", [OneClass(cloud(), 0.23, RBF(0.5)), SVDD(cloud(), 0.23)])
def test_samples_are_drawn_by_kind_and_counted(problem):
    result = qpsvm.solve(problem)
    ax = plotting.novelty(problem, result, resolution=30)
    counts = np.bincount(result.kind, minlength=3)
    drawn = [len(part.get_offsets()) for part in ax.collections if len(part.get_offsets()) > 1]
    assert sorted(drawn) == sorted(counts[counts > 1])
    for word, count in zip(problem._kind_labels.descriptions, counts, strict=True):
        assert f"{word} ({count})" in legend_texts(ax)
    assert "f < 0, outside: predicts -1" in legend_texts(ax)


def test_a_ball_is_seen_whole_with_its_centre_and_radius():
    problem = SVDD(cloud(), 0.23)
    result = qpsvm.solve(problem)
    ax = plotting.novelty(problem, result, resolution=30)
    assert f"radius R = {result.radius:.4g}" in legend_texts(ax)
    for axis, limits in enumerate((ax.get_xlim(), ax.get_ylim())):
        assert limits[0] < result.centre[axis] - result.radius
        assert limits[1] > result.centre[axis] + result.radius
    line = next(line for line in ax.lines if line.get_linestyle() == "--")
    start, stop = np.column_stack(line.get_data())
    assert start == pytest.approx(result.centre)
    assert np.linalg.norm(stop - start) == pytest.approx(result.radius)


def test_boundary_draws_the_same_picture():
    problem = OneClass(cloud(), 0.23, RBF(0.5))
    result = qpsvm.solve(problem)
    assert legend_texts(plotting.boundary(problem, result, resolution=20)) == legend_texts(
        plotting.novelty(problem, result, resolution=20)
    )


def test_one_feature_is_a_curve_and_three_are_a_slice():
    one = SVDD(cloud(1), 0.2, RBF(0.5))
    assert plotting.novelty(one, qpsvm.solve(one)).get_ylabel() == "decision function f(x)"
    three = SVDD(cloud(3), 0.2)
    ax = plotting.novelty(three, qpsvm.solve(three), features=(0, 2), resolution=10)
    assert not any("radius" in word for word in legend_texts(ax))
    with pytest.raises(qpsvm.ParameterError):
        plotting.novelty(three, qpsvm.solve(three))


def test_what_novelty_refuses():
    problem = qpsvm.CSVM([[0.0], [1.0]], [0, 1])
    with pytest.raises(qpsvm.UnsupportedError, match=r"CSVM has two classes; plotting\.boundary"):
        plotting.novelty(problem, qpsvm.solve(problem))
    ball = SVDD(cloud(), 0.2)
    with pytest.raises(qpsvm.ParameterError, match="resolution"):
        plotting.novelty(ball, qpsvm.solve(ball), resolution=1)


def test_samples_at_one_place_have_a_picture():
    problem = SVDD(np.full((4, 2), 0.5), 0.5)
    plotting.novelty(problem, qpsvm.solve(problem), resolution=10)
