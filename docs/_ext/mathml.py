"""Formulas as MathML, which browsers draw themselves: no script, no picture, nothing from a network."""

from __future__ import annotations

import html
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx


def render_inline(translator: Any, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def render_display(translator: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own; on a narrow page it scrolls within its box."""
    formula = latex2mathml.converter.convert(node.astext(), display="block")
    identifiers = "".join(f' id="{html.escape(each)}"' for each in node.get("ids", [])[:1])
    translator.body.append(f'<div class="formula" tabindex="0"{identifiers}>{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """The renderer that `html_math_renderer = "mathml"` names."""
    app.add_html_math_renderer("mathml", (render_inline, None), (render_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
