"""Regression and novelty in the browser: samples are targets or have no label, and the page is theirs."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each

from qpsvm.faces.play.start import SCENES


def test_a_target_is_dragged_and_only_beyond_the_tube_does_the_curve_move(visit):
    page = visit("#scene=tube", width=1200)
    root = page.page
    kinds = [page.sample(i).get_attribute("data-kind") for i in range(page.n)]
    inside = kinds.index("0")
    before = root.get_attribute("path[data-level=zero]", "d")
    page.drag(inside, 0, -2)
    assert page.sample(inside).get_attribute("data-kind") == "0"
    assert root.get_attribute("path[data-level=zero]", "d") == before
    page.drag(inside, 0, 260)
    assert page.sample(inside).get_attribute("data-kind") == "2"
    assert page.alpha()[inside] == pytest.approx(-5.0)
    assert root.get_attribute("path[data-level=zero]", "d") != before
    assert root.get_attribute(f"[data-paid='{inside}']", "d").startswith("M")
    assert "beyond" in page.sample(inside).get_attribute("aria-label")
    result = page.run_copied()["result"]
    assert page.alpha() == pytest.approx(result.coef, rel=1e-6, abs=1e-9)


def test_beta_is_held_with_keys_and_the_solver_finishes(visit):
    page = visit("#scene=outliers", width=1200)
    page.click("[data-control=mine]")
    bar = page.page.locator(".bars [data-of='2']")
    bar.focus()
    page.do(lambda: page.page.keyboard.press("End"))
    assert bar.get_attribute("aria-valuenow") == "1.000"
    assert page.data("status") == "candidate"
    assert "1ᵀβ" in page.figure("repair")
    page.do(lambda: page.page.keyboard.press("Home"))
    assert bar.get_attribute("aria-valuenow") == "-1.000"
    page.click("[data-action=zero]")
    assert np.abs(page.alpha()).max() == 0.0
    page.click("[data-action=finish]")
    assert page.data("status") == "optimal"


def test_another_machine_reads_the_same_samples_and_gives_them_back(visit):
    page = visit("#scene=clouds", width=1200)
    places = page.places()
    page.choose("machine", "epsilon-svr")
    assert "↑ t" in page.page.locator("svg.plane g.axes").text_content()
    assert page.page.locator("button[data-tool=flip]").is_hidden()
    assert page.page.locator(".legend").inner_text().startswith("inside the tube")
    assert "class" not in page.places()[0]
    page.choose("machine", "svdd")
    assert page.page.locator("ellipse.ball").count() == 1
    assert page.page.locator("[data-centre]").count() == 1
    page.choose("machine", "huber-hinge")
    assert page.page.locator("input[type=number][data-parameter=width]").input_value() == "0.5"
    page.choose("machine", "c")
    assert page.places() == places
    page.click("[data-action=undo]")
    assert page.page.locator("[data-control=machine]").input_value() == "huber-hinge"


def test_the_address_of_a_regression_has_no_classes_and_leads_back(visit):
    page = visit("#scene=quantile")
    page.type_value("quantile", 0.25)
    address = page.hash()
    assert "machine=quantile-svr" in address
    assert "@" not in address
    again = visit(address)
    assert again.places() == page.places()
    assert again.alpha() == pytest.approx(page.alpha(), rel=1e-6, abs=1e-9)
    before = page.n
    page.page.focus("svg.plane [data-sample='0']")
    page.do(lambda: page.page.keyboard.press("+"))
    page.do(lambda: page.page.keyboard.press("Delete"))
    page.page.keyboard.press("f")  # there is no class to change
    assert page.n == before


@for_each("name", [name for name, scene in SCENES.items() if scene.state.machine in ("one-class", "svdd")])
def test_novelty_has_a_boundary_levels_and_no_hulls(visit, name):
    page = visit(f"#scene={name}")
    assert page.page.get_attribute("path[data-level=zero]", "d").startswith("M")
    assert page.page.get_attribute("path[data-level=plus]", "d") == ""
    assert page.page.locator(".line.contour:not(.key *)").count() >= 3
    page.page.uncheck("[data-layer=contours]")
    assert page.page.locator("g.contours path").count() == 0
    outside = [page.sample(i).get_attribute("data-kind") for i in range(page.n)].count("2")
    assert float(page.figure("accuracy").removesuffix("%")) == pytest.approx(100 * outside / page.n, rel=0.01)
    page.drag(0, 5, 5)
    assert page.data("status") == "optimal"
    assert page.sideways() <= 0
