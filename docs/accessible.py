"""What axe-core finds in pages of the built site and in the live page: a serious finding is a failure.

python docs/accessible.py docs/_build/html          # needs the extras play and test, Chromium, and npm the first time

axe-core comes from npm, into the folder of the user's caches, and is never loaded by a page itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "tools"))
from browsing import find_chromium

PACKAGE, VERSION = "axe-core", "4.10.3"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "qpsvm" / f"{PACKAGE}-{VERSION}"
#: Pages of the site: the first, the chapters, and one of each other kind.
PAGES = ("index.html", "chapters.html", "choose.html", "theory/c_svm.html", "lessons.html", "guide/play.html")
#: Width in pixels and colours of a phone and of a laptop.
VIEWS = ((390, "light"), (1366, "dark"))
#: What axe-core calls findings that keep somebody out.
SERIOUS = ("serious", "critical")
#: Serious findings of a page, each with its rule, the first elements, and how many there are.
FINDINGS = """serious => axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => serious.includes(impact)).map(({ id, help, nodes }) => `${id}: ${help} (${nodes.length}): `
    + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")))"""


def install_axe() -> Path | None:
    """The script of axe-core, brought by npm where it is missing; None where there is neither."""
    script = CACHE / "node_modules" / PACKAGE / "axe.min.js"
    npm = shutil.which("npm")
    if not script.exists() and npm is not None:
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent", f"{PACKAGE}@{VERSION}"]
        subprocess.run(command, cwd=CACHE, check=False, timeout=120)
    return script if script.exists() else None


def find_problems(page: Page, script: Path) -> list[str]:
    """Serious findings of the page as it stands."""
    page.evaluate(script.read_text(encoding="utf-8") + "; undefined")
    found: list[str] = page.evaluate(FINDINGS, list(SERIOUS))
    return found


def check_addresses(addresses: Sequence[str], script: Path, ready: str = "body") -> list[str]:
    """Serious findings of some addresses, on a phone in light colours and on a laptop in dark ones."""
    found = []
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"]) as opened,
    ):
        for width, colours in VIEWS:
            context = opened.new_context(
                viewport={"width": width, "height": 800}, color_scheme=colours, bypass_csp=True
            )
            for address in addresses:
                page = context.new_page()
                page.goto(address)
                page.wait_for_selector(ready)
                found += [f"{address}, {width} px, {colours}: {each}" for each in find_problems(page, script)]
                page.close()
    return found


def check_live_page(script: Path) -> list[str]:
    """Serious findings of the live page, with every panel open."""
    command = [sys.executable, "-m", "qpsvm", "play", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = re.search(r"http://\S+/", server.stdout.readline())
            assert said is not None
            panels = "sample,complementarity,multipliers,runs,qp,derivation"
            ready = '.qpsvm-play[data-status="optimal"]:not([data-asking])'
            return check_addresses([f"{said[0]}#scene=clouds&view.open={panels}", f"{said[0]}?present"], script, ready)
        finally:
            server.terminate()


def main() -> int:
    """Say what was found; 1 where something was."""
    if find_chromium() is None:
        print("there is no browser: nothing is checked")
        return 0
    script = install_axe()
    if script is None:
        print(f"{PACKAGE} is not here, and npm does not bring it: nothing is checked")
        return 0
    site = Path(sys.argv[1]).resolve()
    found = check_addresses(
        [(site / page).as_uri() for page in PAGES if (site / page).exists()], script
    ) + check_live_page(script)
    print(*found, f"{len(found)} serious findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
