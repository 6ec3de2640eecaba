"""Chapters that run in the page: their scripts as one file, and equations whose terms have numbers.

`.. live:: c CSVM.2` shows the lines of an equation, each term as a formula of its own with room for its number. The
script finds them by the machine, the tag and the place of the line, and evaluates the same terms, in JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import latex2mathml.converter
import numpy as np
from docutils import nodes
from equations import make_anchor
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import qpsvm
from qpsvm.derivation.expressions import RELATIONS, EquationLine
from qpsvm.derivation.step import Step
from qpsvm.derivation.written import javascript

HERE = Path(__file__).resolve().parent.parent / "chapters"
#: In the order in which they need each other.
MODULES = ("solver.mjs", "equations.mjs", "plane.mjs", "posed.mjs", "beside.mjs", "chapters.mjs")
X, Y = np.array([[0.0, 0.0], [1.0, 0.5], [3.0, 2.5], [3.5, 4.0], [0.5, 1.0], [4.0, 3.0]]), np.array([0, 0, 1, 1, 0, 1])
#: The machines of the chapters, by their names on the command line, as examples to derive from.
EXAMPLES = {
    "hard": lambda: qpsvm.HardMargin(X, Y), "c": lambda: qpsvm.CSVM(X, Y), "nu": lambda: qpsvm.NuSVM(X, Y, nu=0.3),
    "epsilon-svr": lambda: qpsvm.EpsilonSVR(X[:, :1], X[:, 1]), "one-class": lambda: qpsvm.OneClass(X, kernel="rbf"),
}  # fmt: skip
#: The pages of their derivations.
PAGES = {
    "hard": "hard_margin", "c": "c_svm", "nu": "nu_svm", "epsilon-svr": "epsilon_svr", "one-class": "one_class",
}  # fmt: skip


@cache
def derive_steps(machine: str) -> dict[str, Step]:
    """The steps of a machine's derivation, by tag."""
    return {step.tag: step for step in qpsvm.derive(EXAMPLES[machine]()).steps}


def build_script() -> str:
    """Everything as one script, which also runs from a file: browsers refuse modules there."""
    generated = javascript.build_module({name: [*derive_steps(name).values()] for name in EXAMPLES})
    return f"(() => {{\n{join_scripts(generated, MODULES)}\n}})();\n"


def join_scripts(equations: str, names: Sequence[str]) -> str:
    """The equations and some of the modules, one after the other."""
    return "\n".join(map(enclose_module, [equations, *((HERE / name).read_text(encoding="utf-8") for name in names)]))


def enclose_module(module: str) -> str:
    """A module as a function that is called at once: what it exports are names outside, all others stay its own."""
    names = re.findall(r"^export (?:const|function|class) (\w+)", module, flags=re.MULTILINE)
    text = re.sub(r"^import [^;]*;\n", "", module, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    return f"const {{ {', '.join(names)} }} = (() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();"


class Live(SphinxDirective):
    """Lines of an equation, with a number at each term."""

    required_arguments = 2
    optional_arguments = 8
    final_argument_whitespace = False

    def run(self) -> list[nodes.Node]:
        """The lines whose numbers are given, or all."""
        machine, tag, *places = self.arguments
        found = javascript.select_lines(derive_steps(machine)[tag])
        rows = [render_line(line, machine, tag, k) for k, line in enumerate(found) if not places or str(k) in places]
        if not rows:
            raise self.error(f"({tag}) has no such lines: there are {len(found)}")
        return [nodes.raw("", f'<div class="live" id="live-{machine}-{tag}">{"".join(rows)}</div>', format="html")]


def render_line(line: EquationLine, machine: str, tag: str, place: int) -> str:
    """A line as HTML."""
    parts = []
    if line.premise is not None:
        parts += [*render_sides(line.premise, "premise"), render_formula(r"\;\Rightarrow\;")]
    parts += render_sides(line, "side")
    return (
        f'<p class="live-line" data-machine="{machine}" data-tag="{tag}" data-line="{place}">{"".join(parts)}'
        f'<a class="tag" href="theory/{PAGES[machine]}.html#{make_anchor(tag)}">({tag})</a></p>'
    )


def render_sides(line: EquationLine, kind: str) -> list[str]:
    """Each side as its terms, with the relations between."""
    found = []
    for k, side in enumerate(line.sides):
        if k:
            found.append(
                render_formula(RELATIONS[line.relations[k - 1]][0], f'class="relation" data-relation="{k - 1}"')
            )
        for j, (sign, part) in enumerate(javascript.split_summands(side)):
            latex = part.latex() if sign > 0 and not j else ("+" if sign > 0 else "-") + part.latex()
            place = f'data-{kind}="{k}" data-term="{j}"'
            found.append(f'<span class="term" tabindex="0" {place}>{render_formula(latex)}<output></output></span>')
    return found


def render_formula(latex: str, attributes: str = "") -> str:
    """LaTeX as MathML in a span."""
    inside = latex.replace("&", "").replace(r"\\", "")  # of a display in several lines
    return f"<span {attributes}>{latex2mathml.converter.convert(inside)}</span>"


def write_script(app: Sphinx) -> None:
    """The script, beside the other files that pages load."""
    target = Path(app.outdir) / "_static"
    target.mkdir(parents=True, exist_ok=True)
    (target / "chapters.js").write_text(build_script(), encoding="utf-8")
    (target / "chapters.css").write_text((HERE / "chapters.css").read_text(encoding="utf-8"), encoding="utf-8")


def load_script(
    app: Sphinx, _pagename: str, _template: str, _context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Only pages with a stage load them."""
    if doctree is not None and any("data-stage" in each.astext() for each in doctree.findall(nodes.raw)):
        app.add_js_file("chapters.js", loading_method="defer")
        app.add_css_file("chapters.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """The directive, and the files."""
    app.add_directive("live", Live)
    app.connect("builder-inited", write_script)
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
