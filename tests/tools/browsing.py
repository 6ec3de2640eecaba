"""Drive the playground like a user: start its server by the command line, and wait for answers in a real browser.

`Server` runs `python -m qpsvm play`; `Visit` is one page and what a user does there; `watch` collects errors.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import BrowserContext, CDPSession, Locator, Page

#: Names of the browser on PATH; first the shell without windows, which takes a third of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
#: Seconds that a server may take to start, and a page to answer, on a busy machine.
PATIENCE = 60
#: Types of console messages that count as faults.
SERIOUS = ("error", "warning")
#: JavaScript: whether more than `count` answers are shown, and no request is open.
SETTLED = """count => {
  const page = document.querySelector('.qpsvm-play');
  return page && Number(page.dataset.count) > count && page.dataset.asking === undefined;
}"""
#: JavaScript: whether a function becomes true within `patience` milliseconds.
UNTIL = """([argument, patience]) => new Promise(answer => {
  const there = FUNCTION, end = performance.now() + patience;
  const look = () => there(argument) ? answer(true) : performance.now() < end ? setTimeout(look, 5) : answer(false);
  look();
})"""
#: Panels that are open in these tests, those that only wide windows open, and the width in pixels from which they do.
PANELS, DEAR, WIDE = ("sample", "complementarity", "multipliers"), ("runs", "qp", "derivation"), 720
FOLDED = """names => names.some(name => !document.querySelector(`[data-panel=${name}]`).open)"""
UNFOLD = """names => { for (const name of names) document.querySelector(`[data-panel=${name}]`).open = true; }"""
#: A file of the server that is no page, to leave a page: an address of another origin would start a new process.
NOWHERE = "play.css"


def find_chromium() -> str | None:
    """Find the browser: the one in CHROMIUM, otherwise the first on PATH."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Server:
    """A running `python -m qpsvm play`, whose port is read from its output."""

    def __init__(self, *options: str) -> None:
        self.port = 0
        self.options = options
        self.start()

    def start(self) -> None:
        """Start the server, again on its port if it had one."""
        command = [sys.executable, "-m", "qpsvm", "play", "--no-browser", "--port", str(self.port), *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        assert self.process.stdout is not None
        clock = threading.Timer(PATIENCE, self.process.kill)
        clock.start()
        said, found = "", None
        while found is None and (line := self.process.stdout.readline()):  # of a file it speaks first
            said += line
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        clock.cancel()
        assert found is not None, f"the server does not say its address: {said!r}"
        self.port = int(found[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def stop(self) -> None:
        """Stop the server and wait for its end."""
        self.process.terminate()
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


def watch(context: BrowserContext, address: str) -> list[str]:
    """Return a list that collects faults of the browser: errors, failed requests, and requests to other hosts."""
    faults: list[str] = []
    host = urlsplit(address).netloc

    def note_request(url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob", "file") and urlsplit(url).netloc != host:
            faults.append(f"a request leaves the machine: {url}")

    def watch_sockets(page: Page) -> None:
        page.on("websocket", lambda socket: note_request(socket.url))

    context.on("page", watch_sockets)
    context.on("request", lambda request: note_request(request.url))
    context.on("requestfailed", lambda request: faults.append(f"a request failed: {request.url}"))
    context.on("response", lambda r: faults.append(f"{r.status} from {r.url}") if r.status >= 400 else None)
    context.on("weberror", lambda error: faults.append(f"an error of the page: {error.error}"))
    context.on("console", lambda m: faults.append(f"{m.text} ({m.location['url']})") if m.type in SERIOUS else None)
    return faults


@dataclass(eq=False)
class Visit:
    """One page of the playground, and what a user does there.

    Attributes
    ----------
    page : Page
    address : str
        Of the server.
    faults : list of str
        See `watch`; a test that expects faults removes them.
    """

    page: Page
    address: str
    faults: list[str] = field(repr=False)

    @property
    def root(self) -> Locator:
        return self.page.locator(".qpsvm-play")

    @property
    def count(self) -> int:
        """The number of answers that the page has shown."""
        return int(self.data("count") or 0)

    def data(self, name: str) -> str | None:
        """Return a data attribute of the outermost element."""
        return self.root.get_attribute(f"data-{name}")

    def open(self, fragment: str = "") -> Visit:
        """Go to an address of the page and wait for its first answer."""
        self.page.goto(self.address + NOWHERE)
        self.page.goto(self.address + fragment)
        self.settle(0)
        width = self.page.viewport_size["width"] if self.page.viewport_size else 0
        panels = [*PANELS, *(DEAR if width > WIDE else ())]
        if self.page.evaluate(FOLDED, panels):
            self.do(lambda: self.page.evaluate(UNFOLD, panels))
        return self

    def leave(self) -> None:
        """Leave the page, and move the mouse out of it."""
        self.page.goto(self.address + NOWHERE)
        self.page.mouse.move(-1, -1)

    def settle(self, before: int) -> None:
        """Wait until there are more than `before` answers, and no request is open."""
        self.wait_until(SETTLED, before)

    def wait_until(self, function: str, argument: Any = None) -> None:
        """Wait until a function of the page is true; the page's policy forbids `wait_for_function`."""
        there = self.page.evaluate(UNTIL.replace("FUNCTION", function), [argument, 1000 * PATIENCE])
        assert there, f"the page is not there in {PATIENCE} s: {function}"

    def do(self, action: Callable[[], object]) -> None:
        """Do something that changes the state, and wait for its answer."""
        before = self.count
        action()
        self.settle(before)

    def choose(self, control: str, value: str) -> None:
        """Choose in a list: scene, machine, kernel."""
        self.do(lambda: self.page.select_option(f"[data-control={control}]", value))

    def type_value(self, parameter: str, value: float) -> None:
        """Type the value of a parameter."""
        box = self.page.locator(f"input[type=number][data-parameter={parameter}]")
        box.fill(str(value))
        self.do(lambda: box.press("Enter"))

    def click(self, selector: str) -> None:
        """Click on what changes the state, and wait for the answer."""
        self.do(lambda: self.page.click(selector))

    def sample(self, i: int) -> Locator:
        return self.page.locator(f"svg.plane [data-sample='{i}']")

    def places(self) -> list[str]:
        """Return the labels of the samples: number, class, coordinates."""
        names = self.page.eval_on_selector_all("svg.plane [data-sample]", "all => all.map(each => each.ariaLabel)")
        return [name.partition(";")[0] for name in names]

    @property
    def n(self) -> int:
        return self.page.locator("svg.plane [data-sample]").count()

    def centre(self, i: int) -> tuple[float, float]:
        """Return the centre of a sample in pixels of the window."""
        self.sample(i).scroll_into_view_if_needed()
        box = self.sample(i).locator(".hit").bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, i: int, dx: float, dy: float, steps: int = 3) -> None:
        """Drag a sample by (dx, dy) pixels with the mouse."""
        x, y = self.centre(i)
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + dx, y + dy, steps=steps)
        self.do(mouse.up)

    def touch(self, finger: CDPSession, *places: tuple[float, float]) -> None:
        """Put a finger down, draw it over these places of the window, and lift it."""
        kinds = ["touchStart", *["touchMove"] * (len(places) - 1)]
        for kind, (x, y) in zip(kinds, places, strict=True):
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def alpha(self) -> NDArray[np.float64]:
        """Return α (n,) from the data of the samples, with all digits."""
        texts = self.page.eval_on_selector_all("svg.plane [data-sample]", "all => all.map(each => each.dataset.alpha)")
        return np.array([float(text) for text in texts])

    def figure(self, name: str) -> str:
        """Return a number or word of the certificate."""
        return self.page.locator(f"[data-figure={name}]").first.inner_text()

    def solve_alone(self) -> None:
        """Choose to solve by hand, one α at a time."""
        self.do(lambda: self.page.locator("[data-control=mine]").check())
        self.page.select_option("[data-control=partner]", "none")

    def share(self, what: str) -> None:
        """Press a button of the menu."""
        self.page.click(".menu > summary")
        self.page.click(f".menu [data-action={what}]")

    def copy_from_header(self, what: str) -> str:
        """Return what a button of the header puts into the clipboard."""
        self.share(what)
        self.page.wait_for_selector("dialog[open]")
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        self.page.click("dialog[open] [data-action=close]")
        return text

    def python(self) -> str:
        """Return the program that "Copy as Python" copies."""
        return self.copy_from_header("python")

    def hash(self) -> str:
        """Return the state in the address, from "#"."""
        return "#" + self.copy_from_header("address").partition("#")[2]

    def run_copied(self) -> dict[str, Any]:
        """Run the copied program; return its variables and its output as `printed`."""
        made: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(self.python(), made)
        return {**made, "printed": printed.getvalue()}

    def sideways(self) -> float:
        """Return the pixels by which the document is wider than the window."""
        return float(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
