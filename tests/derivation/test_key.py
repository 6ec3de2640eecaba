"""The key of symbols, and the page on which a symbol lights up its row and its samples, without a script."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each

import qpsvm
from qpsvm.derivation.registry import STEPS

RNG = np.random.default_rng(3)
X = np.vstack([RNG.normal(size=(12, 2)) - 1, RNG.normal(size=(12, 2)) + 1])
LABELS = {"labels": np.repeat([0, 1], 12), "numbers": X.sum(axis=1), "ranks": np.arange(24) % 3}


def derive_machine(kind: type, samples: np.ndarray = X, **options: object) -> qpsvm.Derivation:
    learns = getattr(kind, "_target_kind", "labels")
    if learns == "none":
        problem = kind(samples, **options)
    else:
        problem = kind(samples, LABELS[learns], **options)
    return qpsvm.derive(problem, qpsvm.solve(problem, tol=1e-10, check=False))


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)
def test_every_machine_has_a_key_and_a_picture(kind):
    derivation = derive_machine(kind)
    key = {symbol.name: symbol for symbol in derivation.key()}
    assert {"α", "w", "x", "L"} <= set(key) or {"α", "c", "x", "L"} <= set(key)
    assert key["α"].number
    assert "symbols: " in str(derivation)
    assert [symbol.name for symbol in qpsvm.derive(kind).key()]
    page = derivation.to_html()
    assert page.count("<circle") == 24
    assert_is_one_file(page, derivation)
    ElementTree.fromstring(re.search(r"<svg.*?</svg>", page, re.DOTALL)[0])
    for name in key:
        assert f'<tr data-s="{name}" tabindex="0">' in page
        assert f'circle[data-has~="{name}"]' in page


def assert_is_one_file(page: str, derivation: qpsvm.Derivation) -> None:
    """It needs no network and no script; each step has its equation, in MathML that can be parsed."""
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+[^\s\"<]*", page))
    assert addresses == {"http://www.w3.org/1998/Math/MathML"}
    assert not re.search(r"<script|<link|<img|@import|url\(|(?:src|href)=", page)
    equations = re.findall(r"<math.*?</math>", page, re.DOTALL)
    of_steps = page.partition("<aside")[0].count("<math")
    assert of_steps == len([step for step in derivation if not step.absent]) < len(equations)  # and the symbols' own
    for equation in equations:
        text = "".join(ElementTree.fromstring(equation).itertext())
        assert not {"\\", "&"} & set(text)
    assert page.count('class="step"') == len(derivation)
    assert all(f'id="{step.tag}"' in page for step in derivation)
    assert page.count('class="hll"') >= 2  # the lines that carry the tag
    assert "✓" in page or "\\2713" in page
    assert derivation._repr_html_().partition("</style>")[2] in page  # a notebook has its own colours


def test_a_symbol_lights_up_the_samples_that_have_it():
    derivation = derive_machine(qpsvm.CSVM, kernel=qpsvm.RBF(0.5))
    result = derivation.result
    page = derivation.to_html()
    points = re.findall(r'data-has="([^"]*)"[^>]*><title>sample (\d+)', page)
    assert {int(i) for has, i in points if "α" in has.split()} == set(np.flatnonzero(result.alpha > 0))
    assert {int(i) for has, i in points if "ξ" in has.split()} == set(np.flatnonzero(result.xi > 1e-9))
    assert page.count('<mi data-s="α">') > 20
    assert page.count("<path") == 3
    assert "prefers-color-scheme" in page
    assert "prefers-color-scheme" not in derivation._repr_html_()


def test_numbers_and_meanings_are_those_of_the_machine():
    derivation = derive_machine(qpsvm.NuSVM, nu=0.6)
    key = {symbol.name: symbol for symbol in derivation.key()}
    assert float(key["ρ"].number) == pytest.approx(derivation.result.rho, rel=1e-3)
    assert float(key["b"].number) == pytest.approx(derivation.result.b, rel=1e-3)
    assert key["ν"].number == "0.6"
    assert np.array_equal(key["α"].value, derivation.result.alpha)
    assert {symbol.name: symbol.meaning for symbol in derive_machine(qpsvm.EpsilonSVR).key()}["t"] == "targets"
    assert all(symbol.number == "" for symbol in qpsvm.derive(qpsvm.CSVM).key())


#: Macros of LaTeX that are no symbols, and letters that stand for an index.
NOT_SYMBOLS = {
    rf"\{name}"
    for name in re.findall(r"\w+", """
        top sum tfrac frac le ge quad qquad Bigl Bigr bigl bigr Rightarrow Longrightarrow min max langle rangle partial
        bar circ in phantom ne pm sqrt tilde to nabla""")
} | {"i"}  # fmt: skip


@for_each("kind, options", itertools.product(STEPS, [{}, {"intercept": "penalised"}, {"constraints": True},
                                                      {"loss": "squared"}]))  # fmt: skip
def test_every_letter_of_every_equation_has_a_meaning(kind, options):
    try:
        derivation = qpsvm.derive(kind, **options)
    except (qpsvm.UnknownOptionError, qpsvm.UnsupportedError):
        return
    words = r"_(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?\w)|\\(?:text|operatorname|mathrm|begin|end)\{[^}]*\}"
    latex = re.sub(words, " ", " ".join(step.latex for step in derivation if not step.absent))
    letters = set(re.findall(r"\\[a-zA-Z]+|[a-zA-Z]", latex)) - NOT_SYMBOLS
    assert letters == {symbol.latex for symbol in derivation.key()}


@for_each("kind, letter, options, said", [
    (qpsvm.CSVM, "y", {}, "labels, −1 or +1"), (qpsvm.CrammerSinger, "y", {}, "the class of each sample"),
    (qpsvm.WestonWatkins, "c", {}, "a class"), (qpsvm.SVDD, "c", {}, "centre of the ball"),
    (qpsvm.SVDD, "c", {"constraints": True}, "centre of the ball"), (qpsvm.SVDD, "Q", {}, "Q_ij = K(x_i, x_j)"),
    (qpsvm.CSVM, "Q", {}, "Q_ij = y_i y_j K(x_i, x_j)"), (qpsvm.NuSVM, "t", {}, "ρ + b"),
    (qpsvm.EpsilonSVR, "t", {}, "targets"),
    (qpsvm.PrimalHinge, "λ", {"constraints": True}, "weight of the squared norm"),
    (qpsvm.HuberHinge, "κ", {"constraints": True}, "width of the quadratic part of the loss"),
    (qpsvm.HuberHinge, "h", {"constraints": True}, "bounds of the constraints"),
])  # fmt: skip
def test_a_letter_means_what_it_is_in_its_machine(kind, letter, options, said):
    meanings = {symbol.name: symbol.meaning for symbol in qpsvm.derive(kind, **options).key()}
    assert meanings[letter].startswith(said)


def test_the_numbers_are_those_of_the_terms():
    for kind, options, letter, value in (
        (qpsvm.SquaredHinge, {"C": 3.0}, "C", 3.0),
        (qpsvm.QuantileSVR, {"C": 3.0, "quantile": 0.2}, "C", 3.0),
        (qpsvm.PrimalHinge, {"lam": 0.1}, "p", 1 / 24),
        (qpsvm.HuberHinge, {"width": 0.3}, "κ", 0.3),
    ):
        symbol = {symbol.name: symbol for symbol in derive_machine(kind, **options).key()}[letter]
        assert np.allclose(symbol.value, value)


def test_where_there_is_no_plane_the_picture_is_over_f():
    page = derive_machine(qpsvm.CSVM, np.hstack([X, X**2])).to_html()
    assert "<path" not in page.split("<svg", 1)[1].split("</svg>")[0]
    assert page.count("<circle") == 24
    assert "<circle" not in derive_machine(qpsvm.CSVM, sp.csr_array(X)).to_html()
