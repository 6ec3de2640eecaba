"""Write a derivation as HTML: an element for a notebook, or a complete page.

Equations become MathML, which browsers draw themselves, and the styles of `templates` are written into the page: no
network is needed. A step is its equation beside its words and numbers, and its code below them.
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
from qpsvm.derivation.display import HOLDS, Code, Picture, ShownDerivation, ShownStep

#: What lights up with a symbol that is pointed at, or has the focus: itself everywhere, its row, and its samples.
LIT = """.SCOPE:has([data-s="NAME"]:is(:hover, :focus)) [data-s="NAME"] { background: #ffd33d; color: #1b1f24; }
.SCOPE:has([data-s="NAME"]:is(:hover, :focus)) circle[data-has~="NAME"] { fill: #ffab1f; r: 6px; stroke: #b35900; }
"""
#: Class of the page's outermost element: with it, the page's styles reach nothing else in a notebook.
SCOPE = "qpsvm-derivation"
#: An index in plain text, such as that of α_i, K_ij and ν_max.
INDEX = re.compile(r"(?<=\w)_(max|[ijy]_[ik]|[a-zA-Z0-9]{1,2})(?![a-zA-Z0-9_])")
#: A symbol of MathML: a letter.
LETTER = re.compile(r"<mi>([^<]+)</mi>")
#: Sides of the picture, and the room around its points.
WIDTH, HEIGHT, ROOM = 320, 230, 18


@cache
def read_template(name: str) -> str:
    """Read a template, or a style."""
    return files("qpsvm.derivation.written").joinpath("templates", name).read_text(encoding="utf-8")


def build_code_style(style: str) -> str:
    """Build the colours of code, as CSS."""
    defined: str = _extra("pygments.formatters").HtmlFormatter(style=style).get_style_defs(f".{SCOPE} .code")
    return defined


def render_fragment(derivation: ShownDerivation, dark: bool = False) -> str:
    """Render the page as one HTML element with its style, for a notebook; with `dark` also for a dark theme.

    Raises MissingExtraError.
    """
    templates = _extra("jinja2").Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style = "".join(map(read_template, ("page.css", *["dark.css"] * dark)))
    colours = build_code_style("default") if not dark else (
        f"@media not all and (prefers-color-scheme: dark) {{ {build_code_style('default')} }}\n"
        f"@media (prefers-color-scheme: dark) {{ {build_code_style('github-dark')} }}"
    )  # fmt: skip
    names = frozenset(symbol.name for symbol in derivation.key)
    lit = "".join(LIT.replace("NAME", name) for name in sorted(names))
    key = [
        {
            "name": each.name,
            "equation": tag_symbols(mathml(each.latex), names),
            "meaning": mark_indices(each.meaning),
            "shape": each.shape,
            "number": each.number,
        }
        for each in derivation.key
    ]
    content: str = templates.from_string(read_template("steps.html")).render(
        scope=SCOPE, style=f"{colours}\n" + (style + lit).replace("SCOPE", SCOPE), key=key, title=derivation.title,
        headline=derivation.headline, trusted=derivation.trusted, proven=derivation.proven,
        drawing=draw_picture(derivation.picture), steps=[_build_context(step, names) for step in derivation.steps],
    )  # fmt: skip
    return content


def document(derivation: ShownDerivation) -> str:
    """Render the page as a file; errors as `render_fragment`."""
    title = html.escape(f"Derivation: {derivation.title}")
    return read_template("document.html").format(title=title, body=render_fragment(derivation, dark=True))


def wrap_preformatted(text: str) -> str:
    """Wrap plain text for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"


def _build_context(step: ShownStep, names: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Build the values that the template shows of a step."""
    state = "" if step.residual is None else "holds" if step.residual <= HOLDS else "fails"
    return {
        "tag": step.tag, "title": step.title,
        "text": mark_indices(" ".join(filter(None, [step.text, step.by_construction]))),
        "absent": step.absent, "equation": tag_symbols(mathml(step.latex), names), "code": _build_code(step.code),
        "library": None if step.library is None else _build_code(step.library),
        "residual": step.residual_text, "reason": mark_indices(step.reason), "state": state,
        "sides": step.sides_text, "of": mark_indices(step.of),
        "proven": step.proven_text, "proven_of": mark_indices(step.proven_sentence),
    }  # fmt: skip


def mark_indices(text: str) -> str:
    """Convert plain text to HTML, with indices as subscripts, such as that of α_i."""
    return INDEX.sub(r"<sub>\1</sub>", html.escape(text))


def _build_code(code: Code) -> dict[str, str]:
    """Return the location of a function, its excerpt, and the full source if that is longer."""
    shown = code.excerpt or code
    whole = _highlight(code.text, code.lines) if code.excerpt else ""
    return {"where": code.where, "excerpt": _highlight(shown.text, shown.lines), "whole": whole}


@cache
def mathml(latex: str) -> str:
    """Convert an equation to MathML, which browsers draw; a `MissingExtraError` without the extra `teach`."""
    equation: str = _extra("latex2mathml.converter").convert(latex, display="block")
    return equation


def tag_symbols(equation: str, names: frozenset[str]) -> str:
    """Tag the symbols of the key in MathML with their names, so that all occurrences light up together."""
    return LETTER.sub(
        lambda found: f'<mi data-s="{html.unescape(found[1])}">{found[1]}</mi>'
        if html.unescape(found[1]) in names else found[0], equation
    )  # fmt: skip


def draw_picture(picture: Picture | None) -> str:
    """Draw the samples as SVG: filled above, open below, with the amounts of each symbol on hovering."""
    if picture is None:
        return ""
    low = picture.points.min(axis=0)
    spread = [float(each) or 1.0 for each in picture.points.max(axis=0) - low]

    def to_pixels(point: Any) -> tuple[float, float]:
        x, y = ((float(point[k]) - float(low[k])) / spread[k] for k in (0, 1))
        return ROOM + x * (WIDTH - 2 * ROOM), HEIGHT - ROOM - y * (HEIGHT - 2 * ROOM)

    lines, points = "", ""
    for level, pieces in picture.lines:
        ends = [(*to_pixels(one), *to_pixels(other)) for one, other in pieces]
        drawn_through = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
        lines += f'<path class="{"" if level else "zero"}" d="{drawn_through}"/>'
    for point, side, text, has in zip(
        picture.points, picture.side, picture.captions, picture.symbol_names, strict=True
    ):
        x, y = to_pixels(point)
        points += f'<circle class="{"up" if side else ""}" data-has="{" ".join(has)}" cx="{x:.1f}" cy="{y:.1f}" r="4">'
        points += f"<title>{html.escape(text)}</title></circle>"
    across, up = map(html.escape, picture.axes)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="the samples">{lines}{points}'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 3}" text-anchor="end">{across}</text><text x="3" y="11">{up}</text></svg>'
    )


def require_extra() -> None:
    """Check that the packages of a page are installed, before anything is computed. Raises MissingExtraError."""
    for name in ("jinja2", "latex2mathml", "pygments"):
        _extra(name)


@cache
def _highlight(code: str, lines: tuple[int, ...]) -> str:
    """Highlight Python code, with some lines marked."""
    formatter = _extra("pygments.formatters").HtmlFormatter(cssclass="code", hl_lines=[line + 1 for line in lines])
    coloured: str = _extra("pygments").highlight(code, _extra("pygments.lexers").PythonLexer(), formatter)
    return coloured


def _extra(name: str) -> ModuleType:
    """Import a module of the extra `teach`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise MissingExtraError(
            f"the page of a derivation needs the package {package!r}, which is not installed (print(derivation) works "
            f"without); run: {describe_install('teach')}"
        ) from None
