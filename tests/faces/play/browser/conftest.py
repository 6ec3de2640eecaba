"""What the tests in a browser share: a server, the browser itself, and pages in it."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from browsing import PATIENCE, Server, Visit, find_chromium, watch
from playwright.sync_api import Browser, ViewportSize, sync_playwright

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


@pytest.fixture(scope="package")
def former_visits() -> Iterator[dict[str, list[Visit]]]:
    """Pages that tests have left, by what their windows are: a new one takes three times as long as a new address."""
    pages: dict[str, list[Visit]] = {}
    yield pages
    for visit in chain.from_iterable(pages.values()):
        visit.page.context.close()


@pytest.fixture
def visit(browser: Browser, server: Server, former_visits: dict[str, list[Visit]]) -> Iterator[Open]:
    """Open pages: `visit("#scene=xor", width=390, has_touch=True)`. Any fault in any of them fails the test."""
    opened: list[tuple[str, Visit]] = []

    def opens(fragment: str = "", width: int = NARROW, height: int = 900, **options: Any) -> Visit:
        size = ViewportSize(width=width, height=height)
        window = repr((width, height, sorted(options.items())))
        if former_visits.setdefault(window, []):
            found = former_visits[window].pop()
            found.page.set_viewport_size(size)  # a test may have changed it
        else:
            context = browser.new_context(
                viewport=size, permissions=["clipboard-read", "clipboard-write"], reduced_motion="reduce", **options
            )
            context.set_default_timeout(1000 * PATIENCE)
            faults = watch(context, server.address)
            found = Visit(context.new_page(), server.address, faults)
        opened.append((window, found))
        return found.open(fragment)

    yield opens
    faults = []
    for window, each in opened:
        each.leave()
        faults += each.faults
        if each.faults:
            each.page.context.close()
        else:
            former_visits[window].append(each)
    assert faults == []
