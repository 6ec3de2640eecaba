"""Every picture of every machine: drawn, or refused with the name of a picture that draws this very problem."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from each import for_each
from matplotlib import pyplot

import qpsvm
from qpsvm import plotting
from qpsvm.faces.plotting.accepted import GROUPS, PICTURES, accepts, as_markdown, find_group
from qpsvm.machines import registry

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 4))
SIDE = np.arange(24) % 2
X[:, :2] += 0.6 * (2 * SIDE[:, None] - 1)
APART = X + 1.6 * np.array([1.0, 1.0, 0.0, 0.0]) * (2 * SIDE[:, None] - 1)
THREE = np.array(["a", "b", "c"])[(SIDE + (X[:, 2] > 0.0)).astype(int)]
TARGET = X[:, 0] + 0.3 * RNG.normal(size=24)
PRICES, WEIGHTS = np.linspace(0.3, 3.0, 24), np.where(np.arange(24) % 6, 1.0 + np.arange(24) % 3, 0.0)
#: A machine of samples Z with other arguments: its own, and those with a price and a weight of each sample.
MAKE: dict[str, tuple[Any, Callable[..., Any]]] = {
    "CSVM": (SIDE, qpsvm.CSVM), "HardMargin": (SIDE, qpsvm.HardMargin), "SquaredHinge": (SIDE, qpsvm.SquaredHinge),
    "HuberHinge": (SIDE, qpsvm.HuberHinge), "NuSVM": (SIDE, qpsvm.NuSVM), "PrimalHinge": (SIDE, qpsvm.PrimalHinge),
    "EpsilonSVR": (TARGET, qpsvm.EpsilonSVR), "NuSVR": (TARGET, qpsvm.NuSVR),
    "squared": (TARGET, lambda *a, **o: qpsvm.EpsilonSVR(*a, loss="squared", **o)),
    "QuantileSVR": (TARGET, lambda *a, **o: qpsvm.QuantileSVR(*a, quantile=0.8, **o)),
    "OneClass": (None, qpsvm.OneClass), "SVDD": (None, qpsvm.SVDD), "Ranking": (np.round(TARGET), qpsvm.Ranking),
    "CrammerSinger": (THREE, qpsvm.CrammerSinger), "WestonWatkins": (THREE, qpsvm.WestonWatkins),
}  # fmt: skip
PRICED = {
    "CSVM",
    "SquaredHinge",
    "HuberHinge",
    "EpsilonSVR",
    "squared",
    "QuantileSVR",
    "CrammerSinger",
    "WestonWatkins",
}
#: Samples by how many features they have, and a kernel matrix.
SAMPLES = {"1": lambda Z: Z[:, :1], "2": lambda Z: Z[:, :2], "4": lambda Z: Z, "matrix": lambda Z: Z @ Z.T}


@cache
def solve_machine(name: str, samples: str = "2", weighted: bool = False) -> tuple[Any, Any]:
    """Return a machine and its result."""
    y, make = MAKE[name]
    options: dict[str, Any] = {"sample_weight": WEIGHTS} if weighted and name != "HardMargin" else {}
    options |= {"C": PRICES} if weighted and name in PRICED else {}
    if samples == "matrix":
        kernel = "precomputed"
    elif name != "OneClass":
        kernel = "linear"
    else:
        kernel = "rbf"
    Z = SAMPLES[samples](APART if name == "HardMargin" else X)
    problem = make(Z, *(() if y is None else (y,)), kernel=kernel, **options)
    return problem, qpsvm.solve(problem, check=False)


def draw(picture: str, problem: Any, result: Any) -> Any:
    """A picture of a problem and its result, by the arguments that it takes."""
    if picture == "regions":
        labels = result.predict(problem.X, diagonal=problem._take_kernel_diagonal(slice(None)))
        return plotting.regions(result, problem.X, labels, resolution=20)
    if picture in ("boundary", "novelty"):
        return getattr(plotting, picture)(problem, result, resolution=20)
    if picture == "quantiles":
        return plotting.quantiles([problem], [result])
    if picture == "path":
        return plotting.path(problem, [0.3, 0.5], check=False)
    if picture == "influence":
        kind = find_group(problem) in PICTURES["influence"].groups
        found = qpsvm.influence(problem, result) if kind else None
        return plotting.influence(problem, result, found, resolution=20)
    return getattr(plotting, picture)(problem, result)


def outcome(picture: str, problem: Any, result: Any) -> tuple[bool, Exception | None]:
    """Whether there is something in the axes, where everything can be set; or the refusal."""
    try:
        ax = draw(picture, problem, result)
    except (qpsvm.UnsupportedError, qpsvm.ParameterError) as error:
        return False, error
    if problem.X.shape[1] == 2:
        ax.figure.draw_without_rendering()
    pyplot.close(ax.figure)
    return bool(ax.collections or ax.lines or ax.patches), None


@cache
def outcome_of(picture: str, name: str, samples: str) -> tuple[bool, Exception | None]:
    """The same of a machine of the table."""
    return outcome(picture, *solve_machine(name, samples))


#: The first machine of each group.
FIRST = [next(name for name in MAKE if name in entry.machines) for entry in GROUPS.values()]


@pytest.mark.slow
@pytest.mark.parametrize("samples", ["1", "4", "matrix"])
@for_each("name", FIRST)
def test_of_other_samples_a_picture_is_drawn_or_the_refusal_names_one_that_is(name, samples):
    check_pictures(name, samples)


@pytest.mark.parametrize("name", MAKE)
def test_a_picture_is_drawn_or_the_refusal_names_one_that_is(name):
    check_pictures(name, "2")


def check_pictures(name: str, samples: str) -> None:
    """Check that a machine has each picture, or is sent to one that it has."""
    problem, result = solve_machine(name, samples)
    for picture in PICTURES:
        drawn, error = outcome_of(picture, name, samples)
        if drawn:
            assert find_group(problem) in PICTURES[picture].groups
            continue
        said = str(error)
        infinite = not np.isfinite(result.primal)
        assert infinite or not accepts(picture, problem), said
        assert infinite or "pass feature" in said or isinstance(error, qpsvm.UnsupportedError), said
        other = re.search(r"plotting\.(\w+)\(problem, result\) draws it", said)
        assert other is not None, f"{picture}: {said}"
        assert other[1] != picture
        assert outcome_of(other[1], name, samples)[0], f"{picture} sends to {other[1]}"


def test_the_table_is_that_of_the_guide_and_names_every_machine_in_its_group():
    guide = Path(__file__).parents[3] / "docs" / "guide" / "pictures.md"
    assert as_markdown() in guide.read_text(encoding="utf-8")
    named = {kind: group for group, entry in GROUPS.items() for kind in entry.machines}
    assert set(named) == {kind for _, kind in (*registry.MACHINES.values(), *registry.ALL_IN_ONE.values())}
    for name in MAKE:
        problem = solve_machine(name)[0]
        assert find_group(problem) == named[type(problem).__name__]


def distances(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """How far points (m, 2) are from a line of straight pieces between corners (k, 2): (m,)."""
    start = corners[:-1]
    way = np.diff(corners, axis=0)
    square = np.maximum((way**2).sum(axis=1), 1e-300)
    along = np.clip(((points[:, None] - start) * way).sum(axis=2) / square, 0.0, 1.0)
    return np.sqrt(((points[:, None] - start - along[..., None] * way) ** 2).sum(axis=2)).min(axis=1)


@for_each("name", MAKE)
def test_every_certified_optimum_lies_on_the_path_of_complementarity(name):
    """No further than the gap allows: a row's term of P − D is at least C, or 1/(2δ), times the distance squared."""
    problem, result = solve_machine(name, weighted=True)
    assert result.status == "optimal"
    ax = plotting.complementarity(problem, result)
    (path,) = [line for line in ax.lines if line.get_label() == "optimal"]
    points = np.vstack([each.get_offsets() for each in ax.collections])
    own = problem._active_variables if name == "Ranking" else problem.sample_weight > 0
    rivals = len(result.classes) - 1 if name == "WestonWatkins" else 1
    assert len(points) == own.sum() * rivals
    upper = result.upper[result.upper > 0]
    if np.isfinite(upper).all():
        scale = float(upper.min())
    else:
        if result.curvature.any():
            scale = 1.0 / float(result.curvature.max()) / 2
        else:
            scale = float(result.alpha.max())
    allowed = np.sqrt(2 * max(result.primal - result.dual, 0.0) / scale) + 1e-9
    assert allowed < 0.02
    assert distances(points, path.get_xydata()).max() <= allowed
    assert np.ptp(points[:, 0]) > 0.1  # there is something to see


