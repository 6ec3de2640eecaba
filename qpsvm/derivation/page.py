"""A derivation as a page. Each step has its equation beside its words and both sides' numbers, and its code below.

Equations become MathML, which browsers draw themselves, and styles are written into the page. So no network is needed.

The page of a derivation: its style, one element for a notebook, and the file around it.

A step is its equation beside its words and numbers. Its code is below them over the whole width: 120 columns fit.
"""

from __future__ import annotations

import html
import importlib
import re
from functools import cache
from types import ModuleType
from typing import Any

from qpsvm.base.errors import MissingExtraError, install
from qpsvm.derivation.display import HOLDS, Code, ShownDerivation, ShownStep

STYLE = """
.SCOPE { background: #fff; color: #1b1f24; font: 15px/1.45 system-ui, sans-serif; padding: 0.5em 1em; }
.SCOPE h1 { font-size: 1.35em; line-height: 1.25; margin: 0.3em 0; overflow-wrap: anywhere; }
.SCOPE h2 { font-size: 1.05em; margin: 0; }
.SCOPE h2 .tag { color: #57606a; font-weight: normal; margin-right: 0.5em; }
.SCOPE p { margin: 0 0 0.5em; }
.SCOPE .headline { margin: 0 0 1em; max-width: 60em; }
.SCOPE .headline.warning { border-left: 4px solid #b35900; background: #fff4e5; max-width: none; padding: 0.5em 0.8em; }
.SCOPE .step { border-top: 1px solid #d0d7de; padding: 0.8em 0 1em; }
.SCOPE .head { align-items: baseline; display: flex; flex-wrap: wrap; gap: 0 1em; justify-content: space-between; }
.SCOPE .columns { column-gap: 1.5em; display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 32em), 1fr)); }
.SCOPE .equation { min-width: 0; overflow-x: auto; overflow-y: hidden; }
.SCOPE math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math", "Libertinus Math",
  "TeX Gyre Termes Math", "DejaVu Math TeX Gyre", "Noto Sans Math", "Apple Symbols", math;
  font-size: 1.1em; margin: 0.4em 0; width: fit-content; }
.SCOPE mtd { padding: 0.2em 0; }
.SCOPE mtd[columnalign=left] { text-align: left; }
.SCOPE mtd[columnalign=right] { text-align: right; }
.SCOPE .statement { color: #57606a; font-size: 0.87em; margin: 0.6em 0; }
.SCOPE .words { margin: 0.4em 0 0; min-width: 0; }
.SCOPE .sides { border-left: 3px solid #d0d7de; padding-left: 0.7em; }
.SCOPE .sides b { font-variant-numeric: tabular-nums; font-weight: 600; }
.SCOPE .sides small, .SCOPE .reason { color: #57606a; font-size: 0.87em; }
.SCOPE .sides small { display: block; }
.SCOPE .sides.fails { border-color: #b3261e; }
.SCOPE .where { color: #57606a; font: 0.8em/1.4 ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
.SCOPE .code { background: none; margin: 0; }
.SCOPE .code pre { background: #f6f8fa; border-radius: 6px; font: 12px/1.45 ui-monospace, monospace; margin: 0.3em 0;
  overflow-wrap: normal; overflow-x: auto; padding: 0.6em 0.8em; white-space: pre; word-break: normal; }
.SCOPE .code .hll { display: block; box-shadow: inset 3px 0 #d4a72c; margin: 0 -0.8em; min-width: max-content;
  padding: 0 0.8em; }
.SCOPE summary { color: #57606a; cursor: pointer; font-size: 0.87em; }
.SCOPE .residual { font-variant-numeric: tabular-nums; white-space: nowrap; }
.SCOPE .residual.holds::after { content: " \\2713"; color: #116329; }
.SCOPE .residual.fails::after { content: " \\2717"; color: #b3261e; }
.SCOPE .fails, .SCOPE .sides.fails b { color: #b3261e; }
.SCOPE .residual.fails { font-weight: bold; }
.SCOPE .figures { column-gap: 1.5em; display: grid; font-variant-numeric: tabular-nums; grid-auto-columns: max-content;
  grid-auto-flow: column; text-align: right; }
.SCOPE .proven { color: #57606a; min-width: 8.5em; white-space: nowrap; }
.SCOPE .figures .proven.bounded { color: #116329; }
.SCOPE .sides.fails small { color: #57606a; }
@media (max-width: 40em) {
  .SCOPE { padding: 0.2em; }
  .SCOPE math { font-size: 0.97em; }
  .SCOPE .code pre { font-size: 11px; }
}
"""

