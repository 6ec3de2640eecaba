"""The page before an audience: what an address restores, pictures to save, keys that step, one thing to do first."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import Visit
from each import for_each

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow

#: The share of the window's height that the plane has at least, on the screens of a laptop and of a lecture room.
TALL = 0.7


def test_an_address_restores_what_is_looked_at(visit: Open) -> None:
    page = visit("#scene=outlier")
    page.page.locator("[data-panel=complementarity] > summary").click()
    page.page.locator(".bars [data-of='4']").click()
    page.page.uncheck("[data-layer=hulls]")
    page.do(lambda: page.page.click("[data-action=zoom-out]"))
    page.do(lambda: page.page.locator("[data-control=mine]").check())
    page.page.locator(".bars [data-of='4']").focus()
    page.do(lambda: page.page.keyboard.press("End"))
    address, alpha = page.hash(), page.alpha()
    other = visit("#scene=xor")
    other.page.goto(other.address + "play.css")
    other.page.goto(other.address + address)
    other.settle(0)
    assert other.data("alpha") == "yours"
    assert other.alpha() == pytest.approx(alpha, abs=1e-9)
    assert other.page.get_attribute("[data-panel=sample]", "data-selected") == "4"
    assert not other.page.locator("[data-panel=complementarity]").evaluate("each => each.open")
    assert other.page.locator("[data-panel=multipliers]").evaluate("each => each.open")
    assert not other.page.is_checked("[data-layer=hulls]")
    assert other.page.locator("g.hulls path").count() == 0
    assert other.hash() == address


@for_each("kind", ["svg", "png"])
def test_the_plane_is_saved_as_a_picture(kind: str, visit: Open, tmp_path: Path) -> None:
    page = visit("#scene=clouds")
    with page.page.expect_download() as waiting:
        page.share(kind)
    path = tmp_path / "saved"
    waiting.value.save_as(path)
    assert waiting.value.suggested_filename == f"clouds.{kind}"
    if kind == "png":
        assert path.read_bytes().startswith(b"\x89PNG")
    else:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<svg ")
        assert text.count("data-sample") == page.n
        assert "<image" in text
        assert "var(" not in text


def test_a_lecture_goes_on_with_keys(visit: Open) -> None:
    page = visit("?present#scene=clouds", width=1366, height=768)
    lecture = page.page.locator(".lecture")
    assert lecture.is_visible()
    assert not page.page.locator("header").is_visible()
    first = lecture.inner_text()
    page.page.keyboard.press("PageDown")
    assert lecture.inner_text() != first
    scene = page.page.input_value("[data-control=scene]")
    page.do(lambda: [page.page.keyboard.press("ArrowRight") for _ in range(4)])
    assert page.page.input_value("[data-control=scene]") != scene
    page.do(lambda: [page.page.keyboard.press("ArrowLeft") for _ in range(4)])
    assert page.page.input_value("[data-control=scene]") == scene
    assert "?present" in page.page.url
    page.page.keyboard.press("Escape")
    assert not lecture.is_visible()
    assert "present" not in page.page.url


@for_each("size", [(1366, 768), (1920, 1080)])
def test_the_plane_is_as_large_as_the_window_allows_and_says_what_to_do(size: tuple[int, int], visit: Open) -> None:
    width, height = size
    page = visit("#scene=clouds", width=width, height=height)
    box = page.page.locator("svg.plane").bounding_box()
    assert box is not None
    assert box["height"] >= TALL * height
    assert box["y"] + box["height"] <= height
    first = page.page.locator(".first")
    assert first.is_visible()
    page.drag(3, 20, 10)
    assert not first.is_visible()


def test_the_legend_names_what_is_drawn(visit: Open) -> None:
    page = visit("#scene=clouds")
    legend = page.page.locator("p.legend")
    for words in ("hull of a class", "reduced hull", "nearest points", "f = 0", "on the margin"):
        assert words in legend.inner_text()
    page.page.uncheck("[data-layer=hulls]")
    assert not re.search("hull of|nearest", legend.inner_text())
