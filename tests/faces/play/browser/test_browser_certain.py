"""The machine without a sample, and the exact path, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browsing import UNFOLD, Visit

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow

WITHOUT = "text => document.querySelector('[data-figure=without]').textContent.includes(text)"
FOLLOWED = "() => document.querySelectorAll('svg.path .multiplier').length > 0"
#: The dashed line as it is drawn.
GONE = "[data-level=gone]"


def test_a_click_on_a_sample_leaves_it_out(visit: Open) -> None:
    page = visit("#scene=clouds")
    assert not page.page.get_attribute(GONE, "d")
    page.page.locator("[data-control=without]").check()
    drawn = set()
    for kind, words in ((0, "nothing changes"), (2, "Without it f is")):
        i = int(page.page.get_attribute(f"svg.plane [data-sample][data-kind='{kind}']", "data-sample") or 0)
        page.page.mouse.click(*page.centre(i))
        page.wait_until(WITHOUT, words)
        drawn.add(page.page.get_attribute(GONE, "d"))
    assert len(drawn) == 2
    boundary = page.page.get_attribute("[data-level=zero]", "d")
    assert page.page.get_attribute(GONE, "d") != boundary
    page.page.locator("[data-control=without]").uncheck()
    assert not page.page.get_attribute(GONE, "d")


def test_the_slider_goes_along_the_exact_path(visit: Open) -> None:
    page = visit("#scene=clouds", width=1280)
    panel = page.page.locator("[data-panel=path]")
    page.page.evaluate(UNFOLD, ["path"])
    panel.scroll_into_view_if_needed()
    page.wait_until(FOLLOWED)
    assert panel.locator(".multiplier").count() == page.n
    assert panel.locator(".error").get_attribute("d")
    before = panel.locator("[data-figure=path]").inner_text()
    slider = panel.locator("[data-slider=path]")
    slider.focus()
    page.do(lambda: page.page.keyboard.press("End"))
    assert float(page.page.input_value("input[type=number][data-parameter=C]")) == 1000.0
    assert panel.locator("[data-figure=path]").inner_text() != before
    assert panel.locator(".multiplier").count() == page.n, "the path stays while its value moves"
    page.click("[data-action=best]")
    assert float(page.page.input_value("input[type=number][data-parameter=C]")) < 1.0
    page.page.locator("[data-slider=C]").focus()
    page.do(lambda: page.page.keyboard.press("ArrowRight"))
    assert "stale" not in (panel.locator("svg.path").get_attribute("class") or "")
    page.click("[data-action=undo]")
