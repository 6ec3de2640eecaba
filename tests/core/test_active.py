"""Compiled events and judged pieces of exact paths: against NumPy, and buffers that do not fit refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm import core
from qpsvm.many.exact import follow, piece_certifier

pytestmark = pytest.mark.skipif(core.compiled is None, reason="the compiled core is not there")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 3))
LABELS = (X[:, 0] + 0.5 * RNG.normal(size=70) > 0).astype(int)
TARGET = X[:, 0] ** 2 + 0.1 * RNG.normal(size=70)
RBF = qpsvm.RBF(0.4)
CASES = {
    "C": (qpsvm.CSVM(X, LABELS, kernel=RBF), "C", 0.05, 50.0),
    "C, weighted": (qpsvm.CSVM(X, LABELS, kernel=RBF, sample_weight=RNG.uniform(0.5, 2.0, 70)), "C", 0.05, 50.0),
    "C, no intercept": (qpsvm.CSVM(X, LABELS, kernel=RBF, intercept=None), "C", 0.05, 50.0),
    "C, penalised intercept": (qpsvm.CSVM(X, LABELS, kernel="linear", intercept="penalised"), "C", 0.05, 5.0),
    "C, linear": (qpsvm.CSVM(X, LABELS, kernel="linear"), "C", 0.05, 5.0),
    "C, equal rows": (
        qpsvm.CSVM(np.vstack([X, X[:20]]), np.append(LABELS, 1 - LABELS[:20]), kernel=RBF),
        "C",
        0.05,
        5.0,
    ),
    "nu": (qpsvm.NuSVM(X, LABELS, kernel=RBF), "nu", 0.1, 0.7),
    "epsilon": (qpsvm.EpsilonSVR(X, TARGET, C=5.0, kernel=RBF), "epsilon", 0.01, 1.0),
    "C of a regression": (qpsvm.EpsilonSVR(X, TARGET, epsilon=0.05, kernel=RBF), "C", 0.05, 20.0),
    "nu of one class": (qpsvm.OneClass(X, kernel=RBF), "nu", 0.1, 0.8),
}


def numpy_path(monkeypatch, *case):
    with monkeypatch.context() as patch:
        patch.setattr(core, "compiled", None)
        return qpsvm.exact_path(*case)


@for_each("name", CASES)
def test_the_path_is_that_of_numpy(name, monkeypatch):
    found = qpsvm.exact_path(*CASES[name])
    known = numpy_path(monkeypatch, *CASES[name])
    assert found.status == known.status == "optimal"
    low, high = CASES[name][2:]
    for value in np.geomspace(low, high, 23):
        result, other = found.at(value), known.at(value)
        assert result.gap < 1e-9
        assert result.primal == pytest.approx(other.primal, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(result.decision_function(X), other.decision_function(X), atol=1e-5)


@pytest.mark.usefixtures("level")
def test_every_level_follows_the_path_to_the_end():
    assert qpsvm.exact_path(*CASES["C"]).gaps.max() < 1e-9


@for_each("name", CASES)
@for_each("counted", [True, False])
def test_pieces_are_judged_as_by_numpy(name, counted, monkeypatch):
    found = qpsvm.exact_path(*CASES[name])._followed
    own = piece_certifier.PieceCertifier(found.rows)
    for part in found.parts:
        points, s, *places = follow._find_ends_compiled(found, own, part.stretch, part.steady)
        points = replace(points, f=points.f.copy())
        ours = own.bound_gaps(points, *places, with_rounding=counted)
        with monkeypatch.context() as patch:
            patch.setattr(core, "compiled", None)
            known, its_s, *its_places = follow._find_ends(
                found, piece_certifier.PieceCertifier(found.rows), part.stretch, part.steady
            )
            gaps = own.bound_gaps(known, *its_places, with_rounding=counted)
        np.testing.assert_array_equal(places, its_places)
        np.testing.assert_array_equal(s, its_s)
        for what in ("v", "mu", "t", "lo", "hi", "e", "f"):
            np.testing.assert_allclose(getattr(points, what), getattr(known, what), rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(ours, gaps, rtol=0.2, atol=1e-12)


def points_of(name, pieces):
    found = qpsvm.exact_path(*CASES[name])._followed
    own = piece_certifier.PieceCertifier(found.rows)
    part = found.parts[0]
    whole = part.stretch
    few = replace(whole, s=whole.s[:pieces], kinds=whole.kinds[:pieces], offset=whole.offset[: pieces + 1],
                  mu=whole.mu[:pieces], dmu=whole.dmu[:pieces],
                  **{key: getattr(whole, key)[: whole.offset[pieces]] for key in ("free", "v", "dv")})  # fmt: skip
    moving = found.rows.sample[(few.kinds != few.kinds[0]).any(axis=0) | (few.kinds[0] == 0)]
    steady = ~np.isin(np.arange(len(found.rows.K)), moving)
    points, _, first, second = follow._find_ends_compiled(found, own, few, steady)
    return found, own, points, first, second


def test_what_moves_linearly_is_summed_once():
    """(BETWEEN.6): f of what is steady is within what is counted for it."""
    found, own, points, *_ = points_of("C", 6)
    assert points.mass is not None
    slack = np.outer(own.norms, points.linear_error + 1e-13 * points.mass)
    assert (np.abs(points.f - found.rows.compute_f(points.v)) <= slack).all()


def test_a_point_that_is_no_number_proves_nothing():
    for part in ("v", "f", "mu"):
        _, own, points, first, second = points_of("C", 4)
        getattr(points, part)[0, 1] = np.nan
        assert np.isinf(own.bound_gaps(points, first, second)[[0, 1]]).any()


REAL = core.compiled


class Spy:
    """The core; every call of it is recorded in `calls`, by name and arguments."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def record_call(*given):
            self.calls.append((name, given))
            return getattr(REAL, name)(*given)

        return record_call


@pytest.mark.parametrize("name", ["active_run", "piece_ends", "piece_sums"])
def test_what_does_not_fit_is_refused(name, monkeypatch):
    spy = Spy()
    function = getattr(REAL, name)
    with monkeypatch.context() as patch:
        patch.setattr(core, "compiled", spy)
        qpsvm.exact_path(*CASES["C"])
    arrays, *rest = [given for called, given in spy.calls if called == name and given[0][-1].size][-1]
    for k, array in enumerate(arrays):
        if array.size:
            with pytest.raises(ValueError):  # noqa: PT011
                function((*arrays[:k], array.ravel()[: array.size // 3].copy(), *arrays[k + 1 :]), *rest)
        if array.dtype == np.int64 and k < len(arrays) - 2:
            for bad in (-1, 10**9):
                other = array.copy()
                other.ravel()[0] = bad
                with pytest.raises(ValueError):  # noqa: PT011
                    function((*arrays[:k], other, *arrays[k + 1 :]), *rest)
    for wrong in (arrays[:-1], [*arrays], (*arrays[:-1], None)):
        with pytest.raises((ValueError, TypeError)):
            function(wrong, *rest)
    if name == "active_run":
        huge = 10**6
        for count, limit, width in (
            (-1, 4, 9), (huge, 4, 9), (0, 0, 9), (0, huge, 9), (2, 4, 5), (2, 4, huge), (2, 4, -1),
        ):  # fmt: skip
            with pytest.raises(ValueError):  # noqa: PT011
                function(arrays, *rest[:3], count, limit, width)
