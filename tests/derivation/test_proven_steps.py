"""The column "proven": bounds of the equations at the very numbers of a result, judged in rational numbers."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import qpsvm
from qpsvm.base.arrays.formatting import format_lower_bound, format_upper_bound
from qpsvm.bounds.proof import prove as proving
from qpsvm.faces.cli import main

C = 2.0
#: Steps of which every machine's proof knows something.
ALWAYS = {
    "Primal",
    "Stationarity in w",
    "Dual feasibility",
    "Complementary slackness",
    "Strong duality",
    "Weak duality",
}


def samples(n=30):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 3)) + 2.0
    t = X[:, 0] + 0.4 * rng.standard_normal(n)
    return X, (t > 2.0).astype(int), t


def machines():
    X, y, t = samples()
    return [
        qpsvm.CSVM(X, y, C=C), qpsvm.CSVM(X, y, intercept=None), qpsvm.NuSVM(X, y, nu=0.3),
        qpsvm.HardMargin(X, (X[:, 0] > 2.0).astype(int)), qpsvm.PrimalHinge(X, y, intercept="penalised"),
        qpsvm.SquaredHinge(X, y), qpsvm.HuberHinge(X, y), qpsvm.EpsilonSVR(X, t), qpsvm.NuSVR(X, t),
        qpsvm.QuantileSVR(X, t), qpsvm.OneClass(X + 3.0, kernel="linear", nu=0.3),
        qpsvm.SVDD(X, nu=0.3), qpsvm.Ranking(X, t),
        qpsvm.CSVM(X, y, constraints=[qpsvm.Constraints(np.ones((1, 3)), 1.0)]),
        qpsvm.CSVM(X, y, intercept="penalised", constraints=[qpsvm.Constraints(np.ones((1, 3)), 1.0)]),
        qpsvm.CSVM(X, y, kernel=qpsvm.RBF(0.5)), qpsvm.CrammerSinger(X, np.arange(30) % 3),
    ]  # fmt: skip


def fractions(values):
    return [Fraction(v) for v in np.asarray(values, dtype=float).tolist()]


def violations(problem, result, proof):
    """‖w − w(α)‖²/‖w‖², the sum of all products, P and D of a C-SVM, at the α of the proof: rational numbers."""
    X, sign = [fractions(row) for row in problem.X], [int(label) for label in problem.y]
    point = proof.record["point"]
    alpha = [point[k] for k in range(len(sign))]
    w = fractions(result.w)
    b = Fraction(float(result.b))
    own = [sum(a * s * x[j] for a, s, x in zip(alpha, sign, X, strict=True)) for j in range(len(w))]
    short = [1 - s * (sum(p * q for p, q in zip(w, x, strict=True)) + b) for s, x in zip(sign, X, strict=True)]
    products = sum(a * max(-t, 0) + (Fraction(C) - a) * max(t, 0) for a, t in zip(alpha, short, strict=True))
    square = sum(v * v for v in w)
    primal = square / 2 + Fraction(C) * sum(max(t, 0) for t in short)
    dual = sum(alpha) - sum(v * v for v in own) / 2
    return sum((p - q) ** 2 for p, q in zip(w, own, strict=True)) / square, products, primal, dual


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("off", [0.0, 1e-9, 0.1])
def test_what_is_proven_is_true(monkeypatch, exactly, off):
    if not exactly:
        monkeypatch.setattr(proving, "MAX_PRODUCTS_AT_FIRST", 0.0)
        monkeypatch.setattr(proving, "MAX_PRODUCTS", 0.0)
    X, y, _ = samples()
    problem = qpsvm.CSVM(X, y, C=C)
    result = qpsvm.solve(problem)
    result = replace(result, model=replace(result.model, w=result.w * (1.0 + off) + off))
    derivation = qpsvm.derive(problem, result, proven=True)
    assert derivation.proof.exactly is exactly
    apart, products, primal, dual = violations(problem, result, derivation.proof)
    size = max(abs(primal), abs(dual))
    proven = derivation.proven()
    assert apart <= Fraction(proven["CSVM.4"]) ** 2
    assert proven["CSVM.4"] == proven["CSVM.15"] <= 2.0 * math.sqrt(apart) + 1e-11
    assert products / size <= proven["CSVM.8"]
    assert (primal - dual) / size <= proven["CSVM.14"]
    assert abs(Fraction(result.primal) - primal) / size <= proven["CSVM.2"]
    assert proven["CSVM.5"] == proven["CSVM.7"] == proven["CSVM.16"] == 0.0


@pytest.mark.parametrize("problem", machines(), ids=lambda problem: problem.title)
def test_every_machine_has_the_column(problem):
    result = qpsvm.solve(problem, check=False)
    derivation = qpsvm.derive(problem, result, proven=True)
    proven = derivation.proven()
    known = {step.title for step in derivation if not math.isnan(proven[step.tag])}
    shown = ALWAYS & {step.title for step in derivation}
    assert known >= (shown - {"Stationarity in w"} if isinstance(problem, qpsvm.CrammerSinger) else shown)
    assert "Substitution" not in known
    assert set(proven) == set(derivation.residuals())
    assert max(bound for bound in proven.values() if not math.isnan(bound)) < 1e-10
    if problem.intercept == "penalised":
        assert proven["OWN.6" if problem.constraints else "PHINGE.5"] < 1e-14
        if not problem.constraints:
            balance = sum(Fraction(s) * Fraction(a) for s, a in zip(problem.svm.sign, result.alpha, strict=True))
            apart = abs(Fraction(result.b) - balance) / (1 + abs(Fraction(result.b)))
            assert apart <= proven["PHINGE.5"] <= apart * (1 + Fraction(1, 2**50))
        else:
            assert proven["OWN.6"] > 0.0


def test_the_column_is_printed_and_shown_and_data():
    X, y, _ = samples()
    problem = qpsvm.CSVM(X, y, C=C)
    result = qpsvm.solve(problem)
    without = qpsvm.derive(problem, result)
    derivation = qpsvm.derive(problem, result, proven=True)
    text = derivation.to_text(verbose=True)
    page = derivation._repr_html_()
    assert max(len(line) for line in text.splitlines()) <= 100
    column = re.findall(r"residual \S+ +(proven .*)$", text, re.MULTILINE)
    assert len(column) == 18
    assert column.count("proven 0") == 3
    assert column.count("proven -") == 10
    assert len({len(line) for line in text.splitlines() if re.search(r" proven (≤|0|-)", line)}) == 1  # a column
    assert "Proven: ‖w − w(α)‖ ≤" in text
    assert "proven: α keeps its box and yᵀα = 0 exactly" in " ".join(text.split())
    assert page.count('class="proven bounded"') == 8
    assert "proven" not in str(without)
    assert 'class="proven' not in without._repr_html_()
    assert without.proven() == {}
    assert "proven" not in without.sides()["CSVM.4"]
    sides = json.loads(json.dumps(derivation.sides(), allow_nan=False))
    assert sides["CSVM.5"]["proven"] == 0.0
    assert sides["CSVM.9"]["proven"] is None


def test_what_is_not_known_of_a_kernel_is_said():
    """A matrix that rounding made indefinite: weak duality holds but for that, or is assumed."""
    X, y, _ = samples()
    problem = qpsvm.CSVM(X @ X.T - 1e-13 * np.eye(30), y, kernel="precomputed")
    derivation = qpsvm.derive(problem, qpsvm.solve(problem), proven=True)
    assert 0.0 < derivation.proven()["CSVM.16"] < 1e-9
    assert derivation.proof.gap >= derivation.proven()["CSVM.16"]
    assert math.isnan(derivation.proven()["CSVM.4"])
    assert "no other α has a dual objective more than" in " ".join(str(derivation).split())


def test_a_proof_is_of_a_result():
    X, y, _ = samples()
    problem = qpsvm.CSVM(X, y, C=C)
    for arguments in ({}, {"alpha": np.zeros(30)}):
        with pytest.raises(qpsvm.ParameterTypeError, match=r"problem\.at\("):
            qpsvm.derive(problem, **arguments, proven=True)
    derivation = qpsvm.derive(problem, problem.at(np.full(30, 0.1)), proven=True)
    assert derivation.proven()["CSVM.14"] > 0.1
    assert derivation.proven()["CSVM.5"] == 0.0


def test_from_the_command_line(capsys, tmp_path):
    X, y, _ = samples()
    table = tmp_path / "table.csv"
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    assert main(["derive", "c", "--data", str(table), "--target", "y", "--proven"]) == 0
    column = re.findall(r"residual \S+ +proven (≤ \d\.\de-\d\d|0|-)$", capsys.readouterr().out, re.MULTILINE)
    assert len(column) == 18


@pytest.mark.parametrize("value", [1.0001e-7, 0.1, 1.0 / 3.0, 1e-16, 1234.5, 9.999e22, 1.7e308])
def test_a_bound_that_is_printed_is_a_bound(value):
    for digits in (2, 3):
        assert (
            Decimal(format_lower_bound(value, digits)) <= Decimal(value) <= Decimal(format_upper_bound(value, digits))
        )
    assert format_upper_bound(0.0) == format_lower_bound(0.0) == "0"
    assert format_upper_bound(math.inf) == "inf"