BODY = """<div class="{{ scope }}">
<style>{{ style|safe }}</style>
<h1>Derivation: {{ title }}</h1>
<p class="headline{{ '' if trusted else ' warning' }}">{{ headline }}</p>
{% if proven %}
<p class="headline">{{ proven }}</p>
{% endif %}
{% for step in steps %}
<section class="step" id="{{ step.tag }}">
<div class="head">
<h2><span class="tag">({{ step.tag }})</span>{{ step.title }}</h2>
{% if step.residual and not step.absent %}
<span class="figures"><span class="residual {{ step.state }}">{{ step.residual }}</span>
{% if step.proven %}
<span class="proven{{ ' bounded' if step.proven_of else '' }}">{{ step.proven }}</span>
{% endif %}
</span>
{% endif %}
</div>
{% if step.absent %}
<p class="reason">{{ step.reason|safe }}</p>
{% else %}
<div class="columns">
<div class="equation">
{{ step.equation|safe }}
<p class="statement">{{ step.statement|safe }}</p>
</div>
<div class="words">
<p>{{ step.text|safe }}</p>
{% if step.sides %}
<p class="sides {{ step.state }}"><b>{{ step.sides }}</b> <small>{{ step.of|safe }}</small></p>
{% endif %}
{% if step.reason %}
<p class="reason">{{ step.reason|safe }}</p>
{% endif %}
{% if step.proven_of %}
<p class="reason">{{ step.proven_of|safe }}</p>
{% endif %}
</div>
</div>
<div class="source">
{{ function(step.code) }}
{% if step.library %}
<details>
<summary>where the library does it</summary>
{{ function(step.library) }}
</details>
{% endif %}
</div>
{% endif %}
</section>
{% endfor %}
</div>
"""

#: A function: what of it is the equation, and where that is not all of it, the whole behind a fold.
FUNCTION = """{% macro function(code) %}
<p class="where">{{ code.where }}</p>
{{ code.excerpt|safe }}
{% if code.whole %}
<details>
<summary>the whole function</summary>
{{ code.whole|safe }}
</details>
{% endif %}
{% endmacro %}
"""

DOCUMENT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""


#: Class of the page's outermost element: with it, the page's styles reach nothing else in a notebook.
SCOPE = "qpsvm-derivation"
#: An index in plain text, such as that of α_i, K_ij and ν_max.
INDEX = re.compile(r"(?<=\w)_(max|[a-zA-Z0-9]{1,2})(?![a-zA-Z0-9_])")


def fragment(derivation: ShownDerivation) -> str:
    """The page as one HTML element with its style, for a notebook.

    Raises MissingExtraError.
    """
    templates = _extra("jinja2").Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = templates.from_string(FUNCTION + BODY)
    colours = _extra("pygments.formatters").HtmlFormatter().get_style_defs(f".{SCOPE} .code")
    content: str = template.render(
        scope=SCOPE, style=STYLE.replace("SCOPE", SCOPE) + colours, title=derivation.title,
        headline=derivation.headline, trusted=derivation.trusted, proven=derivation.proven,
        steps=[_cells(step) for step in derivation.steps]
    )  # fmt: skip
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
        "library": None if step.library is None else _code(step.library),
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
