"""A derivation as LaTeX: a section of an article, or frames of Beamer; the fragment, or a document that compiles.

An equation is shown with its tag, made smaller where it is wider than the page. It needs amsmath and graphicx.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from qpsvm.derivation.display import ShownDerivation, ShownStep
from qpsvm.derivation.latex import BETWEEN, SIGNS

#: Mathematics of the sentences, in LaTeX.
UNICODE = {
    **{sign: name for name, sign in (SIGNS | BETWEEN).items() if name[0] == "\\" and sign not in "{}|"},
    "φ": r"\varphi", "ε": r"\varepsilon", "−": "-", "½": r"\tfrac12", "¼": r"\tfrac14", "²": "^2", "⁺": "^+",
    "⁻": "^-", "ᵀ": r"^{\top}", "√": r"\surd", "¹": "^1", "₁": "_1", "₂": "_2", "₊": "_+", "₋": "_-", "\u0304": "",
    "ℓ": r"\ell", "Δ": r"\Delta", "\u0303": "", "\N{NO-BREAK SPACE}": "~", "⇔": r"\Leftrightarrow", "∪": r"\cup",
}  # fmt: skip
RESERVED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\dots{}"}
RESERVED |= {sign: rf"\{sign}" for sign in "&%#_{}$"}
#: A word that is mathematics: it has a sign or an index, or is one letter, alone or before a sign.
SIGN = "[" + re.escape("".join(UNICODE)) + "]"
REST = r"(?:[^\s;,]|,(?=\S))*"
WORD = rf"(?:{REST}(?:{SIGN}|\w_\w){REST}|[b-zB-HJ-Z](?:[²'/(^=]{REST})?(?![\w’-]|\.\w))"
FORMULA = re.compile(rf"(?<![^\s(\[]){WORD}(?: (?:(?:[-+*/<>=|]|\d[\d.]*) )*{WORD})*")
#: Scaled down where it is wider than the line or higher than a frame.
FITTED = r"""\providecommand{\fitted}[1]{\sbox0{$\displaystyle #1$}%
  \ifdim\wd0>0.8\linewidth\sbox0{\resizebox{0.8\linewidth}{!}{\usebox0}}\fi
  \ifdim\dimexpr\ht0+\dp0>0.55\textheight\sbox0{$\vcenter{\hbox{\resizebox*{!}{0.55\textheight}{\usebox0}}}$}\fi\usebox0}"""
ARTICLE = r"""\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage{lmodern}
\usepackage[margin=25mm]{geometry}
\usepackage{amsmath,amssymb,graphicx}
\setlength{\parindent}{0pt}\setlength{\parskip}{4pt plus 2pt}
\begin{document}
%s
\end{document}
"""
BEAMER = r"""\documentclass[aspectratio=169]{beamer}
\usepackage[T1]{fontenc}
\usepackage{lmodern}
\usepackage{amsmath,amssymb,graphicx}
\setbeamertemplate{navigation symbols}{}
\begin{document}
%s
\end{document}
"""


def latex(derivation: ShownDerivation, beamer: bool, standalone: bool) -> str:
    """The derivation as a section or as frames; `standalone` within a document."""
    body = "\n".join(_frames(derivation) if beamer else _section(derivation))
    return (BEAMER if beamer else ARTICLE) % body if standalone else f"{body}\n"


def _section(derivation: ShownDerivation) -> Iterator[str]:
    yield "% needs \\usepackage{amsmath,amssymb,graphicx}"
    yield FITTED
    yield rf"\section*{{\raggedright {words(derivation.title)}}}"
    yield words(f"{derivation.headline}.")
    for step in derivation.steps:
        yield rf"\paragraph{{{words(step.title)}.}}"
        if step.absent:
            yield words(f"({step.tag}) {step.reason}.")
            continue
        yield words(" ".join(filter(None, [step.text, step.by_construction])))
        yield from _equation(step)
        yield from _numbers(step)


def _frames(derivation: ShownDerivation) -> Iterator[str]:
    yield "% needs \\usepackage{amsmath,amssymb,graphicx}"
    yield FITTED
    yield r"\begin{frame}"
    yield rf"\frametitle{{{words(derivation.title)}}}"
    yield rf"{words(derivation.headline)}."
    yield r"\end{frame}"
    for step in derivation.steps:
        if step.absent:
            continue
        yield r"\begin{frame}"
        yield rf"\frametitle{{{words(step.title)}}}"
        yield rf"{{\small {words(step.text)}\par}}"
        yield from _equation(step)
        yield r"{\small"
        yield from _numbers(step)
        yield r"\par}"
        yield r"\end{frame}"


def _equation(step: ShownStep) -> Iterator[str]:
    """The equation with its tag."""
    yield rf"\begin{{equation}}\tag{{{step.tag}}}\label{{eq:{step.tag}}}"
    yield rf"\fitted{{{step.latex.replace('{align*}', '{aligned}')}}}"
    yield r"\end{equation}"


def _numbers(step: ShownStep) -> Iterator[str]:
    """Both sides as numbers, and the residual."""
    if step.sides_text:
        sides = re.sub(r"e([-+])0*(\d+)", lambda e: rf"\cdot10^{{{e[1].strip('+')}{e[2]}}}", step.sides_text)
        yield rf"\({_formula(sides)}\) \quad {words(step.of)}; {words(step.residual_text)}."
    elif step.reason:
        yield words(f"{step.reason}.")
    if step.proven_of:
        yield words(step.proven_sentence)


def words(text: str) -> str:
    """A sentence as LaTeX, in which letters of mathematics are set as such."""
    found, place = "", 0
    for formula in FORMULA.finditer(text):
        whole = formula[0]
        kept = whole.rstrip(".,:")
        while kept.count(")") > kept.count("(") and kept.endswith(")"):  # of the sentence
            kept = kept[:-1]
        named = re.match(r"([^\W\d_²])-([A-Za-z]{2,}\S*)$", kept)  # ν-SVM
        math = rf"\({_formula(named[1])}\)-{_escaped(named[2])}" if named else rf"\({_formula(kept)}\)"
        found += _escaped(text[place : formula.start()]) + math + _escaped(whole[len(kept) :])
        place = formula.end()
    return found + _escaped(text[place:])


def _formula(text: str) -> str:
    text = re.sub(r"(?<=\w)\*", "^*", text)
    text = re.sub(r"([A-Za-z]{2,})(?![^_]*\})", lambda word: rf"\text{{{word[1]}}}", re.sub(
        r"_([A-Za-z0-9]{2,}|\([^()]*\))", lambda index: "_{" + index[1] + "}", text))  # fmt: skip
    text = re.sub(r"_\{\\text\{(\w+)\}\}", r"_{\1}", text)
    return "".join(
        f"{UNICODE[sign]} " if UNICODE.get(sign, "")[:1] == "\\" else UNICODE.get(sign, {"%": r"\%"}.get(sign, sign))
        for sign in text
    ).replace("'", "{\\text{'}}")


def _escaped(text: str) -> str:
    return "".join(RESERVED.get(sign, sign) for sign in text)
