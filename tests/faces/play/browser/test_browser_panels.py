"""The panels of the page in a real browser: what is linked, what the user may set, what is said of a fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from browsing import Server, Visit, watch
from playwright.sync_api import Browser

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow

OPTIMAL = 1e-6


def gap(visit: Visit) -> float:
    return float(visit.data("gap") or "nan")


def hot(visit: Visit, view: str) -> list[str]:
    """Samples that are highlighted in a view."""
    keys = ["sample", "of", "row", "column"]
    found = visit.page.eval_on_selector_all(
        f"{view} .hot", "(all, keys) => all.map(each => keys.map(key => each.dataset[key]).find(Boolean))", keys
    )
    return sorted(set(found))


# Be the solver ----------------------------------------------------------------------------------------------------


def test_the_user_is_the_solver(visit: Open) -> None:
    page = visit("#scene=outlier")
    optimum = page.alpha()
    page.solve_alone()
    assert page.data("alpha") == "yours"
    assert gap(page) <= OPTIMAL
    idle = int(np.argmin(optimum))
    page.page.locator(f".bars [data-of='{idle}']").focus()
    page.do(lambda: page.page.keyboard.press("End"))
    bar = page.page.locator(f".bars [data-of='{idle}']")
    assert bar.get_attribute("aria-valuenow") == "1.000"
    assert gap(page) > 0.01
    page.do(lambda: page.page.keyboard.press("Shift+ArrowDown"))
    assert bar.get_attribute("aria-valuenow") == "0.900"
    assert "yᵀα" in page.figure("repair")
    page.click("[data-action=zero]")
    assert not page.alpha().any()
    page.click("[data-action=finish]")
    assert page.data("alpha") is None
    assert gap(page) <= OPTIMAL
    assert np.abs(page.alpha() - optimum).max() <= 1e-9


def test_a_price_is_dragged_with_the_mouse(visit: Open) -> None:
    page = visit("#scene=outlier")
    page.solve_alone()
    bar = page.page.locator(".bars [data-of='2']")
    bar.scroll_into_view_if_needed()
    box = bar.locator(".slot").bounding_box()
    assert box is not None
    x = box["x"] + box["width"] / 2
    page.page.mouse.move(x, box["y"] + box["height"] - 2)
    page.page.mouse.down()
    page.page.mouse.move(x, box["y"] + box["height"] / 2, steps=2)
    page.do(page.page.mouse.up)
    assert 0.4 < float(bar.get_attribute("aria-valuenow") or "nan") < 0.6
    assert gap(page) > OPTIMAL


def test_the_prices_of_a_machine_without_a_bound(visit: Open) -> None:
    page = visit("#scene=apart")
    page.solve_alone()
    page.page.locator(".bars [data-of='0']").focus()
    page.do(lambda: page.page.keyboard.press("End"))
    assert page.alpha()[0] > 0
    assert gap(page) > OPTIMAL
    page.click("[data-action=zero]")
    said = page.figure("repair")
    assert "feasible as it is" not in said
    assert "α changed by at most 1 of the largest α" in said
    assert "stretched" in said
    assert "the feasible α" in page.page.locator(".certificate .sentence").inner_text()
    page.click(".chip [data-action=back]")
    assert gap(page) <= OPTIMAL


def test_two_samples_move_together_and_the_balance_is_kept(visit: Open) -> None:
    page = visit("#scene=clouds")
    page.do(lambda: page.page.locator("[data-control=mine]").check())
    page.click("[data-action=zero]")
    y = np.array([float(page.sample(i).get_attribute("data-label") or "nan") for i in range(page.n)])
    dual = [0.0]
    for i in (0, 3, 5):
        page.page.locator(f".bars [data-of='{i}']").focus()
        page.do(lambda: page.page.keyboard.press("Shift+ArrowUp"))
        alpha = page.alpha()
        assert alpha[i] == pytest.approx(0.1)
        assert abs(y @ alpha) <= 1e-9
        dual.append(float(page.figure("dual").replace("−", "-")))
    assert dual == sorted(dual)
    assert page.figure("moves").startswith("Move 3")
    assert "A solver would have taken" in page.figure("moves")
    for machine in ("c", "squared-hinge", "epsilon-svr"):  # whatever is advised raises D when it is done
        if machine != "c":
            page.choose("machine", machine)
        if page.data("alpha") is None:  # another count of α: the machine is solved
            page.do(lambda: page.page.locator("[data-control=mine]").check())
        page.click("[data-action=zero]")
        dual = [float(page.figure("dual").replace("−", "-"))]
        for _ in range(3):
            assert "the dual value gains" in page.page.locator(".certificate .sentence").inner_text()
            page.click("[data-action=move]")
            dual.append(float(page.figure("dual").replace("−", "-")))
        assert dual == sorted(set(dual)), machine
        assert "A solver would have taken the same." in page.figure("moves")


def test_what_is_said_of_hulls_is_what_is_drawn(visit: Open) -> None:
    page = visit("#scene=duplicate")
    page.do(lambda: page.page.locator("[data-control=mine]").check())
    page.click("[data-action=zero]")
    assert page.page.locator("g.hulls .hull.full").count() == 2
    assert page.page.locator(".why").inner_text() == "No closest points: every α is 0."
    page.click("[data-action=finish]")
    assert page.page.locator(".why").inner_text() == ""
    page.choose("kernel", "rbf")
    assert page.page.locator("g.hulls .hull.full").count() == 0
    assert page.page.locator(".why").inner_text().startswith("No hulls here: ")


# Runs of solvers --------------------------------------------------------------------------------------------------


def test_a_run_is_walked_through(visit: Open) -> None:
    page = visit("#scene=outlier", width=1280)
    panel = page.page.locator("[data-panel=runs]")
    panel.scroll_into_view_if_needed()
    panel.locator("[data-action=run]").click()
    page.page.wait_for_selector("[data-panel=runs][data-runs*=dual_ascent][data-runs*=interior_point]")
    panel.locator("[data-solver=osqp]").check()
    page.page.wait_for_selector("[data-panel=runs][data-runs*=osqp]")
    assert panel.locator("path[data-curve]").count() == 6
    optimum = page.alpha()
    slider = panel.locator("[data-slider=iteration]")
    slider.focus()
    page.do(lambda: page.page.keyboard.press("Home"))
    assert page.data("alpha") == "iterate"
    assert np.abs(page.alpha() - optimum).max() > 1e-6, "the first iterate is the solution already"
    assert gap(page) > OPTIMAL
    words = page.figure("iterate")
    page.do(lambda: panel.locator("[data-action=step]").click())
    assert page.figure("iterate") != words
    panel.locator("[data-control=run]").select_option("interior_point")
    slider.focus()
    page.page.keyboard.press("Home")
    page.do(lambda: page.page.keyboard.press("End"))
    assert gap(page) <= OPTIMAL
    page.click(".chip [data-action=back]")
    assert np.abs(page.alpha() - optimum).max() <= 1e-9


# Links ------------------------------------------------------------------------------------------------------------


def test_a_sample_that_is_pointed_at_is_shown_everywhere(visit: Open) -> None:
    page = visit("#scene=duplicate", width=1280)
    for at in ("svg.plane [data-sample='4']", "svg.pair [data-of='4']", ".bars [data-of='4']",
               "table.matrix th[data-column='4']"):  # fmt: skip
        page.page.locator(at).dispatch_event("pointerover")  # the pointer itself would stay where a panel grows
        found = {view: hot(page, view) for view in ("svg.plane", "svg.pair", ".bars", "table.matrix thead")}
        assert set(map(tuple, found.values())) == {("4",)}, (at, found)
        page.page.locator("header").dispatch_event("pointerover")
        assert hot(page, "svg.plane") == [], at
    page.page.locator(".bars [data-of='5']").click()
    assert page.page.get_attribute("[data-panel=sample]", "data-selected") == "5"


def test_an_equation_is_found_from_the_program(visit: Open) -> None:
    page = visit("#scene=duplicate", width=1280)
    link = page.page.locator("[data-panel=qp] .rows a.cite").first
    tag = link.get_attribute("data-equation")
    link.hover()
    step = page.page.locator(f".step[data-tag='{tag}']")
    assert "cited" in (step.get_attribute("class") or "")
    link.click()
    assert page.page.evaluate("document.activeElement.dataset.tag") == tag
    box = step.bounding_box()
    assert box is not None
    assert 0 <= box["y"] <= 900


def test_the_program_as_numbers_and_as_a_picture(visit: Open) -> None:
    page = visit("#scene=duplicate", width=1280)
    assert page.n <= 14
    assert page.page.locator("table.matrix td[data-row]").count() == page.n**2
    assert page.page.locator("canvas.heat").count() == 0
    problem = page.run_copied()["problem"]
    P = problem.qp("dual").P @ np.eye(page.n)
    first = page.page.locator("table.matrix td[data-row='0'][data-column='0']").inner_text()
    assert abs(float(first.replace("−", "-")) - float(P[0, 0])) <= 1e-2 * abs(float(P[0, 0]))
    page.choose("scene", "clouds")
    assert page.n > 14
    assert page.page.locator("table.matrix").count() == 0
    page.page.locator("canvas.heat").hover(position={"x": 100, "y": 40})
    assert len(hot(page, "svg.plane")) == 1


def test_the_derivation_shows_both_sides(visit: Open) -> None:
    page = visit("#scene=outlier", width=1280)
    page.page.wait_for_selector(".step[data-state=holds]")
    assert page.page.locator(".step[data-state=holds]").count() >= 8
    sides = page.page.locator(".step[data-state=holds] .values:has(.side)")
    assert sides.count() >= 4
    for pair in sides.all():
        left, right = (text.replace("−", "-") for text in pair.locator(".side").all_inner_texts())
        relation = pair.locator(".relation").inner_text()
        apart = float(left) - float(right)
        beyond = {"and": abs(apart), "≥": -apart, "≤": apart}[relation]
        assert beyond <= 1e-4 * max(1.0, abs(float(left))), (left, relation, right)
    assert page.page.locator(".step[data-state=fails]").count() == 0
    heights = page.page.eval_on_selector_all(".step math", "all => all.map(m => m.getBoundingClientRect().height)")
    assert len(heights) >= 8
    assert min(heights) > 8, "an equation is not drawn"
    page.solve_alone()
    page.click("[data-action=zero]")
    assert page.page.locator(".step[data-state=fails]").count() > 0, "strong duality cannot hold at α = 0"


# Where there is no solution -----------------------------------------------------------------------------------------


def test_an_inseparable_hard_margin_shows_the_proof(visit: Open) -> None:
    page = visit("#scene=inseparable")
    assert page.page.locator("[data-meeting]").count() == 1
    assert page.page.locator("g.hulls .hull.full").count() == 2
    assert page.page.locator("path[data-level=zero]").get_attribute("d") == ""
    assert page.page.locator(".complaint:visible", has_text="separa").count() == 1
    assert "the hulls meet" in page.figure("verdict")
    page.choose("machine", "c")
    assert page.data("status") == "optimal"
    assert page.page.locator("[data-meeting]").count() == 0


def test_too_large_a_nu_says_which_works(visit: Open) -> None:
    page = visit("#scene=nu_max")
    assert page.data("error") == "InfeasibleNuError"
    page.click("[data-hint=nu]")
    assert page.data("status") == "optimal"
    assert page.page.input_value("input[type=number][data-parameter=nu]") == "0.5"


def test_a_parameter_out_of_range_is_refused_beside_its_control(visit: Open) -> None:
    page = visit("#scene=outlier")
    page.type_value("C", -1)
    assert page.data("status") == "error"
    assert page.page.locator(".complaint[data-field=C]").inner_text()
    page.type_value("C", 2)
    assert page.data("status") == "optimal"
    assert page.page.locator(".complaint[data-field=C]").inner_text() == ""


def test_all_samples_may_be_deleted_and_others_added(visit: Open) -> None:
    page = visit("#machine=c&C=1&kernel=linear&points=-1,0@-1;1,0@1;0.5,1@1")
    for left in (2, 1, 0):
        page.sample(0).focus()
        page.do(lambda: page.page.keyboard.press("Delete"))
        assert page.n == left
    assert page.data("status") == "error"
    assert "undefined" not in page.root.inner_text()
    box = page.page.locator("svg.plane").bounding_box()
    assert box is not None
    for tool, x in (("plus", 90), ("minus", 160)):
        page.page.click(f"button[data-tool={tool}]")
        page.do(lambda x=x: page.page.mouse.click(box["x"] + x, box["y"] + 80))
    assert page.n == 2
    assert page.data("status") == "optimal"


# Words of the machine ---------------------------------------------------------------------------------------------


def test_the_page_writes_the_letters_of_the_machine(visit: Open) -> None:
    page = visit("#scene=apart")
    for machine, bound, level in (("hard", "", "1"), ("c", "C", "1"), ("nu", "1/n", "ρ"), ("hinge", "1/(λn)", "1")):
        if page.page.locator("[data-control=machine]").input_value() != machine:
            page.choose("machine", machine)
        letters = [text for text in page.page.locator(".letters th").all_text_contents() if text]
        assert letters[-2 if bound else -1].startswith(f"α (y f − {level}"), machine
        assert (bound in letters) == bool(bound), machine
        assert f"f = ±{level}" in (page.page.locator(".legend").first.text_content() or ""), machine
        assert page.page.locator("[data-name=width]").text_content() == f"width {'2' if level == '1' else '2ρ'}/‖w‖"
        shown = page.page.locator("[data-panel=complementarity]").text_content() or ""
        assert f"or y f = {level}" in shown, machine
        assert (f"or α is {bound}" in shown) if bound else ("or α is" not in shown), machine


def test_the_names_of_a_file_are_not_those_of_a_scene(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "fish.csv"
    path.write_text("length,weight,kind\n1,1,eel\n2,3,eel\n5,4,ray\n6,7,ray\n", encoding="utf-8")
    server = Server("--data", str(path), "--target", "kind")
    context = browser.new_context()
    try:
        page = Visit(context.new_page(), server.address, watch(context, server.address)).open()
        names = [*page.page.locator(".axes text.axis").all_text_contents(), page.page.locator(".legend").text_content()]
        assert [word in str(names) for word in ("length", "weight", "eel", "ray", "+1")] == [True] * 4 + [False]
        page.choose("scene", "apart")
        names = [*page.page.locator(".axes text.axis").all_text_contents(), page.page.locator(".legend").text_content()]
        assert [word in str(names) for word in ("length", "weight", "eel", "ray", "+1")] == [False] * 4 + [True]
        page.click("[data-action=reset]")
        assert "ray" in (page.page.locator("[data-tool=plus]").text_content() or "")
        assert page.faults == []
    finally:
        context.close()
        server.stop()


# A title and its numbers ------------------------------------------------------------------------------------------


def test_a_scene_is_named_as_long_as_its_machine_is_shown(visit: Open) -> None:
    page = visit("#scene=apart")
    scene, tries = page.page.locator("[data-control=scene]"), page.page.locator("ul.try li")
    assert tries.count() == 3
    page.choose("machine", "c")
    assert scene.input_value() == ""
    assert tries.count() == 0
    page.click("[data-action=undo]")
    assert scene.input_value() == "apart"
    assert tries.count() == 3


def test_the_path_of_one_machine_is_not_left_beside_the_words_of_another(visit: Open) -> None:
    page = visit("#scene=apart")
    stairs = page.page.locator("svg.pair .stairs")
    assert stairs.get_attribute("d")
    page.choose("scene", "nu_max")  # which has no solution
    assert page.page.locator("svg.pair.stale").count() == 1
    assert not stairs.get_attribute("d")
    page.type_value("nu", 0.5)
    assert len(stairs.get_attribute("d").split("L")) == 4
