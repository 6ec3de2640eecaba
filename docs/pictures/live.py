"""The guide's pictures of the live page, as a browser shows it.

python docs/pictures/live.py        # writes live.png and live_tube.png; needs the extras play and test, and Chromium
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "tools"))
from browsing import find_chromium

HERE = Path(__file__).resolve().parent
#: The address of the server in what its command prints.
ADDRESS = "http://"
#: The window, in pixels.
WIDTH, HEIGHT = 1280, 800
#: The pictures, and the scene of each.
PICTURES = {"live.png": "clouds", "live_tube.png": "tube"}


def main() -> None:
    """Serve, look, save."""
    command = [sys.executable, "-m", "qpsvm", "play", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        try:
            assert server.stdout is not None
            words = server.stdout.readline().split()
            address = next(word for word in words if word.startswith(ADDRESS))
            with playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"]) as opened:
                for name, scene in PICTURES.items():
                    page = opened.new_page(viewport={"width": WIDTH, "height": HEIGHT})
                    page.goto(f"{address}#scene={scene}")
                    page.wait_for_selector('.qpsvm-play[data-status="optimal"]:not([data-asking])')
                    page.screenshot(path=HERE / name)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
