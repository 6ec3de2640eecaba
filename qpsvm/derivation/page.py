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
from qpsvm.derivation.display import HOLDS, Code, Picture, ShownDerivation, ShownStep

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
.SCOPE .all { display: grid; gap: 0 2em; grid-template-columns: minmax(0, 1fr) minmax(17em, 24em); }
.SCOPE aside { align-self: start; background: #fff; font-size: 0.87em; max-height: 100vh;
  overflow-y: auto; position: sticky; top: 0; }
.SCOPE aside svg { background: inherit; display: block; max-width: 100%; position: sticky; top: 0; }
.SCOPE aside table { border-collapse: collapse; margin: 0.4em 0; width: 100%; }
.SCOPE aside td { background: none; border: 0; color: inherit; padding: 0.15em 0.4em 0.15em 0; text-align: left;
  vertical-align: top; }
.SCOPE aside td:last-child { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.SCOPE aside tr:focus { outline: 2px solid #0969da; }
.SCOPE aside small { color: #57606a; }
.SCOPE circle { fill: #fff; stroke: #57606a; }
.SCOPE circle.up { fill: #57606a; }
.SCOPE svg path { fill: none; stroke: #57606a; stroke-dasharray: 3 3; }
.SCOPE svg path.zero { stroke-dasharray: none; }
.SCOPE svg text { fill: #57606a; font-size: 11px; }
@media (max-width: 60em) {
  .SCOPE .all { display: block; }
  .SCOPE aside { border-top: 2px solid #d0d7de; bottom: 0; max-height: 38vh; scroll-padding: 23vh 0 0; top: auto; }
  .SCOPE aside svg { max-height: 22vh; width: 100%; }
}
@media (max-width: 40em) {
  .SCOPE { padding: 0.2em; }
  .SCOPE math { font-size: 0.97em; }
  .SCOPE .code pre { font-size: 11px; }
}
"""
#: In the dark, where the page is a file of its own: a notebook keeps its own light.
DARK = """
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; }
  .SCOPE, .SCOPE aside { background: #0d1117; color: #e6edf3; }
  .SCOPE .step, .SCOPE .sides, .SCOPE aside { border-color: #30363d; }
  .SCOPE h2 .tag, .SCOPE small, .SCOPE .reason, .SCOPE .where, .SCOPE summary, .SCOPE .proven, .SCOPE aside small,
  .SCOPE .sides small { color: #9198a1; }
  .SCOPE .headline.warning { background: #3d2a00; }
  .SCOPE .code pre { background: #161b22; }
  .SCOPE .code pre, .SCOPE .code pre span { color: #e6edf3; }
  .SCOPE .code .hll { background: #3b3000; }
  .SCOPE .residual.fails, .SCOPE .sides.fails b { color: #ff7b72; }
  .SCOPE .residual.holds::after, .SCOPE .figures .proven.bounded { color: #3fb950; }
  .SCOPE circle { fill: #0d1117; stroke: #9198a1; }
  .SCOPE circle.up { fill: #9198a1; }
  .SCOPE svg path { stroke: #9198a1; }
  .SCOPE svg text { fill: #9198a1; }
}
"""
#: What lights up with a symbol that is pointed at, or has the focus: itself everywhere, its row, and its samples.
LIT = """.SCOPE:has([data-s="NAME"]:is(:hover, :focus)) [data-s="NAME"] { background: #ffd33d; color: #1b1f24; }
.SCOPE:has([data-s="NAME"]:is(:hover, :focus)) circle[data-has~="NAME"] { fill: #ffab1f; r: 6px; stroke: #b35900; }
"""

BODY = """<div class="{{ scope }}">
<style>{{ style|safe }}</style>
<h1>Derivation: {{ title }}</h1>
<p class="headline{{ '' if trusted else ' warning' }}">{{ headline }}</p>
{% if proven %}
<p class="headline">{{ proven }}</p>
{% endif %}
<div class="all">
<div>
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
{% if key %}
<aside aria-label="symbols">
{{ drawing|safe }}
<table>
{% for symbol in key %}
<tr data-s="{{ symbol.name }}" tabindex="0"><td>{{ symbol.equation|safe }}</td>
<td>{{ symbol.meaning|safe }} <small>{{ symbol.shape }}</small></td><td>{{ symbol.number }}</td></tr>
{% endfor %}
</table>
</aside>
{% endif %}
</div>
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
INDEX = re.compile(r"(?<=\w)_(max|[ijy]_[ik]|[a-zA-Z0-9]{1,2})(?![a-zA-Z0-9_])")


def fragment(derivation: ShownDerivation, style: str = STYLE) -> str:
    """The page as one HTML element with its style, for a notebook.

    Raises MissingExtraError.
    """
    templates = _extra("jinja2").Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = templates.from_string(FUNCTION + BODY)
    colours = _extra("pygments.formatters").HtmlFormatter().get_style_defs(f".{SCOPE} .code")
    names = frozenset(symbol.name for symbol in derivation.key)
    lit = "".join(LIT.replace("NAME", name) for name in sorted(names))
    key = [{"name": each.name, "equation": named(mathml(each.latex), names), "meaning": indexed(each.meaning),
            "shape": each.shape, "number": each.number} for each in derivation.key]  # fmt: skip
    content: str = template.render(
        scope=SCOPE, style=colours + (style + lit).replace("SCOPE", SCOPE), key=key, title=derivation.title,
        headline=derivation.headline, trusted=derivation.trusted, proven=derivation.proven,
        drawing=drawn(derivation.picture), steps=[_cells(step, names) for step in derivation.steps],
    )  # fmt: skip
    return content


def document(derivation: ShownDerivation) -> str:
    """The page as a file of its own; errors as `fragment`."""
    return DOCUMENT.format(
        title=html.escape(f"Derivation: {derivation.title}"), body=fragment(derivation, STYLE + DARK)
    )


def preformatted(text: str) -> str:
    """Plain text for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"


def _cells(step: ShownStep, names: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What the template shows of a step."""
    state = "" if step.residual is None else "holds" if step.residual <= HOLDS else "fails"
    return {
        "tag": step.tag, "title": step.title,
        "text": indexed(" ".join(filter(None, [step.text, step.by_construction]))),
        "absent": step.absent, "equation": named(mathml(step.latex), names), "code": _code(step.code),
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


#: A symbol of MathML: a letter.
LETTER = re.compile(r"<mi>([^<]+)</mi>")


def named(equation: str, names: frozenset[str]) -> str:
    """MathML in which every symbol of the key has its name, so that all of them light up together."""
    return LETTER.sub(
        lambda found: f'<mi data-s="{html.unescape(found[1])}">{found[1]}</mi>'
        if html.unescape(found[1]) in names else found[0], equation
    )  # fmt: skip


#: Sides of the picture, and the room around its points.
WIDTH, HEIGHT, ROOM = 320, 230, 18


def drawn(picture: Picture | None) -> str:
    """The samples as SVG: filled above, open below, and what a sample has of each symbol when it is pointed at."""
    if picture is None:
        return ""
    low = picture.points.min(axis=0)
    spread = [float(each) or 1.0 for each in picture.points.max(axis=0) - low]

    def at(point: Any) -> tuple[float, float]:
        x, y = ((float(point[k]) - float(low[k])) / spread[k] for k in (0, 1))
        return ROOM + x * (WIDTH - 2 * ROOM), HEIGHT - ROOM - y * (HEIGHT - 2 * ROOM)

    lines, points = "", ""
    for level, pieces in picture.lines:
        ends = [(*at(one), *at(other)) for one, other in pieces]
        drawn_through = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
        lines += f'<path class="{"" if level else "zero"}" d="{drawn_through}"/>'
    for point, side, said, has in zip(picture.points, picture.side, picture.said, picture.has, strict=True):
        x, y = at(point)
        points += f'<circle class="{"up" if side else ""}" data-has="{" ".join(has)}" cx="{x:.1f}" cy="{y:.1f}" r="4">'
        points += f"<title>{html.escape(said)}</title></circle>"
    across, up = map(html.escape, picture.axes)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="the samples">{lines}{points}'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 3}" text-anchor="end">{across}</text><text x="3" y="11">{up}</text></svg>'
    )


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
