"""Public names in code style become links to their pages: `solve`, `CSVM`, `qpsvm.plotting.hulls`.

So the pages and the docstrings need no markup for links, and a name that moves takes its links with it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment

import qpsvm

#: Words that are a public name and something else too: they are linked with `qpsvm.` in front only.
AMBIGUOUS = {"compile", "load", "backends", "plotting"}

SIZE = re.compile(r"\|([^|`\s](?:[^|`]*[^|`\s])?)\|")


def public(text: str) -> str:
    """The full name that a piece of code stands for, or ""."""
    text = text.removesuffix("()")
    if text.startswith("qpsvm."):
        return text
    first = text.partition(".")[0]
    return f"qpsvm.{text}" if first in qpsvm.__all__ and text not in AMBIGUOUS else ""


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap the code in a link to the page of the name, if that has one."""
    domain = app.env.get_domain("py")
    assert isinstance(domain, PythonDomain)
    for literal in list(doctree.findall(nodes.literal)):
        found = domain.objects.get(public(literal.astext()))
        if found is None or isinstance(literal.parent, nodes.reference) or found.docname == docname:
            continue
        target = f"{app.builder.get_relative_uri(docname, found.docname)}#{found.node_id}"
        wrapped = nodes.reference("", "", internal=True, refuri=target, classes=["name-link"])
        literal.parent.replace(literal, wrapped)
        wrapped += literal


def by_home(app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: nodes.TextElement) -> nodes.Node | None:
    """A class that Sphinx names by its module (`qpsvm.problems.base.Problem`) is found by its public name."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith("qpsvm."):
        return None
    found = env.get_domain("py").objects.get(f"qpsvm.{target.rpartition('.')[2]}")  # type: ignore[attr-defined]
    if found is None:
        return shown if target.count(".") > 1 else None
    uri = f"{app.builder.get_relative_uri(node.get('refdoc', ''), found.docname)}#{found.node_id}"
    reference = nodes.reference("", "", internal=True, refuri=uri)
    reference += shown
    return reference


def plain_bars(*given: Any) -> None:
    """|x| in a docstring, whose lines come last, is a size and no name of something to insert."""
    lines: list[str] = given[-1]
    lines[:] = [line if ">>>" in line else SIZE.sub(r"\\|\1\\|", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """The links."""
    app.connect("doctree-resolved", link)
    app.connect("autodoc-process-docstring", plain_bars, priority=600)
    app.connect("missing-reference", by_home)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
