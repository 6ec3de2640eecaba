"""A derivation on a screen, as an article and as frames: every machine, read back by a small parser and by LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from test_key import LABELS, X, derive_machine

import qpsvm
from qpsvm.derivation.latex import latex_to_lines
from qpsvm.derivation.registry import STEPS
from qpsvm.derivation.written.article import text_to_latex

#: What LaTeX knows with amsmath, amssymb and graphicx, and what the article defines.
MACROS = set(re.findall(r"\w+", """
    alpha beta zeta eta xi rho mu nu lambda kappa delta tau varepsilon varphi psi Sigma ell Delta partial nabla infty
    sum min max frac tfrac dfrac sqrt top pm cdot circ surd bar tilde hat ne le ge in to approx Rightarrow
    Longrightarrow Leftrightarrow langle rangle quad qquad phantom text operatorname mathrm begin end tag label fitted
    bigl bigr Bigl Bigr section paragraph raggedright small par textbackslash textasciitilde textasciicircum dots
    providecommand sbox displaystyle ifdim wd linewidth resizebox usebox fi dimexpr ht dp textheight vcenter hbox
    documentclass usepackage setlength parindent parskip frametitle setbeamertemplate cup lfloor rfloor times mid vert
    perp overline underline mapsto iff pi sigma Lambda omega theta Phi"""))  # fmt: skip
ENVIRONMENTS = {"document", "equation", "aligned", "frame"}


def find_faults(text: str) -> list[str]:
    """List what is wrong with a text in LaTeX: braces, environments, mathematics, macros, letters."""
    wrong = []
    open_braces = 0
    environments = []
    mathematics = 0
    text = re.sub(r"(?<!\\)%.*", "", text)
    for token in re.findall(r"\\(?:begin|end)\{\w+\*?\}|\\[a-zA-Z]+|\\.|[^\\]", text, re.DOTALL):
        if token in "{}":
            open_braces += 1 if token == "{" else -1
        elif token.startswith((r"\begin{", r"\end{")):
            name = token.split("{")[1][:-1]
            if token.startswith(r"\begin"):
                environments.append((name, open_braces))
                wrong += [] if name in ENVIRONMENTS else [f"unknown environment {name}"]
            elif not environments or environments.pop() != (name, open_braces):
                wrong.append(f"{name} ends where it did not begin")
        elif token in (r"\(", r"\)"):
            mathematics += 1 if token == r"\(" else -1
            wrong += [] if mathematics in (0, 1) else ["mathematics within mathematics"]
        elif len(token) > 1 and token[1].isalpha():
            wrong += [] if token[1:] in MACROS else [f"unknown macro {token}"]
        elif ord(token[-1]) > 126:
            wrong.append(f"no letter of LaTeX: {token!r}")
        wrong += ["a brace that was not opened"] if open_braces < 0 else []
    return wrong + ["braces are left open"] * (open_braces != 0) + environments + ["open mathematics"] * mathematics


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)
def test_every_machine_fits_two_screens_and_is_latex(kind):
    derivation = derive_machine(kind)
    lines = str(derivation).splitlines()
    assert len(lines) <= 100
    assert max(map(len, derivation.to_text(verbose=True).splitlines())) <= 80
    for step in derivation:
        if not step.absent:
            assert not set("\\{}&$^") & set(
                "".join(latex_to_lines(step.latex)).replace("{i: ", "").replace("}", "").replace("{f =", "")
            ), step.tag
            sides = derivation.sides()[step.tag]
            assert sides["left"] is None or f"({step.tag})" in str(derivation)
    for beamer in (False, True):
        for text in (derivation.to_latex(beamer=beamer), derivation.to_latex(beamer=beamer, standalone=True)):
            assert find_faults(text) == []
        assert find_faults(qpsvm.derive(kind).to_latex(beamer=beamer)) == []


def test_the_parser_sees_what_is_wrong():
    whole = r"\begin{equation}"
    for text in ("{", "}", whole, r"\end{equation}", whole + r"{\end{equation}}", r"\(", r"\alfa", "ξ"):
        assert find_faults(text), text
    assert find_faults(r"\begin{equation}\tag{A.1} \tfrac12\end{equation} 50\% % {") == []


def test_the_text_of_an_equation_is_read_off_its_latex():
    for latex, text in {
        r"\tfrac12\alpha^{\top}Q\alpha-\sum_i\alpha_i": "½αᵀQα − Σ_i α_i",
        r"\frac{\partial L}{\partial w}=0\quad\Longrightarrow\quad w=\sum_i\alpha_i y_i\,\varphi(x_i)":
            "∂L/∂w = 0  ⟹  w = Σ_i α_i y_i φ(x_i)",
        r"\min_{w,b,\xi}\ \tfrac{\lambda}{2} \|w\|^2": "min over w, b, ξ:  λ/2 ‖w‖²",
        r"\tfrac{{\alpha^+_i}^2+{\alpha^-_i}^2}{4C_i}": "(α⁺_i² + α⁻_i²)/(4C_i)",
        r"\sum_{y_i=+1}\alpha_i=\tfrac{\nu}{2}": "Σ_(y_i=+1) α_i = ν/2",
        r"-\tfrac12\bigl\|w(\alpha,\lambda)\bigr\|^2": "−½‖w(α, λ)‖²",
        r"f(x_i)=-1,\ b^{-1}\ne 2": "f(x_i) = −1, b⁻¹ ≠ 2",
    }.items():  # fmt: skip
        assert [line.replace("\N{NO-BREAK SPACE}", " ") for line in latex_to_lines(latex)] == [text]
    display = r"\begin{align*}L&=a\\ &\quad -b\\ &=c\end{align*}"
    assert [line.replace("\N{NO-BREAK SPACE}", " ") for line in latex_to_lines(display)] == ["L = a − b", "= c"]


def test_a_sentence_has_its_letters_set_as_mathematics():
    for text, latex in {
        "ν-SVM, C = 1 & more": r"\(\nu \)-SVM, \(C\) = 1 \& more",
        "η expressed by α_i, a box of b.": r"\(\eta \) expressed by \(\alpha _i\), a box of \(b\).",
        "C-SVM by QP_1 in 50%": r"C-SVM by \(\text{QP}_1\) in 50\%",
    }.items():
        assert text_to_latex(text) == latex


@pytest.mark.parametrize("beamer", [False, True])
def test_latex_compiles_it(tmp_path, beamer):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex: apt-get install texlive-latex-recommended texlive-pictures lmodern")
    for needed in ("beamer.cls", "pgfmath.sty") if beamer else ("lmodern.sty",):
        if not subprocess.run(["kpsewhich", needed], capture_output=True, check=False).stdout:
            pytest.skip(f"this LaTeX has no {needed}")
    problem = qpsvm.EpsilonSVR(X, LABELS["numbers"], intercept="penalised", loss="squared")
    derivation = qpsvm.derive(problem, qpsvm.solve(problem, tol=1e-11))
    derivation.to_latex(tmp_path / "derived.tex", beamer=beamer, standalone=True)
    found = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "derived.tex"], cwd=tmp_path, capture_output=True,
        check=False, timeout=240,
    )  # fmt: skip
    log = (tmp_path / "derived.log").read_text(errors="replace")
    assert found.returncode == 0, log[-1500:]
    assert "Overfull" not in log
    assert (tmp_path / "derived.pdf").stat().st_size > 10_000


def test_what_to_latex_refuses(tmp_path):
    derivation = qpsvm.derive(qpsvm.CSVM)
    with pytest.raises(qpsvm.ParameterTypeError, match="path must be text or a Path"):
        derivation.to_latex(3)
    with pytest.raises(qpsvm.FileFormatError):
        derivation.to_latex(tmp_path / "nowhere" / "derived.tex")
    assert derivation.to_latex(tmp_path / "derived.tex") is None
    assert (tmp_path / "derived.tex").read_text(encoding="utf-8") == derivation.to_latex()
