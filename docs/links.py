"""Whether a built site is whole: `python docs/links.py docs/_build/html`.

Every link inside the site leads to a page that is there, and to an anchor that is on it; every picture, script and
style is there; and nothing is loaded from another site.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser loads by itself: elements with the attributes that name it.
LOADED = {"script": ("src",), "img": ("src", "srcset"), "source": ("src", "srcset"), "iframe": ("src",),
          "link": ("href",), "video": ("src", "poster"), "audio": ("src",), "embed": ("src",), "object": ("data",),
          "image": ("href", "xlink:href"), "use": ("href", "xlink:href"), "track": ("src",)}  # fmt: skip
#: Kinds of <link> that only name a page.
NAMED = {"canonical", "next", "prev", "search", "index", "author", "license", "copyright", "up", "top"}
FROM_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


class ParsedPage(HTMLParser):
    """What a page loads, what it links to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.foreign: list[str] = []
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").lower().split()) & NAMED:
            self.links.append(given.get("href", ""))
        else:
            for name in LOADED.get(tag, ()):
                self.loaded += split_addresses(name, given.get(name, ""))
        self.foreign += FROM_STYLE.findall(given.get("style", ""))
        self._in_style = tag == "style"

    def handle_data(self, data: str) -> None:
        """Styles in the page may load something too."""
        if self._in_style:
            self.foreign += FROM_STYLE.findall(data)


def split_addresses(name: str, value: str) -> list[str]:
    """The addresses in an attribute; `srcset` has several, each with a size."""
    found = [each.split()[0] for each in value.split(",") if each.strip()] if name == "srcset" else [value.strip()]
    return [each for each in found if each and not each.startswith("data:")]


def is_foreign(address: str) -> bool:
    """Whether an address is on another site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in {"http", "https"}


def find_faults(site: Path) -> list[str]:
    """One line for each link that leads nowhere, and for each thing that is loaded from elsewhere."""

    @cache
    def page(path: Path) -> ParsedPage:
        return ParsedPage(path.read_text(encoding="utf-8"))

    def missing(path: Path, address: str, *, anchored: bool) -> str:
        parts = urlsplit(address)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.is_relative_to(site) or not target.exists():
            return f"{address} is not there"
        anchor = unquote(parts.fragment)
        if anchored and anchor and target.suffix == ".html" and anchor not in page(target).anchors:
            return f"{address}: that page has no anchor {anchor!r}"
        return ""

    site = site.resolve()
    found = []
    for path in list_pages(site):
        where, read = path.relative_to(site), page(path)
        found += [f"{where}: loads {address}" for address in (*read.loaded, *read.foreign) if is_foreign(address)]
        inside = [(address, False) for address in read.loaded if not is_foreign(address)]
        inside += [
            (address, True) for address in read.links if not urlsplit(address).scheme and not is_foreign(address)
        ]
        found += [
            f"{where}: {fault}" for address, anchored in inside if (fault := missing(path, address, anchored=anchored))
        ]
    for path in sorted(site.rglob("*.css")):
        styles = path.read_text(encoding="utf-8")
        found += [f"{path.relative_to(site)}: loads {address}" for address in FROM_STYLE.findall(styles)]
    return found


def list_pages(site: Path) -> list[Path]:
    """The pages; a theme may keep pieces of pages among its styles and scripts."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def main(site: str) -> int:
    """Print every fault; 1 where there is one."""
    count = len(list_pages(Path(site)))
    found = find_faults(Path(site)) if count else [f"{site} has no pages"]
    print("\n".join(found) or f"{count} pages: every link leads somewhere, and nothing is loaded from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
