"""Write a derivation as HTML: an element for a notebook, or a complete page.

Equations become MathML, which browsers render, and the styles of `templates` are written into the page: no network is
needed. A step shows its equation next to its sentences and numbers, and its code below them.
"""

from __future__ import annotations

import html
import importlib
import re
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

from qpsvm.base.errors import MissingExtraError, describe_install
from qpsvm.derivation.display import RESIDUAL_TOL, Code, Picture, ShownDerivation, ShownStep

#: Style of the symbol NAME while it is pointed at or has the focus: it is highlighted everywhere, with its samples.
HIGHLIGHT = """.SCOPE:has([data-s="NAME"]:is(:hover, :focus)) [data-s="NAME"] { background: #ffd33d; color: #1b1f24; }
.SCOPE:has([data-s="NAME"]:is(:hover, :focus)) circle[data-has~="NAME"] { fill: #ffab1f; r: 6px; stroke: #b35900; }
"""
#: Class of the page's outermost element, which limits the page's styles to this element of a notebook.
SCOPE = "qpsvm-derivation"
#: An index in plain text, such as that of α_i, K_ij and ν_max.
INDEX = re.compile(r"(?<=\w)_(max|[ijy]_[ik]|[a-zA-Z0-9]{1,2})(?![a-zA-Z0-9_])")
#: A symbol of MathML: a letter.
LETTER = re.compile(r"<mi>([^<]+)</mi>")
#: Width and height of the picture, and the margin around its points, in pixels.
WIDTH, HEIGHT, MARGIN = 320, 230, 18


@cache
def read_template(name: str) -> str:
    """Read a file of `templates`: a template, or a style."""
    return files("qpsvm.derivation.written").joinpath("templates", name).read_text(encoding="utf-8")


def build_code_style(style: str) -> str:
    """Build the colours of code, as CSS."""
    css: str = _import_extra("pygments.formatters").HtmlFormatter(style=style).get_style_defs(f".{SCOPE} .code")
    return css


def render_fragment(derivation: ShownDerivation, dark: bool = False) -> str:
    """Render the page as one HTML element with its style, for a notebook; with `dark` also for a dark theme.

    Raises MissingExtraError.
    """
    environment = _import_extra("jinja2").Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    names = frozenset(symbol.name for symbol in derivation.key)
    key = [
        {
            "name": symbol.name,
            "equation": tag_symbols(mathml(symbol.latex), names),
            "meaning": mark_indices(symbol.meaning),
            "shape": symbol.shape,
            "number": symbol.number,
        }
        for symbol in derivation.key
    ]
    content: str = environment.from_string(read_template("steps.html")).render(
        scope=SCOPE, style=_build_style(names, dark), key=key, title=derivation.title,
        headline=derivation.headline, trusted=derivation.trusted, proven=derivation.proven,
        drawing=draw_picture(derivation.picture), steps=[_build_context(step, names) for step in derivation.steps],
    )  # fmt: skip
    return content


def render_document(derivation: ShownDerivation) -> str:
    """Render the page as a complete document. Raises MissingExtraError."""
    title = html.escape(f"Derivation: {derivation.title}")
    return read_template("document.html").format(title=title, body=render_fragment(derivation, dark=True))


def _build_style(names: frozenset[str], dark: bool) -> str:
    """Build the CSS of the page: the colours of code, the templates, and the highlighting of symbols."""
    colours = build_code_style("default") if not dark else (
        f"@media not all and (prefers-color-scheme: dark) {{ {build_code_style('default')} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {build_code_style('github-dark')} }}"
    )  # fmt: skip
    style = "".join(map(read_template, ("page.css", "dark.css") if dark else ("page.css",)))
    highlight_styles = "".join(HIGHLIGHT.replace("NAME", name) for name in sorted(names))
    return f"{colours}\n" + (style + highlight_styles).replace("SCOPE", SCOPE)


