"""What stands in the tables of a piece of HTML."""

from __future__ import annotations

from html.parser import HTMLParser


class Cells(HTMLParser):
    """The rows of cells in a page, and whether all tags are closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
