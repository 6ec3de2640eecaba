"""Every machine on every backend, in both forms, under every kernel, at three scales: optimal by the textbook.

Nothing here trusts the library's own measures: u = Kβ, the values of both problems and the conditions are computed
again from X, y or t, and α, w, b, ρ, ε, R. Which combinations are solved is said in `matrix.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from machines import MACHINES, Point
from matrix import CASES, Case, Cell, find_reference, solve_case

import qpsvm

TOL = 1e-6
EPS = np.finfo(float).eps
#: Those whose samples are on the margin, within it or beyond it: nothing in their objective is curved but ‖w‖².
HINGES = tuple(name for name in MACHINES if name.startswith(("hard", "csvm", "nusvm", "hinge")))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_is_optimal_by_the_textbook(case: Case) -> None:
    result = solve_case(case)
    cell = case.cell
    assert result.status == "optimal", f"gap {result.gap:.2g}: {result.solver}"
    assert (result.backend, result.form) == (case.backend, case.form)
    point = cell.build_point(result)
    the_point_is_feasible(cell, result, point)
    the_gap_is_what_arithmetic_gives(cell, result, point)
    predictions_are_f(cell, result, point)
    agrees_with_the_reference_in_its_units(cell, result)
    if cell.variant in HINGES:
        kkt_conditions_hold(cell, result, point)
        kinds_are_what_samples_do(cell, result, point)


def the_point_is_feasible(cell: Cell, result: qpsvm.SVMResult, point: Point) -> None:
    """0 ≤ α ≤ C, the equalities of the dual, and w, b and coefficients that α stands for."""
    alpha = result.alpha
    total = float(alpha.sum())
    assert alpha.shape == point.upper.shape
    assert (alpha >= 0).all()
    assert (alpha <= point.upper * (1 + 4 * EPS)).all()
    assert total > 0
    for column, wanted in cell.equalities:
        assert abs(column @ alpha - wanted) <= 100 * EPS * max(float(np.abs(column) @ alpha), abs(wanted))

    beta = cell.machine.size * point.beta
    if cell.has_explicit_w:
        w = cell.X.T @ beta
        np.testing.assert_allclose(result.w, w, atol=TOL * np.abs(w).max())
    clipped = cell.kernel_case.psd == "clip"  # coefficients and b are those of K that give f of its positive part
    if cell.variant != "hard_margin" and not clipped:  # which has w(α)/δ
        np.testing.assert_allclose(result.coef, beta, atol=TOL * np.abs(beta).max())
    if cell.machine.intercept == "penalised" and not clipped:  # ½(b − 1ᵀβ)² is part of the gap
        most = np.sqrt(2 * result.gap * max(abs(result.primal), abs(result.dual)) / cell.machine.factor(cell.u))
        assert abs(result.b - beta.sum()) <= TOL * float(np.abs(point.f).max()) + 8 * EPS * total + most
    elif cell.machine.intercept is None:
        assert result.b == 0


def the_gap_is_what_arithmetic_gives(cell: Cell, result: qpsvm.SVMResult, point: Point) -> None:
    """Both values are the textbook's, and their difference the gap, which is a sum of every row's violations."""
    factor = cell.machine.factor(cell.u)
    primal, dual = factor * float(cell.machine.primal(point)), factor * float(cell.machine.dual(point))
    size = max(abs(primal), abs(dual))
    rounding = 8 * EPS * float((np.abs(point.K) @ np.abs(point.beta)).max())  # of u = Kβ
    slack = 1e-9 + rounding * float(factor * result.alpha.sum()) / size
    assert result.primal == pytest.approx(primal, abs=slack * size)
    assert result.dual == pytest.approx(dual, abs=slack * size)
    assert result.gap == pytest.approx((primal - dual) / size, abs=slack)
    assert 0 <= result.gap <= TOL
    assert (result.terms >= 0).all()
    share = max(abs(result.primal), abs(result.dual))
    assert result.terms.sum() <= (result.gap * (1 + 1e-9) + 1e-15) * share  # the terms are rounded


def predictions_are_f(cell: Cell, result: qpsvm.SVMResult, point: Point) -> None:
    """A user's f is the f of these numbers, at the samples of training."""
    own = cell.kernel_case.formula(cell.X).diagonal() if cell.variant == "svdd" else 0.0
    f = point.f - own
    if cell.kernel_case.psd == "shift":  # σβ_i has no counterpart outside the training samples
        assert "shift" in result.message
        stretched = float(np.abs(result.coef).sum() / np.abs(point.beta).sum())
        f = cell.kernel_case.formula(cell.X) @ (stretched * point.beta) + result.b - own
    np.testing.assert_allclose(cell.predict_decision(result), f, atol=1e-8 * np.abs(point.f).max())


def kkt_conditions_hold(cell: Cell, result: qpsvm.SVMResult, point: Point) -> None:
    """Complementary slackness sample by sample, and ξ."""
    alpha = result.alpha
    y = cell.samples.y
    slack = y * point.f - result.rho  # 0 on the margin
    step = slack / np.maximum(point.K.diagonal(), 1e-12 * point.K.diagonal().mean())
    residual = np.abs(alpha - np.clip(alpha - step, 0.0, point.upper))  # 0 where the sample's conditions hold
    size = float(np.abs(point.f).max())
    assert residual.max() <= TOL * max(alpha.max(), float(np.abs(step).max()))
    np.testing.assert_allclose(result.xi, np.maximum(-slack, 0.0), atol=TOL * size)
    np.testing.assert_allclose(result.yf, y * point.f, atol=1e-8 * size)
    assert result.b_interval[0] <= result.b <= result.b_interval[1]


