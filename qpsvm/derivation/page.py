"""A derivation as a page. Each step has its equation beside its words and both sides' numbers, and its code below.

Equations become MathML, which browsers draw themselves, and styles are written into the page. So no network is needed.
"""

from __future__ import annotations

import html
import importlib
import re
from functools import cache
from types import ModuleType
from typing import Any

from qpsvm.derivation.shown import HOLDS, Code, ShownDerivation, ShownStep
from qpsvm.derivation.template import BODY, DOCUMENT, FUNCTION, STYLE
from qpsvm.errors import MissingExtraError, install

#: Class of the page's outermost element: with it, the page's styles reach nothing else in a notebook.
SCOPE = "qpsvm-derivation"
#: An index in plain text, such as that of α_i, K_ij and ν_max.
INDEX = re.compile(r"(?<=\w)_(max|[a-zA-Z0-9]{1,2})(?!\w)")


def fragment(derivation: ShownDerivation) -> str:
    """The page as one HTML element with its style, for a notebook.

    Raises MissingExtraError.
    """
    templates = _extra("jinja2").Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = templates.from_string(FUNCTION + BODY)
    colours = _extra("pygments.formatters").HtmlFormatter().get_style_defs(f".{SCOPE} .code")
    content: str = template.render(
        scope=SCOPE,
        style=STYLE.replace("SCOPE", SCOPE) + colours,
        title=derivation.title,
        headline=derivation.headline,
        trusted=derivation.trusted,
        proven=derivation.proven,
        steps=[_cells(step) for step in derivation.steps],
    )
    return content


def document(derivation: ShownDerivation) -> str:
    """The page as a file of its own; errors as `fragment`."""
    return DOCUMENT.format(title=html.escape(f"Derivation: {derivation.title}"), body=fragment(derivation))


def preformatted(text: str) -> str:
    """Plain text for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"


def _cells(step: ShownStep) -> dict[str, Any]:
    """What the template shows of a step."""
    state = "" if step.residual is None else "holds" if step.residual <= HOLDS else "fails"
    return {
        "tag": step.tag, "title": step.title, "statement": indexed(step.statement),
        "text": indexed(" ".join(filter(None, [step.text, step.by_construction]))),
        "absent": step.absent, "equation": mathml(step.latex), "code": _code(step.code),
        "measured_by": None if step.measured_by is None else _code(step.measured_by),
        "residual": step.residual_text, "reason": indexed(step.reason), "state": state,
        "sides": step.sides_text, "of": indexed(step.of),
        "proven": step.proven_text, "proven_of": indexed(step.proven_sentence),
    }  # fmt: skip


def indexed(text: str) -> str:
    """Plain text as HTML, with its indices set as such: α_i is α with a small i below."""
    return INDEX.sub(r"<sub>\1</sub>", html.escape(text))


def _code(code: Code) -> dict[str, str]:
    """Where a function is, what is shown of it, and the whole where that is more."""
    shown = code.excerpt or code
    whole = _coloured(code.text, code.lines) if code.excerpt else ""
    return {"where": code.where, "excerpt": _coloured(shown.text, shown.lines), "whole": whole}


@cache
def mathml(latex: str) -> str:
    """An equation as MathML, which browsers draw themselves; a `MissingExtraError` without the extra `teach`."""
    equation: str = _extra("latex2mathml.converter").convert(latex, display="block")
    return equation


@cache
def _coloured(code: str, lines: tuple[int, ...]) -> str:
    """Python in colours, with some lines marked."""
    formatter = _extra("pygments.formatters").HtmlFormatter(cssclass="code", hl_lines=[line + 1 for line in lines])
    coloured: str = _extra("pygments").highlight(code, _extra("pygments.lexers").PythonLexer(), formatter)
    return coloured


def _extra(name: str) -> ModuleType:
    """A module of the extra `teach`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise MissingExtraError(
            f"the page of a derivation needs the package {package!r}, which is not installed (print(derivation) works "
            f"without); run: {install('teach')}"
        ) from None
