"""Write a derivation as LaTeX: a section of an article, frames of Beamer, or a complete document.

An equation is shown with its tag, made smaller where it is wider than the page. It needs amsmath and graphicx.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from qpsvm.derivation.display import ShownDerivation, ShownStep
from qpsvm.derivation.latex import BETWEEN, SIGNS

#: Mathematics of the sentences, in LaTeX.
UNICODE = {
    **{sign: name for name, sign in (SIGNS | BETWEEN).items() if name[0] == "\\" and sign not in "{}|"},
    "φ": r"\varphi", "ε": r"\varepsilon", "−": "-", "½": r"\tfrac12", "¼": r"\tfrac14", "²": "{}^2", "⁺": "{}^+",
    "⁻": "{}^-", "ᵀ": r"{}^{\top}", "√": r"\surd", "¹": "{}^1", "₁": "{}_1", "₂": "{}_2", "₊": "{}_+", "₋": "{}_-", 
    "ℓ": r"\ell", "Δ": r"\Delta", "\N{NO-BREAK SPACE}": "~", "⇔": r"\Leftrightarrow", "∪": r"\cup",
}  # fmt: skip
RESERVED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\dots{}"}
#: Marks above a letter; what has no sign in LaTeX, as in a name of a user's; the end of what pdfLaTeX reads as it is.
MARKS = {"\u0304": "bar", "\u0303": "tilde", "\u0302": "hat"}
UNKNOWN, LATIN = "?", 0x180
RESERVED |= {sign: rf"\{sign}" for sign in "&%#_{}$"}
#: A word that is mathematics: it has a sign or an index, or is one letter, alone or before a sign.
SIGN = r"[^\x00-\x7f\xa0\u00c0-\u024f‘’“”…]"
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


def render_latex(derivation: ShownDerivation, beamer: bool, standalone: bool) -> str:
    """Render the derivation as a section or as frames; `standalone` as a document."""
    parts = _frames(derivation) if beamer else _section(derivation)
    body = "\n".join(["% needs \\usepackage{amsmath,amssymb,graphicx}", FITTED, *parts])
    return (BEAMER if beamer else ARTICLE) % body if standalone else f"{body}\n"


def _section(derivation: ShownDerivation) -> Iterator[str]:
    yield rf"\section*{{\raggedright {text_to_latex(derivation.title)}}}"
    yield text_to_latex(f"{derivation.headline}.")
    for step in derivation.steps:
        yield rf"\paragraph{{{text_to_latex(step.title)}.}}"
        if step.absent:
            yield text_to_latex(f"({step.tag}) {step.reason}.")
            continue
        yield text_to_latex(" ".join(filter(None, [step.text, step.by_construction])))
        yield from _equation(step)
        yield from _numbers(step)


def _frames(derivation: ShownDerivation) -> Iterator[str]:
    yield r"\begin{frame}"
    yield rf"\frametitle{{{text_to_latex(derivation.title)}}}"
    yield rf"{text_to_latex(derivation.headline)}."
    yield r"\end{frame}"
    for step in derivation.steps:
        if step.absent:
            continue
        yield r"\begin{frame}"
        yield rf"\frametitle{{{text_to_latex(step.title)}}}"
        yield rf"{{\small {text_to_latex(step.text)}\par}}"
        yield from _equation(step)
        yield r"{\small"
        yield from _numbers(step)
        yield r"\par}"
        yield r"\end{frame}"


def _equation(step: ShownStep) -> Iterator[str]:
    """Yield the equation with its tag."""
    yield rf"\begin{{equation}}\tag{{{step.tag}}}\label{{eq:{step.tag}}}"
    yield rf"\fitted{{{step.latex.replace('{align*}', '{aligned}')}}}"
    yield r"\end{equation}"


def _numbers(step: ShownStep) -> Iterator[str]:
    """Yield both sides as numbers, and the residual."""
    if step.sides_text:
        sides = re.sub(r"e([-+])0*(\d+)", lambda e: rf"\cdot10^{{{e[1].strip('+')}{e[2]}}}", step.sides_text)
        yield rf"\({_format_formula(sides)}\) \quad {text_to_latex(step.of)}; {text_to_latex(step.residual_text)}."
    elif step.reason:
        yield text_to_latex(f"{step.reason}.")
    if step.proven_of:
        yield text_to_latex(step.proven_sentence)


def text_to_latex(text: str) -> str:
    """Convert a sentence to LaTeX, with mathematical letters set as such."""
    found, place = "", 0
    for formula in FORMULA.finditer(text):
        whole = formula[0]
        kept = whole.rstrip(".,:")
        while kept.count(")") > kept.count("(") and kept.endswith(")"):  # of the sentence
            kept = kept[:-1]
        named = re.match(r"([^\W\d_²])-([A-Za-z]{2,}\S*)$", kept)  # ν-SVM
        math = rf"\({_format_formula(named[1])}\)-{_escape(named[2])}" if named else rf"\({_format_formula(kept)}\)"
        found += _escape(text[place : formula.start()]) + math + _escape(whole[len(kept) :])
        place = formula.end()
    return found + _escape(text[place:])


def _format_formula(text: str) -> str:
    text = re.sub(r"(?<=\w)\*", "^*", text)
    text = re.sub(r"_([ijy]_[ik])(?![A-Za-z0-9])", r"_{\1}", text)
    text = re.sub(r"_([A-Za-z0-9]{2,}|\([^()]*\))", r"_{\1}", text)
    text = re.sub(r"(_\{[^}]*\})|(?<![\\A-Za-z])([A-Za-z]{2,})", lambda each: each[1] or rf"\text{{{each[2]}}}", text)
    text = "".join(apart if (apart := unicodedata.normalize("NFD", sign))[-1] in MARKS else sign for sign in text)
    for mark, name in MARKS.items():
        text = re.sub(rf"(\w){mark}", rf"\\{name}{{\1}}", text)
    return "".join(map(_format_sign, text))


def _format_sign(sign: str) -> str:
    """Format a sign within mathematics."""
    found = UNICODE.get(sign) or (rf"\{sign}" if sign in "%#&$" else sign)
    return f"{found} " if sign in UNICODE and found[0] == "\\" else found if found.isascii() else UNKNOWN


def _escape(text: str) -> str:
    return "".join(RESERVED.get(sign, sign if ord(sign) < LATIN else UNKNOWN) for sign in text)