def kinds_are_what_samples_do(cell: Cell, result: qpsvm.SVMResult, point: Point) -> None:
    """Classes of samples, and the table of conditions."""
    alpha, upper = result.alpha, point.upper
    slack = cell.samples.y * point.f - result.rho
    size = float(np.abs(point.f).max())

    inside = (alpha > 1e-6 * alpha.max()) & (alpha < upper - 1e-6 * alpha.max())
    assert set(np.flatnonzero(inside)) <= set(result.on_margin)
    assert np.abs(slack[result.on_margin]).max(initial=0.0) <= TOL * size
    assert slack[result.at_bound].max(initial=-np.inf) <= TOL * size
    np.testing.assert_array_equal(np.sort(np.concatenate([result.on_margin, result.at_bound])), result.support)
    others = np.setdiff1d(np.flatnonzero(cell.s > 0), result.support)
    assert slack[others].min(initial=np.inf) >= -TOL * size

    table = result.kkt
    np.testing.assert_array_equal(table["alpha"], alpha)
    np.testing.assert_allclose(table["alpha"] + table["eta"], upper, rtol=1e-12)
    assert table["residual"].sum() <= result.gap * (1 + 1e-9) + 1e-15
    kinds = {"non-support": 0, "margin": 1, "violator": 2}
    np.testing.assert_array_equal([kinds[kind] for kind in table["kind"]], result.kind)


def agrees_with_the_reference_in_its_units(cell: Cell, result: qpsvm.SVMResult) -> None:
    """Values to 1e-6 of cvxopt on the dual at scale 1; w, f, b, ρ, ε and R as well as values to 1e-6 determine them."""
    expected = find_reference(cell)
    assert expected.status == "optimal"
    value, f_unit = cell.compute_unit("value"), cell.compute_unit("f")
    for name in ("primal", "dual"):
        assert getattr(result, name) / value == pytest.approx(getattr(expected, name), rel=TOL), name

    at_1 = Cell(cell.variant, cell.kernel, 1.0)
    size = float(np.abs(at_1.predict_decision(expected)).max())
    near = TOL if cell.variant in HINGES else 1e-3
    if cell.has_explicit_w:
        atol = min(near, 3e-4) * np.abs(expected.w).max()
        np.testing.assert_allclose(result.w / cell.compute_unit("w"), expected.w, atol=atol)
    if np.ptp(expected.b_interval) <= TOL * size:
        assert abs(result.b / f_unit - expected.b) <= near * size
    for name, least in expected.extras.items():
        unit = np.sqrt(f_unit) if name == "radius" else f_unit
        assert result.extras[name] / unit == pytest.approx(least, rel=1e-3, abs=1e-6)
    if cell.variant in HINGES:
        intervals_and_multipliers_agree(cell, result, expected, size)


def intervals_and_multipliers_agree(
    cell: Cell, result: qpsvm.SVMResult, expected: qpsvm.SVMResult, size: float
) -> None:
    """Every b that is as good, f, ρ, and α where it is unique."""
    f_unit = cell.compute_unit("f")
    y = cell.samples.y
    f = result.yf * y / f_unit
    f0 = expected.yf * y
    ends = np.array(result.b_interval) / f_unit
    ends0 = np.array(expected.b_interval)
    if np.ptp(ends0) <= TOL * size:
        assert np.ptp(ends) <= 2 * TOL * size
        np.testing.assert_allclose(f, f0, atol=TOL * size)
    else:
        np.testing.assert_array_equal(np.isinf(ends), np.isinf(ends0))
        finite = np.isfinite(ends0)
        np.testing.assert_allclose(ends[finite], ends0[finite], atol=TOL * size)
        np.testing.assert_allclose(f - result.b / f_unit, f0 - expected.b, atol=TOL * size)
    assert result.rho / (f_unit if cell.machine.nu else 1.0) == pytest.approx(expected.rho, abs=TOL * size)
    if alpha_is_unique(cell, expected):
        np.testing.assert_allclose(
            result.alpha / cell.compute_unit("alpha"), expected.alpha, atol=TOL * expected.alpha.max()
        )


def alpha_is_unique(cell: Cell, expected: qpsvm.SVMResult) -> bool:
    """Whether the bordered matrix of (POL.1) is nonsingular for the margin of the reference."""
    y = cell.samples.y
    free = expected.on_margin
    Q = (Cell(cell.variant, cell.kernel, 1.0).compute_gram() * np.outer(y, y))[np.ix_(free, free)]
    if cell.machine.nu:
        border = np.column_stack([y > 0, y < 0]).astype(float)
    else:
        if cell.machine.intercept == "free":
            border = y[:, None]
        else:
            border = np.zeros((len(y), 0))
    E = border[free]
    k, m = E.shape
    if k == 0:
        return m == 0
    d = 1.0 / np.sqrt(np.maximum(Q.diagonal(), np.finfo(float).tiny))
    B = d[:, None] * E
    B = B / np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
    bordered = np.block([[Q * d * d[:, None], B], [B.T, np.zeros((m, m))]])
    return bool(np.linalg.matrix_rank(bordered, hermitian=True) == k + m)


def test_alpha_is_compared_in_most_cells():
    """The comparison of α is not empty."""
    cells = {case.cell for case in CASES if case.cell.variant in HINGES}
    assert sum(alpha_is_unique(cell, find_reference(cell)) for cell in cells) >= 0.5 * len(cells)


def test_some_intercepts_are_intervals():
    """The table holds problems whose b is a point, an interval, and a half-line."""
    width = lambda variant: np.ptp(find_reference(Cell(variant, "rbf", 1.0)).b_interval)  # noqa: E731
    assert np.isinf(width("nusvm_largest"))
    assert 0.01 < width("csvm_all_bounded") < np.inf
    assert width("csvm") <= 1e-9
