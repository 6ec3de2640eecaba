"""Public names in code style become links to their pages: `solve`, `CSVM`, `qpsvm.plotting.hulls`.

So the pages and the docstrings need no markup for links, and a name that moves takes its links with it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment

import qpsvm
import qpsvm.estimators

#: Words that are a public name and something else too: they are linked with `qpsvm.` in front only.
AMBIGUOUS = {"compile", "load", "backends", "plotting"}

#: A link to a generated page: its address, its home and name, and what follows that name in the anchor.
BACK = re.compile(r"([^\"#]*/generated/(qpsvm(?:\.[a-z_]+)*\.)(\w+)\.html)#qpsvm(?:\.[a-z_]+)*?\.\3([^\"]*)(?=\")")
SIZE = re.compile(r"\|([^|`\s](?:[^|`]*[^|`\s])?)\|")


def resolve_public(text: str) -> str:
    """The full name that a piece of code stands for, or ""."""
    text = text.removesuffix("()")
    if text.startswith("qpsvm."):
        return text
    first = text.partition(".")[0]
    if first in qpsvm.__all__:
        return "" if text in AMBIGUOUS else f"qpsvm.{text}"
    return f"qpsvm.estimators.{text}" if first in qpsvm.estimators.__all__ else ""


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap code that is a public name, and public names among the types of a docstring, in links to their pages."""
    for literal in list(doctree.findall(nodes.literal)):
        if not isinstance(literal.parent, nodes.reference):
            wrapped = build_reference(app, docname, resolve_public(literal.astext()))
            if wrapped is not None:
                literal.parent.replace(literal, wrapped)
                wrapped += literal
    for content in doctree.findall(addnodes.desc_content):
        for term in content.findall(lambda node: isinstance(node, (nodes.term, nodes.classifier))):
            for text in list(term.findall(nodes.Text)):
                link_types(app, docname, text)


def link_types(app: Sphinx, docname: str, text: nodes.Text) -> None:
    """Make the public classes in a list of types, such as "SVMResult or array_like", links."""
    parts: list[nodes.Node] = []
    for part in re.split(r"(\b[A-Z]\w+\b)", text):
        wrapped = build_reference(app, docname, f"qpsvm.{part}" if part in qpsvm.__all__ else "")
        if wrapped is not None:
            wrapped += nodes.Text(part)
        parts.append(wrapped or nodes.Text(part))
    if len(parts) > 1:
        text.parent.replace(text, parts)


def build_reference(app: Sphinx, docname: str, name: str) -> nodes.reference | None:
    """An empty link to the page of a name; None where it has no other page."""
    domain = app.env.get_domain("py")
    assert isinstance(domain, PythonDomain)
    found = domain.objects.get(name)
    if found is None or found.docname == docname:
        return None
    target = f"{app.builder.get_relative_uri(docname, found.docname)}#{found.node_id}"
    return nodes.reference("", "", internal=True, refuri=target, classes=["name-link"])


def resolve_by_home(
    app: Sphinx, _env: BuildEnvironment, node: pending_xref, shown: nodes.TextElement
) -> nodes.Node | None:
    """Find a class that Sphinx names by its module, such as `qpsvm.machines.c_svm.CSVM`, by its public name."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith("qpsvm."):
        return None
    home = "qpsvm.estimators" if target.startswith("qpsvm.estimators.") else "qpsvm"
    found = build_reference(app, node.get("refdoc", ""), f"{home}.{target.rpartition('.')[2]}")
    if found is None:
        return None
    found += shown
    return found


def replace_hidden_bases(_app: Sphinx, _name: str, _shown: Any, _options: Any, bases: list[type]) -> None:
    """In place of a base that has no page, what that is built on: the reader of a page can go there."""
    while any(is_hidden(base) for base in bases):
        bases[:] = [
            above for base in bases for above in (strip_generic(base).__bases__ if is_hidden(base) else (base,))
        ]


def skip_sklearn_methods(_app: Sphinx, _what: str, name: str, member: Any, skip: bool, _options: Any) -> bool | None:
    """Methods that scikit-learn gives its estimators have their words on its pages."""
    foreign = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else skip or None


def strip_generic(base: Any) -> type:
    """The class itself of one with the type of its items, `Sequence[float]`."""
    kind: type = getattr(base, "__origin__", base)
    return kind


def is_hidden(base: type) -> bool:
    """Whether a class is one of the library's own that it does not show."""
    return base.__module__.startswith("qpsvm.") and not resolve_public(strip_generic(base).__name__)


def escape_bars(*given: Any) -> None:
    """|x| in a docstring, whose lines come last, is a size and no name of something to insert."""
    lines: list[str] = given[-1]
    lines[:] = [line if ">>>" in line else SIZE.sub(r"\\|\1\\|", line) for line in lines]


def fix_back_links(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """From source code back to the page of a name, where it stands under the page's own name.

    Sphinx takes one home for a whole file: the first that it meets of `qpsvm` and `qpsvm.backends`.
    """
    if page.startswith("_modules/"):
        context["body"] = BACK.sub(r"\1#\2\3\4", context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """The links."""
    app.connect("doctree-resolved", link_names)
    app.connect("autodoc-process-docstring", escape_bars, priority=600)
    app.connect("autodoc-process-bases", replace_hidden_bases)
    app.connect("autodoc-skip-member", skip_sklearn_methods)
    app.connect("missing-reference", resolve_by_home)
    app.connect("html-page-context", fix_back_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
