"""Pairs of variant, kernel, form and backend at three scales: optimality conditions, signs, certificate, agreement.

Nothing here trusts the library's own measures: u = K(α∘y), the values of both problems and the conditions are computed
again from X, y, α and b. The table is `matrix.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from matrix import CASES, CELLS, CENTRED, RAW_UNSOLVED, UNSOLVED, Case, Cell, reference_of, solved

import qpsvm

TOL = 1e-6
EPS = np.finfo(float).eps
AT_SCALE_1 = [cell for cell in CELLS if cell.scale == 1.0]


@dataclass(frozen=True, eq=False)
class Measured:
    """What plain NumPy finds at an answer (α, w, b, ρ): K and all rows as the dual sees them, weight 0 included.

    `f` is what the margin conditions hold for; `rounding` bounds the error of u = K(α∘y).
    """

    K: np.ndarray
    f: np.ndarray
    primal: float
    dual: float
    gap: float
    rounding: float


def gram(cell: Cell) -> np.ndarray:
    """K (n, n) as the dual has it: after the psd rule, with the penalised intercept's 1."""
    K = cell.k.treatment(cell.k.formula(cell.X))
    return K + 1.0 if cell.v.intercept == "penalised" else K


def measure(cell: Cell, result: qpsvm.SVMResult) -> Measured:
    """Primal and dual value and their difference, from the formulas of the textbook."""
    K = gram(cell)
    beta = result.alpha * cell.samples.y
    u = K @ beta
    rounding = 8 * EPS * float((np.abs(K) @ np.abs(beta)).max())
    if cell.explicit:
        f = cell.X @ result.w + result.b
        norm = float(result.w @ result.w) + (result.b**2 if cell.v.intercept == "penalised" else 0.0)
    else:
        stretch = 1.0
        if cell.variant == "hard_margin":  # its primal point is w(α)/δ, not w(α)
            stretch = float(np.ptp(result.yf * cell.samples.y) / np.ptp(u))
        f = stretch * u + (0.0 if cell.v.intercept == "penalised" else result.b)
        norm = stretch**2 * float(beta @ u)
    xi = np.maximum(result.rho - cell.samples.y * f, 0.0)
    if cell.variant == "hard_margin":
        assert xi.max() <= 1e-9, "the primal point of a hard margin is feasible"
        loss = 0.0
    else:
        loss = float(cell.upper @ xi)
    factor = cell.v.factor(cell.u)
    nu = cell.v.nu
    primal = factor * (0.5 * norm - nu * (result.rho if nu else 0.0) + loss)
    dual = factor * ((0.0 if nu else float(result.alpha.sum())) - 0.5 * float(beta @ u))
    return Measured(K, f, primal, dual, (primal - dual) / max(abs(primal), abs(dual)), rounding)


def close(actual: np.ndarray | float, expected: np.ndarray | float, size: float) -> bool:
    return bool(np.max(np.abs(np.asarray(actual) - np.asarray(expected)), initial=0.0) <= TOL * size)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_case_is_optimal_or_listed_and_what_it_says_is_so(case):
    """One solve, and all that is asked of it: of what is not optimal, the certificate only."""
    result = solved(case)
    if str(case) in UNSOLVED:
        assert result.status != "optimal", "it passes now: take it out of UNSOLVED"
        assert result.solver.status == UNSOLVED[str(case)]
    else:
        assert result.status == "optimal", f"gap {result.gap:.2g}: {result.solver}"
    the_certificate_is_what_arithmetic_gives(case, result)
    if result.status == "optimal":
        kkt_conditions_hold(case, result)
        fields_agree_with_each_other(case, result)
        agrees_with_the_reference_in_its_units(case, result)


def test_the_list_names_cases_and_spares_the_interior_point_solvers():
    assert set(UNSOLVED) <= {str(case) for case in CASES}
    assert not [name for name in UNSOLVED if name.endswith(("-cvxopt", "-cvxpy"))]


