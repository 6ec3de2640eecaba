"""How the pages lie on a screen: no scrolling sideways, equations that are drawn, and a page for every hand and eye."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from asking import make_samples
from browsing import Visit, watch
from playwright.sync_api import Browser

import qpsvm
from qpsvm.faces.play.start import SCENES

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow

#: Widths of a computer's window and of a phone, in pixels.
WIDTHS = (1280, 390)
#: What JupyterLab's styles say of the elements in an output, where they would reach into the playground.
NOTEBOOK = """
  .out dt { font-weight: bold; float: left; width: 20%; } .out dd { float: left; width: 80%; }
  .out pre { word-break: break-all; white-space: pre-wrap; } .out code { font-size: 30px; }
"""
#: Pixels that a finger needs (WCAG 2.2, target size).
FINGER = 24
#: What a text's contrast has to be (WCAG 2.2, contrast minimum).
CONTRAST = 4.5
#: Roles of what is operated.
OPERATED = {"button", "link", "slider", "spinbutton", "combobox", "checkbox", "switch", "textbox", "listbox"}
#: What has text on the live page, and on that of a derivation.
TEXTS = ".qpsvm-play :is(p, span, button, dd, dt, h2, h3, td, th, label, select, li)"
DERIVED_TEXTS = ":is(p, span, small, b, h1, h2, td, pre, summary)"
#: The contrast of each text with what lies behind it, the worst first.
CONTRASTS = """texts => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const solid = element => {
    for (let e = element; e; e = e.parentElement) {
      const back = getComputedStyle(e).backgroundColor, [, , , opaque] = parts(back);
      if (opaque === undefined || opaque === 1) return back;
    }
    return 'rgb(255, 255, 255)';
  };
  const told = element => [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  return [...document.querySelectorAll(texts)]
    .filter(e => e.checkVisibility() && told(e) && !e.closest(':disabled, svg, .stale'))
    .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(solid(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.className + ': ' + e.textContent.slice(0, 40)]; })
    .sort((x, y) => x[0] - y[0]).slice(0, 5);
}"""


def unfold(visit: Visit) -> None:
    """Open every panel, and wait for what each of them asks."""
    folded = visit.page.locator("details.panel:not([open]) > summary")
    while folded.count():
        visit.do(folded.first.click)
    visit.page.wait_for_selector(".step[data-tag]")


def find_spills(visit: Visit) -> list[str]:
    """List the panels and cards whose content is wider than they are."""
    found: list[str] = visit.page.eval_on_selector_all(
        ".qpsvm-play :is(.panel > .body, .card, .certificate)",
        "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 60))",
    )
    return found


def test_the_page_does_not_scroll_sideways(visit: Open) -> None:
    page = visit("#scene=clouds", width=1280)
    unfold(page)
    wide, phone = WIDTHS
    for turn, name in enumerate(SCENES):
        if page.page.input_value("[data-control=scene]") != name:
            page.choose("scene", name)
        for width in ((wide, 980)[turn % 2], phone):  # 980: an output of a notebook
            page.page.set_viewport_size({"width": width, "height": 900})
            assert page.sideways() <= 0, (name, width)
            assert find_spills(page) == [], (name, width)
    page.choose("scene", "outlier")
    page.page.set_viewport_size({"width": 390, "height": 900})
    page.do(lambda: page.page.locator("[data-control=mine]").check())
    assert page.sideways() <= 0
    page.share("python")
    page.page.wait_for_selector("dialog[open]")
    assert page.sideways() <= 0


def test_bars_resized_before_the_answer_to_fewer_samples_are_not_drawn_from_the_last_one(visit: Open) -> None:
    page = visit("#scene=clouds", width=1280)
    unfold(page)
    page.do(
        lambda: page.page.evaluate(
            """() => {
          const select = document.querySelector("[data-control=scene]");
          document.querySelector(".bars").closest(".scroll").style.width = "300px";
          select.value = "outlier";
          select.dispatchEvent(new Event("change", { bubbles: true }));
        }"""
        )
    )
    bars = page.page.locator(".bars .bar")
    assert bars.count() == page.page.locator(".bars .bar[data-kind]").count() > 0


def test_a_notebook_around_it_leaves_it_as_it_is(visit: Open) -> None:
    page = visit("#scene=outlier", width=1280, bypass_csp=True)
    unfold(page)
    page.page.evaluate("document.body.classList.add('out')")
    boxes = """all => all.map(e => JSON.stringify([e.className, e.textContent, e.getBoundingClientRect()]))"""
    before = page.page.eval_on_selector_all(".qpsvm-play :is(dt, dd, pre, code)", boxes)
    # Before the playground's own styles, as in a notebook: those come with the output.
    page.page.evaluate(
        "text => document.head.prepend(Object.assign(document.createElement('style'), { textContent: text }))",
        NOTEBOOK,
    )
    assert page.page.eval_on_selector_all(".qpsvm-play :is(dt, dd, pre, code)", boxes) == before


def test_everything_on_a_phone_is_large_enough_for_a_finger(visit: Open) -> None:
    page = visit("#scene=outlier", width=390, height=844, has_touch=True, is_mobile=True)
    unfold(page)
    hits = [page.sample(i).locator(".hit").bounding_box() for i in range(page.n)]
    assert all(box is not None and min(box["width"], box["height"]) >= FINGER for box in hits)
    small = page.page.eval_on_selector_all(
        ".qpsvm-play :is(button, select, input, summary, [role=button])",
        """(all, least) => all.filter(each => each.checkVisibility())
           .map(each => [(each.closest("label") ?? each), each])
           .map(([area, each]) => [area.getBoundingClientRect(), each.outerHTML.slice(0, 90)])
           .filter(([box]) => Math.min(box.width, box.height) < least && box.width > 2).map(([, words]) => words)""",
        FINGER,
    )
    assert small == []


def test_every_control_has_a_name(visit: Open) -> None:
    page = visit("#scene=outlier", width=1280)
    page.do(lambda: page.page.locator("[data-control=mine]").check())
    devtools = page.page.context.new_cdp_session(page.page)
    nodes = devtools.send("Accessibility.getFullAXTree")["nodes"]
    operated = [node for node in nodes if not node["ignored"] and node["role"]["value"] in OPERATED]
    assert len(operated) > 30
    unnamed = [node["role"]["value"] for node in operated if not node.get("name", {}).get("value", "").strip()]
    assert unnamed == []
    assert page.page.locator("[aria-live=polite]").count() == 1
    page.click("[data-action=finish]")
    assert "optimal" in page.page.locator("[aria-live=polite]").inner_text()


def test_the_keyboard_sees_where_it_is(visit: Open) -> None:
    page = visit("#scene=outlier", width=1280)
    unseen = []
    stops = 0
    for _ in range(60):
        page.page.keyboard.press("Tab")
        where, seen = page.page.evaluate(
            """() => {
              const here = document.activeElement, parts = [here, ...here.querySelectorAll(".hit, .slot")];
              const seen = parts.some(part => { const style = getComputedStyle(part);
                return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) ||
                       (part !== here && style.stroke !== "none" && parseFloat(style.strokeWidth) >= 2); });
              return [here === document.body ? "" : here.outerHTML.slice(0, 80), seen];
            }"""
        )
        stops += bool(where)
        if where and not seen:
            unseen.append(where)
    assert stops > 40
    assert unseen == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark(scheme: str, visit: Open) -> None:
    page = visit("#scene=outlier", width=1280, color_scheme=scheme)
    worst = page.page.evaluate(CONTRASTS, TEXTS)
    assert worst[0][0] >= CONTRAST, worst


def test_the_page_of_a_derivation(browser: Browser, tmp_path: Path) -> None:
    held = make_samples(20, apart=4.0)
    X, y = held["points"], held["labels"]
    context = browser.new_context(color_scheme="dark")
    faults = watch(context, "")
    page = context.new_page()
    for problem in (
        qpsvm.HardMargin(X, y, kernel=qpsvm.RBF(1 / 3)),
        qpsvm.CSVM(X, y),
        qpsvm.NuSVM(X, y, nu=0.3, kernel=qpsvm.RBF(1 / 3)),
        qpsvm.PrimalHinge(X, y),
    ):
        path = tmp_path / "derivation.html"
        qpsvm.derive(problem, qpsvm.solve(problem)).to_html(path)
        page.goto(path.as_uri())
        heights = page.eval_on_selector_all(".step math", "all => all.map(m => m.getBoundingClientRect().height)")
        assert len(heights) >= 8
        assert min(heights) > 8, "an equation is not drawn"
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        worst = page.evaluate(CONTRASTS, DERIVED_TEXTS)
        assert worst[0][0] >= CONTRAST, worst
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide[0] <= wide[1], (problem.title, width)
    context.close()
    assert faults == []
