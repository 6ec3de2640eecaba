"""The page's memory in a real browser: addresses, history, two pages, a server that goes and comes back."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from browsing import Server, Visit

Open = Callable[..., Visit]
#: Addresses that nothing can be read from, or that ask for what there is not.
BAD = (
    "#scene=nothing", "#points=", "#points=abc", "#points=1,2@1;x,0@-1", "#points=0,0@1;1@-1", "#points=1,2@7;0,0@-1",
    "#machine=quantum&points=0,0@1;1,1@-1", "#machine=c&C=-1&points=0,0@1;1,1@-1", "#kernel=wavelet&points=0,0@1;1,1@-1",
    "#machine=c&D=1&points=0,0@1;1,1@-1", "#axes=0,9&points=0,0@1;1,1@-1", "#points=1e999,0@1;1,1@-1", "#points=0,0@1",
    "#kernel=rbf&kernel.gamma=much&points=0,0@1;1,1@-1", "#points=%E0%A4%A", "#&&==%%", "#<script>alert(1)</script>",
)  # fmt: skip


def places(visit: Visit) -> list[str | None]:
    return [visit.sample(i).get_attribute("transform") for i in range(visit.n)]


def own(visit: Visit) -> str:
    """The address, as soon as it holds samples."""
    visit.page.wait_for_url(re.compile("#machine=.*points="))
    return "#" + visit.page.url.partition("#")[2]


def test_undo_and_redo(visit: Open) -> None:
    page = visit("#scene=outlier")
    first = places(page)
    page.drag(0, 40, -40)
    second = places(page)
    page.put("C", 50)
    for act, there, C in (
        (lambda: page.click("[data-action=undo]"), second, "1"),
        (lambda: page.click("[data-action=undo]"), first, "1"),
        (lambda: page.click("[data-action=redo]"), second, "1"),
        (lambda: page.do(lambda: page.page.keyboard.press("Control+Shift+z")), second, "50"),
        (lambda: page.do(lambda: page.page.keyboard.press("Control+z")), second, "1"),
    ):
        act()
        assert places(page) == there
        assert page.page.input_value("input[type=number][data-parameter=C]") == C
    page.click("[data-action=reset]")
    page.click("[data-action=undo]")
    assert places(page) == second, "reset cannot be undone"


def test_the_address_brings_the_state_into_another_page(visit: Open) -> None:
    page = visit("#scene=xor")
    page.put("gamma", 0.7)
    page.drag(2, 25, 35)
    other = visit(own(page))
    assert places(other) == places(page)
    assert other.alpha() == pytest.approx(page.alpha(), abs=1e-12)
    assert other.page.input_value("[data-control=kernel]") == "rbf"
    assert other.page.input_value("input[type=number][data-parameter=gamma]") == "0.7"
    assert other.page.input_value("input[type=number][data-parameter=C]") == "10"
    assert other.python() == page.python()


def test_back_and_forward(visit: Open) -> None:
    page = visit("#scene=xor")
    page.choose("scene", "outlier")
    page.choose("scene", "duplicate")
    for go, scene in ((page.page.go_back, "outlier"), (page.page.go_back, "xor"), (page.page.go_forward, "outlier")):
        page.do(go)
        assert page.page.input_value("[data-control=scene]") == scene
        assert page.page.url.endswith(f"#scene={scene}")


def test_back_to_samples_that_were_dragged(visit: Open) -> None:
    page = visit("#scene=xor")
    page.drag(0, 30, 30)
    address, there = own(page), places(page)
    page.choose("scene", "outlier")
    page.do(page.page.go_back)
    assert places(page) == there
    assert page.page.url.endswith(address)


def test_an_address_that_is_typed_into_an_open_page(visit: Open) -> None:
    page = visit("#scene=xor")
    page.do(lambda: page.page.evaluate("location.hash = '#scene=outlier_1000'"))
    assert page.page.input_value("[data-control=scene]") == "outlier_1000"


def test_two_pages_at_once(visit: Open) -> None:
    left, right = visit("#scene=outlier"), visit("#scene=xor")
    for step in range(3):
        left.drag(0, 12, -8)
        right.drag(1, -10, 10 + step)
    assert (left.n, right.n) == (11, 8)
    for page in (left, right):
        assert np.abs(page.alpha() - page.solved()["result"].alpha).max() <= 1e-9


def test_the_server_goes_and_comes_back(visit: Open, server: Server) -> None:
    page = visit("#scene=outlier")
    lost = page.page.locator(".lost")
    assert not lost.is_visible()
    before = page.count
    try:
        server.stop()
        lost.wait_for(state="visible")
        x, y = page.centre(0)
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        page.page.mouse.move(x - 30, y + 30)
        page.page.mouse.up()
        moved = places(page)
    finally:
        server.start()
    lost.wait_for(state="hidden")
    page.settle(before)
    assert places(page) == moved, "what was done meanwhile is lost"
    assert np.abs(page.alpha() - page.solved()["result"].alpha).max() <= 1e-9
    page.drag(1, 20, 20)
    assert page.data("status") == "optimal"
    meanwhile = [fault for fault in page.faults if "ERR_CONNECTION_REFUSED" in fault and "/ws" in fault]
    page.faults[:] = [fault for fault in page.faults if fault not in meanwhile]


def test_a_bad_address_ends_in_a_sentence(visit: Open) -> None:
    page = visit()
    for address in BAD:
        page.open(address)
        words = page.page.locator(".note, .complaint, .certificate .sentence").all_inner_texts()
        said = " ".join(words)
        usual = page.data("error") == "" and not page.page.locator(".note").inner_text()
        assert not (usual and "points=" in address), f"{address}: nothing is said"
        assert len(said.split()) > 3, address
        assert not re.search("undefined|NaN|object Object|Traceback", page.root.inner_text()), address
        assert page.sideways() <= 0, address
    page.choose("scene", "xor")
    assert page.data("status") == "optimal"
    assert page.page.locator(".note").inner_text() == ""