def the_certificate_is_what_arithmetic_gives(case: Case, result: qpsvm.SVMResult) -> None:
    """Whatever the status: values and gap are those of the point, and optimal means a gap within the tolerance."""
    assert np.isfinite(result.gap)
    again = measure(case.cell, result)
    size = max(abs(again.primal), abs(again.dual))
    slack = 1e-9 + again.rounding * float(case.cell.v.factor(case.cell.u) * result.alpha.sum()) / size
    assert result.primal == pytest.approx(again.primal, abs=slack * size)
    assert result.dual == pytest.approx(again.dual, abs=slack * size)
    assert result.gap == pytest.approx(again.gap, abs=slack)
    assert result.gap >= 0
    assert (result.status == "optimal") == (result.gap <= TOL)
    share = max(abs(result.primal), abs(result.dual))
    assert (result.terms >= 0).all()
    assert result.terms.sum() <= (result.gap * (1 + 1e-9) + 1e-15) * share  # the terms are rounded


def kkt_conditions_hold(case: Case, result: qpsvm.SVMResult) -> None:
    """0 ≤ α ≤ C, yᵀα = 0, 1ᵀα = ν, w = Σ α_i y_i x_i, and complementary slackness sample by sample."""
    cell, y = case.cell, case.cell.samples.y
    alpha, upper, total = result.alpha, cell.upper, float(result.alpha.sum())
    again = measure(cell, result)

    assert total > 0
    assert (alpha >= 0).all()
    assert (alpha <= upper * (1 + 4 * EPS)).all()
    if cell.v.intercept == "free":
        assert abs(y @ alpha) <= 100 * EPS * total
    if cell.v.nu:
        assert total == pytest.approx(cell.v.nu, rel=1e-12)

    size = float(np.abs(again.f).max())
    if cell.explicit:
        w = cell.X.T @ (alpha * y)
        assert close(result.w, w, np.abs(w).max())
    if cell.v.intercept == "penalised":
        # ½λ(b − yᵀα)² is part of the gap
        most = np.sqrt(2 * result.gap * max(abs(result.primal), abs(result.dual)) / cell.v.factor(cell.u))
        assert abs(result.b - alpha @ y) <= TOL * size + 8 * EPS * total + most
    elif cell.v.intercept is None:
        assert result.b == 0

    slack = y * again.f - result.rho  # 0 on the margin
    step = slack / np.maximum(again.K.diagonal(), 1e-12 * again.K.diagonal().mean())
    residual = np.abs(alpha - np.clip(alpha - step, 0.0, upper))  # 0 where the sample's conditions hold
    assert residual.max() <= TOL * max(alpha.max(), float(np.abs(step).max()))
    np.testing.assert_allclose(result.xi, np.maximum(-slack, 0.0), atol=TOL * size)


def fields_agree_with_each_other(case: Case, result: qpsvm.SVMResult) -> None:
    """Classes, table, f on the training samples, and what the result was made by."""
    cell, y = case.cell, case.cell.samples.y
    again = measure(cell, result)
    size = float(np.abs(again.f).max())
    alpha, upper = result.alpha, cell.upper
    slack = y * again.f - result.rho

    inside = (alpha > 1e-6 * alpha.max()) & (alpha < upper - 1e-6 * alpha.max())
    assert set(np.flatnonzero(inside)) <= set(result.on_margin)
    assert np.abs(slack[result.on_margin]).max(initial=0.0) <= TOL * size
    assert slack[result.at_bound].max(initial=-np.inf) <= TOL * size
    np.testing.assert_array_equal(np.sort(np.concatenate([result.on_margin, result.at_bound])), result.support)
    active = cell.problem().sample_weight > 0
    assert slack[np.setdiff1d(np.flatnonzero(active), result.support)].min(initial=np.inf) >= -TOL * size

    table = result.kkt
    np.testing.assert_array_equal(table["alpha"], alpha)
    np.testing.assert_allclose(table["alpha"] + table["eta"], upper, rtol=1e-12)
    assert table["residual"].sum() <= result.gap * (1 + 1e-9) + 1e-15
    kinds = {"peripheral": 0, "margin": 1, "violator": 2}
    np.testing.assert_array_equal([kinds[kind] for kind in table["kind"]], result.kind)

    if cell.kernel != "sigmoid-shift":  # σα_iy_i has no counterpart outside the training samples
        predicted = result.decision_function(cell.given)
        np.testing.assert_allclose(predicted, again.f, atol=1e-8 * size)
    np.testing.assert_allclose(result.yf, y * again.f, atol=1e-8 * size)
    assert result.b_interval[0] <= result.b <= result.b_interval[1]
    assert (result.backend, result.form) == (case.backend, case.form)


