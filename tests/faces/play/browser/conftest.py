"""What the tests in a browser share: a server, the browser itself, and pages in it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import PATIENCE, Server, Visit, find_chromium, watch
from playwright.sync_api import Browser, sync_playwright

Open = Callable[..., Visit]
#: A container has no sandbox; drawn without a graphics card's imitation, pages come in half the time.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer"]
#: Pixels of a window in which what is dear to draw (runs, program, derivation) is folded at first.
NARROW = 700


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    """The server, started as a user starts it; one for each process of the tests."""
    running = Server()
    yield running
    running.stop()


# Of this folder, not of the session: as long as Playwright is there, no other test can run an event loop of its own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser without a window; without one on this computer the test is skipped."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no browser: run `apt-get install chromium`, or name one in the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Open]:
    """Open pages: `visit("#scene=xor", width=390, has_touch=True)`. Any fault in any of them fails the test."""
    opened = []

    def opens(fragment: str = "", width: int = NARROW, height: int = 900, **options: Any) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce", **options,
        )  # fmt: skip
        context.set_default_timeout(1000 * PATIENCE)
        faults = watch(context, server.address)
        opened.append((context, faults))
        return Visit(context.new_page(), server.address, faults).open(fragment)

    yield opens
    for context, _ in opened:
        context.close()
    assert [fault for _, faults in opened for fault in faults] == []
