"""Every machine of `machines`: the textbook's values, box and equalities at the answer, in its units, on every backend.

Nothing here trusts the library's own measures: both objectives are computed again from α, w, b, ε, ρ and R. Every row's
optimality conditions are in the gap, which is a sum of their violations.
"""

from __future__ import annotations

import inspect

import matrix
import numpy as np
import pytest
from machines import CASES, MACHINES, Case, Cell, reference_of, solved

import qpsvm
from qpsvm.machines import registry

TOL = 1e-6
EPS = np.finfo(float).eps


def test_every_machine_is_in_a_table():
    tables = {type(Cell(machine, "linear", 1.0).problem()) for machine in MACHINES}
    tables |= {type(matrix.Cell(variant, "linear", 1.0).problem()) for variant in matrix.VARIANTS}
    named = [getattr(qpsvm, name) for name in qpsvm.__all__]
    public = {kind for kind in named if isinstance(kind, type) and issubclass(kind, qpsvm.Problem)}
    assert public - {qpsvm.Problem} == tables


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_is_optimal_by_the_textbook(case: Case) -> None:
    result, cell = solved(case), case.cell
    assert result.status == "optimal", f"gap {result.gap:.2g}: {result.solver}"
    assert (result.backend, result.form) == (case.backend, case.form)
    point, v = cell.point(result), cell.v

    # Feasible, and f is the one that α stands for.
    upper = v.upper(cell.samples, cell.s, cell.u)
    assert result.alpha.shape == upper.shape
    assert (result.alpha >= 0).all()
    assert (result.alpha <= upper * (1 + 4 * EPS)).all()
    for column, total in v.sums(cell.samples, cell.s, cell.u):
        size = max(float(np.abs(column) @ result.alpha), abs(total))
        assert abs(column @ result.alpha - total) <= 100 * EPS * size
    if cell.explicit:
        w = v.size * cell.X.T @ point.beta
        np.testing.assert_allclose(result.w, w, atol=TOL * np.abs(w).max())
    np.testing.assert_allclose(result.coef, v.size * point.beta, atol=TOL * np.abs(result.coef).max())

    # The values are those of the textbook, and their difference is the gap.
    primal, dual = float(v.primal(point)), float(v.dual(point))
    size = max(abs(primal), abs(dual))
    lost = 64 * EPS * float((np.abs(point.K) @ np.abs(point.beta)).max()) * float(result.alpha.sum()) / size + 1e-9
    assert result.primal == pytest.approx(primal, abs=lost * size)
    assert result.dual == pytest.approx(dual, abs=lost * size)
    assert -lost <= (primal - dual) / size <= result.gap + lost
    assert (result.terms >= 0).all()

    # A user's f is the f of these numbers.
    shown = point.f - (point.K.diagonal() if cell.machine == "svdd" else 0.0)
    np.testing.assert_allclose(f_of(cell, result, cell.X), shown, atol=1e-8 * np.abs(point.f).max())
    agrees_with_the_reference_in_its_units(cell, result)


def f_of(cell: Cell, result: qpsvm.SVMResult, X: np.ndarray) -> np.ndarray:
    """What a user gets, who knows K(x, x) where a matrix does not say it."""
    unsaid = (cell.machine, cell.kernel) == ("svdd", "precomputed")
    return result.decision_function(cell.k.samples(X), diagonal=cell.k.formula(X).diagonal() if unsaid else None)


def agrees_with_the_reference_in_its_units(cell: Cell, result: qpsvm.SVMResult) -> None:
    expected = reference_of(cell)
    value, f_unit, w_unit = (cell.units(name) for name in ("value", "f", "w"))
    for name in ("primal", "dual"):
        assert getattr(result, name) / value == pytest.approx(getattr(expected, name), rel=TOL), name
    size = float(np.abs(f_of(cell, expected, cell.samples.X)).max())
    if cell.explicit:
        np.testing.assert_allclose(result.w / w_unit, expected.w, atol=3e-4 * np.abs(expected.w).max())
    if np.ptp(expected.b_interval) <= TOL * size:
        assert abs(result.b / f_unit - expected.b) <= 1e-3 * size
    for name, least in expected.extras.items():
        unit = np.sqrt(f_unit) if name == "radius" else f_unit
        assert result.extras[name] / unit == pytest.approx(least, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_qp_of_the_textbook_has_the_value_and_the_signs_of_qp_1(machine: str, form: str) -> None:
    """The unscaled QP, solved as it stands: `dual_residual` counts multipliers of the wrong sign."""
    cell = Cell(machine, "linear", 1.0)
    qp, expected = cell.problem().qp(form), reference_of(cell)
    answer = qpsvm.compile(qp, "cvxopt").solve(tol=1e-9)
    forces = max(float(np.abs(qp.q).max()), float(np.abs(answer.z_box).max(initial=0.0)), 1.0)
    assert answer.primal_residual() <= TOL * max(1.0, float(np.abs(answer.x).max()))
    assert answer.dual_residual() <= TOL * forces
    value = -expected.dual if form == "dual" else expected.primal
    assert answer.objective == pytest.approx(value, rel=1e-5)


def test_defaults_are_those_of_the_constructor_whatever_its_signature_says(monkeypatch):
    """Documentation tools replace signatures by what is to be printed."""
    monkeypatch.setattr(qpsvm.CSVM.__init__, "__signature__", inspect.Signature(), raising=False)
    assert registry._defaults.__wrapped__(qpsvm.CSVM)["C"] == 1.0
