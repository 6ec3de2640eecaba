"""The summaries of all lessons: of each its title and the section "Summary", from the notebooks themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


def read_summary(path: Path) -> list[str]:
    """Title and summary of a lesson, as lines of Markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    title = re.search(r"^# (.*)$", texts[0], flags=re.MULTILINE)
    held = next(text for text in texts if text.startswith("## Summary"))
    name = title[1] if title else path.stem
    return [f"## {name}", "", *held.splitlines()[2:], ""]


class Summaries(SphinxDirective):
    """The summaries of all lessons, in their order."""

    def run(self) -> list[nodes.Node]:
        """A section for each."""
        paths = sorted(FOLDER.glob("*.ipynb"), key=lambda path: int(path.stem.partition("_")[0]))
        lines = [line for path in paths for line in read_summary(path)]
        for path in paths:
            self.env.note_dependency(str(path))
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, "summaries"), 0, holder, match_titles=True)
        return holder.children


def setup(app: Sphinx) -> dict[str, Any]:
    """The directive."""
    app.add_directive("summaries", Summaries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