def agrees_with_the_reference_in_its_units(case: Case, result: qpsvm.SVMResult) -> None:
    """Objective, w, f and b to 1e-6 of cvxopt on the dual at scale 1; α where it is unique."""
    cell, expected = case.cell, reference_of(case.cell)
    assert expected.status == "optimal"
    y = cell.samples.y
    value, f_unit, a_unit = (cell.units(name) for name in ("value", "f", "alpha"))

    for name in ("primal", "dual"):
        assert getattr(result, name) / value == pytest.approx(getattr(expected, name), rel=TOL), name
    if cell.explicit:
        assert close(result.w / cell.units("w"), expected.w, np.abs(expected.w).max())

    f, f0 = result.yf * y / f_unit, expected.yf * y
    size = float(np.abs(f0).max())
    ends, ends0 = np.array(result.b_interval) / f_unit, np.array(expected.b_interval)
    if ends0[1] - ends0[0] <= TOL * size:
        assert ends[1] - ends[0] <= 2 * TOL * size
        assert close(result.b / f_unit, expected.b, size)
        assert close(f, f0, size)
    else:
        np.testing.assert_array_equal(np.isinf(ends), np.isinf(ends0))
        finite = np.isfinite(ends0)
        assert close(ends[finite], ends0[finite], size)
        assert close(f - result.b / f_unit, f0 - expected.b, size)
    if cell.v.nu:
        assert close(result.rho / f_unit, expected.rho, size)
    else:
        assert result.rho == 1.0

    if alpha_is_unique(cell, expected):
        assert close(result.alpha / a_unit, expected.alpha, expected.alpha.max())


def bordered_rank(Q: np.ndarray, E: np.ndarray) -> bool:
    """Whether the bordered matrix of (POL.1) is nonsingular, so that α on the margin is unique."""
    k, m = E.shape
    d = 1.0 / np.sqrt(np.maximum(Q.diagonal(), np.finfo(float).tiny))
    B = d[:, None] * E
    B = B / np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
    bordered = np.block([[Q * d * d[:, None], B], [B.T, np.zeros((m, m))]]) if k else np.zeros((m, m))
    return bool(k == 0 or np.linalg.matrix_rank(bordered, hermitian=True) == k + m)


def alpha_is_unique(cell: Cell, expected: qpsvm.SVMResult) -> bool:
    """Whether the bordered margin block of the reference is nonsingular."""
    at_1 = Cell(cell.variant, cell.kernel, 1.0)
    y, free = at_1.samples.y, expected.on_margin
    Q = (gram(at_1) * np.outer(y, y))[np.ix_(free, free)]
    if cell.v.nu:
        border = np.column_stack([y > 0, y < 0]).astype(float)
    else:
        border = y[:, None] if cell.v.intercept == "free" else np.zeros((len(y), 0))
    return bordered_rank(Q, border[free])


def test_alpha_is_compared_in_most_cells():
    """The comparison of α is not empty: it happens in most cells of every variant but those made to have no margin."""
    unique = {cell: alpha_is_unique(cell, reference_of(cell)) for cell in AT_SCALE_1}
    assert sum(unique.values()) >= 0.5 * len(unique)


def test_some_intercepts_are_intervals():
    """The matrix holds problems whose b is a point, an interval, and a half-line."""
    widths = {cell: np.ptp(reference_of(cell).b_interval) for cell in AT_SCALE_1}
    assert np.isinf(widths[Cell("nusvm_largest", "rbf", 1.0)])
    assert 0.01 < widths[Cell("csvm_all_bounded", "rbf", 1.0)] < np.inf
    assert widths[Cell("csvm", "rbf", 1.0)] <= 1e-9