@for_each("name", MAKE)
def test_duality_meets_at_the_optimum(name):
    problem, result = solve_machine(name, weighted=True)
    lines = {line.get_label().split()[0]: line.get_ydata() for line in plotting.duality(problem, result).lines}
    primal, dual = lines["primal"], lines["dual"]
    rounding = 1e-6 * abs(result.primal)
    assert np.nanmin(primal) >= result.dual - rounding
    assert dual.max() <= result.primal + rounding
    assert primal[-1] - dual[-1] <= 3 * rounding


@for_each("name", ["CSVM", "SVDD", "EpsilonSVR", "Ranking", "CrammerSinger"])
def test_the_norm_in_feature_space_is_that_of_the_coefficients(name):
    y, make = MAKE[name]
    problem = make(X[:, :2], *(() if y is None else (y,)), kernel=qpsvm.RBF(0.3))
    result = qpsvm.solve(problem)
    (line,) = plotting.path(problem, [1.0], show="norm", results=[result]).lines
    coef = result.coef.reshape(len(X), -1)
    square = float((coef * (problem.kernel(problem.X, problem.X) @ coef)).sum())
    assert line.get_ydata()[0] == pytest.approx(np.sqrt(square), rel=1e-6)


def test_boundary_of_several_classes_is_that_of_regions():
    problem, result = solve_machine("CrammerSinger", weighted=True)
    rows = problem.active_rows
    rings = np.isin(rows, result.support)
    one = plotting.boundary(problem, result, resolution=20)
    other = plotting.regions(result, problem.X[rows], THREE[rows], support=rings, resolution=20)
    words = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in (one, other)]
    assert words[0] == words[1]
    assert "Crammer-Singer, 3 classes" in one.get_title()


