"""The QP of the textbook, as every machine makes it: valid as it stands, and its multipliers say what they should."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
from each import for_each
from machines import MACHINES
from matrix import ALL_KERNELS, BACKENDS, CELLS, FORMS, GENERAL, Cell, find_reference, is_allowed
from test_matrix import HINGES, TOL, alpha_is_unique

import qpsvm
from qpsvm.machines import registry

#: Kernels that are positive semidefinite on yᵀα = 0 only: their dual is made with HKH, H = I − 11ᵀ/n, in place of K.
CENTRED = ("affine", "sigmoid-shift")


def test_every_machine_is_in_the_table():
    table = {type(Cell(variant, "linear", 1.0).build_problem()) for variant in MACHINES}
    named = [getattr(qpsvm, name) for name in qpsvm.__all__]
    public = {kind for kind in named if isinstance(kind, type) and issubclass(kind, qpsvm.Problem)}
    assert public - {qpsvm.Problem, qpsvm.CrammerSinger, qpsvm.WestonWatkins} == table


def raw_cases(variant: str) -> list[tuple[Cell, str, str]]:
    """Each kernel in both forms; backends take turns, and each machine begins with another.

    The library's own interior point method ends by the gap, and where a loss is curved, a gap of 1e-8 leaves α, and the
    signs, four digits.
    """
    cells = [Cell(variant, kernel, 1.0) for kernel in ALL_KERNELS if is_allowed(variant, kernel, "", "", 1.0)]
    backends = BACKENDS if variant in HINGES else GENERAL
    first = list(MACHINES).index(variant)
    return [
        (cell, form, backends[(first + turn) % len(backends)])
        for turn, (cell, form) in enumerate(itertools.product(cells, FORMS))
    ]


@pytest.mark.parametrize("variant", MACHINES)
def test_raw_multipliers_have_the_signs_of_qp_1(variant: str) -> None:
    """The unpolished solution of the textbook QP: Px + q + Gᵀz + Aᵀy + z_box = 0 with the signs that go with it.

    What counts is the point, not the solver's word: cvxopt calls points `unknown` that are right to 1e-9.
    """
    for cell, form, backend in raw_cases(variant):
        try:
            multipliers_have_the_signs_of_qp_1(cell, form, backend)
        except BaseException as error:
            error.add_note(f"for {cell}-{form}-{backend}")
            raise


def multipliers_have_the_signs_of_qp_1(cell: Cell, form: str, backend: str) -> None:
    problem = cell.build_problem()
    qp = problem.qp(form)
    answer = qpsvm.compile(qp, backend).solve(tol=1e-8)
    assert answer.reported in ("optimal", "numerical_error")
    lb, ub = qp.bounds
    x = answer.x
    y = answer.y
    z = answer.z
    z_box = answer.z_box
    parts = [qp.P.dense() @ x, qp.q, z_box]
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

    # Both forms have the value of the reference: min ½αᵀQα − 1ᵀα is minus the dual's maximum. Read, it is certified.
    expected = find_reference(cell)
    value = -expected.dual if form == "dual" else expected.primal
    assert answer.objective == pytest.approx(value, rel=1e-4)
    assert problem.interpret(answer, form=form).gap <= TOL
    if cell.variant in HINGES:
        multipliers_mean_what_the_derivation_says(cell, form, qp, answer)


def multipliers_mean_what_the_derivation_says(cell: Cell, form: str, qp: qpsvm.QP, answer: qpsvm.QPSolution) -> None:
    """The multiplier of yᵀα = 0 is b, that of −1ᵀα = −ν is ρ; those of the primal's margin rows are α.

    (Where the dual has HKH in place of K, Kβ is lower by its mean, and b is higher by that.)
    """
    expected = find_reference(cell)
    scale = float(np.abs(expected.yf).max())
    point_b = np.ptp(expected.b_interval) <= 1e-9 * scale
    factor = cell.machine.factor(cell.u)
    if form == "dual":
        if "balance" in qp.constraints and point_b:
            balance = qp.multiplier("balance", answer.z, answer.y) / factor
            u = cell.kernel_case.formula(cell.X) @ (expected.alpha * cell.samples.y)
            b = expected.b + (u[cell.s > 0].mean() if cell.kernel in CENTRED else 0.0)
            assert balance == pytest.approx(b, abs=1e-4 * scale)
        if "nu" in qp.constraints and point_b:
            assert qp.multiplier("nu", answer.z, answer.y) == pytest.approx(expected.rho, abs=1e-4 * scale)
    elif alpha_is_unique(cell, expected):
        margin = qp.multiplier("margin", answer.z, answer.y) / factor
        assert np.abs(margin - expected.alpha[cell.s > 0]).max() <= 0.05 * expected.alpha.max()


@for_each("cell", [cell for cell in CELLS if cell.has_explicit_w])
def test_the_lift_of_a_linear_dual_is_w(cell: Cell) -> None:
    """v = Zᵀα, unscaled and read as the problem reads it, is w = Σ α_i y_i x_i (of the rows it computes with)."""
    problem = cell.build_problem()
    scaled = problem.solver_qp("dual")
    compiled = qpsvm.compile(scaled.qp, "osqp")
    assert compiled.lifted
    answer = scaled.unscale(compiled.solve(tol=1e-8))
    factor = scaled.original.P.factor()[0]
    np.testing.assert_allclose(answer.v, factor.T @ answer.x, atol=1e2 * TOL * np.abs(answer.v).max())
    alpha, w = problem.read(answer, "dual")
    expected = problem.space.rows.weights(alpha * problem._active_target)
    np.testing.assert_allclose(w, expected, atol=1e2 * TOL * np.abs(expected).max())


def test_defaults_are_those_of_the_constructor_whatever_its_signature_says(monkeypatch):
    """Documentation tools replace signatures by what is to be printed."""
    monkeypatch.setattr(qpsvm.CSVM.__init__, "__signature__", inspect.Signature(), raising=False)
    assert registry._read_defaults.__wrapped__(qpsvm.CSVM)["C"] == 1.0
