"""The page's memory in a real browser: addresses, history, two pages, a server that goes and comes back."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from browsing import Server, Visit

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow

#: Addresses that nothing can be read from: the page begins as ever, or stays as it was, and says so.
UNREADABLE = ("#scene=nothing", "#points=abc", "#points=1,2@1;x,0@-1", "#points=0,0@1;1@-1", "#points=%E0%A4%A",
              "#axes=0,9&points=0,0@1;1,1@-1", "#axes=0&points=0,0@1;1,1@-1", "#points=1e999,0@1;1,1@-1")  # fmt: skip
#: Addresses that ask for what there is not: the library answers in a sentence.
REFUSED = ("#points=", "#points=0,0@1", "#points=1,2@7;0,0@-1", "#machine=quantum&points=0,0@1;1,1@-1",
           "#machine=c&C=-1&points=0,0@1;1,1@-1", "#kernel=wavelet&points=0,0@1;1,1@-1",
           "#machine=c&D=1&points=0,0@1;1,1@-1", "#kernel=rbf&kernel.gamma=much&points=0,0@1;1,1@-1")  # fmt: skip


def test_undo_and_redo(visit: Open) -> None:
    page = visit("#scene=outlier")
    first = page.places()
    page.drag(0, 40, -40)
    second = page.places()
    page.type_value("C", 50)
    for act, there, C in (
        (lambda: page.click("[data-action=undo]"), second, "1"),
        (lambda: page.click("[data-action=undo]"), first, "1"),
        (lambda: page.click("[data-action=redo]"), second, "1"),
        (lambda: page.do(lambda: page.page.keyboard.press("Control+Shift+z")), second, "50"),
        (lambda: page.do(lambda: page.page.keyboard.press("Control+z")), second, "1"),
    ):
        act()
        assert page.places() == there
        assert page.page.input_value("input[type=number][data-parameter=C]") == C
    page.click("[data-action=reset]")
    page.click("[data-action=undo]")
    assert page.places() == second, "reset cannot be undone"


def test_the_address_brings_the_state_into_another_page(visit: Open) -> None:
    page = visit("#scene=xor")
    page.type_value("gamma", 0.7)
    page.drag(2, 25, 35)
    other = visit(page.hash())
    assert other.places() == page.places()
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
        assert re.search(f"#scene={scene}(&|$)", page.page.url)
    page.drag(0, 30, 30)
    address, there = page.hash(), page.places()
    page.choose("scene", "xor")
    page.do(page.page.go_back)
    assert page.places() == there, "samples that were dragged are there again"
    assert page.page.url.endswith(address)


def test_the_server_goes_and_comes_back(visit: Open, server: Server) -> None:
    page = visit("#scene=outlier")
    lost = page.page.locator(".lost")
    assert not lost.is_visible()
    before = page.places()[0]
    answers = page.count
    try:
        server.stop()
        lost.wait_for(state="visible")
        x, y = page.centre(0)
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        page.page.mouse.move(x - 30, y + 30)
        page.page.mouse.up()
    finally:
        server.start()
    lost.wait_for(state="hidden")
    page.settle(answers)
    assert page.places()[0] != before, "what was done meanwhile is lost"
    assert np.abs(page.alpha() - page.run_copied()["result"].alpha).max() <= 1e-9
    page.drag(1, 20, 20)
    assert page.data("status") == "optimal"
    meanwhile = [fault for fault in page.faults if "ERR_CONNECTION_REFUSED" in fault and "/ws" in fault]
    page.faults[:] = [fault for fault in page.faults if fault not in meanwhile]


@pytest.mark.parametrize("addresses", [UNREADABLE, REFUSED], ids=["unreadable", "refused"])
def test_a_bad_address_ends_in_a_sentence(addresses: tuple[str, ...], visit: Open) -> None:
    page = visit(addresses[0])
    note = page.page.locator(".note")
    for k, address in enumerate(addresses):
        if k:
            page.do(lambda address=address: page.page.evaluate("address => { location.hash = address }", address))
        assert (page.data("error") == "") == (addresses is UNREADABLE), address
        if addresses is REFUSED:
            said = page.page.locator(".complaint, .certificate .sentence")
        else:
            said = note
        assert max(len(words.split()) for words in said.all_inner_texts()) > 4, address
        assert not re.search("undefined|NaN|object Object|Traceback", page.root.inner_text()), address
        assert page.sideways() <= 0, address
    page.choose("scene", "xor")
    assert page.data("status") == "optimal"
    assert note.inner_text() == ""
