"""Write a derivation as LaTeX: a section of an article, frames of Beamer, or a complete document (`render_latex`).

An equation has its tag, and is scaled down if it is wider than the page. The LaTeX needs amsmath and graphicx.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from qpsvm.derivation.display import ShownDerivation, ShownStep
from qpsvm.derivation.latex import RELATIONS, SYMBOLS

#: Mathematical characters in sentences, and their LaTeX within mathematics.
MATH_COMMANDS = {
    **{sign: name for name, sign in (SYMBOLS | RELATIONS).items() if name[0] == "\\" and sign not in "{}|"},
    "φ": r"\varphi", "ε": r"\varepsilon", "−": "-", "½": r"\tfrac12", "¼": r"\tfrac14", "²": "{}^2", "⁺": "{}^+",
    "⁻": "{}^-", "ᵀ": r"{}^{\top}", "√": r"\surd", "¹": "{}^1", "₁": "{}_1", "₂": "{}_2", "₊": "{}_+", "₋": "{}_-", 
    "ℓ": r"\ell", "Δ": r"\Delta", "\N{NO-BREAK SPACE}": "~", "⇔": r"\Leftrightarrow", "∪": r"\cup",
}  # fmt: skip
#: Characters that text in LaTeX must escape.
RESERVED = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\dots{}",
    **{character: rf"\{character}" for character in "&%#_{}$"},
}  # fmt: skip
#: Combining marks above a letter, and their LaTeX commands.
MARKS = {"\u0304": "bar", "\u0303": "tilde", "\u0302": "hat"}
#: Replaces a character that has no LaTeX here. The name of a user's feature may contain one.
UNKNOWN = "?"
#: pdfLaTeX can read the characters below this code, so they are not replaced.
LATIN_END = 0x180
#: A mathematical character: not ASCII, not a letter with an accent, and not a quotation mark.
MATH_CHARACTER = r"[^\x00-\x7f\xa0\u00c0-\u024f‘’“”…]"
#: The rest of a word: up to a blank, a semicolon, or a comma that ends the word.
REST = r"(?:[^\s;,]|,(?=\S))*"
#: A word that is set as mathematics: it contains a `MATH_CHARACTER` or an index (x_i), or it is a single letter, alone
#: or before one of ²'/(^=. The letters a, A and I alone are English words.
WORD = rf"(?:{REST}(?:{MATH_CHARACTER}|\w_\w){REST}|[b-zB-HJ-Z](?:[²'/(^=]{REST})?(?![\w’-]|\.\w))"
#: A formula: such words in sequence, with operators and numbers between them.
FORMULA = re.compile(rf"(?<![^\s(\[]){WORD}(?: (?:(?:[-+*/<>=|]|\d[\d.]*) )*{WORD})*")
#: Defines a LaTeX command that scales an equation down if it is wider than the line or higher than a frame.
FITTED_COMMAND = r"""\providecommand{\fitted}[1]{\sbox0{$\displaystyle #1$}%
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
    """Render the derivation as a section, or as frames of Beamer; if `standalone`, as a complete document."""
    lines = _iter_frames(derivation) if beamer else _iter_section(derivation)
    body = "\n".join(["% needs \\usepackage{amsmath,amssymb,graphicx}", FITTED_COMMAND, *lines])
    if not standalone:
        return f"{body}\n"
    document = BEAMER if beamer else ARTICLE
    return document % body


def _iter_section(derivation: ShownDerivation) -> Iterator[str]:
    """Yield the lines of a section: a paragraph per step; that of an absent step states why it is absent."""
    yield rf"\section*{{\raggedright {text_to_latex(derivation.title)}}}"
    yield text_to_latex(f"{derivation.headline}.")
    for step in derivation.steps:
        yield rf"\paragraph{{{text_to_latex(step.title)}.}}"
        if step.absent:
            yield text_to_latex(f"({step.tag}) {step.reason}.")
            continue
        yield text_to_latex(" ".join(filter(None, [step.text, step.by_construction])))
        yield from _iter_equation(step)
        yield from _iter_numbers(step)


def _iter_frames(derivation: ShownDerivation) -> Iterator[str]:
    """Yield the lines of frames: one for the title, and one per step that is not absent."""
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
        yield from _iter_equation(step)
        yield r"{\small"
        yield from _iter_numbers(step)
        yield r"\par}"
        yield r"\end{frame}"


def _iter_equation(step: ShownStep) -> Iterator[str]:
    """Yield the lines of the equation with its tag."""
    yield rf"\begin{{equation}}\tag{{{step.tag}}}\label{{eq:{step.tag}}}"
    yield rf"\fitted{{{step.latex.replace('{align*}', '{aligned}')}}}"
    yield r"\end{equation}"


def _iter_numbers(step: ShownStep) -> Iterator[str]:
    """Yield the lines with both sides as numbers, the residual, and what is proven."""
    if step.sides_text:
        power_of_ten = r"\\cdot10^{\g<sign>\g<exponent>}"  # replaces e-07
        sides = re.sub(r"e(?:\+|(?P<sign>-))0*(?P<exponent>\d+)", power_of_ten, step.sides_text)
        description = text_to_latex(step.description)
        residual = text_to_latex(step.residual_text)
        yield rf"\({_format_formula(sides)}\) \quad {description}; {residual}."
    elif step.reason:
        yield text_to_latex(f"{step.reason}.")
    if step.proven_description:
        yield text_to_latex(step.proven_sentence)


def text_to_latex(text: str) -> str:
    """Convert a sentence to LaTeX, with its formulas set as mathematics."""
    latex = ""
    end = 0  # the text before this position is converted
    for match in FORMULA.finditer(text):
        formula = match[0].rstrip(".,:")
        while formula.count(")") > formula.count("(") and formula.endswith(")"):  # this bracket belongs to the sentence
            formula = formula[:-1]
        following = match[0][len(formula) :]
        compound = re.match(r"([^\W\d_²])(-[A-Za-z]{2,}\S*)$", formula)
        if compound:  # such as ν-SVM: only ν is mathematics
            formula = compound[1]
            following = compound[2] + following
        latex += rf"{_escape(text[end : match.start()])}\({_format_formula(formula)}\){_escape(following)}"
        end = match.end()
    return latex + _escape(text[end:])


def _format_formula(text: str) -> str:
    """Convert a formula in plain text to LaTeX: indices in braces, words upright, marks above letters, signs."""
    text = re.sub(r"(?<=\w)\*", "^*", text)
    text = re.sub(r"_([ijy]_[ik])(?![A-Za-z0-9])", r"_{\1}", text)  # an index with an index, such as α_y_i
    text = re.sub(r"_([A-Za-z0-9]{2,}|\([^()]*\))", r"_{\1}", text)
    text = re.sub(
        r"(_\{[^}]*\})|(?<![\\A-Za-z])([A-Za-z]{2,})",  # an index stays as it is, another word is upright
        lambda match: match[1] or rf"\text{{{match[2]}}}",
        text,
    )
    text = "".join(map(_separate_mark, text))
    for mark, name in MARKS.items():
        text = re.sub(rf"(\w){mark}", rf"\\{name}{{\1}}", text)
    return "".join(map(_format_character, text))


def _separate_mark(character: str) -> str:
    """Separate a letter from its mark, such as ē into e and a bar; return any other character unchanged."""
    letter_and_mark = unicodedata.normalize("NFD", character)
    return letter_and_mark if letter_and_mark[-1] in MARKS else character


def _format_character(character: str) -> str:
    """Convert a character within mathematics to LaTeX."""
    if character in MATH_COMMANDS:
        command = MATH_COMMANDS[character]
        return f"{command} " if command[0] == "\\" else command  # the blank ends the name of the command
    if character in "%#&$":
        return rf"\{character}"
    return character if character.isascii() else UNKNOWN


def _escape(text: str) -> str:
    """Escape text without mathematics for LaTeX."""
    return "".join(RESERVED.get(character, character if ord(character) < LATIN_END else UNKNOWN) for character in text)
