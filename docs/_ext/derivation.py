"""`.. derivation::` holds code that makes `problem` and `result`; the library then derives the machine and measures it.

Each step becomes a section with its equation, its residual on that data, a few sentences, and the function that states
it. Its tag is the anchor, so that a mention of it anywhere on the site leads there. Steps that do not exist for this
problem are left out; `:steps: PHINGE.17` shows only those that it names.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from equations import find_pages, make_anchor
from run import build_listing as build_output
from run import execute
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import qpsvm
from qpsvm.derivation.display import RESIDUAL_TOL, Code, ShownDerivation, ShownStep
from qpsvm.derivation.written.page import INDEX


class DerivationDirective(SphinxDirective):
    """The code, what it prints, and the steps."""

    has_content = True
    option_spec: ClassVar = {"steps": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The example, and a section for each step."""
        self.env.note_reread()  # the library may have changed
        code = "\n".join(self.content)
        names: dict[str, Any] = {}
        printed = execute(code, names)
        derivation = qpsvm.derive(names["problem"], names["result"])
        shown = derivation.shown()
        if not shown.trusted:
            raise self.error(f"this derivation is not measured at an optimum: {shown.headline}")
        headline = nodes.paragraph("", f"{shown.title}: {shown.headline}.", classes=["headline"])
        output = [build_output(printed, "text", "run-output")] if printed else []
        wanted = self.options.get("steps", "").split() or [step.tag for step in shown.steps]
        steps = [self._build_step(step) for step in shown.steps if step.tag in wanted and not step.absent]
        return [
            build_output(code, "python", "run-input"),
            *output,
            headline,
            build_fold("symbols", build_key(shown)),
            *steps,
        ]

    def _build_step(self, step: ShownStep) -> nodes.section:
        anchor = make_anchor(step.tag)
        find_pages(self.env)[step.tag] = self.env.docname
        section = nodes.section("", nodes.title("", f"({step.tag}) {step.title}"), ids=[anchor], names=[anchor])
        section["classes"].append("equation-step")
        section += nodes.math_block(step.latex, step.latex, nowrap=False, number=None)
        section += build_verdict(step)
        section += build_paragraph(" ".join(filter(None, [step.text, step.by_construction])))
        section += build_code_box(step.code)
        if step.library is not None:
            section += build_fold("where the library does it", build_listing(step.library))
        return section


def build_key(shown: ShownDerivation) -> nodes.bullet_list:
    """The symbols of its equations, each with its meaning, shape and number."""
    found = nodes.bullet_list()
    for symbol in shown.key:
        said = [f": {symbol.meaning}", symbol.shape, symbol.number]
        words = nodes.paragraph(
            "", "", nodes.math(symbol.latex, symbol.latex), *mark_indices(", ".join(filter(None, said)))
        )
        found += nodes.list_item("", words)
    return found


def build_paragraph(text: str) -> nodes.paragraph:
    """A paragraph of plain text."""
    return nodes.paragraph("", "", *mark_indices(text))


def mark_indices(text: str) -> list[nodes.Node]:
    """Plain text with its indices set as such, as on the page of a derivation."""
    parts = INDEX.split(text)  # text and index take turns
    return [nodes.subscript("", part) if k % 2 else nodes.Text(part) for k, part in enumerate(parts)]


def build_verdict(step: ShownStep) -> nodes.container:
    """Both sides of the equation and the residual, or why there is none."""
    if step.residual is None:
        return nodes.container("", build_paragraph(step.reason), classes=["residual"])
    state = "holds" if step.residual <= RESIDUAL_TOL else "fails"
    found = nodes.container("", classes=["residual"])
    if step.sides_text:
        found += nodes.paragraph("", "", nodes.strong("", step.sides_text), *mark_indices(f"   {step.description}"))
    found += nodes.paragraph("", step.residual_text, classes=[state])
    return found


def build_code_box(code: Code) -> nodes.container:
    """Where the equation is in the library: what is to be seen of a function and, folded, the whole if that is more."""
    shown = nodes.container("", nodes.paragraph("", code.where, classes=["where"]), classes=["source"])
    shown += build_listing(code.excerpt or code)
    if code.excerpt:
        shown += build_fold("the whole function", build_listing(code))
    return shown


def build_listing(code: Code) -> nodes.literal_block:
    """Code, with the lines marked that are the equation."""
    block = nodes.literal_block(code.text, code.text, language="python")
    if code.lines:
        block["highlight_args"] = {"hl_lines": [number + 1 for number in code.lines]}
    return block


def build_fold(title: str, *content: nodes.Node) -> nodes.container:
    """Something that opens with a click."""
    opening = nodes.raw("", f"<details><summary>{title}</summary>", format="html")
    return nodes.container("", opening, *content, nodes.raw("", "</details>", format="html"), classes=["folded"])


def setup(app: Sphinx) -> dict[str, Any]:
    """The directive."""
    app.add_directive("derivation", DerivationDirective)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