def test_a_margin_is_of_two_classes():
    problem, result = solve_machine("EpsilonSVR")
    with pytest.raises(qpsvm.UnsupportedError, match=r"show='objective'"):
        plotting.path(problem, [1.0], show="margin", results=[result])
    with pytest.raises(qpsvm.UnsupportedError, match=r"show='multipliers'"):
        plotting.exact_path(qpsvm.exact_path(problem, "C", 0.5, 1.0), show="margin")


def test_duality_has_the_prices_of_rows_of_ones_own():
    rows = qpsvm.Constraints([[1.0, -1.0]], [-0.5])
    problem = qpsvm.CSVM(X[:, :2], SIDE, constraints=rows)
    result = qpsvm.solve(problem)
    assert result.constraints["multiplier"][0] > 0.0
    lines = {line.get_label().split()[0]: line.get_ydata() for line in plotting.duality(problem, result).lines}
    assert lines["primal"][-1] == pytest.approx(result.primal, rel=1e-6)
    assert lines["dual"][-1] == pytest.approx(result.dual, rel=1e-6)


@for_each("d, kernel, other", [(2, "linear", "hulls"), (2, "rbf", "boundary"), (4, "rbf", "decisions")])
def test_what_does_not_meet_is_drawn_by_another_picture(d, kernel, other):
    problem = qpsvm.HardMargin(np.repeat(X[:12, :d], 2, axis=0), SIDE, kernel=kernel)
    result = qpsvm.solve(problem, check=False)
    with pytest.raises(qpsvm.ParameterError, match=rf"infeasible.*plotting\.{other}\(problem, result\) draws it"):
        plotting.duality(problem, result)
    assert outcome(other, problem, result)[0]
