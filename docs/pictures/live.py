"""The guide's picture of the live page, as a browser shows it.

python docs/pictures/live.py        # writes docs/pictures/live.png; needs the extras play and test, and Chromium
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
#: The address of the server in what its command prints.
ADDRESS = "http://"
#: The window, in pixels.
WIDTH, HEIGHT = 1280, 800


def main() -> None:
    """Serve, look, save."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    command = [sys.executable, "-m", "qpsvm", "play", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        try:
            assert server.stdout is not None
            words = server.stdout.readline().split()
            address = next(word for word in words if word.startswith(ADDRESS))
            with playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]) as opened:
                page = opened.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                page.goto(address)
                page.wait_for_selector('.qpsvm-play[data-status="optimal"]:not([data-asking])')
                page.screenshot(path=HERE / "live.png")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
