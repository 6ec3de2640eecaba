"""Numbered equations: where each is stated, and a link wherever it is mentioned.

`.. equations::` lists every equation that a docstring of the library defines, module by module. A mention in brackets,
(CSVM.4), on any page becomes a link to the step of the derivation, or else to this list.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import qpsvm

LOG = logging.getLogger(__name__)
PACKAGE = Path(qpsvm.__file__).parent
TAG = r"[A-Z][A-Z0-9]+\.\d+"
#: A definition as the docstrings write it. Lines that are indented deeper continue it.
DEFINITION = re.compile(rf"^( *)\(({TAG})\)  (\S.*(?:\n\1 +\S.*)*)", re.MULTILINE)
MENTION = re.compile(rf"(?<=\()({TAG})(?=\))")
#: What is never made a link: code, headings, and what is a link already.
KEPT = (nodes.literal, nodes.literal_block, nodes.title, nodes.reference, nodes.raw, nodes.math, nodes.math_block)


def make_anchor(tag: str) -> str:
    """The anchor of an equation: csvm-4 of CSVM.4."""
    return tag.lower().replace(".", "-")


def find_pages(env: BuildEnvironment) -> dict[str, str]:
    """By tag, the page where an equation stands; a derivation goes before the list."""
    if not hasattr(env, "equation_pages"):
        env.equation_pages = {}
    found: dict[str, str] = env.equation_pages
    return found


class Equations(SphinxDirective):
    """Every equation of the library, by the module whose docstring defines it."""

    def run(self) -> list[nodes.Node]:
        """One section a module."""
        self.env.note_reread()  # any module may have changed
        return [self._build_section(*each) for each in iter_modules()]

    def _build_section(self, name: str, idea: str, found: dict[str, str]) -> nodes.section:
        heading = nodes.title("", name.removeprefix("qpsvm."))
        section = nodes.section("", heading, ids=[nodes.make_id(name)], names=[name])
        section += nodes.paragraph("", idea)
        rows = nodes.definition_list(classes=["equations"])
        for tag, equation in found.items():
            elsewhere = find_pages(self.env).get(tag, self.env.docname) != self.env.docname
            anchors = [] if elsewhere else [make_anchor(tag)]
            if not elsewhere:
                find_pages(self.env)[tag] = self.env.docname
            text = nodes.definition("", nodes.paragraph("", equation))
            rows += nodes.definition_list_item("", nodes.term("", f"({tag})", ids=anchors), text)
        section += rows
        return section


def iter_modules() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Name, first line and equations of every module that defines some."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts = [ast.get_docstring(each) or "" for each in ast.walk(tree) if isinstance(each, documented)]
        found = {tag: join_lines(said) for text in texts for _, tag, said in DEFINITION.findall(text)}
        if found:
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            yield name, (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " "), found


def join_lines(equation: str) -> str:
    """Lines joined. Two spaces set a condition apart, and stay wide."""
    return re.sub(r"\s*\n\s*", " ", equation).replace("  ", "\u2003")


def link_mentions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make every mention in brackets a link."""
    pages = find_pages(app.env)
    for text in list(doctree.findall(nodes.Text)):
        if not MENTION.search(text) or any(isinstance(above, KEPT) for above in iter_ancestors(text)):
            continue
        parts: list[nodes.Node] = []
        for part in re.split(rf"(?<=\()({TAG})(?=\))", text):
            if not re.fullmatch(TAG, part):
                parts.append(nodes.Text(part))
            elif part in pages:
                parts.append(build_reference(app, docname, pages[part], part))
            else:
                LOG.warning("(%s) is mentioned, and no page states it", part, location=docname)
        text.parent.replace(text, parts)


def iter_ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    """Parent, grandparent and so on."""
    while node.parent is not None:
        node = node.parent
        yield node


def build_reference(app: Sphinx, here: str, page: str, tag: str) -> nodes.reference:
    """A link to an equation."""
    target = "" if page == here else app.builder.get_relative_uri(here, page)
    return nodes.reference("", tag, internal=True, refuri=f"{target}#{make_anchor(tag)}", classes=["equation-link"])


def forget_page(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page is read again: what it stated is void."""
    for tag in [tag for tag, page in find_pages(env).items() if page == docname]:
        del find_pages(env)[tag]


def setup(app: Sphinx) -> dict[str, Any]:
    """The directive, and the links."""
    app.add_directive("equations", Equations)
    app.connect("env-purge-doc", forget_page)
    app.connect("doctree-resolved", link_mentions)
    return {"parallel_read_safe": False, "parallel_write_safe": True, "version": "1"}
