"""The key of symbols, and the page on which a symbol lights up its row and its samples, without a script."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import qpsvm
from qpsvm.derivation.registry import STEPS

RNG = np.random.default_rng(3)
X = np.vstack([RNG.normal(size=(12, 2)) - 1, RNG.normal(size=(12, 2)) + 1])
LABELS = {"labels": np.repeat([0, 1], 12), "numbers": X.sum(axis=1), "ranks": np.arange(24) % 3}


def derived(kind: type, samples: np.ndarray = X, **options: object) -> qpsvm.Derivation:
    learns = getattr(kind, "learns", "labels")
    problem = kind(samples, **options) if learns == "none" else kind(samples, LABELS[learns], **options)
    return qpsvm.derive(problem, qpsvm.solve(problem, tol=1e-10, check=False))


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)
def test_every_machine_has_a_key_and_a_picture(kind):
    derivation = derived(kind)
    key = {symbol.name: symbol for symbol in derivation.key()}
    assert {"α", "w", "x", "L"} <= set(key) or {"α", "c", "x", "L"} <= set(key)
    assert key["α"].number
    assert "symbols: " in str(derivation)
    assert [symbol.name for symbol in qpsvm.derive(kind).key()]
    page = derivation.to_html()
    assert page.count("<circle") == 24
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=", page)
    ElementTree.fromstring(re.search(r"<svg.*?</svg>", page, re.DOTALL)[0])
    for name in key:
        assert f'<tr data-s="{name}" tabindex="0">' in page
        assert f'circle[data-has~="{name}"]' in page


def test_a_symbol_lights_up_the_samples_that_have_it():
    derivation = derived(qpsvm.CSVM, kernel=qpsvm.RBF(0.5))
    result, page = derivation.result, derivation.to_html()
    points = re.findall(r'data-has="([^"]*)"[^>]*><title>sample (\d+)', page)
    assert {int(i) for has, i in points if "α" in has.split()} == set(np.flatnonzero(result.alpha > 0))
    assert {int(i) for has, i in points if "ξ" in has.split()} == set(np.flatnonzero(result.xi > 1e-9))
    assert page.count('<mi data-s="α">') > 20
    assert page.count("<path") == 3
    assert "prefers-color-scheme" in page
    assert "prefers-color-scheme" not in derivation._repr_html_()


def test_numbers_and_meanings_are_those_of_the_machine():
    derivation = derived(qpsvm.NuSVM, nu=0.6)
    key = {symbol.name: symbol for symbol in derivation.key()}
    assert float(key["ρ"].number) == pytest.approx(derivation.result.rho, rel=1e-3)
    assert float(key["b"].number) == pytest.approx(derivation.result.b, rel=1e-3)
    assert key["ν"].number == "0.6"
    assert np.array_equal(key["α"].value, derivation.result.alpha)
    assert {symbol.name: symbol.meaning for symbol in derived(qpsvm.EpsilonSVR).key()}["t"] == "targets"
    assert all(symbol.number == "" for symbol in qpsvm.derive(qpsvm.CSVM).key())


def test_where_there_is_no_plane_the_picture_is_over_f():
    page = derived(qpsvm.CSVM, np.hstack([X, X**2])).to_html()
    assert "<path" not in page.split("<svg", 1)[1].split("</svg>")[0]
    assert page.count("<circle") == 24
    import scipy.sparse as sp

    assert "<circle" not in derived(qpsvm.CSVM, sp.csr_array(X)).to_html()