@pytest.mark.parametrize("case", [case for case in CASES if case.cell.scale == 1.0], ids=str)
def test_raw_multipliers_have_the_signs_of_qp_1(case):
    """The unpolished solution of the textbook QP: Px + q + Gᵀz + Aᵀy + z_box = 0 with the signs that go with it.

    What counts is the point, not the solver's word: cvxopt calls points `unknown` that are right to 1e-9.
    """
    cell, form, name = case.cell, case.form, str(case)
    qp = cell.problem().qp(form)
    answer = qpsvm.compile(qp, case.backend).solve(tol=1e-8)
    if name in RAW_UNSOLVED:
        assert answer.solver.status.startswith(RAW_UNSOLVED[name])
        assert answer.reported != "optimal", "it passes now: take it out of RAW_UNSOLVED"
        return
    assert answer.reported in ("optimal", "numerical_error")
    lb, ub = qp.bounds
    x, y, z, z_box = answer.x, answer.y, answer.z, answer.z_box
    P = qp.P.dense()
    parts = [P @ x, qp.q, z_box]
    if qp.G is not None:
        parts.append(qp.G.T @ z)
    if qp.A is not None:
        parts.append(qp.A.T @ y)
    forces = max(float(np.abs(part).max()) for part in parts)
    reach = max(1.0, float(np.abs(x).max()))

    assert np.abs(sum(parts)).max() <= TOL * forces
    assert (z >= -TOL * forces).all()
    middle = (x - lb > 1e-3 * reach) & (ub - x > 1e-3 * reach)
    assert np.abs(z_box[middle]).max(initial=0.0) <= 1e-4 * forces
    assert (z_box[np.isinf(ub)] <= TOL * forces).all()
    assert (z_box[np.isinf(lb)] >= -TOL * forces).all()

    assert answer.primal_residual() <= TOL * reach
    assert answer.dual_residual() <= TOL * forces
    assert answer.duality_gap() <= TOL * max(abs(answer.objective), qp.n * forces * reach * 1e-2)
    assert answer.complementarity() <= TOL * forces * reach

    # With any one sign turned round, stationarity fails visibly: the multipliers say something.
    for turned in parts[2:]:
        if np.abs(turned).max() > 0.01 * forces:
            assert np.abs(sum(parts) - 2 * turned).max() > 1e-3 * forces
    multipliers_mean_what_the_derivation_says(cell, form, qp, answer)

    # Both forms have the value of the reference: min ½αᵀQα − 1ᵀα is minus the dual's maximum.
    expected = reference_of(cell)
    value = -expected.dual if form == "dual" else expected.primal
    assert answer.objective == pytest.approx(value, rel=1e-4)


def multipliers_mean_what_the_derivation_says(cell: Cell, form: str, qp: qpsvm.QP, answer: qpsvm.QPSolution) -> None:
    """The multiplier of yᵀα = 0 is b, that of −1ᵀα = −ν is ρ; those of the primal's margin rows are α.

    (Where the dual has HKH in place of K, Kβ is lower by its mean, and b is higher by that.)
    """
    expected = reference_of(cell)
    rows = np.flatnonzero(cell.problem().sample_weight > 0)
    scale = float(np.abs(expected.yf).max())
    point_b = np.ptp(expected.b_interval) <= 1e-9 * scale
    factor = cell.v.factor(cell.u)
    if form == "dual":
        if "balance" in qp.constraints and point_b:
            balance = qp.multiplier("balance", answer.z, answer.y) / factor
            u = cell.k.formula(cell.X) @ (expected.alpha * cell.samples.y)
            b = expected.b + (u.mean() if cell.kernel in CENTRED else 0.0)
            assert balance == pytest.approx(b, abs=1e-4 * scale)
        if "nu" in qp.constraints and point_b:
            assert qp.multiplier("nu", answer.z, answer.y) == pytest.approx(expected.rho, abs=1e-4 * scale)
    elif alpha_is_unique(cell, expected):
        margin = qp.multiplier("margin", answer.z, answer.y) / factor
        assert np.abs(margin - expected.alpha[rows]).max() <= 0.05 * expected.alpha.max()


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.explicit], ids=str)
def test_the_lift_of_a_linear_dual_is_w(cell):
    """v = Zᵀα, unscaled and read as the problem reads it, is w = Σ α_i y_i x_i (of the rows it computes with)."""
    problem = cell.problem()
    scaled = problem.solver_qp("dual")
    compiled = qpsvm.compile(scaled.qp, "osqp")
    assert compiled.lifted
    answer = scaled.unscale(compiled.solve(tol=1e-8))
    factor = scaled.original.P.factor()[0]
    assert close(answer.v, factor.T @ answer.x, 1e2 * np.abs(answer.v).max())
    alpha, w = problem.read(answer, "dual")
    expected = problem.space.rows.weights(alpha * problem.labels)
    assert close(w, expected, 1e2 * np.abs(expected).max())
