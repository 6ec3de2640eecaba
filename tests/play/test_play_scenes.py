"""Every scene shows the idea that its title names, and what its lines promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from asking import ask

from qpsvm.play.request import read_state
from qpsvm.play.scenes import SCENES


def scene(name: str, **changed: Any) -> dict[str, Any]:
    return {**SCENES[name].state.to_json(), **changed}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_is_a_state_with_three_lines(name):
    held = SCENES[name]
    assert read_state(held.state.to_json()).to_json() == held.state.to_json()
    assert len(held.tries) == 3
    assert all(line.endswith(".") for line in held.tries)
    answer = ask("solve", held.state.to_json())
    assert ("error" in answer) == (name in ("inseparable", "nu_max"))


def test_the_catalogue_has_them_in_order():
    catalogue = ask("catalogue")
    assert [each["name"] for each in catalogue["scenes"]] == list(SCENES)
    assert catalogue["start"] == catalogue["scenes"][0]["state"]
    assert catalogue["classes"] == ["-1", "+1"]
    assert catalogue["features"] is None


def test_the_inseparable_scene_is_its_proof_and_its_stray_sample_is_the_reason():
    answer = ask("solve", scene("inseparable"))
    assert answer["error"]["kind"] == "NotSeparableError"
    assert answer["plane"]["meeting"] is not None
    held = scene("inseparable")
    held["points"][5] = [1.2, 1.0]
    assert ask("solve", held)["status"] == "optimal"
    assert ask("solve", scene("inseparable", machine="c"))["status"] == "optimal"


def test_nu_is_too_large_by_what_the_lines_say():
    answer = ask("solve", scene("nu_max"))
    assert answer["hint"] == {"nu": 0.5}
    assert scene("nu_max")["labels"].count(1) == 3
    assert len(scene("nu_max")["labels"]) == 12


def test_of_a_duplicate_only_the_sum_counts():
    held = scene("duplicate")
    assert held["points"][0] == held["points"][1]
    alpha = ask("solve", held)["samples"]["alpha"]
    total = alpha[0] + alpha[1]
    for share in (0.0, 0.3, 1.0):
        split = [share * total, (1 - share) * total, *alpha[2:]]
        assert ask("solve", held, alpha=split)["status"] == "optimal"
    wide, tight = ask("solve", held), ask("solve", {**held, "parameters": {"C": 0.15}})
    assert tight["samples"]["kind"][:2] == [2, 2]
    assert tight["width"] > wide["width"]


def test_two_labels_at_one_place_stay_at_their_bound():
    held = scene("two_labels")
    assert held["points"][5] == held["points"][11]
    for C in (1.0, 1000.0):
        answer = ask("solve", {**held, "parameters": {"C": C}})
        assert [answer["samples"]["kind"][i] for i in (5, 11)] == [2, 2]
        assert max(answer["samples"]["xi"][i] for i in (5, 11)) >= 1.0
    proof = ask("solve", {**held, "machine": "hard", "parameters": {}})
    assert proof["plane"]["meeting"] == pytest.approx(held["points"][5])


def test_the_outlier_rules_at_a_large_price_only():
    cheap, dear = ask("solve", scene("outlier")), ask("solve", scene("outlier_1000"))
    assert scene("outlier")["points"] == scene("outlier_1000")["points"]
    assert cheap["width"] > 2 * dear["width"]
    assert cheap["samples"]["kind"][5] == 2
    assert dear["samples"]["xi"][5] == pytest.approx(0.0, abs=1e-9)


def test_xor_needs_a_kernel():
    bent = ask("solve", scene("xor"))
    assert bent["accuracy"] == 1.0
    flat = ask("solve", scene("xor", kernel={"name": "linear"}))
    assert np.hypot(*flat["w"]) == pytest.approx(0.0, abs=1e-9)
    assert flat["norm"] == 0.0
    assert flat["width"] is None  # no margin of 4e15
    assert "f is constant" in flat["sentence"]
    square = ask("solve", scene("xor", kernel={"name": "polynomial", "degree": 2}))
    assert square["accuracy"] == 1.0
    islands = ask("solve", scene("xor", kernel={"name": "rbf", "gamma": 100.0}))
    assert islands["counts"][0] == 0


def test_the_first_clouds_overlap_and_the_others_do_not():
    assert ask("solve", scene("apart"))["counts"][1] in (2, 3)
    assert ask("solve", scene("clouds", machine="hard", parameters={}))["error"]["kind"] == "NotSeparableError"
    assert ask("solve", scene("clouds"))["accuracy"] >= 0.75