def wrap_preformatted(text: str) -> str:
    """Wrap plain text in an HTML element, for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"


def _build_context(step: ShownStep, names: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Build the template's values for a step; symbols with these names are tagged in its equation."""
    if step.residual is None:
        state = ""
    elif step.residual <= RESIDUAL_TOL:
        state = "holds"
    else:
        state = "fails"
    return {
        "tag": step.tag, "title": step.title,
        "text": mark_indices(" ".join(filter(None, [step.text, step.by_construction]))),
        "absent": step.absent, "equation": tag_symbols(mathml(step.latex), names), "code": _build_code(step.code),
        "library": None if step.library is None else _build_code(step.library),
        "residual": step.residual_text, "reason": mark_indices(step.reason), "state": state,
        "sides": step.sides_text, "description": mark_indices(step.description),
        "proven": step.proven_text, "proven_description": mark_indices(step.proven_sentence),
    }  # fmt: skip


def mark_indices(text: str) -> str:
    """Convert plain text to HTML, with indices as subscripts, such as that of α_i."""
    return INDEX.sub(r"<sub>\1</sub>", html.escape(text))


def _build_code(code: Code) -> dict[str, str]:
    """Return the location of a function, its excerpt, and the full source if that is longer."""
    excerpt = code.excerpt or code
    full_source = _highlight(code.text, code.lines) if code.excerpt else ""
    return {"where": code.where, "excerpt": _highlight(excerpt.text, excerpt.lines), "whole": full_source}


@cache
def mathml(latex: str) -> str:
    """Convert an equation to MathML. Raises MissingExtraError."""
    equation: str = _import_extra("latex2mathml.converter").convert(latex, display="block")
    return equation


def tag_symbols(equation: str, names: frozenset[str]) -> str:
    """Tag the symbols of the key in MathML with their names, so that all occurrences are highlighted together."""

    def tag(match: re.Match[str]) -> str:
        name = html.unescape(match[1])
        if name in names:
            return f'<mi data-s="{name}">{match[1]}</mi>'
        return match[0]

    return LETTER.sub(tag, equation)


def draw_picture(picture: Picture | None) -> str:
    """Draw the samples as SVG: filled above, open below, with the values of each symbol as a tooltip; "" for None."""
    if picture is None:
        return ""
    low = picture.points.min(axis=0)
    ranges = [float(length) or 1.0 for length in picture.points.max(axis=0) - low]

    def to_pixels(point: Any) -> tuple[float, float]:
        x, y = ((float(point[k]) - float(low[k])) / ranges[k] for k in (0, 1))
        return MARGIN + x * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN)

    lines, points = "", ""
    for level, pieces in picture.lines:
        ends = [(*to_pixels(start), *to_pixels(end)) for start, end in pieces]
        path = "".join(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" for x1, y1, x2, y2 in ends)
        lines += f'<path class="{"" if level else "zero"}" d="{path}"/>'
    for point, side, caption, symbols in zip(
        picture.points, picture.side, picture.captions, picture.symbol_names, strict=True
    ):
        x, y = to_pixels(point)
        side_class = "up" if side else ""
        points += f'<circle class="{side_class}" data-has="{" ".join(symbols)}" cx="{x:.1f}" cy="{y:.1f}" r="4">'
        points += f"<title>{html.escape(caption)}</title></circle>"
    x_label, y_label = map(html.escape, picture.axes)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="the samples">{lines}{points}'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 3}" text-anchor="end">{x_label}</text>'
        f'<text x="3" y="11">{y_label}</text></svg>'
    )


def require_extra() -> None:
    """Check that the packages of a page are installed, before anything is computed. Raises MissingExtraError."""
    for name in ("jinja2", "latex2mathml", "pygments"):
        _import_extra(name)


@cache
def _highlight(code: str, lines: tuple[int, ...]) -> str:
    """Convert Python code to HTML with colours, with some lines, counted from 0, marked."""
    formatter = _import_extra("pygments.formatters").HtmlFormatter(
        cssclass="code", hl_lines=[line + 1 for line in lines]
    )
    highlighted: str = _import_extra("pygments").highlight(
        code, _import_extra("pygments.lexers").PythonLexer(), formatter
    )
    return highlighted


def _import_extra(name: str) -> ModuleType:
    """Import a module of the extra `teach`. Raises MissingExtraError."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise MissingExtraError(
            f"the page of a derivation needs the package {package!r}, which is not installed (print(derivation) works "
            f"without); run: {describe_install('teach')}"
        ) from None
