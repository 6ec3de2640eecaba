"""`.. run::` is code that runs while the site is built, with what it printed below it: no output is ever stale.

The blocks of a page share their names, like the cells of a notebook. Where the last line is an expression, its value is
shown. With `:raises: NotSeparableError` the block has to end in that error, whose message is shown; any other error
fails the build. `:hide-code:` shows the output alone.
"""

from __future__ import annotations

import ast
import contextlib
import io
import textwrap
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import qpsvm

#: Columns of an error's message.
WIDTH = 88


def execute(code: str, names: dict[str, Any], raises: str = "") -> str:
    """Run a block; what it printed, the value of its last expression, and the error that it was to raise."""
    printed = io.StringIO()
    *statements, last = ast.parse(code).body
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(ast.Module(statements, []), "<page>", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
                print(repr(value), end="") if value is not None else None
            else:
                exec(compile(ast.Module([last], []), "<page>", "exec"), names)
        except qpsvm.QPSVMError as error:
            if type(error).__name__ != raises:
                raise
            said = textwrap.fill(f"{raises}: {error}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            print(said)
        else:
            if raises:
                raise AssertionError(f"this block was to raise {raises}:\n{code}")
    return printed.getvalue().rstrip()


def build_listing(text: str, language: str, kind: str) -> nodes.container:
    """A block of code, or of output."""
    block = nodes.literal_block(text, text, language=language)
    return nodes.container("", block, classes=[kind])


class Run(SphinxDirective):
    """Code with its output."""

    has_content = True
    option_spec: ClassVar = {"raises": directives.unchanged, "hide-code": directives.flag}

    def run(self) -> list[nodes.Node]:
        """The code, and its output where there is some."""
        code = "\n".join(self.content)
        names = self.env.temp_data.setdefault("run_names", {"__name__": "page"})
        output = execute(code, names, self.options.get("raises", ""))
        shown = [] if "hide-code" in self.options else [build_listing(code, "python", "run-input")]
        return [*shown, *([build_listing(output, "text", "run-output")] if output else [])]


def setup(app: Sphinx) -> dict[str, Any]:
    """The directive."""
    app.add_directive("run", Run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
